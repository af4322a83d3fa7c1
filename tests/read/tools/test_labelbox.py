"""Labelbox: classifications of data rows."""

from __future__ import annotations

from typing import Any

import pytest
from exports import Write, rows

import spagree
from spagree.read import read, read_all


def labelled(item: str, who: str, *classifications: Any, **more: Any) -> dict[str, Any]:
    label = {"label_kind": "Default", "label_details": {"created_by": who, "created_at": "2020-01-01T00:00:00.000+0000"},
             "annotations": {"objects": [], "classifications": list(classifications)}, **more}  # fmt: skip
    return {
        "data_row": {"id": item, "global_key": f"k-{item}"},
        "media_attributes": {},
        "projects": {"p": {"name": "x", "labels": [label]}},
    }


RADIO = {"name": "Mood", "value": "mood", "radio_answer": {"name": "Good", "value": "good"}}


LIST = {
    "name": "Topics",
    "value": "topics",
    "checklist_answers": [{"name": "B", "value": "b"}, {"name": "A", "value": "a"}],
}


TEXT = {"name": "Why", "value": "why", "text_answer": {"content": "so"}}


def test_labelbox_classifications(write: Write) -> None:
    path = write("l.jsonl", [labelled("d1", "a@x.org", RADIO, LIST, TEXT), labelled("d1", "b@x.org", {**RADIO, "radio_answer": {"name": "Bad"}}),
                              labelled("d2", "b@x.org", RADIO, performance_details={"skipped": True})])  # fmt: skip
    found = read_all(path)
    assert rows(found["mood"]) == [("d1", "a@x.org", "good"), ("d1", "b@x.org", "Bad")]
    assert dict(found["mood"].left_out) == {"skipped": 1}
    assert rows(found["topics"]) == [("d1", "a@x.org", '["a", "b"]')] and rows(found["why"]) == [
        ("d1", "a@x.org", "so")
    ]
    assert rows(read(path, question="mood", item="global_key"))[0][0] == "k-d1"


def test_labelbox_what_looks_like_an_export_is_refused(write: Write) -> None:
    with pytest.raises(spagree.DataError, match="for importing"):
        read(write("l.jsonl", [{"answer": {}, "schemaId": "s", "dataRow": {"id": 1}}]))
    with pytest.raises(spagree.DataError, match="old export format"):
        read(write("l.json", [{"ID": 1, "DataRow ID": 2, "Label": {}, "Created By": "x"}]))
    with pytest.raises(spagree.DataError, match=r"l\.jsonl:1: 'labels' should be a list"):
        read(write("l.jsonl", [{"data_row": {"id": "1"}, "projects": {"p": {"labels": 5}}}]))
