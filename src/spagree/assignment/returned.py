"""What came back, compared with what was assigned: who did less, which items are short, whether it looks random."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Returned:
    """The design beside the annotations; ``p`` tests whether missing work is spread at random over people."""

    assigned: int
    done: int
    missing: int
    unplanned: int
    """Annotations by somebody the item was not assigned to."""
    short_items: tuple[tuple[str, int, int], ...]
    """Items with missing annotations: item, assigned, done; the shortest first."""
    people: tuple[tuple[str, int, int], ...]
    """Everybody with missing work: annotator, assigned, done; the most missing first."""
    p: float | None
    """Chance of so uneven a spread of the missing work over people; None where nothing is missing, or all of it."""


def check_returned(assigned: Iterable[Pair], made: Iterable[Pair]) -> Returned:
    """Compare (item, annotator) pairs that were assigned with those that were annotated.

    >>> came = check_returned([("q1", "ann"), ("q1", "bob"), ("q2", "ann")], [("q1", "ann"), ("q2", "cyd")])
    >>> came.done, came.missing, came.unplanned, came.people
    (1, 2, 1, (('ann', 2, 1), ('bob', 1, 0)))
    """
    planned, found = set(assigned), set(made)
    done = planned & found
    by_person, done_by = Counter(name for _, name in planned), Counter(name for _, name in done)
    by_item, done_on = Counter(item for item, _ in planned), Counter(item for item, _ in done)
    return Returned(
        assigned=len(planned),
        done=len(done),
        missing=len(planned) - len(done),
        unplanned=len(found - planned),
        short_items=_short(by_item, done_on),
        people=_short(by_person, done_by),
        p=_spread_at_random(by_person, done_by),
    )


def _short(assigned: Counter[str], done: Counter[str]) -> tuple[tuple[str, int, int], ...]:
    rows = [(name, count, done[name]) for name, count in assigned.items() if done[name] < count]
    return tuple(sorted(rows, key=lambda row: (row[2] - row[1], row[0])))


def _spread_at_random(assigned: Counter[str], done: Counter[str]) -> float | None:
    """Pearson's χ² over people: the same share missing for everybody, but for chance."""
    total, missing = assigned.total(), assigned.total() - done.total()
    if not 0 < missing < total or len(assigned) < 2:  # noqa: PLR2004 (two people)
        return None
    from scipy.special import chdtrc

    share = missing / total
    statistic = sum(
        (count - done[name] - count * share) ** 2 / (count * share * (1 - share)) for name, count in assigned.items()
    )
    return float(chdtrc(len(assigned) - 1, statistic))
