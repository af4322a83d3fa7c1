"""Weights by number of annotations: the paper's two figures of its schemes (docs/mathematics.md §4, §5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import comb, log
from typing import Any, TypeVar

import numpy as np

from spagree.estimate.weights import zetas

ANNOTATIONS = range(2, 11)
CLASSES = range(2, 8)
SAMPLED_CLASSES = range(2, 11)
CURVES_EACH, POINTS_EACH = 10, 250
LOGITS = (-2.0, 4.0)

Row = dict[str, Any]
Number = TypeVar("Number", Fraction, float)

SIMPLE: dict[str, Callable[[int], int]] = {
    "flat": lambda _: 1,
    "annotations": lambda n: n,
    "annotations_m1": lambda n: n - 1,
    "edge": lambda n: comb(n, 2),
}


def normalised(weights: Mapping[int, Number]) -> dict[int, Number]:
    """The largest weight becomes 1.

    >>> normalised({2: Fraction(1), 3: Fraction(4)})
    {2: Fraction(1, 4), 3: Fraction(1, 1)}
    """
    largest = max(weights.values())
    return {n: weight / largest for n, weight in weights.items()}


def inverse_variance(distribution: Sequence[Fraction | int]) -> dict[int, Fraction]:
    """1/Var(n), normalised, in exact rationals: C(n,2)/(2(n−2)ζ1 + ζ2).

    >>> uniform = [inverse_variance([1] * classes) for classes in range(2, 8)]
    >>> all(each == normalised({n: Fraction(comb(n, 2)) for n in ANNOTATIONS}) for each in uniform)
    True
    """
    zeta1, zeta2 = zetas(distribution)
    return normalised({n: comb(n, 2) / (2 * (n - 2) * zeta1 + zeta2) for n in ANNOTATIONS})


def weight_curves() -> list[Row]:
    """Normalised weights of the simple schemes and of ``inv_var`` for 2 to 7 classes, and their deviations.

    ``deviation`` is the difference from the mean over the numbers of classes, computed twice: exactly, which gives 0,
    and with the paper's own sums in floating point.
    """
    rows: list[Row] = [
        {"curve": scheme, "classes": None, "annotations": n, "weight": float(weight)}
        for scheme, k in SIMPLE.items()
        for n, weight in normalised({n: Fraction(k(n)) for n in ANNOTATIONS}).items()
    ]
    exact = {classes: inverse_variance([1] * classes) for classes in CLASSES}
    summed = {classes: normalised({n: 1 / paper_variance(n, classes) for n in ANNOTATIONS}) for classes in CLASSES}
    for n in ANNOTATIONS:
        mean = sum(each[n] for each in exact.values()) / len(exact)
        middle = sum(each[n] for each in summed.values()) / len(summed)
        for classes in CLASSES:
            row = {"curve": "inv_var", "classes": classes, "annotations": n, "weight": float(exact[classes][n])}
            apart = {"deviation": float(exact[classes][n] - mean), "deviation_of_sums": summed[classes][n] - middle}
            rows.append({**row, **apart})
    return rows


def paper_variance(n: int, classes: int) -> float:
    """The variance for equally likely classes, summed as in the paper's appendix, in floating point.

    >>> round(paper_variance(7, 2) * 84, 12)
    1.0
    """
    cross = sum(
        comb(n, n0) * comb(n - n0, n1) * classes * (classes - 1) * float(classes - 2) ** (n - n0 - n1)
        * (2 if n0 != n1 else 1) * n0 * n1 * (n0 - 1) * (n1 - 1)
        for n0 in range(n + 1)
        for n1 in range(min(n0, n - n0) + 1)
    )  # fmt: skip
    same = sum(comb(n, v) * classes * float(classes - 1) ** (n - v) * v**2 * (v - 1) ** 2 for v in range(n + 1))
    return float((cross + same) / (4 * comb(n, 2) ** 2 * float(classes) ** n) - 1 / classes**2)


def class_distributions(each: int, seed: int) -> Iterator[list[float]]:
    """Softmax of logits uniform in (−2, 4), ``each`` times for every C from 2 to 10, as in the paper."""
    rng = np.random.default_rng([seed, each])
    for classes in SAMPLED_CLASSES:
        for _ in range(each):
            p = np.exp(rng.uniform(*LOGITS, size=classes))
            yield (p / p.sum()).tolist()


def class_curves(seed: int) -> list[Row]:
    """``inv_var_class`` weights of sampled class distributions, with their entropy."""
    return [
        {**about(p), "distribution": number, "annotations": n, "weight": float(weight)}
        for number, p in enumerate(class_distributions(CURVES_EACH, seed))
        for n, weight in inverse_variance([Fraction(x) for x in p]).items()
    ]


def class_points(seed: int) -> list[Row]:
    """The area under each curve, against entropy and against the shape ζ1/ζ2."""
    return [
        {**about(p), "area": float(sum(inverse_variance([Fraction(x) for x in p]).values()))}
        for p in class_distributions(POINTS_EACH, seed)
    ]


def about(p: Sequence[float]) -> Row:
    """Number of classes, entropy (in nats) and shape of a class distribution.

    >>> about([0.5, 0.5])["shape"], round(about([0.5, 0.5])["entropy"], 3)
    (0.0, 0.693)
    """
    zeta1, zeta2 = zetas(p)
    return {"classes": len(p), "entropy": -sum(x * log(x) for x in p), "shape": float(zeta1 / zeta2)}
