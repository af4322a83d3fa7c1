"""Marks, as tools write them, and where they are: offsets count characters, UTF-16 units or bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple
from unicodedata import category

from spagree.errors import DataError, UsageError, opt, shown
from spagree.read.annotations import LOOSE
from spagree.read.files.json import as_text

CHARACTERS, UTF16, BYTES = "characters", "UTF-16 units", "bytes"  # what tools count
ENCODINGS = {UTF16: ("utf-16-le", 2), BYTES: ("utf-8", 1)}  # and how many bytes a unit has
Place = tuple[float, float, str]  # start, end, label


class Mark(NamedTuple):
    """A marked place with its label; without start and end where it is a box and the like.

    ``quote``: what the tool says is there; ``place``: its line, if it has one.
    """

    label: str
    start: Any = None
    end: Any = None
    quote: str | None = None
    place: str = ""


@dataclass(slots=True)
class Marks:
    """What somebody marked for a question: nothing, if it is empty.

    ``place`` is that of the record, for messages; ``texts``: what may have been marked; ``units``: in what offsets may
    count, the likeliest first.
    """

    place: str
    marks: list[Mark] = field(default_factory=list)
    texts: Sequence[str] = ()
    units: Sequence[str] = (CHARACTERS,)


def located(marks: Marks, *, is_loose: bool = False) -> tuple[list[Place], str | None]:
    """The places in characters, and the text they fit; a wrong guess of what offsets count shows in the quotes.

    >>> located(Marks("here", [Mark("PLACE", 3, 6, "abc")], ["😊 abc"], ("characters", UTF16)))
    ([(2, 5, 'PLACE')], '😊 abc')
    """
    spans = []
    for mark in marks.marks:
        if mark.start is None and mark.end is None:
            continue  # a box and the like
        place = mark.place or marks.place
        try:
            start, end = float(as_text(mark.start)), float(as_text(mark.end))
        except ValueError:
            start = end = math.nan
        if not (math.isfinite(start) and math.isfinite(end)):
            ends = f"{shown(as_text(mark.start))} and {shown(as_text(mark.end))}"
            raise DataError(
                f"{place}: {ends} are no offsets; a mark needs the number where it starts and where it ends"
            )
        if end <= start:
            wrong = f"a mark ends at {end:g}, but starts at {start:g}"
            raise DataError(f"{place}: {wrong}; correct or delete it in the tool")
        spans.append((mark._replace(place=place), start, end))
    if not marks.texts:
        if is_loose and spans:
            raise UsageError(f"{marks.place}: {opt.edges(LOOSE)} needs the text, which is not known here; leave it out")
        return [(start, end, mark.label) for mark, start, end in spans], None
    problems = []
    for unit, text in product(marks.units, sorted(marks.texts, key=len, reverse=True)):  # the longest is the likeliest
        fitted = _fitted(spans, text, unit)
        if isinstance(fitted, list):
            return [_trimmed(text, *place) if is_loose else place for place in fitted], text
        problems.append(fitted)
    raise DataError(f"{problems[0]}; the offsets belong to another version of the text: export it again")


def _fitted(spans: Sequence[tuple[Mark, float, float]], text: str, unit: str) -> list[Place] | str:
    """The places if offsets count these units of this text, or what does not fit."""
    places: list[Place] = []
    for mark, start, end in spans:
        first, last = _character(text, start, unit), _character(text, end, unit)
        if first is None or last is None:
            return f"{mark.place}: a mark from {start:g} to {end:g} does not fit a text of {len(text):,} characters"
        there, quote = text[first:last], mark.quote
        if quote is not None and _plain(there) != _plain(quote):
            is_there = f"from {start:g} to {end:g} the text is {shown(there)}"
            return f"{mark.place}: {is_there}, but the mark quotes {shown(quote)}"
        places.append((first, last, mark.label))
    return places


def _trimmed(text: str, start: float, end: float, label: str) -> Place:
    """A place without the blanks and punctuation at its ends, unless there is nothing else.

    >>> _trimmed("in (Leiden), on", 2, 12, "PLACE")
    (4, 10, 'PLACE')
    """
    inner = [place for place in range(int(start), int(end)) if category(text[place])[0] not in "PZC"]
    return (inner[0], inner[-1] + 1, label) if inner else (start, end, label)


def _plain(text: str) -> str:
    """A text without blanks: tools write ends of lines in several ways."""
    return "".join(text.replace("\\n", "").split())


def _character(text: str, offset: float, unit: str) -> int | None:
    """The character at an offset in units; None beyond the text, or inside a character."""
    whole = int(offset)
    if unit == CHARACTERS or text.isascii():
        return whole if whole == offset and 0 <= whole <= len(text) else None
    code, width = ENCODINGS[unit]
    data = text.encode(code)
    if whole != offset or not 0 <= whole <= len(data) // width:
        return None
    try:
        return len(data[: whole * width].decode(code))
    except UnicodeDecodeError:
        return None
