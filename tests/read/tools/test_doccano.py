"""doccano: archives, unpacked files, databases."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest
from exports import ITEMS, PEOPLE, ROWS, SPA, Write, lines, rows

import spagree
from postgres import Server
from spagree.read import read, read_all


def archive(folder: Path, name: str = "project.zip", **members: str) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as target:
        for member, text in members.items():
            target.writestr(member.replace("_dot_", "."), text)
    return path


def line(number: int, *labels: str) -> str:
    return json.dumps({"id": number, "text": f"t{number}", "label": list(labels), "Comments": []}) + "\n"


DOCCANO = {
    "jsonl": {"ann_dot_jsonl": line(1, "A") + line(2, "A", "B"), "bob_dot_jsonl": line(1, "A") + line(2), "admin_dot_jsonl": "\n"},
    "json": {"ann_dot_json": f"[{line(1, 'A')},{line(2, 'B', 'A')}]", "bob_dot_json": f"[{line(1, 'A')},{line(2)}]", "admin_dot_json": "[]"},
    "csv": {"ann_dot_csv": "id,text,label,Comments\n1,t1,A,\n2,t2,A#B,\n", "bob_dot_csv": "id,text,label,Comments\n1,t1,A,\n2,t2,,\n", "admin_dot_csv": "\n"},
    "txt": {"ann_dot_txt": "__label__A t1\n__label__A __label__B t2 \n", "bob_dot_txt": "__label__A t1 \n t2 \n", "admin_dot_txt": ""},
}  # fmt: skip


@pytest.mark.parametrize("kind", DOCCANO)
def test_doccano_an_empty_list_is_no_label(kind: str, tmp_path: Path) -> None:
    found = read(archive(tmp_path, **DOCCANO[kind]))
    names = ("t1", "t2") if kind == "txt" else ("1", "2")
    assert rows(found) == [(names[0], "ann", "A"), (names[1], "ann", '["A", "B"]'), (names[0], "bob", "A")]
    assert dict(found.left_out) == {"empty": 1} and found.understood.format == "doccano"


@pytest.mark.parametrize("kind", DOCCANO)
def test_doccano_merged_labels_are_refused(kind: str, tmp_path: Path) -> None:
    path = archive(tmp_path, **{f"all_dot_{kind}": DOCCANO[kind][f"ann_dot_{kind}"]})
    with pytest.raises(spagree.DataError, match="of all members merged"):
        read(path)


def test_doccano_unpacked_files_and_a_damaged_member(tmp_path: Path, write: Write) -> None:
    files = [write("ann.jsonl", line(1, "A")), write("bob.jsonl", line(1, "B"))]
    assert rows(read(files, format="doccano")) == [("1", "ann", "A"), ("1", "bob", "B")]
    with pytest.raises(spagree.DataError, match=r"project\.zip/bob\.jsonl:1: not JSON"):
        read(archive(tmp_path, ann_dot_jsonl=line(1, "A"), bob_dot_jsonl='{"id": 1, "lab}\n'))


def test_a_zip_that_is_no_export_stays_refused(tmp_path: Path) -> None:
    for members in (
        {"x_dot_png": "x"},
        {"a_dot_csv": "item,tag\n1,2\n"},
        {"a_dot_jsonl": '{"item": 1}\n'},
        {"a_dot_txt": "hello"},
    ):
        with pytest.raises(spagree.FileError, match="zip archive, not a table"):
            read(archive(tmp_path, **members))
    path = archive(tmp_path, ann_dot_jsonl=line(1, "A"))
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(spagree.FileError, match="truncated or damaged"):
        read(path)


DOCCANO_SCHEMA = """
CREATE TABLE auth_user (id integer, username text);
CREATE TABLE examples_example (id integer, text text, project_id integer);
CREATE TABLE label_types_categorytype (id integer, text text);
CREATE TABLE labels_category (id integer, example_id integer, label_id integer, user_id integer, updated_at text);
CREATE TABLE examples_examplestate (id integer, confirmed_at text, confirmed_by_id integer, example_id integer);
INSERT INTO auth_user VALUES (1, 'ann'), (2, 'bob');
INSERT INTO examples_example VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2);
INSERT INTO label_types_categorytype VALUES (1, 'A'), (2, 'B');
INSERT INTO labels_category VALUES (1,1,1,1,'2026-01-01 00:00:01'), (2,1,2,1,'2026-01-01 00:00:02'), (3,1,1,2,'2026-01-01 00:00:03');
INSERT INTO examples_examplestate VALUES (1, '2026-01-01 00:00:09', 1, 1), (2, '2026-01-01 00:00:09', 2, 2);
"""


def test_doccano_database_has_the_long_form(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.executescript(DOCCANO_SCHEMA)
    connection.close()
    found = read(path)
    assert rows(found) == [("1", "ann", '["A", "B"]'), ("1", "bob", "A")]
    assert dict(found.left_out) == {"empty": 1}
    assert found.frame.collect()["time"].to_list() == [1767225602, 1767225603]
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO labels_category VALUES (4,3,1,2,'2026-01-01 00:00:03')")
    connection.close()
    assert list(read_all(path)) == ["1/label", "2/label"]


def test_doccano_in_postgresql_is_read_alike(postgres: Server) -> None:
    server = postgres.another("doccano")
    server.run(DOCCANO_SCHEMA.replace("_at text", "_at timestamptz"))
    found = read(server.address)
    assert rows(found) == [("1", "ann", '["A", "B"]'), ("1", "bob", "A")]
    assert found.understood.format == "doccano"
    assert found.frame.collect()["time"].to_list() == [1767225602, 1767225603]


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
