"""Groups of items or annotators: which agree less, and whether chance could explain it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from spagree.estimate.breakdown_values import Breakdowns, known
from spagree.present.group_words import differences_in_words, group_lines, shown_name
from spagree.present.report.parts import MOST_ROWS, Section, Table, drawn, table
from spagree.present.tables import columns
from spagree.present.wording import p_value, printable

if TYPE_CHECKING:
    from spagree.estimate.groups import Groups

MOST_SENTENCES = 3
FEWEST_COMPARED = 2
GROUPS = columns(
    "group:name agreement interval kappa items:count undefined:words", {"kappa": "beyond chance", "undefined": "remark"}
)
DIFFERENCES = columns(
    "a:name b:name difference:change interval p:words",
    {"a": "group", "b": "other", "difference": "other minus group", "p": "p (Holm)"},
)


def group_section(breakdowns: Breakdowns) -> Iterator[Section]:
    """Each group's agreement, and how groups differ; nothing if no group column was named."""
    if breakdowns.lacks("groups"):
        return
    groups = known(breakdowns.groups)
    lead = " ".join(differences_in_words(groups, MOST_SENTENCES, "in the table below."))
    hollow = "Hollow dots rest on fewer than 10 items."
    within = "How much two people of the same group agree, and people of different groups on shared items."
    reading = within if groups.between else "How much two annotators agree on each group's items."
    column = printable(groups.column)
    title = f"Agreement by {column}"
    figure = drawn(breakdowns, "groups", title, f"{reading} {hollow}", lambda _: _groups(groups))
    compared = [_differences(groups)] if len(groups.differences) >= FEWEST_COMPARED else []
    yield Section("groups", "Groups", f"Does agreement depend on {column}?", lead, [figure, *compared])


def _groups(groups: Groups) -> Table:
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
        for line in group_lines(groups)
    ]
    columns = GROUPS if any(row["undefined"] for row in rows) else GROUPS[:-1]
    return table("groups", f"Agreement of each group of {groups.of}", rows, columns)


def _differences(groups: Groups) -> Table:
    """All pairs of groups, the clearest difference first."""
    ordered = sorted(groups.differences, key=lambda each: 2.0 if each.p_holm is None else each.p_holm)
    rows: list[dict[str, Any]] = [
        {
            "a": shown_name(each.a.name),
            "b": shown_name(each.b.name),
            "difference": each.difference.value,
            "low": each.difference.low,
            "high": each.difference.high,
            "p": None if each.p_holm is None else p_value(each.p_holm).removeprefix("p = ").removeprefix("p "),
        }
        for each in ordered
    ]
    note = f"The clearest {MOST_ROWS} of {len(rows):,} differences; --json lists all." if len(rows) > MOST_ROWS else ""
    shown, is_whole = rows[:MOST_ROWS], len(rows) <= MOST_ROWS
    return table("differences", "Differences between groups", shown, DIFFERENCES, note=note, whole=is_whole)
