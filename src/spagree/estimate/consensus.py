"""One label per item: the majority, how clear it is, and whether more annotators would keep it.

An item's label shares are unknown. Their prior is Dirichlet(α π), with π the overall label shares and α from the
agreement in the data: E Σ p² = (α Σ π² + 1)/(α + 1). Given the votes n, the posterior is Dirichlet(α π + n). With ever
more annotators, the majority label stays the same with the posterior probability that its share is the largest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars

from spagree.grouping import Floats

NODES = 96
LEAST_ALPHA, MOST_ALPHA = 0.05, 1000.0
TINY = 1e-300
GRID = np.linspace(-60.0, 12.0, 4001)  # log x


def consensus(counts: polars.DataFrame, agreement: float | None, equal_items: float) -> polars.DataFrame:
    """One row per item of ``item, label, count``: ``item, label, tied, annotations, share, kept``.

    ``label`` is null if two or more labels tie for the most votes; ``tied`` lists them. ``kept`` is null for ties and
    if agreement is unknown.

    >>> import polars
    >>> votes = polars.DataFrame({"item": [1, 1, 2, 2], "label": ["a", "b", "a", "b"], "count": [3, 1, 2, 2]})
    >>> majority = consensus(votes, 0.6, 2)
    >>> majority.drop("kept").rows()
    [(1, 'a', None, 4, 0.75), (2, None, 'a | b', 4, 0.5)]
    >>> [kept and round(kept, 2) for kept in majority["kept"]]
    [0.9, None]
    """
    label, count = polars.col("label"), polars.col("count")
    ordered = counts.with_columns(label.cast(polars.String), count.cast(polars.Int64)).sort("item", "label")
    leading = label.filter(count == count.max())
    votes = polars.format("{}\x1f{}", "label", "count").str.join("\x1e")
    items = ordered.group_by("item", maintain_order=True).agg(
        polars.when(leading.len() == 1).then(leading.first()).alias("label"),
        polars.when(leading.len() > 1).then(leading.str.join(" | ")).alias("tied"),
        count.sum().alias("annotations"),
        (count.max() / count.sum()).alias("share"),
        votes.alias("votes"),
    )
    prior = Prior.of(ordered, agreement, equal_items)
    if prior is None:
        return items.drop("votes").with_columns(polars.lit(None, polars.Float64).alias("kept"))
    patterns = items.filter(label.is_not_null()).select("votes", "label").unique()
    chances = []
    for joined_votes, winner in patterns.rows():
        pairs = (vote.rpartition("\x1f") for vote in joined_votes.split("\x1e"))
        chances.append(prior.kept({label: int(count) for label, _, count in pairs}, winner))
    kept = patterns.select("votes").with_columns(polars.Series("kept", chances, dtype=polars.Float64))
    joined = items.join(kept, on="votes", how="left", maintain_order="left").drop("votes")
    return joined.with_columns(polars.when(label.is_not_null()).then(polars.col("kept")).alias("kept"))


def concentration(agreement: float, shares: Floats, equal_items: float) -> float:
    """α of the prior: small where items have one right answer, large where labels ignore the item.

    Agreement is shrunk towards 1/2 with the weight of one item, so it is never certain.

    >>> round(concentration(0.8, np.array([0.5, 0.5]), 1e9), 3)
    0.667
    """
    theta = (agreement * equal_items + 0.5) / (equal_items + 1)
    beyond = theta - float(shares @ shares)
    alpha = (1 - theta) / beyond if beyond > 0 else MOST_ALPHA
    return min(max(alpha, LEAST_ALPHA), MOST_ALPHA)


@dataclass(frozen=True)
class Prior:
    """α π by label."""

    alpha: dict[str, float]

    @classmethod
    def of(cls, counts: polars.DataFrame, agreement: float | None, equal_items: float) -> Prior | None:
        """From the votes of all items and their agreement; None if agreement is unknown."""
        if agreement is None:
            return None
        totals = counts.group_by("label").agg(polars.col("count").sum()).sort("label")
        shares = totals["count"].to_numpy() / totals["count"].sum()
        alpha = concentration(agreement, shares, equal_items)
        return cls(dict(zip(totals["label"], (alpha * shares).tolist(), strict=True)))

    def kept(self, votes: dict[str, int], winner: str) -> float:
        """The probability that the winner has the largest share of all labels.

        Shares are gamma variables over their sum, so this is the mean of Π P(X_c < x) over the winner's gamma variable
        x.
        """
        from scipy.special import gammainc, gammaincinv

        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        x = gammaincinv(self.alpha[winner] + votes[winner], (nodes + 1) / 2)
        below = np.interp(np.log(np.maximum(x, TINY)), GRID, self._all_below)
        for label, count in votes.items():
            below -= _log(gammainc(self.alpha[label], x))
            if label != winner:
                below += _log(gammainc(self.alpha[label] + count, x))
        return float(np.clip(np.exp(np.minimum(below, 0.0)) @ weights / 2, 0.0, 1.0))

    @cached_property
    def _all_below(self) -> Floats:
        """Σ_c log P(X_c < x) under the prior, over all labels: the contribution of labels an item did not get."""
        from scipy.special import gammainc

        x = np.exp(GRID)
        return np.asarray(sum(_log(gammainc(alpha, x)) for alpha in self.alpha.values()))


def _log(probability: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(probability, TINY)))
