"""One annotation per row: item, label and, if known, annotator and time.

Times are unix seconds or ISO 8601; they become something that sorts correctly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spagree.errors import SHOWN_PROBLEMS, ColumnError, DataError, UsageError, count
from spagree.late import nw
from spagree.messages import opt
from spagree.read import columns
from spagree.read.annotations import ANNOTATOR, CLUSTER, COUNT, ITEM, LABEL, LINK, ROW, TIME, FewRows
from spagree.read.columns import columns_at, link_column, plain_name, values_by_item, words
from spagree.read.frames import collected
from spagree.read.layouts import doubts, recognise
from spagree.read.layouts.doubts import caution_marked, caution_mixed, caution_other_label
from spagree.read.request import Request
from spagree.read.table import Layout, Table, cell, listed, shown, sql_literal, wrong_cell
from spagree.understood import Caution

# Seconds since 1970 (UTC): numbers stay as they are, and a date without a zone is in UTC, whatever the
# machine's zone (which a cast to TIMESTAMPTZ would use).
NUMBER = f"try_cast({TIME} AS DOUBLE)"
HAS_ZONE = f"regexp_matches({TIME}, ':.*([zZ]|[+-][0-9:]+)$')"
WITH_ZONE, WITHOUT_ZONE = (f"epoch(try_cast({TIME} AS {kind}))" for kind in ("TIMESTAMPTZ", "TIMESTAMP"))
DATE = f"CASE WHEN {HAS_ZONE} THEN {WITH_ZONE} ELSE {WITHOUT_ZONE} END"
SECONDS = f"coalesce(CASE WHEN isfinite({NUMBER}) THEN {NUMBER} END, CASE WHEN isfinite({DATE}) THEN {DATE} END)"
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", ", %H:%M", ", %H:%M:%S")
DATES = {
    "day": ("%d/%m/%Y", "%d-%m-%Y", "%d.%m.%Y", "%d/%m/%y", "%d.%m.%y", "%d %b %Y", "%d %B %Y"),
    "month": ("%m/%d/%Y", "%m-%d-%Y", "%m/%d/%y", "%b %d, %Y", "%B %d, %Y"),
}


def seconds_from_text(
    frame: nw.LazyFrame[Any], source: str, column: str, written: str | None = None
) -> tuple[nw.LazyFrame[Any], tuple[Caution, ...]]:
    """A time column of text as seconds; refuses what is neither a number nor a date.

    In SQL (the frame is a duckdb table) because narwhals has no cast that turns failures into nulls, and a failure
    must be reported with its row.
    """
    relation = frame.to_native()
    seconds = SECONDS if written is None else _seconds(written)
    cautions: tuple[Caution, ...] = ()
    wrong = _unreadable(relation, seconds)
    total = len(wrong)
    if total and written is None and (order := _order_of_dates(relation, column)) is not None:
        first, seconds = order
        message = (
            f"times in column {shown(column)} were read with the {first} first; if that is wrong, use {opt.time_format}"
        )
        cautions = (Caution("time_format", message),)
    elif total:
        numbered = f', "{ROW}"' if ROW in relation.columns else ""
        examples = wrong.project(f"{TIME}{numbered}").limit(SHOWN_PROBLEMS).fetchall()
        wanted = "neither a number (unix seconds) nor an ISO 8601 date"
        wanted = wanted if written is None else f"not in the format of {opt.time_format(written)}"
        remedy = f"give the format with {opt.time_format}, correct the cells, or name another column with {opt.time}"
        problems = [wrong_cell(source, column, value, row) for value, *row in examples]
        raise DataError(f"{count(total, 'time is', 'times are')} {wanted}; {remedy}", problems, total)
    read: nw.LazyFrame[Any] = nw.from_native(relation.project(f"* REPLACE ({seconds} AS {TIME})"))
    return read, cautions


def _unreadable(relation: Any, seconds: str) -> Any:
    return relation.filter(f"{TIME} IS NOT NULL AND ({seconds}) IS NULL")


def _seconds(*formats: str) -> str:
    """The SQL for seconds from texts in the first of these formats that fits."""
    return f"epoch(try_strptime({TIME}, [{', '.join(map(sql_literal, formats))}]))"


def _order_of_dates(relation: Any, column: str) -> tuple[str, str] | None:
    """Day first or month first, if only one of them fits every time, and its seconds; refused if both do."""
    formats = {first: [date + clock for date in dates for clock in CLOCKS] for first, dates in DATES.items()}
    fitting = {
        first: seconds
        for first, alternatives in formats.items()
        if not len(_unreadable(relation, seconds := _seconds(*alternatives)))
    }
    if len(fitting) > 1:
        usable = [
            next((one for one in alternatives if not len(_unreadable(relation, _seconds(one)))), None)
            for alternatives in formats.values()
        ]
        which = f"say which: {' or '.join(map(opt.time_format, usable))}"
        remedy = which if all(usable) else "write all in one way"
        raise DataError(
            f"the times of column {shown(column)} can be read with the day or with the month first; {remedy}"
        )
    return next(iter(fitting.items()), None)


def from_frame(frame: nw.LazyFrame[Any], column: str, is_guess: bool, written: str | None = None) -> nw.LazyFrame[Any]:
    """The time column of a data frame: numbers and dates as they are, text parsed as ISO 8601.

    Text is parsed only if the user named the column, because a guess must not fail, and at once, so that a failure is
    not reported as a failure to count.
    """
    kind = frame.collect_schema()[TIME]
    if kind.is_numeric() or kind.is_temporal():
        return frame
    if kind != nw.String or (written is None and is_guess):
        raise DataError(
            f"{opt.time(column)}: the column holds {kind}, which does not sort as a time; "
            "convert it to a number or a datetime"
        )
    try:
        parsed = frame.with_columns(nw.col(TIME).str.to_datetime(format=written))
        parsed.select(nw.col(TIME).max()).collect()
    except Exception as error:
        reason = str(error).splitlines()[0]
        wanted = "ISO 8601 dates" if written is None else f"in the format of {opt.time_format(written)}"
        raise DataError(
            f"{opt.time(column)}: not all of its texts are {wanted} ({reason}); "
            "convert the column to a number or a datetime"
        ) from error
    return parsed


# Columns that group items, by document, batch or topic.
GROUPS = words(
    "document documentid documentname doc docid docname batch batchid batchname page pageid topic topicid thread "
    "threadid conversation conversationid dialogue dialogueid dialog dialogid article articleid chapter chapterid "
    "paragraph paragraphid session sessionid video videoid story storyid"
)
FEWEST_ITEMS = 9  # below this, little can be seen
COUNTS = words("count counts n votes nvotes numvotes freq frequency numannotators annotators nannotators")


def long(table: Table, request: Request) -> Layout:
    """One annotation per row: item, label and, if known, annotator and time."""
    if len(request.names(LABEL)) > 1:
        raise UsageError(
            f"{opt.label} names several columns ({listed(request.names(LABEL))}); say what they hold: "
            f"{opt.format('wide')} (one column per annotator), "
            f"{opt.format('counts')} or {opt.format('one-hot')} (one column per class)"
        )
    roles, places = _roles(table, request)
    doubts.refuse_marks(table, places)
    doubts.refuse_nested(table, places)
    if LABEL in roles.guessed:
        doubts.refuse_side_by_side(table, places)
        doubts.refuse_item_text(table, places)
    places |= _count_column(table, places)
    question = column(table, places, request.question)
    recognise.refuse_few_items(table, places, roles.guessed, None if question is None else question.position)
    needed = [p for positions in places.values() for p in positions]
    link = link_column(table, places[ITEM], needed)
    if link is not None:
        places[LINK] = (link,)
        needed.append(link)
    names = {role: " + ".join(table.columns[p] for p in positions) for role, positions in places.items()}
    rows: nw.LazyFrame[Any] | FewRows | None = _few_rows(table, places, request) if question is None else None
    cautions: tuple[Caution, ...] = ()
    if rows is None:
        loaded = table.load(list(dict.fromkeys(needed if question is None else [*needed, question.position])))
        chosen = loaded if question is None else choose(loaded, table, places, question)
        renamed = _renamed(chosen, table, places)
        renamed = columns.whole_counts(renamed, table) if COUNT in places else renamed
        timed, cautions = _timed(renamed, table, names, request, TIME in roles.guessed)
        if TIME not in timed.collect_schema().names():
            names.pop(TIME, None)
        rows = columns.with_missing(timed, request.missing_texts)
    if question is not None and question.value is not None:
        names["question"] = f"{table.columns[question.position]} = {question.value}"
    cautions += () if CLUSTER in places else tuple(_caution_clusters(table, places))
    where = [condition.column for condition in request.conditions()]
    cautions += tuple(caution_marked(table, places, where))
    cautions += tuple(recognise.caution_unique_items(table, places)) if ITEM in roles.guessed else ()
    cautions += tuple(caution_other_label(table, places)) if LABEL in roles.guessed and question is None else ()
    is_guess = ITEM in roles.guessed and question is None
    cautions += tuple(caution_mixed(table, places, where, is_guess))
    kept = frozenset() if table.is_positional else frozenset((roles.guessed | {COUNT, LINK}) & names.keys())
    return Layout(rows, "long", names, kept, cautions, places, recognise.apart(table, places))


def _few_rows(table: Table, places: Mapping[str, Sequence[int]], request: Request) -> FewRows | None:
    """The rows in memory, if the table is small and a score needs nothing but who gave which item which label."""
    if table.few is None or request.missing or request.time_format is not None:
        return None
    if not places.keys() <= {ITEM, ANNOTATOR, LABEL} or any(len(positions) > 1 for positions in places.values()):
        return None
    alone = {role: positions[0] for role, positions in places.items()}
    return table.few(alone, lambda loaded: _renamed(loaded, table, places))


def _renamed(frame: nw.LazyFrame[Any], table: Table, places: Mapping[str, Sequence[int]]) -> nw.LazyFrame[Any]:
    """The columns of every role, under its name."""
    row = [ROW] if table.is_ordered else []
    return frame.select(*(joined(positions).alias(role) for role, positions in places.items()), *row)


def _roles(table: Table, request: Request) -> tuple[columns.Roles, dict[str, tuple[int, ...]]]:
    """The columns of every role; refuses a table that has none for the item or the label."""
    roles = request.roles(table, (ITEM, ANNOTATOR, LABEL, TIME, *request.also()))
    lacking = [role for role in (ITEM, LABEL) if role not in roles.positions]
    for role in lacking:
        _refuse_other_role(table, role, roles)
    if lacking:
        raise recognise.unknown_columns(table, lacking, roles)
    return roles, request.places(table, roles.positions)


def _refuse_other_role(table: Table, lacking: str, roles: columns.Roles) -> None:
    """Refuse a column named for one role that is the only one to look like another."""
    try:
        position = columns.resolve(table.columns, {}, [lacking]).positions.get(lacking)
    except ColumnError:  # several look like it
        return
    for role, other in roles.positions.items():
        if other == position:
            name = shown(table.columns[other])
            raise ColumnError(
                f"{table.name}: column {name} was named with {opt[role]}, so it cannot be the {lacking}; "
                f"name another with {opt[role]}, or the column of the {lacking} with {opt[lacking]} "
                f"(columns: {listed(table.columns)})"
            )


def _count_column(table: Table, places: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
    """A column that counts equal annotations, as a query that groups by item and label writes it."""
    if ANNOTATOR in places or TIME in places or not table.sample:
        return {}
    named = [p for p in table.free(places) if plain_name(table.columns[p]) in COUNTS]
    whole = [p for p, column in columns_at(table, named).items() if column.is_whole]
    keys = (*places[ITEM], *places[LABEL])
    is_grouped = table.different(places[ITEM]) < table.different(keys) == len(table.sample)
    return {COUNT: (whole[0],)} if len(whole) == 1 and is_grouped else {}


def several_questions(table: Table, request: Request) -> list[str]:
    """The questions in the question column of a long table; none if it has no such column or one was chosen."""
    if len(request.names(LABEL)) > 1 or request.question is not None:
        return []
    _, places = _roles(table, request)
    question = column(table, places, None)
    if question is None:
        return []
    frame = table.load(list(dict.fromkeys([*places[ITEM], *places.get(ANNOTATOR, ()), question.position])))
    return values(frame, question) if has_several(frame, places, question) else []


def joined(positions: Sequence[int]) -> nw.Expr:
    """Several columns as one unambiguous text: a bar inside a cell is doubled."""
    if len(positions) == 1:
        return nw.col(cell(positions[0]))
    texts = [nw.col(cell(p)).cast(nw.String).str.replace_all("|", "||", literal=True) for p in positions]
    return nw.concat_str(texts, separator=" | ")


def _timed(
    frame: nw.LazyFrame[Any], table: Table, names: Mapping[str, str], request: Request, is_guess: bool
) -> tuple[nw.LazyFrame[Any], tuple[Caution, ...]]:
    """The time column as something that sorts; a wrong guess is dropped with a caution."""
    if TIME not in names:
        if request.time_format is not None:
            raise UsageError(f"{opt.time_format} says how times are written; name their column with {opt.time}")
        return frame, ()
    try:
        # In text files, and in texts from Parquet or a database, every cell can be checked before it is used.
        if frame.implementation is nw.Implementation.DUCKDB and frame.collect_schema()[TIME] == nw.String:
            return seconds_from_text(frame, table.name, names[TIME], request.time_format)
        return from_frame(frame, names[TIME], is_guess, request.time_format), ()
    except DataError as error:
        if not is_guess or request.time_format is not None:
            raise
        reason = str(error).splitlines()[0].partition(";")[0]
    message = f"column {shown(names[TIME])} was not used as the time of annotation: {reason}"
    return frame.drop(TIME), (Caution("time_ignored", message),)


def _caution_clusters(table: Table, places: Mapping[str, Sequence[int]]) -> Iterator[Caution]:
    """A caution if a column groups items: it has one value for each item, and far fewer values than items."""
    for position in table.free(places):
        if plain_name(table.columns[position]) not in GROUPS:
            continue
        values = values_by_item(table, places[ITEM], position)
        clusters = set().union(*values.values())
        is_grouping = all(len(of_item) == 1 for of_item in values.values()) and 1 < len(clusters) <= len(values) / 2
        if is_grouping and len(values) >= FEWEST_ITEMS:
            name = table.columns[position]
            yield Caution(
                "looks_clustered",
                f"column {shown(name)} groups items (in the first rows {len(values):,} items in {len(clusters):,} "
                "groups): if items of one group have something in common, the interval is too narrow; "
                f"use {opt.cluster(name)}",
            )
            return


NAMES = words(
    "question questionid questionname questiontext task taskname taskid subtask aspect dimension criterion "
    "criteria attribute field variable name key annotationtype labeltype type scheme layer measure metric "
    "facet"
)
MOST = 100  # questions
OFTEN = 0.2  # share of an annotator's items that have several questions


@dataclass(frozen=True, slots=True)
class QuestionColumn:
    """The column of the question, and the one that was chosen."""

    position: int
    value: str | None


def column(table: Table, places: Mapping[str, Sequence[int]], wanted: str | None) -> QuestionColumn | None:
    """The column that may say which question a row answers."""
    free = table.free(places)
    if wanted is not None:
        return _chosen(table, free, wanted)
    named = [p for p in free if plain_name(table.columns[p]) in NAMES]
    varying = [p for p, column in columns_at(table, named).items() if len(column.values) > 1] if table.sample else []
    return QuestionColumn((varying or named)[0], None) if named else None


def _chosen(table: Table, free: Sequence[int], wanted: str) -> QuestionColumn:
    """``--question VALUE``, or ``--question COLUMN=VALUE`` where several columns hold it."""
    name, mark, value = wanted.partition("=")
    if mark and name in table.columns:
        return QuestionColumn(columns.find(table.columns, name, opt.question), value)
    sampled = columns_at(table, free)
    holding = [p for p in free if wanted in sampled[p].values]
    named = [p for p in free if plain_name(table.columns[p]) in NAMES]
    fitting = [p for p in holding if p in named] or holding or named
    if len(fitting) == 1:
        return QuestionColumn(fitting[0], wanted)
    if not fitting:
        raise UsageError(
            f"{opt.question(wanted)}: no column of {table.name} names questions; leave it out, or write "
            f"{opt.question} COLUMN={wanted} (columns: {listed(table.columns)})"
        )
    names = listed([table.columns[p] for p in fitting])
    raise UsageError(
        f"{opt.question(wanted)}: {len(fitting)} columns hold it; "
        f"write {opt.question} COLUMN={wanted} (columns: {names})"
    )


def values(frame: nw.LazyFrame[Any], question: QuestionColumn) -> list[str]:
    """The questions of the column, in order."""
    name = cell(question.position)
    rows = collected(frame.select(nw.col(name).cast(nw.String)).unique(subset=[name]).head(MOST + 1))
    return sorted(value for (value,) in rows if value is not None)


def choose(
    frame: nw.LazyFrame[Any], table: Table, places: Mapping[str, Sequence[int]], question: QuestionColumn
) -> nw.LazyFrame[Any]:
    """The rows of the chosen question; refuses to mix several."""
    column = shown(table.columns[question.position])
    if question.value is None:
        if has_several(frame, places, question):
            names = values(frame, question)
            raise ColumnError(
                f"{table.name}: column {column} holds {len(names)} questions, answered for the same items: "
                f"{listed(names, limit=10)}; choose one with {opt.question(names[0])}, or score each with "
                f"{opt.all_questions}"
            )
        return frame
    name = cell(question.position)
    rows = frame.filter(nw.col(name).cast(nw.String) == question.value)
    if not collected(rows.select(name).head(1)):
        questions = listed(values(frame, question))
        raise UsageError(f"{opt.question(question.value)}: no such question; column {column} has {questions}")
    return rows


def has_several(frame: nw.LazyFrame[Any], places: Mapping[str, Sequence[int]], question: QuestionColumn) -> bool:
    """Whether an annotator often has several values of the column on one item (or an item has, without annotators)."""
    if not 1 < len(values(frame, question)) <= MOST:
        return False
    keys = [cell(p) for role in (ITEM, ANNOTATOR) for p in places.get(role, ())]
    sizes = frame.group_by(*keys).agg(nw.col(cell(question.position)).n_unique().alias("questions"))
    several = (nw.col("questions") > 1).cast(nw.Int64)
    ((repeated, total),) = collected(sizes.select(several.sum().alias("several"), nw.len().alias("all")))
    return int(repeated or 0) > OFTEN * int(total)
