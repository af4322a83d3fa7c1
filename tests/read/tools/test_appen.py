"""Appen: full reports, questions with and without gold."""

from __future__ import annotations

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
