"""Amazon SageMaker Ground Truth and A2I: the answers of single workers; the output manifest has none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from spagree.errors import DataError
from spagree.read.files.json import DECODER
from spagree.read.files.paths import File, with_kind
from spagree.read.tools.mturk import crowd_value
from spagree.read.tools.records import Record, cell, file_records, first, item_text, known, part
from spagree.read.tools.source import FOLDER, OBJECTS, Source, first_objects
from spagree.read.tools.tool import ReaderOptions, Response, Tool

HUMAN_LOOP = "humanAnswers"  # Amazon A2I, one file per loop
TREE, METADATA, ALL_WORKERS = "worker-response", "-metadata", "annotationsFromAllWorkers"


def recognise(source: Source) -> bool:
    """A tree of worker responses, one of its files, or a manifest."""
    if source.shape == FOLDER:
        return any(map(_is_answers, _first_file(source)))
    return source.shape == OBJECTS and any(_is_answers(record) or _is_manifest(record) for record in source.objects)


def _first_file(source: Source) -> Sequence[Record]:
    names = [name for name in source.keys if name.endswith(".json")]
    inside = [name for name in names if TREE in Path(name).parts] or names
    return first_objects(File(Path(source.path) / inside[0], inside[0])) if inside else ()


def _is_answers(record: Record) -> bool:
    answers = record.get("answers", record.get(HUMAN_LOOP))
    return isinstance(answers, list) and all(isinstance(answer, dict) and "workerId" in answer for answer in answers)


def _is_manifest(record: Record) -> bool:
    described = [value for name, value in record.items() if name.endswith(METADATA)]
    return any(isinstance(value, dict) and "human-annotated" in value for value in described) or bool(_workers(record))


def _workers(record: Record) -> list[tuple[str, Sequence[Any]]]:
    """The answers that custom jobs keep in the manifest, by label name."""
    inner = [(name, value) for name, value in record.items() if isinstance(value, dict)]
    by_label = [(name, value[ALL_WORKERS]) for name, value in inner if isinstance(value.get(ALL_WORKERS), list)]
    workers = record.get(ALL_WORKERS)
    return by_label + ([("", workers)] if isinstance(workers, list) else [])


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """Every answer of every worker; a file's folder is its item."""
    for file in _files(source):
        item = Path(file.name).parent.name or Path(file.name).stem
        for entry in file_records(file, options):
            yield from _responses(*entry, item, options)


def _responses(place: str, number: int, record: Record, item: str, options: ReaderOptions) -> Iterator[Response]:
    if HUMAN_LOOP in record:
        item = cell(record, "humanLoopName", place)
        text = item_text(
            part(record, "inputContent", dict, place), options, place, "taskObject", "text", "initialValue"
        )
        return (each._replace(text=text) for each in _answers(place, record[HUMAN_LOOP], item, options))
    if _is_answers(record):
        return _answers(place, record["answers"], item, options)
    if _workers(record):
        return _custom(place, number, record, options)
    raise DataError(
        f"{place}: the output manifest holds one consolidated label per object and no workers, so agreement cannot "
        "be measured; give the folder annotations/worker-response of the job's output"
    )


def _files(source: Source) -> Iterator[File]:
    if source.shape != FOLDER:
        yield from source.files
        return
    names = [name for name in source.keys if name.endswith(".json")]
    for name in [name for name in names if TREE in Path(name).parts] or names:
        path = Path(source.path) / name
        yield with_kind(File(path, str(path)))


def _answers(place: str, answers: Sequence[Record], item: str, options: ReaderOptions) -> Iterator[Response]:
    for answer in answers:
        content = part(answer, "answerContent", dict, place)
        values = {name: crowd_value(value, place) for name, value in content.items()}
        yield Response(item, _worker(answer, options), values, known(answer.get("submissionTime")))


def _worker(answer: Record, options: ReaderOptions) -> str | None:
    """The worker; ``--annotator sub`` is the person, the same in every work team."""
    identity = part(part(answer, "workerMetadata", dict, ""), "identityData", dict, "")
    return known(identity.get(options.annotator)) if options.annotator else known(answer.get("workerId"))


def _custom(place: str, number: int, record: Record, options: ReaderOptions) -> Iterator[Response]:
    item = first(record, ("source-ref", "source", "datasetObjectId")) or str(number)
    text = item_text(record, options, place, "source", "source-ref")
    for name, workers in _workers(record):
        for each in workers:
            yield Response(
                item, _worker(each, options), _content(place, name, each), row=number, text=text, fields=record
            )


def _content(place: str, name: str, answer: Record) -> Mapping[str, Any]:
    text = part(answer, "annotationData", dict, place).get("content")
    try:
        content = DECODER.decode(text) if isinstance(text, str) else text
    except ValueError as error:
        raise DataError(f"{place}: the content of an annotation is not JSON ({error}); export it again") from None
    return (
        {key: crowd_value(value, place) for key, value in content.items()}
        if isinstance(content, dict)
        else {name: known(content)}
    )


TOOL = Tool(
    name="ground-truth",
    title="SageMaker Ground Truth",
    fields={"item": "folder of the object", "annotator": "workerId", "time": "submissionTime"},
    recognise=recognise,
    responses=responses,
    renames=frozenset({"annotator"}),
    shapes=frozenset({FOLDER}),
)
