"""Records with the answers of several people: Argilla, and Hugging Face datasets.

Argilla writes them flat or nested, version 1 as lists (also in Parquet); datasets have one row per item with lists of
annotators and of labels, in any of three layouts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from spagree.errors import DataError, Warning, listed, shown
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL
from spagree.read.files.json import as_text
from spagree.read.tools.fields import Record, answer, entries, first, known
from spagree.read.tools.marks import Mark, Marks
from spagree.read.tools.records import members, records
from spagree.read.tools.source import COLUMNS, FOLDER, OBJECTS, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool, Value
from spagree.read.words import plain_name, ranked, texts, words

USERS, STATUS, RESPONSES = ".responses.users", ".responses.status", ".responses"
ALONE = ("annotation", "annotation_agent")  # version 1, text classification: one annotation per record
UNSURE = "nested records have no status, so drafts and discarded responses count; export flat records to leave them out"
V1 = {"user_id", "value", "status"}


def recognise_argilla(source: Source) -> bool:
    """Parallel lists of users and responses, or responses by question."""
    if source.shape not in (OBJECTS, COLUMNS):
        return False
    is_flat = any(key.endswith(USERS) for key in source.keys)
    is_nested = source.shape == OBJECTS and source.has("responses", "fields", "suggestions")
    is_v1 = any(_is_v1(value) for record in source.objects for value in record.values())
    kinds = [kind for kind in source.keys.values() if kind.startswith("STRUCT") and all(name in kind for name in V1)]
    return is_flat or is_nested or source.has(*ALONE, "prediction") or is_v1 or bool(kinds)


def _is_v1(value: Any) -> bool:
    """A list of responses or, in a table, one list per field."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and first.keys() >= V1


def argilla_responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """Each response of each record; suggestions do not count."""
    is_unsure = False
    for record in records(source, options):
        if all(name in record for name in ALONE):
            raise DataError(
                f"{record.place}: one annotation per record, not one per annotator, so agreement cannot be measured; "
                "export a feedback dataset, whose records keep all responses"
            )
        names = (options.item,) if options.item else ("id", "external_id")
        item = first(record, names) or (None if options.item else str(record.number))
        is_nested = isinstance(record.get("fields"), dict)
        shown_fields = record.at(record["fields"]) if is_nested else record
        text = shown_fields.item_text(options, *texts("argilla"))
        is_unsure = is_unsure or isinstance(record.get("responses"), dict)
        for question, user, given, status in _given(record):
            answers, status_of = {question: _value(record.place, given)}, as_text(status)
            yield Response(item, known(user), answers, status=status_of, row=record.number, text=text, fields=record)
    if is_unsure:
        options.warnings.append(Warning("status_unknown", UNSURE))


def _given(record: Record) -> Iterator[tuple[str, Any, Any, Any]]:
    """Question, user, value and status of each response, in any of the three forms."""
    if isinstance(record.get("responses"), dict):
        for question, values in record["responses"].items():
            for each in entries(values, f"{record.place}: responses to {shown(question)}"):
                yield question, each.get("user_id"), each.get("value"), ""
        return
    for key, value in record.items():
        if key.endswith(USERS):  # three parallel lists per question; null if nobody answered
            question = key.removesuffix(USERS)
            names = {"responses": question + RESPONSES, "users": key, "statuses": question + STATUS}
            lists = {name: record.part(column, list) for name, column in names.items()}
            full = {name: each for name, each in lists.items() if each or name != "statuses"}
            for each in entries(full, f"{record.place}: {shown(question)}"):
                yield question, each["users"], each["responses"], each.get("statuses", "")
        elif _is_v1(value):  # version 1: each question is a column with a list of responses
            for each in entries(value, f"{record.place}: {shown(key)}"):
                yield key, each.get("user_id"), each.get("value"), each.get("status")


def _value(place: str, value: Any) -> Value:
    """A label, options, a ranking as text, or marks."""
    parts = [option for option in value if isinstance(option, dict)] if isinstance(value, list) else []
    if parts and all("start" in option and "end" in option for option in parts):
        return Marks(place, [Mark(as_text(each.get("label")), each["start"], each["end"]) for each in parts])
    if parts and all("rank" in option and "value" in option for option in parts):
        ranks: dict[int, list[str]] = {}
        for option in parts:
            ranks.setdefault(int(option["rank"]), []).append(as_text(option["value"]))
        return " > ".join(" = ".join(sorted(ranks[rank])) for rank in sorted(ranks))
    return answer(value)


ARGILLA = Tool(
    name="argilla",
    title="Argilla",
    fields={"item": "id", "annotator": "user_id"},
    recognise=recognise_argilla,
    responses=argilla_responses,
    tells_seen=True,
    statuses={"draft": "draft", "discarded": "discarded", "pending": "pending"},
    counted=("submitted",),
)


COMMON = ("user", "participant", "email")  # beginnings of names that are too common to tell a dataset by
LISTS = re.compile(r".*\[\]|List\(.*", re.DOTALL)


def recognise_huggingface(source: Source) -> bool:
    """A column of annotators per item, alone or together with their labels."""
    if source.shape == FOLDER:
        return source.has("dataset_info.json") and any(name.endswith(".arrow") for name in source.keys)
    who = frozenset(name for name in words(ANNOTATOR) if not name.startswith(COMMON))  # names that no other data use
    if source.shape == COLUMNS:  # by type: a structure that names annotators, or a list of them
        return any(
            _fits(re.findall(r"\w+", kind), who) and _fits(re.findall(r"\w+", kind), words(LABEL))
            if "struct" in kind.lower()
            else _fits([name], who) and LISTS.fullmatch(kind) is not None
            for name, kind in source.keys.items()
        )
    if source.shape != OBJECTS or (len(source.objects) == 1 and _is_table(source.objects[0])):
        return False
    for record in source.objects:  # annotators in one structure with labels, or in a parallel list
        together = _together(record)
        inside = record[together] if together else record if _beside(record) else {}
        names = list(inside[0] if isinstance(inside, list) else inside)
        if _fits(names, who) and _fits(names, words(LABEL)):
            return True
    return False


def _is_table(record: Mapping[str, Any]) -> bool:
    """One object that holds a table: rows that name their items, as in {"results": […], "count": 7}, or columns."""
    columns = [value for value in record.values() if isinstance(value, list)]
    if len(columns) == len(record) > 1 and all(value and isinstance(value[0], dict) for value in columns):
        return True  # the rows of each item
    if len(columns) == len(record) and len(set(map(len, columns))) == 1 and _fits(list(record), words(ITEM)):
        return True
    together = _together(record)
    rows = record[together] if together else ()
    is_item = _fits(list(_scalars(record)), words(ITEM))
    return not is_item and isinstance(rows, list) and bool(rows) and _fits(list(rows[0]), words(ITEM))


def _fits(names: Sequence[str], usual: Collection[str]) -> bool:
    """Whether any of the names is a usual one, in singular or plural."""
    return any(name in usual or name.removesuffix("s") in usual for name in map(plain_name, names))


def _is_who(name: str) -> bool:
    return _fits([name], words(ANNOTATOR))


def huggingface_responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """The annotations of each row, in any of the layouts."""
    source = replace(source, files=tuple(members(source, ".arrow", ".parquet")))  # of a folder as datasets saves it
    for record in records(source, options):
        scalars = _scalars(record)
        plain = {plain_name(name): name for name in scalars}
        usual = (plain[name] for names in ranked(ITEM) for name in names if name in plain)
        guess = next((found for name in usual if (found := known(scalars[name]))), str(record.number))
        item = known(record.get(options.item)) if options.item else guess
        text = record.at(scalars).item_text(options, *texts("huggingface"))
        together, who = _together(record), _beside(record)
        given: Any = record[together] if together else []
        if who and not together:  # lists as long as that of the annotators
            lists = {name: value for name, value in record.items() if isinstance(value, list)}
            given = {name: value for name, value in lists.items() if len(value) == len(record[who])}
            if len(given) == 1 and record[who]:
                sizes = [f"{name} ({len(value)})" for name, value in lists.items()]
                raise DataError(f"{record.place}: no list of labels is as long as {shown(who)}; lists: {listed(sizes)}")
        for annotation in entries(given, record.place):
            who = next((name for name in annotation if _is_who(name)), None)
            if who is None:
                raise DataError(
                    f"{record.place}: an annotation without an annotator; fields: {listed(list(annotation))}"
                )
            answers = {name: answer(value) for name, value in annotation.items() if name != who}
            yield Response(item, known(annotation[who]), answers, row=record.number, text=text, fields=record)


def _scalars(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if not isinstance(value, list | dict)}


def _together(record: Mapping[str, Any]) -> str | None:
    """The column that holds annotators with their labels: a list of structures or a structure of lists."""
    for name, value in record.items():
        first = value[0] if isinstance(value, list) and value else value
        is_struct = isinstance(first, dict) and any(map(_is_who, first)) and not first.keys() >= V1
        if is_struct and (isinstance(value, list) or all(isinstance(column, list) for column in first.values())):
            return name
    return None


def _beside(record: Mapping[str, Any]) -> str | None:
    """The column with the list of annotators, if there are also lists of labels."""
    return next((name for name, value in record.items() if _is_who(name) and isinstance(value, list)), None)


HUGGINGFACE = Tool(
    name="huggingface",
    title="Hugging Face",
    fields={"item": "id", "annotator": "annotators"},
    recognise=recognise_huggingface,
    responses=huggingface_responses,
    shapes=(FOLDER,),
)
