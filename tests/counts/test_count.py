"""Annotations → tally: what is counted, what is left out, what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
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
from oracle import BARS, annotations, counted, exactly, long_frame, no_zeros, parse, tally_of
from spagree import progress
from spagree.codes import Codes, by_hash
from spagree.counts import count as counting
from spagree.counts import fetch as fetching
from spagree.counts.count import count, find_patterns, tally_counts, tally_of_codes
from spagree.counts.engines import rows
from spagree.counts.fetch import coded
from spagree.counts.items import item_agreement, item_sums
from spagree.counts.live import LiveTally
from spagree.counts.tally import Cell, Tally, text
from spagree.errors import DataError, FileError, Warning
from spagree.measuring import measured
from spagree.read import read
from spagree.read.annotations import Annotations, Understood

ITEM = st.lists(st.sampled_from(["x", "y", "", "NA"]), min_size=1, max_size=5)


@given(st.lists(ITEM, min_size=1, max_size=10), st.randoms())
@examples(15)
def test_counting_rows_equals_counting_items(items: list[list[str]], random) -> None:
    frame = long_frame(items)
    shuffled = frame[random.sample(range(len(frame)), len(frame))]
    found, wanted = counted(shuffled).tally, tally_of(items)
    assert (found.cells, found.labels, found.pairable_labels) == (wanted.cells, wanted.labels, wanted.pairable_labels)
    assert found.annotators == {f"a{j}": sum(len(labels) > j for labels in items) for j in range(max(map(len, items)))}
    assert found.left_out == {}
    assert no_zeros(found)


def test_cells_come_largest_first_and_labels_most_frequent_first() -> None:
    found = counted(long_frame(parse("b aab ccccz a")))
    assert list(found.tally.cells) == [Cell(5, 12, 24), Cell(3, 2, 0), Cell(1, 0, 0)]
    assert list(found.tally.labels.items()) == [("c", 4), ("a", 3), ("b", 2), ("z", 1)]
    assert list(found.tally.pairable_labels.items()) == [("c", 4), ("a", 2), ("b", 1), ("z", 1)]


def test_rows_without_label_or_item_are_left_out_and_counted() -> None:
    frame = pl.DataFrame(
        {
            "item": ["q1", "q1", "q1", None, None, "q2", None],
            "label": ["x", "x", None, "x", "y", None, None],
            "annotator": list("abcdefg"),
        }
    )
    found = counted(frame).tally
    assert found == Tally(
        {Cell(2, 2, 0): 1},
        {"x": 2},
        {"x": 2},
        {"a": 1, "b": 1},
        {"missing_label": 3, "missing_item": 2},
        {(("x", 2),): 1},
    )


@pytest.mark.parametrize(
    ("labels", "texts"), [([1, 1, 2], ["1", "1", "2"]), ([True, True, False], ["true", "true", "false"])]
)
def test_labels_of_any_type_are_counted_by_their_text(labels: list[object], texts: list[str]) -> None:
    found = counted(pl.DataFrame({"item": [1, 1, 2], "annotator": [7, 8, 9], "label": labels})).tally
    wanted = counted(pl.DataFrame({"item": ["1", "1", "2"], "annotator": ["7", "8", "9"], "label": texts})).tally
    assert found == wanted
    assert found.pairable_labels == {texts[0]: 2}


def test_annotations_without_an_annotator_count_for_nobody() -> None:
    frame = pl.DataFrame({"item": ["q"] * 4, "annotator": ["a", None, None, "b"], "label": ["x", "x", "x", "y"]})
    found = counted(frame).tally
    assert found == Tally(
        {Cell(4, 6, 6): 1}, {"x": 3, "y": 1}, {"x": 3, "y": 1}, {"a": 1, "b": 1}, {}, {(("x", 3), ("y", 1)): 1}
    )


def test_no_rows_give_an_empty_tally_and_no_column_unknown_annotators() -> None:
    assert counted(long_frame([["a"]]).clear()).tally == Tally()
    assert counted(long_frame(parse(BARS)).drop("annotator")).tally.annotators is None


def test_cautions_of_the_reader_come_first() -> None:
    said = Warning("guessed", "columns were guessed")
    found = count(annotations(long_frame([["yes", "Yes"]]), said))
    assert [warning.code for warning in found.warnings] == ["guessed", "label_variants"]
    assert found.warnings[0] is said


# Count tables -----------------------------------------------------------------------------------------


def counts(*rows_: tuple[str | None, str | None, int]) -> pl.DataFrame:
    return pl.DataFrame(rows_, schema={"item": pl.String, "label": pl.String, "count": pl.Int64}, orient="row")


def test_a_count_represents_that_many_annotations() -> None:
    found = counted(counts(("q1", "x", 3), ("q1", "y", 2), ("q2", "x", 1), ("q2", "y", 0), ("q3", "y", 0))).tally
    assert found == Tally(
        {Cell(5, 8, 6): 1, Cell(1, 0, 0): 1},
        {"x": 4, "y": 2},
        {"x": 3, "y": 2},
        None,
        {},
        {(("x", 3), ("y", 2)): 1, (("x", 1),): 1},
    )


def test_counts_of_an_item_and_label_add_up_and_those_without_one_are_left_out() -> None:
    assert counted(counts(("q1", "x", 1), ("q1", "x", 2), ("q1", "y", 1))).tally.cells == {Cell(4, 6, 6): 1}
    assert counted(counts(("q1", "x", 2), ("q1", "never", 0))).tally.labels == {"x": 2}
    found = counted(counts(("q1", "x", 2), (None, "x", 4), ("q1", None, 3), (None, "y", 1))).tally
    assert found.left_out == {"missing_label": 3, "missing_item": 5} and found.cells == {Cell(2, 2, 0): 1}


@pytest.mark.parametrize("n", [46_342, 100_000, 1_000_000, 2_000_000])
def test_an_item_with_very_many_annotations_is_counted_exactly(n: int) -> None:
    found = counted(counts(("q1", "x", n - 1), ("q1", "y", 1), ("q2", "x", 2))).tally
    assert found.cells == {Cell.of([n - 1, 1]): 1, Cell(2, 2, 0): 1}


def test_the_largest_item_is_2_000_000_annotations() -> None:
    assert counted(counts(("q1", "x", 2_000_000))).tally.cells == {Cell.of([2_000_000]): 1}
    for table in (
        counts(("q1", "x", 2_000_001)),
        counts(("q0", "x", 2), ("q1", "x", 2_000_000), ("q1", "y", 1)),
    ):
        with pytest.raises(DataError) as caught:
            counted(table)
        assert str(caught.value) == (
            "one item has 2,000,001 annotations, more than the 2,000,000 that are counted exactly; "
            "is the item column right?"
        )


@pytest.mark.parametrize("n", [3_000_000, 10**12, 2**53])
def test_an_item_far_too_large_is_refused_before_anything_overflows(n: int) -> None:
    why = "more than the 2,000,000 that are counted exactly; is the item column right?"
    with pytest.raises(DataError, match=exactly(f"one item has {2 * n:,} annotations, {why}")):
        counted(counts(("q1", "x", n), ("q1", "y", n), ("q2", "x", 2)))


# Single items --------------------------------------------------------------------------------------------


def test_agreement_of_each_item_least_first() -> None:
    found = counted(long_frame(parse("a aa aab ab aa b abc")))
    assert rows(item_agreement(found.held.counts)) == [
        ("q6", 3, 0.0),
        ("q3", 2, 0.0),
        ("q2", 3, 1 / 3),
        ("q1", 2, 1.0),
        ("q4", 2, 1.0),
        ("q0", 1, None),
        ("q5", 1, None),
    ]
    assert item_agreement(found.held.counts).collect_schema().names() == ["item", "annotations", "agreement"]


def test_sums_of_each_item() -> None:
    found = counted(long_frame(parse("aab cc b")))
    wanted = [("q0", 3, 2, 0, "a"), ("q1", 2, 2, 0, "c"), ("q2", 1, 0, 0, "b")]
    assert sorted(rows(item_sums(found.held.counts))) == wanted
    assert item_sums(found.held.counts).collect_schema().names() == ["item", "n", "pairs", "triples", "label"]


def test_ready_counts_become_the_same_tally() -> None:
    found = counted(long_frame(parse(BARS)))
    again = tally_counts(found.held.counts, found.tally.annotators, {"repeated": 2})
    assert (again.cells, again.labels, again.pairable_labels, again.annotators) == (
        found.tally.cells,
        found.tally.labels,
        found.tally.pairable_labels,
        found.tally.annotators,
    )
    assert again.left_out == {"repeated": 2}


@pytest.mark.parametrize("keeps_patterns", [True, False])
def test_a_tally_without_some_labels_equals_one_of_the_other_rows(keeps_patterns: bool) -> None:
    frame = long_frame(parse("aab abc cc c bbbc"))
    found = counted(frame)
    if not keeps_patterns:
        found = replace(found, tally=replace(found.tally, patterns=None))
    for labels in (["c"], ["a", "c"], ["a", "b", "c"]):
        left, wanted = found.without(labels), counted(frame.filter(~pl.col("label").is_in(labels))).tally
        assert (left.cells, left.labels, left.pairable_labels) == (wanted.cells, wanted.labels, wanted.pairable_labels)


@pytest.mark.parametrize("rows", [2, 200_000])
def test_a_header_inside_the_data_is_named(rows: int, tmp_path: Path) -> None:
    lines = [f"{n},{who},yes" for n in range(rows // 2) for who in ("ann", "bob")]
    path = tmp_path / "joined.csv"
    path.write_text("\n".join(["item,annotator,label", *lines, "item,annotator,label", ""]), encoding="utf-8")
    told = {each.code: each.message for each in count(read(path)).warnings}
    assert told["header_again"] == (
        "the label 'label' and the annotator 'annotator' are the names of their columns: a header inside the data was "
        "counted as an annotation; delete it (files that were joined each bring one)"
    )


def test_a_label_called_like_its_column_is_a_label(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("item,annotator,label\n1,ann,label\n1,bob,none\n", encoding="utf-8")
    assert "header_again" not in {each.code for each in count(read(path)).warnings}


def stages(count_them: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the work said it was doing, in order."""
    found: list[str] = []
    monkeypatch.setattr(progress, "stage", found.append)
    count_them()
    return found


def test_the_stages_of_counting_are_announced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    frame = long_frame(parse("aab ab"))
    announced = ["counting labels", "looking for repeats", "counting annotators", "counting items"]
    assert stages(lambda: counted(frame), monkeypatch) == announced
    (tmp_path / "votes.csv").write_text(frame.write_csv())
    assert stages(lambda: count(read(tmp_path / "votes.csv")), monkeypatch) == ["reading", "fetching annotations"]


Votes = list[tuple[str, str]]


def frame(rows: Votes) -> nw.LazyFrame[Any]:
    return nw.from_native(pl.DataFrame(rows, schema=["item", "label"], orient="row").lazy())


def expected(rows: Votes) -> dict[Any, int]:
    items: dict[str, Counter[str]] = {}
    for item, label in rows:
        items.setdefault(item, Counter())[label] += 1
    return dict(Counter(tuple(sorted(counts.items())) for counts in items.values()))


def found(rows: Votes) -> dict[Any, int] | None:
    return find_patterns(frame(rows), Counter(label for _, label in rows))[0]


@given(
    st.lists(st.tuples(st.sampled_from("pqrs"), st.sampled_from([f"l{n}" for n in range(23)])), min_size=1, max_size=60)
)
def test_patterns_equal_counting_by_hand(rows: Votes) -> None:
    assert found(rows) == expected(rows)


@pytest.mark.parametrize("classes", [1, 2, 3, 10, 11, 20, 21, 31, 40])
def test_any_number_of_classes_is_packed_without_coming_home(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_counts_in_python", lambda *_: pytest.fail("not packed"))
    rows = [(f"i{n % 7}", f"c{n % classes:02}") for n in range(3 * classes + 7)]
    assert found(rows) == expected(rows)


@pytest.mark.parametrize("times", [63, 64, 65, 127, 128, 4_000])
def test_a_counter_that_overflows_its_bits_is_noticed(times: int) -> None:
    """Ten classes leave six bits each: 64 annotations of one class carry into the next."""
    rows = [("q", f"c{n}") for n in range(10)] + [("q", "c3")] * times + [("r", "c9")] * times
    assert found(rows) == expected(rows)


def test_more_than_forty_classes_are_counted_at_home() -> None:
    rows = [(f"i{n % 5}", f"c{n}") for n in range(41)]
    assert found(rows) == expected(rows)


def test_too_many_patterns_are_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(f"i{n}", f"c{n % 3}") for n in range(9)]
    monkeypatch.setattr(counting, "MOST_PATTERNS", 2)
    assert found(rows) is None
    many = [(f"i{n % 5}", f"c{n}") for n in range(41)]
    assert found(many) is None
    monkeypatch.setattr(counting, "MOST_ROWS_FETCHED", 40)
    monkeypatch.setattr(counting, "MOST_PATTERNS", 1000)
    assert found(many) is None
    counts = frame(many).with_columns(nw.lit(2).alias("count"))
    assert find_patterns(counts, {f"c{n}": 2 for n in range(41)})[0] is None
    tally = count(Annotations(frame(many), Understood("test", "long"))).tally
    assert tally.patterns is None and tally.annotations == 41 and tally.cells == {Cell(9, 0, 0): 1, Cell(8, 0, 0): 4}


def test_count_tables_are_packed_where_they_fit_and_otherwise_counted_at_home() -> None:
    for size in (5, 2**31, 2**31 + 1):
        table = pl.DataFrame({"item": ["q", "q", "r"], "label": ["x", "y", "x"], "count": [size, 1, 0]})
        assert find_patterns(nw.from_native(table.lazy()), {"x": size, "y": 1})[0] == {(("x", size), ("y", 1)): 1}


def test_tallies_carry_their_patterns_through_merging_and_changes() -> None:
    one, two = tally_of(parse("ab aab a")), tally_of(parse("ab bb"))
    assert (one + two).patterns == tally_of(parse("ab aab a ab bb")).patterns
    assert (Tally() + one).patterns == one.patterns and (one + Tally({Cell(2, 2, 0): 1})).patterns is None
    assert Tally.from_patterns(one.patterns or {}) == one
    live = LiveTally()
    for n, label in enumerate("aab"):
        live.add("q", n, label)
    live.add("r", 0, "b")
    live.change("q", 0, "b")
    live.remove("r", 0)
    assert live.tally().patterns == {(("a", 1), ("b", 2)): 1}
    assert Tally.from_patterns(live.tally().patterns or {}).cells == live.tally().cells


@pytest.mark.parametrize(("cause", "is_repeated"), [("[ARITHMETIC_OVERFLOW] long overflow", True), ("no disk", False)])
def test_only_an_overflow_is_tried_again_with_more_room(
    cause: str, is_repeated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Spark does, which refuses sums beyond 64 bits."""
    rows = [("q", f"c{n}") for n in range(10)] * 2
    real, tried = counting.rows, []

    def narrow_fails(query: Any) -> Any:
        tried.append(query)
        if len(tried) == 1:
            raise FileError("could not finish counting") from RuntimeError(cause)
        return real(query)

    monkeypatch.setattr(counting, "rows", narrow_fails)
    if is_repeated:
        assert found(rows) == expected(rows) and len(tried) == 2
    else:
        with pytest.raises(FileError, match=exactly("could not finish counting")):
            found(rows)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fetch few annotations with names and times, too."""
    monkeypatch.setattr(fetching, "FEW", 0)


def on_engine(path: Path, **options: Any) -> spagree.Agreement:
    """Measured where the file is, whatever its size."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FEW", "MOST_TO_FETCH", "MOST"):
            patch.setattr(fetching, name, 0)
        found = spagree.measure(path, **options)
    assert codes_of(found) is None
    return found


def codes_of(agreement: spagree.Agreement) -> Codes | None:
    assert agreement.evidence.items is not None
    return agreement.evidence.items.codes


def has_names(codes: Codes | None) -> bool:
    return codes is not None and codes.item_names is not None


def crowd(kind: type[pl.DataType] = pl.String) -> pl.DataFrame:
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
        patch.setattr("spagree.counts.items.BITS", bits)
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
    pl.concat([crowd(kind), lost.with_columns(pl.col("label").cast(kind))]).write_parquet(path)
    once, twice = measured(path, {}, in_full=True), on_engine(path)
    assert has_names(codes_of(once))
    assert once.evidence.tally == twice.evidence.tally
    assert dict(once.evidence.tally.left_out) == {"missing_label": 1, "missing_item": 1}
    assert once.to_json() == twice.to_json()
    assert once.report(tmp_path / "a.html").read_text() == twice.report(tmp_path / "b.html").read_text()
    crowd().filter(pl.col("annotator").is_not_null()).write_parquet(path)
    for_others = spagree.measure(path, interval_for="annotators")  # looks at each annotation
    assert has_names(codes_of(for_others))
    assert for_others.to_json() == on_engine(path, interval_for="annotators").to_json()


@pytest.mark.parametrize("kind", [pl.String, pl.Int64])
def test_a_score_of_few_annotations_fetches_them_once(tmp_path: Path, kind: type[pl.DataType]) -> None:
    """With names and times, which breakdowns use later."""
    path = tmp_path / "labels.parquet"
    crowd(kind).write_parquet(path)
    once, twice = spagree.measure(path), on_engine(path)
    assert has_names(codes_of(once)) and once.evidence.codes is codes_of(once)
    assert once.to_json() == twice.to_json() and str(once) == str(twice)
    assert once.items().equals(twice.items()) and once.development().equals(twice.development())
    assert once.annotators().equals(twice.annotators())


def test_items_beyond_the_precision_of_floats_stay_apart() -> None:
    """Sums in duckdb have 128 bits, and its arrays hold them as floats."""
    numbers = (
        "SELECT 9007199254740992::HUGEINT + i // 3 AS item, 'w' || i AS annotator, 'x' AS label FROM range(30) t(i)"
    )
    assert spagree.measure(duckdb.sql(numbers)).findings.data.items == 10


def counted_in_full(path: Path, **options: Any) -> Codes | None:
    return codes_of(measured(path, options, in_full=True))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "options",
    [{"first": 2}, {"normalize": True}, {"by": "language"}, {"cluster": "language"}, {"engine": "polars"}],
    ids=str,
)
def test_what_changes_the_annotations_is_counted_by_the_engine(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "labels.parquet"
    crowd().with_columns(language=pl.col("item").str.head(2)).write_parquet(path)
    assert counted_in_full(path) is not None
    assert counted_in_full(path, **options) is None
    assert codes_of(spagree.measure(path, **options)) is None
    assert measured(path, options, in_full=True).to_json() == spagree.measure(path, **options).to_json()


@pytest.mark.usefixtures("small")
def test_repeats_and_floats_are_counted_by_the_engine(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    crowd(pl.Float64).write_parquet(path)
    assert counted_in_full(path) is None
    plain = crowd()
    known = plain.filter(pl.col("annotator").is_not_null())
    pl.concat([plain, known.head(1)]).write_parquet(path)
    assert counted_in_full(path) is None
    assert measured(path, {}, in_full=True).to_json() == spagree.measure(path).to_json()
    pl.concat([plain, known.head(1).with_columns(label=pl.lit("99"))]).write_parquet(path)
    with pytest.raises(spagree.DuplicateError, match="once an annotator gave one item different labels"):
        measured(path, {}, in_full=True)


def test_very_many_are_counted_by_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "labels.parquet"
    crowd().write_parquet(path)
    monkeypatch.setattr(fetching, "FEW", 599)
    assert has_names(counted_in_full(path)) and has_names(codes_of(spagree.measure(path)))
    monkeypatch.setattr(fetching, "MOST_TO_FETCH", 599)
    assert codes_of(spagree.measure(path)) is None
    monkeypatch.setattr(fetching, "MOST", 599)
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
