"""Figures with their intervals on one scale: overlap is seen without reading numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from spagree.present.charts import Rows, chart_of, load_altair

WIDTH, ROW_HEIGHT, HEIGHT = 560, 26, 260
NARROWEST = 0.2  # of a scale: differences of a hundredth are not blown up to fill the page
PAD = 0.02
MOST_COUNTED = 8  # dots up to which numbers fit above them, on a phone too
CHOSEN, OTHER, FEW = "chosen", "other", "few"
CHANCE_KINDS = ("corrected for chance", "observed", "by chance")
CHANCE_SHAPES = ("circle", "diamond", "triangle-up")

Tips = Mapping[str, str]
"""Column of worded text → what the tooltip calls it."""


def domain(values: Iterable[float | None], lowest: float = 0.0) -> tuple[float, float]:
    """A scale around the values, within what an agreement can be and never too narrow.

    >>> domain([0.70, 0.72]), domain([0.98, 1.0]), domain([])
    ((0.61, 0.81), (0.8, 1.0), (0.0, 1.0))
    """
    known = [value for value in values if value is not None]
    if not known:
        return lowest, 1.0
    low, high = min(known) - PAD, max(known) + PAD
    widen = max(0.0, NARROWEST - (high - low)) / 2
    low, high = low - widen, high + widen
    if low < lowest:
        low, high = lowest, max(high, lowest + NARROWEST)
    if high > 1:
        low, high = min(low, 1 - NARROWEST), 1.0
    return round(low, 2), round(high, 2)


def across(rows: Rows, title: str, tips: Tips, *, reference: float | None = None, lowest: float = 0.0) -> Any:
    """One line per name, in the order of the rows; ``reference`` is drawn as a dashed line.

    Rows have ``name, value, low, high`` and ``kind``: chosen, other, or few (hollow: rests on little).
    """
    alt = load_altair()
    ends = [row[end] for row in rows for end in ("value", "low", "high")]
    scale = alt.Scale(domain=domain([*ends, reference], lowest), zero=False, nice=False)
    x = alt.X("value", type="quantitative", title=title, scale=scale, axis=few_ticks())
    y = alt.Y("name", type="nominal", title=None, sort=None)
    layers = [_whisker(rows, x, y), _dot(rows, tips).encode(x=x, y=y)]
    if reference is not None:
        layers.insert(0, _reference(reference, x))
    return alt.layer(*layers).properties(width=WIDTH, height=ROW_HEIGHT * max(2, len(rows)))


def along(rows: Rows, x_title: str, title: str, tips: Tips, *, reference: float | None = None) -> Any:
    """The same over numbers on the horizontal axis, which stand in ``name``; the number of ``items`` stands above.

    What rests on little does not stretch the scale: beyond it, it lies at the edge.
    """
    alt = load_altair()
    sound = [row for row in rows if row["kind"] != FEW] or rows
    ends = [row[end] for row in sound for end in ("value", "low", "high")]
    scale = alt.Scale(domain=domain([*ends, reference]), zero=False, nice=False, clamp=True)
    x = alt.X("name", type="ordinal", title=x_title, axis=alt.Axis(labelAngle=0, labelOverlap=True))
    y = alt.Y("value", type="quantitative", title=title, scale=scale, axis=few_ticks())
    layers = [_whisker(rows, y, x), _dot(rows, tips).encode(x=x, y=y)]
    if reference is not None:
        layers.insert(0, _reference(reference, y))
    if len(rows) <= MOST_COUNTED:
        above = chart_of(rows).mark_text(fontSize=10, dy=-8, style="count", aria=False)
        layers.append(above.encode(x=x, y=alt.value(0), text="items:N"))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


def corrected(rows: Rows, tips: Tips) -> Any:
    """Coefficients with what they are made of: rows of ``name, kind, value, low, high``, three kinds per name."""
    alt = load_altair()
    lowest = min([0.0, *(row[end] for row in rows for end in ("value", "low") if row[end] is not None)])
    scale = alt.Scale(domain=[lowest, 1], nice=lowest < 0)
    x = alt.X("value", type="quantitative", title="agreement", scale=scale, axis=few_ticks())
    y = alt.Y("name", type="nominal", title=None, sort=None)
    kind = {"sort": list(CHANCE_KINDS), "title": None, "type": "nominal"}
    shapes = alt.Scale(domain=list(CHANCE_KINDS), range=list(CHANCE_SHAPES))
    colours = alt.Scale(domain=list(CHANCE_KINDS), range="category")
    drawn = chart_of(rows).mark_point(filled=True, size=90, opacity=1)
    drawn = drawn.encode(
        x=x,
        y=y,
        shape=alt.Shape("kind", scale=shapes, **kind),
        color=alt.Color("kind", scale=colours, **kind),
        tooltip=tooltip(tips),
    )
    names = len({row["name"] for row in rows})
    return alt.layer(_whisker(rows, x, y), drawn).properties(width=WIDTH, height=34 * max(2, names))


def _whisker(rows: Rows, along: Any, across: Any) -> Any:
    """The interval, along the axis that holds the figure."""
    alt = load_altair()
    known = [row for row in rows if row["low"] is not None]
    flat = isinstance(along, alt.X)
    start, end = along.copy(), (alt.X2 if flat else alt.Y2)("high")
    start.shorthand = "low"
    encoded = {"x": start, "x2": end, "y": across} if flat else {"y": start, "y2": end, "x": across}
    return chart_of(known).mark_rule(strokeWidth=2).encode(**encoded)


def _dot(rows: Rows, tips: Tips) -> Any:
    """Filled, or hollow where the figure rests on little: colour is not the only sign."""
    alt = load_altair()
    colours = alt.Scale(domain=[CHOSEN, OTHER, FEW], range="category")
    known = [row for row in rows if row["value"] is not None]
    filled = alt.condition("datum.kind == 'few'", alt.value(0.0), alt.value(1.0))
    dots = chart_of(known).mark_point(size=90, strokeWidth=2, filled=False, opacity=1)
    return dots.encode(
        stroke=alt.Stroke("kind", type="nominal", scale=colours, legend=None),
        fill=alt.Fill("kind", type="nominal", scale=colours, legend=None),
        fillOpacity=filled,
        tooltip=tooltip(tips),
    )


def _reference(value: float, axis: Any) -> Any:
    rule = chart_of([{"value": value}]).mark_rule(strokeDash=[4, 4], style="reference")
    return rule.encode(**{"x" if isinstance(axis, load_altair().X) else "y": axis})


def tooltip(tips: Tips) -> list[Any]:
    """Worded text only: a tooltip formats no number itself."""
    alt = load_altair()
    return [alt.Tooltip(field, type="nominal", title=title) for field, title in tips.items()]


def few_ticks() -> Any:
    """As many numbers as can be read, on a phone too."""
    return load_altair().Axis(tickCount=6)
