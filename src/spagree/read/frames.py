"""Data in memory as tables: frames, whose engine stays the engine, triples, and matrices."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from spagree.errors import SHOWN_PROBLEMS, DataError, FileError, UsageError, Warning, count, opt, shown
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, ROW, TIME, nw
from spagree.read.files.paths import ARROW_STREAM, File, head, stamps
from spagree.read.table import SAMPLE_ROWS, Table, cell

COLUMNS = (ITEM, ANNOTATOR, LABEL, TIME)  # of triples, and of quadruples
MATRIX_DIMENSIONS = 2
MOST_FIRST = 10  # annotators who may be in the place of items
FEWEST_ROWS = 5  # of labels that are mistaken for triples


def is_frame(source: Any) -> bool:
    """Whether narwhals knows this frame; imports no frame library."""
    if isinstance(source, (nw.DataFrame, nw.LazyFrame)):
        return True
    if isinstance(source, (str, bytes, list, tuple, Path)):
        return False
    with suppress(nw.exceptions.DuplicateError):
        return isinstance(nw.from_native(source, pass_through=True), (nw.DataFrame, nw.LazyFrame))
    return True


def is_spark(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> bool:
    """Whether Spark holds the data, in this process or behind a Connect server."""
    return frame.implementation in (nw.Implementation.PYSPARK, nw.Implementation.PYSPARK_CONNECT)


def frame_table(source: Any, name: str | None = None) -> Table:
    """A table on the frame's own engine; only a few rows to show are collected."""
    try:
        frame: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(nw.to_native(source, pass_through=True))
        names = list(frame.collect_schema().names())
        if any(isinstance(column, tuple) for column in names):
            first = shown(", ".join(map(str, names[0])))
            raise DataError(
                f"the columns of the frame have several levels, such as {first}; give each column one name: "
                'frame.columns = ["_".join(map(str, name)) for name in frame.columns]'
            )
        if any(not isinstance(column, str) for column in names):  # numbers, in pandas
            frame = nw.from_native(nw.to_native(frame).rename(columns=str))
            names = list(frame.collect_schema().names())
    except nw.exceptions.NarwhalsError as error:
        raise DataError(f"the frame cannot be used ({error}); give each column its own name") from error
    keys = names
    if is_spark(frame):
        keys = [cell(p) for p in range(len(names))]  # by position: Spark reads dots and backticks in names
        frame = nw.from_native(frame.to_native().toDF(*keys))
    title = name or f"{frame.implementation.value} frame"
    is_ordered = isinstance(frame, nw.DataFrame) or frame.implementation is nw.Implementation.POLARS
    sample = tuple(frame.head(SAMPLE_ROWS).lazy().collect().rows()) if is_ordered else ()
    if nw.Object in frame.collect_schema().values():  # arrays of numpy, which are no lists to Python
        sample = tuple(tuple(value.tolist() if has_values(value) else value for value in row) for row in sample)
    if isinstance(frame, nw.DataFrame) and not len(frame):
        raise DataError(f"{title}: has columns but no rows; check the code that fills it")

    def load(positions: Sequence[int]) -> nw.LazyFrame[Any]:
        cells = frame.select(nw.col(keys[p]).alias(cell(p)) for p in positions)
        _refuse_unusable(cells, {cell(p): f"{title}: column {shown(names[p])}" for p in positions})
        if cells.implementation is nw.Implementation.POLARS:  # which drops the number from plans that do not use it
            numbered: nw.LazyFrame[Any] = nw.from_native(cells.lazy().to_native().with_row_index(ROW, offset=1))
            return numbered.with_columns(nw.col(ROW).cast(nw.Int64))
        if isinstance(cells, nw.DataFrame):
            return cells.with_row_index(ROW).with_columns(nw.col(ROW) + 1).lazy()
        return cells

    is_whole = is_ordered and len(sample) < SAMPLE_ROWS
    return Table(title, tuple(names), load, is_ordered=is_ordered, sample=sample, is_whole=is_whole)


def has_values(value: object) -> bool:
    """Whether it is an array of numpy."""
    return type(value).__module__ == "numpy" and bool(getattr(value, "ndim", 0))


def _refuse_unusable(cells: nw.DataFrame[Any] | nw.LazyFrame[Any], titles: dict[str, str]) -> None:
    """Refuse columns of Python objects (1 beside '1', in pandas), which have no order, and NUL characters in pandas.

    Values of different types may share a text, and pandas treats texts that differ only after a NUL as equal.
    """
    is_pandas = cells.implementation.is_pandas_like() or cells.implementation.is_dask()
    native: Any = cells.to_native()
    for name, kind in cells.collect_schema().items():
        if kind == nw.Object and not all(
            value is None or isinstance(value, list | tuple | dict) or has_values(value) for value in native[name]
        ):
            raise DataError(
                f"{titles[name]} holds values of different types; "
                "make it one type first, for example text: column.astype(str)"
            )
        if is_pandas and kind == nw.String:
            has_nul = native[name].str.contains("\0", regex=False, na=False).any()
            if bool(has_nul.compute() if hasattr(has_nul, "compute") else has_nul):
                raise DataError(f"{titles[name]} holds NUL characters; remove them first")


def size(frame: nw.LazyFrame[Any]) -> int:
    """How many rows there are."""
    return int(collected(frame.select(nw.len().alias("size")))[0][0])


def where(frame: nw.LazyFrame[Any], condition: nw.Expr, sql: str) -> nw.LazyFrame[Any]:
    """Some of the rows; for duckdb by ``sql``, because it imports pandas for a constant in an expression."""
    if frame.implementation is nw.Implementation.DUCKDB:
        native: Any = frame.to_native()
        return cast("nw.LazyFrame[Any]", nw.from_native(native.filter(sql)))
    return frame.filter(condition)


def collected(frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
    """A few rows as Python values; for duckdb, narwhals would need pyarrow, which is not a dependency."""
    if frame.implementation is nw.Implementation.DUCKDB:
        return list(frame.to_native().fetchall())
    if is_spark(frame):
        return [tuple(row) for row in frame.to_native().collect()]
    return [tuple(row) for row in frame.collect().rows()]


def scanned_table(files: Sequence[File], name: str) -> Table:
    """Parquet or Arrow IPC (Feather) files, scanned by polars; read at once when they are temporary."""
    import polars

    from spagree.read.files.duckdb import refuse_other_types

    watched = stamps(files)
    is_parquet = files[0].kind == "parquet"
    scan, read = (polars.scan_parquet, polars.read_parquet) if is_parquet else (polars.scan_ipc, polars.read_ipc)
    parts: list[polars.LazyFrame] = []
    schemas: list[list[tuple[str, str]]] = []
    for file in files:
        try:
            if head(file, len(ARROW_STREAM)) == ARROW_STREAM:  # as the datasets library writes it
                part = polars.read_ipc_stream(file.path).lazy()
            elif file.is_temporary:
                part = read(io.BytesIO(file.path.read_bytes())).lazy()
            else:  # names are literal, not patterns, and folders called key=value are not columns
                part = scan(file.path, glob=False, hive_partitioning=False)
            schemas.append([(column, str(kind)) for column, kind in part.collect_schema().items()])
        except (polars.exceptions.PolarsError, OSError) as error:
            kind = "Parquet" if is_parquet else "Arrow"
            raise FileError(
                f"{file.name}: not a readable {kind} file: truncated or damaged ({error}); copy or download it again"
            ) from error
        refuse_other_types(schemas[-1], schemas[0], file.name, files[0].name)
        parts.append(part.select(column for column, _ in schemas[0]))
    whole = polars.concat(parts)
    if not whole.select(polars.len()).collect().item():
        raise DataError(f"{name}: has columns but no data rows; check that the export finished")
    return replace(frame_table(whole, name), watched=watched)


# Plain Python data ----------------------------------------------------------------------------


def triples_table(source: Iterable[Any]) -> Table:
    """Triples (item, annotator, label), or quadruples with a time, as a table in polars."""
    import polars

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
    """The values in one type: their own if they share it, otherwise text that keeps them distinct.

    If values of two types have the same text, the type's name is added.
    """
    plain = [*map(_plain, values)]
    present = {type(value) for value in plain} - {type(None)}
    is_whole = present in ({int}, {bool}) and all(value is None or -(2**63) <= value < 2**63 for value in plain)
    if present <= {str} or is_whole:
        return plain
    try:
        distinct = dict.fromkeys((type(value), value) for value in plain if value is not None)
    except TypeError as error:
        raise DataError(f"a label or id cannot be compared ({error}); convert it to a string first") from None
    owners: dict[str, set[type]] = {}
    for kind, value in distinct:
        owners.setdefault(str(value), set()).add(kind)
    texts = {
        (kind, value): str(value) if kind is str or len(owners[str(value)]) == 1 else f"{value} ({kind.__name__})"
        for kind, value in distinct
    }
    if len(set(texts.values())) < len(texts):
        raise DataError("values of different types have the same text; convert them to strings first")
    if len(present) > 1:
        kinds = ", ".join(sorted(kind.__name__ for kind in present))
        message = f"the {name} values have several types ({kinds}); 1, '1' and True stay distinct"
        warnings.append(Warning("mixed_types", message))
    return [None if value is None else texts[type(value), value] for value in plain]


def matrix_table(source: Any, format: str, labels: Sequence[str]) -> Table | None:
    """A numpy matrix of counts (items × classes) or of labels; columns are called 0, 1, … unless named.

    A list of rows is one, too, if a matrix was asked for; None for anything else, which does not import numpy.
    """
    matrix = source
    is_asked = format in ("wide", "transposed", "counts") and isinstance(source, (list, tuple)) and source
    if is_asked and all(_is_row(row) and len(row) == len(source[0]) for row in source):
        import numpy as np

        plain = [[_plain(value) for value in row] for row in source]
        numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for row in plain for value in row)
        matrix = np.array(plain) if numbers else np.array(plain, dtype=object)
    if not type(matrix).__module__.startswith("numpy") or not hasattr(matrix, "ndim"):
        return None
    import polars

    if format == "auto":
        raise UsageError(
            f"a numpy matrix may hold counts or labels; say which: {opt.format('counts')} (items × classes), "
            f"{opt.format('wide')} (labels, items × annotators) or {opt.format('transposed')} (labels, annotators × "
            "items); rows of item, annotator and label: array.tolist()"
        )
    holds_counts = format == "counts"
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
    table = frame_table(frame, "count matrix" if holds_counts else "matrix")
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
