"""Which fields give item, annotator, time and text, what the summary calls them, and which may be missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import spagree
from spagree.read import read
from spagree.read.tools.registry import load


def lines(path: Path, *records: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, records)))
    return path


def score(**more: Any) -> dict[str, Any]:
    usual = {"traceId": "t1", "name": "ok", "dataType": "CATEGORICAL", "source": "ANNOTATION", "stringValue": "yes"}
    return {**usual, "authorUserId": "u1", **more}


def triples(path: Path, **options: Any) -> list[tuple[Any, ...]]:
    frame = read(path, **options).frame.collect(backend="polars")
    names = [name for name in ("item", "annotator", "label") if name in frame.columns]
    return list(frame.select(names).rows())


# What the summary shows, tool by tool: several fields where several may give the role.
SHOWN = {
    "label-studio": ("id", "completed_by", "created_at"),
    "prodigy": ("_input_hash", "_annotator_id", "_timestamp"),
    "doccano": ("id", "file name", "updated_at"),
    "argilla": ("id", "user_id", None),
    "mturk": ("HITId", "WorkerId", "SubmitTime"),
    "ground-truth": ("folder of the object", "workerId", "submissionTime"),
    "appen": ("_unit_id", "_worker_id", "_created_at"),
    "toloka": ("INPUT", "ASSIGNMENT:worker_id", "ASSIGNMENT:submitted"),
    "labelbox": ("data_row.id", "created_by", "created_at"),
    "potato": ("instance_id", "user_id", "timestamp"),
    "huggingface": ("id", "annotators", None),
    "inception": ("Document, Position", "column", None),
    "zooniverse": ("subject_ids", "user_name", "created_at"),
    "langfuse": ("observationId, traceId", "authorUserId", "timestamp"),
    "langsmith": ("run_id", "feedback_source.user_id", "created_at"),
    "phoenix": ("span_id", "user_id, identifier", "created_at"),
    "per-annotator": ("item", "file name", "time"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_the_summary_names_every_field_that_may_give_the_role(name: str) -> None:
    fields = load(name).fields
    assert tuple(fields.get(role) for role in ("item", "annotator", "time")) == SHOWN[name]


def test_a_summary_of_traces_names_both_fields_of_the_item(tmp_path: Path) -> None:
    path = lines(tmp_path / "s.jsonl", score(), score(observationId="o1", authorUserId="u2", timestamp="2024-05-01"))
    assert triples(path) == [("t1", "u1", "yes"), ("o1", "u2", "yes")]
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
    team = triples(path, annotator="metadata.team")
    assert team == [("t1", "red", "yes"), ("t2", None, "yes"), ("t1", "EVAL", "yes"), ("t3", "blue", "yes")]
    assert triples(path, annotator="nowhere") == [
        ("t1", None, "yes"), ("t2", None, "yes"), ("t1", "EVAL", "yes"), ("t3", "EVAL", "yes")
    ]  # fmt: skip
    with pytest.raises(spagree.ColumnError, match="there is no field 'nowhere'"):
        read(path, item="nowhere")


def test_two_lines_of_one_user_about_one_item_are_two_annotations_in_potato_1(tmp_path: Path) -> None:
    def instance(mood: str) -> dict[str, Any]:
        return {"id": "d1", "displayed_text": "Hi", "label_annotations": {"mood": {mood: "1"}}}

    lines(tmp_path / "ann" / "annotated_instances.jsonl", instance("good"), instance("bad"))
    lines(tmp_path / "bob" / "annotated_instances.jsonl", instance("good"))
    assert triples(tmp_path) == [("d1", "ann", "good"), ("d1", "ann", "bad"), ("d1", "bob", "good")]
    with pytest.raises(spagree.DuplicateError, match=r"'good' .* and 'bad'"):
        spagree.measure(tmp_path)


TURK = "HITId,WorkerId,Input.text,Input.number,Input.language,Answer.mood\n"


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "1 input occurs in several HITs"), ("fr", None)],
)
def test_repeated_inputs_of_mturk_are_looked_for_among_the_records_that_where_chose(
    language: str, said: str | None, tmp_path: Path
) -> None:
    rows = [("h1", "a", "1", "en"), ("h2", "a", "1", "en"), ("h3", "b", "2", "de"), ("h4", "b", "2", "de"),
            ("h5", "c", "3", "fr"), ("h6", "d", "4", "fr")]  # fmt: skip
    path = tmp_path / "b.csv"
    path.write_text(TURK + "".join(f"{hit},w,{text},{number},{lang},x\n" for hit, text, number, lang in rows))
    found = read(path, where={"Input.language": language})
    messages = [caution.message for caution in found.cautions if caution.code == "inputs_repeated"]
    assert bool(messages) == (said is not None)
    if said:
        assert messages[0].startswith(said) and '"Input.text"' in messages[0]
    rules = found.understood.rules[0]
    assert rules == f"only records with Input.language = {language}: 2 of 6"


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
