"""Columns of a wide table that are not annotators, and cells that are not labels, by what they hold."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, product

from spagree.errors import ColumnError
from spagree.read.annotations import LABEL
from spagree.read.contents import FIGURES, Column, plain_text, rows_of, whole_rows, words_of
from spagree.read.layouts.advice import ANSWER_WORDS, PEOPLE_WORDS, SURELY_PEOPLE, is_person, named_like
from spagree.read.tables import Table, listed, shown
from spagree.understood import Caution

FEWEST_OTHERS = 2
FEWEST_ROWS = 10
FEWEST_APART = 7  # rows in which every other column differs from the majority
NUMBERED = re.compile(r"(.*?)[ ._\-]?\d+")


def caution_annotators(columns: Sequence[Column]) -> Iterator[Caution]:
    """Cautions for columns that may not be annotators of their own, and a value that may stand for no answer."""
    if len(columns) > FEWEST_OTHERS and len(columns[0].cells) >= FEWEST_ROWS:
        yield from _consensus(columns)
        yield from _copies(columns)
        yield from _unassigned(columns)


def _consensus(columns: Sequence[Column]) -> Iterator[Caution]:
    """A caution for the one column that always has the label of most others, while each of these differs now and then.

    With two others it has the label of both where they agree.
    """
    rows = [tuple(map(plain_text, row)) for row in rows_of(columns)]
    apart = [sum(_is_apart(row, place) for row in rows) for place in range(len(columns))]
    followers = [column for column, times in zip(columns, apart, strict=True) if not times]
    if len(followers) == 1 and sorted(apart)[1] >= FEWEST_APART and _is_filled(followers[0], rows):
        name = shown(followers[0].name)
        yield Caution(
            "looks_like_consensus",
            f"column {name} has the label of most other annotators wherever they have one: if it was decided from "
            f"theirs, leave it out: --exclude-annotator {name}",
        )


def _is_apart(row: Sequence[str], place: int) -> bool:
    """Whether a cell differs from the label that more than half of the others have."""
    others = Counter(value for i, value in enumerate(row) if value and i != place)
    if not row[place] or others.total() < FEWEST_OTHERS:
        return False
    label, size = others.most_common(1)[0]
    return 2 * size > others.total() and label != row[place]


def _is_filled(column: Column, rows: Sequence[Sequence[str]]) -> bool:
    """Whether a column has a label wherever two others have."""
    return all(
        plain_text(cell) or sum(map(bool, row)) < FEWEST_OTHERS for cell, row in zip(column.cells, rows, strict=True)
    )


def _copies(columns: Sequence[Column]) -> Iterator[Caution]:
    """A caution for two columns that never differ while each of the others does."""
    cells = {column.name: tuple(map(plain_text, column.cells)) for column in columns}
    for (one, first), (two, second) in combinations(cells.items(), 2):
        others = (labels for name, labels in cells.items() if name not in (one, two))
        if first == second and all(_differing(first, labels) >= FEWEST_APART for labels in others):
            yield Caution(
                "looks_copied",
                f"columns {shown(one)} and {shown(two)} hold the same label in every row: if one is a copy, leave it "
                f"out: --exclude-annotator {shown(two)}",
            )


def _differing(first: Sequence[str], second: Sequence[str]) -> int:
    return sum(bool(one and two and one != two) for one, two in zip(first, second, strict=True))


def _unassigned(columns: Sequence[Column]) -> Iterator[Caution]:
    """A caution for a value that every row holds equally often, as what stands for "not assigned" does."""
    rows = [Counter(map(plain_text, row)) for row in rows_of(columns)]
    values = [value for value in rows[0] if value and len({row[value] for row in rows}) == 1]
    fixed = [value for value in values if rows[0][value] <= len(columns) - FEWEST_OTHERS]
    if len(fixed) == 1 and len({value for row in rows for value in row}) > FEWEST_OTHERS:
        value, times = fixed[0], rows[0][fixed[0]]
        if all(value in column.values for column in columns):
            yield Caution(
                "looks_unassigned",
                f"every row holds {shown(value)} exactly {'once' if times == 1 else f'{times} times'}, as if it stood "
                f"for annotators who were not asked: if it does, use --missing {shown(value)}",
            )


def refuse_repeated_names(table: Table, positions: Sequence[int]) -> None:
    """Refuse as many columns of one name, numbered, as there are others: sure, sure.1 … beside each annotator."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for p in positions:
        match = NUMBERED.fullmatch(table.columns[p])
        groups[match[1] if match else table.columns[p]].append(p)
    again = [group for group in groups.values() if len(group) > 1]
    if len(again) != 1 or 2 * len(again[0]) != len(positions):
        return
    others = [p for p in positions if p not in again[0]]
    names = [table.columns[p] for p in again[0]]
    is_renamed = f"{names[0]}.1" in names  # by pandas; two people may be called Jo and Jo 2
    if all(named_like(name, SURELY_PEOPLE) for name in names) or not (is_renamed or len(names) > FEWEST_OTHERS):
        return
    options = (table.options(LABEL, group[:6]) for group in (others, again[0]))
    raise ColumnError(
        f"{table.name}: {listed(names, 4)} have one name, and there are as many other columns: these look like two "
        f"answers of each annotator; name the columns of one: {' or '.join(options)}"
    )


def refuse_total(table: Table, columns: Sequence[Column]) -> None:
    """Refuse counts of one class beside the number of all annotations."""
    if len(columns) != FEWEST_OTHERS or not all(column.is_whole for column in columns):
        return
    part, whole = sorted(columns, key=lambda column: set(words_of(column.name)) <= FIGURES)
    if set(words_of(whole.name)) <= FIGURES and all(one <= all_ for one, all_ in whole_rows((part, whole))):
        raise ColumnError(
            f"{table.name}: column {shown(whole.name)} counts all annotations, not a class; put the number of those "
            f"other than {shown(part.name)} in its place ({whole.name} minus {part.name})"
        )


def refuse_same_names(table: Table, positions: Sequence[int], what: str) -> None:
    """Refuse two columns of one name, which would be one annotator (or class); engines also ignore case."""
    seen: dict[str, str] = {}
    for name in (table.columns[p] for p in positions):
        if name.casefold() in seen:
            raise ColumnError(
                f"{table.name}: two columns are called {shown(seen[name.casefold()])} and {shown(name)}; "
                f"each {what} needs a unique name (case is ignored)"
            )
        seen[name.casefold()] = name


def refuse_grid(table: Table, positions: Sequence[int]) -> None:
    """Refuse names such as ann1_tone, ann1_topic, ann2_tone, ann2_topic: annotators times questions, or the reverse."""
    pairs = {parts: p for p in positions if all(parts := _parts(table.columns[p]))}
    sides = ({pair[i] for pair in pairs} for i in (0, 1))
    first, last = (sorted(side, key=lambda word: (word not in ANSWER_WORDS, word)) for side in sides)
    if len(first) < 2 or len(last) < 2 or set(pairs) != set(product(first, last)) or len(pairs) < len(positions):  # noqa: PLR2004
        return
    if all(named_like(word, PEOPLE_WORDS) for word in first) and all(word.isdecimal() for word in last):
        return  # expert_1, expert_2, crowd_1 …: annotators of several kinds
    columns_of = {
        tuple(first): [pairs[one, last[0]] for one in first],
        tuple(last): [pairs[first[0], two] for two in last],
    }
    sure = [side for side in columns_of if all(word.isdecimal() or is_person(word) for word in side)]
    hints = [
        f"if {listed(side, 5)} are annotators: {table.options(LABEL, columns_of[side][:6])}"
        for side in sure or columns_of
    ]
    raise ColumnError(
        f"{table.name}: the columns look like annotators times questions ({listed(first, 5)} times {listed(last, 5)}); "
        "name the columns of one question",
        hints,
    )


def _parts(name: str) -> tuple[str, str]:
    """The two parts of a name: before and after its last separator, or its number.

    >>> _parts("ann1_tone"), _parts("fluency 2"), _parts("fluency2"), _parts("Maria")
    (('ann1', 'tone'), ('fluency', '2'), ('fluency', '2'), ('', ''))
    """
    match = re.fullmatch(r"(.+?)[ _.\-]*(\d+)", name) or re.fullmatch(r"(.+)[ _.\-]+([^ _.\-]+)", name)
    return (match[1], match[2]) if match else ("", "")
