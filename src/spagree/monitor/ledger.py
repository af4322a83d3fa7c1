"""Every annotation in memory: columns of integers for each question, in the order of arrival."""

from __future__ import annotations

import json
import re
import threading
import time
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, isnan, nextafter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import polars

if TYPE_CHECKING:
    from numpy.typing import NDArray

Key = tuple[str, str, str, str]  # project, question, source, id

FINAL = 1e300  # the version of a permanently deleted annotation: no other report restores it
PART = "\x1e"  # in an id, between an annotation and the place of one answer in its list
APART = "\x1f"  # in an id, between item and annotator
MARKS = "\x1d"  # begins a label that holds all marks of a visit
UNFIT = re.compile("[\0\x1d-\x1f\ud800-\udfff]")  # what no database holds, and what has a meaning here
NO_NUMBER = float("nan")
ITEM_GONE = "item "  # prefix of the id that marks an item as deleted
ANY_QUESTION = ""  # rows of this question record that an annotation or an item was deleted in all questions


class Reported(NamedTuple):
    """An annotation as a source reports it; see :func:`settled` for which report counts."""

    project: str
    question: str
    source: str
    id: str
    item: str
    annotator: str
    label: str
    version: float | None = None
    time: float | None = None
    deleted: bool = False

    @property
    def key(self) -> Key:
        """What identifies the annotation."""
        return self[:4]


Place = tuple[float, float, str]  # start, end, label


def as_label(places: Iterable[Place]) -> str:
    """All marks that somebody made on an item, perhaps none, as one label: they come, change and go together.

    >>> places_in(as_label([(7, 9, "place"), (0, 4, "person")])), places_in("person")
    ([(0.0, 4.0, 'person'), (7.0, 9.0, 'place')], None)
    """
    return MARKS + json.dumps(sorted({*places}), ensure_ascii=False)


def places_in(label: str) -> list[Place] | None:
    """The marks in a label; None if it is an ordinary one."""
    if not label.startswith(MARKS):
        return None
    try:
        return msgspec.json.decode(label[len(MARKS) :].encode(), type=list[Place])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None  # no tool sends such a label, but another program may have written it into the store


@dataclass(frozen=True, slots=True)
class Gone:
    """An annotation with all its questions, or an item with all its annotations, was permanently deleted."""

    project: str
    source: str
    id: str = ""
    item: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything a source holds for a project; what it omits was deleted.

    ``as_of`` is the ledger's moment before the source was read: what arrived later may be newer than the listing. Its
    annotations are identified by their ids (``by_id``), or by item and annotator if the source gives no ids.
    """

    project: str
    source: str
    annotations: Sequence[Reported]
    as_of: float
    by_id: bool = False


Event = Reported | Gone | Snapshot


@dataclass(frozen=True, slots=True)
class Batch:
    """Many annotations of one question from one source, column by column; none of them is deleted.

    A batch of new annotations is stored as it is, without an object for each annotation.
    """

    project: str
    question: str
    source: str
    id: Sequence[str]
    item: Sequence[str]
    annotator: Sequence[str]
    label: Sequence[str]
    version: Sequence[float | None]
    time: Sequence[float | None]

    def __len__(self) -> int:
        return len(self.id)

    def __iter__(self) -> Iterator[Reported]:
        """The annotations one by one."""
        columns = (self.id, self.item, self.annotator, self.label, self.version, self.time)
        for values in zip(*columns, strict=True):
            yield Reported(self.project, self.question, self.source, *values)


Events = Sequence[Event] | Batch


class Stored(NamedTuple):
    """An annotation as stored; ``seq`` numbers annotations in the order of their first report."""

    annotation: Reported
    seq: int
    arrived: float


def settled(
    before: Stored | None, annotation: Reported, seq: int, now: float, *, is_correction: bool = False
) -> Stored | None:
    """The row after a report, or None if the report changes nothing.

    Reports with a version are in a total order, so their order of arrival changes nothing: the higher version counts,
    then a deletion, then the later time (any before none), then the greater label, item and annotator. A report
    without a version counts only while none with a version has come: that of the latest time, and of those without a
    time either, while none with a time has come, the latest arrival, which is all that is known. A correction, by a
    listing of everything its source holds, replaces whatever came before it.

    >>> late = Reported("p", "q", "api", "1", "i", "ann", "yes", version=1.0)
    >>> row = settled(None, Reported("p", "q", "api", "1", "i", "ann", "no", version=2.0), 1, 0.0)
    >>> settled(row, late, 2, 0.0) is None, row.annotation.label
    (True, 'no')
    """
    if before is None:
        return Stored(annotation, seq, now)
    stored = before.annotation
    if stored.version == FINAL:
        return None
    known = (annotation.version, annotation.time, stored.version, stored.time)
    if is_correction or all(number is None for number in known):
        if annotation.version is None or (stored.version or 0.0) > annotation.version:
            annotation = annotation._replace(version=stored.version)
        if annotation.time is None:
            annotation = annotation._replace(time=stored.time)
    elif _order(annotation) <= _order(stored):
        return None
    if annotation.deleted:
        annotation = annotation._replace(item=stored.item, annotator=stored.annotator, label=stored.label)
    return None if annotation == stored else Stored(annotation, before.seq, now)


def _order(annotation: Reported) -> tuple[float, float, float, str, str, str]:
    version, time = (-inf if number is None else number for number in annotation[7:9])
    about = ("", "", "") if annotation.deleted else (annotation.label, annotation.item, annotation.annotator)
    if annotation.version is None:  # what was deleted may come again later
        return version, time, annotation.deleted, *about
    return version, annotation.deleted, time, *about


@dataclass(slots=True)
class Texts:
    """Texts and their codes, in order of first appearance."""

    texts: list[str] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)

    def add(self, texts: Sequence[str]) -> Iterator[int]:
        """The codes of texts, new or known."""
        codes, names = self.codes, self.texts
        for text in dict.fromkeys(texts):
            if text not in codes:
                codes[text] = len(names)
                names.append(text)
        return map(codes.__getitem__, texts)


@dataclass(frozen=True)
class Current:
    """The annotations of a question that count, in order of arrival; one per annotator and item."""

    item: NDArray[np.int32]
    annotator: NDArray[np.int32]
    label: NDArray[np.int32]
    time: NDArray[np.float64]
    items: Sequence[str]
    annotators: Sequence[str]
    labels: Sequence[str]
    superseded: int = 0
    """Replaced annotations: an annotator labelled the item again, and the last label counts."""

    @cached_property
    def places(self) -> dict[int, list[Place]]:
        """The marks in each label that holds marks."""
        found = {code: places_in(self.labels[code]) for code in np.unique(self.label).tolist()}
        return {code: places for code, places in found.items() if places is not None}

    def marks(self) -> polars.DataFrame:
        """One row for each mark, and one for each annotation without any; annotations of whole items are left out."""
        rows: list[tuple[Any, ...]] = []
        for item, who, label, at in zip(self.item, self.annotator, self.label.tolist(), self.time, strict=True):
            places: Sequence[tuple[Any, ...]] = self.places.get(label, ()) or [(None, None, None)]
            if label in self.places:
                rows += [(self.items[item], self.annotators[who], *place, at) for place in places]
        names = ("item", "annotator", "start", "end", "label", "time")
        numbers = ("start", "end", "time")
        kinds = {name: polars.Float64 if name in numbers else polars.String for name in names}
        return polars.DataFrame(rows, schema=kinds, orient="row")

    def frame(self) -> polars.DataFrame:
        """The annotations as text."""
        texts = {"item": self.items, "annotator": self.annotators, "label": self.labels}
        columns = [
            polars.Series(name, names, polars.String).gather(getattr(self, name)) for name, names in texts.items()
        ]
        return polars.DataFrame([*columns, polars.Series("time", self.time)])

    def part(self, annotator: str = "", since: float = 0.0) -> Current:
        """One annotator's items with everybody's annotations; only those since a moment."""
        kept = self.time >= since
        if annotator:
            who = self.annotators.index(annotator) if annotator in self.annotators else -1
            kept &= np.isin(self.item, self.item[self.annotator == who])
        item, people, label = self.item[kept], self.annotator[kept], self.label[kept]
        return replace(self, item=item, annotator=people, label=label, time=self.time[kept])


class Sheet:
    """All annotations of one question of a project, including deleted ones."""

    def __init__(self) -> None:
        self.places: dict[str, dict[str, int]] = {}  # source → id → the place in every column
        self.parts: dict[tuple[str, str], list[str]] = {}  # source and id → ids of its answers about a list
        self.items, self.annotators, self.labels = Texts(), Texts(), Texts()
        self._item, self._annotator, self._label = array("i"), array("i"), array("i")
        self._version, self._time, self._arrived = array("d"), array("d"), array("d")
        self._deleted, self._seq = array("b"), array("q")
        self.alive = 0  # annotations that are not deleted

    def replace(self, row: Stored) -> None:
        """Update an annotation in place."""
        annotation, seq, arrived = row
        _, _, source, id, item, annotator, label, version, time, deleted = annotation
        place = self.places[source][id]
        self.alive += self._deleted[place] - deleted
        (self._item[place],) = self.items.add([item])
        (self._annotator[place],) = self.annotators.add([annotator])
        (self._label[place],) = self.labels.add([label])
        self._version[place] = NO_NUMBER if version is None else version
        self._time[place] = NO_NUMBER if time is None else time
        self._arrived[place], self._deleted[place], self._seq[place] = arrived, deleted, seq

    def extend(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Append many new annotations: source, id and everything else, as stored."""
        source, id, item, annotator, label, version, time, deleted, seq, arrived = zip(*rows, strict=True)
        for place, (source_name, annotation_id) in enumerate(zip(source, id, strict=True), len(self._seq)):
            self.places.setdefault(source_name, {})[annotation_id] = place
            if PART in annotation_id:
                self.parts.setdefault((source_name, annotation_id.partition(PART)[0]), []).append(annotation_id)
        self._extend_columns(item, annotator, label, version, time)
        self._arrived.extend(arrived)
        self._deleted.extend(deleted)
        self._seq.extend(seq)
        self.alive += len(rows) - sum(deleted)

    def append(self, batch: Batch, seq: int, arrived: float) -> None:
        """Append a batch of new annotations."""
        first, size = len(self._seq), len(batch)
        self.places.setdefault(batch.source, {}).update(zip(batch.id, range(first, first + size), strict=True))
        self._extend_columns(batch.item, batch.annotator, batch.label, batch.version, batch.time)
        self._arrived.extend(array("d", [arrived]) * size)
        self._deleted.extend(array("b", [False]) * size)
        self._seq.extend(range(seq, seq + size))
        self.alive += size

    def _extend_columns(self, item: Sequence[str], annotator: Sequence[str], label: Sequence[str],
                        version: Sequence[float | None], time: Sequence[float | None]) -> None:  # fmt: skip
        self._item.extend(self.items.add(item))
        self._annotator.extend(self.annotators.add(annotator))
        self._label.extend(self.labels.add(label))
        self._version.extend([NO_NUMBER if number is None else number for number in version])
        self._time.extend([NO_NUMBER if number is None else number for number in time])

    def knows(self, source: str, id: str) -> bool:
        """Whether an annotation is here, deleted or not."""
        return source in self.places and id in self.places[source]

    def row(self, key: Key) -> Stored | None:
        """An annotation as stored."""
        place = self.places.get(key[2], {}).get(key[3])
        if place is None:
            return None
        annotation = Reported(
            *key,
            self.items.texts[self._item[place]],
            self.annotators.texts[self._annotator[place]],
            self.labels.texts[self._label[place]],
            _number_or_none(self._version[place]),
            _number_or_none(self._time[place]),
            bool(self._deleted[place]),
        )
        return Stored(annotation, self._seq[place], self._arrived[place])

    def columns(self) -> Current:
        """A copy of the annotations that count."""
        item, annotator, label = (np.array(column, np.int32) for column in (self._item, self._annotator, self._label))
        times = (self._time, self._arrived, self._version)
        reported, arrived, version = (np.array(column, np.float64) for column in times)
        time = np.where(np.isnan(reported), arrived, reported)
        here = np.flatnonzero(np.array(self._deleted, np.int8) == 0)
        kept = self._last(here, item, annotator, (version, reported))
        names = (list(self.items.texts), list(self.annotators.texts), list(self.labels.texts))
        return Current(item[kept], annotator[kept], label[kept], time[kept], *names, len(here) - len(kept))

    def _last(self, here: NDArray[np.int64], item: NDArray[np.int32], annotator: NDArray[np.int32],
              later: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:  # fmt: skip
        """One annotation per item and annotator: the latest, then that of the highest version and greatest id."""
        pair = item[here].astype(np.int64) * max(1, len(self.annotators.texts)) + annotator[here]
        ordered = np.sort(pair)  # np.unique is a hundred times slower on a million of them
        if (ordered[1:] != ordered[:-1]).all():
            return here
        ids = [(len(id), id, source, place) for source, places in self.places.items() for id, place in places.items()]
        rank = np.empty(len(ids), np.int64)
        rank[[each[-1] for each in sorted(ids)]] = np.arange(len(ids))  # numbers sort as numbers
        order = np.lexsort((rank[here], *(np.nan_to_num(each[here], nan=-1.0) for each in later), pair))
        last = np.append(pair[order][1:] != pair[order][:-1], True)
        kept: NDArray[np.int64] = np.sort(here[order[last]])
        return kept

    def of_source(self, source: str) -> Iterator[tuple[str, int]]:
        """A source's annotations that count: their ids and positions."""
        return ((id, place) for id, place in self.places.get(source, {}).items() if not self._deleted[place])

    def about(self, place: int) -> tuple[str, str]:
        """The item and the annotator of an annotation."""
        return self.items.texts[self._item[place]], self.annotators.texts[self._annotator[place]]


class Ledger:
    """All projects and their questions; one thread writes, others copy what they need."""

    def __init__(self) -> None:
        self.sheets: dict[tuple[str, str], Sheet] = {}
        self.lock = threading.Lock()
        self.seq = 0
        self.moment = 0.0
        """That of the latest change: it only grows, also while the clock is set back."""
        self._is_marked = False  # whether anything was ever permanently deleted

    def questions(self) -> list[tuple[str, str]]:
        """Every project and question with annotations, ordered by name."""
        with self.lock:
            return sorted(key for key, sheet in self.sheets.items() if sheet.alive)

    def columns(self, project: str, question: str) -> Current:
        """A copy of the annotations of a question that count."""
        with self.lock:
            return self.sheets[project, question].columns()

    def next_moment(self) -> float:
        """The moment of the changes that come now."""
        self.moment = max(time.time(), nextafter(self.moment, inf))
        return self.moment

    def restore(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add rows as the store keeps them: one per annotation, all of them new."""
        with self.lock:
            self._extend(rows)
            self.moment = max(self.moment, *(row[-1] for row in rows)) if rows else self.moment

    def put(self, rows: Collection[Stored]) -> None:
        """Add rows that are on disk, one per annotation."""
        with self.lock:
            new = [(*annotation, seq, arrived) for annotation, seq, arrived in rows if not self._knows(annotation)]
            for row in rows if len(new) < len(rows) else ():
                if self._knows(row.annotation):
                    self.sheets[row.annotation[:2]].replace(row)
            self._extend(new)

    def _knows(self, annotation: Reported) -> bool:
        sheet = self.sheets.get(annotation[:2])
        return sheet is not None and sheet.knows(annotation[2], annotation[3])

    def _extend(self, rows: Sequence[tuple[Any, ...]]) -> None:
        by_question: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
        for row in rows:
            by_question.setdefault(row[:2], []).append(row[2:])
        for key, rows_of_question in by_question.items():
            self._is_marked |= key[1] == ANY_QUESTION
            self.sheets.setdefault(key, Sheet()).extend(rows_of_question)
        if rows:
            self.seq = max(self.seq, rows[-1][-2])

    def are_new(self, batches: Iterable[Batch]) -> bool:
        """Whether every annotation in the batches is new and occurs only once."""
        if self._is_marked:
            return False
        earlier: dict[tuple[str, str, str], set[str]] = {}
        for batch in batches:
            sheet, ids = self.sheets.get((batch.project, batch.question)), set(batch.id)
            stored = sheet.places.get(batch.source, {}) if sheet else {}
            before = earlier.setdefault((batch.project, batch.question, batch.source), set())
            if len(ids) < len(batch) or not stored.keys().isdisjoint(ids) or not before.isdisjoint(ids):
                return False
            before |= ids
        return True

    def append(self, batches: Iterable[Batch], now: float) -> None:
        """Add batches that are on disk and contain only new annotations."""
        with self.lock:
            for batch in batches:
                sheet = self.sheets.setdefault((batch.project, batch.question), Sheet())
                sheet.append(batch, self.seq + 1, now)
                self.seq += len(batch)

    def changes(
        self, events: Iterable[Event], now: float, before: dict[Key, Stored] | None = None
    ) -> dict[Key, Stored]:
        """The rows that events lead to, on top of those ``before`` that are not yet added; for the writer alone."""
        fresh = {} if before is None else before
        for event in events:
            if isinstance(event, Reported) and self._is_new(event, fresh):
                fresh[event[:4]] = Stored(event, self.seq + len(fresh) + 1, now)  # most are
                continue
            if isinstance(event, Gone):
                self._go(event, fresh, now)
                continue
            if isinstance(event, Snapshot):
                for each, is_correction in self.differences(event):
                    self._give(each, fresh, now, is_correction=is_correction)
                continue
            self._give(event, fresh, now)
        return fresh

    def _is_new(self, annotation: Reported, fresh: dict[Key, Stored]) -> bool:
        """Whether the annotation touches nothing already stored or about to be."""
        return not (self._is_marked or annotation[:4] in fresh or PART in annotation.id or self._knows(annotation))

    def _give(self, annotation: Reported, fresh: dict[Key, Stored], now: float, *, is_correction: bool = False) -> None:
        key = annotation[:4]
        before = self._row(key, fresh)
        whole, part, _ = annotation.id.partition(PART)
        item = annotation.item.rpartition(" ")[0] if part else annotation.item
        if self._is_marked and any(self._marked(annotation, id, fresh) for id in (annotation.id, whole)):
            annotation = annotation._replace(version=FINAL, deleted=True)
        elif self._is_marked and self._marked(annotation, ITEM_GONE + item, fresh):
            annotation = annotation._replace(deleted=True)  # a later version may be about another item
        elif PART in annotation.id and self._is_outdated(annotation, fresh):
            annotation = annotation._replace(deleted=True)
        row = settled(before, annotation, self.seq + len(fresh) + 1, now, is_correction=is_correction)
        if row is not None:
            fresh[key] = row
            self._drop_parts(annotation, fresh, now)

    def _is_outdated(self, part: Reported, fresh: dict[Key, Stored]) -> bool:
        """Whether a later report has arrived: if the annotation still had this answer, it would be in it."""
        whole = self._row((*part[:3], part.id.partition(PART)[0]), fresh)
        return whole is not None and (whole.annotation.version or 0.0) > (part.version or 0.0)

    def _drop_parts(self, whole: Reported, fresh: dict[Key, Stored], now: float) -> None:
        """Delete earlier answers about a list; the ones the annotation still has are reported next."""
        if not whole.deleted or PART in whole.id:
            return
        sheet, start = self.sheets.get(whole[:2]), whole.id + PART
        ids = set(sheet.parts.get((whole.source, whole.id), ())) if sheet else set()
        ids.update(key[3] for key in fresh if key[3].startswith(start) and key[:3] == whole[:3])
        for id in ids:
            row = self._row((*whole[:3], id), fresh)
            part = row.annotation if row else None
            if row and part and not part.deleted and (part.version or 0.0) < (whole.version or 0.0):
                fresh[*whole[:3], id] = Stored(part._replace(deleted=True), row.seq, now)

    def _row(self, key: Key, fresh: dict[Key, Stored]) -> Stored | None:
        row = fresh.get(key)
        if row is not None:
            return row
        sheet = self.sheets.get(key[:2])
        return sheet.row(key) if sheet else None

    def _marked(self, annotation: Reported, mark: str, fresh: dict[Key, Stored]) -> bool:
        """Whether its id or its item was permanently deleted."""
        return self._row((annotation.project, ANY_QUESTION, annotation.source, mark), fresh) is not None

    def _go(self, gone: Gone, fresh: dict[Key, Stored], now: float) -> None:
        """Mark it for later reports, and delete what exists or arrived in the same batch."""
        id = gone.id or ITEM_GONE + gone.item
        mark = Reported(gone.project, ANY_QUESTION, gone.source, id, gone.item, "", "", FINAL, deleted=True)
        self._is_marked = True
        self._give(mark, fresh, now)
        keys = {
            key
            for key, (annotation, _, _) in fresh.items()
            if (key[0], key[2]) == (gone.project, gone.source) and _concerns(gone, annotation.id, annotation.item)
        }
        for (project, question), sheet in self.sheets.items():
            if project != gone.project:
                continue
            if gone.id:
                ids = [gone.id] if sheet.knows(gone.source, gone.id) else []
                ids += sheet.parts.get((gone.source, gone.id), [])
            else:
                alive = sheet.of_source(gone.source)
                ids = [id for id, place in alive if _concerns(gone, id, sheet.about(place)[0])]
            keys.update((project, question, gone.source, id) for id in ids)
        for key in keys - {mark.key}:
            before = self._row(key, fresh)
            if before is not None and before.annotation.version != FINAL:
                version = FINAL if gone.id else before.annotation.version
                fresh[key] = Stored(before.annotation._replace(version=version, deleted=True), before.seq, now)

    def differences(self, listing: Snapshot) -> Iterator[tuple[Reported, bool]]:
        """A source's annotations that a listing omits, changes or adds, and whether it corrects what is stored."""
        listed = {_name(annotation, listing): annotation for annotation in listing.annotations}
        for stored in list(self._stored(listing)):
            now = listed.pop(_name(stored, listing), None)
            if now is None:
                yield stored._replace(deleted=True), True
            elif now[4:7] != stored[4:7]:
                yield now._replace(id=stored.id), True
        for annotation in listed.values():  # one that an earlier listing omitted counts again, whatever its version
            row = self._row(annotation.key, {})
            yield annotation, row is not None and row.annotation.deleted and row.arrived <= listing.as_of

    def _stored(self, listing: Snapshot) -> Iterator[Reported]:
        """The stored annotations a listing should contain: its project's and source's, as of its time."""
        questions = [key for key in self.sheets if key[0] == listing.project and key[1] != ANY_QUESTION]
        for project, question in questions:
            sheet = self.sheets[project, question]
            rows = (sheet.row((project, question, listing.source, id)) for id, _ in sheet.of_source(listing.source))
            yield from (row.annotation for row in rows if row is not None and row.arrived <= listing.as_of)


def _name(annotation: Reported, listing: Snapshot) -> tuple[str, ...]:
    names = (annotation.id,) if listing.by_id else (annotation.item, annotation.annotator)
    return (annotation.question, *names)


def _number_or_none(number: float) -> float | None:
    return None if isnan(number) else number


def _concerns(gone: Gone, id: str, item: str) -> bool:
    """Whether an annotation, or an answer about a list, goes with the deleted annotation or item."""
    whole, part, _ = id.partition(PART)
    return gone.id == whole if gone.id else gone.item == (item.rpartition(" ")[0] if part else item)
