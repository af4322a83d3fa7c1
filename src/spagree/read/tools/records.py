"""The records of an export with their locations, read strictly: every error names its location."""

from __future__ import annotations

import io
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from sys import intern
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

import polars

from spagree.errors import ColumnError, DataError, count, listed, shown
from spagree.read.annotations import ROW
from spagree.read.files import delimited, duckdb
from spagree.read.files.delimited import TextFile, as_utf8, refuse_bad_bytes
from spagree.read.files.json import as_text, objects
from spagree.read.files.paths import File, opened_zip, with_kind
from spagree.read.tools.fields import Record
from spagree.read.tools.source import ARCHIVE, FOLDER, Source
from spagree.read.tools.tool import ReaderOptions

SMALL = 64


def records(
    source: Source, options: ReaderOptions, wanted: Callable[[str], bool] = bool, omitted: Sequence[str] = ()
) -> Iterator[Record]:
    """Every record of every file."""
    for file in source.files:
        yield from file_records(file, options, wanted, omitted)


def file_records(
    file: File, options: ReaderOptions, wanted: Callable[[str], bool] = bool, omitted: Sequence[str] = ()
) -> Iterator[Record]:
    """The records of one file: rows of a table, typed or as text, or objects of a JSON file.

    ``wanted``: which columns of a table; ``omitted``: its final columns that rows may leave out.
    """
    if file.path.stat().st_size < SMALL and not file.path.read_bytes().strip():
        return  # a member with no annotations
    chosen = options.where
    if file.kind in ("parquet", "arrow"):
        yield from _column_rows(file) if chosen is None else chosen.filtered(_column_rows(file))
        return
    try:
        text = as_utf8(file, options.encoding, options.scratch)
        every = (Record(each, place, number) for place, number, each in objects(text))
        entries = every if file.kind.startswith("json") else _rows(text, options, wanted, omitted)
        yield from entries if chosen is None else chosen.filtered(entries)
    except UnicodeDecodeError:
        refuse_bad_bytes(file)
        raise


def _rows(
    file: File, options: ReaderOptions, wanted: Callable[[str], bool], omitted: Sequence[str]
) -> Iterator[Record]:
    """The rows that are not blank, numbered as in a spreadsheet; the fast reader refuses malformed ones."""
    opened = delimited.open_delimited(file, None, header=True, scratch=options.scratch)
    twice = [name for name in dict.fromkeys(opened.names) if name and opened.names.count(name) > 1]
    if twice:
        raise ColumnError(f"{file.name}: the column {shown(twice[0])} occurs twice; rename one of them")
    columns = {name: i for i, name in enumerate(opened.names) if name and (wanted(name) or options.needs(name))}
    if not columns:
        raise ColumnError(f"{file.name}: none of the columns of such an export; columns: {listed(opened.names)}")
    if not opened.sample:
        return
    if omitted and opened.names[-len(omitted) :] == tuple(omitted):
        opened = _filled_up(opened, omitted, options.scratch)
    frame = duckdb.text_frame(opened, [*columns.values()], options.scratch)
    options.warnings.extend((*opened.warnings, *opened.noticed))
    names = [intern(name) for name in columns]
    for number, cells in zip(frame[ROW], frame.drop(ROW).iter_rows(), strict=True):
        if any(cells):
            row = {name: intern(text) if text else "" for name, text in zip(names, cells, strict=True)}
            yield Record(row, f"{file.name}:{number}", number)


def _filled_up(opened: TextFile, omitted: Sequence[str], scratch: Path) -> TextFile:
    """A copy in which rows that leave out exactly the final columns are padded with empty cells."""
    kept, empty = len(opened.names) - len(omitted), [""] * len(omitted)
    every = delimited.records(opened.file, opened.delimiter, opened.skip)
    path = delimited.delimited_copy((row + empty if len(row) == kept else row for _, row in every), scratch)
    return replace(opened, file=opened.file.copied(path), delimiter=",", skip=0)


def members(source: Source, *endings: str, may_be_empty: bool = False) -> list[File]:
    """The files of a source; of a folder those with these endings, where empty ones are refused or left out."""
    if source.shape != FOLDER:
        return [*source.files]
    paths = [Path(source.path) / name for name in source.keys if name.endswith(endings)]
    return [with_kind(File(path, str(path))) for path in paths if not may_be_empty or path.stat().st_size]


def inside(source: Source, *suffixes: str) -> Iterator[tuple[PurePosixPath, str, bytes]]:
    """The files with these endings in a folder or an archive, or those named: path in it, place, content."""
    names = [name for name in source.keys if name.lower().endswith(suffixes)]
    if source.shape == FOLDER:
        files = [(name, f"{source.name}/{name}", Path(source.path) / name) for name in names]
    else:
        files = [(Path(file.name).name, file.name, file.path) for file in source.files]
    if source.shape != ARCHIVE:
        yield from ((PurePosixPath(name), place, path.read_bytes()) for name, place, path in files)
        return
    with opened_zip(Path(source.path), source.name) as archive:
        yield from ((PurePosixPath(name), f"{source.name}/{name}", archive.read(name)) for name in names)


VERSION = re.compile(rb"""^((?:\xef\xbb\xbf)?<\?xml\s+version=["'])1\.1""")  # expat reads 1.0, and they hardly differ


def elements(place: str, content: bytes) -> list[tuple[str, Mapping[str, str], int, str]]:
    """What a document of XML consists of, with its line: the starts of elements, their ends (``/name``), and texts.

    Names are without their namespaces; a text has none.
    """
    parser, found = ParserCreate(namespace_separator=" "), list[tuple[str, Mapping[str, str], int, str]]()

    def add(name: str, attributes: Mapping[str, str], text: str = "") -> None:
        own = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        found.append((name, own, parser.CurrentLineNumber, text))

    parser.StartElementHandler = lambda name, attributes: add(name.rpartition(" ")[2], attributes)
    parser.CharacterDataHandler = lambda text: add("", {}, text)
    parser.EndElementHandler = lambda name: add(f"/{name.rpartition(' ')[2]}", {})
    try:
        parser.ParseFile(io.BytesIO(VERSION.sub(rb"\g<1>1.0", content, count=1)))
    except ExpatError as error:
        raise DataError(f"{place}:{error.lineno}: not well-formed XML; export it again") from None
    return found


Names = Mapping[str, Any]  # a feature: {"_type": "ClassLabel", "names": […]}, or what holds such features


def _column_rows(file: File) -> Iterator[Record]:
    """The rows of a Parquet or Arrow file: values as text, class numbers as the names in the file's metadata."""
    content = file.path.read_bytes()
    if content.startswith(b"PAR1"):
        text = polars.read_parquet_metadata(file.path).get("huggingface", "{}")
        frame = polars.read_parquet(file.path, glob=False, hive_partitioning=False)
        features: Names = json.loads(text).get("info", {}).get("features", {})
    else:  # saved datasets are streams, other Arrow files have a footer; save_to_disk writes features beside them
        info = file.path.parent / "dataset_info.json"
        features = json.loads(info.read_text("utf-8")).get("features") or {} if info.is_file() else {}
        read = polars.read_ipc if content.startswith(b"ARROW1") else polars.read_ipc_stream
        frame = read(io.BytesIO(content))
    for number, row in enumerate(frame.iter_rows(named=True), 1):
        named = {name: _as_text(value, features.get(name), file) for name, value in row.items()}
        yield Record(named, f"{file.name}: row {number}", number)


def _as_text(value: Any, feature: Any, file: File) -> Any:
    """A value with its numbers as text; classes by name."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, list):
        inner = feature.get("feature", feature) if isinstance(feature, dict) else (feature or [None])[0]
        return [_as_text(element, inner, file) for element in value]
    if isinstance(value, dict):
        inner = feature.get("feature", feature) if isinstance(feature, dict) else {}
        return {name: _as_text(element, inner.get(name), file) for name, element in value.items()}
    if not isinstance(feature, dict) or feature.get("_type") != "ClassLabel":
        return str(value)
    names = feature["names"]
    if value == -1:  # the code of a missing class
        return None
    if not isinstance(value, int) or not 0 <= value < len(names):
        classes = count(len(names), "class", "classes")
        raise DataError(f"{file.name}: class {value} has no name; the file names {classes}, numbered from 0")
    return str(names[value])


STRUCTURED = ('{"', '[{"')


def split_columns(
    rows: Sequence[tuple[str, Mapping[str, Any]]], names: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns that differ between the people who saw an item, and ones that might be answers they agree on."""
    items = len({item for item, _ in rows})
    answers, doubtful = [], []
    for name in names:
        values: defaultdict[str, set[str]] = defaultdict(set)
        for item, row in rows:
            values[item].add(as_text(row.get(name)))
        distinct = set().union(*values.values())
        if any(len(texts) > 1 for texts in values.values()) or any(text.startswith(STRUCTURED) for text in distinct):
            answers.append(name)
        elif distinct != {""} and (len(distinct) < items or items == 1):
            doubtful.append(name)
    return tuple(answers), tuple(doubtful)
