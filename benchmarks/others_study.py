"""How often the interval for other annotators contains the truth: the page docs/studies/other-annotators.md."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
from generators import MEETINGS, World, confusing, knowing, roster, schools, truth
from held import AGAIN, Held, Row, again, generator, made_by, of_people, span, table

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


@cache
def world(kind: str) -> World:
    if kind == "teams":
        return schools(0.3, team=TEAM)
    return (ORDINARY | SPECIAL)[kind]()


SETTINGS = [*product(ORDINARY | SPECIAL, PEOPLE, ROSTERS), *product(["teams"], (20, 40, 60), ["3 of one team"])]


def cover(setting: tuple[str, int, str], repetitions: int, seed: int = 0) -> Row:
    kind, people, given = setting
    random, here = generator(setting, seed), world(kind)
    held = {name: Held() for name in ("items", "annotators", "alpha items", "alpha annotators", "both", "one")}
    agreement, by_chance = truth(here)
    if kind == "teams":  # people of different teams never meet: the figure is about one team
        agreement = float((here.meetings(MEETINGS)[0] ** 2).sum(axis=1).mean())
    kappa = (agreement - by_chance) / (1 - by_chance)
    for _ in range(repetitions):
        few, many = ROSTERS.get(given, (3, 3))
        n = random.integers(few, many + 1, ITEMS)
        item, who = roster(n, people, random, zipf="Zipf" in given, team=TEAM * (kind == "teams"))
        drawn = here.people(people, random)
        found = of_people(item, here.labels(item, who, random, drawn), who)
        for name in ("items", "annotators"):
            held[name].add(found.spa.intervals[name], agreement)
            held[f"alpha {name}"].add(found.chance["krippendorff_alpha"].intervals[name], kappa)
        if kind in SPECIAL:
            kinds = "both" if 0 < drawn["other kind"].sum() < people else "one"
            held[kinds].add(found.spa.intervals["annotators"], agreement)
    figures = {f"{name} {what}": each.row[what] for name, each in held.items() for what in ("covers", "width", "sets")}
    return {"setting": setting, "kind": kind, "people": people, "roster": given} | figures


def study(repetitions: int) -> list[Row]:
    return [cover(setting, repetitions) for setting in SETTINGS]


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


def by_kinds(rows: list[Row]) -> str:
    """Where people are of two kinds: coverage if both are among them, and if only one is."""
    lines = []
    for kind, people in product(SPECIAL, PEOPLE):
        line: Row = {"kind": kind, "people": people}
        chosen = [row for row in rows if (row["kind"], row["people"]) == (kind, people)]
        if not chosen:
            continue
        for name in ("both", "one"):
            sets = sum(row[f"{name} sets"] for row in chosen)
            covered = sum(row[f"{name} sets"] * (row[f"{name} covers"] or 0) for row in chosen)
            line |= {f"{name} share": sets / sum(row["both sets"] + row["one sets"] for row in chosen)}
            line |= {name: covered / sets if sets else None}
        lines.append(line)
    columns = {"kind": "", "people": "people", "both share": "both kinds are there", "both": "then covers"}
    return table(lines, columns | {"one": "otherwise"})


def page(rows: list[Row], worst: list[Row], repetitions: int) -> str:
    ordinary = [row for row in rows if row["kind"] in ORDINARY]
    seen = [row for row in rows if row["both sets"]]
    together = sum(row["both covers"] * row["both sets"] for row in seen) / max(
        1, sum(row["both sets"] for row in seen)
    )
    columns = {"kind": "people", "people": "how many", "roster": "annotations", "annotators covers": "covers"}
    return f"""# The interval for other annotators

**The claim.** Where people differ in skill or in what they confuse, the 95% interval for other annotators contains the
agreement of two other people on another item about 95 times in 100 or more often, with four people or sixty. The interval
for new items does not ({span(ordinary, "items covers")}). Where people are of two kinds (two schools of thought, or spammers and
others) it holds if both kinds are among them ({together:.3f}), and cannot if one is missing.

**How it was measured.** {ITEMS} items, three classes; 4 to 60 people drawn from a population whose agreement is known
(`benchmarks/generators.py`): alike; skill on a logit scale with a standard deviation of 0.5 or 1.2; confusion matrices
as Dawid and Skene have them; two schools of thought that differ on 30% of the items; people who answer blindly or always
alike. Two or three people per item, at random or by a Zipf law of workloads. *Teams*: five people of one school each,
and only people of one team meet; the figure is then about one team. {made_by("other-annotators", repetitions)}

{by(rows, "kind")}

By number of people, where they differ in skill or confusion:

{by([row for row in ordinary if row["kind"] != "alike"], "people")}

Where people are of two kinds, all designs together:

{by_kinds(rows)}

The settings of one kind of people that cover least, drawn again with new data, {AGAIN} times as many:

{table(worst, columns | {"annotators width": "width"})}

**What it means.** Use the interval for other annotators wherever you speak of people in general; it is the one that
spagree shows first. It is too wide if people are alike: how much four people differ cannot be known well, and a variance
is never below 0. It speaks of people *like these*: of four people drawn from two schools, all are of one in an eighth of
the samples, and no data show the other ([why](../mathematics.md#9-other-annotators)). Check [who stands out](naming.md)
before you believe it. With fewer than four people there is no such interval.
"""


def main(repetitions: int = 100) -> str:
    rows = study(repetitions)
    one_kind = [row for row in rows if row["kind"] not in SPECIAL]
    return page(rows, again(one_kind, cover, repetitions, "annotators covers"), repetitions)
