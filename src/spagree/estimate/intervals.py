"""Intervals for many figures at once: one per coefficient, class, annotator or pair of annotators.

Every interval needs a quantile of Student's t, which is computed here because importing scipy takes longer than a run.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, pi, sqrt
from statistics import NormalDist
from typing import TypeVar

import numpy as np

from spagree.estimate.item_groups import total
from spagree.grouping import Floats

MOST_FREEDOM = 1e12  # the quantile is the normal one


@lru_cache(maxsize=1024)
def two_sided(level: float, freedom: float) -> float:
    """The t for which a probability of ``level`` lies between −t and t; infinite without degrees of freedom.

    >>> round(two_sided(0.95, 29), 5), round(two_sided(0.95, 1e6), 6), two_sided(0.95, 0)
    (2.04523, 1.959966, inf)
    """
    return float(two_sided_each(level, np.array([freedom]))[0]) if freedom > 0 else inf


def two_sided_each(level: float, freedom: Floats) -> Floats:
    """The t of each; NaN without degrees of freedom (G. W. Hill, Algorithm 396, Communications of the ACM 13, 1970).

    Hill is right to 4e-4 from two degrees of freedom on, and to 1e-5 from three on. His d = n·B(n/2, 1/2)/2 is a series
    in 1/n: taken at n + 4 and brought back to n, any level from 0.8 on is right to 4e-5 at any degrees of freedom.

    >>> two_sided_each(0.95, np.array([29, 1e6, 0])).round(5)
    array([2.04523, 1.95997,     nan])
    """
    n = np.minimum(np.where(np.asarray(freedom) > 0, freedom, np.nan), MOST_FREEDOM)
    outside, x = 1 - level, NormalDist().inv_cdf((1 - level) / 2)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        a, b, c, _ = _hills_series(n)
        d = _hills_series(n + 4)[3] * (n + 1) * (n + 3) / ((n + 2) * (n + 4))
        y = (d * outside) ** (2 / n)
        c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c + np.where(n < 5, 0.3 * (n - 4.5) * (x + 0.6), 0)
        z = (((((0.4 * x**2 + 6.3) * x**2 + 36) * x**2 + 94.5) / c - x**2 - 3) / b + 1) * x
        tail = (1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1
        tail = tail * (n + 1) / (n + 2) + 1 / y
        t = np.sqrt(n * np.where((n > 0.5) & (y > 0.05 + a), np.expm1(a * z**2), tail))
    t = np.where(n == 1, 1 / np.tan(outside * pi / 2), t)
    return np.asarray(np.where(n == 2, np.sqrt(2 / (outside * (2 - outside)) - 2), t))


def _hills_series(n: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """His a, b, c and d for n degrees of freedom."""
    a = 1 / (n - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    return a, b, c, ((94.5 / (b + c) - 3) / b + 1) * np.sqrt(a * pi / 2) * n


Number = TypeVar("Number", float, Floats)
AT_THE_END = 1e-9  # anything closer to the lowest or highest possible value, or to no error, is rounding


def kappa_limits(
    value: Floats, stderr: Floats, room: Floats, most: Floats, size: Floats, level: float, freedom: Floats | None = None
) -> tuple[Floats, Floats]:
    """Wilson's limits on the scale from the lowest possible kappa, 1 − most/room, to 1; NaN without a ``size``.

    ``room`` is 1 − P_e, ``most`` how often two annotations of an item can differ. ``size`` is m₂ = (Σg²)²/Σg⁴, how
    many equally informative items would say as much: with a rare class, the few that carry it decide. It also gives
    the degrees of freedom, unless there are fewer.

    >>> low, high = kappa_limits(*(np.array([each]) for each in (1.0, 0.0, 0.5, 1.0, 30.0)), 0.95)
    >>> round(float(low[0]), 3), float(high[0])
    (0.756, 1.0)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        lowest = np.minimum(1 - most / room, value)
        scale = 1 - lowest
        place = (value - lowest) / scale
        place = np.where(place < AT_THE_END, 0.0, np.where(place > 1 - AT_THE_END, 1.0, place))
        error = np.where(stderr < AT_THE_END, 0.0, stderr / scale)
    low, high = wilson_each(place, error, size, level, size if freedom is None else freedom)
    return lowest + scale * low, lowest + scale * high


def fisher_limits(value: Floats, stderr: Floats, freedom: Floats, level: float) -> tuple[Floats, Floats]:
    """tanh(atanh κ ± t·se/(1 − κ²)): a kappa under a metric, whose lowest possible value is not known.

    NaN without degrees of freedom, and where all items say the same (no error, or a kappa of ±1).

    >>> low, high = fisher_limits(*(np.array([each]) for each in (0.8, 0.05, 29.0)), 0.95)
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.672, 0.882)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        known = (stderr > AT_THE_END) & (np.abs(value) < 1 - AT_THE_END)
        reach = np.where(known, two_sided_each(level, freedom) * stderr / (1 - value**2), np.nan)
        centre = np.arctanh(np.where(known, value, np.nan))
    return np.tanh(centre - reach), np.tanh(centre + reach)


def below_chance(apart: Floats | float, annotations: Floats | float) -> Floats:
    """−q/(1 − q): the kappa of two who never give the rarer of two labels together, each giving it with share q.

    ``apart`` is how many of the ``annotations`` are outside the commonest label; q is an upper limit of their share, at
    most one half. It is a heuristic: nearly the one-sided 95% limit of a count (3, the rule of three, where there is
    none), though the interval is two-sided. A kappa of 0 or less may be as low as this: with so few rare labels, that
    two of them met would not have been seen.

    >>> below_chance(np.array([0.0, 30.0]), np.array([60.0, 60.0])).round(4)
    array([-0.0526, -1.    ])
    """
    share = np.minimum(0.5, (apart + 1.5 + np.sqrt(3 * (np.asarray(apart) + 0.75))) / annotations)
    return np.asarray(-share / (1 - share))


def score_limits(value: Number, shrink: Number) -> tuple[Number, Number]:
    """Wilson's limits for one or many figures: both p with (value − p)² = shrink·p(1 − p); shrink is t²/size."""
    centre = (value + shrink / 2) / (1 + shrink)
    half = np.sqrt(shrink * (value * (1 - value) + shrink / 4)) / (1 + shrink)
    return centre - half, centre + half


def wilson_each(
    value: Floats, stderr: Floats, effective: Floats, level: float, freedom: Floats | None = None
) -> tuple[Floats, Floats]:
    """The limits of each figure, as from :func:`spagree.estimate.uncertainty.wilson`; NaN without a stderr.

    >>> one = np.array([1.0])
    >>> [round(float(end[0]), 3) for end in wilson_each(one, 0 * one, 30 * one, 0.95)]
    [0.878, 1.0]
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        freedom = effective - 1 if freedom is None else freedom
        t = two_sided_each(level, freedom)
        known = (stderr > 0) & (value > 0) & (value < 1)
        shrink = t * t / np.where(known, value * (1 - value) / stderr**2, effective)
        low, high = score_limits(value, shrink)
    unknown, missing = np.isinf(shrink), np.isnan(stderr) | np.isnan(t)
    low = np.where((value == 0) | unknown, 0.0, np.maximum(0.0, low))
    high = np.where((value == 1) | unknown, 1.0, np.minimum(1.0, high))
    return np.where(missing, np.nan, low), np.where(missing, np.nan, high)


def deviations(left_out: Floats, count: Floats | None = None) -> tuple[float, Floats]:
    """The jackknife: the mean of the values with one unit left out, and √((m − 1)/m)·(x − mean) of each.

    The squared deviations sum to the variance; ``count`` says how many units share a value.

    >>> mean, moved = deviations(np.array([0.5, 0.75, 0.25]), np.array([2.0, 1.0, 1.0]))
    >>> mean, round(float(moved**2 @ [2.0, 1.0, 1.0]), 12)
    (0.5, 0.09375)
    """
    size = float(len(left_out)) if count is None else total(count)
    mean = float(left_out.mean()) if count is None else total(count * left_out) / size
    return mean, sqrt((size - 1) / size) * (left_out - mean)


def effective_number(sizes: Floats) -> float:
    """(Σx)²/Σx²: how many of equal size would be as informative."""
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def mean_error(size: Floats, squares: Floats) -> Floats:
    """Standard error of a mean of ``size`` values from Σ(x − mean)²; NaN for fewer than two."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(size > 1, np.sqrt(squares / (size - 1) / size), np.nan)
