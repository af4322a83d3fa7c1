"""Platforms of many annotators: Appen (Figure Eight, CrowdFlower), Toloka and Zooniverse.

Appen's full report has a judgement per row, Toloka a task or an assignment (as TSV, in the layout of the website or in
that of the API), Zooniverse a classification with the answers to all its tasks.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from spagree.errors import ColumnError, DataError, count
from spagree.messages import Warning, listed, opt, shown
from spagree.read import timestamps
from spagree.read.files.json import as_text
from spagree.read.tools.marks import Mark, Marks
from spagree.read.tools.records import records, split_columns
from spagree.read.tools.source import TABLE, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool, Value, shows
from spagree.read.tools.values import (
    Record,
    answer,
    cell,
    decoded,
    first,
    from_text,
    item_text,
    known,
    one_or_more,
    part,
)
from spagree.read.words import texts

GOLD, REASON = "_gold", "_gold_reason"


def recognise_appen(source: Source) -> bool:
    """Appen's column names, including those of its aggregated report."""
    has_shares = any(name == "_trusted_judgments" or name.endswith(":confidence") for name in source.keys)
    return source.shape == TABLE and source.has("_unit_id") and ("_worker_id" in source.keys or has_shares)


def appen_responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """Each judgement; tainted workers and test questions are marked."""
    if "_worker_id" not in source.keys:
        raise DataError(
            f"{source.name}: an aggregated report holds no single judgements, so agreement cannot be measured; "
            "download the full report of the job (Results, Full)"
        )
    judgements = list(records(source, options))
    questions = _questions([row for _, _, row in judgements], source, options)
    for place, line, row in judgements:
        answers = {
            name: one_or_more(row[name].split("\n")) if "\n" in row[name] else from_text(row[name])
            for name in questions
        }
        yield Response(
            cell(row, options.item or "_unit_id", place),
            known(cell(row, "_worker_id", place)),
            answers,
            known(row.get(options.time or "_created_at")),
            "tainted" if row.get("_tainted", "").lower() == "true" else "trusted",
            is_gold=row.get("_golden", "").lower() == "true",
            row=line,
            text=item_text(row, options, place, *(name for name in texts("appen") if name not in questions)),
            fields=row,
        )


def _questions(rows: Sequence[Record], source: Source, options: ReaderOptions) -> tuple[str, ...]:
    """The answer columns: those with a gold column, and those on which workers differ."""
    names = [name for name in source.keys if name and not name.startswith("_") and not name.endswith((GOLD, REASON))]
    if options.question in names:
        return (options.question,)
    tested = {name for name in names if name + GOLD in source.keys}
    answers, doubtful = split_columns([(cell(row, "_unit_id", source.name), row) for row in rows], names)
    if tested:
        return tuple(name for name in names if name in tested or name in answers)
    if not answers:
        raise ColumnError(
            f"{source.name}: which column holds the answers? All are the same for all judgements of a unit; "
            f"name it with {opt.question}: {listed(names)}"
        )
    if doubtful:
        message = f"treated as input because no two judgements of a unit differ: {listed(doubtful)}; if it is a question, name it with {opt.question}"  # noqa: E501
        options.warnings.append(Warning("inputs_assumed", message))
    return answers


APPEN = Tool(
    name="appen",
    title="Appen",
    fields={"item": "_unit_id", "annotator": "_worker_id", "time": "_created_at"},
    recognise=recognise_appen,
    responses=appen_responses,
    statuses={"tainted": "tainted"},
    counted=("trusted",),
    renames=("item", "time"),
    clock=timestamps.american,
)


ASSIGNMENT, INPUT, OUTPUT, CONTROL = "ASSIGNMENT:", "INPUT:", "OUTPUT:", "GOLDEN:"
WORKER, TASK, STATUS = ASSIGNMENT + "worker_id", ASSIGNMENT + "task_id", ASSIGNMENT + "status"


def toloka_responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """Tasks with their assignments.

    The website writes the tasks of a page without the assignment, followed by a row with the assignment only.
    """
    page: list[tuple[str, int, Record]] = []
    for place, line, row in records(source, options):
        if not cell(row, WORKER, place):
            page.append((place, line, row))
            continue
        has_task = any(text for name, text in row.items() if name.startswith((INPUT, OUTPUT)))
        page += [(place, line, row)] if has_task else []
        times = (options.time,) if options.time else (ASSIGNMENT + "submitted", ASSIGNMENT + "started")
        for place_of_task, line_of_task, task in page:
            inputs = [text for name, text in task.items() if name.startswith(INPUT)]
            text = inputs[0] if len(inputs) == 1 else json.dumps(inputs, ensure_ascii=False)
            yield Response(  # the item is the number of the task or, if the file has none, all its inputs
                cell(task, options.item, place_of_task) if options.item else known(task.get(TASK)) or known(text),
                known(row[WORKER]),
                {name.removeprefix(OUTPUT): from_text(text) for name, text in task.items() if name.startswith(OUTPUT)},
                first(row, times),
                (row.get(STATUS) or "approved").lower(),
                is_gold=any(text for name, text in task.items() if name.startswith(CONTROL)),
                row=line_of_task,
                text=item_text(task, options, place_of_task, *(INPUT + name for name in texts("toloka"))),
                fields={**task, **{name: text for name, text in row.items() if text}},
            )
        page = []
    if page:
        raise DataError(
            f"{page[0][0]}: {count(len(page), 'task')} without the row of the assignment that should follow; "
            "the file seems to be truncated: download it again"
        )


TOLOKA = Tool(
    name="toloka",
    title="Toloka",
    fields={"item": "INPUT", "annotator": WORKER, "time": ASSIGNMENT + "submitted"},
    recognise=shows((TABLE, WORKER)),
    responses=toloka_responses,
    statuses={"rejected": "rejected", "skipped": "skipped", "expired": "expired", "active": "pending"},
    counted=("submitted", "approved"),
    renames=("item", "time"),
)


WANTED = {"user_name", "created_at", "gold_standard", "workflow_id", "annotations", "subject_data", "subject_ids"}
NOT_LOGGED_IN = "not-logged-in-"


def zooniverse_responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """Each classification; tasks of different workflows are different questions."""
    wanted = WANTED | {options.item, options.annotator, options.time}
    rows = [(*entry, _tasks(entry[0], entry[2])) for entry in records(source, options, wanted.__contains__)]
    asked = {(flow, task, text) for *_, tasks in rows for flow, task, text, _ in tasks}
    flows = Counter(task for _, task in {(flow, task) for flow, task, _ in asked})
    labels = Counter((flow, task) for flow, task, text in asked if text)
    unknown = 0
    for place, line, row, tasks in rows:
        answers: dict[str, Value] = {}
        for flow, task, label, value in tasks:  # with its workflow and text where one name asks different things
            name = f"{flow}/{task}" if flows[task] > 1 else task
            name += f": {label}" if label and labels[flow, task] > 1 else ""
            answers.update(_values(place, name, value))
        who = known(cell(row, options.annotator or "user_name", place))
        unknown += (who or "").startswith(NOT_LOGGED_IN)
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


def _tasks(place: str, row: Record) -> list[tuple[str, str, str, Any]]:
    """The tasks of a classification: workflow, name, text of the question, and value."""
    tasks = decoded(cell(row, "annotations", place), place, "annotations")
    if not isinstance(tasks, list) or not all(isinstance(annotation, dict) for annotation in tasks):
        raise DataError(f"{place}: annotations should be a list of tasks, found {shown(as_text(tasks))}; export again")
    flow = row.get("workflow_id", "")
    return [(flow, cell(each, "task", place), as_text(each.get("task_label")), each.get("value")) for each in tasks]


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


ZOONIVERSE = Tool(
    name="zooniverse",
    title="Zooniverse",
    fields={"item": "subject_ids", "annotator": "user_name", "time": "created_at"},
    recognise=shows((TABLE, "subject_ids", "annotations", "user_name")),
    responses=zooniverse_responses,
    renames=("item", "annotator", "time"),
)
