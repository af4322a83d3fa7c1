"""Programs in which people mark texts, sound and video.

brat, factgenie and the translation errors of the WMT campaigns (MQM); tiers of ELAN and Praat, in seconds, and
sets of annotations of GATE, each an annotator; QualCoder, RQDA and Taguette, which keep databases; REFI-QDA.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

from spagree.errors import DataError, Warning, count, listed
from spagree.read.databases.queries import opened
from spagree.read.files.delimited import as_utf8
from spagree.read.files.json import as_text
from spagree.read.tools.fields import Record, entries, first
from spagree.read.tools.marks import BYTES, CHARACTERS, UTF16, Mark, Marks
from spagree.read.tools.records import elements, file_records, inside, members
from spagree.read.tools.source import ARCHIVE, DATABASE, FOLDER, OBJECTS, SERVER, TABLE, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool, shows

SPAN = re.compile(r"T\d+\t(\S+) (\d+ \d+(?:;\d+ \d+)*)\t?(.*)")


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
    recognise=shows((FOLDER, "*.ann"), (ARCHIVE, "*.ann")),
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
    texts = {_example(record): as_text(record["output"]) for record in given if "output" in record}
    for record in given:
        if "annotations" in record:
            item, who = _example(record), first(record, (options.annotator or "annotator_group",))
            marks = Marks(record.place, [], [texts[item]] if item in texts else [])
            for span in entries(record["annotations"], record.place):
                text, kind, start = as_text(span.get("text")), as_text(span.get("type")), span.get("start")
                name = names[int(kind)] if kind.isdecimal() and int(kind) < len(names) else kind
                end: Any = None if start is None else int(as_text(start)) + len(text)
                marks.marks.append(Mark(name, start, end, text))
            yield Response(item, who, {"category": marks}, row=record.number, text=texts.get(item), fields=record)


def _example(record: Record) -> str:
    """What identifies an output; files spell the same system phi3.5 and phi3-5."""
    return " ".join(record.cell(name).replace(".", "-") for name in EXAMPLE)


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


Tiers = Iterator[tuple[str, list[Mark], list[str]]]  # annotator, marks, and their text if there is one
EMPTY = "default"  # the tier that ELAN puts into every new file
VALUE = re.compile(r'"((?:[^"]|"")*)"|(?<![\[\w.-])(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\]\w])')
START, GATE_ROOT = 4096, b"<GateDocument"
NOBODY = frozenset(("", "Original markups"))  # GATE's own sets: the default one, and the tags of HTML
SEGMENTS = frozenset(("Token", "SpaceToken", "Sentence", "Split", "paragraph"))  # of programs, in any set


def _tool(
    name: str, title: str, suffix: str, question: str, tiers: Callable[[str, bytes], Tiers], root: bytes = b""
) -> Tool:
    """A program whose files end in ``suffix``, and have ``root`` near their beginning; the tiers are of one file."""

    def recognise(source: Source) -> bool:
        fits = [file.name.lower().endswith(suffix) for file in source.files]
        if source.shape != FOLDER and not (fits and all(fits)):
            return False
        _, _, content = next(inside(source, suffix), ("", "", None))
        return content is not None and root in content[:START]

    def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
        people: dict[str, None] = {}
        for path, place, content in inside(source, suffix):
            for who, marks, texts in tiers(place, content):
                people.setdefault(who)
                given = Marks(f"{place}: {question} {who}", marks, texts)
                yield Response(str(path.with_suffix("")), who, {question: given}, text=next(iter(texts), None))
        named = f"each {question} counts as an annotator: {listed(list(people), 10)}"
        message = f"{named}; if they are speakers or programs, this is no agreement"
        options.warnings.append(Warning("tiers_are_annotators", message))

    fields = {"item": "file name", "annotator": question}
    return Tool(name, title, fields, recognise, responses, renames=(), shapes=(FOLDER,))


def _elan(_: str, content: bytes) -> Tiers:
    """The tiers whose annotations have times; a person without annotations has an empty tier."""
    document = ElementTree.fromstring(content)  # noqa: S314 (expat limits what entities become)
    times = {slot.get("TIME_SLOT_ID"): slot.get("TIME_VALUE") for slot in document.iter("TIME_SLOT")}
    for tier in document.iter("TIER"):
        name, marks = tier.get("ANNOTATOR") or tier.get("TIER_ID") or "", []
        for annotation in tier.iter("ALIGNABLE_ANNOTATION"):
            ends = [times.get(annotation.get(f"TIME_SLOT_REF{end}")) for end in (1, 2)]
            start, end = (float(time) / 1000 if time else None for time in ends)
            marks.append(Mark(annotation.findtext("ANNOTATION_VALUE") or "", start, end))
        if marks or not (name == EMPTY or tier.get("PARENT_REF")):
            yield name, marks, []


def _praat(place: str, content: bytes) -> Tiers:
    """The tiers of intervals, in the long and the short form; gaps are intervals without text."""
    text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    values = iter(
        [match[1].replace('""', '"') if match[2] is None else float(match[2]) for match in VALUE.finditer(text)]
    )
    try:
        kind, _, _, _, size = (next(values) for _ in range(5))
        for _ in range(int(size)):
            kind, name, _, _, length = (next(values) for _ in range(5))
            parts = [[next(values) for _ in range(3 if kind == "IntervalTier" else 2)] for _ in range(int(length))]
            if kind == "IntervalTier":
                yield str(name), [Mark(str(label), start, end) for start, end, label in parts if str(label).strip()], []
    except (StopIteration, RuntimeError, ValueError):
        raise DataError(f"{place}: not a TextGrid as Praat writes it; save it again as text") from None


def _gate(place: str, content: bytes) -> Tiers:
    """The named sets of annotations; nodes between characters tell where they begin and end."""
    nodes: dict[str, int] = {}
    text: list[str] = []
    size, is_text, who = 0, False, ""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for name, attributes, line, between in elements(place, content):
        if name.endswith("TextWithNodes"):
            is_text = not name.startswith("/")
        elif name == "Node":
            nodes[attributes.get("id", "")] = size
        elif name == "AnnotationSet":
            who = attributes.get("Name", "")
            if who not in NOBODY:
                found.setdefault(who, [])
        elif name == "Annotation" and who in found and attributes.get("Type") not in SEGMENTS:
            kind, *ends = (attributes.get(key, "") for key in ("Type", "StartNode", "EndNode"))
            found[who].append((kind, *ends, line))
        elif is_text and not name:
            text.append(between)
            size += len(between)
    for who, made in found.items():
        marks = []
        for kind, start, end, line in made:
            if start not in nodes or end not in nodes:
                raise DataError(f"{place}:{line}: a mark from node {start} to {end}, which the text does not have")
            marks.append(Mark(kind, nodes[start], nodes[end], place=f"{place}:{line}"))
        yield who, marks, ["".join(text)]


ELAN = _tool("elan", "ELAN", ".eaf", "tier", _elan)
PRAAT = _tool("praat", "Praat", ".textgrid", "tier", _praat)
GATE = _tool("gate", "GATE", ".xml", "annotation set", _gate, GATE_ROOT)


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


def _database(
    name: str, title: str, suffix: str, tables: tuple[str, ...], query: str, units: tuple[str, ...], alone: str = ""
) -> Tool:
    """A program whose projects are SQLite databases; several projects are several people, as RQDA needs them.

    ``alone`` says what it means if there is one person.
    """

    def responses(source: Source, _: ReaderOptions) -> Iterator[Response]:
        projects = [source]
        if source.shape == FOLDER:
            paths = [Path(source.path) / name for name in source.keys if name.endswith(suffix)]
            projects = [replace(source, name=str(path), path=str(path), shape=DATABASE) for path in paths]
        found: list[tuple[str, Any]] = []
        for project in projects:
            with opened(project.path, project.name, is_ours=True) as connection:
                found += [(Path(project.path).stem, row) for row in connection.execute(query)]
        if alone and len({row[1] for _, row in found}) == 1:
            raise DataError(f"{source.name}: {alone}")
        files = Counter(owner for owner, _ in {(row[1], stem) for stem, row in found})
        marks: defaultdict[tuple[str, str], Marks] = defaultdict(lambda: Marks(source.name, units=units))
        for stem, (item, owner, code, start, end, quote, text) in found:
            who = owner if files[owner] == 1 else stem  # projects may all name the same owner
            visit = marks[item, who]
            plain = unescape(TAGS.sub("", text)) if text and BYTES in units else text  # Taguette's text is HTML
            visit.place, visit.texts = f"{source.name}: {item}, {who}", [plain] if text else []
            visit.marks.append(Mark(code, start, end, quote))
        for (item, who), given in marks.items():
            yield Response(item, who, {"code": given}, text=next(iter(given.texts), None))

    fields = {"item": "source", "annotator": "owner"}
    recognise = shows((FOLDER, f"*{suffix}"), (DATABASE, *tables), (SERVER, *tables))
    return Tool(name, title, fields, recognise, responses, renames=(), shapes=(DATABASE, FOLDER))


PEOPLE = "one user made all highlights, as an exported project says of everybody; give the database of the server"
QUALCODER_TOOL = _database(
    "qualcoder", "QualCoder", "data.qda", ("code_text", "code_name", "source"), QUALCODER, (UTF16, CHARACTERS)
)
RQDA_TOOL = _database("rqda", "RQDA", ".rqda", ("coding", "freecode", "source"), RQDA, (CHARACTERS, UTF16))
TABLES = ("highlights", "highlight_tags", "commands")
TAGUETTE_TOOL = _database("taguette", "Taguette", "taguette.sqlite3", TABLES, TAGUETTE, (BYTES,), PEOPLE)


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
    recognise=shows((ARCHIVE, "*.qde")),
    responses=refi_responses,
    renames=(),
    shapes=(ARCHIVE,),
)
