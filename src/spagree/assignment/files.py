"""The files of an assignment: items, people and earlier ones come in, a CSV and tasks for annotation tools go out."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spagree.assignment.design import Assignment
from spagree.counts.engines import rows
from spagree.errors import ColumnError, DataError, unknown_name
from spagree.late import nw
from spagree.read.columns import resolve
from spagree.read.files import paths
from spagree.read.request import Request
from spagree.read.sources import file_table
from spagree.read.table import cell, listed
from spagree.write import save_frame, write_atomically


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


TOOLS = ("label-studio", "potato")
Columns = Mapping[str, Mapping[str, Any]]
"""What each item's task shows: column → value."""


def save(design: Assignment, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write ``item, annotator`` rows as .csv, .csv.gz or .parquet.

    >>> from spagree.assignment import assign
    >>> save(assign(["q1"], ["ann", "bob"], per_item=2), "assignment.csv")
    >>> print(Path("assignment.csv").read_text().strip())
    item,annotator
    q1,ann
    q1,bob
    """
    save_frame(design.frame(), path, force=force)


def write_tasks(
    design: Assignment, tool: str, folder: str | os.PathLike[str], columns: Columns, *, force: bool = False
) -> list[Path]:
    """Write the files that a tool imports: one per annotator, with the content of each task.

    Label Studio: a JSON list of tasks. potato: JSON lines with ``id`` and ``text``. Each task carries its item's id,
    so the export can be measured with ``--item item``.
    """
    if tool not in TOOLS:
        raise unknown_name("tool", tool, TOOLS)
    own: dict[str, list[str]] = {person.name: [] for person in design.people}
    for item, name in design.frame().iter_rows():
        own[name].append(item)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    render, ending = (_label_studio, "json") if tool == "label-studio" else (_potato, "jsonl")
    paths = [place / f"{stem}.{ending}" for stem in _stems(list(own))]
    for path, (name, items) in zip(paths, own.items(), strict=True):
        text = render(name, items, columns)
        write_atomically(path, lambda beside, text=text: beside.write_text(text, "utf-8"), force=force)  # type: ignore[misc]
    return paths


def _label_studio(annotator: str, items: list[str], columns: Columns) -> str:
    tasks = [{"data": {**columns.get(item, {}), "item": item, "assigned_to": annotator}} for item in items]
    return json.dumps(tasks, ensure_ascii=False, indent=1)


def _potato(annotator: str, items: list[str], columns: Columns) -> str:
    lines = []
    for item in items:
        shown = columns.get(item, {})
        lines.append({"id": item, "text": str(shown.get("text", item)), **shown, "assigned_to": annotator})
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _stems(names: list[str]) -> list[str]:
    """File names for people: readable, safe on every system, and distinct.

    >>> _stems(["Ann B.", "ann/b"])
    ['Ann_B.', 'ann_b-2']
    """
    seen: set[str] = set()
    stems = []
    for number, name in enumerate(names, start=1):
        stem = re.sub(r"[^\w.@-]+", "_", name).lstrip(".") or "annotator"
        stem = f"{stem}-{number}" if stem.lower().rstrip(".") in seen else stem
        seen.add(stem.lower().rstrip("."))
        stems.append(stem)
    return stems
