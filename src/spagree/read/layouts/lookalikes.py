"""Tables that look like lists of annotations but are not: refused, with what to do instead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from spagree.errors import ColumnError, DataError
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL
from spagree.read.contents import columns_at, plain_name, words
from spagree.read.tables import Table, listed, shown

FEW_ROWS = 20
FEWEST_ITEMS, NEARLY = 10, 0.8
OTHERWISE = words("response answer judgement judgment annotation")  # a model's answer, or the number of an annotation
SPANS = (("start", "end"), ("begin", "end"), ("from", "to"), ("startoffset", "endoffset"), ("startchar", "endchar"),
         ("spanstart", "spanend"), ("startindex", "endindex"), ("startposition", "endposition"), ("startpos", "endpos"),
         ("beginoffset", "endoffset"), ("offsetstart", "offsetend"), ("startidx", "endidx"), ("tokenstart", "tokenend"),
         ("starttoken", "endtoken"), ("charstart", "charend"), ("onset", "offset"))  # fmt: skip
BOXES = (("x", "y", "w", "h"), ("x", "y", "width", "height"), ("left", "top", "width", "height"),
         ("xmin", "ymin", "xmax", "ymax"), ("x1", "y1", "x2", "y2"), ("bboxx", "bboxy", "bboxw", "bboxh"))  # fmt: skip
MOST_OFFSET = 1e8  # larger numbers are times, not places in a text


def refuse_marks(table: Table, places: Mapping[str, Sequence[int]]) -> None:
    """Refuse spans and boxes: columns of positions that vary within an item."""
    plain = {plain_name(name): p for p, name in enumerate(table.columns)}
    items = places[ITEM]
    for what, shapes in (("spans", SPANS), ("boxes", BOXES)):
        for names in shapes:
            marks = [plain[name] for name in names if name in plain]
            if len(marks) < len(names):
                continue
            is_free = set(marks) <= set(table.free(places))
            is_varying = table.different([*items, *marks]) > table.different(items)
            if is_varying and (what == "boxes" or (is_free and _are_spans(table, items, *marks))):
                raise DataError(
                    f"{table.name}: columns {listed([table.columns[p] for p in marks])} mark {what}, but spagree "
                    f"measures agreement on classes; to compare {what}, use a measure made for {what}"
                )


def _are_spans(table: Table, items: Sequence[int], start: int, end: int) -> bool:
    """Whether these are numbers, each start before its end, that differ between the rows of an item."""
    spans: dict[tuple[object, ...], set[tuple[float, float]]] = {}
    for row in table.sample:
        try:
            span = (float(str(row[start])), float(str(row[end])))
        except (ValueError, IndexError):
            if row[start : start + 1] in ((None,), ("",), ()):
                continue
            return False
        if span[0] > span[1] or span[1] > MOST_OFFSET:
            return False
        spans.setdefault(tuple(row[p] for p in items), set()).add(span)
    return any(len(of_item) > 1 for of_item in spans.values())


def refuse_nested(table: Table, places: Mapping[str, Sequence[int]]) -> None:
    """Refuse labels that are JSON objects (a tool's whole answers), or lists of all labels of an item."""
    column = columns_at(table, places[LABEL])[places[LABEL][0]] if table.sample else None
    if column is None or not column.values:
        return
    first = shown(next(iter(column.values)))
    if all(map(is_object, column.values)):
        raise DataError(
            f"{table.name}: column {shown(column.name)} holds objects, such as {first}, not labels; write the field "
            "that is the label into a separate column"
        )
    is_one_each = len(table.sample) >= FEW_ROWS and table.different(places[ITEM]) == len(table.sample)
    if ANNOTATOR not in places and is_one_each and all(map(is_list, column.values)):
        raise DataError(
            f"{table.name}: one row per item, and column {shown(column.name)} holds lists, such as {first}; if these "
            "are the labels of several annotators, write one row per label (in pandas: explode)"
        )


def refuse_item_text(table: Table, places: Mapping[str, Sequence[int]]) -> None:
    """Refuse a guessed label that is part of the item, if its name allows that: nearly all values are different."""
    label, items, rows = places[LABEL], places[ITEM], len(table.sample)
    name = plain_name(table.columns[label[0]])
    if name not in {*OTHERWISE, "value"} or table.different(items) < FEWEST_ITEMS:
        return
    few, values = table.different(items), table.different(label)
    is_one_each = table.different([*items, *label]) == few < rows and values > NEARLY * few
    is_text = name in OTHERWISE and rows >= FEW_ROWS and values > NEARLY * rows
    if is_one_each or is_text:
        where = "for each item, the same from all its annotators" if is_one_each else "in nearly every row"
        raise ColumnError(
            f"{table.name}: column {shown(table.columns[label[0]])} has a different value {where}, so it does "
            f"not look like the label; name the column of the label with --label (columns: "
            f"{listed(table.columns)})"
        )


def refuse_side_by_side(table: Table, places: Mapping[str, Sequence[int]]) -> None:
    """Refuse one row per item with several label columns: label, label.1 … as pandas calls repeated columns."""
    (label,), items = places[LABEL], places[ITEM]
    again = re.compile(re.escape(table.columns[label]) + r"[._ ]?\d+", re.IGNORECASE)
    more = [p for p in table.free(places) if again.fullmatch(table.columns[p])]
    columns = columns_at(table, [label, *more]) if table.sample else {}
    if not any(columns[p].shared([columns[label]]) for p in more) or table.different(items) < len(table.sample):
        return
    raise ColumnError(
        f"{table.name}: one row per item, and several columns of labels "
        f"({listed([column.name for column in columns.values()])}); to compare them: --format wide "
        f"{table.options(ITEM, items)} {table.options(LABEL, columns)}; to know who gave which label, write one row "
        "per label"
    )


def is_list(text: str) -> bool:
    """Whether a text is written like a list.

    >>> is_list('["yes", "no"]'), is_list("yes")
    (True, False)
    """
    return text.startswith("[") and text.endswith("]")


def is_object(text: str) -> bool:
    """Whether a text is a JSON object or a list of them.

    >>> is_object('{"a": 1}'), is_object('{"'), is_object('[{"a": 1}]')
    (True, False, True)
    """
    return (text.startswith('{"') and text.endswith("}")) or (text.startswith('[{"') and text.endswith("}]"))
