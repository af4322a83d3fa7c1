"""Charts on the page, or the reason why one cannot be drawn."""

from __future__ import annotations

from collections.abc import Callable

from spagree.errors import SpagreeError
from spagree.present.charts.spec import Spec
from spagree.present.report.parts import Figure, Table
from spagree.present.wording import sentence


def drawn(id: str, title: str, reading: str, draw: Callable[[], Spec], table: Callable[[], Table | None]) -> Figure:
    """A figure with its table; if it cannot be drawn, it says why."""
    try:
        return Figure(id, title, reading, spec_of(draw(), title), table())
    except SpagreeError as error:
        return Figure(id, title, reading, None, absent=sentence(str(error)))


def spec_of(chart: Spec, title: str) -> Spec:
    """The chart with its name for screen readers."""
    return {**chart, "description": title}
