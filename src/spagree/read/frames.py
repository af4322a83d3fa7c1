"""Data frames as tables: whatever the user's engine is, it stays the engine."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from spagree.errors import DataError, FileError
from spagree.messages import shown
from spagree.read.annotations import ROW, nw
from spagree.read.files.paths import ARROW_STREAM, File, head, stamps
from spagree.read.table import SAMPLE_ROWS, Table, cell


def is_frame(source: Any) -> bool:
    """Whether narwhals knows this frame; imports no frame library."""
    if isinstance(source, (nw.DataFrame, nw.LazyFrame)):
        return True
    if isinstance(source, (str, bytes, list, tuple, Path)):
        return False
    try:
        wrapped = nw.from_native(source, pass_through=True)
    except nw.exceptions.DuplicateError:
        return True
    return isinstance(wrapped, (nw.DataFrame, nw.LazyFrame))


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
