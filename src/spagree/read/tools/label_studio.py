"""Label Studio: JSON, JSON-MIN, CSV, TSV and snapshots; its database is read by label_studio_database."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from spagree.errors import DataError, count
from spagree.read.files.json import DECODER, as_text
from spagree.read.table import shown
from spagree.read.tools import guess, label_studio_database
from spagree.read.tools.answers import Record, answer, cell, item_text, known, part, records
from spagree.read.tools.fields import address_in
from spagree.read.tools.label_studio_results import (
    AFTER_ALL,
    REGIONS,
    TEXTS,
    Aliases,
    Seen,
    answers,
    both,
    config_aliases,
    person,
    simple_value,
)
from spagree.read.tools.label_studio_tasks import Usual, UsualTasks, decoder
from spagree.read.tools.source import DATABASE, OBJECTS, SERVER, TABLE, Source
from spagree.read.tools.tool import ReaderOptions, Response, Responses, Tool, Value
from spagree.understood import Caution

UPLOADED = re.compile(r"(https?://[^/\s]+)/data/(?:upload|local-files)\b")
TOOL_COLUMNS = frozenset({"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time"})


def recognise(source: Source) -> bool:
    """Tasks with annotations, one row per annotation, or the tables of its database."""
    if source.shape in (DATABASE, SERVER):
        return source.has("task_completion", "htx_user")
    is_tasks = source.shape == OBJECTS and source.has("annotations", "data")
    is_rows = source.shape in (OBJECTS, TABLE) and source.has("annotation_id", "annotator", "lead_time")
    return is_tasks or is_rows


def responses(source: Source, options: ReaderOptions) -> Iterator[Response | Responses]:
    """All annotations, numbered as Label Studio numbers them; drafts come last."""
    seen = Seen()
    if source.shape in (DATABASE, SERVER):
        yield from label_studio_database.responses(source, options, seen)
    else:
        yield from _from_files(source, options, seen)
    _tell(seen, options, source)


def _from_files(source: Source, options: ReaderOptions, seen: Seen) -> Iterator[Response | Responses]:
    named = config_aliases(options)
    flat: list[tuple[str, Record]] = []
    usual = UsualTasks(options, named, seen)
    for place, number, record in records(source, options, decode=decoder(options)):
        if isinstance(record, Usual):
            yield from usual.responses(place, number, record)
        elif "annotations" in record:
            yield from task_responses(place, record, options, named, seen)
        else:
            flat.append((place, record))
    controls = _controls([row for _, row in flat], options.question) if flat else ()
    for place, row in flat:
        if known(row.get("annotation_id")):  # unannotated tasks have a row without one
            yield _row_response(place, row, options, named, controls, seen)


def _tell(seen: Seen, options: ReaderOptions, source: Source) -> None:
    """Pass on what the user should know; refuse an export of marked regions only."""
    if seen.regions and not seen.controls:
        raise DataError(
            f"{source.name}: {count(seen.regions, 'region')} marked and no classes chosen; spagree compares classes: "
            "add a choice for the whole task (Choices without perRegion), or compare the "
            "regions with a tool for spans or boxes"
        )
    if seen.regions:
        message = f"{count(seen.regions, 'marked or described region')} ignored: spagree compares classes"
        options.cautions.append(Caution("regions_left_aside", message))
    if seen.edited:
        edited = count(seen.edited, "annotation was", "annotations were")
        message = f"{edited} changed by someone else; the author counts as the annotator"
        options.cautions.append(Caution("edited_by_others", message))
    if seen.repeated:
        repeated = count(seen.repeated, "result repeats", "results repeat")
        message = f"{repeated} a control within an annotation; all results of a control count as one set"
        options.cautions.append(Caution("several_results", message))
    options.notes.update(
        dict.fromkeys(seen.ratings, "stars are ordered: --metric ordinal gives credit for near misses")
    )


def _controls(rows: Sequence[Record], question: str | None) -> tuple[str, ...]:
    """The columns that are controls, not task data.

    JSON-MIN lists data, id, controls and annotator in this order. CSV sorts by name: there a column is data if it is
    filled for a task nobody annotated, or if it varies only between tasks.
    """
    every = dict.fromkeys(name for row in rows for name in row)
    clashing = {f"_data_{name}" for name in every}  # how CSV names data columns that clash with a control
    names = [name for name in every if name not in TOOL_COLUMNS and name not in clashing]
    ordered = [list(row) for row in rows]
    if any(keys != sorted(keys) for keys in ordered):
        behind = {name for keys in ordered for name in keys[_place(keys, "id") : _place(keys, "annotator")]}
        return tuple(name for name in names if name in behind)
    data = {name for row in rows if not known(row.get("annotation_id")) for name in names if known(row[name])}
    annotated = [(as_text(row.get("id")), row) for row in rows if known(row.get("annotation_id"))]
    columns = guess.split(annotated, [name for name in names if name not in data])
    wanted = {*columns.answers, *columns.doubtful, question}
    return tuple(name for name in names if name in wanted)


def _place(keys: Sequence[str], name: str) -> int:
    return keys.index(name) if name in keys else 0


def task_responses(place: str, task: Record, options: ReaderOptions, named: Aliases, seen: Seen) -> Iterator[Response]:
    """The annotations and drafts of a task; predictions are not annotations."""
    data = part(task, "data", dict, place)
    item = cell(data, options.item, place) if options.item else cell(task, "id", place)
    text = item_text(data, options, place, *TEXTS)
    for position, annotation in enumerate(part(task, "annotations", list, place), 1):
        if not isinstance(annotation, dict) or "result" not in annotation:
            raise _incomplete(f"{place}: annotation {position}", annotation)
        yield from _annotation(place, item, text, annotation, options, named, seen, task)
    for draft in part(task, "drafts", list, place):
        if isinstance(draft, dict):
            by_suffix = answers(place, part(draft, "result", list, place), named, seen)
            who = person(draft.get("user"), options)
            yield from (
                Response(item + suffix, who, values, None, "draft", row=AFTER_ALL, text=text, fields=task)
                for suffix, values in by_suffix.items()
            )


def _incomplete(place: str, annotation: Any) -> DataError:
    if isinstance(annotation, dict):
        return DataError(f"{place}: has no 'result'; export the annotations with all their fields")
    return DataError(f"{place}: should be an object, found {shown(as_text(annotation))}; export all fields")


def _annotation(
    place: str,
    item: str,
    text: str | None,
    annotation: Record,
    options: ReaderOptions,
    named: Aliases,
    seen: Seen,
    task: Record,
) -> list[Response]:
    """One annotation: a response, or one for each item of a list."""
    author, editor = annotation.get("completed_by"), annotation.get("updated_by")
    by = person(author, options)
    if editor is not None and editor != author:
        seen.edited += person(editor, options) not in (None, by)
    result, time = annotation["result"], annotation.get(options.time or "created_at")
    by_suffix = answers(place, result if type(result) is list else part(annotation, "result", list, place), named, seen)
    if type(time) is not str or not time:
        time = known(time)
    status = "cancelled" if annotation.get("was_cancelled") is True else "submitted"
    is_gold, number = annotation.get("ground_truth") is True, _number(annotation.get("id"))
    if len(by_suffix) == 1:
        return [Response(item, by, by_suffix[""], time, status, is_gold, number, text, status == "submitted", task)]
    return [
        Response(item + suffix, by, values, time, status, is_gold, number, text, fields=task)
        for suffix, values in by_suffix.items()
        if values
    ]


def link(task: Record) -> str | None:
    """The task's address in Label Studio, if an uploaded file reveals it; otherwise the address in its data.

    >>> link({"id": 7, "project": 2, "data": {"image": "http://localhost:8080/data/upload/2/a.jpg"}})
    'http://localhost:8080/projects/2/data?task=7'
    """
    data, project, number = task.get("data"), task.get("project"), task.get("id")
    for value in data.values() if isinstance(data, dict) and project is not None else ():
        host = UPLOADED.match(value) if isinstance(value, str) else None
        if host:
            return f"{host[1]}/projects/{as_text(project)}/data?task={as_text(number)}"
    return address_in(task)


def _number(text: Any) -> int:
    if type(text) is int:
        return text
    return int(text) if isinstance(text, int) or (isinstance(text, str) and text.isdecimal()) else 0


def _row_response(
    place: str, row: Record, options: ReaderOptions, named: Aliases, controls: Sequence[str], seen: Seen
) -> Response:
    """A row of JSON-MIN, CSV or TSV, which omit skipped annotations and do not mark status or ground truth."""
    cells = {name: _classes(name, row[name], seen) for name in controls if name in row}
    labels = {name: named.value(name, value) for name, (value, is_class) in cells.items() if is_class}
    item = cell(row, options.item or "id", place)
    time = known(row.get(options.time or "created_at"))
    text = item_text(row, options, place, *(name for name in TEXTS if name not in controls))
    who, number = known(row.get("annotator")), _number(row.get("annotation_id"))
    return Response(item, who, labels, time, row=number, text=text, is_complete=True, fields=row)


def _classes(control: str, value: Any, seen: Seen) -> tuple[Value, bool]:
    """The classes in a cell, and whether it holds any; marked regions are counted and ignored.

    One choice is a bare text, several are an object; other controls are a list of objects.
    """
    decoded = _decoded(value) if isinstance(value, str) and value[:2] in ('{"', '["', "[{") else value
    if not isinstance(decoded, list) or not decoded or not all(isinstance(entry, dict) for entry in decoded):
        label = simple_value(decoded) if isinstance(decoded, dict) else answer(decoded)
    else:
        rest = [entry for entry in decoded if REGIONS.isdisjoint(entry)]
        seen.regions += len(decoded) - len(rest)
        if not rest:
            return None, False
        seen.repeated += len(rest) > 1
        label = simple_value(rest[0])
        for entry in rest[1:]:
            label = both(label, simple_value(entry))
        if "rating" in rest[0]:
            seen.ratings.add(control)
    if label:
        seen.controls.add(control)
    return label, True


def _decoded(text: str) -> Any:
    try:
        return DECODER.decode(text)
    except ValueError:
        return text


TOOL = Tool(
    name="label-studio",
    title="Label Studio",
    fields={"item": "id", "annotator": "completed_by", "label": "result", "time": "created_at"},
    recognise=recognise,
    responses=responses,
    statuses={"cancelled": "cancelled", "draft": "draft"},
    counted=("submitted",),
    renames=frozenset({"item", "annotator", "time"}),
    shapes=frozenset({DATABASE, SERVER}),
    is_numbered=True,
    link=link,
)
