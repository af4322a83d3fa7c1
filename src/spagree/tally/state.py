"""The growing state: annotations come, change and go one at a time, each in O(1) (docs/mathematics.md §3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from math import inf, isnan
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree.errors import DataError, DuplicateError
from spagree.grouping import Codes
from spagree.late import nw
from spagree.options import DuplicatePolicy
from spagree.read.annotations import CLUSTER, is_missing
from spagree.tally.annotation_rows import Annotation, AnnotationRows, Moment
from spagree.tally.count import Counted, HeldAnnotations
from spagree.tally.engines import to_polars
from spagree.tally.grouped import NO_VALUE, Grouped, Pattern, Votes
from spagree.tally.patterns import MOST_PATTERNS, PatternCounts
from spagree.tally.policies import Policies
from spagree.tally.spelling import caution_variants
from spagree.tally.tally import Tally, refuse_overflow
from spagree.tally.tally import text as text_of

if TYPE_CHECKING:
    import polars

MISSING_LABEL, MISSING_ITEM, REPEATED = "missing_label", "missing_item", "repeated"


class State:
    """Annotations that come, change and go, with the exact :class:`Tally` at any moment.

    >>> state = State()
    >>> state
    LiveTally(0 items, 0 annotations, 0 labels)
    >>> for annotator, label in [("ann", "yes"), ("bob", "yes"), ("cyd", "no")]:
    ...     state.add("q1", annotator, label)
    >>> state.tally().cells
    {Cell(n=3, pairs=2, triples=0): 1}
    >>> state.change("q1", "cyd", "yes")
    >>> state.tally().cells
    {Cell(n=3, pairs=6, triples=6): 1}
    >>> state.remove("q1", "cyd")
    >>> state.tally().cells
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
    ) -> State:
        """The state of a whole table, in one pass over its columns.

        The columns are ``item`` and ``label`` and, optionally, ``annotator``, ``time``, ``text`` and ``cluster``;
        ``keys`` holds one key per row.

        >>> import polars
        >>> table = polars.DataFrame({"item": [1, 1, 2], "annotator": ["a", "b", "a"], "label": ["x", None, "y"]})
        >>> state = State.restore(table, keys=[11, 12, 13])
        >>> state.tally().left_out
        {'missing_label': 1}
        >>> state.change(1, "b", "x", key=12)
        >>> dict(state.tally().labels), state.tally().left_out
        ({'x': 2, 'y': 1}, {})
        """
        state = cls(duplicates=duplicates)
        rows = to_polars(nw.from_native(table).lazy())
        state._fill(AnnotationRows.of(rows, keys))
        if CLUSTER in rows.columns:
            for item, cluster in zip(state._rows.item, rows[CLUSTER].to_list(), strict=True):
                state._set_cluster(item, cluster)
        return state

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

    update = change

    def put(
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
        """Add an annotation, or change the existing one: for messages that may arrive twice.

        >>> state = State()
        >>> for label in ("yes", "no", "no"):
        ...     state.put("q1", "ann", label, key=("label-studio", 17))
        >>> dict(state.tally().labels)
        {'no': 1}
        """
        with self._lock:
            there = self._rows.find(self._rows.code(item, annotator, label), key) is not None
            do = self.change if there else self.add
            do(item, annotator, label, time=time, text=text, cluster=cluster, key=key)

    def remove(self, item: Hashable = None, annotator: Hashable = None, *, key: Hashable = None) -> None:
        """Remove an annotation: the exact inverse of :meth:`add`."""
        if not self.discard(item, annotator, key=key):
            raise _no_such_annotation(item, annotator, key, "there is nothing to remove")

    def discard(self, item: Hashable = None, annotator: Hashable = None, *, key: Hashable = None) -> bool:
        """Remove an annotation if it exists, and return whether it did."""
        with self._lock:
            row = self._rows.find(self._rows.code(item, annotator, None), key)
            if row is not None:
                self._book(row, -1)
                self._rows.drop(row)
            return row is not None

    # Answers ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Number of annotations, including those left out of the counts."""
        return len(self._rows)

    def __repr__(self) -> str:
        """What counts at the moment."""
        return f"Live{self.tally()!r}"

    def tally(self) -> Tally:
        """The exact summary of all current annotations."""
        with self._lock:
            if "tally" not in self._answers:
                names = self._rows.annotators.by_code
                annotators = {names[code]: count for code, count in self._per_annotator.items()}
                left_out = {why: count for why, count in self._left_out.items() if count}
                whole = _summary(self._patterns.items(), annotators, left_out)
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

        >>> state = State()
        >>> state.add("q1", "ann", "yes", time="2026-01-01")
        >>> state.add("q1", None, "no")
        >>> state.annotations().rows()
        [('q1', 'ann', 'yes', 1767225600.0), ('q1', None, 'no', None)]
        """
        with self._lock:
            if "annotations" not in self._answers:
                rows = np.flatnonzero(np.frombuffer(bytes(self._is_counted), dtype=np.int8))
                in_order = rows[np.argsort(np.array(self._rows.arrival)[rows], kind="stable")]
                self._answers["annotations"] = self._rows.frame(in_order)
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
    item: Codes, label: Codes, labels: Sequence[str], annotators: dict[str, int], frame: polars.DataFrame
) -> Counted:
    """:meth:`State.counted` for annotations kept as integers elsewhere, and as text in ``frame``.

    ``annotators`` is how many annotations each annotator made.
    """
    patterns = PatternCounts.of(item, label, labels, int(item.max(initial=-1)) + 1).items()
    return _counted(_summary(patterns, annotators, {}), frame)


def _summary(patterns: dict[Pattern, int], annotators: dict[str, int], left_out: dict[str, int]) -> Tally:
    whole = Tally.from_patterns(patterns, annotators if annotators or not patterns else None, left_out)
    return whole if len(patterns) <= MOST_PATTERNS else replace(whole, patterns=None)


def _counted(tally: Tally, frame: polars.DataFrame) -> Counted:
    lazy = nw.from_native(frame).lazy()
    return Counted(tally, HeldAnnotations(lazy), caution_variants(tally.labels))


def _flaw(annotation: Annotation) -> str | None:
    """Why an annotation cannot count; None if it can."""
    return MISSING_LABEL if annotation.label < 0 else MISSING_ITEM if annotation.item < 0 else None


def _no_such_annotation(item: Hashable, annotator: Hashable, key: Hashable, remedy: str) -> DataError:
    if key is not None:
        return DataError(f"there is no annotation with the key {key!r}; {remedy}")
    return DataError(f"annotator {annotator!r} has not labelled item {item!r}; {remedy}")


LiveTally = State
