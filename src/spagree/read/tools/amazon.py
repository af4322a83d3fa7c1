"""Amazon: batches of Mechanical Turk as CSV, and the answers of single workers in SageMaker Ground Truth and A2I.

The results of a batch have one item per HIT or several; the output manifest of Ground Truth has no workers.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from spagree.errors import ColumnError, DataError, count
from spagree.messages import Warning, listed, opt
from spagree.read import timestamps
from spagree.read.files.json import as_text
from spagree.read.files.paths import File
from spagree.read.tools.marks import Mark, Marks
from spagree.read.tools.records import file_records, members, records
from spagree.read.tools.source import FOLDER, OBJECTS, TABLE, Source, first_objects
from spagree.read.tools.tool import NO_FIELDS, ReaderOptions, Response, Tool, Value
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
from spagree.read.words import texts as usual_texts

INPUT, ANSWER, CROWD = "Input.", "Answer.", "Answer.taskAnswers"
NUMBERED = re.compile(r"(.*?[^0-9])[._-]?([0-9]+)")
BOXES = {"true", "false", "on", "off"}
ASSIGNMENT = {"HITId", "WorkerId", "AssignmentStatus", "SubmitTime"}
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
    inputs = [name for name in source.keys if name.startswith(INPUT)]
    texts = _texts(source, inputs, options)
    named = {*ASSIGNMENT, options.item, options.time, options.by, options.cluster, *texts.values()}
    rows = list(records(source, options, lambda name: name in named or name.startswith((ANSWER, INPUT)), OMITTED))
    if options.item is None and "" in texts:
        _tell_repeats(inputs, [row for _, _, row in rows], texts[""], options)
    given = [_answers(place, row) for place, _, row in rows]
    numbers = _numbers(inputs, dict.fromkeys(field for answers in given for field in answers))
    for (place, line, row), answers in zip(rows, _ticked(given), strict=True):
        response = Response(
            cell(row, options.item or "HITId", place),
            known(row.get("WorkerId")),
            answers,
            known(row.get(options.time or "SubmitTime")),
            (row.get("AssignmentStatus") or "submitted").lower(),
            row=line,
            text=known(row.get(texts[""])) if "" in texts else None,
            fields={**row, **{name.removeprefix(INPUT): row[name] for name in row if name.startswith(INPUT)}},
        )
        common = {field: value for field, value in answers.items() if field not in numbers}  # about the HIT itself
        if common or not numbers:
            yield response._replace(answers=common)
        items: defaultdict[str, dict[str, Value]] = defaultdict(dict)
        for field, (question, number) in numbers.items():
            if field in answers:
                items[number][question] = answers[field]
        for number in sorted(items, key=int):
            text = known(row[texts[number]]) if number in texts else response.text
            yield response._replace(item=f"{response.item} {number}", answers=items[number], text=text)


def _answers(place: str, row: Record) -> dict[str, Value]:
    """The answers by field, without the ids that a form sent along."""
    fields = {name: text for name, text in row.items() if name.startswith(ANSWER) and name != CROWD}
    texts = {name.removeprefix(ANSWER): text for name, text in fields.items()}
    answers = {name: from_text(text) for name, text in texts.items() if name.lower() not in OLD}
    if row.get(CROWD):
        found = decoded(row[CROWD], place, CROWD)
        elements = found[0] if isinstance(found, list) and found else found
        if not isinstance(elements, dict):
            raise DataError(f"{place}: {CROWD} holds no answers; export it again")
        answers |= {name: crowd_value(value, place) for name, value in elements.items()}
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
        named = [name for name in (options.text, INPUT + options.text) if name in source.keys]
        if not named:
            raise ColumnError(f"{source.name}: there is no field {options.text!r}; fields: {listed(list(source.keys))}")
        return {"": named[0]}
    numbered: dict[str, str] = {}
    for name in inputs:
        if match := NUMBERED.fullmatch(name):
            numbered.setdefault(match[2], name)
    usual = [name for name in inputs if name.removeprefix(INPUT).lower() in usual_texts("mturk")]
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

    >>> _is_joined({"image5|image1", "image1", "image5"}), _is_joined({"either | or, I guess", "yes"})
    (True, False)
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


def _is_answers(record: Record) -> bool:
    answers = record.get("answers", record.get(HUMAN_LOOP))
    return isinstance(answers, list) and all(isinstance(answer, dict) and "workerId" in answer for answer in answers)


def _workers(record: Record) -> list[tuple[str, Any]]:
    """The answers that custom jobs keep in the manifest, by label name."""
    inner = [(name, value.get(ALL_WORKERS)) for name, value in record.items() if isinstance(value, dict)]
    return [each for each in (*inner, ("", record.get(ALL_WORKERS))) if isinstance(each[1], list)]


def worker_responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """Every answer of every worker; a file's folder is its item."""
    for file in _files(source):
        for place, number, record in file_records(file, options):
            item, text, row, fields = Path(file.name).parent.name or Path(file.name).stem, None, None, NO_FIELDS
            if HUMAN_LOOP in record:
                shown, names = part(record, "inputContent", dict, place), ("taskObject", "text", "initialValue")
                item, text = cell(record, "humanLoopName", place), item_text(shown, options, place, *names)
                given = [("", each) for each in record[HUMAN_LOOP]]
            elif _is_answers(record):
                given = [("", each) for each in record["answers"]]
            elif by_label := _workers(record):
                item = first(record, ("source-ref", "source", "datasetObjectId")) or str(number)
                text, row, fields = item_text(record, options, place, "source", "source-ref"), number, record
                given = [(name, each) for name, workers in by_label for each in workers]
            else:
                raise DataError(
                    f"{place}: the output manifest holds one consolidated label per object and no workers, so "
                    "agreement cannot be measured; give the folder annotations/worker-response of the job's output"
                )
            for name, each in given:
                content: Any = part(each, "answerContent", dict, place)
                if fields:  # of a custom job
                    content = part(each, "annotationData", dict, place).get("content")
                    content = (
                        decoded(content, place, "the content of an annotation") if isinstance(content, str) else content
                    )
                answers: dict[str, Value] = {name: known(content)}
                if isinstance(content, dict):
                    answers = {key: crowd_value(value, place) for key, value in content.items()}
                identity = part(part(each, "workerMetadata", dict, ""), "identityData", dict, "")
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
