"""The narrow waist inside ``read``: every source becomes a table, and every table a layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from spagree.errors import Warning, opt
from spagree.errors import listed as listed  # noqa: PLC0414 (readers import it from here)
from spagree.errors import shown as shown  # noqa: PLC0414
from spagree.read.annotations import FewRows, Stamp, nw
from spagree.read.words import plain_name, words

EXACT = 2**53  # whole numbers below are exact as floats; rounded ones may land on it
SAMPLE_ROWS = 1_000  # looked at to find out what columns hold
SHOWN_EXAMPLES = 3
MOST_NAMED = 6  # columns that a command names one by one


Finish = Callable[["nw.LazyFrame[Any]"], "nw.LazyFrame[Any]"]
"""Turns loaded columns into annotations."""


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns and a way to get some of them.

    ``load`` takes positions of columns and reads only those. It returns a lazy frame whose columns are called
    ``cell(position)``, because the user's names may collide with ours or differ only in case, plus ``row`` where the
    engine keeps an order. ``is_positional``: the roles follow from the position, as in triples, so nothing was
    guessed. ``sample``: the first rows (``shares``: how many are from each file), or rows from all over
    (``is_spread``); those of a query exist once ``load`` has run it; ``is_whole``: it holds every row. ``noticed``:
    what was seen when all rows were loaded. ``first_row``: the number of the first row. ``small`` gives all rows of a
    small file. ``few`` gives the rows of a table of texts and whole numbers, by role, to be counted in memory.
    ``rules``: which rows were chosen, once they were loaded.
    """

    name: str
    columns: tuple[str, ...]
    load: Callable[[Sequence[int]], nw.LazyFrame[Any]]
    is_text: bool = False
    is_ordered: bool = True
    is_positional: bool = False
    sample: Sequence[tuple[object, ...]] = ()
    warnings: tuple[Warning, ...] = ()
    watched: Mapping[Path, Stamp] = field(default_factory=dict)
    first_row: int = 1
    files: int = 1
    shares: tuple[int, ...] = ()
    noticed: Callable[[], tuple[Warning, ...]] = tuple
    is_whole: bool = False
    is_spread: bool = False
    small: Callable[[], Sequence[tuple[object, ...]]] | None = None
    few: Callable[[Mapping[str, int], Finish], FewRows | None] | None = None
    rules: Sequence[str] = ()

    def free(self, places: Mapping[str, Sequence[int]], *lists: str) -> list[int]:
        """The columns with a name and none of these roles; with lists, those that they name."""
        taken = {p for positions in places.values() for p in positions}
        free = [p for p, name in enumerate(self.columns) if name and p not in taken]
        return [p for p in free if plain_name(self.columns[p]) in words(*lists)] if lists else free

    def options(self, role: str, positions: Iterable[int]) -> str:
        """The options that name these columns for a role: one by one, or more than six by what their names share."""
        names = [self.columns[p] for p in positions]
        if len(names) > MOST_NAMED:
            beginning = names[0]
            while not all(name.startswith(beginning) for name in names):
                beginning = beginning[:-1]
            same = [name for name in self.columns if name.startswith(beginning)]
            if beginning and "*" not in beginning and sorted(same) == sorted(names):
                return opt[role](f"{beginning}*")
        return opt[role](names)

    def different(self, positions: Sequence[int]) -> int:
        """How many combinations of values these columns have in the first rows; cells of JSON may be lists."""
        if self.is_text and positions:
            with suppress(IndexError):  # a row that is too short, which is refused when it is loaded
                return len(set(map(itemgetter(*positions), self.sample)))
        return len({repr([row[p] for p in positions if p < len(row)]) for row in self.sample})

    def follows(self, keys: Sequence[int], position: int) -> bool:
        """Whether a column has one value for each value of others, as an item's text does."""
        return self.different([*keys, position]) == self.different(keys)


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


def wrong_cell(source: str, column: str, value: object, row: Sequence[int]) -> str:
    """A cell that cannot be used, as listed in an error; ``row`` is empty if rows have no number.

    >>> from spagree.errors import Message
    >>> Message(wrong_cell("votes.csv", "label", None, [3]))
    "votes.csv: row 3: column 'label': an empty cell"
    """
    place = f"row {row[0]}: " if row else ""
    return f"{source}: {place}column {shown(column)}: {'an empty cell' if value is None else shown(value)}"
