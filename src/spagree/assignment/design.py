"""A seeded random assignment of annotators to items.

Without limits or skills the design is cyclic. Put the annotators in a random circle. A block of as many items as there
are annotators gives item i the people at places i + d₁, …, i + d_k, so everyone gets exactly k items of the block, and
any two people d places apart share one item for each pair of offsets that is d apart. Choosing the offsets of each
block to use all distances equally often balances the pairs. Items left over after the last full block, and all items
if people have limits, skills or earlier annotations, are assigned one by one to those with the least work.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars

from spagree.codes import Ints
from spagree.errors import DataError, UsageError, count

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
    """Who has which item so far; annotations are assigned one by one, exactly.

    A person who is full passes an item to someone who can take it, along an augmenting path of bipartite matching: if
    no path leads to a person with room, no assignment can fit one more annotation of the item.
    """

    def __init__(
        self,
        people: Sequence[Person],
        kinds: Sequence[str] | None = None,
        done: Iterable[tuple[int, int]] = (),
        met_before: Callable[[int], Ints] | None = None,
    ) -> None:
        """``met_before`` says how many items of an earlier part of the design a person shares with everybody."""
        self.people, self.kinds, self.met_before = people, kinds, met_before
        self.done: defaultdict[int, list[int]] = defaultdict(list)  # item → people
        self.load = np.zeros(len(people), dtype=np.int64)
        for item, person in done:
            self.done[item].append(person)
            if person < len(people):  # the others have left
                self.load[person] += 1
        self.limit = np.array([np.iinfo(np.int64).max if p.limit is None else p.limit for p in people])
        self.people_of: defaultdict[int, list[int]] = defaultdict(list)  # item → people
        self.items_of: list[set[int]] = [set() for _ in people]  # person → items
        self.met: list[Counter[int]] = [Counter() for _ in people]  # person → items shared with others
        self._able: dict[str | None, NDArray[np.int64]] = {}

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
        met = np.zeros(len(self.people), dtype=np.int64)
        for person in self.people_of[item]:
            met += 0 if self.met_before is None else self.met_before(person)
            for other, times in self.met[person].items():
                met[other] += times
        self._give(item, int(open_[np.lexsort((random.random(len(open_)), met[open_], self.load[open_]))[0]]))

    def _free(self, item: int) -> NDArray[np.int64]:
        """Who can do the item and does not have it yet."""
        able = self.able(item)
        return able[~np.isin(able, self.people_of[item] + self.done[item])]

    def _give(self, item: int, person: int) -> None:
        for other in self.people_of[item]:
            self.met[person][other] += 1
            self.met[other][person] += 1
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
                self.met[giver][other] -= 1
                self.met[other][giver] -= 1
            self._give(passed, person)
            person = giver
        self._give(item, person)


TRIES = 500  # swaps tried to connect people who share no item


@dataclass(frozen=True, slots=True)
class Balance:
    """How balanced a design is: work per person, items per pair of people, groups that never meet."""

    items: int
    annotations: int
    annotators: int
    least_work: int
    most_work: int
    fewest_shared: int | None
    most_shared: int | None
    groups: int
    """Number of groups that share no item, directly or through others: 1 if all people can be compared."""


@dataclass(frozen=True)
class Assignment:
    """Who gets which item. ``items[i]`` goes to ``people[j]`` for each row (i, j) of ``rows``.

    >>> assign(["q1", "q2", "q3"], ["ann", "bob", "cyd"], per_item=2).balance.most_work
    2
    """

    items: tuple[str, ...]
    people: tuple[Person, ...]
    rows: Ints = field(repr=False)
    per_item: int
    seed: int
    everyone: tuple[str, ...] = ()
    """Items that everyone gets."""

    def frame(self) -> polars.DataFrame:
        """One row per annotation to make: ``item, annotator``, in item order."""
        names = polars.Series("annotator", [person.name for person in self.people], dtype=polars.String)
        items = polars.Series("item", self.items, dtype=polars.String)
        return polars.DataFrame([items.gather(self.rows[:, 0]), names.gather(self.rows[:, 1])])

    @cached_property
    def balance(self) -> Balance:
        """How even the design is."""
        people = len(self.people)
        work = np.bincount(self.rows[:, 1], minlength=people)
        shared = _shared_items(self.rows, len(self.items), people)
        others = shared.copy()
        others.setdiag(0)
        others.eliminate_zeros()
        everybody_met = len(others.data) == people * (people - 1)
        return Balance(
            items=len(np.unique(self.rows[:, 0])),
            annotations=len(self.rows),
            annotators=people,
            least_work=int(work.min()),
            most_work=int(work.max()),
            fewest_shared=(int(others.data.min()) if everybody_met else 0) if people > 1 else None,
            most_shared=int(others.data.max(initial=0)) if people > 1 else None,
            groups=_groups(shared)[0],
        )


def assign(
    items: Sequence[str] | Mapping[str, str],
    annotators: int | Sequence[str | Person],
    per_item: int,
    *,
    everyone: int = 0,
    existing: Iterable[tuple[str, str]] = (),
    kept: Iterable[tuple[str, str]] = (),
    seed: int = 0,
) -> Assignment:
    """Assign every item to ``per_item`` different annotators, at random and evenly.

    ``items`` are ids, or ids with the kind of each (a language, a topic) for people who ``can`` only do some kinds.
    ``annotators`` are names, :class:`Person` objects, or a number of people. ``everyone`` is how many random items all
    annotators get: a calibration set. ``existing`` are (item, annotator) pairs already done: items are topped up to
    ``per_item``, and nobody gets an item twice. ``kept`` are pairs of an earlier design that are still open. The same
    seed gives the same design.

    >>> design = assign([f"q{i}" for i in range(10)], 5, per_item=3, seed=1)
    >>> design.balance.least_work, design.balance.most_work, design.balance.groups
    (6, 6, 1)
    """
    named = numbered(annotators) if isinstance(annotators, int) else annotators
    people = tuple(each if isinstance(each, Person) else Person(each) for each in named)
    names, kinds = tuple(items), tuple(items.values()) if isinstance(items, Mapping) else None
    _check(names, people, per_item, everyone)
    random = np.random.default_rng(seed)
    order = random.permutation(len(names))
    able = [i for i in order.tolist() if kinds is None or all(p.can is None or kinds[i] in p.can for p in people)]
    limit = min((p.limit for p in people if p.limit is not None), default=everyone)
    if everyone > min(len(able), limit):
        raise UsageError(
            f"everyone {everyone}: all can do {count(len(able), 'item')}, and the lowest limit is {limit:,}; "
            "ask for fewer"
        )
    shared = np.array(able[:everyone], dtype=np.int64)
    dealt = order[~np.isin(order, shared)]
    done, open_ = _placed(existing, names, people), _placed(kept, names, people)
    own = [pair for pair in open_ if pair not in done]
    calibration = [(i, j) for i in shared.tolist() for j in range(len(people)) if (i, j) not in done | open_]
    is_free = all(person.limit is None and (person.can is None or kinds is None) for person in people)
    if is_free and not done | open_:
        work = _cyclic(dealt, people, per_item, random)
    else:
        work = _deal(dealt, PartialAssignment(people, kinds, {*done, *open_, *calibration}), per_item, random)
    rows = np.concatenate([np.array([*calibration, *own], dtype=np.int64).reshape(-1, 2), work])
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    return Assignment(names, people, rows, per_item, seed, tuple(names[i] for i in sorted(shared.tolist())))


def numbered(people: int) -> list[str]:
    """Names for unnamed people."""
    width = len(str(people))
    return [f"annotator{number:0{width}}" for number in range(1, people + 1)]


def _check(names: Sequence[str], people: Sequence[Person], per_item: int, everyone: int) -> None:
    if not names:
        raise DataError("there are no items to assign; check the item file")
    for what, listed in (("item", names), ("annotator", [person.name for person in people])):
        if len(set(listed)) < len(listed):
            twice = Counter(listed).most_common(1)[0][0]
            raise DataError(f"{what} {twice!r} is listed twice; list each {what} once")
    if per_item < 1:
        raise UsageError(f"per_item {per_item}: annotations per item, 1 or more; agreement needs 2")
    if per_item > len(people):
        raise UsageError(
            f"per_item {per_item}: more than {count(len(people), 'annotator')}, and nobody annotates an item twice; "
            "name more annotators, or ask for fewer annotations per item"
        )
    if everyone < 0:
        raise UsageError(f"everyone {everyone}: how many items all annotators get, 0 or more")


def _placed(pairs: Iterable[tuple[str, str]], names: Sequence[str], people: Sequence[Person]) -> set[tuple[int, int]]:
    """Pairs of names as indices; unrequested items are dropped, and people who left get their own index."""
    item_at = {name: place for place, name in enumerate(names)}
    person_at = {person.name: place for place, person in enumerate(people)}
    placed = set()
    for item, name in pairs:
        if item in item_at:
            placed.add((item_at[item], person_at.setdefault(name, len(person_at))))
    return placed


def _cyclic(items: Ints, everybody: Sequence[Person], k: int, random: np.random.Generator) -> Ints:
    """Full blocks by offsets on a circle, the remainder one by one."""
    people = len(everybody)
    circle = random.permutation(people)
    place_of = np.argsort(circle)
    blocks = len(items) // people if people > k else 0  # with k people everyone gets everything
    used = np.zeros(people, dtype=np.int64)  # how often each distance was used, in both directions
    places = np.arange(people)
    rows = []
    for block in range(blocks):
        offsets = _offsets(used, people, k, random)
        members = circle[(places[:, None] + offsets[None, :]) % people]
        own = items[block * people : (block + 1) * people]
        rows.append(np.column_stack([np.repeat(own, k), members.ravel()]))
    rest = PartialAssignment(everybody, met_before=lambda person: used[(place_of - place_of[person]) % people])
    rows.append(_deal(items[blocks * people :], rest, k, random))
    dealt = np.concatenate(rows)
    return dealt if blocks else _connected(dealt, people, k, random)


def _offsets(used: Ints, people: int, k: int, random: np.random.Generator) -> Ints:
    """The offsets of a block, each chosen so its distances to the others are the least used; updates ``used``."""
    chosen = [0]
    noise = random.random(people)
    while len(chosen) < k:
        distances = (np.arange(people)[:, None] - np.array(chosen)[None, :]) % people
        worst, sums = used[distances].max(axis=1), used[distances].sum(axis=1)
        taken = np.isin(np.arange(people), chosen)
        first = 1 if not used.any() and len(chosen) == 1 else None  # neighbours first: connects everyone
        best = first or int(np.lexsort((noise, sums, worst, taken))[0])
        for other in chosen:
            for distance in {(best - other) % people, (other - best) % people}:
                used[distance] += 2 if 2 * distance == people else 1
        chosen.append(best)
    return np.array(chosen)


def _connected(rows: Ints, people: int, k: int, random: np.random.Generator) -> Ints:
    """Swap people between items of different groups until all are connected, if there are enough items."""
    places = np.unique(rows[:, 0], return_inverse=True)[1]
    items = int(places.max()) + 1
    if k == 1 or items * (k - 1) < people - 1:
        return rows
    connected = rows.copy()
    groups, group_of = _groups(_shared_items(np.column_stack([places, connected[:, 1]]), items, people))
    for _ in range(TRIES if groups > 1 else 0):
        smallest = np.argmin(np.bincount(group_of))
        inside = group_of[connected[:, 1]] == smallest
        one, other = random.choice(np.flatnonzero(inside)), random.choice(np.flatnonzero(~inside))
        trial = connected.copy()
        trial[[one, other], 1] = connected[[other, one], 1]
        after = _groups(_shared_items(np.column_stack([places, trial[:, 1]]), items, people))
        if after[0] <= groups:
            connected, (groups, group_of) = trial, after
        if groups == 1:
            break
    return connected


def _deal(items: Ints, partial: PartialAssignment, k: int, random: np.random.Generator) -> Ints:
    """Give each item to eligible people with the least work; others make room if nobody has any left."""
    scarce = sorted(items.tolist(), key=lambda item: len(partial.able(item)))  # stable: random among equals
    for item in scarce:
        for _ in range(k - len(partial.done[item]) - len(partial.people_of[item])):
            try:
                partial.add(item, random)
            except NoRoom:
                able, placed = len(partial.able(item)), count(len(partial.rows()), "annotation")
                kind = f" of kind {partial.kinds[item]!r}" if partial.kinds is not None else ""
                few = f"only {count(able, 'annotator')}" if able else "no annotator"
                raise DataError(
                    f"items{kind} need {count(k, 'annotator')} each, and {few} can take them; name more people for them"
                    if able < k
                    else f"there is not enough room: after {placed}, nobody below their limit can take an item{kind}; "
                    "raise the limits, name more people, or ask for fewer annotations per item"
                ) from None
    return np.array(partial.rows(), dtype=np.int64).reshape(-1, 2)


def _shared_items(rows: Ints, items: int, people: int):  # type: ignore[no-untyped-def]  # scipy has no types
    """Items shared by each pair of people, as a sparse matrix."""
    from scipy.sparse import csr_array

    ones = np.ones(len(rows), dtype=np.int32)
    member = csr_array((ones, (rows[:, 0], rows[:, 1])), shape=(items, people))
    return (member.T @ member).tocsr()


def _groups(shared) -> tuple[int, Ints]:  # type: ignore[no-untyped-def]
    from scipy.sparse.csgraph import connected_components

    return connected_components(shared, directed=False)  # type: ignore[no-any-return]
