"""What columns hold, judging by the first rows, and which column plays which role."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import combinations, cycle, islice
from operator import itemgetter

from spagree.errors import ColumnError, Marked, nearest, opt
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, ROW, TIME, is_missing, nw
from spagree.read.frames import collected, size, where
from spagree.read.table import SAMPLE_ROWS, Table, cell, listed, shown, sql_literal
from spagree.read.words import phrases, plain_name, ranked, words, words_of


@dataclass(frozen=True, slots=True)
class Roles:
    """The first column of each role, which were guessed, and all columns in the order of their naming."""

    positions: Mapping[str, int]
    guessed: frozenset[str] = frozenset()
    places: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def find(columns: Sequence[str], name: str, option: Marked) -> int:
    """The position of the column the user named: exact first, then ignoring case.

    >>> find(["Item", "label"], "item", opt.item)
    0
    """
    exact = [i for i, column in enumerate(columns) if column == name]
    hits = exact or [i for i, column in enumerate(columns) if column.casefold() == str(name).casefold()]
    if len(hits) == 1:
        return hits[0]
    if hits:
        names = ", ".join(f"{shown(columns[i])} (column {i + 1})" for i in hits)
        raise ColumnError(
            f"{option(name)} fits {len(hits)} columns: {names}; rename one of them, or give the exact name"
        )
    if name.endswith("…"):  # as messages shorten it
        cut = [i for i, column in enumerate(columns) if column.startswith(name[:-1])]
        if len(cut) == 1:
            return cut[0]
    near = nearest(str(name), columns)
    hint = f"did you mean {shown(near)}? Columns" if near is not None else "columns"
    raise ColumnError(f"{option(name)}: there is no such column; {hint}: {listed(columns)}")


def resolve(
    columns: Sequence[str],
    named: Mapping[str, str | None],
    roles: Sequence[str],
    taken: frozenset[int] = frozenset(),
) -> Roles:
    """The columns of the wanted roles: those the user named, and guesses for the others from the remaining columns.

    >>> roles = resolve(["task_id", "worker", "answer"], {}, ["item", "annotator", "label"])
    >>> dict(roles.positions), sorted(roles.guessed)
    ({'item': 0, 'annotator': 1, 'label': 2}, ['annotator', 'item', 'label'])
    """
    chosen = {role: find(columns, name, opt[role]) for role in roles if (name := named.get(role)) is not None}
    for (role, position), (other, same) in combinations(chosen.items(), 2):
        if position == same:
            raise ColumnError(
                f"column {shown(columns[position])} was given for {opt[role]} and for {opt[other]}; "
                f"each needs a separate column (columns: {listed(columns)})"
            )
    taken |= set(chosen.values())
    positions = {role: chosen[role] if role in chosen else _guess(columns, role, taken) for role in roles}
    resolved = {role: position for role, position in positions.items() if position is not None}
    return Roles(resolved, frozenset(resolved.keys() - chosen.keys()))


def fitting(columns: Sequence[str], pattern: str) -> list[int]:
    """The columns that fit a pattern such as rater_*; none if it is the name of a column, or no pattern."""
    if "*" not in pattern or pattern in columns:
        return []
    return [i for i, name in enumerate(columns) if fnmatchcase(name, pattern.replace("[", "[[]"))]


def several(columns: Sequence[str], names: Sequence[str], option: Marked = opt.label) -> list[int]:
    """The positions of columns given as a list.

    >>> several(["id", "ann", "bob"], ["bob", "ann"]), several(["id", "rater_1", "rater_2"], ["rater_*"])
    ([2, 1], [1, 2])
    """
    positions = [p for name in names for p in (fitting(columns, name) or [find(columns, name, option)])]
    twice = [columns[position] for position in positions if positions.count(position) > 1]
    if twice:
        raise ColumnError(f"{option} names the column {shown(twice[0])} twice; name each column once")
    return positions


def _guess(columns: Sequence[str], role: str, taken: frozenset[int]) -> int | None:
    """The strongest common name; several equally strong ones are an error (time: no guess)."""
    for names in ranked(role) if role in GUESSED else ():
        hits = [i for i, column in enumerate(columns) if plain_name(column) in names and i not in taken]
        if len(hits) == 1:
            return hits[0]
        if hits and role == TIME:
            return None
        if hits:
            matches = [columns[i] for i in hits]
            both = f", or both: {opt.item(matches[:2])}" if role == ITEM else ""
            which = f"say which one, such as {opt[role](matches[0])}{both}"
            remedy = "rename one of them" if len(set(matches)) == 1 else which
            raise ColumnError(
                f"{len(hits)} columns could be the {role}: {listed(matches)}; {remedy} (columns: {listed(columns)})"
            )
    return None


LONGEST_LABEL, MOST_ANSWERS = 30, 20  # characters, on average, and different answers; more are texts
FEWEST_TELLING = 5  # rows that must all differ before a column counts as ids
LONGEST_NAME = 4  # words
FEWEST_ROWS = 3  # below this, shared values prove nothing
RARELY, ENOUGH = 0.2, 10  # a column whose cells rarely occur in the others, of enough cells, is not one of them

MOMENT = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T,].*)?|\d{1,2}:\d{2}(:\d{2})?( ?[AP]M)?"
EMAIL = r"[^@\s]+@[^@\s]+\.[a-zA-Z]+"
ADDRESS = r"\d{1,3}(\.\d{1,3}){3}|[a-z]+://\S+"
ELSEWHERE = re.compile(f"{MOMENT}|{EMAIL}|{ADDRESS}")
TIMES, TEXTS = "times or addresses", "texts"
GUESSED = (ITEM, ANNOTATOR, LABEL, TIME)


OBJECT = re.compile(r"""\[?\{\s*(["'])(?:(?!\1).)*\1\s*:.*\}\]?""", re.DOTALL)  # a set has no colons
ADDRESSES = ("http://", "https://")  # how the address of an item starts


@dataclass(frozen=True)
class Sampled:
    """A column, as far as the first rows show it.

    >>> Sampled(0, "ann", ("yes", "no", None, "yes")).values
    Counter({'yes': 2, 'no': 1})
    """

    position: int
    name: str
    cells: tuple[object, ...]

    @cached_property
    def values(self) -> Counter[str]:
        """How often each value occurs; empty cells are left out."""
        try:
            cells = Counter(self.cells)  # each value is looked at once
        except TypeError:  # lists
            return Counter(text for value in self.cells if (text := plain_text(value)))
        values = Counter[str]()
        for value, times in cells.items():
            if text := plain_text(value):
                values[text] += times
        return values

    @cached_property
    def plain_name(self) -> str:
        """The name without case and separators."""
        return plain_name(self.name)

    @cached_property
    def is_derived(self) -> bool:
        """Whether it is named like a figure computed from the others; a question of a survey is not."""
        words_in_name = words_of(self.name)
        is_question = len(words_in_name) > LONGEST_NAME or self.name.rstrip().endswith("?")
        return bool(words("derived") & set(words_in_name)) and not is_question

    @cached_property
    def is_beside_labels(self) -> bool:
        """Whether it is named like what annotators fill in beside the label, such as their confidence."""
        return bool(words("beside_labels") & set(words_of(self.name)))

    @cached_property
    def is_total(self) -> bool:
        """Whether it is named like a total beside columns of counts."""
        return set(words_of(self.name)) <= words("totals")

    @cached_property
    def is_unique(self) -> bool:
        """Whether every row has a value, and no two rows the same."""
        return len(self.values) == len(self.cells)

    @cached_property
    def is_id(self) -> bool:
        """Whether every row has a different value, and there are enough rows to tell."""
        return self.is_unique and len(self.cells) >= FEWEST_TELLING

    @cached_property
    def is_text(self) -> bool:
        """Whether its cells are long, and of many kinds: texts."""
        return len(self.values) > MOST_ANSWERS and sum(map(len, self.values)) > LONGEST_LABEL * len(self.values)

    @cached_property
    def is_elsewhere(self) -> bool:
        """Whether it holds times, e-mails or addresses, which forms and spreadsheets add to the ratings."""
        return bool(self.values) and all(ELSEWHERE.fullmatch(value) for value in self.values)

    @cached_property
    def is_nested(self) -> bool:
        """Whether all cells are lists or objects."""
        return bool(self.values) and all(is_list(text) or is_object(text) for text in self.values)

    @cached_property
    def is_people(self) -> bool:
        """Whether it holds e-mails, or is named like a column of people."""
        is_mail = bool(self.values) and all(re.fullmatch(EMAIL, value) for value in self.values)
        return is_mail or self.plain_name in words("people")

    @cached_property
    def is_switch(self) -> bool:
        """Whether all cells are 0 or 1: a class in a one-hot table."""
        return bool(self.values) and all(value.casefold() in words("on", "off") for value in self.values)

    @cached_property
    def is_whole(self) -> bool:
        """Whether every row holds a whole number from 0 up, as counts do."""
        return sum(self.values.values()) == len(self.cells) > 0 and all(value.isdecimal() for value in self.values)

    def shared(self, others: Iterable[Sampled]) -> float:
        """The share of its cells whose value occurs in another column; NA and the like count only if they do."""
        elsewhere: set[str] = set().union(*(other.values.keys() for other in others if other is not self))
        same = sum(n for value, n in self.values.items() if value in elsewhere)
        unshared = ((value, n) for value, n in self.values.items() if value not in elsewhere)
        total = same + sum(n for value, n in unshared if value.casefold() not in words("empty"))
        return same / total if total else 0.0


def plain_text(value: object) -> str:
    """A value as text; whole numbers have no decimals.

    >>> plain_text(2.0), plain_text("2.0"), plain_text(float("nan"))
    ('2', '2.0', '')
    """
    if type(value) is str:
        return value.strip()
    if is_missing(value):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def is_list(text: str) -> bool:
    """Whether a text is written like a list.

    >>> is_list('["yes", "no"]'), is_list("yes")
    (True, False)
    """
    return text.startswith("[") and text.endswith("]")


def is_object(text: str) -> bool:
    """Whether a text is an object in JSON or in Python, or a list of them.

    >>> is_object('{"a": 1}'), is_object('{"'), is_object('[{"a": 1}]')
    (True, False, True)
    """
    return OBJECT.fullmatch(text) is not None or text == "{}"


def names_link(column: str) -> bool:
    """Whether a column or field has the name of one that holds an item's address.

    >>> names_link("Task URL"), names_link("text")
    (True, False)
    """
    return plain_name(column) in words("links")


def columns_at(table: Table, positions: Sequence[int]) -> dict[int, Sampled]:
    """The columns at these positions, as far as the first rows go; an engine without an order gives any rows."""
    if not positions:
        return {}
    if table.sample:
        rows, places = table.sample, {p: p for p in positions}
    else:
        rows = collected(table.load(positions).select([cell(p) for p in positions]).head(SAMPLE_ROWS))
        places = {p: i for i, p in enumerate(positions)}
    try:
        cells = {p: tuple(map(itemgetter(i), rows)) for p, i in places.items()}
    except IndexError:  # a row that is too short, which is refused when it is loaded
        cells = {p: tuple(row[i] if i < len(row) else None for row in rows) for p, i in places.items()}
    return {p: Sampled(p, table.columns[p], values) for p, values in cells.items()}


ITEMS_LOOKED_AT = 200
FILLED_ROWS = 100  # of a column that is empty elsewhere


def everywhere(table: Table, keys: Sequence[int] = (), kept: Collection[int] = ()) -> Table:
    """The table with rows from all over it as its sample, because an annotator or a gold label may begin late.

    With ``keys``, the columns of the item, these are all annotations of some items: in a table that is sorted by
    annotator, its first rows hold one annotation of each. A column that is empty there brings some rows of its own.
    Columns of texts are not read, unless they are ``kept``, because they hold neither labels nor flags.
    """
    if table.is_whole or (table.is_ordered and not table.sample):
        return table
    rows = table.small() if table.small is not None else ()
    spread = _among(rows, keys) if rows else _fetched(table, keys, kept)
    return replace(table, sample=spread, is_spread=True, shares=()) if spread else table


def _among(rows: Sequence[tuple[object, ...]], keys: Sequence[int]) -> list[tuple[object, ...]]:
    """Rows from all over a small file."""
    step = max(1, len(rows) // (ITEMS_LOOKED_AT if keys else SAMPLE_ROWS))
    items = {tuple(row[p] for p in keys) for row in rows[::step]}
    ends = {*range(FILLED_ROWS), *range(len(rows) - FILLED_ROWS, len(rows))}
    chosen = [i for i, row in enumerate(rows) if (tuple(row[p] for p in keys) in items if keys else not i % step)]
    chosen = sorted(set(chosen[: 2 * SAMPLE_ROWS]) if keys else ends.union(chosen))
    for p in range(len(rows[0])):
        if not any(rows[i][p] for i in chosen):
            chosen += islice((i for i, row in enumerate(rows) if row[p]), FILLED_ROWS)
    return [rows[i] for i in sorted(set(chosen))]


def _fetched(table: Table, keys: Sequence[int], kept: Collection[int]) -> list[tuple[object, ...]]:
    """The same from the engine."""
    columns = columns_at(table, range(len(table.columns)))
    plain = [p for p, column in columns.items() if p in keys or p in kept or not column.is_text]
    frame, names = table.load(plain), [cell(p) for p in plain]
    row = [ROW] if ROW in frame.collect_schema().names() else []
    if row:
        total, numbers, number = size(frame), nw.col(ROW) - table.first_row, f"({ROW} - {table.first_row})"
        step, last = max(1, total // (ITEMS_LOOKED_AT if keys else SAMPLE_ROWS)), total - FILLED_ROWS
        spread = where(frame, numbers % step == 0, f"{number} % {step} = 0")
        wanted = f"{number} % {step} = 0 OR {number} < {FILLED_ROWS} OR {number} >= {last}"
        found = where(frame, (numbers % step == 0) | (numbers < FILLED_ROWS) | (numbers >= last), wanted)
    else:
        found, keys = frame.head(SAMPLE_ROWS), ()
    if keys:
        item = cell(keys[0])
        items = [name for (name,) in collected(spread.select(item)) if name is not None]
        listed_items = ", ".join(sql_literal(str(name)) for name in items) or "NULL"
        found = where(frame, nw.col(item).is_in(items), f"{item} IN ({listed_items})").head(2 * SAMPLE_ROWS)
    rows = collected(found.select(*row, *names))
    for place, name in enumerate(names, len(row)):
        if all(each[place] is None for each in rows):
            rows += collected(frame.filter(~nw.col(name).is_null()).select(*row, *names).head(FILLED_ROWS))
    rows = sorted({each[0]: each for each in rows}.values(), key=itemgetter(0)) if row else rows
    cells = dict(zip(plain, islice(zip(*rows, strict=True), len(row), None), strict=True)) if rows else {}
    texts = {p: islice(cycle(column.cells), len(rows)) for p, column in columns.items()}  # of the first rows
    return list(zip(*(cells.get(p, texts[p]) for p in texts), strict=True))


def row_keys(table: Table, positions: Sequence[int]) -> list[str]:
    """The texts of these columns in each of the first rows, such as the item or the annotator of a row."""
    if len(positions) == 1:
        (p,) = positions
        return [plain_text(row[p]) if p < len(row) else "" for row in table.sample]
    return [" | ".join(plain_text(row[p]) for p in positions if p < len(row)) for row in table.sample]


def link_column(table: Table, items: Sequence[int], taken: Collection[int]) -> int | None:
    """A free column named like a link whose cells, as far as the first rows show, hold one web address per item.

    The cards of the report link to it.
    """
    for position, name in enumerate(table.columns):
        if position not in taken and names_link(name):
            cells = set(zip(row_keys(table, items), row_keys(table, [position]), strict=True))
            links = [link for _, link in cells if link]
            is_one_each = not items or len(links) == len({item for item, link in cells if link})
            if links and is_one_each and all(value.startswith(ADDRESSES) for value in links):
                return position
    return None


@dataclass(frozen=True, slots=True)
class Sorted:
    """Columns of ratings, in groups that share values (the largest first), and the other columns."""

    groups: Sequence[tuple[int, ...]]
    aside: Mapping[int, str]

    @property
    def rated(self) -> tuple[int, ...]:
        """The largest group, in the order of the table."""
        return self.groups[0] if self.groups else ()


def sort_out(columns: Mapping[int, Sampled], *, is_form: bool = False) -> Sorted:
    """Separate the columns of ratings from text, notes, times, ids and computed columns.

    Annotators share a scale, so a column whose values never occur in the others holds no ratings.
    """
    aside = {position: reason for position, column in columns.items() if (reason := _reason(column, is_form))}
    if aside.keys() == columns.keys():  # dates, or long texts, are what people were asked for
        aside = {position: reason for position, reason in aside.items() if reason not in (TIMES, TEXTS)}
    left = {position: column for position, column in columns.items() if position not in aside}

    def put_aside(positions: Iterable[int], reason: str) -> None:
        for position in positions:
            aside[position] = reason
            del left[position]

    put_aside(_companions(left), "named after another column")
    put_aside(_named_flags(left), "named like a flag")
    derived = [p for p in left if left[p].is_derived]
    put_aside(derived if len(left) - len(derived) > 1 else (), "named like a figure computed from the others")
    groups = [tuple(left)] if left else []
    if any(len(column.cells) >= FEWEST_ROWS for column in left.values()):
        # Repeated, because a column may share values only with one that turned out to hold no ratings.
        while (strangers := _strangers(left)) and len(strangers) < len(left):
            put_aside(strangers, "values that do not occur in the other columns")
        groups = _groups(left)
    return Sorted(groups, dict(sorted(aside.items())))


def _strangers(columns: Mapping[int, Sampled]) -> list[int]:
    """The columns whose values occur in no other, or rarely in a column of many cells."""
    shared = {p: column.shared(columns.values()) for p, column in columns.items()}
    return [p for p, part in shared.items() if part < RARELY and (part == 0 or columns[p].values.total() >= ENOUGH)]


def without_flags(columns: Mapping[int, Sampled]) -> dict[int, Sampled]:
    """Columns of classes without those that say something else about a row: is_done, or True among 0 and 1.

    >>> cells = {"class_1": ("1", "0"), "class_2": ("0", "1"), "is_done": ("1", "1"), "unclear": ("False", "True")}
    >>> columns = {p: Sampled(p, name, values) for p, (name, values) in enumerate(cells.items())}
    >>> [column.name for column in without_flags(columns).values()]
    ['class_1', 'class_2']
    """
    flags = _named_flags(columns)
    if all(column.is_switch for column in columns.values()):
        numbers = {p for p, column in columns.items() if column.values.keys() <= {"0", "1"}}
        flags |= columns.keys() - numbers if 2 * len(numbers) >= len(columns) else numbers
    kept = {p: column for p, column in columns.items() if p not in flags}
    return kept if len(kept) > 1 else dict(columns)


def _named_flags(columns: Mapping[int, Sampled]) -> set[int]:
    """The columns called done, is_done and the like, unless most are."""
    parts = {p: words_of(column.name) or [""] for p, column in columns.items()}
    begin, end = words("flag_beginnings"), words("flag_endings")
    flags = {p for p, names in parts.items() if names[0] in begin or names[-1] in end}
    flags |= {p for p, column in columns.items() if column.plain_name in words("flags")}
    return flags if 2 * len(flags) < len(columns) else set()


def without_sums(columns: Mapping[int, Sampled]) -> dict[int, Sampled]:
    """Columns of whole numbers without those that count or add up the others.

    >>> cells = {"yes": (2, 1, 3), "no": (1, 2, 0), "all": (3, 3, 3)}
    >>> columns = {p: Sampled(p, name, values) for p, (name, values) in enumerate(cells.items())}
    >>> [column.name for column in without_sums(columns).values()]
    ['yes', 'no']
    """
    same = [p for p, each in columns.items() if len(each.values) == 1 and len(each.cells) >= FEWEST_TELLING]
    constant = [p for p in same if "0" not in columns[p].values]  # no class is chosen equally often for every item
    several = len(columns) - len(constant) > 1
    classes = without_flags({p: each for p, each in columns.items() if not (several and p in constant)})
    kept = {p: column for p, column in classes.items() if not column.is_total}
    kept = kept if len(kept) > 1 and not are_even([*classes.values()]) else classes
    for position, column in list(kept.items()):
        rest = [other for other in kept.values() if other is not column]
        if len(rest) > 1 and len(column.cells) >= FEWEST_ROWS and all(each.is_whole for each in (column, *rest)):
            rows = whole_rows((*rest, column))
            if any(row[-1] for row in rows) and all(sum(row[:-1]) == row[-1] for row in rows):
                del kept[position]
    if are_even([*kept.values()]):
        return kept
    odd = [p for p in kept if are_even([kept[other] for other in kept if other != p])]
    if len(odd) == 1:
        return {p: column for p, column in kept.items() if p not in odd}
    whole = {p: column for p, column in kept.items() if column.is_whole}
    varying = [each for each in columns.values() if each.is_whole and len(each.values) > 1]
    sums = {tuple(row[0] for row in whole_rows([each])) for each in varying}
    for wanted in range(min(len(whole), MOST_CLASSES, len(kept) - 1), 1, -1):  # the most that add up
        for start in range(len(whole) - wanted + 1):
            part = dict(islice(whole.items(), start, start + wanted))
            if are_even([*part.values()]) or tuple(map(sum, whole_rows(part.values()))) in sums:
                return part
    others = {p: c for p, c in kept.items() if c.is_total or not words("measures") & set(words_of(c.name))}
    return others if len(others) > 1 else kept


MOST_CLASSES = 30  # columns that are tried together


def as_pivot(columns: Sequence[Sampled]) -> list[Sampled]:
    """The columns of a pivot table, where an empty cell means 0, which is not written beside it.

    As many cells in every row are what some annotators of many said.

    >>> [column.cells for column in as_pivot([Sampled(0, "yes", ("2", "")), Sampled(1, "no", ("1", "3"))])]
    [('2', '0'), ('1', '3')]
    >>> [column.cells for column in as_pivot([Sampled(0, "ann", ("2", "")), Sampled(1, "bob", ("", "3"))])]
    [('2', ''), ('', '3')]
    """
    sizes = {sum(plain_text(value) != "" for value in row) for row in rows_of(columns)}
    is_pivot = (len(sizes) > 1 or sizes == {len(columns)}) and not any("0" in column.values for column in columns)
    empty = "0" if is_pivot else ""
    return [replace(column, cells=tuple(plain_text(value) or empty for value in column.cells)) for column in columns]


def counted_as(rows: Sequence[tuple[int, ...]]) -> str:
    """Why rows of whole numbers look like counts of classes: one sum, or some high where others are low.

    >>> counted_as([(3, 0), (2, 1), (0, 3)]), counted_as([(4, 5), (0, 1), (2, 2)])
    ('every row adds up to 3', '')
    """
    sums = {sum(row) for row in rows}
    if len(sums) == 1 and len(set(rows)) > 1:
        return f"every row adds up to {sums.pop()}"
    means = [sum(cells) / len(rows) for cells in zip(*rows, strict=True)]
    apart = [[value - mean for value, mean in zip(row, means, strict=True)] for row in rows]
    squares = sum(value**2 for row in apart for value in row)
    opposed = squares - sum(sum(row) ** 2 for row in apart)  # as much as the squares where every sum is the same
    has_counts = any(0 in row for row in rows) and any(max(row) > 1 for row in rows)
    return "where one is high, the others are low" if has_counts and opposed > OPPOSED * squares else ""


OPPOSED = 0.4  # of the most that columns can be opposed; ratings of one item are not


def are_even(columns: Sequence[Sampled]) -> bool:
    """Whether several columns add up to the same number, two or more, in every row, as counts of classes do."""
    if len(columns) <= 1 or len(columns[0].cells) < FEWEST_TELLING or not all(column.is_whole for column in columns):
        return False
    rows = whole_rows(columns)
    sums = {sum(row) for row in rows}
    return len(sums) == 1 and max(sums) > 1 and len(set(rows)) > 1


def rows_of(columns: Iterable[Sampled]) -> Iterator[tuple[object, ...]]:
    """The rows of some columns."""
    return zip(*(column.cells for column in columns), strict=True)


def whole_rows(columns: Iterable[Sampled]) -> list[tuple[int, ...]]:
    """The rows of columns of whole numbers.

    >>> whole_rows([Sampled(0, "yes", (2.0, 1.0)), Sampled(1, "no", ("1", "2"))])
    [(2, 1), (1, 2)]
    """
    return [tuple(int(plain_text(value)) for value in row) for row in rows_of(columns)]


def _reason(column: Sampled, is_form: bool) -> str:
    if not column.values:
        return "empty"
    if column.is_elsewhere:
        return TIMES
    if column.is_text:
        return TEXTS
    if is_form and (column.plain_name in words("forms", "about_people") or _asks_consent(column.name)):
        return "added by the form"
    return ""


def _asks_consent(name: str) -> bool:
    """Whether a question asks to take part.

    >>> _asks_consent("I consent to the study."), _asks_consent("Is this consensus?")
    (True, False)
    """
    return re.search(rf"\b({'|'.join(phrases('consent'))})\b", name, re.IGNORECASE) is not None


def _companions(columns: Mapping[int, Sampled]) -> list[int]:
    """Columns named like several others with the same addition: "R1 conf" and "R2 conf" beside "R1" and "R2".

    >>> names = ["R1", "R1 conf", "R2", "R2 conf", "R3"]
    >>> _companions({p: Sampled(p, name, ()) for p, name in enumerate(names)})
    [1, 3]
    >>> names = ["Maria", "sure (Maria)", "Jo", "sure (Jo)"]
    >>> _companions({p: Sampled(p, name, ()) for p, name in enumerate(names)})
    [1, 3]
    """
    names = {column.name for column in columns.values()}
    additions: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for position, column in columns.items():
        for gap in re.finditer(r"[\W_]+", column.name):
            before, after = column.name[: gap.start()], column.name[gap.end() :].rstrip(")]")
            if before in names or (before and after in names):
                addition = ("", column.name[gap.start() :]) if before in names else (before, "")
                additions[addition].append(position)
                break
    return sorted(p for group in additions.values() if len(group) > 1 for p in group)


def _groups(columns: Mapping[int, Sampled]) -> list[tuple[int, ...]]:
    """Columns joined by shared values, the largest group first."""
    groups: list[tuple[list[int], set[str]]] = []
    for position, column in columns.items():
        meeting = [group for group in groups if not group[1].isdisjoint(column.values)]
        members = sorted([position, *(p for group in meeting for p in group[0])])
        groups = [group for group in groups if group not in meeting]
        groups.append((members, set(column.values).union(*(group[1] for group in meeting))))
    return sorted((tuple(members) for members, _ in groups), key=lambda group: (-len(group), group))


def is_data(columns: Collection[Sampled]) -> bool:
    """Whether a header looks like a row: most of its cells are like those below, each in its own column.

    >>> is_data([Sampled(0, "s1", ("s2", "s3")), Sampled(1, "yes", ("no", "yes"))])
    True
    """
    named = [column for column in columns if column.name and not column.name.isdecimal()]  # numbers may be classes
    like_below = 0
    for column in named:
        shape = _shape(column.name)
        like_below += column.name in column.values or (shape != "" and any(_shape(v) == shape for v in column.values))
    return 2 * like_below >= len(named) > 0 and len(columns) > 1


def _shape(text: str) -> str:
    """What an id has in common with the others of its column; nothing if it is a plain word.

    >>> _shape("s12"), _shape("['yes', 'no']"), _shape("label")
    ('s#', '[…]', '')
    """
    if is_list(text) or is_object(text):
        return "[…]"
    shape = re.sub(r"\d+", "#", text)
    return shape if shape != text else ""


def may_be_labels(table: Table, sampled: Iterable[Sampled], keys: Sequence[Sequence[int]]) -> list[Sampled]:
    """The columns that may hold labels: few, repeated values that are not times, and that none of these keys decides.

    Not those that annotators fill in beside the label.
    """
    filled = [each for each in sampled if each.values and not (each.is_elsewhere or each.is_beside_labels)]
    few = [each for each in filled if 1 < len(each.values) <= max(2, each.values.total() // 3)]
    return [each for each in few if not any(table.follows(key, each.position) for key in keys)]
