"""How often intervals and the test of the assumption are right when items come in clusters: docs/studies/clusters.md."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
from generators import World, in_clusters, truth
from held import Held, Row, generator, made_by, of_people, table

CLUSTERS, SPREADS, SIZE, EASE = (12, 25, 60), (0.0, 0.5, 1.0, 2.0), 10, 1.0
DESIGNS = ("by item", "by cluster")


@cache
def world(spread: float) -> World:
    return in_clusters(EASE, spread, SIZE)


def cover(setting: tuple[int, float, str], repetitions: int) -> Row:
    """Two, three or five annotations, drawn for each item or for a whole cluster."""
    clusters, spread, design = setting
    random = generator(setting, 0)
    agreement, by_chance = truth(world(spread))
    kappa = (agreement - by_chance) / (1 - by_chance)
    spa, alpha, alarms = ({name: Held() for name in ("items", "clusters")} for _ in range(3))
    for _ in range(repetitions):
        n = random.choice([2, 3, 5], clusters * SIZE if design == "by item" else clusters)
        n = np.repeat(n, 1 if design == "by item" else SIZE)
        item = np.repeat(np.arange(len(n)), n)
        label = world(spread).labels(item, np.arange(len(item)), random)
        for name, cluster in (("items", None), ("clusters", item // SIZE)):
            found = of_people(item, label, cluster=cluster)
            spa[name].add(found.spa, agreement)
            alpha[name].add(found.chance["krippendorff_alpha"], kappa)
            alarms[name].held += found.missingness.broken
    figures = {
        f"{what} {name}": value
        for name in ("items", "clusters")
        for what, value in (
            ("spa", spa[name].row["covers"]),
            ("alpha", alpha[name].row["covers"]),
            ("alarms", alarms[name].held / repetitions),
            ("width", spa[name].row["width"]),
        )
    }
    return {"clusters": clusters, "spread": spread, "design": design} | figures


def study(repetitions: int) -> list[Row]:
    return [cover(setting, repetitions) for setting in product(CLUSTERS, SPREADS, DESIGNS)]


def page(rows: list[Row], repetitions: int) -> str:
    wide = [row | {"wider": f"× {row['width clusters'] / row['width items']:.2f}"} for row in rows]
    with_them, spread = ([row[name] for row in rows if row["spread"]] for name in ("spa clusters", "spa items"))
    kappas = [row["alpha clusters"] for row in rows]
    columns = {"clusters": "clusters", "spread": "spread", "design": "annotations"}
    columns |= {"spa items": "SPA", "spa clusters": "with clusters", "wider": "width"}
    columns |= {"alpha items": "alpha", "alpha clusters": "with clusters"}
    columns |= {"alarms items": "alarms", "alarms clusters": "with clusters"}
    return f"""# Clusters

**The claim.** Where items of one document or batch have their difficulty in common, `--cluster` makes intervals and the
test of the assumption right; without it, intervals are too narrow and the test raises false alarms.

**How it was measured.** Two labels; people know the right one with a chance on a logit scale, or else guess. Ten items
form a cluster and share a shift of difficulty (standard deviation *spread*, in logits). Two, three or five annotations,
drawn for each item or for each cluster, whatever its difficulty: an alarm (p < 0.01) is always false. The truth is that
of many new clusters (`benchmarks/generators.py`). {made_by("clusters", repetitions)}

{table(wide, columns)}

**What it means.** With clusters SPA's interval covers {min(with_them):.3f} to {max(with_them):.3f} where clusters differ, without them
{min(spread):.3f} to {max(spread):.3f}. Alpha's covers {min(kappas):.3f} to {max(kappas):.3f} with clusters. The interval is wider, by half
to twice where clusters differ, and by a tenth to a third where they do not: a dozen clusters say little, since Student's t
has one degree of freedom less than effective clusters. Below ten clusters spagree warns.
"""


def main(repetitions: int = 200) -> str:
    return page(study(repetitions), repetitions)
