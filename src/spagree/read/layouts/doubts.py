"""What a table looks like although it is read as something else: one entry per doubt.

An entry says of which layouts it is asked, what it needs to see, and whether it refuses the table; its
function looks at a view and yields what the user is told, with the remedy, once for each finding. A view is a
table as it is read or as it would be read: of the first rows, or of all of them. A doubt that refuses raises
an error before anything is loaded; the others become warnings.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, combinations, product
from math import log

from spagree.errors import ColumnError, DataError, DuplicateError, SpansError, Warning, count, opt
from spagree.read import columns
from spagree.read.annotations import ANNOTATOR, CLUSTER, COUNT, ITEM, LABEL
from spagree.read.columns import Sampled, is_list, is_object, plain_text, row_keys, rows_of, whole_rows
from spagree.read.layouts.lists import are_parallel, fields, listed_values, parted, separator_of
from spagree.read.request import EACH_ROW, Request
from spagree.read.table import MOST_NAMED, Table, listed, shown
from spagree.read.where import Condition
from spagree.read.words import is_item, is_numbered, is_person, named_like, phrases, plain_name, ranked, words, words_of

LONG, WIDE, TRANSPOSED, COUNTS, ONE_HOT = "long", "wide", "transposed", "counts", "one-hot"
UNKNOWN = "unknown"  # before a layout is found
UNSORTED = "unsorted"  # one of the next three, before the columns to compare are chosen
BROAD = {WIDE: "annotator", TRANSPOSED: "item", COUNTS: "class"}  # and what each of their columns is
REPEATED = "repeated"  # wide, where an annotator may not label an item twice
QUESTION = "question"


@dataclass(frozen=True)
class View:
    """A table as it is read: what doubts look at.

    ``places``: the columns of each role; ``compared``: those of annotators, items or classes of a broad table;
    ``guessed``: the roles that nobody named; ``request``: what the user asked; ``question``: the column of
    the questions of a long table; ``stage``: the layout, or one of UNKNOWN, UNSORTED and REPEATED.
    """

    table: Table
    layout: str
    places: Mapping[str, Sequence[int]]
    compared: Sequence[int] = ()
    guessed: Collection[str] = ()
    request: Request = field(default_factory=Request)
    question: int | None = None
    stage: str = ""
    _columns: dict[int, Sampled] = field(default_factory=dict, init=False)  # of this table's rows

    def columns(self, positions: Iterable[int]) -> list[Sampled]:
        """What these columns hold."""
        wanted = list(positions)
        self._columns.update(columns.columns_at(self.table, [p for p in wanted if p not in self._columns]))
        return [self._columns[p] for p in wanted]

    def column(self, role: str) -> Sampled:
        """What the first column of a role holds."""
        return self.columns(self.places[role][:1])[0]

    def named(self, positions: Iterable[int], limit: int = 30) -> str:
        """The names of these columns, as a message shows them."""
        return listed([self.table.columns[p] for p in positions], limit)

    @cached_property
    def ratings(self) -> list[Sampled]:
        """The columns that are compared."""
        return self.columns(self.compared)

    @property
    def kept(self) -> list[Sampled]:
        """The same without those of annotators who are left out."""
        return [column for column in self.ratings if column.name not in self.request.excluded]

    @cached_property
    def whole(self) -> list[tuple[int, ...]]:
        """The rows of the columns that are compared, if all are whole numbers."""
        return whole_rows(self.ratings) if all(column.is_whole for column in self.ratings) else []

    @cached_property
    def items(self) -> list[str]:
        """The item of each row."""
        return row_keys(self.table, self.places.get(ITEM, ()))

    @cached_property
    def answers(self) -> Collection[Mapping[str, str]]:
        """The labels that annotators gave each item, as far as is known who did; the last of one annotator's."""
        if self.layout != LONG:
            rows = (map(plain_text, row) for row in rows_of(self.kept))
            return [{c.name: label for c, label in zip(self.kept, row, strict=True) if label} for row in rows]
        items: defaultdict[str, dict[str, str]] = defaultdict(dict)
        excluded = self.request.excluded
        if ANNOTATOR in self.places:
            people, labels = (row_keys(self.table, self.places[role]) for role in (ANNOTATOR, LABEL))
            for item, who, label in zip(self.items, people, labels, strict=True):
                if who and label and who not in excluded:
                    items[item][who] = label
        return items.values()

    def of_items(self, position: int) -> dict[str, set[str]]:
        """The values of a column for each item that has any."""
        values: defaultdict[str, set[str]] = defaultdict(set)
        for item, cell in zip(self.items, self.columns([position])[0].cells, strict=False):
            if text := plain_text(cell):
                values[item].add(text)
        return values

    def free(self, *names: str) -> list[int]:
        """The columns without a role; with lists, those that they name."""
        return self.table.free(self.places, *names)

    def unchosen(self, *names: str) -> list[int]:
        """The same without the columns that --where names."""
        chosen = [condition.column for condition in self.request.conditions()]
        return [p for p in self.free(*names) if self.table.columns[p] not in chosen]

    def different(self, *roles: str) -> int:
        """How many combinations of values the columns of these roles have."""
        return self.table.different([p for role in roles for p in self.places[role]])

    @cached_property
    def is_one_each(self) -> bool:
        """Whether every row has an item of its own."""
        return self.different(ITEM) == len(self.table.sample)


Says = Iterator[str | tuple[str, list[str]]]
"""What a doubt tells the user; an error may have further lines."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """When a doubt about a table is asked; the function below it sees it, and is called like its public code.

    ``of``: layouts, or UNSORTED; ``rows``: the fewest; ``guessed``: a role that was guessed; ``needs`` and
    ``lacks``: roles that have a column, and that have none; ``beside``: there are columns without a role;
    ``refuses``: the error, if the table is not read.
    """

    of: Collection[str]
    rows: int = 1
    guessed: str = ""
    needs: str = ""
    lacks: tuple[str, ...] = ()
    beside: bool = False
    refuses: type[DataError] | None = None

    def __call__(self, seen: Callable[[View], Says]) -> Callable[[View], Says]:
        """Enter it in the table of all doubts."""
        DOUBTS[seen.__name__] = (self, seen)
        return seen


DOUBTS: dict[str, tuple[Doubt, Callable[[View], Says]]] = {}


def refuse(view: View) -> None:
    """Refuse a table that is certainly not what it is read as."""
    for code, says in _found(view, refusing=True):
        sentence, lines = says if isinstance(says, tuple) else (says, [])
        raise (DOUBTS[code][0].refuses or DataError)(f"{view.table.name}: {sentence}", lines)


def warnings(view: View) -> tuple[Warning, ...]:
    """What else the table looks like."""
    return tuple(Warning(code, str(says)) for code, says in _found(view, refusing=False))


def _found(view: View, *, refusing: bool) -> Iterator[tuple[str, str | tuple[str, list[str]]]]:
    """What the doubts see that are about such a view."""
    stage, known = view.stage or view.layout, {*view.places, *([] if view.question is None else [QUESTION])}
    size = len(view.ratings[0].cells) if view.compared else len(view.table.sample)
    has_free = bool(view.table.free(view.places))
    for code, (doubt, seen) in DOUBTS.items():
        is_asked = (doubt.refuses is not None) == refusing and stage in doubt.of and size >= doubt.rows
        has_all = {doubt.needs} - {""} <= known and known.isdisjoint(doubt.lacks) and (has_free or not doubt.beside)
        if is_asked and has_all and (not doubt.guessed or doubt.guessed in view.guessed):
            yield from ((code, says) for says in seen(view))


# Long tables: spans, boxes and nested cells


MIN_ROWS_OF_LISTS = 20  # before nearly different values in all rows are texts
MIN_ITEMS_OF_TEXTS, NEARLY = 10, 0.8
MOST_OFFSET = 1e8  # larger numbers are times, not places in a text


@Doubt([LONG], beside=True, refuses=SpansError)
def spans(view: View) -> Says:
    """Columns of numbers, each start before its end, that differ between the rows of an item."""
    for marked in _varying_positions(view, "spans"):
        spans: defaultdict[str, set[tuple[float, float]]] = defaultdict(set)
        for item, *places in zip(view.items, *(column.cells for column in view.columns(marked)), strict=True):
            try:
                start, end = (float(str(place)) for place in places)
            except ValueError:
                if places[0] in (None, ""):
                    continue
                break
            if start > end or end > MOST_OFFSET:
                break
            spans[item].add((start, end))
        else:
            if set(marked) <= set(view.free()) and any(len(of_item) > 1 for of_item in spans.values()):
                how = f"{opt.format('spans')}, and measure_spans() in Python"
                names = view.named(marked)
                yield f"columns {names} mark spans, not classes; measure how much people agree on them with {how}"


@Doubt([LONG], beside=True, refuses=DataError)
def boxes(view: View) -> Says:
    """Columns of corners that vary within an item."""
    for marked in _varying_positions(view, "boxes"):
        yield f"columns {view.named(marked)} mark boxes, not classes; to compare boxes, use a measure made for boxes"


def _varying_positions(view: View, what: str) -> Iterator[list[int]]:
    """The columns of positions of this kind, where an item has several."""
    table, items = view.table, view.places[ITEM]
    plain = {plain_name(name): p for p, name in enumerate(table.columns)}
    for names in ranked(what):
        marked = [plain[name] for name in names if name in plain]
        if len(marked) == len(names) and table.different([*items, *marked]) > table.different(items):
            yield marked


@Doubt([LONG], refuses=DataError)
def labels_are_objects(view: View) -> Says:
    """A tool's whole answers, or those of all annotators of an item."""
    column = view.column(LABEL)
    if column.values and all(map(is_object, column.values)):
        ways = fields(column)
        remedy = "write the field that is the label into a separate column"
        if ways and view.is_one_each:
            item = each_row(view.table, view.places[ITEM])
            remedy = f"if they are all labels of an item, use {opt.format('lists')} {item} {ways[0]}"
        first = shown(next(iter(column.values)))
        yield f"column {shown(column.name)} holds objects, such as {first}, not labels; {remedy}"


def each_row(table: Table, items: Sequence[int]) -> str:
    """The item where each row is one: by these columns if they are unique, by another that is, or by its number."""
    unique = [
        column.position
        for column in columns.columns_at(table, range(len(table.columns))).values()
        if column.name and column.is_id and not (column.is_text or column.is_elsewhere or column.is_nested)
    ]
    unique.sort(key=lambda p: plain_name(table.columns[p]) not in words(ITEM))
    is_unique = set(items) <= set(unique) or (len(items) > 1 and table.different(items) == len(table.sample))
    keys = items if items and is_unique else unique[:1]
    return table.options(ITEM, keys) if keys else opt.item(EACH_ROW)


@Doubt([LONG], rows=2, refuses=DataError)
def labels_are_lists(view: View) -> Says:
    """All labels of an item in one cell: several rows have one label twice, or no item has a second row."""
    column, people = view.column(LABEL), view.columns(view.places.get(ANNOTATOR, ()))
    lists = {value: listed_values(value) for value in column.values if is_list(value)}
    is_alone = view.is_one_each and all(are_parallel(who, column) for who in people)
    if is_alone and not lists and (several := parted(column)):
        mark = separator_of(column.values)
        lists = {value: [part.strip() for part in value.split(mark)] for value in several}
        kinds = {part for parts in lists.values() for part in parts}
        lists = lists if len(lists) >= NEARLY * len(column.values) and 2 * len(kinds) <= len(column.cells) else {}
    repeated = [value for value, parts in lists.items() if len(set(parts)) < len(parts)]
    if lists and (repeated or (is_alone and len(lists) >= NEARLY * len(column.values))):
        first = shown([*repeated, *lists][0])
        why = ", which has one value twice and so is no set" if repeated else " in the one row of each item"
        options = f"{opt.format('lists')} {each_row(view.table, view.places[ITEM])} {opt.label(column.name)}"
        options += "".join(f" {opt.annotator(who.name)}" for who in people)
        yield (
            f"column {shown(column.name)} holds lists, such as {first}{why}: if these are the labels of several "
            f"annotators, use {options}"
        )


@Doubt([LONG], refuses=DataError)
def labels_and_lists(view: View) -> Says:
    """A label alone in some rows and as the only one of a list in others."""
    column = view.column(LABEL)
    for value in column.values:
        if is_list(value) and len(alone := listed_values(value)) == 1 and alone[0] in column.values:
            one = f"{shown(value)} as well as {shown(alone[0])}"
            yield f"column {shown(column.name)} holds {one}, which would be two labels; write all of them in one way"


@Doubt([LONG], guessed=LABEL, beside=True, refuses=ColumnError)
def labels_side_by_side(view: View) -> Says:
    """Columns label, label.1 … as pandas calls repeated columns."""
    table, (label,) = view.table, view.places[LABEL]
    again = re.compile(re.escape(table.columns[label]) + r"[._ ]?\d+", re.IGNORECASE)
    every = [label, *(p for p in view.free() if again.fullmatch(table.columns[p]))]
    first, *others = view.columns(every)
    if any(column.shared([first]) for column in others) and view.is_one_each:
        options = f"{opt.format('wide')} {table.options(ITEM, view.places[ITEM])} {table.options(LABEL, every)}"
        yield (
            f"one row per item, and several columns of labels ({view.named(every)}); to compare them: {options}; to "
            "know who gave which label, write one row per label"
        )


@Doubt([LONG], guessed=LABEL, refuses=ColumnError)
def label_is_item_text(view: View) -> Says:
    """A guessed label that is part of the item, if its name allows that: nearly all values are different."""
    table, label, rows = view.table, view.places[LABEL], len(view.table.sample)
    name, few, values = plain_name(table.columns[label[0]]), view.different(ITEM), table.different(label)
    if name not in words("doubtful_labels") or few < MIN_ITEMS_OF_TEXTS:
        return
    is_one_each = view.different(ITEM, LABEL) == few < rows and values > NEARLY * few
    is_text = name != "value" and rows >= MIN_ROWS_OF_LISTS and values > NEARLY * rows
    if is_one_each or is_text:
        where = "for each item, the same from all its annotators" if is_one_each else "in nearly every row"
        options = " or ".join([opt.label(other.name) for other in _other_labels(view)[:MOST_NAMED]] or [opt.label])
        yield (
            f"column {view.named(label)} has a different value {where}, so it does not look like the label; name the "
            f"column of the label with {options} (columns: {listed(table.columns)})"
        )


def _other_labels(view: View) -> list[Sampled]:
    """The other columns that may hold labels: they vary within items and annotators."""
    keys = [view.places[role] for role in (ITEM, ANNOTATOR) if len(view.places.get(role, ())) == 1]
    return columns.may_be_labels(view.table, view.columns(view.free()), keys)


# Long tables: another column is the item or the label


FEW_ITEMS, FEW_ROWS = 20, 20
MIN_ROWS_TO_DOUBT_LABEL = 10
FEWEST_REPEATED = 10  # items with several rows
FEWEST_CLUSTERED = 9  # items; below this, little can be seen
FOLLOWS = 0.3  # agreement beyond chance of labels with the answers that are known
MOST_TRIED = 8  # columns that may be part of the item


@Doubt([LONG], rows=2, lacks=(ANNOTATOR, COUNT), refuses=DataError)
def file_per_annotator(view: View) -> Says:
    """No item twice in the first rows of a file, but most of them in those of several files."""
    sizes = view.table.shares
    if len(sizes) < 2 or view.request.format == LONG or view.question is not None:  # noqa: PLR2004
        return
    starts = accumulate(sizes, initial=0)
    parts = [view.items[start : start + size] for start, size in zip(starts, sizes, strict=False)]
    times = Counter(item for part in parts for item in set(part))
    if all(len(set(part)) == len(part) for part in parts) and 2 * sum(n > 1 for n in times.values()) > len(times):
        yield (
            f"{view.table.files} files label the same items, and no column names annotators: if each file is one "
            f"annotator, use {opt.format('per-annotator')}; if their names are of no interest: {opt.format(LONG)}"
        )


@Doubt([LONG, ONE_HOT], rows=FEW_ROWS, guessed=ITEM, needs=ANNOTATOR, refuses=ColumnError)
def few_items(view: View) -> Says:
    """A guessed item with a handful of values that every annotator labels again and again."""
    table, few, rows = view.table, view.different(ITEM), len(view.table.sample)
    name = table.columns[view.places[ITEM][0]]
    if plain_name(name) in words("surely_items") or few > FEW_ITEMS or 2 * view.different(ITEM, ANNOTATOR) > rows:
        return
    if view.question is not None and table.different([view.question]) < few:
        return
    better = table.options(ITEM, telling(table, view.places))
    otherwise = _ids_anew(table) or f"name the columns that identify an item with {opt.item}, repeated if several"
    remedy = f"use {better}" if better else otherwise
    yield (
        f"column {shown(name)} has only {count(few, 'value')}, each labelled many times by the same annotator, so it "
        f"does not look like the item; {remedy} (columns: {listed(table.columns)})"
    )


@Doubt([LONG], rows=FEW_ROWS, guessed=ITEM, beside=True, refuses=ColumnError)
def item_constant(view: View) -> Says:
    """A guessed item that is the same in all rows, beside another column that may be the item."""
    others = [column for column in view.columns(view.free(ITEM)) if view.table.different([column.position]) > 1]
    others.sort(key=lambda column: not column.is_id)
    if others and view.different(ITEM) == 1:
        looks = "has one value in all of the first rows, so it does not look like the item"
        yield f"column {view.named(view.places[ITEM][:1])} {looks}; use {opt.item(others[0].name)}"


@Doubt([LONG], lacks=(CLUSTER,), beside=True)
def looks_clustered(view: View) -> Says:
    """A column has one value for each item, and far fewer values than items."""
    for position in view.free("groups"):
        values = view.of_items(position)
        groups = set().union(*values.values())
        is_grouping = all(len(of_item) == 1 for of_item in values.values()) and 1 < len(groups) <= len(values) / 2
        if is_grouping and len(values) >= FEWEST_CLUSTERED:
            name, found = view.table.columns[position], f"{len(values):,} items in {len(groups):,} groups"
            yield (
                f"column {shown(name)} groups items (in the first rows {found}): if items of one group have something "
                f"in common, the interval is too narrow; use {opt.cluster(name)}"
            )
            return


@Doubt([LONG], beside=True)
def control_questions(view: View) -> Says:
    """Words such as true, or known answers where other rows have none: under such a name, or labels of some items."""
    label = view.column(LABEL)
    for column in view.columns(view.unchosen()):
        if column.plain_name in words("controls"):
            if _is_key(column, label):
                continue
            marked = set(column.values) if not column.is_switch else _cells(column, words("on"))
        else:  # a label for some items, the same in all rows of one
            is_some = len(column.values) > 1 and 2 * column.values.total() < len(column.cells)
            is_known = ANNOTATOR in view.places and is_some and column.values.keys() <= label.values.keys()
            if not is_known or not all(view.table.follows([item], column.position) for item in view.places[ITEM]):
                continue
            marked = set(column.values)
        for some, without in _some_rows(column, marked):
            yield (
                f"column {shown(column.name)} marks control questions, whose answers are known ({some}): they were "
                f"counted; to leave them out: {without}"
            )


def _is_key(column: Sampled, label: Sampled) -> bool:
    """Whether a column of 0 and 1 is the answer to each item, and not a mark: labels of 0 and 1 follow it."""
    if not (column.is_switch and label.values.keys() <= column.values.keys()):
        return False
    rows = [(plain_text(a), plain_text(b)) for a, b in rows_of((column, label))]
    full = [row for row in rows if all(row)]
    same = sum(one == other for one, other in full) / max(1, len(full))
    chance = sum(column.values[value] * size for value, size in label.values.items())
    by_chance = chance / max(1, column.values.total() * label.values.total())
    return same > by_chance + FOLLOWS * (1 - by_chance)


@Doubt([LONG], beside=True)
def withdrawn(view: View) -> Says:
    """A status, or a flag, of annotations that are no longer meant."""
    for column in view.columns(view.unchosen("withdrawn", "states")):
        is_state = column.plain_name in words("states")
        for some, without in _some_rows(column, _cells(column, words("withdrawn" if is_state else "on"))):
            says = f"says that annotations were withdrawn ({some}), and they were counted"
            yield f"column {shown(column.name)} {says}; to leave them out: {without}"


@Doubt([TRANSPOSED])
def unfinished(view: View) -> Says:
    """Trials and unfinished answers, as surveys mark them."""
    for column in view.columns(view.unchosen("unfinished", "states")) if view.table.sample else ():
        marked = phrases("trials") if column.plain_name in words("states") else words("off")
        for some, without in _some_rows(column, _cells(column, marked)):
            says = f"says that answers are unfinished or previews ({some} rows), and they were counted"
            yield f"column {shown(column.name)} {says}; to leave them out: {without}"


def _cells(column: Sampled, marks: Collection[str]) -> set[str]:
    return {value for value in column.values if value.casefold() in marks}


def _some_rows(column: Sampled, marked: Collection[str]) -> Iterator[tuple[str, str]]:
    """How many rows have these values, if they are some of all, and the options that choose the others."""
    lost = sum(column.values[value] for value in marked)
    if 0 < lost < len(column.cells):
        others = {plain_text(cell) for cell in column.cells} - set(marked)
        conditions = [Condition(column.name, value) for value in others]
        if len(others) > 1:
            conditions = [Condition(column.name, value, is_equal=False) for value in sorted(marked)]
        yield f"{lost:,} of the first {len(column.cells):,}", opt.where(conditions)


@Doubt([LONG], rows=FEW_ROWS, guessed=ITEM, beside=True)
def item_unique(view: View) -> Says:
    """A guessed item that differs in every row, beside a column in which annotators repeat no value."""
    table, rows = view.table, len(view.table.sample)
    if not view.is_one_each:
        return
    better = [p for p in view.free(ITEM) if AGAIN * table.different([p]) <= rows]
    if ANNOTATOR in view.places:
        free = sorted(view.free(), key=lambda p: plain_name(table.columns[p]) not in words(ITEM))
        better = [p for p in free if table.different([p]) < rows == table.different([p, *view.places[ANNOTATOR]])]
    if better:
        item, other, option = (
            view.named(view.places[ITEM][:1]),
            view.named(better[:1]),
            opt.item(table.columns[better[0]]),
        )
        yield f"column {item} has a different value in each row; if column {other} is the item, use {option}"


@Doubt(
    [LONG],
    rows=MIN_ROWS_TO_DOUBT_LABEL,
    guessed=LABEL,
    lacks=(QUESTION, COUNT),
    beside=True,
    refuses=ColumnError,
)
def label_is_reference(view: View) -> Says:
    """The guessed label never varies within an item, while another column that may hold labels does."""
    sizes = Counter(view.items)
    several = sum(size > 1 for size in sizes.values())
    if several < FEWEST_REPEATED or view.different(ITEM, LABEL) > len(sizes):
        return
    for other in _other_labels(view)[:1]:
        label = view.column(LABEL).name
        yield (
            f"column {shown(label)} has one value for each item, whoever annotated it, so it looks like a reference "
            f"and not like an answer; if column {shown(other.name)} holds the answers, use {opt.label(other.name)}, "
            f"otherwise {opt.label(label)}"
        )


@Doubt([LONG], rows=MIN_ROWS_TO_DOUBT_LABEL, guessed=LABEL, needs=ANNOTATOR, lacks=(QUESTION,), beside=True)
def other_label(view: View) -> Says:
    """The guessed label says nothing, or has a weak name, and another column differs within items."""
    table, (label,) = view.table, view.places[LABEL]
    if len(view.places[ITEM]) > 1 or len(view.places[ANNOTATOR]) > 1 or view.is_one_each:
        return
    why = "was taken for the label because of its name"
    if table.follows(view.places[ITEM], label):
        why = "has one value for each item, whoever annotated it"
    elif table.follows(view.places[ANNOTATOR], label):
        why = "has one value for each annotator"
    elif plain_name(table.columns[label]) not in words("weak_labels"):
        return
    for other in _other_labels(view)[:1]:
        name, option = view.named([label]), opt.label(other.name)
        yield f"column {name} {why}; if column {shown(other.name)} holds the labels, use {option}"


# Long tables: annotations of one item that may not be comparable


LONG_NUMBER = re.compile(r"\d{15}0{2,}")
SCIENTIFIC = re.compile(r"\d([.,]\d+)?[eE]\+\d\d")
MOSTLY = 0.5  # of the items with several annotations
AGAIN = 1.5  # annotations of each part of an item
MIN_ROWS_TO_SEE_MIXTURES, FEWEST_SWAPPED = 10, 3


@Doubt([LONG], rows=MIN_ROWS_TO_SEE_MIXTURES, beside=True)
def decisions(view: View) -> Says:
    """A column says that some of the annotations of an item were decided later."""
    for position, values in _varying(view, "rounds", "kinds_of_rows"):
        beginnings = tuple(words("decided"))
        marked = sorted(value for value in values if any(word.startswith(beginnings) for word in words_of(value)))
        if marked and len(marked) < len(values):
            name = view.table.columns[position]
            without = opt.where([Condition(name, value, is_equal=False) for value in marked])
            yield (
                f"column {shown(name)} says that some annotations are later decisions ({shown(marked[0])}), and they "
                f"were counted; to leave them out: {without}"
            )


@Doubt([LONG], rows=MIN_ROWS_TO_SEE_MIXTURES, beside=True)
def kinds_of_annotators(view: View) -> Says:
    """Models or experts beside people: so says a column with one value for each annotator, or one with such a name."""
    people = view.places.get(ANNOTATOR, ())
    for position, _ in _varying(view, *(() if people else ("kinds_of_rows",)), share=0):
        (column,) = view.columns([position])
        marked = {value for value in column.values if words("not_people") & set(words_of(value))}
        if column.is_switch and (about := set(words_of(column.name)) & words("not_people", "human")):
            marked = _cells(column, words("off" if "human" in about else "on"))
        if people and not view.table.follows(people, position):
            continue
        for some, without in _some_rows(column, marked):
            kinds = listed(sorted(marked), 3)
            yield (
                f"column {shown(column.name)} says that annotations are of several kinds ({some} are {kinds}), and all "
                f"were compared with each other; to measure the others alone: {without}"
            )


@Doubt([LONG], rows=MIN_ROWS_TO_SEE_MIXTURES, lacks=(COUNT, QUESTION))
def numbered_anew(view: View) -> Says:
    """Each item stands in several blocks of rows, by other annotators, who agree with those before only by chance."""
    labels, part, last = row_keys(view.table, view.places[LABEL]), Counter[str](), None
    excluded = view.request.excluded
    blocks: defaultdict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    parts_of: defaultdict[str, set[int]] = defaultdict(set)
    people = row_keys(view.table, view.places[ANNOTATOR]) if ANNOTATOR in view.places else [""] * len(labels)
    for item, who, label in zip(view.items, people, labels, strict=True):
        part[item] += item != last
        blocks[part[item], item][label] += who not in excluded
        parts_of[who].add(part[item])
        last = item
    is_apart = sum(times > 1 for times in part.values()) >= FEWEST_REPEATED and len(labels) >= AGAIN * len(blocks)
    if not is_apart or (ANNOTATOR in view.places and any(len(parts) > 1 for parts in parts_of.values())):
        return
    whole: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (_, item), given in blocks.items():
        whole[item].update(given)
    parts = [[given for (number, _), given in blocks.items() if number == n] for n in {number for number, _ in blocks}]
    within = [_same_pairs(part) for part in parts]
    same, pairs = _same_pairs(whole.values())
    same_within, pairs_within = (sum(numbers) for numbers in zip(*within, strict=True))
    if pairs == pairs_within or not all(size for _, size in within):
        return
    across = (same - same_within) / (pairs - pairs_within)
    chance = sum((n / len(labels)) ** 2 for n in Counter(labels).values())
    lowest = min(same / size - len(part) ** -0.5 / 2 for (same, size), part in zip(within, parts, strict=True))
    if across < chance + len(blocks) ** -0.5 and lowest > across:
        yield (
            "the rows of an item stand apart, and those that stand together agree far more "
            f"({same_within / pairs_within:.0%}) than those that do not ({across:.0%}): if items are numbered anew in "
            "each part of the table, put the number of the part in front of each"
        )


def _same_pairs(groups: Iterable[Counter[str]]) -> tuple[int, int]:
    """How many pairs of labels of a group are the same, and how many pairs there are."""
    every = list(groups)
    same = sum(n * (n - 1) for group in every for n in group.values())
    return same // 2, sum(group.total() * (group.total() - 1) for group in every) // 2


@Doubt([LONG], rows=MIN_ROWS_TO_SEE_MIXTURES, beside=True)
def mixed_rounds(view: View) -> Says:
    """A column of rounds has several values on the same item, and none is a decision about the others."""
    for position, values in _varying(view, "rounds") if not any(decisions(view)) else ():
        name = view.table.columns[position]
        yield (
            f"column {shown(name)} has several values on one item, so annotations of one are compared with those of "
            f"another; to measure one of them: {opt.where(str(Condition(name, min(values))))}"
        )


def _varying(view: View, *names: str, share: float = MOSTLY) -> Iterator[tuple[int, set[str]]]:
    """The columns with such a name of which most items with several rows have several values, and these."""
    several = sum(size > 1 for size in Counter(view.items).values())
    for position in view.unchosen(*names) if several else ():
        values = view.of_items(position)
        often = sum(len(of_item) > 1 for of_item in values.values())
        if often and often >= share * several:
            yield position, set().union(*values.values())


@Doubt([LONG], rows=MIN_ROWS_TO_SEE_MIXTURES, beside=True)
def sides_swapped(view: View) -> Says:
    """Two columns swap their values within items, as the sides of a comparison do, or a column says so."""
    meaning = "so one label means different things"
    flags = view.unchosen("swapped")
    if any(len(of_item) > 1 for p in flags for of_item in view.of_items(p).values()):
        says = f"column {view.named(flags[:1])} says that sides were swapped for some annotations of an item"
        yield f"{says}, {meaning}; turn their labels round"
        return
    pairs: defaultdict[tuple[str, ...], list[Sampled]] = defaultdict(list)
    for column in view.columns(view.unchosen()):
        parts = words_of(column.name)
        if words("sides") & set(parts):
            pairs[tuple("" if part in words("sides") else part for part in parts)].append(column)
    chosen = view.column(LABEL).values
    for left, right in (pair for pair in pairs.values() if len(pair) == 2):  # noqa: PLR2004
        sides: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        for item, one, two in zip(view.items, left.cells, right.cells, strict=True):
            sides[item].add((plain_text(one), plain_text(two)))
        both = sum(any(one != two and (two, one) in of_item for one, two in of_item) for of_item in sides.values())
        if both >= FEWEST_SWAPPED and not chosen.keys() & left.values.keys():
            says = f"columns {shown(left.name)} and {shown(right.name)} swap their values within {both:,} items"
            remedy = f"write the chosen value of {shown(left.name)} or {shown(right.name)} into the label"
            yield f"{says}, {meaning}; {remedy}"
            return


@Doubt([LONG], rows=MIN_ROWS_TO_SEE_MIXTURES)
def rounded_ids(view: View) -> Says:
    """Ids in scientific notation, or all with zeros after the fifteenth digit."""
    values = [value for column in view.columns(view.places[ITEM]) for value in column.values]
    are_long = len(values) > 1 and all(map(LONG_NUMBER.fullmatch, values))
    for value in [value for value in values if are_long or SCIENTIFIC.fullmatch(value)][:1]:
        yield (
            f"items such as {shown(value)} look like long numbers that a spreadsheet rounded, so different items may "
            "have become one; use the original file, or store the ids as text"
        )


@Doubt([LONG], rows=MIN_ROWS_TO_SEE_MIXTURES, guessed=ITEM, lacks=(COUNT, QUESTION), beside=True)
def item_parts(view: View) -> Says:
    """Columns of batches, lines or texts have several values on one guessed item, each annotated several times."""
    table, items, more, instead = view.table, list(view.places[ITEM]), list[int](), list[int]()
    rows = table.small() if table.small is not None else table.sample
    for position, _ in _varying(view, "parts", "groups", ITEM):
        name = plain_name(table.columns[position])
        if name in words("no_parts"):
            continue
        parts = table.different([*items, *more, position])
        if len(table.sample) >= AGAIN * parts and parts > table.different([*items, *more]):
            more.append(position)
        elif name in words(ITEM) and AGAIN * len({row[position] for row in rows if position < len(row)}) <= len(rows):
            instead.append(position)  # items were numbered in another order by each annotator
    if more or instead:
        option = opt.item([table.columns[p] for p in ((*items, *more) if more else instead[:1])])
        which = "both identify an item" if more else "it is the item"
        yield (
            f"column {view.named((more or instead)[:1])} has several values on one item ({view.named(items[:1])}), "
            f"whose annotations are compared with each other; if {which}: {option}"
        )


@Doubt([LONG], rows=MIN_ROWS_TO_SEE_MIXTURES, lacks=(ANNOTATOR, COUNT))
def looks_grouped(view: View) -> Says:
    """No item has a label twice, as in a table that was grouped by item and label."""
    if view.is_one_each or view.different(ITEM, LABEL) < len(view.table.sample):
        return
    whole = [column for column in view.columns(view.unchosen()) if column.is_whole]
    sizes = [column.name for column in whole if column.plain_name not in words("shares")]
    remedy = "if each row stands for several annotations, add a column 'count' with their number"
    if len(sizes) == 1:
        remedy = f"if column {shown(sizes[0])} says how many annotations a row stands for, call it 'count'"
    yield f"no item has a label twice, as if equal annotations were joined; {remedy}"


# Broad tables: which columns are compared


FEWEST_OTHERS = 2
MIN_ROWS_ABOVE_TOTALS = 3  # besides the sums
MOST_QUESTIONS = 3  # of a grid, for which the columns are named
NUMBERED = re.compile(r"(.*?)[ ._\-]?\d+")
# How names of columns have two parts: "anna round 1" and "ann1_r2"; "fluency 2" and "fluency2"; "ann1_tone".
TWO_PARTS = tuple(
    map(re.compile, (r"(.+?)[ _.\-]+([^\W\d_]+[ _.\-]?\d+)", r"(.+?)[ _.\-]*(\d+)", r"(.+)[ _.\-]+([^ _.\-]+)"))
)


@Doubt([UNSORTED], rows=MIN_ROWS_ABOVE_TOTALS + 1, refuses=DataError)
def two_headers(view: View) -> Says:
    """A header of merged cells above another: columns without a name, and a first row unlike all below."""
    tops = {plain_text(column.cells[0]) for column in view.ratings}
    below = {plain_text(value) for column in view.ratings for value in column.cells[1:]}
    places = {p for positions in view.places.values() for p in positions}
    rest = [p for p in range(len(view.table.columns)) if p not in (*places, *view.compared)]
    is_named_below = any(plain_text(column.cells[0]) for column in view.columns(rest))
    if is_named_below and not tops & (below | {""}):
        second, joined = listed(sorted(tops), 4), shown(f"{view.ratings[0].name} {min(tops)}")
        yield (
            f"two header rows: some columns of the first have no name, and the second ({second}) holds nothing that "
            f"occurs below; join them into one row, such as {joined}"
        )


@Doubt([UNKNOWN, *BROAD], rows=2, refuses=DataError)
def confusion_matrix(view: View) -> Says:
    """As many rows as columns of whole numbers, whose names are the values of another column."""
    whole, rows = [column for column in view.ratings if column.is_whole and column.name], len(view.ratings[0].cells)
    for other in view.columns(range(len(view.table.columns))) if len(whole) in (rows, rows + 1) else ():
        names = sorted(column.name for column in whole if column is not other)
        if sorted(other.values) == names:
            yield (
                f"rows and columns have the same names ({listed(names, 4)}), as in a table of how often one annotator "
                "said this and another that; write one row per item with the labels of both (in pandas: repeat each "
                f"pair as often as its cell says), and use {opt.format(WIDE)}"
            )
            return


@Doubt([UNSORTED], lacks=(ITEM, ANNOTATOR), refuses=ColumnError)
def hidden_key(view: View) -> Says:
    """A column with a different value in every row: it is the item (or the person) under an unusual name."""
    key, what = (ANNOTATOR if view.layout == TRANSPOSED else ITEM), BROAD[view.layout]
    for column in view.ratings:
        if not column.is_id or column.is_elsewhere != column.is_people:
            continue
        looks = (
            f"has a different value in each row, so it looks like the {key} and not like one {what}; use "
            f"{opt[key](column.name)}, or name the {what} columns with {opt.label}"
        )
        if key == ITEM and column.is_people:
            options = f"{opt.format('transposed')} {opt.annotator(column.name)}"
            looks = f"looks like people, one in each row; if the other columns are items: {options}"
        yield f"column {shown(column.name)} {looks}"


@Doubt([UNSORTED], refuses=ColumnError)
def grid(view: View) -> Says:
    """Names such as ann1_tone, ann1_topic, ann2_tone, ann2_topic: annotators times questions, or the reverse."""
    table, (pairs, first, last) = view.table, _grid(view)
    people = words("named_people", "named_briefly")
    is_numbered_kinds = all(named_like(word, people) for word in first) and all(map(str.isdecimal, last))
    if view.layout != WIDE or not pairs or is_numbered_kinds:  # expert_1, expert_2, crowd_1 …: of several kinds
        return
    sides = [
        (first, last, [[pairs[who, what] for who in first] for what in last]),
        (last, first, [[pairs[what, who] for who in last] for what in first]),
    ]
    numbered = [side for side in sides if all(word.isdecimal() or named_like(word, people) for word in side[0])]
    rounds = [side for side in sides if all(words("rounds") & set(words_of(word)) for word in side[1])]
    scaled = [side for side in sides if _share_nothing([view.columns(group) for group in side[2]])]
    asked = words("beside_labels", "named_answers")  # what somebody says, beside the label
    named = [side for side in sides if any(asked & set(words_of(word)) for word in side[1])]
    hints = [
        f"if {listed(side, 5)} are annotators, for {shown(one)}: {table.options(LABEL, group)}"
        for side, others, groups in rounds or numbered or named or scaled or sides
        for one, group in zip(others[:MOST_QUESTIONS], groups, strict=False)
    ]
    if not rounds and not named and all(map(str.isdecimal, last)) and _agree_alike(view, pairs):
        hints.insert(0, f"if all of them are annotators: {table.options(LABEL, view.compared)}")
    times = f"{listed(first, 5)} times {listed(last, 5)}"
    yield f"the columns look like annotators times questions ({times}); name the columns of one question", hints


def _agree_alike(view: View, pairs: Mapping[tuple[str, str], int]) -> bool:
    """Whether columns of one name agree as often as those of one number, and as others: all are annotators."""
    shares: defaultdict[tuple[bool, bool], list[float]] = defaultdict(list)
    for (one, p), (other, q) in combinations(pairs.items(), 2):
        rows = [(plain_text(a), plain_text(b)) for a, b in rows_of(view.columns((p, q)))]
        both = [a == b for a, b in rows if a and b]
        if len(both) >= MIN_ROWS_TO_SEE_MIXTURES:
            shares[one[0] == other[0], one[1] == other[1]].append(sum(both) / len(both))
    means = [sum(each) / len(each) for each in shares.values()]
    usual = sum(means) / max(1, len(means))
    luck = 2 * (usual * (1 - usual) / len(view.ratings[0].cells)) ** 0.5
    return len(means) > 2 and max(means) - min(means) <= luck  # noqa: PLR2004 (every kind of pair)


def _share_nothing(groups: Sequence[Sequence[Sampled]]) -> bool:
    """Whether no value of a group of columns occurs in another, as on scales of different questions."""
    values = [set().union(*(column.values for column in group)) for group in groups]
    return len(set().union(*values)) == sum(map(len, values))


def _grid(view: View) -> tuple[dict[tuple[str, str], int], list[str], list[str]]:
    """The columns by the two parts of their names, and both parts; nothing unless each is there with each."""
    for name_parts in TWO_PARTS:
        matches = {p: name_parts.fullmatch(view.table.columns[p]) for p in view.compared}
        pairs = {(match[1], match[2]): p for p, match in matches.items() if match}
        sides = ({pair[i] for pair in pairs} for i in (0, 1))
        first, last = (sorted(side, key=lambda word: (word not in words("named_answers"), word)) for side in sides)
        is_full = set(pairs) == set(product(first, last)) and len(pairs) == len(view.compared)
        if len(first) > 1 < len(last) and is_full:
            return pairs, first, last
    return {}, [], []


@Doubt([WIDE], guessed=LABEL, refuses=ColumnError)
def repeated_names(view: View) -> Says:
    """As many columns of one name, numbered, as there are others: sure, sure.1 … beside each annotator."""
    table = view.table
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for p in view.compared:
        match = NUMBERED.fullmatch(table.columns[p])
        groups[match[1] if match else table.columns[p]].append(p)
    again = [group for group in groups.values() if len(group) > 1]
    if len(again) != 1 or 2 * len(again[0]) != len(view.compared):
        return
    others = [p for p in view.compared if p not in again[0]]
    names = [table.columns[p] for p in again[0]]
    is_renamed = f"{names[0]}.1" in names  # by pandas; two people may be called Jo and Jo 2
    are_people = all(named_like(name, words("named_people")) for name in names)
    if not are_people and (is_renamed or len(names) > FEWEST_OTHERS):
        options = " or ".join(table.options(LABEL, group[:6]) for group in (others, again[0]))
        yield (
            f"{listed(names, 4)} have one name, and there are as many other columns: these look like two answers of "
            f"each annotator; name the columns of one: {options}"
        )


@Doubt(BROAD, guessed=LABEL, lacks=(ITEM, ANNOTATOR), refuses=ColumnError)
def data_as_names(view: View) -> Says:
    """A header that holds labels like the lines below it."""
    names = [view.table.columns[p] for p in view.compared]
    values = set().union(*(column.values for column in view.ratings))
    is_counting = any(names == [str(n) for n in range(start, start + len(names))] for start in (0, 1))
    if view.table.is_text and len(names) > 1 and not is_counting and set(names) <= values:
        looks = f"the first line holds what the lines below hold ({listed(names, 5)}), so it looks like data"
        yield f"{looks} and not like a header; use {opt.no_header}, or name the columns with {opt.label}"


@Doubt(BROAD, rows=0, refuses=ColumnError)
def same_names(view: View) -> Says:
    """Two columns of one name would be one annotator (or class); engines also ignore case."""
    seen: dict[str, str] = {}
    for name in (view.table.columns[p] for p in view.compared):
        if (first := seen.setdefault(name.casefold(), name)) is not name:
            both, what = f"{shown(first)} and {shown(name)}", BROAD[view.layout]
            yield f"two columns are called {both}; each {what} needs a unique name (case is ignored)"


@Doubt([COUNTS], refuses=ColumnError)
def class_and_total(view: View) -> Says:
    """Counts of one class beside the number of all annotations."""
    if len(view.compared) != FEWEST_OTHERS or not view.whole:
        return
    part, whole = sorted(view.ratings, key=lambda column: column.is_total)
    if whole.is_total and all(one <= all_ for one, all_ in whole_rows((part, whole))):
        instead = f"those other than {shown(part.name)} in its place ({whole.name} minus {part.name})"
        yield f"column {shown(whole.name)} counts all annotations, not a class; put the number of {instead}"


@Doubt([REPEATED], rows=2, needs=ITEM, refuses=DuplicateError)
def rows_of_one_item(view: View) -> Says:
    """An annotator labelled an item twice, in rows that are perhaps different items."""
    given, twice = defaultdict[str, dict[str, str]](dict), dict[str, str]()
    for place, item in enumerate(view.items):
        for column in view.ratings:
            label = plain_text(column.cells[place])
            if label and given[item].setdefault(column.name, label) != label:
                twice[item] = item
    if twice and "" not in twice:
        remedies = [apart_rows(view.table, view.places[ITEM])]
        remedies.append(f"if annotators labelled items again, choose with {opt.duplicates}")
        items = f"{count(len(twice), 'item stands', 'items stand')} in several rows with other labels"
        yield f"{items}, such as {shown(next(iter(twice)))}; {'; '.join(filter(None, remedies))}"


@Doubt([COUNTS], rows=2, needs=ITEM)
def counts_added(view: View) -> Says:
    """Rows of one item, which are perhaps different items."""
    again = [item for item, times in Counter(view.items).items() if times > 1 and item]
    if again:
        items = f"{count(len(again), 'item stands', 'items stand')} in several rows, whose counts were added"
        yield f"{items}, such as {shown(again[0])}; if every row is an item: {opt.item(EACH_ROW)}"


# Broad tables: another layout


MIN_ROWS_TO_SEE_SUMS = 5
MIN_ROWS_TO_SEE_HEADER = 6  # rows, the second header included
FEWEST_CLASSES = 3
MOST_STEPS = 20  # annotations per item whose percentages are recognised


@Doubt([LONG, *BROAD], rows=MIN_ROWS_TO_SEE_SUMS)
def header_is_data(view: View) -> Says:
    """Cells of the header occur below, or are written in the same way."""
    every = view.columns(range(len(view.table.columns))) if view.table.is_text else []
    if columns.is_data(every) and not is_numbered(view.table.columns):
        looks = f"the first line ({listed(view.table.columns, 4)}) looks like the lines below it"
        yield f"{looks}, and was taken for the names of columns: if it is data, use {opt.no_header}"


@Doubt(BROAD, rows=MIN_ROWS_TO_SEE_SUMS, guessed=LABEL)
def looks_like_header(view: View) -> Says:
    """With --no-header, no cell of the first line occurs again: it may be a header after all."""
    rows = ([plain_text(value) for value in row] for row in rows_of(view.ratings))
    first = next((row for row in rows if all(row)), [""])  # below a title
    again = Counter(value for column in view.ratings for value in column.values.elements())
    if is_numbered(view.table.columns) and all(again[value] == 1 for value in first):
        looks = f"the first line ({listed(first, 4)}) holds nothing that occurs below"
        yield f"{looks}: if it is a header, leave out {opt.no_header}"


@Doubt([WIDE], rows=MIN_ROWS_TO_SEE_SUMS)
def looks_like_counts(view: View) -> Says:
    """Whole numbers with the same sum in every row, or some high where others are low, unlike ratings of one item."""
    whole = columns.as_pivot(view.ratings)
    if len(whole) > 1 and all(column.is_whole for column in whole):
        is_filled = all(column.is_whole for column in view.ratings)
        if (reason := columns.counted_as(whole_rows(whole))) and (is_filled or not reason.startswith("every")):
            yield f"{reason}: if columns are classes and cells are counts, use {opt.format('counts')}"


@Doubt([WIDE], guessed=LABEL)
def looks_transposed(view: View) -> Says:
    """Columns named like items, or people in rows: perhaps rows are annotators."""
    keys = view.columns(view.places.get(ITEM, ()))
    names = [view.table.columns[p] for p in view.compared]
    has_people = any(column.is_people for column in keys)
    if has_people or (len(names) > 1 and all(map(is_item, names))):
        annotator = f" {opt.annotator(keys[0].name)}" if keys else ""
        reason = "people in rows" if has_people else f"columns named like items ({listed(names, 3)})"
        options = opt.format("transposed") + annotator
        yield f"{reason}: if each row is an annotator and each column an item, use {options}"


@Doubt([WIDE, TRANSPOSED], rows=MIN_ROWS_TO_SEE_HEADER)
def header_again(view: View) -> Says:
    """No cell of the first row occurs again while all other values do: names of people, or units."""
    first = [plain_text(column.cells[0]) for column in view.ratings]
    again = Counter(value for column in view.ratings for value in column.values.elements())
    if len(first) > 1 and all(first) and all((size == 1) == (value in first) for value, size in again.items()):
        counted = "annotator" if view.layout == TRANSPOSED else "item"
        yield (
            f"the first row of {view.table.name} ({listed(first, 4)}) holds nothing that occurs below, and was counted "
            f"as an {counted}: if it is a second header, delete it"
        )


@Doubt([COUNTS, WIDE], rows=MIN_ROWS_TO_SEE_HEADER, refuses=ColumnError)
def classes_of_each(view: View) -> Says:
    """Names such as ann1_yes, ann1_no, ann2_yes, ann2_no over 0 and 1, with at most one 1 for each annotator."""
    pairs, first, last = _grid(view) if view.whole else ({}, [], [])
    for people, classes, of_each in (
        (first, last, [[pairs[who, label] for label in last] for who in first]),
        (last, first, [[pairs[label, who] for label in first] for who in last]),
    ):
        chosen = [sum(row) for own in of_each for row in whole_rows(view.columns(own))]
        if max(chosen, default=0) == 1 and 2 * sum(chosen) > len(chosen):
            yield (
                f"{listed(people, 4)} each have a 1 in one of {listed(classes, 4)}, so they are annotators with a "
                "column for each class; give each one column with the class (in pandas: "
                f"frame[columns].idxmax(axis=1)), and use {opt.format('wide')}"
            )


@Doubt([COUNTS], rows=MIN_ROWS_TO_SEE_SUMS)
def looks_like_labels(view: View) -> Says:
    """Whole numbers, none 0, that are probably ratings."""
    if len(view.compared) >= FEWEST_CLASSES and view.whole and not any(0 in row for row in view.whole):
        yield (
            "no cell is 0, so every class was chosen for every item: if each column is an annotator and the cells are "
            f"ratings, use {opt.format('wide')}"
        )


@Doubt([COUNTS], rows=MIN_ROWS_TO_SEE_SUMS)
def looks_like_shares(view: View) -> Says:
    """Percentages, in the steps of few annotations."""
    numbers = {number for row in view.whole for number in row}
    steps = (n for n in range(2, MOST_STEPS + 1) if numbers <= {round(100 * k / n) for k in range(n + 1)})
    n = next(steps, None)
    if view.whole and n is not None and all(abs(sum(row) - 100) <= 1 for row in view.whole):
        yield (
            f"every row adds up to 100, as percentages of {n} annotations do: if they are, multiply them by {n} and "
            "divide by 100 to get counts"
        )


# Broad tables: rows and columns computed from the others


MIN_ROWS_TO_COMPARE_COLUMNS = 10
MIN_ROWS_TO_SEE_REFERENCE, MOST_PEOPLE = 100, 20
# Squares of the probabilities of knowing the truth: of the best, less its standard error, and of all others.
SURE, AT_LEAST, UNSURE = 0.95, 0.75, 0.75
MIN_ROWS_TO_SEE_RULE = 15  # in which the others differ, and differ as in another row
FEWEST_APART = 5  # rows in which a column would differ from most others, if it did so as often as these
HARDLY = 0.05  # of them
LUCKY = 0.03  # tables in which somebody hardly differs by chance
WHAT = {WIDE: "column", LONG: "annotator"}


@Doubt([WIDE, LONG], rows=MIN_ROWS_TO_COMPARE_COLUMNS)
def looks_like_consensus(view: View) -> Says:
    """One differs from most others hardly ever, although as often as the others do it would have many times.

    It may be empty where they tie, or anywhere else. One who is not called like the others looks so sooner.
    """
    seen, apart = Counter[str](), Counter[str]()
    for given in view.answers:
        sizes = Counter(given.values())
        decided = dict.fromkeys(sizes, "")  # by most of the others, if they are several
        for own in sizes:
            others = {label: size - (label == own) for label, size in sizes.items()}
            most = max(others.values())
            if most >= FEWEST_OTHERS and 2 * most > sizes.total() - 1:
                decided[own] = next(label for label, size in others.items() if size == most)
        for who, label in given.items():
            seen[who] += decided[label] != ""
            apart[who] += decided[label] not in ("", label)
    followers = []
    stems = {who: re.sub(r"\W*\d+$|\W\w$", "", who) for who in seen}
    alike = Counter(stems.values())
    for who in seen if len(seen) > FEWEST_OTHERS else ():
        usual = (apart.total() - apart[who]) / max(1, seen.total() - seen[who])
        is_odd = alike[stems[who]] == 1 and len(alike) == 2  # noqa: PLR2004 (the others are called alike)
        is_often = usual * seen[who] >= log((1 if is_odd else len(seen)) / LUCKY)  # of many, one never differs
        if is_often and apart[who] <= HARDLY * usual * seen[who]:
            followers.append(who)
    for who in followers if 2 * len(followers) < len(seen) else ():
        yield (
            f"{WHAT[view.layout]} {shown(who)} has the label of most other annotators wherever they have one: if it "
            f"was decided from theirs, leave it out: {opt.exclude_annotator(who)}"
        )


@Doubt([WIDE, LONG], rows=MIN_ROWS_TO_SEE_REFERENCE)
def looks_like_reference(view: View) -> Says:
    """One who, if each knows the truth now and then and guesses otherwise, knows it always, unlike the others.

    Of three who know it with probabilities p, q and r, agreement beyond chance is pq, pr and qr.
    """
    both, same, pooled = Counter[frozenset[str]](), Counter[frozenset[str]](), Counter[str]()
    people: set[str] = set()
    for given in view.answers:
        pooled.update(given.values())
        people |= given.keys()
        if len(people) > MOST_PEOPLE:
            return
        for (one, label), (other, its) in combinations(given.items(), 2):
            pair = frozenset((one, other))
            both[pair] += 1
            same[pair] += label == its
    chance = sum((size / pooled.total()) ** 2 for size in pooled.values())
    pairs = [frozenset(pair) for pair in combinations(people, 2)]
    if len(people) <= FEWEST_OTHERS or any(both[pair] < MIN_ROWS_TO_SEE_REFERENCE for pair in pairs) or chance == 1:
        return
    beyond = {pair: same[pair] / both[pair] - chance for pair in pairs}
    if min(beyond.values()) <= 0:
        return
    knows: dict[str, float] = {}
    for who in people:
        among = [pair for pair in pairs if who not in pair]
        to_each = sum(beyond[frozenset((who, a))] * beyond[frozenset((who, b))] for a, b in map(tuple, among))
        knows[who] = to_each / sum(beyond[pair] for pair in among) / (1 - chance)
    *rest, best = sorted(people, key=lambda who: knows[who])
    if knows[best] < SURE or knows[rest[-1]] >= UNSURE or is_person(best):
        return
    variance = 0.0  # of the logarithm: of agreement with the best, which occurs twice, and of that among the others
    for times, is_with_best in ((2, True), (1, False)):
        group = [pair for pair in pairs if (best in pair) == is_with_best]
        noise = [same[pair] / both[pair] * (1 - same[pair] / both[pair]) / both[pair] for pair in group]
        variance += times**2 * sum(noise) / sum(beyond[pair] for pair in group) ** 2
    if knows[best] * (1 - variance**0.5) > AT_LEAST:
        yield (
            f"{WHAT[view.layout]} {shown(best)} agrees with each annotator far more than they do with each other, as a "
            f"reference or a model would: if it is no annotator, leave it out: {opt.exclude_annotator(best)}"
        )


@Doubt([WIDE], rows=MIN_ROWS_TO_COMPARE_COLUMNS)
def looks_computed(view: View) -> Says:
    """A column follows from the labels of the others, whoever gave them, while the other columns do not."""
    people = view.kept
    follows: dict[str, bool] = {}
    for column in people if FEWEST_OTHERS < len(people) <= MOST_PEOPLE else ():
        values: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        others = [other for other in people if other is not column]
        for own, row in zip(column.cells, rows_of(others), strict=True):
            if label := plain_text(own):
                values[tuple(sorted(map(plain_text, row)))].append(label)
        again = sum(len(given) - 1 for labels, given in values.items() if len({*labels} - {""}) > 1)
        follows[column.name] = again >= MIN_ROWS_TO_SEE_RULE and all(len(set(given)) == 1 for given in values.values())
    rows = whole_rows(people) if follows and all(column.is_whole for column in people) else []
    if len(rows) >= MIN_ROWS_TO_SEE_RULE:  # of a sum and its parts, each follows from the others
        sums = {column.name: all(2 * row[n] == sum(row) for row in rows) for n, column in enumerate(people)}
        follows = sums if any(sums.values()) else follows
    if sum(follows.values()) == 1 and not any(looks_like_consensus(view)):
        name = next(name for name in follows if follows[name])
        yield (
            f"column {shown(name)} has the same value wherever the others have the same labels, as if it was computed "
            f"from them: if it was, leave it out: {opt.exclude_annotator(name)}"
        )


@Doubt([WIDE], rows=MIN_ROWS_TO_COMPARE_COLUMNS, guessed=LABEL)
def looks_constant(view: View) -> Says:
    """A column has one value, which is less than most of what the others hold."""
    people = view.kept
    constant = [c for c in people if len(c.values) == 1 and c.values.total() == len(c.cells) and not is_person(c.name)]
    for column in constant if 2 * len(constant) < len(people) else ():
        (value,) = column.values
        others = [c.values for c in people if c not in constant]
        if 2 * sum(values[value] for values in others) < sum(values.total() for values in others):
            holds = f"column {shown(column.name)} holds {shown(value)} in every row, unlike the others"
            yield f"{holds}: if it is no annotator, leave it out: {opt.exclude_annotator(column.name)}"


@Doubt([WIDE], rows=MIN_ROWS_TO_COMPARE_COLUMNS)
def looks_copied(view: View) -> Says:
    """Two columns never differ while each of the others does."""
    cells = {column.name: tuple(map(plain_text, column.cells)) for column in view.ratings}
    for (one, first), (two, second) in combinations(cells.items(), 2) if len(cells) > FEWEST_OTHERS else ():
        others = [labels for name, labels in cells.items() if name not in (one, two)]
        apart = (sum(bool(a and b and a != b) for a, b in zip(first, labels, strict=True)) for labels in others)
        if first == second and all(rows >= FEWEST_APART for rows in apart):
            hold = f"columns {shown(one)} and {shown(two)} hold the same label in every row"
            yield f"{hold}: if one is a copy, leave it out: {opt.exclude_annotator(two)}"


@Doubt([WIDE], rows=MIN_ROWS_TO_COMPARE_COLUMNS)
def looks_unassigned(view: View) -> Says:
    """A value that every row holds equally often, as what stands for "not assigned" does."""
    rows = [Counter(map(plain_text, row)) for row in rows_of(view.ratings)]
    values = [value for value in rows[0] if value and len({row[value] for row in rows}) == 1]
    fixed = [value for value in values if rows[0][value] <= len(view.compared) - FEWEST_OTHERS]
    is_one_of_several = len(fixed) == 1 and len({value for row in rows for value in row}) > FEWEST_OTHERS
    if len(view.compared) > FEWEST_OTHERS and is_one_of_several:
        value, times = fixed[0], rows[0][fixed[0]]
        if all(value in column.values for column in view.ratings):
            said = "once" if times == 1 else f"{times} times"
            yield (
                f"every row holds {shown(value)} exactly {said}, as if it stood for annotators who were not asked: if "
                f"it does, use {opt.missing(value)}"
            )


@Doubt([WIDE, COUNTS])
def summary_rows(view: View) -> Says:
    """Last rows named like a figure, or that add up all rows above; only where all rows were seen."""
    table, keys = view.table, view.places.get(ITEM, ())
    if not (table.is_whole or table.is_spread):
        return
    named = [name for name in view.items if name] or [f"row {len(table.sample)}"]
    figures: list[str] = []
    while len(named) > 1 and _is_figure(named[-1]):
        figures.insert(0, named.pop())
    if not figures and table.is_whole and view.layout == COUNTS and view.whole:
        *rows, last = view.whole
        if len(rows) >= MIN_ROWS_ABOVE_TOTALS and any(last) and tuple(map(sum, zip(*rows, strict=True))) == last:
            figures = named[-1:]
    if figures:
        conditions = [Condition(table.columns[p], name, is_equal=False) for p in keys for name in figures]
        or_use = f", or use {opt.where(conditions)}" if len(keys) == 1 else ""
        yield (
            f"the last rows ({listed(figures, 4)}) look like figures computed from the rows above, and were counted as "
            f"items; if they are, delete them from the table{or_use}"
        )


def _is_figure(name: str) -> bool:
    """Whether a row is named like a figure.

    >>> _is_figure("Grand Total"), _is_figure("Cohen's kappa"), _is_figure("total recall"), _is_figure("7")
    (True, True, False, False)
    """
    parts = set(words_of(name))
    return bool(parts & words("row_figures")) and parts <= words("row_figures", "beside_row_figures")


# What distinguishes annotations of one item by one annotator


def apart(table: Table, places: Mapping[str, Sequence[int]]) -> str:
    """What distinguishes an annotator's annotations of one item, if the first rows show such repeats."""
    keys = [p for role in (ITEM, ANNOTATOR) for p in places.get(role, ())]
    if ANNOTATOR not in places or table.different(keys) == len(table.sample):
        return ""
    for person in table.free(places, ANNOTATOR):
        if table.different([*places[ITEM], person]) == len(table.sample) > table.different([person]):
            name = table.columns[person]
            use = f"use {opt.annotator(name)} if it names the annotators"
            return f"column {shown(name)} distinguishes these annotations: {use}"
    items_and_more = telling(table, places)
    if not items_and_more:
        return _ids_anew(table)
    items = table.options(ITEM, items_and_more)
    last = items_and_more[-1]
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
    named = [p for p in more if plain_name(table.columns[p]) in words(ITEM)] or more
    if named and table.files == 1:
        options = table.options(ITEM, (*keys, named[0]))
        return f"column {shown(table.columns[named[0]])} distinguishes the rows of an item: use {options}"
    return _ids_anew(table) or f"if every row is an item: {opt.item(EACH_ROW)}"


def _ids_anew(table: Table) -> str:
    if table.files == 1:
        return ""
    return (
        "if items are numbered anew in each file, put the name of the file in front of each number; if annotators "
        f"labelled an item again, choose with {opt.duplicates('first')} or {opt.duplicates('last')}"
    )


def telling(table: Table, places: Mapping[str, Sequence[int]]) -> list[int]:
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
