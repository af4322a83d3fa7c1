"""Groups of items or annotators → a table, a picture and sentences for the terminal, and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from spagree.estimate.breakdowns import Breakdowns
from spagree.estimate.uncertainty import Estimate
from spagree.present.comparison import difference_document, span
from spagree.present.document import document, estimate_document
from spagree.present.tables import bare
from spagree.present.terminal import ROOM_FOR_BARS, IntervalChart
from spagree.present.wording import change, count, figure, interval, p_value, printable

if TYPE_CHECKING:
    from spagree.estimate.groups import GroupDifference, Groups

NO_VALUE = "(no value)"
MOST_DIFFERENCES = 10


def groups_document(found: Groups, version: str) -> dict[str, Any]:
    """Every group as a document of its own, the differences, and agreement between groups of annotators."""
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
    return Group(Text(title, style="bold"), Padding(_table(found, bars=bars), (0, 2)), *_differences(found))


def shown_name(name: str) -> str:
    """A group as it is called; those without a value have a name, too."""
    return printable(name) if name else NO_VALUE


def _table(found: Groups, *, bars: bool) -> Table:
    within = "within " if found.between else ""
    rows = [
        (f"{within}{shown_name(name)}", each.spa, each.data.pairable_items) for name, each in found.findings.items()
    ]
    rows += [(f"{shown_name(each.a)} with {shown_name(each.b)}", each.agreement, each.items) for each in found.between]
    chart = IntervalChart([spa for _, spa, _ in rows if spa.value is not None], shown=bars)
    table = bare("group", "items", "agreement", "interval", "", left=[""])
    for name, spa, items in rows:
        table.add_row(name, f"{items:,}", figure(spa.value), _interval(spa), chart.draw(spa))
    return table


def _interval(found: Estimate) -> str:
    return interval(found) if found.low is not None else f"none: {found.undefined}"


def _differences(found: Groups) -> Iterator[RenderableType]:
    """Which groups differ, corrected for all comparisons; what cannot be told is summed up in one line."""
    level = next((each.difference.level for each in found.differences), 0.95)
    differ = [each for each in found.differences if each.p_holm is not None and each.p_holm <= 1 - level]
    for each in differ[:MOST_DIFFERENCES]:
        yield Padding(Text(_sentence(each)), (0, 2))
    if len(differ) > MOST_DIFFERENCES:
        yield Padding(Text(f"… and {len(differ) - MOST_DIFFERENCES:,} more differences (--json lists all)"), (0, 2))
    if len(found.differences) == 1 and not differ and found.differences[0].difference.low is not None:
        yield Padding(Text(f"Whether the groups differ cannot be told: {_figures(found.differences[0])}."), (0, 2))
        return
    rest = count(len(found.differences) - len(differ), "pair")
    if len(differ) < len(found.differences):
        others = "other groups" if differ else "groups"
        yield Padding(Text(f"Whether the {others} differ cannot be told ({rest}, Holm over all)."), (0, 2))


def _sentence(each: GroupDifference) -> str:
    more = "more" if (each.difference.value or 0) > 0 else "less"
    return f"{shown_name(each.b)} agrees {more} than {shown_name(each.a)}: {_figures(each)}."


def _figures(each: GroupDifference) -> str:
    """The second minus the first, with its interval and p."""
    gap = each.difference
    return f"{change(gap.value)}, {span(gap)} ({p_value(each.p_holm or 0.0)})"
