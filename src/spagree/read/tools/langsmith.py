"""LangSmith: feedback on runs as CSV, JSON or JSON lines."""

from __future__ import annotations

from spagree.read.tools.feedback import HUMAN, MODEL, PROGRAM, Fields, tool

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

TOOL = tool(
    "langsmith",
    "LangSmith",
    {"item": "run_id", "annotator": "feedback_source.user_id", "time": "created_at"},
    FIELDS,
    ("run_id",),
    ("key",),
    ("feedback_source", "feedback_source.type"),
)
