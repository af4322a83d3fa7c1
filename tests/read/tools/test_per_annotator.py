"""Any tool: one file per annotator."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from exports import Write, rows

import spagree
from spagree.read import read


def test_one_file_per_annotator(write: Write, tmp_path: Path) -> None:
    files = [
        write("f/ann.csv", "id,label,created_at\n1,x,5\n2,y,6\n"),
        write("f/bob.csv", "id,label,created_at\n1,x,7\n2,,8\n"),
    ]
    expected = [("1", "ann", "x"), ("2", "ann", "y"), ("1", "bob", "x")]
    for source in (files, tmp_path / "f", str(tmp_path / "f" / "*.csv")):
        found = read(source, format="per-annotator")
        assert rows(found) == expected and dict(found.left_out) == {"empty": 1}
    assert found.frame.collect()["time"].to_list() == [5, 6, 7]
    for path in files:
        pl.read_csv(path, infer_schema=False).write_parquet(path.with_suffix(".parquet"))
        path.unlink()
    assert rows(read(tmp_path / "f", format="per-annotator")) == expected


def test_one_file_per_annotator_faults(write: Write) -> None:
    one = write("a/ann.csv", "id,verdict2\n1,x\n")
    with pytest.raises(spagree.DataError, match="one file is one annotator"):
        read(one, format="per-annotator")
    with pytest.raises(spagree.DataError, match="two files are called 'ann'"):
        read([one, write("b/ann.csv", "id,label\n1,x\n")], format="per-annotator")
    two = write("bob.csv", "id,verdict2\n1,x\n")
    with pytest.raises(spagree.ColumnError, match=r"ann\.csv: name the column with question="):
        read([one, two], format="per-annotator")
    assert rows(read([one, two], format="per-annotator", question="verdict2", item="id")) == [
        ("1", "ann", "x"),
        ("1", "bob", "x"),
    ]
