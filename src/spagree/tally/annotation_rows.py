"""Annotations as rows of integers that can be written, found and removed one at a time, or loaded from a table."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from datetime import datetime
from math import isfinite, nan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spagree.errors import DataError, DuplicateError, count
from spagree.moments import unix_seconds
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, TEXT, TIME, is_missing
from spagree.tally.coded import UNKNOWN, code_items, code_names
from spagree.tally.tally import text

if TYPE_CHECKING:
    import polars
    from numpy.typing import NDArray

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
        import polars

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
    import polars

    if times.dtype == polars.String:
        return np.array([seconds(time) for time in times.to_list()], dtype=np.float64)
    if times.dtype.is_temporal():
        times = times.cast(polars.Datetime("us")).dt.epoch("us") / 1e6
    return times.cast(polars.Float64).fill_null(nan).to_numpy()
