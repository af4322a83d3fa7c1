"""Few rows, counted without an engine: against counts by hand."""

from __future__ import annotations

import pytest

from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, FewRows
from spagree.tally.in_memory import MOST_ITEMS, tally_rows, usable_rows
from spagree.tally.tally import Cell

Row = tuple[str | None, str | None, str | None]


def few(*rows: Row) -> FewRows:
    columns = zip((ITEM, ANNOTATOR, LABEL), zip(*rows, strict=True), strict=True)
    return FewRows(dict(columns), lambda: pytest.fail("an engine was started"))


def test_rows_are_counted_by_item_label_and_annotator() -> None:
    rows = few(("q1", "ann", "x"), ("q2", "ann", "y"), ("q1", "bob", "x"), ("q1", None, "y"), ("q1", None, "x"))
    tally = tally_rows(rows, {"missing_label": 2})
    assert tally is not None
    assert dict(tally.cells) == {Cell(4, 6, 6): 1, Cell(1, 0, 0): 1}
    assert (dict(tally.labels), dict(tally.pairable_labels)) == ({"x": 3, "y": 2}, {"x": 3, "y": 1})
    assert tally.patterns == {(("x", 3), ("y", 1)): 1, (("y", 1),): 1}
    assert (tally.annotators, dict(tally.left_out)) == ({"ann": 2, "bob": 1}, {"missing_label": 2})


def test_rows_without_a_label_or_an_item_are_counted_and_left_out() -> None:
    rows = few(("q1", "ann", "x"), (None, "ann", "x"), ("q2", "ann", None), (None, "bob", None), ("q3", "bob", "y"))
    kept, left_out = usable_rows(rows)
    assert {role: list(column) for role, column in kept.cells.items()} == {
        ITEM: ["q1", "q3"],
        ANNOTATOR: ["ann", "bob"],
        LABEL: ["x", "y"],
    }
    assert left_out == {"missing_label": 2, "missing_item": 1}
    assert usable_rows(kept)[1] == {}


def test_repeats_nothing_and_too_much_are_left_to_an_engine() -> None:
    assert tally_rows(few(("q1", "ann", "x"), ("q1", "ann", "x")), {}) is None
    assert tally_rows(FewRows({ITEM: [], LABEL: []}, few(("q", "a", "x")).load), {}) is None
    for size, is_counted in ((MOST_ITEMS - 1, True), (MOST_ITEMS, False)):
        cells = {ITEM: [f"q{i}" for i in range(size)] * 2, LABEL: ["x"] * size * 2}
        found = tally_rows(FewRows(cells, few(("q", "a", "x")).load), {})
        assert (found is not None) == is_counted
        if found is not None:
            assert (found.annotations, found.annotators) == (2 * size, None)
