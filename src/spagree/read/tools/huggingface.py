"""Hugging Face datasets with one row per item: lists of annotators and of labels, in any of three layouts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from spagree.errors import DataError
from spagree.messages import listed, shown
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL
from spagree.read.columns import plain_name
from spagree.read.tools.records import Record, answer, entries, item_text, known, members, records
from spagree.read.tools.source import COLUMNS, FOLDER, OBJECTS, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool
from spagree.read.words import ranked, texts, words

COMMON = ("user", "participant", "email")  # beginnings of names that are too common to tell a dataset by
ARGILLA = {"user_id", "value", "status"}
LISTS = re.compile(r".*\[\]|List\(.*", re.DOTALL)


def recognise(source: Source) -> bool:
    """A column of annotators per item, alone or together with their labels."""
    if source.shape == FOLDER:
        return source.has("dataset_info.json") and any(name.endswith(".arrow") for name in source.keys)
    if source.shape == COLUMNS:  # by type: a structure that names annotators, or a list of them
        return any(
            _fits(re.findall(r"\w+", kind), _telling()) and _fits(re.findall(r"\w+", kind), words(LABEL))
            if "struct" in kind.lower()
            else _fits([name], _telling()) and LISTS.fullmatch(kind) is not None
            for name, kind in source.keys.items()
        )
    if source.shape == OBJECTS and len(source.objects) == 1 and _is_table(source.objects[0]):
        return False
    return source.shape == OBJECTS and any(map(_is_telling, source.objects))


@cache
def _telling() -> frozenset[str]:
    """The names of annotators that no other data use."""
    return frozenset(name for name in words(ANNOTATOR) if not name.startswith(COMMON))


def _is_telling(record: Record) -> bool:
    """By unambiguous names: annotators in one structure with labels, or in a parallel list."""
    together, beside = _together(record), _beside(record)
    inside = record[together] if together else None
    names = list(inside[0] if isinstance(inside, list) else inside) if inside else list(record) if beside else []
    return _fits(names, _telling()) and _fits(names, words(LABEL))


def _is_table(record: Record) -> bool:
    """One object that holds a table: rows that name their items, as in {"results": […], "count": 7}, or columns.

    >>> _is_table({"item": ["1", "1"], "annotator": ["a", "b"], "label": ["x", "y"]})
    True
    """
    columns = [value for value in record.values() if isinstance(value, list)]
    if len(columns) == len(record) > 1 and all(value and isinstance(value[0], dict) for value in columns):
        return True  # the rows of each item
    if len(columns) == len(record) and len(set(map(len, columns))) == 1 and _fits(list(record), words(ITEM)):
        return True
    together = _together(record)
    rows = record[together] if together else ()
    is_item = _fits(list(_scalars(record)), words(ITEM))
    return not is_item and isinstance(rows, list) and bool(rows) and _fits(list(rows[0]), words(ITEM))


def _fits(names: Sequence[str], usual: Collection[str]) -> bool:
    """Whether any of the names is a usual one, in singular or plural."""
    return any(name in usual or name.removesuffix("s") in usual for name in map(plain_name, names))


def _is_who(name: str) -> bool:
    return _fits([name], words(ANNOTATOR))


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """The annotations of each row, in any of the layouts."""
    source = replace(source, files=tuple(members(source, ".arrow", ".parquet")))  # of a folder as datasets saves it
    for place, number, record in records(source, options):
        scalars = _scalars(record)
        plain = {plain_name(name): name for name in scalars}
        usual = (plain[name] for names in ranked(ITEM) for name in names if name in plain)
        guess = next((found for name in usual if (found := known(scalars[name]))), str(number))
        item = known(record.get(options.item)) if options.item else guess
        text = item_text(scalars, options, place, *texts("huggingface"))
        together = _together(record)
        for annotation in entries(record[together], place) if together else _parallel(place, record):
            who = next((name for name in annotation if _is_who(name)), None)
            if who is None:
                raise DataError(f"{place}: an annotation without an annotator; fields: {listed(list(annotation))}")
            answers = {name: answer(value) for name, value in annotation.items() if name != who}
            yield Response(item, known(annotation[who]), answers, row=number, text=text, fields=record)


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
