"""More than fits into memory, and more files than one: the same numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import spagree
from spagree.errors import DataError, DuplicateError, FileError, UsageError

SMALL_MEMORY = """
import json, sys, duckdb
real = duckdb.connect
def connect(*arguments, **options):
    connection = real(*arguments, **options)
    connection.execute(f"SET memory_limit = '{sys.argv[2]}'; SET temp_directory = '{sys.argv[3]}'; SET threads = 1")
    return connection
duckdb.connect = connect
import spagree
print(json.dumps(spagree.measure(sys.argv[1]).to_dict()))
"""


def figures(source: Any, **options: Any) -> dict[str, Any]:
    """All that is measured, without the next steps, whose commands name the source."""
    document = spagree.measure(source, **options).to_dict()
    return {name: value for name, value in document.items() if name != "next"}


def measured(path: Path, memory: str, disk: Path | str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", SMALL_MEMORY, path, memory, disk]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@cache
def large() -> tuple[pl.DataFrame, dict[str, Any]]:
    """More than a million annotations, and what is measured in them."""
    frame = spagree.simulate(items=600_000, annotators=300, per_item=2, classes=4, seed=1).frame.drop("time")
    return frame, figures(frame)


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "memory"), [(".parquet", "22MB"), (".csv", "60MB")])
def test_what_does_not_fit_into_memory_is_moved_to_disk(suffix: str, memory: str, tmp_path: Path) -> None:
    frame, wanted = large()
    path = tmp_path / f"votes{suffix}"
    frame.write_parquet(path) if suffix == ".parquet" else frame.write_csv(path)
    without_disk = measured(path, memory, "")
    assert "spagree.errors.FileError" in without_disk.stderr
    assert "Out of Memory" in without_disk.stderr
    done = measured(path, memory, tmp_path / "spill")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {name: found[name] for name in found if name != "next"} == wanted


def parts(folder: Path, number: int, frame: pl.DataFrame) -> None:
    size = -(-frame.height // number)
    for place in range(number):
        frame.slice(place * size, size).write_parquet(folder / f"part-{place:04}.parquet")


VOTES = spagree.simulate(items=400, annotators=15, per_item=3, classes=4, seed=3).frame.drop("time")


def test_hundreds_of_files_are_one_table(tmp_path: Path) -> None:
    parts(tmp_path, 300, VOTES)
    assert figures(tmp_path / "*.parquet") == figures(VOTES)


def test_rows_are_numbered_through_all_files(tmp_path: Path) -> None:
    """Row 5 of the third file of ten rows is row 25."""
    frame = VOTES.head(30)
    clash = frame.row(3)
    again = pl.DataFrame([(*clash[:2], "another")], schema=frame.schema, orient="row")
    parts(tmp_path, 3, pl.concat([frame[:24], again, frame[25:]]))
    with pytest.raises(DuplicateError) as caught:
        spagree.measure(tmp_path / "*.parquet")
    assert f"'{clash[2]}' (row 4) and 'another' (row 25)" in str(caught.value)
    kept = spagree.measure(tmp_path / "*.parquet", duplicates="first")
    assert kept.data.labels.get("another") is None


def test_one_file_of_another_type_among_many_is_named(tmp_path: Path) -> None:
    parts(tmp_path, 5, VOTES)
    VOTES.with_columns(item=pl.int_range(VOTES.height)).write_parquet(tmp_path / "part-0003.parquet")
    with pytest.raises(DataError, match=r"part-0003.parquet: column 'item' holds BIGINT, in .*part-0000.*VARCHAR"):
        spagree.measure(tmp_path / "*.parquet")


# The same on every engine that reads files ------------------------------------------------------------------------

on_engines = pytest.mark.parametrize("engine", ["duckdb", "polars"])


@on_engines
@pytest.mark.parametrize(
    ("folder", "source"), [("label=gold", "*/*.parquet"), ("br[1]ack*et", "br[1]ack*et/a b.parquet")]
)
def test_names_of_folders_replace_no_column_and_brackets_are_literal(
    folder: str, source: str, engine: str, tmp_path: Path
) -> None:
    """duckdb and polars take folders called label=gold for a column of that name, unless told not to."""
    (tmp_path / folder).mkdir()
    VOTES.write_parquet(tmp_path / folder / "a b.parquet")
    assert figures(tmp_path / source, engine=engine) == figures(VOTES)


@on_engines
@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (VOTES.clear(), "has columns but no data rows"),
        (VOTES.with_columns(pl.concat_list("label")), r"the column of the label holds List.*several values per cell"),
    ],
    ids=["no rows", "lists"],
)
def test_files_without_rows_and_lists_in_cells_are_refused(
    frame: pl.DataFrame, message: str, engine: str, tmp_path: Path
) -> None:
    frame.write_parquet(tmp_path / "votes.parquet")
    with pytest.raises(DataError, match=message):
        spagree.measure(tmp_path / "votes.parquet", engine=engine)


@on_engines
def test_the_order_of_columns_does_not_matter_and_a_damaged_file_is_named(engine: str, tmp_path: Path) -> None:
    VOTES.head(600).write_parquet(tmp_path / "a.parquet")
    VOTES.tail(-600).select("label", "item", "annotator").write_parquet(tmp_path / "b.parquet")
    assert figures(tmp_path / "*.parquet", engine=engine) == figures(VOTES)
    (tmp_path / "b.parquet").write_bytes((tmp_path / "b.parquet").read_bytes()[:-30])
    with pytest.raises(FileError, match=r"b.parquet: .*truncated or damaged"):
        spagree.measure(tmp_path / "*.parquet", engine=engine)


TWICE = pl.concat([VOTES.with_columns(time=pl.lit(1.0)), VOTES.with_columns(time=pl.lit(2.0), label=pl.lit("A"))])


@on_engines
def test_a_time_that_is_no_number_is_no_time(engine: str, tmp_path: Path) -> None:
    """Engines sort NaN first, last or nowhere."""
    TWICE.with_columns(time=pl.lit(float("nan"))).write_parquet(tmp_path / "nan.parquet")
    with pytest.raises(DataError, match="2,400 of these annotations have no time"):
        spagree.measure(tmp_path / "nan.parquet", engine=engine, duplicates="last")


def test_a_guessed_time_that_cannot_be_used_is_not_replaced_by_the_order_of_rows(tmp_path: Path) -> None:
    text = TWICE.with_columns(time=pl.lit("2024-01-0") + pl.col("time").cast(int).cast(str))
    text.write_parquet(tmp_path / "text.parquet")
    wanted = spagree.measure(TWICE, duplicates="last").spa
    assert spagree.measure(tmp_path / "text.parquet", duplicates="last").spa == wanted
    with pytest.raises(UsageError, match=r"duplicates=.last. needs an order, and column 'time' was not used"):
        spagree.measure(tmp_path / "text.parquet", engine="polars", duplicates="last")
    assert spagree.measure(tmp_path / "text.parquet", engine="polars", duplicates="last", time="time").spa == wanted


def test_texts_that_are_no_times_are_the_fault_of_the_data() -> None:
    with pytest.raises(DataError, match='time="time": not all of its texts are ISO 8601 dates'):
        spagree.measure(TWICE.with_columns(time=pl.lit("yesterday")).lazy(), duplicates="last", time="time")
