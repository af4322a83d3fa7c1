"""What a page is made of: sections of text, tables and figures, all plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from spagree.errors import SpagreeError
from spagree.estimate.breakdowns import Breakdowns
from spagree.estimate.uncertainty import FEW_ITEMS
from spagree.present.charts.agreement import CHARTS
from spagree.present.tables import Column, Shown, cell
from spagree.present.verdicts import Checked

Picks = Mapping[str, Mapping[str, str]]
"""Column → name → the key by which a click filters the items."""
MOST_ROWS = 100
MOST_QUOTES = 24  # marks that are listed below a text without being asked for


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a caption; ``note`` says what was left out, or what marks mean."""

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Shown, ...], ...]
    note: str = ""
    whole: bool = True
    template: ClassVar[str] = "table.html.j2"

    @property
    def file(self) -> str:
        """The name of its file, which says if the table is only a part."""
        return self.id if self.whole else f"{self.id}-first-{len(self.rows)}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart, how to read it in one line, and its table unless another chart has it."""

    id: str
    title: str
    reading: str
    spec: Mapping[str, Any]
    table: Table | None = None
    template: ClassVar[str] = "figure.html.j2"


@dataclass(frozen=True, slots=True)
class Fold:
    """Parts that a reader opens."""

    title: str
    parts: Sequence[Part]
    id: str = ""
    template: ClassVar[str] = "fold.html.j2"


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values, a line each."""

    rows: tuple[tuple[str, str], ...]
    template: ClassVar[str] = "facts.html.j2"


@dataclass(frozen=True, slots=True)
class Checks:
    """Every check, a line each."""

    rows: tuple[Checked, ...]
    template: ClassVar[str] = "checks.html.j2"


@dataclass(frozen=True, slots=True)
class Quote:
    """The sentence to copy, unless the number should not be quoted yet, and the reference to cite."""

    words: str
    reference: str
    bibtex: str
    is_quotable: bool
    template: ClassVar[str] = "quote.html.j2"


@dataclass(frozen=True, slots=True)
class Name:
    """A class or an annotator: its filter key and its shown name."""

    key: str
    shown: str


@dataclass(frozen=True, slots=True)
class Vote:
    """One label of an item: its share of the bar in percent, and which dissenters gave it."""

    label: str
    count: int
    start: float
    width: float
    colour: int
    people: tuple[str, ...] = ()
    more: str = ""
    chips: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text, and the lines under it: the level of an annotator, and a colour."""

    text: str
    lines: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Quoted:
    """What was marked, with its label."""

    words: str
    label: str
    colour: int


@dataclass(frozen=True, slots=True)
class Layer:
    """What an annotator marked in a text."""

    annotator: str
    quotes: tuple[Quoted, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """An item with its labels, or with its marks in layers; classes and annotators are filter keys, dates are days."""

    name: str
    full: str
    share: str
    votes: tuple[Vote, ...]
    classes: tuple[str, ...]
    annotators: tuple[str, ...] = ()
    text: str = ""
    link: str = ""
    first: str = ""
    last: str = ""
    pieces: tuple[Piece, ...] = ()
    layers: tuple[Layer, ...] = ()
    unlisted: int = 0

    @property
    def is_long(self) -> bool:
        """Whether the list of its marks is opened by the reader."""
        return sum(len(layer.quotes) for layer in self.layers) > MOST_QUOTES

    @property
    def lines(self) -> int:
        """How many lines there are under its text."""
        return 1 + max((level for piece in self.pieces for level, _ in piece.lines), default=-1)


@dataclass(frozen=True, slots=True)
class Cards:
    """Items to read, and the values to filter them by."""

    rows: tuple[Card, ...]
    classes: tuple[Name, ...]
    annotators: tuple[Name, ...]
    note: str
    template: ClassVar[str] = "cards.html.j2"

    @property
    def is_dated(self) -> bool:
        """Whether it is known when annotations were made."""
        return any(card.first for card in self.rows)


Part = Figure | Table | Facts | Checks | Quote | Cards | Fold


@dataclass(frozen=True, slots=True)
class Section:
    """A finding as its heading, and what shows it."""

    id: str
    short: str
    title: str
    lead: str
    parts: Sequence[Part]

    @property
    def figures(self) -> list[Figure]:
        """Its charts, also those that a reader opens."""
        parts = [inside for part in self.parts for inside in (part.parts if isinstance(part, Fold) else (part,))]
        return [part for part in parts if isinstance(part, Figure)]


def drawn(
    breakdowns: Breakdowns, id: str, title: str, reading: str, table: Callable[[Breakdowns], Table] | None = None
) -> list[Figure]:
    """The chart of that figure with its table; nothing if it cannot be drawn."""
    try:
        spec = {**CHARTS[id](breakdowns), "description": title}
        return [Figure(id, title, reading, spec, None if table is None else table(breakdowns))]
    except SpagreeError:
        return []


def table(
    id: str,
    caption: str,
    rows: Iterable[Mapping[str, Any]],
    columns: Sequence[Column],
    *,
    note: str = "",
    whole: bool = True,
    picks: Picks | None = None,
) -> Table:
    """Rows → a table of formatted cells; ``whole`` is false if rows were left out.

    >>> one = table("t", "Classes", [{"class": "yes", "agreement": 0.5}], [Column("class", "class", "name"),
    ...             Column("agreement", "agreement")])
    >>> [cell.shown for cell in one.rows[0]], one.rows[0][1].value
    (['yes', '0.500'], 0.5)
    """
    keys = picks or {}
    filled = tuple(tuple(cell(row, column, keys.get(column.key, {})) for column in columns) for row in rows)
    marked = any(each.shown.endswith("*") and each.is_number for row in filled for each in row)
    stars = f"* rests on fewer than {FEW_ITEMS} items." if marked else ""
    return Table(id, caption, tuple(columns), filled, " ".join(part for part in (note, stars) if part), whole)
