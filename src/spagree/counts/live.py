"""The growing tally: annotations come, change and go one at a time, each in O(1) (docs/mathematics.md §3)."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from datetime import datetime
from math import inf, isfinite, nan
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np
import polars

from spagree.codes import UNKNOWN, Codes, Int32s, Ints, in_order, run_starts
from spagree.counts.count import Counted, coded_patterns, tally_of_codes
from spagree.counts.engines import to_polars
from spagree.counts.fetch import code_items, code_names
from spagree.counts.items import Held
from spagree.counts.labels import warn_variants
from spagree.counts.people import with_people_of_codes
from spagree.counts.policies import Policies
from spagree.counts.tally import NO_VALUE, Grouped, Tally, Votes, refuse_overflow
from spagree.counts.tally import text as text_of
from spagree.errors import DataError, DuplicateError, count
from spagree.options import DuplicatePolicy
from spagree.read.annotations import ANNOTATOR, CLUSTER, ITEM, LABEL, TEXT, TIME, is_missing
from spagree.read.timestamps import unix_seconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

REMOVED = -2  # in place of the label's code: the row is free
Moment = float | datetime | str | None
"""Seconds since 1970, a datetime or ISO 8601; UTC where it names no zone."""


class Annotation(NamedTuple):
    """One annotation in codes; −1 for a missing value, NaN for an unknown time."""

    item: int
    annotator: int
    label: int
    text: int = UNKNOWN
    time: float = nan

    @property
    def pair(self) -> int | None:
        """Item and annotator as one number; None if the annotator is unknown."""
        return self.item << 32 | self.annotator if self.annotator >= 0 else None

    @property
    def is_usable(self) -> bool:
        """Whether it has an item and a label, so that it can count."""
        return self.item >= 0 and self.label >= 0


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

    # Parallel columns with one row per annotation. What counts is decided when it is asked for, in one pass over them.

    def __init__(self, *, duplicates: DuplicatePolicy = "error") -> None:
        self._duplicates = Policies(duplicates).duplicates
        self._lock = RLock()
        self._codes: dict[str, dict[str, int]] = {role: {} for role in (ITEM, ANNOTATOR, LABEL, TEXT)}
        self._columns: dict[str, array[Any]] = {role: array("i") for role in self._codes} | {TIME: array("d")}
        self._arrival = array("q")
        self._arrived = 0
        self._keys: list[Hashable] = []
        self._free: list[int] = []
        self._by_key: dict[Hashable, int] = {}
        self._by_pair: dict[int, list[int]] = {}  # item and annotator → rows
        self._per_item: Counter[int] = Counter()  # annotations with a label
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
        size = rows.height
        if keys is not None and not len(keys) == len(set(keys)) == size:
            raise DataError(f"{len(keys):,} keys for {size:,} annotations; each annotation needs its own key")
        for role in live._codes:
            codes, names = np.full(size, UNKNOWN, np.int32), []
            if role == ITEM:
                codes, items = code_items(rows[ITEM])
                names = [*map(text_of, items.to_list())]
            elif role in rows.columns:
                codes, names = code_names(rows[role])
            live._codes[role] = {name: code for code, name in enumerate(names)}
            live._columns[role].frombytes(codes.astype(np.int32).tobytes())
        live._columns[TIME].frombytes((_seconds(rows[TIME]) if TIME in rows.columns else np.full(size, nan)).tobytes())
        live._arrived, live._keys = size, [None] * size if keys is None else list(keys)
        live._arrival.frombytes(np.arange(1, size + 1, dtype=np.int64).tobytes())
        live._by_key = {} if keys is None else {key: row for row, key in enumerate(keys)}
        item, annotator, label = (np.array(live._columns[role]) for role in (ITEM, ANNOTATOR, LABEL))
        live._per_item = Counter(item[(item >= 0) & (label >= 0)].tolist())
        refuse_overflow(max(live._per_item.values(), default=0))
        named = np.flatnonzero(annotator >= 0)
        pairs = item[named].astype(np.int64) << 32 | annotator[named]
        for row, pair in zip(named.tolist(), pairs.tolist(), strict=True):
            live._by_pair.setdefault(pair, []).append(row)
        if repeats := len(named) - len(live._by_pair):
            if keys is None:
                raise DuplicateError(
                    f"{count(repeats, 'row repeats', 'rows repeat')} an item and annotator; give each row a key"
                )
            for row in (row for again in live._by_pair.values() for row in again[1:]):
                live._check(live._at(row), row)
        if CLUSTER in rows.columns:
            for code, cluster in zip(item.tolist(), rows[CLUSTER].to_list(), strict=True):
                live._set_cluster(code, cluster)
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
            annotation = self._coded(item, annotator, label, time, text)
            row = self._find(annotation, key)
            if row is None:
                self._check(annotation)
            elif self._at(row)[:3] != annotation[:3]:
                raise self._another_label(row)
            self._set_cluster(annotation.item, cluster)
            if row is not None:
                return
            if not self._free:
                self._free.append(len(self._keys))
                self._keys.append(None)
                for column in (*self._columns.values(), self._arrival):
                    column.append(0)
            row = self._free.pop()
            self._arrived += 1
            self._keys[row], self._arrival[row] = key, self._arrived
            if key is not None:
                self._by_key[key] = row
            self._enter(row, annotation)

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
            annotation = self._coded(item, annotator, label, time, text)
            row = self._find(annotation, key)
            if row is None:
                raise _no_such_annotation(item, annotator, key, "add the annotation first")
            before = self._at(row)
            if time is None:
                annotation = annotation._replace(time=before.time)
            if text is None:
                annotation = annotation._replace(text=before.text)
            self._check(annotation, row)
            self._set_cluster(annotation.item, cluster)
            self._leave(row)
            self._enter(row, annotation)

    def remove(self, item: Hashable = None, annotator: Hashable = None, *, key: Hashable = None) -> None:
        """Remove an annotation: the exact inverse of :meth:`add`."""
        with self._lock:
            row = self._find(self._coded(item, annotator, None), key)
            if row is None:
                raise _no_such_annotation(item, annotator, key, "there is nothing to remove")
            self._leave(row)
            self._columns[LABEL][row] = REMOVED
            if self._keys[row] is not None:
                del self._by_key[self._keys[row]]
            self._keys[row] = None
            self._free.append(row)

    def _coded(
        self, item: Hashable, annotator: Hashable, label: Hashable, time: Moment = None, text: str | None = None
    ) -> Annotation:
        """An annotation in codes; it has no row yet."""
        try:
            hash((item, annotator, label))
        except TypeError as error:
            raise DataError(f"a label or id cannot be compared ({error}); convert it to a string first") from None
        when = seconds(time)  # first: it may be refused
        known = []
        for codes, value in zip(self._codes.values(), (item, annotator, label, text), strict=True):
            known.append(UNKNOWN if is_missing(value) else codes.setdefault(text_of(value), len(codes)))
        return Annotation._make([*known, when])

    def _at(self, row: int) -> Annotation:
        return Annotation(*(column[row] for column in self._columns.values()))

    def _find(self, annotation: Annotation, key: Hashable) -> int | None:
        """The row of an annotation: by its key, or for annotations without a key by item and annotator."""
        if key is not None:
            return self._by_key.get(key)
        rows = () if annotation.pair is None else self._by_pair.get(annotation.pair, ())
        return next((row for row in rows if self._keys[row] is None), None)

    def _check(self, annotation: Annotation, row: int | None = None) -> None:
        """Refuse what cannot be counted, before anything changes; ``row`` is where the annotation stands already."""
        is_new = row is None or self._columns[ITEM][row] != annotation.item
        refuse_overflow(self._per_item[annotation.item] + is_new)
        if self._duplicates != "error" or annotation.pair is None or not annotation.is_usable:
            return
        for other in self._by_pair.get(annotation.pair, ()):
            label = self._columns[LABEL][other]
            if other != row and label >= 0 and label != annotation.label:
                raise self._another_label(other)

    def _another_label(self, row: int) -> DuplicateError:
        codes = self._at(row)[:3]
        item, annotator, label = (
            [*self._codes[role]][code] if code >= 0 else None
            for role, code in zip((ITEM, ANNOTATOR, LABEL), codes, strict=True)
        )
        return DuplicateError(
            f"annotator {annotator!r} has already labelled item {item!r} {label!r}; use change to change the label"
        )

    def _enter(self, row: int, annotation: Annotation) -> None:
        self._answers.clear()
        for column, value in zip(self._columns.values(), annotation, strict=True):
            column[row] = value
        self._per_item[annotation.item] += annotation.is_usable
        if annotation.pair is not None:
            self._by_pair.setdefault(annotation.pair, []).append(row)

    def _leave(self, row: int) -> None:
        self._answers.clear()
        annotation = self._at(row)
        self._per_item[annotation.item] -= annotation.is_usable
        if annotation.pair is not None:
            self._by_pair[annotation.pair].remove(row)
            if not self._by_pair[annotation.pair]:
                del self._by_pair[annotation.pair]

    def _set_cluster(self, item: int, cluster: Hashable) -> None:
        """Remember the cluster of an item; a different one is refused."""
        if is_missing(cluster) or item < 0:
            return
        named = text_of(cluster)
        if self._clusters.get(item, named) != named:
            name = [*self._codes[ITEM]][item]
            raise DataError(
                f"item {name!r} is in cluster {self._clusters[item]!r}, and an item belongs to one; correct it"
            )
        self._clusters[item] = named
        self._answers.clear()

    # Answers ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Number of annotations, including those left out of the counts."""
        return len(self._keys) - len(self._free)

    def __repr__(self) -> str:
        """What counts at the moment."""
        return f"Live{self.tally()!r}"

    def tally(self) -> Tally:
        """The exact summary of all current annotations."""
        with self._lock:
            if "tally" not in self._answers:
                rows, left_out = self._counting()
                item, annotator, label = (np.array(self._columns[role])[rows] for role in (ITEM, ANNOTATOR, LABEL))
                codes = _in_order(item, annotator, label, [*self._codes[ANNOTATOR]], [*self._codes[LABEL]])
                tally = _counted_in_codes(codes, left_out) if len(rows) else Tally(left_out=left_out)
                self._answers["tally"] = replace(tally, grouped=self._grouped(codes)) if self._clusters else tally
            whole: Tally = self._answers["tally"]
            return whole

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
                rows = self._counting()[0]
                rows = rows[np.argsort(np.array(self._arrival)[rows])]
                columns = []
                for role, names in self._codes.items():
                    codes = np.array(self._columns[role])[rows]
                    texts = polars.Series(role, [*names, None], dtype=polars.String)
                    columns.append(texts.gather(np.where(codes >= 0, codes, len(names))))
                columns.insert(3, polars.Series(TIME, np.array(self._columns[TIME])[rows]).fill_nan(None))
                known = [column for column in columns if column.name not in (TIME, TEXT) or column.count()]
                self._answers["annotations"] = polars.DataFrame(known)
            frame: polars.DataFrame = self._answers["annotations"]
            return frame

    def counted(self) -> Counted:
        """The current tally with the annotations behind it: the input of :func:`spagree.measure`."""
        with self._lock:
            return _with_annotations(self.tally(), self.annotations())

    def _counting(self) -> tuple[Ints, dict[str, int]]:
        """The rows that count, and how many do not, by the reason: one pass over all."""
        item, annotator, label = (np.array(self._columns[role]) for role in (ITEM, ANNOTATOR, LABEL))
        usable = (item >= 0) & (label >= 0)
        named = np.flatnonzero(usable & (annotator >= 0))
        pair = item[named].astype(np.int64) << 32 | annotator[named]
        time = np.nan_to_num(np.array(self._columns[TIME])[named], nan=-inf)
        order = np.lexsort((np.array(self._arrival)[named], time, pair))
        starts = run_starts(pair[order])
        chosen = np.append(starts[1:], len(order))[: len(starts)] - 1 if self._duplicates == "last" else starts
        usable[named] = False
        usable[named[order[chosen]]] = True
        left_out = {
            "missing_label": int((label == UNKNOWN).sum()),
            "missing_item": int(((label >= 0) & (item < 0)).sum()),
            "repeated": len(named) - len(chosen),
        }
        return np.flatnonzero(usable), {why: size for why, size in left_out.items() if size}

    def _grouped(self, codes: Codes) -> Grouped:
        """Items by cluster."""
        item, label, times = codes.counts
        patterns, number = coded_patterns(codes.labels, item, label, times, len(item)) or ([], [])
        items: Counter[tuple[str, Votes]] = Counter()
        for code, place in zip(item[run_starts(item)].tolist(), number, strict=True):
            votes = tuple((NO_VALUE, name, size) for name, size in patterns[place])
            items[self._clusters.get(code, NO_VALUE), votes] += 1
        return Grouped("cluster", None, dict(items))


def counted_codes(
    item: Int32s,
    annotator: Int32s,
    label: Int32s,
    annotators: Sequence[str],
    labels: Sequence[str],
    frame: polars.DataFrame,
) -> Counted:
    """:meth:`LiveTally.counted` for annotations kept as integers elsewhere, and as text in ``frame``."""
    return _with_annotations(_counted_in_codes(_in_order(item, annotator, label, annotators, labels), {}), frame)


def _in_order(
    item: Int32s, annotator: Int32s, label: Int32s, annotators: Sequence[str], labels: Sequence[str]
) -> Codes:
    """With labels in the order of their names."""
    order = np.array(sorted(range(len(labels)), key=labels.__getitem__), dtype=np.int32)
    place = np.argsort(order).astype(np.int32)
    return in_order(item, place[label], annotator, [labels[code] for code in order], annotators)


def _counted_in_codes(codes: Codes, left_out: dict[str, int]) -> Tally:
    """The tally with the kinds of annotations of each annotator; of unknown annotators nothing is known."""
    tally = tally_of_codes(codes, left_out)
    return tally if tally.annotators is None else with_people_of_codes(tally, codes)


def _with_annotations(tally: Tally, frame: polars.DataFrame) -> Counted:
    return Counted(tally, Held(nw.from_native(frame).lazy()), warn_variants(tally.labels))


def _no_such_annotation(item: Hashable, annotator: Hashable, key: Hashable, remedy: str) -> DataError:
    if key is not None:
        return DataError(f"there is no annotation with the key {key!r}; {remedy}")
    return DataError(f"annotator {annotator!r} has not labelled item {item!r}; {remedy}")


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
