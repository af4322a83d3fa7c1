"""Label Studio's tasks of every kind, in a file of many blocks."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spagree.errors import DataError
from spagree.read import read_all
from spagree.read.files import json as json_files

MOODS = ("good", "bad", "mixed")


def result(control: str, **value: Any) -> dict[str, Any]:
    return {"from_name": control, "to_name": "text", "value": value}


def annotation(number: int, by: int, results: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    made = f"2026-11-15T06:{number // 60 % 60:02}:{number % 60:02}Z"
    return {"id": number, "completed_by": by, "created_at": made, "result": results, **more}


def odd_parts(draw: random.Random) -> list[dict[str, Any]]:
    """Results of every kind."""
    one = result("mood", choices=[draw.choice(MOODS)])
    kinds = [
        [one],
        [],
        [one, result("mood", choices=["mixed"])],
        [one, result("stars", rating=draw.randrange(1, 6))],
        [result("place", taxonomy=[["Europe", "Spain"], ["Asia"]])],
        [result("mood", choices=["good", "bad"])],
        [one, result("box", x=1.5, y=2, rectanglelabels=["cat"])],
        [{**one, "item_index": 2}, {**one, "item_index": 3}],
    ]
    return draw.choice(kinds)


def odd_task(number: int, draw: random.Random) -> dict[str, Any]:
    """A task with whatever a project may hold."""
    made = [annotation(9 * number + by, by, odd_parts(draw)) for by in draw.sample(range(1, 8), draw.randrange(5))]
    for each in made:
        each.update(draw.choice([{}, {}, {"was_cancelled": True}, {"ground_truth": True}, {"updated_by": 99}]))
        if draw.random() < 0.1:
            each["completed_by"] = {"id": 5, "email": "dee@example.org"}
    draft = {"user": 9, "result": [result("later", choices=["yes"])]}
    data = draw.choice(
        [
            {"text": f"Größe {number}"},
            {"text": f"No. {number}", "url": f"https://example.org/{number}"},
            {"image": f"http://localhost:8080/data/upload/2/{number}.jpg", "language": draw.choice(["en", "de"])},
        ]
    )
    return {
        "id": number,
        "project": number % 3,
        "data": data,
        "annotations": made,
        "drafts": draw.choice([[], [], None, [draft], [draft, draft]]),
        "meta": draw.choice([{}, {"link": "https://example.org/meta"}]),
    }


def read_as_text(path: Path, options: dict[str, Any]) -> Iterator[str]:
    """Everything a read gives, question by question."""
    for question, found in read_all(str(path), **options).items():
        rows = found.frame.collect().to_native().rows(named=True)
        yield f"{question} {rows} {found.understood} {found.cautions} {found.left_out}"


def test_aliases_of_the_configuration_name_the_choices(tmp_path: Path) -> None:
    path, config = tmp_path / "tasks.json", tmp_path / "config.xml"
    config.write_text('<Choices name="mood" toName="t"><Choice value="Good" alias="g"/></Choices>')
    made = [annotation(by, by, [result("mood", choices=["g"])]) for by in (1, 2)]
    path.write_text(json.dumps([{"id": 1, "data": {}, "annotations": made}]))
    rows = read_all(str(path), config=str(config))["mood"].frame.collect().to_native()
    assert rows["label"].to_list() == ["Good", "Good"]


def test_a_value_that_is_no_object_is_refused_with_its_place(tmp_path: Path) -> None:
    made = [[{"from_name": "mood", "value": value}] for value in ({"choices": ["good"]}, ["good"])]
    tasks = [
        {"id": number, "data": {}, "annotations": [annotation(number, 1, each)]} for number, each in enumerate(made, 1)
    ]
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(tasks))
    with pytest.raises(DataError, match="object 2: 'value' should be an object"):
        read_all(str(path))


@pytest.mark.parametrize("block", [300, 5_000])
def test_blocks_hold_what_the_whole_file_holds(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, path = random.Random(8), tmp_path / "tasks.json"
    path.write_text(json.dumps([odd_task(number, draw) for number in range(1, 101)], ensure_ascii=False))
    whole = [*read_as_text(path, {"status": ("submitted", "draft")})]
    monkeypatch.setattr(json_files, "BLOCK", block)
    assert whole == [*read_as_text(path, {"status": ("submitted", "draft")})]
