"""Breakdowns by brute force, in exact rationals: every pair of annotations is looked at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
from hypothesis import strategies as st

Row = tuple[str, str, str]
Rows = list[Row]

THREE_ITEMS: Rows = [
    ("q1", "ann", "yes"), ("q1", "bob", "yes"), ("q1", "cyd", "no"), ("q2", "ann", "no"), ("q2", "bob", "no"),
    ("q3", "ann", "no"), ("q3", "bob", "yes"),
]  # fmt: skip


def close(exact: Fraction | float | None, tolerance: float = 1e-14) -> object:
    """What a float is compared with that should be the exact value; None where there is none."""
    return None if exact is None else pytest.approx(float(exact), abs=tolerance)


def rows_of(items: int = 6, annotators: int = 5, labels: str = "xyz") -> st.SearchStrategy[Rows]:
    """Any subset of items × annotators, each with a label."""
    label = st.sampled_from([*labels, None])
    cells = st.lists(label, min_size=items * annotators, max_size=items * annotators)

    def table(found: list[str | None]) -> Rows:
        places = ((f"q{i}", f"a{j}") for i in range(items) for j in range(annotators))
        return [(item, who, said) for (item, who), said in zip(places, found, strict=True) if said is not None]

    return cells.map(table).filter(bool)


def by_item(rows: Iterable[Row]) -> dict[str, list[tuple[str, str]]]:
    found: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for item, who, said in rows:
        found[item].append((who, said))
    return dict(found)


def pairs_of(rows: Iterable[Row]) -> list[tuple[str, tuple[str, str], tuple[str, str], Fraction]]:
    """Every ordered pair of annotations of an item, with 1/(n − 1)."""
    return [
        (item, one, other, Fraction(1, len(said) - 1))
        for item, said in by_item(rows).items()
        for one, other in permutations(said, 2)
    ]


def mean(terms: Iterable[tuple[Fraction, Any]]) -> Fraction | None:
    """Σ weight·value / Σ weight."""
    found = list(terms)
    total = sum((weight for weight, _ in found), Fraction())
    return sum((weight * value for weight, value in found), Fraction()) / total if total else None


def class_agreement(rows: Rows, label: str) -> Fraction | None:
    return mean((w, other[1] == label) for _, one, other, w in pairs_of(rows) if one[1] == label)


def annotator_agreement(rows: Rows, who: str) -> Fraction | None:
    return mean((w, one[1] == other[1]) for _, one, other, w in pairs_of(rows) if one[0] == who)


def spa(rows: Rows, weight: Callable[[int], Fraction]) -> Fraction | None:
    said = [found for found in by_item(rows).values() if len(found) > 1]
    return mean((weight(len(found)), item_agreement(found)) for found in said)


def item_agreement(said: list[tuple[str, str]]) -> Fraction:
    pairs = [one[1] == other[1] for one, other in permutations(said, 2)]
    return Fraction(sum(pairs), len(pairs))


def without(rows: Rows, who: str) -> Rows:
    return [row for row in rows if row[1] != who]


def shared(rows: Rows, one: str, other: str) -> list[tuple[str, str]]:
    """What two annotators said about the items both annotated."""
    said = [dict(found) for found in by_item(rows).values()]
    return [(found[one], found[other]) for found in said if one in found and other in found]


def chance_corrected(said: list[tuple[str, str]], expected: Fraction) -> Fraction | None:
    observed = Fraction(sum(one == other for one, other in said), len(said))
    return None if expected == 1 else (observed - expected) / (1 - expected)


def cohen(said: list[tuple[str, str]]) -> Fraction | None:
    ones, others = [one for one, _ in said], [other for _, other in said]
    agree = sum(one == other for one in ones for other in others)
    return chance_corrected(said, Fraction(agree, len(said) ** 2))


def scott(said: list[tuple[str, str]]) -> Fraction | None:
    both = [label for pair in said for label in pair]
    agree = sum(one == other for one in both for other in both)
    return chance_corrected(said, Fraction(agree, len(both) ** 2))
