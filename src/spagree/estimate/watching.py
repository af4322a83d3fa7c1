"""Bounds that can be checked after every annotation: they hold at all times simultaneously.

An ordinary 95% interval is right in 95 of 100 projects for someone who looks once. Someone who keeps watching sees it
exclude the truth at some point in a large share of projects (docs/studies/watching.md). The bounds here keep their
error rate over the whole life of a project, however often people look and whenever they stop.

Values enter once and in a fixed order: the agreement of each item once it has its first k annotations
(see :mod:`spagree.estimate.closed_items`). HRMS is Howard, Ramdas, McAuliffe and Sekhon, Time-uniform Chernoff bounds
via nonnegative supermartingales, Probability Surveys 17 (2020); WSR is Waudby-Smith and Ramdas, Estimating means of
bounded random variables by betting, JRSS B 86 (2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import numpy as np

from spagree.grouping import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    """Bounds that hold after every value simultaneously, for values in [0, 1] in any order (HRMS, sub-Bernoulli
    processes).

    Let p_i be the expectation of value i given everything before it: for an item, its own probability of agreement,
    however hard it is and whatever came before. For any λ the product of exp(λx_i)/(1 + p_i(exp(λ) − 1)) shrinks in
    expectation, because exp(λx) lies below its chord; for values of 0 or 1 it is the capital of a fair bet (WSR,
    section 4). By Jensen it is at least exp(λΣx_i)/(1 + p(exp(λ) − 1))ⁿ, where p is the mean of the p_i. The average
    of this over several λ > 0 ever reaches 2/α with probability at most α/2 (Ville), which bounds p from below; with 1
    − x in place of x, from above. The p_i need not be equal: harder batches and drifts are covered, and the bounds are
    for the mean of the items so far. ``at`` says after how many values to compute them; by default after each.

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
