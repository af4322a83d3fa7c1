"""What the studies of coverage share: a data set in, intervals out; what they come to; tables and the page's foot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from platform import python_version
from typing import Any
from zlib import crc32

import numpy as np
import polars
from generators import Ints, Random

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


AGAIN = 5


def again(
    rows: Iterable[Row], cover: Callable[[Any, int, int], Row], repetitions: int, key: str = "covers"
) -> list[Row]:
    """The settings that cover least, on new data and with more of them: the lowest of many are so by chance, too."""
    known = sorted((row for row in rows if row[key] is not None), key=lambda row: row[key])
    return [cover(setting, AGAIN * repetitions, 1) for setting in [*dict.fromkeys(row["setting"] for row in known)][:8]]


def summary(rows: Iterable[Row]) -> Row:
    """Of several settings: coverage at the lowest and on average, and the mean width."""
    known = [row for row in rows if row["covers"] is not None]
    covers = [row["covers"] for row in known]
    return {
        "settings": len(known),
        "lowest": min(covers),
        "mean": float(np.mean(covers)),
        "below": sum(each < 0.92 for each in covers),
        "width": float(np.mean([row["width"] for row in known])),
    }


SUMMED_UP = {"lowest": "lowest", "mean": "mean", "below": "below 0.92", "settings": "settings", "width": "mean width"}


def span(rows: Iterable[Row], key: str) -> str:
    """The lowest and the highest of what is known."""
    known = [row[key] for row in rows if row[key] is not None]
    return f"{min(known):.3f}–{max(known):.3f}" if known else "–"


def generator(setting: Any, seed: int) -> Random:
    """Random numbers of its own for every setting, the same from run to run."""
    return np.random.default_rng(crc32(repr(setting).encode()) + seed)


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
        f"{repetitions} data sets per setting, so a share of 0.95 has\na standard error of {error:.3f}. "
        f"Made by `python -m benchmarks {name} --repetitions {repetitions}` with fixed seeds; {versions}."
    )
