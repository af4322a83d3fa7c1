"""Is one agreement higher than another? Differences of figures that may share items and annotators.

The interval is Newcombe's: from the limits of both figures, with the correlation of the two,

    low  = d − √((b − b_low)² + (a_high − a)² − 2ρ (b − b_low)(a_high − a)),    d = b − a,

and likewise for high. Unlike d ± t·se it has positive width even if nobody disagrees. ρ is the correlation of both
over the items (and annotators) they share, 0 if they share none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import sqrt
from statistics import NormalDist
from typing import Literal

import numpy as np

from spagree.estimate.chance import Corrected
from spagree.estimate.classes import ONE_ITEM
from spagree.estimate.influence import Deviations, Influence, Pairable, Sums, influence, jackknife
from spagree.estimate.intervals import effective_number
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS, POPULATIONS, Estimate, wilson
from spagree.grouping import Floats, Ints, sums

Verdict = Literal["agrees_more", "agrees_less", "cannot_tell"]
UNKNOWN_ANNOTATORS = "how annotators differ cannot be seen on both sides"


@dataclass(frozen=True, slots=True)
class Limits:
    """An interval and its standard error."""

    stderr: float
    low: float
    high: float


@dataclass(frozen=True)
class Figure:
    """A figure to compare: its intervals for new items and, if known, new annotators, and its influence values."""

    value: float | None
    limits: Mapping[str, Limits] = field(default_factory=dict)
    influence: Influence | None = None
    undefined: str | None = None


def figure_of(estimate: Estimate, influence: Influence | None, *, scale: tuple[float, float] = (0.0, 1.0)) -> Figure:
    """A figure with its estimated interval for items, and the one for annotators if they are known.

    ``scale`` gives the figure's values at an observed agreement of 0 and 1, the range of Wilson's interval.
    """
    if estimate.value is None or estimate.stderr is None or estimate.low is None or estimate.high is None:
        return Figure(estimate.value, {}, influence, estimate.undefined)
    limits = {ITEMS: Limits(estimate.stderr, estimate.low, estimate.high)}
    if influence is not None and influence.knows_annotators:
        limits[ANNOTATORS] = limits_of(estimate.value, influence, estimate.level, ANNOTATORS, scale=scale)
    return Figure(estimate.value, limits, influence, None)


def limits_of(
    value: float, influence: Influence, level: float, population: str, *, scale: tuple[float, float] = (0.0, 1.0)
) -> Limits:
    """Wilson's interval from the influence of items, or of items and annotators."""
    bottom, room = scale[0], scale[1] - scale[0]
    stderr = influence.stderr(population == ANNOTATORS)
    observed = min(max((value - bottom) / room, 0.0), 1.0)
    freedom = influence.freedom(population == ANNOTATORS)
    low, high = wilson(observed, stderr / room, influence.equal_items, level, freedom)
    return Limits(stderr, bottom + room * low, bottom + room * high)


@dataclass(frozen=True, slots=True)
class Difference:
    """How much larger one figure is than another, b − a, or the reason it is unknown.

    ``limits`` holds the intervals for ``items`` and, if annotators are known, ``annotators``; ``low``,
    ``high``, ``stderr`` and ``p`` are those of ``interval_for``.
    """

    value: float | None
    level: float
    interval_for: str = ITEMS
    limits: Mapping[str, Limits] = field(default_factory=dict)
    undefined: str | None = None

    @property
    def _chosen(self) -> Limits | None:
        return self.limits.get(self.interval_for)

    @property
    def stderr(self) -> float | None:
        """The standard error."""
        return None if self._chosen is None else self._chosen.stderr

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return None if self._chosen is None else self._chosen.low

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return None if self._chosen is None else self._chosen.high

    @property
    def p(self) -> float | None:
        """The p-value: below 1 − level exactly when the interval excludes 0."""
        if self.value is None or self._chosen is None:
            return None
        reach = self.value - self._chosen.low if self.value > 0 else self._chosen.high - self.value
        if self.value == 0 or reach == 0:
            return float(self.value == 0)
        z = NormalDist().inv_cdf((1 + self.level) / 2)
        return 2 * NormalDist().cdf(-z * abs(self.value) / reach)

    def is_clear(self, p_holm: float | None) -> bool:
        """Whether it is more than chance explains; ``p_holm`` is adjusted for all comparisons."""
        return p_holm is not None and p_holm <= 1 - self.level


def difference(a: Figure, b: Figure, level: float, interval_for: str = ITEMS) -> Difference:
    """How much larger b is than a, with its intervals.

    >>> half = Figure(0.5, {"items": Limits(0.05, 0.4, 0.6)})
    >>> more = Figure(0.8, {"items": Limits(0.04, 0.7, 0.86)})
    >>> gap = difference(half, more, 0.95)
    >>> round(gap.value, 3), round(gap.low, 3), round(gap.high, 3), gap.p < 0.05
    (0.3, 0.159, 0.417, True)
    """
    if a.value is None or b.value is None:
        return Difference(None, level, interval_for, undefined=a.undefined if a.value is None else b.undefined)
    value, limits = b.value - a.value, {}
    for population in (name for name in POPULATIONS if name in a.limits and name in b.limits):
        one, other, rho = a.limits[population], b.limits[population], _correlation(a, b, population)
        down = _joined(b.value - other.low, one.high - a.value, rho)
        up = _joined(other.high - b.value, a.value - one.low, rho)
        limits[population] = Limits(_joined(one.stderr, other.stderr, rho), value - down, value + up)
    reason = None if interval_for in limits else a.undefined or b.undefined or UNKNOWN_ANNOTATORS
    return Difference(value, level, interval_for, limits, reason)


def _joined(one: float, other: float, rho: float) -> float:
    return sqrt(max(one**2 + other**2 - 2 * rho * one * other, 0.0))


def _correlation(a: Figure, b: Figure, population: str) -> float:
    """The correlation of two figures over the units they share; 0 if these are unknown."""
    if a.influence is None or b.influence is None or not (a.influence.items.defined and b.influence.items.defined):
        return 0.0
    # If annotators differ less than expected by chance, only items move a figure.
    new = population == ANNOTATORS and a.influence.annotators_differ and b.influence.annotators_differ
    spread = a.influence.stderr(new) * b.influence.stderr(new)
    return min(max(a.influence.covariance(b.influence, new) / spread, -1.0), 1.0) if spread > 0 else 0.0


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


def verdict(difference: Difference, p_holm: float | None) -> Verdict:
    """Which side agrees more, if the evidence holds for the whole list of comparisons."""
    if difference.value is None or not difference.is_clear(p_holm):
        return "cannot_tell"
    return "agrees_more" if difference.value > 0 else "agrees_less"


def class_influence(pairable: Pairable, label: int) -> Influence | None:
    """How items move the agreement on a class: how often a second annotator chose it, given that a first one did."""
    chosen = pairable.coded.label == label
    unit, place = pairable.units
    return clustered(unit, place[chosen], (pairable.agree / (pairable.n - 1))[chosen], 0.95).influence


def clustered(item: Ints, place: Ints, share: Floats, level: float) -> Figure:
    """The mean of shares nested in items, with its interval over items."""
    units = np.unique(place)
    if len(units) < 2:
        return Figure(float(share.mean()) if len(units) else None, undefined=ONE_ITEM)
    value = float(share.mean())
    size = sums(place, np.ones(len(place)), len(item))[units]
    deviation = sums(place, share - value, len(item))[units] / len(share) * sqrt(len(units) / (len(units) - 1))
    spread = Influence(Deviations(item[units], deviation), equal_items=effective_number(size))
    return Figure(value, {ITEMS: limits_of(value, spread, level, ITEMS)}, spread)


@dataclass(frozen=True)
class Side:
    """One of the data sets to compare; ``coded`` if its annotations are available, not only their tally."""

    name: str
    spa: Estimate
    kappa: Corrected
    classes: Mapping[str, Figure]
    pairable: Pairable | None
    labels: Sequence[str] = ()

    @cached_property
    def figures(self) -> tuple[Figure, Figure]:
        """SPA and its kappa, ready to compare."""
        if self.pairable is None or not len(self.pairable.item):
            return figure_of(self.spa, None), figure_of(self.kappa, None)
        jackknifed, expected = jackknife(self.pairable), self.kappa.expected or 0.0
        scale = (-expected / (1 - expected), 1.0) if expected < 1 else (0.0, 1.0)
        kappa = figure_of(self.kappa, influence(self.pairable, jackknifed, Sums.beyond_chance), scale=scale)
        return figure_of(self.spa, influence(self.pairable, jackknifed, Sums.observed)), kappa

    def class_figure(self, label: str) -> Figure:
        """The agreement on a class, with its influence by item if the annotations are available."""
        figure = self.classes.get(label, Figure(None, undefined=f"{self.name} has no annotation of this class"))
        if self.pairable is None or figure.value is None:
            return figure
        return replace(figure, influence=class_influence(self.pairable, self.labels.index(label)))


@dataclass(frozen=True)
class ClassDifference:
    """How much more annotators of b agree on a class than those of a."""

    label: str
    difference: Difference
    p_holm: float | None


@dataclass(frozen=True)
class Pair:
    """Two data sets compared: b − a."""

    a: Side
    b: Side
    difference: Difference
    kappa_difference: Difference
    classes: tuple[ClassDifference, ...]
    shared_items: int | None
    shared_annotators: int | None
    p_holm: float | None = None

    @property
    def verdict(self) -> Verdict:
        """Which side agrees more, if the evidence holds for all pairs together."""
        return verdict(self.difference, self.p_holm)


@dataclass(frozen=True)
class Compared:
    """Two or more data sets, compared pairwise overall and within each group."""

    sides: tuple[Side, ...]
    pairs: tuple[Pair, ...]
    groups: Mapping[str, Compared] = field(default_factory=dict)
    not_compared: Mapping[str, Sequence[str]] = field(default_factory=dict)


def compare_sides(sides: Sequence[Side], level: float, interval_for: str = ITEMS) -> tuple[Pair, ...]:
    """All pairs of sides, the later minus the earlier; p-values hold for all pairs together."""
    pairs = [_pair(a, b, level, interval_for) for a, b in combinations(sides, 2)]
    adjusted = holm([pair.difference.p for pair in pairs])
    return tuple(replace(pair, p_holm=p) for pair, p in zip(pairs, adjusted, strict=True))


def _pair(a: Side, b: Side, level: float, interval_for: str) -> Pair:
    spa, kappa = (difference(one, other, level, interval_for) for one, other in zip(a.figures, b.figures, strict=True))
    labels = dict.fromkeys([*a.classes, *b.classes])
    gaps = [difference(a.class_figure(label), b.class_figure(label), level) for label in labels]
    classes = map(ClassDifference, labels, gaps, holm([gap.p for gap in gaps]))
    items = annotators = None
    if a.pairable is not None and b.pairable is not None:
        items = len(np.intersect1d(a.pairable.item, b.pairable.item))
        if a.pairable.coded.has_annotators and b.pairable.coded.has_annotators:
            annotators = len(np.intersect1d(a.pairable.people, b.pairable.people))
    return Pair(a, b, spa, kappa, tuple(classes), items, annotators)
