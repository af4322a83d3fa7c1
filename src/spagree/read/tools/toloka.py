"""Toloka: assignments as TSV, in the layout of the website or in that of the API."""

from __future__ import annotations

import json
from collections.abc import Iterator

from spagree.errors import DataError, count
from spagree.read.tools.records import Record, cell, first, from_text, item_text, known, records
from spagree.read.tools.source import TABLE, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool

ASSIGNMENT, INPUT, OUTPUT, GOLDEN = "ASSIGNMENT:", "INPUT:", "OUTPUT:", "GOLDEN:"
WORKER, TASK, STATUS = ASSIGNMENT + "worker_id", ASSIGNMENT + "task_id", ASSIGNMENT + "status"
TEXTS = ("text", "sentence", "question", "image", "image_url", "url")

Entry = tuple[str, int, Record]


def recognise(source: Source) -> bool:
    """Toloka's column names."""
    return source.shape == TABLE and source.has(WORKER)


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """Tasks with their assignments.

    The website writes the tasks of a page without the assignment, followed by a row with the assignment only.
    """
    page: list[Entry] = []
    for place, line, row in records(source, options):
        if not cell(row, WORKER, place):
            page.append((place, line, row))
            continue
        has_task = any(text for name, text in row.items() if name.startswith((INPUT, OUTPUT)))
        page += [(place, line, row)] if has_task else []
        yield from (_response(task, row, options) for task in page)
        page = []
    if page:
        raise DataError(
            f"{page[0][0]}: {count(len(page), 'task')} without the row of the assignment that should follow; "
            "the file seems to be truncated: download it again"
        )


def _response(task: Entry, assignment: Record, options: ReaderOptions) -> Response:
    place, line, row = task
    times = (options.time,) if options.time else (ASSIGNMENT + "submitted", ASSIGNMENT + "started")
    time = first(assignment, times)
    return Response(
        cell(row, options.item, place) if options.item else _item(row),
        known(assignment[WORKER]),
        {name.removeprefix(OUTPUT): from_text(text) for name, text in row.items() if name.startswith(OUTPUT)},
        time,
        (assignment.get(STATUS) or "approved").lower(),
        is_gold=any(text for name, text in row.items() if name.startswith(GOLDEN)),
        row=line,
        text=item_text(row, options, place, *(INPUT + name for name in TEXTS)),
        fields={**row, **{name: text for name, text in assignment.items() if text}},
    )


def _item(row: Record) -> str | None:
    """The task number if the file has it, otherwise all its inputs."""
    inputs = [text for name, text in row.items() if name.startswith(INPUT)]
    return known(row.get(TASK)) or known(inputs[0] if len(inputs) == 1 else json.dumps(inputs, ensure_ascii=False))


TOOL = Tool(
    name="toloka",
    title="Toloka",
    fields={"item": "INPUT", "annotator": WORKER, "time": ASSIGNMENT + "submitted"},
    recognise=recognise,
    responses=responses,
    statuses={"rejected": "rejected", "skipped": "skipped", "expired": "expired", "active": "pending"},
    counted=("submitted", "approved"),
    renames=frozenset({"item", "time"}),
)
