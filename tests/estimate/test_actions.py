"""What to do next: planted findings come first, nobody is named without one, and every figure is a plain count."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

import planted
import spagree
from spagree.errors import known
from spagree.estimate.actions import Step

SEEDS = range(8)  # the study with 200 of each: docs/studies/steps.md


def steps_of(source: Any, **options: Any) -> tuple[Step, ...]:
    return known(spagree.measure(source, **options).breakdowns(["steps"]).steps)


def codes_of(source: Any, **options: Any) -> list[str]:
    return [step.code for step in steps_of(source, **options)]


@pytest.mark.parametrize("code", planted.PLANTED)
def test_what_was_planted_is_the_first_step(code: str) -> None:
    firsts = [steps_of(planted.PLANTED[code](seed))[0] for seed in SEEDS]
    assert [step.code for step in firsts].count(code) >= len(SEEDS) - 1
    who = {"annotators": {"p3"}, "one_label": {"p5", "p6"}, "copies": {"p0", "p1"}, "classes": {"a", "b"}}
    assert code not in who or set(firsts[0].names) == who[code]


def test_nobody_is_named_where_nobody_is_odd() -> None:
    people = {"annotators", "one_label", "copies"}
    named = [seed for seed in range(40) if people & set(codes_of(planted.nothing(seed)))]
    assert len(named) <= 2


def pairs_of(rows: planted.Rows) -> list[tuple[str, str, bool, Fraction]]:
    """Every pair of annotations of one item: who, whether they agree, and the weight of the default scheme."""
    items: dict[str, list[tuple[str, str]]] = {}
    for item, who, label, *_ in rows:
        items.setdefault(item, []).append((who, label))
    found = []
    for given in items.values():
        n = len(given)
        for (one, first), (other, second) in combinations(given, 2):
            found.append((one, other, first == second, Fraction(n - 1) * Fraction(2, n * (n - 1))))
    return found


def test_the_shares_of_people_are_counts_of_pairs() -> None:
    rows = planted.odd(1)
    (step,) = (step for step in steps_of(rows) if step.code == "annotators")
    apart = [(set(pair[:2]), pair[3]) for pair in pairs_of(rows) if not pair[2]]
    everything = [(set(pair[:2]), pair[3]) for pair in pairs_of(rows)]
    for name, counted in (("share", apart), ("of_pairs", everything)):
        theirs = sum(weight for who, weight in counted if who & set(step.names))
        assert step.figures[name] == pytest.approx(float(theirs / sum(weight for _, weight in counted)))


@pytest.mark.parametrize("weights", ["flat", "annotations_m1", "edge"])
def test_the_number_without_people_is_the_number_measured_without_them(weights: str) -> None:
    rows = planted.one_label(3)
    step = steps_of(rows, weights=weights)[0]
    without = spagree.measure(rows, weights=weights, exclude_annotator=list(step.names))
    assert step.code == "one_label" and step.figures["spa_without"] == pytest.approx(without.spa.value)
    assert step.figures["made"] == pytest.approx(1 - without.data.annotations / len(rows))


def test_somebody_whose_items_all_deserve_one_label_is_not_named() -> None:
    rows = [(f"q{item}", who, "yes") for item in range(60) for who in ("ann", "bob", "cyd")]
    rows += [(f"r{item}", who, "no" if item % 2 else "yes") for item in range(60) for who in ("bob", "cyd", "dot")]
    rows += [(f"s{item}", who, label) for item in range(9) for who, label in (("bob", "yes"), ("cyd", "no"))]
    assert "one_label" not in codes_of(rows)


def test_two_classes_leave_no_pair_of_classes_to_explain() -> None:
    rows = [(f"q{item}", who, "yes" if (item * 7 + person) % 3 else "no") for item in range(60)
            for person, who in enumerate(("ann", "bob", "cyd", "dot"))]  # fmt: skip
    assert "classes" not in codes_of(rows)


def test_codes_of_names_are_no_scale_even_if_some_neighbours_are_confused() -> None:
    rows = planted.confused(2)
    numbers = [(item, who, str("abcd".index(label))) for item, who, label in rows]
    assert "scale" not in codes_of(numbers)


def test_what_makes_every_figure_wrong_comes_first() -> None:
    singles = [(f"q{item}", who, "x") for item, who in enumerate("abcabc")]
    assert codes_of(singles) == ["item_column"]
    assert codes_of([(item, "ann", "x") for item in range(9)]) == ["second_annotation"]
    teams = [(f"{team}{item}", who, "xy"[item % 2]) for team in ("ab", "cd") for item in range(30) for who in team]
    assert codes_of([*teams, ("ab0", "c9", "x"), ("cd1", "d9", "x")])[0] == "shared_items"
    adaptive = spagree.simulate(items=600, per_item=5, adaptive=True, seed=1).frame
    by_number = next(step for step in steps_of(adaptive) if step.code == "by_number")
    assert by_number.figures["few"] > by_number.figures["many"]


def test_unanimous_data_leave_only_precision_to_improve() -> None:
    rows = [(f"q{item}", who, "xy"[item % 2]) for item in range(200) for who in ("ann", "bob", "cyd", "dot")]
    assert codes_of(rows) == []
    assert codes_of(rows[:16]) == ["more_items"]


def test_without_names_or_items_only_what_can_be_known_is_said() -> None:
    rows = planted.confused(4)
    assert codes_of(spagree.tally(rows))[0] == "classes"
    assert "items" not in codes_of(spagree.tally(planted.nothing(4)))
    nameless = [(item, None, label) for item, _, label in rows]
    assert codes_of(nameless)[0] == "classes"


def test_a_target_inside_the_interval_asks_for_precision() -> None:
    agreement = spagree.measure("example:sparse")
    assert "more_items" not in codes_of("example:sparse") and "more_annotators" not in codes_of("example:sparse")
    steps = known(agreement.summed_up(agreement.spa.value).steps)
    assert {step.code for step in steps} & {"more_items", "more_annotators"}
