"""Files made of an assignment: what tools import."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spagree
from spagree.assignment import assign, write_tasks
from spagree.present.sentences import explain

ITEMS = {"q1": {"id": "q1", "text": "good <b>"}, "q2": {"id": "q2", "text": "bad"}}
DESIGN = assign(list(ITEMS), ["ann", "bob"], per_item=2)


def test_label_studio_gets_a_list_of_tasks_per_annotator(tmp_path: Path) -> None:
    paths = write_tasks(DESIGN, "label-studio", tmp_path / "tasks", ITEMS)
    assert [path.name for path in paths] == ["ann.json", "bob.json"]
    tasks = json.loads(paths[0].read_text("utf-8"))
    assert tasks[0] == {"data": {"id": "q1", "text": "good <b>", "item": "q1", "assigned_to": "ann"}}
    assert len(tasks) == 2


def test_potato_gets_lines_with_id_and_text(tmp_path: Path) -> None:
    paths = write_tasks(DESIGN, "potato", tmp_path, {"q1": ITEMS["q1"]})
    lines = [json.loads(line) for line in paths[1].read_text("utf-8").splitlines()]
    assert [(line["id"], line["text"]) for line in lines] == [("q1", "good <b>"), ("q2", "q2")]


def test_names_that_are_no_file_names(tmp_path: Path) -> None:
    design = assign(["q1"], ["../ann", "Ann", "ann", "é/ü", "..."], per_item=5)
    paths = write_tasks(design, "potato", tmp_path, {})
    assert all(path.parent == tmp_path for path in paths) and len({path.name.lower() for path in paths}) == 5


def test_an_unknown_tool_is_refused(tmp_path: Path) -> None:
    with pytest.raises(spagree.UsageError, match="did you mean 'potato'"):
        write_tasks(DESIGN, "potatoe", tmp_path, {})


def test_the_screen_names_groups_that_never_meet() -> None:
    assert "2 groups share no item" in explain(assign(["q1", "q2"], 4, per_item=2))
