"""Plans: the variance against full enumeration, and planned projects against simulated ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import spagree
from oracle import exactly
from spagree.estimate.plan import FLOOR, NO_SPREAD, TOO_FEW, Project, Shape, WeightSums, item_shape
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


def test_new_items_of_two_may_widen_first_but_get_there() -> None:
    """With flat weights a few items of two annotations among many of twenty make the interval wider."""
    there = simulated(200, 20, 10, heterogeneity=0.1)
    found = spagree.measure(there, weights="flat")
    target = half_width(found) * 0.99
    row = found.plan(target).filter(route="new_items", annotations_per_item=2).row(0, named=True)
    few = pl.concat([there, simulated(40, 2, 11, prefix="new-", heterogeneity=0.1)])
    assert half_width(spagree.measure(few, weights="flat")) > half_width(found)
    enough = pl.concat([there, simulated(row["items"], 2, 12, prefix="new-", heterogeneity=0.1)])
    assert half_width(spagree.measure(enough, weights="flat")) == pytest.approx(target, rel=0.06)


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


@pytest.mark.parametrize("given", [0, -0.1, 0.5, 2, "narrow", 1e-9])
def test_half_widths_are_checked(given: Any) -> None:
    with pytest.raises(
        spagree.UsageError,
        match=exactly(f"half_width {given!r}: half the width of an interval, below 0.5; for example 0.02"),
    ):
        scored().plan(given)


@pytest.mark.parametrize("given", [1, 0, 1_001, 2.5])
def test_the_most_annotations_per_item_are_checked(given: Any) -> None:
    with pytest.raises(
        spagree.UsageError, match=exactly(f"most {given!r}: annotations per item, a whole number from 2 to 1,000")
    ):
        scored().plan(most=given)


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
