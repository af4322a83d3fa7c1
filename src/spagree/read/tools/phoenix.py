"""Phoenix: annotations of spans, traces and sessions as CSV, JSON or JSON lines."""

from __future__ import annotations

from spagree.read.tools.feedback import HUMAN, MODEL, PROGRAM, Fields, tool

FIELDS = Fields(
    items=("span_id", "context.span_id", "trace_id", "session_id"),
    question=("annotation_name", "name"),
    labels=("result.label", "label", "result.score", "score"),
    times=("created_at",),
    kind=("annotator_kind",),
    people=("user_id", "identifier"),
    models=("identifier", "user_id"),
    kinds={"human": HUMAN, "llm": MODEL, "code": PROGRAM},
)

TOOL = tool(
    "phoenix",
    "Phoenix",
    {"item": "span_id", "annotator": "user_id, identifier", "time": "created_at"},
    FIELDS,
    ("annotator_kind",),
    ("span_id", "context.span_id", "trace_id", "session_id"),
)
