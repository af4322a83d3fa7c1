"""Test of SPA's one assumption, that agreement does not depend on how often an item was annotated, and what to plot.

See docs/mathematics.md §12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import erfc, fsum, sqrt

import numpy as np

from spagree.estimate.other_annotators import spa_estimate
from spagree.estimate.uncertainty import Estimate, effective_items, steadied, wilson
from spagree.estimate.votes import ItemGroups, total

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


def missingness(groups: ItemGroups, level: float) -> Missingness:
    """Test whether items with more annotations agree more, or less.

    It is the score test of a linear trend with a variance that allows items to differ in their spread (H. White, A
    heteroskedasticity-consistent covariance matrix estimator and a direct test for heteroskedasticity, Econometrica 48,
    1980, 817–838): z = Σ(n − n̄)(P − P̄)/√v with v = Σ(n − n̄)²(P − P̄)², from the residuals under the null hypothesis.
    The few items with some n may all agree by chance and then add nothing to v, so v is raised at each n towards what
    this agreement implies, as behind an interval (docs/studies/assumption.md).
    """
    parts = {n: groups.only(n) for n in groups.sizes.n.tolist()}
    rows = []
    for n, part in parts.items():
        agreement = spa_estimate(part, {n: Fraction(1)}, level=level, scheme="flat")
        rows.append(AgreementAt(n, part.size, agreement, effective_items(part, np.ones(len(part.n)))))
    if len(rows) < 2:
        reason = "every pairable item has the same number of annotations" if rows else "no pairable item"
        return Missingness(None, None, tuple(rows), reason)
    mean_n = total(groups.items * groups.n) / groups.size
    mean_p = groups.sizes.value(dict.fromkeys(parts, Fraction(1)))
    products = (groups.n - mean_n) * (groups.agreement - mean_p)
    variance = total(groups.unit_sizes * groups.per_unit(products) ** 2)  # contributions of items, or of clusters
    if not variance:
        return Missingness(None, None, tuple(rows), "agreement does not vary enough between items")
    unseen = []  # the variance that few items with the same n do not show because they happen to agree
    for n, part in parts.items():
        error = sqrt(total(part.items * (part.agreement - mean_p) ** 2)) / part.size
        raised = steadied(mean_p, error, part, np.ones(len(part.n)))
        unseen.append(((n - mean_n) * part.size) ** 2 * (raised**2 - error**2))
    z = total(groups.items * products) / sqrt(variance + fsum(unseen))
    return Missingness(z, erfc(abs(z) / sqrt(2)), tuple(rows))


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
        """The range in words."""
        return f"{self.low}" if self.low == self.high else f"{self.low}–{self.high}"


def in_ranges(by_n: Sequence[AgreementAt]) -> tuple[AgreementWithin, ...]:
    """Each number separately if there are few; otherwise doubling ranges: 2, 3, 4–7, 8–15 and so on.

    A range has the mean over all its items; rows with a single item borrow their variance from the others.
    """
    groups: list[list[AgreementAt]] = []
    for row in by_n:
        is_like_last = groups and row.n > 3 and row.n.bit_length() == groups[-1][0].n.bit_length()
        if is_like_last and len(by_n) > MOST_RANGES:
            groups[-1].append(row)
        else:
            groups.append([row])
    found = []
    for rows in groups:
        first, items, agreement = rows[0].agreement, sum(row.items for row in rows), rows[0].agreement
        spread = [(row.items, row.items * row.agreement.stderr**2) for row in rows if row.agreement.stderr is not None]
        value = sum(row.items * float(row.agreement) for row in rows) / items if len(rows) > 1 else 0.0
        if len(rows) > 1 and spread:
            known, whole = sum(size for size, _ in spread), sum(size * variance for size, variance in spread)
            error = sqrt(whole + (items - known) * (whole / known)) / items
            low, high = wilson(value, error, sum(row.effective for row in rows), first.level)
            agreement = replace(first, value=value, stderr=error, low=low, high=high, undefined=None)
        elif len(rows) > 1:
            agreement = replace(first, value=value, stderr=None, low=None, high=None)
        found.append(AgreementWithin(rows[0].n, rows[-1].n, items, agreement))
    return tuple(found)
