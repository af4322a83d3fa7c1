"""LangSmith: feedback on runs as CSV, JSON or JSON lines."""

from __future__ import annotations

from spagree.read.tools.feedback import HUMAN, KINDS, MODEL, PROGRAM, Fields, has_fields, reader
from spagree.read.tools.source import OBJECTS, TABLE, Source
from spagree.read.tools.tool import Tool

FIELDS = Fields(
    items=("run_id",),
    question=("key",),
    labels=("value", "score"),
    times=("created_at",),
    kind=("feedback_source.type",),
    people=("feedback_source.user_id", "feedback_source.user_name", "feedback_source.ls_user_id"),
    models=("feedback_source.metadata.evaluator", "feedback_source.user_name"),
    kinds={"app": HUMAN, "model": MODEL, "auto_eval": MODEL, "api": PROGRAM},
)


def recognise(source: Source) -> bool:
    """Feedback by key, with where it comes from."""
    return source.shape in (OBJECTS, TABLE) and has_fields(
        source, ("run_id",), ("key",), ("feedback_source", "feedback_source.type")
    )


TOOL = Tool(
    name="langsmith",
    title="LangSmith",
    fields={"item": "run_id", "annotator": "feedback_source.user_id", "time": "created_at"},
    recognise=recognise,
    responses=reader(FIELDS),
    counted=KINDS,
    renames=frozenset({"item", "annotator"}),
)
