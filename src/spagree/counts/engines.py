"""What an engine does in its own way, mostly when a result is fetched; nearly everything else is narwhals.

A frame that narwhals knows needs nothing here. A subclass of :class:`Engine`, in ``ENGINES`` by narwhals' name for it,
makes an engine faster, or adds what narwhals cannot do on it. Where an expression depends on the engine, such as how a
cell becomes text (read/cells.py), it says so there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from zlib import crc32

from spagree.errors import FileError, UsageError, opt
from spagree.read.annotations import ITEM, LABEL, ROW, is_missing, nw
from spagree.read.files.duckdb import sampled_items as sampled_by_hash
from spagree.read.table import sql_literal, sql_name
from spagree.write import exists_already, refuse_existing, write_atomically

if TYPE_CHECKING:
    import polars

Frame: TypeAlias = "nw.LazyFrame[Any]"
MOST_CASES, CASES_AT_ONCE = 1_000, 20
MOST_REPEATS_APART = 10_000  # repeated keys: up to this many are looked up by their hashes
ROWS_LOOKED_AT = 300_000  # for spellings of items


class Engine:
    """The defaults go through narwhals: pandas, pyarrow, modin and cuDF need nothing else."""

    libraries: tuple[str, ...] = ("narwhals", "pyarrow")
    """Modules whose errors are engine failures: out of memory, a full disk, a lost worker, a damaged file."""

    def rows(self, frame: Frame) -> list[tuple[Any, ...]]:
        """A few result rows as Python values."""
        return [tuple(map(python_value, row)) for row in frame.collect().rows()]

    def repeat_candidates(self, frame: Frame, keys: Sequence[str], rows: int) -> Frame | None:  # noqa: ARG002
        """The rows that may share their keys with others; None if 64-bit hashes prove there are none."""
        return frame

    def without_rows(self, frame: Frame, rows: Sequence[int]) -> Frame:
        """All rows except a few, given by number."""
        return frame.filter(~nw.col(ROW).is_in(rows))

    def replaced(self, frame: Frame, column: str, changes: Mapping[str, str]) -> Frame:
        """A column with some of its texts replaced, in steps: engines limit the depth of a chain of cases."""
        if len(changes) > MOST_CASES:
            engine = frame.implementation.value
            raise UsageError(f"{len(changes):,} texts would change, too many for {engine}; clean them first")
        changed = frame.with_columns(nw.col(column).alias("spelled"))
        pairs = list(changes.items())
        for start in range(0, len(pairs), CASES_AT_ONCE):
            expression = nw.col(column)
            for old, new in pairs[start : start + CASES_AT_ONCE]:
                expression = nw.when(nw.col("spelled") == nw.lit(old)).then(nw.lit(new)).otherwise(expression)
            changed = changed.with_columns(expression.alias(column))
        return changed.select(frame.collect_schema().names())

    def sampled_items(self, frame: Frame, every: int) -> list[Any]:
        """One item in ``every``, by a checksum of it without surrounding blanks, case and leading zeros.

        So all spellings of an item are in the sample, or none; it is taken from the first rows.
        """
        first = {str(item) for (item,) in self.rows(frame.select(ITEM).head(ROWS_LOOKED_AT)) if item is not None}
        return sorted(item for item in first if crc32(item.strip().lower().lstrip("0").encode()) % every == 0)

    def gathered_labels(self, frame: Frame, keys: Sequence[str], first: Sequence[str], separator: str) -> Frame:  # noqa: ARG002
        """One row per key: its distinct labels joined in order, and the first value of the other columns."""
        raise UsageError(
            f"{opt.duplicates('set')}: {frame.implementation.value} cannot join labels; use polars or duckdb"
        )

    def in_codes(self, frame: Frame, columns: Sequence[str]) -> tuple[Frame, dict[str, list[str]]]:  # noqa: ARG002
        """Columns of texts as indices into their sorted names, and these names; unchanged where that gains nothing."""
        return frame, {}

    def kept(self, frame: Frame, until: ExitStack) -> Frame:  # noqa: ARG002
        """A long result that several queries start from, kept where the engine can; computed again elsewhere."""
        return frame

    def write_csv(self, frame: Frame, path: Path) -> None:
        """A long result as a CSV file."""
        self.to_polars(frame).write_csv(path)

    def to_polars(self, frame: Frame) -> polars.DataFrame:
        """A long result as a polars table."""
        return frame.collect().to_polars()

    def write_parquet(self, frame: Frame, path: str | os.PathLike[str], *, force: bool) -> None:
        """A long result as a Parquet file, or a folder where the engine writes one."""
        write: Callable[[Path], Any] = frame.sink_parquet
        if frame.implementation.is_pandas_like():  # its index, the order before sorting, is left out
            write = nw.maybe_reset_index(frame.collect()).write_parquet
        write_atomically(path, write, force=force)


def python_value(value: Any) -> Any:
    """Arrow, numpy and pandas scalars as plain Python; every spelling of "nothing" as None."""
    if hasattr(value, "as_py"):
        value = value.as_py()
    elif hasattr(value, "item"):
        value = value.item()
    return None if is_missing(value) else value


class Dask(Engine):
    """Frames of dask."""

    def write_parquet(self, frame: Frame, path: str | os.PathLike[str], *, force: bool) -> None:
        """Write a folder of files, to any location that dask supports."""
        if not force:  # with force, dask itself replaces the folder
            refuse_existing(path, force=False)
        frame.to_native().to_parquet(str(path), write_index=False, overwrite=force)


_numbers = count()  # for the names of views
MOST_ENUMERATED = 10_000  # names in a query
MOST_HASHES_AT_HOME = 100_000_000  # 0.8 GB, and as much again while fetching


class DuckDB(Engine):
    """duckdb relations: files, databases and users' own."""

    libraries = ("duckdb",)

    def rows(self, frame: Frame) -> list[tuple[Any, ...]]:
        """Fetched one by one."""
        return list(frame.to_native().fetchall())

    def repeat_candidates(self, frame: Frame, keys: Sequence[str], rows: int) -> Frame | None:
        """A moderate number of hashes is sorted in numpy: twice as fast as duckdb's hash table."""
        native: Any = frame.to_native()
        hash_ = f"hash({', '.join(keys)})"
        if rows > MOST_HASHES_AT_HOME:
            total, distinct = native.aggregate(f"count(*), count(DISTINCT {hash_})").fetchall()[0]
            return None if total == distinct else frame
        hashes = native.project(f"{hash_} AS hash").fetchnumpy()["hash"]
        hashes.sort()
        again = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
        if not again:
            return None
        if len(again) > MOST_REPEATS_APART:
            return frame
        candidates = native.filter(f"{hash_} IN ({', '.join(map(str, sorted(again)))})")
        return cast("Frame", nw.from_native(candidates))

    def without_rows(self, frame: Frame, rows: Sequence[int]) -> Frame:
        """In SQL, where a list of constants becomes a hash table; in an expression each would be compared in turn."""
        native: Any = frame.to_native()
        return cast("Frame", nw.from_native(native.filter(f"{ROW} NOT IN ({', '.join(map(str, rows))})")))

    def replaced(self, frame: Frame, column: str, changes: Mapping[str, str]) -> Frame:
        """By a join: a chain of cases would be evaluated one by one for every row."""
        native: Any = frame.to_native()
        values = ", ".join(f"({sql_literal(old)}, {sql_literal(new)})" for old, new in changes.items())
        name = f"spelled_{next(_numbers)}"
        spelled = f"coalesce(changes.new, {name}.{column}) AS {column}"
        columns = [spelled if each == column else sql_name(each) for each in native.columns]
        joined = f"FROM {name} LEFT JOIN (VALUES {values}) AS changes(old, new) ON {name}.{column} = changes.old"
        return cast("Frame", nw.from_native(native.query(name, f"SELECT {', '.join(columns)} {joined}")))

    def sampled_items(self, frame: Frame, every: int) -> list[Any]:
        """By the hash of an item without surrounding blanks, case and leading zeros, in the first rows."""
        native: Any = frame.to_native()
        return sampled_by_hash(native.limit(ROWS_LOOKED_AT).project(ITEM), every)

    def gathered_labels(self, frame: Frame, keys: Sequence[str], first: Sequence[str], separator: str) -> Frame:
        """The labels are joined by an aggregate of duckdb."""
        joined = f"string_agg(DISTINCT {LABEL}::VARCHAR, '{separator}' ORDER BY {LABEL}::VARCHAR) AS {LABEL}"
        others = [f"min({name}) AS {name}" for name in map(sql_name, first)]
        grouped = frame.to_native().aggregate(", ".join([*keys, joined, *others]), ", ".join(keys))
        return cast("Frame", nw.from_native(grouped))

    def in_codes(self, frame: Frame, columns: Sequence[str]) -> tuple[Frame, dict[str, list[str]]]:
        """As enumerations: numbers are fetched in a fraction of the time and memory that their texts take."""
        native: Any = frame.to_native()
        names_of = {
            column: sorted(name for (name,) in native.project(column).distinct().fetchall() if name is not None)
            for column in columns
        }
        # What fits in a query, which ends at a NUL
        known = {
            column: names
            for column, names in names_of.items()
            if 0 < len(names) <= MOST_ENUMERATED and not any("\0" in name for name in names)
        }
        kinds = {column: "ENUM (" + ", ".join(map(sql_literal, names)) + ")" for column, names in known.items()}
        codes = [f"enum_code({name}::{kinds[name]}) AS {name}" if name in kinds else name for name in native.columns]
        return cast("Frame", nw.from_native(native.project(", ".join(codes)))), known

    def kept(self, frame: Frame, until: ExitStack) -> Frame:
        """As a temporary table, which also works on a database that may only be read."""
        native: Any = frame.to_native()
        table = f"kept_{next(_numbers)}"
        view = f"before_{table}"
        native.query(view, f"CREATE TEMP TABLE {table} AS FROM {view}")
        until.callback(native.query, view, f"DROP TABLE {table}")
        return cast("Frame", nw.from_native(native.query(view, f"FROM {table}")))

    def write_csv(self, frame: Frame, path: Path) -> None:
        """Written by duckdb."""
        frame.to_native().write_csv(str(path), header=True)

    def to_polars(self, frame: Frame) -> polars.DataFrame:
        """As a stream of Arrow arrays; a relation can be streamed only once, so a new one is created."""
        import polars

        native: Any = frame.to_native()
        return polars.DataFrame(native.project("*"))


class Polars(Engine):
    """Lazy frames of polars."""

    libraries = ("polars", "pyo3_runtime")  # the latter for panics, which are not Exceptions

    def rows(self, frame: Frame) -> list[tuple[Any, ...]]:
        """Collected as a stream."""
        return list(self.to_polars(frame).rows())

    def repeat_candidates(self, frame: Frame, keys: Sequence[str], rows: int) -> Frame | None:  # noqa: ARG002
        """The hashes are grouped and counted."""
        import polars

        native, hash_ = frame.to_native(), polars.struct(*keys).hash()
        sizes = native.select(hash=hash_).group_by("hash").agg(rows=polars.len())
        again = sizes.filter(polars.col("rows") > 1).select("hash").collect(engine="streaming")["hash"]
        if again.is_empty():
            return None
        candidates: Any = native.filter(hash_.is_in(again.implode()))
        return frame if len(again) > MOST_REPEATS_APART else cast("Frame", nw.from_native(candidates))

    def replaced(self, frame: Frame, column: str, changes: Mapping[str, str]) -> Frame:
        """By polars' own replacement."""
        import polars

        native: Any = frame.to_native().with_columns(polars.col(column).replace(dict(changes)))
        return cast("Frame", nw.from_native(native))

    def gathered_labels(self, frame: Frame, keys: Sequence[str], first: Sequence[str], separator: str) -> Frame:
        """The labels are joined within each group."""
        import polars

        label = polars.col(LABEL).cast(polars.String).unique().sort().str.join(separator)
        native: Any = frame.to_native().group_by(keys).agg(label, *(polars.col(name).min() for name in first))
        return cast("Frame", nw.from_native(native))

    def kept(self, frame: Frame, until: ExitStack) -> Frame:  # noqa: ARG002
        """In memory."""
        return nw.from_native(self.to_polars(frame).lazy())

    def to_polars(self, frame: Frame) -> polars.DataFrame:
        """Collected as a stream."""
        table: polars.DataFrame = frame.to_native().collect(engine="streaming")
        return table


class Spark(Engine):
    """Frames of Spark and Spark Connect."""

    libraries = ("pyspark", "py4j")

    def rows(self, frame: Frame) -> list[tuple[Any, ...]]:
        """Collected to the driver."""
        return [tuple(row) for row in frame.to_native().collect()]

    def sampled_items(self, frame: Frame, every: int) -> list[Any]:  # noqa: ARG002
        """None: rows have no order, and every run would look at others."""
        return []

    def repeat_candidates(self, frame: Frame, keys: Sequence[str], rows: int) -> Frame | None:  # noqa: ARG002
        """Hashes are grouped: 8 bytes a row to send."""
        from pyspark.sql import functions as sql

        counted = frame.to_native().select(sql.count("*"), sql.count_distinct(sql.xxhash64(*keys)))
        total, distinct = counted.collect()[0]
        return None if total == distinct else frame

    def kept(self, frame: Frame, until: ExitStack) -> Frame:
        """On the workers."""
        native: Any = frame.to_native().persist()
        until.callback(native.unpersist)
        return cast("Frame", nw.from_native(native))

    def write_parquet(self, frame: Frame, path: str | os.PathLike[str], *, force: bool) -> None:
        """Write a folder of files, to any location that Spark supports."""
        from pyspark.errors import AnalysisException

        try:
            frame.to_native().write.parquet(str(path), mode="overwrite" if force else "errorifexists")
        except AnalysisException as error:
            if error.getCondition() == "PATH_ALREADY_EXISTS":
                raise exists_already(path) from error
            raise


MISTAKES = ("ColumnNotFoundError", "BinderException", "ParserException")  # in queries of ours: bugs, not faults of data
ENGINES = {"dask": Dask(), "duckdb": DuckDB(), "polars": Polars(), "pyspark": Spark(), "pyspark[connect]": Spark()}
ANY_OTHER = Engine()
PARQUET = (".parquet", ".pq")


def engine_of(frame: nw.LazyFrame[Any]) -> Engine:
    """The engine that holds the frame.

    >>> import polars
    >>> type(engine_of(nw.from_native(polars.LazyFrame()))).__name__
    'Polars'
    """
    return ENGINES.get(frame.implementation.value, ANY_OTHER)


def column_names(frame: nw.LazyFrame[Any]) -> list[str]:
    """The column names, without running anything."""
    return frame.collect_schema().names()


def rows(frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
    """Run the query on the data's engine and fetch its few result rows as Python values."""
    with explained_faults(frame):
        return engine_of(frame).rows(frame)


def row_count(frame: nw.LazyFrame[Any]) -> int:
    """Run the query and count its rows."""
    return int(rows(frame.select(nw.len()))[0][0])


def repeat_candidates(frame: nw.LazyFrame[Any], keys: Sequence[str], rows: int) -> nw.LazyFrame[Any] | None:
    """The rows, of about ``rows``, that may share their keys with others; None if 64-bit hashes prove there are none.

    Equal keys have equal hashes: as many distinct hashes as rows means as many distinct keys. Hashes take less than
    half the work and memory of the keys themselves, and on a cluster 8 bytes a row to send; a chance collision (1 in
    3,000 at 10⁸ rows) only costs the slower path. If few keys repeat, only their rows are read again.
    """
    with explained_faults(frame):
        return engine_of(frame).repeat_candidates(frame, keys, rows)


def replaced(frame: nw.LazyFrame[Any], column: str, changes: Mapping[str, str]) -> nw.LazyFrame[Any]:
    """A column with some of its texts replaced."""
    return engine_of(frame).replaced(frame, column, changes) if changes else frame


def sampled_items(frame: nw.LazyFrame[Any], items: int, most: int) -> list[Any]:
    """The items, or about ``most`` of them, sampled so spellings of one item stay together."""
    every = max(1, items // most)
    if every == 1:
        return [item for (item,) in rows(frame.select(ITEM).unique(subset=[ITEM]))]
    return engine_of(frame).sampled_items(frame, every)


def in_codes(frame: nw.LazyFrame[Any], columns: Sequence[str]) -> tuple[nw.LazyFrame[Any], dict[str, list[str]]]:
    """Columns of texts as indices into their sorted names, where the engine gains by it, and these names."""
    with explained_faults(frame):
        return engine_of(frame).in_codes(frame, columns)


def kept(frame: nw.LazyFrame[Any], until: ExitStack) -> nw.LazyFrame[Any]:
    """A long result that several queries start from, kept where the engine can."""
    with explained_faults(frame):
        return engine_of(frame).kept(frame, until)


def write_table(frame: nw.LazyFrame[Any], path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a long result in the format of its suffix: .csv or .parquet, which Spark and dask write as a folder."""
    kind = Path(path).suffix.lower()
    if kind == ".csv":
        with explained_faults(frame):
            write_atomically(path, lambda target: engine_of(frame).write_csv(frame, target), force=force)
    elif kind in PARQUET:
        with explained_faults(frame):
            engine_of(frame).write_parquet(frame, path, force=force)
    else:
        raise UsageError(f"{path}: name the file .csv or .parquet, so that its kind is known")


def to_polars(frame: nw.LazyFrame[Any]) -> polars.DataFrame:
    """Fetch a long result as a polars table, only on the user's request."""
    with explained_faults(frame):
        return engine_of(frame).to_polars(frame)


@contextmanager
def explained_faults(engine: nw.LazyFrame[Any] | str) -> Iterator[None]:
    """Explain engine failures: out of memory, a full disk, a lost worker, a missing or damaged file."""
    try:
        yield
    except BaseException as error:
        library = type(error).__module__.partition(".")[0].lstrip("_")
        if library == "narwhals" or type(error).__name__ in MISTAKES:
            raise
        if not any(library in each.libraries for each in (*ENGINES.values(), ANY_OTHER)):
            raise
        from spagree.read.spark import is_interruption, reason

        if is_interruption(error):
            raise KeyboardInterrupt from error
        name = engine if isinstance(engine, str) else engine.implementation.value
        raise FileError(
            f"{name} could not finish counting ({reason(error)}); check the files, and that disk and memory are free"
        ) from error
