"""Charts as plain Vega-Lite: small dictionaries that a page draws itself and Altair accepts unchanged.

Nothing here needs a library, so writing a report loads none; ``save`` makes pictures and objects for notebooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]
Spec = dict[str, Any]
Tips = Mapping[str, str]
"""Column of text → its title in the tooltip."""

WIDTH, HEIGHT = 560, 260
NARROWEST = 0.2  # of a scale, so that differences of a hundredth do not fill the page
PAD = 0.02
TICKS = 6  # as many numbers as are readable, even on a phone


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


def quantity(field: str, title: str | None, scale: Spec, **axis: Any) -> Spec:
    """A channel for figures."""
    shown = {"tickCount": TICKS, **axis}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": shown}


def category(field: str = "name", title: str | None = None, **axis: Any) -> Spec:
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


FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"

# Okabe and Ito's blue and vermilion, dark enough on white; see style.css for the others.
PAPER: Mapping[str, str] = {
    "ink": "#1b2733",
    "soft": "#5a6875",
    "line": "#d5dbe1",
    "accent": "#0072b2",
    "warn": "#b34a00",
    "quiet": "#7b8794",
    "page": "#ffffff",
}
PAGE: Mapping[str, str] = {name: f"var(--{name})" for name in PAPER}


def theme(colours: Mapping[str, str] = PAPER) -> dict[str, Any]:
    """Vega-Lite's configuration for every chart of an agreement.

    >>> theme(PAGE)["range"]["category"]
    ['var(--accent)', 'var(--quiet)', 'var(--warn)', 'var(--ink)']
    """
    words = {"labelColor": colours["ink"], "titleColor": colours["soft"], "labelFont": FONT, "titleFont": FONT}
    faint = dict.fromkeys(("gridColor", "domainColor", "tickColor"), colours["line"])
    sizes = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    return {
        "background": None if colours is PAGE else colours["page"],
        "font": FONT,
        "view": {"stroke": None},
        "axis": {**words, **sizes, **faint, "titlePadding": 8, "labelLimit": 150},
        "legend": {**words, **sizes, "orient": "top", "direction": "horizontal", "symbolOpacity": 1},
        "range": {"category": [colours[name] for name in ("accent", "quiet", "warn", "ink")]},
        "rule": {"color": colours["quiet"]},
        **{mark: {"color": colours["accent"]} for mark in ("bar", "line", "area", "point", "circle")},
        "text": {"color": colours["ink"], "font": FONT},
        "style": {
            "reference": {"stroke": colours["soft"]},
            "name": {"fill": colours["ink"]},
            "count": {"fill": colours["soft"]},
            "confused": {"color": colours["warn"]},
            "met": {"color": colours["accent"]},
        },
    }


# Figures with their intervals on one scale: overlap is visible without reading numbers -------------

ROW_HEIGHT = 26
MOST_COUNTED = 8  # dots up to which numbers fit above them, even on a phone
CHOSEN, OTHER, APART, FEW = "chosen", "other", "apart", "few"
KINDS: Spec = {
    "field": "kind", "type": "nominal", "legend": None,
    "scale": {"domain": [CHOSEN, OTHER, APART, FEW], "range": "category"},
}  # fmt: skip


def across(rows: Rows, title: str, tips: Tips, *, reference: float | None = None, lowest: float = 0.0) -> Spec:
    """One line per name, in the order of the rows; ``reference`` is drawn as a dashed line.

    Rows have ``name, value, low, high`` and ``kind``: chosen, other, or few (hollow: rests on few items).
    """
    ends = [row[end] for row in rows for end in ("value", "low", "high")]
    x = quantity("value", title, {"domain": domain([*ends, reference], lowest), "zero": False, "nice": False})
    return layered(rows, _intervals(x, category(), ("x", "y"), tips, reference), height=ROW_HEIGHT * max(2, len(rows)))


def along(rows: Rows, x_title: str, title: str, tips: Tips, *, reference: float | None = None) -> Spec:
    """The same over numbers of annotations on the horizontal axis; the number of ``items`` is printed above.

    A figure that rests on few items does not stretch the scale: beyond it, it lies at the edge.
    """
    sound = [row for row in rows if row["kind"] != FEW] or rows
    ends = [row[end] for row in sound for end in ("value", "low", "high")]
    scale = {"domain": domain([*ends, reference]), "zero": False, "nice": False, "clamp": True}
    x = {**category("name", x_title, labelAngle=0, labelOverlap=True), "type": "ordinal"}
    x["scale"] = {"domain": [row["name"] for row in rows]}  # also those without an interval, in their place
    layers = _intervals(quantity("value", title, scale), x, ("y", "x"), tips, reference)
    if len(rows) <= MOST_COUNTED:
        above = {"x": x, "y": {"value": 0}, "text": {"field": "items", "type": "nominal"}}
        layers.append(layer("text", above, fontSize=10, dy=-13, style="count", aria=False))
    return layered(rows, layers, height=HEIGHT)


def _intervals(figure: Spec, names: Spec, axes: tuple[str, str], tips: Tips, reference: float | None) -> list[Spec]:
    """The dashed line, intervals and dots; ``axes`` are that of the figures and that of the names.

    Dots are filled, or hollow if the figure rests on few items: colour is not the only sign.
    """
    axis, other = axes
    layers = []
    if reference is not None:
        line = [{"value": reference}]
        layers.append(layer("rule", {axis: figure}, rows=line, strokeDash=[4, 4], style="reference"))
    ends = {axis: {**figure, "field": "low"}, f"{axis}2": {"field": "high"}, other: names}
    layers.append(layer("rule", ends, where="isValid(datum.low)", strokeWidth=2))
    hollow = {"condition": {"test": "datum.kind == 'few'", "value": 0.0}, "value": 1.0}
    places = {"stroke": KINDS, "fill": KINDS, "fillOpacity": hollow, "tooltip": tooltip(tips)}
    dot = {axis: figure, other: names, **places}
    where = "isValid(datum.value)"
    return [*layers, layer("point", dot, where=where, size=90, strokeWidth=2, filled=False, opacity=1)]
