"""How often the verdict on a model among people is right: the page docs/studies/models.md."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
from generators import Ints, Random, World, confusing, knowing, roster, schools, truth
from held import Held, Row, generator, made_by, span, table

from spagree.codes import in_order
from spagree.estimate.models import MARGIN, ModelFindings, among_people

BY_N = {n: Fraction(n - 1) for n in range(2, 11)}
ONE_IN_TEN = (0.9, 0.1)
WORLDS = {
    "skill differs": knowing(2.0, people=0.7),
    "confusion differs": confusing(0.8, alike=10),
    "skill differs, classes 0.9 and 0.1": knowing(1.0, ONE_IN_TEN, people=0.7),
    "confusion differs, classes 0.9 and 0.1": confusing(0.8, ONE_IN_TEN, alike=10),
}
SCHOOLS = {"two schools of thought": schools(0.3)}
SIZES = ((30, 6), (100, 20), (400, 100), (1000, 20), (1000, 888))  # items and people
FEW, DECISIVE = (100, 6), (400, 100)
MODELS = {"an average person": 0.0, "worse by the margin": -MARGIN}
VERDICTS = ("better", "as_good", "slightly_worse", "worse", "cannot_tell")


def annotated(world: World, n: Ints, people: int, gaps: tuple[float, ...], random: Random) -> list[ModelFindings]:
    """People's labels of new items, and a model for each gap.

    A model gives what a random person would give, another one for each item, and sometimes a random label instead: so
    often that people agree with it by the gap less than with each other.
    """
    items, crowd, size = world.items(len(n), random), world.people(people, random), len(n)
    item, who = roster(n, people, random)
    chances = world.chances({name: each[item] for name, each in items.items()}, {k: v[who] for k, v in crowd.items()})
    somebody = world.chances(items, world.people(size, random))
    classes = chances.shape[1]
    codes = coded(item, drawn(chances, random), who, classes, people)
    found = []
    for gap in gaps:
        careless = random.random(size) < -gap / (truth(world)[0] - 1 / classes)
        answers = np.where(careless, random.integers(classes, size=size), drawn(somebody, random))
        found.append(among_people("model", codes, answers[None], BY_N))
    return found


def drawn(chances: np.ndarray, random: Random) -> Ints:
    return (random.random((len(chances), 1)) > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)


def coded(item: Ints, label: Ints, who: Ints, classes: int, people: int):
    columns = (each.astype(np.int32) for each in (item, label, who))
    return in_order(*columns, [*map(str, range(classes))], [*map(str, range(people))])


def study(repetitions: int) -> Iterator[Row]:
    settings = [*product(WORLDS, SIZES), *product(SCHOOLS, (FEW, DECISIVE))]
    for kind, (items, people) in settings:
        random, world = generator((kind, items, people), 0), (WORLDS | SCHOOLS)[kind]
        found = [
            annotated(world, random.integers(2, 5, items), people, tuple(MODELS.values()), random)
            for _ in range(repetitions)
        ]
        for place, (model, gap) in enumerate(MODELS.items()):
            told, held, narrow = [each[place] for each in found], Held(), Held()
            for each in told:
                held.add(each.difference, gap)
                narrow.add(each.difference.intervals["items"], gap)
            verdicts = {verdict: np.mean([each.verdict == verdict for each in told]) for verdict in VERDICTS}
            apart = [each.verdict for each in told if each.difference.high < 0 or each.difference.low > 0]
            yield {"kind": kind, "items": items, "people": people, "model": model, **verdicts, **held.row} | {
                "bias": float(np.mean([each.difference.value for each in told]) - gap),
                "items only": narrow.row["covers"],
                "apart": len(apart) / repetitions,
                "named": sum(map(("worse", "slightly_worse").__contains__, apart)) / len(apart) if apart else None,
            }


def coins(repetitions: int) -> float:
    """How often one of 20 people, who labels at random, is called worse: 800 items, ten labels each."""
    random = np.random.default_rng(1)
    world, worse = WORLDS["skill differs"], 0
    for _ in range(repetitions):
        items, crowd = world.items(800, random), world.people(20, random)
        item, who = roster(np.full(800, 10), 20, random)
        chances = world.chances({k: v[item] for k, v in items.items()}, {k: v[who] for k, v in crowd.items()})
        label, coin = drawn(chances, random), who == 0
        answers = np.full(800, -1)
        answers[item[coin]] = random.integers(chances.shape[1], size=coin.sum())
        people = coded(item[~coin], label[~coin], who[~coin], chances.shape[1], 20)
        worse += among_people("coin", people, answers[None], BY_N).verdict == "worse"
    return worse / repetitions


def page(rows: list[Row], coin: float, repetitions: int) -> str:
    same, worse = ([row for row in rows if row["model"] == model] for model in MODELS)
    rare = [row for row in rows if row["kind"].endswith("0.9 and 0.1")]
    decisive = [row for row in worse if (row["items"], row["people"]) == DECISIVE]
    columns = {"kind": "population"} | {name: name for name in ("items", "people", "covers", "items only", "width")}
    columns |= {verdict: verdict.replace("_", " ") for verdict in VERDICTS}
    return f"""# Models and people

**The claim.** The verdict on a model among people is rarely wrong. A model that is worse by exactly the margin of {MARGIN}
is called *worse*, by more than the margin, in {span(worse, "worse")} of the data sets, and *as good* or *better* in at most
{max(row["as_good"] + row["better"] for row in worse):.3f}. A model that is exactly as good as a person is called *worse* in at most \
{max(row["worse"] for row in same):.3f},
*slightly worse* in at most {max(row["slightly_worse"] for row in same):.3f} and *better* in at most {max(row["better"] for row in same):.3f}.
The 95% interval of Δ contains the truth in {span(rows, "covers")} over {len(rows)} settings, with classes of 0.9 and 0.1 in
{span(rare, "covers")}; the interval for these people alone in {span(rows, "items only")}. Δ is unbiased: its
mean error is at most {max(abs(row["bias"]) for row in rows):.3f}.

**How it was measured.** Items with 2–4 annotations by people who differ in skill (on a logit scale) or in what they confuse
(Dawid and Skene's matrices), with three classes or with two of 0.9 and 0.1 (`benchmarks/generators.py`). *An average
person*: the model gives each item the label of somebody drawn afresh from the same population, so its Δ is 0. *Worse
by the margin*: it gives a random label to so many items that Δ is −{MARGIN}. {made_by("models", repetitions)}

A model as good as an average person:

{table(same, columns)}

A model that is worse by exactly the margin:

{table(worse, columns)}

With {DECISIVE[0]} items and {DECISIVE[1]} people, the interval for a model that is worse by the margin excludes 0 in
{span(decisive, "apart")}; the verdict then says *slightly worse* or *worse* in {span(decisive, "named")}. Somebody who labels
at random, one of 20 people on 800 items with ten labels each, is called *worse* in {coin:.3f}.

**What it means.** The margin decides how many items are needed: with 100 items the verdict is mostly *cannot tell*, with
400 it mostly says something. Few people make the interval wide, not wrong: other people are
what it speaks of. The verdict is about agreement and nothing else. Where one class is common, a model that never gives
the other one can agree with people more than they agree with each other; a warning and the table of classes say so.
"""


def main(repetitions: int = 300) -> str:
    return page(list(study(repetitions)), coins(repetitions), repetitions)
