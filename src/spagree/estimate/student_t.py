"""Quantiles of Student's t, which every interval needs, and the tail of F. Importing scipy would take longer than a
run.

With many degrees of freedom the quantile is a short series in the normal quantile (Abramowitz and Stegun 26.7.5,
continued by two terms). With few, it solves the incomplete beta function for the probability (26.5.27).
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, exp, inf, isinf, lgamma, log, log1p, sqrt
from statistics import NormalDist

import numpy as np

from spagree.estimate.item_groups import Floats

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
    t[many] = _series(z, freedom[many])
    if few.any():
        different = np.array(sorted(set(freedom[few].tolist())))
        t[few] = _by_incomplete_beta(level, z, different, _terms(most / 2))[np.searchsorted(different, freedom[few])]
    return t


def _series(z: float, freedom: Floats) -> Floats:
    t = np.full(len(freedom), z)
    for k, (divisor, coefficients) in enumerate(TERMS, start=1):
        t += z * sum(each * z ** (2 * i) for i, each in enumerate(coefficients)) / divisor / freedom**k
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
    value = np.ones(len(x))
    for each_odd, each_even in zip(odd, even, strict=True):
        value = 1 + each_odd / (1 + each_even / value)
    return value
