"""--where on tool exports: only the records with, or without, a given value in a field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spagree.errors import ColumnError, DataError, UsageError
from spagree.read.files.json import DECODER, as_text
from spagree.read.table import listed, shown
from spagree.read.where import Condition

MOST_SHOWN = 10
Placed = tuple[str, int, Mapping[str, Any]]


@dataclass(slots=True)
class Chosen:
    """Conditions on fields; counts records as it filters them.

    >>> chosen = Chosen([Condition("lang", "en")])
    >>> records = [("", 1, {"id": 1, "data": {"lang": "en"}}), ("", 2, {"id": 2, "lang": "de"})]
    >>> [record["id"] for _, _, record in chosen.filtered(records)], chosen.in_words()
    ([1], 'only records with lang = en: 1 of 2')
    """

    conditions: Sequence[Condition]
    seen: int = 0
    kept: int = 0
    fields: dict[str, None] = field(default_factory=dict)
    values: dict[str, dict[str, None]] = field(default_factory=dict)

    def filtered(self, records: Iterable[Placed]) -> Iterator[Placed]:
        """The records that meet all conditions."""
        for place, number, record in records:
            self.seen += 1
            fields = _flat(record)
            self.fields.update(dict.fromkeys(fields))
            for name in (condition.column for condition in self.conditions):
                if name in fields and len(self.values.setdefault(name, {})) <= MOST_SHOWN:
                    self.values[name].setdefault(fields[name])
            if all(condition.holds(fields.get(condition.column)) for condition in self.conditions):
                self.kept += 1
                yield place, number, record

    def names(self, column: str) -> bool:
        """Whether a condition is about this column."""
        return any(condition.column == column for condition in self.conditions)

    def in_words(self) -> str:
        """What was chosen, and how much that leaves."""
        conditions = " and ".join(condition.in_words() for condition in self.conditions)
        return f"only records with {conditions}: {self.kept:,} of {self.seen:,}"

    def refuse_nothing(self, tool: str) -> None:
        """Refuse a field or value that no record has, or an export that has no records."""
        if not self.seen:
            raise UsageError(
                f"--where names a field of the records of an export, and this {tool} export has no records to choose; "
                "leave it out"
            )
        for condition in self.conditions:
            name = condition.column
            if name not in self.values:
                raise ColumnError(
                    f"--where {shown(name)}: no record has this field; fields: {listed(list(self.fields))}"
                )
            if not self.kept:
                values = listed(list(self.values[name])[:MOST_SHOWN])
                raise DataError(f"--where {condition}: no record matches; field {shown(name)} holds {values}")


def _flat(record: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a record and of the objects in it, such as a task's data; values as text.

    >>> _flat({"id": 7, "data": {"language": "en"}, "subject_data": '{"9": {"site": "A"}}'})["site"]
    'A'
    """
    fields: dict[str, Any] = {}
    for part in map(_object, record.values()):
        for name, inner in part.items():
            fields |= inner if isinstance(inner, dict) else {name: inner}
    return {
        name: as_text(value) if value is not None else ""
        for name, value in (fields | dict(record)).items()
        if not isinstance(value, dict | list)
    }


def _object(value: Any) -> dict[str, Any]:
    """An object, or a cell that holds one as JSON."""
    if isinstance(value, str) and value.startswith('{"'):
        try:
            value = DECODER.decode(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}
