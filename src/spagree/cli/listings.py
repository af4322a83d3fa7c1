"""The commands that show where annotators disagree: items, classes, annotators, pairs of annotators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import click

from spagree.cli.console import draw, note, print_json, say, tell, working
from spagree.cli.flags import (
    Command,
    force_option,
    measured,
    measured_spans,
    option,
    options_of,
    rows_as_json,
    source_options,
)
from spagree.errors import DataError, UsageError, count, there
from spagree.estimate import NOMINAL
from spagree.options import Estimating, is_of_spans
from spagree.present.next_steps import people_named, shown_by
from spagree.present.sentences import found_annotators, found_classes, found_items, found_pairs
from spagree.present.tables import COLUMNS, MARKED, TEAMS, plain_rows, team_rows
from spagree.present.terminal import Listed
from spagree.write import refuse_existing, save_frame

F = TypeVar("F", bound=Callable[..., Any])

WIDE = 160
FOOTNOTE = "* rests on fewer than 10 items"


def _worst(what: str) -> Callable[[F], F]:
    help = f"The number of {what} to list.  [default: 10]"
    return option("--worst", type=click.IntRange(min=1), default=10, metavar="K", help=help)


def _print_rows(**tables: list[dict[str, Any]]) -> None:
    """Print tables as JSON, each under its name."""
    print_json({name: plain_rows(rows) for name, rows in tables.items()})


def _draw(rows: list[dict[str, Any]], columns: Sequence[str], finding: str = "") -> None:
    """Print what the rows say, and the rows as a table without columns that say the same or nothing in every row."""
    if finding:
        tell(finding)
    if not rows:
        return
    figures = [
        key
        for key in columns
        if (COLUMNS[key].is_number or COLUMNS[key].kind == "truth") and key in rows[0] and len(rows) > 1
    ]
    same = {key for key in figures if len({row[key] for row in rows}) == 1}
    draw(Listed(rows, [COLUMNS[key] for key in columns if key not in same]), least=WIDE)
    if any(row.get("few") and row.get(name) is not None for row in rows for name in MARKED):
        say(FOOTNOTE)


def _of_spans(name: str, options: dict[str, Any], worst: int, as_json: bool, **refused: Any) -> bool:
    """List the same of spans if the options ask for them; whether they do."""
    if not is_of_spans(options):
        return False
    from spagree.present.spans import LISTED, found_in_spans  # what labels do not need is not loaded for them

    found = measured_spans(options, **refused)
    tables = {name: getattr(found, name)().head(worst).rows(named=True)}
    if name == "classes":
        with suppress(DataError):  # too many people met to look at what any two of them exchange
            tables["confusion"] = found.confusion().head(worst).rows(named=True)
    if as_json:
        _print_rows(**tables)
        return True
    _draw(tables[name], LISTED[name][0], found_in_spans(name, tables[name]))
    if tables.get("confusion"):
        say("")
        _draw(tables["confusion"], ("share", "class", "other"))
    return True


@click.command(cls=Command)
@source_options()
@options_of(Estimating, only=("weights", "metric", "order"))
@_worst("items")
@rows_as_json
@option("-o", "--output", metavar="FILE", help="Write every item's agreement to a .csv or .parquet file instead.")
@option("--consensus", is_flag=True, help="Each item's majority label instead; write it with -o FILE.csv or .parquet.")
@force_option
def items(worst: int, as_json: bool, output: str | None, consensus: bool, force: bool, **options: Any) -> None:
    """List the items of SOURCE that hold most of the disagreement, their votes and, with --text, their text."""
    if _of_spans("items", options, worst, as_json, output=output, consensus=consensus):
        return
    if output is not None:
        if consensus and not output.endswith((".csv", ".parquet")):
            raise UsageError(f"--output {output}: end the name with .csv or .parquet")
        if options["metric"] != NOMINAL and not consensus:
            raise UsageError(f"--metric {options['metric']}: FILE holds the share of equal labels; leave it out")
        refuse_existing(output, force=force)
        more = ""
        with working("counting annotations"):
            agreement = measured(options)
            if consensus:
                kept = agreement.consensus()
                save_frame(kept, output, force=force)
                more = f": {count(kept.height, 'item')}, {kept['tied'].count():,} without a majority (column tied)"
            else:
                agreement.write_items(output, force=force)
        note(f"wrote {output}{more}")
        return
    with working("counting annotations"):
        agreement = measured(options)
        if consensus:  # the smallest majorities, ties first
            kept = agreement.consensus()
            kept = kept.sort(kept["label"].is_not_null(), "share", "annotations", "item").head(worst)
            columns = ["share", "annotations", "item", "label", "tied"]
        else:
            kept = agreement.disputed(worst)
            columns = ["share", "agreement", "annotations", "item", "votes", "text"]
    if as_json:
        print_json(plain_rows(kept.rows(named=True)))
        return
    rows = kept.rows(named=True)
    nothing = "" if agreement.data.pairable_items else "No item has two annotations, so there is nothing to compare."
    _draw(rows, columns, nothing or ("" if consensus else found_items(rows)))


@click.command(cls=Command)
@source_options(without=("text",))
@options_of(Estimating, only=("metric", "order", "level"))
@_worst("classes and of pairs of classes")
@rows_as_json
def classes(worst: int, as_json: bool, **options: Any) -> None:
    """List the pairs of classes of SOURCE that hold most of the disagreement, and the agreement of each class.

    A class's agreement is the probability that a second annotator chose it, given that a first one did.
    """
    if _of_spans("classes", options, worst, as_json):
        return
    with working("counting annotations"):
        agreement = measured(options)
        rows, together = (each.head(worst).rows(named=True) for each in (agreement.classes(), agreement.confusion()))
    if as_json:
        _print_rows(classes=rows, confusion=together)
        return
    _draw(together, ("share", "expected", "items", "class", "other"), found_classes(together))
    say("")
    _draw(rows, ("agreement", "interval", "annotations", "share", "items", "class"))


@click.command(cls=Command)
@source_options(without=("text",))
@options_of(Estimating, only=("weights", "metric", "order", "level"))
@_worst("annotators")
@rows_as_json
def annotators(worst: int, as_json: bool, **options: Any) -> None:
    """List the annotators of SOURCE who agree least with the others on the items they share.

    "Against others" compares how often the others agree with the annotator and among themselves on the same
    items, so hard items do not affect it; it needs three annotations per item. "SPA without" is SPA without
    the annotator; "change" is the difference that makes.
    """
    if _of_spans("annotators", options, worst, as_json):
        return
    with working("counting annotations"):
        agreement = measured(options, in_full=True)
        rows = agreement.annotators().rows(named=True)
    if as_json:
        _print_rows(annotators=rows[:worst])
        return
    steps = there(agreement.summed_up().steps) or ()
    named = people_named(steps)
    first = sorted(rows, key=lambda row: (row["annotator"] not in named, not row["stands_out"]))
    columns = ("agreement", "interval", "shared", "against_others", "stands_out", "spa_without", "change", "annotator")
    found = found_annotators(rows, shown_by("annotators", steps, agreement.source))
    _draw(first[:worst], (*columns, "commonest", "commonest_share"), found)


@click.command(cls=Command)
@source_options(without=("text",))
@options_of(Estimating, only=("metric", "order", "level"))
@option("--least", type=int, default=1, metavar="M", help="Only pairs that share at least M items.  [default: 1]")
@_worst("pairs")
@rows_as_json
def pairs(least: int, worst: int, as_json: bool, **options: Any) -> None:
    """List the pairs of annotators of SOURCE who agree least, with Cohen's kappa and Scott's pi."""
    if _of_spans("pairs", options, worst, as_json, least=least - 1):
        return
    with working("counting annotations"):
        agreement = measured(options, in_full=True)
        rows = agreement.pairs(least, worst=worst).rows(named=True)
    if as_json:
        _print_rows(pairs=rows)
        return
    if not rows:
        tell("No two annotators share an item." if least == 1 else f"No two annotators share {least} items.")
        return
    steps, overlap = there(agreement.summed_up().steps) or (), agreement.overlap()
    tell(found_pairs(rows, shown_by("pairs", steps, agreement.source)))
    if len(overlap.teams) > 1:
        _draw(team_rows(overlap)[:worst], TEAMS)
        say("")
    _draw(
        rows,
        ("agreement", "interval", "cohen_kappa", "cohen_kappa_interval", "scott_pi", "shared", "annotator", "other"),
    )
