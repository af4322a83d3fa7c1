"""Saved tallies: counted in different places, merged later. Versioned, and checked on the way in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spagree.errors import DataError, FileError, UsageError
from spagree.tally.items import ItemCounts
from spagree.tally.tally import Cell, Tally
from spagree.write import write_atomically

if TYPE_CHECKING:
    import polars

FORMAT = 1
KIND = "spagree tally"
PARQUET_KEY = "spagree item counts"


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
        document = json.dumps(tally_to_dict(counted), ensure_ascii=False, indent=1)
        write_atomically(target, lambda temporary: temporary.write_text(document, "utf-8"), force=force)


def load(path: str | Path) -> Tally | ItemCounts:
    """Read what :func:`save` wrote."""
    source = Path(path)
    try:
        if source.suffix == ".parquet":
            return _read_parquet(source)
        return tally_from_dict(json.loads(source.read_text("utf-8")), str(source))
    except OSError as error:
        raise FileError(f"{source}: cannot be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{source}: not a saved tally: {error}") from error


def is_saved_tally(path: str | Path) -> bool:
    """Whether a file was written by :func:`save`; only its first bytes or its footer are read."""
    source = Path(path)
    if source.suffix == ".json" and source.is_file():
        with source.open("rb") as file:
            return f'"kind": "{KIND}"'.encode() in file.read(200)
    if source.suffix == ".parquet" and source.is_file():
        return PARQUET_KEY in _parquet_metadata(source)
    return False


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
    }


def tally_from_dict(document: Any, source: str = "tally") -> Tally:
    """The inverse of :func:`tally_to_dict`; refuses what cannot have been a tally."""
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise DataError(f'{source}: not a saved tally: "kind" is not {KIND!r}')
    if document.get("format") != FORMAT:
        found = document.get("format")
        raise DataError(f"{source}: format {found!r}, but this version reads {FORMAT}; upgrade spagree")
    try:
        cells = {Cell(*map(_whole, row[:3])): _whole(row[3]) for row in document["cells"]}
        labels, pairable = _counts(document["labels"]), _counts(document["pairable_labels"])
        annotators = None if document["annotators"] is None else _counts(document["annotators"])
        tally = Tally(cells, labels, pairable, annotators, _counts(document["left_out"]))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise DataError(f"{source}: damaged tally: {error!r}; count the data again") from error
    if tally.annotations != sum(labels.values()):
        found = f"{tally.annotations:,} annotations in the cells, {sum(labels.values()):,} in the labels"
        raise DataError(f"{source}: damaged tally: {found}; count the data again")
    return tally


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
    document = json.loads(about)
    return ItemCounts(_read_table(path), document["annotators"], document["left_out"])


def _read_table(path: Path) -> polars.DataFrame:
    import polars

    return polars.read_parquet(path)


def _require_suffix(path: Path, suffix: str, what: str) -> None:
    if path.suffix != suffix:
        raise UsageError(f"{path}: {what} is saved as {suffix}; name the file {path.stem}{suffix}")
