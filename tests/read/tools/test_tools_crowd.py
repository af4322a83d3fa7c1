"""Crowd platforms: Mechanical Turk, Ground Truth, Appen and Toloka, with the traps of each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spagree
from spagree.read import Annotations, read, read_all

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_text(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write_text


def rows(annotations: Annotations) -> list[tuple[Any, ...]]:
    frame = annotations.frame.collect(backend="polars")
    return [tuple(row) for row in frame.select("item", "annotator", "label").rows()]


def codes(annotations: Annotations) -> list[str]:
    return [caution.code for caution in annotations.cautions]


# ── Mechanical Turk ──

MTURK = (
    '"HITId","AssignmentId","WorkerId","AssignmentStatus","SubmitTime","Input.text","Answer.mood"\n'
    '"h1","a1","W1","Approved","Wed Jan 24 09:48:10 PST 2018","hi","good"\n'
    '"h1","a2","W2","Submitted","Wed Jul 04 09:48:10 PDT 2018","hi","NA"\n'
    '"h1","a3","W3","Rejected","Wed Jan 24 09:48:12 PST 2018","hi","bad"\n'
    '"h2","a4","W1","Approved","Wed Jan 24 09:48:13 PST 2018","ho",""\n'
    '"h2","a5","W2","Approved","Wed Jan 24 09:48:14 PST 2018","ho","good"\n'
)


def test_mturk_leaves_out_what_was_rejected_and_what_is_empty(write: Write) -> None:
    found = read(write("batch.csv", MTURK))
    assert found.understood.format == "mturk"
    assert rows(found) == [("h1", "W1", "good"), ("h1", "W2", "NA"), ("h2", "W2", "good")]
    assert dict(found.left_out) == {"rejected": 1, "empty": 1}
    assert found.frame.collect()["time"].to_list()[:2] == [1516816090, 1530722890]  # PST and PDT differ by an hour


def test_mturk_equal_answers_keep_their_items_and_people(write: Write) -> None:
    given = [("h1", "W1", "a", "x"), ("h2", "W1", "a", "y"), ("h1", "W2", "a", "x"), ("h2", "W2", "b", "x")]
    lines = [f"{hit},{who},text of {hit},{mood},{tone}" for hit, who, mood, tone in given]
    path = write("batch.csv", "\n".join(["HITId,WorkerId,Input.text,Answer.mood,Answer.tone", *lines]))
    found = read_all(path)
    assert rows(found["mood"]) == [(hit, who, mood) for hit, who, mood, _ in given]
    assert rows(found["tone"]) == [(hit, who, tone) for hit, who, _, tone in given]
    assert found["mood"].frame.collect()["text"].to_list() == [f"text of {hit}" for hit, *_ in given]


def test_mturk_crowd_elements_are_told_apart_beside_equal_answers(write: Write) -> None:
    crowd = [json.dumps([{"tone": {"label": tone}}]).replace('"', '""') for tone in ("x", "y")]
    lines = [f'h1,W{number},same,"{cell}"' for number, cell in enumerate(crowd)]
    path = write("batch.csv", "\n".join(["HITId,WorkerId,Answer.mood,Answer.taskAnswers", *lines]))
    found = read_all(path)
    assert rows(found["tone"]) == [("h1", "W0", "x"), ("h1", "W1", "y")]
    assert rows(found["mood"]) == [("h1", "W0", "same"), ("h1", "W1", "same")]


def test_mturk_rejected_ones_on_request(write: Write) -> None:
    assert len(rows(read(write("batch.csv", MTURK), status=["Approved", "rejected"]))) == 3
    assert dict(read(write("batch.csv", MTURK), status="approved").left_out) == {
        "other_status": 1,
        "rejected": 1,
        "empty": 1,
    }


def test_mturk_other_item_and_time(write: Write) -> None:
    assert {row[0] for row in rows(read(write("batch.csv", MTURK), item="Input.text"))} == {"hi", "ho"}
    with pytest.raises(spagree.ColumnError, match=r"batch\.csv:2: there is no field 'Input\.x'"):
        read(write("batch.csv", MTURK), item="Input.x")


def test_a_zone_nobody_knows_leaves_the_times_out_and_says_so(write: Write) -> None:
    found = read(write("batch.csv", MTURK.replace("PDT", "XYZ")))
    assert "time" not in found.frame.collect_schema().names()
    assert codes(found) == ["time_ignored"]
    assert "XYZ" in found.cautions[0].message


SEVERAL = (
    "HITId,WorkerId,AssignmentStatus,Input.q1,Input.q10,Input.q2,Answer.pick1,Answer.pick10,Answer.pick2,Answer.note\n"
    "h1,W1,Approved,a,c,b,yes,no,yes,fine\n"
    "h1,W2,Approved,a,c,b,yes,no,no,\n"
)


def test_mturk_several_items_per_hit_are_items_of_their_own(write: Write) -> None:
    found = read_all(write("batch.csv", SEVERAL))
    assert list(found) == ["note", "pick"]
    assert rows(found["pick"]) == [(f"h1 {n}", who, label) for who, labels in (("W1", "yyn"), ("W2", "ynn"))
                                   for n, label in zip((1, 2, 10), ["yes" if x == "y" else "no" for x in labels], strict=True)]  # fmt: skip
    assert spagree.measure(write("batch.csv", SEVERAL), question="pick", weights="flat").spa.value == pytest.approx(
        2 / 3
    )


def test_mturk_numbered_answers_without_numbered_inputs_are_questions(write: Write) -> None:
    path = write("batch.csv", "HITId,WorkerId,Input.text,Answer.q1,Answer.q2\nh1,W1,a,x,y\nh1,W2,a,x,z\n")
    assert list(read_all(path)) == ["q1", "q2"]


def test_mturk_check_boxes_are_one_question(write: Write) -> None:
    text = "HITId,WorkerId,Answer.topic.food,Answer.topic.price\nh1,W1,true,true\nh1,W2,false,true\nh1,W3,,\n"
    found = read(write("batch.csv", text))
    assert rows(found) == [("h1", "W1", '["food", "price"]'), ("h1", "W2", "price")]
    assert found.understood.columns["label"] == "topic" and dict(found.left_out) == {"empty": 1}


@pytest.mark.parametrize(
    ("answers", "label"),
    [
        ('[{"category":{"label":"Positive"}}]', "Positive"),
        ('[{"category":{"labels":["b","a"]}}]', '["a", "b"]'),
        ('[{"category":{"yes":true,"no":false}}]', "yes"),
        ('{"category":"free text"}', "free text"),
        ('[{"category":4}]', "4"),
    ],
)
def test_mturk_crowd_elements(answers: str, label: str, write: Write) -> None:
    cell = '"' + answers.replace('"', '""') + '"'
    found = read(write("batch.csv", f"HITId,WorkerId,Answer.taskAnswers\nh1,W1,{cell}\n"))
    assert rows(found) == [("h1", "W1", label)] and found.understood.columns["label"] == "category"


@pytest.mark.parametrize(("answers", "message"), [("[{", "is not JSON"), ("[5]", "holds no answers")])
def test_mturk_damaged_crowd_elements(answers: str, message: str, write: Write) -> None:
    with pytest.raises(spagree.DataError, match=rf"batch\.csv:2: Answer\.taskAnswers {message}"):
        read(write("batch.csv", f"HITId,WorkerId,Answer.taskAnswers\nh1,W1,{answers}\n"))


# ── Appen ──

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
    assert found.understood.columns["label"] == "topic" and codes(found) == ["inputs_assumed"]
    assert "'src', 'mood'" in found.cautions[0].message
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


# ── Toloka ──

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


# ── Ground Truth ──


def answers(*given: tuple[str, Any]) -> str:
    metadata = {"identityData": {"identityProviderType": "Cognito", "issuer": "https://x", "sub": "s-1"}}
    found = [{"acceptanceTime": "2020-01-01T00:00:00.000Z", "answerContent": content, "submissionTime": f"2020-01-01T00:00:0{i}.000Z",
              "timeSpentInSeconds": 3.2, "workerId": worker, "workerMetadata": metadata} for i, (worker, content) in enumerate(given)]  # fmt: skip
    return json.dumps({"answers": found})


def tree(write: Write) -> Path:
    inside = "out/annotations/worker-response/iteration-1"
    write(
        f"{inside}/0/2020-01-01_00:00:00.json",
        answers(("w1", {"mood": {"label": "good"}}), ("w2", {"mood": {"label": "bad"}})),
    )
    write(
        f"{inside}/1/2020-01-01_00:00:00.json",
        answers(("w1", {"mood": {"labels": ["a", "b"]}}), ("w3", {"mood": {"yes": True, "no": False}})),
    )
    write("out/manifests/output/output.json", "{}")
    return write(
        "out/manifests/output/output.manifest",
        json.dumps({"source": "x", "mood": "1", "mood-metadata": {"human-annotated": "yes"}}) + "\n",
    )


def test_ground_truth_reads_the_tree_of_worker_responses(write: Write, tmp_path: Path) -> None:
    tree(write)
    for folder in ("out", "out/annotations/worker-response", "out/annotations/worker-response/iteration-1"):
        found = read(tmp_path / folder)
        assert found.understood.format == "ground-truth"
        assert rows(found) == [("0", "w1", "good"), ("0", "w2", "bad"), ("1", "w1", '["a", "b"]'), ("1", "w3", "yes")]
        assert found.frame.collect()["time"].to_list()[:2] == [1577836800, 1577836801]
    files = sorted((tmp_path / "out/annotations").rglob("*.json"))
    assert rows(read(files)) == rows(found) and rows(read(files[0])) == rows(found)[:2]


def test_ground_truth_the_person_behind_a_worker(write: Write, tmp_path: Path) -> None:
    tree(write)
    assert {row[1] for row in rows(read(tmp_path / "out", annotator="sub"))} == {"s-1"}


def test_ground_truth_the_manifest_is_refused(write: Write) -> None:
    with pytest.raises(spagree.DataError, match=r"consolidated label .* give the folder annotations/worker-response"):
        read(tree(write))


def test_ground_truth_custom_jobs_keep_the_workers(write: Write) -> None:
    def worker(name: str, content: Any) -> dict[str, Any]:
        return {"workerId": name, "annotationData": {"content": content}}

    both = [worker("w1", json.dumps({"mood": {"label": "good"}})), worker("w2", json.dumps({"mood": {"label": "bad"}}))]
    lines = [
        {
            "source-ref": "s3://b/1",
            "job": {"annotationsFromAllWorkers": both},
            "job-metadata": {"human-annotated": "yes"},
        },
        {"datasetObjectId": "7", "annotationsFromAllWorkers": both},
        {"annotationsFromAllWorkers": both[:1]},
    ]
    found = read(write("m.manifest", "\n".join(map(json.dumps, lines))))
    assert [row[0] for row in rows(found)] == ["s3://b/1", "s3://b/1", "7", "7", "3"]
    plain = {"source": "x", "job": {"annotationsFromAllWorkers": [worker("w1", '"good"')]}}
    assert rows(read(write("p.manifest", json.dumps(plain)))) == [("x", "w1", "good")]
    broken = {"source": "x", "job": {"annotationsFromAllWorkers": [worker("w1", "{")]}}
    with pytest.raises(spagree.DataError, match="not JSON"):
        read(write("b.manifest", json.dumps(broken)))


@pytest.mark.parametrize(("name", "text"), [("f.csv", APPEN), ("t.tsv", API), ("b.csv", MTURK)])
def test_a_file_that_was_cut_is_refused_with_the_line(name: str, text: str, write: Write) -> None:
    with pytest.raises(spagree.DataError, match=rf"{name}:\d+: "):
        read(write(name, text[: text.rstrip().rfind(",", 0, -8) if "," in text else text.rstrip().rfind("\t") - 4]))
