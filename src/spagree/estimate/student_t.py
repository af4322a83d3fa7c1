"""Quantiles of Student's t: every interval needs one, and importing scipy for it takes as long as a short run.

With many degrees of freedom the quantile is a short series in the normal quantile (Abramowitz and Stegun 26.7.5,
continued by two terms) that is exact to the last digits; otherwise scipy computes it.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf
from statistics import NormalDist

import numpy as np

from spagree.estimate.item_groups import Floats

MANY = 200  # degrees of freedom from which the series is used
LARGEST = 4.0  # normal quantile up to which it is: a level of 0.99994

# Term k of the series is z·P(z²)/(divisor·freedom^k): the divisor, and the coefficients of P from the constant on.
TERMS = (
    (4, (1, 1)),
    (96, (3, 16, 5)),
    (384, (-15, 17, 19, 3)),
    (92160, (-945, -1920, 1482, 776, 79)),
    (122880, (5985, -255, -594, 310, 113, 9)),
    (185794560, (2463615, 6667920, 616707, -82440, 48821, 15448, 1065)),
)


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
    upper = (1 + level) / 2
    z = NormalDist().inv_cdf(upper) if upper < 1 else inf
    t = np.full(freedom.shape, np.nan)
    many = freedom >= MANY if z <= LARGEST else np.zeros(freedom.shape, dtype=bool)
    few = (freedom > 0) & ~many
    t[many] = _series(z, freedom[many])
    if few.any():
        # scipy.special alone: scipy.stats takes a second to import for one quantile.
        from scipy.special import stdtrit

        t[few] = stdtrit(freedom[few], upper)
    return t


def _series(z: float, freedom: Floats) -> Floats:
    t = np.full(len(freedom), z)
    for k, (divisor, coefficients) in enumerate(TERMS, start=1):
        t += z * sum(each * z ** (2 * i) for i, each in enumerate(coefficients)) / divisor / freedom**k
    return t
