"""Classes and their confusion against brute force, from annotations, tallies and merged tallies."""

from __future__ import annotations

import dataclasses
from math import sqrt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

import spagree
from breakdown_oracle import THREE_ITEMS, Rows, by_item, class_agreement, close, confused, rows_of
from examples import examples
from oracle import exactly
from spagree.counts import count as counting
from spagree.estimate.classes import ALONE, ONE_ITEM
from spagree.estimate.uncertainty import wilson

ROWS = [*THREE_ITEMS, ("q4", "cyd", "other")]


@given(rows_of())
@examples(30)
def test_every_class_against_brute_force(rows: Rows) -> None:
    found = spagree.measure(rows).classes()
    assert sorted(found["class"]) == sorted({said for _, _, said in rows})
    for row in found.rows(named=True):
        label = row["class"]
        given = [item for item, _, said in rows if said == label]
        assert (row["annotations"], row["items"]) == (len(given), len(set(given)))
        assert row["share"] == pytest.approx(len(given) / len(rows))
        assert row["agreement"] == close(class_agreement(rows, label))


@given(rows_of(4, 4, "vwxyz"))
@examples(30)
def test_confusion_against_brute_force(rows: Rows) -> None:
    found = spagree.measure(rows).confusion()
    seen = {(row["class"], row["other"]) for row in found.rows(named=True)}
    said = [{label for _, label in each} for each in by_item(rows).values()]
    assert seen == {(one, other) for labels in said for one in labels for other in labels if one != other}
    for row in found.rows(named=True):
        one, other = row["class"], row["other"]
        counts = [[label for _, label in each] for each in by_item(rows).values()]
        pairs = [each.count(one) * each.count(other) for each in counts]
        assert (row["pairs"], row["items"]) == (sum(pairs), sum(each > 0 for each in pairs))
        assert row["probability"] == close(confused(rows, one, other))


@given(rows_of())
@examples(10)
def test_agreement_and_confusion_of_a_class_are_all_there_is(rows: Rows) -> None:
    measured = spagree.measure(rows)
    mixed = measured.confusion()
    for row in measured.classes().rows(named=True):
        if row["agreement"] is not None:
            others = mixed.filter(pl.col("class") == row["class"])["probability"].sum()
            assert row["agreement"] + others == pytest.approx(1, abs=1e-13)


def test_the_standard_error_is_that_of_a_ratio() -> None:
    """x = n_c and y = n_c(n_c − 1)/(n − 1) per item: se = √(m/(m−1) Σ(y − Rx)²)/Σx, and Wilson on top."""
    row = spagree.measure(ROWS).classes().filter(pl.col("class") == "no").row(0, named=True)
    x, y = [1, 2, 1], [0.0, 2.0, 0.0]
    ratio = sum(y) / sum(x)
    stderr = sqrt(3 / 2 * sum((b - ratio * a) ** 2 for a, b in zip(x, y, strict=True))) / sum(x)
    assert row["agreement"] == ratio and row["stderr"] == pytest.approx(stderr, abs=1e-15)
    limits = wilson(ratio, stderr, sum(x) ** 2 / sum(a * a for a in x), 0.95)
    assert (row["low"], row["high"]) == pytest.approx(limits, abs=1e-14)


def test_the_level_reaches_the_interval() -> None:
    wide, narrow = (spagree.measure("example:sparse", level=level).classes() for level in (0.95, 0.5))
    assert (wide["low"] < narrow["low"]).all() and (wide["high"] > narrow["high"]).all()


def test_classes_that_cannot_be_judged_come_last_with_a_reason() -> None:
    found = spagree.measure(ROWS).classes()
    other = found.row(-1, named=True)
    assert (other["class"], other["agreement"], other["undefined"]) == ("other", None, ALONE)
    once = spagree.measure([("q1", "a", "x"), ("q1", "b", "y"), ("q2", "a", "y"), ("q2", "b", "y")]).classes()
    row = once.filter(pl.col("class") == "x").row(0, named=True)
    assert (row["agreement"], row["stderr"], row["low"], row["undefined"]) == (0.0, None, None, ONE_ITEM)


def test_well_founded_classes_come_first_least_agreement_first() -> None:
    many = [(f"q{i}", who, "x" if i % 2 else "y") for i in range(40) for who in "ab"]
    mixed = [
        *many,
        ("r", "a", "z"),
        ("r", "b", "x"),
        ("s", "a", "y"),
        ("s", "b", "x"),
        ("t", "a", "x"),
        ("t", "b", "z"),
    ]
    found = spagree.measure(mixed).classes()
    assert found["class"].to_list() == ["x", "y", "z"] and found["few"].to_list() == [False, False, True]
    assert found["agreement"].to_list() == pytest.approx([40 / 43, 40 / 41, 0])


def test_one_class_and_no_annotation() -> None:
    row = (
        spagree.measure([("q1", "a", "x"), ("q1", "b", "x"), ("q2", "a", "x"), ("q2", "b", "x")])
        .classes()
        .row(0, named=True)
    )
    assert (row["agreement"], row["share"], row["stderr"], row["high"]) == (1.0, 1.0, 0.0, 1.0) and row["low"] < 1
    empty = spagree.measure(
        pl.DataFrame({"item": [None], "label": ["x"]}, schema={"item": pl.String, "label": pl.String})
    )
    assert empty.classes().height == 0 and empty.confusion().height == 0
    assert empty.classes().schema["class"] == pl.String


def test_merged_tallies_know_their_classes() -> None:
    whole = spagree.measure(ROWS)
    parts = spagree.tally(ROWS[:3]) + spagree.tally(ROWS[3:])
    assert spagree.measure(parts).classes().equals(whole.classes())
    assert spagree.measure(parts).confusion().equals(whole.confusion())
    assert spagree.measure(spagree.count_items(ROWS)).classes().equals(whole.classes())


def test_counts_without_annotators_have_classes() -> None:
    found = spagree.measure(np.array([[2, 0], [1, 1]]), label=["x", "y"], format="counts").classes()
    assert found.select("class", "annotations", "agreement").rows() == [("y", 1, 0.0), ("x", 3, 2 / 3)]


def test_without_patterns_the_items_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = spagree.measure("example:sparse")
    monkeypatch.setattr(counting, "MOST_PATTERNS", 3)
    bare = spagree.measure("example:sparse")
    assert (
        bare.classes()
        .drop("agreement", "stderr", "low", "high")
        .equals(whole.classes().drop("agreement", "stderr", "low", "high"))
    )
    for name in ("agreement", "stderr", "low", "high"):
        assert_allclose(bare.classes()[name], whole.classes()[name], rtol=1e-13)
    assert_allclose(bare.confusion()["probability"], whole.confusion()["probability"], rtol=1e-13)
    with pytest.raises(
        spagree.UsageError,
        match=exactly(
            "the tally does not keep which labels were given together: too many different combinations; measure "
            "the annotations themselves"
        ),
    ):
        spagree.measure(spagree.tally("example:sparse")).classes()


def test_the_tally_is_the_same_without_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = spagree.tally(ROWS)
    monkeypatch.setattr(counting, "MOST_PATTERNS", 1)
    bare = spagree.tally(ROWS)
    assert whole.patterns is not None and bare == dataclasses.replace(whole, patterns=None)


def test_nothing_without_patterns_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_PATTERNS", -1)
    assert spagree.measure([(None, "ann", "x"), ("q1", "bob", None)]).classes().height == 0


def test_relabelling_renames_the_classes_and_nothing_else() -> None:
    new = {"yes": "", "no": "NA", "other": "é"}
    renamed = spagree.measure([(item, who, new[label]) for item, who, label in ROWS])
    one, other = spagree.measure(ROWS).classes(), renamed.classes()
    old = one.with_columns(pl.col("class").replace(new))
    assert old.sort("class").equals(other.sort("class"))


def test_row_order_does_not_matter() -> None:
    frame = pl.DataFrame(ROWS, schema=["item", "annotator", "label"], orient="row")
    for seed in range(3):
        shuffled = spagree.measure(frame.sample(fraction=1, shuffle=True, seed=seed))
        assert shuffled.classes().equals(spagree.measure(frame).classes())
        assert shuffled.confusion().equals(spagree.measure(frame).confusion())


def test_a_metric_counts_near_labels_as_partial_agreement() -> None:
    rows = [("q1", "a", "1"), ("q1", "b", "2"), ("q2", "a", "1"), ("q2", "b", "3"), ("q3", "a", "3"), ("q3", "b", "3")]
    found = spagree.measure(rows, metric="linear").classes()
    values = dict(found.select("class", "agreement").rows())
    assert values == {"1": pytest.approx(0.25), "2": pytest.approx(0.5), "3": pytest.approx(2 / 3)}
