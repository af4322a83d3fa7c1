"""Small Parquet files of texts, fetched at once: importing narwhals takes longer than counting them in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spagree.late import nw
from spagree.read.annotations import FewRows, Stamp
from spagree.read.files.paths import refuse_changed
from spagree.read.tables import Small, sql_name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class SmallParquet(Small):
    """How to load a small table: on an engine when called, or as rows in memory if its columns are texts.

    ``scan`` is its SQL, ``schema`` its columns and their types, ``before`` the state of its files when first opened.
    """

    connection: DuckDBPyConnection
    scan: str
    schema: Sequence[tuple[str, str]]
    before: Mapping[Path, Stamp]
    load: Callable[[Sequence[int]], nw.LazyFrame[Any]]

    def __call__(self, positions: Sequence[int]) -> nw.LazyFrame[Any]:
        """The columns at these positions, on an engine."""
        return self.load(positions)

    def rows(
        self, places: Mapping[str, int], finish: Callable[[nw.LazyFrame[Any]], nw.LazyFrame[Any]]
    ) -> FewRows | None:
        """The columns of these roles; None unless all are texts."""
        chosen = {role: self.schema[place] for role, place in places.items()}
        if any(kind != "VARCHAR" for _, kind in chosen.values()):
            return None
        names = ", ".join(sql_name(name) for name, _ in chosen.values())
        found = self.connection.execute(f"SELECT {names} FROM {self.scan}").fetchall()  # noqa: S608 - quoted
        refuse_changed(self.before)
        cells = dict(zip(places, zip(*found, strict=True), strict=True))
        return FewRows(cells, lambda: finish(self.load(list(places.values()))))
