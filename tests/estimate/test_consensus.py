"""Majorities and ties, by hand."""

from __future__ import annotations

import polars
import pytest

import spagree
from oracle import exactly
from spagree.estimate.disagreement import consensus


def votes(*items: dict[str, int]) -> polars.DataFrame:
    rows = [(number, label, count) for number, item in enumerate(items) for label, count in item.items()]
    return polars.DataFrame(rows, schema=["item", "label", "count"], orient="row")


def test_majorities_and_ties() -> None:
    found = consensus(votes({"b": 2, "a": 1}, {"a": 1, "b": 1, "c": 1}, {"c": 1}, {"a": 2, "b": 2, "c": 1}))
    assert found.rows() == [
        (0, "b", None, 3, 2 / 3),
        (1, None, "a | b | c", 3, 1 / 3),
        (2, "c", None, 1, 1.0),
        (3, None, "a | b", 5, 0.4),
    ]


def test_labels_may_hold_any_text() -> None:
    odd = consensus(votes({"1:2": 2, "1": 1}, {"": 3}, {"x\n×2": 1}))
    assert odd["label"].to_list() == ["1:2", "", "x\n×2"]


def test_item_counts_have_a_consensus_and_tallies_do_not() -> None:
    rows = [(1, "ann", "yes"), (1, "bob", "yes"), (2, "ann", "no"), (2, "bob", "yes")]
    by_item = spagree.measure(spagree.count_items(rows)).consensus()
    assert by_item["label"].to_list() == ["yes", None] and by_item["tied"].to_list() == [None, "no | yes"]
    with pytest.raises(
        spagree.UsageError, match=exactly("a tally holds no single items; measure the annotations themselves")
    ):
        spagree.measure(spagree.tally(rows)).consensus()
