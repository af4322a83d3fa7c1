"""CSV, TSV and their relatives: the dialect is found here, the rows are read by duckdb as text."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import IO

from spagree.errors import DataError, count
from spagree.read.files import csv_checks
from spagree.read.files.encodings import as_utf8, line_ending, refuse_bad_bytes
from spagree.read.files.paths import File
from spagree.read.files.scratch import delimited_copy
from spagree.read.tables import SAMPLE_ROWS, shown
from spagree.understood import Caution

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
EXPECTED = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".psv": "|"}
SEPARATOR = re.compile(r'"?sep=.?"?\s*')  # the line that tells Excel the separator
HEAD = 1 << 16
FEWEST_ROWS = 5  # rows that begin with a number the header does not name


@dataclass(frozen=True, slots=True)
class TextFile:
    """A delimited file whose dialect is known: enough to read any of its columns.

    ``first_row`` is the number of the first data row: 2 under a header, as spreadsheets count.
    """

    file: File
    delimiter: str
    names: tuple[str, ...]
    skip: int = 0
    has_header: bool = True
    first_row: int = 2
    newline: str = "\n"
    has_long_comments: bool = False
    sample: tuple[tuple[str, ...], ...] = ()
    cautions: tuple[Caution, ...] = ()


def open_delimited(file: File, encoding: str | None, header: bool, scratch: Path) -> TextFile:
    """Find encoding, comment lines, delimiter and header, reading only the start of the file."""
    copy = as_utf8(file, encoding, scratch)
    try:
        with copy.path.open(encoding="utf-8-sig", newline="") as stream:
            return _opened(copy, stream, header)
    except UnicodeDecodeError:
        refuse_bad_bytes(copy)
        raise


def _opened(file: File, stream: IO[str], header: bool) -> TextFile:
    skipped = _skip_comments(stream)
    start = stream.tell()
    delimiter = sniff(stream.read(HEAD), EXPECTED.get(file.extension, ","))
    stream.seek(start)
    sample = list(itertools.islice(_rows(stream, delimiter), SAMPLE_ROWS + 1))
    if not sample:
        raise DataError(f"{file.name}: holds no rows, only blank or comment lines; check the export")
    cautions = [*_cautions(file, delimiter, skipped)]
    if header and _has_row_names(sample):
        sample[0].insert(0, "")
        message = "every row has one cell more than the header; the first was read as its number, as R writes it"
        cautions.append(Caution("row_names", f"{file.name}: {message}"))
    return TextFile(
        file,
        delimiter,
        column_names(sample[0], header),
        len(skipped),
        header,
        first_row=len(skipped) + 1 + header,
        has_long_comments=sum(map(len, skipped)) > HEAD,
        sample=tuple(map(tuple, sample[header:])),
        cautions=tuple(cautions),
    )


def _has_row_names(rows: Sequence[Sequence[str]]) -> bool:
    """Whether all rows begin with an ascending number that the header has no name for, as R writes row names.

    >>> _has_row_names([["item", "label"], *([str(n), "i1", "yes"] for n in range(1, 7))])
    True
    """
    header, *below = rows
    if len(below) < FEWEST_ROWS or any(len(row) != len(header) + 1 or not row[-1] for row in below):
        return False
    numbers = [int(row[0]) for row in below if row[0].isdecimal()]
    return len(numbers) == len(below) and all(one < two for one, two in pairwise(numbers))


def column_names(first: Sequence[str], header: bool) -> tuple[str, ...]:
    """The names in the first row, or the numbers of the columns.

    >>> column_names(["item ", "label"], True), column_names(["i1", "yes"], False)
    (('item', 'label'), ('1', '2'))
    """
    return tuple(name.strip() if header else str(i) for i, name in enumerate(first, 1))


def _skip_comments(stream: IO[str]) -> list[str]:
    """Skip lines above the header that begin with #, are blank, or tell Excel the separator."""
    skipped: list[str] = []
    while True:
        start = stream.tell()
        line = stream.readline()
        if not line or (line.strip() and not line.startswith("#") and not (SEPARATOR.fullmatch(line) and not skipped)):
            stream.seek(start)
            return skipped
        skipped.append(line)


def _rows(stream: IO[str], delimiter: str) -> Iterator[list[str]]:
    """The first records, parsed leniently; the file is checked when it is loaded."""
    try:
        yield from (row for row in csv.reader(stream, delimiter=delimiter) if row)
    except csv.Error:
        return


def sniff(text: str, expected: str) -> str:
    r"""The delimiter that splits the first lines into the most even rows.

    >>> sniff("a;b\n1,5;2\n", ",")
    ';'
    """
    scores = {delimiter: _evenness(text, delimiter) for delimiter in DELIMITERS}
    best = max(scores, key=lambda delimiter: (scores[delimiter], delimiter == expected))
    return best if scores[best][0] > 0 else expected


def _evenness(text: str, delimiter: str) -> tuple[float, int]:
    """The share of rows as long as the first, and that length; a single column proves nothing."""
    rows = list(itertools.islice(_rows(io.StringIO(text, newline=""), delimiter), 100))
    if len(rows) > 1 and len(text) >= HEAD:
        rows.pop()
    if not rows or len(rows[0]) == 1:
        return (0.0, 0)
    if _has_row_names(rows):
        return (1.0, len(rows[0]))
    return (sum(csv_checks.fits(row, len(rows[0])) for row in rows) / len(rows), len(rows[0]))


def _cautions(file: File, delimiter: str, skipped: Sequence[str]) -> Iterator[Caution]:
    comments = [line.strip() for line in skipped if line.strip()]
    if comments:
        lines = count(len(comments), "comment line")
        message = f"{file.name}: skipped {lines} above the header, first {shown(comments[0])}"
        yield Caution("comment_lines", message)
    expected = EXPECTED.get(file.extension, delimiter)
    if expected != delimiter:
        wrong = f"separated by {DELIMITERS[delimiter]}, not by {DELIMITERS[expected]} as the file name suggests"
        yield Caution("delimiter", f"{file.name}: cells are {wrong}")


def plain(opened: TextFile, scratch: Path) -> TextFile:
    """The file itself, or a copy where line endings are mixed or comments long; refuses NUL bytes."""
    ending = line_ending(opened.file)
    return tidied(opened, scratch) if ending is None or opened.has_long_comments else replace(opened, newline=ending)


def tidied(opened: TextFile, scratch: Path) -> TextFile:
    """A copy that the fast reader can read; the careful reader reports real faults."""
    csv_checks.refuse_ragged(opened.file, opened.delimiter, opened.skip, opened.names, opened.has_header)
    records = csv_checks.records(opened.file, opened.delimiter, opened.skip)
    path = delimited_copy((record[: len(opened.names)] for _, record in records), scratch)
    copy = replace(opened.file, path=path, is_temporary=True)
    return replace(opened, file=copy, delimiter=",", skip=0, newline="\n")
