"""The files of an assignment: items, people and earlier ones come in, a CSV and tasks for annotation tools go out."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import narwhals as nw

from spagree.assignment.design import Assignment
from spagree.counts.engines import rows
from spagree.errors import ColumnError, DataError, listed, unknown_name
from spagree.read.columns import resolve
from spagree.read.files import paths
from spagree.read.request import Request
from spagree.read.sources import file_table
from spagree.read.table import cell
from spagree.write import write_atomically


def read_list(path: str | os.PathLike[str], role: str, key: str | None = None) -> dict[str, dict[str, str]]:
    """The rows of a file by item or person, in its order; the name column is guessed unless ``key`` is given."""
    file, columns, cells = _read(path)
    place = resolve(columns, {role: key}, [role]).positions.get(role) if key or len(columns) > 1 else 0
    if place is None:
        raise ColumnError(
            f"{file}: which column is the {role}? Name it with --{role} COLUMN; columns: {listed(columns)}"
        )
    named = [row for row in cells if row[place]]
    if not named:
        raise DataError(f"{file}: column {columns[place]!r} names no {role}; check the file")
    name, times = Counter(row[place] for row in named).most_common(1)[0]
    if times > 1:
        raise DataError(f"{file}: {role} {name!r} is listed twice; list each {role} once")
    return {row[place]: dict(zip(columns, row, strict=True)) for row in named}


def read_assignment(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """The (item, annotator) pairs of a file that ``spagree assign`` wrote."""
    file, columns, cells = _read(path)
    if not {"item", "annotator"} <= set(columns):
        raise DataError(
            f"{file}: an assignment has the columns item and annotator, as spagree assign writes them; "
            f"this file has {listed(columns)}"
        )
    item, annotator = (columns.index(name) for name in ("item", "annotator"))
    return [(row[item], row[annotator]) for row in cells if row[item] and row[annotator]]


def _read(path: str | os.PathLike[str]) -> tuple[str, list[str], list[tuple[str, ...]]]:
    """The name of a file, its columns, and its cells as text."""
    with tempfile.TemporaryDirectory(prefix="spagree-") as scratch:
        table = file_table(paths.gather([path], Path(scratch)), Request(), Path(scratch))
        places = range(len(table.columns))
        frame = table.load(places).select(*(nw.col(cell(place)).cast(nw.String) for place in places))
        cells = [tuple("" if value is None else str(value) for value in row) for row in rows(frame)]
    return table.name, list(table.columns), cells


TOOLS = ("label-studio", "potato")
Columns = Mapping[str, Mapping[str, Any]]
"""What each item's task shows: column → value."""


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
    ending = "json" if tool == "label-studio" else "jsonl"
    paths = [place / f"{stem}.{ending}" for stem in _stems(list(own))]
    for path, (name, items) in zip(paths, own.items(), strict=True):
        shown = {item: columns.get(item, {}) for item in items}
        if tool == "label-studio":
            tasks = [{"data": {**cells, "item": item, "assigned_to": name}} for item, cells in shown.items()]
            text = json.dumps(tasks, ensure_ascii=False, indent=1)
        else:
            whole = {item: {"id": item, "text": str(cells.get("text", item)), **cells} for item, cells in shown.items()}
            lines = [json.dumps({**line, "assigned_to": name}, ensure_ascii=False) for line in whole.values()]
            text = "".join(f"{line}\n" for line in lines)
        write_atomically(path, lambda beside, text=text: beside.write_text(text, "utf-8"), force=force)  # type: ignore[misc]
    return paths


def _stems(names: list[str]) -> list[str]:
    """File names for people: readable, safe on every system, and distinct."""
    seen: set[str] = set()
    stems = []
    for number, name in enumerate(names, start=1):
        stem = re.sub(r"[^\w.@-]+", "_", name).lstrip(".") or "annotator"
        stem = f"{stem}-{number}" if stem.lower().rstrip(".") in seen else stem
        seen.add(stem.lower().rstrip("."))
        stems.append(stem)
    return stems
