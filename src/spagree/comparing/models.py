"""Models among people: who is which, then each model compared with the people."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spagree.agreement import Agreement
from spagree.comparing.model_labels import runs_in
from spagree.comparing.results import ModelComparison
from spagree.comparing.sides import annotation_rows, coded, estimating, similarity_of, weight_of
from spagree.errors import DataError, UsageError, count
from spagree.estimate.models import ModelFindings, among_people
from spagree.estimate.similarity import NOMINAL
from spagree.measuring import measure
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL
from spagree.tally.labels import canonical, caution_variants
from spagree.understood import Caution

if TYPE_CHECKING:
    import polars

MOST_SHOWN = 20  # annotators in a message
SHOWN_LABELS = 3


def compare_models(
    source: Any, model: str | Sequence[str] | Mapping[str, Any], margin: float, options: Mapping[str, Any]
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
    machines = [annotator for name in sources if sources[name] is None for annotator in _matching(name, whole)]
    people = whole.filter(polars.col(ANNOTATOR).is_null() | ~polars.col(ANNOTATOR).is_in(machines))
    if people.is_empty():
        raise DataError(f"--model {', '.join(sources)}: everybody in the source is a model; add the labels of people")
    runs = {name: _runs(name, own_file, whole, people, options) for name, own_file in sources.items()}
    humans = _agreement_of(people, options)
    labels = {label for tables in ([people], *runs.values()) for table in tables for label in table[LABEL]}
    noticed = [caution for caution in measured.noticed if caution.code != "label_variants"]
    alone = [caution for name in runs for caution in _caution_alone(name, people, runs[name], humans)]
    findings = {name: _findings(name, people, runs[name], humans, margin) for name in runs}
    return ModelComparison(findings, (*noticed, *caution_variants(labels), *alone))


def _agreement_of(people: polars.DataFrame, options: Mapping[str, Any]) -> Agreement:
    """The people among themselves."""
    has_people = people[ANNOTATOR].null_count() < people.height
    columns = [ITEM, ANNOTATOR, LABEL] if has_people else [ITEM, LABEL]
    annotator = ANNOTATOR if has_people else None
    return measure(people.select(columns), item=ITEM, annotator=annotator, label=LABEL, **estimating(options))


def _runs(
    name: str, source: Any, whole: polars.DataFrame, people: polars.DataFrame, options: Mapping[str, Any]
) -> list[polars.DataFrame]:
    """The labels of a model, one table per run: annotators of the source, or a source of its own."""
    import polars

    if source is not None:
        return runs_in(name, source, people, options)
    annotators = _matching(name, whole)
    if annotators:
        return [whole.filter(polars.col(ANNOTATOR) == annotator) for annotator in annotators]
    if not Path(name).exists():
        raise _unknown_model(name, _annotators(whole))
    return runs_in(name, name, people, options)


def _matching(name: str, whole: polars.DataFrame) -> list[str]:
    """The annotators with this name; with *, the runs of one model."""
    annotators = _annotators(whole)
    return [name] if name in annotators else [annotator for annotator in annotators if fnmatchcase(annotator, name)]


def _annotators(whole: polars.DataFrame) -> list[str]:
    return whole[ANNOTATOR].drop_nulls().unique().sort().to_list()


def _unknown_model(name: str, annotators: Sequence[str]) -> UsageError:
    if not annotators:
        return UsageError(
            f"model {name!r}: the annotators of the source are unknown; name their column with --annotator"
        )
    rest = len(annotators) - MOST_SHOWN
    shown = [*annotators[:MOST_SHOWN], *([f"… {rest:,} more"] if rest > 0 else [])]
    near = difflib.get_close_matches(name, annotators, n=1)
    hint = f"did you mean {near[0]!r}? Annotators" if near else "annotators"
    return UsageError(f"model {name!r} is neither an annotator nor a file; {hint}: {', '.join(shown)}")


def _findings(
    name: str, people: polars.DataFrame, runs: Sequence[polars.DataFrame], humans: Agreement, margin: float
) -> ModelFindings:
    by_name, labels = coded({"": people} | {str(number): run for number, run in enumerate(runs)})
    human_codes, *run_codes = by_name.values()
    answers = [dict(zip(codes.item.tolist(), codes.label.tolist(), strict=True)) for codes in run_codes]
    similarity, level = similarity_of(humans, labels), humans.spa.level
    return among_people(
        name, human_codes, answers, weight_of(humans), labels, similarity=similarity, margin=margin, level=level
    )


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
