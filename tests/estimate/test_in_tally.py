"""What a tally says about other annotators, from the kinds of annotations of each annotator."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import spagree
from examples import examples
from oracle import exactly
from spagree.counts.tally import has_labels
from spagree.estimate.other_annotators import Others
from spagree.estimate.weights import REGISTRY


def crowd(seed: int, classes: int, people: int = 9, items: int = 150, share: float = 0.4) -> pl.DataFrame:
    """Annotators of unequal care, who saw a share of the items."""
    random = np.random.default_rng(seed)
    item, who = np.nonzero(random.random((items, people)) < share)
    truth, care = random.integers(0, classes, items), random.uniform(0.4, 0.95, people)
    label = np.where(random.random(len(item)) < care[who], truth[item], random.integers(0, classes, len(item)))
    columns = {"item": item, "annotator": [f"w{each}" for each in who], "label": [f"c{each}" for each in label]}
    return pl.DataFrame(columns)


def without_each(agreement: spagree.Agreement, scheme: str) -> tuple[np.ndarray, np.ndarray]:
    others, by_n = agreement.evidence.others, agreement.evidence.by_n(scheme)
    assert isinstance(others, Others)
    return others.figure(lambda _, units: others.sizes.without(units, by_n))("people")


@pytest.mark.parametrize("scheme", [*REGISTRY, "steep"])
@pytest.mark.parametrize("classes", [2, 3, 6])
def test_spa_without_each_annotator_is_that_of_single_annotations(scheme: str, classes: int) -> None:
    """Also under weights of which the steepest leaves nothing of all but the largest items."""
    rows = crowd(classes, classes)
    weights: Any = (lambda n: Fraction(10) ** (20 * n)) if scheme == "steep" else scheme
    here, there = spagree.measure(rows, weights=weights), spagree.measure(spagree.tally(rows), weights=weights)
    assert isinstance(there.evidence.others, Others) and there.evidence.others.kinds
    found, times = without_each(there, weights)
    expected, alike = without_each(here, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert times.tolist() == alike.tolist()


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=2, max_size=24), st.integers(0, 99))
@examples(30)
def test_spa_without_each_annotator_is_exact(pairs: set[tuple[int, int]], seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = [(f"q{item}", f"w{who}", "abc"[random.integers(3)]) for item, who in sorted(pairs)]
    agreement = spagree.measure(spagree.tally(rows), weights="edge")
    others = agreement.evidence.others
    assert isinstance(others, Others) and others.kinds
    found = dict(zip(others.kinds.annotators, without_each(agreement, "edge")[0].tolist(), strict=True))
    for who, value in found.items():
        left = [row for row in rows if row[1] != who]
        items = [[label for item, _, label in left if item == name] for name in {row[0] for row in left}]
        pairable = [labels for labels in items if len(labels) > 1]
        below = sum(Fraction(len(labels) * (len(labels) - 1), 2) for labels in pairable)
        above = sum(Fraction(sum(labels.count(each) - 1 for each in labels), 2) for labels in pairable)
        assert (np.isnan(value) and not below) or value == pytest.approx(float(above / below), rel=1e-12, abs=1e-12)


def in_teams(rows: pl.DataFrame) -> pl.DataFrame:
    """The same items and annotators five times, under names of their own."""
    named = [pl.col("item").cast(pl.String), pl.col("annotator")]
    teams = (rows.with_columns(each + f" of team {team}" for each in named) for team in range(5))
    return pl.concat(teams)


def who_copies(rows: pl.DataFrame) -> pl.DataFrame:
    """The same, where two always give the same label: pairs decide."""
    same = pl.col("label").sort_by("annotator").first().over("item", pl.col("annotator").is_in(["w0", "w1"]))
    return rows.with_columns(
        pl.when(pl.col("annotator").is_in(["w0", "w1"])).then(same).otherwise("label").alias("label")
    )


@pytest.mark.parametrize("change", [in_teams, who_copies])
def test_very_many_annotations_are_left_out_by_kind(change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the variances over teams and pairs, and the steps, of annotations that are left out one by one."""
    rows = change(crowd(3, 2))
    one_by_one = spagree.measure(rows)
    monkeypatch.setattr("spagree.estimate.breakdowns.MOST_ONE_BY_ONE", 0)
    by_kind = spagree.measure(rows)
    assert by_kind.evidence.others.kinds and one_by_one.evidence.others.kinds is None
    for one, other in ((one_by_one.schemes[name], by_kind.schemes[name]) for name in REGISTRY):
        assert (other.stderr, other.low, other.high) == pytest.approx((one.stderr, one.low, one.high), rel=1e-9)
    assert one_by_one.next_steps == by_kind.next_steps and one_by_one.verdict == by_kind.verdict
    assert "more than 500,000 annotations" in str(by_kind.chance["conger_kappa"].undefined)


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_the_intervals_are_those_of_single_annotations_where_pairs_do_not_decide(classes: int) -> None:
    rows = crowd(7, classes)
    here, there = spagree.measure(rows), spagree.measure(spagree.tally(rows))
    for scheme in REGISTRY:
        one, other = here.schemes[scheme], there.schemes[scheme]
        assert one.interval_for == other.interval_for == "annotators"
        assert (other.stderr, other.low, other.high) == pytest.approx((one.stderr, one.low, one.high), rel=1e-9)
    shares = ("fleiss_kappa", "gwet_ac1")
    for name in ("krippendorff_alpha", "spa_kappa", "brennan_prediger", *(shares if classes == 2 else ())):
        one, other = here.chance[name], there.chance[name]
        assert other.interval_for == "annotators"
        assert (other.stderr, other.low, other.high) == pytest.approx((one.stderr, one.low, one.high), rel=1e-9)
    if classes > 2:
        withheld = [there.chance[name].intervals["annotators"].undefined for name in shares]
        assert all("which labels the others gave" in str(reason) for reason in withheld)
    assert "who annotated which item" in str(there.chance["conger_kappa"].undefined)


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("teams", [1, 4])
def test_pairs_and_teams_of_few_people_are_counted_on_the_engine(
    engine: str, teams: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Where annotations are too many to look at each; of more people only the kinds are known."""
    parts = [crowd(seed, 2, people=5, items=40).with_columns(pl.col("item") + 1000 * seed) for seed in range(teams)]
    names = pl.col("annotator") + pl.col("item").floordiv(1000).cast(pl.String)
    pl.concat(parts).with_columns(annotator=names).write_parquet(tmp_path / "rows.parquet")
    here = spagree.measure(tmp_path / "rows.parquet")
    for name in ("measuring", "estimate.breakdowns", "counts.fetch"):
        monkeypatch.setattr(f"spagree.{name}.MOST_TO_FETCH", 10)
    there = spagree.measure(tmp_path / "rows.parquet", engine=engine)
    one, other = here.evidence.others, there.evidence.others
    assert isinstance(one, Others) and isinstance(other, Others) and one.kinds is None and other.kinds
    assert (one.team_count, one.equal_teams) == (other.team_count, other.equal_teams)
    assert one.meetings == other.meetings and one.team_count == teams
    for mine, theirs in ((here.schemes, there.schemes), (here.chance, there.chance)):
        for name in mine:
            if name != "conger_kappa" and not (teams > 1 and name in ("fleiss_kappa", "gwet_ac1")):
                expected, found = mine[name].intervals["annotators"], theirs[name].intervals["annotators"]
                assert (found.stderr, found.low) == pytest.approx((expected.stderr, expected.low), rel=1e-9)
    monkeypatch.setattr("spagree.estimate.breakdowns.MOST_COUNTED", 4)
    unknown = spagree.measure(tmp_path / "rows.parquet", engine=engine).evidence.others
    assert isinstance(unknown, Others) and unknown.kinds and unknown.meetings is None and unknown.team_count == 1


@pytest.mark.parametrize("seed", range(3))
def test_annotators_are_described_by_their_kinds(seed: int) -> None:
    rows = crowd(seed, 4)
    here, there = spagree.measure(rows).annotators(), spagree.measure(spagree.tally(rows)).annotators()
    judged = ["stands_out", "stands_out_undefined"]
    assert_frame_equal(there.drop(judged), here.drop(judged), check_exact=False, rel_tol=1e-9, abs_tol=1e-12)
    for one, other in zip(here["stands_out"], there["stands_out"], strict=True):
        assert other in (one, None)


def careless() -> Iterator[tuple[str, str, str]]:
    random = np.random.default_rng(3)
    for item in range(200):
        truth = "ab"[item % 2]
        for who in range(5):
            yield f"q{item}", f"w{who}", "a" if who == 4 else (truth if random.random() < 0.95 else "b")


def test_nobody_is_named_who_could_be_innocent() -> None:
    """Two who copy from each other make others stand out, and a tally does not say who met whom."""
    there = spagree.measure(spagree.tally(careless())).annotators()
    last = there.filter(pl.col("annotator") == "w4")
    assert last["stands_out"].to_list() == [None] and "who met whom" in last["stands_out_undefined"][0]
    assert last["one_label"].to_list() == [True] and there["one_label"].sum() == 1


def test_partial_agreement_of_annotators_is_withheld() -> None:
    """Kinds hold how many annotations are equal, not how near the others are."""
    rows = crowd(1, 4).with_columns(pl.col("label").str.slice(1))
    found = spagree.measure(spagree.tally(rows), metric="interval")
    reason = "a tally does not say how annotators agree under a metric; measure the annotations themselves"
    assert found.spa.interval_for == "items" and found.spa.intervals["annotators"].undefined == reason
    with pytest.raises(spagree.UsageError, match=exactly(reason)):
        found.annotators()


def test_annotations_by_unknown_people_say_nothing_about_others() -> None:
    rows = [*crowd(2, 3).rows(), (0, None, "c1")]
    found = spagree.measure(spagree.tally(rows)).spa.intervals["annotators"]
    assert found.undefined == "the annotator of 1 annotation is unknown"


def test_very_many_combinations_of_labels_leave_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = crowd(5, 4)
    whole = spagree.measure(spagree.tally(rows)).spa
    monkeypatch.setattr("spagree.counts.count.MOST_PATTERNS", 0)
    tally = spagree.tally(rows)
    assert tally.patterns is None
    found = spagree.measure(tally).spa
    assert (found.stderr, found.low, found.high) == pytest.approx((whole.stderr, whole.low, whole.high), rel=1e-12)


@pytest.fixture
def without_labels(monkeypatch: pytest.MonkeyPatch) -> spagree.Tally:
    """A tally whose kinds have no labels, because these would make too many."""
    rows = crowd(7, 3)
    number = sum(map(len, (spagree.tally(rows).people or {}).values()))
    monkeypatch.setattr("spagree.counts.people.MOST_KINDS", number - 1)
    tally = spagree.tally(rows)
    assert tally.people and not has_labels(tally.people)
    return tally


def test_without_labels_the_interval_of_spa_is_as_exact(without_labels: spagree.Tally) -> None:
    """Kappas that depend on the labels of those left out say why they have none; the others have theirs."""
    here, there = spagree.measure(crowd(7, 3)), spagree.measure(without_labels)
    for scheme in REGISTRY:
        one, other = here.schemes[scheme], there.schemes[scheme]
        assert one.interval_for == other.interval_for == "annotators"
        assert (other.stderr, other.low, other.high) == pytest.approx((one.stderr, one.low, one.high), rel=1e-12)
    uniform, expected = there.chance["brennan_prediger"], here.chance["brennan_prediger"]
    assert uniform.interval_for == "annotators"
    assert (uniform.low, uniform.high) == pytest.approx((expected.low, expected.high), rel=1e-9)
    for name in ("krippendorff_alpha", "spa_kappa", "fleiss_kappa", "gwet_ac1"):
        one, other = here.chance[name], there.chance[name]
        assert other.value == one.value and other.interval_for == "items" and other.low is not None
        assert "labels" in str(other.intervals["annotators"].undefined)


def test_without_labels_the_tables_say_what_is_not_known(without_labels: spagree.Tally) -> None:
    here, there = spagree.measure(crowd(7, 3)).annotators(), spagree.measure(without_labels).annotators()
    unknown = ["commonest", "commonest_share", "one_label"]
    judged = ["stands_out", "stands_out_undefined"]
    assert_frame_equal(
        there.drop(unknown + judged), here.drop(unknown + judged), check_exact=False, rel_tol=1e-9, abs_tol=1e-12
    )
    assert all(there[name].is_null().all() for name in unknown)


def test_tallies_without_labels_of_kinds_are_compared(without_labels: spagree.Tally) -> None:
    other = spagree.tally(crowd(8, 3))
    assert other.people and not has_labels(other.people)
    found = spagree.compare(without_labels, other).pairs[0]
    expected = spagree.compare(crowd(7, 3), crowd(8, 3)).pairs[0]
    assert found.difference.value == expected.difference.value
    assert found.difference.interval_for == "annotators" and found.kappa_difference is not None
    assert found.kappa_difference.interval_for == "items"
