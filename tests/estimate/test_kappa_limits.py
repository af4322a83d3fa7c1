"""The interval of a kappa: Wilson's on its scale, Fisher's under a metric (docs/mathematics.md §13)."""

from __future__ import annotations

from math import atanh, sqrt, tanh

import numpy as np
import pytest
from scipy.stats import chi2

from spagree.counts.tally import Tally
from spagree.estimate import find
from spagree.estimate.intervals import below_chance, fisher_limits, kappa_limits
from spagree.estimate.uncertainty import wilson

ROOM, MOST, SIZE = 0.5, 0.8, 30.0
LOWEST = 1 - MOST / ROOM  # of a kappa, if annotators differ on 0.8 of the items and by chance on half


def limits(value: float, stderr: float, size: float = SIZE) -> tuple[float, float]:
    low, high = kappa_limits(*(np.array([each]) for each in (value, stderr, ROOM, MOST, size)), 0.95)
    return float(low[0]), float(high[0])


@pytest.mark.parametrize(("value", "stderr"), [(0.4, 0.1), (-0.2, 0.05), (0.99, 0.01), (1.0, 0.0), (0.4, 0.0)])
def test_it_is_wilsons_interval_on_the_scale_from_the_lowest_kappa_to_one(value: float, stderr: float) -> None:
    scale = 1 - LOWEST
    low, high = wilson((value - LOWEST) / scale, stderr / scale, SIZE, 0.95, SIZE)
    assert limits(value, stderr) == pytest.approx((LOWEST + scale * low, LOWEST + scale * high), abs=1e-12)


def test_the_lower_limit_ends_at_the_lowest_possible_kappa() -> None:
    low, high = limits(LOWEST, 0.0)
    assert low == LOWEST < high
    assert LOWEST < limits(LOWEST + 0.1, 0.05)[0] < LOWEST + 0.1


def test_a_kappa_below_the_lowest_possible_is_its_own_lower_limit() -> None:
    low, high = limits(LOWEST - 0.05, 0.1)
    assert low == LOWEST - 0.05 < high


@pytest.mark.parametrize("off", [1e-12, 5e-10])
def test_rounding_counts_as_the_end_and_as_no_error(off: float) -> None:
    assert limits(LOWEST + off, 0.2) == pytest.approx(limits(LOWEST, 0.0), abs=2e-9)
    assert limits(1 - off, 0.2) == pytest.approx(limits(1.0, 0.0), abs=2e-9)
    assert limits(0.4, off) == limits(0.4, 0.0)


def test_without_items_that_inform_there_are_no_limits() -> None:
    assert np.isnan(limits(0.4, 0.1, np.nan)).all()


def test_fishers_z() -> None:
    low, high = fisher_limits(np.array([0.8, -0.3]), np.array([0.05, 0.2]), np.array([29.0, 1e9]), 0.95)
    for k, (value, reach) in enumerate([(0.8, 2.04523 * 0.05), (-0.3, 1.95996 * 0.2)]):
        wanted = [tanh(atanh(value) + sign * reach / (1 - value**2)) for sign in (-1, 1)]
        assert [low[k], high[k]] == pytest.approx(wanted, abs=1e-4)


def test_fishers_z_has_no_limits_where_items_say_the_same() -> None:
    value, stderr = np.array([1.0, 0.2, -1.0, 0.5]), np.array([0.1, 0.0, 0.1, 0.1])
    freedom = np.array([9.0, 9.0, 9.0, 0.0])
    assert np.isnan(fisher_limits(value, stderr, freedom, 0.95)).all()


@pytest.mark.parametrize("apart", [0, 1, 2, 5, 20, 100])
def test_the_limit_of_rare_labels_is_nearly_the_exact_one_sided_one(apart: int) -> None:
    """χ² at 95%, with 2(d + 1) degrees of freedom: never below it, and at most 2% above."""
    share = float(-below_chance(apart, 10_000) / (1 - below_chance(apart, 10_000)))
    exact = chi2.ppf(0.95, 2 * (apart + 1)) / 2 / 10_000
    assert exact <= share <= 1.02 * exact


def test_how_far_below_chance_a_kappa_may_be() -> None:
    assert below_chance(0.0, 60.0) == pytest.approx(-0.05 / 0.95)  # 3/60
    share = (2 + 1.5 + sqrt(3 * 2.75)) / 50
    assert below_chance(np.array([2.0, 40.0]), np.array([50.0, 60.0])) == pytest.approx([-share / (1 - share), -1.0])


def test_one_rare_label_on_a_light_item_is_no_evidence_of_agreement() -> None:
    """A single disagreement of two, and everything else alike: 0 must remain possible."""
    found = find(Tally.from_items([{"a": 3}, {"a": 2}, {"a": 5}, {"a": 1, "b": 1}, {"a": 2}, {"a": 3}])).chance
    kappa, alpha = found["spa_kappa"], found["krippendorff_alpha"]
    assert kappa.low is not None and alpha.low is not None and kappa.value is not None
    assert kappa.low == alpha.low < 0 < kappa.value


def test_equal_numbers_of_annotations_need_no_other_coefficient() -> None:
    found = find(Tally.from_items([{"a": 2}] * 9 + [{"a": 1, "b": 1}] * 2 + [{"b": 2}])).chance
    kappa, alpha = found["spa_kappa"], found["krippendorff_alpha"]
    assert kappa.low is not None and alpha.low is not None
    assert kappa.low > alpha.low
