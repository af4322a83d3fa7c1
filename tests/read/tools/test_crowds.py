"""Appen, Toloka and Zooniverse: reports with and without gold, assignments, surveys and drawings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exports import Write, codes, rows

import spagree
from spagree.read import read, read_all

APPEN = (
    "_unit_id,_created_at,_golden,_id,_tainted,_trust,_worker_id,_country,_ip,text,topics\n"
    '1,8/20/2018 18:40:05,false,11,false,0.9,W1,NA,10.0.0.1,hello,"food\nprice"\n'
    "1,8/20/2018 18:41:05,false,12,false,0.9,W2,NA,10.0.0.2,hello,food\n"
    "1,8/20/2018 18:42:05,false,13,true,0.1,W3,NA,10.0.0.3,hello,price\n"
    '2,8/20/2018 18:43:05,true,14,false,0.9,W1,NA,10.0.0.1,bye,"[""price"", ""food""]"\n'
    '2,8/20/2018 18:44:05,true,15,false,0.9,W2,NA,10.0.0.2,bye,"food\nprice"\n'
)


def test_appen_finds_the_question_and_leaves_out_tainted_judgements(write: Write) -> None:
    found = read(write("f.csv", APPEN))
    both = '["food", "price"]'
    assert rows(found) == [("1", "W1", both), ("1", "W2", "food"), ("2", "W1", both), ("2", "W2", both)]
    assert dict(found.left_out) == {"tainted": 1} and found.understood.columns["label"] == "topics"
    assert found.frame.collect()["time"][0] == 1534790405
    assert len(rows(read(write("f.csv", APPEN), status=["trusted", "tainted"]))) == 5


def test_appen_test_questions_may_be_left_out(write: Write) -> None:
    found = read(write("f.csv", APPEN), ground_truth="drop")
    assert dict(found.left_out) == {"tainted": 1, "ground_truth": 2}


def test_appen_no_personal_data_leaves_the_reader(write: Write) -> None:
    agreement = spagree.measure(write("f.csv", APPEN))
    assert "10.0.0" not in str(agreement) + agreement.to_json() + repr(agreement.understood)


def test_appen_what_might_be_a_question_is_said(write: Write) -> None:
    text = "_unit_id,_worker_id,src,mood,topic\n1,a,web,good,x\n1,b,web,good,y\n2,a,web,good,x\n2,b,web,good,x\n"
    found = read(write("f.csv", text))
    assert found.understood.columns["label"] == "topic" and list(codes(found)) == ["inputs_assumed"]
    assert "'src', 'mood'" in found.warnings[0].message
    assert spagree.measure(write("f.csv", text), question="mood").spa.value == 1


def test_appen_gold_columns_tell_the_questions(write: Write) -> None:
    text = "_unit_id,_worker_id,src,mood,mood_gold\n1,a,web,good,\n1,b,web,good,\n"
    assert list(read_all(write("f.csv", text))) == ["mood"]


def test_appen_when_nothing_differs_the_question_must_be_named(write: Write) -> None:
    text = "_unit_id,_worker_id,src,mood\n1,a,web,good\n1,b,web,good\n"
    with pytest.raises(spagree.ColumnError, match="question=: 'src', 'mood'"):
        read(write("f.csv", text))


@pytest.mark.parametrize(
    "names", ["_unit_id,_unit_state,_trusted_judgments,mood,mood:confidence", "_unit_id,mood,mood:confidence"]
)
def test_appen_aggregated_reports_are_refused(names: str, write: Write) -> None:
    with pytest.raises(spagree.DataError, match=r"aggregated report .* download the full report"):
        read(write("a.csv", f"{names}\n" + ",".join("1" for _ in names.split(",")) + "\n"))


def test_questions_without_gold_are_questions(write: Write) -> None:
    header = "_unit_id,_worker_id,text,mood,mood_gold,mood_gold_reason,topic\n"
    path = write("f.csv", header + "1,a,Hi,x,,,food\n1,b,Hi,x,,,price\n2,a,Ho,y,,,food\n")
    found = spagree.measure_all(path)
    assert {name: each.spa.value for name, each in found.items()} == {"mood": 1, "topic": 0}
    assert found["topic"].hardest(1)["text"].to_list() == ["Hi"]


API = (
    "INPUT:image\tOUTPUT:mood\tGOLDEN:mood\tHINT:text\tASSIGNMENT:task_id\tASSIGNMENT:worker_id\tASSIGNMENT:status\tASSIGNMENT:started\n"
    "u1\tgood\t\t\tt1\tw1\tAPPROVED\t2020-01-01T00:00:01\n"
    'u1\t["good","bad"]\t\t\tt1\tw2\tSUBMITTED\t2020-01-01T00:00:02\n'
    "u1\tbad\t\t\tt1\tw3\tREJECTED\t2020-01-01T00:00:03\n"
    "u2\tbad\tbad\t\tt2\tw1\tAPPROVED\t2020-01-01T00:00:04\n"
    "u2\t\t\t\tt2\tw2\tSKIPPED\t2020-01-01T00:00:05\n"
    "u2\t\t\t\tt2\tw4\tEXPIRED\t2020-01-01T00:00:06\n"
    "u2\tbad\t\t\tt2\tw5\tACTIVE\t2020-01-01T00:00:07\n"
)


UI = (
    "INPUT:image\tINPUT:text\tOUTPUT:mood\tASSIGNMENT:assignment_id\tASSIGNMENT:worker_id\tASSIGNMENT:status\tASSIGNMENT:submitted\n"
    "u1\ta\tgood\t\t\t\t\n"
    "u2\tb\tbad\t\t\t\t\n"
    "\t\t\ta1\tw1\tAPPROVED\t2020-01-01T00:00:01\n"
    "u1\ta\tgood\t\t\t\t\n"
    "u2\tb\tgood\t\t\t\t\n"
    "\t\t\ta2\tw2\tAPPROVED\t2020-01-01T00:00:02\n"
)


def test_toloka_api_layout(write: Write) -> None:
    found = read(write("t.tsv", API))
    assert rows(found) == [("t1", "w1", "good"), ("t1", "w2", '["bad", "good"]'), ("t2", "w1", "bad")]
    assert dict(found.left_out) == {"rejected": 1, "skipped": 1, "expired": 1, "pending": 1}
    assert dict(read(write("t.tsv", API), ground_truth="drop").left_out)["ground_truth"] == 1
    assert {row[0] for row in rows(read(write("t.tsv", API), item="INPUT:image"))} == {"u1", "u2"}


def test_toloka_website_layout_has_the_assignment_behind_its_tasks(write: Write) -> None:
    found = read(write("t.tsv", UI))
    assert rows(found) == [
        ('["u1", "a"]', "w1", "good"),
        ('["u2", "b"]', "w1", "bad"),
        ('["u1", "a"]', "w2", "good"),
        ('["u2", "b"]', "w2", "good"),
    ]
    assert spagree.measure(write("t.tsv", UI), weights="flat").spa.value == 0.5


def test_toloka_a_page_without_its_assignment_was_cut_off(write: Write) -> None:
    with pytest.raises(spagree.DataError, match=r"t\.tsv:5: 2 tasks without the row of the assignment .* truncated"):
        read(write("t.tsv", "\n".join(UI.splitlines()[:-1]) + "\n"))


def test_the_text_of_toloka_is_an_input_by_its_usual_names(tmp_path: Path) -> None:
    header = "INPUT:id\tINPUT:url\tINPUT:sentence\tINPUT:text\tHINT:text\tOUTPUT:mood\tASSIGNMENT:worker_id\n"
    path = tmp_path / "t.tsv"
    path.write_text(header + "1\thttps://a\tsaid\tHi\tno\tgood\tw1\n2\thttps://b\tsaid\t\tno\tbad\tw1\n")
    frame = read(path, item="INPUT:id").frame.collect(backend="polars")
    assert list(frame["text"]) == ["Hi", "said"]
    named = read(path, item="INPUT:id", text="INPUT:url").frame.collect(backend="polars")
    assert list(named["text"]) == ["https://a", "https://b"]
    with pytest.raises(spagree.ColumnError, match="there is no field 'text'; fields: 'INPUT:id'"):
        read(path, text="text")


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
