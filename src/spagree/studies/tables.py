"""Sums under the curves as in the paper's table, and how each scheme compares with the best on each data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
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
FLAT, ADAPTIVE = list(REGISTRY).index("flat"), list(REGISTRY).index("adaptive")


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

    >>> marked({"flat": 0.0, "edge": -1.25, "adaptive": -2.0, "inv_var": -1.25})
    {'flat': '0.0000', 'edge': '*−1.2500*', 'adaptive': '**−2.0000**', 'inv_var': '*−1.2500*'}
    """
    shown = {name: f"{value:.4f}".replace("-", "−") for name, value in values.items()}
    ranks = sorted(set(values.values()))
    marks = {ranks[0]: "**", **({ranks[1]: "*"} if len(ranks) > 1 else {})}
    return {name: f"{marks.get(values[name], '')}{text}{marks.get(values[name], '')}" for name, text in shown.items()}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The schemes on one data set: the ratio of the geometric mean variance over the curve to the best scheme's.

    ``excess`` is log(adaptive / best fixed scheme), ``noise`` its standard error over batches of rounds.
    """

    name: str
    title: str
    ratios: Mapping[str, float]
    to_flat: Mapping[str, float]
    best: str
    best_fixed: str
    excess: float
    noise: float

    @property
    def clearly_worse(self) -> bool:
        """Whether ``adaptive`` is above the best fixed scheme by more than two standard errors."""
        return self.excess > 2 * self.noise


def compare(name: str, title: str, curves: AnnotationCurves) -> Comparison:
    """Compare the schemes at the checkpoints where all of them vary; at full annotation none does."""
    varies = can_compare(curves)
    level = np.log(curves.variance[varies]).mean(axis=0)
    best = int(level.argmin())
    schemes = list(REGISTRY)
    best_fixed = min((place for place in range(len(schemes)) if place != ADAPTIVE), key=lambda place: level[place])
    return Comparison(
        name,
        title,
        dict(zip(schemes, np.exp(level - level[best]).tolist(), strict=True)),
        dict(zip(schemes, np.exp(level - level[FLAT]).tolist(), strict=True)),
        schemes[best],
        schemes[best_fixed],
        float(level[ADAPTIVE] - level[best_fixed]),
        _noise(curves, best_fixed),
    )


def can_compare(curves: AnnotationCurves) -> NDArray[np.bool_]:
    """The checkpoints at which every scheme varies between rounds."""
    return np.asarray((curves.variance > 0).all(axis=1))


def _noise(curves: AnnotationCurves, best_fixed: int) -> float:
    """Standard error of log(adaptive / best fixed), from separate batches of rounds; infinite if there are too few."""
    varies = (curves.batches > 0).all(axis=(0, 2))
    if len(curves.batches) < 2 or not varies.any():
        return float("inf")
    each = np.log(curves.batches[:, varies]).mean(axis=1)
    difference = each[:, ADAPTIVE] - each[:, best_fixed]
    return float(difference.std(ddof=1) / np.sqrt(len(difference)))


def summary(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    """For every scheme: how often it was best, its worst distance from the best, and its mean relative to ``flat``."""
    return [
        {
            "scheme": scheme,
            "lowest": sum(each.ratios[scheme] == 1 for each in comparisons),
            "within_1_percent": sum(each.ratios[scheme] <= 1.01 for each in comparisons),
            "worst_ratio": max(each.ratios[scheme] for each in comparisons),
            "worst_on": max(comparisons, key=lambda each: each.ratios[scheme]).name,
            "geometric_mean_to_flat": exp(sum(log(each.to_flat[scheme]) for each in comparisons) / len(comparisons)),
        }
        for scheme in REGISTRY
    ]


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
