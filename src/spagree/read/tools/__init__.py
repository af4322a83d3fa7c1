"""Exports of annotation tools → Annotations, one per question.

origin (what is it?) ─ registry (which tool?) ─ the tool's file: responses ─ export (rules) ─ Annotations

A reader is one file that declares where its tool keeps item, annotator, label and time, and yields
:class:`~spagree.read.tools.tool.Response` objects. docs/formats.md shows how to write one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import narwhals as nw

from spagree.errors import FileError, UsageError
from spagree.read import cells
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, TIME, Annotations, Understood
from spagree.read.layouts import SHOWN_EXAMPLES
from spagree.read.tools.export import Export, Rules, gather
from spagree.read.tools.origin import SPECIAL, Origin, look
from spagree.read.tools.registry import MODULES, find
from spagree.read.tools.tool import Asked, Tool

__all__ = ["MODULES", "Asked", "Origin", "Rules", "Tool", "find", "look", "read_export"]


def read_export(
    origin: Origin, tool: Tool, asked: Asked, rules: Rules, *, missing: tuple[str, ...] = (), every: bool = False
) -> dict[str, Annotations]:
    """The annotations of the question the user means, or of every question."""
    _refuse_shape(origin, tool)
    _refuse_renames(tool, asked)
    export = gather(tool.responses(origin, asked), tool, rules, origin.name)
    questions = export.chosen(asked.question, every=every, name=origin.name)
    told = {question: _understood(origin, export, question, asked, rules) for question in questions}
    return {question: _annotations(export, question, asked, told[question], missing) for question in questions}


def _refuse_shape(origin: Origin, tool: Tool) -> None:
    """A folder, an archive or a database, where the user named a tool that writes none."""
    if origin.shape in SPECIAL and origin.shape not in tool.shapes:
        raise FileError(f"{origin.name}: is a {origin.shape}, and {tool.title} exports are files; name the files")


def _refuse_renames(tool: Tool, asked: Asked) -> None:
    """Another field can be named only where the tool has a choice of them."""
    for role in (ITEM, ANNOTATOR, TIME):
        name = getattr(asked, role)
        if name is not None and role not in tool.renames:
            where = tool.fields.get(role, "none")
            raise UsageError(
                f"--{role} {name}: a {tool.title} export has no choice of the {role} ({where}); "
                "leave it out, or read the file as a plain table with --format long"
            )


def _annotations(
    export: Export, question: str, asked: Asked, understood: Understood, missing: tuple[str, ...]
) -> Annotations:
    before = len(asked.cautions)
    frame = export.frame(question, asked)
    cautions = tuple(asked.cautions)
    del asked.cautions[before:]  # they concern this question only
    lazy: nw.LazyFrame[Any] = cells.with_missing(nw.from_native(frame.lazy()), missing)
    present = {role: name for role, name in understood.columns.items() if role in frame.columns}
    shown = [role for role in (ITEM, ANNOTATOR, LABEL) if role in frame.columns]
    examples = tuple(tuple(str(each) for each in row) for row in frame.select(shown).head(SHOWN_EXAMPLES).rows())
    complete = replace(understood, columns=present, examples=examples)
    return Annotations(lazy, complete, cautions, export.left_out.get(question, {}))


def _understood(origin: Origin, export: Export, question: str, asked: Asked, rules: Rules) -> Understood:
    """Where each role came from: as the tool calls it, or as the user did; and what counted."""
    tool = export.tool
    found = {role: getattr(asked, role) or tool.fields.get(role, "") for role in (ITEM, ANNOTATOR, TIME)}
    columns = {ITEM: found[ITEM], ANNOTATOR: found[ANNOTATOR], LABEL: question, TIME: found[TIME]}
    others = [name for name in export.questions if name != question]
    more = [f"other questions: {', '.join(others)}"] if others else []
    return Understood(origin.name, tool.name, columns, rules=(*more, f"counted: {rules.in_words(tool)}"))
