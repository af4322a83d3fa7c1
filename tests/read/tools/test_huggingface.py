"""Hugging Face: lists of annotators and labels in any layout."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from exports import Write, rows

import spagree
from spagree.read import read, read_all

FEATURES = {"id": {"dtype": "string", "_type": "Value"}}


CLASSES = {"names": ["hate", "normal"], "_type": "ClassLabel"}


LAYOUTS = {
    "parallel": (
        [{"id": "p1", "annotators": ["a", "b"], "label": [1, 0]}, {"id": "p2", "annotators": ["a", "c"], "label": [0, -1]}],
        {**FEATURES, "label": {"feature": CLASSES, "_type": "List"}},
    ),
    "list of structs": (
        [{"id": "p1", "annotators": [{"annotator_id": "a", "label": 1}, {"annotator_id": "b", "label": 0}]},
         {"id": "p2", "annotators": [{"annotator_id": "a", "label": 0}, {"annotator_id": "c", "label": -1}]}],
        {**FEATURES, "annotators": {"feature": {"annotator_id": {"dtype": "string", "_type": "Value"}, "label": CLASSES}, "_type": "List"}},
    ),
    "old list of structs": (
        [{"id": "p1", "annotators": [{"annotator_id": "a", "label": 1}, {"annotator_id": "b", "label": 0}]},
         {"id": "p2", "annotators": [{"annotator_id": "a", "label": 0}, {"annotator_id": "c", "label": -1}]}],
        {**FEATURES, "annotators": [{"annotator_id": {"dtype": "string", "_type": "Value"}, "label": CLASSES}]},
    ),
    "struct of lists": (
        [{"id": "p1", "annotators": {"annotator_id": ["a", "b"], "label": [1, 0]}}, {"id": "p2", "annotators": {"annotator_id": ["a", "c"], "label": [0, -1]}}],
        {**FEATURES, "annotators": {"annotator_id": {"feature": {"_type": "Value"}, "_type": "List"}, "label": {"feature": CLASSES, "_type": "List"}}},
    ),
}  # fmt: skip


NAMED = [("p1", "a", "normal"), ("p1", "b", "hate"), ("p2", "a", "hate")]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_huggingface_layouts_and_names_of_classes(layout: str, tmp_path: Path) -> None:
    records, features = LAYOUTS[layout]
    path = tmp_path / "d.parquet"
    pl.DataFrame(records).write_parquet(path, metadata={"huggingface": json.dumps({"info": {"features": features}})})
    found = read(path)
    assert rows(found) == NAMED and dict(found.left_out) == {"empty": 1} and found.understood.format == "huggingface"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_huggingface_saved_to_disk_and_as_json(layout: str, tmp_path: Path, write: Write) -> None:
    records, features = LAYOUTS[layout]
    write("set/dataset_info.json", {"features": features})
    pl.DataFrame(records).write_ipc_stream(tmp_path / "set" / "data-00000-of-00001.arrow")
    assert rows(read(tmp_path / "set")) == NAMED
    pl.DataFrame(records).write_ipc(tmp_path / "d.arrow")
    numbers = [("p1", "a", "1"), ("p1", "b", "0"), ("p2", "a", "0"), ("p2", "c", "-1")]
    assert rows(read(tmp_path / "d.arrow")) == numbers
    assert rows(read(write("d.jsonl", records))) == numbers


def test_huggingface_several_fields_are_questions(write: Write) -> None:
    records = [
        {
            "annotators": [
                {"annotator_id": 1, "label": "x", "target": ["a", "b"]},
                {"annotator_id": 2, "label": "y", "target": []},
            ]
        }
    ]
    found = read_all(write("d.json", records))
    assert rows(found["label"]) == [("1", "1", "x"), ("1", "2", "y")] and rows(found["target"]) == [
        ("1", "1", '["a", "b"]')
    ]
    with pytest.raises(spagree.UsageError, match=r'^item="nothing": exports of Hugging Face have no other fields'):
        read(write("d.json", records), question="label", item="nothing")


def test_huggingface_faults(write: Write, tmp_path: Path) -> None:
    with pytest.raises(
        spagree.DataError,
        match=r"d\.jsonl:1: no list of labels is as long as 'annotators'; lists: 'annotators \(2\)', 'label \(1\)'",
    ):
        read(write("d.jsonl", [{"id": 1, "annotators": ["a", "b"], "label": ["x"]}]))
    path = tmp_path / "d.parquet"
    features = LAYOUTS["parallel"][1]
    pl.DataFrame([{"id": "p", "annotators": ["a"], "label": [5]}]).write_parquet(
        path, metadata={"huggingface": json.dumps({"info": {"features": features}})}
    )
    with pytest.raises(spagree.DataError, match="class 5 has no name; the file names 2 classes"):
        read(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(spagree.FileError, match="truncated or damaged"):
        read(path, format="huggingface")
    with pytest.raises(spagree.DataError, match="none were found"):
        read(write("e.jsonl", [{"id": 1, "text": "x"}]), format="huggingface")
