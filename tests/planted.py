"""Annotations with a planted finding, to see whether the next steps name it; not drawn by :mod:`spagree.studies.simulation`.

Careful people give an item's true class with probability 0.86, on harder items less often, and otherwise any other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Rows = list[tuple[str, str, str, float]]
Maker = Callable[[int], Rows]
ITEMS, PEOPLE, CLASSES = 240, 8, 4
CARE = 0.86
BATCH = slice(120, 150)


def drawn(seed: int, per_item: int = 4, scale: bool = False) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Who annotates which item, and careful labels: items × people, −1 where there is none."""
    random = np.random.default_rng(seed)
    asked = np.zeros((ITEMS, PEOPLE), dtype=bool)
    for item in range(ITEMS):
        asked[item, random.choice(PEOPLE, per_item, replace=False)] = True
    truth, hard = random.integers(0, CLASSES, ITEMS), random.beta(8, 2, ITEMS)
    care = np.clip(hard[:, None] * CARE / 0.8 * random.uniform(0.97, 1.03, PEOPLE), 0, 0.98)
    other = (truth[:, None] + random.integers(1, CLASSES, (ITEMS, PEOPLE))) % CLASSES
    if scale:
        other = np.clip(truth[:, None] + random.choice([-1, 1], (ITEMS, PEOPLE)), 0, CLASSES - 1)
    labels = np.where(random.random((ITEMS, PEOPLE)) < care, truth[:, None], other)
    return np.where(asked, labels, -1), truth, random


def nothing(seed: int) -> Rows:
    """Nobody and no class stands out."""
    return rows(drawn(seed)[0])


def confused(seed: int) -> Rows:
    """Classes a and b are told apart in two cases of three."""
    labels, _, random = drawn(seed)
    swapped = (random.random(labels.shape) < 1 / 3) & (labels >= 0) & (labels < 2)
    return rows(np.where(swapped, 1 - labels, labels))


def odd(seed: int) -> Rows:
    """One person guesses half of the time."""
    labels, _, random = drawn(seed)
    guesses = (random.random(ITEMS) < 0.5) & (labels[:, 3] >= 0)
    labels[guesses, 3] = random.integers(0, CLASSES, int(guesses.sum()))
    return rows(labels)


def one_label(seed: int) -> Rows:
    """Two people always give the same label."""
    labels, _, _ = drawn(seed)
    labels[:, 5:7] = np.where(labels[:, 5:7] >= 0, 2, -1)
    return rows(labels)


def copied(seed: int) -> Rows:
    """One person copies another's labels wherever both annotate."""
    labels, _, _ = drawn(seed, per_item=5)
    both = (labels[:, 0] >= 0) & (labels[:, 1] >= 0)
    labels[both, 1] = labels[both, 0]
    return rows(labels)


def scale(seed: int) -> Rows:
    """The labels are points on a scale, and mistakes are one step off."""
    return rows(drawn(seed, scale=True)[0], "1234")


def batch(seed: int) -> Rows:
    """For an eighth of the items, everybody guesses in two cases of three."""
    labels, _, random = drawn(seed)
    chosen = labels[BATCH]
    guessed = random.integers(0, CLASSES, chosen.shape)
    labels[BATCH] = np.where((chosen >= 0) & (random.random(chosen.shape) < 2 / 3), guessed, chosen)
    return rows(labels, timed=True)


PLANTED: dict[str, Maker] = {
    "classes": confused, "annotators": odd, "one_label": one_label, "copies": copied, "scale": scale,
    "period": batch,
}  # fmt: skip
"""The code of the step that should come first → how the data are drawn."""


def rows(labels: np.ndarray, names: str = "abcd", *, timed: bool = False) -> Rows:
    """(item, annotator, label, time), item by item."""
    found = [
        (f"q{item:03}", f"p{person}", names[labels[item, person]], float(1_700_000_000 + 3_600 * item + person))
        for item, person in zip(*np.nonzero(labels >= 0), strict=True)
    ]
    return found if timed else [each[:3] for each in found]  # type: ignore[misc]
