"""Marks of an export: who marked which place of which item, and who saw it; offsets count characters."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any
from unicodedata import category

import narwhals as nw
import polars

from spagree.errors import ColumnError, DataError, DuplicateError, UsageError, count
from spagree.messages import Warning, opt, shown
from spagree.read.annotations import (
    ANNOTATOR,
    END,
    ITEM,
    LABEL,
    LOOSE,
    START,
    TEXT,
    TIME,
    MarkRows,
    Seen,
    Understood,
)
from spagree.read.files.json import as_text
from spagree.read.tools.export import explained, named_questions, several_questions
from spagree.read.tools.source import Source
from spagree.read.tools.tool import BYTES, UTF16, Mark, Marks, ReaderOptions, Response, Rules, Tool, field_in

Place = tuple[float, float, str]  # start, end, label
Visit = tuple[str, str]  # item, annotator
ENCODINGS = {UTF16: ("utf-16-le", 2), BYTES: ("utf-8", 1)}  # and how many bytes a unit has


def read_export_marks(
    source: Source,
    tool: Tool,
    options: ReaderOptions,
    rules: Rules,
    duplicates: str = "error",
    *,
    is_loose: bool = False,
    every: bool = False,
) -> dict[str, MarkRows]:
    """The marks of the question the user means, or of ``every`` question.

    ``duplicates``: which of a person's submissions of an item counts; ``is_loose``: whether blanks and punctuation at
    the ends of a mark do not count.
    """
    left_out: Counter[str] = Counter()
    statuses: set[str] = set()
    with explained(source, tool, options):
        responses = list(_counted(tool.responses(source, options), tool, rules, left_out, statuses))
    questions = _questions(responses)
    if not questions and not every:
        values = [value for each in responses for value in each.answers.values() if isinstance(value, Marks)]
        regions = sum(len(value.marks) for value in values)
        found = f"{count(regions, 'region')}, such as boxes" if regions else "nothing was marked"
        raise DataError(f"{source.name}: no marks with a start and an end in this export of {tool.title}: {found}")
    named = questions if every else named_questions(questions, options.question)
    if len(named) > 1 and not every:
        raise several_questions(named, source.name, tool)
    others = {name: [other for other in questions if other != name] for name in named}
    conditions = [] if options.where is None else [options.where.in_words()]
    counted = [f"counted: {words}"] if (words := rules.status_in_words(tool, frozenset(statuses - {""}))) else []
    columns = {role: getattr(options, role) or tool.fields[role] for role in (ITEM, ANNOTATOR)}
    given = (value for each in responses for value in each.answers.values())
    has_classes = any(value and not isinstance(value, Marks) for value in given)
    by_question = {}
    for name in named:
        more = [f"other questions: {', '.join(others[name])}"] if others[name] else []
        marked = _of_question(name, responses, source, tool, options, rules, duplicates, is_loose=is_loose)
        told = {**columns, "marks": name}
        understood = Understood(source.name, tool.name, told, rules=(*conditions, *more, *counted))
        by_question[name] = replace(marked, understood=understood, left_out=left_out, has_classes=has_classes)
    return by_question


def _of_question(
    question: str,
    responses: Sequence[Response],
    source: Source,
    tool: Tool,
    options: ReaderOptions,
    rules: Rules,
    duplicates: str,
    *,
    is_loose: bool,
) -> MarkRows:
    """The marks of one question, and who saw which item."""
    keeps_empty = tool.tells_seen or rules.empty == "keep"
    visits: defaultdict[Visit, list[tuple[Response, Marks]]] = defaultdict(list)
    for response in responses:
        value = response.answers.get(question)
        is_asked = question in response.answers or response.is_complete or not response.answers
        if not isinstance(value, Marks):
            if not (keeps_empty and is_asked):
                continue
            value = Marks("")
        if response.item is None or response.annotator is None:
            lacking = "an item" if response.item is None else "an annotator"
            raise DataError(
                f"{value.place or source.name}: marks without {lacking}; those who saw an item are compared: "
                f"name the field with {opt.annotator} or {opt.item}, or give one file per annotator"
            )
        visits[response.item, response.annotator].append((response, value))
    places: list[tuple[Visit, Place]] = []
    texts: dict[str, str | None] = {}
    where: dict[str, tuple[str, str]] = {}  # the text of an item, where every document has its own
    about: defaultdict[str, list[Any]] = defaultdict(list)
    for visit, given in visits.items():
        response, value = _one(visit, given, tool, source.name, duplicates)
        own, text = located(value, is_loose=is_loose)
        places += [(visit, place) for place in own]
        texts[visit[0]] = text or texts.get(visit[0])
        if text and len(value.texts) == 1:
            place, before = where.setdefault(visit[0], (value.place, text))
            if before.rstrip() != text.rstrip():
                raise DataError(f"{value.place}: another text than in {place}; offsets in them cannot be compared")
        about[TIME].append(tool.clock(response.time) if response.time else None)
        for role, name in options.further.items():
            about[role].append(field_in(response.fields, name))
    about[TEXT] = [texts.pop(item, None) for item, _ in visits]  # once for each item
    for role, name in options.further.items():
        if not any(about[role]):
            raise ColumnError(f"{opt[role](name)}: no record has anything in this field; leave it out")
    regions = sum(mark.start is None for given in visits.values() for _, marks in given for mark in marks.marks)
    if regions:
        message = f"{count(regions, 'region')} without a start and an end ignored, such as boxes"
        options.warnings.append(Warning("regions_left_aside", message))
    how: Seen = "every_submission" if tool.tells_seen else "rows" if keeps_empty else "unknown"
    found = _marked(source.name, places, list(visits), about, how)
    return replace(found, warnings=tuple(options.warnings))


def _counted(
    responses: Iterator[Response], tool: Tool, rules: Rules, left_out: Counter[str], statuses: set[str]
) -> Iterator[Response]:
    """The responses that count by their status; the others are counted by the reason."""
    counted = rules.counted(tool)
    for response in responses:
        statuses.add(response.status)
        if response.status and response.status not in counted:
            left_out[tool.statuses.get(response.status, "other_status")] += 1
        elif response.is_gold and rules.ground_truth == "drop":
            left_out["ground_truth"] += 1
        else:
            yield response


def _questions(responses: Sequence[Response]) -> list[str]:
    """The questions that were answered with marks."""
    values = [(name, value) for each in responses for name, value in each.answers.items() if isinstance(value, Marks)]
    questions = [name for name, value in values if any(mark.start is not None for mark in value.marks)]
    return list(dict.fromkeys(questions))


def _one(
    visit: Visit, given: Sequence[tuple[Response, Marks]], tool: Tool, name: str, duplicates: str
) -> tuple[Response, Marks]:
    """The marks of one submission of a visit: the first or the last by time, if the tool has it, else by its place."""
    if len(given) > 1 and duplicates == "error":
        item, annotator = map(shown, visit)
        raise DuplicateError(
            f"{name}: {count(len(given), 'submission')} of item {item} by annotator {annotator}; their marks cannot be "
            f"joined: keep one of them with {opt.duplicates('last')} or {opt.duplicates('first')}"
        )
    times = [tool.clock(response.time) if response.time else None for response, _ in given]
    rows = [place if response.row is None else response.row for place, (response, _) in enumerate(given)]
    order = [float(rows[place]) if time is None or None in times else time for place, time in enumerate(times)]
    best = (min if duplicates == "first" else max)(range(len(given)), key=order.__getitem__)
    return given[best]


def located(marks: Marks, *, is_loose: bool = False) -> tuple[list[Place], str | None]:
    """The places in characters, and the text they fit; a wrong guess of what offsets count shows in the quotes.

    >>> located(Marks("here", [Mark("PLACE", 3, 6, "abc")], ["😊 abc"], ("characters", UTF16)))
    ([(2, 5, 'PLACE')], '😊 abc')
    """
    spans = [
        _span(mark.place or marks.place, mark) for mark in marks.marks if mark.start is not None or mark.end is not None
    ]
    if is_loose and spans and not marks.texts:
        raise UsageError(f"{marks.place}: {opt.edges(LOOSE)} needs the text, which is not known here; leave it out")
    if not marks.texts:
        return [(start, end, mark.label) for mark, start, end in spans], None
    problems = []
    for unit, text in product(marks.units, sorted(marks.texts, key=len, reverse=True)):  # the longest is the likeliest
        fitted = _fitted(marks.place, spans, text, unit)
        if isinstance(fitted, list):
            return [_trimmed(text, *place) if is_loose else place for place in fitted], text
        problems.append(fitted)
    raise DataError(f"{problems[0]}; the offsets belong to another version of the text: export it again")


def _span(place: str, mark: Mark) -> tuple[Mark, float, float]:
    """A mark with its ends as numbers."""
    try:
        start, end = float(as_text(mark.start)), float(as_text(mark.end))
    except ValueError:
        start = end = math.nan
    if not (math.isfinite(start) and math.isfinite(end)):
        found = f"{shown(as_text(mark.start))} and {shown(as_text(mark.end))}"
        raise DataError(f"{place}: {found} are no offsets; a mark needs the number where it starts and where it ends")
    if end <= start:
        raise DataError(f"{place}: a mark ends at {end:g}, but starts at {start:g}; correct or delete it in the tool")
    return mark, start, end


def _fitted(record: str, spans: Sequence[tuple[Mark, float, float]], text: str, unit: str) -> list[Place] | str:
    """The places if offsets count these units of this text, or what does not fit."""
    places: list[Place] = []
    for mark, start, end in spans:
        first, last = _character(text, start, unit), _character(text, end, unit)
        if first is None or last is None:
            place = mark.place or record
            return f"{place}: a mark from {start:g} to {end:g} does not fit a text of {len(text):,} characters"
        if mark.quote is not None and _plain(text[first:last]) != _plain(mark.quote):
            there, place = shown(text[first:last]), mark.place or record
            return f"{place}: from {start:g} to {end:g} the text is {there}, but the mark quotes {shown(mark.quote)}"
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
    code, width = ENCODINGS.get(unit, ("", 1))
    size = len(text) if text.isascii() or not code else len(data := text.encode(code)) // width
    if whole != offset or not 0 <= whole <= size:
        return None
    if text.isascii() or not code:
        return whole
    try:
        return len(data[: whole * width].decode(code))
    except UnicodeDecodeError:
        return None


def _marked(
    name: str,
    places: Sequence[tuple[Visit, Place]],
    visits: Sequence[Visit],
    about: Mapping[str, list[Any]],
    how: Seen,
) -> MarkRows:
    kinds = {ITEM: polars.String, ANNOTATOR: polars.String, START: polars.Float64, END: polars.Float64}
    made = [(*visit, *place) for visit, place in places]
    rows = polars.DataFrame(made, schema={**kinds, LABEL: polars.String}, orient="row")
    who = {ITEM: [item for item, _ in visits], ANNOTATOR: [who for _, who in visits]}
    known = {role: found for role, found in about.items() if any(each is not None for each in found)}
    seen = polars.DataFrame(
        who | known, schema={role: polars.Float64 if role == TIME else polars.String for role in (*who, *known)}
    )
    return MarkRows(nw.from_native(rows.lazy()), nw.from_native(seen.lazy()), how, name)
