"""Where the studies of intervals and coefficients go: a table and a page under docs/studies."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "docs" / "studies"


def run(
    name: str,
    about: str | None,
    study: Callable[[Path, int], Iterable[dict[str, Any]]],
    report: Callable[[list[dict[str, Any]], int], str],
    *,
    rounds: int,
) -> None:
    """A study of a folder of real data: python benchmarks/STUDY.py FOLDER [--rounds N]."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=rounds)
    options = parser.parse_args()
    rows = list(study(options.folder, options.rounds))
    publish(name, rows, report(rows, options.rounds))


def publish(name: str, rows: Sequence[Mapping[str, Any]], text: str) -> None:
    """Write the rows as NAME.csv and the page as NAME.md, and show the page."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (FOLDER / f"{name}.md").write_text(text)
    print("\n" + text)
