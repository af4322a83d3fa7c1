"""Label Studio: JSON, JSON-MIN, CSV, TSV and snapshots; its database."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from sys import intern
from typing import Any

from spagree.errors import DataError, FileError, count
from spagree.messages import opt
from spagree.read.files.json import DECODER, as_text
from spagree.read.table import shown
from spagree.read.tools.records import (
    Record,
    answer,
    cell,
    is_true,
    item_text,
    known,
    one_or_more,
    opened,
    part,
    records,
    rows,
    split_columns,
    tell_regions,
)
from spagree.read.tools.source import DATABASE, OBJECTS, SERVER, TABLE, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool, Value, address_in
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


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """All annotations, numbered as Label Studio numbers them; drafts come last."""
    seen = Seen()
    if source.shape in (DATABASE, SERVER):
        yield from database_responses(source, options, seen)
    else:
        yield from _from_files(source, options, seen)
    _tell(seen, options, source)


def _from_files(source: Source, options: ReaderOptions, seen: Seen) -> Iterator[Response]:
    named = config_aliases(options)
    flat: list[tuple[str, Record]] = []
    for place, _, record in records(source, options):
        if "annotations" in record:
            yield from task_responses(place, record, options, named, seen)
        else:
            flat.append((place, record))
    controls = _controls([row for _, row in flat], options.question) if flat else ()
    for place, row in flat:
        if known(row.get("annotation_id")):  # unannotated tasks have a row without one
            yield _row_response(place, row, options, named, controls, seen)


def _tell(seen: Seen, options: ReaderOptions, source: Source) -> None:
    """Pass on what the user should know; refuse an export of marked regions only."""
    if seen.regions:
        refusal = (
            f"{count(seen.regions, 'region')} marked and no classes chosen; spagree compares classes: add a choice for "
            "the whole task (Choices without perRegion), or compare the regions with a tool for spans or boxes"
        )
        ignored = count(seen.regions, "marked or described region")
        tell_regions(source, options, ignored, "" if seen.controls else refusal)
    if seen.edited:
        edited = count(seen.edited, "annotation was", "annotations were")
        message = f"{edited} changed by someone else; the author counts as the annotator"
        options.cautions.append(Caution("edited_by_others", message))
    if seen.repeated:
        repeated = count(seen.repeated, "result repeats", "results repeat")
        message = f"{repeated} a control within an annotation; all results of a control count as one set"
        options.cautions.append(Caution("several_results", message))
    options.notes.update(
        dict.fromkeys(seen.ratings, f"stars are ordered: {opt.metric('ordinal')} gives credit for near misses")
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
    columns = split_columns(annotated, [name for name in names if name not in data])
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


AFTER_ALL = 2**62  # the number of every draft, so drafts sort last
TEXTS = ("text", "content", "title", "html", "dialogue", "image", "audio", "video")  # the usual keys of the data
SIMPLE = ("choices", "labels", "rating", "number", "selected", "text", "datetime")
# A value with one of these keys marks a region or an order: in text, an image, audio, video or a list.
REGIONS = frozenset(
    {"start", "end", "startOffset", "x", "y", "points", "vertices", "rle", "sequence", "ranges", "ranker"}
)


@dataclass(slots=True)
class Seen:
    """What the reader found that the user should know."""

    edited: int = 0
    regions: int = 0
    repeated: int = 0
    controls: set[str] = field(default_factory=set)
    ratings: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Aliases:
    """Stored value of a choice → its text, by control."""

    by_control: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def text(self, control: str, stored: str) -> str:
        """The text of a choice, whichever of the two was stored."""
        return self.by_control.get(control, {}).get(stored, stored)

    def value(self, control: str, value: Value) -> Value:
        """The same for a whole answer."""
        if value is None or isinstance(value, str):
            return value and self.text(control, value)
        return one_or_more(self.text(control, option) for option in value)


class _Config(HTMLParser):
    """Parses the labelling configuration tag by tag: Choice elements inside their control."""

    def __init__(self) -> None:
        super().__init__()
        self.control = ""
        self.aliases: dict[str, dict[str, str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember the control, and each choice with an alias."""
        attributes = dict(attrs)
        if attributes.get("name") and attributes.get("toname"):
            self.control = attributes["name"] or ""
        if tag == "choice" and attributes.get("alias") and attributes.get("value"):
            self.aliases.setdefault(self.control, {})[attributes["alias"] or ""] = attributes["value"] or ""


@lru_cache(maxsize=100)
def aliases(config: str) -> Aliases:
    """The aliases in a labelling configuration.

    >>> xml = '<Choices name="mood" toName="t"><Choice value="Neutral" alias="neu"/></Choices>'
    >>> aliases(xml).text("mood", "neu"), aliases(xml).text("mood", "Neutral")
    ('Neutral', 'Neutral')
    """
    parser = _Config()
    parser.feed(config)
    return Aliases(parser.aliases)


def config_aliases(options: ReaderOptions) -> Aliases:
    """The aliases in the configuration the user named; none without one."""
    if options.config is None:
        return Aliases()
    try:
        text = Path(options.config).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(
            f"{opt.config(options.config)}: cannot be read ({error}); give the labelling configuration"
        ) from None
    if "<" not in text:
        raise DataError(
            f"{opt.config(options.config)}: not a labelling configuration (XML); copy it from the project settings"
        )
    return aliases(text)


def answers(place: str, result: Sequence[Any], named: Aliases, seen: Seen) -> dict[str, dict[str, Value]]:
    """The answers of an annotation by item of a list ("" for the whole task) and control.

    Marked regions and choices about a region are not classes: they are counted and ignored.
    """
    by_suffix: dict[str, dict[str, Value]] = {"": {}}
    for entry in result:
        if not isinstance(entry, dict):
            raise DataError(f"{place}: a result should be an object, found {shown(as_text(entry))}")
        value, control, number = entry.get("value"), entry.get("from_name"), entry.get("item_index")
        if type(value) is not dict:
            value = part(entry, "value", dict, place)
        if not control:
            continue
        if not REGIONS.isdisjoint(value):
            seen.regions += 1
            continue
        control = intern(str(control))
        label = named.value(control, simple_value(value)) if named.by_control else simple_value(value)
        labels = by_suffix[""] if number is None else by_suffix.setdefault(f" {as_text(number)}", {})
        if control in labels:
            seen.repeated += 1
            label = both(labels[control], label)
        labels[control] = label
        seen.controls.add(control)
        if "rating" in value:
            seen.ratings.add(control)
    return by_suffix


def person(who: Any, options: ReaderOptions) -> str | None:
    """The user's number, which all formats share; snapshots also have ``--annotator email``."""
    if type(who) is int:
        return str(who)
    return known(who.get(options.annotator or "id")) if isinstance(who, dict) else known(who)


def both(first: Value, second: Value) -> Value:
    """Two answers to one control are one set."""
    return one_or_more(
        option for value in (first, second) for option in ((value,) if isinstance(value, str) else value or ())
    )


def simple_value(value: Record) -> Value:
    """What a control stores, whatever its kind; a path of a taxonomy is one option."""
    if "taxonomy" in value:
        paths = value["taxonomy"] if isinstance(value["taxonomy"], list) else []
        return one_or_more(" / ".join(map(as_text, path)) for path in paths if isinstance(path, list))
    for key in SIMPLE:
        if key in value:
            return answer(value[key])
    return None


# The same first columns in both: number, task, project, its data, the result, and who.
ANNOTATIONS = """
    SELECT CAST(c.id AS TEXT), CAST(c.task_id AS TEXT), CAST(c.project_id AS TEXT), CAST(t.data AS TEXT),
           CAST(c.result AS TEXT), CAST(c.completed_by_id AS TEXT), u.email, CAST(c.was_cancelled AS TEXT),
           CAST(c.ground_truth AS TEXT), CAST(c.created_at AS TEXT), CAST(c.updated_by_id AS TEXT)
    FROM task_completion c JOIN task t ON t.id = c.task_id LEFT JOIN htx_user u ON u.id = c.completed_by_id
    ORDER BY c.id"""
DRAFTS = """
    SELECT CAST(d.id AS TEXT), CAST(d.task_id AS TEXT), CAST(t.project_id AS TEXT), CAST(t.data AS TEXT),
           CAST(d.result AS TEXT), CAST(d.user_id AS TEXT), u.email
    FROM tasks_annotationdraft d JOIN task t ON t.id = d.task_id LEFT JOIN htx_user u ON u.id = d.user_id
    WHERE d.annotation_id IS NULL ORDER BY d.id"""
PROJECTS = "SELECT CAST(id AS TEXT), label_config FROM project ORDER BY id"


def database_responses(source: Source, options: ReaderOptions, seen: Seen) -> Iterator[Response]:
    """Every annotation, and every draft that belongs to none: read as tasks of an export, with one of them each."""
    with opened(source) as connection:
        configs = dict(rows(connection, PROJECTS))
        queries = (("annotation", ANNOTATIONS), ("draft", DRAFTS))
        entries = [(what, row) for what, query in queries for row in rows(connection, query)]
    from_user = config_aliases(options)
    many = len({row[2] for _, row in entries}) > 1
    for what, (number, task_number, project, data, result, user, email, *more) in entries:
        place = f"{what} {number}"
        task = {"id": task_number, "project": project, "data": _stored_json(place, data or "{}")}
        if options.where is not None and not any(True for _ in options.where.filtered([("", 0, task)])):
            continue
        who, given = email if options.annotator == "email" else user, _stored_json(place, result or "[]")
        if what == "draft":
            task["drafts"] = [{"user": who, "result": given}]
        else:
            cancelled, gold, created, editor = more
            annotation = {"id": number, "completed_by": who, "result": given, options.time or "created_at": created}
            annotation |= {"was_cancelled": is_true(cancelled), "ground_truth": is_true(gold)}
            task["annotations"] = [annotation | ({"updated_by": editor} if editor != user else {})]
        named = from_user if from_user.by_control else aliases(configs.get(project) or "")
        for response in task_responses(place, task, options, named, seen):
            prefix = f"{project}/" if many else ""
            yield response._replace(answers={prefix + control: value for control, value in response.answers.items()})


def _stored_json(place: str, text: str) -> Any:
    try:
        return DECODER.decode(text)
    except ValueError as error:
        raise DataError(f"{place}: its JSON in the database is damaged ({error})") from None


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
