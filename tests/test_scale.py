"""More than fits into memory, and more files than one: the same numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import spagree
from spagree.errors import DataError, DuplicateError, FileError

SMALL_MEMORY = """
import json, sys, duckdb
real = duckdb.connect
def connect(*arguments, **options):
    connection = real(*arguments, **options)
    connection.execute(f"SET memory_limit = '{sys.argv[2]}'; SET temp_directory = '{sys.argv[3]}'; SET threads = 2")
    return connection
duckdb.connect = connect
import spagree
print(json.dumps(spagree.measure(sys.argv[1]).to_dict()))
"""


def measured(path: Path, memory: str, disk: Path | str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", SMALL_MEMORY, path, memory, disk]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "memory"), [(".parquet", "30MB"), (".csv", "60MB")])
def test_what_does_not_fit_into_memory_is_moved_to_disk(suffix: str, memory: str, tmp_path: Path) -> None:
    found = spagree.simulate(items=600_000, annotators=300, per_item=2, classes=4, seed=1).frame.drop("time")
    path = tmp_path / f"votes{suffix}"
    found.write_parquet(path) if suffix == ".parquet" else found.write_csv(path)
    without_disk = measured(path, memory, "")
    assert "spagree.errors.FileError" in without_disk.stderr
    assert "Out of Memory" in without_disk.stderr
    done = measured(path, memory, tmp_path / "spill")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == spagree.measure(found).to_dict()


def parts(folder: Path, number: int, frame: pl.DataFrame) -> None:
    size = -(-frame.height // number)
    for place in range(number):
        frame.slice(place * size, size).write_parquet(folder / f"part-{place:04}.parquet")


VOTES = spagree.simulate(items=400, annotators=15, per_item=3, classes=4, seed=3).frame.drop("time")


def test_hundreds_of_files_are_one_table(tmp_path: Path) -> None:
    parts(tmp_path, 300, VOTES)
    assert spagree.measure(tmp_path / "*.parquet").to_dict() == spagree.measure(VOTES).to_dict()


def test_rows_are_numbered_through_all_files(tmp_path: Path) -> None:
    """Row 5 of the third file of ten rows is row 25."""
    frame = VOTES.head(30)
    clash = frame.row(3)
    changed = frame.with_row_index().with_columns(
        pl.when(pl.col("index") == 24).then(pl.lit(clash[0])).otherwise("item").alias("item"),
        pl.when(pl.col("index") == 24).then(pl.lit(clash[1])).otherwise("annotator").alias("annotator"),
        pl.when(pl.col("index") == 24).then(pl.lit("another")).otherwise("label").alias("label"),
    )
    parts(tmp_path, 3, changed.drop("index"))
    with pytest.raises(DuplicateError) as caught:
        spagree.measure(tmp_path / "*.parquet")
    assert f"'{clash[2]}' (row 4) and 'another' (row 25)" in str(caught.value)
    kept = spagree.measure(tmp_path / "*.parquet", duplicates="first")
    assert kept.data.labels.get("another") is None


def test_columns_in_another_order_are_found_by_name(tmp_path: Path) -> None:
    parts(tmp_path, 3, VOTES)
    VOTES.select("label", "annotator", "item").write_parquet(tmp_path / "part-0001b.parquet")
    doubled = spagree.measure(tmp_path / "*.parquet")
    assert doubled.data.annotations == spagree.measure(VOTES).data.annotations
    assert doubled.data.left_out == {"repeated": VOTES.height}


def test_one_file_of_another_type_among_many_is_named(tmp_path: Path) -> None:
    parts(tmp_path, 5, VOTES)
    VOTES.with_columns(item=pl.int_range(VOTES.height)).write_parquet(tmp_path / "part-0003.parquet")
    with pytest.raises(DataError, match=r"part-0003.parquet: column 'item' holds BIGINT, in .*part-0000.*VARCHAR"):
        spagree.measure(tmp_path / "*.parquet")


def test_one_damaged_file_among_many_is_named(tmp_path: Path) -> None:
    parts(tmp_path, 5, VOTES)
    path = tmp_path / "part-0003.parquet"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FileError, match=r"part-0003.parquet: truncated or damaged Parquet"):
        spagree.measure(tmp_path / "*.parquet")
