"""How much the agreement of one item varies by chance, in closed form (docs/mathematics.md §5)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from spagree.errors import UsageError


def zetas(class_counts: Iterable[int | float | Fraction]) -> tuple[Fraction, Fraction]:
    """ζ1 and ζ2 of a class distribution, exactly: ζ1 = Σp³ − (Σp²)², ζ2 = Σp² − (Σp²)².

    Takes class counts or probabilities; only their proportions matter. In integers nothing cancels: ζ1 ≥ 0 and ζ1/ζ2 ≤
    1/2 hold to the last digit.

    >>> zetas([1, 1])
    (Fraction(0, 1), Fraction(1, 4))
    >>> zetas([3, 1])
    (Fraction(3, 64), Fraction(15, 64))
    """
    counts = [Fraction(count) for count in class_counts if count]
    whole = sum(counts, Fraction())
    if not counts or min(counts) < 0:
        raise UsageError("class counts must be at least one positive number and none below 0")
    squares = sum((c**2 for c in counts), Fraction()) / whole**2
    cubes = sum((c**3 for c in counts), Fraction()) / whole**3
    return cubes - squares**2, squares - squares**2


def item_variance(n: int, class_counts: Iterable[int | float | Fraction]) -> float:
    """Variance of the agreement of an item with n annotations drawn from one class distribution.

    >>> item_variance(2, [1, 1])
    0.25
    >>> item_variance(7, [0.5, 0.5]) == 1 / 84
    True
    """
    if n < 2:
        raise UsageError(f"n={n}: an item with fewer than 2 annotations has no agreement")
    zeta1, zeta2 = zetas(class_counts)
    exact = Fraction(2, n * (n - 1)) * (2 * (n - 2) * zeta1 + zeta2)
    return exact.numerator / exact.denominator
