"""Breakdowns of large data: seconds and peak memory, each in a process of its own.

    python benchmarks/breakdowns.py [--annotations 10000000] [--annotators 10000]

Writes nothing but a table to the terminal: ratios to ``measure`` of the same file are what to compare. The first row
is the whole command that writes a report, including Python's start.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from fresh import Limits, Outcome, command, run

STARTED = 1_709_283_600  # 1 March 2024
MEASURE = "import spagree; agreement = spagree.measure('{path}')"
JOBS = {
    "measure": "",
    "classes": "agreement.classes(); agreement.confusion()",
    "annotators": "agreement.annotators()",
    "overlap": "agreement.overlap()",
    "pairs sharing 5 items": "agreement.pairs(least=5)",
    "pairs, all": "agreement.pairs()",
    "annotators of a polars frame": "import polars; agreement = spagree.measure(polars.read_parquet('{path}')); agreement.annotators()",
}


def make_data(annotations: int, annotators: int, path: Path) -> None:
    """String ids in random order; annotators come in teams of a hundred, so that pairs meet again."""
    import numpy as np
    import polars

    random = np.random.default_rng(1)
    items, per_item = annotations // 5, 5
    team = random.integers(0, max(1, annotators // 100), items)
    start = random.integers(0, 100, items)
    # Five different members: steps of an odd stride around the team.
    who = (start[:, None] + 7 * np.arange(per_item)) % min(100, annotators) + 100 * team[:, None]
    truth = random.integers(0, 10, items)[:, None]
    label = np.where(random.random((items, per_item)) < 0.7, truth, random.integers(0, 10, (items, per_item)))
    item = np.repeat(np.arange(items), per_item)
    frame = polars.DataFrame({"item": item, "annotator": who.ravel(), "label": label.ravel()})
    named = [polars.format(name + "-{}", name).alias(name) for name in ("item", "annotator", "label")]
    time = polars.from_epoch(polars.int_range(polars.len()) + STARTED).alias("time")
    frame.sample(fraction=1.0, shuffle=True, seed=1).select(*named, time).write_parquet(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--annotations", type=int, default=10_000_000)
    parser.add_argument("--annotators", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "annotations.parquet"
        make_data(options.annotations, options.annotators, path)
        print(f"{options.annotations:,} annotations, {options.annotators:,} annotators, string ids, random order")
        spagree, page = str(Path(sys.executable).parent / "spagree"), str(Path(folder) / "page.html")
        show("score --report", command([spagree, "score", str(path), "--report", page], Limits()))
        for name, job in JOBS.items():
            show(name, run((MEASURE + "; " + job).format(path=path), Limits()))


def show(name: str, outcome: Outcome) -> None:
    print(f"{name:<30} {outcome.failure or f'{outcome.seconds:6.1f} s {outcome.memory:6.2f} GB'}", flush=True)


if __name__ == "__main__":
    main()
