"""What is refused because reading it would fill the memory or end the process, and what is not."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
import xlsxwriter

import spagree
from spagree.errors import DataError, FileError
from spagree.read.tools import export


def options_export(path: Path, options: int) -> Path:
    """Prodigy's choices: three people, two tasks, many options in all."""
    rows = [
        {"_input_hash": task, "_annotator_id": who, "accept": [f"o{i}" for i in range(task, options, 2)]}
        | {"options": [{"id": "o0"}], "answer": "accept", "_timestamp": 1, "_task_hash": task, "_view_id": "choice"}
        for task in range(2)
        for who in ("ann", "bob", "cyd")
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_too_many_options_are_refused_before_they_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = options_export(tmp_path / "choices.jsonl", 40)
    monkeypatch.setattr(export, "MOST_ANSWERS", 6 * 40)
    assert len(spagree.measure_all(path, multi="options")) == 40
    monkeypatch.setattr(export, "MOST_ANSWERS", 6 * 40 - 1)
    with pytest.raises(DataError, match=r'has 40 options, 240 answers in all; .*multi="set"$'):
        spagree.measure_all(path, multi="options")
    assert spagree.measure(path, multi="set").spa.value == 1  # the remedy


def test_a_binary_workbook_is_refused_with_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "votes.xlsx"
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet().write_row(0, 0, ["item", "annotator", "label"])
    binary = tmp_path / "votes.xlsb"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(binary, "w") as target:
        for name in source.namelist():
            target.writestr(name.replace("sheet1.xml", "sheet1.bin"), source.read(name))
    with pytest.raises(FileError, match=r"a binary workbook \(\.xlsb\), which is not read; save it as \.xlsx"):
        spagree.measure(binary)


def test_labels_that_only_look_like_objects_are_labels(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text('item,annotator,label\nq,a,"{"""\nq,b,"{"""\n')
    assert spagree.measure(path).data.labels == {'{"': 2}


def test_gaps_of_pandas_are_missing_labels() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"item": [1, 1, 2], "annotator": ["a", "b", "a"]})
    frame["label"] = pandas.array(["x", "x", pandas.NA], dtype=object)
    assert spagree.tally(frame).left_out == {"missing_label": 1}
