"""Agreement beyond chance on incomplete data (docs/mathematics.md §13), every coefficient from the same votes.

All are κ = (P_o − P_e)/(1 − P_e). They differ in how items are weighted in the observed agreement P_o and in what "by
chance" means in the expected agreement P_e. Standard errors are jackknives over items, or clusters; the interval for
other annotators is that of SPA.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import inf, sqrt

import numpy as np

from spagree.counts.tally import Tally
from spagree.estimate import jackknife
from spagree.estimate.intervals import below_chance, deviations, effective_number, fisher_limits, kappa_limits
from spagree.estimate.item_groups import ONE_CLUSTER, relative_weights, total
from spagree.estimate.jackknife import Sizes, Units, entries, entry_of_each
from spagree.estimate.label_counts import LabelCounts, votes
from spagree.estimate.others import ONE_NEEDED, Others, Spread
from spagree.estimate.uncertainty import (
    ANNOTATORS,
    AUTO,
    FEW_ITEMS,
    ITEMS,
    NOT_PAIRABLE,
    ONE_ITEM,
    Estimate,
    Interval,
    effective_items,
    leading,
    steadied,
    wilson,
)
from spagree.estimate.weights import ByN
from spagree.grouping import Floats, Ints, numbered, run_starts, sums

NO_PATTERNS = "the tally does not keep which labels were given together: too many different combinations"
ONE_CLASS = "all annotations carry one label, so agreement by chance is certain"
FEW_FOR_METRIC = f"fewer than {FEW_ITEMS} items, too few for an interval under a metric"
UNKNOWN_PEOPLE = "the annotators are unknown"
ONE_ITEM_NEEDED = "without one of the items the coefficient is undefined: how items differ cannot be seen"
MANY_LABELS = "too many annotations and labels to compare how annotators use them"
CELLS_AT_ONCE, MOST_CELLS = 4_000_000, 300_000_000  # annotations × labels
CERTAIN = 1 - 1e-12  # expected agreement above this is 1 up to rounding


@dataclass(frozen=True, slots=True)
class Corrected(Estimate):
    """A chance-corrected coefficient with its observed and expected agreement."""

    observed: float | None = None
    expected: float | None = None


@dataclass(frozen=True)
class Left:
    """The sums behind agreement by chance: of everything, followed by what is left without each unit."""

    votes: LabelCounts
    units: Units
    shares: bool

    @cached_property
    def same(self) -> Floats:
        """Σ_c Σ_k s(c, k) T_c T_k over the totals of the labels."""
        totals = self.votes.per_label(entries(self.votes, shares=self.shares))
        around, lost = self.votes.across(totals), self.units.lost
        less = lost.per_group(2 * around[lost.label] * lost.count) - lost.squares
        return total(totals * around) - np.concatenate([[0.0], less])

    def _sum(self, value: Callable[[Floats, Floats], Floats]) -> Floats:
        """Σ over pairable items of a value of their n and their agreeing ordered pairs."""
        votes, units = self.votes.pairable(), self.units
        whole = total(votes.items * value(votes.n, votes.agreeing_pairs))
        lost = units.loses(
            value(units.n.astype(np.float64), units.agreeing),
            value(units.n_left.astype(np.float64), units.agreeing_left),
        )
        return whole - np.concatenate([[0.0], lost])

    @property
    def annotations(self) -> Floats:
        """N."""
        return self._sum(lambda n, _: n)

    @property
    def squares(self) -> Floats:
        """Σ n²: ordered pairs within items, with each annotation and itself."""
        return self._sum(lambda n, _: n**2)

    @property
    def within(self) -> Floats:
        """How many of these agree."""
        return self._sum(lambda n, agreeing: agreeing + n)

    @property
    def items(self) -> Floats:
        """Items with an annotation."""
        return total(self.votes.items) - np.concatenate([[0.0], self.units.items_lost])


def _between_items(left: Left) -> Floats:
    """Two annotations of different items: the only pairs that agree by chance alone."""
    return (left.same - left.within) / (left.annotations**2 - left.squares)


def _without_replacement(left: Left) -> Floats:
    """Two of all annotations, drawn without replacement: Krippendorff's."""
    return (left.same - left.annotations) / (left.annotations * (left.annotations - 1))


def _class_shares(left: Left) -> Floats:
    """Σ_c π_c² with π_c the mean share of class c within an item, as Gwet generalises Fleiss."""
    return left.same / left.items**2


def _gwet(left: Left) -> Floats:
    """Σ π(1 − π)/(C − 1): chance agreement on hard items; AC2 under a metric."""
    classes = np.float64(len(left.votes.labels))
    units = replace(left.units, take=lambda: replace(left.units.lost, similarity=None))
    spread = 1 - _class_shares(Left(replace(left.votes, similarity=None), units, shares=True))
    return np.asarray(spread * _mean_similarity(left.votes) * classes / (classes - 1))


def _uniform(left: Left) -> Floats:
    """All classes equally likely."""
    return np.full(len(left.units.times) + 1, _mean_similarity(left.votes))


def _mean_similarity(votes: LabelCounts) -> float:
    """Agreement of two labels drawn blindly: 1/C for nominal labels."""
    return 1 / len(votes.labels) if votes.similarity is None else float(votes.similarity.mean())


@dataclass(frozen=True, slots=True)
class Rule:
    """What defines a coefficient: its weights, its agreement by chance, whether that follows the labels' shares.

    With ``shares``, every item counts the same in the class shares, also one with a single annotation. If agreement by
    chance does not follow how rare a label is, all items inform the coefficient alike.
    """

    weights: str
    expected: Callable[[Left], Floats]
    shares: bool = False
    rare_labels_decide: bool = True


CONGER = "conger_kappa"  # needs to know who annotated: what the annotators' own labels would agree by chance
PAIRS_OF_PEOPLE = Rule("flat", _class_shares, shares=True)
COEFFICIENTS: Mapping[str, Rule] = {
    "spa_kappa": Rule("scheme", _between_items),
    "krippendorff_alpha": Rule("annotations", _without_replacement),
    "fleiss_kappa": Rule("flat", _class_shares, shares=True),
    "gwet_ac1": Rule("flat", _gwet, shares=True, rare_labels_decide=False),
    "brennan_prediger": Rule("flat", _uniform, rare_labels_decide=False),
}


def chance(
    tally: Tally,
    by_n: ByN,
    level: float,
    scheme: str,
    *,
    similar: LabelCounts | None = None,
    people: Others | str = UNKNOWN_PEOPLE,
    others: Others | str = UNKNOWN_PEOPLE,
    interval_for: str = AUTO,
) -> dict[str, Corrected]:
    """All chance-corrected coefficients; clusters change the errors, not the values.

    Under a metric, ``similar`` are the votes, by cluster if there are clusters; ``people`` are the annotators, or why
    they are not known, and ``others`` what they tell about others, or why nothing.

    >>> data = Tally.from_items([{"a": 2}, {"a": 1, "b": 1}, {"b": 2}, {"b": 2}])
    >>> coefficients = chance(data, {2: Fraction(1)}, 0.95, "flat")
    >>> round(coefficients["krippendorff_alpha"].value, 4), round(coefficients["brennan_prediger"].value, 4)
    (0.5333, 0.5)
    """
    counts = similar or votes(tally, clusters=tally.clusters is not None)
    if counts is None or not tally.pairable_items:
        reason = NO_PATTERNS if counts is None else NOT_PAIRABLE
        return {name: _undefined(reason, level, scheme) for name in (*COEFFICIENTS, CONGER)}
    sizes = sorted({m for n in tally.items_by_n for m in (n, n - 1) if m > 1})
    weights = {
        "flat": dict.fromkeys(sizes, Fraction(1)),
        "annotations": {n: Fraction(n) for n in sizes},
        "scheme": by_n,
    }
    coefficients = {}
    for name, rule in COEFFICIENTS.items():
        used = counts if rule.shares else counts.pairable()
        coefficient = _Coefficient(rule, used, weights[rule.weights], level)
        name_of_weights = scheme if rule.weights == "scheme" else rule.weights
        coefficients[name] = coefficient.corrected(name_of_weights, others, interval_for)
    if isinstance(people, Others) and people.codes.unknown:
        people = str(people.why_not)
    elif isinstance(people, Others) and len(people.codes.labels) * len(people.codes.item) > MOST_CELLS:
        people = MANY_LABELS
    if isinstance(people, str):
        coefficients[CONGER] = _undefined(people, level, "flat")
    else:
        conger = _Conger(PAIRS_OF_PEOPLE, counts, weights["flat"], level, people)
        coefficients[CONGER] = conger.corrected("flat", others, interval_for)
    return coefficients


def _undefined(reason: str, level: float, weights: str) -> Corrected:
    return Corrected(None, None, None, None, level, weights, undefined=reason)


def alpha_without(votes: LabelCounts, units: Units) -> Floats:
    """Krippendorff's alpha without each unit; NaN where it is undefined."""
    sizes = {*votes.n.astype(np.int64).tolist(), *units.n_left.tolist()}
    return _without(COEFFICIENTS["krippendorff_alpha"], {n: Fraction(n) for n in sizes}, votes, units)


def _without(rule: Rule, by_n: ByN, votes: LabelCounts, units: Units) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = Sizes.of(votes).without(units, by_n)
        expected = rule.expected(Left(votes, units, rule.shares))[1:]
        return np.asarray((observed - expected) / np.where(expected > CERTAIN, np.nan, 1 - expected))


@dataclass(frozen=True)
class _Coefficient:
    """One coefficient on one set of votes."""

    rule: Rule
    votes: LabelCounts
    """By cluster, unless items are independent."""
    by_n: ByN
    level: float

    @cached_property
    def weights(self) -> Floats:
        """The weight of an item, per group; 0 for a single annotation."""
        return relative_weights(self.by_n, self.votes.n.astype(np.int64))

    @cached_property
    def observed(self) -> float:
        """Weighted mean agreement of all items."""
        return total(self.votes.items * self.weights * self.votes.agreement) / total(self.votes.items * self.weights)

    @cached_property
    def units(self) -> Units:
        """Items or clusters."""
        return jackknife.items(self.votes, shares=self.rule.shares)

    @cached_property
    def expected(self) -> float:
        """Agreement by chance of all items."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(self.rule.expected(Left(self.votes, self.units, self.rule.shares))[0])

    @cached_property
    def shares(self) -> Floats:
        """Class shares, as used in the expected agreement."""
        totals = self.votes.per_label(entries(self.votes, shares=self.rule.shares))
        return np.asarray(totals / total(totals))

    def without(self, votes: LabelCounts, units: Units) -> Floats:
        """The coefficient without each unit."""
        return _without(self.rule, self.by_n, votes, units)

    def corrected(self, weights: str, others: Others | str, interval_for: str) -> Corrected:
        """The value with its intervals, or the reason there is none."""
        if not self.expected <= CERTAIN:  # also if it is not a number
            labels = self.votes.label[self.votes.n[self.votes.group] > 1]
            return _undefined(ONE_CLASS if (labels == labels[:1]).all() else ONE_ITEM, self.level, weights)
        value = (self.observed - self.expected) / (1 - self.expected)
        plain = Corrected(value, None, None, None, self.level, weights, observed=self.observed, expected=self.expected)
        if self._pairable < 2:
            return replace(plain, undefined=ONE_ITEM)
        if self.votes.units < 2:
            return replace(plain, undefined=ONE_CLUSTER)
        if self.variance is None:
            return replace(plain, undefined=ONE_ITEM_NEEDED)
        items = self._interval(value, self.variance, self.variance, self._informative)
        wider = Interval(None, None, None, others if isinstance(others, str) else ONE_NEEDED)
        spread = self.spread(others, self.variance) if isinstance(others, Others) else None
        if spread is not None:
            wider = self._interval(value, spread.variance, self.variance, spread.equal_items, spread.equal_annotators)
            wider = wider.at_least(items)
        return leading(plain, {ITEMS: items, ANNOTATORS: wider}, interval_for)

    @cached_property
    def variance(self) -> float | None:
        """Over items or clusters; where without one of them a single label is left, that of the linearised ratio."""
        found = self.units.variance(self.without(self.votes, self.units))
        return self._linearised_variance() if found is None else found

    def spread(self, others: Others, items: float) -> Spread | None:
        """The variances for other annotators; None if somebody is needed."""
        room, shares = 1 - self.expected, self.rule.shares
        return others.spread(self.without, items, self._informative, self.observed, room=room, shares=shares)

    @cached_property
    def _pairable(self) -> float:
        return total(self.votes.items[self.votes.n > 1])

    @cached_property
    def _informative(self) -> float:
        """How many alike items would be as informative: with rare labels, only few items are informative at all.

        An item's information is its weight times the probability that its labels disagree by chance.
        """
        votes = self.votes
        if not self.rule.rare_labels_decide:
            return effective_items(votes, self.weights)
        differ = (1 - votes.across(self.shares))[votes.label]
        informing = votes.per_unit(self.weights * votes.per_group(votes.count / votes.n[votes.group] * differ))
        second, fourth = (total(votes.unit_sizes * informing**power) for power in (2, 4))
        return second**2 / fourth

    def _interval(self, value: float, variance: float, over_items: float, size: float, people: float = inf) -> Interval:
        """The interval for a variance on so many informative items and people; ``over_items`` is that of items alone.

        Beyond chance the few items with rare labels decide. Where agreement by chance does not follow the labels, the
        interval is that of the observed agreement.
        """
        room, stderr = 1 - self.expected, sqrt(variance)
        if not self.rule.rare_labels_decide:
            alone = sqrt(over_items) * room
            added = steadied(self.observed, alone, self.votes, self.weights) ** 2 - alone**2
            error, freedom = sqrt(variance * room**2 + added), min(size, people) - 1
            low, high = wilson(self.observed, error, size, self.level, freedom)
            return Interval(stderr, (low - self.expected) / room, (high - self.expected) / room)
        if self.votes.similarity is not None and value < 1:
            if self._pairable < FEW_ITEMS:
                return Interval(stderr, None, None, FEW_FOR_METRIC)
            point, error, freedom = np.array([[value], [stderr], [min(size, people) - 1]])
            return Interval(stderr, *_ends(fisher_limits(point, error, freedom, self.level)))
        most = min(1.0, 2 * (1 - float(self.shares.max())))  # two annotations of an item cannot differ more often
        point, error, span, differ, number, freedom = np.array(
            [[value], [stderr], [room], [most], [size], [min(size, people - 1)]]
        )
        low, high = _ends(kappa_limits(point, error, span, differ, number, self.level, freedom))
        if value <= 0 or not self._agree_on_a_rare_label:
            annotations = self.votes.pairable().per_label(self.votes.pairable().count)
            rare = float(below_chance(total(annotations) - float(annotations.max()), total(annotations)))
            low = min(low, max(rare, -self.expected / room))  # nobody can agree less than never
        return Interval(stderr, low, high)

    @cached_property
    def _agree_on_a_rare_label(self) -> bool:
        """Whether two annotations of an item agree on any label but the commonest: the evidence against chance."""
        votes = self.votes.pairable()
        rare = votes.label != int(votes.per_label(votes.count).argmax())
        return bool((votes.agreeing[rare] > 0).any())

    def _linearised_variance(self) -> float:
        """Of the ratio, for when the jackknife leaves only one class."""
        votes, room = self.votes, 1 - self.expected
        around = votes.across(self.shares)
        each = entries(votes, shares=self.rule.shares)
        each = each / total(votes.per_label(each))
        chance = 2 * votes.per_group((around[votes.label] - total(self.shares * around)) * each)
        agreement = self.weights * (votes.agreement - self.observed) / total(votes.items * self.weights)
        influence = (agreement - (1 - self.observed) / room * chance) / room
        return votes.units / (votes.units - 1) * total(votes.unit_sizes * votes.per_unit(influence) ** 2)


@dataclass(frozen=True)
class _Conger(_Coefficient):
    """Conger's kappa: by chance, two annotators agree as often as their own labels do.

    All pairs of annotators count alike, also those who never met, and every annotation tells how its annotator labels:
    for incomplete data this is Gwet's generalisation. With two annotators it is Cohen's kappa.
    """

    people: Others

    @cached_property
    def given(self) -> Floats:
        """How often each annotator gave each label: annotators × labels."""
        codes, size = self.people.codes, len(self.people.codes.labels)
        place = codes.annotator.astype(np.int64) * size + codes.label
        return sums(place, np.ones(len(place)), len(codes.annotators) * size).reshape(-1, size)

    @cached_property
    def own(self) -> Floats:
        """The shares of an annotator's labels."""
        return _shares_of(self.given)

    @cached_property
    def shares(self) -> Floats:
        """Their mean, for the labels of the votes."""
        place = {label: number for number, label in enumerate(self.people.codes.labels)}
        mean = self.own.sum(axis=0) / (self.given.sum(axis=1) > 0).sum()
        return np.array([mean[place[label]] if label in place else 0.0 for label in self.votes.labels])

    @cached_property
    def expected(self) -> float:
        """The mean over all pairs of annotators."""
        nobody = np.zeros(0, dtype=np.int64)
        return float(self._by_chance(nobody, nobody, 1)[0])

    @cached_property
    def variance(self) -> float | None:
        """Over items or clusters, None if one of them is needed."""
        clusters = self.people.cluster
        return self._over(replace(self.people.votes, cluster=clusters))

    def spread(self, others: Others, items: float) -> Spread | None:
        """As for the other coefficients, but what is left out also changes how each annotator labels."""
        codes, votes, by_n = others.codes, others.votes, self.by_n
        sizes = Sizes.of(votes)
        every = np.arange(len(codes.item))
        agreeing = sizes.without(others.people(), by_n)
        people = self._kappa(agreeing, self._by_chance(every, codes.annotator.astype(np.int64), len(codes.annotators)))
        people = people[self.given.sum(axis=1) > 0]
        if not np.isfinite(people).all():
            return None
        first, kind = numbered(codes.annotator.astype(np.int64), codes.label.astype(np.int64))
        by_chance = self._by_chance(first, np.arange(len(first)), len(first))[kind]
        agreeing = sizes.without(jackknife.annotations(votes), by_n)[entry_of_each(votes)]
        single = self._kappa(agreeing, by_chance)
        between = 0.0 if others.teams is None else self._over(replace(votes, cluster=others.teams)) or 0.0
        met = others.meetings.variance(self.observed) / (1 - self.expected) ** 2 if others.meetings else 0.0
        noise = total(deviations(single)[1] ** 2) if np.isfinite(single).all() else 0.0
        equal = min(self._informative, others.equal_teams)
        people_differ = total(deviations(people)[1] ** 2)
        return Spread(items, people_differ, noise, met, between, equal, effective_number(others.shared))

    def _over(self, votes: LabelCounts) -> float | None:
        """The variance over items or clusters of items, given the votes of single items."""
        units = jackknife.items(votes, shares=True)
        unit = votes.unit_of[self.people.codes.item]
        by_chance = self._by_chance(np.arange(len(unit)), unit, len(units.times))
        return units.variance(self._kappa(Sizes.of(votes).without(units, self.by_n), by_chance))

    def _kappa(self, observed: Floats, expected: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((observed - expected) / np.where(expected > CERTAIN, np.nan, 1 - expected))

    def _by_chance(self, rows: Ints, unit: Ints, size: int) -> Floats:
        """Agreement by chance without each unit; its annotations are those of ``rows``."""
        width = len(self.people.codes.labels)
        values, step = [], max(1, CELLS_AT_ONCE // max(1, width * (1 + len(rows) // size)))
        order = np.argsort(unit, kind="stable")
        starts = np.searchsorted(unit[order], np.arange(0, size + step, step))
        for place, (start, end) in enumerate(pairwise(starts)):
            some = order[start:end]
            values.append(self._pairs(rows[some], unit[some] - place * step, min(step, size - place * step)))
        return np.concatenate(values)

    def _pairs(self, rows: Ints, unit: Ints, size: int) -> Floats:
        """The same for a block of units: (Σ_g p_g)² less Σ_g p_g², over the ordered pairs of annotators."""
        codes, width = self.people.codes, len(self.people.codes.labels)
        who = codes.annotator[rows].astype(np.int64)
        first, visit = numbered(unit, who)
        unit, who = unit[first], who[first]
        lost = sums(visit * width + codes.label[rows], np.ones(len(rows)), len(first) * width).reshape(-1, width)
        after = _shares_of(self.given[who] - lost)
        totals = np.tile(self.own.sum(axis=0), (size, 1))
        whole = run_starts(unit)
        if len(unit):
            totals[unit[whole]] += np.add.reduceat(after - self.own[who], whole)
        squares = self._squares(self.own)
        own = squares.sum() + sums(unit, self._squares(after) - squares[who], size)
        people = (self.given.sum(axis=1) > 0).sum() - sums(unit, 1.0 * (after.sum(axis=1) == 0), size)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((self._squares(totals) - own) / (people * (people - 1)))

    def _squares(self, shares: Floats) -> Floats:
        """Σ_c Σ_k s(c, k) p_c p_k of each row."""
        similarity = self.people.votes.similarity
        return np.asarray(((shares if similarity is None else shares @ similarity) * shares).sum(axis=1))


def _shares_of(given: Floats) -> Floats:
    """Rows that add up to 1; a row of nothing stays 0."""
    sizes = given.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(given, sizes, out=np.zeros_like(given), where=sizes > 0))


def _ends(limits: tuple[Floats, Floats]) -> tuple[float, float]:
    return float(limits[0][0]), float(limits[1][0])
