"""What differs between engines when a small result comes home; everything else is narwhals."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import narwhals as nw

from spagree.errors import FileError, UsageError
from spagree.read.annotations import ITEM, LABEL
from spagree.read.frames import is_spark
from spagree.write import refuse_existing, write_atomically

if TYPE_CHECKING:
    import polars

PARQUET = (".parquet", ".pq")
ROWS_LOOKED_AT = 300_000  # for spellings of items
MOST_CASES, CASES_AT_ONCE = 1_000, 20
_numbers = count()  # of views in duckdb, which need names
# Where faults of an engine come from; pyo3_runtime: a panic in polars, which is no Exception.
FAULTY = ("duckdb", "polars", "narwhals", "pyarrow", "pyspark", "py4j", "pyo3_runtime")
MOST_HASHES_AT_HOME = 100_000_000  # 0.8 GB, and as much again while they are fetched


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
    except BaseException as error:
        library = type(error).__module__.partition(".")[0].lstrip("_")
        if library not in FAULTY:
            raise
        from spagree.read.spark.session import is_interruption, reason

        if is_interruption(error):
            raise KeyboardInterrupt from error
        engine = frame.implementation.value
        raise FileError(
            f"{engine} could not finish counting ({reason(error)}); check the files, and that disk and memory are free"
        ) from error


def surely_unique(frame: nw.LazyFrame[Any], keys: Sequence[str], rows: int) -> bool:
    """Whether none of about so many rows share their keys, as far as 64-bit hashes prove it; False decides nothing.

    Equal keys have equal hashes: as many hashes as rows means as many keys. Hashes are less than half the work and
    the memory of the keys themselves, and on a cluster 8 bytes a row to send; a chance collision (1 in 3,000 at 10⁸
    rows) only costs the longer way.
    """
    with explained_faults(frame):
        native = frame.to_native()
        if frame.implementation is nw.Implementation.DUCKDB:
            return _differ_in_duckdb(native, keys, rows)
        if frame.implementation is nw.Implementation.POLARS:
            return _differ_in_polars(native, keys)
        return is_spark(frame) and _differ_in_spark(native, keys)


def _differ_in_duckdb(native: Any, keys: Sequence[str], rows: int) -> bool:
    """Sorted here while they are few enough: twice as fast as duckdb's own hash table."""
    hashed = native.project(f"hash({', '.join(keys)}) AS hash")
    if rows > MOST_HASHES_AT_HOME:
        total, distinct = hashed.aggregate("count(*), count(DISTINCT hash)").fetchall()[0]
        return bool(total == distinct)
    hashes = hashed.fetchnumpy()["hash"]
    hashes.sort()
    return not (hashes[1:] == hashes[:-1]).any()


def _differ_in_polars(native: Any, keys: Sequence[str]) -> bool:
    import polars

    hashes = native.select(hash=polars.struct(*keys).hash()).group_by("hash").agg(rows=polars.len())
    return bool(hashes.select((polars.col("rows") == 1).all()).collect(engine="streaming").item())


def _differ_in_spark(native: Any, keys: Sequence[str]) -> bool:
    from pyspark.sql import functions as sql

    total, distinct = native.select(sql.count("*"), sql.count_distinct(sql.xxhash64(*keys))).collect()[0]
    return bool(total == distinct)


def replaced(frame: nw.LazyFrame[Any], column: str, changes: Mapping[str, str]) -> nw.LazyFrame[Any]:
    """A column with some of its texts changed."""
    if not changes:
        return frame
    if frame.implementation is nw.Implementation.POLARS:
        import polars

        native: Any = frame.to_native().with_columns(polars.col(column).replace(dict(changes)))
        return cast("nw.LazyFrame[Any]", nw.from_native(native))
    if frame.implementation is nw.Implementation.DUCKDB:
        return _replaced_in_duckdb(frame.to_native(), column, changes)
    if len(changes) > MOST_CASES:
        engine = frame.implementation.value
        raise UsageError(f"{len(changes):,} texts would change, too many for {engine}; clean them before")
    # In steps: engines limit how deep a chain of cases may be.
    found = frame.with_columns(nw.col(column).alias("spelled"))
    pairs = list(changes.items())
    for start in range(0, len(pairs), CASES_AT_ONCE):
        expression = nw.col(column)
        for old, new in pairs[start : start + CASES_AT_ONCE]:
            expression = nw.when(nw.col("spelled") == nw.lit(old)).then(nw.lit(new)).otherwise(expression)
        found = found.with_columns(expression.alias(column))
    return found.select(column_names(frame))


def _replaced_in_duckdb(native: Any, column: str, changes: Mapping[str, str]) -> nw.LazyFrame[Any]:
    """By a join: a chain of cases would be tried one by one for every row."""
    quoted = [tuple("'" + text.replace("'", "''") + "'" for text in pair) for pair in changes.items()]
    values = ", ".join(f"({old}, {new})" for old, new in quoted)
    name = f"spelled_{next(_numbers)}"
    columns = [f"coalesce(changes.new, {name}.{each}) AS {each}" if each == column else each for each in native.columns]
    joined = f"FROM {name} LEFT JOIN (VALUES {values}) AS changes(old, new) ON {name}.{column} = changes.old"
    respelled: nw.LazyFrame[Any] = nw.from_native(native.query(name, f"SELECT {', '.join(columns)} {joined}"))
    return respelled


def sampled_items(frame: nw.LazyFrame[Any], items: int, most: int) -> list[Any]:
    """The items, or about ``most`` of them, such that spellings of one item are chosen together."""
    every = max(1, items // most)
    if every == 1:
        return [item for (item,) in rows(frame.select(ITEM).unique(subset=[ITEM]))]
    native = frame.to_native()
    if frame.implementation is nw.Implementation.DUCKDB:
        plain = f"hash(ltrim(lower(trim({ITEM})), '0')) % {every} = 0"
        return [item for (item,) in native.limit(ROWS_LOOKED_AT).filter(plain).project(ITEM).distinct().fetchall()]
    if frame.implementation is nw.Implementation.POLARS:
        import polars

        item = polars.col(ITEM)
        spelled = item.str.strip_chars().str.to_lowercase().str.strip_chars_start("0")
        chosen = native.select(item).head(ROWS_LOOKED_AT).filter(spelled.hash() % every == 0).unique()
        return list(chosen.collect(engine="streaming")[ITEM])
    return []


def gathered_labels(
    frame: nw.LazyFrame[Any], keys: Sequence[str], first: Sequence[str], separator: str
) -> nw.LazyFrame[Any]:
    """One row per key: its different labels as one text, in order, and the first of the other columns."""
    if frame.implementation is nw.Implementation.POLARS:
        import polars

        label = polars.col(LABEL).cast(polars.String).unique().sort().str.join(separator)
        native: Any = frame.to_native().group_by(keys).agg(label, *(polars.col(name).min() for name in first))
        return cast("nw.LazyFrame[Any]", nw.from_native(native))
    if frame.implementation is nw.Implementation.DUCKDB:
        joined = f"string_agg(DISTINCT {LABEL}::VARCHAR, '{separator}' ORDER BY {LABEL}::VARCHAR) AS {LABEL}"
        others = [f"min({name}) AS {name}" for name in first]
        grouped = frame.to_native().aggregate(", ".join([*keys, joined, *others]), ", ".join(keys))
        return cast("nw.LazyFrame[Any]", nw.from_native(grouped))
    raise UsageError(f"--duplicates set: {frame.implementation.value} cannot join labels; use polars or duckdb")


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


def write_table(frame: nw.LazyFrame[Any], path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a long result as its name says: .csv or .parquet."""
    kind = Path(path).suffix.lower()
    if kind == ".csv":
        write_atomically(path, lambda target: _write_csv(frame, target), force=force)
    elif kind in PARQUET:
        write_parquet(frame, path, force=force)
    else:
        raise UsageError(f"{path}: name the file .csv or .parquet, so that its kind is known")


def _write_csv(frame: nw.LazyFrame[Any], path: Path) -> None:
    with explained_faults(frame):
        if frame.implementation is nw.Implementation.DUCKDB:
            frame.to_native().write_csv(str(path), header=True)
        else:
            to_polars(frame).write_csv(path)


def write_parquet(frame: nw.LazyFrame[Any], path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Let the engine write a long result; Spark and dask write a folder, to any place that they know."""
    with explained_faults(frame):
        if is_spark(frame):
            frame.to_native().write.parquet(str(path), mode="overwrite" if force else "errorifexists")
            return
        if frame.implementation is nw.Implementation.DASK:
            if not force:  # a folder, which refuse_existing never lets a file replace
                refuse_existing(path, force=False)
            frame.to_native().to_parquet(str(path), write_index=False, overwrite=force)
            return
        write_atomically(path, _writer(frame), force=force)


def _writer(frame: nw.LazyFrame[Any]) -> Callable[[Path], Any]:
    """What writes one file; the index of pandas, the order before sorting, is no column of ours."""
    if frame.implementation.is_pandas_like():
        return nw.maybe_reset_index(frame.collect()).write_parquet
    return frame.sink_parquet


def _through_parquet(relation: Any) -> polars.DataFrame:
    import polars

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.parquet"
        relation.write_parquet(str(path))
        return polars.read_parquet(path, memory_map=False, glob=False)


def _python(value: Any) -> Any:
    """Arrow, numpy and pandas scalars as plain Python; every spelling of "nothing" as None."""
    if hasattr(value, "as_py"):
        value = value.as_py()
    elif hasattr(value, "item"):
        value = value.item()
    return None if type(value).__name__ == "NAType" or value != value else value  # noqa: PLR0124 (NaN)
