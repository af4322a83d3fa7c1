"""compare(): measure several data sets, or people and a model, and say which agree more."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from spagree.agreement import Agreement
from spagree.comparing.sides import (
    annotation_rows,
    as_text,
    coded,
    estimating,
    group_part,
    halves,
    sides_of,
    similarity_of,
    weight_of,
)
from spagree.errors import ColumnError, DataError, UsageError, unknown_name
from spagree.estimate.comparison import Compared, Difference, Pair, compare_sides, holm
from spagree.estimate.models import MARGIN, ModelFindings, among_people
from spagree.estimate.similarity import SET_METRICS
from spagree.estimate.uncertainty import ITEMS, POPULATIONS
from spagree.late import nw
from spagree.measuring import measure
from spagree.present.comparison_words import Shown, comparison_chart, comparison_document, comparison_summary, sentence
from spagree.present.model_words import model_sentence, models_chart, models_document, models_summary
from spagree.read import read
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL
from spagree.tally.engines import column_names, to_polars
from spagree.tally.set_labels import split_labels
from spagree.tally.spelling import canonical, caution_variants
from spagree.understood import Caution

if TYPE_CHECKING:
    import polars
    from rich.console import Group

MOST_SHOWN = 20


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
    known = whole[ANNOTATOR].drop_nulls().unique().sort().to_list()
    runs = {name: _runs(name, given, whole, known, options) for name, given in asked.items()}
    machines = [annotator for name, given in asked.items() if given is None for annotator in _matching(name, known)]
    people = whole.filter(polars.col(ANNOTATOR).is_null() | ~polars.col(ANNOTATOR).is_in(machines))
    if people.is_empty():
        raise DataError(f"--model {', '.join(asked)}: everybody in the source is a model; add the labels of people")
    has_people = people[ANNOTATOR].null_count() < people.height
    columns = [ITEM, ANNOTATOR, LABEL] if has_people else [ITEM, LABEL]
    humans = measure(
        people.select(columns),
        item=ITEM,
        annotator=ANNOTATOR if has_people else None,
        label=LABEL,
        **estimating(options),
    )
    labels = {label for rows in (people, *(run for each in runs.values() for run in each)) for label in rows[LABEL]}
    said = [each for each in measured.noticed if each.code != "label_variants"]
    found = {name: _findings(name, people, given, humans, margin) for name, given in runs.items()}
    return ModelComparison(found, (*said, *caution_variants(labels)))


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
    rows = _cleaned(rows.filter(polars.col(ITEM).is_not_null() & polars.col(LABEL).is_not_null()), options)
    if rows[ANNOTATOR].null_count():
        occurrence = polars.col(LABEL).cum_count().over(ITEM).cast(polars.String)
        rows = rows.with_columns(occurrence.alias(ANNOTATOR))
    elif rows.select(polars.struct(ITEM, ANNOTATOR).is_duplicated().any()).item():
        raise DataError(f"model {name}: one run labels an item twice; give each run a different name")
    return [part for _, part in sorted(rows.partition_by(ANNOTATOR, as_dict=True).items())]


def _labels_of(source: Any, options: Mapping[str, Any]) -> Any:
    """A model's table: its columns are named like the people's, or have names that can be guessed."""
    columns = {name: options[name] for name in ("item", "label") if options.get(name) is not None}
    missing = {"missing": options["missing"]} if options.get("missing") else {}
    try:
        frame = read(source, **columns, **missing).frame
    except ColumnError:
        frame = read(source, **missing).frame
    names = column_names(frame)
    return frame.select([name for name in (ITEM, ANNOTATOR, LABEL) if name in names])


def _cleaned(rows: polars.DataFrame, options: Mapping[str, Any]) -> polars.DataFrame:
    """A model's labels and items, spelled as those of the people."""
    import polars

    if options.get("normalize"):
        rows = rows.with_columns(polars.all().map_elements(canonical, return_dtype=polars.String))
    if options.get("separator") is not None or options.get("metric") in SET_METRICS:
        labels = dict(rows[LABEL].value_counts().iter_rows())
        with suppress(DataError):  # a model that never chose two options
            rows = to_polars(split_labels(nw.from_native(rows.lazy()), labels, options.get("separator"))[0])
    return rows


def _unknown_model(name: str, known: Sequence[str]) -> UsageError:
    if not known:
        return UsageError(
            f"model {name!r}: the annotators of the source are unknown; name their column with --annotator"
        )
    shown = [*known[:MOST_SHOWN], *([f"… {len(known) - MOST_SHOWN:,} more"] if len(known) > MOST_SHOWN else [])]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}? Annotators" if near else "annotators"
    return UsageError(f"model {name!r} is neither an annotator nor a file; {hint}: {', '.join(shown)}")


@dataclass(frozen=True, repr=False)
class Comparison(Compared, Shown):
    """Two or more data sets compared; made by :func:`compare`.

    >>> import spagree
    >>> before = [(1, "ann", "yes"), (1, "bob", "no"), (2, "ann", "no"), (2, "bob", "no")]
    >>> after = [(1, "ann", "yes"), (1, "bob", "yes"), (2, "ann", "no"), (2, "bob", "no")]
    >>> found = spagree.compare(before, after, names=("before", "after"))
    >>> found.difference.value, found.shared_items, found.verdict
    (0.5, 2, 'cannot_tell')
    """

    groups: Mapping[str, Comparison] = field(default_factory=dict)
    """With ``by``, the same comparison within each group that all sources have; Holm's correction covers all groups."""
    not_compared: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Groups that some sources lack, and the names of those that have them."""
    agreements: Mapping[str, Agreement] = field(default_factory=dict)

    @property
    def warnings(self) -> tuple[Caution, ...]:
        """What was noticed while reading and counting, with the name of the data set."""
        return tuple(
            replace(each, message=f"{name}: {each.message.removeprefix(f'{name}: ')}")
            for name, agreement in self.agreements.items()
            for each in agreement.noticed
        )

    @property
    def difference(self) -> Difference:
        """SPA of the second minus SPA of the first."""
        return self.pairs[0].difference

    @property
    def kappa_difference(self) -> Difference:
        """The same beyond chance."""
        return self.pairs[0].kappa_difference

    @property
    def shared_items(self) -> int | None:
        """Pairable items that the first two have in common; None if only tallies are known."""
        return self.pairs[0].shared_items

    @property
    def verdict(self) -> str:
        """Whether the second agrees more than the first: agrees_more, agrees_less or cannot_tell."""
        return self.pairs[0].verdict

    def against_first(self) -> tuple[Pair, ...]:
        """Every other data set minus the first."""
        return tuple(pair for pair in self.pairs if pair.a is self.sides[0])

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values, in full precision."""
        return comparison_document(self)

    def summary(self) -> Group:
        """What a terminal shows."""
        return comparison_summary(self)

    def sentences(self) -> list[str]:
        """One conclusion per pair of data sets."""
        return [sentence(pair) for pair in self.pairs]

    def chart(self) -> Any:
        """Every data set with its interval; below, the differences with theirs."""
        return comparison_chart(self)


@dataclass(frozen=True, repr=False)
class ModelComparison(Shown):
    """One or more models among people; made by :func:`compare` with ``model``.

    >>> labels = [(item, who, "yes" if item % 2 else "no") for item in range(20) for who in ("ann", "bob", "gpt")]
    >>> found = compare(labels, model="gpt", margin=0.05).models["gpt"]
    >>> found.items, found.humans_count
    (20, 2)
    """

    models: Mapping[str, ModelFindings]
    warnings: tuple[Caution, ...] = ()
    """What was noticed while reading and counting, and labels that models and people write differently."""

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values, in full precision."""
        return models_document(self.models)

    def summary(self) -> Group:
        """What a terminal shows."""
        return models_summary(self.models)

    def sentences(self) -> list[str]:
        """One conclusion per model."""
        return [model_sentence(each) for each in self.models.values()]

    def chart(self) -> Any:
        """People with each other and with each model; below, the differences with the margin."""
        return models_chart(self.models)


@overload
def compare(
    *sources: Any,
    names: Sequence[str] | None = None,
    before: Any = None,
    model: None = None,
    interval_for: str = ITEMS,
    **options: Any,
) -> Comparison: ...


@overload
def compare(
    *sources: Any, model: str | Sequence[str] | Mapping[str, Any], margin: float = MARGIN, **options: Any
) -> ModelComparison: ...


def compare(
    *sources: Any,
    names: Sequence[str] | None = None,
    before: Any = None,
    model: str | Sequence[str] | Mapping[str, Any] | None = None,
    margin: float = MARGIN,
    interval_for: str = ITEMS,
    **options: Any,
) -> Comparison | ModelComparison:
    """Compare the agreement of two or more sources, or of a model with people.

    ``options`` are those of :func:`measure` and apply to every source. ``before`` splits one source in two by time.
    ``model`` names annotators of the one source that are models (``*`` matches the runs of one), or maps
    the name of a model to a source with its labels, ``item, label``.

    >>> import spagree
    >>> rows = [(1, "ann", "yes"), (1, "bob", "yes"), (1, "gpt", "yes"), (2, "ann", "no"), (2, "bob", "yes")]
    >>> rows += [(2, "gpt", "no"), (3, "bob", "no"), (3, "ann", "no"), (3, "gpt", "no")]
    >>> found = spagree.compare(rows, model="gpt").models["gpt"]
    >>> round(found.difference.value, 3), found.items, found.verdict
    (0.167, 3, 'cannot_tell')
    """
    if interval_for not in POPULATIONS:
        raise unknown_name("population", str(interval_for), POPULATIONS)
    if model is not None:
        if len(sources) != 1 or before is not None or names is not None:
            raise UsageError("model: give one source, and neither names nor before")
        return compare_models(sources[0], model, margin, options)
    if before is not None:
        if len(sources) != 1:
            raise UsageError("before: give the one source to be split by time")
        return _with_groups(halves(measure(sources[0], **options), before, options), options, interval_for)
    if len(sources) in (0, 1):
        raise UsageError("compare: give two sources or more, one source with before, or one source with model")
    named = names_of(sources) if names is None else list(names)
    if len(named) != len(sources) or len(set(named)) != len(named):
        raise UsageError(f"names {named!r}: give each of the {len(sources)} sources a different name")
    measured = {name: measure(source, **options) for name, source in zip(named, sources, strict=True)}
    return _with_groups(measured, options, interval_for)


def _with_groups(agreements: Mapping[str, Agreement], options: Mapping[str, Any], interval_for: str) -> Comparison:
    """The comparison and, with ``by``, the same within each group all sources have; Holm covers all groups."""
    whole = compared(agreements, interval_for)
    if options.get("by") is None:
        return whole
    has = {name: each.measurement.tally.groups() for name, each in agreements.items()}
    where = {group: [name for name in has if group in has[name]] for each in has.values() for group in each}
    shared = [group for group, names in where.items() if len(names) == len(has)]
    if not shared:
        raise DataError(f"--by {options['by']}: the sources have no group in common; compare them without it")
    found = {
        group: compared({name: group_part(each, group, options) for name, each in agreements.items()}, interval_for)
        for group in shared
    }
    adjusted = iter(holm([pair.difference.p for each in found.values() for pair in each.pairs]))
    groups = {
        group: replace(each, pairs=tuple(replace(pair, p_holm=next(adjusted)) for pair in each.pairs))
        for group, each in found.items()
    }
    return replace(whole, groups=groups, not_compared={group: where[group] for group in where if group not in shared})


def compared(agreements: Mapping[str, Agreement], interval_for: str = ITEMS) -> Comparison:
    """Compare agreements that are already measured."""
    sides = sides_of(agreements)
    level = next(iter(agreements.values())).spa.level
    pairs = compare_sides(sides, level, interval_for)
    return Comparison(tuple(sides), pairs, agreements=dict(agreements))


def names_of(sources: Sequence[Any]) -> list[str]:
    """Names for sources: the shortest distinct file names; A, B, C for others.

    >>> names_of(["a/round.csv", "b/round.csv", [("q1", "ann", "yes")]])
    ['a/round.csv', 'b/round.csv', 'C']
    """
    paths = [os.fspath(each) if isinstance(each, str | os.PathLike) else None for each in sources]
    short = [None if path is None else Path(path).name for path in paths]
    chosen = [name if short.count(name) == 1 else path for name, path in zip(short, paths, strict=True)]
    letters = [name or chr(ord("A") + place) for place, name in enumerate(chosen)]
    twice = len(set(letters)) < len(letters)
    return [f"{place + 1}: {name}" for place, name in enumerate(letters)] if twice else letters
