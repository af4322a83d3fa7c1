"""A column with the address of each item: the cards of the report link to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

from spagree.read.contents import ADDRESSES, names_link, plain_text
from spagree.read.tables import Table


def link_column(table: Table, items: Sequence[int], taken: Collection[int]) -> int | None:
    """A free column named like a link whose cells, as far as the first rows show, hold one web address per item."""
    named = [p for p, name in enumerate(table.columns) if p not in taken and names_link(name)]
    return next((p for p in named if _is_link(table, items, p)), None)


def _is_link(table: Table, items: Sequence[int], position: int) -> bool:
    values: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for row in table.sample:
        if len(row) == len(table.columns) and (value := plain_text(row[position])):
            values[tuple(plain_text(row[p]) for p in items)].add(value)
    found = [value for each in values.values() for value in each]
    is_one_each = not items or len(found) == len(values)
    return bool(found) and is_one_each and all(value.startswith(ADDRESSES) for value in found)
