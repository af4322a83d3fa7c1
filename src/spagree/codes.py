"""Annotations as integers, the one form in memory that all rooms share, and grouping by integers without a table.

Three 32-bit integers per annotation, sorted by item and label: the annotations of an item are adjacent, and no items ×
annotators table is ever built. A score groups by these functions instead of ``np.unique``, which imports numpy.ma:
that takes longer than the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import polars
    from numpy.typing import NDArray

UNKNOWN = -1
LARGEST_KEY = 2**63 - 1
# Up to here a table of all keys is faster than sorting them.
MOST_CELLS, CELLS_PER_ROW = 40_000_000, 4
Int32s: TypeAlias = "NDArray[np.int32]"
Ints: TypeAlias = "NDArray[np.int64]"
AnyInts: TypeAlias = "NDArray[np.integer[Any]]"
Floats: TypeAlias = "NDArray[np.float64]"


@dataclass(frozen=True)
class Codes:
    """Annotations as parallel integers, sorted by item, label and annotator.

    ``annotator`` is −1 if unknown; names and labels are sorted, and a code is an index into them. ``item_names``
    and ``time``, when each annotation was made, are there where they were fetched.
    """

    item: Int32s
    annotator: Int32s
    label: Int32s
    annotators: tuple[str, ...]
    labels: tuple[str, ...]
    item_names: polars.Series | Sequence[str] | None = None
    time: polars.Series | None = None

    @cached_property
    def names(self) -> polars.Series:
        """The names of the items, in code order."""
        import polars

        return polars.Series(self.item_names)

    @cached_property
    def items(self) -> int:
        """Number of items."""
        return int(self.item[-1]) + 1 if len(self.item) else 0

    @cached_property
    def unknown(self) -> int:
        """Annotations by unknown annotators."""
        return int((self.annotator == UNKNOWN).sum())

    def only(self, chosen: NDArray[np.bool_]) -> tuple[Codes, Ints]:
        """These annotations alone, without the names of items, and which items they are about."""
        (items, _), (people, _) = counted(self.item[chosen]), counted(self.annotator[chosen & (self.annotator >= 0)])
        who = self.annotator[chosen]
        annotator = np.where(who < 0, UNKNOWN, np.searchsorted(people, who)).astype(np.int32)
        names = tuple(self.annotators[person] for person in people.tolist())
        item = np.searchsorted(items, self.item[chosen]).astype(np.int32)
        return Codes(item, annotator, self.label[chosen], names, self.labels), items.astype(np.int64)

    def of_busiest(self, most: int) -> Codes:
        """The same, with all but the busiest annotators marked unknown; ties go to the first by name."""
        per_annotator = np.bincount(self.annotator[self.annotator >= 0], minlength=len(self.annotators))
        busy = np.zeros(len(self.annotators) + 1, dtype=np.bool_)  # the last entry is for unknown annotators
        busy[np.argsort(-per_annotator, kind="stable")[:most]] = True
        return replace(self, annotator=np.where(busy[self.annotator], self.annotator, np.int32(UNKNOWN)))

    @cached_property
    def counts(self) -> tuple[Int32s, Int32s, NDArray[np.int64]]:
        """How often each item got each label: items, labels and counts, in code order."""
        starts = run_starts(self.item, self.label)
        return self.item[starts], self.label[starts], np.diff(starts, append=len(self.item))

    @cached_property
    def meetings(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Each meeting of two known annotators in an item: its two rows, the pairs of people, and which pair it is of.

        A pair is the lower annotator times the number of annotators, plus the higher one; pairs are in order.
        """
        rows, people = np.flatnonzero(self.annotator != UNKNOWN), len(self.annotators)
        one, other = (rows[row] for row in pairs_within(counted(self.item[rows])[1]))
        first, second = self.annotator[one].astype(np.int64), self.annotator[other].astype(np.int64)
        differ = first != second
        pair = (np.minimum(first, second) * people + np.maximum(first, second))[differ]
        earliest, place = numbered(pair)
        return one[differ], other[differ], pair[earliest], place

    @cached_property
    def connected(self) -> Ints:
        """A number per annotator, the same for those who share items, directly or through others."""
        known = self.annotator != UNKNOWN
        return connected(self.item[known], self.annotator[known], len(self.annotators))

    def users_of_own_labels(self) -> list[tuple[str, str]]:
        """Each annotator with each label they used, of those who use no label that somebody else uses."""
        is_known, classes = self.annotator != UNKNOWN, max(1, len(self.labels))
        pairs, _ = counted(self.annotator[is_known].astype(np.int64) * classes + self.label[is_known])
        who, label = np.divmod(pairs, classes)
        is_shared = np.bincount(label)[label] > 1
        own = np.bincount(who, is_shared)[who] == 0
        found = zip(who[own].tolist(), label[own].tolist(), strict=True)
        return [(self.annotators[person], self.labels[what]) for person, what in found]


def in_order(
    item: Int32s,
    label: Int32s,
    annotator: Int32s | None,
    labels: Sequence[str],
    people: Sequence[str],
    names: polars.Series | Sequence[str] | None = None,
) -> Codes:
    """Annotations that are coded already, in the order of a :class:`Codes`; None if nobody knows the annotators."""
    who = np.full(len(item), UNKNOWN, dtype=np.int32) if annotator is None else annotator
    _, item, label, who = in_order_of(item, label, who, max(1, len(labels)), len(people))
    return Codes(item, who, label, tuple(people), tuple(labels), names)


def in_order_of(
    item: Int32s, label: Int32s, annotator: Int32s, labels: int, people: int
) -> tuple[NDArray[np.integer[Any]], Int32s, Int32s, Int32s]:
    """The rows sorted by item, label and annotator, and these three in that order."""
    rows, distinct = len(item), (int(item.max(initial=0)) + 1) * labels * (people + 1)
    if distinct << rows.bit_length() > LARGEST_KEY:
        order = np.lexsort((annotator, label, item))
        return order, item[order], label[order], annotator[order]
    key = item.astype(np.int64)  # changed in place: fresh memory takes longer than the arithmetic
    key *= labels
    key += label
    key *= people + 1
    key += annotator
    key += 1
    # The row goes in the lowest bits: sorting values is several times faster than argsort.
    key <<= rows.bit_length()
    key |= np.arange(rows)
    key.sort()
    order = key & ((1 << rows.bit_length()) - 1)
    key >>= rows.bit_length()
    annotator = (key % (people + 1) - 1).astype(np.int32)
    key //= people + 1
    return order, (key // labels).astype(np.int32), (key % labels).astype(np.int32), annotator


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
    if size > min(MOST_CELLS, CELLS_PER_ROW * len(keys)):
        order, keys = sorted_rows(keys, size)
        number = np.empty(len(keys), dtype=np.int64)
        number[order] = run_of_each(keys)
        return order[run_starts(keys)], number
    there = np.zeros(size, dtype=np.bool_)
    there[keys] = True
    place = np.cumsum(there, dtype=np.int32)
    number = place[keys].astype(np.int64) - 1
    first = np.empty(place[-1], dtype=np.int64)
    first[number] = np.arange(len(keys))
    return first, number


def sorted_rows(keys: Ints, size: int) -> tuple[Ints, Ints]:
    """The rows in the order of their keys, which are below ``size``, and the keys in that order."""
    bits = len(keys).bit_length()
    if size << bits > LARGEST_KEY:
        order = np.argsort(keys, kind="stable")
        return order, keys[order]
    packed = keys << bits  # the row in the lowest bits: sorting values is faster than argsort
    packed |= np.arange(len(keys))
    packed.sort()
    return packed & ((1 << bits) - 1), packed >> bits


def sums(groups: AnyInts, values: Floats, size: int) -> Floats:
    """Σ of values per group."""
    return np.asarray(np.bincount(groups, values, size), dtype=np.float64)


def connected(item: AnyInts, who: AnyInts, people: int) -> Ints:
    """A number per annotator, the same for those who are connected: the lowest code among them.

    Equal items are adjacent.
    """
    together, lowest = item[1:] == item[:-1], np.arange(people)
    one, other = (each[together].astype(np.int64) for each in (who[:-1], who[1:]))
    while len(one):
        np.minimum.at(lowest, np.maximum(one, other), np.minimum(one, other))
        while ((further := lowest[lowest]) != lowest).any():
            lowest = further
        one, other = lowest[one], lowest[other]
        apart = one != other
        one, other = one[apart], other[apart]
    return lowest


def ratio(above: Floats, below: Floats | AnyInts, otherwise: float = np.nan) -> Floats:
    """above/below, or ``otherwise`` where below is 0.

    >>> ratio(np.array([1.0, 2.0]), np.array([4, 0])).tolist()
    [0.25, nan]
    """
    return np.asarray(np.divide(above, below, out=np.full(below.shape, otherwise), where=below > 0))


def by_hash(hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows sorted by their hashes, and where each new hash begins."""
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


MOST_SUMMED = 100_000_000  # pairs of annotations, beyond which a score does not compare all of them


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
