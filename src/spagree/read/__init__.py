"""Any source → Annotations(item, annotator, label[, time]): the only place that knows formats.

source ─ files ─ kind ─┬ delimited, json_text, spreadsheet ─ store ┐
                       ├ parquet ─────────────────────────── store ┼─ Table ─ layouts ─ Annotations
                       └ arrow ───────────────────────────── frames┤
data frames, triples, matrices ───────────────────── frames, records┘
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from spagree.errors import FileError, SpagreeError, UsageError, unknown_name
from spagree.read import layouts
from spagree.read.annotations import (
    ANNOTATOR,
    COUNT,
    ITEM,
    LABEL,
    ROW,
    TIME,
    Annotations,
    Caution,
    Understood,
)
from spagree.read.layouts import SHOWN_EXAMPLES, Layout, Question
from spagree.read.tables import Table

__all__ = [
    "ANNOTATOR",
    "COUNT",
    "ITEM",
    "LABEL",
    "ROW",
    "TIME",
    "Annotations",
    "Caution",
    "Understood",
    "read",
]


def read(
    source: Any,
    *,
    item: str | None = None,
    annotator: str | None = None,
    label: str | Sequence[str] | None = None,
    time: str | None = None,
    format: str = "auto",
    missing: Sequence[str] = (),
    encoding: str | None = None,
    header: bool = True,
) -> Annotations:
    """Read annotations from a path, a glob, standard input ("-"), a data frame, triples or counts.

    A label or id of a text file is exactly what stands there; only an empty cell is missing, or a
    label that ``missing`` names. Columns that are not named are guessed, and ``understood`` says how.

    >>> annotations = read([("i1", "ann", "cat"), ("i1", "bob", "dog")])
    >>> annotations.frame.collect_schema().names()
    ['item', 'annotator', 'label', 'row']
    >>> annotations.understood.format
    'long'
    """
    _refuse_unknown_format(format)
    question = _question(item, annotator, label, time, missing)
    with _explained_faults(), tempfile.TemporaryDirectory(prefix="spagree-") as scratch:
        table = _table(source, question, encoding, header, Path(scratch))
        table = replace(table, name=source) if _is_example(source) else table
        wanted = _own_format(source) if format == "auto" else format
        layout = layouts.FORMATS[wanted](table, _asked(question, source))
        understood = Understood(table.name, layout.format, layout.columns, layout.guessed, _examples(table, layout))
        return Annotations(layout.frame, understood, table.cautions + layout.cautions)


@contextmanager
def _explained_faults() -> Iterator[None]:
    """A fault of the system that nobody nearer to it explained: above all a full disk."""
    try:
        yield
    except SpagreeError:
        raise
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        raise FileError(f"{place}{error.strerror or error}; check the path, the disk and its permissions") from error


def _refuse_unknown_format(format: str) -> None:
    known = ("auto", *layouts.FORMATS)
    if format not in known:
        raise unknown_name("format", str(format), known)


def _question(
    item: str | None,
    annotator: str | None,
    label: str | Sequence[str] | None,
    time: str | None,
    missing: Sequence[str],
) -> Question:
    texts = (missing,) if isinstance(missing, str) else tuple(missing)
    if label is None or isinstance(label, str):
        return Question(item, annotator, label, None, time, texts)
    names = tuple(str(name) for name in label)
    if len(names) == 1:
        return Question(item, annotator, names[0], None, time, texts)
    return Question(item, annotator, None, names or None, time, texts)


def _asked(question: Question, source: Any) -> Question:
    """For a matrix the labels are the names of its columns already: nothing is left to find."""
    return replace(question, label=None, labels=None) if _is_matrix(source) else question


def _own_format(source: Any) -> str:
    """The layout that needs no saying: matrices are counts, examples know theirs, the rest is long."""
    if _is_matrix(source):
        return "counts"
    return _example(source)[1] if _is_example(source) else "long"


def _is_matrix(source: Any) -> bool:
    from spagree.read.records import is_matrix

    return is_matrix(source)


def _table(source: Any, question: Question, encoding: str | None, header: bool, scratch: Path) -> Table:
    """The table behind any kind of source."""
    from spagree.read import frames, records

    if records.is_matrix(source):
        one = (question.label,) if question.label is not None else None
        return records.matrix_table(source, question.labels or one)
    if _is_path(source):
        return _file_table(_paths(source), encoding, header, scratch)
    if frames.is_frame(source):
        return frames.frame_table(source)
    if isinstance(source, dict) or not isinstance(source, Iterable):
        raise UsageError(
            f"cannot read annotations from {type(source).__name__}; give a path, a data frame, "
            "triples (item, annotator, label) or a 2-D count matrix"
        )
    return records.triples_table(source)


def _is_path(source: Any) -> bool:
    """A path, a stream, or a list of them; a list of anything else holds triples."""
    if isinstance(source, (list, tuple)):
        return bool(source) and all(_is_path(part) and not isinstance(part, (list, tuple)) for part in source)
    return isinstance(source, (str, bytes, os.PathLike)) or hasattr(source, "read")


def _paths(source: Any) -> list[Any]:
    """The paths, with names of examples replaced by their files."""
    parts = list(source) if isinstance(source, (list, tuple)) else [source]
    return [_example(part)[0] if _is_example(part) else part for part in parts]


def _is_example(source: Any) -> bool:
    return isinstance(source, str) and source.startswith("example:")


def _example(name: str) -> tuple[Path, str]:
    from spagree.read import examples

    return examples.locate(name.removeprefix("example:"))


def _file_table(sources: list[Any], encoding: str | None, header: bool, scratch: Path) -> Table:
    """One table of all files: text in one, Parquet in one, Arrow in one; kinds are not mixed."""
    from spagree.read import delimited, files, frames, json_text, spreadsheet, store

    gathered = files.gather(sources, scratch)
    name = gathered[0].name if len(gathered) == 1 else f"{gathered[0].name} and others, {len(gathered)} files in all"
    kinds = {file.kind if file.kind in ("parquet", "arrow") else "text" for file in gathered}
    if len(kinds) > 1:
        raise UsageError(f"{name}: files of different kinds ({', '.join(sorted(kinds))}); convert them to one kind")
    if kinds == {"parquet"}:
        return store.parquet_table(gathered, name)
    if kinds == {"arrow"}:
        return frames.arrow_table(gathered, name)
    openers = {
        "delimited": lambda file: delimited.open_delimited(file, encoding, header, scratch),
        "json lines": lambda file: json_text.open_json(file, encoding, scratch),
        "json array": lambda file: json_text.open_json(file, encoding, scratch),
        "excel": lambda file: spreadsheet.open_excel(file, header, scratch),
    }
    return store.text_table([openers[file.kind](file) for file in gathered], scratch, name)


def _examples(table: Table, layout: Layout) -> tuple[tuple[str, ...], ...]:
    """The first annotations, in the order item, annotator, label; from rows already at hand."""
    roles = [role for role in (ITEM, ANNOTATOR, LABEL) if role in layout.columns]
    if layout.format != "long":
        return tuple(tuple(_shown(value) for value in row) for row in table.sample[:SHOWN_EXAMPLES])
    positions = [table.columns.index(layout.columns[role]) for role in roles]
    rows = (row for row in table.sample[:SHOWN_EXAMPLES] if len(row) == len(table.columns))
    return tuple(tuple(_shown(row[p]) for p in positions) for row in rows)


def _shown(value: object) -> str:
    is_nan = isinstance(value, float) and math.isnan(value)
    return "" if value is None or is_nan else str(value)
