"""compare() for what people mark: two rounds, one source before and after, within groups."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars
import pytest

import spagree
from command import Run
from spagree.comparing.sides import mark_sides, sides_of

COLUMNS = ["item", "annotator", "start", "end", "label"]


def labels(seed: int, start: int, end: int) -> list[tuple[str, str, str]]:
    random = np.random.default_rng(seed)
    return [
        (f"q{item}", f"p{who}", "PL"[int(random.random() < 0.3 + 0.4 * (item % 2))])
        for item in range(start, end)
        for who in random.choice(5, random.integers(2, 4), replace=False).tolist()
    ]


def round_of(seed: int, found: float, start: int = 0, prefix: str = "p") -> tuple[polars.DataFrame, polars.DataFrame]:
    """Four places in each of 40 texts, which three of six people find, and who saw which text."""
    random = np.random.default_rng(seed)
    seen = [
        (f"q{item}", f"{prefix}{who}", "de" if item % 2 else "en", item)
        for item in range(start, start + 40)
        for who in random.choice(6, 3, replace=False).tolist()
    ]
    table = polars.DataFrame(seen, schema=["item", "annotator", "language", "when"], orient="row")
    marks = [
        (item, who, place, place + int(random.choice([4, 4, 5])), "P")
        for item, who, *_ in seen
        for place in range(0, 40, 10)
        if random.random() < found
    ]
    return polars.DataFrame(marks, schema=COLUMNS, orient="row"), table


def written(folder: Path, name: str, marks: polars.DataFrame, seen: polars.DataFrame) -> list[Path]:
    files = [folder / f"{name}.csv", folder / f"{name}_seen.csv"]
    for path, table in zip(files, (marks, seen), strict=True):
        table.write_csv(path)
    return files


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys)


@pytest.mark.parametrize("kind", ["items", "people", "annotations"])
def test_marks_on_whole_items_move_together_exactly_as_labels_do(kind: str) -> None:
    rounds = labels(1, 0, 30), labels(2, 10, 40)
    a, b = sides_of({name: spagree.measure(rows) for name, rows in zip("ab", rounds, strict=True)})
    marked = ([(item, who, 0, 9, label) for item, who, label in rows] for rows in rounds)
    c, d = mark_sides({name: spagree.measure_spans(rows) for name, rows in zip("cd", marked, strict=True)})
    assert c.headline.value == a.headline.value and c.shared_items(d) == a.shared_items(b)
    for figure in ("exact", "characters"):
        assert c.covariance(d, figure, kind) == pytest.approx(a.covariance(b, "spa", kind), rel=1e-9)
        assert c.covariance(c, figure, kind) == pytest.approx(a.covariance(a, "spa", kind), rel=1e-9)


def test_two_rounds_are_compared_on_both_levels_and_in_what_a_mark_meets(run: Run, tmp_path: Path) -> None:
    one, two = round_of(1, 0.5), round_of(2, 0.95, start=40)
    found = spagree.compare(one[0], two[0], seen=[one[1], two[1]], names=("a.csv", "b.csv"), format="spans")
    alone = [spagree.measure_spans(*each) for each in (one, two)]
    for name, gap in found.pairs[0].differences.items():
        first, second = ({**each.outcomes, **each.to_dict()["spans"]}.get(name) for each in alone)
        if name in alone[0].outcomes:
            assert gap.value == second.value - first.value
        else:
            assert gap.value == second["value"] - first["value"]
    assert found.verdict == "agrees_more" and found.shared_items == 0 and found.kappa_difference is None
    assert [*found.pairs[0].differences][:2] == ["exact", "characters"] and "nothing" in found.pairs[0].differences
    files = [*written(tmp_path, "a", *one), *written(tmp_path, "b", *two)]
    code, printed, _ = run("compare", files[0], files[2], "--seen", files[1], "--seen", files[3], "--json")
    assert code == 0 and json.loads(printed) == found.to_dict()
    assert {"difference", "differences", "verdict", "p_holm"} <= found.to_dict().keys()
    code, _, told = run("compare", files[0], files[2], "--seen", files[1])
    assert code == 2 and "--seen" in told and "each of the 2 sources" in told


def test_people_on_both_sides_cancel_and_others_do_not() -> None:
    first, again, others = round_of(1, 0.7), round_of(2, 0.7, start=40), round_of(2, 0.7, start=40, prefix="x")
    same, different = (
        spagree.compare(first[0], each[0], seen=[first[1], each[1]], format="spans").pairs[0]
        for each in (again, others)
    )
    assert (same.shared_annotators, different.shared_annotators) == (6, 0)
    assert same.difference.stderr != different.difference.stderr


def test_the_same_marks_are_the_same_in_any_order_and_other_visits_are_not() -> None:
    marks, seen = round_of(1, 0.7)
    again = spagree.compare(marks, marks.reverse(), seen=[seen, seen.reverse()], names="ab", format="spans")
    assert again.verdict == "the_same" and again.difference.high == 0
    more = seen.vstack(polars.DataFrame([("r", "p1", "en", 1)], schema=seen.schema, orient="row"))
    assert spagree.compare(marks, marks, seen=[seen, more], names="ab", format="spans").verdict == "cannot_tell"


def test_who_saw_what_may_be_any_frame() -> None:
    marks, seen = round_of(1, 0.7)
    ours, theirs = (spagree.compare(marks, seen=each, model="p0") for each in (seen, seen.to_pandas()))
    assert ours.to_dict() == theirs.to_dict()


def test_clusters_that_both_sides_have_cancel_as_one() -> None:
    names = ["item", "annotator", "label", "document"]
    rounds = [[(*row, row[0][:2]) for row in labels(seed, 10, 60)] for seed in (1, 2)]
    frames = [dict(zip(names, zip(*rows, strict=True), strict=True)) for rows in rounds]
    tables = [polars.DataFrame(each) for each in frames]
    a, b = sides_of({name: spagree.measure(each, cluster="document") for name, each in zip("ab", tables, strict=True)})
    marked = [each.with_columns(start=0, end=9) for each in tables]
    c, d = mark_sides(
        {name: spagree.measure_spans(each, cluster="document") for name, each in zip("cd", marked, strict=True)}
    )
    assert c.covariance(d, "exact", "items") == pytest.approx(a.covariance(b, "spa", "items"), rel=1e-9)
    assert c.shared(d, "items") == a.shared(b, "items") == 5


def test_one_source_is_compared_before_and_after_a_moment_and_within_groups(tmp_path: Path, run: Run) -> None:
    marks, seen = round_of(1, 0.7)
    files = written(tmp_path, "a", marks, seen)
    when = {item: when for item, _, _, when in seen.iter_rows()}
    after = [table["item"].replace_strict(when) >= 20 for table in (marks, seen)]
    parts = [
        [table.filter(late if is_late else ~late) for table, late in zip((marks, seen), after, strict=True)]
        for is_late in (False, True)
    ]
    found = spagree.compare(files[0], seen=str(files[1]), before=20, time="when", by="language")
    apart = spagree.compare(
        *(part[0] for part in parts), seen=[part[1] for part in parts], names=[*"ab"], format="spans"
    )
    assert found.difference == apart.difference and [*found.groups] == ["de", "en"]
    german = {item for item, _, language, _ in seen.iter_rows() if language == "de"}
    alone = [[table.filter(polars.col("item").is_in(german)) for table in part] for part in parts]
    german_only = spagree.compare(*(part[0] for part in alone), seen=[part[1] for part in alone], names=[*"ab"])
    assert found.groups["de"].difference == german_only.difference
    code, printed, _ = run("compare", *files[:1], "--seen", files[1], "--before", "20", "--time", "when")
    assert code == 0 and "characters" in printed and "Only" not in printed
    code, _, told = run("compare", *files[:1], "--seen", files[1], "--before", "20")
    assert code == 2 and "--time" in told
