"""What counts as an annotation: each policy explicit, and what it leaves out counted."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import narwhals as nw
import polars as pl
import pytest

import spagree
from oracle import counted, exactly, long_frame
from spagree.counts import engines
from spagree.counts.count import Counted, count
from spagree.counts.engines import to_polars
from spagree.counts.labels import normal_form, spelling_variants, warn_variants
from spagree.counts.policies import LEFT_OUT, Policies
from spagree.counts.tally import Cell, Tally
from spagree.errors import DataError, DuplicateError, UsageError, Warning
from spagree.options import DuplicatePolicy
from spagree.read.annotations import Annotations, Understood

SCHEMA = ["item", "annotator", "label", "row", "time"]


def votes(*rows: tuple[Any, ...], columns: list[str] | None = None) -> pl.DataFrame:
    """(item, annotator, label[, time]); rows are numbered from 1."""
    numbered = [(*row[:3], number, row[3] if len(row) > 3 else None) for number, row in enumerate(rows, 1)]
    frame = pl.DataFrame(numbered, schema=SCHEMA, orient="row", infer_schema_length=None)
    return frame[columns or ["item", "annotator", "label", "row", *(["time"] if len(rows[0]) > 3 else [])]]


def messages(frame: pl.DataFrame, policies: Policies | None = None) -> dict[str, str]:
    return {warning.code: warning.message for warning in counted(frame, policies).warnings}


# Which policies there are -----------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["lst", "FIRST", "", None, "fir"])
def test_an_unknown_duplicate_policy_is_refused(policy: Any) -> None:
    with pytest.raises(UsageError, match=r"^unknown duplicate policy '.*'; .*[Kk]nown: error, first, last, set, keep$"):
        Policies(duplicates=policy)


@pytest.mark.parametrize("first", [1, 0, -2, 2.0, "2", True])
def test_fewer_than_two_first_annotations_are_refused(first: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Policies(first=first)
    assert str(caught.value) == f"first {first!r}: agreement needs at least the first 2 annotations of an item"


def test_reasons_for_leaving_out_have_words() -> None:
    assert {"missing_label", "missing_item", "repeated", "skipped", "cancelled", "ground_truth"} <= set(LEFT_OUT)
    assert all(LEFT_OUT.values()) and len(set(LEFT_OUT.values())) == len(LEFT_OUT)


# Repeats ----------------------------------------------------------------------------------------------

REPEATED = votes(("q1", "ann", "x"), ("q1", "ann", "x"), ("q1", "bob", "y"), ("q1", "ann", "x"), ("q2", "ann", "x"))


@pytest.mark.parametrize("policy", ["error", "first", "last"])
def test_the_same_label_again_is_counted_once_with_a_warning(policy: Any) -> None:
    found = counted(REPEATED, Policies(duplicates=policy))
    assert found.tally == Tally(
        {Cell(2, 0, 0): 1, Cell(1, 0, 0): 1},
        {"x": 2, "y": 1},
        {"x": 1, "y": 1},
        {"ann": 2, "bob": 1},
        {"repeated": 2},
        {(("x", 1), ("y", 1)): 1, (("x", 1),): 1},
    )
    assert [(warning.code, warning.message) for warning in found.warnings] == [
        ("repeats", "2 annotations repeat the label their annotator had given the item before; counted once.")
    ]


def test_one_repeat_is_reported_in_the_singular() -> None:
    same = votes(("q1", "ann", "x"), ("q1", "bob", "y"), ("q1", "ann", "x"))
    assert [warning.message for warning in counted(same).warnings] == [
        "1 annotation repeats the label its annotator had given the item before; counted once."
    ]
    other = votes(("q1", "ann", "x"), ("q1", "bob", "y"), ("q1", "ann", "z"))
    assert [warning.message for warning in counted(other, Policies(duplicates="last")).warnings] == [
        "1 annotation repeats an item by the same annotator (1 with another label); the last one was kept."
    ]


def test_without_repeats_or_annotators_there_is_no_warning() -> None:
    frame = votes(("q1", "ann", "x"), ("q1", "bob", "x"), ("q2", "ann", "x"), ("q2", "bob", "y"))
    for policy in ("error", "first", "last"):
        found = counted(frame, Policies(duplicates=policy))
        assert found.warnings == () and found.tally.left_out == {}
    found = counted(REPEATED.drop("annotator"))
    assert found.tally.annotations == 5 and found.warnings == ()


def test_annotations_without_an_annotator_are_never_repeats() -> None:
    frame = votes(("q1", None, "x"), ("q1", None, "x"), ("q1", None, "y"), ("q1", "ann", "x"), ("q1", "ann", "x"))
    for policy in ("error", "first", "last"):
        found = counted(frame, Policies(duplicates=policy)).tally
        assert found == Tally(
            {Cell(4, 6, 6): 1},
            {"x": 3, "y": 1},
            {"x": 3, "y": 1},
            {"ann": 1},
            {"repeated": 1},
            {(("x", 3), ("y", 1)): 1},
        )


CONFLICT = votes(
    ("q1", "ann", "x"),
    ("q1", "bob", "x"),
    ("q1", "ann", "y"),
    ("q2", "ann", "x"),
    ("q1", "ann", "y"),
    ("q2", "bob", "x"),
)


def test_different_labels_are_refused_with_source_rows_and_labels() -> None:
    with pytest.raises(DuplicateError) as caught:
        counted(CONFLICT)
    assert str(caught.value) == (
        'once an annotator gave one item different labels; choose one with duplicates="first" or '
        'duplicates="last" (set combines them, keep counts each), or check that item, annotator and label are the '
        "right columns\n"
        "  votes.csv:3: annotator 'ann' labelled item 'q1' 'x' (row 1) and 'y' (row 3)"
    )
    assert caught.value.total == 1


def test_the_first_three_conflicts_are_shown_and_all_are_counted() -> None:
    # the second labels stand far below the first ones, as in two files put together
    first = [(f"q{i:03}", "ann", "x") for i in range(200)]
    second = [(f"q{i:03}", "ann", "y") for i in range(199, 49, -1)]
    for frame in (votes(*first, *second), votes(*first, *second).drop("row")):
        with pytest.raises(DuplicateError) as caught:
            counted(frame)
        lines = str(caught.value).splitlines()
        assert lines[0].startswith("150 times an annotator gave one item different labels;")
        assert len(lines) == 5
        assert lines[-1] == "  … and 147 more"
        assert caught.value.total == 150
        assert len(caught.value.problems) == 3
        shown = [problem.split("labelled item ")[1][:6] for problem in caught.value.problems]
        assert shown == [f"'q{i:03}'" for i in range(50, 53)]
    with pytest.raises(DuplicateError) as caught:
        counted(votes(*first, *second))
    assert caught.value.problems[0] == (
        "votes.csv:350: annotator 'ann' labelled item 'q050' 'x' (row 51) and 'y' (row 350)"
    )


MANY = [("q1", "ann", f"{i}") for i in range(1, 8)]
TWO_PEOPLE = [("q1", "ann", "x"), ("q1", "bob", "x"), ("q2", "bob", "x"), ("q1", "ann", "y"), ("q2", "bob", "z")]


@pytest.mark.parametrize(
    ("frame", "problems"),
    [
        (CONFLICT.drop("row"), ["annotator 'ann' labelled item 'q1' 'x' and 'y'"]),
        (
            votes(*TWO_PEOPLE, ("q2", "ann", "x")),
            [
                "votes.csv:4: annotator 'ann' labelled item 'q1' 'x' (row 1) and 'y' (row 4)",
                "votes.csv:5: annotator 'bob' labelled item 'q2' 'x' (row 3) and 'z' (row 5)",
            ],
        ),
        (
            votes(("q2", "ann", "x"), ("q1", "ann", "y"), ("q2", "ann", "y"), ("q1", "ann", "x")),
            [
                "votes.csv:3: annotator 'ann' labelled item 'q2' 'x' (row 1) and 'y' (row 3)",
                "votes.csv:4: annotator 'ann' labelled item 'q1' 'y' (row 2) and 'x' (row 4)",
            ],
        ),
        (
            votes(*MANY).drop("row"),
            ["annotator 'ann' labelled item 'q1' '1' and '2' and '3' and '4' and 3 more labels"],
        ),
        (votes(*MANY[:4]).drop("row"), ["annotator 'ann' labelled item 'q1' '1' and '2' and '3' and '4'"]),
        (
            pl.DataFrame({"item": [7, 7], "annotator": [1, 1], "label": [True, False]}),
            ["annotator '1' labelled item '7' 'false' and 'true'"],
        ),
    ],
    ids=["no rows", "only who contradicts", "in the order of the file", "very many labels", "four labels", "numbers"],
)
def test_conflicts_are_named_with_their_rows(frame: pl.DataFrame, problems: list[str]) -> None:
    with pytest.raises(DuplicateError) as caught:
        counted(frame)
    assert [*caught.value.problems] == problems and caught.value.total == len(problems)


@pytest.mark.parametrize(("policy", "label"), [("first", "x"), ("last", "y")])
def test_conflicts_are_settled_by_row_where_there_is_no_time(policy: Any, label: str) -> None:
    frame = votes(("q1", "ann", "x"), ("q1", "ann", "z"), ("q1", "ann", "y"), ("q1", "bob", "x"), ("q1", "ann", "y"))
    if policy == "first":
        frame = frame.reverse()  # the numbers count, not the position
    found = counted(frame, Policies(duplicates=policy))
    assert found.tally.labels == {label: 2} if label == "x" else {"x": 1, "y": 1}
    assert found.tally.left_out == {"repeated": 3}
    assert found.warnings[0].message == (
        f"3 annotations repeat an item by the same annotator (2 with another label); the {policy} one was kept."
    )


@pytest.mark.parametrize(
    ("policy", "times", "label"),
    [("first", (30, 20, 10), "y"), ("last", (30, 20, 10), "x"), ("first", (5, 5, 5), "x"), ("last", (5, 5, 5), "y")],
)
def test_time_comes_before_row_which_breaks_ties(policy: Any, times: tuple[int, ...], label: str) -> None:
    frame = votes(*[("q1", "ann", said, time) for said, time in zip("xzy", times, strict=True)])
    assert counted(frame.reverse(), Policies(duplicates=policy)).tally.labels == {label: 1}


@pytest.mark.parametrize("policy", ["first", "last"])
def test_without_any_order_first_and_last_are_refused(policy: Any) -> None:
    with pytest.raises(UsageError) as caught:
        counted(CONFLICT.drop("row"), Policies(duplicates=policy))
    assert str(caught.value) == (
        f'duplicates="{policy}" needs an order, and this source has none: name a time column (time=)'
    )


def test_conflicts_on_rows_without_a_label_do_not_count() -> None:
    frame = votes(("q1", "ann", "x"), ("q1", "ann", None), (None, "ann", "y"))
    assert counted(frame).tally.left_out == {"missing_label": 1, "missing_item": 1}


# The first k in time ------------------------------------------------------------------------------------

TIMED = votes(
    ("q1", "ann", "x", 4),
    ("q1", "bob", "x", 3),
    ("q1", "cyd", "y", 2),
    ("q1", "dan", "y", 1),
    ("q2", "ann", "x", 1),
    ("q3", "ann", "x", 1),
    ("q3", "bob", "y", 2),
)


@pytest.mark.parametrize(("k", "first", "late"), [(2, Cell(2, 2, 0), 2), (3, Cell(3, 2, 0), 1), (4, Cell(4, 4, 0), 0)])
def test_only_the_first_k_annotations_of_each_item_are_kept(k: int, first: Cell, late: int) -> None:
    found = counted(TIMED, Policies(first=k))
    assert found.tally.cells == {first: 1, Cell(1, 0, 0): 1, Cell(2, 0, 0): 1}
    assert found.tally.left_out == ({f"after_first_{k}": late} if late else {})
    assert found.warnings == ()
    if k == 2:
        assert found.tally.labels == {"x": 2, "y": 3}
        assert found.tally.annotators == {"ann": 2, "bob": 1, "cyd": 1, "dan": 1}


def test_first_k_works_on_dates() -> None:
    start = datetime(2024, 1, 1)  # noqa: DTZ001
    dated = TIMED.with_columns(time=pl.Series([start + timedelta(hours=t) for t in TIMED["time"]]))
    assert counted(dated, Policies(first=2)).tally == counted(TIMED, Policies(first=2)).tally


TIED = votes(("q1", "cyd", "x", 1), ("q1", "bob", "y", 1), ("q1", "ann", "y", 1))


def test_ties_are_broken_by_row_else_by_annotator_and_label() -> None:
    assert counted(TIED.reverse(), Policies(first=2)).tally.annotators == {"cyd": 1, "bob": 1}
    assert counted(TIED.drop("row"), Policies(first=2)).tally.annotators == {"ann": 1, "bob": 1}
    assert counted(TIED.drop("row", "annotator"), Policies(first=2)).tally.labels == {"x": 1, "y": 1}


def test_repeats_are_settled_before_the_first_k_are_taken() -> None:
    frame = votes(("q1", "ann", "x", 1), ("q1", "ann", "x", 2), ("q1", "bob", "y", 3), ("q1", "cyd", "y", 4))
    found = counted(frame, Policies(duplicates="first", first=2)).tally
    assert found.labels == {"x": 1, "y": 1}
    assert found.left_out == {"repeated": 1, "after_first_2": 1}


def test_rows_without_a_label_do_not_take_a_place() -> None:
    frame = votes(("q1", "ann", None, 1), ("q1", "bob", "x", 2), ("q1", "cyd", "x", 3))
    assert counted(frame, Policies(first=2)).tally.cells == {Cell(2, 2, 0): 1}


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (TIMED.drop("time"), "first=2 needs the time of each annotation; name its column with time="),
        (TIMED.to_arrow(), "first=2: pyarrow cannot number rows within an item; use polars or duckdb"),
    ],
)
def test_first_k_needs_a_time_and_an_engine_that_numbers_rows(frame: Any, why: str) -> None:
    with pytest.raises(UsageError, match=exactly(why)):
        counted(frame, Policies(first=2))


# Spelling ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "normal"),
    [
        ("  Yes ", "yes"),
        ("a \t b\n c", "a b c"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("Cafe\u0301", "café"),
        ("ﬁne", "fine"),
        ("", ""),
        ("  ", ""),
    ],
)
def test_normal_form_of_a_label(label: str, normal: str) -> None:
    assert normal_form(label) == normal


@pytest.mark.parametrize(
    ("labels", "groups"),
    [
        (["yes", "no"], []),
        (["yes", "Yes ", "no"], [["Yes ", "yes"]]),
        (["1", "1.0", "01", " 1", "2"], [[" 1", "01", "1", "1.0"]]),
        (["-1", "-1.0", "+1", ".5", "0.5"], [["-1", "-1.0"], [".5", "0.5"]]),
        (["1e2", "100"], []),
        (["12345678901234567890", "12345678901234567891"], []),
        (["", " "], [["", " "]]),
        (["1a", "1A", "1 a"], [["1A", "1a"]]),
        (["nan", "inf", "infinity", "NaN"], [["NaN", "nan"]]),
        ([1, 2, True], []),
        (["", "0", "a"], []),
    ],
)
def test_labels_that_differ_only_in_spelling_are_found(labels: list[Any], groups: list[list[str]]) -> None:
    assert spelling_variants(labels) == groups


def test_variants_stay_separate_with_a_warning() -> None:
    found = counted(long_frame([["yes", "Yes"], ["no", "no"]]))
    assert found.tally.labels == {"no": 2, "Yes": 1, "yes": 1}
    assert [(warning.code, warning.message) for warning in found.warnings] == [
        (
            "label_variants",
            "labels that differ only in spelling are counted as different labels: 'Yes' / 'yes'. "
            "If they mean the same, use normalize=True, or clean them first.",
        )
    ]


def test_at_most_three_groups_of_four_variants_are_shown() -> None:
    three = ["a", "A", "b", "B", "c", "C", "c ", " c", "  c"]
    shown = "'  c' / ' c' / 'C' / 'c'; 'A' / 'a'; 'B' / 'b'"
    assert f": {shown}. If they" in warn_variants(three)[0].message
    assert f": {shown} and 2 more. If they" in warn_variants([*three, "d", "D", "e", "E"])[0].message


def test_normalize_merges_variants_and_ends_the_caution() -> None:
    found = counted(long_frame([["yes", " YES", "no"], ["No", "no"], ["maybe", "maybe"]]), Policies(normalize=True))
    assert found.tally.labels == {"no": 3, "maybe": 2, "yes": 2}
    assert found.tally.cells == {Cell(3, 2, 0): 1, Cell(2, 2, 0): 2}
    assert found.warnings == ()


def test_normalize_leaves_numbers_clean_and_missing_labels_alone_and_comes_before_repeats() -> None:
    for frame in (long_frame([["yes", "no"]]), pl.DataFrame({"item": ["q", "q"], "label": [1, 2]})):
        assert counted(frame, Policies(normalize=True)).tally == counted(frame).tally
    assert counted(long_frame([["1", "1.0", "01"]]), Policies(normalize=True)).tally.labels == {"1": 3}
    missing = pl.DataFrame({"item": ["q", "q", "q"], "label": ["Yes", "yes", None]})
    assert counted(missing, Policies(normalize=True)).tally == Tally(
        {Cell(2, 2, 0): 1}, {"yes": 2}, {"yes": 2}, None, {"missing_label": 1}, {(("yes", 2),): 1}
    )
    again = votes(("q1", "ann", "yes"), ("q1", "ann", "YES"), ("q1", "bob", "no"))
    assert counted(again, Policies(normalize=True)).tally.left_out == {"repeated": 1}
    with pytest.raises(DuplicateError):
        counted(again)


def test_pandas_refuses_more_than_a_thousand_respelled_labels() -> None:
    frame = long_frame([[f"A{i}" for i in range(1_001)] + ["clean"]]).to_pandas()
    with pytest.raises(UsageError, match=exactly("1,001 texts would change, too many for pandas; clean them first")):
        counted(frame, Policies(normalize=True))


@pytest.mark.slow
def test_a_thousand_respelled_labels_are_done() -> None:
    found = counted(long_frame([[f"A{i}" for i in range(1_000)] + ["a0"]]), Policies(normalize=True)).tally
    assert found.labels["a0"] == 2
    assert len(found.labels) == 1_000


@pytest.mark.parametrize("policies", [Policies(first=2), Policies(duplicates="last"), Policies(duplicates="first")])
def test_an_annotation_without_a_time_has_no_place_in_the_order(policies: Policies) -> None:
    frame = pl.DataFrame(
        {"item": ["q"] * 4, "annotator": ["a", "a", "b", "c"], "label": ["x", "y", "x", "x"], "time": [1, 2, None, 3]}
    )
    if policies.first:
        frame = frame.filter(pl.col("label") == "x")
    annotations = Annotations(nw.from_native(frame.lazy()), Understood("test", "long"))
    purpose = "first=2" if policies.first else f'duplicates="{policies.duplicates}"'
    with pytest.raises(
        DataError, match=exactly(f"{purpose}: 1 of these annotations has no time; fill it in, or leave them out")
    ):
        count(annotations, policies)
    known = Annotations(nw.from_native(frame.drop_nulls().lazy()), Understood("test", "long"))
    assert count(known, policies).tally.annotations == 2


def test_of_repeats_with_the_same_label_the_first_in_time_stays() -> None:
    frame = votes(("q1", "a", "x", 5), ("q1", "a", "x", 3), ("q1", "a", "x", 9), ("q1", "b", "y", 1))
    found = counted(frame).held.annotations
    assert found is not None
    assert sorted(found.collect().select("annotator", "time").rows()) == [("a", 3), ("b", 1)]


# Labels given again, joined or kept ---------------------------------------------------------------------

AGAIN = [
    ("q1", "ann", "y", "2026-01-02"),
    ("q1", "ann", "x", "2026-01-01"),
    ("q1", "ann", "y", "2026-01-03"),
    ("q1", "bob", "x", "2026-01-01"),
    ("q2", "ann", "z", "2026-01-05"),
    ("q2", None, "z", "2026-01-04"),
    ("q2", None, "y", "2026-01-06"),
]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_labels_given_again_become_a_set(engine: str) -> None:
    found = count(on(engine, votes(*AGAIN)), Policies(duplicates="set"))
    assert found.tally.labels == {"z": 2, "x|y": 1, "x": 1, "y": 1}
    assert found.tally.annotators == {"ann": 2, "bob": 1} and found.tally.left_out == {"repeated": 2}
    again = "2 annotations repeat an item by the same annotator (1 with another label)"
    credit = 'To give credit for shared options: metric="jaccard", separator="|"; to ignore their order: separator="|"'
    assert found.warnings == (
        Warning("repeats", f"{again}; their labels were joined into one set."),
        Warning("label_sets", f"labels look like sets of options (such as 'x|y'), and are compared whole. {credit}"),
    )
    rows = kept(found, "item", "annotator", "label", "row", "time")
    assert ("q1", "ann", "x|y", 1, "2026-01-01") in rows and ("q1", "bob", "x", 4, "2026-01-01") in rows
    assert len(rows) == 5


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize(
    ("columns", "named"),
    [
        (["item", "annotator", "label", "row", "time"], 2),  # by time
        (["item", "annotator", "label", "row"], 1),  # by row
        (["item", "annotator", "label"], 2),  # by label
    ],
)
def test_all_labels_count_and_only_the_first_is_named(engine: str, columns: list[str], named: int) -> None:
    found = count(on(engine, votes(*AGAIN, columns=columns)), Policies(duplicates="keep"))
    assert found.tally.cells == {Cell(4, 4, 0): 1, Cell(3, 2, 0): 1}
    assert found.tally.annotators == {"ann": 2, "bob": 1} and found.tally.left_out == {}
    again = "2 annotations repeat an item by the same annotator (1 with another label)"
    themselves = "each counts as a separate annotation, so annotators also agree or disagree with themselves"
    assert found.warnings == (Warning("repeats", f"{again}; {themselves}."),)
    mine = [label for item, who, label in kept(found, "item", "annotator", "label") if (item, who) == ("q1", "ann")]
    assert mine == [AGAIN[named - 1][2]]


def on(engine: str, frame: pl.DataFrame) -> Annotations:
    native = frame.lazy() if engine == "polars" else duckdb.sql("SELECT * FROM frame")
    return Annotations(nw.from_native(native), Understood("table", "long", {}))


def kept(found: Counted, *columns: str) -> list[tuple[Any, ...]]:
    assert found.held.annotations is not None
    return to_polars(found.held.annotations.select(*columns)).rows()


@pytest.mark.parametrize("policy", ["error", "first", "last"])
@pytest.mark.parametrize("apart", [0, 10_000], ids=["all rows", "repeated rows"])
@pytest.mark.parametrize("times", [False, True], ids=["by row", "by time"])
def test_repeats_are_settled_alike_whether_their_rows_are_treated_apart_or_not(
    policy: DuplicatePolicy, apart: int, times: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against a plain loop; some annotators are unknown, and theirs are never repeats."""
    monkeypatch.setattr(engines, "MOST_REPEATS_APART", apart)
    random = Random(3)
    rows = [(f"i{i}", random.choice(["ann", "bob", "cyd", ""]), random.choice("xyz")) for i in range(60) for _ in "123"]
    if policy == "error":  # only such repeats as do not contradict
        given: dict[tuple[str, str], str] = {}
        rows = [(i, who, label if not who else given.setdefault((i, who), label)) for i, who, label in rows]
    timed = [(*row, random.randrange(10**9)) for row in rows]
    path = tmp_path / "a.csv"
    lines = [",".join(map(str, row if times else row[:3])) for row in timed]
    path.write_text("\n".join(["item,annotator,label" + ",time" * times, *lines, ""]))
    wanted = remaining(timed, policy, times)
    for source in (path, pl.read_csv(path).lazy()):
        if isinstance(source, Path) or times:
            found = spagree.tally(source, duplicates=policy)
            assert found.left_out == {"repeated": len(rows) - len(wanted)}
            assert replace(found, left_out={}) == spagree.tally([(i, who or None, label) for i, who, label in wanted])
    assert len(rows) - len(wanted) > 5


def remaining(timed: list[tuple[str, str, str, int]], policy: str, times: bool) -> list[tuple[str, str, str]]:
    ordered = sorted(timed, key=lambda row: row[3]) if times else timed
    found: dict[object, tuple[str, str, str]] = {}
    for number, (item, who, label, _) in enumerate(ordered):
        key = (item, who) if who else number
        if policy == "last" or key not in found:
            found[key] = (item, who, label)
    return list(found.values())


@pytest.mark.parametrize(
    "options", [{"normalize": True}, {"separator": ";"}, {"metric": "jaccard"}, {"duplicates": "set"}], ids=str
)
def test_policies_keep_the_column_of_groups_of_a_file(options: dict[str, Any], tmp_path: Path) -> None:
    """The column is called ``by``, a word that SQL reserves."""
    rows = [(item, who, label, "en") for item in "ab" for who, label in zip("xyz", ("p;q", "q;p", "Q"), strict=True)]
    again = [("a", "x", "q", "en")] if "duplicates" in options else []
    frame = pl.DataFrame(rows + again, schema=["item", "annotator", "label", "lang"], orient="row")
    frame.write_csv(tmp_path / "groups.csv")
    of_file, of_frame = (spagree.measure(data, by="lang", **options) for data in (tmp_path / "groups.csv", frame))
    assert of_file.evidence.tally == of_frame.evidence.tally and of_file.evidence.tally.groups()


def test_a_wide_file_keeps_the_column_of_groups(tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": ["q1", "q2", "q3"], "lang": ["en", "en", "de"], "ann": [*"xxy"], "bob": [*"xyy"]})
    frame.write_csv(tmp_path / "wide.csv")
    options = {"format": "wide", "item": "text", "label": ["ann", "bob"], "by": "lang"}
    of_file, of_frame = (spagree.measure(data, **options) for data in (tmp_path / "wide.csv", frame))
    assert of_file.evidence.tally == of_frame.evidence.tally and len(of_file.evidence.tally.groups()) == 2
