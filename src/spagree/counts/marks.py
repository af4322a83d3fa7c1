"""Marks: spans, and anything else that people mark on an item, by who saw which item (docs/mathematics.md §20).

A visit is an annotator who saw an item, whether or not they marked anything there. A mark is a piece of a lane: for
exact spans the lane is the key (start, end, label) and the piece has length 1; for characters the lane is the item with
the label, and the piece runs from start to end. Two visits share what lies in the same place of the same lane. Counting
is a sweep over the ends of the pieces: what a character costs does not depend on how many there are, and offsets may be
seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars

from spagree.codes import MOST_SUMMED, Floats, Ints, counted, numbered, pairs_within, run_starts, sums
from spagree.counts.engines import to_polars
from spagree.counts.fetch import places
from spagree.counts.items import spelled
from spagree.counts.mark_tally import (
    BY_CHANCE,
    CLASS,
    LEVELS,
    MOST_ROWS,
    NOTHING,
    OTHER_LABEL,
    OUTCOMES,
    SAME,
    MarkTable,
    MarkTally,
    Pair,
    Row,
)
from spagree.errors import DataError, count
from spagree.read.annotations import MarkRows, Seen, nw
from spagree.read.table import shown, wrong_cell
from spagree.read.tools.marks import CHARACTERS, UTF16, Mark, Marks, located

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOO_MANY = "two people saw the same item too often to compare each two"
FEWEST_WITH_LENGTH = 1_000  # marks for each that ends where it starts: with more of these, ends may be inclusive
PAIRS_AT_ONCE = 5_000_000
ROWS_AT_ONCE = 1_000_000  # that are counted together in a tally
MOST_CLASSES = 100  # that a tally keeps apart
MOST_MET = 20_000_000  # pairs of visits that a tally looks at


@dataclass(frozen=True)
class Shared:
    """Of each visit: how much it marked, how much of that the others of its item marked too, summed over them, and how
    much the others marked that the visit marked too. The last two differ only for outcomes that have a direction.
    """

    own: Floats
    met: Floats
    back: Floats


@dataclass(frozen=True)
class CodedMarks:
    """Who saw which item, and what they marked there.

    ``item`` and ``annotator`` are those of each visit, in order of items and then annotators; ``visit``, ``start``,
    ``end`` and ``label`` those of each mark. ``length``, ``cluster`` and ``texts`` are those of each item, ``time`` and
    ``group`` those of each visit, if known: NaN where the length of a text is unknown, −1 without a cluster or group.
    Marks that are no places have ``keys``, and the number of theirs as start.
    """

    items: Sequence[str]
    annotators: Sequence[str]
    labels: Sequence[str]
    item: Ints
    annotator: Ints
    visit: Ints
    start: Floats
    end: Floats
    label: Ints
    length: Floats | None = None
    cluster: Ints | None = None
    clusters: Sequence[str] = ()
    texts: Sequence[str | None] = field(default=(), repr=False)
    time: polars.Series | None = None
    group: Ints | None = None
    groups: Sequence[str] = ()
    keys: Sequence[str] = ()

    @classmethod
    def of(cls, marked: MarkRows) -> CodedMarks:
        """From what a reader found; refused where an offset is no number, or an end lies before its start.

        >>> from spagree.read.sources import read_marks
        >>> rows = [("q", "ann", 0, 4, "P"), ("q", "bob", 0, 4, "P"), ("q", "bob", 9, 12, "L")]
        >>> marks = CodedMarks.of(read_marks(rows))
        >>> marks.n.tolist(), marks.visit.tolist(), marks.shared(marks.pieces()).met.tolist()
        ([2], [0, 1, 1], [1.0, 1.0])
        """
        who = ["item", "annotator"]
        rows = _named(to_polars(marked.rows), marked.name)
        seen = rows.select(who) if marked.seen is None else _named(to_polars(marked.seen), "seen")
        if marked.texts is not None:
            texts = _named(to_polars(marked.texts), "texts").select("item", "text").unique()
            seen = seen.join(texts, on="item", how="left")
            if seen["text"].is_null().all():
                raise DataError(
                    f"{marked.name}: none of its items has a text; are they called the same in both tables?"
                )
        if "text" in seen.columns:
            seen = _with_lengths(seen, marked.name)
        if "quote" in rows.columns or marked.is_loose:
            rows = _fitted(rows, seen, marked)
        key = rows["mark"].drop_nulls().unique().sort() if "mark" in rows.columns else None
        rows = _checked(rows, seen, marked.name) if key is None else _keyed(rows, key)
        visits = polars.concat([rows.select(who), seen.select(who)]).unique().sort(who)
        known = [name for name in ("time", "by") if name in seen.columns]
        if known:  # somebody has finished an item with the last mark
            own = seen.group_by(who).agg(polars.col(known).max())
            visits = visits.join(own, on=who, how="left", maintain_order="left")
        items, item = _coded(visits["item"])
        annotators, annotator = _coded(visits["annotator"])
        labels, label = _coded(rows["label"])
        about = polars.DataFrame({"item": polars.Series(items, dtype=polars.String)}).join(
            seen.group_by("item").agg(polars.all().drop_nulls().first()), on="item", how="left", maintain_order="left"
        )
        place = rows.join(visits.with_row_index("visit"), on=who, how="left", maintain_order="left")["visit"]
        start, end = (rows[name].to_numpy() for name in ("start", "end"))
        more: dict[str, Any] = {}
        if "length" in about.columns:
            more["length"] = about["length"].cast(polars.Float64).fill_null(np.nan).to_numpy()
        if "cluster" in about.columns:
            more["clusters"], more["cluster"] = _coded(about["cluster"])
        if "text" in about.columns:
            more["texts"] = tuple(about["text"])
        if "time" in known:
            more["time"] = visits["time"]
        if "by" in known:
            more["groups"], more["group"] = _coded(visits["by"])
        if key is not None:
            more["keys"] = tuple(key.to_list())
        visit = place.to_numpy().astype(np.int64)
        return cls(items, annotators, labels, item, annotator, visit, start, end, label, **more)

    def only(self, visits: Ints) -> CodedMarks:
        """Some of the visits, in order, with what was marked there."""
        items, item = np.unique(self.item[visits], return_inverse=True)
        people, annotator = np.unique(self.annotator[visits], return_inverse=True)
        place = np.full(len(self.item), -1)
        place[visits] = np.arange(len(visits))
        kept = np.flatnonzero(place[self.visit] >= 0)
        of_marks = {name: getattr(self, name)[kept] for name in ("start", "end", "label")}
        chosen = {"length": items, "cluster": items, "time": visits, "group": visits}
        known = {name: rows for name, rows in chosen.items() if getattr(self, name) is not None}
        return replace(
            self,
            items=tuple(self.items[code] for code in items.tolist()),
            annotators=tuple(self.annotators[code] for code in people.tolist()),
            item=item,
            annotator=annotator,
            visit=place[self.visit[kept]],
            texts=tuple(self.texts[code] for code in items.tolist()) if self.texts else (),
            **of_marks,
            **{name: getattr(self, name)[rows] for name, rows in known.items()},
        )

    def when(self) -> nw.LazyFrame[Any] | None:
        """When each visit ended; None if that is not known."""
        if self.time is None:
            return None
        return nw.from_native(polars.DataFrame({"time": self.time}).with_row_index("visit").lazy())

    def group_names(self) -> list[str]:
        """The groups that there are, "" for visits without one."""
        if self.group is None:
            return []
        return ["", *self.groups] if (self.group < 0).any() else [*self.groups]

    def of_group(self, name: str) -> Ints:
        """The visits of a group."""
        place = self.groups.index(name) if name in self.groups else -1
        return np.flatnonzero(self.group == place)

    @cached_property
    def n(self) -> Ints:
        """How many people saw each item."""
        return np.bincount(self.item, minlength=len(self.items))

    @cached_property
    def items_by_n(self) -> dict[int, int]:
        """Items by how many people saw them."""
        return dict(zip(*(each.tolist() for each in counted(self.n)), strict=True))

    @cached_property
    def meetings(self) -> int:
        """How often two people saw the same item."""
        return int((self.n * (self.n - 1)).sum()) // 2

    @cached_property
    def distinct(self) -> Ints:
        """The marks without those that somebody made twice."""
        return np.sort(numbered(self.visit, *self._place, self.label)[0])

    @cached_property
    def made(self) -> Ints:
        """How many marks each visit made."""
        return np.bincount(self.visit[self.distinct], minlength=len(self.item))

    @cached_property
    def by_label(self) -> dict[str, int]:
        """How many marks have each label."""
        sizes = np.bincount(self.label[self.distinct], minlength=len(self.labels)).tolist()
        return {name: size for name, size in zip(self.labels, sizes, strict=True) if size}

    @cached_property
    def positions(self) -> Floats:
        """Where marks start or end, in order."""
        return np.unique(np.concatenate([self.start, self.end]))

    @cached_property
    def _place(self) -> tuple[Ints, Ints]:
        """Start and end of each mark as their places among the positions."""
        return np.searchsorted(self.positions, self.start), np.searchsorted(self.positions, self.end)

    def pieces(self, *, characters: bool = False, any_label: bool = False, label: int | None = None) -> Pieces:
        """What is compared: whole spans or their characters, with their labels or without; those of one label."""
        used = np.arange(len(self.visit)) if label is None else np.flatnonzero(self.label == label)
        visit, (start, end) = self.visit[used], (place[used] for place in self._place)
        lane = (self.item[visit],) if any_label else (self.item[visit], self.label[used])
        if characters:
            return Pieces.joined(visit, numbered(*lane)[1], start, end, self.positions)
        first = numbered(visit, start, end, *lane[1:])[0]
        lanes = numbered(self.item[visit][first], start[first], end[first], *(part[first] for part in lane[1:]))[1]
        none = np.zeros(len(first), dtype=np.int64)
        return Pieces(visit[first], lanes, none, none + 1, np.array([0.0, 1.0]))

    def shared(self, pieces: Pieces) -> Shared:
        """How much of each visit's pieces the others marked too."""
        own, met = pieces.covered()
        visits = len(self.item)
        met = sums(pieces.visit, met, visits)
        return Shared(sums(pieces.visit, own, visits), met, met)

    def by_chance(self) -> Shared | None:
        """As much as characters with the same label would be shared if everybody placed them blindly in the text.

        Two who mark m and m′ of L characters share m·m′/L. None if the length of a marked text is unknown.
        """
        if self.keys:
            return None
        pieces = self.pieces(characters=True)
        length = np.full(len(self.items), np.nan) if self.length is None else self.length
        if np.isnan(length[self.item[pieces.visit]]).any():
            return None
        first, each = numbered(pieces.visit, pieces.lane)
        own, visit = sums(each, pieces.size, len(first)), pieces.visit[first]
        lane = pieces.lane[first]
        others = sums(lane, own, int(lane.max(initial=-1)) + 1)[lane] - own
        met = sums(visit, own * others / length[self.item[visit]], len(self.item))
        return Shared(sums(visit, own, len(self.item)), met, met)

    def outcomes(self) -> dict[str, Shared]:
        """What each mark met at each of the others: the same, another label, other boundaries, both, or nothing.

        Empty if too many people met; marks that are no places have no boundaries.
        """
        if self.meetings > MOST_SUMMED:
            return {}
        visit, visits = self.visit[self.distinct], len(self.item)
        own = np.bincount(visit, minlength=visits).astype(np.float64)
        met, back = np.zeros((len(OUTCOMES), visits)), np.zeros((len(OUTCOMES), visits))
        for mark, closest, kind in self.closest():
            for place in range(len(OUTCOMES) - 1):
                met[place] += np.bincount(visit[mark[kind == place]], minlength=visits)
                back[place] += np.bincount(visit[closest[kind == place]], minlength=visits)
        whole = np.bincount(self.item, own, len(self.items))[self.item]
        met[-1] = own * (self.n[self.item] - 1) - met[:-1].sum(axis=0)
        back[-1] = whole - own - back[:-1].sum(axis=0)
        names = (SAME, OTHER_LABEL, NOTHING) if self.keys else OUTCOMES
        return {name: Shared(own, met[place], back[place]) for place, name in enumerate(OUTCOMES) if name in names}

    def closest(self) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Each mark, the most alike of the marks of another visit that overlap it, and which outcome that is.

        Marks are the places of those in ``distinct``; some at a time.
        """
        used = self.distinct
        visit, label = self.visit[used], self.label[used]
        start, end = (place[used] for place in self._place)
        all_of_one = Pieces(visit, self.item[visit], start, end, self.positions)
        for one, other in all_of_one.overlapping():
            kind = 2 * ((start[one] != start[other]) | (end[one] != end[other])) + (label[one] != label[other])
            mark, partner, kind = np.concatenate([one, other]), np.concatenate([other, one]), np.tile(kind, 2)
            best = np.lexsort((partner, kind, visit[partner], mark))
            best = best[run_starts(mark[best], visit[partner[best]])]
            yield mark[best], partner[best], kind[best]

    def levels(self) -> Iterator[tuple[str, Pieces, dict[str, Shared]]]:
        """What is compared, in each way, and what visits share of it: the same first, then by outcome or by chance."""
        for name, (characters, any_label) in LEVELS.items():
            if characters and self.keys:
                continue
            pieces = self.pieces(characters=characters, any_label=any_label)
            shared = {name: self.shared(pieces)}
            if name == "exact":
                shared |= {outcome: met for outcome, met in self.outcomes().items() if outcome != SAME}
            elif name == "characters" and (chance := self.by_chance()) is not None:
                shared[BY_CHANCE] = chance
            yield name, pieces, shared

    def pairs(self, pieces: Pieces) -> tuple[Ints, Ints, Floats]:
        """Any two visits of one item, and how much of their pieces is the same; refused if there are too many."""
        if self.meetings > MOST_SUMMED:
            raise DataError(f"{TOO_MANY} ({self.meetings:,} times); choose fewer items, or fewer people")
        one, other = pairs_within(np.bincount(self.item))
        keys, shared = one * len(self.item) + other, np.zeros(len(one))
        for left, right in pieces.overlapping():
            visits = np.sort(pieces.visit[np.stack([left, right])], axis=0)
            place = np.searchsorted(keys, visits[0] * len(self.item) + visits[1])
            shared += sums(place, pieces.overlap(left, right), len(keys))
        return one, other, shared

    @cached_property
    def people_met(self) -> tuple[Ints, Ints]:
        """The annotators of any two visits of one item as a number: all that occur, and the place of each two."""
        one, other = pairs_within(np.bincount(self.item))
        low, high = np.sort(self.annotator[np.stack([one, other])], axis=0)
        return np.unique(low * len(self.annotators) + high, return_inverse=True)

    def between(self, pieces: Pieces, own: Floats) -> tuple[Floats, Floats]:
        """What any two annotators who met made there, and twice what they shared of it."""
        one, other, overlap = self.pairs(pieces)
        keys, place = self.people_met
        return sums(place, own[one] + own[other], len(keys)), sums(place, 2 * overlap, len(keys))

    def tally(self, seen: Seen = "given", *, tells_of_others: bool = True) -> MarkTally:
        """Everything that is counted, without who marked what and where."""
        met = None
        if tells_of_others and self.meetings <= MOST_MET and len(keys := self.people_met[0]) <= MOST_ROWS:
            place = self.people_met[1]
            one, other = (each.tolist() for each in np.divmod(keys, max(1, len(self.annotators))))
            names = [(self.annotators[a], self.annotators[b]) for a, b in zip(one, other, strict=True)]
            met = dict(zip(names, np.bincount(place, minlength=len(keys)).tolist(), strict=True))
        tables = {name: self._table(pieces, shared, met) for name, pieces, shared in self.levels()}
        if len(self.labels) <= MOST_CLASSES:
            for number, label in enumerate(self.labels):
                pieces, name = self.pieces(label=number), CLASS + label
                tables[name] = self._table(pieces, {name: self.shared(pieces)}, met)
        saw: dict[str, dict[int, int]] = {who: {} for who in self.annotators}
        n = self.n[self.item]
        first, place = numbered(self.annotator, n)
        sizes = np.bincount(place)
        for who, size, times in zip(self.annotator[first].tolist(), n[first].tolist(), sizes.tolist(), strict=True):
            saw[self.annotators[who]][size] = times
        return MarkTally(saw, tables, self.by_label, met, self.met_others(), int((self.made == 0).sum()), seen)

    def _table(self, pieces: Pieces, shared: Mapping[str, Shared], met: Mapping[Pair, int] | None) -> MarkTable:
        """What is shared of the same pieces, by items, visits, annotators and n, and pairs of annotators."""
        own, size = next(iter(shared.values())).own, len(self.items)
        whole = [sums(self.item, each, size) for each in (own, *(figure.met for figure in shared.values()))]
        kept = whole[0] > 0
        cells = _alike([self.n, *whole], kept)
        lost = [own, *(figure.met + figure.back for figure in shared.values())]
        n, columns = self.n[self.item], [*(each[self.item] for each in whole), *lost]
        visits = None if met is None else _alike([n, *columns], kept[self.item])
        first, place = numbered(self.annotator, n)
        rows = np.array([sums(place, each, len(first)) for each in columns]).T.tolist()
        keys = zip(self.annotator[first].tolist(), n[first].tolist(), strict=True)
        people = {(self.annotators[who], n): tuple(row) for (who, n), row in zip(keys, rows, strict=True) if any(row)}
        pairs = None
        if met is not None:
            between = zip(*(each.tolist() for each in self.between(pieces, own)), strict=True)
            pairs = {pair: row for pair, row in zip(met, between, strict=True) if any(row)}
        return MarkTable(
            tuple(shared), cells, visits if visits is None or len(visits) <= MOST_ROWS else None, people, pairs
        )

    def met_others(self) -> dict[tuple[int, int, str, str], int] | None:
        """How often a mark met another mark at somebody else: by n, kind of outcome and both labels."""
        if self.meetings > MOST_SUMMED:
            return None
        label, n, size = self.label[self.distinct], self.n[self.item[self.visit[self.distinct]]], len(self.labels)
        found: Counter[tuple[int, int, str, str]] = Counter()
        for mark, closest, kind in self.closest():
            first, place = numbered(n[mark], kind, label[mark] * size + label[closest])
            columns = (n[mark[first]], kind[first], label[mark[first]], label[closest[first]], np.bincount(place))
            for saw, met, one, other, times in zip(*(column.tolist() for column in columns), strict=True):
                found[saw, met, self.labels[one], self.labels[other]] += times
        return dict(found)


def _alike(columns: Sequence[Ints | Floats], kept: NDArray[np.bool_]) -> dict[Row, int]:
    """How many rows are alike, of some."""
    alike, times = np.unique(np.stack([each[kept] for each in columns]), axis=1, return_counts=True)
    return {(int(n), *amounts): size for (n, *amounts), size in zip(alike.T.tolist(), times.tolist(), strict=True)}


def tally_marks(marked: MarkRows) -> MarkTally:
    """Marks counted some items at a time; refused as :meth:`CodedMarks.of` refuses them."""
    item = nw.col("item").cast(nw.String)
    sizes = to_polars(marked.rows.group_by(item.alias("item")).agg(nw.len().alias("rows"))).sort("item")
    block = (sizes["rows"].cum_sum() - 1) // ROWS_AT_ONCE
    frames = [frame for frame in (marked.rows, marked.seen, marked.texts) if frame is not None]
    kinds = [frame.collect_schema()["item"] for frame in frames]
    are_plain = all(kind == nw.String or kind.is_integer() for kind in kinds)  # 7 and 7.0 are one item, in one block
    starts = sizes["item"].filter(block.diff() > 0).to_list() if are_plain else []
    whole = MarkTally(left_out=marked.left_out)
    for low, high in pairwise((None, *starts, None)):
        above = nw.lit(value=True) if low is None else item >= low
        below = nw.lit(value=True) if high is None else item < high
        chosen = above & below | item.is_null() if low is None else above & below
        seen, texts = (None if each is None else each.filter(chosen) for each in (marked.seen, marked.texts))
        part = replace(marked, rows=marked.rows.filter(chosen), seen=seen, texts=texts) if starts else marked
        whole += CodedMarks.of(part).tally(marked.how, tells_of_others=whole.met is not None)
    return whole


@dataclass(frozen=True)
class Pieces:
    """Parts of lanes that visits marked, from one of the ``positions`` to another, by their places.

    No two pieces of a visit overlap in one lane.
    """

    visit: Ints
    lane: Ints
    start: Ints
    end: Ints
    positions: Floats

    @classmethod
    def joined(cls, visit: Ints, lane: Ints, start: Ints, end: Ints, positions: Floats) -> Pieces:
        """With overlapping pieces of a visit joined.

        >>> places = (np.array(each) for each in ([0, 0, 0], [0, 0, 0], [5, 0, 3], [7, 4, 4]))
        >>> pieces = Pieces.joined(*places, np.arange(8.0))
        >>> pieces.start.tolist(), pieces.end.tolist()
        ([0, 5], [4, 7])
        """
        order = np.lexsort((start, lane, visit))
        visit, lane, start, end = visit[order], lane[order], start[order], end[order]
        new = np.zeros(len(visit), dtype=np.bool_)
        new[run_starts(visit, lane)] = True
        group = np.cumsum(new) * len(positions)  # so that a running maximum starts again in each group
        reach = np.maximum.accumulate(group + end) - group
        new[1:] |= start[1:] > reach[:-1]
        begins = np.flatnonzero(new)
        last = np.append(begins[1:], len(visit))[: len(begins)] - 1
        return cls(visit[begins], lane[begins], start[begins], reach[last], positions)

    def by(self, visits: Ints) -> Pieces:
        """Those of some visits."""
        kept = np.isin(self.visit, visits)
        visit, lane, start, end = (each[kept] for each in (self.visit, self.lane, self.start, self.end))
        return Pieces(visit, lane, start, end, self.positions)

    @property
    def size(self) -> Floats:
        """The length of each piece."""
        return self.positions[self.end] - self.positions[self.start]

    def covered(self) -> tuple[Floats, Floats]:
        """The length of each piece, and how much of it the pieces of others cover, summed over the others."""
        width = len(self.positions)
        ends = np.concatenate([self.lane * width + self.start, self.lane * width + self.end])
        first, place = numbered(ends)
        keys = ends[first]
        step = np.repeat([1, -1], len(self.lane))
        covering = np.cumsum(np.bincount(place, step, len(keys)))  # from each key to the next; 0 at the end of a lane
        stretch = np.diff(self.positions[keys % max(1, width)], append=0.0) if len(keys) else np.zeros(0)
        so_far = np.concatenate([[0.0], np.cumsum(np.where(covering > 0, covering * stretch, 0.0))])
        begin, end = np.split(place, 2)
        return self.size, np.maximum(so_far[end] - so_far[begin] - self.size, 0.0)

    def overlapping(self) -> Iterator[tuple[Ints, Ints]]:
        """All pairs of pieces of different visits that overlap in one lane, some at a time and no pair twice.

        All overlaps of two marks are found together, so that the closest of several can be chosen.
        """
        width = len(self.positions)
        begins = self.lane * width + self.start
        order = np.argsort(begins, kind="stable")
        ends = (
            self.lane[order] * width + np.maximum(self.end, self.start + 1)[order]
        )  # an empty one meets what starts there
        after = np.searchsorted(begins[order], ends, side="left") - np.arange(len(order)) - 1
        starts = np.flatnonzero(np.diff(self.lane[order], prepend=-1))
        block = np.cumsum(after)[starts] // PAIRS_AT_ONCE if len(starts) else starts
        bounds = [*starts[run_starts(block)].tolist(), len(order)]
        for low, high in pairwise(bounds):
            one = np.repeat(np.arange(low, high), after[low:high])
            first = np.repeat(np.cumsum(after[low:high]) - after[low:high], after[low:high])
            other = one + 1 + np.arange(len(one)) - first
            kept = self.visit[order[one]] != self.visit[order[other]]
            yield order[one[kept]], order[other[kept]]

    def overlap(self, one: Ints, other: Ints) -> Floats:
        """How much of two pieces is the same, pair by pair."""
        end = np.minimum(self.end[one], self.end[other])
        return self.positions[end] - self.positions[np.maximum(self.start[one], self.start[other])]


def _named(frame: polars.DataFrame, source: str) -> polars.DataFrame:
    """Names as texts; a mark without a label has the label ""."""
    texts = [name for name in ("item", "annotator", "label", "cluster", "by", "mark") if name in frame.columns]
    frame = frame.with_columns(spelled(frame[name]).alias(name) for name in texts)
    for name in (name for name in ("item", "annotator") if name in frame.columns):
        lacking = frame.filter(polars.col(name).is_null())
        if lacking.height:
            raise DataError(wrong_cell(source, name, None, lacking["row"].to_list() if "row" in lacking else []))
    if "length" in frame.columns:
        frame = frame.with_columns(polars.col("length").cast(polars.Float64, strict=False))
    if "start" in frame.columns or "mark" in frame.columns:
        label = polars.col("label").fill_null("") if "label" in texts else polars.lit("")
        frame = frame.with_columns(label.alias("label"))
    return frame


def _with_lengths(seen: polars.DataFrame, source: str) -> polars.DataFrame:
    """With the lengths of the texts; offsets cannot belong to two versions of a text."""
    texts = seen.group_by("item").agg(polars.col("text").drop_nulls().unique())
    several = texts.filter(polars.col("text").list.len() > 1)["item"].sort()
    if len(several):
        raise DataError(
            f"{source}: item {shown(several[0])} has several texts, and offsets belong to one of them; "
            f"{count(len(several), 'item is', 'items are')} like this: give versions of a text items of their own"
        )
    if "length" in seen.columns:
        other = seen.filter(polars.col("text").str.len_chars() != polars.col("length")).sort("item")
        if other.height:
            item, length, text = other.select("item", "length", "text").row(0)
            raise DataError(
                f"{source}: the length of item {shown(item)} is {length:g}, but its text has {len(text):,} characters: "
                "offsets belong to one version of the text"
            )
        return seen
    return seen.with_columns(length=polars.col("text").str.len_chars().cast(polars.Float64))


def _fitted(rows: polars.DataFrame, seen: polars.DataFrame, marked: MarkRows) -> polars.DataFrame:
    """The marks in characters: what each quotes must stand in the text, and loose ends are cut."""
    texts = dict(seen.select("item", "text").drop_nulls().iter_rows())
    start, end = (polars.col(name).cast(polars.Float64, strict=False) for name in ("start", "end"))
    is_span = (start < end).fill_null(value=False)  # others are refused, or counted, with those that have no quotes
    others, rows = rows.filter(~is_span), rows.filter(is_span).sort("item", "annotator")
    columns = rows.rows(named=True)
    places: list[tuple[float, float, str]] = []
    for (item, _), made in groupby(columns, key=itemgetter("item", "annotator")):
        marks = [
            Mark(
                each["label"],
                each["start"],
                each["end"],
                each.get("quote"),
                f"{marked.name}: row {each['row']}" if "row" in each else marked.name,
            )
            for each in made
        ]
        text = texts.get(item)
        units = (CHARACTERS, UTF16) if all(mark.quote is not None for mark in marks) else (CHARACTERS,)
        given = Marks(f"{marked.name}: item {shown(item)}", marks, [] if text is None else [text], units)
        places += located(given, is_loose=marked.is_loose)[0]
    ends = {name: [place[number] for place in places] for number, name in enumerate(("start", "end"))}
    fitted = [polars.Series(name, ends[name], dtype=polars.Float64).cast(rows.schema[name]) for name in ends]
    return polars.concat([rows.with_columns(fitted), others])


def _checked(rows: polars.DataFrame, seen: polars.DataFrame, source: str) -> polars.DataFrame:
    """The marks with their offsets as numbers; the first that cannot be one is refused with its row."""
    start, end, col = polars.col("start"), polars.col("end"), polars.col
    offsets = [col(name).cast(polars.Float64, strict=False).alias(f"{name}_number") for name in ("start", "end")]
    rows = rows.with_columns(offsets).filter(start.is_not_null() | end.is_not_null())
    for name in ("start", "end"):
        wrong = rows.filter(col(f"{name}_number").is_null() | ~col(f"{name}_number").is_finite())
        if wrong.height:
            row = wrong["row"].to_list()[:1] if "row" in wrong.columns else []
            raise DataError(f"{wrong_cell(source, name, wrong[name][0], row)} is no offset; {_and_more(wrong)}")
    rows = rows.with_columns(col("start_number").alias("start"), col("end_number").alias("end"))
    faults = {
        "is before its start {start:g}": rows.filter(end < start),
        "belongs to a mark that starts at {start:g}, before its text": rows.filter(start < 0),
    }
    if (empty := rows.filter(end == start)).height * FEWEST_WITH_LENGTH > rows.height:
        faults["is not beyond its start {start:g}; if ends are inclusive, add 1"] = empty
    if "length" in seen.columns:
        lengths = seen.group_by("item").agg(col("length").drop_nulls().first())
        beyond = rows.join(lengths, on="item", how="left").filter(end > col("length"))
        faults["is beyond the end of its text, {length:g}"] = beyond
    for what, wrong in faults.items():
        if wrong.height:
            first = wrong.row(0, named=True)
            row = [first["row"]] if "row" in first else []
            why = what.format(**{name: first[name] for name in ("start", "length") if name in first})
            place = wrong_cell(source, "end", f"{first['end']:.16g}", row)
            raise DataError(f"{place} {why}; {_and_more(wrong)}")
    return rows


def _keyed(rows: polars.DataFrame, key: polars.Series) -> polars.DataFrame:
    """The marks with the number of their key as the start."""
    start = polars.Series("start", _places(rows["mark"], key), dtype=polars.Float64)
    return rows.with_columns(start, end=start + 1).filter(start >= 0)


def _and_more(wrong: polars.DataFrame) -> str:
    return f"{count(wrong.height, 'row is', 'rows are')} like this: correct them, or leave them out"


def _coded(column: polars.Series) -> tuple[tuple[str, ...], Ints]:
    """The names in a column, sorted, and the place of each value among them; −1 if missing."""
    names = column.drop_nulls().unique().sort()
    return tuple(names.to_list()), _places(column, names)


def _places(column: polars.Series, names: polars.Series) -> Ints:
    """The place of each value among the sorted names; −1 if missing."""
    return places(column, names).cast(polars.Int64).fill_null(-1).to_numpy()
