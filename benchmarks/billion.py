"""A billion annotations in parts, with flat memory and bounded disk: `python -m benchmarks billion` writes docs/scale/billion.csv.

    python benchmarks/billion.py [--parts 20] [--size 5e7] [--quick]

Each part is written, counted by a `spagree tally` of its own and deleted; then `spagree merge` and `spagree score`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import scale_results as results
from fresh import Limits, Outcome, command
from generate import Design, number, write

PEOPLE = 2400  # the same in all parts: of so many, a tally keeps the kinds of annotations
SPAGREE = str(Path(sys.executable).parent / "spagree")


def spagree(*arguments: str) -> Outcome:
    """A command in a process of its own; the run ends with its message if it fails."""
    done = command([SPAGREE, *arguments], Limits(seconds=1800))
    if done.failure:
        sys.exit(f"spagree {arguments[0]}: {done.failure}")
    return done


def row(step: str, annotations: int, done: Outcome, **more: float) -> results.Row:
    row = {"step": step, "annotations": str(annotations), "seconds": f"{done.seconds:.3f}"}
    row["memory_gb"] = f"{done.memory:.3f}"
    for name in ("generating_seconds", "file_gb", "spa", "low", "high"):
        row[name] = str(more.get(name, ""))
    shown = "  ".join(f"{name} {value}" for name, value in row.items() if value)
    print(shown, flush=True)
    return row


def count_part(part: int, size: int, folder: Path) -> results.Row:
    path, start = folder / "part.parquet", time.perf_counter()
    write(Design(size, "integer", first_item=part * Design(size).items, people=PEOPLE), path)
    generating = round(time.perf_counter() - start, 3)
    done = spagree("tally", str(path), "-o", str(folder / f"tally-{part:04}.json"))
    disk = round(path.stat().st_size / 1024**3, 3)
    path.unlink()
    return row("tally", size, done, generating_seconds=generating, file_gb=disk)


def merge_and_score(folder: Path, annotations: int) -> list[results.Row]:
    merged = folder / "merged.json"
    rows = [row("merge", annotations, spagree("merge", *map(str, sorted(folder.glob("tally-*"))), "-o", str(merged)))]
    done = spagree("score", str(merged), "--json")
    document = json.loads(done.value)
    if document["data"]["annotations"] != annotations:
        sys.exit(f"{document['data']['annotations']:,} annotations were counted, and {annotations:,} written")
    spa = document["spa"]
    return [*rows, row("score", annotations, done, spa=spa["value"], low=spa["low"], high=spa["high"])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=int, help="default 20; 3 with --quick")
    parser.add_argument("--size", type=number, help="annotations of a part: default 5e7; 1e6 with --quick")
    parser.add_argument("--quick", action="store_true", help="nothing written to docs")
    options = parser.parse_args()
    parts, size = options.parts or (3 if options.quick else 20), options.size or (10**6 if options.quick else 5 * 10**7)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [count_part(part, size, folder) for part in range(parts)]
        rows += merge_and_score(folder, parts * size)
        store = folder if options.quick else results.FOLDER
        results.keep(store / "billion.csv", rows, key=())
        results.note_environment(store, "billion", ("spagree", "duckdb", "polars"))
        print("\n".join(results.billion_section(store)))
    if not options.quick:
        results.report()


if __name__ == "__main__":
    main()
