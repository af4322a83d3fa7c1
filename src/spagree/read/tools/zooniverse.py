"""Zooniverse: the classification export, one row per classification with the answers to all its tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from spagree.errors import DataError, count
from spagree.messages import Warning, shown
from spagree.read.files.json import as_text
from spagree.read.tools.records import Record, answer, cell, decoded, item_text, known, one_or_more, part, records
from spagree.read.tools.source import TABLE, Source
from spagree.read.tools.tool import Mark, Marks, ReaderOptions, Response, Tool, Value
from spagree.read.words import texts

WANTED = ("user_name", "created_at", "gold_standard", "workflow_id", "annotations", "subject_data", "subject_ids")
UNKNOWN = "not-logged-in-"


def recognise(source: Source) -> bool:
    """The columns of the classification export."""
    return source.shape == TABLE and source.has("subject_ids", "annotations", "user_name")


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """Each classification; tasks of different workflows are different questions."""
    wanted = {*WANTED, options.item, options.annotator, options.time}
    classifications = list(records(source, options, wanted.__contains__))
    names = _names({(row.get("workflow_id", ""), task, as_text(annotation.get("task_label")))
                    for place, _, row in classifications for task, annotation in _tasks(place, row)})  # fmt: skip
    unknown = 0
    for place, line, row in classifications:
        answers: dict[str, Value] = {}
        for task, annotation in _tasks(place, row):
            name = names[row.get("workflow_id", ""), task, as_text(annotation.get("task_label"))]
            answers.update(_values(place, name, annotation.get("value")))
        who = known(cell(row, options.annotator or "user_name", place))
        unknown += (who or "").startswith(UNKNOWN)
        item, is_gold = cell(row, options.item or "subject_ids", place), row.get("gold_standard", "").lower() == "true"
        data = decoded(row.get("subject_data") or "{}", place, "subject_data")  # the manifest of the subject's upload
        subjects = [part(data, name, dict, place) for name in data] if isinstance(data, dict) else []
        time, subject = known(row.get(options.time or "created_at")), subjects[0] if subjects else {}
        text = item_text(subject, options, place, *texts("zooniverse")) if subject else None
        is_empty, fields = all(isinstance(value, Marks) for value in answers.values()), {**row, "subject": subject}
        yield Response(known(item), who, answers, time, "", is_gold, line, text, is_empty, fields)
    if unknown:
        size = count(unknown, "classification", "classifications")
        message = f"{size} by people who were not logged in: each internet address counts as one annotator"
        options.warnings.append(Warning("not_logged_in", message))


def _tasks(place: str, row: Record) -> list[tuple[str, Record]]:
    tasks = decoded(cell(row, "annotations", place), place, "annotations")
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


def _values(place: str, task: str, value: Any) -> list[tuple[str, Value]]:
    """The answers to a task: one, or those of a survey or of nested tasks; drawings are marks."""
    objects = [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
    if not objects:
        return [(task, answer(value))]
    names = objects[0].keys()
    if "choice" in names:
        found = [(task, one_or_more(as_text(entry.get("choice")) for entry in objects))]
        for choice in objects:  # the questions about each choice, such as how many animals, are questions of their own
            about = choice["answers"] if isinstance(choice.get("answers"), dict) else {}
            found += [
                (f"{task}/{as_text(choice.get('choice'))}/{name}", answer(given)) for name, given in about.items()
            ]
        return found
    if "task" in names:
        inner = [(f"{task}/{as_text(entry.get('task'))}", entry.get("value")) for entry in objects]
        return [answers for name, part_value in inner for answers in _values(place, name, part_value)]
    if "option" in names or names <= {"value", "label"}:
        return [(task, one_or_more(as_text(entry.get("label") or entry.get("value")) for entry in objects))]
    return [(task, Marks(place, [Mark(as_text(each.get("tool_label")), None, None) for each in objects]))]


TOOL = Tool(
    name="zooniverse",
    title="Zooniverse",
    fields={"item": "subject_ids", "annotator": "user_name", "time": "created_at"},
    recognise=recognise,
    responses=responses,
    renames=frozenset({"item", "annotator", "time"}),
)
