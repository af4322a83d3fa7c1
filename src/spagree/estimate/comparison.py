"""Is one agreement higher than another? Two sides that may share items and annotators (docs/mathematics.md §11).

The interval is Newcombe's: from the limits of both figures, with the correlation of the two,

    low  = d − √((b − b_low)² + (a_high − a)² − 2ρ (b − b_low)(a_high − a)),    d = b − a,

and likewise for high. Unlike d ± t·se it has positive width even if nobody disagrees. There is one for these annotators
on new items, and one for other annotators, which decides where it exists: two teams differ because people do. ρ comes
from leaving each shared item, annotator and annotation out of both sides at once; it is 0 if they share none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import isfinite, prod, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from spagree.codes import Codes, Floats, Ints, counted, sums
from spagree.counts.tally import NO_VALUE, Grouped, Tally
from spagree.errors import UsageError, opt
from spagree.estimate import jackknife
from spagree.estimate.chance import UNKNOWN_PEOPLE, Corrected, alpha_without
from spagree.estimate.findings import Findings, find
from spagree.estimate.jackknife import Units, entry_of_each
from spagree.estimate.other_annotators import Others
from spagree.estimate.similarity import Metric
from spagree.estimate.uncertainty import (
    ANNOTATORS,
    AUTO,
    ITEMS,
    POPULATIONS,
    Estimate,
    Interval,
    deviations,
    leading,
    undefined,
    wilson,
)
from spagree.estimate.votes import LabelCounts, cluster_numbers, scale_of, total, votes
from spagree.estimate.weights import ByN, weigh
from spagree.options import CustomWeights

if TYPE_CHECKING:
    from numpy.typing import NDArray

Verdict = Literal["agrees_more", "agrees_less", "label_mix", "the_same", "cannot_tell"]
Moved = Literal["items", "people", "annotations"]
SPA, ALPHA = "spa", "krippendorff_alpha"


class Moving(Protocol):
    """The items of a side and, if they are known, its annotators, by numbers that mean the same on both sides."""

    @property
    def units(self) -> Mapping[Moved, Ints]:
        """The numbers of what can be left out, each kind in the order of its jackknife."""

    @property
    def pairable(self) -> tuple[Ints, Floats] | None:
        """The number of each pairable item, or of alike ones and how many there are; None if items are unknown."""

    def moves(self, kind: Moved, figure: str) -> tuple[Ints, Floats]:
        """How far a figure moves without each item or cluster, annotator or annotation: their numbers, and how far."""

    def content(self) -> NDArray[Any] | None:
        """What was annotated, in order: equal on sides that hold the same; None if items are unknown."""


@dataclass(frozen=True)
class Known:
    """:class:`Moving` of labels.

    Rows of ``votes`` are single items, or alike ones; ``row`` is the number of each, and clusters have their own. A
    tally has annotators but no items: ``row`` is None. ``item`` and ``person`` are the numbers of the items and
    annotators of ``others``, by their codes.
    """

    votes: LabelCounts
    row: Ints | None
    by_n: ByN
    others: Others | None = None
    item: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    person: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @cached_property
    def units(self) -> Mapping[Moved, Ints]:
        """The numbers of what can be left out, each kind in the order of its jackknife."""
        units: dict[Moved, Ints] = {}
        if self.row is not None:
            kept, cluster = self.votes.n > 1, self.votes.cluster
            units["items"] = row = self.row[kept]
            if cluster is not None:
                apart = -1 - np.unique(cluster[kept & (cluster >= 0)])
                units["items"] = np.concatenate([row[cluster[kept] < 0], apart])
        if self.others is not None:
            units["people"] = self.person[self.others.shared > 0]
        if self.others is not None and self.others.kinds is None:
            codes = self.others.codes
            units["annotations"] = self.item[codes.item] * 2**31 + self.person[codes.annotator]
        return units

    @property
    def pairable(self) -> tuple[Ints, Floats] | None:
        """The number of each row with pairs, and how many items it stands for."""
        kept = self.votes.n > 1
        return None if self.row is None else (self.row[kept], self.votes.items[kept])

    def moves(self, kind: Moved, figure: str) -> tuple[Ints, Floats]:
        """How far a figure moves without each item or cluster, annotator or annotation: their numbers, and how far."""

        def spa_without(votes: LabelCounts, units: Units) -> Floats:
            sizes = votes.sizes if self.others is None or kind == "items" else self.others.sizes
            return sizes.without(units, self.by_n)

        unit, values = self.units[kind], alpha_without if figure == ALPHA else spa_without
        if kind == "items" or self.others is None:
            units = jackknife.items(self.votes)
            return unit, deviations(values(self.votes, units), units.times)[1] * np.sqrt(units.times)
        votes = self.others.votes
        if kind == "people":
            without = values(*self.others.left_out("people"))
            return unit, deviations(without[self.others.shared > 0])[1]
        without = values(votes, jackknife.annotations(votes))
        distinct, place = np.unique(unit, return_inverse=True)  # somebody may label an item twice
        return distinct, sums(place, deviations(without[entry_of_each(votes)])[1], len(distinct))

    def content(self) -> NDArray[Any] | None:
        """Who gave which item which label, or how often each label was given, in rows; None if items are unknown."""
        if self.row is None:
            return None
        columns = self.row[self.votes.group], self.votes.label, self.votes.count.astype(np.int64)
        if self.others is not None and self.others.kinds is None:
            codes = self.others.codes
            columns = self.item[codes.item], self.person[codes.annotator], codes.label.astype(np.int64)
        return np.unique(np.column_stack(columns), axis=0)


@dataclass(frozen=True)
class Side:
    """One of the data sets to compare: its figures by name, of which the first is the one that is compared.

    ``known`` is what is known of its items and annotators.
    """

    name: str
    figures: Mapping[str, Estimate]
    tally: Tally | None = None
    known: Moving | None = None
    _moves: dict[tuple[str, Moved], tuple[Ints, Floats]] = field(default_factory=dict, repr=False, compare=False)
    """How far a figure moves without each unit: found once, for all sides it is compared with."""

    @property
    def headline(self) -> Estimate:
        """SPA, or agreement on whole spans."""
        return next(iter(self.figures.values()))

    def covariance(self, other: Side, figure: str, kind: Moved) -> float:
        """The covariance of a figure on both sides over the units they share; 0 if there are none, or it is unknown."""
        if not self.shared(other, kind):
            return 0.0
        for side in (self, other):
            if side.known is not None and (figure, kind) not in side._moves:
                side._moves[figure, kind] = side.known.moves(kind, figure)
        (one, mine), (another, theirs) = self._moves[figure, kind], other._moves[figure, kind]
        _, here, there = np.intersect1d(one, another, assume_unique=True, return_indices=True)
        found = total(mine[here] * theirs[there])
        return found if isfinite(found) else 0.0  # a figure is undefined without one of them

    def shared(self, other: Side, kind: Moved) -> int | None:
        """How many items or clusters, annotators or annotations both have; None if that is unknown."""
        mine, theirs = (None if side.known is None else side.known.units.get(kind) for side in (self, other))
        return None if mine is None or theirs is None else int(np.isin(mine, theirs).sum())

    def shared_items(self, other: Side) -> int | None:
        """How many pairable items both have, whatever their clusters; None if that is unknown."""
        mine, theirs = (None if side.known is None else side.known.pairable for side in (self, other))
        return None if mine is None or theirs is None else round(total(mine[1][np.isin(mine[0], theirs[0])]))

    def is_same(self, other: Side) -> bool:
        """Whether both hold the same annotations, as far as they are known."""
        if self.tally != other.tally:
            return False
        mine, theirs = (None if side.known is None else side.known.content() for side in (self, other))
        if mine is None or theirs is None:
            alike = self.tally and other.tally and self.tally.people == other.tally.people
            return mine is theirs and bool(alike)
        return np.array_equal(mine, theirs)


def difference(a: Side, b: Side, figure: str, interval_for: str = AUTO) -> Estimate:
    """How much larger a figure is on b than on a."""
    one, other = a.figures[figure], b.figures[figure]
    if one.value is None or other.value is None:
        reason = one.undefined if one.value is None else other.undefined
        return undefined(reason or "", one.level, one.weights)
    intervals: dict[str, Interval] = {}
    for population in (each for each in POPULATIONS if each in one.intervals or each in other.intervals):
        mine, theirs = (each.intervals.get(population) or Interval(None, None, None) for each in (one, other))
        if mine.low is None or theirs.low is None:
            why = mine.undefined or theirs.undefined or one.undefined or other.undefined
            intervals[population] = Interval(None, None, None, why)
        else:
            found = newcombe(one.value, mine, other.value, theirs, _correlation(a, b, figure, population))
            intervals[population] = found.at_least(intervals.get(ITEMS, found))
    gap = Estimate(other.value - one.value, None, None, None, one.level, one.weights)
    if not intervals:
        return replace(gap, undefined=one.undefined or other.undefined)
    return leading(gap, intervals, interval_for)


def _correlation(a: Side, b: Side, figure: str, population: str) -> float:
    """The correlation of a figure on two sides, over the items and, for other annotators, the people they share."""
    errors = [
        {name: interval.stderr or 0.0 for name, interval in side.figures[figure].intervals.items()} for side in (a, b)
    ]
    spread = errors[0][population] * errors[1][population]
    if spread == 0:
        return 0.0
    together = a.covariance(b, figure, "items")
    if population == ANNOTATORS and all(each[ANNOTATORS] > each[ITEMS] for each in errors):
        # otherwise people differ by no more than chance, and only items move a figure
        people = a.covariance(b, figure, "people") - a.covariance(b, figure, "annotations")
        if a.shared(b, "items") is None:  # then chance on items both may hold is in it: no more than people can share
            people = min(people, sqrt(prod(each[ANNOTATORS] ** 2 - each[ITEMS] ** 2 for each in errors)))
        together += people
    return min(max(together / spread, -1.0), 1.0)


def newcombe(a: float, one: Interval, b: float, other: Interval, rho: float) -> Interval:
    """The interval of b − a from the intervals of both and their correlation."""

    def joined(mine: float | None, theirs: float | None) -> float:
        x, y = mine or 0.0, theirs or 0.0
        return sqrt((x - y) ** 2 + 2 * (1 - rho) * x * y)

    a_low, a_high, b_low, b_high = (end or 0.0 for end in (one.low, one.high, other.low, other.high))
    low, high = b - a - joined(b - b_low, a_high - a), b - a + joined(b_high - b, a - a_low)
    return Interval(joined(one.stderr, other.stderr), low, high)


def p_of(gap: Estimate) -> float | None:
    """The p-value of a difference: below 1 − level exactly when the interval excludes 0."""
    if gap.value is None or gap.low is None or gap.high is None:
        return None
    reach = gap.value - gap.low if gap.value > 0 else gap.high - gap.value
    if gap.value == 0 or reach == 0:
        return float(gap.value == 0)
    z = NormalDist().inv_cdf((1 + gap.level) / 2)
    return 2 * NormalDist().cdf(-z * abs(gap.value) / reach)


def holm(p: Sequence[float | None]) -> list[float | None]:
    """Holm-adjusted p-values: rejecting any true null in the list is no more likely than in a single test."""
    tested = sorted((value, place) for place, value in enumerate(p) if value is not None)
    adjusted: list[float | None] = [None] * len(p)
    largest = 0.0
    for rank, (value, place) in enumerate(tested):
        largest = max(largest, min(1.0, value * (len(tested) - rank)))
        adjusted[place] = largest
    return adjusted


@dataclass(frozen=True)
class Pair:
    """Two sides compared: b − a of each figure."""

    a: Side
    b: Side
    differences: Mapping[str, Estimate]
    shared_items: int | None
    shared_annotators: int | None
    is_same: bool = False
    """Whether both hold the same annotations."""
    p_holm: float | None = None
    """Adjusted for all pairs together."""

    @property
    def difference(self) -> Estimate:
        """SPA of b minus that of a, or agreement on whole spans."""
        return next(iter(self.differences.values()))

    @property
    def kappa_difference(self) -> Estimate | None:
        """Krippendorff's alpha of b minus that of a; None for marks."""
        return self.differences.get(ALPHA)

    @property
    def due_to_labels(self) -> float | None:
        """The part of the difference that the shares of the labels make: (1 − α)·ΔP_e; None if alpha is undefined.

        Agreement is 1 − (1 − P_e)(1 − α): it also rises if one label becomes commoner.
        """
        a, b = (side.figures.get(ALPHA) for side in (self.a, self.b))
        if not isinstance(a, Corrected) or not isinstance(b, Corrected):
            return None
        if a.value is None or b.value is None or a.expected is None or b.expected is None:
            return None
        return (1 - (a.value + b.value) / 2) * (b.expected - a.expected)

    @property
    def verdict(self) -> Verdict:
        """Which side agrees more, if the evidence holds for all pairs together and other labels do not explain it."""
        value, low, high, labels = self.difference.value, self.difference.low, self.difference.high, self.due_to_labels
        if self.is_same:
            return "the_same"
        if value is None or low is None or high is None or self.p_holm is None:
            return "cannot_tell"
        if self.p_holm > 1 - self.difference.level:
            return "cannot_tell"
        alpha = self.kappa_difference
        if alpha is not None and (labels is None or (alpha.value or 0.0) * value <= 0 or low <= labels <= high):
            return "label_mix"
        return "agrees_more" if value > 0 else "agrees_less"


@dataclass(frozen=True)
class Compared:
    """Two or more data sets, compared pairwise overall and within each group."""

    sides: tuple[Side, ...]
    pairs: tuple[Pair, ...]
    groups: Mapping[str, Compared] = field(default_factory=dict)
    not_compared: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Groups that some lack, and the names of those that have them."""


def compare_sides(sides: Sequence[Side], interval_for: str = AUTO) -> tuple[Pair, ...]:
    """All pairs of sides, the later minus the earlier; p-values hold for all pairs together."""
    pairs = []
    for a, b in combinations(sides, 2):
        gaps, is_same = {figure: difference(a, b, figure, interval_for) for figure in a.figures}, a.is_same(b)
        if is_same:
            none = dict.fromkeys(POPULATIONS, Interval(0.0, 0.0, 0.0))
            gaps = {f: gap if gap.value is None else leading(gap, none, interval_for) for f, gap in gaps.items()}
        pairs.append(Pair(a, b, gaps, a.shared_items(b), a.shared(b, "people"), is_same))
    adjusted = holm([p_of(pair.difference) for pair in pairs])
    return tuple(replace(pair, p_holm=p) for pair, p in zip(pairs, adjusted, strict=True))


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
    findings: Mapping[str, Any]
    """What is found of labels, or of marks."""
    differences: tuple[Pair, ...]
    between: tuple[Between, ...]
    """One entry per pair of groups of annotators; empty for groups of items."""


def find_groups(
    tally: Tally,
    weights: str | CustomWeights,
    level: float,
    metric: Metric,
    people: tuple[Codes, NDArray[np.object_]] | str = UNKNOWN_PEOPLE,
    interval_for: str = AUTO,
) -> Groups | None:
    """The groups of a tally; None if it has none.

    ``people`` are the annotations with the group of each, or why they are unknown unless the tally of a group has the
    kinds of annotations of each annotator. Groups of annotators are compared for other annotators; groups of items,
    which the same people annotate, for these ones unless told otherwise.
    """
    if tally.grouped is None or tally.grouped.by is None:
        return None
    parts, of_annotators = tally.groups(), tally.grouped.of_annotators
    refuse_many(tally.grouped.by, len(parts))
    metric = metric.over(scale_of(tally))
    leads = ITEMS if interval_for == AUTO and not of_annotators else interval_for
    shared = _votes_of_groups(tally, tally.grouped, metric)
    findings: dict[str, Findings] = {}
    sides, number = [], {who: place for place, who in enumerate(sorted(tally.annotators or ()))}
    for name, part in parts.items():
        counts = votes(part, metric)
        known = Known(shared[name], np.arange(len(shared[name].items)), weigh(weights, part, counts).every)
        if not isinstance(people, str):
            codes, chosen = people[0], people[1] == name
            own, items = codes.only(chosen)
            used, label = np.unique(own.label, return_inverse=True)
            own = replace(own, label=label.astype(np.int32), labels=tuple(codes.labels[code] for code in used))
            others = Others.of(own, counts, None if counts is None else counts.similarity)
            known = replace(known, others=others, item=items, person=counted(codes.annotator[chosen])[0])
        elif part.people is not None and (counts is None or counts.similarity is None):
            persons = np.array([number[who] for who in sorted(part.people)], dtype=np.int64)
            known = replace(known, others=Others.of_tally(part, part.people, counts), person=persons)
        told = known.others or (people if isinstance(people, str) else UNKNOWN_PEOPLE)
        found = findings[name] = find(
            part, weights, level, metric=metric, others=told, interval_for=leads, counts=counts
        )
        sides.append(Side(name, {SPA: found.spa, ALPHA: found.chance[ALPHA]}, part, known))
    between = [_between(a, b, shared, level, leads) for a, b in combinations(parts, 2) if of_annotators]
    of: Literal["items", "annotators"] = "annotators" if of_annotators else "items"
    return Groups(tally.grouped.by, of, findings, compare_sides(sides, leads), tuple(between))


def refuse_many(column: str, groups: int) -> None:
    """Refuse a column with more values than can be compared."""
    if groups > MOST_GROUPS:
        raise UsageError(
            f"{opt.by(column)}: {groups:,} groups, more than the {MOST_GROUPS} that are compared; name a column with "
            f"fewer values, or use it as {opt.cluster}"
        )


def _votes_of_groups(tally: Tally, grouped: Grouped, metric: Metric) -> dict[str, LabelCounts]:
    """The votes of each group on the items of all groups in one order, which shows what two groups share."""
    ordered, scale = sorted(grouped.items.items()), scale_of(tally)
    labels = tuple(scale)
    similarity = metric.matrix(labels, np.array([*scale.values()]))
    place = {label: number for number, label in enumerate(labels)}
    items = np.array([count for _, count in ordered], dtype=np.float64)
    cluster = None if grouped.cluster is None else cluster_numbers([name for (name, _), _ in ordered], NO_VALUE)
    entries: dict[str, list[tuple[int, int, int]]] = {group: [] for group in grouped.groups}
    for row, ((_, given), _) in enumerate(ordered):
        for group, label, count in given:
            entries[group].append((row, place[label], count))
    found = {}
    for group, rows in entries.items():
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        counts = table[:, 0], table[:, 1], table[:, 2].astype(np.float64)
        found[group] = LabelCounts(labels, items, *counts, similarity, cluster)
    return found


def _between(a: str, b: str, votes: Mapping[str, LabelCounts], level: float, interval_for: str) -> Between:
    """Σ k P over Σ k with P the share of agreeing pairs of the two groups and k = 2 n_a n_b/(n_a + n_b).

    Pairs per annotation: within one group that is n − 1.
    """
    one, other = votes[a], votes[b]
    both = (one.n > 0) & (other.n > 0)
    size = int(one.items[both].sum())
    if not size:
        return Between(a, b, undefined(NO_SHARED_ITEM, level, PAIRS), 0)
    pairs = np.where(both, one.n * other.n, 1.0)
    width = len(one.labels)
    keys = np.concatenate([one.group * width + one.label, other.group * width + other.label])
    distinct, place = np.unique(keys, return_inverse=True)
    count = sums(place, np.concatenate([one.count, other.count]), len(distinct))
    summed = LabelCounts(one.labels, one.items, distinct // width, distinct % width, count, one.similarity)
    share = (summed.squares - one.squares - other.squares) / 2 / pairs
    k = np.where(both, 2 * pairs / np.maximum(one.n + other.n, 1), 0.0)
    whole = total(one.items * k)
    value = total(one.items * k * share) / whole
    together = float(one.unit_sizes[one.per_unit(both.astype(np.float64)) > 0].sum())
    plain = Estimate(value, None, None, None, level, PAIRS)
    if together < 2:
        return Between(a, b, replace(plain, undefined=ONE_SHARED), size)
    spread = total(one.unit_sizes * one.per_unit(k * (share - value)) ** 2)
    stderr = sqrt(together / (together - 1) * spread) / whole
    effective = whole**2 / total(one.unit_sizes * one.per_unit(k) ** 2)
    these = Interval(stderr, *wilson(value, stderr, effective, level))
    intervals = {ITEMS: these, ANNOTATORS: Interval(None, None, None, THESE_ONLY)}
    return Between(a, b, leading(plain, intervals, interval_for), size)
