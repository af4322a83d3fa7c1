"""The weighting schemes: one family k(n; a, b) holds all of them (docs/mathematics.md §4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb, inf

import numpy as np

from spagree.errors import UsageError, unknown_name
from spagree.estimate.adaptive import adaptive_shape
from spagree.estimate.item_groups import Floats
from spagree.estimate.label_counts import LabelCounts
from spagree.estimate.variance import zetas
from spagree.options import CustomWeights
from spagree.tally.tally import Tally

CUSTOM = "custom"
DEFAULT = "annotations_m1"

ByN = dict[int, Fraction]


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of an item by its number of annotations, on the scheme's natural scale."""

    scheme: str
    by_n: ByN
    fallback: str | None = None
    """Why another scheme's weights stand in for these, if they do."""


def weigh(scheme: str | CustomWeights, tally: Tally, found: LabelCounts | None = None) -> Weights:
    """The weights a scheme gives to the numbers of annotations that occur in a tally.

    ``found`` is given where labels agree by a metric: variances then follow from it.

    >>> tally = Tally.from_items([{"a": 2}, {"a": 2, "b": 1}, {"a": 1, "b": 3}])
    >>> {n: str(k) for n, k in weigh("edge", tally).by_n.items()}
    {2: '1', 3: '3', 4: '6'}
    >>> weigh("egde", tally)
    Traceback (most recent call last):
    spagree.errors.UsageError: unknown weighting scheme 'egde'; did you mean 'edge'? Known: flat, annotations, \
annotations_m1, edge, inv_var, inv_var_class, adaptive
    """
    return weigh_at([n for n in tally.items_by_n if n > 1], scheme, tally, found)


def weigh_at(counts: list[int], scheme: str | CustomWeights, tally: Tally, found: LabelCounts | None = None) -> Weights:
    """The same for numbers of annotations that need not occur, such as one less."""
    if not isinstance(scheme, str):
        return Weights(CUSTOM, _custom(scheme, counts))
    check_scheme(scheme)
    if found is not None and scheme in _BY_METRIC:
        return Weights(scheme, {n: Fraction(k) for n, k in _BY_METRIC[scheme](found, tally, counts).items()})
    return _SCHEMES[scheme](tally, counts)


def check_scheme(scheme: str | CustomWeights) -> None:
    """Refuse a misspelt name before any work is done."""
    if isinstance(scheme, str) and scheme not in _SCHEMES:
        raise unknown_name("weighting scheme", scheme, SCHEMES)


def family(n: int, a: float, b: float) -> float:
    """k(n; a, b) = C(n,2) / (1 + 2(n−2)a + C(n−2,2)b), docs/mathematics.md §4.

    >>> [family(n, 0.25, 0) for n in (2, 3, 4)] == [1, 2, 3]
    True
    """
    return comb(n, 2) / (1 + 2 * (n - 2) * a + comb(n - 2, 2) * b)


def _simple(scheme: str, weight: Callable[[int], int]) -> Callable[[Tally, list[int]], Weights]:
    return lambda _, counts: Weights(scheme, {n: Fraction(weight(n)) for n in counts})


def _edges(counts: list[int]) -> ByN:
    return {n: Fraction(comb(n, 2)) for n in counts}


def _inv_var(tally: Tally, counts: list[int]) -> Weights:
    """1/variance when all C classes are equally likely: exactly proportional to ``edge``."""
    classes = len(tally.pairable_labels)
    if classes < 2:
        return Weights("inv_var", _edges(counts), fallback=_one_class(classes))
    zeta2 = Fraction(classes - 1, classes**2)
    return Weights("inv_var", {n: edges / zeta2 for n, edges in _edges(counts).items()})


def _inv_var_class(tally: Tally, counts: list[int]) -> Weights:
    """1/variance under the observed class distribution of the pairable annotations."""
    classes = len(tally.pairable_labels)
    if classes < 2:
        return Weights("inv_var_class", _edges(counts), fallback=_one_class(classes))
    zeta1, zeta2 = zetas(tally.pairable_labels.values())
    exact = {n: edges / (2 * (n - 2) * zeta1 + zeta2) for n, edges in _edges(counts).items()}
    # Rounded once: the exact rationals have a hundred digits, and no data deserves them.
    return Weights("inv_var_class", {n: Fraction(k.numerator / k.denominator) for n, k in exact.items()})


def _inverse_variances(found: LabelCounts, shares: Floats, counts: list[int]) -> dict[int, float]:
    """1/variance with ζ1 = Var(E[s(X, Y) | X]) and ζ2 = Var(s(X, Y)) (mathematics §14); edge where nothing varies."""
    matrix = np.eye(len(shares)) if found.similarity is None else found.similarity
    given = matrix @ shares
    mean = float(shares @ given)
    zeta1 = float(shares @ (given - mean) ** 2)
    zeta2 = max(float(shares @ matrix**2 @ shares) - mean**2, 0.0)
    return {n: comb(n, 2) / ((2 * (n - 2) * zeta1 + zeta2) or 1.0) for n in counts}


def _uniform_by_metric(found: LabelCounts, tally: Tally, counts: list[int]) -> dict[int, float]:
    used = np.array([label in tally.pairable_labels for label in found.labels], dtype=np.float64)
    return _inverse_variances(found, used / max(used.sum(), 1.0), counts)


def _class_by_metric(found: LabelCounts, tally: Tally, counts: list[int]) -> dict[int, float]:
    totals = np.array([tally.pairable_labels.get(label, 0) for label in found.labels], dtype=np.float64)
    return _inverse_variances(found, totals / max(totals.sum(), 1.0), counts)


def _adaptive_by_metric(found: LabelCounts, tally: Tally, counts: list[int]) -> dict[int, float]:
    shape = adaptive_shape(tally, found.pairable())
    return {n: family(n, shape.a, shape.b) for n in counts}


_BY_METRIC: dict[str, Callable[[LabelCounts, Tally, list[int]], dict[int, float]]] = {
    "inv_var": _uniform_by_metric,
    "inv_var_class": _class_by_metric,
    "adaptive": _adaptive_by_metric,
}


def _adaptive(tally: Tally, counts: list[int]) -> Weights:
    """1/variance with the shape estimated from the items themselves (docs/mathematics.md §7)."""
    shape = adaptive_shape(tally)
    return Weights("adaptive", {n: Fraction(family(n, shape.a, shape.b)) for n in counts})


def _custom(given: CustomWeights, counts: list[int]) -> ByN:
    """The user's own weights; each must be a positive number, or items would vanish unseen."""
    missing = [n for n in counts if isinstance(given, Mapping) and n not in given]
    if missing:
        listed = ", ".join(map(str, missing[:10]))
        raise UsageError(f"custom weights: none given for items with {listed} annotations; give one for each n")
    weights = {n: given[n] if isinstance(given, Mapping) else given(n) for n in counts}
    for n, weight in weights.items():
        if not isinstance(weight, int | float | Fraction | np.integer) or not 0 < weight < inf:
            raise UsageError(f"custom weights: {weight!r} for n = {n}; a weight is a positive number")
    return {n: Fraction(weight) for n, weight in weights.items()}


def _one_class(classes: int) -> str:
    found = "all annotations carry one label" if classes else "there is no label"
    return f"{found}, so the variance is 0 and its inverse undefined; edge, its limit, is used"


_SCHEMES: dict[str, Callable[[Tally, list[int]], Weights]] = {
    "flat": _simple("flat", lambda _: 1),
    "annotations": _simple("annotations", lambda n: n),
    "annotations_m1": _simple("annotations_m1", lambda n: n - 1),
    "edge": _simple("edge", lambda n: comb(n, 2)),
    "inv_var": _inv_var,
    "inv_var_class": _inv_var_class,
    "adaptive": _adaptive,
}
SCHEMES = tuple(_SCHEMES)
