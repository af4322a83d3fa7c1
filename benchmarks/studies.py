"""The compiled rounds of the paper's experiments against plain implementations: `make bench` writes benchmarks/STUDIES.md.

    python benchmarks/studies.py [--rounds 3000]

One round adds all annotations of a data set of MBIC's size one at a time, in random order, and records six
weighting schemes at 100 checkpoints. The plain ones run fewer rounds, in the same process; time per round counts.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np

import spagree
from spagree.studies.datasets import LabelSet, StandIn, draw, label_set
from spagree.studies.rounds import Plan, annotation_values, checkpoints

HERE = Path(__file__).parent
MBIC = StandIn(classes=2, usual=(9, 12), items=1700, heterogeneity=0.3)
FECG = StandIn(classes=3, usual=6, items=50_992, other=(5, 12), others=50, skew=0.1)


def numpy_round(data: LabelSet, seed: int) -> np.ndarray:
    """Vectorised: the class counts of all items grow by what came since the last checkpoint."""
    order = np.random.default_rng(seed).permutation(data.annotations)
    counts = np.zeros((data.items, data.classes))
    values, start = [], 0
    for step in checkpoints(data.annotations):
        np.add.at(counts, (data.item[order[start:step]], data.label[order[start:step]]), 1)
        values.append(numpy_schemes(counts))
        start = step
    return np.array(values)


def numpy_schemes(counts: np.ndarray) -> list[float]:
    counts = counts[counts.sum(axis=1) > 1]
    if not len(counts):
        return [np.nan] * 6
    n = counts.sum(axis=1)
    agreement = (counts * (counts - 1)).sum(axis=1) / (n * (n - 1))
    p = counts.sum(axis=0) / counts.sum()
    squares = (p**2).sum()
    spread = squares - squares**2
    shape = ((p**3).sum() - squares**2) / spread if spread > 0 else 0.0
    shapes = [(1, 1), (0.5, 0), (0.25, 0), (0, 0), (0, 0), (shape, 0)]
    weights = [n * (n - 1) / 2 / (1 + 2 * (n - 2) * a + (n - 2) * (n - 3) / 2 * b) for a, b in shapes]
    return [float((weight * agreement).sum() / weight.sum()) for weight in weights]


def live_round(data: LabelSet, seed: int) -> list[list[float | None]]:
    """spagree's own live tally, one annotation at a time, measured at every checkpoint."""
    order = np.random.default_rng(seed).permutation(data.annotations).tolist()
    items, labels = data.item.tolist(), [str(label) for label in data.label.tolist()]
    live, steps, values = spagree.LiveTally(), set(checkpoints(data.annotations).tolist()), []
    for place, row in enumerate(order, start=1):
        live.add(str(items[row]), str(row), labels[row])
        if place in steps:
            values.append([each.value for each in spagree.measure(live).schemes.values()])
    return values


def seconds_per_round(run: Callable[[], object], rounds: int) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) / rounds


def report(rounds: int) -> str:
    data = label_set("mbic", "MBIC's size", draw(MBIC, 1), simulated=True)
    large = label_set("fecg", "FECG's size", draw(FECG, 1), simulated=True)
    annotation_values(data, Plan(2, 0))  # compiles
    compiled = seconds_per_round(lambda: annotation_values(data, Plan(rounds, 0)), rounds)
    vectorised = seconds_per_round(lambda: [numpy_round(data, seed) for seed in range(10)], 10)
    live = seconds_per_round(lambda: live_round(data, 0), 1)
    many = seconds_per_round(lambda: annotation_values(large, Plan(rounds // 10, 0)), rounds // 10)
    rows = [
        ("compiled, rounds in parallel", compiled),
        ("vectorised numpy", vectorised),
        ("spagree's live tally, measured at each checkpoint", live),
    ]
    packages = ", ".join(f"{name} {version(name)}" for name in ("spagree", "numba", "numpy"))
    return "\n".join(
        [
            "# Benchmark of the paper's experiments",
            "",
            f"{datetime.now(UTC):%Y-%m-%d}, {packages}, Python {platform.python_version()}, 2 cores. "
            "Made by `make bench`.",
            "",
            f"{data.annotations:,} annotations of {data.items:,} items, added one at a time; six schemes at 100 checkpoints.",
            "",
            "| implementation | per round | ratio | 3,000 rounds |",
            "|---|--:|--:|--:|",
            *(
                f"| {name} | {1000 * each:.2f} ms | {each / compiled:.0f} | {3000 * each:,.1f} s |"
                for name, each in rows
            ),
            "",
            f"{large.annotations:,} annotations of {large.items:,} items: {1000 * many:.0f} ms per round, "
            f"{3000 * many:.0f} s for 3,000 rounds.",
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3000)
    text = report(parser.parse_args().rounds)
    (HERE / "STUDIES.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
