"""Student's t quantiles: the tables, scipy as oracle on both sides of the limit, and what has no quantile."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from spagree.estimate.student_t import LARGEST, MANY, two_sided, two_sided_each


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
    assert two_sided(level, freedom) == pytest.approx(quantile, abs=5e-5)


@pytest.mark.parametrize("freedom", [0, -0.0, -1e-16])
def test_students_t_without_freedom_is_infinite(freedom: float) -> None:
    assert two_sided(0.95, freedom) == inf


@given(st.floats(0.001, 0.99993), st.floats(MANY, 1e15))
def test_the_series_is_scipys_quantile(level: float, freedom: float) -> None:
    assert two_sided(level, freedom) == pytest.approx(float(stdtrit(freedom, (1 + level) / 2)), rel=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_the_series_is_exact_to_the_last_digits_where_it_begins(level: float) -> None:
    assert two_sided(level, MANY) == pytest.approx(float(stdtrit(MANY, (1 + level) / 2)), rel=2e-15)


@given(st.floats(0.001, 0.999999), st.floats(0.1, MANY, exclude_max=True))
def test_few_degrees_of_freedom_are_left_to_scipy(level: float, freedom: float) -> None:
    assert two_sided(level, freedom) == float(stdtrit(freedom, (1 + level) / 2))


@pytest.mark.parametrize("level", [0.99995, 1 - 1e-9, 1 - 2**-53])
def test_extreme_levels_are_left_to_scipy(level: float) -> None:
    t = two_sided(level, 1e4)
    assert t == float(stdtrit(1e4, (1 + level) / 2))
    assert t > LARGEST


def test_each_of_many_is_what_it_is_alone() -> None:
    freedom = np.array([[0.5, 3, 199.9], [200, 1e7, 12]])
    each = two_sided_each(0.9, freedom)
    assert each.tolist() == [[two_sided(0.9, one) for one in row] for row in freedom]


def test_whole_numbers_do_not_overflow() -> None:
    assert two_sided_each(0.95, np.array([10**9])) == pytest.approx(stdtrit(1e9, 0.975), rel=1e-14)


def test_each_without_freedom_has_none() -> None:
    assert np.isnan(two_sided_each(0.95, np.array([0.0, -1.0, np.nan]))).all()
