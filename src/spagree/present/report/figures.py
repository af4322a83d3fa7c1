"""Charts on the page: drawn, or in words why not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spagree.errors import SpagreeError
from spagree.present.report.parts import Figure, Table


def drawn(id: str, title: str, reading: str, draw: Callable[[], Any], table: Callable[[], Table | None]) -> Figure:
    """A figure with the table behind it; what cannot be drawn says why."""
    try:
        return Figure(id, title, reading, spec_of(draw(), title), table())
    except SpagreeError as error:
        return Figure(id, title, reading, None, absent=sentence(str(error)))


def spec_of(chart: Any, title: str) -> dict[str, Any]:
    """The chart as plain values; the page brings its own colours and library, and names no address."""
    spec: dict[str, Any] = {**chart.to_dict(), "description": title}  # what a screen reader calls it
    return {name: value for name, value in spec.items() if name not in ("config", "$schema")}


def sentence(words: str) -> str:
    """A message as a sentence.

    >>> sentence("no time column")
    'No time column.'
    """
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "!", "?")) else ".")
