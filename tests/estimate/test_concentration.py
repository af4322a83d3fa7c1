"""Whom a figure depends on: people who made half of the annotations, and one who moves SPA alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import spagree
from breakdown_oracle import Rows, spa, without
from spagree.estimate.concentration import _exceptional, concentration
from spagree.tally.tally import Tally


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ([5, 3, 1, 1], (1, 4, 0.5)),
        ([4, 3, 2, 1], (2, 4, 0.7)),
        ([1] * 7, (4, 7, 4 / 7)),
        ([9], (1, 1, 1.0)),
    ],
)
def test_the_fewest_who_made_half(made: list[int], expected: tuple[int, int, float]) -> None:
    people = {f"p{number}": count for number, count in enumerate(made)}
    found = concentration(replace(Tally.from_items([{"x": 2}]), annotators=people))
    assert found is not None
    assert (found.busiest, found.annotators, found.share) == expected


def test_unknown_annotators_have_no_concentration() -> None:
    assert concentration(Tally.from_items([{"x": 2}])) is None
    assert concentration(replace(Tally.from_items([{"x": 2}]), annotators={})) is None


@pytest.mark.parametrize(("size", "critical"), [(4, 1.496), (7, 2.139), (10, 2.482), (20, 3.001)])
def test_grubbs_critical_values(size: int, critical: float) -> None:
    """Two-sided, 1%: the tables of Grubbs and Beck (1972). One value far off, the others alike."""

    def largest(off: float) -> tuple[float, bool]:
        values = np.append(np.linspace(-1, 1, size - 1) if size > 4 else [-0.001, 0.0, 0.001], off)
        squares = (values - values.mean()) ** 2
        return float(np.sqrt(squares.max() / (squares.sum() / (size - 1)))), _exceptional(squares)

    found = [largest(off) for off in np.geomspace(0.01, 30, 400)]
    assert all(named == (distance > critical) for distance, named in found if abs(distance - critical) > 0.002)
    assert {named for _, named in found} == {True, False}


def rows_of(careless: int | None, people: int = 8) -> Rows:
    """Everybody meets everybody; the careless one answers at random."""
    random = np.random.default_rng(5)
    rows: Rows = []
    for item in range(120):
        for who in random.choice(people, 3, replace=False).tolist():
            blind = who == careless or random.random() < 0.1
            rows.append((f"q{item}", f"p{who}", str(random.integers(3)) if blind else str(item % 3)))
    return rows


def decides(rows: Rows, **options: object) -> list[str]:
    found = spagree.measure(rows, **options)
    return [warning.message for warning in found.warnings if warning.code == "one_annotator_decides"]


def test_one_person_who_moves_the_figure_is_named_with_what_would_be_without() -> None:
    rows = rows_of(careless=2)
    (message,) = decides(rows)
    rest = spa(without(rows, "p2"), lambda n: n - 1)
    assert rest is not None
    assert message.startswith("'p2' made ") and f"it would be {float(rest):.3f} instead of" in message


def test_people_alike_move_it_alike() -> None:
    assert decides(rows_of(careless=None)) == []


def test_no_warning_if_nothing_differs_or_annotators_are_few() -> None:
    agreed = [(f"q{item}", f"p{who}", "x") for item in range(12) for who in range(5)]
    assert decides(agreed) == []
    alone = [(f"q{item}", f"p{who}", "x") for item in range(4) for who in range(3)] + [
        ("q9", "p3", "x"),
        ("q8", "p4", "x"),
    ]
    assert decides(alone) == []


def test_own_weights_without_an_answer_for_one_annotation_less_say_nothing() -> None:
    rows = rows_of(careless=2)
    assert decides(rows, weights={3: 1.0}) == []
    assert len(decides(rows, weights={2: 1.0, 3: 2.0})) == 1
