"""Data frames as tables: whatever the user's engine is, it stays the engine."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from spagree.errors import DataError, FileError
from spagree.late import nw
from spagree.read.annotations import ROW
from spagree.read.files.paths import File, stamps
from spagree.read.tables import Table, cell

SAMPLE_ROWS = 1_000


def is_frame(source: Any) -> bool:
    """Whether narwhals knows this frame; imports no frame library."""
    if isinstance(source, (nw.DataFrame, nw.LazyFrame)):
        return True
    if isinstance(source, (str, bytes, list, tuple, Path)):
        return False
    try:
        known = nw.from_native(source, pass_through=True)
    except nw.exceptions.DuplicateError:
        return True
    return isinstance(known, (nw.DataFrame, nw.LazyFrame))


def is_spark(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> bool:
    """Whether Spark holds the data, in this process or behind a Connect server."""
    return frame.implementation in (nw.Implementation.PYSPARK, nw.Implementation.PYSPARK_CONNECT)


def frame_table(source: Any, name: str | None = None) -> Table:
    """A table on the frame's own engine; only a few rows to show are collected."""
    frame = _wrapped(source)
    names = list(frame.collect_schema().names())
    keys = names
    if is_spark(frame):
        keys = [cell(p) for p in range(len(names))]  # by position: Spark reads dots and backticks in names
        frame = nw.from_native(frame.to_native().toDF(*keys))
    title = name or f"{frame.implementation.value} frame"
    is_polars = frame.implementation is nw.Implementation.POLARS
    is_ordered = isinstance(frame, nw.DataFrame) or is_polars
    sample = _sample(frame) if is_ordered else ()
    if isinstance(frame, nw.DataFrame) and not len(frame):
        raise DataError(f"{title}: has columns but no rows; check where it was filled")

    def load(positions: Sequence[int]) -> nw.LazyFrame[Any]:
        cells = frame.select(nw.col(keys[p]).alias(cell(p)) for p in positions)
        named = {cell(p): str(names[p]) for p in positions}
        _refuse_mixed(cells, named, title)
        _refuse_nul(cells, named, title)
        return _numbered(cells)

    return Table(title, tuple(str(n) for n in names), load, is_ordered=is_ordered, sample=sample)


def _refuse_mixed(cells: nw.DataFrame[Any] | nw.LazyFrame[Any], names: dict[str, str], title: str) -> None:
    """Refuse a column of Python objects (1 beside '1', in pandas): it has no order, and values may share a text."""
    for name, kind in cells.collect_schema().items():
        if kind == nw.Object:
            raise DataError(
                f"{title}: column {names[name]!r} holds values of different types; "
                "make it one type first, for example text: column.astype(str)"
            )


def _refuse_nul(cells: nw.DataFrame[Any] | nw.LazyFrame[Any], names: dict[str, str], title: str) -> None:
    """Refuse NUL characters: pandas treats texts that differ only after one as equal."""
    if not (cells.implementation.is_pandas_like() or cells.implementation.is_dask()):
        return
    native: Any = cells.to_native()
    for name, kind in cells.collect_schema().items():
        found = native[name].str.contains("\0", regex=False, na=False).any() if kind == nw.String else False
        if bool(found.compute() if hasattr(found, "compute") else found):
            raise DataError(f"{title}: column {names[name]!r} holds NUL characters; remove them first")


def _wrapped(source: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """The frame in narwhals; column names that are not text (numbers, in pandas) become text."""
    try:
        frame: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(nw.to_native(source, pass_through=True))
        if any(not isinstance(name, str) for name in frame.collect_schema().names()):
            frame = nw.from_native(nw.to_native(frame).rename(columns=str))
    except nw.exceptions.NarwhalsError as error:
        raise DataError(f"the frame cannot be used ({error}); give each column its own name") from error
    return frame


def _numbered(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """With the row number if rows have an order; polars drops it from plans that do not use it."""
    if frame.implementation is nw.Implementation.POLARS:
        native = frame.lazy().to_native()
        numbered: nw.LazyFrame[Any] = nw.from_native(native.with_row_index(ROW, offset=1))
        return numbered.with_columns(nw.col(ROW).cast(nw.Int64))
    if isinstance(frame, nw.DataFrame):
        return frame.with_row_index(ROW).with_columns(nw.col(ROW) + 1).lazy()
    return frame


def collected(frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
    """A few rows as Python values; for duckdb, narwhals would need pyarrow, which is not a dependency."""
    if frame.implementation is nw.Implementation.DUCKDB:
        return list(frame.to_native().fetchall())
    if is_spark(frame):
        return [tuple(row) for row in frame.to_native().collect()]
    return [tuple(row) for row in frame.collect().rows()]


def _sample(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> tuple[tuple[object, ...], ...]:
    top = frame.head(SAMPLE_ROWS)
    rows = top.collect() if isinstance(top, nw.LazyFrame) else top
    return tuple(rows.rows())


def arrow_table(files: Sequence[File], name: str) -> Table:
    """Arrow IPC (Feather) files, scanned by polars; read at once when they are temporary."""
    import polars

    scan = partial(polars.scan_ipc, glob=False, hive_partitioning=False)
    return _scanned(files, name, "Arrow", scan, polars.read_ipc)


def parquet_table(files: Sequence[File], name: str) -> Table:
    """Parquet files, scanned by polars; read at once when they are temporary."""
    import polars

    # Names are literal, not patterns, and folders called key=value are not columns.
    scan = partial(polars.scan_parquet, glob=False, hive_partitioning=False)
    return _scanned(files, name, "Parquet", scan, polars.read_parquet)


def _scanned(files: Sequence[File], name: str, kind: str, scan: Any, read: Any) -> Table:
    import polars

    watched = stamps(files)
    parts = [_opened(file, kind, scan, read) for file in files]
    names = parts[0].collect_schema().names()
    first = dict(parts[0].collect_schema())
    for file, part in zip(files, parts, strict=True):
        schema = dict(part.collect_schema())
        if schema != first:  # compared by name: the order of columns does not matter
            raise DataError(
                f"{file.name}: its columns {schema} differ from those of {files[0].name}: "
                f"{first}; files that are read together need the same columns"
            )
    whole = polars.concat([part.select(names) for part in parts])
    if not whole.select(polars.len()).collect().item():
        raise DataError(f"{name}: has columns but no data rows; check that the export finished")
    return replace(frame_table(whole, name), watched=watched)


def _opened(file: File, kind: str, scan: Any, read: Any) -> Any:
    """The file as a lazy frame whose columns are known."""
    import polars

    try:
        part = _part(file, scan, read)
        part.collect_schema()
    except (polars.exceptions.PolarsError, OSError) as error:
        raise FileError(
            f"{file.name}: not a readable {kind} file: truncated or damaged ({error}); copy or download it again"
        ) from error
    return part


def _part(file: File, scan: Any, read: Any) -> Any:
    return read(io.BytesIO(file.path.read_bytes())).lazy() if file.is_temporary else scan(file.path)
