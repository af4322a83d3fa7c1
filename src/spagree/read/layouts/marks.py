"""Marks: tables with a row for each span that somebody marked, and who saw which item.

Who saw an item and marked nothing has no row among the marks. They are known from a table of their own (``seen``), from
rows with empty start and end, or from a tool that exports every submission; otherwise agreement is overstated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars

from spagree.errors import ColumnError, UsageError, listed, opt
from spagree.read.annotations import (
    ANNOTATOR,
    CLUSTER,
    END,
    GROUP,
    ITEM,
    KEY,
    LABEL,
    LENGTH,
    QUOTE,
    ROW,
    START,
    TEXT,
    TIME,
    MarkRows,
    Seen,
    Understood,
    nw,
)
from spagree.read.columns import find, resolve
from spagree.read.frames import collected, frame_table
from spagree.read.layouts.long import joined, timed
from spagree.read.request import Request
from spagree.read.table import Table, cell
from spagree.read.words import plain_name, ranked

MARK, VISIT = (ITEM, ANNOTATOR, START, END, LABEL), (ITEM, ANNOTATOR, LENGTH)
KEYED = (ITEM, ANNOTATOR, LABEL)
OF_VISITS = (CLUSTER, TEXT, TIME, GROUP)


def marks_in(
    table: Table, seen: Table | None, named: Mapping[str, str | None], key: Sequence[str], request: Request
) -> MarkRows:
    """The marks in a table, and who saw what in another; columns that are not ``named`` are guessed.

    The columns of ``key`` together are a mark, instead of a start and an end.
    """
    of_marks = named if seen is None else {**named, **dict.fromkeys(OF_VISITS)}
    rows, understood = _columns(table, KEYED if key else MARK, of_marks, (LABEL, QUOTE, *OF_VISITS), request, key)
    if seen is not None:
        return MarkRows(rows, visits_in(seen, named, request), "given", table.name, understood=understood)
    nothing = rows.filter(*(nw.col(role).is_null() for role in ((KEY,) if key else (START, END)))).head(1)
    how: Seen = "rows" if collected(nothing) else "unknown"
    known = [role for role in OF_VISITS if role in rows.collect_schema().names()]
    visits = rows.select(ITEM, ANNOTATOR, *known) if known else None
    return MarkRows(rows, visits, how, table.name, understood=understood)


def visits_in(table: Table, named: Mapping[str, str | None], request: Request) -> nw.LazyFrame[Any]:
    """Who saw which item, with what is known of it: the text or its length, cluster, time and group."""
    about = (LENGTH, *OF_VISITS)
    own = {role: name for role, name in named.items() if role in about or name in table.columns}
    return _columns(table, (ITEM, ANNOTATOR), own, about, request)[0]


def texts_in(table: Table, named: Mapping[str, str | None], request: Request) -> nw.LazyFrame[Any]:
    """The text of each item."""
    own = {role: name for role, name in named.items() if role == TEXT or name in table.columns}
    return _columns(table, (ITEM, TEXT), own, (), request)[0]


def rows_table(source: Iterable[Any], names: Sequence[str]) -> Table:
    """Rows of Python values, the last of which may be left out."""
    rows = [tuple(row) for row in source]
    width = max(map(len, rows), default=len(names))
    if width > len(names) or any(len(row) != width for row in rows):
        raise UsageError(f"each row is ({', '.join(names)}), the last of which may be left out")
    texts = (ITEM, ANNOTATOR, LABEL, TEXT)
    columns = {
        name: [None if row[place] is None else str(row[place]) if name in texts else row[place] for row in rows]
        for place, name in enumerate(names[:width])
    }
    kinds = {name: polars.String if name in texts else polars.Float64 for name in columns}
    return frame_table(polars.LazyFrame(columns, schema=kinds), "rows")


def _columns(
    table: Table,
    roles: Sequence[str],
    options: Mapping[str, str | None],
    optional: Sequence[str],
    request: Request,
    key: Sequence[str] = (),
) -> tuple[nw.LazyFrame[Any], Understood]:
    """The columns of these roles, under their names, and which they are; guessed where they are not named."""
    guessed = [role for role in (ITEM, ANNOTATOR, LABEL) if role in roles]
    places: dict[str, int] = {}
    for role in (START, END, LENGTH, QUOTE, *OF_VISITS):
        name = options.get(role)
        if name is not None and role in (*roles, *optional):
            places[role] = find(table.columns, name, opt[role])
    plain = {plain_name(name): place for place, name in enumerate(table.columns)}
    if START in roles and not {START, END} & set(places):
        pair = next((pair for pair in ranked("spans") if all(name in plain for name in pair)), ())
        places |= {role: plain[name] for role, name in zip((START, END), pair, strict=False)}
    for role in (LENGTH, TEXT):  # the names of the roles, where the table is there to tell them
        if role in (optional if role == LENGTH else roles) and role not in places and role in plain:
            places[role] = plain[role]
    named = {role: options.get(role) for role in guessed}
    of_key = [find(table.columns, name, opt.mark) for name in key]
    places |= resolve(table.columns, named, guessed, frozenset((*places.values(), *of_key))).positions
    lacking = [role for role in roles if role not in places and role not in optional]
    if lacking:
        which = ", ".join(f"which column is the {role}? Name it with {opt[role]}" for role in lacking)
        raise ColumnError(f"{table.name}: {which} (columns: {listed(table.columns)})")
    frame = table.load(sorted({*places.values(), *of_key}))
    row = [ROW] if ROW in frame.collect_schema().names() else []
    chosen = [role for role in (*roles, *optional) if role in places]
    names = {role: table.columns[places[role]] for role in dict.fromkeys(chosen)}
    wanted = [nw.col(cell(places[role])).alias(role) for role in names]
    if key:  # a row in which all of them are empty is a visit without a mark
        is_mark = nw.any_horizontal(*(~nw.col(cell(place)).is_null() for place in of_key), ignore_nulls=False)
        wanted.append(nw.when(is_mark).then(joined(of_key, missing="")).alias(KEY))
        names[KEY] = " + ".join(table.columns[place] for place in of_key)
    found = frame.select(*wanted, *row)
    found, _ = timed(found, table, names, request, is_guess=False) if TIME in names else (found, ())
    are_guessed = frozenset(role for role in names if role != KEY and options.get(role) is None)
    return found, Understood(table.name, "spans", names, are_guessed)
