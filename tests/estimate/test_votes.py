"""Sums that are rounded once, however many values there are."""

from math import fsum, inf, isnan, nan

import numpy as np
import pytest

from spagree.estimate.votes import total


@pytest.mark.parametrize("spread", [0, 5, 30, 250])
def test_a_sum_of_many_values_is_rounded_once(spread: int) -> None:
    random = np.random.default_rng(spread)
    for size in (3, 1001, 5000):
        values = random.normal(size=size) * 10.0 ** random.integers(-spread, spread + 1, size)
        for each in (values, np.floor(values), np.concatenate([values, -values]), np.zeros(size), values * 1e-300):
            assert total(each) == fsum(each.tolist())


def test_what_is_not_finite_stays_so() -> None:
    many = np.ones(2000)
    assert total(np.append(many, inf)) == inf
    assert isnan(total(np.append(many, nan)))
    assert total(np.append(many, 1e300)) == 1e300
