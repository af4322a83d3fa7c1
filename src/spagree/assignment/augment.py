"""Assigning annotations one by one, exactly: a person who is full passes an item to someone who can take it.

This is the augmenting path of bipartite matching: if no path of such exchanges leads to a person with room, no
assignment can fit one more annotation of the item.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Person:
    """An annotator; at most ``limit`` items, and only items of the kinds in ``can`` (None: all kinds).

    >>> Person("ann", limit=50, can=frozenset({"de", "en"})).limit
    50
    """

    name: str
    limit: int | None = None
    can: frozenset[str] | None = None


class NoRoom(Exception):  # noqa: N818 (an outcome, not a fault)
    """Nobody can take the item, even after exchanges."""


class PartialAssignment:
    """Who has which item so far."""

    def __init__(self, people: Sequence[Person], kinds: Sequence[str] | None, done: set[tuple[int, int]]) -> None:
        self.people, self.kinds = people, kinds
        self.done = done
        self.before = Counter(item for item, _ in done)
        self.load = np.zeros(len(people), dtype=np.int64)
        for _, person in done:
            if person < len(people):  # the others have left
                self.load[person] += 1
        self.limit = np.array([np.iinfo(np.int64).max if p.limit is None else p.limit for p in people])
        self.people_of: dict[int, list[int]] = {}  # item → people
        self.items_of: list[set[int]] = [set() for _ in people]  # person → items
        self.shared: Counter[tuple[int, int]] = Counter()
        self._able: dict[str | None, NDArray[np.int64]] = {}

    def already(self, item: int) -> int:
        """Annotations of an item already done or assigned."""
        return self.before[item] + len(self.people_of.get(item, ()))

    def size(self) -> int:
        """Annotations assigned so far."""
        return sum(len(items) for items in self.items_of)

    def rows(self) -> list[tuple[int, int]]:
        """Every assigned (item, person)."""
        return [(item, person) for item, people in self.people_of.items() for person in people]

    def able(self, item: int) -> NDArray[np.int64]:
        """The people who can do items of this kind."""
        kind = None if self.kinds is None else self.kinds[item]
        if kind not in self._able:
            can = [j for j, p in enumerate(self.people) if p.can is None or kind is None or kind in p.can]
            self._able[kind] = np.array(can, dtype=np.int64)
        return self._able[kind]

    def add(self, item: int, random: np.random.Generator) -> None:
        """Give the item to one more person: one with room, the least work, and few items shared with the others."""
        free = self._free(item)
        open_ = free[self.load[free] < self.limit[free]]
        if not len(open_):
            self._exchange(item)
            return
        group = self.people_of.get(item, [])
        met = np.array([sum(self.shared[_key(j, g)] for g in group) for j in open_.tolist()])
        self._give(item, int(open_[np.lexsort((random.random(len(open_)), met, self.load[open_]))[0]]))

    def _free(self, item: int) -> NDArray[np.int64]:
        """Who can do the item and does not have it yet."""
        able = self.able(item)
        return able[[item not in self.items_of[j] and (item, j) not in self.done for j in able.tolist()]]

    def _give(self, item: int, person: int) -> None:
        for other in self.people_of.setdefault(item, []):
            self.shared[_key(person, other)] += 1
        self.people_of[item].append(person)
        self.items_of[person].add(item)
        self.load[person] += 1

    def _exchange(self, item: int) -> None:
        """Breadth-first search: full people pass an item on until someone has room."""
        came_from: dict[int, tuple[int, int] | None] = dict.fromkeys(self._free(item).tolist())
        queue = deque(came_from)
        while queue:
            person = queue.popleft()
            for other, passed in self._takers(person):
                if other in came_from:
                    continue
                came_from[other] = (person, passed)
                if self.load[other] < self.limit[other]:
                    self._follow(item, other, came_from)
                    return
                queue.append(other)
        raise NoRoom

    def _takers(self, person: int) -> Iterator[tuple[int, int]]:
        """Who could take which item from a person."""
        for passed in sorted(self.items_of[person]):
            for other in self._free(passed).tolist():
                yield other, passed

    def _follow(self, item: int, last: int, came_from: dict[int, tuple[int, int] | None]) -> None:
        """Perform the exchanges from the person with room back to the item."""
        person = last
        while (step := came_from[person]) is not None:
            giver, passed = step
            self.people_of[passed].remove(giver)
            self.items_of[giver].discard(passed)
            self.load[giver] -= 1
            for other in self.people_of[passed]:
                self.shared[_key(giver, other)] -= 1
            self._give(passed, person)
            person = giver
        self._give(item, person)


def _key(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)
