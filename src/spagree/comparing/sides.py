"""Agreements → sides to compare: annotations in codes shared by all sides; or one source, before and after a moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree.agreement import Agreement
from spagree.errors import DataError, UsageError, count
from spagree.estimate import Bootstrap, find
from spagree.estimate.comparison import Figure, Limits, Side
from spagree.estimate.influence import AnnotationCodes, Weight, pairable
from spagree.estimate.label_counts import scale_of
from spagree.estimate.similarity import NOMINAL, Metric
from spagree.estimate.uncertainty import ITEMS
from spagree.grouping import Floats
from spagree.late import nw
from spagree.measuring import measure
from spagree.moments import unix_seconds
from spagree.read.annotations import ANNOTATOR, CLUSTER, COUNT, GROUP, ITEM, LABEL, TIME, is_missing
from spagree.tally.count import group_name
from spagree.tally.engines import column_names, row_count, rows, to_polars
from spagree.tally.items import ItemCounts

if TYPE_CHECKING:
    import polars


def estimating(options: Mapping[str, Any]) -> dict[str, Any]:
    """The estimation options, for annotations that are already read and cleaned."""
    return {name: options[name] for name in ("weights", "level", "metric", "order") if name in options}


def measured_part(frame: nw.LazyFrame[Any], options: Mapping[str, Any]) -> Agreement:
    """Measure annotations that are already read and cleaned, on their engine."""
    names = column_names(frame)
    if COUNT in names and CLUSTER in names:
        raise UsageError("--cluster: parts of a table of counts are compared item by item; leave it out")
    if COUNT in names:
        counts = to_polars(frame.select(ITEM, LABEL, COUNT))
        return measure(ItemCounts(counts, None, {}), **estimating(options))
    annotator, cluster, by = (name if name in names else None for name in (ANNOTATOR, CLUSTER, GROUP))
    return measure(
        frame.to_native(), item=ITEM, annotator=annotator, label=LABEL, cluster=cluster, by=by, **estimating(options)
    )


def group_part(agreement: Agreement, group: str, options: Mapping[str, Any]) -> Agreement:
    """The agreement of one group, from the annotations if available, otherwise from the tally."""
    frame = agreement.measurement.annotations
    if frame is None:
        return measure(agreement.measurement.tally.groups()[group], **estimating(options))
    values = [value for (value,) in rows(frame.select(GROUP).unique(subset=[GROUP]))]
    chosen = next(value for value in values if group_name(value) == group)
    is_member = nw.col(GROUP).is_null() if is_missing(chosen) else nw.col(GROUP) == nw.lit(chosen)
    return measured_part(frame.filter(is_member).drop(GROUP), options)


def on_one_scale(agreements: Mapping[str, Agreement]) -> dict[str, Agreement]:
    """The same agreements under a metric whose scale is that of all their labels together.

    A distance counts relative to the largest: a round in which nobody used the ends of the scale would otherwise seem
    to agree less than one in which somebody did.
    """
    metric = next(iter(agreements.values())).measurement.metric
    labels: dict[str, float] = {}
    for agreement in agreements.values():
        for label, size in scale_of(agreement.measurement.tally).items():
            labels[label] = labels.get(label, 0.0) + size
    return {name: rescaled(agreement, metric.over(labels)) for name, agreement in agreements.items()}


def rescaled(agreement: Agreement, metric: Metric) -> Agreement:
    """The agreement under another metric."""
    if metric == agreement.measurement.metric:
        return agreement
    measurement = replace(agreement.measurement, metric=metric, _frames={})
    drawn = {name: agreement.options[name] for name in ("bootstrap", "seed") if name in agreement.options}
    bootstrap = Bootstrap(drawn["bootstrap"], drawn.get("seed", 0)) if drawn.get("bootstrap") else None
    findings = find(measurement.tally, measurement.weights, measurement.level, bootstrap, metric)
    return replace(agreement, findings=replace(findings, warnings=agreement.warnings), measurement=measurement)


def halves(agreement: Agreement, before: Any, options: Mapping[str, Any]) -> dict[str, Agreement]:
    """The annotations made before a moment, and those made from then on."""
    frame = agreement.measurement.annotations
    if frame is None or TIME not in column_names(frame):
        raise UsageError("before needs the time of each annotation; name its column with --time")
    unknown = row_count(frame.filter(nw.col(TIME).is_null()))
    if unknown:
        raise DataError(
            f"before: {count(unknown, 'annotation has', 'annotations have')} no time; fill it in, or leave them out"
        )
    moment = _moment(before, frame.collect_schema()[TIME])
    parts = {}
    for name, chosen in ((f"before {before}", nw.col(TIME) < moment), (f"from {before}", nw.col(TIME) >= moment)):
        part = frame.filter(chosen).drop(TIME)
        if not row_count(part):
            raise DataError(f"no annotation was made {name}; check the date and the column of the time")
        parts[name] = measured_part(part, options)
    return parts


def _moment(before: Any, kind: Any) -> Any:
    """A date or a number in the units of the time column: seconds since 1970 if it holds numbers."""
    try:
        number = float(before)
    except (TypeError, ValueError):
        moment = _date(before)
        if kind.is_numeric():
            return unix_seconds(moment)
        return moment.date() if kind == nw.Date else moment
    if not kind.is_numeric():
        raise UsageError(f"before {before}: the times are dates; write one as 2024-05-01 or 2024-05-01T14:00") from None
    return number


def _date(before: Any) -> datetime:
    try:
        return datetime.fromisoformat(str(before))
    except ValueError:
        raise UsageError(f"before {before!r} is neither a date nor a number; write it as 2024-05-01") from None


MOST_AT_HOME = 50_000_000  # annotations; above this only tallies are compared


def sides_of(agreements: Mapping[str, Agreement]) -> list[Side]:
    """Every agreement with its name, ready to compare."""
    tables = {name: annotation_rows(agreement) for name, agreement in agreements.items()}
    codes, labels = coded({name: rows for name, rows in tables.items() if rows is not None})
    sides = []
    for name, agreement in agreements.items():
        classes = {row["class"]: _class_figure(row) for row in agreement.classes().rows(named=True)}
        annotations = None
        if name in codes:
            annotations = pairable(codes[name], weight_of(agreement), similarity_of(agreement, labels))
        sides.append(Side(name, agreement.spa, agreement.chance["spa_kappa"], classes, annotations, labels))
    return sides


def _class_figure(row: Mapping[str, Any]) -> Figure:
    limits = {} if row["low"] is None else {ITEMS: Limits(row["stderr"], row["low"], row["high"])}
    return Figure(row["agreement"], limits, None, row["undefined"])


def weight_of(agreement: Agreement) -> Weight:
    """The weight of an item by its number of annotations, relative to the largest."""
    by_n = agreement.measurement.by_n()
    table = np.zeros(max(by_n, default=1) + 1)
    for n, k in by_n.items():
        table[n] = float(k / max(by_n.values()))
    return lambda n: table[n]


def similarity_of(agreement: Agreement, labels: Sequence[str]) -> Floats | None:
    """How much any two labels agree under a metric; None if only equal labels agree."""
    metric = agreement.measurement.metric
    if metric.rule == NOMINAL:
        return None
    totals = np.array([agreement.data.labels.get(label, 0) for label in labels], dtype=np.float64)
    return metric.matrix(tuple(labels), totals)


def annotation_rows(agreement: Agreement) -> polars.DataFrame | None:
    """(item, annotator, label) as text, one row per annotation; None if only a tally is available."""
    measurement = agreement.measurement
    if measurement.items is None or measurement.tally.annotations > MOST_AT_HOME:
        return None
    frame = measurement.items.held.frame
    names = column_names(frame)
    return as_text(
        to_polars(frame.select([name for name in (ITEM, ANNOTATOR, LABEL, CLUSTER, COUNT) if name in names]))
    )


def as_text(rows: polars.DataFrame) -> polars.DataFrame:
    """Annotations as text, one row each; the annotator is null if unknown."""
    import polars

    columns = [_text(rows[name]) for name in (ITEM, ANNOTATOR, CLUSTER) if name in rows.columns]
    columns.append(rows[LABEL].cast(polars.String))
    texts = polars.DataFrame(columns)
    if ANNOTATOR not in rows.columns:
        texts = texts.with_columns(polars.lit(None, polars.String).alias(ANNOTATOR))
    if COUNT in rows.columns:
        texts = texts.with_columns(rows[COUNT].cast(polars.Int64))
        texts = texts.select(polars.exclude(COUNT).repeat_by(COUNT)).explode(texts.columns[:-1])
    return texts.select(ITEM, ANNOTATOR, LABEL, *([CLUSTER] if CLUSTER in texts.columns else []))


def _text(values: polars.Series) -> polars.Series:
    """Whole numbers without a decimal point, so 7 and 7.0 are the same item in every source."""
    import polars

    if values.dtype.is_float() and (values.drop_nulls() % 1 == 0).all():
        values = values.cast(polars.Int64)
    return values.cast(polars.String)


def coded(tables: Mapping[str, polars.DataFrame]) -> tuple[dict[str, AnnotationCodes], list[str]]:
    """Annotations of several sources in shared codes, and the labels."""
    import polars

    if not tables:
        return {}, []
    whole = polars.concat(tables.values())
    labels = whole[LABEL].unique().sort()
    codes = [
        (whole[name].rank("dense").cast(polars.Int64) - 1).fill_null(-1).to_numpy() for name in (ITEM, ANNOTATOR, LABEL)
    ]
    if CLUSTER in whole.columns:
        cluster = (whole[CLUSTER].rank("dense").cast(polars.Int64) - 1).fill_null(-1).to_numpy()
        codes.append(np.where(cluster < 0, -1 - codes[0], cluster))
    ends = np.cumsum([rows.height for rows in tables.values()])
    parts = zip(*(np.split(column, ends[:-1]) for column in codes), strict=True)
    return {name: AnnotationCodes(*part) for name, part in zip(tables, parts, strict=True)}, labels.to_list()
