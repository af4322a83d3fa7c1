"""The check of SPA's assumption, against a computation over single items."""

from __future__ import annotations

from collections import defaultdict
from math import sqrt
from statistics import NormalDist, mean

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

import spagree
from examples import examples
from oracle import BARS, agreement, parse, relative_variance, tally_of
from spagree.estimate import Estimate, Missingness, find
from spagree.estimate.missingness import welch
from spagree.tally.tally import Tally


def slow_trend(items: list[list[str]]) -> tuple[float, float]:
    """z = Σ(n − n̄)(P − P̄) / √v over pairable items, also with v at each n steadied as behind an interval."""
    pairable = [(len(labels), float(agreement(labels))) for labels in items if len(labels) > 1]
    mean_n, mean_p = mean(n for n, _ in pairable), mean(p for _, p in pairable)
    spread, steadied = mean_p * (1 - mean_p), 0.0
    for n in {n for n, _ in pairable}:
        squares = [(p - mean_p) ** 2 for each, p in pairable if each == n]
        share = min(1.0, 30 / len(squares))
        seen = mean(squares)
        steadied += (
            (n - mean_n) ** 2 * len(squares) * (seen + share * max(0, spread * relative_variance(n, mean_p) - seen))
        )
    trend = sum((n - mean_n) * (p - mean_p) for n, p in pairable)
    return trend / sqrt(sum(((n - mean_n) * (p - mean_p)) ** 2 for n, p in pairable)), trend / sqrt(steadied)


@pytest.mark.parametrize(
    "data", [BARS, "aa ab aab aaab", "aa aa aa aabb aabb ab abab aa", "a b aa ab ab ab aaaa aaaaa aaab"]
)
def test_trend_equals_the_computation_over_single_items(data: str) -> None:
    items = parse(data)
    found = find(tally_of(items)).missingness
    z, steadied = slow_trend(items)
    assert found.z == pytest.approx(z, rel=1e-12)
    assert found.p == pytest.approx(2 * NormalDist().cdf(-abs(z)), rel=1e-12)
    assert found.p_steadied == pytest.approx(2 * NormalDist().cdf(-abs(steadied)), rel=1e-12)
    assert found.undefined is None


def test_z_by_hand() -> None:
    # n̄ = 3, P̄ = 11/24; products −13/24, 11/24, −3/24, 1/24
    found = find(tally_of(parse("aa ab aabb aaab"))).missingness
    assert found.z == pytest.approx(-4 / sqrt(169 + 121 + 9 + 1), rel=1e-14)
    # The two items with n = 4 look alike: their variance is raised to what θ = 11/24 implies.
    theta = 11 / 24
    implied = 2 * theta * (1 - theta) * (1 + 4 * 0.4 + theta**2 / 2) / 6
    assert implied > 10 / 576 and 2 * theta * (1 - theta) < 290 / 576
    steadied = -4 / 24 / sqrt(290 / 576 + implied)
    assert found.p_steadied == pytest.approx(2 * NormalDist().cdf(steadied), rel=1e-12)


def test_a_few_items_that_all_agree_are_no_trend() -> None:
    """Their spread is 0 by chance, and z is far beyond the alarm; the variance that agreement implies prevents it."""
    most = [{"a": 10}] * 340 + [{"a": 6, "b": 4}] * 20
    found = find(Tally.from_items([*most, *[{"a": 2}] * 40])).missingness
    assert found.p is not None and found.p < 0.01
    assert found.p_steadied is not None and found.p_steadied > 0.1 and not found.broken


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
        assert found.z == pytest.approx(slow_trend(items)[0], rel=1e-9, abs=1e-9)
        assert 0 < found.p <= found.p_steadied <= 1


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
    assert Missingness(2.0, 0.0, (), p_steadied=p).broken is broken


def test_differences_without_a_trend_are_seen() -> None:
    """Welch's test by hand: standard errors from the intervals, rows of fewer than ten items left out."""
    found = find(
        tally_of(parse("aa " * 30 + "ab " * 4 + "abc " * 30 + "aab " * 9 + "aaaa " * 30 + "aabb " * 4 + "ababa"))
    )
    rows = [row.agreement for row in found.missingness.by_n]
    sizes = [row.items for row in found.missingness.by_n]
    assert sizes == [34, 39, 34, 1]
    known = [(row, size - 1) for row, size in zip(rows[:3], sizes, strict=False)]
    errors = [((row.high or 0) - (row.low or 0)) / 2 / stats.t.ppf(0.975, freedom) for row, freedom in known]
    weight = [error**-2 for error in errors]
    centre = sum(w * float(row) for w, (row, _) in zip(weight, known, strict=True)) / sum(weight)
    q = sum(w * (float(row) - centre) ** 2 for w, (row, _) in zip(weight, known, strict=True))
    lost = sum((1 - w / sum(weight)) ** 2 / freedom for w, (_, freedom) in zip(weight, known, strict=True))
    p = stats.f.sf(q / 2 / (1 + 2 * lost / 8), 2, 8 / (3 * lost))
    assert found.missingness.p_of_differences() == pytest.approx(p, rel=1e-9)
    assert q > 50 and found.missingness.p is not None and found.missingness.p > 0.05


@pytest.mark.parametrize("sizes", [(12, 30), (10, 10, 40), (11, 25, 18, 90)])
def test_welch_agrees_with_scipy(sizes: tuple[int, ...]) -> None:
    random = np.random.default_rng(sum(sizes))
    samples = [random.normal(0.1 * place, 1 + place, size) for place, size in enumerate(sizes)]
    values = np.array([sample.mean() for sample in samples])
    errors = np.array([sample.std(ddof=1) / len(sample) ** 0.5 for sample in samples])
    found = welch(values, errors, np.array(sizes) - 1.0)
    if len(sizes) == 2:
        assert found == pytest.approx(stats.ttest_ind(*samples, equal_var=False).pvalue, rel=1e-9)
    assert found == pytest.approx(_welch_1951(samples), rel=1e-9)


def _welch_1951(samples: list[NDArray[np.float64]]) -> float:
    """As the paper writes it, with sample variances instead of errors."""
    k = len(samples)
    w = [len(each) / each.var(ddof=1) for each in samples]
    mean = sum(weight * each.mean() for weight, each in zip(w, samples, strict=True)) / sum(w)
    above = sum(weight * (each.mean() - mean) ** 2 for weight, each in zip(w, samples, strict=True)) / (k - 1)
    lost = sum((1 - weight / sum(w)) ** 2 / (len(each) - 1) for weight, each in zip(w, samples, strict=True))
    v = above / (1 + 2 * (k - 2) / (k**2 - 1) * lost)
    return float(stats.f.sf(v, k - 1, (k**2 - 1) / (3 * lost)))


def test_one_cluster_with_most_items_says_nothing_about_differences() -> None:
    """Ten clusters, but one of them holds nearly all items: its error is unknown, so nothing is tested."""
    rows = []
    for n, labels in ((2, "ab"), (3, "aab")):
        for cluster in range(12):
            for item in range(500 if cluster == 0 else 1):
                name = f"{n}-{cluster}-{item}"
                rows += [(name, who, label, f"{n}-{cluster}") for who, label in enumerate(labels[:n])]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "doc"], orient="row")
    test = spagree.measure(frame, cluster="doc").missingness
    assert [row.items for row in test.by_n] == [511, 511]
    assert all(row.effective < 1.1 for row in test.by_n)
    assert test.p_of_differences() is None


@pytest.mark.parametrize("data", ["aa " * 12, "aa " * 12 + "aaab " * 9, "a b"])
def test_differences_need_two_rows_of_enough_items(data: str) -> None:
    assert find(tally_of(parse(data))).missingness.p_of_differences() is None
