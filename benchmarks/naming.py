"""How often annotators are named who are like the others, and how often one who is not. Writes docs/studies/naming.{md,csv}.

    python benchmarks/naming.py [--rounds 1000]

Everybody gives the true class with a probability that depends on the item, its batch and the person, on a logit scale,
and otherwise another class. The tests are those of the product; this generator is not.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from publish import publish
from scipy.stats import t as student

from spagree.estimate.annotators import ALPHA, against_others, label_shares
from spagree.estimate.comparison import holm
from spagree.estimate.leave_one_out import Peers, peers
from spagree.estimate.uncertainty import FEW_ITEMS
from spagree.tally.coded import Coded

Random = np.random.Generator
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Setting:
    """One kind of project; person 0 is the one who differs, if anybody does."""

    name: str
    people: int = 10
    items: int = 300
    per_item: tuple[int, int] = (3, 3)
    batches: float = 0.0
    """Standard deviation of difficulty between batches of 20 items; a batch has the same people."""
    classes: int = 3
    clear: float = 1.2
    """Logit of a right answer on an average item."""
    skew: float = 0.0
    """Share of the items whose true class is the first, beyond an equal share."""
    zipf: bool = False
    hard_quarter: bool = False
    """Person 0 gets the hardest quarter of the items, and only that."""
    weaker: float = 0.0
    blind: float = 0.0
    """How often person 0 answers at random."""
    one_label: bool = False
    """Person 0 always gives the first class."""

    @property
    def differs(self) -> bool:
        return bool(self.weaker or self.blind or self.one_label)

    def draw(self, random: Random) -> Coded:
        clear = self.clear + random.normal(0, 0.8, self.items)
        who = self.assigned(random, clear)
        if self.batches:
            clear += np.repeat(random.normal(0, self.batches, self.items // 20), 20)
        truth = np.where(random.random(self.items) < self.skew, 0, random.integers(0, self.classes, self.items))
        right = clear[:, None] - self.weaker * (who == 0)
        seen = random.random(who.shape) < 1 / (1 + np.exp(-right))
        other = (truth[:, None] + random.integers(1, self.classes, who.shape)) % self.classes
        label = np.where(seen, truth[:, None], other)
        blind = (who == 0) & (random.random(who.shape) < self.blind)
        label = np.where(blind, random.integers(0, self.classes, who.shape), label)
        label = np.where((who == 0) & self.one_label, 0, label)
        n = random.integers(self.per_item[0], self.per_item[1] + 1, self.items)
        kept = np.arange(who.shape[1]) < n[:, None]
        item = np.broadcast_to(np.arange(self.items)[:, None], who.shape)
        return coded(item[kept], who[kept], label[kept], self.people, self.classes)

    def assigned(self, random: Random, clear: NDArray[np.float64]) -> Ints:
        """Who annotates each item, a row each: drawn at random, by batch, or by busy and idle people."""
        load = 1 / np.arange(1, self.people + 1) if self.zipf else np.ones(self.people)
        rows = self.items // 20 if self.batches else self.items
        keys = np.log(load) + random.gumbel(size=(rows, self.people))
        if self.batches:
            keys = np.repeat(keys, 20, axis=0)
        if self.hard_quarter:
            keys[:, 0] = np.where(clear <= np.quantile(clear, 0.25), random.gumbel(size=rows) + 1, -np.inf)
        return np.argsort(-keys, axis=1)[:, : self.per_item[1]]


def coded(item: Any, who: Any, label: Any, people: int, classes: int) -> Coded:
    order = np.lexsort((who, label, item))
    columns = [np.asarray(each)[order].astype(np.int32) for each in (item, who, label)]
    return Coded(*columns, tuple(map(str, range(people))), tuple("abcdefgh"[:classes]))


NOBODY = [
    Setting("items at random, n = 3"),
    Setting("items at random, n = 5", per_item=(5, 5)),
    Setting("items at random, n = 2–5", per_item=(2, 5)),
    Setting("50 people, 1,000 items", people=50, items=1000),
    Setting("50 people, 200 items", people=50, items=200),
    Setting("a few do most, n = 3", people=20, items=600, zipf=True),
    Setting("two classes, one of them rare", classes=2, skew=0.85),
    Setting("batches differ by 0.3 logit", batches=0.3),
    Setting("batches differ by 0.5 logit", batches=0.5),
    Setting("batches differ by 1 logit", batches=1.0),
    Setting("batches differ by 1 logit, n = 5", batches=1.0, per_item=(5, 5)),
    Setting("one person gets the hardest quarter", hard_quarter=True),
    Setting("20 people toss coins, 6 items each", people=20, items=60, per_item=(2, 2), classes=2, clear=0.0),
    Setting("20 people toss coins, 9 items each", people=20, items=60, classes=2, clear=0.0),
    Setting("one person gets the hardest quarter, n = 5", hard_quarter=True, per_item=(5, 5)),
]
SOMEBODY = [
    Setting("weaker by 1 logit, n = 3", weaker=1.0),
    Setting("weaker by 1 logit, n = 5", weaker=1.0, per_item=(5, 5)),
    Setting("weaker by 1 logit, n = 5, batches of 1 logit", weaker=1.0, per_item=(5, 5), batches=1.0),
    Setting("at random in 30% of the items, n = 3", blind=0.3),
    Setting("at random in 60% of the items, n = 3", blind=0.6),
    Setting("at random always, n = 3", blind=1.0),
    Setting("at random always, batches of 1 logit", blind=1.0, batches=1.0),
    Setting("always the same label, n = 3", one_label=True),
    Setting("always the same label, 50 people, 200 items", one_label=True, people=50, items=200),
    Setting("always the common label, the other is rare", one_label=True, classes=2, skew=0.85),
]


def by_agreement(others: Peers) -> NDArray[np.bool_]:
    """Naming by plain agreement with others: below the mean of all, Student's t and Holm. What the product does not do."""
    shared = others.shared
    mean = others.per_annotator(others.share) / np.maximum(shared, 1)
    spread = others.per_annotator((others.share - mean[others.annotator]) ** 2)
    error = np.sqrt(spread / np.maximum(shared - 1, 1) / np.maximum(shared, 1))
    p = student.cdf((mean - others.share.mean()) / np.maximum(error, 1e-12), np.maximum(shared - 1, 1))
    adjusted = holm([float(each) if size >= FEW_ITEMS else None for each, size in zip(p, shared, strict=True)])
    return np.array([each is not None and each <= ALPHA for each in adjusted])


def study(setting: Setting, number: int, rounds: int) -> dict[str, Any]:
    random = np.random.default_rng([7, number])
    first = 1 if setting.differs else 0  # the innocent
    wrong, right = dict.fromkeys(("agreement", "stands_out", "one_label"), 0), {"stands_out": 0, "one_label": 0}
    for _ in range(rounds):
        codes = setting.draw(random)
        each = peers(codes)
        named = {
            "agreement": by_agreement(each),
            "stands_out": against_others(each, 0.95).stands_out,
            "one_label": np.array(label_shares(codes).one_label),
        }
        for name in wrong:
            wrong[name] += bool(named[name][first:].any())
        for name in right:
            right[name] += bool(named[name][0])
    row: dict[str, Any] = {"setting": setting.name, "somebody differs": setting.differs}
    row |= {f"innocent named by {name}": count / rounds for name, count in wrong.items()}
    return row | {f"found by {name}": count / rounds if setting.differs else "" for name, count in right.items()}


def lines(rows: list[dict[str, Any]], columns: dict[str, str]) -> Iterator[str]:
    yield "| | " + " | ".join(columns.values()) + " |"
    yield "|---|" + "--:|" * len(columns)
    for row in rows:
        yield f"| {row['setting']} | " + " | ".join(f"{row[name]:.3f}" for name in columns) + " |"


def report(rows: list[dict[str, Any]], rounds: int) -> str:
    nobody = [row for row in rows if not row["somebody differs"]]
    somebody = [row for row in rows if row["somebody differs"]]
    level = {name: f"innocent named by {name}" for name in ("stands_out", "one_label", "agreement")}
    worst = {name: max(rows, key=lambda row, column=column: row[column]) for name, column in level.items()}
    innocent = {
        level["agreement"]: "plain agreement",
        level["stands_out"]: "`stands_out`",
        level["one_label"]: "`one_label`",
    }
    power = {"found by stands_out": "`stands_out`", "found by one_label": "`one_label`"} | {
        level["stands_out"]: "someone else by `stands_out`",
        level["one_label"]: "someone else by `one_label`",
    }
    return TEXT.format(
        rounds=rounds,
        error=2 * (0.05 * 0.95 / rounds) ** 0.5,
        nobody="\n".join(lines(nobody, innocent)),
        somebody="\n".join(lines(somebody, power)),
        worst=worst["stands_out"][level["stands_out"]],
        where=worst["stands_out"]["setting"],
        blind=worst["one_label"][level["one_label"]],
        blind_where=worst["one_label"]["setting"],
    )


TEXT = """# Naming annotators: how often wrongly, how often rightly

`annotators()` names people in two ways: `stands_out` (the others of the same items agree less with this person than with
each other, [how](../breakdowns.md#annotators)) and `one_label` (one label throughout, beyond what the items explain).
Each should name someone like the others in at most one project in twenty. {rounds:,} simulated projects per row, 10
people and 300 items of three classes unless the row says otherwise; two standard errors of a share of 0.05 are {error:.3f}.
Made by `make naming-study` (`benchmarks/naming.py`); all rows are in [naming.csv](naming.csv).

## Nobody differs: projects in which someone is named

"Plain agreement" is what spagree does not do: compare everyone's agreement with others to the mean, with the same
test and the same correction.

{nobody}

Highest share: {worst:.3f} for `stands_out` ({where}), {blind:.3f} for `one_label` ({blind_where}).

## One person differs: projects in which they are found, and in which someone else is named

{somebody}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    rounds = parser.parse_args().rounds
    rows = [study(setting, number, rounds) for number, setting in enumerate(NOBODY + SOMEBODY)]
    publish("naming", rows, report(rows, rounds))


if __name__ == "__main__":
    main()
