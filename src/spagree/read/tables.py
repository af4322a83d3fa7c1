"""The narrow waist inside ``read``: every source becomes a table before its layout is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spagree.late import nw
from spagree.read.annotations import Stamp
from spagree.understood import Caution


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns and a way to get some of them.

    ``load`` takes positions of columns and returns a lazy frame whose columns are called by
    ``cell(position)`` (so that no name of the user can collide with ours, nor two names that
    differ only in case), plus ``row`` where the engine keeps an order. Only the requested columns
    are read, so a narrow query of a broad file is cheap. ``is_positional``: the roles follow from
    the position, as in triples, so nothing was guessed. ``sample``: the first rows; those of a
    query exist once ``load`` has run it. ``first_row`` is the number of the first of them.
    """

    name: str
    columns: tuple[str, ...]
    load: Callable[[Sequence[int]], nw.LazyFrame[Any]]
    is_text: bool = False
    is_ordered: bool = True
    is_positional: bool = False
    sample: Sequence[tuple[object, ...]] = ()
    cautions: tuple[Caution, ...] = ()
    watched: Mapping[Path, Stamp] = field(default_factory=dict)
    first_row: int = 1


def sql_literal(text: str) -> str:
    """A text as an SQL literal.

    >>> print(sql_literal("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"


def cell(position: int) -> str:
    """The name of a column until its role is known.

    >>> cell(3)
    'c3'
    """
    return f"c{position}"


def shown(value: object, limit: int = 60) -> str:
    """A value as quoted in messages: control characters escaped, long values shortened.

    >>> shown("a" * 100, limit=5)
    "'aaaaa…'"
    """
    if not isinstance(value, str):
        return str(value)
    return ascii_controls(value if len(value) <= limit else value[:limit] + "…")


def ascii_controls(text: str) -> str:
    r"""Quote a text so that it cannot move the cursor or reverse the reading direction.

    >>> ascii_controls("é" + chr(27) + "[31m")
    "'é\\x1b[31m'"
    """
    return repr(text)


def listed(names: Sequence[str], limit: int = 30) -> str:
    """Column names for a message, shortened if there are very many.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    text = ", ".join(shown(name) for name in names[:limit])
    hidden = len(names) - limit
    return f"{text} and {hidden:,} more" if hidden > 0 else text
