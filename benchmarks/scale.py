"""How time and memory grow with the annotations: `python -m benchmarks scale` writes docs/scale/scale.csv and draws it.

    python benchmarks/scale.py [--sizes 1e5,1e6,1e7,1e8] [--ids string,integer] [--orders random,sorted]
                               [--rounds 3] [--spark] [--quick]

Each job runs in a process of its own, all jobs of a file in turn; best time, highest memory. One file serves all:
the column of the annotators is called "by", which spagree reads as annotators only if told to. Rows of the CSV
file with the same size, ids and order are replaced, so that sizes can be measured on different days.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import scale_results as results
from core import TWO_LEVEL_SQL
from fresh import Limits, Outcome, run
from generate import Design, number, write

DUCKDB, POLARS = "import duckdb", "import polars as pl"
SQL_AGREEMENT = "value = sum(k * a / n for n, a, t, k in found if n > 1) / sum(k * (n - 1) for n, a, t, k in found)"

JOBS = {
    "decode item and label (duckdb)": f"""{DUCKDB}
duckdb.sql("select max(item), max(label) from read_parquet('{{path}}')").fetchall()""",
    "decode item and label (polars)": f"""{POLARS}
pl.read_parquet('{{path}}', columns=['item', 'label'])""",
    "count rows per item (duckdb)": f"""{DUCKDB}
duckdb.sql("select count(*) from (select item, count(*) from read_parquet('{{path}}') group by item)").fetchall()""",
    "count rows per item (polars)": f"""{POLARS}
pl.scan_parquet('{{path}}').group_by('item').agg(pl.len()).select(pl.len()).collect(engine='streaming')""",
    results.REFERENCE: f'''{DUCKDB}
found = [tuple(map(int, row)) for row in duckdb.sql("""{TWO_LEVEL_SQL}""").fetchall()]
{SQL_AGREEMENT}''',
    "two-level query by hand (polars)": f"""{POLARS}
c = pl.col('c').cast(pl.Int64)
found = (pl.scan_parquet('{{path}}').group_by('item', 'label').agg(c=pl.len())
  .group_by('item').agg(n=c.sum(), a=(c*(c-1)).sum(), t=(c*(c-1)*(c-2)).sum())
  .group_by('n', 'a', 't').agg(k=pl.len()).collect(engine='streaming')).rows()
{SQL_AGREEMENT}""",
    "spagree, file": """import spagree
value = spagree.measure('{path}').spa.value""",
    "spagree, file, duplicate check": """import spagree
value = spagree.measure('{path}', annotator='by', interval_for='items').spa.value""",
    "spagree, file, other annotators": """import spagree
value = spagree.measure('{path}', annotator='by').spa.value""",
    "spagree, polars LazyFrame": """import polars as pl, spagree
value = spagree.measure(pl.scan_parquet('{path}').select('item', 'label')).spa.value""",
}
SPARK = {
    "spagree, file, --engine spark": """import json, subprocess, sys
command = [sys.executable, '-m', 'spagree', 'score', '{path}', '--engine', 'spark', '--json']
done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
if done.returncode:
    sys.exit(done.returncode)  # the last line that the command wrote says why
value = json.loads(done.stdout)['spa']['value']""",
}


def designs(sizes: list[int], ids: list[str], orders: list[str]) -> Iterator[Design]:
    for size in sizes:
        for kind in ids:
            for order in orders:
                yield Design(size, kind, order, annotator="by")


def measured(jobs: dict[str, str], path: Path, rounds: int) -> dict[str, Outcome]:
    """The best time and the highest memory of each job; a job that failed once is not tried again."""
    best: dict[str, Outcome] = {}
    for _ in range(rounds):
        for name, job in jobs.items():
            if name in best and best[name].failure:
                continue
            now = run(job.replace("{path}", str(path)), Limits())
            old = best.get(name, now)
            least = min(now.seconds, old.seconds), max(now.memory, old.memory)
            best[name] = Outcome(*least, now.value, now.failure, min(now.cpu, old.cpu))
            figures = f"{now.seconds:8.2f} s {now.cpu:8.2f} s CPU {now.memory:6.2f} GB"
            print(f"  {name:36} {now.failure or figures}", flush=True)
    return best


def refuse_different_answers(best: dict[str, Outcome]) -> None:
    values = {
        name: outcome.value for name, outcome in best.items() if outcome.value is not None and not outcome.failure
    }
    first = next(iter(values.values()))
    if not all(math.isclose(value, first, rel_tol=1e-9) for value in values.values()):
        sys.exit(f"the jobs do not agree: {values}")


def rows_of(design: Design, best: dict[str, Outcome], disk: float) -> list[results.Row]:
    return [
        {
            "annotations": str(design.annotations),
            "ids": design.ids,
            "order": design.order,
            "job": name,
            "seconds": f"{outcome.seconds:.3f}",
            "cpu_seconds": f"{outcome.cpu:.3f}",
            "memory_gb": f"{outcome.memory:.3f}",
            "failure": outcome.failure,
            "file_gb": f"{disk:.3f}",
        }
        for name, outcome in best.items()
    ]


def measure(design: Design, jobs: dict[str, str], rounds: int, folder: Path) -> list[results.Row]:
    path, start = folder / "annotations.parquet", time.perf_counter()
    write(design, path)
    disk = path.stat().st_size / 1024**3
    took = time.perf_counter() - start
    print(f"{design.annotations:,} {design.ids} {design.order}: written in {took:.0f} s, {disk:.2f} GB", flush=True)
    best = measured(jobs, path, rounds)
    path.unlink()
    refuse_different_answers(best)
    return rows_of(design, best, disk)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", help="default 1e5,1e6,1e7,1e8; 1e5,1e6 with --quick")
    parser.add_argument("--ids", default="string,integer")
    parser.add_argument("--orders", default="random,sorted")
    parser.add_argument("--rounds", type=int, default=3, help="per job; above 10⁷ annotations one less, at least one")
    parser.add_argument("--spark", action="store_true", help="also spagree on Spark")
    parser.add_argument("--quick", action="store_true", help="one round, nothing written to docs")
    options = parser.parse_args()
    options.sizes = options.sizes or ("1e5,1e6" if options.quick else "1e5,1e6,1e7,1e8")
    options.rounds = 1 if options.quick else options.rounds
    return options


def main() -> None:
    options = arguments()
    jobs = JOBS | (SPARK if options.spark else {})
    sizes = [number(size) for size in options.sizes.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) if options.quick else results.FOLDER
        for design in designs(sizes, options.ids.split(","), options.orders.split(",")):
            rounds = max(1, options.rounds - (design.annotations > 10**7))
            rows = measure(design, jobs, rounds, Path(folder))
            results.keep(store / "scale.csv", rows, key=("annotations", "ids", "order"))
        results.note_environment(store, "scale", ("spagree", "duckdb", "polars", "narwhals"))
        print("\n".join(results.scale_section(store)))
    if not options.quick:
        results.report()


if __name__ == "__main__":
    main()
