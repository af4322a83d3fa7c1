"""Small exports as tools write them, in kinds that once gave a wrong number: right, or refused with a way on."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import spagree
from spagree.errors import SpagreeError

PEOPLE = ("ann", "bob", "cyd")
WORDS = "aab abb ccc aac b.b abc cca .bb aaa cb."
LABELS = [("pos" if x == "a" else "neg" if x == "b" else "neu" if x == "c" else "") for x in WORDS.replace(" ", "")]
ITEMS = [LABELS[n : n + 3] for n in range(0, len(LABELS), 3)]
ROWS = [(f"i{n}", who, label) for n, row in enumerate(ITEMS) for who, label in zip(PEOPLE, row, strict=True) if label]


def flat(items: list[list[str]]) -> float:
    pairs = [list(combinations([label for label in row if label], 2)) for row in items]
    means = [sum(a == b for a, b in found) / len(found) for found in pairs if found]
    return sum(means) / len(means)


SPA = flat(ITEMS)


def lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, records)) + "\n")
    return path


def zipped(path: Path, members: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


# ── doccano, unpacked ──


def member(who: str) -> list[dict[str, Any]]:
    found = {item: label for item, name, label in ROWS if name == who}
    return [
        {"id": n, "text": f"text {n}", "label": [found[f"i{n}"]] if f"i{n}" in found else [], "Comments": []}
        for n in range(len(ITEMS))
    ]


def unpacked(folder: Path) -> list[Path]:
    return [lines(folder / f"{who}.jsonl", member(who)) for who in PEOPLE]


def test_the_unpacked_files_of_doccano_are_those_of_its_members(tmp_path: Path) -> None:
    files = unpacked(tmp_path)
    (tmp_path / "admin.jsonl").write_text("")
    for source in (files, tmp_path):
        found = spagree.measure(source, weights="flat")
        assert found.spa.value == pytest.approx(SPA)
        assert found.data.annotators == len(PEOPLE) and found.data.left_out["empty"] == 3
        assert "text" in found.items().columns or found.understood is not None


def test_one_unpacked_file_of_doccano_shows_no_agreement(tmp_path: Path) -> None:
    with pytest.raises(spagree.DataError, match="give the files of all members"):
        spagree.measure(unpacked(tmp_path)[0])


# ── Label Studio, flat ──

FLAT = {"annotator": "1", "annotation_id": 0, "created_at": "2024-01-01", "updated_at": "2024-01-01", "lead_time": 1}


def flat_rows(cell: Any) -> list[dict[str, Any]]:
    return [
        {"text": item, "id": int(item[1:]), "mood": cell(label), **FLAT, "annotator": who, "annotation_id": n}
        for n, (item, who, label) in enumerate(ROWS, 1)
    ]


REGIONS = [
    lambda label: [{"start": 0, "end": len(label), "text": "x", "labels": ["PER"]}],
    lambda label: [{"x": 1, "y": 2, "width": 3, "height": 4, "rectanglelabels": [label]}],
    lambda label: [{"start": 0, "end": 2, "labels": ["PER"]}, {"start": 3, "end": 4, "labels": ["ORG"]}],
]


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("kind", ["json", "csv"])
def test_regions_in_flat_exports_are_no_classes(region: Any, kind: str, tmp_path: Path) -> None:
    rows = flat_rows(region)
    path = tmp_path / f"a.{kind}"
    if kind == "json":
        path.write_text(json.dumps(rows))
    else:
        names = sorted(rows[0])
        cells = [[json.dumps(row[name]) if name == "mood" else str(row[name]) for name in names] for row in rows]
        quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in cells]
        path.write_text("\n".join([",".join(names), *quoted]) + "\n")
    total = len(ROWS) * len(region("x"))
    with pytest.raises(spagree.DataError, match=f"{total} regions marked and no classes chosen"):
        spagree.measure(path)


def test_classes_beside_regions_in_flat_exports(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    spans = REGIONS[0]("x")
    path.write_text(json.dumps([{**row, "annotator": row["annotator"], "mood": row["mood"], "ner": spans} | {
        key: row[key] for key in FLAT} for row in flat_rows(lambda label: label)]))  # fmt: skip
    rows = json.loads(path.read_text())
    ordered = [
        {"text": r["text"], "id": r["id"], "mood": r["mood"], "ner": r["ner"], **{k: r[k] for k in FLAT}} for r in rows
    ]
    path.write_text(json.dumps(ordered))
    found = spagree.measure(path, weights="flat")
    assert found.spa.value == pytest.approx(SPA)
    assert "regions_left_aside" in {warning.code for warning in found.warnings}


def test_several_results_in_a_flat_export_are_one_set(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(flat_rows(lambda label: [{"rating": 1}, {"rating": 2 if label == "pos" else 3}])))
    found = spagree.measure(path)
    assert set(found.data.labels) == {'["1", "2"]', '["1", "3"]'}
    assert "several_results" in {warning.code for warning in found.warnings}


# ── Prodigy ──


def task(view: str, **more: Any) -> dict[str, Any]:
    hashes = {"_input_hash": 1, "_task_hash": 2, "_session_id": "d-ann", "_annotator_id": "d-ann"}
    return {"text": "x", **hashes, "_view_id": view, "answer": "accept", **more}


def test_texts_typed_into_prodigy_are_refused_and_the_advice_reads_them(tmp_path: Path) -> None:
    tasks = [
        task("text_input", _input_hash=int(item[1:]), _annotator_id=who, user_input=label) for item, who, label in ROWS
    ]
    path = lines(tmp_path / "a.jsonl", tasks)
    with pytest.raises(spagree.DataError, match='label="user_input"'):
        spagree.measure(path)
    found = spagree.measure(
        path, format="long", item="_input_hash", annotator="_annotator_id", label="user_input", weights="flat"
    )
    assert found.spa.value == pytest.approx(SPA)


def test_a_review_in_prodigy_is_one_decision(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", [task("review", versions=[{"sessions": ["a"]}], accept=["pos"])])
    with pytest.raises(spagree.DataError, match="outcome of a review"):
        spagree.measure(path)


# ── potato 2.x ──


def state(folder: Path, who: str, given: Mapping[str, list[Any]]) -> None:
    (folder / who).mkdir(parents=True)
    text = json.dumps({"user_id": who, "instance_id_to_label_to_value": given})
    (folder / who / "user_state.json").write_text(text)


def test_the_rows_of_a_multirate_are_items(tmp_path: Path) -> None:
    ratings = {"eve": ("1", "2"), "fay": ("2", "2")}
    for who, (plot, cast) in ratings.items():
        chosen = [
            [{"schema": "parts", "name": "plot"}, plot],
            [{"schema": "parts", "name": "cast"}, cast],
            [{"schema": "mood", "name": "good"}, "good"],
        ]
        state(tmp_path, who, {"1": chosen})
    found = spagree.measure(tmp_path, question="parts", weights="flat")
    assert found.spa.value == 0.5 and sorted(found.items()["item"]) == ["1 cast", "1 plot"]
    assert "empty" not in found.data.left_out
    assert spagree.measure(tmp_path, question="mood").spa.value == 1


def test_a_multirate_known_by_its_history(tmp_path: Path) -> None:
    for who, rating in (("eve", "1"), ("fay", "2")):
        (tmp_path / who).mkdir()
        added = {"action_type": "add_label", "schema_name": "parts", "label_name": "plot", "old_value": ""}
        first = {**added, "timestamp": "1", "user_id": who, "instance_id": "7", "new_value": "3"}
        second = {**first, "action_type": "update_label", "timestamp": "2", "old_value": "3", "new_value": rating}
        lines(tmp_path / who / "annotation_history.jsonl", [first, second])
    found = spagree.measure(tmp_path)
    assert found.spa.value == 0 and set(found.data.labels) == {"1", "2"}


# ── Amazon A2I ──


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


# ── refused by name ──

SPANS = "#FORMAT=WebAnno TSV 3.3\n"
ARCHIVES = [
    ("CVAT", {"annotations.xml": "<annotations><version>1.1</version></annotations>", "images/a.jpg": "x"}),
    ("brat", {"a.ann": "T1\tPER 0 3\tfoo\n", "a.txt": "foo"}),
    ("INCEpTION", {"annotation/doc.txt/ann.tsv": SPANS, "annotation/doc.txt/bob.tsv": SPANS}),
    ("INCEpTION", {"admin.xmi": "<xmi/>", "TypeSystem.xml": "<x/>"}),
]


@pytest.mark.parametrize(("tool", "members"), ARCHIVES)
def test_archives_are_refused_by_the_name_of_the_tool(tool: str, members: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(spagree.DataError, match=f": a .*{tool} .*spagree compares classes"):
        spagree.measure(zipped(tmp_path / "a.zip", members))


def test_another_archive_is_to_be_unpacked(tmp_path: Path) -> None:
    with pytest.raises(spagree.FileError, match="unpack it"):
        spagree.measure(zipped(tmp_path / "a.zip", {"folder/a.csv": "item,label\n1,x\n"}))


OBJECTS: dict[str, Any] = {
    "V7": {"version": "2.0", "item": {"name": "a"}, "annotations": [{"name": "cat", "annotators": [{"email": "a@x"}]}]},
    "SuperAnnotate": [{"metadata": {"name": "a"}, "instances": [{"className": "cat", "createdBy": {"email": "a@x"}}]}],
    "LightTag": {"examples": [{"example_id": 1, "classifications": []}], "schema": {}},
    "tagtog": {"annotatable": {}, "anncomplete": True, "metas": {}, "entities": []},
    "Dataloop": {"id": "1", "filename": "/a.jpg", "annotations": [{"label": "cat", "creator": "a@x"}]},
    "Scale": [{"task_id": "1", "type": "categorization", "response": {"annotations": {"mood": ["pos"]}}}] * 2,
    "Weights & Biases": [{"weave_ref": "weave:///1", "feedback_type": "x", "payload": {"value": 1}, "wb_user_id": "u"}],
    "Kili": [{"externalId": "1", "id": "1", "labels": [{"author": {"email": "a@x"}, "jsonResponse": {}}]}],
    "COCO": {"images": [{"id": 1}], "annotations": [{"image_id": 1, "bbox": [1, 2, 3, 4]}], "categories": []},
    "CVAT": [{"version": 0, "tags": [], "shapes": [], "tracks": []}],
    "Label Studio 0": [{"id": 1, "data": {"text": "a"}, "completions": [{"id": 1, "result": []}]}] * 2,
}


@pytest.mark.parametrize("tool", OBJECTS)
def test_objects_are_refused_by_the_name_of_the_tool(tool: str, tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(OBJECTS[tool]))
    with pytest.raises(spagree.DataError, match=tool) as caught:
        spagree.measure(path)
    assert "table" in str(caught.value)


@pytest.mark.parametrize(("key", "message"), [("annotations", "jq .tasks"), ("completions", "Label Studio 0")])
def test_tasks_inside_an_object_are_refused_with_a_way_on(key: str, message: str, tmp_path: Path) -> None:
    result = [{"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": ["good"]}}]
    answers = [{"id": n, "completed_by": n, "result": result} for n in (1, 2)]
    tasks = [{"id": n, "data": {"text": "a"}, key: answers} for n in range(3)]
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps({"tasks": tasks, "total": 3}))
    with pytest.raises(spagree.DataError, match=message):
        spagree.measure(path)
    if key == "annotations":
        path.write_text(json.dumps(tasks))
        assert spagree.measure(path).spa.value == 1


def test_columns_in_one_object_are_a_table(tmp_path: Path) -> None:
    names = ("item", "annotator", "label")
    path = tmp_path / "a.json"
    path.write_text(json.dumps(dict(zip(names, map(list, zip(*ROWS, strict=True)), strict=True))))
    for format in ("auto", "long"):
        assert spagree.measure(path, weights="flat", format=format).spa.value == pytest.approx(SPA)


def test_objects_are_no_labels(tmp_path: Path) -> None:
    rows = [{"item": item, "annotator": who, "answer": {"mood": label}} for item, who, label in ROWS]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(rows))
    with pytest.raises(spagree.DataError, match="column 'answer' holds objects"):
        spagree.measure(path)


def test_empty_lists_look_missing(tmp_path: Path) -> None:
    rows = [
        {"item": f"i{n}", "annotator": who, "label": [label] if label else []}
        for n, row in enumerate(ITEMS)
        for who, label in zip(PEOPLE, row, strict=True)
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(rows))
    found = spagree.measure(path, weights="flat")
    (message,) = [w.message for w in found.warnings if w.code == "looks_missing"]
    assert "missing=" in message and f"{SPA:.4f}" in message
    assert spagree.measure(path, weights="flat", missing="[]").spa.value == pytest.approx(SPA)


def test_the_label_is_asked_for_where_item_and_annotator_are_known(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [f"{item},{who},{30 + n},a text {n},{label}" for n, (item, who, label) in enumerate(ROWS)]
    path.write_text("\n".join(["Task ID,Worker ID,Seconds,text,Mood", *rows]) + "\n")
    with pytest.raises(spagree.ColumnError) as caught:
        spagree.measure(path)
    assert 'label="Mood"' in str(caught.value) and "wide" not in str(caught.value)
    assert spagree.measure(path, label="Mood", weights="flat").spa.value == pytest.approx(SPA)


# ── texts ──


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


def inception(folder: Path) -> Path:
    path = folder / "agreement.csv"
    path.write_text("Type,Collection,Document,Layer,Feature,Position,ann,bob\nx,c,d.txt,L.Named,value,1-2,a,b\n")
    return path


def test_a_text_that_is_not_there_is_never_ignored(tmp_path: Path) -> None:
    state(tmp_path / "potato", "eve", {"1": [[{"schema": "mood", "name": "good"}, "good"]]})
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


# ── sets ──


def test_sets_of_a_tool_hint_at_a_question_for_each_option(tmp_path: Path) -> None:
    chosen = {"pos": ["pos"], "neg": ["neg", "pos"], "neu": ["neg"]}
    tasks = [
        task("choice", _input_hash=int(item[1:]), _annotator_id=who, options=[], accept=chosen[label])
        for item, who, label in ROWS
    ]
    path = lines(tmp_path / "a.jsonl", tasks)
    (message,) = [w.message for w in spagree.measure(path).warnings if w.code == "label_sets"]
    assert 'metric="jaccard"' in message and 'multi="options"' in message and "separator" not in message
    assert set(spagree.measure_all(path, multi="options")) == {"accept:neg", "accept:pos"}
    assert spagree.measure(path, metric="jaccard").spa.value is not None
