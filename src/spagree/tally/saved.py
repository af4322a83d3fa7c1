"""Saved tallies: counted in different places, merged later. Versioned, and checked when loaded."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spagree.errors import DataError, FileError, UsageError
from spagree.read.databases import addresses
from spagree.read.files.paths import File, refuse_equal
from spagree.tally.grouped import Grouped, Pattern
from spagree.tally.items import ItemCounts
from spagree.tally.tally import Cell, Tally
from spagree.write import write_atomically

if TYPE_CHECKING:
    import polars

FORMAT = 2
KIND = "spagree tally"
PARQUET_KEY = "spagree item counts"
CHECKSUM = "checksum"
ROWS_AT_ONCE = 1_000_000
PANIC = "pyo3_runtime"  # the module of polars panics, which are not Exceptions
PARQUET_END = 8  # bytes: the length of the metadata, and the magic number


def save(counted: Tally | ItemCounts, path: str | Path, *, force: bool = False) -> None:
    """Write a tally as JSON, or item counts as Parquet; never leaves a partial file.

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
        document = json.dumps(_signed(tally_to_dict(counted)))
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
        document = _parse(source.read_bytes(), source)
        tally = tally_from_dict(document, str(source))
        _require_checksum(document, str(source))
        return tally
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{addresses.public(str(path))}: cannot be read: {error.strerror or error}") from error


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


def load_all(paths: Sequence[str | Path]) -> Tally | ItemCounts:
    """Add up saved parts; a part given twice, as the same file or with the same counts, is refused."""
    parts = [load(path) for path in paths]
    refuse_equal([File(Path(path), str(path)) for path in paths])
    kept = [(path, part) for path, part in zip(paths, parts, strict=True) if isinstance(part, ItemCounts)]
    for i, (path, part) in enumerate(kept):
        twin = next((other for other, earlier in kept[:i] if earlier == part and part.frame.height), None)
        if twin is not None:
            raise DataError(
                f"{twin} and {path} hold the same counts of the same items, which would count twice; name one of "
                "them. If other people gave the very same labels, count the parts with --annotator to tell them apart"
            )
    return merge(parts)


def is_saved_tally(path: str | Path) -> bool:
    """Whether a file was written by :func:`save`; only its first bytes or its footer are read."""
    source = Path(path)
    try:
        if source.suffix == ".json" and source.is_file():
            with source.open("rb") as file:
                return f'"kind": "{KIND}"'.encode() in file.read(200)
        if source.suffix == ".parquet" and source.is_file():
            return PARQUET_KEY.encode() in _footer(source)
    except (OSError, ValueError):  # no permission, a name that is too long or has a NUL: the data reader reports it
        return False
    return False


def _footer(path: Path) -> bytes:
    """The end of a Parquet file, which holds its metadata; read without any Parquet library."""
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
        "annotators": _plain(tally.annotators),
        "left_out": dict(tally.left_out),
        "patterns": None if tally.patterns is None else [[*map(list, p), n] for p, n in sorted(tally.patterns.items())],
        "counted": _plain(tally.counted),
    } | _grouped_document(tally.grouped)


def _plain(mapping: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if mapping is None else dict(mapping)


def _grouped_document(grouped: Grouped | None) -> dict[str, Any]:
    """Clusters and groups, if there are any: one row per cluster and combination of votes."""
    if grouped is None:
        return {}
    rows = [[cluster, *map(list, votes), items] for (cluster, votes), items in sorted(grouped.items.items())]
    per_group = grouped.annotators
    people = None if per_group is None else {group: dict(counts) for group, counts in per_group.items()}
    return {"grouped": {"cluster": grouped.cluster, "by": grouped.by, "items": rows, "annotators": people}}


def _signed(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with a checksum that reveals manual edits and disk errors."""
    import hashlib

    plain = {name: value for name, value in document.items() if name != CHECKSUM}
    return {**document, CHECKSUM: hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()}


def _require_checksum(document: Mapping[str, Any], source: str) -> None:
    if document.get(CHECKSUM) != _signed(document)[CHECKSUM]:
        raise DataError(f"{source}: its checksum does not fit: it was changed after it was saved; count the data again")


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
        counted, grouped = _plain(document["counted"]), _grouped(document.get("grouped"))
        tally = Tally(cells, labels, pairable, annotators, _counts(document["left_out"]), patterns, counted, grouped)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise DataError(f"{source}: damaged tally: {error!r}; count the data again") from error
    if len(cells) < len(document["cells"]) or (patterns is not None and len(patterns) < len(document["patterns"])):
        raise DataError(f"{source}: damaged tally: a row occurs twice; count the data again")
    from spagree.tally.verified import refuse_impossible

    refuse_impossible(tally, source)
    return tally


def _parse(document: str | bytes, source: Path) -> Any:
    try:
        return json.loads(document, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as error:  # also: not UTF-8, duplicate keys, numbers with thousands of digits
        raise DataError(f"{source}: not a saved tally: {error}") from error


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; refuses duplicate keys, of which only the last would count."""
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a key occurs twice")
    return document


def _require_format(document: Mapping[str, Any], source: str) -> None:
    version = document.get("format")
    if version != FORMAT:
        remedy = "count the data again" if isinstance(version, int) and version < FORMAT else "upgrade spagree"
        raise DataError(f"{source}: format {version!r}, but this version reads {FORMAT}; {remedy}")


def _patterns(rows: Any) -> dict[Pattern, int] | None:
    if rows is None:
        return None
    return {tuple((str(label), _whole(size)) for label, size in counts): _whole(items) for *counts, items in rows}


def _grouped(document: Any) -> Grouped | None:
    if document is None:
        return None
    items = {
        (str(cluster), tuple((str(group), str(label), _whole(size)) for group, label, size in votes)): _whole(count)
        for cluster, *votes, count in document["items"]
    }
    if len(items) < len(document["items"]):
        raise ValueError("a row of clusters and groups occurs twice")
    per_group = document["annotators"]
    people = None if per_group is None else {group: _counts(counts) for group, counts in per_group.items()}
    return Grouped(_column(document["cluster"]), _column(document["by"]), items, people)


def _column(name: Any) -> str | None:
    if name is not None and not isinstance(name, str):
        raise ValueError(f"{name!r} is not the name of a column")
    return name


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def _counts(counts: Mapping[str, Any]) -> dict[str, int]:
    return {key: _whole(value) for key, value in counts.items()}


def _write_parquet(counts: ItemCounts, path: Path) -> None:
    about = {
        "format": FORMAT,
        "annotators": _plain(counts.annotators),
        "left_out": dict(counts.left_out),
        "counted": _plain(counts.counted),
        "table": _table_checksum(counts.frame),
    }
    counts.frame.write_parquet(path, metadata={PARQUET_KEY: json.dumps(_signed(about))})


def _table_checksum(frame: polars.DataFrame) -> str:
    """The checksum of the rows in order, whatever program wrote the file."""
    import hashlib

    checksum = hashlib.sha256()
    for part in frame.iter_slices(ROWS_AT_ONCE):
        checksum.update(part.write_csv(include_header=False).encode())
    return checksum.hexdigest()


def _read_parquet(path: Path) -> ItemCounts:
    import polars

    try:
        with path.open("rb") as file:
            about = polars.read_parquet_metadata(file).get(PARQUET_KEY)
    except (polars.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: not a Parquet file, or a truncated one: {error}") from error
    if about is None:
        raise DataError(f"{path}: not saved item counts; to score a table use measure or spagree score")
    document = _parse(about, path)
    if not isinstance(document, dict):
        raise DataError(f"{path}: damaged item counts; count the data again")
    _require_format(document, str(path))
    try:
        annotators = None if document["annotators"] is None else _counts(document["annotators"])
        left_out, how = _counts(document["left_out"]), _plain(document["counted"])
        counts = ItemCounts(_read_table(path), annotators, left_out, how)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: damaged item counts: {error!r}; count the data again") from error
    from spagree.tally.verified import refuse_impossible_counts

    refuse_impossible_counts(counts, str(path))
    _require_checksum({**document, "table": _table_checksum(counts.frame)}, str(path))
    return counts


def _read_table(path: Path) -> polars.DataFrame:
    import polars

    try:
        table = polars.read_parquet(path.absolute(), glob=False, hive_partitioning=False)
    except BaseException as error:
        if not isinstance(error, polars.exceptions.PolarsError) and type(error).__module__ != PANIC:
            raise
        raise FileError(f"{path}: damaged: {error}; count the data again") from error
    wanted = {"item": polars.String, "label": polars.String, "count": polars.Int64}
    if dict(table.schema) != wanted:
        raise ValueError(f"columns {dict(table.schema)}")
    return table


def _require_suffix(path: Path, suffix: str, what: str) -> None:
    if path.suffix != suffix:
        raise UsageError(f"{path}: {what} is saved as {suffix}; name the file {path.stem}{suffix}")
