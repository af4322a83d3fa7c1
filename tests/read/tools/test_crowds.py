"""Platforms of many annotators: batches of Mechanical Turk, single workers of Amazon, Appen, Toloka and Zooniverse."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from exports import ITEMS, LETTER_ROWS, LETTER_SPA, PEOPLE, SPA, Write, codes, rows, triples

import spagree
from spagree.read import read, read_all

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


def test_ids_that_a_form_sent_along_are_no_questions(write: Write) -> None:
    header = "HITId,WorkerId,AssignmentStatus,Answer.mood,Answer.workerId,Answer.hitId,Answer.assignmentId\n"
    rows = "".join(f"h{h},{who},Approved,{'ab'[h % 2]},{who},h{h},{h}{who}\n" for h in range(4) for who in "xyz")
    found = read(write("batch.csv", header + rows))
    assert found.understood.columns["label"] == "mood"


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
    assert list(codes(found)) == ["time_ignored"]
    assert "XYZ" in found.warnings[0].message


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


HEADER = '"HITId","WorkerId","AssignmentStatus","Input.text","Answer.mood","Approve","Reject"\n'


def test_rows_may_leave_out_approve_and_reject(write: Write) -> None:
    path = write("b.csv", HEADER + '"h1","a","Approved","x","good"\n"h1","b","Approved","x","bad"\n')
    assert triples(path) == [("h1", "a", "good"), ("h1", "b", "bad")]
    mixed = write("m.csv", HEADER + '"h1","a","Approved","x","good"\n"h1","b","Approved","x","bad","x",""\n')
    assert triples(mixed) == triples(path)
    full = write("f.csv", HEADER + '"h1","a","Approved","x","good","",""\n"h1","b","Approved","x","bad","x",""\n')
    assert triples(full) == triples(path)
    with pytest.raises(spagree.DataError, match=r"s\.csv:3: .*too few cells: 4 instead of 7"):
        read(write("s.csv", HEADER + '"h1","a","Approved","x","good"\n"h1","b","Approved","x"\n'))


def test_check_boxes_are_sets_whose_order_does_not_matter(write: Write) -> None:
    header = "HITId,WorkerId,Answer.picked\n"
    path = write("b.csv", header + "h1,a,image5|image1\nh1,b,image1|image5\nh2,a,image1\nh2,b,image1|image2\n")
    assert triples(path)[0] == ("h1", "a", '["image1", "image5"]')
    assert spagree.measure(path, weights="flat").spa.value == 1 / 2
    shares = spagree.measure(path, weights="flat", metric="jaccard").spa.value
    assert shares == pytest.approx(float((1 + Fraction(1, 2)) / 2))
    options = {name: found.spa.value for name, found in spagree.measure_all(path, multi="options").items()}
    assert options == {"picked:image1": 1, "picked:image2": 1 / 2, "picked:image5": 1}
    free = write("f.csv", header + "h1,a,either | or\nh1,b,neither\n")
    assert triples(free)[0] == ("h1", "a", "either | or")


def test_files_of_the_old_command_line_tools_are_refused_with_a_way_that_works(write: Write) -> None:
    path = write("b.results", "hitid\tworkerid\tassignmentid\tAnswer.mood\nh1\ta\t1\tgood\nh1\tb\t2\tgood\n")
    with pytest.raises(spagree.DataError, match="Mechanical Turk's old command-line tools"):
        read(path)
    agreement = spagree.measure(path, format="long", item="hitid", annotator="workerid", label="Answer.mood")
    assert agreement.spa.value == 1


def test_each_item_of_a_hit_has_its_own_text(write: Write) -> None:
    header = "HITId,WorkerId,Input.q1,Input.q2,Answer.pick1,Answer.pick2\n"
    path = write("b.csv", header + "h,a,One,Two,x,y\nh,b,One,Two,z,z\n")
    texts = spagree.measure(path).hardest().select("item", "text").sort("item").rows()
    assert texts == [("h 1", "One"), ("h 2", "Two")]
    assert spagree.measure(path, text="q2", question="pick").hardest()["text"].to_list() == ["Two", "Two"]


INPUTS = "HITId,WorkerId,AssignmentStatus,Input.text,Input.topic,Answer.mood,Approve,Reject"


def batch(path: Path, text: str, topic: str) -> Path:
    """Each item in two HITs: one for the first worker, one for the others."""
    rows = [
        f"h{item}{min(who, 1)},w{who},Approved,{text.format(item)},{topic.format(item % 2)},{letter}"
        for item, who, letter in LETTER_ROWS
    ]
    path.write_text("\n".join([INPUTS, *rows]))
    return path


def test_one_input_in_several_hits(tmp_path: Path) -> None:
    path = batch(tmp_path / "batch.csv", "text {}", "topic {}")
    found = spagree.measure(path)
    assert "6 inputs occur in several HITs" in codes(found)["inputs_repeated"]
    assert codes(found)["inputs_repeated"].endswith('use item="Input.text"')
    joined = spagree.measure(path, item="Input.text")
    assert joined.spa.value == pytest.approx(LETTER_SPA) and "inputs_repeated" not in codes(joined)
    half = spagree.measure(path, where={"Input.topic": "topic 1"})
    assert "only records with Input.topic = topic 1: 9 of 18" in str(half)


def test_inputs_that_no_column_tells_apart(tmp_path: Path) -> None:
    path = tmp_path / "batch.csv"
    rows = [
        f"h{item}{min(who, 1)},w{who},Approved,text {item % 3},topic {item % 2},{letter},,"
        for item, who, letter in LETTER_ROWS
    ]
    path.write_text("\n".join([INPUTS, *rows]))
    message = codes(spagree.measure(path))["inputs_repeated"]
    assert "6 inputs occur in several HITs" in message and "give each its own id in an Input column" in message


def test_a_text_that_occurs_twice_is_not_one_input(tmp_path: Path) -> None:
    path = tmp_path / "batch.csv"
    rows = [f"h{item},w{who},Approved,same,topic {item},{letter},," for item, who, letter in LETTER_ROWS]
    path.write_text("\n".join([INPUTS, *rows]))
    found = spagree.measure(path)
    assert found.spa.value == pytest.approx(LETTER_SPA) and "inputs_repeated" not in codes(found)


TURK = "HITId,WorkerId,Input.text,Input.number,Input.language,Answer.mood\n"


@pytest.mark.parametrize(("language", "said"), [("en", "1 input occurs in several HITs"), ("fr", None)])
def test_repeated_inputs_of_mturk_are_looked_for_among_the_records_that_where_chose(
    language: str, said: str | None, write: Write
) -> None:
    rows = [("h1", "a", "1", "en"), ("h2", "a", "1", "en"), ("h3", "b", "2", "de"), ("h4", "b", "2", "de"),
            ("h5", "c", "3", "fr"), ("h6", "d", "4", "fr")]  # fmt: skip
    path = write("b.csv", TURK + "".join(f"{hit},w,{text},{number},{lang},x\n" for hit, text, number, lang in rows))
    found = read(path, where={"Input.language": language})
    messages = [warning.message for warning in found.warnings if warning.code == "inputs_repeated"]
    assert bool(messages) == (said is not None)
    if said:
        assert messages[0].startswith(said) and '"Input.text"' in messages[0]
    rules = found.understood.rules[0]
    assert rules == f"only records with Input.language = {language}: 2 of 6"


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


def test_the_answers_of_a_human_loop(tmp_path: Path) -> None:
    for n, row in enumerate(ITEMS):
        answers = [
            {
                "answerContent": {"mood": {"label": label}},
                "workerId": who,
                "submissionTime": f"2024-01-0{n % 9 + 1}T00:00:00Z",
            }
            for who, label in zip(PEOPLE, row, strict=True)
            if label
        ]
        loop = {"flowDefinitionArn": "arn", "humanAnswers": answers, "humanLoopName": f"loop{n}"}
        (tmp_path / f"{n}.json").write_text(json.dumps({**loop, "inputContent": {"taskObject": f"text {n}"}}))
    found = spagree.measure(tmp_path, weights="flat")
    assert found.spa.value == pytest.approx(SPA) and found.data.annotators == len(PEOPLE)


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


def test_the_text_of_toloka_is_an_input_by_its_usual_names(write: Write) -> None:
    header = "INPUT:id\tINPUT:url\tINPUT:sentence\tINPUT:text\tHINT:text\tOUTPUT:mood\tASSIGNMENT:worker_id\n"
    path = write("t.tsv", header + "1\thttps://a\tsaid\tHi\tno\tgood\tw1\n2\thttps://b\tsaid\t\tno\tbad\tw1\n")
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
