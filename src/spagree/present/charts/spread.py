"""Distribution of item agreement, agreement over time, and precision from more annotations."""

from __future__ import annotations

from spagree.present.charts.spec import HEIGHT, WIDTH, Rows, Spec, Tips, domain, layer, layered, number, tooltip, values
from spagree.present.charts.timeline import Timeline

SHORTER = 220
VOLUME_SHARE = 5  # bars of volume fill a fifth of the height


def histogram(rows: Rows, tips: Tips) -> Spec:
    """Bars from ``start`` to ``end`` with the number of ``items``; the vertical axis starts at zero."""
    most = max((row["items"] for row in rows), default=1)
    whole = {"format": ",d", "tickMinStep": 1, "tickCount": max(1, min(most, 6))}
    x = {**number("start", "agreement of an item", {"domain": [0, 1]}), "bin": "binned"}
    encoding = {"x": x, "x2": {"field": "end"}, "y": number("items", "items", {"zero": True}, **whole)}
    bars = layer("bar", {**encoding, "tooltip": tooltip(tips)}, binSpacing=2)
    return {"data": values(rows), **bars, "width": WIDTH, "height": SHORTER}


def development(rows: Rows, volume: Rows, along: Timeline, tips: Tips) -> Spec:
    """Agreement so far with its band, and that of recent items: rows of ``place, part, kind, value, low, high``.

    ``volume`` has bars from ``start`` to ``end`` as high as ``rate``. Idle stretches are cut out of the axis and
    marked; no line is drawn across them.
    """
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    ends = [row[end] for row in rows for end in ("value", "low", "high")]
    scale = {"domain": domain(ends), "zero": False, "nice": False}
    x = number("place", along.title, {"domain": along.ends, "zero": False, "nice": False}, **along.axis)
    kind = {"field": "kind", "type": "nominal", "sort": kinds}
    colour = {**kind, "title": None, "scale": {"domain": kinds, "range": "category"}}
    y = number("value", "agreement", scale)
    line = {"x": x, "y": y, "color": colour, "detail": {"field": "part", "type": "nominal"}}
    band = {**line, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    lines = [
        layer("area", band, opacity=0.18),
        layer("line", {**line, "strokeDash": {**kind, "legend": None}}, strokeWidth=2),
        layer("point", {"x": x, "y": y, "color": colour, "tooltip": tooltip(tips)}, filled=True, size=40, opacity=1),
    ]
    if along.idle:
        gap = {"x": x, "tooltip": tooltip({"words": "break"})}
        lines.append(layer("rule", gap, rows=along.idle, strokeDash=[2, 4], strokeWidth=3, style="reference"))
    layers = [*([_volume(volume, x)] if volume else []), {"layer": lines}]
    return {**layered(rows, layers), "resolve": {"scale": {"y": "independent"}}}


def _volume(volume: Rows, x: Spec) -> Spec:
    """The pace of annotation, as faint bars along the bottom with a separate scale."""
    most = max((row["rate"] for row in volume), default=1.0) or 1.0
    scale = {"domain": [0, most * VOLUME_SHARE], "nice": False}
    along = {"x": {**x, "field": "start"}, "x2": {"field": "end"}}
    high = {"y": {"field": "rate", "type": "quantitative", "scale": scale, "axis": None}, "y2": {"datum": 0}}
    tips = tooltip({"period": "time", "words": "annotations"})
    return layer("rect", {**along, **high, "tooltip": tips}, rows=volume, opacity=0.35, style="volume")


def plan(rows: Rows, tips: Tips) -> Spec:
    """Precision from more annotations: rows of ``annotations, half_width, words``, the first being now."""
    ends = [row["annotations"] for row in rows]
    room = max(1.2, (max(ends) / min(ends)) ** 0.3)  # for what is written beside the last point
    scale = {"type": "log", "nice": False, "domain": [min(ends) * 0.9, max(ends) * room]}
    x = number("annotations", "annotations in all", scale, tickCount=4, format="~s", grid=False)
    place = {"x": x, "y": number("half_width", "± around the number", {"zero": True})}
    words = {**place, "text": {"field": "words", "type": "nominal"}}
    layers = [
        layer("line", place, strokeWidth=2),
        layer("point", {**place, "tooltip": tooltip(tips)}, filled=True, size=80, opacity=1),
        layer("text", words, align="left", dx=9, dy=-6, fontSize=12, style="name", aria=False),
    ]
    return layered(rows, layers, height=HEIGHT)
