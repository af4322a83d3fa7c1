"""The shape of the variance of an item's agreement, estimated from the items, to plan with (docs/mathematics.md §7).

The paper's inverse variance assumes that all items have the same class distribution. Items differ, so the correct
variance needs three numbers: θ, the probability that two annotations of an item agree; t3, that three agree; m2, that
two disjoint pairs both agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import comb, fsum

from spagree.estimate.label_counts import LabelCounts
from spagree.tally.tally import Tally

# Shrink towards what is usual with the weight of fifty items, regardless of their number of annotations: a calibration
# set of five items that everybody labelled is still five items.
PRIOR_ITEMS = 50.0
Agreeing = tuple[int, int, float, float, float]
"""Items, n, and sums over ordered pairs and triples of an item's annotations: Σs, Σs², Σs·s of pairs sharing one."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How the agreement of an item varies, in units of θ(1 − θ), the variance of one pair of nominal labels.

    >>> Shape(0.0, 0.0).variance(4), Shape(1.0, 1.0).variance(4)  # six independent pairs; six copies of one
    (0.16666666666666666, 1.0)
    """

    a: float
    """Covariance of two pairs that share an annotation: (t3 − θ²)/(θ − θ²)."""
    b: float
    """Covariance of two pairs that share none, the variance between items: (m2 − θ²)/(θ − θ²)."""
    pair: float = 1.0
    """Variance of a pair; below 1 under a metric with partial agreement."""

    def variance(self, n: int) -> float:
        """Var(n)/(θ − θ²); no covariance exceeds the variance of a pair."""
        a, b = min(self.a, self.pair), min(self.b, self.pair)
        return (self.pair + 2 * (n - 2) * a + comb(n - 2, 2) * b) / comb(n, 2)


def usual_shape(theta: float) -> Shape:
    """The shape that is typical of real data with agreement θ (docs/studies/planning.md)."""
    return Shape(0.05 + 0.42 * theta, 0.25 * theta**2)


def item_shape(tally: Tally, theta: float, votes: LabelCounts | None = None) -> Shape:
    """The shape of items with agreement θ, 0 ≤ b ≤ a ≤ 1; ``votes`` holds the votes under a metric.

    >>> item_shape(Tally.from_items([{"a": 2}, {"a": 1, "b": 1}]), 0.5)  # pairs do not show a and b
    Shape(a=0.26, b=0.0625, pair=1.0)
    """
    prior, items = usual_shape(theta), _agreeing(tally, votes)
    theta, by_metric = _pair_agreement(items), bool(votes)
    spread = theta * (1 - theta)
    if not spread:
        return prior
    # t3 of each item with n ≥ 3 and m2 of each with n ≥ 4, unbiased, weighted by 1 − 1/(n − 1) and 1 − 1/(n − 2)
    t3 = [(m * (n - 2) / (n - 1), triples / (n * (n - 1) * (n - 2))) for m, n, _, _, triples in items if n > 2]
    m2 = [(m * (n - 3) / (n - 2), _disjoint_pairs_agree(n, *sums)) for m, n, *sums in items if n > 3]
    pair = _pair_variance(items, theta) / spread if by_metric else 1.0  # the prior is relative to it
    a = min(max(_shrunk(t3, theta, spread, prior.a * pair), 0.0), 1.0)
    b = _shrunk(m2, theta, spread, prior.b * pair)
    return Shape(a, min(max(b, 0.0), a), pair)


def _agreeing(tally: Tally, votes: LabelCounts | None) -> list[Agreeing]:
    """From the cells, or from the votes: ``first`` and ``second`` sum s and s² over an annotation's others."""
    if votes is None:
        return [(items, n, pairs, pairs, triples) for (n, pairs, triples), items in tally.cells.items()]
    votes = votes.pairable()
    matrix = votes.similarity
    first = votes.smoothed(votes.count, matrix) - 1
    second = votes.smoothed(votes.count, None if matrix is None else matrix**2) - 1
    pairs, squares = votes.per_group(votes.count * first), votes.per_group(votes.count * second)
    triples = votes.per_group(votes.count * (first**2 - second))
    columns = (votes.items.astype(int).tolist(), votes.n.astype(int).tolist(), pairs, squares, triples)
    return list(zip(*columns, strict=True))


def _pair_agreement(groups: Iterable[Agreeing]) -> float:
    """θ with the weights of annotations_m1, in exact rationals."""
    pairable = [(items, n, pairs) for items, n, pairs, *_ in groups if n > 1]
    agreeing: dict[int, int | Fraction] = {}  # few distinct n: fractions only at the end
    for items, n, pairs in pairable:
        agreeing[n] = agreeing.get(n, 0) + items * (pairs if isinstance(pairs, int) else Fraction(pairs))
    above = sum((Fraction(pairs) / n for n, pairs in agreeing.items()), Fraction())
    return float(above / sum(items * (n - 1) for items, n, _ in pairable)) if pairable else 0.0


def _pair_variance(groups: Iterable[Agreeing], theta: float) -> float:
    """Var(s) of one pair of annotations, with the weights of annotations_m1."""
    pairable = [(items, n, squares) for items, n, _, squares, _ in groups if n > 1]
    return (
        fsum(items * squares / n for items, n, squares in pairable) / fsum(items * (n - 1) for items, n, _ in pairable)
        - theta * theta
    )


def _shrunk(terms: list[tuple[float, float]], theta: float, spread: float, prior: float) -> float:
    """Pool (weight, probability) over the items and shrink the coordinate towards its prior."""
    weight = fsum(w for w, _ in terms)
    pooled = fsum(w * (probability - theta * theta) for w, probability in terms) / spread
    return (pooled + PRIOR_ITEMS * prior) / (weight + PRIOR_ITEMS)


def _disjoint_pairs_agree(n: int, pairs: float, squares: float, triples: float) -> float:
    """(A² − 2B − 4T) / n(n−1)(n−2)(n−3): all ordered pairs of pairs, less the same pair and those that share one.

    >>> _disjoint_pairs_agree(4, 12, 12, 24), _disjoint_pairs_agree(4, 4, 4, 0)
    (1.0, 0.3333333333333333)
    """
    return (pairs * pairs - 2 * squares - 4 * triples) / (4 * comb(n, 2) * comb(n - 2, 2))
