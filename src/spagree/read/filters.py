"""Rows with certain values, or without certain annotators. What is left out is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from spagree.errors import DataError, UsageError
from spagree.late import nw
from spagree.read import columns
from spagree.read.annotations import ANNOTATOR, Annotations
from spagree.read.frames import collected
from spagree.read.tables import Table, cell, listed, shown

MOST_SHOWN = 10


def with_values(table: Table, asked: Sequence[tuple[str, str]], rules: list[str]) -> Table:
    """Only the rows with these values; a sentence on how many remain is added to ``rules``."""
    wanted = [(columns.find(table.columns, column, "--where"), value) for column, value in asked]
    needed = [position for position, _ in wanted]

    def load(positions: Sequence[int]) -> nw.LazyFrame[Any]:
        frame = table.load(list(dict.fromkeys([*positions, *needed])))
        before = size(frame)
        for position, value in wanted:
            chosen = nw.col(cell(position)).cast(nw.String) == value
            kept = frame.filter(chosen if value else nw.col(cell(position)).is_null() | chosen)
            if not size(kept):
                raise _no_such_value(frame, position, table.columns[position], value)
            frame = kept
        told = " and ".join(f"{table.columns[position]} = {value}" for position, value in wanted)
        rules.append(f"only rows with {told}: {size(frame):,} of {before:,}")
        return frame.drop([cell(position) for position in dict.fromkeys(needed) if position not in positions])

    return replace(table, load=load)


def _no_such_value(frame: nw.LazyFrame[Any], position: int, column: str, value: str) -> DataError:
    known = distinct(frame, position)
    more = f" and {len(known) - MOST_SHOWN:,} more" if len(known) > MOST_SHOWN else ""
    found = f"--where {column}={value}: no row matches"
    return DataError(f"{found}; column {shown(column)} holds {listed(known[:MOST_SHOWN])}{more}")


def distinct(frame: nw.LazyFrame[Any], position: int) -> list[str]:
    """The values of a column as text, in order; empty cells left out."""
    key = cell(position)
    values = frame.select(nw.col(key).cast(nw.String)).unique(subset=[key]).filter(~nw.col(key).is_null())
    return sorted(row[0] for row in collected(values))


def without_annotators(annotations: Annotations, names: str | Sequence[str]) -> Annotations:
    """Without these annotators, whose annotations are counted as left out."""
    excluded = [names] if isinstance(names, str) else list(names)
    if not annotations.has_annotators:
        raise UsageError("--exclude-annotator: the annotators are unknown; name their column with --annotator")
    who = nw.col(ANNOTATOR).cast(nw.String)
    for name in excluded:
        if not size(annotations.frame.filter(who == name)):
            raise _nobody(annotations, name)
    lost = size(annotations.frame.filter(who.is_in(excluded)))
    kept = annotations.frame.filter(nw.col(ANNOTATOR).is_null() | ~who.is_in(excluded))
    return replace(annotations, rows=kept, left_out={**annotations.left_out, "excluded": lost})


def _nobody(annotations: Annotations, name: str) -> UsageError:
    import difflib

    people = annotations.frame.select(nw.col(ANNOTATOR).cast(nw.String)).unique(subset=[ANNOTATOR])
    known = sorted(row[0] for row in collected(people) if row[0] is not None)
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {shown(near[0])}?" if near else f"annotators: {listed(known[:MOST_SHOWN])}"
    return UsageError(f"--exclude-annotator {shown(name)}: nobody has this name; {hint}")


def size(frame: nw.LazyFrame[Any]) -> int:
    """How many rows there are."""
    return int(collected(frame.select(nw.len().alias("size")))[0][0])
