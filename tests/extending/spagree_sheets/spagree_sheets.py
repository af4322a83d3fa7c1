"""What the annotation tool Sheets exports, and labels that are paths, as animal/dog."""

from spagree.read.tools.fields import answer, known
from spagree.read.tools.records import records
from spagree.read.tools.source import OBJECTS
from spagree.read.tools.tool import Response, Tool


def recognise(source):
    """Whether the tool wrote it: by the shape of the source and names that no other tool uses."""
    return source.shape == OBJECTS and source.has("sheet", "by", "answers")


def responses(source, options):
    """One response per record; it refuses what is missing or of the wrong kind, and says where."""
    for record in records(source, options):
        given = record.part("answers", dict)
        yield Response(
            item=record.cell(options.item or "sheet"),
            annotator=known(record.get("by")),
            answers={question: answer(value) for question, value in given.items()},
            time=known(record.get("at")),
            status=known(record.get("state")) or "done",
            row=record.number,
        )


TOOL = Tool(
    name="sheets",
    title="Sheets",
    fields={"item": "sheet", "annotator": "by", "time": "at"},
    recognise=recognise,
    responses=responses,
    statuses={"open": "draft"},  # responses that are still open are left out, and counted as drafts
    counted=("done",),
)


def shared_path(one: str, other: str) -> float:
    """The share of steps that two paths have in common from the start: 1 for equal labels, 0 for none."""
    a, b = one.split("/"), other.split("/")
    shared = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return shared / max(len(a), len(b))
