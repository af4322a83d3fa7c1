"""What differs between engines when a small result comes home; everything else is narwhals."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw

if TYPE_CHECKING:
    import polars


def rows(frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
    """Run the query where the data lives and bring its few result rows home as Python values."""
    if frame.implementation is nw.Implementation.DUCKDB:
        # Narwhals would go through pyarrow, which is not one of our dependencies.
        return list(frame.to_native().fetchall())
    if frame.implementation is nw.Implementation.PYSPARK:
        return [tuple(row) for row in frame.to_native().collect()]
    return [tuple(map(_python, row)) for row in frame.collect().rows()]


def column_names(frame: nw.LazyFrame[Any]) -> list[str]:
    """What columns there are, without running anything."""
    return frame.collect_schema().names()


def to_polars(frame: nw.LazyFrame[Any]) -> polars.DataFrame:
    """Bring a long result home as a polars table; asked for by the user, never done on the way."""
    import polars

    native = frame.to_native()
    if isinstance(native, polars.LazyFrame):
        return native.collect()
    if frame.implementation is nw.Implementation.DUCKDB:
        return _through_parquet(native)
    return frame.collect().to_polars()


def _through_parquet(relation: Any) -> polars.DataFrame:
    import polars

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.parquet"
        relation.write_parquet(str(path))
        return polars.read_parquet(path, memory_map=False)


def _python(value: Any) -> Any:
    """Arrow, numpy and pandas scalars as plain Python; every spelling of "nothing" as None."""
    if hasattr(value, "as_py"):
        value = value.as_py()
    elif hasattr(value, "item"):
        value = value.item()
    return None if type(value).__name__ == "NAType" or value != value else value  # noqa: PLR0124 (NaN)
