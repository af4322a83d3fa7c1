"""Responses → one table per question: the rules decide which count, and count what they leave out."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from spagree.errors import ColumnError, DataError, FileError, SpagreeError, UsageError, count, unknown_name
from spagree.late import nw
from spagree.messages import opt
from spagree.read import columns
from spagree.read.annotations import ANNOTATOR, CLUSTER, GROUP, ITEM, LABEL, LINK, ROW, TEXT, TIME, Annotations
from spagree.read.table import SHOWN_EXAMPLES, listed, shown
from spagree.read.tools.source import ARCHIVE, SPECIAL, Source
from spagree.read.tools.tool import ReaderOptions, Response, Rules, Tool, Value, field_in, fields_of
from spagree.understood import Caution, Understood

if TYPE_CHECKING:
    import polars

SHOWN_QUESTIONS, SHOWN_FIELDS = 12, 30
MOST_ANSWERS = 20_000_000
Columns = dict[str, list[Any]]  # the annotations of a question, by role: the places of items, times as written
ROLES = (ITEM, ANNOTATOR, LABEL, TIME, ROW)
SHOWN_TEXT = 60  # characters of an item's text in a message
LONGEST_TEXT = 2_000  # characters of an item's text, enough to recognise it


@dataclass(frozen=True, slots=True)
class Export:
    """The items, the columns of each question, and how many annotations were left out or are gold."""

    tool: Tool
    items: Items
    rows: Mapping[str, Columns]
    left_out: Mapping[str, Mapping[str, int]]
    statuses: frozenset[str]
    golds: Mapping[str, int]

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions in order of occurrence."""
        return tuple(self.rows)

    def chosen(self, question: str | None, *, every: bool, name: str) -> tuple[str, ...]:
        """The question the user means; if there are several, the user must choose."""
        names = self.questions if question is None else self._named(question)
        if len(names) == 1 or every:
            return names
        raise ColumnError(
            f"{name}: {self.tool.title} asked {len(names)} questions: {listed(names, SHOWN_QUESTIONS)}; "
            f"choose one with {opt.question}, e.g. {opt.question(names[0])}, or score each with {opt.all_questions}"
        )

    def _named(self, question: str) -> tuple[str, ...]:
        """The question of that name, or all its options if each is a separate question."""
        same = [name for name in self.questions if name == question]
        similar = [name for name in self.questions if name.casefold() == question.casefold()]
        options = [name for name in self.questions if name.startswith(f"{question}:")]
        if not (same or similar or options):
            raise unknown_name("question", question, self.questions)
        return tuple(same or similar or options)

    def frame(self, question: str, options: ReaderOptions) -> polars.DataFrame:
        """The annotations of a question as text, with times as unix seconds if known."""
        import polars

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
        """Turn the times into unix seconds; if any is not a time, none are used, and a caution says so."""
        texts = columns[TIME]
        seconds = [None if text is None else self.tool.clock(text) for text in texts]
        wrong = [text for text, time in zip(texts, seconds, strict=True) if time is None and text is not None]
        columns[TIME] = seconds
        if wrong:
            del columns[TIME]
            reason = f"{count(len(wrong), 'is not a time', 'are not times')}, first {shown(wrong[0])}"
            options.cautions.append(Caution("time_ignored", f"the times of annotation were not used: {reason}"))


def quoted(name: str) -> str:
    """A name as it is typed in a shell.

    >>> quoted("mood"), quoted("main issue")
    ('mood', '"main issue"')
    """
    return name if name.replace("_", "").replace("-", "").isalnum() else json.dumps(name, ensure_ascii=False)


def gather(
    responses: Iterable[Response], tool: Tool, rules: Rules, name: str, named: Mapping[str, str] | None = None
) -> Export:
    """Apply the rules to all responses, streaming if possible; ``named``: the fields for --cluster and --by."""
    counted, others, keeps_empty = rules.counted(tool), _Others(named or {}), rules.empty == "keep"
    if keeps_empty or rules.multi == "options":
        responses = list(responses)
    every = dict.fromkeys(question for each in responses for question in each.answers) if keeps_empty else {}
    options = _options(list(responses), name) if rules.multi == "options" else {}
    items = Items()
    rows: defaultdict[str, Columns] = defaultdict(lambda: {role: [] for role in (*ROLES, *others.named)})
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
        place, line, more = items.place(response, tool), number if row is None else row, others.of(record)
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
    others.refuse_unknown(tool)
    for question in rows:
        for reason, size in complete.items():  # complete responses without an answer to a question left it empty
            left_out[question][reason or "empty"] += size - answered[question, reason]
    sizes = {question: dict(+reasons) for question, reasons in left_out.items() if +reasons}
    filled = {question: columns for question, columns in rows.items() if columns[LABEL]}
    if not filled:
        raise _nothing(sizes, complete, tool, name)
    return Export(tool, items, filled, sizes, frozenset(statuses - {""}), +golds)


@dataclass(slots=True)
class Items:
    """The items by place, with the text and the address that their first responses show."""

    places: dict[str | None, int] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    other_texts: dict[str, str] = field(default_factory=dict)  # of items that also had another text before
    links: dict[str, str | None] = field(default_factory=dict)

    def place(self, response: Response, tool: Tool) -> int:
        """The place of the item of a response."""
        item, text = response.item, response.text
        if item is not None:
            if text is not None and self.texts.setdefault(item, cut := text[:LONGEST_TEXT]) != cut:
                self.other_texts.setdefault(item, cut)
            if response.fields and item not in self.links:
                self.links[item] = tool.link(response.fields)
        return self.places.setdefault(item, len(self.places))

    def series(self, name: str) -> polars.Series | None:
        """The ids, texts or addresses by place; in texts and addresses half a character becomes a question mark."""
        import polars

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


@dataclass(slots=True)
class _Others:
    """The fields that --cluster and --by name, by role: which some record has, and which fields there are."""

    named: Mapping[str, str]
    found: set[str] = field(default_factory=set)
    fields: dict[str, None] = field(default_factory=dict)

    def of(self, record: Mapping[str, Any]) -> list[str | None]:
        """Their values in a record."""
        if not self.named:
            return []
        if len(self.fields) < SHOWN_FIELDS:
            self.fields.update(dict.fromkeys(fields_of(record)))
        values = [field_in(record, name) for name in self.named.values()]
        self.found.update(role for role, value in zip(self.named, values, strict=True) if value)
        return values

    def refuse_unknown(self, tool: Tool) -> None:
        """Refuse a field that no record has."""
        for role, name in self.named.items():
            if role in self.found:
                continue
            if not self.fields:
                raise UsageError(
                    f"{opt[role](name)}: exports of {tool.title} have no other fields of items; "
                    "leave it out, or write the annotations as a table first"
                )
            raise ColumnError(
                f"{opt[role](name)}: no record has this field; fields: {listed(list(self.fields), SHOWN_FIELDS)}"
            )


def _nothing(
    left_out: Mapping[str, Mapping[str, int]], complete: Mapping[str, int], tool: Tool, name: str
) -> DataError:
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
    chosen: defaultdict[str, set[str]] = defaultdict(set)
    multiple: set[str] = set()
    for response in responses:
        for question, value in response.answers.items():
            chosen[question].update((value,) if isinstance(value, str) else value or ())
            multiple.update({question} if isinstance(value, tuple) and len(value) > 1 else ())
    options = {question: sorted(names) for question, names in chosen.items() if question in multiple}
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
        on = {value} if isinstance(value, str) else set(value or ())
        is_empty = not on and rules.empty == "drop"
        for option in options[question]:
            split[f"{question}:{option}"] = None if is_empty else "yes" if option in on else "no"
    return split


def label(value: Value) -> str:
    """The label of a value: text unchanged, several options as one sorted set.

    >>> label("yes"), label(("b", "a")), label(None)
    ('yes', '["a", "b"]', '[]')
    """
    return value if isinstance(value, str) and value else json.dumps(sorted(value or ()), ensure_ascii=False)


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
    # The named tool writes plain files only.
    if source.shape in SPECIAL and source.shape not in tool.shapes:
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
        export = gather(tool.responses(source, options), tool, rules, source.name, _named(options))
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        if isinstance(error, SpagreeError):
            raise
        raise DataError(
            f"{source.name}: not what {tool.title} writes ({type(error).__name__}: {error}); check the export, "
            f"or leave {opt.format} out to have it recognised"
        ) from error
    finally:
        if options.where is not None:  # --where may be why nothing was found
            options.where.refuse_nothing(tool.title)
    if options.text is not None and not export.items.texts:
        raise UsageError(f"{opt.text(options.text)}: no item of this export has such a text; leave it out")
    questions = export.chosen(options.question, every=every, name=source.name)
    understood = {question: _understood(source, export, question, options, rules) for question in questions}
    return {question: _annotations(export, question, options, understood[question], missing) for question in questions}


def _named(options: ReaderOptions) -> dict[str, str]:
    """The cluster and group fields, if the user named them."""
    named = {CLUSTER: options.cluster, GROUP: options.by}
    return {role: name for role, name in named.items() if name is not None}


def _annotations(
    export: Export, question: str, options: ReaderOptions, understood: Understood, missing: tuple[str, ...]
) -> Annotations:
    before = len(options.cautions)
    frame = export.frame(question, options)
    cautions = (*options.cautions, *_control_questions(export.golds.get(question, 0)), *_two_texts(export))
    del options.cautions[before:]  # they concern this question only
    lazy: nw.LazyFrame[Any] = columns.with_missing(nw.from_native(frame.lazy()), missing)
    present = {role: name for role, name in understood.columns.items() if role in frame.columns}
    roles = [role for role in (ITEM, ANNOTATOR, LABEL) if role in frame.columns]
    examples = tuple(tuple(str(value) for value in row) for row in frame.select(roles).head(SHOWN_EXAMPLES).rows())
    complete = replace(understood, columns=present, examples=examples)
    return Annotations(lazy, complete, cautions, export.left_out.get(question, {}))


def _control_questions(size: int) -> Iterator[Caution]:
    """A caution for ground truth that counts."""
    if size:
        marked = count(size, "annotation is", "annotations are")
        message = f"{marked} marked as ground truth, as control questions are, and counted; to leave them out: "
        yield Caution("control_questions", message + opt.ground_truth("drop"))


def _two_texts(export: Export) -> Iterator[Caution]:
    """A caution for different items with the same id, as on two servers."""
    for item, other in islice(export.items.other_texts.items(), 1):
        size = count(len(export.items.other_texts), "item has", "items have")
        texts = " and ".join(shown(text[:SHOWN_TEXT]) for text in (export.items.texts[item], other))
        tell = f", or name a field that tells them apart with {opt.item}" if ITEM in export.tool.renames else ""
        yield Caution(
            "several_texts",
            f"{size} several texts, such as {shown(item)}: {texts}. If these are different items that share an id, as "
            f"in exports of several servers, score each file by itself{tell}",
        )


def _understood(source: Source, export: Export, question: str, options: ReaderOptions, rules: Rules) -> Understood:
    """Where each role came from, in the tool's or the user's words, and what counted."""
    tool = export.tool
    fields = {role: getattr(options, role) or tool.fields.get(role, "") for role in (ITEM, ANNOTATOR, TIME)}
    columns = {ITEM: fields[ITEM], ANNOTATOR: fields[ANNOTATOR], LABEL: question, TIME: fields[TIME], **_named(options)}
    others = [name for name in export.questions if name != question]
    more = [f"other questions: {', '.join(others)}"] if others else []
    counted = f"counted: {rules.in_words(tool, export.statuses)}"
    notes = [options.notes[question]] if question in options.notes else []
    conditions = [] if options.where is None else [options.where.in_words()]
    return Understood(source.name, tool.name, columns, rules=(*conditions, *more, *notes, counted))
