"""Arrays of JSON are read in blocks: wherever they are cut, the objects are those of the whole text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spagree.errors import DataError
from spagree.read.files import json as json_files
from spagree.read.files.json import SOME, objects
from spagree.read.files.paths import File

TRAP = 'a "quoted" }, {"id": 1, "end": 2}, {'
ARRAYS: dict[str, list[dict[str, Any]]] = {
    "flat": [{"id": number, "end": f"text {number}"} for number in range(40)],
    "separators in texts": [{"id": number, "text": TRAP * (number % 4), "end": TRAP} for number in range(30)],
    "the last key inside": [{"id": 1, "parts": [{"id": 2, "end": 3}, {"id": 4, "end": [5]}], "end": {}}] * 25,
    "only nested ends": [{"id": 1, "end": [{"id": 2, "end": 3}, {"id": 4, "end": [{"end": 5}, {"end": 6}]}]}] * 25,
    "another last key later": [{"id": 0, "end": 1}, *({"end": 1, "id": number} for number in range(30))],
    "keys that must be escaped": [{"é\n": number, '"': "ü"} for number in range(30)],
    "an object without keys": [{}, *({"id": number} for number in range(30))],
    "one large object": [{"id": 1, "end": "x" * 3000}],
}


def saved(path: Path, text: str) -> File:
    path.write_bytes(text.encode())
    return File(path, "array.json", "json array")


@pytest.mark.parametrize("block", [5, 64, 500, 100_000])
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("name", ARRAYS)
def test_a_cut_array_holds_the_same_objects(
    name: str, indent: int | None, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = saved(tmp_path / "array.json", "\ufeff " + json.dumps(ARRAYS[name], indent=indent) + " \n")
    monkeypatch.setattr(json_files, "BLOCK", block)
    found = [*objects(file)]
    assert [value for _, _, value in found] == ARRAYS[name]
    assert [(place, number) for place, number, _ in found] == [
        (f"array.json: object {number}", number) for number in range(1, len(found) + 1)
    ]


def test_a_large_array_is_never_held_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = [{"id": number, "parts": [{"id": 1}, {"id": 2}], "end": []} for number in range(2_000)]
    file, sizes = saved(tmp_path / "array.json", json.dumps(every)), []
    monkeypatch.setattr(json_files, "BLOCK", 1_000)

    class Measured:
        def decode(self, content: bytes) -> list[Any]:
            sizes.append(len(content))
            return SOME.decode(content)

    monkeypatch.setattr(json_files, "SOME", Measured())
    assert [value for _, _, value in objects(file)] == every
    assert max(sizes) < 2_500 < sum(sizes)


@pytest.mark.parametrize(
    "text", ['[{"a": 1}, {"a": 2}, ]', '[{"a": 1}, {"a": 2}', '[{"a": 1} {"a": 2}]', '[{"a": 1}]]']
)
@pytest.mark.parametrize("block", [4, 12, 1_000])
def test_damage_is_refused_wherever_the_cut(
    text: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_files, "BLOCK", block)
    with pytest.raises(DataError, match=r"array\.json:1: column \d+: not JSON"):
        list(objects(saved(tmp_path / "array.json", text)))


def test_the_careful_parser_goes_on_where_the_fast_one_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [json.dumps({"a": number}) for number in range(20)]
    texts[13] = '{"a": NaN}'
    monkeypatch.setattr(json_files, "BLOCK", 30)
    found = [value["a"] for _, _, value in objects(saved(tmp_path / "array.json", f"[{', '.join(texts)}]"))]
    assert [str(each) for each in found] == [*map(str, range(13)), "NaN", *map(str, range(14, 20))]
