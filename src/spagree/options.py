"""Every option of :func:`spagree.measure`, declared once: how a source is read, and how agreement is estimated.

Python functions, the command line, ``agreement.options`` and error messages all use these records. The types
of keyword arguments stand below them, for editors and type checkers; a test compares them with the records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import Any, Literal, TypedDict

DuplicatePolicy = Literal["error", "first", "last", "set", "keep"]
IntervalFor = Literal["auto", "items", "annotators"]
CustomWeights = Mapping[int, float] | Callable[[int], float]
Similarity = Callable[[str, str], float]
Weights = CustomWeights | str
Listed = Sequence[str]
SPANS = "spans"  # the format

WHAT, COLUMNS, CLEANING, TOOLS, DATABASES, STATISTICS, OUTPUT = GROUPS = (
    "Input",
    "Columns",
    "Cleaning",
    "Exports of annotation tools",
    "Databases",
    "Statistics",
    "Output",
)


class Kind(Enum):
    """How an option is written on the command line; one of its types says so."""

    REPEATED = "Sequence[str]"
    LISTED = "Listed"  # separated by commas
    FLAG = "bool"  # --no-NAME where it is on by default
    WHOLE = "int"
    REAL = "float"
    WEIGHTS = "Weights"  # a name, or numbers as 2=1,3=1.8
    TEXT = "str"  # and what else is one value


@dataclass(frozen=True, slots=True)
class Declaration:
    """What an option declares besides its name, type and default."""

    help: str
    group: str
    kind: Kind
    metavar: str | None
    is_secret: bool
    """``agreement.options`` records only that it was given, not its value."""


def _option(group: str, metavar: str | None, help: str, *, default: Any = None, is_secret: bool = False) -> Any:
    return field(default=default, metadata={"group": group, "metavar": metavar, "help": help, "is_secret": is_secret})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a source is read and cleaned."""

    item: str | Sequence[str] | None = _option(
        COLUMNS, "COLUMN", "Item column; repeat it if several identify an item; :row if every row is one."
    )
    annotator: str | Sequence[str] | None = _option(COLUMNS, "COLUMN", "Annotator column, optional; may be repeated.")
    label: str | Sequence[str] | None = _option(
        COLUMNS, "COLUMN", "Label column; in a wide table repeat it for every column of labels, or write 'rater_*'."
    )
    same_annotators: bool = _option(
        COLUMNS,
        None,
        "With --format lists: the first label of every list is by one annotator, and so on.",
        default=False,
    )
    time: str | None = _option(COLUMNS, "COLUMN", "Column with the time of each annotation.")
    time_format: str | None = _option(COLUMNS, "FORMAT", "How times are written, for example '%d/%m/%Y %H:%M'.")
    text: str | None = _option(COLUMNS, "COLUMN", "Column with the item's text, shown with the hardest items.")
    cluster: str | None = _option(
        COLUMNS, "COLUMN", "Column that groups dependent items, such as a document or a batch."
    )
    by: str | None = _option(COLUMNS, "COLUMN", "Also measure each group of items (language) or annotators (expert).")
    format: str = _option(
        WHAT,
        "NAME",
        "auto, long, wide (items × annotators), transposed (annotators × items), counts, one-hot, lists (all labels in "
        "one cell), or the tool that exported it: label-studio, prodigy, …",
        default="auto",
    )
    sheet: str | None = _option(WHAT, "NAME", "The sheet of an Excel workbook.  [default: the first]")
    encoding: str | None = _option(WHAT, "NAME", "Text encoding of the file, if it is not UTF-8 or UTF-16.")
    header: bool = _option(WHAT, None, "The file has no header; columns are called 1, 2, 3, …", default=True)
    engine: str | None = _option(WHAT, "NAME", "What reads and counts files: duckdb (default), polars or spark.")
    spark_master: str | None = _option(WHAT, "URL", "The cluster for --engine spark.  [default: this machine]")
    query: str | None = _option(
        DATABASES,
        "SQL",
        "Read the result of this SELECT; SOURCE is then postgresql://USER@HOST/DATABASE or an SQLite file.",
    )
    where: str | Sequence[str] | Mapping[str, Any] = _option(
        CLEANING,
        "COLUMN=VALUE",
        "Use only rows with this value in a column (COLUMN!=VALUE: without it); may be repeated.",
        default=(),
    )
    exclude_annotator: str | Sequence[str] = _option(
        CLEANING, "NAME", "Leave out this annotator; may be repeated.", default=()
    )
    missing: Sequence[str] = _option(CLEANING, "TEXT", "A label that means missing; may be repeated.", default=())
    separator: str | None = _option(CLEANING, "TEXT", "Separator of the options in a label that is a set: ; in a;b.")
    normalize: bool = _option(
        CLEANING, None, "Ignore differences in case, blanks, Unicode form, or between 1 and 1.0.", default=False
    )
    duplicates: DuplicatePolicy = _option(
        CLEANING,
        "POLICY",
        "When an annotator relabels an item: error (default), first, last, set (all in one label), keep (all count).",
        default="error",
    )
    first: int | None = _option(CLEANING, "K", "Use only the first K annotations of each item, by time.")
    pseudonymise: bool | str | Path = _option(
        CLEANING, None, "Replace annotators' names with stable pseudonyms.", default=False, is_secret=True
    )
    question: str | None = _option(COLUMNS, "NAME", "Which question, if a table or a tool's export has several.")
    status: str | Sequence[str] = _option(
        TOOLS, "NAME", "Count annotations with this status in a tool's export; may be repeated.", default=()
    )
    ground_truth: str = _option(
        TOOLS, "POLICY", "Ground truth in a tool's export: keep (default) or drop.", default="keep"
    )
    multi: str = _option(
        TOOLS,
        "POLICY",
        "Several choices in an answer: set (one label, default) or options (yes/no for each).",
        default="set",
    )
    empty: str = _option(TOOLS, "POLICY", "Empty answers: drop (default), or keep as a label.", default="drop")
    config: Any = _option(
        TOOLS, "FILE", "Label Studio's labelling configuration, for aliases of choices.", is_secret=True
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimating:
    """How agreement is estimated from what was counted."""

    weights: Weights = _option(
        STATISTICS,
        "SCHEME",
        "{schemes}, or your own weights by number of annotations: 2=1,3=1.8,4=2.5",
        default="annotations_m1",
    )
    metric: str | Similarity = _option(
        STATISTICS,
        "NAME",
        "How labels agree: nominal (default), ordinal, interval, ratio, circular, linear, quadratic; for sets of "
        "options (a|b or a JSON list) jaccard, masi, options.",
        default="nominal",
    )
    order: Listed = _option(
        STATISTICS, "A,B,C", "Order of the labels from low to high, for ordinal metrics.", default=()
    )
    level: float = _option(STATISTICS, "P", "Confidence level of the intervals.  [default: 0.95]", default=0.95)
    interval_for: IntervalFor = _option(
        STATISTICS,
        "WHOM",
        "Whom the intervals are for: annotators (others like these, on new items), items (these annotators, on new "
        "items), or auto (default): annotators where they are known and at least four, otherwise items.",
        default="auto",
    )
    bootstrap: int | None = _option(STATISTICS, "N", "Intervals from N resamples of the items instead of Wilson's.")
    seed: int = _option(STATISTICS, "S", "Seed of the bootstrap.  [default: 0]", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """What else says how marks are read."""

    start: str | None = _option(COLUMNS, "COLUMN", "Spans: column of the first character, counted from 0.")
    end: str | None = _option(COLUMNS, "COLUMN", "Spans: column of the first character after the span.")
    length: str | None = _option(COLUMNS, "COLUMN", "Spans: column of the length of the text, in --seen.")
    mark: str | Sequence[str] = _option(
        COLUMNS,
        "COLUMN",
        "Spans: marks that are no places: the columns that make one, such as head and dependent; may be repeated.",
        default=(),
    )
    seen: str | Sequence[str] | None = _option(
        WHAT,
        "FILE",
        "Spans: who saw which item, with marks or without: item, annotator[, length]; to compare, one for each source.",
    )
    texts: str | None = _option(WHAT, "FILE", "Spans: the text of each item: item, text.")
    quote: str | None = _option(
        COLUMNS, "COLUMN", "Spans: column of the marked words, which must stand in the text at the offsets."
    )
    edges: str | None = _option(
        CLEANING, "POLICY", "Spans with texts: loose leaves out blanks and punctuation at both ends."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """How the live monitor listens, stores, and what it follows."""

    host: str = _option(
        OUTPUT,
        "ADDRESS",
        "Where to listen; any address but loopback needs a token.  [default: 127.0.0.1]",
        default="127.0.0.1",
    )
    port: int = _option(OUTPUT, "N", "The port; 0 picks a free one.  [default: 8765]", default=8765)
    store: str = _option(
        OUTPUT,
        "FILE|postgresql://…",
        "Where annotations are stored: an SQLite file or a PostgreSQL database.  [default: spagree-monitor.sqlite]",
        default="spagree-monitor.sqlite",
    )
    token_file: str | None = _option(OUTPUT, "FILE", "A file with the token that every request must carry.")
    target: float | None = _option(OUTPUT, "X", "Alert when agreement is below X.")
    first: int = _option(OUTPUT, "K", "Annotations an item needs to be closed.  [default: 2]", default=2)
    follow: Sequence[str] = _option(
        OUTPUT, "PATH", "A file, folder or database that grows; may be repeated.", default=()
    )
    project: str | None = _option(OUTPUT, "NAME", "The project that --follow belongs to.")
    label_studio: Sequence[str] = _option(
        OUTPUT, "URL", "Compare with Label Studio's API: its address, or a project's; may be repeated.", default=()
    )
    label_studio_token_file: str | None = _option(OUTPUT, "FILE", "The token for Label Studio's API.")
    potato_secret_file: str | None = _option(OUTPUT, "FILE", "The secret with which potato signs its webhooks.")
    alert_url: str | None = _option(OUTPUT, "URL", "Send alerts to this address.")
    alert_secret_file: str | None = _option(
        OUTPUT, "FILE", "Sign them with the secret in this file (Standard Webhooks)."
    )
    behind_proxy: bool = _option(
        OUTPUT, None, "A proxy of yours passes requests on: its last X-Forwarded-For is the client.", default=False
    )
    demo: bool = _option(OUTPUT, None, "Replay a simulated project in a separate store.", default=False)


class ReadingOptions(TypedDict, total=False):
    """Keyword arguments for reading."""

    item: str | Sequence[str] | None
    annotator: str | Sequence[str] | None
    label: str | Sequence[str] | None
    same_annotators: bool
    time: str | None
    time_format: str | None
    text: str | None
    cluster: str | None
    by: str | None
    format: str
    sheet: str | None
    encoding: str | None
    header: bool
    engine: str | None
    spark_master: str | None
    query: str | None
    where: str | Sequence[str] | Mapping[str, Any]
    exclude_annotator: str | Sequence[str]
    missing: Sequence[str]
    separator: str | None
    normalize: bool
    duplicates: DuplicatePolicy
    first: int | None
    pseudonymise: bool | str | Path
    question: str | None
    status: str | Sequence[str]
    ground_truth: str
    multi: str
    empty: str
    config: Any


class Options(ReadingOptions, total=False):
    """Keyword arguments of :func:`spagree.measure`."""

    weights: Weights
    metric: str | Similarity
    order: Listed
    level: float
    interval_for: IntervalFor
    bootstrap: int | None
    seed: int


Record = type[Reading] | type[Estimating] | type[Spans] | type[Watching]


def declared(record: Record) -> dict[str, Declaration]:
    """The options of a record by name."""
    types = {entry.name: str(entry.type).split(" | ") for entry in fields(record)}
    kinds = {name: next((kind for kind in Kind if kind.value in types[name]), Kind.TEXT) for name in types}
    return {entry.name: Declaration(kind=kinds[entry.name], **entry.metadata) for entry in fields(record)}


IN_PYTHON = {**declared(Reading), **declared(Estimating), **declared(Spans)}  # those that functions take, too


def defaults(record: Record) -> dict[str, Any]:
    """The defaults of a record's options."""
    return {entry.name: entry.default for entry in fields(record)}


def non_default(*records: Reading | Estimating) -> dict[str, Any]:
    """The options that differ from their defaults; secret ones, and hidden names of annotators, as True."""
    chosen = {
        entry.name: True if entry.metadata["is_secret"] else getattr(record, entry.name)
        for record in records
        for entry in fields(record)
        if getattr(record, entry.name) not in (entry.default, [])
    }
    if "pseudonymise" in chosen and chosen.get("format") == "wide" and "label" in chosen:
        chosen["label"] = True  # the columns are named after the annotators
    return chosen


def split(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options for reading, and all others."""
    reading = declared(Reading)
    return (
        {name: value for name, value in options.items() if name in reading},
        {name: value for name, value in options.items() if name not in reading},
    )


def is_of_spans(options: Mapping[str, Any]) -> bool:
    """Whether the options ask for agreement on spans: by the format, or by one that nothing else has.

    >>> is_of_spans({"format": "spans"}), is_of_spans({"mark": ("head",)}), is_of_spans({"seen": None, "mark": ()})
    (True, True, False)
    """
    given = (options.get(name) for name in declared(Spans))
    is_given = (value is not None and (not isinstance(value, Sequence) or len(value) > 0) for value in given)
    return options.get("format") == SPANS or any(is_given)
