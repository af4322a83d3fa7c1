"""The patterns of a tally, laid out for arithmetic over items and classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spagree.codes import Codes, Floats, Ints, counted, pairs_within, run_starts
from spagree.counts.items import spelled
from spagree.counts.tally import EXACT, NO_VALUE, Tally
from spagree.errors import DataError
from spagree.estimate.item_groups import Clustered, ItemGroups, cluster_numbers, item_groups, renumbered, total
from spagree.estimate.similarity import NOMINAL, Metric

if TYPE_CHECKING:
    import polars

CELLS_AT_ONCE = 4_000_000
SMALL = 1 << 16
GATHERING = 100  # looking up one pair of labels takes about as long as this many steps of a matrix product


@dataclass(frozen=True)
class LabelCounts(Clustered):
    """Groups of items with the same votes: ``items[g]`` items, and one entry per group and label.

    ``group``, ``label`` and ``count`` are parallel: a sparse table of groups × labels.
    """

    labels: tuple[str, ...]
    items: Floats
    group: Ints
    label: Ints
    count: Floats
    similarity: Floats | None = None
    """How much two labels agree; None if only equal ones do."""
    cluster: Ints | None = None

    @cached_property
    def n(self) -> Floats:
        """Annotations of an item, per group."""
        return self.per_group(self.count)

    @cached_property
    def squares(self) -> Floats:
        """Agreement of all ordered pairs, including each annotation with itself: Σ_c n_c² for nominal labels."""
        return self.per_group(self.count * self.smoothed(self.count, self.similarity))

    @cached_property
    def agreeing_pairs(self) -> Floats:
        """A of an item, per group: agreement of all ordered pairs of different annotations."""
        return self.squares - self.n

    @cached_property
    def agreement(self) -> Floats:
        """P of an item, per group; 0 if there is no pair (such groups have no weight)."""
        pairs = self.n * (self.n - 1)
        return np.divide(self.agreeing_pairs, pairs, out=np.zeros_like(pairs), where=pairs > 0)

    @cached_property
    def agreeing(self) -> Floats:
        """Summed agreement of the item's other annotations with this label, per entry: n_c − 1 for nominal labels."""
        return self.smoothed(self.count, self.similarity) - 1.0

    @cached_property
    def pair(self) -> float:
        """The variance of the agreement of a pair over θ(1 − θ), pooled with the weights of annotations_m1."""
        if self.similarity is None:
            return 1.0
        within = self.items / self.n * (self.n > 1)
        pairs = total(self.items * (self.n - 1) * (self.n > 1))
        theta = total(within * self.agreeing_pairs) / pairs if pairs else 0.0
        if not 0 < theta < 1:
            return 1.0
        squared = self.per_group(self.count * (self.smoothed(self.count, self.similarity**2) - 1.0))
        return max(0.0, total(within * squared) / pairs - theta**2) / (theta * (1 - theta))

    def per_group(self, entries: Floats) -> Floats:
        """Sum entries within each group."""
        return add_up(self.group, entries, len(self.items))

    def per_label(self, entries: Floats) -> Floats:
        """Sum entries over all items, within each label."""
        return add_up(self.label, entries * self.items[self.group], len(self.labels))

    def across(self, totals: Floats) -> Floats:
        """Σ_k s(c, k) t_k per label."""
        return totals if self.similarity is None else self.similarity @ totals

    def smoothed(self, entries: Floats, matrix: Floats | None) -> Floats:
        """Σ_k m(c, k) e_k for each entry, over the labels of its group; a bounded number of groups at a time."""
        if matrix is None:
            return entries
        sizes = counted(self.group)[1]
        if GATHERING * int((sizes**2).sum()) < len(sizes) * len(self.labels) ** 2:
            return self._gathered(entries, matrix, sizes)
        smooth = np.empty_like(entries)
        step = max(1, min(len(self.items), CELLS_AT_ONCE // len(self.labels)))
        for start in range(0, len(self.items), step):
            chosen = (self.group >= start) & (self.group < start + step)
            table = np.zeros((step, len(self.labels)))
            table[self.group[chosen] - start, self.label[chosen]] = entries[chosen]
            smooth[chosen] = (table @ matrix)[self.group[chosen] - start, self.label[chosen]]
        return smooth

    def _gathered(self, entries: Floats, matrix: Floats, sizes: Ints) -> Floats:
        """The same, looking up each pair of labels: for far more labels than an item has."""
        blocks = run_starts(np.cumsum(sizes**2) // CELLS_AT_ONCE)
        smooth, start = [], 0
        for block in np.split(sizes, blocks[1:]):
            rows = slice(start, start + int(block.sum()))
            values, label, start = entries[rows], self.label[rows], rows.stop
            first, second = pairs_within(block)
            itself = np.arange(len(values))
            one, other = np.concatenate([first, second, itself]), np.concatenate([second, first, itself])
            smooth.append(add_up(one, values[other] * matrix[label[other], label[one]], len(values)))
        return np.concatenate(smooth)

    def pairable(self) -> LabelCounts:
        """Only the groups with at least two annotations."""
        kept = self.n > 1
        place = np.cumsum(kept) - 1
        entries = kept[self.group]
        group = place[self.group[entries]]
        cluster = None if self.cluster is None else renumbered(self.cluster[kept])
        return LabelCounts(
            self.labels, self.items[kept], group, self.label[entries], self.count[entries], self.similarity, cluster
        )

    def by_unit(self, entries: Floats) -> LabelCounts:
        """Entries summed within each unit: single items and clusters."""
        if self.cluster is None:
            return replace(self, count=entries)
        size = len(self.labels)
        keys = self.unit_of[self.group] * size + self.label
        distinct, place = np.unique(keys, return_inverse=True)
        whole = entries * np.where(self.alone, 1.0, self.items)[self.group]
        added = add_up(place, whole, len(distinct))
        return LabelCounts(
            self.labels, self.unit_sizes, distinct // size, distinct % size, added, similarity=self.similarity
        )


def add_up(keys: Ints, values: Floats, size: int) -> Floats:
    """Sums per key, smallest values first: identical to the last bit whatever the names of labels and items."""
    if np.abs(values).sum() < EXACT and (values == np.floor(values)).all():  # whole numbers: exact in any order
        return np.asarray(np.bincount(keys, values, size), dtype=np.float64)
    order = np.argsort(values)
    small = keys.astype(np.uint16) if size <= SMALL else keys  # sorted by its bits, in a tenth of the time
    order = order[np.argsort(small[order], kind="stable")]
    return np.asarray(np.bincount(keys[order], values[order], size), dtype=np.float64)


def votes(tally: Tally, metric: Metric | None = None, *, clusters: bool = False) -> LabelCounts | None:
    """The votes of all items, by cluster on request; None if the tally keeps no patterns.

    >>> counts = votes(Tally.from_items([{"yes": 2, "no": 1}, {"yes": 2}, {"yes": 2}]))
    >>> counts.labels, counts.items.tolist(), counts.n.tolist()
    (('no', 'yes'), [1.0, 2.0], [3.0, 2.0])
    """
    if tally.patterns is None:
        return None
    ordered, cluster = sorted(tally.patterns.items()), None  # in a fixed order
    if clusters and tally.clusters is not None and tally.grouped is not None:
        by_cluster = sorted(tally.grouped.by_cluster().items())
        cluster = cluster_numbers([name for (name, _), _ in by_cluster], NO_VALUE)
        ordered = [(pattern, items) for (_, pattern), items in by_cluster]
    labels = tuple(sorted(tally.labels))
    place = {label: number for number, label in enumerate(labels)}
    codes = [place[label] for pattern, _ in ordered for label, _ in pattern]
    counts = [count for pattern, _ in ordered for _, count in pattern]
    group = np.repeat(np.arange(len(ordered)), np.array([len(pattern) for pattern, _ in ordered], dtype=np.int64))
    items = np.array([items for _, items in ordered], dtype=np.float64)
    similarity = metric.matrix(labels, np.array([*scale_of(tally).values()])) if metric else None
    label, count = np.array(codes, dtype=np.int64), np.array(counts, dtype=np.float64)
    return LabelCounts(labels, items, group, label, count, similarity, cluster)


def scale_of(tally: Tally) -> dict[str, float]:
    """Every label, in order, with its annotations on pairable items: what sets the scale of a metric.

    >>> scale_of(Tally.from_items([{"2": 2}, {"1": 1}]))
    {'1': 0.0, '2': 2.0}
    """
    return {label: float(tally.pairable_labels.get(label, 0)) for label in sorted(tally.labels)}


def votes_of_items(
    counts: polars.DataFrame, labels: tuple[str, ...] | None = None, similarity: Floats | None = None
) -> LabelCounts:
    """Every item of ``item, label, count`` as its own group, in order; ``labels`` may have more than occur here."""
    import polars

    texts = spelled(counts["label"])
    names = tuple(texts.unique().sort()) if labels is None else labels
    places = {label: place for place, label in enumerate(names)}
    coded = counts.select(
        polars.col("item").rank("dense").cast(polars.Int64) - 1,
        texts.replace_strict(places, return_dtype=polars.Int64).alias("label"),
        polars.col("count").cast(polars.Float64),
    ).sort("item", "label")
    item, label, count = (coded[name].to_numpy() for name in ("item", "label", "count"))
    return LabelCounts(names, np.ones(item[-1] + 1 if len(item) else 0), item, label, count, similarity)


def votes_in_codes(codes: Codes) -> LabelCounts:
    """The same from coded annotations."""
    item, label, count = codes.counts
    ones = np.ones(codes.items)
    return LabelCounts(codes.labels, ones, item.astype(np.int64), label.astype(np.int64), count.astype(np.float64))


def similar_votes(tally: Tally, metric: Metric | None, *, clusters: bool = False) -> LabelCounts | None:
    """The votes under a metric; None if only equal labels agree. Raises if the tally does not keep them."""
    if metric is None or metric.rule == NOMINAL:
        return None
    counts = votes(tally, metric, clusters=clusters)
    if counts is None:
        raise DataError(
            f"metric {metric.name}: too many different combinations of labels to keep; "
            "group the labels, or use the nominal metric"
        )
    return counts


def item_groups_of(tally: Tally, similar: LabelCounts | None) -> ItemGroups:
    """What the estimates need: from the cells, or from the votes under a metric with partial credit."""
    return item_groups(tally) if similar is None else groups_of_votes(similar)


def groups_of_votes(votes: LabelCounts) -> ItemGroups:
    """The pairable items of these votes."""
    pairable = votes.pairable()
    order = np.argsort(pairable.n, kind="stable")
    n, items = pairable.n[order].astype(np.int64), pairable.items[order]
    agreement = pairable.agreement[order]
    exact: dict[int, tuple[int, int | float]] = {}
    for size in np.unique(n):
        chosen = n == size
        pairs = total(items[chosen] * agreement[chosen]) * float(size * (size - 1))
        exact[int(size)] = (int(items[chosen].sum()), pairs)
    cluster = None if pairable.cluster is None else pairable.cluster[order]
    return ItemGroups(n, agreement, items, exact, cluster, votes.pair)
