"""A plan as a chart: one line per route, one point per design."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spagree.present.charts import Axis, Rows, layered, lines, points
from spagree.present.charts.theme import theme

PER_ITEM = Axis("annotations_per_item", "annotations per item", format="~g")
PEOPLE = Axis("annotators", "annotators")
MORE = Axis("more_annotations", "annotations to make", zero=True)
IN_ALL = Axis("annotations", "annotations in all", zero=True)
HALF_WIDTH = Axis("half_width", "± around the number", zero=True)
ROUTE = Axis("line", "")


def planned(rows: Rows) -> Any:
    """Rows of a plan, with ``line``, the route in words; a route that brings every item to n has a point for that n."""
    several = len({row["half_width"] for row in rows if "half_width" in row}) > 1
    people = "annotators" in rows[0]
    shown = [row for row in rows if row["best"]] if several and "annotations" in rows[0] and not people else rows
    x, y = _axes(rows[0], several)
    return layered(lines(shown, x, y, ROUTE), points(shown, x, y, ROUTE, size=50)).configure(**theme())


def _axes(row: Mapping[str, Any], several: bool) -> tuple[Axis, Axis]:
    """The axes, which depend on what the plan asks for."""
    if "annotators" in row:
        return PEOPLE, HALF_WIDTH if "budget" in row else IN_ALL
    if "annotations" in row:  # for half-widths
        return (MORE, HALF_WIDTH) if several else (PER_ITEM, MORE)
    return (PER_ITEM, MORE) if "require" in row else (PER_ITEM, HALF_WIDTH)
