"""Agreement, Cohen's kappa and Scott's pi of each pair of annotators who share items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spagree.counts.coded import Coded
from spagree.errors import DataError, UsageError
from spagree.estimate.chance import FEW_FOR_METRIC
from spagree.estimate.intervals import below_chance, fisher_limits, kappa_limits, mean_error, wilson_each
from spagree.estimate.label_counts import LabelCounts
from spagree.estimate.meetings import Meetings, agreeing, meetings
from spagree.estimate.uncertainty import FEW_ITEMS
from spagree.grouping import Floats, Ints, sums

if TYPE_CHECKING:
    import polars

MOST_PAIRS = 20_000_000  # rows of a table: about 3 GB
CERTAIN = 1e-12
ONE_CLASS = "both gave one label to all they share, so agreement by chance is certain"
ONE_ITEM = "they share only one item, too few to show how items differ"
ALL_ALIKE = "leaving out any one item does not change kappa: how far it may be off cannot be seen"
STEADY_ITEMS = 30


def pairs(
    codes: Coded, similar: LabelCounts | None, level: float, least: int = 1, worst: int | None = None
) -> polars.DataFrame:
    """One row per pair of annotators with ``least`` shared items, lowest agreement first, few shared items last.

    ``similar`` are the votes of all items under a metric with partial agreement. ``worst`` keeps only the first rows;
    coefficients and intervals are computed for these alone.
    """
    import polars

    for name, value in (("least", least), ("worst", worst)):
        if value is not None and (not isinstance(value, int) or value < 1):
            raise UsageError(f"{name} {value!r}: a whole number from 1 on")
    similarity = None if similar is None else similar.similarity
    chosen = None if worst is None else _worst(codes, similarity, least, worst)
    names = polars.Series(codes.annotators, dtype=polars.String)
    frames, size = [], 0
    for all_ in meetings(codes, chosen):
        for block in all_.of_pairs(all_.shared >= least).blocks():
            figures = {"shared": block.shared.astype(np.int64), **_figures(block, similar, level)}
            who = {"annotator": names.gather(block.left), "other": names.gather(block.right)}
            frames.append(polars.DataFrame({**who, **figures}))
            size += len(block.left)
        if size > MOST_PAIRS:
            raise DataError(
                f"more than {MOST_PAIRS:,} pairs of annotators share items: too many for one table; ask for the worst "
                "only (worst=20), for pairs who share more items (least=5) or for the busiest annotators (busiest=1000)"
            )
    shared, missing = polars.col("shared"), polars.col("cohen_kappa_low").is_null()
    reason = (
        polars.when(polars.col("cohen_kappa").is_null())
        .then(polars.lit(ONE_CLASS))
        .when(shared < 2)
        .then(polars.lit(ONE_ITEM))
        .when(missing & (shared < FEW_ITEMS))
        .then(polars.lit(FEW_FOR_METRIC))
        .when(missing)
        .then(polars.lit(ALL_ALIKE))
    )
    frame = polars.concat(frames).fill_nan(None)
    frame = frame.with_columns((shared < FEW_ITEMS).alias("few"), reason.alias("undefined"))
    return frame.sort("few", "agreement", "annotator", "other")


def _worst(codes: Coded, similarity: Floats | None, least: int, worst: int) -> Ints:
    """The first pairs of the table, as :func:`meetings` takes them: all are counted, and sorted by agreement."""
    import polars

    def counts() -> Iterator[tuple[Ints, Ints, Floats, Floats]]:
        for block in meetings(codes):
            yield block.left, block.right, block.shared, block.per_pair(block.agree(similarity))

    first = polars.DataFrame()
    for left, right, shared, alike in agreeing(codes) if similarity is None else counts():
        pair = left * len(codes.annotators) + right
        block = polars.DataFrame({"few": shared < FEW_ITEMS, "agreement": alike / shared, "pair": pair})
        both = polars.concat([first, block.filter(shared >= least)], how="diagonal")
        first = both.bottom_k(worst, by=["few", "agreement", "pair"])
    return first["pair"].sort().to_numpy()


def _figures(meetings: Meetings, similar: LabelCounts | None, level: float) -> dict[str, Floats]:
    """Agreement and both coefficients for a block of pairs, as columns."""
    similarity, size = None if similar is None else similar.similarity, meetings.shared
    agree = meetings.agree(similarity)
    observed = meetings.per_pair(agree) / size
    stderr = mean_error(size, meetings.per_pair((agree - observed[meetings.pair]) ** 2))
    used = stderr if similar is None else steadied(observed, stderr, size, similar.pair)
    low, high = wilson_each(observed, used, size, level)
    table = _Table(meetings, agree, observed, similarity, level)
    one, other = map(table.smoothed, table.shares)
    kappa = table.coefficient("cohen_kappa", one, other, itself=agree)
    pi = table.coefficient("scott_pi", table.pooled, table.pooled, itself=(1 + agree) / 2)
    return {"agreement": observed, "stderr": stderr, "low": low, "high": high, **kappa, **pi}


def steadied(observed: Floats, stderr: Floats, items: Floats, pair: float) -> Floats:
    """The error of a mean agreement under a metric, not below what all pairs of the file suggest.

    A few items may happen to agree alike. The variance of one item is ``pair`` times P(1 − P) throughout the file; it
    counts in full as long as fewer than about thirty items differ.

    >>> steadied(np.array([0.5, 0.5]), np.array([0.0, 0.0]), np.array([6.0, 600.0]), 0.4).round(4).tolist()
    [0.1291, 0.0029]
    """
    spread = observed * (1 - observed)
    with np.errstate(divide="ignore"):
        share = np.minimum(1.0, STEADY_ITEMS / (4 * spread * items))
    return np.asarray(np.sqrt(stderr**2 + share * np.maximum(0.0, pair * spread / items - stderr**2)))


@dataclass(frozen=True)
class _Table:
    """The parts of a coefficient κ = (P_o − P_e)/(1 − P_e).

    P_e is a mean over the shared items of how likely each one's label agrees by chance.
    """

    meetings: Meetings
    agree: Floats
    observed: Floats
    similarity: Floats | None
    level: float

    @cached_property
    def labels(self) -> Ints:
        """The labels that occur here: tables of pairs × labels stay small."""
        return np.unique(np.concatenate([self.meetings.one, self.meetings.other]))

    @cached_property
    def shares(self) -> tuple[Floats, Floats]:
        """How often each of the two gave each label, over the shared items: pairs × labels."""
        return self._share(self.meetings.one), self._share(self.meetings.other)

    def _share(self, label: Ints) -> Floats:
        meetings, width = self.meetings, len(self.labels)
        cells = meetings.pair * width + np.searchsorted(self.labels, label)
        table = sums(cells, meetings.count, len(meetings.left) * width).reshape(len(meetings.left), width)
        return table / meetings.shared[:, None]

    @cached_property
    def pooled(self) -> Floats:
        """How likely each label agrees with one of the two annotators' labels, drawn at random."""
        return self.smoothed((self.shares[0] + self.shares[1]) / 2)

    def smoothed(self, table: Floats) -> Floats:
        """How likely each label agrees with one drawn from the shares of a pair's row."""
        return table if self.similarity is None else table @ self.similarity[np.ix_(self.labels, self.labels)]

    def coefficient(self, name: str, one: Floats, other: Floats, *, itself: Floats) -> dict[str, Floats]:
        """Value, jackknife standard error over the shared items, and limits.

        ``one`` and ``other`` say how likely a label agrees by chance with either annotator's: with their own shares of
        labels for Cohen, with pooled ones for Scott. ``itself`` is how much of that comes from the item itself: leaving
        out one of I items, I²·P_e becomes I²·P_e − I·likely + itself.
        """
        meetings, size = self.meetings, self.meetings.shared
        first_given, second_given = (np.searchsorted(self.labels, label) for label in (meetings.one, meetings.other))
        likely = other[meetings.pair, first_given] + one[meetings.pair, second_given]
        expected = meetings.per_pair(likely / 2) / size
        beyond = np.where(1 - expected < CERTAIN, np.nan, 1 - expected)
        value = (self.observed - expected) / beyond
        items = size[meetings.pair]
        with np.errstate(divide="ignore", invalid="ignore"):
            observed_left = ((items * self.observed[meetings.pair]) - self.agree) / (items - 1)
            expected_left = (items**2 * expected[meetings.pair] - items * likely + itself) / (items - 1) ** 2
            left = (observed_left - expected_left) / np.where(1 - expected_left < CERTAIN, np.nan, 1 - expected_left)
            moved = left - (meetings.per_pair(left) / size)[meetings.pair]
            jackknifed = np.sqrt((size - 1) / size * meetings.per_pair(moved**2))
            # Without one of the items there may be a single label: then the ratio is linearised
            influence = (self.agree - (1 - value)[meetings.pair] * likely) / beyond[meetings.pair]
            influence -= (meetings.per_pair(influence) / size)[meetings.pair]
            linearised = mean_error(size, meetings.per_pair(influence**2))
            stderr = np.where(np.isnan(jackknifed), linearised, jackknifed)
            second, fourth = (meetings.per_pair((1 - likely / 2) ** power) for power in (2, 4))
            low, high = self._limits(value, stderr, beyond, second**2 / fourth)
        return {name: value, f"{name}_stderr": stderr, f"{name}_low": low, f"{name}_high": high}

    def _limits(self, value: Floats, stderr: Floats, beyond: Floats, size: Floats) -> tuple[Floats, Floats]:
        """The limits of a kappa on so many equally informative items (docs/mathematics.md §13)."""
        shared, commonest = self.meetings.shared, (self.shares[0] + self.shares[1]).max(axis=1, initial=0.0)
        most = np.minimum(1.0, 2 - commonest)  # two annotations of an item cannot differ more often
        low, high = kappa_limits(value, stderr, beyond, most, size, self.level)
        if self.similarity is None:
            below = below_chance(shared * (2 - commonest), 2 * shared)
            return np.where(value < CERTAIN, np.minimum(low, below), low), high
        enough, perfect = shared >= FEW_ITEMS, value > 1 - CERTAIN
        fisher = fisher_limits(value, stderr, size - 1, self.level)
        ends = (np.where(perfect, wide, end) for wide, end in zip((low, high), fisher, strict=True))
        low, high = (np.where(enough, end, np.nan) for end in ends)
        return low, high
