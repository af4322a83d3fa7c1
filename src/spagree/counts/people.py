"""Annotator cells: how many annotations of each kind each annotator made (docs/mathematics.md §9.1).

Leaving out an annotation from an item with n annotations, A agreeing ordered pairs and c annotations of its own label
changes SPA by a function of (n, A, c) alone. So these integers tell what SPA would be without each annotator; like the
rest of a tally they merge by addition. With its label they tell the same of kappas: where only two annotated an item,
the other one's label no longer counts either, so it is kept as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spagree.codes import UNKNOWN, Codes, counted, numbered
from spagree.counts.engines import column_names, rows
from spagree.counts.items import BITS, MOST_CLASSES, PAIRS, N, Packing, item_label_counts, item_sums, word
from spagree.counts.tally import NO_VALUE, Kind, People, add_people, by_group, group_name, text
from spagree.read.annotations import ANNOTATOR, COUNT, GROUP, ITEM, LABEL, nw

MOST_WORDS = 8
MOST_KINDS = 3_000_000  # of all annotators together
OWN, OTHER, FIRST, KINDS = "own", "other", "first", "kinds"


def people_in_codes(codes: Codes) -> People | None:
    """The annotator cells of annotations in memory; None if there are too many kinds to keep.

    >>> ints = lambda *values: np.array(values, dtype=np.int32)
    >>> codes = Codes(ints(0, 0, 0, 1), ints(0, 1, 2, 0), ints(0, 0, 1, 1), ("ann", "bob", "cyd"), ("no", "yes"))
    >>> people_in_codes(codes)["ann"]
    {(3, 2, 2, 'no', ''): 1, (1, 0, 1, 'yes', ''): 1}
    """
    item, label, count = codes.counts
    n = np.bincount(codes.item)[item] if len(item) else count
    pairs = np.bincount(item, count * (count - 1))[item].astype(np.int64) if len(item) else count
    other = np.full(len(item), UNKNOWN, dtype=np.int64)
    two = np.flatnonzero((n == 2) & (count == 1))  # one beside the other, because entries are sorted by item
    other[two] = label[two.reshape(-1, 2)[:, ::-1].ravel()]
    first, kind = numbered(n, pairs, count, label.astype(np.int64), other + 1)
    known, kinds = codes.annotator >= 0, max(1, len(first))
    keys, times = counted(codes.annotator[known].astype(np.int64) * kinds + np.repeat(kind, count)[known])
    if len(keys) > MOST_KINDS:
        return None
    columns = (each[first].tolist() for each in (n, pairs, count, label, other))
    names: list[Kind] = [
        (*numbers, codes.labels[place], codes.labels[beside] if beside >= 0 else "")
        for *numbers, place, beside in zip(*columns, strict=True)
    ]
    people: dict[str, dict[Kind, int]] = {}
    for key, size in zip(keys.tolist(), times.tolist(), strict=True):
        people.setdefault(codes.annotators[key // kinds], {})[names[key % kinds]] = size
    return _in_order(people)


def count_people(frame: nw.LazyFrame[Any], labels: Mapping[Any, int], most: int) -> People | None:
    """The same where the annotations are; ``most`` is the largest number of annotations of an item."""
    found = _count(frame, labels, most, [ITEM])
    return None if found is None else found.get(NO_VALUE, {})


def count_people_of_groups(
    frame: nw.LazyFrame[Any], labels: Mapping[Any, int], most: int
) -> Mapping[str, People] | None:
    """The same for each group alone: of an item, only the annotations of one group count."""
    has_none = nw.col(GROUP).is_null()  # a join finds no nulls
    named = _count(frame.filter(~has_none), labels, most, [ITEM, GROUP])
    nameless = _count(frame.filter(has_none), labels, most, [ITEM])
    return by_group(add_people, nameless, named)


def _count(
    frame: nw.LazyFrame[Any], labels: Mapping[Any, int], most: int, units: Sequence[str]
) -> dict[str, People] | None:
    """By group. A unit is an item, or an item's annotations by a group.

    With few classes the counts of a unit's labels, packed into words, are put beside each of its annotations; with
    many, the count of each unit and label is; also on dask, which has no sums over an item, and on pyarrow, where they
    may come back in another order than the rows.
    """
    if ANNOTATOR not in column_names(frame) or COUNT in column_names(frame):
        return None
    packing = Packing(list(labels), BITS // max(1, most.bit_length()))
    has_windows = not (frame.implementation.is_dask() or frame.implementation.is_pyarrow())
    is_packed = len(labels) <= MOST_CLASSES and packing.words <= MOST_WORDS and has_windows
    kinds = _packed(frame, packing, units) if is_packed else _joined(frame, units)
    fetched = rows(kinds.head(MOST_KINDS + 1))
    if len(fetched) > MOST_KINDS:
        return None
    groups: dict[str, dict[str, dict[Kind, int]]] = {}
    seen: dict[Kind, Kind] = {}  # one object for all annotators: there are millions of kinds, but few that differ
    for *group, who, n, pairs, own, label, other, size in fetched:
        cell = groups.setdefault(group_name(group[0]) if group else NO_VALUE, {}).setdefault(text(who), {})
        beside = text(packing.labels[int(other)] if is_packed else other) if (n, own) == (2, 1) else ""
        kind = int(n), int(pairs), int(own), text(label), beside
        kind = seen.setdefault(kind, kind)
        cell[kind] = cell.get(kind, 0) + int(size)
    return {group: _in_order(people) for group, people in groups.items()}


def count_meetings(frame: nw.LazyFrame[Any]) -> list[tuple[str, str, int, int]]:
    """Any two annotators who met, with the items they share and on how many of them they agree."""
    mine = frame.filter(~nw.col(ANNOTATOR).is_null()).select(ITEM, ANNOTATOR, LABEL)
    theirs = mine.select(ITEM, nw.col(ANNOTATOR).alias(OTHER), nw.col(LABEL).alias(FIRST))
    both = mine.join(theirs, on=ITEM, how="inner").filter(nw.col(ANNOTATOR) < nw.col(OTHER))
    alike = nw.when(nw.col(LABEL) == nw.col(FIRST)).then(nw.lit(1)).otherwise(nw.lit(0)).alias(OWN)
    pairs = both.with_columns(alike).group_by(ANNOTATOR, OTHER).agg(nw.len().alias(N), nw.col(OWN).sum())
    return [(text(one), text(other), int(shared), int(alike)) for one, other, shared, alike in rows(pairs)]


def _in_order(people: Mapping[str, Mapping[Kind, int]]) -> People:
    """By annotator, and the kinds like the cells of a tally: equal tallies also look equal."""
    return {who: dict(sorted(people[who].items(), reverse=True)) for who in sorted(people)}


def _packed(frame: nw.LazyFrame[Any], packing: Packing, units: Sequence[str]) -> nw.LazyFrame[Any]:
    """The kinds of each annotator, from the words of each unit's counts that stand beside each of its annotations."""
    bits, chunks, group = packing.bits, packing.chunks(), units[1:]
    words = [f"word{place}" for place in range(packing.words)]
    ones = [word(chunk, bits).alias(name) for name, chunk in zip(words, chunks, strict=True)]
    sums = [nw.col(name).sum().over(*units).alias(name) for name in words]
    beside = frame.select(*units, ANNOTATOR, LABEL, *ones).with_columns(*sums)
    # The arithmetic is done once for all annotations by one person of one label on items with the same counts.
    known = beside.filter(~nw.col(ANNOTATOR).is_null())
    alike = known.group_by(*group, ANNOTATOR, LABEL, *words).agg(nw.len().alias(KINDS))
    counts = {}
    for name, chunk in zip(words, chunks, strict=True):
        whole = nw.col(name).cast(nw.Int64)
        for place, label in enumerate(chunk):
            low, high = nw.lit(1 << bits * place), nw.lit(1 << bits * (place + 1))
            counts[label] = (whole % high - whole % low) // low  # exact also where // divides floats, as in Spark
    n = nw.sum_horizontal(*counts.values())
    pairs = nw.sum_horizontal(*(each * (each - 1) for each in counts.values()))
    own, other = nw.lit(0, nw.Int64), nw.lit(0, nw.Int64)
    for place, (label, each) in enumerate(counts.items()):
        is_own = nw.col(LABEL) == nw.lit(label)
        own = nw.when(is_own).then(each).otherwise(own)
        other = nw.when((n == 2) & (each == 1) & ~is_own).then(nw.lit(place, nw.Int64)).otherwise(other)
    figures = alike.with_columns(n.alias(N), pairs.alias(PAIRS), own.alias(OWN), other.alias(OTHER))
    return figures.group_by(*group, ANNOTATOR, N, PAIRS, OWN, LABEL, OTHER).agg(nw.col(KINDS).sum())


def _joined(frame: nw.LazyFrame[Any], units: Sequence[str]) -> nw.LazyFrame[Any]:
    """The same for many classes, or many annotations of an item."""
    counts = item_label_counts(frame, units)
    last = counts.group_by(*units).agg(nw.col(LABEL).max().alias(OTHER))
    first = item_sums(counts, units).select(*units, N, PAIRS, nw.col(LABEL).alias(FIRST))
    items = first.join(last, on=list(units), how="inner")
    known = frame.filter(~nw.col(ANNOTATOR).is_null()).select(*units, ANNOTATOR, LABEL)
    own = counts.select(*units, LABEL, nw.col(COUNT).alias(OWN))
    beside = known.join(own, on=[*units, LABEL], how="inner").join(items, on=list(units), how="inner")
    other = nw.when(nw.col(LABEL) == nw.col(OTHER)).then(nw.col(FIRST)).otherwise(nw.col(OTHER))
    two = (nw.col(N) == 2) & (nw.col(OWN) == 1)
    beside = beside.with_columns(nw.when(two).then(other).otherwise(nw.col(LABEL)).alias(OTHER))
    return beside.group_by(*units[1:], ANNOTATOR, N, PAIRS, OWN, LABEL, OTHER).agg(nw.len().alias(KINDS))
