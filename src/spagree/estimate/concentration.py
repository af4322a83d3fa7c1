"""Whom a figure depends on: how few people made half of the annotations, and who alone moves SPA."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import sqrt

import numpy as np

from spagree.estimate.intervals import two_sided
from spagree.estimate.leave_one_out import Peers, leave_one_out
from spagree.grouping import Floats
from spagree.tally.tally import Tally
from spagree.understood import Caution

FEWEST = 4  # annotators: among three, somebody always moves the figure most
ALARM = 0.01  # how often the largest influence among similar people may be called exceptional


@dataclass(frozen=True, slots=True)
class Concentration:
    """The fewest annotators who made at least half of the annotations."""

    busiest: int
    annotators: int
    share: float
    """Their share of all annotations by known annotators."""


def concentration(tally: Tally) -> Concentration | None:
    """How few people made half of the annotations; None if no annotator is known.

    >>> rows = [{"yes": 2}, {"no": 2}]
    >>> from dataclasses import replace
    >>> concentration(replace(Tally.from_items(rows), annotators={"ann": 2, "bob": 1, "cyd": 1}))
    Concentration(busiest=1, annotators=3, share=0.5)
    """
    seen = list(accumulate(sorted((tally.annotators or {}).values(), reverse=True)))
    if not seen or not seen[-1]:
        return None
    busiest = bisect_left(seen, seen[-1] / 2)
    return Concentration(busiest + 1, len(seen), seen[busiest] / seen[-1])


@dataclass(frozen=True, slots=True)
class Decisive:
    """The annotator who moves SPA more than all the others together."""

    annotator: int
    """Code of the annotator."""
    share: float
    """Of the squared influences of all annotators."""
    spa_without: float


def decisive(peers: Peers, by_n: Mapping[int, Fraction]) -> Decisive | None:
    """Whether one annotator's influence on SPA is exceptional: more than half of all, and by Grubbs' test at 1%.

    Influence is how far SPA moves when an annotator is left out, relative to the mean over annotators.
    """
    busy = np.flatnonzero(peers.named.shared > 0)
    if len(busy) < FEWEST:
        return None
    without = leave_one_out(peers, by_n)[busy]
    squares = (without - without.mean()) ** 2
    most = int(np.argmax(squares))
    if not squares.sum() > 0 or squares[most] <= squares.sum() / 2 or not _exceptional(squares):
        return None
    return Decisive(int(busy[most]), float(squares[most] / squares.sum()), float(without[most]))


def _exceptional(squares: Floats) -> bool:
    """Grubbs' test for one outlier, two-sided, on the squared deviations from the mean.

    >>> _exceptional(np.array([1.0, 1.0, 1.0, 1.0, 16.0])), _exceptional(np.array([1.0, 1.0, 1.0, 1.0, 4.0]))
    (True, False)
    """
    size = len(squares)
    t = two_sided(1 - ALARM / size, size - 2)
    largest = sqrt(squares.max() / (squares.sum() / (size - 1)))
    return bool(largest > (size - 1) / sqrt(size) * sqrt(t * t / (size - 2 + t * t)))


def decisive_cautions(
    peers: Peers, by_n: Mapping[int, Fraction], annotators: tuple[str, ...], spa: float | None
) -> Iterator[Caution]:
    """Warn if one person's influence is decisive."""
    if spa is not None and (one := decisive(peers, by_n)) is not None:
        share = peers.named.shared[one.annotator] / len(peers.n)
        yield Caution(
            "one_annotator_decides",
            f"{annotators[one.annotator]!r} made {share:.0%} of the annotations of shared items and moves SPA more "
            f"than all the other annotators together: without them it would be {one.spa_without:.3f} instead of "
            f"{spa:.3f}. Conclusions about other annotators depend on one person: look at their labels, and report "
            f"SPA with and without them",
        )
