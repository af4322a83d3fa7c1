"""Fields of the records of an export: filters, groups, clusters, and the address of the task."""

from __future__ import annotations

import json
import random
from pathlib import Path

import polars
import pytest
import test_tools_laws as laws
from exports import lines

import spagree
from command import Run

PEOPLE = ("ann", "bob", "cyd")


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
    from spagree.read.tools.label_studio import link

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
