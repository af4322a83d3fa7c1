"""How many items have each combination of labels, updated as annotations come and go (docs/mathematics.md §3)."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from spagree.tally.coded import run_starts
from spagree.tally.grouped import Pattern
from spagree.tally.patterns import pattern

if TYPE_CHECKING:
    from numpy.typing import NDArray

EMPTY = 0  # the number of the pattern of an item without annotations


class PatternCounts:
    """Every item has a pattern, and equal patterns are stored once; an annotation moves its item to another pattern.

    >>> counts = PatternCounts()
    >>> for label in ("yes", "no", "yes"):
    ...     counts.grow(0, label)
    >>> counts.items()
    {(('no', 1), ('yes', 2)): 1}
    >>> counts.shrink(0, "no")
    >>> counts.items()
    {(('yes', 2),): 1}
    """

    def __init__(self) -> None:
        self._of_item = array("i")
        self._patterns: list[Pattern] = [()]
        self._sizes: list[int] = [0]
        self._numbers: dict[Pattern, int] = {(): EMPTY}
        self._free: list[int] = []

    def grow(self, item: int, label: str) -> None:
        """Count one more annotation of the item."""
        self._move(item, label, 1)

    def shrink(self, item: int, label: str) -> None:
        """Remove one annotation of the item."""
        self._move(item, label, -1)

    def annotations_of(self, item: int) -> int:
        """How many annotations of the item are counted."""
        return sum(count for _, count in self._pattern(item))

    def items(self) -> dict[Pattern, int]:
        """The number of items with each pattern that occurs."""
        return {self._patterns[number]: self._sizes[number] for number in self._numbers.values() if number != EMPTY}

    def of_items(self) -> Iterator[tuple[int, Pattern]]:
        """Every annotated item with its pattern."""
        return ((item, self._patterns[number]) for item, number in enumerate(self._of_item) if number != EMPTY)

    def _pattern(self, item: int) -> Pattern:
        return self._patterns[self._of_item[item]] if 0 <= item < len(self._of_item) else ()

    def _move(self, item: int, label: str, step: int) -> None:
        self._of_item.extend([EMPTY] * (item + 1 - len(self._of_item)))
        counts = dict(self._pattern(item))
        counts[label] = counts.get(label, 0) + step
        if not counts[label]:
            del counts[label]
        self._leave(self._of_item[item])
        self._of_item[item] = number = self._number(pattern(counts))
        self._sizes[number] += 1

    def _number(self, found: Pattern) -> int:
        """The number of a pattern; a new pattern gets a free number."""
        number = self._numbers.get(found)
        if number is not None:
            return number
        if not self._free:
            self._free.append(len(self._patterns))
            self._patterns.append(())
            self._sizes.append(0)
        number = self._free.pop()
        self._numbers[found], self._patterns[number] = number, found
        return number

    def _leave(self, number: int) -> None:
        """Remove one item from this pattern; forget the pattern if none is left."""
        if number == EMPTY:
            return
        self._sizes[number] -= 1
        if not self._sizes[number]:
            del self._numbers[self._patterns[number]]
            self._patterns[number] = ()
            self._free.append(number)

    @classmethod
    def of(cls, item: NDArray[np.int32], label: NDArray[np.int32], labels: Sequence[str], items: int) -> PatternCounts:
        """From coded annotations, in one pass over arrays; Python handles each pattern once."""
        counts = cls()
        key, count = np.unique(item.astype(np.int64) * max(1, len(labels)) + label, return_counts=True)
        entry_item, entry_label = np.divmod(key, max(1, len(labels)))
        of_item = np.full(items, EMPTY, dtype=np.int32)
        for chosen, place, size in _same_patterns(entry_item, entry_label, count):
            votes = zip(entry_label[place].tolist(), count[place].tolist(), strict=True)
            number = counts._number(tuple(sorted((labels[code], times) for code, times in votes)))
            counts._sizes[number] = size
            of_item[chosen] = number
        counts._of_item.frombytes(of_item.tobytes())
        return counts


Ints: TypeAlias = "NDArray[np.int64]"


def _same_patterns(item: Ints, label: Ints, count: Ints) -> Iterator[tuple[Ints, slice, int]]:
    """For each pattern: its items, the entries of one of them, and how many items there are.

    Entries are sorted by item. Items with equally many labels are compared one label at a time.
    """
    starts = run_starts(item)
    sizes = np.diff(starts, append=len(item))
    vote = np.unique(label * (int(count.max(initial=0)) + 1) + count, return_inverse=True)[1]
    for size in np.unique(sizes).tolist():
        first = starts[sizes == size]
        same = np.zeros(len(first), dtype=np.int64)
        for place in range(size):
            same = np.unique(same * (len(item) + 1) + vote[first + place], return_inverse=True)[1]
        order = np.argsort(same, kind="stable")
        for chosen in np.split(order, np.flatnonzero(np.diff(same[order])) + 1):
            start = int(first[chosen[0]])
            yield item[first[chosen]], slice(start, start + size), len(chosen)
