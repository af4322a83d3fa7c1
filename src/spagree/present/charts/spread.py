"""How the agreement of items is distributed, how it developed, and what more annotations would bring."""

from __future__ import annotations

from typing import Any

from spagree.present.charts import Rows, chart_of, load_altair
from spagree.present.charts.intervals import HEIGHT, WIDTH, Tips, domain, few_ticks, tooltip

SHORTER = 220


def histogram(rows: Rows, tips: Tips) -> Any:
    """Bars from ``start`` to ``end`` with the number of ``items``; the vertical axis starts at zero."""
    alt = load_altair()
    x = alt.X("start", type="quantitative", title="agreement of an item", scale=alt.Scale(domain=[0, 1]), bin="binned")
    most = max((row["items"] for row in rows), default=1)
    whole = alt.Axis(format=",d", tickMinStep=1, tickCount=max(1, min(most, 6)))
    y = alt.Y("items", type="quantitative", title="items", scale=alt.Scale(zero=True), axis=whole)
    bars = chart_of(rows).mark_bar(binSpacing=2)
    return bars.encode(x=x, x2="end", y=y, tooltip=tooltip(tips)).properties(width=WIDTH, height=SHORTER)


def development(rows: Rows, tips: Tips, *, temporal: bool) -> Any:
    """Agreement so far with its band, and that of recent items: rows of ``time, kind, value, low, high``."""
    alt = load_altair()
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    ends = [row[end] for row in rows for end in ("value", "low", "high")]
    scale = alt.Scale(domain=domain(ends), zero=False, nice=False)
    kind = "temporal" if temporal else "quantitative"
    along = alt.Scale(type="utc") if temporal else alt.Scale(zero=False, nice=False)
    x = alt.X("time", type=kind, title="time", scale=along, axis=few_ticks())
    colour = alt.Color("kind", type="nominal", title=None, sort=kinds, scale=alt.Scale(domain=kinds, range="category"))
    limits = alt.Y("low", type="quantitative", scale=scale, title="agreement", axis=few_ticks())
    base = chart_of(rows)
    band = base.mark_area(opacity=0.18).encode(x=x, y=limits, y2="high", color=colour)
    dash = alt.StrokeDash("kind", type="nominal", sort=kinds, legend=None)
    y = alt.Y("value", type="quantitative", scale=scale, title="agreement", axis=few_ticks())
    line = base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash)
    points = base.mark_point(filled=True, size=40, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip(tips))
    return alt.layer(band, line, points).properties(width=WIDTH, height=HEIGHT)


def plan(rows: Rows, tips: Tips) -> Any:
    """The precision more annotations would bring: rows of ``annotations, half_width, words``, the first being now."""
    alt = load_altair()
    ends = [row["annotations"] for row in rows]
    scale = alt.Scale(type="log", nice=False, domain=[min(ends) * 0.9, max(ends) * 2.6])
    ticks = alt.Axis(tickCount=4, format="~s", grid=False)
    x = alt.X("annotations", type="quantitative", title="annotations in all", scale=scale, axis=ticks)
    y = alt.Y("half_width", type="quantitative", title="± around the number", scale=alt.Scale(zero=True))
    base = chart_of(rows).encode(x=x, y=y)
    line = base.mark_line(strokeWidth=2)
    points = base.mark_point(filled=True, size=80, opacity=1).encode(tooltip=tooltip(tips))
    words = base.mark_text(align="left", dx=9, dy=-6, fontSize=12, style="name", aria=False).encode(text="words:N")
    return alt.layer(line, points, words).properties(width=WIDTH, height=HEIGHT)
