"""Saved tallies: counted in different places, merged later. Versioned, and checked on the way in."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spagree.errors import DataError, FileError, UsageError
from spagree.tally.items import ItemCounts
from spagree.tally.tally import Cell, Pattern, Tally
from spagree.write import write_atomically

if TYPE_CHECKING:
    import polars

FORMAT = 1
KIND = "spagree tally"
PARQUET_KEY = "spagree item counts"
PARQUET_END = 8  # bytes: the length of the metadata, and a mark


def save(counted: Tally | ItemCounts, path: str | Path, *, force: bool = False) -> None:
    """Write a tally as JSON, or item counts as Parquet; never half a file.

    >>> import tempfile, spagree
    >>> part = spagree.tally([("q1", "ann", "yes"), ("q1", "bob", "yes")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     spagree.save(part, f"{folder}/part.json")
    ...     spagree.load(f"{folder}/part.json") == part
    True
    """
    target = Path(path)
    if isinstance(counted, ItemCounts):
        _require_suffix(target, ".parquet", "item counts")
        write_atomically(target, lambda temporary: _write_parquet(counted, temporary), force=force)
    else:
        _require_suffix(target, ".json", "a tally")
        document = json.dumps(tally_to_dict(counted), ensure_ascii=False)
        write_atomically(target, lambda temporary: temporary.write_text(document, "utf-8"), force=force)


def load(path: str | Path) -> Tally | ItemCounts:
    """Read what :func:`save` wrote.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Tally.from_items([{"yes": 2}]), f"{folder}/part.json")
    ...     load(f"{folder}/part.json").items
    1
    """
    source = Path(path)
    try:
        if source.suffix == ".parquet":
            return _read_parquet(source)
        return tally_from_dict(_parse(source.read_bytes(), source), str(source))
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{source}: cannot be read: {error.strerror or error}") from error


def merge(parts: Sequence[Tally | ItemCounts]) -> Tally | ItemCounts:
    """Add up parts of one kind.

    >>> part = Tally.from_items([{"a": 2}])
    >>> merge([part, part, part]).items
    3
    """
    tallies = [part for part in parts if isinstance(part, Tally)]
    kept = [part for part in parts if isinstance(part, ItemCounts)]
    if tallies and kept:
        raise UsageError("some parts keep items and some do not; count them all the same way")
    return sum(tallies[1:], tallies[0]) if tallies else sum(kept[1:], kept[0])


def is_saved_tally(path: str | Path) -> bool:
    """Whether a file was written by :func:`save`; only its first bytes or its footer are read."""
    source = Path(path)
    try:
        if source.suffix == ".json" and source.is_file():
            with source.open("rb") as file:
                return f'"kind": "{KIND}"'.encode() in file.read(200)
        if source.suffix == ".parquet" and source.is_file():
            return PARQUET_KEY.encode() in _footer(source)
    except (OSError, ValueError):  # no permission, a name too long, a NUL in it: said by who reads the data
        return False
    return False


def _footer(path: Path) -> bytes:
    """The end of a Parquet file, which holds its metadata; looked at without the libraries that can read it."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - PARQUET_END, 0))
        length, mark = struct.unpack("<I4s", file.read().rjust(PARQUET_END, b"\0"))
        file.seek(max(size - PARQUET_END - length, 0))
        return file.read(length) if mark == b"PAR1" else b""


def tally_to_dict(tally: Tally) -> dict[str, Any]:
    """The tally as plain JSON values."""
    return {
        "kind": KIND,
        "format": FORMAT,
        "cells": [[*cell, count] for cell, count in sorted(tally.cells.items())],
        "labels": dict(tally.labels),
        "pairable_labels": dict(tally.pairable_labels),
        "annotators": None if tally.annotators is None else dict(tally.annotators),
        "left_out": dict(tally.left_out),
        "patterns": None if tally.patterns is None else [[*map(list, p), n] for p, n in sorted(tally.patterns.items())],
    }


def tally_from_dict(document: Any, source: str = "tally") -> Tally:
    """The inverse of :func:`tally_to_dict`; refuses what cannot have been a tally."""
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise DataError(f'{source}: not a saved tally: "kind" is not {KIND!r}')
    _require_format(document, source)
    try:
        cells = {Cell(*map(_whole, numbers)): _whole(items) for *numbers, items in document["cells"]}
        labels, pairable = _counts(document["labels"]), _counts(document["pairable_labels"])
        annotators = None if document["annotators"] is None else _counts(document["annotators"])
        patterns = _patterns(document["patterns"])
        tally = Tally(cells, labels, pairable, annotators, _counts(document["left_out"]), patterns)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise DataError(f"{source}: damaged tally: {error!r}; count the data again") from error
    if any(not _possible(cell) or not items for cell, items in cells.items()):
        raise DataError(f"{source}: damaged tally: a cell that no item can have; count the data again")
    if patterns is not None and Tally.from_patterns(patterns).cells != cells:
        raise DataError(f"{source}: damaged tally: cells and patterns differ; count the data again")
    single = cells.get(Cell(1, 0, 0), 0)
    for where, found, wanted in (
        ("labels", sum(labels.values()), tally.annotations),
        ("labels of pairable items", tally.pairable_annotations, tally.annotations - single),
    ):
        if found != wanted:
            raise DataError(
                f"{source}: damaged tally: {wanted:,} annotations in the cells, {found:,} in the {where}; "
                "count the data again"
            )
    return tally


def _parse(document: str | bytes, source: Path) -> Any:
    try:
        return json.loads(document)
    except (ValueError, RecursionError) as error:  # also: not UTF-8, numbers of thousands of digits
        raise DataError(f"{source}: not a saved tally: {error}") from error


def _possible(cell: Cell) -> bool:
    """Whether some item can have this many agreeing pairs and triples."""
    n, pairs, triples = cell
    return n > 0 and pairs <= n * (n - 1) and triples <= pairs * max(n - 2, 0)


def _require_format(document: Mapping[str, Any], source: str) -> None:
    found = document.get("format")
    if found != FORMAT:
        raise DataError(f"{source}: format {found!r}, but this version reads {FORMAT}; upgrade spagree")


def _patterns(found: Any) -> dict[Pattern, int] | None:
    if found is None:
        return None
    return {tuple((str(label), _whole(size)) for label, size in counts): _whole(items) for *counts, items in found}


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def _counts(found: Mapping[str, Any]) -> dict[str, int]:
    return {key: _whole(value) for key, value in found.items()}


def _write_parquet(counts: ItemCounts, path: Path) -> None:
    known = None if counts.annotators is None else dict(counts.annotators)
    about = {"format": FORMAT, "annotators": known, "left_out": dict(counts.left_out)}
    counts.frame.write_parquet(path, metadata={PARQUET_KEY: json.dumps(about)})


def _parquet_metadata(path: Path) -> dict[str, str]:
    import polars

    try:
        return polars.read_parquet_metadata(path)
    except polars.exceptions.PolarsError as error:
        raise FileError(f"{path}: not a Parquet file, or a truncated one: {error}") from error


def _read_parquet(path: Path) -> ItemCounts:
    about = _parquet_metadata(path).get(PARQUET_KEY)
    if about is None:
        raise DataError(f"{path}: not saved item counts; to score a table use measure or spagree score")
    document = _parse(about, path)
    if not isinstance(document, dict):
        raise DataError(f"{path}: damaged item counts; count the data again")
    _require_format(document, str(path))
    try:
        annotators = None if document["annotators"] is None else _counts(document["annotators"])
        return ItemCounts(_read_table(path), annotators, _counts(document["left_out"]))
    except (KeyError, ValueError, AttributeError) as error:
        raise DataError(f"{path}: damaged item counts: {error!r}; count the data again") from error


def _read_table(path: Path) -> polars.DataFrame:
    import polars

    try:
        table = polars.read_parquet(path)
    except polars.exceptions.PolarsError as error:
        raise FileError(f"{path}: damaged: {error}; count the data again") from error
    wanted = {"item": polars.String, "label": polars.String, "count": polars.Int64}
    if dict(table.schema) != wanted:
        raise ValueError(f"columns {dict(table.schema)}")
    return table


def _require_suffix(path: Path, suffix: str, what: str) -> None:
    if path.suffix != suffix:
        raise UsageError(f"{path}: {what} is saved as {suffix}; name the file {path.stem}{suffix}")
