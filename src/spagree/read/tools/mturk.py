"""Amazon Mechanical Turk: the results of a batch as CSV, with one item per HIT or several."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from sys import intern
from typing import Any

from spagree.errors import ColumnError, DataError
from spagree.read.contents import names_link
from spagree.read.files.json_text import DECODER
from spagree.read.tables import listed, shown
from spagree.read.tools import timestamps
from spagree.read.tools.answers import Record, answer, from_text, one_or_more, table_rows
from spagree.read.tools.source import TABLE, Source
from spagree.read.tools.tool import NO_FIELDS, ReaderOptions, Response, Tool, Value
from spagree.understood import Caution

INPUT, ANSWER, CROWD = "Input.", "Answer.", "Answer.taskAnswers"
NUMBERED = re.compile(r"(.*?[^0-9])[._-]?([0-9]+)")
BOXES = {"true", "false", "on", "off"}
OMITTED = ("Approve", "Reject")  # final columns that files from the website name in the header but leave out
OLD = ("hitid", "workerid", "assignmentid")
TEXTS = ("text", "sentence", "content", "question", "image_url", "image", "url")
STATUSES = {"Submitted": "submitted", "Approved": "approved", "Rejected": "rejected"}
MOST_SHARED = 10_000  # different answers of which each is stored once
REGIONS = ("entities", "boundingBoxes", "polygons", "keypoints", "polylines", "cuboids", "labeledImage")

Row = tuple[int, Sequence[str], Sequence[str | None]]  # line, names, cells
# line, item, annotator, time, status, text of each item of the HIT, answers by field, other fields
Assignment = tuple[int, str, str | None, str | None, str, dict[str, str | None], dict[str, Value], Record]


def recognise(source: Source) -> bool:
    """Amazon's column names, and those of its old command-line tools."""
    return source.shape == TABLE and (source.has("HITId", "WorkerId") or source.has(*OLD))


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """One response per assignment, or one for each item of its HIT."""
    if source.has(*OLD):
        raise DataError(
            f"{source.name}: results of Mechanical Turk's old command-line tools, which mark rejections elsewhere; "
            "leave the rejected rows out and read it as a table: "
            "--format long --item 'hitid' --annotator 'workerid' --label 'Answer.NAME'"
        )
    wanted = {"HITId", "WorkerId", "AssignmentStatus", options.time or "SubmitTime", options.item, options.text}
    texts = _texts(source, options)
    wanted.update(texts.values())
    found = table_rows(
        source, options, lambda name: name in wanted or name.startswith(ANSWER) or _is_link(name), OMITTED
    )
    given = list(_assignments(source, options, texts, found))
    if options.item is None:
        _tell_repeats(source, options, given)
    kinds = _Boxes([each[6] for each in given])
    numbers = _numbers(source, kinds.fields)
    for line, item, who, time, status, seen, fields, others in given:
        answers = kinds.ticked(fields)
        if not numbers:
            yield Response(item, who, answers, time, status, False, line, seen.get(""), False, others)  # noqa: FBT003
            continue
        for number, of_number in _by_item(answers, numbers):
            of_item = f"{item} {number}" if number else item
            text = seen.get(number, seen.get(""))
            yield Response(of_item, who, of_number, time, status, row=line, text=text, fields=others)


def _assignments(
    source: Source, options: ReaderOptions, texts: Mapping[str, str], rows: Iterable[Row]
) -> Iterator[Assignment]:
    columns = None
    for line, names, cells in rows:
        if columns is None or columns.names is not names:  # the first row of a file
            columns = _Columns(names, options, texts, f"{source.name}:{line}")
        yield columns.assignment(source.name, line, cells)


class _Columns:
    """The roles of a file's columns, the same for all its rows."""

    def __init__(self, names: Sequence[str], options: ReaderOptions, texts: Mapping[str, str], place: str) -> None:
        item, time = options.item or "HITId", options.time or "SubmitTime"
        if item not in names:
            raise ColumnError(f"{place}: there is no field {shown(item)}; fields: {listed(list(names))}")
        at = {name: position for position, name in enumerate(names)}
        self.names, self.item = names, at[item]
        self.who, self.time, self.status = at.get("WorkerId"), at.get(time), at.get("AssignmentStatus")
        self.crowd = at.get(CROWD)  # crowd elements write all answers to one cell
        self.texts = [(number, at[name]) for number, name in texts.items() if name in at]
        self.answers = [(name[len(ANSWER) :], at[name]) for name in names if name.startswith(ANSWER) and name != CROWD]
        others = {name.removeprefix(INPUT): name for name in names if options.needs(name) or _is_link(name)}
        others |= {name: name for name in names if name in (options.by, options.cluster)}
        self.others = [(field, at[name]) for field, name in others.items()]
        self.given: dict[tuple[str | None, ...], dict[str, Value]] = {}
        self.last: tuple[str, dict[str, str | None]] = "", {}

    def assignment(self, source: str, line: int, cells: Sequence[str | None]) -> Assignment:
        """One row of the file; what equals earlier rows is stored once."""
        last_item, last_texts = self.last
        item, texts = cells[self.item] or "", {number: cells[position] for number, position in self.texts}
        item = last_item if item == last_item else item
        texts = last_texts if texts == last_texts else texts
        self.last = item, texts
        who = None if self.who is None else cells[self.who]
        time = None if self.time is None else cells[self.time]
        status = (None if self.status is None else cells[self.status]) or "Submitted"
        others = {field: cells[position] for field, position in self.others} if self.others else NO_FIELDS
        fields = self._fields(cells)
        if self.crowd is not None and (crowd := cells[self.crowd]):
            fields = fields | _crowd(f"{source}:{line}", crowd)
        return line, item, who and intern(who), time, STATUSES.get(status) or status.lower(), texts, fields, others

    def _fields(self, cells: Sequence[str | None]) -> dict[str, Value]:
        """The answers in cells of their own."""
        key = tuple([cells[position] for _, position in self.answers])
        found = self.given.get(key)
        if found is None:
            found = {field: _cell(text) for (field, _), text in zip(self.answers, key, strict=True)}
            if len(self.given) < MOST_SHARED:
                self.given[key] = found
        return found


def _tell_repeats(source: Source, options: ReaderOptions, given: Sequence[Assignment]) -> None:
    """Warn if one input occurs in several HITs: it is one item, but HIT ids do not show it."""
    hits: dict[str, str] = {}  # the first HIT of each input
    if all(hits.setdefault(text, each[1]) == each[1] for each in given if (text := each[5].get(""))):
        return
    inputs: defaultdict[tuple[str | None, ...], set[str | None]] = defaultdict(set)
    names: Sequence[str] = ()
    everything = replace(options, where=None)
    for _, names, cells in table_rows(source, everything, lambda name: name.startswith(("HITId", INPUT)), OMITTED):
        row = dict(zip(names, cells, strict=True))
        inputs[tuple(row[name] for name in names if name != "HITId")].add(row["HITId"])
    repeated = sum(len(found) > 1 for found in inputs.values())
    if not repeated:
        return
    columns = [name for name in names if name != "HITId"]
    alone = [name for place, name in enumerate(columns) if len({key[place] for key in inputs}) == len(inputs)]
    remedy = f"say --item {shown(alone[0])}" if alone else "give each its own id in an Input column, for --item"
    message = f"{repeated:,} inputs occur in several HITs, and each HIT counts as a separate item; to join them, "
    options.cautions.append(Caution("inputs_repeated", message + remedy))


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
        if found := _numbered(name):
            numbered.setdefault(found[2], name)
    return {**numbered, **alone}


class _Boxes:
    """Which fields are check boxes, judging by all answers: one field per box, or all ticked boxes in one field."""

    def __init__(self, given: Sequence[Mapping[str, Value]]) -> None:
        values: defaultdict[str, set[Value]] = defaultdict(set)
        for fields in {id(fields): fields for fields in given}.values():  # equal answers are often one object
            for field, value in fields.items():
                values[field].add(value)
        joined = {
            field for field, seen in values.items() if _is_joined({each for each in seen if isinstance(each, str)})
        }
        self.joined = frozenset(joined)
        self.boxes = {
            field: field.rpartition(".")[0]
            for field, seen in values.items()
            if "." in field and {str(each or "false").lower() for each in seen} <= BOXES
        }
        self.fields = tuple(dict.fromkeys(values))

    def ticked(self, fields: dict[str, Value]) -> dict[str, Value]:
        """The answers of one assignment, with check boxes as the ticked options."""
        if not self.joined and not self.boxes:
            return fields
        split = {
            field: one_or_more(value.split("|")) if field in self.joined and isinstance(value, str) else value
            for field, value in fields.items()
        }
        return _boxed(split, self.boxes) if self.boxes else split


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


@lru_cache(maxsize=10_000)
def _cell(text: str | None) -> Value:
    return from_text(text or "")


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


def _numbers(source: Source, fields: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Answer fields that belong to the numbered inputs of a HIT: field → question and number.

    Only if the inputs have the same numbers: Answer.q1 and Answer.q2 alone are two questions.
    """
    inputs = {found[2] for name in source.keys if (found := _numbered(name)) and name.startswith(INPUT)}
    stems: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for field in fields:
        found = _numbered(field)
        if found and found[2] in inputs:
            stems[found[1]][found[2]] = field
    several = {stem: fields for stem, fields in stems.items() if len(fields) > 1}
    return {field: (stem, number) for stem, fields in several.items() for number, field in fields.items()}


def _numbered(name: str) -> re.Match[str] | None:
    return NUMBERED.fullmatch(name)


def _boxed(fields: Mapping[str, Value], boxes: Mapping[str, str]) -> dict[str, Value]:
    """The fields, with the boxes of each question combined."""
    questions = dict.fromkeys(boxes.values())
    on = {question: one_or_more(field.rpartition(".")[2] for field, owner in boxes.items()
                                if owner == question and str(fields.get(field)).lower() in ("true", "on"))
          for question in questions}  # fmt: skip
    return {**{field: value for field, value in fields.items() if field not in boxes}, **on}


def _by_item(
    fields: dict[str, Value], numbers: Mapping[str, tuple[str, str]]
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
