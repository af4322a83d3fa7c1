"""Charts as plain Vega-Lite: small dictionaries that a page draws itself and Altair accepts unchanged.

Nothing here needs a library, so writing a report loads none; :func:`to_altair` makes the object that
notebooks show and that saves pictures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spagree.present.charts import load_altair
from spagree.present.charts.theme import theme

Rows = Sequence[Mapping[str, Any]]
Spec = dict[str, Any]
Tips = Mapping[str, str]
"""Column of text → its title in the tooltip."""

WIDTH, HEIGHT = 560, 260
NARROWEST = 0.2  # of a scale, so that differences of a hundredth do not fill the page
PAD = 0.02
TICKS = 6  # as many numbers as are readable, even on a phone


def to_altair(spec: Spec) -> Any:
    """The chart as an Altair object, in colours for paper."""
    alt = load_altair()
    kind = alt.VConcatChart if "vconcat" in spec else alt.LayerChart if "layer" in spec else alt.Chart
    return kind.from_dict({**spec, "config": theme()})


def values(rows: Iterable[Mapping[str, Any]]) -> Spec:
    """The rows of a chart or of one of its layers."""
    return {"values": [dict(row) for row in rows]}


def layered(rows: Rows, layers: Sequence[Spec], width: int = WIDTH, height: int = HEIGHT) -> Spec:
    """Layers over the same rows; a layer may have other rows."""
    return {"data": values(rows), "layer": list(layers), "width": width, "height": height}


def layer(mark: str, encoding: Spec, *, where: str = "", rows: Rows | None = None, **style: Any) -> Spec:
    """One kind of mark; ``where`` is an expression that chooses among the rows."""
    drawn: Spec = {"mark": {"type": mark, **style}, "encoding": encoding}
    if rows is not None:
        drawn["data"] = values(rows)
    if where:
        drawn["transform"] = [{"filter": where}]
    return drawn


def number(field: str, title: str | None, scale: Spec, **axis: Any) -> Spec:
    """A channel for figures."""
    shown = {"tickCount": TICKS, **axis}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": shown}


def name(field: str = "name", title: str | None = None, **axis: Any) -> Spec:
    """A channel for names, in row order."""
    return {"field": field, "type": "nominal", "title": title, "sort": None, "axis": axis}


def tooltip(tips: Tips) -> list[Spec]:
    """Text only: tooltips format no numbers."""
    return [{"field": field, "type": "nominal", "title": title} for field, title in tips.items()]


def domain(values: Iterable[float | None], lowest: float = 0.0) -> list[float]:
    """A scale around the values, within the range of agreement and never too narrow.

    >>> domain([0.70, 0.72]), domain([0.98, 1.0]), domain([])
    ([0.61, 0.81], [0.8, 1.0], [0.0, 1.0])
    """
    known = [value for value in values if value is not None]
    if not known:
        return [lowest, 1.0]
    low, high = min(known) - PAD, max(known) + PAD
    widen = max(0.0, NARROWEST - (high - low)) / 2
    low, high = low - widen, high + widen
    if low < lowest:
        low, high = lowest, max(high, lowest + NARROWEST)
    if high > 1:
        low, high = min(low, 1 - NARROWEST), 1.0
    return [round(low, 2), round(high, 2)]
