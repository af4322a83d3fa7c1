"""Toloka: assignments as TSV, in the layout of the website or in that of the API."""

from __future__ import annotations

import json
from collections.abc import Iterator

from spagree.errors import DataError, count
from spagree.read.tools.records import Record, cell, first, from_text, item_text, known, records
from spagree.read.tools.source import TABLE, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool
from spagree.read.words import texts

ASSIGNMENT, INPUT, OUTPUT, GOLDEN = "ASSIGNMENT:", "INPUT:", "OUTPUT:", "GOLDEN:"
WORKER, TASK, STATUS = ASSIGNMENT + "worker_id", ASSIGNMENT + "task_id", ASSIGNMENT + "status"


def recognise(source: Source) -> bool:
    """Toloka's column names."""
    return source.shape == TABLE and source.has(WORKER)


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """Tasks with their assignments.

    The website writes the tasks of a page without the assignment, followed by a row with the assignment only.
    """
    page: list[tuple[str, int, Record]] = []
    for place, line, row in records(source, options):
        if not cell(row, WORKER, place):
            page.append((place, line, row))
            continue
        has_task = any(text for name, text in row.items() if name.startswith((INPUT, OUTPUT)))
        page += [(place, line, row)] if has_task else []
        times = (options.time,) if options.time else (ASSIGNMENT + "submitted", ASSIGNMENT + "started")
        for place_of_task, line_of_task, task in page:
            inputs = [text for name, text in task.items() if name.startswith(INPUT)]
            text = inputs[0] if len(inputs) == 1 else json.dumps(inputs, ensure_ascii=False)
            yield Response(  # the item is the number of the task or, if the file has none, all its inputs
                cell(task, options.item, place_of_task) if options.item else known(task.get(TASK)) or known(text),
                known(row[WORKER]),
                {name.removeprefix(OUTPUT): from_text(text) for name, text in task.items() if name.startswith(OUTPUT)},
                first(row, times),
                (row.get(STATUS) or "approved").lower(),
                is_gold=any(text for name, text in task.items() if name.startswith(GOLDEN)),
                row=line_of_task,
                text=item_text(task, options, place_of_task, *(INPUT + name for name in texts("toloka"))),
                fields={**task, **{name: text for name, text in row.items() if text}},
            )
        page = []
    if page:
        raise DataError(
            f"{page[0][0]}: {count(len(page), 'task')} without the row of the assignment that should follow; "
            "the file seems to be truncated: download it again"
        )


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
