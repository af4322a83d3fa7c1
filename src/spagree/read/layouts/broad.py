"""Tables with one column per annotator, per item or per class."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from spagree.errors import SHOWN_PROBLEMS, ColumnError, DataError, UsageError
from spagree.late import nw
from spagree.messages import opt
from spagree.read import columns
from spagree.read.annotations import ANNOTATOR, COUNT, GROUP, ITEM, LABEL, LINK, ROW, TIME
from spagree.read.columns import OFF, ON, Column, columns_at
from spagree.read.frames import collected, is_spark
from spagree.read.layouts.doubts import (
    caution_annotators,
    caution_second_header,
    caution_trials,
    refuse_grid,
    refuse_repeated_names,
    refuse_same_names,
    refuse_second_header,
    refuse_total,
    summaries,
)
from spagree.read.layouts.long import joined
from spagree.read.layouts.recognise import ITEM_WORDS, apart_rows, is_numbered, named_like, refuse_few_items
from spagree.read.request import Request
from spagree.read.table import Layout, Table, cell, listed, shown, sql_literal, wrong_cell
from spagree.understood import Caution

FEWEST_ROWS = 5
FEWEST_CLASSES = 3
MOST_STEPS = 20  # annotations per item whose percentages are recognised


@dataclass(frozen=True, slots=True)
class _Broad:
    """The columns that identify a row, those that hold what is compared, and what else belongs to the row."""

    table: Table
    key: str
    keys: tuple[int, ...]
    others: tuple[int, ...]
    beside: Mapping[str, int]
    """Columns of the text, the cluster and the group, as far as they were named, and of the link."""
    guessed: frozenset[str]
    cautions: tuple[Caution, ...] = ()

    def load(self) -> nw.LazyFrame[Any]:
        """The needed columns of the table."""
        return self.table.load(list(dict.fromkeys([*self.keys, *self.others, *self.beside.values()])))

    def tall(self, frame: nw.LazyFrame[Any], variable: str, value: str) -> nw.LazyFrame[Any]:
        """One row per cell."""
        kept = [self.key, *([ROW] if self.table.is_ordered else []), *self.beside]
        prepared = frame.with_columns(
            (joined(self.keys) if self.keys else nw.col(ROW)).alias(self.key),
            *(nw.col(cell(place)).alias(role) for role, place in self.beside.items()),
        )
        return _unpivoted(prepared, kept, {cell(p): self.table.columns[p] for p in self.others}, variable, value)

    def labels(self, variable: str, request: Request) -> tuple[nw.LazyFrame[Any], tuple[Caution, ...]]:
        """One row per label; an empty cell is not an annotation."""
        frame, cautions = columns.in_one_type(self.load(), self.others)
        rated = self.tall(frame, variable, LABEL).filter(~nw.col(LABEL).is_null())
        return columns.with_missing(rated, request.missing_texts), self.cautions + cautions

    def names(self, variable: str) -> dict[str, str]:
        """The columns of each role."""
        names = self.table.columns
        by_role = {self.key: " + ".join(names[p] for p in self.keys) or "row number"}
        by_role[variable] = listed([names[p] for p in self.others], limit=5)
        ordered = {role: by_role[role] for role in (ITEM, ANNOTATOR, LABEL) if role in by_role}
        return ordered | {role: names[place] for role, place in self.beside.items()}


def wide(table: Table, request: Request) -> Layout:
    """One row per item, one column per annotator; an empty cell was not annotated."""
    broad = _broad(table, request, ITEM, "annotator")
    labels, cautions = broad.labels(ANNOTATOR, request)
    sampled = list(columns_at(table, broad.others).values())
    cautions += (
        *_looks_like_counts(sampled),
        *_looks_transposed(broad, request),
        *caution_second_header(table, sampled),
        *caution_annotators(sampled),
        *summaries(table, broad.keys, sampled, are_counts=False),
    )
    apart = apart_rows(table, broad.keys)
    return Layout(labels, "wide", broad.names(ANNOTATOR), broad.guessed, cautions, apart=apart)


def transposed(table: Table, request: Request) -> Layout:
    """One row per annotator, one column per item, as forms and surveys write it."""
    for role in request.also():
        if role != GROUP:
            raise UsageError(f"{opt[role]} does not apply here: every column is one item; leave it out")
    sizes = Counter(name.casefold() for name in table.columns if name)
    twice = {name for name, size in sizes.items() if size > 1}  # forms often ask the same question about each item
    names = tuple(f"{n} (column {i})" if n.casefold() in twice else n for i, n in enumerate(table.columns, 1))
    broad = _broad(replace(table, columns=names), request, ANNOTATOR, "item")
    labels, cautions = broad.labels(ITEM, request)
    cautions += tuple(caution_trials(table, [condition.column for condition in request.conditions()]))
    if twice:
        same = sum(sizes[name] for name in twice)
        message = f"{same} columns have the same name as another and were numbered"
        cautions += (Caution("columns_numbered", message),)
    return Layout(labels, "transposed", broad.names(ITEM), broad.guessed, cautions)


def counts(table: Table, request: Request) -> Layout:
    """One row per item, one column per class; each cell says how many annotators chose the class."""
    broad = _broad(table, request, ITEM, "class")
    frame = broad.load()
    if not table.is_text:
        columns.refuse_text_counts(frame, table, broad.others)
        frame, _ = columns.in_one_type(frame, broad.others)
    checked = columns.whole_counts(broad.tall(frame, LABEL, COUNT), table)
    sampled = list(columns_at(table, broad.others).values())
    refuse_total(table, sampled)
    cautions = (
        *broad.cautions,
        *_looks_like_no_counts(sampled),
        *summaries(table, broad.keys, sampled, are_counts=True),
    )
    return Layout(checked, "counts", broad.names(LABEL), broad.guessed, cautions)


def _unpivoted(
    frame: nw.LazyFrame[Any], kept: Sequence[str], names: Mapping[str, str], variable: str, value: str
) -> nw.LazyFrame[Any]:
    """One row per cell of the columns in ``names`` (key → the name to show), beside the ``kept`` columns.

    Names get a prefix while they are column names, so that none can collide.
    """
    if frame.implementation is nw.Implementation.DUCKDB:
        # The same in SQL: on duckdb, narwhals' unpivot drops nulls and knows only the default connection.
        texts = ", ".join(map(sql_literal, names.values()))
        cells = f"unnest([{texts}]) AS {variable}, unnest([{', '.join(names)}]) AS {value}"
        return cast("nw.LazyFrame[Any]", nw.from_native(frame.to_native().project(f"{', '.join(kept)}, {cells}")))
    if is_spark(frame):
        # The same in Spark, where a name with a dot or a backtick cannot be the name of a column on the way.
        from pyspark.sql import functions as sql

        pairs = [sql.struct(sql.lit(name).alias(variable), sql.col(key).alias(value)) for key, name in names.items()]
        exploded = frame.to_native().select(*kept, sql.inline(sql.array(*pairs)))
        return cast("nw.LazyFrame[Any]", nw.from_native(exploded))
    marked = [nw.col(key).alias("=" + name) for key, name in names.items()]
    tall = frame.select(*kept, *marked).unpivot(
        ["=" + name for name in names.values()], index=list(kept), variable_name=variable, value_name=value
    )
    return tall.with_columns(nw.col(variable).cast(nw.String).str.slice(1))


def _broad(table: Table, request: Request, key: str, what: str) -> _Broad:
    """Which columns identify a row, and which hold annotators, items or classes."""
    _refuse_meaningless(request, key, what)
    chosen = columns.several(table.columns, request.names(LABEL))
    beside = {role: columns.find(table.columns, request.named()[role], opt[role]) for role in request.also()}
    first = _key(table, request, key, frozenset(beside.values()))
    if first is not None and first in chosen:
        if request.names(key):
            name = shown(request.names(key)[0])
            raise ColumnError(f"column {name} was given for {opt[key]} and for {opt.label}; name it once")
        first = None
    keys = () if first is None else request.places(table, {key: first})[key]
    if not keys and not table.is_ordered:
        raise ColumnError(f"{table.name}: rows have no order here; name the {key} column with {opt[key]}")
    link = columns.link_column(table, keys, (*keys, *beside.values(), *chosen)) if key == ITEM else None
    beside |= {} if link is None else {LINK: link}
    free = [p for p in range(len(table.columns)) if p not in (*keys, *beside.values())]
    others, aside = (chosen, ()) if chosen else _sorted(table, free, bool(keys), key, what)
    if not others:
        raise ColumnError(f"{table.name}: no {what} columns besides the {key}; columns: {listed(table.columns)}")
    if not chosen and not keys:
        _refuse_data_as_names(table, others)
    aside += () if chosen else tuple(_header_as_data(table, others))
    refuse_same_names(table, others, what)
    guessed = frozenset({key} if keys and not request.names(key) else ()) | (beside.keys() & {LINK})
    return _Broad(table, key, keys, tuple(others), beside, guessed, aside)


def _refuse_meaningless(request: Request, key: str, what: str) -> None:
    named = {**request.named(), **({} if request.question is None else {"question": request.question})}
    for role in (ANNOTATOR if key == ITEM else ITEM, TIME, "question"):
        if role in named:
            raise UsageError(f"{opt[role](named[role])} does not apply here: every column is one {what}; leave it out")


def _key(table: Table, request: Request, key: str, taken: frozenset[int]) -> int | None:
    """The first column that identifies a row: named, or guessed by its name; in forms also by what it holds."""
    if key == ITEM or request.names(key):
        return columns.resolve(table.columns, request.named(), [key], taken).positions.get(key)
    for names in columns.PEOPLE:
        hits = [i for i, column in enumerate(table.columns) if columns.plain_name(column) in names.split()]
        if len(hits) == 1:
            return hits[0]
    return None


def _sorted(
    table: Table, free: Sequence[int], has_key: bool, key: str, what: str
) -> tuple[Sequence[int], tuple[Caution, ...]]:
    """The columns to compare, judged by their contents; cautions list the others."""
    # The index that pandas writes has no name.
    every = [p for p in free if table.columns[p] and not table.columns[p].startswith("Unnamed: ")]
    unnamed = [p for p in free if p not in every]
    nameless = tuple(_nameless(table, unnamed, what))
    sampled = columns_at(table, every)
    refuse_second_header(table, sampled.values(), columns_at(table, unnamed).values())
    if not has_key:
        _refuse_hidden_keys(table, sampled, key, what)
    if what == "class":
        numbers = {p: column for p, column in sampled.items() if any(map(_is_number, column.values))}
        classes = columns.without_sums(numbers)
        others = [p for p in sampled if p not in classes]
        strange = {p: "not one of the counts" if p in numbers else "no numbers" for p in others}
        return tuple(classes), (*_aside(table, strange, what), *nameless)
    if len(every) <= 1:
        return every, nameless
    if what == "annotator":
        refuse_grid(table, every)
    kinds = columns.sort_out(sampled, is_form=key == ANNOTATOR)
    if len(kinds.groups) > 1:  # they answer different questions, unless nobody ever agreed
        groups = [listed([table.columns[p] for p in group], limit=6) for group in kinds.groups[:4]]
        options = table.options(LABEL, kinds.rated[:6])
        raise ColumnError(
            f"{table.name}: these groups of columns share no value, so they do not answer the same question: "
            f"{' | '.join(groups)}; name the {what} columns that belong together, e.g. {options}"
        )
    ids = [p for p in kinds.rated if sampled[p].is_id] if has_key else []
    if len(ids) == len(kinds.rated):
        ids = []
    aside = {**kinds.aside, **dict.fromkeys(ids, "a different value in each row")}
    rated = [p for p in kinds.rated if p not in aside]
    if what == "annotator":
        refuse_repeated_names(table, rated)
    return rated, (*_aside(table, aside, what), *nameless)


def _nameless(table: Table, positions: Sequence[int], what: str) -> Iterator[Caution]:
    """A caution for columns without a name that hold more than row numbers: perhaps the header lost a name."""
    sampled = columns_at(table, positions).values()
    lost = [column.position + 1 for column in sampled if column.values and len(column.values) < len(column.cells)]
    if lost:
        places = ", ".join(map(str, lost[:8]))
        message = f"columns without a name were ignored (column {places}): give each {what} a name in the header"
        yield Caution("columns_aside", message)


def _is_number(text: str) -> bool:
    return text.lstrip("-").replace(".", "", 1).isdecimal()


def _aside(table: Table, aside: Mapping[int, str], what: str) -> Iterator[Caution]:
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for position, reason in aside.items():
        reasons[reason].append(table.columns[position])
    named = "; ".join(f"{listed(names, limit=8)} ({reason})" for reason, names in reasons.items())
    if aside:
        yield Caution(
            "columns_aside",
            f"columns that do not look like one {what} each were ignored: {named}. If they are, name every "
            f"{what} column with {opt.label}",
        )


def _refuse_hidden_keys(table: Table, sampled: dict[int, Column], key: str, what: str) -> None:
    """Refuse a column with a different value in every row: it is the item (or the person) under an unusual name."""
    for column in sampled.values():
        if not column.is_id or column.is_elsewhere != column.is_people:
            continue
        name = shown(column.name)
        if key == ITEM and column.is_people:
            raise ColumnError(
                f"{table.name}: column {name} looks like people, one in each row; if the other columns are items: "
                f"{opt.format('transposed')} {opt.annotator(column.name)}"
            )
        raise ColumnError(
            f"{table.name}: column {name} has a different value in each row, so it looks like the {key} and "
            f"not like one {what}; use {opt[key](column.name)}, or name the {what} columns with {opt.label}"
        )


def _refuse_data_as_names(table: Table, positions: Sequence[int]) -> None:
    """Refuse a header that holds labels like the lines below it."""
    names = [table.columns[p] for p in positions]
    sampled = columns_at(table, positions)
    values = set().union(*(column.values for column in sampled.values()))
    is_counting = any(names == [str(n) for n in range(start, start + len(names))] for start in (0, 1))
    if table.is_text and len(names) > 1 and not is_counting and set(names) <= values:
        raise ColumnError(
            f"{table.name}: the first line holds what the lines below hold ({listed(names, 5)}), so it looks like data "
            f"and not like a header; use {opt.no_header}, or name the columns with {opt.label}"
        )


def _header_as_data(table: Table, positions: Sequence[int]) -> Iterator[Caution]:
    """With --no-header, a caution if no cell of the first line occurs again: it may be a header after all."""
    sampled = columns_at(table, positions)
    first = [columns.plain_text(column.cells[0]) for column in sampled.values() if column.cells]
    again = Counter(value for column in sampled.values() for value in column.values.elements())
    if is_numbered(table.columns) and len(table.sample) >= FEWEST_ROWS and all(again[value] == 1 for value in first):
        yield Caution(
            "looks_like_header",
            f"the first line ({listed(first, 4)}) holds nothing that occurs below: if it is a header, leave out "
            f"{opt.no_header}",
        )


def _looks_like_counts(sampled: Sequence[Column]) -> Iterator[Caution]:
    """A caution for whole numbers with the same sum in every row."""
    if len(sampled) < 2 or not all(column.is_whole for column in sampled) or len(sampled[0].cells) < FEWEST_ROWS:  # noqa: PLR2004
        return
    rows = set(columns.whole_rows(sampled))
    sums = {sum(row) for row in rows}
    if len(sums) == 1 and len(rows) > 1:
        yield Caution(
            "looks_like_counts",
            f"every row adds up to {sums.pop()}: if columns are classes and cells are counts, "
            f"use {opt.format('counts')}",
        )


def _looks_like_no_counts(sampled: Sequence[Column]) -> Iterator[Caution]:
    """Cautions for whole numbers that are probably ratings (none is 0) or percentages (in steps of few annotations)."""
    if not all(column.is_whole for column in sampled) or len(sampled[0].cells) < FEWEST_ROWS:
        return
    rows = columns.whole_rows(sampled)
    numbers = {number for row in rows for number in row}
    if len(sampled) >= FEWEST_CLASSES and 0 not in numbers:
        yield Caution(
            "looks_like_labels",
            "no cell is 0, so every class was chosen for every item: if each column is an annotator and the cells are "
            f"ratings, use {opt.format('wide')}",
        )
    steps = (n for n in range(2, MOST_STEPS + 1) if numbers <= {round(100 * k / n) for k in range(n + 1)})
    size = next(steps, None)
    if size is not None and all(abs(sum(row) - 100) <= 1 for row in rows):
        yield Caution(
            "looks_like_shares",
            f"every row adds up to 100, as percentages of {size} annotations do: if they are, multiply them by {size} "
            "and divide by 100 to get counts",
        )


def _looks_transposed(broad: _Broad, request: Request) -> Iterator[Caution]:
    """A caution for columns named like items, or people in rows: perhaps rows are annotators."""
    names = [broad.table.columns[p] for p in broad.others]
    people = any(column.is_people for column in columns_at(broad.table, broad.keys).values())
    if request.names(LABEL) or not (people or (len(names) > 1 and all(named_like(name, ITEM_WORDS) for name in names))):
        return
    annotator = f" {opt.annotator(broad.table.columns[broad.keys[0]])}" if broad.keys else ""
    reason = "people in rows" if people else f"columns named like items ({listed(names, 3)})"
    yield Caution(
        "looks_transposed",
        f"{reason}: if each row is an annotator and each column an item, use {opt.format('transposed')}{annotator}",
    )


SEPARATOR = "|"
FEWEST_SWITCHES = 2


def one_hot(table: Table, request: Request) -> Layout:
    """The classes set in a row are its label; several of them form a set."""
    for option, name in (("question", request.question), ("time", request.time)):
        if name is not None:
            raise UsageError(f"{opt[option](name)} is not supported for one-hot tables; leave it out")
    chosen = columns.several(table.columns, request.names(LABEL))
    roles = columns.resolve(table.columns, request.named(), (ITEM, ANNOTATOR, *request.also()), frozenset(chosen))
    if ITEM not in roles.positions:
        raise ColumnError(
            f"{table.name}: no column looks like the item; name it with {opt.item} ({listed(table.columns)})"
        )
    places = request.places(table, roles.positions)
    refuse_few_items(table, places, roles.guessed, None)
    free = table.free(places)
    classes = chosen or [p for p, column in columns_at(table, free).items() if column.is_switch]
    if len(classes) < FEWEST_SWITCHES:
        raise ColumnError(
            f"{table.name}: fewer than two columns hold 0 and 1; name the class columns with {opt.label}, "
            f"or choose another {opt.format} (columns: {listed(table.columns)})"
        )
    needed = [p for positions in (*places.values(), classes) for p in positions]
    frame = table.load(list(dict.fromkeys(needed)))
    row = [ROW] if table.is_ordered else []
    _refuse_other_cells(frame, table, classes, row)
    shown_columns = [joined(positions).alias(role) for role, positions in places.items()]
    labelled = frame.select(*shown_columns, _label(table, classes).alias(LABEL), *row)
    names = {role: " + ".join(table.columns[p] for p in positions) for role, positions in places.items()}
    names[LABEL] = listed([table.columns[p] for p in classes], limit=5)
    aside = [] if chosen else [table.columns[p] for p in free if p not in classes]
    message = f"columns with values other than 0 and 1 were ignored: {listed(aside, limit=8)}"
    cautions = (Caution("columns_aside", message),) if aside else ()
    return Layout(labelled, "one-hot", names, roles.guessed, cautions)


def _text(position: int) -> nw.Expr:
    """The cell as text in lower case; a whole number without decimals."""
    return nw.col(cell(position)).cast(nw.String).str.to_lowercase().str.replace_all(r"\.0$", "")


def _label(table: Table, classes: Sequence[int]) -> nw.Expr:
    """The names of the classes that are on, joined in the order of the columns; null where none is."""
    names = [table.columns[p] for p in classes]
    as_list = any(SEPARATOR in name or name.startswith("[") for name in names)
    written = [json.dumps(name, ensure_ascii=False) if as_list else name for name in names]
    parts = [
        nw.when(_text(p).is_in(ON)).then(nw.lit(SEPARATOR + name)).otherwise(nw.lit(""))
        for p, name in zip(classes, written, strict=True)
    ]
    whole = nw.concat_str(parts).str.slice(1)
    if as_list:
        whole = nw.concat_str([nw.lit("["), whole.str.replace_all('"|"', '","', literal=True), nw.lit("]")])
    return nw.when(whole != ("[]" if as_list else "")).then(whole)


def _refuse_other_cells(frame: nw.LazyFrame[Any], table: Table, classes: Sequence[int], row: Sequence[str]) -> None:
    """Refuse cells other than 0 and 1; an empty cell is 0."""
    for position in classes:
        text = _text(position)
        wrong = frame.filter(~text.is_null(), text != "", ~text.is_in(ON + OFF))
        examples = collected(wrong.select(cell(position), *row).head(SHOWN_PROBLEMS))
        if examples:
            problems = [wrong_cell(table.name, table.columns[position], value, number) for value, *number in examples]
            raise DataError("cells of a one-hot table are 0 or 1; correct them, or name the class columns", problems)
