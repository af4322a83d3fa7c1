"""Annotators: agreement with the others and SPA without them, against brute force over all pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import comb, sqrt

import polars as pl
import pytest
from hypothesis import given

import spagree
from breakdown_oracle import THREE_ITEMS, Rows, annotator_agreement, by_item, close, rows_of, spa, without
from examples import examples
from oracle import exactly
from spagree.estimate import jackknife
from spagree.estimate.annotators import NO_OVERLAP, ONE_ITEM
from spagree.estimate.uncertainty import wilson

WEIGHTS: dict[str, Callable[[int], Fraction]] = {
    "flat": lambda n: Fraction(1),
    "annotations": Fraction,
    "annotations_m1": lambda n: Fraction(n - 1),
    "edge": lambda n: Fraction(comb(n, 2)),
    "inv_var": lambda n: Fraction(comb(n, 2)),
}
ROWS = [*THREE_ITEMS, ("q4", "dan", "other")]


@given(rows_of())
@examples(30)
def test_every_annotator_against_brute_force(rows: Rows) -> None:
    found = spagree.measure(rows).annotators()
    assert sorted(found["annotator"]) == sorted({who for _, who, _ in rows})
    items = by_item(rows)
    for row in found.rows(named=True):
        who = row["annotator"]
        own = [item for item, each, _ in rows if each == who]
        assert row["annotations"] == len(own) and row["coverage"] == len(own) / len(items)
        assert row["shared"] == sum(len(items[item]) > 1 for item in own)
        assert row["agreement"] == close(annotator_agreement(rows, who))
        assert row["few"] == (row["shared"] < 10)


@pytest.mark.parametrize("scheme", WEIGHTS)
@given(rows_of())
@examples(15)
def test_spa_without_each_annotator_is_spa_of_the_rest(scheme: str, rows: Rows) -> None:
    measured = spagree.measure(rows, weights=scheme)
    whole = spa(rows, WEIGHTS[scheme])
    for row in measured.annotators().rows(named=True):
        rest = spa(without(rows, row["annotator"]), WEIGHTS[scheme])
        assert row["spa_without"] == close(rest)
        assert row["change"] == (None if rest is None or whole is None else close(rest - whole))


@given(rows_of(12, 6))
@examples(10)
def test_blocks_of_annotators_change_nothing(rows: Rows) -> None:
    whole = spagree.measure(rows).annotators()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jackknife, "CELLS_AT_ONCE", 7)
        assert spagree.measure(rows).annotators().equals(whole)


@pytest.mark.parametrize("power", [6, 20, -20])
@pytest.mark.parametrize("items", [[2, 3], [2, 3, 5, 8], [2, 2, 1999, 2000]])
def test_spa_without_each_annotator_is_exact_however_steep_the_weights(power: int, items: list[int]) -> None:
    def weight(n: int) -> Fraction:
        return Fraction(10) ** (power * n)

    rows = [(f"q{i}", f"a{j}", "xyz"[(j * j + i * j) % 3]) for i, n in enumerate(items) for j in range(n)]
    measured = spagree.measure(rows, weights=weight)
    found = {row["annotator"]: row["spa_without"] for row in measured.annotators().rows(named=True)}
    for who in ("a0", "a1", "a2", f"a{max(items) - 1}"):
        assert found[who] == pytest.approx(float(by_counts(without(rows, who), weight)), rel=4e-15)


def by_counts(rows: Rows, weight: Callable[[int], Fraction]) -> Fraction:
    """SPA in exact fractions, from the labels of each item."""
    above = below = Fraction()
    for said in by_item(rows).values():
        if (n := len(said)) > 1:
            counts = Counter(label for _, label in said).values()
            above += weight(n) * Fraction(sum(count * (count - 1) for count in counts), n * (n - 1))
            below += weight(n)
    return above / below


def test_custom_weights_apply_to_the_remaining_annotations() -> None:
    rows = [*ROWS, ("q2", "cyd", "yes")]
    measured = spagree.measure(rows, weights=lambda n: n * n)
    found = {row["annotator"]: row["spa_without"] for row in measured.annotators().rows(named=True)}
    for who in ("ann", "bob", "cyd", "dan"):
        assert found[who] == close(spa(without(rows, who), lambda n: Fraction(n * n)))
    with pytest.raises(
        spagree.UsageError,
        match=exactly("custom weights: none given for items with 2 annotations; give one for each n"),
    ):
        spagree.measure(ROWS[:3], weights={3: 1}).annotators()


def test_weights_that_are_estimated_stay_as_they_are() -> None:
    rows = (
        spagree.simulate(items=60, annotators=6, per_item=(2, 5), seed=3)
        .frame.select("item", "annotator", "label")
        .rows()
    )
    measured = spagree.measure(rows, weights="inv_var_class")
    by_n = measured.findings.weights["inv_var_class"].by_n
    found = {row["annotator"]: row["spa_without"] for row in measured.annotators().rows(named=True)}
    for who, value in found.items():
        rest = without(rows, who)
        assert {len(said) for said in by_item(rest).values()} - {1} <= set(by_n)
        assert value == pytest.approx(float(spa(rest, lambda n: by_n[n]) or 0), abs=1e-13)


def test_the_interval_is_wilsons_over_the_shared_items() -> None:
    row = spagree.measure(ROWS).annotators().filter(pl.col("annotator") == "ann").row(0, named=True)
    shares = [0.5, 1.0, 0.0]
    stderr = sqrt(sum((each - 0.5) ** 2 for each in shares) / 2 / 3)
    assert (row["agreement"], row["stderr"]) == (0.5, pytest.approx(stderr))
    assert (row["low"], row["high"]) == pytest.approx(wilson(0.5, stderr, 3, 0.95))


def test_annotators_who_cannot_be_judged_come_last_with_a_reason() -> None:
    found = spagree.measure(ROWS).annotators()
    assert found["annotator"].to_list() == ["cyd", "ann", "bob", "dan"]
    reasons = dict(found.select("annotator", "undefined").rows())
    assert reasons == {"ann": None, "bob": None, "cyd": ONE_ITEM, "dan": NO_OVERLAP}


def test_few_shared_items_come_after_many() -> None:
    many = [(f"q{i}", who, "x") for i in range(12) for who in ("ann", "bob")]
    found = spagree.measure([*many, ("r", "ann", "x"), ("r", "cyd", "y")]).annotators()
    assert found.select("annotator", "few").rows() == [("ann", False), ("bob", False), ("cyd", True)]


def test_an_unknown_annotator_counts_among_the_others_but_has_no_row() -> None:
    rows = [("q1", "ann", "x"), ("q1", None, "x"), ("q1", None, "y"), ("q2", "ann", "x"), ("q2", "bob", "x")]
    found = spagree.measure(rows, weights="flat").annotators()
    assert found.select("annotator", "shared", "agreement").rows() == [("ann", 2, 0.75), ("bob", 1, 1.0)]
    assert dict(found.select("annotator", "spa_without").rows()) == {"ann": 0.0, "bob": pytest.approx(1 / 3)}


def test_two_annotators_leave_nothing_behind() -> None:
    found = spagree.measure(ROWS[3:7]).annotators()
    assert found["spa_without"].to_list() == [None, None] and found["change"].to_list() == [None, None]


def test_one_annotator_and_none_at_all() -> None:
    alone = spagree.measure([("q1", "ann", "x"), ("q2", "ann", "y")]).annotators().row(0, named=True)
    assert (alone["annotations"], alone["shared"], alone["agreement"], alone["spa_without"]) == (2, 0, None, None)
    nothing = spagree.measure([(None, "ann", "x"), ("q1", "bob", None)])
    assert nothing.annotators().height == 0 and nothing.pairs().height == 0


def test_repeats_follow_the_policy() -> None:
    rows = [("q1", "ann", "x"), ("q1", "ann", "y"), ("q1", "bob", "y")]
    first, last = (spagree.measure(rows, duplicates=policy).annotators() for policy in ("first", "last"))
    assert first["agreement"].to_list() == [0, 0] and last["agreement"].to_list() == [1, 1]


def test_who_annotated_must_be_known() -> None:
    with pytest.raises(
        spagree.UsageError, match=exactly("the annotators are unknown; name their column with annotator=")
    ):
        spagree.measure(pl.DataFrame({"item": ["q", "q"], "label": ["x", "y"]})).annotators()
    with pytest.raises(
        spagree.UsageError, match=exactly("a tally does not say who annotated; measure the annotations themselves")
    ):
        spagree.measure(spagree.tally(ROWS)).annotators()


def test_row_order_and_names_do_not_matter() -> None:
    frame = spagree.simulate(items=80, annotators=9, per_item=(1, 5), seed=5).frame.select("item", "annotator", "label")
    whole = spagree.measure(frame).annotators()
    assert spagree.measure(frame.sample(fraction=1, shuffle=True, seed=1)).annotators().equals(whole)
    renamed = frame.with_columns(
        pl.format("i{}", "item").alias("item"), pl.format("z{}", "annotator").alias("annotator")
    )
    found = spagree.measure(renamed).annotators().with_columns(pl.col("annotator").str.slice(1))
    assert found.equals(whole)


@pytest.mark.parametrize("kind", ["pandas", "duckdb", "lazy", "arrow"])
def test_any_source_gives_the_same_polars_frame(kind: str) -> None:
    import duckdb

    frame = pl.DataFrame(ROWS, schema=["item", "annotator", "label"], orient="row")
    connection = duckdb.connect()
    connection.register("votes", frame.to_arrow())
    sources = {
        "pandas": frame.to_pandas,
        "duckdb": lambda: connection.table("votes"),
        "lazy": frame.lazy,
        "arrow": frame.to_arrow,
    }
    measured = spagree.measure(sources[kind]())
    assert measured.annotators().equals(spagree.measure(ROWS).annotators())
    assert measured.pairs().equals(spagree.measure(ROWS).pairs())


def test_numbers_as_names() -> None:
    frame = pl.DataFrame({"item": [1, 1, 2, 2], "annotator": [10, 9, 10, 9], "label": [True, True, True, False]})
    found = spagree.measure(frame)
    assert found.annotators()["annotator"].to_list() == ["10", "9"]
    assert found.pairs().select("annotator", "other", "agreement").rows() == [("10", "9", 0.5)]


def test_a_metric_counts_near_labels_as_partial_agreement() -> None:
    rows = [("q1", "a", "1"), ("q1", "b", "2"), ("q1", "c", "3"), ("q2", "a", "1"), ("q2", "b", "3"), ("q2", "c", "3")]
    measured = spagree.measure(rows, metric="linear", weights="flat")
    found = {row["annotator"]: row for row in measured.annotators().rows(named=True)}
    assert [found[who]["agreement"] for who in "abc"] == pytest.approx([0.125, 0.5, 0.375])
    assert [found[who]["spa_without"] for who in "abc"] == pytest.approx([0.75, 0.0, 0.25])
