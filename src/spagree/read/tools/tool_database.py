"""Tool databases, read-only: a reader's queries on SQLite files and PostgreSQL servers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from spagree.errors import FileError, UsageError
from spagree.read.databases import postgres, sqlite
from spagree.read.tools.source import SERVER, Source


@contextmanager
def opened(source: Source) -> Iterator[Any]:
    """A read-only connection; every database error is explained."""
    is_server = source.shape == SERVER
    try:
        with postgres.opened(source.path) if is_server else sqlite.opened(source.path, source.name) as connection:
            yield connection
    except UsageError as error:  # the queries are ours, so the tables are not the tool's
        reason = re.split("; (?:--)?query", str(error))[0]
        raise FileError(f"{reason}; are these the tables of the tool? use an export of it instead") from None


def rows(connection: Any, query: str) -> Sequence[tuple[Any, ...]]:
    """All rows of a query; its columns are cast to text, so both kinds of database give the same values."""
    table: Sequence[tuple[Any, ...]] = connection.execute(query).fetchall()
    return table


def is_true(text: str | None) -> bool:
    """A boolean as text.

    >>> is_true("1"), is_true("true"), is_true("0"), is_true(None)
    (True, True, False, False)
    """
    return text in ("1", "true", "t")
