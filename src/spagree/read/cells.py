"""The contents of cells: missing labels, one type per column, whole counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spagree.errors import SHOWN_PROBLEMS, DataError, count
from spagree.late import nw
from spagree.read.annotations import ANNOTATOR, COUNT, ITEM, LABEL, ROW, TIME
from spagree.read.frames import collected
from spagree.read.tables import EXACT, Table, cell, shown, wrong_cell
from spagree.understood import Caution


def with_missing(frame: nw.LazyFrame[Any], missing: Sequence[str]) -> nw.LazyFrame[Any]:
    """Null where a label, id or time is NaN, or a label is a text that means missing; refuses lists and records."""
    schema = frame.collect_schema()
    for role in (ITEM, ANNOTATOR, LABEL):
        if role in schema and schema[role].is_nested():
            raise DataError(
                f"the column of the {role} holds {schema[role]}, several values per cell; "
                "make each cell one text or number first"
            )
    changed = [
        nw.when(~nw.col(role).is_nan()).then(nw.col(role) + 0.0).alias(role)  # −0.0 + 0.0 is 0.0 on every engine
        for role in (ITEM, LABEL, ANNOTATOR, TIME)
        if role in schema and schema[role].is_float()
    ]
    cleaned = frame.with_columns(*changed) if changed else frame
    if not missing:
        return cleaned
    is_missing = as_text(LABEL, schema[LABEL]).is_in([str(text) for text in missing])
    return cleaned.with_columns(nw.when(~is_missing).then(nw.col(LABEL)).alias(LABEL))


def in_one_type(frame: nw.LazyFrame[Any], positions: Sequence[int]) -> tuple[nw.LazyFrame[Any], tuple[Caution, ...]]:
    """Columns to be stacked, in one type: numbers if all are numbers, otherwise text."""
    schema = frame.collect_schema()
    kinds = {schema[cell(p)] for p in positions}
    if len(kinds) == 1:
        return frame, ()
    if all(kind.is_numeric() for kind in kinds):
        wanted: Any = nw.Float64 if any(kind.is_float() for kind in kinds) else nw.Int64
        return frame.with_columns(nw.col(cell(p)).cast(wanted) for p in positions), ()
    names = ", ".join(sorted(map(str, kinds)))
    caution = Caution("mixed_types", f"the columns hold several types ({names}); their text was used as the label")
    return frame.with_columns(as_text(cell(p), schema[cell(p)]).alias(cell(p)) for p in positions), (caution,)


def as_text(name: str, kind: Any) -> nw.Expr:
    """A column as text; whole numbers without decimals, because pandas stores integers with gaps as floats."""
    column = nw.col(name)
    if not kind.is_float():
        return column.cast(nw.String)
    is_whole = (column == column.round(0)) & (column.abs() < EXACT)
    whole = nw.when(is_whole).then(column).otherwise(nw.lit(0.0)).cast(nw.Int64).cast(nw.String)
    return nw.when(is_whole).then(whole).otherwise(nw.when(~column.is_null()).then(column.cast(nw.String)))


def refuse_text_counts(frame: nw.LazyFrame[Any], table: Table, positions: Sequence[int]) -> None:
    """Refuse columns of a data frame whose type cannot hold counts."""
    schema = frame.collect_schema()
    wrong = [p for p in positions if not schema[cell(p)].is_numeric()]
    if wrong:
        names = [f"column {shown(table.columns[p])} holds {schema[cell(p)]}" for p in wrong]
        raise DataError(f"{table.name}: counts must be whole numbers; name the class columns with --label", names)


def whole_counts(frame: nw.LazyFrame[Any], table: Table) -> nw.LazyFrame[Any]:
    """Counts as integers; refuses a cell that is negative, fractional, empty or text, and says where it is."""
    wrong = _wrong_text(frame) if table.is_text else _wrong_numbers(frame)
    if wrong:
        problems = [wrong_cell(table.name, label, value, row) for label, value, *row in wrong[:SHOWN_PROBLEMS]]
        at_least = "at least " if len(wrong) > SHOWN_PROBLEMS else ""
        cells = count(len(problems), "cell is not a count", "cells are not counts")
        raise DataError(
            f"{table.name}: {at_least}{cells} (whole numbers from 0); correct the table, and write 0 if nobody chose "
            "the class (PivotTable Options in Excel: for empty cells show 0)",
            problems,
        )
    if table.is_text:
        whole = f"* REPLACE (CAST(CAST({COUNT} AS DOUBLE) AS BIGINT) AS {COUNT})"
        converted: nw.LazyFrame[Any] = nw.from_native(frame.to_native().project(whole))
        return converted
    return frame.with_columns(nw.col(COUNT).cast(nw.Int64))


def _wrong_text(frame: nw.LazyFrame[Any]) -> list[Any]:
    """In SQL: only there does a failed cast give null instead of an error."""
    value = f"try_cast({COUNT} AS DOUBLE)"
    wrong = frame.to_native().filter(
        f"{value} IS NULL OR NOT isfinite({value}) OR {value} < 0 OR {value} <> floor({value}) OR {value} > {EXACT}"
    )
    return list(wrong.project(f"{LABEL}, {COUNT}, {ROW}").order(ROW).limit(SHOWN_PROBLEMS + 1).fetchall())


def _wrong_numbers(frame: nw.LazyFrame[Any]) -> list[Any]:
    value, schema = nw.col(COUNT), frame.collect_schema()
    fault = value.is_null() | (value < 0) | (value > EXACT)
    if not schema[COUNT].is_integer():
        fault = fault | (value % 1 != 0)
    if schema[COUNT].is_float():
        fault = fault | value.is_nan()
    row = [ROW] if ROW in schema else []
    return collected(frame.filter(fault).select(LABEL, COUNT, *row).head(SHOWN_PROBLEMS + 1))
