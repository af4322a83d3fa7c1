"""The interval of a kappa at the bounds of its scale and of its variance (docs/mathematics.md §13)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spagree.estimate import find
from spagree.estimate.intervals import Information, kappa_limits
from spagree.tally.tally import Tally

THIRTY = Information(*(np.array([each]) for each in (15.0, 7.5, 1.875, 1.0, 30.0, 0.5, 0.8, 0.5)))
LOWEST = 1 - 0.8 / 0.5  # of a kappa, if annotators differ on 0.8 of the items and by chance on half


def limits(value: float, stderr: float, information: Information = THIRTY) -> tuple[float, float]:
    low, high = kappa_limits(np.array([value]), np.array([stderr]), information, 0.95)
    return float(low[0]), float(high[0])


def test_the_lower_limit_ends_at_the_lowest_possible_kappa() -> None:
    low, high = limits(LOWEST, 0.0)
    assert low == LOWEST < high
    assert LOWEST < limits(LOWEST + 0.1, 0.05)[0] < LOWEST + 0.1


def test_a_kappa_below_the_lowest_possible_is_its_own_lower_limit() -> None:
    low, high = limits(LOWEST - 0.05, 0.1)
    assert low == LOWEST - 0.05 < high


@pytest.mark.parametrize("off", [1e-12, 5e-10])
def test_rounding_at_either_end_counts_as_the_end(off: float) -> None:
    assert limits(LOWEST + off, 0.2) == pytest.approx(limits(LOWEST, 0.0), abs=2e-9)
    assert limits(1 - off, 0.2) == pytest.approx(limits(1.0, 0.0), abs=2e-9)


def test_no_standard_error_exceeds_twice_the_variance_of_items_that_differ_as_much_as_they_can() -> None:
    value, size = 0.4, 30
    place = (value - LOWEST) / (1 - LOWEST)
    most = (1 - LOWEST) * np.sqrt(2 * place * (1 - place) / size)
    assert limits(value, 10.0) == limits(value, 1.001 * most) == pytest.approx(limits(value, most))
    assert limits(value, 0.99 * most) != limits(value, most)


def test_few_informative_items_use_the_implied_variance_in_full_and_many_hardly() -> None:
    """Fifteen items with equal information: Σg²/(Σg)² = 1/15."""

    def equal(items: int) -> Information:
        half = [items * 0.5**power for power in (1, 2, 4)]
        given = (*half, 1.0, float(items), 0.5, 0.8, 0.5)
        return Information(*(np.array([each]) for each in given))

    def implied(items: int) -> float:
        place = (0.4 - LOWEST) / (1 - LOWEST)
        return float((1 - LOWEST) * np.sqrt(place * (1 - place) / items))

    small = 0.02  # a standard error far below the implied one
    for items in (5, 15):
        assert limits(0.4, small, equal(items)) == pytest.approx(limits(0.4, implied(items), equal(items)))
    assert limits(0.4, small, equal(16))[0] > limits(0.4, implied(16), equal(16))[0]
    assert limits(0.4, small, replace(equal(15), relative=np.zeros(1)))[0] > limits(0.4, small, equal(15))[0]


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
