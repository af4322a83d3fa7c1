"""Sorted keys and the rows that share them: grouping without a table.

A score uses these instead of ``np.unique``, which imports numpy.ma: that takes longer than the score.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST_KEY = 2**63 - 1
MOST_CELLS = 10_000_000  # up to here a table of all keys is faster than sorting them
Codes: TypeAlias = "NDArray[np.int32]"
Ints: TypeAlias = "NDArray[np.int64]"
AnyInts: TypeAlias = "NDArray[np.integer[Any]]"
Floats: TypeAlias = "NDArray[np.float64]"


def run_starts(keys: AnyInts, *further: AnyInts) -> Ints:
    """Where runs of equal values begin, in one column or in several.

    >>> run_starts(np.array([3, 3, 5, 9, 9])).tolist()
    [0, 2, 3]
    >>> run_starts(np.array([3, 3, 5, 9, 9]), np.array([1, 2, 2, 2, 2])).tolist()
    [0, 1, 2, 3]
    """
    new = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    for column in further:
        new[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(new)


def run_of_each(keys: AnyInts) -> Ints:
    """The run number of each row; equal keys are adjacent.

    >>> run_of_each(np.array([3, 3, 5, 9, 9])).tolist()
    [0, 0, 1, 2, 2]
    """
    new = np.zeros(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    return np.cumsum(new, dtype=np.int64)


def counted(keys: AnyInts) -> tuple[Ints, Ints]:
    """Distinct keys in order, and how often each occurs.

    >>> [each.tolist() for each in counted(np.array([5, 3, 5]))]
    [[3, 5], [1, 2]]
    """
    if len(keys) and keys.min() >= 0 and keys.max() < len(keys):
        times = np.bincount(keys)  # several times as fast as sorting
        distinct = np.flatnonzero(times)
        return distinct, times[distinct]
    ordered = np.sort(keys)
    starts = run_starts(ordered)
    return ordered[starts].astype(np.int64), np.diff(starts, append=len(ordered)).astype(np.int64)


def numbered(*columns: Ints) -> tuple[Ints, Ints]:
    """Rows equal in all columns share a number: returns one row for each number, and the number of each row.

    >>> [each.tolist() for each in numbered(np.array([5, 3, 5]), np.array([1, 1, 1]))]
    [[1, 2], [1, 0, 1]]
    """
    keys, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        width = int(column.max(initial=0)) + 1
        if size * width > LARGEST_KEY:
            first, keys = numbered(keys)
            size = len(first)
        keys, size = keys * width + column, size * width
    if size > MOST_CELLS:
        _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        return first, number
    first = np.full(size, -1)
    first[keys] = np.arange(len(keys))
    number = np.cumsum(first >= 0) - 1
    return first[first >= 0], number[keys]


def sums(groups: AnyInts, values: Floats, size: int) -> Floats:
    """Σ of values per group."""
    return np.asarray(np.bincount(groups, values, size), dtype=np.float64)


def ratio(above: Floats, below: Floats | AnyInts, otherwise: float = np.nan) -> Floats:
    """above/below, or ``otherwise`` where below is 0.

    >>> ratio(np.array([1.0, 2.0]), np.array([4, 0])).tolist()
    [0.25, nan]
    """
    return np.asarray(np.divide(above, below, out=np.full(below.shape, otherwise), where=below > 0))


def by_hash(hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows sorted by their hashes, and where each new hash begins.

    >>> [each.tolist() for each in by_hash(np.array([9 << 40, 5, 9 << 40, 4], dtype=np.uint64))]
    [[3, 1, 0, 2], [0, 1, 2]]
    """
    low = np.uint64((1 << len(hashes).bit_length()) - 1)
    key = hashes & ~low
    key |= np.arange(len(hashes), dtype=np.uint64)  # the row, in place of the lowest bits
    key.sort()
    order = (key & low).view(np.int64)
    ordered = hashes[order]
    mixed = np.flatnonzero((ordered[1:] != ordered[:-1]) & ((key[1:] ^ key[:-1]) <= low))
    if len(mixed):  # different hashes with the same upper bits
        upper = key & ~low
        rows = np.flatnonzero(np.isin(upper, upper[mixed]))
        order[rows] = order[rows][np.lexsort((ordered[rows], upper[rows]))]
        ordered = hashes[order]
    return order, run_starts(ordered)


def pairs_within(sizes: AnyInts) -> tuple[Ints, Ints]:
    """All pairs of rows within runs of these sizes: the indices of the first and second rows.

    >>> [each.tolist() for each in pairs_within(np.array([3, 1, 2]))]
    [[0, 0, 1, 4], [1, 2, 2, 5]]
    """
    ends = np.repeat(np.cumsum(sizes), sizes)
    partners = ends - np.arange(len(ends)) - 1
    first = np.repeat(np.arange(len(ends)), partners)
    started = np.cumsum(partners) - partners
    second = first + 1 + np.arange(len(first)) - started[first]
    return first, second
