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
from spagree.tally.spelling import canonical, caution_variants
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

    for name in (each for each in ("cluster", "by") if options.get(each) is not None):
        raise UsageError(f"--{name} is for comparing two sources or more; leave it out, or choose rows with --where")
    if not 0 <= margin < 1:
        raise UsageError(f"margin {margin}: how much less agreement still counts as good, for example 0.05")
    measured = measure(source, **options)
    whole = annotation_rows(measured)
    if whole is None:
        raise UsageError("model: a tally does not say who gave which label; compare the annotations themselves")
    names = [model] if isinstance(model, str) else model
    # Models by name, with the source of their labels; None for annotators in the data
    asked = dict(names) if isinstance(names, Mapping) else dict.fromkeys(names)
    machines = [annotator for name, given in asked.items() if given is None for annotator in _matching(name, whole)]
    people = whole.filter(polars.col(ANNOTATOR).is_null() | ~polars.col(ANNOTATOR).is_in(machines))
    if people.is_empty():
        raise DataError(f"--model {', '.join(asked)}: everybody in the source is a model; add the labels of people")
    runs = {name: _runs(name, given, whole, people, options) for name, given in asked.items()}
    humans = _agreement_of(people, options)
    labels = {label for rows in (people, *(run for each in runs.values() for run in each)) for label in rows[LABEL]}
    said = [each for each in measured.noticed if each.code != "label_variants"]
    alone = [caution for name, given in runs.items() for caution in _caution_alone(name, people, given, humans)]
    found = {name: _findings(name, people, given, humans, margin) for name, given in runs.items()}
    return ModelComparison(found, (*said, *caution_variants(labels), *alone))


def _agreement_of(people: polars.DataFrame, options: Mapping[str, Any]) -> Agreement:
    """The people among themselves."""
    has_people = people[ANNOTATOR].null_count() < people.height
    columns = [ITEM, ANNOTATOR, LABEL] if has_people else [ITEM, LABEL]
    annotator = ANNOTATOR if has_people else None
    return measure(people.select(columns), item=ITEM, annotator=annotator, label=LABEL, **estimating(options))


def _runs(
    name: str, given: Any, whole: polars.DataFrame, people: polars.DataFrame, options: Mapping[str, Any]
) -> list[polars.DataFrame]:
    """The labels of a model, one table per run: annotators of the source, or a source of its own."""
    import polars

    own = [] if given is not None else [whole.filter(polars.col(ANNOTATOR) == each) for each in _matching(name, whole)]
    if own:
        return own
    if given is None and not Path(name).exists():
        raise _unknown_model(name, _annotators(whole))
    return runs_in(name, name if given is None else given, people, options)


def _matching(name: str, whole: polars.DataFrame) -> list[str]:
    """The annotators with this name; with *, the runs of one model."""
    known = _annotators(whole)
    return [name] if name in known else [each for each in known if fnmatchcase(each, name)]


def _annotators(whole: polars.DataFrame) -> list[str]:
    return whole[ANNOTATOR].drop_nulls().unique().sort().to_list()


def _unknown_model(name: str, known: Sequence[str]) -> UsageError:
    if not known:
        return UsageError(
            f"model {name!r}: the annotators of the source are unknown; name their column with --annotator"
        )
    shown = [*known[:MOST_SHOWN], *([f"… {len(known) - MOST_SHOWN:,} more"] if len(known) > MOST_SHOWN else [])]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}? Annotators" if near else "annotators"
    return UsageError(f"model {name!r} is neither an annotator nor a file; {hint}: {', '.join(shown)}")


def _findings(
    name: str, people: polars.DataFrame, runs: Sequence[polars.DataFrame], humans: Agreement, margin: float
) -> ModelFindings:
    tables = {"": people} | {str(number): run for number, run in enumerate(runs)}
    codes, labels = coded(tables)
    given = [dict(zip(codes[key].item.tolist(), codes[key].label.tolist(), strict=True)) for key in list(tables)[1:]]
    similarity = similarity_of(humans, labels)
    return among_people(
        name, codes[""], given, weight_of(humans), labels, similarity=similarity, margin=margin, level=humans.spa.level
    )


def _caution_alone(
    name: str, people: polars.DataFrame, runs: Sequence[polars.DataFrame], humans: Agreement
) -> tuple[Caution, ...]:
    """Warn about labels that only the model gives, such as refusals to answer: they can agree with nobody.

    Variants of people's spelling have a warning of their own; other metrics than equality give credit to such labels.
    """
    if humans.measurement.metric.rule != NOMINAL:
        return ()
    known = {canonical(label) for label in people[LABEL].unique()}
    given = Counter(label for run in runs for label in run[LABEL] if canonical(label) not in known)
    if not given:
        return ()
    often = given.most_common(SHOWN_LABELS)
    shown = ", ".join(f"{label!r} ×{times:,}" for label, times in often)
    more = f" and {count(len(given) - SHOWN_LABELS, 'more label')}" if len(given) > SHOWN_LABELS else ""
    message = (
        f"{name} gave labels that no person gave, which count as disagreement: {shown}{more}. If they mean that it did "
        f"not answer, leave them out with --missing {often[0][0]!r}"
    )
    return (Caution("labels_of_model_only", message),)
