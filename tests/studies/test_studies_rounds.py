"""Rounds, their summaries and the results that are kept; small runs, exact where theory is exact."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from test_studies_kernels import SETS, by_spagree, make

import spagree
from oracle import agreement
from spagree.studies import rounds
from spagree.studies.rounds import (
    Plan,
    annotation_curves,
    annotation_values,
    checkpoints,
    constant_numbers,
    constant_variance,
    result_path,
    sample_curves,
    variance,
)


@pytest.mark.parametrize(("total", "wanted"), [(1, 100), (7, 100), (100, 100), (17_775, 100), (101, 7)])
def test_checkpoints_rise_to_the_whole(total: int, wanted: int) -> None:
    steps = checkpoints(total, wanted)
    assert len(steps) == min(total, wanted)
    assert steps[-1] == total and steps[0] >= 1 and (np.diff(steps) > 0).all()


def test_curves_begin_with_a_pair_in_every_round_and_end_at_spagrees_value_without_variance() -> None:
    data, plan = SETS["varied"], Plan(rounds=40)
    found, (_, values, _) = annotation_curves(data, plan), annotation_values(data, plan)
    assert len(found.annotations) == (~np.isnan(values).any(axis=(0, 2))).sum() < values.shape[1]
    assert not np.isnan(found.mean).any()
    assert (found.variance[-1] == 0).all() and (found.variance[0] > 0).all()
    assert found.annotations[-1] == data.annotations
    assert found.mean[-1] == pytest.approx(by_spagree(data, np.arange(data.annotations)), rel=1e-12)


def test_the_variance_of_equal_floats_is_exactly_zero() -> None:
    assert variance(np.full((7, 1), 0.1 + 0.2))[0] == 0
    assert variance(np.array([[1.0], [2.0], [4.0]]))[0] == pytest.approx(7 / 3)


def exact_constant_variance(items: list[str], n: int, samples: int) -> Fraction:
    """Every choice of samples and of n annotations of each, enumerated."""
    pools = [[agreement(chosen) for chosen in combinations(labels, n)] for labels in items if len(labels) >= n]
    values: list[tuple[Fraction, Fraction]] = []
    for chosen in combinations(pools, samples):
        weight = Fraction(1)
        for pool in chosen:
            weight /= len(pool)
        values += [(weight, sum(combination) / Fraction(samples)) for combination in product(*chosen)]
    total = sum(weight for weight, _ in values)
    mean = sum(weight * value for weight, value in values) / total
    return sum(weight * value**2 for weight, value in values) / total - mean**2


SMALL = ["aabbc", "aaaa", "abc", "abab", "ab"]


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("samples", [1, 2])
def test_the_closed_form_equals_enumeration(n: int, samples: int) -> None:
    found = constant_variance(make(SMALL), n, np.array([samples]))
    assert found[0] == pytest.approx(float(exact_constant_variance(SMALL, n, samples)), rel=1e-12)


@pytest.mark.parametrize("name", ["varied", "constant", "alike"])
def test_simulated_variances_agree_with_the_closed_form(name: str) -> None:
    """4,000 rounds: the standard error of a variance is about √(2/4000) = 2.2%, or more with heavy tails."""
    found = sample_curves(SETS[name], Plan(rounds=4000))
    varies = found.theory > 1e-12
    ratio = found.variance[varies] / found.theory[varies]
    assert np.abs(ratio - 1).max() < 0.2
    assert ratio.mean() == pytest.approx(1, abs=0.03)
    assert (found.variance[~varies] < 1e-12).all()


def test_the_variance_within_items_is_the_item_variance_when_items_are_alike() -> None:
    """Very many annotations per item, all from one distribution: W is spagree.item_variance."""
    data = make(["a" * 600 + "b" * 400] * 2)
    for n in (2, 3, 7):
        expected = spagree.item_variance(n, [6, 4])
        assert constant_variance(data, n, np.array([1]))[0] == pytest.approx(expected, rel=0.01)


def test_all_numbers_of_annotations_that_a_tenth_of_the_items_has() -> None:
    assert constant_numbers(make(["aaa"] * 19 + ["aaaaaa"])) == [2, 3]
    assert constant_numbers(make(["aaa"] * 9 + ["aaaaaa"])) == [2, 3, 4, 5, 6]
    assert constant_numbers(make(["a"] * 30 + ["aa"])) == [2]


def test_samples_with_all_annotations_and_all_samples_have_no_variance() -> None:
    found = sample_curves(SETS["constant"], Plan(rounds=30))
    last = (found.n == 5) & (found.samples == SETS["constant"].items)
    assert found.variance[last] == [0.0]
    whole = by_spagree(SETS["constant"], np.arange(SETS["constant"].annotations))
    assert found.mean[last][0] == pytest.approx(whole[spagree.SCHEMES.index("flat")], rel=1e-12)


def test_a_finished_result_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, plan = SETS["constant"], Plan(rounds=5, folder=tmp_path)
    first = annotation_curves(data, plan)
    assert list(tmp_path.iterdir()) == [result_path("annotations", data, plan, tmp_path)]
    monkeypatch.setattr(rounds, "annotation_values", None)  # would fail if it were called
    again = annotation_curves(data, plan)
    assert all(np.array_equal(getattr(first, name), getattr(again, name)) for name in ("mean", "variance"))


def test_a_result_is_cached_by_everything_it_depends_on(tmp_path: Path) -> None:
    data, other = SETS["constant"], SETS["varied"]
    paths = {
        result_path(kind, each, plan, tmp_path)
        for kind in ("annotations", "samples")
        for each in (data, other)
        for plan in (Plan(5, 0), Plan(6, 0), Plan(5, 1))
    }
    assert len(paths) == 12


def test_progress_is_reported_until_the_end() -> None:
    data, done, sampled = SETS["constant"], [], []
    annotation_curves(data, Plan(rounds=130, bar=lambda *_: done.append))
    sample_curves(data, Plan(rounds=10, bar=lambda *_: sampled.append))
    assert sum(done) == 130 and len(done) > 1 and sum(sampled) == 10 * len(constant_numbers(data))


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 cut off", b"not a zip at all"])
def test_a_damaged_result_is_made_again(damage: bytes, tmp_path: Path) -> None:
    data, plan = SETS["constant"], Plan(rounds=5, folder=tmp_path)
    first = annotation_curves(data, plan)
    path = result_path("annotations", data, plan, tmp_path)
    path.write_bytes(damage)
    again = annotation_curves(data, plan)
    assert np.array_equal(first.mean, again.mean) and path.stat().st_size > 100
