"""How often the intervals of agreement on marks contain the truth: the page docs/studies/marks.md."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
from generators import Floats, Random
from held import Row, made_by, table

from spagree.comparing import mark_sides
from spagree.counts.marks import CodedMarks
from spagree.estimate.comparison import compare_sides
from spagree.estimate.marks import MarkFindings, find_marks
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS, Estimate
from spagree.estimate.weights import DEFAULT
from spagree.spans import SpanAgreement

LENGTH, LABELS = 200, ("a", "b", "c")
POPULATION, LARGE, CROWD = 240, 4_000, 6  # people; texts and readers of each behind the truth
ENOUGH = 0.92
ROUNDS = {
    "data": "data",
    "people": "second round",
    "exact": "whole spans",
    "characters": "characters",
    "nothing": "nothing",
    "items": "whole spans, these people",
    "verdict": "said to differ",
}


@dataclass(frozen=True)
class World:
    """Texts with passages worth marking, and people who find some of them and mark others.

    Somebody finds a passage with a chance whose logit is ``found`` plus what is special about the text and about the
    person; moves its ends, mistakes its label, and marks something that is not there ``invented`` times a text.
    """

    passages: float = 3.0
    found: float = 0.8
    texts: float = 0.5
    people: float = 0.0
    moved: float = 0.3
    mistaken: float = 0.15
    invented: float = 0.5
    careless: float = 0.0
    """How much people differ in what they invent."""

    def marks(self, readers: list[Floats], random: Random) -> CodedMarks:
        """What these readers mark, each given by what is special about them; a list for each text."""
        visits: list[tuple[int, int]] = []
        rows: list[tuple[int, int, int, int]] = []
        for text, special in enumerate(readers):
            count, hard = random.poisson(self.passages), random.normal(0, self.texts)
            start, size = random.integers(0, LENGTH - 20, count), random.integers(3, 15, count)
            label = random.integers(0, len(LABELS), count)
            for who, person in special:
                finds = random.random(count) < 1 / (1 + np.exp(-(self.found + hard + person)))
                ends = random.integers(-2, 3, (2, count)) * (random.random((2, count)) < self.moved)
                given = np.where(random.random(count) < self.mistaken, random.integers(0, 3, count), label)
                first = np.maximum(0, start + ends[0])[finds]
                last = np.maximum(first + 1, (start + size + ends[1])[finds])
                rows += [(len(visits), *mark) for mark in zip(first, last, given[finds], strict=True)]
                for _ in range(random.poisson(self.invented * np.exp(self.careless * person))):
                    at = int(random.integers(0, LENGTH - 20))
                    rows.append((len(visits), at, at + int(random.integers(3, 15)), int(random.integers(0, 3))))
                visits.append((text, int(who)))
        marks, people = np.array(rows, dtype=np.int64).reshape(-1, 4), 1 + max(who for _, who in visits)
        item, annotator = np.array(visits, dtype=np.int64).T
        names = tuple(f"{text:05}" for text in range(len(readers))), tuple(f"{who:05}" for who in range(people))
        places = marks[:, 0], marks[:, 1].astype(float), marks[:, 2].astype(float), marks[:, 3]
        return CodedMarks(*names, LABELS, item, annotator, *places, np.full(len(readers), float(LENGTH)))


WORLDS = {
    "people alike": World(),
    "people differ": World(people=0.8),
    "few marks, hard texts": World(passages=0.6, people=0.5, texts=1.5),
    "some invent much": World(people=0.5, invented=2.0, careless=1.0),
    "clear passages": World(found=3.0, texts=1.0, people=0.5, moved=0.1, mistaken=0.05, invented=0.1),
}
DESIGNS = {
    "20 texts, 8 people, 2 to 4": (20, 8, 2, 4),
    "60 texts, 8 people, 2 to 4": (60, 8, 2, 4),
    "200 texts, 8 people, 2 to 4": (200, 8, 2, 4),
    "200 texts, 20 people, 2": (200, 20, 2, 2),
    "30 texts, 5 people, 3": (30, 5, 3, 3),
}


def readers_of(people: Floats, design: tuple[int, int, int, int], random: Random) -> list[Floats]:
    texts, size, low, high = design
    who = random.choice(len(people), size, replace=False)
    chosen = [np.sort(random.choice(size, random.integers(low, high + 1), replace=False)) for _ in range(texts)]
    return [np.column_stack([each, people[who[each]]]) for each in chosen]


def figures(found: MarkFindings) -> Iterator[tuple[str, Estimate]]:
    for name in ("exact", "characters", "exact_any_label", "characters_any_label", "characters_beyond_chance"):
        yield name, getattr(found, name)
    for name, figure in found.outcomes.items():
        if name != "same":
            yield name, figure


def study(repetitions: int) -> list[Row]:
    rows = []
    for data, world in WORLDS.items():
        random = np.random.default_rng(crc32(data.encode()))
        people = random.normal(0, world.people, POPULATION)
        crowd = readers_of(people, (LARGE, POPULATION, CROWD, CROWD), random)
        truth = {name: float(figure) for name, figure in figures(find_marks(world.marks(crowd, random)))}
        for design, sizes in DESIGNS.items():
            hits: dict[tuple[str, str], list[bool]] = {}
            widths: dict[tuple[str, str], list[float]] = {}
            for _ in range(repetitions):
                found = find_marks(world.marks(readers_of(people, sizes, random), random))
                for name, figure in figures(found):
                    for population, interval in figure.intervals.items():
                        if interval.low is not None and interval.high is not None:
                            covers = interval.low <= truth[name] <= interval.high
                            hits.setdefault((name, population), []).append(covers)
                            widths.setdefault((name, population), []).append(interval.high - interval.low)
            for (name, population), covers in hits.items():
                known = {"data": data, "design": design, "figure": name, "population": population}
                spread = float(np.mean(widths[name, population]))
                rows.append({**known, "truth": truth[name], "covers": float(np.mean(covers)), "width": spread})
    return rows


def rounds(repetitions: int) -> list[Row]:
    """Two rounds of 60 texts each, three of eight people a text: nothing differs but, in half of them, the people."""
    rows = []
    for data, world in WORLDS.items():
        random = np.random.default_rng(crc32(data.encode()) + 1)
        people = random.normal(0, world.people, POPULATION)
        for whose in ("the same people", "other people"):
            holds: dict[str, list[bool]] = {}
            for _ in range(repetitions):
                team = random.choice(POPULATION, 8, replace=False)
                teams = {
                    "a": team,
                    "b": team if whose == "the same people" else random.choice(POPULATION, 8, replace=False),
                }
                sides = {}
                for name, own in teams.items():
                    chosen = [np.sort(random.choice(8, 3, replace=False)) for _ in range(60)]
                    marks = world.marks([np.column_stack([each, people[own[each]]]) for each in chosen], random)
                    names = tuple(f"{name}{text}" for text in marks.items), tuple(f"{who:03}" for who in own.tolist())
                    marks = replace(marks, items=names[0], annotators=names[1][: len(marks.annotators)])
                    chosen_how = {"weights": DEFAULT, "level": 0.95, "interval_for": "auto"}
                    sides[name] = SpanAgreement(find_marks(marks), marks, chosen_how)
                (pair,) = compare_sides(mark_sides(sides))
                holds.setdefault("verdict", []).append(pair.verdict in ("agrees_more", "agrees_less"))
                for figure in ("exact", "characters", "nothing"):
                    gap = pair.differences[figure]
                    holds.setdefault(figure, []).append(
                        gap.low is not None and gap.high is not None and gap.low <= 0 <= gap.high
                    )
                alone = pair.difference.intervals[ITEMS]
                holds.setdefault("items", []).append(alone.low is not None and alone.low <= 0 <= (alone.high or 0))
            rows.append({"data": data, "people": whose, **{name: float(np.mean(each)) for name, each in holds.items()}})
    return rows


def page(rows: list[Row], compared: list[Row], repetitions: int) -> str:
    others = [row for row in rows if row["population"] == ANNOTATORS]
    alike = [row for row in rows if row["population"] == ITEMS and row["data"] == "people alike"]
    differ = [row for row in rows if row["population"] == ITEMS and row["data"] != "people alike"]
    lines = []
    for name in dict.fromkeys(row["figure"] for row in rows):
        line: Row = {"figure": name}
        for title, chosen in (("others", others), ("items, people alike", alike), ("items, people differ", differ)):
            covers = [row["covers"] for row in chosen if row["figure"] == name]
            line |= {f"{title}: lowest": min(covers), f"{title}: mean": float(np.mean(covers))}
        lines.append(line)
    short = sum(row["covers"] < ENOUGH for row in others)
    columns = {name: name for name in ("data", "design", "figure", "truth", "covers", "width")}
    return f"""# Marks: spans and characters

**The claim.** The intervals of [agreement on marks](../spans.md) for other annotators contain the agreement of the whole
population of people and texts: {short} of {len(others)} cover it less than {ENOUGH} of the time, the lowest
{min(row["covers"] for row in others):.3f}, the mean {np.mean([row["covers"] for row in others]):.3f}. The interval for these
annotators does so where people are alike (lowest {min(row["covers"] for row in alike):.3f}), and not where they differ: it is
about these people.

**How it was measured.** Texts have passages worth marking. Somebody finds each with a chance that depends on the text and on
the person, may move its ends by up to two characters or mistake its label, and marks something that is not there now and
then (`benchmarks/marks_study.py`). {len(WORLDS)} such worlds, {len(DESIGNS)} designs: 20 to 200 texts, read by 2 to 4 of 5 to
20 people. The truth is the agreement of {CROWD} readers of each of {LARGE:,} texts, drawn from {POPULATION} people.
{made_by("marks", repetitions)}

{table(lines, {name: name for name in lines[0]})}

The ten intervals for other annotators with the lowest coverage:

{table(sorted(others, key=lambda row: row["covers"])[:10], columns)}

Two rounds of 60 texts, three of eight people a text, between which nothing differs but, in half of the settings, the people:
how often the interval of the difference for other annotators contains 0, that of whole spans for these annotators too, and how
often a round is said to agree more or less.

{table(compared, ROUNDS)}

**What it means.** As for labels, the interval for these annotators on new texts says nothing about others: more texts make it
shorter, and it then misses more often what other people would mark.
"""


def main(repetitions: int = 200) -> str:
    return page(study(repetitions), rounds(repetitions), repetitions)
