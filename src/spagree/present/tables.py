"""The one table model: a column says how its values are shown in a terminal, on a page and as JSON rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from types import MappingProxyType
from typing import Any, Literal

from rich.console import Console, RenderableType

from spagree.present.fitted import NAME, Fitted, Heading
from spagree.present.wording import change, escape_controls, figure, limits, number, percent, printable

Kind = Literal["name", "words", "figure", "count", "percent", "change", "interval", "truth"]
NOTHING = "–"
MOST_DOUBTFUL = 5  # names in a sentence
LONGEST_NAME, LONGEST_WORDS = 60, 240
MARKED = ("agreement", "cohen_kappa", "scott_pi")  # with * if they rest on few items


@dataclass(frozen=True, slots=True)
class Column:
    """A column of rows and how it is shown; an interval needs the columns of its two ends."""

    key: str
    title: str
    kind: Kind = "figure"
    ends: tuple[str, str] = ("low", "high")
    width: int | None = None
    """The longest text; None for the default of its kind."""

    @property
    def is_number(self) -> bool:
        """Whether it is right-aligned and sorted as a number."""
        return self.kind not in ("name", "words", "interval", "truth")


def columns(written: str, titles: Mapping[str, str] = MappingProxyType({})) -> tuple[Column, ...]:
    """Columns written as ``key`` or ``key:kind``, titled like their keys unless ``titles`` says otherwise.

    >>> columns("class:name items:count", {"class": "first says"})[0]
    Column(key='class', title='first says', kind='name', ends=('low', 'high'), width=None)
    """
    pairs = [(key, kind) for key, _, kind in (column.partition(":") for column in written.split())]
    kinds = {key: kind or ("interval" if key == "interval" else "figure") for key, kind in pairs}
    return tuple(Column(key, titles.get(key, key), kind) for key, kind in kinds.items())  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Cell:
    """The text shown, and the full value for sorting and export; for an interval both ends.

    User text keeps its direction; ``chips`` are the options of a label that is a set; ``pick`` is the key by
    which a click filters the items.
    """

    shown: str
    value: float | str | None
    is_number: bool
    high: float | None = None
    is_foreign: bool = False
    chips: tuple[str, ...] = ()
    pick: str = ""


def cell(row: Mapping[str, Any], column: Column, keys: Mapping[str, str] = MappingProxyType({})) -> Cell:
    """One value as text."""
    if column.kind == "interval":
        low, high = (row[end] for end in column.ends)
        return Cell(NOTHING if low is None else limits(low, high), low, is_number=False, high=high)
    value = row[column.key]
    if value is None:
        return Cell(NOTHING, None, column.is_number)
    if column.kind == "name":
        name = str(value)
        shown = printable(name, column.width or LONGEST_NAME) or "''"
        return Cell(
            shown, escape_controls(name), is_number=False, is_foreign=True, chips=chips(name), pick=keys.get(name, "")
        )
    if column.kind == "words":
        text = printable(str(value), column.width or LONGEST_WORDS)
        return Cell(text or "''", text, is_number=False)
    if column.kind == "truth":
        return Cell("yes" if value else "", str(value), is_number=False)
    star = "*" if row.get("few") and column.key in MARKED else ""
    return Cell(_WORDS[column.kind](value) + star, value, is_number=True)


_WORDS = {"count": number, "percent": percent, "change": change, "figure": figure}


def chips(label: str) -> tuple[str, ...]:
    """The options of a label that is a list of them; empty for other labels.

    >>> chips('["red", "blue"]'), chips("[]"), chips("red"), chips("[sic]")
    (('blue', 'red'), ('none',), (), ())
    """
    if not (label.startswith("[") and label.endswith("]")):
        return ()
    try:
        options = json.loads(label)
    except ValueError:
        return ()
    return tuple(printable(option, LONGEST_NAME) for option in sorted(map(str, options))) or ("none",)


def doubtful(rows: Iterable[Mapping[str, Any]]) -> str:
    """With whom the others agree less, though not certainly because of them; empty if there is nobody.

    >>> doubtful([{"annotator": "ann", "stands_out_undefined": "two of the others agree unusually often"}])
    'The others agree less with ann than with each other, perhaps only because two of them agree unusually often.'
    """
    from spagree.estimate.annotators import OTHERS_ALIKE

    names = [printable(row["annotator"]) for row in rows if row["stands_out_undefined"] == OTHERS_ALIKE]
    listed = ", ".join(names[:MOST_DOUBTFUL]) + (", …" if len(names) > MOST_DOUBTFUL else "")
    if not names:
        return ""
    return (
        f"The others agree less with {listed} than with each other, perhaps only because two of them agree unusually "
        "often."
    )


# Terminal and JSON ---------------------------------------------------------------------------

COLUMNS = {
    column.key: column
    for column in (
        Column("item", "item", "name"),
        Column("votes", "votes", "words", width=60),
        Column("text", "text", "words", width=60),
        *(Column(key, key, "name", width=30) for key in ("class", "annotator", "other", "label", "tied")),
        Column("commonest", "commonest label", "name", width=30),
        *(Column(key, key, "count") for key in ("annotations", "items", "shared", "pairs")),
        *(Column(key, key) for key in ("agreement", "entropy", "probability", "share")),
        Column("interval", "interval", "interval"),
        Column("kappa interval", "kappa interval", "interval", ("cohen_kappa_low", "cohen_kappa_high")),
        Column("cohen_kappa", "kappa"),
        Column("scott_pi", "pi"),
        Column("spa_without", "SPA without"),
        Column("change", "change", "change"),
        Column("against_others", "against others", "change"),
        Column("stands_out", "stands out", "truth"),
        Column("commonest_share", "its share"),
    )
}

# the first to go in a narrow terminal comes first
SPARE = (
    *("commonest_share", "commonest", "scott_pi", "entropy", "spa_without", "change", "share", "kappa interval"),
    *("items", "shared", "annotations", "pairs", "against_others", "cohen_kappa", "stands_out", "interval"),
)


def plain_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows for JSON: names as text, undefined values as null, with the reason.

    >>> plain_rows([{"item": 7, "agreement": None, "undefined": "alone"}, {"item": 8, "undefined": None}])
    [{'item': '7', 'agreement': None, 'undefined': 'alone'}, {'item': '8'}]
    """
    texts = {key for key, column in COLUMNS.items() if column.kind in ("name", "words")}
    return [
        {
            name: str(value) if name in texts and value is not None else value
            for name, value in row.items()
            if name != "undefined" or value is not None
        }
        for row in rows
    ]


def table(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> Fitted:
    """These columns of the breakdowns for a terminal; figures on few items are dim and marked with *."""
    columns = [COLUMNS[key] for key in keys]
    shown = Fitted(*map(_heading, columns))
    for row in rows:
        shown.add_row(*(cell(row, column).shown for column in columns), style="dim" if row.get("few") else "")
    return shown


def _heading(column: Column) -> Heading:
    least = NAME if column.kind in ("name", "words") else None
    spare = SPARE.index(column.key) if column.key in SPARE else None
    return Heading(column.title, is_right=column.is_number, least=least, spare=spare)


def rendered(shown: RenderableType, width: int = 100) -> str:
    """The terminal's output as plain text."""
    page = StringIO()
    Console(width=width, color_system=None, file=page, emoji=False).print(shown)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())
