"""brat: a folder for each annotator, with a file of annotations beside each text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from spagree.errors import DataError, count
from spagree.messages import Warning
from spagree.read.tools.records import inside
from spagree.read.tools.source import ARCHIVE, FOLDER, Source
from spagree.read.tools.tool import Mark, Marks, ReaderOptions, Response, Tool

SPAN = re.compile(r"T\d+\t(\S+) (\d+ \d+(?:;\d+ \d+)*)\t?(.*)")


def recognise(source: Source) -> bool:
    """Files of annotations."""
    return source.shape in (FOLDER, ARCHIVE) and any(name.endswith(".ann") for name in source.keys)


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """The spans of each annotator; an empty file is there before anybody works on the text, so it shows no visit."""
    files = {name: content.decode("utf-8-sig") for name, content in inside(source, ".ann", ".txt")}
    apart = 0
    for name, content in files.items():
        path = PurePosixPath(name)
        if path.suffix != ".ann" or not content.strip():
            continue
        if len(path.parts) == 1:
            raise DataError(
                f"{source.name}: annotations of one person, or of people who are not named; give a folder that has a "
                "folder of the same texts for each annotator"
            )
        text = files.get(str(path.with_suffix(".txt")))
        marks = Marks(name, [], [] if text is None else [text])
        for number, line in enumerate(content.splitlines(), 1):
            if (span := SPAN.fullmatch(line)) is None:
                if line.startswith("T"):
                    raise DataError(f"{source.name}/{name}:{number}: not a span as brat writes it; export it again")
                continue  # relations, events, attributes and notes
            ends = span[2].replace(";", " ").split()
            apart += ";" in span[2]
            quote = None if ";" in span[2] else span[3]
            marks.marks.append(Mark(span[1], ends[0], ends[-1], quote, f"{source.name}/{name}:{number}"))
        item = str(PurePosixPath(*path.parts[1:]).with_suffix(""))
        yield Response(item, path.parts[0], {"span": marks}, text=text)
    if apart:
        message = (
            f"{count(apart, 'mark')} of several parts: each counts from the start of its first to the end of its last"
        )
        options.warnings.append(Warning("marks_in_parts", message))


TOOL = Tool(
    name="brat",
    title="brat",
    fields={"item": "text", "annotator": "folder"},
    recognise=recognise,
    responses=responses,
    renames=frozenset(),
    shapes=frozenset({FOLDER, ARCHIVE}),
)
