"""Amazon Mechanical Turk: the results of a batch as CSV, with one item per HIT or several."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, repeat
from sys import intern
from typing import TYPE_CHECKING, Any

from spagree import timestamps
from spagree.errors import ColumnError, DataError, count
from spagree.read.columns import names_link
from spagree.read.files.json import DECODER
from spagree.read.table import listed, shown
from spagree.read.tools.records import answer, from_text, one_or_more, tables
from spagree.read.tools.source import TABLE, Source
from spagree.read.tools.tool import NO_FIELDS, ReaderOptions, Response, Responses, Tool, Value
from spagree.understood import Caution

if TYPE_CHECKING:
    import polars

INPUT, ANSWER, CROWD = "Input.", "Answer.", "Answer.taskAnswers"
NUMBERED = re.compile(r"(.*?[^0-9])[._-]?([0-9]+)")
BOXES = {"true", "false", "on", "off"}
OMITTED = ("Approve", "Reject")  # final columns that files from the website name in the header but leave out
BATCH = ("Answer.", "AssignmentStatus")
OLD = ("hitid", "workerid", "assignmentid")
TEXTS = ("text", "sentence", "content", "question", "image_url", "image", "url")
BLOCK = 10_000  # cells of a column held as Python objects at a time
MOST_SHARED = 10_000  # distinct answers, each stored once
REGIONS = ("entities", "boundingBoxes", "polygons", "keypoints", "polylines", "cuboids", "labeledImage")


def recognise(source: Source) -> bool:
    """Amazon's column names, and those of its old command-line tools; data sets made of such results keep some."""
    is_batch = source.has("HITId", "WorkerId") and any(name.startswith(BATCH) for name in source.keys)
    return source.shape == TABLE and (is_batch or source.has(*OLD))


def responses(source: Source, options: ReaderOptions) -> Iterator[Response | Responses]:
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
    frames = tables(source, options, lambda name: name in wanted or name.startswith(ANSWER) or _is_link(name), OMITTED)
    batches = [_Batch(source.name, lines, cells, options, texts) for lines, cells in frames]
    if options.item is None:
        _tell_repeats(source, options, batches)
    kinds = _Boxes([fields for batch in batches for fields in batch.answers])
    numbers = _numbers(source, kinds.fields)
    for batch in batches:
        yield from batch.responses(kinds, numbers)


class _Batch:
    """A file of results, column by column."""

    def __init__(
        self,
        source: str,
        lines: polars.Series,
        cells: polars.DataFrame,
        options: ReaderOptions,
        texts: Mapping[str, str],
    ) -> None:
        self.lines, self.cells, names = lines, cells, cells.columns
        self.item, self.time = options.item or "HITId", options.time or "SubmitTime"
        if self.item not in names:
            place = f"{source}:{lines[0]}"
            raise ColumnError(f"{place}: there is no field {shown(self.item)}; fields: {listed(names)}")
        self.texts = {number: name for number, name in texts.items() if name in names}
        self.others = {name.removeprefix(INPUT): name for name in names if options.needs(name) or _is_link(name)}
        self.others |= {name: name for name in names if name in (options.by, options.cluster)}
        self.answers = self._answers(source)

    def _answers(self, source: str) -> list[dict[str, Value]]:
        """The answers of each assignment; equal ones are stored once."""
        names = [name for name in self.cells.columns if name.startswith(ANSWER) and name != CROWD]
        shared = _Shared([name[len(ANSWER) :] for name in names])
        rows = zip(*map(self._column, names), strict=True) if names else repeat((), len(self.lines))
        answers = [*map(shared.__getitem__, rows)]
        if CROWD not in self.cells.columns:
            return answers
        return [
            fields | _crowd(f"{source}:{line}", crowd) if crowd else fields
            for line, fields, crowd in zip(self.lines, answers, self._column(CROWD), strict=True)
        ]

    def _column(self, name: str) -> Iterable[Any]:
        """The cells of a column, one block in memory at a time."""
        return chain.from_iterable(self._cells(name, start) for start in range(0, len(self.lines), BLOCK))

    def _cells(self, name: str | None, start: int) -> list[Any]:
        """The cells of a column in a block; None for each row if there is no such column."""
        if name not in self.cells.columns:
            return [None] * min(BLOCK, len(self.lines) - start)
        return self.cells[name].slice(start, BLOCK).to_list()

    def responses(self, kinds: _Boxes, numbers: Mapping[str, tuple[str, str]]) -> Iterator[Response | Responses]:
        """One response per assignment, or one for each item of its HIT."""
        blocks = (self._block(start, kinds) for start in range(0, len(self.lines), BLOCK))
        return self._by_number(blocks, numbers) if numbers else blocks

    def _block(self, start: int, kinds: _Boxes) -> Responses:
        """Some assignments, by column."""
        column, lines = partial(self._cells, start=start), self.lines.slice(start, BLOCK).to_list()
        others, false = [column(name) for name in self.others.values()], [False] * len(lines)
        return Responses(
            [item or "" for item in column(self.item)],
            [who and intern(who) for who in column("WorkerId")],
            kinds.ticked(self.answers[start : start + BLOCK]),
            column(self.time),
            [*map(_status, column("AssignmentStatus"))],
            false,
            lines,
            column(self.texts.get("")),
            false,
            [dict(zip(self.others, row, strict=True)) for row in zip(*others, strict=True)]
            if others
            else [NO_FIELDS] * len(lines),
        )

    def _by_number(self, blocks: Iterable[Responses], numbers: Mapping[str, tuple[str, str]]) -> Iterator[Response]:
        responses = (Response(*row) for block in blocks for row in zip(*block, strict=True))
        for response, *texts in zip(responses, *map(self._column, self.texts.values()), strict=True):
            shown = dict(zip(self.texts, texts, strict=True))
            for number, answers in _by_item(response.answers, numbers):
                item, text = f"{response.item} {number}" if number else response.item, shown.get(number, shown.get(""))
                yield response._replace(item=item, answers=answers, text=text)


class _Shared(dict[tuple[str | None, ...], dict[str, Value]]):
    """The answers that some cells hold; equal ones are stored once."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self.names = names

    def __missing__(self, cells: tuple[str | None, ...]) -> dict[str, Value]:
        fields = {name: _cell(text) for name, text in zip(self.names, cells, strict=True)}
        if len(self) < MOST_SHARED:
            self[cells] = fields
        return fields


@lru_cache(maxsize=100)
def _status(text: str | None) -> str:
    return (text or "submitted").lower()


def _tell_repeats(source: Source, options: ReaderOptions, batches: Sequence[_Batch]) -> None:
    """Warn if one input occurs in several HITs: it is one item, but HIT ids do not show it."""
    import polars

    texts = [batch.cells.select(text=batch.texts[""], hit=batch.item) for batch in batches if "" in batch.texts]
    hashes = [each.drop_nulls("text").select(polars.all().hash()) for each in texts]  # smaller than the texts
    if not texts or polars.concat(hashes).unique()["text"].is_unique().all():
        return
    inputs: defaultdict[tuple[str | None, ...], set[str | None]] = defaultdict(set)
    columns: Sequence[str] = ()
    for _, cells in tables(
        source, replace(options, where=None), lambda name: name.startswith(("HITId", INPUT)), OMITTED
    ):
        columns = [name for name in cells.columns if name != "HITId"]
        for hit, *row in cells.select("HITId", *columns).iter_rows():
            inputs[tuple(row)].add(hit)
    repeated = sum(len(hits) > 1 for hits in inputs.values())
    if not repeated:
        return
    alone = [name for place, name in enumerate(columns) if len({key[place] for key in inputs}) == len(inputs)]
    remedy = f"use --item {shown(alone[0])}" if alone else "give each its own id in an Input column, for --item"
    inputs_repeated = count(repeated, "input occurs", "inputs occur")
    message = f"{inputs_repeated} in several HITs, and each HIT counts as a separate item; to join them, {remedy}"
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
        if match := _numbered(name):
            numbered.setdefault(match[2], name)
    return {**numbered, **alone}


class _Boxes:
    """Which fields are check boxes, judging by all answers: one field per box, or all ticked boxes in one field."""

    def __init__(self, answers: Sequence[Mapping[str, Value]]) -> None:
        values: defaultdict[str, set[Value]] = defaultdict(set)
        for fields in {id(fields): fields for fields in answers}.values():  # equal answers are often one object
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

    def ticked(self, answers: list[dict[str, Value]]) -> list[dict[str, Value]]:
        """The answers of some assignments, with check boxes as the ticked options."""
        return [*map(self._ticked, answers)] if self.joined or self.boxes else answers

    def _ticked(self, fields: dict[str, Value]) -> dict[str, Value]:
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
    inputs = {match[2] for name in source.keys if (match := _numbered(name)) and name.startswith(INPUT)}
    stems: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for field in fields:
        match = _numbered(field)
        if match and match[2] in inputs:
            stems[match[1]][match[2]] = field
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
