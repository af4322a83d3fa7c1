"""Fields of the records of an export: filters, groups, clusters, and the address of the task."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest

import spagree
from command import Run

PEOPLE = ("ann", "bob", "cyd")


def rows() -> list[tuple[int, str, str, str]]:
    """Item, annotator, label, language: 24 items, of which those in German agree less."""
    chance = random.Random(7)
    found = []
    for item in range(1, 25):
        language, usual = ("de", 0.5) if item % 3 == 0 else ("en", 0.9)
        found += [(item, who, "yes" if chance.random() < usual else "no", language) for who in PEOPLE]
    return found


ROWS = rows()
FRAME = polars.DataFrame(ROWS, schema=["item", "annotator", "label", "language"], orient="row")


def address(item: int) -> str:
    return f"https://tool.example/task/{item}"


def label_studio(folder: Path) -> Path:
    tasks = []
    for item in range(1, 25):
        given = [row for row in ROWS if row[0] == item]
        annotations = [
            {
                "id": 10 * item + number,
                "completed_by": number,
                "result": [{"from_name": "q", "to_name": "t", "type": "choices", "value": {"choices": [label]}}],
            }
            for number, (_, _, label, _) in enumerate(given)
        ]
        data = {"text": f"text {item}", "language": given[0][3], "url": address(item)}
        tasks.append({"id": item, "data": data, "annotations": annotations, "project": 3})
    return written(folder / "tasks.json", json.dumps(tasks))


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def lines(path: Path, records: list[Any]) -> Path:
    return written(path, "\n".join(map(json.dumps, records)))


def table(path: Path, header: str, records: list[list[object]], separator: str = ",") -> Path:
    cells = (['"' + str(cell).replace('"', '""') + '"' for cell in record] for record in records)
    return written(path, "\n".join([header.replace(",", separator), *(separator.join(row) for row in cells)]) + "\n")


def prodigy(folder: Path) -> Path:
    return lines(
        folder / "p.jsonl",
        [
            {
                "text": f"text {item}", "_input_hash": item, "_task_hash": item, "_annotator_id": who, "answer": "accept",
                "options": [{"id": "yes"}, {"id": "no"}], "accept": [label], "_view_id": "choice",
                "meta": {"language": language, "url": address(item)},
            }
            for item, who, label, language in ROWS
        ],
    )  # fmt: skip


def mturk(folder: Path) -> Path:
    header = "HITId,WorkerId,AssignmentStatus,Input.text,Input.language,Input.url,Answer.q"
    found: list[list[object]] = [[i, a, "Approved", f"text {i}", lang, address(i), label] for i, a, label, lang in ROWS]
    return table(folder / "batch.csv", header, found)


def appen(folder: Path) -> Path:
    header = "_unit_id,_worker_id,_tainted,language,url,q,q_gold"
    return table(
        folder / "full.csv", header, [[i, a, "false", lang, address(i), label, ""] for i, a, label, lang in ROWS]
    )


def toloka(folder: Path) -> Path:
    header = "INPUT:text,INPUT:language,OUTPUT:q,ASSIGNMENT:link,ASSIGNMENT:task_id,ASSIGNMENT:worker_id"
    found: list[list[object]] = [[f"text {i}", lang, label, address(i), i, a] for i, a, label, lang in ROWS]
    return table(folder / "assignments.tsv", header, found, "\t")


def zooniverse(folder: Path) -> Path:
    header = "user_name,created_at,workflow_id,annotations,subject_data,subject_ids"
    found: list[list[object]] = []
    for item, who, label, language in ROWS:
        subject = {str(item): {"language": language, "url": address(item)}}
        answer = [{"task": "T0", "task_label": "?", "value": label}]
        found.append([who, "2024-01-01 10:00:00 UTC", "7", json.dumps(answer), json.dumps(subject), item])
    return table(folder / "classifications.csv", header, found)


def argilla(folder: Path) -> Path:
    records = []
    for item in range(1, 25):
        given = [row for row in ROWS if row[0] == item]
        records.append(
            {
                "id": str(item), "text": "t", "language": given[0][3], "url": address(item),
                "q.responses": [row[2] for row in given], "q.responses.users": [row[1] for row in given],
                "q.responses.status": ["submitted"] * 3,
            }
        )  # fmt: skip
    return lines(folder / "argilla.jsonl", records)


def argilla_parquet(folder: Path) -> Path:
    path = folder / "argilla.parquet"
    polars.read_ndjson(argilla(folder)).write_parquet(path)
    return path


def langfuse(folder: Path) -> Path:
    return lines(
        folder / "scores.jsonl",
        [
            {
                "traceId": str(item), "name": "q", "stringValue": label, "dataType": "CATEGORICAL", "source": "ANNOTATION",
                "authorUserId": who, "metadata": {"language": language}, "url": address(item),
            }
            for item, who, label, language in ROWS
        ],
    )  # fmt: skip


EXPORTS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "label-studio": (label_studio, "language"),
    "prodigy": (prodigy, "language"),
    "mturk": (mturk, "Input.language"),
    "appen": (appen, "language"),
    "toloka": (toloka, "INPUT:language"),
    "zooniverse": (zooniverse, "language"),
    "argilla": (argilla, "language"),
    "argilla as Parquet": (argilla_parquet, "language"),
    "langfuse": (langfuse, "language"),
}
exports = pytest.mark.parametrize("name", EXPORTS)


@exports
def test_groups_are_those_of_a_table(name: str, tmp_path: Path) -> None:
    make, field = EXPORTS[name]
    found = spagree.measure(make(tmp_path), by=field)
    expected = spagree.measure(FRAME, by="language")
    groups, wanted = found.to_dict()["groups"], expected.to_dict()["groups"]
    assert {key: each["spa"]["value"] for key, each in groups.items()} == {
        key: each["spa"]["value"] for key, each in wanted.items()
    }
    assert found.spa.value == expected.spa.value


@exports
def test_clusters_are_those_of_a_table(name: str, tmp_path: Path) -> None:
    make, field = EXPORTS[name]
    found, expected = spagree.measure(make(tmp_path), cluster=field), spagree.measure(FRAME, cluster="language")
    assert (found.spa.low, found.spa.high) == pytest.approx((expected.spa.low, expected.spa.high))


@exports
def test_fields_choose_records(name: str, tmp_path: Path) -> None:
    make, field = EXPORTS[name]
    found = spagree.measure(make(tmp_path), where={field: "de"})
    expected = spagree.measure(FRAME.filter(polars.col("language") == "de"))
    assert found.spa.value == expected.spa.value and found.data.annotations == expected.data.annotations
    assert f"only records with {field} = de" in str(found)


@exports
def test_the_address_comes_along(name: str, tmp_path: Path) -> None:
    make, _ = EXPORTS[name]
    found = spagree.measure(make(tmp_path))
    page = tmp_path / "report.html"
    found.report(page)
    shown = page.read_text("utf-8")
    hardest = [item for item in range(1, 25) if len({row[2] for row in ROWS if row[0] == item}) > 1]
    assert hardest and any(f'href="{address(item)}"' in shown for item in hardest)


def test_a_field_that_no_record_has(tmp_path: Path) -> None:
    for option in ("by", "cluster"):
        with pytest.raises(
            spagree.ColumnError, match=rf"{option}=\"tongue\": no record has this field; fields: .*'language'"
        ):
            spagree.measure(label_studio(tmp_path), **{option: "tongue"})


def test_label_studio_is_found_by_its_uploads(tmp_path: Path) -> None:
    from spagree.read.tools.label_studio import link

    task = {"id": 7, "project": 2, "data": {"image": "https://ls.example:8080/data/upload/2/a.jpg"}}
    assert link(task) == "https://ls.example:8080/projects/2/data?task=7"
    assert link({**task, "data": {"image": "/data/upload/2/a.jpg"}}) is None
    assert link({**task, "data": {"url": "javascript:alert(1)"}}) is None


def test_a_database_of_label_studio_has_the_same_fields(tmp_path: Path) -> None:
    path = tmp_path / "label_studio.sqlite3"
    tasks = json.loads(label_studio(tmp_path).read_text())
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE htx_user (id INTEGER, email TEXT)")
        database.execute("CREATE TABLE project (id INTEGER, label_config TEXT)")
        database.execute("CREATE TABLE task (id INTEGER, data TEXT, project_id INTEGER)")
        database.execute(
            "CREATE TABLE tasks_annotationdraft (id INTEGER, result TEXT, task_id INTEGER, user_id INTEGER, "
            "annotation_id INTEGER)"
        )
        database.execute(
            "CREATE TABLE task_completion (id INTEGER, result TEXT, was_cancelled BOOLEAN, ground_truth BOOLEAN, "
            "created_at TEXT, task_id INTEGER, completed_by_id INTEGER, updated_by_id INTEGER, project_id INTEGER)"
        )
        for task in tasks:
            database.execute("INSERT INTO task VALUES (?, ?, 3)", (task["id"], json.dumps(task["data"])))
            for each in task["annotations"]:
                values = (each["id"], json.dumps(each["result"]), task["id"], each["completed_by"])
                database.execute("INSERT INTO task_completion VALUES (?, ?, 0, 0, '2024-01-01', ?, ?, NULL, 3)", values)
    expected = spagree.measure(FRAME, by="language").to_dict()["groups"]
    found = spagree.measure(path, by="language").to_dict()["groups"]
    assert {key: each["spa"]["value"] for key, each in found.items()} == {
        key: each["spa"]["value"] for key, each in expected.items()
    }
    german = spagree.measure(path, where="language=de")
    assert german.spa.value == expected["de"]["spa"]["value"]
    assert "only records with language = de: 24 of 72" in str(german)


def test_a_model_among_people_on_some_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = prodigy(tmp_path)
    code, out, _ = Run(capsys)("compare", path, "--model", "cyd", "--where", "language=en", "--json")
    plain = tmp_path / "table.csv"
    FRAME.filter(polars.col("language") == "en").drop("language").write_csv(plain)
    expected_code, expected, _ = Run(capsys)("compare", plain, "--model", "cyd", "--json")
    assert code == expected_code
    assert json.loads(out)["models"]["cyd"]["difference"] == json.loads(expected)["models"]["cyd"]["difference"]
