"""Models among people: who is which, then each model compared with the people."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree.agreement import Agreement
from spagree.comparing.model_labels import runs_in
from spagree.comparing.results import ModelComparison
from spagree.comparing.sides import annotation_rows, estimating, similarity_of
from spagree.errors import DataError, UsageError, count
from spagree.estimate.cautions import is_named_like_a_model
from spagree.estimate.models import ModelFindings, among_people
from spagree.estimate.similarity import NOMINAL
from spagree.estimate.uncertainty import AUTO
from spagree.measuring import measure
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL
from spagree.tally.coded import UNKNOWN, in_order, places
from spagree.tally.labels import canonical, caution_variants
from spagree.understood import Caution

if TYPE_CHECKING:
    import polars

    from spagree.grouping import Codes

MOST_SHOWN = 20  # annotators in a message
SHOWN_LABELS = 3


def compare_models(
    source: Any,
    model: str | Sequence[str] | Mapping[str, Any],
    margin: float,
    options: Mapping[str, Any],
) -> ModelComparison:
    """Separate models from people, and compare each model with the people."""
    import polars

    for name in (option for option in ("cluster", "by") if options.get(option) is not None):
        raise UsageError(f"--{name} is for comparing two sources or more; leave it out, or choose rows with --where")
    if not 0 <= margin < 1:
        raise UsageError(f"margin {margin}: how much less agreement still counts as good, for example 0.05")
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
        raise DataError(f"--model {', '.join(sources)}: everybody in the source is a model; add the labels of people")
    runs = {name: _runs(name, own_file, whole, people, options) for name, own_file in sources.items()}
    unknown = people[ANNOTATOR].null_count() == people.height
    annotator = None if unknown else ANNOTATOR
    named = people.select(ITEM, LABEL) if unknown else people.select(ITEM, ANNOTATOR, LABEL)
    humans = measure(named, item=ITEM, annotator=annotator, label=LABEL, **estimating(options))
    whom = options.get("interval_for", AUTO)
    findings = {name: _findings(name, people, runs[name], humans, margin, whom) for name in runs}
    labels = {label for tables in ([people], *runs.values()) for table in tables for label in table[LABEL]}
    noticed = [caution for caution in measured.noticed if caution.code != "label_variants"]
    noticed += [caution for caution in humans.warnings if caution.code == "not_a_person"]
    alone = [caution for name in runs for caution in _caution_alone(name, people, runs[name], humans)]
    constant = [caution for found in findings.values() for caution in _caution_constant(found)]
    warnings = *_caution_others(others), *noticed, *caution_variants(labels), *alone, *constant
    return ModelComparison(findings, warnings)


def _matching(name: str, annotators: Sequence[str]) -> list[str]:
    """The annotators with this name; with *, the runs of one model."""
    return [name] if name in annotators else [annotator for annotator in annotators if fnmatchcase(annotator, name)]


def _runs(
    name: str, source: Any, whole: polars.DataFrame, people: polars.DataFrame, options: Mapping[str, Any]
) -> list[polars.DataFrame]:
    """The labels of a model, one table per run: annotators of the source, or a source of its own."""
    import polars

    if source is not None:
        return runs_in(name, source, people, options)
    annotators = whole[ANNOTATOR].drop_nulls().unique().sort().to_list()
    matching = _matching(name, annotators)
    if matching:
        return [whole.filter(polars.col(ANNOTATOR) == annotator) for annotator in matching]
    if Path(name).exists():
        return runs_in(name, name, people, options)
    if not annotators:
        raise UsageError(
            f"model {name!r}: the annotators of the source are unknown; name their column with --annotator"
        )
    rest = len(annotators) - MOST_SHOWN
    shown = [*annotators[:MOST_SHOWN], *([f"… {rest:,} more"] if rest > 0 else [])]
    near = difflib.get_close_matches(name, annotators, n=1)
    hint = f"did you mean {near[0]!r}? Annotators" if near else "annotators"
    raise UsageError(f"model {name!r} is neither an annotator nor a file; {hint}: {', '.join(shown)}")


def _findings(
    name: str,
    people: polars.DataFrame,
    runs: Sequence[polars.DataFrame],
    humans: Agreement,
    margin: float,
    interval_for: str,
) -> ModelFindings:
    """People and the runs of a model in codes they share, compared."""
    import polars

    distinct = {
        column: polars.concat([table[column] for table in (people, *runs)]).drop_nulls().unique().sort()
        for column in (ITEM, ANNOTATOR, LABEL)
    }

    def codes_of(table: polars.DataFrame, column: str) -> Codes:
        return places(table[column], distinct[column]).cast(polars.Int32).fill_null(UNKNOWN).to_numpy()

    item, annotator, label = (codes_of(people, column) for column in (ITEM, ANNOTATOR, LABEL))
    labels, names = distinct[LABEL].to_list(), distinct[ANNOTATOR].to_list()
    codes = in_order(item, label, annotator, labels, names)
    answers = np.full((len(runs), len(distinct[ITEM])), UNKNOWN, dtype=np.int64)
    for row, run in zip(answers, runs, strict=True):
        row[codes_of(run, ITEM)] = codes_of(run, LABEL)
    return among_people(
        name,
        codes,
        answers,
        humans.measurement.by_n(),
        similarity=similarity_of(humans, labels),
        margin=margin,
        level=humans.spa.level,
        weights=humans.spa.weights,
        interval_for=interval_for,
    )


def _caution_others(names: Sequence[str]) -> tuple[Caution, ...]:
    """Say which other annotators were not counted as people."""
    if not names:
        return ()
    rest = f" and {len(names) - MOST_SHOWN:,} more" if len(names) > MOST_SHOWN else ""
    shown = f"{', '.join(map(repr, names[:MOST_SHOWN]))}{rest}"
    message = (
        f"{shown}: by the name models too, so left out of the people; to compare one with people: --model "
        f"{names[0]!r}. If it is a person, give them another name"
    )
    return (Caution("other_models_left_out", message),)


def _caution_constant(found: ModelFindings) -> tuple[Caution, ...]:
    """Warn about a model that gives one label only: where that label is common, people agree with it often."""
    if len(found.labels) != 1:
        return ()
    (label,) = found.labels
    message = (
        f"{found.name} gave one label only, {label!r}: it tells no item from another, however often people agree with "
        "it; see how it does on the other classes"
    )
    return (Caution("model_of_one_label", message),)


def _caution_alone(
    name: str, people: polars.DataFrame, runs: Sequence[polars.DataFrame], humans: Agreement
) -> tuple[Caution, ...]:
    """Warn about labels that only the model gives, such as refusals to answer: they can agree with nobody.

    Variants of people's spelling have a warning of their own; other metrics than equality give credit to such labels.
    """
    if humans.measurement.metric.rule != NOMINAL:
        return ()
    human_labels = {canonical(label) for label in people[LABEL].unique()}
    model_only = Counter(label for run in runs for label in run[LABEL] if canonical(label) not in human_labels)
    if not model_only:
        return ()
    often = model_only.most_common(SHOWN_LABELS)
    shown = ", ".join(f"{label!r} ×{times:,}" for label, times in often)
    more = f" and {count(len(model_only) - SHOWN_LABELS, 'more label')}" if len(model_only) > SHOWN_LABELS else ""
    message = (
        f"{name} gave labels that no person gave, which count as disagreement: {shown}{more}. If they mean that it did "
        f"not answer, leave them out with --missing {often[0][0]!r}"
    )
    return (Caution("labels_of_model_only", message),)
