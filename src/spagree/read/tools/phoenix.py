"""Phoenix: annotations of spans, traces and sessions as CSV, JSON or JSON lines."""

from __future__ import annotations

from spagree.read.tools.feedback import HUMAN, KINDS, MODEL, PROGRAM, Fields, has_fields, reader
from spagree.read.tools.source import OBJECTS, TABLE, Source
from spagree.read.tools.tool import Tool

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


def recognise(source: Source) -> bool:
    """Annotations of a span with the kind of annotator."""
    return source.shape in (OBJECTS, TABLE) and has_fields(
        source, ("annotator_kind",), ("span_id", "context.span_id", "trace_id", "session_id")
    )


TOOL = Tool(
    name="phoenix",
    title="Phoenix",
    fields={"item": "span_id", "annotator": "user_id, identifier", "time": "created_at"},
    recognise=recognise,
    responses=reader(FIELDS),
    counted=KINDS,
    renames=frozenset({"item", "annotator"}),
)
