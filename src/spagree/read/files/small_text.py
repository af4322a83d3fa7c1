"""Small delimited files that can be read in only one way, in memory: starting duckdb takes longer than reading them.

Quotes, carriage returns, comment lines, byte order marks, blank lines and rows of another length leave room for
interpretation, or are faults to be explained: duckdb reads such files, whatever their size.
"""

from __future__ import annotations

import tempfile
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spagree.late import nw
from spagree.read.annotations import ITEM, LABEL, MOST_COMPARED, CodedRows, FewRows, Stamp, code_values
from spagree.read.files.delimited import TextFile
from spagree.read.files.paths import refuse_changed
from spagree.read.files.scratch import new_file
from spagree.read.tables import Small

MOST_BYTES = 1 << 19
AMBIGUOUS = (b'"', b"\r", b"\0")


@dataclass(frozen=True, slots=True)
class SmallText(Small):
    """How to load a delimited file: on an engine when called, or as rows in memory if it is small and plain.

    ``before`` is what the file was like when its header was looked at; ``load_copy`` loads columns of a copy of it,
    with a folder for temporary files.
    """

    file: TextFile
    before: Mapping[Path, Stamp]
    load: Callable[[Sequence[int]], nw.LazyFrame[Any]]
    load_copy: Callable[[TextFile, Path, Sequence[int]], nw.LazyFrame[Any]]

    def rows(
        self, places: Mapping[str, int], finish: Callable[[nw.LazyFrame[Any]], nw.LazyFrame[Any]]
    ) -> FewRows | None:
        """The columns of these roles; None where the file is not small and plain."""
        content = _plain_content(self.file)
        rows = _split(content, self.file)
        refuse_changed(self.before)
        if not rows:
            return None
        return FewRows(
            len(rows),
            tuple(places),
            lambda: _coded({role: [row[place] or None for row in rows] for role, place in places.items()}),
            lambda: finish(self._reloaded(content, list(places.values()))),
        )

    def _reloaded(self, content: bytes, positions: Sequence[int]) -> nw.LazyFrame[Any]:
        """The same bytes on an engine: the file may have changed since, or gone."""
        with tempfile.TemporaryDirectory(prefix="spagree-") as folder:
            path = new_file(Path(folder))
            path.write_bytes(content)
            copy = replace(self.file, file=replace(self.file.file, path=path, is_temporary=True))
            return self.load_copy(copy, Path(folder), positions)


def _plain_content(file: TextFile) -> bytes:
    """The content of a small file with a header in its first line and nothing to interpret; else nothing."""
    path = file.file.path
    if file.skip or not file.has_header or path.stat().st_size > MOST_BYTES:
        return b""
    content = path.read_bytes()
    is_plain = not content.startswith(BOM_UTF8) and not any(mark in content for mark in AMBIGUOUS)
    return content if is_plain else b""


def _split(content: bytes, file: TextFile) -> list[list[str]]:
    """The cells of every row below the header; none if a row has another number of cells, or a byte is not UTF-8."""
    try:
        lines = content.decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        return []
    rows = [line.split(file.delimiter) for line in lines[1:]]
    width = len(file.names)
    return rows if width > 1 and all(len(row) == width for row in rows) else []


def _coded(cells: Mapping[str, Sequence[str | None]]) -> CodedRows | None:
    """The rows with a label and an item, as integers; None if there are too many items."""
    items, labels = cells[ITEM], cells[LABEL]
    kept = [place for place, label in enumerate(labels) if label is not None and items[place] is not None]
    missing = sum(label is None for label in labels)
    lacking = {"missing_label": missing, "missing_item": len(labels) - missing - len(kept)}
    coded = {role: code_values([column[place] for place in kept]) for role, column in cells.items()}
    names = {role: distinct for role, (_, distinct) in coded.items()}
    if len(names[ITEM]) // MOST_COMPARED > 1:  # an engine compares the spellings of a sample
        return None
    return CodedRows({role: codes for role, (codes, _) in coded.items()}, names, lambda _: names[ITEM], lacking)
