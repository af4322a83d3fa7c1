"""How often intervals and tests are right when items come in clusters: with and without --cluster.

Items of one cluster share a shift of difficulty on the logit scale. Every item has its own probability that an
annotator sees the truth, and the number of annotations does not depend on it: the trend test should alarm in 1% of all
data sets. The truth is the expected agreement of new clusters, from a large sample of the same kind.

    python benchmarks/cluster_coverage.py --rounds 500
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass, replace
from itertools import product
from math import sqrt
from pathlib import Path

import numpy as np

from spagree.estimate import find
from spagree.tally.tally import Grouped, Tally, Votes

OUT = Path(__file__).parent.parent / "docs" / "studies" / "clusters.md"
ALARM = 0.01
LABELS = ("a", "b")


@dataclass(frozen=True)
class Setting:
    """A kind of project: clusters of so many items that differ by a shift with this standard deviation."""

    clusters: int
    items: int
    spread: float
    uneven: bool = False
    """Clusters of very different size, and numbers of annotations that differ between clusters."""


SETTINGS = [Setting(clusters, 10, spread) for clusters, spread in product((20, 50), (0.0, 0.5, 1.0, 2.0))]
SETTINGS += [Setting(100, 10, spread) for spread in (0.0, 0.5)]
SETTINGS += [Setting(50, 10, spread, uneven=True) for spread in (0.5, 1.0, 2.0)]


def draw(setting: Setting, random: np.random.Generator) -> Tally:
    """One data set, as a tally with clusters."""
    items: Counter[tuple[str, Votes]] = Counter()
    for cluster in range(setting.clusters):
        size = 1 + random.geometric(1 / setting.items) if setting.uneven else setting.items
        usual = random.choice([2, 3, 5]) if setting.uneven else 0
        right = agreeing(random.normal(0, setting.spread), size, random)
        for item in range(size):
            n = int(usual or random.choice([2, 3, 5]))
            first = int(random.binomial(n, right[item]))
            votes = ((label, count) for label, count in zip(LABELS, (first, n - first), strict=True) if count)
            items[f"c{cluster}", tuple(("", label, count) for label, count in votes)] += 1
    grouped = Grouped("cluster", None, dict(items))
    return replace(Tally.from_patterns(grouped.patterns()), grouped=grouped)


def agreeing(shift: float | np.ndarray, size: int, random: np.random.Generator) -> np.ndarray:
    """The probability of the first label on each item of a cluster: near 0 or 1 where the cluster is easy."""
    clear = 1 / (1 + np.exp(-(1.0 + shift + random.normal(0, 0.5, size))))
    return np.where(random.random(size) < 0.5, 0.5 + clear / 2, 0.5 - clear / 2)


def truth(setting: Setting) -> float:
    """Agreement of two annotations, over many clusters; sizes do not depend on difficulty."""
    random = np.random.default_rng(0)
    p = agreeing(random.normal(0, setting.spread, 4_000_000), 4_000_000, random)
    return float(np.mean(p**2 + (1 - p) ** 2))


def study(setting: Setting, rounds: int) -> dict[str, float]:
    """Coverage of SPA and of alpha, level of both tests, mean width: without clusters and with them."""
    random = np.random.default_rng([setting.clusters, setting.items, round(10 * setting.spread), setting.uneven])
    value, sums = truth(setting), Counter()
    for _ in range(rounds):
        tally = draw(setting, random)
        for name, each in (("plain", replace(tally, grouped=None)), ("clusters", tally)):
            result = find(each)
            spa, p = result.spa, result.missingness.p
            sums[f"{name} covers"] += spa.low <= value <= spa.high
            sums[f"{name} alarms"] += p is not None and p < ALARM
            sums[f"{name} width"] += spa.high - spa.low
            kappa = result.chance["krippendorff_alpha"]
            sums[f"{name} alpha"] += kappa.low <= 2 * value - 1 <= kappa.high
    return {name: total / rounds for name, total in sums.items()}


def table(rounds: int) -> list[str]:
    """One row per setting."""
    head = [
        "| clusters | items each | spread | SPA covers | with clusters | alpha covers | with clusters | trend alarms | "
        "with clusters | width |",
        "|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    rows = []
    for setting in SETTINGS:
        got = study(setting, rounds * 5 // 2 if setting.uneven else rounds)
        size = f"{setting.items}, uneven" if setting.uneven else f"{setting.items}"
        pairs = [got[f"{name} {what}"] for what in ("covers", "alpha", "alarms") for name in ("plain", "clusters")]
        figures = " | ".join(f"{each:.3f}" for each in pairs)
        wider = got["clusters width"] / got["plain width"]
        rows.append(f"| {setting.clusters} | {size} | {setting.spread:g} | {figures} | × {wider:.2f} |")
        print(rows[-1], flush=True)
    return head + rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=500)
    rounds = parser.parse_args().rounds
    error = sqrt(0.95 * 0.05 / rounds)
    text = f"""# Clusters

How often the 95% interval contains the truth, and how often the tests of a true assumption raise an alarm at 1%,
when items of one cluster share a shift of difficulty (standard deviation *spread*, in logits). Two labels, 2, 3 or 5
annotations per item; *uneven*: clusters of very different size, each with one number of annotations. {rounds} data sets
per setting, so a coverage of 0.95 is known to ± {2 * error:.3f}; {rounds * 5 // 2} with uneven clusters. Made by
`benchmarks/cluster_coverage.py --rounds {rounds}`.

Not run, because a data set takes longer the more clusters it has: 100 clusters with a spread of 1 and 2, and uneven clusters
other than 50. [The audit](audit.md#clusters) has 20, 40 and 80 clusters, equal and uneven, with another generator.

{chr(10).join(table(rounds))}

The true alpha assumes equally frequent labels. *Width* compares the mean width of the interval for SPA.
"""
    OUT.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
