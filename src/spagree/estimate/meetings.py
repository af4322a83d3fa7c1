"""Which annotators met: how many items each pair shares, and with which labels.

Annotations are a sparse matrix with a column per item. Products of its rows, a block of annotators at a time, count
shared items: the work is Σ n(n−1)/2 over the items, whatever the number of annotators, and memory stays bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spagree.counts.coded import Coded
from spagree.errors import DataError
from spagree.grouping import Floats, Ints, counted, numbered, pairs_within, run_of_each, run_starts, sums
from spagree.messages import opt

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_MEETINGS = 1_000_000_000
MOST_SUMMED = 100_000_000  # beyond which a score does not compare all pairs
MEETINGS_AT_ONCE = 2_000_000
FEW_MEETINGS = 300_000
CELLS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Meetings:
    """Who met whom with which labels: ``count`` shared items on which a pair gave ``one`` and ``other``.

    ``left`` and ``right`` are the two annotators of each pair; the entries of a pair are in order of their labels.
    """

    left: Ints
    right: Ints
    pair: Ints
    one: Ints
    other: Ints
    count: Floats

    @cached_property
    def shared(self) -> Floats:
        """Shared items of each pair."""
        return sums(self.pair, self.count, len(self.left))

    def per_pair(self, values: Floats) -> Floats:
        """Sum over the shared items of each pair."""
        return sums(self.pair, values * self.count, len(self.left))

    def agree(self, similarity: Floats | None) -> Floats:
        """How much the two labels of each entry agree."""
        alike = self.one == self.other if similarity is None else similarity[self.one, self.other]
        return np.asarray(alike, dtype=np.float64)

    def of_pairs(self, kept: NDArray[np.bool_]) -> Meetings:
        """Only some of the pairs."""
        rows, number = kept[self.pair], np.cumsum(kept) - 1
        entries = (number[self.pair[rows]], self.one[rows], self.other[rows], self.count[rows])
        return Meetings(self.left[kept], self.right[kept], *entries)

    def blocks(self) -> Iterator[Meetings]:
        """Blocks of pairs small enough for a table of pairs × labels."""
        labels = len(counted(np.concatenate([self.one, self.other]))[0])
        step = max(1, CELLS_AT_ONCE // max(1, labels))
        if len(self.left) <= step:
            yield self
            return
        order = np.argsort(self.pair, kind="stable")
        starts = np.arange(0, len(self.left), step)
        ends = np.append(np.searchsorted(self.pair[order], starts[1:]), len(order))
        for start, rows in zip(starts, np.split(order, ends[:-1]), strict=True):
            pairs = slice(start, start + step)
            entries = (self.pair[rows] - start, self.one[rows], self.other[rows], self.count[rows])
            yield Meetings(self.left[pairs], self.right[pairs], *entries)


def meetings(codes: Coded, pairs: Ints | None = None) -> Iterator[Meetings]:
    """All meetings of two known annotators, a block of annotators at a time; at least one block, which may be empty.

    ``pairs`` limits them to some pairs: the lower code of the two, times the number of annotators, plus the other.
    """
    who, item, label = _by_named(codes)
    people = max(1, len(codes.annotators))
    first, row = numbered(who, label)
    who, label = who[first], label[first]
    lefts = None if pairs is None else pairs // people
    for one, other, count in _met(who, _matrix(row, item, np.ones(len(row), dtype=np.int64)), lefts):
        entry, pair = numbered(run_of_each(who[one]), who[other])
        left, right = who[one[entry]], who[other[entry]]
        block = Meetings(left, right, pair, label[one], label[other], count.astype(np.float64))
        yield block if pairs is None else block.of_pairs(np.isin(left * people + right, pairs))


def agreeing(codes: Coded) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
    """Each pair that met: the two annotators, the items they share, and those to which both gave the same label.

    Both counts come from one product: columns of items with entries 1, and columns of items with a label whose
    entries are so large that their products exceed any number of shared items.
    """
    who, item, label = _by_named(codes)
    first, row = numbered(who)
    large = 1 << (codes.items.bit_length() + 1) // 2
    columns = np.concatenate([item, codes.items + numbered(item, label)[1]])
    matrix = _matrix(np.tile(row, 2), columns, np.repeat(np.array([1, large]), len(row)))
    for one, other, both in _met(who[first], matrix):
        alike, shared = np.divmod(both, large * large)
        yield who[first[one]], who[first[other]], shared, alike


class PairSums(NamedTuple):
    """Sums over the pairs of annotators who met: w shared items, on which they agree a times in all."""

    pairs: int
    shared: float
    shared_squares: float
    products: float
    agreeing_squares: float

    def variance(self, value: float) -> float:
        """m/(m − 1)·Σw²(a/w − value)²/(Σw)²: how much agreement depends on who meets whom (docs/mathematics.md §9)."""
        spread = self.agreeing_squares - 2 * value * self.products + value * value * self.shared_squares
        return max(0.0, spread) * self.pairs / max(1, self.pairs - 1) / self.shared**2 if self.shared else 0.0


def pair_sums(codes: Coded, similarity: Floats | None) -> PairSums | None:
    """The sums over all pairs of annotators who met; None if there are too many meetings to look at each."""
    who, item, label = _by_named(codes)
    size, people = counted(item)[1], max(1, len(codes.annotators))
    met = int((size * (size - 1)).sum()) // 2
    if met > MOST_SUMMED:
        return None
    if met <= FEW_MEETINGS * 10:  # quicker than the import of scipy and its products
        one, other = pairs_within(size)
        kept = who[one] != who[other]
        one, other = one[kept], other[kept]
        pair = np.minimum(who[one], who[other]) * people + np.maximum(who[one], who[other])
        first, place = numbered(pair)
        alike = (label[one] == label[other]).astype(np.float64)
        if similarity is not None:
            alike = similarity[label[one], label[other]]
        blocks = iter([(sums(place, np.ones(len(place)), len(first)), sums(place, alike, len(first)))])
    elif similarity is None:
        blocks = ((shared.astype(np.float64), alike.astype(np.float64)) for _, _, shared, alike in agreeing(codes))
    else:
        blocks = ((each.shared, each.per_pair(each.agree(similarity))) for each in meetings(codes))
    parts = [
        (len(shared), shared.sum(), (shared**2).sum(), (shared * alike).sum(), (alike**2).sum())
        for shared, alike in blocks
    ]
    pairs, *rest = map(sum, zip(*parts, strict=True))
    return PairSums(int(pairs), *map(float, rest))


def acquaintances(codes: Coded, least: int) -> Iterator[tuple[Ints, Ints]]:
    """The two annotators of every pair sharing at least ``least`` items, whatever their labels; block by block."""
    who, item, _ = _by_named(codes)
    size, people = counted(item)[1], max(1, len(codes.annotators))
    if (size * (size - 1)).sum() <= 2 * FEW_MEETINGS:  # before scipy would be imported
        one, other = (who[row] for row in pairs_within(size))
        pair = np.minimum(one, other) * people + np.maximum(one, other)
        pair = np.sort(pair.astype(np.int32) if people**2 < 2**31 else pair)
        often = pair[least - 1 :][pair[least - 1 :] == pair[: max(0, len(pair) - least + 1)]]
        yield np.divmod(often[run_starts(often)].astype(np.int64), people)
        return
    first, row = numbered(who)
    for one, other, shared in _met(who[first], _matrix(row, item, np.ones(len(row), dtype=np.int64))):
        yield who[first[one[shared >= least]]], who[first[other[shared >= least]]]


def _by_named(codes: Coded) -> tuple[Ints, Ints, Ints]:
    """Annotators, items and labels of the annotations by known annotators; refused if they met too often."""
    is_named = codes.annotator >= 0
    who, item, label = (column[is_named].astype(np.int64) for column in (codes.annotator, codes.item, codes.label))
    size = np.bincount(item)
    met = int((size * (size - 1)).sum()) // 2
    if met > MOST_MEETINGS:
        raise DataError(
            f"annotators met {met:,} times: too many to compare in pairs (at most {MOST_MEETINGS:,}); take the first "
            f"annotations of each item ({opt.first})"
        )
    return who, item, label


def _matrix(rows: Ints, columns: Ints, entries: Ints) -> Any:
    from scipy.sparse import csr_array

    shape = tuple(int(codes.max(initial=-1)) + 1 for codes in (rows, columns))
    return csr_array((entries, (rows, columns)), shape=shape)


def _met(who: Ints, matrix: Any, lefts: Ints | None = None) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Products of any two rows of different annotators that are not 0: the rows, the lower annotator first, in order.

    ``who`` is the annotator of each row, sorted. With ``lefts`` only these are the lower ones.
    """
    rows = np.arange(len(who)) if lefts is None else np.flatnonzero(np.isin(who, lefts))
    if not len(rows):
        yield rows, rows, rows
        return
    work = np.add.reduceat(np.bincount(matrix.indices)[matrix.indices], matrix.indptr[:-1])[rows]
    block_of = np.cumsum(work) // MEETINGS_AT_ONCE
    people = run_starts(who[rows])
    firsts = people[run_starts(block_of[people])]
    for block in np.split(rows, firsts[1:]):
        product = (matrix[block[0] :] @ matrix[block].T).tocsc()  # by column: rows in order
        one, other = np.repeat(block, np.diff(product.indptr)), product.indices.astype(np.int64) + block[0]
        after = who[other] > who[one]
        yield one[after], other[after], product.data[after]
