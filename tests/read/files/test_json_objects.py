"""Arrays of JSON: the objects of the text, by the fast parser and by the careful one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spagree.errors import DataError
from spagree.read import read
from spagree.read.files.json import objects
from spagree.read.files.paths import File

TRAP = 'a "quoted" }, {"id": 1, "end": 2}, {'
ARRAYS: dict[str, list[dict[str, Any]]] = {
    "flat": [{"id": number, "end": f"text {number}"} for number in range(40)],
    "separators in texts": [{"id": number, "text": TRAP * (number % 4), "end": TRAP} for number in range(30)],
    "objects in objects": [{"id": 1, "end": [{"id": 2, "end": 3}, {"id": 4, "end": [{"end": 5}, {"end": 6}]}]}] * 25,
    "keys that must be escaped": [{"é\n": number, '"': "ü"} for number in range(30)],
    "an object without keys": [{}, *({"id": number} for number in range(30))],
    "one large object": [{"id": 1, "end": "x" * 3000}],
}


def saved(path: Path, text: str) -> File:
    path.write_bytes(text.encode())
    return File(path, "array.json", "json array")


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_holds_its_objects(name: str, indent: int | None, tmp_path: Path) -> None:
    file = saved(tmp_path / "array.json", "\ufeff " + json.dumps(ARRAYS[name], indent=indent) + " \n")
    found = [*objects(file)]
    assert [value for _, _, value in found] == ARRAYS[name]
    assert [(place, number) for place, number, _ in found] == [
        (f"array.json: object {number}", number) for number in range(1, len(found) + 1)
    ]


@pytest.mark.parametrize(
    "text", ['[{"a": 1}, {"a": 2}, ]', '[{"a": 1}, {"a": 2}', '[{"a": 1} {"a": 2}]', '[{"a": 1}]]']
)
def test_a_damaged_array_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"array\.json:1: column \d+: not JSON"):
        list(objects(saved(tmp_path / "array.json", text)))


def test_the_careful_parser_goes_on_where_the_fast_one_stops(tmp_path: Path) -> None:
    texts = [json.dumps({"a": number}) for number in range(20)]
    texts[13] = '{"a": NaN}'
    found = [value["a"] for _, _, value in objects(saved(tmp_path / "array.json", f"[{', '.join(texts)}]"))]
    assert [str(each) for each in found] == [*map(str, range(13)), "NaN", *map(str, range(14, 20))]


def test_lists_that_hold_more_than_objects_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "lists.json"
    path.write_text('{"a": [{"item": 1, "label": "x"}, 2], "b": [{"item": 1, "label": "x"}]}')
    with pytest.raises(DataError, match=r"one object of 'a', 'b', not a list of rows"):
        read(path)


def test_long_texts_and_objects_without_keys_before_one_with_a_new_key(tmp_path: Path) -> None:
    path, long = tmp_path / "labels.jsonl", "x" * 200_000
    objects = [{}, {"item": "a", "label": long}, {"item": "a", "label": "y", "annotator": "ann"}]
    path.write_text("\n".join(map(json.dumps, objects)))
    rows = read(path).frame.sort("row").select("item", "annotator", "label").collect(backend="polars").rows()
    assert rows == [(None, None, None), ("a", None, long), ("a", "ann", "y")]
