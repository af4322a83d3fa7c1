"""Sums under the curves as in the paper's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree.estimate.weights import REGISTRY
from spagree.studies.rounds import AnnotationCurves

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Table 1 of the paper: Σ over the curve of (variance − variance of flat) · 10², and its best and second best.
COLUMNS = ("edge", "flat", "annotations", "annotations_m1", "inv_var", "inv_var_class")
PUBLISHED = {
    "mbic_label": (-0.4681, 0.0, -0.8458, -1.0929, -0.4681, -0.8676),
    "mbic_factual": (-0.7894, 0.0, -0.9540, -1.2747, -0.7894, -1.0346),
    "bsmtwe_trust_vs_disgust": (-0.4333, 0.0, -0.3567, -0.5141, -0.4333, -0.5359),
    "bsmtwe_surprise_vs_antecip": (-0.3322, 0.0, -0.2909, -0.4148, -0.3322, -0.4437),
    "bsmtwe_joy_vs_sadness": (-0.2194, 0.0, -0.2943, -0.3966, -0.2194, -0.3899),
    "bsmtwe_anger_vs_fear": (-0.1614, 0.0, -0.3129, -0.4089, -0.1614, -0.4118),
    "fecg_label": (0.2910, 0.0, -0.0444, 0.0011, 0.2910, 0.2003),
    "dar_main_type": (0.2019, 0.0, 0.0089, 0.0493, 0.2019, 0.1324),
}
SCALE = 100.0
FLAT = list(REGISTRY).index("flat")


def target(curves: AnnotationCurves) -> float:
    """What SPA should estimate: the mean agreement of the items with all annotations (``flat``)."""
    return float(curves.mean[-1, FLAT])


def squared_error(curves: AnnotationCurves) -> NDArray[np.float64]:
    """Mean squared error against the target: variance plus squared bias."""
    return curves.variance + (curves.mean - target(curves)) ** 2


def sums_under_curve(values: NDArray[np.float64]) -> dict[str, float]:
    """Σ over the checkpoints of the difference from ``flat``, · 10², by scheme."""
    sums = SCALE * (values - values[:, FLAT : FLAT + 1]).sum(axis=0)
    return dict(zip(REGISTRY, sums.tolist(), strict=True))


def marked(values: Mapping[str, float]) -> dict[str, str]:
    """Four decimals; the best in bold and the second best in italics, ties included.

    >>> marked({"flat": 0.0, "edge": -1.25, "annotations_m1": -2.0, "inv_var": -1.25})
    {'flat': '0.0000', 'edge': '*−1.2500*', 'annotations_m1': '**−2.0000**', 'inv_var': '*−1.2500*'}
    """
    shown = {name: f"{value:.4f}".replace("-", "−") for name, value in values.items()}
    ranks = sorted(set(values.values()))
    marks = {ranks[0]: "**", **({ranks[1]: "*"} if len(ranks) > 1 else {})}
    return {name: f"{marks.get(values[name], '')}{text}{marks.get(values[name], '')}" for name, text in shown.items()}


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of the rows; numbers right-aligned.

    >>> print(markdown([{"scheme": "flat", "ratio": 1.23456}]))
    | scheme | ratio |
    |---|--:|
    | flat | 1.235 |
    """
    head = list(rows[0])
    cells = [[f"{row[name]:.3f}" if isinstance(row[name], float) else str(row[name]) for name in head] for row in rows]
    ruler = "|".join("--:" if any(_is_figure(row[name]) for row in rows) else "---" for name in head)
    return "\n".join([f"| {' | '.join(head)} |", f"|{ruler}|", *(f"| {' | '.join(row)} |" for row in cells)])


def _is_figure(value: Any) -> bool:
    return not isinstance(value, str) or value.strip("*−+-")[:1].isdigit()
