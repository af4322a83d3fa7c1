"""Prodigy: JSONL of db-out, binary or choice, one file for all or one per annotator."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from spagree.errors import DataError, count
from spagree.messages import opt
from spagree.read.tools.records import Record, answer, cell, file_records, item_text, known
from spagree.read.tools.source import OBJECTS, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool, Value
from spagree.understood import Caution

BINARY, CHOICE = "answer", "accept"
BLOCKS = "blocks"
TEXTS = ("text", "html", "image", "audio", "video")
UNNAMED = re.compile(r"(^|-)\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d$")
SPANS = ("ner_manual", "spans_manual", "image_manual", "audio_manual", "relations", "pos_manual")


def recognise(source: Source) -> bool:
    """Every task has the two hashes."""
    return source.shape == OBJECTS and source.has("_input_hash", "_task_hash")


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """The tasks of each file; if several files name no annotators, each file is one annotator."""
    unnamed = 0
    for file in source.files:
        name = Path(file.name).stem if len(source.files) > 1 else None
        for place, number, task in file_records(file, options):
            response = _response(place, number, task, name, options)
            unnamed += response.annotator is None and bool(known(task.get("_session_id")))
            yield response
    if unnamed:
        message = (
            f"{count(unnamed, 'annotation')} from sessions named only by a time, so the annotators are unknown; "
            "name the sessions (?session=NAME), or give one file per annotator"
        )
        options.cautions.append(Caution("sessions_unnamed", message))


def _response(place: str, number: int, task: Record, name: str | None, options: ReaderOptions) -> Response:
    is_choice = "options" in task or isinstance(task.get(CHOICE), list)
    # Whether spans are the answer: by the interface, or because a mixed one asks for no choice.
    view = known(task.get("_view_id"))
    if view in SPANS or (view == BLOCKS and "spans" in task and not is_choice):
        raise DataError(f"{place}: marks spans (_view_id {task['_view_id']}), not classes; spagree compares classes")
    _refuse_others(place, task, is_choice)
    verdict = cell(task, "answer", place)
    if is_choice:
        answers: dict[str, Value] = {CHOICE: answer(task.get(CHOICE) or [])}
    else:
        answers = {BINARY: verdict}
    is_skip = verdict == "ignore"
    is_reject = is_choice and verdict == "reject"
    status = "ignored" if is_skip else "rejected" if is_reject else "answered"
    item = _item(place, task, is_choice, options)
    who, time, text = (
        _person(task, name, options),
        known(task.get("_timestamp")),
        item_text(task, options, place, *TEXTS),
    )
    return Response(item, who, answers, time, status, row=number, text=text, fields=task)


def _refuse_others(place: str, task: Record, is_choice: bool) -> None:
    """Refuse a reviewer's decisions, and typed texts, whose answer is always accept."""
    if "versions" in task and known(task.get("_view_id")) == "review":
        raise DataError(
            f"{place}: the outcome of a review, one decision per task; export the dataset that was reviewed, which "
            "holds the answers of each annotator"
        )
    if known(task.get("_view_id")) == "text_input" and not is_choice:
        field = known(task.get("field_id")) or "user_input"
        raise DataError(
            f"{place}: typed text (_view_id text_input), not a class; if the texts are classes, read them "
            f"as a table: {opt.format('long')} {opt.item('_input_hash')} "
            f"{opt.annotator('_annotator_id')} {opt.label(field)}"
        )


def _item(place: str, task: Record, is_choice: bool, options: ReaderOptions) -> str:
    """The input, and for yes/no questions also the label or span in question."""
    if task.get("spans") and not is_choice and not options.item:
        return cell(task, "_task_hash", place)
    item = cell(task, options.item or "_input_hash", place)
    label = None if is_choice else known(task.get("label"))
    return f"{item} {label}" if label else item


def _person(task: Record, name: str | None, options: ReaderOptions) -> str | None:
    """The person; None for a session named only by its time."""
    named = task.get(options.annotator) if options.annotator else None
    person = known(named or task.get("_annotator_id") or task.get("_session_id"))
    return name if person is None or UNNAMED.search(person) else person


TOOL = Tool(
    name="prodigy",
    title="Prodigy",
    fields={"item": "_input_hash", "annotator": "_annotator_id", "time": "_timestamp"},
    recognise=recognise,
    responses=responses,
    statuses={"ignored": "skipped", "rejected": "rejected"},
    counted=("answered",),
    renames=frozenset({"item", "annotator"}),
)
