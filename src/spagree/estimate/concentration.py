"""On whom a figure depends: who made most of the annotations, and how few people made half of them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate

from spagree.counts.tally import Tally


@dataclass(frozen=True, slots=True)
class Concentration:
    """The busiest annotator, and the fewest who made at least half; shares are of all annotations by known people."""

    annotators: int
    busiest: str
    """The first by name, if several are."""
    share: float
    half: int
    share_of_half: float


def concentration(tally: Tally) -> Concentration | None:
    """Who made how much; None if no annotator is known.

    >>> rows = [{"yes": 2}, {"no": 2}]
    >>> from dataclasses import replace
    >>> concentration(replace(Tally.from_items(rows), annotators={"ann": 2, "bob": 1, "cyd": 1}))
    Concentration(annotators=3, busiest='ann', share=0.5, half=1, share_of_half=0.5)
    """
    made = sorted((tally.annotators or {}).items(), key=lambda each: (-each[1], each[0]))
    so_far = list(accumulate(count for _, count in made))
    if not so_far or not so_far[-1]:
        return None
    (name, most), half = made[0], bisect_left(so_far, so_far[-1] / 2)
    return Concentration(len(made), name, most / so_far[-1], half + 1, so_far[half] / so_far[-1])
