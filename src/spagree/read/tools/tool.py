"""What every reader of a tool declares, and what it yields: one response per person and item."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from spagree.errors import ColumnError, DataError, UsageError, Warning, listed, opt, shown, unknown_name
from spagree.read.annotations import CLUSTER, GROUP
from spagree.read.columns import ADDRESSES, names_link
from spagree.read.files.json import DECODER, as_text
from spagree.read.timestamps import usual
from spagree.read.tools.marks import Marks
from spagree.read.tools.source import Source
from spagree.read.where import Condition

Value = str | tuple[str, ...] | Marks | None
Fields = TypeVar("Fields", bound=Mapping[str, Any])
NO_FIELDS: Mapping[str, Any] = MappingProxyType({})
KEPT = ""  # the status of a response that always counts


class Response(NamedTuple):
    """What one annotator answered about one item, question by question.

    A value is a text, several options, or nothing (an empty answer). A question that is not in ``answers`` was not
    asked; with ``is_complete`` it was asked and left empty. ``status`` and ``time`` are as the tool writes them,
    ``row`` is the line of the file if there is one, ``text`` is the item's text, and ``fields`` is the source record,
    for any other field the user may name.
    """

    item: str | None
    annotator: str | None
    answers: Mapping[str, Value]
    time: str | None = None
    status: str = KEPT
    is_gold: bool = False
    row: int | None = None
    text: str | None = None
    is_complete: bool = False
    fields: Mapping[str, Any] = NO_FIELDS


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """The user's options that a reader needs.

    The reader adds what the user should know to ``warnings``, and remarks on a single question to ``notes``.
    """

    scratch: Path
    encoding: str | None = None
    item: str | None = None
    annotator: str | None = None
    time: str | None = None
    question: str | None = None
    text: str | None = None
    config: Any = None
    where: Chosen | None = None
    cluster: str | None = None
    by: str | None = None
    warnings: list[Warning] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def further(self) -> dict[str, str]:
        """The fields of the item or the annotator that the user named, by their roles."""
        named = {CLUSTER: self.cluster, GROUP: self.by}
        return {role: name for role, name in named.items() if name is not None}

    def needs(self, name: str) -> bool:
        """Whether the user named this field of a record, or it may hold the address of the task."""
        is_condition = self.where is not None and any(each.column == name for each in self.where.conditions)
        return is_condition or name in self.further.values() or names_link(name)


def fields_of(record: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a record and of the objects in it, such as a task's data, as text; a table holds objects as JSON.

    >>> fields_of({"id": 7, "data": {"language": "en"}, "subject_data": '{"9": {"site": "A"}}', "tags": ["x"]})
    {'language': 'en', 'site': 'A', 'id': '7', 'subject_data': '{"9": {"site": "A"}}'}
    """
    fields: dict[str, Any] = {}
    for part in map(object_of, record.values()):
        for name, inner in part.items():
            fields |= inner if isinstance(inner, dict) else {name: inner}
    return {
        name: as_text(value) if value is not None else ""
        for name, value in (fields | dict(record)).items()
        if not isinstance(value, dict | list)
    }


def object_of(value: Any) -> dict[str, Any]:
    """An object, or a cell that holds one as JSON."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = DECODER.decode(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def field_in(record: Mapping[str, Any], name: str) -> str | None:
    """A field as text: of the record, of an object in it such as a task's data, or by path.

    >>> task = {"id": 7, "data": {"language": "en"}}
    >>> field_in(task, "id"), field_in(task, "language"), field_in(task, "data.language"), field_in(task, "tongue")
    ('7', 'en', 'en', None)
    """
    outer, _, inner = name.partition(".")
    return fields_of(record).get(name) or fields_of(object_of(record.get(outer))).get(inner) or None


def address_in(record: Mapping[str, Any]) -> str | None:
    """The address in a field called url, link and the like."""
    for part in (record, *[part for part in record.values() if isinstance(part, dict)]):
        for name in _link_names(tuple(part)) if part else ():
            if isinstance(part[name], str) and part[name].startswith(ADDRESSES):
                return str(part[name])
    return None


@lru_cache(maxsize=100)
def _link_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names that may hold addresses; cached, because the records of an export share their names."""
    return tuple(name for name in names if names_link(name))


MOST_SHOWN = 10


@dataclass(slots=True)
class Chosen:
    """Conditions on fields; counts records as it filters them."""

    conditions: Sequence[Condition]
    seen: int = 0
    kept: int = 0
    values: dict[str, dict[str, None]] = field(default_factory=dict)  # the first of each field, for messages

    def filtered(self, records: Iterable[Fields]) -> Iterator[Fields]:
        """The records that meet all conditions."""
        for record in records:
            self.seen += 1
            fields = fields_of(record)
            for name, text in fields.items():
                values = self.values.setdefault(name, {})
                if len(values) < MOST_SHOWN:
                    values.setdefault(text)
            if all(condition.holds(fields.get(condition.column)) for condition in self.conditions):
                self.kept += 1
                yield record

    def in_words(self) -> str:
        """What was chosen, and how much that leaves."""
        conditions = " and ".join(condition.in_words() for condition in self.conditions)
        return f"only records with {conditions}: {self.kept:,} of {self.seen:,}"

    def refuse_nothing(self, tool: str) -> None:
        """Refuse a field or value that no record has, or an export that has no records."""
        if not self.seen:
            raise UsageError(
                f"{opt.where} names a field of the records of an export, and this {tool} export has none to choose; "
                "leave it out"
            )
        for condition in self.conditions:
            name = condition.column
            if name not in self.values:
                raise ColumnError(f"{opt.where(name)}: no record has this field; fields: {listed(list(self.values))}")
            if not self.kept:
                values = listed(list(self.values[name]))
                raise DataError(f"{opt.where(condition)}: no record matches; field {shown(name)} holds {values}")


def shows(*signs: tuple[str, ...]) -> Callable[[Source], bool]:
    """Recognises a source by any of the signs: a shape, and keys that it must have, or endings of keys ("*.ann")."""

    def has(source: Source, key: str) -> bool:
        return any(name.endswith(key[1:]) for name in source.keys) if key.startswith("*") else key in source.keys

    return lambda source: any(source.shape == shape and all(has(source, key) for key in keys) for shape, *keys in signs)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool whose exports can be read.

    ``fields``: where it keeps item, annotator, label and time, as shown in the summary. ``statuses``: the code under
    which responses of a status are left out; ``counted``: the statuses that count by default. ``renames``: the roles
    for which the user may name another field. ``shapes``: what it can read besides plain files, such as folders.
    ``is_numbered``: whether the row of a response is the annotation's number, which sets the order. ``link``: the
    address of a record's task. ``tells_seen``: whether whoever saw an item has a response, even if they marked nothing.
    """

    name: str
    title: str
    fields: Mapping[str, str]
    recognise: Callable[[Source], bool]
    responses: Callable[[Source, ReaderOptions], Iterator[Response]]
    statuses: Mapping[str, str] = field(default_factory=dict)
    counted: tuple[str, ...] = ()
    renames: Collection[str] = ("item",)
    shapes: Collection[str] = ()
    clock: Callable[[str], float | None] = usual
    is_numbered: bool = False
    link: Callable[[Mapping[str, Any]], str | None] = address_in
    tells_seen: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """What counts as an annotation in an export; the defaults are stated in docs/formats.md."""

    status: tuple[str, ...] = ()
    ground_truth: str = "keep"
    multi: str = "set"
    empty: str = "drop"

    def counted(self, tool: Tool) -> tuple[str, ...]:
        """The statuses that count, in the tool's own words."""
        statuses = tuple(dict.fromkeys((*tool.counted, *tool.statuses)))
        for status in self.status:
            if not statuses:
                raise UsageError(f"{opt.status(status)}: {tool.title} exports have no status; leave it out")
            if status.lower() not in statuses:
                raise unknown_name("status", status, statuses)
        return tuple(status.lower() for status in self.status) or tool.counted

    def status_in_words(self, tool: Tool, seen: Collection[str]) -> str:
        """Which statuses count; nothing if no response has one."""
        counted = self.counted(tool)
        others = [name for name in dict.fromkeys((*tool.counted, *tool.statuses)) if name not in counted]
        left_out = f" (not {', '.join(others)})" if others else ""
        return f"status {', '.join(counted)}{left_out}" if counted and any(seen) else ""

    def in_words(self, tool: Tool, seen: Collection[str]) -> str:
        """The rules in the words of the summary."""
        gold = "ground truth kept" if self.ground_truth == "keep" else "ground truth left out"
        multi = "several choices are one set" if self.multi == "set" else "several choices are a question each"
        empty = "empty answers left out" if self.empty == "drop" else "empty answers are a label"
        return "; ".join(filter(None, (self.status_in_words(tool, seen), gold, multi, empty)))
