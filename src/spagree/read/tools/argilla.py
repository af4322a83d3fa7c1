"""Argilla: records as JSON, flat or nested, and the lists of version 1 (also as Parquet)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spagree.errors import DataError
from spagree.messages import Warning, shown
from spagree.read.files.json import as_text
from spagree.read.tools.records import Record, answer, entries, first, item_text, known, part, records
from spagree.read.tools.source import COLUMNS, OBJECTS, Source
from spagree.read.tools.tool import Mark, Marks, ReaderOptions, Response, Tool, Value
from spagree.read.words import texts

USERS, STATUS, RESPONSES = ".responses.users", ".responses.status", ".responses"
ALONE = ("annotation", "annotation_agent")  # version 1, text classification: one annotation per record
UNSURE = "nested records have no status, so drafts and discarded responses count; export flat records to leave them out"
V1 = {"user_id", "value", "status"}


def recognise(source: Source) -> bool:
    """Parallel lists of users and responses, or responses by question."""
    if source.shape not in (OBJECTS, COLUMNS):
        return False
    is_flat = any(key.endswith(USERS) for key in source.keys)
    is_nested = source.shape == OBJECTS and source.has("responses", "fields", "suggestions")
    is_alone = source.has(*ALONE) and source.has("prediction")
    values = [value for record in source.objects for value in record.values()]
    kinds = [kind for kind in source.keys.values() if all(name in kind for name in V1)]
    return is_flat or is_nested or is_alone or any(map(_is_v1, (*values, *kinds)))


def _is_v1(value: Any) -> bool:
    """A list of responses or, in a table, one list per field."""
    if isinstance(value, str):
        return value.startswith("STRUCT")
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and first.keys() >= V1


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """Each response of each record; suggestions do not count."""
    is_unsure = False
    for place, number, record in records(source, options):
        if all(name in record for name in ALONE):
            raise DataError(
                f"{place}: one annotation per record, not one per annotator, so agreement cannot be measured; "
                "export a feedback dataset, whose records keep all responses"
            )
        item = first(record, (options.item,)) if options.item else first(record, ("id", "external_id")) or str(number)
        shown_fields = record["fields"] if isinstance(record.get("fields"), dict) else record  # nested or flat
        text = item_text(shown_fields, options, place, *texts("argilla"))
        is_unsure = is_unsure or isinstance(record.get("responses"), dict)
        for question, user, given, status in _answers(place, record):
            answers = {question: _value(place, given)}
            yield Response(item, known(user), answers, status=as_text(status), row=number, text=text, fields=record)
    if is_unsure:
        options.warnings.append(Warning("status_unknown", UNSURE))


def _value(place: str, value: Any) -> Value:
    """A label, options, a ranking as text, or marks.

    >>> _value("", [{"value": "b", "rank": 2}, {"value": "a", "rank": 1}]), _value("", ["x"])
    ('a > b', 'x')
    """
    parts = [option for option in value if isinstance(option, dict)] if isinstance(value, list) else []
    if parts and all("start" in option and "end" in option for option in parts):
        return Marks(place, [Mark(as_text(each.get("label")), each["start"], each["end"]) for each in parts])
    if parts and all("rank" in option and "value" in option for option in parts):
        ranks: dict[int, list[str]] = {}
        for option in parts:
            ranks.setdefault(int(option["rank"]), []).append(as_text(option["value"]))
        return " > ".join(" = ".join(sorted(ranks[rank])) for rank in sorted(ranks))
    return answer(value)


def _answers(place: str, record: Record) -> Iterator[tuple[str, Any, Any, Any]]:
    """Question, user, value and status of each response, in any of the three forms."""
    if isinstance(record.get("responses"), dict):
        for question, values in record["responses"].items():
            for response in entries(values, f"{place}: responses to {shown(question)}"):
                yield question, response.get("user_id"), response.get("value"), ""
        return
    for key in record:  # three parallel lists per question; null if nobody answered
        if not key.endswith(USERS):
            continue
        question = key.removesuffix(USERS)
        names = (question + RESPONSES, key, question + STATUS)
        values, users, statuses = (part(record, name, list, place) for name in names)
        if not len(values) == len(users) == len(statuses or users):
            sizes = f"{len(values)} responses, {len(users)} users, {len(statuses)} statuses"
            raise DataError(f"{place}: {shown(question)}: lists of different lengths ({sizes}); export it again")
        for value, user, status in zip(values, users, statuses or [""] * len(users), strict=True):
            yield question, user, value, status
    for question, value in record.items():  # version 1: each question is a column with a list of responses
        for response in entries(value, f"{place}: {shown(question)}") if _is_v1(value) else ():
            yield question, response.get("user_id"), response.get("value"), response.get("status")


TOOL = Tool(
    name="argilla",
    title="Argilla",
    fields={"item": "id", "annotator": "user_id"},
    recognise=recognise,
    responses=responses,
    tells_seen=True,
    statuses={"draft": "draft", "discarded": "discarded", "pending": "pending"},
    counted=("submitted",),
)
