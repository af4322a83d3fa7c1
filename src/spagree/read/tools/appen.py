"""Appen (Figure Eight, CrowdFlower): the full report as CSV, one judgement per row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spagree.errors import ColumnError, DataError
from spagree.read.annotations import Caution
from spagree.read.tables import listed
from spagree.read.tools import clock, guess
from spagree.read.tools.origin import TABLE, Origin
from spagree.read.tools.records import Record, cell, from_text, known, one_or_more, records
from spagree.read.tools.tool import Asked, Response, Tool, Value

GOLD = "_gold"


def recognise(origin: Origin) -> bool:
    """The names Appen gives, also those of its aggregated report."""
    return origin.shape == TABLE and (origin.has("_unit_id", "_worker_id") or _is_aggregated(origin))


def _is_aggregated(origin: Origin) -> bool:
    return origin.has("_unit_id") and "_worker_id" not in origin.keys and (
        origin.has("_trusted_judgments") or any(name.endswith(":confidence") for name in origin.keys))  # fmt: skip


def responses(origin: Origin, asked: Asked) -> Iterator[Response]:
    """Each judgement; those of tainted workers are marked, and so are test questions."""
    if _is_aggregated(origin):
        raise DataError(
            f"{origin.name}: an aggregated report holds no single judgements: no agreement can be seen in it; "
            "download the full report of the job (Results, Full)"
        )
    found = list(records(origin, asked))
    questions = _questions([row for _, _, row in found], origin, asked)
    for place, line, row in found:
        yield Response(
            cell(row, asked.item or "_unit_id", place),
            known(cell(row, "_worker_id", place)),
            {question: _value(row[question]) for question in questions},
            known(row.get(asked.time or "_created_at")),
            "tainted" if row.get("_tainted", "").lower() == "true" else "trusted",
            is_gold=row.get("_golden", "").lower() == "true",
            row=line,
        )


def _questions(rows: Sequence[Record], origin: Origin, asked: Asked) -> tuple[str, ...]:
    """The columns with answers: those with test answers beside them, or those on which workers differ."""
    names = [name for name in origin.keys if name and not name.startswith("_") and not name.endswith(GOLD)]
    if asked.question in names:
        return (asked.question,)
    tested = tuple(name for name in names if name + GOLD in origin.keys)
    if tested:
        return tested
    found = guess.split([(cell(row, "_unit_id", origin.name), row) for row in rows], names)
    if not found.answers:
        raise ColumnError(
            f"{origin.name}: which column holds the answers? All are the same for all judgements of a unit; "
            f"name it with --question: {listed(names)}"
        )
    if found.doubtful:
        message = f"taken as input because no two judgements of a unit differ: {listed(found.doubtful)}; if it is a question, name it with --question"  # noqa: E501
        asked.cautions.append(Caution("inputs_assumed", message))
    return found.answers


def _value(text: str) -> Value:
    """Several answers stand in lines of their own, or in a JSON list."""
    return one_or_more(text.split("\n")) if "\n" in text else from_text(text)


TOOL = Tool(
    name="appen",
    title="Appen",
    fields={"item": "_unit_id", "annotator": "_worker_id", "time": "_created_at"},
    recognise=recognise,
    responses=responses,
    statuses={"tainted": "tainted"},
    counted=("trusted",),
    renames=frozenset({"item", "time"}),
    clock=clock.american,
)
