"""Exports of survey forms: rows under the header that are not answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from spagree.late import nw
from spagree.read.annotations import ROW
from spagree.read.contents import plain_name
from spagree.read.tables import Table
from spagree.understood import Caution

IMPORT_ID = ('{"ImportId"', "{'ImportId'")
RESPONDENT, COLLECTOR = "respondentid", "collectorid"
PLAIN_ANSWERS = ("", "Response", "Open-Ended Response")  # below a question with one column


def without_second_header(table: Table) -> Table:
    """The table without the rows that Qualtrics and SurveyMonkey write under the header.

    Qualtrics writes two: the texts of the questions, and their ids. SurveyMonkey writes one, which names the columns
    of questions that have several: the header names such a question once and leaves the next columns empty.
    """
    if not table.is_ordered or not table.sample:
        return table
    if len(table.sample) > 1 and any(str(value).replace(" ", "").startswith(IMPORT_ID) for value in table.sample[1]):
        return _skipped(table, 2, "the two rows that Qualtrics writes under the header")
    names = [plain_name(name) for name in table.columns]
    first = (*table.sample[0], *[None] * (len(names) - len(table.sample[0])))
    if RESPONDENT in names and COLLECTOR in names and first[names.index(RESPONDENT)] in (None, ""):
        named = replace(table, columns=_named_twice(table.columns, first))
        return _skipped(named, 1, "the row that SurveyMonkey writes under the header")
    return table


def _skipped(table: Table, rows: int, what: str) -> Table:
    def load(positions: Sequence[int]) -> nw.LazyFrame[Any]:
        return table.load(positions).filter(nw.col(ROW) >= table.first_row + rows)

    cautions = (*table.cautions, Caution("second_header", f"{table.name}: skipped {what}"))
    return replace(
        table, load=load, sample=tuple(table.sample[rows:]), cautions=cautions, first_row=table.first_row + rows
    )


def _named_twice(names: Sequence[str], second: Sequence[object]) -> tuple[str, ...]:
    """The name of each column from both headers.

    >>> _named_twice(["Respondent ID", "Rate", "", "Why?"], [None, "Photo 1", "Photo 2", "Response"])
    ('Respondent ID', 'Rate [Photo 1]', 'Rate [Photo 2]', 'Why?')
    """
    titles, question = [], ""
    for name, below in zip(names, second, strict=True):
        question = name or question
        part = "" if below is None else str(below)
        titles.append(question if part in PLAIN_ANSWERS else f"{question} [{part}]")
    return tuple(titles)
