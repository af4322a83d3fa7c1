"""Langfuse: scores as CSV, JSON or JSON lines, from the website, the interface or a blob export."""

from __future__ import annotations

from spagree.read.tools.feedback import HUMAN, KINDS, MODEL, PROGRAM, Fields, has_fields, reader
from spagree.read.tools.source import OBJECTS, TABLE, Source
from spagree.read.tools.tool import Tool

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


def recognise(source: Source) -> bool:
    """Scores with their type and where they come from."""
    return source.shape in (OBJECTS, TABLE) and has_fields(
        source, ("traceId", "trace_id"), ("dataType", "data_type"), ("name",), ("source",)
    )


TOOL = Tool(
    name="langfuse",
    title="Langfuse",
    fields={"item": "observationId, traceId", "annotator": "authorUserId", "time": "timestamp"},
    recognise=recognise,
    responses=reader(FIELDS),
    counted=KINDS,
    renames=frozenset({"item", "annotator"}),
)
