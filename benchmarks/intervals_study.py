"""How often the interval for new items contains the truth: the page docs/studies/intervals.md."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product

from generators import DESIGNS, World, alike, confusing, knowing, schools, truth, with_agreement
from held import AGAIN, SUMMED_UP, Held, Row, again, generator, made_by, of_votes, summary, table

WORLDS: dict[str, Callable[[float], World]] = {
    "hard and easy items": lambda agreement: with_agreement(knowing, agreement, -8, 15),
    "confused classes": lambda agreement: with_agreement(lambda right: confusing(right, alike=200), agreement, 0, 1),
    "open items": lambda agreement: with_agreement(lambda clear: schools(1 - clear, careful=0.997), agreement, 0, 1),
    "items alike": alike,
}
AGREEMENT, ITEMS = (0.6, 0.9, 0.97, 0.99), (20, 60, 300)
UNEQUAL = [design for design in DESIGNS if design != "2"]


@cache
def world(name: str, agreement: float) -> World:
    return WORLDS[name](agreement)


def cover(setting: tuple[str, float, str, int], repetitions: int, seed: int = 0) -> Row:
    name, agreement, design, items = setting
    here, random, held = world(name, agreement), generator(setting, seed), Held()
    for _ in range(repetitions):
        found = of_votes(here.votes(DESIGNS[design](items, random), random), interval_for="items")
        held.add(found.spa, truth(here)[0])
    return {"setting": setting, "world": name, "agreement": agreement, "design": design, "items": items, **held.row}


def study(repetitions: int) -> list[Row]:
    return [cover(setting, repetitions) for setting in product(WORLDS, AGREEMENT, UNEQUAL, ITEMS)]


def page(rows: list[Row], worst: list[Row], repetitions: int) -> str:
    by_design = [{"what": design} | summary([row for row in rows if row["design"] == design]) for design in UNEQUAL]
    by_agreement = [
        {"what": str(value)} | summary([row for row in rows if row["agreement"] == value]) for value in AGREEMENT
    ]
    every = summary(rows)
    return f"""# The interval for new items

**The claim.** The 95% interval of SPA for these annotators on new items contains the truth about 95 times in 100, also
where some items have many more annotations than others, with 20 items or 300, from 0.6 agreement to 0.99.

**How it was measured.** Data are drawn from worlds whose truth is known (`benchmarks/generators.py`): items that are
hard and easy on a logit scale; classes that are confused with each other, as Dawid and Skene have it; open items, on
which two schools of thought differ; items that are all alike. Every annotation is somebody else's. The number of
annotations does not depend on the item: three each; two to five; fifty for one item in twenty or twenty for one in ten,
two for the others; a Zipf law up to 20, 50 or 200. {made_by("intervals", repetitions)}

Coverage over all {every["settings"]} settings: lowest {every["lowest"]:.3f}, mean {every["mean"]:.3f}; below 0.92 in {every["below"]}.

{table(by_design, {"what": "annotations"} | SUMMED_UP)}

{table(by_agreement, {"what": "agreement"} | SUMMED_UP)}

The settings that cover least, drawn again with new data, {AGAIN} times as many:

{table(worst, {"world": "world", "agreement": "agreement", "design": "annotations", "items": "items", "covers": "covers", "width": "width"})}

**What it means.** Near perfect agreement data take few values, and no interval can be exact: with 10 pairs and a truth
of 0.99, 90% of all data sets are perfect ([why](../mathematics.md#8-standard-error-and-interval)). Under a Zipf law near perfect agreement
a few heavy items carry the weight and usually all agree. Elsewhere the interval is exact or, with few items, somewhat
too wide. It does not say what other annotators would do: see [other annotators](other-annotators.md).
"""


def main(repetitions: int = 100) -> str:
    rows = study(repetitions)
    return page(rows, again(rows, cover, repetitions), repetitions)
