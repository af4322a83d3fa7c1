"""What needs no data: weights by number of annotations (docs/mathematics.md §4, §5), and where SPA is unbiased.

SPA is exactly unbiased for weights that depend on n only, when annotations are removed at random from a
balanced design. It is biased for unbalanced full data and, except for ``flat``, given the numbers of
annotations that happened to remain; for weights estimated from the same labels it is not quite unbiased. All
of this is found by enumeration: every way to remove annotations from a small full data set.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import comb, log, prod
from typing import Any, TypeVar

import numpy as np

from spagree.counts.tally import Cell, Tally
from spagree.estimate.weights import REGISTRY, weigh, zetas

ANNOTATIONS = range(2, 11)
CLASSES = range(2, 8)
SAMPLED_CLASSES = range(2, 11)
CURVES_EACH, POINTS_EACH = 10, 250
LOGITS = (-2.0, 4.0)

Row = dict[str, Any]
Number = TypeVar("Number", Fraction, float)

SIMPLE = [name for name, scheme in REGISTRY.items() if not scheme.needs_classes]


def normalised(weights: Mapping[int, Number]) -> dict[int, Number]:
    """The largest weight becomes 1."""
    largest = max(weights.values())
    return {n: weight / largest for n, weight in weights.items()}


def inverse_variance(distribution: Sequence[Fraction | int]) -> dict[int, Fraction]:
    """1/Var(n), normalised, in exact rationals: C(n,2)/(2(n−2)ζ1 + ζ2)."""
    zeta1, zeta2 = zetas(distribution)
    return normalised({n: comb(n, 2) / (2 * (n - 2) * zeta1 + zeta2) for n in ANNOTATIONS})


def weight_curves() -> list[Row]:
    """Normalised weights of the simple schemes and of ``inv_var`` for 2 to 7 classes, and their deviations.

    ``deviation`` is the difference from the mean over the numbers of classes, computed twice: exactly, which
    gives 0, and with the paper's own sums in floating point.
    """
    rows: list[Row] = [
        {"curve": scheme, "classes": None, "annotations": n, "weight": float(weight)}
        for scheme in SIMPLE
        for n, weight in normalised(REGISTRY[scheme].weigh(Tally(), list(ANNOTATIONS), None)).items()
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
    """The variance for equally likely classes, summed as in the paper's appendix, in floating point."""
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
    """Number of classes, entropy (in nats) and shape of a class distribution."""
    zeta1, zeta2 = zetas(p)
    return {"classes": len(p), "entropy": -sum(x * log(x) for x in p), "shape": float(zeta1 / zeta2)}


BALANCED = ("aaaa", "aabb", "abcc")
UNBALANCED = ("aaaaaa", "ab", "bc", "cc")
Kept = tuple[str, ...]
"""The labels each item kept, sorted."""


def agreement(labels: str) -> Fraction:
    """P of one item."""
    n, pairs, _ = Cell.of(Counter(labels).values())
    return Fraction(pairs, n * (n - 1))


def full_agreement(full: Sequence[str]) -> Fraction:
    """What SPA estimates: the mean agreement of the items of the full data."""
    return sum((agreement(labels) for labels in full), Fraction()) / len(full)


@cache
def spa(kept: Kept, scheme: str) -> Fraction:
    """SPA of what was kept, with spagree's own weights, as an exact fraction."""
    items = [labels for labels in kept if len(labels) > 1]
    weights = weigh(scheme, Tally.from_items(Counter(labels) for labels in kept)).by_n
    above = sum((weights[len(labels)] * agreement(labels) for labels in items), Fraction())
    return above / sum((weights[len(labels)] for labels in items), Fraction())


def ways(full: Sequence[str]) -> Counter[Kept]:
    """Every possible remainder of the full data with at least one pair, and in how many ways it arises."""
    parts = [
        Counter("".join(kept) for size in range(len(labels) + 1) for kept in combinations(labels, size))
        for labels in full
    ]
    counts: Counter[Kept] = Counter()
    for choice in product(*(part.items() for part in parts)):
        kept = tuple(labels for labels, _ in choice)
        if max(map(len, kept)) > 1:
            counts[kept] += prod(size for _, size in choice)
    return counts


def expectation(remainders: Counter[Kept], scheme: str) -> Fraction:
    """Mean SPA over all ways, each equally likely."""
    total = sum(number * spa(tuple(sorted(kept)), scheme) for kept, number in remainders.items())
    return Fraction(total) / remainders.total()


def biases(full: Sequence[str], design: str, given: Sequence[tuple[int, ...]] = ()) -> Iterator[Row]:
    """Bias of every scheme for every number of removed annotations, or given how many each item kept."""
    truth, whole = full_agreement(full), sum(map(len, full))
    remainders: dict[tuple[int, ...], Counter[Kept]] = defaultdict(Counter)
    for kept, number in ways(full).items():
        sizes = tuple(map(len, kept))
        remainders[sizes if given else (sum(sizes),)][kept] = number
    for left in given or [(size,) for size in range(2, whole + 1)]:
        for scheme in REGISTRY:
            bias = expectation(remainders[left], scheme) - truth
            yield {
                "design": design,
                "removed": whole - sum(left),
                "kept": ", ".join(map(str, left)) if given else None,
                "ways": remainders[left].total(),
                "scheme": scheme,
                "bias": float(bias),
                "exactly_zero": bias == 0,
            }


def unbiasedness() -> list[Row]:
    """All three situations: balanced, unbalanced, and balanced given n."""
    given = [(4, 4, 2), (4, 2, 4), (2, 4, 4), (4, 3, 2), (2, 3, 4)]
    return [*biases(BALANCED, "balanced"), *biases(UNBALANCED, "unbalanced"), *biases(BALANCED, "given n", given)]
