"""What is behind a tally: its items, with their labels, agreement and texts, where the annotations are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from spagree.codes import LARGEST_KEY, Codes, Ints
from spagree.counts.engines import column_names, to_polars
from spagree.counts.policies import drop_missing
from spagree.counts.tally import MOST_ANNOTATIONS_PER_ITEM, text
from spagree.read.annotations import ANNOTATOR, COUNT, GROUP, ITEM, LABEL, LINK, TEXT, TIME, FewRows, nw

if TYPE_CHECKING:
    import polars

SHOWN_LABELS = 12
N, PAIRS, TRIPLES = "n", "pairs", "triples"
MOST_CLASSES = 40  # that are packed into words
BITS = 62  # of a signed 64-bit word: the sign and one bit to detect overflow stay free
OVERFLOWN = 1 << BITS  # all label bits are 0, which no item has


def size(frame: nw.LazyFrame[Any]) -> nw.Expr:
    """How many annotations a group of rows holds: the number of rows, or the sum of their counts."""
    return nw.col(COUNT).sum() if COUNT in column_names(frame) else nw.len().alias(COUNT)


def item_label_counts(frame: nw.LazyFrame[Any], units: Sequence[str] = (ITEM,)) -> nw.LazyFrame[Any]:
    """(item, label, count): how often each label was given to each item, or to each item by each group."""
    counts = frame.group_by(*units, LABEL).agg(size(frame)).with_columns(nw.col(COUNT).cast(nw.Int64))
    return counts.filter(nw.col(COUNT) > 0) if COUNT in column_names(frame) else counts


def item_sums(counts: nw.LazyFrame[Any], units: Sequence[str] = (ITEM,)) -> nw.LazyFrame[Any]:
    """(item, n, pairs, triples, label): n, A and T of docs/mathematics.md §1, and one of the item's labels."""
    # Clipped so no engine overflows before the item is refused for its n.
    c = nw.col(COUNT).clip(upper_bound=MOST_ANNOTATIONS_PER_ITEM)
    terms = counts.with_columns((c * (c - 1)).alias(PAIRS), (c * (c - 1) * (c - 2)).alias(TRIPLES))
    sums = (nw.col(COUNT).sum().alias(N), nw.col(PAIRS).sum(), nw.col(TRIPLES).sum(), nw.col(LABEL).min())
    # Some engines widen a sum beyond 64 bits, which only slows grouping; what does not
    # fit belongs to an item that is refused for its n.
    whole = nw.col(N, PAIRS, TRIPLES).clip(upper_bound=LARGEST_KEY).cast(nw.Int64)
    return terms.group_by(*units).agg(*sums).with_columns(whole)


def item_agreement(counts: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """(item, annotations, agreement), lowest agreement and most annotations first; null if there is no pair."""
    n = nw.col(N).cast(nw.Float64)
    agreement = nw.when(nw.col(N) > 1).then(nw.col(PAIRS).cast(nw.Float64) / (n * (n - 1))).alias("agreement")
    items = item_sums(counts).with_columns(agreement).select(ITEM, nw.col(N).alias("annotations"), "agreement")
    return items.sort("agreement", "annotations", ITEM, descending=[False, True, False], nulls_last=True)


@dataclass(frozen=True, slots=True)
class Packing:
    """Which bits of which word hold the count of each label."""

    labels: Sequence[Any]
    classes_per_word: int

    @property
    def words(self) -> int:
        """How many words."""
        return -(-len(self.labels) // self.classes_per_word)

    @property
    def bits(self) -> int:
        """The bits of a count."""
        return BITS // -(-len(self.labels) // self.words)

    @property
    def names(self) -> list[str]:
        """What the columns of the words are called."""
        return [f"word{place}" for place in range(self.words)]

    def chunks(self) -> list[Sequence[Any]]:
        """The labels of each word."""
        size = BITS // self.bits
        return [self.labels[start : start + size] for start in range(0, len(self.labels), size)]

    def unpack(self, words: Ints) -> tuple[list[dict[Any, int]], Ints]:
        """The count of each label that occurs, and the sum of all counts, for each row of words."""
        bits, chunks = self.bits, self.chunks()
        columns = [words[:, word] >> (bits * place) for word, chunk in enumerate(chunks) for place in range(len(chunk))]
        counts = np.column_stack(columns) & ((1 << bits) - 1)
        row, label = np.nonzero(counts)
        votes = list(zip(map(self.labels.__getitem__, label.tolist()), counts[row, label].tolist(), strict=True))
        ends = np.searchsorted(row, np.arange(len(words)), side="right").tolist()
        by_row = [dict(votes[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
        return by_row, counts.sum(axis=1)


def word(keys: Sequence[Any], bits: int) -> nw.Expr:
    """1 in the bits of the row's label, or of its pair of group and label; 0 when that belongs to another word."""
    chosen = nw.lit(0, nw.Int64)
    for place, key in reversed(list(enumerate(keys))):
        unit = nw.lit(1 << (bits * place), nw.Int64)
        group, label = key if isinstance(key, tuple) else (None, key)
        is_key = nw.col(LABEL) == nw.lit(label)
        if isinstance(key, tuple):
            is_key = (nw.col(GROUP).is_null() if group is None else nw.col(GROUP) == nw.lit(group)) & is_key
        chosen = nw.when(is_key).then(unit).otherwise(chosen)
    return chosen


@dataclass(frozen=True)
class ItemWords:
    """The counts of each item's labels, packed: ``item``, columns of the item, ``n`` and the words."""

    frame: nw.LazyFrame[Any]
    packing: Packing

    @classmethod
    def of(cls, frame: nw.LazyFrame[Any], packing: Packing, of_items: Sequence[str] = ()) -> Self:
        """From the annotations, or from counts of labels."""
        has_counts, columns = COUNT in column_names(frame), []
        for name, labels in zip(packing.names, packing.chunks(), strict=True):
            unit = word(labels, packing.bits)
            columns.append((unit * nw.col(COUNT) if has_counts else unit).alias(name))
        sums = size(frame).alias(N), *(nw.col(name).sum() for name in packing.names)
        grouped = frame.with_columns(*columns).group_by(ITEM, *of_items).agg(*sums)
        # Some engines widen a sum beyond 64 bits.
        narrow = nw.col(*packing.names).clip(upper_bound=OVERFLOWN).cast(nw.Int64)
        return cls(grouped.with_columns(nw.col(N).cast(nw.Int64), narrow), packing)

    def counts(self) -> dict[Any, nw.Expr]:
        """The count of each label, as floats, which hold a small number times a power of two exactly.

        Dividing whole numbers is slow on duckdb and not exact on Spark.
        """
        counts, bits = {}, self.packing.bits
        for name, chunk in zip(self.packing.names, self.packing.chunks(), strict=True):
            for place, label in enumerate(chunk):
                low, high = 1 << bits * place, 1 << bits * (place + 1)
                digit = nw.col(name) % nw.lit(high) - nw.col(name) % nw.lit(low)
                counts[label] = digit.cast(nw.Float64) * nw.lit(1 / low)
        return counts


@dataclass(frozen=True)
class Held:
    """What is behind a tally after all policies: annotations on their engine, or only the counts of each item's labels.

    The annotations of a small file are put on an engine when more than a score is first requested. ``codes`` are the
    annotations as integers, if they were fetched.
    """

    rows: nw.LazyFrame[Any] | FewRows
    codes: Codes | None = None
    are_counts: bool = False

    @cached_property
    def columns(self) -> list[str]:
        """The columns of the annotations; none if only counts are known."""
        if self.are_counts:
            return []
        return list(self.rows.roles) if isinstance(self.rows, FewRows) else column_names(self.rows)

    @cached_property
    def frame(self) -> nw.LazyFrame[Any]:
        """The annotations, or the counts if only these are known."""
        return drop_missing(self.rows.frame) if isinstance(self.rows, FewRows) else self.rows

    @property
    def annotations(self) -> nw.LazyFrame[Any] | None:
        """The annotations; None if only counts are known."""
        return None if self.are_counts else self.frame

    @property
    def counts(self) -> nw.LazyFrame[Any]:
        """``item, label, count``."""
        return self.frame if self.are_counts else item_label_counts(self.frame)

    def worst(self, most: int) -> polars.DataFrame:
        """The items with the lowest agreement, more annotations first; only these are fetched."""
        items = to_polars(self.agreement().filter(~nw.col("agreement").is_null()).head(most))
        return self.with_texts(self.with_votes(items))

    def with_votes(self, items: polars.DataFrame) -> polars.DataFrame:
        """These items with their votes."""
        votes = votes_of(to_polars(self.counts.filter(nw.col(ITEM).is_in(items[ITEM].to_list()))))
        return items.join(votes, on=ITEM, how="left", maintain_order="left")

    def with_texts(self, items: polars.DataFrame) -> polars.DataFrame:
        """These items with text and address if the source has them."""
        several = {column: f"{column}s" for column in (TEXT, LINK) if column in self.columns}
        if not several:
            return items
        chosen = self.frame.filter(nw.col(ITEM).is_in(items[ITEM].to_list()))
        table = to_polars(chosen.select(ITEM, *several))
        for column, number in several.items():
            items = items.join(texts_of(table, column, number), on=ITEM, how="left", maintain_order="left")
        return items

    def answers(self, items: polars.Series) -> polars.DataFrame:
        """``item, annotator, label, time, count``: who gave these items which label; null if unknown."""
        import polars

        source = self.frame
        wanted = [name for name in (ITEM, ANNOTATOR, LABEL, TIME, COUNT) if name in column_names(source)]
        table = to_polars(source.filter(nw.col(ITEM).is_in(items.to_list())).select(*wanted))
        texts = [spelled(table[name]).alias(name) for name in (ANNOTATOR, LABEL) if name in wanted]
        absent = [polars.lit(None).alias(name) for name in (ANNOTATOR, TIME) if name not in wanted]
        once = [] if COUNT in wanted else [polars.lit(1, dtype=polars.Int64).alias(COUNT)]
        return table.with_columns(*texts, *absent, *once).select(ITEM, ANNOTATOR, LABEL, TIME, COUNT)

    def table(self) -> polars.DataFrame:
        """All items with their votes."""
        votes = votes_of(to_polars(self.counts))
        return to_polars(self.agreement()).join(votes, on=ITEM, how="left", maintain_order="left")

    def agreement(self) -> nw.LazyFrame[Any]:
        """(item, annotations, agreement), lowest agreement first, still on the engine."""
        return item_agreement(self.counts)


def named(table: polars.DataFrame, codes: Codes) -> polars.DataFrame:
    """A table about some items, with names in place of codes."""
    return table.with_columns(codes.names.gather(table[ITEM]).alias(ITEM))


def items_in_codes(codes: Codes) -> Held:
    """The items of coded annotations, identified by their codes."""
    import polars

    item, label, count = codes.counts
    labels = polars.Series(codes.labels, dtype=polars.String).gather(label)
    frame = polars.DataFrame({ITEM: item, LABEL: labels, COUNT: count})
    return Held(nw.from_native(frame.lazy()), are_counts=True)


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
