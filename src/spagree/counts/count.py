"""Annotations → Tally: one expression, run natively by the engine that holds the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree import progress
from spagree.codes import UNKNOWN, AnyInts, Codes, Ints, numbered, run_starts
from spagree.counts.engines import column_names, kept, row_count, rows, sampled_items, to_polars
from spagree.counts.fetch import fetched_few, fetched_once
from spagree.counts.items import (
    MOST_CLASSES,
    PAIRS,
    TRIPLES,
    Held,
    ItemWords,
    N,
    Packing,
    item_sums,
    items_in_codes,
    size,
    spelled,
)
from spagree.counts.labels import warn_ids, warn_own_labels, warn_sets, warn_variants
from spagree.counts.people import as_many_kinds_as_fit, count_people, count_people_of_groups, with_people_of_codes
from spagree.counts.policies import Clean, Policies, apply_policies, drop_missing
from spagree.counts.tally import (
    NO_VALUE,
    Cell,
    Grouped,
    Pattern,
    Tally,
    Votes,
    add_counts,
    commonest_first,
    group_name,
    refuse_overflow,
    same_counting,
    sum_known,
    text,
)
from spagree.errors import DataError, FileError, Warning, opt
from spagree.read.annotations import (
    ANNOTATOR,
    CLUSTER,
    COUNT,
    GROUP,
    ITEM,
    LABEL,
    MOST_COMPARED,
    Annotations,
    FewRows,
    is_missing,
    nw,
)
from spagree.read.files.paths import refuse_changed
from spagree.read.table import shown

if TYPE_CHECKING:
    import polars

SINGLE, ITEMS, LOST = "single", "items", "lost"


@dataclass(frozen=True, slots=True)
class Counted:
    """A tally, the annotations behind it, and what to tell the user."""

    tally: Tally
    held: Held
    warnings: tuple[Warning, ...]

    def without(self, labels: Collection[str]) -> Tally:
        """The tally without annotations that carry these labels."""
        patterns = self.tally.patterns
        if patterns is None:
            kept = self.held.counts.filter(~nw.col(LABEL).cast(nw.String).is_in(list(labels)))
            return tally_counts(kept, None, {})
        left: Counter[Pattern] = Counter()
        for pattern, items in patterns.items():
            left[tuple(pair for pair in pattern if pair[0] not in labels)] += items
        del left[()]
        return Tally.from_patterns(dict(left))


def count(
    annotations: Annotations, policies: Policies | None = None, *, in_full: bool = False, people_above: float = inf
) -> Counted:
    """Count annotations on their engine; only a few thousand integers are fetched.

    Up to millions are fetched and counted here, because an interval for other annotators looks at each of them, and
    more if ``in_full`` says that every annotation is needed later. The kinds of annotations of each annotator are
    counted where there are more annotations than ``people_above``.

    >>> from spagree.read import read
    >>> counted = count(read([("q1", "ann", "yes"), ("q1", "bob", "yes"), ("q2", "ann", "no")]))
    >>> counted.tally.cells
    {Cell(n=2, pairs=2, triples=0): 1, Cell(n=1, pairs=0, triples=0): 1}
    """
    chosen, few = policies or Policies(), annotations.rows
    settled: tuple[Warning, ...] = ()
    fetched = None
    if isinstance(few, FewRows) and chosen == Policies(chosen.duplicates):
        fetched = fetched_few(few, in_full=in_full)
    if fetched is not None:
        known, missing = fetched
        left_out = {**annotations.left_out, **{why: size for why, size in missing.items() if size}}
        held = Held(few, known)
        tally = _count_codes(known, left_out, people_above)
        totals = tally.labels
    else:
        frame = annotations.frame
        schema = frame.collect_schema()
        roles = (ITEM, ANNOTATOR, LABEL, CLUSTER, GROUP)
        categories = [name for name in roles if name in schema and schema[name] in (nw.Categorical, nw.Enum)]
        if categories:  # not every engine can compare them
            frame = frame.with_columns(nw.col(*categories).cast(nw.String))
        progress.stage("counting labels")
        labels, lacking = _labels(frame)
        # A filter would read all items to count annotators
        is_whole = not lacking and COUNT not in column_names(frame)
        usable = Clean(frame if is_whole else drop_missing(frame), lacking)
        codes = fetched_once(usable.frame, labels, chosen, in_full=in_full, for_others=people_above < inf)
        clean = usable if codes is not None else apply_policies(usable, annotations, labels, chosen)
        # Most data needs no policy; then the labels need not be counted again.
        totals = labels if clean is usable else commonest_first(clean.labels or _labels(clean.frame)[0])
        left_out, settled = {**annotations.left_out, **clean.left_out}, clean.warnings
        held = Held(clean.frame, codes)
        if codes is None:
            tally = _count_on_engine(held, totals, left_out, annotations.understood.columns, people_above)
        else:
            tally = _count_codes(codes, left_out, people_above)
        refuse_changed(annotations.watched)
    annotator, label = (annotations.understood.columns.get(role) for role in (ANNOTATOR, LABEL))
    header_again: tuple[Warning, ...] = ()
    if label in tally.labels and annotator in (tally.annotators or {}):
        message = (
            f"the label {label!r} and the annotator {annotator!r} are the names of their columns: a header inside the "
            "data was counted as an annotation; delete it (files that were joined each bring one)"
        )
        header_again = (Warning("header_again", message),)

    def users() -> Iterable[tuple[Any, ...]]:
        if held.codes is not None:
            return held.codes.users_of_own_labels()
        return rows(held.frame.select(ANNOTATOR, LABEL).unique(subset=[ANNOTATOR, LABEL]))

    warnings = (
        *annotations.warnings,
        *header_again,
        *warn_variants(totals),
        *warn_ids(tally, partial(_item_names, held, tally.items)),
        *settled,
        *warn_own_labels(tally, users),
        *(() if chosen.of_sets or chosen.separator else warn_sets(totals)),
    )
    return Counted(tally, held, warnings)


def _count_on_engine(
    held: Held,
    labels: Mapping[Any, int],
    left_out: Mapping[str, int],
    columns: Mapping[str, str],
    people_above: float,
) -> Tally:
    """Where the annotations are: what is kept for the kinds of annotations is dropped once these are counted."""
    progress.stage("counting annotators")
    annotators: dict[str, int] | None = None
    if ANNOTATOR in column_names(held.frame):
        made = rows(held.frame.group_by(ANNOTATOR).agg(nw.len().alias(COUNT)))
        annotators = {text(who): int(size) for who, size in made if who is not None} or (None if made else {})
    progress.stage("counting items")
    grouped = count_grouped(held.frame, labels, columns)
    with ExitStack() as until:
        are_wanted = annotators is not None and sum(labels.values()) > people_above
        patterns, words = None if grouped is None else grouped.patterns(), None
        if grouped is None:
            patterns, words = find_patterns(held.frame, labels, until if are_wanted else None)
        tally = replace(_tally(held.counts, labels, annotators, left_out, patterns), grouped=grouped)
        if not are_wanted or annotators is None:
            return tally
        progress.stage("counting kinds of annotations")
        known = held.frame, labels, max(tally.items_by_n, default=1)
        if grouped is not None and grouped.by is not None:
            grouped = replace(grouped, people=as_many_kinds_as_fit(tally, partial(count_people_of_groups, *known)))
        are_known = sum(annotators.values()) == tally.annotations
        counted = partial(count_people, *known, words, are_known=are_known)
        return replace(tally, people=as_many_kinds_as_fit(tally, counted), grouped=grouped)


def _count_codes(codes: Codes, left_out: Mapping[str, int], people_above: float) -> Tally:
    """The same in memory."""
    tally = tally_of_codes(codes, left_out)
    if tally.annotations <= people_above or tally.annotators is None:
        return tally
    progress.stage("counting kinds of annotations")
    return with_people_of_codes(tally, codes)


def _item_names(held: Held, items: int) -> Iterable[Any]:
    """Items that are text; of more than 5,000, about that many from the first rows, with all spellings of each."""
    few, codes = held.rows, held.codes
    if isinstance(few, FewRows) and codes is not None:
        return few.sample(max(1, items // MOST_COMPARED)) if few.sample else codes.item_names or ()
    is_text = held.frame.collect_schema()[ITEM] == nw.String
    return sampled_items(held.frame, items, MOST_COMPARED) if is_text else ()


def tally_counts(counts: nw.LazyFrame[Any], annotators: Mapping[str, int] | None, left_out: Mapping[str, int]) -> Tally:
    """The tally of precomputed (item, label, count) rows, one per item and label."""
    labels, _ = _labels(counts)
    return _tally(counts, labels, annotators, left_out, find_patterns(counts, labels)[0])


def _labels(frame: nw.LazyFrame[Any]) -> tuple[dict[Any, int], dict[str, int]]:
    """Usable annotations per label, most common first, and how many lack a label or an item: one cheap pass."""
    without_item = nw.col(ITEM).is_null().cast(nw.Int64)
    lost = without_item * nw.col(COUNT) if COUNT in column_names(frame) else without_item
    sizes = frame.with_columns(lost.alias(LOST)).group_by(LABEL)
    per_label = rows(sizes.agg(size(frame), nw.col(LOST).sum()))
    sums = {label: (int(total), int(gone)) for label, total, gone in per_label}
    lacking = {"missing_label": sums.pop(None, (0, 0))[0], "missing_item": sum(gone for _, gone in sums.values())}
    usable = {label: total - gone for label, (total, gone) in sums.items() if total > gone}
    return commonest_first(usable), {reason: size for reason, size in lacking.items() if size}


def _tally(
    counts: nw.LazyFrame[Any],
    labels: Mapping[Any, int],
    annotators: Mapping[str, int] | None,
    left_out: Mapping[str, int],
    patterns: Mapping[Pattern, int] | None,
) -> Tally:
    if patterns is not None:
        tally = Tally.from_patterns(patterns, annotators, left_out)
        refuse_overflow(max((cell.n for cell in tally.cells), default=0))
        return tally
    # The label of items annotated once is kept in the same pass, so labels of pairable items follow by subtraction and
    # the items are grouped only once. Other items carry null, or any label on pandas-like engines, where a null turns
    # integers into floats; on other engines a constant column would cost a pass over all items.
    chosen = nw.when(nw.col(N) == 1).then(nw.col(LABEL))
    single: nw.Expr = chosen
    if counts.implementation.is_pandas_like() or counts.implementation.is_dask():
        single = chosen.otherwise(nw.lit(next(iter(labels), None)))
    groups = item_sums(counts).with_columns(single.alias(SINGLE)).group_by(N, PAIRS, TRIPLES, SINGLE)
    kinds = sorted(rows(groups.agg(nw.len().alias(ITEMS))), key=lambda row: row[:3], reverse=True)
    refuse_overflow(int(max((row[0] for row in kinds), default=0)))
    cells: dict[Cell, int] = {}
    pairable = {text(label): size for label, size in labels.items()}
    for n, pairs, triples, label, items in kinds:
        cell = Cell(int(n), int(pairs), int(triples))
        cells[cell] = cells.get(cell, 0) + int(items)
        if cell.n == 1:
            pairable[text(label)] -= int(items)
    kept = {label: size for label, size in pairable.items() if size}
    return Tally(cells, {text(k): v for k, v in labels.items()}, kept, annotators, dict(left_out), None)


def tally_of_codes(codes: Codes, left_out: Mapping[str, int]) -> Tally:
    """The tally that the engine's passes over items and annotators would give.

    >>> from spagree.counts.fetch import coded
    >>> from spagree.read import read
    >>> codes = coded(read([("q1", "ann", "yes"), ("q1", "bob", "yes"), ("q2", "ann", "no")]).frame)
    >>> tally = tally_of_codes(codes, {})
    >>> tally.cells, tally.annotators
    ({Cell(n=2, pairs=2, triples=0): 1, Cell(n=1, pairs=0, triples=0): 1}, {'ann': 2, 'bob': 1})
    """
    per_annotator = np.bincount(codes.annotator[codes.annotator != UNKNOWN], minlength=len(codes.annotators)).tolist()
    annotators = {who: size for who, size in zip(codes.annotators, per_annotator, strict=True) if size} or None
    item, label, count = codes.counts
    refuse_overflow(int(np.bincount(codes.item).max(initial=0)))
    is_countable = len(codes.labels) <= MOST_CLASSES or len(codes.item) <= MOST_ROWS_FETCHED  # as on an engine
    found = coded_patterns(codes.labels, item, label, count, MOST_PATTERNS) if is_countable else None
    if found is not None:
        patterns, number = found
        sizes = np.bincount(number, minlength=len(patterns)).tolist()
        return Tally.from_patterns(dict(zip(patterns, sizes, strict=True)), annotators, left_out)
    # More combinations of labels than a tally keeps
    per_label = np.bincount(label, count, len(codes.labels)).astype(np.int64).tolist()
    totals = commonest_first({label: size for label, size in zip(codes.labels, per_label, strict=True) if size})
    return _tally(items_in_codes(codes).counts, totals, annotators, left_out, None)


def coded_patterns(
    labels: Sequence[str], item: AnyInts, label: AnyInts, count: Ints, most: int
) -> tuple[list[Pattern], Ints] | None:
    """The different patterns, and which of them each item has; None if there are more than ``most``.

    ``item``, ``label`` and ``count`` say how often an item got a label, sorted by item and label. Python handles each
    pattern once: items are told apart by their first label and its count, then by their second, and so on.

    >>> votes = np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([2, 1, 1])
    >>> coded_patterns(("no", "yes"), *votes, 10)
    ([(('no', 2),), (('no', 1), ('yes', 1))], array([0, 1]))
    """
    first, width = run_starts(item), int(count.max(initial=0)) + 1
    sizes = np.diff(first, append=len(item))
    vote = label.astype(np.int64) * width + count
    distinct, place = numbered(vote)
    number = np.zeros(len(first), dtype=np.int64)
    has = np.arange(len(first))
    for step in range(int(sizes.max(initial=0))):
        has = has[sizes[has] > step]
        number[has] = numbered(number[has], place[first[has] + step])[1] + int(number.max()) + 1
    one, number = numbered(number)
    if len(one) > most:
        return None
    votes = [(labels[code // width], code % width) for code in vote[distinct].tolist()]
    kinds = place.tolist()
    spans = zip(first[one].tolist(), sizes[one].tolist(), strict=True)
    return [tuple([votes[kind] for kind in kinds[start : start + size]]) for start, size in spans], number


MOST_KEPT = 1_000_000  # combinations of cluster, group and labels
OPTIONS = {CLUSTER: opt.cluster, GROUP: opt.by}
REMEDIES = {
    CLUSTER: "correct the column, or name another",
    GROUP: "if the column says who annotated, the breakdowns annotators and pairs show each of them; if it groups "
    f"annotators, name who annotated with {opt.annotator}",
}
SHOWN = 3


def count_grouped(frame: nw.LazyFrame[Any], labels: Mapping[Any, int], named: Mapping[str, str]) -> Grouped | None:
    """Items by cluster and by group; None if no such column was named. ``named`` maps roles to column names.

    Groups are groups of items if every item is in one group, and groups of annotators otherwise.
    """
    columns = [name for name in (CLUSTER, GROUP) if name in column_names(frame)]
    if not columns:
        return None
    # Booleans as text: not every engine can take their minimum.
    schema = frame.collect_schema()
    booleans = [name for name in columns if schema[name] == nw.Boolean]
    plain = frame.with_columns(nw.col(*booleans).cast(nw.String).str.to_lowercase()) if booleans else frame
    keys: Mapping[Any, int] = labels
    several = [name for name in columns if rows(having_several(plain, ITEM, name).head(1))]
    if CLUSTER in several:
        raise _in_several(plain, CLUSTER, named)
    if GROUP in several:
        _refuse_varying(plain, named)
        columns.remove(GROUP)
        given = rows(plain.group_by(GROUP, LABEL).agg(size(plain)))
        sizes = {(group, label): int(count) for group, label, count in given}
        keys = dict(sorted(sizes.items(), key=lambda pair: (-pair[1], group_name(pair[0][0]), text(pair[0][1]))))
    combinations, _ = find_counts(plain, keys, columns, most=MOST_KEPT)
    if combinations is None:
        options = " and ".join(OPTIONS[name](column) for name, column in named.items() if name in OPTIONS)
        raise DataError(
            f"{options}: more than {MOST_KEPT:,} combinations with labels, more than a tally keeps; name a column with "
            "fewer values, or merge rare labels"
        )
    items: Counter[tuple[str, Votes]] = Counter()
    for shared, counts, alike in combinations:
        values = dict(zip(columns, map(group_name, shared), strict=True))
        group = values.get(GROUP, NO_VALUE)
        votes = [
            (group_name(key[0]), text(key[1]), count) if isinstance(key, tuple) else (group, text(key), count)
            for key, count in counts.items()
        ]
        items[values.get(CLUSTER, NO_VALUE), tuple(sorted(votes))] += alike if votes else 0
    made: dict[str, dict[str, int]] = {}
    if {ANNOTATOR, GROUP} <= set(column_names(plain)):
        for group, annotator, count in sorted(
            (group_name(group), text(annotator), int(count))
            for group, annotator, count in rows(plain.group_by(GROUP, ANNOTATOR).agg(nw.len().alias(COUNT)))
            if not is_missing(annotator)
        ):
            made.setdefault(group, {})[annotator] = count
    return Grouped(named.get(CLUSTER), named.get(GROUP), dict(+items), made or None)


def _refuse_varying(frame: nw.LazyFrame[Any], named: Mapping[str, str]) -> None:
    """Refuse a group column that varies within items and within annotators."""
    if ANNOTATOR not in column_names(frame):
        raise _in_several(frame, GROUP, named)
    varying = having_several(frame.filter(~nw.col(ANNOTATOR).is_null()), ANNOTATOR, GROUP)
    for who, first, last in rows(varying.sort(ANNOTATOR).head(1)):
        raise DataError(
            f"{opt.by(named[GROUP])}: it varies within items and within annotators (annotator {shown(text(who))} "
            f"has {_both(first, last)}); name a column that belongs to items, such as a language, or to annotators, "
            "such as their experience"
        )


def _in_several(frame: nw.LazyFrame[Any], name: str, named: Mapping[str, str]) -> DataError:
    """The error for items that have several values, with the first of them."""
    varying = having_several(frame, ITEM, name)
    total = row_count(varying)
    shown_rows = rows(varying.sort(ITEM).head(SHOWN))
    examples = "; ".join(f"item {shown(text(item))} in {_both(first, last)}" for item, first, last in shown_rows)
    what = "clusters" if name == CLUSTER else "groups"
    return DataError(
        f"{OPTIONS[name](named[name])}: {total:,} {'item is' if total == 1 else 'items are'} in several {what} "
        f"({examples}), and an item belongs to one; {REMEDIES[name]}"
    )


def having_several(frame: nw.LazyFrame[Any], key: str, name: str) -> nw.LazyFrame[Any]:
    """(key, first, last): keys with several values in a column; a value in some rows and none in others is several."""
    value, first, last, lacking = nw.col(name), nw.col("first"), nw.col("last"), nw.col("lacking")
    ends = value.min().alias("first"), value.max().alias("last"), lacking.sum()
    grouped = frame.with_columns(value.is_null().cast(nw.Int64).alias("lacking")).group_by(key).agg(*ends)
    differ = (first != last) | (lacking > 0)
    return grouped.filter(~first.is_null() & differ).select(key, "first", "last")


def _both(first: Any, last: Any) -> str:
    return f"{shown(text(first))} and {shown(text(last)) if last != first else 'no value'}"


MOST_PATTERNS = 300_000
# Classes per word: ten leave six bits each, enough for most data; two leave 31, more than an item may have.
NARROW, WIDE = 10, 2
MOST_ROWS_FETCHED = 1_000_000


AlikeItems = tuple[Sequence[Any], Mapping[Any, int], int]
"""The values that some items share in the item columns, how often each key was given to one of them, and how many."""


def find_patterns(
    frame: nw.LazyFrame[Any], labels: Mapping[Any, int], until: ExitStack | None = None
) -> tuple[dict[Pattern, int] | None, ItemWords | None]:
    """Items per combination of label counts, or None if there are too many combinations to store; and the words."""
    groups, words = find_counts(frame, labels, most=MOST_PATTERNS, until=until)
    if groups is None:
        return None, words
    total: Counter[Pattern] = Counter()
    names = {label: text(label) for label in labels}
    for _, counts, items in groups:
        total[tuple(sorted((names[label], count) for label, count in counts.items()))] += items
    del total[()]  # rows of zeros: items without annotations
    return dict(total) if len(total) <= MOST_PATTERNS else None, words


def find_counts(
    frame: nw.LazyFrame[Any],
    keys: Mapping[Any, int],
    of_items: Sequence[str] = (),
    *,
    most: int,
    until: ExitStack | None = None,
) -> tuple[list[AlikeItems] | None, ItemWords | None]:
    """Items with the same count of every key, in one pass; None if there are too many distinct ones.

    A key is a label, or a pair of group and label. ``of_items`` are columns with one value per item. Also the packed
    counts of each item, if they could be packed; the engine keeps them ``until`` that is closed.
    """
    for classes_per_word in (NARROW, WIDE) if 0 < len(keys) <= MOST_CLASSES else ():
        packing = Packing(list(keys), classes_per_word)
        # Precomputed counts must fit their bits; the sums of single rows are checked afterwards.
        if COUNT in column_names(frame) and max(keys.values()) >= 1 << packing.bits:
            continue
        words = ItemWords.of(frame, packing, of_items)
        try:
            if until is not None:
                words = replace(words, frame=kept(words.frame, until))
            alike = words.frame.group_by(*of_items, N, *packing.names).agg(nw.len().alias(ITEMS))
            packed = rows(alike.head(most + 1))
        except FileError as error:
            if "overflow" in str(error.__cause__).lower():  # an engine that refuses sums beyond 64 bits
                continue
            raise
        if len(packed) > most:
            return None, None
        width = len(of_items)
        table = np.array([[int(word) for word in row[width + 1 : -1]] for row in packed], dtype=np.int64)
        counts, sizes = packing.unpack(table.reshape(-1, packing.words))
        # A counter that overflows its bits carries into the next, so the digits no longer add up.
        if [int(row[width]) for row in packed] == sizes.tolist():
            found = zip(packed, counts, strict=True)
            return [(row[:width], votes, int(row[-1])) for row, votes in found], words
    return _counts_in_python(frame, keys, of_items), None


def _counts_in_python(
    frame: nw.LazyFrame[Any], keys: Mapping[Any, int], of_items: Sequence[str]
) -> list[AlikeItems] | None:
    """For many labels, or many annotations per item: counted in Python, if there are few enough rows to fetch."""
    if sum(keys.values()) > MOST_ROWS_FETCHED and COUNT not in column_names(frame):
        return None
    of_labels = [GROUP, LABEL] if any(isinstance(key, tuple) for key in keys) else [LABEL]
    grouped = frame.group_by(ITEM, *of_items, *of_labels).agg(size(frame))
    fetched = rows(grouped.select(ITEM, *of_items, *of_labels, COUNT).head(MOST_ROWS_FETCHED + 1))
    if len(fetched) > MOST_ROWS_FETCHED:
        return None
    counts: dict[tuple[Any, ...], dict[Any, int]] = {}
    for *about, label, count in fetched:
        key = (about.pop(), label) if len(of_labels) > 1 else label
        if count:
            counts.setdefault(tuple(about), {})[key] = int(count)
    return [(values, votes, 1) for (_, *values), votes in counts.items()]


@dataclass(frozen=True, eq=False)
class ItemCounts:
    """How often each label was given to each item, as a polars table ``item, label, count``.

    Tallies merge only if every item is in one part. Item counts always merge, at the cost of one row per item and
    label.

    >>> import spagree
    >>> morning = spagree.count_items([("q1", "ann", "yes")])
    >>> evening = spagree.count_items([("q1", "bob", "yes"), ("q2", "bob", "no")])
    >>> (morning + evening).tally().pairable_items
    1
    """

    frame: polars.DataFrame
    annotators: Mapping[str, int] | None
    left_out: Mapping[str, int]
    counted: Mapping[str, Any] | None = None
    """As in :class:`Tally`."""

    def __add__(self, other: ItemCounts) -> ItemCounts:
        if not isinstance(other, ItemCounts):
            return NotImplemented
        import polars

        both = polars.concat([self.frame, other.frame])
        merged = both.group_by("item", "label").agg(polars.col("count").sum()).sort("item", "label")
        annotators = sum_known(self.annotators, other.annotators)
        how = same_counting(self.counted, other.counted)
        return ItemCounts(merged, annotators, add_counts(self.left_out, other.left_out), how)

    def __radd__(self, other: object) -> ItemCounts:
        """Let ``sum(parts)`` start from 0."""
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ItemCounts):
            return NotImplemented
        rest = (self.annotators, self.left_out) == (other.annotators, other.left_out)
        return rest and self.frame.sort("item", "label").equals(other.frame.sort("item", "label"))

    __hash__ = None  # type: ignore[assignment]  # compared by content, which is a table

    def counts(self) -> nw.LazyFrame[Any]:
        """The table as a lazy frame, the form the rest of the tally works on."""
        return nw.from_native(self.frame.lazy())

    def tally(self) -> Tally:
        """The summary of all items, as the estimates need it."""
        return replace(tally_counts(self.counts(), self.annotators, self.left_out), counted=self.counted)


def item_counts(counted: Counted) -> ItemCounts:
    """Fetch the item × class counts, with ids and labels as text so parts can be added."""
    import polars

    counts = to_polars(counted.held.counts)
    frame = polars.DataFrame([spelled(counts["item"]), spelled(counts["label"]), counts["count"]])
    return ItemCounts(frame.sort("item", "label"), counted.tally.annotators, counted.tally.left_out)
