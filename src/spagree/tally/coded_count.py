"""The tally of annotations that are few, or fetched anyway, from their codes: the source is read once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from spagree import progress
from spagree.grouping import run_starts
from spagree.late import nw
from spagree.read.annotations import ANNOTATOR, CLUSTER, GROUP, ITEM, LABEL
from spagree.tally.coded import UNKNOWN, Coded, coded, coded_in_python
from spagree.tally.grouped import Pattern
from spagree.tally.patterns import BITS, MOST_CLASSES, MOST_PATTERNS, MOST_ROWS_FETCHED
from spagree.tally.policies import Policies
from spagree.tally.tally import Cell, Tally, refuse_overflow, text

FEW, MOST = 100_000, 20_000_000  # annotations: a few are coded before polars is imported; more than MOST may not fit


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
    countable = len(labels) <= MOST_CLASSES or size > MOST_ROWS_FETCHED
    is_here = frame.implementation.is_duckdb() and 0 < size <= (MOST if in_full else FEW)
    is_simple = policies == Policies(policies.duplicates) and not {CLUSTER, GROUP} & schema.keys()
    if not (are_plain and countable and is_here and is_simple):
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


def tally_of_codes(codes: Coded, labels: Mapping[Any, int], left_out: Mapping[str, int]) -> Tally:
    """The tally that the engine's passes over items and annotators would give; ``labels`` are the totals.

    >>> from spagree.read import read
    >>> codes = coded(read([("q1", "ann", "yes"), ("q1", "bob", "yes"), ("q2", "ann", "no")]).frame)
    >>> tally = tally_of_codes(codes, {"yes": 2, "no": 1}, {})
    >>> tally.cells, tally.annotators
    ({Cell(n=2, pairs=2, triples=0): 1, Cell(n=1, pairs=0, triples=0): 1}, {'ann': 2, 'bob': 1})
    """
    made = np.bincount(codes.annotator[codes.annotator != UNKNOWN], minlength=len(codes.annotators)).tolist()
    annotators = dict(zip(codes.annotators, made, strict=True)) or None
    refuse_overflow(int(np.bincount(codes.item).max(initial=0)))
    patterns = _patterns(codes) if len(codes.labels) <= MOST_CLASSES else None
    if patterns is not None:
        return Tally.from_patterns(patterns, annotators, left_out)
    totals = {text(label): size for label, size in labels.items()}
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
    found = {}
    for one, items in zip(order[groups].tolist(), np.diff(groups, append=len(order)).tolist(), strict=True):
        entries = slice(first[one], last[one])
        names = [codes.labels[place] for place in label[entries]]
        found[tuple(zip(names, count[entries].tolist(), strict=True))] = items
    return found


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
