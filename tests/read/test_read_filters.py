"""--where and --exclude-annotator on every kind of source: the same as leaving the rows out by hand, and said."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pytest

import spagree
from command import Run

ROWS = [
    (item, who, "yes" if (item + place) % 4 else "no", "en" if item % 2 else "de", item % 3)
    for item in range(12)
    for place, who in enumerate(("ann", "bob", "cyd"))
]
FRAME = polars.DataFrame(ROWS, schema=["item", "annotator", "label", "language", "batch"], orient="row")


def source(kind: str, folder: Path) -> Any:
    if kind == "csv":
        FRAME.write_csv(folder / "rows.csv")
        return folder / "rows.csv"
    if kind == "parquet":
        FRAME.write_parquet(folder / "rows.parquet")
        return folder / "rows.parquet"
    frames: dict[str, Any] = {
        "polars": FRAME,
        "lazy": FRAME.lazy(),
        "pandas": pandas.DataFrame(ROWS, columns=FRAME.columns),
    }
    return frames[kind] if kind in frames else duckdb.from_df(frames["pandas"])


KINDS = ["csv", "parquet", "polars", "lazy", "pandas", "duckdb"]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_with_a_value(kind: str, tmp_path: Path) -> None:
    found = spagree.measure(source(kind, tmp_path), where={"language": "en", "batch": 1})
    kept = FRAME.filter((polars.col("language") == "en") & (polars.col("batch") == 1))
    assert found.spa == spagree.measure(kept).spa and found.data.annotations == kept.height
    assert found.understood.rules == ("only rows with language = en and batch = 1: 6 of 36",)
    text = " ".join(str(found).split())
    assert "only rows with language = en" in text and "as a long table" in text


@pytest.mark.parametrize("kind", KINDS)
def test_without_an_annotator(kind: str, tmp_path: Path) -> None:
    found = spagree.measure(source(kind, tmp_path), exclude_annotator=["bob"])
    assert found.spa == spagree.measure(FRAME.filter(polars.col("annotator") != "bob")).spa
    assert found.data.left_out == {"excluded": 12} and found.data.annotators == 2
    assert "12 annotations: by annotators who were excluded" in str(found)


def test_both_forms_of_where_mean_the_same() -> None:
    one, other, several = (
        spagree.measure(FRAME, where=where) for where in ({"language": "de"}, "language=de", ["language=de"])
    )
    assert one.findings == other.findings == several.findings
    assert spagree.tally(FRAME, where="language=de") == spagree.tally(FRAME.filter(polars.col("language") == "de"))


def test_wide_and_count_tables() -> None:
    wide = polars.DataFrame({"item": [1, 2, 3], "set": ["a", "a", "b"], "ann": ["x", "y", "x"], "bob": ["x", "x", "y"]})
    named = spagree.measure(wide, format="wide", label=["ann", "bob"], where="set=a")
    assert (named.data.items, named.spa.value) == (2, 0.5)
    counts = polars.DataFrame({"item": [1, 2], "set": ["a", "b"], "x": [2, 1], "y": [0, 1]})
    assert spagree.measure(counts, format="counts", label=["x", "y"], where="set=b").spa.value == 0.0
    alone = spagree.measure(wide, format="wide", label=["ann", "bob"], exclude_annotator="bob")
    assert alone.data.annotations == 3 and alone.spa.value is None
    with pytest.raises(spagree.UsageError, match="the annotators are unknown"):
        spagree.measure(counts, format="counts", label=["x", "y"], exclude_annotator="x")


def test_empty_cells_can_be_asked_for() -> None:
    gaps = FRAME.with_columns(polars.when(polars.col("item") > 5).then(polars.col("language")).alias("language"))
    assert spagree.measure(gaps, where="language=").data.items == 6


def test_excluded_names_stay_hidden_where_names_are() -> None:
    found = spagree.measure(FRAME, exclude_annotator="bob", pseudonymise=True)
    assert found.data.left_out == {"excluded": 12} and "bob" not in str(found)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"where": "language"}, spagree.UsageError, "COLUMN=VALUE"),
        ({"where": "langage=en"}, spagree.ColumnError, "did you mean 'language'"),
        ({"where": "language=fr"}, spagree.DataError, "no row matches; column 'language' holds 'de', 'en'"),
        ({"exclude_annotator": "bib"}, spagree.UsageError, "did you mean 'bob'"),
        ({"exclude_annotator": "zzz"}, spagree.UsageError, "annotators: 'ann', 'bob', 'cyd'"),
    ],
)
def test_what_is_not_there_is_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        spagree.measure(FRAME, **options)


def test_queries_of_databases(tmp_path: Path) -> None:
    path = tmp_path / "rows.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE rows (item, annotator, label, language, batch)")
        database.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", ROWS)
    found = spagree.measure(
        path, query="SELECT * FROM rows", where={"language": "de"}, exclude_annotator=["cyd"], annotator="annotator"
    )
    kept = FRAME.filter((polars.col("language") == "de") & (polars.col("annotator") != "cyd"))
    assert found.spa.value == spagree.measure(kept).spa.value
    assert found.data.annotations == kept.height and found.data.left_out == {"excluded": 6}


def test_exports_of_tools_are_filtered_by_their_fields(tmp_path: Path) -> None:
    path = tmp_path / "batch.csv"
    lines = [f"h{item},{who},Approved,{label},{language}" for item, who, label, language, *_ in ROWS]
    path.write_text("\n".join(["HITId,WorkerId,AssignmentStatus,Answer.mood,Input.language", *lines]))
    found = spagree.measure(path, exclude_annotator="bob")
    assert found.data.left_out == {"excluded": 12} and found.data.annotators == 2
    german = spagree.measure(path, where={"Input.language": "de"})
    kept = FRAME.filter(polars.col("language") == "de")
    assert german.data.annotations == kept.height and german.spa.value == spagree.measure(kept).spa.value
    assert f"only records with Input.language = de: {kept.height} of {FRAME.height}" in str(german)
    with pytest.raises(spagree.DataError, match=r"no record matches; field 'Input\.language' holds 'de', 'en'"):
        spagree.measure(path, where={"Input.language": "fr"})
    groups = spagree.measure(path, by="Input.language").to_dict()["groups"]
    assert groups["de"]["spa"]["value"] == german.spa.value


def test_the_data_of_tasks_can_be_chosen(tmp_path: Path) -> None:
    tasks = [
        {
            "id": item,
            "data": {"text": f"text {item}", "language": "de" if item % 2 else "en"},
            "annotations": [
                {"id": 10 * item + who, "completed_by": who, "result": [_choice("good" if who else "bad")]}
                for who in (0, 1)
            ],
        }
        for item in range(1, 7)
    ]
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(tasks))
    found = spagree.measure(path, where="language=de")
    assert found.data.items == 3
    assert "only records with language = de: 3 of 6" in str(found)
    with pytest.raises(
        spagree.ColumnError, match=r"where=.*no record has this field; fields: 'text', 'language', 'id'"
    ):
        spagree.measure(path, where="tongue=de")


def _choice(label: str) -> dict[str, Any]:
    return {"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": [label]}}


def test_people_who_are_not_known_stay() -> None:
    anonymous = FRAME.with_columns(
        polars.when(polars.col("annotator") != "cyd").then(polars.col("annotator")).alias("annotator")
    )
    found = spagree.measure(anonymous, exclude_annotator="bob")
    assert found.data.annotations == 24 and found.data.left_out == {"excluded": 12}


def test_counted_tallies_cannot_be_filtered() -> None:
    with pytest.raises(spagree.UsageError, match="where"):
        spagree.measure(spagree.tally(FRAME), where="language=en")


def test_on_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run, path = Run(capsys), source("csv", tmp_path)
    code, out, _ = run("score", path, "--where", "language=en", "--where", "batch=1", "--exclude-annotator", "ann")
    assert code == 0 and "only rows with language = en and batch = 1: 6 of 36" in " ".join(out.split())
    code, _, err = run("compare", path, path, "--where", "language=fr")
    assert code == 3 and "--where 'language=fr'" in err
