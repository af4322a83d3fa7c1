"""Hugging Face datasets with one row per item: lists of annotators and of labels, in any of three layouts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from spagree.errors import DataError
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL
from spagree.read.columns import COMMON_NAMES
from spagree.read.files.paths import File
from spagree.read.table import listed, shown
from spagree.read.tools.records import Record, answer, entries, item_text, known, records
from spagree.read.tools.source import COLUMNS, FOLDER, OBJECTS, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool

WHO = {name for group in COMMON_NAMES[ANNOTATOR] for name in group.split()}
TELLING = {name for name in WHO if not name.startswith(("user", "participant", "email"))}  # other names are too common
LABELS = {name for group in COMMON_NAMES[LABEL] for name in group.split()}
IDS = [name for group in COMMON_NAMES[ITEM] for name in group.split()]
TEXTS = ("text", "sentence", "post", "comment", "tweet", "content", "document", "prompt", "question", "title",
         "image_url")  # fmt: skip
ARGILLA = {"user_id", "value", "status"}
LISTS = re.compile(r".*\[\]|List\(.*", re.DOTALL)


def recognise(source: Source) -> bool:
    """A column of annotators per item, alone or together with their labels."""
    if source.shape == FOLDER:
        return source.has("dataset_info.json") and any(name.endswith(".arrow") for name in source.keys)
    if source.shape == COLUMNS:
        return any(_is_typed(name, kind) for name, kind in source.keys.items())
    if source.shape == OBJECTS and len(source.objects) == 1 and _is_table(source.objects[0]):
        return False
    return source.shape == OBJECTS and any(map(_is_telling, source.objects))


def _is_typed(name: str, kind: str) -> bool:
    """By column type: a list of annotators, or a structure that names them."""
    if "struct" in kind.lower():
        return _fits(re.findall(r"\w+", kind), TELLING) and _fits(re.findall(r"\w+", kind), LABELS)
    return _fits([name], TELLING) and LISTS.fullmatch(kind) is not None


def _is_telling(record: Record) -> bool:
    """By unambiguous names: annotators in one structure with labels, or in a parallel list."""
    together, beside = _together(record), _beside(record)
    inside = record[together] if together else None
    names = list(inside[0] if isinstance(inside, list) else inside) if inside else list(record) if beside else []
    return _fits(names, TELLING) and _fits(names, LABELS)


def _is_table(record: Record) -> bool:
    """One object that holds a table: rows that name their items, as in {"results": […], "count": 7}, or columns.

    >>> _is_table({"item": ["1", "1"], "annotator": ["a", "b"], "label": ["x", "y"]})
    True
    """
    columns = [value for value in record.values() if isinstance(value, list)]
    if len(columns) == len(record) and len(set(map(len, columns))) == 1 and _fits(list(record), set(IDS)):
        return True
    together = _together(record)
    rows = record[together] if together else ()
    is_item = _fits(list(_scalars(record)), set(IDS))
    return not is_item and isinstance(rows, list) and bool(rows) and _fits(list(rows[0]), set(IDS))


def _fits(names: Sequence[str], usual: set[str]) -> bool:
    """Whether any of the names is a usual one, in singular or plural."""
    plain = ["".join(character for character in name.casefold() if character.isalnum()) for name in names]
    return any(name in usual or name.removesuffix("s") in usual for name in plain)


def _is_who(name: str) -> bool:
    return _fits([name], WHO)


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """The annotations of each row, in any of the layouts."""
    if source.shape == FOLDER:  # as datasets saves them
        paths = [Path(source.path) / name for name in source.keys if name.endswith((".arrow", ".parquet"))]
        source = replace(source, files=tuple(File(path, str(path), "arrow") for path in paths))
    for place, number, record in records(source, options):
        item, text = _item(record, number, options), item_text(_scalars(record), options, place, *TEXTS)
        together = _together(record)
        for annotation in entries(record[together], place) if together else _parallel(place, record):
            who = next((name for name in annotation if _is_who(name)), None)
            if who is None:
                raise DataError(f"{place}: an annotation without an annotator; fields: {listed(list(annotation))}")
            answers = {name: answer(value) for name, value in annotation.items() if name != who}
            yield Response(item, known(annotation[who]), answers, row=number, text=text, fields=record)


def _item(record: Record, number: int, options: ReaderOptions) -> str:
    if options.item:
        return known(record.get(options.item)) or str(number)
    scalars = _scalars(record)
    plain = {"".join(c for c in name.casefold() if c.isalnum()): name for name in scalars}
    return next((text for name in IDS if name in plain and (text := known(scalars[plain[name]]))), str(number))


def _scalars(record: Record) -> Record:
    return {name: value for name, value in record.items() if not isinstance(value, list | dict)}


def _together(record: Record) -> str | None:
    """The column that holds annotators with their labels: a list of structures or a structure of lists."""
    for name, value in record.items():
        first = value[0] if isinstance(value, list) and value else value
        is_struct = isinstance(first, dict) and any(map(_is_who, first)) and not first.keys() >= ARGILLA
        if is_struct and (isinstance(value, list) or all(isinstance(column, list) for column in first.values())):
            return name
    return None


def _beside(record: Record) -> str | None:
    """The column with the list of annotators, if there are also lists of labels."""
    return next((name for name, value in record.items() if _is_who(name) and isinstance(value, list)), None)


def _parallel(place: str, record: Record) -> Sequence[Mapping[str, Any]]:
    who = _beside(record)
    if who is None:
        return []
    size = len(record[who])
    lists = {name: value for name, value in record.items() if isinstance(value, list)}
    fitting = {name: value for name, value in lists.items() if len(value) == size}
    if len(fitting) < 2 and size:  # noqa: PLR2004
        sizes = [f"{name} ({len(value)})" for name, value in lists.items()]
        raise DataError(f"{place}: no list of labels is as long as {shown(who)}; lists: {listed(sizes)}")
    return entries(fitting, place)


TOOL = Tool(
    name="huggingface",
    title="Hugging Face",
    fields={"item": "id", "annotator": "annotators"},
    recognise=recognise,
    responses=responses,
    shapes=frozenset({FOLDER}),
)
