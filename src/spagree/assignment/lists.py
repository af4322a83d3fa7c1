"""Short tables, every cell as text: items to assign, annotators, and earlier assignments."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spagree.errors import ColumnError, DataError
from spagree.late import nw
from spagree.read.columns import resolve
from spagree.read.files import paths
from spagree.read.request import Request
from spagree.read.sources import file_table
from spagree.read.tables import cell, listed
from spagree.tally.engines import rows


@dataclass(frozen=True, slots=True)
class Listed:
    """Rows by the name in their key column, in the order of the file."""

    key: str
    rows: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class _Table:
    """A file as text."""

    name: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def read_list(path: str | os.PathLike[str], role: str, key: str | None = None) -> Listed:
    r"""A file with one row per item or person; the name column is guessed unless ``key`` is given.

    >>> _ = Path("people.csv").write_text("annotator,language\nann,de\nbob,en\n")
    >>> read_list("people.csv", "annotator").rows["bob"]
    {'annotator': 'bob', 'language': 'en'}
    """
    table = _read(path)
    place = resolve(table.columns, {role: key}, [role]).positions.get(role) if key or len(table.columns) > 1 else 0
    if place is None:
        raise ColumnError(
            f"{table.name}: which column is the {role}? Name it with --{role} COLUMN; columns: {listed(table.columns)}"
        )
    named = [row for row in table.rows if row[place]]
    if not named:
        raise DataError(f"{table.name}: column {table.columns[place]!r} names no {role}; check the file")
    name, times = Counter(row[place] for row in named).most_common(1)[0]
    if times > 1:
        raise DataError(f"{table.name}: {role} {name!r} is listed twice; list each {role} once")
    by_name = {row[place]: dict(zip(table.columns, row, strict=True)) for row in named}
    return Listed(table.columns[place], by_name)


def read_assignment(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    r"""The (item, annotator) pairs of a file that ``spagree assign`` wrote.

    >>> _ = Path("design.csv").write_text("item,annotator\nq1,ann\nq1,bob\n")
    >>> read_assignment("design.csv")
    [('q1', 'ann'), ('q1', 'bob')]
    """
    table = _read(path)
    if not {"item", "annotator"} <= set(table.columns):
        raise DataError(
            f"{table.name}: an assignment has the columns item and annotator, as spagree assign writes them; "
            f"this file has {listed(table.columns)}"
        )
    item, annotator = (table.columns.index(name) for name in ("item", "annotator"))
    return [(row[item], row[annotator]) for row in table.rows if row[item] and row[annotator]]


def _read(path: str | os.PathLike[str]) -> _Table:
    with tempfile.TemporaryDirectory(prefix="spagree-") as scratch:
        table = file_table(paths.gather([path], Path(scratch)), Request(), Path(scratch))
        places = range(len(table.columns))
        frame = table.load(places).select(*(nw.col(cell(place)).cast(nw.String) for place in places))
        cells = [tuple("" if value is None else str(value) for value in row) for row in rows(frame)]
    return _Table(table.name, tuple(table.columns), cells)
