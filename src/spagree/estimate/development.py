"""How agreement developed: SPA at each moment, and SPA on the most recently finished items.

Annotations are cut into steps of roughly equal size, in time order. An item touched in a step moves from one pattern of
labels to another, so each step updates the patterns by what arrived and what left: one pass over the annotations,
however many steps there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
import polars

from spagree.codes import AnyInts, Codes, Ints, counted, run_of_each, run_starts
from spagree.counts.tally import Cell, Pattern, Tally
from spagree.errors import DataError, UsageError, opt
from spagree.estimate.other_annotators import spa_estimate
from spagree.estimate.similarity import NOMINAL, Metric
from spagree.estimate.uncertainty import NOT_PAIRABLE, Estimate, undefined
from spagree.estimate.votes import item_groups, votes
from spagree.estimate.weights import CUSTOM, weigh
from spagree.options import CustomWeights
from spagree.read.annotations import TIME

NO_TIMES = f"the times of the annotations are unknown; name their column with {opt.time}"
MOST_STEPS = 1_000
RECENT = 8  # "recent" is the last eighth of the steps
ROWS_AT_ONCE = 500_000  # annotations: memory used again costs a fraction of fresh memory

K = TypeVar("K")
Step = tuple[int, int, Estimate]
"""Annotations, pairable items, and their agreement."""


def development(table: Codes, steps: int, measure: Callable[[Tally], Estimate], metric: Metric) -> polars.DataFrame:
    """One row per step; ``measure`` turns the tally of a step into its figure."""
    timed = Timed.of(table, steps)
    grown, finished = _tallies(timed, keep=metric.rule != NOMINAL)
    # A single step holds few items, so the latest steps are pooled. An item belongs to one step: windows that share no
    # step share no item.
    ends, width = range(1, len(finished) + 1), window(len(finished))
    pooled = [sum(finished[max(0, end - width) : end], Tally()) for end in ends]
    so_far, recent = (
        [(tally.annotations, tally.pairable_items, measure(tally)) for tally in tallies] for tallies in (grown, pooled)
    )
    return in_steps(timed, zip(so_far, recent, strict=True))


def in_steps(timed: Timed, figures: Iterable[tuple[Step, Step]]) -> polars.DataFrame:
    """One row per step, from what was known by its end, and what is known of the items finished most recently."""
    rows = []
    for (size, items, figure), (_, recent_items, latest) in figures:
        row: dict[str, Any] = {"annotations": size, "items": items}
        row |= {"spa": figure.value, "low": figure.low, "high": figure.high, "undefined": figure.undefined}
        row |= {"recent_items": recent_items, "recent": latest.value, "recent_low": latest.low}
        rows.append(row | {"recent_high": latest.high, "recent_undefined": latest.undefined})
    kinds: dict[str, Any] = dict.fromkeys(("annotations", "items", "recent_items"), polars.Int64)
    kinds |= dict.fromkeys(("undefined", "recent_undefined"), polars.String)
    frame = polars.DataFrame(rows, schema={name: kinds.get(name, polars.Float64) for name in rows[0]})
    without = polars.lit(timed.without_time, dtype=polars.Int64).alias("without_time")
    return frame.with_columns(without, timed.starts.alias("since")).insert_column(0, timed.ends.alias(TIME))


def measured(tally: Tally, weights: str | CustomWeights, level: float, metric: Metric) -> Estimate:
    """SPA of a tally under the chosen weights only, as :func:`spagree.estimate.findings.find` computes it.

    It is undefined if custom weights do not cover all numbers of annotations, as may happen early on.
    """
    name = weights if isinstance(weights, str) else CUSTOM
    if not tally.pairable_items:
        return undefined(NOT_PAIRABLE, level, name)
    counts = None if metric.rule == NOMINAL else votes(tally, metric)
    groups = item_groups(tally, counts)
    try:
        by_n = weigh(weights, tally, counts).by_n
    except UsageError as error:
        return undefined(error.message, level, name)
    return spa_estimate(groups, by_n, level=level, scheme=name)


@dataclass(frozen=True)
class Timed:
    """Annotations with a time, as parallel integers; step s ends at ``ends[s]``."""

    place: Ints
    """Of each among all annotations."""
    item: AnyInts
    label: AnyInts
    step: AnyInts
    labels: Sequence[str]
    starts: polars.Series
    ends: polars.Series
    without_time: int

    @classmethod
    def of(cls, table: Codes, steps: int) -> Self:
        """Those that have a time, cut into steps: fewer than requested if many share a time, which stay together."""
        if not isinstance(steps, int) or not 1 <= steps <= MOST_STEPS:
            raise UsageError(f"steps {steps!r}: a whole number from 1 to {MOST_STEPS:,}, for example 40")
        if table.time is None:
            raise UsageError(NO_TIMES)
        is_known = table.time.is_finite() if table.time.dtype.is_float() else table.time.is_not_null()
        time, chosen = table.time.filter(is_known), is_known.fill_null(value=False).to_numpy()
        if not len(time):
            raise DataError(f"none of the {len(chosen):,} annotations has a time; name another column with {opt.time}")
        size = min(steps, len(time))
        last = -(-np.arange(1, size + 1) * len(time) // size) - 1
        ordered = time.sort()
        ends = ordered.gather(last).unique(maintain_order=True)
        after = ordered.search_sorted(ends[:-1], side="right").to_list()
        starts = ordered.gather([0, *after])
        step = ends.search_sorted(time, side="left").to_numpy()
        item, label = run_of_each(table.item[chosen]), table.label[chosen]
        return cls(np.flatnonzero(chosen), item, label, step, table.labels, starts, ends, len(chosen) - len(time))


def _tallies(timed: Timed, *, keep: bool) -> tuple[list[Tally], list[Tally]]:
    """For each step: all items as of its end; the items whose last annotation fell in it, as they are now.

    It is made from what enters and leaves each pattern; a metric needs the patterns to ``keep``.
    """
    order = np.lexsort((timed.step, timed.item))
    item, step = timed.item[order], timed.step[order].astype(np.int64)
    number, patterns = _patterns(item, timed.label[order], timed.labels)
    last = np.flatnonzero((np.diff(item, append=-1) != 0) | (np.diff(step, append=-1) != 0))  # of an item in a step
    item, step, number = item[last], step[last], number[last]
    final = np.diff(item, append=-1) != 0
    earlier = np.flatnonzero(~final)
    arrived = _by_step(step, number, patterns, len(timed.ends))
    left = _by_step(step[earlier + 1], number[earlier], patterns, len(timed.ends))
    stayed = _by_step(step[final], number[final], patterns, len(timed.ends))
    so_far, current = [], Counter[Pattern]()
    cells, labels = Counter[Cell](), Counter[str]()
    for more, less in zip(arrived, left, strict=True):
        if keep:
            current = current + more - less
            so_far.append(Tally.from_patterns(current))
            continue
        new, old = Tally.from_patterns(more), Tally.from_patterns(less)
        cells = cells + Counter(new.cells) - Counter(old.cells)
        labels = labels + Counter(new.pairable_labels) - Counter(old.pairable_labels)
        so_far.append(Tally(cells, pairable_labels=labels))
    return so_far, [Tally.from_patterns(patterns) for patterns in stayed]


def _patterns(item: AnyInts, label: AnyInts, labels: Sequence[str]) -> tuple[Ints, list[Pattern]]:
    """The number of the item's pattern after each annotation, and the patterns by number.

    All items take their first annotation at once, then their second, and so on: Python handles each transition between
    patterns once, not each annotation.
    """
    starts = run_starts(item)
    sizes = np.diff(starts, append=len(item))
    longest = np.argsort(-sizes, kind="stable")  # items that have a further annotation come first
    starts, remaining = starts[longest], np.searchsorted(-sizes[longest], -np.arange(sizes.max()), side="left")
    number_after, now = np.empty(len(item), dtype=np.int64), np.zeros(len(starts), dtype=np.int64)
    numbers: dict[Pattern, int] = {(): 0}
    patterns: list[Pattern] = [()]
    for place, size in enumerate(remaining.tolist()):
        rows = starts[:size] + place
        ways, way = np.unique(now[:size] * len(labels) + label[rows], return_inverse=True)
        after = []
        for code in ways.tolist():
            counts, one = dict(patterns[code // len(labels)]), labels[code % len(labels)]
            grown = tuple(sorted({**counts, one: counts.get(one, 0) + 1}.items()))
            if grown not in numbers:
                numbers[grown] = len(patterns)
                patterns.append(grown)
            after.append(numbers[grown])
        now[:size] = number_after[rows] = np.array(after, dtype=np.int64)[way]
    return number_after, patterns


def _by_step(step: Ints, number: Ints, kinds: Sequence[K], steps: int) -> list[Counter[K]]:
    """Items of each kind, for each step; ``number`` is an index into the kinds."""
    counts: list[Counter[K]] = [Counter() for _ in range(steps)]
    for key, items in zip(*(column.tolist() for column in counted(step * len(kinds) + number)), strict=True):
        counts[key // len(kinds)][kinds[key % len(kinds)]] += items
    return counts


def window(steps: int) -> int:
    """How many steps count as recent: an eighth of them, at least one.

    >>> window(40), window(3)
    (5, 1)
    """
    return max(1, steps // RECENT)
