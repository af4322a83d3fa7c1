"""Prodigy: JSONL of db-out, binary or choice, one file for all or one per annotator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from spagree.errors import DataError
from spagree.read.tools.answers import Record, answer, cell, file_records, known
from spagree.read.tools.source import OBJECTS, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool, Value

BINARY, CHOICE = "answer", "accept"
SPANS = ("ner_manual", "spans_manual", "image_manual", "audio_manual", "relations", "pos_manual")


def recognise(source: Source) -> bool:
    """Every task has the two hashes."""
    return source.shape == OBJECTS and source.has("_input_hash", "_task_hash")


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """The tasks of each file; a file without annotators stands for one of them if there are several."""
    for file in source.files:
        name = Path(file.name).stem if len(source.files) > 1 else None
        for place, number, task in file_records(file, options):
            yield _response(place, number, task, name, options)


def _response(place: str, number: int, task: Record, name: str | None, options: ReaderOptions) -> Response:
    if known(task.get("_view_id")) in SPANS:
        raise DataError(
            f"{place}: marks spans (_view_id {task['_view_id']}), not classes; nothing to compare as labels"
        )
    verdict = cell(task, "answer", place)
    is_choice = "options" in task or isinstance(task.get(CHOICE), list)
    if is_choice:
        answers: dict[str, Value] = {CHOICE: answer(task.get(CHOICE) or [])}
    else:
        answers = {BINARY: verdict}
    is_skip = verdict == "ignore"
    is_reject = is_choice and verdict == "reject"
    status = "ignored" if is_skip else "rejected" if is_reject else "answered"
    item = _item(place, task, is_choice, options)
    return Response(item, _person(task, name, options), answers, known(task.get("_timestamp")), status, row=number)


def _item(place: str, task: Record, is_choice: bool, options: ReaderOptions) -> str:
    """The input; and the label that was asked about, where the question is yes or no."""
    item = cell(task, options.item or "_input_hash", place)
    label = None if is_choice else known(task.get("label"))
    return f"{item} {label}" if label else item


def _person(task: Record, name: str | None, options: ReaderOptions) -> str | None:
    named = task.get(options.annotator) if options.annotator else None
    return known(named or task.get("_annotator_id") or task.get("_session_id")) or name


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
