"""Groups of items or annotators → a table, a chart and sentences for the terminal, and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from spagree.estimate.breakdowns import Breakdowns
from spagree.estimate.uncertainty import Estimate
from spagree.present.comparison import difference_document
from spagree.present.document import document, estimate_document
from spagree.present.group_words import differences_in_words, group_lines
from spagree.present.tables import bare
from spagree.present.terminal import ROOM_FOR_BARS, IntervalChart
from spagree.present.wording import figure, interval, printable

if TYPE_CHECKING:
    from spagree.estimate.groups import Groups


def groups_document(found: Groups, version: str) -> dict[str, Any]:
    """Every group as a separate document, the differences, and agreement between groups of annotators."""
    return {
        "by": found.column,
        "groups_of": found.of,
        "groups": {name: document(Breakdowns(each), version) for name, each in found.findings.items()},
        "differences": [
            {"a": each.a, "b": each.b, "difference": difference_document(each.difference), "p_holm": each.p_holm}
            for each in found.differences
        ],
        "between": [
            {"a": each.a, "b": each.b, **estimate_document(each.agreement), "items": each.items}
            for each in found.between
        ],
    }


def groups_summary(found: Groups, width: int = 100) -> Group:
    """One line per group, agreement between groups of annotators, and which groups differ."""
    title = f"By {printable(found.column)} (groups of {found.of})"
    bars = width >= ROOM_FOR_BARS
    words = [Padding(Text(sentence), (0, 2)) for sentence in differences_in_words(found)]
    return Group(Text(title, style="bold"), Padding(_table(found, bars=bars), (0, 2)), *words)


def _table(found: Groups, *, bars: bool) -> Table:
    lines = group_lines(found)
    chart = IntervalChart([line.spa for line in lines if line.spa.value is not None], shown=bars)
    table = bare("group", "items", "agreement", "interval", "", left=[""])
    for name, spa, items, _ in lines:
        table.add_row(name, f"{items:,}", figure(spa.value), _interval(spa), chart.draw(spa))
    return table


def _interval(found: Estimate) -> str:
    return interval(found) if found.low is not None else f"none: {found.undefined}"
