"""Comparisons whose items are in clusters, and comparisons within groups."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import polars as pl
import pytest

import spagree
from spagree.errors import DataError, UsageError
from spagree.estimate.comparison import p_of

COLUMNS = ["item", "annotator", "label", "doc", "lang"]


def round_of(seed: int, clear: float, docs: int = 20, items: int = 5) -> pl.DataFrame:
    """Documents that are easy or hard, the same ones in every round."""
    hard, random = Random(99), Random(seed)
    rows: list[tuple[Any, ...]] = []
    for doc in range(docs):
        right = hard.choice([0.5, 1.0]) * clear
        for item in range(items):
            for who in ("ann", "bob", "cyd"):
                label = "x" if random.random() < right else random.choice("xyz")
                rows.append((f"{doc}-{item}", who, label, f"d{doc}", "de" if doc % 3 else "en"))
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def test_clusters_that_both_rounds_share_are_compared_cluster_by_cluster() -> None:
    first, second = round_of(1, 0.8), round_of(2, 0.9)
    found = spagree.compare(first, second, names=("a", "b"), cluster="doc")
    plain = spagree.compare(first, second, names=("a", "b"))
    assert found.difference.value == plain.difference.value
    errors = [side.headline.stderr or 0.0 for side in found.sides]
    assert errors[0] > 1.3 * (plain.sides[0].headline.stderr or 0.0)
    # What makes a document hard makes it hard in both rounds, so the difference is known better than each round.
    assert (found.difference.stderr or 1.0) < 0.7 * (errors[0] ** 2 + errors[1] ** 2) ** 0.5


def test_other_items_of_the_same_clusters_move_together() -> None:
    first = round_of(1, 0.8)
    second = round_of(2, 0.9).with_columns(pl.col("item") + "'")
    found = spagree.compare(first, second, names=("a", "b"), cluster="doc")
    errors = [side.headline.stderr or 0.0 for side in found.sides]
    assert found.shared_items == 0
    assert (found.difference.stderr or 1.0) < 0.9 * (errors[0] ** 2 + errors[1] ** 2) ** 0.5


def test_a_round_compared_with_itself_differs_by_nothing() -> None:
    found = spagree.compare(round_of(1, 0.8), round_of(1, 0.8), names=("a", "b"), cluster="doc", by="lang")
    assert (found.difference.value, found.difference.stderr) == (0.0, pytest.approx(0.0, abs=1e-12))
    assert {name: each.difference.value for name, each in found.groups.items()} == {"de": 0.0, "en": 0.0}


def test_every_group_is_compared_as_if_it_were_alone() -> None:
    first, second = round_of(1, 0.7), round_of(2, 0.95)
    found = spagree.compare(first, second, names=("a", "b"), by="lang")
    assert list(found.groups) == ["de", "en"]
    p = []
    for name, each in found.groups.items():
        alone = spagree.compare(
            *(rows.filter(pl.col("lang") == name).drop("lang", "doc") for rows in (first, second)), names=("a", "b")
        )
        assert each.difference == alone.difference
        p.append(p_of(alone.difference) or 1.0)
    held = sorted(each.pairs[0].p_holm or 1.0 for each in found.groups.values())
    assert held == pytest.approx([min(2 * min(p), 1.0), max(min(2 * min(p), 1.0), *p)])
    shown = json.loads(found.to_json())
    assert set(shown["groups"]) == {"de", "en"}
    assert "Only de" in str(found)


def test_groups_of_tallies_are_compared_too() -> None:
    tallies = [spagree.tally(round_of(seed, 0.8), by="lang") for seed in (1, 2)]
    found = spagree.compare(*tallies, names=("a", "b"))
    assert found.groups == {}
    rows = [round_of(seed, 0.8) for seed in (1, 2)]
    with_rows = spagree.compare(*rows, names=("a", "b"), by="lang")
    assert with_rows.difference.value == found.difference.value


def test_before_keeps_the_clusters() -> None:
    frame = pl.concat([round_of(1, 0.8), round_of(2, 0.9).with_columns(pl.col("item") + "'")])
    timed = frame.with_columns(time=pl.int_range(pl.len()))
    found = spagree.compare(timed, before=300, time="time", cluster="doc")
    assert {side.headline.stderr for side in found.sides} == {
        spagree.measure(part, cluster="doc").spa.stderr for part in (frame[:300], frame[300:])
    }


def test_before_and_after_a_date_within_each_group() -> None:
    first, second = round_of(1, 0.7), round_of(2, 0.95).with_columns(pl.col("item") + "'")
    timed = pl.concat([first, second]).with_columns(time=pl.int_range(pl.len()))
    found = spagree.compare(timed, before=first.height, time="time", by="lang", cluster="doc")
    wanted = spagree.compare(first, second, names=("a", "b"), by="lang", cluster="doc")
    assert found.difference == wanted.difference
    assert {name: each.difference for name, each in found.groups.items()} == {
        name: each.difference for name, each in wanted.groups.items()
    }
    assert found.not_compared == {}


def test_a_group_that_one_side_lacks_is_named() -> None:
    first = round_of(1, 0.8)
    later = pl.concat([first, first.with_columns(pl.col("item") + "fr", lang=pl.lit("fr"))])
    found = spagree.compare(first, later, names=("a", "b"), by="lang")
    assert list(found.groups) == ["de", "en"] and found.not_compared == {"fr": ["b"]}
    assert json.loads(found.to_json())["groups_not_compared"] == {"fr": ["b"]}
    assert "Not compared: fr, which only b has." in str(found)
    turned = spagree.compare(later, first, names=("b", "a"), by="lang")
    assert turned.not_compared == {"fr": ["b"]}
    three = spagree.compare(later, first, later, names=("b", "a", "c"), by="lang")
    assert "Not compared: fr, which only b and c have." in str(three)


def test_by_the_annotators_themselves_points_to_their_breakdowns() -> None:
    rows = round_of(1, 0.8)
    with pytest.raises(DataError, match="if the column says who annotated, the breakdowns annotators and pairs"):
        spagree.measure(rows.drop("lang", "doc"), by="annotator")


def test_what_cannot_be_compared_by_group_is_refused() -> None:
    frame = round_of(1, 0.8)
    with pytest.raises(DataError, match="the sources have no group in common"):
        spagree.compare(frame, frame.with_columns(lang=pl.lit("fr")), names=("a", "b"), by="lang")
    with pytest.raises(UsageError, match="cluster= is for comparing two sources or more"):
        spagree.compare(frame, model="cyd", cluster="doc")
    with pytest.raises(UsageError, match="by= is for comparing two sources or more"):
        spagree.compare(frame, model="cyd", by="lang")
