"""Weights: the natural scale of each scheme, the user's own, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from math import comb, inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import spagree
from oracle import exactly, parse, rounded, spa, tally_of
from spagree.counts.tally import Tally
from spagree.errors import UsageError
from spagree.estimate import CUSTOM, DEFAULT, SCHEMES, check_scheme, find, weigh
from spagree.estimate.weights import REGISTRY, by_number, zetas
from spagree.studies import experiments
from spagree.studies.datasets import label_set
from spagree.studies.rounds import Plan, annotation_curves, annotation_values, result_path

ITEMS = parse("a aa ab aab abc aaab aabbb cccccc")
TALLY = tally_of(ITEMS)
SIZES = [2, 3, 4, 5, 6]


def test_registry_names_the_papers_six_schemes_and_ours() -> None:
    assert SCHEMES == ("flat", "annotations", "annotations_m1", "edge", "inv_var", "inv_var_class")
    assert DEFAULT == "annotations_m1"
    assert CUSTOM == "custom"


@pytest.mark.parametrize(
    ("scheme", "weights"),
    [
        ("flat", [1, 1, 1, 1, 1]),
        ("annotations", [2, 3, 4, 5, 6]),
        ("annotations_m1", [1, 2, 3, 4, 5]),
        ("edge", [1, 3, 6, 10, 15]),
        # var = 2/(n(n−1)) · (C−1)/C² with C = 3
        ("inv_var", [Fraction(9, 2) * comb(n, 2) for n in SIZES]),
    ],
)
def test_simple_schemes_keep_the_papers_natural_scale(scheme: str, weights: list[Any]) -> None:
    found = weigh(scheme, TALLY)
    assert found.by_n == dict(zip(SIZES, weights, strict=True))
    assert all(isinstance(weight, Fraction) for weight in found.by_n.values())
    assert (found.scheme, found.fallback) == (scheme, None)


def test_inv_var_class_is_one_over_the_variance_rounded_once() -> None:
    zeta1, zeta2 = zetas(TALLY.pairable_labels.values())
    found = weigh("inv_var_class", TALLY)
    for n in SIZES:
        exact = comb(n, 2) / (2 * (n - 2) * zeta1 + zeta2)
        assert found.by_n[n] == Fraction(rounded(exact))
    assert (found.scheme, found.fallback) == ("inv_var_class", None)
    assert list(found.by_n) == SIZES


@pytest.mark.parametrize("scheme", ["inv_var", "inv_var_class"])
@pytest.mark.parametrize(
    ("data", "found"), [("aa aaa b", "all annotations carry one label"), ("a b", "there is no label")]
)
def test_one_class_falls_back_to_edges_and_says_so(scheme: str, data: str, found: str) -> None:
    weights = weigh(scheme, tally_of(parse(data)))
    assert weights.by_n == weigh("edge", tally_of(parse(data))).by_n
    assert weights.scheme == scheme
    assert weights.fallback == f"{found}, so the variance is 0 and its inverse undefined; edge, its limit, is used"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_items_without_a_pair_have_no_weight(scheme: str) -> None:
    assert list(weigh(scheme, TALLY).by_n) == SIZES
    assert weigh(scheme, tally_of([["a"]])).by_n == {}
    assert weigh(scheme, Tally()).by_n == {}


# The user's own weights ------------------------------------------------------------------------------


def test_custom_weights_from_a_mapping_or_a_function() -> None:
    for given in ({n: n**2 for n in range(2, 10)}, lambda n: n**2):
        found = find(TALLY, given)
        assert found.spa.value == rounded(spa(ITEMS, lambda labels: len(labels) ** 2))
        assert found.spa.weights == "custom"
        assert found.weights["custom"].by_n == {n: n**2 for n in SIZES}
        assert list(found.schemes) == list(SCHEMES)
        assert list(found.weights) == [*SCHEMES, "custom"]


@pytest.mark.parametrize("weight", [0.1, Fraction(1, 3), 7])
def test_custom_weights_are_used_exactly(weight: Any) -> None:
    assert weigh(dict.fromkeys(SIZES, weight), TALLY).by_n == dict.fromkeys(SIZES, Fraction(weight))


@pytest.mark.parametrize("scale", [10.0**-200, 10.0**200, 10**400, Fraction(1, 10**400), 2])
def test_custom_weights_matter_only_up_to_a_factor_whatever_its_size(scale: Any) -> None:
    scaled = find(TALLY, lambda n: Fraction(scale) * (n - 1)).spa
    plain = find(TALLY).spa
    assert (scaled.value, scaled.stderr, scaled.low, scaled.high) == (plain.value, plain.stderr, plain.low, plain.high)


@pytest.mark.parametrize("weight", [0, 0.0, -1, -0.5, nan, inf, -inf, "2", None, [1], 1j])
def test_invalid_weights_are_refused_by_name(weight: Any) -> None:
    for given in ({2: 1, 3: 2, 4: weight, 5: 1, 6: 1}, lambda n: weight if n == 4 else 1):
        with pytest.raises(UsageError) as caught:
            weigh(given, TALLY)
        assert str(caught.value) == f"custom weights: {weight!r} for n = 4; a weight is a positive number"


def test_missing_custom_weights_are_named() -> None:
    with pytest.raises(UsageError) as caught:
        weigh({2: 1, 4: 1, 6: 1}, TALLY)
    wanted = "custom weights: none given for items with 3, 5 annotations; give one for each n"
    assert str(caught.value) == wanted


# Names -----------------------------------------------------------------------------------------------


def test_a_misspelt_scheme_is_refused_with_the_nearest_name() -> None:
    message = (
        "unknown weighting scheme 'egde'; did you mean 'edge'? Known: flat, annotations, annotations_m1, "
        "edge, inv_var, inv_var_class"
    )
    for refuse in (lambda: weigh("egde", TALLY), lambda: check_scheme("egde"), lambda: find(TALLY, "egde")):
        with pytest.raises(UsageError) as caught:
            refuse()
        assert str(caught.value) == message


@pytest.mark.parametrize("scheme", ["anno", "annotation", "EDGE", "", "custom"])
def test_names_are_not_matched_by_prefix_or_case(scheme: str) -> None:
    with pytest.raises(UsageError, match="unknown weighting scheme"):
        check_scheme(scheme)


ABOUT = "weighted by the square of its annotations"


@pytest.fixture
def squares(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(REGISTRY, "squares", by_number(ABOUT, lambda n: n * n))
    return "squares"


def test_another_scheme_is_estimated_exactly(squares: str) -> None:
    found = find(tally_of(ITEMS), squares)
    expected = spa(ITEMS, lambda labels: len(labels) ** 2)
    assert found.spa.value == found.schemes[squares].value == float(expected)
    assert weigh(squares, tally_of(ITEMS)).by_n == {n: n * n for n in (2, 3, 4, 5, 6)}


def test_another_scheme_is_in_every_output(squares: str, tmp_path: Path) -> None:
    agreement = spagree.measure("example:sparse", weights=squares)
    figures = agreement.to_dict()
    assert figures["spa"]["weights"] == squares
    assert figures["schemes"][squares]["value"] == figures["spa"]["value"]
    assert f"▸ {squares}" in str(agreement)
    assert f"<th scope='row'>{squares}</th>" in agreement._repr_html_()
    agreement.export(tmp_path)
    assert squares in pl.read_csv(tmp_path / "schemes.csv")["scheme"].to_list()
    page = agreement.report(tmp_path / "report.html").read_text("utf-8")
    assert squares in page


def test_without_its_entry_the_scheme_is_unknown() -> None:
    with pytest.raises(
        spagree.UsageError,
        match=exactly(
            "unknown weighting scheme 'squares'; known: flat, annotations, annotations_m1, edge, inv_var, inv_var_class"
        ),
    ):
        spagree.measure("example:sparse", weights="squares")


def test_another_scheme_is_in_the_rounds_of_the_paper(squares: str, tmp_path: Path) -> None:
    """Not NaN: what the last checkpoint of every round holds is what spagree estimates from all annotations."""
    frame = spagree.simulate(items=40, annotators=7, per_item=(1, 7), seed=8).frame.select("item", "label")
    data = label_set("made", "Made", frame)
    _, values, _ = annotation_values(data, Plan(5, 1))
    expected = [found.value for found in spagree.measure(frame).schemes.values()]
    assert list(REGISTRY).index(squares) == len(expected) - 1
    assert np.allclose(values[:, -1], expected, rtol=1e-12, atol=0)
    curves = annotation_curves(data, Plan(rounds=30, folder=tmp_path))
    assert experiments.sums_under_curve(curves.variance).keys() == REGISTRY.keys()


def test_cached_rounds_of_other_schemes_are_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = label_set("made", "Made", spagree.simulate(items=9, annotators=3, seed=8).frame.select("item", "label"))
    plan = Plan(rounds=2, folder=tmp_path)
    annotation_curves(data, plan)
    assert result_path("annotations", data, plan, tmp_path).exists()
    monkeypatch.setitem(REGISTRY, "squares", by_number(ABOUT, lambda n: n * n))
    assert not result_path("annotations", data, plan, tmp_path).exists()
