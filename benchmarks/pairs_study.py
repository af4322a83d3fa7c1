"""How often the intervals of two people contain the truth: the page docs/studies/pairs.md."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from zlib import crc32

import numpy as np
import polars
from generators import EVEN, FOUR, RARE, THREE, Floats, Random, rating
from held import LABELS, Row, made_by, table

from spagree.codes import Codes
from spagree.estimate.pairs import pairs
from spagree.estimate.votes import LabelCounts, votes_in_codes

ITEMS = (6, 12, 30, 100)
SHARES = {"two even": EVEN, "three": THREE, "two, one rare": RARE, "four, rare": FOUR}
CARE = {"0.6 and 0.6": (0.6, 0.6), "0.8 and 0.8": (0.8, 0.8), "0.95 and 0.95": (0.95, 0.95), "0.9 and 0.4": (0.9, 0.4)}
SCALES = {"hardly": (0.5, 1.0), "somewhat": (1.0, 0.7), "much": (1.2, 0.35)}
LEANINGS = {"alike": 0.0, "one leans by a point": 1.0}
STEPS = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) / 4
METRICS = {"linear": 1 - STEPS, "quadratic": 1 - STEPS**2}
FIGURES = ("agreement", "cohen_kappa", "scott_pi")
ENOUGH = 0.92
TOGETHER = 10  # pairs of one file, whose variance is pooled under a metric


def choosing(shares: tuple[float, ...], care: tuple[float, float]) -> Floats:
    """How likely each two labels are: either knows the right one with that chance, and otherwise draws a label."""
    right = np.diag(shares)
    one, other = (known * np.eye(len(shares)) + (1 - known) * np.array(shares) for known in care)
    return np.asarray(one.T @ right @ other)


def missing(missed: float, invented: float, share: float = 0.1) -> Floats:
    """Two who miss some items with a rare label and invent it on others, the second one more than the first."""
    one, other = (
        np.array([[1 - invented * more, invented * more], [min(0.9, missed * more), 1 - min(0.9, missed * more)]])
        for more in (1, 2)
    )
    return np.asarray(one.T @ np.diag([1 - share, share]) @ other)


def scaling(scale: tuple[float, float], leaning: float) -> Floats:
    """The same for five points of a scale."""
    world, random = rating(*scale, people=0.0), np.random.default_rng(1)
    items = world.items(100_000, random)
    one, other = (world.chances(items, {"leaning": np.full(100_000, each)}) for each in (0.0, leaning))
    return np.asarray(one.T @ other / 100_000)


def truths(joint: Floats, similarity: Floats) -> dict[str, float]:
    agreement, one, other = float((joint * similarity).sum()), joint.sum(axis=1), joint.sum(axis=0)
    both = (one + other) / 2
    cohen, scott = float(one @ similarity @ other), float(both @ similarity @ both)
    return {
        "agreement": agreement,
        "cohen_kappa": (agreement - cohen) / (1 - cohen),
        "scott_pi": (agreement - scott) / (1 - scott),
    }


def file(joint: Floats, people: int, items: int, random: Random) -> Codes:
    """``people`` pairs, each with items of its own."""
    cell = random.choice(joint.size, size=(people, items), p=joint.ravel())
    label = np.stack([cell // len(joint), cell % len(joint)], axis=2).ravel()
    item, who = np.repeat(np.arange(people * items), 2), np.repeat(np.arange(people), 2 * items) * 2
    who = who + np.tile([0, 1], people * items)
    order = np.lexsort((who, label, item))
    columns = (column[order].astype(np.int32) for column in (item, who, label))
    return Codes(*columns, tuple(f"{each:06}" for each in range(2 * people)), tuple(LABELS[: len(joint)]))


def covered(joint: Floats, similarity: Floats | None, items: int, repetitions: int, random: Random) -> Iterator[Row]:
    together = repetitions if similarity is None else min(repetitions, TOGETHER)
    tables = []
    for _ in range(-(-repetitions // together)):
        codes = file(joint, together, items, random)
        votes = votes_in_codes(codes)
        similar = None if similarity is None else LabelCounts(
            votes.labels, votes.items, votes.group, votes.label, votes.count, similarity
        )  # fmt: skip
        tables.append(pairs(codes, similar, 0.95))
    found = polars.concat(tables)
    for name, truth in truths(joint, np.eye(len(joint)) if similarity is None else similarity).items():
        start = "" if name == "agreement" else f"{name}_"
        known = found.filter(polars.col(f"{start}low").is_not_null() & polars.col(f"{start}high").is_not_null())
        low, high = known[f"{start}low"].to_numpy(), known[f"{start}high"].to_numpy()
        share = known.height / found.height
        yield {
            "figure": name,
            "truth": truth,
            "items": items,
            "known": share,
            "covers": float(np.mean((low <= truth) & (truth <= high))) if share > 0.2 else None,
            "width": float(np.mean(high - low)) if share > 0.2 else None,
        }


def study(repetitions: int) -> list[Row]:
    nominal = {
        f"{labels} labels, right {care}": choosing(SHARES[labels], CARE[care]) for labels, care in product(SHARES, CARE)
    }
    nominal |= {
        f"rare label missed {a}, invented {b}": missing(a, b) for a, b in ((0.05, 0.01), (0.3, 0.02), (0.5, 0.1))
    }
    scales = {
        f"agree {scale}, {lean}": scaling(SCALES[scale], LEANINGS[lean]) for scale, lean in product(SCALES, LEANINGS)
    }
    rows = []
    for (data, joint), items in product(nominal.items(), ITEMS):
        random = np.random.default_rng(crc32(f"{data} {items}".encode()))
        rows += [{"data": data, "metric": "nominal", **row} for row in covered(joint, None, items, repetitions, random)]
    for (data, joint), metric, items in product(scales.items(), METRICS, ITEMS):
        random = np.random.default_rng(crc32(f"{data} {metric} {items}".encode()))
        found = covered(joint, METRICS[metric], items, repetitions, random)
        rows += [{"data": data, "metric": metric, **row} for row in found]
    return rows


def by_size(rows: list[Row]) -> str:
    lines = []
    for metric, name, items in product(("nominal", "linear", "quadratic"), FIGURES, ITEMS):
        chosen = [row for row in rows if (row["metric"], row["figure"], row["items"]) == (metric, name, items)]
        known = [row for row in chosen if row["covers"] is not None]
        if known:
            covers = [row["covers"] for row in known]
            width = float(np.mean([row["width"] for row in known]))
            line = {"metric": metric, "figure": name, "items": items, "settings": len(known), "width": width}
            lines.append(line | {"lowest": min(covers), "mean": float(np.mean(covers))})
    columns = {name: name for name in ("metric", "figure", "items", "settings", "lowest", "mean", "width")}
    return table(lines, columns)


def page(rows: list[Row], repetitions: int) -> str:
    known = [row for row in rows if row["covers"] is not None]
    scaled = [row for row in known if row["metric"] != "nominal"]
    agreement = min(row["covers"] for row in scaled if row["figure"] == "agreement")
    kappa = min(row["covers"] for row in scaled if row["figure"] != "agreement")
    nominal = [row["covers"] for row in known if row["metric"] == "nominal"]
    short = sum(each < ENOUGH for each in nominal)
    lowest = sorted(known, key=lambda row: row["covers"])[:10]
    columns = {name: name for name in ("data", "metric", "figure", "truth", "items", "covers", "width")}
    return f"""# Two people: their agreement and their kappas

**The claim.** The intervals of `pairs()` contain what the same two people would reach on many more items like these, for
labels as for points of a scale. Under a metric, agreement is covered at least {agreement:.3f} of the time from six shared
items on and weighted kappas {kappa:.3f} from twelve on; below ten they have no interval. With nominal labels, {short} of
{len(nominal)} intervals cover less than {ENOUGH}; the lowest {min(nominal):.3f}.

**How it was measured.** Two people of whom it is known how likely each two labels are (`benchmarks/pairs_study.py`).
Either knows the right label with some chance and otherwise draws one; or both miss and invent a rare label, one of them
twice as often; or both see an item's place on a scale of five points with noise, one perhaps a point higher. The truth
is worked out from the chances. Under a metric, ten such pairs are in one file, which pools how much agreement varies.
{made_by("pairs", repetitions)}

{by_size(rows)}

The ten settings with the lowest coverage:

{table(lowest, columns)}

**What it means.** The interval of a pair is about these two people. With twelve items, weighted kappas are hardly known:
look at the width before you compare pairs.
"""


def main(repetitions: int = 1000) -> str:
    return page(study(repetitions), repetitions)
