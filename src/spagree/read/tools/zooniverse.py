"""Zooniverse: the classification export, one row per classification with the answers to all its tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spagree.errors import DataError, count
from spagree.read.files.json import DECODER, FAST, REFUSED, as_text
from spagree.read.table import shown
from spagree.read.tools.records import Record, answer, cell, item_text, known, one_or_more, part, records, tell_regions
from spagree.read.tools.source import TABLE, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool, Value
from spagree.understood import Caution

WANTED = ("user_name", "created_at", "gold_standard", "workflow_id", "annotations", "subject_data", "subject_ids")
UNKNOWN = "not-logged-in-"
TEXTS = ("Filename", "filename", "#name", "name", "image_name", "image", "link", "url", "#url")


def recognise(source: Source) -> bool:
    """The columns of the classification export."""
    return source.shape == TABLE and source.has("subject_ids", "annotations", "user_name")


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """Each classification; tasks of different workflows are different questions."""
    wanted = {*WANTED, options.item, options.annotator, options.time}
    classifications = list(records(source, options, wanted.__contains__))
    names = _names({(row.get("workflow_id", ""), task, as_text(annotation.get("task_label")))
                    for place, _, row in classifications for task, annotation in _tasks(place, row)})  # fmt: skip
    seen: Counter[str] = Counter()
    answered = False
    for place, line, row in classifications:
        answers = _answers(place, row, names, seen)
        who = known(cell(row, options.annotator or "user_name", place))
        seen["not logged in"] += (who or "").startswith(UNKNOWN)
        answered = answered or bool(answers)
        item, is_gold = cell(row, options.item or "subject_ids", place), row.get("gold_standard", "").lower() == "true"
        time, subject = known(row.get(options.time or "created_at")), _subject(place, row)
        text = item_text(subject, options, place, *TEXTS) if subject else None
        fields = {**row, "subject": subject}
        yield Response(known(item), who, answers, time, is_gold=is_gold, row=line, text=text, fields=fields)
    _tell(seen, answered, source, options)


def _tasks(place: str, row: Record) -> list[tuple[str, Record]]:
    tasks = _decoded(cell(row, "annotations", place), place, "annotations")
    if not isinstance(tasks, list) or not all(isinstance(annotation, dict) for annotation in tasks):
        raise DataError(f"{place}: annotations should be a list of tasks, found {shown(as_text(tasks))}; export again")
    return [(cell(annotation, "task", place), annotation) for annotation in tasks]


def _names(tasks: set[tuple[str, str, str]]) -> dict[tuple[str, str, str], str]:
    """The name of each task, with its workflow and text if the same name asks different things.

    >>> _names({("7", "T0", "Cat?"), ("7", "T0", "Dog?"), ("7", "T1", "How many?")})[("7", "T0", "Dog?")]
    'T0: Dog?'
    """
    workflows = {(task, workflow) for workflow, task, _ in tasks}
    texts = {(workflow, task, text) for workflow, task, text in tasks if text}
    in_several, asks_several = Counter(task for task, _ in workflows), Counter((w, task) for w, task, _ in texts)
    return {
        (workflow, task, text): (f"{workflow}/" if in_several[task] > 1 else "")
        + task
        + (f": {text}" if text and asks_several[workflow, task] > 1 else "")
        for workflow, task, text in tasks
    }


def _answers(
    place: str, row: Record, names: Mapping[tuple[str, str, str], str], seen: Counter[str]
) -> dict[str, Value]:
    answers: dict[str, Value] = {}
    for task, annotation in _tasks(place, row):
        name = names[row.get("workflow_id", ""), task, as_text(annotation.get("task_label"))]
        answers.update(_values(name, annotation.get("value"), seen))
    return answers


def _values(task: str, value: Any, seen: Counter[str]) -> list[tuple[str, Value]]:
    """The answers to a task: one, or those of a survey or of nested tasks; drawings are only counted."""
    objects = [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
    if not objects:
        return [(task, answer(value))]
    names = objects[0].keys()
    if "choice" in names:
        return [(task, one_or_more(as_text(entry.get("choice")) for entry in objects)), *_survey(task, objects)]
    if "task" in names:
        inner = [(f"{task}/{as_text(entry.get('task'))}", entry.get("value")) for entry in objects]
        return [answers for name, part_value in inner for answers in _values(name, part_value, seen)]
    if "option" in names or names <= {"value", "label"}:
        return [(task, one_or_more(as_text(entry.get("label") or entry.get("value")) for entry in objects))]
    seen["drawings"] += len(objects)
    return []


def _survey(task: str, choices: Sequence[Record]) -> Iterator[tuple[str, Value]]:
    """The questions about each choice, such as how many animals, as separate questions."""
    for choice in choices:
        inner = choice.get("answers")
        for name, value in inner.items() if isinstance(inner, Mapping) else ():
            yield f"{task}/{as_text(choice.get('choice'))}/{name}", answer(value)


def _subject(place: str, row: Record) -> Record:
    """The manifest of the subject's upload."""
    data = _decoded(row.get("subject_data") or "{}", place, "subject_data")
    subjects: list[Record] = [part(data, name, dict, place) for name in data] if isinstance(data, dict) else []
    return subjects[0] if subjects else {}


def _decoded(text: str, place: str, column: str) -> Any:
    try:
        return FAST.decode(text)
    except REFUSED:
        pass
    try:
        return DECODER.decode(text)
    except ValueError as error:
        raise DataError(f"{place}: {column} is not JSON ({error}); download the export again") from None


def _tell(seen: Counter[str], answered: bool, source: Source, options: ReaderOptions) -> None:
    drawings, unknown = seen["drawings"], seen["not logged in"]
    if drawings:
        refusal = f"{count(drawings, 'drawing')} and no answers; spagree compares classes"
        tell_regions(source, options, count(drawings, "drawing"), "" if answered else refusal)
    if unknown:
        classifications = count(unknown, "classification", "classifications")
        message = f"{classifications} by people who were not logged in: each internet address counts as one annotator"
        options.cautions.append(Caution("not_logged_in", message))


TOOL = Tool(
    name="zooniverse",
    title="Zooniverse",
    fields={"item": "subject_ids", "annotator": "user_name", "time": "created_at"},
    recognise=recognise,
    responses=responses,
    renames=frozenset({"item", "annotator", "time"}),
)
