"""Compiled loops: annotations arrive one at a time, in random order, and all schemes are recorded along the way.

An annotation costs O(1): the item moves from bin n to bin n + 1 of a few integer sums (docs/mathematics.md
§3). An estimate costs O(largest n + classes), at about a hundred checkpoints. Every round has its own seed
and output row, and nothing is summed across rounds, so the values do not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

# Rows of `bins`, one column per n: items, and the sum over them of A (docs/mathematics.md §1), all integers.
ITEMS, PAIRS = range(2)
# Columns of `state`, one row per item.
N, A, FIRST = range(3)

STEP = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S11, S27, S30, S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
UNIT = 2.0**-53


@njit(cache=True)
def _mixed(state: Any) -> Any:
    """The output function of splitmix64."""
    z = (state ^ (state >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@njit(cache=True)
def _below(state: Any, bound: int) -> int:
    """A whole number from 0 to bound − 1."""
    return int(np.float64(_mixed(state) >> S11) * UNIT * bound)


@njit(cache=True)
def _shuffle(order: Any, seed: Any) -> None:
    state = seed
    for last in range(order.size - 1, 0, -1):
        state = state + STEP
        chosen = _below(state, last + 1)
        order[last], order[chosen] = order[chosen], order[last]


@njit(cache=True)
def _family(size: int, a: float) -> Any:
    """The weights k(n; a, 0) of docs/mathematics.md §4 for n below ``size``."""
    weights = np.zeros(size)
    for n in range(2, size):
        weights[n] = 0.5 * n * (n - 1) / (1.0 + 2.0 * (n - 2) * a)
    return weights


@njit(cache=True)
def _mean(bins: Any, weights: Any) -> float:
    """SPA with these weights by n."""
    above = below = 0.0
    for n in range(2, bins.shape[1]):
        if bins[ITEMS, n] > 0:
            above += weights[n] * bins[PAIRS, n] / (1.0 * n * (n - 1))
            below += weights[n] * bins[ITEMS, n]
    return above / below if below > 0 else np.nan


@njit(cache=True)
def _class_shape(labels: Any) -> float:
    """ζ1/ζ2 of the class distribution of the pairable annotations; 0 (``edge``) if there is only one class."""
    total = 0.0
    for count in labels:
        total += count
    squares = 0.0
    for count in labels:
        squares += (count / total) ** 2
    zeta1 = 0.0
    for count in labels:
        zeta1 += count / total * (count / total - squares) ** 2
    zeta2 = squares * (1.0 - squares)
    return zeta1 / zeta2 if zeta2 > 0 else 0.0


@njit(cache=True)
def annotate(order: Any, data: Any, shape: Any, checkpoints: Any, schemes: Any, out: Any, paired: Any) -> None:
    """Annotations in the given order; a row of ``data`` is item, (item, label) pair and label.

    One more annotation of an item: A += 2 n_ic, and the item changes its bin. Recorded is SPA by scheme, by
    its row of weights or by the shape of the classes; NaN before the first pair.
    """
    items, pairs, classes, most = shape
    by_classes, weights = schemes
    state = np.zeros((items, 3), np.int64)
    times = np.zeros(pairs, np.int32)
    bins = np.zeros((2, most + 1), np.int64)
    labels = np.zeros(classes, np.int64)
    start = 0
    for step in range(checkpoints.size):
        for place in range(start, checkpoints[step]):
            item, pair, label = data[order[place]]
            n = state[item, N]
            if n == 0:
                state[item, FIRST] = label
            else:
                if n == 1:
                    labels[state[item, FIRST]] += 1
                labels[label] += 1
                bins[ITEMS, n] -= 1
                bins[PAIRS, n] -= state[item, A]
                state[item, A] += 2 * times[pair]
                bins[ITEMS, n + 1] += 1
                bins[PAIRS, n + 1] += state[item, A]
            state[item, N] = n + 1
            times[pair] += 1
        start = checkpoints[step]
        paired[step] = labels.sum()
        if paired[step] > 0:
            for place in range(by_classes.size):
                own = _family(most + 1, _class_shape(labels)) if by_classes[place] else weights[place]
                out[step, place] = _mean(bins, own)


@njit(cache=True, parallel=True, nogil=True)
def add_annotations(data: Any, shape: Any, checkpoints: Any, schemes: Any, seeds: Any, out: Any, paired: Any) -> None:
    """Fill out[round, checkpoint, scheme] and paired[round, checkpoint], the annotations of pairable items."""
    for turn in prange(seeds.size):
        order = np.arange(data.shape[0]).astype(np.int32)
        _shuffle(order, seeds[turn])
        annotate(order, data, shape, checkpoints, schemes, out[turn], paired[turn])


@njit(cache=True)
def _agreeing(labels: Any, n: int, times: Any, seed: Any) -> int:
    """Agreeing ordered pairs among n of an item's labels, drawn without replacement to the front of the array."""
    agreeing = 0
    state = seed
    for place in range(n):
        state = state + STEP
        chosen = place + _below(state, labels.size - place)
        labels[place], labels[chosen] = labels[chosen], labels[place]
        agreeing += 2 * times[labels[place]]
        times[labels[place]] += 1
    for place in range(n):
        times[labels[place]] = 0
    return agreeing


@njit(cache=True)
def _sample(label: Any, starts: Any, chosen: Any, n: int, classes: int, checkpoints: Any, seed: Any, out: Any) -> None:
    order = chosen.copy()
    _shuffle(order, seed)
    pool = label.copy()
    times = np.zeros(classes, np.int64)
    agreeing = start = 0
    for step in range(checkpoints.size):
        for place in range(start, checkpoints[step]):
            item = order[place]
            own = _mixed(seed ^ (np.uint64(item + 1) * MIX_1))
            agreeing += _agreeing(pool[starts[item] : starts[item + 1]], n, times, own)
        start = checkpoints[step]
        out[step] = agreeing / (n * (n - 1.0) * start)


@njit(cache=True, parallel=True, nogil=True)
def add_samples(
    label: Any, starts: Any, chosen: Any, n: int, classes: int, checkpoints: Any, seeds: Any, out: Any
) -> None:
    """Fill out[round, checkpoint]: mean agreement of the first items in random order, n annotations of each.

    ``label`` is sorted by item; item i occupies starts[i] to starts[i + 1]; only ``chosen`` items take part.
    """
    for turn in prange(seeds.size):
        _sample(label, starts, chosen, n, classes, checkpoints, seeds[turn], out[turn])
