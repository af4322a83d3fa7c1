"""A monitored project: the safe bounds, the latest items, the target, and marks of changes."""

from __future__ import annotations

from spagree.present.charts.spec import Rows, Spec, layer, layered, tooltip

HEIGHT = 200
TIPS = {"when": "time", "items": "items closed", "shown": "so far", "bounds": "safe bounds", "latest": "latest items"}


def trend(rows: Rows, marks: Rows, target: float | None) -> Spec:
    """Rows have ``time`` (milliseconds), ``value``, ``low``, ``high``, ``recent``; marks ``time`` and ``text``."""
    axis = {"labelOverlap": True, "tickCount": 6, "labelFlush": True}
    x = {"field": "time", "type": "temporal", "title": None, "axis": axis}
    settled = rows[len(rows) // 4 :]  # the first items' bounds fill the whole height
    ends = [value for row in settled for value in (row["low"], row["high"], row["recent"])]
    ends += [] if target is None else [target]
    scale = {"domain": [max(0.0, min(ends) - 0.05), min(1.0, max(ends) + 0.05)], "nice": True}

    def y(field: str) -> Spec:
        return {"field": field, "type": "quantitative", "title": "agreement", "scale": scale}

    layers = [
        layer("area", {"x": x, "y": y("low"), "y2": {"field": "high"}}, opacity=0.25, clip=True),
        layer("line", {"x": x, "y": y("recent")}, strokeWidth=1.5, strokeDash=[4, 3], clip=True),
        layer("line", {"x": x, "y": y("value")}, strokeWidth=2.5, clip=True),
        layer("rule", {"x": x, "tooltip": tooltip(TIPS)}, opacity=0),
    ]
    if target is not None:
        goal, dots = [{"target": target}], [2, 2]
        layers.append(layer("rule", {"y": y("target")}, rows=goal, strokeDash=dots, strokeWidth=1.5, style="reference"))
    if marks:
        rule = {"x": x, "tooltip": tooltip({"text": "mark"})}
        words = {"x": x, "text": {"field": "text", "type": "nominal"}}
        layers.append(layer("rule", rule, rows=marks, strokeWidth=1.5, style="reference"))
        layers.append(layer("text", words, rows=marks, align="left", dx=4, dy=-92, limit=160, style="name"))
    return layered(rows, layers, height=HEIGHT)
