"""Which columns of a flat export hold answers: inputs are the same for everyone who saw an item."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spagree.read.files.json import as_text

STRUCTURED = ('{"', '[{"')


@dataclass(frozen=True, slots=True)
class Columns:
    """``answers`` differ between the people who saw an item; ``doubtful`` ones might be answers they agree on."""

    answers: tuple[str, ...]
    doubtful: tuple[str, ...]


def split(rows: Sequence[tuple[str, Mapping[str, Any]]], names: Sequence[str]) -> Columns:
    """Classify columns by their values in the rows, given as (item, row).

    >>> rows = [("1", {"text": "a", "src": "x", "mood": "+"}), ("1", {"text": "a", "src": "x", "mood": "-"}),
    ...         ("2", {"text": "b", "src": "x", "mood": "+"})]
    >>> split(rows, ["text", "src", "mood"])
    Columns(answers=('mood',), doubtful=('src',))
    """
    items = len({item for item, _ in rows})
    answers, doubtful = [], []
    for name in names:
        values: defaultdict[str, set[str]] = defaultdict(set)
        for item, row in rows:
            values[item].add(as_text(row.get(name)))
        distinct = set().union(*values.values())
        if any(len(texts) > 1 for texts in values.values()) or any(text.startswith(STRUCTURED) for text in distinct):
            answers.append(name)
        elif distinct != {""} and (len(distinct) < items or items == 1):
            doubtful.append(name)
    return Columns(tuple(answers), tuple(doubtful))
