"""The tally of annotations that are few, or fetched anyway, from their codes: the source is read once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from spagree import progress
from spagree.grouping import AnyInts, Ints, run_starts
from spagree.late import nw
from spagree.read.annotations import ANNOTATOR, CLUSTER, GROUP, ITEM, LABEL, CodedRows, FewRows, HashedRows
from spagree.tally.coded import UNKNOWN, Coded, coded, coded_in_python, in_order
from spagree.tally.engines import explained_faults
from spagree.tally.grouped import Pattern
from spagree.tally.patterns import BITS, MOST_CLASSES, MOST_PATTERNS, MOST_ROWS_FETCHED
from spagree.tally.policies import Policies
from spagree.tally.tally import Cell, Tally, refuse_overflow

FEW, MOST = 100_000, 20_000_000  # annotations: a few are coded before polars is imported; more than MOST may not fit


class CountedFew(NamedTuple):
    """The tally of a small file, its codes if they were fetched, and where names come from if they are compared."""

    tally: Tally
    codes: Coded | None
    item_names: Callable[[int], Collection[str]]
    label_users: Callable[[], Collection[tuple[Any, ...]]]


def counted_few(few: FewRows, left_out: Mapping[str, int]) -> CountedFew | None:
    """The usable annotations of a small file, counted by their codes, or by hashes if codes are not needed by default.

    None if it has none, or an annotator labelled an item twice.
    """
    if few.fetch_hashes is None or few.size <= FEW:
        fetched = fetched_few(few)
        if fetched is None:
            return None
        codes, rows = fetched
        tally = tally_of_codes(codes, {**left_out, **_occurring(rows.lacking)})
        return CountedFew(tally, codes, rows.item_names, codes.users_of_own_labels)
    progress.stage("fetching annotations")
    with explained_faults("duckdb"):
        hashed = few.fetch_hashes()
    if hashed is None:
        return None
    tally = tally_of_hashes(hashed, {**left_out, **_occurring(hashed.lacking)})
    return CountedFew(tally, None, hashed.item_names, hashed.label_users)


def _occurring(lacking: Mapping[str, int]) -> dict[str, int]:
    return {reason: size for reason, size in lacking.items() if size}


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


def tally_of_hashes(hashed: HashedRows, left_out: Mapping[str, int]) -> Tally:
    """The same from hashes."""
    starts = run_starts(hashed.keys)
    key, low = hashed.keys[starts], (1 << hashed.bits) - 1
    label, count = (key & low).astype(np.int32), np.diff(starts, append=len(hashed.keys))
    return _Votes(hashed.labels, key >> hashed.bits, label, count).tally(hashed.annotators, left_out)


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
