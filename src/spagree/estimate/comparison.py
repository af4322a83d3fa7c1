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
from functools import cached_property, partial
from itertools import combinations
from math import isfinite, sqrt
from statistics import NormalDist
from typing import Literal

import numpy as np

from spagree.counts.tally import Tally
from spagree.errors import UsageError
from spagree.estimate import jackknife
from spagree.estimate.chance import Corrected, alpha_without
from spagree.estimate.intervals import deviations
from spagree.estimate.item_groups import total
from spagree.estimate.jackknife import Sizes, Units, entry_of_each
from spagree.estimate.label_counts import LabelCounts
from spagree.estimate.others import Others, Values
from spagree.estimate.uncertainty import ANNOTATORS, AUTO, ITEMS, POPULATIONS, Estimate, Interval, leading, undefined
from spagree.estimate.weights import ByN, weigh, weigh_at
from spagree.grouping import Floats, Ints, sums
from spagree.options import CustomWeights

Verdict = Literal["agrees_more", "agrees_less", "label_mix", "the_same", "cannot_tell"]
Kind = Literal["items", "people", "annotations"]
Figure = Literal["spa", "alpha"]


@dataclass(frozen=True)
class Known:
    """The items of a side and, if they are known, its annotators, by numbers that mean the same on both sides.

    Rows of ``votes`` are single items, or alike ones; ``row`` is the number of each, and clusters have their own.
    ``item`` and ``person`` are the numbers of the items and annotators of ``others``, by their codes.
    """

    votes: LabelCounts
    row: Ints
    by_n: ByN
    others: Others | None = None
    item: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    person: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @cached_property
    def units(self) -> Mapping[Kind, Ints]:
        """The numbers of what can be left out, each kind in the order of its jackknife."""
        kept = self.votes.n > 1
        row, cluster = self.row[kept], self.votes.cluster
        if cluster is not None:
            row = np.concatenate([row[cluster[kept] < 0], -1 - np.unique(cluster[kept & (cluster >= 0)])])
        if self.others is None:
            return {"items": row}
        codes = self.others.codes
        single = self.item[codes.item] * 2**31 + self.person[codes.annotator]
        return {"items": row, "people": self.person[self.others.shared > 0], "annotations": single}

    def moves(self, kind: Kind, values: Values) -> tuple[Ints, Floats]:
        """How far a figure moves without each item or cluster, annotator or annotation: their numbers, and how far."""
        unit = self.units[kind]
        if kind == "items" or self.others is None:
            units = jackknife.items(self.votes)
            return unit, deviations(values(self.votes, units), units.times)[1] * np.sqrt(units.times)
        votes = self.others.votes
        if kind == "people":
            without = values(votes, self.others.people())
            return unit, deviations(without[self.others.shared > 0])[1]
        without = values(votes, jackknife.annotations(votes))
        distinct, place = np.unique(unit, return_inverse=True)  # somebody may label an item twice
        return distinct, sums(place, deviations(without[entry_of_each(votes)])[1], len(distinct))

    def content(self) -> Ints:
        """Who gave which item which label, or how often each label was given: one row each, in order."""
        columns = self.row[self.votes.group], self.votes.label, self.votes.count.astype(np.int64)
        if self.others is not None:
            codes = self.others.codes
            columns = self.item[codes.item], self.person[codes.annotator], codes.label.astype(np.int64)
        return np.unique(np.column_stack(columns), axis=0)


@dataclass(frozen=True)
class Side:
    """One of the data sets to compare; ``known`` if its items are available, not only their tally."""

    name: str
    spa: Estimate
    alpha: Corrected
    tally: Tally | None = None
    known: Known | None = None
    _made: dict[tuple[Figure, Kind], tuple[Ints, Floats]] = field(default_factory=dict, repr=False, compare=False)

    def covariance(self, other: Side, figure: Figure, kind: Kind) -> float:
        """The covariance of a figure on both sides over the units they share; 0 if there are none, or it is unknown."""
        if not self.shared(other, kind):
            return 0.0
        (one, mine), (another, theirs) = self._moves(figure, kind), other._moves(figure, kind)
        _, here, there = np.intersect1d(one, another, assume_unique=True, return_indices=True)
        found = total(mine[here] * theirs[there])
        return found if isfinite(found) else 0.0  # a figure is undefined without one of them

    def _moves(self, figure: Figure, kind: Kind) -> tuple[Ints, Floats]:
        """Made once, for all sides it is compared with."""
        if (figure, kind) not in self._made and self.known is not None:
            values = alpha_without if figure == "alpha" else partial(_spa_without, self.known.by_n)
            self._made[figure, kind] = self.known.moves(kind, values)
        return self._made[figure, kind]

    def shared(self, other: Side, kind: Kind) -> int | None:
        """How many items or clusters, annotators or annotations both have; None if that is unknown."""
        mine, theirs = (None if side.known is None else side.known.units.get(kind) for side in (self, other))
        return None if mine is None or theirs is None else int(np.isin(mine, theirs).sum())

    def shared_items(self, other: Side) -> int | None:
        """How many pairable items both have, whatever their clusters; None if that is unknown."""
        if self.known is None or other.known is None:
            return None
        mine, theirs = (known.votes.n > 1 for known in (self.known, other.known))
        both = mine & np.isin(self.known.row, other.known.row[theirs])
        return round(total(self.known.votes.items[both]))

    def is_same(self, other: Side) -> bool:
        """Whether both hold the same annotations, as far as they are known."""
        if self.tally is None or self.tally != other.tally or self.known is None or other.known is None:
            return self.tally is not None and self.tally == other.tally and self.known is other.known
        return np.array_equal(self.known.content(), other.known.content())


def weights_of(tally: Tally, weights: str | CustomWeights, similar: LabelCounts | None) -> ByN:
    """The weights by number of annotations, where possible also of items without one of theirs."""
    sizes = sorted({m for n in tally.items_by_n for m in (n, n - 1) if m > 1})
    try:
        return weigh_at(sizes, weights, tally, similar).by_n
    except UsageError:  # custom weights
        return weigh(weights, tally, similar).by_n


def _spa_without(by_n: ByN, votes: LabelCounts, units: Units) -> Floats:
    return Sizes.of(votes).without(units, by_n)


def difference(a: Side, b: Side, figure: Figure, interval_for: str = AUTO) -> Estimate:
    """How much larger a figure is on b than on a."""
    one, other = getattr(a, figure), getattr(b, figure)
    if one.value is None or other.value is None:
        reason = one.undefined if one.value is None else other.undefined
        return undefined(reason or "", one.level, one.weights)
    intervals: dict[str, Interval] = {}
    for population in (each for each in POPULATIONS if each in one.intervals or each in other.intervals):
        mine, theirs = (each.intervals.get(population) or Interval(None, None, None) for each in (one, other))
        if mine.low is None or theirs.low is None:
            reason = mine.undefined or theirs.undefined or one.undefined or other.undefined
            intervals[population] = Interval(None, None, None, reason)
        else:
            found = newcombe(one.value, mine, other.value, theirs, _correlation(a, b, figure, population))
            intervals[population] = found.at_least(intervals.get(ITEMS, found))
    gap = Estimate(other.value - one.value, None, None, None, one.level, one.weights)
    return (
        leading(gap, intervals, interval_for) if intervals else replace(gap, undefined=one.undefined or other.undefined)
    )


def _correlation(a: Side, b: Side, figure: Figure, population: str) -> float:
    """The correlation of a figure on two sides, over the items and, for other annotators, the people they share."""
    errors = [
        {name: interval.stderr or 0.0 for name, interval in getattr(side, figure).intervals.items()} for side in (a, b)
    ]
    spread = errors[0][population] * errors[1][population]
    if spread == 0:
        return 0.0
    together = a.covariance(b, figure, "items")
    if population == ANNOTATORS and all(each[ANNOTATORS] > each[ITEMS] for each in errors):
        # otherwise people differ by no more than chance, and only items move a figure
        together += a.covariance(b, figure, "people") - a.covariance(b, figure, "annotations")
    return min(max(together / spread, -1.0), 1.0)


def newcombe(a: float, one: Interval, b: float, other: Interval, rho: float) -> Interval:
    """The interval of b − a from the intervals of both and their correlation.

    >>> found = newcombe(0.5, Interval(0.05, 0.4, 0.6), 0.8, Interval(0.04, 0.7, 0.86), 0.0)
    >>> round(found.low, 3), round(found.high, 3)
    (0.159, 0.417)
    """

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
    """Holm-adjusted p-values: rejecting any true null in the list is no more likely than in a single test.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    tested = sorted((value, place) for place, value in enumerate(p) if value is not None)
    adjusted: list[float | None] = [None] * len(p)
    largest = 0.0
    for rank, (value, place) in enumerate(tested):
        largest = max(largest, min(1.0, value * (len(tested) - rank)))
        adjusted[place] = largest
    return adjusted


@dataclass(frozen=True)
class Pair:
    """Two sides compared: b − a."""

    a: Side
    b: Side
    difference: Estimate
    kappa_difference: Estimate
    shared_items: int | None
    shared_annotators: int | None
    is_same: bool = False
    """Whether both hold the same annotations."""
    p_holm: float | None = None
    """Adjusted for all pairs together."""

    @property
    def due_to_labels(self) -> float | None:
        """The part of the difference that the shares of the labels make: (1 − α)·ΔP_e; None if alpha is undefined.

        Agreement is 1 − (1 − P_e)(1 − α): it also rises if one label becomes commoner.
        """
        a, b = self.a.alpha, self.b.alpha
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
        if labels is None or (self.kappa_difference.value or 0.0) * value <= 0 or low <= labels <= high:
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
    pairs = [_pair(a, b, interval_for) for a, b in combinations(sides, 2)]
    adjusted = holm([p_of(pair.difference) for pair in pairs])
    return tuple(replace(pair, p_holm=p) for pair, p in zip(pairs, adjusted, strict=True))


def _pair(a: Side, b: Side, interval_for: str) -> Pair:
    gaps, is_same = [difference(a, b, "spa", interval_for), difference(a, b, "alpha", interval_for)], a.is_same(b)
    if is_same:
        none = dict.fromkeys(POPULATIONS, Interval(0.0, 0.0, 0.0))
        gaps = [gap if gap.value is None else leading(gap, none, interval_for) for gap in gaps]
    return Pair(a, b, gaps[0], gaps[1], a.shared_items(b), a.shared(b, "people"), is_same)
