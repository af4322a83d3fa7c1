"""The weighting schemes: one family k(n; a, b) contains them all (docs/mathematics.md §4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import comb, inf
from typing import Literal

import numpy as np

from spagree.codes import Floats
from spagree.counts.tally import Tally
from spagree.errors import UsageError, unknown_name
from spagree.estimate.votes import LabelCounts
from spagree.options import CustomWeights


def zetas(class_counts: Iterable[int | float | Fraction]) -> tuple[Fraction, Fraction]:
    """ζ1 and ζ2 of a class distribution, exactly: ζ1 = Σp³ − (Σp²)², ζ2 = Σp² − (Σp²)².

    Takes class counts or probabilities; only their proportions matter. In integers nothing cancels: ζ1 ≥ 0 and ζ1/ζ2 ≤
    1/2 hold to the last digit.
    """
    classes = Counter(class_counts)  # of each size: thousands of free texts were given once or twice each
    sizes = [(Fraction(size), times) for size, times in classes.items() if size]
    if not sizes or min(sizes)[0] < 0:
        raise UsageError("class counts must be at least one positive number and none below 0")
    whole, squares, cubes = (sum((size**power * times for size, times in sizes), Fraction()) for power in (1, 2, 3))
    squares, cubes = squares / whole**2, cubes / whole**3
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


CUSTOM = "custom"
DEFAULT = "annotations_m1"

ByN = dict[int, Fraction]


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of an item by its number of annotations, on the scheme's natural scale."""

    scheme: str
    by_n: ByN
    fallback: str | None = None
    """Why another scheme's weights are used instead, if they are."""
    every: ByN = field(default_factory=dict)
    """The same, and where they are known also those of items that lose an annotation."""
    unknown: str | None = None
    """Why these are not known."""


def weigh(scheme: str | CustomWeights, tally: Tally, votes: LabelCounts | None = None) -> Weights:
    """The weights a scheme gives to the numbers of annotations that occur in a tally.

    Under a metric with partial credit variances follow from the ``votes``.

    >>> tally = Tally.from_items([{"a": 2}, {"a": 2, "b": 1}, {"a": 1, "b": 3}])
    >>> {n: str(k) for n, k in weigh("edge", tally).by_n.items()}
    {2: '1', 3: '3', 4: '6'}
    >>> weigh("egde", tally)
    Traceback (most recent call last):
    spagree.errors.UsageError: unknown weighting scheme 'egde'; did you mean 'edge'? Known: flat, annotations, ...
    """
    occur = [n for n in tally.items_by_n if n > 1]
    try:
        whole = weigh_at(sorted({*occur, *(n - 1 for n in occur if n > 2)}), scheme, tally, votes)
    except UsageError as error:  # custom weights need not be given for fewer annotations than occur
        found = weigh_at(occur, scheme, tally, votes)
        return replace(found, every=found.by_n, unknown=error.message)
    return replace(whole, by_n={n: whole.by_n[n] for n in occur}, every=whole.by_n)


def weigh_at(counts: list[int], scheme: str | CustomWeights, tally: Tally, votes: LabelCounts | None = None) -> Weights:
    """The same for given numbers of annotations, which need not occur in the tally."""
    if not isinstance(scheme, str):
        missing = [n for n in counts if isinstance(scheme, Mapping) and n not in scheme]
        if missing:
            listed = ", ".join(map(str, missing[:10]))
            raise UsageError(f"custom weights: none given for items with {listed} annotations; give one for each n")
        weights = {n: scheme[n] if isinstance(scheme, Mapping) else scheme(n) for n in counts}
        for n, weight in weights.items():  # each must be positive, or items would silently drop out
            if not isinstance(weight, int | float | Fraction | np.integer) or not 0 < weight < inf:
                raise UsageError(f"custom weights: {weight!r} for n = {n}; a weight is a positive number")
        return Weights(CUSTOM, {n: Fraction(weight) for n, weight in weights.items()})
    check_scheme(scheme)
    entry, given = REGISTRY[scheme], tally.pairable_labels
    if not entry.needs_classes and not isinstance(entry.by_n, str):
        return Weights(scheme, {n: Fraction(entry.by_n(n)) for n in counts})
    equal, edges = not isinstance(entry.by_n, str), {n: Fraction(comb(n, 2)) for n in counts}
    if votes is not None and votes.similarity is not None:
        times = [label in given if equal else given.get(label, 0) for label in votes.labels]
        return Weights(scheme, _inverse_variances(votes.similarity, np.array(times, dtype=np.float64), counts))
    if len(given) < 2:
        why = "all annotations carry one label" if given else "there is no label"
        reason = f"{why}, so the variance is 0 and its inverse undefined; edge, its limit, is used"
        return Weights(scheme, edges, fallback=reason)
    if equal:  # exactly proportional to edge
        return Weights(scheme, {n: k * len(given) ** 2 / (len(given) - 1) for n, k in edges.items()})
    zeta1, zeta2 = zetas(given.values())
    exact = {n: k / (2 * (n - 2) * zeta1 + zeta2) for n, k in edges.items()}
    # Rounded once: the exact rationals have a hundred digits, which no data needs.
    return Weights(scheme, {n: Fraction(k.numerator / k.denominator) for n, k in exact.items()})


def check_scheme(scheme: str | CustomWeights) -> None:
    """Refuse a misspelt name before any work is done."""
    if isinstance(scheme, str) and scheme not in REGISTRY:
        raise unknown_name("weighting scheme", scheme, REGISTRY)


def family(n: int, a: float, b: float) -> float:
    """k(n; a, b) = C(n,2) / (1 + 2(n−2)a + C(n−2,2)b), docs/mathematics.md §4.

    >>> [family(n, 0.25, 0) for n in (2, 3, 4)] == [1, 2, 3]
    True
    """
    return comb(n, 2) / (1 + 2 * (n - 2) * a + comb(n - 2, 2) * b)


def _inverse_variances(similarity: Floats, totals: Floats, counts: list[int]) -> ByN:
    """1/variance, ζ1 = Var(E[s(X, Y) | X]), ζ2 = Var(s(X, Y)) (docs/mathematics.md §14); edge if nothing varies."""
    shares = totals / max(totals.sum(), 1.0)
    by_label = similarity @ shares
    mean = float(shares @ by_label)
    zeta1 = float(shares @ (by_label - mean) ** 2)
    zeta2 = max(float(shares @ similarity**2 @ shares) - mean**2, 0.0)
    return {n: Fraction(comb(n, 2) / ((2 * (n - 2) * zeta1 + zeta2) or 1.0)) for n in counts}


@dataclass(frozen=True, slots=True)
class Scheme:
    """Everything spagree computes of a weighting scheme; a new one is one entry in the registry below."""

    about: str
    """How items are weighted, in words."""
    by_n: Callable[[int], int | Fraction] | Literal["classes"]
    """k(n) up to a factor, or what determines a of k(n; a, 0)."""
    needs_classes: bool = False
    """Whether it is 1/variance, undefined for a single class; ``edge``, its limit, is then used."""


PRECISION = "weighted by precision"
REGISTRY = {
    "flat": Scheme("every item counts the same", lambda _: 1),
    "annotations": Scheme("weighted by number of annotations", lambda n: n),
    "annotations_m1": Scheme("weighted by number of annotations minus one", lambda n: n - 1),
    "edge": Scheme("weighted by number of pairs of annotations", lambda n: comb(n, 2)),
    "inv_var": Scheme(f"{PRECISION}, assuming equally common classes", lambda n: comb(n, 2), needs_classes=True),
    "inv_var_class": Scheme(f"{PRECISION}, with classes as common as in these data", "classes", needs_classes=True),
}
SCHEMES = tuple(REGISTRY)
