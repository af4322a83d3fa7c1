"""Langfuse, LangSmith and Phoenix: people and models on the same traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exports import Write, in_order, jsonl, lines, triples

import spagree
from spagree.read import read

LANGFUSE = {"traceId": "t1", "name": "ok", "dataType": "CATEGORICAL", "source": "ANNOTATION", "stringValue": "yes",
            "authorUserId": "u1", "value": 1, "timestamp": "2024-05-01T10:00:00Z"}  # fmt: skip


LANGSMITH = {"run_id": "t1", "key": "ok", "score": 1.0, "value": None, "created_at": "2024-05-01T10:00:00Z",
             "feedback_source": {"type": "app", "user_id": "u1"}}  # fmt: skip


PHOENIX = {"span_id": "t1", "name": "ok", "annotator_kind": "HUMAN", "user_id": "u1",
           "result": {"label": "yes", "score": 1}}  # fmt: skip


FEEDBACK = {
    "langfuse": (LANGFUSE, {"source": "EVAL", "authorUserId": None, "evaluator": "gpt", "stringValue": "no"}),
    "langsmith": (LANGSMITH, {"score": 0.50, "feedback_source": {"type": "model", "metadata": {"evaluator": "gpt"}}}),
    "phoenix": (
        PHOENIX,
        {"annotator_kind": "LLM", "user_id": None, "identifier": "gpt", "result": {"label": None, "score": 0.25}},
    ),
}


@pytest.mark.parametrize("tool", FEEDBACK)
def test_people_and_models_are_told_apart_and_counted(tool: str, write: Write) -> None:
    person, change = FEEDBACK[tool]
    model = {**person, **change}
    other = json.loads(json.dumps(person).replace('"u1"', '"u2"'))
    for path in (
        write("f.jsonl", jsonl(person, other, model)),
        write("f.json", [person, other, model]),
        write("p.json", {"data": [person, other, model], "meta": {"page": 1}}),
    ):
        found = read(path)
        assert found.understood.format == tool
        assert {row[1] for row in triples(path)} == {"u1", "u2", "gpt"}
        assert [c.message for c in found.warnings if c.code == "people_and_models"] == [
            'scores 2 by people, 1 by models; status="human" counts people alone'
        ]
    people = spagree.measure(write("f.jsonl", jsonl(person, other, model)), status="human")
    assert people.spa.value == 1 and people.data.left_out == {"other_status": 1} and people.data.annotators == 2


def test_feedback_as_tables_keeps_numbers_as_written(write: Write) -> None:
    table = "run_id,key,score,value,feedback_source\n" + "".join(
        f't1,ok,{score},,"{{""type"": ""app"", ""user_id"": ""{who}""}}"\n' for who, score in (("a", "1.0"), ("b", "1"))
    )
    assert triples(write("l.csv", table)) == [("t1", "a", "1.0"), ("t1", "b", "1")]
    scores = "id,trace_id,observation_id,name,data_type,source,value,string_value,author_user_id\n"
    path = write("s.csv", scores + "1,t,o1,ok,NUMERIC,ANNOTATION,2,,a\n2,t,,ok,NUMERIC,API,2,,\n")
    assert triples(path) == [("o1", "a", "2"), ("t", "API", "2")]
    spans = "span_id,annotation_name,annotator_kind,result.label,result.score,user_id\n"
    assert triples(write("p.csv", spans + "s1,ok,HUMAN,,0.5,a\n")) == [("s1", "a", "0.5")]
    with pytest.raises(spagree.DataError, match=r"e\.csv:2: annotator_kind is empty"):
        read(write("e.csv", spans + "s1,ok,,yes,,a\n"))


def score(**more: Any) -> dict[str, Any]:
    usual = {"traceId": "t1", "name": "ok", "dataType": "CATEGORICAL", "source": "ANNOTATION", "stringValue": "yes"}
    return {**usual, "authorUserId": "u1", **more}


def test_a_summary_of_traces_names_both_fields_of_the_item(tmp_path: Path) -> None:
    path = lines(tmp_path / "s.jsonl", score(), score(observationId="o1", authorUserId="u2", timestamp="2024-05-01"))
    assert in_order(path) == [("t1", "u1", "yes"), ("o1", "u2", "yes")]
    shown = {"item": "observationId, traceId", "annotator": "authorUserId", "label": "ok", "time": "timestamp"}
    assert dict(read(path).understood.columns) == shown
    assert dict(read(path, item="traceId").understood.columns) == {**shown, "item": "traceId"}


def test_an_annotator_of_traces_that_the_user_names_may_be_missing(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "s.jsonl",
        score(metadata={"team": "red"}),
        score(traceId="t2"),
        score(source="EVAL"),
        score(source="EVAL", traceId="t3", metadata={"team": "blue"}),
    )
    team = in_order(path, annotator="metadata.team")
    assert team == [("t1", "red", "yes"), ("t2", None, "yes"), ("t1", "EVAL", "yes"), ("t3", "blue", "yes")]
    with pytest.raises(spagree.ColumnError, match="no record has anything in this field"):
        read(path, annotator="nowhere")
    with pytest.raises(spagree.ColumnError, match="there is no field 'nowhere'"):
        read(path, item="nowhere")
