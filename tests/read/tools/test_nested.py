"""Argilla and Hugging Face: flat and nested records, lists of annotators and labels in any layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from exports import LETTER_SPA, LETTERS, Write, codes, in_order, lines, rows

import spagree
from spagree.read import read, read_all

FLAT = [
    {"id": "r1", "status": "pending", "mood.responses": ["good", "good", "bad"], "mood.responses.users": ["u1", "u2", "u3"],
     "mood.responses.status": ["submitted", "submitted", "discarded"], "mood.suggestion": "bad"},
    {"id": "r2", "status": "pending", "mood.responses": [["good", "bad"], "bad", 4], "mood.responses.users": ["u1", "u2", "u3"],
     "mood.responses.status": ["submitted", "draft", "submitted"], "mood.suggestion": None},
    {"id": "r3", "mood.responses": None, "mood.responses.users": None, "mood.responses.status": None},
]  # fmt: skip


V1 = [
    {"user_id": "u1", "value": "good", "status": "submitted"},
    {"user_id": "u2", "value": "bad", "status": "discarded"},
]


def test_argilla_flat_counts_what_was_submitted(write: Write) -> None:
    found = read(write("a.json", FLAT))
    assert rows(found) == [
        ("r1", "u1", "good"),
        ("r1", "u2", "good"),
        ("r2", "u1", '["bad", "good"]'),
        ("r2", "u3", "4"),
    ]
    assert dict(found.left_out) == {"discarded": 1, "draft": 1} and found.understood.format == "argilla"


def test_argilla_flat_as_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame([{**FLAT[0], "mood.responses": ["good", "good", "bad"]}, FLAT[2]]).write_parquet(path)
    assert rows(read(path)) == [("r1", "u1", "good"), ("r1", "u2", "good")]


def test_argilla_lists_that_do_not_fit_are_refused(write: Write) -> None:
    broken = {**FLAT[0], "mood.responses": ["good"]}
    with pytest.raises(
        spagree.DataError, match=r"a\.json: object 2: 'mood': lists of different lengths \(1 responses, 3 users"
    ):
        read(write("a.json", [FLAT[0], broken]))


def test_argilla_nested_has_lost_the_status_and_says_so(write: Write) -> None:
    given = [{"value": "good", "user_id": "u1"}, {"value": "bad", "user_id": "u2"}]
    record = {"id": "r1", "fields": {}, "suggestions": {"mood": {"value": "x"}}, "responses": {"mood": given}}
    found = read(write("a.json", [record]))
    assert rows(found) == [("r1", "u1", "good"), ("r1", "u2", "bad")] and list(codes(found)) == ["status_unknown"]
    with pytest.raises(spagree.DataError, match="responses to 'mood': should be a list of objects"):
        read(write("a.json", [{**record, "responses": {"mood": 4}}]))


@pytest.mark.parametrize("value", [V1, {name: [each[name] for each in V1] for name in V1[0]}])
def test_argilla_version_1_lists(value: Any, write: Write, tmp_path: Path) -> None:
    records = [{"external_id": "x", "text": "t", "mood": value}, {"external_id": None, "text": "t", "mood": value}]
    expected = [("x", "u1", "good"), ("2", "u1", "good")]
    found = read(write("a.jsonl", records))
    assert rows(found) == expected and dict(found.left_out) == {"discarded": 2}
    pl.DataFrame(records).write_parquet(tmp_path / "a.parquet")
    assert rows(read(tmp_path / "a.parquet")) == expected


def test_argilla_one_annotation_per_record_is_refused(write: Write) -> None:
    record = {"id": 1, "text": "t", "prediction": None, "annotation": "good", "annotation_agent": "me"}
    with pytest.raises(spagree.DataError, match="one annotation per record"):
        read(write("a.jsonl", [record]))


def argilla(item: int, **questions: list[Any]) -> dict[str, Any]:
    record: dict[str, Any] = {"id": f"r{item}", "text": f"text {item}"}
    for name, values in questions.items():
        record[f"{name}.responses"] = values
        record[f"{name}.responses.users"] = [f"u{who}" for who in range(3)]
        record[f"{name}.responses.status"] = ["submitted"] * 3
    return record


def test_rankings_of_argilla_are_compared_as_a_whole(tmp_path: Path) -> None:
    def ranking(letter: str) -> list[dict[str, Any]]:
        order = {"a": "xyz", "b": "yxz", "c": "zyx"}[letter]
        return [{"value": name, "rank": order.index(name) + 1} for name in "xyz"]

    records = [argilla(item, rank=[ranking(each) for each in letters]) for item, letters in LETTERS.items()]
    found = spagree.measure(lines(tmp_path / "a.jsonl", records))
    assert found.spa.value == pytest.approx(LETTER_SPA) and set(found.data.labels) == {
        "x > y > z",
        "y > x > z",
        "z > y > x",
    }


def test_an_item_of_argilla_that_the_user_names_is_never_the_number_of_the_row(tmp_path: Path) -> None:
    def record(doc: str | None) -> dict[str, Any]:
        given = [{"value": "yes", "user_id": who} for who in ("u1", "u2")]
        return {"fields": {}, "suggestions": {}, "metadata": {"doc": doc} if doc else {}, "responses": {"ok": given}}

    path = lines(tmp_path / "r.jsonl", record("d1"), record(None))
    named = in_order(path, item="metadata.doc")
    assert named == [("d1", "u1", "yes"), ("d1", "u2", "yes"), (None, "u1", "yes"), (None, "u2", "yes")]
    assert {item for item, *_ in in_order(path)} == {"1", "2"}
    with pytest.raises(spagree.ColumnError, match=r'^item="metadata.page": no record has anything in this field'):
        read(path, item="metadata.page")


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
