"""All tools whose exports can be read; a new reader is one more line here, or an entry point of another package."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from spagree import plugins
from spagree.errors import UsageError
from spagree.read.databases.addresses import needed
from spagree.read.tools import unreadable
from spagree.read.tools.source import COLUMNS, DATABASE, SERVER, TABLE, Source

if TYPE_CHECKING:
    from spagree.read.tools.tool import Tool

# The name for --format → the module that reads it, loaded on demand.
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
    "zooniverse": "zooniverse",
    "langfuse": "langfuse",
    "langsmith": "langsmith",
    "phoenix": "phoenix",
    "per-annotator": "per_annotator",
}
# A column that every table of the tool has; tables without it do not load the reader.
TELLING = {
    "HITId": "mturk",
    "hitid": "mturk",
    "_unit_id": "appen",
    "ASSIGNMENT:worker_id": "toloka",
    "annotation_id": "label-studio",
    "Layer": "inception",
    "subject_ids": "zooniverse",
    "dataType": "langfuse",
    "data_type": "langfuse",
    "run_id": "langsmith",
    "annotator_kind": "phoenix",
}


def load(name: str) -> Tool:
    """The tool with this name: built in, or from an installed package.

    >>> load("label-studio").title
    'Label Studio'
    """
    if name in MODULES:
        tool: Tool = import_module(f"spagree.read.tools.{MODULES[name]}").TOOL
        return tool
    from spagree.read.tools.tool import Tool

    extension = plugins.load(plugins.READERS, name)
    if not isinstance(extension, Tool):
        kind = type(extension).__name__
        raise UsageError(f"--format {name}: its package offers {kind}, not a Tool; update the package")
    return extension


def find(source: Source, format: str) -> Tool | None:
    """The tool the user named, or the one that recognises the source; None for a plain table."""
    if format != "auto":
        return load(format)
    tools = [tool for tool in map(load, _candidates(source)) if tool.recognise(source)]
    if len(tools) > 1:
        names = ", ".join(f"--format {tool.name}" for tool in tools)
        titles = " and of ".join(tool.title for tool in tools)
        raise UsageError(f"{source.name}: could be an export of {titles}; say which: {names}, or --format long")
    if not tools or tools[0].name == "huggingface":  # whose column names are not fixed
        unreadable.refuse(source)
    if not tools and source.shape in (DATABASE, SERVER):
        raise needed(source.name, source.keys)
    return tools[0] if tools else None


def _candidates(source: Source) -> Iterator[str]:
    """The tools that may have written the source; tables are judged by their columns."""
    if source.shape == COLUMNS:  # typed: people and labels are in lists or structures
        is_plain = not any("[" in kind or "(" in kind for kind in source.keys.values())
        return iter(() if is_plain and "prediction" not in source.keys else ("argilla", "huggingface"))
    if source.shape != TABLE:
        return iter(MODULES)
    return iter(dict.fromkeys(tool for column, tool in TELLING.items() if column in source.keys))
