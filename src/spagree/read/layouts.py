"""How annotations are laid out in a table: one per row, one column per annotator, or counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from spagree.errors import ColumnError, DataError, UsageError
from spagree.read import cells, columns, moments
from spagree.read.annotations import ANNOTATOR, COUNT, ITEM, LABEL, ROW, TEXT, TIME, Caution
from spagree.read.frames import is_spark
from spagree.read.tables import Table, cell, listed, shown

SHOWN_EXAMPLES = 3
FEWEST_TELLING = 5  # rows that must all differ before a column is taken for ids


@dataclass(frozen=True, slots=True)
class Question:
    """What the user said about the columns; ``labels`` are several columns, for wide and counts."""

    item: str | None = None
    annotator: str | None = None
    label: str | None = None
    labels: tuple[str, ...] | None = None
    time: str | None = None
    missing: tuple[str, ...] = ()
    text: str | None = None

    def named(self) -> Mapping[str, str | None]:
        """The roles that stand for one column each."""
        return {ITEM: self.item, ANNOTATOR: self.annotator, LABEL: self.label, TIME: self.time, TEXT: self.text}

    def also(self) -> tuple[str, ...]:
        """The role that is never guessed."""
        return (TEXT,) if self.text is not None else ()


@dataclass(frozen=True, slots=True)
class Layout:
    """A frame in the shape of Annotations, and what was understood on the way."""

    frame: nw.LazyFrame[Any]
    format: str
    columns: Mapping[str, str]
    guessed: frozenset[str]
    cautions: tuple[Caution, ...] = ()


def long(table: Table, question: Question) -> Layout:
    """One annotation per row: item, label, and where known annotator and time."""
    if question.labels is not None:
        raise UsageError(
            f"--label names several columns ({listed(question.labels)}); say what they hold: "
            "--format wide (one column per annotator) or --format counts (one column per class)"
        )
    roles = columns.resolve(table.columns, question.named(), (ITEM, ANNOTATOR, LABEL, TIME, *question.also()))
    lacking = [role for role in (ITEM, LABEL) if role not in roles.positions]
    if lacking:
        raise _unknown_columns(table, lacking, roles)
    positions = dict(roles.positions)
    loaded = table.load(list(dict.fromkeys(positions.values())))
    renamed = loaded.select(
        *(nw.col(cell(p)).alias(role) for role, p in positions.items()),
        *([ROW] if table.is_ordered else []),
    )
    names = {role: table.columns[p] for role, p in positions.items()}
    frame, cautions = _timed(renamed, table, names, TIME in roles.guessed)
    if cautions:
        names.pop(TIME)
    kept = frozenset() if table.is_positional else frozenset(roles.guessed & names.keys())
    return Layout(cells.with_missing(frame, question.missing), "long", names, kept, cautions)


def _timed(
    frame: nw.LazyFrame[Any], table: Table, names: Mapping[str, str], is_guess: bool
) -> tuple[nw.LazyFrame[Any], tuple[Caution, ...]]:
    """The time column as something that sorts; a guess that turns out wrong is left out, and said."""
    if TIME not in names:
        return frame, ()
    try:
        if _is_text_in_duckdb(frame):
            return moments.seconds_from_text(frame, table.name, names[TIME]), ()
        return moments.from_frame(frame, names[TIME], is_guess), ()
    except DataError as error:
        if not is_guess:
            raise
        reason = str(error).splitlines()[0].partition(";")[0]
    message = f"column {shown(names[TIME])} was not used as the time of annotation: {reason}"
    return frame.drop(TIME), (Caution("time_ignored", message),)


def _is_text_in_duckdb(frame: nw.LazyFrame[Any]) -> bool:
    """Text files, and texts in Parquet or a database: there every cell can be checked before it is used."""
    return frame.implementation is nw.Implementation.DUCKDB and frame.collect_schema()[TIME] == nw.String


def wide(table: Table, question: Question) -> Layout:
    """One row per item, one column per annotator; an empty cell was not annotated."""
    item, guessed, annotators = _broad(table, question, "annotator")
    text = _text(table, question)
    frame, cautions = cells.in_one_type(table.load(_needed(item, annotators, text)), annotators)
    unpivoted = _unpivoted(frame, table, item, annotators, text, variable=ANNOTATOR, value=LABEL)
    unpivoted = unpivoted.filter(~nw.col(LABEL).is_null())  # an empty cell is no annotation that got lost
    names = {**_item_name(table, item), ANNOTATOR: _names(table, annotators), **_text_name(table, text)}
    return Layout(cells.with_missing(unpivoted, question.missing), "wide", names, guessed, cautions)


def counts(table: Table, question: Question) -> Layout:
    """One row per item, one column per class; each cell says how many annotators chose the class."""
    item, guessed, classes = _broad(table, question, "class")
    text = _text(table, question)
    frame = table.load(_needed(item, classes, text))
    if not table.is_text:
        cells.refuse_text_counts(frame, table, classes)
        frame, _ = cells.in_one_type(frame, classes)
    unpivoted = _unpivoted(frame, table, item, classes, text, variable=LABEL, value=COUNT)
    checked = cells.whole_counts(unpivoted, table)
    names = {**_item_name(table, item), LABEL: _names(table, classes), **_text_name(table, text)}
    return Layout(checked, "counts", names, guessed)


def _broad(table: Table, question: Question, what: str) -> tuple[int | None, frozenset[str], list[int]]:
    """The item column, whether it was guessed, and the columns that hold annotators or classes."""
    for role, name in ((ANNOTATOR, question.annotator), (TIME, question.time)):
        if name is not None:
            raise UsageError(f"--{role} {shown(name)} has no meaning here: every column is one {what}; leave it out")
    labels = question.labels or ((question.label,) if question.label is not None else None)
    chosen = None if labels is None else columns.several(table.columns, labels)
    roles = columns.resolve(table.columns, question.named(), (ITEM, *question.also()))
    item, text = roles.positions.get(ITEM), roles.positions.get(TEXT)
    if chosen is not None and item in chosen:
        if question.item is not None:
            raise ColumnError(f"column {shown(question.item)} was given for --item and for --label; name it once")
        item = None
    every = [i for i, name in enumerate(table.columns) if i not in (item, text) and name]
    others = every if chosen is None else chosen
    if not others:
        raise ColumnError(f"{table.name}: no {what} columns besides the item; columns: {listed(table.columns)}")
    if item is None and chosen is None:
        _refuse_hidden_items(table, others, what)
    if item is None and not table.is_ordered:
        raise ColumnError(f"{table.name}: rows have no order here; name the item column with --item")
    _refuse_same_names(table, others, what)
    guessed = roles.guessed if item is not None else frozenset()
    return item, frozenset(guessed), others


def _refuse_hidden_items(table: Table, positions: Sequence[int], what: str) -> None:
    """A column with another value in every row is the item under an unusual name, not an annotator."""
    for position in positions:
        values = [row[position] for row in table.sample if position < len(row) and row[position] is not None]
        if len(values) >= FEWEST_TELLING and len(set(values)) == len(values):
            name = shown(table.columns[position])
            raise ColumnError(
                f"{table.name}: column {name} has a different value in each row, so it looks like the item and "
                f"not like one {what}; say --item {name}, or name the {what} columns with --label"
            )


def _refuse_same_names(table: Table, positions: Sequence[int], what: str) -> None:
    """Two columns of one name would be one annotator (or class); engines also fold the case."""
    seen: dict[str, str] = {}
    for name in (table.columns[p] for p in positions):
        if name.casefold() in seen:
            raise ColumnError(
                f"{table.name}: two columns are called {shown(seen[name.casefold()])} and {shown(name)}; "
                f"each {what} needs a name of its own (case does not count)"
            )
        seen[name.casefold()] = name


def _text(table: Table, question: Question) -> int | None:
    return None if question.text is None else columns.find(table.columns, question.text, f"--{TEXT}")


def _text_name(table: Table, text: int | None) -> dict[str, str]:
    return {} if text is None else {TEXT: table.columns[text]}


def _needed(item: int | None, others: Sequence[int], text: int | None) -> list[int]:
    return list(dict.fromkeys(position for position in (item, *others, text) if position is not None))


def _unpivoted(
    frame: nw.LazyFrame[Any],
    table: Table,
    item: int | None,
    others: Sequence[int],
    text: int | None,
    *,
    variable: str,
    value: str,
) -> nw.LazyFrame[Any]:
    """One row per cell. Names get a mark while they are column names, so that none can collide."""
    kept = [ITEM, *([ROW] if table.is_ordered else []), *([] if text is None else [TEXT])]
    prepared = frame.with_columns((nw.col(ROW) if item is None else nw.col(cell(item))).alias(ITEM))
    if text is not None:
        prepared = prepared.with_columns(nw.col(cell(text)).alias(TEXT))
    if frame.implementation is nw.Implementation.DUCKDB:
        return _unnested(prepared, [*kept], {cell(p): table.columns[p] for p in others}, variable, value)
    if is_spark(frame):
        return _exploded(prepared, [*kept], {cell(p): table.columns[p] for p in others}, variable, value)
    marked = [nw.col(cell(p)).alias("=" + table.columns[p]) for p in others]
    names = ["=" + table.columns[p] for p in others]
    tall = prepared.select(*kept, *marked).unpivot(names, index=kept, variable_name=variable, value_name=value)
    return tall.with_columns(nw.col(variable).cast(nw.String).str.slice(1))


def _unnested(
    frame: nw.LazyFrame[Any], kept: Sequence[str], names: Mapping[str, str], variable: str, value: str
) -> nw.LazyFrame[Any]:
    """The same in SQL: on duckdb narwhals' unpivot drops nulls, and only knows the default connection."""
    texts = ", ".join("'" + name.replace("'", "''") + "'" for name in names.values())
    tall = f"unnest([{texts}]) AS {variable}, unnest([{', '.join(names)}]) AS {value}"
    unnested: nw.LazyFrame[Any] = nw.from_native(frame.to_native().project(f"{', '.join(kept)}, {tall}"))
    return unnested


def _exploded(
    frame: nw.LazyFrame[Any], kept: Sequence[str], names: Mapping[str, str], variable: str, value: str
) -> nw.LazyFrame[Any]:
    """The same in Spark, where a name with a dot or a backtick cannot be the name of a column on the way."""
    from pyspark.sql import functions as sql

    cells = [sql.struct(sql.lit(name).alias(variable), sql.col(key).alias(value)) for key, name in names.items()]
    tall: nw.LazyFrame[Any] = nw.from_native(frame.to_native().select(*kept, sql.inline(sql.array(*cells))))
    return tall


def _item_name(table: Table, item: int | None) -> dict[str, str]:
    return {ITEM: "row number" if item is None else table.columns[item]}


def _names(table: Table, positions: Sequence[int]) -> str:
    return listed([table.columns[p] for p in positions], limit=5)


def _unknown_columns(table: Table, lacking: Sequence[str], roles: columns.Roles) -> ColumnError:
    """Nothing fits: list what there is, and name the command that probably works."""
    options = " and ".join(f"--{role}" for role in lacking)
    hints = [f"name the column of the {' and of the '.join(lacking)} with {options}"]
    others = [i for i in range(len(table.columns)) if i != roles.positions.get(ITEM)]
    if len(others) > 1 and LABEL in lacking:
        hints.append(_broad_hint(table, others))
    if table.is_text:
        hints.append("if the first line holds data and no names: --no-header")
    hints += [caution.message for caution in table.cautions]
    wanted = " or the ".join(lacking)
    found = listed(table.columns)
    return ColumnError(f"{table.name}: no column looks like the {wanted}; columns: {found}", hints)


def _broad_hint(table: Table, others: Sequence[int]) -> str:
    numbers = [i for i in others if all(str(row[i]).isdigit() for row in table.sample if i < len(row))]
    if table.sample and len(numbers) > 1 and len(others) - len(numbers) <= 1:
        named = [shown(table.columns[i]) for i in others if i not in numbers]
        return f"if each column is a class and the cells are counts: --format counts{_as_item(named)}"
    return "if each column is an annotator: --format wide"


def _as_item(names: Sequence[str]) -> str:
    return f" --item {names[0]}" if names else ""


FORMATS = {"long": long, "wide": wide, "counts": counts}
