"""Annotations brought home as integers: who gave which item which label, for breakdowns by annotator.

Three 32-bit integers per annotation, sorted by item and label, so that everything about an item stands together
and no table of items × annotators is ever laid out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from spagree.errors import UsageError
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL
from spagree.tally.engines import column_names, rows, to_polars
from spagree.tally.tally import text

if TYPE_CHECKING:
    import polars

Codes32 = NDArray[np.int32]
UNKNOWN = -1
NO_ANNOTATORS = "who annotated is not known; name the column of the annotator with --annotator (annotator=)"


@dataclass(frozen=True)
class Codes:
    """Annotations as parallel integers, sorted by item, label and annotator.

    ``annotator`` is −1 where a row does not say who; names and labels are in the order of their codes.
    """

    item: Codes32
    annotator: Codes32
    label: Codes32
    annotators: tuple[str, ...]
    labels: tuple[str, ...]

    @cached_property
    def items(self) -> int:
        """How many items there are."""
        return int(self.item[-1]) + 1 if len(self.item) else 0

    def of_busiest(self, most: int) -> Codes:
        """The same with all but the annotators who made most annotations unknown; of equals the first by name."""
        made = np.bincount(self.annotator[self.annotator >= 0], minlength=len(self.annotators))
        rest = np.argsort(-made, kind="stable")[most:]
        return replace(self, annotator=np.where(np.isin(self.annotator, rest), UNKNOWN, self.annotator))

    @cached_property
    def unknown(self) -> int:
        """Annotations by somebody unknown."""
        return int((self.annotator == UNKNOWN).sum())


def encode(frame: nw.LazyFrame[Any]) -> Codes:
    """Bring annotations home as codes; asked for by the user, never done on the way.

    >>> from spagree.read import read
    >>> codes = encode(read([("q1", "bob", "yes"), ("q1", "ann", "no"), ("q2", "ann", "yes")]).frame)
    >>> codes.item.tolist(), codes.annotator.tolist(), codes.label.tolist()
    ([0, 0, 1], [0, 1, 0], [0, 1, 1])
    >>> codes.annotators, codes.labels
    (('ann', 'bob'), ('no', 'yes'))
    """
    if ANNOTATOR not in column_names(frame):
        raise UsageError(NO_ANNOTATORS)
    home = to_polars(frame.select(ITEM, ANNOTATOR, LABEL))
    coded, names = _coded(home)
    del home
    ordered = coded.sort(ITEM, LABEL, ANNOTATOR)
    columns = [ordered.drop_in_place(name).to_numpy() for name in (ITEM, ANNOTATOR, LABEL)]
    return Codes(columns[0], columns[1], columns[2], names[ANNOTATOR], names[LABEL])


def encode_few(frame: nw.LazyFrame[Any]) -> Codes:
    """The same for few annotations, through plain Python: polars takes longer to import than this to run."""
    found = rows(frame.select(ITEM, ANNOTATOR, LABEL))
    columns = list(zip(*found, strict=True)) or [(), (), ()]
    names = [sorted({value for value in column if value is not None}, key=text) for column in columns]
    places = [{value: place for place, value in enumerate(each)} | {None: UNKNOWN} for each in names]
    codes = [
        np.array([place[value] for value in column], dtype=np.int32)
        for column, place in zip(columns, places, strict=True)
    ]
    order = np.lexsort((codes[1], codes[2], codes[0]))
    item, annotator, label = (each[order] for each in codes)
    return Codes(item, annotator, label, tuple(map(text, names[1])), tuple(map(text, names[2])))


def _coded(home: polars.DataFrame) -> tuple[polars.DataFrame, dict[str, tuple[str, ...]]]:
    """Every column as codes in the order of its values, and the names of annotators and labels."""
    import polars

    coded, names = [], {}
    for name in (ITEM, ANNOTATOR, LABEL):
        known = _in_order(home[name].drop_nulls().unique(), named=name != ITEM)
        if name != ITEM:
            names[name] = tuple(map(text, known.to_list()))
        coded.append(places(home[name], known).cast(polars.Int32).fill_null(UNKNOWN).alias(name))
    return polars.DataFrame(coded), names


def places(values: polars.Series, known: polars.Series) -> polars.Series:
    """Where each value stands among the known ones; null for one that does not.

    >>> import polars
    >>> places(polars.Series(["b", "a", None]), polars.Series(["a", "b"])).to_list()
    [1, 0, None]
    """
    codes = known.alias("value").to_frame().with_row_index("code")
    return values.alias("value").to_frame().join(codes, on="value", how="left", maintain_order="left")["code"]


def _in_order(values: polars.Series, *, named: bool) -> polars.Series:
    """Names in the order of their text, which every engine shares; items in any fixed order."""
    if not named:
        return values.sort()
    return values.gather(np.argsort([text(value) for value in values.to_list()], kind="stable"))
