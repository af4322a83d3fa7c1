"""The records of an export with their places, read strictly: a fault is refused where it stands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from spagree.errors import ColumnError, DataError
from spagree.read.files import csv_checks, delimited
from spagree.read.files.encodings import as_utf8, line_ending, refuse_bad_bytes
from spagree.read.files.json_text import DECODER, as_text
from spagree.read.files.paths import File
from spagree.read.tables import listed, shown
from spagree.read.tools.source import Source
from spagree.read.tools.tool import ReaderOptions, Value

Record = Mapping[str, Any]
SMALL = 64


def records(origin: Source, asked: ReaderOptions) -> Iterator[tuple[str, int, Record]]:
    """Every record of every file, with its place for messages and its number."""
    for file in origin.files:
        yield from file_records(file, asked)


def file_records(file: File, asked: ReaderOptions) -> Iterator[tuple[str, int, Record]]:
    """The records of one file: rows of a table, or objects of a JSON file."""
    if file.path.stat().st_size < SMALL and not file.path.read_bytes().strip():
        return  # a member who has done nothing
    read = objects if file.kind.startswith("json") else rows
    try:
        yield from read(as_utf8(file, asked.encoding, asked.scratch), asked.scratch)
    except UnicodeDecodeError:
        refuse_bad_bytes(file)
        raise


def rows(file: File, scratch: Path) -> Iterator[tuple[str, int, dict[str, str]]]:
    """The rows of a delimited file by column; the number is the line on which the row begins."""
    opened = delimited.open_delimited(file, None, header=True, scratch=scratch)
    line_ending(file)  # refuses NUL bytes
    csv_checks.refuse_ragged(file, opened.delimiter, opened.skip, opened.names, has_header=True)
    _refuse_doubled(file, opened.names)
    found = csv_checks.records(file, opened.delimiter, opened.skip)
    next(found)
    for line, cells in found:
        if any(cells):
            yield f"{file.name}:{line}", line, dict(zip(opened.names, cells, strict=False))


def _refuse_doubled(file: File, names: Sequence[str]) -> None:
    twice = [name for name in dict.fromkeys(names) if name and names.count(name) > 1]
    if twice:
        raise ColumnError(f"{file.name}: the column {shown(twice[0])} occurs twice; rename one of them")


def objects(file: File, scratch: Path) -> Iterator[tuple[str, int, Record]]:
    """The objects of a JSON file: an array, one object, or one object per line."""
    del scratch
    if file.kind == "json array":
        values = _document(file, file.path.read_text("utf-8-sig"))
        yield from ((f"{file.name}: object {i}", i, _object(each, f"{file.name}: object {i}"))
                    for i, each in enumerate(values, 1))  # fmt: skip
        return
    whole = _one_object(file)
    if whole is not None:
        yield file.name, 1, whole
        return
    with file.path.open(encoding="utf-8-sig", newline="\n") as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                place = f"{file.name}:{number}"
                yield place, number, _object(_line(place, line.strip()), place)


def _one_object(file: File) -> Record | None:
    """The object that the whole file is, if its first line is no object by itself."""
    with file.path.open(encoding="utf-8-sig", newline="\n") as stream:
        first = next((line for line in stream if line.strip()), "")
    try:
        DECODER.decode(first.strip())
    except json.JSONDecodeError:
        if first.strip() not in ("{", "") and first.rstrip().endswith("}"):
            return None  # a damaged line, which is refused with its number
        return _object(_document(file, file.path.read_text("utf-8-sig")), file.name)
    return None


def _document(file: File, text: str) -> Any:
    try:
        return DECODER.decode(text.strip())
    except json.JSONDecodeError as error:
        raise DataError(
            f"{file.name}:{error.lineno}: column {error.colno}: not JSON: {error.msg}; "
            "the export seems to be cut off or damaged: export it again"
        ) from None


def _line(place: str, line: str) -> Any:
    try:
        return DECODER.decode(line)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{place}: not JSON: {error.msg} at character {error.pos + 1}; "
            "the export seems to be cut off or damaged: export it again"
        ) from None


def _object(value: Any, place: str) -> Record:
    if not isinstance(value, dict):
        raise DataError(f"{place}: expected an object {{…}}, found {shown(as_text(value))}; export it again")
    return value


def part(record: Record, key: str, kind: type, place: str) -> Any:
    """A part of a record that must be of a kind; absent or null is an empty one."""
    value = _object(record, place).get(key)
    if value is None:
        return kind()
    if not isinstance(value, kind):
        wanted = "a list" if kind is list else "an object"
        raise DataError(f"{place}: {shown(key)} should be {wanted}, found {shown(as_text(value))}; export it again")
    return value


def cell(record: Record, name: str, place: str) -> str:
    """A field of a record as text; a field that does not exist is refused with those that do."""
    if name not in record:
        raise ColumnError(f"{place}: there is no field {shown(name)}; fields: {listed(list(record))}")
    return as_text(record[name])


def known(value: Any) -> str | None:
    """The text of a value, None where there is nothing.

    >>> known(""), known(None), known("x")
    (None, None, 'x')
    """
    return as_text(value) or None


def answer(value: Any) -> Value:
    """A label as a tool writes it: a text, a list of options, or options that are switched on.

    >>> answer("yes"), answer(["b", "a"]), answer({"yes": True, "no": False}), answer([]), answer(None)
    ('yes', ('b', 'a'), 'yes', (), None)
    """
    if isinstance(value, dict) and value and all(isinstance(each, bool) for each in value.values()):
        return one_or_more(name for name, is_on in value.items() if is_on)
    if isinstance(value, list):
        return one_or_more(as_text(each) for each in value if each is not None)
    return known(value)


def entries(value: Any, place: str) -> list[Record]:
    """A list of objects; an object of lists, which is what tables make of it, is turned round.

    >>> entries({"user_id": ["a", "b"], "value": ["x", "y"]}, "here")
    [{'user_id': 'a', 'value': 'x'}, {'user_id': 'b', 'value': 'y'}]
    """
    if isinstance(value, dict) and all(isinstance(each, list) for each in value.values()):
        if len({len(each) for each in value.values()}) > 1:
            sizes = ", ".join(f"{len(each)} {name}" for name, each in value.items())
            raise DataError(f"{place}: lists of different lengths ({sizes}); export it again")
        return [dict(zip(value, cells, strict=True)) for cells in zip(*value.values(), strict=True)]
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise DataError(f"{place}: should be a list of objects, found {shown(as_text(value))}; export it again")
    return value


def one_or_more(options: Iterable[str]) -> Value:
    """One option as itself, several (or none) as they are, each once."""
    found = tuple(dict.fromkeys(options))
    return found[0] if len(found) == 1 else found


def from_text(text: str) -> Value:
    r"""A cell: a JSON list where it is one, otherwise the text.

    >>> from_text('["a", "b"]'), from_text("[sic]"), from_text("")
    (('a', 'b'), '[sic]', None)
    """
    if text.startswith("[") and text.endswith("]"):
        try:
            return answer(DECODER.decode(text))
        except json.JSONDecodeError:
            return text
    return text or None
