"""Item counts: parts that cut through items merge to the whole."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from oracle import BARS, counted, long_frame, parse
from spagree.counts.count import ItemCounts, item_counts
from spagree.counts.tally import Cell, Tally

FRAME = long_frame(parse(BARS))


def counts_of(frame: pl.DataFrame) -> ItemCounts:
    return item_counts(counted(frame))


@given(st.lists(st.integers(0, 3), min_size=len(FRAME), max_size=len(FRAME)))
@examples(10)
def test_chunks_that_cut_through_items_sum_to_the_whole(parts: list[int]) -> None:
    split = [FRAME.filter(pl.Series(parts) == part) for part in range(4)]
    merged = sum(counts_of(part) for part in split)
    assert merged == counts_of(FRAME)
    assert merged.frame.equals(counts_of(FRAME).frame)
    assert merged.tally() == counted(FRAME).tally


def test_rows_are_sorted_text_with_integer_counts() -> None:
    found = counts_of(pl.DataFrame({"item": [2, 1, 2, 2], "label": [True, False, True, False]}))
    assert found.frame.rows() == [("1", "false", 1), ("2", "false", 1), ("2", "true", 2)]
    assert dict(found.frame.schema) == {"item": pl.String, "label": pl.String, "count": pl.Int64}
    assert found.counts().collect().to_native().equals(found.frame)
    assert found.tally() == Tally(
        {Cell(3, 2, 0): 1, Cell(1, 0, 0): 1},
        {"true": 2, "false": 2},
        {"true": 2, "false": 1},
        None,
        {},
        {(("false", 1), ("true", 2)): 1, (("false", 1),): 1},
    )


def test_annotators_and_what_was_left_out_are_kept_and_added() -> None:
    frame = pl.DataFrame({"item": ["q", "q", "q"], "annotator": ["a", "b", "a"], "label": ["x", None, "x"]})
    one = counts_of(frame)
    assert (one.annotators, one.left_out) == ({"a": 1}, {"missing_label": 1, "repeated": 1})
    both = one + one
    assert (both.annotators, both.left_out) == ({"a": 2}, {"missing_label": 2, "repeated": 2})
    assert both.tally() == Tally(
        {Cell(2, 2, 0): 1}, {"x": 2}, {"x": 2}, {"a": 2}, {"missing_label": 2, "repeated": 2}, {(("x", 2),): 1}
    )


@pytest.mark.parametrize(("left", "right"), [(True, False), (False, True), (False, False)])
def test_annotators_are_unknown_when_one_part_does_not_know_them(left: bool, right: bool) -> None:
    parts = [counts_of(FRAME if known else FRAME.drop("annotator")) for known in (left, right)]
    assert (parts[0] + parts[1]).annotators is None


def test_parts_without_annotators_named_still_know_that_there_are_none() -> None:
    nobody = ItemCounts(counts_of(FRAME).frame, {}, {})
    assert (nobody + nobody).annotators == {}
    assert (nobody + counts_of(FRAME)).annotators == counts_of(FRAME).annotators


def test_sum_starts_from_zero_and_other_things_do_not_add() -> None:
    counts = counts_of(FRAME)
    assert sum([counts]) is counts
    for other in (1, None, counts.tally()):
        with pytest.raises(TypeError):
            counts + other
        with pytest.raises(TypeError):
            other + counts


def test_equality_is_by_content_whatever_the_order_of_rows() -> None:
    counts = counts_of(FRAME)
    assert counts == ItemCounts(counts.frame.reverse(), counts.annotators, counts.left_out)
    assert counts != ItemCounts(counts.frame.head(-1), counts.annotators, counts.left_out)
    assert counts != ItemCounts(counts.frame, None, counts.left_out)
    assert counts != ItemCounts(counts.frame, counts.annotators, {"repeated": 1})
    assert counts != counts.frame.rows()
    with pytest.raises(TypeError, match="unhashable"):
        hash(counts)


def test_agreement_of_merged_halves_is_that_of_the_whole() -> None:
    halves = counts_of(FRAME[::2]) + counts_of(FRAME[1::2])
    cells = halves.tally().cells
    edges = sum(cell.n * (cell.n - 1) * count for cell, count in cells.items())
    assert Fraction(sum(cell.pairs * count for cell, count in cells.items()), edges) == Fraction(19, 31)
