"""Rows of one item that should perhaps not be compared: rounds, later decisions, swapped sides, parts of a document."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from spagree.read.annotations import ANNOTATOR, COUNT, ITEM, LABEL
from spagree.read.conditions import Condition
from spagree.read.contents import columns_at, plain_name, values_by_item, words, words_of
from spagree.read.layouts.advice import USUAL_ITEMS
from spagree.read.tables import Table, shown
from spagree.understood import Caution

ROUNDS = words("round roundid roundno roundnumber pass phase wave stage iteration cycle attempt runde fase")
ROLES = words("role annotatorrole annotatortype annotationtype type source kind step level") | ROUNDS
DECIDED = tuple(words("adjudic consens gold reconcil arbitrat curator curation reviewe reviewi majority"))
PARTS = words(
    "line lineno linenumber turn turnid turnno frame frameno token tokenid tokenindex position page sentenceno "
    "sentencenumber sentenceindex paragraphno segment section sectionid documentname docname thread threadid topic "
    "story chapter article dialogue conversation modela modelb model1 model2 systema systemb system1 system2"
) | USUAL_ITEMS - {"hit", "task", "question", "prompt"}
SWAPPED = words("swapped isswapped flipped isflipped reversed isreversed swap flip")
SIDES = words("a b 1 2 left right first second one two")
SHARES = words("percent percentage pct share proportion prozent anteil")
SCIENTIFIC = re.compile(r"\d([.,]\d+)?[eE]\+\d\d")
LONG_NUMBER = re.compile(r"\d{15}0{2,}")
OFTEN = 0.5  # of the items with several annotations
AGAIN = 1.5  # annotations of each part of an item
FEWEST_ROWS, FEWEST_SWAPPED = 10, 3


def caution_mixed(
    table: Table, places: Mapping[str, Sequence[int]], chosen: Collection[str], is_guess: bool
) -> Iterator[Caution]:
    """A caution for each reason not to compare annotations of one item, unless --where names the column."""
    if len(table.sample) < FEWEST_ROWS:
        return
    free = [p for p in table.free(places) if table.columns[p] not in chosen]
    varying = {p: values for p in free if (values := _varying(table, places[ITEM], p))}
    decisions = list(_decisions(table, varying))
    yield from decisions or _rounds(table, varying)
    yield from _swapped(table, places, free)
    yield from _rounded(table, places[ITEM])
    if is_guess and COUNT not in places:
        yield from _parts(table, places, list(varying))
    if ANNOTATOR not in places and COUNT not in places:
        yield from _grouped(table, places, free)


def _varying(table: Table, items: Sequence[int], position: int) -> set[str]:
    """The values of a column, if most items with several rows have several of them; otherwise none."""
    if plain_name(table.columns[position]) not in ROLES | PARTS:
        return set()
    rows: defaultdict[str, int] = defaultdict(int)
    for row in table.sample:
        rows[repr([str(row[p]).strip() for p in items if p < len(row)])] += 1
    several = sum(size > 1 for size in rows.values())
    values = values_by_item(table, items, position)
    often = sum(len(of_item) > 1 for of_item in values.values())
    return set().union(*values.values()) if several and often >= OFTEN * several else set()


def _decisions(table: Table, varying: Mapping[int, Collection[str]]) -> Iterator[Caution]:
    """A column says that some of the annotations of an item were decided later."""
    for position in (p for p in varying if plain_name(table.columns[p]) in ROLES):
        values = varying[position]
        marked = sorted(v for v in values if any(word.startswith(DECIDED) for word in words_of(v)))
        if marked and len(marked) < len(values):
            name = table.columns[position]
            options = " ".join(f"--where {shown(str(Condition(name, value, is_equal=False)))}" for value in marked)
            yield Caution(
                "decisions",
                f"column {shown(name)} says that some annotations are later decisions ({shown(marked[0])}), and they "
                f"were counted; to leave them out: {options}",
            )


def _rounds(table: Table, varying: Mapping[int, Collection[str]]) -> Iterator[Caution]:
    """A column of rounds has several values on the same item."""
    for position in (p for p in varying if plain_name(table.columns[p]) in ROUNDS):
        name, first = table.columns[position], min(varying[position])
        yield Caution(
            "mixed_rounds",
            f"column {shown(name)} has several values on one item, so annotations of one are compared with those of "
            f"another; to measure one of them: --where {shown(str(Condition(name, first)))}",
        )


def _swapped(table: Table, places: Mapping[str, Sequence[int]], free: Sequence[int]) -> Iterator[Caution]:
    """Two columns swap their values within items, as the sides of a comparison do: then A is not always the same."""
    flags = [p for p in free if plain_name(table.columns[p]) in SWAPPED]
    if any(len(of_item) > 1 for p in flags for of_item in values_by_item(table, places[ITEM], p).values()):
        name = shown(table.columns[flags[0]])
        yield Caution(
            "sides_swapped",
            f"column {name} says that sides were swapped for some annotations of an item, so one label means different "
            "things; turn their labels round",
        )
        return
    named: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for p in free:
        parts = words_of(table.columns[p])
        if SIDES & set(parts):
            named[tuple("" if part in SIDES else part for part in parts)].append(p)
    for left, right in (group for group in named.values() if len(group) == 2):  # noqa: PLR2004
        columns = columns_at(table, (left, right, *places[LABEL]))
        sides: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        for row in table.sample:
            if len(row) == len(table.columns):
                sides[repr([row[p] for p in places[ITEM]])].add((str(row[left]), str(row[right])))
        both = sum(any(one != two and (two, one) in pairs for one, two in pairs) for pairs in sides.values())
        is_chosen = columns[places[LABEL][0]].values.keys() & columns[left].values.keys()
        if both >= FEWEST_SWAPPED and not is_chosen:
            one, two = shown(table.columns[left]), shown(table.columns[right])
            yield Caution(
                "sides_swapped",
                f"columns {one} and {two} swap their values within {both:,} items, so one label means different "
                f"things; write the chosen value of {one} or {two} into the label",
            )
            return


def _rounded(table: Table, items: Sequence[int]) -> Iterator[Caution]:
    """Ids that a spreadsheet rounded: in scientific notation, or with zeros after the fifteenth digit."""
    values = [value for column in columns_at(table, items).values() for value in column.values]
    rounded = [value for value in values if SCIENTIFIC.fullmatch(value)]
    if len(values) > 1 and all(LONG_NUMBER.fullmatch(value) for value in values):
        rounded = values
    if rounded:
        yield Caution(
            "rounded_ids",
            f"items such as {shown(rounded[0])} look like long numbers that a spreadsheet rounded, so different items "
            "may have become one; use the original file, or store the ids as text",
        )


def _parts(table: Table, places: Mapping[str, Sequence[int]], varying: Sequence[int]) -> Iterator[Caution]:
    """Columns of sentences, lines or texts have several values on one guessed item, each annotated several times."""
    items, more = list(places[ITEM]), list[int]()
    for position in (p for p in varying if plain_name(table.columns[p]) in PARTS):
        parts = table.different([*items, *more, position])
        if len(table.sample) >= AGAIN * parts and parts > table.different([*items, *more]):
            more.append(position)
    if more:
        names = [shown(table.columns[p]) for p in (*items, *more)]
        yield Caution(
            "item_parts",
            f"column {names[len(items)]} has several values on one item ({names[0]}), whose annotations are compared "
            f"with each other; if both identify an item: {' '.join(f'--item {name}' for name in names)}",
        )


def _grouped(table: Table, places: Mapping[str, Sequence[int]], free: Sequence[int]) -> Iterator[Caution]:
    """No item has a label twice, as in a table that was grouped by item and label."""
    rows = len(table.sample)
    if table.different(places[ITEM]) == rows or table.different([*places[ITEM], *places[LABEL]]) < rows:
        return
    columns = columns_at(table, free).values()
    sizes = [column.name for column in columns if column.is_whole and column.plain_name not in SHARES]
    remedy = (
        f"if column {shown(sizes[0])} says how many annotations a row stands for, call it 'count'"
        if len(sizes) == 1
        else "if each row stands for several annotations, add a column 'count' with their number"
    )
    yield Caution("looks_grouped", f"no item has a label twice, as if equal annotations were joined; {remedy}")
