"""What Spark will read: every file that the user named, none skipped silently, all with the same columns.

Spark skips names that start with ``_`` or ``.``, empty files and broken links, and assumes that all files have the
columns of one. Files on this machine are therefore found and compared here; on other storage Spark finds them and
merges their columns.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spagree.errors import FileError, MissingExtraError, UsageError
from spagree.read.databases import addresses
from spagree.read.files import duckdb_tables, paths
from spagree.read.files.paths import File

PARQUET, ORC = "parquet", "orc"
ORC_MAGIC = b"ORC"
OTHERS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".xlsx", ".xls", ".arrow", ".feather", ".gz", ".zst",
          ".zip")  # fmt: skip
SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]+:(?=/)")
HIDDEN = ("_", ".")
PARTITION = "="  # of the folders day=2024-05-01 that hold a table in parts


@dataclass(frozen=True, slots=True)
class Listing:
    """What to pass to Spark: paths as it expects them; ``root`` is the folder whose subfolders are columns."""

    name: str
    kind: str
    paths: tuple[str, ...]
    root: str | None = None
    is_compared: bool = False


def named(source: Any) -> str:
    """The path as text; refuses what Spark could never read, before Spark is started.

    >>> named(b"votes.parquet")
    'votes.parquet'
    """
    if hasattr(type(source), "read"):
        raise UsageError("--engine spark reads files, and this is a stream; write it to a file, or leave --engine out")
    text = os.fsdecode(source)
    if text == "-":
        raise UsageError("--engine spark does not read standard input (-); name files, or leave --engine out")
    if addresses.is_server(text) or text.startswith(addresses.SQLITE):
        raise UsageError(f"{addresses.public(text)}: --engine spark reads files, not databases; leave --engine out")
    if Path(text.rstrip("/*")).suffix.lower() in OTHERS and not Path(text).is_dir():
        raise _neither(text)
    return text


def _neither(name: str) -> UsageError:
    return UsageError(
        f"--engine spark reads Parquet or ORC files, and {addresses.public(name)} is neither; leave --engine out, "
        "convert it, or pass a Spark DataFrame to spagree.measure()"
    )


def list_files(names: Sequence[str], *, is_local: bool) -> Listing:
    """The files that the names match; ``is_local``: a path without a scheme is on this machine."""
    here = [_here(name) if is_local or name.startswith("file:") else None for name in names]
    local = [path for path in here if path is not None]
    if not local:
        kinds = {name: ORC if Path(name.rstrip("/*")).suffix.lower() == ".orc" else PARQUET for name in names}
        return Listing(_title(names), _one_kind(kinds), tuple(names))
    if len(local) < len(names):
        raise UsageError(f"{_title(names)}: files on this machine and elsewhere; read those of one place")
    return _local(local)


def _title(names: Sequence[str]) -> str:
    first = addresses.public(names[0])
    return first if len(names) == 1 else f"{first} and others, {len(names)} in all"


def _here(name: str) -> str | None:
    """The path on this machine, or None for an address somewhere else."""
    if name.startswith("file:"):
        return "/" + name.removeprefix("file:").lstrip("/")
    return None if SCHEME.match(name) else name


def _one_kind(kinds: dict[str, str]) -> str:
    if len(set(kinds.values())) > 1:
        several = ", ".join(sorted(set(kinds.values())))
        raise UsageError(f"{next(iter(kinds))}: files of different kinds ({several}); convert them to one kind")
    return next(iter(kinds.values()))


def _local(names: Sequence[str]) -> Listing:
    """The files on this machine, each checked; a folder means all files that Spark would see in it."""
    folders = [name for name in names if Path(name).is_dir()]
    every = [path for name in names for path in (_inside(Path(name)) if name in folders else [name])]
    with tempfile.TemporaryDirectory(prefix="spagree-") as scratch:
        gathered = paths.gather(every, Path(scratch))
    for file in gathered:
        if file.is_temporary:  # Spark could not find it
            raise UsageError(f"{file.name}: Spark reads files where they are; decompress it, or leave --engine out")
        if file.path.name.startswith(HIDDEN) or file.path.name.endswith("._COPYING_"):
            raise _hidden(file.name)
    root = _root(folders, names, every)
    kind = _one_kind({file.name: _kind(file) for file in gathered})
    if kind == PARQUET:
        duckdb_tables.common_schema(duckdb_tables.connect(), gathered)
    else:
        first = _orc_schema(gathered[0])
        for file in gathered:
            duckdb_tables.refuse_other_types(_orc_schema(file), first, file.name, gathered[0].name)
    return Listing(_title(names), kind, tuple(_spelled(file.path) for file in gathered), root, is_compared=True)


def _inside(folder: Path) -> list[str]:
    """The files below a folder, without Spark's own bookkeeping files."""
    every = sorted(path for path in folder.rglob("*") if not path.is_dir())
    seen = [path for path in every if not any(part.startswith(HIDDEN) for part in path.relative_to(folder).parts)]
    unseen = [path for path in every if path not in set(seen) and path.suffix in (".parquet", ".orc")]
    if (folder / "_delta_log").is_dir():
        raise UsageError(f"{folder}: a Delta table; read it with Spark and pass the DataFrame to spagree.measure()")
    if unseen:
        raise _hidden(str(unseen[0]))
    if not seen:
        raise FileError(f"{folder}: no data files in this folder; check that the export finished")
    return [str(path) for path in seen]


def _root(folders: Sequence[str], names: Sequence[str], every: Sequence[str]) -> str | None:
    """The folder whose subfolders key=value are columns; with several, Spark would drop those columns."""
    pairs = [(Path(path), folder) for folder in folders for path in every if Path(path).is_relative_to(folder)]
    is_parted = any(PARTITION in part for path, folder in pairs for part in path.relative_to(folder).parts[:-1])
    if is_parted and len(names) > 1:
        raise UsageError(f"{_title(names)}: a folder with folders key=value is read alone; name their common folder")
    return _spelled(Path(folders[0])) if is_parted else None


def _hidden(name: str) -> FileError:
    return FileError(f"{name}: Spark skips names that start with _ or . ; rename it, or leave --engine out")


def _kind(file: File) -> str:
    if file.kind != PARQUET and paths.head(file, len(ORC_MAGIC)) != ORC_MAGIC:
        raise _neither(file.name)
    return PARQUET if file.kind == PARQUET else ORC


def _spelled(path: Path) -> str:
    """The path as Spark expects it: absolute, with glob characters made literal.

    >>> _spelled(Path("/data/a[1].parquet")) == "file:/data/a" + chr(92) + "[1" + chr(92) + "].parquet"
    True
    """
    return "file:" + re.sub(r"([\\\[\]{}*?])", r"\\\1", str(path.absolute()))


def _orc_schema(file: File) -> list[tuple[str, str]]:
    try:
        from pyarrow import ArrowException, orc
    except ImportError:
        raise MissingExtraError("spark", "reading ORC files") from None
    try:
        return [(field.name, str(field.type)) for field in orc.ORCFile(file.path).schema]
    except (ArrowException, OSError) as error:
        raise FileError(f"{file.name}: truncated or damaged ORC ({error}); copy or download it again") from error
