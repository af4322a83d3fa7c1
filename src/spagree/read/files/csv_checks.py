"""Explain why a delimited file cannot be read, with Python's strict csv reader.

Slow and careful, it runs only after the fast reader failed, or if line endings are mixed.
"""

from __future__ import annotations

import collections
import csv
import itertools
import sys
from collections.abc import Iterator, Sequence

from spagree.errors import SHOWN_PROBLEMS, DataError, count
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
        place = f"{file.name}:{begin + skip}"
        if "unexpected end of data" in str(error):
            raise DataError(
                f'{place}: a quote (") is opened in this record and never closed; '
                'close it, or write a quote inside a quoted cell as ""'
            ) from None
        raise DataError(
            f'{place}: a quoted cell continues after its closing quote ({error}); write a quote inside it as ""'
        ) from None
    finally:
        csv.field_size_limit(usual)


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
            problems.append(_ragged(f"{file.name}:{line}", record, names))
    if total:
        raise DataError(
            f"{file.name}: {count(total, 'row does', 'rows do')} not have the {count(len(names), 'cell')} of the "
            f'header ({listed(names)}); correct the file, or put cells that hold the delimiter in quotes (")',
            problems,
            total,
        )


def fits(record: Sequence[str], width: int) -> bool:
    """Whether a record has as many cells as the header; empty cells beyond it are trailing delimiters.

    >>> fits(["a", "b", "", ""], 2), fits(["a"], 2), fits(["a", "b", "c"], 2)
    (True, False, False)
    """
    return len(record) >= width and not any(record[width:])


def _ragged(place: str, record: Sequence[str], names: Sequence[str]) -> str:
    sizes = f"{len(record)} instead of {len(names)}"
    if len(record) < len(names):
        return f"{place}: column {shown(names[len(record)])}: too few cells: {sizes}"
    return f"{place}: after column {shown(names[-1])}: too many cells: {sizes}, first {shown(record[len(names)])}"
