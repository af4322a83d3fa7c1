"""Small Parquet files are fetched as integers and counted in memory: the same documents as on duckdb."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import spagree
from both_ways import COMPARED, document, in_memory_rows, outcome
from examples import examples
from spagree import measuring
from spagree.counts import count as counting
from spagree.counts import engines, labels
from spagree.read import read
from spagree.read.files import duckdb as store

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
def test_types_other_than_texts_and_whole_numbers_are_left_to_duckdb(column: str, kind: Any, tmp_path: Path) -> None:
    values = {"item": ["0", "0", "1", "1", "2"], "annotator": ["0", "1", "0", "1", "2"], "label": list("10110")}
    frame = pl.DataFrame(values)
    typed = frame[column].cast(pl.Int8).cast(kind) if kind != pl.Categorical else frame[column].cast(kind)
    path = tmp_path / "typed.parquet"
    frame.with_columns(typed.alias(column)).write_parquet(path)
    is_coded = kind in (pl.Int64, pl.Categorical)  # Parquet stores categories as texts
    assert in_memory_rows(path) == is_coded
    assert outcome(path) == outcome(path, engine="duckdb")


def test_copies_that_are_deleted_after_reading_are_kept_by_duckdb(tmp_path: Path) -> None:
    content = saved(tmp_path).read_bytes()
    packed = tmp_path / "labels.parquet.gz"
    packed.write_bytes(gzip.compress(content))
    assert not in_memory_rows(packed) and not in_memory_rows(io.BytesIO(content))
    expected = outcome(tmp_path / "labels.parquet")["spa"]
    assert outcome(packed)["spa"] == outcome(io.BytesIO(content))["spa"] == expected


def test_a_compressed_file_that_is_looked_at_twice(tmp_path: Path) -> None:
    """Its rows are sorted by annotator, so more of them are looked at than the first, in a table of their own."""
    frame = spagree.simulate(items=1_000, annotators=9).frame.sort("annotator").with_columns(note=pl.lit(""))
    path, packed = tmp_path / "labels.parquet", tmp_path / "labels.parquet.gz"
    frame.write_parquet(path)
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert spagree.tally(packed) == spagree.tally(path)


def test_larger_tables_are_left_to_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path)
    monkeypatch.setattr(store, "MOST_ROWS", len(ROWS))
    assert in_memory_rows(path)
    monkeypatch.setattr(store, "MOST_ROWS", len(ROWS) - 1)
    assert not in_memory_rows(path)


@pytest.mark.parametrize("items", [9_999, 10_000, 15_000])
def test_of_many_items_the_same_sample_is_compared_by_spelling(items: int, tmp_path: Path) -> None:
    rows = [(f"q{row % items}{' ' * (row > items)}", f"w{row // items}", "yes") for row in range(items * 3 // 2)]
    COMPARED.clear()
    found = measuring.count(read(saved(tmp_path, rows)))
    assert len(COMPARED) == 1
    assert found.tally.annotations == len(rows)
    assert [warning.code for warning in found.warnings] == ["item_variants"]


def test_on_duckdb_only_the_first_rows_are_compared_by_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (labels, counting):
        monkeypatch.setattr(module, "MOST_COMPARED", 25)
    rows = [(f"q{row}", f"w{row % 7}", "yes") for row in range(90)] + [(f"Q{row} ", "x", "no") for row in range(10)]
    path = saved(tmp_path, [*rows, ("q0", "y", "yes")])
    assert outcome(path) == outcome(path, engine="duckdb")
    for most, expected in ((90, []), (100, ["item_variants"])):
        monkeypatch.setattr(engines, "ROWS_LOOKED_AT", most)
        assert [each.code for each in counting.count(read(path, engine="duckdb")).warnings] == expected


WHOLE = [2**63 - 1, 2**63 - 2, -(2**63), 2**53, 2**53 + 1, 0, 1, 7, 10]


@pytest.mark.parametrize("column", COLUMNS)
def test_whole_numbers_that_are_equal_as_floats_stay_apart(column: str, tmp_path: Path) -> None:
    place = COLUMNS.index(column)
    texts = [(f"q{row // 3}", f"w{row % 5}", "yes" if row % 4 else "no") for row in range(27)]
    rows = [(*row[:place], WHOLE[i % 9], *row[place + 1 :]) for i, row in enumerate(texts)]
    path = saved(tmp_path, rows, {name: pl.Int64 if name == column else pl.String for name in COLUMNS})
    COMPARED.clear()
    found = outcome(path)
    assert [str(path)] == COMPARED and found == outcome(path, engine="duckdb")
    count = {"item": "items", "annotator": "annotators", "label": "classes"}[column]
    assert found["data"][count] == 9


@pytest.mark.parametrize(
    "kind", ["HUGEINT", "UHUGEINT", "DECIMAL(20, 2)", "DOUBLE", "DATE", "BLOB", "BOOLEAN", "TIMESTAMP", "UUID", "TIME"]
)
@pytest.mark.parametrize("column", COLUMNS)
def test_values_of_other_kinds_are_never_fetched_by_their_hashes(kind: str, column: str, tmp_path: Path) -> None:
    named = {name: f"'{name}' || (i % 4)" for name in COLUMNS} | {
        "item": "'q' || (i // 2)",
        "annotator": "'w' || i % 2",
    }
    values = {"BLOB": "encode('b' || i % 3)", "DATE": "DATE '2024-01-01' + (i % 3)::INTEGER", "UUID": "uuid()"}
    values |= {"TIMESTAMP": "TIMESTAMP '2024-01-01' + to_days((i % 3)::INTEGER)", "TIME": "TIME '01:02:03'"}
    named[column] = f"({values.get(kind, 'i % 2')})::{kind}"
    path = tmp_path / "typed.parquet"
    cells = ", ".join(f"{value} AS {name}" for name, value in named.items())
    duckdb.sql(f"COPY (SELECT {cells} FROM range(12) AS r(i)) TO '{path}'")
    is_double = kind in ("HUGEINT", "UHUGEINT")  # Parquet has no such integers: duckdb writes floats
    assert is_double or kind not in store.CODED_KINDS
    assert not in_memory_rows(path)
    assert outcome(path) == outcome(path, engine="duckdb")


def test_values_with_one_hash_are_left_to_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of different values with one hash there are fewer hashes than values."""
    path, places = saved(tmp_path), store._places
    expected = outcome(path)
    for column in range(3):
        calls: list[int] = []

        def collided(hashes: Any, known: Any, column: int = column, calls: list[int] = calls) -> Any:
            calls.append(len(calls))
            return places(hashes * np.uint64(calls[-1] != column), known)

        monkeypatch.setattr(store, "_places", collided)
        COMPARED.clear()
        assert outcome(path) == expected
        assert COMPARED == [] and len(calls) == column + 1


def test_rows_that_lack_a_value_are_counted_as_left_out(tmp_path: Path) -> None:
    lacking = [("q4", None, "yes"), ("q4", None, "no"), ("q4", "ann", None), (None, "ann", "maybe")]
    path = saved(tmp_path, [*ROWS, *lacking])
    codes, left_out = read(path).rows.fetch()
    assert len(codes.item) == 7 and left_out == {"missing_label": 1, "missing_item": 1}
    found, whole = spagree.measure(path), spagree.measure(path, engine="duckdb")
    assert document(found) == document(whole)
    assert_frame_equal(found.annotators(), whole.annotators())
    assert_frame_equal(found.pairs(), whole.pairs())


@pytest.mark.parametrize("rows", [[*ROWS, ("q1", "ann", "yes")], [("q1", "ann", None)], [(None, "ann", "yes")]])
def test_repeats_and_tables_without_annotations_are_left_to_duckdb(rows: list[Any], tmp_path: Path) -> None:
    path = saved(tmp_path, rows, dict.fromkeys(COLUMNS, pl.String))
    COMPARED.clear()
    assert outcome(path) == outcome(path, engine="duckdb")
    assert COMPARED == []


@pytest.mark.parametrize("classes", [40, 41])
def test_many_classes_count_the_same(classes: int, tmp_path: Path) -> None:
    rows = [(f"q{row // 3}", f"w{row % 3}", f"c{row * 7 % classes}") for row in range(300)]
    COMPARED.clear()
    assert outcome(path := saved(tmp_path, rows)) == outcome(path, engine="duckdb")
    assert [str(path)] == COMPARED


def test_a_file_that_changes_after_its_schema_was_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rows = saved(tmp_path), store.few_rows

    def changed(*arguments: Any) -> Any:
        os.utime(path, ns=(1, 1))
        return rows(*arguments)

    monkeypatch.setattr(store, "few_rows", changed)
    with pytest.raises(spagree.FileError, match="changed while it was being read"):
        spagree.measure(path)


def test_damaged_pages_are_refused_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    values = [(f"q{row // 2}", f"w{row % 2}", "yes") for row in range(4_000)]
    pl.DataFrame(values, schema=COLUMNS, orient="row").write_parquet(path, row_group_size=1_000, compression="zstd")
    content = bytearray(path.read_bytes())
    middle = len(content) * 6 // 10
    content[middle : middle + 400] = bytes(400)
    path.write_bytes(content)
    with pytest.raises(spagree.FileError, match=r"duckdb could not finish counting \(.*; check the files"):
        spagree.measure(path)


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    pl.DataFrame(ROWS, schema=COLUMNS, orient="row").write_parquet(path, compression="uncompressed", statistics=False)
    content = path.read_bytes()
    for name in (b"ann", b"yes", b"q1"):
        path.write_bytes(content.replace(name, b"\xff" + name[1:]))
        with pytest.raises(spagree.FileError, match="truncated or damaged"):
            spagree.measure(path)


def test_values_that_differ_when_read_again_are_left_to_duckdb() -> None:
    rows = "SELECT uuid()::VARCHAR AS item, 'ann' AS annotator, 'yes' AS label FROM range(5)"
    assert store.coded_rows(duckdb.sql(rows), 5) is None
