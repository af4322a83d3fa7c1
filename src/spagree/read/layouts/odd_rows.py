"""Rows of a broad table that are not items: totals below the others, and a second header above them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from spagree.errors import DataError
from spagree.read.conditions import Condition
from spagree.read.contents import Column, plain_text, whole_rows, words, words_of
from spagree.read.tables import SAMPLE_ROWS, Table, listed, shown
from spagree.understood import Caution

FIGURES = words(
    "total totals sum sums mean average avg median mode majority agreement kappa alpha overall percent percentage count"
)
BESIDE_FIGURES = words("grand all observed raw of the cohen cohens fleiss krippendorff krippendorffs scott pi s")
FEWEST_ROWS = 3  # besides the sums
FEWEST_TELLING = 6  # rows, the second header included


def summaries(table: Table, keys: Sequence[int], columns: Collection[Column], *, are_counts: bool) -> Iterator[Caution]:
    """A caution for last rows named like a figure, or that add up all rows above; only where all rows were seen."""
    if not 0 < len(table.sample) < SAMPLE_ROWS:
        return
    names = [" ".join(plain_text(row[p]) for p in keys if p < len(row)) for row in table.sample]
    named = [name for name in names if name] or [f"row {len(names)}"]
    figures: list[str] = []
    while len(named) > 1 and _is_figure(named[-1]):
        figures.insert(0, named.pop())
    if not figures and are_counts and _adds_up(columns):
        figures = named[-1:]
    if figures:
        conditions = [Condition(table.columns[p], name, is_equal=False) for p in keys for name in figures]
        options = " ".join(f"--where {shown(str(condition))}" for condition in conditions) if len(keys) == 1 else ""
        yield Caution(
            "summary_rows",
            f"the last rows ({listed(figures, 4)}) look like figures computed from the rows above, and were counted as "
            f"items; if they are, delete them from the table{options and ', or use '}{options}",
        )


def _is_figure(name: str) -> bool:
    """Whether a row is named like a figure.

    >>> _is_figure("Grand Total"), _is_figure("Cohen's kappa"), _is_figure("total recall"), _is_figure("7")
    (True, True, False, False)
    """
    parts = set(words_of(name))
    return bool(parts & FIGURES) and parts <= FIGURES | BESIDE_FIGURES


def _adds_up(columns: Collection[Column]) -> bool:
    """Whether the last row is the sum of the others in every column."""
    if not all(column.is_whole for column in columns):
        return False
    *rows, last = whole_rows(columns)
    return len(rows) >= FEWEST_ROWS and any(last) and tuple(map(sum, zip(*rows, strict=True))) == last


def refuse_second_header(table: Table, columns: Collection[Column], nameless: Collection[Column]) -> None:
    """Refuse a header of merged cells above another: columns without a name, and a first row unlike all below."""
    tops = {plain_text(column.cells[0]) for column in columns if column.cells}
    below = {plain_text(value) for column in columns for value in column.cells[1:]}
    is_named_below = any(column.cells and plain_text(column.cells[0]) for column in nameless)
    if is_named_below and len(table.sample) > FEWEST_ROWS and not tops & (below | {""}):
        raise DataError(
            f"{table.name}: two header rows: some columns of the first have no name, and the second "
            f"({listed(sorted(tops), 4)}) holds nothing that occurs below; join them into one row, such as "
            f"{shown(f'{next(iter(columns)).name} {min(tops)}')}"
        )


def caution_second_header(table: Table, columns: Sequence[Column]) -> Iterator[Caution]:
    """A caution if no cell of the first row occurs again while all other values do: names of people, or units."""
    if len(columns) <= 1 or len(columns[0].cells) < FEWEST_TELLING:
        return
    first = [plain_text(column.cells[0]) for column in columns]
    again = Counter(value for column in columns for value in column.values.elements())
    if all(first) and all((size == 1) == (value in first) for value, size in again.items()):
        yield Caution(
            "header_again",
            f"the first row of {table.name} ({listed(first, 4)}) holds nothing that occurs below, and was counted as "
            "an item: if it is a second header, delete it",
        )
