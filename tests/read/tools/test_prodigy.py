"""Prodigy: yes and no, choices, sessions, and what is no class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exports import ROWS, SPA, Write, codes, jsonl, lines, rows, triples

import spagree
from spagree.read import read


def task(item: int, answer: str, who: str | None = None, time: int | None = None, **more: Any) -> dict[str, Any]:
    own = {"_annotator_id": who, "_session_id": f"{who}-1", "_timestamp": time} if who else {}
    return {"text": "t", "_input_hash": item, "_task_hash": -item, "answer": answer, **own, **more}


def test_prodigy_binary_asks_about_a_label(write: Write) -> None:
    lines = [
        task(-5, "accept", "ann", 20, label="A"),
        task(-5, "reject", "bob", 10, label="A"),
        task(-5, "accept", "ann", 30, label="B"),
        task(-5, "ignore", "bob", 40, label="B"),
    ]
    found = read(write("p.jsonl", lines))
    assert rows(found) == [("-5 A", "ann", "accept"), ("-5 A", "bob", "reject"), ("-5 B", "ann", "accept")]
    assert dict(found.left_out) == {"skipped": 1} and found.understood.format == "prodigy"
    assert found.frame.collect()["time"].to_list() == [20, 10, 30]
    assert len(rows(read(write("p.jsonl", lines), status=["answered", "ignored"]))) == 4


def test_prodigy_choice_is_what_was_accepted(write: Write) -> None:
    options = [{"id": "x", "text": "X"}, {"id": 2, "text": "Y"}]
    lines = [
        task(1, "accept", "ann", 1, options=options, accept=["x"]),
        task(1, "accept", "bob", 2, options=options, accept=[2, "x"]),
        task(1, "accept", "cyd", 3, options=options, accept=[]),
        task(1, "reject", "dee", 4, options=options, accept=["x"]),
        task(2, "accept", "ann", 5, options=options),
    ]
    found = read(write("p.jsonl", lines))
    assert rows(found) == [("1", "ann", "x"), ("1", "bob", '["2", "x"]')]
    assert dict(found.left_out) == {"empty": 2, "rejected": 1} and found.understood.columns["label"] == "accept"


def test_prodigy_old_files_know_nobody_and_several_files_are_annotators(write: Write) -> None:
    one = write("ann.jsonl", [task(1, "accept", label="A"), task(2, "accept", label="A")])
    assert rows(read(one)) == [("1 A", "accept"), ("2 A", "accept")]
    two = write("bob.jsonl", [task(1, "reject", label="A")])
    assert rows(read([one, two])) == [("1 A", "ann", "accept"), ("2 A", "ann", "accept"), ("1 A", "bob", "reject")]


def test_prodigy_sessions_on_request(write: Write) -> None:
    path = write("p.jsonl", [task(1, "accept", "ann", 1)])
    assert rows(read(path, annotator="_session_id", item="_task_hash")) == [("-1", "ann-1", "accept")]


def test_prodigy_duplicates_are_settled_by_time_and_not_by_line(write: Write) -> None:
    path = write("p.jsonl", [task(1, "accept", "ann", 9), task(1, "reject", "ann", 3), task(1, "accept", "bob", 5)])
    with pytest.raises(spagree.DuplicateError):
        spagree.measure(path)
    assert spagree.measure(path, duplicates="last").spa.value == 1
    assert spagree.measure(path, duplicates="first").spa.value == 0


def test_prodigy_a_cut_line_is_refused_with_its_number(write: Write) -> None:
    path = write("p.jsonl", [task(1, "accept", "ann", 9), task(1, "accept", "bob", 9)])
    path.write_text(path.read_text()[:-30])
    with pytest.raises(spagree.DataError, match=r"p\.jsonl:2: not JSON: .* at character \d+; .* truncated"):
        read(path)
    path.write_text(json.dumps(task(1, "accept")) + "\n{]}\n")
    with pytest.raises(spagree.DataError, match=r"p\.jsonl:2: not JSON"):
        read(path)
    path.write_text('{"_input_hash": 1, "_task_hash" 2}\n')
    with pytest.raises(spagree.DataError, match=r"p\.jsonl:1"):
        read(path, format="prodigy")
    with pytest.raises(spagree.ColumnError, match=r"p\.jsonl:1: there is no field 'answer'"):
        read(write("p.jsonl", [{"_input_hash": 1, "_task_hash": 2}]))


def prodigy(answer: str, who: str, **more: Any) -> dict[str, Any]:
    known = {"text": "Hi", "_input_hash": 1, "_task_hash": 2, "_view_id": "classification", "answer": answer}
    return {**known, "_annotator_id": who, "_session_id": who, **more}


def test_blocks_with_spans_are_spans(write: Write) -> None:
    marked = prodigy("accept", "a", _view_id="blocks", spans=[{"start": 0, "end": 2, "label": "X"}])
    with pytest.raises(spagree.DataError, match="1 region marked and no classes chosen"):
        read(write("p.jsonl", jsonl(marked)))
    chosen = {**marked, "options": [{"id": "x"}, {"id": "y"}], "accept": ["x"]}
    assert triples(write("c.jsonl", jsonl(chosen))) == [("1", "a", "x")]


def test_questions_about_one_span_are_told_apart_by_their_task(write: Write) -> None:
    spans = [prodigy(answer, who, _view_id="ner", _task_hash=number, spans=[{"start": number, "label": "X"}])
             for number, answers in ((8, "accept accept"), (9, "accept reject"))
             for who, answer in zip("ab", answers.split(), strict=True)]  # fmt: skip
    agreement = spagree.measure(write("p.jsonl", jsonl(*spans)), weights="flat")
    assert agreement.data.items == 2 and agreement.spa.value == 1 / 2


def test_sessions_called_by_their_time_are_nobody(write: Write) -> None:
    names = ("2023-07-25_14-50-21", "news-2023-07-26_14-50-21", "news-ann")
    agreement = spagree.measure(write("p.jsonl", jsonl(*(prodigy("accept", name) for name in names))))
    assert agreement.data.annotators == 1 and "sessions_unnamed" in codes(agreement)
    assert "2 annotations from sessions named only by a time" in str(agreement.warnings)


def viewed(view: str, **more: Any) -> dict[str, Any]:
    hashes = {"_input_hash": 1, "_task_hash": 2, "_session_id": "d-ann", "_annotator_id": "d-ann"}
    return {"text": "x", **hashes, "_view_id": view, "answer": "accept", **more}


def test_texts_typed_into_prodigy_are_refused_and_the_advice_reads_them(tmp_path: Path) -> None:
    tasks = [
        viewed("text_input", _input_hash=int(item[1:]), _annotator_id=who, user_input=label)
        for item, who, label in ROWS
    ]
    path = lines(tmp_path / "a.jsonl", tasks)
    with pytest.raises(spagree.DataError, match='label="user_input"'):
        spagree.measure(path)
    found = spagree.measure(
        path, format="long", item="_input_hash", annotator="_annotator_id", label="user_input", weights="flat"
    )
    assert found.spa.value == pytest.approx(SPA)


def test_a_review_in_prodigy_is_one_decision(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", [viewed("review", versions=[{"sessions": ["a"]}], accept=["pos"])])
    with pytest.raises(spagree.DataError, match="outcome of a review"):
        spagree.measure(path)


def test_sets_of_a_tool_hint_at_a_question_for_each_option(tmp_path: Path) -> None:
    chosen = {"pos": ["pos"], "neg": ["neg", "pos"], "neu": ["neg"]}
    tasks = [
        viewed("choice", _input_hash=int(item[1:]), _annotator_id=who, options=[], accept=chosen[label])
        for item, who, label in ROWS
    ]
    path = lines(tmp_path / "a.jsonl", tasks)
    (message,) = [w.message for w in spagree.measure(path).warnings if w.code == "label_sets"]
    assert 'metric="jaccard"' in message and 'multi="options"' in message and "separator" not in message
    assert set(spagree.measure_all(path, multi="options")) == {"accept:neg", "accept:pos"}
    assert spagree.measure(path, metric="jaccard").spa.value is not None
