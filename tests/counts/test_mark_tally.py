"""Tallies of marks: counted in blocks, merged, saved and verified; the figures are those of the marks themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from polars.testing import assert_frame_equal

import spagree
import spagree.counts.mark_tally as tallies
import spagree.counts.marks as counting
from command import Run
from spagree.counts.mark_tally import MarkTally
from spagree.counts.saved import CHECKSUM, marks_from_dict, marks_to_dict
from spagree.errors import DataError, UsageError
from spagree.estimate.uncertainty import ITEMS
from spagree.spans import SpanAgreement

FIGURES = ("exact", "characters", "exact_any_label", "characters_any_label")
SAW = ["item", "annotator"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys)


def drawn(seed: int, seconds: float = 1.0) -> tuple[polars.DataFrame, polars.DataFrame]:
    """Marks that overlap, repeat and differ in their labels, of 30 texts; and who saw which."""
    random = np.random.default_rng(seed)
    seen = [
        (f"q{i}", f"p{who}", 40) for i in range(30) for who in random.choice(6, random.integers(1, 5), replace=False)
    ]
    marks = [
        (item, who, start * seconds, (start + int(random.integers(1, 6))) * seconds, "PL"[int(random.integers(2))])
        for item, who, _ in seen
        for start in random.integers(0, 12, random.integers(0, 5)).tolist()
    ]
    table = polars.DataFrame(marks, schema=[*SAW, "start", "end", "label"], orient="row")
    return table, polars.DataFrame(seen, schema=[*SAW, "length"], orient="row")


def assert_same(counted: SpanAgreement, whole: SpanAgreement) -> None:
    """Every figure with both intervals, what is withheld and why, classes, and the counts."""
    for name in (*FIGURES, "characters_beyond_chance", *whole.outcomes):
        mine, theirs = (getattr(each.findings, name, None) or each.outcomes[name] for each in (counted, whole))
        assert mine.value == (theirs.value and pytest.approx(theirs.value, rel=1e-12))
        assert mine.interval_for == theirs.interval_for and mine.undefined == theirs.undefined
        for whom, expected in theirs.intervals.items():
            found = mine.intervals[whom]
            assert found.undefined == expected.undefined
            ends = [
                [-1 if end is None else end for end in (each.stderr, each.low, each.high)] for each in (found, expected)
            ]
            assert ends[0] == pytest.approx(ends[1], rel=1e-8, abs=1e-12)
    for table in ("classes", "confusion"):
        assert_frame_equal(getattr(counted, table)(), getattr(whole, table)(), rel_tol=1e-8, abs_tol=1e-12)
    assert counted.data == whole.data


@pytest.mark.parametrize("weights", ["annotations_m1", "flat", "edge"])
@pytest.mark.parametrize(("people", "teams"), [(3, 1), (5, 1), (9, 2), (25, 5)])
def test_parts_that_were_saved_tell_of_other_annotators_as_the_marks_do(
    people: int, teams: int, weights: str, tmp_path: Path
) -> None:
    marks, seen = drawn(people, 0.3)
    here, who = (polars.col(name).str.slice(1).cast(polars.Int64) for name in ("item", "annotator"))
    marks, seen = (each.with_columns(annotator=polars.format("p{}", who % people)) for each in (marks, seen))
    if teams > 1:  # nobody of one team sees what the others see
        marks, seen = (
            each.with_columns(annotator=polars.format("{} {}", "annotator", here % teams)) for each in (marks, seen)
        )
    seen = seen.unique(maintain_order=True)
    whole = spagree.measure_spans(marks, seen, weights=weights)
    paths = [tmp_path / f"{part}.json" for part in range(3)]
    for part, path in enumerate(paths):
        spagree.save(spagree.tally_spans(marks.filter(here % 3 == part), seen.filter(here % 3 == part)), path)
    assert_same(spagree.measure_spans(paths, weights=weights), whole)


def test_what_is_too_much_for_a_tally_is_withheld_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies, "MOST_ROWS", 20)
    monkeypatch.setattr(counting, "MOST_ROWS", 20)
    monkeypatch.setattr(counting, "MOST_CLASSES", 1)
    found = spagree.measure_spans(spagree.tally_spans(*drawn(1)))
    assert found.exact.interval_for == ITEMS
    assert "for a tally to keep them: measure the marks" in str(found.exact.intervals["annotators"].undefined)
    with pytest.raises(UsageError, match="so many labels"):
        found.classes()
    with pytest.raises(UsageError, match="does not say who"):
        found.annotators()


@pytest.mark.parametrize("rows_at_once", [1, 7, 1000])
@pytest.mark.parametrize("kind", ["frames", "files", "rows", "lazy"])
def test_a_tally_in_blocks_has_the_figures_of_the_marks(
    kind: str, rows_at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks, seen = drawn(1, 0.25 if kind == "lazy" else 1.0)
    source: tuple[Any, ...] = marks, seen
    if kind == "files":
        source = tmp_path / "marks.csv", tmp_path / "seen.csv"
        marks.write_csv(source[0])
        seen.write_csv(source[1])
    elif kind == "rows":
        source = ([*marks.rows(), ("q99", "p1", None, None, "P")],)
    elif kind == "lazy":
        source = marks.lazy(), seen.lazy()
    monkeypatch.setattr(counting, "ROWS_AT_ONCE", rows_at_once)
    whole, counted = spagree.measure_spans(*source), spagree.measure_spans(spagree.tally_spans(*source))
    assert_same(counted, whole)
    assert counted.findings.seen == whole.findings.seen
    assert counted.findings.missingness.z == pytest.approx(whole.findings.missingness.z)


def test_items_that_are_numbers_in_two_types_are_not_torn_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """As texts 7.0 and 7 would be in different blocks."""
    monkeypatch.setattr(counting, "ROWS_AT_ONCE", 1)
    marks, seen = drawn(8)
    numbers = polars.col("item").str.slice(1).cast(polars.Int64)
    as_floats, as_numbers = marks.with_columns(numbers.cast(polars.Float64)), seen.with_columns(numbers)
    assert spagree.tally_spans(as_floats, as_numbers) == spagree.tally_spans(marks, seen)


def test_parts_with_different_items_make_the_whole() -> None:
    marks, seen = drawn(2)
    halves = [polars.col("item").is_in([f"q{i}" for i in range(part, 30, 2)]) for part in (0, 1)]
    parts = [spagree.tally_spans(marks.filter(half), seen.filter(half)) for half in halves]
    whole = spagree.tally_spans(marks, seen)
    assert sum(parts) == parts[1] + parts[0] == whole
    assert parts[0] + MarkTally() == parts[0]
    unknown = spagree.tally_spans(marks.filter(halves[1]))
    assert unknown.seen == "unknown" == (parts[0] + unknown).seen
    codes = [each.code for each in spagree.measure_spans(parts[0] + unknown).warnings]
    assert codes[0] == "unseen_unknown"


def test_what_cannot_be_counted_is_refused_by_its_row_in_any_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "ROWS_AT_ONCE", 1)
    path = tmp_path / "marks.csv"
    for row, what in ((",ann,0,4", "row 5: column 'item'"), ("q1,bob,4,3", "row 5.*before its start")):
        path.write_text(f"item,annotator,start,end\nq0,ann,0,4\nq1,ann,0,4\nq2,ann,0,4\n{row}\n")
        with pytest.raises(DataError, match=what):
            spagree.tally_spans(path)


def test_a_saved_tally_comes_back_as_it_was_and_scores(run: Run, tmp_path: Path) -> None:
    marks, seen = drawn(3)
    half = polars.col("item") < "q2"
    for name, part in (("a", half), ("b", ~half)):
        marks.filter(part).write_csv(tmp_path / f"{name}.csv")
        seen.filter(part).write_csv(tmp_path / f"{name}_seen.csv")
        command = ("tally", tmp_path / f"{name}.csv", "--seen", tmp_path / f"{name}_seen.csv")
        assert run(*command, "-o", tmp_path / f"{name}.json")[0] == 0
    whole = spagree.tally_spans(marks, seen)
    spagree.save(whole, tmp_path / "whole.json")
    assert spagree.load(tmp_path / "whole.json") == whole
    parts = tmp_path / "a.json", tmp_path / "b.json"
    assert run("merge", *parts, "-o", tmp_path / "all.json")[0] == 0
    assert spagree.load(tmp_path / "all.json") == whole
    for paths in (parts, (tmp_path / "all.json",)):
        code, printed, _ = run("score", *paths, "--format", "spans", "--json")
        assert code == 0 and json.loads(printed)["spans"]["exact"]["value"] == spagree.measure_spans(whole).exact.value
    code, _, told = run("score", tmp_path / "all.json")
    assert code == 2 and "--format spans" in told
    spagree.save(spagree.tally([("q", "ann", "yes"), ("q", "bob", "yes")]), tmp_path / "labels.json")
    assert run("merge", parts[0], tmp_path / "labels.json", "-o", tmp_path / "c.json")[0] == 2
    assert run("score", tmp_path / "labels.json", "--format", "spans")[0] == 2


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda of: of["exact_any_label"]["cells"].append([2, 1.0, 4.0, 1]), "a cell that no item can have"),
        (lambda of: of["exact_any_label"]["cells"].append([2, 1.5, 0.0, 1]), "a cell that no item can have"),
        (lambda of: of["exact_any_label"]["cells"][-1].__setitem__(1, 99.0), "hold different marks"),
        (lambda of: of["exact_any_label"]["cells"].append([2, 99.0, 0.0, 99]), "more items than the annotators saw"),
        (lambda of: of["exact"]["cells"].append(of["exact"]["cells"][0]), "a row occurs twice"),
        (lambda of: of["exact"]["cells"][0].__setitem__(0, -1), "-1 is not a count"),
        (lambda of: of["exact"]["cells"][0].pop(), "damaged"),
        (lambda of: of["characters"]["cells"][0].__setitem__(1, "x"), "'x' is not an amount"),
        (lambda of: of["characters"]["visits"].pop(), "the items and the visits hold different marks"),
        (lambda of: of["characters"]["people"].pop(), "the items and the annotators hold different marks"),
        (lambda of: of["characters"]["people"][0].__setitem__(0, "zed"), "'zed' made marks without seeing"),
        (lambda of: of["class P"]["pairs"].clear(), "pairs of annotators share different marks"),
        (lambda of: of.pop("exact_any_label"), "levels exact"),
    ],
)
def test_a_tally_that_no_marks_can_give_is_refused(change: Any, what: str) -> None:
    document = json.loads(json.dumps(marks_to_dict(spagree.tally_spans(*drawn(4)))))
    change(document["tables"])
    with pytest.raises(DataError, match=what):
        marks_from_dict(document)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"format": 1}, "format 1, but this version reads 2; count the marks again"),
        ({"labels": {"P": 1}}, "levels"),
        ({"labels": {"P": 1, "L": 1}}, "2 in the labels"),
        ({"saw": {"p1": [[2, 1]]}}, "the annotators saw"),
        ({"met": [["p1", "p2", 1]]}, "the annotators met"),
        ({"seen": "by eye"}, "seen 'by eye'"),
    ],
)
def test_a_changed_file_is_refused(changes: dict[str, Any], what: str, tmp_path: Path) -> None:
    path = tmp_path / "part.json"
    spagree.save(spagree.tally_spans(*drawn(4)), path)
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | changes))
    with pytest.raises(DataError, match=what):
        spagree.load(path)
    path.write_text(json.dumps(document | {CHECKSUM: "0"}))
    with pytest.raises(DataError, match="checksum"):
        spagree.load(path)


def test_what_a_tally_does_not_know_is_refused_with_the_reason(tmp_path: Path, run: Run) -> None:
    tally = spagree.tally_spans(*drawn(5))
    found = spagree.measure_spans(tally, interval_for="annotators")
    assert found.exact.interval_for == "annotators" and found.exact.low is not None
    for table in ("items", "annotators", "pairs", "development"):
        with pytest.raises(UsageError, match="does not say who marked what, nor where"):
            getattr(found, table)()
    assert "Each annotator" not in found.page() and "Labels" in found.page()
    with pytest.raises(UsageError, match=r"seen=, where= has no effect on a tally"):
        spagree.measure_spans(tally, drawn(5)[1], where="label=P")
    with pytest.raises(UsageError, match="keeps no clusters or groups"):
        spagree.tally_spans(*drawn(5), cluster="length")
    with pytest.raises(UsageError, match="measure_spans"):
        spagree.measure(tally)
    drawn(5)[0].write_csv(tmp_path / "marks.csv")
    kept = ("tally", tmp_path / "marks.csv", "--format", "spans", "--keep-items", "-o", tmp_path / "x.parquet")
    assert run(*kept)[0] == 2


def test_counting_counts_again_gives_the_same_counts(tmp_path: Path) -> None:
    """As a tally of labels does; options that come too late are named."""
    tally = spagree.tally_spans([("q1", "ann", 0, 4), ("q1", "bob", 0, 4)])
    spagree.save(tally, tmp_path / "marks.json")
    assert spagree.tally_spans(tmp_path / "marks.json") == spagree.tally_spans(tally) == tally
    with pytest.raises(UsageError, match="where= has no effect on a tally"):
        spagree.tally_spans(tally, where="x=y")


def test_tallies_are_compared_without_what_they_share() -> None:
    one, two = (spagree.tally_spans(*drawn(seed)) for seed in (6, 7))
    found = spagree.compare(one, two, names=("a", "b")).pairs[0]
    assert found.shared_items is None and found.difference.value is not None
    assert found.difference.stderr == pytest.approx(np.hypot(found.a.headline.stderr, found.b.headline.stderr))
