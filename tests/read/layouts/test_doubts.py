"""The table of doubts: the same entries are asked of the first rows, of all rows, and of another reading."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spagree.errors import DataError
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL
from spagree.read.layouts.doubts import (
    BROAD,
    DOUBTS,
    LONG,
    ONE_HOT,
    REPEATED,
    UNKNOWN,
    UNSORTED,
    View,
    refuse,
    warnings,
)
from spagree.read.table import Table

LAYOUTS = {LONG, ONE_HOT, UNKNOWN, UNSORTED, REPEATED, *BROAD}


def table(columns: str, *rows: str) -> Table:
    names = tuple(columns.split(","))

    def load(positions: object) -> object:
        raise AssertionError("a doubt looks at the rows it is given")

    return Table("votes.csv", names, load, is_text=True, sample=tuple(tuple(row.split(",")) for row in rows))  # type: ignore[arg-type]


def test_every_doubt_is_asked_of_layouts_that_exist() -> None:
    assert all(doubt.of and set(doubt.of) <= LAYOUTS for doubt, _ in DOUBTS.values())


def test_a_doubt_that_the_first_rows_do_not_show_is_found_in_all_of_them() -> None:
    first = [f"i{i // 3},p{i % 3},{'yn'[i % 2]},first" for i in range(12)]
    later = [f"i{i // 3},p{i % 3},{'yn'[i % 2]},{'adjudicated' if i % 3 else 'first'}" for i in range(30)]
    places = {ITEM: (0,), ANNOTATOR: (1,), LABEL: (2,)}
    seen = View(table("item,annotator,label,stage", *first), LONG, places)
    assert [warning.code for warning in warnings(seen)] == []
    whole = replace(seen, table=table("item,annotator,label,stage", *first, *later))
    assert [warning.code for warning in warnings(whole)] == ["decisions"]


def test_a_row_of_sums_is_told_only_where_every_row_was_seen() -> None:
    rows = [f"i{i},{i % 3},{2 - i % 3}" for i in range(1_000)]
    places = {ITEM: (0,)}
    seen = table("item,yes,no", *rows, "Total,999,1001")
    whole = View(replace(seen, is_whole=True), "counts", places, (1, 2))
    assert [warning.code for warning in warnings(whole)] == ["summary_rows"]
    assert warnings(replace(whole, table=seen)) == ()


def test_the_outcome_of_a_suggestion_can_be_doubted_before_it_is_made() -> None:
    as_wide = View(table("item,yes,no", *(f"i{i},{i % 4},{3 - i % 4}" for i in range(8))), "wide", {ITEM: (0,)}, (1, 2))
    assert [warning.code for warning in warnings(as_wide)] == ["looks_like_counts"]
    assert warnings(replace(as_wide, layout="counts")) == ()


def test_a_refusal_names_the_source_and_what_to_do() -> None:
    spans = table("doc,who,label,start,end", "d1,a,per,0,4", "d1,a,org,9,12", "d1,b,per,0,4")
    with pytest.raises(
        DataError,
        match=r"^votes\.csv: columns 'start', 'end' mark spans, not classes; measure .* with format=\"spans\"",
    ):
        refuse(View(spans, LONG, {ITEM: (0,), ANNOTATOR: (1,), LABEL: (2,)}))
