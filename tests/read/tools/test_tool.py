"""Texts that come along with items, and what the summary calls the fields of a tool."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from exports import PEOPLE, lines, zipped
from test_potato import saved_state

import spagree
from spagree.errors import SpagreeError


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
    saved_state(tmp_path / "potato", "eve", {"1": [[{"schema": "mood", "name": "good"}, "good"]]})
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
