"""Agreements that are already measured → their comparison, and the same within each group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spagree.agreement import Agreement
from spagree.comparing.results import Comparison
from spagree.comparing.sides import group_part, on_one_scale, rescaled, sides_of
from spagree.errors import DataError
from spagree.estimate.comparison import compare_sides, holm, p_of
from spagree.messages import opt


def with_groups(agreements: Mapping[str, Agreement], options: Mapping[str, Any], interval_for: str) -> Comparison:
    """The comparison and, with ``by``, the same within each group all sources have; Holm covers all groups."""
    agreements = on_one_scale(agreements)
    whole = compared(agreements, interval_for)
    if options.get("by") is None:
        return whole
    names_with: dict[str, list[str]] = {}
    for name, agreement in agreements.items():
        for group in agreement.measurement.tally.groups():
            names_with.setdefault(group, []).append(name)
    shared = [group for group, names in names_with.items() if len(names) == len(agreements)]
    if not shared:
        raise DataError(f"{opt.by(options['by'])}: the sources have no group in common; compare them without it")

    def part(agreement: Agreement, group: str) -> Agreement:
        return rescaled(group_part(agreement, group, options), agreement.measurement.metric)

    parts = {
        group: compared({name: part(agreement, group) for name, agreement in agreements.items()}, interval_for)
        for group in shared
    }
    adjusted = iter(holm([p_of(pair.difference) for comparison in parts.values() for pair in comparison.pairs]))
    groups = {
        group: replace(comparison, pairs=tuple(replace(pair, p_holm=next(adjusted)) for pair in comparison.pairs))
        for group, comparison in parts.items()
    }
    not_compared = {group: names for group, names in names_with.items() if group not in shared}
    return replace(whole, groups=groups, not_compared=not_compared)


def compared(agreements: Mapping[str, Agreement], interval_for: str) -> Comparison:
    """Compare agreements that are already measured."""
    sides = sides_of(agreements)
    pairs = compare_sides(sides, interval_for)
    return Comparison(tuple(sides), pairs, agreements=dict(agreements))
