"""Small Parquet files of texts are fetched and counted in memory: the same documents as on duckdb."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import spagree
from both_ways import COMPARED, in_memory_rows, outcome
from examples import examples
from spagree.read import read
from spagree.read.files import small_parquet
from spagree.tally import count as counting

COLUMNS = ("item", "annotator", "label")
ROWS = [("q1", "ann", "yes"), ("q1", "bob", "no"), ("q2", "ann", "yes"), ("q2", "bob", "yes"), ("q3", "cyd", "no")]


def saved(folder: Path, rows: Any = ROWS, columns: Any = COLUMNS, name: str = "labels.parquet") -> Path:
    path = folder / name
    pl.DataFrame(rows, schema=columns, orient="row").write_parquet(path)
    return path


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        [*ROWS, ("q4", None, "yes"), ("q4", "ann", None), (None, "ann", "yes")],
        [*ROWS, ("q4", "", "yes"), ("q4", "ann", ""), ("", "ann", "yes")],
        [*ROWS, ("Q1 ", "dan", "Yes"), ("q\0", 'a"\n', "été 中")],
        [(item, None, label) for item, _, label in ROWS],
    ],
    ids=["plain", "missing", "empty", "spelling", "nobody"],
)
def test_texts_stay_in_memory_and_count_the_same(rows: list[Any], tmp_path: Path) -> None:
    path = saved(tmp_path, rows, dict.fromkeys(COLUMNS, pl.String))
    assert in_memory_rows(path)
    COMPARED.clear()
    assert outcome(path) == outcome(path, engine="duckdb")
    assert [str(path)] == COMPARED


CELL = st.none() | st.text(st.sampled_from(list("abAB01. é\u0301\"'\n\0")), max_size=3)


@examples(20)
@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=30))
def test_any_texts_give_the_same_document(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    path = saved(tmp_path_factory.mktemp("cells"), rows, dict.fromkeys(COLUMNS, pl.String))
    assert outcome(path) == outcome(path, engine="duckdb")


def test_columns_are_found_under_any_name(tmp_path: Path) -> None:
    path = saved(tmp_path, [(label, who, item) for item, who, label in ROWS], ('the "label"', "who; --", "q'"))
    named = {"label": 'the "label"', "annotator": "who; --", "item": "q'"}
    assert in_memory_rows(path, **named)
    assert outcome(path, **named) == outcome(path, engine="duckdb", **named)
    assert outcome(path, **named)["spa"] == outcome(saved(tmp_path))["spa"]


def test_several_files_are_one_table(tmp_path: Path) -> None:
    paths = [saved(tmp_path, ROWS[:3], name="a.parquet"), saved(tmp_path, ROWS[3:], name="b.parquet")]
    assert in_memory_rows(paths)
    assert outcome(paths)["spa"] == outcome(saved(tmp_path))["spa"]
    assert outcome(paths) == outcome(paths, engine="duckdb")


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("kind", [pl.Int64, pl.Float64, pl.Boolean, pl.Categorical])
def test_other_types_are_left_to_duckdb(column: str, kind: Any, tmp_path: Path) -> None:
    values = {"item": ["0", "0", "1", "1", "2"], "annotator": ["0", "1", "0", "1", "2"], "label": list("10110")}
    frame = pl.DataFrame(values)
    typed = frame[column].cast(pl.Int8).cast(kind) if kind != pl.Categorical else frame[column].cast(kind)
    path = tmp_path / "typed.parquet"
    frame.with_columns(typed.alias(column)).write_parquet(path)
    if kind != pl.Categorical:  # which Parquet stores as texts
        assert not in_memory_rows(path)
    assert outcome(path) == outcome(path, engine="duckdb")


@pytest.mark.parametrize(
    "options",
    [
        {"engine": "duckdb"},
        {"missing": ["no"]},
        {"where": "label=yes"},
        {"exclude_annotator": "cyd"},
        {"pseudonymise": "secret"},
        {"item": ["item", "part"]},
        {"cluster": "part"},
        {"by": "part"},
        {"text": "part"},
    ],
    ids=str,
)
def test_other_questions_are_left_to_duckdb(options: dict[str, Any], tmp_path: Path) -> None:
    path = saved(tmp_path, [(*row, "p") for row in ROWS], (*COLUMNS, "part"))
    assert in_memory_rows(path)
    assert not in_memory_rows(path, **options)


@pytest.mark.parametrize("policy", ["error", "first", "last", "set", "keep"])
def test_repeats_are_settled_by_duckdb(policy: str, tmp_path: Path) -> None:
    path = saved(tmp_path, [*ROWS, ("q1", "ann", "no")])
    COMPARED.clear()
    assert outcome(path, duplicates=policy) == outcome(path, engine="duckdb", duplicates=policy)
    assert COMPARED == []


def test_copies_that_are_deleted_after_reading_are_kept_by_duckdb(tmp_path: Path) -> None:
    content = saved(tmp_path).read_bytes()
    packed = tmp_path / "labels.parquet.gz"
    packed.write_bytes(gzip.compress(content))
    assert not in_memory_rows(packed) and not in_memory_rows(io.BytesIO(content))
    expected = outcome(tmp_path / "labels.parquet")["spa"]
    assert outcome(packed)["spa"] == outcome(io.BytesIO(content))["spa"] == expected


def test_larger_tables_are_left_to_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path)
    monkeypatch.setattr(small_parquet, "MOST_ROWS", len(ROWS))
    assert in_memory_rows(path)
    monkeypatch.setattr(small_parquet, "MOST_ROWS", len(ROWS) - 1)
    assert not in_memory_rows(path)


@pytest.mark.parametrize(("items", "compared"), [(9_999, 1), (10_000, 0)])
def test_ten_thousand_annotations_are_counted_in_memory_unless_each_has_its_own_item(
    items: int, compared: int, tmp_path: Path
) -> None:
    rows = [(f"q{row % items}", f"w{row // items}", "yes") for row in range(10_000)]
    COMPARED.clear()
    found = counting.count(read(saved(tmp_path, rows)))
    assert len(COMPARED) == compared
    assert found.tally.items == items and found.tally.pairable_items == 10_000 - items


def test_breakdowns_load_the_same_rows_later(tmp_path: Path) -> None:
    path = saved(tmp_path, [*ROWS, ("q4", None, "yes"), ("q4", "ann", None)])
    found, whole = spagree.measure(path), spagree.measure(path, engine="duckdb")
    assert_frame_equal(found.items(), whole.items(), check_row_order=False)
    assert_frame_equal(found.annotators(), whole.annotators())
    assert_frame_equal(found.pairs(), whole.pairs())
    assert read(path).frame.to_native().fetchall()[-1] == ("q4", "ann", None, 7)


def test_a_file_that_changes_after_its_schema_was_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rows = saved(tmp_path), small_parquet.SmallParquet.rows

    def changed(self: Any, *arguments: Any) -> Any:
        os.utime(path, ns=(1, 1))
        return rows(self, *arguments)

    monkeypatch.setattr(small_parquet.SmallParquet, "rows", changed)
    with pytest.raises(spagree.FileError, match="changed while it was being read"):
        read(path)


def test_damaged_pages_are_refused_with_the_name_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    values = [(f"q{row // 2}", f"w{row % 2}", "yes") for row in range(4_000)]
    pl.DataFrame(values, schema=COLUMNS, orient="row").write_parquet(path, row_group_size=1_000, compression="zstd")
    content = bytearray(path.read_bytes())
    middle = len(content) * 6 // 10
    content[middle : middle + 400] = bytes(400)
    path.write_bytes(content)
    with pytest.raises(spagree.FileError, match=r"labels\.parquet: truncated or damaged"):
        spagree.measure(path)
