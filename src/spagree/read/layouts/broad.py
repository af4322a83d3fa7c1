"""Tables with one column per annotator, per item or per class."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from spagree.errors import SHOWN_PROBLEMS, ColumnError, DataError, UsageError, Warning, count, opt
from spagree.read import cells, columns
from spagree.read.annotations import (
    ANNOTATOR,
    CLUSTER,
    COUNT,
    ITEM,
    LABEL,
    LINK,
    ROW,
    TEXT,
    TIME,
    Annotations,
    Understood,
    nw,
)
from spagree.read.columns import columns_at
from spagree.read.frames import collected
from spagree.read.layouts import doubts
from spagree.read.layouts.doubts import BROAD, COUNTS, ONE_HOT, REPEATED, TRANSPOSED, UNSORTED, WIDE, View
from spagree.read.layouts.long import joined, named, renamed
from spagree.read.request import EACH_ROW, Request
from spagree.read.table import Table, cell, listed, shown, wrong_cell
from spagree.read.words import plain_name, ranked, words


def wide(table: Table, request: Request) -> Annotations:
    """One row per item, one column per annotator; an empty cell was not annotated."""
    is_paired = bool(request.names(ANNOTATOR) and request.names(LABEL))
    return _paired(table, request) if is_paired else _broad(table, request, WIDE)


def _paired(table: Table, request: Request) -> Annotations:
    """One row per item, with columns annotator 1, label 1, annotator 2, label 2 …"""
    request.refuse((TIME, "question"), "a row holds several annotations")
    labels, people = (columns.several(table.columns, request.names(role), opt[role]) for role in (LABEL, ANNOTATOR))
    if len(labels) != len(people):
        found = f"{count(len(people), 'column')} of annotators and {count(len(labels), 'column')} of labels"
        raise UsageError(
            f"{table.name}: {found}; in a wide table {opt.annotator} names the columns that say who gave the labels in "
            f"those of {opt.label}: name as many of one as of the other, or none of the annotators"
        )
    roles = request.roles(table, (ITEM, *request.also()), frozenset((*labels, *people)))
    places = {ITEM: (), **roles.places}
    needed = [*labels, *people, *(p for positions in places.values() for p in positions)]
    frame, mixed = cells.in_one_type(table.load(list(dict.fromkeys(needed))), labels)
    pairs = zip(people, labels, strict=True)
    every = [renamed(frame, table, {ITEM: (), ANNOTATOR: [who], LABEL: [label], **places}) for who, label in pairs]
    given = nw.concat(every).filter(~nw.col(LABEL).is_null())
    given = cells.with_missing(given, request.missing_texts, normalize=request.normalize)
    names = {ITEM: "", **named(table, {ANNOTATOR: people, LABEL: labels}, limit=5), **named(table, places)}
    return Annotations(given, Understood(table.name, WIDE, names, roles.guessed & names.keys()), mixed)


def transposed(table: Table, request: Request) -> Annotations:
    """One row per annotator, one column per item, as forms and surveys write it."""
    request.refuse((TEXT, CLUSTER), "every column is one item")
    sizes = Counter(name.casefold() for name in table.columns if name)
    twice = {name for name, size in sizes.items() if size > 1}  # forms often ask the same question about each item
    names = tuple(f"{n} (column {i})" if n.casefold() in twice else n for i, n in enumerate(table.columns, 1))
    layout = _broad(replace(table, columns=names), request, TRANSPOSED)
    if not twice:
        return layout
    message = f"{sum(sizes[name] for name in twice)} columns have the same name as another and were numbered"
    return replace(layout, warnings=(*layout.warnings, Warning("columns_numbered", message)))


def counts(table: Table, request: Request) -> Annotations:
    """One row per item, one column per class; each cell says how many annotators chose the class."""
    return _broad(table, request, COUNTS)


def _broad(table: Table, request: Request, layout: str) -> Annotations:
    """One row per cell, which holds a label or a count, under the name of its column."""
    key, variable, value = {
        WIDE: (ITEM, ANNOTATOR, LABEL),
        TRANSPOSED: (ANNOTATOR, ITEM, LABEL),
        COUNTS: (ITEM, LABEL, COUNT),
    }[layout]
    view, warnings = _view(table, request, layout, key)
    places, compared = {key: (), **view.places}, view.compared
    if layout == WIDE and request.duplicates == "error":
        doubts.refuse(replace(view, stage=REPEATED))
    frame = table.load(list(dict.fromkeys([*compared, *(p for positions in places.values() for p in positions)])))
    if layout == COUNTS and not table.is_text:
        cells.refuse_text_counts(frame, table, compared)
    if layout != COUNTS or not table.is_text:
        frame, mixed = cells.in_one_type(frame, compared)
        warnings += mixed if layout != COUNTS else ()
    prepared = frame.with_columns(joined(positions).alias(role) for role, positions in places.items())
    kept = [key, *([ROW] if table.is_ordered else []), *(role for role in places if role != key)]
    rows = cells.unpivoted(prepared, kept, {cell(p): table.columns[p] for p in compared}, variable, value)
    if layout == COUNTS:
        rows = cells.whole_counts(rows, table)
    else:  # an empty cell is not an annotation
        given = rows.filter(~nw.col(LABEL).is_null())
        rows = cells.with_missing(given, request.missing_texts, normalize=request.normalize)
    names = {**named(table, places), **named(table, {variable: compared}, limit=5)}
    names = {role: names[role] for role in (*(r for r in (ITEM, ANNOTATOR, LABEL) if r in names), *places)}
    guessed = frozenset({LINK, *([] if request.names(key) else [key])} & view.places.keys())
    apart = doubts.apart_rows(table, places[key]) if layout == WIDE else ""
    understood = Understood(table.name, layout, names, guessed, apart=apart)
    return Annotations(rows, understood, warnings + doubts.warnings(view))


def _view(table: Table, request: Request, layout: str, key: str) -> tuple[View, tuple[Warning, ...]]:
    """Which columns identify a row, and which hold annotators, items or classes; warnings list the others."""
    what = BROAD[layout]
    if key == ANNOTATOR and request.each_row:
        reason = "every row is an annotator here, and every column an item"
        raise UsageError(f"{opt.item(EACH_ROW)}: {reason}; leave it out")
    request.refuse((ANNOTATOR if key == ITEM else ITEM, TIME, "question"), f"every column is one {what}")
    chosen = columns.several(table.columns, request.names(LABEL))
    beside = {role: columns.find(table.columns, request.named()[role], opt[role]) for role in request.also()}
    first = _key(table, request, key, frozenset(beside.values()))
    if first is not None and first in chosen:
        if request.names(key):
            name = shown(request.names(key)[0])
            raise ColumnError(f"column {name} was given for {opt[key]} and for {opt.label}; name it once")
        first = None
    further = columns.several(table.columns, request.names(key)[1:], opt[key])
    keys = () if first is None else (first, *further)
    if not keys and not table.is_ordered:
        raise ColumnError(f"{table.name}: rows have no order here; name the {key} column with {opt[key]}")
    link = columns.link_column(table, keys, (*keys, *beside.values(), *chosen)) if key == ITEM else None
    beside |= {} if link is None else {LINK: link}
    places = {**({key: keys} if keys else {}), **{role: (place,) for role, place in beside.items()}}
    view = View(table, layout, places, tuple(chosen), () if chosen else (LABEL,), request)
    aside: tuple[Warning, ...] = ()
    if not chosen:
        compared, aside = _sorted(view)
        view = replace(view, compared=tuple(compared))
    if not view.compared:
        raise ColumnError(f"{table.name}: no {what} columns besides the {key}; columns: {listed(table.columns)}")
    doubts.refuse(view)
    return view, aside


def _key(table: Table, request: Request, key: str, taken: frozenset[int]) -> int | None:
    """The first column that identifies a row: named, or guessed by its name; in forms also by what it holds."""
    if key == ITEM and request.each_row:
        return None
    if key == ITEM or request.names(key):
        return columns.resolve(table.columns, request.named(), [key], taken).positions.get(key)
    for names in ranked("people"):
        hits = [i for i, column in enumerate(table.columns) if plain_name(column) in names]
        if len(hits) == 1:
            return hits[0]
    return None


def _sorted(view: View) -> tuple[Sequence[int], tuple[Warning, ...]]:
    """The columns to compare, judged by their contents; warnings list the others."""
    table, what = view.table, BROAD[view.layout]
    taken = {p for positions in view.places.values() for p in positions}
    # The index that pandas writes has no name.
    every = [p for p in view.free() if not table.columns[p].startswith("Unnamed: ")]
    rest = [p for p in range(len(table.columns)) if p not in taken and p not in every]
    unnamed = columns_at(table, rest).values()
    lost = [str(each.position + 1) for each in unnamed if 0 < len(each.values) < len(each.cells)]  # no row numbers
    unsorted = replace(view, compared=tuple(every), stage=UNSORTED)
    doubts.refuse(unsorted)
    sampled = dict(zip(every, unsorted.ratings, strict=True))
    rated, aside = every, dict[int, str]()
    if view.layout == COUNTS:
        numbers = {p: column for p, column in sampled.items() if any(map(NUMBER.fullmatch, column.values))}
        rated = list(columns.without_sums(numbers))
        aside = {p: "not one of the counts" if p in numbers else "no numbers" for p in every if p not in rated}
    elif len(every) > 1:
        kinds = columns.sort_out(sampled, is_form=view.layout == TRANSPOSED)
        if len(kinds.groups) > 1:  # they answer different questions, unless nobody ever agreed
            groups = " | ".join(view.named(group, 6) for group in kinds.groups[:4])
            raise ColumnError(
                f"{table.name}: these groups of columns share no value, so they do not answer the same question: "
                f"{groups}; name the {what} columns that belong together, e.g. {table.options(LABEL, kinds.rated[:6])}"
            )
        has_key = not {ITEM, ANNOTATOR}.isdisjoint(view.places)
        ids = [p for p in kinds.rated if has_key and sampled[p].is_id]
        ids = ids if len(ids) < len(kinds.rated) else []
        aside = {**kinds.aside, **dict.fromkeys(ids, "a different value in each row")}
        rated = [p for p in kinds.rated if p not in aside]
    reasons: defaultdict[str, list[int]] = defaultdict(list)
    for position, reason in aside.items():
        reasons[reason].append(position)
    named_aside = "; ".join(f"{view.named(positions, 8)} ({reason})" for reason, positions in reasons.items())
    messages = [
        f"columns that do not look like one {what} each were ignored: {named_aside}. If they are, name every {what} "
        f"column with {opt.label}",
        f"columns without a name were ignored (column {', '.join(lost[:8])}): give each {what} a name in the header",
    ]
    found = [message for message, is_so in zip(messages, (aside, lost), strict=True) if is_so]
    return rated, tuple(Warning("columns_aside", message) for message in found)


NUMBER = re.compile(r"-*\d*\.?\d+|-*\d+\.")
SEPARATOR = "|"
FEWEST_SWITCHES = 2


def one_hot(table: Table, request: Request) -> Annotations:
    """The classes set in a row are its label; several of them form a set."""
    request.refuse(("question", TIME, *([ITEM] if request.each_row else [])), "a row is one annotation of an item")
    chosen = columns.several(table.columns, request.names(LABEL))
    roles = request.roles(table, (ITEM, ANNOTATOR, *request.also()), frozenset(chosen))
    if ITEM not in roles.positions:
        raise ColumnError(
            f"{table.name}: no column looks like the item; name it with {opt.item} ({listed(table.columns)})"
        )
    places = roles.places
    doubts.refuse(View(table, ONE_HOT, places, guessed=roles.guessed))
    free = table.free(places)
    switches = {p: column for p, column in columns_at(table, free).items() if column.is_switch}
    classes = chosen or list(columns.without_flags(switches))
    if len(classes) < FEWEST_SWITCHES:
        raise ColumnError(
            f"{table.name}: fewer than two columns hold 0 and 1; name the class columns with {opt.label}, "
            f"or choose another {opt.format} (columns: {listed(table.columns)})"
        )
    needed = [p for positions in (*places.values(), classes) for p in positions]
    frame = table.load(list(dict.fromkeys(needed)))
    row = [ROW] if table.is_ordered else []
    for place in classes:  # an empty cell is 0
        wrong = frame.filter(~_text(place).is_null(), _text(place) != "", ~_text(place).is_in(words("on", "off")))
        if examples := collected(wrong.select(cell(place), *row).head(SHOWN_PROBLEMS)):
            problems = [wrong_cell(table.name, table.columns[place], value, number) for value, *number in examples]
            raise DataError("cells of a one-hot table are 0 or 1; correct them, or name the class columns", problems)
    about = [joined(positions).alias(role) for role, positions in places.items()]
    labelled = frame.select(*about, _label(table, classes).alias(LABEL), *row)
    names = {**named(table, places), **named(table, {LABEL: classes}, limit=5)}
    aside = [] if chosen else [table.columns[p] for p in free if p not in classes]
    message = (
        f"columns with values other than 0 and 1, or with flags, were ignored: {listed(aside, limit=8)}. If they are "
        f"classes, name every class column with {opt.label}"
    )
    warnings = (Warning("columns_aside", message),) if aside else ()
    return Annotations(labelled, Understood(table.name, ONE_HOT, names, roles.guessed), warnings)


def _text(position: int) -> nw.Expr:
    """The cell as text in lower case; a whole number without decimals."""
    return nw.col(cell(position)).cast(nw.String).str.to_lowercase().str.replace_all(r"\.0$", "")


def _label(table: Table, classes: Sequence[int]) -> nw.Expr:
    """The names of the classes that are on, joined in the order of the columns; null where none is."""
    names = [table.columns[p] for p in classes]
    as_list = any(SEPARATOR in name or name.startswith("[") for name in names)
    written = [json.dumps(name, ensure_ascii=False) if as_list else name for name in names]
    parts = [
        nw.when(_text(p).is_in(words("on"))).then(nw.lit(SEPARATOR + name)).otherwise(nw.lit(""))
        for p, name in zip(classes, written, strict=True)
    ]
    whole = nw.concat_str(parts).str.slice(1)
    if as_list:
        whole = nw.concat_str([nw.lit("["), whole.str.replace_all('"|"', '","', literal=True), nw.lit("]")])
    return nw.when(whole != ("[]" if as_list else "")).then(whole)
