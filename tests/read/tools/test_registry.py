"""Which tool wrote a file: recognised by one reader alone, refused by name, or a plain table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exports import ITEMS, PEOPLE, ROWS, SPA, Write, jsonl, zipped
from test_crowds import HEADER, ZOO, classified, task
from test_label_studio import result, task_of
from test_prodigy import prodigy
from test_tools_laws import WRITERS
from test_traces import LANGFUSE, LANGSMITH, PHOENIX

import spagree
from spagree.read import read
from spagree.read.tools.registry import MODULES, load
from spagree.read.tools.source import look

OTHERS = {
    "a CVAT export.*spagree compares classes": (
        "a.xml",
        '<?xml version="1.0"?>\n<annotations>\n<version>1.1</version>\n',
    ),
    "a brat file; give the folder": ("a.ann", "T1\tPerson 0 5\tObama\n"),
    "a document of one annotator": ("a.tsv", "#FORMAT=WebAnno TSV 3.3\n#T_SP=x|y\n\n\n#Text=Hi\n1-1\t0-2\tHi\tX\n"),
}


@pytest.mark.parametrize("problem", OTHERS)
def test_refusals_name_the_tool(problem: str, write: Write) -> None:
    with pytest.raises(spagree.DataError, match=problem):
        read(write(*OTHERS[problem]))


FILES = {
    "mturk.csv": HEADER + '"h1","a","Approved","x","good"\n"h1","b","Approved","x","bad"\n',
    "zooniverse.csv": ZOO + classified("ann", 5, task("T0", "Yes")) + classified("bob", 5, task("T0", "No")),
    "langfuse.jsonl": jsonl(LANGFUSE),
    "langsmith.jsonl": jsonl(LANGSMITH),
    "phoenix.jsonl": jsonl(PHOENIX),
    "prodigy.jsonl": jsonl(prodigy("accept", "a")),
    "label-studio.json": json.dumps(task_of([result("q", {"choices": ["x"]})], [])),
    "appen.csv": "_unit_id,_worker_id,mood\n1,a,x\n1,b,y\n",
    "labelbox.ndjson": jsonl({"data_row": {"id": "d"}, "projects": {}}),
    "toloka.tsv": "INPUT:x\tOUTPUT:y\tASSIGNMENT:worker_id\n1\t2\tw\n",
    "plain.csv": "item,annotator,label\n1,a,x\n",
}


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_recognised_by_its_tool_alone(name: str, write: Write, tmp_path: Path) -> None:
    source = look([write(name, FILES[name])], None, tmp_path)
    found = [tool for tool in MODULES if load(tool).recognise(source)]
    assert found == ([] if name == "plain.csv" else [Path(name).stem])


def test_every_tool_is_documented_and_has_an_example_of_its_files() -> None:
    """A new tool needs its row in docs/formats.md, and a file in ``FILES`` or a writer in test_tools_laws.py."""
    page = Path(__file__).parents[3].joinpath("docs/formats.md").read_text(encoding="utf-8")
    assert [name for name in MODULES if f"| `{name}` |" not in page] == []
    written = {Path(name).stem for name in FILES} | {name.replace("_", "-") for name in WRITERS}
    of_classes = {name for name, (module, *_) in MODULES.items() if not module.startswith(("span_tools", "inception"))}
    assert of_classes - written == set()


SPANS = "#FORMAT=WebAnno TSV 3.3\n"


ARCHIVES = [
    (
        "CVAT export.*spagree compares classes",
        {"annotations.xml": "<annotations><version>1.1</version></annotations>", "images/a.jpg": "x"},
    ),
    ("people who are not named", {"a.ann": "T1\tPER 0 3\tfoo\n", "a.txt": "foo"}),
    ("INCEpTION without", {"annotation/doc.txt/ann.tsv": SPANS, "annotation/doc.txt/bob.tsv": SPANS}),
    ("INCEpTION in a format that is not read", {"admin.xmi": "<xmi/>", "TypeSystem.xml": "<x/>"}),
]


@pytest.mark.parametrize(("problem", "members"), ARCHIVES)
def test_archives_are_refused_by_the_name_of_the_tool(problem: str, members: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(spagree.DataError, match=problem):
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
def test_objects_are_refused_by_the_name_of_the_tool(tool: str, write: Write) -> None:
    path = write("export.json", OBJECTS[tool])
    with pytest.raises(spagree.DataError, match=tool) as caught:
        spagree.measure(path)
    assert "table" in str(caught.value)


@pytest.mark.parametrize(("key", "message"), [("annotations", "jq .tasks"), ("completions", "Label Studio 0")])
def test_tasks_inside_an_object_are_refused_with_a_way_on(key: str, message: str, write: Write) -> None:
    result = [{"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": ["good"]}}]
    answers = [{"id": n, "completed_by": n, "result": result} for n in (1, 2)]
    tasks = [{"id": n, "data": {"text": "a"}, key: answers} for n in range(3)]
    path = write("tasks.json", {"tasks": tasks, "total": 3})
    with pytest.raises(spagree.DataError, match=message):
        spagree.measure(path)
    if key == "annotations":
        path.write_text(json.dumps(tasks))
        assert spagree.measure(path).spa.value == 1


def test_columns_in_one_object_are_a_table(write: Write) -> None:
    names = ("item", "annotator", "label")
    path = write("a.json", dict(zip(names, map(list, zip(*ROWS, strict=True)), strict=True)))
    for format in ("auto", "long"):
        assert spagree.measure(path, weights="flat", format=format).spa.value == pytest.approx(SPA)


def test_objects_are_no_labels(write: Write) -> None:
    rows = [{"item": item, "annotator": who, "answer": {"mood": label}} for item, who, label in ROWS]
    path = write("a.json", rows)
    with pytest.raises(spagree.DataError, match="column 'answer' holds objects"):
        spagree.measure(path)


def test_empty_lists_look_missing(write: Write) -> None:
    rows = [
        {"item": f"i{n}", "annotator": who, "label": [label] if label else []}
        for n, row in enumerate(ITEMS)
        for who, label in zip(PEOPLE, row, strict=True)
    ]
    path = write("a.json", rows)
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
