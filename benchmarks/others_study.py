"""How often the interval for other annotators contains the truth: the page docs/studies/other-annotators.md."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from zlib import crc32

import numpy as np
from coverage import Held, Row, lowest, made_by, of_people, table
from generators import World, confusing, knowing, roster, schools, truth

ITEMS, PEOPLE = 200, (4, 6, 10, 20, 60)
ROSTERS = {"2 at random": (2, 2), "2–3, Zipf": (2, 3), "3 at random": (3, 3)}
TEAM = 5
ORDINARY = {
    "alike": lambda: knowing(2.0, people=0.0),
    "skill differs a little": lambda: knowing(2.0, people=0.5),
    "skill differs much": lambda: knowing(2.0, people=1.2),
    "confusion differs": lambda: confusing(0.8, alike=10),
}
SPECIAL = {
    "two schools of thought": lambda: schools(0.3),
    "10% spammers": lambda: confusing(0.9, alike=30, spammers=0.1),
    "20% spammers": lambda: confusing(0.9, alike=30, spammers=0.2),
}
COEFFICIENTS = ("krippendorff_alpha", "spa_kappa")


@cache
def world(kind: str) -> World:
    if kind == "teams":
        return schools(0.3, team=TEAM)
    return (ORDINARY | SPECIAL)[kind]()


def study(repetitions: int) -> Iterator[Row]:
    settings = [*product(ORDINARY | SPECIAL, PEOPLE, ROSTERS), *product(["teams"], (20, 40, 60), ["3 of one team"])]
    for kind, people, given in settings:
        random = np.random.default_rng(crc32(repr((kind, people, given)).encode()))
        held = {name: Held() for name in ("items", "annotators", "alpha items", "alpha annotators")}
        agreement, by_chance = truth(world(kind))
        if kind == "teams":  # people of different teams never meet: the figure is about one team
            agreement = float((world("teams").meetings(400_000)[0] ** 2).sum(axis=1).mean())
        kappa = (agreement - by_chance) / (1 - by_chance)
        for _ in range(repetitions):
            few, many = ROSTERS.get(given, (3, 3))
            n = random.integers(few, many + 1, ITEMS)
            item, who = roster(n, people, random, zipf="Zipf" in given, team=TEAM * (kind == "teams"))
            found = of_people(item, world(kind).labels(item, who, random), who)
            for name in ("items", "annotators"):
                held[name].add(found.spa.intervals[name], agreement)
                held[f"alpha {name}"].add(found.chance["krippendorff_alpha"].intervals[name], kappa)
        yield {"kind": kind, "people": people, "roster": given, "sets": repetitions} | {
            f"{name} {what}": held[name].row[what] for name in held for what in ("covers", "width", "without")
        }


def span(rows: list[Row], key: str) -> str:
    known = [row[key] for row in rows if row[key] is not None]
    return f"{min(known):.3f}–{max(known):.3f}" if known else "–"


def by(rows: list[Row], key: str) -> str:
    lines = []
    for value in dict.fromkeys(row[key] for row in rows):
        chosen = [row for row in rows if row[key] == value]
        wider = np.mean([row["annotators width"] / row["items width"] for row in chosen if row["annotators width"]])
        lines.append(
            {key: value}
            | {
                name: span(chosen, f"{name} covers")
                for name in ("items", "annotators", "alpha items", "alpha annotators")
            }
            | {"wider": f"× {wider:.1f}"}
        )
    headings = {key: "", "items": "SPA: items", "annotators": "others", "wider": "width"}
    return table(lines, headings | {"alpha items": "alpha: items", "alpha annotators": "others"})


def page(rows: list[Row], repetitions: int) -> str:
    ordinary = [row for row in rows if row["kind"] in ORDINARY]
    columns = {"kind": "people", "people": "how many", "roster": "annotations", "annotators covers": "covers"}
    return f"""# The interval for other annotators

**The claim.** Where people differ as people do, in skill or in what they confuse, the 95% interval for other annotators
contains the agreement of two other people on another item 95 times in 100 or more often: {span(ordinary, "annotators covers")}
over {len(ordinary)} settings, where the interval for items alone holds in {span(ordinary, "items covers")}. With spammers among a
few people, or two schools of thought among four, it holds less often.

**How it was measured.** {ITEMS} items, three classes; 4 to 60 people drawn from a population whose agreement is known
(`benchmarks/generators.py`): alike; skill on a logit scale with a standard deviation of 0.5 or 1.2; confusion matrices
as Dawid and Skene have them; two schools of thought that differ on 30% of the items; people who answer blindly or always
alike. Two or three people per item, at random or by a Zipf law of workloads. *Teams*: five people of one school each,
and only people of one team meet; the figure is then about one team. {made_by("other-annotators", repetitions)}

{by(rows, "kind")}

By number of people, for people who differ in skill or confusion:

{by([row for row in ordinary if row["kind"] != "alike"], "people")}

The ten settings with the lowest coverage:

{table(lowest(rows, 10, "annotators covers"), columns | {"annotators width": "width"})}

**What it means.** Use the interval for other annotators wherever you speak of people in general; it is the one that
spagree shows first. It is too wide if people are alike: how much four people differ cannot be known well, and a variance
is never below 0. No interval knows of spammers who are not in the sample: with one in five among four to ten people it
often misses. Two schools of thought are seen only in who agrees with whom, which four people hardly show. With fewer
than four people there is no such interval.
"""


def main(repetitions: int = 200) -> str:
    return page(list(study(repetitions)), repetitions)
