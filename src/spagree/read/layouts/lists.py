"""All labels of an item in one cell (--format lists): a list, an object annotator → label, or counts label → n.

Cells are JSON, Python or numpy as text, or values separated by commas; Parquet and data frames may hold real lists.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from spagree.errors import SHOWN_PROBLEMS, DataError, UsageError, Warning, count, opt
from spagree.read import columns
from spagree.read.annotations import ANNOTATOR, COUNT, ITEM, LABEL, ROW, TIME, Annotations, Understood, is_missing, nw
from spagree.read.cells import with_missing
from spagree.read.columns import is_list, plain_text
from spagree.read.frames import collected
from spagree.read.request import EACH_ROW, Request
from spagree.read.table import Table, cell, listed, shown
from spagree.read.words import is_person, words

NUMPY = re.compile(r"\b(?:np\.)?(?:array|str_|float\d+|int\d+)\(((?:[^()]|\([^()]*\))*?)(?:, dtype=[^)]*)?\)")
SIDE_BY_SIDE = re.compile(r"""['"]\s+['"]""")  # as numpy writes texts; Python would join them
WRITTEN = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s,\[\]]+)""")
LISTED = re.compile(r"[^\s,;|]{1,30}([,;|] ?[^\s,;|]{1,30})+|\d{1,3}( \d{1,3})+")  # such as Ann1,Ann2 or 4 5 3
DECIMAL = re.compile(r"-?\d+,\d+")
SEPARATORS = (",", ";", "|", "\t")
MIN_ROWS_OF_SUMS, MIN_ANNOTATIONS, ROUNDING = 5, 3, 0.011


class UnreadableError(ValueError):
    """A cell that is neither a list nor an object."""


def parsed(text: str, separator: str | None = ",") -> Any:
    r"""What a cell holds: a list, or an object.

    >>> parsed('["yes", 1.50, null]'), parsed("['no' 'not sure']"), parsed("[1 2\n 2]"), parsed("0,1,1")
    (['yes', '1.50', None], ['no', 'not sure'], ['1', '2', '2'], ['0', '1', '1'])
    >>> parsed("{'ann': 'yes'}"), parsed("array(['no', None], dtype=object)")
    ({'ann': 'yes'}, ['no', None])
    """
    text = NUMPY.sub(r"\1", text.strip())
    if not text.startswith(("[", "{")):
        return [part.strip() or None for part in text.split(separator)]
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        pass
    if not SIDE_BY_SIDE.search(text):
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            pass
    if not is_list(text) or any(mark in text[1:-1] for mark in "[]{}"):
        raise UnreadableError(text)
    found = ((one or other, bare) for one, other, bare in WRITTEN.findall(text))
    return [None if bare in words("nothing") else bare or quoted for quoted, bare in found]


def parted(column: columns.Sampled) -> list[str]:
    """The values that hold several, one after the other, without brackets; none where they are decimal numbers.

    >>> parted(columns.Sampled(0, "labels", ("yes;no", "4 5 3", "not sure")))
    ['yes;no', '4 5 3']
    >>> parted(columns.Sampled(0, "weight", ("0,5", "1,0", "1,5")))
    []
    """
    found = [value for value in column.values if LISTED.fullmatch(value)]
    if found and all(map(DECIMAL.fullmatch, found)):
        before, after = (set(part) for part in zip(*(value.lstrip("-").split(",") for value in found), strict=True))
        return found if 2 * len(before & after) >= len(before | after) else []
    return found


def listed_values(text: str) -> list[str | None]:
    """The values of a cell that is written like a list, as text; none of any other.

    >>> listed_values("['yes', 2]"), listed_values("[see below")
    (['yes', '2'], [])
    """
    try:
        return [text_of(value) for value in parsed(text)] if is_list(text) else []
    except UnreadableError:
        return []


def inside(value: Any, path: Sequence[str]) -> Any:
    """What is found on a path through objects; of a list or an object of objects, what each has there.

    >>> inside({"a b": {"c.d": [1]}}, ["a b", "c", "d"]), inside([{"label": "x"}, {}], ["label"])
    ([1], ['x', None])
    >>> inside({"ann": {"label": "x", "sure": 2}, "bob": {"label": "y"}}, ["label"])
    {'ann': 'x', 'bob': 'y'}
    """
    if not path:
        return value
    if isinstance(value, list | tuple):
        return [inside(each, path) for each in value]
    if isinstance(value, Mapping):
        for size in range(len(path), 0, -1):
            if (key := ".".join(path[:size])) in value:
                return inside(value[key], path[size:])
        if any(isinstance(part, Mapping) and path[0] in part for part in value.values()):
            return {name: inside(part, path) for name, part in value.items()}
    return None


def text_of(value: Any) -> str | None:
    """A value as the text of a label or a name; several of them as JSON.

    >>> text_of(True), text_of(2), text_of(["a", "b"]), text_of(None)
    ('true', '2', '["a", "b"]', None)
    """
    if isinstance(value, list | tuple | Mapping | bool):
        return json.dumps(value, ensure_ascii=False, default=str)
    return None if is_missing(value) or value == "" else str(value)


@dataclass(frozen=True, slots=True)
class Place:
    """A column, and a path inside its cells."""

    position: int
    path: tuple[str, ...] = ()

    def name(self, table: Table) -> str:
        """As the user writes it."""
        return ".".join((table.columns[self.position], *self.path))

    def found(self, row: Mapping[Any, Any]) -> Any:
        """What a row holds there, as it is written; None where nothing is."""
        value = row[self.position]
        plain = value.tolist() if hasattr(value, "tolist") else value
        if self.path and isinstance(plain, str):
            plain = parsed(plain) if plain.strip() else None
        return None if is_missing(plain) or plain == "" else inside(plain, self.path)

    def values(self, table: Table, rows: Sequence[Mapping[Any, Any]]) -> list[Any]:
        """The lists and objects there; None where nothing is. A cell that cannot be read is refused with its row."""
        values, wrong, separator = [], [], None
        for number, row in enumerate(rows, table.first_row):
            try:
                found = self.found(row)
                if isinstance(found, str):
                    separator = separator or separator_of(
                        each for each in map(self.found, rows) if isinstance(each, str)
                    )
                    found = parsed(found, separator)
                values.append(found)
            except UnreadableError:
                wrong.append(f"row {row.get(ROW, number)}: {shown(row[self.position])}")
        if wrong:
            cells = count(len(wrong), "cell is", "cells are")
            name = shown(table.columns[self.position])
            raise DataError(
                f"{table.name}: {cells} neither a list nor an object in column {name}; write them as JSON",
                wrong[:SHOWN_PROBLEMS],
                len(wrong),
            )
        return values


def separator_of(texts: Iterable[str]) -> str:
    """What stands between the values of most texts.

    >>> separator_of(["a;b", "a", "b;b"]), separator_of(["0 1 1", "1 0 0"]), separator_of(["not sure", "yes"])
    (';', ' ', ',')
    """
    every = list(texts)
    if every and all(re.fullmatch(r"\d+( \d+)*", text) for text in every):
        return " "
    return max(SEPARATORS, key=lambda mark: sum(mark in text for text in every))


def are_parallel(one: columns.Sampled, other: columns.Sampled) -> bool:
    """Whether two columns hold as many values each in every row, and several in most."""
    rows = [(plain_text(a), plain_text(b)) for a, b in columns.rows_of((one, other))]
    is_several = 2 * len(parted(one)) > len(one.values)
    return is_several and all(len(_parts(a)) == len(_parts(b)) for a, b in rows)


def _parts(text: str) -> list[Any]:
    try:
        found = parsed(text, separator_of([text]))
    except UnreadableError:
        return []
    return found if isinstance(found, list) else []


def has_repeats(texts: Iterable[str]) -> bool:
    """Whether texts hold a value twice, as labels of several annotators do, and sets do not.

    >>> has_repeats(["a|b", "a|a"]), has_repeats(["a|b", "c"])
    (True, False)
    """
    every = list(texts)
    mark = separator_of(every)
    return any(len(set(parts)) < len(parts) for parts in (text.split(mark) for text in every))


def place(table: Table, name: str, role: str) -> Place:
    """A column by its name, or the path a.b.c into the objects of column a."""
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        if (beginning := ".".join(parts[:size])) in table.columns:
            return Place(table.columns.index(beginning), tuple(parts[size:]))
    return Place(columns.find(table.columns, name, opt[role]))


def lists(table: Table, request: Request) -> Annotations:
    """One row per item, all labels of the item in one cell."""
    for role in (LABEL, ANNOTATOR):
        if len(request.names(role)) > 1:
            raise UsageError(f"{opt[role]} names several columns; a cell holds all of an item: name one column")
    request.refuse((TIME, "question"), "a cell holds all labels of an item")
    every = columns.columns_at(table, range(len(table.columns))).values()
    nested = frozenset(column.position for column in every if column.is_nested)
    places = {role: [place(table, name, role) for name in request.names(role)] for role in (LABEL, ANNOTATOR, ITEM)}
    for role, taken in ((ITEM, nested), (LABEL, frozenset[int]())):
        if not getattr(request, role):
            places[role] = [Place(p) for p in columns.resolve(table.columns, {}, [role], taken).positions.values()]
    if not places[LABEL]:
        raise DataError(
            f"{table.name}: no column looks like the labels; name it with {opt.label}, as a.b for b inside the "
            f"objects of column a (columns: {listed(table.columns)})"
        )
    keys, (label,), who = places[ITEM], places[LABEL], next(iter(places[ANNOTATOR]), None)
    beside = {role: columns.find(table.columns, request.named()[role], opt[role]) for role in request.also()}
    found_in = [each.position for of_role in places.values() for each in of_role]
    needed = list(dict.fromkeys([*found_in, *beside.values()]))
    row = [ROW] if table.is_ordered else []
    selected = collected(table.load(needed).select(*map(cell, needed), *row))
    rows = [dict(zip([*needed, *row], cells, strict=True)) for cells in selected]
    numbers = [str(each.get(ROW, n)) for n, each in enumerate(rows, 1)]
    items = [" | ".join(text_of(key.found(each)) or "" for key in keys) for each in rows]
    if len(set(items)) < len(items):
        if keys and request.item is not None:
            again, times = Counter(items).most_common(1)[0]
            which = f"{shown(again)} is the item of {count(times, 'row')}"
            raise DataError(f"{table.name}: {which}; if every row is an item: {opt.item(EACH_ROW)}")
        keys, items = [], numbers
    answers = label.values(table, rows)
    kind = _kind(table, label, answers)
    warnings = _warnings(table, label, kind, answers, is_told=request.same_annotators)
    people = who.values(table, rows) if who else [None] * len(rows)
    if request.same_annotators:
        people = _same_annotators(table, who, kind, answers, numbers)
    given: list[tuple[Any, ...]] = []
    for each, number, item, answer, names in zip(rows, numbers, items, answers, people, strict=True):
        more = [text_of(each[p]) for p in beside.values()]
        found = _annotations(table, kind, answer, names, number)
        given += [(item, *annotation, *more, int(number)) for annotation in found]
    if not given:
        raise DataError(f"{table.name}: no row holds a label there; columns: {listed(table.columns)}")
    import polars

    third = COUNT if kind == COUNTS else ANNOTATOR
    schema = {ITEM: str, third: int if kind == COUNTS else str, LABEL: str, **dict.fromkeys(beside, str), ROW: int}
    frame = polars.DataFrame(given, schema=schema, orient="row")
    if third == ANNOTATOR and frame[ANNOTATOR].is_null().all():
        frame = frame.drop(ANNOTATOR)
    understood = {ITEM: " + ".join(key.name(table) for key in keys) or "row number"}
    understood |= {ANNOTATOR: who.name(table)} if who else {ANNOTATOR: "keys"} if kind == BY_ANNOTATOR else {}
    understood |= {LABEL: label.name(table), **{role: table.columns[p] for role, p in beside.items()}}
    guessed = frozenset(role for role in (ITEM, LABEL) if getattr(request, role) is None and keys)
    given_labels = with_missing(nw.from_native(frame.lazy()), request.missing_texts, normalize=request.normalize)
    return Annotations(given_labels, Understood(table.name, "lists", understood, guessed), warnings)


def fields(column: columns.Sampled) -> list[str]:
    """The options that may name the labels in a column of lists or objects, and who gave them."""
    try:
        first = next(iter(map(parsed, column.values)), None)
    except UnreadableError:
        return []
    if isinstance(first, Mapping) and any(isinstance(part, Mapping) for part in first.values()):
        return [opt.label(name) for name in _inner(first, column.name)]
    if not isinstance(first, list) or not first or not isinstance(first[0], Mapping):
        return [opt.label(column.name)]
    leaves = list(_leaves(first[0], column.name))
    names = [leaf.rpartition(".")[2] for leaf in leaves]
    with suppress(DataError):
        roles = columns.resolve(names, {}, (ANNOTATOR, LABEL)).positions
        who = f" {opt.annotator(leaves[roles[ANNOTATOR]])}" if ANNOTATOR in roles else ""
        labels = [roles[LABEL]] if LABEL in roles else [p for p in range(len(names)) if p != roles.get(ANNOTATOR)]
        return [f"{opt.label(leaves[p])}{who}" for p in labels]
    return [opt.label(leaf) for leaf in leaves]


def _inner(value: Mapping[Any, Any], path: str) -> list[str]:
    """What may be the labels in an object of objects: a field called so of each annotator, or one of the objects."""
    fields = {str(name): f"{path}.{name}" for part in value.values() if isinstance(part, Mapping) for name in part}
    with suppress(DataError):
        if role := columns.resolve(list(fields), {}, [LABEL]).positions:
            return [list(fields.values())[role[LABEL]]]
    return [f"{path}.{name}" for name, part in value.items() if isinstance(part, Mapping)]


def _leaves(value: Mapping[Any, Any], path: str) -> Iterator[str]:
    """The paths of all values in an object that are no objects."""
    for name, part in value.items():
        yield from _leaves(part, f"{path}.{name}") if isinstance(part, Mapping) else [f"{path}.{name}"]


MOST_FIELDS = 3  # that are named
LIST, BY_ANNOTATOR, COUNTS = "list", "object annotator → label", "object label → count"


def _kind(table: Table, label: Place, answers: Sequence[Any]) -> str:
    """What the cells hold, the same in all rows; refuses anything else."""
    name, present = label.name(table), [answer for answer in answers if answer is not None]
    holds = f"{table.name}: {shown(name)} holds"
    shapes = Counter(
        "lists" if isinstance(each, list | tuple) else "objects" if isinstance(each, Mapping) else "single values"
        for each in present
    )
    if len(shapes) > 1 or "single values" in shapes:
        found = " and ".join(f"{size:,} {shape}" for shape, size in shapes.items())
        takes = "takes a list of labels, an object annotator → label, or an object label → count in every row"
        raise DataError(f"{holds} {found}; {opt.format('lists')} {takes}")
    if "objects" not in shapes:
        for value in (value for answer in present for value in answer if isinstance(value, Mapping)):
            raise DataError(
                f"{holds} lists of objects with {listed(list(map(str, value)), 8)}; say which of these is the label, "
                f"as in {opt.label(f'{name}.{next(iter(value))}')}"
            )
        return LIST
    for answer in present:
        if any(isinstance(value, Mapping) for value in answer.values()):
            ways = " or ".join(opt.label(each) for each in _inner(answer, name)[:MOST_FIELDS])
            raise DataError(f"{holds} objects of objects; say which hold the labels, as in {ways}")
    are_whole = all(n is None or plain_text(n).isdecimal() for answer in present for n in answer.values())
    are_people = all(is_person(str(key)) for answer in present for key in answer)
    return COUNTS if are_whole and not are_people else BY_ANNOTATOR


def are_shares(rows: Sequence[Sequence[Any]]) -> bool:
    """Whether the numbers of each of several rows add up to 1, and some of them are fractions.

    >>> are_shares([["0.25", "75%"]] * 5), are_shares([["0", "1"]] * 5)
    (True, False)
    """
    try:
        texts = [[text for value in row if (text := plain_text(value))] for row in rows]
        numbers = [[float(text.rstrip("%")) / (100 if text.endswith("%") else 1) for text in row] for row in texts]
    except ValueError:
        return False
    are_even = all(len(row) > 1 and abs(sum(row) - 1) < ROUNDING and min(row) >= 0 for row in numbers)
    return len(rows) >= MIN_ROWS_OF_SUMS and are_even and any(number % 1 for row in numbers for number in row)


def _warnings(table: Table, label: Place, kind: str, answers: Sequence[Any], *, is_told: bool) -> tuple[Warning, ...]:
    """Counts that may be ratings; refuses lists that are counts."""
    name = shown(label.name(table))
    rows = [list(each.values() if isinstance(each, Mapping) else each) for each in answers if each]
    texts = [list(map(plain_text, row)) for row in rows]
    if are_shares(rows):
        raise DataError(
            f"{table.name}: the numbers in {name} add up to 1 in every row, as shares of labels do; name what holds "
            "the labels themselves, or their counts"
        )
    if kind == COUNTS and (len({sum(int(n or 0) for n in row) for row in texts}) > 1 or len(rows) < MIN_ROWS_OF_SUMS):
        message = (
            f"the whole numbers in {name} were taken for how many annotators chose each label; if they are ratings, by "
            "the annotators who are named before them, write one row per rating"
        )
        return (Warning("counts_or_ratings", message),)
    are_lists = kind == LIST and len(rows) >= MIN_ROWS_OF_SUMS and len(set(map(len, rows))) == 1 and len(rows[0]) > 1
    if are_lists and not is_told and all(n.isdecimal() for row in texts for n in row):
        numbers = [tuple(map(int, row)) for row in texts]
        reason = columns.counted_as(numbers)
        if reason and sum(map(sum, numbers)) >= MIN_ANNOTATIONS * len(numbers):
            raise DataError(
                f"{table.name}: the lists in {name} look like counts of classes ({reason}); write them as objects "
                f"label → count, or as a column for each class, and use {opt.format('counts')}; if they are labels, by "
                f"the same annotators: {opt.same_annotators}"
            )
    return ()


def _same_annotators(
    table: Table, who: Place | None, kind: str, answers: Sequence[Any], numbers: Sequence[str]
) -> list[Any]:
    """Annotator 1, 2, … in the order of every list; refused unless all lists are of one length."""
    if who is not None:
        raise UsageError(f"{opt.annotator} says who gave which label; leave {opt.same_annotators} out")
    sizes = {len(answer): number for answer, number in zip(answers, numbers, strict=True) if answer is not None}
    if kind != LIST or len(sizes) > 1:
        lengths = " and ".join(f"{size} (row {number})" for size, number in sorted(sizes.items())[:3])
        found = f"lists have different lengths: {lengths}" if kind == LIST else "cells hold objects, not lists"
        needs = f"{opt.same_annotators} needs lists of one length, one label of each annotator"
        raise DataError(f"{table.name}: {found}; {needs}")
    return [None if answer is None else [str(n) for n in range(1, len(answer) + 1)] for answer in answers]


def _annotations(table: Table, kind: str, answer: Any, people: Any, number: str) -> Iterator[tuple[Any, str | None]]:
    """The annotator, or the count, and the label of each annotation in a cell."""
    if kind == COUNTS:
        counted = ((label, int(plain_text(n) or 0)) for label, n in (answer or {}).items())
        yield from ((n, text_of(label)) for label, n in counted if n)
    elif kind == BY_ANNOTATOR:
        yield from ((str(who), text_of(label)) for who, label in (answer or {}).items())
    else:
        given, names = list(answer or ()), list(people or ())
        if people is not None and len(names) != len(given):
            labels, annotators = count(len(given), "label"), count(len(names), "annotator")
            found = f"row {number}: {labels} and {annotators}"
            raise DataError(f"{table.name}: {found}; write as many of one as of the other")
        yield from zip(map(text_of, names or [None] * len(given)), map(text_of, given), strict=True)
