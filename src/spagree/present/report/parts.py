"""What a page is made of: sections of words, tables and figures, all of them plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from spagree.present.wording import change, escape_controls, figure, limits, number, percent, printable

Kind = Literal["name", "words", "figure", "count", "percent", "change", "interval"]
NOTHING = "–"
MOST_ROWS = 100
LONGEST_NAME, LONGEST_WORDS = 60, 240


@dataclass(frozen=True, slots=True)
class Column:
    """A column of rows and how it is shown; an interval needs the columns of its two ends."""

    key: str
    title: str
    kind: Kind = "figure"
    ends: tuple[str, str] = ("low", "high")

    @property
    def is_number(self) -> bool:
        """Whether it is set to the right and sorted as a number."""
        return self.kind not in ("name", "words", "interval")


@dataclass(frozen=True, slots=True)
class Cell:
    """What is shown, and the full value to sort and export by; of an interval both ends."""

    shown: str
    value: float | str | None
    is_number: bool
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a caption; ``note`` says what was cut, or what marks mean."""

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    whole: bool = True

    @property
    def file(self) -> str:
        """What its file is called: a part of a table says so."""
        return self.id if self.whole else f"{self.id}-first-{len(self.rows)}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with how to read it and the table behind it, or why there is none."""

    id: str
    title: str
    reading: str
    spec: Mapping[str, Any] | None
    table: Table | None = None
    absent: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer to "can I trust it": ok, look or problem."""

    state: Literal["ok", "look", "problem"]
    title: str
    words: str
    link: str = ""

    @property
    def icon(self) -> str:
        """A sign that needs no colour."""
        return {"ok": "✓", "look": "!", "problem": "✕"}[self.state]

    @property
    def word(self) -> str:
        """The same in a word."""
        return {"ok": "fine", "look": "look", "problem": "problem"}[self.state]


@dataclass(frozen=True, slots=True)
class Section:
    """A question and its answer."""

    id: str
    short: str
    title: str
    lead: str
    parts: Sequence[Figure | Table | Facts | Verdicts | Steps | Quote]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values, one line each."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """A list of verdicts."""

    rows: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Steps:
    """Things to do, in order."""

    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Quote:
    """Words to copy."""

    title: str
    words: str
    more: tuple[str, ...] = field(default=())


def table(
    id: str,
    caption: str,
    rows: Iterable[Mapping[str, Any]],
    columns: Sequence[Column],
    *,
    note: str = "",
    whole: bool = True,
) -> Table:
    """Rows → a table of worded cells; not ``whole`` where there are more rows than these.

    >>> one = table("t", "Classes", [{"class": "yes", "agreement": 0.5}], [Column("class", "class", "name"),
    ...             Column("agreement", "agreement")])
    >>> [cell.shown for cell in one.rows[0]], one.rows[0][1].value
    (['yes', '0.500'], 0.5)
    """
    filled = tuple(tuple(cell(row, column) for column in columns) for row in rows)
    marked = any(each.shown.endswith("*") and each.is_number for row in filled for each in row)
    stars = "* rests on fewer than 10 items." if marked else ""
    return Table(id, caption, tuple(columns), filled, " ".join(part for part in (note, stars) if part), whole)


def cell(row: Mapping[str, Any], column: Column) -> Cell:
    """One value in words."""
    if column.kind == "interval":
        low, high = (row[end] for end in column.ends)
        return Cell(NOTHING if low is None else limits(low, high), low, is_number=False, high=high)
    value = row[column.key]
    if value is None:
        return Cell(NOTHING, None, column.is_number)
    if not column.is_number:
        if column.kind == "name":
            name = str(value)
            return Cell(printable(name, LONGEST_NAME) or "''", escape_controls(name), is_number=False)
        text = printable(str(value), LONGEST_WORDS)
        return Cell(text or "''", text, is_number=False)
    star = "*" if row.get("few") and column.key in ("agreement", "cohen_kappa") else ""
    return Cell(_number(column.kind, value) + star, value, is_number=True)


def _number(kind: Kind, value: float) -> str:
    if kind == "count":
        return number(value)
    if kind == "percent":
        return percent(value)
    return change(value) if kind == "change" else figure(value)
