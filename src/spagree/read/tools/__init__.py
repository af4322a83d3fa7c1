"""Exports of annotation tools → Annotations, one per question.

source (what is it?) ─ registry (which tool?) ─ the tool's file: responses ─ export (by rules) ─ questions: Annotations

A reader is one file that declares where its tool keeps item, annotator, label and time, and yields
:class:`~spagree.read.tools.tool.Response` objects. docs/formats.md shows how to write one.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# What a reader needs, by module; loaded when asked for, because a plain table needs none of it.
_HOMES = {
    "MODULES": "registry",
    "ReaderOptions": "tool",
    "Rules": "rules",
    "Source": "source",
    "Tool": "tool",
    "find": "registry",
    "look": "source",
    "read_export": "questions",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
