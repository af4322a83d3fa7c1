"""Label Studio in all its formats: the same annotations give the same number, and nothing is left out in silence."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import spagree
from postgres import Server
from spagree.read import Annotations, read, read_all

CONFIG = """<View><Text name="text" value="$text"/>
<Choices name="mood" toName="text"><Choice value="Good"/><Choice value="Neutral" alias="neu"/></Choices>
<Choices name="topics" toName="text" choice="multiple"><Choice value="food"/><Choice value="price"/></Choices></View>"""


def chosen(control: str, *values: str) -> dict[str, Any]:
    return {"from_name": control, "to_name": "text", "type": "choices", "value": {"choices": list(values)}}


def annotation(number: int, by: Any, result: list[Any], **more: Any) -> dict[str, Any]:
    usual = {
        "was_cancelled": False,
        "ground_truth": False,
        "updated_by": by,
        "created_at": f"2026-11-15T06:00:{number:02}.5Z",
    }
    return {"id": number, "completed_by": by, "result": result, **usual, **more}


def tasks() -> list[dict[str, Any]]:
    first = [
        annotation(1, 2, [chosen("mood", "Good"), chosen("topics", "price", "food")]),
        annotation(2, 3, [chosen("mood", "Good"), chosen("topics", "food")]),
        annotation(3, 4, [chosen("mood", "neu")], updated_by=2),
    ]
    second = [
        annotation(4, 2, [chosen("mood", "Neutral")]),
        annotation(5, 3, [], was_cancelled=True),
        annotation(6, 4, [chosen("mood", "neu")]),
        annotation(7, 3, []),
    ]
    third = [
        annotation(8, 2, [chosen("mood", "Good")]),
        annotation(9, 3, [chosen("mood", "Good")], ground_truth=True),
        annotation(10, 2, [chosen("mood", "Neutral")]),
    ]
    draft = {
        "id": 1,
        "user": "dee@example.com",
        "result": [chosen("mood", "Good")],
        "created_at": "2026-11-15T07:00:00Z",
    }
    prediction = {"id": 1, "result": [chosen("mood", "Good")], "model_version": "m"}
    return [
        {
            "id": 1,
            "data": {"text": "a", "my_id": "r1"},
            "annotations": first,
            "drafts": [],
            "predictions": [prediction],
        },
        {"id": 2, "data": {"text": "b", "my_id": "r2"}, "annotations": second, "drafts": [draft]},
        {"id": 3, "data": {"text": "c", "my_id": "r3"}, "annotations": third, "drafts": []},
        {"id": 4, "data": {"text": "d", "my_id": "r4"}, "annotations": [], "drafts": []},
    ]


def flat() -> list[dict[str, Any]]:
    """What JSON-MIN makes of the tasks: newest first, no skips, a bare text for one choice, nobody for the last task."""
    rows: list[dict[str, Any]] = []
    for task in tasks():
        kept = [each for each in task["annotations"] if not each["was_cancelled"]]
        for each in sorted(kept, key=lambda found: -found["id"]):
            answers = {r["from_name"]: r["value"]["choices"] for r in each["result"]}
            bare = {name: v[0] if len(v) == 1 else {"choices": v} for name, v in answers.items()}
            own = {"annotator": each["completed_by"], "annotation_id": each["id"], "created_at": each["created_at"]}
            rows.append(
                {**task["data"], "id": task["id"], **bare, **own, "updated_at": each["created_at"], "lead_time": 1.5}
            )
        if not kept:
            nobody = dict.fromkeys(("annotator", "annotation_id", "created_at", "updated_at", "lead_time"))
            rows.append({**task["data"], "id": task["id"], **nobody})
    return rows


def delimited(separator: str) -> str:
    """Columns sorted by name; text in quotes, as Label Studio writes it."""
    names = sorted({name for row in flat() for name in row})
    cells = [
        [("" if (v := row.get(n)) is None else json.dumps(v) if isinstance(v, dict) else str(v)) for n in names]
        for row in flat()
    ]
    frame = pl.DataFrame(cells, schema=names, orient="row")
    return frame.write_csv(separator=separator, quote_style="non_numeric")


def json_export(folder: Path) -> Path:
    path = folder / "project-1-at-2026.json"
    path.write_text(json.dumps(tasks()))
    return path


def snapshot(folder: Path) -> Path:
    found = tasks()
    for task in found:
        for each in task["annotations"]:
            each["completed_by"] = {"id": each["completed_by"], "email": f"user{each['completed_by']}@example.com"}
    path = folder / "snapshot.json"
    path.write_text(json.dumps(found, indent=1))
    return path


def json_min(folder: Path) -> Path:
    path = folder / "min.json"
    path.write_text(json.dumps(flat(), indent=2))
    return path


def csv_export(folder: Path) -> Path:
    path = folder / "export.csv"
    path.write_text(delimited(","))
    return path


def tsv_export(folder: Path) -> Path:
    path = folder / "export.tsv"
    path.write_text(delimited("\t"))
    return path


SCHEMA = """
CREATE TABLE project (id integer, label_config text);
CREATE TABLE task (id integer, data text, project_id integer);
CREATE TABLE htx_user (id integer, email text);
CREATE TABLE task_completion (id integer, result text, was_cancelled bool, created_at datetime, task_id integer,
  completed_by_id integer, ground_truth bool, project_id integer, updated_by_id integer);
CREATE TABLE tasks_annotationdraft (id integer, result text, task_id integer, user_id integer, annotation_id integer);
"""


def fill(connection: Any, config: str = CONFIG, project: int = 1) -> None:
    connection.execute("INSERT INTO project VALUES (?, ?)", (project, config))
    for task in tasks():
        number = task["id"] + 100 * (project - 1)
        connection.execute("INSERT INTO task VALUES (?, ?, ?)", (number, json.dumps(task["data"]), project))
        for each in task["annotations"]:
            time = each["created_at"].replace("T", " ").replace("Z", "")
            row = (each["id"], json.dumps(each["result"]), each["was_cancelled"], time, number, each["completed_by"])
            connection.execute(
                "INSERT INTO task_completion VALUES (?,?,?,?,?,?,?,?,?)",
                (*row, each["ground_truth"], project, each["updated_by"]),
            )
        for draft in task["drafts"]:
            connection.execute(
                "INSERT INTO tasks_annotationdraft VALUES (1, ?, ?, 5, NULL)", (json.dumps(draft["result"]), number)
            )


def database(folder: Path, *projects: int, config: str = CONFIG) -> Path:
    path = folder / "label_studio.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.executescript(SCHEMA)
        connection.executemany("INSERT INTO htx_user VALUES (?, ?)", [(n, f"user{n}@example.com") for n in range(2, 6)])
        for project in projects or (1,):
            fill(connection, config, project)
    connection.close()
    return path


def rows(annotations: Annotations) -> list[tuple[Any, ...]]:
    frame = annotations.frame.select("item", "annotator", "label").collect(backend="polars")
    return sorted(tuple(row) for row in frame.rows())


FORMATS = {
    "json": json_export,
    "snapshot": snapshot,
    "min": json_min,
    "csv": csv_export,
    "tsv": tsv_export,
    "db": database,
}
EXPECTED = [
    ("1", "2", "Good"), ("1", "3", "Good"), ("1", "4", "Neutral"),
    ("2", "2", "Neutral"), ("2", "4", "Neutral"),
    ("3", "2", "Good"), ("3", "2", "Neutral"), ("3", "3", "Good"),
]  # fmt: skip


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.xml"
    path.write_text(CONFIG)
    return path


@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
def test_every_format_gives_the_same_annotations(make: Any, tmp_path: Path, config: Path) -> None:
    found = read(make(tmp_path), question="mood", config=config)
    assert rows(found) == EXPECTED
    assert found.understood.format == "label-studio"
    assert found.left_out["empty"] == 1


@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
def test_the_last_of_two_is_the_last_in_time_whatever_the_order_in_the_file(
    make: Any, tmp_path: Path, config: Path
) -> None:
    source = make(tmp_path)
    with pytest.raises(spagree.DuplicateError, match="annotator '2' labelled item '3'"):
        spagree.measure(source, question="mood", config=config)
    last = spagree.measure(source, question="mood", config=config, duplicates="last", weights="flat")
    assert last.spa.value == pytest.approx((1 / 3 + 1 + 0) / 3)
    first = spagree.measure(source, question="mood", config=config, duplicates="first", weights="flat")
    assert first.spa.value == pytest.approx((1 / 3 + 1 + 1) / 3)


@pytest.mark.parametrize("make", [json_export, snapshot, database])
def test_skips_and_drafts_are_left_out_and_counted(make: Any, tmp_path: Path) -> None:
    assert dict(read(make(tmp_path), question="mood").left_out) == {"cancelled": 1, "empty": 1, "draft": 1}
    counted = read(make(other(tmp_path)), question="mood", status=["submitted", "draft"])
    assert dict(counted.left_out) == {"cancelled": 1, "empty": 1}


def other(folder: Path) -> Path:
    (folder / "again").mkdir()
    return folder / "again"


def test_the_alias_is_kept_as_stored_without_a_configuration(tmp_path: Path) -> None:
    labels = {row[2] for row in rows(read(json_export(tmp_path), question="mood"))}
    assert labels == {"Good", "Neutral", "neu"}


def test_the_database_knows_its_aliases(tmp_path: Path) -> None:
    assert {row[2] for row in rows(read(database(tmp_path), question="mood"))} == {"Good", "Neutral"}


@pytest.mark.parametrize(
    ("content", "message"), [(None, "cannot be read"), ("no xml here", "not a labelling configuration")]
)
def test_a_bad_configuration_is_refused(content: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "c.xml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(spagree.SpagreeError, match=message):
        read(json_export(tmp_path), question="mood", config=path)


def test_ground_truth_stays_unless_it_is_dropped(tmp_path: Path) -> None:
    kept, dropped = (read(json_export(tmp_path), question="mood", ground_truth=policy) for policy in ("keep", "drop"))
    assert len(rows(kept)) == len(rows(dropped)) + 1
    assert dropped.left_out["ground_truth"] == 1 and "ground_truth" not in kept.left_out


@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
def test_several_choices_are_one_sorted_set(make: Any, tmp_path: Path) -> None:
    found = read(make(tmp_path), question="topics")
    assert rows(found) == [("1", "2", '["food", "price"]'), ("1", "3", "food")]
    assert found.left_out["empty"] == 7


def test_or_a_question_per_option(tmp_path: Path) -> None:
    every = spagree.measure_all(json_export(tmp_path), multi="options", duplicates="last", weights="flat")
    assert list(every) == ["mood", "topics:food", "topics:price"]
    assert (every["topics:food"].spa.value, every["topics:price"].spa.value) == (1, 0)
    with pytest.raises(spagree.ColumnError, match="topics:food"):
        read(json_export(tmp_path), multi="options", question="topics")
    assert rows(read(json_export(tmp_path), multi="options", question="topics:price")) == [
        ("1", "2", "yes"),
        ("1", "3", "no"),
    ]
    kept = read(json_export(tmp_path), multi="options", question="topics:price", empty="keep")
    assert [row[2] for row in rows(kept)].count("no") == 8


def test_an_empty_answer_can_be_a_label(tmp_path: Path) -> None:
    assert ("2", "3", "[]") in rows(read(json_export(tmp_path), question="mood", empty="keep"))


def test_several_questions_need_a_choice(tmp_path: Path) -> None:
    with pytest.raises(
        spagree.ColumnError, match=r"2 questions: 'mood', 'topics'; choose one with question=, e\.g\. question=\"mood\""
    ):
        read(json_export(tmp_path))
    with pytest.raises(spagree.UsageError, match="did you mean 'mood'"):
        read(json_export(tmp_path), question="mod")
    assert rows(read(json_export(tmp_path), question="MOOD")) == rows(read(json_export(tmp_path), question="mood"))


def test_an_edit_by_somebody_else_is_said(tmp_path: Path) -> None:
    for make in (json_export, database):
        found = read(make(tmp_path), question="mood", ground_truth="drop")
        assert [caution.code for caution in found.cautions] == ["edited_by_others"]


def test_times_are_kept_for_the_first_k(tmp_path: Path) -> None:
    agreement = spagree.measure(json_export(tmp_path), question="mood", first=2, duplicates="last")
    assert agreement.data.left_out["after_first_2"] == 1
    assert read(json_export(tmp_path), question="mood").frame.collect()["time"].min() == 1794722401.5


@pytest.mark.parametrize("make", [json_export, database, csv_export])
def test_the_item_may_be_a_field_of_the_task(make: Any, tmp_path: Path) -> None:
    assert {row[0] for row in rows(read(make(tmp_path), question="mood", item="my_id"))} == {"r1", "r2", "r3"}
    with pytest.raises(spagree.ColumnError, match="'mine'"):
        read(make(other(tmp_path)), question="mood", item="mine")


def test_snapshots_have_addresses_on_request_only(tmp_path: Path) -> None:
    assert {row[1] for row in rows(read(snapshot(tmp_path), question="mood"))} == {"2", "3", "4"}
    assert ("1", "user2@example.com", "Good") in rows(read(snapshot(tmp_path), question="mood", annotator="email"))
    assert ("1", "user2@example.com", "Good") in rows(read(database(tmp_path), question="mood", annotator="email"))


def test_two_projects_in_one_database_are_questions_of_their_own(tmp_path: Path) -> None:
    source = database(tmp_path, 1, 2)
    with pytest.raises(spagree.ColumnError, match="'1/mood', '1/topics', '2/mood'"):
        read(source)
    assert {row[0] for row in rows(read(source, question="2/mood"))} == {"101", "102", "103"}


def test_the_database_is_not_changed(tmp_path: Path) -> None:
    source = database(tmp_path)
    before = source.read_bytes()
    source.chmod(0o444)
    read(source, question="mood")
    assert source.read_bytes() == before
    assert [path.name for path in tmp_path.glob("label_studio*")] == [source.name]


def test_a_damaged_database_is_a_file_error(tmp_path: Path) -> None:
    source = database(tmp_path)
    content = bytearray(source.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    source.write_bytes(content)
    with pytest.raises(spagree.FileError, match="cannot be read"):
        read(source, format="label-studio")


def test_damaged_json_in_the_database_names_the_annotation(tmp_path: Path) -> None:
    source = database(tmp_path)
    with sqlite3.connect(source) as connection:
        connection.execute("UPDATE task_completion SET result = '[{' WHERE id = 4")
    connection.close()
    with pytest.raises(spagree.DataError, match="annotation 4: its JSON"):
        read(source)


def test_an_unknown_database_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE a (b)")
    connection.close()
    with pytest.raises(spagree.UsageError, match=r"not Label Studio's or doccano's .tables: 'a'.; .*query="):
        read(path)


VALUES = [
    ({"rating": 4}, "4"),
    ({"number": 7.5}, "7.5"),
    ({"selected": "left"}, "left"),
    ({"text": ["because"]}, "because"),
    ({"taxonomy": [["Animals", "Dog"], ["Plants"]]}, '["Animals / Dog", "Plants"]'),
    ({"taxonomy": [["Plants"]]}, "Plants"),
    ({"datetime": "2020-01-01"}, "2020-01-01"),
]


@pytest.mark.parametrize(("value", "label"), VALUES)
def test_every_kind_of_control(value: dict[str, Any], label: str, tmp_path: Path) -> None:
    results = [{"from_name": "q", "to_name": "t", "type": "x", "value": value}]
    path = tmp_path / "e.json"
    path.write_text(
        json.dumps([{"id": 1, "data": {}, "annotations": [annotation(1, 2, results), annotation(2, 3, results)]}])
    )
    assert rows(read(path)) == [("1", "2", label), ("1", "3", label)]
    row = {
        "text": "t",
        "id": 1,
        "q": [value],
        "annotator": 2,
        "annotation_id": 1,
        "created_at": None,
        "updated_at": None,
        "lead_time": 1,
    }
    path.write_text(json.dumps([row, {**row, "annotator": 3}]))
    assert rows(read(path)) == [("1", "2", label), ("1", "3", label)]


def test_marked_regions_are_not_classes(tmp_path: Path) -> None:
    span = {"from_name": "ner", "to_name": "t", "type": "labels", "value": {"start": 1, "end": 2, "labels": ["PER"]}}
    path = tmp_path / "e.json"
    path.write_text(json.dumps([{"id": 1, "data": {}, "annotations": [annotation(1, 2, [span])]}]))
    with pytest.raises(spagree.DataError, match="1 region marked and no classes chosen; spagree compares classes"):
        read(path)
    path.write_text(json.dumps([{"id": 1, "data": {}, "annotations": [annotation(1, 2, [span, chosen("q", "a")])]}]))
    assert rows(read(path)) == [("1", "2", "a")]


MALFORMED = [
    ('[{"id": 1, "data": {}, "annotations": 5}]', "object 1: 'annotations' should be a list, found '5'"),
    ('[{"id": 1, "data": {}, "annotations": [7]}]', "object 1: annotation 1: should be an object, found '7'"),
    ('[{"id": 1, "data": {}, "annotations": [{"id": 2}]}]', "annotation 1: has no 'result'"),
    ('[{"id": 1, "data": {}, "annotations": [{"id": 2, "result": [3]}]}]', "a result should be an object, found '3'"),
    (
        '[{"id": 1, "data": {}, "annotations": [{"id": 2, "result": [{"from_name": "a", "value": 3}]}]}]',
        "'value' should be an object",
    ),
    ('[{"data": {}, "annotations": [{"id": 2, "result": []}]}]', "there is no field 'id'"),
    ('[{"id": 1, "data": {}, "annotations": []}, 5]', "object 2: expected an object"),
]


@pytest.mark.parametrize(("text", "message"), MALFORMED)
def test_malformed_exports_name_the_place(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    path.write_text(text)
    with pytest.raises(spagree.DataError, match=r"e\.json.*" + message):
        read(path)


@pytest.mark.parametrize("cut", [0.4, 0.7, 0.99])
def test_a_truncated_export_is_refused_with_the_place(cut: float, tmp_path: Path) -> None:
    path = json_export(tmp_path)
    text = path.read_text()
    path.write_text(text[: int(len(text) * cut)])
    with pytest.raises(spagree.DataError, match=r"\.json:1: column \d+: not JSON.*truncated"):
        read(path, question="mood")
    path = csv_export(tmp_path)
    path.write_text(path.read_text()[:-20])
    with pytest.raises(spagree.DataError, match=r"export\.csv:\d+"):
        read(path, question="mood")


def test_a_json_column_in_a_table_may_be_a_mere_text(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text('annotation_id,annotator,id,lead_time,q\n1,2,1,3,"{""not json"\n2,3,1,3,b\n')
    assert [row[2] for row in rows(read(path))] == ['{"not json', "b"]


def test_a_question_on_which_all_agree_is_still_a_question_in_csv(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text(
        "annotation_id,annotator,id,lead_time,mood,text,topic\n1,2,1,3,good,hello,a\n2,3,1,3,good,hello,b\n3,2,2,3,good,bye,a\n4,3,2,3,good,bye,a\n"
    )
    with pytest.raises(spagree.ColumnError, match="2 questions: 'mood', 'topic'"):
        read(path)
    assert spagree.measure(path, question="mood").spa.value == 1
    assert spagree.measure(path, question="text").spa.value == 1  # who insists may


POSTGRES = (
    SCHEMA.replace("data text", "data jsonb")
    .replace("result text", "result jsonb")
    .replace("bool", "boolean")
    .replace("datetime", "timestamptz")
)


@pytest.fixture
def server(postgres: Server, tmp_path: Path) -> Server:
    """The same rows as in the SQLite file, in the types that Label Studio has in PostgreSQL."""
    import psycopg

    label_studio = postgres.another("labelstudio")
    label_studio.run(*filter(str.strip, POSTGRES.split(";")))
    source = sqlite3.connect(database(tmp_path))
    with psycopg.connect(label_studio.address) as target, target.cursor() as cursor:
        for table in re.findall(r"CREATE TABLE (\w+)", SCHEMA):
            for row in source.execute(f"SELECT * FROM {table}"):
                texts = [None if value is None else str(value) for value in row]
                cursor.execute(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(row))})", texts)
    source.close()
    return label_studio


class TestPostgreSQL:
    @pytest.mark.parametrize("options", [{}, {"format": "label-studio"}])
    def test_gives_the_same_annotations(self, server: Server, tmp_path: Path, options: dict[str, str]) -> None:
        found, same = (
            read(source, question="mood", **options) for source in (server.address, database(other(tmp_path)))
        )
        assert rows(found) == EXPECTED
        assert found.frame.collect().to_native().equals(same.frame.collect().to_native())  # times as well
        assert (found.left_out, found.cautions) == (same.left_out, same.cautions)
        assert found.understood.source == server.name and found.understood.format == "label-studio"

    def test_is_a_plain_table_with_a_query(self, server: Server) -> None:
        query = "SELECT task_id, completed_by_id AS annotator, (result->0->'value'->'choices'->>0) AS label, id AS time FROM task_completion WHERE NOT was_cancelled"
        found = spagree.measure(server.address, query=query, duplicates="last")
        assert found.understood and found.understood.format == "long" and found.data.annotators == 3

    def test_with_other_tables_points_to_the_export(self, server: Server) -> None:
        server.run("ALTER TABLE task_completion DROP COLUMN updated_by_id")
        with pytest.raises(spagree.FileError, match=r"column c\.updated_by_id does not exist.*use an export"):
            read(server.address)

    def test_without_a_server_nothing_is_known(self) -> None:
        with pytest.raises(spagree.FileError, match="cannot be read") as caught:
            read("postgresql://ls:hidden1@127.0.0.1:1/labelstudio", format="label-studio")
        assert "hidden1" not in str(caught.value)

    def test_without_the_driver_the_extra_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "psycopg", None)
        with pytest.raises(spagree.MissingExtraError, match=r"spagree\[postgres\]"):
            read("postgresql://ls@db.example.com/labelstudio", format="label-studio")


def test_data_with_the_name_of_a_control_is_no_question(tmp_path: Path) -> None:
    """Seen by running Label Studio 1.23.2: CSV calls such data `_data_mood`."""
    lines = [
        "_data_mood,annotation_id,annotator,created_at,id,lead_time,mood,updated_at",
        "sunny,1,1,2024-01-01T00:00:00Z,1,1.0,good,2024-01-01T00:00:00Z",
        "sunny,2,2,2024-01-01T00:00:00Z,1,1.0,bad,2024-01-01T00:00:00Z",
        "sunny,3,1,2024-01-01T00:00:00Z,2,1.0,good,2024-01-01T00:00:00Z",
    ]
    path = tmp_path / "export.csv"
    path.write_text("\n".join(lines))
    assert rows(read(path)) and list(read_all(path)) == ["mood"]
