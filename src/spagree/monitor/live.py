"""Annotations → every figure on the page: a pure function of the annotations, the marks and the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from spagree.agreement import Agreement
from spagree.counts.coded import Coded
from spagree.counts.live import counted_codes
from spagree.estimate.overlap import Overlap, overlap
from spagree.estimate.watch import (
    ClosedItems,
    Fall,
    SafeSequence,
    WatchedAnnotators,
    closed_items,
    fall_of,
    safe_sequence,
    watch_annotators,
)
from spagree.grouping import Floats
from spagree.measuring import measure
from spagree.monitor.ledger import Columns

FIRST = 2  # annotations that close an item, unless the user says otherwise
TO_JUDGE_PEOPLE = 3  # annotations per item needed to tell an unusual annotator from a hard item
MOST_STEPS = 200  # points of the trend
HOUR = 3600.0
SURE = 4.9  # standard errors: less than one in a million by chance, because people look repeatedly

Mark = tuple[float, str]


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator chose: the target, and how many annotations close an item."""

    target: float | None = None
    first: int = FIRST


@dataclass(frozen=True, slots=True)
class Safe:
    """The mean agreement of the closed items since the last mark, with bounds that hold at any time."""

    items: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    undefined: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """The safe bounds when an item closed; ``recent`` is the mean of the latest items then."""

    time: float
    items: int
    value: float
    low: float
    high: float
    recent: float


@dataclass(frozen=True, slots=True)
class Live:
    """Every figure of a project's question at one moment."""

    project: str
    question: str
    agreement: Agreement | None
    columns: Columns
    safe: Safe
    trend: tuple[Step, ...]
    coverage: tuple[int, int, int]
    """Items with one, two, and three or more annotations."""
    per_hour: float
    fall: Fall | None
    people: WatchedAnnotators
    overlap: Overlap
    adaptive: tuple[float, float] | None
    """If the tool seems to ask more people about items with disagreement: the share of disagreement among items with
    more annotations, and among the others.
    """
    marks: tuple[Mark, ...] = ()
    settings: Settings = field(default_factory=Settings)


def look(
    project: str, question: str, columns: Columns, marks: Sequence[Mark] = (), settings: Settings | None = None
) -> Live:
    """Measure a question as it is now."""
    chosen = settings or Settings()
    closed = closed_items(columns.item, columns.annotator, columns.label, chosen.first)
    values, moments = closed.agreement(), columns.time[closed.closed_by]
    since = 0
    if marks:  # new guidelines begin a new phase, with the first item closed after the last mark
        before = np.flatnonzero(moments <= marks[-1][0])
        since = int(before[-1]) + 1 if len(before) else 0
    values, moments = values[since:], moments[since:]
    shown = np.unique(np.linspace(1, len(values), min(len(values), MOST_STEPS)).astype(int)).tolist()
    sequence = safe_sequence(values, at=shown)
    safe = Safe(0, undefined="no item has enough annotations yet")
    if len(sequence.mean):
        low, high = float(sequence.low[-1]), float(sequence.high[-1])
        safe = Safe(int(sequence.items[-1]), float(sequence.mean[-1]), low, high)
    judged = closed_items(columns.item, columns.annotator, columns.label, max(TO_JUDGE_PEOPLE, chosen.first))
    sizes = np.bincount(columns.item, minlength=1)
    return Live(
        project,
        question,
        _measured(columns),
        columns,
        safe,
        _trend(sequence, values, moments),
        (int((sizes == 1).sum()), int((sizes == 2).sum()), int((sizes > 2).sum())),  # noqa: PLR2004 (as they are named)
        _per_hour(columns.time),
        fall_of(values),
        watch_annotators(judged, len(columns.annotators)),
        _overlap(columns),
        _adaptive(columns, closed if chosen.first == FIRST else None),
        tuple(marks),
        chosen,
    )


def _measured(columns: Columns) -> Agreement | None:
    """SPA of everything, counted from the codes."""
    if not len(columns.item):
        return None
    sizes = np.bincount(columns.annotator, minlength=len(columns.annotators)).tolist()
    by_name = {name: count for name, count in zip(columns.annotators, sizes, strict=True) if count}
    return measure(counted_codes(columns.item, columns.label, columns.labels, by_name, columns.frame()))


def _overlap(columns: Columns) -> Overlap:
    """Who annotated items together; only teams matter here, and they need no labels."""
    order = np.argsort(columns.item, kind="stable")
    item, annotator, label = (each[order] for each in (columns.item, columns.annotator, columns.label))
    return overlap(Coded(item, annotator, label, tuple(columns.annotators), tuple(columns.labels)), bridges=False)


def _trend(sequence: SafeSequence, values: Floats, time: Floats) -> tuple[Step, ...]:
    """The history of the safe bounds, with the mean of the latest items at each point."""
    window = max(20, len(values) // 20)
    total = np.concatenate([[0.0], values.cumsum()])
    first = np.maximum(sequence.items - window, 0)
    recent = (total[sequence.items] - total[first]) / (sequence.items - first)
    rows = (time[sequence.items - 1], sequence.items, sequence.mean, sequence.low, sequence.high, recent)
    return tuple(Step(*row) for row in zip(*(column.tolist() for column in rows), strict=True))


def _per_hour(time: Floats) -> float:
    """Annotations in the hour before the latest one; for a shorter project, its mean per hour."""
    if len(time) < 2:  # noqa: PLR2004 (a rate takes two moments)
        return 0.0
    latest = time.max()
    recent = time[time > latest - HOUR]
    span = min(HOUR, latest - time.min())
    return float(len(recent) * HOUR / span) if span > 0 else 0.0


def _adaptive(columns: Columns, closed: ClosedItems | None) -> tuple[float, float] | None:
    """Whether items whose first two annotations disagree get more annotations than the others."""
    pairs = closed or closed_items(columns.item, columns.annotator, columns.label, 2)
    more = np.bincount(columns.item, minlength=1)[pairs.item] > 2  # noqa: PLR2004 (more than the two)
    apart = pairs.agreement() == 0
    with_more, rest = int(more.sum()), int((~more).sum())
    if not with_more or not rest:
        return None
    shares = (float(apart[more].mean()), float(apart[~more].mean()))
    pooled = float(apart.mean())
    error = float(np.sqrt(pooled * (1 - pooled) * (1 / with_more + 1 / rest)))
    return shares if error > 0 and (shares[0] - shares[1]) / error > SURE else None
