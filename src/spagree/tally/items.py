"""Item × class counts: larger than a tally, but parts may cut through an item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw

from spagree.tally.count import Counted, tally_counts
from spagree.tally.engines import to_polars
from spagree.tally.tally import Tally, add_counts

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, eq=False)
class ItemCounts:
    """How often each label was given to each item, as a polars table ``item, label, count``.

    Tallies merge only when every item lives in one part. Item counts merge always, at the price
    of one row per item and label.

    >>> import spagree
    >>> morning = spagree.count_items([("q1", "ann", "yes")])
    >>> evening = spagree.count_items([("q1", "bob", "yes"), ("q2", "bob", "no")])
    >>> (morning + evening).tally().pairable_items
    1
    """

    frame: polars.DataFrame
    annotators: Mapping[str, int] | None
    left_out: Mapping[str, int]

    def __add__(self, other: ItemCounts) -> ItemCounts:
        if not isinstance(other, ItemCounts):
            return NotImplemented
        import polars

        both = polars.concat([self.frame, other.frame])
        merged = both.group_by("item", "label").agg(polars.col("count").sum()).sort("item", "label")
        known = self.annotators is not None and other.annotators is not None
        annotators = add_counts(self.annotators or {}, other.annotators or {}) if known else None
        return ItemCounts(merged, annotators, add_counts(self.left_out, other.left_out))

    def __radd__(self, other: object) -> ItemCounts:
        """Let ``sum(parts)`` start from 0."""
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ItemCounts):
            return NotImplemented
        rest = (self.annotators, self.left_out) == (other.annotators, other.left_out)
        return rest and self.frame.sort("item", "label").equals(other.frame.sort("item", "label"))

    __hash__ = None  # type: ignore[assignment]  # equal by content, and the content is a table

    def counts(self) -> nw.LazyFrame[Any]:
        """The table as the lazy frame the rest of the tally works on."""
        return nw.from_native(self.frame.lazy())

    def tally(self) -> Tally:
        """The summary of all items: what the estimates need."""
        return tally_counts(self.counts(), self.annotators, self.left_out)


def item_counts(counted: Counted) -> ItemCounts:
    """Bring the item × class counts home; ids and labels as text, so that parts can meet."""
    import polars

    frame = to_polars(counted.counts).select(polars.col("item", "label").cast(polars.String), "count")
    return ItemCounts(frame.sort("item", "label"), counted.tally.annotators, counted.tally.left_out)
