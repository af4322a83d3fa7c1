"""Amazon Mechanical Turk: the results of a batch as CSV, with one item per HIT or several."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from spagree import timestamps
from spagree.errors import ColumnError, DataError, count
from spagree.messages import opt
from spagree.read.columns import names_link
from spagree.read.files.json import DECODER
from spagree.read.files.paths import File
from spagree.read.table import listed
from spagree.read.tools.records import answer, cell, file_records, from_text, known, one_or_more
from spagree.read.tools.source import TABLE, Source
from spagree.read.tools.tool import NO_FIELDS, ReaderOptions, Response, Tool, Value
from spagree.understood import Caution

if TYPE_CHECKING:
    pass

INPUT, ANSWER, CROWD = "Input.", "Answer.", "Answer.taskAnswers"
NUMBERED = re.compile(r"(.*?[^0-9])[._-]?([0-9]+)")
BOXES = {"true", "false", "on", "off"}
OMITTED = ("Approve", "Reject")  # final columns that files from the website name in the header but leave out
BATCH = ("Answer.", "AssignmentStatus")
OLD = ("hitid", "workerid", "assignmentid")
TEXTS = ("text", "sentence", "content", "question", "image_url", "image", "url")
REGIONS = ("entities", "boundingBoxes", "polygons", "keypoints", "polylines", "cuboids", "labeledImage")


def recognise(source: Source) -> bool:
    """Amazon's column names, and those of its old command-line tools; data sets made of such results keep some."""
    is_batch = source.has("HITId", "WorkerId") and any(name.startswith(BATCH) for name in source.keys)
    return source.shape == TABLE and (is_batch or source.has(*OLD))


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """One response per assignment, or one for each item of its HIT."""
    if source.has(*OLD):
        raise DataError(
            f"{source.name}: results of Mechanical Turk's old command-line tools, which mark rejections elsewhere; "
            "leave the rejected rows out and read it as a table: "
            f"{opt.format('long')} {opt.item} 'hitid' {opt.annotator} 'workerid' {opt.label} 'Answer.NAME'"
        )
    inputs, texts = [name for name in source.keys if name.startswith(INPUT)], _texts(source, options)
    given = [each for file in source.files for each in _assignments(file, options, inputs, texts.get("", ""))]
    if options.item is None and "" in texts:
        _tell_repeats(inputs, given, options)
    distinct = {id(response.answers): response.answers for response, _ in given}
    numbers = _numbers(source, dict.fromkeys(field for answers in distinct.values() for field in answers))
    ticked = _ticked(distinct)
    for response, cells in given:
        answers = ticked[id(response.answers)]
        if not numbers:
            yield response._replace(answers=answers)
            continue
        text_of = {number: known(cells[inputs.index(name)]) for number, name in texts.items() if number}
        for number, part in _by_item(answers, numbers):
            item = f"{response.item} {number}" if number else response.item
            yield response._replace(item=item, answers=part, text=text_of.get(number, response.text))


def _assignments(
    file: File, options: ReaderOptions, inputs: Sequence[str], text: str
) -> Iterator[tuple[Response, tuple[str, ...]]]:
    """The assignments in a file, each with the inputs of its HIT; equal answers are one object."""
    item, time = options.item or "HITId", options.time or "SubmitTime"
    wanted = {item, time, text, "HITId", "WorkerId", "AssignmentStatus"}
    others: dict[str, str] | None = None
    for place, line, row in file_records(
        file, options, lambda name: name in wanted or name.startswith((ANSWER, INPUT)) or _is_link(name), OMITTED
    ):
        if others is None:
            others = {name.removeprefix(INPUT): name for name in row if options.needs(name) or _is_link(name)}
            others |= {name: name for name in row if name in (options.by, options.cluster)}
            answered = tuple(name for name in row if name.startswith(ANSWER) and name != CROWD)
        answers = _answers(answered, tuple([row[name] for name in answered]))
        response = Response(
            cell(row, item, place),
            known(row.get("WorkerId")),
            {**answers, **_crowd(place, row[CROWD])} if row.get(CROWD) else answers,
            known(row.get(time)),
            (row.get("AssignmentStatus") or "submitted").lower(),
            row=line,
            text=known(row.get(text)),
            fields={short: row[name] for short, name in others.items()} if others else NO_FIELDS,
        )
        yield response, tuple([row.get(name, "") for name in inputs])


@lru_cache(maxsize=10_000)
def _answers(names: tuple[str, ...], cells: tuple[str, ...]) -> dict[str, Value]:
    return {name.removeprefix(ANSWER): from_text(text) for name, text in zip(names, cells, strict=True)}


def _tell_repeats(
    inputs: Sequence[str], given: Sequence[tuple[Response, tuple[str, ...]]], options: ReaderOptions
) -> None:
    """Warn if one input occurs in several HITs: it is one item, but HIT ids do not show it."""
    hits: dict[tuple[str, ...], str | None] = {}
    several = {key for response, key in given if response.text and hits.setdefault(key, response.item) != response.item}
    if not several:
        return
    alone = [name for name, texts in zip(inputs, zip(*hits, strict=True), strict=True) if len({*texts}) == len(hits)]
    remedy = f"use {opt.item(alone[0])}" if alone else f"give each its own id in an Input column, for {opt.item}"
    repeated = count(len(several), "input occurs", "inputs occur")
    message = f"{repeated} in several HITs, and each HIT counts as a separate item; to join them, {remedy}"
    options.cautions.append(Caution("inputs_repeated", message))


def _is_link(name: str) -> bool:
    return names_link(name.removeprefix(INPUT))


def _texts(source: Source, options: ReaderOptions) -> dict[str, str]:
    """The column with the text of an item, by the item's number in its HIT ("" if it is the only one)."""
    inputs = [name for name in source.keys if name.startswith(INPUT)]
    if options.text is not None:
        named = [name for name in (options.text, INPUT + options.text) if name in source.keys]
        if not named:
            raise ColumnError(f"{source.name}: there is no field {options.text!r}; fields: {listed(list(source.keys))}")
        return {"": named[0]}
    usual = [name for name in inputs if name.removeprefix(INPUT).lower() in TEXTS]
    alone = {"": (inputs if len(inputs) == 1 else usual)[0]} if len(inputs) == 1 or usual else {}
    numbered: dict[str, str] = {}
    for name in inputs:
        if match := NUMBERED.fullmatch(name):
            numbered.setdefault(match[2], name)
    return {**numbered, **alone}


def _ticked(distinct: Mapping[int, Mapping[str, Value]]) -> Mapping[int, Mapping[str, Value]]:
    """The distinct answers, with check boxes as the ticked options: a field for each box, or one for all ticked ones.

    Which fields are check boxes is judged by all answers.
    """
    values: defaultdict[str, set[Value]] = defaultdict(set)
    for fields in distinct.values():
        for field, value in fields.items():
            values[field].add(value)
    joined = {field for field, seen in values.items() if _is_joined({each for each in seen if isinstance(each, str)})}
    boxes = {
        field: field.rpartition(".")[0]
        for field, seen in values.items()
        if "." in field and {str(each or "false").lower() for each in seen} <= BOXES
    }
    ticked = {}
    for key, fields in distinct.items():
        answers = ticked[key] = {field: value for field, value in fields.items() if field not in boxes}
        for field, value in answers.items():
            if field in joined and isinstance(value, str):
                answers[field] = one_or_more(value.split("|"))
        on = [field for field in boxes if str(fields.get(field)).lower() in ("true", "on")]
        for question in dict.fromkeys(boxes.values()):
            answers[question] = one_or_more(field.rpartition(".")[2] for field in on if boxes[field] == question)
    return ticked


def _is_joined(values: set[str]) -> bool:
    """Whether a field holds check boxes, whose options Amazon joins with | in click order.

    No option is empty or ticked twice, and at least half of them are also chosen in another answer.

    >>> _is_joined({"image5|image1", "image1", "image5"}), _is_joined({"either | or, I guess", "yes"})
    (True, False)
    """
    several = [text.split("|") for text in values if "|" in text]
    if not several or any("" in options or len(set(options)) < len(options) for options in several):
        return False
    chosen = Counter(option for text in values for option in text.split("|"))
    options = {option for each in several for option in each}
    return 2 * sum(chosen[option] > 1 for option in options) >= len(options)


def _crowd(place: str, text: str) -> dict[str, Value]:
    try:
        decoded = DECODER.decode(text)
    except ValueError as error:
        raise DataError(f"{place}: {CROWD} is not JSON ({error}); download the results again") from None
    fields = decoded[0] if isinstance(decoded, list) and decoded else decoded
    if not isinstance(fields, dict):
        raise DataError(f"{place}: {CROWD} holds no answers; download the results again")
    return {name: crowd_value(value, place) for name, value in fields.items()}


def crowd_value(value: Any, place: str) -> Value:
    """The value of a crowd element: a label, labels, options that are on, or a text; marked regions are refused.

    >>> crowd_value({"label": "Positive"}, ""), crowd_value({"labels": ["a", "b"]}, "")
    ('Positive', ('a', 'b'))
    >>> crowd_value({"yes": True, "no": False}, "")
    'yes'
    """
    if isinstance(value, dict):
        marked = next((name for name in REGIONS if name in value), None)
        if marked:
            raise DataError(f"{place}: marks regions or sequences ({marked}), not classes; spagree compares classes")
        value = value.get("label", value.get("labels", value))
    return answer(value)


def _numbers(source: Source, fields: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Answer fields that belong to the numbered inputs of a HIT: field → question and number.

    Only if the inputs have the same numbers: Answer.q1 and Answer.q2 alone are two questions.
    """
    inputs = {match[2] for name in source.keys if (match := NUMBERED.fullmatch(name)) and name.startswith(INPUT)}
    stems: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for field in fields:
        match = NUMBERED.fullmatch(field)
        if match and match[2] in inputs:
            stems[match[1]][match[2]] = field
    several = {stem: fields for stem, fields in stems.items() if len(fields) > 1}
    return {field: (stem, number) for stem, fields in several.items() for number, field in fields.items()}


def _by_item(
    fields: Mapping[str, Value], numbers: Mapping[str, tuple[str, str]]
) -> Iterator[tuple[str, dict[str, Value]]]:
    """The answers of each item of the HIT by number; unnumbered answers are about the HIT itself."""
    common = {field: value for field, value in fields.items() if field not in numbers}
    items: defaultdict[str, dict[str, Value]] = defaultdict(dict)
    for field, (question, number) in numbers.items():
        if field in fields:
            items[number][question] = fields[field]
    if common:
        yield "", common
    yield from ((number, items[number]) for number in sorted(items, key=int))


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
