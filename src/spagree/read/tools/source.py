"""A first look at the source, just enough to tell which tool wrote it.

The first look reports no errors: a source it cannot parse has no keys and goes to the reader of plain tables, which
gives better messages.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spagree.errors import FileError, SpagreeError
from spagree.read.databases import addresses
from spagree.read.files import paths
from spagree.read.files.paths import File, head

if TYPE_CHECKING:
    from spagree.read.files.delimited import TextFile

HEAD = 1 << 20
SHOWN_OBJECTS = 20
MOST_FILES = 2_000_000
MEMBERS = (".jsonl", ".json", ".csv", ".txt")

FOLDER, ARCHIVE, DATABASE, SERVER = "folder", "archive", "database", "server"
SPECIAL = (FOLDER, ARCHIVE, DATABASE, SERVER)
TABLE, OBJECTS, COLUMNS = "table", "objects", "columns"
NAMED, MEMORY = "named", "memory"  # paths that nobody looked at, and annotations in memory
SHAPES = {"delimited": TABLE, "json lines": OBJECTS, "json array": OBJECTS, "parquet": COLUMNS, "arrow": COLUMNS}


@dataclass(frozen=True, slots=True)
class Source:
    """A source and what a first look shows.

    ``keys``: columns (with their types, if known), keys of the first objects, names of files or tables; ``objects``:
    the first objects of a JSON file; ``path``: set unless these are plain files; ``connection``: what looked into a
    Parquet file; while it is open, others share its database; ``opened``: a delimited file and its dialect. ``given``:
    the paths and streams that the user named, or what holds annotations; ``example``: the name of one, and its layout.
    """

    name: str
    shape: str
    keys: Mapping[str, str] = field(default_factory=dict)
    files: tuple[File, ...] = ()
    objects: tuple[Mapping[str, Any], ...] = ()
    path: str = ""
    connection: Any = None
    opened: TextFile | None = None
    given: Any = None
    example: tuple[str, ...] = ()

    def has(self, *names: str) -> bool:
        """Whether all these keys are present."""
        return all(name in self.keys for name in names)


def look(sources: Sequence[Any], encoding: str | None, scratch: Path) -> Source:
    """The source behind the given paths; file-system errors are explained as for any file."""
    single = os.fsdecode(sources[0]) if len(sources) == 1 and not hasattr(sources[0], "read") else ""
    if addresses.is_server(single):
        from spagree.read.databases import queries

        name = addresses.public(single)
        return Source(name, SERVER, dict.fromkeys(queries.tables(single, name), ""), path=single)
    if single not in ("", "-") and Path(place := single.removeprefix(addresses.SQLITE)).is_dir():
        return _folder(Path(place))
    files = paths.found(sources, scratch)
    if len(files) == 1 and not files[0].is_temporary:
        path, name = str(files[0].path), files[0].name
        if files[0].start.startswith(paths.SQLITE):
            from spagree.read.databases import queries

            return Source(name, DATABASE, dict.fromkeys(queries.tables(path, name), ""), path=path)
        if files[0].start.startswith(paths.ZIP) and (archive := _archive(files[0], scratch)):
            return archive
    files = [paths.with_kind(paths.unpacked(file, scratch)) for file in files]
    name = files[0].name if len(files) == 1 else f"{files[0].name} and others, {len(files)} files in all"
    origin = Source(name, SHAPES.get(files[0].kind, ""), files=tuple(files))
    file = files[0]
    with suppress(SpagreeError, UnicodeDecodeError):
        if origin.shape in (TABLE, OBJECTS):
            from spagree.read.files import delimited
        if origin.shape == TABLE:
            opened = delimited.open_delimited(file, encoding, header=True, scratch=scratch)
            origin = replace(origin, keys=dict.fromkeys(opened.names, ""), opened=opened)
        elif origin.shape == OBJECTS:
            objects = first_objects(delimited.as_utf8(file, encoding, scratch))
            origin = replace(origin, keys={key: "" for record in objects for key in record}, objects=objects)
        elif file.kind == "parquet":
            from spagree.read.files import duckdb

            connection = duckdb.connect()
            origin = replace(origin, keys=dict(duckdb.parquet_schema(connection, file)), connection=connection)
        elif origin.shape == COLUMNS:
            import polars

            with suppress(polars.exceptions.PolarsError, OSError):
                kinds = polars.read_ipc_schema(file.path)
                origin = replace(origin, keys={name: str(kind) for name, kind in kinds.items()})
    return origin


def _folder(path: Path) -> Source:
    regular: list[File] = []
    for folder, _, files in os.walk(path, onerror=_refuse_unreadable):
        inside = [Path(folder) / file for file in files]
        regular += [File(file, str(file)) for file in inside if file.is_file()]  # no pipes: they block
        if len(regular) > MOST_FILES:
            raise FileError(f"{path}: more than {MOST_FILES:,} files; name the folder of the export itself")
    paths.refuse_equal(regular)
    names = {str(Path(file.name).relative_to(path)): "" for file in regular}
    return Source(str(path), FOLDER, dict(sorted(names.items())), path=str(path))


def _refuse_unreadable(error: OSError) -> None:
    """Refuse folders that cannot be opened; they would be left out silently."""
    raise FileError(f"{error.filename}: cannot be opened ({error.strerror}); check its permissions") from error


def _archive(file: File, scratch: Path) -> Source | None:
    """A flat zip archive of text files, unpacked; for other archives except spreadsheets, only the names."""
    with paths.opened_zip(file.path, file.name) as archive:
        members = [name for name in archive.namelist() if not name.endswith("/")]
        if any(name.startswith("xl/") for name in members):
            return None
        if not members or any("/" in name or Path(name).suffix not in MEMBERS for name in members):
            return Source(file.name, ARCHIVE, dict.fromkeys(members, ""), path=str(file.path))
        files = []
        for name in members:
            path = paths.new_file(scratch)
            with archive.open(name) as source, path.open("wb") as target:
                shutil.copyfileobj(source, target)
            member = File(path, f"{file.name}/{name}", is_temporary=True)
            files.append(paths.with_kind(member) if path.stat().st_size else member)
    return Source(file.name, ARCHIVE, dict.fromkeys(members, ""), tuple(files), path=str(file.path))


def first_objects(file: File) -> tuple[Mapping[str, Any], ...]:
    """The first objects of a JSON file: an array, one object per line, or one object over many lines."""
    text = head(file, HEAD).decode("utf-8-sig", errors="replace")
    values = list(_decoded(text))
    if not values and len(text) >= HEAD:
        values = list(_decoded(file.path.read_text("utf-8-sig", errors="replace")))
    return tuple(value for value in values if isinstance(value, dict))


def _decoded(text: str) -> Iterator[Any]:
    from spagree.read.files.json import DECODER

    position = 0
    for _ in range(SHOWN_OBJECTS):
        while position < len(text) and text[position] in "[, \t\r\n":
            position += 1
        try:
            value, position = DECODER.raw_decode(text, position)
        except json.JSONDecodeError:
            return
        yield value
