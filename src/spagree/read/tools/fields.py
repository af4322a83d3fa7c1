"""Other fields of a record: what --by and --cluster name, and the address of the task."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from spagree.read.columns import ADDRESSES, names_link
from spagree.read.files.json import as_text


def field_in(record: Mapping[str, Any], name: str) -> str | None:
    """A field as text: of the record, of an object in it such as a task's data, or by path.

    >>> task = {"id": 7, "data": {"language": "en"}}
    >>> field_in(task, "id"), field_in(task, "language"), field_in(task, "data.language"), field_in(task, "tongue")
    ('7', 'en', 'en', None)
    """
    outer, _, inner = name.partition(".")
    value = next((part[name] for part in _parts(record) if name in part), None)
    if value is None and isinstance(record.get(outer), dict):
        value = record[outer].get(inner)
    return None if value is None or isinstance(value, dict | list) else as_text(value) or None


def fields_of(record: Mapping[str, Any]) -> list[str]:
    """The names that :func:`field_in` accepts."""
    return [name for part in _parts(record) for name, value in part.items() if not isinstance(value, dict | list)]


def address_in(record: Mapping[str, Any]) -> str | None:
    """The address in a field called url, link and the like.

    >>> address_in({"meta": {"URL": "https://example.org/7"}}), address_in({"url": "/7"})
    ('https://example.org/7', None)
    """
    for part in _parts(record):
        for name in _link_names(tuple(part)) if part else ():
            if isinstance(part[name], str) and part[name].startswith(ADDRESSES):
                return str(part[name])
    return None


def _parts(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The record and the objects in it."""
    return [record, *[part for part in record.values() if isinstance(part, dict)]]


@lru_cache(maxsize=100)
def _link_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names that may hold addresses; cached, because the records of an export share their names."""
    return tuple(name for name in names if names_link(name))
