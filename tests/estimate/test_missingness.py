"""The check of SPA's assumption, against a computation over single items."""

from __future__ import annotations

from collections import defaultdict
from math import sqrt
from statistics import NormalDist, mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from oracle import BARS, agreement, parse, relative_variance, tally_of
from spagree.counts.tally import Tally
from spagree.estimate import Estimate, Missingness, find


def slow_trend(items: list[list[str]]) -> float:
    """z = Σ(n − n̄)(P − P̄) / √v over pairable items, with v at each n steadied as behind an interval."""
    pairable = [(len(labels), float(agreement(labels))) for labels in items if len(labels) > 1]
    mean_n, mean_p = mean(n for n, _ in pairable), mean(p for _, p in pairable)
    spread, steadied = mean_p * (1 - mean_p), 0.0
    for n in {n for n, _ in pairable}:
        squares = [(p - mean_p) ** 2 for each, p in pairable if each == n]
        share = 30 / max(30, 4 * spread * len(squares))
        seen = mean(squares)
        steadied += (
            (n - mean_n) ** 2 * len(squares) * (seen + share * max(0, spread * relative_variance(n, mean_p) - seen))
        )
    trend = sum((n - mean_n) * (p - mean_p) for n, p in pairable)
    return trend / sqrt(steadied)


@pytest.mark.parametrize(
    "data", [BARS, "aa ab aab aaab", "aa aa aa aabb aabb ab abab aa", "a b aa ab ab ab aaaa aaaaa aaab"]
)
def test_trend_equals_the_computation_over_single_items(data: str) -> None:
    items = parse(data)
    found = find(tally_of(items)).missingness
    z = slow_trend(items)
    assert found.z == pytest.approx(z, rel=1e-12)
    assert found.p == pytest.approx(2 * NormalDist().cdf(-abs(z)), rel=1e-12)
    assert found.undefined is None


def test_z_by_hand() -> None:
    # n̄ = 3, P̄ = 11/24; products −13/24, 11/24, −3/24, 1/24
    found = find(tally_of(parse("aa ab aabb aaab"))).missingness
    # The two items with n = 4 look alike: their variance is raised to what θ = 11/24 implies.
    theta = 11 / 24
    implied = 2 * theta * (1 - theta) * (1 + 4 * 0.4 + theta**2 / 3) / 6
    assert implied > 10 / 576 and 2 * theta * (1 - theta) < 290 / 576
    assert found.z == pytest.approx(-4 / 24 / sqrt(290 / 576 + implied), rel=1e-14)
    assert found.p == pytest.approx(2 * NormalDist().cdf(found.z), rel=1e-12)


def test_a_few_items_that_all_agree_are_no_trend() -> None:
    """Their spread is 0 by chance, and z would be far beyond the alarm but for the variance that agreement implies."""
    most = [{"a": 10}] * 340 + [{"a": 6, "b": 4}] * 20
    found = find(Tally.from_items([*most, *[{"a": 2}] * 40])).missingness
    assert found.p is not None and found.p > 0.1 and not found.broken


def test_asking_more_people_where_two_differ_is_a_trend() -> None:
    found = find(Tally.from_items([{"a": 2}] * 80 + [{"a": 2, "b": 1}] * 20)).missingness
    assert found.broken


@given(st.lists(st.lists(st.sampled_from("ab"), min_size=2, max_size=6), min_size=2, max_size=10))
@examples(20)
def test_p_is_two_sided_and_z_has_the_sign_of_the_trend(items: list[list[str]]) -> None:
    found = find(tally_of(items)).missingness
    if found.z is None:
        assert (found.p, found.undefined is None) == (None, False)
    else:
        assert found.z == pytest.approx(slow_trend(items), rel=1e-9, abs=1e-9)
        assert 0 < found.p <= 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("a b", "no pairable item"),
        ("aab abc aaa a", "every pairable item has the same number of annotations"),
        ("aa", "every pairable item has the same number of annotations"),
        ("aa aaa bbbb", "agreement does not vary enough between items"),
        ("aab aab aabb", "agreement does not vary enough between items"),
    ],
)
def test_without_variation_the_trend_is_undefined_and_says_why(data: str, reason: str) -> None:
    found = find(tally_of(parse(data))).missingness
    assert (found.z, found.p, found.undefined) == (None, None, reason)
    assert not found.broken


def test_an_empty_tally_has_no_rows() -> None:
    assert find(Tally()).missingness == Missingness(None, None, (), "no pairable item")


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_agreement_by_n_is_the_flat_figure_of_those_items(level: float) -> None:
    groups: defaultdict[int, list[list[str]]] = defaultdict(list)
    for labels in parse(BARS):
        groups[len(labels)].append(labels)
    rows = find(tally_of(parse(BARS)), level=level).missingness.by_n
    assert [row.n for row in rows] == [2, 3, 4]
    for row in rows:
        assert row.items == len(groups[row.n])
        alone = find(tally_of(groups[row.n]), "flat", level).spa
        assert row.agreement.value == alone.value and row.agreement.intervals["items"] == alone.intervals["items"]
        assert (row.agreement.level, row.agreement.weights) == (level, "flat")


def test_a_single_item_with_some_n_has_agreement_without_interval() -> None:
    (pairs, triples) = find(tally_of(parse("aab aa ab"))).missingness.by_n
    assert pairs.agreement.low is not None
    reason = "only one item has two annotations, too few to show how items differ"
    assert triples.agreement == Estimate(1 / 3, None, None, None, 0.95, "flat", undefined=reason)


@pytest.mark.parametrize(
    ("p", "broken"), [(None, False), (1.0, False), (0.05, False), (0.01, False), (0.00999, True), (0.0, True)]
)
def test_the_assumption_is_broken_below_one_percent(p: float | None, broken: bool) -> None:
    assert Missingness(2.0, p, ()).broken is broken
