"""Segments of sound and video in ELAN (.eaf) and Praat (.TextGrid), in seconds, and documents of GATE (.xml).

Every tier, or named set of annotations, is an annotator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree

from spagree.errors import DataError
from spagree.messages import Warning, listed
from spagree.read.tools.marks import Mark, Marks
from spagree.read.tools.records import elements, inside
from spagree.read.tools.source import FOLDER, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool

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
        if source.shape != FOLDER and not all(file.name.lower().endswith(suffix) for file in source.files):
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

    return Tool(
        name=name,
        title=title,
        fields={"item": "file name", "annotator": question},
        recognise=recognise,
        responses=responses,
        renames=(),
        shapes=(FOLDER,),
    )


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
