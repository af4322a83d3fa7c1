"""Annotations as integers, and the small vector functions everything else stands on."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakdown_oracle import Rows, rows_of
from examples import examples
from oracle import counted
from spagree import codes as grouping
from spagree.codes import UNKNOWN, Codes, pairs_within
from spagree.codes import counted as count_keys
from spagree.counts import engines
from spagree.counts.fetch import answers, code_items, coded
from spagree.counts.items import SHOWN_LABELS, named, votes_of
from spagree.counts.policies import Policies
from spagree.estimate.uncertainty import mean_error
from spagree.read import read

SCHEMA = ["item", "annotator", "label"]


def frame_of(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def decoded(codes: Codes) -> list[tuple[int, str | None, str]]:
    names = [*codes.annotators, None]
    return [
        (int(item), names[who], codes.labels[label])
        for item, who, label in zip(codes.item, codes.annotator, codes.label, strict=True)
    ]


@given(rows_of())
@examples(15)
def test_codes_hold_the_rows_in_one_order(rows: Rows) -> None:
    found = coded(counted(frame_of(rows)).held.annotations)
    places = {item: place for place, item in enumerate(sorted({item for item, _, _ in rows}))}
    expected = sorted(((places[item], said, who) for item, who, said in rows))
    assert decoded(found) == [(item, who, said) for item, said, who in expected]
    assert found.items == len(places) and found.unknown == 0
    assert {each.dtype for each in (found.item, found.annotator, found.label)} == {np.dtype(np.int32)}


FRAMES = {
    "text": pl.DataFrame({"item": ["b", "a", "b"], "annotator": ["x", None, "y"], "label": ["2", "10", "1"]}),
    "numbers": pl.DataFrame({"item": [3, 2, 3], "annotator": [10, None, 9], "label": [2, 10, 1]}),
    "truth values": pl.DataFrame({"item": [1, 2, 1], "annotator": ["x", None, "y"], "label": [True, False, False]}),
    "categories": pl.DataFrame(
        {"item": ["b", "a", "b"], "annotator": ["x", None, "y"], "label": ["2", "10", "1"]},
        schema_overrides={"annotator": pl.Categorical, "label": pl.Categorical},
    ),
    "nothing": pl.DataFrame({"item": [None], "annotator": ["x"], "label": ["1"]}, schema_overrides={"item": pl.String}),
}


@pytest.mark.parametrize("name", FRAMES)
def test_annotators_may_be_missing_from_values_of_any_type(name: str) -> None:
    assert coded(counted(FRAMES[name]).held.annotations).unknown == (0 if name == "nothing" else 1)


def test_names_are_in_the_order_of_their_text() -> None:
    found = coded(counted(FRAMES["numbers"]).held.annotations)
    assert (found.annotators, found.labels) == (("10", "9"), ("1", "10", "2"))
    assert found.annotator.tolist().count(UNKNOWN) == 1
    assert coded(counted(FRAMES["truth values"]).held.annotations).labels == ("false", "true")


def test_policies_come_before_codes() -> None:
    rows = frame_of([("q", "ann", "y"), ("q", "ann", "y "), ("q", "bob", "Y ")])
    found = coded(counted(rows, Policies(normalize=True)).held.annotations)
    assert decoded(found) == [(0, "ann", "y"), (0, "bob", "y")]


def test_without_an_annotator_column() -> None:
    found = coded(counted(FRAMES["text"].drop("annotator")).held.annotations)
    assert found.annotators == () and found.annotator.tolist() == [UNKNOWN] * 3


@pytest.mark.parametrize("kind", [pl.String, pl.Int64, pl.Float64])
def test_items_are_numbered_in_their_order(kind: type[pl.DataType]) -> None:
    values = pl.Series([10, 9, 10, 7, 9], dtype=pl.Int64).cast(kind)
    codes, known = code_items(values)
    assert known.to_list() == sorted(set(values)) and known.gather(codes).equals(values)
    missing, known = code_items(pl.Series([None, 2, 1]).cast(kind))
    assert missing.tolist() == [UNKNOWN, 1, 0] and len(known) == 2


def test_items_with_equal_hashes_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pl.Series, "hash", lambda self: pl.Series([7] * len(self), dtype=pl.UInt64))
    codes, known = code_items(pl.Series(["b", "a", "b", "a", "c"]))
    assert codes.tolist() == [1, 0, 1, 0, 2] and known.to_list() == ["a", "b", "c"]


@given(rows_of())
@examples(10)
def test_more_codes_than_one_number_holds(rows: Rows) -> None:
    annotations = counted(frame_of(rows)).held.annotations
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[Codes.__module__], "LARGEST_KEY", 1)
        found = decoded(coded(annotations))
    assert found == decoded(coded(annotations))


def test_codes_keep_names_and_times() -> None:
    rows = pl.DataFrame(
        {"item": ["b", "a", "b"], "annotator": ["x", None, "y"], "label": ["2", "1", "1"], "time": [3, 2, 1]}
    )
    found = coded(read(rows).frame)
    assert found.names.to_list() == ["a", "b"] and found.time is not None and found.time.to_list() == [2, 1, 3]
    expected = [("b", "y", "1", 1, 1), ("b", "x", "2", 3, 1), ("a", None, "1", 2, 1)]
    assert answers(found, pl.Series(["b", "a"])).rows() == expected
    timeless = answers(coded(read(rows.drop("time")).frame), pl.Series(["a"]))
    assert timeless.columns == ["item", "annotator", "label", "time", "count"]
    assert timeless.rows() == [("a", None, "1", None, 1)]
    assert answers(found, pl.Series([], dtype=pl.String)).is_empty()
    assert named(pl.DataFrame({"item": [1, 0], "n": [2, 1]}), found).rows() == [("b", 2), ("a", 1)]


@given(rows_of())
@examples(10)
def test_counts_per_item_and_label(rows: Rows) -> None:
    found = coded(counted(frame_of(rows)).held.annotations)
    item, label, count = found.counts
    given_ = Counter(
        (found.names[int(i)], found.labels[k]) for i, k in zip(found.item.tolist(), found.label.tolist(), strict=True)
    )
    assert {(found.names[int(i)], found.labels[k]): n for i, k, n in zip(item, label, count, strict=True)} == given_


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 5)), min_size=1, max_size=30))
def test_numbers_of_rows_that_are_alike(rows: list[tuple[int, int, int]]) -> None:
    columns = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]
    for cells, largest in ((10_000, 2**62), (1, 2**62), (1, 50)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(grouping, "MOST_CELLS", cells)
            patch.setattr(grouping, "LARGEST_KEY", largest)
            first, number = grouping.numbered(*columns)
        assert [rows[place] for place in first[number]] == rows
        assert len(first) == len(set(rows)) and set(number.tolist()) == set(range(len(first)))


@given(st.lists(st.integers(0, 6), max_size=8))
def test_pairs_within_runs_are_all_pairs(sizes: list[int]) -> None:
    first, second = pairs_within(np.array(sizes, dtype=np.int64))
    rows = np.repeat(np.arange(len(sizes)), sizes)
    expected = [(a, b) for a, b in combinations(range(len(rows)), 2) if rows[a] == rows[b]]
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == expected


@given(st.lists(st.integers(-3, 5), max_size=9))
def test_counted_keys_are_distinct_and_in_order(given: list[int]) -> None:
    keys, counts = count_keys(np.array(given, dtype=np.int64))
    assert dict(zip(keys.tolist(), counts.tolist(), strict=True)) == {key: given.count(key) for key in set(given)}
    assert keys.tolist() == sorted(set(given))


def test_the_error_of_a_mean() -> None:
    found = mean_error(np.array([0.0, 1.0, 4.0]), np.array([0.0, 0.0, 3.0]))
    assert np.isnan(found[:2]).all() and found[2] == 0.5


def test_votes_are_text_with_the_commonest_first_and_not_too_many() -> None:
    labels = [f"l{place:02}" for place in range(SHOWN_LABELS + 1)]
    counts = pl.DataFrame({"item": [1] * len(labels), "label": labels, "count": [1] * (len(labels) - 1) + [5]})
    (row,) = votes_of(counts).rows(named=True)
    assert row["votes"].startswith("l12 ×5, l00 ×1, ") and row["votes"].endswith("l10 ×1, …")
    assert votes_of(counts.head(SHOWN_LABELS))["votes"][0].endswith("l11 ×1")


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_entropy_is_that_of_the_votes(sizes: list[int]) -> None:
    counts = pl.DataFrame({"item": [0] * len(sizes), "label": [str(c) for c in range(len(sizes))], "count": sizes})
    found = votes_of(counts)["entropy"][0]
    shares = np.array(sizes) / sum(sizes)
    expected = None if sum(sizes) == 1 else pytest.approx(float(-(shares * np.log2(shares)).sum()), abs=1e-12)
    assert found == expected
    if len(sizes) == 1 and sizes[0] > 1:
        assert found == 0.0


@pytest.mark.parametrize("odd", ["it's", '"', "", "ü", "z\x00q", "a, b", "%s", "\n"])
@pytest.mark.parametrize("most", [0, 3, 10_000])
def test_an_engine_that_lists_names_gives_the_same_codes(
    odd: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "MOST_ENUMERATED", most)
    people, labels = ["ann", odd, None, "bob", "ann"], ["no", odd, "yes", odd, None]
    table = pl.DataFrame({"item": ["b", "a", "b", "a", "c"], "annotator": people, "label": labels})
    table.write_parquet(tmp_path / "labels.parquet")
    found, wanted = coded(read(tmp_path / "labels.parquet").frame), coded(read(table).frame)
    assert (found.annotators, found.labels) == (wanted.annotators, wanted.labels)
    assert [*map(int, found.annotator)] == [*map(int, wanted.annotator)]
    assert found.label.tolist() == wanted.label.tolist() and found.item.tolist() == wanted.item.tolist()


def test_a_column_without_names_has_no_codes(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {"item": ["a"], "annotator": [None], "label": ["x"]}, schema_overrides={"annotator": pl.String}
    )
    table.write_parquet(tmp_path / "labels.parquet")
    found = coded(read(tmp_path / "labels.parquet").frame)
    assert found.annotators == () and found.annotator.tolist() == [UNKNOWN]
