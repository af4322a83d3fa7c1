"""Toloka: assignments of the website and of the API."""

from __future__ import annotations

from pathlib import Path

import pytest
from exports import Write, rows

import spagree
from spagree.read import read

API = (
    "INPUT:image\tOUTPUT:mood\tGOLDEN:mood\tHINT:text\tASSIGNMENT:task_id\tASSIGNMENT:worker_id\tASSIGNMENT:status\tASSIGNMENT:started\n"
    "u1\tgood\t\t\tt1\tw1\tAPPROVED\t2020-01-01T00:00:01\n"
    'u1\t["good","bad"]\t\t\tt1\tw2\tSUBMITTED\t2020-01-01T00:00:02\n'
    "u1\tbad\t\t\tt1\tw3\tREJECTED\t2020-01-01T00:00:03\n"
    "u2\tbad\tbad\t\tt2\tw1\tAPPROVED\t2020-01-01T00:00:04\n"
    "u2\t\t\t\tt2\tw2\tSKIPPED\t2020-01-01T00:00:05\n"
    "u2\t\t\t\tt2\tw4\tEXPIRED\t2020-01-01T00:00:06\n"
    "u2\tbad\t\t\tt2\tw5\tACTIVE\t2020-01-01T00:00:07\n"
)


UI = (
    "INPUT:image\tINPUT:text\tOUTPUT:mood\tASSIGNMENT:assignment_id\tASSIGNMENT:worker_id\tASSIGNMENT:status\tASSIGNMENT:submitted\n"
    "u1\ta\tgood\t\t\t\t\n"
    "u2\tb\tbad\t\t\t\t\n"
    "\t\t\ta1\tw1\tAPPROVED\t2020-01-01T00:00:01\n"
    "u1\ta\tgood\t\t\t\t\n"
    "u2\tb\tgood\t\t\t\t\n"
    "\t\t\ta2\tw2\tAPPROVED\t2020-01-01T00:00:02\n"
)


def test_toloka_api_layout(write: Write) -> None:
    found = read(write("t.tsv", API))
    assert rows(found) == [("t1", "w1", "good"), ("t1", "w2", '["bad", "good"]'), ("t2", "w1", "bad")]
    assert dict(found.left_out) == {"rejected": 1, "skipped": 1, "expired": 1, "pending": 1}
    assert dict(read(write("t.tsv", API), ground_truth="drop").left_out)["ground_truth"] == 1
    assert {row[0] for row in rows(read(write("t.tsv", API), item="INPUT:image"))} == {"u1", "u2"}


def test_toloka_website_layout_has_the_assignment_behind_its_tasks(write: Write) -> None:
    found = read(write("t.tsv", UI))
    assert rows(found) == [
        ('["u1", "a"]', "w1", "good"),
        ('["u2", "b"]', "w1", "bad"),
        ('["u1", "a"]', "w2", "good"),
        ('["u2", "b"]', "w2", "good"),
    ]
    assert spagree.measure(write("t.tsv", UI), weights="flat").spa.value == 0.5


def test_toloka_a_page_without_its_assignment_was_cut_off(write: Write) -> None:
    with pytest.raises(spagree.DataError, match=r"t\.tsv:5: 2 tasks without the row of the assignment .* truncated"):
        read(write("t.tsv", "\n".join(UI.splitlines()[:-1]) + "\n"))


def test_the_text_of_toloka_is_an_input_by_its_usual_names(tmp_path: Path) -> None:
    header = "INPUT:id\tINPUT:url\tINPUT:sentence\tINPUT:text\tHINT:text\tOUTPUT:mood\tASSIGNMENT:worker_id\n"
    path = tmp_path / "t.tsv"
    path.write_text(header + "1\thttps://a\tsaid\tHi\tno\tgood\tw1\n2\thttps://b\tsaid\t\tno\tbad\tw1\n")
    frame = read(path, item="INPUT:id").frame.collect(backend="polars")
    assert list(frame["text"]) == ["Hi", "said"]
    named = read(path, item="INPUT:id", text="INPUT:url").frame.collect(backend="polars")
    assert list(named["text"]) == ["https://a", "https://b"]
    with pytest.raises(spagree.ColumnError, match="there is no field 'text'; fields: 'INPUT:id'"):
        read(path, text="text")
