"""An export as annotations: those of one question, or of every question."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any

from spagree.errors import DataError, FileError, SpagreeError, UsageError, count
from spagree.late import nw
from spagree.read import columns
from spagree.read.annotations import ANNOTATOR, CLUSTER, GROUP, ITEM, LABEL, TIME, Annotations
from spagree.read.table import SHOWN_EXAMPLES, shown
from spagree.read.tools.export import Export, gather
from spagree.read.tools.rules import Rules
from spagree.read.tools.source import ARCHIVE, SPECIAL, Source
from spagree.read.tools.tool import ReaderOptions, Tool
from spagree.understood import Caution, Understood

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
