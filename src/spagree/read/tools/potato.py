"""potato: the state it keeps for each user; its own CSV export may be stale and is not used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spagree.errors import DataError, Warning, shown
from spagree.read.files.json import as_text
from spagree.read.files.paths import File
from spagree.read.tools.fields import Record, known, one_or_more
from spagree.read.tools.marks import Mark, Marks
from spagree.read.tools.records import file_records, members
from spagree.read.tools.source import FOLDER, OBJECTS, Source
from spagree.read.tools.tool import NO_FIELDS, ReaderOptions, Response, Tool, Value
from spagree.read.words import texts

REMARK = "free_response"
HISTORY_ONLY = (
    "some annotators have only a history, which does not record that a choice was replaced or unticked, so they may "
    "have too many labels; give the folder with the user_state.json files"
)
STATE, HISTORY, LABELS = "user_state.json", "annotation_history.jsonl", "instance_id_to_label_to_value"
SPANS = "instance_id_to_span_to_value"
FREE = {"slider", "select-one", "selection", "scale_value", "decision", "rank_order", "selected_labels", "text_box",
        "text", "number", "value"}  # names of inputs whose value is the answer  # fmt: skip
FILLED_IN = {"text_box", "slider", "text", "number"}  # the same in potato 1.x
INSTANCES, FIRST_LABELS = "annotated_instances.jsonl", "label_annotations"  # of potato 1.x
ALWAYS = frozenset({"", "true", "false"})  # values that do not tell ratings from choices
Entered = tuple[str, str, str]  # question, option, and what was entered for it


class Labelled(NamedTuple):
    """What one user entered about one item, and for potato 1.x its text and record."""

    user: str
    item: str
    entered: Sequence[Entered]
    text: str | None = None
    fields: Mapping[str, Any] = NO_FIELDS


def recognise(source: Source) -> bool:
    """A folder with the state or the history of users, or such files."""
    if source.shape == FOLDER:
        return any(Path(name).name in (STATE, HISTORY, INSTANCES) for name in source.keys)
    is_later = source.has("user_id", LABELS) or source.has("action_type", "schema_name")
    return source.shape == OBJECTS and (is_later or any(map(_is_instance, source.objects)))


def _is_instance(record: Mapping[str, Any]) -> bool:
    """Whether a record is an instance as potato 1.x writes it."""
    return "id" in record and isinstance(record.get(FIRST_LABELS), dict)


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """The last state of every user; if there is only a history, the state it leads to."""
    entries = [
        (file, record)
        for file in members(source, STATE, HISTORY, INSTANCES, may_be_empty=True)
        for record in file_records(file, options)
    ]
    states = [(record.cell("user_id"), record) for _, record in entries if LABELS in record]
    actions = [record for _, record in entries if "action_type" in record]
    times: dict[tuple[str, str, str], str] = {}  # of the last change, in the server's local time: enough for ordering
    for action in actions:
        user, item, schema = (action.cell(name) for name in ("user_id", "instance_id", "schema_name"))
        times[user, item, schema] = max(times.get((user, item, schema), ""), as_text(action.get("timestamp")))
    users = {user for user, _ in states}
    alone = [action for action in actions if action.cell("user_id") not in users]
    if alone:
        options.warnings.append(Warning("history_only", HISTORY_ONLY))
    instances = [_instance(file, record, options) for file, record in entries if _is_instance(record)]
    yield from _responses(instances, {}, frozenset())
    yield from _spans(states)
    by_item = {
        (user, item): Labelled(user, item, _entered(state.at({}, f"{state.place}: {item}"), labels))
        for user, state in states
        for item, labels in state.part(LABELS, dict).items()
    }
    yield from _responses([*by_item.values()], times, ALWAYS)
    yield from _responses(_from_actions(alone), times, ALWAYS)


def _spans(states: Sequence[tuple[str, Record]]) -> Iterator[Response]:
    """What each user marked; where they saved an answer and no span, they saw the item and marked nothing.

    The question is the schema, with the field of the item if it shows several texts.
    """
    given: dict[tuple[str, str], dict[str, list[Mark]]] = {}
    for user, state in states:
        spans = state.part(SPANS, dict)
        for item in (*spans, *state.part(LABELS, dict)):
            where, by_question = f"{state.place}: {item}", defaultdict[str, list[Mark]](list)
            for span in spans.part(item, list):
                is_pair = isinstance(span, list) and span and isinstance(span[0], dict)
                what = state.at(span[0] if is_pair else {}, where)
                question, name = what.cell("schema"), what.cell("name")
                if field := known(what.get("target_field")):
                    question = f"{question}:{field}"
                start, end = what.get("start"), what.get("end")
                is_region = start == end and what.get("format_coords")  # of a page
                mark = Mark(name, place=where) if is_region else Mark(name, start, end, place=where)
                by_question[question].append(mark)
            given[user, item] = by_question
    questions = dict.fromkeys(question for by_question in given.values() for question in by_question)
    for (user, item), marked in given.items() if questions else ():
        yield Response(item, user, {name: Marks(item, marked.get(name, [])) for name in questions})


def _responses(
    given: Sequence[Labelled], times: Mapping[tuple[str, str, str], str], same: Collection[str]
) -> Iterator[Response]:
    """The answers of each user to each item; each row of a grid (multirate) is a separate item.

    Grids are the questions that rate each of their options: some option has different values in different answers,
    while one that can only be chosen always has the ``same``, in potato 1.x its number on the form.
    """
    values: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for schema, name, value in (entered for each in given for entered in each.entered):
        if name not in FREE and name not in (schema, REMARK):
            values[schema, name].add(value)
    grids = {schema for (schema, _), seen in values.items() if len(seen.difference(same)) > 1}
    for user, item, entered, text, fields in given:
        last = max((times.get((user, item, schema), "") for schema, _, _ in entered), default="") or None
        by_schema: defaultdict[str, list[str]] = defaultdict(list)
        rows: defaultdict[str, dict[str, Value]] = defaultdict(dict)
        for schema, name, value in entered:
            if schema in grids:
                rows[name][schema] = value or None
            else:
                by_schema[schema].append(_label(schema, name, value))
        answers = {  # free-text remarks are no choices
            schema: one_or_more([name for name in names if name != REMARK] or names)
            for schema, names in by_schema.items()
        }
        if answers or not rows:
            yield Response(item, user, answers, last, text=text, is_complete=not grids, fields=fields)
        for row, rated in rows.items():
            yield Response(f"{item} {row}", user, rated, last, text=text, fields=fields)


def _entered(record: Record, labels: Any) -> list[Entered]:
    """A list of [{schema, name}, value]; the documentation shows {schema: {labels: {name: true}}}."""
    if isinstance(labels, dict):
        shown_labels = {schema: record.at(options).part("labels", dict) for schema, options in labels.items()}
        return [
            (schema, name, as_text(value))
            for schema, options in shown_labels.items()
            for name, value in options.items()
            if value
        ]
    if not isinstance(labels, list):
        raise DataError(f"{record.place}: expected a list of labels, found {shown(as_text(labels))}")
    for pair in labels:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], dict):  # noqa: PLR2004
            raise DataError(f"{record.place}: expected [{{schema, name}}, value], found {shown(as_text(pair))}")
    entered = ((record.at(what), value) for what, value in labels)
    return [(what.cell("schema"), what.cell("name"), as_text(value)) for what, value in entered]


def _label(schema: str, name: str, value: str) -> str:
    """The name of the chosen option; for an input field, its value.

    >>> _label("mood", "good", "true"), _label("size", "slider", "7"), _label("kind", "text", "true")
    ('good', '7', 'text')
    """
    is_field = (name in FREE or name == schema) and value not in ("true", name)
    return value if is_field else name


def _from_actions(actions: Sequence[Record]) -> list[Labelled]:
    """Replay the history: labels are added, changed and removed."""
    chosen: defaultdict[tuple[str, str], dict[tuple[str, str], str]] = defaultdict(dict)
    for record in sorted(actions, key=lambda action: as_text(action.get("timestamp"))):
        schema, name = record.cell("schema_name"), record.cell("label_name")
        options = chosen[record.cell("user_id"), record.cell("instance_id")]
        action, value = record.cell("action_type"), as_text(record.get("new_value"))
        is_off = action in ("delete_label", "remove_label") or value in ("", "false")
        if action == "update_label":
            options.pop((schema, as_text(record.get("old_value"))), None)
        options.pop((schema, name), None)
        if not is_off and action in ("add_label", "update_label"):
            options[schema, name] = value
    return [Labelled(*key, [(*option, value) for option, value in labels.items()]) for key, labels in chosen.items()]


def _instance(file: File, record: Record, options: ReaderOptions) -> Labelled:
    """A line of potato 1.x; an option of a choice has its number on the form, so it is its name that counts."""
    schemas = record.part(FIRST_LABELS, dict)
    entered = [
        (schema, name, "true" if name in FREE - FILLED_IN or name == schema else as_text(value))
        for schema in schemas
        for name, value in schemas.part(schema, dict).items()
        if value != ""
    ]
    text = record.item_text(options, *texts("potato"))
    return Labelled(Path(file.name).parent.name, record.cell("id"), entered, text, record)


TOOL = Tool(
    name="potato",
    title="potato",
    fields={"item": "instance_id", "annotator": "user_id", "time": "timestamp"},
    recognise=recognise,
    responses=responses,
    renames=(),
    shapes=(FOLDER,),
)
