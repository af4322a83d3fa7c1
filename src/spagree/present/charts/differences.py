"""Data sets, groups or models on one scale; below it their differences, with zero marked."""

from __future__ import annotations

from typing import Any

from spagree.present.charts.interval_lines import CHOSEN, OTHER, across
from spagree.present.charts.spec import Rows, to_altair

TIPS = {"name": "", "figure": "agreement", "interval": "interval"}
GAP_TIPS = {"name": "", "figure": "difference", "interval": "interval"}


def compared(figures: Rows, gaps: Rows, *, margin: float | None = None) -> Any:
    """Rows of ``name, value, low, high, figure, interval``; a margin is the line a model must stay above."""
    above = across([{**row, "kind": CHOSEN} for row in figures], "agreement", TIPS)
    shown = [{**row, "kind": OTHER if row["low"] is None or row["low"] <= 0 <= row["high"] else CHOSEN} for row in gaps]
    reference = 0.0 if margin is None else -margin
    below = across(shown, "difference in agreement", GAP_TIPS, reference=reference, lowest=-1.0)
    own = {"scale": dict.fromkeys(("x", "y", "color"), "independent")}
    return to_altair({"vconcat": [above, below], "resolve": own})
