"""What tools and programs post → events. A body is accepted or refused as a whole, with a reason."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from spagree.errors import DataError
from spagree.messages import shown
from spagree.monitor.ledger import APART, PART, UNFIT, Batch, Event, Events, Gone, Reported, as_label
from spagree.read.files.json import DECODER, as_text
from spagree.read.timestamps import LAST, usual
from spagree.read.tools.label_studio import Aliases, Seen, aliases, answers, person
from spagree.read.tools.marks import Marks, located
from spagree.read.tools.tool import ReaderOptions, Value
from spagree.read.tools.values import label as label_of
from spagree.read.tools.values import one_or_more, part

LONGEST = {"item": 1000, "annotator": 300, "label": 10_000, "project": 200, "question": 300, "id": 1000}
MARKED = "marks"
LIMITS = {**LONGEST, MARKED: 1_000_000}
SHORT = min(LONGEST.values())
LARGEST_VERSION = 1e15
MOST_IN_A_BODY = 50_000
MOST_DIGITS = 16  # of a number that is no text
MANY = 100  # annotations that are worth a batch
NUMBERS = ("version", "time", "deleted")
FIELDS = {*LONGEST, *NUMBERS}
PROJECT, QUESTION, API = "default", "label", "api"
LABEL_STUDIO, POTATO = "label-studio", "potato"
SPAN_CONTROLS = frozenset(("Labels", "ParagraphLabels", "HyperTextLabels", "TimeSeriesLabels"))  # of Label Studio

_Text = Annotated[str, msgspec.Meta(max_length=SHORT)]
_Version = Annotated[float, msgspec.Meta(ge=-LARGEST_VERSION, le=LARGEST_VERSION)]
_Time = Annotated[float, msgspec.Meta(ge=0, le=LAST)]


def decoded(body: bytes) -> Any:
    """JSON with numbers as they are written."""
    try:
        return DECODER.decode(body.decode("utf-8-sig").strip())
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise DataError("the body is not JSON; send one object or a list of objects") from None


def posted(body: bytes) -> Events:
    """The events in a body of the API: one annotation, or a list of them."""
    return _plain(body) or _one_by_one(body)


class _Posted(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An annotation whose fields are all of the usual kind and length."""

    item: _Text = ""
    annotator: _Text = ""
    label: _Text = ""
    project: _Text = ""
    question: _Text = ""
    id: _Text = ""
    version: _Version | None = None
    time: _Time | None = None
    deleted: bool = False


_USUAL = msgspec.json.Decoder(list[_Posted] | _Posted)


def _plain(body: bytes) -> Events | None:
    """The fast path for a body with nothing unusual in it; None if a closer look is needed."""
    if b"\\u" in body:  # the only way to write NUL or half of a pair
        return None
    try:
        records = _USUAL.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if isinstance(records, _Posted):
        records = [records]
    if len(records) > MOST_IN_A_BODY or not all(each.item and each.annotator and each.label for each in records):
        return None
    about = {(each.project, each.question, each.deleted) for each in records}
    if len(records) < MANY or len(about) > 1 or about.pop()[2]:
        return [
            Reported(
                *_key(each.project, each.question, each.id, each.item, each.annotator),
                *(each.item, each.annotator, each.label, each.version, each.time, each.deleted),
            )
            for each in records
        ]
    project, question, source, _ = _key(records[0].project, records[0].question, "", "", "")
    return Batch(
        project,
        question,
        source,
        [each.id or each.item + APART + each.annotator for each in records],
        [each.item for each in records],
        [each.annotator for each in records],
        [each.label for each in records],
        [each.version for each in records],
        [each.time for each in records],
    )


def _one_by_one(body: bytes) -> list[Event]:
    """Each annotation by itself, so that the error names the one at fault."""
    value = decoded(body)
    if not isinstance(value, list):
        return [_annotation(value)]
    if len(value) > MOST_IN_A_BODY:
        raise DataError(f"{len(value):,} annotations in one request; send at most {MOST_IN_A_BODY:,} at a time")
    events: list[Event] = []
    try:
        for record in value:
            events.append(_annotation(record))  # noqa: PERF401 (the message names the place)
    except DataError as error:
        raise DataError(f"annotation {len(events) + 1}: {error.message.marked}") from None
    return events


def _annotation(record: Any) -> Reported:
    if not isinstance(record, dict):
        raise DataError(f"expected an object with item, annotator and label, found {shown(as_text(record))}")
    if not record.keys() <= FIELDS:
        unknown = next(name for name in record if name not in FIELDS)
        raise DataError(f"unknown field {shown(unknown[:60])}; the fields are {', '.join((*LONGEST, *NUMBERS))}")
    deleted = record.get("deleted", False)
    if not isinstance(deleted, bool):
        raise DataError(f"deleted must be true or false, found {shown(as_text(deleted))}")
    item, annotator, label, project, question, id = [_text(record.get(name), name) for name in LONGEST]
    if not (deleted and id) and not (item and annotator and (label or deleted)):
        missing = "label" if item and annotator else "annotator" if item else "item"
        raise DataError(f"{missing} is missing; an annotation has item, annotator and label")
    version, time = _number(record.get("version"), "version"), moment(record.get("time"), "time")
    key = _key(project, question, id, item, annotator)
    return Reported(*key, item, annotator, label, version, time, deleted)


def _key(project: str, question: str, id: str, item: str, annotator: str) -> tuple[str, str, str, str]:
    """What identifies an annotation: its id or, without one, its item and annotator."""
    return project or PROJECT, question or QUESTION, API, id or item + APART + annotator


def _text(value: Any, name: str) -> str:
    if value is None:
        return ""
    if type(value) is str and len(value) <= SHORT and value.isprintable():
        return value  # most texts: nothing to check
    if not isinstance(value, str):  # numbers arrive as the text that was written
        raise DataError(f"{name} must be a text or a number, found {shown(as_text(value))}")
    return checked(value, name)


def checked(text: str, name: str) -> str:
    """A text that can be stored: not too long, and only characters that databases accept."""
    if len(text) > LIMITS[name]:
        raise DataError(f"{name} has {len(text):,} characters; the limit is {LIMITS[name]:,}: shorten it")
    if UNFIT.search(text, name == MARKED):
        raise DataError(f"{name} contains a character that cannot be stored (NUL, U+001D–1F, half a pair); remove it")
    return text if type(text) is str else str(text)


def _named(value: Any, name: str) -> str:
    """The text of something that identifies an annotation."""
    text = checked(as_text(value), name)
    if not text:
        raise DataError(f"{name} is missing; without it an annotation cannot be told from others")
    return text


def _number(value: Any, name: str) -> float | None:
    """A number, or a time in ISO 8601."""
    if value is None:
        return None
    seconds = usual(value) if isinstance(value, str) else None
    if seconds is None or not math.isfinite(seconds) or abs(seconds) > LARGEST_VERSION:
        raise DataError(f"{name} must be a number or a time like 2026-01-31T12:00:00Z, found {shown(as_text(value))}")
    return seconds


def moment(value: Any, name: str) -> float | None:
    """A time between 1970 and 2100; nothing if none is given."""
    if value in (None, ""):
        return None
    seconds = _number(value if isinstance(value, str) else as_text(value), name)
    if seconds is None or not 0 <= seconds <= LAST:
        raise DataError(f"{name} must lie between 1970 and 2100, found {shown(as_text(value))}")
    return seconds


def label_studio(body: bytes) -> list[Event]:
    """The events in a Label Studio webhook; none if it is not about annotations."""
    payload = decoded(body)
    if not isinstance(payload, dict):
        raise DataError("expected an object with action, as Label Studio's webhooks send it")
    project = payload.get("project")
    if not isinstance(project, dict):
        return []  # sent without payload: only a comparison can tell
    name = label_studio_project(project)
    records, task = payload.get("annotation") or [], payload.get("task")
    action = as_text(payload.get("action"))
    if action in ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED"):
        if isinstance(records, dict) and isinstance(task, dict):
            records = {**records, "data": task.get("data")}
        return [*completions(project, records if isinstance(records, list) else [records])]
    if action == "ANNOTATIONS_DELETED":
        return [Gone(name, LABEL_STUDIO, id=id) for id in _ids(payload, "annotations")]
    return [Gone(name, LABEL_STUDIO, item=id) for id in _ids(payload, "tasks")] if action == "TASKS_DELETED" else []


def label_studio_project(project: Mapping[str, Any]) -> str:
    """The name of a Label Studio project."""
    return f"{LABEL_STUDIO}-{_named(project.get('id'), 'project')}"


def expected_items(project: Any) -> tuple[str, int] | None:
    """A Label Studio project and its number of tasks."""
    tasks = as_text(project.get("task_number")) if isinstance(project, dict) else ""
    return (label_studio_project(project), int(tasks)) if tasks.isdecimal() and len(tasks) < MOST_DIGITS else None


def completions(
    project: Mapping[str, Any], records: Sequence[Any], refused: list[str] | None = None
) -> Iterator[Reported]:
    """Every annotation in the records of a Label Studio project, for each of its controls.

    With the ``data`` of its task in a record, the offsets of marks are checked against the text. A record that cannot
    be stored is an error, or stands with its reason in ``refused``.
    """
    named, config = aliases(as_text(project.get("label_config"))), project.get("parsed_label_config")
    about = config.items() if isinstance(config, dict) else ()
    controls = {str(name): isinstance(one, dict) and one.get("type") in SPAN_CONTROLS for name, one in about}
    for record in records:
        wrong: list[str] = []
        try:
            found = list(_completion(record, label_studio_project(project), named, controls, wrong))
        except DataError as error:
            found, wrong = [], [str(error)]
        if wrong and refused is None:
            raise DataError(wrong[0])
        if refused is not None:
            refused += wrong
        yield from found


def _ids(payload: Mapping[str, Any], name: str) -> list[str]:
    records = payload.get(name)
    listed = records if isinstance(records, list) else []
    return [_named(record.get("id"), "id") for record in listed if isinstance(record, dict)]


def _completion(
    record: Any, project: str, named: Aliases, controls: Mapping[str, bool], wrong: list[str]
) -> Iterator[Reported]:
    """One event for each control; a skipped annotation, or one without that control, has no label.

    ``controls`` says which are for marks: whoever made none there has seen the item. What is ``wrong`` with marks that
    cannot be is added there.
    """
    if not isinstance(record, dict) or "result" not in record:
        raise DataError("annotation should be an object with a result; set send_payload to true in the webhook")
    item, id = _named(record.get("task"), "item"), _named(record.get("id"), "id")
    who = _named(person(record.get("completed_by"), ReaderOptions(Path())), "annotator")
    is_skipped = record.get("was_cancelled") is True
    version, time = (moment(record.get(name), name) for name in ("updated_at", "created_at"))
    data, result = part(record, "data", dict, "annotation"), part(record, "result", list, "annotation")
    for suffix, given in answers(f"annotation {id}", result, named, Seen(), data).items():
        for control in sorted({*given, *controls} if not suffix else given):
            value = None if is_skipped else given.get(control, Marks("") if controls.get(control) else None)
            if isinstance(value, Marks):
                is_span = not value.marks or any(mark.start is not None for mark in value.marks)
                try:
                    label = checked(as_label(located(value)[0]), MARKED) if is_span else ""
                except DataError as error:
                    wrong.append(str(error))
                    continue
            else:
                label = checked(label_of(value), "label") if value else ""
            part_id = id + suffix.replace(" ", PART, 1)
            about = (project, _named(control, "question"), LABEL_STUDIO, part_id, item + suffix, who)
            yield Reported(*about, label, version, time, deleted=not label)


def potato(body: bytes, project: str = "potato") -> list[Event]:
    """The events in a potato webhook: the latest state of one annotator's answers about one item."""
    payload = decoded(body)
    data = payload.get("data") if isinstance(payload, dict) else None
    if not isinstance(data, dict):
        raise DataError("expected an object with event and data, as potato's webhooks send it")
    if as_text(payload.get("event")) not in ("annotation.created", "annotation.updated"):
        return []
    annotations = data.get("annotations")
    item, annotator = _named(data.get("instance_id"), "item"), _named(data.get("user_id"), "annotator")
    if not isinstance(annotations, dict):
        raise DataError("an annotation of potato has user_id, instance_id and annotations")
    at = moment(payload.get("timestamp"), "timestamp")
    about = (POTATO, item + APART + annotator, item, annotator)
    return [
        Reported(project, _named(schema, "question"), *about, checked(label_of(value), "label"), at, at)
        for schema, value in _schemas(annotations)
    ]


def _schemas(annotations: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    """``schema:name`` holds every choice; the bare ``schema`` of several choices holds only the last one."""
    chosen: dict[str, list[str]] = {}
    for key, value in annotations.items():
        schema, colon, _ = key.partition(":")
        text = as_text(value)
        if colon and text and text != "false":
            chosen.setdefault(schema, []).append(text)
        elif not colon and text:
            chosen.setdefault(schema, [])
    for schema, texts in chosen.items():
        yield schema, one_or_more(texts) if texts else as_text(annotations[schema])
