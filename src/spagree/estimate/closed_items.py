"""Closed items: those that have their first k annotations. Each enters once, in closing order.

Later annotations of an item change nothing here, so a project that asks more people where the first ones disagree is
measured without bias (``--first k``). Later changes and deletions change the values, never the rule: the closed items
are a function of the annotations that count now, in order of arrival.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from spagree.grouping import AnyInts, Floats, run_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ClosedItems:
    """One row per closed item, one column per annotation, both in the order of arrival; ``closed_by`` is the index of
    the annotation that closed the item.
    """

    item: AnyInts
    annotator: AnyInts
    label: AnyInts
    closed_by: AnyInts

    def agreement(self) -> Floats:
        """The share of agreeing pairs of each item."""
        k = self.label.shape[1]
        shares: Floats = self._with_others().sum(1) / (k * (k - 1))
        return shares

    def _with_others(self) -> NDArray[np.int64]:
        """How many others on its item each annotation agrees with; column by column, because there are many items."""
        matches = np.zeros(self.label.shape, np.int64)
        for one, other in combinations(range(self.label.shape[1]), 2):
            equal = self.label[:, one] == self.label[:, other]
            matches[:, one] += equal
            matches[:, other] += equal
        return matches

    def of_class(self, label: int) -> tuple[AnyInts, Floats]:
        """The items that got a class, and how likely another annotator gave it too."""
        times = (self.label == label).sum(1)
        rows = np.flatnonzero(times)
        return rows, (times[rows] - 1) / (self.label.shape[1] - 1)

    def apart(self) -> Floats:
        """How much more each annotation agrees with the others on its item than they agree with each other.

        See docs/mathematics.md §17.

        d = a/(n − 1) − (A − 2a)/((n − 1)(n − 2)): its mean is 0 for anyone exchangeable with the others on the item,
        however hard the item. It takes three annotations: with two, item and person cannot be told apart.

        >>> closed_items(*(np.array(each) for each in ([0, 0, 0], [0, 1, 2], [5, 5, 7])), 3).apart()
        array([[ 0.5,  0.5, -1. ]])
        """
        n = self.label.shape[1]
        with_others = self._with_others()
        pairs = with_others.sum(1, keepdims=True)
        differences: Floats = with_others / (n - 1) - (pairs - 2 * with_others) / ((n - 1) * (n - 2))
        return differences


def closed_items(item: AnyInts, annotator: AnyInts, label: AnyInts, k: int) -> ClosedItems:
    """The items with k annotations or more, by their first k; annotations are given in order of arrival.

    >>> codes = ([7, 8, 7, 8, 7], [0, 0, 1, 1, 2], [1, 1, 1, 0, 0])
    >>> closed = closed_items(*(np.array(each) for each in codes), 2)
    >>> closed.item.tolist(), closed.agreement().tolist(), closed.closed_by.tolist()
    ([7, 8], [1.0, 0.0], [2, 3])
    """
    order = np.argsort(item, kind="stable")
    first = run_starts(item[order])
    starts = first[np.diff(first, append=len(item)) >= k]
    places = order[starts[:, None] + np.arange(k)]
    places = places[np.argsort(places[:, -1], kind="stable")]
    return ClosedItems(item[places[:, 0]], annotator[places], label[places], places[:, -1])
