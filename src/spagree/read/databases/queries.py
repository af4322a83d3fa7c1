"""The rows of a query as a table: PostgreSQL by its address, SQLite by its file; nothing is ever changed.

From PostgreSQL rows are streamed by COPY into a file: the fastest way out of the server, in constant memory,
and its text says what is missing and what is empty. A column of SQLite may hold values of any type, 1 and '1' for
example, so types are checked as the rows are read, and columns that cannot have one type are refused.
docs/decisions/0007-databases.md has what else was measured.
"""

# ruff: noqa: S608 - names are ours; the query is the user's own, where it can only read
from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import IO, TYPE_CHECKING, Any

from spagree.errors import DataError, FileError, MissingExtraError, SpagreeError, UsageError, opt
from spagree.read.annotations import nw
from spagree.read.databases import addresses
from spagree.read.files import duckdb as store
from spagree.read.files.duckdb import LONGEST_LINE, USUAL_LINE, literal_path
from spagree.read.files.paths import SQLITE, new_file
from spagree.read.table import EXACT, SAMPLE_ROWS, Table, cell, shown

if TYPE_CHECKING:
    from psycopg import Column, Connection


ROWS_AT_ONCE = 20_000
TABLES = """SELECT name FROM sqlite_master
    WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name"""
CONNECT_SECONDS, CANCEL_SECONDS = "10", 5
# A vanished server is noticed after a minute, not after the system's two hours.
PATIENCE = {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3"}
# Makes the text of values independent of the server's settings. This is also the first query of the
# transaction: after it nothing can turn the transaction into one that writes.
SETTINGS = """SELECT set_config('TimeZone', 'UTC', true), set_config('DateStyle', 'ISO', true),
    set_config('IntervalStyle', 'iso_8601', true), set_config('extra_float_digits', '3', true)"""
TABLES_OF_SERVER = """SELECT CASE table_schema WHEN 'public' THEN '' ELSE table_schema || '.' END || table_name
    FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"""
BOOLEAN, BINARY, NUMERIC, MOMENT = 16, 17, 1700, 1184
TYPES = {BOOLEAN: "BOOLEAN", 20: "BIGINT", 21: "BIGINT", 23: "BIGINT", 26: "BIGINT", 700: "DOUBLE", 701: "DOUBLE",
         1082: "DATE", 1114: "TIMESTAMP", MOMENT: "TIMESTAMP"}  # fmt: skip
MOST_DIGITS = 38


@dataclass(frozen=True, slots=True)
class Query:
    """One statement that reads; ``name`` is what messages call the database, ``place`` its address or path.

    ``body`` has no semicolon at the end, but a line break because it may end with a comment.
    """

    name: str
    place: str
    body: str
    scratch: Path


def opened(place: str, name: str, *, is_ours: bool = False) -> AbstractContextManager[Any]:
    """A connection that can only read; every error of the database is explained.

    ``is_ours``: the queries are those for a tool's tables, which cast their columns to text: so both kinds of database
    give the same values.
    """
    return _server(place, is_ours) if addresses.is_server(place) else _sqlite(place, name, is_ours)


def tables(place: str, name: str) -> list[str]:
    """The tables and views of a database that this user can see."""
    with opened(place, name) as connection:
        found = connection.execute(TABLES_OF_SERVER if addresses.is_server(place) else TABLES)
        return [table for (table,) in found]


def query_table(source: Any, statement: str, scratch: Path) -> Table:
    """The result of a query, fetched once the needed columns are known.

    The rows of a query have no reliable order, so the table has none.
    """
    sources = source if isinstance(source, (list, tuple)) else [source]
    if len(sources) != 1 or not isinstance(sources[0], (str, bytes, os.PathLike)):
        raise UsageError(f"{opt.query} reads one database: give it one address (postgresql://…) or one SQLite file")
    address = os.fsdecode(sources[0])
    is_server = addresses.is_server(address)
    name = addresses.public(address)
    place = address if is_server else _file(address, name)
    query = Query(name, place, "\n" + statement.rstrip("; \t\r\n") + "\n", scratch)
    with opened(place, name) as connection:
        columns = tuple(str(column[0]) for column in _described(connection, query))
    sample: list[tuple[object, ...]] = []

    @store.remembered
    def load(positions: Sequence[int]) -> nw.LazyFrame[Any]:
        import duckdb

        connection = store.connect()
        try:
            if is_server:
                _from_server(query, positions, connection)
            else:
                _from_file(query, columns, positions, connection)
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise FileError(f"{name}: there is no room for the rows ({reason}); free disk space or memory") from error
        first = connection.table("cells").limit(SAMPLE_ROWS).fetchall()
        if not first:
            raise DataError(f"{name}: the query returned no rows; check its conditions")
        cells = (dict(zip(positions, row, strict=True)) for row in first)
        sample.extend(tuple(row.get(p) for p in range(len(columns))) for row in cells)
        return nw.from_native(connection.table("cells"))

    return Table(name, columns, load, is_ordered=False, sample=sample)


def _file(address: str, name: str) -> str:
    """The path of an SQLite file, written as a path or as sqlite:///path."""
    path = Path(address.removeprefix(addresses.SQLITE))
    if "://" in address and not address.startswith(addresses.SQLITE):
        raise UsageError(f"{name}: {addresses.KNOWN}; export the rows as CSV or Parquet")
    if not path.is_file():
        raise FileError(
            f"{name}: no such file; {addresses.KNOWN} (working directory: {Path.cwd()}; sqlite:////path, with four "
            "slashes, starts at the root)"
        )
    with path.open("rb") as stream:
        if stream.read(len(SQLITE)) == SQLITE:
            return str(path)
    raise UsageError(f"{name}: {opt.query} is for SQLite and PostgreSQL databases, and this file is none; leave it out")


def _described(connection: Any, query: Query) -> Sequence[Any]:
    """Name and type of each column; no rows are read.

    A statement that is prepared is one statement: a semicolon inside the query is refused here, before the query
    goes into COPY, which would run whatever follows it.
    """
    prepared = {"prepare": True} if addresses.is_server(query.place) else {}
    return connection.execute(f"SELECT * FROM ({query.body}) AS q LIMIT 0", **prepared).description or ()


def _refused(name: str, reason: str, is_ours: bool) -> SpagreeError:
    if is_ours:
        why = f"{name}: the query was refused ({reason})"
        return FileError(f"{why}; are these the tables of the tool? use an export of it instead")
    return UsageError(
        f"{name}: the query was refused ({reason}); {opt.query} takes one SELECT, WITH or VALUES that only reads"
    )


# PostgreSQL --------------------------------------------------------------------------------


@contextmanager
def _server(address: str, is_ours: bool = False) -> Iterator[Connection[Any]]:
    """A connection in a read-only transaction; every server error is explained."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError("postgres", "reading a PostgreSQL database") from None
    addresses.refuse_ambiguous(address)
    try:
        parameters = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        raise addresses.not_understood(address) from None
    limits: dict[str, Any] = {"connect_timeout": os.environ.get("PGCONNECT_TIMEOUT", CONNECT_SECONDS), **PATIENCE}
    name, is_connected = addresses.public(address), False
    try:
        with closing(psycopg.connect(**{**limits, **parameters, "client_encoding": "UTF8"})) as connection:
            connection.read_only = True
            connection.execute(SETTINGS)
            is_connected = True
            yield connection
    except psycopg.Error as error:
        # Not chained: a traceback would repeat the driver's own words.
        primary = getattr(getattr(error, "diag", None), "message_primary", None)
        reason = addresses.without_secrets(" ".join((primary or str(error)).split()), address)
        if is_connected and not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            raise _refused(name, reason, is_ours) from None
        raise FileError(
            f"{name}: the database cannot be read ({reason}); check that the server is running, the "
            "address, and the password (PGPASSWORD or ~/.pgpass)"
        ) from None


def _from_server(query: Query, wanted: Sequence[int], target: Any) -> None:
    """Run the query once, and put the wanted columns into table ``cells`` of a database in duckdb."""
    import duckdb

    path = new_file(query.scratch)
    with _server(query.place) as connection:
        every = _described(connection, query)
        for column in [every[p] for p in wanted]:
            if column.type_code == BINARY:
                raise DataError(
                    f"{query.name}: column {shown(column.name)} holds binary values (bytea); "
                    "leave it out, or use encode(…, 'hex') in the query"
                )
        aliases = ", ".join(map(cell, range(len(every))))
        chosen = ", ".join(f"{cell(p)} AT TIME ZONE 'UTC'" if every[p].type_code == MOMENT else cell(p) for p in wanted)
        copy = f"COPY (SELECT {chosen} FROM ({query.body}) AS q({aliases})) TO STDOUT CSV HEADER"
        with path.open("wb") as file:
            _download(connection, copy, file)
    # A cell without quotes is missing, with quotes it may be empty. The file has a header because duckdb would
    # otherwise remove a byte order mark from the first cell.
    types = {cell(p): _type(every[p]) for p in wanted}
    options = (
        f"auto_detect=false, columns={types}, delim=',', quote='\"', "
        "escape='\"', nullstr='', header=true, allow_quoted_nulls=false, new_line='\\n', strict_mode=true"
    )
    for longest in (USUAL_LINE, LONGEST_LINE):
        scan = f"read_csv({literal_path(path)}, {options}, max_line_size={longest})"
        try:
            target.execute(f"CREATE TEMP TABLE cells AS SELECT * FROM {scan}")
            break
        except (duckdb.InvalidInputException, duckdb.ConversionException) as error:
            if longest == LONGEST_LINE:
                lines = " ".join(str(error).split("\n")[:2])
                remedy = "cast the column to text in the query"
                raise DataError(f"{query.name}: a value cannot be used ({lines}); {remedy}") from error
    path.unlink()
    for p in [p for p in wanted if every[p].type_code == NUMERIC and _type(every[p]) == "DOUBLE"]:
        large = f"isfinite({cell(p)}) AND abs({cell(p)}) >= {EXACT}"  # two different numbers may have become equal
        if target.execute(f"SELECT 1 FROM cells WHERE {large} LIMIT 1").fetchall():
            raise DataError(
                f"{query.name}: column {shown(every[p].name)} holds numbers from {EXACT:,} on, which would lose "
                "digits; cast it in the query, to bigint or to text"
            )


def _type(column: Column) -> str:
    """The type in duckdb: numbers, dates and truth values as such, the rest as the text PostgreSQL shows."""
    if column.type_code != NUMERIC:
        return TYPES.get(column.type_code, "VARCHAR")
    digits, scale = column.precision, column.scale
    if digits and digits <= MOST_DIGITS and scale is not None and 0 <= scale <= digits:
        return f"DECIMAL({digits}, {scale})"
    return "DOUBLE"


def _download(connection: Connection[Any], copy: str, file: IO[bytes]) -> None:
    """Stream the rows to a file; a plain loop over libpq, because a generator takes twice as long."""
    import psycopg

    server = connection.pgconn
    server.send_query(copy.encode())
    result: Any = None
    is_copying = True
    with DefaultSelector() as waiting:
        waiting.register(server.socket, EVENT_READ)
        try:
            while is_copying:
                while server.is_busy():
                    waiting.select()
                    server.consume_input()
                result = server.get_result()
                if result is None:
                    raise psycopg.OperationalError("the server closed the connection")
                is_copying = result.status == psycopg.pq.ExecStatus.COPY_OUT
                size = 0 if is_copying else -1  # of a row: 0 while there is none yet, below 0 after the last
                while size >= 0:
                    size, row = server.get_copy_data(1)
                    if size > 0:
                        file.write(row)
                    elif not size:
                        waiting.select()
                        server.consume_input()
        except (KeyboardInterrupt, SystemExit):
            connection.cancel_safe(timeout=CANCEL_SECONDS)
            raise
    if result.status != psycopg.pq.ExecStatus.COMMAND_OK:
        raise psycopg.errors.error_from_result(result)


# SQLite ------------------------------------------------------------------------------------


@contextmanager
def _sqlite(path: str, name: str, is_ours: bool = False) -> Iterator[sqlite3.Connection]:
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
            raise _refused(name, str(error), is_ours) from error
        raise FileError(
            f"{name}: the database cannot be read ({error}); check the file, and whether another program uses it"
        ) from error


def _from_file(query: Query, names: Sequence[str], wanted: Sequence[int], target: Any) -> None:
    """Run the query once, and put the wanted columns into table ``cells`` of a database in duckdb.

    The rows go through files of Parquet: directly from Python, duckdb inserts row by row or needs pyarrow.
    """
    import polars

    every = ", ".join(map(cell, range(len(names))))
    select = f"WITH q({every}) AS ({query.body}) SELECT {', '.join(map(cell, wanted))} FROM q"
    types: dict[type | None, tuple[str, Any]] = {int: ("BIGINT", polars.Int64), float: ("DOUBLE", polars.Float64)}
    text = "VARCHAR", polars.String  # also of a column in which all values are missing
    kinds: list[type | None] = [None] * len(wanted)
    extremes: list[list[Any]] = [[] for _ in wanted]  # of the whole numbers so far
    parts = []
    with _sqlite(query.place, query.name) as connection:
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
    target.execute(f"CREATE TEMP TABLE cells ({', '.join(typed)})")
    for path in parts:
        target.execute(f"INSERT INTO cells SELECT * FROM read_parquet({literal_path(path)})")
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
