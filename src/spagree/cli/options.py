"""The options for reading a source, which every command that reads one has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from spagree.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


def _options(*options: Callable[[F], F]) -> Callable[[F], F]:
    def apply(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return apply


reading_options = _options(
    click.argument("source", nargs=-1, required=True),
    click.option(
        "--query",
        metavar="SQL",
        help="Read what this SELECT answers; SOURCE is then postgresql://USER@HOST/DATABASE or an SQLite file.",
    ),
    click.option("--item", metavar="COLUMN", help="Column of the item; guessed from its name otherwise."),
    click.option("--annotator", metavar="COLUMN", help="Column of the annotator; optional."),
    click.option(
        "--label",
        metavar="COLUMN",
        multiple=True,
        help="Column of the label. In wide and count tables: a column of labels or counts; may be repeated.",
    ),
    click.option("--time", metavar="COLUMN", help="Column with the time of each annotation."),
    click.option(
        "--format",
        default="auto",
        metavar="NAME",
        help="auto, long, wide (items × annotators), counts, or the tool that exported it: label-studio, prodigy, …",
    ),
    click.option("--question", metavar="NAME", help="Which question of a tool's export, where it has several."),
    click.option("--status", multiple=True, metavar="NAME", help="A status that counts in a tool's export."),
    click.option(
        "--ground-truth", default="keep", metavar="POLICY", help="Ground truth in a tool's export: keep, drop."
    ),
    click.option(
        "--multi",
        default="set",
        metavar="POLICY",
        help="Several choices: set (one label) or options (a yes/no question each).",
    ),
    click.option("--empty", default="drop", metavar="POLICY", help="Empty answers: drop, or keep as a label."),
    click.option("--config", metavar="FILE", help="Label Studio's labelling configuration, for aliases of choices."),
    click.option("--pseudonymise", is_flag=True, help="Replace the names of annotators by stable pseudonyms."),
    click.option("--salt", metavar="TEXT", help="A secret for --pseudonymise: names cannot be guessed without it."),
    click.option("--missing", multiple=True, metavar="TEXT", help="A label that means missing; may be repeated."),
    click.option(
        "--normalize", is_flag=True, help="Treat labels as equal that differ in case, blanks or Unicode form."
    ),
    click.option(
        "--duplicates",
        default="error",
        metavar="POLICY",
        help="When an annotator gave an item different labels: error (default), first or last.",
    ),
    click.option("--first", type=int, metavar="K", help="Use only the first K annotations of each item, by time."),
    click.option("--engine", metavar="NAME", help="What reads and counts files: duckdb (default), polars or spark."),
    click.option("--spark-master", metavar="URL", help="The cluster for --engine spark.  [default: this machine]"),
    click.option("--encoding", metavar="NAME", help="Text encoding of the file, if it is not UTF-8 or UTF-16."),
    click.option("--no-header", is_flag=True, help="The file has no header; columns are called 1, 2, 3, …"),
)


text_option = click.option(
    "--text", metavar="COLUMN", help="Column with the item's text, to be shown with the hardest items."
)


def to_python(options: dict[str, Any]) -> dict[str, Any]:
    """Command-line spelling → Python spelling."""
    header = not options.pop("no_header")
    salt = options.pop("salt")
    hidden = options["pseudonymise"]
    if salt is not None and not hidden:
        raise UsageError("--salt has a meaning with --pseudonymise only; say both")
    source, label = _one(options["source"]), _one(options["label"])
    return {**options, "source": source, "label": label, "header": header, "pseudonymise": (hidden and salt) or hidden}


def _one(given: Sequence[str]) -> str | list[str] | None:
    """A repeatable option: nothing, the one value, or all of them."""
    return None if not given else given[0] if len(given) == 1 else list(given)


def words(given: str | None) -> tuple[str, ...]:
    """A list written with commas.

    >>> words("low, high"), words(None)
    (('low', 'high'), ())
    """
    return tuple(part.strip() for part in (given or "").split(",") if part.strip())


def own_weights(given: str) -> str | dict[int, float]:
    """A scheme's name, or the user's own weights as 2=1,3=1.8."""
    if "=" not in given:
        return given
    try:
        pairs = (part.split("=") for part in given.split(","))
        return {int(n): float(weight) for n, weight in pairs}
    except ValueError:
        raise UsageError(f"--weights {given!r}: write your own weights as 2=1,3=1.8,4=2.5") from None
