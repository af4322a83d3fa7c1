"""Test of SPA's one assumption, that agreement does not depend on how often an item was annotated, and what to plot.

See docs/mathematics.md §12.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import erfc, fsum, sqrt

import numpy as np

from spagree.estimate.intervals import f_tail, two_sided
from spagree.estimate.item_groups import ItemGroups, exact_mean, total
from spagree.estimate.uncertainty import FEW_ITEMS, Estimate, effective_items, spa_estimate, steadied, wilson
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
    p_steadied: float | None = None
    """The p-value that judges the assumption: no smaller because the few items with some n happen to agree."""

    @property
    def broken(self) -> bool:
        """Whether the assumption is clearly violated."""
        return self.p_steadied is not None and self.p_steadied < ALARM

    def p_of_differences(self) -> float | None:
        """Welch's test: how often chance alone would make the rows of ``by_n`` differ this much, in any way.

        A trend is only one way to depend on n. Rows with few items (or clusters) are left out; None if fewer than two
        are left. The errors come from the intervals, which have positive width even at full agreement. Clusters with
        items in several rows make the rows move together, which only makes the test more conservative.
        """
        rows = [row for row in self.by_n if row.effective >= FEW_ITEMS]
        if len(rows) < 2:
            return None
        values = np.array([float(row.agreement) for row in rows])
        halves = [((row.agreement.high or 0) - (row.agreement.low or 0)) / 2 for row in rows]
        t = [two_sided(row.agreement.level, row.effective - 1) for row in rows]
        return welch(values, np.array(halves) / np.array(t), np.array([row.effective - 1 for row in rows]))


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


def missingness(groups: ItemGroups, level: float) -> Missingness:
    """Test whether items with more annotations agree more, or less.

    >>> from spagree.estimate.item_groups import item_groups
    >>> from spagree.tally.tally import Tally
    >>> easy, hard = {"a": 2}, {"a": 2, "b": 2}
    >>> items = item_groups(Tally.from_items([easy, {"a": 1, "b": 1}, hard, {"a": 3, "b": 1}]))
    >>> result = missingness(items, 0.95)
    >>> round(result.z, 3), round(result.p, 3), round(result.p_steadied, 3), [(row.n, row.items) for row in result.by_n]
    (-0.231, 0.817, 0.845, [(2, 2), (4, 2)])
    """
    by_n = tuple(_agreement_at(groups, n, level) for n in groups.exact)
    if len(by_n) < 2:
        reason = "every pairable item has the same number of annotations" if by_n else "no pairable item"
        return Missingness(None, None, by_n, reason)
    # Σ(n − n̄)(P − P̄), whose variance is the sum of the squared contributions of items or clusters
    mean_n = sum(n * items for n, (items, _) in groups.exact.items()) / groups.size
    mean_p = exact_mean(groups, dict.fromkeys(groups.exact, Fraction(1)))
    products = (groups.n - mean_n) * (groups.agreement - mean_p)
    variance = total(groups.unit_sizes * groups.per_unit(products) ** 2)
    if not variance:
        return Missingness(None, None, by_n, "agreement does not vary enough between items")
    trend = total(groups.items * products)
    steadied_variance = variance + _unseen_variance(groups, mean_n, mean_p)
    z = trend / sqrt(variance)
    return Missingness(z, _two_sided_p(z), by_n, p_steadied=_two_sided_p(trend / sqrt(steadied_variance)))


def _two_sided_p(z: float) -> float:
    return erfc(abs(z) / sqrt(2))


def _unseen_variance(groups: ItemGroups, mean_n: float, mean_p: float) -> float:
    """The variance that items with the same n do not show because they are few and happen to agree.

    At each n it is raised towards what this agreement implies, as behind an interval.
    """
    added = []
    for n, (items, _) in groups.exact.items():
        group = groups.only(n)
        error = sqrt(total(group.items * (group.agreement - mean_p) ** 2)) / items
        raised = steadied(mean_p, error, group, np.ones(len(group.n)))
        added.append(((n - mean_n) * items) ** 2 * (raised**2 - error**2))
    return fsum(added)


def _agreement_at(groups: ItemGroups, n: int, level: float) -> AgreementAt:
    group = groups.only(n)
    agreement = spa_estimate(group, {n: Fraction(1)}, level=level, scheme="flat")
    return AgreementAt(n, group.size, agreement, effective_items(group, np.ones(len(group.n))))


MOST_RANGES = 8  # numbers of annotations shown separately


@dataclass(frozen=True, slots=True)
class AgreementWithin:
    """Mean agreement of the items with ``low`` to ``high`` annotations."""

    low: int
    high: int
    items: int
    agreement: Estimate

    @property
    def name(self) -> str:
        """The range in words.

        >>> AgreementWithin(2, 2, 9, None).name, AgreementWithin(4, 7, 9, None).name
        ('2', '4–7')
        """
        return f"{self.low}" if self.low == self.high else f"{self.low}–{self.high}"


def in_ranges(by_n: Sequence[AgreementAt]) -> tuple[AgreementWithin, ...]:
    """Each number separately if there are few; otherwise doubling ranges: 2, 3, 4–7, 8–15 and so on."""
    return tuple(map(_pooled, ([row] for row in by_n) if len(by_n) <= MOST_RANGES else _doubling(by_n)))


def _doubling(by_n: Sequence[AgreementAt]) -> Iterator[list[AgreementAt]]:
    group: list[AgreementAt] = []
    for row in by_n:
        if group and (row.n <= 3 or row.n.bit_length() != group[0].n.bit_length()):
            yield group
            group = []
        group.append(row)
    yield group


def _pooled(rows: Sequence[AgreementAt]) -> AgreementWithin:
    """The mean over all items of the rows; rows with a single item borrow their variance from the others."""
    first, items = rows[0].agreement, sum(row.items for row in rows)
    if len(rows) == 1:
        return AgreementWithin(rows[0].n, rows[0].n, items, first)
    value = sum(row.items * float(row.agreement) for row in rows) / items
    spread = [(row.items, row.items * row.agreement.stderr**2) for row in rows if row.agreement.stderr is not None]
    if not spread:
        alone = replace(first, value=value, stderr=None, low=None, high=None, undefined=first.undefined)
        return AgreementWithin(rows[0].n, rows[-1].n, items, alone)
    usual = sum(size * variance for size, variance in spread) / sum(size for size, _ in spread)
    rest = items - sum(size for size, _ in spread)
    error = sqrt(sum(size * variance for size, variance in spread) + rest * usual) / items
    low, high = wilson(value, error, sum(row.effective for row in rows), first.level)
    pooled = replace(first, value=value, stderr=error, low=low, high=high, undefined=None)
    return AgreementWithin(rows[0].n, rows[-1].n, items, pooled)
