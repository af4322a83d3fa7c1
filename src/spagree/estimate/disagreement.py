"""Where disagreement comes from: items and pairs of classes, with the share of each.

SPA is a weighted mean over items, so 1 − SPA is a sum of item contributions k(n)·(1 − P)/Σk. An item's contribution is
a sum over its pairs of annotations, and each pair belongs to two classes. The shares of items, and of pairs of
classes, therefore sum to 1, under every weighting scheme and every metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
import polars

from spagree.counts.coded import CodedTable
from spagree.counts.engines import to_polars
from spagree.counts.items import ItemTable, items_in_codes
from spagree.estimate.item_groups import relative_weights
from spagree.estimate.label_counts import LabelCounts, votes_of_items
from spagree.grouping import Floats, counted, pairs_within, sums
from spagree.late import nw

ROUNDING = 1e-9
ALARM = 0.05
CANDIDATES = 20  # per requested item: ties in contribution go to the items with the most common confusion
MOST_CLASSES = 1_000  # up to which ties are broken by confusion


@dataclass(frozen=True)
class Disagreement:
    """The votes of pairable items and the weights of the scheme in use."""

    votes: LabelCounts
    by_n: Mapping[int, Fraction]

    @cached_property
    def pairable(self) -> LabelCounts:
        """Items with two annotations or more."""
        return self.votes.pairable()

    def weight(self, n: Floats) -> Floats:
        """k(n) relative to the largest, computed once per distinct n."""
        sizes, place = np.unique(n, return_inverse=True)
        return relative_weights(self.by_n, sizes)[place]

    def contributions(self, votes: LabelCounts) -> Floats:
        """What an item of each group contributes to all disagreement, k(n)·(1 − P); 0 with one annotation."""
        return self.weight(votes.n) * np.maximum(0.0, 1 - votes.agreement)

    @cached_property
    def total(self) -> float:
        """All disagreement: Σk·(1 − P)."""
        return float((self.pairable.items * self.contributions(self.pairable)).sum())

    @cached_property
    def confused(self) -> tuple[Floats, Floats]:
        """Pairs of different classes as keys, the lower label first, with each pair's share of all disagreement."""
        votes = self.pairable
        first, second = pairs_within(counted(votes.group)[1])
        group, size = votes.group[first], len(votes.labels)
        n = votes.n[group]
        weight = votes.items[group] * self.weight(n) / (n * (n - 1)) * 2 * votes.count[first] * votes.count[second]
        one, other = votes.label[first], votes.label[second]
        if votes.similarity is not None:
            weight = weight * (1 - votes.similarity[one, other])
        keys = np.minimum(one, other) * size + np.maximum(one, other)
        distinct, place = np.unique(keys, return_inverse=True)
        return distinct, sums(place, weight, len(distinct)) / (self.total or 1.0)

    def classes(self) -> polars.DataFrame:
        """``class, other, share, expected, more``: pairs of classes by their share of all disagreement.

        ``expected`` is the share if labels were given at random with the same frequencies; ``more`` says whether the
        pair clearly exceeds that, corrected for the number of pairs.

        >>> from spagree.estimate.label_counts import votes
        >>> from spagree.counts.tally import Tally
        >>> items = votes(Tally.from_items([{"a": 1, "b": 1}, {"a": 1, "b": 1}, {"b": 1, "c": 1}, {"a": 2}]))
        >>> Disagreement(items, {2: Fraction(1)}).classes().select("class", "other", "share").rows()
        [('a', 'b', 0.6666666666666666), ('b', 'c', 0.3333333333333333)]
        """
        votes, (keys, share) = self.pairable, self.confused
        size = len(votes.labels)
        one, other = keys // max(size, 1), keys % max(size, 1)
        annotations = votes.per_label(votes.count)
        part = annotations / annotations.sum() if annotations.sum() else annotations
        apart = 1.0 if votes.similarity is None else 1 - votes.similarity[one, other]
        everything = (1 - (part * votes.across(part)).sum()) / 2
        names = np.array(votes.labels, dtype=object)
        columns = {
            "class": polars.Series(names[one].tolist(), dtype=polars.String),
            "other": polars.Series(names[other].tolist(), dtype=polars.String),
            "share": share,
            "expected": part[one] * part[other] * apart / (everything or 1.0),
        }
        frame = polars.DataFrame(columns).filter(polars.col("share") > 0)
        items = float(votes.items[self.contributions(votes) > ROUNDING].sum())
        beyond = NormalDist().inv_cdf(1 - ALARM / max(frame.height, 1))
        chance = polars.col("expected")
        by_chance = chance + beyond * (chance * (1 - chance) / max(items, 1.0)).sqrt()
        frame = frame.with_columns((polars.col("share") > by_chance).alias("more"))
        return frame.sort("share", "class", "other", descending=[True, False, False])

    def disputed(self, table: ItemTable, codes: CodedTable | None, most: int) -> polars.DataFrame:
        """The same as ``items`` with votes and texts; from the codes if the annotations were fetched."""
        if codes is None:
            return table.with_texts(table.with_votes(self.items(table, most)))
        here = items_in_codes(codes)
        return table.with_texts(codes.named(here.with_votes(self.items(here, most))))

    def items(self, table: ItemTable, most: int) -> polars.DataFrame:
        """``item, annotations, agreement, share``: the items that contribute most to all disagreement, largest first.

        Unanimous items contribute nothing and are never listed. Ties go to the items whose labels are confused most
        often elsewhere. ``agreement`` follows the metric in use.
        """
        if not self.total:
            nothing = to_polars(table.agreement().head(0))
            return nothing.with_columns(polars.lit(0.0).alias("share"))
        counts = to_polars(self._candidates(table, most))
        votes = votes_of_items(counts, self.votes.labels, self.votes.similarity)
        columns = {
            "item": counts["item"].unique().sort(),
            "annotations": votes.n.astype(np.int64),
            "agreement": votes.agreement,
            "share": self.contributions(votes) / self.total,
            "tie": self._confusion_within(votes),
        }
        ranked = polars.DataFrame(columns).filter(polars.col("share") > ROUNDING / self.pairable.items.sum())
        places = polars.col("share").round(12), polars.col("tie").round(12), polars.col("item")
        return ranked.sort(*places, descending=[True, True, False]).drop("tie").head(most)

    def _candidates(self, table: ItemTable, most: int) -> nw.LazyFrame[Any]:
        """The counts of candidate items: all under a metric, few if only equal labels agree."""
        if self.pairable.similarity is not None:
            return table.held.counts
        # For each number of annotations, the highest agreement a candidate may have
        votes, added = self.pairable, self.contributions(self.pairable)
        order = np.argsort(-added, kind="stable")
        enough = int(np.searchsorted(np.cumsum(votes.items[order]), most))
        least = max(float(added[order[min(enough, len(order) - 1)]]), ROUNDING)
        sizes = np.unique(votes.n[added >= least - ROUNDING])
        highest = {int(n): 1 - least / float(k) + ROUNDING for n, k in zip(sizes, self.weight(sizes), strict=True)}
        chosen = [(nw.col("annotations") == n) & (nw.col("agreement") <= limit) for n, limit in highest.items()]
        candidates = table.agreement().filter(nw.any_horizontal(*chosen, ignore_nulls=True)).head(CANDIDATES * most)
        return table.held.counts.filter(nw.col("item").is_in(to_polars(candidates.select("item"))["item"].to_list()))

    def _confusion_within(self, votes: LabelCounts) -> Floats:
        """How common the confusions of an item are elsewhere: the mean share of its pairs of annotations."""
        size = len(votes.labels)
        if size > MOST_CLASSES:
            return np.zeros(len(votes.items))
        keys, share = self.confused
        matrix = np.zeros((size, size))
        matrix[keys // size, keys % size] = share
        within = votes.per_group(votes.count * votes.smoothed(votes.count, matrix + matrix.T))
        return np.asarray(within / np.maximum(1.0, votes.n * (votes.n - 1)))


def consensus(counts: polars.DataFrame) -> polars.DataFrame:
    """One row per item of ``item, label, count``: ``item, label, tied, annotations, share``.

    ``label`` is null if two or more labels tie for the most votes; ``tied`` lists them.

    >>> votes = polars.DataFrame({"item": [1, 1, 2, 2], "label": ["a", "b", "a", "b"], "count": [3, 1, 2, 2]})
    >>> consensus(votes).rows()
    [(1, 'a', None, 4, 0.75), (2, None, 'a | b', 4, 0.5)]
    """
    label, count = polars.col("label"), polars.col("count")
    leading = label.filter(count == count.max())
    ordered = counts.with_columns(label.cast(polars.String), count.cast(polars.Int64)).sort("item", "label")
    return ordered.group_by("item", maintain_order=True).agg(
        polars.when(leading.len() == 1).then(leading.first()).alias("label"),
        polars.when(leading.len() > 1).then(leading.str.join(" | ")).alias("tied"),
        count.sum().alias("annotations"),
        (count.max() / count.sum()).alias("share"),
    )
