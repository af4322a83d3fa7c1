"""Agreement of each group of items or of annotators, between groups of annotators, and how groups differ.

Groups of items hold different items. Groups of annotators may share items: pairs within a group are two of its people,
pairs between groups are one person from each, and an item's agreeing pairs add up to those of the whole. See
docs/mathematics.md §8.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import Literal

import numpy as np

from spagree.errors import UsageError
from spagree.estimate.comparison import Difference, Figure, Limits, difference, holm
from spagree.estimate.findings import Findings, find
from spagree.estimate.influence import Deviations, Influence
from spagree.estimate.item_groups import Clustered, cluster_numbers, relative_weights, total
from spagree.estimate.label_counts import LabelCounts, scale_of
from spagree.estimate.similarity import Metric
from spagree.estimate.uncertainty import ITEMS, Estimate, undefined, wilson
from spagree.grouping import Floats, Ints, sums
from spagree.options import CustomWeights
from spagree.tally.tally import NO_VALUE, Grouped, Tally

MOST_GROUPS = 100
PAIRS = "pairs per annotation"  # the weights between groups
NO_SHARED_ITEM = "no item has annotations of both groups"
ONE_SHARED = "only one item has annotations of both groups, too few to show how items differ"


@dataclass(frozen=True, slots=True)
class Between:
    """How often a person in one group agrees with a person in the other, on the items both annotated."""

    a: str
    b: str
    agreement: Estimate
    items: int


@dataclass(frozen=True, slots=True)
class GroupDifference:
    """How much more group b agrees than group a; ``p_holm`` holds for all differences together."""

    a: str
    b: str
    difference: Difference
    p_holm: float | None


@dataclass(frozen=True, slots=True)
class Groups:
    """Every group with its findings; the group "" holds those without a value."""

    column: str
    of: Literal["items", "annotators"]
    findings: Mapping[str, Findings]
    differences: tuple[GroupDifference, ...]
    between: tuple[Between, ...]
    """One entry per pair of groups of annotators; empty for groups of items."""


def find_groups(tally: Tally, weights: str | CustomWeights, level: float, metric: Metric) -> Groups | None:
    """The groups of a tally; None if it has none.

    >>> from dataclasses import replace
    >>> votes = {("", (("en", "yes", 2),)): 3, ("", (("de", "no", 1), ("de", "yes", 1))): 2}
    >>> grouped = Grouped(None, "language", votes)
    >>> whole = replace(Tally.from_patterns(grouped.patterns()), grouped=grouped)
    >>> groups = find_groups(whole, "flat", 0.95, Metric("nominal"))
    >>> {name: findings.spa.value for name, findings in groups.findings.items()}, groups.differences[0].difference.value
    ({'de': 0.0, 'en': 1.0}, 1.0)
    """
    if tally.grouped is None or tally.grouped.by is None:
        return None
    parts = tally.groups()
    if len(parts) > MOST_GROUPS:
        raise UsageError(
            f"--by {tally.grouped.by!r}: {len(parts):,} groups, more than the {MOST_GROUPS} that are compared; name a "
            "column with fewer values, or use it as --cluster"
        )
    metric = metric.over(scale_of(tally))
    findings = {name: find(part, weights, level, metric=metric) for name, part in parts.items()}
    shared = _Shared.of(tally, tally.grouped, metric)
    figures = {name: shared.figure(name, part) for name, part in findings.items()}
    pairs = list(combinations(findings, 2))
    gaps = [difference(figures[a], figures[b], level) for a, b in pairs]
    adjusted = holm([gap.p for gap in gaps])
    differences = tuple(GroupDifference(*pair, gap, p) for pair, gap, p in zip(pairs, gaps, adjusted, strict=True))
    of_annotators = tally.grouped.of_annotators
    between = tuple(shared.between(a, b, level) for a, b in pairs) if of_annotators else ()
    return Groups(tally.grouped.by, "annotators" if of_annotators else "items", findings, differences, between)


@dataclass(frozen=True)
class _Shared(Clustered):
    """The items of all groups in one order, which shows what two groups share."""

    items: Floats
    cluster: Ints | None
    votes: Mapping[str, LabelCounts]
    """The votes of each group, none on items it has not seen."""

    @classmethod
    def of(cls, tally: Tally, grouped: Grouped, metric: Metric) -> _Shared:
        ordered = sorted(grouped.items.items())
        scale = scale_of(tally)
        labels = tuple(scale)
        similarity, place = (
            metric.matrix(labels, np.array([*scale.values()])),
            {label: number for number, label in enumerate(labels)},
        )
        items = np.array([count for _, count in ordered], dtype=np.float64)
        cluster = None if grouped.cluster is None else cluster_numbers([name for (name, _), _ in ordered], NO_VALUE)
        entries: dict[str, list[tuple[int, int, int]]] = {group: [] for group in grouped.groups}
        for row, ((_, votes), _) in enumerate(ordered):
            for group, label, count in votes:
                entries[group].append((row, place[label], count))
        tables = {group: np.array(rows, dtype=np.int64).reshape(-1, 3) for group, rows in entries.items()}
        by_group = {
            group: LabelCounts(labels, items, rows[:, 0], rows[:, 1], rows[:, 2].astype(np.float64), similarity)
            for group, rows in tables.items()
        }
        return cls(items, cluster, by_group)

    def figure(self, name: str, findings: Findings) -> Figure:
        """SPA of a group with the deviation of each item or cluster, numbered alike in all groups."""
        spa = findings.spa
        if spa.value is None or spa.stderr is None or spa.low is None or spa.high is None:
            return Figure(spa.value, undefined=spa.undefined)
        votes, by_n = self.votes[name], findings.weights[spa.weights].by_n
        k = relative_weights(by_n, votes.n)
        each = k * (votes.agreement - spa.value) / total(self.items * k)
        deviation = np.sqrt(self.unit_sizes) * self.per_unit(each)
        influence = Influence(Deviations(np.arange(len(deviation)), deviation))
        return Figure(spa.value, {ITEMS: Limits(spa.stderr, spa.low, spa.high)}, influence)

    def between(self, a: str, b: str, level: float) -> Between:
        """Σ k P over Σ k with P the share of agreeing pairs of the two groups and k = 2 n_a n_b/(n_a + n_b).

        Pairs per annotation: within one group that is n − 1.
        """
        one, other = self.votes[a], self.votes[b]
        both = (one.n > 0) & (other.n > 0)
        size = int(self.items[both].sum())
        if not size:
            return Between(a, b, undefined(NO_SHARED_ITEM, level, PAIRS), 0)
        pairs = np.where(both, one.n * other.n, 1.0)
        share = (_together(one, other).squares - one.squares - other.squares) / 2 / pairs
        k = np.where(both, 2 * pairs / np.maximum(one.n + other.n, 1), 0.0)
        whole = total(self.items * k)
        value = total(self.items * k * share) / whole
        units = self.per_unit(both.astype(np.float64)) > 0
        count = float(self.unit_sizes[units].sum())
        if count < 2:
            return Between(a, b, Estimate(value, None, None, None, level, PAIRS, undefined=ONE_SHARED), size)
        spread = total(self.unit_sizes * self.per_unit(k * (share - value)) ** 2)
        stderr = sqrt(count / (count - 1) * spread) / whole
        effective = whole**2 / total(self.unit_sizes * self.per_unit(k) ** 2)
        low, high = wilson(value, stderr, effective, level)
        return Between(a, b, Estimate(value, stderr, low, high, level, PAIRS), size)


def _together(a: LabelCounts, b: LabelCounts) -> LabelCounts:
    """The votes of two groups on the same items, summed."""
    size = len(a.labels)
    keys = np.concatenate([a.group * size + a.label, b.group * size + b.label])
    distinct, place = np.unique(keys, return_inverse=True)
    count = sums(place, np.concatenate([a.count, b.count]), len(distinct))
    return LabelCounts(a.labels, a.items, distinct // size, distinct % size, count, a.similarity)
