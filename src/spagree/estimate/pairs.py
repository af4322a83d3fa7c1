"""Agreement, Cohen's kappa and Scott's pi of each pair of annotators who share items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spagree.errors import DataError, UsageError
from spagree.estimate.former_limits import Information, kappa_limits, unseen_share, with_differing
from spagree.estimate.intervals import mean_error, wilson_each
from spagree.estimate.meetings import Meetings, agreeing, meetings
from spagree.estimate.uncertainty import FEW_ITEMS
from spagree.grouping import Floats, Ints, sums
from spagree.tally.coded import Coded

if TYPE_CHECKING:
    import polars

MOST_PAIRS = 20_000_000  # rows of a table: about 3 GB
CERTAIN = 1e-12
ONE_CLASS = "both gave one label to all they share, so agreement by chance is certain"
ONE_ITEM = "they share only one item, too few to show how items differ"


def pairs(
    codes: Coded, similarity: Floats | None, level: float, least: int = 1, worst: int | None = None
) -> polars.DataFrame:
    """One row per pair of annotators with ``least`` shared items, lowest agreement first, few shared items last.

    ``worst`` keeps only the first rows; coefficients and intervals are computed for these alone.
    """
    import polars

    for name, value in (("least", least), ("worst", worst)):
        if value is not None and (not isinstance(value, int) or value < 1):
            raise UsageError(f"{name} {value!r}: a whole number from 1 on")
    chosen = None if worst is None else _worst(codes, similarity, least, worst)
    names = polars.Series(codes.annotators, dtype=polars.String)
    frames, size = [], 0
    for all_ in meetings(codes, chosen):
        for block in all_.of_pairs(all_.shared >= least).blocks():
            figures = {"shared": block.shared.astype(np.int64), **_figures(block, similarity, level)}
            who = {"annotator": names.gather(block.left), "other": names.gather(block.right)}
            frames.append(polars.DataFrame({**who, **figures}))
            size += len(block.left)
        if size > MOST_PAIRS:
            raise DataError(
                f"more than {MOST_PAIRS:,} pairs of annotators share items: too many for one table; ask for the worst "
                "only (worst=20), for pairs who share more items (least=5) or for the busiest annotators (busiest=1000)"
            )
    shared, certain = polars.col("shared"), polars.col("cohen_kappa").is_null()
    reason = polars.when(certain).then(polars.lit(ONE_CLASS)).when(shared < 2).then(polars.lit(ONE_ITEM))
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


def _figures(meetings: Meetings, similarity: Floats | None, level: float) -> dict[str, Floats]:
    """Agreement and both coefficients for a block of pairs, as columns."""
    agree = meetings.agree(similarity)
    observed = meetings.per_pair(agree) / meetings.shared
    stderr = mean_error(meetings.shared, meetings.per_pair((agree - observed[meetings.pair]) ** 2))
    low, high = wilson_each(observed, stderr, meetings.shared, level)
    table = _Table(meetings, agree, observed, similarity, level)
    one, other = map(table.smoothed, table.shares)
    kappa = table.coefficient("cohen_kappa", one, other)
    pi = table.coefficient("scott_pi", table.pooled, table.pooled)
    return {"agreement": observed, "stderr": stderr, "low": low, "high": high, **kappa, **pi}


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

    def coefficient(self, name: str, one: Floats, other: Floats) -> dict[str, Floats]:
        """Value, standard error by linearisation over the shared items, and limits.

        ``one`` and ``other`` say how likely a label agrees by chance with either annotator's: with their own shares of
        labels for Cohen, with pooled ones for Scott.
        """
        meetings = self.meetings
        first_given, second_given = (np.searchsorted(self.labels, label) for label in (meetings.one, meetings.other))
        likely = other[meetings.pair, first_given] + one[meetings.pair, second_given]
        expected = meetings.per_pair(likely / 2) / meetings.shared
        beyond = np.where(1 - expected < CERTAIN, np.nan, 1 - expected)
        value = (self.observed - expected) / beyond
        influence = self.agree - (1 - value)[meetings.pair] * likely
        centre = meetings.per_pair(influence) / meetings.shared
        stderr = mean_error(meetings.shared, meetings.per_pair((influence - centre[meetings.pair]) ** 2))
        first, second, fourth = (meetings.per_pair((1 - likely / 2) ** power) for power in (1, 2, 4))
        most, rarest = self.extremes
        information = Information(first, second, fourth, np.ones_like(first), meetings.shared, beyond, most, rarest)
        low, high = kappa_limits(value, stderr / beyond, information, self.level)
        low = np.minimum(low, self._with_unseen(expected))
        return {name: value, f"{name}_stderr": stderr / beyond, f"{name}_low": low, f"{name}_high": high}

    def _with_unseen(self, expected: Floats) -> Floats:
        """The kappa after adding as many items as could have gone unseen, on which the two swap two labels.

        Of the labels that the two gave, these raise chance agreement most; labels of others in the block do not count.
        Without such items, no kappa below 0 would be possible for someone who gave one label throughout.
        """
        meetings, likely = self.meetings, np.where(self.shares[0] + self.shares[1] > 0, self.pooled, 0.0)
        if likely.shape[1] < 2:
            return np.full(len(expected), np.nan)
        rows, two = np.arange(len(expected))[:, None], np.argsort(-likely, axis=1, kind="stable")[:, :2]
        first, second = self.labels[two][meetings.pair].T
        swapped = (meetings.one == second) & (meetings.other == first)
        differ = swapped | ((meetings.one == first) & (meetings.other == second))
        share = unseen_share(meetings.shared, self.level, meetings.per_pair(differ.astype(np.float64)))
        none = np.zeros(len(expected))
        alike = none if self.similarity is None else self.similarity[self.labels[two[:, 0]], self.labels[two[:, 1]]]
        return with_differing(self.observed, expected, likely[rows, two].sum(axis=1), alike, share)

    @cached_property
    def extremes(self) -> tuple[Floats, Floats]:
        """How often two annotators with these labels can differ, and how often the rarest label differs by chance."""
        both = self.shares[0] + self.shares[1]
        chance = np.where(both > 0, self.pooled, 1.0)
        return np.minimum(1.0, 2 - both.max(axis=1, initial=0.0)), 1 - chance.min(axis=1, initial=1.0)
