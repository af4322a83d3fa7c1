"""Annotations → Tally: one expression, run natively by the engine that holds the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from spagree import progress
from spagree.grouping import LARGEST_KEY
from spagree.late import nw
from spagree.read.annotations import ANNOTATOR, CLUSTER, COUNT, GROUP, ITEM, LABEL, MOST_COMPARED, Annotations, FewRows
from spagree.read.files.paths import refuse_changed
from spagree.tally import spelling
from spagree.tally.coded import Coded
from spagree.tally.coded_count import FEW, counted_few, fetched_once, tally_of_codes
from spagree.tally.engines import column_names, rows
from spagree.tally.grouped import Pattern
from spagree.tally.grouped_count import count_grouped
from spagree.tally.patterns import find_patterns, size
from spagree.tally.policies import Clean, Policies, apply_policies, drop_missing
from spagree.tally.set_labels import caution_sets
from spagree.tally.tally import MOST_ANNOTATIONS_PER_ITEM, Cell, Tally, commonest_first, refuse_overflow, text
from spagree.understood import Caution

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
    names = partial(spelling.item_names, clean.frame, tally.items)
    users = codes.users_of_own_labels if codes is not None else partial(spelling.label_users, clean.frame)
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
        *spelling.caution_variants(labels),
        *spelling.caution_ids(tally, item_names),
        *settled,
        *spelling.caution_own_labels(tally, label_users),
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
    counted = counted_few(few, annotations.left_out)
    if counted is None:
        return None
    tally, codes, item_names, label_users = counted
    names = partial(item_names, max(1, tally.items // MOST_COMPARED))
    cautions = _cautions(tally, tally.labels, names, label_users, annotations)
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
