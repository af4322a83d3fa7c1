"""Short tables as they are, every cell as text: items to be assigned, people who annotate."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw

from spagree.errors import ColumnError, DataError
from spagree.read.columns import resolve
from spagree.read.files import paths
from spagree.read.options import Request
from spagree.read.sources import file_table
from spagree.read.tables import cell, listed


@dataclass(frozen=True, slots=True)
class Listed:
    """Rows by the name in their key column, in the order of the file."""

    key: str
    rows: Mapping[str, Mapping[str, str]]


def read_list(path: str | os.PathLike[str], role: str, key: str | None = None) -> Listed:
    r"""A file with one row per item or person; the column of their names is guessed unless ``key`` names it.

    >>> _ = Path("people.csv").write_text("annotator,language\nann,de\nbob,en\n")
    >>> read_list("people.csv", "annotator").rows["bob"]
    {'annotator': 'bob', 'language': 'en'}
    """
    with tempfile.TemporaryDirectory(prefix="spagree-") as scratch:
        table = file_table(paths.gather([path], Path(scratch)), Request(), Path(scratch))
        column = _key_column(table.columns, role, key, table.name)
        places = range(len(table.columns))
        frame = table.load(places).select(*(nw.col(cell(place)).cast(nw.String) for place in places))
        found = [dict(zip(table.columns, map(_text, row), strict=True)) for row in _rows(frame)]
    name = table.columns[column]
    rows = {row[name]: row for row in found if row[name]}
    given = [row[name] for row in found if row[name]]
    if len(rows) < len(given):
        twice = next(value for place, value in enumerate(given) if value in given[:place])
        raise DataError(f"{table.name}: {role} {twice!r} is listed twice; list each {role} once")
    if not rows:
        raise DataError(f"{table.name}: column {name!r} names no {role}; check the file")
    return Listed(name, rows)


def _key_column(columns: tuple[str, ...], role: str, key: str | None, source: str) -> int:
    if key is None and len(columns) == 1:
        return 0
    found = resolve(columns, {role: key}, [role]).positions.get(role)
    if found is None:
        raise ColumnError(f"{source}: which column names the {role}? Say --{role} COLUMN; columns: {listed(columns)}")
    return found


def _rows(frame: nw.LazyFrame[Any]) -> Iterable[tuple[object, ...]]:
    if frame.implementation is nw.Implementation.DUCKDB:
        return frame.to_native().fetchall()  # type: ignore[no-any-return]
    return frame.collect(backend="polars").iter_rows()


def _text(value: object) -> str:
    return "" if value is None else str(value)
