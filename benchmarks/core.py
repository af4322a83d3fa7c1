"""The core job against its limits, in one run: `make bench` writes benchmarks/RESULTS.md.

    python benchmarks/core.py [--annotations 10000000]

Each job runs in a process of its own, three times, alternating; the best time and the highest peak
memory count. Ratios, not seconds, are what to compare: machines differ.
"""

from __future__ import annotations

import argparse
import platform
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from exports import make_exports
from fresh import Limits, run

HERE = Path(__file__).parent
ROUNDS = 3
EXPORTED = 300_000

TWO_LEVEL_SQL = """
with counts as (select item, label, count(*) c from read_parquet('{path}') group by item, label),
items as (select item, sum(c) n, sum(c*(c-1)) a, sum(c*(c-1)*(c-2)) t from counts group by item)
select n, a, t, count(*) from items group by n, a, t"""

JOBS = {
    "decode the two columns (duckdb)": "import duckdb; duckdb.sql(\"select max(item), max(label) from read_parquet('{path}')\").fetchall()",
    "decode the two columns (polars)": "import polars as pl; pl.read_parquet('{path}', columns=['item', 'label'])",
    "count rows per item (duckdb)": "import duckdb; duckdb.sql(\"select count(*) from (select item, count(*) from read_parquet('{path}') group by item)\").fetchall()",
    "hand-written two-level count (duckdb)": f'import duckdb; duckdb.sql("""{TWO_LEVEL_SQL}""").fetchall()',
    "hand-written two-level count (polars)": (
        "import polars as pl; c = pl.col('c').cast(pl.Int64); "
        "(pl.scan_parquet('{path}').group_by('item', 'label').agg(c=pl.len())"
        ".group_by('item').agg(n=c.sum(), a=(c*(c-1)).sum(), t=(c*(c-1)*(c-2)).sum())"
        ".group_by('n', 'a', 't').agg(pl.len()).collect(engine='streaming'))"
    ),
    "spagree, without annotators": "import spagree; spagree.measure('{anonymous}')",
    "spagree, with the duplicate check": "import spagree; spagree.measure('{path}', interval_for='items')",
    "spagree, with the interval for other annotators": "import spagree; spagree.measure('{path}')",
    "spagree --duplicates first, 1,000 conflicting repeats": "import spagree; spagree.measure('{repeated}', duplicates='first')",
    "spagree on a polars frame": "import polars as pl, spagree; spagree.measure(pl.scan_parquet('{anonymous}'))",
}


def make_data(annotations: int, folder: Path) -> dict[str, Path]:
    """String ids in random order, ten classes, about six annotations per item."""
    import polars

    import spagree

    simulation = spagree.simulate(items=annotations // 6, annotators=2400, classes=10, per_item=6, seed=1)
    frame = simulation.frame.sample(fraction=1.0, shuffle=True, seed=1)
    paths = {name: folder / f"{name}.parquet" for name in ("path", "anonymous", "repeated")}
    frame.select("item", "annotator", "label").write_parquet(paths["path"])
    frame.select("item", "label").write_parquet(paths["anonymous"])
    named = frame.select("item", "annotator", "label")
    again = named.sample(1000, seed=2).with_columns(label=polars.concat_str("label", polars.lit("'")))
    polars.concat([named, again]).write_parquet(paths["repeated"])
    frame.select("item", "annotator", "label").head(1000).write_csv(folder / "small.csv")
    return {**paths, "small": folder / "small.csv"}


def best_times(command: list[str]) -> tuple[float, float]:
    """The best time and the best CPU time of several whole process runs."""
    seconds, cpu = [], []
    for _ in range(15):
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=True)
        seconds.append(time.perf_counter() - start)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds), min(cpu)


def measure_jobs(jobs: dict[str, str], time: str) -> dict[str, tuple[float, float]]:
    """The least time, in "seconds" or of the "cpu", and the peak memory of each."""
    best: dict[str, tuple[float, float]] = {}
    for number in range(ROUNDS):
        for name, job in jobs.items():
            print(f"round {number + 1}/{ROUNDS}: {name}", flush=True)
            now = run(job, Limits())
            if now.failure:
                sys.exit(f"{name}: {now.failure}")
            used = getattr(now, time)
            old = best.get(name, (used, now.memory))
            best[name] = (min(old[0], used), max(old[1], now.memory))
    return best


def measure_start(paths: dict[str, Path]) -> list[tuple[str, float, float]]:
    """Name, time and CPU time as multiples of an empty Python's."""
    spagree = str(Path(sys.executable).parent / "spagree")
    imports = "import click, numpy, rich.console, rich.table"
    started = {
        "spagree --help": [spagree, "--help"],
        "spagree score of a 1,000-row CSV": [spagree, "score", str(paths["small"])],
        "of which click, numpy and rich": [sys.executable, "-c", imports],
    }
    empty, empty_cpu = best_times([sys.executable, "-c", "pass"])
    times = {name: best_times(command) for name, command in started.items()}
    return [(name, seconds / empty, cpu / empty_cpu) for name, (seconds, cpu) in times.items()]


def measure_exports(folder: Path) -> list[str]:
    """Rows of a table: CPU time and peak memory of the same annotations in three formats."""
    measured = "import spagree; value = spagree.measure({!r}).spa.value"
    jobs = {name: measured.format(str(path)) for name, path in make_exports(EXPORTED, folder).items()}
    best = measure_jobs(jobs, "cpu")
    cpu, memory = best["plain CSV"]
    return [
        f"| {name} | {used:.2f} s | {used / cpu:.2f} | {peak:.2f} GB | {peak / memory:.2f} |"
        for name, (used, peak) in best.items()
    ]


def report(
    annotations: int,
    best: dict[str, tuple[float, float]],
    started: list[tuple[str, float, float]],
    exported: list[str],
) -> str:
    reference = best["hand-written two-level count (duckdb)"][0]
    rows = [
        f"| {name} | {seconds:.2f} s | {seconds / reference:.2f} | {memory:.2f} GB |"
        for name, (seconds, memory) in best.items()
    ]
    packages = ", ".join(f"{name} {version(name)}" for name in ("spagree", "polars", "duckdb", "narwhals"))
    return "\n".join(
        [
            "# Benchmarks",
            "",
            f"{datetime.now(UTC):%Y-%m-%d}, {packages}, Python {platform.python_version()}, 2 cores. Made by `make bench`.",
            "",
            f"## {annotations:,} annotations in Parquet, string ids, random order, 10 classes",
            "",
            "| job | time | ratio | peak memory |",
            "|---|--:|--:|--:|",
            *rows,
            "",
            "Ratio: to the hand-written two-level query in duckdb, in the same run.",
            "",
            "## Start, as a multiple of an empty Python start",
            "",
            "| | time | CPU time | aim |",
            "|---|--:|--:|--:|",
            *(
                f"| {name} | {seconds:.1f} | {cpu:.1f} | {aim} |"
                for (name, seconds, cpu), aim in zip(started, ("5", "25", ""), strict=True)
            ),
            "",
            f"## {EXPORTED:,} annotations as tools export them, beside the same annotations in a plain CSV (aim: 4 ×)",
            "",
            "| | CPU time | ratio | peak memory | ratio |",
            "|---|--:|--:|--:|--:|",
            *exported,
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--annotations", type=int, default=10_000_000)
    annotations = parser.parse_args().annotations
    with tempfile.TemporaryDirectory() as folder:
        paths = make_data(annotations, Path(folder))
        jobs = measure_jobs({name: job.format(**paths) for name, job in JOBS.items()}, "seconds")
        text = report(annotations, jobs, measure_start(paths), measure_exports(Path(folder)))
    (HERE / "RESULTS.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
