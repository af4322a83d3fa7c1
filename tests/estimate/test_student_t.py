"""Student's t quantiles: the tables, scipy as oracle on both sides of the limit, and what has no quantile."""

from __future__ import annotations

from math import inf, pi, sqrt, tan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from spagree.estimate.intervals import two_sided, two_sided_each


@pytest.mark.parametrize(
    ("freedom", "level", "quantile"),
    [
        (1, 0.95, 12.7062),
        (5, 0.99, 4.0321),
        (10, 0.95, 2.2281),
        (30, 0.95, 2.0423),
        (30, 0.9, 1.6973),
        (1e9, 0.95, 1.9600),
    ],
)
def test_students_t_as_in_the_tables(freedom: float, level: float, quantile: float) -> None:
    assert two_sided(level, freedom) == pytest.approx(quantile, rel=3e-5)


@pytest.mark.parametrize("freedom", [0, -0.0, -1e-16])
def test_students_t_without_freedom_is_infinite(freedom: float) -> None:
    assert two_sided(0.95, freedom) == inf


def scipys(level: float, freedom: float) -> float:
    """From the tail, which keeps its digits at extreme levels."""
    return -float(stdtrit(freedom, (1 - level) / 2))


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99, 0.999, 1 - 1e-6])
def test_it_is_scipys_quantile_at_any_degrees_of_freedom(level: float) -> None:
    freedom = np.concatenate([np.arange(1, 300), np.geomspace(0.05, 1e13, 2000)])
    expected = [scipys(level, one) for one in freedom]
    np.testing.assert_allclose(two_sided_each(level, freedom), expected, rtol=4e-5)


@given(st.floats(0.8, 0.999999), st.floats(3, 1e15))
def test_it_is_closer_with_more_freedom(level: float, freedom: float) -> None:
    assert two_sided(level, freedom) == pytest.approx(scipys(level, freedom), rel=2e-5)


@given(st.floats(0.01, 0.999999), st.integers(3, 500))
def test_low_levels_have_a_quantile_as_well(level: float, freedom: int) -> None:
    assert two_sided(level, freedom) == pytest.approx(scipys(level, freedom), rel=1e-4)


@given(st.floats(1e-12, 1 - 1e-12))
def test_one_and_two_degrees_of_freedom_have_closed_forms(level: float) -> None:
    outside = (1 - level) * (1 + level)
    assert two_sided(level, 1) == pytest.approx(1 / tan(pi * (1 - level) / 2), rel=4e-12)
    assert two_sided(level, 2) == pytest.approx(level * sqrt(2 / outside), rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("level", [0.5, 0.95, 1 - 2**-53])
def test_hardly_any_freedom_leaves_every_number_possible(level: float) -> None:
    rising = two_sided_each(level, np.array([1e-300, 1e-9, 1e-3, 0.01, 0.1, 1]))
    assert (np.diff(rising[np.isfinite(rising)]) < 0).all()
    assert not np.isnan(rising).any()
    assert (rising[:2] == inf).all() == (level >= 0.5)


@pytest.mark.parametrize("level", [0.99995, 1 - 1e-9, 1 - 2**-53])
@pytest.mark.parametrize("freedom", [150, 700, 900, 1e4, 1e12])
def test_extreme_levels(level: float, freedom: float) -> None:
    assert two_sided(level, freedom) == pytest.approx(scipys(level, freedom), rel=1e-6)


def test_each_of_many_is_what_it_is_alone() -> None:
    freedom = np.array([[0.5, 3, 199.9], [200, 1e7, 12]])
    each = two_sided_each(0.9, freedom)
    assert each.tolist() == [[two_sided(0.9, one) for one in row] for row in freedom]


def test_whole_numbers_do_not_overflow() -> None:
    assert two_sided_each(0.95, np.array([10**9])) == pytest.approx(stdtrit(1e9, 0.975), rel=1e-14)


def test_each_without_freedom_has_none() -> None:
    assert np.isnan(two_sided_each(0.95, np.array([0.0, -1.0, np.nan]))).all()


def test_a_quantile_has_the_same_bits_alone_and_beside_others() -> None:
    freedom = np.random.default_rng(3).uniform(0.3, 260, 2_000)
    together = two_sided_each(0.95, freedom)
    assert together.tolist() == [two_sided_each(0.95, freedom[i : i + 1])[0] for i in range(len(freedom))]
    assert together[::7].tolist() == two_sided_each(0.95, freedom[::7]).tolist()
