"""Has agreement dropped? Evidence that may be looked at after every item, in whatever batches items come.

The null is that nobody changed how they annotate. A batch of harder items then lowers agreement too, so the evidence is
about blocks of items and not about single ones: a block of 50 is judged against the blocks before it, and a batch of
harder items is one block, or two, among others that differ as much. Where items come in random order such long blocks
find a drop late; blocks of 10 are used as well, as soon as they are seen to vary independently of each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from spagree.estimate.item_groups import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHORT, LONG = 10, 50  # items in a block
BETS = (0.6, 1.4)  # drops that are bet on, in standard deviations of a long block
HORIZON = 1000.0  # bets begin anew with every block, spread over about as many items
LAGS = 4  # short blocks that a long one spans beside the first
MEMORY, ERRORS = 0.4, 2.0  # short blocks count if the sum of LAGS autocorrelations + 2 standard errors is no more
NORMAL = NormalDist()
TIES = 0x7135  # ties are broken by a stream of its own, which no simulated data shares


def drop_evidence(values: Floats, seed: int = 0, at: Sequence[int] | None = None) -> Floats:
    """How strongly the latest blocks lie below those before: the log of an e-value after each number of items ``at``.

    While blocks are exchangeable, the rank of each among those so far, with ties broken at random, is uniform and
    independent of the ranks before (Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2022, chapter
    8). Its normal score z is then standard normal, and Π exp(λz − λ²/2) has expectation 1. Such bets begin anew with
    every block and are averaged with weights that sum to 1; half of the stake is on each length of block. So the
    evidence ever reaches log(1/α) with probability α at most where items come in random order. In batches this holds
    for the long blocks, as far as a batch fits into one; short ones are then left out (docs/mathematics.md §18). By
    default the evidence is that after all items.

    >>> before, after = np.ones(400), np.array([1.0, 0.0] * 75)
    >>> evidence = drop_evidence(np.concatenate([before, after]), at=[400, 550])
    >>> (evidence > np.log(20)).tolist()
    [False, True]
    """
    places = [len(values)] if at is None else at
    short, means = _evidence(values, SHORT, seed), _means(values, SHORT)
    long = _evidence(values, LONG, seed)
    found = [
        np.logaddexp(short[items // SHORT] if _is_memoryless(means[: items // SHORT]) else -np.inf, long[items // LONG])
        for items in places
    ]
    return np.array(found) - log(2)


def steepest_drop(values: Floats) -> int:
    """The place of the largest fall between the means before and after it, in standard errors (CUSUM)."""
    n = len(values)
    if n <= 1:
        return 0
    before = np.arange(1, n)
    fallen = values.cumsum()[:-1] - before * values.mean()
    return int(np.argmax(fallen / np.sqrt(before * (n - before)))) + 1


def _means(values: Floats, length: int) -> Floats:
    """The mean of each whole block."""
    blocks = len(values) // length
    means: Floats = values[: blocks * length].reshape(blocks, length).mean(axis=1)
    return means


def _is_memoryless(means: Floats) -> bool:
    """Whether blocks are seen to vary independently, apart from one drop: the upper bound of their memory is low."""
    blocks = len(means)
    if blocks <= LAGS:
        return False
    drop = steepest_drop(means)
    rest = means - np.where(np.arange(blocks) < drop, means[:drop].mean(), means[drop:].mean())
    products = sum(float(rest[lag:] @ rest[:-lag]) for lag in range(1, LAGS + 1))
    squares = float(rest @ rest)
    return products + ERRORS * sqrt(LAGS / blocks) * squares <= MEMORY * squares


def _evidence(values: Floats, length: int, seed: int) -> Floats:
    """The log of the average of all bets before the first block and after each."""
    means, horizon = _means(values, length), HORIZON / length
    ranks = _ranks(means, np.random.default_rng([seed, TIES, length]).random(len(means)))
    scores = np.array([-NORMAL.inv_cdf(rank) for rank in ranks.tolist()])
    t = np.arange(len(means))
    start = np.log(horizon / ((horizon + t) * (horizon + t + 1)))  # telescoping: the weights sum to 1
    idle = np.log(horizon / (horizon + np.arange(len(means) + 1)))  # what has not yet been bet
    running = [np.full(len(means) + 1, -np.inf)]
    for drop in BETS:
        bet = drop * sqrt(length / LONG)
        won = np.cumsum(bet * scores - bet**2 / 2)
        before = np.concatenate([[0.0], won[:-1]])[: len(means)]
        running.append(np.concatenate([[-np.inf], won + np.logaddexp.accumulate(start - before)]))
    mean = np.logaddexp.reduce(running, axis=0) - log(len(BETS))
    evidence: Floats = np.logaddexp(mean, idle)
    return evidence


def _ranks(values: Floats, drawn: Floats) -> Floats:
    """The place of each value among those up to it, as a number in (0, 1); ties by a drawn number."""
    levels, code = np.unique(values.round(9), return_inverse=True)
    seen: NDArray[np.int32] = np.cumsum(code[:, None] == np.arange(len(levels)), axis=0, dtype=np.int32)
    t = np.arange(len(values))
    equal = seen[t, code]
    below = np.cumsum(seen, axis=1, dtype=np.int32)[t, code] - equal
    ranks: Floats = (below + np.maximum(drawn, 1e-9) * equal) / (t + 1)
    return ranks
