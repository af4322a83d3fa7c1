"""Responses → one table per question: the rules decide which count, and count what they leave out."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spagree.errors import ColumnError, DataError, UsageError, unknown_name
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, LINK, ROW, TEXT, TIME
from spagree.read.tables import listed, shown
from spagree.read.tools.fields import field_in, fields_of
from spagree.read.tools.rules import Rules
from spagree.read.tools.tool import NO_FIELDS, ReaderOptions, Response, Tool, Value
from spagree.understood import Caution

if TYPE_CHECKING:
    import polars

SHOWN_QUESTIONS, SHOWN_FIELDS = 12, 30
MOST_ANSWERS = 20_000_000
LONGEST_TEXT = 2_000  # characters of an item's text, enough to recognise it


@dataclass(frozen=True, slots=True)
class Rows:
    """The annotations of one question, column by column; times as unix seconds."""

    items: list[str | None] = field(default_factory=list)
    annotators: list[str | None] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    times: list[float | None] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    no_times: list[str] = field(default_factory=list)  # values that are not times
    named: dict[str, list[str | None]] = field(default_factory=dict)  # cluster and group, if requested

    def name(self, values: Mapping[str, str | None]) -> None:
        """Set the cluster and group of the last annotation added."""
        for role, value in values.items():
            self.named.setdefault(role, []).append(value)


@dataclass(frozen=True, slots=True)
class Export:
    """The rows of each question, how many annotations each rule left out, and the items' texts."""

    tool: Tool
    rows: Mapping[str, Rows]
    left_out: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    statuses: frozenset[str] = frozenset()

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

    def frame(self, question: str, asked: ReaderOptions) -> polars.DataFrame:
        """The annotations of a question as text, with times as unix seconds if known."""
        import polars

        rows = self.rows[question]
        columns: Mapping[str, Sequence[str | None]] = {ITEM: rows.items, ANNOTATOR: rows.annotators, LABEL: rows.labels}
        known = {name: values for name, values in columns.items() if any(value is not None for value in values)}
        try:
            frame = polars.DataFrame(known, schema=dict.fromkeys(known, polars.String))
        except UnicodeEncodeError as error:
            found = shown(ascii(error.object))
            raise DataError(f"a label or an id holds half a character: {found}; export it again") from None
        if _has_times(rows, asked):
            frame = frame.with_columns(polars.Series(TIME, rows.times, polars.Float64))
        frame = frame.with_columns(polars.Series(ROW, rows.numbers, polars.Int64))
        frame = frame.with_columns(polars.Series(role, values, polars.String) for role, values in rows.named.items())
        if self.tool.is_numbered:
            frame = frame.sort(ROW, maintain_order=True)
            frame = frame.with_columns(polars.int_range(1, polars.len() + 1, dtype=polars.Int64).alias(ROW))
        return self._with_texts(frame)

    def _with_texts(self, frame: polars.DataFrame) -> polars.DataFrame:
        """Add each item's text and address, stored once however many annotations it has."""
        import polars

        for name, values in ((TEXT, self.texts), (LINK, self.links)):
            if values and ITEM in frame.columns:
                schema = {ITEM: polars.String, name: polars.String}
                known = polars.DataFrame({ITEM: list(values), name: list(values.values())}, schema=schema)
                frame = frame.join(known, on=ITEM, how="left", maintain_order="left")
        return frame


def quoted(name: str) -> str:
    """A name as it is typed in a shell.

    >>> quoted("mood"), quoted("main issue")
    ('mood', '"main issue"')
    """
    return name if name.replace("_", "").replace("-", "").isalnum() else json.dumps(name, ensure_ascii=False)


def _has_times(rows: Rows, asked: ReaderOptions) -> bool:
    """Whether all times are known; if any value is not a time, none are used, and a caution says so."""
    if rows.no_times:
        wrong = f"{len(rows.no_times):,} are not times, first {shown(rows.no_times[0])}"
        asked.cautions.append(Caution("time_ignored", f"the times of annotation were not used: {wrong}"))
        return False
    return any(seconds is not None for seconds in rows.times)


def gather(
    responses: Iterable[Response], tool: Tool, rules: Rules, name: str, named: Mapping[str, str] | None = None
) -> Export:
    """Apply the rules to all responses, streaming if possible; ``named``: the fields for --cluster and --by."""
    options: Mapping[str, Sequence[str]] = {}
    if rules.empty == "keep":
        responses = _filled(list(responses))
    if rules.multi == "options":
        responses = list(responses)
        options = _options(responses)
        _refuse_too_many(len(responses), options, name)
    gathering = _Gathering(tool, rules, named or {})
    for number, response in enumerate(responses, 1):
        gathering.add(number, response, options)
    return gathering.export(name)


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
        self.rows: dict[str, Rows] = {}
        self.left_out: defaultdict[tuple[str, str], int] = defaultdict(int)  # by question and reason
        self.complete: defaultdict[str, int] = defaultdict(int)
        self.answered: defaultdict[tuple[str, str], int] = defaultdict(int)
        self.texts: dict[str, str] = {}
        self.links: dict[str, str | None] = {}
        self.named = named
        self.unknown = dict(named)  # fields not yet seen in any record
        self.known: dict[str, None] = {}
        self.labels = _Labels()

    def add(self, number: int, response: Response, options: Mapping[str, Sequence[str]]) -> None:
        item, annotator, answers, time, status, is_gold, row, text, is_complete, fields = response
        reason = self.reasons[status, is_gold]
        is_complete = is_complete or not answers
        if is_complete:
            self.complete[reason] += 1
        if options:
            answers = _split(answers, options, self.rules)
        seconds = None if reason or time is None else self.tool.clock(time)
        values = self._named(fields) if self.named else NO_FIELDS
        for question, value in answers.items():
            rows = self.rows.get(question) or self.rows.setdefault(question, Rows())
            self.answered[question, reason] += is_complete
            if reason or not (value or self.keeps_empty):
                self.left_out[question, reason or "empty"] += 1
                continue
            rows.items.append(item)
            rows.annotators.append(annotator)
            rows.labels.append(self.labels[value])
            rows.times.append(seconds)
            rows.numbers.append(number if row is None else row)
            if values:
                rows.name(values)
            if seconds is None and time is not None:
                rows.no_times.append(time)
        has_text, has_link = text is None or item in self.texts, not fields or item in self.links
        if item is not None and not (has_text and has_link):
            self._describe(item, text, fields)

    def _describe(self, item: str, text: str | None, fields: Mapping[str, Any]) -> None:
        """Record an item's text and address from its first responses."""
        if text is not None and item not in self.texts:
            self.texts[item] = text[:LONGEST_TEXT].encode("utf-8", "replace").decode()
        if fields and item not in self.links:
            self.links[item] = self.tool.link(fields)

    def _named(self, fields: Mapping[str, Any]) -> dict[str, str | None]:
        """The cluster and the group of a response."""
        found = {role: field_in(fields, name) for role, name in self.named.items()}
        self.unknown = {role: name for role, name in self.unknown.items() if found[role] is None}
        if len(self.known) < SHOWN_FIELDS:
            self.known.update(dict.fromkeys(fields_of(fields)))
        return found

    def refuse_unknown(self) -> None:
        """Refuse a field that no record has."""
        for role, name in self.unknown.items():
            if not self.known:
                raise UsageError(
                    f"--{role} {shown(name)}: a {self.tool.title} export has no other fields for its items; "
                    "leave it out, or write the annotations as a table first"
                )
            raise ColumnError(
                f"--{role} {shown(name)}: no record has this field; fields: {listed(list(self.known), SHOWN_FIELDS)}"
            )

    def export(self, name: str) -> Export:
        self.refuse_unknown()
        left_out = {question: found for question in self.rows if (found := self._left_out(question))}
        answered = {question: rows for question, rows in self.rows.items() if rows.items}
        if not answered:
            raise self._nothing(left_out, name)
        links = {item: link for item, link in self.links.items() if link}
        statuses = frozenset(status for status, _ in self.reasons if status)
        return Export(self.tool, answered, left_out, self.texts, links, statuses)

    def _left_out(self, question: str) -> dict[str, int]:
        """What the rules left out; complete responses without an answer to this question left it empty."""
        found = Counter({reason: size for (asked, reason), size in self.left_out.items() if asked == question})
        for reason, size in self.complete.items():
            found[reason or "empty"] += size - self.answered[question, reason]
        return dict(+found)

    def _nothing(self, left_out: Mapping[str, Mapping[str, int]], name: str) -> DataError:
        total: Counter[str] = sum((Counter(each) for each in left_out.values()), Counter())
        if not left_out:
            total = Counter({reason or "empty": size for reason, size in self.complete.items()})
        reasons = ", ".join(f"{size:,} {reason}" for reason, size in total.items())
        found = f"all were left out ({reasons}); change that with --status, --empty or --ground-truth" if reasons else (
            "none were found; check that the project has annotations and that the export holds them")  # fmt: skip
        return DataError(f"{name}: a {self.tool.title} export without annotations that count: {found}")


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
        made = self[value] = label(value)
        return made


def _filled(found: Sequence[Response]) -> list[Response]:
    """Complete responses with an empty answer to each question that they leave out."""
    questions = dict.fromkeys(question for response in found for question in response.answers)
    return [
        response._replace(answers={**dict.fromkeys(questions), **response.answers})
        if response.is_complete or not response.answers
        else response
        for response in found
    ]


def _options(found: Iterable[Response]) -> dict[str, list[str]]:
    """The options of the questions with several answers in some response."""
    given: defaultdict[str, set[str]] = defaultdict(set)
    multiple: set[str] = set()
    for response in found:
        for question, value in response.answers.items():
            given[question].update((value,) if isinstance(value, str) else value or ())
            multiple.update({question} if isinstance(value, tuple) and len(value) > 1 else ())
    return {question: sorted(options) for question, options in given.items() if question in multiple}


def _split(answers: Mapping[str, Value], options: Mapping[str, Sequence[str]], rules: Rules) -> dict[str, Value]:
    """Turn each option of a multiple-choice question into a separate question."""
    found: dict[str, Value] = {}
    for question, value in answers.items():
        if question not in options:
            found[question] = value
            continue
        on = {value} if isinstance(value, str) else set(value or ())
        is_empty = not on and rules.empty == "drop"
        found |= {f"{question}:{each}": None if is_empty else _yes_or_no(each in on) for each in options[question]}
    return found


def _yes_or_no(is_on: bool) -> str:
    return "yes" if is_on else "no"


def label(value: Value) -> str:
    """The label of a value: text unchanged, several options as one sorted set.

    >>> label("yes"), label(("b", "a")), label(None)
    ('yes', '["a", "b"]', '[]')
    """
    return value if isinstance(value, str) and value else json.dumps(sorted(value or ()), ensure_ascii=False)
