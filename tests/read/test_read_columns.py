"""Which column is what: names, guesses, times and the layouts long, wide and counts."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from spagree.errors import ColumnError, DataError, UsageError
from spagree.read import Annotations, columns, read


def rows(annotations: Annotations, *names: str) -> list[tuple[Any, ...]]:
    frame = annotations.frame.select(list(names)).collect(backend="polars")
    return sorted(tuple(row) for row in frame.rows())


@pytest.fixture
def csv(tmp_path: Path) -> Any:
    def write(text: str) -> Path:
        path = tmp_path / "a.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


# ── guessing ──


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ("item,annotator,label", "item,annotator,label"),
        ("Task_ID,Worker ID,Answer", "Task_ID,Worker ID,Answer"),
        ("unit,coder,category", "unit,coder,category"),
        ("documentId,raterId,value", "documentId,raterId,value"),
        ("id,text,label,user", "id,user,label"),
        ("item_id,item,annotator,annotator_id,label", "item_id,annotator_id,label"),
        ("doc,judge,rating,value", "doc,judge,rating"),
        ("id,item,label,class", "item,None,label"),
        ("sentence,labeller,judgement,note", "sentence,labeller,judgement"),
    ],
)
def test_common_names_are_recognised(names: str, found: str) -> None:
    header = names.split(",")
    roles = columns.resolve(header, {}, ("item", "annotator", "label"))
    chosen = {role: header[position] for role, position in roles.positions.items()}
    assert ",".join(str(chosen.get(role)) for role in ("item", "annotator", "label")) == found
    assert roles.guessed == set(chosen)


@pytest.mark.parametrize(
    ("names", "role", "candidates"),
    [
        ("task_id,doc_id,label", "item", "'task_id', 'doc_id'"),
        ("item,worker,rater,label", "annotator", "'worker', 'rater'"),
        ("item,class,answer", "label", "'class', 'answer'"),
        ("item,Label,label", "label", "'Label', 'label'"),
        ("item,item,label", "item", "'item', 'item'"),
    ],
)
def test_equally_good_names_are_an_error_with_the_option(names: str, role: str, candidates: str) -> None:
    with pytest.raises(ColumnError, match="2 columns could be the " + role) as caught:
        columns.resolve(names.split(","), {}, ("item", "annotator", "label"))
    assert candidates in str(caught.value)
    assert f"{role}=" in str(caught.value) or "rename" in str(caught.value)


def test_a_named_column_settles_the_guess(csv: Any) -> None:
    path = csv("task_id,doc_id,class,answer\n1,2,3,4\n")
    annotations = read(path, item="doc_id", label="class")
    assert rows(annotations, "item", "label") == [("2", "3")]
    assert annotations.understood.guessed == frozenset()
    assert dict(annotations.understood.columns) == {"item": "doc_id", "label": "class"}
    assert not annotations.has_annotators


def test_names_match_exactly_first_then_in_any_case(csv: Any) -> None:
    path = csv("Item,ITEM,Label\n1,2,x\n")
    assert rows(read(path, item="ITEM", label="label"), "item", "label") == [("2", "x")]
    with pytest.raises(ColumnError, match=r"fits 2 columns: 'Item' .column 1., 'ITEM' .column 2."):
        read(path, item="item")


def test_an_unknown_name_suggests_the_nearest_and_lists_all(csv: Any) -> None:
    with pytest.raises(ColumnError) as caught:
        read(csv("item,annotator,label\n1,2,3\n"), annotator="anotator")
    assert "annotator=\"anotator\": there is no such column; did you mean 'annotator'?" in str(caught.value)
    assert "'item', 'annotator', 'label'" in str(caught.value)


def test_one_column_cannot_play_two_roles(csv: Any) -> None:
    with pytest.raises(ColumnError, match="'x' was given for item= and for label="):
        read(csv("x,y\n1,2\n"), item="x", label="x")


def test_a_named_column_is_not_guessed_for_another_role(csv: Any) -> None:
    annotations = read(csv("id,label,user\n1,x,u\n"), item="user", label="label")
    assert not annotations.has_annotators


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("item,ann,bob\n1,cat,dog\n", 'format="wide"'),
        ("item,cat,dog\n1,3,0\n2,1,2\n", 'format="counts"'),
        ("1,ann,cat\n2,bob,dog\n", "header=False"),
        ("# note\nx,y\n1,2\n", "skipped 1 comment line"),
    ],
)
def test_when_nothing_fits_the_message_names_the_likely_command(text: str, hint: str, csv: Any) -> None:
    with pytest.raises(ColumnError) as caught:
        read(csv(text))
    assert hint in str(caught.value)
    assert caught.value.exit_code == 3


def test_an_unnamed_column_is_ignored(csv: Any) -> None:
    path = csv(",item,label,\n0,1,x,\n")
    assert rows(read(path), "item", "label") == [("1", "x")]
    assert dict(read(csv(",item,ann,\n0,1,x,\n"), format="wide").understood.columns) == {
        "item": "item", "annotator": "'ann'"}  # fmt: skip


def test_misspelt_formats_and_several_labels_in_long(csv: Any) -> None:
    path = csv("item,a,b\n1,x,y\n")
    with pytest.raises(UsageError, match="unknown format 'wid'; did you mean 'wide'"):
        read(path, format="wid")
    with pytest.raises(UsageError, match='format="wide"') as caught:
        read(path, label=["a", "b"])
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(("role", "lacking"), [("by", "label"), ("cluster", "item"), ("annotator", "label")])
def test_a_column_named_for_one_role_cannot_have_another(role: str, lacking: str, csv: Any) -> None:
    path = csv("item,who,label\n1,a,x\n1,b,y\n2,a,x\n")
    with pytest.raises(ColumnError) as caught:
        read(path, **{role: lacking})
    assert f"column {lacking!r} was named with {role}=, so it cannot be the {lacking}" in str(caught.value)
    assert f"the column of the {lacking} with {lacking}=" in str(caught.value)


# ── time ──


def test_times_of_text_sort_as_time(csv: Any) -> None:
    values = ["17", "1e3", "2001-09-09T01:46:40Z", "2001-09-09T03:46:41+02:00", "2001-09-09 01:46:42.5", "2002-01-01"]
    path = csv("item,label,time\n" + "".join(f"{i},x,{v}\n" for i, v in enumerate(values)) + "9,x,\n")
    annotations = read(path)
    found = dict(annotations.frame.select("item", "time").collect(backend="polars").rows())
    assert [found[str(i)] for i in range(6)] == [17, 1000, 1e9, 1e9 + 1, 1e9 + 2.5, 1009843200]
    assert found["9"] is None
    assert annotations.understood.guessed == {"item", "label", "time"}


def test_the_zone_of_the_machine_does_not_matter(csv: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    assert rows(read(csv("item,label,time\n1,x,1970-01-02\n")), "time") == [(86400.0,)]


@pytest.mark.parametrize("value", ["yesterday", "01/02/2024", "nan", "inf", "2024-13-01"])
def test_an_unreadable_time_is_an_error_when_named_and_a_caution_when_guessed(value: str, csv: Any) -> None:
    path = csv(f"item,label,created_at\n1,x,2024-01-01\n2,x,{value}\n")
    with pytest.raises(DataError) as caught:
        read(path, time="created_at")
    assert f"row 3: column 'created_at': '{value}'" in str(caught.value)
    annotations = read(path)
    assert [warning.code for warning in annotations.warnings] == ["time_ignored"]
    assert "time" not in annotations.frame.collect_schema().names()
    assert "time" not in annotations.understood.columns
    assert "time" not in annotations.understood.guessed


@pytest.mark.parametrize("clock", ["", " 10:15", ", 10:15:30", " 10:15 AM"])
def test_the_formats_suggested_for_times_that_can_be_read_in_two_ways_work(clock: str, csv: Any) -> None:
    path = csv(f'item,label,date\n1,x,"1/3/2024{clock}"\n2,x,"2/3/2024{clock}"\n')
    with pytest.raises(DataError, match="with the day or with the month first") as caught:
        read(path, time="date")
    formats = re.findall("'(%[^']+)'|\"(%[^\"]+)\"", str(caught.value))
    dates = [read(path, time="date", time_format=one or two) for one, two in formats]
    days = [int(rows(each, "time")[1][0] - rows(each, "time")[0][0]) // 86400 for each in dates]
    assert days == [1, 31]


def test_times_in_several_formats_that_can_be_read_in_two_ways_get_no_format(csv: Any) -> None:
    path = csv("item,label,date\n1,x,1/3/2024\n2,x,2-3-2024 10:15\n")
    with pytest.raises(DataError, match="the month first; write all in one way"):
        read(path, time="date")


def test_two_possible_times_are_not_guessed(csv: Any) -> None:
    annotations = read(csv("item,label,created_at,updated_at,date\n1,x,1,2,3\n"))
    assert "time" not in annotations.understood.columns
    assert annotations.warnings == ()


def test_times_of_frames_keep_their_type_or_are_parsed() -> None:
    day = dt.datetime(2024, 1, 2)  # noqa: DTZ001 - data frames mostly have no zones
    frame = pl.DataFrame({"item": [1], "label": ["x"], "time": [day], "n": [7], "s": ["2024-01-02T00:00:00"]})
    assert rows(read(frame), "time") == [(day,)]
    assert rows(read(frame, time="n"), "time") == [(7,)]
    assert rows(read(frame, time="s"), "time") == [(day,)]
    text = read(frame.drop("time", "n").rename({"s": "time"}))
    assert [warning.code for warning in text.warnings] == ["time_ignored"]
    with pytest.raises(DataError, match='time="s": not all of its texts are ISO 8601'):
        read(pd.DataFrame({"item": [1], "label": ["x"], "s": ["soon"]}), time="s")
    with pytest.raises(DataError, match="does not sort as a time"):
        read(frame.with_columns(b=pl.lit(True)), time="b")


# ── wide ──

WIDE = {"id": ["x", "y"], "ann": ["a", None], "Bob": ["b", "c"]}
TALL = [("x", "Bob", "b"), ("x", "ann", "a"), ("y", "Bob", "c")]


def test_wide_files(csv: Any) -> None:
    path = csv("id,ann,Bob\nx,a,b\ny,,c\n")
    annotations = read(path, format="wide")
    found = annotations.frame.collect(backend="polars").to_native()
    assert sorted(found.select("item", "annotator", "label").rows()) == TALL
    assert sorted(found["row"].to_list()) == [2, 2, 3]
    assert annotations.understood.guessed == {"item"}
    assert dict(annotations.understood.columns) == {"item": "id", "annotator": "'ann', 'Bob'"}


@pytest.mark.parametrize("layout", ["wide", "counts"])
def test_ids_under_an_unusual_name_are_not_taken_for_an_annotator_or_a_class(csv: Any, layout: str) -> None:
    path = csv("patient,x,y\n" + "".join(f"p{n},1,{1 + n % 2}\n" for n in range(6)))
    with pytest.raises(ColumnError, match=r"'patient' has a different value in each row.*item=.patient."):
        read(path, format=layout)
    assert read(path, format=layout, item="patient").understood.columns["item"] == "patient"
    assert read(path, format=layout, label=["x", "y"]).understood.columns["item"] == "row number"
    few = csv("patient,x,y\np1,1,2\np2,1,2\n")
    assert read(few, format="wide").understood.columns["item"] == "row number"


def test_a_count_table_with_an_unknown_item_column_gets_the_whole_command(csv: Any) -> None:
    path = csv("patient,x,y\np1,1,2\np2,3,0\n")
    with pytest.raises(ColumnError, match='format="counts", item="patient"'):
        read(path)
    with pytest.raises(ColumnError, match='format="wide"'):
        read(csv("patient,x,y\np1,a,b\np2,a,c\n"))


def test_wide_takes_the_annotators_that_are_named_and_the_row_as_item(csv: Any) -> None:
    path = csv("note,ann,bob,eve\nn,a,b,c\nn,a,NA,c\n")
    found = rows(read(path, format="wide", label=["bob", "eve"], missing=["c"]), "item", "annotator", "label")
    assert found == [(2, "bob", "b"), (2, "eve", None), (3, "bob", "NA"), (3, "eve", None)]


def test_a_list_of_one_label_is_one_column_and_a_guessed_item_gives_way(csv: Any) -> None:
    path = csv("item,answer\n1,x\n")
    assert rows(read(path, label=["answer"]), "label") == [("x",)]
    both = read(path, format="wide", label=["item", "answer"])
    assert rows(both, "item", "annotator", "label") == [(2, "answer", "x"), (2, "item", "1")]
    assert dict(both.understood.columns)["item"] == "row number"


def test_wide_columns_may_have_our_own_names(csv: Any) -> None:
    found = rows(read(csv("id,row,label,c0,annotator\nx,1,2,3,4\n"), format="wide"), "item", "annotator", "label")
    assert found == [("x", "annotator", "4"), ("x", "c0", "3"), ("x", "label", "2"), ("x", "row", "1")]


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table, lambda d: pl.DataFrame(d).lazy()])
def test_wide_frames(make: Any) -> None:
    annotations = read(make(WIDE), format="wide")
    found = annotations.frame.drop_nulls().select("item", "annotator", "label").collect(backend="polars")
    assert sorted(found.rows()) == TALL


def test_wide_frames_of_mixed_types() -> None:
    numbers = read(pd.DataFrame({"id": [1, 2], "ann": [1, 2], "bob": [1.0, None]}), format="wide")
    found = numbers.frame.select("label").collect().to_native()["label"]
    assert sorted(found) == [1.0, 1.0, 2.0]
    assert numbers.warnings == ()
    mixed = read(pl.DataFrame({"id": [1], "ann": [1], "bob": ["1"]}), format="wide")
    assert rows(mixed, "label") == [("1",), ("1",)]
    assert [warning.code for warning in mixed.warnings] == ["mixed_types"]


def test_wide_refuses_names_twice_and_options_without_meaning(csv: Any) -> None:
    with pytest.raises(ColumnError, match="'Ann' and 'ann'"):
        read(csv("id,Ann,ann\n1,a,b\n"), format="wide")
    path = csv("id,ann,bob\n1,a,b\n")
    with pytest.raises(UsageError, match='annotator="ann" does not apply here'):
        read(path, format="wide", annotator="ann")
    with pytest.raises(ColumnError, match="'ann' twice"):
        read(path, format="wide", label=["ann", "ANN"])
    with pytest.raises(ColumnError, match="given for item= and for label="):
        read(path, format="wide", item="ann", label=["ann", "bob"])
    with pytest.raises(ColumnError, match="no annotator columns besides the item"):
        read(csv("id\n1\n"), format="wide")


# ── counts ──


def test_counts_of_files_and_frames(csv: Any) -> None:
    expected = [("x", "cat", 3), ("x", "dog", 0), ("y", "cat", 1), ("y", "dog", 2)]
    annotations = read(csv("item,cat,dog\nx,3,0\ny,1,2.0\n"), format="counts")
    assert rows(annotations, "item", "label", "count") == expected
    assert not annotations.has_annotators
    data = {"item": ["x", "y"], "cat": [3, 1], "dog": [0.0, 2.0]}
    for make in (pl.DataFrame, pd.DataFrame, pa.table):
        assert rows(read(make(data), format="counts"), "item", "label", "count") == expected


@pytest.mark.parametrize("value", ["-1", "1.5", "", "nan", "inf", "two", "1e30"])
def test_a_cell_that_is_no_count_is_named_with_row_column_and_value(value: str, csv: Any) -> None:
    with pytest.raises(DataError) as caught:
        read(csv(f"item,cat,dog\nx,3,0\ny,1,{value}\n"), format="counts")
    found = "an empty cell" if not value else f"'{value}'"
    assert f"row 3: column 'dog': {found}" in str(caught.value)
    assert "write 0" in str(caught.value)


@pytest.mark.parametrize("value", [-1, 1.5, None, float("nan"), float("inf")])
@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
def test_a_bad_count_in_a_frame(value: Any, make: Any) -> None:
    column = [0.0, value] if isinstance(value, float) else [0, value]
    with pytest.raises(DataError, match="row 2: column 'dog'"):
        read(make({"item": ["x", "y"], "cat": [3, 1], "dog": column}), format="counts")


def test_text_in_a_count_frame_is_named_or_left_aside() -> None:
    frame = pl.DataFrame({"item": [1], "cat": [1], "dog": [2], "note": ["x"], "total": [3]})
    (warning,) = read(frame, format="counts").warnings
    assert warning.code == "columns_aside"
    assert "'note' (no numbers); 'total' (not one of the counts)" in warning.message
    with pytest.raises(DataError, match="'note' holds String"):
        read(frame, format="counts", label=["cat", "note"])


def test_more_than_ten_bad_counts(csv: Any) -> None:
    with pytest.raises(DataError, match=r"at least \d+ cells"):
        read(csv("item,cat,dog\n" + "x,-1,0\n" * 12), format="counts")


# ── matrices ──


def test_a_matrix_holds_what_is_said() -> None:
    with pytest.raises(UsageError, match=r"format=.counts. .items × classes., format=.wide."):
        read(np.array([[1, 2], [3, 0]]))
    labels = np.array([[1, 2, np.nan], [3, 3, 1]])
    expected = [(1, "0", 1.0), (1, "1", 2.0), (2, "0", 3.0), (2, "1", 3.0), (2, "2", 1.0)]
    assert [row for row in rows(read(labels, format="wide"), "item", "annotator", "label") if row[2]] == expected
    turned = read(labels.T, format="transposed")
    assert {(item, int(who)) for item, who, label in rows(turned, "item", "annotator", "label") if label} == {
        ("0", 1), ("0", 2), ("1", 1), ("1", 2), ("1", 3)}  # fmt: skip
    texts = np.array([["a", None], ["b", "b"]], dtype=object)
    assert rows(read(texts, format="wide"), "item", "label") == [(1, "a"), (2, "b"), (2, "b")]


def test_a_matrix_of_counts() -> None:
    annotations = read(np.array([[1, 2], [3, 0]]), format="counts")
    assert rows(annotations, "item", "label", "count") == [(1, "0", 1), (1, "1", 2), (2, "0", 3), (2, "1", 0)]
    assert annotations.understood.format == "counts"
    named = read(np.array([[1, 2]]), format="counts", label=["cat", "dog"])
    assert rows(named, "label", "count") == [("cat", 1), ("dog", 2)]


@pytest.mark.parametrize("format", ["counts", "wide"])
def test_what_is_advised_for_a_matrix_with_a_distinct_column_works(format: str) -> None:
    matrix = np.array([[n, n % 3, n % 2] for n in range(12)])
    with pytest.raises(ColumnError, match=r'column .0. has a different value .* use item="0", or name .* label='):
        read(matrix, format=format)
    every = read(matrix, format=format, label=["a", "b", "c"])
    assert len(rows(every, "item", "label")) == matrix.size
    assert {item for item, _ in rows(every, "item", "label")} == set(range(1, 13))
    keyed = read(matrix, format=format, item="0")
    assert len(rows(keyed, "item", "label")) == matrix[:, 1:].size
    assert {int(item) for item, _ in rows(keyed, "item", "label")} == set(range(12))


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.array([1, 2]), "1 dimensions"),
        (np.zeros((2, 2, 2), dtype=int), "3 dimensions"),
        (np.array([["a", "b"]]), "not a count matrix"),
        (np.zeros((0, 3), dtype=int), "not a count matrix"),
        (np.array([[1, -2]]), "row 1: column '1': -2"),
        (np.array([[1, 0.5]]), "row 1: column '1': 0.5"),
        (np.array([[1, 2], [np.nan, 1]]), "row 2: column '0'"),
    ],
)
def test_bad_matrices(matrix: Any, words: str) -> None:
    with pytest.raises(DataError) as caught:
        read(matrix, format="counts")
    assert words in str(caught.value)


def test_a_matrix_with_too_few_labels() -> None:
    with pytest.raises(UsageError, match="names 1 columns, but the matrix has 2"):
        read(np.array([[1, 2]]), format="counts", label="cat")


def test_a_transposed_matrix_is_suspected() -> None:
    matrix = np.array([[3, 3, 0, 3], [0, 0, 3, 0]])
    assert [warning.code for warning in read(matrix, format="counts").warnings] == ["transposed"]
    assert read(matrix.T, format="counts").warnings == ()
    assert read(np.array([[1, 2, 3], [3, 2, 1]]), format="counts").warnings == ()
