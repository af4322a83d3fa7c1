"""The layout of a table that is not a list of annotations, if its columns leave no doubt; else the commands to try."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, product
from typing import Any

from spagree.errors import ColumnError, Warning, opt
from spagree.read import columns
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, ROW, TIME, nw
from spagree.read.columns import Roles, Sampled, columns_at, plain_text, rows_of, sort_out, whole_rows
from spagree.read.layouts import doubts, lists
from spagree.read.request import Request
from spagree.read.table import Table, listed, shown
from spagree.read.words import is_item, is_numbered, is_person, named_like, phrases, plain_name, ranked, words, words_of

FEWEST_ROWS, FEWEST_ITEMS, FEWEST_PEOPLE = 5, 3, 2
MOST_LABELS = 1 / 3  # distinct labels per cell: more mean measurements
OFTEN_SHARED = 0.5


@dataclass(frozen=True, slots=True)
class Recognised:
    """A layout, the columns it was recognised by, and what the user is told; the roles of a long table."""

    format: str
    request: Request
    guessed: frozenset[str] = frozenset()
    rules: tuple[str, ...] = ()
    warnings: tuple[Warning, ...] = ()
    roles: Roles | None = None


@dataclass(frozen=True, slots=True)
class _Sight:
    """What is visible before a table is read: the columns with a role, and what the others hold."""

    table: Table
    request: Request
    roles: Mapping[str, int]
    sampled: Mapping[int, Sampled]

    def key(self, taken: Collection[int]) -> int | None:
        """The item column, or else the first with a different value in each row."""
        if self.request.each_row:
            return None
        ids = (p for p, column in self.sampled.items() if column.is_id and column.name and p not in taken)
        return self.roles.get(ITEM, next(ids, None))

    def answer(
        self, format: str, rule: str, key: str, position: int | None, labels: Sequence[int] = ()
    ) -> Recognised | None:
        """What was recognised, with the columns as the user would have named them."""
        names = self.table.columns
        if len({names[p].casefold() for p in labels}) < len(labels):
            return None
        named: dict[str, Any] = {LABEL: [names[p] for p in labels]} if labels else {}
        is_guess = position is not None and not self.request.names(key)
        if position is not None and is_guess:
            named[key] = names[position]
        aside = [names[p] for p in self.sampled if p not in labels and p != position and names[p]] if labels else []
        rest = f"If they belong to the table, name all columns with {opt.label}"
        warning = Warning("columns_aside", f"columns ignored: {listed(aside, limit=8)}. {rest}")
        rule = f"recognised: {rule}; if that is wrong, name the layout with {opt.format}"
        guessed = frozenset({key} if is_guess else ())
        return Recognised(format, replace(self.request, **named), guessed, (rule,), (warning,) if aside else ())


def recognised(table: Table, request: Request) -> Recognised:
    """The layout of a table without an item or label column, if only one is possible; else long."""
    if request.names(LABEL) or request.time is not None or request.question is not None:
        return Recognised("long", request)
    resolved = request.roles(table, (ITEM, ANNOTATOR, LABEL, TIME))
    as_list = Recognised("long", request, roles=None if request.also() else resolved)
    roles = {role: position for role, position in resolved.positions.items() if role != TIME}
    has_annotations = ITEM in roles and LABEL in roles
    if has_annotations and (ANNOTATOR in roles or not any(map(is_person, table.columns))):
        return as_list
    if request.header and _is_headless(table):
        return as_list
    text = None if request.text is None else columns.find(table.columns, request.text, opt.text)
    link = columns.link_column(table, [roles[ITEM]] if ITEM in roles else [], roles.values())
    aside = {text, link} - {roles.get(ITEM)}  # a text may be the item, too
    sampled = columns_at(table, [p for p in range(len(table.columns)) if p not in aside])
    sight = _Sight(table, request, roles, sampled)
    if has_annotations:
        return (_wide(sight) if sampled[roles[ITEM]].is_id else None) or as_list
    names = {column.plain_name: position for position, column in sampled.items()}
    is_form = request.item is None and any(names.keys() >= set(form) for form in ranked("numbered_forms"))
    if is_form and (form := _transposed(sight, names["id"])):  # all may be called anonymous
        return form
    respondents = names["id"] if is_form else None
    return _one_hot(sight) or _wide(sight) or _transposed(sight, respondents) or _counts(sight) or as_list


def _one_hot(sight: _Sight) -> Recognised | None:
    """Item, annotator, and columns of 0 and 1 of which exactly one is on in every row."""
    taken = (sight.roles.get(ITEM), sight.roles.get(ANNOTATOR))
    switches = {p: column for p, column in sight.sampled.items() if column.is_switch and p not in taken}
    classes = list(columns.without_flags(switches).values())
    if None in taken or len(classes) < FEWEST_PEOPLE:
        return None
    rows = [[str(cell).casefold().removesuffix(".0") for cell in row] for row in rows_of(classes)]
    if len(rows) < FEWEST_ROWS or any(sum(cell in words("on") for cell in row) != 1 for row in rows):
        return None
    guessed = () if sight.request.item else (ITEM,)
    doubts.refuse(doubts.View(sight.table, "one-hot", {role: [p] for role, p in sight.roles.items()}, guessed=guessed))
    return sight.answer("one-hot", "one annotation per row, one column of 0 and 1 per class", ITEM, sight.roles[ITEM])


def _wide(sight: _Sight) -> Recognised | None:
    """Columns called annotator 1, rater_2, coderB …, which share their labels with each other and with no others."""
    people = {p: column for p, column in sight.sampled.items() if is_person(column.name)}
    filled = {p: column for p, column in people.items() if column.values}  # the others may begin later
    if len(filled) < FEWEST_PEOPLE or any(len(column.cells) < FEWEST_ROWS for column in people.values()):
        return None
    kinds = sort_out(filled)
    view = doubts.View(sight.table, "wide", {}, tuple(people))
    is_grid = any(doubts.grid(view)) and not any(doubts.classes_of_each(view))  # which is refused
    if kinds.aside or len(kinds.groups) != 1 or is_grid:
        return None
    key = sight.key(people)
    beside = {p: c for p, c in sight.sampled.items() if p not in people and c.values and not c.is_derived}
    consensus = [p for p, column in beside.items() if column.shared(people.values()) >= OFTEN_SHARED]
    groups = [[beside[p] for p in group] for group in sort_out(beside).groups]
    if not consensus and any(len(group) > 1 and _are_labels(group) for group in groups):  # columns of labels
        if LABEL not in sight.roles:
            return None
        consensus = [sight.roles[LABEL]]
    if consensus:
        names = sight.table.columns
        item = "" if key is None else f" {opt.item(names[key])}"
        is_one = len(consensus) == 1
        may_be = "a consensus, predictions or annotators"
        may_be = "their consensus or another annotator" if is_one else may_be
        raise ColumnError(
            f"{sight.table.name}: one row per item, and columns named like annotators beside "
            f"{listed([names[p] for p in consensus], 4)}, which may be {may_be}; name those to compare: "
            f"{opt.format('wide')}{item} {sight.table.options(LABEL, people)}"
        )
    return sight.answer("wide", "one row per item, one column per annotator", ITEM, key, tuple(people))


def _are_labels(sampled: Collection[Sampled]) -> bool:
    """Whether a few values repeat, and are not numbers beyond any scale."""
    different = set().union(*(column.values for column in sampled))
    return len(different) <= max(2, MOST_LABELS * sum(column.values.total() for column in sampled))


def _transposed(sight: _Sight, respondents: int | None) -> Recognised | None:
    """A person in every row, and columns that share their labels, as in forms and surveys."""
    if ITEM in sight.roles and respondents is None:
        return None
    person = sight.roles.get(ANNOTATOR) if sight.request.annotator else None
    if person is None:
        usual = [name for names in ranked("people") for name in names]
        people = [c for c in sight.sampled.values() if c.is_people and c.is_unique and len(c.cells) >= FEWEST_PEOPLE]
        people.sort(key=lambda column: [*usual, column.plain_name].index(column.plain_name))
        person = people[0].position if people else respondents
    kinds = sort_out({p: column for p, column in sight.sampled.items() if p != person}, is_form=True)
    rated = [sight.sampled[p] for p in kinds.rated]
    if len(kinds.groups) != 1 or len(rated) < FEWEST_ITEMS or not _are_labels(rated):
        return None
    if any(column.shared(rated) < OFTEN_SHARED or is_person(column.name) for column in rated):
        return None
    is_form = any(column.plain_name in words("surely_forms") for column in sight.sampled.values())
    sure = person is not None and sight.sampled[person].plain_name not in words("other_people")
    if not (sure or is_form or (person is not None and all(is_item(column.name) for column in rated))):
        return None
    nobody = "" if person is not None else "; no column names annotators, so every row is one"
    return sight.answer("transposed", f"one row per annotator, one column per item{nobody}", ANNOTATOR, person)


def _counts(sight: _Sight) -> Recognised | None:
    """Whole numbers that add up to the same number of annotations, two or more, in every row."""
    if ANNOTATOR in sight.roles:
        return None
    item = sight.roles.get(ITEM)
    others = {p: column for p, column in sight.sampled.items() if p != item}
    classes = columns.without_sums({p: column for p, column in others.items() if column.is_whole and column.name})
    if any(is_person(c.name) or is_item(c.name) for c in classes.values()) or not columns.are_even([*classes.values()]):
        return None
    rows = whole_rows(classes.values())
    if not any(0 in row for row in rows) or (item is not None and not sight.sampled[item].is_id):
        return None
    if any(column.values and not (column.name or column.is_id) for column in others.values()):
        return None  # a class whose name was lost
    rule = f"one row per item, one column per class, {sum(rows[0])} annotations in every row"
    return sight.answer("counts", rule, ITEM, sight.key(classes), tuple(classes))


PANDAS = "pandas frame"
NUMBERED = re.compile(r"(.*?)[ ._\-]*(\d+|(?<=[ ._\-])[A-Z](?![^ ._\-]))[ ._\-]*(\D*)")  # worker_1, worker1 id, Rater A
MANY_ROWS = 5  # per column: few items would be labelled by very many annotators
MOST_NESTED = 3  # columns that are shown
MOST_TRIED, MIN_ROWS_OF_LIST = 8, 20  # columns that may be the item or the annotator


def _is_headless(table: Table) -> bool:
    """Whether the first line of a file looks like those below it, although it was taken for names."""
    return table.is_text and columns.is_data(columns_at(table, range(len(table.columns))).values())


class UndecidedError(ColumnError):
    """No layout fits; ``ways`` say how the table may be read, the likeliest first, and ``others`` what else may help.

    Ways come in groups; a group is for tables that cannot be read in any way of those before.
    """

    def __init__(self, says: str, ways: Sequence[Sequence[str]], others: Sequence[str]) -> None:
        super().__init__(says, [*chain.from_iterable(ways), *others])
        self.says, self.ways, self.others = says, ways, others


def unknown_columns(table: Table, lacking: Sequence[str], roles: Roles, request: Request) -> UndecidedError:
    """The error if nothing fits: lists the columns, and names the commands that probably work."""
    doubts.refuse(doubts.View(table, doubts.UNKNOWN, {}, compared=range(len(table.columns))))
    is_headless, has_more = _is_headless(table), len(table.columns) > len(lacking) + 1
    ways: list[list[str]] = []
    others = [
        f"name the column of the {' and of the '.join(lacking)} with {' and '.join(opt[role] for role in lacking)}"
    ]
    if request.header and is_headless:
        guesses = _layouts(headless(table), Roles({}))
        ways = [[f"{way} {opt.no_header}" for way in group] for group in guesses]
        others.insert(0, f"the first line looks like data and not like names: {opt.no_header}")
    elif LABEL in lacking or has_more or _lists(table, roles.positions.get(ITEM)):
        ways = [*_layouts(table, roles)]
    if table.is_text and not is_numbered(table.columns) and not is_headless:
        wide = [
            row for row in table.sample[:MOST_TRIED] if len(row) == len(table.columns) and all(map(plain_text, row))
        ]
        if wide and 2 * sum(map(bool, table.columns)) <= len(table.columns):  # below a title
            names = listed([plain_text(value) for value in wide[0]], 5)
            others.append(f"if {names} are the names of the columns: delete the lines above them")
        elif len(table.columns) == 1:
            others.append("if a line holds several cells: separate them with commas or tabs")
        if table.first_row > 1:  # no JSON
            others.append(f"if the first line holds data, not names: {opt.no_header}")
    if table.name == PANDAS and not has_more:
        others.append("if the index holds them: frame.reset_index()")
    others += [warning.message.marked for warning in table.warnings]
    says = f"{table.name}: no column looks like the {' or the '.join(lacking)}; columns: {listed(table.columns)}"
    return UndecidedError(says, ways, others)


def single_labels(
    table: Table, places: Mapping[str, Sequence[int]], request: Request
) -> tuple[str, Iterator[list[str]]] | None:
    """What to say of a guessed label where no item has a second one, and nobody is named: perhaps it is a majority."""
    rows = len(table.sample)
    if request.names(LABEL) or table.is_positional or ANNOTATOR in places or rows < FEWEST_ROWS:
        return None
    if len(table.free(places)) < FEWEST_PEOPLE or table.different(places[ITEM]) < rows:
        return None
    item, label = (shown(table.columns[places[role][0]]) for role in (ITEM, LABEL))
    says = f"column {item} has a different value in each row, so {label} holds one label of each item"
    return says, _layouts(table, Roles({ITEM: places[ITEM][0]}))


def headless(table: Table) -> Table:
    """The table as it is read without a header."""
    numbers = tuple(str(n) for n in range(1, len(table.columns) + 1))
    return replace(table, columns=numbers, sample=[table.columns, *table.sample])


def _layouts(table: Table, roles: Roles) -> Iterator[list[str]]:
    """The likely layouts in groups, the likeliest first."""
    item, who = roles.positions.get(ITEM), roles.positions.get(ANNOTATOR)
    sampled = columns_at(table, [p for p in range(len(table.columns)) if table.columns[p]])
    others = [p for p in sampled if p not in roles.positions.values()]
    switches = {p: sampled[p] for p in others if sampled[p].is_switch}
    answers = [p for p in others if not (sampled[p].is_id or sampled[p].is_text)]
    if 2 * len(switches) >= max(4, len(answers)) and (hint := _advised_one_hot(table, item, who, sampled, others)):
        classes = list(columns.without_flags(switches).values())
        ways = [hint, f"if each column of 0 and 1 is a separate question, choose one: {opt.label(classes[0].name)}"]
        is_class = all(any(str(value).casefold() in words("on") for value in row) for row in rows_of(classes))
        yield ways if is_class else ways[::-1]
    if item is not None and who is not None and not sampled[item].is_id:
        yield _label_columns(table, item, who, [sampled[p] for p in others])
        return
    yield _paired(table, item, sampled)
    yield _lists(table, item)
    if sum(is_person(column.name) for column in sampled.values()) < FEWEST_PEOPLE:
        yield _as_list(table, roles, sampled)
    people = [p for p in sampled if (sampled[p].is_people or p == who) and sampled[p].is_unique]
    rated = sort_out({p: sampled[p] for p in sampled if p not in people}, is_form=True).rated
    if not people or (item is not None and not all(is_item(sampled[p].name) for p in rated)):
        yield _broad(table, item, sampled, others)
        return
    name = sampled[who if who is not None and who in people else people[0]].name
    hints = [f"if each row is an annotator and each column an item: {opt.format('transposed')} {opt.annotator(name)}"]
    if plain_name(name) in words("other_people"):  # who may also be what was rated
        hints.append(f"if each row is an item and each column an annotator: {opt.format('wide')} {opt.item(name)}")
    yield hints if len(rated) > 1 else []


def _label_columns(table: Table, item: int, who: int, others: Sequence[Sampled]) -> list[str]:
    """The columns that may hold the labels of a long table, and what else identifies its items."""
    is_repeated = table.different([item, who]) < len(table.sample)
    parts = doubts.telling(table, {ITEM: [item], ANNOTATOR: [who]}) if is_repeated else []
    keys = [key for key in ([item], [who], parts) if key]
    names = [c.name for c in columns.may_be_labels(table, others, keys) if not c.is_derived][:MOST_NESTED]
    also = f" {table.options(ITEM, parts)}" if parts else ""
    ways = [f"if {shown(name)} holds the labels: {opt.label(name)}{also}" for name in names]
    return [*ways, f"if each of them is a question of its own: {opt.all_questions}"] if len(ways) > 1 else ways


def _paired(table: Table, item: int | None, sampled: Mapping[int, Sampled]) -> list[str]:
    """How to read columns such as worker_1, answer_1, worker_2, answer_2: who gave which label."""
    groups: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for p, column in sampled.items():
        if match := NUMBERED.fullmatch(column.name):
            groups[plain_name(match[1] + match[3])][match[2]] = p
    people = [stem for stem in groups if stem in words(ANNOTATOR, "named_people")]
    ways = []
    for who, stem in product(people, groups):
        names, labels = list(groups[who].values()), list(groups[stem].values())
        rows = [list(filter(plain_text, row)) for row in rows_of(sampled[p] for p in names)]
        is_pair = stem not in people and len(labels) > 1 and groups[who].keys() == groups[stem].keys()
        if is_pair and all(len(set(row)) == len(row) for row in rows) and _are_labels([sampled[p] for p in labels]):
            key = doubts.each_row(table, [] if item is None else [item])
            options = f"{opt.format('wide')} {key} {table.options(ANNOTATOR, names)} {table.options(LABEL, labels)}"
            one, other = shown(sampled[names[0]].name), shown(sampled[labels[0]].name)
            ways.append(f"if {one} says who gave {other}, and so on: {options}")
    return ways


def _lists(table: Table, item: int | None) -> list[str]:
    """How to read columns that hold lists or objects."""
    every = columns_at(table, [p for p in range(len(table.columns)) if table.columns[p]]).values()
    found = [(column, name) for column in every if column.is_nested for name in lists.fields(column)]
    parted = [column for column in every if 2 * len(lists.parted(column)) > len(column.values)]
    for one, other in combinations(parted, 2):
        if lists.are_parallel(one, other):
            who, label = sorted((one, other), key=lambda column: ANNOTATOR not in column.plain_name)
            found.append((label, f"{opt.label(label.name)} {opt.annotator(who.name)}"))
    alone = [column for column in parted if lists.has_repeats(column.values) and all(column is not c for c, _ in found)]
    found += [(column, opt.label(column.name)) for column in alone]
    options = f"{opt.format('lists')} {doubts.each_row(table, [] if item is None else [item])}"
    return [
        f"if column {shown(column.name)} holds all labels of an item: {options} {names}"
        for column, names in found[:MOST_NESTED]
    ]


def _as_list(table: Table, roles: Roles, sampled: Mapping[int, Sampled]) -> list[str]:
    """The columns of a list of annotations under unusual names: item and annotator together identify the rows."""
    rows, positions = len(table.sample), roles.positions
    repeated = [p for p in sampled if 1 < len(sampled[p].values) < rows]
    sized = [p for p in repeated if sampled[p].plain_name in words("counts") and sampled[p].is_whole]
    if len(sized) == 1 and ANNOTATOR not in positions and LABEL not in positions:  # a query that counted labels
        free = [p for p in repeated if p not in sized and not sampled[p].is_elsewhere]
        asked = [positions[ITEM]] if ITEM in positions else free
        pairs = [(i, p) for i in asked for p in free if len(sampled[p].values) < len(sampled[i].values)]
        by_votes = f"if {shown(sampled[sized[0]].name)} says how many annotators gave the label"
        counted = [
            f"{by_votes}: {table.options(ITEM, [i])} {table.options(LABEL, [p])}"
            for i, p in pairs
            if table.different([i, p]) == rows
        ]
        if counted:
            return counted[:MOST_NESTED]
    again = sorted(repeated, key=lambda p: sampled[p].is_elsewhere)[:MOST_TRIED]  # an item may be an address
    keys_of_rows = [p for p in again if sampled[p].values.total() == rows]
    rounds = [p for p in again if words("rounds") & {sampled[p].plain_name, *words_of(sampled[p].name)}]
    people = [positions[ANNOTATOR]] if ANNOTATOR in positions else keys_of_rows
    items = [*((p,) for p in keys_of_rows), *combinations(keys_of_rows, 2)]
    if ITEM in roles.guessed and sampled[positions[ITEM]].is_id:  # the number of an annotation, if others say of what
        alone = [p for p in keys_of_rows if not sampled[p].shared(sampled.values())]
        items, people = [(p,) for p in alone if 2 * len(sampled[p].values) <= rows], [p for p in people if p in alone]
    elif ITEM in positions:
        items = [(positions[ITEM],)]
    elif ANNOTATOR in positions:  # the fewest items that nobody labelled twice
        items.sort(key=lambda item: (len(item), len(sampled[item[0]].values)))
    for item, person in product(items, people):
        sizes = table.different(item), len(sampled[person].values)
        is_one_each = table.different([*item, person, *rounds]) == rows >= MIN_ROWS_OF_LIST
        if person in item or not sizes[1] < sizes[0] < rows or not is_one_each:
            continue
        are_numbers = ANNOTATOR in positions and all(map(str.isdecimal, sampled[person].values))  # as labels may be
        others = [sampled[p] for p in sampled if p not in (*item, person)]
        if not are_numbers and sampled[person].shared(others) >= OFTEN_SHARED:
            continue  # people stand in several columns
        free = [positions[LABEL]] if LABEL in positions else [p for p in again if p not in (*item, person)]
        labels = columns.may_be_labels(table, [sampled[p] for p in free], (item, [person]))
        labels = [column for column in labels if not column.is_derived]
        labels.sort(key=lambda column: any(column.shared([o]) >= OFTEN_SHARED for o in labels if o is not column))
        keys = f"{table.options(ITEM, item)} {table.options(ANNOTATOR, [person])}"
        which = "if each row is one annotation" + (", whose label is in {}" if len(labels) > 1 else "")
        ways = [f"{which.format(shown(c.name))}: {keys} {table.options(LABEL, [c.position])}" for c in labels]
        if ways:
            return ways[:MOST_NESTED]
    return []


def _advised_one_hot(
    table: Table, item: int | None, who: int | None, sampled: Mapping[int, Sampled], others: Sequence[int]
) -> str:
    """The command for a column of 0 and 1 per class, where a row is one annotation of an item."""
    is_annotation = f"if each class has a column of 0 and 1: {opt.format('one-hot')}"
    if item is not None:
        return is_annotation if who is not None or not sampled[item].is_id else ""
    free = [p for p in others if not (sampled[p].is_switch or sampled[p].is_elsewhere or sampled[p].is_text)]
    free.sort(key=lambda p: -len(sampled[p].values))  # items before people
    free = [p for p in free if p == free[0] or not table.follows(free[:1], p)]
    if who is not None and free and not sampled[who].is_id:
        return f"{is_annotation} {opt.item(table.columns[free[0]])}"
    if who is None and len(free) == 2 and not sampled[free[0]].is_id:  # noqa: PLR2004
        return f"{is_annotation} {opt.item(table.columns[free[0]])} {opt.annotator(table.columns[free[1]])}"
    return ""


def _broad(table: Table, item: int | None, sampled: Mapping[int, Sampled], others: Sequence[int]) -> list[str]:
    """How to read columns of annotators, of items or of classes."""
    if len(others) < 2:  # noqa: PLR2004
        return []
    free = [sampled[p] for p in others if sampled[p].is_unique and sampled[p].cells and not sampled[p].is_elsewhere]
    ids = [column.position for column in free if not column.shared(sampled[p] for p in others)]
    ids += [column.position for column in free[:1] if column.position == 0 and column.is_id]
    item = next(iter(ids), None) if item is None else item
    named = [sampled[p] for p in others if p != item]
    rated = [column for column in named if not (column.is_text or column.is_id)] or named
    as_item, as_annotator = ("" if item is None else f" {opt[role](table.columns[item])}" for role in (ITEM, ANNOTATOR))
    if item is not None and not sampled[item].is_unique:
        as_item = f" {doubts.each_row(table, [item])}"
    people = [column.position for column in rated if is_person(column.name)] or _called_alike(rated)
    labels = f" {table.options(LABEL, people)}" if 1 < len(people) < len(rated) else ""
    wide = f"if each column is an annotator: {opt.format('wide')}{as_item}{labels}"
    counts = f"if each column is a class and the cells are counts: {opt.format('counts')}{as_item}"
    turned = f"if each row is an annotator and each column an item: {opt.format('transposed')}{as_annotator}{labels}"
    fractions = [column for column in rated if not column.is_whole]  # not the number beside them
    if lists.are_shares(list(rows_of(fractions))):
        shares = "every row adds up to 1, like shares: multiply them by the number of annotations"
        return [f"{shares}, then use {opt.format('counts')}"]
    have_people = all(words("named_people") & {*words_of(column.name)} for column in rated)  # reader1_baseline
    if have_people or all(named_like(column.name, words("named_people", "named_briefly")) for column in rated):
        return [wide]
    whole = {column.position: column for column in columns.as_pivot(rated) if column.is_whole}
    kept = [*columns.without_sums(whole).values()]
    may_turn = [turned] if len(table.sample) < MANY_ROWS * len(rated) else []
    if len(kept) > 1 and (_may_be_counts(kept) or _may_be_counts(rated)):
        return [counts, wide, *(may_turn if labels else [])]
    asked = sort_out({column.position: column for column in rated}, is_form=True).rated
    if len(asked) > 1 and all(is_item(sampled[p].name) for p in asked):
        return [turned, wide]
    return [wide, *may_turn]


def _called_alike(rated: Sequence[Sampled]) -> list[int]:
    """The columns with one name and different numbers or letters, in any language, if there are such.

    As many of another name that share their labels are annotators too (target_1, target_2, control_1, control_2), or
    the same once more: which of them belong together is asked once they are compared.
    """
    stems: defaultdict[str, list[int]] = defaultdict(list)
    for column in rated:
        if match := re.fullmatch(r"(.*?\D)[\W_]*(\d+|(?<=[\W_])\w|(?<=[^\Wa-zA-Z_])[A-Za-z])", column.name):
            stems[match[1].rstrip(" _-.")].append(column.position)
    largest = max(stems.values(), key=len, default=[])
    alike = [p for same in stems.values() if len(same) == len(largest) > 1 for p in same]
    kinds = sort_out({column.position: column for column in rated if column.position in alike})
    return largest if len(kinds.groups) > 1 else alike


def _may_be_counts(rated: Sequence[Sampled]) -> bool:
    """Whether all rows have the same sum, or some cells are 0 while others exceed 1."""
    rows = whole_rows(rated) if all(column.is_whole for column in rated) else []
    sums = {sum(row) for row in rows}
    is_even = len(sums) == 1 and len(rows) > 1 and sums != {len(rated)}
    return is_even or (any(0 in row for row in rows) and any(max(row) > 1 for row in rows))


def without_second_header(table: Table) -> Table:
    """The table without the rows that Qualtrics and SurveyMonkey write under the header.

    Qualtrics writes two: the texts of the questions, and their ids. SurveyMonkey writes one, which names the columns
    of questions that have several: the header names such a question once and leaves the next columns empty.
    """
    if not table.is_ordered or not table.sample:
        return table
    names = [plain_name(name) for name in table.columns]
    first = (*table.sample[0], *[None] * (len(names) - len(table.sample[0])))
    titles = table.columns
    if len(table.sample) > 1 and any(
        str(value).replace(" ", "").startswith(ranked("import_ids")[0]) for value in table.sample[1]
    ):
        rows, what = 2, "the two rows that Qualtrics writes under the header"
    elif words("of_surveymonkey") <= {*names} and first[names.index("respondentid")] in (None, ""):
        rows, what = 1, "the row that SurveyMonkey writes under the header"
        titles = _named_twice(table.columns, first)
    else:
        return table
    start = table.first_row + rows

    def load(positions: Sequence[int]) -> nw.LazyFrame[Any]:
        return table.load(positions).filter(nw.col(ROW) >= start)

    warnings = (*table.warnings, Warning("second_header", f"{table.name}: skipped {what}"))
    sample = tuple(table.sample[rows:])
    return replace(
        table, columns=titles, load=load, few=None, small=None, sample=sample, warnings=warnings, first_row=start
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
        titles.append(question if part in phrases("plain_answers") else f"{question} [{part}]")
    return tuple(titles)
