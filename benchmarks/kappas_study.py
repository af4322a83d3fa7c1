"""How often the intervals of chance-corrected coefficients contain the truth: the page docs/studies/kappas.md."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from generators import (
    DESIGNS,
    EVEN,
    FOUR,
    MEETINGS,
    RARE,
    Floats,
    Ints,
    Random,
    World,
    confusing,
    differing,
    knowing,
    rating,
    truth,
    with_kappa,
)
from held import AGAIN, LABELS, Held, Row, again, generator, made_by, of_votes, summary, table

SHARES = {"two even": EVEN, "5% rare": RARE, "four, 90% to 1%": FOUR}
WORLDS: dict[str, Callable[[float, tuple[float, ...]], World]] = {
    "hard and easy items": lambda kappa, shares: with_kappa(lambda shift: knowing(shift, shares), kappa, -6, 12),
    "confused classes": lambda kappa, shares: with_kappa(lambda right: confusing(right, shares, 50), kappa, 0, 1),
    "items differ": differing,
}
ITEMS, GIVEN = (10, 20, 40, 100), ("2", "2–5")
POSITIVE = [*product(WORLDS, SHARES, (0.2, 0.5, 0.9), ITEMS, GIVEN)]
GUESSES = [*product(["items differ"], SHARES, [0.0], ITEMS, GIVEN)]
NEVER = [*product(["never both"], ["5% rare", "20% rare"], ["negative"], ITEMS, ["2"])]
NEVER_BOTH = {"5% rare": 0.05, "20% rare": 0.2}
SCALES = {"differ between items": (1.2, 0.5), "differ within items": (0.4, 1.1), "clear": (1.2, 0.2)}
METRICS, RATED = ("ordinal", "linear", "quadratic"), (8, 10, 20, 40, 200)


@cache
def world(kind: str, shares: str, kappa: float) -> World:
    return WORLDS[kind](kappa, SHARES[shares])


def never_both(rare: float, items: int, random: Random) -> Ints:
    """Pairs of annotations in which the rare label occurs at most once."""
    return np.where(random.random((items, 1)) < 2 * rare, [[1, 1]], [[2, 0]])


def truths(observed: float, expected: float, occur: int) -> dict[str, float]:
    """Every coefficient of a world; two of them count the labels that occur."""
    chances = dict.fromkeys(("spa_kappa", "krippendorff_alpha", "fleiss_kappa"), expected)
    chances |= {"gwet_ac1": (1 - expected) / (occur - 1), "brennan_prediger": 1 / occur}
    return {name: (observed - chance) / (1 - chance) for name, chance in chances.items()}


def nominal(setting: tuple[str, str, Any, int, str], repetitions: int, seed: int = 0) -> list[Row]:
    """Every coefficient in one setting."""
    kind, shares, kappa, items, given = setting
    random, held = generator(setting, seed), dict[str, Held]()
    for _ in range(repetitions):
        n = DESIGNS[given](items, random)
        if kind == "never both":
            rare = NEVER_BOTH[shares]
            votes, known = never_both(rare, items, random), (1 - 2 * rare, rare**2 + (1 - rare) ** 2)
        else:
            here = world(kind, shares, kappa)
            votes, known = here.votes(n, random), truth(here)
        occur = int((votes.sum(axis=0) > 0).sum())
        if occur > 1:  # with one label only, no coefficient exists
            found = of_votes(votes, interval_for="items").chance
            for name, value in truths(*known, occur).items():
                held.setdefault(name, Held()).add(found[name], value)
    what = {"setting": setting, "world": kind, "classes": shares, "kappa": kappa, "items": items, "given": given}
    return [{"coefficient": name} | what | each.row for name, each in held.items()]


def scales(setting: tuple[str, str, int], repetitions: int) -> list[Row]:
    """Five points, two to five annotations each; SPA and alpha under metrics."""
    kind, metric, items = setting
    random, here = generator(setting, 0), rating(*SCALES[kind])
    observed, expected = _with_metric(kind, metric)
    spa, alpha = Held(), Held()
    for _ in range(repetitions):
        votes = here.votes(random.integers(2, 6, items), random)
        found = of_votes(votes, metric=metric, order=LABELS[:5], interval_for="items")
        spa.add(found.spa, observed)
        alpha.add(found.chance["krippendorff_alpha"], (observed - expected) / (1 - expected))
    what = {"world": kind, "metric": metric, "items": items}
    return [{"coefficient": "SPA"} | what | spa.row, {"coefficient": "krippendorff_alpha"} | what | alpha.row]


@cache
def _with_metric(kind: str, metric: str) -> tuple[float, float]:
    """Agreement, and agreement by chance, from the distances between the points."""
    one, other = rating(*SCALES[kind]).meetings(MEETINGS)
    shares = (one.mean(axis=0) + other.mean(axis=0)) / 2
    places = np.cumsum(shares) - shares / 2 if metric == "ordinal" else np.arange(5.0)
    apart = np.abs(places[:, None] - places)
    similar: Floats = 1 - (apart / apart.max()) ** (1 if metric == "linear" else 2)
    return float(((one @ similar) * other).sum(axis=1).mean()), float(shares @ similar @ shares)


def study(repetitions: int) -> list[Row]:
    rows = [row for setting in POSITIVE + GUESSES + NEVER for row in nominal(setting, repetitions)]
    return rows + [row for setting in product(SCALES, METRICS, RATED) for row in scales(setting, repetitions)]


def cover(setting: tuple[str, str, Any, int, str], repetitions: int, seed: int) -> Row:
    """The coefficient that covers least in one setting."""
    return min(nominal(setting, repetitions, seed), key=lambda row: row["covers"])


def often_defined(rows: list[Row], repetitions: int) -> list[Row]:
    """Settings in which most data sets have an interval."""
    return [row for row in rows if row["sets"] >= repetitions / 2]


def page(rows: list[Row], worst: list[Row], repetitions: int) -> str:
    enough = often_defined(rows, repetitions)
    plain, rated = ([row for row in enough if ("metric" in row) == metric] for metric in (False, True))
    by_coefficient = [
        {"what": f"`{name}`"} | summary([row for row in plain if row["coefficient"] == name])
        for name in dict.fromkeys(row["coefficient"] for row in plain)
    ]
    by_kappa = [
        {"what": str(kappa)}
        | summary([row for row in plain if row["kappa"] == kappa and row["items"] == items])
        | {"items": items}
        for kappa, items in product(dict.fromkeys(row["kappa"] for row in plain), ITEMS)
    ]
    by_metric = [
        {"what": name, "metric": metric}
        | summary([row for row in rated if (row["coefficient"], row["metric"]) == (name, metric)])
        for name, metric in product(("SPA", "krippendorff_alpha"), METRICS)
    ]
    figures = {"settings": "settings", "lowest": "lowest", "mean": "mean", "below": "below 0.92", "width": "mean width"}
    columns = {"coefficient": "", "world": "world", "classes": "classes", "kappa": "kappa", "items": "items"}
    return f"""# Intervals of chance-corrected coefficients

**The claim.** The 95% intervals of `krippendorff_alpha`, `spa_kappa`, `fleiss_kappa`, `gwet_ac1` and `brennan_prediger`
for these annotators on new items hold with ten items, with a label in 1% of the annotations, and at a kappa of 0 or less.

**How it was measured.** Worlds whose kappa is known (`benchmarks/generators.py`): hard and easy items, confused classes
(Dawid and Skene), items with class shares of their own (Dirichlet); two even classes, a class of 5%, or four classes of
90%, 6%, 3% and 1%; at a kappa of 0 everybody guesses, and below it the rare label never meets itself. 10 to 100 items
with 2, or 2–5 annotations. Data sets with a single label have no coefficient and are left out; so are settings where
most have none. {made_by("kappas", repetitions)}

{table(by_coefficient, {"what": "coefficient"} | figures)}

By kappa, all coefficients together:

{table(by_kappa, {"what": "kappa", "items": "items"} | figures)}

The settings that cover least, drawn again with new data, {AGAIN} times as many, and the coefficient that covers
least there:

{table(worst, columns | {"given": "annotations", "covers": "covers", "width": "width"})}

**Scales.** Five points that people see with noise and a leaning of their own, 2–5 annotations each, 8 to 200 items. Alpha
has no interval under a metric below 10 items.

{table(by_metric, {"what": "", "metric": "metric"} | figures)}

**What it means.** With few items or rare labels these intervals are wide and hold more often than they promise: the few
items that carry a rare label decide, and how many there are is not known either. The intervals for *other annotators*
are those of [SPA](other-annotators.md) on the same scale.
"""


def main(repetitions: int = 100) -> str:
    rows = study(repetitions)
    nominal_ones = [row for row in often_defined(rows, repetitions) if "metric" not in row]
    return page(rows, again(nominal_ones, cover, repetitions), repetitions)
