"""Responses → one table per question: the rules decide which count, and count what they leave out."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import narwhals as nw
import polars

from spagree.errors import ColumnError, DataError, FileError, SpagreeError, SpansError, UsageError, count, unknown_name
from spagree.messages import Warning, listed, opt, shown
from spagree.read import cells
from spagree.read.annotations import (
    ANNOTATOR,
    CLUSTER,
    GROUP,
    ITEM,
    LABEL,
    LINK,
    ROW,
    TEXT,
    TIME,
    Annotations,
    Understood,
)
from spagree.read.table import SHOWN_EXAMPLES
from spagree.read.tools.records import chosen
from spagree.read.tools.source import ARCHIVE, SPECIAL, Source
from spagree.read.tools.tool import Marks, ReaderOptions, Response, Rules, Tool, Value, field_in, fields_of
from spagree.read.words import texts as texts_of

SHOWN_QUESTIONS, SHOWN_FIELDS, MOST_LOOKED_AT = 12, 30, 100
MOST_ANSWERS = 20_000_000
Columns = dict[str, list[Any]]  # the annotations of a question, by role: the places of items, times as written
ROLES = (ITEM, ANNOTATOR, LABEL, TIME, ROW)
EMPTY = "[]"  # the label of an empty answer, where it counts
SHOWN_TEXT = 60  # characters of an item's text in a message
LONGEST_TEXT = 2_000  # characters of an item's text, enough to recognise it


@dataclass(frozen=True, slots=True)
class Export:
    """The items, the columns of each question, and how many annotations were left out or are gold.

    ``regions``: how many were marked beside the classes.
    """

    tool: Tool
    items: Items
    rows: Mapping[str, Columns]
    left_out: Mapping[str, Mapping[str, int]]
    statuses: frozenset[str]
    golds: Mapping[str, int]
    regions: int

    def refuse_unknown(self, options: ReaderOptions) -> None:
        """Refuse a field that is empty in every record."""
        for role in (ITEM, ANNOTATOR, TIME, CLUSTER, GROUP):
            name, none = getattr(options, role), self.items.places.get(None) if role == ITEM else None
            if name is None or any(value != none for columns in self.rows.values() for value in columns[role]):
                continue
            if not self.items.fields:
                raise UsageError(
                    f"{opt[role](name)}: exports of {self.tool.title} have no other fields of items; "
                    "leave it out, or write the annotations as a table first"
                )
            fields = listed(list(self.items.fields), SHOWN_FIELDS)
            raise ColumnError(f"{opt[role](name)}: no record has anything in this field; fields: {fields}")

    def frame(self, question: str, options: ReaderOptions) -> polars.DataFrame:
        """The annotations of a question as text, with times as unix seconds if known."""
        columns = {
            role: cells for role, cells in self.rows[question].items() if any(cell is not None for cell in cells)
        }
        if all(place == self.items.places.get(None) for place in columns[ITEM]):
            del columns[ITEM]  # the items are unknown
        if TIME in columns:
            self._read_times(columns, options)
        kinds = {ITEM: polars.Int64, ROW: polars.Int64, TIME: polars.Float64}
        types = {role: kinds.get(role, polars.String) for role in columns}
        try:
            items = self.items.series(ITEM)
            frame = polars.DataFrame(columns, schema=types)
        except UnicodeEncodeError as error:
            text = shown(ascii(error.object))
            raise DataError(f"a label or an id holds half a character: {text}; export it again") from None
        if self.tool.is_numbered:
            frame = frame if frame[ROW].is_sorted() else frame.sort(ROW, maintain_order=True)
            frame = frame.with_columns(polars.int_range(1, polars.len() + 1, dtype=polars.Int64).alias(ROW))
        if ITEM not in columns:
            return frame
        about = [items, self.items.series(TEXT), self.items.series(LINK)]
        return frame.with_columns(series.gather(frame[ITEM]) for series in about if series is not None)

    def _read_times(self, columns: Columns, options: ReaderOptions) -> None:
        """Turn the times into unix seconds; if any is not a time, none are used, and a warning says so."""
        texts = columns[TIME]
        seconds = [None if text is None else self.tool.clock(text) for text in texts]
        wrong = [text for text, time in zip(texts, seconds, strict=True) if time is None and text is not None]
        columns[TIME] = seconds
        if wrong:
            del columns[TIME]
            reason = f"{count(len(wrong), 'is not a time', 'are not times')}, first {shown(wrong[0])}"
            options.warnings.append(Warning("time_ignored", f"the times of annotation were not used: {reason}"))


def named_questions(questions: Sequence[str], wanted: str | None) -> Sequence[str]:
    """The question the user named, or all its options; without a name all questions."""
    if wanted is None:
        return questions
    same = [name for name in questions if name == wanted]
    similar = [name for name in questions if name.casefold() == wanted.casefold()]
    options = [name for name in questions if name.startswith(f"{wanted}:")]
    if not (same or similar or options):
        raise unknown_name("question", wanted, questions)
    return same or similar or options


def several_questions(questions: Sequence[str], source: str, tool: Tool, otherwise: str = "") -> ColumnError:
    """The error where one question must be chosen; ``otherwise``: what else can be done."""
    names = listed(questions, SHOWN_QUESTIONS)
    return ColumnError(
        f"{source}: {tool.title} asked {len(questions)} questions: {names}; "
        f"choose one with {opt.question}, e.g. {opt.question(questions[0])}{otherwise}"
    )


def gather(
    responses: Iterable[Response], tool: Tool, rules: Rules, name: str, named: Mapping[str, str] | None = None
) -> Export:
    """Apply the rules to all responses, streaming if possible; ``named``: the fields for --cluster and --by."""
    counted, named, keeps_empty = rules.counted(tool), named or {}, rules.empty == "keep"
    regions: Counter[str] = Counter()  # by question
    responses = _without_marks(responses, regions)
    if keeps_empty or rules.multi == "options":
        responses = list(responses)
    every = dict.fromkeys(question for each in responses for question in each.answers) if keeps_empty else {}
    options = _options(list(responses), name) if rules.multi == "options" else {}
    items = Items()
    rows: defaultdict[str, Columns] = defaultdict(lambda: {role: [] for role in (*ROLES, *named)})
    left_out: defaultdict[str, Counter[str]] = defaultdict(Counter)  # by question, then by reason
    complete: Counter[str] = Counter()  # complete responses by the reason why they do not count
    answered: Counter[tuple[str, str]] = Counter()  # those that answer a question, by it and the reason
    golds: Counter[str] = Counter()
    statuses: set[str] = set()
    for number, response in enumerate(responses, 1):
        _, who, answers, time, status, is_gold, row, _, is_complete, record = response
        reason = "ground_truth" if is_gold and rules.ground_truth == "drop" else ""
        if status and status not in counted:
            reason = tool.statuses.get(status, "other_status")
        is_complete = is_complete or not answers
        complete[reason] += is_complete
        if every and is_complete:
            answers = {**every, **answers}
        if options:
            answers = _split(answers, options, rules)
        more = [field_in(record, field) for field in named.values()]
        place, line = items.place(response, tool), number if row is None else row
        for question, value in answers.items():
            answered[question, reason] += is_complete
            columns = rows[question]
            if reason or not (value or keeps_empty):
                left_out[question][reason or "empty"] += 1
                continue
            golds[question] += is_gold
            for column, cell in zip(columns.values(), (place, who, label(value), time, line, *more), strict=True):
                column.append(cell)
        statuses.add(status)
    for question in [name for name in regions if not any(text != EMPTY for text in rows[name][LABEL])]:
        del rows[question]  # where something was marked, an empty answer is no class
        left_out.pop(question, None)
    for question in rows:
        for reason, size in complete.items():  # complete responses without an answer to a question left it empty
            left_out[question][reason or "empty"] += size - answered[question, reason]
    sizes = {question: dict(+reasons) for question, reasons in left_out.items() if +reasons}
    filled = {question: columns for question, columns in rows.items() if columns[LABEL]}
    if not filled:
        raise _nothing(sizes, complete, regions.total(), tool, name)
    return Export(tool, items, filled, sizes, frozenset(statuses - {""}), +golds, regions.total())


def _without_marks(responses: Iterable[Response], regions: Counter[str]) -> Iterator[Response]:
    """The responses as far as they are classes; what else was marked is only counted."""
    for response in responses:
        marks = {name: len(value.marks) for name, value in response.answers.items() if isinstance(value, Marks)}
        if not marks:
            yield response
            continue
        regions.update(marks)
        classes = {name: value for name, value in response.answers.items() if name not in marks}
        if classes or response.is_complete:
            yield response._replace(answers=classes)


@dataclass(slots=True)
class Items:
    """The items by place, with the text and the address that their first responses show."""

    places: dict[str | None, int] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    other_texts: dict[str, str] = field(default_factory=dict)  # of items that also had another text before
    links: dict[str, str | None] = field(default_factory=dict)
    fields: dict[str, None] = field(default_factory=dict)  # of the first records, for messages

    def place(self, response: Response, tool: Tool) -> int:
        """The place of the item of a response."""
        item, text = response.item, response.text
        if len(self.places) < MOST_LOOKED_AT:
            self.fields.update(dict.fromkeys(fields_of(response.fields)))
        if item is not None:
            if text is not None and self.texts.setdefault(item, cut := text[:LONGEST_TEXT]) != cut:
                self.other_texts.setdefault(item, cut)
            if response.fields and item not in self.links:
                self.links[item] = tool.link(response.fields)
        return self.places.setdefault(item, len(self.places))

    def series(self, name: str) -> polars.Series | None:
        """The ids, texts or addresses by place; in texts and addresses half a character becomes a question mark."""
        if name == ITEM:
            return polars.Series(ITEM, list(self.places), dtype=polars.String)
        by_item = self.texts if name == TEXT else self.links
        if not any(by_item.values()):
            return None
        values = [None if item is None else by_item.get(item) for item in self.places]
        try:
            return polars.Series(name, values, dtype=polars.String)
        except UnicodeEncodeError:
            whole = [value and value.encode("utf-8", "replace").decode() for value in values]
            return polars.Series(name, whole, dtype=polars.String)


def _nothing(
    left_out: Mapping[str, Mapping[str, int]], complete: Mapping[str, int], regions: int, tool: Tool, name: str
) -> DataError:
    if regions and not left_out:
        return SpansError(
            f"{name}: {count(regions, 'region')} marked and no classes chosen; spagree compares classes: "
            f"ask about the whole item, or measure agreement on marks of texts and sound with {opt.format('spans')}"
        )
    total: Counter[str] = sum((Counter(reasons) for reasons in left_out.values()), Counter())
    if not left_out:
        total = Counter({reason or "empty": size for reason, size in complete.items()})
    why = "none were found; check that the project has annotations and that the export holds them"
    if total:
        reasons = ", ".join(f"{size:,} {reason}" for reason, size in total.items())
        why = f"all were left out ({reasons}); change that with {opt.status}, {opt.empty} or {opt.ground_truth}"
    return DataError(f"{name}: an export of {tool.title} without annotations that count: {why}")


def _options(responses: Sequence[Response], name: str) -> dict[str, list[str]]:
    """The options of the questions with several answers in some response.

    With one answer per option and response, thousands of options would fill the memory: refused.
    """
    options_of: defaultdict[str, set[str]] = defaultdict(set)
    multiple: set[str] = set()
    for response in responses:
        for question, value in response.answers.items():
            options_of[question].update(chosen(value))
            multiple.update({question} if isinstance(value, tuple) and len(value) > 1 else ())
    options = {question: sorted(names) for question, names in options_of.items() if question in multiple}
    most = max(options, key=lambda question: len(options[question]), default="")
    size = len(responses) * len(options.get(most, ()))
    if size > MOST_ANSWERS:
        raise DataError(
            f"{name}: question {shown(most)} has {len(options[most]):,} options, {size:,} answers in all; "
            f"compare the sets of options instead: {opt.multi('set')}"
        )
    return options


def _split(answers: Mapping[str, Value], options: Mapping[str, Sequence[str]], rules: Rules) -> dict[str, Value]:
    """Turn each option of a multiple-choice question into a separate question."""
    split: dict[str, Value] = {}
    for question, value in answers.items():
        if question not in options:
            split[question] = value
            continue
        on = set(chosen(value))
        is_empty = not on and rules.empty == "drop"
        for option in options[question]:
            split[f"{question}:{option}"] = None if is_empty else "yes" if option in on else "no"
    return split


def label(value: Value) -> str:
    """The label of a value: text unchanged, several options as one sorted set.

    >>> label("yes"), label(("b", "a")), label(None)
    ('yes', '["a", "b"]', '[]')
    """
    return value if isinstance(value, str) and value else json.dumps(sorted(chosen(value)), ensure_ascii=False)


def read_export(
    source: Source,
    tool: Tool,
    options: ReaderOptions,
    rules: Rules,
    *,
    missing: tuple[str, ...] = (),
    every: bool = False,
) -> dict[str, Annotations]:
    """The annotations of the question the user means, or of every question."""
    with explained(source, tool, options):
        export = gather(tool.responses(source, options), tool, rules, source.name, options.further)
    export.refuse_unknown(options)
    if options.text is not None and not export.items.texts:
        raise UsageError(f"{opt.text(options.text)}: no item of this export has such a text; leave it out")
    questions = named_questions(tuple(export.rows), options.question)
    if len(questions) > 1 and not every:
        raise several_questions(questions, source.name, tool, f", or score each with {opt.all_questions}")
    return {question: _annotations(source, export, question, options, rules, missing) for question in questions}


@contextmanager
def explained(source: Source, tool: Tool, options: ReaderOptions) -> Iterator[None]:
    """Refuse what this tool does not write, before and while it is read."""
    if source.shape in SPECIAL and source.shape not in tool.shapes:  # it writes plain files only
        kind = "an archive" if source.shape == ARCHIVE else f"a {source.shape}"
        raise FileError(f"{source.name}: {kind}, but exports of {tool.title} are files; name the files")
    for role in (ITEM, ANNOTATOR, TIME):
        name = getattr(options, role)
        if name is not None and role not in tool.renames:
            fixed = f"a fixed field for the {role} ({tool.fields[role]})" if role in tool.fields else f"no {role}"
            raise UsageError(
                f"{opt[role](name)}: exports of {tool.title} have {fixed}; "
                f"leave it out, or read the file as a plain table with {opt.format('long')}"
            )
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError, SyntaxError) as error:
        if isinstance(error, SpagreeError):
            raise
        raise DataError(
            f"{source.name}: not what {tool.title} writes ({type(error).__name__}: {error}); check the export, "
            f"or leave {opt.format} out to have it recognised"
        ) from error
    finally:
        if options.where is not None:  # --where may be why nothing was found
            options.where.refuse_nothing(tool.title)


def _annotations(
    source: Source, export: Export, question: str, options: ReaderOptions, rules: Rules, missing: tuple[str, ...]
) -> Annotations:
    tool, before = export.tool, len(options.warnings)
    frame = export.frame(question, options)
    warnings = (*options.warnings, *_cautions(export, question))
    del options.warnings[before:]  # they concern this question only
    lazy: nw.LazyFrame[Any] = cells.with_missing(nw.from_native(frame.lazy()), missing)
    # Where each role came from, in the tool's or the user's words, and what counted.
    columns = {role: getattr(options, role) or tool.fields.get(role, "") for role in (ITEM, ANNOTATOR, TIME)}
    columns = {**columns, LABEL: question, **options.further}
    present = {role: columns[role] for role in (ITEM, ANNOTATOR, LABEL, TIME, CLUSTER, GROUP) if role in frame.columns}
    others = [name for name in export.rows if name != question]
    more = [f"other questions: {', '.join(others)}"] if others else []
    counted = f"counted: {rules.in_words(tool, export.statuses)}"
    notes = [options.notes[question]] if question in options.notes else []
    conditions = [] if options.where is None else [options.where.in_words()]
    told = (*conditions, *more, *notes, counted)
    roles = [role for role in (ITEM, ANNOTATOR, LABEL) if role in frame.columns]
    examples = tuple(tuple(str(value) for value in row) for row in frame.select(roles).head(SHOWN_EXAMPLES).rows())
    complete = Understood(source.name, tool.name, present, examples=examples, rules=told)
    return Annotations(lazy, complete, warnings, export.left_out.get(question, {}))


def _cautions(export: Export, question: str) -> Iterator[Warning]:
    """Warnings of regions beside the classes, of ground truth that counts, and of items that share an id."""
    if export.regions:
        message = f"{count(export.regions, 'region')} marked beside the classes and ignored: spagree compares classes"
        yield Warning("regions_left_aside", message)
    if size := export.golds.get(question, 0):
        marked = count(size, "annotation is", "annotations are")
        message = f"{marked} marked as ground truth, as control questions are, and counted; to leave them out: "
        yield Warning("control_questions", message + opt.ground_truth("drop"))
    for item, other in islice(export.items.other_texts.items(), 1):
        number = count(len(export.items.other_texts), "item has", "items have")
        texts = " and ".join(shown(text[:SHOWN_TEXT]) for text in (export.items.texts[item], other))
        field = next((name for name in texts_of(export.tool.name) if name in export.items.fields), None)
        named = opt.item if field is None else opt.item(field)
        tell = f", or name a field that tells them apart with {named}" if ITEM in export.tool.renames else ""
        yield Warning(
            "several_texts",
            f"{number} several texts, such as {shown(item)}: {texts}. If these are different items that share an id, "
            f"as in exports of several servers, score each file by itself{tell}",
        )
