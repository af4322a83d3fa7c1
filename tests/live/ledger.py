"""What was sent, and the score that follows: brute force over pairs in exact rationals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

import spagree

WEIGHTS: dict[str, Callable[[int], int]] = {
    "flat": lambda _: 1,
    "annotations": lambda n: n,
    "annotations_m1": lambda n: n - 1,
    "edge": lambda n: n * (n - 1) // 2,
}

Answers = Mapping[tuple[str, str], Hashable]  # item, annotator → answer


def exact(answers: Answers, weight: str) -> Fraction:
    """Σ k P / Σ k over the items with at least two answers."""
    items: defaultdict[str, list[Hashable]] = defaultdict(list)
    for (item, _), answer in answers.items():
        items[item].append(answer)
    above, below = Fraction(), Fraction()
    for found in items.values():
        pairs = [one == other for one, other in combinations(found, 2)]
        if pairs:
            size = WEIGHTS[weight](len(found))
            above += size * Fraction(sum(pairs), len(pairs))
            below += size
    return above / below


def yes_or_no(answers: Mapping[tuple[str, str], frozenset[str]], option: str) -> Answers:
    """Several choices as a question about one of them."""
    return {key: option in chosen for key, chosen in answers.items()}


def check(sent: Answers, measured: Callable[[str], spagree.Agreement]) -> None:
    """The score under every weighting is the nearest float to the exact one, and all answers were counted."""
    for weight in WEIGHTS:
        found = measured(weight)
        truth = exact(sent, weight)
        assert found.spa.value == truth.numerator / truth.denominator, f"{weight}: {found.spa.value}, sent {truth}"
        assert found.data.annotations == len(sent), f"{found.data.annotations} annotations, sent {len(sent)}"
        assert found.data.annotators == len({annotator for _, annotator in sent})
        assert found.data.items == len({item for item, _ in sent})


def exact_marks(marked: Mapping[tuple[str, str], Collection[Hashable]], weight: str) -> Fraction:
    """Σ k P / Σ k M over the items that two or more saw: P of pairs of people who made a mark, M of people."""
    items: defaultdict[str, list[Collection[Hashable]]] = defaultdict(list)
    for (item, _), marks in marked.items():
        items[item].append(marks)
    above, below = Fraction(), Fraction()
    for found in (found for found in items.values() if len(found) > 1):
        size, n = WEIGHTS[weight](len(found)), len(found)
        shared = sum(len(set(one) & set(other)) for one, other in combinations(found, 2))
        above += size * Fraction(2 * shared, n * (n - 1))
        below += size * Fraction(sum(len(set(marks)) for marks in found), n)
    return above / below


def check_marks(marked: Mapping[tuple[str, str], Collection[Hashable]], measured: Callable[[str], Any]) -> None:
    """The agreement on marks under every weighting, and who saw an item and marked nothing."""
    for weight in WEIGHTS:
        found = measured(weight)
        assert found.exact.value == pytest.approx(float(exact_marks(marked, weight)), rel=1e-12), weight
        assert found.data.annotations == len(marked) and found.data.empty == sum(not marks for marks in marked.values())
        assert found.data.marks == sum(len(set(marks)) for marks in marked.values())
