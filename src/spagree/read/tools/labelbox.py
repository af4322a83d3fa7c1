"""Labelbox: the NDJSON export of data rows with their labels."""

from __future__ import annotations

from collections.abc import Iterator

from spagree.errors import DataError, count
from spagree.read.tools.records import Record, cell, entries, item_text, known, one_or_more, part, records, tell_regions
from spagree.read.tools.source import OBJECTS, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool, Value

OLD, IMPORT = ("DataRow ID", "Label"), ("schemaId", "dataRow")


def recognise(source: Source) -> bool:
    """Data rows with projects, and similar files that are refused by name."""
    return source.shape == OBJECTS and (source.has("data_row", "projects") or source.has(*OLD) or source.has(*IMPORT))


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """Every label of every data row, in every project."""
    objects, has_classes = 0, False
    for place, number, row in records(source, options):
        _refuse_others(place, row)
        shown = part(row, "data_row", dict, place)
        item, text = cell(shown, options.item or "id", place), item_text(shown, options, place, "row_data")
        for project in part(row, "projects", dict, place).values():
            for label in part(project, "labels", list, place):
                response = _response(place, number, item, text, label)
                objects += len(part(part(label, "annotations", dict, place), "objects", list, place))
                has_classes = has_classes or bool(response.answers)
                yield response._replace(fields=shown)
    if objects:
        refusal = (
            f"{count(objects, 'object')} marked and no classifications; spagree compares classes: add a classification "
            "of the whole data row, or compare the objects with a tool for boxes or spans"
        )
        tell_regions(source, options, count(objects, "marked object"), "" if has_classes else refusal)


def _refuse_others(place: str, row: Record) -> None:
    if all(name in row for name in IMPORT):
        raise DataError(f"{place}: a file for importing into Labelbox, without annotators; export the project (NDJSON)")
    if all(name in row for name in OLD):
        raise DataError(f"{place}: Labelbox's old export format; export the project again (Export v2, NDJSON)")


def _response(place: str, number: int, item: str, text: str | None, label: Record) -> Response:
    details = part(label, "label_details", dict, place)
    performance = part(label, "performance_details", dict, place)
    classifications = part(part(label, "annotations", dict, place), "classifications", list, place)
    answers = {
        known(classification.get("value")) or cell(classification, "name", place): _value(place, classification)
        for classification in entries(classifications, place)
    }
    return Response(
        item,
        known(details.get("created_by")),
        answers,
        known(details.get("created_at")),
        "skipped" if performance.get("skipped") is True else "submitted",
        is_gold=known(label.get("label_kind")) == "Benchmark" or performance.get("benchmark_reference_label") is True,
        row=number,
        text=text,
    )


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
    recognise=recognise,
    responses=responses,
    statuses={"skipped": "skipped"},
    counted=("submitted",),
)
