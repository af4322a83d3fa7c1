"""How often intervals of differences hold, and how often verdicts are wrong: simulated with a generator of its own.

    python benchmarks/comparison_coverage.py --rounds 400 > docs/studies/comparisons.md

Items have a right answer and a difficulty (Beta(3, 1)); people have a care of their own; who does not heed the item
labels by the shares of the classes. Two rounds have the same people; in the second they heed less.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from spagree.estimate.comparison import Side, compare_sides
from spagree.estimate.findings import find
from spagree.estimate.influence import Coded, pairable
from spagree.estimate.models import among_people
from spagree.tally.tally import Tally

SHARES = {"balanced": (0.4, 0.3, 0.3), "rare": (0.9, 0.1)}
LABELS = ["0", "1", "2"]


def one_less(n):
    return n - 1.0


class World:
    def __init__(self, rng, items, shares):
        self.rng, self.shares = rng, np.array(shares)
        self.right, self.ease = rng.choice(len(shares), items, p=self.shares), rng.beta(3, 1, items)

    def labels(self, item, care):
        heeded = self.rng.random(len(item)) < care * self.ease[item]
        return np.where(heeded, self.right[item], self.rng.choice(len(self.shares), len(item), p=self.shares))

    def annotate(self, items, care, fewest, most, lapse=0.0):
        n = self.rng.integers(fewest, most + 1, len(items))
        who = np.argsort(self.rng.random((len(items), len(care))), axis=1)
        chosen = np.arange(len(care)) < n[:, None]
        item, person = np.repeat(items, n), who[chosen]
        return Coded(item, person, self.labels(item, care[person] * (1 - lapse)))


def truth(care, shares, lapse):
    """The difference on very many items, for these people."""
    world = World(np.random.default_rng(0), 20_000, shares)
    pi, values = np.array(shares), []
    for lapsed in (care, care * (1 - lapse)):
        heed = np.outer(lapsed, world.ease)
        right = pi[world.right]
        same = heed * 1.0 + (1 - heed) * right
        total = same.sum(axis=0) ** 2 - (same**2).sum(axis=0)
        rest = (1 - heed).sum(axis=0) ** 2 - ((1 - heed) ** 2).sum(axis=0)
        values.append(np.mean((total + rest * ((pi**2).sum() - right**2)) / (len(care) * (len(care) - 1))))
    return values[1] - values[0]


def side(name, coded):
    _, place = np.unique(coded.item, return_inverse=True)
    table = np.zeros((place.max() + 1, 3), dtype=int)
    np.add.at(table, (place, coded.label), 1)
    tally = Tally.from_items([{LABELS[c]: int(k) for c, k in enumerate(row) if k} for row in table])
    findings = find(tally)
    return Side(name, findings.spa, findings.chance["spa_kappa"], {}, pairable(coded, one_less), LABELS)


def coverage(rng, rounds, items, *, shared, shares, overlap, lapse):
    start, held, width = round(items * (1 - shared)), 0, 0.0
    care = rng.uniform(0.6, 0.98, 15)
    gap = truth(care, shares, lapse)
    for _ in range(rounds):
        world = World(rng, items + start, shares)
        a = world.annotate(np.arange(items), care, *overlap)
        b = world.annotate(np.arange(start, start + items), care, 2, 3, lapse)
        (pair,) = compare_sides([side("a", a), side("b", b)], 0.95)
        low, high = pair.difference.low, pair.difference.high
        held += low <= gap <= high
        width += (high - low) / 2
    return held / rounds, width / rounds


def gate(rng, rounds, items, margin):
    """How often a gate of --no-worse-than lets through a second round that is worse by exactly the margin."""
    care = rng.uniform(0.6, 0.98, 15)
    lapses = np.linspace(0, 0.6, 61)
    gaps = np.array([truth(care, SHARES["balanced"], lapse) for lapse in lapses])
    lapse = float(np.interp(-margin, gaps[::-1], lapses[::-1]))
    passed = 0
    for _ in range(rounds):
        world = World(rng, items, SHARES["balanced"])
        a, b = (world.annotate(np.arange(items), care, 2, 4, each) for each in (0.0, lapse))
        (pair,) = compare_sides([side("a", a), side("b", b)], 0.95)
        passed += pair.difference.low > -margin
    return passed / rounds


def verdicts(rng, rounds, items, each, *, model_care, shares):
    """Verdicts on a model, with about ``each`` items per person and three people per item."""
    told, held = Counter(), 0
    for _ in range(rounds):
        world = World(rng, items, shares)
        people = rng.uniform(0.5, 1.0, max(4, round(3 * items / each)))
        coded = world.annotate(np.arange(items), people, 2, 4)
        model = world.labels(np.arange(items), np.full(items, model_care)).tolist()
        found = among_people("m", coded, [dict(enumerate(model))], one_less, LABELS)
        told[found.verdict] += 1
        held += found.difference.low <= 0 <= found.difference.high
    return {name: told[name] / rounds for name in ("as_good", "worse", "cannot_tell")} | {"held": held / rounds}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    print("# Comparisons: how often intervals hold and verdicts are wrong\n")
    print(f"Made by `benchmarks/comparison_coverage.py --rounds {asked.rounds} --seed {asked.seed}`; 95% intervals.")
    print(
        f"A share of 0.95 from {asked.rounds} rounds has a standard error of {(0.95 * 0.05 / asked.rounds) ** 0.5:.3f}.\n"
    )
    print("## Differences between two rounds\n")
    print(
        "| items | shared | classes | annotations per item | interval holds | half-width |\n|--:|--:|---|---|--:|--:|"
    )
    for items in (10, 30, 100, 300, 1000):
        for shared in (1.0, 0.5, 0.0):
            for name, overlap in (("balanced", (2, 4)), ("rare", (2, 10))):
                held, width = coverage(
                    rng, asked.rounds, items, shared=shared, shares=SHARES[name], overlap=overlap, lapse=0.15
                )
                print(
                    f"| {items:,} | {shared:.0%} | {name} | {overlap[0]}–{overlap[1]} and 2–3 | {held:.3f} | {width:.3f} |",
                    flush=True,
                )
    print("\n## A gate on a round that is worse by exactly the margin of 0.05: how often it passes\n")
    print("| items | passes |\n|--:|--:|")
    for items in (30, 100, 300):
        print(f"| {items} | {gate(rng, asked.rounds, items, 0.05):.3f} |", flush=True)
    print("\n## A model among people: verdicts with a margin of 0.05\n")
    print("People heed items with a care of 0.5 to 1, 0.75 on average.\n")
    print(
        "| model | items | items per person | classes | as good | worse | cannot tell | interval holds 0 |\n|---|--:|--:|---|--:|--:|--:|--:|"
    )
    for name, care in (("an average person", 0.75), ("better", 0.95), ("weaker", 0.5), ("at random", 0.0)):
        for items, each in ((100, 1), (100, 5), (100, 20), (400, 2), (400, 20)):
            for classes, shares in SHARES.items():
                found = verdicts(rng, asked.rounds, items, each, model_care=care, shares=shares)
                shown = " | ".join(f"{found[key]:.3f}" for key in ("as_good", "worse", "cannot_tell"))
                own = f"{found['held']:.3f}" if care == 0.75 else "–"
                print(f"| {name} | {items} | {each} | {classes} | {shown} | {own} |", flush=True)


if __name__ == "__main__":
    main()
