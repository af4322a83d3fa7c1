"""How often the test of the assumption alarms without cause, and how often with one: docs/studies/assumption.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from zlib import crc32

import numpy as np
from generators import DESIGNS, EVEN, Ints, Random, World, confusing, differing, knowing
from held import Row, made_by, table

from spagree.counts.tally import Tally
from spagree.estimate.missingness import ALARM, missingness
from spagree.estimate.votes import item_groups

ITEMS = (30, 100, 300)
MOST = 12  # annotations that could be made of an item
SKIPPED = 4  # people asked about each item, some of whom skip what is hard for them


def clear_or_open(clear: float) -> World:
    """Everybody agrees on clear items and tosses a coin on the others: items with full agreement show no spread."""

    def items(size: int, random: Random) -> dict[str, Ints]:
        return {"first": np.where(random.random(size) < clear, random.integers(0, 2, size), 0.5)}

    return World(
        items,
        lambda size, _: {"anybody": np.zeros(size)},
        lambda item, _: np.stack([item["first"], 1 - item["first"]], axis=1),
    )


WORLDS: dict[str, World] = {
    "unequal people and items": knowing(1.0),
    "one person in ten guesses": confusing(0.85, spammers=0.1),
    "a rare class": confusing(0.9, (0.95, 0.05)),
    "shares of every item its own": differing(0.5, EVEN),
    "half of the items clear": clear_or_open(0.5),
    "97% of the items clear": clear_or_open(0.97),
}


# How many annotations an item gets, by nothing it has to do with ------------------------------------------------

BLIND: dict[str, Callable[[int, Random], Ints]] = {
    "2–5": DESIGNS["2–5"],
    "2 or 10, half each": lambda items, random: np.where(random.random(items) < 0.5, 10, 2),
    "10, a tenth 2": lambda items, random: np.where(random.random(items) < 0.1, 2, 10),
    "2, a tenth 12": lambda items, random: np.where(random.random(items) < 0.1, 12, 2),
    "geometric": lambda items, random: np.minimum(1 + random.geometric(0.5, items), MOST),
}

# Or by its labels: from all labels it could get, in order, how many it gets --------------------------------------


def third_where_two_differ(labels: Ints, _: Random) -> Ints:
    return 2 + (labels[:, 0] != labels[:, 1])


def until_two_agree(labels: Ints, _: Random) -> Ints:
    """Up to five."""
    n = np.full(len(labels), 5)
    for k in (4, 3, 2):
        so_far = np.sort(labels[:, :k], axis=1)
        n[(so_far[:, 1:] == so_far[:, :-1]).any(axis=1)] = k
    return n


def five_where_two_differ(labels: Ints, _: Random) -> Ints:
    return np.where(labels[:, 0] != labels[:, 1], 5, 2)


def one_in_ten_is_decided_by_labels(labels: Ints, random: Random) -> Ints:
    """Two to five annotations; a tenth of the items gets a further one where the first two differ."""
    n = random.integers(2, 6, len(labels))
    return n + ((random.random(len(labels)) < 0.1) & (labels[:, 0] != labels[:, 1]))


DECIDED: dict[str, Callable[[Ints, Random], Ints]] = {
    "a third where two differ": third_where_two_differ,
    "until two agree, at most 5": until_two_agree,
    "5 where two differ": five_where_two_differ,
    "2–5, and a further one on a tenth where two differ": one_in_ten_is_decided_by_labels,
}


def tally_of(labels: Ints, n: Ints) -> Tally:
    kept = [row[:size] for row, size in zip(labels.tolist(), n.tolist(), strict=True)]
    return Tally.from_items([{str(label): row.count(label) for label in set(row)} for row in kept])


def shares(world: World, count: Callable[[Ints, Random], Ints], items: int, repetitions: int, seed: str) -> Row:
    """How often p is below 0.01, an alarm, and below 0.05."""
    random, alarms, doubts = np.random.default_rng(crc32(seed.encode())), 0, 0
    item = np.repeat(np.arange(items), MOST)
    for _ in range(repetitions):
        labels = world.labels(item, np.arange(len(item)), random).reshape(items, MOST)
        p = missingness(item_groups(tally_of(labels, count(labels, random))), 0.95).p
        alarms += p is not None and p < ALARM
        doubts += p is not None and p < 0.05
    return {"alarms": alarms / repetitions, "doubts": doubts / repetitions}


def study(repetitions: int) -> Iterator[Row]:
    for (kind, world), items in product(WORLDS.items(), ITEMS):
        for design, blind in BLIND.items():
            row = shares(
                world, lambda rows, random, n=blind: n(len(rows), random), items, repetitions, f"{kind}{design}{items}"
            )
            yield {"part": "blind", "world": kind, "design": design, "items": items} | row
        for design, decided in DECIDED.items():
            row = shares(world, decided, items, repetitions, f"{kind}{design}{items}")
            yield {"part": "decided", "world": kind, "design": design, "items": items} | row


def page(rows: list[Row], repetitions: int) -> str:
    blind = [row for row in rows if row["part"] == "blind"]
    decided = [row for row in rows if row["part"] == "decided"]
    columns = {"world": "world", "design": "annotations"} | {f"{items}": f"{items} items" for items in ITEMS}
    alarms, total = (round(sum(row["alarms"] for row in blind) * repetitions), len(blind) * repetitions)
    return f"""# The test of the assumption

**The claim.** An item's number of annotations must not depend on how much people agree on it. spagree tests that with
one p: a trend of agreement over the number of annotations, White's score test, whose variance is raised at each number
towards what the agreement implies. An alarm (p < 0.01) is rarely false, and where labels decided who was asked again it
is raised with enough items.

**How it was measured.** Items in six worlds (`benchmarks/assumption_study.py`), none of them spagree's own simulator, with
up to {MOST} annotations by different people. {made_by("assumption", repetitions)}

## Where an alarm is false

The number of annotations is drawn without a look at anything. Share of data sets with p < 0.01:

{table(by_items(blind), columns)}

{alarms:,} false alarms in {total:,} data sets ({alarms / total:.4f}), at most {max(row["alarms"] for row in blind):.3f} in one setting; p < 0.05 in
{sum(row["doubts"] for row in blind) / len(blind):.3f} of all data sets, at most {max(row["doubts"] for row in blind):.3f} in one setting.

## Where an alarm is right

The labels decide how many annotations an item gets. Share of data sets with p < 0.01:

{table(by_items(decided), columns)}

**What it means.** {meaning(decided)}
A large p proves nothing: few items show little, and a number of annotations that is related to agreement without a trend,
high at two and four annotations and low at three, is not seen. Look at the agreement by number of annotations.
"""


def by_items(rows: list[Row]) -> list[Row]:
    """One row per world and design, with a column for each number of items."""
    wide: dict[tuple[str, str], Row] = {}
    for row in rows:
        kept = wide.setdefault((row["world"], row["design"]), {"world": row["world"], "design": row["design"]})
        kept[f"{row['items']}"] = row["alarms"]
    return list(wide.values())


def meaning(decided: list[Row]) -> str:
    strong = [row for row in decided if row["design"] in list(DECIDED)[:3] and not row["world"].startswith("97%")]
    power = {items: min(row["alarms"] for row in strong if row["items"] == items) for items in ITEMS}
    few = ", ".join(f"{power[items]:.2f} with {items}" for items in ITEMS)
    return (
        "Where the first two labels decide whether to ask again, an alarm is raised in at least\n"
        f"{few} items, unless nearly all items are clear: then hardly any item is asked about again, and few\n"
        "alarms are raised. Where a tenth of the items is concerned, the trend drowns in the rest."
    )


def main(repetitions: int = 200) -> str:
    return page(list(study(repetitions)), repetitions)
