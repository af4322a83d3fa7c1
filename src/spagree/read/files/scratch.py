"""Temporary files: copies kept while a source is read, and what does not fit into duckdb's memory."""

from __future__ import annotations

import atexit
import csv
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path


def new_file(scratch: Path) -> Path:
    """An empty file in the scratch directory."""
    handle, path = tempfile.mkstemp(dir=scratch)
    os.close(handle)
    return Path(path)


def delimited_copy(rows: Iterable[Sequence[str]], scratch: Path) -> Path:
    """A new file of these rows: commas, LF, and every cell quoted, because Python 3.11 would leave a lone CR bare."""
    path = new_file(scratch)
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    return path


_folders: dict[int, Path] = {}  # by process: a fork must neither share nor remove its parent's folder


def spill_folder() -> Path:
    """A path for this process's database in duckdb, inside a folder that only this user can enter.

    duckdb gives its files the same names in every process: two databases with one folder would read each other's
    rows. It creates the folder when memory runs out and removes it with the database; anything left is removed with
    the parent folder when the process ends.
    """
    process = os.getpid()
    if process not in _folders or not _folders[process].is_dir():
        _folders[process] = Path(tempfile.mkdtemp(prefix="spagree-spill-"))
        atexit.register(_remove, _folders[process], process)
    return _folders[process] / "duckdb"


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
