"""Coverage where few items decide: rare classes, and calibration sets. Writes docs/studies/rare-and-uneven.{md,csv}.

    python benchmarks/rare_and_uneven.py [--rounds 500]

Rare classes: two classes, the rarer one in 5% or 10% of the annotations, by items with their own class distribution
(Dirichlet) or by annotators who miss a true class and sometimes see one that is not there. Calibration sets: most items
have two annotations, a few are labelled by everybody.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray
from publish import publish

from spagree.estimate.chance import chance
from spagree.estimate.findings import find
from spagree.estimate.weights import weigh
from spagree.tally.tally import Tally

KAPPAS = ("spa_kappa", "krippendorff_alpha", "fleiss_kappa")
SHARES, VALUES, ITEMS = (0.05, 0.1), (0.2, 0.5, 0.9), (10, 20, 40, 100)
DESIGNS = {"2": (2, 2), "3": (3, 3), "2–5": (2, 5)}
CALIBRATION = {"5% of 50": (0.05, 50), "10% of 20": (0.1, 20), "none": (0.0, 2)}
AGREEMENT = (0.7, 0.9, 0.97, 0.99)
Row = dict[str, str | int | float]
Ints = NDArray[np.int64]


def dirichlet(share: float, kappa: float, n: Ints, random: np.random.Generator) -> tuple[Ints, float]:
    """Annotations of the rare class per item; the share of variance between items is kappa."""
    alpha = np.array([1 - share, share]) * (1 / kappa - 1)
    return random.binomial(n, random.dirichlet(alpha, size=len(n))[:, 1]), kappa


def annotators(share: float, kappa: float, n: Ints, random: np.random.Generator) -> tuple[Ints, float]:
    """Annotators who miss a share x of the rare class and see it in 0.15·x of the others, with x chosen by kappa."""

    def truth(missed: float) -> float:
        false = 0.15 * missed
        seen = share * (1 - missed) + (1 - share) * false
        agree = share * ((1 - missed) ** 2 + missed**2) + (1 - share) * ((1 - false) ** 2 + false**2)
        return (agree - seen**2 - (1 - seen) ** 2) / (1 - seen**2 - (1 - seen) ** 2)

    low, high = 0.0, 0.6
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if truth(middle) > kappa else (low, middle)
    rare = random.random(len(n)) < share
    return random.binomial(n, np.where(rare, 1 - low, 0.15 * low)), truth(low)


KINDS: dict[str, Callable[[float, float, Ints, np.random.Generator], tuple[Ints, float]]] = {
    "items differ": dirichlet,
    "annotators err": annotators,
}


def tally_of(n: Ints, rare: Ints) -> Tally:
    patterns: Counter[tuple[tuple[str, int], ...]] = Counter()
    for (size, k), items in Counter(zip(n.tolist(), rare.tolist(), strict=True)).items():
        patterns[tuple(each for each in (("a", size - k), ("b", k)) if each[1])] += items
    return Tally.from_patterns(dict(patterns))


def rare_classes(kind: str, share: float, kappa: float, items: int, design: str, *, rounds: int) -> Row:
    random = np.random.default_rng([items, round(100 * kappa), round(100 * share), len(kind), len(design)])
    hits: Counter[str] = Counter()
    width: Counter[str] = Counter()
    defined = 0
    for _ in range(rounds):
        n = random.integers(DESIGNS[design][0], DESIGNS[design][1] + 1, size=items)
        rare, truth = KINDS[kind](share, kappa, n, random)
        tally = tally_of(n, rare)
        coefficients = chance(tally, weigh("annotations_m1", tally).by_n, 0.95, "annotations_m1")
        defined += coefficients["spa_kappa"].value is not None
        for name in KAPPAS:
            low, high = coefficients[name].low, coefficients[name].high
            if low is not None and high is not None:
                hits[name] += low <= truth <= high
                width[name] += high - low  # type: ignore[assignment]
    row: Row = {"data": kind, "share or agreement": share, "kappa": kappa, "items": items, "annotations": design}
    for name in KAPPAS:
        row |= {name: round(hits[name] / max(defined, 1), 4), f"{name} width": round(width[name] / max(defined, 1), 4)}
    return row


def calibration(kind: str, agreement: float, *, rounds: int) -> Row:
    """300 items, all with the same two classes, so that the truth is known."""
    random = np.random.default_rng([round(1000 * agreement), len(kind)])
    share, most = CALIBRATION[kind]
    rare = (1 - np.sqrt(2 * agreement - 1)) / 2
    hits, width = 0, 0.0
    for _ in range(rounds):
        n = np.where(np.arange(300) < 300 * share, most, 2)
        spa = find(tally_of(n, random.binomial(n, rare))).spa
        low, high = spa.low or 0.0, spa.high or 0.0
        hits += low <= agreement <= high
        width += high - low
    row: Row = {"data": f"calibration {kind}", "share or agreement": agreement, "kappa": "", "items": 300}
    return row | {"annotations": "", "spa": round(hits / rounds, 4), "spa width": round(width / rounds, 4)}


def study(rounds: int) -> Iterator[Row]:
    for setting in product(CALIBRATION, AGREEMENT):
        yield calibration(*setting, rounds=rounds)
    for setting in product(KINDS, SHARES, VALUES, ITEMS, DESIGNS):
        print(f"\r{setting}", end="          ", flush=True)
        yield rare_classes(*setting, rounds=rounds)


def report(rows: list[Row], rounds: int) -> str:
    """The lowest coverage first, then all calibration sets."""
    few = [row for row in rows if "spa" in row]
    rare = [row for row in rows if "spa" not in row]
    parts = [HEAD.format(rounds=rounds, settings=len(rare), error=(0.95 * 0.05 / rounds) ** 0.5)]
    parts += ["| coefficient | lowest | mean | settings below 0.92 | mean width |", "|---|--:|--:|--:|--:|"]
    for name in KAPPAS:
        values = np.array([float(row[name]) for row in rare])
        width = np.mean([float(row[f"{name} width"]) for row in rare])
        below = (values < 0.92).sum()
        parts.append(f"| `{name}` | {values.min():.3f} | {values.mean():.3f} | {below} | {width:.2f} |")
    parts += ["", "The ten settings with the lowest coverage of `spa_kappa`:", ""]
    parts += ["| data | rare class | kappa | items | annotations per item | coverage |", "|---|--:|--:|--:|--:|--:|"]
    for row in sorted(rare, key=lambda each: float(each["spa_kappa"]))[:10]:
        share, kappa = row["share or agreement"], row["kappa"]
        parts.append(
            f"| {row['data']} | {share} | {kappa} | {row['items']} | {row['annotations']} | {row['spa_kappa']:.3f} |"
        )
    parts += [
        "",
        "## Calibration sets",
        "",
        "| items labelled by everybody | agreement | coverage of SPA |",
        "|---|--:|--:|",
    ]
    parts += [f"| {str(row['data'])[12:]} | {row['share or agreement']} | {row['spa']:.3f} |" for row in few]
    return "\n".join(parts) + "\n"


HEAD = """# Rare classes and calibration sets

How often the nominal 95% interval contains the truth when few items decide, {rounds:,} simulated data sets per
setting (a share of 0.95 has a standard error of {error:.3f}). Made by `python benchmarks/rare_and_uneven.py`; all rows are
in [rare-and-uneven.csv](rare-and-uneven.csv).

## Rare classes

{settings} settings: the rarer of two classes makes up 5% or 10%, kappa 0.2, 0.5 or 0.9, 10 to 100 items with 2, 3 or 2–5
annotations each. Data sets without the rare class have no kappa and are left out.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=500)
    rounds = parser.parse_args().rounds
    rows = list(study(rounds))
    names = {name: "" for row in rows for name in row}
    publish("rare-and-uneven", [names | row for row in rows], report(rows, rounds))


if __name__ == "__main__":
    main()
