"""Figures with their intervals on one scale: overlap is visible without reading numbers."""

from __future__ import annotations

from spagree.present.charts.spec import HEIGHT, WIDTH, Rows, Spec, Tips, domain, layer, layered, name, number, tooltip

ROW_HEIGHT, COEFFICIENT_HEIGHT = 26, 34
MOST_COUNTED = 8  # dots up to which numbers fit above them, even on a phone
CHOSEN, OTHER, FEW = "chosen", "other", "few"
CHANCE_KINDS = ("corrected for chance", "observed", "by chance")
CHANCE_SHAPES = ("circle", "diamond", "triangle-up")


def across(rows: Rows, title: str, tips: Tips, *, reference: float | None = None, lowest: float = 0.0) -> Spec:
    """One line per name, in the order of the rows; ``reference`` is drawn as a dashed line.

    Rows have ``name, value, low, high`` and ``kind``: chosen, other, or few (hollow: rests on few items).
    """
    ends = [row[end] for row in rows for end in ("value", "low", "high")]
    x = number("value", title, {"domain": domain([*ends, reference], lowest), "zero": False, "nice": False})
    y = name()
    layers = [_reference(reference, x, "x")] if reference is not None else []
    layers += [_whisker(x, y, "x"), _dot(tips, x=x, y=y)]
    return layered(rows, layers, height=ROW_HEIGHT * max(2, len(rows)))


def along(rows: Rows, x_title: str, title: str, tips: Tips, *, reference: float | None = None) -> Spec:
    """The same over numbers of annotations on the horizontal axis; the number of ``items`` is printed above.

    A figure that rests on few items does not stretch the scale: beyond it, it lies at the edge.
    """
    sound = [row for row in rows if row["kind"] != FEW] or rows
    ends = [row[end] for row in sound for end in ("value", "low", "high")]
    scale = {"domain": domain([*ends, reference]), "zero": False, "nice": False, "clamp": True}
    x = {**name("name", x_title, labelAngle=0, labelOverlap=True), "type": "ordinal"}
    y = number("value", title, scale)
    layers = [_reference(reference, y, "y")] if reference is not None else []
    layers += [_whisker(y, x, "y"), _dot(tips, x=x, y=y)]
    if len(rows) <= MOST_COUNTED:
        above = {"x": x, "y": {"value": 0}, "text": {"field": "items", "type": "nominal"}}
        layers.append(layer("text", above, fontSize=10, dy=-8, style="count", aria=False))
    return layered(rows, layers, height=HEIGHT)


def corrected(rows: Rows, tips: Tips) -> Spec:
    """Coefficients with observed and expected agreement: rows of ``name, kind, value, low, high``, three per name."""
    lowest = min([0.0, *(row[end] for row in rows for end in ("value", "low") if row[end] is not None)])
    x = number("value", "agreement", {"domain": [lowest, 1], "nice": lowest < 0})
    y = name()
    kind = {"field": "kind", "type": "nominal", "title": None, "sort": list(CHANCE_KINDS)}
    dots = {
        "x": x,
        "y": y,
        "shape": {**kind, "scale": {"domain": list(CHANCE_KINDS), "range": list(CHANCE_SHAPES)}},
        "color": {**kind, "scale": {"domain": list(CHANCE_KINDS), "range": "category"}},
        "tooltip": tooltip(tips),
    }
    layers = [_whisker(x, y, "x"), layer("point", dots, filled=True, size=90, opacity=1)]
    names = len({row["name"] for row in rows})
    return layered(rows, layers, width=WIDTH, height=COEFFICIENT_HEIGHT * max(2, names))


def _whisker(along: Spec, across: Spec, axis: str) -> Spec:
    """The interval, along the figure's axis."""
    other = "y" if axis == "x" else "x"
    ends = {axis: {**along, "field": "low"}, f"{axis}2": {"field": "high"}, other: across}
    return layer("rule", ends, where="isValid(datum.low)", strokeWidth=2)


def _dot(tips: Tips, **places: Spec) -> Spec:
    """Filled, or hollow if the figure rests on few items: colour is not the only sign."""
    scale = {"domain": [CHOSEN, OTHER, FEW], "range": "category"}
    colour = {"field": "kind", "type": "nominal", "scale": scale, "legend": None}
    hollow = {"condition": {"test": "datum.kind == 'few'", "value": 0.0}, "value": 1.0}
    encoding = {**places, "stroke": colour, "fill": colour, "fillOpacity": hollow, "tooltip": tooltip(tips)}
    return layer("point", encoding, where="isValid(datum.value)", size=90, strokeWidth=2, filled=False, opacity=1)


def _reference(value: float, axis: Spec, along: str) -> Spec:
    return layer("rule", {along: axis}, rows=[{"value": value}], strokeDash=[4, 4], style="reference")
