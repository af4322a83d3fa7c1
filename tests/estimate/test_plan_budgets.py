"""Budgets, decisions and dates: against the plan they invert, and against projects simulated by other means."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

import spagree
from oracle import exactly
from spagree.errors import UsageError
from spagree.estimate.plan import (
    NOT_DECIDABLE,
    PRIOR_HIGH,
    PRIOR_LOW,
    SAME_AS_REQUIRED,
    TOO_SMALL,
    WIDEST,
    Project,
    allowed_per_item,
    assumed,
    check_share,
    decide,
    pace,
    plan_expected,
    spend,
)
from spagree.estimate.uncertainty import wilson

Triples = list[tuple[int, int, int]]


def project(items: int, n: int, seed: int, spread: float = 1.2) -> Triples:
    """Items with a right answer whose difficulty varies on the logit scale; annotators are interchangeable."""
    random = np.random.default_rng(seed)
    hit = 1 / (1 + np.exp(-random.normal(1.0, spread, items)))
    right = random.random((items, n)) < hit[:, None]
    wrong = random.integers(1, 4, (items, n))
    return [(i, j, 0 if right[i, j] else int(wrong[i, j])) for i in range(items) for j in range(n)]


def as_project(rows: Triples, most: int = 5) -> Project:
    tally = spagree.tally(rows)
    spa = spagree.measure(rows, interval_for="items").spa
    return Project(tally, "annotations_m1", spa, None, allowed_per_item(tally, "annotations_m1", most))


def half(rows: Triples) -> float:
    spa = spagree.measure(rows, interval_for="items").spa
    assert spa.low is not None and spa.high is not None
    return (spa.high - spa.low) / 2


def row(rows: list[dict[str, Any]], route: str, n: int) -> dict[str, Any]:
    return next(each for each in rows if each["route"] == route and each["annotations_per_item"] == n)


def test_a_budget_is_the_inverse_of_a_half_width() -> None:
    now = as_project(project(200, 4, 1))
    for route in ("fresh", "new_items"):
        for n in (2, 3, 5):
            planned = next(
                each for each in now.rows(0.02) if (each["route"], each["annotations_per_item"]) == (route, n)
            )
            bought = row(spend(now, planned["more_annotations"]), route, n)
            assert bought["items"] == planned["items"] and bought["half_width"] <= 0.02
            assert row(spend(now, planned["more_annotations"] - n), route, n)["half_width"] > 0.02


@pytest.mark.parametrize("n", [2, 3, 5])
def test_what_a_budget_promises_turns_out(n: int) -> None:
    rows = spend(as_project(project(2_000, 5, 2)), 6_000)
    promised = row(rows, "fresh", n)
    realised = [half(project(6_000 // n, n, seed)) for seed in range(10, 16)]
    assert np.mean(realised) == pytest.approx(promised["half_width"], rel=0.08)
    assert promised["half_width_low"] <= promised["half_width"] <= promised["half_width_high"]


def test_the_best_row_of_each_route_is_the_narrowest() -> None:
    rows = spend(as_project(project(100, 3, 3)), 500)
    for route in ("fresh", "new_items", "same_items"):
        mine = [each for each in rows if each["route"] == route]
        assert [each["best"] for each in mine].count(True) == 1
        assert min(mine, key=lambda each: each["half_width"])["best"]
    assert row(rows, "same_items", 5)["more_annotations"] == 200


def test_items_that_have_enough_annotations_are_not_brought_to_more() -> None:
    rows = project(40, 2, 3) + [(40 + item, *rest) for item, *rest in project(60, 3, 5)]
    for budget in (500, 40):
        brought = row(spend(as_project(rows), budget), "same_items", 3)
        assert (brought["items"], brought["more_annotations"]) == (40, 40)
    assert not any(each["route"] == "same_items" for each in spend(as_project(rows), 39))


def test_one_annotation_more_hardly_changes_the_interval() -> None:
    """Whatever a model of the items expects, the plan starts from the width that was measured."""
    rows = project(150, 3, 4, spread=3.0)[:-1]
    brought = row(spend(as_project(rows), 1), "same_items", 3)
    assert brought["half_width"] == pytest.approx(half(rows), rel=0.01)


def test_a_budget_too_small_for_a_pair() -> None:
    """Not even as a row of no items, which would look like a plan."""
    for route in ("fresh", "new_items"):
        nothing = row(spend(as_project(project(30, 3, 4)), 1), route, 2)
        assert (nothing["half_width"], nothing["undefined"], nothing["best"]) == (None, TOO_SMALL, False)


def test_a_budget_that_pays_for_two_but_not_for_three() -> None:
    rows = spend(as_project(project(30, 3, 4)), 2)
    assert {(each["route"], each["annotations_per_item"]) for each in rows} == {("fresh", 2), ("new_items", 2)}
    assert all(each["undefined"] is None and each["half_width_high"] <= WIDEST for each in rows)


def test_items_with_one_annotation_each_have_only_a_fresh_start() -> None:
    tally = spagree.tally([(i, 0, 0) for i in range(9)])
    start = assumed(0.6, 0.95, [2, 3])
    routes = {each["route"] for each in spend(Project(tally, "annotations_m1", start.spa, None, [2, 3]), 30)}
    assert routes == {"fresh", "same_items"}


def test_assumptions_alone() -> None:
    start = assumed(0.7, 0.95, [2, 3])
    two, three = row(spend(start, 600), "fresh", 2), row(spend(start, 600), "fresh", 3)
    low, high = wilson(0.7, (0.7 * 0.3 / 300) ** 0.5, 300, 0.95)
    assert two["half_width"] == pytest.approx((high - low) / 2) and not two["assumed"]
    assert three["assumed"] and three["half_width_low"] == pytest.approx(PRIOR_LOW * three["half_width"])
    assert three["half_width_high"] == pytest.approx(PRIOR_HIGH * three["half_width"])


@pytest.mark.parametrize("require", [0.55, 0.75])
def test_a_decision_needs_just_so_many_items(require: float) -> None:
    start = assumed(0.65, 0.95, [2])
    (found,) = decide(start, require)
    assert found["will_pass"] == (require < 0.65) and found["best"]

    def is_decided(items: int) -> bool:
        low, high = wilson(0.65, (0.65 * 0.35 / items) ** 0.5, items, 0.95)
        return low >= require or high < require

    assert is_decided(found["items"]) and not is_decided(found["items"] - 1)


def test_decisions_already_made_far_away_or_impossible() -> None:
    now = as_project(project(3_000, 4, 5))
    assert decide(now, 0.05)[0]["more_annotations"] == 0
    assert decide(assumed(0.7, 0.95, [2]), 0.7)[0]["undefined"] == SAME_AS_REQUIRED
    assert decide(assumed(0.7, 0.95, [2]), 0.7 + 1e-7)[0]["undefined"] == NOT_DECIDABLE


def test_invalid_budgets_and_agreements_are_refused() -> None:
    for wrong in (0, -1, 1.5):
        with pytest.raises(
            spagree.UsageError,
            match=exactly(f"budget {wrong!r}: how many more annotations can be made, a whole number from 1 on"),
        ):
            plan_expected(0.7, budget=wrong)
    between = "a probability of agreement lies between 0 and 1, for example 0.7"
    for share in (0, 1, 70):
        with pytest.raises(spagree.UsageError, match=exactly(f"require {share}: {between}")):
            plan_expected(0.7, require=share)
        with pytest.raises(spagree.UsageError, match=exactly(f"agreement {share}: {between}")):
            plan_expected(share)


@pytest.mark.parametrize("wrong", [0, 1, 0.0, 1.0, -0.1, "0.7", None])
def test_a_required_agreement_lies_strictly_between_0_and_1(wrong: object) -> None:
    with pytest.raises(
        spagree.UsageError,
        match=exactly(f"require {wrong!r}: a probability of agreement lies between 0 and 1, for example 0.7"),
    ):
        check_share("require", wrong)  # type: ignore[arg-type]


def course(times: list[Any]) -> list[dict[str, Any]]:
    return [{"time": time, "annotations": 10 * place} for place, time in enumerate(times, start=1)]


def test_the_pace_is_that_of_the_later_half() -> None:
    day = 86_400
    start = 1_700_000_000
    slow_then_fast = [start + day * hours / 24 for hours in (0, 240, 480, 492, 504, 516)]
    found = pace(course(slow_then_fast))
    assert found is not None and found.per_day == pytest.approx(20.0)
    assert found.last.tzinfo is UTC
    assert found.done(20) == datetime.fromtimestamp(start + 22.5 * day, UTC)
    assert found.done(10**12) is None


def test_dates_and_milliseconds_are_moments_and_small_numbers_are_not() -> None:
    days = [datetime(2026, 1, each, tzinfo=UTC) for each in (1, 2)]
    for times in (days, [each.replace(tzinfo=None) for each in days], [each.timestamp() * 1000 for each in days]):
        found = pace(course(times))
        assert found is not None and found.per_day == pytest.approx(10.0)
    for times in ([1, 2, 3], days[:1], [days[0], days[0]], ["a", "b"], [True, False], [days[0], *[days[1]] * 4]):
        assert pace(course(times)) is None


def quarter_disagree(items: int) -> Triples:
    """Pairs of which three in four agree."""
    return [(i, j, j if i % 4 == 0 else 0) for i in range(items) for j in range(2)]


@pytest.mark.parametrize("half_width", [0.02, 0.05, 0.08])
def test_an_expected_project_gets_the_half_width_it_was_planned_for(half_width: float) -> None:
    rows = plan_expected(0.75, half_width=half_width)
    assert set(rows["route"]) == {"fresh"} and rows["annotations_per_item"].to_list() == list(range(2, 11))
    items = rows["items"][0]
    assert half(quarter_disagree(items + 4 - items % 4)) <= half_width < half(quarter_disagree(items - items % 4 - 4))
    assert (rows["more_annotations"] == rows["annotations_per_item"] * rows["items"]).all()
    assert rows.filter("best")["more_annotations"].item() == rows["more_annotations"].min()


def test_expectations_take_every_kind_of_plan() -> None:
    assert plan_expected(0.75).equals(plan_expected(0.75, half_width=0.05))
    assert plan_expected(0.75, None, half_width=0.05, most=3)["annotations_per_item"].to_list() == [2, 3]
    narrow, wide = (plan_expected(0.75, half_width=0.05, level=level)["items"][0] for level in (0.9, 0.99))
    assert narrow < plan_expected(0.75, half_width=0.05)["items"][0] < wide
    bought = plan_expected(0.75, budget=400, most=2)
    assert bought.select("items", "more_annotations").rows() == [(200, 400)]
    assert bought["half_width"].item() == pytest.approx(half(quarter_disagree(200)), rel=0.005)
    decided = plan_expected(0.75, require=0.7, most=2)
    assert decided["will_pass"].item() and decided["require"].item() == 0.7


@pytest.mark.parametrize(
    ("agreement", "wanted", "message"),
    [
        (1.5, {}, "agreement 1.5: a probability of agreement lies between 0 and 1, for example 0.7"),
        (
            0.75,
            {"classes": 1},
            "agreement 0.75 with 1 classes: labels picked blindly would agree more often; expect more",
        ),
        (
            0.2,
            {"classes": 4},
            "agreement 0.2 with 4 classes: labels picked blindly would agree more often; expect more",
        ),
        (0.75, {"half_width": 0}, "half_width 0: half the width of an interval, below 0.5; for example 0.02"),
        (0.75, {"half_width": 0.1, "budget": 9}, "half_width and budget: ask for one of them at a time"),
    ],
)
def test_impossible_expectations_are_refused(agreement: float, wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=exactly(message)):
        plan_expected(agreement, **wanted)


def test_two_classes_at_even_odds_can_be_planned() -> None:
    assert plan_expected(0.5, 2).equals(plan_expected(0.5))
