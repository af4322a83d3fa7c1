"""How annotations are laid out in a table: one per row, or one column per annotator, item or class.

long.py      one annotation per row, perhaps of several questions
broad.py     wide (a column per annotator), transposed (a column per item), counts (a column per class), one-hot
lists.py     all labels of an item in one cell
recognise.py which layout a table has, if its columns leave no doubt, and the commands to choose from if they do
doubts.py    what a table looks like although it was read as something else: refused, or a warning
"""

import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from spagree.errors import ColumnError, Message, Option, SpagreeError, Warning, opt
from spagree.read.annotations import ANNOTATOR, COUNT, ITEM, LABEL, Annotations, text_of
from spagree.read.columns import columns_at, everywhere, plain_text
from spagree.read.files.paths import File
from spagree.read.frames import collected
from spagree.read.layouts.broad import counts, one_hot, transposed, wide
from spagree.read.layouts.lists import lists
from spagree.read.layouts.long import long, several_labels, several_questions
from spagree.read.layouts.recognise import (
    Recognised,
    UndecidedError,
    headless,
    recognised,
    single_labels,
    without_second_header,
)
from spagree.read.request import Request
from spagree.read.table import SHOWN_EXAMPLES, Table

Read = Callable[[Table, Request], Annotations]
FORMATS: Mapping[str, Read] = {
    "long": long,
    "wide": wide,
    "transposed": transposed,
    "counts": counts,
    "one-hot": one_hot,
    "lists": lists,
}

OTHER_LAYOUT = {"looks_like_counts", "looks_like_labels", "looks_like_shares", "looks_like_header"}
MIN_ROWS_OF_LABELS, MANY_EACH = 20, 2  # from so many rows on each label is given so often, on average
NUMBER = re.compile(r"-?\d+(\.\d+)?")
FEW = 20  # different labels; more than half as many as items are names of these


def laid_out(table: Table, read_as: Recognised) -> Annotations:
    """The table in a layout; if none fits, only ways of reading it are suggested that work on its first rows."""
    request, is_long = read_as.request, read_as.format == "long"
    try:
        found = long(table, request, read_as.roles) if is_long else FORMATS[read_as.format](table, request)
    except UndecidedError as refused:
        if not (table.is_whole or table.is_spread):  # what fits is seen better all over the table
            seen = columns_at(table, range(len(table.columns)))
            items = max(seen, key=lambda p: 0 if seen[p].is_text else len(seen[p].values))
            return laid_out(replace(everywhere(table, [items], seen), is_spread=True), read_as)
        ways = _first_working(table, request, refused.ways)
        raise ColumnError("\n  ".join([refused.says, *ways, *refused.others])) from None
    warnings, understood = [*table.warnings, *table.noticed(), *found.warnings], found.understood
    single = single_labels(table, understood.places, request) if is_long else None
    if single is not None and (ways := _first_working(table, request, single[1])):
        warnings.append(Warning("single_labels", "; ".join([single[0], *ways])))
    examples = [tuple(map(text_of, row)) for row in table.sample[:SHOWN_EXAMPLES]]
    if is_long:  # in the order item, annotator, label
        places = [understood.places[role] for role in (ITEM, ANNOTATOR, LABEL) if role in understood.columns]
        whole = [row for row in examples if len(row) == len(table.columns)]
        examples = [tuple(" | ".join(row[p] for p in positions) for positions in places) for row in whole]
    told = replace(
        understood,
        guessed=understood.guessed | read_as.guessed,
        examples=tuple(examples),
        rules=(*table.rules, *read_as.rules),
    )
    return replace(found, understood=told, warnings=(*warnings, *read_as.warnings), watched=table.watched)


def _first_working(table: Table, request: Request, groups: Iterable[Sequence[str]]) -> list[str]:
    """The ways of the first group in which the first rows can be read; one that is refused with what else to say."""
    for likely in groups:
        ways: list[str] = []
        refused: list[str] = []  # which say what to change
        for way in likely:
            given = {option.name: option.values for option in Message(way).parts if isinstance(option, Option)}
            wanted: dict[str, Any] = {name: values for name, values in given.items() if values}
            layout = FORMATS[wanted.pop("format", ["long"])[0]]
            try:
                works = not table.sample or not given or _works(table, layout, request, wanted, "no_header" in given)
            except SpagreeError as other:
                works = layout is counts
                refused += [way] if layout is lists else []
                if type(other) is ColumnError and layout is wide:
                    ways += [f"{hint.marked} {way[way.index(opt.format('wide')) :]}" for hint in other.problems]
            ways += [way] if works else []
        if ways or refused:
            return ways or refused[:1]
    return []


def _works(table: Table, layout: Read, request: Request, wanted: Mapping[str, Any], is_headless: bool) -> bool:
    """Whether somebody can agree with somebody in the first rows, read in a layout with some more options."""
    from spagree.read.files.delimited import TextFile, delimited_copy
    from spagree.read.files.duckdb import text_table

    seen = headless(table) if is_headless else table
    texts = [[plain_text(value) for value in row] for row in seen.sample if len(row) == len(seen.columns)]
    with tempfile.TemporaryDirectory(prefix="spagree-") as folder:
        file = File(delimited_copy(texts, Path(folder)), table.name, "delimited", is_temporary=True)
        opened = TextFile(file, ",", seen.columns, has_header=False, first_row=1, sample=tuple(map(tuple, texts)))
        read = layout(text_table([opened], Path(folder), table.name), replace(request, **wanted))
        if OTHER_LAYOUT & {warning.code for warning in read.warnings}:
            return False
        frame = read.frame
        names = frame.collect_schema().names()
        if COUNT in names:
            return True
        roles = [role for role in (ITEM, LABEL, ANNOTATOR) if role in names]
        rows = [row for row in collected(frame.select(*roles)) if None not in row[:2]]
    has_repeats = len({(item, *who) for item, _, *who in rows}) < len(set(rows)) and ANNOTATOR in roles
    is_settled = not has_repeats or request.duplicates != "error" or read.understood.apart != ""
    return is_settled and _are_answers(rows, layout)


def _are_answers(rows: Sequence[tuple[str, ...]], layout: Read) -> bool:
    """Whether labels occur again, and columns of them do not agree much less than by chance."""
    items: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for item, label, *_ in rows:
        items[item][label] += 1
    labels = sum(items.values(), Counter[str]())
    pairs = sum(given.total() * (given.total() - 1) for given in items.values())
    agreeing = sum(size * (size - 1) for given in items.values() for size in given.values())
    by_chance = sum((size / len(rows)) ** 2 for size in labels.values())
    is_scale = layout is lists and all(map(NUMBER.fullmatch, labels))
    is_few = len(labels) <= FEW or len(labels) < len(items) / 2 or is_scale
    is_repeated = len(rows) < MIN_ROWS_OF_LABELS or (len(rows) >= MANY_EACH * len(labels) and is_few)
    is_better = layout is long or agreeing >= (by_chance - len(rows) ** -0.5) * pairs
    return pairs > 0 and is_repeated and is_better


__all__ = [
    "FORMATS",
    "Recognised",
    "laid_out",
    "recognised",
    "several_labels",
    "several_questions",
    "without_second_header",
]
