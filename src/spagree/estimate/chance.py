"""Agreement beyond chance on incomplete data (docs/mathematics.md §13), every coefficient from the same votes.

All are κ = (P_o − P_e)/(1 − P_e). They differ in how items are weighted in the observed agreement P_o and in
what "by chance" means in the expected agreement P_e. Standard errors are exact leave-one-item-out jackknives: each
item's contribution is subtracted from a few sums, for all items at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

import numpy as np

from spagree.estimate.adaptive import Shape, adaptive_shape
from spagree.estimate.former_limits import Information, kappa_limits, unseen_share, with_differing
from spagree.estimate.intervals import deviations
from spagree.estimate.item_groups import ONE_CLUSTER, total
from spagree.estimate.label_counts import LabelCounts, votes
from spagree.estimate.uncertainty import NOT_PAIRABLE, ONE_ITEM, Estimate, effective_items, steadied, wilson
from spagree.estimate.weights import ByN
from spagree.grouping import Floats
from spagree.tally.tally import Tally

NO_PATTERNS = "the tally does not keep which labels were given together: too many different combinations"
ONE_CLASS = "all annotations carry one label, so agreement by chance is certain"
CERTAIN = 1 - 1e-12  # expected agreement above this is 1 up to rounding


@dataclass(frozen=True, slots=True)
class Corrected(Estimate):
    """A chance-corrected coefficient with its observed and expected agreement."""

    observed: float | None = None
    expected: float | None = None


@dataclass(frozen=True, slots=True)
class _Rule:
    """What defines a coefficient: its weights, its expected agreement, whether single annotations inform it.

    ``entries`` are the terms of the class shares behind the expected agreement; None if rare classes say no more about
    the coefficient than common ones.
    """

    weights: str
    expected: Callable[[LabelCounts], Floats]
    singles: bool = False
    debias: bool = False
    entries: Callable[[LabelCounts], Floats] | None = None


def chance(
    tally: Tally,
    by_n: ByN,
    level: float,
    scheme: str,
    *,
    cautious: Shape,
    similar: LabelCounts | None = None,
    similar_clustered: LabelCounts | None = None,
) -> dict[str, Corrected]:
    """All chance-corrected coefficients; clusters change the errors, not the values.

    ``cautious`` is the shape behind intervals. Under a metric, ``similar`` are the votes, also by cluster.

    >>> from fractions import Fraction
    >>> from spagree.estimate.adaptive import cautious_shape
    >>> data = Tally.from_items([{"a": 2}, {"a": 1, "b": 1}, {"b": 2}, {"b": 2}])
    >>> coefficients = chance(data, {2: Fraction(1)}, 0.95, "flat", cautious=cautious_shape(data))
    >>> round(coefficients["krippendorff_alpha"].value, 4), round(coefficients["brennan_prediger"].value, 4)
    (0.5333, 0.5)
    """
    counts = similar or votes(tally)
    clustered = None if tally.clusters is None else similar_clustered or votes(tally, clusters=True)
    if counts is None or not tally.pairable_items:
        reason = NO_PATTERNS if counts is None else NOT_PAIRABLE
        return {name: _undefined(reason, level, scheme) for name in COEFFICIENTS}
    shape = adaptive_shape(tally, similar)
    weights = {"flat": dict.fromkeys(by_n, 1.0), "annotations": {n: float(n) for n in by_n}}
    weights["scheme"] = {n: float(k / max(by_n.values())) for n, k in by_n.items()}
    every, pairable = (counts, clustered), (counts.pairable(), clustered.pairable() if clustered else None)

    def coefficient(rule: _Rule) -> Corrected:
        item_shape = shape if rule.entries else cautious
        single = _Coefficient(rule, *(every if rule.singles else pairable), weights[rule.weights], item_shape)
        return single.corrected(level, scheme if rule.weights == "scheme" else rule.weights)

    coefficients = {name: coefficient(rule) for name, rule in COEFFICIENTS.items()}
    if len({n for n in tally.items_by_n if n > 1}) > 1:
        in_step = coefficients["fleiss_kappa" if scheme == "flat" else "krippendorff_alpha"]
        coefficients["spa_kappa"] = _no_higher(coefficients["spa_kappa"], in_step)
    return coefficients


def _no_higher(coefficient: Corrected, in_step: Corrected) -> Corrected:
    """Lower the lower limit to that of a coefficient that weights an item as much in P_o as in P_e.

    With other weights, whether the few rare labels fell on items with few or with many annotations decides, and a
    handful of them does not show how much that varies.
    """
    if coefficient.low is None or in_step.low is None:
        return coefficient
    return replace(coefficient, low=min(coefficient.low, in_step.low))


def _undefined(reason: str, level: float, weights: str) -> Corrected:
    return Corrected(None, None, None, None, level, weights, undefined=reason)


@dataclass(frozen=True)
class _Coefficient:
    """One coefficient on one set of votes."""

    rule: _Rule
    counts: LabelCounts
    clustered: LabelCounts | None
    """The same votes by cluster; None if items are independent."""
    by_n: Mapping[int, float]
    shape: Shape

    @cached_property
    def weights(self) -> Floats:
        """The weight of an item, per group; 0 for a single annotation."""
        sizes = np.array(sorted(self.by_n))
        weights = np.array([self.by_n[n] for n in sizes.tolist()])
        place = np.searchsorted(sizes, self.counts.n).clip(max=len(sizes) - 1)
        return np.where(sizes[place] == self.counts.n, weights[place], 0.0)

    @cached_property
    def observed(self) -> Floats:
        """Weighted mean agreement of all items, then without one item of each group."""
        counts = self.counts
        with np.errstate(divide="ignore", invalid="ignore"):
            return _without_one(counts, self.weights * counts.agreement) / _without_one(counts, self.weights)

    @cached_property
    def expected(self) -> Floats:
        """Agreement by chance, of all items, then without one item of each group."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.rule.expected(self.counts)

    @cached_property
    def entries(self) -> Floats:
        """What each label of an item contributes to the class shares."""
        return (self.rule.entries or _counts)(self.counts)

    @cached_property
    def shares(self) -> Floats:
        """Class shares, as used in the expected agreement."""
        totals = self.counts.per_label(self.entries)
        return np.asarray(totals / total(totals))

    def corrected(self, level: float, weights: str) -> Corrected:
        """Value, standard error and interval, or the reason there is none."""
        counts, values = self.counts, self.values
        if not np.isfinite(values[0]):
            classes = len(np.unique(counts.label[counts.n[counts.group] > 1]))
            return _undefined(ONE_CLASS if classes < 2 else ONE_ITEM, level, weights)
        plain = Corrected(float(values[0]), None, None, None, level, weights)
        plain = replace(plain, observed=float(self.observed[0]), expected=float(self.expected[0]))
        if total(counts.items[counts.n > 1]) < 2:
            return replace(plain, undefined=ONE_ITEM)
        value, _ = self.debiased()
        spread = self if self.clustered is None else replace(self, counts=self.clustered, clustered=None)
        if spread.counts.units < 2:
            return replace(plain, value=value, undefined=ONE_CLUSTER)
        _, stderr = spread.debiased()
        low, high = spread.limits(float(values[0]), stderr, level)
        # The value is bias-corrected, the interval is not: near its ends that would invent spread.
        return replace(plain, value=value, stderr=stderr, low=min(low, value), high=max(high, value))

    @cached_property
    def values(self) -> Floats:
        """The coefficient of all items, then without one unit of each kind."""
        room = np.where(self.expected > CERTAIN, 0.0, 1 - self.expected)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((self.observed - self.expected) / room)

    def debiased(self) -> tuple[float, float]:
        """The value, bias-corrected if the rule asks for it, and its standard error."""
        value = float(self.values[0])
        if not np.isfinite(self.values).all():  # leaving out some unit leaves one label only
            return value, self.linearised()
        mean, moved = deviations(self.values[1:], self.counts.unit_sizes)
        size = self.counts.units
        free = size * value - (size - 1) * mean if self.rule.debias else value
        return min(free, 1.0), sqrt(total(self.counts.unit_sizes * moved**2))

    def limits(self, value: float, stderr: float, level: float) -> tuple[float, float]:
        """The interval: from that of the observed agreement, or from the items that inform a kappa."""
        counts, expected = self.counts, float(self.expected[0])
        if self.rule.entries:
            return self.beyond_chance(value, stderr, level)
        room = 1 - expected
        observed = value * room + expected
        error = steadied(observed, stderr * room, counts, self.weights, self.shape)
        low, high = wilson(observed, error, effective_items(counts, self.weights), level)
        return (low - expected) / room, (high - expected) / room

    def beyond_chance(self, value: float, stderr: float, level: float) -> tuple[float, float]:
        """An item's information is its weight times the probability that its labels disagree by chance."""
        counts, shares = self.counts, self.shares
        informing = self.weights * counts.per_group(_shares(counts) * (1 - counts.across(shares))[counts.label])
        relative = self.shape.variances(counts.n)
        first, second, fourth = (total(counts.unit_sizes * counts.per_unit(informing) ** power) for power in (1, 2, 4))
        # The variance that independent items imply; clusters imply no less.
        alone, fourths = (total(counts.items * informing**power) for power in (2, 4))
        implied = total(counts.items * informing**2 * relative) / alone * (second**2 / fourth) / (alone**2 / fourths)
        most = min(1.0, 2 * (1 - float(shares.max())))  # two annotations of an item cannot differ more often
        rarest = 1 - float(counts.across(shares)[shares > 0].min())
        seen = total(counts.unit_sizes[counts.per_unit((counts.n > 1).astype(np.float64)) > 0])
        sums = (first, second, fourth, implied, seen, 1 - float(self.expected[0]), most, rarest)
        information = Information(*(np.array([each]) for each in sums))
        low, high = kappa_limits(np.array([value]), np.array([stderr]), information, level)
        return min(float(low[0]), self.with_differing(seen, level)), float(high[0])

    def with_differing(self, seen: float, level: float) -> float:
        """The coefficient with as many divided items added as could have gone unseen."""
        counts, likely, observed = self.counts, self.counts.across(self.shares), self.observed[:1]
        two = np.argsort(-likely, kind="stable")[:2]
        alike = np.zeros(1) if counts.similarity is None else counts.similarity[two[:1], two[1:]]
        pairs = np.maximum(counts.n * (counts.n - 1), 1)
        same = (np.ceil(counts.n**2 / 2) - counts.n) / pairs  # half and half, or nearly so
        divided = total(counts.items * self.weights * same) / total(counts.items * self.weights)
        share = unseen_share(np.array([seen]), level, np.minimum(seen, seen * (1 - observed) / (1 - divided)))
        return float(with_differing(observed, self.expected[:1], likely[two].sum(), alike, share, divided=divided)[0])

    def linearised(self) -> float:
        """Linearised standard error of the ratio, for when the jackknife leaves only one class."""
        counts, room = self.counts, 1 - float(self.expected[0])
        around = counts.across(self.shares)
        entries = self.entries / total(counts.per_label(self.entries))
        chance = 2 * counts.per_group((around[counts.label] - total(self.shares * around)) * entries)
        agreement = self.weights * (counts.agreement - self.observed[0]) / total(counts.items * self.weights)
        influence = (agreement - (1 - self.observed[0]) / room * chance) / room
        size = counts.units
        return sqrt(size / (size - 1) * total(counts.unit_sizes * counts.per_unit(influence) ** 2))


def _without_one(counts: LabelCounts, values: Floats) -> Floats:
    """A sum over all items, followed by the same sum without one item of each group, or without each cluster."""
    return total(counts.items * values) - np.concatenate([[0.0], counts.per_unit(values)])


def _between_items(counts: LabelCounts) -> Floats:
    """Two annotations of different items: the only pairs that agree by chance alone."""
    size, within = _without_one(counts, counts.n), _without_one(counts, counts.squares)
    return (_label_squares(counts, counts.count) - within) / (size**2 - _without_one(counts, counts.n**2))


def _without_replacement(counts: LabelCounts) -> Floats:
    """Two of all annotations, drawn without replacement: Krippendorff's."""
    size = _without_one(counts, counts.n)
    return (_label_squares(counts, counts.count) - size) / (size * (size - 1))


def _class_shares(counts: LabelCounts) -> Floats:
    """Σ_c π_c² with π_c the mean share of class c within an item, as Gwet generalises Fleiss."""
    return _label_squares(counts, _shares(counts)) / _without_one(counts, np.ones(len(counts.items))) ** 2


def _shares(counts: LabelCounts) -> Floats:
    """Each label's share of the annotations of its item."""
    return counts.count / counts.n[counts.group]


def _counts(counts: LabelCounts) -> Floats:
    """How often each label was given to an item."""
    return counts.count


def _label_squares(counts: LabelCounts, entries: Floats) -> Floats:
    """Σ_c Σ_k s(c, k) t_c t_k over all items, and without one item of each group, or without each cluster.

    For nominal labels that is Σ_c N_c², which loses 2 Σ_c N_c n_c − Σ_c n_c² when an item is left out.
    """
    totals = counts.per_label(entries)
    around = counts.across(totals)
    units = counts.by_unit(entries)
    lost = units.per_group(2 * around[units.label] * units.count) - units.squares
    return total(totals * around) - np.concatenate([[0.0], lost])


def _gwet(counts: LabelCounts) -> Floats:
    """Σ π(1 − π)/(C − 1): chance agreement on hard items; AC2 under a metric."""
    classes = np.float64(len(counts.labels))
    spread = 1 - _class_shares(replace(counts, similarity=None))
    return spread * _mean_similarity(counts) * classes / (classes - 1)


def _uniform(counts: LabelCounts) -> Floats:
    """All classes equally likely."""
    return np.full(len(counts.unit_sizes) + 1, _mean_similarity(counts))


def _mean_similarity(counts: LabelCounts) -> float:
    """Agreement of two labels drawn blindly: 1/C for nominal labels."""
    return 1 / len(counts.labels) if counts.similarity is None else float(counts.similarity.mean())


COEFFICIENTS: Mapping[str, _Rule] = {
    "spa_kappa": _Rule("scheme", _between_items, debias=True, entries=_counts),
    "krippendorff_alpha": _Rule("annotations", _without_replacement, entries=_counts),
    "fleiss_kappa": _Rule("flat", _class_shares, singles=True, entries=_shares),
    "gwet_ac1": _Rule("flat", _gwet, singles=True),
    "brennan_prediger": _Rule("flat", _uniform),
}
