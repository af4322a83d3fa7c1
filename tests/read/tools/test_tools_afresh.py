"""Exports that hold something beside classes, or hide which item is which."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import spagree

LABELS = {1: "aab", 2: "abb", 3: "bbb", 4: "aaa", 5: "bab", 6: "abc"}  # by item, one letter for each of three people
ROWS = [(item, who, letter) for item, letters in LABELS.items() for who, letter in enumerate(letters)]
SPA = (1 / 3 + 1 / 3 + 1 + 1 + 1 / 3 + 0) / 6


def codes(found: spagree.Agreement) -> dict[str, str]:
    return {each.code: each.message for each in found.warnings}


def lines(path: Path, records: list[Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, records)))
    return path


def argilla(item: int, **questions: list[Any]) -> dict[str, Any]:
    record: dict[str, Any] = {"id": f"r{item}", "text": f"text {item}"}
    for name, values in questions.items():
        record[f"{name}.responses"] = values
        record[f"{name}.responses.users"] = [f"u{who}" for who in range(3)]
        record[f"{name}.responses.status"] = ["submitted"] * 3
    return record


def marks(letters: str) -> list[Any]:
    return [[{"start": 0, "end": 3, "label": letter}] for letter in letters]


def test_spans_of_argilla_are_no_classes(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", [argilla(item, span=marks(letters)) for item, letters in LABELS.items()])
    with pytest.raises(spagree.DataError, match="18 responses mark spans, not classes"):
        spagree.measure(path)


def test_labels_of_argilla_beside_spans(tmp_path: Path) -> None:
    records = [argilla(item, span=marks(letters), mood=list(letters)) for item, letters in LABELS.items()]
    found = spagree.measure(lines(tmp_path / "a.jsonl", records))
    assert found.spa.value == pytest.approx(SPA)
    assert "18 responses with spans ignored" in codes(found)["regions_left_aside"]


def test_rankings_of_argilla_are_compared_as_a_whole(tmp_path: Path) -> None:
    def ranking(letter: str) -> list[dict[str, Any]]:
        order = {"a": "xyz", "b": "yxz", "c": "zyx"}[letter]
        return [{"value": name, "rank": order.index(name) + 1} for name in "xyz"]

    records = [argilla(item, rank=[ranking(each) for each in letters]) for item, letters in LABELS.items()]
    found = spagree.measure(lines(tmp_path / "a.jsonl", records))
    assert found.spa.value == pytest.approx(SPA) and set(found.data.labels) == {"x > y > z", "y > x > z", "z > y > x"}


def labelbox(item: int, letters: str, *, classes: bool) -> dict[str, Any]:
    def label(who: int, letter: str) -> dict[str, Any]:
        mood = {"name": "mood", "value": "mood", "radio_answer": {"name": letter, "value": letter}}
        box = {"name": letter, "annotation_kind": "ImageBoundingBox", "bounding_box": {"top": 1}}
        details = {"created_by": f"u{who}@x.org", "created_at": "2024-01-01T00:00:00Z"}
        return {
            "label_details": details,
            "annotations": {"objects": [box], "classifications": [mood] if classes else []},
        }

    labels = [label(who, letter) for who, letter in enumerate(letters)]
    return {"data_row": {"id": f"d{item}"}, "projects": {"p": {"labels": labels}}}


def test_objects_of_labelbox_are_no_classes(tmp_path: Path) -> None:
    path = lines(tmp_path / "l.ndjson", [labelbox(item, letters, classes=False) for item, letters in LABELS.items()])
    with pytest.raises(spagree.DataError, match="18 objects marked and no classifications"):
        spagree.measure(path)
    path = lines(tmp_path / "l.ndjson", [labelbox(item, letters, classes=True) for item, letters in LABELS.items()])
    found = spagree.measure(path)
    assert found.spa.value == pytest.approx(SPA)
    assert "18 marked objects ignored" in codes(found)["regions_left_aside"]


def test_entities_of_doccano_are_no_classes(tmp_path: Path) -> None:
    empty = {"id": 1, "text": "t", "entities": [], "relations": [], "Comments": []}
    marked = {**empty, "entities": [{"id": 1, "label": "a", "start_offset": 0, "end_offset": 1}]}
    for name in ("ann", "bob"):
        lines(tmp_path / f"{name}.jsonl", [empty, marked])
    archive = tmp_path / "project.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for name in ("ann", "bob"):
            packed.write(tmp_path / f"{name}.jsonl", f"{name}.jsonl")
    for source in (archive, tmp_path / "ann.jsonl", [tmp_path / "ann.jsonl", tmp_path / "bob.jsonl"]):
        with pytest.raises(spagree.DataError, match="marks spans"):
            spagree.measure(source)


HEADER = "HITId,WorkerId,AssignmentStatus,Input.text,Input.topic,Answer.mood,Approve,Reject"


def batch(path: Path, text: str, topic: str) -> Path:
    """Each item in two HITs: one for the first worker, one for the others."""
    rows = [
        f"h{item}{min(who, 1)},w{who},Approved,{text.format(item)},{topic.format(item % 2)},{letter}"
        for item, who, letter in ROWS
    ]
    path.write_text("\n".join([HEADER, *rows]))
    return path


def test_one_input_in_several_hits(tmp_path: Path) -> None:
    path = batch(tmp_path / "batch.csv", "text {}", "topic {}")
    found = spagree.measure(path)
    assert "6 inputs occur in several HITs" in codes(found)["inputs_repeated"]
    assert codes(found)["inputs_repeated"].endswith('use item="Input.text"')
    joined = spagree.measure(path, item="Input.text")
    assert joined.spa.value == pytest.approx(SPA) and "inputs_repeated" not in codes(joined)
    half = spagree.measure(path, where={"Input.topic": "topic 1"})
    assert "only records with Input.topic = topic 1: 9 of 18" in str(half)


def test_inputs_that_no_column_tells_apart(tmp_path: Path) -> None:
    path = tmp_path / "batch.csv"
    rows = [
        f"h{item}{min(who, 1)},w{who},Approved,text {item % 3},topic {item % 2},{letter},,"
        for item, who, letter in ROWS
    ]
    path.write_text("\n".join([HEADER, *rows]))
    message = codes(spagree.measure(path))["inputs_repeated"]
    assert "6 inputs occur in several HITs" in message and "give each its own id in an Input column" in message


def test_a_text_that_occurs_twice_is_not_one_input(tmp_path: Path) -> None:
    path = tmp_path / "batch.csv"
    rows = [f"h{item},w{who},Approved,same,topic {item},{letter},," for item, who, letter in ROWS]
    path.write_text("\n".join([HEADER, *rows]))
    found = spagree.measure(path)
    assert found.spa.value == pytest.approx(SPA) and "inputs_repeated" not in codes(found)


def test_tasks_of_two_servers_that_share_their_ids_are_named(tmp_path: Path) -> None:
    """Each server numbers its tasks from 1; who counts them together is told, and --item tells them apart."""

    def task(number: int, text: str, people: int, letters: str) -> dict[str, Any]:
        annotations = [
            {"id": 10 * people + who, "completed_by": people + who, "result": [
                {"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": [letter]}}]}
            for who, letter in enumerate(letters)
        ]  # fmt: skip
        return {"id": number, "data": {"text": text}, "annotations": annotations}

    paths = [tmp_path / "here.json", tmp_path / "there.json"]
    paths[0].write_text(json.dumps([task(1, "one", 1, "ab"), task(2, "two", 3, "aa")]))
    paths[1].write_text(json.dumps([task(1, "three", 5, "bb"), task(2, "two", 7, "bb"), task(3, "four", 9, "cc")]))
    together = spagree.measure(paths)
    assert "1 item has several texts, such as '1': 'one' and 'three'" in codes(together)["several_texts"]
    assert "with item=" in codes(together)["several_texts"]
    apart = spagree.measure(paths, item="text")  # one: 0 of 1 pair; two: 2 of 6, weight 3; three and four: all
    assert "several_texts" not in codes(apart)
    assert apart.spa.value == pytest.approx((0 + 3 * 2 / 6 + 1 + 1) / 6)


def test_one_control_question_is_one(tmp_path: Path) -> None:
    result = [{"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": ["a"]}}]
    annotations = [{"id": who, "completed_by": who, "result": result, "ground_truth": who == 1} for who in (1, 2)]
    path = tmp_path / "gold.json"
    path.write_text(json.dumps([{"id": 1, "data": {"text": "one"}, "annotations": annotations}]))
    assert codes(spagree.measure(path))["control_questions"].startswith("1 annotation is marked as ground truth")
