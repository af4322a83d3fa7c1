from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spagree.estimate.comparison import Difference, Figure, Limits, clustered, difference, figure_of, holm, verdict
from spagree.estimate.influence import Deviations, Influence
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS, Estimate, undefined


def side(value: float, low: float, high: float, moved: Influence | None = None) -> Figure:
    return Figure(value, {ITEMS: Limits((high - low) / 4, low, high)}, moved)


def test_unpaired_interval_is_newcombes() -> None:
    a, b = side(0.6, 0.5, 0.72), side(0.7, 0.55, 0.8)
    found = difference(a, b, 0.95)
    assert found.value == pytest.approx(0.1)
    assert found.low == pytest.approx(0.1 - (0.15**2 + 0.12**2) ** 0.5)
    assert found.high == pytest.approx(0.1 + (0.10**2 + 0.10**2) ** 0.5)
    assert found.stderr == pytest.approx((0.055**2 + 0.0625**2) ** 0.5)


def test_swapping_the_sides_swaps_the_signs() -> None:
    moved = Influence(Deviations(np.arange(3), np.array([0.1, -0.05, -0.05])))
    other = Influence(Deviations(np.arange(1, 4), np.array([0.02, 0.06, -0.08])))
    a, b = side(0.6, 0.5, 0.72, moved), side(0.7, 0.55, 0.8, other)
    forth, back = difference(a, b, 0.95), difference(b, a, 0.95)
    assert (forth.value, forth.low, forth.high) == pytest.approx((-back.value, -back.high, -back.low))
    assert forth.p == pytest.approx(back.p) and forth.stderr == pytest.approx(back.stderr)


def test_shared_items_narrow_the_interval() -> None:
    moved = Influence(Deviations(np.arange(4), np.array([0.1, -0.05, -0.02, -0.03])))
    alone, paired = (difference(side(0.6, 0.5, 0.7, m), side(0.7, 0.6, 0.8, m), 0.95) for m in (None, moved))
    assert paired.stderr == pytest.approx(0.0) and alone.stderr > 0.05
    assert paired.high - paired.low < alone.high - alone.low


def test_p_is_below_one_minus_level_exactly_where_zero_is_left_out() -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        value, down, up = rng.normal(0, 0.1), *rng.uniform(0.01, 0.2, 2)
        found = Difference(value, 0.9, limits={ITEMS: Limits(0.1, value - down, value + up)})
        assert (found.p < 0.1) == (found.low > 0 or found.high < 0)
    assert Difference(0.0, 0.95, limits={ITEMS: Limits(0, 0, 0)}).p == 1.0
    assert Difference(0.1, 0.95, limits={ITEMS: Limits(0, 0.1, 0.1)}).p == 0.0
    assert Difference(0.1, 0.95).p is None


def test_undefined_sides_say_why() -> None:
    nothing = figure_of(undefined("no pairs", 0.95, "flat"), None)
    for found in (difference(nothing, side(0.5, 0.4, 0.6), 0.95), difference(side(0.5, 0.4, 0.6), nothing, 0.95)):
        assert found.value is None and found.undefined == "no pairs" and found.low is None and found.p is None
    one = figure_of(Estimate(1.0, None, None, None, 0.95, "flat", undefined="one item"), None)
    found = difference(one, side(0.5, 0.4, 0.6), 0.95)
    assert found.value == -0.5 and found.low is None and found.undefined == "one item"
    known = difference(side(0.5, 0.4, 0.6), side(0.5, 0.4, 0.6), 0.95, ANNOTATORS)
    assert known.undefined == "how annotators differ cannot be seen on both sides"


def test_holm_by_hand() -> None:
    assert holm([]) == []
    assert holm([0.04]) == [0.04]
    assert holm([0.2, 0.001, 0.03, None]) == pytest.approx([0.2, 0.003, 0.06, None])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_verdicts() -> None:
    more = Difference(0.1, 0.95, limits={ITEMS: Limits(0.02, 0.05, 0.15)})
    assert verdict(more, 0.01) == "agrees_more"
    assert verdict(replace(more, value=-0.1), 0.01) == "agrees_less"
    assert verdict(more, 0.06) == "cannot_tell" and verdict(more, None) == "cannot_tell"
    assert verdict(replace(more, value=None), 0.01) == "cannot_tell"
    half = replace(more, level=0.5)
    assert verdict(half, 0.5) == "agrees_more" and verdict(half, 0.501) == "cannot_tell"


def test_a_mean_over_items_counts_items_not_annotations() -> None:
    place, share = np.array([0, 0, 1, 1, 3]), np.array([1.0, 1.0, 0.0, 0.0, 1.0])
    found = clustered(np.array([10, 20, 30, 40]), place, share, 0.95)
    by_item = np.array([2 * 0.4, -2 * 0.6, 0.4]) / 5
    assert found.value == pytest.approx(0.6)
    assert found.limits[ITEMS].stderr == pytest.approx((1.5 * np.sum(by_item**2)) ** 0.5)
    assert found.influence.items.unit.tolist() == [10, 20, 40]
    one = clustered(np.array([10]), np.array([0, 0]), np.array([1.0, 0.0]), 0.95)
    assert one.value == 0.5 and not one.limits and "one item" in one.undefined
