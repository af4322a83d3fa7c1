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
    LENGTH,
    LOOSE,
    QUOTE,
    START,
    TEXT,
    Annotations,
    MarkRows,
    Understood,
    text_of,
)
from spagree.read.databases import addresses
from spagree.read.files import paths
from spagree.read.layouts import Recognised
from spagree.read.request import DUCKDB, POLARS, ROLES, SPARK, Request
from spagree.read.table import SHOWN_EXAMPLES, Table
from spagree.read.tools.registry import find
from spagree.read.tools.source import look

if TYPE_CHECKING:
    from spagree.read.files.delimited import TextFile
    from spagree.read.files.paths import File
    from spagree.read.tools.source import Source
    from spagree.read.tools.tool import Tool


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
            given = [os.fsdecode(path) for path in _paths(source) or () if not hasattr(type(path), "read")]
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

        def table(given: Any, names: Sequence[str], origin: Source | None = None) -> Table:
            if frames.is_frame(given) or _paths(given):
                return _table(given, origin, request, scratch)
            if not isinstance(given, Iterable) or isinstance(given, Mapping):
                raise UsageError(f"cannot read marks from {type(given).__name__}; give a path, a data frame, or rows")
            return marks.rows_table(given, names)

        visits = None if seen is None else table(seen, marks.VISIT)
        if visits is not None and request.where:  # the same rows of both tables, where both have the column
            common = [each for each in request.conditions() if each.column in visits.columns]
            visits = where.with_values(visits, common, []) if common else visits
        known = None
        if texts is not None:
            known = marks.texts_in(table(texts, (ITEM, TEXT)), named, request)
            named[TEXT] = None
        is_plain = bool(key) or any(named[role] for role in (START, END, LENGTH, QUOTE, LABEL))
        origin, tool = (None, None) if is_plain else _looked(source, request, scratch)
        if origin is not None and tool is not None:
            from spagree.read.tools.export import read_export_marks

            if texts is not None:
                raise UsageError(f"{opt.texts}: exports of {tool.title} have their own texts; leave it out")
            how = request.reader_options(scratch), request.rules(), request.duplicates
            (found,) = read_export_marks(origin, tool, *how, is_loose=edges == LOOSE).values()
            if visits is not None:
                found = replace(found, seen=marks.visits_in(visits, named, request), how="given")
            return where.marks_without(found, request.excluded)
        rules: list[str] = []
        whole = table(source, marks.MARK, origin)
        whole = where.with_values(whole, request.conditions(), rules) if request.where else whole
        found = marks.marks_in(whole, visits, named, key, request)
        if named[QUOTE] or edges:
            has_text = known is not None or (found.seen is not None and TEXT in found.seen.collect_schema().names())
            if not has_text:
                option = opt.edges(edges) if edges else opt.quote
                raise UsageError(f"{option} needs the text of each item: name a table of them with {opt.texts}")
        understood = found.understood and replace(found.understood, rules=tuple(rules[-1:]))
        found = replace(found, texts=known, is_loose=edges == LOOSE, understood=understood)
        return where.marks_without(found, request.excluded)


def read_all_marks(path: str) -> dict[str, MarkRows]:
    """The marks of every question in the export of a tool, the latest submission of each visit; none elsewhere."""
    from spagree.read.tools.export import read_export_marks

    request = Request()
    with _scratch(path) as scratch:
        origin, tool = _looked(path, request, scratch)
        if origin is None or tool is None:
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


def _looked(source: Any, request: Request, scratch: Path) -> tuple[Source | None, Tool | None]:
    """What a first look at files shows, and the tool that wrote them; neither for what cannot be an export."""
    given = _paths(source)
    if not given or _example(source) or not request.may_be_export:
        return None, None
    origin = look(given, request.encoding, scratch)
    return origin, find(origin, request.format)


def _by_question(source: Any, request: Request, scratch: Path, every: bool) -> dict[str, Annotations]:
    """The annotations by question: of a tool's export, or of a plain table."""
    origin, tool = _looked(source, request, scratch)
    if origin is not None and tool is not None and not request.is_plain(tool.name):
        from spagree.read.tools.export import read_export

        options = request.reader_options(scratch)
        return read_export(origin, tool, options, request.rules(), missing=request.missing_texts, every=every)
    request.refuse_for_tables(origin.name if origin else "this")
    table = layouts.without_second_header(_table(source, origin, request, scratch))
    rules: list[str] = []
    if request.where:
        table = where.with_values(table, request.conditions(), rules)
    example = _example(source)
    layout = example[1].replace("spans", "long") if example else "long"  # examples know theirs
    wanted = layout if request.format == "auto" else request.format
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
        return {name: _annotations(table, reading, rules) for name, reading in readings.items()}
    if every and read_as.format in ("long", "lists") and len(labels := layouts.several_labels(table, request)) > 1:
        readings = {name: Recognised(read_as.format, replace(request, label=name)) for name in labels}
        return {name: _annotations(table, reading, rules) for name, reading in readings.items()}
    annotations = _annotations(table, read_as, rules)
    return {annotations.understood.columns.get(LABEL, LABEL): annotations}


def _annotations(table: Table, read_as: Recognised, rules: Sequence[str]) -> Annotations:
    """A table in one of the layouts; loading it fills ``rules``."""
    layout = layouts.laid_out(table, read_as)
    examples = [tuple(map(text_of, row)) for row in table.sample[:SHOWN_EXAMPLES]]
    if layout.format == "long":  # in the order item, annotator, label
        places = [layout.shown[role] for role in (ITEM, ANNOTATOR, LABEL) if role in layout.columns]
        whole = [row for row in examples if len(row) == len(table.columns)]
        examples = [tuple(" | ".join(row[p] for p in positions) for positions in places) for row in whole]
    understood = Understood(
        table.name,
        layout.format,
        layout.columns,
        layout.guessed | read_as.guessed,
        tuple(examples),
        (*rules[-1:], *read_as.rules),
        layout.apart,
    )
    warnings = (*table.warnings, *table.noticed(), *layout.warnings, *read_as.warnings)
    return Annotations(layout.rows, understood, warnings, watched=table.watched)


def _table(source: Any, origin: Source | None, request: Request, scratch: Path) -> Table:
    """The table behind any kind of source."""
    if request.query is not None:
        from spagree.read.databases import queries

        return queries.query_table(source, request.query, scratch)
    if given := _paths(source):
        if request.engine == SPARK:
            from spagree.read.spark import spark_table

            return spark_table(given, request.spark_master)
        files = origin.tables if origin is not None else ()
        opened = origin.opened if origin is not None else None
        table = file_table(files or paths.gather(given, scratch), request, scratch, opened)
        return replace(table, name=source) if _example(source) else table
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


def _paths(source: Any) -> list[Any] | None:
    """The paths and streams, with the files of examples; None if it holds annotations, as a list of triples does."""
    parts = list(source) if isinstance(source, (list, tuple)) else [source]
    # Looked up on the type: frames of a Spark Connect server treat any attribute as a column.
    if not parts or not all(isinstance(p, (str, bytes, os.PathLike)) or hasattr(type(p), "read") for p in parts):
        return None
    return [part if (example := _example(part)) is None else example[0] for part in parts]


def _example(source: Any) -> tuple[Path, str] | None:
    """The file and the layout of an example; None for any other source."""
    if not isinstance(source, str) or not source.startswith("example:"):
        return None
    from spagree.read import examples

    return examples.locate(source.removeprefix("example:"))


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
