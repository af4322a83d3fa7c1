"""How often annotators are named wrongly and rightly: the page docs/studies/naming.md.

Everybody gives the right class with a probability that depends on the item, its batch and the person, on a logit scale,
and otherwise another class. The tests are those of the product; this generator is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from generators import Ints, Random
from held import Row, made_by, table

from spagree.codes import Codes
from spagree.estimate.annotators import OTHERS_ALIKE, PairableAnnotations, against_others, label_shares, rejected
from spagree.estimate.votes import votes_in_codes

BATCH = 20  # items


@dataclass(frozen=True)
class Setting:
    """One kind of project. Person 0 is the one who differs, if anybody does; the last ones copy."""

    name: str
    people: int = 10
    items: int = 300
    n: tuple[int, int] = (3, 3)
    batches: float = 0.0
    """Standard deviation of difficulty between batches of 20 items; a batch has the same people."""
    classes: int = 3
    clear: float = 1.2
    """Logit of a right answer on an average item."""
    skew: float = 0.0
    """Share of the items whose right class is the first, beyond an equal share."""
    zipf: bool = False
    hard_quarter: bool = False
    """Person 0 gets the hardest quarter of the items, and only that."""
    team: int = 0
    """People of a fixed team; nobody else meets them."""
    weaker: float = 0.0
    blind: float = 0.0
    """How often person 0 answers at random."""
    one_label: bool = False
    copiers: int = 0
    """The last people, all of whom give the answers of the very last one."""
    copying: float = 1.0
    """How often."""
    spammers: int = 0
    """How many of the others always answer at random, spread over all."""

    @property
    def at_random(self) -> Ints:
        """The people who always answer at random."""
        return np.linspace(0, self.people - self.copiers - 1, self.spammers).astype(np.int64)

    @property
    def guilty(self) -> Ints:
        """Those who should be named."""
        differs = self.weaker or self.blind or self.one_label
        return np.append(self.at_random, [0] if differs else []).astype(np.int64)

    @property
    def innocent(self) -> Ints:
        """Those who are like the others; of people who copy nobody knows who is."""
        return np.setdiff1d(np.arange(self.people - self.copiers), self.guilty)

    def draw(self, random: Random) -> Codes:
        clear = self.clear + random.normal(0, 0.8, self.items)
        who = self.assigned(random, clear)
        if self.batches:
            clear += np.repeat(random.normal(0, self.batches, self.items // BATCH), BATCH)
        right = np.where(random.random(self.items) < self.skew, 0, random.integers(0, self.classes, self.items))
        seen = random.random(who.shape) < 1 / (1 + np.exp(self.weaker * (who == 0) - clear[:, None]))
        wrong = (right[:, None] + random.integers(1, self.classes, who.shape)) % self.classes
        label = np.where(seen, right[:, None], wrong)
        blind = np.isin(who, self.at_random) | ((who == 0) & (random.random(who.shape) < self.blind))
        label = np.where(blind, random.integers(0, self.classes, who.shape), label)
        label = np.where((who == 0) & self.one_label, 0, label)
        if self.copiers:
            source = (who == self.people - 1) @ np.ones(who.shape[1], dtype=np.int64) > 0
            given = np.where(who == self.people - 1, label, 0).sum(axis=1)
            copies = source[:, None] & (who >= self.people - self.copiers) & (random.random(who.shape) < self.copying)
            label = np.where(copies, given[:, None], label)
        kept = np.arange(who.shape[1]) < random.integers(self.n[0], self.n[1] + 1, self.items)[:, None]
        item = np.broadcast_to(np.arange(self.items)[:, None], who.shape)[kept]
        order = np.lexsort((who[kept], label[kept], item))
        columns = (column[order].astype(np.int32) for column in (item, who[kept], label[kept]))
        return Codes(*columns, tuple(map(str, range(self.people))), tuple("abcdefgh"[: self.classes]))

    def assigned(self, random: Random, clear: np.ndarray) -> Ints:
        """Who annotates each item, a row each: drawn at random, by batch, by busy and idle people, or from a team."""
        load = 1 / np.arange(1, self.people + 1) if self.zipf else np.ones(self.people)
        rows = self.items // BATCH if self.batches else self.items
        keys = np.log(load) + random.gumbel(size=(rows, self.people))
        if self.team:
            teams = np.arange(self.people) // self.team
            keys[teams != random.integers(0, self.people // self.team, rows)[:, None]] = -np.inf
        if self.batches:
            keys = np.repeat(keys, BATCH, axis=0)
        if self.hard_quarter:
            keys[:, 0] = np.where(clear <= np.quantile(clear, 0.25), random.gumbel(size=rows) + 1, -np.inf)
        return np.argsort(-keys, axis=1)[:, : self.n[1]]


NOBODY = [
    Setting("items at random, n = 3"),
    Setting("items at random, n = 5", n=(5, 5)),
    Setting("items at random, n = 2–5", n=(2, 5)),
    Setting("50 people, 1,000 items", people=50, items=1000),
    Setting("a few do most, n = 3", people=20, items=600, zipf=True),
    Setting("two classes, one of them rare", classes=2, skew=0.85),
    Setting("batches differ by 0.5 logit", batches=0.5),
    Setting("batches differ by 1 logit", batches=1.0),
    Setting("batches differ by 1 logit, n = 5", batches=1.0, n=(5, 5)),
    Setting("one person gets the hardest quarter", hard_quarter=True),
    Setting("one person gets the hardest quarter, n = 5", hard_quarter=True, n=(5, 5)),
    Setting("4 people label everything", people=4, n=(4, 4)),
    Setting("20 people toss coins, 6 items each", people=20, items=60, n=(2, 2), classes=2, clear=0.0),
    Setting("20 people toss coins, 9 items each", people=20, items=60, classes=2, clear=0.0),
]
COPYING = [
    Setting("4 people label everything", people=4, n=(4, 4), copiers=2),
    Setting("5 people label everything", people=5, n=(5, 5), copiers=2),
    Setting("5 people label everything, half is copied", people=5, items=1000, n=(5, 5), copiers=2, copying=0.5),
    Setting("10 people label everything", n=(10, 10), copiers=2),
    Setting("10 people label everything, 1,000 items", items=1000, n=(10, 10), copiers=2),
    Setting("10 people label everything, 1 at random", n=(10, 10), copiers=2, spammers=1),
    Setting("10 people label everything, 2 at random", n=(10, 10), copiers=2, spammers=2),
    Setting("5 people, n = 3, 50 items", people=5, items=50, copiers=2),
    Setting("5 people, n = 3, 1,000 items", people=5, items=1000, copiers=2),
    Setting("6 people, n = 5, 1,000 items", people=6, items=1000, n=(5, 5), copiers=2),
    Setting("10 people, n = 3, 3,000 items", items=3000, copiers=2),
    Setting("12 people, batches differ by 1 logit", people=12, items=600, batches=1.0, copiers=2),
    Setting("20 people, n = 5, 2 at random", people=20, items=600, n=(5, 5), copiers=2, spammers=2),
    Setting("20 people, n = 5, 4 at random", people=20, items=600, n=(5, 5), copiers=2, spammers=4),
    Setting("5 teams of 4", people=20, items=1000, n=(4, 4), team=4, copiers=2),
    Setting("4 teams of 5, 3 at random", people=20, items=1000, n=(5, 5), team=5, copiers=2, spammers=3),
]
SOMEBODY = [
    Setting("weaker by 1 logit, n = 3", weaker=1.0),
    Setting("weaker by 1 logit, n = 5", weaker=1.0, n=(5, 5)),
    Setting("weaker by 1 logit, n = 5, batches of 1 logit", weaker=1.0, n=(5, 5), batches=1.0),
    Setting("weaker by 1 logit, 4 people label everything", people=4, n=(4, 4), weaker=1.0),
    Setting("at random in 30% of the items, n = 3", blind=0.3),
    Setting("at random in 60% of the items, n = 3", blind=0.6),
    Setting("at random in 60% of the items, 5 people, n = 3", people=5, blind=0.6),
    Setting("at random always, n = 3", blind=1.0),
    Setting("at random always, batches of 1 logit", blind=1.0, batches=1.0),
    Setting("at random always, 4 people label everything", people=4, n=(4, 4), blind=1.0),
    Setting("at random always, 3 people label everything", people=3, blind=1.0),
    Setting("4 of 20 people at random always, n = 3, 500 items", people=20, items=500, spammers=4),
    Setting("4 of 20 people at random always, n = 5", people=20, n=(5, 5), spammers=4),
    Setting("always the same label, n = 3", one_label=True),
    Setting("always the same label, 50 people, 200 items", one_label=True, people=50, items=200),
    Setting("always the common label, the other is rare", one_label=True, classes=2, skew=0.85),
]
THREE_COPY = [
    Setting("5 people label everything", people=5, n=(5, 5), copiers=3),
    Setting("10 people label everything", n=(10, 10), copiers=3),
    Setting("20 people, n = 5, 600 items", people=20, items=600, n=(5, 5), copiers=3),
]
TESTS = {
    "agreement": "plain agreement",
    "simple": "first test",
    "stands_out": "`stands_out`",
    "one_label": "`one_label`",
}


def named(codes: Codes) -> dict[str, Ints]:
    """Whom each test names."""
    visits = PairableAnnotations.of(codes, votes_in_codes(codes))
    share = visits.agree / (visits.n - 1)
    found, each = against_others(visits, 0.95), visits.means(share)
    out = np.array([known is True for known in found.stands_out])
    return {
        "agreement": np.array(rejected(each._replace(mean=each.mean - share.mean()).p), dtype=np.int64),
        "simple": np.flatnonzero(out | np.array([reason == OTHERS_ALIKE for reason in found.why_not])),
        "stands_out": np.flatnonzero(out),
        "one_label": np.flatnonzero(label_shares(codes).one_label),
    }


def study(settings: list[Setting], repetitions: int) -> Iterator[Row]:
    for setting in settings:
        random = np.random.default_rng(crc32(repr(setting).encode()))
        wrong, right = dict.fromkeys(TESTS, 0.0), dict.fromkeys(TESTS, 0.0)
        for _ in range(repetitions):
            for name, people in named(setting.draw(random)).items():
                wrong[name] += bool(np.isin(people, setting.innocent).any()) / repetitions
                right[name] += np.isin(setting.guilty, people).sum() / max(1, len(setting.guilty)) / repetitions
        yield {"setting": setting.name, "guilty": len(setting.guilty)} | {
            f"{what} {name}": share[name] for what, share in (("wrong", wrong), ("right", right)) for name in TESTS
        }


def highest(rows: list[Row], name: str) -> str:
    worst = max(rows, key=lambda row: row[f"wrong {name}"])
    return f"{worst[f'wrong {name}']:.3f} ({worst['setting']})"


def page(parts: dict[str, list[Row]], repetitions: int) -> str:
    named_wrongly = {"setting": ""} | {f"wrong {name}": title for name, title in TESTS.items()}
    copying = named_wrongly | {"right stands_out": "those at random, found"}
    del copying["wrong one_label"], copying["wrong agreement"]
    found = {"setting": "", "right simple": "first test", "right stands_out": "`stands_out`"}
    found |= {"right one_label": "`one_label`", "wrong stands_out": "someone else by `stands_out`"}
    beside = [row | {} if row["guilty"] else row | {"right stands_out": None} for row in parts["copying"]]
    return f"""# Naming annotators: how often wrongly, how often rightly

**The claim.** `annotators()` names people in two ways: `stands_out` (the others of the same items agree less with this
person than with each other, [how](../breakdowns.md#annotators)) and `one_label` (one label throughout, beyond what the
items explain). Either names somebody who is like the others in at most one project in twenty, whatever items people
got, and also beside two people who copy from each other. Highest share where nobody differs: {highest(parts["nobody"], "stands_out")}
for `stands_out`, {highest(parts["nobody"], "one_label")} for `one_label`; beside two who copy: {highest(parts["copying"], "stands_out")}.

**How it was measured.** Everybody gives the right one of three classes with a probability that depends on the item,
its batch and the person, and otherwise another (`benchmarks/naming_study.py`). 10 people and 300 items of three
annotations, unless the row says otherwise. {made_by("naming", repetitions)}

*Plain agreement* is what spagree does not do: compare everybody's agreement with others to the mean. The *first test*
compares the same items and corrects for the number of people, but believes that people answer independently;
`stands_out` also asks whether it would say the same if what two of the others agree with each other did not count,
whichever two, of those who met on ten, or on a tenth, of the person's items.

## Nobody differs: projects in which somebody is named

{table(parts["nobody"], named_wrongly)}

## Two people copy from each other: projects in which one of the others is named who is like them

{table(beside, copying)}

## Somebody differs: how often they are found

{table(parts["somebody"], found)}

## Three people copy from each other: projects in which one of the others is named

{table(parts["three"], {name: copying[name] for name in list(copying)[:3]})}

**What it means.** Whoever is named differs from the others, not necessarily for the worse. The warning about two who
copy costs little where many people meet, and most where three annotations of an item come from few people; three
people who label everything are never named, because one who differs and two who copy look the same. It is not only
for fixed teams: of 5 people with three annotations per item, any two share half of their items, and the first test
names somebody in every project where two copy. Against three who copy it does not help in a small team: look at the
pairs who agree most.
"""


def main(repetitions: int = 400) -> str:
    settings = {"nobody": NOBODY, "copying": COPYING, "somebody": SOMEBODY, "three": THREE_COPY}
    return page({name: list(study(each, repetitions)) for name, each in settings.items()}, repetitions)
