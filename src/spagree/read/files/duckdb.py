"""Text rows and Parquet in duckdb: read once, strictly, and kept where several queries are cheap.

A text file is parsed once into an in-memory table, which duckdb moves to disk when memory runs out. A lazy scan would
parse it for each of the tally's queries, and meet a fault in line ten million in the middle of one. Measured on 10⁷
rows, 2 cores: load 1.0 s, each group-by 0.55 s; as a scan 0.9–1.3 s per group-by, plus 0.55 s to check the file first.
"""

# ruff: noqa: S608 - paths and names are quoted here, everything else is ours
from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree import progress
from spagree.codes import Codes, by_hash, in_order
from spagree.errors import DataError, FileError, shown
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, ROW, FewRows, Stamp, nw
from spagree.read.files.paths import File, new_file, refuse_changed, stamps
from spagree.read.table import SAMPLE_ROWS, Finish, Table, cell, listed, sql_literal, sql_name

if TYPE_CHECKING:
    import polars
    from duckdb import DuckDBPyConnection, DuckDBPyRelation
    from numpy.typing import NDArray

    from spagree.codes import Int32s
    from spagree.read.files.delimited import TextFile


USUAL_LINE, LONGEST_LINE = 1 << 21, 1 << 28  # buffers grow with it: try the small one first


def connect() -> DuckDBPyConnection:
    """A connection whose temporary tables nobody else sees, to a database that never fetches anything.

    The connections of a process that are open at the same time share one database, which takes 10 to 40 ms to create.
    It ends with the last of them, and spills to a private folder.
    """
    import duckdb

    spill = spill_folder()
    connection = duckdb.connect(
        f":memory:{spill.parent.name}",
        config={"temp_directory": str(spill), "autoinstall_known_extensions": False},
    )
    if progress.is_watched():
        # duckdb reports progress only with its progress bar on
        connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")

        def share() -> float | None:
            percent = connection.query_progress()  # −1 if no query is running
            return percent / 100 if percent >= 0 else None

        progress.watch(share)
    else:
        # it draws a bar on standard output in what it takes for an interactive session, such as python -c; in a
        # Jupyter kernel without ipywidgets it refuses to change the setting
        with suppress(duckdb.Error):
            connection.execute("SET enable_progress_bar = false")
    return connection


def text_table(files: Sequence[TextFile], scratch: Path, name: str, *, in_memory: bool = False) -> Table:
    """Delimited files with the same columns as one table of text; ``in_memory``: without duckdb if small and plain."""
    from spagree.read.files import delimited

    first, before = files[0], stamps([file.file for file in files])
    order = [_matching(file.names, first.names, file.file.name, first.file.name) for file in files]

    @remembered
    def load(positions: Sequence[int]) -> nw.LazyFrame[Any]:
        parts = [(file, [columns[p] for p in positions]) for file, columns in zip(files, order, strict=True)]
        return _loaded(parts, positions, scratch, name, before)

    @cache
    def plain() -> tuple[bytes, list[list[str]]]:
        return delimited.plain_rows(first) if len(files) == 1 else (b"", [])

    def few(places: Mapping[str, int], finish: Finish) -> FewRows | None:
        content, rows = plain()
        if rows:
            refuse_changed(before)
            cells = {role: [row[place] or None for row in rows] for role, place in places.items()}
            return FewRows(
                len(rows), tuple(places), lambda: delimited.coded(cells), lambda: finish(reloaded(content, places))
            )
        frame = load(list(dict.fromkeys(places.values())))
        named = ", ".join(f"{cell(place)} AS {role}" for role, place in places.items())
        return few_rows(frame.to_native().project(named), {}, lambda: finish(frame))

    def reloaded(content: bytes, places: Mapping[str, int]) -> nw.LazyFrame[Any]:
        """The same bytes on an engine: the file may have changed since, or gone."""
        with tempfile.TemporaryDirectory(prefix="spagree-") as folder:
            path = new_file(Path(folder))
            path.write_bytes(content)
            copy, positions = replace(first, file=first.file.copied(path)), list(places.values())
            return _loaded([(copy, positions)], positions, Path(folder), name, {})

    share = max(1, SAMPLE_ROWS // len(files))  # of each file: ids or annotators may begin anew
    rows = ((row, columns) for file, columns in zip(files, order, strict=True) for row in file.sample[:share])
    spread = (tuple(row[p] for p in columns if p < len(row)) for row, columns in islice(rows, SAMPLE_ROWS))
    return Table(
        name,
        first.names,
        load,
        is_text=True,
        sample=tuple(spread) if len(files) > 1 else first.sample,
        warnings=tuple(warning for file in files for warning in file.warnings),
        first_row=first.first_row,
        shares=tuple(len(file.sample[: SAMPLE_ROWS // len(files)]) for file in files),
        is_whole=len(files) * max(len(file.sample) for file in files) < SAMPLE_ROWS,
        noticed=lambda: tuple(warning for file in files for warning in file.noticed),
        small=lambda: list(map(tuple, plain()[1])),
        few=few if in_memory else None,
    )


def remembered(
    load: Callable[[Sequence[int]], nw.LazyFrame[Any]],
) -> Callable[[Sequence[int]], nw.LazyFrame[Any]]:
    """The same, from the columns that were loaded before if these are among them: a file is parsed once."""
    held: list[nw.LazyFrame[Any]] = []

    def loaded(positions: Sequence[int]) -> nw.LazyFrame[Any]:
        wanted = [cell(p) for p in positions]
        for frame in held:
            names = frame.collect_schema().names()
            if set(wanted) <= set(names):
                return frame.select(*wanted, *(name for name in (ROW,) if name in names))
        held[:] = [load(positions)]
        return held[0]

    return loaded


def text_frame(file: TextFile, positions: Sequence[int], scratch: Path) -> polars.DataFrame:
    """Columns of one file and the numbers of its rows in polars, which gets them as they are parsed.

    That takes half the memory of a table in duckdb. What duckdb refuses is loaded, or explained, as any table.
    """
    import duckdb
    import polars

    from spagree.read.files import delimited

    before = stamps([file.file])
    try:
        query = _select(delimited.plain(file, scratch), positions, USUAL_LINE, f", buffer_size={4 * USUAL_LINE}")
        frame = polars.DataFrame(connect().sql(query))
    except (duckdb.Error, polars.exceptions.PolarsError):
        frame = polars.DataFrame()
    if frame.is_empty():
        return polars.DataFrame(_loaded([(file, positions)], positions, scratch, file.file.name, before).to_native())
    refuse_changed(before)
    return frame.with_row_index(ROW, offset=file.first_row).cast({ROW: polars.Int64})


def _loaded(
    parts: Sequence[tuple[TextFile, Sequence[int]]],
    positions: Sequence[int],
    scratch: Path,
    name: str,
    before: Mapping[Path, Stamp],
) -> nw.LazyFrame[Any]:
    """The columns of all files, called by their positions in the first."""
    import duckdb

    from spagree.read.files import delimited

    connection = connect()
    connection.execute(f"CREATE TEMP TABLE cells ({', '.join(f'{cell(p)} VARCHAR' for p in positions)})")
    for file, columns in parts:
        try:
            try:
                query = _select(delimited.plain(file, scratch), columns, USUAL_LINE)
                connection.execute(f"INSERT INTO cells {query}").fetchall()
            except (duckdb.InvalidInputException, duckdb.ConversionException):  # now its faults are explained
                query = _select(delimited.tidied(file, scratch), columns, LONGEST_LINE)
                connection.execute(f"INSERT INTO cells {query}").fetchall()
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise FileError(f"{file.file.name}: cannot be read ({reason}); free disk space or memory") from error
    refuse_changed(before)  # since the headers were looked at
    if not connection.execute("SELECT 1 FROM cells LIMIT 1").fetchall():
        raise DataError(f"{name}: has a header but no data rows; check that the export finished")
    return nw.from_native(connection.sql(f"SELECT *, rowid + {parts[0][0].first_row} AS {ROW} FROM cells"))


def _select(file: TextFile, positions: Sequence[int], longest: int, more: str = "") -> str:
    """Every option is written out: nothing is sniffed, padded or converted.

    Except CRLF and CR, which duckdb 2.0 finds by itself but returns no rows for if named;
    LF must be named, or duckdb treats a CR in a quoted cell as a line end.
    """
    columns = ", ".join(f"'{cell(i)}': 'VARCHAR'" for i in range(len(file.names)))
    wanted = ", ".join(cell(p) for p in positions)
    newline = "" if file.has_returns else ", new_line='\\n'"
    return (
        f"SELECT {wanted} FROM read_csv({literal_path(file.file.path)}, "
        f"auto_detect=false, columns={{{columns}}}, delim={sql_literal(file.delimiter)}, quote='\"', escape='\"', "
        f"nullstr='', header={str(file.has_header).lower()}, skip={file.skip}, null_padding=false, "
        f"strict_mode=true, compression='none', max_line_size={longest}{newline}{more})"
    )


def _matching(names: Sequence[str], wanted: Sequence[str], name: str, first: str) -> list[int]:
    """The position of each wanted column in a further file; the same columns are required."""
    if list(names) == list(wanted):
        return list(range(len(wanted)))
    if sorted(names) == sorted(wanted) and len(set(names)) == len(names):
        return [list(names).index(column) for column in wanted]
    lacking = [column for column in wanted if column not in names]
    added = [column for column in names if column not in wanted]
    difference = [f"lacks {listed(lacking)}"] * bool(lacking) + [f"adds {listed(added)}"] * bool(added)
    raise DataError(
        f"{name}: its columns differ from those of {first}: {' and '.join(difference) or 'other order'}; "
        "files that are read together need the same columns"
    )


def parquet_table(files: Sequence[File], name: str, *, in_memory: bool = False) -> Table:
    """Parquet files as one table, scanned in place; ids and labels keep their types.

    ``in_memory``: a score may fetch a small table as integers.
    """
    connection = connect()
    watched = stamps(files)
    schema = common_schema(connection, files)
    query = f"SELECT file_name, num_rows FROM parquet_file_metadata({_listed(files)})"
    sizes = dict(connection.execute(query).fetchall())
    # how many rows precede each file: row numbers then cost nothing and run in parallel
    *offsets, total = [0, *accumulate(int(sizes[str(file.path)]) for file in files)]
    if not total:
        raise DataError(f"{name}: has columns but no data rows; check that the export finished")

    def load(positions: Sequence[int]) -> nw.LazyFrame[Any]:
        cells = ", ".join(f"{in_utc(*schema[p])} AS {cell(p)}" for p in positions)
        # Evaluated only if the row number is needed; the list is a constant.
        row = f"file_row_number + 1 + list_extract({offsets}::BIGINT[], file_index::BIGINT + 1)"
        query = f"SELECT {cells}, {row} AS {ROW} FROM {_scan(*files)}"
        if any(file.is_temporary for file in files):
            copy = connect()  # with tables of its own: other columns may be loaded later
            copy.execute(f"CREATE TEMP TABLE cells AS {query}")
            return nw.from_native(copy.table("cells"))
        return nw.from_native(connection.sql(query))

    every = ", ".join(in_utc(*column) for column in schema)
    sample = connection.execute(f"SELECT {every} FROM {_scan(files[0])} LIMIT {SAMPLE_ROWS}").fetchall()

    def few(places: Mapping[str, int], finish: Finish) -> FewRows | None:
        named = ", ".join(f"{in_utc(*schema[place])} AS {role}" for role, place in places.items())
        rows = connection.sql(f"SELECT {named} FROM {_scan(*files)}")
        return few_rows(rows, watched, lambda: finish(load(list(places.values()))), total)

    is_small = in_memory and total <= MOST_ROWS and len(watched) == len(files)
    names = tuple(column for column, _ in schema)
    return Table(
        name,
        names,
        load,
        sample=tuple(sample),
        watched=watched,
        is_whole=total == len(sample),
        few=few if is_small else None,
    )


def in_utc(column: str, kind: str) -> str:
    """A column as SQL; times with a zone in UTC without one, because Python would need a library for zones."""
    name = sql_name(column)
    return f"make_timestamp(epoch_us({name}))" if kind == "TIMESTAMP WITH TIME ZONE" else name


def _scan(*files: File) -> str:
    # Folders called key=value must not become columns: they would silently replace those of the files.
    return f"read_parquet({_listed(files)}, hive_partitioning = false)"


def _listed(files: Sequence[File]) -> str:
    return f"[{', '.join(literal_path(file.path) for file in files)}]"


def literal_path(path: Path) -> str:
    """The path as an SQL literal, with glob characters made literal too: duckdb would expand them."""
    text = str(path)
    if "\\" in text and os.sep == "/":  # duckdb expands nothing in such a name
        return sql_literal(text)
    return sql_literal("".join(f"[{c}]" if c in "*?[" else c for c in text))


def parquet_schema(connection: Any, file: File) -> list[tuple[str, str]]:
    """The columns of a Parquet file and their types."""
    import duckdb

    try:
        described = connection.execute(f"DESCRIBE SELECT * FROM {_scan(file)}").fetchall()
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise FileError(f"{file.name}: truncated or damaged Parquet ({reason}); copy or download it again") from error
    return [(column, kind) for column, kind, *_ in described]


def common_schema(connection: Any, files: Sequence[File]) -> list[tuple[str, str]]:
    """The columns and types that all Parquet files share; refuses the first file that differs."""
    import duckdb

    schema = parquet_schema(connection, files[0])
    if len(files) == 1:
        return schema
    footer = "list((name, type, duckdb_type, logical_type) ORDER BY name, type)::VARCHAR"
    query = f"SELECT file_name, {footer} FROM parquet_schema({_listed(files)}) GROUP BY file_name"
    try:
        footers = dict(connection.execute(query).fetchall())  # one query compares thousands of files
    except duckdb.Error:  # of one of them
        for file in files:
            parquet_schema(connection, file)
        raise
    for file in files[1:]:
        if footers[str(file.path)] != footers[str(files[0].path)]:
            refuse_other_types(parquet_schema(connection, file), schema, file.name, files[0].name)
    return schema


def refuse_other_types(
    schema: Sequence[tuple[str, str]], first: Sequence[tuple[str, str]], name: str, first_name: str
) -> None:
    """Refuse a file whose columns, in any order, or types differ from the others."""
    _matching([column for column, _ in schema], [column for column, _ in first], name, first_name)
    for column, kind in first:
        other_kind = dict(schema)[column]
        if other_kind != kind:
            raise DataError(
                f"{name}: column {shown(column)} holds {other_kind}, in {first_name} it holds {kind}; "
                "files that are read together need the same types"
            )


# Other types have values that are equal but spelled differently, or NaN.
CODED_KINDS = {"VARCHAR", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}
USABLE = f"{ITEM} IS NOT NULL AND {LABEL} IS NOT NULL"


MOST_ROWS = 2_000_000


def few_rows(
    relation: DuckDBPyRelation,
    before: Mapping[Path, Stamp],
    load: Callable[[], nw.LazyFrame[Any]],
    total: int | None = None,
) -> FewRows | None:
    """Columns called by their roles; None unless all hold texts or whole numbers. Files must be as they were before."""
    if any(str(kind) not in CODED_KINDS for kind in relation.types):
        return None
    size = relation.count("*").fetchall()[0][0] if total is None else total

    def fetch() -> tuple[Codes, Mapping[str, int]] | None:
        rows = coded_rows(relation, size) if size <= MOST_ROWS else None
        refuse_changed(before)
        return rows

    def sample(every: int) -> list[str]:
        return sampled_items(relation.filter(USABLE).project(ITEM), every)

    return FewRows(size, tuple(relation.columns), fetch, load, sample)


def coded_rows(relation: DuckDBPyRelation, total: int) -> tuple[Codes, Mapping[str, int]] | None:
    """Columns ``item``, ``label`` and, where known, ``annotator`` as codes; of ``total`` rows, some may lack a value.

    None if two values have the same hash, which is checked.
    """
    roles, usable = relation.columns, relation.filter(USABLE)
    hashes = usable.project(", ".join(f"hash({role}) AS {role}" for role in roles)).fetchnumpy()
    missing = total - len(hashes[ITEM])
    unlabelled = relation.filter(f"{LABEL} IS NULL").count("*").fetchall()[0][0] if missing else 0
    kept = usable if missing else relation
    codes: dict[str, Int32s] = {}
    names: dict[str, list[str]] = {}
    for role in roles:
        values = kept.project(role).distinct()
        if role == ITEM:  # in the order of their names, which are not fetched
            distinct, names[role] = values.order(ITEM).project(f"hash({ITEM}) AS hash").fetchnumpy()["hash"], []
        else:  # in the order of their texts, null last
            pairs = values.project(f"{role}, hash({role})").fetchall()
            pairs.sort(key=lambda pair: (pair[0] is None, str(pair[0])))
            distinct = np.array([value_hash for _, value_hash in pairs], np.uint64)
            names[role] = [str(name) for name, _ in pairs if name is not None]
        ranks = _places(hashes.pop(role), distinct)
        if ranks is None:
            return None
        codes[role] = ranks if role == ITEM else np.where(ranks < len(names[role]), ranks, np.int32(-1))
    lacking = {"missing_label": unlabelled, "missing_item": missing - unlabelled}
    people = names.get(ANNOTATOR, [])
    return in_order(codes[ITEM], codes[LABEL], codes.get(ANNOTATOR), names[LABEL], people), lacking


def _places(hashes: NDArray[np.uint64], distinct: NDArray[np.uint64]) -> Int32s | None:
    """The place of each hash among the distinct values; None if two of these have one hash, or hashes are others."""
    order, starts = by_hash(hashes)
    ranks = np.argsort(distinct).astype(np.int32)
    if not np.array_equal(hashes[order[starts]], distinct[ranks]):
        return None
    codes = np.empty(len(hashes), dtype=np.int32)
    codes[order] = np.repeat(ranks, np.diff(starts, append=len(order)))
    return codes


def sampled_items(items: DuckDBPyRelation, every: int) -> list[str]:
    """One item in ``every``, by the hash of its name without surrounding blanks, case and zeros; none if not texts.

    All spellings of a name are in the sample, or none.
    """
    if [str(kind) for kind in items.types] != ["VARCHAR"]:
        return []
    if every > 1:
        items = items.filter(f"hash(ltrim(lower(trim({ITEM})), '0')) % {every} = 0")
    return [item for (item,) in items.distinct().fetchall()]


_folders: dict[int, Path] = {}  # by process: a fork must neither share nor remove its parent's folder


def spill_folder() -> Path:
    """A path for this process's database in duckdb, inside a folder that only this user can enter.

    duckdb gives its files the same names in every process: two databases with one folder would read each other's
    rows. It creates the folder when memory runs out and removes it with the database; anything left is removed with
    the parent folder when the process ends.
    """
    process = os.getpid()
    if process not in _folders or not _folders[process].is_dir():
        folder = _folders[process] = Path(tempfile.mkdtemp(prefix="spagree-spill-"))
        atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == process else None)
    return _folders[process] / "duckdb"
