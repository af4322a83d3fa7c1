"""Prodigy, doccano, Argilla, Labelbox, potato, Hugging Face, INCEpTION and files per annotator."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import spagree
from postgres import Server
from spagree.read import Annotations, read, read_all

Write = Callable[[str, Any], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Text as it is; a list of objects as JSON lines or a JSON array, by the name."""

    def write_any(name: str, content: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (
            "\n".join(map(json.dumps, content)) + "\n"
            if isinstance(content, list) and name.endswith("l")
            else json.dumps(content)
        )
        path.write_text(content if isinstance(content, str) else lines)
        return path

    return write_any


def rows(annotations: Annotations) -> list[tuple[Any, ...]]:
    frame = annotations.frame.collect(backend="polars")
    names = [name for name in ("item", "annotator", "label") if name in frame.columns]
    return [tuple(row) for row in frame.select(names).rows()]


def codes(annotations: Annotations) -> list[str]:
    return [caution.code for caution in annotations.cautions]


# ── Prodigy ──


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


def test_prodigy_spans_are_refused(write: Write) -> None:
    with pytest.raises(spagree.DataError, match=r"p\.jsonl:2: marks spans"):
        read(write("p.jsonl", [task(1, "accept"), task(1, "accept", _view_id="ner_manual")]))


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


# ── doccano ──


def archive(folder: Path, name: str = "project.zip", **members: str) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as target:
        for member, text in members.items():
            target.writestr(member.replace("_dot_", "."), text)
    return path


def line(number: int, *labels: str) -> str:
    return json.dumps({"id": number, "text": f"t{number}", "label": list(labels), "Comments": []}) + "\n"


DOCCANO = {
    "jsonl": {"ann_dot_jsonl": line(1, "A") + line(2, "A", "B"), "bob_dot_jsonl": line(1, "A") + line(2), "admin_dot_jsonl": "\n"},
    "json": {"ann_dot_json": f"[{line(1, 'A')},{line(2, 'B', 'A')}]", "bob_dot_json": f"[{line(1, 'A')},{line(2)}]", "admin_dot_json": "[]"},
    "csv": {"ann_dot_csv": "id,text,label,Comments\n1,t1,A,\n2,t2,A#B,\n", "bob_dot_csv": "id,text,label,Comments\n1,t1,A,\n2,t2,,\n", "admin_dot_csv": "\n"},
    "txt": {"ann_dot_txt": "__label__A t1\n__label__A __label__B t2 \n", "bob_dot_txt": "__label__A t1 \n t2 \n", "admin_dot_txt": ""},
}  # fmt: skip


@pytest.mark.parametrize("kind", DOCCANO)
def test_doccano_an_empty_list_is_no_label(kind: str, tmp_path: Path) -> None:
    found = read(archive(tmp_path, **DOCCANO[kind]))
    names = ("t1", "t2") if kind == "txt" else ("1", "2")
    assert rows(found) == [(names[0], "ann", "A"), (names[1], "ann", '["A", "B"]'), (names[0], "bob", "A")]
    assert dict(found.left_out) == {"empty": 1} and found.understood.format == "doccano"


@pytest.mark.parametrize("kind", DOCCANO)
def test_doccano_merged_labels_are_refused(kind: str, tmp_path: Path) -> None:
    path = archive(tmp_path, **{f"all_dot_{kind}": DOCCANO[kind][f"ann_dot_{kind}"]})
    with pytest.raises(spagree.DataError, match="of all members merged"):
        read(path)


def test_doccano_unpacked_files_and_a_damaged_member(tmp_path: Path, write: Write) -> None:
    files = [write("ann.jsonl", line(1, "A")), write("bob.jsonl", line(1, "B"))]
    assert rows(read(files, format="doccano")) == [("1", "ann", "A"), ("1", "bob", "B")]
    with pytest.raises(spagree.DataError, match=r"project\.zip/bob\.jsonl:1: not JSON"):
        read(archive(tmp_path, ann_dot_jsonl=line(1, "A"), bob_dot_jsonl='{"id": 1, "lab}\n'))


def test_a_zip_that_is_no_export_stays_refused(tmp_path: Path) -> None:
    for members in (
        {"x_dot_png": "x"},
        {"a_dot_csv": "item,tag\n1,2\n"},
        {"a_dot_jsonl": '{"item": 1}\n'},
        {"a_dot_txt": "hello"},
    ):
        with pytest.raises(spagree.FileError, match="zip archive, not a table"):
            read(archive(tmp_path, **members))
    path = archive(tmp_path, ann_dot_jsonl=line(1, "A"))
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(spagree.FileError, match="truncated or damaged"):
        read(path)


DOCCANO_SCHEMA = """
CREATE TABLE auth_user (id integer, username text);
CREATE TABLE examples_example (id integer, text text, project_id integer);
CREATE TABLE label_types_categorytype (id integer, text text);
CREATE TABLE labels_category (id integer, example_id integer, label_id integer, user_id integer, updated_at text);
CREATE TABLE examples_examplestate (id integer, confirmed_at text, confirmed_by_id integer, example_id integer);
INSERT INTO auth_user VALUES (1, 'ann'), (2, 'bob');
INSERT INTO examples_example VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2);
INSERT INTO label_types_categorytype VALUES (1, 'A'), (2, 'B');
INSERT INTO labels_category VALUES (1,1,1,1,'2026-01-01 00:00:01'), (2,1,2,1,'2026-01-01 00:00:02'), (3,1,1,2,'2026-01-01 00:00:03');
INSERT INTO examples_examplestate VALUES (1, '2026-01-01 00:00:09', 1, 1), (2, '2026-01-01 00:00:09', 2, 2);
"""


def test_doccano_database_has_the_long_form(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.executescript(DOCCANO_SCHEMA)
    connection.close()
    found = read(path)
    assert rows(found) == [("1", "ann", '["A", "B"]'), ("1", "bob", "A")]
    assert dict(found.left_out) == {"empty": 1}
    assert found.frame.collect()["time"].to_list() == [1767225602, 1767225603]
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO labels_category VALUES (4,3,1,2,'2026-01-01 00:00:03')")
    connection.close()
    assert list(read_all(path)) == ["1/label", "2/label"]


def test_doccano_in_postgresql_is_read_alike(postgres: Server) -> None:
    server = postgres.another("doccano")
    server.run(DOCCANO_SCHEMA.replace("_at text", "_at timestamptz"))
    found = read(server.address)
    assert rows(found) == [("1", "ann", '["A", "B"]'), ("1", "bob", "A")]
    assert found.understood.format == "doccano"
    assert found.frame.collect()["time"].to_list() == [1767225602, 1767225603]


# ── Argilla ──

FLAT = [
    {"id": "r1", "status": "pending", "mood.responses": ["good", "good", "bad"], "mood.responses.users": ["u1", "u2", "u3"],
     "mood.responses.status": ["submitted", "submitted", "discarded"], "mood.suggestion": "bad"},
    {"id": "r2", "status": "pending", "mood.responses": [["good", "bad"], "bad", 4], "mood.responses.users": ["u1", "u2", "u3"],
     "mood.responses.status": ["submitted", "draft", "submitted"], "mood.suggestion": None},
    {"id": "r3", "mood.responses": None, "mood.responses.users": None, "mood.responses.status": None},
]  # fmt: skip


def test_argilla_flat_counts_what_was_submitted(write: Write) -> None:
    found = read(write("a.json", FLAT))
    assert rows(found) == [
        ("r1", "u1", "good"),
        ("r1", "u2", "good"),
        ("r2", "u1", '["bad", "good"]'),
        ("r2", "u3", "4"),
    ]
    assert dict(found.left_out) == {"discarded": 1, "draft": 1} and found.understood.format == "argilla"


def test_argilla_flat_as_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame([{**FLAT[0], "mood.responses": ["good", "good", "bad"]}, FLAT[2]]).write_parquet(path)
    assert rows(read(path)) == [("r1", "u1", "good"), ("r1", "u2", "good")]


def test_argilla_lists_that_do_not_fit_are_refused(write: Write) -> None:
    broken = {**FLAT[0], "mood.responses": ["good"]}
    with pytest.raises(
        spagree.DataError, match=r"a\.json: object 2: 'mood': lists of different lengths \(1 responses, 3 users"
    ):
        read(write("a.json", [FLAT[0], broken]))


def test_argilla_nested_has_lost_the_status_and_says_so(write: Write) -> None:
    given = [{"value": "good", "user_id": "u1"}, {"value": "bad", "user_id": "u2"}]
    record = {"id": "r1", "fields": {}, "suggestions": {"mood": {"value": "x"}}, "responses": {"mood": given}}
    found = read(write("a.json", [record]))
    assert rows(found) == [("r1", "u1", "good"), ("r1", "u2", "bad")] and codes(found) == ["status_unknown"]
    with pytest.raises(spagree.DataError, match="responses to 'mood': should be a list of objects"):
        read(write("a.json", [{**record, "responses": {"mood": 4}}]))


V1 = [
    {"user_id": "u1", "value": "good", "status": "submitted"},
    {"user_id": "u2", "value": "bad", "status": "discarded"},
]


@pytest.mark.parametrize("value", [V1, {name: [each[name] for each in V1] for name in V1[0]}])
def test_argilla_version_1_lists(value: Any, write: Write, tmp_path: Path) -> None:
    records = [{"external_id": "x", "text": "t", "mood": value}, {"external_id": None, "text": "t", "mood": value}]
    expected = [("x", "u1", "good"), ("2", "u1", "good")]
    found = read(write("a.jsonl", records))
    assert rows(found) == expected and dict(found.left_out) == {"discarded": 2}
    pl.DataFrame(records).write_parquet(tmp_path / "a.parquet")
    assert rows(read(tmp_path / "a.parquet")) == expected


def test_argilla_one_annotation_per_record_is_refused(write: Write) -> None:
    record = {"id": 1, "text": "t", "prediction": None, "annotation": "good", "annotation_agent": "me"}
    with pytest.raises(spagree.DataError, match="one annotation per record"):
        read(write("a.jsonl", [record]))


# ── Labelbox ──


def labelled(item: str, who: str, *classifications: Any, **more: Any) -> dict[str, Any]:
    label = {"label_kind": "Default", "label_details": {"created_by": who, "created_at": "2020-01-01T00:00:00.000+0000"},
             "annotations": {"objects": [], "classifications": list(classifications)}, **more}  # fmt: skip
    return {
        "data_row": {"id": item, "global_key": f"k-{item}"},
        "media_attributes": {},
        "projects": {"p": {"name": "x", "labels": [label]}},
    }


RADIO = {"name": "Mood", "value": "mood", "radio_answer": {"name": "Good", "value": "good"}}
LIST = {
    "name": "Topics",
    "value": "topics",
    "checklist_answers": [{"name": "B", "value": "b"}, {"name": "A", "value": "a"}],
}
TEXT = {"name": "Why", "value": "why", "text_answer": {"content": "so"}}


def test_labelbox_classifications(write: Write) -> None:
    path = write("l.jsonl", [labelled("d1", "a@x.org", RADIO, LIST, TEXT), labelled("d1", "b@x.org", {**RADIO, "radio_answer": {"name": "Bad"}}),
                              labelled("d2", "b@x.org", RADIO, performance_details={"skipped": True})])  # fmt: skip
    found = read_all(path)
    assert rows(found["mood"]) == [("d1", "a@x.org", "good"), ("d1", "b@x.org", "Bad")]
    assert dict(found["mood"].left_out) == {"skipped": 1}
    assert rows(found["topics"]) == [("d1", "a@x.org", '["a", "b"]')] and rows(found["why"]) == [
        ("d1", "a@x.org", "so")
    ]
    assert rows(read(path, question="mood", item="global_key"))[0][0] == "k-d1"


def test_labelbox_what_looks_like_an_export_is_refused(write: Write) -> None:
    with pytest.raises(spagree.DataError, match="for importing"):
        read(write("l.jsonl", [{"answer": {}, "schemaId": "s", "dataRow": {"id": 1}}]))
    with pytest.raises(spagree.DataError, match="old export format"):
        read(write("l.json", [{"ID": 1, "DataRow ID": 2, "Label": {}, "Created By": "x"}]))
    with pytest.raises(spagree.DataError, match=r"l\.jsonl:1: 'labels' should be a list"):
        read(write("l.jsonl", [{"data_row": {"id": "1"}, "projects": {"p": {"labels": 5}}}]))


# ── potato ──


def state(user: str, **items: Any) -> dict[str, Any]:
    return {"user_id": user, "instance_id_to_label_to_value": items, "current_instance_index": 1}


def given(schema: str, name: str, value: str | None = None) -> list[Any]:
    return [{"schema": schema, "name": name}, name if value is None else value]


def action(
    user: str, item: str, name: str, second: int, kind: str = "add_label", *, schema: str = "mood", **more: Any
) -> dict[str, Any]:
    base = {"timestamp": f"2026-01-01T00:00:{second:02}.5", "user_id": user, "instance_id": item, "action_type": kind}
    return {
        **base,
        "schema_name": schema,
        "label_name": name,
        "old_value": None,
        "new_value": name,
        "metadata": {"ip_address": "1.2.3.4"},
        **more,
    }


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
        ("i1", "ann", "good"),
        ("i1", "bob", "good"),
        ("i1", "cyd", "good"),
        ("i2", "ann", "bad"),
        ("i2", "bob", "good"),
    ]
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
    assert found["why"].cautions == ()


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
    assert [caution.code for caution in found["mood"].cautions] == ["history_only"]
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


# ── Hugging Face ──

FEATURES = {"id": {"dtype": "string", "_type": "Value"}}
CLASSES = {"names": ["hate", "normal"], "_type": "ClassLabel"}
LAYOUTS = {
    "parallel": (
        [{"id": "p1", "annotators": ["a", "b"], "label": [1, 0]}, {"id": "p2", "annotators": ["a", "c"], "label": [0, -1]}],
        {**FEATURES, "label": {"feature": CLASSES, "_type": "List"}},
    ),
    "list of structs": (
        [{"id": "p1", "annotators": [{"annotator_id": "a", "label": 1}, {"annotator_id": "b", "label": 0}]},
         {"id": "p2", "annotators": [{"annotator_id": "a", "label": 0}, {"annotator_id": "c", "label": -1}]}],
        {**FEATURES, "annotators": {"feature": {"annotator_id": {"dtype": "string", "_type": "Value"}, "label": CLASSES}, "_type": "List"}},
    ),
    "old list of structs": (
        [{"id": "p1", "annotators": [{"annotator_id": "a", "label": 1}, {"annotator_id": "b", "label": 0}]},
         {"id": "p2", "annotators": [{"annotator_id": "a", "label": 0}, {"annotator_id": "c", "label": -1}]}],
        {**FEATURES, "annotators": [{"annotator_id": {"dtype": "string", "_type": "Value"}, "label": CLASSES}]},
    ),
    "struct of lists": (
        [{"id": "p1", "annotators": {"annotator_id": ["a", "b"], "label": [1, 0]}}, {"id": "p2", "annotators": {"annotator_id": ["a", "c"], "label": [0, -1]}}],
        {**FEATURES, "annotators": {"annotator_id": {"feature": {"_type": "Value"}, "_type": "List"}, "label": {"feature": CLASSES, "_type": "List"}}},
    ),
}  # fmt: skip
NAMED = [("p1", "a", "normal"), ("p1", "b", "hate"), ("p2", "a", "hate")]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_huggingface_layouts_and_names_of_classes(layout: str, tmp_path: Path) -> None:
    records, features = LAYOUTS[layout]
    path = tmp_path / "d.parquet"
    pl.DataFrame(records).write_parquet(path, metadata={"huggingface": json.dumps({"info": {"features": features}})})
    found = read(path)
    assert rows(found) == NAMED and dict(found.left_out) == {"empty": 1} and found.understood.format == "huggingface"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_huggingface_saved_to_disk_and_as_json(layout: str, tmp_path: Path, write: Write) -> None:
    records, features = LAYOUTS[layout]
    write("set/dataset_info.json", {"features": features})
    pl.DataFrame(records).write_ipc_stream(tmp_path / "set" / "data-00000-of-00001.arrow")
    assert rows(read(tmp_path / "set")) == NAMED
    pl.DataFrame(records).write_ipc(tmp_path / "d.arrow")
    numbers = [("p1", "a", "1"), ("p1", "b", "0"), ("p2", "a", "0"), ("p2", "c", "-1")]
    assert rows(read(tmp_path / "d.arrow")) == numbers
    assert rows(read(write("d.jsonl", records))) == numbers


def test_huggingface_several_fields_are_questions(write: Write) -> None:
    records = [
        {
            "annotators": [
                {"annotator_id": 1, "label": "x", "target": ["a", "b"]},
                {"annotator_id": 2, "label": "y", "target": []},
            ]
        }
    ]
    found = read_all(write("d.json", records))
    assert rows(found["label"]) == [("1", "1", "x"), ("1", "2", "y")] and rows(found["target"]) == [
        ("1", "1", '["a", "b"]')
    ]
    assert rows(read(write("d.json", records), question="label", item="nothing"))[0][0] == "1"


def test_huggingface_faults(write: Write, tmp_path: Path) -> None:
    with pytest.raises(
        spagree.DataError,
        match=r"d\.jsonl:1: no list of labels is as long as 'annotators'; lists: 'annotators \(2\)', 'label \(1\)'",
    ):
        read(write("d.jsonl", [{"id": 1, "annotators": ["a", "b"], "label": ["x"]}]))
    path = tmp_path / "d.parquet"
    features = LAYOUTS["parallel"][1]
    pl.DataFrame([{"id": "p", "annotators": ["a"], "label": [5]}]).write_parquet(
        path, metadata={"huggingface": json.dumps({"info": {"features": features}})}
    )
    with pytest.raises(spagree.DataError, match="class 5 has no name; the file names 2 classes"):
        read(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(spagree.FileError, match="truncated or damaged"):
        read(path, format="huggingface")
    with pytest.raises(spagree.DataError, match="none were found"):
        read(write("e.jsonl", [{"id": 1, "text": "x"}]), format="huggingface")


# ── INCEpTION ──

INCEPTION = (
    "Type,Collection,Document,Layer,Feature,Position,Flags,Ann Doe,bob\n"
    'SpanPosition,,d.txt,de.pos.Token,value,"[1-2]",USED,NOUN,NOUN\n'
    'SpanPosition,,d.txt,de.pos.Token,value,"[3-4]",USED,VERB,<no label>\n'
    'SpanPosition,,d.txt,de.pos.Token,value,"[5-6]",INCOMPLETE,VERB,<no annotation>\n'
)


def test_inception_agreement_table(write: Write) -> None:
    found = read(write("i.csv", INCEPTION))
    assert rows(found) == [
        ("d.txt [1-2]", "Ann Doe", "NOUN"),
        ("d.txt [1-2]", "bob", "NOUN"),
        ("d.txt [3-4]", "Ann Doe", "VERB"),
        ("d.txt [5-6]", "Ann Doe", "VERB"),
    ]
    assert dict(found.left_out) == {"empty": 1} and found.understood.columns["label"] == "Token.value"
    old = INCEPTION.replace(",Flags", "").replace(",USED", "").replace(",INCOMPLETE", "").replace("<no label>", "null")
    assert len(rows(read(write("i.csv", old)))) == 4


# ── one file per annotator ──


def test_one_file_per_annotator(write: Write, tmp_path: Path) -> None:
    files = [
        write("f/ann.csv", "id,label,created_at\n1,x,5\n2,y,6\n"),
        write("f/bob.csv", "id,label,created_at\n1,x,7\n2,,8\n"),
    ]
    expected = [("1", "ann", "x"), ("2", "ann", "y"), ("1", "bob", "x")]
    for source in (files, tmp_path / "f", str(tmp_path / "f" / "*.csv")):
        found = read(source, format="per-annotator")
        assert rows(found) == expected and dict(found.left_out) == {"empty": 1}
    assert found.frame.collect()["time"].to_list() == [5, 6, 7]
    for path in files:
        pl.read_csv(path, infer_schema=False).write_parquet(path.with_suffix(".parquet"))
        path.unlink()
    assert rows(read(tmp_path / "f", format="per-annotator")) == expected


def test_one_file_per_annotator_faults(write: Write) -> None:
    one = write("a/ann.csv", "id,verdict2\n1,x\n")
    with pytest.raises(spagree.DataError, match="one file is one annotator"):
        read(one, format="per-annotator")
    with pytest.raises(spagree.DataError, match="two files are called 'ann'"):
        read([one, write("b/ann.csv", "id,label\n1,x\n")], format="per-annotator")
    two = write("bob.csv", "id,verdict2\n1,x\n")
    with pytest.raises(spagree.ColumnError, match=r"ann\.csv: name the column with question="):
        read([one, two], format="per-annotator")
    assert rows(read([one, two], format="per-annotator", question="verdict2", item="id")) == [
        ("1", "ann", "x"),
        ("1", "bob", "x"),
    ]
