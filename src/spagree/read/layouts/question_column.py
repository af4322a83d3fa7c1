"""Several questions in one long table: a column says which one each row answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spagree.errors import ColumnError, UsageError
from spagree.late import nw
from spagree.read import columns
from spagree.read.annotations import ANNOTATOR, ITEM
from spagree.read.contents import held_by, plain_name, words
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
class Asked:
    """The column of the question, and the one that was chosen."""

    position: int
    value: str | None


def column(table: Table, places: Mapping[str, Sequence[int]], wanted: str | None) -> Asked | None:
    """The column that may say which question a row answers."""
    free = table.free(places)
    if wanted is not None:
        return _chosen(table, free, wanted)
    named = [p for p in free if plain_name(table.columns[p]) in NAMES]
    varying = [p for p, held in held_by(table, named).items() if len(held.values) > 1] if table.sample else []
    return Asked((varying or named)[0], None) if named else None


def _chosen(table: Table, free: Sequence[int], wanted: str) -> Asked:
    """``--question VALUE``, or ``--question COLUMN=VALUE`` where several columns hold it."""
    name, mark, value = wanted.partition("=")
    if mark and name in table.columns:
        return Asked(columns.find(table.columns, name, "--question"), value)
    held = held_by(table, free)
    holding = [p for p in free if wanted in held[p].values]
    named = [p for p in free if plain_name(table.columns[p]) in NAMES]
    fitting = [p for p in holding if p in named] or holding or named
    if len(fitting) == 1:
        return Asked(fitting[0], wanted)
    if not fitting:
        raise UsageError(
            f"--question {shown(wanted)}: no column of {table.name} names questions; leave it out, or write "
            f"--question COLUMN={wanted} (columns: {listed(table.columns)})"
        )
    found = listed([table.columns[p] for p in fitting])
    raise UsageError(
        f"--question {shown(wanted)}: {len(fitting)} columns hold it; "
        f"write --question COLUMN={wanted} (columns: {found})"
    )


def values(frame: nw.LazyFrame[Any], asked: Asked) -> list[str]:
    """The questions of the column, in order."""
    name = cell(asked.position)
    found = collected(frame.select(nw.col(name).cast(nw.String)).unique(subset=[name]).head(MOST + 1))
    return sorted(value for (value,) in found if value is not None)


def choose(
    frame: nw.LazyFrame[Any], table: Table, places: Mapping[str, Sequence[int]], asked: Asked
) -> nw.LazyFrame[Any]:
    """The rows of the chosen question; refuses to mix several."""
    column = shown(table.columns[asked.position])
    if asked.value is None:
        if is_asked(frame, places, asked):
            found = values(frame, asked)
            raise ColumnError(
                f"{table.name}: column {column} holds {len(found)} questions, answered for the same items: "
                f"{listed(found, limit=10)}; choose one with --question {shown(found[0])}, or score each with "
                "--all-questions"
            )
        return frame
    name = cell(asked.position)
    rows = frame.filter(nw.col(name).cast(nw.String) == asked.value)
    if not collected(rows.select(name).head(1)):
        raise UsageError(
            f"--question {shown(asked.value)}: no such question; column {column} has {listed(values(frame, asked))}"
        )
    return rows


def is_asked(frame: nw.LazyFrame[Any], places: Mapping[str, Sequence[int]], asked: Asked) -> bool:
    """Whether an annotator often has several values of the column on one item (or an item has, without annotators)."""
    if not 1 < len(values(frame, asked)) <= MOST:
        return False
    keys = [cell(p) for role in (ITEM, ANNOTATOR) for p in places.get(role, ())]
    sizes = frame.group_by(*keys).agg(nw.col(cell(asked.position)).n_unique().alias("questions"))
    several = (nw.col("questions") > 1).cast(nw.Int64)
    (found,) = collected(sizes.select(several.sum().alias("several"), nw.len().alias("all")))
    return int(found[0] or 0) > OFTEN * int(found[1])
