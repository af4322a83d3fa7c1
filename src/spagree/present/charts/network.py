"""Who annotated items together, as a graph: annotators who share many items are close."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from spagree.present.charts.spec import Rows, Spec, Tips, layer, layered, tooltip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIDE, STEPS = 440, 300
THIN_WIDTH, THICK_WIDTH = 0.8, 5.0
NEAR = 1e-3  # annotators at the same place still repel each other


def network(nodes: Rows, edges: Rows, tips: Tips, edge_tips: Tips) -> Spec:
    """Nodes of ``name, place`` and edges of ``one, other, shared, thin``; thin edges are dashed."""
    at = places([row["name"] for row in nodes], {(row["one"], row["other"]): row["shared"] for row in edges})
    placed = [{**row, "x": at[row["name"]][0], "y": at[row["name"]][1]} for row in nodes]
    most = max((row["shared"] for row in edges), default=1)
    ends = [(*at[row["one"]], *at[row["other"]]) for row in edges]
    lines = [
        {**row, **dict(zip(("x", "y", "x2", "y2"), end, strict=True))} for row, end in zip(edges, ends, strict=True)
    ]
    scale = {"domain": [-0.14, 1.14], "nice": False, "zero": False}
    x, y = ({"field": each, "type": "quantitative", "axis": None, "scale": scale} for each in "xy")
    width = {"domain": [1, most], "range": [THIN_WIDTH, THICK_WIDTH], "type": "sqrt"}
    links = {
        "x": x,
        "y": y,
        "x2": {"field": "x2"},
        "y2": {"field": "y2"},
        "strokeWidth": {"field": "shared", "type": "quantitative", "scale": width, "legend": None},
        "strokeDash": {"condition": {"test": "datum.thin", "value": [4, 3]}, "value": [1, 0]},
        "tooltip": tooltip(edge_tips),
    }
    named = {"x": x, "y": y, "text": {"field": "name", "type": "nominal"}}
    layers = [
        layer("rule", links, rows=lines, opacity=0.6),
        layer("circle", {"x": x, "y": y, "tooltip": tooltip(tips)}, size=160, opacity=1),
        layer("text", named, dy=-14, fontSize=11, style="name", aria=False, limit=110),
    ]
    return layered(placed, layers, width=SIDE, height=SIDE)


def places(names: Sequence[str], shared: Mapping[tuple[str, str], int]) -> dict[str, tuple[float, float]]:
    """A place in the unit square for each name: annotators repel each other, shared items attract.

    Fruchterman and Reingold's method from a fixed start: the same data give the same picture.

    >>> at = places(["ann", "bob", "cyd"], {("ann", "bob"): 9})
    >>> sorted(at) == ["ann", "bob", "cyd"] and all(0 <= end <= 1 for place in at.values() for end in place)
    True
    """
    import numpy as np

    size = len(names)
    angle = 2 * np.pi * np.arange(size) / max(1, size)
    spot = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if size > 1:
        pull = _pull(names, shared)
        ideal = 1.8 / np.sqrt(size)
        for step in range(STEPS):
            spot = spot + _moved(spot, pull, ideal) * 0.12 * (1 - step / STEPS)
    low, high = (spot.min(axis=0), spot.max(axis=0)) if size > 1 else (np.zeros(2), np.full(2, 2.0))
    wide = high - low > NEAR  # annotators in one line are centred
    unit = np.where(wide, np.round((spot - low) / np.where(wide, high - low, 1.0), 4), 0.5)
    return {name: (float(x), float(y)) for name, (x, y) in zip(names, unit, strict=True)}


def _pull(names: Sequence[str], shared: Mapping[tuple[str, str], int]) -> NDArray[np.float64]:
    import numpy as np

    place = {name: number for number, name in enumerate(names)}
    pull = np.zeros((len(names), len(names)))
    for (one, other), count in shared.items():
        pull[place[one], place[other]] = pull[place[other], place[one]] = count
    return np.asarray(np.sqrt(pull / max(1.0, pull.max())))


def _moved(spot: NDArray[np.float64], pull: NDArray[np.float64], ideal: float) -> NDArray[np.float64]:
    """The force on each node, of length one at most; a weak pull to the middle keeps teams in view."""
    import numpy as np

    apart = spot[:, None, :] - spot[None, :, :]
    distance = np.maximum(np.sqrt((apart**2).sum(axis=2)), NEAR)
    force = ideal**2 / distance - pull * distance**2 / ideal
    np.fill_diagonal(force, 0.0)
    push = (apart / distance[:, :, None] * force[:, :, None]).sum(axis=1) - 0.3 * spot
    length = np.maximum(np.sqrt((push**2).sum(axis=1, keepdims=True)), NEAR)
    return np.asarray(push / length * np.minimum(length, 1.0))
