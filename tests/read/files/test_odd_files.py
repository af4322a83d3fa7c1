"""Files that other programs write: row names of R, streams of Arrow, hidden rows, documents that are no tables."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xlsxwriter

import spagree
from spagree.errors import DataError, FileError

ROWS = [
    (f"i{n}", who, "xy"[(n * n + place) % 3 // 2]) for n in range(6) for place, who in enumerate(["ann", "bob", "cy"])
]
VALUE = spagree.measure(ROWS).spa.value
NAMES = ["item", "annotator", "label"]


def codes(found: spagree.Agreement) -> set[str]:
    return {warning.code for warning in found.warnings}


@pytest.mark.parametrize(("name", "mark"), [("a.csv", ","), ("a.tsv", "\t"), ("a.txt", "\t")])
@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("engine", [None, "duckdb"])
def test_row_names_of_r_have_no_header(name: str, mark: str, quote: str, engine: str | None, tmp_path: Path) -> None:
    lines = [NAMES, *([str(n), *row] for n, row in enumerate(ROWS, 1))]
    path = tmp_path / name
    path.write_text("".join(mark.join(f"{quote}{cell}{quote}" for cell in line) + "\n" for line in lines))
    found = spagree.measure(path, engine=engine)
    assert found.spa.value == VALUE and found.data.annotations == len(ROWS) and "row_names" in codes(found)


def test_a_comma_in_every_row_is_no_row_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("item,annotator,label\n" + "".join(f"{i},{who},well,{x}\n" for i, who, x in ROWS))
    with pytest.raises(DataError, match="18 rows do not have the 3 cells"):
        spagree.measure(path)


def test_a_stream_of_arrow_is_read(tmp_path: Path) -> None:
    table = pa.table(dict(zip(NAMES, map(list, zip(*ROWS, strict=True)), strict=True)))
    path = tmp_path / "data.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    assert spagree.measure(path).spa.value == VALUE
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(FileError, match="truncated or damaged"):
        spagree.measure(path)


@pytest.mark.parametrize(
    ("name", "member", "what"),
    [
        ("a.docx", "word/document.xml", "a Word document"),
        ("a.ods", "content.xml", "an OpenDocument file"),
        ("a.numbers", "Index/Document.iwa", "a Numbers or Pages document"),
        ("a.npz", "x.npy", "arrays of numpy"),
    ],
)
def test_documents_in_archives_are_refused_by_name(name: str, member: str, what: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr(member, "x")
    with pytest.raises(FileError, match=f"{what}, which spagree does not read; save the table as CSV"):
        spagree.measure(tmp_path / name)


@pytest.mark.parametrize(("name", "start"), [("a.pdf", b"%PDF-1.7 x"), ("a.feather", b"FEA1\0\0\0\0")])
def test_other_documents_are_refused_by_name(name: str, start: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(start)
    with pytest.raises(FileError, match="which spagree does not read; save the table as CSV"):
        spagree.measure(tmp_path / name)


def test_orc_files_are_for_spark(tmp_path: Path) -> None:
    (tmp_path / "a.orc").write_bytes(b"ORC\x0a")
    with pytest.raises(FileError, match=r'a\.orc: only Spark reads ORC files; use engine="spark", or save the table'):
        spagree.measure(tmp_path / "a.orc")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_name_with_a_bracket_and_a_backslash(kind: str, tmp_path: Path) -> None:
    path, other = tmp_path / f"a[1]\\b.{kind}", tmp_path / f"a1\\b.{kind}"
    frame = pl.DataFrame(ROWS, schema=NAMES, orient="row")
    for place, rows in ((path, frame), (other, frame.head(3))):
        content = io.BytesIO()
        rows.write_csv(content) if kind == "csv" else rows.write_parquet(content)
        place.write_bytes(content.getvalue())
    assert spagree.measure(str(path), engine="duckdb").spa.value == VALUE


def workbook(
    path: Path, sheets: dict[str, list[list[str]]], change: Callable[[Any], None] = lambda sheet: None
) -> Path:
    with xlsxwriter.Workbook(str(path)) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
            change(sheet)
    return path


@pytest.mark.parametrize(
    ("change", "is_named"),
    [
        (lambda sheet: sheet.set_row(4, None, None, {"hidden": True}), True),
        (lambda sheet: sheet.set_column("B:B", None, None, {"hidden": True}), True),
        (lambda sheet: sheet.set_column("E:XFD", None, None, {"hidden": True}), False),
        (lambda sheet: None, False),
    ],
)
def test_hidden_rows_and_columns_are_named(change: Callable[[Any], None], is_named: bool, tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"labels": [NAMES, *map(list, ROWS)]}, change)
    found = spagree.measure(path)
    assert found.spa.value == VALUE and ("hidden_rows" in codes(found)) == is_named


def test_notes_beside_the_sheets_of_annotators_are_skipped_by_name_or_refused(tmp_path: Path) -> None:
    people = ["ann", "bob", "cy"]
    sheets = {who: [["id", "label"], *([i, x] for i, name, x in ROWS if name == who)] for who in people}
    path = workbook(tmp_path / "a.xlsx", {"Notes": [["The code book"], ["x is good"]], **sheets})
    agreement = spagree.measure(path, format="per-annotator")
    (message,) = [warning.message for warning in agreement.warnings if warning.code == "sheets"]
    assert agreement.spa.value == VALUE and agreement.data.annotators == 3 and "'Notes'" in message
    workbook(path, {"Notes": [["label", "meaning"], ["x", "good"]], **sheets})
    with pytest.raises(DataError, match=r"sheet 'Notes' lacks columns that the other sheets have .* delete it"):
        spagree.measure(path, format="per-annotator")


def test_sheets_with_other_names_of_the_same_columns_are_annotators(tmp_path: Path) -> None:
    named = {"ann": ["id", "label"], "bob": ["item", "label"], "cy": ["id", "label"]}
    sheets = {who: [names, *([i, x] for i, name, x in ROWS if name == who)] for who, names in named.items()}
    path = workbook(tmp_path / "a.xlsx", sheets)
    assert spagree.measure(path, format="per-annotator").data.annotators == 3


@pytest.mark.parametrize(
    "label",
    [
        lambda n, x: np.str_(x) if n % 2 else x,
        lambda n, x: np.int64("xy".index(x)) if n % 2 else "xy".index(x),
        lambda n, x: np.bool_(x == "x") if n % 2 else x == "x",
        lambda n, x: np.float64("xy".index(x)) if n % 2 else float("xy".index(x)),
    ],
)
def test_scalars_of_numpy_are_values_of_python(label: Callable[[int, str], object]) -> None:
    found = spagree.measure([(i, who, label(n, x)) for n, (i, who, x) in enumerate(ROWS)])
    assert found.spa.value == VALUE and "mixed_types" not in codes(found)


@pytest.mark.parametrize("missing", [pd.NA, pd.NaT, np.float64("nan"), None])
def test_missing_values_of_pandas_in_triples(missing: object) -> None:
    rows = [(i, who, missing if n % 5 == 0 else x) for n, (i, who, x) in enumerate(ROWS)]
    known = [row for n, row in enumerate(ROWS) if n % 5]
    assert spagree.measure(rows).spa.value == spagree.measure(known).spa.value


def test_rows_of_labels_are_a_matrix() -> None:
    labels = [x for _, _, x in ROWS]
    rows = [labels[n : n + 3] for n in range(0, len(labels), 3)]
    with pytest.raises(DataError, match="each row seems to hold the labels of one item"):
        spagree.measure(rows)
    assert spagree.measure(rows, format="wide").spa.value == VALUE
    assert spagree.measure(np.array(rows), format="wide").spa.value == VALUE
    assert spagree.measure([list(row) for row in zip(*rows, strict=True)], format="transposed").spa.value == VALUE
    counted = [[row.count("x"), row.count("y")] for row in rows]
    assert spagree.measure(counted, format="counts").spa.value == VALUE


def test_triples_of_a_few_numbers_are_no_matrix() -> None:
    rows = [(0, 0, 1), (0, 1, 1), (1, 0, 0), (1, 1, 1)]
    assert spagree.measure(rows).spa.value == 0.5
