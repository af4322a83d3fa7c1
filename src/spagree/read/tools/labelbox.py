"""Labelbox: the NDJSON export of data rows with their labels."""

from __future__ import annotations

from collections.abc import Iterator

from spagree.errors import DataError
from spagree.read.tools.marks import Mark, Marks
from spagree.read.tools.records import records
from spagree.read.tools.source import OBJECTS, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool, Value, shows
from spagree.read.tools.values import Record, cell, entries, item_text, known, one_or_more, part
from spagree.read.words import texts

OLD, IMPORT = ("DataRow ID", "Label"), ("schemaId", "dataRow")


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """Every label of every data row, in every project."""
    for place, number, row in records(source, options):
        if all(name in row for name in IMPORT):
            raise DataError(
                f"{place}: a file for importing into Labelbox, without annotators; export the project (NDJSON)"
            )
        if all(name in row for name in OLD):
            raise DataError(f"{place}: Labelbox's old export format; export the project again (Export v2, NDJSON)")
        shown = part(row, "data_row", dict, place)
        item, text = cell(shown, options.item or "id", place), item_text(shown, options, place, *texts("labelbox"))
        projects = part(row, "projects", dict, place).values()
        for label in (label for project in projects for label in part(project, "labels", list, place)):
            details = part(label, "label_details", dict, place)
            performance = part(label, "performance_details", dict, place)
            given = part(label, "annotations", dict, place)
            answers: dict[str, Value] = {
                known(classification.get("value")) or cell(classification, "name", place): _value(place, classification)
                for classification in entries(part(given, "classifications", list, place), place)
            }
            marks = Marks(place)
            for marked in part(given, "objects", list, place):  # spans of texts, or regions of images
                where = part(marked, "location", dict, place)
                last = where.get("end")  # the last character
                marks.marks.append(Mark(_name(marked), where.get("start"), last if last is None else int(last) + 1))
            answers["objects"] = marks
            who, time = known(details.get("created_by")), known(details.get("created_at"))
            status = "skipped" if performance.get("skipped") is True else "submitted"
            is_gold = performance.get("benchmark_reference_label") is True
            is_gold = is_gold or known(label.get("label_kind")) == "Benchmark"
            yield Response(item, who, answers, time, status, is_gold, number, text, len(answers) == 1, shown)


def _value(place: str, classification: Record) -> Value:
    """The answer to a classification: one choice, several, or a text."""
    if "checklist_answers" in classification:
        options = entries(part(classification, "checklist_answers", list, place), place)
        return one_or_more(map(_name, options))
    if "radio_answer" in classification:
        return known(_name(part(classification, "radio_answer", dict, place)))
    return known(part(classification, "text_answer", dict, place).get("content"))


def _name(choice: Record) -> str:
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
