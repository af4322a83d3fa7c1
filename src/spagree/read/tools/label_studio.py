"""Label Studio: JSON, JSON-MIN, CSV, TSV and snapshots; its database is read by label_studio_database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from spagree.errors import DataError
from spagree.read.annotations import Caution
from spagree.read.files.json_text import DECODER, as_text
from spagree.read.tables import shown
from spagree.read.tools import guess, label_studio_database
from spagree.read.tools.answers import Record, answer, cell, known, part, records
from spagree.read.tools.label_studio_results import Aliases, Completion, answers, given_aliases, simple_value
from spagree.read.tools.source import DATABASE, OBJECTS, SERVER, TABLE, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool, Value

OWN = frozenset({"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time"})


def recognise(source: Source) -> bool:
    """Tasks with annotations, one row per annotation, or the tables of its database."""
    if source.shape in (DATABASE, SERVER):
        return source.has("task_completion", "htx_user")
    is_tasks = source.shape == OBJECTS and source.has("annotations", "data")
    is_rows = source.shape in (OBJECTS, TABLE) and source.has("annotation_id", "annotator", "lead_time")
    return is_tasks or is_rows


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """All annotations in the order of their numbers, drafts last."""
    if source.shape in (DATABASE, SERVER):
        found = list(label_studio_database.completions(source, options))
    else:
        found = list(_completions(list(records(source, options)), options, given_aliases(options)))
    _caution_edits(found, options)
    controls = dict.fromkeys(control for each in found for control in each.response.answers)
    ordered = sorted(found, key=lambda each: each.number)
    yield from (_filled(each.response, controls) for each in ordered)


def _caution_edits(found: Sequence[Completion], options: ReaderOptions) -> None:
    edited = sum(each.is_edited for each in found)
    if edited:
        message = f"{edited:,} annotations were changed by somebody else; they count for the annotator who made them"
        options.cautions.append(Caution("edited_by_others", message))


def _filled(response: Response, controls: Mapping[str, None]) -> Response:
    """A control that a submitted annotation leaves out was seen and not answered."""
    if response.status != "submitted":
        return response
    return replace(response, answers={**dict.fromkeys(controls), **response.answers})


def _completions(
    entries: Sequence[tuple[str, int, Record]], options: ReaderOptions, named: Aliases
) -> Iterator[Completion]:
    flat = [(place, row) for place, _, row in entries if "annotations" not in row]
    controls = _controls([row for _, row in flat], options.question) if flat else ()
    for place, _, record in entries:
        if "annotations" in record:
            yield from task_completions(place, record, options, named)
        elif known(record.get("annotation_id")):  # tasks nobody annotated have a row without one
            yield _row_completion(place, record, options, named, controls)


def _controls(rows: Sequence[Record], question: str | None) -> tuple[str, ...]:
    """The columns that are controls; the data of the tasks stands among them.

    JSON-MIN lists data, id, controls, annotator in this order. CSV sorts by name: there a column is data
    when nobody annotated the task and it is filled nevertheless, or when it differs from task to task only.
    """
    every = dict.fromkeys(name for row in rows for name in row)
    clashing = {f"_data_{name}" for name in every}  # what CSV calls data with the name of a control
    names = [name for name in every if name not in OWN and name not in clashing]
    ordered = [list(row) for row in rows]
    if any(keys != sorted(keys) for keys in ordered):
        behind = {name for keys in ordered for name in keys[_place(keys, "id") : _place(keys, "annotator")]}
        return tuple(name for name in names if name in behind)
    data = {name for row in rows if not known(row.get("annotation_id")) for name in names if known(row[name])}
    annotated = [(as_text(row.get("id")), row) for row in rows if known(row.get("annotation_id"))]
    found = guess.split(annotated, [name for name in names if name not in data])
    wanted = {*found.answers, *found.doubtful, question}
    return tuple(name for name in names if name in wanted)


def _place(keys: Sequence[str], name: str) -> int:
    return keys.index(name) if name in keys else 0


def task_completions(place: str, task: Record, options: ReaderOptions, named: Aliases) -> Iterator[Completion]:
    """The annotations and drafts of a task; predictions are no annotations."""
    item = cell(part(task, "data", dict, place), options.item, place) if options.item else cell(task, "id", place)
    for position, found in enumerate(part(task, "annotations", list, place), 1):
        where = f"{place}: annotation {position}"
        if not isinstance(found, dict):
            raise DataError(f"{where}: should be an object, found {shown(as_text(found))}; export all fields")
        yield completion(where, item, found, options, named)
    for draft in part(task, "drafts", list, place):
        if isinstance(draft, dict):
            result = answers(place, part(draft, "result", list, place), named)
            yield Completion(2**62, Response(item, person(draft.get("user"), options), result, status="draft"))


def completion(place: str, item: str, found: Record, options: ReaderOptions, named: Aliases) -> Completion:
    """One annotation."""
    if "result" not in found:
        raise DataError(f"{place}: has no 'result'; export the annotations with all their fields")
    by = person(found.get("completed_by"), options)
    editor = person(found.get("updated_by"), options)
    response = Response(
        item,
        by,
        answers(place, part(found, "result", list, place), named),
        known(found.get(options.time or "created_at")),
        "cancelled" if found.get("was_cancelled") is True else "submitted",
        is_gold=found.get("ground_truth") is True,
    )
    return Completion(_number(found.get("id")), response, editor is not None and editor != by)


def _number(text: Any) -> int:
    return int(text) if isinstance(text, str) and text.isdecimal() else 0


def person(who: Any, options: ReaderOptions) -> str | None:
    """The number of the user, which all formats share; snapshots also have ``--annotator email``."""
    return known(who.get(options.annotator or "id")) if isinstance(who, dict) else known(who)


def _row_completion(
    place: str, row: Record, options: ReaderOptions, named: Aliases, controls: Sequence[str]
) -> Completion:
    """A row of JSON-MIN, CSV or TSV: skipped annotations are not there, ground truth is not marked."""
    found = {name: named.value(name, _flat(row[name])) for name in controls if name in row}
    item = cell(row, options.item or "id", place)
    time = known(row.get(options.time or "created_at"))
    response = Response(item, known(row.get("annotator")), found, time, "submitted")
    return Completion(_number(row.get("annotation_id")), response)


def _flat(value: Any) -> Value:
    """One choice is a bare text, several an object; other controls are a list of objects."""
    decoded = _decoded(value) if isinstance(value, str) and value[:2] in ('{"', '["', "[{") else value
    if isinstance(decoded, list) and decoded and isinstance(decoded[0], dict):
        decoded = decoded[0]
    return simple_value(decoded) if isinstance(decoded, dict) else answer(decoded)


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
)
