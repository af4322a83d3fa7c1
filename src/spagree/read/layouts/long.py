"""One annotation per row: item, label and, if known, annotator and time.

Times are unix seconds or ISO 8601; they become something that sorts correctly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from spagree.errors import ColumnError, DataError, Message, UsageError, Warning, opt
from spagree.read import cells, columns
from spagree.read.annotations import (
    ANNOTATOR,
    COUNT,
    ITEM,
    LABEL,
    LINK,
    ROW,
    TIME,
    Annotations,
    FewRows,
    Understood,
    nw,
)
from spagree.read.columns import columns_at, link_column
from spagree.read.frames import collected, size, where
from spagree.read.layouts import doubts, recognise
from spagree.read.layouts.doubts import View
from spagree.read.request import EACH_ROW, Request
from spagree.read.table import Table, cell, listed, shown
from spagree.read.where import distinct


def long(table: Table, request: Request, known: columns.Roles | None = None) -> Annotations:
    """One annotation per row: item, label and, if known, annotator and time; ``known``: roles that were resolved."""
    labels = request.names(LABEL)
    if len(labels) > 1 or any(columns.fitting(table.columns, name) for name in labels):
        raise UsageError(
            f"{opt.label} names several columns ({listed(labels)}); say what they hold: "
            f"{opt.format('wide')} (one column per annotator), "
            f"{opt.format('counts')} or {opt.format('one-hot')} (one column per class); or score each as a question of "
            f"its own with {opt.all_questions}"
        )
    if request.each_row:
        raise UsageError(
            f"{opt.item(EACH_ROW)}: every row is an item, but a long table has a row for each annotation; say how the "
            f"labels of an item stand in its row: {opt.format('wide')}, {opt.format('counts')} or {opt.format('lists')}"
        )
    roles = _roles(table, request, known)
    places = dict(roles.places)
    table = _seen_again(table, places)
    places |= _count_column(table, places)
    question, value = question_column(table, places, request.question)
    view = View(table, "long", places, guessed=roles.guessed, request=request, question=question)
    doubts.refuse(view)
    needed = [p for positions in places.values() for p in positions]
    link = link_column(table, places[ITEM], needed)
    places |= {} if link is None else {LINK: (link,)}
    names = named(table, places)
    rows: nw.LazyFrame[Any] | FewRows | None = None
    warnings: tuple[Warning, ...] = ()
    is_plain = places.keys() <= {ITEM, ANNOTATOR, LABEL} and len(needed) == len(places)
    if table.few is not None and is_plain and question is None and not (request.missing or request.time_format):
        alone = {role: positions[0] for role, positions in places.items()}
        rows = table.few(alone, lambda loaded: renamed(loaded, table, places))
    if rows is None:
        further = [p for p in (link, question) if p is not None]
        loaded = table.load(list(dict.fromkeys([*needed, *further])))
        chosen = loaded if question is None else _asked(loaded, table, places, question, value)
        given = renamed(chosen, table, places)
        given = cells.whole_counts(given, table) if COUNT in places else given
        given, warnings = timed(given, table, names, request, is_guess=TIME in roles.guessed)
        if TIME not in given.collect_schema().names():
            names.pop(TIME, None)
        rows = cells.with_missing(given, request.missing_texts, normalize=request.normalize)
    if question is not None and value is not None:
        names["question"] = f"{table.columns[question]} = {value}"
    warnings += doubts.warnings(replace(view, table=_with_late(table, places)))
    kept = frozenset() if table.is_positional else frozenset((roles.guessed | {COUNT, LINK}) & names.keys())
    understood = Understood(table.name, "long", names, kept, apart=doubts.apart(table, places), places=places)
    return Annotations(rows, understood, warnings)


def _seen_again(table: Table, places: Mapping[str, Sequence[int]]) -> Table:
    """With all annotations of some items as the sample, if the first rows show few of each, or nothing of a column."""
    if table.is_whole or not table.sample:
        return table
    free = table.free(places)
    items = table.different(places[ITEM])
    rows = [[row[p] for p in places[ITEM] if p < len(row)] for row in table.sample]
    is_scattered = sum(one != two for one, two in pairwise(rows)) > TOGETHER * items
    is_blind = (len(rows) < REPEATED * items or is_scattered) and (free or (table.is_ordered and ANNOTATOR in places))
    is_constant = any(len(column.values) <= 1 for column in columns_at(table, free).values())
    return columns.everywhere(table, places[ITEM]) if is_blind or is_constant else table


def _with_late(table: Table, places: Mapping[str, Sequence[int]]) -> Table:
    """With annotations of some items as the sample, if somebody has many of the last rows and none of the first."""
    if table.is_whole or table.is_spread or table.few is None or ANNOTATOR not in places:
        return table
    last = [tuple(row[p] for p in places[ANNOTATOR]) for row in (table.small() if table.small else [])[-LAST:]]
    if not last:
        frame = table.load([p for role in (ITEM, ANNOTATOR, LABEL) for p in places[role]])
        start = table.first_row + size(frame) - LAST
        rows = where(frame, nw.col(ROW) >= start, f"{ROW} >= {start}")
        last = collected(rows.select(cell(p) for p in places[ANNOTATOR]))
    first = {tuple(row[p] for p in places[ANNOTATOR] if p < len(row)) for row in table.sample}
    late = [who for who, rows in Counter(last).items() if who not in first and rows >= LAST * OFTEN_LATE]
    return columns.everywhere(table, places[ITEM]) if late else table


def named(table: Table, places: Mapping[str, Sequence[int]], limit: int | None = None) -> dict[str, str]:
    """The names of the columns of every role, as the summary shows them; of many, the first ``limit``."""
    names = {role: [table.columns[p] for p in positions] for role, positions in places.items()}
    if limit is not None:
        return {role: Message(listed(of_role, limit)) for role, of_role in names.items()}
    return {role: " + ".join(of_role) or "row number" for role, of_role in names.items()}


def renamed(frame: nw.LazyFrame[Any], table: Table, places: Mapping[str, Sequence[int]]) -> nw.LazyFrame[Any]:
    """The columns of every role, under its name."""
    row = [ROW] if table.is_ordered else []
    return frame.select(*(joined(positions).alias(role) for role, positions in places.items()), *row)


def _roles(table: Table, request: Request, known: columns.Roles | None = None) -> columns.Roles:
    """The columns of every role; refuses a table that has none for the item or the label."""
    roles = known or request.roles(table, (ITEM, ANNOTATOR, LABEL, TIME, *request.also()))
    lacking = [role for role in (ITEM, LABEL) if role not in roles.positions]
    for wanted in lacking:  # perhaps named for another role, although it looks like this one alone
        try:
            position = columns.resolve(table.columns, {}, [wanted]).positions.get(wanted)
        except ColumnError:  # several look like it
            continue
        for role in [role for role, other in roles.positions.items() if other == position]:
            raise ColumnError(
                f"{table.name}: column {shown(table.columns[roles.positions[role]])} was named with {opt[role]}, so it "
                f"cannot be the {wanted}; name another with {opt[role]}, or the column of the {wanted} with "
                f"{opt[wanted]} (columns: {listed(table.columns)})"
            )
    if lacking:
        raise recognise.unknown_columns(table, lacking, roles, request)
    return roles


def _count_column(table: Table, places: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
    """A column that counts equal annotations, as a query that groups by item and label writes it."""
    if ANNOTATOR in places or TIME in places or not table.sample:
        return {}
    whole = [p for p, column in columns_at(table, table.free(places, "counts")).items() if column.is_whole]
    keys = (*places[ITEM], *places[LABEL])
    is_grouped = table.different(places[ITEM]) < table.different(keys) == len(table.sample)
    return {COUNT: (whole[0],)} if len(whole) == 1 and is_grouped else {}


def several_labels(table: Table, request: Request) -> list[str]:
    """The columns of labels of a long table, each a variable of its own: those named, or all that may be labels.

    Not those that say something about the item or the annotator alone, such as a reference or an age.
    """
    if request.label is not None:
        return [table.columns[p] for p in columns.several(table.columns, request.names(LABEL))]
    places = request.roles(table, (ITEM, ANNOTATOR, TIME, *request.also())).places
    if ITEM not in places:
        return []
    table = _seen_again(table, places)
    keys = [places[role][:1] for role in (ITEM, ANNOTATOR) if role in places]
    free = columns_at(table, table.free(places)).values()
    return [column.name for column in columns.may_be_labels(table, free, keys)]


def several_questions(table: Table, request: Request) -> list[str]:
    """The questions in the question column of a long table; none if it has no such column or one was chosen."""
    named = request.names(LABEL)
    if len(named) > 1 or any("*" in name for name in named) or request.question is not None:
        return []
    if not {ITEM, LABEL} <= request.roles(table, (ITEM, ANNOTATOR, LABEL)).positions.keys():
        return []
    places = _roles(table, request).places
    question, _ = question_column(table, places, None)
    if question is None:
        return []
    frame = table.load(list(dict.fromkeys([*places[ITEM], *places.get(ANNOTATOR, ()), question])))
    return _several(frame, places, cell(question))


def joined(positions: Sequence[int], missing: str | None = None) -> nw.Expr:
    """Several columns as one unambiguous text: a bar inside a cell is doubled; ``missing`` stands for an empty cell.

    Without any, the number of the row.
    """
    if len(positions) <= 1:
        return nw.col(cell(positions[0]) if positions else ROW)
    texts = [nw.col(cell(p)).cast(nw.String).str.replace_all("|", "||", literal=True) for p in positions]
    texts = texts if missing is None else [text.fill_null(missing) for text in texts]
    return nw.concat_str(texts, separator=" | ")


def timed(
    frame: nw.LazyFrame[Any], table: Table, names: Mapping[str, str], request: Request, *, is_guess: bool
) -> tuple[nw.LazyFrame[Any], tuple[Warning, ...]]:
    """The time column as something that sorts; a wrong guess is dropped with a warning."""
    if TIME not in names:
        if request.time_format is not None:
            raise UsageError(f"{opt.time_format} says how times are written; name their column with {opt.time}")
        return frame, ()
    try:
        # In text files, and in texts from Parquet or a database, every cell can be checked before it is used.
        if frame.implementation is nw.Implementation.DUCKDB and frame.collect_schema()[TIME] == nw.String:
            return cells.seconds_from_text(frame, table.name, names[TIME], request.time_format)
        return cells.times(frame, names[TIME], is_guess, request.time_format), ()
    except DataError as error:
        if not is_guess or request.time_format is not None:
            raise
        reason = str(error).splitlines()[0].partition(";")[0]
    message = f"column {shown(names[TIME])} was not used as the time of annotation: {reason}"
    return frame.drop(TIME), (Warning("time_ignored", message),)


LAST, OFTEN_LATE = 100, 0.05
TOGETHER = 1.1  # runs of rows about one item, for each item
REPEATED = 1.2  # annotations per item in the first rows, if they are to show anything
MOST = 100  # questions
OFTEN = 0.2  # share of an annotator's items that have several questions


def question_column(
    table: Table, places: Mapping[str, Sequence[int]], wanted: str | None
) -> tuple[int | None, str | None]:
    """The column that may say which question a row answers, and the question that was chosen.

    ``--question VALUE``, or ``--question COLUMN=VALUE`` where several columns hold it.
    """
    named = table.free(places, "questions")
    if wanted is None:
        sampled = columns_at(table, named) if table.sample else {}
        varying = [p for p, column in sampled.items() if len(column.values) > 1]
        return next(iter(varying or named), None), None
    name, mark, value = wanted.partition("=")
    if mark and name in table.columns:
        return columns.find(table.columns, name, opt.question), value
    holding = [p for p, column in columns_at(table, table.free(places)).items() if wanted in column.values]
    fitting = [p for p in holding if p in named] or holding or named
    if len(fitting) == 1:
        return fitting[0], wanted
    why = f"{len(fitting)} columns hold it" if fitting else f"no column of {table.name} names questions"
    write = f"{'' if fitting else 'leave it out, or '}write {opt.question} COLUMN={wanted}"
    names = listed([table.columns[p] for p in fitting] or table.columns)
    raise UsageError(f"{opt.question(wanted)}: {why}; {write} (columns: {names})")


def _asked(
    frame: nw.LazyFrame[Any], table: Table, places: Mapping[str, Sequence[int]], position: int, question: str | None
) -> nw.LazyFrame[Any]:
    """The rows of the chosen question; refuses to mix several."""
    column, name = shown(table.columns[position]), cell(position)
    if question is None:
        if names := _several(frame, places, name):
            raise ColumnError(
                f"{table.name}: column {column} holds {len(names)} questions, answered for the same items: "
                f"{listed(names, limit=10)}; choose one with {opt.question(names[0])}, or score each with "
                f"{opt.all_questions}"
            )
        return frame
    rows = frame.filter(nw.col(name).cast(nw.String) == question)
    if not collected(rows.select(name).head(1)):
        questions = listed(distinct(frame, name))
        raise UsageError(f"{opt.question(question)}: no such question; column {column} has {questions}")
    return rows


def _several(frame: nw.LazyFrame[Any], places: Mapping[str, Sequence[int]], name: str) -> list[str]:
    """The questions, if annotators often have several on one item (or items have several, without annotators)."""
    questions = distinct(frame, name, MOST + 1)
    if not 1 < len(questions) <= MOST:
        return []
    keys = [cell(p) for role in (ITEM, ANNOTATOR) for p in places.get(role, ())]
    sizes = frame.group_by(*keys).agg(nw.col(name).n_unique().alias("questions"))
    several = (nw.col("questions") > 1).cast(nw.Int64)
    ((repeated, total),) = collected(sizes.select(several.sum().alias("several"), nw.len().alias("all")))
    return questions if int(repeated or 0) > OFTEN * int(total) else []
