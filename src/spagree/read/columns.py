"""What columns hold, judging by the first rows, which column plays which role, and what its cells become."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from spagree.errors import SHOWN_PROBLEMS, ColumnError, DataError, count
from spagree.late import nw
from spagree.messages import Marked, opt
from spagree.read.annotations import ANNOTATOR, COUNT, ITEM, LABEL, ROW, TIME, is_missing
from spagree.read.frames import collected
from spagree.read.table import EXACT, SAMPLE_ROWS, Table, cell, listed, shown, wrong_cell
from spagree.understood import Caution

# Strongest first. Names within a group are equally good: two of them in one table are ambiguous.
# Neighbouring groups of the same word (an id before its plain name) are near-synonyms: the id wins.
COMMON_NAMES: Mapping[str, tuple[str, ...]] = {
    ITEM: (
        "itemid",
        "item",
        "taskid unitid documentid docid sampleid exampleid textid sentenceid instanceid recordid imageid tweetid "
        "commentid postid reviewid messageid utteranceid dialogueid conversationid videoid clipid audioid imgid "
        "photoid snippetid articleid paragraphid segmentid claimid promptid caseid pairid sentid",
        "origid originalid",
        "task unit document doc sample example instance record",
        "subjectids subjectid",
        "id",
        "sentence text image filename file question",
        "stimulus stimulusid case hit essayid essay abstractid abstract imagename utt utterance prompt claim",
        "questionid video",
    ),
    ANNOTATOR: (
        "annotatorid",
        "annotator",
        "annotatorname annotatedby",
        "workerid raterid coderid judgeid labelerid labellerid",
        "workerids annotatorids raterids amtworkerids amtworkerid",
        "ratername workername codername judgename labelername labellername",
        "worker rater coder judge labeler labeller labeledby labelledby",
        "userid participantid prolificpid prolificid",
        "user username participant email",
        "grader reader reviewer evaluator assessor screener moderator curator expert turker respondent rateremail",
    ),
    LABEL: (
        "label",
        "labels",
        "class category answer judgement judgment rating annotation response",
        "value choice tag code score",
        "verdict decision grade diagnosis vote winner preference",
    ),
    TIME: ("createdat submittedat updatedat annotatedat", "timestamp", "time datetime", "date"),
}


@dataclass(frozen=True, slots=True)
class Roles:
    """The position of the column of each role, and which of them were guessed."""

    positions: Mapping[str, int]
    guessed: frozenset[str]


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
    import difflib

    folded = {column.casefold(): column for column in columns}
    near = difflib.get_close_matches(str(name).casefold(), folded, n=1)
    hint = f"did you mean {shown(folded[near[0]])}? Columns" if near else "columns"
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


def several(columns: Sequence[str], names: Sequence[str], option: Marked = opt.label) -> list[int]:
    """The positions of columns given as a list.

    >>> several(["id", "ann", "bob"], ["bob", "ann"])
    [2, 1]
    """
    positions = [find(columns, name, option) for name in names]
    twice = [name for name, position in zip(names, positions, strict=True) if positions.count(position) > 1]
    if twice:
        raise ColumnError(f"{option} names the column {shown(twice[0])} twice; name each column once")
    return positions


def _guess(columns: Sequence[str], role: str, taken: frozenset[int]) -> int | None:
    """The strongest common name; several equally strong ones are an error (time: no guess)."""
    for names in COMMON_NAMES.get(role, ()):
        hits = [i for i, column in enumerate(columns) if plain_name(column) in names.split() and i not in taken]
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


FEWEST_TELLING = 5  # rows that must all differ before a column counts as ids
LONGEST_NAME = 4  # words
FEWEST_ROWS = 3  # below this, shared values prove nothing
RARELY, ENOUGH = 0.2, 10  # a column whose cells rarely occur in the others, of enough cells, is not one of them

MOMENT = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T,].*)?|\d{1,2}:\d{2}(:\d{2})?( ?[AP]M)?"
EMAIL = r"[^@\s]+@[^@\s]+\.[a-zA-Z]+"
ADDRESS = r"\d{1,3}(\.\d{1,3}){3}|[a-z]+://\S+"
ELSEWHERE = re.compile(f"{MOMENT}|{EMAIL}|{ADDRESS}")
TIMES = "times or addresses"


def words(text: str) -> frozenset[str]:
    """Names written in one line.

    >>> sorted(words("gold truth"))
    ['gold', 'truth']
    """
    return frozenset(text.split())


# Columns that forms and surveys add to the answers.
OF_FORMS = words(
    "timestamp startdate enddate recordeddate status ipaddress progress durationinseconds duration finished "
    "responseid recipientlastname recipientfirstname recipientemail externalreference externaldatareference "
    "locationlatitude locationlongitude distributionchannel userlanguage respondentid collectorid datecreated "
    "datemodified emailaddress firstname lastname customdata1 starttime endtime submittime completiontime id "
    "email score name username consent surveycode qrecaptchascore comments feedback"
)
CONSENT = re.compile(r"\b(consent|participat\w+|take part|privacy|gdpr)\b", re.IGNORECASE)
PEOPLE = (
    "annotator annotatorid rater raterid coder worker workerid user userid username participant participantid",
    "emailaddress email responseid respondentid prolificid prolificpid respondent evaluator reviewer judge name "
    "fullname yourname subject",
)
# People who may also be what was rated.
OTHER_PEOPLE = words("user userid username participant participantid subject name fullname yourname")
# Columns with the address of an item, and how an address starts.
LINKS = words("url link taskurl tasklink itemurl itemlink permalink href weburl pageurl viewlabel assignmentlink")
ADDRESSES = ("http://", "https://")
# Columns computed from the others.
DERIVED = words(
    "gold golden goldstandard truth groundtruth true final majority consensus adjudicated adjudication resolved mean "
    "average avg median mode std sd sum total count agreement aggregated aggregate expected correct confidence index "
    "reconciled reconciliation reference "
    "mehrheit konsens adjudikation referenz mittelwert durchschnitt summe gesamt übereinstimmung "
    "majorité vérité référence moyenne accord mayoría mayoria consenso referencia promedio acuerdo "
    "金标准 标准答案 最终 最终标签 多数 真实标签 正解 多数決"
)
# Columns of totals beside columns of counts.
FIGURES = words(
    "total totals sum count counts n num number of votes annotations annotators raters majority agreement index"
)


@dataclass(frozen=True)
class Column:
    """A column, as far as the first rows show it.

    >>> Column(0, "ann", ("yes", "no", None, "yes")).values
    Counter({'yes': 2, 'no': 1})
    """

    position: int
    name: str
    cells: tuple[object, ...]

    @cached_property
    def values(self) -> Counter[str]:
        """How often each value occurs; empty cells are left out."""
        return Counter(text for value in self.cells if (text := plain_text(value)))

    @cached_property
    def plain_name(self) -> str:
        """The name without case and separators."""
        return plain_name(self.name)

    @cached_property
    def is_derived(self) -> bool:
        """Whether it is named like a figure computed from the others; a question of a survey is not."""
        words_in_name = words_of(self.name)
        is_question = len(words_in_name) > LONGEST_NAME or self.name.rstrip().endswith("?")
        return bool(DERIVED & set(words_in_name)) and not is_question

    @cached_property
    def is_unique(self) -> bool:
        """Whether every row has a value, and no two rows the same."""
        return len(self.values) == len(self.cells)

    @cached_property
    def is_id(self) -> bool:
        """Whether every row has a different value, and there are enough rows to tell."""
        return self.is_unique and len(self.cells) >= FEWEST_TELLING

    @cached_property
    def is_elsewhere(self) -> bool:
        """Whether it holds times, e-mails or addresses, which forms and spreadsheets add to the ratings."""
        return bool(self.values) and all(ELSEWHERE.fullmatch(value) for value in self.values)

    @cached_property
    def is_people(self) -> bool:
        """Whether it holds e-mails, or is named like a column of people."""
        is_named = any(self.plain_name in names.split() for names in PEOPLE)
        return is_named or (bool(self.values) and all(re.fullmatch(EMAIL, value) for value in self.values))

    @cached_property
    def is_switch(self) -> bool:
        """Whether all cells are 0 or 1: a class in a one-hot table."""
        return bool(self.values) and all(value.casefold() in SWITCHES for value in self.values)

    @cached_property
    def is_whole(self) -> bool:
        """Whether every row holds a whole number from 0 up, as counts do."""
        return sum(self.values.values()) == len(self.cells) > 0 and all(value.isdecimal() for value in self.values)

    def shared(self, others: Iterable[Column]) -> float:
        """The share of its cells whose value occurs in another column."""
        elsewhere: set[str] = set().union(*(other.values.keys() for other in others if other is not self))
        total = sum(self.values.values())
        return sum(n for value, n in self.values.items() if value in elsewhere) / total if total else 0.0


ON = ("1", "true", "yes", "x")
OFF = ("0", "false", "no")
SWITCHES = frozenset(ON + OFF)


def plain_text(value: object) -> str:
    """A value as text; whole numbers have no decimals.

    >>> plain_text(2.0), plain_text("2.0"), plain_text(float("nan"))
    ('2', '2.0', '')
    """
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
    """Whether a text is a JSON object or a list of them.

    >>> is_object('{"a": 1}'), is_object('{"'), is_object('[{"a": 1}]')
    (True, False, True)
    """
    return (text.startswith('{"') and text.endswith("}")) or (text.startswith('[{"') and text.endswith("}]"))


def plain_name(column: str) -> str:
    """A name without case and separators: Annotator_ID, annotator id and annotatorId become the same.

    >>> plain_name("Annotator ID")
    'annotatorid'
    """
    return "".join(character for character in column.casefold() if character.isalnum())


def names_link(column: str) -> bool:
    """Whether a column or field has the name of one that holds an item's address.

    >>> names_link("Task URL"), names_link("text")
    (True, False)
    """
    return plain_name(column) in LINKS


def words_of(column: str) -> list[str]:
    """The words of a name, split at changes of case, blanks, punctuation and digits.

    >>> words_of("finalLabel_2")
    ['final', 'label', '2']
    """
    return [word.casefold() for word in re.findall(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+", column)]


def columns_at(table: Table, positions: Sequence[int]) -> dict[int, Column]:
    """The columns at these positions, as far as the first rows go; an engine without an order gives any rows."""
    if not positions:
        return {}
    if table.sample:
        rows, places = table.sample, {p: p for p in positions}
    else:
        rows = collected(table.load(positions).select([cell(p) for p in positions]).head(SAMPLE_ROWS))
        places = {p: i for i, p in enumerate(positions)}
    cells = {p: tuple(row[i] if i < len(row) else None for row in rows) for p, i in places.items()}
    return {p: Column(p, table.columns[p], values) for p, values in cells.items()}


def values_by_item(table: Table, items: Sequence[int], position: int) -> dict[tuple[str, ...], set[str]]:
    """The values of a column for each item, as far as the first rows show."""
    values: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for row in table.sample:
        if len(row) == len(table.columns) and (value := plain_text(row[position])):
            values[tuple(plain_text(row[p]) for p in items)].add(value)
    return values


def link_column(table: Table, items: Sequence[int], taken: Collection[int]) -> int | None:
    """A free column named like a link whose cells, as far as the first rows show, hold one web address per item.

    The cards of the report link to it.
    """
    for position, name in enumerate(table.columns):
        if position not in taken and names_link(name):
            values = values_by_item(table, items, position)
            links = [value for of_item in values.values() for value in of_item]
            is_one_each = not items or len(links) == len(values)
            if links and is_one_each and all(value.startswith(ADDRESSES) for value in links):
                return position
    return None


@dataclass(frozen=True, slots=True)
class Sorted:
    """Columns of ratings, in groups that share values (the largest first), and the other columns."""

    groups: tuple[tuple[int, ...], ...]
    aside: Mapping[int, str]

    @property
    def rated(self) -> tuple[int, ...]:
        """The largest group, in the order of the table."""
        return self.groups[0] if self.groups else ()


def sort_out(columns: Mapping[int, Column], *, is_form: bool = False) -> Sorted:
    """Separate the columns of ratings from text, notes, times, ids and computed columns.

    Annotators share a scale, so a column whose values never occur in the others holds no ratings.
    """
    reasons = {position: _reason(column, is_form) for position, column in columns.items()}
    aside = {position: reason for position, reason in reasons.items() if reason}
    if aside.keys() == columns.keys():  # dates are what people were asked for
        aside = {position: reason for position, reason in aside.items() if reason != TIMES}
    left = {position: column for position, column in columns.items() if position not in aside}
    companions = _companions(left)
    aside |= dict.fromkeys(companions, "named after another column")
    left = {p: column for p, column in left.items() if p not in companions}
    derived = [p for p in left if left[p].is_derived]
    if len(left) - len(derived) > 1:
        aside |= dict.fromkeys(derived, "named like a figure computed from the others")
        left = {p: column for p, column in left.items() if p not in derived}
    if not any(len(column.cells) >= FEWEST_ROWS for column in left.values()):
        return Sorted((tuple(left),) if left else (), dict(sorted(aside.items())))
    # Repeated, because a column may share values only with one that turned out to hold no ratings.
    while strangers := [p for p, column in left.items() if _is_stranger(column, left.values())]:
        if len(strangers) == len(left):
            break
        aside |= dict.fromkeys(strangers, "values that do not occur in the other columns")
        left = {p: column for p, column in left.items() if p not in strangers}
    return Sorted(_groups(left), dict(sorted(aside.items())))


def without_sums(columns: Mapping[int, Column]) -> dict[int, Column]:
    """Columns of whole numbers without those that count or add up the others.

    >>> cells = {"yes": (2, 1, 3), "no": (1, 2, 0), "all": (3, 3, 3)}
    >>> columns = {p: Column(p, name, values) for p, (name, values) in enumerate(cells.items())}
    >>> [column.name for column in without_sums(columns).values()]
    ['yes', 'no']
    """
    kept = {p: column for p, column in columns.items() if not set(words_of(column.name)) <= FIGURES}
    kept = kept if len(kept) > 1 else dict(columns)
    for position, column in list(kept.items()):
        rest = [other for other in kept.values() if other is not column]
        if len(rest) > 1 and len(column.cells) >= FEWEST_ROWS and _adds_up(column, rest):
            del kept[position]
    odd = [p for p in kept if not _even([*kept.values()]) and _even([kept[other] for other in kept if other != p])]
    return {p: column for p, column in kept.items() if p not in odd} if len(odd) == 1 else kept


def _even(columns: Sequence[Column]) -> bool:
    """Whether several columns add up to the same number, two or more, in every row, as counts of classes do."""
    if len(columns) <= 1 or len(columns[0].cells) < FEWEST_TELLING or not all(column.is_whole for column in columns):
        return False
    rows = whole_rows(columns)
    sums = {sum(row) for row in rows}
    return len(sums) == 1 and max(sums) > 1 and len(set(rows)) > 1


def rows_of(columns: Iterable[Column]) -> Iterator[tuple[object, ...]]:
    """The rows of some columns."""
    return zip(*(column.cells for column in columns), strict=True)


def whole_rows(columns: Iterable[Column]) -> list[tuple[int, ...]]:
    """The rows of columns of whole numbers.

    >>> whole_rows([Column(0, "yes", (2.0, 1.0)), Column(1, "no", ("1", "2"))])
    [(2, 1), (1, 2)]
    """
    return [tuple(int(plain_text(value)) for value in row) for row in rows_of(columns)]


def _adds_up(column: Column, parts: Sequence[Column]) -> bool:
    """Whether a column is the sum of the others in every row."""
    try:
        rows = whole_rows((*parts, column))
    except ValueError:
        return False
    return any(row[-1] for row in rows) and all(sum(row[:-1]) == row[-1] for row in rows)


def _reason(column: Column, is_form: bool) -> str:
    if not column.values:
        return "empty"
    if column.is_elsewhere:
        return TIMES
    if is_form and (column.plain_name in OF_FORMS or CONSENT.search(column.name)):
        return "added by the form"
    return ""


def _companions(columns: Mapping[int, Column]) -> list[int]:
    """Columns named like several others with the same addition: "R1 conf" and "R2 conf" beside "R1" and "R2".

    >>> names = ["R1", "R1 conf", "R2", "R2 conf", "R3"]
    >>> _companions({p: Column(p, name, ()) for p, name in enumerate(names)})
    [1, 3]
    >>> names = ["Maria", "sure (Maria)", "Jo", "sure (Jo)"]
    >>> _companions({p: Column(p, name, ()) for p, name in enumerate(names)})
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


def _is_stranger(column: Column, others: Iterable[Column]) -> bool:
    share = column.shared(others)
    return share == 0 or (share < RARELY and sum(column.values.values()) >= ENOUGH)


def _groups(left: Mapping[int, Column]) -> tuple[tuple[int, ...], ...]:
    """Columns joined by shared values, the largest group first."""
    groups: list[tuple[set[int], set[str]]] = []
    for position, column in left.items():
        meeting = [group for group in groups if not group[1].isdisjoint(column.values)]
        groups = [group for group in groups if group not in meeting]
        members = {position}.union(*(group[0] for group in meeting))
        groups.append((members, set(column.values).union(*(group[1] for group in meeting))))
    return tuple(sorted((tuple(sorted(members)) for members, _ in groups), key=lambda group: (-len(group), group)))


def with_missing(frame: nw.LazyFrame[Any], missing: Sequence[str]) -> nw.LazyFrame[Any]:
    """Null where a label, id or time is NaN, or a label is a text that means missing; refuses lists and records."""
    schema = frame.collect_schema()
    for role in (ITEM, ANNOTATOR, LABEL):
        if role in schema and schema[role].is_nested():
            raise DataError(
                f"the column of the {role} holds {schema[role]}, several values per cell; "
                "make each cell one text or number first"
            )
    changed = [
        nw.when(~nw.col(role).is_nan()).then(nw.col(role) + 0.0).alias(role)  # −0.0 + 0.0 is 0.0 on every engine
        for role in (ITEM, LABEL, ANNOTATOR, TIME)
        if role in schema and schema[role].is_float()
    ]
    cleaned = frame.with_columns(*changed) if changed else frame
    if not missing:
        return cleaned
    is_missing = as_text(LABEL, schema[LABEL]).is_in([str(text) for text in missing])
    return cleaned.with_columns(nw.when(~is_missing).then(nw.col(LABEL)).alias(LABEL))


def in_one_type(frame: nw.LazyFrame[Any], positions: Sequence[int]) -> tuple[nw.LazyFrame[Any], tuple[Caution, ...]]:
    """Columns to be stacked, in one type: numbers if all are numbers, otherwise text."""
    schema = frame.collect_schema()
    kinds = {schema[cell(p)] for p in positions}
    if len(kinds) == 1:
        return frame, ()
    if all(kind.is_numeric() for kind in kinds):
        wanted: Any = nw.Float64 if any(kind.is_float() for kind in kinds) else nw.Int64
        return frame.with_columns(nw.col(cell(p)).cast(wanted) for p in positions), ()
    names = ", ".join(sorted(map(str, kinds)))
    caution = Caution("mixed_types", f"the columns hold several types ({names}); their text was used as the label")
    return frame.with_columns(as_text(cell(p), schema[cell(p)]).alias(cell(p)) for p in positions), (caution,)


def as_text(name: str, kind: Any) -> nw.Expr:
    """A column as text; whole numbers without decimals, because pandas stores integers with gaps as floats."""
    column = nw.col(name)
    if not kind.is_float():
        return column.cast(nw.String)
    is_whole = (column == column.round(0)) & (column.abs() < EXACT)
    whole = nw.when(is_whole).then(column).otherwise(nw.lit(0.0)).cast(nw.Int64).cast(nw.String)
    return nw.when(is_whole).then(whole).otherwise(nw.when(~column.is_null()).then(column.cast(nw.String)))


def refuse_text_counts(frame: nw.LazyFrame[Any], table: Table, positions: Sequence[int]) -> None:
    """Refuse columns of a data frame whose type cannot hold counts."""
    schema = frame.collect_schema()
    wrong = [p for p in positions if not schema[cell(p)].is_numeric()]
    if wrong:
        names = [f"column {shown(table.columns[p])} holds {schema[cell(p)]}" for p in wrong]
        raise DataError(f"{table.name}: counts must be whole numbers; name the class columns with {opt.label}", names)


def whole_counts(frame: nw.LazyFrame[Any], table: Table) -> nw.LazyFrame[Any]:
    """Counts as integers; refuses a cell that is negative, fractional, empty or text, and says where it is."""
    wrong = _wrong_text(frame) if table.is_text else _wrong_numbers(frame)
    if wrong:
        problems = [wrong_cell(table.name, label, value, row) for label, value, *row in wrong[:SHOWN_PROBLEMS]]
        at_least = "at least " if len(wrong) > SHOWN_PROBLEMS else ""
        cells = count(len(problems), "cell is not a count", "cells are not counts")
        raise DataError(
            f"{table.name}: {at_least}{cells} (whole numbers from 0); correct the table, and write 0 if nobody chose "
            "the class (PivotTable Options in Excel: for empty cells show 0)",
            problems,
        )
    if table.is_text:
        whole = f"* REPLACE (CAST(CAST({COUNT} AS DOUBLE) AS BIGINT) AS {COUNT})"
        converted: nw.LazyFrame[Any] = nw.from_native(frame.to_native().project(whole))
        return converted
    return frame.with_columns(nw.col(COUNT).cast(nw.Int64))


def _wrong_text(frame: nw.LazyFrame[Any]) -> list[Any]:
    """In SQL: only there does a failed cast give null instead of an error."""
    value = f"try_cast({COUNT} AS DOUBLE)"
    wrong = frame.to_native().filter(
        f"{value} IS NULL OR NOT isfinite({value}) OR {value} < 0 OR {value} <> floor({value}) OR {value} > {EXACT}"
    )
    return list(wrong.project(f"{LABEL}, {COUNT}, {ROW}").order(ROW).limit(SHOWN_PROBLEMS + 1).fetchall())


def _wrong_numbers(frame: nw.LazyFrame[Any]) -> list[Any]:
    value, schema = nw.col(COUNT), frame.collect_schema()
    fault = value.is_null() | (value < 0) | (value > EXACT)
    if not schema[COUNT].is_integer():
        fault = fault | (value % 1 != 0)
    if schema[COUNT].is_float():
        fault = fault | value.is_nan()
    row = [ROW] if ROW in schema else []
    return collected(frame.filter(fault).select(LABEL, COUNT, *row).head(SHOWN_PROBLEMS + 1))
