"""Test of SPA's one assumption: agreement does not depend on how often an item was annotated.

See docs/mathematics.md §12.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import erfc, sqrt

import numpy as np

from spagree.estimate.adaptive import Shape
from spagree.estimate.intervals import f_tail, two_sided
from spagree.estimate.item_groups import ItemGroups, exact_mean, total
from spagree.estimate.uncertainty import FEW_ITEMS, Estimate, effective_items, estimate
from spagree.grouping import Floats

ALARM = 0.01


@dataclass(frozen=True, slots=True)
class AgreementAt:
    """Mean agreement of the items with exactly n annotations."""

    n: int
    items: int
    agreement: Estimate
    effective: float
    """Items, or the effective number of clusters."""


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
        """Welch's test: how often chance alone would make the rows of ``by_n`` differ this much, in any way.

        A trend is only one way to depend on n. Rows with few items (or clusters) are left out; None if fewer than two
        are left. The errors come from the intervals, which have positive width even at full agreement. Clusters with
        items in several rows make the rows move together, which only makes the test more conservative.
        """
        rows = [row for row in self.by_n if row.effective >= FEW_ITEMS]
        if len(rows) < 2:
            return None
        values, errors = np.array([float(row.agreement) for row in rows]), np.array([_error(row) for row in rows])
        return welch(values, errors, np.array([row.effective - 1 for row in rows]))


def welch(values: Floats, errors: Floats, freedom: Floats) -> float:
    """The p-value that the means are equal, given their errors and degrees of freedom (Welch, 1951).

    >>> round(welch(np.array([0.5, 0.7]), np.array([0.1, 0.1]), np.array([9.0, 9.0])), 4)  # Student's t
    0.1744
    """
    size, weight = len(values), errors**-2.0
    centre = np.average(values, weights=weight)
    spread = float((weight * (values - centre) ** 2).sum()) / (size - 1)
    unsure = float(((1 - weight / weight.sum()) ** 2 / freedom).sum()) / (size**2 - 1)
    return f_tail(spread / (1 + 2 * (size - 2) * unsure), size - 1, 1 / (3 * unsure))


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
    """The sum s = Σ(n − n̄)(P − P̄) and its variance: the sum of squared contributions of items or clusters."""
    mean_n = sum(n * items for n, (items, _) in found.exact.items()) / found.size
    mean_p = exact_mean(found, dict.fromkeys(found.exact, Fraction(1)))
    products = (found.n - mean_n) * (found.agreement - mean_p)
    return total(found.items * products), total(found.unit_sizes * found.per_unit(products) ** 2)


def _agreement_at(found: ItemGroups, n: int, level: float, shape: Shape) -> AgreementAt:
    group = found.only(n)
    value = exact_mean(group, {n: Fraction(1)})
    agreement = estimate(value, group, np.ones(len(group.n)), shape, level=level, scheme="flat")
    return AgreementAt(n, group.size, agreement, effective_items(group, np.ones(len(group.n))))


def _error(row: AgreementAt) -> float:
    """The standard error implied by the interval."""
    half = ((row.agreement.high or 0) - (row.agreement.low or 0)) / 2
    return half / two_sided(row.agreement.level, row.effective - 1)
