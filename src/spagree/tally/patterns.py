"""How often each combination of labels on an item occurs: the packed single pass.

Every label gets some bits of a 64-bit word; one group-by over the items then adds up all labels of an item at
once, and a second, over the sums, says how many items share the same counts. A few thousand rows come home,
whatever the number of items, and every estimate for labels follows from them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from spagree.errors import FileError
from spagree.read.annotations import COUNT, ITEM, LABEL
from spagree.tally.engines import column_names, rows
from spagree.tally.tally import Pattern, text

MOST_PATTERNS = 300_000
MOST_CLASSES = 40
# Classes per word: ten leave six bits each, enough for most data; two leave 31, more than an item may have.
NARROW, WIDE = 10, 2
BITS = 62  # of a signed 64-bit word: the sign and one bit to see an overflow stay free
OVERFLOWN = 1 << BITS  # all bits of the labels are 0, which no item's are
MOST_ROWS_AT_HOME = 1_000_000


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

    def unpack(self, words: Sequence[int]) -> dict[Any, int]:
        """The count of each label; a label that does not occur is left out."""
        found, bits = {}, self.bits
        for word, labels in zip(words, self.chunks(), strict=True):
            for place, label in enumerate(labels):
                size = (word >> (bits * place)) % (1 << bits)
                if size:
                    found[label] = size
        return found


def find_patterns(frame: nw.LazyFrame[Any], labels: Mapping[Any, int]) -> dict[Pattern, int] | None:
    """Items per combination of label counts, or None where they are too many to be a summary."""
    for classes_per_word in (NARROW, WIDE) if 0 < len(labels) <= MOST_CLASSES else ():
        packing = _Packing(list(labels), classes_per_word)
        found = _packed_rows(frame, packing) if _fits(frame, labels, packing) else None
        if found is None:
            continue
        if len(found) > MOST_PATTERNS:
            return None
        unpacked = [(packing.unpack(words), n, items) for n, *words, items in found]
        # A counter that overflows its bits carries into the next, so that the digits no longer add up.
        if all(sum(counts.values()) == n for counts, n, _ in unpacked):
            return _gathered((counts, items) for counts, _, items in unpacked)
    return _patterns_at_home(frame, labels)


def _packed_rows(frame: nw.LazyFrame[Any], packing: _Packing) -> list[list[int]] | None:
    """The packed pass, brought home; None on an engine that refuses sums beyond 64 bits."""
    try:
        found = rows(_packed(frame, packing).head(MOST_PATTERNS + 1))
    except FileError as error:
        if "overflow" in str(error.__cause__).lower():
            return None
        raise
    return [[int(value) for value in row] for row in found]


def size(frame: nw.LazyFrame[Any]) -> nw.Expr:
    """How many annotations a group of rows holds: its rows, or what their counts add up to."""
    return nw.col(COUNT).sum() if COUNT in column_names(frame) else nw.len().alias(COUNT)


def pattern(counts: Mapping[Any, int]) -> Pattern:
    """The labels of an item with their counts, in one order.

    >>> pattern({"yes": 2, "no": 1})
    (('no', 1), ('yes', 2))
    """
    return tuple(sorted((text(label), count) for label, count in counts.items()))


def _fits(frame: nw.LazyFrame[Any], labels: Mapping[Any, int], packing: _Packing) -> bool:
    """Ready counts may be too large for their bits from the start; single rows are checked afterwards."""
    return COUNT not in column_names(frame) or max(labels.values()) < 1 << packing.bits


def _packed(frame: nw.LazyFrame[Any], packing: _Packing) -> nw.LazyFrame[Any]:
    """(n, words…, items): items that have the same counts."""
    names = [f"word{place}" for place in range(packing.words)]
    has_counts = COUNT in column_names(frame)
    columns = [
        _word(labels, packing.bits, has_counts).alias(name)
        for name, labels in zip(names, packing.chunks(), strict=True)
    ]
    sums = (
        frame.with_columns(*columns).group_by(ITEM).agg(size(frame).alias("n"), *(nw.col(name).sum() for name in names))
    )
    # Some engines widen a sum beyond 64 bits.
    whole = sums.with_columns(nw.col("n").cast(nw.Int64), nw.col(*names).clip(upper_bound=OVERFLOWN).cast(nw.Int64))
    return whole.group_by("n", *names).agg(nw.len().alias("items"))


def _word(labels: Sequence[Any], bits: int, has_counts: bool) -> nw.Expr:
    """1 in the bits of the row's label; 0 when the label belongs to another word."""
    chosen = nw.lit(0, nw.Int64)
    for place, label in reversed(list(enumerate(labels))):
        unit = nw.lit(1 << (bits * place), nw.Int64)
        chosen = nw.when(nw.col(LABEL) == nw.lit(label)).then(unit).otherwise(chosen)
    return chosen * nw.col(COUNT) if has_counts else chosen


def _patterns_at_home(frame: nw.LazyFrame[Any], labels: Mapping[Any, int]) -> dict[Pattern, int] | None:
    """Many labels, or many annotations of an item: counted here, while they are few enough to bring home."""
    if sum(labels.values()) > MOST_ROWS_AT_HOME and COUNT not in column_names(frame):
        return None
    found = rows(frame.group_by(ITEM, LABEL).agg(size(frame)).head(MOST_ROWS_AT_HOME + 1))
    if len(found) > MOST_ROWS_AT_HOME:
        return None
    items: dict[Any, dict[Any, int]] = {}
    for item, label, count in found:
        if int(count):
            items.setdefault(item, {})[label] = int(count)
    return _gathered((counts, 1) for counts in items.values())


def _gathered(found: Iterable[tuple[Mapping[Any, int], int]]) -> dict[Pattern, int] | None:
    total: Counter[Pattern] = Counter()
    for counts, items in found:
        total[pattern(counts)] += items
    del total[()]  # rows of zeros: items without annotations
    return dict(total) if len(total) <= MOST_PATTERNS else None
