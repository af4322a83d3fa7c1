"""factgenie: the spans of a campaign, with the texts that were annotated if the folder of the campaign is given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spagree.read.files.json import as_text
from spagree.read.tools.records import Record, cell, entries, file_records, first, members
from spagree.read.tools.source import FOLDER, OBJECTS, Source
from spagree.read.tools.tool import Mark, Marks, ReaderOptions, Response, Tool

EXAMPLE = ("dataset", "split", "example_idx", "setup_id")
CATEGORY = re.compile(r"^- name: *(.+?) *$", re.MULTILINE)


def recognise(source: Source) -> bool:
    """Annotations of outputs, alone or in the folder of their campaign."""
    if source.shape == FOLDER:
        return source.has("config.yaml", "annotations.jsonl")
    return source.shape == OBJECTS and source.has("annotations", *EXAMPLE)


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """The spans of each annotator in each output; an empty list is an output without errors."""
    given = [entry for file in members(source, ".jsonl") for entry in file_records(file, options)]
    names = CATEGORY.findall((Path(source.path) / "config.yaml").read_text("utf-8")) if source.shape == FOLDER else []
    texts = {_example(record, place): as_text(record["output"]) for place, _, record in given if "output" in record}
    for place, number, record in given:
        if "annotations" in record:
            item, who = _example(record, place), first(record, (options.annotator or "annotator_group",))
            marks = Marks(place, [], [texts[item]] if item in texts else [])
            for span in entries(record["annotations"], place):
                text, kind, start = as_text(span.get("text")), as_text(span.get("type")), span.get("start")
                name = names[int(kind)] if kind.isdecimal() and int(kind) < len(names) else kind
                end: Any = None if start is None else int(as_text(start)) + len(text)
                marks.marks.append(Mark(name, start, end, text))
            yield Response(item, who, {"category": marks}, row=number, text=texts.get(item), fields=record)


def _example(record: Record, place: str) -> str:
    """What identifies an output; files spell the same system phi3.5 and phi3-5."""
    return " ".join(cell(record, name, place).replace(".", "-") for name in EXAMPLE)


TOOL = Tool(
    name="factgenie",
    title="factgenie",
    fields={"item": "dataset, split, example_idx, setup_id", "annotator": "annotator_group"},
    recognise=recognise,
    responses=responses,
    renames=frozenset({"annotator"}),
    shapes=frozenset({FOLDER}),
    tells_seen=True,
)
