"""A model among people: who is which, and the labels of each run of the model."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spagree.agreement import Agreement
from spagree.comparing.parts import estimating
from spagree.comparing.sides import annotation_rows, as_text, coded, similarity_of, weight_of
from spagree.errors import ColumnError, DataError, UsageError
from spagree.estimate.models import ModelFindings, among_people
from spagree.measuring import measure
from spagree.read import read
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL
from spagree.tally.engines import column_names, to_polars

if TYPE_CHECKING:
    import polars

MOST_SHOWN = 20


def compare_models(
    source: Any, model: str | Sequence[str] | Mapping[str, Any], margin: float, options: Mapping[str, Any]
) -> dict[str, ModelFindings]:
    """Separate models from people, and compare each model with the people."""
    import polars

    if not 0 <= margin < 1:
        raise UsageError(f"margin {margin}: how much less agreement still counts as good, for example 0.05")
    whole = annotation_rows(measure(source, **options))
    if whole is None:
        raise UsageError("model: a tally does not say who gave which label; compare the annotations themselves")
    asked = _asked(model)
    known = whole[ANNOTATOR].drop_nulls().unique().sort().to_list()
    runs = {name: _runs(name, given, whole, known, options) for name, given in asked.items()}
    machines = [annotator for name, given in asked.items() if given is None for annotator in _matching(name, known)]
    people = whole.filter(polars.col(ANNOTATOR).is_null() | ~polars.col(ANNOTATOR).is_in(machines))
    has_people = people[ANNOTATOR].null_count() < people.height
    columns = [ITEM, ANNOTATOR, LABEL] if has_people else [ITEM, LABEL]
    humans = measure(
        people.select(columns),
        item=ITEM,
        annotator=ANNOTATOR if has_people else None,
        label=LABEL,
        **estimating(options),
    )
    return {name: _findings(name, people, said, humans, margin) for name, said in runs.items()}


def _findings(
    name: str, people: polars.DataFrame, runs: Sequence[polars.DataFrame], humans: Agreement, margin: float
) -> ModelFindings:
    tables = {"": people} | {str(number): run for number, run in enumerate(runs)}
    codes, labels = coded(tables)
    said = [dict(zip(codes[key].item.tolist(), codes[key].label.tolist(), strict=True)) for key in list(tables)[1:]]
    similarity = similarity_of(humans, labels)
    return among_people(
        name, codes[""], said, weight_of(humans), labels, similarity=similarity, margin=margin, level=humans.spa.level
    )


def _asked(model: str | Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Models by name, with the source of their labels; None for annotators in the data."""
    if isinstance(model, Mapping):
        return dict(model)
    names = [model] if isinstance(model, str) else list(model)
    return dict.fromkeys(names)


def _matching(name: str, known: Sequence[str]) -> list[str]:
    """The annotators with this name; with *, the runs of one model."""
    return [name] if name in known else [each for each in known if fnmatchcase(each, name)]


def _runs(
    name: str, source: Any, whole: polars.DataFrame, known: Sequence[str], options: Mapping[str, Any]
) -> list[polars.DataFrame]:
    """The labels of a model, one table per run."""
    import polars

    if source is None:
        runs = [whole.filter(polars.col(ANNOTATOR) == each) for each in _matching(name, known)]
        if runs:
            return runs
        if not Path(name).exists():
            raise _unknown_model(name, known)
        source = name
    rows = as_text(to_polars(_labels_of(source, options)))
    rows = rows.filter(polars.col(ITEM).is_not_null() & polars.col(LABEL).is_not_null())
    if rows[ANNOTATOR].null_count():
        occurrence = polars.col(LABEL).cum_count().over(ITEM).cast(polars.String)
        rows = rows.with_columns(occurrence.alias(ANNOTATOR))
    elif rows.select(polars.struct(ITEM, ANNOTATOR).is_duplicated().any()).item():
        raise DataError(f"model {name}: one run labels an item twice; give each run a different name")
    return [part for _, part in sorted(rows.partition_by(ANNOTATOR, as_dict=True).items())]


def _labels_of(source: Any, options: Mapping[str, Any]) -> Any:
    """A model's table: its columns are named like the people's, or have names that can be guessed."""
    columns = {name: options[name] for name in ("item", "label") if options.get(name) is not None}
    try:
        frame = read(source, **columns).frame
    except ColumnError:
        frame = read(source).frame
    names = column_names(frame)
    return frame.select([name for name in (ITEM, ANNOTATOR, LABEL) if name in names])


def _unknown_model(name: str, known: Sequence[str]) -> UsageError:
    if not known:
        return UsageError(f"model {name!r}: the source does not say who annotated; name the column with --annotator")
    shown = [*known[:MOST_SHOWN], *([f"… {len(known) - MOST_SHOWN:,} more"] if len(known) > MOST_SHOWN else [])]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" did you mean {near[0]!r}?" if near else ""
    return UsageError(f"model {name!r} is neither an annotator nor a file;{hint} Annotators: {', '.join(shown)}")
