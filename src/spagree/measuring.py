"""measure(), tally() and count_items(): read → count → estimate, in one call each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from spagree.agreement import Agreement
from spagree.counts.count import Counted, ItemCounts, count, item_counts
from spagree.counts.fetch import MOST_TO_FETCH
from spagree.counts.items import Held
from spagree.counts.labels import warn_ids, warn_variants
from spagree.counts.mark_tally import MarkTally
from spagree.counts.policies import Policies
from spagree.counts.saved import saved_counts
from spagree.counts.tally import Tally
from spagree.errors import SpagreeError, UnknownNameError, UsageError, Warning, opt, unknown_name
from spagree.estimate import Bootstrap, check_level, check_scheme
from spagree.estimate.breakdowns import Evidence
from spagree.estimate.findings import warn_missing
from spagree.estimate.similarity import SET_METRICS, Metric
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS, check_interval_for
from spagree.options import Estimating, Reading, declared, non_default, split
from spagree.read import read, read_all
from spagree.read.annotations import LABEL, Annotations, Understood
from spagree.read.layouts import FORMATS

if TYPE_CHECKING:
    from spagree.options import Options, ReadingOptions

DECISIVE = ("missing", "status", "ground_truth", "multi", "empty", "duplicates", "first", "normalize")


def measure(source: Any, **options: Unpack[Options]) -> Agreement:
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

    Keyword Args:
        item: Item column; guessed from its name if not given. Several columns together identify an item;
            ``":row"``: every row is one.
        annotator: Annotator column; guessed if not given, and may be absent. Several together identify an annotator.
        label: Label column. In wide tables a list: the columns of the annotators, items or classes, or ``"rater_*"``.
        same_annotators: With ``format="lists"``: the first label of every list is by one annotator, and so on.
        time: Column with the time of each annotation: numbers or dates.
        time_format: How times are written, for example ``"%d/%m/%Y %H:%M"``.
        text: Column with the item's text, shown with the hardest items.
        cluster: Column that groups dependent items: sentences of one document, items of one batch.
            Standard errors, intervals and tests then use clusters, not items.
        by: Column of groups to measure as well: of items (a language) or of annotators (experts).
        format: ``"long"`` (one annotation per row), ``"wide"`` (items × annotators), ``"transposed"``
            (annotators × items), ``"counts"`` (items × classes), ``"one-hot"``, ``"lists"`` (an item's labels in one
            cell), or a tool, such as ``"label-studio"``.
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
    return measured(source, options)


def measured(source: Any, options: Mapping[str, Any], *, in_full: bool = False) -> Agreement:
    """:func:`measure`; ``in_full`` for a report or a table that needs every annotation, to read a large file once."""
    asked = _asked("measure", options)
    counted, understood = ready(source), None
    if counted is not None:
        refuse_late(asked.reading)
    else:
        annotations = read(source, **split(options)[0])
        counted, understood = _counted(annotations, asked, in_full=in_full), annotations.understood
    return _agreement(counted, asked, source, understood)


def measure_all(source: Any, **options: Unpack[Options]) -> dict[str, Agreement]:
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
    asked = _asked("measure_all", options)
    if ready(source) is not None:
        raise UsageError(f"a tally holds one question; measure it without {opt.all_questions}")
    for question, answers in read_all(source, **split(options)[0]).items():
        try:
            is_column = answers.understood.columns.get(LABEL) == question and answers.understood.format in FORMATS
            reading = asked.reading
            alone = replace(reading, label=question) if is_column else replace(reading, question=question)
            counted = _counted(answers, asked)
            yield question, _agreement(counted, replace(asked, reading=alone), source, answers.understood)
        except SpagreeError as error:
            yield question, error


@dataclass(frozen=True)
class _Asked:
    """The options of a measurement, checked before anything is read."""

    reading: Reading
    how: Estimating
    policies: Policies
    metric: Metric
    bootstrap: Bootstrap | None


def _asked(function: str, options: Mapping[str, Any]) -> _Asked:
    _refuse_unknown(function, options, [*declared(Reading), *declared(Estimating)])
    of_reading, of_estimating = split(options)
    reading, how = Reading(**of_reading), Estimating(**of_estimating)
    treated = policies(reading, how.metric)
    check_interval_for(how.interval_for)
    if how.interval_for == ANNOTATORS and how.bootstrap is not None:
        raise UsageError(f"{opt.bootstrap} resamples items only; leave it out with {opt.interval_for('annotators')}")
    check_scheme(how.weights)
    check_level(how.level)
    bootstrap = None if how.bootstrap is None else Bootstrap(how.bootstrap, how.seed)
    return _Asked(reading, how, treated, Metric(how.metric, tuple(how.order)), bootstrap)


def _refuse_unknown(function: str, options: Mapping[str, Any], known: list[str]) -> None:
    for name in options:
        if name not in known:
            raise UnknownNameError(unknown_name(f"option of {function}()", name, known).message)


def _counted(annotations: Annotations, asked: _Asked, *, in_full: bool = False) -> Counted:
    whom = asked.how.interval_for
    above = inf if whom == ITEMS else MOST_TO_FETCH
    return count(annotations, asked.policies, in_full=in_full or whom == ANNOTATORS, people_above=above)


def _agreement(
    counted: Counted | Tally | ItemCounts, asked: _Asked, source: Any, understood: Understood | None
) -> Agreement:
    how, metric = asked.how, asked.metric
    held: Held | None = None
    if isinstance(counted, Counted):
        tally, held = counted.tally, counted.held
        noticed = warn_missing(counted, how.weights, metric) + counted.warnings  # without them, spellings may be alike
    else:
        tally = counted if isinstance(counted, Tally) else counted.tally()
        held = None if isinstance(counted, Tally) else Held(counted.counts(), are_counts=True)
        noticed = warn_variants(tally.labels) + warn_ids(tally, tuple)
    evidence = Evidence(tally, held, how.weights, how.level, metric, how.interval_for, source)
    findings = evidence.find(asked.bootstrap)
    findings = replace(findings, warnings=findings.warnings + noticed)
    return Agreement(findings, evidence, understood, non_default(asked.reading, how), noticed)


# Counts, for merging parts or keeping them ----------------------------------------------------


def tally(source: Any, **options: Unpack[ReadingOptions]) -> Tally:
    """Count annotations into a :class:`Tally`: a few integers that determine every estimate.

    Options are those for reading of :func:`measure`.
    Tallies of parts merge with ``+`` as long as no item is in two parts (see :func:`count_items`).

    >>> import spagree
    >>> monday = spagree.tally([("q1", "ann", "yes"), ("q1", "bob", "yes")])
    >>> tuesday = spagree.tally([("q2", "ann", "yes"), ("q2", "bob", "no")])
    >>> spagree.measure(monday + tuesday).spa.value
    0.5
    """
    _refuse_unknown("tally", options, list(declared(Reading)))
    return tally_and_warnings(source, **options)[0]


def tally_and_warnings(source: Any, **options: Any) -> tuple[Tally, tuple[Warning, ...]]:
    """The tally, and what was noticed while reading and counting, which a tally does not keep."""
    counted, decided = _alone(source, options, people_above=0)
    if isinstance(counted, Counted):
        return replace(counted.tally, counted=decided), counted.warnings
    return (counted.tally() if isinstance(counted, ItemCounts) else counted), ()


def count_items(source: Any, **options: Unpack[ReadingOptions]) -> ItemCounts:
    """Count annotations per item and label: one row each, but the parts may split an item.

    Options are those for reading of :func:`measure`.

    >>> import spagree
    >>> morning = spagree.count_items([("q1", "ann", "yes")])
    >>> evening = spagree.count_items([("q1", "bob", "yes"), ("q2", "bob", "no")])
    >>> spagree.measure(morning + evening).data.pairable_items
    1
    """
    _refuse_unknown("count_items", options, list(declared(Reading)))
    return item_counts_and_warnings(source, **options)[0]


def item_counts_and_warnings(source: Any, **options: Any) -> tuple[ItemCounts, tuple[Warning, ...]]:
    """The counts per item, and what was noticed while reading and counting."""
    for name in (each for each in ("cluster", "by") if options.get(each) is not None):
        raise UsageError(f"{opt[name]}: counts of single items keep no clusters or groups; count a tally instead")
    counted, decided = _alone(source, options)
    if isinstance(counted, Tally):
        raise UsageError("a tally holds no single items; count the annotations themselves, item by item")
    if isinstance(counted, ItemCounts):
        return counted, ()
    return replace(item_counts(counted), counted=decided), counted.warnings


def _alone(
    source: Any, options: Mapping[str, Any], people_above: float = inf
) -> tuple[Counted | Tally | ItemCounts, Mapping[str, Any] | None]:
    """What is counted without being measured, and the options that decide which annotations count.

    They are saved with the counts, and compared before merging.
    """
    reading, made = Reading(**options), ready(source)
    if made is not None:
        refuse_late(reading)
        return made, None
    annotations = read(source, **options)
    counted = count(annotations, policies(reading), people_above=people_above)
    decisive = {name: value for name, value in non_default(reading).items() if name in DECISIVE}
    decided = {name: list(value) if isinstance(value, list | tuple) else value for name, value in decisive.items()}
    if annotations.understood.format not in FORMATS:  # an export
        decided["question"] = annotations.understood.columns.get(LABEL)
    return counted, decided


def ready(source: Any) -> Tally | ItemCounts | Counted | None:
    """Counts that already exist: in memory, live, saved, or saved in parts."""
    if isinstance(source, Tally | ItemCounts | Counted):
        return source
    made = saved_counts(source)
    if isinstance(source, MarkTally) or isinstance(made, MarkTally):
        raise UsageError("these are counts of marks: measure_spans() measures them, on the command line --format spans")
    if made is not None or isinstance(source, str | Path | list):
        return made
    from spagree.counts.live import LiveTally

    return source.counted() if isinstance(source, LiveTally) else None


def refuse_late(reading: Reading) -> None:
    """Refuse counting options for data that is already counted."""
    names = [opt["no_header" if name == "header" else name] for name in non_default(reading)]
    if names:
        raise UsageError(f"{', '.join(names)} has no effect on a tally; give it when counting the annotations")


def policies(reading: Reading, metric: object = None) -> Policies:
    """How to treat annotations that could be counted in more than one way; a metric of sets splits labels."""
    is_of_sets = metric in SET_METRICS
    return Policies(reading.duplicates, reading.first, reading.normalize, reading.separator, of_sets=is_of_sets)
