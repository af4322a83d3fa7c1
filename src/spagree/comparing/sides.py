"""Agreements → sides to compare: annotations in codes shared by all sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree.agreement import Agreement
from spagree.estimate.comparison import Figure, Limits, Side
from spagree.estimate.influence import AnnotationCodes, Weight, pairable
from spagree.estimate.similarity import NOMINAL
from spagree.estimate.uncertainty import ITEMS
from spagree.read.annotations import ANNOTATOR, CLUSTER, COUNT, ITEM, LABEL
from spagree.tally.engines import column_names, to_polars

if TYPE_CHECKING:
    import polars

    from spagree.estimate.grouping import Ints
    from spagree.estimate.item_groups import Floats

MOST_AT_HOME = 50_000_000  # annotations; above this only tallies are compared


def sides_of(agreements: Mapping[str, Agreement]) -> list[Side]:
    """Every agreement with its name, ready to compare."""
    tables = {name: annotation_rows(agreement) for name, agreement in agreements.items()}
    codes, labels = coded({name: rows for name, rows in tables.items() if rows is not None})
    return [_side(name, agreement, codes.get(name), labels) for name, agreement in agreements.items()]


def _side(name: str, agreement: Agreement, codes: AnnotationCodes | None, labels: Sequence[str]) -> Side:
    classes = {row["class"]: _class_figure(row) for row in agreement.classes().rows(named=True)}
    found = None
    if codes is not None:
        found = pairable(codes, weight_of(agreement), similarity_of(agreement, labels))
    return Side(name, agreement.spa, agreement.chance["spa_kappa"], classes, found, labels)


def _class_figure(row: Mapping[str, Any]) -> Figure:
    limits = {} if row["low"] is None else {ITEMS: Limits(row["stderr"], row["low"], row["high"])}
    return Figure(row["agreement"], limits, None, row["undefined"])


def weight_of(agreement: Agreement) -> Weight:
    """The weight of an item by its number of annotations, relative to the largest."""
    by_n = agreement.measurement.by_n()
    table = np.zeros(max(by_n, default=1) + 1)
    for n, k in by_n.items():
        table[n] = float(k / max(by_n.values()))

    def weight(n: Ints) -> Floats:
        return np.asarray(table[n])

    return weight


def similarity_of(agreement: Agreement, labels: Sequence[str]) -> Floats | None:
    """How much any two labels agree under a metric; None if only equal labels agree."""
    metric = agreement.measurement.metric
    if metric.rule == NOMINAL:
        return None
    totals = np.array([agreement.data.labels.get(label, 0) for label in labels], dtype=np.float64)
    return metric.matrix(tuple(labels), totals)


def annotation_rows(agreement: Agreement) -> polars.DataFrame | None:
    """(item, annotator, label) as text, one row per annotation; None if only a tally is available."""
    behind = agreement.measurement
    frame = behind.counts if behind.annotations is None else behind.annotations
    if frame is None or behind.tally.annotations > MOST_AT_HOME:
        return None
    names = column_names(frame)
    return as_text(
        to_polars(frame.select([name for name in (ITEM, ANNOTATOR, LABEL, CLUSTER, COUNT) if name in names]))
    )


def as_text(rows: polars.DataFrame) -> polars.DataFrame:
    """Annotations as text, one row each; the annotator is null if unknown."""
    import polars

    columns = [_text(rows[name]) for name in (ITEM, ANNOTATOR, CLUSTER) if name in rows.columns]
    columns.append(rows[LABEL].cast(polars.String))
    found = polars.DataFrame(columns)
    if ANNOTATOR not in rows.columns:
        found = found.with_columns(polars.lit(None, polars.String).alias(ANNOTATOR))
    if COUNT in rows.columns:
        found = found.with_columns(rows[COUNT].cast(polars.Int64))
        found = found.select(polars.exclude(COUNT).repeat_by(COUNT)).explode(found.columns[:-1])
    return found.select(ITEM, ANNOTATOR, LABEL, *([CLUSTER] if CLUSTER in found.columns else []))


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
