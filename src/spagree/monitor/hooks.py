"""What tools and programs post → events. A body is refused in words, and never half taken."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spagree.errors import DataError
from spagree.monitor.events import Event, Given, Gone
from spagree.read.files.json_text import DECODER, as_text
from spagree.read.tables import shown
from spagree.read.tools.answers import one_or_more, part
from spagree.read.tools.export import label as label_of
from spagree.read.tools.label_studio import person
from spagree.read.tools.label_studio_results import Aliases, Seen, aliases, answers
from spagree.read.tools.timestamps import usual
from spagree.read.tools.tool import ReaderOptions, Value

LONGEST = {"item": 1000, "annotator": 300, "label": 10_000, "project": 200, "question": 300, "id": 1000}
LARGEST_VERSION = 1e15
MOST_IN_A_BODY = 50_000
FIELDS = (*LONGEST, "version", "time", "deleted")
PROJECT, QUESTION, API = "default", "label", "api"
LABEL_STUDIO, POTATO = "label-studio", "potato"
APART = "\x1f"  # between item and annotator, where they are the id


def decoded(body: bytes) -> Any:
    """JSON with numbers as they are written."""
    try:
        return DECODER.decode(body.decode("utf-8-sig").strip())
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise DataError("the body is not JSON; send one object or a list of objects") from None


def posted(body: bytes) -> list[Event]:
    """The events in a body of the API: one annotation, or a list of them."""
    value = decoded(body)
    records = value if isinstance(value, list) else [value]
    if len(records) > MOST_IN_A_BODY:
        raise DataError(f"{len(records):,} annotations in one request; send at most {MOST_IN_A_BODY:,} at a time")
    return [_annotation(record, f"annotation {i}: " if len(records) > 1 else "") for i, record in enumerate(records, 1)]


def _annotation(record: Any, place: str) -> Given:
    if not isinstance(record, dict):
        raise DataError(f"{place}expected an object with item, annotator and label, found {shown(as_text(record))}")
    unknown = [name for name in record if name not in FIELDS]
    if unknown:
        raise DataError(f"{place}unknown field {shown(unknown[0][:60])}; the fields are {', '.join(FIELDS)}")
    deleted = record.get("deleted", False)
    if not isinstance(deleted, bool):
        raise DataError(f"{place}deleted is true or false, found {shown(as_text(deleted))}")
    texts = {name: _text(record, name, place) for name in LONGEST}
    needed = ("item", "annotator") if deleted and not texts["id"] else ("item", "annotator", "label")
    for name in () if deleted and texts["id"] else needed:
        if not texts[name]:
            raise DataError(f"{place}{name} is missing; an annotation has item, annotator and label")
    return Given(
        texts["project"] or PROJECT,
        texts["question"] or QUESTION,
        API,
        texts["id"] or texts["item"] + APART + texts["annotator"],
        texts["item"],
        texts["annotator"],
        texts["label"],
        _number(record, "version", place),
        _number(record, "time", place),
        deleted,
    )


def _text(record: Mapping[str, Any], name: str, place: str) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):  # numbers come as the text that was written
        raise DataError(f"{place}{name} is a text or a number, found {shown(as_text(value))}")
    return checked(str(value), name, place)


def checked(text: str, name: str, place: str = "") -> str:
    """A text that may be kept: not too long, and made of characters that can be written down."""
    if len(text) > LONGEST[name]:
        raise DataError(f"{place}{name} has {len(text):,} characters; at most {LONGEST[name]:,} are taken")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise DataError(f"{place}{name} holds a character that cannot be kept (NUL or half of a pair); leave it out")
    return text


def _number(record: Mapping[str, Any], name: str, place: str) -> float | None:
    """A number, or a time in ISO 8601."""
    value = record.get(name)
    if value is None:
        return None
    found = usual(value) if isinstance(value, str) else None
    if found is None or not math.isfinite(found) or abs(found) > LARGEST_VERSION:
        raise DataError(
            f"{place}{name} is a number or a time such as 2026-01-31T12:00:00Z, found {shown(as_text(value))}"
        )
    return found


def label_studio(body: bytes) -> list[Event]:
    """The events in a webhook of Label Studio; those about anything but annotations are empty."""
    payload = decoded(body)
    if not isinstance(payload, dict):
        raise DataError("expected an object with action, as Label Studio's webhooks send it")
    project = payload.get("project")
    if not isinstance(project, dict):
        return []  # sent without payload: only a reconciliation can tell
    name = f"label-studio-{as_text(project.get('id'))}"
    named, controls = aliases(as_text(project.get("label_config"))), project.get("parsed_label_config") or {}
    found = payload.get("annotation") or []
    records = found if isinstance(found, list) else [found]
    action = as_text(payload.get("action"))
    if action in ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED"):
        return [event for record in records for event in _completion(record, name, named, controls)]
    if action == "ANNOTATIONS_DELETED":
        return [Gone(name, LABEL_STUDIO, id=id) for id in _ids(payload, "annotations")]
    return [Gone(name, LABEL_STUDIO, item=id) for id in _ids(payload, "tasks")] if action == "TASKS_DELETED" else []


def expected_items(body: Mapping[str, Any]) -> tuple[str, int] | None:
    """The project of a Label Studio payload and how many tasks it has."""
    project = body.get("project")
    if not isinstance(project, dict) or not as_text(project.get("task_number")).isdecimal():
        return None
    return f"label-studio-{as_text(project.get('id'))}", int(as_text(project["task_number"]))


def _ids(payload: Mapping[str, Any], name: str) -> list[str]:
    found = payload.get(name)
    return [as_text(each.get("id")) for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _completion(record: Any, project: str, named: Aliases, known: Any) -> Iterator[Event]:
    """One event for each control; a skipped annotation, or one that leaves a control out, has no label there."""
    if not isinstance(record, dict) or "result" not in record:
        raise DataError("annotation should be an object with a result; set send_payload to true in the webhook")
    item, id = as_text(record.get("task")), as_text(record.get("id"))
    who = checked(person(record.get("completed_by"), ReaderOptions(Path())) or "", "annotator")
    is_skipped = record.get("was_cancelled") is True
    version, time = (usual(as_text(record.get(name))) for name in ("updated_at", "created_at"))
    controls = map(str, known) if isinstance(known, dict) else ()
    for of_item, found in answers("annotation", part(record, "result", list, "annotation"), named, Seen()).items():
        for control in sorted({*found, *controls} if not of_item else found):
            value = None if is_skipped else found.get(control)
            about = (project, checked(control, "question"), LABEL_STUDIO, id + of_item, item + of_item, who)
            label = checked(label_of(value), "label") if value else ""
            yield Given(*about, label, version, time, deleted=not value)


def potato(body: bytes, project: str = "potato") -> list[Event]:
    """The events in a webhook of potato: the last state of what one person said about one item."""
    payload = decoded(body)
    data = payload.get("data") if isinstance(payload, dict) else None
    if not isinstance(data, dict):
        raise DataError("expected an object with event and data, as potato's webhooks send it")
    if as_text(payload.get("event")) not in ("annotation.created", "annotation.updated"):
        return []
    given = data.get("annotations")
    item, annotator = (
        checked(as_text(data.get("instance_id")), "item"),
        checked(as_text(data.get("user_id")), "annotator"),
    )
    if not isinstance(given, dict) or not item or not annotator:
        raise DataError("an annotation of potato has user_id, instance_id and annotations")
    moment = usual(as_text(payload.get("timestamp")))
    id = item + APART + annotator
    about = (POTATO, id, item, annotator)
    return [
        Given(project, checked(schema, "question"), *about, checked(label_of(value), "label"), moment, moment)
        for schema, value in _schemas(given)
    ]


def _schemas(given: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    """``schema:name`` holds every choice; the bare ``schema`` of several choices holds only the last one."""
    chosen: dict[str, list[str]] = {}
    for key, value in given.items():
        schema, colon, _ = key.partition(":")
        text = as_text(value)
        if colon and text and text != "false":
            chosen.setdefault(schema, []).append(text)
        elif not colon and text:
            chosen.setdefault(schema, [])
    for schema, texts in chosen.items():
        yield schema, one_or_more(texts) if texts else as_text(given[schema])
