"""potato 1.x: a folder per annotator with annotated_instances.jsonl; read through potato.py."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from spagree.read.files.json import as_text
from spagree.read.tools.answers import Record, cell, item_text, one_or_more, part
from spagree.read.tools.tool import ReaderOptions, Response, Value

INSTANCES, LABELS = "annotated_instances.jsonl", "label_annotations"
FILLED_IN = ("text_box", "slider", "text", "number")  # names of inputs whose value is the answer


def responses(entries: Sequence[tuple[str, str, Record]], options: ReaderOptions) -> Iterator[Response]:
    """Every instance of every annotator; each row of a grid is a separate item."""
    labelled = [(who, place, record, _labels(place, record)) for who, place, record in entries]
    grids = _grids([labels for *_, labels in labelled])
    for who, place, record, labels in labelled:
        item, text = cell(record, "id", place), item_text(record, options, place, "displayed_text", "text")
        plain = {name: _value(values) for name, values in labels.items() if name not in grids}
        if plain or not labels:
            yield Response(item, who, plain, text=text, fields=record)
        rows: defaultdict[str, dict[str, Value]] = defaultdict(dict)
        for name, ratings in labels.items():
            for row, rating in ratings.items() if name in grids else ():
                rows[row][name] = rating or None
        yield from (Response(f"{item} {row}", who, answers, text=text, fields=record) for row, answers in rows.items())


def annotator(path: Path) -> str:
    """The folder name is the annotator."""
    return path.parent.name


def _labels(place: str, record: Record) -> dict[str, dict[str, str]]:
    schemas = part(record, LABELS, dict, place)
    return {
        name: {option: as_text(value) for option, value in part(schemas, name, dict, place).items()} for name in schemas
    }


def _grids(all_labels: Sequence[Mapping[str, Mapping[str, str]]]) -> set[str]:
    """The questions that are grids: some row has different ratings in different answers.

    An option of a choice always has the same value, its number on the form or true.
    """
    values: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for labels in all_labels:
        for name, options in labels.items():
            for option, value in options.items():
                values[name, option].add(value)
    return {name for (name, option), seen in values.items() if len(seen) > 1 and option not in FILLED_IN}


def _value(options: Mapping[str, str]) -> Value:
    """The chosen options; for an input field, its value."""
    return one_or_more(value if option in FILLED_IN else option for option, value in options.items() if value != "")


def is_instance(record: Mapping[str, Any]) -> bool:
    """Whether a record is an instance as potato 1.x writes it."""
    return "id" in record and isinstance(record.get(LABELS), dict)
