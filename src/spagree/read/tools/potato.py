"""potato: the state it keeps for each user; its own CSV export may be stale and is not used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from spagree.errors import DataError
from spagree.read.files.json import as_text
from spagree.read.files.paths import File, with_kind
from spagree.read.table import shown
from spagree.read.tools.records import Record, cell, file_records, item_text, one_or_more, part
from spagree.read.tools.source import FOLDER, OBJECTS, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool, Value
from spagree.understood import Caution

REMARK = "free_response"
HISTORY_ONLY = (
    "some annotators have only a history, which does not record that a choice was replaced or unticked, so they may "
    "have too many labels; give the folder with the user_state.json files"
)
STATE, HISTORY, LABELS = "user_state.json", "annotation_history.jsonl", "instance_id_to_label_to_value"
FREE = {"slider", "select-one", "selection", "scale_value", "decision", "rank_order", "selected_labels", "text_box",
        "text", "number", "value"}  # names of inputs whose value is the answer  # fmt: skip
INSTANCES, FIRST_LABELS = "annotated_instances.jsonl", "label_annotations"
FILLED_IN = ("text_box", "slider", "text", "number")  # names of inputs whose value is the answer

Pair = tuple[str, str, str]  # schema, name of the option, value
Times = Mapping[tuple[str, str, str], str]  # user, item, schema → when


def recognise(source: Source) -> bool:
    """A folder with the state or the history of users, or such files."""
    if source.shape == FOLDER:
        return any(Path(name).name in (STATE, HISTORY, INSTANCES) for name in source.keys)
    is_first = any(map(is_instance, source.objects))
    is_later = source.has("user_id", LABELS) or source.has("action_type", "schema_name")
    return source.shape == OBJECTS and (is_first or is_later)


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """The last state of every user; if there is only a history, the state it leads to."""
    files = list(_files(source))
    entries = [(file, entry) for file in files for entry in file_records(file, options)]
    first = [(Path(file.name).parent.name, place, record)
             for file, (place, _, record) in entries if is_instance(record)]  # fmt: skip
    yield from first_responses(first, options)
    states = [(place, record) for _, (place, _, record) in entries if LABELS in record]
    actions = [(place, record) for _, (place, _, record) in entries if "action_type" in record]
    times = _times(actions)
    users = {cell(record, "user_id", place) for place, record in states}
    alone = [(place, action) for place, action in actions if cell(action, "user_id", place) not in users]
    if alone:
        options.cautions.append(Caution("history_only", HISTORY_ONLY))
    by_item = {
        (cell(state, "user_id", place), item): _pairs(f"{place}: {item}", labels)
        for place, state in states
        for item, labels in part(state, LABELS, dict, place).items()
    }
    yield from _responses(by_item, times)
    yield from _from_actions(alone, times)


def _files(source: Source) -> Iterator[File]:
    if source.shape != FOLDER:
        yield from source.files
        return
    for name in source.keys:
        path = Path(source.path) / name
        if path.name in (STATE, HISTORY, INSTANCES) and path.stat().st_size:
            yield with_kind(File(path, str(path)))


def _times(actions: Sequence[tuple[str, Record]]) -> Times:
    """When each user last changed each answer, in the server's local time, which is enough for ordering."""
    latest: dict[tuple[str, str, str], str] = {}
    for place, action in actions:
        key = (cell(action, "user_id", place), cell(action, "instance_id", place), cell(action, "schema_name", place))
        latest[key] = max(latest.get(key, ""), as_text(action.get("timestamp")))
    return latest


def _responses(labels: Mapping[tuple[str, str], Sequence[Pair]], times: Times) -> Iterator[Response]:
    """The answers of each user to each item; each row of a grid (multirate) is a separate item."""
    grids = _grids(labels.values())
    for (user, item), pairs in labels.items():
        last = max((times.get((user, item, schema), "") for schema, _, _ in pairs), default="") or None
        by_schema: defaultdict[str, list[str]] = defaultdict(list)
        rows: defaultdict[str, dict[str, Value]] = defaultdict(dict)
        for schema, name, value in pairs:
            if schema in grids:
                rows[name][schema] = value or None
            else:
                by_schema[schema].append(_label(schema, name, value))
        answers = {schema: one_or_more(_choices(names)) for schema, names in by_schema.items()}
        if answers or not rows:
            yield Response(item, user, answers, last, is_complete=not grids)
        yield from (Response(f"{item} {row}", user, rated, last) for row, rated in rows.items())


def _grids(labels: Iterable[Sequence[Pair]]) -> set[str]:
    """The schemas that rate each of their options: some option has different values in different answers.

    An option that can only be chosen always has the same value.
    """
    values: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for pairs in labels:
        for schema, name, value in pairs:
            if name not in FREE and name not in (schema, REMARK):
                values[schema, name].add(value)
    return {schema for (schema, _), seen in values.items() if len(seen - {"", "true", "false"}) > 1}


def _pairs(place: str, labels: Any) -> list[Pair]:
    """A list of [{schema, name}, value]; the documentation shows {schema: {labels: {name: true}}}."""
    if isinstance(labels, dict):
        shown_labels = {schema: part(options, "labels", dict, place) for schema, options in labels.items()}
        return [
            (schema, name, as_text(value))
            for schema, options in shown_labels.items()
            for name, value in options.items()
            if value
        ]
    if not isinstance(labels, list):
        raise DataError(f"{place}: expected a list of labels, found {shown(as_text(labels))}")
    return [_pair(place, pair) for pair in labels]


def _choices(names: list[str]) -> list[str]:
    """The choices without free-text remarks."""
    return [name for name in names if name != REMARK] or names


def _label(schema: str, name: str, value: str) -> str:
    """The name of the chosen option; for an input field, its value.

    >>> _label("mood", "good", "true"), _label("size", "slider", "7"), _label("kind", "text", "true")
    ('good', '7', 'text')
    """
    is_field = (name in FREE or name == schema) and value not in ("true", name)
    return value if is_field else name


def _pair(place: str, pair: Any) -> Pair:
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], dict):  # noqa: PLR2004
        raise DataError(f"{place}: expected [{{schema, name}}, value], found {shown(as_text(pair))}")
    return cell(pair[0], "schema", place), cell(pair[0], "name", place), as_text(pair[1])


def _from_actions(actions: Sequence[tuple[str, Record]], times: Times) -> Iterator[Response]:
    """Replay the history: labels are added, changed and removed."""
    chosen: defaultdict[tuple[str, str], dict[tuple[str, str], str]] = defaultdict(dict)
    for place, record in sorted(actions, key=lambda entry: as_text(entry[1].get("timestamp"))):
        schema, name = cell(record, "schema_name", place), cell(record, "label_name", place)
        options = chosen[cell(record, "user_id", place), cell(record, "instance_id", place)]
        action, value = cell(record, "action_type", place), as_text(record.get("new_value"))
        is_off = action in ("delete_label", "remove_label") or value in ("", "false")
        if action == "update_label":
            options.pop((schema, as_text(record.get("old_value"))), None)
        options.pop((schema, name), None)
        if not is_off and action in ("add_label", "update_label"):
            options[schema, name] = value
    labels = {key: [(*option, value) for option, value in options.items()] for key, options in chosen.items()}
    return _responses(labels, times)


def first_responses(entries: Sequence[tuple[str, str, Record]], options: ReaderOptions) -> Iterator[Response]:
    """Every instance of every annotator; each row of a grid is a separate item."""
    labelled = [(who, place, record, _first_labels(place, record)) for who, place, record in entries]
    grids = _first_grids([labels for *_, labels in labelled])
    for who, place, record, labels in labelled:
        item, text = cell(record, "id", place), item_text(record, options, place, "displayed_text", "text")
        plain = {name: _first_value(values) for name, values in labels.items() if name not in grids}
        if plain or not labels:
            yield Response(item, who, plain, text=text, fields=record)
        rows: defaultdict[str, dict[str, Value]] = defaultdict(dict)
        for name, ratings in labels.items():
            for row, rating in ratings.items() if name in grids else ():
                rows[row][name] = rating or None
        yield from (Response(f"{item} {row}", who, answers, text=text, fields=record) for row, answers in rows.items())


def _first_labels(place: str, record: Record) -> dict[str, dict[str, str]]:
    schemas = part(record, FIRST_LABELS, dict, place)
    return {
        name: {option: as_text(value) for option, value in part(schemas, name, dict, place).items()} for name in schemas
    }


def _first_grids(all_labels: Sequence[Mapping[str, Mapping[str, str]]]) -> set[str]:
    """The questions that are grids: some row has different ratings in different answers.

    An option of a choice always has the same value, its number on the form or true.
    """
    values: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for labels in all_labels:
        for name, options in labels.items():
            for option, value in options.items():
                values[name, option].add(value)
    return {name for (name, option), seen in values.items() if len(seen) > 1 and option not in FILLED_IN}


def _first_value(options: Mapping[str, str]) -> Value:
    """The chosen options; for an input field, its value."""
    return one_or_more(value if option in FILLED_IN else option for option, value in options.items() if value != "")


def is_instance(record: Mapping[str, Any]) -> bool:
    """Whether a record is an instance as potato 1.x writes it."""
    return "id" in record and isinstance(record.get(FIRST_LABELS), dict)


TOOL = Tool(
    name="potato",
    title="potato",
    fields={"item": "instance_id", "annotator": "user_id", "time": "timestamp"},
    recognise=recognise,
    responses=responses,
    renames=frozenset(),
    shapes=frozenset({FOLDER}),
)
