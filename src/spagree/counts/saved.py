"""Saved tallies: counted in different places, merged later. Versioned, and checked when loaded."""

from __future__ import annotations

import json
import math
import os
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from spagree.counts.count import ItemCounts
from spagree.counts.mark_tally import CLASS, LEVELS, MarkTable, MarkTally
from spagree.counts.tally import Cell, Grouped, Kind, People, Tally, Votes
from spagree.errors import DataError, FileError, UsageError, opt, shown
from spagree.read.databases import addresses
from spagree.read.files.paths import File, refuse_equal
from spagree.write import write_atomically

if TYPE_CHECKING:
    import polars

FORMAT, READ = 3, (2, 3)  # format 2 has no kinds of annotations
KIND = "spagree tally"
KIND_OF_MARKS, FORMAT_OF_MARKS = "spagree tally of marks", 2
PARQUET_KEY = "spagree item counts"
CHECKSUM = "checksum"
ROWS_AT_ONCE = 1_000_000
PANIC = "pyo3_runtime"  # the module of polars panics, which are not Exceptions
ROUNDING = 1e-9  # of sums of seconds
PARQUET_END = 8  # bytes: the length of the metadata, and the magic number


def save(counted: Tally | ItemCounts | MarkTally, path: str | Path, *, force: bool = False) -> None:
    """Write a tally as JSON, or item counts as Parquet; never leaves a partial file.

    >>> import tempfile, spagree
    >>> part = spagree.tally([("q1", "ann", "yes"), ("q1", "bob", "yes")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     spagree.save(part, f"{folder}/part.json")
    ...     spagree.load(f"{folder}/part.json") == part
    True
    """
    target = Path(path)
    suffix, what = (".parquet", "item counts") if isinstance(counted, ItemCounts) else (".json", "a tally")
    if target.suffix != suffix:
        raise UsageError(f"{target}: {what} is saved as {suffix}; name the file {target.stem}{suffix}")
    if isinstance(counted, ItemCounts):
        about = {
            "format": FORMAT,
            "annotators": _plain(counted.annotators),
            "left_out": dict(counted.left_out),
            "counted": _plain(counted.counted),
            "table": _table_checksum(counted.frame),
        }
        told = {PARQUET_KEY: json.dumps(_signed(about))}
        write_atomically(target, lambda temporary: counted.frame.write_parquet(temporary, metadata=told), force=force)
    else:
        plain = marks_to_dict(counted) if isinstance(counted, MarkTally) else tally_to_dict(counted)
        document = json.dumps(_signed(plain))
        write_atomically(target, lambda temporary: temporary.write_text(document, "utf-8"), force=force)


def load(path: str | Path) -> Tally | ItemCounts | MarkTally:
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
        of_marks = isinstance(document, dict) and document.get("kind") == KIND_OF_MARKS
        tally = (marks_from_dict if of_marks else tally_from_dict)(document, str(source))
        _require_checksum(document, str(source))
        return tally
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{addresses.public(str(path))}: cannot be read: {error.strerror or error}") from error


def merge(parts: Sequence[Tally | ItemCounts | MarkTally]) -> Tally | ItemCounts | MarkTally:
    """Add up parts of one kind.

    >>> part = Tally.from_items([{"a": 2}])
    >>> merge([part, part, part]).items
    3
    """
    kinds = {type(part) for part in parts}
    if MarkTally in kinds and len(kinds) > 1:
        raise UsageError("some parts are counts of marks and some are not; count them all the same way")
    if len(kinds) > 1:
        raise UsageError("some parts keep items and some do not; count them all the same way")
    whole: Any = parts[0]
    for part in parts[1:]:
        whole = whole + part
    return cast("Tally | ItemCounts | MarkTally", whole)


def saved_counts(source: Any) -> Tally | ItemCounts | MarkTally | None:
    """What is saved in a file, or in several as parts; None of anything else."""
    paths = source if isinstance(source, list) else [source]
    if not paths or not all(isinstance(path, str | Path) and is_saved_tally(path) for path in paths):
        return None
    return load_all(paths)


def load_all(paths: Sequence[str | Path]) -> Tally | ItemCounts | MarkTally:
    """Add up saved parts; a part given twice, as the same file or with the same counts, is refused.

    One by one: of many large tallies, memory would not hold all.
    """
    kept: list[tuple[str | Path, ItemCounts]] = []
    whole: list[Tally | ItemCounts | MarkTally] = []
    for path in paths:
        part = load(path)
        if isinstance(part, ItemCounts):
            twin = next((other for other, earlier in kept if earlier == part and part.frame.height), None)
            if twin is not None:
                raise DataError(
                    f"{twin} and {path} hold the same counts of the same items, which would count twice; name one of "
                    "them. If other people gave the very same labels, count the parts with "
                    f"{opt.annotator} to tell them apart"
                )
            kept.append((path, part))
        whole = [merge([*whole, part])]
    refuse_equal([File(Path(path), str(path)) for path in paths])
    return whole[0]


def is_saved_tally(path: str | Path) -> bool:
    """Whether a file was written by :func:`save`; only its first bytes or its footer are read."""
    source = Path(path)
    try:
        if source.suffix == ".json" and source.is_file():
            with source.open("rb") as file:
                return f'"kind": "{KIND}'.encode() in file.read(200)
        if source.suffix == ".parquet" and source.is_file():
            with source.open("rb") as file:  # a Parquet file ends with its metadata, their length, and a magic number
                size = file.seek(0, os.SEEK_END)
                file.seek(max(size - PARQUET_END, 0))
                length, mark = struct.unpack("<I4s", file.read().rjust(PARQUET_END, b"\0"))
                file.seek(max(size - PARQUET_END - length, 0))
                return mark == b"PAR1" and PARQUET_KEY.encode() in file.read(length)
    except (OSError, ValueError):  # no permission, a name that is too long or has a NUL: the data reader reports it
        return False
    return False


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
        "people": _people_document(tally.people),
    } | _grouped_document(tally.grouped)


def _plain(mapping: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if mapping is None else dict(mapping)


def _people_document(people: People | None) -> dict[str, list[list[Any]]] | None:
    """The kinds of annotations of each annotator: one row per kind."""
    if people is None:
        return None
    return {who: [[*kind, size] for kind, size in sorted(people[who].items())] for who in sorted(people)}


def _grouped_document(grouped: Grouped | None) -> dict[str, Any]:
    """Clusters and groups, if there are any: one row per cluster and combination of votes."""
    if grouped is None:
        return {}
    rows = [[cluster, *map(list, votes), items] for (cluster, votes), items in sorted(grouped.items.items())]
    per_group = grouped.annotators
    people = None if per_group is None else {group: dict(counts) for group, counts in per_group.items()}
    kinds = None
    if grouped.people is not None:
        kinds = {group: _people_document(grouped.people[group]) for group in sorted(grouped.people)}
    about = {"cluster": grouped.cluster, "by": grouped.by, "items": rows, "annotators": people, "people": kinds}
    return {"grouped": about}


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
        raise DataError(f'{source}: not a saved tally ("kind" is not {KIND!r}); make one with spagree tally')
    _require_format(document, source)
    with _damage_refused(f"{source}: damaged tally"):
        tally = Tally(
            _by_key(document["cells"], lambda numbers: Cell(*map(_whole, numbers))),
            _counts(document["labels"]),
            _counts(document["pairable_labels"]),
            None if document["annotators"] is None else _counts(document["annotators"]),
            _counts(document["left_out"]),
            _by_key(document["patterns"], lambda counts: tuple((str(label), _whole(size)) for label, size in counts)),
            _plain(document["counted"]),
            _grouped(document.get("grouped")),
            _people(document.get("people")),
        )
        _refuse_first(faults(tally))
    return tally


def marks_to_dict(tally: MarkTally) -> dict[str, Any]:
    """The tally of marks as plain JSON values."""
    tables = {
        name: {
            "figures": list(table.figures),
            "cells": _rows_of(table.cells),
            "visits": _rows_of(table.visits),
            "people": _rows_of(table.people),
            "pairs": _rows_of(table.pairs),
        }
        for name, table in tally.tables.items()
    }
    saw = {who: [[n, visits] for n, visits in sorted(sizes.items())] for who, sizes in tally.saw.items()}
    head = {"kind": KIND_OF_MARKS, "format": FORMAT_OF_MARKS, "saw": saw, "tables": tables}
    more = {"met": _rows_of(tally.met), "closest": _rows_of(tally.closest), "empty": tally.empty, "seen": tally.seen}
    return {**head, **more, "labels": dict(tally.labels), "left_out": dict(tally.left_out)}


def _rows_of(counts: Mapping[Any, Any] | None) -> list[list[Any]] | None:
    """One row for each key, with what is counted."""
    if counts is None:
        return None
    return [[*key, *(value if isinstance(value, tuple) else [value])] for key, value in sorted(counts.items())]


def marks_from_dict(document: Any, source: str = "tally") -> MarkTally:
    """The inverse of :func:`marks_to_dict`; refuses what cannot have been a tally of marks."""
    if document.get("format") != FORMAT_OF_MARKS:
        found = f"format {document.get('format')!r}, but this version reads {FORMAT_OF_MARKS}"
        raise DataError(f"{source}: {found}; count the marks again")

    with _damage_refused(f"{source}: damaged tally"):
        tables = {}
        for name, given in document["tables"].items():
            amounts = [_amount] * (1 + len(given["figures"]))
            tables[str(name)] = MarkTable(
                tuple(map(str, given["figures"])),
                _by_key(given["cells"], _cells(_whole, *amounts)),
                _by_key(given["visits"], _cells(_whole, *amounts, *amounts)),
                _by_key(given["people"], _cells(str, _whole), _cells(*amounts, *amounts), 2),
                _by_key(given["pairs"], _cells(str, str), _cells(_amount, _amount), 2),
            )
        tally = MarkTally(
            {str(who): _by_key(sizes, lambda n: _whole(*n)) for who, sizes in document["saw"].items()},
            tables,
            _counts(document["labels"]),
            _by_key(document["met"], _cells(str, str)),
            _by_key(document["closest"], _cells(_whole, _whole, str, str)),
            _whole(document["empty"]),
            document["seen"],
            _counts(document["left_out"]),
        )
        _refuse_first(_faults_of_marks(tally))
    return tally


Reader = Callable[[Sequence[Any]], Any]


def _by_key(rows: Any, key: Reader, value: Reader = lambda cells: _whole(*cells), width: int = -1) -> Any:
    """What rows count, by their first cells, so many; no key may occur twice. None of None."""
    if rows is None:
        return None
    found = {key(row[:width]): value(row[width:]) for row in rows}
    if len(found) < len(rows):
        raise DataError("a row occurs twice")
    return found


def _cells(*kinds: Callable[[Any], Any]) -> Reader:
    return lambda cells: tuple(kind(cell) for kind, cell in zip(kinds, cells, strict=True))


def _faults_of_marks(tally: MarkTally) -> Iterator[str]:
    """Inconsistencies between what is counted of items, visits, annotators and pairs, and cells that cannot be."""
    classes = {CLASS + label for label in tally.labels} if tally.has_classes else set()
    levels = {*tally.tables} - classes
    if tally.tables and not {"exact", "exact_any_label"} <= levels <= {*LEVELS}:
        yield f"levels {', '.join(tally.tables)}"
        return
    if any(size % n for n, size in tally.visits_by_n.items()):
        yield "the annotators saw other numbers of items than there are"
    for name, table in tally.tables.items():
        yield from _faults_of_table(name, table, tally)
    if tally.tables and sum(items * cell[1] for cell, items in tally.tables["exact"].cells.items()) != tally.marks:
        yield f"the levels and the labels hold different numbers of marks, {tally.marks:,} in the labels"
    met = sum(n * (n - 1) // 2 * items for n, items in tally.items_by_n.items())
    if tally.met is not None and sum(tally.met.values()) != met:
        yield "the annotators met more or less often than they saw the same items"
    if tally.empty > tally.annotations:
        yield f"{tally.empty:,} annotations without a mark"
    if tally.seen not in (None, "given", "rows", "every_submission", "unknown"):
        yield f"seen {tally.seen!r}"


def _faults_of_table(name: str, table: MarkTable, tally: MarkTally) -> Iterator[str]:
    is_whole, width = name not in ("characters", "characters_any_label"), 1 + len(table.figures)
    saw, whole = Counter[int](), 0.0
    marked, visited, made = (defaultdict[int, float](float) for _ in range(3))
    for (n, *amounts), items in table.cells.items():
        most = amounts[0] * (n - 1 + ROUNDING)  # sums of seconds are rounded
        is_broken = is_whole and (amounts[0] % 1 or amounts[1] % 2)
        if n < 1 or not items or not amounts[0] or max(amounts[1:]) > most or is_broken:
            yield "a cell that no item can have"
        saw[int(n)] += items
        marked[int(n)] += amounts[0] * items
        whole += amounts[1] * items
    if any(items > tally.items_by_n.get(n, 0) for n, items in saw.items()):
        yield "the levels hold more items than the annotators saw"
    for (n, *amounts), size in (table.visits or {}).items():
        visited[int(n)] += amounts[width] * size
    for (who, n), row in table.people.items():
        made[n] += row[width]
        if n not in tally.saw.get(who, {}):
            yield f"{shown(who)} made marks without seeing an item"
    for what, by_n in {"visits": visited if table.visits is not None else marked, "annotators": made}.items():
        if any(not math.isclose(by_n[n], marked[n], rel_tol=ROUNDING) for n in {*by_n, *marked}):
            yield f"the items and the {what} hold different marks"
    shared = None if table.pairs is None or tally.met is None else sum(row[1] for row in table.pairs.values())
    if shared is not None and not math.isclose(shared, whole, rel_tol=ROUNDING):
        yield "the items and the pairs of annotators share different marks"


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
    if version not in READ:
        remedy = "count the data again" if isinstance(version, int) and version < FORMAT else "upgrade spagree"
        raise DataError(f"{source}: format {version!r}, but this version reads {FORMAT}; {remedy}")


def _people(document: Any) -> People | None:
    if document is None:
        return None
    people: dict[str, dict[Kind, int]] = {}
    seen: dict[Kind, Kind] = {}  # one object for all annotators
    for who, rows in document.items():
        people[who] = {}
        for n, pairs, own, label, other, size in rows:
            of_labels = (None, None) if label is None else (str(label), str(other))
            kind = _whole(n), _whole(pairs), _whole(own), *of_labels
            people[who][seen.setdefault(kind, kind)] = _whole(size)
        if len(people[who]) < len(rows):
            raise ValueError("a kind of annotations occurs twice")
    return people


def _grouped(document: Any) -> Grouped | None:
    if document is None:
        return None

    def key(cells: Sequence[Any]) -> tuple[str, Votes]:
        return str(cells[0]), tuple((str(group), str(label), _whole(size)) for group, label, size in cells[1:])

    items = _by_key(document["items"], key)
    per_group = document["annotators"]
    people = None if per_group is None else {group: _counts(counts) for group, counts in per_group.items()}
    kinds = document.get("people")
    known = None if kinds is None else {group: _people(rows) or {} for group, rows in kinds.items()}
    return Grouped(_column(document["cluster"]), _column(document["by"]), items, people, known)


def _column(name: Any) -> str | None:
    if name is not None and not isinstance(name, str):
        raise ValueError(f"{name!r} is not the name of a column")
    return name


def _amount(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{value!r} is not an amount")
    return float(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def _counts(counts: Mapping[str, Any]) -> dict[str, int]:
    return {key: _whole(value) for key, value in counts.items()}


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
    with _damage_refused(f"{path}: damaged item counts"):
        annotators = None if document["annotators"] is None else _counts(document["annotators"])
        left_out, how = _counts(document["left_out"]), _plain(document["counted"])
        try:
            table = polars.read_parquet(path.absolute(), glob=False, hive_partitioning=False)
        except BaseException as error:
            if not isinstance(error, polars.exceptions.PolarsError) and type(error).__module__ != PANIC:
                raise
            raise FileError(f"{path}: damaged: {error}; count the data again") from error
        if dict(table.schema) != {"item": polars.String, "label": polars.String, "count": polars.Int64}:
            raise ValueError(f"columns {dict(table.schema)}")
        _refuse_first(_faults_of_counts(table, annotators))
    _require_checksum({**document, "table": _table_checksum(table)}, str(path))
    return ItemCounts(table, annotators, left_out, how)


@contextmanager
def _damage_refused(what: str) -> Iterator[None]:
    """What cannot have been saved like this, or was counted from no annotations, is refused."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        why = str(error) if isinstance(error, DataError) else repr(error)
        raise DataError(f"{what}: {why}; count the data again") from error


def _refuse_first(faults: Iterator[str]) -> None:
    for fault in faults:
        raise DataError(fault)


def faults(tally: Tally) -> Iterator[str]:
    """Why no annotations could produce the tally."""
    if any(not possible(cell) or not items for cell, items in tally.cells.items()):
        yield "a cell that no item can have"
        return
    single = tally.cells.get(Cell(1, 0, 0), 0)
    for where, counted, wanted in (
        ("labels", sum(tally.labels.values()), tally.annotations),
        ("labels of pairable items", tally.pairable_annotations, tally.annotations - single),
    ):
        if counted != wanted:
            yield f"{wanted:,} annotations in the cells, {counted:,} in the {where}"
    if any(size > tally.labels.get(label, 0) for label, size in tally.pairable_labels.items()):
        yield "a label is on more pairable items than on items"
    if tally.annotators is not None and sum(tally.annotators.values()) > tally.annotations:
        yield "the annotators made more annotations than there are"
    yield from _faults_of_people(tally)
    yield from _faults_of_patterns(tally)
    yield from _faults_of_groups(tally)


def _faults_of_patterns(tally: Tally) -> Iterator[str]:
    if tally.patterns is None:
        return
    for pattern in tally.patterns:
        labels = [label for label, size in pattern if size]
        if sorted(set(labels)) != labels or len(labels) < len(pattern):
            yield "a pattern that no item can have"
    whole = Tally.from_patterns(tally.patterns)
    if whole.cells != tally.cells:
        yield "cells and patterns differ"
    compared = (whole.labels, tally.labels), (whole.pairable_labels, tally.pairable_labels)
    if any(+Counter(ours) != +Counter(theirs) for ours, theirs in compared):
        yield "labels and patterns differ"


def _faults_of_people(tally: Tally) -> Iterator[str]:
    """Inconsistencies between the kinds of annotations and the rest of the tally."""
    if tally.people is None:
        return
    counts = {who: sum(kinds.values()) for who, kinds in tally.people.items()}
    if counts != dict(tally.annotators or {}):
        yield "the annotators made other numbers of annotations than of all kinds together"
    if len({label is None for kinds in tally.people.values() for *_, label, _ in kinds}) > 1:
        yield "some kinds of annotations have labels, others have none"
    every: Counter[tuple[int, int]] = Counter()
    for kinds in tally.people.values():
        for (n, pairs, own, label, other), size in kinds.items():
            every[n, pairs] += size
            labels_are_known = label is None or (
                label in tally.labels and (other in tally.labels or (n, own) != (2, 1))
            )
            if not size or not 0 < own <= n or own * (own - 1) > pairs or not labels_are_known:
                yield "a kind of annotations that no item can have"
    there: Counter[tuple[int, int]] = Counter()
    for cell, items in tally.cells.items():
        there[cell.n, cell.pairs] += cell.n * items
    if any(size > there[kind] for kind, size in every.items()):
        yield "more annotations of a kind than the items have"


def _faults_of_groups(tally: Tally) -> Iterator[str]:
    """Inconsistencies between clusters or groups and the rest of the tally."""
    if tally.grouped is None:
        return
    if tally.grouped.cluster is None and tally.grouped.by is None:
        yield "clusters or groups of no column"
    if any(not items or not votes or list(votes) != sorted(votes) for (_, votes), items in tally.grouped.items.items()):
        yield "clusters or groups of items that cannot be"
    if tally.patterns is None or tally.grouped.patterns() != dict(tally.patterns):
        yield "clusters or groups and patterns differ"
    if tally.grouped.people is not None:
        for part in tally.groups().values():
            yield from _faults_of_people(part)
    per_group = tally.grouped.annotators
    if per_group is not None and sum(sum(counts.values()) for counts in per_group.values()) > tally.annotations:
        yield "the annotators of the groups made more annotations than there are"


def possible(cell: Cell) -> bool:
    """Whether the numbers of agreeing pairs and triples are within their bounds; patterns tell exactly.

    >>> possible(Cell(4, 6, 6)), possible(Cell(4, 14, 6)), possible(Cell(100, 3, 0))
    (True, False, False)
    """
    n, pairs, triples = cell
    within = pairs <= n * (n - 1) and triples <= pairs * max(n - 2, 0)
    return n > 0 and within and pairs % 2 == 0 and triples % 6 == 0


def _faults_of_counts(frame: polars.DataFrame, annotators: Mapping[str, int] | None) -> Iterator[str]:
    if any(frame.null_count().row(0)):
        yield "an item, label or count is missing"
    if (frame["count"] < 1).any():
        yield "a count below 1"
    if frame.select("item", "label").is_duplicated().any():
        yield "an item has the same label in two rows"
    if annotators is not None and sum(annotators.values()) > int(frame["count"].sum()):
        yield "the annotators made more annotations than there are"
