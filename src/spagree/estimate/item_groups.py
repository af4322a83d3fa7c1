"""The pairable part of a tally, laid out for arithmetic, and what varies independently in it.

That is items, or clusters of items (docs/mathematics.md §8.1): sentences of one document have something in common that
other documents lack. Deviations are summed within each cluster before they are squared; without clusters every item is
its own cluster, and nothing else changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree.codes import Floats, Ints
from spagree.counts.tally import NO_VALUE, Cell, Tally

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALONE = -1  # the code of items that each form their own cluster
ONE_CLUSTER = "all items are in one cluster: how clusters differ cannot be seen"


class Clustered:
    """Groups of identical items, ``items`` of each with ``n`` annotations; ``cluster`` is their cluster, or None if all
    are independent. A unit is a single item or a whole cluster.
    """

    n: Any
    items: Floats
    cluster: Ints | None
    pair: Any = 1.0
    """The variance of the agreement of a pair over θ(1 − θ); below 1 under a metric with partial agreement."""

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

    def weights(self, by_n: Mapping[int, Fraction]) -> Floats:
        """The relative weight of an item of each group."""
        return relative_weights(by_n, self.n)


def relative_weights(by_n: Mapping[int, Fraction], n: NDArray[Any]) -> Floats:
    """k(n) over the largest weight, so squares stay finite on any scale; 0 below two annotations.

    >>> relative_weights({2: Fraction(1), 3: Fraction(2)}, np.array([3, 2, 1])).tolist()
    [1.0, 0.5, 0.0]
    """
    largest = max(by_n.values(), default=Fraction(1))
    relative = {size: float(weight / largest) for size, weight in by_n.items()}
    return np.array([relative[size] if size > 1 else 0.0 for size in n.tolist()], dtype=np.float64)


def cluster_numbers(clusters: list[str], none: str) -> Ints:
    """Cluster numbers, in sorted order; items without a cluster get −1.

    >>> cluster_numbers(["b", "", "a", "b"], none="").tolist()
    [1, -1, 0, 1]
    """
    numbers = {cluster: place for place, cluster in enumerate(sorted(set(clusters) - {none}))}
    return np.array([numbers.get(cluster, ALONE) for cluster in clusters], dtype=np.int64)


def renumbered(cluster: Ints) -> Ints:
    """The remaining cluster numbers, without gaps.

    >>> renumbered(np.array([7, -1, 3, 7])).tolist()
    [1, -1, 0, 1]
    """
    distinct, place = np.unique(cluster, return_inverse=True)
    return np.asarray(place - int((distinct < 0).sum()), dtype=np.int64)


@dataclass(frozen=True)
class ItemGroups(Clustered):
    """Pairable items, grouped: ``items[g]`` items with ``n[g]`` annotations and ``agreement[g]``.

    Agreement needs only n and the agreeing pairs, not the triples.
    """

    n: NDArray[np.int64]
    agreement: Floats
    items: Floats
    exact: dict[int, tuple[int, int | float]]
    """For each n, the number of items and the sum of their agreeing ordered pairs: integers for nominal labels."""
    cluster: NDArray[np.int64] | None = None
    pair: float = 1.0

    @property
    def size(self) -> int:
        """The number of pairable items."""
        return sum(items for items, _ in self.exact.values())

    def only(self, n: int) -> ItemGroups:
        """The items with exactly n annotations."""
        chosen = self.n == n
        cluster = None if self.cluster is None else renumbered(self.cluster[chosen])
        exact = {n: self.exact[n]}
        return ItemGroups(self.n[chosen], self.agreement[chosen], self.items[chosen], exact, cluster, self.pair)


def item_groups(tally: Tally) -> ItemGroups:
    """Group the pairable cells by (n, agreeing pairs), and by cluster where there are clusters.

    >>> groups = item_groups(Tally.from_items([{"a": 2}, {"a": 1, "b": 1}, {"a": 3}, {"b": 1}]))
    >>> groups.size, groups.exact
    (3, {2: (2, 2), 3: (1, 6)})
    """
    cells: Iterable[tuple[str, Cell, int]] = ((NO_VALUE, cell, count) for cell, count in tally.cells.items())
    if tally.clusters is not None and tally.grouped is not None:
        patterns = tally.grouped.by_cluster().items()
        cells = ((cluster, Cell.of(size for _, size in votes), count) for (cluster, votes), count in patterns)
    groups: defaultdict[tuple[int, int, str], int] = defaultdict(int)
    for cluster, cell, count in cells:
        if cell.n > 1:
            groups[cell.n, cell.pairs, cluster] += count
    exact: dict[int, tuple[int, int | float]] = {}
    for (n, pairs, _), count in sorted(groups.items()):
        items, total = exact.get(n, (0, 0))
        exact[n] = (items + count, total + pairs * count)
    ordered = sorted(groups)
    return ItemGroups(
        np.array([n for n, *_ in ordered], dtype=np.int64),
        np.array([pairs / (n * (n - 1)) for n, pairs, _ in ordered]),
        np.array([groups[key] for key in ordered], dtype=np.float64),
        exact,
        None if tally.clusters is None else cluster_numbers([cluster for *_, cluster in ordered], NO_VALUE),
    )


def exact_mean(groups: ItemGroups, by_n: Mapping[int, Fraction]) -> float:
    """SPA = Σ k P / Σ k in exact rationals, rounded once, correctly (docs/mathematics.md §1).

    >>> groups = item_groups(Tally.from_items([{"a": 2}, {"a": 2, "b": 1}]))
    >>> exact_mean(groups, {2: Fraction(1), 3: Fraction(1)}) == 2 / 3
    True
    """
    # Sums over items with the same n are integers; only the few distinct n are combined as fractions.
    above = [by_n[n] * Fraction(pairs) / (n * (n - 1)) for n, (_, pairs) in groups.exact.items()]
    below = [by_n[n] * items for n, (items, _) in groups.exact.items()]
    ratio = _sum(above) / _sum(below)
    return ratio.numerator / ratio.denominator


def total(values: Floats) -> float:
    """A correctly rounded sum: independent of order, parts and threads."""
    return fsum(values.tolist())


def _sum(terms: Sequence[Fraction]) -> Fraction:
    """Pairwise, so the large denominators of many distinct n are combined late."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return _sum(terms[:half]) + _sum(terms[half:])
