"""Several questions in one long table: a column says which one each row answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spagree.errors import ColumnError, UsageError
from spagree.late import nw
from spagree.read import columns
from spagree.read.annotations import ANNOTATOR, ITEM
from spagree.read.contents import columns_at, plain_name, words
from spagree.read.frames import collected
from spagree.read.tables import Table, cell, listed, shown

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
        return QuestionColumn(columns.find(table.columns, name, "--question"), value)
    sampled = columns_at(table, free)
    holding = [p for p in free if wanted in sampled[p].values]
    named = [p for p in free if plain_name(table.columns[p]) in NAMES]
    fitting = [p for p in holding if p in named] or holding or named
    if len(fitting) == 1:
        return QuestionColumn(fitting[0], wanted)
    if not fitting:
        raise UsageError(
            f"--question {shown(wanted)}: no column of {table.name} names questions; leave it out, or write "
            f"--question COLUMN={wanted} (columns: {listed(table.columns)})"
        )
    names = listed([table.columns[p] for p in fitting])
    raise UsageError(
        f"--question {shown(wanted)}: {len(fitting)} columns hold it; "
        f"write --question COLUMN={wanted} (columns: {names})"
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
                f"{listed(names, limit=10)}; choose one with --question {shown(names[0])}, or score each with "
                "--all-questions"
            )
        return frame
    name = cell(question.position)
    rows = frame.filter(nw.col(name).cast(nw.String) == question.value)
    if not collected(rows.select(name).head(1)):
        questions = listed(values(frame, question))
        raise UsageError(f"--question {shown(question.value)}: no such question; column {column} has {questions}")
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
