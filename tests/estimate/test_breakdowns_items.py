"""hardest(), distribution() and the busiest annotators: what a page needs of large data, without all of them."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import duckdb
import polars
import pytest

import spagree
from oracle import exactly

ROWS = [
    ("few", "a", "x"),
    ("few", "b", "y"),
    *(("many", who, who) for who in "abcd"),
    ("fine", "a", "x"),
    ("fine", "b", "x"),
    ("half", "a", "x"),
    ("half", "b", "x"),
    ("half", "c", "y"),
    ("single", "a", "x"),
]
FRAME = polars.DataFrame(ROWS, schema=["item", "annotator", "label"], orient="row")
WORST = [
    ("many", 4, 0.0, "a ×1, b ×1, c ×1, d ×1"),
    ("few", 2, 0.0, "x ×1, y ×1"),
    ("half", 3, 1 / 3, "x ×2, y ×1"),
    ("fine", 2, 1.0, "x ×2"),
]


def worst(source: object, most: int = 20) -> list[tuple[object, ...]]:
    found = spagree.measure(source).hardest(most)
    return found.select("item", "annotations", "agreement", "votes").rows()


def test_least_agreement_first_and_of_equals_more_annotations_first() -> None:
    assert worst(ROWS) == WORST
    found = spagree.measure(ROWS)
    assert [found.hardest(most).height for most in (1, 3, 1)] == [1, 3, 1]
    assert worst(ROWS, 2) == WORST[:2]


@pytest.mark.parametrize("kind", ["lazy", "pandas", "arrow", "duckdb", "dask"])
def test_every_engine_finds_the_same_items(kind: str) -> None:
    import dask.dataframe  # takes a second: only where it is used

    pandas = FRAME.to_pandas()
    source = {
        "lazy": FRAME.lazy,
        "pandas": lambda: pandas,
        "arrow": FRAME.to_arrow,
        "duckdb": lambda: duckdb.sql("SELECT * FROM FRAME"),
        "dask": lambda: dask.dataframe.from_pandas(pandas, npartitions=2),
    }[kind]()
    assert worst(source, 3) == WORST[:3]


def test_counted_items_know_them_too() -> None:
    assert worst(spagree.count_items(ROWS)) == WORST


def test_a_tally_does_not() -> None:
    with pytest.raises(
        spagree.UsageError, match=exactly("a tally holds no single items; measure the annotations themselves")
    ):
        spagree.measure(spagree.tally(ROWS)).hardest()


def test_the_distribution_counts_every_pairable_item() -> None:
    found = spagree.measure(ROWS).distribution()
    assert found.rows() == [(2, 0.0, 1), (2, 1.0, 1), (3, 1 / 3, 1), (4, 0.0, 1)]


def test_the_distribution_has_the_mean_of_flat_weights() -> None:
    found = spagree.measure("example:sparse")
    rows = found.distribution().rows(named=True)
    total = sum(row["items"] for row in rows)
    mean = sum(Fraction(row["agreement"]) * row["items"] for row in rows) / total
    assert total == found.data.pairable_items
    assert float(mean) == pytest.approx(found.schemes["flat"].value, abs=1e-12)


def test_the_distribution_follows_the_metric() -> None:
    rows = [(1, "a", "1"), (1, "b", "2"), (2, "a", "1"), (2, "b", "3"), (3, "a", "2"), (3, "b", "1")]
    found = spagree.measure(rows, metric="interval")
    assert found.distribution().rows() == [(2, 0.0, 1), (2, 0.75, 2)]
    assert spagree.measure(rows).distribution().rows() == [(2, 0.0, 3)]


def test_a_tally_knows_the_distribution() -> None:
    found = spagree.measure(spagree.tally("example:sparse")).distribution()
    assert found.equals(spagree.measure("example:sparse").distribution())


@pytest.mark.parametrize("busiest", [2, 5, 25, 100])
def test_pairs_of_the_busiest_equal_the_same_pairs_of_everybody(busiest: int) -> None:
    found = spagree.measure("example:sparse")
    made = Counter({row["annotator"]: row["annotations"] for row in found.annotators().rows(named=True)})
    chosen = sorted(made, key=lambda name: (-made[name], name))[:busiest]
    both = polars.col("annotator").is_in(chosen) & polars.col("other").is_in(chosen)
    assert found.pairs(busiest=busiest).equals(found.pairs().filter(both))
