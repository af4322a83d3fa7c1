"""The course of a project that is watched: the safe bounds, the latest items, the target, and marks of changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spagree.present.charts import load_altair
from spagree.present.charts.theme import theme

Rows = Sequence[Mapping[str, Any]]


def trend(rows: Rows, marks: Rows, target: float | None) -> Any:
    """Rows have ``time`` (milliseconds), ``value``, ``low``, ``high``, ``recent``; marks ``time`` and ``text``."""
    alt = load_altair()
    time = alt.X("time:T", title=None, axis=alt.Axis(labelOverlap=True, tickCount=6, labelFlush=True))
    settled = rows[len(rows) // 4 :]  # the bounds of the first items fill the whole height
    ends = [value for row in settled for value in (row["low"], row["high"], row["recent"])]
    ends += [] if target is None else [target]
    scale = alt.Scale(domain=[max(0.0, min(ends) - 0.05), min(1.0, max(ends) + 0.05)], nice=True)
    base = alt.Chart(alt.Data(values=list(rows))).encode(x=time)
    layers = [
        base.mark_area(opacity=0.25, clip=True).encode(y=alt.Y("low:Q", title="agreement", scale=scale), y2="high:Q"),
        base.mark_line(strokeWidth=1.5, strokeDash=[4, 3], clip=True).encode(y=alt.Y("recent:Q", scale=scale)),
        base.mark_line(strokeWidth=2.5, clip=True).encode(y=alt.Y("value:Q", scale=scale)),
        base.mark_rule(opacity=0).encode(
            tooltip=[
                alt.Tooltip("when:N", title="time"),
                alt.Tooltip("items:Q", title="items closed"),
                alt.Tooltip("shown:N", title="so far"),
                alt.Tooltip("bounds:N", title="safe bounds"),
                alt.Tooltip("latest:N", title="latest items"),
            ]
        ),
    ]
    if target is not None:
        goal = alt.Chart(alt.Data(values=[{"target": target}]))
        layers.append(goal.mark_rule(strokeDash=[2, 2], strokeWidth=1.5, style="reference").encode(y="target:Q"))
    if marks:
        noted = alt.Chart(alt.Data(values=list(marks))).encode(x=time)
        layers.append(noted.mark_rule(strokeWidth=1.5, style="reference").encode(tooltip="text:N"))
        layers.append(noted.mark_text(align="left", dx=4, dy=-92, limit=160, style="name").encode(text="text:N"))
    return alt.layer(*layers).properties(width=560, height=200).configure(**theme())
