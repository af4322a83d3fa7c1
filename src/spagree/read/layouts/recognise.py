"""The layout of a table that is not a list of annotations, if its columns leave no doubt; else the commands to try."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from spagree.errors import ColumnError, count
from spagree.late import nw
from spagree.messages import opt
from spagree.read import columns
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, ROW
from spagree.read.columns import (
    COMMON_NAMES,
    OTHER_PEOPLE,
    Column,
    Roles,
    columns_at,
    is_list,
    is_object,
    plain_name,
    plain_text,
    rows_of,
    sort_out,
    whole_rows,
    without_sums,
    words,
    words_of,
)
from spagree.read.request import Request
from spagree.read.table import Table, listed, shown
from spagree.understood import Caution

FORM_COLUMNS = columns.words("timestamp respondentid collectorid responseid")
MICROSOFT_FORMS = columns.words("id starttime completiontime")
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
        rules = (f"recognised: {rule}; if that is wrong, name the layout with {opt.format}",)
        aside = [names[p] for p in self.sampled if p not in labels and p != position and names[p]] if labels else []
        message = (
            f"columns ignored: {listed(aside, limit=8)}. If they belong to the table, name all columns with {opt.label}"
        )
        cautions = (Caution("columns_aside", message),) if aside else ()
        return Recognised(format, replace(self.request, **guessed, **labelled), frozenset(guessed), rules, cautions)


def recognised(table: Table, request: Request) -> Recognised | None:
    """The layout of a table without an item or label column, if only one is possible."""
    if request.names(LABEL) or request.time is not None or request.question is not None:
        return None
    roles = request.roles(table, (ITEM, ANNOTATOR, LABEL)).positions
    has_annotations = ITEM in roles and LABEL in roles
    if has_annotations and (ANNOTATOR in roles or not any(map(is_person, table.columns))):
        return None
    text = None if request.text is None else columns.find(table.columns, request.text, opt.text)
    link = columns.link_column(table, [roles[ITEM]] if ITEM in roles else [], roles.values())
    sampled = columns_at(table, [p for p in range(len(table.columns)) if p not in (text, link)])
    sight = _Sight(table, request, roles, sampled)
    if has_annotations:
        return _wide(sight) if sampled[roles[ITEM]].is_id else None
    if sight.respondents is not None and (form := _transposed(sight)):
        return form
    return _one_hot(sight) or _wide(sight) or _transposed(sight) or _counts(sight)


def _one_hot(sight: _Sight) -> Recognised | None:
    """Item, annotator, and columns of 0 and 1 of which exactly one is on in every row."""
    classes = [column for column in sight.others(ITEM, ANNOTATOR).values() if column.is_switch]
    if ITEM not in sight.roles or ANNOTATOR not in sight.roles or len(classes) < FEWEST_PEOPLE:
        return None
    rows = [[str(cell).casefold().removesuffix(".0") for cell in row] for row in columns.rows_of(classes)]
    if len(rows) < FEWEST_ROWS or any(sum(cell in columns.ON for cell in row) != 1 for row in rows):
        return None
    guessed = () if sight.request.item else (ITEM,)
    refuse_few_items(sight.table, {role: [p] for role, p in sight.roles.items()}, guessed, None)
    return sight.answer("one-hot", "one annotation per row, one column of 0 and 1 per class", ITEM, sight.roles[ITEM])


def _wide(sight: _Sight) -> Recognised | None:
    """Columns called annotator 1, rater_2, coderB …, which share their labels with each other and with no others."""
    people = {p: column for p, column in sight.sampled.items() if is_person(column.name) and column.values}
    if len(people) < FEWEST_PEOPLE or any(len(column.cells) < FEWEST_ROWS for column in people.values()):
        return None
    kinds = columns.sort_out(people)
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


def _are_ratings(sampled: Mapping[int, Column]) -> bool:
    """Whether several columns share a few values, as columns of labels do."""
    groups = columns.sort_out(sampled).groups
    return any(len(group) > 1 and _are_labels([sampled[p] for p in group]) for group in groups)


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
    kinds = columns.sort_out({p: column for p, column in sight.sampled.items() if p != person}, is_form=True)
    rated = [sight.sampled[p] for p in kinds.rated]
    if len(kinds.groups) != 1 or len(rated) < FEWEST_ITEMS or not _are_labels(rated):
        return None
    if any(column.shared(rated) < OFTEN_SHARED for column in rated):
        return None
    names = [column.name for column in rated]
    sure = person is not None and sight.sampled[person].plain_name not in columns.OTHER_PEOPLE
    if any(map(is_person, names)) or not (sure or forms or (person is not None and all(map(is_item, names)))):
        return None
    nobody = "" if person is not None else "; no column names annotators, so every row is one"
    return sight.answer("transposed", f"one row per annotator, one column per item{nobody}", ANNOTATOR, person)


def _person(sight: _Sight) -> int | None:
    """The column that names a different person in each row."""
    usual = [name for names in columns.PEOPLE for name in names.split()]
    people = [c for c in sight.sampled.values() if c.is_people and c.is_unique and len(c.cells) >= FEWEST_PEOPLE]
    people.sort(key=lambda column: [*usual, column.plain_name].index(column.plain_name))
    return people[0].position if people else None


def _counts(sight: _Sight) -> Recognised | None:
    """Whole numbers that add up to the same number of annotations, two or more, in every row."""
    if ANNOTATOR in sight.roles:
        return None
    others = sight.others(ITEM)
    classes = columns.without_sums({p: column for p, column in others.items() if column.is_whole and column.name})
    if len(classes) < FEWEST_PEOPLE or any(is_person(c.name) or is_item(c.name) for c in classes.values()):
        return None
    rows = columns.whole_rows(classes.values())
    sums = {sum(row) for row in rows}
    if len(rows) < FEWEST_ROWS or len(sums) != 1 or sums <= {0, 1} or len(set(rows)) == 1:
        return None
    if not any(0 in row for row in rows) or (ITEM in sight.roles and not sight.sampled[sight.roles[ITEM]].is_id):
        return None
    if any(column.values and not (column.name or column.is_id) for column in others.values()):
        return None  # a class whose name was lost
    rule = f"one row per item, one column per class, {sums.pop()} annotations in every row"
    return sight.answer("counts", rule, ITEM, sight.key(classes), tuple(classes))


ITEM_WORDS = words(
    "q question item image img picture photo doc document text sentence sample task unit video clip case tweet "
    "comment post passage example instance snippet story dialogue pair response"
)
PEOPLE_WORDS = words(
    "annotator ann anno rater coder judge worker labeler labeller expert reviewer annot grader evaluator r a"
)
SURELY_PEOPLE = PEOPLE_WORDS - {"r", "a"}  # r and a may also stand for response and answer
ANSWER_WORDS = words("label labels rating score answer annotation judgement judgment class category code vote")
FEW_ITEMS, FEW_ROWS = 20, 20
FEWEST_SHARES, ROUNDING = 5, 0.011
PANDAS = "pandas frame"
MOST_TRIED = 8  # columns that may be the item or the annotator
SURELY_ITEMS = words("item itemid")
USUAL_ITEMS, USUAL_PEOPLE = (words(" ".join(COMMON_NAMES[role])) for role in (ITEM, ANNOTATOR))


def named_like(name: str, words: Collection[str]) -> bool:
    """Whether a name is one of the words, alone or with a number.

    >>> named_like("Image 12", ITEM_WORDS), named_like("imagery", ITEM_WORDS), named_like("rater_a", PEOPLE_WORDS)
    (True, False, True)
    """
    parts = words_of(name)
    rest = [word for word in parts if word not in words]
    return 0 < len(parts) > len(rest) and all(word.isdigit() or len(word) == 1 for word in rest)


def is_person(name: str) -> bool:
    """Whether a column is named like an annotator.

    >>> is_person("Annotator 1"), is_person("rater_b_label"), is_person("coder2"), is_person("ann1_tone")
    (True, True, True, False)
    """
    rest = [word for word in words_of(name) if word not in ANSWER_WORDS]
    return len(rest) > 1 and named_like(" ".join(rest), SURELY_PEOPLE)


def is_item(name: str) -> bool:
    """Whether a column is named like an item: image_3, or a question.

    >>> is_item("Image 3"), is_item("Is this rude?"), is_item("Rate [Image 3]"), is_item("Maria")
    (True, True, True, False)
    """
    return named_like(name, ITEM_WORDS) or name.rstrip().endswith(("?", "]"))


def consensus_beside(table: Table, item: int | None, others: Sequence[int], people: Sequence[int]) -> ColumnError:
    """The error for columns that hold labels beside columns of annotators: a consensus, or more annotators."""
    names = table.columns
    key = "" if item is None else f" {opt.item(names[item])}"
    may_be = "their consensus or another annotator" if len(others) == 1 else "a consensus, predictions or annotators"
    return ColumnError(
        f"{table.name}: one row per item, and columns named like annotators beside "
        f"{listed([names[p] for p in others], 4)}, which may be {may_be}; name those to compare: "
        f"{opt.format('wide')}{key} {table.options(LABEL, people)}"
    )


def unknown_columns(table: Table, lacking: Sequence[str], roles: Roles) -> ColumnError:
    """The error if nothing fits: lists the columns, and names the command that probably works."""
    options = " and ".join(opt[role] for role in lacking)
    hints = _layouts(table, roles) if LABEL in lacking or len(table.columns) > len(lacking) + 1 else []
    hints.append(f"name the column of the {' and of the '.join(lacking)} with {options}")
    hints += _header_hints(table)
    if table.name == PANDAS and len(table.columns) <= len(lacking) + 1:
        hints.append("if the index holds them: frame.reset_index()")
    hints += [caution.message for caution in table.cautions]
    wanted = " or the ".join(lacking)
    return ColumnError(f"{table.name}: no column looks like the {wanted}; columns: {listed(table.columns)}", hints)


def _header_hints(table: Table) -> Iterator[str]:
    """Where the header may be, and how cells may be separated."""
    if not table.is_text or is_numbered(table.columns):
        return
    row = _title_rows(table)
    if row is not None:
        names = listed([str(value) for value in table.sample[row] if value not in (None, "")], 5)
        yield f"if {names} are the names of the columns: delete the lines above them"
    elif len(table.columns) == 1:
        yield "if a line holds several cells: separate them with commas or tabs"
    yield f"if the first line holds data, not names: {opt.no_header}"


def is_numbered(names: Sequence[str]) -> bool:
    """Whether columns are called 1, 2, 3 …, as --no-header calls them."""
    return list(names) == [str(n) for n in range(1, len(names) + 1)]


def _title_rows(table: Table) -> int | None:
    """The first full row below a header that names at most half of the columns: the header, if a title is above."""
    if 2 * sum(map(bool, table.columns)) > len(table.columns):
        return None
    full = (i for i, row in enumerate(table.sample[:MOST_TRIED]) if all(value not in (None, "") for value in row))
    return next((i for i in full if len(table.sample[i]) == len(table.columns)), None)


def _layouts(table: Table, roles: Roles) -> list[str]:
    """The likely layouts, the likeliest first."""
    taken = set(roles.positions.values())
    columns = columns_at(table, [p for p in range(len(table.columns)) if table.columns[p]])
    others = [p for p in columns if p not in taken]
    switches = [p for p in others if columns[p].is_switch]
    if len(switches) > 1 and (hint := _advised_one_hot(table, roles, columns, switches)):
        question = table.columns[switches[0]]
        return [hint, f"if each column of 0 and 1 is a separate question, choose one: {opt.label(question)}"]
    if ITEM in roles.positions and ANNOTATOR in roles.positions:
        free = [p for p in others if not follows(table, roles.positions[ITEM], p)]
        names = [columns[p].name for p in may_be_labels(columns, free)]
        return [f"if {shown(name)} holds the labels: {opt.label(name)}" for name in names]
    if nested := _nested([columns[p] for p in others if columns[p].values]):
        return nested
    if hint := _as_list(table, roles, columns):
        return [hint]
    people = [p for p in columns if columns[p].is_people and columns[p].is_unique]
    if not people or ITEM in roles.positions:
        return _broad(table, roles, columns, others)
    rated = sort_out({p: columns[p] for p in columns if p not in people}, is_form=True).rated
    named = roles.positions.get(ANNOTATOR)
    name = columns[named if named in people else people[0]].name
    hints = [f"if each row is an annotator and each column an item: {opt.format('transposed')} {opt.annotator(name)}"]
    if plain_name(name) in OTHER_PEOPLE:  # who may also be what was rated
        hints.append(f"if each row is an item and each column an annotator: {opt.format('wide')} {opt.item(name)}")
    return hints if len(rated) > 1 else []


def _nested(columns: Sequence[Column]) -> list[str]:
    """What to do with columns that hold objects or lists."""
    for column in columns:
        if all(map(is_object, column.values)):
            return [
                f"column {shown(column.name)} holds objects: write one row per annotation, with its parts as columns"
            ]
    advice = "holds lists: if they are the labels of several annotators, write one row per label (in pandas: explode)"
    return [f"column {shown(column.name)} {advice}" for column in columns if all(map(is_list, column.values))]


def _as_list(table: Table, roles: Roles, columns: Mapping[int, Column]) -> str:
    """The columns of a list of annotations under unusual names: item and annotator together identify the rows."""
    rows = len(table.sample)
    positions = roles.positions
    repeated = [p for p in columns if 1 < len(columns[p].values) < rows]
    again = sorted(repeated, key=lambda p: columns[p].is_elsewhere)[:MOST_TRIED]  # an item may be an address
    items, people = ([positions[role]] if role in positions else again for role in (ITEM, ANNOTATOR))
    for item, person in product(items, people):
        sizes = len(columns[item].values), len(columns[person].values)
        if item == person or sizes[0] <= sizes[1] or table.different([item, person]) < rows or rows < FEW_ROWS:
            continue
        free = [positions[LABEL]] if LABEL in positions else [p for p in again if p not in (item, person)]
        labels = [p for p in may_be_labels(columns, free) if not any(follows(table, key, p) for key in (item, person))]
        if labels:
            chosen = {ITEM: item, ANNOTATOR: person, LABEL: labels[0]}
            options = " ".join(table.options(role, [position]) for role, position in chosen.items())
            return f"if each row is one annotation: {options}"
    return ""


def follows(table: Table, key: int, position: int) -> bool:
    """Whether a column has one value for each value of another, as an item's text does."""
    return table.different([key, position]) == table.different([key])


def may_be_labels(columns: Mapping[int, Column], others: Sequence[int]) -> list[int]:
    """The columns that may hold labels: few, repeated values that are not times."""
    sizes = {p: len(columns[p].values) for p in others if columns[p].values and not columns[p].is_elsewhere}
    return [p for p, size in sizes.items() if 1 < size <= max(2, sum(columns[p].values.values()) // 3)][:3]


def _advised_one_hot(table: Table, roles: Roles, columns: Mapping[int, Column], switches: Sequence[int]) -> str:
    """The command for a column of 0 and 1 per class, where a row is one annotation of an item."""
    is_annotation = f"if each class has a column of 0 and 1: {opt.format('one-hot')}"
    if ITEM in roles.positions:
        is_repeated = not columns[roles.positions[ITEM]].is_id
        return is_annotation if ANNOTATOR in roles.positions or is_repeated else ""
    taken = (*switches, *roles.positions.values())
    free = [p for p in columns if p not in taken and not columns[p].is_elsewhere]
    if ANNOTATOR not in roles.positions or not free or columns[roles.positions[ANNOTATOR]].is_id:
        return ""
    item = max(free, key=lambda p: len(columns[p].values))
    return f"{is_annotation} {opt.item(table.columns[item])}"


def _broad(table: Table, roles: Roles, columns: Mapping[int, Column], others: Sequence[int]) -> list[str]:
    if len(others) < 2:  # noqa: PLR2004
        return []
    free = [columns[p] for p in others if columns[p].is_unique and columns[p].cells and not columns[p].is_elsewhere]
    ids = [column.position for column in free if not column.shared(columns[p] for p in others)]
    ids += [column.position for column in free[:1] if column.position == 0 and column.is_id]
    item = roles.positions.get(ITEM, next(iter(ids), None))
    rated = [columns[p] for p in others if p != item]
    key = "" if item is None else table.columns[item]
    as_item, as_annotator = (f" {opt[role](key)}" if key else "" for role in (ITEM, ANNOTATOR))
    wide = f"if each column is an annotator: {opt.format('wide')}{as_item}"
    counts = f"if each column is a class and the cells are counts: {opt.format('counts')}{as_item}"
    turned = f"if each row is an annotator and each column an item: {opt.format('transposed')}{as_annotator}"
    if _are_shares(rated):
        return [
            "every row adds up to 1, like shares: multiply them by the number of annotations, "
            f"then use {opt.format('counts')}"
        ]
    if all(named_like(column.name, PEOPLE_WORDS) for column in rated):
        return [wide]
    # in pivot tables an empty cell means 0
    filled = [replace(column, cells=tuple(plain_text(value) or "0" for value in column.cells)) for column in rated]
    has_sums = len(without_sums({column.position: column for column in filled})) < len(rated)
    if len(rated) > 1 and (_may_be_counts(rated) or (has_sums and _may_be_counts(filled))):
        return [counts, wide]
    return [turned, wide] if all(named_like(column.name, ITEM_WORDS) for column in rated) else [wide, turned]


def _are_shares(columns: Sequence[Column]) -> bool:
    """Whether numbers add up to 1 in every row."""
    try:
        rows = [[_share(str(value)) for value in row] for row in rows_of(columns)]
    except ValueError:
        return False
    are_shares = len(rows) >= FEWEST_SHARES and all(abs(sum(row) - 1) < ROUNDING for row in rows)
    return are_shares and any(value % 1 for row in rows for value in row)


def _share(text: str) -> float:
    """A number, or a percentage as a share.

    >>> _share("0.25"), _share("25%")
    (0.25, 0.25)
    """
    return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)


def _may_be_counts(columns: Sequence[Column]) -> bool:
    """Whether all rows have the same sum, or some cells are 0 while others exceed 1."""
    if not all(column.is_whole for column in columns):
        return False
    rows = whole_rows(columns)
    sums = {sum(row) for row in rows}
    is_even = len(sums) == 1 and len(rows) > 1 and sums != {len(columns)}
    return is_even or (any(0 in row for row in rows) and any(max(row) > 1 for row in rows))


def caution_unique_items(table: Table, places: Mapping[str, Sequence[int]]) -> Iterator[Caution]:
    """A caution for a guessed item that differs in every row, beside a column in which annotators repeat no value."""
    rows = len(table.sample)
    if ANNOTATOR not in places or table.different(places[ITEM]) < rows or rows < FEW_ROWS:
        return
    free = sorted(table.free(places), key=lambda p: plain_name(table.columns[p]) not in USUAL_ITEMS)
    better = [p for p in free if table.different([p]) < rows == table.different([p, *places[ANNOTATOR]])]
    if better:
        item, other = (table.columns[p] for p in (places[ITEM][0], better[0]))
        yield Caution(
            "item_unique",
            f"column {shown(item)} has a different value in each row; if column {shown(other)} is the item, "
            f"use {opt.item(other)}",
        )


def refuse_few_items(
    table: Table, places: Mapping[str, Sequence[int]], guessed: Collection[str], question: int | None
) -> None:
    """Refuse a guessed item with a handful of values that every annotator labels again and again."""
    name, rows = table.columns[places[ITEM][0]], len(table.sample)
    if ITEM not in guessed or ANNOTATOR not in places or rows < FEW_ROWS or plain_name(name) in SURELY_ITEMS:
        return
    few = table.different(places[ITEM])
    if few > FEW_ITEMS or 2 * table.different([*places[ITEM], *places[ANNOTATOR]]) > rows:
        return
    if question is not None and table.different([question]) < few:
        return
    better = table.options(ITEM, _telling(table, places))
    otherwise = _ids_anew(table) or f"name the columns that identify an item with {opt.item}, repeated if several"
    remedy = f"use {better}" if better else otherwise
    raise ColumnError(
        f"{table.name}: column {shown(name)} has only {count(few, 'value')}, each labelled many times by the same "
        f"annotator, so it does not look like the item; {remedy} (columns: {listed(table.columns)})"
    )


def apart(table: Table, places: Mapping[str, Sequence[int]]) -> str:
    """What distinguishes an annotator's annotations of one item, if the first rows show such repeats."""
    keys = [p for role in (ITEM, ANNOTATOR) for p in places.get(role, ())]
    if ANNOTATOR not in places or table.different(keys) == len(table.sample):
        return ""
    people = [p for p in table.free(places) if plain_name(table.columns[p]) in USUAL_PEOPLE]
    for person in people:
        if table.different([*places[ITEM], person]) == len(table.sample) > table.different([person]):
            name = table.columns[person]
            use = f"use {opt.annotator(name)} if it names the annotators"
            return f"column {shown(name)} distinguishes these annotations: {use}"
    telling = _telling(table, places)
    if not telling:
        return _ids_anew(table)
    items = table.options(ITEM, telling)
    last = telling[-1]
    name, first = table.columns[last], next(row[last] for row in table.sample if len(row) > last)
    return (
        f"column {shown(name)} distinguishes these annotations: use {items} if it is part of the item, or "
        f"{opt.where(f'{name}={first}')} for one of its values; if annotators labelled an item again, choose with "
        f"{opt.duplicates}"
    )


def apart_rows(table: Table, keys: Sequence[int]) -> str:
    """What distinguishes rows of a wide table that have the same item."""
    rows = len(table.sample)
    if not keys or table.different(keys) == rows:
        return ""
    more = [p for p in table.free({ITEM: keys}) if table.different([*keys, p]) == rows]
    named = [p for p in more if plain_name(table.columns[p]) in USUAL_ITEMS] or more
    if named and table.files == 1:
        options = table.options(ITEM, (*keys, named[0]))
        return f"column {shown(table.columns[named[0]])} distinguishes the rows of an item: use {options}"
    return (
        _ids_anew(table) or f"if every row is an item, add a column that numbers the rows, and name it with {opt.item}"
    )


def _ids_anew(table: Table) -> str:
    if table.files == 1:
        return ""
    return (
        "if items are numbered anew in each file, put the name of the file in front of each number; if annotators "
        f"labelled an item again, choose with {opt.duplicates('first')} or {opt.duplicates('last')}"
    )


def _telling(table: Table, places: Mapping[str, Sequence[int]]) -> list[int]:
    """The columns that would make annotations unique: another item column, or more beside the present ones."""
    free, rows = table.free(places), len(table.sample)
    for items in [*([p] for p in free), *([*places[ITEM], p] for p in free)]:
        if rows == table.different([*items, *places[ANNOTATOR]]) > table.different(items):
            return items
    keys = list(places[ITEM])
    for p in free[:MOST_TRIED]:  # several more, each of which tells some annotations apart
        if table.different([*keys, *places[ANNOTATOR]]) < table.different([*keys, p, *places[ANNOTATOR]]):
            keys.append(p)
    are_unique = rows == table.different([*keys, *places[ANNOTATOR]]) > table.different(keys)
    return keys if are_unique else []


IMPORT_ID = ('{"ImportId"', "{'ImportId'")
RESPONDENT, COLLECTOR = "respondentid", "collectorid"
PLAIN_ANSWERS = ("", "Response", "Open-Ended Response")  # below a question with one column


def without_second_header(table: Table) -> Table:
    """The table without the rows that Qualtrics and SurveyMonkey write under the header.

    Qualtrics writes two: the texts of the questions, and their ids. SurveyMonkey writes one, which names the columns
    of questions that have several: the header names such a question once and leaves the next columns empty.
    """
    if not table.is_ordered or not table.sample:
        return table
    if len(table.sample) > 1 and any(str(value).replace(" ", "").startswith(IMPORT_ID) for value in table.sample[1]):
        return _skipped(table, 2, "the two rows that Qualtrics writes under the header")
    names = [plain_name(name) for name in table.columns]
    first = (*table.sample[0], *[None] * (len(names) - len(table.sample[0])))
    if RESPONDENT in names and COLLECTOR in names and first[names.index(RESPONDENT)] in (None, ""):
        named = replace(table, columns=_named_twice(table.columns, first))
        return _skipped(named, 1, "the row that SurveyMonkey writes under the header")
    return table


def _skipped(table: Table, rows: int, what: str) -> Table:
    def load(positions: Sequence[int]) -> nw.LazyFrame[Any]:
        return table.load(positions).filter(nw.col(ROW) >= table.first_row + rows)

    cautions = (*table.cautions, Caution("second_header", f"{table.name}: skipped {what}"))
    return replace(
        table,
        load=load,
        few=None,
        sample=tuple(table.sample[rows:]),
        cautions=cautions,
        first_row=table.first_row + rows,
    )


def _named_twice(names: Sequence[str], second: Sequence[object]) -> tuple[str, ...]:
    """The name of each column from both headers.

    >>> _named_twice(["Respondent ID", "Rate", "", "Why?"], [None, "Photo 1", "Photo 2", "Response"])
    ('Respondent ID', 'Rate [Photo 1]', 'Rate [Photo 2]', 'Why?')
    """
    titles, question = [], ""
    for name, below in zip(names, second, strict=True):
        question = name or question
        part = "" if below is None else str(below)
        titles.append(question if part in PLAIN_ANSWERS else f"{question} [{part}]")
    return tuple(titles)
