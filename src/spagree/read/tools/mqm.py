"""Translation errors of the WMT campaigns (MQM): one row for each error, marked in the text with <v> and </v>."""

from __future__ import annotations

from collections.abc import Iterator

from spagree.errors import DataError
from spagree.read.files.delimited import as_utf8
from spagree.read.tools.records import first
from spagree.read.tools.source import TABLE, Source
from spagree.read.tools.tool import Mark, Marks, ReaderOptions, Response, Tool

COLUMNS = ("system", "doc", "rater", "source", "target", "category", "severity")
SEGMENT = ("globalSegId", "global_seg_id", "seg_id", "docSegId")
START, END = "<v>", "</v>"
CONTROLS, NONE = "HOTW-test", "no-error"


def recognise(source: Source) -> bool:
    """The columns of the campaigns since 2020."""
    return source.shape == TABLE and source.has(*COLUMNS)


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
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
            if len(row) < len(COLUMNS):
                raise DataError(
                    f"{place}: {len(cells)} cells, but the header names {len(names)} columns; download it again"
                )
            item = " ".join([row["system"], row["doc"], first(row, SEGMENT) or ""]).strip()
            text = row["target"].replace(START, "").replace(END, "")
            empty = Response(
                item, row["rater"], {"category": Marks(place, [], [text])}, row=number, text=text, fields=row
            )
            response = found.setdefault((item, row["rater"]), empty)
            marks = response.answers["category"]
            # a control was put into the text to test the rater
            is_none = row["severity"] == CONTROLS or row["category"].casefold() == NONE
            if isinstance(marks, Marks) and START in row["target"] and not is_none:
                start = row["target"].index(START)
                end = row["target"].find(END) - len(START)
                marks.marks.append(Mark(row["category"], start, end, place=place))
    yield from found.values()


TOOL = Tool(
    name="mqm",
    title="MQM",
    fields={"item": "system, doc, segment", "annotator": "rater"},
    recognise=recognise,
    responses=responses,
    renames=frozenset(),
    tells_seen=True,
)
