"""Whether a saved tally is possible: constraints that every genuine tally satisfies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from spagree.errors import DataError
from spagree.tally.tally import Cell, Tally

if TYPE_CHECKING:
    import polars

    from spagree.tally.items import ItemCounts

ENUMERATED = 12  # annotations per item up to which every partition into classes is tried


def refuse_impossible(tally: Tally, source: str) -> None:
    """Refuse a tally that no annotations could produce, naming the first inconsistency.

    >>> refuse_impossible(Tally({Cell(2, 1, 0): 1}, {"yes": 2}, {"yes": 2}, {}), "part.json")
    Traceback (most recent call last):
    spagree.errors.DataError: part.json: damaged tally: a cell that no item can have; count the data again
    """
    fault = next(_faults(tally), None)
    if fault is not None:
        raise DataError(f"{source}: damaged tally: {fault}; count the data again")


def _faults(tally: Tally) -> Iterator[str]:
    if any(not possible(cell) or not items for cell, items in tally.cells.items()):
        yield "a cell that no item can have"
        return
    single = tally.cells.get(Cell(1, 0, 0), 0)
    for where, counted, wanted in (
        ("labels", sum(tally.labels.values()), tally.annotations),
        ("labels of pairable items", tally.pairable_annotations, tally.annotations - single),
    ):
        if counted != wanted:
            yield f"{wanted:,} annotations in the cells, {counted:,} in the {where}"
    if any(size > tally.labels.get(label, 0) for label, size in tally.pairable_labels.items()):
        yield "a label is on more pairable items than on items"
    if tally.annotators is not None and sum(tally.annotators.values()) > tally.annotations:
        yield "the annotators made more annotations than there are"
    yield from _faults_of_patterns(tally)
    yield from _faults_of_groups(tally)


def _faults_of_patterns(tally: Tally) -> Iterator[str]:
    if tally.patterns is None:
        return
    for pattern in tally.patterns:
        labels = [label for label, size in pattern if size]
        if sorted(set(labels)) != labels or len(labels) < len(pattern):
            yield "a pattern that no item can have"
    whole = Tally.from_patterns(tally.patterns)
    if whole.cells != tally.cells:
        yield "cells and patterns differ"
    compared = (whole.labels, tally.labels), (whole.pairable_labels, tally.pairable_labels)
    if any(+Counter(ours) != +Counter(theirs) for ours, theirs in compared):
        yield "labels and patterns differ"


def _faults_of_groups(tally: Tally) -> Iterator[str]:
    """Inconsistencies between clusters or groups and the rest of the tally."""
    if tally.grouped is None:
        return
    if tally.grouped.cluster is None and tally.grouped.by is None:
        yield "clusters or groups of no column"
    if any(not items or not votes or list(votes) != sorted(votes) for (_, votes), items in tally.grouped.items.items()):
        yield "clusters or groups of items that cannot be"
    if tally.patterns is None or tally.grouped.patterns() != dict(tally.patterns):
        yield "clusters or groups and patterns differ"
    per_group = tally.grouped.annotators
    if per_group is not None and sum(sum(counts.values()) for counts in per_group.values()) > tally.annotations:
        yield "the annotators of the groups made more annotations than there are"


def possible(cell: Cell) -> bool:
    """Whether some item can have this many agreeing pairs and triples.

    >>> possible(Cell(4, 6, 6)), possible(Cell(4, 10, 6)), possible(Cell(100, 3, 0))
    (True, False, False)
    """
    n, pairs, triples = cell
    if 0 < n <= ENUMERATED:
        return (pairs, triples) in _ways(n)
    within = pairs <= n * (n - 1) and triples <= pairs * max(n - 2, 0)
    return n > 0 and within and pairs % 2 == 0 and triples % 6 == 0


@cache
def _ways(n: int) -> frozenset[tuple[int, int]]:
    """Agreeing pairs and triples of every partition of n annotations into classes."""
    return frozenset((Cell.of(counts).pairs, Cell.of(counts).triples) for counts in _shares(n, n))


def _shares(n: int, most: int) -> Iterator[tuple[int, ...]]:
    """Integers from 1 to ``most``, largest first, that sum to n."""
    if not n:
        yield ()
    for first in range(min(n, most), 0, -1):
        yield from ((first, *rest) for rest in _shares(n - first, first))


def refuse_impossible_counts(counts: ItemCounts, source: str) -> None:
    """Refuse item counts that no annotations could produce."""
    fault = next(_faults_of_counts(counts.frame, counts.annotators), None)
    if fault is not None:
        raise DataError(f"{source}: damaged item counts: {fault}; count the data again")


def _faults_of_counts(frame: polars.DataFrame, annotators: Mapping[str, int] | None) -> Iterator[str]:
    if any(frame.null_count().row(0)):
        yield "an item, label or count is missing"
    if (frame["count"] < 1).any():
        yield "a count below 1"
    if frame.select("item", "label").is_duplicated().any():
        yield "an item has the same label in two rows"
    if annotators is not None and sum(annotators.values()) > int(frame["count"].sum()):
        yield "the annotators made more annotations than there are"
