"""How often the interval for new annotators contains the truth: writes docs/studies/annotator-coverage.md.

    python benchmarks/annotator_coverage.py [--rounds 2000]

Annotators are drawn from a population of unequal quality, items from a population of easy and hard ones. The truth
is the agreement of two new annotators on a new item. Everything goes through the functions that spagree itself uses.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from zlib import crc32

import numpy as np
from publish import publish

from spagree.estimate.leave_one_out import Peers, TwoWay, leave_one_out, peers, two_way
from spagree.estimate.uncertainty import wilson
from spagree.tally.coded import Coded

ITEMS, CLASSES, HARD, SURE = 200, 3, 0.3, 0.7
BY_N = {n: Fraction(n - 1) for n in range(2, 4)}

Random = np.random.Generator
QUALITIES: dict[str, Callable[[Random, int], Any]] = {
    "0.5 to 1": lambda random, size: random.uniform(0.5, 1, size),
    "beta(6, 2)": lambda random, size: random.beta(6, 2, size),
    "equal": lambda _, size: np.full(size, 0.8),
    "nearly perfect": lambda random, size: random.uniform(0.94, 1, size),
    "20% spammers": lambda random, size: np.where(random.random(size) < 0.2, 0.1, 0.9),
}
MEANS = {"0.5 to 1": 0.75, "beta(6, 2)": 0.75, "equal": 0.8, "nearly perfect": 0.97, "20% spammers": 0.74}
WORKLOADS = {
    "equal": lambda _, size: np.ones(size),
    "unequal": lambda random, size: random.pareto(1.2, size) + 0.2,
    "Zipf": lambda random, size: random.permutation(1 / np.arange(1, size + 1) ** 1.2),
}
VARIANTS = ("satterthwaite", "fewest")
PER_ITEM = {"2": (2,), "2–3": (2, 3), "3": (3,)}


@dataclass(frozen=True)
class Setting:
    annotators: int
    per_item: str
    quality: str
    workload: str

    @property
    def truth(self) -> float:
        """Two careful annotators agree on easy items, and on hard ones when their views coincide."""
        careful = MEANS[self.quality] ** 2
        together = SURE**2 + (1 - SURE) ** 2
        hard = 0.0 if self.quality == "nearly perfect" else HARD
        return careful * (1 - hard + hard * together) + (1 - careful) / CLASSES

    def draw(self, random: Random) -> Coded:
        quality = QUALITIES[self.quality](random, self.annotators)
        load = WORKLOADS[self.workload](random, self.annotators)
        # Without replacement, in proportion to the workload: the largest keys win.
        keys = np.log(load) + random.gumbel(size=(ITEMS, self.annotators))
        order = np.argsort(-keys, axis=1)[:, :3]
        kept = np.arange(3) < random.choice(PER_ITEM[self.per_item], ITEMS)[:, None]
        truth = random.integers(0, CLASSES, (ITEMS, 1))
        hard = (random.random((ITEMS, 1)) < HARD) & (self.quality != "nearly perfect")
        view = (truth + (hard & (random.random((ITEMS, 3)) > SURE))) % CLASSES
        label = np.where(random.random((ITEMS, 3)) < quality[order], view, random.integers(0, CLASSES, (ITEMS, 3)))
        item = np.repeat(np.arange(ITEMS)[:, None], 3, axis=1)
        return codes(item[kept], order[kept], label[kept], self.annotators)


def codes(item: Any, who: Any, label: Any, annotators: int) -> Coded:
    order = np.lexsort((who, label, item))
    columns = [each[order].astype(np.int32) for each in (item, who, label)]
    return Coded(*columns, tuple(map(str, range(annotators))), tuple("abc"))


def cover(setting: Setting, rounds: int) -> dict[str, Any]:
    random = np.random.default_rng(crc32(repr(setting).encode()))  # the same from run to run
    inside = dict.fromkeys(("items", "annotators", *VARIANTS), 0)
    widths = dict.fromkeys(inside, 0.0)
    defined = 0
    for _ in range(rounds):
        others = peers(setting.draw(random))
        weight = (others.n - 1) / others.n
        agreement = others.pairs / (others.n * (others.n - 1))
        value = float(np.sum(weight * agreement) / np.sum(weight))
        pairable = np.sum(1 / others.n)
        spread = np.sum(((others.n - 1) * (agreement - value)) ** 2 / others.n)
        variance = float(pairable / (pairable - 1) * spread / np.sum(weight) ** 2)
        two = two_way(others, BY_N, variance)
        if two is None:
            continue
        defined += 1
        ends = {
            "items": wilson(value, variance**0.5, two.equal_items, 0.95),
            "annotators": wilson(value, two.stderr, two.equal_items, 0.95, two.freedom),
        }
        for name, freedom in other_freedoms(others, two).items():
            ends[name] = wilson(value, two.stderr, two.equal_items, 0.95, freedom)
        for name, (low, high) in ends.items():
            inside[name] += low <= setting.truth <= high
            widths[name] += high - low
    shares = {name: inside[name] / max(defined, 1) for name in inside}
    both = {"coverage": inside, "width": widths}
    return {
        "annotators": setting.annotators,
        "per_item": setting.per_item,
        "quality": setting.quality,
        "workload": setting.workload,
        "truth": round(setting.truth, 4),
        "items_only": round(shares["items"], 4),
        "new_annotators": round(shares["annotators"], 4),
        "width_items": round(widths["items"] / max(defined, 1), 4),
        "width_annotators": round(widths["annotators"] / max(defined, 1), 4),
        "undefined": rounds - defined,
    } | {
        f"{what}_{name}": round(figures[name] / max(defined, 1), 4)
        for name in VARIANTS
        for what, figures in both.items()
    }


def other_freedoms(others: Peers, two: TwoWay) -> dict[str, float]:
    """Degrees of freedom that look at how influence is spread over annotators: (Σu²)²/Σu⁴ of the leave-one-out values."""
    without = leave_one_out(others, BY_N)[others.shared > 0]
    squares = (without - without.mean()) ** 2
    spread = float(squares.sum() ** 2 / max((squares**2).sum(), 1e-300))
    people = max(two.stderr**2 - two.items, 0.0)
    few = max(min(two.equal_annotators - 1, spread), 0.01)
    parts = two.items**2 / (two.equal_items - 1) + people**2 / few
    return {
        "satterthwaite": two.stderr**4 / parts if parts else two.equal_items - 1,
        "fewest": min(two.freedom, spread) if spread else two.freedom,
    }


def settings() -> list[Setting]:
    return [
        Setting(annotators, per_item, quality, workload)
        for quality in QUALITIES
        for workload in WORKLOADS
        for annotators in (4, 6, 10, 20, 60)
        for per_item in PER_ITEM
        if workload != "unequal" or annotators > 9
    ]


def line(label: str, rows: list[dict[str, Any]]) -> str:
    def span(name: str) -> str:
        return f"{min(row[name] for row in rows):.3f}–{max(row[name] for row in rows):.3f}"

    good = sum(0.93 <= row["new_annotators"] <= 0.97 for row in rows)
    wider = np.mean([row["width_annotators"] / row["width_items"] for row in rows])
    return f"| {label} | {span('items_only')} | {span('new_annotators')} | {good} of {len(rows)} | {wider:.1f} × |"


def variants(name: str, rows: list[dict[str, Any]]) -> str:
    """Coverage with other degrees of freedom, and how wide that makes the interval."""
    cells = []
    for column, width in (("new_annotators", "width_annotators"), *((f"coverage_{v}", f"width_{v}") for v in VARIANTS)):
        low, high = min(row[column] for row in rows), max(row[column] for row in rows)
        wider = np.mean([row[width] / row["width_annotators"] for row in rows])
        cells.append(f"{low:.3f}–{high:.3f} | {wider:.2f} ×")
    return f"| {name} | " + " | ".join(cells) + " |"


def worst(rows: list[dict[str, Any]]) -> list[str]:
    """The ten settings with the lowest coverage."""
    lowest = sorted(rows, key=lambda row: row["new_annotators"])[:10]
    names = ("quality", "workload", "annotators", "per_item")
    return ["| " + " | ".join(str(row[name]) for name in names) + f" | {row['new_annotators']:.3f} |" for row in lowest]


def report(rows: list[dict[str, Any]], rounds: int) -> str:
    def some(**chosen: Any) -> list[dict[str, Any]]:
        return [row for row in rows if all(row[name] == value for name, value in chosen.items())]

    head = "| | items only | new annotators | within 0.93–0.97 | wider by |\n|---|--:|--:|--:|--:|"
    by_quality = [
        line(f"quality {quality}, {workload} workloads", some(quality=quality, workload=workload))
        for quality in QUALITIES
        for workload in WORKLOADS
    ]
    usual = [row for row in rows if row["quality"] in ("0.5 to 1", "beta(6, 2)")]
    by_size = [
        line(f"{size} annotators", [row for row in usual if row["annotators"] == size]) for size in (4, 6, 10, 20, 60)
    ]
    undefined = sum(row["undefined"] for row in rows)
    groups = {
        "ordinary quality (0.5 to 1, beta)": usual,
        "quality equal or nearly perfect": [row for row in rows if row["quality"] in ("equal", "nearly perfect")],
        "20% spammers": [row for row in rows if row["quality"] == "20% spammers"],
    }
    return TEXT.format(
        rounds=f"{rounds:,}",
        by_quality="\n".join([head, *by_quality]),
        by_size="\n".join([head, *by_size]),
        variants="\n".join(variants(name, chosen) for name, chosen in groups.items()),
        worst="\n".join(worst(rows)),
        usual_low=f"{min(row['new_annotators'] for row in usual):.3f}",
        usual_high=f"{max(row['new_annotators'] for row in usual):.3f}",
        undefined=f"{undefined:,} of {rounds * len(rows):,}",
    )


TEXT = """# How often the interval for new annotators holds

`interval_for="annotators"` (`--interval-for annotators`) gives an interval for new annotators and new items, from a
two-way variance ([how](../breakdowns.md#what-the-interval-covers)). Does a 95% interval contain the truth 95% of the
time, where the truth is the agreement of two new annotators on a new item?

Simulated: {rounds} data sets per setting of 200 items and three classes, 2, 2–3 or 3 annotations per item, weights
`annotations_m1`. Each annotator answers carefully with an individual probability, drawn from the named population,
and blindly otherwise; 30% of the items are hard (careful annotators differ on them). Unequal workloads follow a Pareto
distribution, Zipf ones 1/rank^1.2: a few annotators do most of the work. Made by `make annotator-coverage-study`
(`benchmarks/annotator_coverage.py`); every setting is in [annotator-coverage.csv](annotator-coverage.csv).

{by_quality}

By number of annotators, for the two populations of ordinary quality (0.5 to 1, beta), both workloads:

{by_size}

![Coverage by number of annotators: quality 0.5 to 1, equal workloads, 2–3 annotations per item](annotator-coverage.svg)

The ten settings with the lowest coverage:

| quality | workload | annotators | annotations per item | coverage |
|---|---|--:|--:|--:|
{worst}

## Other degrees of freedom

With spammers, the variance between annotators depends on a few of them. Two corrections use (Σu²)²/Σu⁴, the effective
number of annotators by their influences u: Satterthwaite's degrees of freedom with that number for the annotators, and
the smallest of the three numbers.

| | in use | width | Satterthwaite | width | smallest of three | width |
|---|--:|--:|--:|--:|--:|--:|
{variants}

Satterthwaite's covers less if annotators are ordinary; the smallest of three covers more, but is wider by more than
the tenth that would be worth it. Most misses happen when no spammer was drawn, and no formula can see absent people. So
the degrees of freedom are kept, and where one annotator moves the figure more than all the others together, the warning
`one_annotator_decides` says so.

Conclusions:

- For populations of ordinary quality coverage is {usual_low}–{usual_high}, where intervals over items alone hold
  only some of the time. The price is width: with four annotators the interval is several times as wide.
- It misses if a few annotators are of a different kind altogether: one in five answers blindly, and four, six or ten
  annotators often include none of them, or too many. No interval can know of spammers it has not seen. With 60
  annotators and equal workloads it holds; with unequal workloads a handful of people are most of the sample.
- It is too wide if annotators are few and do not differ at all (quality equal) or hardly (nearly perfect): their
  variance is then estimated from a few degrees of freedom, and an estimate cannot fall below zero.
- The interval is undefined if leaving out some annotator leaves no item with two annotations: {undefined} data sets here.
- Chance-corrected coefficients keep their interval over items: the output says so.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    rounds, chosen = options.rounds, settings()
    with ProcessPoolExecutor(options.processes) as pool:
        rows = list(pool.map(cover, chosen, [rounds] * len(chosen)))
    publish("annotator-coverage", rows, report(rows, rounds))


if __name__ == "__main__":
    main()
