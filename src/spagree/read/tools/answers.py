"""The records of an export with their locations, read strictly: every error names its location."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any

from spagree.errors import ColumnError, DataError
from spagree.read.annotations import ROW
from spagree.read.files import delimited, duckdb
from spagree.read.files.delimited import TextFile, as_utf8, refuse_bad_bytes
from spagree.read.files.json import DECODER, SOME, as_object, as_text, objects
from spagree.read.files.paths import File, new_file
from spagree.read.table import listed, shown
from spagree.read.tools.source import Source
from spagree.read.tools.tool import ReaderOptions, Value

if TYPE_CHECKING:
    import polars

Record = Mapping[str, Any]
SMALL = 64


def records(
    origin: Source,
    options: ReaderOptions,
    wanted: Callable[[str], bool] = bool,
    decode: Callable[[bytes], list[Any]] = SOME.decode,
) -> Iterator[tuple[str, int, Record]]:
    """Every record of every file, with its location for messages and its number."""
    for file in origin.files:
        yield from file_records(file, options, wanted, decode)


def file_records(
    file: File,
    options: ReaderOptions,
    wanted: Callable[[str], bool] = bool,
    decode: Callable[[bytes], list[Any]] = SOME.decode,
) -> Iterator[tuple[str, int, Record]]:
    """The records of one file: rows of a table, or objects of a JSON file."""
    if file.path.stat().st_size < SMALL and not file.path.read_bytes().strip():
        return  # a member with no annotations
    chosen = options.where
    with _bad_bytes_refused(file):
        text = as_utf8(file, options.encoding, options.scratch)
        entries = objects(text, decode) if file.kind.startswith("json") else _rows(text, options, wanted)
        yield from entries if chosen is None else chosen.filtered(entries)


@contextmanager
def _bad_bytes_refused(file: File) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError:
        refuse_bad_bytes(file)
        raise


def _rows(file: File, options: ReaderOptions, wanted: Callable[[str], bool]) -> Iterator[tuple[str, int, Record]]:
    """The rows of a delimited file as records, with the wanted columns only."""
    numbers, table = _table(file, options, wanted)
    names = [intern(name) for name in table.columns]
    for number, cells in zip(numbers, table.iter_rows(), strict=True):
        row = {name: intern(text) if text else "" for name, text in zip(names, cells, strict=True)}
        yield f"{file.name}:{number}", number, row


def tables(
    origin: Source, options: ReaderOptions, wanted: Callable[[str], bool], omitted: Sequence[str]
) -> Iterator[tuple[polars.Series, polars.DataFrame]]:
    """Each file that has rows: their numbers, and the wanted columns, in which null is an empty cell."""
    for file in origin.files:
        with _bad_bytes_refused(file):
            numbers, table = _table(as_utf8(file, options.encoding, options.scratch), options, wanted, omitted)
        if options.where is not None:
            rows = ((str(place), 0, row) for place, row in enumerate(table.iter_rows(named=True)))
            kept = [int(place) for place, _, _ in options.where.filtered(rows)]
            numbers, table = numbers[kept], table[kept]
        if len(numbers):
            yield numbers, table


def _table(
    file: File, options: ReaderOptions, wanted: Callable[[str], bool], omitted: Sequence[str] = ()
) -> tuple[polars.Series, polars.DataFrame]:
    """The numbers of the rows, as in a spreadsheet, and the wanted columns; blank rows are left out.

    ``omitted``: final columns that rows may leave out. The fast reader refuses malformed rows.
    """
    import polars

    opened = delimited.open_delimited(file, None, header=True, scratch=options.scratch)
    twice = [name for name in dict.fromkeys(opened.names) if name and opened.names.count(name) > 1]
    if twice:
        raise ColumnError(f"{file.name}: the column {shown(twice[0])} occurs twice; rename one of them")
    columns = {name: i for i, name in enumerate(opened.names) if name and (wanted(name) or options.needs(name))}
    if not columns:
        raise ColumnError(f"{file.name}: none of the columns of such an export; columns: {listed(opened.names)}")
    if not opened.sample:
        return polars.Series(), polars.DataFrame()
    positions, may_omit = [*columns.values()], bool(omitted) and opened.names[-len(omitted) :] == tuple(omitted)
    try:
        file_read = _shortened(opened, omitted) if may_omit else opened
        frame = duckdb.text_frame(file_read, positions, options.scratch)
    except DataError:
        if not may_omit:
            raise
        frame = duckdb.text_frame(_filled_up(opened, omitted, options.scratch), positions, options.scratch)
    has_cells = frame.select(polars.any_horizontal((polars.exclude(ROW) != "").fill_null(value=False))).to_series()
    if not has_cells.all():
        frame = frame.filter(has_cells)
    cells = frame.drop(ROW)
    cells.columns = [*columns]
    return frame[ROW], cells


def _shortened(opened: TextFile, omitted: Sequence[str]) -> TextFile:
    """The file with a shorter header, if its first rows leave out exactly the final columns."""
    kept = len(opened.names) - len(omitted)
    if any(len(row) != kept for row in opened.sample):
        return opened
    return replace(opened, names=opened.names[:kept], skip=opened.skip + 1, has_header=False)


def _filled_up(opened: TextFile, omitted: Sequence[str], scratch: Path) -> TextFile:
    """A copy in which rows that leave out exactly the final columns are padded with empty cells."""
    kept = len(opened.names) - len(omitted)
    path = new_file(scratch)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
        for _, record in delimited.records(opened.file, opened.delimiter, opened.skip):
            writer.writerow(record + [""] * len(omitted) if len(record) == kept else record)
    return replace(opened, file=replace(opened.file, path=path), delimiter=",", skip=0)


def part(record: Record, key: str, kind: type, place: str) -> Any:
    """A part of a record that must have a given type; absent or null becomes empty."""
    value = record.get(key) if type(record) is dict else as_object(record, place).get(key)
    if type(value) is kind:
        return value
    if value is None:
        return kind()
    if not isinstance(value, kind):
        wanted = "a list" if kind is list else "an object"
        raise DataError(f"{place}: {shown(key)} should be {wanted}, found {shown(as_text(value))}; export it again")
    return value


def cell(record: Record, name: str, place: str) -> str:
    """A field of a record as text; a missing field is refused, listing those that exist."""
    if name not in record:
        raise ColumnError(f"{place}: there is no field {shown(name)}; fields: {listed(list(record))}")
    return as_text(record[name])


def item_text(record: Record, options: ReaderOptions, place: str, *names: str) -> str | None:
    """The text of the item: the field the user named, or the first of the usual ones."""
    if options.text is not None:
        return known(cell(record, options.text, place))
    for name in names:
        if name in record and (text := known(record[name])):
            return text
    return None


def known(value: Any) -> str | None:
    """The text of a value, or None if it is empty.

    >>> known(""), known(None), known("x")
    (None, None, 'x')
    """
    return (value if type(value) is str else as_text(value)) or None


def answer(value: Any) -> Value:
    """A label as a tool writes it: a text, a list of options, or a mapping of options to booleans.

    >>> answer("yes"), answer(["b", "a"]), answer({"yes": True, "no": False}), answer([]), answer(None)
    ('yes', ('b', 'a'), 'yes', (), None)
    """
    if isinstance(value, dict) and value and all(isinstance(option, bool) for option in value.values()):
        return one_or_more(name for name, is_on in value.items() if is_on)
    if isinstance(value, list):
        if len(value) == 1 and type(value[0]) is str:
            return value[0]
        return one_or_more(as_text(option) for option in value if option is not None)
    return known(value)


def entries(value: Any, place: str) -> list[Record]:
    """A list of objects; an object of lists, as tables store it, is transposed.

    >>> entries({"user_id": ["a", "b"], "value": ["x", "y"]}, "here")
    [{'user_id': 'a', 'value': 'x'}, {'user_id': 'b', 'value': 'y'}]
    """
    if isinstance(value, dict) and all(isinstance(column, list) for column in value.values()):
        if len({len(column) for column in value.values()}) > 1:
            sizes = ", ".join(f"{len(column)} {name}" for name, column in value.items())
            raise DataError(f"{place}: lists of different lengths ({sizes}); export it again")
        return [dict(zip(value, cells, strict=True)) for cells in zip(*value.values(), strict=True)]
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise DataError(f"{place}: should be a list of objects, found {shown(as_text(value))}; export it again")
    return value


def one_or_more(options: Iterable[str]) -> Value:
    """A single option as itself; several (or none) as a tuple without repeats."""
    distinct = tuple(dict.fromkeys(options))
    return distinct[0] if len(distinct) == 1 else distinct


def from_text(text: str) -> Value:
    r"""A cell: a list if it is a JSON list, otherwise the text.

    >>> from_text('["a", "b"]'), from_text("[sic]"), from_text("")
    (('a', 'b'), '[sic]', None)
    """
    if text.startswith("[") and text.endswith("]"):
        try:
            return answer(DECODER.decode(text))
        except json.JSONDecodeError:
            return text
    return text or None
