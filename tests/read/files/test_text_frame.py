"""Text that polars gets as duckdb parses it: the same rows and errors as those of a table in duckdb."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

from spagree.errors import DataError, FileError
from spagree.read.files import delimited
from spagree.read.files import duckdb as store
from spagree.read.files.delimited import TextFile
from spagree.read.files.paths import File


def opened(tmp_path: Path, text: str | bytes) -> TextFile:
    path = tmp_path / "rows.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return delimited.open_delimited(File(path, "rows.csv", "delimited"), None, header=True, scratch=tmp_path)


def table(file: TextFile, scratch: Path) -> polars.DataFrame:
    return polars.DataFrame(store.text_table([file], scratch, "rows.csv").load([0, 2]).to_native())


@pytest.mark.parametrize(
    "text",
    [
        "a,b,c\n" + "".join(f"{number},x,{'é' * (number % 5)}\n" for number in range(30_000)),
        'a,b,c\r\n1,"two\r\nlines",""\r\n"say ""so""",,3\r\n',
        "a,b,c\n1,2,3\n\n4,5,6\n",
        "a;b;c\n1;2,5;3\n",
        'a,b,c\n1,2,3\n4,5,"6" \n',  # what duckdb refuses, and the tidied copy holds
    ],
    ids=["many rows", "quoted", "blank line", "semicolons", "tidied"],
)
def test_the_rows_of_a_table(text: str, tmp_path: Path) -> None:
    file = opened(tmp_path, text)
    found = store.text_frame(file, [0, 2], tmp_path)
    expected = table(file, tmp_path)
    assert found.select(expected.columns).equals(expected)
    assert found.schema == {name: expected.schema[name] for name in found.columns}


@pytest.mark.parametrize("text", ["a,b,c\n1,2,3\n4,5\n", "a,b,c\n1,2,3,4\n", 'a,b,c\n1,2,"3\n'])
def test_damage_is_explained_as_for_a_table(text: str, tmp_path: Path) -> None:
    file = opened(tmp_path, text)
    with pytest.raises(DataError) as expected:
        table(file, tmp_path)
    with pytest.raises(DataError) as found:
        store.text_frame(file, [0, 2], tmp_path)
    assert str(found.value) == str(expected.value)


def test_a_file_that_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = opened(tmp_path, "a,b,c\n1,2,3\n")
    monkeypatch.setattr(store, "stamps", lambda _: {file.file.path: (0, 0, 0)})
    with pytest.raises(FileError, match="changed"):
        store.text_frame(file, [0, 2], tmp_path)
