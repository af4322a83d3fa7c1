"""What varies independently: items, or clusters of items (docs/mathematics.md §8.1).

Sentences of one document have something in common that other documents lack. Deviations are summed within each cluster
before they are squared; without clusters every item is its own cluster, and nothing else changes.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Ints: TypeAlias = "NDArray[np.int64]"
ALONE = -1  # the code of items that each form their own cluster
ONE_CLUSTER = "all items are in one cluster: how clusters differ cannot be seen"


class Clustered:
    """Groups of identical items, ``items`` of each; ``cluster`` is their cluster, or None if all are independent.

    A unit is a single item or a whole cluster.
    """

    items: Floats
    cluster: Ints | None

    @cached_property
    def alone(self) -> NDArray[np.bool_]:
        """Groups whose items are each a unit."""
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
        """How many units there are."""
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


def numbered(clusters: list[str], none: str) -> Ints:
    """Cluster numbers, in sorted order; items without a cluster get −1.

    >>> numbered(["b", "", "a", "b"], none="").tolist()
    [1, -1, 0, 1]
    """
    known = {cluster: place for place, cluster in enumerate(sorted(set(clusters) - {none}))}
    return np.array([known.get(cluster, ALONE) for cluster in clusters], dtype=np.int64)


def renumbered(cluster: Ints) -> Ints:
    """The remaining cluster numbers, without gaps.

    >>> renumbered(np.array([7, -1, 3, 7])).tolist()
    [1, -1, 0, 1]
    """
    known, place = np.unique(cluster, return_inverse=True)
    return np.asarray(place - int((known < 0).sum()), dtype=np.int64)
