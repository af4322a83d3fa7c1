"""Records of an export and what they hold: texts, options, parts; read strictly: every error names its location."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spagree.errors import ColumnError, DataError, listed, shown
from spagree.read.files.json import DECODER, FAST, REFUSED, as_object, as_text
from spagree.read.tools.tool import ReaderOptions, Value, object_of


class Record(dict[str, Any]):
    """A record of an export, or an object in one: it knows its ``place`` for messages, and its ``number``.

    >>> task = Record({"id": 7, "data": {"text": "Fine."}}, "tasks.json: object 1")
    >>> task.cell("id"), task.part("data", dict).cell("text"), task.part("drafts", list)
    ('7', 'Fine.', [])
    """

    __slots__ = ("number", "place")

    def __init__(self, fields: Mapping[str, Any], place: str, number: int = 0) -> None:
        super().__init__(fields)
        self.place, self.number = place, number

    def at(self, value: Any, place: str = "") -> Record:
        """An object in this record, or in a list there; anything else is refused."""
        return Record(as_object(value, place or self.place), place or self.place, self.number)

    def cell(self, name: str) -> str:
        """A field as text; a missing field is refused, listing those that exist."""
        if name not in self:
            raise ColumnError(f"{self.place}: there is no field {shown(name)}; fields: {listed(list(self))}")
        return as_text(self[name])

    def part(self, key: str, kind: type) -> Any:
        """A part that must be a list or an object; absent or null becomes empty."""
        value: Any = self.get(key)
        if value is None:
            value = kind()
        if not isinstance(value, kind):
            wanted = "a list" if kind is list else "an object"
            found = f"{shown(key)} should be {wanted}, found {shown(as_text(value))}"
            raise DataError(f"{self.place}: {found}; export it again")
        return Record(value, self.place, self.number) if isinstance(value, dict) else value

    def item_text(self, options: ReaderOptions, *names: str) -> str | None:
        """The text of the item: the field the user named, or the first of the usual ones."""
        if options.text is not None:
            return known(self.cell(options.text))
        return next((text for name in names if name in self and (text := known(self[name]))), None)


def decoded(text: str, place: str, what: str) -> Any:
    """The JSON in a cell; the careful decoder reads what the fast one refuses, such as NaN."""
    try:
        return FAST.decode(text)
    except REFUSED:
        pass
    try:
        return DECODER.decode(text)
    except ValueError as error:
        raise DataError(f"{place}: {what} is not JSON ({error}); export it again") from None


def first(record: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """The text of the first non-empty field; a dot leads into an object.

    >>> first({"result": {"label": None, "score": 1}}, ("result.label", "result.score"))
    '1'
    """
    return next((text for name in names if (text := known(_inside(record, name)))), None)


def _inside(record: Mapping[str, Any], name: str) -> Any:
    """A field by name, or by its path through objects, which tables store as JSON."""
    if name in record:
        return record[name]
    outer, dot, rest = name.partition(".")
    return _inside(object_of(record.get(outer)), rest) if dot else None


def known(value: Any) -> str | None:
    """The text of a value, or None if it is empty."""
    return (value if type(value) is str else as_text(value)) or None


def answer(value: Any) -> Value:
    """A label as a tool writes it: a text, a list of options, or a mapping of options to booleans."""
    if isinstance(value, dict) and value and all(isinstance(option, bool) for option in value.values()):
        return one_or_more(name for name, is_on in value.items() if is_on)
    if isinstance(value, list):
        if len(value) == 1 and type(value[0]) is str:
            return value[0]
        return one_or_more(as_text(option) for option in value if option is not None)
    return known(value)


def entries(value: Any, place: str) -> list[Record]:
    """A list of objects; an object of lists, as tables store it, is transposed."""
    if isinstance(value, dict) and all(isinstance(column, list) for column in value.values()):
        if len({len(column) for column in value.values()}) > 1:
            sizes = ", ".join(f"{len(column)} {name}" for name, column in value.items())
            raise DataError(f"{place}: lists of different lengths ({sizes}); export it again")
        value = [dict(zip(value, cells, strict=True)) for cells in zip(*value.values(), strict=True)]
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise DataError(f"{place}: should be a list of objects, found {shown(as_text(value))}; export it again")
    return [Record(entry, place) for entry in value]


def one_or_more(options: Iterable[str]) -> Value:
    """A single option as itself; several (or none) as a tuple without repeats."""
    distinct = tuple(dict.fromkeys(options))
    return distinct[0] if len(distinct) == 1 else distinct


def chosen(value: Value) -> tuple[str, ...]:
    """The options in a value; none if it is empty or holds marks."""
    if isinstance(value, str):
        return (value,) if value else ()
    return value if isinstance(value, tuple) else ()


def label(value: Value) -> str:
    """The label of a value: text unchanged, several options as one sorted set.

    >>> label("yes"), label(("b", "a")), label(None)
    ('yes', '["a", "b"]', '[]')
    """
    return value if isinstance(value, str) and value else json.dumps(sorted(chosen(value)), ensure_ascii=False)


def from_text(text: str) -> Value:
    """A cell: a list if it is a JSON list, otherwise the text."""
    if text.startswith("[") and text.endswith("]"):
        try:
            return answer(DECODER.decode(text))
        except json.JSONDecodeError:
            return text
    return text or None
