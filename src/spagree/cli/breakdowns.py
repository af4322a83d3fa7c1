"""The commands that show where annotators disagree: items, classes, annotators, pairs of annotators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from spagree.cli.console import draw, note, print_json, say, tell, working
from spagree.cli.options import Command, force_option, measured, option, options_of, reading_options, rows_as_json
from spagree.errors import UsageError, count
from spagree.options import Estimating

F = TypeVar("F", bound=Callable[..., Any])

WIDE = 160
FOOTNOTE = "* rests on fewer than 10 items"


def _worst(what: str) -> Callable[[F], F]:
    help = f"The number of {what} to list.  [default: 20]"
    return option("--worst", type=click.IntRange(min=1), default=20, metavar="K", help=help)


def _draw(rows: list[dict[str, Any]], columns: Sequence[str], nothing: str = "") -> None:
    """Print the rows as a table, or why there are none."""
    from spagree.present.tables import MARKED, table

    if not rows:
        say(nothing)
        return
    draw(table(rows, columns), least=WIDE)
    if any(row.get("few") and row.get(name) is not None for row in rows for name in MARKED):
        say(FOOTNOTE)


@click.command(cls=Command)
@reading_options()
@_worst("items")
@rows_as_json
@option("-o", "--output", metavar="FILE", help="Write every item's agreement to a .csv or .parquet file instead.")
@option("--consensus", is_flag=True, help="Each item's majority label instead; write it with -o FILE.csv or .parquet.")
@force_option
def items(worst: int, as_json: bool, output: str | None, consensus: bool, force: bool, **options: Any) -> None:
    """List the items of SOURCE with the least agreement, their votes and, with --text, their text."""
    from spagree.present.tables import plain_rows
    from spagree.write import refuse_existing, save_frame

    if output is not None:
        if consensus and not output.endswith((".csv", ".parquet")):
            raise UsageError(f"--output {output}: end the name with .csv or .parquet")
        refuse_existing(output, force=force)
        more = ""
        with working("counting annotations"):
            agreement = measured(options)
            if consensus:
                table = agreement.consensus()
                save_frame(table, output, force=force)
                more = f": {count(table.height, 'item')}, {table['tied'].count():,} without a majority (column tied)"
            else:
                agreement.write_items(output, force=force)
        note(f"wrote {output}{more}")
        return
    with working("counting annotations"):
        agreement = measured(options)
        if consensus:  # the smallest majorities, ties first
            table = agreement.consensus()
            table = table.sort(table["label"].is_not_null(), "share", "annotations", "item").head(worst)
            columns = ["share", "annotations", "item", "label", "tied"]
        else:
            table = agreement.hardest(worst)
            columns = ["agreement", "annotations", "entropy", "item", "votes"]
            columns += ["text"] if "text" in table.columns else []
    if as_json:
        print_json(plain_rows(table.rows(named=True)))
    else:
        _draw(table.rows(named=True), columns, "No item has two annotations, so there is nothing to compare.")


@click.command(cls=Command)
@reading_options(without=("text",))
@options_of(Estimating, only=("metric", "order", "level"))
@_worst("classes and of pairs of classes")
@rows_as_json
def classes(worst: int, as_json: bool, **options: Any) -> None:
    """List the classes of SOURCE with the least agreement, and which classes are confused.

    A class's agreement is the probability that a second annotator chose it, given that a first one did.
    """
    from spagree.present.tables import plain_rows

    with working("counting annotations"):
        agreement = measured(options)
        rows, together = (each.head(worst).rows(named=True) for each in (agreement.classes(), agreement.confusion()))
    if as_json:
        print_json({"classes": plain_rows(rows), "confusion": plain_rows(together)})
        return
    _draw(rows, ("agreement", "interval", "annotations", "share", "items", "class"))
    if together:
        tell(
            '\nConfused classes: probability that a second annotator chooses "other", given that a first chose "class"'
        )
    _draw(together, ("probability", "pairs", "items", "class", "other"), "\nNo classes were confused.")


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
    from spagree.present.tables import doubtful, plain_rows
    from spagree.present.wording import printable

    with working("counting annotations"):
        rows = measured(options, in_full=True).annotators().head(worst).rows(named=True)
    if as_json:
        print_json({"annotators": plain_rows(rows)})
        return
    columns = ("agreement", "interval", "shared", "against_others", "stands_out", "spa_without", "change", "annotator")
    _draw(rows, (*columns, "commonest", "commonest_share"))
    if doubt := doubtful(rows):
        tell(doubt)
    blind = [row["annotator"] for row in rows if row["one_label"]]
    if blind:
        tell(f"Used the same label for every item: {', '.join(printable(name) for name in blind)}")


@click.command(cls=Command)
@reading_options(without=("text",))
@options_of(Estimating, only=("metric", "order", "level"))
@option("--least", type=int, default=1, metavar="M", help="Only pairs that share at least M items.  [default: 1]")
@_worst("pairs")
@rows_as_json
def pairs(least: int, worst: int, as_json: bool, **options: Any) -> None:
    """List the pairs of annotators of SOURCE who agree least, with Cohen's kappa and Scott's pi."""
    from spagree.present.tables import plain_rows

    with working("counting annotations"):
        rows = measured(options, in_full=True).pairs(least, worst=worst).rows(named=True)
    if as_json:
        print_json({"pairs": plain_rows(rows)})
        return
    columns = ("agreement", "interval", "cohen_kappa", "kappa interval", "scott_pi", "shared", "annotator", "other")
    _draw(
        rows, columns, "No two annotators share an item." if least == 1 else f"No two annotators share {least} items."
    )
