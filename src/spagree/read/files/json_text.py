"""JSON lines and JSON arrays of flat objects, as rows of text: numbers stay exactly as written."""

from __future__ import annotations

import csv
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from spagree.errors import SHOWN_PROBLEMS, DataError, count
from spagree.read.files.delimited import TextFile
from spagree.read.files.encodings import as_utf8, refuse_bad_bytes
from spagree.read.files.paths import File
from spagree.read.files.scratch import delimited_copy
from spagree.read.tables import SAMPLE_ROWS, listed, shown
from spagree.understood import Caution


class Written(str):
    """A number exactly as written in the file."""

    __slots__ = ()


class _Decoder(json.JSONDecoder):
    """Strict JSON whose texts can all be written back; numbers stay as written."""

    def __init__(self) -> None:
        super().__init__(parse_int=Written, parse_float=Written, parse_constant=Written)

    def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
        try:
            value, end = super().raw_decode(s, idx)
        except RecursionError:
            raise json.JSONDecodeError("nested too deeply", s, idx) from None
        # perhaps half a character, where a text was cut: no file or engine can hold it
        if any(s.find(escape, idx, end) >= 0 for escape in ("\\ud", "\\uD")):
            try:
                json.dumps(value, ensure_ascii=False).encode()
            except (UnicodeEncodeError, RecursionError):
                raise json.JSONDecodeError("half a character (a lone surrogate)", s, idx) from None
        return value, end


DECODER = _Decoder()
NOT_BLANK = re.compile(r"\S")
MOST_KEYS = 4_096


def open_json(file: File, encoding: str | None, scratch: Path) -> TextFile:
    """Write the objects of a JSON file as a delimited copy, one column for each key that occurs.

    An empty string counts as an empty cell: missing, as in every other text file.
    """
    source = as_utf8(file, encoding, scratch)
    try:
        return _as_delimited(source, scratch)
    except UnicodeDecodeError:
        refuse_bad_bytes(source)
        raise


def _as_delimited(source: File, scratch: Path) -> TextFile:
    names: dict[str, None] = {}
    first: list[tuple[str, ...]] = []
    widths: set[int] = set()
    cautions: list[Caution] = []

    def rows() -> Iterator[tuple[str, ...]]:
        for record in _objects(source, cautions):
            names.update(dict.fromkeys(record))
            if len(names) > MOST_KEYS:
                raise DataError(
                    f"{source.name}: its objects have more than {MOST_KEYS:,} different keys; expected rows like "
                    '{"item": …, "annotator": …, "label": …}, each with the same keys'
                )
            row = tuple(as_text(record.get(name)) for name in names)
            widths.add(len(row))
            first.extend([row] if len(first) < SAMPLE_ROWS else [])
            yield row

    path = delimited_copy(rows(), scratch)
    if not names:
        raise DataError(f'{source.name}: holds no objects; expected rows like {{"item": …, "label": …}}')
    if len(widths) > 1:  # a later object introduced a new key: pad the rows before it
        with path.open(encoding="utf-8", newline="") as stream:
            path = delimited_copy((row + [""] * (len(names) - len(row)) for row in csv.reader(stream)), scratch)
    copy = replace(source, path=path, is_temporary=True)
    return TextFile(
        copy, ",", tuple(names), has_header=False, first_row=1, sample=tuple(first), cautions=tuple(cautions)
    )


def as_text(value: Any) -> str:
    """A JSON value as the text of a cell.

    >>> as_text(True), as_text(None), as_text({"b": [Written("1.50"), "x"]})
    ('true', '', '{"b":[1.50,"x"]}')
    """
    if type(value) is str:
        return value
    if value is None:
        return ""
    try:
        return str(value) if isinstance(value, str) or type(value) is int else _compact(value)
    except RecursionError:
        raise DataError("a value is nested too deeply for a label or an id; export it again") from None


def _compact(value: Any) -> str:
    """JSON without blanks, its numbers as written."""
    if isinstance(value, Written):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_compact(key)}:{_compact(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_compact, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _objects(source: File, cautions: list[Caution]) -> Iterator[dict[str, Any]]:
    """The objects; faults are collected, and the error shows the first ten and counts the rest."""
    problems: list[str] = []
    total = 0
    for place, value in _records(source, cautions):
        texts = [*value, *value.values()] if isinstance(value, dict) else ["\0"]
        if "\0" not in "".join(text for text in texts if isinstance(text, str)):
            yield value
            continue
        total += 1
        problems += [f"{source.name}:{place}: {_fault(value)}"] if total <= SHOWN_PROBLEMS else []
    if total:
        raise DataError(
            f"{source.name}: {count(total, 'row is not a JSON object', 'rows are not JSON objects')}; correct the file",
            problems,
            total,
        )


def _fault(value: Any) -> str:
    if isinstance(value, json.JSONDecodeError):
        return f"not JSON: {value.msg} at character {value.pos + 1}"
    if isinstance(value, dict):
        return "NUL character in a value"
    return f"expected an object {{…}}, found {shown(as_text(value))}"


def _records(source: File, cautions: list[Caution]) -> Iterator[tuple[object, Any]]:
    """The elements of an array, one object per line, objects over several lines, or one that wraps all rows."""
    if source.kind == "json array":
        values = document(source, "is the file complete? One object per line (JSON lines, .jsonl) works too")
        return ((f"object {number}", value) for number, value in enumerate(values, 1))
    lines = _lines(source)
    first = list(itertools.islice(lines, 2))
    if len(first) > 1 and isinstance(first[0][1], dict):
        return itertools.chain(first, lines)
    values = _spread(source)
    if len(values) == 1 and isinstance(values[0], dict):
        return iter(_unwrapped(source, values[0], cautions))
    return enumerate(values, 1) if values else _lines(source)


def _spread(source: File) -> list[Any]:
    """The values of a file, however they are split into lines; none if it is not JSON."""
    text = source.path.read_text(encoding="utf-8-sig")
    values, place = [], 0
    try:
        while start := NOT_BLANK.search(text, place):
            value, place = DECODER.raw_decode(text, start.start())
            values.append(value)
    except json.JSONDecodeError:
        return []
    return values


def _unwrapped(source: File, value: dict[str, Any], cautions: list[Caution]) -> list[tuple[object, Any]]:
    """The rows inside {"data": […]}, or of columns of one length; a plain object is a row."""
    rows = {key: part for key, part in value.items() if isinstance(part, list) and part and isinstance(part[0], dict)}
    if len(rows) == 1:
        key, objects = next(iter(rows.items()))
        cautions.append(Caution("json_rows", f"{source.name}: rows were read from {shown(key)}"))
        return list(enumerate(objects, 1))
    columns = [part for part in value.values() if isinstance(part, list)]
    if not rows and columns and len(columns) == len(value) and len(set(map(len, columns))) == 1:
        return [(n, dict(zip(value, cells, strict=True))) for n, cells in enumerate(zip(*columns, strict=True), 1)]
    if rows or (value and all(isinstance(part, (list, dict)) for part in value.values())):
        raise DataError(
            f"{source.name}: one object of {listed(list(value))}, not a list of rows; write one object per annotation "
            '(in pandas: to_json(orient="records"))'
        )
    return [(1, value)]


def _lines(source: File) -> Iterator[tuple[int, Any]]:
    """The value of each line, or the error where it is not JSON."""
    with source.path.open(encoding="utf-8-sig", newline="\n") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                yield number, DECODER.decode(line.strip())
            except json.JSONDecodeError as error:
                yield number, error


def document(file: File, remedy: str) -> Any:
    """The whole file as one value."""
    try:
        return DECODER.decode(file.path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        place = f"{file.name}:{error.lineno}: column {error.colno}"
        raise DataError(f"{place}: not JSON: {error.msg}; {remedy}") from None
