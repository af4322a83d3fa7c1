"""Simulated stand-ins for data sets of the paper that are not at hand: same sizes, same range of n.

Their labels are invented, so their curves say nothing about the real data; they show that the experiments run
at that size. A stand-in is marked as simulated wherever its name appears.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class StandIn:
    """What the paper says about a data set: items, annotations of most of them, the range of the others."""

    classes: int
    usual: int | tuple[int, int]
    """Items with this number of annotations, or a number from this range, …"""
    items: int
    other: tuple[int, int] = (2, 2)
    """… and further items with a number from this range."""
    others: int = 0
    heterogeneity: float = 0.5
    skew: float = 0.5


def draw(standin: StandIn, seed: int) -> pl.DataFrame:
    """Item and label of simulated annotations.

    >>> frame = draw(StandIn(classes=3, usual=6, items=100, other=(5, 12), others=4), seed=1)
    >>> frame["item"].n_unique(), frame["label"].n_unique()
    (104, 3)
    """
    import polars as pl

    parts = [(standin.items, standin.usual, "usual"), (standin.others, standin.other, "other")]
    drawn = [
        _part(standin, items, per_item, seed + number).with_columns(pl.lit(f"{name} ") + pl.col("item"))
        for number, (items, per_item, name) in enumerate(parts)
        if items
    ]
    return pl.concat(drawn)


def _part(standin: StandIn, items: int, per_item: int | tuple[int, int], seed: int) -> pl.DataFrame:
    from spagree.simulate import simulate

    drawn = simulate(
        items=items,
        annotators=40,
        classes=standin.classes,
        per_item=per_item,
        skew=standin.skew,
        heterogeneity=standin.heterogeneity,
        seed=seed,
    )
    return drawn.frame.select("item", "label")
