"""Breakdowns → a table for the terminal and plain rows for JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from spagree.present.wording import figure, printable

FEW = "few"
NAMES = ("item", "class", "annotator", "other", "votes", "text", "label", "tied", "commonest")
INTERVALS = {"interval": ("low", "high"), "kappa interval": ("cohen_kappa_low", "cohen_kappa_high")}
TITLES = {
    "cohen_kappa": "kappa",
    "scott_pi": "pi",
    "spa_without": "SPA without",
    "against_others": "against others",
    "stands_out": "stands out",
    "probability": "probability",
    "commonest": "commonest label",
    "commonest_share": "its share",
}
LONG, SHORT = 60, 30


def plain_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows for JSON: names as text, what does not exist as null, and why where something does not.

    >>> plain_rows([{"item": 7, "agreement": None, "undefined": "alone"}, {"item": 8, "undefined": None}])
    [{'item': '7', 'agreement': None, 'undefined': 'alone'}, {'item': '8'}]
    """
    return [{name: _plain(name, value) for name, value in row.items() if _said(name, value)} for row in rows]


def _said(name: str, value: Any) -> bool:
    return name != "undefined" or value is not None


def _plain(name: str, value: Any) -> Any:
    return str(value) if name in NAMES and value is not None else value


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Table:
    """A table with these columns; figures that rest on little are dim and marked with *."""
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        right = column not in (*NAMES, *INTERVALS) and not any(isinstance(row.get(column), str) for row in rows)
        shown.add_column(
            TITLES.get(column, column), justify="right" if right else "left", no_wrap=right, overflow="fold"
        )
    for row in rows:
        few = bool(row.get(FEW))
        shown.add_row(*(Text(_cell(row, column)) for column in columns), style="dim" if few else "")
    return shown


def _cell(row: Mapping[str, Any], column: str) -> str:
    if column in INTERVALS:
        low, high = (row[end] for end in INTERVALS[column])
        return "–" if low is None else f"{figure(low)} to {figure(high)}"
    value = row[column]
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else ""
    if column in NAMES or isinstance(value, str):
        return printable(str(value), LONG if column in ("item", "votes", "text") else SHORT)
    return _number(column, value, few=bool(row.get(FEW)))


def _number(column: str, value: float, *, few: bool) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    shown = f"{value:+.3f}" if column in ("change", "against_others") else figure(value)
    return shown + ("*" if few and column in ("agreement", "cohen_kappa", "scott_pi") else "")
