"""Databases of tools, read-only: the queries of a reader, on SQLite files and PostgreSQL servers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from spagree.errors import FileError, MissingExtraError
from spagree.read.tools.origin import SERVER, Origin, connect

Query = str


@contextmanager
def opened(origin: Origin) -> Iterator[Any]:
    """A connection that can only read; every fault of the database is explained."""
    try:
        with closing(_postgres(origin.path) if origin.shape == SERVER else connect(origin.path)) as connection:
            yield connection
    except Exception as error:
        if not _is_fault(error):
            raise
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise FileError(
            f"{origin.name}: the database cannot be read ({reason}); check the path and the permissions, "
            "or use an export of the tool"
        ) from error


def _postgres(address: str) -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError("postgres", "reading a PostgreSQL database") from None
    connection = psycopg.connect(address, connect_timeout=10)
    connection.read_only = True
    return connection


def _is_fault(error: Exception) -> bool:
    """Whether a database raised it, whichever library was used."""
    return isinstance(error, sqlite3.Error) or type(error).__module__.startswith("psycopg")


def rows(connection: Any, query: Query) -> Sequence[tuple[Any, ...]]:
    """All rows of a query; what is asked for is cast to text, so that both kinds of database answer alike."""
    found: Sequence[tuple[Any, ...]] = connection.execute(query).fetchall()
    return found


def is_true(text: str | None) -> bool:
    """A boolean as text.

    >>> is_true("1"), is_true("true"), is_true("0"), is_true(None)
    (True, True, False, False)
    """
    return text in ("1", "true", "t")
