"""The shape of the variance of an item's agreement, estimated from the items (MATH §5).

The paper's inverse variance assumes that all items have the same class distribution. Items
differ, so the right variance holds three numbers: θ, the probability that two annotations of an
item agree; t3, that three agree; m2, that two disjoint pairs both agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import comb, fsum

from spagree.estimate.profile import exact_mean, profile
from spagree.tally.tally import Tally

# Shrink towards annotations_m1 (a = 1/4, b = 0) with the weight of about a hundred annotations:
# enough to tame a handful of items, soon overruled by data.
PRIOR_WEIGHT = 100.0
PRIOR_A, PRIOR_B = 0.25, 0.0


def adaptive_shape(tally: Tally) -> tuple[float, float]:
    """(a, b) of the family k(n; a, b), with 0 ≤ b ≤ a ≤ 1.

    >>> adaptive_shape(Tally.from_items([{"a": 2}, {"a": 1, "b": 1}]))  # nothing to learn from
    (0.25, 0.0)
    """
    theta = _pair_agreement(tally)
    spread = theta * (1 - theta)
    if not spread:
        return PRIOR_A, PRIOR_B
    a = _shrunk(_triple_terms(tally), theta, spread, PRIOR_A)
    b = _shrunk(_disjoint_terms(tally), theta, spread, PRIOR_B)
    a = min(max(a, 0.0), 1.0)
    return a, min(max(b, 0.0), a)


def _pair_agreement(tally: Tally) -> float:
    found = profile(tally)
    return exact_mean(found, {n: Fraction(n - 1) for n in found.exact}) if found.exact else 0.0


def _shrunk(terms: Iterable[tuple[float, float]], theta: float, spread: float, prior: float) -> float:
    """Pool (weight, probability) over the items and shrink the coordinate towards its prior."""
    pairs = list(terms)
    weight = fsum(w for w, _ in pairs)
    pooled = fsum(w * (probability - theta * theta) for w, probability in pairs) / spread
    return (pooled + PRIOR_WEIGHT * prior) / (weight + PRIOR_WEIGHT)


def _triple_terms(tally: Tally) -> Iterator[tuple[float, float]]:
    """t3 of each item with n ≥ 3, unbiased, weighted by n − 2."""
    for (n, _, triples), items in tally.cells.items():
        if n > 2:
            yield items * (n - 2), triples / (n * (n - 1) * (n - 2))


def _disjoint_terms(tally: Tally) -> Iterator[tuple[float, float]]:
    """m2 of each item with n ≥ 4, unbiased, weighted by n − 3."""
    for (n, pairs, triples), items in tally.cells.items():
        if n > 3:
            yield items * (n - 3), _disjoint_pairs_agree(n, pairs, triples)


def _disjoint_pairs_agree(n: int, pairs: int, triples: int) -> float:
    """(C(n,2)P² − P − 2(n−2)t3) / C(n−2,2), in integers: A² − 2A − 4T over n(n−1)(n−2)(n−3).

    >>> _disjoint_pairs_agree(4, 12, 24), _disjoint_pairs_agree(4, 4, 0)
    (1.0, 0.3333333333333333)
    """
    return (pairs * pairs - 2 * pairs - 4 * triples) / (4 * comb(n, 2) * comb(n - 2, 2))
