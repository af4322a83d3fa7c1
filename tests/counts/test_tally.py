"""The tally itself: integers that merge by addition."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import BARS, parse, tally_of
from spagree.counts.tally import MOST_ANNOTATIONS_PER_ITEM, Cell, Tally, add_counts, text

ITEM = st.lists(st.sampled_from("abc"), max_size=6)


@given(ITEM)
def test_a_cell_counts_agreeing_ordered_pairs_and_triples(labels: list[str]) -> None:
    pairs = sum(one == two for one, two in permutations(labels, 2))
    triples = sum(one == two == three for one, two, three in permutations(labels, 3))
    assert Cell.of(Counter(labels).values()) == Cell(len(labels), pairs, triples)


def test_cell_of_the_papers_first_figure_of_none_and_of_the_largest_item() -> None:
    assert Cell.of(iter([5, 3, 2, 1])) == Cell(n=11, pairs=28, triples=66)
    assert Cell.of([]) == Cell(0, 0, 0)
    assert Cell.of([MOST_ANNOTATIONS_PER_ITEM]).triples < 2**63 and MOST_ANNOTATIONS_PER_ITEM == 2_000_000


def test_counts_of_the_bars_example() -> None:
    tally = tally_of(parse(BARS))
    assert (tally.items, tally.pairable_items, tally.annotations, tally.pairable_annotations) == (12, 11, 32, 31)
    assert tally.labels == {"a": 12, "b": 10, "c": 10}
    assert tally.pairable_labels == {"a": 11, "b": 10, "c": 10}
    assert tally.items_by_n == {1: 1, 2: 4, 3: 5, 4: 2}
    assert list(tally.items_by_n) == [1, 2, 3, 4]
    assert (tally.annotators, tally.left_out) == (None, {})
    assert tally.cells == {
        Cell(1, 0, 0): 1,
        Cell(2, 0, 0): 1,
        Cell(2, 2, 0): 3,
        Cell(3, 0, 0): 1,
        Cell(3, 2, 0): 2,
        Cell(3, 6, 6): 2,
        Cell(4, 4, 0): 1,
        Cell(4, 12, 24): 1,
    }


def test_an_empty_tally_is_all_zero() -> None:
    empty = Tally()
    assert (empty.items, empty.pairable_items, empty.annotations, empty.pairable_annotations) == (0, 0, 0, 0)
    assert (empty.cells, empty.labels, empty.pairable_labels, empty.annotators, empty.left_out) == ({}, {}, {}, {}, {})
    assert empty.items_by_n == {}


def test_zero_counts_leave_no_trace_and_labels_of_the_same_text_are_one() -> None:
    tally = Tally.from_items([{}, {"a": 0}, {"a": 0, "b": 1}, {"c": 2}])
    assert tally == Tally(
        {Cell(1, 0, 0): 1, Cell(2, 2, 0): 1}, {"b": 1, "c": 2}, {"c": 2}, None, {}, {(("b", 1),): 1, (("c", 2),): 1}
    )
    assert Tally.from_items([{1: 2, "1": 1}]) == Tally.from_items([{"1": 3}])
    assert Tally.from_items([{True: 1, "true": 1, "True": 1}]).labels == {"true": 2, "True": 1}


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("01", "01"),
        ("", ""),
        ("NA", "NA"),
        ("True", "True"),
        (1, "1"),
        (1.0, "1"),
        (-0.0, "0"),
        (-2.0, "-2"),
        (0.1, "0.1"),
        (1e300, "1e+300"),
        (float("inf"), "inf"),
        (Decimal("1.50"), "1.5"),
        (Decimal("100"), "100"),
        (Decimal("-0.00"), "0"),
        (Decimal("Infinity"), "Infinity"),
        (True, "true"),
        (False, "false"),
        (None, "None"),
    ],
)
def test_labels_and_ids_as_text(value: object, wanted: str) -> None:
    assert text(value) == wanted


# Merging ------------------------------------------------------------------------------------------------


@given(st.lists(ITEM, max_size=12), st.integers(0, 12))
def test_tallies_of_parts_add_up_to_the_whole(items: list[list[str]], cut: int) -> None:
    whole = tally_of(items)
    assert tally_of(items[:cut]) + tally_of(items[cut:]) == whole
    assert sum([tally_of([labels]) for labels in items], tally_of([])) == whole


def test_everything_is_added_and_nothing_is_changed() -> None:
    one = Tally({Cell(2, 2, 0): 1}, {"a": 2}, {"a": 2}, {"ann": 2}, {"missing_label": 1})
    two = Tally({Cell(2, 2, 0): 2, Cell(1, 0, 0): 1}, {"a": 4, "b": 1}, {"a": 4}, {"ann": 1, "bob": 4}, {"repeated": 2})
    assert one + two == Tally(
        {Cell(2, 2, 0): 3, Cell(1, 0, 0): 1},
        {"a": 6, "b": 1},
        {"a": 6},
        {"ann": 3, "bob": 4},
        {"missing_label": 1, "repeated": 2},
    )
    assert one.cells == {Cell(2, 2, 0): 1}
    assert two.annotators == {"ann": 1, "bob": 4}


def test_annotators_are_known_only_if_known_for_every_part() -> None:
    known, unknown = Tally(annotators={"ann": 1}), Tally(annotators=None)
    assert (known + known).annotators == {"ann": 2}
    assert (known + unknown).annotators is None
    assert (unknown + known).annotators is None
    assert (unknown + unknown).annotators is None


def test_sum_of_many_starts_from_zero() -> None:
    tally = tally_of(parse("aab"))
    assert sum([tally]) is tally
    assert sum([tally] * 50).cells == {Cell(3, 2, 0): 50}


@pytest.mark.parametrize("other", [1, None, "tally", {}])
def test_only_tallies_add_to_a_tally(other: object) -> None:
    with pytest.raises(TypeError):
        Tally() + other
    with pytest.raises(TypeError):
        other + Tally()


def test_counters_add_without_changing_their_parts() -> None:
    left, right = {"a": 1, "b": 2}, {"b": 3, "c": 4}
    assert add_counts(left, right) == {"a": 1, "b": 5, "c": 4}
    assert (left, right) == ({"a": 1, "b": 2}, {"b": 3, "c": 4})
