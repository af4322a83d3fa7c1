"""What came back compared with what was assigned: who did less, which items are short, whether gaps look random."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass
from math import fsum
from typing import Any

import narwhals as nw
import numpy as np

from spagree.counts.engines import rows
from spagree.counts.tally import text
from spagree.errors import DataError, opt
from spagree.read.annotations import ANNOTATOR, ITEM

Pair = tuple[str, str]
Short = tuple[str, int, int]

MOST_DRAWN = 1_000_000  # assigned annotations of unfinished people to permute
FEWEST_DRAWS, MOST_DRAWS, CELLS = 199, 999, 5_000_000


@dataclass(frozen=True, slots=True)
class Returned:
    """The assignment compared with the annotations.

    Two tests ask whether the missing annotations look random. ``p_people``: do all people miss the same share of their
    work (Pearson's χ²)? ``p_items``: are items missed at random, given how much each person missed (permutations
    within each person)? Small values say no. None if there is nothing to compare: nothing or everything is missing, or
    fewer than two people did part of their work; ``p_items`` also above a million annotations.
    """

    assigned: int
    done: int
    missing: int
    unplanned: int
    """Annotations by people the item was not assigned to."""
    short_items: tuple[Short, ...]
    """Items with missing annotations: item, assigned, done; most missing first."""
    people: tuple[Short, ...]
    """Annotators with missing work: annotator, assigned, done; most missing first."""
    p_people: float | None
    p_items: float | None


def annotated_pairs(frame: nw.LazyFrame[Any]) -> list[Pair]:
    """Who annotated which item."""
    pairs = rows(frame.select(ITEM, ANNOTATOR).drop_nulls().unique())
    return [(text(item), text(name)) for item, name in pairs]


def check_returned(assigned: Iterable[Pair], annotations: Iterable[Pair]) -> Returned:
    """Compare (item, annotator) pairs that were assigned with those that were annotated."""
    planned, annotated = set(assigned), set(annotations)
    done = planned & annotated
    if planned and annotated and not done:
        raise DataError(_strangers(planned, annotated))
    by_person, done_by = Counter(name for _, name in planned), Counter(name for _, name in done)
    by_item, done_on = Counter(item for item, _ in planned), Counter(item for item, _ in done)
    return Returned(
        assigned=len(planned),
        done=len(done),
        missing=len(planned) - len(done),
        unplanned=len(annotated - planned),
        short_items=_short(by_item, done_on),
        people=_short(by_person, done_by),
        p_people=_same_share(by_person, done_by),
        p_items=_items_at_random(planned, done, by_person, done_by),
    )


def _strangers(planned: Set[Pair], annotated: Set[Pair]) -> str:
    """Why nothing matches: different items, different names, or both."""
    places = {"item": 0, "annotator": 1}
    unlike = {
        name: (min(pair[place] for pair in planned), min(pair[place] for pair in annotated))
        for name, place in places.items()
        if not {pair[place] for pair in planned} & {pair[place] for pair in annotated}
    }
    if not unlike:
        return "no assigned annotation was made: everything in the source is by people the item was not assigned to"
    shown = ", ".join(
        f"{name} {ours!r} in the assignment, {theirs!r} in the source" for name, (ours, theirs) in unlike.items()
    )
    columns = " and ".join(opt[name] for name in unlike)
    return (
        f"nothing in the source was assigned ({shown}); write both alike, or name the column with the "
        f"assigned ids: {columns}"
    )


def _short(assigned: Counter[str], done: Counter[str]) -> tuple[Short, ...]:
    rows = [(name, count, done[name]) for name, count in assigned.items() if done[name] < count]
    return tuple(sorted(rows, key=lambda row: (row[2] - row[1], row[0])))


def _same_share(assigned: Counter[str], done: Counter[str]) -> float | None:
    """Pearson's χ² over people: does everyone miss the same share, apart from chance?"""
    total, missing = assigned.total(), assigned.total() - done.total()
    if not 0 < missing < total or len(assigned) < 2:  # noqa: PLR2004 (two people)
        return None
    from scipy.special import chdtrc

    share = missing / total
    statistic = fsum(
        (count - done[name] - count * share) ** 2 / (count * share * (1 - share)) for name, count in assigned.items()
    )
    return float(chdtrc(len(assigned) - 1, statistic))


def _items_at_random(
    planned: Set[Pair], done: Set[Pair], assigned: Counter[str], finished: Counter[str]
) -> float | None:
    """Permute which of their items each unfinished person missed: do misses pile up on items beyond chance?

    The statistic is Σ m², with m the misses of an item. People who did everything or nothing are left out.
    """
    partial = sorted(pair for pair in planned if 0 < finished[pair[1]] < assigned[pair[1]])
    if len({name for _, name in partial}) < 2 or len(partial) > MOST_DRAWN:  # noqa: PLR2004 (two people)
        return None
    item, person = (np.unique([pair[place] for pair in partial], return_inverse=True)[1] for place in (0, 1))
    missed = np.array([pair not in done for pair in partial])
    seen = (np.bincount(item[missed]) ** 2).sum()
    by_person = missed[np.lexsort((missed, person))]  # the same number of misses per person, in the order of the draws
    random = np.random.default_rng(0)
    draws = max(FEWEST_DRAWS, min(MOST_DRAWS, CELLS // len(partial)))
    reached = 0
    for _ in range(draws):
        drawn = np.lexsort((random.random(len(partial)), person))
        reached += (np.bincount(item[drawn][by_person]) ** 2).sum() >= seen
    return float((1 + reached) / (1 + draws))
