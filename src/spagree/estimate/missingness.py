"""The one assumption of SPA, tested: agreement does not depend on how often an item was annotated.

See docs/mathematics.md §12.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import erfc, exp, lgamma, log, sqrt
from statistics import NormalDist

import numpy as np

from spagree.estimate.adaptive import Shape
from spagree.estimate.item_groups import ItemGroups, exact_mean, total
from spagree.estimate.uncertainty import Estimate, estimate

ALARM = 0.01
ENOUGH_ITEMS = 10  # with one number of annotations, to be compared with the others


@dataclass(frozen=True, slots=True)
class AgreementAt:
    """Mean agreement of the items with exactly n annotations."""

    n: int
    items: int
    agreement: Estimate
    units: int
    """Items, or the clusters they are in."""


@dataclass(frozen=True, slots=True)
class Missingness:
    """Trend of agreement over the number of annotations: z and its two-sided p."""

    z: float | None
    p: float | None
    by_n: tuple[AgreementAt, ...]
    undefined: str | None = None

    @property
    def broken(self) -> bool:
        """Whether the assumption is clearly violated."""
        return self.p is not None and self.p < ALARM

    def p_of_differences(self) -> float | None:
        """How often chance alone would make the rows of ``by_n`` differ so much, in whatever way: Cochran's Q.

        A trend is only one way to depend on n. Rows of few items (or clusters) are left out; None where fewer than two
        are left. The errors come from the intervals, which have a width at full agreement, too. Clusters that hold
        items of several rows make them move together, which only makes the test more careful.
        """
        rows = [row.agreement for row in self.by_n if row.units >= ENOUGH_ITEMS]
        if len(rows) < 2:
            return None
        values, errors = np.array([float(row) for row in rows]), np.array([_error(row) for row in rows])
        centre = np.average(values, weights=errors**-2.0)
        return chi_squared_tail(len(rows) - 1, float((((values - centre) / errors) ** 2).sum()))


def chi_squared_tail(freedom: int, value: float) -> float:
    """How often χ² with so many degrees of freedom is larger: Abramowitz and Stegun 26.4.4 and 26.4.5.

    >>> round(chi_squared_tail(1, 3.841), 4), round(chi_squared_tail(2, 5.991), 4)
    (0.05, 0.05)
    """
    half = value / 2
    first = erfc(sqrt(half)) if freedom % 2 else 0.0
    if half == 0:
        return 1.0
    powers = (k / 2 for k in range(freedom % 2, freedom - 1, 2))
    return first + sum(exp(power * log(half) - half - lgamma(power + 1)) for power in powers)


def missingness(found: ItemGroups, level: float, shape: Shape) -> Missingness:
    """Test whether items with more annotations agree more, or less.

    >>> from spagree.estimate.item_groups import profile
    >>> from spagree.tally.tally import Tally
    >>> easy, hard = {"a": 2}, {"a": 2, "b": 2}
    >>> items = profile(Tally.from_items([easy, {"a": 1, "b": 1}, hard, {"a": 3, "b": 1}]))
    >>> result = missingness(items, 0.95, Shape(0.25, 0.0))
    >>> round(result.z, 3), [(row.n, row.items) for row in result.by_n]
    (-0.231, [(2, 2), (4, 2)])
    """
    by_n = tuple(_agreement_at(found, n, level, shape) for n in found.exact)
    if len(by_n) < 2:
        reason = "every pairable item has the same number of annotations" if by_n else "no pairable item"
        return Missingness(None, None, by_n, reason)
    sum_, variance = _trend(found)
    if not variance:
        return Missingness(None, None, by_n, "agreement does not vary enough between items")
    z = sum_ / sqrt(variance)
    return Missingness(z, erfc(abs(z) / sqrt(2)), by_n)


def _trend(found: ItemGroups) -> tuple[float, float]:
    """The sum s = Σ(n − n̄)(P − P̄) and its variance: the squares of what each item, or cluster, adds to it."""
    mean_n = sum(n * items for n, (items, _) in found.exact.items()) / found.size
    mean_p = exact_mean(found, dict.fromkeys(found.exact, Fraction(1)))
    products = (found.n - mean_n) * (found.agreement - mean_p)
    return total(found.items * products), total(found.unit_sizes * found.per_unit(products) ** 2)


def _agreement_at(found: ItemGroups, n: int, level: float, shape: Shape) -> AgreementAt:
    group = found.only(n)
    value = exact_mean(group, {n: Fraction(1)})
    agreement = estimate(value, group, np.ones(len(group.n)), shape, level=level, scheme="flat")
    return AgreementAt(n, group.size, agreement, group.units)


def _error(found: Estimate) -> float:
    """The standard error that the interval implies."""
    return ((found.high or 0) - (found.low or 0)) / 2 / NormalDist().inv_cdf(0.5 + found.level / 2)
