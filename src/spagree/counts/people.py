"""Annotator cells: how many annotations of each kind each annotator made (docs/mathematics.md §9.1).

Leaving out an annotation from an item with n annotations, A agreeing ordered pairs and c annotations of its own label
changes SPA by a function of (n, A, c) alone. So these integers tell what SPA would be without each annotator; like the
rest of a tally they merge by addition. With its label they tell the same of kappas: where only two annotated an item,
the other one's label no longer counts either, so it is kept as well. Where labels make too many kinds, they are left
out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from spagree.codes import UNKNOWN, Codes, counted, numbered
from spagree.counts.engines import column_names, rows
from spagree.counts.items import BITS, MOST_CLASSES, PAIRS, ItemWords, N, Packing, item_label_counts, item_sums
from spagree.counts.tally import NO_VALUE, Kind, People, Tally, add_people, by_group, group_name, text
from spagree.read.annotations import ANNOTATOR, COUNT, GROUP, ITEM, LABEL, nw

K = TypeVar("K")
MOST_WORDS = 8
MOST_KINDS = 3_000_000  # of all annotators together
MOST_SIZES = 64  # annotators who made about as many annotations are taken together
OWN, OTHER, FIRST, KINDS = "own", "other", "first", "kinds"


def as_many_kinds_as_fit(tally: Tally, count: Callable[..., K | None]) -> K | None:
    """The kinds with their labels; without them where they are too many, or None.

    Of very many annotations it is estimated first, so that no pass is in vain: as many as if every annotator's
    annotations were a sample of all, Σ 1 − (1 − p)^m. The same data give the same answer on every engine.
    """
    if tally.patterns is not None and tally.annotators and tally.annotations > MOST_KINDS:
        times: Counter[Kind] = Counter()
        for pattern, items in tally.patterns.items():
            n, pairs = sum(size for _, size in pattern), sum(size * (size - 1) for _, size in pattern)
            for place, (label, size) in enumerate(pattern):
                other = pattern[1 - place][0] if (n, size) == (2, 1) else ""
                times[n, pairs, size, label, other] += size * items
        shares = np.sort(np.array([*times.values()], dtype=np.float64)) / tally.annotations
        absent = np.log1p(-np.minimum(shares, 1 - 1e-12))
        alike = np.array_split(np.sort([*tally.annotators.values()]), min(MOST_SIZES, len(tally.annotators)))
        if sum(len(sizes) * -np.expm1(sizes.mean() * absent).sum() for sizes in alike) > MOST_KINDS:
            return count(labelled=False)
    kinds = count(labelled=True)
    return count(labelled=False) if kinds is None else kinds


def with_people_of_codes(tally: Tally, codes: Codes) -> Tally:
    """The tally of annotations in memory with their annotator cells."""
    return replace(tally, people=as_many_kinds_as_fit(tally, partial(people_in_codes, codes)))


def people_in_codes(codes: Codes, *, labelled: bool = True) -> People | None:
    """The annotator cells of annotations in memory; None if there are too many kinds to keep.

    >>> ints = lambda *values: np.array(values, dtype=np.int32)
    >>> codes = Codes(ints(0, 0, 0, 1), ints(0, 1, 2, 0), ints(0, 0, 1, 1), ("ann", "bob", "cyd"), ("no", "yes"))
    >>> people_in_codes(codes)["ann"]
    {(3, 2, 2, 'no', ''): 1, (1, 0, 1, 'yes', ''): 1}
    >>> people_in_codes(codes, labelled=False)["ann"]
    {(3, 2, 2, None, None): 1, (1, 0, 1, None, None): 1}
    """
    item, label, count = codes.counts
    n = np.bincount(codes.item)[item] if len(item) else count
    pairs = np.bincount(item, count * (count - 1))[item].astype(np.int64) if len(item) else count
    own, other = label.astype(np.int64), np.full(len(item), UNKNOWN, dtype=np.int64)
    two = np.flatnonzero((n == 2) & (count == 1))  # one beside the other, because entries are sorted by item
    other[two] = label[two.reshape(-1, 2)[:, ::-1].ravel()]
    first, kind = numbered(n, pairs, count, own, other + 1) if labelled else numbered(n, pairs, count)
    known, kinds = codes.annotator >= 0, max(1, len(first))
    keys, times = counted(codes.annotator[known].astype(np.int64) * kinds + np.repeat(kind, count)[known])
    if len(keys) > MOST_KINDS:
        return None
    columns = (each[first].tolist() for each in (n, pairs, count, own, other))
    names: list[Kind] = []
    for *numbers, place, beside in zip(*columns, strict=True):
        of_labels = (codes.labels[place], codes.labels[beside] if beside >= 0 else "") if labelled else (None, None)
        names.append((*numbers, *of_labels))
    people: dict[str, dict[Kind, int]] = {}
    for key, size in zip(keys.tolist(), times.tolist(), strict=True):
        people.setdefault(codes.annotators[key // kinds], {})[names[key % kinds]] = size
    return _in_order(people)


def count_people(
    frame: nw.LazyFrame[Any],
    labels: Mapping[Any, int],
    most: int,
    words: ItemWords | None,
    *,
    are_known: bool,
    labelled: bool = True,
) -> People | None:
    """The same where the annotations are; ``are_known``: each has an annotator.

    ``words`` are the counts of the items' labels, if they are known; ``most`` is the largest number of annotations of
    an item.
    """
    found = _count(frame, labels, most, [ITEM], words, are_known=are_known, labelled=labelled)
    return None if found is None else found.get(NO_VALUE, {})


def count_people_of_groups(
    frame: nw.LazyFrame[Any], labels: Mapping[Any, int], most: int, *, labelled: bool = True
) -> Mapping[str, People] | None:
    """The same for each group alone: of an item, only the annotations of one group count."""
    has_none = nw.col(GROUP).is_null()  # a join finds no nulls
    named = _count(frame.filter(~has_none), labels, most, [ITEM, GROUP], labelled=labelled)
    nameless = _count(frame.filter(has_none), labels, most, [ITEM], labelled=labelled)
    return by_group(add_people, nameless, named)


def _count(
    frame: nw.LazyFrame[Any],
    labels: Mapping[Any, int],
    most: int,
    units: Sequence[str],
    words: ItemWords | None = None,
    *,
    are_known: bool = False,
    labelled: bool,
) -> dict[str, People] | None:
    """By group. A unit is an item, or an item's annotations by a group.

    The counts of a unit's labels are put beside each of its annotations: with few classes packed into words, with many
    one by one; so also on dask, which cannot choose between sums of columns, and on pyarrow, which takes no large whole
    numbers for floats.
    """
    if ANNOTATOR not in column_names(frame) or COUNT in column_names(frame):
        return None
    if words is None and len(labels) <= MOST_CLASSES:
        words = ItemWords.of(frame, Packing(list(labels), BITS // max(1, most.bit_length())), units[1:])
    known = frame.select(*units, ANNOTATOR, LABEL)
    if not are_known:  # a filter makes duckdb take the annotations for few, and the items for many
        known = known.filter(~nw.col(ANNOTATOR).is_null())
    packing = None
    cannot_unpack = frame.implementation.is_dask() or frame.implementation.is_pyarrow()
    if words is None or words.packing.words > MOST_WORDS or cannot_unpack:
        kinds = _joined(known, item_label_counts(frame, units), units, labelled=labelled)
    else:
        kinds, packing = _packed(known, words, units, labelled=labelled), words.packing
    fetched = rows(kinds.head(MOST_KINDS + 1))
    if len(fetched) > MOST_KINDS:
        return None
    groups: dict[str, dict[str, dict[Kind, int]]] = {}
    cells: dict[Any, dict[Kind, int]] = {}
    same: dict[Any, Kind] = {}  # there are millions of kinds, but few that differ
    person = len(units)
    for row in fetched:
        who, what, size = row[:person], row[person:-1], row[-1]
        if who not in cells:
            group = group_name(who[0]) if person > 1 else NO_VALUE
            cells[who] = groups.setdefault(group, {}).setdefault(text(who[-1]), {})
        if what not in same:
            n, pairs, own, *of_labels = what
            label = other = None
            if labelled:
                label, *beside = of_labels
                if (n, own) != (2, 1):
                    beside = [""]
                elif packing is not None:
                    (two,), _ = packing.unpack(np.array([[*map(int, beside)]], dtype=np.int64))
                    beside = [each for each in two if each != label]
                label, other = text(label), text(beside[0])
            same[what] = int(n), int(pairs), int(own), label, other
        cell, kind = cells[who], same[what]
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


def _packed(known: nw.LazyFrame[Any], words: ItemWords, units: Sequence[str], *, labelled: bool) -> nw.LazyFrame[Any]:
    """The kinds of each annotator, from the words of each unit's counts; those of two annotations stay in the kind."""
    counts, n, names = words.counts(), nw.col(N), words.packing.names
    pairs = nw.sum_horizontal(*(each * each for each in counts.values())).cast(nw.Int64) - n
    of_two = [
        nw.when(n == 2).then(nw.col(name)).otherwise(nw.lit(0, nw.Int64)).alias(f"{OTHER}{name}") for name in names
    ]
    figures = words.frame.with_columns(pairs.alias(PAIRS), *(of_two if labelled else ()))
    beside = known.join(figures, on=list(units), how="inner")
    own = nw.lit(0.0)
    for label, each in counts.items():
        own = nw.when(nw.col(LABEL) == nw.lit(label)).then(each).otherwise(own)
    of_labels = [LABEL, *(f"{OTHER}{name}" for name in names)] if labelled else []
    return _grouped(beside.with_columns(own.cast(nw.Int64).alias(OWN)), units, of_labels)


def _joined(
    known: nw.LazyFrame[Any], counts: nw.LazyFrame[Any], units: Sequence[str], *, labelled: bool
) -> nw.LazyFrame[Any]:
    """The same for many classes, or many annotations of an item, from the counts of each unit's labels."""
    last = counts.group_by(*units).agg(nw.col(LABEL).max().alias(OTHER))
    first = item_sums(counts, units).select(*units, N, PAIRS, nw.col(LABEL).alias(FIRST))
    items = first.join(last, on=list(units), how="inner")
    own = counts.select(*units, LABEL, nw.col(COUNT).alias(OWN))
    beside = known.join(own, on=[*units, LABEL], how="inner").join(items, on=list(units), how="inner")
    other = nw.when(nw.col(LABEL) == nw.col(OTHER)).then(nw.col(FIRST)).otherwise(nw.col(OTHER))
    two = (nw.col(N) == 2) & (nw.col(OWN) == 1)
    beside = beside.with_columns(nw.when(two).then(other).otherwise(nw.col(LABEL)).alias(OTHER))
    return _grouped(beside, units, [LABEL, OTHER] if labelled else [])


def _grouped(beside: nw.LazyFrame[Any], units: Sequence[str], of_labels: Sequence[str]) -> nw.LazyFrame[Any]:
    """The annotations of each kind and annotator, by group."""
    return beside.group_by(*units[1:], ANNOTATOR, N, PAIRS, OWN, *of_labels).agg(nw.len().alias(KINDS))
