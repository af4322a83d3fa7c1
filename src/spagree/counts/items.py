"""Item × class counts: larger than a tally, but the parts may split an item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from spagree.counts.coded import Coded
from spagree.counts.count import Counted, HeldAnnotations, item_agreement, tally_counts
from spagree.counts.engines import column_names, to_polars
from spagree.counts.tally import Tally, add_counts, same_counting, sum_known, text
from spagree.late import nw
from spagree.read.annotations import ANNOTATOR, COUNT, ITEM, LABEL, LINK, TEXT, TIME

if TYPE_CHECKING:
    import polars

SHOWN_LABELS = 12


@dataclass(frozen=True, eq=False)
class ItemCounts:
    """How often each label was given to each item, as a polars table ``item, label, count``.

    Tallies merge only if every item is in one part. Item counts always merge, at the cost of one row per item and
    label.

    >>> import spagree
    >>> morning = spagree.count_items([("q1", "ann", "yes")])
    >>> evening = spagree.count_items([("q1", "bob", "yes"), ("q2", "bob", "no")])
    >>> (morning + evening).tally().pairable_items
    1
    """

    frame: polars.DataFrame
    annotators: Mapping[str, int] | None
    left_out: Mapping[str, int]
    counted: Mapping[str, Any] | None = None
    """As in :class:`Tally`."""

    def __add__(self, other: ItemCounts) -> ItemCounts:
        if not isinstance(other, ItemCounts):
            return NotImplemented
        import polars

        both = polars.concat([self.frame, other.frame])
        merged = both.group_by("item", "label").agg(polars.col("count").sum()).sort("item", "label")
        annotators = sum_known(self.annotators, other.annotators)
        how = same_counting(self.counted, other.counted)
        return ItemCounts(merged, annotators, add_counts(self.left_out, other.left_out), how)

    def __radd__(self, other: object) -> ItemCounts:
        """Let ``sum(parts)`` start from 0."""
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ItemCounts):
            return NotImplemented
        rest = (self.annotators, self.left_out) == (other.annotators, other.left_out)
        return rest and self.frame.sort("item", "label").equals(other.frame.sort("item", "label"))

    __hash__ = None  # type: ignore[assignment]  # compared by content, which is a table

    def counts(self) -> nw.LazyFrame[Any]:
        """The table as a lazy frame, the form the rest of the tally works on."""
        return nw.from_native(self.frame.lazy())

    def tally(self) -> Tally:
        """The summary of all items, as the estimates need it."""
        return replace(tally_counts(self.counts(), self.annotators, self.left_out), counted=self.counted)


@dataclass(frozen=True, slots=True)
class ItemTable:
    """The item counts behind an agreement, still on their engine."""

    held: HeldAnnotations
    source: Any = field(repr=False)  # an address may hold a password

    def worst(self, most: int) -> polars.DataFrame:
        """The items with the lowest agreement, more annotations first; only these are fetched."""
        items = to_polars(self.agreement().filter(~nw.col("agreement").is_null()).head(most))
        return self.with_texts(self.with_votes(items))

    def with_votes(self, items: polars.DataFrame) -> polars.DataFrame:
        """These items with their votes."""
        votes = votes_of(to_polars(self.held.counts.filter(nw.col(ITEM).is_in(items[ITEM].to_list()))))
        return items.join(votes, on=ITEM, how="left", maintain_order="left")

    def with_texts(self, items: polars.DataFrame) -> polars.DataFrame:
        """These items with text and address if the source has them."""
        several = {column: f"{column}s" for column in (TEXT, LINK) if column in self.held.columns}
        if not several:
            return items
        chosen = self.held.frame.filter(nw.col(ITEM).is_in(items[ITEM].to_list()))
        table = to_polars(chosen.select(ITEM, *several))
        for column, number in several.items():
            items = items.join(texts_of(table, column, number), on=ITEM, how="left", maintain_order="left")
        return items

    def answers(self, items: polars.Series) -> polars.DataFrame:
        """``item, annotator, label, time, count``: who gave these items which label; null if unknown."""
        import polars

        source = self.held.frame
        wanted = [name for name in (ITEM, ANNOTATOR, LABEL, TIME, COUNT) if name in column_names(source)]
        table = to_polars(source.filter(nw.col(ITEM).is_in(items.to_list())).select(*wanted))
        texts = [spelled(table[name]).alias(name) for name in (ANNOTATOR, LABEL) if name in wanted]
        absent = [polars.lit(None).alias(name) for name in (ANNOTATOR, TIME) if name not in wanted]
        once = [] if COUNT in wanted else [polars.lit(1, dtype=polars.Int64).alias(COUNT)]
        return table.with_columns(*texts, *absent, *once).select(ITEM, ANNOTATOR, LABEL, TIME, COUNT)

    def frame(self) -> Any:
        """A polars DataFrame; for a lazy source, a lazy frame of its engine with agreement only."""
        agreement = self.agreement()
        if isinstance(nw.from_native(self.source, pass_through=True), nw.LazyFrame):
            return agreement.to_native()
        votes = votes_of(to_polars(self.held.counts))
        return to_polars(agreement).join(votes, on=ITEM, how="left", maintain_order="left")

    def agreement(self) -> nw.LazyFrame[Any]:
        """(item, annotations, agreement), lowest agreement first, still on the engine."""
        return item_agreement(self.held.counts)


def items_in_codes(codes: Coded) -> ItemTable:
    """The items of coded annotations, identified by their codes."""
    import polars

    item, label, count = codes.counts
    labels = polars.Series(codes.labels, dtype=polars.String).gather(label)
    frame = polars.DataFrame({ITEM: item, LABEL: labels, COUNT: count})
    return ItemTable(HeldAnnotations(nw.from_native(frame.lazy()), are_counts=True), frame)


def votes_of(counts: polars.DataFrame) -> polars.DataFrame:
    """(item, entropy, votes): the labels given to each item, most common first.

    Entropy is in bits, log₂ n − Σ n_c log₂ n_c / n: 0 if all agree, 1 for an even split between two labels.

    >>> import polars
    >>> votes_of(polars.DataFrame({"item": [7, 7, 7], "label": ["no", "yes", "so"], "count": [2, 1, 1]})).rows()
    [(7, 1.5, 'no ×2, so ×1, yes ×1')]
    """
    import polars

    count = polars.col("count")
    ordered = counts.with_columns(spelled(counts["label"])).sort("count", "label", descending=[True, False])
    votes = polars.format("{} ×{}", "label", "count").head(SHOWN_LABELS).str.join(", ")
    more = polars.when(polars.len() > SHOWN_LABELS).then(polars.lit(", …")).otherwise(polars.lit(""))
    entropy = count.sum().log(2) - (count * count.log(2)).sum() / count.sum()
    entropy = polars.when(count.sum() > 1).then(polars.when(polars.len() > 1).then(entropy).otherwise(0.0))
    return ordered.group_by("item", maintain_order=True).agg(entropy.alias("entropy"), (votes + more).alias("votes"))


def texts_of(table: polars.DataFrame, column: str, several: str) -> polars.DataFrame:
    """One text for each item, chosen deterministically, and in ``several`` how many distinct ones it has.

    >>> import polars
    >>> texts_of(polars.DataFrame({"item": [1, 1, 2], "text": ["b", "a", None]}), "text", "texts").rows()
    [(1, 'a', 2), (2, None, 0)]
    """
    import polars

    text = polars.col(column).cast(polars.String)
    by_item = table.with_columns(text).group_by(ITEM, maintain_order=True)
    return by_item.agg(text.min(), text.drop_nulls().n_unique().cast(polars.Int64).alias(several))


def item_counts(counted: Counted) -> ItemCounts:
    """Fetch the item × class counts, with ids and labels as text so parts can be added."""
    import polars

    counts = to_polars(counted.held.counts)
    frame = polars.DataFrame([spelled(counts["item"]), spelled(counts["label"]), counts["count"]])
    return ItemCounts(frame.sort("item", "label"), counted.tally.annotators, counted.tally.left_out)


def spelled(values: polars.Series) -> polars.Series:
    """A column of labels or ids as text, in the spelling of :func:`text`.

    >>> import polars
    >>> spelled(polars.Series([1.0, 2.5, -0.0])).to_list()
    ['1', '2.5', '0']
    """
    import polars

    if values.dtype == polars.String or values.dtype.is_integer():
        return values.cast(polars.String)
    distinct = values.unique()
    return values.replace_strict(distinct, [text(value) for value in distinct], return_dtype=polars.String)
