"""Zooniverse: tasks, surveys, drawings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from exports import Write, codes

import spagree
from spagree.read import read, read_all

ZOO = "classification_id,user_name,workflow_id,created_at,gold_standard,annotations,subject_data,subject_ids\n"


def classified(user: str, subject: int, *tasks: dict[str, Any], workflow: int = 1) -> str:
    cells = [json.dumps(list(tasks)), json.dumps({str(subject): {"Filename": f"{subject}.jpg"}})]
    quoted = ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)
    return f"7,{user},{workflow},2024-02-23 16:17:42 UTC,,{quoted},{subject}\n"


def task(name: str, value: Any, text: str = "") -> dict[str, Any]:
    return {"task": name, "task_label": text, "value": value}


def test_zooniverse_tasks_surveys_and_drawings(write: Write) -> None:
    lion = [{"choice": "LION", "answers": {"HOWMANY": "2"}}, {"choice": "BIRD", "answers": {"HOWMANY": "1"}}]
    drawn = task("T2", [{"x": 1, "y": 2, "tool": 0}])
    path = write(
        "c.csv",
        ZOO
        + classified("ann", 5, task("T0", "Yes"), task("T1", lion), task("T3", ["b", "a"]), drawn)
        + classified("bob", 5, task("T0", "No"), task("T1", lion[::-1]), task("T3", ["a", "b"]))
        + classified("not-logged-in-1", 5, task("T0", None), task("T1", []), task("T3", ["a"])),
    )
    found = spagree.measure_all(path, weights="flat")
    assert set(found) == {"T0", "T1", "T1/LION/HOWMANY", "T1/BIRD/HOWMANY", "T3"}
    assert [found[name].spa.value for name in ("T0", "T1", "T1/LION/HOWMANY", "T3")] == [0, 1, 1, 1 / 3]
    assert list(found["T1"].data.labels) == ['["BIRD", "LION"]'] and found["T1"].data.left_out == {"empty": 1}
    assert {"regions_left_aside", "not_logged_in"} <= codes(found["T0"]).keys()
    assert found["T0"].hardest()["text"].to_list() == ["5.jpg"]
    with pytest.raises(spagree.DataError, match="2 regions marked and no classes chosen"):
        read(write("d.csv", ZOO + classified("ann", 5, drawn) + classified("bob", 5, drawn)))


def test_zooniverse_tasks_that_ask_different_things_are_different_questions(write: Write) -> None:
    path = write(
        "c.csv",
        ZOO
        + classified("ann", 5, task("T0", "Yes", "Cat?"), task("T1", "x"))
        + classified("bob", 5, task("T0", "No", "Dog?"), task("T1", "x"))
        + classified("bob", 6, task("T1", "y"), workflow=2),
    )
    assert set(read_all(path)) == {"T0: Cat?", "T0: Dog?", "1/T1", "2/T1"}


def test_zooniverse_damaged_json_is_refused_with_its_place(write: Write) -> None:
    with pytest.raises(spagree.DataError, match=r"c\.csv:2: annotations is not JSON"):
        read(write("c.csv", ZOO + 'x,ann,1,2024-02-23 16:17:42 UTC,,"[{",{},5\n'))
    with pytest.raises(spagree.DataError, match=r"c\.csv:2: annotations should be a list of tasks"):
        read(write("c.csv", ZOO + "x,ann,1,2024-02-23 16:17:42 UTC,,7,{},5\n"))
