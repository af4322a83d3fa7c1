"""The tally from codes is the tally of the engine, and is used only where it can be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spagree
from breakdown_oracle import Rows, rows_of
from examples import examples
from spagree.counts import count as counting
from spagree.counts.coded import Coded, CodedTable, coded
from spagree.counts.count import count, tally_of_codes
from spagree.counts.tally import text
from spagree.grouping import by_hash
from spagree.measuring import measure_in_full
from spagree.read import read


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fetch few annotations with names and times, too."""
    monkeypatch.setattr(counting, "FEW", 0)


def on_engine(path: Path, **options: Any) -> spagree.Agreement:
    """Measured where the file is, whatever its size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "FEW", 0)
        patch.setattr(counting, "MOST", 0)
        found = spagree.measure(path, **options)
    assert codes_of(found) is None
    return found


def codes_of(agreement: spagree.Agreement) -> Coded | None:
    assert agreement.measurement.items is not None
    return agreement.measurement.items.held.codes


def annotations(kind: type[pl.DataType] = pl.String) -> pl.DataFrame:
    """600 annotations of 150 items by 9 people, some of them unknown; never twice by one on an item."""
    random = np.random.default_rng(3)
    item = np.repeat(np.arange(150), 4)
    who = (random.integers(0, 9, 150)[:, None] + 2 * np.arange(4)).ravel() % 9
    names = [None if unknown else f"w{each}" for each, unknown in zip(who, random.random(600) < 0.1, strict=True)]
    label = pl.Series(random.integers(0, 5, 600) * 3).cast(kind)
    time = random.permutation(600)
    return pl.DataFrame({"item": [f"q{each}" for each in item], "annotator": names, "label": label, "time": time})


@given(rows_of(), st.sampled_from([6, 62]), st.sampled_from([0, 300_000]))
@examples(30)
def test_the_tally_is_that_of_the_engine(rows: Rows, bits: int, most: int) -> None:
    """Also with several words, and with more combinations of labels than are kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "MOST_PATTERNS", most)
        patch.setattr(counting, "BITS", bits)
        frame = read(pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row"))
        counted = count(frame)
        assert counted.held.annotations is not None
        found = tally_of_codes(coded(counted.held.annotations), counted.tally.left_out)
    assert found == counted.tally
    assert (found.patterns is None) == (counted.tally.patterns is None)
    assert list(found.cells) == list(counted.tally.cells)
    assert list(found.labels) == list(counted.tally.labels)
    assert list(found.pairable_labels) == list(counted.tally.pairable_labels)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("kind", [pl.String, pl.Int64])
def test_a_file_read_once_gives_the_same_figures_and_page(tmp_path: Path, kind: type[pl.DataType]) -> None:
    path = tmp_path / "labels.parquet"
    lost = pl.DataFrame({"item": ["q1", None], "annotator": ["x", "y"], "label": [None, 3], "time": [1, 2]})
    pl.concat([annotations(kind), lost.with_columns(pl.col("label").cast(kind))]).write_parquet(path)
    once, twice = measure_in_full(path), on_engine(path)
    assert isinstance(codes_of(once), CodedTable)
    assert once.measurement.tally == twice.measurement.tally
    assert dict(once.measurement.tally.left_out) == {"missing_label": 1, "missing_item": 1}
    assert once.to_json() == twice.to_json()
    assert once.report(tmp_path / "a.html").read_text() == twice.report(tmp_path / "b.html").read_text()


@pytest.mark.usefixtures("small")
def test_the_interval_for_annotators_reads_a_file_once(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    annotations().filter(pl.col("annotator").is_not_null()).write_parquet(path)
    once = spagree.measure(path, interval_for="annotators")
    assert isinstance(codes_of(once), CodedTable)
    assert once.to_json() == on_engine(path, interval_for="annotators").to_json()


@pytest.mark.parametrize("kind", [pl.String, pl.Int64])
def test_a_score_of_few_annotations_fetches_them_once(tmp_path: Path, kind: type[pl.DataType]) -> None:
    """Without polars, names and times; breakdowns get them later."""
    path = tmp_path / "labels.parquet"
    annotations(kind).write_parquet(path)
    once, twice = spagree.measure(path), on_engine(path)
    assert type(codes_of(once)) is Coded and once.measurement.codes is codes_of(once)
    assert once.to_json() == twice.to_json() and str(once) == str(twice)
    assert once.items().equals(twice.items()) and once.development().equals(twice.development())
    assert once.annotators().equals(twice.annotators())


def test_items_beyond_the_precision_of_floats_stay_apart() -> None:
    """Sums in duckdb have 128 bits, and its arrays hold them as floats."""
    numbers = (
        "SELECT 9007199254740992::HUGEINT + i // 3 AS item, 'w' || i AS annotator, 'x' AS label FROM range(30) t(i)"
    )
    assert spagree.measure(duckdb.sql(numbers)).findings.data.items == 10


OWN = [
    (f"q{i}", who, f"{label}{'!' * (who == 'eve')}")
    for i in range(30)
    for who in ("ann", "bob", "eve")
    for label in "xy"
]


@pytest.mark.parametrize(
    "rows", [OWN, [row for row in OWN if row[1] != "eve"], [row for row in OWN if row[1] == "eve"]]
)
def test_own_labels_are_found_in_codes(rows: list[tuple[str, str, str]]) -> None:
    frame = read(pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")).frame
    users: dict[str, set[str]] = {}
    for _, who, label in rows:
        users.setdefault(label, set()).add(who)
    shared = {who for _, who, label in rows if len(users[label]) > 1}
    expected = {(who, label) for _, who, label in rows if who not in shared}
    found = coded(frame).users_of_own_labels()
    assert set(found) == expected and len(found) == len(expected)


def counted_in_full(path: Path, **options: Any) -> Coded | None:
    return codes_of(measure_in_full(path, **options))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "options",
    [{"first": 2}, {"normalize": True}, {"by": "language"}, {"cluster": "language"}, {"engine": "polars"}],
    ids=str,
)
def test_what_changes_the_annotations_is_counted_by_the_engine(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "labels.parquet"
    annotations().with_columns(language=pl.col("item").str.head(2)).write_parquet(path)
    assert counted_in_full(path) is not None
    assert counted_in_full(path, **options) is None
    assert codes_of(spagree.measure(path, **options)) is None
    assert measure_in_full(path, **options).to_json() == spagree.measure(path, **options).to_json()


@pytest.mark.usefixtures("small")
def test_repeats_are_counted_by_the_engine(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    plain = annotations()
    known = plain.filter(pl.col("annotator").is_not_null())
    pl.concat([plain, known.head(1)]).write_parquet(path)
    assert counted_in_full(path) is None
    assert measure_in_full(path).to_json() == spagree.measure(path).to_json()
    pl.concat([plain, known.head(1).with_columns(label=pl.lit("99"))]).write_parquet(path)
    with pytest.raises(spagree.DuplicateError, match="once an annotator gave one item different labels"):
        measure_in_full(path)


@pytest.mark.usefixtures("small")
def test_floats_are_counted_by_the_engine(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    annotations(pl.Float64).write_parquet(path)
    assert counted_in_full(path) is None


def test_very_many_are_counted_by_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "labels.parquet"
    annotations().write_parquet(path)
    assert type(counted_in_full(path)) is Coded
    monkeypatch.setattr(counting, "FEW", 599)
    assert isinstance(counted_in_full(path), CodedTable)
    assert codes_of(spagree.measure(path)) is None
    monkeypatch.setattr(counting, "MOST", 599)
    assert counted_in_full(path) is None


def test_many_classes_are_fetched_only_if_no_combinations_would_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = nw.from_native(pl.LazyFrame({"item": ["q"], "annotator": ["a"], "label": ["x"]}))
    codes = coded(frame)
    monkeypatch.setattr(counting, "MOST_CLASSES", 0)
    assert tally_of_codes(codes, {}).patterns == {(("x", 1),): 1}
    monkeypatch.setattr(counting, "MOST_ROWS_FETCHED", 0)
    assert tally_of_codes(codes, {}).patterns is None


@given(st.lists(st.integers(0, 40), max_size=30), st.sampled_from([0, 1, 3, 40]))
def test_rows_in_the_order_of_their_hashes(hashes: list[int], shift: int) -> None:
    """Whether hashes differ in the upper bits, in the lower ones that the row number replaces, or in both."""
    found = np.array([each << shift for each in hashes], dtype=np.uint64)
    order, starts = by_hash(found)
    assert found[order].tolist() == sorted(found.tolist())
    assert sorted(order.tolist()) == list(range(len(hashes)))
    assert found[order][starts].tolist() == sorted(set(found.tolist()))


def test_labels_are_spelled_as_the_engine_spells_them() -> None:
    codes = coded(nw.from_native(pl.LazyFrame({"item": [1, 1], "annotator": [1, 2], "label": [7, 10]})))
    found = tally_of_codes(codes, {})
    assert set(found.labels) == {text(7), text(10)} and found.patterns == {(("10", 1), ("7", 1)): 1}
