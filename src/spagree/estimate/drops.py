"""Has agreement dropped? Evidence that is valid after every item, however items are batched.

There are two questions. Do people agree less on the latest items than on earlier ones? If items come in random order,
people changed; if batches differ in difficulty, it may just be a harder batch. So the second question is whether the
drop exceeds the usual differences between stretches of the project, and outlasts a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from spagree.grouping import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 10  # items
BETS = (0.27, 0.63)  # drops that are bet on, in standard deviations of a block
HORIZON = 100.0  # a new bet starts at every block, with stakes spread over about this many blocks
STRETCHES = (10, 20)  # blocks: 100 and 200 items
LASTS = (0, 10, 20)  # blocks ago: evidence must outlast a batch of 200 items
CAUTION = -1.2816  # the standard normal's lowest tenth: how low the variance estimate may be by chance
TIES = 0x7135  # seed of a separate stream for breaking ties, which no simulated data shares


@dataclass(frozen=True, slots=True)
class DropEvidence:
    """Log e-values of a drop: given random order, and given the usual differences between stretches of items.

    The first is an e-value if items close in random order and are not changed afterwards; the second only
    approximately, for batches of up to 200 items (docs/studies/watching.md has measured rates).
    """

    random_order: Floats
    batches: Floats


def drop_evidence(values: Floats, seed: int = 0, at: Sequence[int] | None = None) -> DropEvidence:
    """How clearly the latest blocks lie below earlier ones, after each number of items in ``at`` (default: all).

    While blocks are exchangeable, the rank of each among those so far, with ties broken at random, is uniform and
    independent of the earlier ranks (Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2022, chapter
    8). Its normal score z is then standard normal, and Π exp(λz − λ²/2) has expectation 1. A new bet starts at every
    block, and all are averaged with weights that sum to 1: in random order, the evidence ever reaches log(1/α) with
    probability at most α.

    In batches the scores are autocorrelated, and their sums vary more, by a factor V estimated from how much stretches
    of 100 and 200 items differ (docs/mathematics.md §18). With z/√V in place of z the same holds approximately. One
    hard batch after easy ones exceeds any such estimate, so the evidence for batches is the lowest of that now and
    100 and 200 items ago. It never exceeds that for random order, and so keeps the bound there.

    >>> before, after = np.array([1.0, 1.0, 1.0, 0.0] * 200), np.array([1.0, 0.0] * 300)
    >>> evidence = drop_evidence(np.concatenate([before, after]), at=[800, 950, 1400])
    >>> (evidence.random_order > np.log(20)).tolist(), (evidence.batches > np.log(20)).tolist()
    ([False, True, True], [False, False, True])
    """
    places = [len(values)] if at is None else at
    blocks = len(values) // BLOCK
    means: Floats = values[: blocks * BLOCK].reshape(blocks, BLOCK).mean(axis=1)
    scores = _scores(means, np.random.default_rng([seed, TIES]).random(len(means)))
    running = _evidence(scores)
    ends = [items // BLOCK for items in places]
    in_order = running[ends]
    looked_at = np.maximum(np.subtract.outer(ends, LASTS), 0)
    distinct, place = np.unique(looked_at, return_inverse=True)
    shrunk = np.array([_evidence(scores[:end] / sqrt(_inflation(means[:end])))[-1] for end in distinct])
    lasting = shrunk[place.reshape(looked_at.shape)].min(axis=1)
    return DropEvidence(in_order, np.minimum(in_order, lasting))


def steepest_drop(values: Floats) -> int:
    """The position of the largest drop between the means before and after it, in standard errors (CUSUM)."""
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


def _evidence(scores: Floats) -> Floats:
    """The log of the average over all bets, before the first block and after each."""
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
    """V: how much more sums over a stretch vary than independent blocks would, estimated conservatively; at least 1.

    A drop is not variation between stretches, so deviations are taken from the means before and after the steepest
    one. If batches are as long as a stretch of m blocks, the autocovariances fall linearly to 0 at lag m; least
    squares fits that line. The estimate rests on about as many values as there are stretches, and is divided by a low
    quantile of its distribution (chi-squared; Wilson and Hilferty, PNAS 17 (1931)).
    """
    if len(means) < 2 * max(STRETCHES):  # it takes two stretches to see how they differ
        return inf
    drop = steepest_drop(means)
    rest = means - np.where(np.arange(len(means)) < drop, means[:drop].mean(), means[drop:].mean())
    return max(_of_stretches(rest, length) for length in STRETCHES)


def _of_stretches(rest: Floats, length: int) -> float:
    """The conservative V for one length, from the deviations of blocks."""
    freedom = len(rest) / length - 1
    low = (1 - 2 / (9 * freedom) + CAUTION * sqrt(2 / (9 * freedom))) ** 3
    padded = np.concatenate([[0.0], rest, np.zeros(length)]).cumsum()
    sums = padded - np.concatenate([np.zeros(length), padded[:-length]])
    squares = float((rest**2).sum()) * length
    excess = float((sums**2).sum()) / squares - 1 if squares else 0.0
    return max(1.0, 1 + 3 * length / (2 * length - 1) * excess) / low
