"""SQLite files: read-only, some thousand rows at a time, each column in one type.

A column in SQLite may hold values of any type, whatever its declared type: both 1 and '1', for example. The
types are therefore checked as the rows are read, and columns that cannot have one type are refused.
"""

# ruff: noqa: S608 - names are ours; the query is the user's own, in a database that is open for reading only
from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from spagree.errors import DataError, FileError
from spagree.read.databases.addresses import Query, refused
from spagree.read.files.duckdb import literal_path
from spagree.read.files.paths import new_file
from spagree.read.table import EXACT, cell, shown

ROWS_AT_ONCE = 20_000
TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"


@contextmanager
def opened(path: str, name: str) -> Iterator[sqlite3.Connection]:
    """The database, read-only, so that others can keep working with it; its errors are explained."""
    try:
        with closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as connection:
            yield connection
    except (sqlite3.Error, sqlite3.Warning) as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None and isinstance(error, sqlite3.OperationalError):
            message = f"{name}: some text is not UTF-8 ({error}); leave it out, or use hex(…) in the query"
            raise DataError(message) from error
        if code is None or code in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_READONLY):
            raise refused(name, str(error)) from error
        raise FileError(
            f"{name}: the database cannot be read ({error}); check the file, and whether another program uses it"
        ) from error


def tables(path: str, name: str) -> list[str]:
    """The tables and views of a database."""
    with opened(path, name) as connection:
        return [table for (table,) in connection.execute(f"{TABLES} ORDER BY name")]


def columns(query: Query) -> tuple[str, ...]:
    """The names of the query's columns; no rows are read."""
    with opened(query.place, query.name) as connection:
        described = connection.execute(f"SELECT * FROM ({query.body}) LIMIT 0").description
        return tuple(str(column[0]) for column in described)


def fill(query: Query, wanted: Sequence[int], store: Any) -> None:
    """Run the query once, and put the wanted columns into the store's table ``cells``.

    The rows go through files of Parquet: directly from Python, duckdb inserts row by row or needs pyarrow.
    """
    import polars

    names = columns(query)
    every = ", ".join(map(cell, range(len(names))))
    select = f"WITH q({every}) AS ({query.body}) SELECT {', '.join(map(cell, wanted))} FROM q"
    types: dict[type | None, tuple[str, Any]] = {int: ("BIGINT", polars.Int64), float: ("DOUBLE", polars.Float64)}
    text = "VARCHAR", polars.String  # also of a column in which all values are missing
    kinds: list[type | None] = [None] * len(wanted)
    extremes: list[list[Any]] = [[] for _ in wanted]  # of the whole numbers so far
    parts = []
    with opened(query.place, query.name) as connection:
        cursor = connection.execute(select)
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            part = []
            for i, values in enumerate(zip(*rows, strict=True)):
                kinds[i] = _kind(values, kinds[i], extremes[i], f"{query.name}: column {shown(names[wanted[i]])}")
                part.append(polars.Series(cell(i), values, types.get(kinds[i], text)[1], strict=False))
                if kinds[i] is int:
                    extremes[i] += [part[i].min() or 0, part[i].max() or 0]
            parts.append(new_file(query.scratch))
            polars.DataFrame(part).write_parquet(parts[-1], compression="uncompressed", statistics=False)
    typed = (f"{cell(p)} {types.get(kind, text)[0]}" for p, kind in zip(wanted, kinds, strict=True))
    store.execute(f"CREATE TEMP TABLE cells ({', '.join(typed)})")
    for path in parts:
        store.execute(f"INSERT INTO cells SELECT * FROM read_parquet({literal_path(path)})")
        path.unlink()


def _kind(values: Sequence[object], before: type | None, extremes: Sequence[int], place: str) -> type | None:
    """The common type of these values and the previous ones; None while all are missing."""
    kinds = {type(value) for value in values} - {type(None)}
    kinds |= {before} if before else set()
    if bytes in kinds:
        raise DataError(
            f"{place} holds binary values (BLOB); leave it out, or use hex(…) or CAST(… AS TEXT) in the query"
        )
    if kinds == {int, float}:
        whole = [value for value in values if isinstance(value, int)]
        if any(abs(number) >= EXACT for number in (*extremes, *whole)):
            raise DataError(
                f"{place} holds whole numbers from {EXACT:,} up as well as fractions, and would lose digits; "
                "make it one type in the query: CAST(… AS TEXT)"
            )
        return float
    if len(kinds) > 1:
        raise DataError(
            f"{place} holds text and numbers, so 1 and '1' would be two values; "
            "make it one type in the query: CAST(… AS TEXT)"
        )
    return next(iter(kinds), None)
