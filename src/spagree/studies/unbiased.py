"""The unbiasedness claims, exact by enumeration: every way to remove annotations from a small full data set.

SPA is exactly unbiased for weights that depend on n only, when annotations are removed at random from a balanced
design. It is biased for unbalanced full data and, except for ``flat``, given the numbers of annotations that happened
to remain; for weights estimated from the same labels it is not quite unbiased.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import prod
from typing import Any

from spagree.estimate.weights import REGISTRY, weigh
from spagree.tally.tally import Cell, Tally

BALANCED = ("aaaa", "aabb", "abcc")
UNBALANCED = ("aaaaaa", "ab", "bc", "cc")
Kept = tuple[str, ...]
"""The labels each item kept, sorted."""


def agreement(labels: str) -> Fraction:
    """P of one item.

    >>> agreement("aab")
    Fraction(1, 3)
    """
    n, pairs, _ = Cell.of(Counter(labels).values())
    return Fraction(pairs, n * (n - 1))


def full_agreement(full: Sequence[str]) -> Fraction:
    """What SPA estimates: the mean agreement of the items of the full data.

    >>> full_agreement(BALANCED)
    Fraction(1, 2)
    """
    return sum((agreement(labels) for labels in full), Fraction()) / len(full)


@cache
def spa(kept: Kept, scheme: str) -> Fraction:
    """SPA of what was kept, with spagree's own weights, as an exact fraction.

    >>> spa(("aa", "ab"), "flat")
    Fraction(1, 2)
    """
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


def biases(full: Sequence[str], design: str) -> Iterator[dict[str, Any]]:
    """Bias of every scheme for every number of removed annotations (as long as a pair can remain)."""
    everything = ways(full)
    whole = sum(map(len, full))
    for left in range(2, whole + 1):
        remainders = Counter({kept: number for kept, number in everything.items() if sum(map(len, kept)) == left})
        yield from _rows(remainders, full, design, removed=whole - left, kept_numbers=None)


def conditional_biases(full: Sequence[str], numbers: Sequence[Sequence[int]]) -> Iterator[dict[str, Any]]:
    """Bias given how many annotations each item kept."""
    everything = ways(full)
    for wanted in numbers:
        remainders = Counter({kept: number for kept, number in everything.items() if [*map(len, kept)] == [*wanted]})
        shown = ", ".join(map(str, wanted))
        yield from _rows(remainders, full, "given n", removed=sum(map(len, full)) - sum(wanted), kept_numbers=shown)


def _rows(
    remainders: Counter[Kept], full: Sequence[str], design: str, removed: int, kept_numbers: str | None
) -> Iterator[dict[str, Any]]:
    truth = full_agreement(full)
    for scheme in REGISTRY:
        bias = expectation(remainders, scheme) - truth
        yield {
            "design": design,
            "removed": removed,
            "kept": kept_numbers,
            "ways": remainders.total(),
            "scheme": scheme,
            "bias": float(bias),
            "exactly_zero": bias == 0,
        }


def unbiasedness() -> list[dict[str, Any]]:
    """All three situations: balanced, unbalanced, and balanced given n."""
    numbers = [(4, 4, 2), (4, 2, 4), (2, 4, 4), (4, 3, 2), (2, 3, 4)]
    return [*biases(BALANCED, "balanced"), *biases(UNBALANCED, "unbalanced"), *conditional_biases(BALANCED, numbers)]
