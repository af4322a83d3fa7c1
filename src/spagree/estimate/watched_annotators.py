"""Annotators who differ from the others on the same items, monitored continuously with a known false-alarm rate.

For each annotator Π(1 − λd), with d of :meth:`ClosedItems.apart` and the bet λ from earlier items alone, is an
e-process: its expectation is at most 1 for anyone exchangeable with the others, at any time (docs/mathematics.md §18).
e-BH (Wang and Ramdas, JRSS B 84 (2022)) over all annotators then names anyone in at most 5% of projects where all are
alike. Being different is not being wrong: it says whose items to look at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spagree.estimate.closed_items import ClosedItems
from spagree.grouping import Floats, ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST_BET = 1.5  # d never exceeds 1/2, so at most three quarters of the capital are lost at once
FIRST_BET, WEIGHT = 1.0, 8.0  # the prior bet, and how many items it counts for
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class WatchedAnnotators:
    """For each annotator: log e-value, closed items, mean difference from the others; and who is named."""

    evidence: Floats
    items: NDArray[np.int64]
    difference: Floats
    named: NDArray[np.bool_]


def watch_annotators(closed: ClosedItems, annotators: int) -> WatchedAnnotators:
    """The evidence about each annotator after all closed items, in closing order."""
    who, difference = closed.annotator.ravel(), closed.apart().ravel()
    order = np.argsort(who, kind="stable")
    who, difference = who[order], difference[order]
    items = np.bincount(who, minlength=annotators)
    bets = _bets(difference, items)
    summed = (np.log1p(-bets * difference), difference)
    evidence, total = (np.bincount(who, values, annotators).astype(np.float64) for values in summed)
    return WatchedAnnotators(evidence, items, ratio(total, items, 0.0), e_bh(evidence))


def _bets(difference: Floats, items: NDArray[np.int64]) -> Floats:
    """λ = −Σd/Σd² of the earlier differences, clipped to [0, 1.5]; differences are grouped by annotator."""
    first = np.repeat(np.cumsum(items) - items, items)
    here = np.arange(len(difference))
    total = np.concatenate([[0.0], difference.cumsum()])
    squares = np.concatenate([[0.0], (difference**2).cumsum()])
    summed, squared = total[here] - total[first], squares[here] - squares[first]
    bets: Floats = np.clip((FIRST_BET * WEIGHT - summed) / (WEIGHT + squared), 0, LARGEST_BET)
    return bets


def e_bh(evidence: Floats, alpha: float = ALPHA) -> NDArray[np.bool_]:
    """The k largest e-values, for the largest k with e_(k) ≥ K/(αk), where K is their number; evidence is in logs.

    >>> e_bh(np.log([100.0, 1.0, 45.0])).tolist()
    [True, False, True]
    """
    order = np.argsort(-evidence, kind="stable")
    ranks = np.arange(1, len(evidence) + 1)
    passing = np.flatnonzero(evidence[order] + np.log(ranks) >= np.log(max(len(evidence), 1) / alpha))
    named = np.zeros(len(evidence), dtype=bool)
    named[order[: passing[-1] + 1 if len(passing) else 0]] = True
    return named
