"""May a model annotate like a person? A model among people (docs/mathematics.md §19).

Take an item with n ≥ 2 annotations by people. m is the share of them that agree with the model, and P how often they
agree with each other: Δ = Σ k(n)(m − P)/Σ k(n) is how much more often a person agrees with the model than with another
person. Items, people and annotations are left out one at a time from both figures at once, so what makes an item hard
for everybody cancels. The verdict is read from the interval of Δ, and from nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import hypot, inf, sqrt
from typing import Literal

import numpy as np

from spagree.codes import Codes, Floats, Ints, in_order, ratio
from spagree.estimate import jackknife
from spagree.estimate.comparison import holm
from spagree.estimate.jackknife import Units
from spagree.estimate.other_annotators import Made, Others, Values, spa_estimate
from spagree.estimate.uncertainty import (
    AUTO,
    ITEMS,
    ONE_ITEM,
    POPULATIONS,
    Estimate,
    Interval,
    effective_number,
    leading,
    two_sided,
    undefined,
    wilson,
)
from spagree.estimate.votes import LabelCounts, Sizes, add_up, relative_weights, votes_in_codes
from spagree.estimate.weights import DEFAULT, ByN

Verdict = Literal["better", "as_good", "slightly_worse", "worse", "cannot_tell"]
MARGIN = 0.05
NO_ITEMS = "no item has a label of the model and two people"
ONE_SHARED = "only one item has a label of the model and two people, too few to show how items differ"
NO_RUNS = "no item was labelled by two runs of the model"
ROUNDING = 1e-9
UNSEEN = 1.0 + 0.25  # squares: one item where only the model differs from two people, one where one person does

FEWEST_ITEMS, EPSILON, FALSE_DISCOVERIES = 30, 0.1, 0.05  # of the alternative annotator test, as its authors have it


@dataclass(frozen=True)
class ClassAgreement:
    """If a person chose the class: how often the model did, how often another person did, and the difference."""

    label: str
    with_humans: Estimate
    humans: Estimate
    difference: Estimate
    p_holm: float | None = None
    """Of no difference, adjusted for all classes."""


@dataclass(frozen=True, slots=True)
class AlternativeTest:
    """ω and ρ of Calderon, Reichart and Dror (2025), with the counts behind them; None if nobody has 30 items."""

    omega: float | None
    rho: float | None
    epsilon: float
    annotators: int
    annotators_left_out: int
    annotations: int
    annotations_left_out: int


@dataclass(frozen=True)
class ModelFindings:
    """How one model compares with people."""

    name: str
    with_humans: Estimate
    humans: Estimate
    difference: Estimate
    margin: float
    items: int
    humans_count: int | None
    left_out: Mapping[str, int]
    """Items that could not be used: no label of the model, fewer than two people, or nobody but the model."""
    runs: int
    self_agreement: Estimate | None
    classes: tuple[ClassAgreement, ...] = ()
    alternative: AlternativeTest | None = None
    labels: Mapping[str, int] = field(default_factory=dict)
    """How often the model gave each label on these items."""
    marks: tuple[ClassAgreement, ...] = ()
    """Of marks, by outcome: what the marks of the model and a person meet at each other, and those of two people."""

    @property
    def verdict(self) -> Verdict:
        """What the interval of Δ says about 0 and −margin.

        A model within the margin may be shown to be worse than a person by less than that: it is as good, as agreed.
        """
        low, high = self.difference.low, self.difference.high
        if low is None or high is None:
            return "cannot_tell"
        if low > 0:
            return "better"
        if low > -self.margin:
            return "as_good"
        if high < -self.margin:
            return "worse"
        return "slightly_worse" if high < 0 else "cannot_tell"


def among_people(
    name: str,
    codes: Codes,
    answers: Ints,
    by_n: ByN,
    *,
    similarity: Floats | None = None,
    margin: float = MARGIN,
    level: float = 0.95,
    weights: str = DEFAULT,
    interval_for: str = AUTO,
) -> ModelFindings:
    """Compare a model with people: ``answers`` has a row of label codes for each run, −1 for items without one."""
    given = np.bincount(codes.item, minlength=answers.shape[1])
    labelled = (answers >= 0).any(axis=0)
    kept = labelled & (given > 1)
    left_out = {
        "no_model_label": int(((given > 0) & ~labelled).sum()),
        "fewer_than_two_people": int((labelled & (given == 1)).sum()),
        "no_people": int((labelled & (given == 0)).sum()),
    }
    place, rows = np.cumsum(kept) - 1, kept[codes.item]
    item = place[codes.item[rows]].astype(np.int32)
    people = replace(codes, item=item, annotator=codes.annotator[rows], label=codes.label[rows])
    both = Both(Others.of(people, None, similarity), answers[:, kept], by_n)
    figures = both.figures(level, weights, interval_for)
    codes_given, times = np.unique(both.answers[both.answers >= 0], return_counts=True)
    known = not people.unknown and len(people.item) > 0
    return ModelFindings(
        name,
        *figures,
        margin,
        int(kept.sum()),
        None if codes.unknown else len(np.unique(people.annotator)),
        {reason: items for reason, items in left_out.items() if items},
        len(answers),
        self_agreement(answers, similarity, level) if len(answers) > 1 else None,
        both.classes(level, weights) if len(people.item) else (),
        alternative_test(both) if known else None,
        {codes.labels[code]: count for code, count in zip(codes_given.tolist(), times.tolist(), strict=True)},
    )


@dataclass(frozen=True)
class Both:
    """People and a model on the same items, each with two people or more: ``answers`` as in :func:`among_people`."""

    others: Others
    answers: Ints
    by_n: ByN

    @property
    def votes(self) -> LabelCounts:
        """The people's labels, item by item."""
        return self.others.votes

    @cached_property
    def match(self) -> Floats:
        """How much the model agrees with each entry of the votes: the mean over its runs."""
        votes, said = self.votes, self.answers[:, self.votes.group]
        alike = said == votes.label if votes.similarity is None else votes.similarity[said, votes.label]
        return np.asarray(np.where(said >= 0, alike, 0.0).sum(axis=0) / (said >= 0).sum(axis=0))

    @cached_property
    def matched(self) -> Floats:
        """How many people of each item agree with the model."""
        return self.votes.per_group(self.votes.count * self.match)

    @cached_property
    def with_model(self) -> Sizes:
        """Agreement with the model, matched/n, as a share of n(n − 1) pairs like agreement among people."""
        people, n = self.others.sizes, self.votes.n
        place = np.searchsorted(people.n, n)
        return replace(people, agreeing=add_up(place, (n - 1) * self.matched, len(people.n)))

    def agreement(self, _: LabelCounts, units: Units) -> Floats:
        """Agreement with the model, without each unit."""
        matched = self.matched[units.group]
        taken = units.taken(self.match) if units.taken is not None else np.zeros(len(matched))
        left = np.maximum(units.n_left - 1, 0) * (matched - taken)
        mine = replace(units, agreeing=(units.n - 1) * matched, agreeing_left=left)
        return self.with_model.without(mine, self.by_n)

    def gap(self, votes: LabelCounts, units: Units) -> Floats:
        """Δ without each unit."""
        return self.agreement(votes, units) - self.others.sizes.without(units, self.by_n)

    def intervals(self, values: Values, interval: Made) -> dict[str, Interval]:
        """Of one of the two, for each population."""
        without, equal = self.others.figure(values), effective_number(relative_weights(self.by_n, self.votes.n))
        items = jackknife.variance(*without("items"))
        if items is None:
            return dict.fromkeys(POPULATIONS, Interval(None, None, None, ONE_SHARED))
        return self.others.intervals(without, items, equal, equal - 1, interval)

    def figures(self, level: float, weights: str, interval_for: str) -> tuple[Estimate, Estimate, Estimate]:
        """Agreement with the model, agreement among people, and Δ, the first minus the second."""
        if not len(self.votes.items):
            nothing = undefined(NO_ITEMS, level, weights)
            return nothing, nothing, nothing
        groups = self.votes.groups
        humans = spa_estimate(
            groups, self.by_n, level=level, scheme=weights, others=self.others, interval_for=interval_for
        )
        value = self.with_model.value(self.by_n)
        gap = value - float(humans)

        def mine(variance: float, items: float, freedom: float) -> Interval:
            return Interval(sqrt(variance), *wilson(value, sqrt(variance), items, level, freedom))

        def more(variance: float, items: float, freedom: float) -> Interval:
            return paired(gap, sqrt(variance), items, freedom, level)

        with_model, beyond = (self.intervals(*each) for each in ((self.agreement, mine), (self.gap, more)))
        with_humans = leading(replace(humans, value=value), with_model, interval_for)
        return with_humans, humans, leading(replace(humans, value=gap), beyond, interval_for)

    def classes(self, level: float, weights: str) -> tuple[ClassAgreement, ...]:
        """One entry per class that people gave; annotations of one item are not independent, items are."""
        from scipy.special import stdtr

        votes = self.votes
        used, place = np.unique(votes.label, return_inverse=True)
        items, size = np.bincount(place).astype(np.float64), np.bincount(place, votes.count)
        equal = size**2 / np.bincount(place, votes.count**2)
        theirs = votes.agreeing / (votes.n[votes.group] - 1)

        def mean(share: Floats) -> tuple[Floats, Floats]:
            value = np.bincount(place, votes.count * share) / size
            squares = np.bincount(place, (votes.count * (share - value[place])) ** 2)
            return value, np.sqrt(ratio(np.asarray(items * squares), items - 1)) / size

        means, rows, p = [mean(self.match), mean(theirs), mean(self.match - theirs)], [], []
        for row, code in enumerate(used.tolist()):
            (mine, own), (other, error), (gap, between) = ((float(x[row]), float(e[row])) for x, e in means)
            number, unknown = float(equal[row]), Interval(None, None, None, ONE_ITEM)
            ends = [
                Interval(own, *wilson(mine, own, number, level)),
                Interval(error, *wilson(other, error, number, level)),
                paired(gap, between, number, number - 1, level),
            ]
            known = items[row] > 1
            p.append(2 * float(stdtr(number - 1, -abs(gap) / (ends[2].stderr or inf))) if known else None)
            figures = zip((mine, other, gap), ends if known else [unknown] * 3, strict=True)
            first, second, third = (
                leading(Estimate(value, None, None, None, level, weights), {ITEMS: end}) for value, end in figures
            )
            rows.append(ClassAgreement(votes.labels[code], first, second, third))
        return tuple(replace(row, p_holm=adjusted) for row, adjusted in zip(rows, holm(p), strict=True))


def paired(value: float, stderr: float, items: float, freedom: float, level: float) -> Interval:
    """The interval of a difference within items.

    Often only a few items tell the model from a person, and those where only the model differs may be missing by
    chance. The error allows for one more of these, and for one more where a person differs.
    """
    error = hypot(stderr, sqrt(UNSEEN) / items)
    reach = two_sided(level, freedom) * error
    return Interval(error, max(-1.0, value - reach), min(1.0, value + reach))


def self_agreement(answers: Ints, similarity: Floats | None, level: float) -> Estimate:
    """How often two runs of the model agree."""
    run, item = np.nonzero(answers >= 0)
    classes = int(answers.max(initial=0)) + 1 if similarity is None else len(similarity)
    labels, runs = (tuple(map(str, range(size))) for size in (classes, len(answers)))
    codes = in_order(item.astype(np.int32), answers[run, item].astype(np.int32), run.astype(np.int32), labels, runs)
    groups = replace(votes_in_codes(codes), similarity=similarity).groups
    if not groups.size:
        return undefined(NO_RUNS, level, DEFAULT)
    by_n = {n: Fraction(n - 1) for n in groups.sizes.n.tolist()}
    return spa_estimate(groups, by_n, level=level, scheme=DEFAULT)


def alternative_test(both: Both, epsilon: float = EPSILON) -> AlternativeTest:
    """The alternative annotator test: is the model at least as good as each person on that person's own items?

    ω is the share of people the model beats by a t test of the difference against ε, under the correction of
    Benjamini and Yekutieli; ρ is how often the model agrees with the others at least as often as the person does.
    """
    votes, codes = both.votes, both.others.codes
    entry = jackknife.entry_of_each(votes)
    person, model = votes.agreeing[entry], both.matched[codes.item] - both.match[entry]  # with the others of the item
    wins, loses = model >= person - ROUNDING, person >= model - ROUNDING
    size = len(codes.annotators)
    given = np.bincount(codes.annotator, minlength=size)
    tested = given >= FEWEST_ITEMS
    parts = int(tested.sum()), int(((given > 0) & ~tested).sum())
    counts = (*parts, int(given[tested].sum()), int(given[~tested].sum()))
    if not tested.any():
        return AlternativeTest(None, None, epsilon, *counts)
    from scipy.special import stdtr

    ahead, number = loses.astype(np.float64) - wins, np.maximum(given, 1)
    mean = np.bincount(codes.annotator, ahead, size) / number
    squares = np.bincount(codes.annotator, (ahead - mean[codes.annotator]) ** 2, size)[tested]
    mean, number = mean[tested], given[tested]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (mean - epsilon) / np.sqrt(squares / (number - 1) / number)
    p = np.sort(np.where(squares > 0, stdtr(number - 1, t), mean >= epsilon))
    rank = np.arange(1, len(p) + 1)
    rejected = np.flatnonzero(p <= rank * FALSE_DISCOVERIES / len(p) / np.sum(1 / rank))
    omega = (int(rejected[-1]) + 1) / len(p) if len(rejected) else 0.0
    rho = np.bincount(codes.annotator, wins.astype(np.float64), size)[tested] / number
    return AlternativeTest(omega, float(rho.mean()), epsilon, *counts)
