"""Prodigy: JSONL of db-out, binary or choice, one file for all or one per annotator."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from spagree.errors import DataError, Warning, count, opt
from spagree.read.files.json import as_text
from spagree.read.tools.fields import Record, answer, known
from spagree.read.tools.marks import Mark, Marks
from spagree.read.tools.records import file_records
from spagree.read.tools.source import OBJECTS, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool, Value, shows
from spagree.read.words import texts

BINARY, CHOICE = "answer", "accept"
BLOCKS = "blocks"
UNNAMED = re.compile(r"(^|-)\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d$")
SPANS = ("ner_manual", "spans_manual", "image_manual", "audio_manual", "relations", "pos_manual")


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """The tasks of each file; if several files name no annotators, each file is one annotator."""
    unnamed = 0
    for file in source.files:
        name = Path(file.name).stem if len(source.files) > 1 else None
        for task in file_records(file, options):
            response = _response(task, name, options)
            unnamed += response.annotator is None and bool(known(task.get("_session_id")))
            yield response
    if unnamed:
        message = (
            f"{count(unnamed, 'annotation')} from sessions named only by a time, so the annotators are unknown; "
            "name the sessions (?session=NAME), or give one file per annotator"
        )
        options.warnings.append(Warning("sessions_unnamed", message))


def _response(task: Record, name: str | None, options: ReaderOptions) -> Response:
    is_choice = "options" in task or isinstance(task.get(CHOICE), list)
    # Whether spans are the answer: by the interface, or because a mixed one asks for no choice.
    view = known(task.get("_view_id"))
    is_marked = view in SPANS or (view == BLOCKS and "spans" in task and not is_choice)
    if "versions" in task and view == "review":
        raise DataError(
            f"{task.place}: the outcome of a review, one decision per task; export the dataset that was reviewed, "
            "which holds the answers of each annotator"
        )
    if view == "text_input" and not is_choice:  # its answer is always accept
        field = known(task.get("field_id")) or "user_input"
        raise DataError(
            f"{task.place}: typed text (_view_id text_input), not a class; if the texts are classes, read them "
            f"as a table: {opt.format('long')} {opt.item('_input_hash')} "
            f"{opt.annotator('_annotator_id')} {opt.label(field)}"
        )
    verdict = task.cell("answer")
    answers: dict[str, Value] = {BINARY: verdict}
    if is_marked:
        given = task.part("spans", list)
        spans = [Mark(as_text(span.get("label")), span.get("start"), span.get("end")) for span in given]
        answers = {"spans": Marks(task.place, spans, [task["text"]] if isinstance(task.get("text"), str) else [])}
    elif is_choice:
        answers = {CHOICE: answer(task.get(CHOICE) or [])}
    is_reject = (is_choice or is_marked) and verdict == "reject"
    status = "ignored" if verdict == "ignore" else "rejected" if is_reject else "answered"
    # The input, and for yes/no questions also the label or span in question.
    is_binary = not (is_choice or is_marked)
    by_task = is_binary and bool(task.get("spans")) and not options.item
    item = task.cell("_task_hash" if by_task else options.item or "_input_hash")
    if is_binary and not by_task and (label := known(task.get("label"))):
        item = f"{item} {label}"
    if options.annotator:
        who = known(task.get(options.annotator))
    else:  # a session named only by its time is nobody
        who = known(task.get("_annotator_id") or task.get("_session_id"))
        who = name if who is None or UNNAMED.search(who) else who
    time, text = known(task.get("_timestamp")), task.item_text(options, *texts("prodigy"))
    return Response(item, who, answers, time, status, row=task.number, text=text, fields=task)


TOOL = Tool(
    name="prodigy",
    title="Prodigy",
    fields={"item": "_input_hash", "annotator": "_annotator_id", "time": "_timestamp"},
    recognise=shows((OBJECTS, "_input_hash", "_task_hash")),
    responses=responses,
    tells_seen=True,
    statuses={"ignored": "skipped", "rejected": "rejected"},
    counted=("answered",),
    renames=("item", "annotator"),
)
