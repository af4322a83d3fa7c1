"""Coverage of kappa intervals on data they were not tuned on. Writes docs/studies/kappa-validation.{md,csv}.

    python benchmarks/kappa_validation.py [--rounds 200]

Three generators, none of them that of rare_and_uneven.py: people of unequal quality, items that are clear or not, items
that differ on a logistic scale; and two people who miss and invent a rare class, for Cohen's kappa. The plain interval,
Wilson's with the jackknife error as it was before the correction for rare classes, is computed on the same data.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from publish import publish

from spagree.estimate.chance import Corrected, chance
from spagree.estimate.intervals import wilson_each
from spagree.estimate.pairs import pairs
from spagree.estimate.uncertainty import wilson
from spagree.estimate.weights import weigh
from spagree.tally.coded import Coded
from spagree.tally.tally import Tally

KAPPAS = ("spa_kappa", "krippendorff_alpha", "fleiss_kappa")
SHARES = ((0.98, 0.02), (0.93, 0.07), (0.85, 0.15), (0.5, 0.5), (0.9, 0.07, 0.03), (0.55, 0.2, 0.15, 0.05, 0.05))
VALUES, ITEMS = (0.1, 0.4, 0.7, 0.95), (12, 40, 150)
DESIGNS = {"2": (2, 2), "4": (4, 4), "2–7": (2, 7)}
ERRORS = ((0.05, 0.01), (0.3, 0.02), (0.5, 0.1))
PEOPLE, ENOUGH, ORDINARY = 8, 60, 0.6
Random = np.random.Generator
Ints = NDArray[np.int64]
Shares = tuple[float, ...]


def people(shares: Shares, kappa: float, n: Ints, random: Random) -> tuple[Ints, float]:
    """Eight people who look with a probability of their own, and otherwise answer blindly."""
    spread = min(0.25, 1 - kappa**0.5, kappa**0.5)
    quality = kappa**0.5 + random.uniform(-spread, spread, PEOPLE)
    who = np.argsort(random.random((len(n), PEOPLE)), axis=1)[:, : n.max()]
    truth = random.choice(len(shares), p=shares, size=(len(n), 1))
    blind = random.choice(len(shares), p=shares, size=who.shape)
    label = np.where(random.random(who.shape) < quality[who], truth, blind)
    kept = np.arange(n.max()) < n[:, None]
    counts = np.stack([((label == each) & kept).sum(axis=1) for each in range(len(shares))], axis=1)
    return counts, float((quality.sum() ** 2 - (quality**2).sum()) / (PEOPLE * (PEOPLE - 1)))


def clear_or_not(shares: Shares, kappa: float, n: Ints, random: Random) -> tuple[Ints, float]:
    """A share kappa of the items is clear to everybody; the others are guessed."""
    truth = np.eye(len(shares))[random.choice(len(shares), p=shares, size=len(n))]
    clear = random.random((len(n), 1)) < kappa
    return random.multinomial(n, np.where(clear, truth, shares)), kappa


def logistic(shares: Shares, kappa: float, n: Ints, random: Random) -> tuple[Ints, float]:
    """Log odds of the classes vary normally between items."""
    spread, truth = _spread(shares, kappa)
    return random.multinomial(n, _chances(shares, spread, random.normal(size=(len(n), len(shares))))), truth


@cache
def _spread(shares: Shares, kappa: float) -> tuple[float, float]:
    normal, low, high, reached = np.random.default_rng(1).normal(size=(100_000, len(shares))), 0.0, 40.0, 0.0
    for _ in range(25):
        middle = (low + high) / 2
        p = _chances(shares, middle, normal)
        by_chance = float((p.mean(axis=0) ** 2).sum())
        reached = (float((p**2).sum(axis=1).mean()) - by_chance) / (1 - by_chance)
        low, high = (middle, high) if reached < kappa else (low, middle)
    return low, reached


def _chances(shares: Shares, spread: float, normal: Any) -> Any:
    odds = np.log(shares) + spread * normal
    chances = np.exp(odds - odds.max(axis=1, keepdims=True))
    return chances / chances.sum(axis=1, keepdims=True)


KINDS: dict[str, Callable[[Shares, float, Ints, Random], tuple[Ints, float]]] = {
    "unequal people": people,
    "clear or not": clear_or_not,
    "logistic": logistic,
}


def tally_of(counts: Ints) -> Tally:
    patterns = Counter(map(tuple, counts.tolist()))
    named = {
        tuple(pair for pair in zip("abcde", row, strict=False) if pair[1]): items for row, items in patterns.items()
    }
    return Tally.from_patterns(named)


def plain(coefficient: Corrected, k: NDArray[np.float64]) -> tuple[float, float] | None:
    """The interval before the correction for rare classes."""
    if coefficient.value is None or coefficient.expected is None or not coefficient.stderr:
        return None
    room = 1 - coefficient.expected
    observed = min(max(coefficient.value * room + coefficient.expected, 0.0), 1.0)
    low, high = wilson(observed, coefficient.stderr * room, float(k.sum() ** 2 / (k**2).sum()), 0.95)
    return (low - coefficient.expected) / room, (high - coefficient.expected) / room


class Count:
    """Coverage and width of one coefficient in one setting, now and as a plain interval."""

    def __init__(self) -> None:
        self.sets, self.hits, self.before, self.width, self.plain = 0, 0, 0, 0.0, 0.0
        self.beside = 0.0  # width where there is a plain interval, too

    def add(self, limits: tuple[float, float], old: tuple[float, float] | None, truth: float) -> None:
        self.sets += 1
        self.hits += limits[0] <= truth <= limits[1]
        self.width += limits[1] - limits[0]
        if old is not None:
            self.before += old[0] <= truth <= old[1]
            self.plain += old[1] - old[0]
            self.beside += limits[1] - limits[0]

    def row(self) -> dict[str, Any]:
        size = max(self.sets, 1)
        shares = {"coverage": self.hits / size, "plain coverage": self.before / size}
        wider = self.beside / self.plain if self.plain else ""
        return {"sets": self.sets} | shares | {"width": self.width / size, "times the plain width": wider}


def coefficients(setting: tuple[str, Shares, float, int, str], rounds: int) -> Iterator[Any]:
    kind, shares, kappa, items, design = setting
    number = [list(KINDS).index(kind), SHARES.index(shares), round(100 * kappa), items, len(design)]
    random, counts = np.random.default_rng([3, *number]), {name: Count() for name in KAPPAS}
    for _ in range(rounds):
        n = random.integers(DESIGNS[design][0], DESIGNS[design][1] + 1, size=items)
        drawn, truth = KINDS[kind](shares, kappa, n, random)
        tally = tally_of(drawn)
        estimates = chance(tally, weigh("annotations_m1", tally).by_n, 0.95, "annotations_m1")
        for name, k in zip(KAPPAS, (n - 1.0, n * 1.0, np.ones(items)), strict=True):
            low, high = estimates[name].low, estimates[name].high
            if low is not None and high is not None:
                counts[name].add((low, high), plain(estimates[name], k), truth)
    named = {"data": kind, "largest class": max(shares), "classes": len(shares), "kappa": kappa, "items": items}
    for name, count in counts.items():
        yield {"coefficient": name} | named | {"annotations": design} | count.row()


def cohen(share: float, errors: tuple[float, float], items: int, rounds: int) -> dict[str, Any]:
    """Two people who miss the rare class and invent it, the second twice as often."""
    missed, invented = errors
    table = np.zeros(4)
    for rare, weight in ((True, share), (False, 1 - share)):
        says = [1 - missed, 1 - min(0.9, 2 * missed)] if rare else [invented, 2 * invented]
        table += weight * np.array(
            [(1 - says[0]) * (1 - says[1]), (1 - says[0]) * says[1], says[0] * (1 - says[1]), says[0] * says[1]]
        )
    one, other = table[2] + table[3], table[1] + table[3]
    expected = one * other + (1 - one) * (1 - other)
    truth = float((table[0] + table[3] - expected) / (1 - expected))
    random, count = np.random.default_rng([4, items, round(100 * share), round(100 * missed)]), Count()
    who = np.tile([0, 1], items).astype(np.int32)
    for _ in range(rounds):
        cell = random.choice(4, p=table, size=items)
        label = np.stack([cell // 2, cell % 2], axis=1).ravel().astype(np.int32)
        item = np.repeat(np.arange(items, dtype=np.int32), 2)
        order = np.lexsort((who, label, item))
        row = pairs(Coded(item[order], who[order], label[order], ("x", "y"), ("a", "b")), None, 0.95).row(0, named=True)
        if row["cohen_kappa_low"] is not None:
            by_chance = (
                (row["agreement"] - row["cohen_kappa"]) / (1 - row["cohen_kappa"]) if row["cohen_kappa"] < 1 else 0
            )
            room, one_value = 1 - by_chance, np.array([row["agreement"]])
            ends = wilson_each(one_value, np.array([row["cohen_kappa_stderr"] * room]), np.array([float(items)]), 0.95)
            old = tuple((float(end[0]) - by_chance) / room for end in ends)
            count.add((row["cohen_kappa_low"], row["cohen_kappa_high"]), old, truth)  # type: ignore[arg-type]
    setting = {"data": f"misses {missed}, invents {invented}", "largest class": 1 - share, "classes": 2, "kappa": truth}
    return {"coefficient": "cohen_kappa"} | setting | {"items": items, "annotations": "2"} | count.row()


def report(rows: list[dict[str, Any]], rounds: int) -> str:
    counted = [row for row in rows if row["sets"] >= min(ENOUGH, rounds / 2)]
    parts = [TEXT.format(rounds=rounds, settings=len(rows), counted=len(counted))]
    parts += [
        "| coefficient | settings | lowest | below 0.92 | mean | plain: lowest | plain: below 0.92 |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name in (*KAPPAS, "cohen_kappa"):
        chosen = [row for row in counted if row["coefficient"] == name]
        now, before = (np.array([row[column] for row in chosen]) for column in ("coverage", "plain coverage"))
        parts.append(
            f"| `{name}` | {len(chosen)} | {now.min():.3f} | {(now < 0.92).sum()} | {now.mean():.3f} | {before.min():.3f} | "
            f"{(before < 0.92).sum()} |"
        )
    parts += ["", WIDTHS, "| coefficient | width, times the plain one |", "|---|--:|"]
    for name in (*KAPPAS, "cohen_kappa"):
        usual = [
            row["times the plain width"]
            for row in counted
            if row["times the plain width"]
            and row["coefficient"] == name
            and row["largest class"] <= (0.9 if name == "cohen_kappa" else ORDINARY)
        ]
        parts.append(f"| `{name}` | {np.mean(usual):.3f} (largest {max(usual):.2f}) |")
    parts += ["", "The fifteen settings with the lowest coverage:", ""]
    parts += [
        "| coefficient | data | largest class | kappa | items | annotations | coverage | plain |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in sorted(counted, key=lambda each: float(each["coverage"]))[:15]:
        start = (
            f"| `{row['coefficient']}` | {row['data']} | {row['largest class']} | {row['kappa']:.2f} | {row['items']} "
        )
        parts.append(f"{start}| {row['annotations']} | {row['coverage']:.3f} | {row['plain coverage']:.3f} |")
    return "\n".join(parts) + "\n"


TEXT = """# Kappa intervals on other data

The interval for kappas with rare classes was developed on the settings of [this study](rare-and-uneven.md). Here it is tested on
others: {settings} settings with generators of their own, {rounds:,} data sets each, 95% nominal. Only the {counted}
settings in which enough data sets have a kappa are counted. "Plain" is Wilson's interval with the jackknife error, on the same
data sets; those without one count as missed. Made by `make rare-study` (`benchmarks/kappa_validation.py`); all rows are in
[kappa-validation.csv](kappa-validation.csv).

Coverage is lowest for Cohen's kappa near or below 0 with few items: if one of the two gives one label throughout, kappa
is 0 whatever the other does, and so is its lower limit, which narrowly misses a truth just below 0.
"""
WIDTHS = """Ordinary settings, in which no class has more than 60% of the annotations (for Cohen's kappa 90%):
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    rows = [cohen(*setting, rounds=rounds) for setting in product((0.03, 0.1, 0.4), ERRORS, (15, 40, 100, 300))]
    for setting in product(KINDS, SHARES, VALUES, ITEMS, DESIGNS):
        rows += coefficients(setting, rounds)
    publish("kappa-validation", rows, report(rows, rounds))


if __name__ == "__main__":
    main()
