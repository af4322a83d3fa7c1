"""INCEpTION and WebAnno: the CSV of the agreement page, one row per position, one column per annotator."""

from __future__ import annotations

from collections.abc import Iterator

from spagree.read.tools.records import cell, item_text, known, records
from spagree.read.tools.source import TABLE, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool

PLACE = ("Type", "Collection", "Document", "Layer", "Feature", "Position")
TOOL_COLUMNS = frozenset((*PLACE, "Flags"))
ABSENT = frozenset(("", "<no annotation>", "<not evaluated>"))  # no annotation, like an empty cell of a wide table
EMPTY = "<no label>"


def recognise(source: Source) -> bool:
    """The six columns that say where the annotation is."""
    return source.shape == TABLE and source.has(*PLACE)


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """One response per non-empty cell; layer and feature are the question."""
    for place, line, row in records(source, options):
        layer, feature = cell(row, "Layer", place), cell(row, "Feature", place)
        question = f"{layer.rpartition('.')[2]}.{feature}".strip(".")
        item = " ".join(filter(None, (cell(row, name, place) for name in ("Collection", "Document", "Position"))))
        text = item_text(row, options, place)
        absent = ABSENT if "Flags" in row else ABSENT | {"null"}  # as releases before that column wrote
        for name in row:
            if name and name not in TOOL_COLUMNS and row[name] not in absent:
                value = None if row[name] == EMPTY else known(row[name])
                yield Response(item, name, {question: value}, row=line, text=text, fields=row)


TOOL = Tool(
    name="inception",
    title="INCEpTION",
    fields={"item": "Document, Position", "annotator": "column"},
    recognise=recognise,
    responses=responses,
    renames=frozenset(),
)
