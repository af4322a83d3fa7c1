"""Agreement of each group of items or of annotators, between groups of annotators, and how groups differ.

Groups of items hold different items. Groups of annotators may share items: pairs within a group are two of its people,
pairs between groups are one person from each, and an item's agreeing pairs add up to those of the whole. See
docs/mathematics.md §8.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import sqrt
from typing import TYPE_CHECKING, Literal

import numpy as np

from spagree.counts.coded import Coded
from spagree.counts.tally import NO_VALUE, Grouped, Tally
from spagree.errors import UsageError
from spagree.estimate.chance import UNKNOWN_PEOPLE
from spagree.estimate.comparison import Known, Pair, Side, compare_sides, weights_of
from spagree.estimate.findings import Findings, find
from spagree.estimate.item_groups import Clustered, cluster_numbers, total
from spagree.estimate.label_counts import LabelCounts, scale_of, similar_votes, votes
from spagree.estimate.others import Others
from spagree.estimate.similarity import Metric
from spagree.estimate.uncertainty import ANNOTATORS, AUTO, ITEMS, Estimate, Interval, leading, undefined, wilson
from spagree.grouping import Floats, Ints, sums
from spagree.messages import opt
from spagree.options import CustomWeights

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_GROUPS = 100
PAIRS = "pairs per annotation"  # the weights between groups
NO_SHARED_ITEM = "no item has annotations of both groups"
THESE_ONLY = "between groups it is known for these annotators only"
ONE_SHARED = "only one item has annotations of both groups, too few to show how items differ"


@dataclass(frozen=True, slots=True)
class Between:
    """How often a person in one group agrees with a person in the other, on the items both annotated."""

    a: str
    b: str
    agreement: Estimate
    items: int


@dataclass(frozen=True, slots=True)
class Groups:
    """Every group with its findings; the group "" holds those without a value."""

    column: str
    of: Literal["items", "annotators"]
    findings: Mapping[str, Findings]
    differences: tuple[Pair, ...]
    between: tuple[Between, ...]
    """One entry per pair of groups of annotators; empty for groups of items."""


def find_groups(
    tally: Tally,
    weights: str | CustomWeights,
    level: float,
    metric: Metric,
    people: tuple[Coded, NDArray[np.object_]] | str = UNKNOWN_PEOPLE,
    interval_for: str = AUTO,
) -> Groups | None:
    """The groups of a tally; None if it has none.

    ``people`` are the annotations with the group of each, or why they are unknown. Groups of annotators are compared
    for other annotators; groups of items, which the same people annotate, for these ones unless told otherwise.

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
    parts, of_annotators = tally.groups(), tally.grouped.of_annotators
    if len(parts) > MOST_GROUPS:
        raise UsageError(
            f"{opt.by(tally.grouped.by)}: {len(parts):,} groups, more than the {MOST_GROUPS} that are compared; name a "
            f"column with fewer values, or use it as {opt.cluster}"
        )
    metric = metric.over(scale_of(tally))
    leads = ITEMS if interval_for == AUTO and not of_annotators else interval_for
    shared = _Shared.of(tally, tally.grouped, metric)
    findings: dict[str, Findings] = {}
    sides = []
    for name, part in parts.items():
        similar = similar_votes(part, metric)
        known = Known(shared.votes[name], np.arange(len(shared.items)), weights_of(part, weights, similar))
        if not isinstance(people, str):
            codes, items, persons = _only(people[0], people[1] == name)
            others = Others.of(codes, similar or votes(part), similar.similarity if similar else None)
            known = replace(known, others=others, item=items, person=persons)
        told = people if isinstance(people, str) else known.others or UNKNOWN_PEOPLE
        found = findings[name] = find(part, weights, level, metric=metric, others=told, interval_for=leads)
        sides.append(Side(name, found.spa, found.chance["krippendorff_alpha"], part, known))
    between = [shared.between(a, b, level, leads) for a, b in combinations(parts, 2) if of_annotators]
    of: Literal["items", "annotators"] = "annotators" if of_annotators else "items"
    return Groups(tally.grouped.by, of, findings, compare_sides(sides, leads), tuple(between))


def _only(codes: Coded, chosen: NDArray[np.bool_]) -> tuple[Coded, Ints, Ints]:
    """Some of the annotations, and the whole's codes of their items and annotators."""
    items, item = np.unique(codes.item[chosen], return_inverse=True)
    people, annotator = np.unique(codes.annotator[chosen], return_inverse=True)
    labels, label = np.unique(codes.label[chosen], return_inverse=True)
    names = [codes.annotators[code] for code in people.tolist()], [codes.labels[code] for code in labels.tolist()]
    columns = [each.astype(np.int32) for each in (item, annotator, label)]
    part = Coded(columns[0], columns[1], columns[2], tuple(names[0]), tuple(names[1]))
    return part, items.astype(np.int64), people.astype(np.int64)


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
        for row, ((_, given), _) in enumerate(ordered):
            for group, label, count in given:
                entries[group].append((row, place[label], count))
        tables = {group: np.array(rows, dtype=np.int64).reshape(-1, 3) for group, rows in entries.items()}
        by_group = {
            group: LabelCounts(
                labels, items, rows[:, 0], rows[:, 1], rows[:, 2].astype(np.float64), similarity, cluster
            )
            for group, rows in tables.items()
        }
        return cls(items, cluster, by_group)

    def between(self, a: str, b: str, level: float, interval_for: str) -> Between:
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
        plain = Estimate(value, None, None, None, level, PAIRS)
        intervals = {ITEMS: Interval(stderr, low, high), ANNOTATORS: Interval(None, None, None, THESE_ONLY)}
        return Between(a, b, leading(plain, intervals, interval_for), size)


def _together(a: LabelCounts, b: LabelCounts) -> LabelCounts:
    """The votes of two groups on the same items, summed."""
    size = len(a.labels)
    keys = np.concatenate([a.group * size + a.label, b.group * size + b.label])
    distinct, place = np.unique(keys, return_inverse=True)
    count = sums(place, np.concatenate([a.count, b.count]), len(distinct))
    return LabelCounts(a.labels, a.items, distinct // size, distinct % size, count, a.similarity)
