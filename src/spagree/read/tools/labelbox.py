"""Labelbox: the NDJSON export of data rows with their labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from spagree.errors import DataError
from spagree.read.tools.fields import Record, entries, known, one_or_more
from spagree.read.tools.marks import Mark, Marks
from spagree.read.tools.records import records
from spagree.read.tools.source import OBJECTS, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool, Value, shows
from spagree.read.words import texts

OLD, IMPORT = ("DataRow ID", "Label"), ("schemaId", "dataRow")


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """Every label of every data row, in every project."""
    for row in records(source, options):
        if all(name in row for name in IMPORT):
            raise DataError(
                f"{row.place}: a file for importing into Labelbox, without annotators; export the project (NDJSON)"
            )
        if all(name in row for name in OLD):
            raise DataError(f"{row.place}: Labelbox's old export format; export the project again (Export v2, NDJSON)")
        shown = row.part("data_row", dict)
        item, text = shown.cell(options.item or "id"), shown.item_text(options, *texts("labelbox"))
        projects = map(row.at, row.part("projects", dict).values())
        for label in (row.at(label) for project in projects for label in project.part("labels", list)):
            details = label.part("label_details", dict)
            performance = label.part("performance_details", dict)
            given = label.part("annotations", dict)
            answers: dict[str, Value] = {
                known(classification.get("value")) or classification.cell("name"): _value(classification)
                for classification in entries(given.part("classifications", list), row.place)
            }
            marks = Marks(row.place)
            for marked in given.part("objects", list):  # spans of texts, or regions of images
                where = row.at(marked).part("location", dict)
                last = where.get("end")  # the last character
                marks.marks.append(Mark(_name(marked), where.get("start"), last if last is None else int(last) + 1))
            answers["objects"] = marks
            who, time = known(details.get("created_by")), known(details.get("created_at"))
            status = "skipped" if performance.get("skipped") is True else "submitted"
            is_gold = performance.get("benchmark_reference_label") is True
            is_gold = is_gold or known(label.get("label_kind")) == "Benchmark"
            yield Response(item, who, answers, time, status, is_gold, row.number, text, len(answers) == 1, shown)


def _value(classification: Record) -> Value:
    """The answer to a classification: one choice, several, or a text."""
    if "checklist_answers" in classification:
        options = entries(classification.part("checklist_answers", list), classification.place)
        return one_or_more(map(_name, options))
    if "radio_answer" in classification:
        return known(_name(classification.part("radio_answer", dict)))
    return known(classification.part("text_answer", dict).get("content"))


def _name(choice: Mapping[str, Any]) -> str:
    return known(choice.get("value")) or known(choice.get("name")) or ""


TOOL = Tool(
    name="labelbox",
    title="Labelbox",
    fields={"item": "data_row.id", "annotator": "created_by", "time": "created_at"},
    recognise=shows((OBJECTS, "data_row", "projects"), (OBJECTS, *OLD), (OBJECTS, *IMPORT)),  # two are refused
    responses=responses,
    tells_seen=True,
    statuses={"skipped": "skipped"},
    counted=("submitted",),
)
