"""All tools whose exports are read, in one place; a new reader is one more line here."""

from __future__ import annotations

from importlib import import_module

from spagree.errors import UsageError
from spagree.read.databases.query import needed
from spagree.read.tools.source import DATABASE, SERVER, Source
from spagree.read.tools.tool import Tool

# The name for --format → the file that reads it, which is loaded when it is needed.
MODULES = {
    "label-studio": "label_studio",
    "prodigy": "prodigy",
    "doccano": "doccano",
    "argilla": "argilla",
    "mturk": "mturk",
    "ground-truth": "ground_truth",
    "appen": "appen",
    "toloka": "toloka",
    "labelbox": "labelbox",
    "potato": "potato",
    "huggingface": "huggingface",
    "inception": "inception",
    "per-annotator": "per_annotator",
}


def load(name: str) -> Tool:
    """The tool of a name.

    >>> load("label-studio").title
    'Label Studio'
    """
    tool: Tool = import_module(f"spagree.read.tools.{MODULES[name]}").TOOL
    return tool


def find(source: Source, format: str) -> Tool | None:
    """The tool the user named, or the one that recognises its own; None for a plain table."""
    if format in MODULES:
        return load(format)
    found = [tool for tool in map(load, MODULES) if tool.recognise(source)]
    if len(found) > 1:
        names = ", ".join(f"--format {tool.name}" for tool in found)
        titles = " and of ".join(tool.title for tool in found)
        raise UsageError(f"{source.name}: could be an export of {titles}; say which: {names}, or --format long")
    if not found and source.shape in (DATABASE, SERVER):
        raise needed(source.name, source.keys)
    return found[0] if found else None
