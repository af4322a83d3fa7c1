"""Annotations → every figure on the page: a pure function of the annotations, the marks and the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from typing import NamedTuple

import numpy as np

from spagree.agreement import Agreement
from spagree.codes import Codes
from spagree.counts.live import counted_codes
from spagree.errors import for_command_line
from spagree.estimate import Estimate, anytime
from spagree.estimate.pairs import Overlap, overlap
from spagree.measuring import measure
from spagree.monitor.ledger import Current
from spagree.spans import SpanAgreement, measure_spans

FIRST = 2  # annotations that close an item, unless the user says otherwise
TO_JUDGE_PEOPLE = 3  # annotations per item needed to tell an unusual annotator from a hard item
MOST_STEPS = 200  # points of the trend
HOUR = 3600.0
LABEL_STUDIO = "label-studio-"  # projects whose every submission arrives, also one without marks
NO_BOUNDS = "marks have no bounds that hold however often you look: a text holds any number of them"
SURE = 4.9  # standard errors: less than one in a million by chance, because people look repeatedly

Mark = tuple[float, str]


class Settings(NamedTuple):
    """What the operator chose: the target, and how many annotations close an item."""

    target: float | None = None
    first: int = FIRST


USUAL = Settings()


class Safe(NamedTuple):
    """The mean agreement of the closed items since the last mark, with bounds that hold at any time."""

    items: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    undefined: str = ""


class TrendPoint(NamedTuple):
    """The safe bounds when an item closed; ``recent`` is the mean of the latest items then."""

    time: float
    items: int
    value: float
    low: float
    high: float
    recent: float
    phase: int  # how many marks were set before


@dataclass(frozen=True, slots=True)
class Live:
    """Every figure of a project's question at one moment."""

    project: str
    question: str
    agreement: Agreement | SpanAgreement | None
    """Of the items that were not closed before the last mark; on spans if the annotations are marks."""
    columns: Current
    safe: Safe
    trend: tuple[TrendPoint, ...]
    coverage: tuple[int, int, int]
    """Items with one, two, and three or more annotations."""
    per_hour: float
    fall: anytime.Fall | None
    people: anytime.WatchedAnnotators
    overlap: Overlap
    adaptive: tuple[float, float] | None
    """If the tool seems to ask more people about items with disagreement: the share of disagreement among items with
    more annotations, and among the others.
    """
    marks: tuple[Mark, ...] = ()
    settings: Settings = USUAL

    @property
    def headline(self) -> Estimate | None:
        """SPA, or agreement on whole spans."""
        if self.agreement is None:
            return None
        return self.agreement.exact if isinstance(self.agreement, SpanAgreement) else self.agreement.spa


def look(project: str, question: str, columns: Current, marks: Sequence[Mark] = (), settings: Settings = USUAL) -> Live:
    """Measure a question as it is now."""
    whole = columns.item, columns.annotator, columns.label
    closed = anytime.closed_items(*whole, settings.first)
    first_two = closed if settings.first == FIRST else anytime.closed_items(*whole, FIRST)
    values, moments = closed.agreement(), columns.time[closed.closed_by]
    # New guidelines begin a new phase, with the first item closed after their mark.
    starts = [0]
    for at, _ in marks:
        before = np.flatnonzero(moments <= at)
        starts.append(int(before[-1]) + 1 if len(before) else 0)
    trend: list[TrendPoint] = []
    for phase, (start, end) in enumerate(pairwise([*starts, len(values)])):
        size = max(0, end - start)
        steps = min(size, max(2, round(MOST_STEPS * size / max(len(values), 1))))
        shown = np.unique(np.linspace(1, size, steps).astype(int)).tolist()
        sequence = anytime.safe_sequence(values[start:end], at=shown)
        # beside each mean and its bounds stands the mean of the latest items at that point
        total = np.concatenate([[0.0], values[start:end].cumsum()])
        first = np.maximum(sequence.items - max(20, size // 20), 0)
        recent = (total[sequence.items] - total[first]) / (sequence.items - first)
        time = moments[start:end][sequence.items - 1]
        rows = (time, sequence.items, sequence.mean, sequence.low, sequence.high, recent)
        trend += [TrendPoint._make((*row, phase)) for row in zip(*(column.tolist() for column in rows), strict=True)]
    safe = Safe(0, undefined="no item has enough annotations yet")
    if trend and trend[-1].phase == len(marks):
        safe = Safe(trend[-1].items, trend[-1].value, trend[-1].low, trend[-1].high)
    values, to_judge = values[starts[-1] :], columns
    of_phase = columns.only(~np.isin(columns.item, closed.item[: starts[-1]]))
    if columns.places:  # labels of whole items are compared below; a text holds any number of marks
        safe, trend, values, to_judge = Safe(0, undefined=NO_BOUNDS), [], values[:0], columns.part(since=inf)
    enough = max(TO_JUDGE_PEOPLE, settings.first)
    judged = anytime.closed_items(to_judge.item, to_judge.annotator, to_judge.label, enough)
    sizes = np.bincount(columns.item, minlength=1)
    agreement: Agreement | SpanAgreement | None = None
    if columns.places and len(of_phase.item):
        made = of_phase.marks()
        everybody = made.select("item", "annotator").unique() if project.startswith(LABEL_STUDIO) else None
        spans = measure_spans(made, everybody)
        agreement = replace(spans, findings=for_command_line(spans.findings))
    elif len(of_phase.item):
        codes = of_phase.item, of_phase.annotator, of_phase.label
        counted = counted_codes(*codes, of_phase.annotators, of_phase.labels, of_phase.frame())
        agreement = replace(measure(counted), told=for_command_line)
    per_hour = 0.0  # in the hour before the latest annotation; for a shorter project, its mean per hour
    if len(columns.time) and (span := min(HOUR, columns.time.max() - columns.time.min())) > 0:
        per_hour = float((columns.time > columns.time.max() - HOUR).sum() * HOUR / span)
    order = np.argsort(columns.item, kind="stable")  # only teams matter here, and they need no labels
    item, annotator, label = (column[order] for column in whole)
    in_order = Codes(item, annotator, label, tuple(columns.annotators), tuple(columns.labels))
    return Live(
        project,
        question,
        agreement,
        columns,
        safe,
        tuple(trend),
        (int((sizes == 1).sum()), int((sizes == 2).sum()), int((sizes > 2).sum())),  # noqa: PLR2004 (by name)
        per_hour,
        anytime.fall_of(values),
        anytime.watch_annotators(judged, len(columns.annotators)),
        overlap(in_order, bridges=False),
        None if columns.places else _adaptive(columns, first_two),
        tuple(marks),
        settings,
    )


def _adaptive(columns: Current, pairs: anytime.ClosedItems) -> tuple[float, float] | None:
    """Whether items whose first two annotations disagree get more annotations than the others."""
    more = np.bincount(columns.item, minlength=1)[pairs.item] > 2  # noqa: PLR2004 (more than the two)
    apart = pairs.agreement() == 0
    with_more, rest = int(more.sum()), int((~more).sum())
    if not with_more or not rest:
        return None
    shares = (float(apart[more].mean()), float(apart[~more].mean()))
    pooled = float(apart.mean())
    error = float(np.sqrt(pooled * (1 - pooled) * (1 / with_more + 1 / rest)))
    return shares if error > 0 and (shares[0] - shares[1]) / error > SURE else None
