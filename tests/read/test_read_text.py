"""The text of items: a column that is named, carried along, and shown for the hardest items only."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import polars
import pytest

import spagree
from both_ways import document
from command import Run

ROWS = [
    ("q1", "ann", "yes", "Is it red?"),
    ("q1", "bob", "no", "Is it red?"),
    ("q2", "ann", "yes", "Is it big?"),
    ("q2", "bob", "yes", "Is it big?"),
    ("q3", "ann", "yes", "Was it lost?"),
]
FRAME = polars.DataFrame(ROWS, schema=["id", "annotator", "label", "question text"], orient="row")


def hardest(source: object, **options: object) -> list[tuple[object, ...]]:
    found = spagree.measure(source, **options).hardest()
    return found.select("item", "agreement", "text", "texts").rows()


EXPECTED = [("q1", 0.0, "Is it red?", 1), ("q2", 1.0, "Is it big?", 1)]


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_files(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"labels.{ending}"
    {"csv": FRAME.write_csv, "parquet": FRAME.write_parquet, "jsonl": FRAME.write_ndjson}[ending](path)
    assert hardest(str(path), text="question text") == EXPECTED


def test_frames() -> None:
    for source in (FRAME, FRAME.lazy(), FRAME.to_pandas(), duckdb.sql("SELECT * FROM FRAME")):
        assert hardest(source, text="Question Text") == EXPECTED


def test_wide_tables_do_not_take_the_text_for_an_annotator(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("id,what,ann,bob\nq1,Red?,yes,no\nq2,Big?,yes,yes\n")
    found = spagree.measure(str(path), format="wide", text="what")
    assert found.data.annotators == 2
    assert found.understood is not None and found.understood.columns["text"] == "what"
    assert found.hardest().select("item", "text").rows() == [("q1", "Red?"), ("q2", "Big?")]


def test_wide_frames_carry_it_too() -> None:
    frame = polars.DataFrame(
        {"id": ["q1", "q2"], "what": ["Red?", "Big?"], "ann": ["yes", "yes"], "bob": ["no", "yes"]}
    )
    found = spagree.measure(frame, format="wide", text="what")
    assert found.hardest().select("item", "text").rows() == [("q1", "Red?"), ("q2", "Big?")]


def test_count_tables_do_not_take_the_text_for_a_class(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("id,what,yes,no\nq1,Red?,1,1\nq2,Big?,2,0\n")
    found = spagree.measure(str(path), format="counts", text="what")
    assert found.data.classes == 2
    assert found.hardest().select("item", "text").rows() == [("q1", "Red?"), ("q2", "Big?")]


def test_a_text_may_be_the_item_of_a_table_that_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("sentence,yes,no\n" + "".join(f"s{n},{n % 4},{3 - n % 4}\n" for n in range(12)))
    found = spagree.measure(str(path), text="sentence")
    assert found.understood is not None and found.understood.columns["item"] == found.understood.columns["text"]
    assert found.understood.format == "counts"


def test_rows_with_columns_of_people_carry_it_even_where_every_row_is_an_item(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("what,who_1,said_1,who_2,said_2\nRed?,ann,yes,bob,no\nBig?,ann,yes,bob,yes\n")
    named = {"annotator": ["who_1", "who_2"], "label": ["said_1", "said_2"]}
    found = spagree.measure(str(path), format="wide", item=":row", text="what", **named)
    assert sorted(found.hardest()["text"]) == ["Big?", "Red?"]


def test_a_text_is_never_guessed() -> None:
    renamed = FRAME.rename({"question text": "text"})
    assert "text" not in spagree.measure(renamed, item="id").hardest().columns


def test_figures_do_not_depend_on_the_text() -> None:
    plain = spagree.measure(FRAME.drop("question text"))
    assert document(spagree.measure(FRAME, text="question text")) == document(plain)


def test_policies_keep_the_text() -> None:
    twice = polars.concat([FRAME, FRAME.head(1)]).with_row_index("time")
    found = spagree.measure(twice, text="question text", duplicates="last", first=2, time="time")
    assert found.hardest()["text"].to_list() == ["Is it red?", "Is it big?"]


def test_a_text_that_does_not_exist_names_those_that_do() -> None:
    with pytest.raises(spagree.ColumnError, match='text="question txt": there is no such column; did you mean'):
        spagree.measure(FRAME, text="question txt")


def test_one_column_cannot_be_item_and_text() -> None:
    with pytest.raises(spagree.ColumnError, match="was given for item= and for text="):
        spagree.measure(FRAME, item="id", text="id")


def test_a_tally_comes_too_late() -> None:
    with pytest.raises(spagree.UsageError, match="text= has no effect on a tally"):
        spagree.measure(spagree.tally(FRAME), text="question text")


def test_a_column_that_a_tools_export_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "batch.csv"
    path.write_text("HITId,WorkerId,AssignmentStatus,Answer.mood\nh1,ann,Approved,good\nh1,bob,Approved,bad\n")
    with pytest.raises(spagree.ColumnError, match=r"batch\.csv: there is no field 'Input\.text'; fields: 'HITId', "):
        spagree.measure(str(path), text="Input.text")


def test_the_command_shows_it_in_the_report(tmp_path: Path, run: Run) -> None:
    FRAME.write_csv(tmp_path / "labels.csv")
    page = tmp_path / "page.html"
    assert run("score", tmp_path / "labels.csv", "--text", "question text", "--report", page)[0] == 0
    assert "Is it red?" in page.read_text("utf-8")


def test_the_list_of_items_shows_it(tmp_path: Path, run: Run) -> None:
    FRAME.write_csv(tmp_path / "labels.csv")
    code, out, _ = run("items", tmp_path / "labels.csv", "--text", "question text")
    assert code == 0 and "Is it red?" in out
    code, out, _ = run("items", tmp_path / "labels.csv", "--text", "question text", "--json", "--worst", 1)
    assert [row["text"] for row in json.loads(out)] == ["Is it red?"]


@pytest.mark.parametrize("command", ["classes", "annotators", "pairs", "tally"])
def test_commands_that_would_not_show_it_do_not_take_it(command: str, run: Run) -> None:
    code, _, err = run(command, "example:sparse", "--text", "item")
    assert code == 2 and "No such option" in err and "--text" in err


def test_the_worst_items_come_first_and_more_annotations_before_fewer() -> None:
    rows = [
        ("few", "a", "x"),
        ("few", "b", "y"),
        *(("many", who, who) for who in "abcd"),
        ("fine", "a", "x"),
        ("fine", "b", "x"),
    ]
    found = spagree.measure([*rows, ("single", "a", "x")]).hardest(2)
    assert found.select("item", "annotations", "votes").rows() == [
        ("many", 4, "a ×1, b ×1, c ×1, d ×1"),
        ("few", 2, "x ×1, y ×1"),
    ]
