"""What counts now, in memory: every annotation of every question as columns of integers, in the order of arrival."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spagree.monitor.events import EVERY_QUESTION, FINAL, Event, Given, Gone, Key, Listing, Row, settled

if TYPE_CHECKING:
    import polars

NO_NUMBER = float("nan")
ITEM_GONE = "item "  # the id of the mark that an item is gone, before its name


@dataclass(slots=True)
class Names:
    """Texts and their codes, in the order in which they first came."""

    texts: list[str] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)

    def code(self, text: str) -> int:
        """The code of a text, new or known."""
        found = self.codes.setdefault(text, len(self.texts))
        if found == len(self.texts):
            self.texts.append(text)
        return found


@dataclass(frozen=True, slots=True)
class Columns:
    """The annotations of a question that count, in the order of arrival; one for each annotator and item."""

    item: NDArray[np.int32]
    annotator: NDArray[np.int32]
    label: NDArray[np.int32]
    time: NDArray[np.float64]
    items: Sequence[str]
    annotators: Sequence[str]
    labels: Sequence[str]
    superseded: int = 0
    """Annotations of an item by somebody who annotated it again: the last one counts."""

    def frame(self) -> polars.DataFrame:
        """The annotations as text."""
        import polars

        texts = {"item": self.items, "annotator": self.annotators, "label": self.labels}
        columns = [
            polars.Series(name, names, polars.String).gather(getattr(self, name)) for name, names in texts.items()
        ]
        return polars.DataFrame([*columns, polars.Series("time", self.time)])

    def part(self, annotator: str = "", since: float = 0.0) -> Columns:
        """The items that somebody annotated, with everybody's annotations; only those since a moment."""
        kept = self.time >= since
        if annotator:
            who = self.annotators.index(annotator) if annotator in self.annotators else -1
            kept &= np.isin(self.item, self.item[self.annotator == who])
        item, people, label = self.item[kept], self.annotator[kept], self.label[kept]
        return replace(self, item=item, annotator=people, label=label, time=self.time[kept])


class Sheet:
    """All annotations of one question of a project."""

    def __init__(self) -> None:
        self.places: dict[tuple[str, str], int] = {}
        self.items, self.annotators, self.labels = Names(), Names(), Names()
        self._item, self._annotator, self._label = array("i"), array("i"), array("i")
        self._version, self._time, self._arrived = array("d"), array("d"), array("d")
        self._deleted, self._seq = array("b"), array("q")
        self.alive = 0  # annotations that are not deleted

    def put(self, row: Row) -> None:
        """A new annotation at the end, or a known one in its place."""
        place = self.places.setdefault((row.source, row.id), len(self._seq))
        is_new = place == len(self._seq)
        self.alive += (not row.deleted) - (0 if is_new else not self._deleted[place])
        whole = (
            (self._item, self.items.code(row.item)),
            (self._annotator, self.annotators.code(row.annotator)),
            (self._label, self.labels.code(row.label)),
            (self._deleted, int(row.deleted)),
            (self._seq, row.seq),
        )
        real = (
            (self._version, NO_NUMBER if row.version is None else row.version),
            (self._time, NO_NUMBER if row.time is None else row.time),
            (self._arrived, row.arrived),
        )
        for column, value in (*whole, *real):
            if is_new:
                column.append(value)  # type: ignore[arg-type]
            else:
                column[place] = value  # type: ignore[assignment]

    def row(self, key: Key) -> Row | None:
        """An annotation as it is kept."""
        place = self.places.get(key[2:])
        if place is None:
            return None
        version, time = self._version[place], self._time[place]
        return Row(
            *key,
            self.items.texts[self._item[place]],
            self.annotators.texts[self._annotator[place]],
            self.labels.texts[self._label[place]],
            version if version == version else None,  # noqa: PLR0124 (NaN is unlike itself)
            time if time == time else None,  # noqa: PLR0124
            bool(self._deleted[place]),
            self._seq[place],
            self._arrived[place],
        )

    def columns(self) -> Columns:
        """A copy of what counts."""
        item, annotator, label = (np.array(each, np.int32) for each in (self._item, self._annotator, self._label))
        own, arrived, version = (np.array(each, np.float64) for each in (self._time, self._arrived, self._version))
        time = np.where(np.isnan(own), arrived, own)
        here = np.flatnonzero(np.array(self._deleted, np.int8) == 0)
        kept = self._last(here, item, annotator, version)
        names = (list(self.items.texts), list(self.annotators.texts), list(self.labels.texts))
        return Columns(item[kept], annotator[kept], label[kept], time[kept], *names, len(here) - len(kept))

    def _last(self, here: NDArray[np.int64], item: NDArray[np.int32], annotator: NDArray[np.int32],
              version: NDArray[np.float64]) -> NDArray[np.int64]:  # fmt: skip
        """One annotation for each item and annotator: that of the highest version, then of the greatest id."""
        pair = item[here].astype(np.int64) * max(1, len(self.annotators.texts)) + annotator[here]
        if len(np.unique(pair)) == len(pair):
            return here
        ids = sorted(self.places, key=lambda key: (len(key[1]), key[1], key[0]))  # numbers in the order of numbers
        rank = np.empty(len(ids), np.int64)
        rank[[self.places[key] for key in ids]] = np.arange(len(ids))
        order = np.lexsort((rank[here], np.nan_to_num(version[here], nan=-1.0), pair))
        last = np.append(pair[order][1:] != pair[order][:-1], True)
        kept: NDArray[np.int64] = np.sort(here[order[last]])
        return kept

    def of_source(self, source: str) -> Iterator[tuple[str, int]]:
        """The annotations of a source that count: their ids and places."""
        return ((id, place) for (of, id), place in self.places.items() if of == source and not self._deleted[place])

    def about(self, place: int) -> tuple[str, str]:
        """The item and the annotator of an annotation."""
        return self.items.texts[self._item[place]], self.annotators.texts[self._annotator[place]]


class Ledger:
    """All projects and their questions; one thread writes, and others copy what they need."""

    def __init__(self) -> None:
        self.sheets: dict[tuple[str, str], Sheet] = {}
        self.lock = threading.Lock()
        self.seq = 0

    def questions(self) -> list[tuple[str, str]]:
        """Every project and question with annotations, in the order of their names."""
        with self.lock:
            return sorted(key for key, sheet in self.sheets.items() if sheet.alive)

    def columns(self, project: str, question: str) -> Columns:
        """A copy of what counts in a question."""
        with self.lock:
            return self.sheets[project, question].columns()

    def put(self, rows: Iterable[Row]) -> None:
        """Take in rows that are durable."""
        with self.lock:
            for row in rows:
                self.sheets.setdefault((row.project, row.question), Sheet()).put(row)
                self.seq = max(self.seq, row.seq)

    def changes(self, events: Iterable[Event], now: float) -> dict[Key, Row]:
        """The rows that events lead to, not yet taken in; only the writer calls it."""
        fresh: dict[Key, Row] = {}
        for event in events:
            if isinstance(event, Gone):
                self._go(event, fresh, now)
            else:
                given = self.differences(event) if isinstance(event, Listing) else [event]
                for each in given:
                    self._give(each, fresh, now)
        return fresh

    def _give(self, given: Given, fresh: dict[Key, Row], now: float) -> None:
        before = self._row(given.key, fresh)
        seq = self.seq + len(fresh) + 1
        if self._is_gone(given, fresh):
            given = Given(*given.key, given.item, given.annotator, given.label, FINAL, given.time, deleted=True)
        row = settled(before, given, seq, now)
        if row is not None:
            fresh[given.key] = row

    def _row(self, key: Key, fresh: dict[Key, Row]) -> Row | None:
        if key in fresh:
            return fresh[key]
        sheet = self.sheets.get(key[:2])
        return sheet.row(key) if sheet else None

    def _is_gone(self, given: Given, fresh: dict[Key, Row]) -> bool:
        marks = (given.id, ITEM_GONE + given.item)
        return any(self._row((given.project, EVERY_QUESTION, given.source, mark), fresh) for mark in marks)

    def _go(self, gone: Gone, fresh: dict[Key, Row], now: float) -> None:
        """Mark it for what may still arrive, and delete what is there or arrived in the same batch."""
        id = gone.id or ITEM_GONE + gone.item
        mark = Given(gone.project, EVERY_QUESTION, gone.source, id, gone.item, "", "", FINAL, deleted=True)
        self._give(mark, fresh, now)
        there = [row for row in fresh.values() if row.project == gone.project and row.source == gone.source]
        found = {row.key for row in there if row.id == gone.id or (gone.item and row.item == gone.item)}
        for (project, question), sheet in self.sheets.items():
            if project == gone.project:
                found.update((project, question, gone.source, id) for id in _ids(sheet, gone))
        for key in found - {mark.key}:
            before = self._row(key, fresh)
            if before is not None and before.version != FINAL:
                fresh[key] = before._replace(version=FINAL, deleted=True, arrived=now)

    def differences(self, listing: Listing) -> list[Given]:
        """What a listing says otherwise than the annotations of its source that came before it."""
        told = {(each.question, each.item, each.annotator): each for each in listing.annotations}
        found = []
        for row in list(self._of(listing)):
            said = told.pop((row.question, row.item, row.annotator), None)
            if said is None:
                found.append(Given(*row.key, row.item, row.annotator, row.label, deleted=True))
            elif said.label != row.label:
                found.append(Given(*row.key, row.item, row.annotator, said.label, None, said.time))
        return [*found, *told.values()]

    def _of(self, listing: Listing) -> Iterator[Row]:
        """The annotations that a listing must know: of its project and source, from before it was made."""
        own = [key for key in self.sheets if key[0] == listing.project and key[1] != EVERY_QUESTION]
        for project, question in own:
            sheet = self.sheets[project, question]
            rows = (sheet.row((project, question, listing.source, id)) for id, _ in sheet.of_source(listing.source))
            yield from (row for row in rows if row is not None and row.arrived <= listing.as_of)


def _ids(sheet: Sheet, gone: Gone) -> list[str]:
    if gone.id:
        return [gone.id] if (gone.source, gone.id) in sheet.places else []
    return [id for id, place in sheet.of_source(gone.source) if sheet.about(place)[0] == gone.item]
