"""Groups of items or annotators in words: their names, and which of them differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from spagree.estimate import Corrected, Estimate
from spagree.present.wording import change, count, p_value, printable, span

if TYPE_CHECKING:
    from spagree.estimate.groups import GroupDifference, Groups

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


def group_lines(found: Groups) -> list[GroupLine]:
    """Each group alone, then each pair of groups of annotators."""
    within = "within " if found.between else ""
    lines = [
        GroupLine(f"{within}{shown_name(name)}", each.spa, each.data.pairable_items, each.chance["spa_kappa"])
        for name, each in found.findings.items()
    ]
    return lines + [
        GroupLine(f"{shown_name(each.a)} with {shown_name(each.b)}", each.agreement, each.items, None)
        for each in found.between
    ]


def differences_in_words(
    found: Groups, most: int = MOST_DIFFERENCES, rest: str = "(--json lists all)"
) -> Iterator[str]:
    """Which groups differ, corrected for all comparisons; one sentence covers the undecided.

    ``rest`` says where to find those beyond ``most``.
    """
    level = next((each.difference.level for each in found.differences), 0.95)
    differ = [each for each in found.differences if each.p_holm is not None and each.p_holm <= 1 - level]
    for each in differ[:most]:
        more = "more" if (each.difference.value or 0) > 0 else "less"
        yield f"{shown_name(each.b)} agrees {more} than {shown_name(each.a)}: {difference_figures(each)}."
    if len(differ) > most:
        yield f"… and {len(differ) - most:,} more differences {rest}"
    if len(found.differences) == 1 and not differ and found.differences[0].difference.low is not None:
        yield f"There is not enough data to tell whether the groups differ: {difference_figures(found.differences[0])}."
        return
    undecided = count(len(found.differences) - len(differ), "pair")
    if len(differ) < len(found.differences):
        others = "other groups" if differ else "groups"
        yield f"There is not enough data to tell whether the {others} differ ({undecided}, Holm over all)."


def difference_figures(each: GroupDifference) -> str:
    """The second minus the first, with its interval and p."""
    return f"{change(each.difference.value)}, {span(each.difference)} ({p_value(each.p_holm or 0.0)})"
