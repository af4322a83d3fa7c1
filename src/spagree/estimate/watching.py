"""What may be looked at after every annotation: an interval and alarms that hold at all times, not at one.

An ordinary 95% interval is right in 95 of 100 projects for somebody who looks once. Who watches it for 1,000 items
sees it exclude the truth at some moment in 40–50% of projects (docs/studies/watching.md). What stands here holds its
error rate over the whole life of a project, however often people look and whenever they stop.

Values enter once and in a fixed order: the agreement of each item when its first k annotations are there
(see :mod:`spagree.estimate.closed_items`). WSR is Waudby-Smith and Ramdas, Estimating means of bounded random variables
by betting, JRSS B 86 (2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log1p

import numpy as np
from numpy.typing import NDArray

from spagree.estimate.item_groups import Floats

GRID = 1001  # candidate values of the mean; bounds are the neighbours outside, so the grid never narrows them
ROWS = 128  # items at a time
TRUNCATED = 0.5  # c of WSR (26): no bet risks more than half of the capital
LOWEST = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5)  # a bet that the next item is among so large a share of the lowest
DROPS = (0.05, 0.1, 0.25)  # … as if this share of the others had joined them
TIES = 0x7135  # ties are broken by a stream of its own, which no simulated data shares
HORIZON = 1000.0  # restarts are spread over about as many items


@dataclass(frozen=True, slots=True)
class SafeSequence:
    """Bounds after each item; ``mean`` is that of all values so far.

    ``low`` and ``high`` never widen. Where one mean cannot explain the values (agreement changed on the way) they
    cross, and ``broken`` says since which item, counted from 1.
    """

    mean: Floats
    low: Floats
    high: Floats
    level: float

    @property
    def broken(self) -> int | None:
        """The first item after which no single mean is left."""
        crossed = np.flatnonzero(self.low > self.high)
        return int(crossed[0]) + 1 if len(crossed) else None


def safe_sequence(values: Floats, level: float = 0.95) -> SafeSequence:
    """Bounds for the mean of values in [0, 1] that hold after every one of them, by hedged betting (WSR, Theorem 3).

    For each candidate mean m two gamblers bet that the next value is above or below m; while m is the true mean neither
    can expect to win, so an m at which either multiplied the stake by 2/α is given up for good (Ville's inequality).

    >>> found = safe_sequence(np.array([1.0, 1.0, 0.0, 1.0] * 100))
    >>> round(float(found.low[-1]), 2), round(float(found.high[-1]), 2)
    (0.67, 0.83)
    """
    limit = np.log(2 / (1 - level))  # the capital is split in halves, and K ≥ 1/α excludes
    bets = _bets(values, level)
    alive = np.linspace(0, 1, GRID)
    up, down = np.zeros(GRID), np.zeros(GRID)
    low, high = np.zeros(len(values)), np.ones(len(values))
    for start in range(0, len(values), ROWS):
        rows = slice(start, start + ROWS)
        gains = values[rows, None] - alive
        up_to = np.vstack([up, np.log1p(_capped(bets[rows], alive) * gains)]).cumsum(0)[1:]
        down_to = np.vstack([down, np.log1p(-_capped(bets[rows], 1 - alive) * gains)]).cumsum(0)[1:]
        out = np.maximum.accumulate(np.maximum(up_to, down_to) >= limit, axis=0)
        low[rows], high[rows] = _hull(out, alive)
        kept = ~out[-1]
        if not kept.any():
            low[start + ROWS :], high[start + ROWS :] = low[rows][-1], high[rows][-1]
            break
        alive, up, down = alive[kept], up_to[-1][kept], down_to[-1][kept]
    mean = values.cumsum() / np.arange(1, len(values) + 1)
    return SafeSequence(mean, np.maximum.accumulate(low), np.minimum.accumulate(high), level)


def _bets(values: Floats, level: float) -> Floats:
    """How much to bet on each value, from those before it alone: WSR (24)–(26), predictable plug-in."""
    t = np.arange(1, len(values) + 1)
    mean = (0.5 + values.cumsum()) / (t + 1)
    variance = (0.25 + ((values - mean) ** 2).cumsum()) / (t + 1)
    before = np.concatenate([[0.25], variance[:-1]])[: len(values)]
    bets: Floats = np.sqrt(2 * np.log(2 / (1 - level)) / (before * t * np.log1p(t)))
    return bets


def _capped(bets: Floats, risk: Floats) -> Floats:
    """Bets that keep the capital positive whatever comes: at most c over what one unit can lose."""
    most = np.divide(TRUNCATED, risk, out=np.full_like(risk, np.inf), where=risk > 0)
    return np.minimum(bets[:, None], most)


def _hull(out: np.ndarray[tuple[int, int], np.dtype[np.bool_]], alive: Floats) -> tuple[Floats, Floats]:
    """The neighbours outside of what is left after each value; crossed where nothing is."""
    step = 1 / (GRID - 1)
    first, last = (~out).argmax(1), out.shape[1] - 1 - (~out[:, ::-1]).argmax(1)
    low = np.where(first > 0, alive[first] - step, np.where(alive[0] > 0, alive[0] - step, 0.0))
    high = np.where(last < out.shape[1] - 1, alive[last] + step, np.where(alive[-1] < 1, alive[-1] + step, 1.0))
    empty = out.all(1)
    return np.where(empty, 1.0, np.maximum(low, 0)), np.where(empty, 0.0, np.minimum(high, 1))


def drop_evidence(values: Floats, seed: int = 0) -> Floats:
    """How strongly the latest values lie below those before them, after each: log of an e-process.

    It rests on ranks alone, so nothing is assumed about the level before. While the order of the items means nothing,
    the rank of each among those so far (ties broken by a drawn number) is uniform and independent of the ranks before
    (Vovk, Gammerman and Shafer 2022, chapter 8): bets that a rank is low are fair. Bets begin anew with every item and
    are averaged, with weights that sum to 1: the evidence reaches 1/α ever with probability α at most.

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
        for drop in DROPS:
            is_low = ranks < share
            won = (is_low * log1p(drop * (1 - share) / share) + ~is_low * log1p(-drop)).cumsum()
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
