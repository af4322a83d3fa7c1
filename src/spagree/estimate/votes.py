"""The items of a tally laid out for arithmetic, by their votes or only by n and agreement, and what varies in them.

What varies independently are items, or clusters of items (docs/mathematics.md §8.1): sentences of one document have
something in common that other documents lack. Deviations are summed within each cluster before they are squared;
without clusters every item is its own cluster, and nothing else changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import frexp, fsum, ldexp
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from spagree.codes import Codes, Floats, Ints, counted, numbered, pairs_within, run_starts, sums
from spagree.counts.items import spelled
from spagree.counts.tally import EXACT, NO_VALUE, Cell, Tally
from spagree.errors import DataError
from spagree.estimate.similarity import NOMINAL, Metric

if TYPE_CHECKING:
    import polars
    from numpy.typing import NDArray

ALONE = -1  # the code of items that each form their own cluster
ONE_CLUSTER = "all items are in one cluster: how clusters differ cannot be seen"
CELLS_AT_ONCE = 4_000_000
UNDERFLOW = -2000  # powers of two beyond which a weight is nothing beside the largest
SMALL = 1 << 16
ADDED_PAIRS = 2
FEW_TO_ADD, LARGEST_TO_SPLIT = 1000, 2.0**900  # values that are added up one by one
GATHERING = 100  # looking up one pair of labels takes about as long as this many steps of a matrix product


@dataclass(frozen=True)
class Leaving:
    """Units that can be left out, and what each takes from its items.

    Row by row, ``items`` alike items of a unit, of a ``group`` of the votes, go from ``n`` annotations to ``n_left``,
    and from ``agreeing`` ordered pairs to ``agreeing_left``.
    """

    unit: Ints
    group: Ints
    items: Floats
    n: Ints
    n_left: Ints
    agreeing: Floats
    agreeing_left: Floats
    times: Floats
    """How many units are alike; 0 for one without pairs, which the jackknife does not count."""
    _: KW_ONLY
    marked: Floats | None = None
    """How much is marked on the item, by all who saw it; None for labels, where every item counts 1."""
    marked_left: Floats | None = None
    _values: dict[tuple[Any, ...], Floats] = field(default_factory=dict, init=False, repr=False, compare=False)
    """SPA without each unit, by sizes and weights: several coefficients weigh alike."""

    @cached_property
    def changes(self) -> tuple[Ints, Ints, Floats, Floats]:
        """Units, numbers of annotations, and how many items and agreeing pairs of that number each adds, in order."""
        before, after = (self.items if each is None else each for each in (self.marked, self.marked_left))
        items: Floats = np.concatenate([-before, after])
        agreeing: Floats = np.concatenate([-self.items * self.agreeing, self.items * self.agreeing_left])
        unit, n = np.tile(self.unit, 2), np.concatenate([self.n, self.n_left])
        kept = n > 1
        unit, n = unit[kept], n[kept]
        first, place = numbered(unit, n)
        items, agreeing = (sums(place, each[kept], len(first)) for each in (items, agreeing))
        return unit[first], n[first], items, agreeing


@dataclass(frozen=True)
class Sizes:
    """Pairable items and their agreeing ordered pairs, for each number of annotations: all that determines SPA.

    Of marks, ``items`` is how much is marked instead of how many items there are.
    """

    n: Ints
    items: Floats
    agreeing: Floats
    of_marks: bool = False

    @classmethod
    def of(cls, n: Ints | Floats, items: Floats, agreeing: Floats) -> Self:
        """From rows of alike items, which may also have fewer than two annotations; whole numbers stay exact."""
        pairable = n > 1
        whole, items, agreeing = n[pairable].astype(np.int64), items[pairable], agreeing[pairable]
        sizes = counted(whole)[0]
        place = np.searchsorted(sizes, whole)
        return cls(sizes, add_up(place, items, len(sizes)), add_up(place, items * agreeing, len(sizes)))

    def value(self, by_n: Mapping[int, Fraction]) -> float:
        """SPA = Σ k P / Σ k, of marks Σ k P / Σ k S/n, in exact rationals, rounded once (docs/mathematics.md §1)."""
        rows = [*zip(self.n.tolist(), map(Fraction, self.items), map(Fraction, self.agreeing), strict=True)]
        above = [by_n[n] * agreeing / (n * (n - 1)) for n, _, agreeing in rows]
        below = [by_n[n] * (items / n if self.of_marks else items) for n, items, _ in rows]
        ratio = sum(above, Fraction()) / sum(below, Fraction())
        return ratio.numerator / ratio.denominator

    def without(self, units: Leaving, by_n: Mapping[int, Fraction]) -> Floats:
        """Σ k(n)·A/(n(n − 1)) over Σ k(n), of marks over Σ k(n)·S/n, without each unit; NaN if nothing is left."""
        n = counted(np.concatenate([self.n, units.changes[1]]))[0]
        weights = tuple(by_n[size] for size in n.tolist())
        key = *(column.tobytes() for column in (self.n, self.items, self.agreeing)), self.of_marks, weights
        if key not in units._values:
            units._values[key] = self._without(units, n, weights)
        return units._values[key]

    def _without(self, units: Leaving, n: Ints, weights: Sequence[Fraction]) -> Floats:
        units_in_all, width = len(units.times), len(n)
        if not width:
            return np.full(units_in_all, np.nan)
        # k(n) as mantissas and powers of two, because 10^(20n) does not fit into a float
        powers = [weight.numerator.bit_length() - weight.denominator.bit_length() for weight in weights]
        scaled = [float(weight / Fraction(2) ** power) for weight, power in zip(weights, powers, strict=True)]
        mantissa, exponent = np.array(scaled), np.array(powers, dtype=np.int64)
        per_pair = mantissa / (n * (n - 1.0))
        per_item = mantissa / n if self.of_marks else mantissa
        whole = np.zeros((2, width))
        whole[:, np.searchsorted(n, self.n)] = self.items, self.agreeing
        unit, size, *changes = units.changes
        cell = unit * width + np.searchsorted(n, size)
        values, step = [], max(1, CELLS_AT_ONCE // width)
        for first in range(0, units_in_all, step):  # what is left of each size, a bounded number of units at a time
            shape = (min(step, units_in_all - first), width)
            rows = slice(*np.searchsorted(unit, (first, first + step)))
            items, agreeing = (
                (np.tile(each, shape[0]) + sums(cell[rows] - first * width, change[rows], shape[0] * width)).reshape(
                    shape
                )
                for each, change in zip(whole, changes, strict=True)
            )
            largest = exponent.max()
            if not (items[:, exponent == largest] > 0).any(axis=1).all():
                largest = np.where(items > 0, exponent, exponent.min()).max(axis=1, keepdims=True)
            scale = np.ldexp(1.0, np.clip(exponent - largest, UNDERFLOW, 0))  # above 0 only where no item is
            below = (items * (scale * per_item)).sum(axis=1)  # row by row: the same bits for any size of block
            above = (np.maximum(agreeing, 0.0) * (scale * per_pair)).sum(axis=1)
            values.append(np.divide(above, below, out=np.full(len(below), np.nan), where=below > 0))
        return np.concatenate([np.zeros(0), *values])


class Clustered:
    """Groups of identical items, ``items`` of each with ``n`` annotations and so many agreeing ordered pairs.

    ``cluster`` is their cluster, or None if all are independent. A unit is a single item or a whole cluster.
    """

    n: Any
    agreeing_pairs: Any
    items: Floats
    cluster: Ints | None
    pair: Any = 1.0
    """The variance of the agreement of a pair over θ(1 − θ); below 1 under a metric with partial agreement."""

    @cached_property
    def agreement(self) -> Floats:
        """P of an item, per group; 0 if there is no pair (such groups have no weight)."""
        pairs = self.n * (self.n - 1)
        return np.asarray(np.divide(self.agreeing_pairs, pairs, out=np.zeros(len(pairs)), where=pairs > 0))

    @cached_property
    def sizes(self) -> Sizes:
        """Pairable items and agreeing pairs for each number of annotations."""
        return Sizes.of(self.n, self.items, self.agreeing_pairs)

    @cached_property
    def alone(self) -> NDArray[np.bool_]:
        """Groups in which every item is its own unit."""
        return np.ones(len(self.items), dtype=np.bool_) if self.cluster is None else self.cluster < 0

    @cached_property
    def unit_sizes(self) -> Floats:
        """How many units of each kind: the items of each such group, then one for each cluster."""
        return np.concatenate([self.items[self.alone], np.ones(self.clusters)])

    @property
    def clusters(self) -> int:
        """Number of named clusters, which may hold several items."""
        return 0 if self.cluster is None else int(self.cluster.max(initial=ALONE)) + 1

    @property
    def units(self) -> int:
        """Number of units."""
        return int(np.rint(self.unit_sizes.sum()))

    @cached_property
    def unit_of(self) -> Ints:
        """The kind of unit of each group, in the order of ``unit_sizes``."""
        place = np.cumsum(self.alone) - 1
        return place if self.cluster is None else np.where(self.alone, place, int(self.alone.sum()) + self.cluster)

    def per_unit(self, values: Floats) -> Floats:
        """Sum per-item values, given for each group, within their unit."""
        if self.cluster is None:
            return values
        whole = np.where(self.alone, 1.0, self.items) * values
        order = np.lexsort((whole, self.unit_of))  # identical to the last bit for any order of the groups
        return np.asarray(np.bincount(self.unit_of[order], whole[order], len(self.unit_sizes)), dtype=np.float64)


def relative_weights(by_n: Mapping[int, Fraction], n: NDArray[Any]) -> Floats:
    """k(n) over the largest weight, so squares stay finite on any scale; 0 below two annotations.

    >>> relative_weights({2: Fraction(1), 3: Fraction(2)}, np.array([3, 2, 1])).tolist()
    [1.0, 0.5, 0.0]
    """
    whole, largest = n.astype(np.int64), max(by_n.values(), default=Fraction(1))
    sizes = counted(whole)[0]  # np.unique would load numpy.ma
    by_size = [float(by_n[size] / largest) if size > 1 else 0.0 for size in sizes.tolist()]
    return np.array(by_size, dtype=np.float64)[np.searchsorted(sizes, whole)]


def cluster_numbers(clusters: list[str], none: str) -> Ints:
    """Cluster numbers, in sorted order; items without a cluster get −1."""
    numbers = {cluster: place for place, cluster in enumerate(sorted(set(clusters) - {none}))}
    return np.array([numbers.get(cluster, ALONE) for cluster in clusters], dtype=np.int64)


def renumbered(cluster: Ints) -> Ints:
    """The remaining cluster numbers, without gaps; −1 stays."""
    distinct, place = np.unique(cluster, return_inverse=True)
    return np.asarray(place - int((distinct < 0).sum()), dtype=np.int64)


@dataclass(frozen=True)
class ItemGroups(Clustered):
    """Pairable items without their labels: ``items[g]`` items with ``n[g]`` annotations and so many agreeing pairs."""

    n: Ints
    agreeing_pairs: Floats
    items: Floats
    cluster: Ints | None = None
    pair: float = 1.0

    @property
    def size(self) -> int:
        """The number of pairable items."""
        return round(total(self.items))

    def weights(self, by_n: Mapping[int, Fraction]) -> Floats:
        """The relative weight of an item of each group; ``by_n`` may also have others."""
        return relative_weights({n: by_n[n] for n in self.sizes.n.tolist()}, self.n)

    def only(self, n: int) -> ItemGroups:
        """The items with exactly n annotations."""
        chosen = self.n == n
        cluster = None if self.cluster is None else renumbered(self.cluster[chosen])
        return ItemGroups(self.n[chosen], self.agreeing_pairs[chosen], self.items[chosen], cluster, self.pair)


def item_groups(tally: Tally, counts: LabelCounts | None = None) -> ItemGroups:
    """The pairable items by (n, agreeing pairs), and by cluster; from the ``counts`` if labels agree in part."""
    if counts is not None and counts.similarity is not None:
        return counts.groups
    cells = [(NO_VALUE, cell, count) for cell, count in tally.cells.items()]
    if tally.clusters is not None and tally.grouped is not None:
        patterns = tally.grouped.by_cluster().items()
        cells = [(cluster, Cell.of(size for _, size in votes), count) for (cluster, votes), count in patterns]
    alike: Counter[tuple[int, int, str]] = Counter()
    for cluster, cell, count in cells:
        if cell.n > 1:
            alike[cell.n, cell.pairs, cluster] += count
    ordered = sorted(alike)
    return ItemGroups(
        np.array([n for n, *_ in ordered], dtype=np.int64),
        np.array([pairs for _, pairs, _ in ordered], dtype=np.float64),
        np.array([alike[key] for key in ordered], dtype=np.float64),
        None if tally.clusters is None else cluster_numbers([cluster for *_, cluster in ordered], NO_VALUE),
    )


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
    def agreeing(self) -> Floats:
        """Summed agreement of the item's other annotations with this label, per entry: n_c − 1 for nominal labels."""
        return self.smoothed(self.count, self.similarity) - 1.0

    @cached_property
    def pair(self) -> float:
        """The variance of the agreement of a pair over θ(1 − θ), pooled with the weights of annotations_m1.

        Among few pairs large differences are easily missing: two more are added that agree in full or not at all.
        """
        if self.similarity is None:
            return 1.0
        within = self.items / self.n * (self.n > 1)
        pairs = total(self.items * (self.n - 1) * (self.n > 1))
        theta = total(within * self.agreeing_pairs) / pairs if pairs else 0.0
        if not 0 < theta < 1:
            return 1.0
        squared = self.per_group(self.count * (self.smoothed(self.count, self.similarity**2) - 1.0))
        seen = max(0.0, total(within * squared) / pairs - theta**2) / (theta * (1 - theta))
        return (pairs * seen + ADDED_PAIRS) / (pairs + ADDED_PAIRS)

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
        step = max(1, min(len(self.items), CELLS_AT_ONCE // max(1, len(self.labels))))
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
        return self._pairable

    @cached_property
    def _pairable(self) -> LabelCounts:
        kept = self.n > 1
        if kept.all() and self.cluster is None:
            return self
        place, entries = np.cumsum(kept) - 1, kept[self.group]
        group, label, count = place[self.group[entries]], self.label[entries], self.count[entries]
        cluster = None if self.cluster is None else renumbered(self.cluster[kept])
        return LabelCounts(self.labels, self.items[kept], group, label, count, self.similarity, cluster)

    @cached_property
    def groups(self) -> ItemGroups:
        """The pairable items without their labels."""
        votes = self.pairable()
        order = np.argsort(votes.n, kind="stable")
        cluster = None if votes.cluster is None else votes.cluster[order]
        return ItemGroups(
            votes.n[order].astype(np.int64), votes.agreeing_pairs[order], votes.items[order], cluster, self.pair
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


def total(values: Floats) -> float:
    """A correctly rounded sum: independent of order, parts and threads.

    Of many values, their upper bits are added up first, so far that no sum of them is ever rounded.
    """
    parts = []
    while len(values) > FEW_TO_ADD and 0 < (largest := float(np.abs(values).max())) < LARGEST_TO_SPLIT:
        coarse = ldexp(1.0, frexp(largest)[1] + len(values).bit_length())
        upper = (values + coarse) - coarse
        parts.append(float(upper.sum()))
        values = values - upper
        values = values[values != 0]
    return fsum([*parts, *values.tolist()])


def votes(tally: Tally, metric: Metric | None = None) -> LabelCounts | None:
    """The votes of all items, by cluster if there are clusters; None if the tally keeps no patterns.

    A metric with partial credit needs them.
    """
    if tally.patterns is None and metric is not None and metric.rule != NOMINAL:
        raise DataError(
            f"metric {metric.name}: too many different combinations of labels to keep; "
            "group the labels, or use the nominal metric"
        )
    if tally.patterns is None:
        return None
    ordered, cluster = sorted(tally.patterns.items()), None  # in a fixed order
    if tally.clusters is not None and tally.grouped is not None:
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
    """Every label, in order, with its annotations on pairable items: what sets the scale of a metric."""
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
