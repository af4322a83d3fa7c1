"""One annotation per row: item, label, and where known annotator and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw

from spagree.errors import DataError, UsageError
from spagree.read import cells, columns, moments
from spagree.read.annotations import ANNOTATOR, CLUSTER, COUNT, ITEM, LABEL, LINK, ROW, TIME
from spagree.read.contents import held_by, link_column, plain_name, values_by_item, words
from spagree.read.layouts import advice, question_column
from spagree.read.layouts.question import Layout, Question
from spagree.read.tables import Table, cell, listed, shown
from spagree.understood import Caution

# Columns that group items: of documents, batches, topics.
GROUPS = words(
    "document documentid documentname doc docid docname batch batchid batchname page pageid topic topicid thread "
    "threadid conversation conversationid dialogue dialogueid dialog dialogid article articleid chapter chapterid "
    "paragraph paragraphid session sessionid video videoid story storyid"
)
FEWEST_ITEMS = 9  # below, little can be seen
COUNTS = words("count counts n votes nvotes numvotes freq frequency numannotators annotators nannotators")


def long(table: Table, question: Question) -> Layout:
    """One annotation per row: item, label, and where known annotator and time."""
    if len(question.label) > 1:
        raise UsageError(
            f"--label names several columns ({listed(question.label)}); say what they hold: --format wide (one column "
            "per annotator), --format counts or --format one-hot (one column per class)"
        )
    roles, places = _roles(table, question)
    advice.refuse_spans(table, places)
    advice.refuse_boxes(table, places)
    advice.refuse_objects(table, places)
    advice.refuse_lists(table, places)
    places |= _count_column(table, places)
    asked = question_column.column(table, places, question.question)
    advice.refuse_few_items(table, places, roles.guessed, asked)
    needed = [p for positions in places.values() for p in positions]
    link = link_column(table, places[ITEM], needed)
    if link is not None:
        places[LINK] = (link,)
        needed.append(link)
    loaded = table.load(list(dict.fromkeys(needed if asked is None else [*needed, asked.position])))
    chosen = loaded if asked is None else question_column.choose(loaded, table, places, asked)
    renamed = chosen.select(
        *(joined(positions).alias(role) for role, positions in places.items()),
        *([ROW] if table.is_ordered else []),
    )
    renamed = cells.whole_counts(renamed, table) if COUNT in places else renamed
    hints = () if CLUSTER in places else caution_clusters(table, places)
    hints += advice.caution_unique_items(table, places) if ITEM in roles.guessed else ()
    names = {role: " + ".join(table.columns[p] for p in positions) for role, positions in places.items()}
    frame, cautions = _timed(renamed, table, names, question, TIME in roles.guessed)
    if TIME not in frame.collect_schema().names():
        names.pop(TIME, None)
    if asked is not None and asked.value is not None:
        names["question"] = f"{table.columns[asked.position]} = {asked.value}"
    kept = frozenset() if table.is_positional else frozenset((roles.guessed | {COUNT, LINK}) & names.keys())
    labelled, apart = cells.with_missing(frame, question.missing), advice.apart(table, places)
    return Layout(labelled, "long", names, kept, cautions + hints, places, apart)


def _roles(table: Table, question: Question) -> tuple[columns.Roles, dict[str, tuple[int, ...]]]:
    """The columns of every role; refuses a table that has none for the item or the label."""
    taken = columns.several(table.columns, (*question.further(ITEM), *question.further(ANNOTATOR)), "--item")
    wanted = (ITEM, ANNOTATOR, LABEL, TIME, *question.also())
    roles = columns.resolve(table.columns, question.named(), wanted, frozenset(taken))
    lacking = [role for role in (ITEM, LABEL) if role not in roles.positions]
    if lacking:
        raise advice.unknown_columns(table, lacking, roles)
    return roles, {role: role_columns(table, question, role, first) for role, first in roles.positions.items()}


def _count_column(table: Table, places: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
    """A column that counts equal annotations, as a query that groups by item and label writes it."""
    if ANNOTATOR in places or TIME in places or not table.sample:
        return {}
    taken = {p for positions in places.values() for p in positions}
    named = [p for p, name in enumerate(table.columns) if p not in taken and plain_name(name) in COUNTS]
    found = [p for p, held in held_by(table, named).items() if held.is_whole]
    keys = (*places[ITEM], *places[LABEL])
    is_grouped = advice.different(table, places[ITEM]) < advice.different(table, keys) == len(table.sample)
    return {COUNT: (found[0],)} if len(found) == 1 and is_grouped else {}


def several_questions(table: Table, question: Question) -> list[str]:
    """The questions that a column of a long table tells apart; none where no column does."""
    if len(question.label) > 1:
        return []
    _, places = _roles(table, question)
    asked = question_column.column(table, places, None)
    if asked is None:
        return []
    frame = table.load(list(dict.fromkeys([*places[ITEM], *places.get(ANNOTATOR, ()), asked.position])))
    return question_column.values(frame, asked) if question_column.is_asked(frame, places, asked) else []


def role_columns(table: Table, question: Question, role: str, first: int) -> tuple[int, ...]:
    """All columns that make up a role, in the order in which they were named."""
    return (first, *columns.several(table.columns, question.further(role), f"--{role}"))


def joined(positions: Sequence[int]) -> nw.Expr:
    """Several columns as one text, which no other cells can give: a bar inside a cell is doubled."""
    if len(positions) == 1:
        return nw.col(cell(positions[0]))
    texts = [nw.col(cell(p)).cast(nw.String).str.replace_all("|", "||", literal=True) for p in positions]
    return nw.concat_str(texts, separator=" | ")


def _timed(
    frame: nw.LazyFrame[Any], table: Table, names: Mapping[str, str], question: Question, is_guess: bool
) -> tuple[nw.LazyFrame[Any], tuple[Caution, ...]]:
    """The time column as something that sorts; a wrong guess is left out with a caution."""
    if TIME not in names:
        if question.time_format is not None:
            raise UsageError("--time-format says how times are written; name their column with --time")
        return frame, ()
    try:
        # Text files, and texts in Parquet or a database: there every cell can be checked before it is used.
        if frame.implementation is nw.Implementation.DUCKDB and frame.collect_schema()[TIME] == nw.String:
            return moments.seconds_from_text(frame, table.name, names[TIME], question.time_format)
        return moments.from_frame(frame, names[TIME], is_guess, question.time_format), ()
    except DataError as error:
        if not is_guess or question.time_format is not None:
            raise
        reason = str(error).splitlines()[0].partition(";")[0]
    message = f"column {shown(names[TIME])} was not used as the time of annotation: {reason}"
    return frame.drop(TIME), (Caution("time_ignored", message),)


def caution_clusters(table: Table, places: Mapping[str, Sequence[int]]) -> tuple[Caution, ...]:
    """Where the first rows show a column with fewer values than items, and one value for each item."""
    taken = {position for positions in places.values() for position in positions}
    named = [p for p, name in enumerate(table.columns) if p not in taken and plain_name(name) in GROUPS]
    for position in named:
        values = values_by_item(table, places[ITEM], position)
        clusters = {value for each in values.values() for value in each}
        is_grouping = all(len(each) == 1 for each in values.values()) and 1 < len(clusters) <= len(values) / 2
        if is_grouping and len(values) >= FEWEST_ITEMS:
            name = shown(table.columns[position])
            message = (
                f"column {name} groups items (in the first rows {len(values):,} items in {len(clusters):,} groups): if "
                f"items of one group have something in common, the interval is too narrow; use --cluster {name}"
            )
            return (Caution("looks_clustered", message),)
    return ()
