"""Label Studio in all its formats: the same annotations give the same number, and nothing is left out in silence."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from exports import ROWS, Write, codes, triples
from exports import rows as in_order

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
            "id": 1, "data": {"text": "a", "my_id": "r1"}, "annotations": first, "drafts": [],
            "predictions": [prediction],
        },
        {"id": 2, "data": {"text": "b", "my_id": "r2"}, "annotations": second, "drafts": [draft]},
        {"id": 3, "data": {"text": "c", "my_id": "r3"}, "annotations": third, "drafts": []},
        {"id": 4, "data": {"text": "d", "my_id": "r4"}, "annotations": [], "drafts": []},
    ]  # fmt: skip


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


def emails() -> list[dict[str, Any]]:
    """The tasks as a snapshot writes them on request, with the addresses of the users."""
    found = tasks()
    for task in found:
        for each in task["annotations"]:
            each["completed_by"] = {"id": each["completed_by"], "email": f"user{each['completed_by']}@example.com"}
    return found


def saving(name: str, content: Callable[[], str]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_text(content())
        return path

    return make


json_export = saving("project-1-at-2026.json", lambda: json.dumps(tasks()))
snapshot = saving("snapshot.json", lambda: json.dumps(emails(), indent=1))
json_min = saving("min.json", lambda: json.dumps(flat(), indent=2))
csv_export = saving("export.csv", lambda: delimited(","))
tsv_export = saving("export.tsv", lambda: delimited("\t"))


SCHEMA = """
CREATE TABLE project (id integer, label_config text);
CREATE TABLE task (id integer, data text, project_id integer);
CREATE TABLE htx_user (id integer, email text);
CREATE TABLE task_completion (id integer, result text, was_cancelled bool, created_at datetime, updated_at datetime,
  task_id integer,
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
            later = time.replace("2026", "2027")
            row = (each["id"], json.dumps(each["result"]), each["was_cancelled"], time, later, number)
            connection.execute(
                "INSERT INTO task_completion VALUES (?,?,?,?,?,?,?,?,?,?)",
                (*row, each["completed_by"], each["ground_truth"], project, each["updated_by"]),
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
    return sorted(in_order(annotations))


FORMATS = {
    "json": json_export, "snapshot": snapshot, "min": json_min, "csv": csv_export, "tsv": tsv_export,
    "db": database,
}  # fmt: skip


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
        assert [warning.code for warning in found.warnings] == ["edited_by_others"]


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


def test_a_field_of_the_user_that_an_export_does_not_have_is_refused(tmp_path: Path) -> None:
    for make in (json_export, json_min, csv_export):
        with pytest.raises(spagree.ColumnError, match=r'^annotator="email": no record has anything in this field'):
            read(make(tmp_path), question="mood", annotator="email")
    with pytest.raises(spagree.ColumnError, match=r'^annotator="nickname"'):
        read(database(tmp_path), question="mood", annotator="nickname")


def test_the_time_may_be_another_of_the_database(tmp_path: Path) -> None:
    def years(**options: Any) -> set[int]:
        frame = read(database(other(tmp_path / str(len(options)))), question="mood", **options).frame
        return {datetime.fromtimestamp(time, UTC).year for time in frame.collect(backend="polars")["time"]}

    for number in (0, 1):
        (tmp_path / str(number)).mkdir()
    assert (years(), years(time="updated_at")) == ({2026}, {2027})
    with pytest.raises(spagree.ColumnError, match=r'^time="seen_at": no record has anything in this field'):
        read(database(tmp_path), question="mood", time="seen_at")


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
    with pytest.raises(spagree.DataError, match="annotation 4: its result is not JSON"):
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
    row = {"text": "t", "id": 1, "q": [value], **FLAT, "annotator": 2, "annotation_id": 1}
    path.write_text(json.dumps([row, {**row, "annotator": 3}]))
    assert rows(read(path)) == [("1", "2", label), ("1", "3", label)]


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
def test_malformed_exports_name_the_place(text: str, message: str, write: Write) -> None:
    path = write("e.json", text)
    with pytest.raises(spagree.DataError, match=r"e\.json.*" + message):
        read(path)


def test_a_json_column_in_a_table_may_be_a_mere_text(write: Write) -> None:
    path = write("e.csv", 'annotation_id,annotator,id,lead_time,q\n1,2,1,3,"{""not json"\n2,3,1,3,b\n')
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
        assert (found.left_out, found.warnings) == (same.left_out, same.warnings)
        assert found.understood.source == server.name and found.understood.format == "label-studio"

    def test_with_other_tables_points_to_the_export(self, server: Server) -> None:
        server.run("ALTER TABLE task_completion DROP COLUMN updated_by_id")
        with pytest.raises(spagree.FileError, match=r"column c\.updated_by_id does not exist.*use an export"):
            read(server.address)


def test_data_with_the_name_of_a_control_is_no_question(write: Write) -> None:
    """Seen by running Label Studio 1.23.2: CSV calls such data `_data_mood`."""
    lines = [
        "_data_mood,annotation_id,annotator,created_at,id,lead_time,mood,updated_at",
        "sunny,1,1,2024-01-01T00:00:00Z,1,1.0,good,2024-01-01T00:00:00Z",
        "sunny,2,2,2024-01-01T00:00:00Z,1,1.0,bad,2024-01-01T00:00:00Z",
        "sunny,3,1,2024-01-01T00:00:00Z,2,1.0,good,2024-01-01T00:00:00Z",
    ]
    path = write("export.csv", "\n".join(lines))
    assert rows(read(path)) and list(read_all(path)) == ["mood"]


def result(control: str, value: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"from_name": control, "to_name": "t", "type": next(iter(value)), "value": value, **more}


def task_of(*given: list[dict[str, Any]], data: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    annotations = [
        {"id": number, "completed_by": number, "result": results, "was_cancelled": False}
        for number, results in enumerate(given, 1)
    ]
    return [{"id": 1, "data": data or {"text": "Hi"}, "annotations": annotations}]


def test_choices_for_each_item_of_a_list_are_items(write: Write) -> None:
    def pair(first: str, second: str) -> list[dict[str, Any]]:
        return [result("q", {"choices": [label]}, item_index=i) for i, label in enumerate((first, second))]

    agreement = spagree.measure(write("e.json", task_of(pair("x", "same"), pair("y", "same"))), weights="flat")
    assert agreement.spa.value == 1 / 2 and agreement.data.items == 2


def test_repeated_results_of_a_control_are_a_set_with_a_warning(write: Write) -> None:
    def chosen(*labels: str) -> list[dict[str, Any]]:
        return [result("q", {"choices": [label]}, id=f"r{label}") for label in labels]

    path = write("e.json", task_of(chosen("x", "z"), chosen("y", "z")))
    agreement = spagree.measure(path)
    assert agreement.spa.value == 0 and set(agreement.data.labels) == {'["x", "z"]', '["y", "z"]'}
    assert "several_results" in codes(agreement)


REGIONS = {
    "spans": {"start": 0, "end": 2, "labels": ["PER"]},
    "boxes": {"x": 1, "y": 2, "width": 3, "rectanglelabels": ["Car"]},
    "polygons": {"points": [[1, 2]], "polygonlabels": ["Car"]},
    "brush": {"format": "rle", "rle": [1], "brushlabels": ["Sky"]},
    "video": {"framesCount": 10, "sequence": [{"frame": 1}], "labels": ["Man"]},
    "timeline": {"ranges": [{"start": 1}], "timelinelabels": ["Run"]},
    "ranking": {"ranker": {"_": ["a", "b"]}},
    "choice of a region": {"start": 0, "end": 2, "choices": ["x"]},
}


@pytest.mark.parametrize("kind", REGIONS)
def test_regions_are_no_classes(kind: str, write: Write) -> None:
    region = result("tag", REGIONS[kind])
    with pytest.raises(spagree.DataError, match="2 regions marked and no classes chosen; spagree compares classes"):
        read(write("e.json", task_of([region], [region])))
    beside = [region, region, result("q", {"choices": ["x"]})]
    found = read(write("b.json", task_of(beside, beside)))
    assert [warning.code for warning in found.warnings] == ["regions_left_aside"]


def test_ratings_hint_at_their_order_and_tables_claim_no_status(write: Write) -> None:
    found = read(write("e.json", task_of([result("stars", {"rating": 4})], [result("stars", {"rating": 5})])))
    assert 'stars are ordered: metric="ordinal" gives credit for near misses' in found.understood.rules
    assert "status submitted" in found.understood.rules[-1]
    table = "annotation_id,annotator,created_at,id,lead_time,mood,text,updated_at\n1,2,,1,3,a,Hi,\n2,3,,1,3,b,Hi,\n"
    assert "status" not in " ".join(read(write("e.csv", table), question="mood").understood.rules)


def test_numbers_stay_as_written(write: Write) -> None:
    huge = "123456789012345678901234567890"
    text = json.dumps(task_of([result("n", {"number": 1})], [result("n", {"number": 2})]))
    text = text.replace('"number": 1}', '"number": 1.0}').replace('"number": 2}', f'"number": {huge}}}')
    assert [row[2] for row in triples(write("e.json", text))] == ["1.0", huge]
    careful = text.replace('"Hi"', '"Hi", "odd": NaN')  # what the fast parser refuses, the careful one reads
    assert [row[2] for row in triples(write("c.json", careful))] == ["1.0", huge]
    for whole, half in (('"completed_by": 1', '"completed_by": "\\ud800"'), ('"Hi"', '"\\ud800"')):
        with pytest.raises(spagree.DataError, match="half a character"):
            read(write("h.json", text.replace(whole, half)))


def test_texts_come_along_and_another_field_can_be_named(write: Write) -> None:
    given = [[result("q", {"choices": ["x"]})], [result("q", {"choices": ["y"]})]]
    path = write("e.json", task_of(*given, data={"text": "Hi", "title": "A greeting"}))
    assert spagree.measure(path).hardest()["text"].to_list() == ["Hi"]
    assert spagree.measure(path, text="title").hardest()["text"].to_list() == ["A greeting"]
    with pytest.raises(spagree.ColumnError, match="there is no field 'body'; fields: 'text', 'title'"):
        read(path, text="body")
    long = write("l.json", task_of(*given, data={"text": "y" * 5000}))
    assert spagree.measure(long).hardest()["text"].str.len_chars().to_list() == [2000]


FLAT = {"annotator": "1", "annotation_id": 0, "created_at": "2024-01-01", "updated_at": "2024-01-01", "lead_time": 1}


def flat_rows(cell: Any) -> list[dict[str, Any]]:
    return [
        {"text": item, "id": int(item[1:]), "mood": cell(label), **FLAT, "annotator": who, "annotation_id": n}
        for n, (item, who, label) in enumerate(ROWS, 1)
    ]


def test_several_results_in_a_flat_export_are_one_set(write: Write) -> None:
    path = write("a.json", flat_rows(lambda label: [{"rating": 1}, {"rating": 2 if label == "pos" else 3}]))
    found = spagree.measure(path)
    assert set(found.data.labels) == {'["1", "2"]', '["1", "3"]'}
    assert "several_results" in {warning.code for warning in found.warnings}


def test_tasks_of_two_servers_that_share_their_ids_are_named(tmp_path: Path) -> None:
    """Each server numbers its tasks from 1; who counts them together is told, and --item tells them apart."""

    def task(number: int, text: str, people: int, letters: str) -> dict[str, Any]:
        annotations = [
            {"id": 10 * people + who, "completed_by": people + who, "result": [
                {"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": [letter]}}]}
            for who, letter in enumerate(letters)
        ]  # fmt: skip
        return {"id": number, "data": {"text": text}, "annotations": annotations}

    paths = [tmp_path / "here.json", tmp_path / "there.json"]
    paths[0].write_text(json.dumps([task(1, "one", 1, "ab"), task(2, "two", 3, "aa")]))
    paths[1].write_text(json.dumps([task(1, "three", 5, "bb"), task(2, "two", 7, "bb"), task(3, "four", 9, "cc")]))
    together = spagree.measure(paths)
    assert "1 item has several texts, such as '1': 'one' and 'three'" in codes(together)["several_texts"]
    assert "with item=" in codes(together)["several_texts"]
    apart = spagree.measure(paths, item="text")  # one: 0 of 1 pair; two: 2 of 6, weight 3; three and four: all
    assert "several_texts" not in codes(apart)
    assert apart.spa.value == pytest.approx((0 + 3 * 2 / 6 + 1 + 1) / 6)


def test_one_control_question_is_one(write: Write) -> None:
    result = [{"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": ["a"]}}]
    annotations = [{"id": who, "completed_by": who, "result": result, "ground_truth": who == 1} for who in (1, 2)]
    path = write("gold.json", [{"id": 1, "data": {"text": "one"}, "annotations": annotations}])
    assert codes(spagree.measure(path))["control_questions"].startswith("1 annotation is marked as ground truth")
