"""What is asked of a database, and the errors both kinds of database share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from spagree.errors import UsageError
from spagree.read.tables import listed

SHOWN_TABLES = 20
EXACT = 2**53  # whole numbers below are exact as floats; rounded ones may land on it
EXAMPLE = "--query 'SELECT item, annotator, label FROM …'"


@dataclass(frozen=True, slots=True)
class Query:
    """One statement that reads; ``name`` is how messages call the database, ``place`` its address or path."""

    name: str
    place: str
    statement: str
    scratch: Path

    @property
    def body(self) -> str:
        """The statement without its semicolon, on separate lines: it may end with a comment."""
        return "\n" + self.statement.rstrip("; \t\r\n") + "\n"


def refused(name: str, reason: str) -> UsageError:
    """The error for a statement the database does not accept."""
    return UsageError(
        f"{name}: the query was refused ({reason}); --query takes one SELECT, WITH or VALUES that only reads"
    )


def needed(name: str, tables: Iterable[str]) -> UsageError:
    """The error for a database without a query, with the tables it could ask."""
    known = list(tables)
    found = f" with the tables {listed(known, SHOWN_TABLES)}, and not one of Label Studio or doccano" if known else ""
    return UsageError(f"{name}: is a database{found}; say which rows to read: {EXAMPLE}")
