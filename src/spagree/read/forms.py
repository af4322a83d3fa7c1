"""Exports of survey forms: rows under the header that are no answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw

from spagree.read.annotations import ROW, Caution
from spagree.read.tables import Table

IMPORT_ID = ('{"ImportId"', "{'ImportId'")
EXTRA_ROWS = 2


def without_second_header(table: Table) -> Table:
    """Without the two rows that Qualtrics writes under the header: the texts of the questions, and their ids."""
    if len(table.sample) < EXTRA_ROWS or not _are_ids(table.sample[1]) or not table.is_ordered:
        return table

    def load(positions: Sequence[int]) -> nw.LazyFrame[Any]:
        return table.load(positions).filter(nw.col(ROW) >= table.first_row + EXTRA_ROWS)

    message = f"{table.name}: skipped the two rows that Qualtrics writes under the header"
    cautions = (*table.cautions, Caution("second_header", message))
    rows = tuple(table.sample[EXTRA_ROWS:])
    return replace(table, load=load, sample=rows, cautions=cautions, first_row=table.first_row + EXTRA_ROWS)


def _are_ids(row: Sequence[object]) -> bool:
    return any(str(value).replace(" ", "").startswith(IMPORT_ID) for value in row)
