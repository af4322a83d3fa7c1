"""Colours and fonts: real ones for paper and notebooks, names of CSS variables for pages that are light or dark.

The page's stylesheet sets the variables, so a chart follows light, dark and print by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
RAMP = "viridis"  # also readable for colour-blind readers, and in grey

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
        "range": {
            "category": [colours["accent"], colours["quiet"], colours["warn"], colours["ink"]],
            "heatmap": {"scheme": RAMP},
        },
        "rule": {"color": colours["quiet"]},
        **{mark: {"color": colours["accent"]} for mark in ("bar", "line", "area", "point", "circle")},
        "text": {"color": colours["ink"], "font": FONT},
        "style": {
            "reference": {"stroke": colours["soft"]},
            "name": {"fill": colours["ink"]},
            "count": {"fill": colours["soft"]},
            "same": {"color": colours["line"], "fillOpacity": 0.7},
            "confused": {"color": colours["warn"]},
            "met": {"color": colours["accent"]},
            "volume": {"color": colours["quiet"]},
        },
    }
