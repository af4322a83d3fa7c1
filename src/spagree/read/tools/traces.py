"""Scores of traces, as stored by Langfuse, LangSmith and Phoenix: people and models together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from spagree.errors import ColumnError, DataError, Warning, listed, opt
from spagree.read.tools.fields import first
from spagree.read.tools.records import records
from spagree.read.tools.source import OBJECTS, TABLE, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool

HUMAN, MODEL, PROGRAM = "human", "model", "program"
KINDS = (HUMAN, MODEL, PROGRAM)  # who may count: all by default


def _scores(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The record itself, or the records of an API page: {"data": […]}."""
    page = record.get("data")
    return page if isinstance(page, list) and all(isinstance(score, dict) for score in page) else [record]


def _tool(
    name: str,
    title: str,
    shown: Mapping[str, str],
    fields: Mapping[str, str],
    kinds: Mapping[str, str],
    *groups: tuple[str, ...],
) -> Tool:
    """A tool whose exports have a field of each group, and keep in these fields what makes a response.

    Of several fields the first is taken that is not empty, and a dot leads into an object. ``kinds``: what the tool
    calls people, models and programs.
    """
    names = {what: tuple(each.split()) for what, each in fields.items()}

    def recognise(source: Source) -> bool:
        scores = [score for record in source.objects for score in _scores(record)]
        keys = {*source.keys, *(name for score in scores for name in score)}
        return source.shape in (OBJECTS, TABLE) and all(any(name in keys for name in group) for group in groups)

    def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
        sizes: Counter[str] = Counter()
        named = 0
        for score in (record.at(score) for record in records(source, options) for score in _scores(record)):
            question, kind = first(score, names["question"]), first(score, names["kind"])
            if question is None or kind is None:
                lacking = " or ".join(names["question" if question is None else "kind"])
                raise DataError(f"{score.place}: {lacking} is empty or missing; fields: {listed(list(score))}")
            status = kinds.get(kind.lower(), PROGRAM)
            sizes[status] += 1
            own = first(score, (options.annotator,)) if options.annotator else None
            named += bool(own)
            if not options.annotator:
                own = first(score, names["people" if status == HUMAN else "models"])
            who = own or (None if status == HUMAN else kind)
            item = score.cell(options.item) if options.item else first(score, names["item"])
            text = score.item_text(options) if options.text else None
            answers, time = {question: first(score, names["label"])}, first(score, names["time"])
            yield Response(item, who, answers, time, status, row=score.number, text=text, fields=score)
        if options.annotator and not named:
            raise ColumnError(f"{opt.annotator(options.annotator)}: no record has anything in this field; leave it out")
        if len(sizes) > 1 or HUMAN not in sizes:  # people and models answer different questions
            words = {HUMAN: "by people", MODEL: "by models", PROGRAM: "by programs"}
            scores = ", ".join(f"{sizes[status]:,} {words[status]}" for status in words if sizes[status])
            remedy = f"; {opt.status('human')} counts people alone" if HUMAN in sizes else ""
            options.warnings.append(Warning("people_and_models", f"scores {scores}{remedy}"))

    return Tool(name, title, shown, recognise, responses, counted=KINDS, renames=("item", "annotator"))


LANGFUSE = _tool(
    "langfuse",
    "Langfuse",
    {"item": "observationId, traceId", "annotator": "authorUserId", "time": "timestamp"},
    {
        "item": "observationId observation_id traceId trace_id sessionId session_id",
        "question": "name",
        "label": "stringValue string_value value",
        "time": "timestamp createdAt created_at",
        "kind": "source",
        "people": "authorUserId author_user_id",
        "models": "evaluator evaluatorName jobConfigurationId job_configuration_id configId config_id",
    },
    {"annotation": HUMAN, "eval": MODEL, "api": PROGRAM},
    ("traceId", "trace_id"),
    ("dataType", "data_type"),
    ("name",),
    ("source",),
)

LANGSMITH = _tool(
    "langsmith",
    "LangSmith",
    {"item": "run_id", "annotator": "feedback_source.user_id", "time": "created_at"},
    {
        "item": "run_id",
        "question": "key",
        "label": "value score",
        "time": "created_at",
        "kind": "feedback_source.type",
        "people": "feedback_source.user_id feedback_source.user_name feedback_source.ls_user_id",
        "models": "feedback_source.metadata.evaluator feedback_source.user_name",
    },
    {"app": HUMAN, "model": MODEL, "auto_eval": MODEL, "api": PROGRAM},
    ("run_id",),
    ("key",),
    ("feedback_source", "feedback_source.type"),
)

PHOENIX = _tool(
    "phoenix",
    "Phoenix",
    {"item": "span_id", "annotator": "user_id, identifier", "time": "created_at"},
    {
        "item": "span_id context.span_id trace_id session_id",
        "question": "annotation_name name",
        "label": "result.label label result.score score",
        "time": "created_at",
        "kind": "annotator_kind",
        "people": "user_id identifier",
        "models": "identifier user_id",
    },
    {"human": HUMAN, "llm": MODEL, "code": PROGRAM},
    ("annotator_kind",),
    ("span_id", "context.span_id", "trace_id", "session_id"),
)
