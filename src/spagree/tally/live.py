"""A tally that grows and shrinks one annotation at a time, each in O(1) (MATH §2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import TypeVar

from spagree.errors import DataError, DuplicateError
from spagree.tally.patterns import pattern
from spagree.tally.tally import Cell, Pattern, Tally, text

K = TypeVar("K", bound=Hashable)
Counts = dict[str, int]


class LiveTally:
    """Add, update and remove single annotations; :meth:`tally` is always the exact summary.

    >>> live = LiveTally()
    >>> for annotator, label in [("ann", "yes"), ("bob", "yes"), ("cyd", "no")]:
    ...     live.add("q1", annotator, label)
    >>> live.tally().cells
    {Cell(n=3, pairs=2, triples=0): 1}
    >>> live.update("q1", "cyd", "yes")
    >>> live.tally().cells
    {Cell(n=3, pairs=6, triples=6): 1}
    >>> live.remove("q1", "cyd")
    >>> live.tally().cells
    {Cell(n=2, pairs=2, triples=0): 1}
    """

    def __init__(self) -> None:
        self._given: dict[tuple[Hashable, Hashable], str] = {}
        self._items: dict[Hashable, tuple[Cell, Counts]] = {}
        self._cells: Counter[Cell] = Counter()
        self._patterns: Counter[Pattern] = Counter()
        self._labels: Counter[str] = Counter()
        self._pairable: Counter[str] = Counter()
        self._annotators: Counter[str] = Counter()

    def add(self, item: Hashable, annotator: Hashable, label: Hashable) -> None:
        """Count a new annotation; an annotator has one label per item (see :meth:`update`)."""
        if (item, annotator) in self._given:
            found = self._given[item, annotator]
            raise DuplicateError(
                f"annotator {annotator!r} has already labelled item {item!r} {found!r}; use update to change the label"
            )
        self._given[item, annotator] = text(label)
        self._annotators[text(annotator)] += 1
        self._count(item, text(label))

    def remove(self, item: Hashable, annotator: Hashable) -> None:
        """Take an annotation back: the exact inverse of :meth:`add`."""
        self._require(item, annotator)
        self._uncount(item, self._given.pop((item, annotator)))
        _subtract(self._annotators, text(annotator))

    def update(self, item: Hashable, annotator: Hashable, label: Hashable) -> None:
        """Change the label an annotator gave an item."""
        self._require(item, annotator)
        self._uncount(item, self._given[item, annotator])
        self._given[item, annotator] = text(label)
        self._count(item, text(label))

    def tally(self) -> Tally:
        """The summary of all annotations counted now; later changes do not touch it."""
        summary = (dict(self._cells), dict(self._labels), dict(self._pairable), dict(self._annotators))
        return Tally(*summary, patterns=dict(self._patterns))

    def _require(self, item: Hashable, annotator: Hashable) -> None:
        if (item, annotator) not in self._given:
            raise DataError(f"annotator {annotator!r} has not labelled item {item!r}; add the annotation first")

    def _count(self, item: Hashable, label: str) -> None:
        cell, counts = self._items.get(item, (Cell(0, 0, 0), {}))
        before = counts.get(label, 0)
        grown = Cell(cell.n + 1, cell.pairs + 2 * before, cell.triples + 3 * before * (before - 1))
        if cell.n == 1:  # the item becomes pairable, and its first annotation with it
            self._pairable.update(counts.keys())
        if grown.n > 1:
            self._pairable[label] += 1
        self._labels[label] += 1
        self._move(item, cell, grown, counts, {**counts, label: before + 1})

    def _uncount(self, item: Hashable, label: str) -> None:
        cell, counts = self._items[item]
        after = counts[label] - 1
        shrunk = Cell(cell.n - 1, cell.pairs - 2 * after, cell.triples - 3 * after * (after - 1))
        left = {name: count for name, count in {**counts, label: after}.items() if count}
        _subtract(self._labels, label)
        if cell.n > 1:
            _subtract(self._pairable, label)
        if shrunk.n == 1:  # the last annotation has lost its partner
            _subtract(self._pairable, next(iter(left)))
        self._move(item, cell, shrunk, counts, left)

    def _move(self, item: Hashable, old: Cell, new: Cell, before: Counts, after: Counts) -> None:
        """One item leaves its cell and its pattern for others; what is empty disappears."""
        if old.n:
            _subtract(self._cells, old)
            _subtract(self._patterns, pattern(before))
        if new.n:
            self._cells[new] += 1
            self._patterns[pattern(after)] += 1
            self._items[item] = (new, after)
        else:
            del self._items[item]


def _subtract(counts: Counter[K], key: K) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
