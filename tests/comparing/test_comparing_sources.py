"""Two rounds compared, whatever they come in: every kind of source, alike on both sides and mixed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import spagree

Rows = Sequence[tuple[int, str, str]]
NAMES = ["item", "annotator", "label"]
QUERY = "SELECT item, annotator, label FROM votes"


def round_of(seed: int, care: float, start: int) -> Rows:
    """Two to four of six people label each of 60 items; the careful ones give its right class."""
    random = np.random.default_rng(seed)
    found = []
    for item in range(start, start + 60):
        for who in random.choice(6, random.integers(2, 5), replace=False).tolist():
            right = random.random() < care
            found.append((item, str(who), "abc"[item % 3] if right else "abc"[random.integers(3)]))
    return found


ROUNDS = round_of(1, 0.6, 100), round_of(2, 0.85, 130)


def frame(rows: Rows) -> polars.DataFrame:
    return polars.DataFrame(rows, NAMES, orient="row")


def csv(rows: Rows, path: Path) -> Path:
    frame(rows).write_csv(path.with_suffix(".csv"))
    return path.with_suffix(".csv")


def parquet(rows: Rows, path: Path) -> Path:
    frame(rows).write_parquet(path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def json_lines(rows: Rows, path: Path) -> Path:
    frame(rows).write_ndjson(path.with_suffix(".jsonl"))
    return path.with_suffix(".jsonl")


def sqlite(rows: Rows, path: Path) -> Path:
    with sqlite3.connect(path.with_suffix(".sqlite")) as database:
        database.execute("CREATE TABLE votes (item INTEGER, annotator TEXT, label TEXT)")
        database.executemany("INSERT INTO votes VALUES (?, ?, ?)", rows)
    database.close()
    return path.with_suffix(".sqlite")


def label_studio(rows: Rows, path: Path) -> Path:
    """An export of tasks, each with its annotations by everybody."""
    tasks = [
        {
            "id": item,
            "data": {"text": f"text {item}"},
            "annotations": [
                {"id": place, "completed_by": int(who), "was_cancelled": False, "result": [chosen(label)]}
                for place, (of, who, label) in enumerate(rows)
                if of == item
            ],
        }
        for item in dict.fromkeys(item for item, _, _ in rows)
    ]
    target = path.with_suffix(".tasks.json")
    target.write_text(json.dumps(tasks))
    return target


def chosen(label: str) -> dict[str, Any]:
    return {"from_name": "class", "to_name": "text", "type": "choices", "value": {"choices": [label]}}


def saved_tally(rows: Rows, path: Path) -> Path:
    spagree.save(spagree.tally(rows), path.with_suffix(".json"))
    return path.with_suffix(".json")


def saved_items(rows: Rows, path: Path) -> Path:
    spagree.save(spagree.count_items(rows), path.with_suffix(".items.parquet"))
    return path.with_suffix(".items.parquet")


KINDS: dict[str, Callable[[Rows, Path], Any]] = {
    "csv": csv,
    "parquet": parquet,
    "json lines": json_lines,
    "label studio": label_studio,
    "saved tally": saved_tally,
    "saved items": saved_items,
    "polars": lambda rows, _: frame(rows),
    "polars lazy": lambda rows, _: frame(rows).lazy(),
    "pandas": lambda rows, _: frame(rows).to_pandas(),
    "arrow": lambda rows, _: frame(rows).to_arrow(),
    "rows": lambda rows, _: rows,
    "items of a query": lambda rows, path: spagree.count_items(sqlite(rows, path), query=QUERY),
}
WITHOUT_ITEMS, WITHOUT_PEOPLE = {"saved tally"}, {"saved tally", "saved items", "items of a query"}
EVERY = list(KINDS)
PAIRS = [(kind, EVERY[(place + step) % len(EVERY)]) for place, kind in enumerate(EVERY) for step in (1, 5)]


@pytest.fixture(scope="module")
def whole() -> spagree.Comparison:
    return spagree.compare(*ROUNDS)


def figures(found: spagree.Comparison) -> list[float]:
    """The differences, of which every kind of source knows the value."""
    return [found.difference.value, found.kappa_difference.value]


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_any_two_kinds_of_source_differ_by_the_same(
    before: str, after: str, tmp_path: Path, whole: spagree.Comparison
) -> None:
    sources = [
        KINDS[kind](rows, tmp_path / name) for kind, rows, name in zip((before, after), ROUNDS, "xy", strict=True)
    ]
    found = spagree.compare(*sources)
    assert figures(found) == figures(whole)
    assert [each.headline.value for each in found.sides] == [each.headline.value for each in whole.sides]
    if {before, after} & WITHOUT_ITEMS:  # which items are the same is not known, and it says so
        assert found.shared_items is None
        assert found.difference.low < whole.difference.intervals["items"].low
        assert "usually narrower" in str(found)
        return
    assert found.shared_items == whole.shared_items == 30
    mine, wanted = (each.difference.intervals for each in (found, whole))
    assert (mine["items"].low, mine["items"].high) == pytest.approx((wanted["items"].low, wanted["items"].high))
    assert (mine["annotators"].low is None) == bool({before, after} & WITHOUT_PEOPLE)
    if mine["annotators"].low is not None:
        assert mine["annotators"].low == pytest.approx(wanted["annotators"].low)
        assert found.pairs[0].shared_annotators == 6


def test_the_answers_of_two_databases(tmp_path: Path, whole: spagree.Comparison) -> None:
    sources = [sqlite(rows, tmp_path / name) for rows, name in zip(ROUNDS, "xy", strict=True)]
    found = spagree.compare(*sources, query=QUERY)
    assert (figures(found), found.shared_items) == (figures(whole), 30)
    assert found.difference.low == pytest.approx(whole.difference.low)
