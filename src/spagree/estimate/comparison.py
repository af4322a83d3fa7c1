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
from spagree.tally.tally import Tally

Verdict = Literal["agrees_more", "agrees_less", "label_mix", "the_same", "cannot_tell"]
Kind = Literal["items", "people", "annotations"]
SPA, ALPHA, CLASS = "spa", "alpha", "class "  # the figures that are compared
NOTHING = 1e-9  # differences and errors below this are rounding


@dataclass(frozen=True, slots=True)
class Moves:
    """How far a figure moves without each unit; a number stands for the same unit on both sides."""

    unit: Ints
    moved: Floats

    def covariance(self, other: Moves) -> float:
        """Σ of the products over the shared units; 0 if a figure is undefined without one of them."""
        _, mine, theirs = np.intersect1d(self.unit, other.unit, assume_unique=True, return_indices=True)
        found = total(self.moved[mine] * other.moved[theirs])
        return found if isfinite(found) else 0.0


@dataclass(frozen=True)
class People:
    """The annotators of a side, with the numbers of its items and annotators, in the order of their codes."""

    others: Others
    item: Ints
    person: Ints


@dataclass(frozen=True)
class Known:
    """The items of a side and, if they are known, its annotators, by numbers that mean the same on both sides.

    Rows of ``votes`` are single items, or alike ones; ``row`` is the number of each. Clusters have their own numbers.
    """

    votes: LabelCounts
    row: Ints
    by_n: ByN
    people: People | None = None

    @cached_property
    def units(self) -> Mapping[Kind, Ints]:
        """The numbers of what can be left out, each kind in the order of its jackknife."""
        kept = self.votes.n > 1
        row, cluster = self.row[kept], self.votes.cluster
        if cluster is not None:
            row = np.concatenate([row[cluster[kept] < 0], -1 - np.unique(cluster[kept & (cluster >= 0)])])
        if self.people is None:
            return {"items": row}
        codes, item, person = self.people.others.codes, self.people.item, self.people.person
        single = item[codes.item] * 2**31 + person[codes.annotator]
        return {"items": row, "people": person[self.people.others.shared > 0], "annotations": single}

    def moves(self, kind: Kind, values: Values) -> Moves:
        """How a figure moves without each item or cluster, annotator or annotation."""
        unit = self.units[kind]
        if kind == "items" or self.people is None:
            units = jackknife.items(self.votes)
            return Moves(unit, deviations(values(self.votes, units), units.times)[1] * np.sqrt(units.times))
        others = self.people.others
        if kind == "people":
            without = values(others.votes, jackknife.annotators(others.codes, others.votes))
            return Moves(unit, deviations(without[others.shared > 0])[1])
        without = values(others.votes, jackknife.annotations(others.votes))
        distinct, place = np.unique(unit, return_inverse=True)  # somebody may label an item twice
        each = deviations(without[entry_of_each(others.votes)])[1]
        return Moves(distinct, sums(place, each, len(distinct)))

    def class_moves(self, label: str) -> Moves:
        """How the agreement on a class moves with items: how often a second annotator chose it if a first one did."""
        votes = self.votes.pairable()
        given = votes.label == votes.labels.index(label)
        group, count = votes.group[given], votes.count[given]
        share = votes.agreeing[given] / (votes.n[group] - 1)
        value, size = total(count * share) / total(count), len(votes.items)
        each = votes.per_unit(sums(group, count * (share - value), size)) / total(count)
        has = votes.per_unit(sums(group, count, size)) > 0
        units = max(2, int(has.sum()))
        return Moves(self.units["items"][has], each[has] * sqrt(units / (units - 1)))

    def content(self) -> list[tuple[int | str, ...]]:
        """Who gave which item which label, or how often each label was given."""
        if self.people is None:
            votes = self.votes
            labels = [votes.labels[code] for code in votes.label.tolist()]
            return sorted(zip(self.row[votes.group].tolist(), votes.count.tolist(), labels, strict=True))
        codes = self.people.others.codes
        labels = [codes.labels[code] for code in codes.label.tolist()]
        item, person = self.people.item[codes.item].tolist(), self.people.person[codes.annotator].tolist()
        return sorted(zip(item, person, labels, strict=True))


@dataclass(frozen=True)
class Side:
    """One of the data sets to compare; ``known`` if its items are available, not only their tally."""

    name: str
    spa: Estimate
    alpha: Corrected
    classes: Mapping[str, Estimate] = field(default_factory=dict)
    known: Known | None = None
    tally: Tally | None = None
    _made: dict[tuple[str, Kind], Moves] = field(default_factory=dict, repr=False, compare=False)

    def figure(self, name: str) -> Estimate:
        """``spa``, ``alpha``, or ``class`` and a label."""
        if name in (SPA, ALPHA):
            return self.spa if name == SPA else self.alpha
        missing = undefined(f"{self.name} has no annotation of this class", self.spa.level, self.spa.weights)
        return self.classes.get(name.removeprefix(CLASS), missing)

    def units(self, kind: Kind) -> Ints | None:
        """The numbers of its items or clusters, annotators or annotations; None if they are unknown."""
        return None if self.known is None else self.known.units.get(kind)

    def covariance(self, other: Side, name: str, kind: Kind) -> float:
        """The covariance of a figure on both sides over the units they share; 0 if these are unknown."""
        mine, theirs = self.units(kind), other.units(kind)
        if mine is None or theirs is None or not np.isin(mine, theirs).any():
            return 0.0
        return self._moves(name, kind).covariance(other._moves(name, kind))

    def _moves(self, name: str, kind: Kind) -> Moves:
        """Made once, for all sides it is compared with."""
        if self.known is None:
            raise ValueError("the items are unknown")
        known = self.known
        if (name, kind) not in self._made:
            if name in (SPA, ALPHA):
                values = alpha_without if name == ALPHA else partial(_spa_without, known.by_n)
                self._made[name, kind] = known.moves(kind, values)
            else:
                self._made[name, kind] = known.class_moves(name.removeprefix(CLASS))
        return self._made[name, kind]

    def shared_items(self, other: Side) -> int | None:
        """How many pairable items both have, whatever their clusters; None if that is unknown."""
        if self.known is None or other.known is None:
            return None
        mine, theirs = (known.votes.n > 1 for known in (self.known, other.known))
        both = mine & np.isin(self.known.row, other.known.row[theirs])
        return round(total(self.known.votes.items[both]))

    def shared_annotators(self, other: Side) -> int | None:
        """How many annotators both have; None if that is unknown."""
        mine, theirs = self.units("people"), other.units("people")
        return None if mine is None or theirs is None else int(np.isin(mine, theirs).sum())

    def is_same(self, other: Side) -> bool:
        """Whether both hold the same annotations, as far as they are known."""
        if self.tally is None or self.tally != other.tally or (self.known is None) != (other.known is None):
            return False
        return self.known is None or other.known is None or self.known.content() == other.known.content()


def weights_of(tally: Tally, weights: str | CustomWeights, similar: LabelCounts | None) -> ByN:
    """The weights by number of annotations, where possible also of items without one of theirs."""
    sizes = sorted({m for n in tally.items_by_n for m in (n, n - 1) if m > 1})
    try:
        return weigh_at(sizes, weights, tally, similar).by_n
    except UsageError:  # custom weights
        return weigh(weights, tally, similar).by_n


def _spa_without(by_n: ByN, votes: LabelCounts, units: Units) -> Floats:
    return Sizes.of(votes).without(units, by_n)


def difference(a: Side, b: Side, name: str, interval_for: str = AUTO) -> Estimate:
    """How much larger a figure is on b than on a."""
    one, other = a.figure(name), b.figure(name)
    if one.value is None or other.value is None:
        reason = one.undefined if one.value is None else other.undefined
        return undefined(reason or "", one.level, one.weights)
    value, is_same, intervals = other.value - one.value, a.is_same(b), dict[str, Interval]()
    for population in (each for each in POPULATIONS if each in one.intervals or each in other.intervals):
        ends = [each.intervals.get(population) or Interval(None, None, None, each.undefined) for each in (one, other)]
        if ends[0].low is None or ends[1].low is None:
            intervals[population] = Interval(None, None, None, ends[0].undefined or ends[1].undefined)
            continue
        rho = 1.0 if is_same else _correlation(a, b, name, population)
        if abs(value) < NOTHING and rho > 1 - NOTHING:  # whatever moves one figure moves the other alike
            intervals[population] = Interval(0.0, value, value)
        else:
            found = newcombe(one.value, ends[0], other.value, ends[1], rho)
            intervals[population] = found.at_least(intervals.get(ITEMS, found))
    plain = Estimate(value, None, None, None, one.level, one.weights, undefined=one.undefined or other.undefined)
    return leading(plain, intervals, interval_for) if intervals else plain


def _correlation(a: Side, b: Side, name: str, population: str) -> float:
    """The correlation of a figure on two sides, over the items and, for other annotators, the people they share."""
    spread, differ = 1.0, population == ANNOTATORS
    for figure in (a.figure(name), b.figure(name)):
        errors = {each: interval.stderr or 0.0 for each, interval in figure.intervals.items()}
        spread *= errors[population]
        differ = differ and errors[ANNOTATORS] > errors[ITEMS]  # people who differ by chance move nothing
    if spread == 0:
        return 0.0
    together = a.covariance(b, name, "items")
    if differ:
        together += a.covariance(b, name, "people") - a.covariance(b, name, "annotations")
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
class ClassDifference:
    """How much more annotators of b agree on a class than those of a, for these annotators on new items."""

    label: str
    difference: Estimate
    p_holm: float | None

    @property
    def is_clear(self) -> bool:
        """Whether it is more than chance explains; p is adjusted for all classes."""
        return self.p_holm is not None and self.p_holm <= 1 - self.difference.level


@dataclass(frozen=True)
class Pair:
    """Two sides compared: b − a."""

    a: Side
    b: Side
    difference: Estimate
    alpha_difference: Estimate
    classes: tuple[ClassDifference, ...]
    shared_items: int | None
    shared_annotators: int | None
    p_holm: float | None = None
    """Adjusted for all pairs together."""

    @property
    def is_clear(self) -> bool:
        """Whether the difference is more than chance explains, whatever explains it."""
        return self.p_holm is not None and self.p_holm <= 1 - self.difference.level

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
        if value is None or low is None or high is None:
            return "cannot_tell"
        if abs(value) < NOTHING and high - low < NOTHING:
            return "the_same"
        if not self.is_clear:
            return "cannot_tell"
        if labels is None or (self.alpha_difference.value or 0.0) * value <= 0 or low <= labels <= high:
            return "label_mix"
        return "agrees_more" if value > 0 else "agrees_less"


@dataclass(frozen=True)
class Compared:
    """Two or more data sets, compared pairwise overall and within each group."""

    sides: tuple[Side, ...]
    pairs: tuple[Pair, ...]
    groups: Mapping[str, Compared] = field(default_factory=dict)
    not_compared: Mapping[str, Sequence[str]] = field(default_factory=dict)


def compare_sides(sides: Sequence[Side], interval_for: str = AUTO) -> tuple[Pair, ...]:
    """All pairs of sides, the later minus the earlier; p-values hold for all pairs together."""
    pairs = [_pair(a, b, interval_for) for a, b in combinations(sides, 2)]
    adjusted = holm([p_of(pair.difference) for pair in pairs])
    return tuple(replace(pair, p_holm=p) for pair, p in zip(pairs, adjusted, strict=True))


def _pair(a: Side, b: Side, interval_for: str) -> Pair:
    labels = dict.fromkeys([*a.classes, *b.classes])
    gaps = [difference(a, b, CLASS + label, ITEMS) for label in labels]
    classes = tuple(map(ClassDifference, labels, gaps, holm([p_of(gap) for gap in gaps])))
    spa, alpha = (difference(a, b, name, interval_for) for name in (SPA, ALPHA))
    return Pair(a, b, spa, alpha, classes, a.shared_items(b), a.shared_annotators(b))
