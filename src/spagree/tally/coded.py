"""Annotations as integers: who gave which item which label, for every breakdown by annotator.

Three 32-bit integers per annotation, sorted by item and label: the annotations of an item are neighbours, and no
table of items × annotators is ever laid out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from spagree.errors import UsageError
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL
from spagree.tally.engines import column_names, rows, to_polars
from spagree.tally.tally import is_missing, text

if TYPE_CHECKING:
    import polars

Codes = NDArray[np.int32]
UNKNOWN = -1
NO_ANNOTATORS = "who annotated is not known; name the column of the annotator with --annotator (annotator=)"


@dataclass(frozen=True)
class Coded:
    """Annotations as parallel integers, sorted by item, label and annotator.

    ``annotator`` is −1 where it is not known who; names and labels are sorted, and a code is a place among them.
    """

    item: Codes
    annotator: Codes
    label: Codes
    annotators: tuple[str, ...]
    labels: tuple[str, ...]

    @cached_property
    def items(self) -> int:
        """How many items there are."""
        return int(self.item[-1]) + 1 if len(self.item) else 0

    @cached_property
    def unknown(self) -> int:
        """Annotations by somebody unknown."""
        return int((self.annotator == UNKNOWN).sum())

    def of_busiest(self, most: int) -> Coded:
        """The same, with all but the annotators who made most annotations unknown; ties go to the first by name."""
        made = np.bincount(self.annotator[self.annotator >= 0], minlength=len(self.annotators))
        rest = np.argsort(-made, kind="stable")[most:]
        return replace(self, annotator=np.where(np.isin(self.annotator, rest), UNKNOWN, self.annotator))


def coded(frame: nw.LazyFrame[Any]) -> Coded:
    """The annotations of a frame as codes, brought to this machine by polars.

    >>> from spagree.read import read
    >>> found = coded(read([("q1", "bob", "yes"), ("q1", "ann", "no"), ("q2", "ann", "yes")]).frame)
    >>> found.item.tolist(), found.annotator.tolist(), found.label.tolist()
    ([0, 0, 1], [0, 1, 0], [0, 1, 1])
    >>> found.annotators, found.labels
    (('ann', 'bob'), ('no', 'yes'))
    """
    if ANNOTATOR not in column_names(frame):
        raise UsageError(NO_ANNOTATORS)
    import polars

    table = to_polars(frame.select(ITEM, ANNOTATOR, LABEL))
    item = code_items(table[ITEM])[0]
    annotator, names = code_names(table[ANNOTATOR])
    label, labels = code_names(table[LABEL])
    del table
    ordered = polars.DataFrame({ITEM: item, LABEL: label, ANNOTATOR: annotator}).sort(ITEM, LABEL, ANNOTATOR)
    columns = [ordered.drop_in_place(name).to_numpy() for name in (ITEM, ANNOTATOR, LABEL)]
    return Coded(columns[0], columns[1], columns[2], tuple(names), tuple(labels))


def coded_in_python(frame: nw.LazyFrame[Any]) -> Coded:
    """The same for a few annotations without polars, which takes longer to import than this takes to run."""
    if ANNOTATOR not in column_names(frame):
        raise UsageError(NO_ANNOTATORS)
    found = rows(frame.select(ITEM, ANNOTATOR, LABEL))
    columns = list(zip(*found, strict=True)) or [(), (), ()]
    names = [_in_order({value for value in column if not is_missing(value)}) for column in columns]
    places = [{value: place for place, value in enumerate(each)} for each in names]
    item, annotator, label = (
        np.array([place.get(value, UNKNOWN) for value in column], dtype=np.int32)
        for column, place in zip(columns, places, strict=True)
    )
    order = np.lexsort((annotator, label, item))
    who, labels = (tuple(map(text, each)) for each in names[1:])
    return Coded(item[order], annotator[order], label[order], who, labels)


def code_items(values: polars.Series) -> tuple[Codes, polars.Series]:
    """Items as codes in the order of their values, which need no names on the way; −1 where missing."""
    known = _known(values).sort()
    return _places(values, known), known


def code_names(values: polars.Series) -> tuple[Codes, list[str]]:
    """Annotators or labels as codes in the order of their text, which every engine shares; −1 where missing."""
    import polars

    known = polars.Series(values.name, _in_order(_known(values).to_list()), dtype=values.dtype)
    return _places(values, known), [*map(text, known.to_list())]


def _known(values: polars.Series) -> polars.Series:
    found = values.drop_nulls().unique()
    return found.drop_nans() if found.dtype.is_float() else found


def _in_order(values: Iterable[Any]) -> list[Any]:
    return sorted(values, key=text)


def _places(values: polars.Series, known: polars.Series) -> Codes:
    import polars

    return places(values, known).cast(polars.Int32).fill_null(UNKNOWN).to_numpy()


def places(values: polars.Series, known: polars.Series) -> polars.Series:
    """The place of each value among the known ones; null for a value that is not known.

    >>> import polars
    >>> places(polars.Series(["b", "a", None]), polars.Series(["a", "b"])).to_list()
    [1, 0, None]
    """
    codes = known.alias("value").to_frame().with_row_index("code")
    return values.alias("value").to_frame().join(codes, on="value", how="left", maintain_order="left")["code"]
