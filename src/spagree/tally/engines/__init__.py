"""What differs between engines when a result is fetched; everything else is narwhals.

Each engine is one file here, NAME_engine.py, with a subclass of :class:`~spagree.tally.engines.engine.Engine`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from spagree.errors import FileError, UsageError
from spagree.late import nw
from spagree.read.annotations import ITEM
from spagree.tally.engines.engine import Engine
from spagree.write import write_atomically

if TYPE_CHECKING:
    import polars

PARQUET = (".parquet", ".pq")
for _module in iter_modules(__path__, f"{__name__}."):
    if _module.name.endswith("_engine"):
        import_module(_module.name)
ENGINES = (*(engine() for engine in Engine.__subclasses__()), Engine())


def engine_of(frame: nw.LazyFrame[Any]) -> Engine:
    """The first engine that holds the frame; the last one accepts any.

    >>> import polars
    >>> type(engine_of(nw.from_native(polars.LazyFrame()))).__name__
    'Polars'
    """
    return next(engine for engine in ENGINES if engine.holds(frame))


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


def columns(frame: nw.LazyFrame[Any]) -> list[list[Any]]:
    """Run the query and fetch the columns of its result as Python values."""
    with explained_faults(frame):
        return engine_of(frame).columns(frame)


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
        if not any(library in each.libraries for each in ENGINES):
            raise
        from spagree.read.spark.session import is_interruption, reason

        if is_interruption(error):
            raise KeyboardInterrupt from error
        name = engine if isinstance(engine, str) else engine.implementation.value
        raise FileError(
            f"{name} could not finish counting ({reason(error)}); check the files, and that disk and memory are free"
        ) from error
