"""Excel workbooks: the first sheet, as text."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

from spagree.errors import DataError, FileError, MissingExtraError
from spagree.read.files.delimited import SAMPLE_ROWS, TextFile
from spagree.read.files.paths import File, new_file


def open_excel(file: File, header: bool, scratch: Path) -> TextFile:
    """A delimited copy of the first sheet; whole numbers have no decimals.

    Excel keeps numbers as floats: ids above 2⁵³ survive only where the cells are text.
    """
    rows = [row for row in _sheet(file) if any(row)]
    if not rows:
        raise DataError(f"{file.name}: the first sheet is empty; move the annotations to the first sheet")
    names = [name.strip() for name in rows[0]] if header else [str(i + 1) for i in range(len(rows[0]))]
    path = new_file(scratch)
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    copy = replace(file, path=path, is_temporary=True)
    sample = tuple(tuple(row) for row in rows[header : header + SAMPLE_ROWS])
    return TextFile(copy, ",", tuple(names), has_header=header, first_row=1 + header, sample=sample)


def _sheet(file: File) -> list[list[str]]:
    try:
        import fastexcel
    except ImportError:
        raise MissingExtraError("excel", "reading Excel files") from None
    import polars

    try:
        frame = polars.read_excel(
            file.path, has_header=False, infer_schema_length=0, drop_empty_rows=False, raise_if_empty=False
        )
    except (fastexcel.FastExcelError, polars.exceptions.PolarsError, ValueError) as error:
        raise FileError(
            f"{file.name}: not a readable Excel file: truncated or damaged ({error}); save or copy it again"
        ) from error
    return [["" if value is None else str(value) for value in row] for row in frame.iter_rows()]
