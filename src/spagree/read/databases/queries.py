"""The rows of a query as a table: PostgreSQL by its address, SQLite by its file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import narwhals as nw

from spagree.errors import DataError, FileError, UsageError
from spagree.messages import opt
from spagree.read.databases import addresses, postgres, sqlite
from spagree.read.databases.addresses import Query
from spagree.read.files import duckdb as store
from spagree.read.files.paths import SQLITE
from spagree.read.table import SAMPLE_ROWS, Table


def query_table(source: Any, statement: str, scratch: Path) -> Table:
    """The result of a query, fetched once the needed columns are known.

    The rows of a query have no reliable order, so the table has none.
    """
    sources = source if isinstance(source, (list, tuple)) else [source]
    if len(sources) != 1 or not isinstance(sources[0], (str, bytes, os.PathLike)):
        raise UsageError(f"{opt.query} reads one database: give it one address (postgresql://…) or one SQLite file")
    address = os.fsdecode(sources[0])
    engine: Any = postgres if addresses.is_server(address) else sqlite
    place = address if engine is postgres else _file(address)
    query = Query(addresses.public(address), place, statement, scratch)
    columns = engine.columns(query)
    sample: list[tuple[object, ...]] = []

    @store.remembered
    def load(positions: Sequence[int]) -> nw.LazyFrame[Any]:
        import duckdb

        connection = store.connect()
        try:
            engine.fill(query, positions, connection)
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise FileError(
                f"{query.name}: there is no room for the rows ({reason}); free disk space or memory"
            ) from error
        first = connection.table("cells").limit(SAMPLE_ROWS).fetchall()
        if not first:
            raise DataError(f"{query.name}: the query returned no rows; check its conditions")
        cells = (dict(zip(positions, row, strict=True)) for row in first)
        sample.extend(tuple(row.get(p) for p in range(len(columns))) for row in cells)
        return nw.from_native(connection.table("cells"))

    return Table(query.name, columns, load, is_ordered=False, sample=sample)


def _file(address: str) -> str:
    """The path of an SQLite file, written as a path or as sqlite:///path."""
    path = Path(address.removeprefix(addresses.SQLITE))
    if "://" in address and not address.startswith(addresses.SQLITE):
        raise UsageError(f"{addresses.public(address)}: {addresses.KNOWN}; export the rows as CSV or Parquet")
    if not path.is_file():
        raise FileError(
            f"{addresses.public(address)}: no such file; {addresses.KNOWN} (working directory: {Path.cwd()}; "
            "sqlite:////path, with four slashes, starts at the root)"
        )
    with path.open("rb") as stream:
        is_database = stream.read(len(SQLITE)) == SQLITE
    if not is_database:
        raise UsageError(
            f"{addresses.public(address)}: {opt.query} is for SQLite and PostgreSQL databases, and this file is none; "
            "leave it out"
        )
    return str(path)
