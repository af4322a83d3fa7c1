"""What can be said of a running project at any time: bounds, a fall, annotators who differ (docs/mathematics.md §18).

An ordinary 95% interval is right in 95 of 100 projects for someone who looks once; someone who keeps watching sees it
exclude the truth at some point in many more (docs/studies/watching.md). What is here keeps its error rate over the
whole life of a project, however often people look and whenever they stop.

Values enter once and in a fixed order: an item when it has its first k annotations. Later annotations of an item change
nothing, so a project that asks more people where the first ones disagree is measured without bias (``--first k``).
Later changes and deletions change the values, never the rule: the closed items are a function of the annotations that
count now, in order of arrival.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite, log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree.codes import AnyInts, Floats, ratio, run_starts
from spagree.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class ClosedItems:
    """One row per closed item, one column per annotation, both in the order of arrival; ``closed_by`` is the index of
    the annotation that closed the item.
    """

    item: AnyInts
    annotator: AnyInts
    label: AnyInts
    closed_by: AnyInts

    def agreement(self) -> Floats:
        """The share of agreeing pairs of each item."""
        k = self.label.shape[1]
        return np.asarray(self._with_others().sum(1) / (k * (k - 1)))

    def _with_others(self) -> NDArray[np.int64]:
        """How many others on its item each annotation agrees with; column by column, because there are many items."""
        matches = np.zeros(self.label.shape, np.int64)
        for one, other in combinations(range(self.label.shape[1]), 2):
            equal = self.label[:, one] == self.label[:, other]
            matches[:, one] += equal
            matches[:, other] += equal
        return matches

    def apart(self) -> Floats:
        """How much more each annotation agrees with the others on its item than they with each other (§17).

        d = a/(n − 1) − (A − 2a)/((n − 1)(n − 2)): its mean is 0 for anyone exchangeable with the others on the item,
        however hard the item. It takes three annotations: with two, item and person cannot be told apart.

        >>> closed_items(*(np.array(each) for each in ([0, 0, 0], [0, 1, 2], [5, 5, 7])), 3).apart()
        array([[ 0.5,  0.5, -1. ]])
        """
        n = self.label.shape[1]
        with_others = self._with_others()
        pairs = with_others.sum(1, keepdims=True)
        return np.asarray(with_others / (n - 1) - (pairs - 2 * with_others) / ((n - 1) * (n - 2)))


def closed_items(item: AnyInts, annotator: AnyInts, label: AnyInts, k: int) -> ClosedItems:
    """The items with k annotations or more, by their first k; annotations are given in order of arrival."""
    order = np.argsort(item, kind="stable")
    first = run_starts(item[order])
    starts = first[np.diff(first, append=len(item)) >= k]
    places = order[starts[:, None] + np.arange(k)]
    places = places[np.argsort(places[:, -1], kind="stable")]
    return ClosedItems(item[places[:, 0]], annotator[places], label[places], places[:, -1])


# Bounds ---------------------------------------------------------------------------------------

BETS = np.geomspace(0.005, 2.0, 16)  # λ: the best ones for fifty items to a million
STAKES = 0.03 + np.exp(-(np.log(BETS / 0.25) ** 2) / 2.9)  # most on those for hundreds and thousands of items
HALVINGS = 26


@dataclass(frozen=True, slots=True)
class SafeSequence:
    """After each number of items: the mean of their values, and bounds for its expectation."""

    items: NDArray[np.int64]
    mean: Floats
    low: Floats
    high: Floats
    level: float


def safe_sequence(values: Floats, level: float = 0.95, at: Sequence[int] | None = None) -> SafeSequence:
    """Bounds for the mean of the values so far that hold after every value simultaneously, for values in [0, 1].

    For any bet λ the product of exp(λx)/(1 + p(exp(λ) − 1)) shrinks in expectation if p is the expectation of x; the
    average over several bets ever reaches 2/α with probability at most α/2, which bounds p from below, and with 1 − x
    in place of x from above. ``at`` says after how many values to compute them; by default after each.

    >>> limits = safe_sequence(np.array([1.0, 1.0, 0.0, 1.0] * 100), at=[400])
    >>> round(float(limits.low[0]), 2), round(float(limits.high[0]), 2)
    (0.68, 0.81)
    """
    items = np.arange(1, len(values) + 1) if at is None else np.asarray(at, dtype=np.int64)
    total: Floats = values.cumsum()[items - 1] if len(items) else np.zeros(0)
    high = 1 - _lower(items - total, items, level)
    return SafeSequence(items, total / items, _lower(total, items, level), high, level)


def _lower(total: Floats, items: NDArray[np.int64], level: float) -> Floats:
    """The largest mean, to 26 bits, at which the average over the bets reaches 2/α, or 0."""
    rewards = BETS * total[:, None] + np.log(STAKES / STAKES.sum()) - log(2 / (1 - level))
    low, high = np.zeros(len(items)), total / items
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        gains = rewards - items[:, None] * np.log1p(middle[:, None] * np.expm1(BETS))
        is_reached = np.exp(np.minimum(gains, 1.0)).sum(axis=1) >= 1  # one gain above 0 is enough: no overflow
        low, high = np.where(is_reached, middle, low), np.where(is_reached, high, middle)
    return low


# A fall -----------------------------------------------------------------------------------------

BLOCK = 10  # items
FALLS = (0.27, 0.63)  # falls that are bet on, in standard deviations of a block
HORIZON = 100.0  # a new bet starts at every block, with stakes spread over about this many blocks
STAYS = 25  # blocks for which evidence of a fall counts, so that it does not flicker
TIES = 0x7135  # seed of a separate stream for breaking ties, which no simulated data shares


@dataclass(frozen=True, slots=True)
class Fall:
    """Evidence that people agree less on the latest items, as the log of an e-value, and the means before and after."""

    evidence: float
    before: float
    after: float
    items: int
    """How many items came after the fall, which is placed where the mean falls most."""

    @property
    def is_clear(self) -> bool:
        """Whether random order hardly explains it: at some time true in at most 5% of projects in such order."""
        return self.evidence >= log(1 / ALPHA)


def fall_of(values: Floats) -> Fall | None:
    """How the latest items compare with earlier ones; the evidence is the highest of the latest 250 items."""
    if not len(values):
        return None
    turn = steepest_fall(values)
    before, after = values[:turn], values[turn:]
    evidence = float(fall_evidence(values)[-STAYS - 1 :].max())
    return Fall(evidence, float(before.mean() if turn else after.mean()), float(after.mean()), len(after))


def fall_evidence(values: Floats, seed: int = 0) -> Floats:
    """How clearly the latest blocks lie below earlier ones, before the first block and after each: log e-values.

    While blocks come in random order, the normal score z of each one's rank is standard normal and Π exp(λz − λ²/2) has
    expectation 1. A new bet starts at every block, and all are averaged.
    """
    blocks = len(values) // BLOCK
    means: Floats = values[: blocks * BLOCK].reshape(blocks, BLOCK).mean(axis=1)
    return _evidence_of_a_fall(_scores(means, np.random.default_rng([seed, TIES]).random(blocks)))


def steepest_fall(values: Floats) -> int:
    """The position of the largest fall between the means before and after it, in standard errors (CUSUM)."""
    n = len(values)
    if n <= 1:
        return 0
    before = np.arange(1, n)
    fallen = values.cumsum()[:-1] - before * values.mean()
    return int(np.argmax(fallen / np.sqrt(before * (n - before)))) + 1


def _scores(means: Floats, drawn: Floats) -> Floats:
    """The normal score of each mean among those so far, high for low means; ties are broken by random draws."""
    from scipy.special import ndtri

    levels, code = np.unique(means.round(9), return_inverse=True)
    seen: NDArray[np.int32] = np.cumsum(code[:, None] == np.arange(len(levels)), axis=0, dtype=np.int32)
    t = np.arange(len(means))
    equal = seen[t, code]
    below = np.cumsum(seen, axis=1, dtype=np.int32)[t, code] - equal
    scores: Floats = -ndtri((below + np.maximum(drawn, 1e-9) * equal) / (t + 1))
    return scores


def _evidence_of_a_fall(scores: Floats) -> Floats:
    """The log of the average over all bets, before the first block and after each."""
    t = np.arange(len(scores))
    start = np.log(HORIZON / ((HORIZON + t) * (HORIZON + t + 1)))  # telescoping: the weights sum to 1
    running: Floats = np.log(HORIZON / (HORIZON + np.arange(len(scores) + 1)))  # what has not yet been bet
    for bet in FALLS:
        won = np.cumsum(bet * scores - bet**2 / 2)
        before = np.concatenate([[0.0], won])[: len(scores)]
        bets = won + np.logaddexp.accumulate(start - before) if len(scores) else won
        running[1:] = np.logaddexp(running[1:], bets - log(len(FALLS)))
    return running


# Annotators who differ ---------------------------------------------------------------------------

LARGEST_BET = 1.5  # d never exceeds 1/2, so at most three quarters of the capital are lost at once
FIRST_BET, WEIGHT = 1.0, 8.0  # the prior bet, and how many items it counts for


@dataclass(frozen=True, slots=True)
class WatchedAnnotators:
    """For each annotator: log e-value, closed items, mean difference from the others; and who is named."""

    evidence: Floats
    items: NDArray[np.int64]
    difference: Floats
    named: NDArray[np.bool_]


def watch_annotators(closed: ClosedItems, annotators: int) -> WatchedAnnotators:
    """The evidence about each annotator after all closed items, in closing order.

    For each annotator Π(1 − λd), with d of :meth:`ClosedItems.apart` and the bet λ from earlier items alone, is an
    e-process. People join while a project runs, so the j-th to arrive is named at j(j + 1)/α: anyone at all is named in
    at most 5% of the projects where all are alike. Being different is not being wrong: it says whose items to look at.
    """
    who, difference = closed.annotator.ravel(), closed.apart().ravel()
    arrival = np.zeros(annotators)  # 0 without a closed item
    present, first = np.unique(who, return_index=True)
    arrival[present[np.argsort(first)]] = np.arange(1, len(present) + 1)
    order = np.argsort(who, kind="stable")
    who, difference = who[order], difference[order]
    items = np.bincount(who, minlength=annotators)
    # λ = −Σd/Σd² of an annotator's earlier differences, clipped to [0, 1.5]
    start, here = np.repeat(np.cumsum(items) - items, items), np.arange(len(difference))
    so_far, squares = (np.concatenate([[0.0], each.cumsum()]) for each in (difference, difference**2))
    summed, squared = so_far[here] - so_far[start], squares[here] - squares[start]
    bets: Floats = np.clip((FIRST_BET * WEIGHT - summed) / (WEIGHT + squared), 0, LARGEST_BET)
    evidence = np.bincount(who, np.log1p(-bets * difference), annotators).astype(np.float64)
    total = np.bincount(who, difference, annotators).astype(np.float64)
    named = (arrival > 0) & (evidence >= np.log(np.maximum(arrival * (arrival + 1), 1) / ALPHA))
    return WatchedAnnotators(evidence, items, ratio(total, items, 0.0), named)


@dataclass(frozen=True, slots=True)
class Change:
    """The difference of two figures, later minus earlier, with its interval.

    The two are treated as independent. If the later data include the earlier ones, the difference varies less, so the
    interval is too wide rather than too narrow.
    """

    before: float
    after: float
    low: float
    high: float

    @property
    def value(self) -> float:
        """How much it rose."""
        return self.after - self.before

    @property
    def is_clear(self) -> bool:
        """Whether it is more than chance would explain."""
        return self.low > 0 or self.high < 0


def change_of(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> Change | None:
    """The change between two estimates in their JSON form; None if either has no standard error."""
    before, error, after, other = (figures.get(name) for figures in (earlier, later) for name in ("value", "stderr"))
    if before is None or error is None or after is None or other is None:
        return None
    half = NormalDist().inv_cdf(0.5 + float(later.get("level", 0.95)) / 2) * sqrt(error**2 + other**2)
    return Change(before, after, after - before - half, after - before + half)


def check_target(target: float | None) -> float | None:
    """The target agreement; refused if it is not a possible agreement.

    >>> check_target(0.7), check_target(None)
    (0.7, None)
    """
    if target is not None and not (isinstance(target, int | float) and isfinite(target) and 0 <= target <= 1):
        raise UsageError(f"target {target!r}: agreement lies between 0 and 1; for example 0.7 for 70%")
    return target
