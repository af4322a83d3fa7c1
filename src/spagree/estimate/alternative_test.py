"""The alternative annotator test of Calderon, Reichart and Dror (2025), exactly as the paper defines it.

Each person is left out in turn: on how many of their items does the model agree with the remaining people at least as
often as the person does (ρ of the model), and the person at least as often as the model (ρ of the person)? Each person
with 30 or more items gets a t test of d = W_person − W_model against ε, with the Benjamini–Yekutieli correction over
all of them; ω is the share of people the model beats, and the model passes if ω ≥ 0.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spagree.estimate.influence import Pairable
from spagree.estimate.item_groups import Floats

FEWEST_ITEMS = 30
EPSILON = 0.1
FALSE_DISCOVERIES = 0.05
PASSES = 0.5


@dataclass(frozen=True, slots=True)
class AlternativeTest:
    """ω and ρ with the counts behind them; None if nobody has 30 items."""

    omega: float | None
    rho: float | None
    epsilon: float
    annotators: int
    annotators_left_out: int
    annotations: int
    annotations_left_out: int

    @property
    def passes(self) -> bool | None:
        """Whether the model beats at least half of the people."""
        return None if self.omega is None else self.omega >= PASSES


def alternative_test(people: Pairable, match: Floats, epsilon: float = EPSILON) -> AlternativeTest:
    """The test on people's annotations, each with how much it agrees with the model."""
    model = people.per_item(match)[people.place] - match
    wins, loses = model >= people.agree - 1e-9, people.agree >= model - 1e-9
    made = people.per_annotator(np.ones(len(match)))
    tested = made >= FEWEST_ITEMS
    counts = (
        int(tested.sum()),
        int((~tested).sum()),
        int(made[tested].sum()),
        int(made[~tested].sum()),
    )
    if not tested.any():
        return AlternativeTest(None, None, epsilon, *counts)
    ahead = loses.astype(np.float64) - wins
    p = _p_values(people, ahead, epsilon)[tested]
    rho = (people.per_annotator(wins.astype(np.float64)) / made)[tested]
    return AlternativeTest(float(_discoveries(p).mean()), float(rho.mean()), epsilon, *counts)


def _p_values(people: Pairable, ahead: Floats, epsilon: float) -> Floats:
    """One-sided t tests of mean < ε, one per person."""
    from scipy.special import stdtr

    made = people.per_annotator(np.ones(len(ahead)))
    mean = people.per_annotator(ahead) / made
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = people.per_annotator((ahead - mean[people.of]) ** 2) / (made - 1)
        t = (mean - epsilon) / np.sqrt(variance / made)
        certain = np.where(mean < epsilon, 0.0, 1.0)
        return np.asarray(np.where(variance > 0, stdtr(made - 1, t), certain))


def _discoveries(p: Floats) -> Floats:
    """Which hypotheses the Benjamini–Yekutieli procedure rejects, as 1 and 0.

    >>> _discoveries(np.array([0.001, 0.5, 0.01])).tolist()
    [1.0, 0.0, 1.0]
    """
    size = len(p)
    order = np.argsort(p, kind="stable")
    limits = np.arange(1, size + 1) * FALSE_DISCOVERIES / size / np.sum(1 / np.arange(1, size + 1))
    below = np.flatnonzero(p[order] <= limits)
    rejected = np.zeros(size)
    rejected[order[: below[-1] + 1 if len(below) else 0]] = 1.0
    return rejected
