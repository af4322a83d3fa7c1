"""INCEpTION and WebAnno: the CSV of the agreement page, one row per position, one column per annotator."""

from __future__ import annotations

from collections.abc import Iterator

from spagree.read.tools.origin import TABLE, Origin
from spagree.read.tools.records import Record, known, records
from spagree.read.tools.tool import Asked, Response, Tool

PLACE = ("Type", "Collection", "Document", "Layer", "Feature", "Position")
OWN = frozenset((*PLACE, "Flags"))
ABSENT = frozenset(("", "<no annotation>", "<not evaluated>"))  # no annotation there: as an empty cell of a wide table
EMPTY = "<no label>"


def recognise(origin: Origin) -> bool:
    """The six columns that say where the annotation is."""
    return origin.shape == TABLE and origin.has(*PLACE)


def responses(origin: Origin, asked: Asked) -> Iterator[Response]:
    """A response for each filled cell; layer and feature are the question."""
    for _, line, row in records(origin, asked):
        question = f"{row['Layer'].rpartition('.')[2]}.{row['Feature']}".strip(".")
        item = " ".join(text for name in ("Collection", "Document", "Position") if (text := row[name]))
        for name in row:
            if name and name not in OWN and not _is_absent(row, name):
                value = None if row[name] == EMPTY else known(row[name])
                yield Response(item, name, {question: value}, row=line)


def _is_absent(row: Record, name: str) -> bool:
    """Releases before the column Flags wrote null."""
    return row[name] in ABSENT or ("Flags" not in row and row[name] == "null")


TOOL = Tool(
    name="inception",
    title="INCEpTION",
    fields={"item": "Document, Position", "annotator": "column"},
    recognise=recognise,
    responses=responses,
    renames=frozenset(),
)
