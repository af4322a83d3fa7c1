"""The rows that --where and --exclude-annotator choose; what is left out is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from spagree.errors import DataError, UsageError, nearest, opt
from spagree.read import columns
from spagree.read.annotations import ANNOTATOR, ITEM, Annotations, MarkRows, nw, text_of
from spagree.read.frames import collected, size
from spagree.read.table import Table, cell, listed, shown


@dataclass(frozen=True, slots=True)
class Condition:
    """A column and a value that rows must have there, or must not have."""

    column: str
    value: str
    is_equal: bool = True

    def holds(self, value: Any) -> Any:
        """Whether a value fulfils the condition, or, as an expression, every value of a column.

        >>> Condition("lang", "en").holds("de"), Condition("lang", "en", is_equal=False).holds("de")
        (False, True)
        """
        return value == self.value if self.is_equal else value != self.value

    def __str__(self) -> str:
        return f"{self.column}{'=' if self.is_equal else '!='}{self.value}"

    def in_words(self) -> str:
        """The condition as the summary shows it."""
        return f"{self.column} {'=' if self.is_equal else '≠'} {self.value}"


def written(text: str) -> Condition:
    """The condition COLUMN=VALUE or COLUMN!=VALUE."""
    column, sign, value = text.partition("=")
    if not sign:
        raise UsageError(f"{opt.where(text)}: write a column and its value as COLUMN=VALUE, or COLUMN!=VALUE")
    return Condition(column.removesuffix("!"), value, is_equal=not column.endswith("!"))


MOST_SHOWN = 10


def with_values(table: Table, conditions: Sequence[Condition]) -> Table:
    """Only the rows that fulfil the conditions; a sentence says how many remain."""
    rules: list[str] = []
    wanted = [(columns.find(table.columns, condition.column, opt.where), condition) for condition in conditions]
    needed = [position for position, _ in wanted]

    def load(positions: Sequence[int]) -> nw.LazyFrame[Any]:
        frame = table.load(list(dict.fromkeys([*positions, *needed])))
        before = size(frame)
        for position, condition in wanted:
            text = nw.col(cell(position)).cast(nw.String).fill_null("")
            kept = frame.filter(_fulfils(text, condition, frame.collect_schema()[cell(position)] == nw.Boolean))
            if not size(kept):
                column, values = table.columns[position], listed(distinct(frame, cell(position)), MOST_SHOWN)
                raise DataError(f"{opt.where(condition)}: no row matches; column {shown(column)} holds {values}")
            frame = kept
        words = [replace(condition, column=table.columns[position]).in_words() for position, condition in wanted]
        rules[:] = [f"only rows with {' and '.join(words)}: {size(frame):,} of {before:,}"]
        return frame.drop([cell(position) for position in dict.fromkeys(needed) if position not in positions])

    sample = [row for row in table.sample if all(p < len(row) for p in needed)]
    for p, condition in wanted:
        sample = [row for row in sample if _fulfils(text_of(row[p]), condition, isinstance(row[p], bool))]
    return replace(table, load=load, few=None, sample=sample, shares=(), small=None, rules=rules)


def _fulfils(text: Any, condition: Condition, is_boolean: bool) -> Any:
    """Whether a text, or every text of a column, fulfils a condition; engines spell true in several ways."""
    if is_boolean:
        text = text.lower() if isinstance(text, str) else text.str.to_lowercase()
        condition = replace(condition, value=condition.value.lower())
    return condition.holds(text)


def distinct(frame: nw.LazyFrame[Any], name: str, most: int = 100_000) -> list[str]:
    """The values of a column as text, in order, or some of more than so many; empty cells left out."""
    values = frame.select(nw.col(name).cast(nw.String)).unique(subset=[name]).filter(~nw.col(name).is_null())
    return sorted(row[0] for row in collected(values.head(most)))


def without_annotators(annotations: Annotations, excluded: Sequence[str]) -> Annotations:
    """Without these annotators, whose annotations are counted as left out."""
    if not annotations.has_annotators:
        raise UsageError(f"{opt.exclude_annotator}: the annotators are unknown; name their column with {opt.annotator}")
    is_lost = nw.col(ANNOTATOR).cast(nw.String).is_in(excluded)
    _refuse_strangers(excluded, annotations.frame)
    lost = size(annotations.frame.filter(is_lost))
    kept = annotations.frame.filter(nw.col(ANNOTATOR).is_null() | ~is_lost)
    return replace(annotations, rows=kept, left_out={**annotations.left_out, "excluded": lost})


def marks_without(found: MarkRows, excluded: Sequence[str]) -> MarkRows:
    """Marks and visits without these annotators."""
    if not excluded:
        return found
    frames = [frame for frame in (found.rows, found.seen) if frame is not None]
    is_lost = nw.col(ANNOTATOR).cast(nw.String).is_in(excluded)
    _refuse_strangers(excluded, *frames)
    lost = {visit for frame in frames for visit in collected(frame.filter(is_lost).select(ITEM, ANNOTATOR))}
    rows, seen = found.rows.filter(~is_lost), None if found.seen is None else found.seen.filter(~is_lost)
    return replace(found, rows=rows, seen=seen, left_out={**found.left_out, "excluded": len(lost)})


def _refuse_strangers(names: Sequence[str], *frames: nw.LazyFrame[Any]) -> None:
    who = nw.col(ANNOTATOR).cast(nw.String)
    for name in names:
        if not any(size(frame.filter(who == name)) for frame in frames):
            annotators = distinct(frames[0], ANNOTATOR)
            near = nearest(name, annotators)
            hint = f"annotators: {listed(annotators[:MOST_SHOWN])}" if near is None else f"did you mean {shown(near)}?"
            raise UsageError(f"{opt.exclude_annotator(name)}: nobody has this name; {hint}")
