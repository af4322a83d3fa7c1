"""Worlds with a known truth, none of them spagree's own simulator.

A world says how random items and random people are drawn, and how likely a person is to give an item each label. Its
truth, the agreement of two random people on a random item, is that of many such meetings. A design says how many
annotations each item gets, and a roster who makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Random = np.random.Generator
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Drawn = Callable[[int, Random], Mapping[str, Any]]
Chances = Callable[[Mapping[str, Any], Mapping[str, Any]], Floats]

EVEN, THREE, RARE, FOUR = (0.5, 0.5), (0.5, 0.3, 0.2), (0.95, 0.05), (0.9, 0.06, 0.03, 0.01)
MEETINGS = 400_000
TRIED = 20_000


@dataclass(frozen=True)
class World:
    """Random items and people with what makes them different, and the chances of each label for rows of both."""

    items: Drawn
    people: Drawn
    chances: Chances

    def meetings(self, size: int) -> tuple[Floats, Floats]:
        """The chances of two random people, one row per random item."""
        random = np.random.default_rng(2)
        items = self.items(size, random)
        return self.chances(items, self.people(size, random)), self.chances(items, self.people(size, random))

    def truth(self, size: int = MEETINGS) -> tuple[float, float]:
        """Agreement of two random people on a random item, and by chance."""
        one, other = self.meetings(size)
        shares = (one.mean(axis=0) + other.mean(axis=0)) / 2
        return float((one * other).sum(axis=1).mean()), float((shares**2).sum())

    def labels(self, item: Ints, who: Ints, random: Random, people: Mapping[str, Any] | None = None) -> Ints:
        """A label for each annotation; items, and people unless they are given, are drawn afresh, numbered from 0."""
        items = self.items(int(item.max()) + 1, random)
        people = self.people(int(who.max()) + 1, random) if people is None else people
        chances = self.chances(
            {name: each[item] for name, each in items.items()}, {name: each[who] for name, each in people.items()}
        )
        return np.asarray((random.random((len(item), 1)) > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1))

    def votes(self, n: Ints, random: Random) -> Ints:
        """How often each item got each label, where every annotation is by somebody else."""
        item = np.repeat(np.arange(len(n)), n)
        label = self.labels(item, np.arange(len(item)), random)
        classes = self.meetings(1)[0].shape[1]
        return np.bincount(item * classes + label, minlength=len(n) * classes).reshape(len(n), classes)


def knowing(shift: float, shares: tuple[float, ...] = THREE, items: float = 1.5, people: float = 0.7) -> World:
    """People know the right label with a chance that depends on item and person, on a logit scale, or else guess."""
    return World(
        lambda size, random: {
            "right": random.choice(len(shares), size, p=shares),
            "ease": shift + random.normal(0, items, size),
        },
        lambda size, random: {"skill": random.normal(0, people, size)},
        lambda item, person: _known(item["right"], 1 / (1 + np.exp(-item["ease"] - person["skill"])), shares),
    )


def confusing(right: float, shares: tuple[float, ...] = THREE, alike: float = 20.0, spammers: float = 0.0) -> World:
    """Dawid and Skene: everybody has a confusion matrix, with rows drawn around a common one; spammers see nothing.

    The common one is right with that chance, and otherwise takes a class for the next one or for a common one.
    """
    size = len(shares)
    mistaken = (np.roll(np.eye(size), 1, axis=1) + np.array(shares)) / 2
    common = right * np.eye(size) + (1 - right) * mistaken + 1e-9

    def people(number: int, random: Random) -> dict[str, Any]:
        gammas = random.gamma(np.broadcast_to(alike * common, (number, size, size)))
        matrix = gammas / gammas.sum(axis=2, keepdims=True)
        spams, constant = random.random(number) < spammers, np.eye(size)[random.integers(size, size=number)]
        blind = np.where(random.random((number, 1)) < 0.5, constant, 1 / size)
        return {"matrix": np.where(spams[:, None, None], blind[:, None, :], matrix), "other kind": spams}

    return World(
        lambda number, random: {"right": random.choice(size, number, p=shares)},
        people,
        lambda item, person: person["matrix"][np.arange(len(item["right"])), item["right"]],
    )


def schools(open_items: float, shares: tuple[float, ...] = THREE, team: int = 1, careful: float = 0.97) -> World:
    """Two schools of thought see some items differently, and nobody is worse than the others.

    With a ``team``, so many people in a row are of one school.
    """
    classes = len(shares)

    def items(size: int, random: Random) -> dict[str, Any]:
        right = random.choice(classes, size, p=shares)
        other = (right + 1 + random.integers(classes - 1, size=size)) % classes
        return {"right": right, "other": np.where(random.random(size) < open_items, other, right)}

    def people(size: int, random: Random) -> dict[str, Any]:
        return {"other kind": np.repeat(random.random(-(-size // team)) < 0.5, team)[:size]}

    return World(
        items,
        people,
        lambda item, person: _known(
            np.where(person["other kind"], item["other"], item["right"]),
            np.full(len(item["right"]), careful),
            shares,
        ),
    )


def differing(kappa: float, shares: tuple[float, ...] = THREE) -> World:
    """Every item has class shares of its own, from a Dirichlet distribution; people are alike. At 0 items are too."""

    def items(size: int, random: Random) -> dict[str, Any]:
        if kappa <= 0:
            return {"shares": np.broadcast_to(shares, (size, len(shares)))}
        gammas = random.gamma(np.broadcast_to(np.array(shares) * (1 / kappa - 1), (size, len(shares)))) + 1e-300
        return {"shares": gammas / gammas.sum(axis=1, keepdims=True)}

    return World(items, lambda size, _: {"anybody": np.zeros(size)}, lambda item, _: item["shares"])


def alike(agreement: float) -> World:
    """Two labels that every item gets with the same chances."""
    rare = (1 - np.sqrt(2 * agreement - 1)) / 2
    return differing(0.0, (1 - rare, rare))


def rating(between: float, within: float, people: float = 0.3) -> World:
    """Five points of a scale: an item has a place on it, people see it with noise and a leaning of their own."""
    cuts = np.array([1.5, 2.5, 3.5, 4.5])

    def chances(item: Mapping[str, Any], person: Mapping[str, Any]) -> Floats:
        below = ndtr((cuts - (item["place"] + person["leaning"])[:, None]) / within)
        return np.diff(below, axis=1, prepend=0.0, append=1.0)

    return World(
        lambda size, random: {"place": random.normal(3, between, size)},
        lambda size, random: {"leaning": random.normal(0, people, size)},
        chances,
    )


def in_clusters(shift: float, spread: float, size: int = 10) -> World:
    """As ``knowing``, with items in clusters of so many in a row that share a shift of difficulty."""

    def items(number: int, random: Random) -> dict[str, Any]:
        shared = np.repeat(random.normal(0, spread, -(-number // size)), size)[:number]
        return {
            "right": random.integers(2, size=number),
            "ease": shift + shared + random.normal(0, 0.5, number),
        }

    return replace(knowing(shift, EVEN), items=items)


def _known(seen: Ints, known: Floats, shares: tuple[float, ...]) -> Floats:
    return np.asarray(known[:, None] * np.eye(len(shares))[seen] + (1 - known[:, None]) * np.array(shares))


def with_agreement(make: Callable[[float], World], target: float, low: float, high: float) -> World:
    """The world whose agreement is the target; agreement grows from ``low`` to ``high``."""
    return _reached(make, target, low, high, lambda observed, _: observed)


def with_kappa(make: Callable[[float], World], target: float, low: float, high: float) -> World:
    """The world whose agreement beyond chance is the target."""
    return _reached(make, target, low, high, lambda observed, expected: (observed - expected) / (1 - expected))


def _reached(
    make: Callable[[float], World], target: float, low: float, high: float, value: Callable[[float, float], float]
) -> World:
    for _ in range(18):
        middle = (low + high) / 2
        low, high = (middle, high) if value(*make(middle).truth(TRIED)) < target else (low, middle)
    world = make((low + high) / 2)
    if abs(value(*world.truth()) - target) > 0.02:
        raise ValueError(f"a target of {target} cannot be reached")
    return world


# How many annotations an item gets ------------------------------------------------------------


def _heavy(share: float, most: int) -> Callable[[int, Random], Ints]:
    return lambda items, _: np.where(np.arange(items) < share * items, most, 2)


def _zipf(most: int) -> Callable[[int, Random], Ints]:
    return lambda items, random: np.minimum(1 + random.zipf(2.0, items), most)


DESIGNS: dict[str, Callable[[int, Random], Ints]] = {
    "2": lambda items, _: np.full(items, 2),
    "3": lambda items, _: np.full(items, 3),
    "2–5": lambda items, random: random.integers(2, 6, items),
    "5% of 50": _heavy(0.05, 50),
    "10% of 20": _heavy(0.1, 20),
    "Zipf to 20": _zipf(20),
    "Zipf to 50": _zipf(50),
    "Zipf to 200": _zipf(200),
}


# Who annotates ---------------------------------------------------------------------------------


def roster(n: Ints, people: int, random: Random, *, zipf: bool = False, team: int = 0) -> tuple[Ints, Ints]:
    """Item and person of each annotation: people at random, or by a Zipf law, or from one team of that size per item."""
    load = 1 / np.arange(1, people + 1) if zipf else np.ones(people)
    keys = np.log(random.permutation(load)) + random.gumbel(size=(len(n), people))  # the largest are drawn
    if team:
        keys[np.arange(people) // team != random.integers(people // team, size=(len(n), 1))] = -np.inf
    who = np.argsort(-keys, axis=1)[:, : int(n.max())]
    given = np.arange(who.shape[1]) < n[:, None]
    return np.repeat(np.arange(len(n)), given.sum(axis=1)), who[given]


@cache
def truth(world: World) -> tuple[float, float]:
    """Agreement and agreement by chance, computed once."""
    return world.truth()
