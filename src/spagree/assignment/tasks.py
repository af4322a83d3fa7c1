"""A design as files: one CSV for everyone, and task files that annotation tools import."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spagree.assignment.design import Assignment
from spagree.errors import unknown_name
from spagree.write import save_frame, write_atomically

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
