"""A weighting scheme is one entry in one file: an eighth one, registered for a test, is found wherever schemes are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import spagree
from oracle import exactly, parse, spa, tally_of
from spagree.estimate import find, weigh
from spagree.estimate.weights import REGISTRY, SCHEMES, by_number
from spagree.studies import experiments
from spagree.studies.datasets import label_set
from spagree.studies.rounds import Plan, annotation_curves, annotation_values, is_cached

ITEMS = parse("a aa ab aab abc aaab aabbb cccccc")
ABOUT = "weighted by the square of its annotations"


@pytest.fixture
def squares(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(REGISTRY, "squares", by_number(ABOUT, lambda n: n * n))
    return "squares"


def test_the_registry_names_the_public_schemes() -> None:
    assert spagree.SCHEMES == SCHEMES == tuple(REGISTRY)


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
    assert ABOUT in page


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
    _, values, _ = annotation_values(data, 5, seed=1)
    expected = [found.value for found in spagree.measure(data.tally()).schemes.values()]
    assert list(REGISTRY).index(squares) == len(expected) - 1
    assert np.allclose(values[:, -1], expected, rtol=1e-12, atol=0)
    curves = annotation_curves(data, Plan(rounds=30, folder=tmp_path))
    assert experiments.sums_under_curve(curves.variance).keys() == REGISTRY.keys()


def test_cached_rounds_of_other_schemes_are_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = label_set("made", "Made", spagree.simulate(items=9, annotators=3, seed=8).frame.select("item", "label"))
    plan = Plan(rounds=2, folder=tmp_path)
    annotation_curves(data, plan)
    assert is_cached("annotations", data, plan)
    monkeypatch.setitem(REGISTRY, "squares", by_number(ABOUT, lambda n: n * n))
    assert not is_cached("annotations", data, plan)
