"""Wilson's interval for many figures at once: one per class, annotator or pair of annotators."""

from __future__ import annotations

import numpy as np

from spagree.estimate.item_groups import Floats


def wilson_each(value: Floats, stderr: Floats, effective: Floats, level: float) -> tuple[Floats, Floats]:
    """The limits of each figure, as :func:`spagree.estimate.uncertainty.wilson` gives them; NaN without a stderr.

    >>> one = np.array([1.0])
    >>> [round(float(end[0]), 3) for end in wilson_each(one, 0 * one, 30 * one, 0.95)]
    [0.878, 1.0]
    """
    # scipy.special alone: scipy.stats takes a second to import for one quantile.
    from scipy.special import stdtrit

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        t = stdtrit(np.where(effective > 1, effective - 1, np.nan), (1 + level) / 2)
        known = (stderr > 0) & (value > 0) & (value < 1)
        shrink = t * t / np.where(known, value * (1 - value) / stderr**2, effective)
        centre = (value + shrink / 2) / (1 + shrink)
        half = np.sqrt(shrink * (value * (1 - value) + shrink / 4)) / (1 + shrink)
    centre, half = (np.where(np.isinf(shrink), 0.5, each) for each in (centre, half))  # nothing is known
    low = np.where(value == 0, 0.0, np.maximum(0.0, centre - half))
    high = np.where(value == 1, 1.0, np.minimum(1.0, centre + half))
    missing = np.isnan(stderr) | np.isnan(t)
    return np.where(missing, np.nan, low), np.where(missing, np.nan, high)


def mean_error(size: Floats, squares: Floats) -> Floats:
    """Standard error of a mean of ``size`` values from Σ(x − mean)²; NaN for fewer than two."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(size > 1, np.sqrt(squares / (size - 1) / size), np.nan)
