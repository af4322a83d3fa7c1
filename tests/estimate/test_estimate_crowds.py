"""How many people an interval for new annotators takes: the formula, its laws, and whether plans come true."""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
import polars
import pytest

import spagree
from oracle import exactly
from spagree.estimate.budgets import check_share
from spagree.estimate.crowds import NOT_DECIDED, NOT_NARROWER, NOT_REACHED, Crowd
from spagree.estimate.leave_one_out import two_way
from spagree.estimate.planning import Project
from spagree.estimate.uncertainty import wilson


def people_of(rng: np.random.Generator, items: int, people: int, n: int) -> list[tuple[int, int, str]]:
    """Everybody has a care of their own; items have one right answer of three."""
    care, right = rng.uniform(0.4, 1.0, people), rng.integers(3, size=items)
    rows = []
    for item in range(items):
        for person in rng.choice(people, n, replace=False).tolist():
            heeded = rng.random() < care[person]
            rows.append((item, person, str(right[item] if heeded else rng.integers(3))))
    return rows


@pytest.fixture(scope="module")
def pilot() -> spagree.Agreement:
    return spagree.measure(people_of(np.random.default_rng(7), 150, 12, 3))


def crowd(agreement: spagree.Agreement, allowed: tuple[int, ...] = (2, 3, 4)) -> Crowd:
    behind = agreement.measurement
    spread = two_way(behind.peers, behind.by_n(), agreement.spa.stderr**2)
    assert spread is not None
    return Crowd(Project(behind.tally, "annotations_m1", agreement.spa, None, allowed), spread)


def test_the_variance_of_people_is_what_leaving_them_out_shows_beyond_noise(pilot: spagree.Agreement) -> None:
    found = crowd(pilot)
    spread = found.spread
    beyond = (spread.annotators - spread.annotations) * spread.equal_annotators
    assert found.variance == pytest.approx(beyond) and beyond > 0
    stderr = sqrt(found.project.variance(3) / 500 + found.variance / 40)
    assert found.limits(40, 3, 500) == wilson(pilot.spa.value, stderr, 500, 0.95, 39)
    low, high = found.bounds()
    assert low < found.variance < high


def test_rows_reach_the_half_width_and_one_item_less_does_not(pilot: spagree.Agreement) -> None:
    found = crowd(pilot)
    rows = found.rows({"half_width": 0.06})
    assert sum(row["best"] for row in rows) == 1
    for row in rows:
        low, high = found.limits(row["annotators"], row["annotations_per_item"], row["items"])
        assert (high - low) / 2 <= 0.06
        low, high = found.limits(row["annotators"], row["annotations_per_item"], row["items"] - 1)
        assert (high - low) / 2 > 0.06
        assert row["annotations"] == row["annotations_per_item"] * row["items"]
        assert row["per_annotator"] == ceil(row["annotations"] / row["annotators"])
        assert row["half_width_low"] < row["half_width"] < row["half_width_high"]


def test_one_person_or_one_item_is_never_enough(pilot: spagree.Agreement) -> None:
    found = crowd(pilot)
    assert found.limits(1, 2, 10**9) == found.limits(100_000, 2, 1) == (0.0, 1.0)
    assert found.limits(2, 2, 10**9) != (0.0, 1.0)
    for wanted in ({"half_width": 0.499}, {"require": 0.001}, {"require": 0.999}):
        assert all(row["annotators"] > 1 and row["items"] > 1 for row in found.rows(wanted))


@pytest.mark.parametrize("wrong", [0, 1, 0.0, 1.0, -0.1, "0.7", None])
def test_a_required_agreement_lies_strictly_between_0_and_1(wrong: object) -> None:
    with pytest.raises(
        spagree.UsageError,
        match=exactly(f"require {wrong!r}: a probability of agreement lies between 0 and 1, for example 0.7"),
    ):
        check_share("require", wrong)  # type: ignore[arg-type]
    check_share("require", 1e-9)
    check_share("require", 1 - 1e-9)


def test_more_people_need_fewer_annotations(pilot: spagree.Agreement) -> None:
    modest = pilot.plan(half_width=0.085, interval_for="annotators")
    assert modest["annotators"].min() < 12 and 0 in modest["more_annotators"]
    rows = pilot.plan(half_width=0.05, interval_for="annotators").sort("annotators")
    assert rows["annotators"].is_sorted() and rows["annotations"].is_sorted(descending=True)
    assert (rows["more_annotators"] == (rows["annotators"] - 12).clip(0)).all()
    best = rows.filter("best")
    assert best.height == 1 and best["annotations"][0] <= 1.25 * rows["annotations"].min()


def test_a_narrower_interval_takes_more_people(pilot: spagree.Agreement) -> None:
    fewest = [
        pilot.plan(half_width=width, interval_for="annotators")["annotators"].min() for width in (0.08, 0.05, 0.03)
    ]
    assert fewest == sorted(fewest) and fewest[0] < fewest[2]
    items = pilot.plan(half_width=0.05, most=3).filter(route="fresh")["annotations"].min()
    assert pilot.plan(half_width=0.05, most=3, interval_for="annotators")["annotations"].min() > items


def test_a_budget_goes_further_with_more_people(pilot: spagree.Agreement) -> None:
    rows = pilot.plan(budget=2000, interval_for="annotators")
    assert rows["annotators"][0] == 12 and rows["half_width"].is_sorted(descending=True)
    assert rows["best"].to_list() == [False] * (rows.height - 1) + [True]
    assert (rows["more_annotations"] <= 2000).all() and (rows["more_annotations"] > 1990).all()
    assert (rows["annotations"] == rows["items"] * rows["annotations_per_item"]).all()


def test_a_requirement_is_decided_by_every_row(pilot: spagree.Agreement) -> None:
    found = crowd(pilot)
    require = pilot.spa.value - 0.05
    for row in found.rows({"require": require}):
        low, _ = found.limits(row["annotators"], row["annotations_per_item"], row["items"])
        assert low >= require


def test_without_a_half_width_the_next_round_ones(pilot: spagree.Agreement) -> None:
    rows = pilot.plan(interval_for="annotators")
    reached = spagree.measure(people_of(np.random.default_rng(7), 150, 12, 3), interval_for="annotators").spa
    widths = rows["half_width"].round(6).unique().sort(descending=True).to_list()
    assert widths[0] <= (reached.high - reached.low) / 2
    assert rows.filter("best").height == 4


def test_impossible_targets_have_a_reason(pilot: spagree.Agreement) -> None:
    found = crowd(pilot)
    (row,) = found.rows({"require": pilot.spa.value})
    assert row["undefined"] == NOT_DECIDED and not row["best"] and row["items"] is None
    (row,) = found.rows({"half_width": 1e-6})
    assert row["undefined"] == NOT_REACHED
    assert crowd(pilot, (2, 3)).rows({"budget": 1})[0]["undefined"] == NOT_NARROWER


@pytest.mark.parametrize("budget", [1, 30, 100, 400, 5000])
def test_what_a_pilot_holds_stays_with_its_items_and_people(pilot: spagree.Agreement, budget: int) -> None:
    """150 items have three annotations, and 12 people did 37 or 38: new ones start from nothing."""
    found = crowd(pilot)
    known = [row for row in found.rows({"budget": budget}) if row["undefined"] is None]
    assert bool(known) == (budget > 1)
    for row in known:
        n, items, new = row["annotations_per_item"], row["items"], row["more_annotators"]
        deeper = min(items, 150) * max(0, n - 3) + max(0, items - 150) * n
        assert row["more_annotations"] == max(deeper, new * row["per_annotator"]) <= budget
        assert row["half_width"] < found.reached


def test_what_is_reached_already_takes_nobody(pilot: spagree.Agreement) -> None:
    found = crowd(pilot)
    for wanted in ({"half_width": 0.3}, {"require": 0.05}, {"require": 0.95}):
        (row,) = found.rows(wanted)
        assert (row["annotators"], row["more_annotators"], row["more_annotations"], row["best"]) == (12, 0, 0, True)
        assert row["half_width"] == found.reached


def test_no_plan_for_new_annotators_without_their_spread() -> None:
    two = spagree.measure([(item, name, "yn"[item % 3 == 0 and name == "a"]) for item in range(30) for name in "ab"])
    rows = two.plan(half_width=0.05, interval_for="annotators")
    assert rows["undefined"][0].startswith("without one of the annotators")
    same = spagree.measure([(item, name, "x") for item in range(9) for name in "abc"])
    assert same.plan(interval_for="annotators")["undefined"][0].startswith("all items agree equally")
    with pytest.raises(
        spagree.UsageError,
        match=exactly(
            "unknown value of interval_for=\"annotator\"; did you mean 'annotators'? Known: items, annotators"
        ),
    ):
        two.plan(interval_for="annotator")
    with pytest.raises(
        spagree.UsageError, match=exactly("a tally does not say who annotated; measure the annotations themselves")
    ):
        spagree.measure(spagree.tally([(1, "a", "x"), (1, "b", "y"), (2, "a", "x"), (2, "b", "x")])).plan(
            interval_for="annotators"
        )


@pytest.mark.parametrize("wanted", [{"half_width": 3}, {"budget": 0}, {"require": 70}])
def test_senseless_wishes_are_refused(wanted: dict[str, float], pilot: spagree.Agreement) -> None:
    with pytest.raises(spagree.UsageError):
        pilot.plan(interval_for="annotators", **wanted)


def test_plans_come_true() -> None:
    """A crowd drawn from the same people-at-large: the realised half-width against the promise, over pilots."""
    rng, ratios, inside = np.random.default_rng(3), [], 0
    for _ in range(12):
        first = spagree.measure(people_of(rng, 120, 15, 3))
        rows = first.plan(budget=1440, most=3, interval_for="annotators")
        row = rows.filter(polars.col("annotators") == 30).row(0, named=True)
        n, items = row["annotations_per_item"], row["items"]
        came = spagree.measure(people_of(rng, items, 30, n), interval_for="annotators").spa
        half = (came.high - came.low) / 2
        ratios.append(half / row["half_width"])
        inside += row["half_width_low"] <= half <= row["half_width_high"]
    assert 0.8 < np.median(ratios) < 1.25
    assert inside >= 8
