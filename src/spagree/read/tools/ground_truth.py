"""Amazon SageMaker Ground Truth and A2I: the answers of single workers; the output manifest has none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from spagree.errors import DataError
from spagree.read.files.paths import File
from spagree.read.tools.mturk import crowd_value
from spagree.read.tools.records import Record, cell, decoded, file_records, first, item_text, known, members, part
from spagree.read.tools.source import FOLDER, OBJECTS, Source, first_objects
from spagree.read.tools.tool import ReaderOptions, Response, Tool

HUMAN_LOOP = "humanAnswers"  # Amazon A2I, one file per loop
TREE, METADATA, ALL_WORKERS = "worker-response", "-metadata", "annotationsFromAllWorkers"


def recognise(source: Source) -> bool:
    """A tree of worker responses, one of its files, or a manifest."""
    if source.shape == FOLDER:
        return any(_is_answers(record) for file in _files(source)[:1] for record in first_objects(file))
    described = [value for each in source.objects for name, value in each.items() if name.endswith(METADATA)]
    is_manifest = any(isinstance(value, dict) and "human-annotated" in value for value in described)
    return source.shape == OBJECTS and (
        is_manifest or any(_is_answers(record) or _workers(record) for record in source.objects)
    )


def _is_answers(record: Record) -> bool:
    answers = record.get("answers", record.get(HUMAN_LOOP))
    return isinstance(answers, list) and all(isinstance(answer, dict) and "workerId" in answer for answer in answers)


def _workers(record: Record) -> list[tuple[str, Any]]:
    """The answers that custom jobs keep in the manifest, by label name."""
    inner = [(name, value.get(ALL_WORKERS)) for name, value in record.items() if isinstance(value, dict)]
    return [each for each in (*inner, ("", record.get(ALL_WORKERS))) if isinstance(each[1], list)]


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """Every answer of every worker; a file's folder is its item."""
    for file in _files(source):
        folder = Path(file.name).parent.name or Path(file.name).stem
        for place, number, record in file_records(file, options):
            if HUMAN_LOOP in record:
                shown, names = part(record, "inputContent", dict, place), ("taskObject", "text", "initialValue")
                item, text = cell(record, "humanLoopName", place), item_text(shown, options, place, *names)
                yield from _answers(place, record[HUMAN_LOOP], item, text, options)
            elif _is_answers(record):
                yield from _answers(place, record["answers"], folder, None, options)
            elif by_label := _workers(record):
                item = first(record, ("source-ref", "source", "datasetObjectId")) or str(number)
                text = item_text(record, options, place, "source", "source-ref")
                for name, each in ((name, each) for name, workers in by_label for each in workers):
                    content = part(each, "annotationData", dict, place).get("content")
                    if isinstance(content, str):
                        content = decoded(content, place, "the content of an annotation")
                    answers: dict[str, Any] = {name: known(content)}
                    if isinstance(content, dict):
                        answers = {key: crowd_value(value, place) for key, value in content.items()}
                    yield Response(item, _worker(each, options), answers, row=number, text=text, fields=record)
            else:
                raise DataError(
                    f"{place}: the output manifest holds one consolidated label per object and no workers, so "
                    "agreement cannot be measured; give the folder annotations/worker-response of the job's output"
                )


def _files(source: Source) -> Sequence[File]:
    """The files of a tree of worker responses, or all of them."""
    files = members(source, ".json")
    return [file for file in files if TREE in Path(file.name).parts] or files


def _answers(
    place: str, answers: Sequence[Record], item: str, text: str | None, options: ReaderOptions
) -> Iterator[Response]:
    for answer in answers:
        content = part(answer, "answerContent", dict, place)
        values = {name: crowd_value(value, place) for name, value in content.items()}
        yield Response(item, _worker(answer, options), values, known(answer.get("submissionTime")), text=text)


def _worker(answer: Record, options: ReaderOptions) -> str | None:
    """The worker; ``--annotator sub`` is the person, the same in every work team."""
    identity = part(part(answer, "workerMetadata", dict, ""), "identityData", dict, "")
    return known(identity.get(options.annotator)) if options.annotator else known(answer.get("workerId"))


TOOL = Tool(
    name="ground-truth",
    title="SageMaker Ground Truth",
    fields={"item": "folder of the object", "annotator": "workerId", "time": "submissionTime"},
    recognise=recognise,
    responses=responses,
    tells_seen=True,
    renames=frozenset({"annotator"}),
    shapes=frozenset({FOLDER}),
)
