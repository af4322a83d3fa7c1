"""The growing tally: annotations come, change and go one at a time, each in O(1) (docs/mathematics.md §3)."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf, isfinite, isnan, nan
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np
import polars

from spagree.codes import UNKNOWN, Codes, Int32s, Ints, in_order
from spagree.counts.count import MOST_PATTERNS, Counted, coded_patterns, tally_of_codes
from spagree.counts.engines import to_polars
from spagree.counts.fetch import code_items, code_names
from spagree.counts.items import Held
from spagree.counts.labels import warn_variants
from spagree.counts.people import with_people_of_codes
from spagree.counts.policies import Policies
from spagree.counts.tally import NO_VALUE, Grouped, Pattern, Tally, Votes, refuse_overflow, text
from spagree.counts.tally import text as text_of
from spagree.errors import DataError, DuplicateError, count
from spagree.options import DuplicatePolicy
from spagree.read.annotations import ANNOTATOR, CLUSTER, ITEM, LABEL, TEXT, TIME, is_missing
from spagree.read.timestamps import unix_seconds

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(slots=True, eq=False)
class _Alike:
    """How many items have a pattern."""

    pattern: Pattern
    items: int = 0


EMPTY = _Alike(())  # of items without annotations, which are not counted


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
        self._of_item: list[_Alike] = []
        self._known: dict[Pattern, _Alike] = {}

    def move(self, item: int, label: str, step: int) -> None:
        """Count one more annotation of the item, or with ``step`` −1 one less."""
        self._of_item.extend([EMPTY] * (item + 1 - len(self._of_item)))
        before = self._of_item[item]
        counts = dict(before.pattern)
        counts[label] = counts.get(label, 0) + step
        if not counts[label]:
            del counts[label]
        if before is not EMPTY:
            before.items -= 1
            if not before.items:
                del self._known[before.pattern]
        self._of_item[item] = self._enter(pattern(counts), 1) if counts else EMPTY

    def annotations_of(self, item: int) -> int:
        """How many annotations of the item are counted."""
        return sum(count for _, count in self._of_item[item].pattern) if 0 <= item < len(self._of_item) else 0

    def items(self) -> dict[Pattern, int]:
        """The number of items with each pattern that occurs."""
        return {pattern: alike.items for pattern, alike in self._known.items()}

    def of_items(self) -> Iterator[tuple[int, Pattern]]:
        """Every annotated item with its pattern."""
        return ((item, alike.pattern) for item, alike in enumerate(self._of_item) if alike is not EMPTY)

    @classmethod
    def of(cls, item: NDArray[np.int32], label: NDArray[np.int32], labels: Sequence[str], items: int) -> PatternCounts:
        """From coded annotations, in one pass over arrays; Python handles each pattern once."""
        counts, width = cls(), max(1, len(labels))
        key, count = np.unique(item.astype(np.int64) * width + label, return_counts=True)
        annotated = np.unique(key // width)
        found = coded_patterns(labels, key // width, key % width, count, len(annotated))
        of_item = np.full(items, EMPTY, dtype=object)
        if found is not None:
            patterns, number = found
            sizes = np.bincount(number, minlength=len(patterns)).tolist()
            alike = [counts._enter(tuple(sorted(each)), size) for each, size in zip(patterns, sizes, strict=True)]
            of_item[annotated] = np.array(alike, dtype=object)[number]
        counts._of_item = of_item.tolist()
        return counts

    def _enter(self, votes: Pattern, items: int) -> _Alike:
        """So many more items with this pattern."""
        alike = self._known.setdefault(votes, _Alike(votes))
        alike.items += items
        return alike


def pattern(counts: Mapping[Any, int]) -> Pattern:
    """The labels of an item with their counts, sorted.

    >>> pattern({"yes": 2, "no": 1})
    (('no', 1), ('yes', 2))
    """
    return tuple(sorted((text(label), count) for label, count in counts.items()))


MISSING_LABEL, MISSING_ITEM, REPEATED = "missing_label", "missing_item", "repeated"


class LiveTally:
    """Annotations that come, change and go, with the exact :class:`Tally` at any moment.

    >>> live = LiveTally()
    >>> live
    LiveTally(0 items, 0 annotations, 0 labels)
    >>> for annotator, label in [("ann", "yes"), ("bob", "yes"), ("cyd", "no")]:
    ...     live.add("q1", annotator, label)
    >>> live.tally().cells
    {Cell(n=3, pairs=2, triples=0): 1}
    >>> live.change("q1", "cyd", "yes")
    >>> live.tally().cells
    {Cell(n=3, pairs=6, triples=6): 1}
    >>> live.remove("q1", "cyd")
    >>> live.tally().cells
    {Cell(n=2, pairs=2, triples=0): 1}

    What counts is decided as in :func:`spagree.tally`. Items, annotators and labels are identified by their text:
    ``1`` and ``"1"`` are the same, ``True`` is ``"true"``. None and NaN are missing: an annotation without a label or
    an item is kept and counted as left out, and any number of annotations may lack an annotator. An annotator has one
    annotation per item; if there are more, under other keys, ``duplicates`` decides: ``"error"`` refuses a different
    label, ``"first"`` and ``"last"`` count one of them, by time and then by arrival; an unknown time sorts first.

    An annotation is identified by its ``key``, or without one by item and annotator. Methods are thread-safe. Each
    either completes or, if it raises, changes nothing; returned values do not change later.
    """

    def __init__(self, *, duplicates: DuplicatePolicy = "error") -> None:
        self._duplicates = Policies(duplicates).duplicates
        self._lock = RLock()
        self._rows = AnnotationRows()
        self._is_counted = bytearray()
        self._counting: dict[int, int] = {}  # item and annotator → the annotation that counts
        self._repeats: dict[int, list[int]] = {}  # item and annotator → those that do not
        self._patterns = PatternCounts()
        self._per_annotator: Counter[int] = Counter()  # annotations that count
        self._left_out: Counter[str] = Counter()
        self._clusters: dict[int, str] = {}  # only items that have one
        self._answers: dict[str, Any] = {}  # until the next change

    @classmethod
    def restore(
        cls, table: Any, *, keys: Sequence[Hashable] | None = None, duplicates: DuplicatePolicy = "error"
    ) -> LiveTally:
        """The tally of a whole table, in one pass over its columns.

        The columns are ``item`` and ``label`` and, optionally, ``annotator``, ``time``, ``text`` and ``cluster``;
        ``keys`` holds one key per row.

        >>> import polars
        >>> table = polars.DataFrame({"item": [1, 1, 2], "annotator": ["a", "b", "a"], "label": ["x", None, "y"]})
        >>> live = LiveTally.restore(table, keys=[11, 12, 13])
        >>> live.tally().left_out
        {'missing_label': 1}
        >>> live.change(1, "b", "x", key=12)
        >>> dict(live.tally().labels), live.tally().left_out
        ({'x': 2, 'y': 1}, {})
        """
        live = cls(duplicates=duplicates)
        rows = to_polars(nw.from_native(table).lazy())
        live._fill(AnnotationRows.of(rows, keys))
        if CLUSTER in rows.columns:
            for item, cluster in zip(live._rows.item, rows[CLUSTER].to_list(), strict=True):
                live._set_cluster(item, cluster)
        return live

    # Changes ---------------------------------------------------------------------------------

    def add(
        self,
        item: Hashable,
        annotator: Hashable,
        label: Hashable,
        *,
        time: Moment = None,
        text: str | None = None,
        cluster: Hashable = None,
        key: Hashable = None,
    ) -> None:
        """Count a new annotation. Adding the same one again changes nothing.

        ``time`` is in seconds since 1970, a datetime or ISO 8601 (UTC unless it names a zone); ``text`` and
        ``cluster`` belong to the item; ``cluster`` need only be given once.
        """
        with self._lock:
            annotation = self._rows.code(item, annotator, label, time, text)
            row = self._rows.find(annotation, key)
            if row is None:
                self._check(annotation, None)
            elif self._rows.at(row)[:3] != annotation[:3]:
                raise self._another_label(row)
            self._set_cluster(annotation.item, cluster)
            if row is None:
                row = self._rows.append(annotation, key)
                self._is_counted.extend(bytes(self._rows.places - len(self._is_counted)))
                self._book(row, 1)

    def change(
        self,
        item: Hashable,
        annotator: Hashable,
        label: Hashable,
        *,
        time: Moment = None,
        text: str | None = None,
        cluster: Hashable = None,
        key: Hashable = None,
    ) -> None:
        """Change the label of an annotation, or with ``key`` all of it; time and text are kept unless given."""
        with self._lock:
            annotation = self._rows.code(item, annotator, label, time, text)
            row = self._rows.find(annotation, key)
            if row is None:
                raise _no_such_annotation(item, annotator, key, "add the annotation first")
            before = self._rows.at(row)
            if time is None:
                annotation = annotation._replace(time=before.time)
            if text is None:
                annotation = annotation._replace(text=before.text)
            self._check(annotation, row)
            self._set_cluster(annotation.item, cluster)
            self._book(row, -1)
            self._rows.write(row, annotation)
            self._book(row, 1)

    def remove(self, item: Hashable = None, annotator: Hashable = None, *, key: Hashable = None) -> None:
        """Remove an annotation: the exact inverse of :meth:`add`."""
        with self._lock:
            row = self._rows.find(self._rows.code(item, annotator, None), key)
            if row is None:
                raise _no_such_annotation(item, annotator, key, "there is nothing to remove")
            self._book(row, -1)
            self._rows.drop(row)

    # Answers ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Number of annotations, including those left out of the counts."""
        return len(self._rows)

    def __repr__(self) -> str:
        """What counts at the moment."""
        return f"Live{self._counts()!r}"

    def tally(self) -> Tally:
        """The exact summary of all current annotations."""
        with self._lock:
            if "whole" not in self._answers:
                rows = self._rows_that_count()
                item, label, annotator = (
                    np.array(column)[rows] for column in (self._rows.item, self._rows.label, self._rows.annotator)
                )
                names = self._rows.labels.by_code, self._rows.annotators.by_code
                self._answers["whole"] = _with_people(self._counts(), in_order(item, label, annotator, *names))
            whole: Tally = self._answers["whole"]
            return whole

    def _rows_that_count(self) -> Ints:
        return np.flatnonzero(np.frombuffer(bytes(self._is_counted), dtype=np.int8))

    def _counts(self) -> Tally:
        """The tally without the kinds of annotations of each annotator, which take a pass over all annotations."""
        with self._lock:
            if "tally" not in self._answers:
                names = self._rows.annotators.by_code
                annotators = {names[code]: count for code, count in self._per_annotator.items()}
                left_out = {why: count for why, count in self._left_out.items() if count}
                patterns = self._patterns.items()
                whole = Tally.from_patterns(patterns, annotators if annotators or not patterns else None, left_out)
                whole = whole if len(patterns) <= MOST_PATTERNS else replace(whole, patterns=None)
                self._answers["tally"] = replace(whole, grouped=self._grouped()) if self._clusters else whole
            tally: Tally = self._answers["tally"]
            return tally

    def _grouped(self) -> Grouped:
        """Items by cluster: one pass over the items, on demand."""
        items: Counter[tuple[str, Votes]] = Counter()
        for item, pattern in self._patterns.of_items():
            votes = tuple((NO_VALUE, label, count) for label, count in pattern)
            items[self._clusters.get(item, NO_VALUE), votes] += 1
        return Grouped("cluster", None, dict(items))

    def _set_cluster(self, item: int, cluster: Hashable) -> None:
        """Remember the cluster of an item; a different one is refused."""
        if is_missing(cluster) or item < 0:
            return
        named = text_of(cluster)
        if self._clusters.get(item, named) != named:
            name = self._rows.items.by_code[item]
            raise DataError(
                f"item {name!r} is in cluster {self._clusters[item]!r}, and an item belongs to one; correct it"
            )
        self._clusters[item] = named
        self._answers.clear()

    def annotations(self) -> polars.DataFrame:
        """The annotations that count: ``item, annotator, label``, plus ``time`` and ``text`` if any has one.

        >>> live = LiveTally()
        >>> live.add("q1", "ann", "yes", time="2026-01-01")
        >>> live.add("q1", None, "no")
        >>> live.annotations().rows()
        [('q1', 'ann', 'yes', 1767225600.0), ('q1', None, 'no', None)]
        """
        with self._lock:
            if "annotations" not in self._answers:
                rows = self._rows_that_count()
                by_arrival = rows[np.argsort(np.array(self._rows.arrival)[rows], kind="stable")]
                self._answers["annotations"] = self._rows.frame(by_arrival)
            frame: polars.DataFrame = self._answers["annotations"]
            return frame

    def counted(self) -> Counted:
        """The current tally with the annotations behind it: the input of :func:`spagree.measure`."""
        with self._lock:
            return _counted(self.tally(), self.annotations())

    # Counting --------------------------------------------------------------------------------

    def _check(self, annotation: Annotation, row: int | None) -> None:
        """Refuse what cannot be counted, before anything changes."""
        refuse_overflow(self._patterns.annotations_of(annotation.item) + 1)
        others = self._others(annotation.pair, row) if _flaw(annotation) is None else []
        if self._duplicates == "error" and others and self._rows.label[others[0]] != annotation.label:
            raise self._another_label(others[0])

    def _book(self, row: int, step: int) -> None:
        """Count a row, or count it as left out; ``step`` −1 is the inverse."""
        self._answers.clear()
        annotation = self._rows.at(row)
        flaw = _flaw(annotation)
        if flaw is not None:
            self._left_out[flaw] += step
        elif annotation.pair is None:
            self._count(row, step)
        else:
            others = self._others(annotation.pair, row)
            self._settle(annotation.pair, [*others, row] if step > 0 else others)

    def _others(self, pair: int | None, row: int | None) -> list[int]:
        """An annotator's other annotations of an item: first the one that counts."""
        rows = [self._counting[pair], *self._repeats.get(pair, ())] if pair in self._counting else []
        return [other for other in rows if other != row]

    def _settle(self, pair: int, rows: list[int]) -> None:
        """Count one of an annotator's annotations of an item; the others are repeats."""
        chosen = (max if self._duplicates == "last" else min)(rows, key=self._moment, default=None)
        before = self._counting.pop(pair, None)
        if before is not None and before != chosen:
            self._count(before, -1)
        if chosen is not None and before != chosen:
            self._count(chosen, 1)
        if chosen is not None:
            self._counting[pair] = chosen
        self._left_out[REPEATED] += max(0, len(rows) - 1) - len(self._repeats.pop(pair, ()))
        if len(rows) > 1:
            self._repeats[pair] = [row for row in rows if row != chosen]

    def _moment(self, row: int) -> tuple[float, int]:
        time = self._rows.time[row]
        return (-inf if isnan(time) else time, self._rows.arrival[row])

    def _count(self, row: int, step: int) -> None:
        annotation = self._rows.at(row)
        self._patterns.move(annotation.item, self._rows.labels.by_code[annotation.label], step)
        self._is_counted[row] = step > 0
        if annotation.annotator >= 0:
            self._per_annotator[annotation.annotator] += step
            if not self._per_annotator[annotation.annotator]:
                del self._per_annotator[annotation.annotator]

    def _fill(self, rows: AnnotationRows) -> None:
        """Count restored rows: repeats one at a time, all others at once."""
        self._rows = rows
        item, annotator, label = (np.array(codes) for codes in (rows.item, rows.annotator, rows.label))
        self._left_out[MISSING_LABEL] = int((label < 0).sum())
        self._left_out[MISSING_ITEM] = int(((label >= 0) & (item < 0)).sum())
        usable = (label >= 0) & (item >= 0)
        refuse_overflow(int(np.bincount(item[usable]).max(initial=0)))
        named = np.flatnonzero(usable & (annotator >= 0))
        pairs, first = np.unique(item[named].astype(np.int64) << 32 | annotator[named], return_index=True)
        repeats = np.setdiff1d(named, named[first], assume_unique=True)
        usable[repeats] = False
        self._counting = dict(zip(pairs.tolist(), named[first].tolist(), strict=True))
        self._patterns = PatternCounts.of(item[usable], label[usable], rows.labels.by_code, len(rows.items.by_code))
        counts = np.bincount(annotator[named[first]], minlength=len(rows.annotators.by_code))
        self._per_annotator = Counter({code: count for code, count in enumerate(counts.tolist()) if count})
        self._is_counted = bytearray(usable.astype(np.int8).tobytes())
        for row in repeats.tolist():
            self._check(rows.at(row), row)
            self._book(row, 1)

    def _another_label(self, row: int) -> DuplicateError:
        item, annotator, label = self._rows.names(row)
        return DuplicateError(
            f"annotator {annotator!r} has already labelled item {item!r} {label!r}; use change to change the label"
        )


def counted_codes(
    item: Int32s,
    annotator: Int32s,
    label: Int32s,
    annotators: Sequence[str],
    labels: Sequence[str],
    frame: polars.DataFrame,
) -> Counted:
    """:meth:`LiveTally.counted` for annotations kept as integers elsewhere, and as text in ``frame``."""
    order = np.array(sorted(range(len(labels)), key=labels.__getitem__), dtype=np.int32)
    codes = in_order(
        item, np.argsort(order).astype(np.int32)[label], annotator, [labels[place] for place in order], annotators
    )
    return _counted(_with_people(tally_of_codes(codes, {}), codes), frame)


def _with_people(tally: Tally, codes: Codes) -> Tally:
    """The tally with the kinds of annotations of each annotator; of unknown annotators nothing is known."""
    return tally if tally.annotators is None else with_people_of_codes(tally, codes)


def _counted(tally: Tally, frame: polars.DataFrame) -> Counted:
    lazy = nw.from_native(frame).lazy()
    return Counted(tally, Held(lazy), warn_variants(tally.labels))


def _flaw(annotation: Annotation) -> str | None:
    """Why an annotation cannot count; None if it can."""
    return MISSING_LABEL if annotation.label < 0 else MISSING_ITEM if annotation.item < 0 else None


def _no_such_annotation(item: Hashable, annotator: Hashable, key: Hashable, remedy: str) -> DataError:
    if key is not None:
        return DataError(f"there is no annotation with the key {key!r}; {remedy}")
    return DataError(f"annotator {annotator!r} has not labelled item {item!r}; {remedy}")


Moment = float | datetime | str | None
"""Seconds since 1970, a datetime or ISO 8601; UTC where it names no zone."""


class Annotation(NamedTuple):
    """One annotation in codes; −1 for a missing value, NaN for an unknown time."""

    item: int
    annotator: int
    label: int
    time: float = nan
    text: int = UNKNOWN

    @property
    def pair(self) -> int | None:
        """Item and annotator as one number; None if the annotator is unknown."""
        return self.item << 32 | self.annotator if self.annotator >= 0 else None


class Names:
    """Texts and their integer codes."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.by_code = list(names)
        self._codes = {name: code for code, name in enumerate(self.by_code)}

    def code(self, value: object) -> int:
        """The code of a value, new or not; −1 for a missing one."""
        if is_missing(value):
            return UNKNOWN
        name = text(value)
        code = self._codes.setdefault(name, len(self.by_code))
        if code == len(self.by_code):
            self.by_code.append(name)
        return code

    def name(self, code: int) -> str | None:
        """The text of a code; None for a missing one."""
        return self.by_code[code] if code >= 0 else None


class AnnotationRows:
    """Parallel columns with one row per annotation, found by its key or by item and annotator.

    >>> rows = AnnotationRows()
    >>> row = rows.append(rows.code("q1", "ann", "yes", time=60), key=None)
    >>> rows.find(rows.code("q1", "ann", None), key=None), rows.names(row), rows.at(row).time
    (0, ('q1', 'ann', 'yes'), 60.0)
    """

    def __init__(self) -> None:
        self.items, self.annotators, self.labels, self.texts = Names(), Names(), Names(), Names()
        self.item, self.annotator, self.label, self.text = array("i"), array("i"), array("i"), array("i")
        self.time, self.arrival = array("d"), array("q")
        self._keys: list[Hashable] = []
        self._free: list[int] = []
        self._by_key: dict[Hashable, int] = {}
        self._by_pair: dict[int | None, int] = {}
        self._arrived = 0

    def __len__(self) -> int:
        """Number of annotations."""
        return len(self._keys) - len(self._free)

    @property
    def places(self) -> int:
        """Number of rows, including those of removed annotations."""
        return len(self._keys)

    def code(
        self, item: Hashable, annotator: Hashable, label: Hashable, time: Moment = None, words: str | None = None
    ) -> Annotation:
        """An annotation in codes; it has no row yet."""
        try:
            hash((item, annotator, label))
        except TypeError as error:
            raise DataError(f"a label or id cannot be compared ({error}); convert it to a string first") from None
        when = seconds(time)  # first: it may be refused
        codes = self.items.code(item), self.annotators.code(annotator), self.labels.code(label)
        return Annotation(*codes, when, self.texts.code(words))

    def find(self, annotation: Annotation, key: Hashable) -> int | None:
        """The row of an annotation: by its key, or for annotations without a key by item and annotator."""
        return self._by_pair.get(annotation.pair) if key is None else self._by_key.get(key)

    def at(self, row: int) -> Annotation:
        """The annotation in a row."""
        return Annotation(self.item[row], self.annotator[row], self.label[row], self.time[row], self.text[row])

    def names(self, row: int) -> tuple[str | None, str | None, str | None]:
        """The names of item, annotator and label in a row."""
        item, annotator, label, *_ = self.at(row)
        return self.items.name(item), self.annotators.name(annotator), self.labels.name(label)

    def append(self, annotation: Annotation, key: Hashable) -> int:
        """Add an annotation in a new row and return the row."""
        if not self._free:
            self._free.append(len(self._keys))
            self._keys.append(None)
            for column in (self.item, self.annotator, self.label, self.text, self.time, self.arrival):
                column.append(0)
        row = self._free.pop()
        self._arrived += 1
        self._keys[row], self.arrival[row] = key, self._arrived
        if key is not None:
            self._by_key[key] = row
        elif annotation.pair is not None:
            self._by_pair[annotation.pair] = row
        self.write(row, annotation)
        return row

    def write(self, row: int, annotation: Annotation) -> None:
        """Overwrite the annotation in this row."""
        self.item[row], self.annotator[row], self.label[row], self.time[row], self.text[row] = annotation

    def drop(self, row: int) -> None:
        """Remove the annotation in this row."""
        if self._keys[row] is None:
            self._by_pair.pop(self.at(row).pair, None)
        else:
            del self._by_key[self._keys[row]]
        self._keys[row] = None
        self._free.append(row)

    @classmethod
    def of(cls, table: polars.DataFrame, keys: Sequence[Hashable] | None) -> AnnotationRows:
        """The rows of a table, in their order."""
        size = table.height
        if keys is not None and not len(keys) == len(set(keys)) == size:
            raise DataError(f"{len(keys):,} keys for {size:,} annotations; each annotation needs its own key")
        rows = cls()
        item, items = code_items(table[ITEM])
        rows.items = Names([text(item) for item in items.to_list()])
        rows.item.frombytes(item.tobytes())
        for name, column in ((ANNOTATOR, rows.annotator), (LABEL, rows.label), (TEXT, rows.text)):
            codes, names = code_names(table[name]) if name in table.columns else (np.full(size, UNKNOWN, np.int32), [])
            column.frombytes(codes.astype(np.int32).tobytes())
            setattr(rows, f"{name}s", Names(names))
        rows.time.frombytes((_seconds(table[TIME]) if TIME in table.columns else np.full(size, nan)).tobytes())
        rows.arrival.frombytes(np.arange(1, size + 1, dtype=np.int64).tobytes())
        rows._arrived = size
        rows._keys = [None] * size if keys is None else list(keys)
        if keys is not None:
            rows._by_key = {key: row for row, key in enumerate(keys)}
            return rows
        named = np.flatnonzero(np.array(rows.annotator) >= 0)
        pairs = np.array(rows.item, dtype=np.int64)[named] << 32 | np.array(rows.annotator)[named]
        rows._by_pair = dict(zip(pairs.tolist(), named.tolist(), strict=True))
        repeats = len(named) - len(rows._by_pair)
        if repeats:
            raise DuplicateError(
                f"{count(repeats, 'row repeats', 'rows repeat')} an item and annotator; give each row a key"
            )
        return rows

    def frame(self, chosen: NDArray[np.int64]) -> polars.DataFrame:
        """The chosen annotations: ``item, annotator, label``, plus ``time`` and ``text`` if any has one."""
        named = {
            ITEM: (self.items, self.item),
            ANNOTATOR: (self.annotators, self.annotator),
            LABEL: (self.labels, self.label),
            TEXT: (self.texts, self.text),
        }
        columns = []
        for name, (names, column) in named.items():
            codes = np.array(column)[chosen]
            texts = polars.Series(name, [*names.by_code, None], dtype=polars.String)
            columns.append(texts.gather(np.where(codes >= 0, codes, len(names.by_code))))
        columns.insert(3, polars.Series(TIME, np.array(self.time)[chosen], dtype=polars.Float64).fill_nan(None))
        return polars.DataFrame([column for column in columns if column.name not in (TIME, TEXT) or column.count()])


def seconds(time: Moment) -> float:
    """Seconds since 1970; NaN for an unknown time.

    >>> seconds(60), seconds("1970-01-01T00:01Z"), seconds(None)
    (60.0, 60.0, nan)
    """
    if is_missing(time) or time is None:
        return nan
    try:
        when = datetime.fromisoformat(time) if isinstance(time, str) else time
        if isinstance(when, datetime):
            return unix_seconds(when)
        number = float(when)
    except (TypeError, ValueError):
        number = nan
    if not isfinite(number):
        raise DataError(f"time {time!r}: neither a number (unix seconds) nor a datetime or ISO 8601 text; correct it")
    return number


def _seconds(times: polars.Series) -> NDArray[np.float64]:
    """The same for a column; text values one at a time."""
    if times.dtype == polars.String:
        return np.array([seconds(time) for time in times.to_list()], dtype=np.float64)
    if times.dtype.is_temporal():
        times = times.cast(polars.Datetime("us")).dt.epoch("us") / 1e6
    return times.cast(polars.Float64).fill_null(nan).to_numpy()
