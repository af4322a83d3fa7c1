"""Which package reads a source; the others are not imported.

source ─ files ─ kind ─┬ delimited, json, spreadsheet ─ duckdb ┐
                       ├ parquet ────────────────────── duckdb ┼─ Table ─ layouts ─ Annotations
                       └ arrow ──────────────────────── frames ┤
databases and a query ─ queries ────────────────────── duckdb ┤
data frames, triples, matrices ──────────────────────── frames ┘
exports of annotation tools ─ tools ────────────────────────────────────────────── Annotations
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spagree import progress
from spagree.errors import FileError, SpagreeError, UsageError, opt, unknown_name
from spagree.read import columns, frames, layouts, where
from spagree.read.annotations import (
    ANNOTATOR,
    END,
    ITEM,
    LABEL,
    LAYOUTS,
    LENGTH,
    LOOSE,
    QUOTE,
    START,
    TEXT,
    Annotations,
    MarkRows,
)
from spagree.read.databases import addresses
from spagree.read.files import paths
from spagree.read.layouts import Recognised
from spagree.read.request import DUCKDB, POLARS, ROLES, SPARK, Request
from spagree.read.table import Table
from spagree.read.tools.registry import find
from spagree.read.tools.source import ARCHIVE, MEMORY, NAMED, Source, look

if TYPE_CHECKING:
    from spagree.read.files.delimited import TextFile
    from spagree.read.files.paths import File
    from spagree.read.tools.tool import Tool


EXAMPLE = "example:"  # before the name of one
PER_ANNOTATOR = "per-annotator"  # the format in which the names of files are those of annotators
# The modules of the errors of libraries that parse files; a panic is one in the Rust of polars or fastexcel.
LIBRARIES = {"_duckdb", "duckdb", "polars", "narwhals", "_csv", "pyarrow", "_fastexcel", "fastexcel", "zipfile", "zlib",
             "struct", "json", "pyo3_runtime"}  # fmt: skip


def read(source: Any, **options: Any) -> Annotations:
    """Read annotations from a path, a glob, standard input ("-"), a data frame, triples or counts.

    A label or id of a text file is exactly what the file says; only an empty cell is missing, or a
    label that ``missing`` names. Columns that are not named are guessed, and ``understood`` says how.
    Exports of annotation tools are recognised. The options are those of :class:`~spagree.options.Reading`.

    >>> annotations = read([("i1", "ann", "cat"), ("i1", "bob", "dog")])
    >>> annotations.frame.collect_schema().names()
    ['item', 'annotator', 'label', 'row']
    >>> annotations.understood.format
    'long'
    """
    return next(iter(_read(source, Request(**options), every=False).values()))


def read_all(source: Any, **options: Any) -> dict[str, Annotations]:
    """The annotations of every question in the export of a tool; a plain table holds one.

    >>> list(read_all([("i1", "ann", "cat"), ("i1", "bob", "dog")]))
    ['label']
    """
    return _read(source, Request(**options), every=True)


def _read(source: Any, request: Request, *, every: bool) -> dict[str, Annotations]:
    """The annotations by question, under the names of the source or under pseudonyms."""
    request.refuse_unknown()
    hidden: AbstractContextManager[None] = nullcontext()
    if request.pseudonymise is not False:
        from spagree.read.pseudonyms import key_for, names_hidden, pseudonymised

        key, warnings = key_for(request.pseudonymise)
        stems: set[str] = set()
        if request.format == PER_ANNOTATOR:
            named = _named(source)
            places = named.given if named.shape == NAMED else ()
            given = [os.fsdecode(path) for path in places if not hasattr(type(path), "read")]
            files = [Path(found) for path in given for found in (path, *glob(path))]  # noqa: PTH207 (absolute patterns)
            stems = {each.stem for file in files for each in (file.rglob("*") if file.is_dir() else [file])}
        hidden = names_hidden(stems)
    progress.stage("reading")
    with hidden:
        with _scratch(source) as scratch:
            by_question = _by_question(source, request, scratch, every)
        if excluded := request.excluded:
            by_question = {name: where.without_annotators(whole, excluded) for name, whole in by_question.items()}
    if request.pseudonymise is False:
        return by_question
    unnamed = {question: pseudonymised(named, key) for question, named in by_question.items()}
    return {question: replace(each, warnings=each.warnings + warnings) for question, each in unnamed.items()}


def read_marks(
    source: Any,
    seen: Any = None,
    edges: str | None = None,
    mark: str | Sequence[str] = (),
    texts: Any = None,
    **options: Any,
) -> MarkRows:
    """Marks from a table, a tool's export, or rows of (item, annotator, start, end[, label]).

    ``seen`` is a table of who saw which item, ``texts`` one of the text of each, from any of these; ``edges``: what
    counts at the ends of a mark. ``start``, ``end``, ``length`` and ``quote`` name columns like the roles among the
    options of :func:`read`; a tool's export knows its own. The columns ``mark`` together are a mark that is no place.

    >>> marked = read_marks([("q", "ann", 0, 4, "P"), ("q", "bob", None, None, None)])
    >>> marked.how, marked.rows.collect_schema().names()
    ('rows', ['item', 'annotator', 'start', 'end', 'label', 'row'])
    """
    from spagree.read.layouts import marks

    named = {role: options.pop(role, None) for role in (START, END, LENGTH, QUOTE)}
    request = Request(**{**options, "format": options.get("format", "auto").replace("spans", "auto")})
    request.refuse_unknown()
    key = [mark] if isinstance(mark, str) else list(mark)
    given = {**{role: named[role] for role in (START, END, QUOTE)}, "edges": edges}
    for role in (role for role, value in given.items() if key and value):
        raise UsageError(f"{opt.mark}: a mark is what stands in these columns, without {opt[role]}; give one of them")
    if edges not in (None, LOOSE):
        raise unknown_name(opt.edges, edges, (LOOSE,))
    named |= {role: options.get(role) for role in ROLES}
    with _scratch(source) as scratch:

        def table(given: Any, names: Sequence[str]) -> Table:
            origin = given if isinstance(given, Source) else _named(given)
            given = origin.given
            if frames.is_frame(given) or origin.shape != MEMORY:
                return _table(origin, request, scratch)
            if not isinstance(given, Iterable) or isinstance(given, Mapping):
                raise UsageError(f"cannot read marks from {type(given).__name__}; give a path, a data frame, or rows")
            return marks.rows_table(given, names)

        visits = None if seen is None else table(seen, marks.VISIT)
        if visits is not None and request.where:  # the same rows of both tables, where both have the column
            common = [each for each in request.conditions() if each.column in visits.columns]
            visits = where.with_values(visits, common) if common else visits
        known = None
        if texts is not None:
            known = marks.texts_in(table(texts, (ITEM, TEXT)), named, request)
            named[TEXT] = None
        is_plain = bool(key) or any(named[role] for role in (START, END, LENGTH, QUOTE, LABEL))
        origin, tool = _named(source), None
        if not is_plain:
            origin, tool = _looked(origin, request, scratch)
        if tool is not None:
            from spagree.read.tools.export import read_export_marks

            if texts is not None:
                raise UsageError(f"{opt.texts}: exports of {tool.title} have their own texts; leave it out")
            how = request.reader_options(scratch), request.rules(), request.duplicates
            (found,) = read_export_marks(origin, tool, *how, is_loose=edges == LOOSE).values()
            if visits is not None:
                found = replace(found, seen=marks.visits_in(visits, named, request), how="given")
            return where.marks_without(found, request.excluded)
        whole = table(origin, marks.MARK)
        whole = where.with_values(whole, request.conditions()) if request.where else whole
        found = marks.marks_in(whole, visits, named, key, request)
        if named[QUOTE] or edges:
            has_text = known is not None or (found.seen is not None and TEXT in found.seen.collect_schema().names())
            if not has_text:
                option = opt.edges(edges) if edges else opt.quote
                raise UsageError(f"{option} needs the text of each item: name a table of them with {opt.texts}")
        understood = found.understood and replace(found.understood, rules=tuple(whole.rules))
        found = replace(found, texts=known, is_loose=edges == LOOSE, understood=understood)
        return where.marks_without(found, request.excluded)


def read_all_marks(path: str) -> dict[str, MarkRows]:
    """The marks of every question in the export of a tool, the latest submission of each visit; none elsewhere."""
    from spagree.read.tools.export import read_export_marks

    request = Request()
    with _scratch(path) as scratch:
        origin, tool = _looked(_named(path), request, scratch)
        if tool is None:
            return {}
        return read_export_marks(origin, tool, request.reader_options(scratch), request.rules(), "last", every=True)


@contextmanager
def _scratch(source: Any) -> Iterator[Path]:
    """A folder for copies, deleted at the end; errors that nobody else explained are explained."""
    try:
        with tempfile.TemporaryDirectory(prefix="spagree-") as folder:
            yield Path(folder)
    except SpagreeError:
        raise
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        raise FileError(f"{place}{error.strerror or error}; check the path, the disk and its permissions") from error
    except BaseException as error:
        library = type(error).__module__.partition(".")[0]
        if library not in LIBRARIES and not isinstance(error, (UnicodeError, RecursionError, OverflowError)):
            raise
        first = source[0] if isinstance(source, (list, tuple)) and source else source
        is_named = isinstance(first, (str, bytes, os.PathLike))
        name = addresses.public(os.fsdecode(first)) if is_named else "the source"
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise FileError(f"{name}: truncated or damaged ({reason}); copy or download it again") from error


def _named(source: Any) -> Source:
    """What the user named: paths and streams, with the files of examples, or what holds annotations itself."""
    parts = list(source) if isinstance(source, (list, tuple)) else [source]
    # Looked up on the type: frames of a Spark Connect server treat any attribute as a column.
    if not parts or not all(isinstance(p, (str, bytes, os.PathLike)) or hasattr(type(p), "read") for p in parts):
        return Source("this", MEMORY, given=source)
    layout = ""
    for place, part in enumerate(parts):
        if isinstance(part, str) and part.startswith(EXAMPLE):
            from spagree.read import examples

            parts[place], layout = examples.locate(part.removeprefix(EXAMPLE))
    alone = (source, layout.replace("spans", "long")) if layout and isinstance(source, str) else ()
    return Source("this", NAMED, given=parts, example=alone)


def _looked(source: Source, request: Request, scratch: Path) -> tuple[Source, Tool | None]:
    """The same with what a first look at files shows, and the tool that wrote them.

    What cannot be an export is not looked at: examples, queries, what Spark or polars read, and tables in a layout that
    was named, or without a header.
    """
    is_table = source.shape == MEMORY or bool(source.example) or request.format in LAYOUTS or not request.header
    if is_table or request.query is not None or request.engine not in (None, DUCKDB):
        return source, None
    seen = look(source.given, request.encoding, scratch)
    return replace(seen, given=source.given), find(seen, request.format)


def _by_question(source: Any, request: Request, scratch: Path, every: bool) -> dict[str, Annotations]:
    """The annotations by question: of a tool's export, or of a plain table."""
    origin, tool = _looked(_named(source), request, scratch)
    if tool is not None and not request.is_plain(tool.name):
        from spagree.read.tools.export import read_export

        options = request.reader_options(scratch)
        return read_export(origin, tool, options, request.rules(), missing=request.missing_texts, every=every)
    request.refuse_for_tables(origin.name)
    table = layouts.without_second_header(_table(origin, request, scratch))
    if request.where:
        table = where.with_values(table, request.conditions())
    wanted = request.format
    if wanted == "auto":  # examples know theirs
        wanted = origin.example[1] if origin.example else "long"
    is_open = request.format == "auto" and wanted == "long"
    read_as = layouts.recognised(table, request) if is_open else Recognised(wanted, request)
    if read_as.format != "long" and not request.names(LABEL):
        kept = request.roles(table, (ITEM, ANNOTATOR)).positions.values()
        spread = columns.everywhere(table, kept=kept)
        if is_open and spread is not table:
            read_as = layouts.recognised(spread, request)
        table = spread
    if every and read_as.format == "long" and (questions := layouts.several_questions(table, request)):
        readings = {name: Recognised("long", replace(request, question=name)) for name in questions}
        return {name: layouts.laid_out(table, reading) for name, reading in readings.items()}
    if every and read_as.format in ("long", "lists") and len(labels := layouts.several_labels(table, request)) > 1:
        readings = {name: Recognised(read_as.format, replace(request, label=name)) for name in labels}
        return {name: layouts.laid_out(table, reading) for name, reading in readings.items()}
    annotations = layouts.laid_out(table, read_as)
    return {annotations.understood.columns.get(LABEL, LABEL): annotations}


def _table(origin: Source, request: Request, scratch: Path) -> Table:
    """The table behind any kind of source."""
    source = origin.given
    if request.query is not None:
        from spagree.read.databases import queries

        return queries.query_table(source, request.query, scratch)
    if origin.shape != MEMORY:
        if request.engine == SPARK:
            from spagree.read.spark import spark_table

            return spark_table(source, request.spark_master)
        files = () if origin.shape == ARCHIVE else origin.files
        table = file_table(files or paths.gather(source, scratch), request, scratch, origin.opened)
        return replace(table, name=origin.example[0]) if origin.example else table
    if request.engine is not None:
        raise UsageError(f"{opt.engine(request.engine)} is for files; a data frame is counted by its own engine")
    if (matrix := frames.matrix_table(source, request.format, request.names(LABEL))) is not None:
        return matrix
    if frames.is_frame(source):
        return frames.frame_table(source)
    if isinstance(source, dict) or not isinstance(source, Iterable):
        frame = " (such as pandas.DataFrame(it))" if isinstance(source, dict) else ""
        raise UsageError(
            f"cannot read annotations from {type(source).__name__}; give a path, a data frame{frame}, "
            "triples (item, annotator, label) or a 2-D count matrix"
        )
    return frames.triples_table(source)


def file_table(gathered: Sequence[File], request: Request, scratch: Path, first: TextFile | None = None) -> Table:
    """All files as one table: text, Parquet or Arrow, but not a mixture; ``first`` if it was opened before."""
    from spagree.read.files import duckdb

    name = gathered[0].name if len(gathered) == 1 else f"{gathered[0].name} and others, {len(gathered)} files in all"
    for file in gathered:
        if file.kind == "orc":
            raise FileError(
                f"{file.name}: only Spark reads ORC files; use {opt.engine('spark')}, or save the table as Parquet"
            )
    kinds = {file.kind if file.kind in ("parquet", "arrow") else "text" for file in gathered}
    if len(kinds) > 1:
        raise UsageError(f"{name}: files of different kinds ({', '.join(sorted(kinds))}); convert them to one kind")
    (kind,) = kinds
    # duckdb reads files other than Arrow, unless the user names another engine.
    reads = {None: ("parquet", "arrow", "text"), POLARS: ("parquet", "arrow"), DUCKDB: ("parquet", "text")}
    if kind not in reads[request.engine]:
        raise UsageError(f"{opt.engine(request.engine)} does not read {name} ({kind}); leave it out, or use Parquet")
    if kind == "arrow" or request.engine == POLARS:
        table = frames.scanned_table(gathered, name)
    elif kind == "parquet":
        table = duckdb.parquet_table(gathered, name, in_memory=request.engine is None)
    else:
        opened = [] if first is None else [first]
        for file in gathered[len(opened) :]:
            if file.kind == "excel":
                from spagree.read.files.spreadsheet import open_excel

                opened.append(open_excel(file, request.header, request.sheet, scratch))
            elif file.kind == "delimited":
                from spagree.read.files.delimited import open_delimited

                opened.append(open_delimited(file, request.encoding, request.header, scratch))
            else:
                from spagree.read.files.json import open_json

                opened.append(open_json(file, request.encoding, scratch, next(iter(request.names(LABEL)), "")))
        table = duckdb.text_table(opened, scratch, name, in_memory=request.engine is None)
    return replace(table, files=len(gathered))
