"""Does a plan keep its promise? Half-widths that were realised over those that were planned from a pilot.

    python benchmarks/planning.py FOLDER [--rounds 40]

A pilot of some items is drawn from a data set, a budget is planned with it, and the planned design is then drawn from
the same data set and measured. Real sets come from a folder of .csv or .csv.gz files (item, annotator, label); simulated
ones from two generators of their own. Writes docs/studies/planning.{md,csv}.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import polars
from publish import run

from spagree.counts.tally import Tally
from spagree.estimate.development import measured
from spagree.estimate.plan import plan_for
from spagree.estimate.similarity import Metric

NOMINAL, WEIGHTS = Metric("nominal"), "annotations_m1"
PILOTS = [(items, n) for items in (50, 100, 200) for n in (2, 3, 4, 5)]
LATER, NEW_ITEMS = (2, 3, 4, 5), 300
ROUTES = ("fresh", "new_items", "same_items")
Items = list[np.ndarray]


def real_sets(folder: Path) -> Iterator[tuple[str, Items]]:
    for path in sorted([*folder.glob("*.csv.gz"), *folder.glob("*.csv")]):
        rows = polars.read_csv(path, infer_schema=False)
        if {"item", "label"} <= set(rows.columns):
            codes = rows.with_columns(polars.col("label").rank("dense").cast(polars.Int64))
            yield (
                path.name.split(".")[0],
                [group["label"].to_numpy() for _, group in codes.group_by("item", maintain_order=True)],
            )


def simulated_sets(items: int = 2_000, n: int = 12) -> Iterator[tuple[str, Items]]:
    for classes, concentration in ((2, 0.3), (2, 2.0), (3, 0.5), (5, 0.2), (5, 1.5)):
        rng = np.random.default_rng(crc32(f"{classes} {concentration}".encode()))
        shares = rng.dirichlet(np.full(classes, concentration), items)
        yield f"votes, {classes} classes, {concentration}", [rng.choice(classes, n, p=each) for each in shares]
    for shares, low, high in (((0.5, 0.5), 0.5, 1.0), ((0.9, 0.1), 0.5, 1.0), ((0.4, 0.3, 0.3), 0.8, 1.0)):
        rng = np.random.default_rng(crc32(f"{shares}".encode()))
        right, ease = rng.choice(len(shares), items, p=shares), rng.beta(3, 1, items)
        care = rng.uniform(low, high, (items, n)) * ease[:, None]
        guess = rng.choice(len(shares), (items, n), p=shares)
        yield f"right answers, {shares}", list(np.where(rng.random((items, n)) < care, right[:, None], guess))


def tally(labels: list[np.ndarray]) -> Tally:
    patterns = Counter(tuple(sorted(Counter(map(str, each.tolist())).items())) for each in labels)
    return Tally.from_patterns(dict(patterns))


def spa(counted: Tally) -> Any:
    return measured(counted, WEIGHTS, 0.95, NOMINAL)


def cases(name: str, kind: str, sources: Items, rounds: int) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(crc32(name.encode()))
    for size, n in PILOTS:
        for later in LATER:
            usable = [each for each in sources if len(each) >= max(n, later)]
            new = min(NEW_ITEMS, len(usable) - size)
            if new < size // 2:
                continue
            for _ in range(rounds):
                yield from case(rng, usable, size=size, n=n, later=later, new=new, head={"set": name, "kind": kind})


def case(
    rng: np.random.Generator, usable: Items, *, size: int, n: int, later: int, new: int, head: dict[str, str]
) -> Iterator[dict[str, Any]]:
    """One pilot, its three plans, and what they come to."""
    drawn = [rng.permutation(usable[place]) for place in rng.permutation(len(usable))[: size + new]]
    pilot, rest = [each[:n] for each in drawn[:size]], [each[:later] for each in drawn[size:]]
    before = tally(pilot)
    now = spa(before)
    if now.undefined or not now.stderr:
        return
    designs = {"fresh": (new * later, rest), "new_items": (new * later, pilot + rest)}
    if later > n:
        designs["same_items"] = (size * (later - n), [each[:later] for each in drawn[:size]])
    for route, (budget, labels) in designs.items():
        rows = plan_for(before, WEIGHTS, lambda: None, now, budget=budget, most=max(later, n)).rows(named=True)
        (planned,) = [row for row in rows if row["route"] == route and row["annotations_per_item"] == later]
        came = spa(tally(labels))
        if came.low is None:
            continue
        half = (came.high - came.low) / 2
        yield {
            **head,
            "pilot_items": size,
            "pilot_per_item": n,
            "later_per_item": later,
            "route": route,
            "promised": planned["half_width"],
            "low": planned["half_width_low"],
            "high": planned["half_width_high"],
            "realised": half,
        }


def study(folder: Path, rounds: int) -> Iterator[dict[str, Any]]:
    sets = [("real", name, items) for name, items in real_sets(folder)]
    sets += [("simulated", name, items) for name, items in simulated_sets()]
    for kind, name, items in sets:
        print(name, flush=True)
        yield from summarised(list(cases(name, kind, items, rounds)))


KEYS = ("set", "kind", "pilot_items", "pilot_per_item", "later_per_item", "route")


def summarised(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row per setting: how often plans came within a tenth, and within the range that was shown."""
    if not cases:
        return []
    frame = polars.DataFrame(cases).with_columns(ratio=polars.col("realised") / polars.col("promised"))
    near = polars.col("ratio").is_between(0.9, 1.1)
    inside = (polars.col("realised") >= polars.col("low")) & (polars.col("realised") <= polars.col("high"))
    return (
        frame.group_by(KEYS, maintain_order=True)
        .agg(
            cases=polars.len(),
            near=near.sum(),
            inside=inside.sum(),
            either=(near | inside).sum(),
            ratio_05=polars.col("ratio").quantile(0.05).round(4),
            ratio_50=polars.col("ratio").median().round(4),
            ratio_95=polars.col("ratio").quantile(0.95).round(4),
        )
        .rows(named=True)
    )


def shares(rows: polars.DataFrame, by: str) -> str:
    lines = [
        f"| {by} | plans | within 0.9–1.1 | in the range shown | either | median ratio |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    grouped = rows.group_by(by, maintain_order=True).agg(
        polars.col("cases", "near", "inside", "either").sum(), polars.col("ratio_50").median()
    )
    for row in grouped.rows(named=True):
        parts = " | ".join(f"{row[name] / row['cases']:.1%}" for name in ("near", "inside", "either"))
        lines.append(f"| {row[by]} | {row['cases']:,} | {parts} | {row['ratio_50']:.3f} |")
    return "\n".join(lines)


def page(found: list[dict[str, Any]], _rounds: int) -> str:
    rows = polars.DataFrame(found).sort("kind", "pilot_per_item", "pilot_items", maintain_order=True)
    rows = rows.with_columns(
        pilot=polars.format("{} items, {} annotations each", "pilot_items", "pilot_per_item"),
        each=polars.format("{} in the pilot, {} planned", "pilot_per_item", "later_per_item"),
    )
    deep = rows.filter(polars.col("pilot_per_item") >= 3)
    total = {
        name: (deep.filter(kind=name)[what].sum() / deep.filter(kind=name)["cases"].sum())
        for name, what in (("real", "near"), ("simulated", "near"))
    }
    either = {name: deep.filter(kind=name)["either"].sum() / deep.filter(kind=name)["cases"].sum() for name in total}
    real = rows.filter(kind="real")
    return TEXT.format(
        sets=real["set"].n_unique(),
        made=rows.filter(kind="simulated")["set"].n_unique(),
        cases=rows["cases"].sum(),
        real=total["real"],
        simulated=total["simulated"],
        real_either=either["real"],
        simulated_either=either["simulated"],
        by_pilot=shares(real, "pilot"),
        by_each=shares(real.sort("pilot_per_item", "later_per_item"), "each"),
        by_route=shares(deep.filter(kind="real"), "route"),
        by_set=shares(deep.filter(kind="real").sort("set"), "set"),
        by_simulated=shares(deep.filter(kind="simulated"), "set"),
    )


TEXT = """# Do plans keep their promise?

`spagree plan --budget` states the half-width that more annotations will buy. Here a pilot is drawn from a data set, a budget
is planned with it, the planned design is drawn from the same data set, and the half-width that is then measured is divided by
the one that was promised. {sets} real data sets and {made} simulated ones, {cases:,} plans; pilots of 50, 100 and 200 items,
2 to 5 annotations each, planned for 2 to 5 annotations each. Made by `benchmarks/planning.py`; one row per setting is in
[planning.csv](planning.csv).

From pilots with three or more annotations per item the realised half-width is within 0.9–1.1 of the promise in **{real:.1%}** of
plans on real data and **{simulated:.1%}** on simulated data. It is within 0.9–1.1, or in the range shown beside the promise,
in {real_either:.1%} and {simulated_either:.1%}.

## By pilot (real data)

{by_pilot}

## By annotations per item (real data)

A pilot with two annotations per item cannot show how three vary together. Plans for three or more then rely on what is
typical of real data sets, and their range is wider.

{by_each}

## By route (real data, pilots with three or more per item)

{by_route}

## By data set (pilots with three or more per item)

{by_set}

## Simulated (pilots with three or more per item)

{by_simulated}
"""


def main() -> None:
    run("planning", __doc__, study, page, rounds=40)


if __name__ == "__main__":
    main()
