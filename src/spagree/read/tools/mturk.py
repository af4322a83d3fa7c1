"""Amazon Mechanical Turk: the results of a batch as CSV, with one item per HIT or several."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spagree.errors import DataError
from spagree.read.files.json_text import DECODER
from spagree.read.tools import timestamps
from spagree.read.tools.answers import answer, cell, from_text, known, one_or_more, records
from spagree.read.tools.source import TABLE, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool, Value

INPUT, ANSWER, CROWD = "Input.", "Answer.", "Answer.taskAnswers"
NUMBERED = re.compile(r"(.*?[^0-9])[._-]?([0-9]+)")
BOXES = {"true", "false", "on", "off"}

Row = dict[str, str]


def recognise(source: Source) -> bool:
    """The names Amazon gives."""
    return source.shape == TABLE and source.has("HITId", "WorkerId")


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """One assignment is one response, or one for each item of its HIT."""
    found = [(place, line, dict(row)) for place, line, row in records(source, options)]
    given = [_answers(place, row) for place, _, row in found]
    numbers = _numbers(source, given)
    boxes = _boxes(given)
    for (place, line, row), fields in zip(found, given, strict=True):
        item = cell(row, options.item or "HITId", place)
        status = (row.get("AssignmentStatus") or "Submitted").lower()
        for suffix, answers in _by_item(_boxed(fields, boxes), numbers):
            time = known(row.get(options.time or "SubmitTime"))
            yield Response(item + suffix, known(row.get("WorkerId")), answers, time, status, row=line)


def _answers(place: str, row: Row) -> dict[str, Value]:
    """The answers of an assignment by field; the crowd elements write all of them in one cell."""
    plain = {name.removeprefix(ANSWER): from_text(text) for name, text in row.items() if name.startswith(ANSWER)}
    text = plain.pop(CROWD.removeprefix(ANSWER), None)
    return {**plain, **_crowd(place, row[CROWD])} if text else plain


def _crowd(place: str, text: str) -> dict[str, Value]:
    try:
        decoded = DECODER.decode(text)
    except ValueError as error:
        raise DataError(f"{place}: {CROWD} is no JSON ({error}); download the results again") from None
    fields = decoded[0] if isinstance(decoded, list) and decoded else decoded
    if not isinstance(fields, dict):
        raise DataError(f"{place}: {CROWD} holds no answers; download the results again")
    return {name: crowd_value(value) for name, value in fields.items()}


def crowd_value(value: Any) -> Value:
    """The value of a crowd element: a label, labels, options switched on, or a text.

    >>> crowd_value({"label": "Positive"}), crowd_value({"labels": ["a", "b"]}), crowd_value({"yes": True, "no": False})
    ('Positive', ('a', 'b'), 'yes')
    """
    if isinstance(value, dict):
        value = value.get("label", value.get("labels", value))
    return answer(value)


def _numbers(source: Source, given: Sequence[Mapping[str, Value]]) -> dict[str, tuple[str, str]]:
    """Answer fields that belong to the numbered inputs of a HIT: field → question and number.

    Only where the inputs have the same numbers: Answer.q1 and Answer.q2 alone are two questions.
    """
    inputs = {found[2] for name in source.keys if (found := _numbered(name)) and name.startswith(INPUT)}
    stems: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for field in dict.fromkeys(field for fields in given for field in fields):
        found = _numbered(field)
        if found and found[2] in inputs:
            stems[found[1]][found[2]] = field
    several = {stem: fields for stem, fields in stems.items() if len(fields) > 1}
    return {field: (stem, number) for stem, fields in several.items() for number, field in fields.items()}


def _numbered(name: str) -> re.Match[str] | None:
    return NUMBERED.fullmatch(name)


def _boxes(given: Sequence[Mapping[str, Value]]) -> dict[str, str]:
    """Check boxes come as a field each, topic.food and topic.price: field → question."""
    fields = dict.fromkeys(field for each in given for field in each if "." in field)
    return {
        field: field.rpartition(".")[0]
        for field in fields
        if {str(each.get(field) or "false").lower() for each in given} <= BOXES
    }


def _boxed(fields: Mapping[str, Value], boxes: Mapping[str, str]) -> dict[str, Value]:
    """The fields with the boxes of a question put together."""
    if not boxes:
        return dict(fields)
    questions = dict.fromkeys(boxes.values())
    on = {question: one_or_more(field.rpartition(".")[2] for field, owner in boxes.items()
                                if owner == question and str(fields.get(field)).lower() in ("true", "on"))
          for question in questions}  # fmt: skip
    return {**{field: value for field, value in fields.items() if field not in boxes}, **on}


def _by_item(
    fields: Mapping[str, Value], numbers: Mapping[str, tuple[str, str]]
) -> Iterator[tuple[str, dict[str, Value]]]:
    """The answers of each item of the HIT, with what its name adds to that of the HIT."""
    if not numbers:
        yield "", dict(fields)
        return
    common = {field: value for field, value in fields.items() if field not in numbers}
    items: defaultdict[str, dict[str, Value]] = defaultdict(dict)
    for field, (question, number) in numbers.items():
        if field in fields:
            items[number][question] = fields[field]
    if common:
        yield "", common
    yield from ((f" {number}", items[number]) for number in sorted(items, key=int))


TOOL = Tool(
    name="mturk",
    title="Mechanical Turk",
    fields={"item": "HITId", "annotator": "WorkerId", "time": "SubmitTime"},
    recognise=recognise,
    responses=responses,
    statuses={"rejected": "rejected"},
    counted=("submitted", "approved"),
    renames=frozenset({"item", "time"}),
    clock=timestamps.mturk,
)
