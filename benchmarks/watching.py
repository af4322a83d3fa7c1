"""How often alarms are false, and how long true ones take: writes docs/studies/watching.md.

    python benchmarks/watching.py [--rounds 10000] [--kept watching.jsonl]

Projects of 1,000 items, 50 annotators and three annotations per item are watched after every item. Items differ in
difficulty; labels are changed and annotations deleted while the project runs, which rebuilds everything that is
watched. An alarm at any moment counts. Beside it: the ordinary 95% interval watched in the same way; a rule that pauses
whoever is below 80% agreement with the majority after any item from the tenth on; and oracles, likelihood-ratio tests
that know the distributions before and after (CUSUM) or of careless and careful people, with alarms in 5% of the
projects where nothing is wrong; and oracles that have to learn what we have to learn, or that keep their rate as we do.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from publish import publish
from watched_projects import CLASSES, ITEMS, PEOPLE, PER_ITEM, Array, agreements, project, shift_for, watched
from watching_page import (
    AFTER,
    CARELESS,
    DROPS,
    EARLY,
    FALL,
    LATE,
    LAWS,
    LENGTHS,
    LOOKS,
    ORDERS,
    REFERENCES,
    TOLD,
    page,
)

from spagree.estimate.closed_items import ClosedItems, closed_items
from spagree.estimate.drops import BLOCK, DropEvidence, drop_evidence
from spagree.estimate.watched_annotators import watch_annotators
from spagree.estimate.watching import safe_sequence

LIMIT = np.log(20)
LARGE = 200_000  # items from which the all-knowing oracles know their distributions
LEAST_BEFORE, LEAST_AFTER = 50, 20  # items between which a fall may lie, for the oracle that learns the level
LONG_ROUNDS = 300
HORIZON = 1000.0  # items over which the life-long oracle spreads the moments of a fall
BATCH = ORDERS[-1]  # items: what the oracle that is told the moment compares


def found_in(closed: ClosedItems, begin: int) -> int:
    """The first closed item of a stretch."""
    return int(np.searchsorted(closed.item, begin))


def named_in(closed: ClosedItems, begin: int) -> Iterator[tuple[int, Array]]:
    """Who is named at each look of a stretch, and how many items the first annotator had then."""
    for end in range(found_in(closed, begin) + LOOKS, len(closed.item) + 1, LOOKS):
        part = ClosedItems(closed.item[:end], closed.annotator[:end], closed.label[:end], closed.closed_by[:end])
        evidence_of = watch_annotators(part, PEOPLE)
        yield int(evidence_of.items[0]), evidence_of.named


def fixed_wrong(values: Array, truth: Array) -> Array:
    """Where the ordinary interval excludes the truth, from the twentieth item on."""
    t = np.arange(1, len(values) + 1)
    mean = values.cumsum() / t
    error = np.sqrt(np.maximum((values**2).cumsum() / t - mean**2, 1e-12) / t)
    wrong: Array = (np.abs(mean - truth) > 1.96 * error) & (t > 20)
    return wrong


def paused_at(closed: ClosedItems, who: int) -> int | None:
    """After how many of their items the threshold rule pauses somebody."""
    counts = (closed.label[:, :, None] == np.arange(CLASSES)).sum(1)
    own = (closed.label == counts.argmax(1)[:, None])[closed.annotator == who]
    below = np.flatnonzero((own.cumsum() / np.arange(1, len(own) + 1) < 0.8)[9:])
    return int(below[0]) + 10 if len(below) else None


def ratios(before: Array, after: Array, values: Array) -> Array:
    """The log of the likelihood ratio of each value, from what was seen in large simulations."""
    levels = np.unique(np.concatenate([before, after]))
    shares = [np.array([(each == level).mean() for level in levels]) + 1e-9 for each in (before, after)]
    steps: Array = np.log(shares[1] / shares[0])[np.searchsorted(levels, values).clip(0, len(levels) - 1)]
    return steps


def cusum(steps: Array) -> Array:
    total = np.concatenate([[0.0], steps.cumsum()])
    rise: Array = (total - np.minimum.accumulate(total))[1:]
    return rise


def quiet(batch: int, seed: int) -> dict[str, float]:
    """Whether anything is ever wrong in a project where nothing is."""
    random = np.random.default_rng([1, seed])
    simulated = project(random, batch=batch)
    wrong = dict.fromkeys(("safe", "fixed", "notice", "drop", "class", "named", "paused"), False)
    for begin, _, item, who, label in watched(random, simulated):
        closed, judged = closed_items(item, who, label, 2), closed_items(item, who, label, PER_ITEM)
        values, first = closed.agreement(), found_in(closed, begin)
        truth = simulated.agree[closed.item].cumsum() / np.arange(1, len(values) + 1)
        safe = safe_sequence(values, at=range(first + 1, len(values) + 1))
        wrong["safe"] |= bool(((safe.low > truth[first:]) | (safe.high < truth[first:])).any())
        wrong["fixed"] |= bool(fixed_wrong(values, truth)[first:].any())
        drops = evidence(values, first, seed)
        wrong["notice"] |= bool((drops.random_order >= LIMIT).any())
        wrong["drop"] |= bool((drops.batches >= LIMIT).any())
        for code in range(CLASSES):
            rows, of_class = closed.of_class(code)
            dropped = evidence(of_class, int((rows < first).sum()), seed).batches
            wrong["class"] |= bool((dropped >= LIMIT + np.log(CLASSES)).any())
        wrong["named"] |= any(named.any() for _, named in named_in(judged, begin))
        wrong["paused"] |= any(paused_at(judged, each) is not None for each in range(PEOPLE))
    half = float(safe.high[-1] - safe.low[-1]) / 2
    fixed = float(1.96 * values.std() / np.sqrt(len(values)))
    return {**{name: float(each) for name, each in wrong.items()}, "half": half, "fixed_half": fixed}


def evidence(values: Array, first: int, seed: int) -> DropEvidence:
    """The evidence of a drop whenever a block after the first items is complete: it changes at no other moment."""
    return drop_evidence(values, seed, range(first // BLOCK * BLOCK + BLOCK, len(values) + 1, BLOCK))


def long_run(law: str, seed: int) -> dict[str, float]:
    """Whether a drop is ever seen up to each length of a project where there is none, in the longest batches."""
    drops = evidence(agreements(seed, LENGTHS[-1], batch=ORDERS[-1], law=law), 0, seed)
    return {str(items): float((drops.batches[: items // BLOCK] >= LIMIT).any()) for items in LENGTHS}


def dropped(before: int, shift: float, seen: tuple[Array, Array], limits: tuple[float, float], seed: int) -> list[int | None]:  # fmt: skip
    """Items until a drop is found: by the alert, the notice, the oracle, and the one that has to learn the level."""
    values = agreements(seed, before + AFTER, drop=before, shift=shift)
    looks = range(before + BLOCK, before + AFTER + 1, BLOCK)
    ours = drop_evidence(values, seed, looks)
    oracle, learning = cusum(ratios(*seen, values)) >= limits[0], falls(values, looks) >= limits[1]
    delays = (_first(each) for each in (ours.batches >= LIMIT, ours.random_order >= LIMIT, learning))
    alert, notice, learned = (None if each is None else each * BLOCK for each in delays)
    return [alert, notice, _first(oracle[before:]), learned]


def falls(values: Array, looks: Sequence[int]) -> Array:
    """The largest fall of the mean at each look, in standard errors."""
    total, spread = np.concatenate([[0.0], values.cumsum()]), values.std()
    largest = []
    for n in looks:
        before = np.arange(LEAST_BEFORE, n - LEAST_AFTER + 1)
        fallen = total[before] / before - (total[n] - total[before]) / (n - before)
        largest.append((fallen / np.sqrt(1 / before + 1 / (n - before))).max() / spread)
    return np.array(largest)


def lifelong(steps: Array) -> Array:
    """The log of the likelihood ratio, averaged over the moments of a fall: it ever reaches log 20 in 5% at most."""
    t = np.arange(len(steps))
    won = steps.cumsum()
    weighed = np.log(HORIZON / ((HORIZON + t) * (HORIZON + t + 1))) - np.concatenate([[0.0], won[:-1]])
    averaged: Array = np.logaddexp(np.log(HORIZON / (HORIZON + t + 1)), won + np.logaddexp.accumulate(weighed))
    return averaged


def told(values: Array, before: int) -> Array:
    """After each batch since a moment: how far batches have fallen, in standard errors learnt from those before (t)."""
    earlier = values[before % BATCH : before].reshape(-1, BATCH).mean(axis=1)
    later = values[before:][: (len(values) - before) // BATCH * BATCH].reshape(-1, BATCH).mean(axis=1)
    number = np.arange(1, len(later) + 1)
    spread = max(earlier.std(ddof=1), values[:before].std() / np.sqrt(BATCH))
    fallen: Array = (earlier.mean() - later.cumsum() / number) / (spread * np.sqrt(1 / len(earlier) + 1 / number))
    return fallen


def calm_told(before: int, law: str, seed: int) -> float:
    """How high the evidence at a moment that is told ever gets where nothing falls, but batches differ."""
    return float(told(agreements(10**6 + seed, before + AFTER, batch=BATCH, law=law), before).max())


def referred(before: int, shift: float, seen: tuple[Array, Array], limits: Sequence[float], seed: int) -> list[int | None]:  # fmt: skip
    """Items until the life-long oracle, and those that are told the moment, find a fall."""
    values = agreements(seed, before + AFTER, drop=before, shift=shift)
    life = _first(lifelong(ratios(*seen, values))[before:] >= LIMIT)
    at = [_first(told(values, before) >= limit) for limit in limits]
    return [life, *(None if each is None else each * BATCH for each in at)]


def calm(items: int, seen: tuple[Array, Array], seed: int) -> tuple[float, float]:
    """How high the evidence of both oracles ever gets where nothing falls."""
    values = agreements(10**6 + seed, items)
    return float(cusum(ratios(*seen, values)).max()), float(
        falls(values, range(2 * LEAST_BEFORE, items + 1, BLOCK)).max()
    )


def _first(is_reached: Array) -> int | None:
    places = np.flatnonzero(is_reached)
    return int(places[0]) + 1 if len(places) else None


def differences(careless: float, seed: int) -> tuple[Array, Array]:
    """Who annotated, and how much less they agree with the others of the item than those with each other."""
    simulated = project(np.random.default_rng([3, seed]), careless=careless)
    item = np.repeat(np.arange(ITEMS), PER_ITEM)
    closed = closed_items(item, simulated.who, simulated.label, PER_ITEM)
    return closed.annotator.ravel(), closed.apart().ravel()


def same_item(seen: tuple[Array, Array], apart: Array) -> Array:
    """The evidence of each annotation about who is the odd one among those of the item, where somebody is."""
    careless = seen[1][seen[1] != 0]
    odd = float((careless < 0).mean())
    steps = np.where(apart < 0, np.log(3 * odd), np.log(1.5 * (1 - odd)))
    evidence_of: Array = np.where(apart != 0, steps, 0.0)
    return evidence_of


def people(careless: float, seen: tuple[Array, Array], limits: tuple[float, float], seed: int) -> dict[str, int | bool | None]:  # fmt: skip
    """Own items until the careless one is named, by us, two oracles and the threshold; whether others are."""
    random = np.random.default_rng([4, seed])
    simulated = project(random, careless=careless)
    ours, others = None, False
    for begin, _, item, who, label in watched(random, simulated):
        judged = closed_items(item, who, label, PER_ITEM)
        for own, named in named_in(judged, begin):
            ours = own if ours is None and named[0] else ours
            others |= bool(named[1:].any())
    mine = judged.annotator.ravel() == 0
    apart = judged.apart().ravel()[mine]
    oracle, same = ratios(*seen, apart).cumsum() >= limits[0], same_item(seen, apart).cumsum() >= limits[1]
    delays = {"ours": ours, "others": others, "oracle": _first(oracle), "same": _first(same)}
    return {**delays, "threshold": paused_at(judged, 0)}


def highest(seen: tuple[Array, Array], seed: int) -> tuple[float, float]:
    """How high the evidence of both oracles about any careful annotator ever gets."""
    who, apart = differences(0.0, 10**6 + seed)
    steps = np.stack([ratios(*seen, apart), same_item(seen, apart)])
    both = np.max([steps[:, who == each].cumsum(axis=1).max(axis=1, initial=0.0) for each in range(PEOPLE)], axis=0)
    return float(both[0]), float(both[1])


def median(delays: list[int | None]) -> tuple[float, float]:
    """The share that was found, and the median delay, those not found being late."""
    values = [10**9 if each is None else each for each in delays]
    return sum(each is not None for each in delays) / len(delays), float(np.median(values))


class Rounds:
    """Runs simulated projects side by side; each result is kept in a file at once, and never computed again."""

    def __init__(self, pool: ProcessPoolExecutor, kept: Path) -> None:
        self._pool, self._kept = pool, kept
        self._known: dict[str, dict[int, Any]] = {}
        for line in kept.read_text().splitlines() if kept.exists() else []:
            what, seed, result = json.loads(line)
            self._known.setdefault(what, {})[seed] = result

    def run(self, what: str, simulated: Callable[[int], Any], times: int) -> list[Any]:
        """The results of the first seeds, and of any others that are known."""
        known = self._known.setdefault(what, {})
        missing = [seed for seed in range(times) if seed not in known]
        with self._kept.open("a") as file:
            for seed, result in zip(missing, self._pool.map(simulated, missing, chunksize=5), strict=True):
                known[seed] = result
                print(json.dumps([what, seed, result]), file=file, flush=True)
        return [known[seed] for seed in sorted(known)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--kept", type=Path, default=Path("watching.jsonl"), help="results so far: a stop loses nothing"
    )
    options = parser.parse_args()
    rounds, fewer = options.rounds, max(20, options.rounds // 20)
    figures: dict[str, float] = {}
    with ProcessPoolExecutor(options.processes) as pool:
        run = Rounds(pool, options.kept).run
        for careless in CARELESS:
            figures |= _careless(run, careless, fewer)
        shift = shift_for(FALL)
        for before in (EARLY, LATE):
            figures |= _drops(run, before, shift, fewer)
        for batch in ORDERS[::-1]:  # random order takes longest
            each = run(f"quiet {batch}", partial(quiet, batch), rounds if batch == 0 else rounds // 5)
            figures |= {f"{batch} {key}": float(np.mean([one[key] for one in each])) for key in each[0]}
            figures[f"{batch} rounds"] = len(each)
        for law in LAWS:
            each = run(f"long {law}", partial(long_run, law), min(LONG_ROUNDS, fewer))
            figures |= {f"long {law} {items}": float(np.mean([one[str(items)] for one in each])) for items in LENGTHS}
            figures[f"long {law} rounds"] = len(each)
    publish("watching", [{"what": what, "value": value} for what, value in figures.items()], page(figures))


Run = Callable[[str, Callable[[int], Any], int], list[Any]]


def _drops(run: Run, before: int, shift: float, rounds: int) -> dict[str, float]:
    whole = project(np.random.default_rng(6), LARGE, drop=LARGE // 2, shift=shift)
    values = closed_items(np.repeat(np.arange(LARGE), PER_ITEM), whole.who, whole.label, 2).agreement()
    seen = values[: LARGE // 2], values[LARGE // 2 :]
    calm_ones = run(f"calm {before}", partial(calm, before + AFTER, seen), rounds)
    limits = tuple(np.quantile(calm_ones, 0.95, axis=0).tolist())
    delays = run(f"dropped {before}", partial(dropped, before, shift, seen, limits), rounds)
    figures: dict[str, float] = {"fewer": len(delays)}
    limits_told = [
        float(np.quantile(run(f"told {law} {before}", partial(calm_told, before, law), rounds), 0.95)) for law in TOLD
    ]
    others = run(f"referred {before}", partial(referred, before, shift, seen, limits_told), rounds)
    for place, name in enumerate((*DROPS, *REFERENCES)):
        share, delay = median([[*each, *other][place] for each, other in zip(delays, others, strict=True)])
        figures |= {f"drop {before} {name} found": share, f"drop {before} {name} delay": delay}
    return figures | {"batches differ": float(agreements(7, LARGE, batch=BATCH).reshape(-1, BATCH).mean(axis=1).std())}


def _careless(run: Run, careless: float, rounds: int) -> dict[str, float]:
    drawn = [differences(careless, seed) for seed in range(200)]
    careful, own = (np.concatenate([apart[(who == 0) == is_own] for who, apart in drawn]) for is_own in (False, True))
    seen = (careful, own)
    limits = tuple(np.quantile(run(f"highest {careless}", partial(highest, seen), rounds), 0.95, axis=0).tolist())
    projects = run(f"careless {careless}", partial(people, careless, seen, limits), rounds)
    figures = {f"careless {careless} others": float(np.mean([each["others"] for each in projects]))}
    for name in ("ours", "oracle", "same", "threshold"):
        share, delay = median([each[name] for each in projects])
        figures |= {f"careless {careless} {name} found": share, f"careless {careless} {name} delay": delay}
    return figures


if __name__ == "__main__":
    main()
