"""Rows that a column marks: withdrawn annotations, control questions, unfinished answers to a survey."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from spagree.read.conditions import Condition
from spagree.read.contents import OFF, ON, Column, columns_at, plain_name, plain_text, words
from spagree.read.tables import Table, shown
from spagree.understood import Caution

WITHDRAWN = words(
    "deleted isdeleted cancelled canceled wascancelled skipped isskipped rejected discarded isdiscarded withdrawn draft"
)
UNFINISHED = words("finished completed iscomplete complete")
TRIALS = frozenset({"survey preview", "survey test", "preview", "spam", "incomplete"})
STATES = words("status state annotationstatus")
CONTROLS = words(
    "gold isgold golden isgolden goldquestion goldenquestion goldlabel goldenlabel goldanswer goldenanswer istest "
    "testquestion istestquestion control iscontrol controlquestion iscontrolquestion honeypot ishoneypot "
    "attentioncheck isattentioncheck isgroundtruth istraining isqualification"
)


def caution_marked(table: Table, places: Mapping[str, Sequence[int]], chosen: Collection[str]) -> Iterator[Caution]:
    """A caution for each column that marks some of the annotations, unless --where names the column."""
    for column in _named(table, places, WITHDRAWN | STATES | CONTROLS, chosen):
        marked = _marked(column)
        lost = sum(column.values[value] for value in marked)
        if not 0 < lost < len(column.cells):
            continue
        size = f"({lost:,} of the first {len(column.cells):,})"
        remedy = f"to leave them out: {_without(column, marked)}"
        name = shown(column.name)
        if column.plain_name in CONTROLS:
            marks = f"marks control questions, whose answers are known {size}: they were counted"
            yield Caution("control_questions", f"column {name} {marks}; {remedy}")
        else:
            marks = f"says that annotations were withdrawn {size}, and they were counted"
            yield Caution("withdrawn", f"column {name} {marks}; {remedy}")


def caution_trials(table: Table, chosen: Collection[str]) -> Iterator[Caution]:
    """A caution for answers to a survey that are unfinished or previews, unless --where names the column."""
    for column in _named(table, {}, UNFINISHED | STATES, chosen):
        marks = TRIALS if column.plain_name in STATES else OFF
        marked = {value for value in column.values if value.casefold() in marks}
        lost = sum(column.values[value] for value in marked)
        if 0 < lost < len(column.cells):
            yield Caution(
                "unfinished",
                f"column {shown(column.name)} says that answers are unfinished or previews ({lost:,} of the first "
                f"{len(column.cells):,} rows), and they were counted; to leave them out: {_without(column, marked)}",
            )


def _named(
    table: Table, places: Mapping[str, Sequence[int]], names: Collection[str], chosen: Collection[str]
) -> Iterable[Column]:
    """The free columns with one of these names that --where does not name."""
    free = [p for p in table.free(places) if plain_name(table.columns[p]) in names and table.columns[p] not in chosen]
    return columns_at(table, free).values() if free and table.sample else ()


def _marked(column: Column) -> set[str]:
    """The values that mark a row: words such as true, or all known answers where other rows have none."""
    if column.plain_name in CONTROLS and not column.is_switch:
        return set(column.values)
    marks = WITHDRAWN if column.plain_name in STATES else ON
    return {value for value in column.values if value.casefold() in marks}


def _without(column: Column, marked: Collection[str]) -> str:
    """The options that choose the other rows."""
    others = {plain_text(value) for value in column.cells} - set(marked)
    conditions = [Condition(column.name, value) for value in others]
    if len(conditions) > 1:
        conditions = [Condition(column.name, value, is_equal=False) for value in sorted(marked)]
    return " ".join(f"--where {shown(str(condition))}" for condition in conditions)
