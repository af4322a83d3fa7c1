"""How often each combination of labels on an item occurs: the packed single pass.

Every label gets some bits of a 64-bit word. One group-by over the items then sums all labels of an item at once, and a
second one, over these sums, counts the items with the same counts. A few thousand rows are fetched, whatever the
number of items, and every label-based estimate follows from them. Columns with one value per item, such as its cluster
or group, are carried along in the same pass. :class:`PatternCounts` keeps the same figures up to date as annotations
come and go (docs/mathematics.md §3).
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree.errors import FileError
from spagree.grouping import Ints, run_starts
from spagree.late import nw
from spagree.read.annotations import COUNT, GROUP, ITEM, LABEL
from spagree.tally.engines import column_names, rows
from spagree.tally.grouped import Pattern
from spagree.tally.tally import text

if TYPE_CHECKING:
    from numpy.typing import NDArray

EMPTY = 0  # the number of the pattern of an item without annotations


class PatternCounts:
    """Every item has a pattern, and equal patterns are stored once; an annotation moves its item to another pattern.

    >>> counts = PatternCounts()
    >>> for label in ("yes", "no", "yes"):
    ...     counts.move(0, label, +1)
    >>> counts.items()
    {(('no', 1), ('yes', 2)): 1}
    >>> counts.move(0, "no", -1)
    >>> counts.items()
    {(('yes', 2),): 1}
    """

    def __init__(self) -> None:
        self._of_item = array("i")
        self._patterns: list[Pattern] = [()]
        self._sizes: list[int] = [0]
        self._numbers: dict[Pattern, int] = {(): EMPTY}
        self._free: list[int] = []

    def move(self, item: int, label: str, step: int) -> None:
        """Count one more annotation of the item, or with ``step`` −1 one less."""
        self._of_item.extend([EMPTY] * (item + 1 - len(self._of_item)))
        counts = dict(self._pattern(item))
        counts[label] = counts.get(label, 0) + step
        if not counts[label]:
            del counts[label]
        self._leave(self._of_item[item])
        self._of_item[item] = number = self._number(pattern(counts))
        self._sizes[number] += 1

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

    @classmethod
    def of(cls, item: NDArray[np.int32], label: NDArray[np.int32], labels: Sequence[str], items: int) -> PatternCounts:
        """From coded annotations, in one pass over arrays; Python handles each pattern once."""
        counts = cls()
        key, count = np.unique(item.astype(np.int64) * max(1, len(labels)) + label, return_counts=True)
        entry_item, entry_label = np.divmod(key, max(1, len(labels)))
        of_item = np.full(items, EMPTY, dtype=np.int32)
        for chosen, place in _same_patterns(entry_item, entry_label, count):
            votes = zip(entry_label[place].tolist(), count[place].tolist(), strict=True)
            number = counts._number(tuple(sorted((labels[code], times) for code, times in votes)))
            counts._sizes[number] = len(chosen)
            of_item[chosen] = number
        counts._of_item.frombytes(of_item.tobytes())
        return counts

    def _number(self, votes: Pattern) -> int:
        """The number of a pattern; a new pattern gets a free number."""
        number = self._numbers.get(votes)
        if number is not None:
            return number
        if not self._free:
            self._free.append(len(self._patterns))
            self._patterns.append(())
            self._sizes.append(0)
        number = self._free.pop()
        self._numbers[votes], self._patterns[number] = number, votes
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


def _same_patterns(item: Ints, label: Ints, count: Ints) -> Iterator[tuple[Ints, slice]]:
    """For each pattern: its items, and the entries of one of them.

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
            yield item[first[chosen]], slice(start, start + size)


MOST_PATTERNS = 300_000
MOST_CLASSES = 40
# Classes per word: ten leave six bits each, enough for most data; two leave 31, more than an item may have.
NARROW, WIDE = 10, 2
BITS = 62  # of a signed 64-bit word: the sign and one bit to detect overflow stay free
OVERFLOWN = 1 << BITS  # all label bits are 0, which no item has
MOST_ROWS_FETCHED = 1_000_000


@dataclass(frozen=True, slots=True)
class _Packing:
    """Which bits of which word hold the count of each label."""

    labels: Sequence[Any]
    classes_per_word: int

    @property
    def words(self) -> int:
        return -(-len(self.labels) // self.classes_per_word)

    @property
    def bits(self) -> int:
        return BITS // -(-len(self.labels) // self.words)

    def chunks(self) -> list[Sequence[Any]]:
        """The labels of each word."""
        size = BITS // self.bits
        return [self.labels[start : start + size] for start in range(0, len(self.labels), size)]

    def unpack(self, words: Ints) -> tuple[list[dict[Any, int]], Ints]:
        """The count of each label that occurs, and the sum of all counts, for each row of words."""
        bits, chunks = self.bits, self.chunks()
        columns = [words[:, word] >> (bits * place) for word, chunk in enumerate(chunks) for place in range(len(chunk))]
        counts = np.column_stack(columns) & ((1 << bits) - 1)
        row, label = np.nonzero(counts)
        votes = list(zip(map(self.labels.__getitem__, label.tolist()), counts[row, label].tolist(), strict=True))
        ends = np.searchsorted(row, np.arange(len(words)), side="right").tolist()
        by_row = [dict(votes[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
        return by_row, counts.sum(axis=1)


@dataclass(frozen=True, slots=True)
class AlikeItems:
    """Items with the same counts and the same values in the item columns."""

    values: tuple[Any, ...]
    """For each of these columns, the value and whether items have several."""
    counts: Mapping[Any, int]
    items: int


def find_patterns(frame: nw.LazyFrame[Any], labels: Mapping[Any, int]) -> dict[Pattern, int] | None:
    """Items per combination of label counts, or None if there are too many combinations to store."""
    groups = find_counts(frame, labels, most=MOST_PATTERNS)
    if groups is None:
        return None
    total: Counter[Pattern] = Counter()
    names = {label: text(label) for label in labels}
    for group in groups:
        total[tuple(sorted((names[label], count) for label, count in group.counts.items()))] += group.items
    del total[()]  # rows of zeros: items without annotations
    return dict(total) if len(total) <= MOST_PATTERNS else None


def find_counts(
    frame: nw.LazyFrame[Any], keys: Mapping[Any, int], of_items: Sequence[str] = (), *, most: int
) -> list[AlikeItems] | None:
    """Items with the same count of every key, in one pass; None if there are too many distinct ones.

    A key is a label, or a pair of group and label. ``of_items`` are columns with one value per item.
    """
    for classes_per_word in (NARROW, WIDE) if 0 < len(keys) <= MOST_CLASSES else ():
        packing = _Packing(list(keys), classes_per_word)
        # Precomputed counts must fit their bits; the sums of single rows are checked afterwards.
        fits = COUNT not in column_names(frame) or max(keys.values()) < 1 << packing.bits
        packed = _packed_rows(frame, packing, of_items, most) if fits else None
        if packed is None:
            continue
        if len(packed) > most:
            return None
        width = 2 * len(of_items)
        words = [[int(word) for word in row[width + 1 : -1]] for row in packed]
        counts, sizes = packing.unpack(np.array(words, dtype=np.int64).reshape(-1, packing.words))
        # A counter that overflows its bits carries into the next, so the digits no longer add up.
        if [int(row[width]) for row in packed] == sizes.tolist():
            return [
                AlikeItems(tuple(row[:width]), votes, int(row[-1])) for row, votes in zip(packed, counts, strict=True)
            ]
    return _counts_in_python(frame, keys, of_items)


def _packed_rows(
    frame: nw.LazyFrame[Any], packing: _Packing, of_items: Sequence[str], most: int
) -> list[tuple[Any, ...]] | None:
    """The rows of the packed pass; None on an engine that refuses sums beyond 64 bits."""
    try:
        return rows(_packed(frame, packing, of_items).head(most + 1))
    except FileError as error:
        if "overflow" in str(error.__cause__).lower():
            return None
        raise


def size(frame: nw.LazyFrame[Any]) -> nw.Expr:
    """How many annotations a group of rows holds: the number of rows, or the sum of their counts."""
    return nw.col(COUNT).sum() if COUNT in column_names(frame) else nw.len().alias(COUNT)


def pattern(counts: Mapping[Any, int]) -> Pattern:
    """The labels of an item with their counts, sorted.

    >>> pattern({"yes": 2, "no": 1})
    (('no', 1), ('yes', 2))
    """
    return tuple(sorted((text(label), count) for label, count in counts.items()))


def _packed(frame: nw.LazyFrame[Any], packing: _Packing, of_items: Sequence[str]) -> nw.LazyFrame[Any]:
    """(item columns…, n, words…, items): items with the same counts."""
    names = [f"word{place}" for place in range(packing.words)]
    has_counts = COUNT in column_names(frame)
    columns = [
        _word(labels, packing.bits, has_counts).alias(name)
        for name, labels in zip(names, packing.chunks(), strict=True)
    ]
    sums = (size(frame).alias("n"), *(nw.col(name).sum() for name in names))
    grouped = per_key(frame.with_columns(*columns), [ITEM], of_items, *sums)
    # Some engines widen a sum beyond 64 bits.
    whole = grouped.with_columns(
        nw.col("n").cast(nw.Int64), nw.col(*names).clip(upper_bound=OVERFLOWN).cast(nw.Int64), *_several(of_items)
    )
    values = [name for column in of_items for name in (column, f"{column}_several")]
    return whole.group_by(*values, "n", *names).agg(nw.len().alias("items"))


def per_key(frame: nw.LazyFrame[Any], keys: Sequence[str], columns: Sequence[str], *sums: nw.Expr) -> nw.LazyFrame[Any]:
    """Sums per key, with the minimum and maximum of each column, and the number of rows without a value."""
    values = [end for name in columns for end in (nw.col(name).min(), nw.col(name).max().alias(f"{name}_last"))]
    lacking = [nw.col(f"{name}_none").sum() for name in columns]
    missing = [nw.col(name).is_null().cast(nw.Int64).alias(f"{name}_none") for name in columns]
    return (frame.with_columns(*missing) if columns else frame).group_by(*keys).agg(*sums, *values, *lacking)


def _several(columns: Sequence[str]) -> list[nw.Expr]:
    """1 if an item has several values in a column; a value in some rows and none in others counts as several."""
    return [
        nw.when(has_several(name)).then(nw.lit(1)).otherwise(nw.lit(0)).alias(f"{name}_several") for name in columns
    ]


def has_several(name: str) -> nw.Expr:
    """Whether a key has several values in a column."""
    differ = (nw.col(name) != nw.col(f"{name}_last")) | (nw.col(f"{name}_none") > 0)
    return ~nw.col(name).is_null() & differ


def _word(keys: Sequence[Any], bits: int, has_counts: bool) -> nw.Expr:
    """1 in the bits of the row's label; 0 when the label belongs to another word."""
    chosen = nw.lit(0, nw.Int64)
    for place, key in reversed(list(enumerate(keys))):
        unit = nw.lit(1 << (bits * place), nw.Int64)
        chosen = nw.when(_is(key)).then(unit).otherwise(chosen)
    return chosen * nw.col(COUNT) if has_counts else chosen


def _is(key: Any) -> nw.Expr:
    """Whether a row has this label, or this pair of group and label."""
    if not isinstance(key, tuple):
        return nw.col(LABEL) == nw.lit(key)
    group, label = key
    in_group = nw.col(GROUP).is_null() if group is None else nw.col(GROUP) == nw.lit(group)
    return in_group & (nw.col(LABEL) == nw.lit(label))


def _counts_in_python(
    frame: nw.LazyFrame[Any], keys: Mapping[Any, int], of_items: Sequence[str]
) -> list[AlikeItems] | None:
    """For many labels, or many annotations per item: counted in Python, if there are few enough rows to fetch."""
    if sum(keys.values()) > MOST_ROWS_FETCHED and COUNT not in column_names(frame):
        return None
    by_group = any(isinstance(key, tuple) for key in keys)
    columns = [GROUP, LABEL] if by_group else [LABEL]
    grouped = per_key(frame, [ITEM, *columns], of_items, size(frame))
    values = [name for column in of_items for name in (column, f"{column}_last", f"{column}_several")]
    marked = grouped.with_columns(*_several(of_items)) if of_items else grouped
    fetched = rows(marked.select(ITEM, *columns, COUNT, *values).head(MOST_ROWS_FETCHED + 1))
    return _items_in_python(fetched, len(columns)) if len(fetched) <= MOST_ROWS_FETCHED else None


def _items_in_python(fetched: Sequence[tuple[Any, ...]], width: int) -> list[AlikeItems]:
    """One entry per item, with the values of its columns and whether they differ between its rows."""
    counts: dict[Any, dict[Any, int]] = {}
    values: dict[Any, list[set[Any]]] = {}
    for item, *row in fetched:
        key, count, about = row[:width], int(row[width]), row[width + 1 :]
        if count:
            counts.setdefault(item, {})[tuple(key) if width > 1 else key[0]] = count
        seen = values.setdefault(item, [set() for _ in range(len(about) // 3)])
        for place in range(len(seen)):
            first, last, several = about[3 * place : 3 * place + 3]
            seen[place] |= {first, last} | ({None} if several and first == last else set())

    def first_and_several(item: Any) -> tuple[Any, ...]:
        return tuple(value for seen in values[item] for value in (next(iter(seen), None), int(len(seen) > 1)))

    return [AlikeItems(first_and_several(item), votes, 1) for item, votes in counts.items()]
