"""Responses → one table per question: the rules say which count, and count what they leave out."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spagree.errors import ColumnError, DataError, UsageError, unknown_name
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, ROW, TIME, Caution
from spagree.read.tables import listed, shown
from spagree.read.tools.tool import ReaderOptions, Response, Tool, Value

if TYPE_CHECKING:
    import polars

Row = tuple[str | None, str | None, str, str | None, int]  # item, annotator, label, time, row
CHOICES = {"ground_truth": ("keep", "drop"), "multi": ("set", "options"), "empty": ("drop", "keep")}
SHOWN_QUESTIONS = 12


@dataclass(frozen=True, slots=True)
class Rules:
    """What counts as an annotation in an export; the defaults are stated in docs/formats.md.

    >>> Rules(multi="sets")
    Traceback (most recent call last):
    spagree.errors.UsageError: unknown value of multi="sets"; did you mean 'set'? Known: set, options
    """

    status: tuple[str, ...] = ()
    ground_truth: str = "keep"
    multi: str = "set"
    empty: str = "drop"

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise unknown_name(f"value of --{name.replace('_', '-')}", str(getattr(self, name)), known)

    def counted(self, tool: Tool) -> tuple[str, ...]:
        """The statuses that count, in the tool's own words."""
        known = tuple(dict.fromkeys((*tool.counted, *tool.statuses)))
        for given in self.status:
            if not known:
                raise UsageError(f"--status {given}: {tool.title} exports have no status; leave it out")
            if given.lower() not in known:
                raise unknown_name("status", given, known)
        return tuple(given.lower() for given in self.status) or tool.counted

    def in_words(self, tool: Tool) -> str:
        """The rules as the summary shows them."""
        counted = self.counted(tool)
        others = [name for name in dict.fromkeys((*tool.counted, *tool.statuses)) if name not in counted]
        status = [f"status {', '.join(counted)}" + (f" (not {', '.join(others)})" if others else "")] if counted else []
        gold = "ground truth kept" if self.ground_truth == "keep" else "ground truth left out"
        multi = "several choices are one set" if self.multi == "set" else "several choices are a question each"
        empty = "empty answers left out" if self.empty == "drop" else "empty answers are a label"
        return "; ".join([*status, gold, multi, empty])


@dataclass(frozen=True, slots=True)
class Export:
    """The rows of each question, and how many annotations of it each rule left out."""

    tool: Tool
    rows: Mapping[str, Sequence[Row]]
    left_out: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions in the order in which they occur."""
        return tuple(self.rows)

    def chosen(self, question: str | None, *, every: bool, name: str) -> tuple[str, ...]:
        """The question the user means; several are a choice that only the user can make."""
        names = self.questions if question is None else self._named(question)
        if len(names) == 1 or every:
            return names
        raise ColumnError(
            f"{name}: {self.tool.title} asked {len(names)} questions: {listed(names, SHOWN_QUESTIONS)}; "
            f"choose one with --question, e.g. --question {names[0]}, or score each with --all-questions"
        )

    def _named(self, question: str) -> tuple[str, ...]:
        """The question of that name; or all its options, where each is a question of its own."""
        same = [name for name in self.questions if name == question]
        similar = [name for name in self.questions if name.casefold() == question.casefold()]
        options = [name for name in self.questions if name.startswith(f"{question}:")]
        if not (same or similar or options):
            raise unknown_name("question", question, self.questions)
        return tuple(same or similar or options)

    def frame(self, question: str, asked: ReaderOptions) -> polars.DataFrame:
        """The annotations of a question: text, and times as unix seconds where they are known."""
        import polars

        items, annotators, labels, times, numbers = map(list, zip(*self.rows[question], strict=True))
        columns = {ITEM: items, ANNOTATOR: annotators, LABEL: labels}
        known = {name: values for name, values in columns.items() if any(value is not None for value in values)}
        frame = polars.DataFrame(known, schema=dict.fromkeys(known, polars.String))
        seconds = self._seconds(times, asked)
        timed = [polars.Series(TIME, seconds, polars.Float64)] if seconds else []
        return frame.with_columns(*timed, polars.Series(ROW, numbers, polars.Int64))

    def _seconds(self, times: Sequence[str | None], asked: ReaderOptions) -> list[float | None] | None:
        """The times as seconds; if one of them is no time, none is used, and that is said."""
        seconds = [None if text is None else self.tool.clock(text) for text in times]
        wrong = [text for text, second in zip(times, seconds, strict=True) if text is not None and second is None]
        if wrong:
            message = f"the times of annotation were not used: {len(wrong):,} are no times, first {shown(wrong[0])}"
            asked.cautions.append(Caution("time_ignored", message))
        return None if wrong or all(second is None for second in seconds) else seconds


def gather(responses: Iterable[Response], tool: Tool, rules: Rules, name: str) -> Export:
    """Apply the rules to all responses."""
    counted = rules.counted(tool)
    found = list(responses)
    options = _options(found) if rules.multi == "options" else {}
    rows: dict[str, list[Row]] = {question: [] for question in _questions(found, options)}
    left_out: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for number, response in enumerate(found, 1):
        reason = _reason(response, tool, counted, rules)
        for question, value in _answers(response, options, rules, list(rows)):
            why = reason or _emptiness(value, rules)
            if why:
                left_out[question][why] += 1
            else:
                place = number if response.row is None else response.row
                rows[question].append((response.item, response.annotator, label(value), response.time, place))
    counts = {question: dict(sizes) for question, sizes in left_out.items()}
    return Export(tool, _refuse_nothing(rows, left_out, tool, name), counts)


def _refuse_nothing(
    rows: Mapping[str, list[Row]], left_out: Mapping[str, Counter[str]], tool: Tool, name: str
) -> dict[str, list[Row]]:
    """The questions that somebody answered; none at all is an error."""
    answered = {question: found for question, found in rows.items() if found}
    if answered:
        return answered
    total: Counter[str] = sum(left_out.values(), Counter())
    reasons = ", ".join(f"{size:,} {reason}" for reason, size in total.items())
    found = f"all were left out ({reasons}); change that with --status, --empty or --ground-truth" if reasons else (
        "none were found; check that the project has annotations and that the export holds them")  # fmt: skip
    raise DataError(f"{name}: a {tool.title} export without annotations that count: {found}")


def _questions(found: Sequence[Response], options: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for question in dict.fromkeys(question for response in found for question in response.answers):
        yield from (f"{question}:{option}" for option in options[question]) if question in options else (question,)


def _options(found: Sequence[Response]) -> dict[str, list[str]]:
    """The options of the questions to which somebody gave several."""
    given: defaultdict[str, set[str]] = defaultdict(set)
    multiple: set[str] = set()
    for response in found:
        for question, value in response.answers.items():
            given[question].update((value,) if isinstance(value, str) else value or ())
            multiple.update({question} if isinstance(value, tuple) and len(value) > 1 else ())
    return {question: sorted(options) for question, options in given.items() if question in multiple}


def _reason(response: Response, tool: Tool, counted: Sequence[str], rules: Rules) -> str:
    """Why a response does not count, or nothing."""
    if response.status and response.status not in counted:
        return tool.statuses.get(response.status, "other_status")
    return "ground_truth" if response.is_gold and rules.ground_truth == "drop" else ""


def _answers(
    response: Response, options: Mapping[str, Sequence[str]], rules: Rules, questions: Sequence[str]
) -> Iterator[tuple[str, Value]]:
    """Question and value; a response without answers (a skip) concerns every question."""
    if not response.answers:
        yield from ((question, None) for question in questions)
    for question, value in response.answers.items():
        if question not in options:
            yield question, value
            continue
        on = {value} if isinstance(value, str) else set(value or ())
        is_empty = not on and rules.empty == "drop"
        yield from ((f"{question}:{each}", None if is_empty else _yes_or_no(each in on)) for each in options[question])


def _yes_or_no(is_on: bool) -> str:
    return "yes" if is_on else "no"


def _emptiness(value: Value, rules: Rules) -> str:
    return "" if value or rules.empty == "keep" else "empty"


def label(value: Value) -> str:
    """The label of a value: a text as it is, several options as one sorted set.

    >>> label("yes"), label(("b", "a")), label(None)
    ('yes', '["a", "b"]', '[]')
    """
    return value if isinstance(value, str) and value else json.dumps(sorted(value or ()), ensure_ascii=False)
