"""Models among people: who is which, then each model compared with the people.

A model is an annotator in the source, or has a source of its own: read as the people's is where that fits, spelled as
theirs is, one table per run.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import polars

from spagree.agreement import Agreement
from spagree.codes import UNKNOWN, in_order
from spagree.comparing.sides import MOST_AT_HOME, Presented, estimating
from spagree.counts.engines import column_names, to_polars
from spagree.counts.fetch import places
from spagree.counts.items import spelled
from spagree.counts.labels import BAR, canonical, options_of, warn_variants
from spagree.counts.policies import Clean, respelled
from spagree.errors import ColumnError, DataError, FileError, SpagreeError, UsageError, count
from spagree.estimate.marks import model_among_marks
from spagree.estimate.models import ModelFindings, among_people
from spagree.estimate.similarity import NOMINAL
from spagree.estimate.uncertainty import AUTO
from spagree.estimate.warnings import is_named_like_a_model
from spagree.measuring import measure, policies
from spagree.messages import Warning, listed, opt
from spagree.options import TOOLS, Reading, declared, split
from spagree.present.charts.studies import models_chart
from spagree.present.document import models_document
from spagree.present.sentences import model_sentence
from spagree.present.terminal import models_summary
from spagree.read import read
from spagree.read.annotations import ANNOTATOR, COUNT, ITEM, LABEL

if TYPE_CHECKING:
    from rich.console import Group

    from spagree.codes import Floats, Int32s
    from spagree.spans import SpanAgreement

MOST_SHOWN = 20  # annotators in a message
SHOWN_LABELS = 3
WIDE = "wide"


@dataclass(frozen=True, repr=False)
class ModelComparison(Presented):
    """One or more models among people; made by :func:`compare` with ``model``.

    >>> import spagree
    >>> labels = [(item, who, "yes" if item % 2 else "no") for item in range(20) for who in ("ann", "bob", "gpt")]
    >>> gpt = spagree.compare(labels, model="gpt", margin=0.05).models["gpt"]
    >>> gpt.items, gpt.humans_count
    (20, 2)
    """

    models: Mapping[str, ModelFindings]
    warnings: tuple[Warning, ...] = ()
    """What was noticed while reading and counting, and labels that models and people write differently."""

    @property
    def undefined(self) -> str | None:
        """Why no model can be compared; None if any difference is known."""
        gaps = [model.difference for model in self.models.values()]
        return None if any(gap.value is not None for gap in gaps) else gaps[0].undefined

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values, in full precision."""
        return models_document(self.models)

    def summary(self) -> Group:
        """What a terminal shows."""
        return models_summary(self.models)

    def sentences(self) -> list[str]:
        """One conclusion per model."""
        return [model_sentence(model) for model in self.models.values()]

    def chart(self) -> Any:
        """People with each other and with each model; below, the differences with the margin."""
        return models_chart(self.models)


def compare_models(
    source: Any,
    model: str | Sequence[str] | Mapping[str, Any],
    margin: float,
    options: Mapping[str, Any],
) -> ModelComparison:
    """Separate models from people, and compare each model with the people."""
    for name in (option for option in ("cluster", "by") if options.get(option) is not None):
        raise UsageError(
            f"{opt[name]} is for comparing two sources or more; leave it out, or choose rows with {opt.where}"
        )
    check_margin(margin)
    measured = measure(source, **options)
    whole = annotation_rows(measured)
    if whole is None:
        raise UsageError("model: a tally does not say who gave which label; compare the annotations themselves")
    names = [model] if isinstance(model, str) else model
    # Models by name, with the source of their labels; None for annotators in the data
    sources = dict(names) if isinstance(names, Mapping) else dict.fromkeys(names)
    annotators = whole[ANNOTATOR].drop_nulls().unique().sort().to_list()
    compared = {each for name in sources if sources[name] is None for each in _matching(name, annotators)}
    others = [name for name in annotators if name not in compared and is_named_like_a_model(name)]
    is_machine = polars.col(ANNOTATOR).is_in([*compared, *others])
    people = whole.filter(polars.col(ANNOTATOR).is_null() | ~is_machine)
    if people.is_empty():
        raise DataError(
            f"{opt.model(', '.join(sources))}: everybody in the source is a model; add the labels of people"
        )
    runs = {name: _runs(name, own_file, whole, people, options) for name, own_file in sources.items()}
    unknown = people[ANNOTATOR].null_count() == people.height
    annotator = None if unknown else ANNOTATOR
    named = people.select(ITEM, LABEL) if unknown else people.select(ITEM, ANNOTATOR, LABEL)
    humans = measure(named, item=ITEM, annotator=annotator, label=LABEL, **estimating(options))
    whom = options.get("interval_for", AUTO)
    findings = {name: _findings(name, people, runs[name], humans, margin, whom) for name in runs}
    labels = {label for tables in ([people], *runs.values()) for table in tables for label in table[LABEL]}
    noticed = [warning for warning in measured.noticed if warning.code != "label_variants"]
    noticed += [warning for warning in humans.warnings if warning.code == "not_a_person"]
    found = _warnings(findings, runs, people, others, is_nominal=humans.evidence.metric.rule == NOMINAL)
    return ModelComparison(findings, (*noticed, *warn_variants(labels), *found))


def compare_marks(
    found: SpanAgreement, model: str | Sequence[str] | Mapping[str, Any], margin: float
) -> ModelComparison:
    """Compare models with people by what they mark: whole spans, and character by character."""
    check_margin(margin)
    annotators = found.marks.annotators
    named = {name: _matching(name, annotators) for name in ([model] if isinstance(model, str) else model)}
    for name in (name for name, matching in named.items() if not matching):
        raise UsageError(f"model {name!r} is not among the annotators of the marks: {listed(annotators, MOST_SHOWN)}")
    models = [each for matching in named.values() for each in matching]
    others = [name for name in annotators if name not in models and is_named_like_a_model(name)]
    warnings = [each for each in found.warnings if each.code not in ("not_random", "not_a_person")]  # of models too
    findings = {}
    for name in models:
        levels = (("whole marks", False),) if found.marks.keys else (("whole spans", False), ("characters", True))
        for title, characters in levels:
            among = model_among_marks(
                name, found.marks, {*models, *others}, characters=characters, margin=margin, **found.options
            )
            findings[f"{name}, {title}"] = replace(among, name=f"{name}, {title}")
    return ModelComparison(findings, (*warnings, *_left_out(others)))


def check_margin(margin: float) -> None:
    """Refuse what is no share of agreement."""
    if not 0 <= margin < 1:
        raise UsageError(f"margin {margin}: how much less agreement still counts as good, for example 0.05")


def _left_out(others: Sequence[str]) -> Iterator[Warning]:
    if others:
        yield Warning(
            "other_models_left_out",
            f"{_listed([*map(repr, others)])}: named like a model, so left out of the people; to compare one with "
            f"people: {opt.model(others[0])}. If it is a person, give them another name",
        )


def _matching(name: str, annotators: Sequence[str]) -> list[str]:
    """The annotators with this name; with *, the runs of one model."""
    return [name] if name in annotators else [annotator for annotator in annotators if fnmatchcase(annotator, name)]


def _runs(
    name: str, source: Any, whole: polars.DataFrame, people: polars.DataFrame, options: Mapping[str, Any]
) -> list[polars.DataFrame]:
    """The labels of a model, one table per run: of annotators in the source, or in a source of its own.

    There its annotators are runs, or else the rows that label an item again.
    """
    if source is None:
        annotators = whole[ANNOTATOR].drop_nulls().unique().sort().to_list()
        matching = _matching(name, annotators)
        if matching:
            return [whole.filter(polars.col(ANNOTATOR) == annotator) for annotator in matching]
        if not annotators and not Path(name).exists():
            raise UsageError(
                f"model {name!r}: the annotators of the source are unknown; name their column with {opt.annotator}"
            )
        if not Path(name).exists():
            near = difflib.get_close_matches(name, annotators, n=1)
            hint = f"did you mean {near[0]!r}? Annotators" if near else "annotators"
            raise UsageError(f"model {name!r} is neither an annotator nor a file; {hint}: {_listed(annotators)}")
    rows = as_text(to_polars(_read(name, name if source is None else source, split(options)[0])))
    rows = _respelled(rows.drop_nulls([ITEM, LABEL]), people, options)
    if rows.is_empty():
        raise DataError(f"model {name}: no row has an item and a label; check its columns")
    if rows[ANNOTATOR].null_count():
        occurrence = polars.col(LABEL).cum_count().over(ITEM).cast(polars.String)
        rows = rows.with_columns(occurrence.alias(ANNOTATOR))
    return [part for _, part in sorted(rows.partition_by(ANNOTATOR, as_dict=True).items())]


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:MOST_SHOWN], *([f"… {len(names) - MOST_SHOWN:,} more"] if names[MOST_SHOWN:] else [])])


def _read(name: str, source: Any, reading: Mapping[str, Any]) -> nw.LazyFrame[Any]:
    """A model's labels, read with the options for the people's data if they fit, otherwise as a table of their own."""
    refused: list[SpagreeError] = []
    for options in _ways(reading):
        try:
            frame = read(source, **options).frame
        except FileError:
            raise
        except SpagreeError as error:
            refused.append(error)
            continue
        names = column_names(frame)
        if COUNT in names:
            raise DataError(f"model {name}: a table of counts does not say which label it gave; write item, label")
        return frame.select([name for name in (ITEM, ANNOTATOR, LABEL) if name in names])
    alone = refused[2]
    if isinstance(alone, ColumnError):
        first = str(alone).splitlines()[0]
        raise ColumnError(f"model {first}; call its columns item and label, or as they are called in the people's file")
    raise alone


def _ways(reading: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The options to read a model's source with: its export like theirs, their columns, none of them, their layout."""
    always = {name: reading[name] for name in ("missing",) if reading.get(name)}
    columns = {name: reading[name] for name in (ITEM, LABEL) if reading.get(name) is not None}
    of_tools = {name for name, option in declared(Reading).items() if option.group == TOOLS} | {"question"}
    yield always | columns | {name: value for name, value in reading.items() if name in of_tools}
    yield always | columns
    yield always
    if reading.get("format") == WIDE:
        yield always | {"format": WIDE} | {name: value for name, value in columns.items() if name == ITEM}


def _respelled(rows: polars.DataFrame, people: polars.DataFrame, options: Mapping[str, Any]) -> polars.DataFrame:
    """Labels and names as the policies spell those of the people."""
    reading, estimating = split(options)
    how = policies(Reading(**reading), estimating.get("metric"))
    human_options = {option for label in people[LABEL].unique() for option in (label, *options_of(label, BAR))}
    labels = dict(rows[LABEL].value_counts().iter_rows())
    clean, _ = respelled(Clean(nw.from_native(rows.lazy()), {}), labels, how, human_options)
    return to_polars(clean.frame)


def _findings(
    name: str,
    people: polars.DataFrame,
    runs: Sequence[polars.DataFrame],
    humans: Agreement,
    margin: float,
    interval_for: str,
) -> ModelFindings:
    """People and the runs of a model in codes they share, compared."""
    distinct = {
        column: polars.concat([table[column] for table in (people, *runs)]).drop_nulls().unique().sort()
        for column in (ITEM, ANNOTATOR, LABEL)
    }

    def codes_of(table: polars.DataFrame, column: str) -> Int32s:
        return places(table[column], distinct[column]).cast(polars.Int32).fill_null(UNKNOWN).to_numpy()

    item, annotator, label = (codes_of(people, column) for column in (ITEM, ANNOTATOR, LABEL))
    labels, names = distinct[LABEL].to_list(), distinct[ANNOTATOR].to_list()
    codes = in_order(item, label, annotator, labels, names)
    answers = np.full((len(runs), len(distinct[ITEM])), UNKNOWN, dtype=np.int64)
    for row, run in zip(answers, runs, strict=True):
        if run[ITEM].is_duplicated().any():
            raise DataError(f"model {name}: one run labels an item twice; give each run a different name")
        row[codes_of(run, ITEM)] = codes_of(run, LABEL)
    return among_people(
        name,
        codes,
        answers,
        humans.evidence.by_n(),
        similarity=similarity_of(humans, labels),
        margin=margin,
        level=humans.spa.level,
        weights=humans.spa.weights,
        interval_for=interval_for,
    )


def _warnings(
    findings: Mapping[str, ModelFindings],
    runs: Mapping[str, Sequence[polars.DataFrame]],
    people: polars.DataFrame,
    others: Sequence[str],
    *,
    is_nominal: bool,
) -> Iterator[Warning]:
    """Models that were not counted as people, labels that can agree with nobody, and models that give one label only.

    Variants of people's spelling have a warning of their own; other metrics than equality give credit to other labels.
    """
    yield from _left_out(others)
    human_labels = {canonical(label) for label in people[LABEL].unique()}
    for name, tables in runs.items():
        given = (label for table in tables for label in table[LABEL])
        own = Counter(label for label in given if is_nominal and canonical(label) not in human_labels)
        if own:
            often = own.most_common(SHOWN_LABELS)
            shown = ", ".join(f"{label!r} ×{times:,}" for label, times in often)
            more = f" and {count(len(own) - SHOWN_LABELS, 'more label')}" if len(own) > SHOWN_LABELS else ""
            yield Warning(
                "labels_of_model_only",
                f"{name} gave labels that no person gave, which count as disagreement: {shown}{more}. If they mean "
                f"that it did not answer, leave them out with {opt.missing(often[0][0])}",
            )
        if len(findings[name].labels) == 1:
            yield Warning(
                "model_of_one_label",
                f"{name} gave one label only, {next(iter(findings[name].labels))!r}: it tells no item from another, "
                "however often people agree with it; see how it does on the other classes",
            )


def similarity_of(agreement: Agreement, labels: Sequence[str]) -> Floats | None:
    """How much any two labels agree under a metric; None if only equal labels agree."""
    metric = agreement.evidence.metric
    if metric.rule == NOMINAL:
        return None
    totals = np.array([agreement.data.labels.get(label, 0) for label in labels], dtype=np.float64)
    return metric.matrix(tuple(labels), totals)


def annotation_rows(agreement: Agreement) -> polars.DataFrame | None:
    """(item, annotator, label) as text, one row per annotation; None if only a tally is available."""
    evidence = agreement.evidence
    if evidence.held is None or evidence.tally.annotations > MOST_AT_HOME:
        return None
    frame = evidence.held.frame
    names = column_names(frame)
    return as_text(to_polars(frame.select([name for name in (ITEM, ANNOTATOR, LABEL, COUNT) if name in names])))


def as_text(rows: polars.DataFrame) -> polars.DataFrame:
    """Annotations as text, one row each; the annotator is null if unknown."""
    who = spelled(rows[ANNOTATOR]) if ANNOTATOR in rows.columns else polars.lit(None, polars.String)
    texts = rows.select(spelled(rows[ITEM]), who.alias(ANNOTATOR), rows[LABEL].cast(polars.String))
    if COUNT not in rows.columns:
        return texts
    return texts.select(polars.all().repeat_by(rows[COUNT].cast(polars.Int64))).explode(texts.columns)
