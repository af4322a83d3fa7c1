"""What needs no simulation: weight curves, class curves, expectations by enumeration, the experiments."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb, exp, log

import numpy as np
import pytest

import spagree
from spagree.studies import exact, experiments
from spagree.studies.rounds import AnnotationCurves


def test_weight_curves_are_those_of_the_figure_and_differ_between_numbers_of_classes_by_rounding_alone() -> None:
    rows = exact.weight_curves()
    summed = [row for row in rows if row["classes"]]
    assert {row["deviation"] for row in summed} == {0.0}
    assert 0 < max(abs(row["deviation_of_sums"]) for row in summed) < 1e-13
    found = Counter((row["curve"], row["classes"]) for row in rows)
    expected = [*((name, None) for name in exact.SIMPLE), *(("inv_var", classes) for classes in range(2, 8))]
    assert dict(found) == dict.fromkeys(expected, 9)
    assert all(row["weight"] == 1 for row in rows if row["annotations"] == 10)


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("n", [2, 3, 6, 10])
def test_the_papers_sums_are_the_closed_form(n: int, classes: int) -> None:
    assert exact.paper_variance(n, classes) == pytest.approx(spagree.item_variance(n, [1] * classes), rel=1e-10)


def test_class_distributions_are_drawn_as_in_the_paper() -> None:
    drawn = list(exact.class_distributions(5, seed=1))
    assert [len(p) for p in drawn] == [classes for classes in range(2, 11) for _ in range(5)]
    assert all(sum(p) == pytest.approx(1) for p in drawn)
    assert all(max(p) / min(p) < exp(6) for p in drawn)
    assert drawn == list(exact.class_distributions(5, seed=1)) != list(exact.class_distributions(5, seed=2))


def test_class_curves_lie_between_edge_and_annotations() -> None:
    rows = exact.class_curves(seed=0)
    assert len(rows) == 9 * 10 * 9
    for row in rows:
        n = row["annotations"]
        assert comb(n, 2) / comb(10, 2) - 1e-12 <= row["weight"] <= n / 10 + 1e-12


def test_the_area_is_a_function_of_the_shape_alone() -> None:
    points = sorted(exact.class_points(seed=0), key=lambda row: row["shape"])
    assert len(points) == 9 * 250
    areas = [row["area"] for row in points]
    assert areas == sorted(areas)
    assert all(0 <= row["shape"] <= 0.5 for row in points)
    entropies = [row["entropy"] for row in points]
    assert entropies != sorted(entropies, reverse=True)
    assert exact.about([0.25] * 4) == {"classes": 4, "entropy": pytest.approx(log(4)), "shape": 0.0}


N_ONLY = ("flat", "annotations", "annotations_m1", "edge", "inv_var")


def test_weights_by_n_are_exactly_unbiased_on_balanced_data_and_no_others_given_n_only_flat() -> None:
    rows = exact.unbiasedness()
    balanced, unbalanced, given = (
        [row for row in rows if row["design"] == design] for design in ("balanced", "unbalanced", "given n")
    )
    assert len(balanced) == 11 * 6
    assert all(row["exactly_zero"] for row in balanced if row["scheme"] in N_ONLY)
    assert all(row["exactly_zero"] == (row["scheme"] == "flat") for row in given)
    # the figures of docs/mathematics.md
    estimated, biased = (
        {row["scheme"]: row["bias"] for row in part if row["removed"] == 3} for part in (balanced, unbalanced)
    )
    assert round(estimated["inv_var_class"], 4) == -0.0061
    assert [round(0.5 + biased[name], 3) for name in N_ONLY[:4]] == [0.609, 0.728, 0.787, 0.870]


def test_given_n_the_expectation_is_the_weighted_mean_of_the_full_agreements() -> None:
    full, kept = exact.BALANCED, (4, 3, 2)
    (bias,) = (row["bias"] for row in exact.biases(full, "given n", [kept]) if row["scheme"] == "annotations_m1")
    weighted = sum(Fraction(n - 1) * exact.agreement(labels) for n, labels in zip(kept, full, strict=True)) / 6
    assert bias == pytest.approx(float(weighted - exact.full_agreement(full)))


def test_all_ways_are_counted() -> None:
    found = exact.ways(["ab", "ccc"])
    assert found.total() == 2**5 - len([kept for kept in subsets(["ab", "ccc"]) if max(map(len, kept)) < 2])
    assert found["ab", "cc"] == 3


def subsets(full: list[str]) -> list[tuple[str, ...]]:
    places = [(item, label) for item, labels in enumerate(full) for label in labels]
    return [
        tuple("".join(b for a, b in chosen if a == item) for item in range(len(full)))
        for size in range(len(places) + 1)
        for chosen in combinations(places, size)
    ]


def test_spa_of_the_remainder_equals_that_of_spagree() -> None:
    kept = ("aab", "ab", "c", "abcc")
    tally = spagree.Tally.from_items([Counter(labels) for labels in kept])
    for scheme, found in spagree.measure(tally).schemes.items():
        assert float(exact.spa(kept, scheme)) == pytest.approx(found.value, rel=1e-15)


def test_sums_under_the_curve_are_differences_to_flat_times_a_hundred() -> None:
    found = experiments.sums_under_curve(np.array([[2.0, 1, 2, 3, 3, 2], [1.0, 1, 1, 1, 1, 1]]))
    assert found["flat"] == 0 and found["annotations"] == -100 and found["edge"] == 100


def test_squared_error_counts_bias_against_the_full_flat_value() -> None:
    steps = np.arange(1, 3)
    found = AnnotationCurves(
        steps, steps * 1.0, np.array([[0.5] * 6, [0.7, *[0.9] * 5]]), np.array([[1.0] * 6, [0.0] * 6])
    )
    assert experiments.target(found) == 0.7
    assert experiments.squared_error(found) == pytest.approx(np.array([[1.04] * 6, [0.0, *[0.04] * 5]]))


def test_the_published_table_is_quoted_with_its_marks() -> None:
    """The paper's bold and underlined figures follow from its numbers."""
    best = {
        name: min(zip(values, experiments.COLUMNS, strict=True))[1] for name, values in experiments.PUBLISHED.items()
    }
    assert best == {
        "mbic_label": "annotations_m1", "mbic_factual": "annotations_m1",
        "bsmtwe_trust_vs_disgust": "inv_var_class", "bsmtwe_surprise_vs_antecip": "inv_var_class",
        "bsmtwe_joy_vs_sadness": "annotations_m1", "bsmtwe_anger_vs_fear": "inv_var_class",
        "fecg_label": "annotations", "dar_main_type": "flat",
    }  # fmt: skip
    assert all(values[0] == values[4] for values in experiments.PUBLISHED.values())  # var is edge


def test_tables_in_markdown() -> None:
    rows = [{"data": "x", "edge": "−1.0", "flat": "**2.0**"}, {"data": "y", "edge": "–", "flat": "1.0"}]
    lines = experiments.markdown(rows).splitlines()
    assert lines == ["| data | edge | flat |", "|---|--:|--:|", "| x | −1.0 | **2.0** |", "| y | – | 1.0 |"]
