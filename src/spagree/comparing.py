"""compare(): measure several data sets, or people and a model, and say which agree more."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import narwhals as nw
import numpy as np

from spagree.agreement import Agreement, measure
from spagree.errors import ColumnError, DataError, UsageError, unknown_name
from spagree.estimate.comparison import ITEMS, POPULATIONS, Difference, Figure, Limits, Pair, Side, compare_sides
from spagree.estimate.influence import Coded, Weight, pairable
from spagree.estimate.models import MARGIN, ModelFindings, among_people
from spagree.estimate.similarity import NOMINAL
from spagree.present.comparison import ShownComparison
from spagree.present.models import ShownModels
from spagree.read import read
from spagree.read.annotations import ANNOTATOR, COUNT, ITEM, LABEL, TIME
from spagree.tally.engines import column_names, rows, to_polars
from spagree.tally.items import ItemCounts

if TYPE_CHECKING:
    import polars

    from spagree.estimate.grouping import Ints
    from spagree.estimate.item_groups import Floats

MOST_SHOWN = 20
MOST_AT_HOME = 50_000_000  # annotations; more are compared by their tallies alone


@dataclass(frozen=True, repr=False)
class Comparison(ShownComparison):
    """Two or more data sets compared; made by :func:`compare`.

    >>> import spagree
    >>> before = [(1, "ann", "yes"), (1, "bob", "no"), (2, "ann", "no"), (2, "bob", "no")]
    >>> after = [(1, "ann", "yes"), (1, "bob", "yes"), (2, "ann", "no"), (2, "bob", "no")]
    >>> found = spagree.compare(before, after, names=("before", "after"))
    >>> found.difference.value, found.shared_items, found.verdict
    (0.5, 2, 'cannot_tell')
    """

    sides: tuple[Side, ...]
    pairs: tuple[Pair, ...]
    agreements: Mapping[str, Agreement]

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
        """Pairable items that the first two have in common; None where a tally does not say."""
        return self.pairs[0].shared_items

    @property
    def verdict(self) -> str:
        """Whether the second agrees more than the first: agrees_more, agrees_less or cannot_tell."""
        return self.pairs[0].verdict

    def against_first(self) -> tuple[Pair, ...]:
        """Every other data set minus the first."""
        return tuple(pair for pair in self.pairs if pair.a is self.sides[0])


@dataclass(frozen=True, repr=False)
class ModelComparison(ShownModels):
    """One or more models among people; made by :func:`compare` with ``model``."""

    models: Mapping[str, ModelFindings]


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
    """Compare the agreement of two or more sources, or that of a model with people.

    ``options`` are those of :func:`measure` and hold for every source. ``before`` splits one source in two by time.
    ``model`` names annotators of the one source that are models (``*`` stands for the runs of one), or maps
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
        return _among_people(sources[0], model, margin, options)
    if before is not None:
        if len(sources) != 1:
            raise UsageError("before: give the one source to be split by time")
        return compared(_halves(measure(sources[0], **options), before, options), interval_for)
    if len(sources) in (0, 1):
        raise UsageError("compare: give two sources or more, one source with before, or one source with model")
    named = names_of(sources) if names is None else list(names)
    if len(named) != len(sources) or len(set(named)) != len(named):
        raise UsageError(f"names {named!r}: give each of the {len(sources)} sources a name of its own")
    measured = {name: measure(source, **options) for name, source in zip(named, sources, strict=True)}
    return compared(measured, interval_for)


def compared(agreements: Mapping[str, Agreement], interval_for: str = ITEMS) -> Comparison:
    """Compare what was measured already."""
    tables = {name: annotation_rows(agreement) for name, agreement in agreements.items()}
    known = {name: rows for name, rows in tables.items() if rows is not None}
    codes, labels = coded(known)
    sides = [_side(name, agreement, codes.get(name), labels) for name, agreement in agreements.items()]
    level = next(iter(agreements.values())).spa.level
    pairs = compare_sides(sides, level, interval_for)
    return Comparison(tuple(sides), pairs, dict(agreements))


def names_of(sources: Sequence[Any]) -> list[str]:
    """What sources are called: files by their name, as short as tells them apart; others A, B, C.

    >>> names_of(["a/round.csv", "b/round.csv", [("q1", "ann", "yes")]])
    ['a/round.csv', 'b/round.csv', 'C']
    """
    paths = [os.fspath(each) if isinstance(each, str | os.PathLike) else None for each in sources]
    short = [None if path is None else Path(path).name for path in paths]
    chosen = [name if short.count(name) == 1 else path for name, path in zip(short, paths, strict=True)]
    letters = [name or chr(ord("A") + place) for place, name in enumerate(chosen)]
    twice = len(set(letters)) < len(letters)
    return [f"{place + 1}: {name}" for place, name in enumerate(letters)] if twice else letters


def _side(name: str, agreement: Agreement, codes: Coded | None, labels: Sequence[str]) -> Side:
    classes = {row["class"]: _class_figure(row) for row in agreement.classes().rows(named=True)}
    found = None
    if codes is not None:
        found = pairable(codes, weight_of(agreement), _similarity(agreement, labels))
    return Side(name, agreement.spa, agreement.chance["spa_kappa"], classes, found, labels)


def _class_figure(row: Mapping[str, Any]) -> Figure:
    limits = {} if row["low"] is None else {ITEMS: Limits(row["stderr"], row["low"], row["high"])}
    return Figure(row["agreement"], limits, None, row["undefined"])


def weight_of(agreement: Agreement) -> Weight:
    """The weight of an item by its number of annotations, relative to the largest."""
    by_n = agreement._evidence().by_n()
    table = np.zeros(max(by_n, default=1) + 1)
    for n, k in by_n.items():
        table[n] = float(k / max(by_n.values()))

    def weight(n: Ints) -> Floats:
        return np.asarray(table[n])

    return weight


def _similarity(agreement: Agreement, labels: Sequence[str]) -> Floats | None:
    """How much any two of all labels agree, where equal ones are not the only ones that do."""
    metric = agreement._evidence().metric
    if metric.rule == NOMINAL:
        return None
    totals = np.array([agreement.data.labels.get(label, 0) for label in labels], dtype=np.float64)
    return metric.matrix(tuple(labels), totals)


def annotation_rows(agreement: Agreement) -> polars.DataFrame | None:
    """(item, annotator, label) as text, one row per annotation; None where only a tally is left."""
    behind = agreement._evidence()
    frame = behind.counts if behind.annotations is None else behind.annotations
    if frame is None or behind.tally.annotations > MOST_AT_HOME:
        return None
    names = column_names(frame)
    return _as_text(to_polars(frame.select([name for name in (ITEM, ANNOTATOR, LABEL, COUNT) if name in names])))


def _as_text(rows: polars.DataFrame) -> polars.DataFrame:
    import polars

    columns = [_text(rows[name]) for name in (ITEM, ANNOTATOR) if name in rows.columns]
    columns.append(rows[LABEL].cast(polars.String))
    found = polars.DataFrame(columns)
    if ANNOTATOR not in rows.columns:
        found = found.with_columns(polars.lit(None, polars.String).alias(ANNOTATOR))
    if COUNT in rows.columns:
        found = found.with_columns(rows[COUNT].cast(polars.Int64))
        found = found.select(polars.exclude(COUNT).repeat_by(COUNT)).explode(found.columns[:-1])
    return found.select(ITEM, ANNOTATOR, LABEL)


def _text(values: polars.Series) -> polars.Series:
    """Whole numbers without a decimal point, so that 7 and 7.0 are the same item whoever wrote them."""
    import polars

    if values.dtype.is_float() and (values.drop_nulls() % 1 == 0).all():
        values = values.cast(polars.Int64)
    return values.cast(polars.String)


def coded(tables: Mapping[str, polars.DataFrame]) -> tuple[dict[str, Coded], list[str]]:
    """Annotations of several sources in codes that mean the same in all of them, and the labels."""
    import polars

    if not tables:
        return {}, []
    whole = polars.concat(tables.values())
    labels = whole[LABEL].unique().sort()
    codes = [
        (whole[name].rank("dense").cast(polars.Int64) - 1).fill_null(-1).to_numpy() for name in (ITEM, ANNOTATOR, LABEL)
    ]
    ends = np.cumsum([rows.height for rows in tables.values()])
    parts = zip(*(np.split(column, ends[:-1]) for column in codes), strict=True)
    return {name: Coded(*part) for name, part in zip(tables, parts, strict=True)}, labels.to_list()


# Parts of one source -------------------------------------------------------------------------


def _estimating(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are about estimates, for annotations that were read and cleaned already."""
    return {name: options[name] for name in ("weights", "level", "metric", "order") if name in options}


def measured_part(frame: nw.LazyFrame[Any], options: Mapping[str, Any]) -> Agreement:
    """Measure annotations that were read and cleaned already, where they are."""
    names = column_names(frame)
    if COUNT in names:
        counts = to_polars(frame.select(ITEM, LABEL, COUNT))
        return measure(ItemCounts(counts, None, {}), **_estimating(options))
    annotator = ANNOTATOR if ANNOTATOR in names else None
    return measure(frame.to_native(), item=ITEM, annotator=annotator, label=LABEL, **_estimating(options))


def _halves(agreement: Agreement, before: Any, options: Mapping[str, Any]) -> dict[str, Agreement]:
    """The annotations made before a moment, and those made from then on."""
    frame = agreement._evidence().annotations
    if frame is None or TIME not in column_names(frame):
        raise UsageError("before needs the time of each annotation; name its column with --time (time=)")
    unknown = int(rows(frame.filter(nw.col(TIME).is_null()).select(nw.len()))[0][0])
    if unknown:
        raise DataError(f"before: {unknown:,} annotations have no time; fill it in, or leave them out")
    moment = _moment(before, frame.collect_schema()[TIME])
    parts = {f"before {before}": nw.col(TIME) < moment, f"from {before}": nw.col(TIME) >= moment}
    return {name: _some(frame, chosen, name, options) for name, chosen in parts.items()}


def _some(frame: nw.LazyFrame[Any], chosen: nw.Expr, name: str, options: Mapping[str, Any]) -> Agreement:
    part = frame.filter(chosen).drop(TIME)
    if not int(rows(part.select(nw.len()))[0][0]):
        raise DataError(f"no annotation was made {name}; check the date and the column of the time")
    return measured_part(part, options)


def _moment(before: Any, kind: Any) -> Any:
    """A date or a number in the terms of the time column: seconds since 1970 where it holds numbers."""
    try:
        number = float(before)
    except (TypeError, ValueError):
        moment = _date(before)
        if kind.is_numeric():
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        return moment.date() if kind == nw.Date else moment
    if not kind.is_numeric():
        raise UsageError(f"before {before}: the times are dates; write one as 2024-05-01 or 2024-05-01T14:00") from None
    return number


def _date(before: Any) -> datetime:
    try:
        return datetime.fromisoformat(str(before))
    except ValueError:
        raise UsageError(f"before {before!r} is neither a date nor a number; write it as 2024-05-01") from None


# Models --------------------------------------------------------------------------------------


def _among_people(
    source: Any, model: str | Sequence[str] | Mapping[str, Any], margin: float, options: Mapping[str, Any]
) -> ModelComparison:
    """Split what models said from what people said, and compare each model with the people."""
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
        **_estimating(options),
    )
    return ModelComparison(
        {name: _findings(name, people, said, humans, margin) for name, said in runs.items()},
    )


def _findings(
    name: str, people: polars.DataFrame, runs: Sequence[polars.DataFrame], humans: Agreement, margin: float
) -> ModelFindings:
    tables = {"": people} | {str(number): run for number, run in enumerate(runs)}
    codes, labels = coded(tables)
    said = [dict(zip(codes[key].item.tolist(), codes[key].label.tolist(), strict=True)) for key in list(tables)[1:]]
    similarity = _similarity(humans, labels)
    return among_people(
        name, codes[""], said, weight_of(humans), labels, similarity=similarity, margin=margin, level=humans.spa.level
    )


def _asked(model: str | Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Models by name, with the source of their labels; None where they are annotators of the data."""
    if isinstance(model, Mapping):
        return dict(model)
    names = [model] if isinstance(model, str) else list(model)
    return dict.fromkeys(names)


def _matching(name: str, known: Sequence[str]) -> list[str]:
    """The annotators called so; with * the runs of one model."""
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
    rows = _as_text(to_polars(_labels_of(source, options)))
    rows = rows.filter(polars.col(ITEM).is_not_null() & polars.col(LABEL).is_not_null())
    if rows[ANNOTATOR].null_count():
        occurrence = polars.col(LABEL).cum_count().over(ITEM).cast(polars.String)
        rows = rows.with_columns(occurrence.alias(ANNOTATOR))
    elif rows.select(polars.struct(ITEM, ANNOTATOR).is_duplicated().any()).item():
        raise DataError(f"model {name}: one run labels an item twice; give each run a name of its own")
    return [part for _, part in sorted(rows.partition_by(ANNOTATOR, as_dict=True).items())]


def _labels_of(source: Any, options: Mapping[str, Any]) -> Any:
    """The table of a model: its columns have the names of those of the people, or names that can be guessed."""
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
