"""The patterns of a tally, laid out for arithmetic over items and classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from spagree.errors import DataError
from spagree.estimate.item_groups import Floats, ItemGroups, profile, total
from spagree.estimate.similarity import NOMINAL, Metric
from spagree.tally.tally import Pattern, Tally

Ints = NDArray[np.int64]
CELLS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class LabelCounts:
    """Groups of items with the same votes: ``items[g]`` items, and one entry per group and label.

    ``group``, ``label`` and ``count`` are parallel: a sparse table of groups × labels.
    """

    labels: tuple[str, ...]
    items: Floats
    group: Ints
    label: Ints
    count: Floats
    similarity: Floats | None = None
    """How much two labels agree; None where only equal ones do."""

    @cached_property
    def n(self) -> Floats:
        """Annotations of an item, per group."""
        return self.per_group(self.count)

    @cached_property
    def squares(self) -> Floats:
        """Agreement of all ordered pairs, an annotation with itself included: Σ_c n_c² for nominal labels."""
        return self.within(self.count)

    @cached_property
    def agreement(self) -> Floats:
        """P of an item, per group; 0 where there is no pair (such groups have no weight)."""
        pairs = self.n * (self.n - 1)
        return np.divide(self.squares - self.n, pairs, out=np.zeros_like(pairs), where=pairs > 0)

    def per_group(self, entries: Floats) -> Floats:
        """Add up entries within each group."""
        return _add_up(self.group, entries, len(self.items))

    def per_label(self, entries: Floats) -> Floats:
        """Add up entries over all items, within each label."""
        return _add_up(self.label, entries * self.items[self.group], len(self.labels))

    def within(self, entries: Floats) -> Floats:
        """Σ_c Σ_k s(c, k) e_c e_k per group."""
        return self.per_group(entries * self.smoothed(entries, self.similarity))

    def across(self, totals: Floats) -> Floats:
        """Σ_k s(c, k) t_k per label."""
        return totals if self.similarity is None else self.similarity @ totals

    def smoothed(self, entries: Floats, matrix: Floats | None) -> Floats:
        """Σ_k m(c, k) e_k for each entry, over the labels of its group; a bounded number of groups at a time."""
        if matrix is None:
            return entries
        smooth = np.empty_like(entries)
        step = max(1, min(len(self.items), CELLS_AT_ONCE // len(self.labels)))
        for start in range(0, len(self.items), step):
            chosen = (self.group >= start) & (self.group < start + step)
            table = np.zeros((step, len(self.labels)))
            table[self.group[chosen] - start, self.label[chosen]] = entries[chosen]
            smooth[chosen] = (table @ matrix)[self.group[chosen] - start, self.label[chosen]]
        return smooth

    def pairable(self) -> LabelCounts:
        """Only the groups with at least two annotations."""
        kept = self.n > 1
        place = np.cumsum(kept) - 1
        entries = kept[self.group]
        group = place[self.group[entries]]
        return LabelCounts(
            self.labels, self.items[kept], group, self.label[entries], self.count[entries], self.similarity
        )


def _add_up(keys: Ints, values: Floats, size: int) -> Floats:
    """Sums per key, smallest values first: the same to the last bit whatever labels and items are called."""
    order = np.lexsort((values, keys))
    return np.asarray(np.bincount(keys[order], values[order], size), dtype=np.float64)


def votes(tally: Tally, metric: Metric | None = None) -> LabelCounts | None:
    """The votes of all items; None where the tally keeps no patterns.

    >>> found = votes(Tally.from_items([{"yes": 2, "no": 1}, {"yes": 2}, {"yes": 2}]))
    >>> found.labels, found.items.tolist(), found.n.tolist()
    (('no', 'yes'), [1.0, 2.0], [3.0, 2.0])
    """
    if tally.patterns is None:
        return None
    ordered: list[tuple[Pattern, int]] = sorted(tally.patterns.items())
    labels = tuple(sorted(tally.labels))
    place = {label: number for number, label in enumerate(labels)}
    entries = [(group, place[label], count) for group, (found, _) in enumerate(ordered) for label, count in found]
    table = np.array(entries, dtype=np.int64).reshape(-1, 3)
    items = np.array([items for _, items in ordered], dtype=np.float64)
    totals = np.array([tally.pairable_labels.get(label, 0) for label in labels], dtype=np.float64)
    similarity = metric.matrix(labels, totals) if metric else None
    return LabelCounts(labels, items, table[:, 0], table[:, 1], table[:, 2].astype(np.float64), similarity)


def similar_votes(tally: Tally, metric: Metric | None) -> LabelCounts | None:
    """The votes under a metric, refused where the tally does not keep them; None where only equal labels agree."""
    if metric is None or metric.rule == NOMINAL:
        return None
    found = votes(tally, metric)
    if found is None:
        raise DataError(
            f"metric {metric.name}: too many different combinations of labels to keep; "
            "group the labels, or use the nominal metric"
        )
    return found


def item_groups_of(tally: Tally, similar: LabelCounts | None) -> ItemGroups:
    """What the estimates need: from the cells, or from the votes where labels are more or less similar."""
    return profile(tally) if similar is None else similar_groups(similar)


def similar_groups(found: LabelCounts) -> ItemGroups:
    """What the estimates need, with the agreement of the metric in place of equality."""
    pairable = found.pairable()
    order = np.argsort(pairable.n, kind="stable")
    n, items = pairable.n[order].astype(np.int64), pairable.items[order]
    agreement = pairable.agreement[order]
    exact: dict[int, tuple[int, int | float]] = {}
    for each in np.unique(n):
        chosen = n == each
        pairs = total(items[chosen] * agreement[chosen]) * float(each * (each - 1))
        exact[int(each)] = (int(items[chosen].sum()), pairs)
    return ItemGroups(n, agreement, items, exact)
