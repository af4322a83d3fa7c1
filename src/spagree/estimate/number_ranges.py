"""Numbers of annotations grouped into a few ranges, each with the mean agreement of its items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from spagree.estimate.missingness import AgreementAt
from spagree.estimate.uncertainty import Estimate, wilson

MOST = 8  # numbers of annotations shown separately


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


def in_ranges(by_n: Sequence[AgreementAt], most: int = MOST) -> tuple[AgreementWithin, ...]:
    """Each number separately if there are few; otherwise doubling ranges: 2, 3, 4–7, 8–15 and so on."""
    if len(by_n) <= most:
        return tuple(AgreementWithin(row.n, row.n, row.items, row.agreement) for row in by_n)
    return tuple(_pooled(rows) for rows in _doubling(by_n))


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
