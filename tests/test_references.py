"""Other packages as oracles: the values they gave on the same data (see references/make_references.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import spagree

FOUND = json.loads((Path(__file__).parent / "references" / "references.json").read_text("utf-8"))


def triples(data: str) -> list[tuple[int, int, str]]:
    cells = ((item, rater, label) for item, row in enumerate(data.split()) for rater, label in enumerate(row))
    return [cell for cell in cells if cell[2] != "."]


def chance(name: str, metric: str) -> dict[str, Any]:
    return dict(spagree.measure(triples(FOUND["data"][name]), metric=metric).chance)


ALPHAS = [(name, level) for name, levels in FOUND["krippendorff"].items() for level in levels]


@pytest.mark.parametrize(("name", "level"), ALPHAS)
def test_alpha_is_that_of_the_krippendorff_package(name: str, level: str) -> None:
    expected = FOUND["krippendorff"][name][level]
    assert chance(name, level)["krippendorff_alpha"].value == pytest.approx(expected, abs=1e-12)


GWET = [
    (name, metric, coefficient)
    for name, metrics in FOUND["irrCAC"].items()
    for metric, coefficients in metrics.items()
    for coefficient in coefficients
]


@pytest.mark.parametrize(("name", "metric", "coefficient"), GWET)
def test_coefficients_are_those_of_irrcac(name: str, metric: str, coefficient: str) -> None:
    expected = FOUND["irrCAC"][name][metric][coefficient]
    assert chance(name, metric)[coefficient].value == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("name", FOUND["irrCAC_conger"])
def test_congers_kappa_is_that_of_irrcac_on_its_own_examples(name: str) -> None:
    rows, value = FOUND["irrCAC_conger"][name]["rows"], FOUND["irrCAC_conger"][name]["value"]
    assert spagree.measure(rows).chance["conger_kappa"].value == pytest.approx(value, abs=1e-11)


def test_fleiss_kappa_is_that_of_statsmodels_on_complete_data() -> None:
    assert chance("complete", "nominal")["fleiss_kappa"].value == pytest.approx(FOUND["statsmodels"], abs=1e-12)


@pytest.mark.parametrize("metric", ["jaccard", "masi"])
def test_alpha_of_sets_is_that_of_nltk(metric: str) -> None:
    sets = ((item, rater, label) for item, *labels in FOUND["sets"] for rater, label in enumerate(labels))
    rows = [(item, rater, json.dumps(sorted(label))) for item, rater, label in sets]
    found = spagree.measure(rows, metric=metric).chance["krippendorff_alpha"]
    assert found.value == pytest.approx(FOUND["nltk"][metric], abs=1e-12)


# Where a peer fails, or answers another question than the one that was asked ------------------

PITFALLS = FOUND["pitfalls"]


def test_krippendorff_answers_for_interval_labels_unless_told_while_nothing_here_does() -> None:
    found = {level: chance("krippendorff", level)["krippendorff_alpha"].value for level in ("nominal", "interval")}
    assert PITFALLS["krippendorff_default"] == pytest.approx(found["interval"])
    default = spagree.measure(triples(FOUND["data"]["krippendorff"]))
    assert default.findings.metric == "nominal" and default.chance["krippendorff_alpha"].value == found["nominal"]


def test_statsmodels_takes_a_missing_cell_for_a_class_while_here_it_is_missing() -> None:
    rows = [("i1", "a", 1), ("i1", "b", 2), ("i1", "c", None), ("i2", "a", 1), ("i2", "b", 1), ("i2", "c", 2)]
    data = spagree.measure(rows).data
    assert PITFALLS["statsmodels_classes_of_1_2_nan"] == 3
    assert data.classes == 2 and data.left_out == {"missing_label": 1}


def test_nltk_has_no_kappa_for_incomplete_data_while_here_it_has_an_interval() -> None:
    assert PITFALLS["nltk_multi_kappa_on_sparse"] == PITFALLS["nltk_kappa_on_sparse"] == "RuntimeError"
    found = chance("bars", "nominal")["spa_kappa"]
    assert found.low < found.value < found.high


def test_irrcac_has_no_doubt_at_perfect_agreement_while_here_eight_items_leave_some() -> None:
    assert PITFALLS["irrCAC_perfect_interval"] == [1.0, 1]
    found = spagree.measure(triples("aa bb aa bb cc aa bb cc")).chance["gwet_ac1"]
    assert found.value == 1 and found.low < 0.8
