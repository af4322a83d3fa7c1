"""Groups of items or annotators in words, as a table with a chart for the terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from spagree.errors import count
from spagree.estimate import Corrected, Estimate
from spagree.estimate.breakdown_values import Breakdowns
from spagree.present.comparison_words import both, pair_document, sentence
from spagree.present.document import document, estimate_document
from spagree.present.fitted import CHART, NAME, Fitted, Heading
from spagree.present.terminal import IntervalChart
from spagree.present.wording import figure, printable

if TYPE_CHECKING:
    from spagree.estimate.groups import Groups

NO_VALUE = "(no value)"
MOST_DIFFERENCES = 10


class GroupLine(NamedTuple):
    """A group, or one group of annotators with another: agreement, the number of items behind it, and kappa."""

    name: str
    spa: Estimate
    items: int
    kappa: Corrected | None


def shown_name(name: str) -> str:
    """A group's name; the group without a value has one too."""
    return printable(name) if name else NO_VALUE


def group_lines(groups: Groups) -> list[GroupLine]:
    """Each group alone, then each pair of groups of annotators."""
    within = "within " if groups.between else ""
    lines = [
        GroupLine(f"{within}{shown_name(name)}", part.spa, part.data.pairable_items, part.chance["krippendorff_alpha"])
        for name, part in groups.findings.items()
    ]
    return lines + [
        GroupLine(f"{shown_name(pair.a)} with {shown_name(pair.b)}", pair.agreement, pair.items, None)
        for pair in groups.between
    ]


def differences_in_words(
    groups: Groups, most: int = MOST_DIFFERENCES, rest: str = "(--json lists all)"
) -> Iterator[str]:
    """Which groups differ, corrected for all comparisons; one sentence covers the undecided.

    ``rest`` says where to find those beyond ``most``.
    """
    differ = [pair for pair in groups.differences if pair.verdict not in ("cannot_tell", "the_same")]
    for pair in differ[:most]:
        yield sentence(pair, shown_name)
    if len(differ) > most:
        yield f"… and {len(differ) - most:,} more differences {rest}"
    if len(groups.differences) == 1 and not differ and groups.differences[0].difference.low is not None:
        yield sentence(groups.differences[0], shown_name)
        return
    undecided = count(len(groups.differences) - len(differ), "pair")
    if len(differ) < len(groups.differences):
        others = "other groups" if differ else "groups"
        yield f"There is not enough data to tell whether the {others} differ ({undecided}, Holm over all)."


def groups_document(groups: Groups) -> dict[str, Any]:
    """Every group as a separate document, the differences, and agreement between groups of annotators."""
    return {
        "by": groups.column,
        "groups_of": groups.of,
        "groups": {name: document(Breakdowns(findings)) for name, findings in groups.findings.items()},
        "differences": [{"a": pair.a.name, "b": pair.b.name, **pair_document(pair)} for pair in groups.differences],
        "between": [
            {"a": pair.a, "b": pair.b, **estimate_document(pair.agreement), "items": pair.items}
            for pair in groups.between
        ],
    }


def groups_summary(groups: Groups) -> Group:
    """One line per group, agreement between groups of annotators, and which groups differ."""
    title = Text(f"By {printable(groups.column)} (groups of {groups.of})", style="bold")
    lines = group_lines(groups)
    chart = IntervalChart([line.spa for line in lines if line.spa.value is not None])
    headings = [Heading(name, is_right=False, least=NAME) for name in ("other annotators", "these annotators")]
    table = Fitted(
        Heading("group", is_right=False, least=NAME), Heading("items"), Heading("agreement"), *headings, CHART
    )
    for name, spa, items, _ in lines:
        ends = (f"none: {spa.undefined}", "") if spa.low is None else both(spa)
        table.add_row(name, f"{items:,}", figure(spa.value), *ends, chart.draw(spa))
    words = [Padding(Text(sentence), (0, 2)) for sentence in differences_in_words(groups)]
    return Group(title, Padding(table, (0, 2)), *words)
