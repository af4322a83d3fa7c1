"""JSON lines and JSON arrays: as rows of text, or object by object; numbers stay as written.

A fast parser reads the values; what it refuses (NaN, lone surrogates, faults) the careful one reads or explains.
Lines are read one by one, an array as a whole: its text is in memory, its objects are decoded one by one.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec

from spagree.errors import SHOWN_PROBLEMS, DataError, Warning, count, opt
from spagree.read.files.delimited import TextFile, as_utf8, delimited_copy, records, refuse_bad_bytes
from spagree.read.files.paths import File
from spagree.read.table import SAMPLE_ROWS, listed, shown


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


def open_json(file: File, encoding: str | None, scratch: Path, field: str = "") -> TextFile:
    """Write the objects of a JSON file as a delimited copy, one column for each key that occurs.

    Of several lists in one object, the rows are those with ``field``. An empty string counts as an empty cell:
    missing, as in every other text file.
    """
    source = as_utf8(file, encoding, scratch)
    names: dict[str, None] = {}
    first: list[tuple[str, ...]] = []
    widths: set[int] = set()
    warnings: list[Warning] = []

    def rows() -> Iterator[tuple[str, ...]]:
        for record in _objects(source, warnings, field):
            names.update(dict.fromkeys(record))
            if len(names) > MOST_KEYS:
                raise DataError(
                    f"{source.name}: its objects have more than {MOST_KEYS:,} different keys; expected rows like "
                    '{"item": …, "annotator": …, "label": …}, each with the same keys'
                )
            row = tuple(as_text(record.get(name)) for name in names) or ("",)
            widths.add(len(row))
            first.extend([row] if len(first) < SAMPLE_ROWS else [])
            yield row

    try:
        path = delimited_copy(rows(), scratch)
    except UnicodeDecodeError:
        refuse_bad_bytes(source)
        raise
    if not names:
        raise DataError(f'{source.name}: holds no objects; expected rows like {{"item": …, "label": …}}')
    copy = source.copied(path)
    if len(widths) > 1:  # a later object introduced a new key: pad the rows before it
        padded = (row + [""] * (len(names) - len(row)) for _, row in records(copy, ","))
        copy = source.copied(delimited_copy(padded, scratch))
    return TextFile(
        copy, ",", tuple(names), has_header=False, first_row=1, sample=tuple(first), warnings=tuple(warnings)
    )


def as_text(value: Any) -> str:
    """A JSON value as the text of a cell, without blanks, its numbers as written.

    >>> as_text(True), as_text(None), as_text({"b": [Written("1.50"), "x"]})
    ('true', '', '{"b":[1.50,"x"]}')
    """
    if isinstance(value, str):
        return value if type(value) is str else str(value)
    try:
        return "" if value is None else _compact(value)
    except RecursionError:
        raise DataError("a value is nested too deeply for a label or an id; export it again") from None


def _compact(value: Any) -> str:
    if isinstance(value, Written):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_compact(key)}:{_compact(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_compact, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _objects(source: File, warnings: list[Warning], field: str) -> Iterator[dict[str, Any]]:
    """The rows; faults are collected, and the error shows the first and counts the rest."""
    problems: list[str] = []
    total = 0
    is_array, remedy = source.kind == "json array", "is the file complete?"
    values = _values(source, f"{remedy} One object per line (JSON lines, .jsonl) works too" if is_array else remedy)
    first = list(islice(values, 2))
    is_alone = not is_array and len(first) == 1 and isinstance(first[0][2], dict)
    inside = _unwrapped(source, first[0][2], warnings, field) if is_alone else []
    for place, _, value in inside or chain(first, values):
        if isinstance(value, json.JSONDecodeError):
            fault = f"not JSON: {value.msg} at character {value.pos + 1}"
        elif not isinstance(value, dict):
            fault = f"expected an object {{…}}, found {shown(as_text(value))}"
        elif "\0" in "".join(text for text in (*value, *value.values()) if isinstance(text, str)):
            fault = "NUL character in a value"
        else:
            yield value
            continue
        total += 1
        problems += [f"{place}: {fault}"] if total <= SHOWN_PROBLEMS else []
    if total:
        raise DataError(
            f"{source.name}: {count(total, 'row is not a JSON object', 'rows are not JSON objects')}; correct the file",
            problems,
            total,
        )


def _unwrapped(source: File, value: dict[str, Any], warnings: list[Warning], field: str) -> list[Entry]:
    """The rows inside {"data": […]}, {id: row, …}, or of columns of one length; none in an object that is a row."""
    rows = {key: part for key, part in value.items() if isinstance(part, list) and part and isinstance(part[0], dict)}
    if len(rows) > 1:
        rows = {
            key: part for key, part in rows.items() if field in part[0] or field.partition(".")[0] in part[0]
        } or rows
    entries = list(value.values())
    numbers = [*map(str, range(len(entries[0])))] if entries and isinstance(entries[0], dict) else []
    if numbers and all(isinstance(entry, dict) and [*entry] == numbers for entry in entries):  # as pandas writes frames
        return [(f"{source.name}: row {n}", 0, {name: part[n] for name, part in value.items()}) for n in numbers]
    if len(entries) > 1 and all(isinstance(entry, dict) for entry in entries) and set.intersection(*map(set, entries)):
        ids = "their keys are column 'id'" if "id" not in entries[0] else "their keys were not used"
        warnings.append(Warning("json_rows", f"{source.name}: every object in the file was read as a row; {ids}"))
        return [(f"{source.name}:{shown(key)}", 0, {"id": key, **entry}) for key, entry in value.items()]
    kinds = {frozenset(each) if isinstance(each, dict) else None for part in rows.values() for each in part}
    if len(rows) == len(value) > 1 and len(kinds) == 1:
        warnings.append(Warning("json_rows", f"{source.name}: rows were read from lists; their keys are column 'id'"))
        return [(f"{source.name}:{shown(key)}", 0, {"id": key, **each}) for key, part in rows.items() for each in part]
    if len(rows) == 1:
        key, objects = next(iter(rows.items()))
        warnings.append(Warning("json_rows", f"{source.name}: rows were read from {shown(key)}"))
        return [(f"{source.name}: object {number}", number, each) for number, each in enumerate(objects, 1)]
    columns = [part for part in value.values() if isinstance(part, list)]
    if not rows and columns and len(columns) == len(value) and len(set(map(len, columns))) == 1:
        each = (dict(zip(value, cells, strict=True)) for cells in zip(*columns, strict=True))
        return [(f"{source.name}: object {number}", number, row) for number, row in enumerate(each, 1)]
    if rows or (value and all(isinstance(part, (list, dict)) for part in value.values())):
        paths = [path for objects in rows.values() for path in _lists_inside(objects[0])]
        ways = (f"{opt.format('lists')} {opt.label(path)}" for path in paths)
        raise DataError(
            f"{source.name}: one object of {listed(list(value))}, not a list of rows; write one object per annotation "
            '(in pandas: to_json(orient="records"))',
            [f"if {shown(path)} holds all labels of an item: {way}" for path, way in zip(paths, ways, strict=True)][:3],
        )
    return []


def _lists_inside(value: dict[str, Any], path: str = "") -> Iterator[str]:
    """The paths to lists of texts or numbers in an object."""
    for name, part in value.items():
        if isinstance(part, dict):
            yield from _lists_inside(part, f"{path}{name}.")
        elif isinstance(part, list) and len(part) > 1 and not isinstance(part[0], (dict, list)):
            yield path + name


Entry = tuple[str, int, Any]  # place for messages, number, object
FAST = msgspec.json.Decoder(float_hook=Written)  # whole numbers of any length are exact anyway
PARTS = msgspec.json.Decoder(list[msgspec.Raw])
REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
DAMAGED = "the export seems to be truncated or damaged: export it again"


def objects(file: File) -> Iterator[Entry]:
    """The objects of an array, one per line, or the single object that is the whole file."""
    for place, number, value in _values(file, DAMAGED):
        if isinstance(value, json.JSONDecodeError):
            raise DataError(f"{place}: not JSON: {value.msg} at character {value.pos + 1}; {DAMAGED}")
        yield place, number, as_object(value, place)


def _values(file: File, remedy: str) -> Iterator[Entry]:
    """The elements of an array, the values of lines, or values over several lines; an error where one is not JSON."""
    if file.kind == "json array":
        return ((f"{file.name}: object {n}", n, value) for n, value in enumerate(_array(file, remedy), 1))
    lines = _lines(file)
    first = list(islice(lines, 1))
    if not first or not isinstance(first[0][2], json.JSONDecodeError):
        return chain(first, lines)
    text, values, place = file.path.read_text(encoding="utf-8-sig"), list[Any](), 0
    try:
        while start := NOT_BLANK.search(text, place):
            value, place = DECODER.raw_decode(text, start.start())
            values.append(value)
    except json.JSONDecodeError as error:
        line = text.lstrip().partition("\n")[0].rstrip()
        if line != "{" and line.endswith("}"):  # a damaged line
            return chain(first, lines)
        raise _not_json(file, error, remedy) from None
    return (
        (file.name if len(values) == 1 else f"{file.name}: object {n}", n, each) for n, each in enumerate(values, 1)
    )


def _lines(file: File) -> Iterator[Entry]:
    """The value of each line, or the error where it is not JSON."""
    with file.path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            text = line.removeprefix(BOM_UTF8).strip() if number == 1 else line.strip()
            if not text:
                continue
            try:
                value = FAST.decode(text)
            except REFUSED:
                try:
                    value = DECODER.decode(text.decode("utf-8"))
                except json.JSONDecodeError as error:
                    value = error
            yield f"{file.name}:{number}", number, value


def _array(file: File, remedy: str) -> Iterator[Any]:
    """The elements; from the first that the fast parser refuses, the careful one goes on."""
    done = 0
    try:
        for part in PARTS.decode(file.path.read_bytes().removeprefix(BOM_UTF8)):
            yield FAST.decode(part)
            done += 1
    except REFUSED:
        try:
            whole = DECODER.decode(file.path.read_text(encoding="utf-8-sig"))
        except json.JSONDecodeError as error:
            raise _not_json(file, error, remedy) from None
        yield from islice(whole, done, None)


def _not_json(file: File, error: json.JSONDecodeError, remedy: str) -> DataError:
    return DataError(f"{file.name}:{error.lineno}: column {error.colno}: not JSON: {error.msg}; {remedy}")


def as_object(value: Any, place: str) -> Any:
    """The value, which must be an object."""
    if not isinstance(value, dict):
        raise DataError(f"{place}: expected an object {{…}}, found {shown(as_text(value))}; export it again")
    return value
