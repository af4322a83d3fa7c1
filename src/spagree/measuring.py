"""measure(): read → tally → estimate in one call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spagree.agreement import Agreement
from spagree.counting import policies, ready, refuse_late, tally_of
from spagree.errors import SpagreeError, UsageError
from spagree.estimate import (
    Bootstrap,
    Findings,
    check_level,
    check_scheme,
)
from spagree.estimate.breakdowns import Measurement
from spagree.estimate.findings import caution_missing
from spagree.estimate.similarity import SET_METRICS, Metric
from spagree.estimate.uncertainty import ANNOTATORS, check_interval_for
from spagree.keywords import keywords
from spagree.messages import opt
from spagree.options import Estimating, Reading, non_default, shows, split
from spagree.read import read, read_all
from spagree.read.annotations import Annotations
from spagree.tally.count import Counted, HeldAnnotations, count
from spagree.tally.items import ItemCounts, ItemTable
from spagree.tally.labels import caution_ids, caution_variants
from spagree.tally.tally import Tally
from spagree.understood import Understood

if TYPE_CHECKING:
    from spagree.options import CustomWeights, DuplicatePolicy, IntervalFor, Similarity


@keywords
def measure(
    source: Any,
    *,
    item: str | Sequence[str] | None = None,
    annotator: str | Sequence[str] | None = None,
    label: str | Sequence[str] | None = None,
    time: str | None = None,
    time_format: str | None = None,
    text: str | None = None,
    cluster: str | None = None,
    by: str | None = None,
    format: str = "auto",
    sheet: str | None = None,
    encoding: str | None = None,
    header: bool = True,
    engine: str | None = None,
    spark_master: str | None = None,
    query: str | None = None,
    where: str | Sequence[str] | Mapping[str, Any] = (),
    exclude_annotator: str | Sequence[str] = (),
    missing: Sequence[str] = (),
    separator: str | None = None,
    normalize: bool = False,
    duplicates: DuplicatePolicy = "error",
    first: int | None = None,
    pseudonymise: bool | str | Path = False,
    question: str | None = None,
    status: str | Sequence[str] = (),
    ground_truth: str = "keep",
    multi: str = "set",
    empty: str = "drop",
    config: Any = None,
    weights: str | CustomWeights = "annotations_m1",
    metric: str | Similarity = "nominal",
    order: Sequence[str] = (),
    level: float = 0.95,
    interval_for: IntervalFor = "auto",
    bootstrap: int | None = None,
    seed: int = 0,
) -> Agreement:
    """Measure how much annotators agree.

    >>> import spagree
    >>> agreement = spagree.measure("example:krippendorff2011")
    >>> round(agreement.spa.value, 3)
    0.793
    >>> agreement.data.pairable_items, agreement.data.unpairable_items
    (11, 1)

    Args:
        source: A path, a glob, a list of paths, ``"example:NAME"``, any dataframe that narwhals knows, an iterable of
            (item, annotator, label[, time]), a numpy matrix (say its ``format``), a tally or a live one. With
            ``query`` a database: ``"postgresql://…"`` or an SQLite file.
        item: Item column; guessed from its name if not given. Several columns together identify an item.
        annotator: Annotator column; guessed if not given, and may be absent. Several together identify an annotator.
        label: Label column. In wide tables a list: the columns of the annotators, items or classes.
        time: Column with the time of each annotation: numbers or dates.
        time_format: How times are written, for example ``"%d/%m/%Y %H:%M"``.
        text: Column with the item's text, shown with the hardest items.
        cluster: Column that groups dependent items: sentences of one document, items of one batch.
            Standard errors, intervals and tests then use clusters, not items.
        by: Column of groups to measure as well: of items (a language) or of annotators (experts).
        format: ``"long"`` (one annotation per row), ``"wide"`` (items × annotators), ``"transposed"``
            (annotators × items), ``"counts"`` (items × classes), ``"one-hot"``, or a tool, such as ``"label-studio"``.
        sheet: The sheet of an Excel workbook; by default the first.
        encoding: Text encoding of the file, if it is not UTF-8 or UTF-16.
        header: False if the file has no header; columns are then called 1, 2, 3, …
        engine: What reads and counts files: ``"duckdb"`` (default), ``"polars"`` or ``"spark"``.
        spark_master: The cluster for the spark engine; by default this machine.
        query: A SELECT whose result is read from the database ``source``.
        where: Use only rows with these values: ``{"language": "en"}``, or ``"language=en"``.
        exclude_annotator: Leave out these annotators.
        missing: Labels that mean missing.
        separator: Separator of the options in a label that is a set: ``";"`` in ``a;b``.
        normalize: Ignore differences in case, blanks and Unicode form, and between 1 and 1.0, in labels and names.
        duplicates: When an annotator relabels an item: ``"error"``, ``"first"``, ``"last"``, ``"set"``, ``"keep"``.
        first: Use only the first k annotations of each item, by time.
        pseudonymise: Replace annotators' names with stable pseudonyms; a text is used as their secret.
        question: Which question, if a table or a tool's export has several.
        status: The status or statuses that count in a tool's export.
        ground_truth: Whether to ``"keep"`` or ``"drop"`` ground truth in a tool's export.
        multi: Several choices in one answer: one label for the ``"set"``, or ``"options"``, a yes/no question each.
        empty: Whether to ``"drop"`` empty answers or ``"keep"`` them as a label.
        config: Label Studio's labelling configuration (a path or its text), for aliases of choices.
        weights: The weighting scheme: one of :data:`SCHEMES`, a mapping from the number of annotations to a weight, or
            a function of it.
        metric: How labels agree: ``"nominal"``, ``"ordinal"``, ``"interval"``, ``"ratio"``, ``"circular"``,
            ``"linear"``, ``"quadratic"``; for sets ``"jaccard"``, ``"masi"``, ``"options"``; or your own function.
        order: The labels from low to high, for ordinal metrics.
        level: Confidence level of the intervals.
        interval_for: Whom the intervals are for: these annotators on new ``"items"``, other ``"annotators"`` as well,
            or ``"auto"``, for other annotators where that interval exists and otherwise for items.
        bootstrap: Intervals from this many resamples of the items instead of Wilson's.
        seed: Seed of the bootstrap.
    """
    options = dict(locals())  # exactly the parameters: their names are those of the records
    del options["source"]
    return _measured(source, options)


def measure_in_full(source: Any, **options: Any) -> Agreement:
    """:func:`measure` for a report or a table that needs every annotation: a large file is then read only once."""
    return _measured(source, options, in_full=True)


def _measured(source: Any, options: dict[str, Any], *, in_full: bool = False) -> Agreement:
    reading, estimating = split(options)
    estimation, counted = _Estimation(**estimating), ready(source)
    policies(Reading(**reading))
    if counted is not None:
        refuse_late(Reading(**reading))
        if isinstance(counted, Counted):
            return estimation.of_counted(counted, None, None)
        items = None
        if isinstance(counted, ItemCounts):
            items = ItemTable(HeldAnnotations(counted.counts(), are_counts=True), None)
        return estimation.of_tally(tally_of(counted), items)
    return estimation.agreement(read(source, **reading), Reading(**reading), source, in_full=in_full)


@keywords
@shows(Reading, Estimating)
def measure_all(source: Any, **options: Any) -> dict[str, Agreement]:
    r"""Measure each question in an annotation tool's export; the options are those of :func:`measure`.

    >>> import pathlib, spagree
    >>> _ = pathlib.Path("batch.csv").write_text(
    ...     "HITId,WorkerId,AssignmentStatus,Answer.mood,Answer.topic\n"
    ...     "h1,ann,Approved,good,food\n"
    ...     "h1,bob,Approved,bad,food\n"
    ... )
    >>> {question: agreement.spa.value for question, agreement in spagree.measure_all("batch.csv").items()}
    {'mood': 0.0, 'topic': 1.0}
    """
    outcomes = dict(measure_each(source, **options))
    for outcome in outcomes.values():
        if isinstance(outcome, SpagreeError):
            raise outcome
    return {question: outcome for question, outcome in outcomes.items() if not isinstance(outcome, SpagreeError)}


def measure_each(source: Any, **options: Any) -> Iterator[tuple[str, Agreement | SpagreeError]]:
    """Each question with its agreement or the reason it has none; one failure does not stop the others."""
    chosen, estimating = split(options)
    estimation, reading = _Estimation(**estimating), Reading(**chosen)
    policies(reading)
    if ready(source) is not None:
        raise UsageError(f"a tally holds one question; measure it without {opt.all_questions}")
    for question, answers in read_all(source, **chosen).items():
        try:
            yield question, estimation.agreement(answers, reading, source)
        except SpagreeError as error:
            yield question, error


class _Estimation(Estimating):
    """How findings are made from a tally; checked before anything is read."""

    __slots__ = ()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        check_interval_for(self.interval_for)
        if self.interval_for == ANNOTATORS and self.bootstrap is not None:
            raise UsageError(
                f"{opt.bootstrap} resamples items only; leave it out with {opt.interval_for('annotators')}"
            )
        check_scheme(self.weights)
        check_level(self.level)
        self.resample()
        self.similarity()

    def similarity(self) -> Metric:
        return Metric(self.metric, tuple(self.order))

    def resample(self) -> Bootstrap | None:
        return Bootstrap(self.bootstrap, self.seed) if self.bootstrap is not None else None

    def agreement(self, annotations: Annotations, reading: Reading, source: Any, *, in_full: bool = False) -> Agreement:
        how = replace(policies(reading), of_sets=self.metric in SET_METRICS)
        counted = count(annotations, how, in_full=in_full or self.interval_for == ANNOTATORS)
        return self.of_counted(counted, source, annotations.understood, reading)

    def of_counted(self, counted: Counted, source: Any, understood: Understood | None, *reading: Reading) -> Agreement:
        measurement = self.measurement(counted.tally, ItemTable(counted.held, source))
        findings = self.findings(measurement)
        missing = caution_missing(counted, self.weights, self.similarity())
        cautions = measurement.cautions() + counted.cautions + missing
        findings = replace(findings, warnings=findings.warnings + cautions)
        return Agreement(findings, measurement, understood, non_default(*reading, self), counted.cautions + missing)

    def of_tally(self, tally: Tally, items: ItemTable | None) -> Agreement:
        measurement = self.measurement(tally, items)
        findings = self.findings(measurement)
        cautions = caution_variants(tally.labels) + caution_ids(tally, tuple)
        findings = replace(findings, warnings=findings.warnings + cautions)
        return Agreement(findings, measurement, options=non_default(self), noticed=cautions)

    def findings(self, measurement: Measurement) -> Findings:
        return measurement.find(self.resample())

    def measurement(self, tally: Tally, items: ItemTable | None) -> Measurement:
        return Measurement(tally, items, self.weights, self.level, self.similarity(), self.interval_for)
