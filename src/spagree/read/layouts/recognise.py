"""The layout of a table that is not a list of annotations, if its columns leave no doubt.

If there is doubt, advice.py names the commands to choose from.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spagree.option_names import spelled
from spagree.read import columns, contents
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL
from spagree.read.contents import Column, columns_at
from spagree.read.layouts.advice import consensus_beside, is_item, is_person, refuse_few_items
from spagree.read.request import Request
from spagree.read.tables import Table, listed
from spagree.understood import Caution

FORM_COLUMNS = contents.words("timestamp respondentid collectorid responseid")
MICROSOFT_FORMS = contents.words("id starttime completiontime")
FEWEST_ROWS, FEWEST_ITEMS, FEWEST_PEOPLE = 5, 3, 2
MOST_LABELS = 1 / 3  # distinct labels per cell: more mean measurements
OFTEN_SHARED = 0.5


@dataclass(frozen=True, slots=True)
class Recognised:
    """A layout, the columns it was recognised by, and what the user is told."""

    format: str
    request: Request
    guessed: frozenset[str] = frozenset()
    rules: tuple[str, ...] = ()
    cautions: tuple[Caution, ...] = ()


@dataclass(frozen=True, slots=True)
class _Sight:
    """What is visible before a table is read: the columns with a role, and what the others hold."""

    table: Table
    request: Request
    roles: Mapping[str, int]
    sampled: Mapping[int, Column]

    @property
    def respondents(self) -> int | None:
        """The column of Microsoft Forms that numbers the respondents, who may all be called anonymous."""
        names = {column.plain_name: position for position, column in self.sampled.items()}
        return names["id"] if names.keys() >= MICROSOFT_FORMS and self.request.item is None else None

    def others(self, *roles: str) -> dict[int, Column]:
        """The columns without these roles."""
        taken = {self.roles.get(role) for role in roles}
        return {p: column for p, column in self.sampled.items() if p not in taken}

    def key(self, taken: Collection[int]) -> int | None:
        """The item column, or else the first with a different value in each row."""
        ids = (p for p, column in self.sampled.items() if column.is_id and column.name and p not in taken)
        return self.roles.get(ITEM, next(ids, None))

    def answer(self, format: str, rule: str, key: str, position: int | None, labels: Sequence[int] = ()) -> Recognised:
        """What was recognised, with the columns as the user would have named them."""
        names = self.table.columns
        is_guess = not self.request.names(key)
        guessed: dict[str, Any] = {key: names[position]} if position is not None and is_guess else {}
        labelled: dict[str, Any] = {LABEL: [names[p] for p in labels]} if labels else {}
        rules = (spelled(f"recognised: {rule}; if that is wrong, name the layout with --format"),)
        aside = [names[p] for p in self.sampled if p not in labels and p != position and names[p]] if labels else []
        message = (
            f"columns ignored: {listed(aside, limit=8)}. If they belong to the table, name all columns with --label"
        )
        cautions = (Caution("columns_aside", message),) if aside else ()
        return Recognised(format, replace(self.request, **guessed, **labelled), frozenset(guessed), rules, cautions)


def recognised(table: Table, request: Request) -> Recognised | None:
    """The layout of a table without an item or label column, if only one is possible."""
    if request.names(LABEL) or request.time is not None or request.question is not None:
        return None
    roles = columns.requested(table, request, (ITEM, ANNOTATOR, LABEL)).positions
    is_list = ITEM in roles and LABEL in roles
    if is_list and (ANNOTATOR in roles or not any(map(is_person, table.columns))):
        return None
    text = None if request.text is None else columns.find(table.columns, request.text, "--text")
    link = contents.link_column(table, [roles[ITEM]] if ITEM in roles else [], roles.values())
    sampled = columns_at(table, [p for p in range(len(table.columns)) if p not in (text, link)])
    sight = _Sight(table, request, roles, sampled)
    if is_list:
        return _wide(sight) if sampled[roles[ITEM]].is_id else None
    if sight.respondents is not None and (form := _transposed(sight)):
        return form
    return _one_hot(sight) or _wide(sight) or _transposed(sight) or _counts(sight)


def _one_hot(sight: _Sight) -> Recognised | None:
    """Item, annotator, and columns of 0 and 1 of which exactly one is on in every row."""
    classes = [column for column in sight.others(ITEM, ANNOTATOR).values() if column.is_switch]
    if ITEM not in sight.roles or ANNOTATOR not in sight.roles or len(classes) < FEWEST_PEOPLE:
        return None
    rows = [[str(cell).casefold().removesuffix(".0") for cell in row] for row in contents.rows_of(classes)]
    if len(rows) < FEWEST_ROWS or any(sum(cell in contents.ON for cell in row) != 1 for row in rows):
        return None
    guessed = () if sight.request.item else (ITEM,)
    refuse_few_items(sight.table, {role: [p] for role, p in sight.roles.items()}, guessed, None)
    return sight.answer("one-hot", "one annotation per row, one column of 0 and 1 per class", ITEM, sight.roles[ITEM])


def _wide(sight: _Sight) -> Recognised | None:
    """Columns called annotator 1, rater_2, coderB …, which share their labels with each other and with no others."""
    people = {p: column for p, column in sight.sampled.items() if is_person(column.name) and column.values}
    if len(people) < FEWEST_PEOPLE or any(len(column.cells) < FEWEST_ROWS for column in people.values()):
        return None
    kinds = contents.sort_out(people)
    if kinds.aside or len(kinds.groups) != 1:
        return None
    key = sight.key(people)
    others = {p: column for p, column in sight.sampled.items() if p not in people}
    beside = {p: column for p, column in others.items() if column.values and not column.is_derived}
    if similar := [p for p, column in beside.items() if column.shared(people.values()) >= OFTEN_SHARED]:
        raise consensus_beside(sight.table, key, similar, tuple(people))
    if _are_ratings(beside):
        if LABEL in sight.roles:
            raise consensus_beside(sight.table, key, [sight.roles[LABEL]], tuple(people))
        return None
    return sight.answer("wide", "one row per item, one column per annotator", ITEM, key, tuple(people))


def _are_ratings(columns: Mapping[int, Column]) -> bool:
    """Whether several columns share a few values, as columns of labels do."""
    groups = contents.sort_out(columns).groups
    return any(len(group) > 1 and _are_labels([columns[p] for p in group]) for group in groups)


def _are_labels(sampled: Collection[Column]) -> bool:
    """Whether a few values repeat, and are not numbers beyond any scale."""
    different = set().union(*(column.values for column in sampled))
    cells = sum(sum(column.values.values()) for column in sampled)
    return len(different) <= max(2, MOST_LABELS * cells)


def _transposed(sight: _Sight) -> Recognised | None:
    """A person in every row, and columns that share their labels, as in forms and surveys."""
    if ITEM in sight.roles and sight.respondents is None:
        return None
    person = sight.roles.get(ANNOTATOR) if sight.request.annotator else None
    person = _person(sight) if person is None else person
    person = sight.respondents if person is None else person
    forms = [column for column in sight.sampled.values() if column.plain_name in FORM_COLUMNS]
    kinds = contents.sort_out({p: column for p, column in sight.sampled.items() if p != person}, is_form=True)
    rated = [sight.sampled[p] for p in kinds.rated]
    if len(kinds.groups) != 1 or len(rated) < FEWEST_ITEMS or not _are_labels(rated):
        return None
    if any(column.shared(rated) < OFTEN_SHARED for column in rated):
        return None
    names = [column.name for column in rated]
    sure = person is not None and sight.sampled[person].plain_name not in contents.OTHER_PEOPLE
    if any(map(is_person, names)) or not (sure or forms or (person is not None and all(map(is_item, names)))):
        return None
    nobody = "" if person is not None else "; no column names annotators, so every row is one"
    return sight.answer("transposed", f"one row per annotator, one column per item{nobody}", ANNOTATOR, person)


def _person(sight: _Sight) -> int | None:
    """The column that names a different person in each row."""
    usual = [name for names in contents.PEOPLE for name in names.split()]
    people = [c for c in sight.sampled.values() if c.is_people and c.is_unique and len(c.cells) >= FEWEST_PEOPLE]
    people.sort(key=lambda column: [*usual, column.plain_name].index(column.plain_name))
    return people[0].position if people else None


def _counts(sight: _Sight) -> Recognised | None:
    """Whole numbers that add up to the same number of annotations, two or more, in every row."""
    if ANNOTATOR in sight.roles:
        return None
    others = sight.others(ITEM)
    classes = contents.without_sums({p: column for p, column in others.items() if column.is_whole and column.name})
    if len(classes) < FEWEST_PEOPLE or any(is_person(c.name) or is_item(c.name) for c in classes.values()):
        return None
    rows = contents.whole_rows(classes.values())
    sums = {sum(row) for row in rows}
    if len(rows) < FEWEST_ROWS or len(sums) != 1 or sums <= {0, 1} or len(set(rows)) == 1:
        return None
    if not any(0 in row for row in rows) or (ITEM in sight.roles and not sight.sampled[sight.roles[ITEM]].is_id):
        return None
    if any(column.values and not (column.name or column.is_id) for column in others.values()):
        return None  # a class whose name was lost
    rule = f"one row per item, one column per class, {sums.pop()} annotations in every row"
    return sight.answer("counts", rule, ITEM, sight.key(classes), tuple(classes))
