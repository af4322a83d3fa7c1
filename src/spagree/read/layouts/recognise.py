"""The layout of a table that is not a list of annotations, if its columns leave no doubt.

If there is doubt, advice.py names the commands to choose from.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from spagree.read import columns
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL
from spagree.read.contents import (
    DERIVED,
    ON,
    OTHER_PEOPLE,
    PEOPLE,
    Held,
    held_by,
    link_column,
    plain_name,
    sort_out,
    without_sums,
    words,
    words_of,
)
from spagree.read.layouts.advice import consensus_beside, is_item, is_person, refuse_few_items
from spagree.read.layouts.question import Question
from spagree.read.tables import Table, listed
from spagree.understood import Caution

FORM_COLUMNS = words("timestamp respondentid collectorid responseid")
FEWEST_ROWS, FEWEST_ITEMS, FEWEST_PEOPLE = 5, 3, 2
MOST_LABELS = 1 / 3  # distinct labels per cell: more mean measurements
OFTEN_SHARED = 0.5


@dataclass(frozen=True, slots=True)
class Recognised:
    """A layout, the columns it was recognised by, and what the user is told."""

    format: str
    question: Question
    guessed: frozenset[str]
    rule: str
    cautions: tuple[Caution, ...] = ()


@dataclass(frozen=True, slots=True)
class _Sight:
    """What is visible before a table is read: the columns with a role, and what the others hold."""

    table: Table
    question: Question
    roles: Mapping[str, int]
    held: Mapping[int, Held]

    def others(self, *roles: str) -> dict[int, Held]:
        """The columns without these roles."""
        taken = {self.roles.get(role) for role in roles}
        return {p: column for p, column in self.held.items() if p not in taken}

    def answer(self, format: str, rule: str, key: str, position: int | None, labels: Sequence[int] = ()) -> Recognised:
        """What was recognised, with the columns as the user would have named them."""
        names, asked, found = self.table.columns, self.question, frozenset[str]()
        if position is not None and not getattr(asked, key):
            name = (names[position],)
            asked = replace(asked, item=name) if key == ITEM else replace(asked, annotator=name)
            found = frozenset({key})
        asked = replace(asked, label=tuple(names[p] for p in labels)) if labels else asked
        told = f"recognised: {rule}; if that is wrong, name the layout with --format"
        aside = [p for p in self.held if p not in labels and p != position and names[p]] if labels else []
        return Recognised(format, asked, found, told, self._aside(aside))

    def _aside(self, positions: Sequence[int]) -> tuple[Caution, ...]:
        if not positions:
            return ()
        names = listed([self.table.columns[p] for p in positions], limit=8)
        return (
            Caution(
                "columns_aside", f"columns ignored: {names}. If they belong to the table, name all columns with --label"
            ),
        )


def recognised(table: Table, question: Question) -> Recognised | None:
    """The layout of a table without an item or label column, if only one is possible."""
    if question.label or question.time is not None or question.question is not None:
        return None
    further = columns.several(table.columns, (*question.further(ITEM), *question.further(ANNOTATOR)), "--item")
    wanted = (ITEM, ANNOTATOR, LABEL)
    roles = columns.resolve(table.columns, question.named(), wanted, frozenset(further)).positions
    is_list = ITEM in roles and LABEL in roles
    if is_list and (ANNOTATOR in roles or not any(map(is_person, table.columns))):
        return None
    text = None if question.text is None else columns.find(table.columns, question.text, "--text")
    link = link_column(table, [roles[ITEM]] if ITEM in roles else [], roles.values())
    seen = held_by(table, [p for p in range(len(table.columns)) if p not in (text, link)])
    sight = _Sight(table, question, roles, seen)
    if is_list:
        return _wide(sight) if seen[roles[ITEM]].is_id else None
    return _one_hot(sight) or _wide(sight) or _transposed(sight) or _counts(sight)


def _one_hot(sight: _Sight) -> Recognised | None:
    """Item, annotator, and columns of 0 and 1 of which exactly one is on in every row."""
    classes = [column for column in sight.others(ITEM, ANNOTATOR).values() if column.is_switch]
    if ITEM not in sight.roles or ANNOTATOR not in sight.roles or len(classes) < FEWEST_PEOPLE:
        return None
    rows = list(zip(*(column.cells for column in classes), strict=True))
    if len(rows) < FEWEST_ROWS or any(sum(_is_on(cell) for cell in row) != 1 for row in rows):
        return None
    guessed = () if sight.question.item else (ITEM,)
    refuse_few_items(sight.table, {role: [p] for role, p in sight.roles.items()}, guessed, None)
    return sight.answer("one-hot", "one annotation per row, one column of 0 and 1 per class", ITEM, sight.roles[ITEM])


def _is_on(cell: object) -> bool:
    return str(cell).casefold().removesuffix(".0") in ON


def _wide(sight: _Sight) -> Recognised | None:
    """Columns called annotator 1, rater_2, coderB …, which share their labels with each other and with no others."""
    people = {p: column for p, column in sight.held.items() if is_person(column.name) and column.values}
    if len(people) < FEWEST_PEOPLE or any(len(column.cells) < FEWEST_ROWS for column in people.values()):
        return None
    found = sort_out(people)
    beside = {p: column for p, column in sight.held.items() if p not in people}
    if found.aside or len(found.groups) != 1:
        return None
    key = sight.roles.get(ITEM)
    key = key if key is not None else next((p for p, column in beside.items() if column.is_id and column.name), None)
    if _doubtful(beside, people):
        if LABEL in sight.roles:
            raise consensus_beside(sight.table, key, sight.roles[LABEL], tuple(people))
        return None
    return sight.answer("wide", "one row per item, one column per annotator", ITEM, key, tuple(people))


def _doubtful(beside: Mapping[int, Held], people: Mapping[int, Held]) -> bool:
    """Whether another column holds ratings too, or several others hold distinct values, such as labels beside names."""
    left = {p: column for p, column in beside.items() if not set(words_of(column.name)) & DERIVED and column.values}
    if any(column.shared(people.values()) >= OFTEN_SHARED for column in left.values()):
        return True
    return any(len(group) > 1 for group in sort_out(left).groups if _are_labels([left[p] for p in group]))


def _are_labels(held: Collection[Held]) -> bool:
    """Whether a few values repeat, and are not numbers beyond any scale."""
    different = set().union(*(column.values for column in held))
    cells = sum(sum(column.values.values()) for column in held)
    return len(different) <= max(2, MOST_LABELS * cells)


def _transposed(sight: _Sight) -> Recognised | None:
    """A person in every row, and columns that share their labels, as in forms and surveys."""
    if ITEM in sight.roles:
        return None
    person = _person(sight)
    forms = [column for column in sight.held.values() if plain_name(column.name) in FORM_COLUMNS]
    found = sort_out({p: column for p, column in sight.held.items() if p != person}, of_forms=True)
    rated = [sight.held[p] for p in found.rated]
    if len(found.groups) != 1 or len(rated) < FEWEST_ITEMS or not _are_answers(rated):
        return None
    names = [column.name for column in rated]
    sure = person is not None and plain_name(sight.held[person].name) not in OTHER_PEOPLE
    if any(map(is_person, names)) or not (sure or bool(forms) or all(map(is_item, names))):
        return None
    if person is None and not forms:
        return None
    answer = sight.answer("transposed", "one row per annotator, one column per item", ANNOTATOR, person)
    rule = answer.rule if person is not None else f"{answer.rule}; no column names annotators, so every row is one"
    return replace(answer, rule=rule)


def _person(sight: _Sight) -> int | None:
    """The column that names a different person in each row."""
    usual = [name for names in PEOPLE for name in names.split()]
    people = [c for c in sight.held.values() if c.is_people and len(c.values) == len(c.cells) >= FEWEST_PEOPLE]
    people.sort(key=lambda column: [*usual, plain_name(column.name)].index(plain_name(column.name)))
    asked = sight.roles.get(ANNOTATOR) if sight.question.annotator else None
    return asked if asked is not None else next((column.position for column in people), None)


def _are_answers(rated: Sequence[Held]) -> bool:
    """Whether columns hold labels, and each shares most of its values with others."""
    return _are_labels(rated) and all(column.shared(rated) >= OFTEN_SHARED for column in rated)


def _counts(sight: _Sight) -> Recognised | None:
    """Whole numbers that add up to the same number of annotations, two or more, in every row."""
    if ANNOTATOR in sight.roles:
        return None
    key = sight.roles.get(ITEM)
    others = sight.others(ITEM)
    classes = {p: column for p, column in others.items() if column.is_whole and column.name}
    classes = without_sums(classes)
    if len(classes) < FEWEST_PEOPLE or any(is_person(c.name) or is_item(c.name) for c in classes.values()):
        return None
    rows = [tuple(map(int, map(str, row))) for row in zip(*(column.cells for column in classes.values()), strict=True)]
    sums = {sum(row) for row in rows}
    if len(rows) < FEWEST_ROWS or len(sums) != 1 or sums <= {0, 1} or len(set(rows)) == 1:
        return None
    if not any(0 in row for row in rows) or (key is not None and not sight.held[key].is_id):
        return None
    if any(column.values and not (column.name or column.is_id) for column in others.values()):
        return None  # a class whose name was lost
    key = (
        key if key is not None else next((p for p, column in others.items() if column.is_id and p not in classes), None)
    )
    rule = f"one row per item, one column per class, {sums.pop()} annotations in every row"
    return sight.answer("counts", rule, ITEM, key, tuple(classes))
