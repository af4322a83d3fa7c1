"""Each annotation compared with the others of its item, and SPA without each annotator (docs/mathematics.md §16)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from spagree.estimate.clusters import Clustered
from spagree.estimate.grouping import Ints, counted, sums
from spagree.estimate.item_groups import Floats
from spagree.estimate.label_counts import votes_in_codes
from spagree.tally.coded import Coded

if TYPE_CHECKING:
    from numpy.typing import NDArray

CELLS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Peers:
    """Annotations of pairable items as parallel arrays: who, the item's number of annotations, and how they agree.

    ``agree`` sums the agreement with the other n − 1 annotations of the item (n_c − 1 for nominal labels); ``pairs``
    is the item's A, the agreement of all its ordered pairs.
    """

    size: int
    """Number of annotators."""
    annotator: Ints
    n: Ints
    agree: Floats
    pairs: Floats

    @cached_property
    def known(self) -> Peers:
        """Without annotations by unknown annotators, who still count among the others of their items."""
        return self.where(self.annotator >= 0)

    def where(self, chosen: NDArray[np.bool_]) -> Peers:
        """Some of the annotations; the same object if that is all of them."""
        if chosen.all():
            return self
        return Peers(self.size, self.annotator[chosen], self.n[chosen], self.agree[chosen], self.pairs[chosen])

    @cached_property
    def share(self) -> Floats:
        """The share of the others on the item who agree."""
        return self.agree / (self.n - 1)

    def per_annotator(self, values: Floats) -> Floats:
        """Sum over the annotations of each annotator."""
        return sums(self.annotator, values, self.size)

    @cached_property
    def shared(self) -> Floats:
        """Items each annotator shares with others."""
        return self.per_annotator(np.ones(len(self.n)))

    @cached_property
    def by_size(self) -> Sizes:
        """Items and agreeing pairs for each number of annotations."""
        return sizes(self)

    @cached_property
    def order(self) -> Ints:
        """The known annotations, annotator by annotator."""
        return np.argsort(self.known.annotator, kind="stable")

    @cached_property
    def remaining(self) -> tuple[Floats, Floats]:
        """What is left without each annotator, before weighting."""
        return _remaining(self.known, slice(None), 0, self.size, self.by_size)

    @cached_property
    def kinds(self) -> Kinds:
        """Annotations counted by n, pairs and agree: few kinds for nominal labels; otherwise one per annotation."""
        whole = [self.n, self.pairs.astype(np.int64), self.agree.astype(np.int64)]
        shape = [int(each.max(initial=0)) + 1 for each in whole]
        if prod(shape) > CELLS_AT_ONCE or (whole[1] != self.pairs).any() or (whole[2] != self.agree).any():
            return Kinds(self.n, self.pairs, self.agree, np.ones(len(self.n)))
        count = np.bincount(np.ravel_multi_index(tuple(whole), tuple(shape)))
        cells = np.flatnonzero(count)
        n, pairs, agree = np.unravel_index(cells, tuple(shape))
        return Kinds(n, pairs.astype(np.float64), agree.astype(np.float64), count[cells].astype(np.float64))


@dataclass(frozen=True, slots=True)
class Kinds:
    """Kinds of annotations by how they agree on their item, and how many there are of each."""

    n: Ints
    pairs: Floats
    agree: Floats
    count: Floats


def peers(codes: Coded, similarity: Floats | None = None) -> Peers:
    """Compare every annotation with the others of its item.

    >>> ints = lambda *values: np.array(values, dtype=np.int32)
    >>> found = peers(Coded(ints(0, 0, 0, 1), ints(0, 1, 2, 0), ints(0, 0, 1, 1), ("a", "b", "c"), ("x", "y")))
    >>> found.n.tolist(), found.agree.tolist(), found.pairs.tolist()
    ([3, 3, 3], [1.0, 1.0, 0.0], [2.0, 2.0, 2.0])
    """
    n = np.bincount(codes.item, minlength=codes.items)
    agree = np.repeat(replace(votes_in_codes(codes), similarity=similarity).agreeing, codes.counts[2])
    pairs = sums(codes.item, agree, codes.items)
    chosen = n[codes.item] > 1
    item, annotator = codes.item[chosen], codes.annotator[chosen].astype(np.int64)
    return Peers(len(codes.annotators), annotator, n[item], agree[chosen], pairs[item])


@dataclass(frozen=True)
class Sizes(Clustered):
    """Numbers of annotations that occur, or would without one annotator, with the totals over all items."""

    n: Ints
    items: Floats
    pairs: Floats
    cluster: Ints | None = None

    def place(self, n: Ints) -> Ints:
        """The index of each number of annotations."""
        return np.searchsorted(self.n, n)

    def weights(self, by_n: Mapping[int, Fraction]) -> Floats:
        """k(n) relative to the largest."""
        largest = max(by_n.values())
        return np.array([float(by_n[n] / largest) for n in self.n.tolist()])


def sizes(found: Peers) -> Sizes:
    """Items and agreeing pairs for each number of annotations."""
    occur, annotations = counted(found.n)
    n = counted(np.concatenate([occur, occur - 1]))[0]
    n = n[n > 1]
    items, pairs = np.zeros(len(n)), np.zeros(len(n))
    items[np.searchsorted(n, occur)] = annotations // occur
    pairs += sums(np.searchsorted(n, found.n), found.agree, len(n))
    return Sizes(n, items, pairs)


@dataclass(frozen=True)
class LeftOut:
    """Agreement without each annotator: Σ k P and Σ k over the items that stay pairable."""

    above: Floats
    below: Floats

    @property
    def spa(self) -> Floats:
        """SPA without each annotator; NaN if nothing is left."""
        return np.divide(self.above, self.below, out=np.full_like(self.above, np.nan), where=self.below > 0)


def leave_one_out(found: Peers, by_n: Mapping[int, Fraction]) -> LeftOut:
    """All leave-one-out values in one pass over the annotations, shared by all weighting schemes.

    Without an annotator each of their items goes from n to n − 1 annotations, and its agreeing pairs from A to
    A − 2·agree. What is left is summed per number of annotations before it is weighted, so nothing cancels.
    """
    whole = found.by_size
    weight = whole.weights(by_n)
    per_pair = weight / (whole.n * (whole.n - 1))
    above, below = np.zeros(found.size), np.zeros(found.size)
    for start, items, pairs in _blocks(found):
        end = start + len(items)
        # Summed row by row: the last bits of a matrix product would depend on the block size.
        below[start:end] = (items * weight).sum(axis=1)
        above[start:end] = (pairs * per_pair).sum(axis=1)
    return LeftOut(above, below)


def _blocks(found: Peers) -> Iterator[tuple[int, Floats, Floats]]:
    """Items and agreeing pairs left without each annotator, a bounded number of annotators at a time."""
    whole = found.by_size
    step = max(1, CELLS_AT_ONCE // max(1, len(whole.n)))
    if found.size <= step:
        yield 0, *found.remaining
        return
    ordered = found.known.annotator[found.order]
    for start in range(0, found.size, step):
        size = min(step, found.size - start)
        first, last = np.searchsorted(ordered, [start, start + size])
        yield start, *_remaining(found.known, found.order[first:last], start, size, whole)


def _remaining(known: Peers, rows: Ints | slice, start: int, size: int, whole: Sizes) -> tuple[Floats, Floats]:
    """Items and their agreeing pairs for each number of annotations, without each annotator of a block."""
    width = len(whole.n)
    place = (known.annotator[rows] - start) * width + whole.place(known.n[rows])

    def table(values: Floats) -> Floats:
        return sums(place, values, size * width).reshape(size, width)

    own_items, own_pairs = table(np.ones(len(place))), table(known.pairs[rows])
    items, pairs = whole.items - own_items, whole.pairs - own_pairs
    # Items with n annotations now have n − 1; those with two are gone.
    before = np.flatnonzero(whole.n > 2)
    before = before[np.isin(whole.n[before] - 1, whole.n)]
    after = whole.place(whole.n[before] - 1)
    items[:, after] += own_items[:, before]
    pairs[:, after] += (own_pairs - 2 * table(known.agree[rows]))[:, before]
    return items, pairs
