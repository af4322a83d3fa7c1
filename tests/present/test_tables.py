"""The table model: each kind of value in words, and what marks mean."""

from __future__ import annotations

from typing import Any

import pytest

from spagree.present.report.sections import source_name, table
from spagree.present.tables import Column, Shown, cell
from spagree.read.annotations import Understood


@pytest.mark.parametrize(
    ("column", "row", "shown", "value"),
    [
        (Column("x", "x"), {"x": 0.12345}, "0.123", 0.12345),
        (Column("x", "x"), {"x": None}, "–", None),
        (Column("agreement", "x"), {"agreement": 0.5, "few": True}, "0.500*", 0.5),
        (Column("x", "x"), {"x": 0.5, "few": True}, "0.500", 0.5),
        (Column("x", "x", "count"), {"x": 12345}, "12,345", 12345),
        (Column("x", "x", "percent"), {"x": 0.256}, "26%", 0.256),
        (Column("x", "x", "change"), {"x": -0.02}, "−0.020", -0.02),
        (Column("x", "x", "interval"), {"low": 0.1, "high": 0.2}, "0.100 to 0.200", 0.1),
        (Column("x", "x", "interval"), {"low": None, "high": None}, "–", None),
        (Column("x", "x", "name"), {"x": "a\u202eb"}, "a\\u202eb", "a\\u202eb"),
        (Column("x", "x", "name"), {"x": ""}, "''", ""),
        (Column("x", "x", "words"), {"x": "long" * 100}, "long" * 59 + "lon…", "long" * 59 + "lon…"),
    ],
)
def test_a_value_in_words(column: Column, row: dict[str, Any], shown: str, value: Any) -> None:
    assert cell(row, column) == Shown(shown, value, column.is_number, row.get("high"), column.kind == "name")


def test_a_star_is_explained_where_there_is_one() -> None:
    columns = [Column("agreement", "agreement")]
    assert table("t", "T", [{"agreement": 0.5, "few": True}], columns)["note"] == "* rests on fewer than 10 items."
    assert table("t", "T", [{"agreement": 0.5, "few": False}], columns, note="Cut.")["note"] == "Cut."


def test_a_source_is_called_by_its_last_name() -> None:
    assert (
        source_name(Understood("/data/a.csv and others, 3 files in all", "long")) == "a.csv and others, 3 files in all"
    )
    assert source_name(Understood("polars frame", "long")) == "annotations in a polars frame"
    assert source_name(None) == "a saved tally"
