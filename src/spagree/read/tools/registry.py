"""All tools whose exports can be read; a new reader is one more line here, or an entry point of another package."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from spagree import plugins
from spagree.errors import DataError, UsageError, opt
from spagree.read.databases.addresses import needed
from spagree.read.files.paths import head, no_table
from spagree.read.tools.source import ARCHIVE, COLUMNS, DATABASE, FOLDER, OBJECTS, SERVER, TABLE, Source

if TYPE_CHECKING:
    from spagree.read.tools.tool import Tool

# The name for --format → the module that reads it, loaded on demand, with what it calls its tool if not TOOL; and a
# column that every table of the tool has, or the ending of its files: tables without them do not load the reader.
MODULES: Mapping[str, tuple[str, ...]] = {
    "label-studio": ("label_studio", "annotation_id"),
    "prodigy": ("prodigy",),
    "doccano": ("doccano",),
    "argilla": ("nested:ARGILLA",),
    "mturk": ("crowds:MTURK", "HITId", "hitid"),
    "ground-truth": ("crowds:GROUND_TRUTH",),
    "appen": ("crowds:APPEN", "_unit_id"),
    "toloka": ("crowds:TOLOKA", "ASSIGNMENT:worker_id"),
    "labelbox": ("labelbox",),
    "potato": ("potato",),
    "huggingface": ("nested:HUGGINGFACE",),
    "inception": ("inception", "Layer"),
    "zooniverse": ("crowds:ZOONIVERSE", "subject_ids"),
    "brat": ("span_tools:BRAT",),
    "factgenie": ("span_tools:FACTGENIE",),
    "mqm": ("span_tools:MQM", "rater"),
    "qualcoder": ("span_tools:QUALCODER_TOOL",),
    "rqda": ("span_tools:RQDA_TOOL",),
    "refi-qda": ("span_tools:REFI_TOOL",),
    "taguette": ("span_tools:TAGUETTE_TOOL",),
    "elan": ("span_tools:ELAN", ".eaf"),
    "praat": ("span_tools:PRAAT", ".textgrid"),
    "gate": ("span_tools:GATE", ".xml"),
    "langfuse": ("traces:LANGFUSE", "dataType", "data_type"),
    "langsmith": ("traces:LANGSMITH", "run_id"),
    "phoenix": ("traces:PHOENIX", "annotator_kind"),
    "per-annotator": ("per_annotator",),
}

START = 4096
CVAT_HOLDS = "a CVAT export: boxes, tracks and tags of images, without who drew them"
BRAT = re.compile(r"(T\d+\t\S+ \d+ \d+|[RE]\d+\t\S+ \S+:\S+|A\d+\t\S+ [TER]\d+)")
CVAT = re.compile(r"<annotations>.*?<(version|meta|image|track)\b", re.DOTALL)
# Tools whose JSON is not read: the keys that identify them, and where the classes and annotators are.
JSON_TOOLS: Mapping[str, tuple[set[str], str]] = {
    "V7": ({"item", "annotations", "version"}, "annotations[].name and .annotators[].email"),
    "SuperAnnotate": ({"instances", "metadata"}, "instances[].className and .createdBy.email"),
    "LightTag": ({"examples", "schema"}, "examples[].classifications[].classname and .annotated_by[].annotator"),
    "tagtog": ({"annotatable", "anncomplete"}, "metas[].value, a file for each annotator"),
    "Dataloop": ({"filename", "annotations"}, "annotations[].label and .creator"),
    "Scale": ({"task_id", "type", "response"}, "response.annotations; who answered is not in it"),
    "Weights & Biases": ({"weave_ref", "feedback_type", "payload"}, "weave_ref, wb_user_id and payload.value"),
    "Kili": ({"labels", "externalId"}, "labels[].jsonResponse.JOB.categories[].name and labels[].author.email"),
}
PLACES = {"a COCO file": {"images", "annotations", "categories"}, "a CVAT export": {"shapes", "tracks", "tags"}}


def load(name: str) -> Tool:
    """The tool with this name: built in, or from an installed package.

    >>> load("label-studio").title
    'Label Studio'
    """
    if name in MODULES:
        module, _, constant = MODULES[name][0].partition(":")
        tool: Tool = getattr(import_module(f"spagree.read.tools.{module}"), constant or "TOOL")
        return tool
    from spagree.read.tools.tool import Tool

    extension = plugins.load(plugins.READERS, name)
    if not isinstance(extension, Tool):
        kind = type(extension).__name__
        raise UsageError(f"{opt.format(name)}: its package offers {kind}, not a Tool; update the package")
    return extension


def find(source: Source, format: str) -> Tool | None:
    """The tool the user named, or the one that recognises the source; None for a plain table."""
    if format != "auto":
        return load(format)
    ending = Path(source.files[0].name).suffix.lower() if source.files else ""
    candidates: Iterable[str] = MODULES
    if source.shape == COLUMNS:  # typed: people and labels are in lists or structures
        is_plain = not any("[" in kind or "(" in kind for kind in source.keys.values())
        candidates = () if is_plain and "prediction" not in source.keys else ("argilla", "huggingface")
    elif by_ending := [name for name, (_, *signs) in MODULES.items() if ending in signs]:
        candidates = by_ending
    elif source.shape == TABLE:  # tables are judged by their columns
        candidates = [name for name, (_, *signs) in MODULES.items() if any(sign in source.keys for sign in signs)]
    tools = [tool for tool in map(load, candidates) if tool.recognise(source)]
    if len(tools) > 1:
        names = ", ".join(f"{opt.format(tool.name)}" for tool in tools)
        titles = " and of ".join(tool.title for tool in tools)
        raise UsageError(f"{source.name}: could be an export of {titles}; say which: {names}, or {opt.format('long')}")
    if not tools or tools[0].name == "huggingface":  # whose column names are not fixed
        refuse(source)
    if not tools and source.shape in (DATABASE, SERVER):
        raise needed(source.name, source.keys)
    return tools[0] if tools else None


def refuse(source: Source) -> None:
    """Refuse files of unsupported tools and potato's own table; accept all others."""
    if source.shape in (FOLDER, ARCHIVE):
        names = [Path(name) for name in source.keys]
        if any(name.name == "annotations.xml" for name in names):
            _no_classes(source, CVAT_HOLDS)
        if any(name.suffix == ".xmi" or name.name.startswith(("TypeSystem", "exportedproject")) for name in names):
            raise DataError(
                f"{source.name}: documents of WebAnno or INCEpTION in a format that is not read, or without a folder "
                "for each document; export the project as WebAnno TSV or UIMA CAS, or the table of the Agreement page "
                "as CSV"
            )
    if source.shape == OBJECTS and source.objects:
        _refuse_objects(source, source.objects[0])
    if source.shape != TABLE or not source.files:
        return
    text = head(source.files[0], START).decode("utf-8-sig", errors="replace")
    if text.lstrip().startswith("<") and CVAT.search(text):
        _no_classes(source, CVAT_HOLDS)
    if text.lstrip().startswith("<?xml") or source.files[0].extension == ".xml":
        raise no_table(source.name, "an XML file")
    if BRAT.match(text) and Path(source.files[0].name).suffix in (".ann", ".txt", ""):
        raise DataError(f"{source.name}: a brat file; give the folder that has a folder for each annotator")
    if text.startswith("#FORMAT=WebAnno"):
        raise DataError(f"{source.name}: a document of one annotator; give the folder with a folder for each document")
    if source.has("user", "instance_id", "displayed_text"):
        raise DataError(
            f"{source.name}: potato's table of all annotations names one anonymous user; give the folder around it, "
            "which has a folder for each annotator"
        )


def _refuse_objects(source: Source, record: Mapping[str, Any]) -> None:
    """By the keys of the first object."""
    tasks = record.get("tasks")
    first = tasks[0] if isinstance(tasks, list) and tasks else None
    task = first if isinstance(first, dict) and "data" in first else record
    if "data" in task and isinstance(task.get("completions"), list):
        raise DataError(
            f"{source.name}: an export of Label Studio 0, with completions instead of annotations, which spagree does "
            "not read; export the project from version 1 as JSON, or write its classes as a table with the columns "
            "item, annotator and label (they are in id, in completions[].completed_by or .created_username, and in "
            "completions[].result[].value)"
        )
    if task is not record:
        raise DataError(
            f"{source.name}: tasks of Label Studio inside an object; save the list alone, for example with "
            "jq .tasks FILE > tasks.json, which can be read if the tasks have their annotations"
        )
    for what, keys in PLACES.items():
        if record.keys() >= keys:
            _no_classes(source, f"{what}: boxes and other places in images, without who drew them")
    for tool, (keys, where) in JSON_TOOLS.items():
        if record.keys() >= keys:
            raise DataError(
                f"{source.name}: looks like an export of {tool}, which spagree does not read; write its classes as a "
                f"table with the columns item, annotator and label (they are in {where})"
            )


def _no_classes(source: Source, what: str) -> NoReturn:
    raise DataError(
        f"{source.name}: {what}; spagree compares classes that several annotators gave to the same items: export those "
        "as a table (item, annotator, label)"
    )
