"""The commands that show where annotators disagree: items, classes, annotators, pairs of annotators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from spagree.cli.console import draw, note, print_json, say, working
from spagree.cli.options import Command, force_option, option, options_of, reading_options, rows_as_json, to_python
from spagree.errors import UsageError
from spagree.options import Estimating

F = TypeVar("F", bound=Callable[..., Any])

WIDE = 160
FOOTNOTE = "* rests on fewer than 10 items"


def _worst(what: str) -> Callable[[F], F]:
    help = f"The number of {what} to list.  [default: 20]"
    return option("--worst", type=click.IntRange(min=1), default=20, metavar="K", help=help)


def _measured(options: dict[str, Any], *, in_full: bool = False) -> Any:
    """The agreement; ``in_full`` if the table needs every annotation."""
    from spagree.measuring import measure, measure_in_full

    return (measure_in_full if in_full else measure)(**to_python(options))


def _rows(frame: Any, worst: int) -> list[dict[str, Any]]:
    return list(frame.head(worst).rows(named=True))


@click.command(cls=Command)
@reading_options()
@_worst("items")
@rows_as_json
@option("-o", "--output", metavar="FILE", help="Write every item's agreement to a .csv or .parquet file instead.")
@option("--consensus", is_flag=True, help="Each item's majority label instead; write it with -o FILE.csv or .parquet.")
@force_option
def items(worst: int, as_json: bool, output: str | None, consensus: bool, force: bool, **options: Any) -> None:
    """List the items of SOURCE with the least agreement, their votes and, with --text, their text."""
    from spagree.present.tables import plain_rows, table

    if consensus:
        _consensus(worst, as_json, output, force, options)
        return
    if output is not None:
        from spagree.write import refuse_existing

        refuse_existing(output, force=force)
        with working("counting annotations"):
            _measured(options).write_items(output, force=force)
        note(f"wrote {output}")
        return
    with working("counting annotations"):
        hardest = _measured(options).hardest(worst)
    rows, named = list(hardest.rows(named=True)), "text" in hardest.columns
    if as_json:
        print_json(plain_rows(rows))
    else:
        _draw(table(rows, ("agreement", "annotations", "entropy", "item", "votes", *(["text"] if named else []))))


@click.command(cls=Command)
@reading_options(without=("text",))
@options_of(Estimating, only=("metric", "order", "level"))
@_worst("classes and of pairs of classes")
@rows_as_json
def classes(worst: int, as_json: bool, **options: Any) -> None:
    """List the classes of SOURCE with the least agreement, and which classes are confused.

    A class's agreement is the probability that a second annotator chose it, given that a first one did.
    """
    from spagree.present.tables import plain_rows, table

    with working("counting annotations"):
        agreement = _measured(options)
        found, mixed = agreement.classes(), agreement.confusion()
    rows, together = _rows(found, worst), _rows(mixed, worst)
    if as_json:
        print_json({"classes": plain_rows(rows), "confusion": plain_rows(together)})
        return
    _draw(table(rows, ("agreement", "interval", "annotations", "share", "items", "class")))
    _footnote(rows)
    say('\nConfused classes: probability that a second annotator chooses "other", given that a first chose "class"')
    _draw(table(together, ("probability", "pairs", "items", "class", "other")))


@click.command(cls=Command)
@reading_options(without=("text",))
@options_of(Estimating, only=("weights", "metric", "order", "level"))
@_worst("annotators")
@rows_as_json
def annotators(worst: int, as_json: bool, **options: Any) -> None:
    """List the annotators of SOURCE who agree least with the others on the items they share.

    "Against others" compares how often the others agree with the annotator and among themselves on the same items,
    so hard items do not affect it; it needs three annotations per item. "SPA without" is SPA without the annotator;
    "change" is the difference that makes.
    """
    from spagree.present.tables import plain_rows, table
    from spagree.present.wording import printable

    with working("counting annotations"):
        rows = _rows(_measured(options, in_full=True).annotators(), worst)
    if as_json:
        print_json({"annotators": plain_rows(rows)})
        return
    columns = ("agreement", "interval", "shared", "against_others", "stands_out", "spa_without", "change", "annotator")
    _draw(table(rows, (*columns, "commonest", "commonest_share")))
    _footnote(rows)
    blind = [row["annotator"] for row in rows if row["one_label"]]
    if blind:
        say(f"Used the same label for every item: {', '.join(printable(name) for name in blind)}")


@click.command(cls=Command)
@reading_options(without=("text",))
@options_of(Estimating, only=("metric", "order", "level"))
@option("--least", type=int, default=1, metavar="M", help="Only pairs that share M items.  [default: 1]")
@_worst("pairs")
@rows_as_json
def pairs(least: int, worst: int, as_json: bool, **options: Any) -> None:
    """List the pairs of annotators of SOURCE who agree least, with Cohen's kappa and Scott's pi."""
    from spagree.present.tables import plain_rows, table

    with working("counting annotations"):
        rows = _rows(_measured(options, in_full=True).pairs(least), worst)
    if as_json:
        print_json({"pairs": plain_rows(rows)})
        return
    columns = ("agreement", "interval", "cohen_kappa", "kappa interval", "scott_pi", "shared", "annotator", "other")
    _draw(table(rows, columns))
    _footnote(rows)


def _consensus(worst: int, as_json: bool, output: str | None, force: bool, options: dict[str, Any]) -> None:
    """Write every item to a file, or print those least likely to keep their label, ties first."""
    from spagree.present.tables import plain_rows, table
    from spagree.write import refuse_existing, write_atomically

    if output is not None:
        if not output.endswith((".csv", ".parquet")):
            raise UsageError(f"--output {output}: end the name with .csv or .parquet")
        refuse_existing(output, force=force)
    with working("counting annotations"):
        found = _measured(options).consensus()
    if output is None:
        rows = list(found.sort("kept", "item", nulls_last=False).head(worst).rows(named=True))
        print_json(plain_rows(rows)) if as_json else _draw(
            table(rows, ("kept", "share", "annotations", "item", "label", "tied"))
        )
        return
    write_atomically(output, found.write_csv if output.endswith(".csv") else found.write_parquet, force=force)
    ties = found["tied"].count()
    note(f"wrote {output}: {found.height:,} items, {ties:,} without a majority (column tied)")


def _draw(table: Any) -> None:
    draw(table, least=WIDE)


def _footnote(rows: list[dict[str, Any]]) -> None:
    if any(row["few"] for row in rows):
        say(FOOTNOTE)
