"""What tools and programs post → events. A body is accepted or refused as a whole, with a reason."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from spagree.errors import DataError, shown
from spagree.monitor.ledger import APART, PART, UNFIT, Event, Reported, as_label, gone
from spagree.read.files.json import DECODER, as_text
from spagree.read.timestamps import LAST, usual
from spagree.read.tools.fields import Record, one_or_more
from spagree.read.tools.fields import label as label_of
from spagree.read.tools.label_studio import Seen, aliases, answers, person
from spagree.read.tools.marks import Marks, located
from spagree.read.tools.tool import ReaderOptions

LONGEST = {"item": 1000, "annotator": 300, "label": 10_000, "project": 200, "question": 300, "id": 1000}
MARKED = "marks"
LIMITS = {**LONGEST, MARKED: 1_000_000}
SHORT = min(LONGEST.values())
LARGEST_VERSION = 1e15
MOST_IN_A_BODY = 50_000
MOST_DIGITS = 16  # of a number that is no text
NUMBERS = ("version", "time", "deleted")
FIELDS = {*LONGEST, *NUMBERS}
PROJECT, QUESTION, API = "default", "label", "api"
LABEL_STUDIO, POTATO = "label-studio", "potato"
CHANGES = frozenset(("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED"))
DELETIONS = {"ANNOTATIONS_DELETED": ("annotations", "id"), "TASKS_DELETED": ("tasks", "item")}
SPAN_CONTROLS = frozenset(("Labels", "ParagraphLabels", "HyperTextLabels", "TimeSeriesLabels"))  # of Label Studio


def decoded(body: bytes) -> Any:
    """JSON with numbers as they are written."""
    try:
        return DECODER.decode(body.decode("utf-8-sig").strip())
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise DataError("the body is not JSON; send one object or a list of objects") from None


class _Posted(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An annotation as most programs send it: its texts are texts, its numbers numbers."""

    item: str = ""
    annotator: str = ""
    label: str = ""
    project: str = ""
    question: str = ""
    id: str = ""
    version: Annotated[float, msgspec.Meta(ge=-LARGEST_VERSION, le=LARGEST_VERSION)] | str | None = None
    time: Annotated[float, msgspec.Meta(ge=0, le=LAST)] | str | None = None
    deleted: bool = False


USUAL = msgspec.json.Decoder(list[_Posted] | _Posted)


def posted(body: bytes) -> list[Event]:
    """The events in a body of the API: one annotation, or a list of them; an error names the one at fault.

    A fast parser reads the values; what it refuses the careful one reads or explains.
    """
    try:
        value = USUAL.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
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
    given = record if isinstance(record, _Posted) else _posted(record)
    texts: tuple[str, ...] = (given.item, given.annotator, given.label, given.project, given.question, given.id)
    together = "".join(texts)
    if len(together) > SHORT or not together.isprintable():
        texts = tuple(checked(text, name) for text, name in zip(texts, LONGEST, strict=True))
    item, annotator, label, project, question, id = texts
    deleted = given.deleted
    if not (deleted and id) and not (item and annotator and (label or deleted)):
        missing = "label" if item and annotator else "annotator" if item else "item"
        raise DataError(f"{missing} is missing; an annotation has item, annotator and label")
    version, time = _number(given.version, "version"), moment(given.time, "time")
    key = (project or PROJECT, question or QUESTION, API, id or item + APART + annotator)
    return Reported(*key, item, annotator, label, version, time, deleted)


def _posted(record: Any) -> _Posted:
    """An annotation some of whose texts are numbers or null, or why it is none."""
    if not isinstance(record, dict):
        raise DataError(f"expected an object with item, annotator and label, found {shown(as_text(record))}")
    if not record.keys() <= FIELDS:
        unknown = next(name for name in record if name not in FIELDS)
        raise DataError(f"unknown field {shown(unknown[:60])}; the fields are {', '.join((*LONGEST, *NUMBERS))}")
    deleted = record.get("deleted", False)
    if not isinstance(deleted, bool):
        raise DataError(f"deleted must be true or false, found {shown(as_text(deleted))}")
    texts = {name: "" if record.get(name) is None else record[name] for name in LONGEST}
    for name, value in texts.items():
        if not isinstance(value, str):  # numbers arrive as the text that was written
            raise DataError(f"{name} must be a text or a number, found {shown(as_text(value))}")
        texts[name] = as_text(value)
    return _Posted(**texts, version=record.get("version"), time=record.get("time"), deleted=deleted)


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
    """A number, or a time in ISO 8601; a float is one that was read as such."""
    if value is None or type(value) is float:
        return value
    seconds = usual(value) if isinstance(value, str) else None
    if seconds is None or not math.isfinite(seconds) or abs(seconds) > LARGEST_VERSION:
        raise DataError(f"{name} must be a number or a time like 2026-01-31T12:00:00Z, found {shown(as_text(value))}")
    return seconds


def moment(value: Any, name: str) -> float | None:
    """A time between 1970 and 2100; nothing if none is given."""
    seconds = None if value in (None, "") else _number(value if type(value) is float else as_text(value), name)
    if seconds is not None and not 0 <= seconds <= LAST:
        raise DataError(f"{name} must lie between 1970 and 2100, found {shown(as_text(value))}")
    return seconds


def label_studio(body: Any) -> list[Event]:
    """The events in a Label Studio webhook, decoded or not; none if it is not about annotations."""
    payload = decoded(body) if isinstance(body, bytes) else body
    if not isinstance(payload, dict):
        raise DataError("expected an object with action, as Label Studio's webhooks send it")
    project, action = payload.get("project"), as_text(payload.get("action"))
    if not isinstance(project, dict):
        return []  # sent without payload: only a comparison can tell
    name = label_studio_project(project)
    if action in DELETIONS:
        listed, what = DELETIONS[action]
        records = payload[listed] if isinstance(payload.get(listed), list) else []
        ids = [_named(record.get("id"), "id") for record in records if isinstance(record, dict)]
        return [gone(name, LABEL_STUDIO, **{what: id}) for id in ids]
    if action not in CHANGES:
        return []
    records, task = payload.get("annotation") or [], payload.get("task")
    if isinstance(records, dict) and isinstance(task, dict):
        records = {**records, "data": task.get("data")}
    events: list[Event] = []
    for record in records if isinstance(records, list) else [records]:
        for event in completion(project, record):
            if isinstance(event, DataError):
                raise event
            events.append(event)
    return events


def label_studio_project(project: Mapping[str, Any]) -> str:
    """The name of a Label Studio project."""
    return f"{LABEL_STUDIO}-{_named(project.get('id'), 'project')}"


def expected_items(project: Any) -> dict[str, int]:
    """A Label Studio project and its number of tasks, where it says so."""
    tasks = as_text(project.get("task_number")) if isinstance(project, dict) else ""
    return {label_studio_project(project): int(tasks)} if tasks.isdecimal() and len(tasks) < MOST_DIGITS else {}


def completion(project: Mapping[str, Any], record: Any) -> Iterator[Reported | DataError]:
    """One event for each control of an annotation in Label Studio, or why its marks cannot be stored.

    A skipped annotation, or one without a control, has no label there; but whoever made no marks has seen the item.
    With the ``data`` of its task in the record, the offsets of marks are checked against the text.
    """
    if not isinstance(record, dict) or "result" not in record:
        raise DataError("annotation should be an object with a result; set send_payload to true in the webhook")
    where, item, id = label_studio_project(project), _named(record.get("task"), "item"), _named(record.get("id"), "id")
    who = _named(person(record.get("completed_by"), ReaderOptions(Path())), "annotator")
    is_skipped = record.get("was_cancelled") is True
    version, time = (moment(record.get(name), name) for name in ("updated_at", "created_at"))
    annotation = Record(record, f"annotation {id}")
    named, config = aliases(as_text(project.get("label_config"))), project.get("parsed_label_config")
    kinds = {str(name): one for name, one in config.items()} if isinstance(config, dict) else {}
    for_marks = {name for name, one in kinds.items() if isinstance(one, dict) and one.get("type") in SPAN_CONTROLS}
    for suffix, given in answers(annotation, named, Seen(), annotation.part("data", dict)).items():
        for control in sorted(given if suffix else {*given, *kinds}):
            value = None if is_skipped else given.get(control, Marks("") if control in for_marks else None)
            if isinstance(value, Marks):
                is_span = not value.marks or any(mark.start is not None for mark in value.marks)
                try:
                    label = checked(as_label(located(value)[0]), MARKED) if is_span else ""
                except DataError as error:
                    yield error
                    continue
            else:
                label = checked(label_of(value), "label") if value else ""
            part_id = id + suffix.replace(" ", PART, 1)
            about = (where, _named(control, "question"), LABEL_STUDIO, part_id, item + suffix, who)
            yield Reported(*about, label, version, time, deleted=not label)


def potato(body: bytes) -> list[Event]:
    """The events in a potato webhook: the latest state of one annotator's answers about one item.

    ``schema:name`` holds every choice; the bare ``schema`` of several choices holds only the last one.
    """
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
    chosen: dict[str, list[str]] = {}
    for key, value in annotations.items():
        schema, colon, _ = key.partition(":")
        text = as_text(value)
        if text and (not colon or text != "false"):
            chosen.setdefault(schema, []).extend([text] if colon else [])
    labels = {schema: one_or_more(texts or [as_text(annotations[schema])]) for schema, texts in chosen.items()}
    about = (POTATO, item + APART + annotator, item, annotator)
    return [
        Reported(POTATO, _named(schema, "question"), *about, checked(label_of(value), "label"), at, at)
        for schema, value in labels.items()
    ]
