"""Tables as heat maps: classes taken for one another, and pairs of annotators."""

from __future__ import annotations

from typing import Any

from spagree.present.charts import Rows, chart_of, load_altair
from spagree.present.charts.intervals import Tips, domain, tooltip

CELL, LARGEST, SMALLEST = 44, 560, 200
MOST_WORDS = 12  # rows up to which numbers fit into the cells
MANY, SMALL = 24, 8  # names from which on letters are small
DOT = 30
LIGHT_CELL = 0.55  # viridis is light above and dark below


def heat(rows: Rows, titles: tuple[str, str], legend: str, tips: Tips, *, lowest: float | None = 0.0) -> Any:
    """A cell per row of ``down, across, value, words, few``; few ones are hollow, with a dot in the colour.

    ``titles`` are those of the vertical and the horizontal axis. Colours reach from ``lowest``, or the lowest value,
    to the highest value that does not rest on little.
    """
    alt = load_altair()
    low, high = domain(row["value"] for row in rows if not row["few"])
    ends = (low if lowest is None else lowest, high)
    names = list(dict.fromkeys(row["down"] for row in rows))
    axis = {"sort": names, "type": "nominal"}
    small = {"labelFontSize": SMALL} if len(names) > MANY else {}
    y = alt.Y("down", title=titles[0], axis=alt.Axis(labelLimit=120, **small), **axis)
    top = alt.Axis(labelAngle=-45, labelLimit=110, orient="top", **small)
    x = alt.X("across", title=titles[1], axis=top, **axis)
    colour = alt.Color(
        "value",
        type="quantitative",
        title=legend,
        scale=alt.Scale(range="heatmap", domain=ends, clamp=True),
        legend=alt.Legend(orient="bottom", direction="horizontal", gradientLength=160, tickCount=3),
    )
    cells = chart_of([row for row in rows if row["value"] is not None]).mark_rect()
    drawn = cells.encode(
        x=x,
        y=y,
        color=colour,
        # Hollow rather than pale, which would be darker on a dark page; a transparent cell still has its tooltip.
        fillOpacity=alt.condition("datum.few", alt.value(0.0), alt.value(1.0)),
        stroke=alt.condition("datum.few", alt.value("#888888"), alt.value(None)),
        tooltip=tooltip(tips),
    )
    worded = len(names) <= MOST_WORDS
    layers = [drawn, _dots(rows, worded).encode(x=x, y=y, color=colour, tooltip=tooltip(tips))]
    layers += [_words(rows, x, y, ends)] if worded else []
    side = max(SMALLEST, min(LARGEST, CELL * len(names)))
    return alt.layer(*layers).properties(width=side, height=side)


def _dots(rows: Rows, worded: bool) -> Any:
    """A small dot per hollow cell, under its number where there is one."""
    few = chart_of([row for row in rows if row["value"] is not None and row["few"]])
    return few.mark_point(
        size=DOT, filled=True, opacity=1, stroke="#888888", strokeWidth=0.5, yOffset=8 if worded else 0
    )


def _words(rows: Rows, x: Any, y: Any, ends: tuple[float, float]) -> Any:
    """Numbers in the cells: black on light, white on dark, and the page's own ink in hollow ones."""
    alt = load_altair()
    words = chart_of([row for row in rows if row["words"]]).mark_text(fontSize=11, aria=False)
    middle = ends[0] + LIGHT_CELL * (ends[1] - ends[0])
    light = alt.condition(f"datum.value > {middle}", alt.value("#000000"), alt.value("#ffffff"))
    hollow = chart_of([row for row in rows if row["words"] and row["few"]]).mark_text(
        fontSize=11, aria=False, style="name", dy=-4
    )
    full = words.transform_filter("!datum.few").encode(x=x, y=y, text="words:N", color=light)
    return alt.layer(full, hollow.encode(x=x, y=y, text="words:N"))
