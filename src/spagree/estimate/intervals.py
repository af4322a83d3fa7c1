"""Intervals for many figures at once: one per coefficient, class, annotator or pair of annotators.

Every interval needs a quantile of Student's t, which is computed here because importing scipy takes longer than a run.
With many degrees of freedom it is a short series in the normal quantile (Abramowitz and Stegun 26.7.5, continued by
two terms). With few, it solves the incomplete beta function for the probability (26.5.27).
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, exp, inf, isinf, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import Any, TypeVar

import numpy as np

from spagree.estimate.item_groups import total
from spagree.grouping import Floats

MANY = 200  # degrees of freedom from which the series is used
PER_SQUARE = 12.5  # and this many more for each unit of the squared normal quantile, for extreme levels

# Term k of the series is z·P(z²)/(divisor·freedom^k): the divisor, and the coefficients of P, constant first.
TERMS = (
    (4, (1, 1)),
    (96, (3, 16, 5)),
    (384, (-15, 17, 19, 3)),
    (92160, (-945, -1920, 1482, 776, 79)),
    (122880, (5985, -255, -594, 310, 113, 9)),
    (185794560, (2463615, 6667920, 616707, -82440, 48821, 15448, 1065)),
)
CLOSE = 1e-14  # a step of Newton's method that changes nothing
STEPS = 50  # far more than needed


@lru_cache(maxsize=1024)
def two_sided(level: float, freedom: float) -> float:
    """The t for which a probability of ``level`` lies between −t and t; infinite without degrees of freedom.

    >>> round(two_sided(0.95, 29), 6), round(two_sided(0.95, 1e6), 6), two_sided(0.95, 0)
    (2.04523, 1.959966, inf)
    """
    return float(two_sided_each(level, np.array([freedom]))[0]) if freedom > 0 else inf


def two_sided_each(level: float, freedom: Floats) -> Floats:
    """The t of each; NaN without degrees of freedom.

    >>> two_sided_each(0.95, np.array([29, 1e6, 0])).round(6)
    array([2.04523 , 1.959966,      nan])
    """
    freedom = np.asarray(freedom, dtype=np.float64)
    z = -NormalDist().inv_cdf((1 - level) / 2)
    most = max(MANY, PER_SQUARE * z * z)
    many = freedom >= most
    few = (freedom > 0) & ~many
    t = np.full(freedom.shape, np.nan)
    t[many] = z
    for k, (divisor, coefficients) in enumerate(TERMS, start=1):
        t[many] += z * sum(c * z ** (2 * i) for i, c in enumerate(coefficients)) / divisor / freedom[many] ** k
    if few.any():
        different = np.array(sorted(set(freedom[few].tolist())))
        t[few] = _by_incomplete_beta(level, z, different, _terms(most / 2))[np.searchsorted(different, freedom[few])]
    return t


def _by_incomplete_beta(level: float, z: float, freedom: Floats, terms: int) -> Floats:
    """1 − level = I_x(freedom/2, 1/2) with x = freedom/(freedom + t²), solved for the logit of x.

    It starts from the approximation of Wallace (1959), which has two correct digits even at one degree of freedom. If
    1 − x is the smaller side, it solves level = I_(1−x)(1/2, freedom/2) instead, whose continued fraction converges
    faster there.
    """
    exponent = (z * (8 * freedom + 3) / (8 * freedom + 1)) ** 2 / freedom
    logit = -exponent - np.log(-np.expm1(-exponent))
    half, other = freedom / 2, np.full(len(freedom), 0.5)
    outside = logit < np.log((half + 1) / 1.5)
    logit[outside] = _solved(log1p(-level), half[outside], other[outside], logit[outside], terms)
    logit[~outside] = -_solved(log(level), other[~outside], half[~outside], -logit[~outside], terms)
    with np.errstate(over="ignore"):  # with hardly any freedom t is infinite
        return np.asarray(np.sqrt(freedom) * np.exp(-logit / 2))


def _solved(target: float, a: Floats, b: Floats, logit: Floats, terms: int) -> Floats:
    """The logit of x at which log I_x(a, b) equals the target, by Newton's method on a concave function.

    Each element stops on its own, so a figure has the same bits whatever else is computed with it.
    """
    if not len(logit):
        return logit
    log_beta = np.array([lgamma(p) + lgamma(q) - lgamma(p + q) for p, q in zip(a.tolist(), b.tolist(), strict=True)])
    moving = np.ones(len(logit), dtype=bool)
    for _ in range(STEPS):
        slope = a * _continued_fraction(np.exp(-np.logaddexp(0, -logit)), a, b, terms)
        value = -a * np.logaddexp(0, -logit) - b * np.logaddexp(0, logit) - log_beta - np.log(slope)
        step = (value - target) / slope
        logit = np.where(moving, logit - step, logit)
        moving &= np.abs(step) >= CLOSE
        if not moving.any():
            break
    return logit


def f_tail(value: float, first: float, second: float) -> float:
    """The upper tail probability of F, by the incomplete beta function (26.6.2).

    >>> round(f_tail(4.07, 3, 8), 3), f_tail(0.0, 3, 8)
    (0.05, 1.0)
    """
    if value <= 0:
        return 1.0
    if isinf(value):
        return 0.0
    a, b, x = second / 2, first / 2, second / (second + first * value)
    upper = x > (a + 1) / (a + b + 2)  # the other side's continued fraction converges faster
    if upper:
        a, b, x = b, a, first * value / (second + first * value)
    fraction = _continued_fraction(np.array([x]), np.array([a]), np.array([b]), _terms(max(a, b)))[0]
    share = (
        exp(a * log(x) + b * log1p(-x) + lgamma(a + b) - lgamma(a) - lgamma(b) - log(a * fraction)) if x > 0 else 0.0
    )
    return 1 - share if upper else share


def _terms(most: float) -> int:
    """How many terms are enough for parameters up to ``most``."""
    return 16 + 3 * ceil(sqrt(most))


def _continued_fraction(x: Floats, a: Floats, b: Floats, terms: int) -> Floats:
    """x^a·(1 − x)^b/(a·B(a, b)·I_x(a, b)): Abramowitz and Stegun 26.5.8, from its last term to the first."""
    m = np.arange(terms, -1, -1)[:, None]
    odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
    even = (m + 1) * (b - m - 1) * x / ((a + 2 * m + 1) * (a + 2 * m + 2))
    value: Any = 1.0
    one = len(x) == 1  # plain numbers have the same bits and take a quarter of the time
    pairs = zip(odd[:, 0].tolist(), even[:, 0].tolist(), strict=True) if one else zip(odd, even, strict=True)
    for each_odd, each_even in pairs:
        value = 1 + each_odd / (1 + each_even / value)
    return np.atleast_1d(value)


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
    (0.669, 0.883)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        known = (stderr > AT_THE_END) & (np.abs(value) < 1 - AT_THE_END)
        reach = np.where(known, two_sided_each(level, freedom) * stderr / (1 - value**2), np.nan)
        centre = np.arctanh(np.where(known, value, np.nan))
    return np.tanh(centre - reach), np.tanh(centre + reach)


def below_chance(apart: Floats | float, annotations: Floats | float) -> Floats:
    """−q/(1 − q): the kappa of two who never give the rarer of two labels together, each giving it with share q.

    ``apart`` is how many of the ``annotations`` are outside the commonest label; q is an upper score limit of their
    share, at most one half. A kappa of 0 or less may be as low as this: with so few rare labels, that two of them met
    would not have been seen.

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
