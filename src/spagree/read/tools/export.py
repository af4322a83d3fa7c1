"""Responses → one table per question: the rules decide which count, and count what they leave out."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import compress, groupby, islice
from typing import TYPE_CHECKING, Any

from spagree import timestamps
from spagree.errors import ColumnError, DataError, FileError, SpagreeError, UsageError, count, unknown_name
from spagree.garbage import without_collecting
from spagree.late import nw
from spagree.read import columns
from spagree.read.annotations import ANNOTATOR, CLUSTER, GROUP, ITEM, LABEL, LINK, ROW, TEXT, TIME, Annotations
from spagree.read.table import SHOWN_EXAMPLES, listed, shown
from spagree.read.tools.source import ARCHIVE, SPECIAL, Source
from spagree.read.tools.tool import ReaderOptions, Response, Responses, Rules, Tool, Value, field_in, fields_of
from spagree.understood import Caution, Understood

if TYPE_CHECKING:
    import polars

SHOWN_QUESTIONS, SHOWN_FIELDS = 12, 30
MOST_ANSWERS = 20_000_000
TOGETHER = 100  # responses added at once: few, because their records fill the memory
Columns = dict[str, list[Any]]  # the annotations of a question, by role: the places of items, times as written
Judged = tuple[tuple[tuple[str, Value], ...], str, bool, bool]  # answers, status, and whether gold and complete
ROLES = (ITEM, ANNOTATOR, LABEL, TIME, ROW)
LONGEST_TEXT = 2_000  # characters of an item's text, enough to recognise it


@dataclass(frozen=True, slots=True)
class Export:
    """The items and their texts, the columns of each question, and how many annotations were left out or are gold."""

    tool: Tool
    items: Sequence[str | None]
    rows: Mapping[str, Columns]
    left_out: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    statuses: frozenset[str] = frozenset()
    golds: Mapping[str, int] = field(default_factory=dict)
    other_texts: Mapping[str, str] = field(default_factory=dict)

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
            f"choose one with --question, e.g. --question {quoted(names[0])}, or score each with --all-questions"
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

        columns = self.rows[question]
        values = {**columns, ITEM: map(self.items.__getitem__, columns[ITEM])}
        empty = {role for role in ROLES if all(value is None for value in values[role])}
        filled = {role: cells for role, cells in columns.items() if role not in empty}
        schema = {**dict.fromkeys(filled, polars.String), ITEM: polars.Int64, ROW: polars.Int64}
        try:
            items = polars.Series(ITEM, self.items, dtype=polars.String)
            frame = polars.DataFrame(filled, schema={role: schema[role] for role in filled})
        except UnicodeEncodeError as error:
            text = shown(ascii(error.object))
            raise DataError(f"a label or an id holds half a character: {text}; export it again") from None
        if TIME in filled:
            frame = self._with_seconds(frame, options)
        if self.tool.is_numbered:
            frame = frame if frame[ROW].is_sorted() else frame.sort(ROW, maintain_order=True)
            frame = frame.with_columns(polars.int_range(1, polars.len() + 1, dtype=polars.Int64).alias(ROW))
        if ITEM in empty:
            return frame
        about = [
            items,
            *(self._series(name, by_item) for name, by_item in ((TEXT, self.texts), (LINK, self.links)) if by_item),
        ]
        return frame.with_columns(series.gather(frame[ITEM]) for series in about)

    def _with_seconds(self, frame: polars.DataFrame, options: ReaderOptions) -> polars.DataFrame:
        """Turn the times into unix seconds; if any is not a time, none are used, and a caution says so."""
        seconds = timestamps.seconds(frame[TIME], self.tool.clock)
        wrong = frame[TIME].filter(seconds.is_null()).drop_nulls()
        if wrong.is_empty():
            return frame.with_columns(seconds)
        reason = f"{count(len(wrong), 'is not a time', 'are not times')}, first {shown(wrong[0])}"
        options.cautions.append(Caution("time_ignored", f"the times of annotation were not used: {reason}"))
        return frame.drop(TIME)

    def _series(self, name: str, by_item: Mapping[str, str]) -> polars.Series:
        """The texts or addresses of the items, in which half a character becomes a question mark."""
        import polars

        values = [None if item is None else by_item.get(item) for item in self.items]
        try:
            return polars.Series(name, values, dtype=polars.String)
        except UnicodeEncodeError:
            whole = [value and value.encode("utf-8", "replace").decode() for value in values]
            return polars.Series(name, whole, dtype=polars.String)


def quoted(name: str) -> str:
    """A name as it is typed in a shell.

    >>> quoted("mood"), quoted("main issue")
    ('mood', '"main issue"')
    """
    return name if name.replace("_", "").replace("-", "").isalnum() else json.dumps(name, ensure_ascii=False)


def gather(
    responses: Iterable[Response | Responses],
    tool: Tool,
    rules: Rules,
    name: str,
    named: Mapping[str, str] | None = None,
) -> Export:
    """Apply the rules to all responses, streaming if possible; ``named``: the fields for --cluster and --by."""
    options: Mapping[str, Sequence[str]] = {}
    batches: Iterable[Responses] = _together(responses)
    if rules.empty == "keep":
        batches = _filled(list(batches))
    if rules.multi == "options":
        batches = list(batches)
        options = _options(batches)
        _refuse_too_many(sum(len(batch.items) for batch in batches), options, name)
    gathering = _Gathering(tool, rules, named or {})
    with without_collecting():
        for batch in batches:
            gathering.add(batch, options)
    return gathering.export(name)


def _together(responses: Iterable[Response | Responses]) -> Iterator[Responses]:
    """All responses by column."""
    for kind, run in groupby(responses, type):
        if kind is Responses:
            yield from (batch for batch in run if isinstance(batch, Responses))
        while batch := list(islice(run, TOGETHER)):
            yield Responses(*zip(*batch, strict=True))


def _refuse_too_many(responses: int, options: Mapping[str, Sequence[str]], name: str) -> None:
    """Refuse too many answers: with one per option and response, thousands of options fill the memory."""
    size = responses * max(map(len, options.values()), default=0)
    if size > MOST_ANSWERS:
        most = max(options, key=lambda question: len(options[question]))
        raise DataError(
            f"{name}: question {shown(most)} has {len(options[most]):,} options, {size:,} answers in all; "
            "compare the sets of options instead: --multi set"
        )


class _Gathering:
    """The responses seen so far. Empty answers are counted at the end, when all questions are known."""

    def __init__(self, tool: Tool, rules: Rules, named: Mapping[str, str]) -> None:
        self.tool, self.rules, self.reasons = tool, rules, _Reasons(tool, rules)
        self.keeps_empty = rules.empty == "keep"
        self.seen = 0
        self.rows: defaultdict[str, Columns] = defaultdict(lambda: {role: [] for role in ROLES})
        self.left_out: defaultdict[str, Counter[str]] = defaultdict(Counter)  # reasons by question
        self.complete: Counter[str] = Counter()  # complete responses, by the reason why they do not count
        self.answered: defaultdict[str, Counter[str]] = defaultdict(Counter)  # those that answer a question
        self.golds: Counter[str] = Counter()  # annotations of ground truth that count, by question
        self.items = _Items()
        self.texts: dict[str, str] = {}
        self.other_texts: dict[str, str] = {}  # of items that also had another text before
        self.links: dict[str, str | None] = {}
        self.named = named
        self.unknown = dict(named)  # fields not yet seen in any record
        self.fields: dict[str, None] = {}
        self.labels = _Labels()

    def add(self, batch: Responses, options: Mapping[str, Sequence[str]]) -> None:
        """Add some responses, column by column; those that are alike are judged once."""
        answers = [(*by_question.items(),) for by_question in batch.answers]
        alike: list[Judged] = [*zip(answers, batch.statuses, batch.golds, batch.completes, strict=True)]
        places = [*map(self.items.__getitem__, batch.items)]
        numbers = [number if row is None else row for number, row in enumerate(batch.rows, self.seen + 1)]
        columns = {ITEM: places, ANNOTATOR: batch.annotators, TIME: batch.times, ROW: numbers}
        columns |= self._named(batch.fields)
        for question, labels in self._judge(Counter(alike), options).items():
            labelled, rows = [*map(labels.get, alike)], self.rows[question]
            is_whole = all(labelled)
            for role, values in {**columns, LABEL: labelled}.items():
                rows.setdefault(role, []).extend(values if is_whole else compress(values, labelled))
        self._describe(batch)
        self.seen += len(alike)

    def _judge(self, sizes: Mapping[Judged, int], options: Mapping[str, Sequence[str]]) -> dict[str, dict[Judged, str]]:
        """The labels of the responses that count, by question; those that do not are counted with the reason."""
        labels: defaultdict[str, dict[Judged, str]] = defaultdict(dict)
        for response, size in sizes.items():
            answers, status, is_gold, is_marked = response
            reason, is_complete = self.reasons[status, is_gold], is_marked or not answers
            if is_complete:
                self.complete[reason] += size
            by_question = _split(dict(answers), options, self.rules) if options else dict(answers)
            for question, value in by_question.items():
                self.answered[question][reason] += size if is_complete else 0
                by_response, outcome = labels[question], reason or ("" if value or self.keeps_empty else "empty")
                if outcome:
                    self.left_out[question][outcome] += size
                else:
                    by_response[response] = self.labels[value]
                    self.golds[question] += size if is_gold else 0
        return labels

    def _describe(self, batch: Responses) -> None:
        """Record each item's text and address from its first responses."""
        for item, text in dict.fromkeys(zip(batch.items, batch.texts, strict=True)):
            if item is None or text is None:
                continue
            cut = text[:LONGEST_TEXT]
            if self.texts.setdefault(item, cut) != cut:
                self.other_texts.setdefault(item, cut)
        if any(batch.fields):
            for item, record in zip(batch.items, batch.fields, strict=True):
                if record and item is not None and item not in self.links:
                    self.links[item] = self.tool.link(record)

    def _named(self, records: Sequence[Mapping[str, Any]]) -> dict[str, list[str | None]]:
        """The clusters and groups of some responses, if requested."""
        values = {role: [field_in(record, name) for record in records] for role, name in self.named.items()}
        self.unknown = {role: name for role, name in self.unknown.items() if not any(values[role])}
        for record in records if self.named else ():
            if len(self.fields) < SHOWN_FIELDS:
                self.fields.update(dict.fromkeys(fields_of(record)))
        return values

    def refuse_unknown(self) -> None:
        """Refuse a field that no record has."""
        for role, name in self.unknown.items():
            if not self.fields:
                raise UsageError(
                    f"--{role} {shown(name)}: exports of {self.tool.title} have no other fields of items; "
                    "leave it out, or write the annotations as a table first"
                )
            raise ColumnError(
                f"--{role} {shown(name)}: no record has this field; fields: {listed(list(self.fields), SHOWN_FIELDS)}"
            )

    def export(self, name: str) -> Export:
        self.refuse_unknown()
        left_out = {question: reasons for question in self.rows if (reasons := self._left_out(question))}
        answered = {question: rows for question, rows in self.rows.items() if rows[LABEL]}
        if not answered:
            raise self._nothing(left_out, name)
        links = {item: link for item, link in self.links.items() if link}
        statuses = frozenset(status for status, _ in self.reasons if status)
        about = (self.texts, links, statuses, +self.golds, self.other_texts)
        return Export(self.tool, [*self.items], answered, left_out, *about)

    def _left_out(self, question: str) -> dict[str, int]:
        """What the rules left out; complete responses without an answer to this question left it empty."""
        reasons = Counter(self.left_out[question])
        for reason, size in self.complete.items():
            reasons[reason or "empty"] += size - self.answered[question][reason]
        return dict(+reasons)

    def _nothing(self, left_out: Mapping[str, Mapping[str, int]], name: str) -> DataError:
        total: Counter[str] = sum((Counter(reasons) for reasons in left_out.values()), Counter())
        if not left_out:
            total = Counter({reason or "empty": size for reason, size in self.complete.items()})
        why = "none were found; check that the project has annotations and that the export holds them"
        if total:
            reasons = ", ".join(f"{size:,} {reason}" for reason, size in total.items())
            why = f"all were left out ({reasons}); change that with --status, --empty or --ground-truth"
        return DataError(f"{name}: an export of {self.tool.title} without annotations that count: {why}")


class _Items(dict[str | None, int]):
    """The place of each item among all."""

    def __missing__(self, item: str | None) -> int:
        place = self[item] = len(self)
        return place


class _Reasons(dict[tuple[str, bool], str]):
    """Why responses of a status, possibly ground truth, do not count, or "" if they do; filled as they occur."""

    def __init__(self, tool: Tool, rules: Rules) -> None:
        super().__init__()
        self.tool, self.counted, self.drops_gold = tool, rules.counted(tool), rules.ground_truth == "drop"

    def __missing__(self, key: tuple[str, bool]) -> str:
        status, is_gold = key
        if status and status not in self.counted:
            reason = self.tool.statuses.get(status, "other_status")
        else:
            reason = "ground_truth" if is_gold and self.drops_gold else ""
        self[key] = reason
        return reason


class _Labels(dict[Value, str]):
    """The label of each value, computed once."""

    def __missing__(self, value: Value) -> str:
        text = self[value] = label(value)
        return text


def _filled(batches: Sequence[Responses]) -> list[Responses]:
    """Complete responses with an empty answer to each question that they leave out."""
    empty = dict.fromkeys(question for batch in batches for answers in batch.answers for question in answers)
    return [
        batch._replace(
            answers=[
                {**empty, **answers} if is_complete or not answers else answers
                for is_complete, answers in zip(batch.completes, batch.answers, strict=True)
            ]
        )
        for batch in batches
    ]


def _options(batches: Iterable[Responses]) -> dict[str, list[str]]:
    """The options of the questions with several answers in some response."""
    chosen: defaultdict[str, set[str]] = defaultdict(set)
    multiple: set[str] = set()
    for answers in (each for batch in batches for each in batch.answers):
        for question, value in answers.items():
            chosen[question].update((value,) if isinstance(value, str) else value or ())
            multiple.update({question} if isinstance(value, tuple) and len(value) > 1 else ())
    return {question: sorted(options) for question, options in chosen.items() if question in multiple}


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


SHOWN_TEXT = 60  # characters of an item's text


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
    _refuse_renames(tool, options)
    with _refused_otherwise(source, tool):
        try:
            export = gather(tool.responses(source, options), tool, rules, source.name, _named(options))
        finally:
            if options.where is not None:  # --where may be why nothing was found
                options.where.refuse_nothing(tool.title)
    if options.text is not None and not export.texts:
        raise UsageError(f"--text {options.text!r}: no item of this export has such a text; leave it out")
    questions = export.chosen(options.question, every=every, name=source.name)
    understood = {question: _understood(source, export, question, options, rules) for question in questions}
    return {question: _annotations(export, question, options, understood[question], missing) for question in questions}


@contextmanager
def _refused_otherwise(source: Source, tool: Tool) -> Iterator[None]:
    """Explain any unexpected error in a reader: the tool did not write this file."""
    try:
        yield
    except SpagreeError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise DataError(
            f"{source.name}: not what {tool.title} writes ({type(error).__name__}: {error}); check the export, "
            "or leave --format out to have it recognised"
        ) from error


def _refuse_renames(tool: Tool, options: ReaderOptions) -> None:
    """Refuse to rename a field if the tool offers no choice."""
    for role in (ITEM, ANNOTATOR, TIME):
        name = getattr(options, role)
        if name is not None and role not in tool.renames:
            fixed = f"a fixed field for the {role} ({tool.fields[role]})" if role in tool.fields else f"no {role}"
            raise UsageError(
                f"--{role} {name!r}: exports of {tool.title} have {fixed}; "
                "leave it out, or read the file as a plain table with --format long"
            )


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
        yield Caution("control_questions", message + "--ground-truth drop")


def _two_texts(export: Export) -> Iterator[Caution]:
    """A caution for different items with the same id, as on two servers."""
    for item, other in islice(export.other_texts.items(), 1):
        size = count(len(export.other_texts), "item has", "items have")
        texts = " and ".join(shown(text[:SHOWN_TEXT]) for text in (export.texts[item], other))
        tell = ", or name a field that tells them apart with --item" if ITEM in export.tool.renames else ""
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
