"""What differs between engines when a small result comes home; everything else is narwhals."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import narwhals as nw

from spagree.errors import FileError
from spagree.write import refuse_existing, write_atomically

if TYPE_CHECKING:
    import polars


def rows(frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
    """Run the query where the data lives and bring its few result rows home as Python values."""
    with explained_faults(frame):
        if frame.implementation is nw.Implementation.DUCKDB:
            # Narwhals would go through pyarrow, which is not one of our dependencies.
            return list(frame.to_native().fetchall())
        if is_spark(frame):
            return [tuple(row) for row in frame.to_native().collect()]
        if frame.implementation is nw.Implementation.POLARS:
            return list(frame.to_native().collect(engine="streaming").rows())
        return [tuple(map(_python, row)) for row in frame.collect().rows()]


@contextmanager
def explained_faults(frame: nw.LazyFrame[Any]) -> Iterator[None]:
    """A fault of the engine itself: no memory, a full disk, a lost worker, a file that vanished or is damaged."""
    try:
        yield
    except Exception as error:
        library = type(error).__module__.partition(".")[0].lstrip("_")
        if library not in ("duckdb", "polars", "pyspark", "py4j"):
            raise
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        engine = frame.implementation.value
        raise FileError(
            f"{engine} could not finish counting ({reason}); check the files, and that disk and memory are free"
        ) from error


def is_spark(frame: nw.LazyFrame[Any]) -> bool:
    """Whether Spark holds the data, in this process or behind a Connect server."""
    return frame.implementation in (nw.Implementation.PYSPARK, nw.Implementation.PYSPARK_CONNECT)


def surely_unique(frame: nw.LazyFrame[Any], *keys: str) -> bool:
    """Whether no two rows share their keys, as far as 64-bit hashes prove it; False decides nothing.

    Equal keys have equal hashes: as many hashes as rows means as many keys. Hashes are half the work and a third of
    the memory of the keys themselves, and on a cluster 8 bytes a row to send; a chance collision (1 in 3,000 at 10⁸
    rows) only costs the longer way.
    """
    with explained_faults(frame):
        found = _rows_and_hashes(frame, keys)
    return found is not None and found[0] == found[1]


def _rows_and_hashes(frame: nw.LazyFrame[Any], keys: Sequence[str]) -> tuple[int, int] | None:
    """How many rows there are, and how many different hashes; None on engines without hashes."""
    native = frame.to_native()
    if frame.implementation is nw.Implementation.DUCKDB:
        names = ", ".join(keys)
        counted: tuple[int, int] = native.aggregate(f"count(*), count(DISTINCT hash({names}))").fetchall()[0]
        return counted
    if frame.implementation is nw.Implementation.POLARS:
        import polars

        hashes = native.select(hash=polars.struct(*keys).hash()).group_by("hash").agg(rows=polars.len())
        sums = hashes.select(polars.col("rows").sum(), hashes=polars.len())
        return cast("tuple[int, int]", sums.collect(engine="streaming").row(0))
    if is_spark(frame):
        from pyspark.sql import functions as sql

        sums = native.select(sql.count("*"), sql.count_distinct(sql.xxhash64(*keys)))
        return cast("tuple[int, int]", tuple(sums.collect()[0]))
    return None


def column_names(frame: nw.LazyFrame[Any]) -> list[str]:
    """What columns there are, without running anything."""
    return frame.collect_schema().names()


def to_polars(frame: nw.LazyFrame[Any]) -> polars.DataFrame:
    """Bring a long result home as a polars table; asked for by the user, never done on the way."""
    import polars

    native = frame.to_native()
    with explained_faults(frame):
        if isinstance(native, polars.LazyFrame):
            return native.collect(engine="streaming")
        if frame.implementation is nw.Implementation.DUCKDB:
            return _through_parquet(native)
        return frame.collect().to_polars()


def write_parquet(frame: nw.LazyFrame[Any], path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Let the engine write a long result; Spark and dask write a folder, to any place that they know."""
    with explained_faults(frame):
        if is_spark(frame):
            frame.to_native().write.parquet(str(path), mode="overwrite" if force else "errorifexists")
        elif frame.implementation is nw.Implementation.DASK:
            refuse_existing(path, force=force)
            frame.to_native().to_parquet(str(path), write_index=False, overwrite=force)
        elif frame.implementation.is_pandas_like():  # whose index is the order before sorting
            write_atomically(path, nw.maybe_reset_index(frame.collect()).write_parquet, force=force)
        else:
            write_atomically(path, frame.sink_parquet, force=force)


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
