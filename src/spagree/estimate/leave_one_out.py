"""Each annotation compared with the others of its item, and SPA without each annotator (docs/mathematics.md §16).

An interval for new annotators needs three variances. Leaving out one item at a time shows how items differ, and
leaving out one annotator at a time shows how annotators differ. Both contain the noise of single annotations, so it is
subtracted once: V = V_items + V_annotators − V_annotations. All three come from one pass over the annotations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

from spagree.errors import UsageError, count, unknown_name
from spagree.estimate.intervals import deviations, effective_number
from spagree.estimate.item_groups import Clustered, ItemGroups, total
from spagree.estimate.label_counts import votes_in_codes
from spagree.estimate.uncertainty import ANNOTATORS, POPULATIONS, Estimate, effective_items, steadied, wilson
from spagree.grouping import Floats, Ints, counted, ratio, sums
from spagree.tally.coded import Coded

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOO_FEW = "without one of the annotators no item has two annotations: how annotators differ cannot be seen"


def check_interval_for(population: str) -> None:
    """Refuse a misspelt name before any work is done."""
    if population not in POPULATIONS:
        raise unknown_name("value of --interval-for", str(population), POPULATIONS)


@dataclass(frozen=True, slots=True)
class TwoWay:
    """Variances of SPA over items, annotators and single annotations, and their effective numbers."""

    items: float
    annotators: float
    annotations: float
    equal_items: float
    """Effective number of items: equally weighted ones that would be as informative."""
    equal_annotators: float
    """Effective number of annotators: equally busy ones that would be as informative."""

    @property
    def stderr(self) -> float:
        """Never below the standard error for new items alone."""
        return sqrt(max(self.items, self.items + self.annotators - self.annotations))

    @property
    def freedom(self) -> float:
        """The degrees of freedom of the standard error: those of items or annotators, whichever are fewer."""
        return min(self.equal_items, self.equal_annotators) - 1


def to_new_annotators(peers: Peers, by_n: Mapping[int, Fraction], figure: Estimate, groups: ItemGroups) -> Estimate:
    """The same figure with the interval for new annotators and new items (``groups``, perhaps in clusters).

    Like the interval over items, it uses the stabilised error, so it is never the narrower of the two.
    """
    if figure.value is None or figure.stderr is None:
        return replace(figure, interval_for=ANNOTATORS)
    spread = two_way(peers, by_n, figure.stderr**2)
    if spread is None:
        return replace(figure, stderr=None, low=None, high=None, undefined=TOO_FEW, interval_for=ANNOTATORS)
    weights = groups.weights(by_n)
    spread = replace(spread, equal_items=effective_items(groups, weights))
    items = steadied(figure.value, figure.stderr, groups, weights)
    error = sqrt(spread.stderr**2 + items**2 - figure.stderr**2)
    low, high = wilson(figure.value, error, spread.equal_items, figure.level, spread.freedom)
    if figure.low is not None and figure.high is not None:
        low, high = min(low, figure.low), max(high, figure.high)
    return replace(figure, stderr=spread.stderr, low=low, high=high, interval_for=ANNOTATORS)


def two_way(peers: Peers, by_n: Mapping[int, Fraction], items: float) -> TwoWay | None:
    """The three variances, given the one over items; None if SPA is undefined without some annotator."""
    unknown = int((peers.annotator < 0).sum())
    if unknown:
        raise UsageError(
            f"--interval-for annotators: the annotator of {count(unknown, 'annotation')} is unknown; leave such "
            "annotations out, or use --interval-for items"
        )
    busy = peers.shared > 0
    without = leave_one_out(peers, by_n)[busy]
    if np.isnan(without).any():
        return None
    whole, kinds = peers.by_size, peers.kinds
    k = whole.weights(by_n)
    _, people = deviations(without)
    _, single = deviations(_without_annotation(kinds, whole, k), kinds.count)
    noise = total(kinds.count * single**2)
    return TwoWay(items, total(people**2), noise, effective_items(whole, k), effective_number(peers.shared))


def _without_annotation(kinds: Kinds, whole: Sizes, weights: Floats) -> Floats:
    """SPA without each kind of annotation: its item's weight drops from k(n) to k(n − 1)."""
    weight = np.append(weights, 0.0)  # the last entry is for a single annotation
    k = weight[whole.place(kinds.n)]
    less = weight[np.where(kinds.n > 2, whole.place(kinds.n - 1), -1)]
    agreement = kinds.pairs / (kinds.n * (kinds.n - 1))
    left = (kinds.pairs - 2 * kinds.agree) / np.maximum((kinds.n - 1) * (kinds.n - 2), 1)
    above = np.sum(weights * whole.pairs / (whole.n * (whole.n - 1)))
    below = np.sum(weights * whole.items)
    return np.asarray((above - k * agreement + less * left) / (below - k + less))


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
    cluster: Ints | None = None
    """The cluster of each annotation's item; None if items are independent."""

    @cached_property
    def named(self) -> Peers:
        """Without annotations by unknown annotators, who still count among the others of their items."""
        return self.where(self.annotator >= 0)

    def where(self, chosen: NDArray[np.bool_]) -> Peers:
        """Some of the annotations; the same object if that is all of them."""
        if chosen.all():
            return self
        cluster = None if self.cluster is None else self.cluster[chosen]
        return Peers(self.size, self.annotator[chosen], self.n[chosen], self.agree[chosen], self.pairs[chosen], cluster)

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
        occur, annotations = counted(self.n)
        n = counted(np.concatenate([occur, occur - 1]))[0]
        n = n[n > 1]
        items = np.zeros(len(n))
        items[np.searchsorted(n, occur)] = annotations // occur
        return Sizes(n, items, sums(np.searchsorted(n, self.n), self.agree, len(n)))

    @cached_property
    def order(self) -> Ints:
        """The known annotations, annotator by annotator."""
        return np.argsort(self.named.annotator, kind="stable")

    @cached_property
    def remaining(self) -> tuple[Floats, Floats]:
        """What is left without each annotator, before weighting."""
        return _remaining(self.named, slice(None), 0, self.size, self.by_size)

    @cached_property
    def kinds(self) -> Kinds:
        """Annotations counted by n, pairs and agree: few kinds for nominal labels; otherwise one per annotation."""
        whole = [self.n, self.pairs.astype(np.int64), self.agree.astype(np.int64)]
        shape = [int(column.max(initial=0)) + 1 for column in whole]
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


def peers(codes: Coded, similarity: Floats | None = None, cluster: Ints | None = None) -> Peers:
    """Compare every annotation with the others of its item; ``cluster`` says to which cluster each item belongs.

    >>> ints = lambda *values: np.array(values, dtype=np.int32)
    >>> annotations = peers(Coded(ints(0, 0, 0, 1), ints(0, 1, 2, 0), ints(0, 0, 1, 1), ("a", "b", "c"), ("x", "y")))
    >>> annotations.n.tolist(), annotations.agree.tolist(), annotations.pairs.tolist()
    ([3, 3, 3], [1.0, 1.0, 0.0], [2.0, 2.0, 2.0])
    """
    n = np.bincount(codes.item, minlength=codes.items)
    agree = np.repeat(replace(votes_in_codes(codes), similarity=similarity).agreeing, codes.counts[2])
    pairs = sums(codes.item, agree, codes.items)
    chosen = n[codes.item] > 1
    item, annotator = codes.item[chosen], codes.annotator[chosen].astype(np.int64)
    item_cluster = None if cluster is None else cluster[item]
    return Peers(len(codes.annotators), annotator, n[item], agree[chosen], pairs[item], item_cluster)


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


def leave_one_out(peers: Peers, by_n: Mapping[int, Fraction]) -> Floats:
    """SPA without each annotator, Σ k P/Σ k over the items that stay pairable; NaN if none do.

    Each of their items goes from n to n − 1 annotations, and its agreeing pairs from A to A − 2·agree. What is left is
    summed per number of annotations before it is weighted, so nothing cancels.
    """
    whole = peers.by_size
    weight = whole.weights(by_n)
    per_pair = weight / (whole.n * (whole.n - 1))
    above, below = np.zeros(peers.size), np.zeros(peers.size)
    for start, items, pairs in _blocks(peers):
        end = start + len(items)
        # Summed row by row: the last bits of a matrix product would depend on the block size.
        below[start:end] = (items * weight).sum(axis=1)
        above[start:end] = (pairs * per_pair).sum(axis=1)
    return ratio(above, below)


def _blocks(peers: Peers) -> Iterator[tuple[int, Floats, Floats]]:
    """Items and agreeing pairs left without each annotator, a bounded number of annotators at a time."""
    whole = peers.by_size
    step = max(1, CELLS_AT_ONCE // max(1, len(whole.n)))
    if peers.size <= step:
        yield 0, *peers.remaining
        return
    ordered = peers.named.annotator[peers.order]
    for start in range(0, peers.size, step):
        size = min(step, peers.size - start)
        first, last = np.searchsorted(ordered, [start, start + size])
        yield start, *_remaining(peers.named, peers.order[first:last], start, size, whole)


def _remaining(named: Peers, rows: Ints | slice, start: int, size: int, whole: Sizes) -> tuple[Floats, Floats]:
    """Items and their agreeing pairs for each number of annotations, without each annotator of a block."""
    width = len(whole.n)
    place = (named.annotator[rows] - start) * width + whole.place(named.n[rows])

    def table(values: Floats) -> Floats:
        return sums(place, values, size * width).reshape(size, width)

    own_items, own_pairs = table(np.ones(len(place))), table(named.pairs[rows])
    items, pairs = whole.items - own_items, whole.pairs - own_pairs
    # Items with n annotations now have n − 1; those with two are gone.
    before = np.flatnonzero(whole.n > 2)
    before = before[np.isin(whole.n[before] - 1, whole.n)]
    after = whole.place(whole.n[before] - 1)
    items[:, after] += own_items[:, before]
    pairs[:, after] += (own_pairs - 2 * table(named.agree[rows]))[:, before]
    return items, pairs
