"""Tables, columns and rows that are not what they look like: refused or named, with what to do instead."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product

from spagree.errors import ColumnError, DataError
from spagree.messages import opt
from spagree.read.annotations import ANNOTATOR, COUNT, ITEM, LABEL
from spagree.read.columns import (
    COMMON_NAMES,
    FIGURES,
    OFF,
    ON,
    Column,
    columns_at,
    is_list,
    is_object,
    plain_name,
    plain_text,
    rows_of,
    values_by_item,
    whole_rows,
    words,
    words_of,
)
from spagree.read.layouts.recognise import (
    ANSWER_WORDS,
    PEOPLE_WORDS,
    SURELY_PEOPLE,
    USUAL_ITEMS,
    follows,
    is_person,
    may_be_labels,
    named_like,
)
from spagree.read.table import SAMPLE_ROWS, Table, listed, shown
from spagree.read.where import Condition
from spagree.understood import Caution

MIN_ROWS_OF_LISTS = 20
MIN_ITEMS_OF_TEXTS, NEARLY = 10, 0.8
OTHERWISE = words("response answer judgement judgment annotation")  # a model's answer, or the number of an annotation
SPANS = (("start", "end"), ("begin", "end"), ("from", "to"), ("startoffset", "endoffset"), ("startchar", "endchar"),
         ("spanstart", "spanend"), ("startindex", "endindex"), ("startposition", "endposition"), ("startpos", "endpos"),
         ("beginoffset", "endoffset"), ("offsetstart", "offsetend"), ("startidx", "endidx"), ("tokenstart", "tokenend"),
         ("starttoken", "endtoken"), ("charstart", "charend"), ("onset", "offset"))  # fmt: skip
BOXES = (("x", "y", "w", "h"), ("x", "y", "width", "height"), ("left", "top", "width", "height"),
         ("xmin", "ymin", "xmax", "ymax"), ("x1", "y1", "x2", "y2"), ("bboxx", "bboxy", "bboxw", "bboxh"))  # fmt: skip
MOST_OFFSET = 1e8  # larger numbers are times, not places in a text


def refuse_marks(table: Table, places: Mapping[str, Sequence[int]]) -> None:
    """Refuse spans and boxes: columns of positions that vary within an item."""
    plain = {plain_name(name): p for p, name in enumerate(table.columns)}
    items = places[ITEM]
    for what, shapes in (("spans", SPANS), ("boxes", BOXES)):
        for names in shapes:
            marks = [plain[name] for name in names if name in plain]
            if len(marks) < len(names):
                continue
            is_free = set(marks) <= set(table.free(places))
            is_varying = table.different([*items, *marks]) > table.different(items)
            if is_varying and (what == "boxes" or (is_free and _are_spans(table, items, *marks))):
                raise DataError(
                    f"{table.name}: columns {listed([table.columns[p] for p in marks])} mark {what}, but spagree "
                    f"measures agreement on classes; to compare {what}, use a measure made for {what}"
                )


def _are_spans(table: Table, items: Sequence[int], start: int, end: int) -> bool:
    """Whether these are numbers, each start before its end, that differ between the rows of an item."""
    spans: dict[tuple[object, ...], set[tuple[float, float]]] = {}
    for row in table.sample:
        try:
            span = (float(str(row[start])), float(str(row[end])))
        except (ValueError, IndexError):
            if row[start : start + 1] in ((None,), ("",), ()):
                continue
            return False
        if span[0] > span[1] or span[1] > MOST_OFFSET:
            return False
        spans.setdefault(tuple(row[p] for p in items), set()).add(span)
    return any(len(of_item) > 1 for of_item in spans.values())


def refuse_nested(table: Table, places: Mapping[str, Sequence[int]]) -> None:
    """Refuse labels that are JSON objects (a tool's whole answers), or lists of all labels of an item."""
    column = columns_at(table, places[LABEL])[places[LABEL][0]] if table.sample else None
    if column is None or not column.values:
        return
    first = shown(next(iter(column.values)))
    if all(map(is_object, column.values)):
        raise DataError(
            f"{table.name}: column {shown(column.name)} holds objects, such as {first}, not labels; write the field "
            "that is the label into a separate column"
        )
    is_one_each = len(table.sample) >= MIN_ROWS_OF_LISTS and table.different(places[ITEM]) == len(table.sample)
    if ANNOTATOR not in places and is_one_each and all(map(is_list, column.values)):
        raise DataError(
            f"{table.name}: one row per item, and column {shown(column.name)} holds lists, such as {first}; if these "
            "are the labels of several annotators, write one row per label (in pandas: explode)"
        )


def refuse_item_text(table: Table, places: Mapping[str, Sequence[int]]) -> None:
    """Refuse a guessed label that is part of the item, if its name allows that: nearly all values are different."""
    label, items, rows = places[LABEL], places[ITEM], len(table.sample)
    name = plain_name(table.columns[label[0]])
    if name not in {*OTHERWISE, "value"} or table.different(items) < MIN_ITEMS_OF_TEXTS:
        return
    few, values = table.different(items), table.different(label)
    is_one_each = table.different([*items, *label]) == few < rows and values > NEARLY * few
    is_text = name in OTHERWISE and rows >= MIN_ROWS_OF_LISTS and values > NEARLY * rows
    if is_one_each or is_text:
        where = "for each item, the same from all its annotators" if is_one_each else "in nearly every row"
        raise ColumnError(
            f"{table.name}: column {shown(table.columns[label[0]])} has a different value {where}, so it does "
            f"not look like the label; name the column of the label with {opt.label} (columns: "
            f"{listed(table.columns)})"
        )


def refuse_side_by_side(table: Table, places: Mapping[str, Sequence[int]]) -> None:
    """Refuse one row per item with several label columns: label, label.1 … as pandas calls repeated columns."""
    (label,), items = places[LABEL], places[ITEM]
    again = re.compile(re.escape(table.columns[label]) + r"[._ ]?\d+", re.IGNORECASE)
    more = [p for p in table.free(places) if again.fullmatch(table.columns[p])]
    columns = columns_at(table, [label, *more]) if table.sample else {}
    if not any(columns[p].shared([columns[label]]) for p in more) or table.different(items) < len(table.sample):
        return
    raise ColumnError(
        f"{table.name}: one row per item, and several columns of labels "
        f"({listed([column.name for column in columns.values()])}); to compare them: {opt.format('wide')} "
        f"{table.options(ITEM, items)} {table.options(LABEL, columns)}; to know who gave which label, write one row "
        "per label"
    )


MIN_ROWS_TO_DOUBT_LABEL = 10
WEAK = words(" ".join(COMMON_NAMES[LABEL][3:])) - {"verdict", "diagnosis"}
BESIDE = words(
    "confidence conf certainty certain sure difficulty time duration seconds date comment comments note notes reason "
    "age gender sex country language device batch session round phase pass order position trust weight status page "
    "hit assignment correct attention check swapped flipped"
)


def caution_other_label(table: Table, places: Mapping[str, Sequence[int]]) -> Iterator[Caution]:
    """A caution if the guessed label says nothing, or has a weak name, and another column differs within items."""
    (label,), rows = places[LABEL], len(table.sample)
    if ANNOTATOR not in places or rows < MIN_ROWS_TO_DOUBT_LABEL or len(places[ITEM]) > 1 or len(places[ANNOTATOR]) > 1:
        return
    item, person = places[ITEM][0], places[ANNOTATOR][0]
    doubt = _doubt(table, item, person, label)
    if not doubt or table.different([item]) == rows:
        return
    free = [p for p in table.free(places) if not BESIDE & set(words_of(table.columns[p]))]
    others = [p for p in free if not follows(table, item, p) and not follows(table, person, p)]
    for position in may_be_labels(columns_at(table, others), others)[:1]:
        other = table.columns[position]
        yield Caution("other_label", f"{doubt}; if column {shown(other)} holds the labels, use {opt.label(other)}")


def _doubt(table: Table, item: int, person: int, label: int) -> str:
    """Why a column may not be the label; nothing if there is no doubt."""
    name = shown(table.columns[label])
    if follows(table, item, label):
        return f"column {name} has one value for each item, whoever annotated it"
    if follows(table, person, label):
        return f"column {name} has one value for each annotator"
    is_weak = plain_name(table.columns[label]) in WEAK
    return f"column {name} was taken for the label because of its name" if is_weak else ""


ROUNDS = words("round roundid roundno roundnumber pass phase wave stage iteration cycle attempt runde fase")
KINDS_OF_ROWS = words("role annotatorrole annotatortype annotationtype type source kind step level") | ROUNDS
DECIDED = tuple(words("adjudic consens gold reconcil arbitrat curator curation reviewe reviewi majority"))
PARTS = words(
    "line lineno linenumber turn turnid turnno frame frameno token tokenid tokenindex position page sentenceno "
    "sentencenumber sentenceindex paragraphno segment section sectionid documentname docname thread threadid topic "
    "story chapter article dialogue conversation modela modelb model1 model2 systema systemb system1 system2"
) | USUAL_ITEMS - {"hit", "task", "question", "prompt"}
SWAPPED = words("swapped isswapped flipped isflipped reversed isreversed swap flip")
SIDES = words("a b 1 2 left right first second one two")
SHARE_NAMES = words("percent percentage pct share proportion prozent anteil")
SCIENTIFIC = re.compile(r"\d([.,]\d+)?[eE]\+\d\d")
LONG_NUMBER = re.compile(r"\d{15}0{2,}")
MOSTLY = 0.5  # of the items with several annotations
AGAIN = 1.5  # annotations of each part of an item
MIN_ROWS_TO_SEE_MIXTURES, FEWEST_SWAPPED = 10, 3


def caution_mixed(
    table: Table, places: Mapping[str, Sequence[int]], chosen: Collection[str], is_guess: bool
) -> Iterator[Caution]:
    """A caution for each reason not to compare annotations of one item, unless --where names the column."""
    if len(table.sample) < MIN_ROWS_TO_SEE_MIXTURES:
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
    if plain_name(table.columns[position]) not in KINDS_OF_ROWS | PARTS:
        return set()
    rows: defaultdict[str, int] = defaultdict(int)
    for row in table.sample:
        rows[repr([str(row[p]).strip() for p in items if p < len(row)])] += 1
    several = sum(size > 1 for size in rows.values())
    values = values_by_item(table, items, position)
    often = sum(len(of_item) > 1 for of_item in values.values())
    return set().union(*values.values()) if several and often >= MOSTLY * several else set()


def _decisions(table: Table, varying: Mapping[int, Collection[str]]) -> Iterator[Caution]:
    """A column says that some of the annotations of an item were decided later."""
    for position in (p for p in varying if plain_name(table.columns[p]) in KINDS_OF_ROWS):
        values = varying[position]
        marked = sorted(v for v in values if any(word.startswith(DECIDED) for word in words_of(v)))
        if marked and len(marked) < len(values):
            name = table.columns[position]
            options = opt.where([Condition(name, value, is_equal=False) for value in marked])
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
            f"another; to measure one of them: {opt.where(str(Condition(name, first)))}",
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
        names = [table.columns[p] for p in (*items, *more)]
        yield Caution(
            "item_parts",
            f"column {shown(names[len(items)])} has several values on one item ({shown(names[0])}), "
            f"whose annotations are compared with each other; if both identify an item: {opt.item(names)}",
        )


def _grouped(table: Table, places: Mapping[str, Sequence[int]], free: Sequence[int]) -> Iterator[Caution]:
    """No item has a label twice, as in a table that was grouped by item and label."""
    rows = len(table.sample)
    if table.different(places[ITEM]) == rows or table.different([*places[ITEM], *places[LABEL]]) < rows:
        return
    columns = columns_at(table, free).values()
    sizes = [column.name for column in columns if column.is_whole and column.plain_name not in SHARE_NAMES]
    remedy = (
        f"if column {shown(sizes[0])} says how many annotations a row stands for, call it 'count'"
        if len(sizes) == 1
        else "if each row stands for several annotations, add a column 'count' with their number"
    )
    yield Caution("looks_grouped", f"no item has a label twice, as if equal annotations were joined; {remedy}")


WITHDRAWN = words(
    "deleted isdeleted cancelled canceled wascancelled skipped isskipped rejected discarded isdiscarded withdrawn draft"
)
UNFINISHED = words("finished completed iscomplete complete")
TRIALS = frozenset({"survey preview", "survey test", "preview", "spam", "incomplete"})
STATES = words("status state annotationstatus")
CONTROLS = words(
    "gold isgold golden isgolden goldquestion goldenquestion goldlabel goldenlabel goldanswer goldenanswer istest "
    "testquestion istestquestion control iscontrol controlquestion iscontrolquestion honeypot ishoneypot "
    "attentioncheck isattentioncheck isgroundtruth istraining isqualification"
)


def caution_marked(table: Table, places: Mapping[str, Sequence[int]], chosen: Collection[str]) -> Iterator[Caution]:
    """A caution for each column that marks some of the annotations, unless --where names the column."""
    for column in _named(table, places, WITHDRAWN | STATES | CONTROLS, chosen):
        marked = _marked(column)
        lost = sum(column.values[value] for value in marked)
        if not 0 < lost < len(column.cells):
            continue
        size = f"({lost:,} of the first {len(column.cells):,})"
        remedy = f"to leave them out: {_without(column, marked)}"
        name = shown(column.name)
        if column.plain_name in CONTROLS:
            marks = f"marks control questions, whose answers are known {size}: they were counted"
            yield Caution("control_questions", f"column {name} {marks}; {remedy}")
        else:
            marks = f"says that annotations were withdrawn {size}, and they were counted"
            yield Caution("withdrawn", f"column {name} {marks}; {remedy}")


def caution_trials(table: Table, chosen: Collection[str]) -> Iterator[Caution]:
    """A caution for answers to a survey that are unfinished or previews, unless --where names the column."""
    for column in _named(table, {}, UNFINISHED | STATES, chosen):
        marks = TRIALS if column.plain_name in STATES else OFF
        marked = {value for value in column.values if value.casefold() in marks}
        lost = sum(column.values[value] for value in marked)
        if 0 < lost < len(column.cells):
            yield Caution(
                "unfinished",
                f"column {shown(column.name)} says that answers are unfinished or previews ({lost:,} of the first "
                f"{len(column.cells):,} rows), and they were counted; to leave them out: {_without(column, marked)}",
            )


def _named(
    table: Table, places: Mapping[str, Sequence[int]], names: Collection[str], chosen: Collection[str]
) -> Iterable[Column]:
    """The free columns with one of these names that --where does not name."""
    free = [p for p in table.free(places) if plain_name(table.columns[p]) in names and table.columns[p] not in chosen]
    return columns_at(table, free).values() if free and table.sample else ()


def _marked(column: Column) -> set[str]:
    """The values that mark a row: words such as true, or all known answers where other rows have none."""
    if column.plain_name in CONTROLS and not column.is_switch:
        return set(column.values)
    marks = WITHDRAWN if column.plain_name in STATES else ON
    return {value for value in column.values if value.casefold() in marks}


def _without(column: Column, marked: Collection[str]) -> str:
    """The options that choose the other rows."""
    others = {plain_text(value) for value in column.cells} - set(marked)
    conditions = [Condition(column.name, value) for value in others]
    if len(conditions) > 1:
        conditions = [Condition(column.name, value, is_equal=False) for value in sorted(marked)]
    return opt.where(conditions)


FEWEST_OTHERS = 2
MIN_ROWS_TO_COMPARE_COLUMNS = 10
FEWEST_APART = 7  # rows in which every other column differs from the majority
NUMBERED = re.compile(r"(.*?)[ ._\-]?\d+")


def caution_annotators(columns: Sequence[Column]) -> Iterator[Caution]:
    """Cautions for columns that may not be annotators of their own, and a value that may stand for no answer."""
    if len(columns) > FEWEST_OTHERS and len(columns[0].cells) >= MIN_ROWS_TO_COMPARE_COLUMNS:
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
        name = followers[0].name
        yield Caution(
            "looks_like_consensus",
            f"column {shown(name)} has the label of most other annotators wherever they have one: "
            f"if it was decided from theirs, leave it out: {opt.exclude_annotator(name)}",
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
                f"out: {opt.exclude_annotator(two)}",
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
                f"for annotators who were not asked: if it does, use {opt.missing(value)}",
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
    pairs = {parts: p for p in positions if all(parts := _name_parts(table.columns[p]))}
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


def _name_parts(name: str) -> tuple[str, str]:
    """The two parts of a name: before and after its last separator, or its number.

    >>> _name_parts("ann1_tone"), _name_parts("fluency 2"), _name_parts("fluency2"), _name_parts("Maria")
    (('ann1', 'tone'), ('fluency', '2'), ('fluency', '2'), ('', ''))
    """
    match = re.fullmatch(r"(.+?)[ _.\-]*(\d+)", name) or re.fullmatch(r"(.+)[ _.\-]+([^ _.\-]+)", name)
    return (match[1], match[2]) if match else ("", "")


ROW_FIGURES = words(
    "total totals sum sums mean average avg median mode majority agreement kappa alpha overall percent percentage count"
)
BESIDE_FIGURES = words("grand all observed raw of the cohen cohens fleiss krippendorff krippendorffs scott pi s")
MIN_ROWS_ABOVE_TOTALS = 3  # besides the sums
MIN_ROWS_TO_SEE_HEADER = 6  # rows, the second header included


def summaries(table: Table, keys: Sequence[int], columns: Collection[Column], *, are_counts: bool) -> Iterator[Caution]:
    """A caution for last rows named like a figure, or that add up all rows above; only where all rows were seen."""
    if not 0 < len(table.sample) < SAMPLE_ROWS:
        return
    names = [" ".join(plain_text(row[p]) for p in keys if p < len(row)) for row in table.sample]
    named = [name for name in names if name] or [f"row {len(names)}"]
    figures: list[str] = []
    while len(named) > 1 and _is_figure(named[-1]):
        figures.insert(0, named.pop())
    if not figures and are_counts and _adds_up(columns):
        figures = named[-1:]
    if figures:
        conditions = [Condition(table.columns[p], name, is_equal=False) for p in keys for name in figures]
        options = opt.where(conditions) if len(keys) == 1 else ""
        yield Caution(
            "summary_rows",
            f"the last rows ({listed(figures, 4)}) look like figures computed from the rows above, and were counted as "
            f"items; if they are, delete them from the table{options and ', or use '}{options}",
        )


def _is_figure(name: str) -> bool:
    """Whether a row is named like a figure.

    >>> _is_figure("Grand Total"), _is_figure("Cohen's kappa"), _is_figure("total recall"), _is_figure("7")
    (True, True, False, False)
    """
    parts = set(words_of(name))
    return bool(parts & ROW_FIGURES) and parts <= ROW_FIGURES | BESIDE_FIGURES


def _adds_up(columns: Collection[Column]) -> bool:
    """Whether the last row is the sum of the others in every column."""
    if not all(column.is_whole for column in columns):
        return False
    *rows, last = whole_rows(columns)
    return len(rows) >= MIN_ROWS_ABOVE_TOTALS and any(last) and tuple(map(sum, zip(*rows, strict=True))) == last


def refuse_second_header(table: Table, columns: Collection[Column], nameless: Collection[Column]) -> None:
    """Refuse a header of merged cells above another: columns without a name, and a first row unlike all below."""
    tops = {plain_text(column.cells[0]) for column in columns if column.cells}
    below = {plain_text(value) for column in columns for value in column.cells[1:]}
    is_named_below = any(column.cells and plain_text(column.cells[0]) for column in nameless)
    if is_named_below and len(table.sample) > MIN_ROWS_ABOVE_TOTALS and not tops & (below | {""}):
        raise DataError(
            f"{table.name}: two header rows: some columns of the first have no name, and the second "
            f"({listed(sorted(tops), 4)}) holds nothing that occurs below; join them into one row, such as "
            f"{shown(f'{next(iter(columns)).name} {min(tops)}')}"
        )


def caution_second_header(table: Table, columns: Sequence[Column]) -> Iterator[Caution]:
    """A caution if no cell of the first row occurs again while all other values do: names of people, or units."""
    if len(columns) <= 1 or len(columns[0].cells) < MIN_ROWS_TO_SEE_HEADER:
        return
    first = [plain_text(column.cells[0]) for column in columns]
    again = Counter(value for column in columns for value in column.values.elements())
    if all(first) and all((size == 1) == (value in first) for value, size in again.items()):
        yield Caution(
            "header_again",
            f"the first row of {table.name} ({listed(first, 4)}) holds nothing that occurs below, and was counted as "
            "an item: if it is a second header, delete it",
        )
