"""Which weighting scheme should be the default: real sets, two designs. Writes docs/studies/default-weights.{md,csv}.

    python benchmarks/default_weights.py FOLDER [--rounds 200]

FOLDER holds CSV files with the columns item, annotator, label. From each set items are drawn with replacement, and from
each item annotations without: random thinning gives every item a random number of annotations, a calibration design two
annotations to most items and all there are to one in twenty. The truth is the mean agreement of the items in full.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars
from numpy.typing import NDArray
from publish import run

from spagree.counts.tally import Tally
from spagree.estimate.votes import item_groups
from spagree.estimate.weights import weigh

SCHEMES = ("flat", "annotations", "annotations_m1", "edge", "inv_var_class")
SIZES = (50, 100, 300, 1000)
FEWEST, CALIBRATED, MOST = 5, 0.05, 50
Random = np.random.Generator
Ints = NDArray[np.int64]


def items_of(path: Path) -> list[Ints] | None:
    """The labels of each item with five annotations or more, as integers; None where there are hardly any."""
    rows = polars.read_csv(path, infer_schema=False).unique(["item", "annotator"], keep="first", maintain_order=True)
    labels = rows["label"].drop_nulls().unique().sort()
    coded = rows.drop_nulls("label").with_columns(polars.col("label").replace_strict(labels, np.arange(len(labels))))
    labels_of = [
        np.asarray(each, dtype=np.int64)[:MOST]
        for each in coded.group_by("item", maintain_order=True).agg("label")["label"]
    ]
    enough = [each for each in labels_of if len(each) >= FEWEST]
    return enough if len(enough) >= 50 else None


def draw(items: list[Ints], size: int, design: str, random: Random) -> Tally:
    patterns: Counter[tuple[tuple[str, int], ...]] = Counter()
    for number in random.integers(0, len(items), size).tolist():
        labels = items[number]
        if design == "calibration":
            n = len(labels) if random.random() < CALIBRATED else 2
        else:
            n = int(random.binomial(FEWEST, 0.6))
        if n > 1:
            counts = Counter(map(str, random.choice(labels, n, replace=False).tolist()))
            patterns[tuple(sorted(counts.items()))] += 1
    return Tally.from_patterns(dict(patterns))


def truth(items: list[Ints]) -> float:
    def agreement(labels: Ints) -> float:
        counts = np.bincount(labels)
        return float((counts * (counts - 1)).sum() / (len(labels) * (len(labels) - 1)))

    return float(np.mean([agreement(labels) for labels in items]))


def errors(items: list[Ints], size: int, design: str, rounds: int) -> dict[str, float]:
    """Mean squared error and bias of each scheme."""
    random, right = np.random.default_rng([9, size, len(design)]), truth(items)
    deviations = np.zeros((rounds, len(SCHEMES)))
    for number in range(rounds):
        tally = draw(items, size, design, random)
        groups = item_groups(tally)
        deviations[number] = [groups.sizes.value(weigh(scheme, tally).by_n) - right for scheme in SCHEMES]
    squared = dict(zip(SCHEMES, (deviations**2).mean(axis=0).tolist(), strict=True))
    return squared | {
        f"bias {scheme}": each for scheme, each in zip(SCHEMES, deviations.mean(axis=0).tolist(), strict=True)
    }


def study(folder: Path, rounds: int) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.csv*")):
        items = items_of(path)
        if items is None:
            continue
        for design in ("thinning", "calibration"):
            for size in SIZES:
                print(path.name, design, size, flush=True)
                yield {"set": path.name.split(".")[0], "design": design, "items": size} | errors(
                    items, size, design, rounds
                )


def report(rows: list[dict[str, Any]], rounds: int) -> str:
    sets = sorted({row["set"] for row in rows})
    parts = [TEXT.format(rounds=rounds, sets=len(sets), named=", ".join(sets))]
    for design, words in (("thinning", "Random thinning"), ("calibration", "Calibration design")):
        chosen = [row for row in rows if row["design"] == design]
        over = {s: np.array([row[s] / min(row[each] for each in SCHEMES) for row in chosen]) for s in SCHEMES}
        flat = {s: np.exp(np.mean([np.log(row[s] / row["flat"]) for row in chosen])) for s in SCHEMES}
        worst = {s: chosen[int(np.argmax(over[s]))] for s in SCHEMES}
        bias = {s: max(chosen, key=lambda row, s=s: abs(row[f"bias {s}"])) for s in SCHEMES}
        parts += ["", f"## {words}", "", "| | " + " | ".join(SCHEMES) + " |", "|---|" + "--:|" * len(SCHEMES)]
        for size in SIZES:
            mean = [np.exp(np.mean(np.log(over[s][[row["items"] == size for row in chosen]]))) for s in SCHEMES]
            parts.append(
                f"| mean over the best scheme, {size:,} items | " + " | ".join(f"{each:.3f}" for each in mean) + " |"
            )
        parts.append("| all sizes | " + " | ".join(f"{np.exp(np.log(over[s]).mean()):.3f}" for s in SCHEMES) + " |")
        parts.append("| worst | " + " | ".join(f"{over[s].max():.2f}" for s in SCHEMES) + " |")
        parts.append(
            "| worst where | " + " | ".join(f"{worst[s]['set']}, {worst[s]['items']:,}" for s in SCHEMES) + " |"
        )
        parts.append("| mean, `flat` = 1 | " + " | ".join(f"{flat[s]:.3f}" for s in SCHEMES) + " |")
        parts.append("| largest bias | " + " | ".join(f"{bias[s][f'bias {s}']:+.4f}" for s in SCHEMES) + " |")
    return "\n".join(parts) + "\n"


TEXT = """# Which weights to use by default

Mean squared error of SPA by weighting scheme on {sets} real sets ({named}), {rounds:,} data sets per set, design and size.
Only items with five or more annotations are used, so the agreement of each is well known. Random thinning: up to
five annotations per item, each kept with probability 0.6. Calibration design: two annotations for most items, all there are
(up to 50) for one in twenty. Geometric means over sets of the ratio to the best scheme *of that set and size*, which
nobody knows in advance: no scheme can reach 1. Made by `python benchmarks/default_weights.py FOLDER`;
all rows are in [default-weights.csv](default-weights.csv). [The decision](../decisions/0006-default-weights.md).
"""


def main() -> None:
    run("default-weights", __doc__, study, report, rounds=200)


if __name__ == "__main__":
    main()
