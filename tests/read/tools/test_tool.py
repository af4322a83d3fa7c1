"""Fields of the records of an export: texts, filters, groups, clusters, the address of the task, and their names."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import polars
import pytest
import test_tools_laws as laws
from exports import PEOPLE, lines, zipped
from test_potato import saved_state

import spagree
from command import Run
from spagree.errors import SpagreeError
from spagree.read.tools.label_studio import link


def texts(source: Any, **options: Any) -> dict[str, str]:
    """The text shown with each item."""
    frame = spagree.measure(source, **options).hardest(100)
    return dict(zip(frame["item"].to_list(), frame["text"].to_list(), strict=True))


def hugging_face(folder: Path) -> Path:
    rows = [
        {"id": f"i{n}", "sentence": f"text {n}", "source": "web", "annotators": list(PEOPLE), "labels": list("aab")}
        for n in range(3)
    ]
    return lines(folder / "hf.jsonl", rows)


def per_annotator(folder: Path) -> list[Path]:
    paths = [folder / f"{who}.csv" for who in PEOPLE]
    for path in paths:
        path.write_text("item,text,note,label\ni0,text 0,n,a\ni1,text 1,n,b\n")
    return paths


def doccano_database(folder: Path) -> Path:
    path = folder / "db.sqlite3"
    with sqlite3.connect(path) as base:
        base.executescript("""
            CREATE TABLE examples_example(id, text, project_id); CREATE TABLE auth_user(id, username);
            CREATE TABLE label_types_categorytype(id, text);
            CREATE TABLE labels_category(id, example_id, label_id, user_id, updated_at);
            CREATE TABLE examples_examplestate(id, example_id, confirmed_by_id, confirmed_at);
            INSERT INTO examples_example VALUES (1, 'text 0', 1); INSERT INTO auth_user VALUES (1, 'ann'), (2, 'bob');
            INSERT INTO label_types_categorytype VALUES (1, 'pos');
            INSERT INTO labels_category VALUES (1, 1, 1, 1, '2024'), (2, 1, 1, 2, '2024');
        """)
    return path


def test_texts_come_along(tmp_path: Path) -> None:
    assert texts(hugging_face(tmp_path))["i2"] == "text 2"
    assert texts(hugging_face(tmp_path), text="source")["i2"] == "web"
    assert texts(per_annotator(tmp_path), format="per-annotator")["i1"] == "text 1"
    assert texts(per_annotator(tmp_path), format="per-annotator", text="note")["i1"] == "n"
    assert texts(doccano_database(tmp_path))["1"] == "text 0"
    fast = {f"{who}.txt": "__label__a good film\n__label__b bad film\n" for who in PEOPLE}
    assert texts(zipped(tmp_path / "fast.zip", fast))["bad film"] == "bad film"


def test_the_item_of_a_database_may_be_another_field_as_that_of_a_file(tmp_path: Path) -> None:
    assert texts(doccano_database(tmp_path), item="text") == {"text 0": "text 0"}
    with pytest.raises(spagree.ColumnError, match="there is no field 'page'; fields: 'project', 'id', 'text'"):
        spagree.measure(tmp_path / "db.sqlite3", item="page")


def inception(folder: Path) -> Path:
    path = folder / "agreement.csv"
    path.write_text("Type,Collection,Document,Layer,Feature,Position,ann,bob\nx,c,d.txt,L.Named,value,1-2,a,b\n")
    return path


def test_a_text_that_is_not_there_is_never_ignored(tmp_path: Path) -> None:
    saved_state(tmp_path / "potato", "eve", {"1": [[{"schema": "mood", "name": "good"}, "good"]]})
    fast = {f"{who}.txt": "__label__a good film\n" for who in PEOPLE}
    sources: list[tuple[Any, dict[str, Any]]] = [
        (hugging_face(tmp_path), {}),
        (inception(tmp_path), {}),
        (per_annotator(tmp_path), {"format": "per-annotator"}),
        (doccano_database(tmp_path), {}),
        (zipped(tmp_path / "fast.zip", fast), {}),
        (tmp_path / "potato", {}),
    ]
    for source, options in sources:
        with pytest.raises(SpagreeError, match="elsewhere"):
            spagree.measure(source, text="elsewhere", **options)
    assert texts(inception(tmp_path), text="Type") == {"c d.txt 1-2": "x"}


def rows() -> list[tuple[str, str, str, str]]:
    """Item, annotator, label, language: 24 items, of which those in German agree less."""
    chance = random.Random(7)
    found = []
    for item in range(1, 25):
        language, usual = ("de", 0.5) if item % 3 == 0 else ("en", 0.9)
        found += [(str(item), who, "yes" if chance.random() < usual else "no", language) for who in PEOPLE]
    return found


ROWS = rows()
VOTES = {(item, who): (label,) for item, who, label, _ in ROWS}
FRAME = polars.DataFrame(ROWS, schema=["item", "annotator", "label", "language"], orient="row")


def address(item: str) -> str:
    return f"https://tool.example/task/{item}"


def fields(item: str) -> dict[str, str]:
    return {"language": next((row[3] for row in ROWS if row[0] == item), ""), "url": address(item)}


def argilla_parquet(folder: Path, votes: laws.LabelCounts, fields: laws.Fields) -> Path:
    path = folder / "argilla.parquet"
    polars.read_json(laws.argilla(folder, votes, fields)).write_parquet(path)
    return path


def zooniverse(folder: Path, votes: laws.LabelCounts, fields: laws.Fields) -> Path:
    header = ["user_name", "created_at", "workflow_id", "annotations", "subject_data", "subject_ids"]
    found = []
    for (item, who), (label,) in votes.items():
        answer = json.dumps([{"task": "T0", "task_label": "?", "value": label}])
        found.append([who, "2024-01-01 10:00:00 UTC", "7", answer, json.dumps({item: fields(item)}), item])
    return laws.table(folder / "classifications.csv", header, found)


def langfuse(folder: Path, votes: laws.LabelCounts, fields: laws.Fields) -> Path:
    usual = {"name": "q", "dataType": "CATEGORICAL", "source": "ANNOTATION"}
    records = [
        {**usual, "traceId": item, "stringValue": label, "authorUserId": who, "metadata": fields(item)}
        for (item, who), (label,) in votes.items()
    ]
    return lines(folder / "scores.jsonl", records)


EXPORTS: dict[str, tuple[laws.Writer, str]] = {
    "label-studio": (laws.label_studio, "language"),
    "label-studio's database": (laws.label_studio_database, "language"),
    "prodigy": (laws.prodigy, "language"),
    "mturk": (laws.mturk, "Input.language"),
    "appen": (laws.appen, "language"),
    "toloka": (laws.toloka, "INPUT:language"),
    "zooniverse": (zooniverse, "language"),
    "argilla": (laws.argilla, "language"),
    "argilla as Parquet": (argilla_parquet, "language"),
    "langfuse": (langfuse, "language"),
}
exports = pytest.mark.parametrize("name", EXPORTS)


@exports
def test_groups_are_those_of_a_table(name: str, tmp_path: Path) -> None:
    make, field = EXPORTS[name]
    found = spagree.measure(make(tmp_path, VOTES, fields), by=field)
    expected = spagree.measure(FRAME, by="language")
    groups, wanted = found.to_dict()["groups"], expected.to_dict()["groups"]
    assert {key: each["spa"]["value"] for key, each in groups.items()} == {
        key: each["spa"]["value"] for key, each in wanted.items()
    }
    assert found.spa.value == expected.spa.value


@exports
def test_clusters_are_those_of_a_table(name: str, tmp_path: Path) -> None:
    make, field = EXPORTS[name]
    found, expected = (
        spagree.measure(make(tmp_path, VOTES, fields), cluster=field),
        spagree.measure(FRAME, cluster="language"),
    )
    assert (found.spa.low, found.spa.high) == pytest.approx((expected.spa.low, expected.spa.high))


@exports
def test_fields_choose_records(name: str, tmp_path: Path) -> None:
    make, field = EXPORTS[name]
    found = spagree.measure(make(tmp_path, VOTES, fields), where={field: "de"})
    expected = spagree.measure(FRAME.filter(polars.col("language") == "de"))
    assert found.spa.value == expected.spa.value and found.data.annotations == expected.data.annotations
    assert f"only records with {field} = de" in str(found)


@exports
def test_the_address_comes_along(name: str, tmp_path: Path) -> None:
    make, _ = EXPORTS[name]
    found = spagree.measure(make(tmp_path, VOTES, fields))
    page = tmp_path / "report.html"
    found.report(page)
    shown = page.read_text("utf-8")
    hardest = [item for item in {row[0] for row in ROWS} if len({row[2] for row in ROWS if row[0] == item}) > 1]
    assert hardest and any(f'href="{address(item)}"' in shown for item in hardest)


def test_a_field_that_no_record_has(tmp_path: Path) -> None:
    for option in ("by", "cluster"):
        with pytest.raises(
            spagree.ColumnError,
            match=rf"{option}=\"tongue\": no record has anything in this field; fields: .*'language'",
        ):
            spagree.measure(laws.label_studio(tmp_path, VOTES, fields), **{option: "tongue"})


def test_label_studio_is_found_by_its_uploads(tmp_path: Path) -> None:
    task = {"id": 7, "project": 2, "data": {"image": "https://ls.example:8080/data/upload/2/a.jpg"}}
    assert link(task) == "https://ls.example:8080/projects/2/data?task=7"
    assert link({**task, "data": {"image": "/data/upload/2/a.jpg"}}) is None
    assert link({**task, "data": {"url": "javascript:alert(1)"}}) is None


def test_a_model_among_people_on_some_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = laws.prodigy(tmp_path, VOTES, fields)
    code, out, _ = Run(capsys)("compare", path, "--model", "cyd", "--where", "language=en", "--json")
    plain = tmp_path / "table.csv"
    FRAME.filter(polars.col("language") == "en").drop("language").write_csv(plain)
    expected_code, expected, _ = Run(capsys)("compare", plain, "--model", "cyd", "--json")
    assert code == expected_code
    assert json.loads(out)["models"]["cyd"]["difference"] == json.loads(expected)["models"]["cyd"]["difference"]
