"""What a page is made of: sections of text, tables and figures, all plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from spagree.errors import SpagreeError
from spagree.estimate.breakdown_values import Breakdowns
from spagree.estimate.uncertainty import FEW_ITEMS
from spagree.present.charts import agreement as charts
from spagree.present.tables import Cell, Column, cell
from spagree.present.verdicts import Verdict
from spagree.present.wording import sentence

Picks = Mapping[str, Mapping[str, str]]
"""Column → name → the key by which a click filters the items."""
MOST_ROWS = 100


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a caption; ``note`` says what was left out, or what marks mean."""

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    whole: bool = True
    template: ClassVar[str] = "table.html.j2"

    @property
    def file(self) -> str:
        """The name of its file, which says if the table is only a part."""
        return self.id if self.whole else f"{self.id}-first-{len(self.rows)}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart, how to read it and its table; or why there is no chart."""

    id: str
    title: str
    reading: str
    spec: Mapping[str, Any] | None
    table: Table | None = None
    absent: str = ""
    template: ClassVar[str] = "figure.html.j2"


@dataclass(frozen=True, slots=True)
class Step:
    """A next step: what to do, with which names, what it gains, and why."""

    title: str
    gain: str
    words: str = ""
    names: tuple[str, ...] = ()
    link: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Facts (names and values), verdicts or next steps, one line each."""

    rows: tuple[tuple[str, str], ...] | tuple[Verdict, ...] | tuple[Step, ...]
    template: str


@dataclass(frozen=True, slots=True)
class Quote:
    """The sentence to copy, and the reference to cite."""

    title: str
    words: str
    reference: str
    bibtex: str
    template: ClassVar[str] = "quote.html.j2"


@dataclass(frozen=True, slots=True)
class Name:
    """A class or an annotator: its filter key and its shown name."""

    key: str
    shown: str


@dataclass(frozen=True, slots=True)
class Vote:
    """One label of an item: its share of the bar in percent, and who gave it."""

    label: str
    count: int
    start: float
    width: float
    colour: int
    people: tuple[str, ...] = ()
    more: str = ""
    chips: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """An item with its labels; classes and annotators are filter keys, dates are days."""

    name: str
    share: str
    votes: tuple[Vote, ...]
    classes: tuple[str, ...]
    annotators: tuple[str, ...] = ()
    text: str = ""
    link: str = ""
    first: str = ""
    last: str = ""


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


Part = Figure | Table | Listing | Quote | Cards


@dataclass(frozen=True, slots=True)
class Section:
    """A question and its answer."""

    id: str
    short: str
    title: str
    lead: str
    parts: Sequence[Part]


def drawn(breakdowns: Breakdowns, id: str, title: str, reading: str, table: Callable[[Breakdowns], Table]) -> Figure:
    """The chart of that name with its table; if it cannot be drawn, it says why."""
    try:
        chart = getattr(charts, id.replace("-", "_"))(breakdowns)
        return Figure(id, title, reading, {**chart, "description": title}, table(breakdowns))
    except SpagreeError as error:
        return absent(id, title, str(error))


def absent(id: str, title: str, reason: str, table: Table | None = None) -> Figure:
    """A figure without a chart, and why."""
    return Figure(id, title, "", None, table, sentence(reason))


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
