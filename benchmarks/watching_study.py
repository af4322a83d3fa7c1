"""How often what the monitor shows is ever wrong, and how long true alarms take: docs/studies/watching.md."""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

import numpy as np
from generators import Floats, Ints, Random
from held import Row, made_by, table

from spagree.estimate.anytime import BLOCK, ClosedItems, closed_items, fall_evidence, safe_sequence, watch_annotators

CLASSES, PER_ITEM, LOOKS = 4, 3, 30  # looks at the annotators: once for so many items
CLEAR = np.log(20)
ORDERS = {"random order": 0, "batches of 20": 20, "batches of 50": 50, "batches of 200": 200}
UNEQUAL = 0.8  # spread of the difficulty of batches, in logits
TEAMS = {"10 people, 600 items": (600, 10), "50 people, 2,000 items": (2000, 50)}
CARELESS = (1.0, 0.6, 0.3)
FALLS, AFTER = (500, 2000), 1500
FOUND = {1.0: "always", 0.6: "60%", 0.3: "30%"}


def chances(items: int, random: Random, batch: int = 0) -> Floats:
    """How likely people are right on each item; batches begin anywhere."""
    ease = 1.5 + random.normal(0, 1, items)
    if batch:
        shifts = random.normal(0, UNEQUAL, items // batch + 2)
        ease += shifts.repeat(batch)[random.integers(batch) :][:items]
    return np.asarray(1 / (1 + np.exp(-ease)))


def labels(right: Floats, who: Ints, random: Random, careless: float = 0.0) -> Ints:
    """Class 0 is the right one; annotator 0 answers at random in a share of cases."""
    is_right = random.random(who.shape) < right[:, None]
    wrong = random.integers(1, CLASSES, who.shape)
    blind = (who == 0) & (random.random(who.shape) < careless)
    return np.where(blind, random.integers(0, CLASSES, who.shape), np.where(is_right, 0, wrong))


def closed(who: Ints, label: Ints, k: int) -> ClosedItems:
    return closed_items(np.arange(len(who)).repeat(PER_ITEM), who.ravel(), label.ravel(), k)


def roster(items: int, people: int, random: Random) -> Ints:
    return np.argsort(random.random((items, people)), axis=1)[:, :PER_ITEM]


def joining(items: int, people: int, random: Random, at_once: int = 10) -> Ints:
    """New people take the place of the first ones all the time."""
    first = np.arange(items) * (people - at_once) // items
    return first[:, None] + roster(items, at_once, random)


def named(who: Ints, label: Ints, people: int) -> tuple[list[int | None], list[int]]:
    """After how many of their own items everybody is named, and how many items they have in all."""
    all_closed = closed(who, label, PER_ITEM)
    found: list[int | None] = [None] * people
    for end in range(LOOKS, len(who) + 1, LOOKS):
        part = ClosedItems(
            all_closed.item[:end], all_closed.annotator[:end], all_closed.label[:end], all_closed.closed_by[:end]
        )
        watched = watch_annotators(part, people)
        for person in np.flatnonzero(watched.named):
            found[person] = found[person] or int(watched.items[person])
    return found, watched.items.tolist()


def quiet(repetitions: int) -> Iterator[Row]:
    """Projects of 1,000 items in which nothing changes and nobody is careless: what ever appears, or is wrong."""
    for order, batch in {**ORDERS, "people join": 0}.items():
        random = np.random.default_rng(crc32(order.encode()))
        ever = dict.fromkeys(("safe", "fixed", "notice", "named"), 0)
        for _ in range(repetitions):
            right = chances(1000, random, batch)
            who = joining(1000, 80, random) if order == "people join" else roster(1000, 50, random)
            label = labels(right, who, random)
            values = closed(who, label, 2).agreement()
            items = np.arange(1, len(values) + 1)
            truth = np.cumsum(right**2 + (1 - right) ** 2 / (CLASSES - 1)) / items
            safe = safe_sequence(values)
            ever["safe"] += bool(((safe.low > truth) | (safe.high < truth)).any())
            mean = values.cumsum() / items
            error = np.sqrt(mean * (1 - mean) / items)
            ever["fixed"] += bool((np.abs(mean - truth) > 1.96 * error)[30:].any())
            ever["notice"] += bool((fall_evidence(values) >= CLEAR).any())
            ever["named"] += any(named(who, label, int(who.max()) + 1)[0])
        yield {"order": order} | {name: times / repetitions for name, times in ever.items()}


def falls(repetitions: int) -> Iterator[Row]:
    """Agreement falls by about 0.1, in random order: how many items later there is a notice."""
    for before in FALLS:
        random, delays = np.random.default_rng(before), []
        for _ in range(repetitions):
            right = chances(before + AFTER, random)
            right[before:] *= 0.91
            values = closed(who := roster(len(right), 50, random), labels(right, who, random), 2).agreement()
            seen = np.flatnonzero(fall_evidence(values)[before // BLOCK :] >= CLEAR)
            delays.append(float(seen[0] * BLOCK) if len(seen) else np.inf)
        yield {"before": before} | middle(delays)


def careless(repetitions: int) -> Iterator[Row]:
    """One person answers at random: after how many own items they are named, and whether anybody else ever is."""
    for (team, (items, people)), share in ((team, share) for team in TEAMS.items() for share in CARELESS):
        random, delays, others = np.random.default_rng(crc32(f"{team}{share}".encode())), [], 0
        for _ in range(repetitions):
            who = roster(items, people, random)
            found, _ = named(who, labels(chances(items, random), who, random, share), people)
            delays.append(float(found[0] or np.inf))
            others += any(found[1:])
        yield {"team": team, "share": FOUND[share], "others": others / repetitions} | middle(delays)


def middle(delays: list[float]) -> Row:
    """The median delay if more than half were found, and the share that was."""
    median = float(np.median(delays))
    return {"delay": f"{median:.0f}" if np.isfinite(median) else None, "found": float(np.mean(np.isfinite(delays)))}


def page(parts: dict[str, list[Row]], repetitions: int) -> str:
    still, fallen, people = parts["quiet"], parts["falls"], parts["careless"]
    columns = {"order": "1,000 items", "safe": "safe bounds wrong", "fixed": "ordinary interval wrong"}
    columns |= {"notice": "notice", "named": "somebody named"}
    worst = {name: max(row[name] for row in still) for name in ("safe", "named")}
    ordinary = [row["fixed"] for row in still]
    in_order = next(row for row in still if row["order"] == "random order")
    return f"""# Watching: false alarms and delays

**The claim.** What the monitor says of a running project holds however often people look: the safe bounds exclude the
truth at some time in at most 5% of projects, whatever the order of the items; a notice that people agree less on the latest
items appears in at most 5% of projects whose items come in random order; and somebody is named in at most 5% of projects
where all annotators are alike, also if people join all the time.

**How it was measured.** {PER_ITEM} annotations of each item by different people, {CLASSES} classes, items of unequal difficulty;
batches begin anywhere and differ in difficulty by {UNEQUAL} logits. Bounds, interval (from the 31st item on) and notice are
looked at after every item, the annotators once for {LOOKS} items; a single look that is wrong counts. "People join": 80 people,
10 at any time. {made_by("watching", repetitions)}

## Where nothing is wrong

Share of projects in which it ever happens:

{table(still, columns)}

The safe bounds were ever wrong in at most {worst["safe"]:.3f}, the ordinary 95% interval in {min(ordinary):.2f} to {max(ordinary):.2f}. In
random order a notice appears in {in_order["notice"]:.3f}. In batches it appears far more often: people do agree less on a harder batch. That
is why it is no alert. Somebody is named in at most {worst["named"]:.3f}.

## Where agreement falls by about 0.1

Median number of items until the notice, in random order, and in how many projects it appears within {AFTER:,} items:

{table(fallen, {"before": "items before the fall", "delay": "items until the notice", "found": "found"})}

## Where one person answers at random

Median number of their own items until they are named, in how many projects they are, and in how many anybody else is:

{table(people, {"team": "project", "share": "at random", "delay": "own items", "found": "named", "others": "others named"})}

"–": fewer than half were found. The j-th annotator to arrive is named at an e-value of j(j + 1)/0.05.
"""


def main(repetitions: int = 200) -> str:
    parts = {
        "quiet": list(quiet(repetitions)),
        "falls": list(falls(repetitions)),
        "careless": list(careless(repetitions)),
    }
    return page(parts, repetitions)
