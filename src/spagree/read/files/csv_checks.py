"""Explain why a delimited file cannot be read, with Python's strict csv reader.

Slow and careful, it runs only after the fast reader failed, or if line endings are mixed.
"""

from __future__ import annotations

import collections
import csv
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from spagree.errors import SHOWN_PROBLEMS, DataError
from spagree.read.files.encodings import refuse_bad_bytes
from spagree.read.files.paths import File
from spagree.read.tables import listed, shown


def records(file: File, delimiter: str, skip: int = 0) -> Iterator[tuple[int, list[str]]]:
    """Every record with the line on which it begins; raises a DataError at a broken quote."""
    usual = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    begin = 1
    try:
        with file.path.open(encoding="utf-8-sig", newline="") as stream:
            collections.deque(itertools.islice(stream, skip), maxlen=0)
            reader = csv.reader(stream, delimiter=delimiter, strict=True)
            for record in reader:
                yield from [(begin + skip, record)] if record else []
                begin = reader.line_num + 1
    except csv.Error as error:
        raise DataError(_broken_quote(file, begin + skip, str(error))) from None
    finally:
        csv.field_size_limit(usual)


def _broken_quote(file: File, line: int, reason: str) -> str:
    if "unexpected end of data" in reason:
        return (
            f'{file.name}:{line}: a quote (") is opened in this record and never closed; '
            'close it, or write a quote inside a quoted cell as ""'
        )
    place = f"{file.name}:{line}: a quoted cell continues after its closing quote"
    return f'{place} ({reason}); write a quote inside it as ""'


def refuse_ragged(file: File, delimiter: str, skip: int, names: Sequence[str], has_header: bool) -> None:
    """Raise an error that shows the first ten rows of the wrong length and counts them; nothing if all fit."""
    refuse_bad_bytes(file)
    problems: list[str] = []
    total = 0
    for position, (line, record) in enumerate(records(file, delimiter, skip)):
        if (position == 0 and has_header) or fits(record, len(names)):
            continue
        total += 1
        if total <= SHOWN_PROBLEMS:
            problems.append(_ragged(file, line, record, names))
    if total:
        raise DataError(
            f"{file.name}: {total:,} rows do not have the {len(names)} cells of the header "
            f'({listed(names)}); correct them, or put cells that hold the delimiter in quotes (")',
            problems,
            total,
        )


def fits(record: Sequence[str], width: int) -> bool:
    """Whether a record has as many cells as the header; empty cells beyond it are trailing delimiters.

    >>> fits(["a", "b", "", ""], 2), fits(["a"], 2), fits(["a", "b", "c"], 2)
    (True, False, False)
    """
    return len(record) >= width and not any(record[width:])


def _ragged(file: File, line: int, record: Sequence[str], names: Sequence[str]) -> str:
    if len(record) < len(names):
        missing = shown(names[len(record)])
        return f"{file.name}:{line}: column {missing}: too few cells: {len(record)} instead of {len(names)}"
    place = f"{file.name}:{line}: after column {shown(names[-1])}"
    extra = shown(record[len(names)])
    return f"{place}: too many cells: {len(record)} instead of {len(names)}, first {extra}"


def rewrite(file: File, delimiter: str, skip: int, width: int, target: Path) -> None:
    """A plain copy of a valid file that the fast reader cannot read.

    Commas, LF, and every cell quoted: Python 3.11 would leave a lone CR bare.
    """
    with target.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerows(record[:width] for _, record in records(file, delimiter, skip))
