"""Task files of an assignment, imported by the tools themselves: what people then do comes back as it was assigned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from live_label_studio import ONE_CONTROL, PEOPLE, admin, new_project, people, studio  # noqa: F401 (fixtures)
from service import Client, free_port
from starter import Starter

import spagree
from spagree.assignment import Assignment, assign, write_tasks

ITEMS = {f"q{number}": {"id": f"q{number}", "text": f"Text {number}, <b> “ü”"} for number in range(6)}


def test_label_studio_imports_the_tasks(admin: Client, people: dict[str, Client], tmp_path: Path) -> None:  # noqa: F811
    design = assign(list(ITEMS), list(people)[:3], per_item=2, seed=3)
    project = new_project(admin, people, "Assigned", ONE_CONTROL)
    files = write_tasks(design, "label-studio", tmp_path / "tasks", ITEMS)
    for path, person in zip(files, design.people, strict=True):
        tasks = json.loads(path.read_text("utf-8"))
        numbers = project.add_tasks(tasks)
        assert len(numbers) == sum(name == person.name for _, name in design.frame().iter_rows())
        stored = admin.json("GET", f"/api/tasks/{numbers[0]}/")["data"]
        assert stored == tasks[0]["data"] and stored["assigned_to"] == person.name
        for number in numbers:
            project.annotate(number, person.name, {"mood": "Good"})
    export = tmp_path / "export.json"
    export.write_bytes(project.export("JSON", all_tasks=True))
    came = spagree.measure(export, item="item").returned(design)
    assert (came.done, came.missing, came.unplanned) == (12, 0, 0)


def answered(started: Starter, design: Assignment, path: Path, person: str) -> Path:
    """A potato of one's own with the tasks of one person, who answers all of them."""
    folder, port = started.folder(f"potato-{person}"), free_port()
    config = {
        "port": port,
        "annotation_task_name": "Assigned",
        "task_dir": ".",
        "output_annotation_dir": "annotation_output/",
        "data_files": [path.name],
        "item_properties": {"id_key": "id", "text_key": "text"},
        "user_config": {"allow_all_users": True, "users": []},
        "require_password": False,
        "annotation_schemes": [
            {"annotation_type": "radio", "name": "mood", "description": "?", "labels": ["Good", "Bad"]}
        ],
        "site_dir": "default",
    }
    (folder / "config.yaml").write_text(json.dumps(config))
    (folder / path.name).write_bytes(path.read_bytes())
    words = ("start", "config.yaml", "-p", str(port))
    service = started.start(".venv-potato", "potato", *words, folder=folder, ready="/", port=port, seconds=120)
    client = Client(service.address)
    client.ask("POST", "/auth", form={"email": person, "pass": ""})
    for item, name in design.frame().iter_rows():
        if name == person:
            body = {"instance_id": item, "annotations": {"mood:Good": "Good"}, "cleared_schemas": []}
            assert client.json("POST", "/updateinstance", body)["status"] == "success"
    with pytest.raises(ConnectionError):
        client.json("POST", "/updateinstance", {"instance_id": "not there", "annotations": {"mood:Good": "Good"}})
    return folder / "annotation_output"


def test_potato_imports_the_tasks(started: Starter, tmp_path: Path) -> None:
    design = assign(list(ITEMS), ["ann", "bob"], per_item=2, seed=3)
    files = write_tasks(design, "potato", tmp_path / "tasks", ITEMS)
    done: list[tuple[str, str, str]] = []
    for path, person in zip(files, ("ann", "bob"), strict=True):
        output = answered(started, design, path, person)
        frame = spagree.measure(output, question="mood").items()
        done += [(item, person, "Good") for item in frame["item"].to_list()]
    came = spagree.measure(done).returned(design)
    assert (came.done, came.missing, came.unplanned) == (12, 0, 0)
