"""The audit, continued: naming annotators, teams, spammers, plans. Writes docs/studies/audit-people.{md,csv}.

    python benchmarks/audit_people.py [--rounds 1000]

Labels follow Dawid and Skene with difficult items: everybody has a confusion matrix of their own, and on an item of
difficulty d people guess with probability d. People work in shifts, each with its own few people and its own difficulty,
or have workloads by a Zipf law. No other study draws data like this.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from publish import FOLDER, publish

from spagree.estimate.annotators import against_others, label_shares
from spagree.estimate.concentration import decisive
from spagree.estimate.item_groups import item_groups
from spagree.estimate.leave_one_out import peers, to_new_annotators
from spagree.estimate.plan import plan_for
from spagree.estimate.uncertainty import Estimate, spa_estimate
from spagree.tally.coded import Coded
from spagree.tally.tally import Tally

Random = np.random.Generator
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Row = dict[str, Any]
SHIFT = 25  # items
ON_DUTY = 5  # people in a shift
ONE_LABEL = "one label"
BY_N = {n: Fraction(n - 1) for n in range(2, 6)}


@dataclass(frozen=True)
class Project:
    """Who labels what, and how well."""

    name: str
    people: int = 12
    items: int = 300
    each: tuple[int, ...] = (3,)
    work: str = "equal"
    """equal, Zipf or shifts."""
    shares: tuple[float, ...] = (0.4, 0.35, 0.25)
    right: float = 0.85
    """Mean of the diagonal of the confusion matrices."""
    alike: float = 0.0
    """How much people are alike: the sum of the Dirichlet parameters of a row; 0 for exactly alike."""
    easy: tuple[float, float] = (1.0, 4.0)
    """Beta distribution of difficulty."""
    drift: float = 0.0
    """How far difficulty moves from shift to shift."""
    spammers: float = 0.0
    """How likely anybody is to answer at random, or always alike."""
    odd: str = ""
    """What person 0 does: guesses, half guesses, swaps two classes, or always gives one label."""

    @property
    def mean_row(self) -> Floats:
        """The mean confusion matrix of the people there could be."""
        size = len(self.shares)
        usual = np.full((size, size), (1 - self.right) / (size - 1))
        np.fill_diagonal(usual, self.right)
        return np.asarray((1 - self.spammers) * usual + self.spammers / size)

    @property
    def truth(self) -> float:
        """How often two other people agree on another item: Σ p² over difficulty and true class."""
        a, b = self.easy
        hard, both = a / (a + b), a * (a + 1) / ((a + b) * (a + b + 1))
        clear, mixed, guessed = 1 - 2 * hard + both, hard - both, both
        row, shares = self.mean_row, np.array(self.shares)
        return float(
            clear * (shares @ (row**2).sum(axis=1)) + 2 * mixed * (shares @ row @ shares) + guessed * (shares @ shares)
        )

    def confusion(self, random: Random) -> Floats:
        """A matrix for everybody."""
        size = len(self.shares)
        usual = replace(self, spammers=0.0).mean_row
        if self.alike:
            drawn = [[random.dirichlet(self.alike * row) for row in usual] for _ in range(self.people)]
        else:
            drawn = [usual] * self.people
        matrices = np.array(drawn, dtype=np.float64)
        for person in np.flatnonzero(random.random(self.people) < self.spammers):
            constant = np.eye(size)[random.integers(size)]
            matrices[person] = constant if random.random() < 0.5 else 1 / size
        odd = {
            "": matrices[0],
            "guesses": np.full((size, size), 1 / size),
            "guesses half": (matrices[0] + 1 / size) / 2,
            "swaps two classes": matrices[0][[1, 0, *range(2, size)]],
            ONE_LABEL: matrices[0],
        }
        matrices[0] = odd[self.odd]
        return matrices

    def draw(self, random: Random) -> Coded:
        difficulty = random.beta(*self.easy, self.items)
        if self.drift:
            walk = np.repeat(np.cumsum(random.normal(0, self.drift, -(-self.items // SHIFT))), SHIFT)[: self.items]
            difficulty = np.clip(difficulty + walk - walk.mean(), 0, 1)
        who, truth = self.on_duty(random), random.choice(len(self.shares), self.items, p=self.shares)
        chances = self.confusion(random)[who, truth[:, None]]
        chances = (1 - difficulty)[:, None, None] * chances + difficulty[:, None, None] * np.array(self.shares)
        label = (random.random((*who.shape, 1)) > np.cumsum(chances, axis=2)[:, :, :-1]).sum(axis=2)
        label = np.where((who == 0) & (self.odd == ONE_LABEL), 0, label)
        kept = np.arange(who.shape[1]) < random.choice(self.each, self.items)[:, None]
        item = np.broadcast_to(np.arange(self.items)[:, None], who.shape)
        return coded(item[kept], who[kept], label[kept], self.people, len(self.shares))

    def on_duty(self, random: Random) -> Ints:
        """Who labels each item, the first ones first."""
        load = 1 / np.arange(1, self.people + 1) if self.work == "Zipf" else np.ones(self.people)
        keys = np.log(random.permutation(load)) + random.gumbel(size=(self.items, self.people))
        if self.work == "shifts":
            for start in range(0, self.items, SHIFT):
                off = random.permutation(self.people)[min(ON_DUTY, self.people) :]
                keys[start : start + SHIFT, off] = -np.inf
        return np.argsort(-keys, axis=1)[:, : max(self.each)]


def coded(item: Any, who: Any, label: Any, people: int, classes: int) -> Coded:
    order = np.lexsort((who, label, item))
    columns = [np.asarray(each)[order].astype(np.int32) for each in (item, who, label)]
    return Coded(*columns, tuple(map(str, range(people))), tuple("abcdefgh"[:classes]))


def tally_of(codes: Coded) -> Tally:
    votes = np.zeros((codes.items, len(codes.labels)), dtype=np.int64)
    np.add.at(votes, (codes.item, codes.label), 1)
    patterns = Counter(map(tuple, votes.tolist()))
    named = {
        tuple((label, k) for label, k in zip(codes.labels, row, strict=True) if k): n for row, n in patterns.items()
    }
    return Tally.from_patterns(named)


# Naming --------------------------------------------------------------------------------------

ALIKE = [
    Project("everybody alike"),
    Project("everybody alike, n = 4", each=(4,)),
    Project("shifts", people=15, work="shifts"),
    Project("shifts whose difficulty drifts", people=15, work="shifts", drift=0.15),
    Project("shifts whose difficulty drifts, n = 5", people=15, work="shifts", drift=0.15, each=(5,)),
    Project("workloads by a Zipf law", people=25, items=500, work="Zipf"),
    Project("one class in ten, two classes", shares=(0.9, 0.1)),
    Project("30 people, 20 items each", people=30, items=200),
    Project("hard items", easy=(2.0, 2.0)),
]
ODD = [
    Project("guesses", odd="guesses"),
    Project("guesses, shifts whose difficulty drifts", odd="guesses", people=15, work="shifts", drift=0.15),
    Project("guesses in half of the items", odd="guesses half"),
    Project("guesses in half of the items, n = 5", odd="guesses half", each=(5,)),
    Project("swaps two classes", odd="swaps two classes"),
    Project("always gives one label", odd=ONE_LABEL),
    Project("always gives one label, one class in ten", odd=ONE_LABEL, shares=(0.9, 0.1)),
]


def naming(rounds: int) -> Iterator[Row]:
    for number, project in enumerate(ALIKE + ODD):
        random, first = np.random.default_rng([21, number]), 1 if project.odd else 0
        count: Counter[str] = Counter()
        for _ in range(rounds):
            codes = project.draw(random)
            out, one = against_others(peers(codes), 0.95).stands_out, np.array(label_shares(codes).one_label)
            count["wrongly"] += bool(out[first:].any() or one[first:].any())
            count["stands_out"] += bool(out[0])
            count["one_label"] += bool(one[0])
        row: Row = {"part": "naming", "setting": project.name, "odd": project.odd, "sets": rounds}
        power = {name: count[name] / rounds for name in ("stands_out", "one_label")} if project.odd else {}
        yield row | {"wrongly": count["wrongly"] / rounds} | power


# Teams and spammers --------------------------------------------------------------------------

TEAMS = [
    Project(f"{size} people, {work}, n = {n}", people=size, items=200, work=work, each=(n,), alike=alike)
    for size, n, work, alike in (
        *((size, 2, work, 10.0) for size in (3, 5, 10, 30) for work in ("equal", "Zipf")),
        *((size, 3, "Zipf", 5.0) for size in (5, 10, 30)),
        *((size, 3, "shifts", 10.0) for size in (10, 30)),
    )
]
SPAMMED = [
    Project(
        f"{share:.0%} spammers, {size} people, {work}", people=size, items=200, work=work, alike=30.0, spammers=share
    )
    for share in (0.1, 0.2)
    for size in (5, 8, 15, 40)
    for work in ("equal", "Zipf")
]


def teams(rounds: int) -> Iterator[Row]:
    for number, project in enumerate(TEAMS + SPAMMED):
        random, part = np.random.default_rng([22, number]), "spammers" if project.spammers else "teams"
        count: Counter[str] = Counter()
        for _ in range(rounds):
            items, others, warned = both_intervals(project.draw(random))
            if others.low is None or others.high is None:
                continue
            holds = others.low <= project.truth <= others.high
            count["sets"] += 1
            count["items"] += (items.low or 0) <= project.truth <= (items.high or 0)
            count["others"] += holds
            count["warned"] += warned
            count["held or warned"] += holds or warned
            count["width"] += others.high - others.low  # type: ignore[assignment]
        shares = {
            name: count[name] / count["sets"] for name in ("items", "others", "width", "warned", "held or warned")
        }
        yield {"part": part, "setting": project.name, "truth": project.truth, "sets": count["sets"]} | shares


def both_intervals(codes: Coded) -> tuple[Estimate, Estimate, bool]:
    """For these annotators, for others, and whether one annotator is said to decide."""
    tally, others = tally_of(codes), peers(codes)
    items = spa_of(tally)
    return items, to_new_annotators(others, BY_N, items, item_groups(tally)), decisive(others, BY_N) is not None


# Plans ---------------------------------------------------------------------------------------

PILOTS = [
    Project(f"{name}, n = {n}", items=items, each=(n,), people=40, shares=shares, right=right, easy=easy)
    for name, shares, right, easy in (
        ("clear items", (0.5, 0.5), 0.95, (1.0, 9.0)),
        ("hard and easy items", (0.4, 0.35, 0.25), 0.95, (0.3, 0.7)),
        ("noisy people", (0.5, 0.5), 0.75, (1.0, 9.0)),
        ("a rare class", (0.92, 0.08), 0.9, (0.5, 2.0)),
    )
    for items, n in ((60, 2), (200, 2), (60, 4))
]
NEW_ITEMS = 300


def plans(rounds: int) -> Iterator[Row]:
    """A pilot of n annotations per item, planned with 2 to 5 per item: the realised half-width over the promised one."""
    for number, project in enumerate(PILOTS):
        random = np.random.default_rng([23, number])
        ratios, inside = [], 0
        for place in range(rounds):
            later = 2 + place % 4
            pilot = tally_of(project.draw(random))
            came = spa_of(tally_of(replace(project, items=NEW_ITEMS, each=(later,)).draw(random)))
            now = spa_of(pilot)
            if now.undefined or not now.stderr or came.low is None or came.high is None:
                continue
            rows = plan_for(pilot, "annotations_m1", lambda: None, now, budget=NEW_ITEMS * later, most=5)
            (row,) = [
                row for row in rows.rows(named=True) if row["route"] == "fresh" and row["annotations_per_item"] == later
            ]
            half = (came.high - came.low) / 2
            ratios.append(half / row["half_width"])
            inside += row["half_width_low"] <= half <= row["half_width_high"]
        low, middle, high = np.quantile(ratios, [0.05, 0.5, 0.95])
        figures = {"low": low, "middle": middle, "high": high, "inside": inside / len(ratios)}
        setting = f"{project.name}, {project.items} items"
        yield {"part": "plans", "setting": setting, "sets": len(ratios)} | {k: float(v) for k, v in figures.items()}


def spa_of(tally: Tally) -> Estimate:
    return spa_estimate(item_groups(tally), BY_N, level=0.95, scheme="annotations_m1")


PARTS: dict[str, Callable[[int], Iterator[Row]]] = {"naming": naming, "teams": teams, "plans": plans}


# The page ------------------------------------------------------------------------------------


def report(rows: list[Row], rounds: int) -> str:
    part = {name: [row for row in rows if row["part"] == name] for name in ("naming", "teams", "spammers", "plans")}
    alike, odd = ([row for row in part["naming"] if bool(row.get("odd")) is is_odd] for is_odd in (False, True))
    worst = max(part["naming"], key=lambda row: row["wrongly"])
    lowest = {name: min(part[name], key=lambda row: row["others"]) for name in ("teams", "spammers")}
    wide = [row[name] for row in part["plans"] for name in ("low", "high")]
    return TEXT.format(
        rounds=rounds,
        error=2 * (0.05 * 0.95 / rounds) ** 0.5,
        wrongly=f"{worst['wrongly']:.3f} ({worst['setting']})",
        alike=table(alike, {"wrongly": "somebody is named"}),
        odd=table(odd, {"stands_out": "`stands_out`", "one_label": "`one_label`", "wrongly": "somebody else is named"}),
        team=f"{lowest['teams']['others']:.3f} ({lowest['teams']['setting']})",
        teams=table(part["teams"], {"items": "these annotators", "others": "others like them", "width": "width"}),
        spammer=f"{lowest['spammers']['others']:.3f} ({lowest['spammers']['setting']})",
        either=f"{min(row['held or warned'] for row in part['spammers']):.3f}",
        spammers=table(part["spammers"], SPAM),
        ratio=f"{min(wide):.2f} to {max(wide):.2f}",
        plans=table(part["plans"], {"low": "5%", "middle": "middle", "high": "95%", "inside": "in the range shown"}),
    )


def table(rows: list[Row], columns: dict[str, str]) -> str:
    lines = ["| | " + " | ".join(columns.values()) + " |", "|---|" + "--:|" * len(columns)]
    lines += [f"| {row['setting']} | " + " | ".join(f"{row[name]:.3f}" for name in columns) + " |" for row in rows]
    return "\n".join(lines)


SPAM = {
    "items": "these annotators",
    "others": "others like them",
    "width": "width",
    "warned": "warned",
    "held or warned": "holds or warned",
}
TEXT = """# An audit with other generators: people and plans

The second half of [the audit](audit.md), on data that none of the other studies use: Dawid and Skene's model with difficult
items (everybody has a confusion matrix; on an item of difficulty d people guess with probability d), shifts of 25 items with
five people on duty, workloads by a Zipf law. {rounds:,} data sets per row; two standard errors of a share of 0.05 or 0.95
are {error:.3f}. Made by `benchmarks/audit_people.py`; all rows are in [audit-people.csv](audit-people.csv).

## Naming annotators

Twelve people, 300 items of three classes, three annotations each, unless the row says otherwise. Nobody is worse than the
others in the first table: someone may be named (`stands_out` or `one_label`) in at most one project in ten, one in
twenty for each of the two. The highest share is {wrongly}.

{alike}

One person differs:

{odd}

## Teams

How often the 95% intervals contain the agreement of two other people on another item. 200 items; people's confusion matrices
differ. Lowest coverage of the interval for others: {team}.

{teams}

## Spammers among few people

Everyone is a spammer with the same probability; a spammer answers at random or always gives one label. A team without one
cannot know that they exist. *Warned*: `one_annotator_decides`. Lowest coverage: {spammer}; the interval holds, or the warning is
given, in at least {either} of the data sets.

{spammers}

## Plans from pilots

Realised half-width over the promised one: 300 new items with 2 to 5 annotations each, planned from a pilot. The middle nine
tenths of the ratios lie within {ratio}.

{plans}
"""


def stored() -> list[Row]:
    """The rows of audit-people.csv."""
    with (FOLDER / "audit-people.csv").open(newline="") as file:
        rows = [{name: value for name, value in row.items() if value} for row in csv.DictReader(file)]
    words = ("part", "setting", "odd")
    return [{name: value if name in words else float(value) for name, value in row.items()} for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    rounds = parser.parse_args().rounds
    rows = [row for part in PARTS.values() for row in part(rounds)]
    columns = dict.fromkeys(name for row in rows for name in row)
    publish("audit-people", [{name: row.get(name, "") for name in columns} for row in rows], report(rows, rounds))


if __name__ == "__main__":
    main()
