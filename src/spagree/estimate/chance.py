"""Agreement beyond chance on incomplete data (docs/mathematics.md §13), every coefficient from the same votes.

All are κ = (P_o − P_e)/(1 − P_e). They differ in how items are weighted in the observed agreement P_o and in what "by
chance" means in the expected agreement P_e. Standard errors are jackknives over items, or clusters; the interval for
other annotators is that of SPA.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import sqrt

import numpy as np

from spagree.codes import Codes, Floats, Ints, numbered, run_starts, sums
from spagree.counts.people import MOST_KINDS
from spagree.counts.tally import Tally
from spagree.errors import Message, opt
from spagree.estimate import jackknife
from spagree.estimate.jackknife import Units, entries, entry_of_each
from spagree.estimate.other_annotators import MOST_ONE_BY_ONE, Kind, Others, Without
from spagree.estimate.uncertainty import (
    ALL_ALIKE,
    ANNOTATORS,
    AUTO,
    FEW_FOR_METRIC,
    FEW_ITEMS,
    ITEMS,
    NOT_PAIRABLE,
    ONE_ITEM,
    Estimate,
    Interval,
    below_chance,
    effective_items,
    fisher_limits,
    item_freedom,
    kappa_limits,
    leading,
    steadied,
    usual_variance,
    wilson,
)
from spagree.estimate.votes import ONE_CLUSTER, LabelCounts, relative_weights, total
from spagree.estimate.weights import ByN, Weights

NO_PATTERNS = "the tally does not keep which labels were given together: too many different combinations"
ONE_CLASS = "all annotations carry one label, so agreement by chance is certain"

UNKNOWN_PEOPLE = "the annotators are unknown"
ONE_ITEM_NEEDED = "without one of the items the coefficient is undefined: how items differ cannot be seen"
NO_ANNOTATIONS = "a tally does not say who annotated which item; measure the annotations themselves"
ONLY_KINDS = (
    f"and of more than {MOST_ONE_BY_ONE:,} annotations only the kinds are counted; measure the annotations themselves, "
    f"with {opt.interval_for('annotators')}"
)
NO_PEOPLE = f"a tally does not say who annotated which item, {ONLY_KINDS}"
NO_OTHER_LABELS = f"a tally does not say which labels the others gave to an annotator's items, {ONLY_KINDS}"
NO_LABELS_OF_KINDS = (
    f"with their labels there are more than {MOST_KINDS:,} kinds of annotations, so the tally keeps no labels of them; "
    "merge rare labels, or measure a sample of the items"
)
TWO = 2  # labels: what is not the one is the other
MANY_LABELS = "too many annotations and labels to compare how annotators use them"
CELLS_AT_ONCE, MOST_CELLS = 4_000_000, 300_000_000  # annotations × labels
CERTAIN = 1 - 1e-12  # expected agreement above this is 1 up to rounding


@dataclass(frozen=True, slots=True)
class Corrected(Estimate):
    """A chance-corrected coefficient with its observed and expected agreement."""

    observed: float | None = None
    expected: float | None = None


CONGER = "conger_kappa"  # needs to know who annotated: what the annotators' own labels would agree by chance


@dataclass(frozen=True, slots=True)
class Rule:
    """What defines a coefficient: its weights, its agreement by chance, whether that follows the labels' shares.

    With ``shares``, every item counts the same in the class shares, also one with a single annotation. If agreement by
    chance does not follow how rare a label is, all items inform the coefficient alike.
    """

    weights: str
    expected: str
    shares: bool = False
    rare_labels_decide: bool = True


BETWEEN_ITEMS = "two annotations of different items"  # the only pairs that agree by chance alone
ANY_TWO = "two of all annotations, drawn without replacement"
CLASS_SHARES = "Σ_c π_c², with π_c the mean share of class c within an item"  # as Gwet generalises Fleiss
HARD_ITEMS = "Σ π(1 − π)/(C − 1)"  # Gwet's AC1, and AC2 under a metric
UNIFORM = "all classes equally likely"
PAIRS_OF_PEOPLE = Rule("flat", "any two annotators, each with the shares of their own labels", shares=True)
COEFFICIENTS: Mapping[str, Rule] = {
    "spa_kappa": Rule("scheme", BETWEEN_ITEMS),
    "krippendorff_alpha": Rule("annotations", ANY_TWO),
    "fleiss_kappa": Rule("flat", CLASS_SHARES, shares=True),
    "gwet_ac1": Rule("flat", HARD_ITEMS, shares=True, rare_labels_decide=False),
    "brennan_prediger": Rule("flat", UNIFORM, rare_labels_decide=False),
}


def chance(
    tally: Tally,
    counts: LabelCounts | None,
    weights: Weights,
    level: float,
    people: Others | str = UNKNOWN_PEOPLE,
    told: Others | str = UNKNOWN_PEOPLE,
    interval_for: str = AUTO,
) -> dict[str, Corrected]:
    """All chance-corrected coefficients; clusters change the errors, not the values.

    ``counts`` are the votes, if the tally keeps them; ``people`` are the annotators, or why they are not known, and
    ``told`` what they tell about others, or why nothing.
    """
    if counts is None or not tally.pairable_items:
        reason = NO_PATTERNS if counts is None else NOT_PAIRABLE
        return {name: _undefined(reason, level, weights.scheme) for name in (*COEFFICIENTS, CONGER)}
    sizes = sorted({m for n in tally.items_by_n for m in (n, n - 1) if m > 1})
    by_scheme = {
        "flat": dict.fromkeys(sizes, Fraction(1)),
        "annotations": {n: Fraction(n) for n in sizes},
        "scheme": weights.every,
    }
    pairable, coefficients = counts.pairable(), {}
    every = jackknife.items(counts, shares=True)
    units_of = {True: every, False: every if pairable is counts else jackknife.items(counts)}
    for name, rule in COEFFICIENTS.items():
        used, units, by_n = counts if rule.shares else pairable, units_of[rule.shares], by_scheme[rule.weights]
        by_chance = agreement_by_chance(rule, used, units)
        totals = used.per_label(entries(used, shares=rule.shares))
        found = _Coefficient(rule, used, pairable, by_n, level, float(by_chance[0]), totals / total(totals))
        variance = jackknife.variance(_kappas(counts.sizes.without(units, by_n), by_chance[1:]), units.times)
        known: tuple[Others, Without] | str
        if isinstance(told, str):
            known = told
        elif told.kinds and rule.shares and (len(counts.labels) > TWO or told.teams is not None):
            known = Message(NO_OTHER_LABELS)
        elif told.kinds and rule.expected != UNIFORM and not told.kinds.have_labels:
            known = NO_LABELS_OF_KINDS
        else:
            known = told, told.figure(partial(_without, rule, by_n), shares=rule.shares)
        scheme = weights.scheme if rule.weights == "scheme" else rule.weights
        coefficients[name] = found.corrected(scheme, variance, known, interval_for)
    why = people if isinstance(people, str) else Message(NO_PEOPLE) if people.kinds else None
    if isinstance(people, Others) and why is None:
        are_many = len(people.codes.labels) * len(people.codes.item) > MOST_CELLS
        why = people.why_not if people.unknown else MANY_LABELS if are_many else None
    if isinstance(people, str) or why is not None:
        return coefficients | {CONGER: _undefined(why or "", level, "flat")}
    by_n, nobody = by_scheme["flat"], np.zeros(0, dtype=np.int64)
    own = _LabelsOfEach(people.codes, people.votes.similarity)
    expected = float(own.by_chance(nobody, nobody, 1)[0])
    mean = dict(zip(own.codes.labels, own.own.sum(axis=0) / (own.given.sum(axis=1) > 0).sum(), strict=True))
    shares = np.array([mean.get(label, 0.0) for label in counts.labels])
    found = _Coefficient(PAIRS_OF_PEOPLE, counts, pairable, by_n, level, expected, shares)
    variance = jackknife.variance(*own.without(people, by_n)("items"))
    known = told if isinstance(told, str) else (told, own.without(told, by_n))
    return coefficients | {CONGER: found.corrected("flat", variance, known, interval_for)}


def _undefined(reason: str, level: float, weights: str) -> Corrected:
    return Corrected(None, None, None, None, level, weights, undefined=reason)


def agreement_by_chance(rule: Rule, votes: LabelCounts, units: Units) -> Floats:
    """P_e of everything, followed by that without each unit."""
    blindly = 1 / len(votes.labels) if votes.similarity is None else float(votes.similarity.mean())
    if rule.expected == UNIFORM:
        return np.full(len(units.times) + 1, blindly)
    lost = units.lost(shares=rule.shares)
    if rule.expected == HARD_ITEMS and votes.similarity is not None:
        votes, lost = replace(votes, similarity=None), replace(lost, similarity=None)
    totals = votes.per_label(entries(votes, shares=rule.shares))
    around = votes.across(totals)
    less = lost.per_group(2 * around[lost.label] * lost.count) - lost.squares
    same = total(totals * around) - np.concatenate([[0.0], less])  # Σ_c Σ_k s(c, k) T_c T_k
    pairable, n, n_left = votes.pairable(), units.n.astype(np.float64), units.n_left.astype(np.float64)

    def left(whole: Floats, before: Floats, after: Floats) -> Floats:
        """Σ of a value of the pairable items, given those of the items that a unit changes."""
        return total(pairable.items * whole) - np.concatenate([[0.0], units.loses(before, after)])

    with np.errstate(divide="ignore", invalid="ignore"):
        if rule.shares:
            gone = sums(units.unit, units.items * (units.n_left == 0), len(units.times))  # items with nothing left
            same = same / (total(votes.items) - np.concatenate([[0.0], gone])) ** 2
            classes = len(votes.labels)
            return same if rule.expected == CLASS_SHARES else (1 - same) * blindly * classes / (classes - 1)
        annotations = left(pairable.n, n, n_left)
        if rule.expected == ANY_TWO:
            return np.asarray((same - annotations) / (annotations * (annotations - 1)))
        within = left(pairable.agreeing_pairs + pairable.n, units.agreeing + n, units.agreeing_left + n_left)
        return np.asarray((same - within) / (annotations**2 - left(pairable.n**2, n**2, n_left**2)))


def alpha_without(votes: LabelCounts, units: Units) -> Floats:
    """Krippendorff's alpha without each unit; NaN where it is undefined."""
    sizes = {*votes.n.astype(np.int64).tolist(), *units.n_left.tolist()}
    return _without(COEFFICIENTS["krippendorff_alpha"], {n: Fraction(n) for n in sizes}, votes, units)


def _without(rule: Rule, by_n: ByN, votes: LabelCounts, units: Units) -> Floats:
    return _kappas(votes.sizes.without(units, by_n), agreement_by_chance(rule, votes, units)[1:])


def _kappas(observed: Floats, expected: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((observed - expected) / np.where(expected > CERTAIN, np.nan, 1 - expected))


@dataclass
class _Coefficient:
    """One coefficient on one set of votes."""

    rule: Rule
    votes: LabelCounts
    """By cluster, unless items are independent."""
    pairable: LabelCounts
    by_n: ByN
    level: float
    expected: float
    """Agreement by chance of all items."""
    shares: Floats
    """Class shares, as used in the expected agreement."""

    def __post_init__(self) -> None:
        votes = self.votes
        self.weights = self.informing = relative_weights(self.by_n, votes.n)  # 0 for a single annotation
        self.observed = total(votes.items * self.weights * votes.agreement) / total(votes.items * self.weights)
        if self.rule.rare_labels_decide:  # how much an item tells: also how likely its labels disagree by chance
            differ = (1 - votes.across(self.shares))[votes.label]
            self.informing = self.weights * votes.per_group(votes.count / votes.n[votes.group] * differ)

    def corrected(
        self, weights: str, variance: float | None, told: tuple[Others, Without] | str, interval_for: str
    ) -> Corrected:
        """The value with its intervals, or the reason there is none, from its variance over items or clusters.

        ``told`` are the annotators with the coefficient without each of them, or why they tell nothing about others.
        """
        if not self.expected <= CERTAIN:  # also if it is not a number
            labels = self.pairable.label
            return _undefined(ONE_CLASS if (labels == labels[:1]).all() else ONE_ITEM, self.level, weights)
        value = (self.observed - self.expected) / (1 - self.expected)
        plain = Corrected(value, None, None, None, self.level, weights, observed=self.observed, expected=self.expected)
        if total(self.pairable.items) < 2:
            return replace(plain, undefined=ONE_ITEM)
        if self.votes.units < 2:
            return replace(plain, undefined=ONE_CLUSTER)
        if variance is None and self.rule is PAIRS_OF_PEOPLE:
            return replace(plain, undefined=ONE_ITEM_NEEDED)
        if variance is None:  # without one of the items a single label is left
            variance = self._linearised_variance()
        size = self._informative(self.votes)
        by_squares = self.rule.rare_labels_decide and self.votes.similarity is not None  # fewer degrees for Fisher's z
        informing = self.informing**2 if by_squares else self.informing
        freedom = item_freedom(self.votes, effective_items(self.votes, informing))
        made = partial(self._interval, value, variance)
        if isinstance(told, str):
            intervals = {ITEMS: made(variance, size, freedom), ANNOTATORS: Interval(None, None, None, told)}
        else:
            others, without = told
            met = others.between_pairs(self.observed) / (1 - self.expected) ** 2
            intervals = others.intervals(without, variance, size, freedom, made, met)
        return leading(plain, intervals, interval_for)

    def _informative(self, votes: LabelCounts) -> float:
        """How many alike items, or clusters, of two annotations would be as informative: few with rare labels."""
        if not self.rule.rare_labels_decide:
            return effective_items(votes, self.weights)
        squares = self.informing**2
        spread = squares * np.sqrt(usual_variance(votes.n, self.observed))
        return total(votes.items * squares) ** 2 / total(votes.unit_sizes * votes.per_unit(spread) ** 2)

    def _interval(self, value: float, over_items: float, variance: float, size: float, freedom: float) -> Interval:
        """The interval for a variance on so many informative items; ``over_items`` is that of items alone.

        Beyond chance the few items with rare labels decide. Where agreement by chance does not follow the labels, the
        interval is that of the observed agreement.
        """
        room, stderr = 1 - self.expected, sqrt(variance)
        if not self.rule.rare_labels_decide:
            alone = sqrt(over_items) * room
            added = steadied(self.observed, alone, self.votes, self.weights) ** 2 - alone**2
            error = sqrt(variance * room**2 + added)
            low, high = wilson(self.observed, error, size, self.level, freedom)
            return Interval(stderr, (low - self.expected) / room, (high - self.expected) / room)
        if self.votes.similarity is not None and value < 1:
            if total(self.pairable.items) < FEW_ITEMS:
                return Interval(stderr, None, None, FEW_FOR_METRIC)
            point, error, free = np.array([[value], [stderr], [freedom]])
            low, high = (float(end[0]) for end in fisher_limits(point, error, free, self.level))
            return Interval(stderr, None, None, ALL_ALIKE) if np.isnan(low) else Interval(stderr, low, high)
        most = min(1.0, 2 * (1 - float(self.shares.max())))  # two annotations of an item cannot differ more often
        alike = self._informative(replace(self.votes, cluster=None))
        point, error, span, differ, number = np.array([[value], [stderr], [room], [most], [alike]])
        free, units = np.array([[freedom], [size]])
        limits = kappa_limits(point, error, span, differ, number, self.level, free, units)
        low, high = (float(end[0]) for end in limits)
        annotations = self.pairable.per_label(self.pairable.count)
        is_rare = self.pairable.label != int(annotations.argmax())
        if not (self.pairable.agreeing[is_rare] > 0).any():  # no evidence against chance
            rare = float(below_chance(total(annotations) - float(annotations.max()), total(annotations)))
            often = max(self.expected, total(self.shares**2))  # by chance, with just these shares
            low = min(low, max(rare, -often / (1 - often)))  # nobody can agree less than never
        return Interval(stderr, low, high)

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


@dataclass
class _LabelsOfEach:
    """How each annotator labels, for Conger's kappa: by chance, two annotators agree as often as their own labels do.

    All pairs of annotators count alike, also those who never met, and every annotation tells how its annotator labels:
    for incomplete data this is Gwet's generalisation. With two annotators it is Cohen's kappa.
    """

    codes: Codes
    similarity: Floats | None

    def __post_init__(self) -> None:
        codes, size = self.codes, len(self.codes.labels)
        place = codes.annotator.astype(np.int64) * size + codes.label
        given = sums(place, np.ones(len(place)), len(codes.annotators) * size).reshape(-1, size)
        self.given, self.own = given, _shares_of(given)  # how often each gave each label, and its share of theirs

    def without(self, others: Others, by_n: ByN) -> Without:
        """As for the other coefficients, but what is left out also changes how each annotator labels."""
        codes, who = others.codes, others.codes.annotator.astype(np.int64)

        def without(kind: Kind) -> tuple[Floats, Floats]:
            if kind == "annotations":
                votes = others.votes
                first, alike = numbered(who, codes.label.astype(np.int64))
                expected = self.by_chance(first, np.arange(len(first)), len(first))[alike]
                observed = votes.sizes.without(jackknife.annotations(votes), by_n)[entry_of_each(votes)]
                return _kappas(observed, expected), np.ones(len(who))
            votes, units = others.left_out(kind, shares=True)
            unit, times = votes.unit_of[codes.item], units.times
            if kind == "people":
                unit, times = who, 1.0 * (self.given.sum(axis=1) > 0)
            expected = self.by_chance(np.arange(len(unit)), unit, len(units.times))
            return _kappas(votes.sizes.without(units, by_n), expected), times

        return without

    def by_chance(self, rows: Ints, unit: Ints, size: int) -> Floats:
        """Agreement by chance without each of ``size`` units; the annotations of a ``unit`` are those of ``rows``.

        It is (Σ_g p_g)² less Σ_g p_g², over the ordered pairs of annotators; a bounded number of units at a time.
        """
        codes, width, similarity = self.codes, len(self.codes.labels), self.similarity

        def squares(shares: Floats) -> Floats:
            """Σ_c Σ_k s(c, k) p_c p_k of each row."""
            return np.asarray(((shares if similarity is None else shares @ similarity) * shares).sum(axis=1))

        whole, people, alone = self.own.sum(axis=0), (self.given.sum(axis=1) > 0).sum(), squares(self.own)
        values, step = [], max(1, CELLS_AT_ONCE // max(1, width * (1 + len(rows) // size)))
        order = np.argsort(unit, kind="stable")
        starts = np.searchsorted(unit[order], np.arange(0, size + step, step))
        for place, (start, end) in enumerate(pairwise(starts)):
            row, out = rows[order[start:end]], unit[order[start:end]] - place * step
            units = min(step, size - place * step)
            who = codes.annotator[row].astype(np.int64)
            first, visit = numbered(out, who)
            out, who = out[first], who[first]
            lost = sums(visit * width + codes.label[row], np.ones(len(row)), len(first) * width).reshape(-1, width)
            after = _shares_of(self.given[who] - lost)
            totals = np.tile(whole, (units, 1))
            if len(out):
                runs = run_starts(out)
                totals[out[runs]] += np.add.reduceat(after - self.own[who], runs)
            own = alone.sum() + sums(out, squares(after) - alone[who], units)
            left = people - sums(out, 1.0 * (after.sum(axis=1) == 0), units)
            with np.errstate(divide="ignore", invalid="ignore"):
                values.append((squares(totals) - own) / (left * (left - 1)))
        return np.concatenate(values)


def _shares_of(given: Floats) -> Floats:
    """Rows that add up to 1; a row of nothing stays 0."""
    sizes = given.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(given, sizes, out=np.zeros_like(given), where=sizes > 0))
