"""INCEpTION and WebAnno: the CSV of the agreement page, or the documents of a project as WebAnno TSV, or as CAS (XMI,
JSON).
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any
from zipfile import is_zipfile

from spagree.errors import DataError
from spagree.read.files.json import as_text
from spagree.read.files.paths import opened_zip
from spagree.read.tools.fields import known
from spagree.read.tools.marks import UTF16, Mark, Marks
from spagree.read.tools.records import elements, inside, records
from spagree.read.tools.source import ARCHIVE, FOLDER, TABLE, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool

PLACE = ("Type", "Collection", "Document", "Layer", "Feature", "Position")
TOOL_COLUMNS = frozenset((*PLACE, "Flags"))
ABSENT = frozenset(("", "<no annotation>", "<not evaluated>"))  # no annotation, like an empty cell of a wide table
EMPTY = "<no label>"
NOBODY = ("CURATION_USER", "INITIAL_CAS")
HEADER = re.compile(r"#T_(SP|CH|RL)=([^|]*)\|?(.*)")
TOKEN = re.compile(r"\d+-\d+(?:\.\d+)?\t(\d+)-(\d+)\t([^\t]*)\t?(.*)")
BETWEEN, NUMBER = re.compile(r"(?<!\\)\|"), re.compile(r"(?<!\\)\[(\d+)\]$")
ESCAPED, BLANKS = re.compile(r"\\(.)"), {"t": "\t", "n": "\n", "r": "\r"}


# What segments a text, what describes it as a whole, and what relates two annotations are no marks.
NO_LAYERS = frozenset(
    ("Token", "Sentence", "Paragraph", "Heading", "Div", "DocumentMetaData", "DocumentAnnotation", "TagsetDescription",
     "CASMetadata", "XmlDocument", "XmlElement", "XmlTextNode", "PdfPage", "PdfChunk", "Sofa")
)  # fmt: skip
ENDS = ("Governor", "Dependent")  # of a relation
OWN = frozenset(("id", "sofa", "begin", "end"))
VALUES = frozenset(
    f"uima.cas.{kind}" for kind in ["String", "Boolean", "Byte", "Short", "Integer", "Long", "Float", "Double"]
)
TSV, XMI, CAS, PACKED = ".tsv", ".xmi", ".json", ".zip"
FEATURES = b'"%FEATURE_STRUCTURES"'  # in every CAS written as JSON


def recognise(source: Source) -> bool:
    """The six columns that say where the annotation is, or a folder per document with a file per annotator."""
    if source.shape in (FOLDER, ARCHIVE):
        may_be = any(_is_document(PurePosixPath(name), TSV, XMI, CAS, PACKED) for name in source.keys)
        return may_be and next(_files(source), None) is not None
    return source.shape == TABLE and source.has(*PLACE)


def _is_document(path: PurePosixPath, *suffixes: str) -> bool:
    return path.suffix in suffixes and "." in path.parent.name and path.stem not in NOBODY


def _files(source: Source) -> Iterator[tuple[PurePosixPath, str, bytes, frozenset[str]]]:
    """The documents: path, place and content, and the features known to hold values and no references."""
    for path, place, content in inside(source, TSV, XMI, CAS, PACKED):
        if not _is_document(path, TSV, XMI, CAS, PACKED):
            continue
        if path.suffix == PACKED and is_zipfile(io.BytesIO(content)):  # under any name: a document and its types
            with opened_zip(io.BytesIO(content), place) as archive:
                files = {each: archive.read(each) for each in archive.namelist() if each.endswith((XMI, ".xml"))}
            types = [content for each, content in files.items() if each.endswith(".xml")]
            plain = frozenset(feature for each in types for feature in _plain_features(str(path), each))
            for name, each in files.items():
                own = path.with_name(PurePosixPath(name).name)
                if name.endswith(XMI) and _is_document(own, XMI):
                    yield own, f"{source.name}/{own}", each, plain
        elif path.suffix in (TSV, XMI) or (path.suffix == CAS and FEATURES in content):
            yield path, place, content, frozenset()


def _plain_features(place: str, types: bytes) -> Iterator[str]:
    """The features of a type system that hold texts, numbers or truths."""
    read = ""
    texts = {"name": "", "rangeTypeName": ""}
    for name, _, _, text in elements(place, types):
        read = name or read
        if read in texts and not name:
            texts[read] = text
        elif name == "/featureDescription" and texts["rangeTypeName"] in VALUES:
            yield texts["name"]


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """One response per non-empty cell, with layer and feature as the question; or per document and annotator."""
    if source.shape in (FOLDER, ARCHIVE):
        yield from _documents(source)
        return
    for row in records(source, options):
        layer, feature = row.cell("Layer"), row.cell("Feature")
        item = " ".join(filter(None, (row.cell(name) for name in ("Collection", "Document", "Position"))))
        text = row.item_text(options)
        absent = ABSENT if "Flags" in row else ABSENT | {"null"}  # as releases before that column wrote
        for name in row:
            if name and name not in TOOL_COLUMNS and row[name] not in absent:
                value = None if row[name] == EMPTY else known(row[name])
                yield Response(item, name, {_question(layer, feature): value}, row=row.number, text=text, fields=row)


def _question(layer: str, feature: str) -> str:
    return f"{layer.rpartition('.')[2]}.{feature}".strip(".")


def _documents(source: Source) -> Iterator[Response]:
    """The spans of each annotator in each document, by layer and feature."""
    states = {}
    for _, _, content in inside(source, ".json"):
        project = json.loads(content) if FEATURES not in content else {}
        for document in project.get("annotation_documents") or () if isinstance(project, dict) else ():
            states[document["name"], document["user"]] = document["state"].lower()
    features: dict[str, dict[str, None]] = {}  # of each layer, as one without a value may not appear
    given = []
    for path, place, content, plain in _files(source):
        if path.suffix == TSV:
            text, spans = _tsv(place, content.decode("utf-8-sig"), features)
        else:
            text, spans = _xmi(place, content, plain) if path.suffix == XMI else _json(place, content)
        for layer, values, _ in spans:
            features.setdefault(layer, {}).update((feature, None) for feature in values if feature not in OWN)
        given.append((path, place, text, spans))
    names = {layer: {each: _question(layer, each) for each in own or [""]} for layer, own in features.items()}
    every_span = [span for *_, spans in given for span in spans]
    filled = {(layer, name) for layer, values, _ in every_span for name, value in values.items() if as_text(value)}
    for layer, questions in names.items():  # features that nobody filled in do not name the spans of a layer
        valued = {feature: question for feature, question in questions.items() if (layer, feature) in filled}
        names[layer] = valued or questions
    for path, place, text, spans in given:
        every = [question for questions in names.values() for question in questions.values()]
        marks = {question: Marks(place, [], [text], (UTF16,)) for question in every}
        for layer, values, where in spans:
            for feature, question in names[layer].items():
                mark = Mark(as_text(values.get(feature, "")), values["begin"], values["end"], place=where)
                marks[question].marks.append(mark)
        item, who = path.parent.name, path.stem
        yield Response(item, who, dict(marks), status=states.get((item, who), ""), text=text, is_complete=True)


Spans = list[tuple[str, Mapping[str, Any], str]]  # layer, features and ends, place


def _xmi(place: str, content: bytes, plain: frozenset[str]) -> tuple[str, Spans]:
    """The text and its annotations; a feature that is not ``plain`` may name other elements by their numbers."""
    found = elements(place, content)
    text, view = _view(place, [attributes for name, attributes, *_ in found if name == "Sofa"])
    ids = {attributes["id"] for _, attributes, *_ in found if "id" in attributes}
    spans: Spans = []
    for name, attributes, line, _ in found:
        is_mark = "begin" in attributes and "end" in attributes and attributes.get("sofa") == view
        if is_mark and name not in NO_LAYERS and not all(end in attributes for end in ENDS):
            values = OWN | plain
            own = {key: value for key, value in attributes.items() if key in values or not {*value.split()} <= ids}
            spans.append((name, own, f"{place}:{line}"))
    return text, spans


def _json(place: str, content: bytes) -> tuple[str, Spans]:
    """The same of JSON, where references begin with a sign."""
    try:
        found = json.loads(content)["%FEATURE_STRUCTURES"]
    except (ValueError, TypeError):
        raise DataError(f"{place}: damaged JSON; export it again") from None
    known_ones = [each for each in found if isinstance(each, dict)]
    views = [{**each, "id": each.get("%ID")} for each in known_ones if each.get("%TYPE") == "uima.cas.Sofa"]
    text, view = _view(place, views)
    spans: Spans = []
    for each in known_ones:
        layer = str(each.get("%TYPE")).rpartition(".")[2]
        is_mark = "begin" in each and "end" in each and each.get("@sofa") == view
        if is_mark and layer not in NO_LAYERS and not all(f"@{end}" in each for end in ENDS):
            own = {key: value for key, value in each.items() if not key.startswith(("@", "%", "^"))}
            spans.append((layer, own, f"{place}: annotation {as_text(each.get('%ID'))}"))
    return text, spans


def _view(place: str, views: Sequence[Mapping[str, Any]]) -> tuple[str, Any]:
    """The text of a document, and the number of it."""
    if not views or not isinstance(views[0].get("sofaString"), str):
        raise DataError(f"{place}: a document without its text; export it again")
    return views[0]["sofaString"], views[0].get("id")


def _tsv(place: str, content: str, declared: dict[str, dict[str, None]]) -> tuple[str, Spans]:
    """The text, rebuilt from the tokens, and its annotations; the header declares layers and features."""
    if not content.startswith("#FORMAT=WebAnno TSV 3"):
        raise DataError(f"{place}: not WebAnno TSV 3; export the documents in that format")
    columns: list[tuple[str, str]] = []  # layer and feature; of relations and chains, no layer
    found: dict[tuple[str, str], tuple[dict[str, Any], str]] = {}
    text = bytearray()
    for number, line in enumerate(content.split("\n"), 1):
        if header := HEADER.fullmatch(line.rstrip("\r")):
            layer = header[2] if header[1] == "SP" else ""
            columns += [(layer, feature) for feature in header[3].split("|")]
        elif token := TOKEN.fullmatch(line.rstrip("\r")):
            start, end = int(token[1]), int(token[2])
            text.extend(b" \x00" * (end - len(text) // 2))
            text[2 * start : 2 * end] = token[3].encode("utf-16-le")
            for (layer, feature), cell_text in zip(columns, token[4].split("\t"), strict=False):
                for stacked, piece in enumerate(BETWEEN.split(cell_text) if layer and cell_text != "_" else ()):
                    chain = NUMBER.search(piece)
                    key = f"[{chain[1]}]" if chain else f"{number} {stacked}"
                    label = ESCAPED.sub(lambda sign: BLANKS.get(sign[1], sign[1]), NUMBER.sub("", piece))
                    values, _ = found.setdefault((layer, key), ({"begin": start, "end": end}, f"{place}:{number}"))
                    values.setdefault(feature, "" if label == "*" else label)
                    values |= {"begin": min(values["begin"], start), "end": max(values["end"], end)}
    for layer, feature in columns:
        if layer:
            declared.setdefault(layer, {}).setdefault(feature)
    return text.decode("utf-16-le"), [(layer, values, where) for (layer, _), (values, where) in found.items()]


TOOL = Tool(
    name="inception",
    title="INCEpTION",
    fields={"item": "Document, Position", "annotator": "column"},
    recognise=recognise,
    responses=responses,
    statuses={"new": "pending", "ignore": "skipped"},
    counted=("finished", "in_progress"),
    renames=(),
    shapes=(FOLDER, ARCHIVE),
    tells_seen=True,
)
