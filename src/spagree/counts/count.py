"""Annotations → Tally: one expression, run natively by the engine that holds the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree import progress
from spagree.counts.coded import UNKNOWN, Coded, coded, coded_in_python, in_order
from spagree.counts.engines import column_names, explained_faults, row_count, rows
from spagree.counts.labels import (
    caution_ids,
    caution_own_labels,
    caution_sets,
    caution_variants,
    names_of_items,
    users_of_labels,
)
from spagree.counts.policies import Clean, Policies, apply_policies, drop_missing
from spagree.counts.tally import (
    MOST_ANNOTATIONS_PER_ITEM,
    NO_VALUE,
    Cell,
    Grouped,
    Pattern,
    Tally,
    Votes,
    commonest_first,
    refuse_overflow,
    text,
)
from spagree.errors import DataError, FileError
from spagree.grouping import LARGEST_KEY, AnyInts, Ints, run_starts
from spagree.late import nw
from spagree.messages import opt
from spagree.read.annotations import (
    ANNOTATOR,
    CLUSTER,
    COUNT,
    GROUP,
    ITEM,
    LABEL,
    MOST_COMPARED,
    Annotations,
    CodedRows,
    FewRows,
    is_missing,
)
from spagree.read.files.paths import refuse_changed
from spagree.read.table import shown
from spagree.understood import Caution

if TYPE_CHECKING:
    pass

N, PAIRS, TRIPLES, SINGLE, ITEMS, LOST = "n", "pairs", "triples", "single", "items", "lost"


class HeldAnnotations:
    """The annotations behind a tally after all policies, on their engine, or only the counts of each item's labels.

    ``few`` are those of a small file: an engine gets them when more than a score is first requested.
    ``codes`` are the annotations as integers, if they were fetched.
    """

    def __init__(
        self, rows: nw.LazyFrame[Any] | FewRows, *, are_counts: bool = False, codes: Coded | None = None
    ) -> None:
        self._rows, self._are_counts, self.codes = rows, are_counts, codes
        self.few = rows if isinstance(rows, FewRows) else None

    @property
    def columns(self) -> list[str]:
        """The columns of the annotations; none if only counts are known."""
        if self._are_counts:
            return []
        return list(self._rows.roles) if isinstance(self._rows, FewRows) else column_names(self._rows)

    @property
    def frame(self) -> nw.LazyFrame[Any]:
        """The annotations, or the counts if only these are known."""
        return drop_missing(self._rows.frame) if isinstance(self._rows, FewRows) else self._rows

    @property
    def annotations(self) -> nw.LazyFrame[Any] | None:
        """The annotations; None if only counts are known."""
        return None if self._are_counts else self.frame

    @property
    def counts(self) -> nw.LazyFrame[Any]:
        """``item, label, count``."""
        return self.frame if self._are_counts else item_label_counts(self.frame)


@dataclass(frozen=True, slots=True)
class Counted:
    """A tally, the annotations behind it, and what to tell the user."""

    tally: Tally
    held: HeldAnnotations
    cautions: tuple[Caution, ...]

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


def count(annotations: Annotations, policies: Policies | None = None, *, in_full: bool = False) -> Counted:
    """Count annotations on their engine; only a few thousand integers are fetched.

    A few are fetched and counted here, as are more if ``in_full`` says that every annotation is needed later.

    >>> from spagree.read import read
    >>> counted = count(read([("q1", "ann", "yes"), ("q1", "bob", "yes"), ("q2", "ann", "no")]))
    >>> counted.tally.cells
    {Cell(n=2, pairs=2, triples=0): 1, Cell(n=1, pairs=0, triples=0): 1}
    """
    chosen = policies or Policies()
    is_fetched_later = in_full and isinstance(annotations.rows, FewRows) and annotations.rows.size > FEW
    counted = None if is_fetched_later else _count_few(annotations, chosen)
    if counted is not None:
        return counted
    frame = _without_categories(annotations.frame)
    progress.stage("counting labels")
    labels, lacking = _labels(frame)
    is_whole = not lacking and COUNT not in column_names(frame)  # a filter would read all items to count annotators
    usable = Clean(frame if is_whole else drop_missing(frame), lacking)
    codes = fetched_once(usable.frame, labels, chosen, in_full=in_full)
    clean = usable if codes is not None else apply_policies(usable, annotations, labels, chosen)
    # Most data needs no policy; then the labels need not be counted again.
    totals = labels if clean is usable else commonest_first(clean.labels or _labels(clean.frame)[0])
    left_out = {**annotations.left_out, **clean.left_out}
    held = HeldAnnotations(clean.frame, codes=codes)
    if codes is None:
        tally = _counted_on_engine(clean.frame, held.counts, totals, left_out, annotations)
    else:
        tally = tally_of_codes(codes, left_out)
    refuse_changed(annotations.watched)
    names = partial(names_of_items, clean.frame, tally.items)
    users = codes.users_of_own_labels if codes is not None else partial(users_of_labels, clean.frame)
    cautions = _cautions(tally, totals, names, users, annotations, settled=clean.cautions)
    return Counted(tally, held, cautions if chosen.of_sets or chosen.separator else cautions + caution_sets(totals))


def _cautions(
    tally: Tally,
    labels: Mapping[Any, int],
    item_names: Callable[[], Iterable[Any]],
    label_users: Callable[[], Iterable[tuple[Any, ...]]],
    annotations: Annotations,
    *,
    settled: tuple[Caution, ...] = (),
) -> tuple[Caution, ...]:
    """Those of reading, a header among the rows, names that look alike, what the policies ``settled``, own labels."""
    return (
        *annotations.cautions,
        *_header_again(tally, annotations.understood.columns),
        *caution_variants(labels),
        *caution_ids(tally, item_names),
        *settled,
        *caution_own_labels(tally, label_users),
    )


def _header_again(tally: Tally, columns: Mapping[str, str]) -> Iterator[Caution]:
    """A caution if the names of the columns were counted as an annotation."""
    annotator, label = columns.get(ANNOTATOR), columns.get(LABEL)
    if label in tally.labels and annotator in (tally.annotators or {}):
        yield Caution(
            "header_again",
            f"the label {label!r} and the annotator {annotator!r} are the names of their columns: a header inside the "
            "data was counted as an annotation; delete it (files that were joined each bring one)",
        )


def _count_few(annotations: Annotations, policies: Policies) -> Counted | None:
    """Count the annotations of a small file, fetched as integers; None if it takes an engine."""
    few = annotations.rows
    if not isinstance(few, FewRows) or policies != Policies(policies.duplicates):
        return None
    fetched = fetched_few(few)
    if fetched is None:
        return None
    codes, rows = fetched
    lacking = {reason: size for reason, size in rows.lacking.items() if size}
    tally = tally_of_codes(codes, {**annotations.left_out, **lacking})
    names = partial(rows.item_names, max(1, tally.items // MOST_COMPARED))
    cautions = _cautions(tally, tally.labels, names, codes.users_of_own_labels, annotations)
    return Counted(tally, HeldAnnotations(few, codes=codes), cautions + caution_sets(tally.labels))


def _counted_on_engine(
    frame: nw.LazyFrame[Any],
    counts: nw.LazyFrame[Any],
    labels: Mapping[Any, int],
    left_out: Mapping[str, int],
    annotations: Annotations,
) -> Tally:
    """The tally of usable annotations; ``counts`` are those of each item and label."""
    progress.stage("counting annotators")
    annotators = _annotator_counts(frame)
    progress.stage("counting items")
    grouped = count_grouped(frame, labels, annotations.understood.columns)
    patterns = find_patterns(frame, labels) if grouped is None else grouped.patterns()
    return replace(_tally(counts, labels, annotators, left_out, patterns), grouped=grouped)


def tally_counts(counts: nw.LazyFrame[Any], annotators: Mapping[str, int] | None, left_out: Mapping[str, int]) -> Tally:
    """The tally of precomputed (item, label, count) rows, one per item and label."""
    labels, _ = _labels(counts)
    return _tally(counts, labels, annotators, left_out, find_patterns(counts, labels))


def _without_categories(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Categorical labels and ids as text, because not every engine can compare categories."""
    schema = frame.collect_schema()
    roles = (ITEM, ANNOTATOR, LABEL, CLUSTER, GROUP)
    categories = [name for name in roles if name in schema and schema[name] in (nw.Categorical, nw.Enum)]
    return frame.with_columns(nw.col(*categories).cast(nw.String)) if categories else frame


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


def item_label_counts(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """(item, label, count): how often each label was given to each item."""
    counts = frame.group_by(ITEM, LABEL).agg(size(frame)).with_columns(nw.col(COUNT).cast(nw.Int64))
    return counts.filter(nw.col(COUNT) > 0) if COUNT in column_names(frame) else counts


def item_sums(counts: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """(item, n, pairs, triples, label): n, A and T of docs/mathematics.md §1, and one of the item's labels."""
    # Clipped so no engine overflows before the item is refused for its n.
    c = nw.col(COUNT).clip(upper_bound=MOST_ANNOTATIONS_PER_ITEM)
    terms = counts.with_columns((c * (c - 1)).alias(PAIRS), (c * (c - 1) * (c - 2)).alias(TRIPLES))
    sums = (nw.col(COUNT).sum().alias(N), nw.col(PAIRS).sum(), nw.col(TRIPLES).sum(), nw.col(LABEL).min())
    # Some engines widen a sum beyond 64 bits, which only slows grouping; what does not
    # fit belongs to an item that is refused for its n.
    whole = nw.col(N, PAIRS, TRIPLES).clip(upper_bound=LARGEST_KEY).cast(nw.Int64)
    return terms.group_by(ITEM).agg(*sums).with_columns(whole)


def item_agreement(counts: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """(item, annotations, agreement), lowest agreement and most annotations first; null if there is no pair."""
    n = nw.col(N).cast(nw.Float64)
    agreement = nw.when(nw.col(N) > 1).then(nw.col(PAIRS).cast(nw.Float64) / (n * (n - 1))).alias("agreement")
    items = item_sums(counts).with_columns(agreement).select(ITEM, nw.col(N).alias("annotations"), "agreement")
    return items.sort("agreement", "annotations", ITEM, descending=[False, True, False], nulls_last=True)


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
    # The label of items annotated once is kept in the same pass, so labels of pairable items
    # follow by subtraction and the items are grouped only once.
    groups = item_sums(counts).with_columns(_single(counts, labels)).group_by(N, PAIRS, TRIPLES, SINGLE)
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


def _single(counts: nw.LazyFrame[Any], labels: Mapping[Any, int]) -> nw.Expr:
    """The label of an item that has only one.

    Other items carry null, or any label on pandas-like engines, where a null turns integers into floats; on other
    engines a constant column would cost a pass over all items.
    """
    chosen = nw.when(nw.col(N) == 1).then(nw.col(LABEL))
    spare = counts.implementation.is_pandas_like() or counts.implementation.is_dask()
    return (chosen.otherwise(nw.lit(next(iter(labels), None))) if spare else chosen).alias(SINGLE)


def _annotator_counts(frame: nw.LazyFrame[Any]) -> dict[str, int] | None:
    """Annotations per annotator; None if the source names no annotators."""
    if ANNOTATOR not in column_names(frame):
        return None
    counts = rows(frame.group_by(ANNOTATOR).agg(nw.len().alias(COUNT)))
    named = {text(annotator): int(size) for annotator, size in counts if annotator is not None}
    return named if named or not counts else None


FEW, MOST = 100_000, 20_000_000  # annotations: a few are coded before polars is imported; more than MOST may not fit


def fetched_few(few: FewRows) -> tuple[Coded, CodedRows] | None:
    """The usable annotations of a small file as codes; None if it has none, or an annotator labelled an item twice."""
    progress.stage("fetching annotations")
    with explained_faults("duckdb"):
        rows = few.fetch()
    if rows is None or not len(rows.codes[ITEM]):
        return None
    nobody = np.full(len(rows.codes[ITEM]), UNKNOWN, dtype=np.int32)
    item, label, annotator = (rows.codes.get(role, nobody) for role in (ITEM, LABEL, ANNOTATOR))
    codes = in_order(item, label, annotator, rows.names[LABEL], rows.names.get(ANNOTATOR, ()))
    return None if _has_repeats(codes) else (codes, rows)


def fetched_once(
    frame: nw.LazyFrame[Any], labels: Mapping[Any, int], policies: Policies, *, in_full: bool
) -> Coded | None:
    """The annotations as codes; None if they should be counted where they are.

    That is so if a policy may change them, an annotator labelled an item twice, they have clusters or groups, or there
    are too many: a score fetches a few, and with ``in_full`` names and times are fetched with them.
    """
    schema = frame.collect_schema()
    kinds = [schema.get(name) for name in (ITEM, ANNOTATOR, LABEL)]
    are_plain = all(kind is not None and (kind == nw.String or kind.is_integer()) for kind in kinds)
    size = sum(labels.values())
    is_here = frame.implementation.is_duckdb() and 0 < size <= (MOST if in_full else FEW)
    is_simple = policies == Policies(policies.duplicates) and not {CLUSTER, GROUP} & schema.keys()
    if not (are_plain and is_here and is_simple):
        return None
    progress.stage("fetching annotations")
    codes = coded(frame) if size > FEW else coded_in_python(frame)
    return None if _has_repeats(codes) else codes


def _has_repeats(codes: Coded) -> bool:
    """Whether a known annotator annotated an item twice."""
    key = codes.item.astype(np.int64)
    key *= len(codes.annotators) + 1
    key += codes.annotator
    key = key[codes.annotator != UNKNOWN]
    key.sort()
    return bool((key[1:] == key[:-1]).any())


def tally_of_codes(codes: Coded, left_out: Mapping[str, int]) -> Tally:
    """The tally that the engine's passes over items and annotators would give.

    >>> from spagree.read import read
    >>> codes = coded(read([("q1", "ann", "yes"), ("q1", "bob", "yes"), ("q2", "ann", "no")]).frame)
    >>> tally = tally_of_codes(codes, {})
    >>> tally.cells, tally.annotators
    ({Cell(n=2, pairs=2, triples=0): 1, Cell(n=1, pairs=0, triples=0): 1}, {'ann': 2, 'bob': 1})
    """
    per_annotator = np.bincount(codes.annotator[codes.annotator != UNKNOWN], minlength=len(codes.annotators)).tolist()
    annotators = dict(zip(codes.annotators, per_annotator, strict=True)) or None
    return _Votes(codes.labels, *codes.counts).tally(annotators, left_out)


@dataclass(frozen=True, slots=True)
class _Votes:
    """How often each item got each label; ``item``, ``label`` and ``count`` are parallel, and sorted."""

    labels: Sequence[str]
    item: AnyInts
    label: AnyInts
    count: Ints

    def tally(self, annotators: Mapping[str, int] | None, left_out: Mapping[str, int]) -> Tally:
        first = run_starts(self.item)
        n = np.add.reduceat(self.count, first) if len(first) else self.count
        refuse_overflow(int(n.max(initial=0)))
        patterns = self._in_python(first) if len(self.labels) > MOST_CLASSES else self._in_words(first)
        if patterns is not None:
            return Tally.from_patterns(patterns, annotators, left_out)
        per_label = np.bincount(self.label, self.count, len(self.labels)).astype(np.int64).tolist()
        totals = {label: size for label, size in zip(self.labels, per_label, strict=True) if size}
        totals = dict(sorted(totals.items(), key=lambda pair: (-pair[1], pair[0])))
        cells, pairable = self._cells(first, n, totals)
        return Tally(cells, totals, pairable, annotators, dict(left_out), None)

    def _in_words(self, first: Ints) -> dict[Pattern, int] | None:
        """Items per combination of label counts, packed into words as on an engine; None if there are too many."""
        last = np.append(first[1:], len(self.item))
        bits = int(self.count.max(initial=1)).bit_length()
        words = []
        for start in range(0, len(self.labels), BITS // bits):
            place = self.label.astype(np.int64) - start
            is_here = (place >= 0) & (place < BITS // bits)
            words.append(np.add.reduceat(np.where(is_here, self.count << (place * bits * is_here), 0), first))
        order = np.lexsort(words)
        groups = run_starts(*(word[order] for word in words))
        if len(groups) > MOST_PATTERNS:
            return None
        one = order[groups]  # an item of each combination
        sizes = (last - first)[one]
        ends = np.cumsum(sizes)
        entries = np.arange(int(sizes.sum())) + np.repeat(first[one] - (ends - sizes), sizes)
        votes = self._named(entries)
        keys = (tuple(votes[end - size : end]) for end, size in zip(ends.tolist(), sizes.tolist(), strict=True))
        return dict(zip(keys, np.diff(groups, append=len(order)).tolist(), strict=True))

    def _named(self, entries: Ints | slice) -> list[tuple[str, int]]:
        """Each label with its count; equal pairs are one object, which is faster to compare."""
        most = int(self.count.max(initial=0)) + 1
        pairs = (self.label[entries] * np.int64(most) + self.count[entries]).tolist()
        by_key = {pair: (self.labels[pair // most], pair % most) for pair in set(pairs)}
        return [by_key[pair] for pair in pairs]

    def _in_python(self, first: Ints) -> dict[Pattern, int] | None:
        """The same for more labels than fit into words; None if there are too many annotations, as on an engine."""
        if self.count.sum() > MOST_ROWS_FETCHED:
            return None
        votes, starts = self._named(slice(None)), first.tolist()
        ends = [*starts[1:], len(votes)]
        patterns = Counter(tuple(votes[start:end]) for start, end in zip(starts, ends, strict=True))
        return dict(patterns) if len(patterns) <= MOST_PATTERNS else None

    def _cells(self, first: Ints, n: Ints, totals: Mapping[str, int]) -> tuple[dict[Cell, int], dict[str, int]]:
        """For more combinations of labels than a tally keeps: the cells, and the labels of pairable items."""
        import polars

        pairs = self.count * (self.count - 1)
        agreeing, triples = (np.add.reduceat(values, first) for values in (pairs, pairs * (self.count - 2)))
        groups = polars.DataFrame({"n": n, "pairs": agreeing, "triples": triples}).group_by("n", "pairs", "triples")
        ordered = groups.len().sort("n", "pairs", "triples", descending=True)
        cells = {Cell(*cell): items for *cell, items in ordered.iter_rows()}
        alone = np.bincount(self.label[first[n == 1]], minlength=len(self.labels)).tolist()
        single = dict(zip(self.labels, alone, strict=True))
        return cells, {label: size - single[label] for label, size in totals.items() if size > single[label]}


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
    combinations = _combinations(plain, labels, columns, named)
    several = {name: any(alike.values[2 * place + 1] for alike in combinations) for place, name in enumerate(columns)}
    if several.get(CLUSTER):
        raise _in_several(plain, CLUSTER, named)
    if several.get(GROUP):
        _refuse_varying(plain, named)
        columns = [name for name in columns if name != GROUP]
        combinations = _combinations(plain, _group_labels(plain), columns, named)
    items: Counter[tuple[str, Votes]] = Counter()
    for combination in combinations:
        cluster, votes = _cluster_and_votes(combination, columns)
        items[cluster, votes] += combination.items if votes else 0
    return Grouped(named.get(CLUSTER), named.get(GROUP), dict(+items), _annotators(plain))


def _combinations(
    frame: nw.LazyFrame[Any], keys: Mapping[Any, int], columns: Sequence[str], named: Mapping[str, str]
) -> list[AlikeItems]:
    """Items with the same labels, cluster and group; refused if there are more kinds than a tally keeps."""
    combinations = find_counts(frame, keys, columns, most=MOST_KEPT)
    if combinations is None:
        options = " and ".join(OPTIONS[name](column) for name, column in named.items() if name in OPTIONS)
        raise DataError(
            f"{options}: more than {MOST_KEPT:,} combinations with labels, more than a tally keeps; name a column with "
            "fewer values, or merge rare labels"
        )
    return combinations


def _cluster_and_votes(combination: AlikeItems, columns: Sequence[str]) -> tuple[str, Votes]:
    values = dict(zip(columns, map(group_name, combination.values[::2]), strict=True))
    group = values.get(GROUP, NO_VALUE)
    votes = [
        (group_name(key[0]), text(key[1]), count) if isinstance(key, tuple) else (group, text(key), count)
        for key, count in combination.counts.items()
    ]
    return values.get(CLUSTER, NO_VALUE), tuple(sorted(votes))


def group_name(value: Any) -> str:
    """The name of a cluster or a group; empty if it is missing."""
    return NO_VALUE if is_missing(value) else text(value)


def _group_labels(frame: nw.LazyFrame[Any]) -> dict[tuple[Any, Any], int]:
    """How often each group gave each label, most common first."""
    grouped = rows(frame.group_by(GROUP, LABEL).agg(size(frame)))
    counts = {(group, label): int(count) for group, label, count in grouped}
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], group_name(pair[0][0]), text(pair[0][1]))))


def _annotators(frame: nw.LazyFrame[Any]) -> dict[str, dict[str, int]] | None:
    """Annotations of each annotator, by group."""
    if not {ANNOTATOR, GROUP} <= set(column_names(frame)):
        return None
    counts: dict[str, dict[str, int]] = {}
    for group, annotator, count in rows(frame.group_by(GROUP, ANNOTATOR).agg(nw.len().alias(COUNT))):
        if not is_missing(annotator):
            counts.setdefault(group_name(group), {})[text(annotator)] = int(count)
    return {group: dict(sorted(counts[group].items())) for group in sorted(counts)} or None


def _refuse_varying(frame: nw.LazyFrame[Any], named: Mapping[str, str]) -> None:
    """Refuse a group column that varies within items and within annotators."""
    if ANNOTATOR not in column_names(frame):
        raise _in_several(frame, GROUP, named)
    annotators = per_key(frame.filter(~nw.col(ANNOTATOR).is_null()), [ANNOTATOR], [GROUP])
    varying = annotators.filter(has_several(GROUP)).select(ANNOTATOR, GROUP, f"{GROUP}_last").sort(ANNOTATOR).head(1)
    for who, first, last in rows(varying):
        raise DataError(
            f"{opt.by(named[GROUP])}: it varies within items and within annotators (annotator {shown(text(who))} "
            f"has {_both(first, last)}); name a column that belongs to items, such as a language, or to annotators, "
            "such as their experience"
        )


def _in_several(frame: nw.LazyFrame[Any], name: str, named: Mapping[str, str]) -> DataError:
    """The error for items that have several values, with the first of them."""
    grouped = per_key(frame, [ITEM], [name]).filter(has_several(name))
    total = row_count(grouped)
    shown_rows = rows(grouped.select(ITEM, name, f"{name}_last").sort(ITEM).head(SHOWN))
    examples = "; ".join(f"item {shown(text(item))} in {_both(first, last)}" for item, first, last in shown_rows)
    what = "clusters" if name == CLUSTER else "groups"
    return DataError(
        f"{OPTIONS[name](named[name])}: {total:,} {'item is' if total == 1 else 'items are'} in several {what} "
        f"({examples}), and an item belongs to one; {REMEDIES[name]}"
    )


def _both(first: Any, last: Any) -> str:
    return f"{shown(text(first))} and {shown(text(last)) if last != first else 'no value'}"


MOST_PATTERNS = 300_000
MOST_CLASSES = 40
# Classes per word: ten leave six bits each, enough for most data; two leave 31, more than an item may have.
NARROW, WIDE = 10, 2
BITS = 62  # of a signed 64-bit word: the sign and one bit to detect overflow stay free
OVERFLOWN = 1 << BITS  # all label bits are 0, which no item has
MOST_ROWS_FETCHED = 1_000_000


@dataclass(frozen=True, slots=True)
class _Packing:
    """Which bits of which word hold the count of each label."""

    labels: Sequence[Any]
    classes_per_word: int

    @property
    def words(self) -> int:
        return -(-len(self.labels) // self.classes_per_word)

    @property
    def bits(self) -> int:
        return BITS // -(-len(self.labels) // self.words)

    def chunks(self) -> list[Sequence[Any]]:
        """The labels of each word."""
        size = BITS // self.bits
        return [self.labels[start : start + size] for start in range(0, len(self.labels), size)]

    def unpack(self, words: Ints) -> tuple[list[dict[Any, int]], Ints]:
        """The count of each label that occurs, and the sum of all counts, for each row of words."""
        bits, chunks = self.bits, self.chunks()
        columns = [words[:, word] >> (bits * place) for word, chunk in enumerate(chunks) for place in range(len(chunk))]
        counts = np.column_stack(columns) & ((1 << bits) - 1)
        row, label = np.nonzero(counts)
        votes = list(zip(map(self.labels.__getitem__, label.tolist()), counts[row, label].tolist(), strict=True))
        ends = np.searchsorted(row, np.arange(len(words)), side="right").tolist()
        by_row = [dict(votes[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
        return by_row, counts.sum(axis=1)


@dataclass(frozen=True, slots=True)
class AlikeItems:
    """Items with the same counts and the same values in the item columns."""

    values: tuple[Any, ...]
    """For each of these columns, the value and whether items have several."""
    counts: Mapping[Any, int]
    items: int


def find_patterns(frame: nw.LazyFrame[Any], labels: Mapping[Any, int]) -> dict[Pattern, int] | None:
    """Items per combination of label counts, or None if there are too many combinations to store."""
    groups = find_counts(frame, labels, most=MOST_PATTERNS)
    if groups is None:
        return None
    total: Counter[Pattern] = Counter()
    names = {label: text(label) for label in labels}
    for group in groups:
        total[tuple(sorted((names[label], count) for label, count in group.counts.items()))] += group.items
    del total[()]  # rows of zeros: items without annotations
    return dict(total) if len(total) <= MOST_PATTERNS else None


def find_counts(
    frame: nw.LazyFrame[Any], keys: Mapping[Any, int], of_items: Sequence[str] = (), *, most: int
) -> list[AlikeItems] | None:
    """Items with the same count of every key, in one pass; None if there are too many distinct ones.

    A key is a label, or a pair of group and label. ``of_items`` are columns with one value per item.
    """
    for classes_per_word in (NARROW, WIDE) if 0 < len(keys) <= MOST_CLASSES else ():
        packing = _Packing(list(keys), classes_per_word)
        # Precomputed counts must fit their bits; the sums of single rows are checked afterwards.
        fits = COUNT not in column_names(frame) or max(keys.values()) < 1 << packing.bits
        packed = _packed_rows(frame, packing, of_items, most) if fits else None
        if packed is None:
            continue
        if len(packed) > most:
            return None
        width = 2 * len(of_items)
        words = [[int(word) for word in row[width + 1 : -1]] for row in packed]
        counts, sizes = packing.unpack(np.array(words, dtype=np.int64).reshape(-1, packing.words))
        # A counter that overflows its bits carries into the next, so the digits no longer add up.
        if [int(row[width]) for row in packed] == sizes.tolist():
            return [
                AlikeItems(tuple(row[:width]), votes, int(row[-1])) for row, votes in zip(packed, counts, strict=True)
            ]
    return _counts_in_python(frame, keys, of_items)


def _packed_rows(
    frame: nw.LazyFrame[Any], packing: _Packing, of_items: Sequence[str], most: int
) -> list[tuple[Any, ...]] | None:
    """The rows of the packed pass; None on an engine that refuses sums beyond 64 bits."""
    try:
        return rows(_packed(frame, packing, of_items).head(most + 1))
    except FileError as error:
        if "overflow" in str(error.__cause__).lower():
            return None
        raise


def size(frame: nw.LazyFrame[Any]) -> nw.Expr:
    """How many annotations a group of rows holds: the number of rows, or the sum of their counts."""
    return nw.col(COUNT).sum() if COUNT in column_names(frame) else nw.len().alias(COUNT)


def _packed(frame: nw.LazyFrame[Any], packing: _Packing, of_items: Sequence[str]) -> nw.LazyFrame[Any]:
    """(item columns…, n, words…, items): items with the same counts."""
    names = [f"word{place}" for place in range(packing.words)]
    has_counts = COUNT in column_names(frame)
    columns = [
        _word(labels, packing.bits, has_counts).alias(name)
        for name, labels in zip(names, packing.chunks(), strict=True)
    ]
    sums = (size(frame).alias("n"), *(nw.col(name).sum() for name in names))
    grouped = per_key(frame.with_columns(*columns), [ITEM], of_items, *sums)
    # Some engines widen a sum beyond 64 bits.
    whole = grouped.with_columns(
        nw.col("n").cast(nw.Int64), nw.col(*names).clip(upper_bound=OVERFLOWN).cast(nw.Int64), *_several(of_items)
    )
    values = [name for column in of_items for name in (column, f"{column}_several")]
    return whole.group_by(*values, "n", *names).agg(nw.len().alias("items"))


def per_key(frame: nw.LazyFrame[Any], keys: Sequence[str], columns: Sequence[str], *sums: nw.Expr) -> nw.LazyFrame[Any]:
    """Sums per key, with the minimum and maximum of each column, and the number of rows without a value."""
    values = [end for name in columns for end in (nw.col(name).min(), nw.col(name).max().alias(f"{name}_last"))]
    lacking = [nw.col(f"{name}_none").sum() for name in columns]
    missing = [nw.col(name).is_null().cast(nw.Int64).alias(f"{name}_none") for name in columns]
    return (frame.with_columns(*missing) if columns else frame).group_by(*keys).agg(*sums, *values, *lacking)


def _several(columns: Sequence[str]) -> list[nw.Expr]:
    """1 if an item has several values in a column; a value in some rows and none in others counts as several."""
    return [
        nw.when(has_several(name)).then(nw.lit(1)).otherwise(nw.lit(0)).alias(f"{name}_several") for name in columns
    ]


def has_several(name: str) -> nw.Expr:
    """Whether a key has several values in a column."""
    differ = (nw.col(name) != nw.col(f"{name}_last")) | (nw.col(f"{name}_none") > 0)
    return ~nw.col(name).is_null() & differ


def _word(keys: Sequence[Any], bits: int, has_counts: bool) -> nw.Expr:
    """1 in the bits of the row's label; 0 when the label belongs to another word."""
    chosen = nw.lit(0, nw.Int64)
    for place, key in reversed(list(enumerate(keys))):
        unit = nw.lit(1 << (bits * place), nw.Int64)
        chosen = nw.when(_is(key)).then(unit).otherwise(chosen)
    return chosen * nw.col(COUNT) if has_counts else chosen


def _is(key: Any) -> nw.Expr:
    """Whether a row has this label, or this pair of group and label."""
    if not isinstance(key, tuple):
        return nw.col(LABEL) == nw.lit(key)
    group, label = key
    in_group = nw.col(GROUP).is_null() if group is None else nw.col(GROUP) == nw.lit(group)
    return in_group & (nw.col(LABEL) == nw.lit(label))


def _counts_in_python(
    frame: nw.LazyFrame[Any], keys: Mapping[Any, int], of_items: Sequence[str]
) -> list[AlikeItems] | None:
    """For many labels, or many annotations per item: counted in Python, if there are few enough rows to fetch."""
    if sum(keys.values()) > MOST_ROWS_FETCHED and COUNT not in column_names(frame):
        return None
    by_group = any(isinstance(key, tuple) for key in keys)
    columns = [GROUP, LABEL] if by_group else [LABEL]
    grouped = per_key(frame, [ITEM, *columns], of_items, size(frame))
    values = [name for column in of_items for name in (column, f"{column}_last", f"{column}_several")]
    marked = grouped.with_columns(*_several(of_items)) if of_items else grouped
    fetched = rows(marked.select(ITEM, *columns, COUNT, *values).head(MOST_ROWS_FETCHED + 1))
    return _items_in_python(fetched, len(columns)) if len(fetched) <= MOST_ROWS_FETCHED else None


def _items_in_python(fetched: Sequence[tuple[Any, ...]], width: int) -> list[AlikeItems]:
    """One entry per item, with the values of its columns and whether they differ between its rows."""
    counts: dict[Any, dict[Any, int]] = {}
    values: dict[Any, list[set[Any]]] = {}
    for item, *row in fetched:
        key, count, about = row[:width], int(row[width]), row[width + 1 :]
        if count:
            counts.setdefault(item, {})[tuple(key) if width > 1 else key[0]] = count
        seen = values.setdefault(item, [set() for _ in range(len(about) // 3)])
        for place in range(len(seen)):
            first, last, several = about[3 * place : 3 * place + 3]
            seen[place] |= {first, last} | ({None} if several and first == last else set())

    def first_and_several(item: Any) -> tuple[Any, ...]:
        return tuple(value for seen in values[item] for value in (next(iter(seen), None), int(len(seen) > 1)))

    return [AlikeItems(first_and_several(item), votes, 1) for item, votes in counts.items()]
