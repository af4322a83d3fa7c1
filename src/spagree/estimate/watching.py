"""What may be looked at after every annotation: bounds and evidence that hold at all times at once.

An ordinary 95% interval is right in 95 of 100 projects for somebody who looks once. Somebody who watches it sees it
exclude the truth at some moment in a large share of projects (docs/studies/watching.md). The bounds and the evidence
here keep their error rate over the whole life of a project, however often people look and whenever they stop.

Values enter once and in a fixed order: the agreement of each item when its first k annotations are there
(see :mod:`spagree.estimate.closed_items`). WSR is Waudby-Smith and Ramdas, Estimating means of bounded random variables
by betting, JRSS B 86 (2024); HRMS is Howard, Ramdas, McAuliffe and Sekhon, Time-uniform, nonparametric, nonasymptotic
confidence sequences, Annals of Statistics 49 (2021).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import log, log1p

import numpy as np
from numpy.typing import NDArray

from spagree.estimate.item_groups import Floats

BETS = np.geomspace(0.004, 0.6, 18)  # λ, each with the same share of the stake: from 50 items to millions
SPREADS = np.geomspace(0.25, 1e9, 6000)  # where the boundary is tabulated; bounds use the next larger one
HALVINGS = 60
LOWEST = (0.05, 0.1, 0.2, 0.3, 0.45)  # a bet that the next item is among so large a share of the lowest
DROP = 0.1  # … as if this share of the others had joined them
TIES = 0x7135  # ties are broken by a stream of its own, which no simulated data shares
HORIZON = 1000.0  # restarts are spread over about as many items


@dataclass(frozen=True, slots=True)
class SafeSequence:
    """After each item the mean of all values so far, and bounds for the mean that could be expected of these items."""

    mean: Floats
    low: Floats
    high: Floats
    level: float


def safe_sequence(values: Floats, level: float = 0.95) -> SafeSequence:
    """Bounds that hold after every value at once, for values in [0, 1] in any order (HRMS, Theorem 4; WSR, Theorem 2).

    Let p_i be the expectation of value i given everything before it: for an item its own probability of agreement,
    however hard it is and whatever came before. For any bet λ in (0, 1) and any guess g_i made before value i, the
    product of exp(λ(x_i − p_i) − ψ(λ)(x_i − g_i)²), where ψ(λ) = −log(1 − λ) − λ, shrinks in expectation, so that it
    ever reaches 2/α with probability α/2 at most (Ville). The same holds for the average over several λ, which bounds
    Σ(x_i − p_i) from above, and with the signs turned from below. The p_i need not be equal: harder batches and drifts
    are covered, and the bounds are about the mean of the p_i so far.

    >>> found = safe_sequence(np.array([1.0, 1.0, 0.0, 1.0] * 100))
    >>> round(float(found.low[-1]), 2), round(float(found.high[-1]), 2)
    (0.67, 0.83)
    """
    t = np.arange(1, len(values) + 1)
    total = values.cumsum()
    guess = (0.5 + total - values) / t
    spread = ((values - guess) ** 2).cumsum()
    half = _boundary(level)[np.searchsorted(SPREADS, spread)] / t
    mean = total / t
    return SafeSequence(mean, np.maximum(mean - half, 0.0), np.minimum(mean + half, 1.0), level)


@cache
def _boundary(level: float) -> Floats:
    """How far Σ(x_i − p_i) may be from 0 for each of SPREADS: where the average over the bets reaches 2/α."""
    losses = (-np.log1p(-BETS) - BETS) * SPREADS[:, None]
    limit = log(2 / (1 - level) * len(BETS))
    low: Floats = np.zeros(len(SPREADS))
    high: Floats = (losses[:, 0] + limit) / BETS[0]  # there the smallest bet alone reaches it
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        reached = np.logaddexp.reduce(BETS * middle[:, None] - losses, axis=1) >= limit
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return high


def drop_evidence(values: Floats, seed: int = 0) -> Floats:
    """How strongly the latest values lie below those before them, after each: log of an e-process.

    It uses ranks alone, so nothing is assumed about the level before. While items come in random order, the rank of
    each among those so far (ties broken by a drawn number) is uniform and independent of the ranks before (Vovk,
    Gammerman and Shafer, Algorithmic Learning in a Random World, 2022, chapter 8): bets that a rank is low are fair.
    Bets begin anew with every item and are averaged, with weights that sum to 1: the evidence ever reaches 1/α with
    probability α at most.

    >>> before, after = np.ones(300), np.array([1.0, 0.0] * 30)
    >>> evidence = drop_evidence(np.concatenate([before, after]))
    >>> bool(evidence[:300].max() < np.log(20)), bool(evidence[-1] > np.log(20))
    (True, True)
    """
    if not len(values):
        return np.zeros(0)
    ranks = _ranks(values, np.random.default_rng([seed, TIES]).random(len(values)))
    t = np.arange(len(values))
    start = np.log(HORIZON / ((HORIZON + t) * (HORIZON + t + 1)))  # telescoping: the weights sum to 1
    idle = np.log(HORIZON / (HORIZON + t + 1))  # what has not yet been bet
    running = []
    for share in LOWEST:
        won = np.where(ranks < share, log1p(DROP * (1 - share) / share), log1p(-DROP)).cumsum()
        before = np.concatenate([[0.0], won[:-1]])
        running.append(won + np.logaddexp.accumulate(start - before))
    mean = np.logaddexp.reduce(running, axis=0) - np.log(len(running))
    evidence: Floats = np.logaddexp(mean, idle)
    return evidence


def _ranks(values: Floats, drawn: Floats) -> Floats:
    """The place of each value among those up to it, as a number in [0, 1]; ties by a drawn number."""
    levels = np.unique(values)
    code = np.searchsorted(levels, values)
    seen: NDArray[np.int64] = (code[:, None] == np.arange(len(levels))[None, :]).astype(np.int64)
    seen = np.cumsum(seen, axis=0)
    t = np.arange(len(values))
    below, equal = np.cumsum(seen, axis=1)[t, code] - seen[t, code], seen[t, code]
    ranks: Floats = (below + drawn * equal) / (t + 1)
    return ranks
