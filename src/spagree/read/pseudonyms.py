"""Names for annotators that say nothing about them, the same in every run and for every source."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import narwhals as nw

from spagree.errors import UsageError
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, Annotations

DIGITS = 12
SPARK = (nw.Implementation.PYSPARK, nw.Implementation.PYSPARK_CONNECT)


def pseudonym(annotator: str, salt: str = "") -> str:
    """The pseudonym of an annotator; who does not know the salt cannot find it out by trying names.

    >>> pseudonym("ann@example.com"), pseudonym("ann@example.com", salt="s3cret")
    ('annotator-71d4f55f72fa', 'annotator-b44048fba288')
    """
    return "annotator-" + hashlib.sha256((salt + annotator).encode()).hexdigest()[:DIGITS]


def pseudonymised(annotations: Annotations, salt: str) -> Annotations:
    """The same annotations by the same annotators under other names."""
    if not annotations.has_annotators:
        return annotations
    frame = annotations.frame
    names = frame.collect_schema().names()
    if frame.implementation is nw.Implementation.DUCKDB:
        quoted = "'" + salt.replace("'", "''") + "'"
        hashed = f"'annotator-' || left(sha256({quoted} || CAST({ANNOTATOR} AS VARCHAR)), {DIGITS})"
        changed: nw.LazyFrame[Any] = nw.from_native(frame.to_native().project(f"* REPLACE ({hashed} AS {ANNOTATOR})"))
    elif frame.implementation in SPARK:
        changed = _hashed_by_spark(frame, salt)
    else:
        changed = _replaced(frame, salt)
    return replace(annotations, frame=changed.select(names), understood=_unnamed(annotations, salt))


def _hashed_by_spark(frame: nw.LazyFrame[Any], salt: str) -> nw.LazyFrame[Any]:
    """By the executors; no name comes home."""
    from pyspark.sql import functions as sql

    kind = frame.collect_schema()[ANNOTATOR]
    if not (kind in (nw.String, nw.Boolean) or kind.is_integer()):
        raise UsageError(
            f"--pseudonymise: the annotators are of type {kind}, which Spark writes as text in its own way, so that "
            "pseudonyms would differ from those of other sources; make them text, or use --engine duckdb"
        )
    text = sql.concat(sql.lit(salt), sql.col(ANNOTATOR).cast("string"))
    name = sql.concat(sql.lit("annotator-"), sql.substring(sql.sha2(text, 256), 1, DIGITS))
    changed: nw.LazyFrame[Any] = nw.from_native(frame.to_native().withColumn(ANNOTATOR, name))
    return changed


def _replaced(frame: nw.LazyFrame[Any], salt: str) -> nw.LazyFrame[Any]:
    """On engines that cannot hash: the names are collected, then replaced."""
    text = frame.with_columns(nw.col(ANNOTATOR).cast(nw.String))
    found = text.select(ANNOTATOR).unique().filter(~nw.col(ANNOTATOR).is_null()).collect(backend="polars")
    known = {name: pseudonym(name, salt) for name in found[ANNOTATOR].to_list()}
    if not known:
        return frame
    try:
        return text.with_columns(nw.col(ANNOTATOR).replace_strict({**known, None: None}, return_dtype=nw.String))
    except (NotImplementedError, AttributeError, ValueError) as error:
        engine = frame.implementation.value
        raise UsageError(
            f"--pseudonymise: {engine} cannot replace names; use polars, pandas or Spark, or a file"
        ) from error


def _unnamed(annotations: Annotations, salt: str) -> Any:
    """The examples in what was understood, without names."""
    roles = [role for role in (ITEM, ANNOTATOR, LABEL) if role in annotations.understood.columns]
    if roles == [ITEM, ANNOTATOR, LABEL]:
        examples = tuple(_unnamed_row(row, salt) for row in annotations.understood.examples)
        return replace(annotations.understood, examples=examples)
    wide = ANNOTATOR in roles  # the names of the columns are the annotators
    columns = {**annotations.understood.columns, ANNOTATOR: "pseudonyms"} if wide else annotations.understood.columns
    return replace(annotations.understood, columns=columns)


def _unnamed_row(row: Iterable[str], salt: str) -> tuple[str, ...]:
    item, annotator, *rest = row
    return (item, pseudonym(annotator, salt) if annotator else "", *rest)
