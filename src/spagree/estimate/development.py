"""How agreement developed: SPA at each moment, and SPA on the most recently finished items.

Annotations are cut into steps of roughly equal size, in time order. An item touched in a step moves from one (n, A, T)
to another (docs/mathematics.md §3), so each step updates the cells by what arrived and what left: one pass over the
annotations, however many steps there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from spagree.counts.coded import CodedTable
from spagree.counts.live import pattern
from spagree.counts.tally import Cell, Pattern, Tally
from spagree.errors import DataError, UsageError
from spagree.estimate.label_counts import item_groups_of, similar_votes
from spagree.estimate.similarity import NOMINAL, Metric
from spagree.estimate.uncertainty import NOT_PAIRABLE, Estimate, spa_estimate, undefined
from spagree.estimate.weights import CUSTOM, weigh
from spagree.grouping import AnyInts, Ints, counted, numbered, run_of_each, run_starts
from spagree.messages import opt
from spagree.options import CustomWeights
from spagree.read.annotations import TIME

if TYPE_CHECKING:
    import polars

NO_TIMES = f"the times of the annotations are unknown; name their column with {opt.time}"
MOST_STEPS = 1_000
RECENT = 8  # "recent" is the last eighth of the steps
ROWS_AT_ONCE = 500_000  # annotations: memory used again costs a fraction of fresh memory

K = TypeVar("K")
Tallies = tuple[list[Tally], list[Tally]]
"""For each step: all items as of its end; the items whose last annotation fell in it, as they are now."""


def development(
    table: CodedTable, steps: int, measure: Callable[[Tally], Estimate], metric: Metric
) -> polars.DataFrame:
    """One row per step; ``measure`` turns the tally of a step into its figure."""
    if not isinstance(steps, int) or not 1 <= steps <= MOST_STEPS:
        raise UsageError(f"steps {steps!r}: a whole number from 1 to {MOST_STEPS:,}, for example 40")
    timed = _in_steps(table, steps)
    so_far, finished = _tallies(timed) if metric.rule == NOMINAL else _pattern_tallies(timed)
    # A single step holds few items, so the latest steps are pooled. An item belongs to one step: windows that share no
    # step share no item.
    ends, width = range(1, len(finished) + 1), window(len(finished))
    recent = [sum(finished[max(0, end - width) : end], Tally()) for end in ends]
    return _frame(timed, [_row(whole, late, measure) for whole, late in zip(so_far, recent, strict=True)])


def measured(tally: Tally, weights: str | CustomWeights, level: float, metric: Metric) -> Estimate:
    """SPA of a tally under the chosen weights only, as :func:`spagree.estimate.findings.find` computes it.

    It is undefined if custom weights do not cover all numbers of annotations, as may happen early on.
    """
    name = weights if isinstance(weights, str) else CUSTOM
    if not tally.pairable_items:
        return undefined(NOT_PAIRABLE, level, name)
    similar = similar_votes(tally, metric)
    groups = item_groups_of(tally, similar if tally.clusters is None else similar_votes(tally, metric, clusters=True))
    try:
        by_n = weigh(weights, tally, similar).by_n
    except UsageError as error:
        return undefined(str(error), level, name)
    return spa_estimate(groups, by_n, level=level, scheme=name)


@dataclass(frozen=True)
class Timed:
    """Annotations with a time, as parallel integers; step s ends at ``ends[s]``."""

    item: AnyInts
    label: AnyInts
    step: AnyInts
    labels: Sequence[str]
    starts: polars.Series
    ends: polars.Series
    without_time: int

    @property
    def steps(self) -> int:
        """Number of steps: fewer than requested if many annotations share a time."""
        return len(self.ends)

    def blocks(self) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Item, label and step of a bounded number of annotations at a time, of whole items numbered from 0."""
        start = 0
        while start < len(self.item):
            last = self.item[min(start + ROWS_AT_ONCE, len(self.item)) - 1]
            end = int(np.searchsorted(self.item, last, side="right"))
            item, label, step = (column[start:end].astype(np.int64) for column in (self.item, self.label, self.step))
            yield item - item[0], label, step
            start = end


def _in_steps(table: CodedTable, steps: int) -> Timed:
    """Cut the annotations that have a time into steps; equal times stay in one step."""
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
    return Timed(
        run_of_each(table.item[chosen]), table.label[chosen], step, table.labels, starts, ends, len(chosen) - len(time)
    )


@dataclass(frozen=True)
class States:
    """An item as it was after each step that touched it; sorted by item, then by step."""

    item: Ints
    step: Ints
    n: Ints
    pairs: Ints
    triples: Ints

    def cells(self, step: Ints, steps: int, chosen: Ints | slice = slice(None)) -> list[Counter[Cell]]:
        """How many of the chosen states fall into each cell, per ``step`` (parallel to the states)."""
        kinds, number = self._in_cells
        return _by_step(step, number[chosen], kinds, steps)

    @cached_property
    def _in_cells(self) -> tuple[list[Cell], Ints]:
        """The cells that occur, and which of them each state is in."""
        first, number = numbered(self.n, self.pairs, self.triples)
        columns = (column[first].tolist() for column in (self.n, self.pairs, self.triples))
        return [Cell(*cell) for cell in zip(*columns, strict=True)], number


def _tallies(timed: Timed) -> Tallies:
    """The tallies of nominal labels, from what arrives in each cell and what leaves it."""
    added = tuple([Counter[Any]() for _ in range(timed.steps)] for _ in range(5))
    for block in timed.blocks():
        for whole, part in zip(added, _moves(*block, timed), strict=True):
            for total, more in zip(whole, part, strict=True):
                total.update(more)
    arrived, left, stayed, pairable, finished = added
    cells: Counter[Cell] = Counter()
    labels: Counter[str] = Counter()
    so_far = []
    for more, less, new in zip(arrived, left, pairable, strict=True):
        cells, labels = cells + more - less, labels + new
        so_far.append(Tally(cells, pairable_labels=labels))
    return so_far, [Tally(cells, pairable_labels=labels) for cells, labels in zip(stayed, finished, strict=True)]


def _moves(item: Ints, label: Ints, step: Ints, timed: Timed) -> tuple[list[Counter[Any]], ...]:
    """For each step: items that arrive in a cell, leave it and stay; labels of pairable and of finished items."""
    size = timed.steps
    keys, new = counted((item * len(timed.labels) + label) * size + step)
    entry, step = keys // size, keys % size
    item, label = entry // len(timed.labels), entry % len(timed.labels)
    states = _states(item, step, new, _running(entry, new))
    last = states.item != np.append(states.item[1:], -1)
    final, earlier = np.flatnonzero(last), np.flatnonzero(~last)
    first_pair = np.full(len(final), size)  # the step in which an item becomes pairable; if never, one past the last
    np.minimum.at(first_pair, states.item, np.where(states.n > 1, states.step, size))
    in_the_end = np.where(first_pair < size, states.step[final], size)
    return (
        states.cells(states.step, size),
        states.cells(states.step[earlier + 1], size, earlier),
        states.cells(states.step[final], size, final),
        _labels(np.maximum(step, first_pair[item]), label, new, timed),
        _labels(in_the_end[item], label, new, timed),
    )


def _states(item: Ints, step: Ints, new: Ints, after: Ints) -> States:
    """From (item, label, step), its new annotations and the running total: n, A and T change additively."""
    before = after - new
    pairs_after, pairs_before = after * (after - 1), before * (before - 1)
    pairs = pairs_after - pairs_before
    triples = pairs_after * (after - 2) - pairs_before * (before - 2)
    key = item * (int(step.max()) + 1) + step
    order = np.argsort(key)
    starts = run_starts(key[order])
    item, step = item[order[starts]], step[order[starts]]
    n, pairs, triples = (_running(item, np.add.reduceat(values[order], starts)) for values in (new, pairs, triples))
    return States(item, step, n, pairs, triples)


def _running(keys: Ints, values: Ints) -> Ints:
    """Running sums that restart at each key; equal keys are adjacent.

    >>> _running(np.array([4, 4, 4, 7, 7]), np.array([1, 2, 3, 10, 1])).tolist()
    [1, 3, 6, 10, 11]
    """
    total, first = np.cumsum(values), run_starts(keys)
    total -= np.repeat(total[first] - values[first], np.diff(first, append=len(keys)))
    return total


def _labels(step: Ints, label: Ints, new: Ints, timed: Timed) -> list[Counter[str]]:
    """Annotations per label, by the first step that counts them; later steps are left out."""
    counts: list[Counter[str]] = [Counter() for _ in range(timed.steps + 1)]
    first, number = numbered(step, label)
    for place, count in zip(first.tolist(), np.bincount(number, new).tolist(), strict=True):
        counts[int(step[place])][timed.labels[int(label[place])]] += int(count)
    return counts[:-1]


def _pattern_tallies(timed: Timed) -> Tallies:
    """The tallies for a metric, which needs each item's labels: from what enters and leaves each pattern."""
    order = np.lexsort((timed.step, timed.item))
    item, step = timed.item[order], timed.step[order].astype(np.int64)
    number, patterns = _patterns(item, timed.label[order], timed.labels)
    last = np.flatnonzero((np.diff(item, append=-1) != 0) | (np.diff(step, append=-1) != 0))  # of an item in a step
    item, step, number = item[last], step[last], number[last]
    final = np.diff(item, append=-1) != 0
    earlier = np.flatnonzero(~final)
    arrived = _by_step(step, number, patterns, timed.steps)
    left = _by_step(step[earlier + 1], number[earlier], patterns, timed.steps)
    stayed = _by_step(step[final], number[final], patterns, timed.steps)
    current: Counter[Pattern] = Counter()
    so_far = []
    for more, less in zip(arrived, left, strict=True):
        current = current + more - less
        so_far.append(Tally.from_patterns(current))
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
        after = [_grown(patterns[code // len(labels)], labels[code % len(labels)]) for code in ways.tolist()]
        for grown in after:
            if grown not in numbers:
                numbers[grown] = len(patterns)
                patterns.append(grown)
        now[:size] = number_after[rows] = np.array([numbers[grown] for grown in after], dtype=np.int64)[way]
    return number_after, patterns


def _grown(before: Pattern, label: str) -> Pattern:
    """A pattern with one more annotation.

    >>> _grown((("no", 1), ("yes", 1)), "yes")
    (('no', 1), ('yes', 2))
    """
    counts = dict(before)
    return pattern({**counts, label: counts.get(label, 0) + 1})


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


def _row(so_far: Tally, recent: Tally, measure: Callable[[Tally], Estimate]) -> dict[str, Any]:
    whole, late = measure(so_far), measure(recent)
    return {
        "annotations": so_far.annotations,
        "items": so_far.pairable_items,
        "spa": whole.value,
        "low": whole.low,
        "high": whole.high,
        "undefined": whole.undefined,
        "recent_items": recent.pairable_items,
        "recent": late.value,
        "recent_low": late.low,
        "recent_high": late.high,
        "recent_undefined": late.undefined,
    }


def _frame(timed: Timed, rows: list[dict[str, Any]]) -> polars.DataFrame:
    import polars

    kinds: dict[str, Any] = dict.fromkeys(("annotations", "items", "recent_items"), polars.Int64)
    kinds |= dict.fromkeys(("undefined", "recent_undefined"), polars.String)
    frame = polars.DataFrame(rows, schema={name: kinds.get(name, polars.Float64) for name in rows[0]})
    without = polars.lit(timed.without_time, dtype=polars.Int64).alias("without_time")
    return frame.with_columns(without, timed.starts.alias("since")).insert_column(0, timed.ends.alias(TIME))
