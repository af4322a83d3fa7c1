"""The tally of annotations that are few, or fetched anyway, from their codes: the source is read once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from spagree import progress
from spagree.grouping import AnyInts, run_starts
from spagree.late import nw
from spagree.read.annotations import ANNOTATOR, CLUSTER, GROUP, ITEM, LABEL, CodedRows, FewRows
from spagree.tally.coded import UNKNOWN, Coded, coded, coded_in_python, in_order
from spagree.tally.engines import explained_faults
from spagree.tally.grouped import Pattern
from spagree.tally.patterns import BITS, MOST_CLASSES, MOST_PATTERNS, MOST_ROWS_FETCHED
from spagree.tally.policies import Policies
from spagree.tally.tally import Cell, Tally, refuse_overflow

FEW, MOST = 100_000, 20_000_000  # annotations: a few are coded before polars is imported; more than MOST may not fit


def fetched_few(few: FewRows) -> tuple[Coded, CodedRows] | None:
    """The usable annotations of a small file as codes; None if it has none, or an annotator labelled an item twice."""
    progress.stage("fetching annotations")
    with explained_faults("duckdb"):
        found = few.fetch()
    if found is None or not len(found.codes[ITEM]):
        return None
    nobody = np.full(len(found.codes[ITEM]), UNKNOWN, dtype=np.int32)
    item, label, annotator = (found.codes.get(role, nobody) for role in (ITEM, LABEL, ANNOTATOR))
    codes = in_order(item, label, annotator, found.names[LABEL], found.names.get(ANNOTATOR, ()))
    return None if _has_repeats(codes) else (codes, found)


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
    made = np.bincount(codes.annotator[codes.annotator != UNKNOWN], minlength=len(codes.annotators)).tolist()
    annotators = dict(zip(codes.annotators, made, strict=True)) or None
    refuse_overflow(int(np.bincount(codes.item).max(initial=0)))
    is_wide = len(codes.labels) > MOST_CLASSES
    patterns = _patterns_in_python(codes) if is_wide else _patterns(codes)
    if patterns is not None:
        return Tally.from_patterns(patterns, annotators, left_out)
    given = np.bincount(codes.label, minlength=len(codes.labels)).tolist()
    totals = dict(sorted(zip(codes.labels, given, strict=True), key=lambda pair: (-pair[1], pair[0])))
    cells, pairable = _cells(codes, totals)
    return Tally(cells, totals, pairable, annotators, dict(left_out), None)


def _patterns(codes: Coded) -> dict[Pattern, int] | None:
    """Items per combination of label counts, packed into words as on an engine; None if there are too many."""
    item, label, count = codes.counts
    first = run_starts(item)
    last = np.append(first[1:], len(item))
    bits = int(count.max(initial=1)).bit_length()
    words = []
    for start in range(0, len(codes.labels), BITS // bits):
        place = label.astype(np.int64) - start
        is_here = (place >= 0) & (place < BITS // bits)
        words.append(np.add.reduceat(np.where(is_here, count << (place * bits * is_here), 0), first))
    order = np.lexsort(words)
    groups = run_starts(*(word[order] for word in words))
    if len(groups) > MOST_PATTERNS:
        return None
    one = order[groups]  # an item of each combination
    sizes = (last - first)[one]
    ends = np.cumsum(sizes)
    entries = np.arange(int(sizes.sum())) + np.repeat(first[one] - (ends - sizes), sizes)
    votes = _votes(codes, label[entries], count[entries])
    keys = (tuple(votes[end - size : end]) for end, size in zip(ends.tolist(), sizes.tolist(), strict=True))
    return dict(zip(keys, np.diff(groups, append=len(order)).tolist(), strict=True))


def _votes(codes: Coded, label: AnyInts, count: AnyInts) -> list[tuple[str, int]]:
    return list(zip(map(codes.labels.__getitem__, label.tolist()), count.tolist(), strict=True))


def _patterns_in_python(codes: Coded) -> dict[Pattern, int] | None:
    """The same for more labels than fit into words; None if there are too many annotations, as on an engine."""
    if len(codes.item) > MOST_ROWS_FETCHED:
        return None
    item, label, count = codes.counts
    votes = _votes(codes, label, count)
    first = run_starts(item).tolist()
    found = Counter(tuple(votes[start:end]) for start, end in zip(first, [*first[1:], len(votes)], strict=True))
    return dict(found) if len(found) <= MOST_PATTERNS else None


def _cells(codes: Coded, totals: Mapping[str, int]) -> tuple[dict[Cell, int], dict[str, int]]:
    """For more combinations of labels than a tally keeps: the cells, and the labels of pairable items."""
    import polars

    item, label, count = codes.counts
    first, pairs = run_starts(item), count * (count - 1)
    n, agreeing, triples = (np.add.reduceat(each, first) for each in (count, pairs, pairs * (count - 2)))
    found = polars.DataFrame({"n": n, "pairs": agreeing, "triples": triples}).group_by("n", "pairs", "triples").len()
    cells = {Cell(*cell): items for *cell, items in found.sort("n", "pairs", "triples", descending=True).iter_rows()}
    alone = np.bincount(label[first[n == 1]], minlength=len(codes.labels)).tolist()
    single = dict(zip(codes.labels, alone, strict=True))
    return cells, {label: size - single[label] for label, size in totals.items() if size > single[label]}
