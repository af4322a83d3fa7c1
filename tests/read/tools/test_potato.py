"""potato: states, histories, grids, and the lines of version 1."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from exports import Write, in_order, lines, rows, triples

import spagree
from spagree.read import read, read_all


def state(user: str, **items: Any) -> dict[str, Any]:
    return {"user_id": user, "instance_id_to_label_to_value": items, "current_instance_index": 1}


def given(schema: str, name: str, value: str | None = None) -> list[Any]:
    return [{"schema": schema, "name": name}, name if value is None else value]


def action(
    user: str, item: str, name: str, second: int, kind: str = "add_label", *, schema: str = "mood", **more: Any
) -> dict[str, Any]:
    base = {"timestamp": f"2026-01-01T00:00:{second:02}.5", "user_id": user, "instance_id": item, "action_type": kind}
    values = {"schema_name": schema, "label_name": name, "old_value": None, "new_value": name}
    return {**base, **values, "metadata": {"ip_address": "1.2.3.4"}, **more}


def potato(write: Write, tmp_path: Path) -> Path:
    write(
        "out/ann/user_state.json",
        state(
            "ann",
            i1=[given("mood", "good", "true"), given("topics", "b"), given("topics", "a")],
            i2=[given("mood", "bad")],
        ),
    )
    write(
        "out/bob/user_state.json",
        state("bob", i1=[given("mood", "good"), given("size", "slider", "7")], i2=[given("mood", "good")]),
    )
    write("out/ann/annotation_history.jsonl", [action("ann", "i1", "good", 1), action("ann", "i2", "bad", 2)])
    write("out/cyd/user_state.json", state("cyd", i1={"mood": {"labels": {"good": True, "bad": False}}}))
    write("out/annotations.csv", "user,mood.good\nann,stale\n")
    return tmp_path / "out"


def test_potato_takes_names_and_not_values(write: Write, tmp_path: Path) -> None:
    found = read_all(potato(write, tmp_path))
    assert sorted(rows(found["mood"])) == [
        ("i1", "ann", "good"), ("i1", "bob", "good"), ("i1", "cyd", "good"), ("i2", "ann", "bad"),
        ("i2", "bob", "good"),
    ]  # fmt: skip
    assert rows(found["topics"]) == [("i1", "ann", '["a", "b"]')] and dict(found["topics"].left_out) == {"empty": 4}
    assert rows(found["size"]) == [("i1", "bob", "7")]
    assert found["mood"].frame.collect()["time"].to_list()[:2] == [1767225601.5, 1767225602.5]
    assert rows(read(tmp_path / "out/ann/user_state.json", question="mood")) == [
        ("i1", "ann", "good"),
        ("i2", "ann", "bad"),
    ]


def test_potato_inputs_with_a_fixed_name_hold_the_answer_in_their_value(write: Write, tmp_path: Path) -> None:
    """Seen by running potato 2.12.1: select, pairwise and triage store one name whatever was answered."""
    for user, place, better, keep in (("ann", "north", "left", "keep"), ("bob", "south", "right", "drop")):
        answers = [
            given("place", "select-one", place),
            given("better", "selection", better),
            given("keep", "decision", keep),
        ]
        write(f"out/{user}/user_state.json", state(user, i1=answers))
    found = read_all(tmp_path / "out")
    assert sorted(rows(found["place"])) == [("i1", "ann", "north"), ("i1", "bob", "south")]
    assert sorted(rows(found["better"])) == [("i1", "ann", "left"), ("i1", "bob", "right")]
    assert sorted(rows(found["keep"])) == [("i1", "ann", "keep"), ("i1", "bob", "drop")]


def test_potato_remarks_beside_a_choice_are_no_choice(write: Write, tmp_path: Path) -> None:
    write("out/ann/user_state.json", state("ann", i1=[given("why", "size"), given("why", "free_response", "really")]))
    write("out/bob/user_state.json", state("bob", i1=[given("why", "size")], i2=[given("why", "free_response", "hm")]))
    found = read_all(tmp_path / "out")
    assert sorted(rows(found["why"])) == [("i1", "ann", "size"), ("i1", "bob", "size"), ("i2", "bob", "free_response")]
    assert found["why"].warnings == ()


def test_potato_histories_alone_are_replayed(write: Write) -> None:
    lines = [
        action("ann", "i1", "good", 1),
        action("ann", "i1", "bad", 3, "update_label", old_value="good"),
        action("bob", "i1", "good", 2, schema="topics"),
        action("bob", "i1", "price", 4, schema="topics"),
        action("bob", "i1", "good", 5, "delete_label", schema="topics"),
        action("cyd", "i1", "slider", 6, schema="size", new_value="7"),
        action("cyd", "i1", "good", 7),
        action("cyd", "i1", "good", 8, "update_label", old_value="true", new_value="false"),
        action("cyd", "i1", "PER", 9, "add_span"),
    ]
    found = read_all(write("annotation_history.jsonl", lines[::-1]))
    assert [warning.code for warning in found["mood"].warnings] == ["history_only"]
    assert rows(found["mood"]) == [("i1", "ann", "bad")] and dict(found["mood"].left_out) == {"empty": 2}
    assert rows(found["topics"]) == [("i1", "bob", "price")] and rows(found["size"]) == [("i1", "cyd", "7")]


def test_potato_damaged_states_name_the_place(write: Write, tmp_path: Path) -> None:
    write("o/ann/user_state.json", state("ann", i1=[["mood", "good"]]))
    with pytest.raises(spagree.DataError, match=r"user_state\.json:1: i1: expected \[\{schema, name\}, value\]"):
        read(tmp_path / "o")
    path = write("o/ann/user_state.json", json.dumps(state("ann", i1=[given("mood", "good")]), indent=1)[:-30])
    with pytest.raises(spagree.DataError, match=r"user_state\.json:\d+: column \d+: not JSON.*truncated"):
        read(path.parent.parent)


def test_a_plain_folder_stays_a_file_error(write: Write, tmp_path: Path) -> None:
    write("plain/a.csv", "item,label\n1,2\n")
    for folder in (tmp_path / "plain", tmp_path):
        with pytest.raises(spagree.FileError, match="is a folder"):
            read(folder)


def test_rows_of_a_grid_are_items(write: Write, tmp_path: Path) -> None:
    given = {"ann": {"A": "5", "B": "1"}, "bob": {"A": "5", "B": "2"}}
    for who, grid in given.items():
        labels = {"quality": grid, "mood": {"good": "1"}, "note": {"text_box": who}}
        write(f"{who}/annotated_instances.jsonl", {"id": "d1", "displayed_text": "Hi", "label_annotations": labels})
    write("annotated_instances.tsv", "user\tinstance_id\tdisplayed_text\tquality:::A\nuser\td1\tHi\t5\n")
    assert triples(tmp_path, question="quality") == [
        ("d1 A", "ann", "5"), ("d1 A", "bob", "5"), ("d1 B", "ann", "1"), ("d1 B", "bob", "2")]  # fmt: skip
    assert triples(tmp_path, question="mood") == [("d1", "ann", "good"), ("d1", "bob", "good")]
    assert triples(tmp_path, question="note") == [("d1", "ann", "ann"), ("d1", "bob", "bob")]
    with pytest.raises(spagree.DataError, match="potato's table of all annotations names one anonymous user"):
        read(tmp_path / "annotated_instances.tsv")


def test_grids_are_asked_in_the_order_of_the_file(write: Write, tmp_path: Path) -> None:
    names = ["zeal", "care", "wit", "tone", "pace", "form", "aim", "scope"]
    for who, rating in (("ann", "1"), ("bob", "2")):
        labels = {name: {"A": rating} for name in names}
        write(f"{who}/annotated_instances.jsonl", {"id": "d1", "displayed_text": "Hi", "label_annotations": labels})
    with pytest.raises(spagree.ColumnError, match=", ".join(f"'{name}'" for name in names)):
        read(tmp_path)


def saved_state(folder: Path, who: str, given: Mapping[str, list[Any]]) -> None:
    (folder / who).mkdir(parents=True)
    text = json.dumps({"user_id": who, "instance_id_to_label_to_value": given})
    (folder / who / "user_state.json").write_text(text)


def test_the_rows_of_a_multirate_are_items(tmp_path: Path) -> None:
    ratings = {"eve": ("1", "2"), "fay": ("2", "2")}
    for who, (plot, cast) in ratings.items():
        chosen = [
            [{"schema": "parts", "name": "plot"}, plot],
            [{"schema": "parts", "name": "cast"}, cast],
            [{"schema": "mood", "name": "good"}, "good"],
        ]
        saved_state(tmp_path, who, {"1": chosen})
    found = spagree.measure(tmp_path, question="parts", weights="flat")
    assert found.spa.value == 0.5 and sorted(found.items()["item"]) == ["1 cast", "1 plot"]
    assert "empty" not in found.data.left_out
    assert spagree.measure(tmp_path, question="mood").spa.value == 1


def test_a_multirate_known_by_its_history(tmp_path: Path) -> None:
    for who, rating in (("eve", "1"), ("fay", "2")):
        (tmp_path / who).mkdir()
        added = {"action_type": "add_label", "schema_name": "parts", "label_name": "plot", "old_value": ""}
        first = {**added, "timestamp": "1", "user_id": who, "instance_id": "7", "new_value": "3"}
        second = {**first, "action_type": "update_label", "timestamp": "2", "old_value": "3", "new_value": rating}
        lines(tmp_path / who / "annotation_history.jsonl", [first, second])
    found = spagree.measure(tmp_path)
    assert found.spa.value == 0 and set(found.data.labels) == {"1", "2"}


def test_two_lines_of_one_user_about_one_item_are_two_annotations_in_potato_1(tmp_path: Path) -> None:
    def instance(mood: str) -> dict[str, Any]:
        return {"id": "d1", "displayed_text": "Hi", "label_annotations": {"mood": {mood: "1"}}}

    lines(tmp_path / "ann" / "annotated_instances.jsonl", instance("good"), instance("bad"))
    lines(tmp_path / "bob" / "annotated_instances.jsonl", instance("good"))
    assert in_order(tmp_path) == [("d1", "ann", "good"), ("d1", "ann", "bad"), ("d1", "bob", "good")]
    with pytest.raises(spagree.DuplicateError, match=r"'good' .* and 'bad'"):
        spagree.measure(tmp_path)
