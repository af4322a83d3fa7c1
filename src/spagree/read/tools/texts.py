"""Marks in texts: brat, factgenie, and the translation errors of the WMT campaigns (MQM)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from spagree.errors import DataError, count
from spagree.messages import Warning
from spagree.read.files.delimited import as_utf8
from spagree.read.files.json import as_text
from spagree.read.tools.marks import Mark, Marks
from spagree.read.tools.records import Record, cell, entries, file_records, first, inside, members
from spagree.read.tools.source import ARCHIVE, FOLDER, OBJECTS, TABLE, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool, shows

SPAN = re.compile(r"T\d+\t(\S+) (\d+ \d+(?:;\d+ \d+)*)\t?(.*)")


def recognise_brat(source: Source) -> bool:
    """Files of annotations."""
    return source.shape in (FOLDER, ARCHIVE) and any(name.endswith(".ann") for name in source.keys)


def brat_responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """The spans of each annotator; an empty file is there before anybody works on the text, so it shows no visit."""
    files = {path: (place, data.decode("utf-8-sig")) for path, place, data in inside(source, ".ann", ".txt")}
    apart = 0
    for path, (place, content) in files.items():
        if path.suffix != ".ann" or not content.strip():
            continue
        if len(path.parts) == 1:
            raise DataError(
                f"{source.name}: annotations of one person, or of people who are not named; give a folder that has a "
                "folder of the same texts for each annotator"
            )
        _, text = files.get(path.with_suffix(".txt"), ("", None))
        marks = Marks(str(path), [], [] if text is None else [text])
        for number, line in enumerate(content.splitlines(), 1):
            if (span := SPAN.fullmatch(line)) is None:
                if line.startswith("T"):
                    raise DataError(f"{place}:{number}: not a span as brat writes it; export it again")
                continue  # relations, events, attributes and notes
            ends = span[2].replace(";", " ").split()
            apart += ";" in span[2]
            quote = None if ";" in span[2] else span[3]
            marks.marks.append(Mark(span[1], ends[0], ends[-1], quote, f"{place}:{number}"))
        item = str(PurePosixPath(*path.parts[1:]).with_suffix(""))
        yield Response(item, path.parts[0], {"span": marks}, text=text)
    if apart:
        parts = "each counts from the start of its first to the end of its last"
        options.warnings.append(Warning("marks_in_parts", f"{count(apart, 'mark')} of several parts: {parts}"))


BRAT = Tool(
    name="brat",
    title="brat",
    fields={"item": "text", "annotator": "folder"},
    recognise=recognise_brat,
    responses=brat_responses,
    renames=(),
    shapes=(FOLDER, ARCHIVE),
)


EXAMPLE = ("dataset", "split", "example_idx", "setup_id")
CATEGORY = re.compile(r"^- name: *(.+?) *$", re.MULTILINE)


def factgenie_responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
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


FACTGENIE = Tool(
    name="factgenie",
    title="factgenie",
    fields={"item": "dataset, split, example_idx, setup_id", "annotator": "annotator_group"},
    recognise=shows((FOLDER, "config.yaml", "annotations.jsonl"), (OBJECTS, "annotations", *EXAMPLE)),
    responses=factgenie_responses,
    renames=("annotator",),
    shapes=(FOLDER,),
    tells_seen=True,
)


ERROR = ("system", "doc", "rater", "source", "target", "category", "severity")
SEGMENT = ("globalSegId", "global_seg_id", "seg_id", "docSegId")
OPENED, CLOSED = "<v>", "</v>"
CONTROLS, NONE = "HOTW-test", "no-error"


def mqm_responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """The errors of each rater in each segment; a row without an error is a segment without errors."""
    found: dict[tuple[str, str], Response] = {}
    for file in source.files:
        lines = as_utf8(file, options.encoding, options.scratch).path.read_text("utf-8-sig").split("\n")
        names = lines[0].rstrip("\r").split("\t")
        for number, line in enumerate(lines[1:], 2):  # quotation marks are text
            cells = line.rstrip("\r").split("\t")
            if cells == [""]:
                continue
            place, row = f"{file.name}:{number}", dict(zip(names, cells, strict=False))
            if len(row) < len(ERROR):
                raise DataError(
                    f"{place}: {len(cells)} cells, but the header names {len(names)} columns; download it again"
                )
            item = " ".join([row["system"], row["doc"], first(row, SEGMENT) or ""]).strip()
            text = row["target"].replace(OPENED, "").replace(CLOSED, "")
            empty = Response(
                item, row["rater"], {"category": Marks(place, [], [text])}, row=number, text=text, fields=row
            )
            response = found.setdefault((item, row["rater"]), empty)
            marks = response.answers["category"]
            # a control was put into the text to test the rater
            is_none = row["severity"] == CONTROLS or row["category"].casefold() == NONE
            if isinstance(marks, Marks) and OPENED in row["target"] and not is_none:
                start = row["target"].index(OPENED)
                end = row["target"].find(CLOSED) - len(OPENED)
                marks.marks.append(Mark(row["category"], start, end, place=place))
    yield from found.values()


MQM = Tool(
    name="mqm",
    title="MQM",
    fields={"item": "system, doc, segment", "annotator": "rater"},
    recognise=shows((TABLE, *ERROR)),
    responses=mqm_responses,
    renames=(),
    tells_seen=True,
)
