"""Appen (Figure Eight, CrowdFlower): the full report as CSV, one judgement per row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spagree.errors import ColumnError, DataError
from spagree.messages import Warning, listed, opt
from spagree.read import timestamps
from spagree.read.tools.records import Record, cell, from_text, item_text, known, one_or_more, records, split_columns
from spagree.read.tools.source import TABLE, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool
from spagree.read.words import texts

GOLD, REASON = "_gold", "_gold_reason"


def recognise(source: Source) -> bool:
    """Appen's column names, including those of its aggregated report."""
    return source.shape == TABLE and (source.has("_unit_id", "_worker_id") or _is_aggregated(source))


def _is_aggregated(source: Source) -> bool:
    return source.has("_unit_id") and "_worker_id" not in source.keys and (
        source.has("_trusted_judgments") or any(name.endswith(":confidence") for name in source.keys))  # fmt: skip


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """Each judgement; tainted workers and test questions are marked."""
    if _is_aggregated(source):
        raise DataError(
            f"{source.name}: an aggregated report holds no single judgements, so agreement cannot be measured; "
            "download the full report of the job (Results, Full)"
        )
    judgements = list(records(source, options))
    questions = _questions([row for _, _, row in judgements], source, options)
    for place, line, row in judgements:
        yield Response(
            cell(row, options.item or "_unit_id", place),
            known(cell(row, "_worker_id", place)),
            {
                name: one_or_more(row[name].split("\n")) if "\n" in row[name] else from_text(row[name])
                for name in questions
            },
            known(row.get(options.time or "_created_at")),
            "tainted" if row.get("_tainted", "").lower() == "true" else "trusted",
            is_gold=row.get("_golden", "").lower() == "true",
            row=line,
            text=item_text(row, options, place, *(name for name in texts("appen") if name not in questions)),
            fields=row,
        )


def _questions(rows: Sequence[Record], source: Source, options: ReaderOptions) -> tuple[str, ...]:
    """The answer columns: those with a gold column, and those on which workers differ."""
    names = [name for name in source.keys if name and not name.startswith("_") and not name.endswith((GOLD, REASON))]
    if options.question in names:
        return (options.question,)
    tested = {name for name in names if name + GOLD in source.keys}
    columns = split_columns([(cell(row, "_unit_id", source.name), row) for row in rows], names)
    if tested:
        return tuple(name for name in names if name in tested or name in columns.answers)
    if not columns.answers:
        raise ColumnError(
            f"{source.name}: which column holds the answers? All are the same for all judgements of a unit; "
            f"name it with {opt.question}: {listed(names)}"
        )
    if columns.doubtful:
        message = f"treated as input because no two judgements of a unit differ: {listed(columns.doubtful)}; if it is a question, name it with {opt.question}"  # noqa: E501
        options.warnings.append(Warning("inputs_assumed", message))
    return columns.answers


TOOL = Tool(
    name="appen",
    title="Appen",
    fields={"item": "_unit_id", "annotator": "_worker_id", "time": "_created_at"},
    recognise=recognise,
    responses=responses,
    statuses={"tainted": "tainted"},
    counted=("trusted",),
    renames=frozenset({"item", "time"}),
    clock=timestamps.american,
)
