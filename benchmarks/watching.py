"""How often alarms are false, and how long true ones take: writes docs/studies/watching.md.

    python benchmarks/watching.py [--rounds 1000]

Projects of 1,000 items, 50 annotators and three annotations per item are watched after every item. Items differ in
difficulty, some projects in batches; a few labels are changed and a few annotations deleted before the end. An alarm at any moment
counts. Beside it: the ordinary 95% interval watched in the same way, a rule that names whoever is below 80% agreement
with the majority after every item from the tenth on (how platforms pause annotators), and for a drop an oracle, the
sequential probability ratio test (CUSUM) that knows agreement before and after, with the same rate of false alarms.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from publish import publish

from spagree.estimate.closed_items import ClosedItems, closed_items
from spagree.estimate.watched_annotators import watch_annotators
from spagree.estimate.watching import drop_evidence, safe_sequence

ITEMS, PEOPLE, PER_ITEM, CLASSES, BATCH = 1000, 50, 3, 3, 50
LIMIT = np.log(20)
UNEQUAL = 0.4  # spread of the difficulty of batches, in logits
LOOKS = 20  # items between two looks at the annotators
Array = np.ndarray


def project(
    random: np.random.Generator, *, drop: float = 0.0, careless: float = 0.0, batches: float = 0.0
) -> ClosedItems:
    """Labels of a project; ``drop`` is how much less often people are right in the second half."""
    easy = np.repeat(random.normal(1.8, batches, ITEMS // BATCH), BATCH) + random.normal(0, 1.0, ITEMS)
    right = 1 / (1 + np.exp(-easy))
    right[ITEMS // 2 :] -= drop
    item = np.repeat(np.arange(ITEMS), PER_ITEM)
    who = np.argsort(random.random((ITEMS, PEOPLE)), axis=1)[:, :PER_ITEM].ravel()
    truth = random.integers(0, CLASSES, ITEMS)[item]
    is_right = random.random(len(item)) < right[item]
    is_right &= ~((who == 0) & (random.random(len(item)) < careless))
    label = np.where(is_right, truth, random.integers(0, CLASSES, len(item)))
    changed = random.random(len(item)) < 0.02
    label = np.where(changed, random.integers(0, CLASSES, len(item)), label)
    kept = random.random(len(item)) > 0.01
    return closed_items(item[kept], who[kept], label[kept], PER_ITEM)


def expected(drop: float = 0.0, half: int = 0, batches: float = 0.0) -> float:
    """The agreement that the projects have in the mean, by a large draw."""
    random = np.random.default_rng(123)
    values = np.concatenate(
        [project(random, drop=drop, batches=batches).agreement()[half * ITEMS // 2 :] for _ in range(300)]
    )
    return float(values.mean())


def fixed_wrong(values: Array, truth: float) -> bool:
    """Whether the ordinary interval excludes the truth at any moment from the twentieth item on."""
    t = np.arange(1, len(values) + 1)
    mean = values.cumsum() / t
    error = np.sqrt(np.maximum((values**2).cumsum() / t - mean**2, 1e-12) / t)
    return bool((np.abs(mean - truth) > 1.96 * error)[20:].any())


def named_at(closed: ClosedItems) -> tuple[int | None, bool]:
    """After how many of their own items the careless person is named, and whether anybody else ever is."""
    first, others = None, False
    for end in range(LOOKS, len(closed.item) + 1, LOOKS):
        part = ClosedItems(closed.item[:end], closed.annotator[:end], closed.label[:end], closed.closed_by[:end])
        found = watch_annotators(part, PEOPLE)
        if first is None and found.named[0]:
            first = int(found.items[0])
        others |= bool(found.named[1:].any())
    return first, others


def paused(closed: ClosedItems) -> bool:
    """Whether the threshold rule names anybody: below 80% agreement with the majority after ten items or more."""
    counts = (closed.label[:, :, None] == np.arange(CLASSES)).sum(1)
    hit = closed.label == counts.argmax(1)[:, None]
    for who in range(PEOPLE):
        own = hit[closed.annotator == who]
        share = own.cumsum() / np.arange(1, len(own) + 1)
        if (share[9:] < 0.8).any():
            return True
    return False


def oracle_delay(values: Array, before: float, after: float, limit: float) -> int | None:
    """CUSUM with the agreement before and after known."""
    step = values * np.log(after / before) + (1 - values) * np.log((1 - after) / (1 - before))
    total = step.cumsum()
    statistic = total - np.minimum.accumulate(np.concatenate([[0.0], total[:-1]]))
    over = np.flatnonzero(statistic[ITEMS // 2 :] >= limit)
    return int(over[0]) if len(over) else None


def highest_cusum(values: Array, before: float, after: float) -> float:
    step = values * np.log(after / before) + (1 - values) * np.log((1 - after) / (1 - before))
    total = step.cumsum()
    return float((total - np.minimum.accumulate(np.concatenate([[0.0], total[:-1]]))).max())


def quiet(truth: float, before: float, after: float, batches: float, seed: int) -> dict[str, float]:
    closed = project(np.random.default_rng([1, seed]), batches=batches)
    values = closed.agreement()
    safe = safe_sequence(values)
    first, others = named_at(closed)
    return {
        "safe": bool(((safe.low > truth) | (safe.high < truth)).any()),
        "fixed": fixed_wrong(values, truth),
        "drop": bool(drop_evidence(values, seed).max() >= LIMIT),
        "named": first is not None or others,
        "paused": paused(closed),
        "half_width": float(safe.high[-1] - safe.low[-1]) / 2,
        "fixed_half_width": float(1.96 * values.std() / np.sqrt(len(values))),
        "cusum": highest_cusum(values, before, after),
    }


def dropped(before: float, after: float, limit: float, seed: int) -> tuple[int | None, int | None]:
    values = project(np.random.default_rng([2, seed]), drop=0.1).agreement()
    over = np.flatnonzero(drop_evidence(values, seed)[ITEMS // 2 :] >= LIMIT)
    return (int(over[0]) if len(over) else None), oracle_delay(values, before, after, limit)


def careless(share: float, seed: int) -> tuple[int | None, bool]:
    return named_at(project(np.random.default_rng([3, seed]), careless=share))


def median(delays: list[int | None]) -> tuple[float, float]:
    """The share that was found, and the median delay, those not found being late."""
    found = [each for each in delays if each is not None]
    values = [each if each is not None else 10**9 for each in delays]
    return len(found) / len(delays), float(np.median(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1000)
    rounds = parser.parse_args().rounds
    before, after, mixed = expected(), expected(0.1, 1), expected(batches=UNEQUAL)
    with ProcessPoolExecutor(2) as pool:
        calm = list(pool.map(partial(quiet, before, before, after, 0.0), range(rounds), chunksize=10))
        uneven = list(pool.map(partial(quiet, mixed, before, after, UNEQUAL), range(rounds), chunksize=10))
        limit = float(np.quantile([each["cusum"] for each in calm], 0.95))
        fell = list(pool.map(partial(dropped, before, after, limit), range(rounds), chunksize=10))
        rows = [
            {"what": name, "value": float(np.mean([each[name] for each in calm]))}
            for name in calm[0]
            if name != "cusum"
        ]
        rows += [
            {"what": f"batches {name}", "value": float(np.mean([each[name] for each in uneven]))} for name in calm[0]
        ]
        ours, oracle = median([each[0] for each in fell]), median([each[1] for each in fell])
        rows += [{"what": "drop found", "value": ours[0]}, {"what": "drop delay", "value": ours[1]}]
        rows += [{"what": "oracle found", "value": oracle[0]}, {"what": "oracle delay", "value": oracle[1]}]
        people = []
        for share in (1.0, 0.6, 0.3):
            found = list(pool.map(partial(careless, share), range(rounds), chunksize=10))
            at, delay = median([each[0] for each in found])
            wrong = float(np.mean([each[1] for each in found]))
            people.append((share, at, delay, wrong))
            rows += [{"what": f"careless {share} found", "value": at}, {"what": f"careless {share} delay", "value": delay},
                     {"what": f"careless {share} others named", "value": wrong}]  # fmt: skip
    publish("watching", rows, page({row["what"]: row["value"] for row in rows}, people, rounds, before - after))


def page(found: dict[str, float], people: list[tuple[float, float, float, float]], rounds: int, fall: float) -> str:
    lines = "\n".join(
        f"| {share:.0%} of answers at random | {at:.0%} | {'–' if delay > 10**8 else f'{delay:.0f}'} | {wrong:.1%} |"
        for share, at, delay, wrong in people
    )
    return f"""# Watching: false alarms and delays

Written by `benchmarks/watching.py --rounds {rounds}`: {rounds:,} projects of {ITEMS:,} items, {PEOPLE} annotators, {PER_ITEM} annotations per item,
items of unequal difficulty, 2% of labels changed and 1% of annotations deleted. Everything is looked at after every item
(annotators after every {LOOKS}), and an alarm at any moment counts. "In batches": items come in batches of {BATCH} that differ
in difficulty by {UNEQUAL} logits, so that neighbours are alike and the bounds, which take items to come in any order, are too
narrow; shuffle the items where you can.

## Where nothing is wrong

| looked at all the time | wrong at some moment | in batches |
|---|---|---|
| the bounds that are safe to watch, 95% | {found["safe"]:.1%} of projects | {found["batches safe"]:.1%} |
| the ordinary 95% interval | {found["fixed"]:.1%} | {found["batches fixed"]:.1%} |
| "agreement has dropped" | {found["drop"]:.1%} | {found["batches drop"]:.1%} |
| "somebody answers apart from the others" | {found["named"]:.1%} | {found["batches named"]:.1%} |
| a threshold: below 80% agreement with the majority, from the tenth item on | {found["paused"]:.1%} | {found["batches paused"]:.1%} |

At the end the safe bounds are ± {found["half_width"]:.3f}, the ordinary interval ± {found["fixed_half_width"]:.3f}.

## Where something is

Agreement falls by {fall:.2f} in the middle: found in {found["drop found"]:.0%} of projects within 500 items, half of them within
{_items(found["drop delay"])}. An oracle that knows agreement before and after, and has as many false alarms as 5%: {found["oracle found"]:.0%}, half of
them within {_items(found["oracle delay"])}.

One of {PEOPLE} annotators answers at random:

| | named | median of their own items | anybody else named |
|---|---|---|---|
{lines}

Each annotator has about {ITEMS * PER_ITEM // PEOPLE} items. "–": fewer than half were named.
"""


def _items(delay: float) -> str:
    return "more than 500 items" if delay > 10**8 else f"{delay:.0f} items"


if __name__ == "__main__":
    main()
