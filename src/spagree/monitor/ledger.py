"""Every annotation in memory: a table of numbers for each question, in the order of arrival."""

from __future__ import annotations

import json
import re
import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isnan
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
ITEM_GONE = "item "  # prefix of the id that marks an item as deleted
ANY_QUESTION = ""  # rows of this question record that an annotation or an item was deleted in all questions


class Reported(NamedTuple):
    """An annotation as a source reports it, and with the last two fields as it is stored."""

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
    seq: int = 0  # numbers annotations in the order of their first report
    arrived: float = 0.0


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


Event = Reported | Snapshot
Fresh = dict[Key, Reported]


def gone(project: str, source: str, id: str = "", item: str = "") -> Reported:
    """The report that an annotation with all its questions, or an item with all its annotations, is gone for good."""
    return Reported(project, ANY_QUESTION, source, id or ITEM_GONE + item, item, "", "", FINAL, deleted=True)


def item_of(id: str, item: str) -> str:
    """The item of an annotation, also of one of its answers about a list, whose item ends with the place in it."""
    return item.rpartition(" ")[0] if PART in id else item


def settled(before: Reported | None, report: Reported, *, is_correction: bool = False) -> Reported | None:
    """The row after a report, or None if the report changes nothing.

    Reports with a version are in a total order, so their order of arrival changes nothing: the higher version counts,
    then a deletion, then the later time (any before none), then the greater label, item and annotator. A report
    without a version counts only while none with a version has come: that of the latest time, and of those without a
    time either, while none with a time has come, the latest arrival, which is all that is known. A correction, by a
    listing of everything its source holds, replaces whatever came before it.

    >>> row = settled(None, Reported("p", "q", "api", "1", "i", "ann", "no", version=2.0))
    >>> late = Reported("p", "q", "api", "1", "i", "ann", "yes", version=1.0)
    >>> settled(row, late) is None, row.label
    (True, 'no')
    """
    if before is None:
        return report
    if before.version == FINAL:
        return None
    known = (report.version, report.time, before.version, before.time)
    if is_correction or all(number is None for number in known):
        if report.version is None or (before.version or 0.0) > report.version:
            report = report._replace(version=before.version)
        if report.time is None:
            report = report._replace(time=before.time)
    elif _order(report) <= _order(before):
        return None
    if report.deleted:
        report = report._replace(item=before.item, annotator=before.annotator, label=before.label)
    report = report._replace(seq=before.seq)
    return None if report[:-1] == before[:-1] else report


def _order(report: Reported) -> tuple[float, float, float, str, str, str]:
    version, time = (-inf if number is None else number for number in (report.version, report.time))
    about = ("", "", "") if report.deleted else (report.label, report.item, report.annotator)
    if report.version is None:  # what was deleted may come again later
        return version, time, report.deleted, *about
    return version, report.deleted, time, *about


class Texts(dict[str, int]):
    """Texts and their codes, in order of first appearance; a new text gets the next code."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def __missing__(self, text: str) -> int:
        code = self[text] = len(self.texts)
        self.texts.append(text)
        return code


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
    superseded: int = 0  # annotations replaced: somebody labelled the item again, and the last label counts

    @cached_property
    def places(self) -> dict[int, list[Place]]:
        """The marks in each label that holds marks."""
        found = {code: places_in(self.labels[code]) for code in np.unique(self.label).tolist()}
        return {code: places for code, places in found.items() if places is not None}

    def marks(self) -> polars.DataFrame:
        """One row for each mark, and one for each annotation without any; annotations of whole items are left out."""
        nothing: Sequence[tuple[Any, ...]] = [(None, None, None)]
        rows = [
            (self.items[item], self.annotators[who], *place, at)
            for item, who, label, at in zip(self.item, self.annotator, self.label.tolist(), self.time, strict=True)
            if label in self.places
            for place in self.places[label] or nothing
        ]
        kinds = {"item": polars.String, "annotator": polars.String, "start": polars.Float64, "end": polars.Float64}
        return polars.DataFrame(rows, {**kinds, "label": polars.String, "time": polars.Float64}, orient="row")

    def frame(self) -> polars.DataFrame:
        """The annotations as text."""
        names = {"item": self.items, "annotator": self.annotators, "label": self.labels}
        columns = [polars.Series(name, texts, polars.String)[getattr(self, name)] for name, texts in names.items()]
        return polars.DataFrame([*columns, polars.Series("time", self.time)])

    def only(self, kept: NDArray[np.bool_]) -> Current:
        """Some of the annotations."""
        chosen = {name: getattr(self, name)[kept] for name in ("item", "annotator", "label", "time")}
        return replace(self, **chosen)

    def part(self, annotator: str = "", since: float = 0.0) -> Current:
        """One annotator's items with everybody's annotations; only those since a moment."""
        kept = self.time >= since
        if annotator:
            who = self.annotators.index(annotator) if annotator in self.annotators else -1
            kept &= np.isin(self.item, self.item[self.annotator == who])
        return self.only(kept)


CODED = ("item", "annotator", "label")
TABLE = np.dtype(
    [(name, "i4") for name in CODED]
    + [("version", "f8"), ("time", "f8"), ("deleted", "?"), ("seq", "i8"), ("arrived", "f8")]
)


class Sheet:
    """All annotations of one question of a project, including deleted ones."""

    def __init__(self) -> None:
        self.places: defaultdict[str, dict[str, int]] = defaultdict(dict)  # source → id → place in the table
        self.texts = {name: Texts() for name in CODED}
        self.alive = 0  # annotations that are not deleted
        self._table, self._size = np.empty(0, TABLE), 0

    def put(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add annotations as stored, one row each, or update them in place."""
        places = []
        for row in rows:
            places.append(place := self.places[row[2]].setdefault(row[3], self._size))
            self._size += place == self._size
        if self._size > len(self._table):
            more = np.zeros(self._size * 5 // 4 - len(self._table), TABLE)
            more["deleted"] = True
            self._table = np.concatenate([self._table, more])
        items, annotators, labels = (self.texts[name] for name in CODED)
        new = [(items[row[4]], annotators[row[5]], labels[row[6]], *row[7:]) for row in rows]
        self.alive += sum(self._table["deleted"][places].tolist()) - sum(row[9] for row in rows)
        self._table[places] = np.array(new, TABLE)  # None becomes NaN

    def row(self, key: Key) -> Reported | None:
        """An annotation as stored, deleted or not."""
        place = self.places.get(key[2], {}).get(key[3])
        if place is None:
            return None
        *codes, version, time, deleted, seq, arrived = self._table[place].item()
        item, annotator, label = (self.texts[name].texts[code] for name, code in zip(CODED, codes, strict=True))
        version, time = (None if isnan(number) else number for number in (version, time))
        return Reported(*key, item, annotator, label, version, time, deleted, seq, arrived)

    def of_source(self, source: str) -> Iterator[tuple[str, str]]:
        """A source's annotations that count: their ids and items."""
        items = self.texts["item"].texts
        codes, deleted = (self._table[name].tolist() for name in ("item", "deleted"))
        for id, place in self.places.get(source, {}).items():
            if not deleted[place]:
                yield id, items[codes[place]]

    def columns(self) -> Current:
        """A copy of the annotations that count: of somebody's for an item, the latest; then version and id decide."""
        here = np.flatnonzero(~self._table["deleted"][: self._size])
        table = self._table[here]
        pair = table["item"].astype(np.int64) * max(1, len(self.texts["annotator"])) + table["annotator"]
        ordered = np.sort(pair)  # np.unique is a hundred times slower on a million of them
        if (ordered[1:] == ordered[:-1]).any():
            names = ((source, *each) for source, places in self.places.items() for each in places.items())
            ids = sorted((len(id), id, source, place) for source, id, place in names)  # 9 before 10
            rank = np.empty(len(ids), np.int64)
            rank[[place for *_, place in ids]] = np.arange(len(ids))
            version, time = (np.nan_to_num(table[name], nan=-1.0) for name in ("version", "time"))
            order = np.lexsort((rank[here], version, time, pair))
            table = table[np.sort(order[np.append(pair[order][1:] != pair[order][:-1], True)])]
        time = np.where(np.isnan(table["time"]), table["arrived"], table["time"])
        item, annotator, label = (np.ascontiguousarray(table[name]) for name in CODED)
        items, annotators, labels = (list(self.texts[name].texts) for name in CODED)
        return Current(item, annotator, label, time, items, annotators, labels, len(here) - len(table))


class Ledger:
    """All projects and their questions; one thread writes, others copy what they need."""

    def __init__(self) -> None:
        self.sheets: dict[tuple[str, str], Sheet] = {}
        self.lock = threading.Lock()
        self.seq = 0
        self.moment = 0.0  # that of the latest change: it only grows, also while the clock is set back
        self._is_marked = False  # whether anything was ever permanently deleted
        self._parts: defaultdict[Key, set[str]] = defaultdict(set)  # annotation → ids of its answers

    def questions(self) -> list[tuple[str, str]]:
        """Every project and question with annotations, ordered by name."""
        with self.lock:
            return sorted(key for key, sheet in self.sheets.items() if sheet.alive)

    def columns(self, project: str, question: str) -> Current:
        """A copy of the annotations of a question that count."""
        with self.lock:
            return self.sheets[project, question].columns()

    def put(self, rows: Collection[tuple[Any, ...]]) -> None:
        """Add rows that are on disk, one per annotation."""
        by_question: defaultdict[tuple[str, str], list[tuple[Any, ...]]] = defaultdict(list)
        for row in rows:
            by_question[row[:2]].append(row)
            if PART in row[3]:
                self._note(row[:4])
        with self.lock:
            for key, of_question in by_question.items():
                self._is_marked |= key[1] == ANY_QUESTION
                self.sheets.setdefault(key, Sheet()).put(of_question)
            self.seq = max([self.seq, *(row[-2] for row in rows)])
            self.moment = max([self.moment, *(row[-1] for row in rows)])

    def _note(self, key: Key) -> None:
        """An annotation is here, or will be."""
        if key[:2] not in self.sheets:
            with self.lock:
                self.sheets[key[:2]] = Sheet()
        if PART in key[3]:
            self._parts[*key[:3], key[3].partition(PART)[0]].add(key[3])

    def changes(self, events: Iterable[Event], now: float, fresh: Fresh | None = None) -> Fresh:
        """The rows that events lead to, on top of ``fresh`` ones that are not yet added; for the writer alone."""
        fresh = {} if fresh is None else fresh
        marks: list[Reported] = []
        for event in events:
            if isinstance(event, Snapshot):
                for each, is_correction in self.differences(event):
                    self._give(each, fresh, now, is_correction=is_correction)
                continue
            self._give(event, fresh, now)
            if event.question == ANY_QUESTION:
                self._is_marked = True
                marks.append(event)
        if marks:
            self._go(marks, fresh, now)
        return fresh

    def _give(self, report: Reported, fresh: Fresh, now: float, *, is_correction: bool = False) -> None:
        key = report[:4]
        if self._is_marked or PART in report.id:
            report = self._overtaken(report, fresh)
        sheet = self.sheets.get(key[:2])
        if sheet is None or PART in report.id:
            self._note(key)
        before = fresh.get(key) or (sheet.row(key) if sheet else None)
        report = Reported._make((*report[:10], self.seq + len(fresh) + 1, now))
        row = report if before is None else settled(before, report, is_correction=is_correction)
        if row is None:
            return
        fresh[key] = row
        # earlier answers about a list go with their annotation; those it still has are reported next
        for id in self._parts.get(key, ()) if report.deleted else ():
            before = self._row((*key[:3], id), fresh)
            if before and not before.deleted and (before.version or 0.0) < (report.version or 0.0):
                fresh[*key[:3], id] = before._replace(deleted=True, arrived=now)

    def _overtaken(self, report: Reported, fresh: Fresh) -> Reported:
        """A report as it is after a deletion or a later report that came before it."""
        whole, part, _ = report.id.partition(PART)
        is_gone, is_item_gone = (
            self._is_marked and self._row((report.project, ANY_QUESTION, report.source, mark), fresh) is not None
            for mark in (whole, ITEM_GONE + item_of(report.id, report.item))
        )
        if is_gone:
            return report._replace(version=FINAL, deleted=True)
        if is_item_gone:
            return report._replace(deleted=True)  # a later version may be about another item
        if part:  # if the annotation still had this answer, it would be in a later report that has arrived
            latest = self._row((*report[:3], whole), fresh)
            if latest is not None and (latest.version or 0.0) > (report.version or 0.0):
                return report._replace(deleted=True)
        return report

    def _row(self, key: Key, fresh: Fresh) -> Reported | None:
        sheet = self.sheets.get(key[:2])
        return fresh.get(key) or (sheet.row(key) if sheet else None)

    def _go(self, marks: Sequence[Reported], fresh: Fresh, now: float) -> None:
        """Delete what exists or arrived in the same batch; the marks do so with later reports."""
        items = {(mark.project, mark.source, mark.item) for mark in marks if mark.item}
        keys = {key for key, row in fresh.items() if items and (key[0], key[2], item_of(key[3], row.item)) in items}
        finals: set[Key] = set()
        for (project, question), sheet in self.sheets.items():
            for source in {source for of, source, _ in items if of == project} & sheet.places.keys():
                alive = sheet.of_source(source)
                ids = (id for id, item in alive if (project, source, item_of(id, item)) in items)
                keys |= {(project, question, source, id) for id in ids}
            for mark in marks:
                if mark.project == project and not mark.item:
                    about = (project, question, mark.source)
                    finals |= {(*about, id) for id in (mark.id, *self._parts.get((*about, mark.id), ()))}
        for key in keys | finals:
            before = self._row(key, fresh)
            if before is None or before.version == FINAL:
                continue
            if key in finals:
                fresh[key] = before._replace(version=FINAL, deleted=True, arrived=now)
            elif (key[0], key[2], item_of(key[3], before.item)) in items:  # and not about another item meanwhile
                fresh[key] = before._replace(deleted=True, arrived=now)

    def differences(self, listing: Snapshot) -> Iterator[tuple[Reported, bool]]:
        """A source's annotations that a listing omits, changes or adds, and whether it corrects what is stored."""

        def name(report: Reported) -> tuple[str, ...]:
            return (report.question, *((report.id,) if listing.by_id else (report.item, report.annotator)))

        listed = {name(report): report for report in listing.annotations}
        stored = [
            sheet.row((project, question, listing.source, id))
            for (project, question), sheet in self.sheets.items()
            if project == listing.project and question != ANY_QUESTION
            for id, _ in sheet.of_source(listing.source)
        ]
        for row in stored:
            if row is None or row.arrived > listing.as_of:
                continue
            now = listed.pop(name(row), None)
            if now is None:
                yield row._replace(deleted=True), True
            elif now[4:7] != row[4:7]:
                yield now._replace(id=row.id), True
        for report in listed.values():  # what an earlier listing omitted counts again
            before = self._row(report[:4], {})
            yield report, before is not None and before.deleted and before.arrived <= listing.as_of
