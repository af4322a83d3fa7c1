"""Groups of items or annotators: which agree less, and whether chance could explain it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from spagree.estimate.breakdown_values import Breakdowns, known
from spagree.present.charts import board
from spagree.present.group_words import differences_in_words, group_lines, shown_name
from spagree.present.report.figures import drawn
from spagree.present.report.parts import MOST_ROWS, Section, Table, table
from spagree.present.tables import Column
from spagree.present.wording import p_value, printable

if TYPE_CHECKING:
    from spagree.estimate.groups import Groups

MOST_SENTENCES = 3
FEWEST_COMPARED = 2
GROUPS = (
    Column("group", "group", "name"),
    Column("agreement", "agreement"),
    Column("interval", "interval", "interval"),
    Column("kappa", "beyond chance"),
    Column("items", "items", "count"),
    Column("undefined", "remark", "words"),
)
DIFFERENCES = (
    Column("a", "group", "name"),
    Column("b", "other", "name"),
    Column("difference", "other minus group", "change"),
    Column("interval", "interval", "interval"),
    Column("p", "p (Holm)", "words"),
)


def group_section(breakdowns: Breakdowns) -> Iterator[Section]:
    """Each group's agreement, and how groups differ; nothing if no group column was named."""
    if breakdowns.lacks("groups"):
        return
    found = known(breakdowns.groups)
    lead = " ".join(differences_in_words(found, MOST_SENTENCES, "in the table below."))
    figure = drawn(
        "groups",
        f"Agreement by {printable(found.column)}",
        _reading(found),
        partial(board.groups, breakdowns),
        partial(_groups, found),
    )
    compared = [_differences(found)] if len(found.differences) >= FEWEST_COMPARED else []
    yield Section("groups", "Groups", f"Does agreement depend on {printable(found.column)}?", lead, [figure, *compared])


def _reading(found: Groups) -> str:
    hollow = "Hollow dots rest on fewer than 10 items."
    if found.between:
        return f"How much two people of the same group agree, and people of different groups on shared items. {hollow}"
    return f"How much two annotators agree on each group's items. {hollow}"


def _groups(found: Groups) -> Table:
    rows = [
        {
            "group": line.name,
            "agreement": line.spa.value,
            "low": line.spa.low,
            "high": line.spa.high,
            "kappa": None if line.kappa is None else line.kappa.value,
            "items": line.items,
            "undefined": line.spa.undefined,
        }
        for line in group_lines(found)
    ]
    columns = GROUPS if any(row["undefined"] for row in rows) else GROUPS[:-1]
    return table("groups", f"Agreement of each group of {found.of}", rows, columns)


def _differences(found: Groups) -> Table:
    """All pairs of groups, the clearest difference first."""
    ordered = sorted(found.differences, key=lambda each: 2.0 if each.p_holm is None else each.p_holm)
    rows: list[dict[str, Any]] = [
        {
            "a": shown_name(each.a),
            "b": shown_name(each.b),
            "difference": each.difference.value,
            "low": each.difference.low,
            "high": each.difference.high,
            "p": None if each.p_holm is None else p_value(each.p_holm).removeprefix("p = ").removeprefix("p "),
        }
        for each in ordered
    ]
    note = f"The clearest {MOST_ROWS} of {len(rows):,} differences; --json lists all." if len(rows) > MOST_ROWS else ""
    return table(
        "differences",
        "Differences between groups",
        rows[:MOST_ROWS],
        DIFFERENCES,
        note=note,
        whole=len(rows) <= MOST_ROWS,
    )
