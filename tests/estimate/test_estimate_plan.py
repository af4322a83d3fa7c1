"""Plans: the variance against full enumeration, and planned projects against simulated ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from math import prod
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import spagree
from examples import examples
from oracle import Labels, exactly, parse, spa, tally_of
from spagree.errors import UsageError
from spagree.estimate.plan import (
    FLOOR,
    NO_SPREAD,
    NOT_DECIDABLE,
    PRIOR_HIGH,
    PRIOR_LOW,
    SAME_AS_REQUIRED,
    TOO_FEW,
    TOO_SMALL,
    WIDEST,
    Project,
    Shape,
    WeightSums,
    allowed_per_item,
    assumed,
    decide,
    item_shape,
    pace,
    plan_expected,
    spend,
)
from spagree.estimate.uncertainty import NOT_PAIRABLE, ONE_ITEM, wilson
from spagree.estimate.weights import SCHEMES

F = Fraction
EVEN, SKEWED, CLEAR = (F(1, 3), F(1, 3), F(1, 3)), (F(3, 4), F(1, 4), F(0)), (F(0), F(0), F(1))
POPULATIONS = [[EVEN], [SKEWED], [EVEN, CLEAR], [EVEN, SKEWED, CLEAR], [SKEWED, SKEWED, (F(0), F(1, 2), F(1, 2))]]
ROUTES = ["fresh", "new_items", "same_items"]

Kinds = list[tuple[Fraction, ...]]
Agree = Callable[[int, int], Fraction]


def equal(one: int, other: int) -> Fraction:
    return F(one == other)


def near(one: int, other: int) -> Fraction:
    return 1 - F(abs(one - other), 2)


def expected(kinds: Kinds, n: int, value: Callable[[tuple[int, ...]], Fraction]) -> Fraction:
    """The mean over all kinds of items, equally common, and all ways to annotate them n times."""
    every = product(range(3), repeat=n)
    return sum((value(said) * sum(prod(p[c] for c in said) for p in kinds) for said in every), F()) / len(kinds)


def agreement(said: tuple[int, ...], agree: Agree) -> Fraction:
    pairs = list(combinations(said, 2))
    return sum((agree(one, other) for one, other in pairs), F()) / len(pairs)


def shape(kinds: Kinds, agree: Agree) -> Shape:
    """θ, and what pairs have in common, straight from their definitions."""
    mean = expected(kinds, 2, lambda x: agree(x[0], x[1]))
    pair = expected(kinds, 2, lambda x: agree(x[0], x[1]) ** 2) - mean**2
    sharing = expected(kinds, 3, lambda x: agree(x[0], x[1]) * agree(x[0], x[2])) - mean**2
    disjoint = expected(kinds, 4, lambda x: agree(x[0], x[1]) * agree(x[2], x[3])) - mean**2
    return Shape(sharing, disjoint, pair)  # type: ignore[arg-type]


@pytest.mark.parametrize("agree", [equal, near])
@pytest.mark.parametrize("kinds", POPULATIONS)
def test_the_variance_of_an_item_is_exact(kinds: Kinds, agree: Agree) -> None:
    mean = expected(kinds, 2, lambda x: agree(x[0], x[1]))
    for n in (2, 3, 4, 5):
        variance = expected(kinds, n, lambda said: agreement(said, agree) ** 2) - mean**2
        assert shape(kinds, agree).variance(n) == variance


@pytest.mark.parametrize("n", [2, 3, 7, 20])
def test_items_that_are_all_alike(n: int) -> None:
    assert float(shape([SKEWED], equal).variance(n)) == pytest.approx(spagree.item_variance(n, SKEWED), abs=1e-15)


def test_pilots_of_pairs_are_planned_with_the_usual_shape() -> None:
    """Two annotations of an item cannot tell how three go together: a = 0.05 + 0.42θ, b = 0.25θ²."""
    pilot = spagree.Tally.from_items([{"a": 2}] * 60 + [{"a": 1, "b": 1}] * 40)
    rows = spagree.measure(pilot).plan(0.02, most=5).filter(route="fresh").rows(named=True)
    assert [row["assumed"] for row in rows] == [False, True, True, True]
    for row in rows:
        variance = 0.6 * 0.4 * Shape(0.05 + 0.42 * 0.6, 0.25 * 0.36).variance(row["annotations_per_item"])
        for items, enough in ((row["items"], True), (row["items"] - 1, False)):
            low, high = wilson(0.6, (variance / items) ** 0.5, items, 0.95)
            assert ((high - low) / 2 <= 0.02) == enough


# Against simulated projects ------------------------------------------------------------------


@cache
def simulated(items: int, per_item: int | tuple[int, int], seed: int, prefix: str = "", **options: Any) -> pl.DataFrame:
    frame = spagree.simulate(items=items, per_item=per_item, annotators=40, seed=seed, **options).frame
    return frame.with_columns(item=pl.lit(prefix) + pl.col("item"))


def half_width(agreement: spagree.Agreement) -> float:
    found = agreement.spa.intervals["items"]
    assert found.low is not None and found.high is not None
    return (found.high - found.low) / 2


def best(plan: pl.DataFrame, route: str) -> dict[str, Any]:
    found = plan.filter(pl.col("route") == route, pl.col("best"))
    assert found.height == 1
    return found.row(0, named=True)


@cache
def planned(heterogeneity: float) -> pl.DataFrame:
    """What a large pilot plans for half a percent either way."""
    return spagree.measure(simulated(40_000, (2, 6), 1, heterogeneity=heterogeneity)).plan(0.005)


@pytest.mark.parametrize("heterogeneity", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_fresh_project_turns_out_as_planned(heterogeneity: float, n: int) -> None:
    row = planned(heterogeneity).filter(route="fresh", annotations_per_item=n).row(0, named=True)
    assert row["annotations"] == row["more_annotations"] == n * row["items"] and not row["assumed"]
    made = spagree.measure(simulated(row["items"], n, 2, heterogeneity=heterogeneity))
    assert half_width(made) == pytest.approx(0.005, rel=0.05)


@pytest.mark.parametrize("weights", ["flat", "annotations_m1", "edge"])
@pytest.mark.parametrize("n", [2, 5])
def test_new_items_bring_the_interval_where_planned(weights: str, n: int) -> None:
    there = simulated(1_200, (3, 5), 3)
    plan = spagree.measure(there, weights=weights).plan(0.012)
    row = plan.filter(route="new_items", annotations_per_item=n).row(0, named=True)
    assert row["annotations"] == there.height + row["more_annotations"]
    assert row["more_annotations"] == n * row["items"]
    together = pl.concat([there, simulated(row["items"], n, 4, prefix="new-")])
    assert half_width(spagree.measure(together, weights=weights)) == pytest.approx(0.012, rel=0.05)
    assert best(plan, "fresh")["more_annotations"] > best(plan, "new_items")["more_annotations"]


def test_the_same_items_annotated_again_as_planned() -> None:
    every = simulated(1_500, 12, 5, heterogeneity=0.3)

    def first(n: int) -> spagree.Agreement:
        return spagree.measure(every, first=n)

    row = best(first(4).plan(0.0105), "same_items")
    n = row["annotations_per_item"]
    assert 6 <= n <= 9 and row["items"] == 1_500
    assert row["more_annotations"] == 1_500 * (n - 4) and row["annotations"] == 1_500 * n
    assert half_width(first(n)) <= 0.0105 * 1.04
    assert half_width(first(n - 1)) > 0.0105


def test_what_the_same_items_cannot_tell() -> None:
    every = simulated(400, 40, 6, heterogeneity=0.8)
    present = spagree.measure(every, first=5)
    row = present.plan(0.011).filter(route="same_items").row(0, named=True)
    assert row["undefined"] == FLOOR and not row["best"]
    assert half_width(spagree.measure(every)) > 0.011  # forty annotations of each item are not enough, either
    # Nearer to what is reached, ten annotations are not enough but a few more are.
    near = present.plan(0.019).filter(route="same_items").row(0, named=True)
    assert near["undefined"] == TOO_FEW
    far = present.plan(0.019, most=40).filter(route="same_items").row(0, named=True)
    assert far["undefined"] is None and 10 < far["annotations_per_item"] < 20


def test_items_annotated_once_are_annotated_again() -> None:
    rows = simulated(2_000, (1, 2), 8)
    row = best(spagree.measure(rows).plan(0.02), "same_items")
    per_item = rows.group_by("item").len()["len"]
    assert row["annotations_per_item"] >= 2
    assert row["items"] == (per_item < row["annotations_per_item"]).sum()
    assert row["more_annotations"] == int((row["annotations_per_item"] - per_item).clip(0).sum())


# What a plan says ----------------------------------------------------------------------------


def scored(weights: Any = "annotations_m1", **options: Any) -> spagree.Agreement:
    return spagree.measure(simulated(300, (2, 5), 9), weights=weights, **options)


@pytest.mark.parametrize("weights", [*SCHEMES, lambda n: n**0.5])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_one_item_less_would_not_do(weights: Any, level: float) -> None:
    """The half-width is that of the interval itself: recomputed here for a design from nothing."""
    found = scored(weights, level=level)
    for row in found.plan(0.02).filter(route="fresh").iter_rows(named=True):
        widths = []
        variance = spread(found, row["annotations_per_item"])
        for items in (row["items"] - 1, row["items"]):
            low, high = wilson(float(found.spa), (variance / items) ** 0.5, items, level)
            widths.append((high - low) / 2)
        assert widths[1] <= 0.02 < widths[0]


@cache
def scored_tally() -> spagree.Tally:
    return spagree.tally(simulated(300, (2, 5), 9))


def spread(found: spagree.Agreement, n: int) -> float:
    theta = float(found.spa)
    return theta * (1 - theta) * item_shape(scored_tally(), theta).variance(n)


def test_the_columns_and_the_best_of_each_route() -> None:
    found = scored().plan(0.02)
    assert found.columns == [
        "half_width",
        "half_width_low",
        "half_width_high",
        "route",
        "annotations_per_item",
        "items",
        "annotations",
        "more_annotations",
        "best",
        "assumed",
        "undefined",
    ]
    assert found["route"].unique(maintain_order=True).to_list() == ROUTES
    for route in ("fresh", "new_items"):
        rows = found.filter(route=route)
        assert rows["annotations_per_item"].to_list() == list(range(2, 11))
        assert rows["best"].sum() == 1
        assert best(found, route)["more_annotations"] == rows["more_annotations"].min()


def test_without_a_half_width_the_next_round_ones() -> None:
    found = scored()
    assert 0.03 < half_width(found) < 0.05
    assert found.plan()["half_width"].unique(maintain_order=True).to_list() == [0.03, 0.02, 0.01, 0.005]
    narrower = found.plan().filter(pl.col("best"), route="new_items")["more_annotations"].to_list()
    assert narrower == sorted(narrower) and narrower[0] > 0


def test_a_target_already_reached_needs_nothing() -> None:
    found = scored()
    plan = found.plan(half_width(found) + 1e-9)
    new, same = plan.filter(route="new_items"), plan.filter(route="same_items")
    assert new["items"].to_list() == new["more_annotations"].to_list() == [0] * 9
    assert same.select("items", "annotations", "more_annotations", "best").rows() == [
        (0, found.data.annotations, 0, True)
    ]
    assert new["annotations"].unique().to_list() == [found.data.annotations]
    assert plan.filter(route="fresh")["items"].min() > 0
    only_just = found.plan(half_width(found) - 1e-9).filter(route="new_items")
    assert only_just["items"].min() > 0


def pairs_and(n: int, items: int) -> Iterator[tuple[str, str, str]]:
    """A hundred pairs, half of which agree, and some items with n annotations."""
    for item in range(100):
        yield from ((f"p{item}", "a", "x"), (f"p{item}", "b", "xy"[item % 2]))
    for item in range(items):
        yield from ((f"q{item}", f"a{who}", "xy"[(item + who) % 3 == 0]) for who in range(n))


def test_what_rests_on_the_prior_is_marked() -> None:
    def assumed(rows: list[tuple[str, str, str]]) -> list[bool]:
        return spagree.measure(rows).plan(0.02, most=5).filter(route="fresh")["assumed"].to_list()

    assert assumed(list(pairs_and(2, 50))) == [False, True, True, True]
    assert assumed(list(pairs_and(3, 99))) == [False, True, True, True]
    assert assumed(list(pairs_and(3, 100))) == [False, False, True, True]
    assert assumed(list(pairs_and(4, 99))) == [False, False, True, True]
    assert assumed(list(pairs_and(4, 100))) == [False, False, False, False]


def test_no_more_annotations_of_an_item_than_annotators() -> None:
    rows = [(f"q{item}", who, "xy"[item % 2 and who == "c"]) for item in range(40) for who in "abc"]
    found = spagree.measure(rows)
    assert found.plan(0.05)["annotations_per_item"].max() == 3
    assert found.plan(0.05, most=6)["annotations_per_item"].max() == 6
    unknown = spagree.measure(np.array([[2, item % 3] for item in range(40)]), label=["x", "y"], format="counts")
    assert unknown.plan(0.05).filter(route="fresh")["annotations_per_item"].max() == 10


def test_a_tally_is_enough() -> None:
    found = scored()
    tally = spagree.tally(simulated(300, (2, 5), 9))
    assert spagree.measure(tally).plan().equals(found.plan())


def test_own_weights_plan_only_with_what_they_weigh() -> None:
    found = scored({2: 1.0, 3: 1.9, 4: 2.6, 5: 3.1, 7: 4.0})
    assert found.plan(0.02).filter(route="new_items")["annotations_per_item"].to_list() == [2, 3, 4, 5, 7]
    rows = [(f"q{item}", f"p{who}", "xy"[item * who % 2]) for item in range(9) for who in range(5)]
    narrow = spagree.measure(rows, weights={5: 1.0})
    with pytest.raises(
        spagree.UsageError,
        match=exactly("custom weights: none given for 2 to 4 annotations of an item; give some to plan with"),
    ):
        narrow.plan(most=4)


@pytest.mark.parametrize("metric", ["ordinal", "quadratic"])
def test_the_variance_depends_on_the_metric(metric: str) -> None:
    """Pairs vary by less than θ(1 − θ) where labels agree in part: planned with that, it turns out right."""

    def numbered(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(pl.col("label").replace_strict({"A": 1, "B": 2, "C": 3, "D": 4}))

    pilot = numbered(simulated(3_000, (2, 6), 13, classes=4))
    plan = spagree.measure(pilot, metric=metric).plan(0.02)
    for n in (2, 5):
        items = plan.filter(route="fresh", annotations_per_item=n)["items"][0]
        made = numbered(simulated(items, n, 14, classes=4))
        assert half_width(spagree.measure(made, metric=metric)) == pytest.approx(0.02, rel=0.06)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([("q1", "a", "x")], NOT_PAIRABLE),
        ([("q1", "a", "x"), ("q1", "b", "y")], ONE_ITEM),
        ([("q1", "a", "x"), ("q1", "b", "x"), ("q2", "a", "y"), ("q2", "b", "y")], NO_SPREAD),
        ([("q1", "a", "x"), ("q1", "b", "y"), ("q2", "a", "y"), ("q2", "b", "x")], NO_SPREAD),
    ],
)
def test_no_plan_without_a_standard_error(rows: list[tuple[str, str, str]], reason: str) -> None:
    found = spagree.measure(rows).plan()
    assert found["undefined"].to_list() == [reason] * 4
    assert found["half_width"].to_list() == [0.05, 0.03, 0.02, 0.01]
    assert found["best"].to_list() == [False] * 4
    empty = found.select("route", "annotations_per_item", "items", "annotations", "more_annotations", "assumed")
    assert empty.null_count().row(0) == (4,) * 6
    assert spagree.measure(rows).plan(0.02)["undefined"].to_list() == [reason]


def test_the_range_allows_for_a_variance_known_only_from_these_items() -> None:
    """One item in forty disagrees: the error of its variance is far larger than that of the level."""
    rows = [(f"q{item}", who, "xy"[item == 0 and who == "b"]) for item in range(40) for who in "ab"]
    tally, spa = spagree.tally(rows), spagree.measure(rows, level=0.5, interval_for="items").spa
    now = Project(tally, "annotations_m1", spa, None, [2])
    fresh = WeightSums().plus(4000, now.k[2], now.variance(2))
    terms = np.array([(1 - 1 / 40) ** 2, *[(1 / 40) ** 2] * 39])
    squared = float((terms**2).sum() / terms.sum() ** 2 - 1 / 40)
    for share in (1.0, 0.5):
        error = np.exp(norm.ppf(0.75) * share * np.sqrt(squared * (1 + 40 / 4000)) / 2)
        low, high = now.range(fresh, 2, 4000, share)
        assert high >= now.width(fresh) * error * (1 - 1e-9) and low <= now.width(fresh) / error * (1 + 1e-9)
        ends = [now.width(fresh)]
        for end in (spa.low, spa.high):
            noise = fresh.noise * end * (1 - end) / (39 / 40 * 1 / 40)
            ends.append(replace(fresh, noise=noise).half_width(end, 0.5))
        assert high == pytest.approx(max(*ends, ends[0] * error)) and low == pytest.approx(min(*ends, ends[0] / error))


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


SHARE = "a probability of agreement lies between 0 and 1, for example 0.7"
BLINDLY = "labels picked blindly would agree more often; expect more"
REFUSED: dict[str, tuple[list[Any], str]] = {
    "half_width": ([0, -0.1, 0.5, 2, "narrow", 1e-9], "half the width of an interval, below 0.5; for example 0.02"),
    "most": ([1, 0, 1_001, 2.5], "annotations per item, a whole number from 2 to 1,000"),
    "budget": ([0, -1, 1.5], "how many more annotations can be made, a whole number from 1 on"),
    "require": ([0, 1, 70], SHARE),
}


@pytest.mark.parametrize("name", REFUSED)
def test_impossible_wishes_are_refused(name: str) -> None:
    wrong, message = REFUSED[name]
    for value in wrong:
        for plan in (lambda **wanted: plan_expected(0.7, **wanted), scored().plan):
            with pytest.raises(UsageError, match=exactly(f"{name} {value!r}: {message}")):
                plan(**{name: value})


@pytest.mark.parametrize(
    ("agreement", "wanted", "message"),
    [
        (1.5, {}, f"agreement 1.5: {SHARE}"),
        (0, {}, f"agreement 0: {SHARE}"),
        (0.75, {"classes": 1}, f"agreement 0.75 with 1 classes: {BLINDLY}"),
        (0.2, {"classes": 4}, f"agreement 0.2 with 4 classes: {BLINDLY}"),
        (0.75, {"half_width": 0.1, "budget": 9}, "half_width and budget: ask for one of them at a time"),
    ],
)
def test_impossible_expectations_are_refused(agreement: float, wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=exactly(message)):
        plan_expected(agreement, **wanted)


def triples_agree(labels: Labels) -> Fraction:
    seen = [one == two == three for one, two, three in combinations(labels, 3)]
    return Fraction(sum(seen), len(seen))


def disjoint_pairs_agree(labels: Labels) -> Fraction:
    seen = [labels[i] == labels[j] and labels[k] == labels[m] for i, j, k, m in permutations(range(len(labels)), 4)]
    return Fraction(sum(seen), len(seen))


def usual(theta: Fraction) -> tuple[Fraction, Fraction]:
    return Fraction("0.05") + Fraction("0.42") * theta, Fraction("0.25") * theta**2


def slow_shape(items: list[list[str]], *, clamp: bool = True) -> tuple[Fraction, Fraction]:
    """docs/mathematics.md §7, word for word."""
    theta = spa(items, lambda labels: len(labels) - 1)
    usual_a, usual_b = usual(theta)
    spread = theta - theta**2
    if not spread:
        return usual_a, usual_b

    def pooled(smallest: int, probability, prior: Fraction) -> Fraction:
        long = [labels for labels in items if len(labels) >= smallest]
        weights = [1 - Fraction(1, len(labels) - smallest + 2) for labels in long]
        coordinates = [(probability(labels) - theta**2) / spread for labels in long]
        shrunk = sum((w * x for w, x in zip(weights, coordinates, strict=True)), 50 * prior)
        return shrunk / (sum(weights) + 50)

    a = pooled(3, triples_agree, usual_a)
    b = pooled(4, disjoint_pairs_agree, usual_b)
    if not clamp:
        return a, b
    a = min(max(a, Fraction(0)), Fraction(1))
    return a, min(max(b, Fraction(0)), a)


def estimated(items: list[list[str]]) -> tuple[float, float]:
    found = item_shape(tally_of(items), float(spa(items, lambda labels: len(labels) - 1)))
    assert found.pair == 1
    return found.a, found.b


def check(items: list[list[str]]) -> None:
    assert estimated(items) == pytest.approx(tuple(map(float, slow_shape(items))), abs=1e-12)


ITEM = st.lists(st.sampled_from("abc"), min_size=1, max_size=6)


@given(st.lists(ITEM, min_size=1, max_size=12).filter(lambda items: any(len(labels) > 1 for labels in items)))
@examples(30)
def test_shape_equals_enumeration_of_all_disjoint_pairs_and_triples(items: list[list[str]]) -> None:
    check(items)


@pytest.mark.parametrize(("data", "theta"), [("aa ab", 0.5), ("ab abc abcd", 0.0), ("aa aaa aaaa", 1.0)])
def test_without_evidence_the_shape_is_the_usual_one(data: str, theta: float) -> None:
    assert estimated(parse(data)) == pytest.approx((0.05 + 0.42 * theta, 0.25 * theta**2))


def repeated(data: str, times: int) -> list[list[str]]:
    return parse(data) * times


@pytest.mark.parametrize(
    ("data", "times"),
    [
        ("aa aab aabc", 1),
        ("aaaa bbbb abcd", 300),  # items that agree fully or not at all: both coordinates near 1
        ("aabb", 300),  # triples never agree: below 0 without the clamp
        ("aabb ccdd aabb abcd", 200),  # disjoint pairs agree more than triples do: b would exceed a
        ("ab ab ab ab ab ab ab ab ab ab aaaa", 300),  # θ comes from the pairs that disagree: a above 1
        ("aaab aabb abbb abab aaaa bbbb aabb aabb", 100),
    ],
)
def test_the_shape_is_a_possible_one_however_extreme_the_items(data: str, times: int) -> None:
    check(repeated(data, times))
    a, b = estimated(repeated(data, times))
    assert 0 <= b <= a <= 1
