"""Rows with or without certain values, or without certain annotators. What is left out is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from spagree.errors import DataError, UsageError
from spagree.late import nw
from spagree.read import columns
from spagree.read.annotations import ANNOTATOR, Annotations, is_missing
from spagree.read.conditions import Condition
from spagree.read.frames import collected
from spagree.read.tables import Table, cell, listed, shown

MOST_SHOWN = 10


def with_values(table: Table, asked: Sequence[Condition], rules: list[str]) -> Table:
    """Only the rows that fulfil the conditions; a sentence on how many remain is added to ``rules``."""
    wanted = [(columns.find(table.columns, each.column, "--where"), each) for each in asked]
    needed = [position for position, _ in wanted]

    def load(positions: Sequence[int]) -> nw.LazyFrame[Any]:
        frame = table.load(list(dict.fromkeys([*positions, *needed])))
        before = size(frame)
        for position, each in wanted:
            kept = frame.filter(_fulfilled(frame, cell(position), each))
            if not size(kept):
                column, known = table.columns[position], listed(distinct(frame, cell(position)), MOST_SHOWN)
                raise DataError(f"--where {each}: no row matches; column {shown(column)} holds {known}")
            frame = kept
        told = " and ".join(replace(each, column=table.columns[position]).in_words() for position, each in wanted)
        rules.append(f"only rows with {told}: {size(frame):,} of {before:,}")
        return frame.drop([cell(position) for position in dict.fromkeys(needed) if position not in positions])

    sample = [row for row in table.sample if all(p < len(row) and _is_seen(row[p], each) for p, each in wanted)]
    return replace(table, load=load, sample=sample)


def _fulfilled(frame: nw.LazyFrame[Any], name: str, asked: Condition) -> nw.Expr:
    """Whether a row fulfils a condition; an empty cell is an empty text, and engines spell true in several ways."""
    text, value = nw.col(name).cast(nw.String).fill_null(""), asked.value
    if frame.collect_schema()[name] == nw.Boolean:
        text, value = text.str.to_lowercase(), value.lower()
    return text == value if asked.is_equal else text != value


def _is_seen(value: object, asked: Condition) -> bool:
    """The same for one of the first rows."""
    text = "" if is_missing(value) else str(value)
    return replace(asked, value=asked.value.capitalize()).holds(text) if isinstance(value, bool) else asked.holds(text)


def distinct(frame: nw.LazyFrame[Any], name: str) -> list[str]:
    """The values of a column as text, in order; empty cells left out."""
    values = frame.select(nw.col(name).cast(nw.String)).unique(subset=[name]).filter(~nw.col(name).is_null())
    return sorted(row[0] for row in collected(values))


def without_annotators(annotations: Annotations, names: str | Sequence[str]) -> Annotations:
    """Without these annotators, whose annotations are counted as left out."""
    import difflib

    excluded = [names] if isinstance(names, str) else list(names)
    if not annotations.has_annotators:
        raise UsageError("--exclude-annotator: the annotators are unknown; name their column with --annotator")
    who = nw.col(ANNOTATOR).cast(nw.String)
    for name in excluded:
        if not size(annotations.frame.filter(who == name)):
            known = distinct(annotations.frame, ANNOTATOR)
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {shown(near[0])}?" if near else f"annotators: {listed(known[:MOST_SHOWN])}"
            raise UsageError(f"--exclude-annotator {shown(name)}: nobody has this name; {hint}")
    lost = size(annotations.frame.filter(who.is_in(excluded)))
    kept = annotations.frame.filter(nw.col(ANNOTATOR).is_null() | ~who.is_in(excluded))
    return replace(annotations, rows=kept, left_out={**annotations.left_out, "excluded": lost})


def size(frame: nw.LazyFrame[Any]) -> int:
    """How many rows there are."""
    return int(collected(frame.select(nw.len().alias("size")))[0][0])
