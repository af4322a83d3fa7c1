"""Annotations as integers: who gave which item which label, for every breakdown by annotator.

Three 32-bit integers per annotation, sorted by item and label: the annotations of an item are adjacent, and no items ×
annotators table is ever built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree.counts.engines import column_names, columns, in_codes, to_polars
from spagree.counts.tally import text
from spagree.errors import UsageError
from spagree.grouping import LARGEST_KEY, Codes, by_hash, counted, run_starts
from spagree.late import nw
from spagree.messages import opt
from spagree.read.annotations import ANNOTATOR, COUNT, ITEM, LABEL, TIME, code_values

if TYPE_CHECKING:
    import polars
    from numpy.typing import NDArray

UNKNOWN = -1
NO_ANNOTATORS = f"the annotators are unknown; name their column with {opt.annotator}"


@dataclass(frozen=True)
class Coded:
    """Annotations as parallel integers, sorted by item, label and annotator.

    ``annotator`` is −1 if unknown; names and labels are sorted, and a code is an index into them.
    """

    item: Codes
    annotator: Codes
    label: Codes
    annotators: tuple[str, ...]
    labels: tuple[str, ...]

    @cached_property
    def items(self) -> int:
        """Number of items."""
        return int(self.item[-1]) + 1 if len(self.item) else 0

    @cached_property
    def unknown(self) -> int:
        """Annotations by unknown annotators."""
        return int((self.annotator == UNKNOWN).sum())

    def of_busiest(self, most: int) -> Coded:
        """The same, with all but the busiest annotators marked unknown; ties go to the first by name."""
        per_annotator = np.bincount(self.annotator[self.annotator >= 0], minlength=len(self.annotators))
        busy = np.zeros(len(self.annotators) + 1, dtype=np.bool_)  # the last entry is for unknown annotators
        busy[np.argsort(-per_annotator, kind="stable")[:most]] = True
        return replace(self, annotator=np.where(busy[self.annotator], self.annotator, np.int32(UNKNOWN)))

    @cached_property
    def counts(self) -> tuple[Codes, Codes, NDArray[np.int64]]:
        """How often each item got each label: items, labels and counts, in code order."""
        starts = run_starts(self.item, self.label)
        return self.item[starts], self.label[starts], np.diff(starts, append=len(self.item))

    def users_of_own_labels(self) -> list[tuple[str, str]]:
        """Each annotator who shares no label with anybody, with each label they used."""
        is_known, classes = self.annotator != UNKNOWN, max(1, len(self.labels))
        pairs, _ = counted(self.annotator[is_known].astype(np.int64) * classes + self.label[is_known])
        people, labels = np.divmod(pairs, classes)
        shares_some = np.zeros(len(self.annotators), dtype=np.bool_)
        shares_some[people[np.bincount(labels)[labels] > 1]] = True
        chosen = ~shares_some[people]
        return [
            (self.annotators[person], self.labels[label])
            for person, label in zip(people[chosen], labels[chosen], strict=True)
        ]


@dataclass(frozen=True)
class CodedTable(Coded):
    """The same with item names, in code order, and annotation times."""

    names: polars.Series
    time: polars.Series | None

    def named(self, table: polars.DataFrame) -> polars.DataFrame:
        """A table about some items, with names in place of codes."""
        return table.with_columns(self.names.gather(table[ITEM]).alias(ITEM))

    def answers(self, items: polars.Series) -> polars.DataFrame:
        """``item, annotator, label, time, count``: who gave these items which label; null if unknown."""
        import polars

        first = places(items, self.names).to_numpy()
        ends = np.searchsorted(self.item, [first, first + 1]).T
        rows = np.concatenate([np.arange(0), *(np.arange(start, end) for start, end in ends)])
        people, labels = (
            polars.Series(names, dtype=polars.String) for names in ([*self.annotators, None], self.labels)
        )
        columns = {
            ITEM: self.names.gather(self.item[rows]),
            ANNOTATOR: people.gather(np.where(self.annotator[rows] < 0, len(self.annotators), self.annotator[rows])),
            LABEL: labels.gather(self.label[rows]),
            TIME: polars.Series([None] * len(rows)) if self.time is None else self.time.gather(rows),
        }
        return polars.DataFrame(columns).with_columns(polars.lit(1, dtype=polars.Int64).alias(COUNT))


def coded(frame: nw.LazyFrame[Any]) -> CodedTable:
    """The annotations of a frame as codes, fetched by polars.

    If the frame has no annotator column, all annotators are unknown.

    >>> from spagree.read import read
    >>> codes = coded(read([("q1", "bob", "yes"), ("q1", "ann", "no"), ("q2", "ann", "yes")]).frame)
    >>> codes.item.tolist(), codes.annotator.tolist(), codes.label.tolist()
    ([0, 0, 1], [0, 1, 0], [0, 1, 1])
    >>> codes.annotators, codes.labels
    (('ann', 'bob'), ('no', 'yes'))
    """
    from concurrent.futures import ThreadPoolExecutor

    schema = frame.collect_schema()
    roles = [name for name in (ITEM, ANNOTATOR, LABEL, TIME) if name in schema]
    texts = [name for name in (LABEL, ANNOTATOR) if schema.get(name) == nw.String]
    chosen, names_by_role = in_codes(frame.select(roles), texts)
    table = to_polars(chosen)
    with ThreadPoolExecutor(1) as pool:  # polars and numpy leave Python free meanwhile
        codes = pool.submit(code_items, table[ITEM])
        label, labels = code_names(table[LABEL], names_by_role.get(LABEL))
        nobody: tuple[Codes, list[str]] = np.full(table.height, UNKNOWN, dtype=np.int32), []
        annotator, names = code_names(table[ANNOTATOR], names_by_role.get(ANNOTATOR)) if ANNOTATOR in roles else nobody
        item, items = codes.result()
    order, item, label, annotator = _in_order_of(item, label, annotator, max(1, len(labels)), len(names))
    time = table[TIME].rechunk().gather(order) if TIME in roles else None
    return CodedTable(item, annotator, label, tuple(names), tuple(labels), items, time)


def _in_order_of(
    item: Codes, label: Codes, annotator: Codes, labels: int, people: int
) -> tuple[NDArray[np.integer[Any]], Codes, Codes, Codes]:
    """The rows sorted by item, label and annotator, and these three in that order."""
    rows, distinct = len(item), (int(item.max(initial=0)) + 1) * labels * (people + 1)
    if distinct << rows.bit_length() > LARGEST_KEY:
        order = np.lexsort((annotator, label, item))
        return order, item[order], label[order], annotator[order]
    key = item.astype(np.int64)  # changed in place: fresh memory takes longer than the arithmetic
    key *= labels
    key += label
    key *= people + 1
    key += annotator
    key += 1
    # The row goes in the lowest bits: sorting values is several times faster than argsort.
    key <<= rows.bit_length()
    key |= np.arange(rows)
    key.sort()
    order = key & ((1 << rows.bit_length()) - 1)
    key >>= rows.bit_length()
    annotator = (key % (people + 1) - 1).astype(np.int32)
    key //= people + 1
    return order, (key // labels).astype(np.int32), (key % labels).astype(np.int32), annotator


def coded_in_python(frame: nw.LazyFrame[Any]) -> Coded:
    """The same for a few annotations without polars, whose import would take longer than this."""
    if ANNOTATOR not in column_names(frame):
        raise UsageError(NO_ANNOTATORS)
    return coded_columns(columns(frame.select(ITEM, ANNOTATOR, LABEL)))


def coded_columns(cells: Sequence[Sequence[Any]]) -> Coded:
    """The same for columns of items, annotators and labels."""
    (item, _), (annotator, people), (label, labels) = (code_values(column, key=text) for column in cells)
    people_texts, label_texts = ([*map(text, names)] for names in (people, labels))
    return in_order(item, label, annotator, label_texts, people_texts)


def in_order(item: Codes, label: Codes, annotator: Codes, labels: Sequence[str], people: Sequence[str]) -> Coded:
    """Annotations that are coded already, in the order of a :class:`Coded`."""
    _, item, label, annotator = _in_order_of(item, label, annotator, max(1, len(labels)), len(people))
    return Coded(item, annotator, label, tuple(people), tuple(labels))


def code_items(values: polars.Series) -> tuple[Codes, polars.Series]:
    """Items as codes in the order of their values, and the values themselves; −1 if missing."""
    import polars

    if values.dtype == polars.String and not values.null_count():
        # Sorting hashes groups equal texts in a third of the time a hash table of texts takes.
        order, starts = by_hash(values.hash().to_numpy())
        distinct = values.gather(order[starts]).sort()
        codes, ranks = np.empty(len(values), dtype=np.int32), distinct.hash().arg_sort().to_numpy().astype(np.int32)
        codes[order] = np.repeat(ranks, np.diff(starts, append=len(order)))
        if (distinct.gather(codes) == values).all():  # no two texts have one hash
            return codes, distinct
    distinct = _distinct(values).sort()
    return _places(values, distinct), distinct


def code_names(values: polars.Series, names: list[str] | None = None) -> tuple[Codes, list[str]]:
    """Annotators or labels as codes in the order of their text, the same on every engine; −1 if missing.

    With ``names`` the values are codes already.
    """
    import polars

    if names is not None:
        return values.cast(polars.Int32).fill_null(UNKNOWN).to_numpy(), names
    distinct = polars.Series(values.name, sorted(_distinct(values).to_list(), key=text), dtype=values.dtype)
    if values.dtype != polars.String:
        return _places(values, distinct), [*map(text, distinct.to_list())]
    codes = values.cast(polars.Enum(distinct)).to_physical().cast(polars.Int32)
    return codes.fill_null(UNKNOWN).to_numpy(), distinct.to_list()


def _distinct(values: polars.Series) -> polars.Series:
    distinct = values.drop_nulls().unique()
    return distinct.drop_nans() if distinct.dtype.is_float() else distinct


def _places(values: polars.Series, distinct: polars.Series) -> Codes:
    import polars

    return places(values, distinct).cast(polars.Int32).fill_null(UNKNOWN).to_numpy()


def places(values: polars.Series, distinct: polars.Series) -> polars.Series:
    """The index of each value among the known ones; null for an unknown value.

    >>> import polars
    >>> places(polars.Series(["b", "a", None]), polars.Series(["a", "b"])).to_list()
    [1, 0, None]
    """
    codes = distinct.alias("value").to_frame().with_row_index("code")
    return values.alias("value").to_frame().join(codes, on="value", how="left", maintain_order="left")["code"]
