"""Who annotated items together: teams that never met, thin bridges between teams, isolated annotators.

Annotators are connected when they share an item. A single SPA for disconnected teams is an average over teams; nothing
in the data shows whether the teams agree with each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spagree.counts.coded import Coded
from spagree.errors import count
from spagree.estimate.meetings import acquaintances
from spagree.grouping import AnyInts, Ints, counted, run_starts
from spagree.understood import Caution

THIN = 5
CHEAP_ANNOTATIONS = 100_000
CHEAP_MEETINGS = 300_000
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Team:
    """Annotators connected by items they share, directly or through others."""

    annotators: tuple[str, ...]
    items: int
    """Items its members annotated."""


@dataclass(frozen=True, slots=True)
class Bridge:
    """A team within a team, connected to the rest by only a few items."""

    team: Team
    items: int
    """Items it shares with the rest: fewer than 5."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """How annotators are connected; teams have two or more members, largest first."""

    annotators: int
    teams: tuple[Team, ...]
    thin_bridges: tuple[Bridge, ...]
    alone: tuple[str, ...]
    """Annotators who share no item with anyone."""
    single_items: int
    """Items annotated once."""
    unknown: int = 0
    """Annotations by unknown annotators, who may connect teams that look disconnected."""
    alone_annotations: int = 0
    """Annotations by those who share no item."""


def overlap(codes: Coded, *, bridges: bool = True) -> Overlap:
    """The graph of annotators who share items; finding thin bridges looks at every pair that met.

    >>> ints = lambda *values: np.array(values, dtype=np.int32)
    >>> links = overlap(Coded(ints(0, 0, 1, 1, 2), ints(0, 1, 2, 3, 4), ints(0, 0, 0, 0, 0), tuple("abcde"), ("x",)))
    >>> [team.annotators for team in links.teams], links.alone, links.single_items
    ([('a', 'b'), ('c', 'd')], ('e',), 1)
    """
    size = np.bincount(codes.item, minlength=codes.items)
    shared = (size[codes.item] > 1) & (codes.annotator >= 0)
    people = len(codes.annotators)
    annotations = np.bincount(codes.annotator[codes.annotator >= 0], minlength=people)
    met = np.bincount(codes.annotator[shared], minlength=people) > 0
    group = _connected(codes.item[shared], codes.annotator[shared], people)
    teams = tuple(team for _, team, _ in _teams(codes, group))
    alone = tuple(codes.annotators[place] for place in np.flatnonzero(~met))
    thin = tuple(_bridges(codes, group)) if bridges else ()
    return Overlap(people, teams, thin, alone, int((size == 1).sum()), codes.unknown, int(annotations[~met].sum()))


def team_of_each(codes: Coded) -> Ints:
    """The team of each item, by the lowest code among the annotators it is connected with.

    >>> ints = lambda *values: np.array(values, dtype=np.int32)
    >>> codes = Coded(ints(0, 0, 1, 1, 2), ints(1, 0, 2, 3, 2), ints(0, 0, 0, 0, 0), tuple("abcd"), ("x",))
    >>> team_of_each(codes).tolist()
    [0, 2, 2]
    """
    group = _connected(codes.item, codes.annotator, len(codes.annotators))
    return group[codes.annotator[run_starts(codes.item)]]


def is_small(annotations: int) -> bool:
    """Whether there are few enough annotations to look at all of them by default."""
    return annotations <= CHEAP_ANNOTATIONS


def is_cheap(codes: Coded) -> bool:
    """Whether all pairs that met can be examined by default."""
    size = np.bincount(codes.item, minlength=codes.items)
    return int((size * (size - 1)).sum()) <= 2 * CHEAP_MEETINGS


def _connected(item: AnyInts, who: AnyInts, people: int) -> Ints:
    """A number per annotator, the same for those who are connected: the lowest code among them.

    Equal items are adjacent.
    """
    lowest, starts = np.arange(people), run_starts(item)
    sizes = np.diff(starts, append=len(item))
    while True:
        of_item = np.minimum.reduceat(lowest[who], starts) if len(starts) else lowest[:0]
        lower = lowest.copy()
        np.minimum.at(lower, who, np.repeat(of_item, sizes))
        lower = lower[lower]  # pointer jumping: long chains shorten quickly
        if not lower.any() or (lower == lowest).all():
            return lower
        lowest = lower


def _teams(codes: Coded, group: Ints) -> list[tuple[int, Team, int]]:
    """Groups of at least two, largest first: a member, the team, and the number of items it shares with others."""
    items, between = _footprints(codes, group)
    order = np.argsort(group, kind="stable")
    starts = run_starts(group[order])
    sizes = np.diff(starts, append=len(order))
    teams = []
    for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        members = order[start : start + size].tolist()
        first = members[0]
        team = Team(tuple(codes.annotators[place] for place in members), int(items[first]))
        teams.append((first, team, int(between[first])))
    return sorted(teams, key=lambda each: (-len(each[1].annotators), each[1].annotators))


def _footprints(codes: Coded, group: Ints) -> tuple[Ints, Ints]:
    """Per group: the items its members annotated, and those that others also annotated."""
    named = codes.annotator >= 0
    key = codes.item[named].astype(np.int64) * max(1, len(group)) + group[codes.annotator[named]]
    item, team = np.divmod(counted(key[run_starts(key)])[0], max(1, len(group)))
    shared = np.bincount(item, minlength=codes.items)[item] > 1
    return np.bincount(team, minlength=len(group)), np.bincount(team[shared], minlength=len(group))


def _bridges(codes: Coded, whole: Ints) -> Iterator[Bridge]:
    """Teams linked by pairs with at least five shared items, but linked to the other such teams by fewer."""
    people = len(codes.annotators)
    group = np.arange(people)
    for left, right in acquaintances(codes, THIN):
        apart = group[left] != group[right]
        links = np.stack([group[left[apart]], group[right[apart]]], axis=1)
        group = _connected(np.repeat(np.arange(len(links)), 2), links.ravel(), people)[group]
    teams = _teams(codes, group)
    within = Counter(int(whole[first]) for first, _, _ in teams)
    for first, team, between in teams:
        if within[int(whole[first])] > 1 and between < THIN:
            yield Bridge(team, between)


def overlap_cautions(overlap: Overlap) -> Iterator[Caution]:
    """Only if all annotators are known: an unknown one may have met both sides."""
    if overlap.unknown:
        return
    if len(overlap.teams) > 1:
        sizes = ", ".join(f"{len(team.annotators):,}" for team in overlap.teams[:SHOWN])
        more = ", …" if len(overlap.teams) > SHOWN else ""
        yield Caution(
            "disconnected_teams",
            f"the annotators form {len(overlap.teams):,} teams (of {sizes}{more}) that never annotated an item "
            "together: SPA averages the agreement within teams, and nothing shows whether the teams agree with each "
            "other. Have some items annotated across teams, or measure each team separately.",
        )
    if overlap.thin_bridges:
        bridge = overlap.thin_bridges[-1]
        yield Caution(
            "thin_bridge",
            f"a team of {count(len(bridge.team.annotators), 'annotator')} shares only {count(bridge.items, 'item')} "
            "with all the others, and nothing else can show whether they agree with each other. Have more items "
            "annotated across teams.",
        )
