"""Impossible tallies: each inconsistency alone, in its own words."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement

import pytest

from oracle import exactly
from spagree.counts.saved import ENUMERATED, possible, refuse_impossible
from spagree.counts.tally import Cell, Grouped, Tally
from spagree.errors import DataError

WHOLE = Tally.from_items([{"a": 2, "b": 1}, {"b": 2}, {"a": 1}])
VOTES = {("d1", (("", "a", 2), ("", "b", 1))): 1, ("d1", (("", "b", 2),)): 1, ("d2", (("", "a", 1),)): 1}
GROUPED = replace(WHOLE, grouped=Grouped("doc", None, VOTES, {"": {"ann": 4, "bob": 2}}))


def refused(tally: Tally, fault: str) -> None:
    with pytest.raises(DataError, match=exactly(f"part.json: damaged tally: {fault}; count the data again")):
        refuse_impossible(tally, "part.json")


def test_genuine_tallies_are_let_through() -> None:
    for tally in (Tally(), WHOLE, GROUPED, replace(WHOLE, annotators={"ann": 6}), replace(WHOLE, patterns=None)):
        refuse_impossible(tally, "part.json")


def test_impossible_cells_and_counts() -> None:
    refused(replace(WHOLE, cells={**WHOLE.cells, Cell(2, 1, 0): 1}), "a cell that no item can have")
    refused(replace(WHOLE, cells={**WHOLE.cells, Cell(2, 0, 0): 0}), "a cell that no item can have")
    refused(replace(WHOLE, labels={"a": 3, "b": 4}), "6 annotations in the cells, 7 in the labels")
    pairable = "5 annotations in the cells, 6 in the labels of pairable items"
    refused(replace(WHOLE, pairable_labels={"a": 3, "b": 3}), pairable)
    fault = "a label is on more pairable items than on items"
    refused(replace(WHOLE, pairable_labels={"a": 1, "b": 4}), fault)
    refused(replace(WHOLE, pairable_labels={"a": 2, "b": 2, "c": 1}), fault)
    refused(replace(WHOLE, annotators={"ann": 4, "bob": 3}), "the annotators made more annotations than there are")


def test_impossible_patterns() -> None:
    fault = "a pattern that no item can have"
    refused(replace(WHOLE, patterns={(("b", 1), ("a", 2)): 1, (("b", 2),): 1, (("a", 1),): 1}), fault)
    refused(replace(WHOLE, patterns={(("a", 2), ("b", 1), ("c", 0)): 1, (("b", 2),): 1, (("a", 1),): 1}), fault)
    refused(replace(WHOLE, patterns={(("a", 2), ("b", 1)): 1, (("b", 2),): 1}), "cells and patterns differ")
    other = {(("a", 1), ("b", 2)): 1, (("b", 2),): 1, (("a", 1),): 1}
    refused(replace(WHOLE, patterns=other), "labels and patterns differ")
    single = {(("a", 2), ("b", 1)): 1, (("a", 2),): 1, (("b", 1),): 1}
    refused(replace(WHOLE, patterns=single), "labels and patterns differ")


def test_impossible_clusters_and_groups() -> None:
    def changed(**parts: object) -> Tally:
        return replace(GROUPED, grouped=replace(GROUPED.grouped, **parts))

    refuse_impossible(changed(cluster=None, by="team"), "part.json")
    refused(changed(cluster=None), "clusters or groups of no column")
    fault = "clusters or groups of items that cannot be"
    for impossible in (
        {("d1", (("", "a", 2),)): 0},
        {("d1", ()): 1},
        {("d1", (("", "b", 1), ("", "a", 2))): 1},
    ):
        refused(changed(items={**VOTES, **impossible}), fault)
    fault = "clusters or groups and patterns differ"
    refused(changed(items={**VOTES, ("d2", (("", "a", 1),)): 2}), fault)
    refused(replace(GROUPED, patterns=None), fault)
    fault = "the annotators of the groups made more annotations than there are"
    refused(changed(annotators={"x": {"ann": 4}, "y": {"ann": 3}}), fault)
    refuse_impossible(changed(annotators={"x": {"ann": 4}, "y": {"ann": 2}}), "part.json")
    refuse_impossible(changed(annotators=None), "part.json")


@pytest.mark.parametrize("n", [1, 2, 5, ENUMERATED])
def test_possible_cells_of_small_items_are_those_of_some_labels(n: int) -> None:
    labels = (
        combinations_with_replacement(range(min(n, 5)), n)
        if n < ENUMERATED
        else [(0,) * n, range(n), (0, 1) * (n // 2)]
    )
    cells = {Cell.of([list(given).count(label) for label in set(given)]) for given in labels}
    assert all(map(possible, cells))
    if n < ENUMERATED:
        every = {Cell(n, pairs, triples) for pairs in range(n * n) for triples in range(n * n * n)}
        assert {cell for cell in every if possible(cell)} == cells


@pytest.mark.parametrize(
    ("cell", "can_be"),
    [
        (Cell(13, 156, 156 * 11 - 156 * 11 % 6), True),
        (Cell(13, 158, 0), False),  # more pairs than there are
        (Cell(13, 2, 22 - 22 % 6), True),
        (Cell(13, 2, 24), False),  # more triples than its pairs allow
        (Cell(13, 3, 0), False),  # every pair counts in both orders
        (Cell(13, 2, 3), False),  # every triple in six
        (Cell(0, 0, 0), False),
        (Cell(-1, 0, 0), False),
    ],
)
def test_large_cells_are_checked_by_what_all_sums_share(cell: Cell, can_be: bool) -> None:
    assert possible(cell) is can_be
