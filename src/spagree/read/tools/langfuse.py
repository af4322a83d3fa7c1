"""Langfuse: scores as CSV, JSON or JSON lines, from the website, the interface or a blob export."""

from __future__ import annotations

from spagree.read.tools.feedback import HUMAN, MODEL, PROGRAM, Fields, tool

FIELDS = Fields(
    items=("observationId", "observation_id", "traceId", "trace_id", "sessionId", "session_id"),
    question=("name",),
    labels=("stringValue", "string_value", "value"),
    times=("timestamp", "createdAt", "created_at"),
    kind=("source",),
    people=("authorUserId", "author_user_id"),
    models=("evaluator", "evaluatorName", "jobConfigurationId", "job_configuration_id", "configId", "config_id"),
    kinds={"annotation": HUMAN, "eval": MODEL, "api": PROGRAM},
)

TOOL = tool(
    "langfuse",
    "Langfuse",
    {"item": "observationId, traceId", "annotator": "authorUserId", "time": "timestamp"},
    FIELDS,
    ("traceId", "trace_id"),
    ("dataType", "data_type"),
    ("name",),
    ("source",),
)
