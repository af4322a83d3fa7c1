"""May a model annotate like a person? A model among people (docs/mathematics.md §19).

A model that always gives the most common label also agrees with people often, so the same is asked beyond chance.

The alternative annotator test (Calderon, Reichart and Dror 2025) leaves out each person in turn: on how many of their
items does the model agree with the remaining people at least as often as the person does (ρ of the model), and the
person at least as often as the model (ρ of the person)? Each person with 30 or more items gets a t test of
d = W_person − W_model against ε, with the Benjamini–Yekutieli correction over all of them; ω is the share of people the
model beats, and the model passes if ω ≥ 0.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import hypot, sqrt
from typing import Literal

import numpy as np

from spagree.estimate.comparison import Difference, Figure, Limits, clustered, difference, holm, limits_of
from spagree.estimate.influence import (
    AnnotationCodes,
    Jackknife,
    Pairable,
    Statistic,
    Sums,
    Weight,
    influence,
    jackknife,
    pairable,
)
from spagree.estimate.intervals import two_sided
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS, POPULATIONS
from spagree.grouping import Floats, Ints, sums

FEWEST_ITEMS = 30
EPSILON = 0.1
FALSE_DISCOVERIES = 0.05
PASSES = 0.5


@dataclass(frozen=True, slots=True)
class AlternativeTest:
    """ω and ρ with the counts behind them; None if nobody has 30 items."""

    omega: float | None
    rho: float | None
    epsilon: float
    annotators: int
    annotators_left_out: int
    annotations: int
    annotations_left_out: int

    @property
    def passes(self) -> bool | None:
        """Whether the model beats at least half of the people."""
        return None if self.omega is None else self.omega >= PASSES


def alternative_test(people: Pairable, match: Floats, epsilon: float = EPSILON) -> AlternativeTest:
    """The test on people's annotations, each with how much it agrees with the model."""
    model = people.per_item(match)[people.place] - match
    wins, loses = model >= people.agree - 1e-9, people.agree >= model - 1e-9
    per_person = people.per_annotator(np.ones(len(match)))
    tested = per_person >= FEWEST_ITEMS
    counts = (int(tested.sum()), int((~tested).sum()), int(per_person[tested].sum()), int(per_person[~tested].sum()))
    if not tested.any():
        return AlternativeTest(None, None, epsilon, *counts)
    from scipy.special import stdtr

    # One-sided t tests of mean < ε, one per person
    ahead = loses.astype(np.float64) - wins
    mean = people.per_annotator(ahead) / per_person
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = people.per_annotator((ahead - mean[people.annotator_index]) ** 2) / (per_person - 1)
        t = (mean - epsilon) / np.sqrt(variance / per_person)
        certain = np.where(mean < epsilon, 0.0, 1.0)
        p = np.where(variance > 0, stdtr(per_person - 1, t), certain)
    rho = (people.per_annotator(wins.astype(np.float64)) / per_person)[tested]
    return AlternativeTest(float(_discoveries(p[tested]).mean()), float(rho.mean()), epsilon, *counts)


def _discoveries(p: Floats) -> Floats:
    """Which hypotheses the Benjamini–Yekutieli procedure rejects, as 1 and 0.

    >>> _discoveries(np.array([0.001, 0.5, 0.01])).tolist()
    [1.0, 0.0, 1.0]
    """
    size = len(p)
    order = np.argsort(p, kind="stable")
    limits = np.arange(1, size + 1) * FALSE_DISCOVERIES / size / np.sum(1 / np.arange(1, size + 1))
    below = np.flatnonzero(p[order] <= limits)
    rejected = np.zeros(size)
    rejected[order[: below[-1] + 1 if len(below) else 0]] = 1.0
    return rejected


AS_GOOD, WORSE = "as_good", "worse"
ModelVerdict = Literal["as_good", "worse", "cannot_tell"]
NO_ITEMS = "no item has a label of the model and two people"
ONE_ITEM = "only one item has a label of the model and two people, too few to show how items differ"
ONE_CLASS = "people and model gave one label only, so agreement by chance is certain"
MARGIN = 0.05
UNSEEN = 1.0 + 0.25  # squares: one item where only the model differs from two people, one where one person does


@dataclass(frozen=True)
class ClassAgreement:
    """If a person chose the class: how often the model did, how often another person did, and the difference."""

    label: str
    with_humans: Figure
    humans: Figure
    difference: Difference
    p_holm: float | None


@dataclass(frozen=True, slots=True)
class Rank:
    """The model's rank among people, each compared with it on the person's own items; 1 is best."""

    rank: int
    tied: int
    of: int


@dataclass(frozen=True)
class ModelFindings:
    """How one model compares with people."""

    name: str
    with_humans: Figure
    humans: Figure
    difference: Difference
    kappa_with_humans: Figure
    kappa_humans: Figure
    kappa_difference: Difference
    margin: float
    verdict: ModelVerdict
    items: int
    humans_count: int | None
    left_out: Mapping[str, int]
    """Items that could not be used: no label of the model, fewer than two people, or nobody but the model."""
    runs: int
    self_agreement: Figure | None
    classes: tuple[ClassAgreement, ...] = ()
    rank: Rank | None = None
    alternative: AlternativeTest | None = None
    labels: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _ModelAndPeople:
    """People's annotations, and the label each run of the model gave to their items."""

    people: Pairable
    runs: tuple[Ints, ...]
    """For each run, the label of each of the people's items; −1 if the run gave none."""
    labels: int
    """Number of distinct labels of people and model."""

    @property
    def runs_given(self) -> Floats:
        """How many runs labelled each item."""
        return np.asarray(np.sum([run >= 0 for run in self.runs], axis=0), dtype=np.float64)

    def matches(self) -> Floats:
        """How much each annotation agrees with the model, averaged over runs."""
        place, label, similarity = self.people.place, self.people.coded.label, self.people.similarity
        agreement = np.zeros(len(label))
        for run in self.runs:
            answer = run[place]
            equal = (answer == label).astype(np.float64) if similarity is None else similarity[answer, label]
            agreement += np.where(answer >= 0, equal, 0.0)
        return agreement / self.runs_given[place]

    def totals(self) -> Floats:
        """Items per label of the model; an item with several runs is shared between their labels."""
        totals = np.zeros(self.labels)
        for run in self.runs:
            labelled = run >= 0
            totals += sums(run[labelled], 1 / self.runs_given[labelled], len(totals))
        return totals

    def per_item(self, by_label: Floats) -> Floats:
        """The mean over runs of a value that depends on their label."""
        summed = sum(np.where(run >= 0, by_label[run], 0.0) for run in self.runs)
        return np.asarray(summed / self.runs_given)

    @cached_property
    def jackknife(self) -> Jackknife:
        """O: people and the model on the same item. E: the model's label of one item, people's labels of another."""
        people, match = self.people, self.matches()
        matched, weight = people.per_item(match), people.k / people.n
        items, annotations = float(len(people.item)), float(len(people.n))
        mine = self.totals()
        theirs = np.bincount(people.coded.label, minlength=self.labels).astype(np.float64)
        across_mine = people.across(mine)[people.coded.label]
        shared = matched[people.place]
        whole = Sums(
            np.asarray(np.sum(weight * shared / people.n)),
            np.asarray(np.sum(weight)),
            np.asarray(mine @ people.across(theirs) - matched.sum()),
            np.asarray(annotations * (items - 1)),
        )
        lost = Sums(
            people.per_item(weight * shared / people.n),
            people.per_item(weight),
            self.per_item(people.across(theirs)) + people.per_item(across_mine) - 2 * matched,
            annotations - people.size + (items - 1) * people.size,
        )
        after = (shared - match) / np.maximum(people.n - 1, 1)
        single = Sums(
            people.k * shared / people.n - people.less * after,
            people.k - people.less,
            across_mine - match,
            np.full(len(match), items - 1),
        )
        by_annotator = single.each(people.per_annotator) if people.coded.has_annotators else None
        return Jackknife(whole, lost, single, by_annotator)


def among_people(
    name: str,
    humans: AnnotationCodes,
    runs: Sequence[Mapping[int, int]],
    weight: Weight,
    labels: Sequence[str],
    *,
    similarity: Floats | None = None,
    margin: float = MARGIN,
    level: float = 0.95,
) -> ModelFindings:
    """Compare a model with people; ``runs`` holds its labels by item, one mapping per run.

    >>> ints = lambda *values: np.array(values)
    >>> people = AnnotationCodes(ints(0, 0, 1, 1, 2, 2), ints(0, 1, 1, 2, 2, 0), ints(0, 0, 1, 0, 1, 1))
    >>> findings = among_people("bot", people, [{0: 0, 1: 1, 2: 1}], lambda n: n - 1.0, ["no", "yes"])
    >>> round(findings.with_humans.value, 3), round(findings.humans.value, 3), findings.verdict, findings.items
    (0.833, 0.667, 'cannot_tell', 3)
    """
    labelled = np.unique(np.array([item for run in runs for item in run], dtype=np.int64))
    every = np.unique(humans.item)
    people = pairable(humans.only(np.isin(humans.item, labelled)), weight, similarity)
    without = int(len(every) - np.isin(every, labelled).sum())
    left_out = {
        "no_model_label": without,
        "fewer_than_two_people": len(every) - without - len(people.item),
        "no_people": int(len(labelled) - np.isin(labelled, every).sum()),
    }
    by_run = (np.array([run.get(item, -1) for item in people.item.tolist()], dtype=np.int64) for run in runs)
    compared = _ModelAndPeople(people, tuple(by_run), len(labels))
    mine = theirs = (Figure(None, undefined=NO_ITEMS),) * 2
    if len(people.item):
        mine, theirs = (
            (_figure(people, moved, Sums.observed, level), _figure(people, moved, Sums.beyond_chance, level))
            for moved in (compared.jackknife, jackknife(people))
        )
    chance = compared.jackknife.whole
    room = float(1 - chance.same / chance.all) if chance.all else 1.0  # 1 − E, the unit of agreement beyond chance
    gap, kappa_gap = _gap(theirs[0], mine[0], level, 1.0), _gap(theirs[1], mine[1], level, room)
    size = len(people.people) if people.coded.has_annotators else None
    return ModelFindings(
        name,
        mine[0],
        theirs[0],
        gap,
        mine[1],
        theirs[1],
        kappa_gap,
        margin,
        model_verdict(gap, kappa_gap, mine[1], margin),
        len(people.item),
        size,
        {reason: items for reason, items in left_out.items() if items},
        len(runs),
        _self_agreement(runs, similarity, level),
        _classes(compared, labels, level),
        _rank(compared),
        alternative_test(people, compared.matches()) if size and len(people.item) else None,
        _model_labels(compared, labels),
    )


def _figure(people: Pairable, jackknifed: Jackknife, statistic: Statistic, level: float) -> Figure:
    value = float(statistic(jackknifed.whole))
    if np.isnan(value):
        return Figure(None, undefined=ONE_CLASS if len(people.item) > 1 else ONE_ITEM)
    influences = influence(people, jackknifed, statistic)
    if not influences.items.defined:
        return Figure(value, undefined=ONE_ITEM if len(people.item) < 2 else ONE_CLASS)
    expected = float(jackknifed.whole.same / jackknifed.whole.all) if statistic is Sums.beyond_chance else 0.0
    scale = (-expected / (1 - expected), 1.0)
    limits = {
        population: limits_of(value, influences, level, population, scale=scale)
        for population in (POPULATIONS if influences.knows_annotators else (ITEMS,))
    }
    return Figure(value, limits, influences)


def _gap(theirs: Figure, mine: Figure, level: float, room: float) -> Difference:
    """The difference, for new people too if the data show how people differ; a full point of agreement is 1/``room``.

    Often only a few items distinguish the model from a person, and those where only the model differs may be missing
    by chance. The interval allows for one more of these, and for one more where a person differs (docs/mathematics.md
    §19).
    """
    has_people = ANNOTATORS in theirs.limits and ANNOTATORS in mine.limits
    gap = difference(theirs, mine, level, ANNOTATORS if has_people else ITEMS)
    if gap.value is None or mine.influence is None:
        return gap
    wider = {}
    for population, limits in gap.limits.items():
        error = sqrt(UNSEEN) / mine.influence.equal_items / room
        reach = two_sided(level, mine.influence.freedom(population == ANNOTATORS)) * error
        low = gap.value - hypot(gap.value - limits.low, reach)
        high = gap.value + hypot(limits.high - gap.value, reach)
        ends = min(limits.low, max(low, -1 / room)), max(limits.high, min(high, 1 / room))
        wider[population] = Limits(hypot(limits.stderr, error), *ends)
    return replace(gap, limits=wider)


def model_verdict(gap: Difference, kappa_gap: Difference, kappa: Figure, margin: float) -> ModelVerdict:
    """As good within the margin, worse by more than the margin, or not enough data; beyond chance, too.

    As good requires both Δ above −margin and some agreement beyond chance, which a model that gives one label or
    random labels never has.
    """
    if gap.low is None or gap.high is None:
        return "cannot_tell"
    if gap.high < -margin or (kappa_gap.high is not None and kappa_gap.high < -margin):
        return "worse"
    shown = kappa.limits.get(kappa_gap.interval_for)
    return "as_good" if gap.low > -margin and shown is not None and shown.low > 0 else "cannot_tell"


def _classes(compared: _ModelAndPeople, labels: Sequence[str], level: float) -> tuple[ClassAgreement, ...]:
    """One entry per class that people gave; p-values hold for all classes together."""
    people, match = compared.people, compared.matches() if len(compared.people.item) else np.zeros(0)
    share = people.agree / (people.n - 1)
    rows = []
    for label in np.unique(people.coded.label).tolist():
        chosen = people.coded.label == label
        place = people.place[chosen]
        theirs, mine = (clustered(people.item, place, values[chosen], level) for values in (share, match))
        rows.append((labels[label], mine, theirs, difference(theirs, mine, level)))
    adjusted = holm([gap.p for *_, gap in rows])
    return tuple(ClassAgreement(*row, p) for row, p in zip(rows, adjusted, strict=True))


def _rank(compared: _ModelAndPeople) -> Rank | None:
    """One plus how many people agree more with the others on their items than the model does with the same others."""
    people = compared.people
    if not len(people.item) or not people.coded.has_annotators:
        return None
    match = compared.matches()
    others = (people.per_item(match)[people.place] - match) / (people.n - 1)
    lead = people.per_annotator(people.agree / (people.n - 1) - others)
    return Rank(1 + int((lead > 1e-9).sum()), int((abs(lead) <= 1e-9).sum()), len(lead))


def _self_agreement(runs: Sequence[Mapping[int, int]], similarity: Floats | None, level: float) -> Figure | None:
    """How often two runs of the model agree; None with a single run."""
    if len(runs) < 2:
        return None
    rows = [(item, number, label) for number, run in enumerate(runs) for item, label in run.items()]
    item, number, label = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    annotations = pairable(
        AnnotationCodes(item, np.full_like(number, -1), label), lambda n: np.asarray(n - 1, np.float64), similarity
    )
    if not len(annotations.item):
        return Figure(None, undefined="no item was labelled by two runs of the model")
    return _figure(annotations, jackknife(annotations), Sums.observed, level)


def _model_labels(compared: _ModelAndPeople, labels: Sequence[str]) -> dict[str, int]:
    """How often the model gave each label on the compared items."""
    codes, count = np.unique(np.concatenate([run[run >= 0] for run in compared.runs]), return_counts=True)
    return {labels[code]: int(size) for code, size in zip(codes.tolist(), count.tolist(), strict=True)}
