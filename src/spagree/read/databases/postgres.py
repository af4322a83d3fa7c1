"""PostgreSQL servers: one read-only transaction, the rows streamed by COPY into a file.

COPY is the fastest way out of the server, in constant memory, and its text says exactly what is missing and
what is empty. docs/decisions/0007-databases.md has what else was measured.
"""

# ruff: noqa: S608 - names are ours; the query is the user's own, in a transaction that can only read
from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from selectors import EVENT_READ, DefaultSelector
from typing import IO, TYPE_CHECKING, Any

from spagree.errors import DataError, FileError, MissingExtraError
from spagree.read.databases.addresses import Query, not_understood, public, refuse_ambiguous, refused, without_secrets
from spagree.read.files.duckdb import LONGEST_LINE, USUAL_LINE, literal_path
from spagree.read.files.paths import new_file
from spagree.read.table import EXACT, cell, shown

if TYPE_CHECKING:
    from psycopg import Column, Connection


CONNECT_SECONDS, CANCEL_SECONDS = "10", 5
# A vanished server is noticed after a minute, not after the system's two hours.
PATIENCE = {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3"}
# Makes the text of values independent of the server's settings. This is also the first query of the
# transaction: after it nothing can turn the transaction into one that writes.
SETTINGS = """SELECT set_config('TimeZone', 'UTC', true), set_config('DateStyle', 'ISO', true),
    set_config('IntervalStyle', 'iso_8601', true), set_config('extra_float_digits', '3', true)"""
TABLES = """SELECT CASE table_schema WHEN 'public' THEN '' ELSE table_schema || '.' END || table_name
    FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"""
BOOLEAN, BINARY, NUMERIC, MOMENT = 16, 17, 1700, 1184
TYPES = {BOOLEAN: "BOOLEAN", 20: "BIGINT", 21: "BIGINT", 23: "BIGINT", 26: "BIGINT", 700: "DOUBLE", 701: "DOUBLE",
         1082: "DATE", 1114: "TIMESTAMP", MOMENT: "TIMESTAMP"}  # fmt: skip
MOST_DIGITS = 38


@contextmanager
def opened(address: str) -> Iterator[Connection[Any]]:
    """A connection in a read-only transaction; every server error is explained."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError("postgres", "reading a PostgreSQL database") from None
    refuse_ambiguous(address)
    try:
        parameters = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        raise not_understood(address) from None
    limits: dict[str, Any] = {"connect_timeout": os.environ.get("PGCONNECT_TIMEOUT", CONNECT_SECONDS), **PATIENCE}
    is_connected = False
    try:
        with closing(psycopg.connect(**{**limits, **parameters, "client_encoding": "UTF8"})) as connection:
            connection.read_only = True
            connection.execute(SETTINGS)
            is_connected = True
            yield connection
    except psycopg.Error as error:
        # Not chained: a traceback would repeat the driver's own words.
        primary = getattr(getattr(error, "diag", None), "message_primary", None)
        reason = without_secrets(" ".join((primary or str(error)).split()), address)
        if is_connected and not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            raise refused(public(address), reason) from None
        raise FileError(
            f"{public(address)}: the database cannot be read ({reason}); check that the server is running, the "
            "address, and the password (PGPASSWORD or ~/.pgpass)"
        ) from None


def tables(address: str) -> list[str]:
    """The tables and views this user can see."""
    with opened(address) as connection:
        return [name for (name,) in connection.execute(TABLES)]


def columns(query: Query) -> tuple[str, ...]:
    """The names of the query's columns; no rows are read."""
    with opened(query.place) as connection:
        return tuple(column.name for column in _described(connection, query))


def _described(connection: Connection[Any], query: Query) -> list[Column]:
    """Name and type of each column.

    A prepared statement is one statement: a semicolon inside the query is refused here, before the query
    goes into COPY, which would run whatever follows it.
    """
    described = connection.execute(f"SELECT * FROM ({query.body}) AS q LIMIT 0", prepare=True).description
    return described or []


def fill(query: Query, wanted: Sequence[int], store: Any) -> None:
    """Run the query once, and put the wanted columns into the store's table ``cells``."""
    import duckdb

    path = new_file(query.scratch)
    with opened(query.place) as connection:
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
            store.execute(f"CREATE TEMP TABLE cells AS SELECT * FROM {scan}")
            break
        except (duckdb.InvalidInputException, duckdb.ConversionException) as error:
            if longest == LONGEST_LINE:
                lines = " ".join(str(error).split("\n")[:2])
                remedy = "cast the column to text in the query"
                raise DataError(f"{query.name}: a value cannot be used ({lines}); {remedy}") from error
    path.unlink()
    for p in [p for p in wanted if every[p].type_code == NUMERIC and _type(every[p]) == "DOUBLE"]:
        large = f"isfinite({cell(p)}) AND abs({cell(p)}) >= {EXACT}"  # two different numbers may have become equal
        if store.execute(f"SELECT 1 FROM cells WHERE {large} LIMIT 1").fetchall():
            raise DataError(
                f"{query.name}: column {shown(every[p].name)} holds numbers from {EXACT:,} on, which would lose "
                "digits; cast it in the query, to bigint or to text"
            )


def _type(column: Column) -> str:
    """The type in the store: numbers, dates and truth values as such, the rest as the text PostgreSQL shows."""
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
