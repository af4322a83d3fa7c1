"""Excel workbooks: one sheet, as text."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars

from spagree.errors import ColumnError, DataError, FileError, MissingExtraError, UsageError, Warning, count, opt
from spagree.read import columns
from spagree.read.annotations import ITEM, LABEL
from spagree.read.files.delimited import TextFile, delimited_copy
from spagree.read.files.paths import ZIP, File, head, opened_zip
from spagree.read.table import SAMPLE_ROWS, listed, shown
from spagree.read.words import plain_name

BLOCK = 1 << 20
TAG, PLACE = rb"<(?:\w+:)?", rb"""[^>]*?\br=["']"""
CELLS, CELL = re.compile(TAG + rb"c[\s/>]"), re.compile(TAG + rb"c\s" + PLACE + rb"([A-Z]{1,3})(\d{1,7})[\"']")
ROW = re.compile(TAG + rb"row\s" + PLACE + rb"(\d{1,7})[\"']")
HIDDEN = re.compile(TAG + rb"(?:row|col)\s[^>]*?\bhidden=[\"'](?:1|true)[\"'][^>]*>")
FIRST = re.compile(rb"""\bmin=["'](\d{1,5})["']""")  # the first of several columns
SMALL_SHEET = 5_000_000  # a sheet that spans no more cells may be mostly empty
MOST_EMPTY = 20  # the most cells spanned per cell with content


def open_excel(file: File, header: bool, sheet: str | None, scratch: Path) -> TextFile:
    """A delimited copy of one sheet; whole numbers have no decimals.

    Excel stores numbers as floats: ids above 2⁵³ survive only if the cells are text.
    """
    sheets = _sheets(file)
    chosen = sheets[0] if sheet is None else sheet
    if chosen not in sheets:
        raise UsageError(f"{opt.sheet(chosen)}: {file.name} has no such sheet; it has {listed(sheets)}")
    others = [name for name in sheets if name != chosen]
    hidden = _hidden(file)
    rows = [row for row in _rows(file, chosen) if any(row)]
    if len(rows) <= header:
        remedy = f"choose another with {opt.sheet}: {listed(sheets)}" if others else "check the file"
        raise DataError(f"{file.name}: sheet {shown(chosen)} has no rows; {remedy}")
    if sheet is None and others and not _is_table(rows):
        tables = [name for name in others if _is_table(_rows(file, name))]
        if tables:
            remedy = f"use {opt.sheet(tables[0])}" + (f", or another of {listed(tables[1:])}" if tables[1:] else "")
            raise DataError(f"{file.name}: sheet {shown(chosen)} has a single column and is no table; {remedy}")
    warnings = []
    if hidden:
        number = count(hidden, "hidden row or column", "hidden rows or columns")
        said = f"the workbook has {number}, perhaps by a filter, and hidden cells are read too"
        remedy = "if they do not count, copy what is visible to a new workbook"
        warnings.append(Warning("hidden_rows", f"{file.name}: {said}; {remedy}"))
    message = (
        f"{file.name}: sheet {shown(chosen)} was read; {opt.sheet} NAME reads another: {listed(others)}; "
        f"if each sheet is one annotator: {opt.format('per-annotator')}"
    )
    return TextFile(
        file.copied(delimited_copy(rows, scratch)),
        ",",
        tuple(name.strip() if header else str(i) for i, name in enumerate(rows[0], 1)),
        has_header=header,
        first_row=1 + header,
        sample=tuple(map(tuple, rows[header : header + SAMPLE_ROWS])),
        warnings=(*warnings, *([Warning("sheets", message)] if others and sheet is None else [])),
    )


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a row has several cells."""
    return any(sum(map(bool, row)) > 1 for row in rows)


def open_sheets(file: File, scratch: Path, warnings: list[Warning]) -> list[File]:
    """Delimited copies of all sheets that hold a table, each with the name of its sheet.

    A sheet without a header like that of the others holds notes; one that shares a column with them is refused.
    """
    _hidden(file)
    sheets = {name: rows for name in _sheets(file) if (rows := [row for row in _rows(file, name) if any(row)])}
    headers = {name: rows[0] for name, rows in sheets.items()}
    sizes = Counter(plain_name(name) for names in headers.values() for name in set(names) if name)
    usual = {name for name, size in sizes.items() if 2 * size > len(headers)}
    shared = {name: len(usual & set(map(plain_name, names))) for name, names in headers.items()}

    def has_roles(names: Sequence[str]) -> bool:
        """Whether item and label can be found by their names."""
        try:
            return len(columns.resolve(names, {}, (ITEM, LABEL)).positions) > 1
        except ColumnError:  # several could be
            return True

    strange = [name for name, names in headers.items() if shared[name] <= 1 < len(usual) and not has_roles(names)]
    doubtful = [name for name in strange if shared[name]]
    if doubtful:
        raise DataError(
            f"{file.name}: sheet {shown(doubtful[0])} lacks columns that the other sheets have "
            f"({listed(sorted(usual), 5)}), so it is no annotator's; delete it from the workbook"
        )
    if strange:
        message = f"{file.name}: not read, because no columns as in the other sheets: {listed(strange)}"
        warnings.append(Warning("sheets", message))
    return [
        File(delimited_copy(rows, scratch), f"{file.name}/{name}", "delimited", is_temporary=True)
        for name, rows in sheets.items()
        if name not in strange
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


def _hidden(file: File) -> int:
    """How many rows and columns are hidden.

    Refuses a cell far from all others: the reader would allocate everything in between and crash the process.
    """
    if head(file, len(ZIP)) != ZIP:
        return 0
    with opened_zip(file.path, file.name) as archive:
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
        spans = {name: _span(archive, name) for name in sheets if name.endswith(".xml")}
    if any(name.endswith(".bin") for name in sheets):
        raise FileError(f"{file.name}: a binary workbook (.xlsb), which is not read; save it as .xlsx")
    for cells, rows, width, _ in spans.values():
        if rows * width > max(MOST_EMPTY * cells, SMALL_SHEET):
            raise DataError(
                f"{file.name}: a sheet has {cells:,} cells spread over {rows:,} rows and {width:,} columns; "
                "delete the stray cells far from the table"
            )
    return sum(hidden for *_, hidden in spans.values())


def _span(archive: zipfile.ZipFile, name: str) -> tuple[int, int, int, int]:
    """How many cells a sheet has, how many rows and columns they span, and how many of these are hidden.

    Reads, and so checks, the whole sheet.
    """
    cells = rows = width = 0
    hidden: list[int] = []  # the first of the hidden columns; 0 for a row
    rest = b""
    with archive.open(name) as stream:
        while block := stream.read(BLOCK):
            text = rest + block
            cut = text.rfind(b"<") if len(block) == BLOCK else len(text)  # a tag may continue in the next block
            text, rest = text[:cut], text[cut:]
            places = CELL.findall(text)
            cells += len(CELLS.findall(text))
            rows = max([rows, *(int(row) for _, row in places), *(int(row) for row in ROW.findall(text))])
            for letters in {letters for letters, _ in places}:  # A is 1, XFD is 16384
                width = max(width, sum((letter - 64) * 26**i for i, letter in enumerate(reversed(letters))))
            hidden += [int(first[1]) if (first := FIRST.search(tag)) else 0 for tag in HIDDEN.findall(text)]
    return cells, rows, width, sum(first <= width for first in hidden)
