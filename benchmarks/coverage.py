"""What the studies of coverage share: a data set in, intervals out; what they come to; tables and the page's foot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from platform import python_version
from typing import Any

import numpy as np
import polars
from generators import Ints

import spagree

LABELS = "abcdefgh"
Row = dict[str, Any]


def of_votes(votes: Ints, **options: Any) -> spagree.Agreement:
    """Measured from how often each item got each label."""
    items = [{LABELS[label]: count for label, count in enumerate(row) if count} for row in votes.tolist()]
    return spagree.measure(spagree.Tally.from_items(items), **options)


def of_people(item: Ints, label: Ints, who: Ints | None = None, cluster: Ints | None = None) -> spagree.Agreement:
    """Measured from single annotations, with their annotators and clusters if given."""
    columns = {"item": item, "label": np.array(list(LABELS))[label], "annotator": who, "cluster": cluster}
    table = polars.DataFrame({name: column for name, column in columns.items() if column is not None})
    return spagree.measure(table, interval_for="items", cluster=None if cluster is None else "cluster")


@dataclass
class Held:
    """How often an interval held the truth, and its mean width."""

    sets: int = 0
    without: int = 0
    held: int = 0
    width: float = 0.0

    def add(self, interval: Any, truth: float) -> None:
        if interval.low is None:
            self.without += 1
            return
        self.sets += 1
        self.held += interval.low <= truth <= interval.high
        self.width += interval.high - interval.low

    @property
    def row(self) -> Row:
        known = self.sets or 1
        return {
            "covers": self.held / known if self.sets else None,
            "width": self.width / known if self.sets else None,
            "sets": self.sets,
            "without": self.without,
        }


def lowest(rows: Iterable[Row], number: int, key: str = "covers") -> list[Row]:
    """The rows with the lowest coverage, of those with an interval."""
    return sorted((row for row in rows if row[key] is not None), key=lambda row: row[key])[:number]


def table(rows: Sequence[Row], columns: dict[str, str]) -> str:
    """A Markdown table; the keys of ``columns`` are those of the rows, the values are the headings."""
    lines = ["| " + " | ".join(columns.values()) + " |", "|---|" + "--:|" * (len(columns) - 1)]
    lines += ["| " + " | ".join(_cell(row[name]) for name in columns) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def made_by(name: str, repetitions: int) -> str:
    """How to get the figures again; every setting has a seed of its own."""
    error = (0.95 * 0.05 / repetitions) ** 0.5
    versions = f"spagree {spagree.__version__}, numpy {version('numpy')}, Python {python_version()}"
    return (
        f"Made by `python -m benchmarks {name} --repetitions {repetitions}` with fixed seeds: {repetitions} data sets per\n"
        f"setting, so a share of 0.95 has a standard error of {error:.3f}. {versions}."
    )
