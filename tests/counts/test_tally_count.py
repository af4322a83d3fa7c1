"""Annotations → tally: what is counted, what is left out, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import narwhals as nw
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from oracle import BARS, annotations, counted, exactly, long_frame, no_zeros, parse, tally_of
from spagree import progress
from spagree.counts.count import count, item_agreement, item_sums, tally_counts
from spagree.counts.engines import rows
from spagree.counts.tally import Cell, Tally
from spagree.errors import DataError
from spagree.read import read
from spagree.read.annotations import Annotations
from spagree.understood import Caution, Understood

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


def test_nothing_left_out_is_not_mentioned() -> None:
    assert counted(long_frame(parse("ab"))).tally.left_out == {}
    frame = pl.DataFrame({"item": ["q", None], "label": ["x", "y"]})
    assert counted(frame).tally.left_out == {"missing_item": 1}
    frame = pl.DataFrame({"item": ["q", "q"], "label": ["x", None]})
    assert counted(frame).tally.left_out == {"missing_label": 1}


def test_the_empty_text_and_na_are_labels_like_any_other() -> None:
    frame = pl.DataFrame({"item": ["q"] * 5, "label": ["", "NA", "null", "None", ""]})
    assert counted(frame).tally.labels == {"": 2, "NA": 1, "None": 1, "null": 1}
    assert counted(frame).tally.cells == {Cell(5, 2, 0): 1}


@pytest.mark.parametrize(
    ("labels", "texts"), [([1, 1, 2], ["1", "1", "2"]), ([True, True, False], ["true", "true", "false"])]
)
def test_labels_of_any_type_are_counted_by_their_text(labels: list[object], texts: list[str]) -> None:
    found = counted(pl.DataFrame({"item": [1, 1, 2], "annotator": [7, 8, 9], "label": labels})).tally
    wanted = counted(pl.DataFrame({"item": ["1", "1", "2"], "annotator": ["7", "8", "9"], "label": texts})).tally
    assert found == wanted
    assert found.pairable_labels == {texts[0]: 2}


def test_without_an_annotator_column_annotators_are_unknown() -> None:
    assert counted(long_frame(parse(BARS)).drop("annotator")).tally.annotators is None


def test_annotations_without_an_annotator_count_for_nobody() -> None:
    frame = pl.DataFrame({"item": ["q"] * 4, "annotator": ["a", None, None, "b"], "label": ["x", "x", "x", "y"]})
    found = counted(frame).tally
    assert found == Tally(
        {Cell(4, 6, 6): 1}, {"x": 3, "y": 1}, {"x": 3, "y": 1}, {"a": 1, "b": 1}, {}, {(("x", 3), ("y", 1)): 1}
    )


def test_no_rows_give_an_empty_tally() -> None:
    assert counted(long_frame([["a"]]).clear()).tally == Tally()


def test_cautions_of_the_reader_come_first() -> None:
    said = Caution("guessed", "columns were guessed")
    found = count(annotations(long_frame([["yes", "Yes"]]), said))
    assert [caution.code for caution in found.cautions] == ["guessed", "label_variants"]
    assert found.cautions[0] is said


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


def test_counts_of_the_same_item_and_label_add_up() -> None:
    found = counted(counts(("q1", "x", 1), ("q1", "x", 2), ("q1", "y", 1))).tally
    assert found.cells == {Cell(4, 6, 6): 1}


def test_a_class_that_nobody_chose_is_no_class() -> None:
    assert counted(counts(("q1", "x", 2), ("q1", "never", 0))).tally.labels == {"x": 2}


def test_counts_without_item_or_label_are_left_out_in_full() -> None:
    found = counted(counts(("q1", "x", 2), (None, "x", 4), ("q1", None, 3), (None, "y", 1))).tally
    assert found.left_out == {"missing_label": 3, "missing_item": 5}
    assert found.cells == {Cell(2, 2, 0): 1}


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


def test_item_counts_are_lazy_rows_of_item_label_and_count() -> None:
    found = counted(long_frame(parse("aab cc")))
    assert sorted(rows(found.held.counts)) == [("q0", "a", 2), ("q0", "b", 1), ("q1", "c", 2)]


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


def test_item_agreement_is_least_first_then_by_item_and_null_without_a_pair() -> None:
    rows = [("d", "x"), ("c", "x"), ("c", "y"), ("b", "x"), ("b", "y"), ("a", "x"), ("a", "x"), ("e", "y")]
    frame = pl.DataFrame(rows, schema=["item", "label"], orient="row")
    counts = count(Annotations(nw.from_native(frame.lazy()), Understood("test", "long"))).held.counts
    assert item_agreement(counts).collect().rows() == [
        ("b", 2, 0.0),
        ("c", 2, 0.0),
        ("a", 2, 1.0),
        ("d", 1, None),
        ("e", 1, None),
    ]


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
    told = {each.code: each.message for each in count(read(path)).cautions}
    assert told["header_again"] == (
        "the label 'label' and the annotator 'annotator' are the names of their columns: a header inside the data was "
        "counted as an annotation; delete it (files that were joined each bring one)"
    )


def test_a_label_called_like_its_column_is_a_label(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("item,annotator,label\n1,ann,label\n1,bob,none\n", encoding="utf-8")
    assert "header_again" not in {each.code for each in count(read(path)).cautions}


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
