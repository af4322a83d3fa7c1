"""Platforms of many annotators: Mechanical Turk, SageMaker Ground Truth and A2I, Appen, Toloka and Zooniverse.

A batch of Mechanical Turk has one item per HIT or several; the manifest of Ground Truth has no workers. Appen
has a judgement per row, Toloka a task or an assignment (as its website or its API writes them), Zooniverse a
classification with the answers to all its tasks.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from spagree.errors import ColumnError, DataError, Warning, count, listed, opt, shown
from spagree.read import timestamps
from spagree.read.files.json import as_text
from spagree.read.files.paths import File
from spagree.read.tools.fields import Record, answer, decoded, first, from_text, known, one_or_more
from spagree.read.tools.marks import Mark, Marks
from spagree.read.tools.records import file_records, members, records, split_columns
from spagree.read.tools.source import FOLDER, OBJECTS, TABLE, Source, first_objects
from spagree.read.tools.tool import NO_FIELDS, ReaderOptions, Response, Tool, Value, shows
from spagree.read.words import texts as texts_of

HIT_INPUT, ANSWER, CROWD = "Input.", "Answer.", "Answer.taskAnswers"
NUMBERED = re.compile(r"(.*?[^0-9])[._-]?([0-9]+)")
BOXES = {"true", "false", "on", "off"}
HIT_FIELDS = {"HITId", "WorkerId", "AssignmentStatus", "SubmitTime"}
OMITTED = ("Approve", "Reject")  # final columns that files from the website name in the header but leave out
OLD = ("hitid", "workerid", "assignmentid")
REGIONS = ("entities", "boundingBoxes", "polygons", "keypoints", "polylines", "cuboids", "labeledImage")


def recognise_batch(source: Source) -> bool:
    """Amazon's column names, and those of its old command-line tools; data sets made of such results keep some."""
    has_answers = any(name.startswith((ANSWER, "AssignmentStatus")) for name in source.keys)
    return source.shape == TABLE and ((source.has("HITId", "WorkerId") and has_answers) or source.has(*OLD))


def batch_responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """One response per assignment, or one for each item of its HIT."""
    if source.has(*OLD):
        raise DataError(
            f"{source.name}: results of Mechanical Turk's old command-line tools, which mark rejections elsewhere; "
            "leave the rejected rows out and read it as a table: "
            f"{opt.format('long')} {opt.item} 'hitid' {opt.annotator} 'workerid' {opt.label} 'Answer.NAME'"
        )
    inputs = [name for name in source.keys if name.startswith(HIT_INPUT)]
    texts = _texts(source, inputs, options)
    named = {*HIT_FIELDS, options.item, options.time, options.by, options.cluster, *texts.values()}
    rows = list(records(source, options, lambda name: name in named or name.startswith((ANSWER, HIT_INPUT)), OMITTED))
    if options.item is None and "" in texts:
        _tell_repeats(inputs, rows, texts[""], options)
    given = [*map(_answers, rows)]
    numbers = _numbers(inputs, dict.fromkeys(field for answers in given for field in answers))
    for row, answers in zip(rows, _ticked(given), strict=True):
        item, who = row.cell(options.item or "HITId"), known(row.get("WorkerId"))
        time = known(row.get(options.time or "SubmitTime"))
        status = (row.get("AssignmentStatus") or "submitted").lower()
        text = known(row.get(texts[""])) if "" in texts else None
        fields = {**row, **{name.removeprefix(HIT_INPUT): row[name] for name in row if name.startswith(HIT_INPUT)}}
        response = Response(item, who, answers, time, status, row=row.number, text=text, fields=fields)
        common = {field: value for field, value in answers.items() if field not in numbers}  # about the HIT itself
        if common or not numbers:
            yield response._replace(answers=common)
        items: defaultdict[str, dict[str, Value]] = defaultdict(dict)
        for field, (question, number) in numbers.items():
            if field in answers:
                items[number][question] = answers[field]
        for number in sorted(items, key=int):
            own = known(row[texts[number]]) if number in texts else text
            yield response._replace(item=f"{item} {number}", answers=items[number], text=own)


def _answers(row: Record) -> dict[str, Value]:
    """The answers by field, without the ids that a form sent along."""
    fields = {name: text for name, text in row.items() if name.startswith(ANSWER) and name != CROWD}
    texts = {name.removeprefix(ANSWER): text for name, text in fields.items()}
    answers = {name: from_text(text) for name, text in texts.items() if name.lower() not in OLD}
    if row.get(CROWD):
        found = decoded(row[CROWD], row.place, CROWD)
        elements = found[0] if isinstance(found, list) and found else found
        if not isinstance(elements, dict):
            raise DataError(f"{row.place}: {CROWD} holds no answers; export it again")
        answers |= {name: crowd_value(value, row.place) for name, value in elements.items()}
    return answers


def _tell_repeats(inputs: Sequence[str], rows: Sequence[Record], text: str, options: ReaderOptions) -> None:
    """Warn if one input occurs in several HITs: it is one item, but HIT ids do not show it."""
    hits: dict[tuple[str, ...], str | None] = {}
    several = set()
    for row in rows:
        key = tuple(row.get(name, "") for name in inputs)
        if row.get(text) and hits.setdefault(key, row.get("HITId")) != row.get("HITId"):
            several.add(key)
    if not several:
        return
    alone = [name for name, texts in zip(inputs, zip(*hits, strict=True), strict=True) if len({*texts}) == len(hits)]
    remedy = f"use {opt.item(alone[0])}" if alone else f"give each its own id in an Input column, for {opt.item}"
    repeated = count(len(several), "input occurs", "inputs occur")
    message = f"{repeated} in several HITs, and each HIT counts as a separate item; to join them, {remedy}"
    options.warnings.append(Warning("inputs_repeated", message))


def _texts(source: Source, inputs: Sequence[str], options: ReaderOptions) -> dict[str, str]:
    """The column with the text of an item, by the item's number in its HIT ("" if it is the only one)."""
    if options.text is not None:
        named = [name for name in (options.text, HIT_INPUT + options.text) if name in source.keys]
        if not named:
            raise ColumnError(f"{source.name}: there is no field {options.text!r}; fields: {listed(list(source.keys))}")
        return {"": named[0]}
    numbered: dict[str, str] = {}
    for name in inputs:
        if match := NUMBERED.fullmatch(name):
            numbered.setdefault(match[2], name)
    usual = [name for name in inputs if name.removeprefix(HIT_INPUT).lower() in texts_of("mturk")]
    alone = inputs if len(inputs) == 1 else usual
    return {**numbered, "": alone[0]} if alone else numbered


def _ticked(given: Sequence[Mapping[str, Value]]) -> Iterator[dict[str, Value]]:
    """The answers with check boxes as the ticked options: fields that hold one box each, or all ticked ones in one."""
    values: defaultdict[str, set[Value]] = defaultdict(set)
    for answers in given:
        for field, value in answers.items():
            values[field].add(value)
    joined = {field for field, seen in values.items() if _is_joined({each for each in seen if isinstance(each, str)})}
    single = [field for field, seen in values.items() if {str(each or "false").lower() for each in seen} <= BOXES]
    questions = {field: field.rpartition(".")[0] for field in single if "." in field}
    for answers in given:
        whole = {
            field: one_or_more(value.split("|")) if field in joined and isinstance(value, str) else value
            for field, value in answers.items()
            if field not in questions
        }
        on = [field for field in questions if str(answers.get(field)).lower() in ("true", "on")]
        for question in dict.fromkeys(questions.values()):
            whole[question] = one_or_more(field.rpartition(".")[2] for field in on if questions[field] == question)
        yield whole


def _is_joined(values: set[str]) -> bool:
    """Whether a field holds check boxes, whose options Amazon joins with | in click order.

    No option is empty or ticked twice, and at least half of them are also chosen in another answer.
    """
    several = [text.split("|") for text in values if "|" in text]
    if not several or any("" in options or len(set(options)) < len(options) for options in several):
        return False
    chosen = Counter(option for text in values for option in text.split("|"))
    options = {option for each in several for option in each}
    return 2 * sum(chosen[option] > 1 for option in options) >= len(options)


def crowd_value(value: Any, place: str) -> Value:
    """The value of a crowd element: a label, labels, options that are on, a text, or marks."""
    if isinstance(value, dict):
        marked = next((name for name in REGIONS if name in value), None)
        if marked:
            marks = value[marked] if isinstance(value[marked], list) else [{}]
            names = ("label", "startOffset", "endOffset")
            return Marks(place, [Mark(as_text(each.get(names[0]) or ""), *map(each.get, names[1:])) for each in marks])
        value = value.get("label", value.get("labels", value))
    return answer(value)


def _numbers(inputs: Iterable[str], fields: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Answer fields that belong to the numbered inputs of a HIT: field → question and number.

    Only if the inputs have the same numbers: Answer.q1 and Answer.q2 alone are two questions.
    """
    numbers = {match[2] for name in inputs if (match := NUMBERED.fullmatch(name))}
    stems: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for field in fields:
        match = NUMBERED.fullmatch(field)
        if match and match[2] in numbers:
            stems[match[1]][match[2]] = field
    several = {stem: fields for stem, fields in stems.items() if len(fields) > 1}
    return {field: (stem, number) for stem, fields in several.items() for number, field in fields.items()}


MTURK = Tool(
    name="mturk",
    title="Mechanical Turk",
    fields={"item": "HITId", "annotator": "WorkerId", "time": "SubmitTime"},
    recognise=recognise_batch,
    responses=batch_responses,
    tells_seen=True,
    statuses={"rejected": "rejected"},
    counted=("submitted", "approved"),
    renames=("item", "time"),
    clock=timestamps.mturk,
)


HUMAN_LOOP = "humanAnswers"  # Amazon A2I, one file per loop
TREE, METADATA, ALL_WORKERS = "worker-response", "-metadata", "annotationsFromAllWorkers"


def recognise_answers(source: Source) -> bool:
    """A tree of worker responses, one of its files, or a manifest."""
    if source.shape == FOLDER:
        return any(_is_answers(record) for file in _files(source)[:1] for record in first_objects(file))
    described = [value for each in source.objects for name, value in each.items() if name.endswith(METADATA)]
    is_manifest = any(isinstance(value, dict) and "human-annotated" in value for value in described)
    return source.shape == OBJECTS and (
        is_manifest or any(_is_answers(record) or _workers(record) for record in source.objects)
    )


def _is_answers(record: Mapping[str, Any]) -> bool:
    answers = record.get("answers", record.get(HUMAN_LOOP))
    return isinstance(answers, list) and all(isinstance(answer, dict) and "workerId" in answer for answer in answers)


def _workers(record: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The answers that custom jobs keep in the manifest, by label name."""
    inner = [(name, value.get(ALL_WORKERS)) for name, value in record.items() if isinstance(value, dict)]
    return [each for each in (*inner, ("", record.get(ALL_WORKERS))) if isinstance(each[1], list)]


def worker_responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """Every answer of every worker; a file's folder is its item."""
    for file in _files(source):
        for record in file_records(file, options):
            item = Path(file.name).parent.name or Path(file.name).stem
            text, row, fields = None, None, NO_FIELDS
            if HUMAN_LOOP in record:
                shown, names = record.part("inputContent", dict), ("taskObject", "text", "initialValue")
                item, text = record.cell("humanLoopName"), shown.item_text(options, *names)
                given = [("", each) for each in record[HUMAN_LOOP]]
            elif _is_answers(record):
                given = [("", each) for each in record["answers"]]
            elif by_label := _workers(record):
                item = first(record, ("source-ref", "source", "datasetObjectId")) or str(record.number)
                text, row, fields = record.item_text(options, "source", "source-ref"), record.number, record
                given = [(name, each) for name, workers in by_label for each in workers]
            else:
                raise DataError(
                    f"{record.place}: the output manifest holds one consolidated label per object and no workers, so "
                    "agreement cannot be measured; give the folder annotations/worker-response of the job's output"
                )
            for name, each in ((name, record.at(each)) for name, each in given):
                content: Any = each.part("answerContent", dict)
                if fields:  # of a custom job
                    content = each.part("annotationData", dict).get("content")
                if isinstance(content, str):
                    content = decoded(content, record.place, "the content of an annotation")
                answers: dict[str, Value] = {name: known(content)}
                if isinstance(content, dict):
                    answers = {key: crowd_value(value, record.place) for key, value in content.items()}
                identity = each.part("workerMetadata", dict).part("identityData", dict)
                # --annotator sub is the person, the same in every work team
                who = identity.get(options.annotator) if options.annotator else each.get("workerId")
                time = known(each.get("submissionTime"))
                yield Response(item, known(who), answers, time, row=row, text=text, fields=fields)


def _files(source: Source) -> Sequence[File]:
    """The files of a tree of worker responses, or all of them."""
    files = members(source, ".json")
    return [file for file in files if TREE in Path(file.name).parts] or files


GROUND_TRUTH = Tool(
    name="ground-truth",
    title="SageMaker Ground Truth",
    fields={"item": "folder of the object", "annotator": "workerId", "time": "submissionTime"},
    recognise=recognise_answers,
    responses=worker_responses,
    tells_seen=True,
    renames=("annotator",),
    shapes=(FOLDER,),
)


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
    questions = _questions(judgements, source, options)
    for row in judgements:
        item, who = row.cell(options.item or "_unit_id"), known(row.cell("_worker_id"))
        given = {name: row[name].split("\n") for name in questions}
        answers = {name: one_or_more(boxes) if len(boxes) > 1 else from_text(boxes[0]) for name, boxes in given.items()}
        time, is_gold = known(row.get(options.time or "_created_at")), row.get("_golden", "").lower() == "true"
        status = "tainted" if row.get("_tainted", "").lower() == "true" else "trusted"
        text = row.item_text(options, *(name for name in texts_of("appen") if name not in questions))
        yield Response(item, who, answers, time, status, is_gold, row.number, text, fields=row)


def _questions(rows: Sequence[Record], source: Source, options: ReaderOptions) -> tuple[str, ...]:
    """The answer columns: those with a gold column, and those on which workers differ."""
    names = [name for name in source.keys if name and not name.startswith("_") and not name.endswith((GOLD, REASON))]
    if options.question in names:
        return (options.question,)
    tested = {name for name in names if name + GOLD in source.keys}
    answers, doubtful = split_columns([(row.cell("_unit_id"), row) for row in rows], names)
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
    page: list[Record] = []
    for row in records(source, options):
        if not row.cell(WORKER):
            page.append(row)
            continue
        has_task = any(text for name, text in row.items() if name.startswith((INPUT, OUTPUT)))
        page += [row] if has_task else []
        times = (options.time,) if options.time else (ASSIGNMENT + "submitted", ASSIGNMENT + "started")
        who, time, status = known(row[WORKER]), first(row, times), (row.get(STATUS) or "approved").lower()
        for task in page:
            inputs = [text for name, text in task.items() if name.startswith(INPUT)]
            whole = inputs[0] if len(inputs) == 1 else json.dumps(inputs, ensure_ascii=False)
            # the number of the task or, if the file has none, all its inputs
            item = task.cell(options.item) if options.item else known(task.get(TASK)) or known(whole)
            given = {name.removeprefix(OUTPUT): text for name, text in task.items() if name.startswith(OUTPUT)}
            answers = {name: from_text(text) for name, text in given.items()}
            is_gold = any(text for name, text in task.items() if name.startswith(CONTROL))
            text = task.item_text(options, *(INPUT + name for name in texts_of("toloka")))
            fields = {**task, **{name: text for name, text in row.items() if text}}
            yield Response(item, who, answers, time, status, is_gold, task.number, text, fields=fields)
        page = []
    if page:
        raise DataError(
            f"{page[0].place}: {count(len(page), 'task')} without the row of the assignment that should follow; "
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
    rows = [(row, _tasks(row)) for row in records(source, options, wanted.__contains__)]
    asked = {(flow, task, text) for _, tasks in rows for flow, task, text, _ in tasks}
    flows = Counter(task for _, task in {(flow, task) for flow, task, _ in asked})
    labels = Counter((flow, task) for flow, task, text in asked if text)
    unknown = 0
    for row, tasks in rows:
        answers: dict[str, Value] = {}
        for flow, task, label, value in tasks:  # with its workflow and text where one name asks different things
            name = f"{flow}/{task}" if flows[task] > 1 else task
            name += f": {label}" if label and labels[flow, task] > 1 else ""
            answers.update(_values(row.place, name, value))
        who = known(row.cell(options.annotator or "user_name"))
        unknown += (who or "").startswith(NOT_LOGGED_IN)
        item, is_gold = row.cell(options.item or "subject_ids"), row.get("gold_standard", "").lower() == "true"
        # the manifest of the subject's upload
        data = decoded(row.get("subject_data") or "{}", row.place, "subject_data")
        manifest = row.at(data if isinstance(data, dict) else {})
        subjects = [manifest.part(name, dict) for name in manifest]
        time, subject = known(row.get(options.time or "created_at")), subjects[0] if subjects else manifest
        text = subject.item_text(options, *texts_of("zooniverse")) if subject else None
        is_empty, fields = all(isinstance(value, Marks) for value in answers.values()), {**row, "subject": subject}
        yield Response(known(item), who, answers, time, "", is_gold, row.number, text, is_empty, fields)
    if unknown:
        size = count(unknown, "classification", "classifications")
        message = f"{size} by people who were not logged in: each internet address counts as one annotator"
        options.warnings.append(Warning("not_logged_in", message))


def _tasks(row: Record) -> list[tuple[str, str, str, Any]]:
    """The tasks of a classification: workflow, name, text of the question, and value."""
    place, tasks = row.place, decoded(row.cell("annotations"), row.place, "annotations")
    if not isinstance(tasks, list) or not all(isinstance(annotation, dict) for annotation in tasks):
        raise DataError(f"{place}: annotations should be a list of tasks, found {shown(as_text(tasks))}; export again")
    flow = row.get("workflow_id", "")
    return [(flow, row.at(each).cell("task"), as_text(each.get("task_label")), each.get("value")) for each in tasks]


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
