"""Plain Python data: triples of (item, annotator, label), and matrices of counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import narwhals as nw
import polars

from spagree.errors import SHOWN_PROBLEMS, DataError, UsageError, count
from spagree.messages import Warning, opt
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, TIME
from spagree.read.frames import frame_table
from spagree.read.request import Request
from spagree.read.table import SAMPLE_ROWS, Table, shown

COLUMNS = (ITEM, ANNOTATOR, LABEL, TIME)
MATRIX_DIMENSIONS = 2
MOST_FIRST = 10  # annotators who may be in the place of items
FEWEST_ROWS = 5  # of labels that are mistaken for triples


def triples_table(source: Iterable[Any]) -> Table:
    """Triples (item, annotator, label), or quadruples with a time, as a table in polars."""
    rows = _checked(source)
    warnings: list[Warning] = []
    series = []
    for position, name in enumerate(COLUMNS[: len(rows[0])]):
        values = [row[position] for row in rows]
        if name != TIME:
            series.append(polars.Series(name, _one_type(values, name, warnings), strict=True))
            continue
        try:
            times = polars.Series(TIME, values, strict=True)
            series.append(times.str.to_datetime() if times.dtype == polars.String else times)
        except (TypeError, polars.exceptions.PolarsError) as error:
            raise DataError(
                f"the times cannot be used ({error}); use numbers, or datetimes, or ISO 8601 texts throughout"
            ) from None
    frame = polars.DataFrame(series)
    items, annotators = frame[ITEM].n_unique(), frame[ANNOTATOR].n_unique()
    if items <= MOST_FIRST and annotators > 2 * items and len(frame) > 2 * annotators:
        message = (
            f"{count(items, 'item')} and {annotators:,} annotators: if the triples are (annotator, item, label), as "
            "for nltk, put the item first"
        )
        warnings.append(Warning("annotator_first", message))
    return replace(frame_table(frame, "triples"), is_positional=True, warnings=tuple(warnings))


def _checked(source: Iterable[Any]) -> list[Sequence[Any]]:
    """The rows, if all have three values or all have four."""
    rows: list[Any] = list(source)
    first = rows[:SAMPLE_ROWS]
    if len(first) >= FEWEST_ROWS and all(_is_row(row) and len(row) == len(COLUMNS) - 1 for row in first):
        with suppress(TypeError):  # a value that cannot be compared, which is refused later
            items, annotators, labels = map(set, zip(*first, strict=True))
            repeats = len(first) - len({tuple(row[:2]) for row in first})
            if repeats and len(labels) > 1 and items | annotators <= labels:
                raise DataError(
                    "the same values are items, annotators and labels, so each row seems to hold the labels of one "
                    'item; pass numpy.array(rows), with format="wide"'
                )
    if not rows:
        raise DataError("no annotations: the source is empty; give triples (item, annotator, label)")
    width = len(rows[0]) if _is_row(rows[0]) else 0
    wrong = [i for i, row in enumerate(rows, 1) if not _is_row(row) or len(row) != width or width not in (3, 4)]
    if wrong:
        remedy = ""
        if isinstance(rows[0], dict):
            remedy = "; rows with names belong in a data frame, such as pandas.DataFrame(rows)"
        elif hasattr(source, "reset_index"):
            remedy = "; a Series with its index is a frame: series.reset_index()"
        elif _is_row(rows[0]):
            remedy = '; labels of an item in each row: numpy.array(rows), with format="wide"'
        problems = [f"row {i}: {shown(repr(rows[i - 1]))}" for i in wrong[:SHOWN_PROBLEMS]]
        raise DataError(
            f"{count(len(wrong), 'row is', 'rows are')} not (item, annotator, label) or (item, annotator, label, "
            f"time); every row needs three values, or every row four{remedy}",
            problems,
            len(wrong),
        )
    return rows


def _is_row(row: Any) -> bool:
    return isinstance(row, Sequence) and not isinstance(row, (str, bytes))


def _plain(value: Any) -> Any:
    """A value as Python has it: None for NaN, NaT and NA, and no scalars of numpy, whose 1 is another type's 1."""
    kind = type(value)
    if value is None or kind.__name__ in ("NAType", "NaTType") or (isinstance(value, float) and math.isnan(value)):
        return None
    return value.item() if kind.__module__ == "numpy" and hasattr(value, "item") else value


def _one_type(values: Sequence[Any], name: str, warnings: list[Warning]) -> list[Any]:
    """The values in one type: their own if they share it, otherwise text that keeps them distinct."""
    plain = [*map(_plain, values)]
    present = {type(value) for value in plain} - {type(None)}
    is_whole = present in ({int}, {bool}) and all(value is None or -(2**63) <= value < 2**63 for value in plain)
    if present <= {str} or is_whole:
        return plain
    texts = _distinct_texts(plain)
    if len(present) > 1:
        kinds = ", ".join(sorted(kind.__name__ for kind in present))
        message = f"the {name} values have several types ({kinds}); 1, '1' and True stay distinct"
        warnings.append(Warning("mixed_types", message))
    return [None if value is None else texts[type(value), value] for value in plain]


def _distinct_texts(values: Sequence[Any]) -> dict[tuple[type, Any], str]:
    """A text for each value; if values of two types have the same text, the type's name is added."""
    owners: dict[str, set[type]] = {}
    try:
        distinct = dict.fromkeys((type(value), value) for value in values if value is not None)
    except TypeError as error:
        raise DataError(f"a label or id cannot be compared ({error}); convert it to a string first") from None
    for kind, value in distinct:
        owners.setdefault(str(value), set()).add(kind)
    texts = {
        (kind, value): str(value) if kind is str or len(owners[str(value)]) == 1 else f"{value} ({kind.__name__})"
        for kind, value in distinct
    }
    if len(set(texts.values())) < len(texts):
        raise DataError("values of different types have the same text; convert them to strings first")
    return texts


def is_matrix(source: Any) -> bool:
    """Whether the source is a numpy array; does not import numpy."""
    return type(source).__module__.startswith("numpy") and hasattr(source, "ndim")


def as_matrix(source: Any, request: Request) -> Any:
    """A list of rows as a matrix, if a matrix was asked for; anything else unchanged."""
    if request.format not in ("wide", "transposed", "counts") or not isinstance(source, (list, tuple)) or not source:
        return source
    import numpy as np

    if not all(_is_row(row) and len(row) == len(source[0]) for row in source):
        return source
    plain = [[_plain(value) for value in row] for row in source]
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for row in plain for value in row)
    return np.array(plain) if numbers else np.array(plain, dtype=object)


def matrix_table(matrix: Any, request: Request) -> Table:
    """A numpy matrix of counts (items × classes) or of labels; columns are called 0, 1, … unless named."""
    if request.format == "auto":
        raise UsageError(
            f"a numpy matrix may hold counts or labels; say which: {opt.format('counts')} (items × classes), "
            f"{opt.format('wide')} (labels, items × annotators) or {opt.format('transposed')} (labels, annotators × "
            "items); rows of item, annotator and label: array.tolist()"
        )
    holds_counts, labels = request.format == "counts", request.names(LABEL)
    if matrix.ndim != MATRIX_DIMENSIONS:
        raise DataError(f"the array has {matrix.ndim} dimensions, shape {matrix.shape}; a matrix has two")
    if 0 in matrix.shape or matrix.dtype.kind not in ("iuf" if holds_counts else "iufbUO"):
        kind = "count matrix" if holds_counts else "matrix of labels"
        cells = "whole numbers, one row per item and one column per class" if holds_counts else "numbers or texts"
        raise DataError(f"the array of shape {matrix.shape} and type {matrix.dtype} is not a {kind}; give {cells}")
    if labels and len(labels) != matrix.shape[1]:
        raise UsageError(f"label names {len(labels)} columns, but the matrix has {matrix.shape[1]} columns")
    names = labels or [str(i) for i in range(matrix.shape[1])]
    columns = [matrix[:, i] for i in range(len(names))]
    is_object = matrix.dtype.kind == "O"
    if is_object:
        plain = [[_plain(value) for value in values] for values in columns]
        columns = [[None if value is None else str(value) for value in values] for values in plain]
    typed = zip(names, columns, strict=True)
    frame = polars.DataFrame([polars.Series(n, values, polars.String if is_object else None) for n, values in typed])
    table = frame_table(nw.from_native(frame), "count matrix" if holds_counts else "matrix")
    warnings: tuple[Warning, ...] = ()
    if holds_counts and matrix.shape[0] < matrix.shape[1]:
        by_row, by_column = matrix.sum(axis=1), matrix.sum(axis=0)
        if (by_column == by_column[0]).all() and not (by_row == by_row[0]).all():  # with as many annotations per item
            message = (
                "the matrix looks transposed (its columns have equal sums, its rows do not, and it is wider than "
                "long): rows must be items and columns classes; if they are not, pass matrix.T"
            )
            warnings = (Warning("transposed", message),)
    return replace(table, warnings=warnings)
