"""Simulated projects to watch: items of unequal difficulty, in random order or in batches, labels changed and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spagree.estimate.closed_items import closed_items

ITEMS, PEOPLE, PER_ITEM, CLASSES = 1000, 50, 3, 3
STRETCHES = 5  # after each of them 2% of the labels so far are changed, and 1% of the annotations deleted
UNEQUAL = 0.8  # spread of the difficulty of batches, in logits
RARE = 0.15  # share of hard batches where most are alike
Array = np.ndarray


@dataclass(frozen=True)
class SimulatedProject:
    """The annotations of a project, three for each item in a row, and how likely two people agree on each item."""

    who: Array
    label: Array
    agree: Array
    right: Array
    truth: Array

    def drawn(self, random: np.random.Generator, places: Array) -> Array:
        """Other labels that the same people might have given."""
        item = places // PER_ITEM
        is_right = random.random(len(places)) < self.right[item]
        labels: Array = np.where(is_right, self.truth[item], random.integers(0, CLASSES, len(places)))
        return labels


def project(
    random: np.random.Generator, items: int = ITEMS, *, drop: int = 0, shift: float = 0.0, careless: float = 0.0, batch: int = 0,
    law: str = "normal",
) -> SimulatedProject:  # fmt: skip
    """From item ``drop`` on people are right less often by ``shift``; annotator 0 is careless; batches begin anywhere."""
    easy = random.normal(1.8, 1.0, items)
    if batch:
        easy += batches(random, items // batch + 2, law).repeat(batch)[random.integers(batch) :][:items]
    right = 1 / (1 + np.exp(-easy))
    if drop:
        right[drop:] = np.maximum(right[drop:] - shift, 0)
    item = np.repeat(np.arange(items), PER_ITEM)
    who = np.argsort(random.random((items, PEOPLE)), axis=1)[:, :PER_ITEM].ravel()
    truth = random.integers(0, CLASSES, items)
    is_right = random.random(len(item)) < right[item]
    is_right &= ~((who == 0) & (random.random(len(item)) < careless))
    label = np.where(is_right, truth[item], random.integers(0, CLASSES, len(item)))
    hit = right + (1 - right) / CLASSES
    return SimulatedProject(who, label, hit**2 + (1 - hit) ** 2 / (CLASSES - 1), right, truth)


def batches(random: np.random.Generator, number: int, law: str) -> Array:
    """How easy each batch is, in logits, around 0: normally distributed, of two kinds, or a few hard ones."""
    if law == "normal":
        return random.normal(0, UNEQUAL, number)
    hard = random.random(number) < (0.5 if law == "two kinds" else RARE)
    ease: Array = (
        np.where(hard, -UNEQUAL, UNEQUAL) if law == "two kinds" else np.where(hard, -2.2 * UNEQUAL, 0.4 * UNEQUAL)
    )
    return ease


def watched(random: np.random.Generator, simulated: SimulatedProject) -> Iterator[tuple[int, int, Array, Array, Array]]:
    """Each stretch of a project with what counts at its end: where it begins and ends, items, people, labels.

    Before each stretch but the first some labels are changed and some annotations deleted.
    """
    items = len(simulated.agree)
    label, kept = simulated.label.copy(), np.ones(len(simulated.label), bool)
    for stretch in range(STRETCHES):
        begin, end = stretch * items // STRETCHES, (stretch + 1) * items // STRETCHES
        past = np.arange(len(label)) < begin * PER_ITEM
        changed = np.flatnonzero(past & (simulated.who > 0) & (random.random(len(label)) < 0.02))
        label[changed] = simulated.drawn(random, changed)
        kept &= ~(past & (random.random(len(label)) < 0.01))
        now = np.flatnonzero(kept[: end * PER_ITEM])
        yield begin, end, now // PER_ITEM, simulated.who[now], label[now]


def agreements(seed: int, items: int, **more: float | str) -> Array:
    simulated = project(np.random.default_rng([2, seed]), items, **more)  # type: ignore[arg-type]
    item = np.repeat(np.arange(items), PER_ITEM)
    values: Array = closed_items(item, simulated.who, simulated.label, 2).agreement()
    return values


def shift_for(fall: float) -> float:
    """How much less often people must be right for agreement to fall so far."""
    low, high = 0.0, 0.5
    for _ in range(12):
        middle = (low + high) / 2
        simulated = project(np.random.default_rng(5), 100_000, drop=50_000, shift=middle)
        is_enough = simulated.agree[:50_000].mean() - simulated.agree[50_000:].mean() >= fall
        low, high = (low, middle) if is_enough else (middle, high)
    return high
