"""Agreement, Cohen's kappa and Scott's pi of each pair of annotators who share items.

Only pairs that met are examined: the work is Σ n(n−1)/2 over the items, whatever the number of annotators.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spagree.errors import DataError, UsageError
from spagree.estimate.intervals import Informing, kappa_limits, mean_error, unseen_share, wilson_each, with_differing
from spagree.estimate.uncertainty import FEW_ITEMS
from spagree.grouping import (
    LARGEST_KEY,
    MOST_CELLS,
    Floats,
    Ints,
    counted,
    merged,
    pairs_within,
    run_of_each,
    run_starts,
    sums,
)
from spagree.tally.coded import Coded

if TYPE_CHECKING:
    import polars

MOST_MEETINGS = 1_000_000_000
MOST_AT_ONE_ITEM = 5_000
MEETINGS_AT_ONCE = 1_000_000
CELLS_AT_ONCE = 4_000_000
MANY_CLASSES = 2_000
CERTAIN = 1e-12
ONE_CLASS = "both gave one label to all they share, so agreement by chance is certain"
ONE_ITEM = "they share only one item, too few to show how items differ"


@dataclass(frozen=True)
class Meetings:
    """Who met whom with which labels: ``count`` shared items on which a pair gave ``one`` and ``other``.

    ``pair`` is sorted; ``left`` and ``right`` are the two annotators of each pair.
    """

    left: Ints
    right: Ints
    shared: Floats
    pair: Ints
    one: Ints
    other: Ints
    count: Floats

    def per_pair(self, values: Floats) -> Floats:
        """Sum over the shared items of each pair."""
        return sums(self.pair, values * self.count, len(self.left))

    def block(self, start: int, end: int) -> Meetings:
        """Some of the pairs."""
        rows = slice(*np.searchsorted(self.pair, [start, end]))
        entries = (self.pair[rows] - start, self.one[rows], self.other[rows], self.count[rows])
        return Meetings(self.left[start:end], self.right[start:end], self.shared[start:end], *entries)


def pairs(codes: Coded, similarity: Floats | None, level: float, least: int = 1) -> polars.DataFrame:
    """One row per pair of annotators with ``least`` shared items, lowest agreement first, few shared items last."""
    import polars

    found = meetings(codes, least)
    step = max(1, CELLS_AT_ONCE // max(1, min(len(codes.labels), MANY_CLASSES)))
    starts = range(0, max(1, len(found.left)), step)
    blocks = [_figures(found.block(start, start + step), similarity, level) for start in starts]
    names = polars.Series(codes.annotators, dtype=polars.String)
    columns = {"annotator": names.gather(found.left), "other": names.gather(found.right)}
    figures = {name: np.concatenate([block.pop(name) for block in blocks]) for name in list(blocks[0])}
    frame = polars.DataFrame({**columns, "shared": found.shared.astype(np.int64), **figures}).fill_nan(None)
    shared = polars.col("shared")
    certain = polars.col("cohen_kappa").is_null()
    reason = polars.when(certain).then(polars.lit(ONE_CLASS)).when(shared < 2).then(polars.lit(ONE_ITEM))
    frame = frame.with_columns((shared < FEW_ITEMS).alias("few"), reason.alias("undefined"))
    return frame.sort("few", "agreement", "annotator", "other")


def _figures(found: Meetings, similarity: Floats | None, level: float) -> dict[str, Floats]:
    """Agreement and both coefficients for a block of pairs, as columns."""
    alike = found.one == found.other if similarity is None else similarity[found.one, found.other]
    agree = np.asarray(alike, dtype=np.float64)
    observed = found.per_pair(agree) / found.shared
    stderr = mean_error(found.shared, found.per_pair((agree - observed[found.pair]) ** 2))
    low, high = wilson_each(observed, stderr, found.shared, level)
    table = _Table(found, agree, observed, similarity, level)
    one, other = table.shares
    both = (one + other) / 2
    kappa = table.coefficient("cohen_kappa", one, other)
    pi = table.coefficient("scott_pi", both, both)
    return {"agreement": observed, "stderr": stderr, "low": low, "high": high, **kappa, **pi}


@dataclass(frozen=True)
class _Table:
    """The parts of a coefficient κ = (P_o − P_e)/(1 − P_e).

    P_e is a mean over the shared items of how likely each one's label agrees by chance.
    """

    found: Meetings
    agree: Floats
    observed: Floats
    similarity: Floats | None
    level: float

    @cached_property
    def labels(self) -> Ints:
        """The labels that occur here: tables of pairs × labels stay small."""
        return np.unique(np.concatenate([self.found.one, self.found.other]))

    @cached_property
    def shares(self) -> tuple[Floats, Floats]:
        """How often each of the two gave each label, over the shared items: pairs × labels."""
        return self._share(self.found.one), self._share(self.found.other)

    def _share(self, given: Ints) -> Floats:
        found, width = self.found, len(self.labels)
        cells = found.pair * width + np.searchsorted(self.labels, given)
        table = sums(cells, found.count, len(found.left) * width).reshape(len(found.left), width)
        return table / found.shared[:, None]

    def _chance(self, table: Floats, label: Ints) -> Floats:
        """How likely a label agrees with one drawn from the pair's row of the table."""
        return np.asarray(self._smoothed(table)[self.found.pair, np.searchsorted(self.labels, label)])

    def _smoothed(self, table: Floats) -> Floats:
        return table if self.similarity is None else table @ self.similarity[np.ix_(self.labels, self.labels)]

    def coefficient(self, name: str, one: Floats, other: Floats) -> dict[str, Floats]:
        """Value, standard error by linearisation over the shared items, and limits.

        Under chance the two give labels with the shares ``one`` and ``other``: their own for Cohen, pooled for Scott.
        """
        found = self.found
        by_chance = self._chance(other, found.one), self._chance(one, found.other)
        likely = by_chance[0] + by_chance[1]
        expected = found.per_pair(likely / 2) / found.shared
        beyond = np.where(1 - expected < CERTAIN, np.nan, 1 - expected)
        value = (self.observed - expected) / beyond
        influence = self.agree - (1 - value)[found.pair] * likely
        centre = found.per_pair(influence) / found.shared
        stderr = mean_error(found.shared, found.per_pair((influence - centre[found.pair]) ** 2))
        first, second, fourth = (found.per_pair((1 - likely / 2) ** power) for power in (1, 2, 4))
        most, rarest = self.extremes
        informing = Informing(first, second, fourth, np.ones_like(first), found.shared, beyond, most, rarest)
        low, high = kappa_limits(value, stderr / beyond, informing, self.level)
        low = np.minimum(low, self._with_unseen(one, other, expected))
        return {name: value, f"{name}_stderr": stderr / beyond, f"{name}_low": low, f"{name}_high": high}

    def _with_unseen(self, one: Floats, other: Floats, expected: Floats) -> Floats:
        """The kappa after adding as many items as could have gone unseen, on which the two swap two labels.

        These are the two labels that raise chance agreement most. Without such items, no kappa below 0 would be
        possible for someone who gave one label throughout.
        """
        found, likely = self.found, self._smoothed((one + other) / 2)
        if likely.shape[1] < 2:
            return np.full(len(expected), np.nan)
        rows, two = np.arange(len(expected))[:, None], np.argsort(-likely, axis=1, kind="stable")[:, :2]
        first, second = self.labels[two][found.pair].T
        differ = ((found.one == first) & (found.other == second)) | ((found.one == second) & (found.other == first))
        share = unseen_share(found.shared, self.level, found.per_pair(differ.astype(np.float64)))
        none = np.zeros(len(expected))
        alike = none if self.similarity is None else self.similarity[self.labels[two[:, 0]], self.labels[two[:, 1]]]
        return with_differing(self.observed, expected, likely[rows, two].sum(axis=1), alike, share)

    @cached_property
    def extremes(self) -> tuple[Floats, Floats]:
        """How often two annotators with these labels can differ, and how often the rarest label differs by chance."""
        both = self.shares[0] + self.shares[1]
        chance = np.where(both > 0, self._smoothed(both) / 2, 1.0)
        return np.minimum(1.0, 2 - both.max(axis=1, initial=0.0)), 1 - chance.min(axis=1, initial=1.0)


def meetings(codes: Coded, least: int = 1) -> Meetings:
    """All pairs of annotations of an item by two known annotators, counted by annotators and labels."""
    if not isinstance(least, int) or least < 1:
        raise UsageError(f"least {least!r}: the least number of shared items is a whole number from 1 on")
    people, labels = max(1, len(codes.annotators)), max(1, len(codes.labels))
    if (people * labels) ** 2 > LARGEST_KEY:
        raise DataError(f"{people:,} annotators and {labels:,} labels are too many to compare in pairs; group labels")
    keys, count = merged([counted(_labelled(codes, rows, sizes)) for rows, sizes in _blocks(codes)])
    who, given = np.divmod(keys, labels**2)
    starts, pair = run_starts(who), run_of_each(who)
    shared = sums(pair, count.astype(np.float64), len(starts))
    enough = shared >= least
    rows = enough[pair]
    left, right = np.divmod(who[starts[enough]], people)
    one, other = np.divmod(given[rows], labels)
    number = (np.cumsum(enough) - 1)[pair[rows]]
    return Meetings(left, right, shared[enough], number, one, other, count[rows].astype(np.float64))


def acquaintances(codes: Coded, least: int) -> tuple[Ints, Ints]:
    """The two annotators of every pair sharing at least ``least`` items, whatever their labels."""
    people = max(1, len(codes.annotators))
    meetings = (_met(codes, rows, sizes) for rows, sizes in _blocks(codes))
    if people**2 <= MOST_CELLS:
        table = sum(
            (np.bincount(block, minlength=people**2) for block in meetings), np.zeros(people**2, dtype=np.int64)
        )
        keys = np.flatnonzero(table >= least)
    else:
        found, shared = merged([counted(block) for block in meetings])
        keys = found[shared >= least]
    left, right = np.divmod(keys, people)
    return left, right


def _met(codes: Coded, rows: Ints, sizes: Ints) -> Ints:
    """Each meeting as one number: the two annotators, the lower code first."""
    first, second = (codes.annotator[rows[each]].astype(np.int64) for each in pairs_within(sizes))
    return np.minimum(first, second) * len(codes.annotators) + np.maximum(first, second)


def _blocks(codes: Coded) -> Iterator[tuple[Ints, Ints]]:
    """Annotations by known annotators and the sizes of their items; a bounded number of meetings at a time."""
    known = np.flatnonzero(codes.annotator >= 0)
    starts = run_starts(codes.item[known])
    sizes = np.diff(starts, append=len(known)).astype(np.int64)
    met = np.cumsum(sizes * (sizes - 1) // 2)
    most, meetings = int(sizes.max(initial=0)), int(met.max(initial=0))
    if most > MOST_AT_ONE_ITEM or meetings > MOST_MEETINGS:
        raise DataError(
            f"annotators met {meetings:,} times, up to {most:,} of them on one item: too many to compare in pairs "
            f"(at most {MOST_MEETINGS:,} and {MOST_AT_ONE_ITEM:,}); take the first annotations of each item (--first)"
        )
    block = met // MEETINGS_AT_ONCE
    firsts = run_starts(block)
    for first, last in zip(firsts, [*firsts[1:], len(sizes)], strict=False):  # no item, no block
        yield known[starts[first] : starts[last - 1] + sizes[last - 1]], sizes[first:last]


def _labelled(codes: Coded, rows: Ints, sizes: Ints) -> Ints:
    """Each meeting as one number: the two annotators, the lower code first, and their two labels."""
    first, second = pairs_within(sizes)
    who, given = codes.annotator[rows].astype(np.int64), codes.label[rows].astype(np.int64)
    swap = who[first] > who[second]
    first, second = np.where(swap, second, first), np.where(swap, first, second)
    people, labels = len(codes.annotators), len(codes.labels)
    return np.asarray(((who[first] * people + who[second]) * labels + given[first]) * labels + given[second])
