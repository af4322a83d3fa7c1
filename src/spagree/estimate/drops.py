"""Has agreement dropped? Evidence that may be looked at after every item, in whatever batches items come.

There are two questions. Do the latest items agree less than those before? If items come in random order, then people
changed; in batches of unequal difficulty it may be a harder batch. So the second question is whether the latest items
agree less by more than stretches of the project differ anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from spagree.estimate.item_groups import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 10  # items
BETS = (0.27, 0.63)  # drops that are bet on, in standard deviations of a block
HORIZON = 100.0  # bets begin anew with every block, spread over about as many blocks
STRETCHES = (10, 20)  # blocks: 100 and 200 items
CAUTION = -0.6745  # the standard normal's lower quartile: how low an estimated variance may have come out by chance
TIES = 0x7135  # ties are broken by a stream of its own, which no simulated data shares


@dataclass(frozen=True, slots=True)
class DropEvidence:
    """Logs of e-values that later items agree less: than chance allows in random order, and than stretches differ."""

    random_order: Floats
    batches: Floats


def drop_evidence(values: Floats, seed: int = 0, at: Sequence[int] | None = None) -> DropEvidence:
    """How strongly the latest blocks lie below those before, after each number of items ``at``, by default after all.

    While blocks are exchangeable, the rank of each among those so far, with ties broken at random, is uniform and
    independent of the ranks before (Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2022, chapter
    8). Its normal score z is then standard normal, and Π exp(λz − λ²/2) has expectation 1. Such bets begin anew with
    every block and are averaged with weights that sum to 1: where items come in random order, the evidence ever
    reaches log(1/α) with probability α at most.

    In batches the scores have memory, and their sums vary more, by a factor V that is estimated from how much
    stretches of 100 and 200 items differ (docs/mathematics.md §18). With z/√V in place of z the same holds
    approximately. Evidence counts for batches only as far as it does for random order, so that it is exact there too.

    >>> before, after = np.array([1.0, 1.0, 1.0, 0.0] * 100), np.array([1.0, 0.0] * 200)
    >>> found = drop_evidence(np.concatenate([before, after]), at=[400, 550, 800])
    >>> (found.random_order > np.log(20)).tolist(), (found.batches > np.log(20)).tolist()
    ([False, True, True], [False, False, True])
    """
    places = [len(values)] if at is None else at
    means = _means(values)
    scores = _scores(means, np.random.default_rng([seed, TIES]).random(len(means)))
    running = _evidence(scores)
    ends = [items // BLOCK for items in places]
    in_order = running[ends]
    shrunk = np.array([_evidence(scores[:end] / sqrt(_inflation(means[:end])))[-1] for end in ends])
    return DropEvidence(in_order, np.minimum(in_order, shrunk))


def steepest_drop(values: Floats) -> int:
    """The place of the largest fall between the means before and after it, in standard errors (CUSUM)."""
    n = len(values)
    if n <= 1:
        return 0
    before = np.arange(1, n)
    fallen = values.cumsum()[:-1] - before * values.mean()
    return int(np.argmax(fallen / np.sqrt(before * (n - before)))) + 1


def _means(values: Floats) -> Floats:
    """The mean of each whole block."""
    blocks = len(values) // BLOCK
    means: Floats = values[: blocks * BLOCK].reshape(blocks, BLOCK).mean(axis=1)
    return means


def _scores(means: Floats, drawn: Floats) -> Floats:
    """The normal score of each mean among those up to it, large for a low one; ties by a drawn number."""
    from scipy.special import ndtri

    levels, code = np.unique(means.round(9), return_inverse=True)
    seen: NDArray[np.int32] = np.cumsum(code[:, None] == np.arange(len(levels)), axis=0, dtype=np.int32)
    t = np.arange(len(means))
    equal = seen[t, code]
    below = np.cumsum(seen, axis=1, dtype=np.int32)[t, code] - equal
    scores: Floats = -ndtri((below + np.maximum(drawn, 1e-9) * equal) / (t + 1))
    return scores


def _evidence(scores: Floats) -> Floats:
    """The log of the average of all bets before the first block and after each."""
    t = np.arange(len(scores))
    start = np.log(HORIZON / ((HORIZON + t) * (HORIZON + t + 1)))  # telescoping: the weights sum to 1
    running: Floats = np.log(HORIZON / (HORIZON + np.arange(len(scores) + 1)))  # what has not yet been bet
    for bet in BETS:
        won = np.cumsum(bet * scores - bet**2 / 2)
        before = np.concatenate([[0.0], won])[: len(scores)]
        bets = won + np.logaddexp.accumulate(start - before) if len(scores) else won
        running[1:] = np.logaddexp(running[1:], bets - log(len(BETS)))
    return running


def _inflation(means: Floats) -> float:
    """V: how much more sums over a stretch vary than independent blocks would, cautiously estimated; 1 at least.

    A drop is no variation between stretches, so deviations are taken around the steepest one. In batches as long as
    a stretch of m blocks the autocovariances fall linearly to 0 at lag m; least squares fits such a line to them. The
    estimate rests on about as many values as there are stretches, and is divided by a low quantile of its own
    distribution (chi-squared; Wilson and Hilferty, PNAS 17 (1931)).
    """
    if len(means) < 2 * max(STRETCHES):  # nothing is known about stretches before there are two
        return inf
    drop = steepest_drop(means)
    rest = means - np.where(np.arange(len(means)) < drop, means[:drop].mean(), means[drop:].mean())
    return max(_of_stretches(rest, length) for length in STRETCHES)


def _of_stretches(rest: Floats, length: int) -> float:
    """The cautious V of one length, from the deviations of blocks."""
    freedom = len(rest) / length - 1
    low = (1 - 2 / (9 * freedom) + CAUTION * sqrt(2 / (9 * freedom))) ** 3
    padded = np.concatenate([[0.0], rest, np.zeros(length)]).cumsum()
    sums = padded - np.concatenate([np.zeros(length), padded[:-length]])
    squares = float((rest**2).sum()) * length
    excess = float((sums**2).sum()) / squares - 1 if squares else 0.0
    return max(1.0, 1 + 3 * length / (2 * length - 1) * excess) / low
