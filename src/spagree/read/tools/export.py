"""Responses → annotations or marks of each question, as the rules decide; what is left out is counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import narwhals as nw
import polars

from spagree.errors import (
    ColumnError,
    DataError,
    DuplicateError,
    FileError,
    SpagreeError,
    SpansError,
    UsageError,
    Warning,
    count,
    listed,
    opt,
    shown,
    unknown_name,
)
from spagree.read import cells
from spagree.read.annotations import (
    ANNOTATOR,
    CLUSTER,
    END,
    GROUP,
    ITEM,
    LABEL,
    LINK,
    ROW,
    START,
    TEXT,
    TIME,
    Annotations,
    MarkRows,
    Seen,
    Understood,
)
from spagree.read.table import SHOWN_EXAMPLES
from spagree.read.tools.fields import chosen, label
from spagree.read.tools.marks import Marks, located
from spagree.read.tools.source import ARCHIVE, SPECIAL, Source
from spagree.read.tools.tool import ReaderOptions, Response, Rules, Tool, Value, field_in, fields_of
from spagree.read.words import texts as texts_of

SHOWN_QUESTIONS, SHOWN_FIELDS, MOST_LOOKED_AT = 12, 30, 100
MOST_ANSWERS = 20_000_000
Columns = dict[str, list[Any]]  # the annotations of a question, by role, with times as written
Visits = Mapping[tuple[str, str], list[tuple[Response, Marks]]]  # by item and annotator: their submissions
ROLES, MARK = (ITEM, ANNOTATOR, LABEL, TIME, ROW), (ITEM, ANNOTATOR, START, END, LABEL)
KINDS = {ROW: polars.Int64, **dict.fromkeys((TIME, START, END), polars.Float64)}  # all others are text
EMPTY = "[]"  # the label of an empty answer, where it counts
SHOWN_TEXT = 60  # characters of an item's text in a message
LONGEST_TEXT = 2_000  # characters of an item's text, enough to recognise it


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
    with _explained(source, tool, options):
        export = gather(tool.responses(source, options), tool, rules, source.name, options.further)
    for role in (ITEM, ANNOTATOR, TIME, CLUSTER, GROUP):  # a field that is empty in every record
        name = getattr(options, role)
        if name is None or any(cell is not None for columns in export.rows.values() for cell in columns[role]):
            continue
        if not export.fields:
            raise UsageError(
                f"{opt[role](name)}: exports of {tool.title} have no other fields of items; "
                "leave it out, or write the annotations as a table first"
            )
        fields = listed(list(export.fields), SHOWN_FIELDS)
        raise ColumnError(f"{opt[role](name)}: no record has anything in this field; fields: {fields}")
    if options.text is not None and not export.texts:
        raise UsageError(f"{opt.text(options.text)}: no item of this export has such a text; leave it out")
    otherwise = f", or score each with {opt.all_questions}"
    questions = questions_meant([*export.rows], source, tool, options, every=every, otherwise=otherwise)
    found, counted = {}, f"counted: {rules.in_words(tool, export.statuses)}"
    before = len(options.warnings)
    for question in questions:
        frame = export.frame(question, options)
        warnings = (*options.warnings, *_cautions(export, question))
        del options.warnings[before:]  # they concern this question only
        # Where each role came from, in the tool's or the user's words, and what counted.
        columns = {role: getattr(options, role) or tool.fields.get(role, "") for role in (ITEM, ANNOTATOR, TIME)}
        columns |= {LABEL: question, **options.further}
        roles = [role for role in (ITEM, ANNOTATOR, LABEL, TIME, CLUSTER, GROUP) if role in frame.columns]
        notes = [options.notes[question]] if question in options.notes else []
        told = (*_chosen(options, question, export.rows), *notes, counted)
        shown_roles = [role for role in roles if role in (ITEM, ANNOTATOR, LABEL)]
        examples = tuple(tuple(map(str, row)) for row in frame.select(shown_roles).head(SHOWN_EXAMPLES).rows())
        present = {role: columns[role] for role in roles}
        understood = Understood(source.name, tool.name, present, examples=examples, rules=told)
        lazy = cells.with_missing(nw.from_native(frame.lazy()), missing)
        found[question] = Annotations(lazy, understood, warnings, export.left_out.get(question, {}))
    return found


@contextmanager
def _explained(source: Source, tool: Tool, options: ReaderOptions) -> Iterator[None]:
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


def questions_meant(
    questions: Sequence[str], source: Source, tool: Tool, options: ReaderOptions, *, every: bool, otherwise: str = ""
) -> Sequence[str]:
    """The question the user named, or all its options; one of several must be named, or ``otherwise``."""
    wanted, meant = options.question, questions
    if wanted is not None:
        same = [name for name in questions if name == wanted]
        similar = [name for name in questions if name.casefold() == wanted.casefold()]
        meant = same or similar or [name for name in questions if name.startswith(f"{wanted}:")]
        if not meant:
            raise unknown_name("question", wanted, questions)
    if len(meant) > 1 and not every:
        names = listed(meant, SHOWN_QUESTIONS)
        raise ColumnError(
            f"{source.name}: {tool.title} asked {len(meant)} questions: {names}; "
            f"choose one with {opt.question}, e.g. {opt.question(meant[0])}{otherwise}"
        )
    return meant


def _chosen(options: ReaderOptions, question: str, questions: Iterable[str]) -> Iterator[str]:
    """Which records and which question were chosen, for the summary."""
    if options.where is not None:
        yield options.where.in_words()
    if others := [name for name in questions if name != question]:
        yield f"other questions: {', '.join(others)}"


def _reason(response: Response, tool: Tool, rules: Rules, counted: Sequence[str]) -> str:
    """Why a response does not count; nothing if it does."""
    if response.status and response.status not in counted:
        return tool.statuses.get(response.status, "other_status")
    return "ground_truth" if response.is_gold and rules.ground_truth == "drop" else ""


@dataclass(slots=True)
class Export:
    """The annotations of each question, how many were left out or are gold, and what records say of the items.

    ``regions``: how many were marked beside the classes.
    """

    tool: Tool
    rows: dict[str, Columns] = field(default_factory=dict)
    left_out: dict[str, dict[str, int]] = field(default_factory=dict)
    statuses: set[str] = field(default_factory=set)  # "" where a response has none
    golds: Counter[str] = field(default_factory=Counter)
    regions: int = 0
    texts: dict[str, str] = field(default_factory=dict)
    other_texts: dict[str, str] = field(default_factory=dict)  # of items that also had another text before
    links: dict[str, str | None] = field(default_factory=dict)
    fields: dict[str, None] = field(default_factory=dict)  # of the first records, for messages

    def frame(self, question: str, options: ReaderOptions) -> polars.DataFrame:
        """The annotations of a question as text, with times as unix seconds if all of them are times."""
        columns = {
            role: cells for role, cells in self.rows[question].items() if any(cell is not None for cell in cells)
        }
        if TIME in columns:
            texts = columns.pop(TIME)
            times = [None if text is None else self.tool.clock(text) for text in texts]
            wrong = [text for text, time in zip(texts, times, strict=True) if time is None and text is not None]
            if wrong:
                reason = f"{count(len(wrong), 'is not a time', 'are not times')}, first {shown(wrong[0])}"
                options.warnings.append(Warning("time_ignored", f"the times of annotation were not used: {reason}"))
            else:
                columns[TIME] = times
        try:
            frame = polars.DataFrame(columns, schema={role: KINDS.get(role, polars.String) for role in columns})
            for name, by_item in ((TEXT, self.texts), (LINK, self.links)):
                whole = {item: text.encode("utf-8", "replace").decode() for item, text in by_item.items() if text}
                if whole and ITEM in columns:  # half a character of a text becomes a question mark
                    known = frame[ITEM].replace_strict(whole, default=None, return_dtype=polars.String)
                    frame = frame.with_columns(known.alias(name))
        except UnicodeEncodeError as error:
            text = shown(ascii(error.object))
            raise DataError(f"a label or an id holds half a character: {text}; export it again") from None
        if self.tool.is_numbered:
            frame = frame if frame[ROW].is_sorted() else frame.sort(ROW, maintain_order=True)
            frame = frame.with_columns(polars.int_range(1, polars.len() + 1, dtype=polars.Int64).alias(ROW))
        return frame

    def note(self, response: Response) -> None:
        """Keep what the first responses show of the item: its text, and the address of its task."""
        item, text, fields = response.item, response.text, response.fields
        if len(self.links) < MOST_LOOKED_AT:
            self.fields.update(dict.fromkeys(fields_of(fields)))
        if item is None:
            return
        if text is not None and self.texts.setdefault(item, cut := text[:LONGEST_TEXT]) != cut:
            self.other_texts.setdefault(item, cut)
        if item not in self.links:
            self.links[item] = self.tool.link(fields) if fields else None


def gather(
    responses: Iterable[Response], tool: Tool, rules: Rules, name: str, named: Mapping[str, str] | None = None
) -> Export:
    """Apply the rules to all responses, streaming if possible; ``named``: the fields for --cluster and --by."""
    export, counted, named = Export(tool), rules.counted(tool), named or {}
    regions: Counter[str] = Counter()  # by question
    responses = _without_marks(responses, regions)
    every: dict[str, None] = {}
    options: dict[str, list[str]] = {}
    if rules.empty == "keep" or rules.multi == "options":
        responses = list(responses)
        questions = dict.fromkeys(question for each in responses for question in each.answers)
        every = questions if rules.empty == "keep" else {}
        options = _options(responses, name) if rules.multi == "options" else {}
    rows: defaultdict[str, Columns] = defaultdict(lambda: {role: [] for role in (*ROLES, *named)})
    left_out: defaultdict[str, Counter[str]] = defaultdict(Counter)  # by question, then by reason
    complete: Counter[str] = Counter()  # complete responses by the reason why they do not count
    answered: Counter[tuple[str, str]] = Counter()  # those that answer a question, by it and the reason
    for number, response in enumerate(responses, 1):
        answers, reason = response.answers, _reason(response, tool, rules, counted)
        is_complete = response.is_complete or not answers
        complete[reason] += is_complete
        if every and is_complete:
            answers = {**every, **answers}
        if options:
            answers = _split(answers, options, rules)
        row = number if response.row is None else response.row
        more = [field_in(response.fields, field) for field in named.values()]
        export.statuses.add(response.status)
        export.note(response)
        for question, value in answers.items():
            columns = rows[question]
            answered[question, reason] += is_complete
            if reason or not (value or rules.empty == "keep"):
                left_out[question][reason or "empty"] += 1
                continue
            export.golds[question] += response.is_gold
            own = (response.item, response.annotator, label(value), response.time, row, *more)
            for column, cell in zip(columns.values(), own, strict=True):
                column.append(cell)
    for question in [name for name in regions if not any(text != EMPTY for text in rows[name][LABEL])]:
        del rows[question]  # where something was marked, an empty answer is no class
        left_out.pop(question, None)
    for question in rows:
        for reason, size in complete.items():  # complete responses without an answer to a question left it empty
            left_out[question][reason or "empty"] += size - answered[question, reason]
    export.left_out = {question: dict(+reasons) for question, reasons in left_out.items() if +reasons}
    export.rows = {question: columns for question, columns in rows.items() if columns[LABEL]}
    export.regions = regions.total()
    if not export.rows:
        raise _nothing(export, complete, name)
    return export


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


def _nothing(export: Export, complete: Mapping[str, int], name: str) -> DataError:
    if export.regions and not export.left_out:
        return SpansError(
            f"{name}: {count(export.regions, 'region')} marked and no classes chosen; spagree compares classes: "
            f"ask about the whole item, or measure agreement on marks of texts and sound with {opt.format('spans')}"
        )
    total: Counter[str] = sum((Counter(reasons) for reasons in export.left_out.values()), Counter())
    if not export.left_out:
        total = Counter({reason or "empty": size for reason, size in complete.items()})
    why = "none were found; check that the project has annotations and that the export holds them"
    if total:
        reasons = ", ".join(f"{size:,} {reason}" for reason, size in total.items())
        why = f"all were left out ({reasons}); change that with {opt.status}, {opt.empty} or {opt.ground_truth}"
    return DataError(f"{name}: an export of {export.tool.title} without annotations that count: {why}")


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


def _cautions(export: Export, question: str) -> Iterator[Warning]:
    """Warnings of regions beside the classes, of ground truth that counts, and of items that share an id."""
    if export.regions:
        message = f"{count(export.regions, 'region')} marked beside the classes and ignored: spagree compares classes"
        yield Warning("regions_left_aside", message)
    if size := export.golds[question]:
        marked = count(size, "annotation is", "annotations are")
        message = f"{marked} marked as ground truth, as control questions are, and counted; to leave them out: "
        yield Warning("control_questions", message + opt.ground_truth("drop"))
    for item, other in islice(export.other_texts.items(), 1):
        number = count(len(export.other_texts), "item has", "items have")
        texts = " and ".join(shown(text[:SHOWN_TEXT]) for text in (export.texts[item], other))
        field = next((name for name in texts_of(export.tool.name) if name in export.fields), None)
        named = opt.item if field is None else opt.item(field)
        tell = f", or name a field that tells them apart with {named}" if ITEM in export.tool.renames else ""
        yield Warning(
            "several_texts",
            f"{number} several texts, such as {shown(item)}: {texts}. If these are different items that share an id, "
            f"as in exports of several servers, score each file by itself{tell}",
        )


def read_export_marks(
    source: Source,
    tool: Tool,
    options: ReaderOptions,
    rules: Rules,
    duplicates: str = "error",
    *,
    is_loose: bool = False,
    every: bool = False,
) -> dict[str, MarkRows]:
    """The marks of the question the user means, or of ``every`` question.

    ``duplicates``: which of a person's submissions of an item counts; ``is_loose``: whether blanks and punctuation at
    the ends of a mark do not count.
    """
    left_out, statuses, responses = Counter[str](), set[str](), []
    with _explained(source, tool, options):
        counted = rules.counted(tool)
        for response in tool.responses(source, options):
            statuses.add(response.status)
            if reason := _reason(response, tool, rules, counted):
                left_out[reason] += 1
            else:
                responses.append(response)
    given = [(name, value) for each in responses for name, value in each.answers.items()]
    marked = [(name, value.marks) for name, value in given if isinstance(value, Marks)]
    questions = list(dict.fromkeys(name for name, marks in marked if any(each.start is not None for each in marks)))
    if not questions and not every:
        regions = sum(len(marks) for _, marks in marked)
        found = f"{count(regions, 'region')}, such as boxes" if regions else "nothing was marked"
        raise DataError(f"{source.name}: no marks with a start and an end in this export of {tool.title}: {found}")
    named = questions_meant(questions, source, tool, options, every=every)
    columns = {role: getattr(options, role) or tool.fields[role] for role in (ITEM, ANNOTATOR)}
    words = rules.status_in_words(tool, statuses)
    has_classes = any(value and not isinstance(value, Marks) for _, value in given)
    how: Seen = "every_submission" if tool.tells_seen else "rows" if rules.empty == "keep" else "unknown"
    by_question = {}
    for name in named:
        visits = _visits(name, responses, source.name, is_seen=how != "unknown")
        rows = _mark_rows(visits, source, tool, options, duplicates, how, is_loose=is_loose)
        told = (*_chosen(options, name, questions), *([f"counted: {words}"] if words else []))
        understood = Understood(source.name, tool.name, {**columns, "marks": name}, rules=told)
        rows = replace(rows, warnings=tuple(options.warnings), left_out=left_out)
        by_question[name] = replace(rows, understood=understood, has_classes=has_classes)
    return by_question


def _visits(question: str, responses: Sequence[Response], source: str, *, is_seen: bool) -> Visits:
    """Who saw which item, and what they marked there; ``is_seen``: also if it is nothing."""
    visits: defaultdict[tuple[str, str], list[tuple[Response, Marks]]] = defaultdict(list)
    for response in responses:
        value = response.answers.get(question)
        is_asked = question in response.answers or response.is_complete or not response.answers
        if not isinstance(value, Marks):
            if not (is_asked and is_seen):
                continue
            value = Marks("")
        if response.item is None or response.annotator is None:
            lacking = "an item" if response.item is None else "an annotator"
            raise DataError(
                f"{value.place or source}: marks without {lacking}; those who saw an item are compared: "
                f"name the field with {opt.annotator} or {opt.item}, or give one file per annotator"
            )
        visits[response.item, response.annotator].append((response, value))
    return visits


def _mark_rows(
    visits: Visits, source: Source, tool: Tool, options: ReaderOptions, duplicates: str, how: Seen, *, is_loose: bool
) -> MarkRows:
    """The marks of one submission of each visit: the first or the last by time, if the tool has it, else by place."""
    places: list[tuple[str, str, float, float, str]] = []
    texts: dict[str, str | None] = {}
    where: dict[str, tuple[str, str]] = {}  # the text of an item, where every document has its own
    about: dict[str, list[Any]] = {role: [] for role in (TIME, *options.further)}
    for visit, given in visits.items():
        if len(given) > 1 and duplicates == "error":
            item, annotator = map(shown, visit)
            raise DuplicateError(
                f"{source.name}: {count(len(given), 'submission')} of item {item} by annotator {annotator}; their "
                f"marks cannot be joined: keep one of them with {opt.duplicates('last')} or {opt.duplicates('first')}"
            )
        times = [tool.clock(response.time) if response.time else None for response, _ in given]
        rows = [place if response.row is None else response.row for place, (response, _) in enumerate(given)]
        order = [float(rows[place]) if time is None or None in times else time for place, time in enumerate(times)]
        best = (min if duplicates == "first" else max)(range(len(given)), key=order.__getitem__)
        response, value = given[best]
        own, text = located(value, is_loose=is_loose)
        places += [(*visit, *place) for place in own]
        texts[visit[0]] = text or texts.get(visit[0])
        if text and len(value.texts) == 1:
            place, before = where.setdefault(visit[0], (value.place, text))
            if before.rstrip() != text.rstrip():
                raise DataError(f"{value.place}: another text than in {place}; offsets in them cannot be compared")
        about[TIME].append(times[best])
        for role, name in options.further.items():
            about[role].append(field_in(response.fields, name))
    for role, name in options.further.items():
        if not any(about[role]):
            raise ColumnError(f"{opt[role](name)}: no record has anything in this field; leave it out")
    about[TEXT] = [texts.pop(item, None) for item, _ in visits]  # once for each item
    regions = sum(mark.start is None for given in visits.values() for _, marks in given for mark in marks.marks)
    if regions:
        message = f"{count(regions, 'region')} without a start and an end ignored, such as boxes"
        options.warnings.append(Warning("regions_left_aside", message))
    seen = {ITEM: [item for item, _ in visits], ANNOTATOR: [who for _, who in visits]}
    seen |= {role: found for role, found in about.items() if any(each is not None for each in found)}
    marked = polars.DataFrame(places, schema={role: KINDS.get(role, polars.String) for role in MARK}, orient="row")
    saw = polars.DataFrame(seen, schema={role: KINDS.get(role, polars.String) for role in seen})
    return MarkRows(nw.from_native(marked.lazy()), nw.from_native(saw.lazy()), how, source.name)
