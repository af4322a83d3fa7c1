"""Programs for qualitative analysis: QualCoder, RQDA and Taguette, which keep databases, and the exchange format
REFI-QDA.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from spagree.errors import DataError
from spagree.read.tools.marks import BYTES, CHARACTERS, UTF16, Mark, Marks
from spagree.read.tools.records import inside, opened
from spagree.read.tools.source import ARCHIVE, DATABASE, FOLDER, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool

QUALCODER = """
    SELECT s.name, c.owner, n.name, c.pos0, c.pos1, c.seltext, s.fulltext
    FROM code_text c JOIN source s ON s.id = c.fid JOIN code_name n ON n.cid = c.cid ORDER BY c.ctid"""
RQDA = """
    SELECT s.name, c.owner, n.name, c.selfirst, c.selend, c.seltext, s.file
    FROM coding c JOIN source s ON s.id = c.fid JOIN freecode n ON n.id = c.cid WHERE c.status = 1"""
TAGUETTE = """
    SELECT CASE WHEN (SELECT COUNT(*) FROM documents o WHERE o.name = d.name) > 1
                THEN d.name || ' ' || d.id ELSE d.name END,
           (SELECT user_login FROM commands c
            WHERE c.document_id = h.document_id AND json_extract(c.payload, '$.type') = 'highlight_add'
              AND json_extract(c.payload, '$.highlight_id') = h.id ORDER BY c.id),
           COALESCE(t.path, ''), h.start_offset, h.end_offset, NULL, d.contents
    FROM highlights h JOIN documents d ON d.id = h.document_id
    LEFT JOIN highlight_tags ht ON ht.highlight_id = h.id LEFT JOIN tags t ON t.id = ht.tag_id ORDER BY h.id, t.path"""
TAGS = re.compile(r"<[^>]*>")
REFI = "{urn:QDA-XML:project:1.0}"
INTERNAL = "internal://"


def _database_tool(
    name: str,
    title: str,
    suffix: str,
    tables: tuple[str, ...],
    query: str,
    units: tuple[str, ...],
    plain: Callable[[str], str] = str,
    alone: str = "",
) -> Tool:
    """A program whose projects are SQLite databases; several projects are several people, as RQDA needs them.

    ``plain`` makes the stored text what offsets count; ``alone`` says what it means if there is one person.
    """

    def recognise(source: Source) -> bool:
        return any(name.endswith(suffix) for name in source.keys) if source.shape == FOLDER else source.has(*tables)

    def responses(source: Source, _: ReaderOptions) -> Iterator[Response]:
        projects = [source]
        if source.shape == FOLDER:
            paths = [Path(source.path) / name for name in source.keys if name.endswith(suffix)]
            projects = [replace(source, name=str(path), path=str(path), shape=DATABASE) for path in paths]
        found: list[tuple[str, Any]] = []
        for project in projects:
            with opened(project) as connection:
                found += [(Path(project.path).stem, row) for row in connection.execute(query)]
        if alone and len({row[1] for _, row in found}) == 1:
            raise DataError(f"{source.name}: {alone}")
        files = Counter(owner for owner, _ in {(row[1], stem) for stem, row in found})
        marks: defaultdict[tuple[str, str], Marks] = defaultdict(lambda: Marks(source.name, units=units))
        for stem, (item, owner, code, start, end, quote, text) in found:
            who = owner if files[owner] == 1 else stem  # projects may all name the same owner
            visit = marks[item, who]
            visit.place, visit.texts = f"{source.name}: {item}, {who}", [plain(text)] if text else []
            visit.marks.append(Mark(code, start, end, quote))
        for (item, who), given in marks.items():
            yield Response(item, who, {"code": given}, text=next(iter(given.texts), None))

    return Tool(
        name=name,
        title=title,
        fields={"item": "source", "annotator": "owner"},
        recognise=recognise,
        responses=responses,
        renames=(),
        shapes=(DATABASE, FOLDER),
    )


QUALCODER_TOOL = _database_tool(
    "qualcoder", "QualCoder", "data.qda", ("code_text", "code_name", "source"), QUALCODER, (UTF16, CHARACTERS)
)
RQDA_TOOL = _database_tool("rqda", "RQDA", ".rqda", ("coding", "freecode", "source"), RQDA, (CHARACTERS, UTF16))
TAGUETTE_TOOL = _database_tool(
    "taguette",
    "Taguette",
    "taguette.sqlite3",
    ("highlights", "highlight_tags", "commands"),
    TAGUETTE,
    (BYTES,),
    lambda contents: unescape(TAGS.sub("", contents)),
    "one user made all highlights, as an exported project says of everybody; give the database of the server",
)


def recognise_refi(source: Source) -> bool:
    """An archive with the project in it."""
    return source.shape == ARCHIVE and any(name.endswith(".qde") for name in source.keys)


def refi_responses(source: Source, _: ReaderOptions) -> Iterator[Response]:
    """The codings of texts; what is coded in pictures, audio and video is left aside."""
    files = {path: content for path, _, content in inside(source, ".qde", ".txt")}
    project = ElementTree.fromstring(  # noqa: S314 (expat limits what entities become)
        next((content for path, content in files.items() if path.suffix == ".qde"), b"")
    )
    users = {user.get("guid"): user.get("name") for user in project.iter(f"{REFI}User")}
    codes = {code.get("guid"): code.get("name") for code in project.iter(f"{REFI}Code")}
    texts = {path.name: content.decode("utf-8-sig") for path, content in files.items()}
    for place in project.find(f"{REFI}Sources") or ():
        representation = place.find(f"{REFI}Representation")
        path = (place if representation is None else representation).get("plainTextPath") or ""
        text, name = texts.get(path.removeprefix(INTERNAL)), place.get("name") or ""
        given: defaultdict[str | None, list[Mark]] = defaultdict(list)
        for selection in place.iter(f"{REFI}PlainTextSelection"):
            start, end = selection.get("startPosition"), selection.get("endPosition")
            for coding in selection.findall(f"{REFI}Coding"):
                code = coding.find(f"{REFI}CodeRef")
                label = codes.get(code.get("targetGUID")) if code is not None else None
                given[users.get(coding.get("creatingUser"))].append(Mark(label or "", start, end))
        for who, marks in given.items():
            coded = Marks(f"{source.name}: {name}", marks, [text] if text else [], (CHARACTERS, UTF16))
            yield Response(name, who, {"code": coded}, text=text)


REFI_TOOL = Tool(
    name="refi-qda",
    title="REFI-QDA",
    fields={"item": "source", "annotator": "user"},
    recognise=recognise_refi,
    responses=refi_responses,
    renames=(),
    shapes=(ARCHIVE,),
)
