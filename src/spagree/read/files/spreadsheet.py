"""Excel workbooks: one sheet, as text."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import replace
from pathlib import Path

from spagree.errors import DataError, FileError, MissingExtraError, UsageError
from spagree.read.files.archives import BROKEN_ZIP
from spagree.read.files.delimited import TextFile, column_names
from spagree.read.files.paths import ZIP, File, head
from spagree.read.files.scratch import delimited_copy
from spagree.read.tables import SAMPLE_ROWS, listed, shown
from spagree.understood import Caution

BLOCK = 1 << 20
TAG, PLACE = rb"<(?:\w+:)?", rb"""[^>]*?\br=["']"""
CELLS, CELL = re.compile(TAG + rb"c[\s/>]"), re.compile(TAG + rb"c\s" + PLACE + rb"([A-Z]{1,3})(\d{1,7})[\"']")
ROW = re.compile(TAG + rb"row\s" + PLACE + rb"(\d{1,7})[\"']")
SMALL_SHEET = 5_000_000  # a sheet that spans no more cells may be mostly empty
MOST_EMPTY = 20  # the most cells spanned per cell with content


def open_excel(file: File, header: bool, sheet: str | None, scratch: Path) -> TextFile:
    """A delimited copy of one sheet; whole numbers have no decimals.

    Excel stores numbers as floats: ids above 2⁵³ survive only if the cells are text.
    """
    sheets = _sheets(file)
    chosen = sheets[0] if sheet is None else sheet
    if chosen not in sheets:
        raise UsageError(f"--sheet {shown(chosen)}: {file.name} has no such sheet; it has {listed(sheets)}")
    others = [name for name in sheets if name != chosen]
    rows = [row for row in _rows(file, chosen) if any(row)]
    if len(rows) <= header:
        remedy = f"choose another with --sheet: {listed(sheets)}" if others else "check the file"
        raise DataError(f"{file.name}: sheet {shown(chosen)} has no rows; {remedy}")
    message = (
        f"{file.name}: sheet {shown(chosen)} was read; --sheet NAME reads another: {listed(others)}; if each sheet is "
        "one annotator: --format per-annotator"
    )
    return TextFile(
        replace(file, path=delimited_copy(rows, scratch), is_temporary=True),
        ",",
        column_names(rows[0], header),
        has_header=header,
        first_row=1 + header,
        sample=tuple(map(tuple, rows[header : header + SAMPLE_ROWS])),
        cautions=(Caution("sheets", message),) if others and sheet is None else (),
    )


def open_sheets(file: File, scratch: Path) -> list[File]:
    """Delimited copies of all sheets that have rows, each with the name of its sheet."""
    found = {name: [row for row in _rows(file, name) if any(row)] for name in _sheets(file)}
    return [
        replace(
            file, path=delimited_copy(rows, scratch), name=f"{file.name}/{name}", kind="delimited", is_temporary=True
        )
        for name, rows in found.items()
        if rows
    ]


def _sheets(file: File) -> list[str]:
    try:
        import fastexcel
    except ImportError:
        raise MissingExtraError("excel", "reading Excel files") from None
    try:
        return list(fastexcel.read_excel(file.path.read_bytes()).sheet_names)
    except fastexcel.FastExcelError as error:
        raise _damaged(file, error) from error


def _rows(file: File, sheet: str) -> list[list[str]]:
    import fastexcel
    import polars

    if head(file, len(ZIP)) == ZIP:
        _refuse_stray_cells(file)
    try:
        frame = polars.read_excel(
            io.BytesIO(file.path.read_bytes()),  # a path would be read as a pattern
            sheet_name=sheet,
            has_header=False,
            infer_schema_length=0,
            drop_empty_rows=False,
            raise_if_empty=False,
        )
    except (fastexcel.FastExcelError, polars.exceptions.PolarsError, ValueError) as error:
        raise _damaged(file, error) from error
    return [["" if value is None else str(value) for value in row] for row in frame.iter_rows()]


def _damaged(file: File, error: Exception) -> FileError:
    return FileError(f"{file.name}: not a readable Excel file: truncated or damaged ({error}); save or copy it again")


def _refuse_stray_cells(file: File) -> None:
    """Refuse a cell far from all others: the reader would allocate everything in between and crash the process."""
    try:
        with zipfile.ZipFile(file.path) as archive:
            sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
            spans = {name: _span(archive, name) for name in sheets if name.endswith(".xml")}
    except BROKEN_ZIP as error:
        raise _damaged(file, error) from error
    if any(name.endswith(".bin") for name in sheets):
        raise FileError(f"{file.name}: a binary workbook (.xlsb), which is not read; save it as .xlsx")
    for cells, rows, columns in spans.values():
        if rows * columns > max(MOST_EMPTY * cells, SMALL_SHEET):
            raise DataError(
                f"{file.name}: a sheet has {cells:,} cells spread over {rows:,} rows and {columns:,} columns; "
                "delete the stray cells far from the table"
            )


def _span(archive: zipfile.ZipFile, name: str) -> tuple[int, int, int]:
    """How many cells a sheet has, and how many rows and columns they span; reads, and so checks, the whole sheet."""
    cells = rows = columns = 0
    rest = b""
    with archive.open(name) as stream:
        while block := stream.read(BLOCK):
            text = rest + block
            cut = text.rfind(b"<") if len(block) == BLOCK else len(text)  # a tag may continue in the next block
            text, rest = text[:cut], text[cut:]
            found = CELL.findall(text)
            cells += len(CELLS.findall(text))
            rows = max([rows, *(int(row) for _, row in found), *(int(row) for row in ROW.findall(text))])
            columns = max([columns, *map(_column, {letters for letters, _ in found})])
    return cells, rows, columns


def _column(letters: bytes) -> int:
    """The number of a column.

    >>> _column(b"A"), _column(b"XFD")
    (1, 16384)
    """
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number
