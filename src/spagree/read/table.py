"""The narrow waist inside ``read``: every source becomes a table, and every table a layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spagree.late import nw
from spagree.messages import opt
from spagree.read.annotations import FewRows, Stamp
from spagree.understood import Caution

EXACT = 2**53  # whole numbers below are exact as floats; rounded ones may land on it
SAMPLE_ROWS = 1_000  # looked at to find out what columns hold
SHOWN_EXAMPLES = 3


Finish = Callable[["nw.LazyFrame[Any]"], "nw.LazyFrame[Any]"]
"""Turns loaded columns into annotations."""


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns and a way to get some of them.

    ``load`` takes positions of columns and reads only those. It returns a lazy frame whose columns are called
    ``cell(position)``, because the user's names may collide with ours or differ only in case, plus ``row`` where the
    engine keeps an order. ``is_positional``: the roles follow from the position, as in triples, so nothing was
    guessed. ``sample``: the first rows; those of a query exist once ``load`` has run it. ``first_row``: their number.
    ``few`` gives the rows of a table of texts and whole numbers, by role, to be counted in memory.
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
    files: int = 1
    few: Callable[[Mapping[str, int], Finish], FewRows | None] | None = None

    def free(self, places: Mapping[str, Sequence[int]]) -> list[int]:
        """The positions of the columns that have a name but none of these roles."""
        taken = {p for positions in places.values() for p in positions}
        return [p for p, name in enumerate(self.columns) if name and p not in taken]

    def options(self, role: str, positions: Iterable[int]) -> str:
        """The options that name these columns for a role."""
        return opt[role]([self.columns[p] for p in positions])

    def different(self, positions: Sequence[int]) -> int:
        """How many combinations of values these columns have in the first rows; cells of JSON may be lists."""
        return len({repr([row[p] for p in positions if p < len(row)]) for row in self.sample})


@dataclass(frozen=True, slots=True)
class Layout:
    """Rows in the shape of Annotations, and what was understood on the way.

    ``shown``: the columns of each role, where rows of the table are annotations; the examples are taken from them.
    ``apart``: what distinguishes an annotator's repeats on an item.
    """

    rows: nw.LazyFrame[Any] | FewRows
    format: str
    columns: Mapping[str, str]
    guessed: frozenset[str]
    cautions: tuple[Caution, ...] = ()
    shown: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    apart: str = ""


def sql_literal(text: str) -> str:
    """A text as an SQL literal.

    >>> print(sql_literal("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"


def sql_name(name: str) -> str:
    """A column name, quoted for SQL.

    >>> print(sql_name('a "label" column'))
    "a ""label"" column"
    """
    return '"' + name.replace('"', '""') + '"'


def cell(position: int) -> str:
    """The name of a column until its role is known.

    >>> cell(3)
    'c3'
    """
    return f"c{position}"


def shown(value: object, limit: int = 60) -> str:
    r"""A value for messages: a text is quoted, with control characters escaped, and shortened if it is long.

    >>> shown("a" * 100, limit=5)
    "'aaaaa…'"
    >>> shown("é" + chr(27) + "[31m")
    "'é\\x1b[31m'"
    """
    if not isinstance(value, str):
        return str(value)
    return repr(value if len(value) <= limit else value[:limit] + "…")


def listed(names: Sequence[str], limit: int = 30) -> str:
    """Column names for a message, shortened if there are very many.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    text = ", ".join(shown(name) for name in names[:limit])
    hidden = len(names) - limit
    return f"{text} and {hidden:,} more" if hidden > 0 else text


def wrong_cell(source: str, column: str, value: object, row: Sequence[int]) -> str:
    """A cell that cannot be used, as listed in an error; ``row`` is empty if rows have no number.

    >>> wrong_cell("votes.csv", "label", None, [3])
    "votes.csv: row 3: column 'label': an empty cell"
    """
    place = f"row {row[0]}: " if row else ""
    return f"{source}: {place}column {shown(column)}: {'an empty cell' if value is None else shown(value)}"
