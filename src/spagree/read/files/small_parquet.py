"""Parquet files small enough to fetch as integers: counting these takes less time than importing narwhals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spagree.late import nw
from spagree.read.annotations import CodedRows, FewRows, HashedRows, Stamp
from spagree.read.files.paths import refuse_changed
from spagree.read.tables import Small, sql_name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_ROWS = 2_000_000


@dataclass(frozen=True, slots=True)
class SmallParquet(Small):
    """How to load a small table: on an engine when called, or as integers if its columns are texts or whole numbers.

    ``scan`` is its SQL, ``schema`` its columns and their types, ``before`` the state of its files when first opened.
    """

    connection: DuckDBPyConnection
    scan: str
    size: int
    schema: Sequence[tuple[str, str]]
    before: Mapping[Path, Stamp]
    load: Callable[[Sequence[int]], nw.LazyFrame[Any]]

    def rows(
        self, places: Mapping[str, int], finish: Callable[[nw.LazyFrame[Any]], nw.LazyFrame[Any]]
    ) -> FewRows | None:
        """The columns of these roles; None unless all are texts or whole numbers."""
        from spagree.read.files.hash_codes import CODED_KINDS

        chosen = {role: self.schema[place] for role, place in places.items()}
        if any(kind not in CODED_KINDS for _, kind in chosen.values()):
            return None
        named = ", ".join(f"{sql_name(name)} AS {role}" for role, (name, _) in chosen.items())
        query = f"SELECT {named} FROM {self.scan}"  # noqa: S608 - quoted
        return FewRows(
            self.size,
            tuple(places),
            lambda: self._coded(query),
            lambda: finish(self.load(list(places.values()))),
            lambda: self._hashed(query),
        )

    def _coded(self, query: str) -> CodedRows | None:
        """The rows with a label and an item, as integers."""
        from spagree.read.files.hash_codes import coded_rows

        rows = coded_rows(self.connection.sql(query), self.size)
        refuse_changed(self.before)
        return rows

    def _hashed(self, query: str) -> HashedRows | None:
        """What a score needs of the rows with a label and an item."""
        from spagree.read.files.hash_codes import hashed_rows

        rows = hashed_rows(self.connection, self.connection.cursor(), query, self.size)
        refuse_changed(self.before)
        return rows
