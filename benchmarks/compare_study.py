"""How often `compare` and `score --by` say that one side agrees more, when it does and when not: docs/studies/compare.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np
import polars
from held import Row, made_by, table

import spagree
from spagree.estimate.comparison import Pair, p_of
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS, leading

EVEN, SKEWED = (0.5, 0.5), (0.85, 0.15)


@dataclass(frozen=True)
class Design:
    """Two rounds; ``better`` is added to every skill in the second."""

    name: str
    people: int = 8
    shared_people: int = 0
    items: int = 300
    shared_items: bool = False
    each: int = 3
    unequal: float = 1.0
    schools: bool = False
    shares: tuple[tuple[float, ...], tuple[float, ...]] = ((0.4, 0.3, 0.3), (0.4, 0.3, 0.3))
    better: float = 0.0
    grouped: bool = False
    """Whether both are groups of one data set."""

    def draw(self, rng: np.random.Generator) -> list[polars.DataFrame]:
        skill = rng.normal(1.5, self.unequal, 2 * self.people)
        school = rng.random(2 * self.people) < 0.5
        first = np.arange(self.people)
        rounds, world = [], None
        for place, people in enumerate((first, first + self.people - self.shared_people)):
            if world is None or not self.shared_items:
                right = rng.choice(len(self.shares[place]), self.items, p=self.shares[place])
                world = right, rng.normal(0, 1.5, self.items), rng.random(self.items) < 1 / 3
            rounds.append(self._round(rng, people, skill + place * self.better, school, *world, place))
        return rounds

    def _round(self, rng: Any, people: Any, skill: Any, school: Any, *world: Any) -> polars.DataFrame:
        right, hard, split, place = world
        labels = len(self.shares[place])
        chosen = np.argsort(rng.random((self.items, len(people))), axis=1)[:, : self.each]
        item, who = np.repeat(np.arange(self.items), chosen.shape[1]), people[chosen.ravel()]
        knows = rng.random(len(item)) < 1 / (1 + np.exp(hard[item] - skill[who]))
        answer = right[item] + (split[item] & school[who] if self.schools else 0)
        label = np.where(knows, answer % labels, rng.choice(labels, len(item), p=self.shares[place]))
        names = item if self.shared_items else item + place * self.items
        columns = {"item": names, "annotator": [f"p{each}" for each in who], "label": label.astype(str)}
        return polars.DataFrame(columns).with_columns(part=polars.lit("ab"[place]))

    def compared(self, rng: np.random.Generator) -> Pair:
        """The two rounds compared, as two data sets or as groups of one."""
        one, other = self.draw(rng)
        if self.grouped:
            (pair,) = spagree.measure(polars.concat([one, other]), by="part").groups.differences
            return pair
        return spagree.compare(one.drop("part"), other.drop("part"), names=["a", "b"]).pairs[0]


SCHOOLS: dict[str, Any] = {"schools": True, "unequal": 0.3}
TEAMS = [
    Design("two teams of 5", people=5),
    Design("two teams of 5 on the same items", people=5, shared_items=True),
    Design("two teams of 8"),
    Design("two teams of 8, 1,000 items", items=1000),
    Design("two teams of 8, 30 items", items=30),
    Design("two teams of 8 on the same items", shared_items=True),
    Design("two teams of 8, very unequal", unequal=2.0),
    Design("two teams of 20", people=20),
    Design("two crowds of 100", people=100),
    Design("half of 8 people in both", shared_people=4),
    Design("half of 8 people in both, on the same items", shared_people=4, shared_items=True),
    Design("two teams of 6, two schools", people=6, **SCHOOLS),
    Design("two teams of 12, two schools", people=12, **SCHOOLS),
]
PAIRED = [
    Design("5 people", people=5, shared_people=5),
    Design("8 people", shared_people=8),
    Design("8 people on the same items", shared_people=8, shared_items=True),
    Design("20 people", people=20, shared_people=20),
    Design("8 people, two schools", shared_people=8, **SCHOOLS),
]
GROUPS = [
    Design("of people: two teams of 8 on the same items", shared_items=True, grouped=True),
    Design("of people: two teams of 20 on the same items", people=20, shared_items=True, grouped=True),
    Design("of items: the same 8 people", shared_people=8, grouped=True),
]
MIXES = [
    Design("8 people, shares 50:50 → 85:15", shared_people=8, shares=(EVEN, SKEWED), items=600),
    Design("8 people, shares 85:15 → 50:50", shared_people=8, shares=(SKEWED, EVEN), items=600),
    Design("two crowds of 100, shares 50:50 → 85:15", people=100, shares=(EVEN, SKEWED), items=600),
]
BETTER = [
    replace(design, name=f"{name}, skill + {better}", better=better)
    for better in (0.5, 1.0)
    for name, design in (
        ("two teams of 8", TEAMS[2]),
        ("the same 8 people", PAIRED[1]),
        ("the same 8 people on the same items", PAIRED[2]),
        ("two teams of 20", TEAMS[7]),
        ("the same 20 people", PAIRED[3]),
        ("two crowds of 100", TEAMS[8]),
    )
]
OTHER_PEOPLE, SAME_PEOPLE, GROUPED = (
    "Other people, nothing differs",
    "The same people, nothing differs",
    "Groups, nothing differs",
)
LABELS_DIFFER, ALL_BETTER = "Only the shares of the labels differ", "Everybody is better in the second round"
PARTS = {OTHER_PEOPLE: TEAMS, SAME_PEOPLE: PAIRED, GROUPED: GROUPS, LABELS_DIFFER: MIXES, ALL_BETTER: BETTER}


def study(part: str, design: Design, repetitions: int) -> Row:
    """How often each interval excludes 0, and how often each verdict is given."""
    differences, verdicts, below = [], [], []
    for repetition in range(repetitions):
        pair = design.compared(np.random.default_rng([crc32(design.name.encode()), repetition]))
        gap = pair.difference
        differences.append(gap.value)
        verdicts.append(pair.verdict)
        ps = [p_of(leading(gap, gap.intervals, name)) for name in (ITEMS, ANNOTATORS)]
        below.append([p is not None and p < 0.05 for p in ps])
    items, others = np.mean(below, axis=0).tolist()
    row = {
        "part": part,
        "design": design.name,
        "difference": float(np.mean(differences)),
        ITEMS: items,
        ANNOTATORS: others,
    }
    told = {name: verdicts.count(name) / repetitions for name in ("agrees_more", "agrees_less", "label_mix")}
    return row | told | {"repetitions": repetitions}


def rows(repetitions: int) -> Iterator[Row]:
    """Every design; power needs fewer repetitions than false verdicts."""
    for part, designs in PARTS.items():
        for design in designs:
            yield study(part, design, repetitions // 3 if part == ALL_BETTER else repetitions)


def report(rows: Sequence[Row], repetitions: int) -> str:
    """The page."""

    def told(*parts: str) -> list[float]:
        return [row["agrees_more"] + row["agrees_less"] for row in rows if row["part"] in parts]

    teams = [row[ITEMS] for row in rows if row["part"] == OTHER_PEOPLE]
    parts = [
        f"{INTRODUCTION}\n\n{made_by('compare', repetitions)}",
        f"Where nothing differs, `agrees_more` or `agrees_less` is said in at most "
        f"{max(told(OTHER_PEOPLE, SAME_PEOPLE, GROUPED)):.3f}, where only the shares of the labels differ in at most "
        f"{max(told(LABELS_DIFFER)):.3f}.\nBy the interval for these annotators alone, two teams would be declared different "
        f"in {min(teams):.3f} to {max(teams):.3f}.",
    ]
    for part in PARTS:
        parts += [f"## {part}", table([row for row in rows if row["part"] == part], COLUMNS)]
    return "\n\n".join(parts) + "\n"


COLUMNS = {
    "design": "design",
    "difference": "mean difference",
    ITEMS: "p < 0.05, these annotators",
    ANNOTATORS: "p < 0.05, other annotators",
    **{verdict: f"`{verdict}`" for verdict in ("agrees_more", "agrees_less", "label_mix")},
}
INTRODUCTION = """# Comparing rounds and groups: false verdicts and power

An item has a right answer out of three (0.4/0.3/0.3) and a difficulty, a person a skill; with probability
logit⁻¹(skill − difficulty) the right answer is given, otherwise a label drawn by its share. Skills have a standard deviation
of 1 between people (2 if very unequal), difficulties of 1.5. 300 items, each labelled by three people drawn at random;
rounds have different items unless they are said to be the same. With *two schools*, half of the people give another answer
on a third of the items: nobody is better, but agreement depends on who meets whom.

`spagree compare` judges rounds and groups of people by the interval for other annotators, groups of items by that for
these annotators. Where everybody is better, a third of the repetitions was run."""


def main(repetitions: int = 300) -> str:
    """Run every design."""
    return report(list(rows(repetitions)), repetitions)
