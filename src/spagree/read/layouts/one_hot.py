"""One annotation per row, one column of 0 and 1 per class."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from spagree.errors import SHOWN_PROBLEMS, ColumnError, DataError, UsageError
from spagree.late import nw
from spagree.read import columns
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, ROW
from spagree.read.contents import OFF, ON, columns_at
from spagree.read.frames import collected
from spagree.read.layouts.advice import refuse_few_items
from spagree.read.layouts.long import joined
from spagree.read.request import Request
from spagree.read.tables import Layout, Table, cell, listed, shown, wrong_cell
from spagree.understood import Caution

SEPARATOR = "|"
FEWEST_CLASSES = 2


def one_hot(table: Table, request: Request) -> Layout:
    """The classes set in a row are its label; several of them form a set."""
    for option, name in (("question", request.question), ("time", request.time)):
        if name is not None:
            raise UsageError(f"--{option} {shown(name)} is not supported for one-hot tables; leave it out")
    chosen = columns.several(table.columns, request.names(LABEL))
    roles = columns.resolve(table.columns, request.named(), (ITEM, ANNOTATOR, *request.also()), frozenset(chosen))
    if ITEM not in roles.positions:
        raise ColumnError(f"{table.name}: no column looks like the item; name it with --item ({listed(table.columns)})")
    places = columns.places(table, request, roles.positions)
    refuse_few_items(table, places, roles.guessed, None)
    free = table.free(places)
    classes = chosen or [p for p, column in columns_at(table, free).items() if column.is_switch]
    if len(classes) < FEWEST_CLASSES:
        raise ColumnError(
            f"{table.name}: fewer than two columns hold 0 and 1; name the class columns with --label, "
            f"or choose another --format (columns: {listed(table.columns)})"
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
