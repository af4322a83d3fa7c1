"""The simulated data is what it says, and its truth is the truth."""

from __future__ import annotations

import importlib
import itertools
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import spagree
from spagree.errors import UsageError
from spagree.studies.simulation import Simulation, simulate

module: Any = importlib.import_module("spagree.studies.simulation")
SIGMAS = 4.5


def per_item(frame: pl.DataFrame) -> pl.DataFrame:
    """n and P of every pairable item, straight from the definition (docs/mathematics.md §1)."""
    counts = frame.group_by("item", "label").agg(c=pl.len().cast(pl.Int64))
    items = counts.group_by("item").agg(n=pl.col("c").sum(), agreeing=(pl.col("c") * (pl.col("c") - 1)).sum())
    pairs = pl.col("n") * (pl.col("n") - 1)
    return items.filter(pl.col("n") > 1).with_columns(pairs=pairs, P=pl.col("agreeing") / pairs)


def flat(frame: pl.DataFrame) -> float:
    return float(np.mean(per_item(frame)["P"].to_numpy()))


def edge(frame: pl.DataFrame) -> float:
    items = per_item(frame)
    return int(items["agreeing"].sum()) / int(items["pairs"].sum())


def first_two(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sort("time").group_by("item", maintain_order=True).head(2)


def assert_centred(differences: list[float]) -> None:
    """The mean of many independent differences is 0 within its standard error."""
    values = np.array(differences)
    assert abs(values.mean()) < SIGMAS * values.std(ddof=1) / np.sqrt(len(values))


def item_distributions(simulation: Simulation) -> NDArray[np.float64]:
    """Drawn first from the generator, so they can be drawn again."""
    given = simulation.parameters
    frequency = np.arange(1, given["classes"] + 1.0) ** -given["skew"]
    rng = np.random.default_rng(given["seed"])
    prior = frequency / frequency.sum()
    return np.asarray(module._item_distributions(prior, given["heterogeneity"], given["items"], rng))


def truth_by_enumeration(simulation: Simulation) -> float:
    """Every item, every pair of annotators, every pair of answers: no formula."""
    p = item_distributions(simulation)
    guess = np.full(p.shape[1], 1 / p.shape[1])
    agree = []
    for distribution in p:
        answers = [q * distribution + (1 - q) * guess for q in simulation.quality.values()]
        for one, other in itertools.combinations(answers, 2):
            agree.append(sum(one[x] * other[x] for x in range(len(guess))))
    return float(np.mean(agree))


class TestTruth:
    @pytest.mark.parametrize("quality", [1.0, 0.7, 0.0, (0.0, 1.0), (0.5, 0.9)])
    @pytest.mark.parametrize("heterogeneity", [0.0, 0.3, 0.9, 1.0])
    @pytest.mark.parametrize(("classes", "skew"), [(1, 0.0), (2, 1.0), (5, 0.4)])
    def test_closed_form_equals_enumeration(
        self, quality: Any, heterogeneity: float, classes: int, skew: float
    ) -> None:
        simulation = simulate(
            items=7, annotators=4, classes=classes, skew=skew, heterogeneity=heterogeneity, quality=quality
        )
        assert simulation.truth == pytest.approx(truth_by_enumeration(simulation), abs=1e-13)

    def test_by_hand(self) -> None:
        alike: dict[str, Any] = {"classes": 2, "skew": 1.0, "heterogeneity": 0.0}
        assert simulate(**alike, quality=1.0).truth == pytest.approx(5 / 9, abs=1e-15)
        assert simulate(**alike, quality=0.0).truth == pytest.approx(1 / 2, abs=1e-15)
        assert simulate(**alike, quality=0.5).truth == pytest.approx(5 / 36 + 3 / 8, abs=1e-15)
        assert simulate(heterogeneity=1.0, quality=1.0).truth == 1.0
        assert simulate(classes=1).truth == 1.0

    def test_heterogeneity_is_the_kappa_of_careful_annotators(self) -> None:
        simulation = simulate(items=200_000, classes=4, skew=0.8, heterogeneity=0.35, quality=1.0)
        frequency = np.arange(1, 5.0) ** -0.8
        chance = float(np.square(frequency / frequency.sum()).sum())
        assert (simulation.truth - chance) / (1 - chance) == pytest.approx(0.35, abs=0.003)

    @pytest.mark.parametrize("quality", [1.0, (0.3, 0.9)])
    @pytest.mark.parametrize("heterogeneity", [0.0, 0.5, 1.0])
    def test_full_data_converge_to_it(self, quality: Any, heterogeneity: float) -> None:
        simulation = simulate(
            items=20_000,
            annotators=8,
            classes=3,
            per_item=8,
            skew=0.5,
            heterogeneity=heterogeneity,
            quality=quality,
        )
        agreement = per_item(simulation.frame)["P"].to_numpy()
        error = agreement.std(ddof=1) / np.sqrt(len(agreement))
        assert abs(agreement.mean() - simulation.truth) <= SIGMAS * error + 1e-12

    @pytest.mark.parametrize("estimate", [flat, edge])
    def test_sparse_data_of_varying_overlap_are_unbiased(self, estimate: Any) -> None:
        differences = []
        for seed in range(100):
            simulation = simulate(items=60, annotators=12, per_item=(1, 6), quality=(0.5, 1.0), seed=seed)
            differences.append(estimate(simulation.frame) - simulation.truth)
        assert_centred(differences)


class TestMissing:
    def test_exactly_the_fraction_is_gone_and_the_rest_is_untouched(self) -> None:
        whole = simulate(items=200, per_item=5, seed=3)
        rest = simulate(items=200, per_item=5, missing=0.25, seed=3)
        assert rest.frame.height == 750
        assert rest.frame.join(whole.frame, on=whole.frame.columns, how="semi").height == 750
        assert rest.truth == whole.truth

    def test_everything_may_go(self) -> None:
        frame = simulate(items=5, missing=1.0).frame
        assert frame.height == 0
        assert frame.columns == ["item", "annotator", "label", "time"]

    @pytest.mark.parametrize("estimate", [flat, edge])
    def test_removal_at_random_keeps_the_expectation(self, estimate: Any) -> None:
        differences = []
        for seed in range(100):
            simulation = simulate(items=60, annotators=6, per_item=6, missing=0.4, seed=seed)
            differences.append(estimate(simulation.frame) - simulation.truth)
        assert_centred(differences)


class TestAdaptive:
    def test_more_are_asked_exactly_where_the_first_two_disagree(self) -> None:
        frame = simulate(items=400, per_item=5, adaptive=True).frame
        two = first_two(frame).group_by("item").agg(agree=pl.col("label").n_unique() == 1)
        asked = frame.group_by("item").len().join(two, on="item")
        assert set(asked.filter("agree")["len"]) == {2}
        assert set(asked.filter(~pl.col("agree"))["len"]) == {5}

    def test_a_range_is_drawn_where_they_disagree(self) -> None:
        frame = simulate(items=2000, per_item=(2, 4), adaptive=True).frame
        assert set(frame.group_by("item").len()["len"]) == {2, 3, 4}

    def test_it_breaks_the_assumption_and_the_first_two_mend_it(self) -> None:
        runs = [simulate(items=100, annotators=15, per_item=6, adaptive=True, seed=s) for s in range(60)]
        assert_centred([flat(first_two(run.frame)) - run.truth for run in runs])
        assert np.mean([flat(run.frame) - run.truth for run in runs]) > 0.1
        assert np.mean([edge(run.frame) - run.truth for run in runs]) < -0.1


class TestShape:
    def test_full_data(self) -> None:
        frame = simulate(items=30, annotators=4, per_item=4).frame
        assert frame.select("item", "annotator").n_unique() == frame.height == 120

    def test_names(self) -> None:
        frame = simulate(items=1000, annotators=5, classes=3).frame
        assert frame["item"][0] == "item0001"
        assert frame["item"][-1] == "item1000"
        assert set(frame["annotator"]) == {"a01", "a02", "a03", "a04", "a05"}
        assert set(frame["label"]) == {"A", "B", "C"}
        assert frame.schema["time"] == pl.Int64

    def test_time_increases_item_by_item(self) -> None:
        frame = simulate(items=50, per_item=(1, 4), missing=0.2).frame
        assert frame["time"].is_sorted()
        assert frame["time"].n_unique() == frame.height
        assert frame["item"].is_sorted()

    def test_overlap_covers_its_range_evenly(self) -> None:
        sizes = simulate(items=40_000, per_item=(2, 5)).frame.group_by("item").len()["len"]
        seen = Counter(sizes.to_list())
        assert sorted(seen) == [2, 3, 4, 5]
        assert all(abs(count - 10_000) < SIGMAS * np.sqrt(7_500) for count in seen.values())

    def test_classes_follow_the_skew(self) -> None:
        labels = simulate(items=50_000, classes=3, skew=1.0, quality=1.0).frame["label"]
        share = labels.value_counts().sort("label")["count"].to_numpy() / len(labels)
        assert share == pytest.approx(np.array([6, 3, 2]) / 11, abs=0.01)

    def test_the_first_annotator_is_the_least_careful(self) -> None:
        assert simulate(annotators=5, quality=(0.5, 0.9)).quality == pytest.approx(
            {"a01": 0.5, "a02": 0.6, "a03": 0.7, "a04": 0.8, "a05": 0.9}
        )

    @pytest.mark.parametrize("annotators", [6, 11])
    def test_every_ordered_pair_of_annotators_is_equally_likely(self, annotators: int) -> None:
        """Six are shuffled, eleven are drawn one after the other."""
        items, pairs = 60_000, annotators * (annotators - 1)
        drawn = module._draw_annotators(items, 2, annotators, np.random.default_rng(0))
        seen = Counter(map(tuple, drawn.tolist()))
        assert len(seen) == pairs
        assert all(one != other for one, other in seen)
        expected = items / pairs
        assert all(abs(count - expected) < SIGMAS * np.sqrt(expected) for count in seen.values())

    def test_nobody_annotates_an_item_twice(self) -> None:
        for annotators in (9, 40, 200):
            frame = simulate(items=3000, annotators=annotators, per_item=9).frame
            assert frame.select("item", "annotator").n_unique() == frame.height

    def test_blocks_join_without_a_seam(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "CELLS_AT_ONCE", 64)
        simulation = simulate(items=5000, per_item=(2, 4), quality=1.0, seed=1)
        assert simulation.frame["item"].n_unique() == 5000
        assert simulation.frame["time"].to_list() == list(range(1, simulation.frame.height + 1))
        assert flat(simulation.frame) == pytest.approx(simulation.truth, abs=0.03)

    @pytest.mark.parametrize("heterogeneity", [1e-300, 1e-9, 2e-9, 1 - 2e-9, 1 - 1e-12])
    @pytest.mark.parametrize(("classes", "skew"), [(3, 0.0), (500, 10.0)])
    def test_extremes_stay_finite(self, heterogeneity: float, classes: int, skew: float) -> None:
        simulation = simulate(items=50, classes=classes, skew=skew, heterogeneity=heterogeneity)
        assert 0.0 < simulation.truth <= 1.0
        assert simulation.frame.null_count().sum_horizontal().item() == 0


class TestSeed:
    def test_the_parameters_make_it_again(self) -> None:
        one = simulate(items=40, per_item=(2, 3), quality=(0.2, 0.4), seed=9)
        assert simulate(**one.parameters).frame.equals(one.frame)


NAN, INF = float("nan"), float("inf")
WRONG: dict[str, list[Any]] = {
    "items": [0, 2.5, "many"], "annotators": [1], "classes": [0], "seed": [-1], "missing": [1.5],
    "skew": [-0.1, INF], "heterogeneity": [1.1, None], "quality": [NAN, (0.5, 2), (0.9, 0.5), ()],
    "per_item": [0, (1, 2, 3), (5, 2), ("a", 2), 21],
}  # fmt: skip


class TestBadParameters:
    @pytest.mark.parametrize(("name", "value"), [(name, each) for name, values in WRONG.items() for each in values])
    def test_are_refused_by_name(self, name: str, value: Any) -> None:
        with pytest.raises(UsageError, match=rf"^{name}: found .*; give "):
            simulate(**{name: value})

    @pytest.mark.parametrize("asked", [1, 2, (1, 4), (2, 2)])
    def test_adaptive_needs_someone_to_ask(self, asked: Any) -> None:
        with pytest.raises(UsageError, match=r"per_item: found .* with adaptive overlap; give 3 or more"):
            simulate(per_item=asked, adaptive=True)

    @pytest.mark.parametrize("given", [{"adaptive": True, "per_item": 4}, {"quality": 0}], ids=str)
    def test_spans_need_someone_who_marks_whatever_others_did(self, given: dict[str, Any]) -> None:
        with pytest.raises(UsageError, match="spans"):
            simulate(spans=True, **given)


@pytest.mark.parametrize(
    "request_",
    [
        {"items": 10**12},
        {"annotators": 10**13},
        {"classes": 10**13},
        {"items": 10**9, "annotators": 10**6, "per_item": 10**6},
    ],
    ids=str,
)
def test_a_request_that_no_memory_holds_is_refused_at_once(request_: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="GB of memory"):
        simulate(**request_)


def test_marks_are_unbiased_for_their_truth() -> None:
    differences = []
    for seed in range(25):
        drawn = simulate(items=80, annotators=6, per_item=(2, 4), quality=(0.5, 1.0), spans=True, seed=seed)
        differences.append(float(spagree.measure_spans(drawn.frame).exact) - drawn.truth)
    assert_centred(differences)


def test_the_truth_of_marks_by_hand() -> None:
    certain = simulate(items=50, annotators=4, quality=1.0, heterogeneity=1.0, spans=True)
    assert certain.truth == pytest.approx(1.0) == spagree.measure_spans(certain.frame).exact.value
    # both see it (¼), with the same label (¼·1 + ¾·½) and the same end (¼ + ¾·⅓), of the half that each marks
    half = simulate(items=50, annotators=4, quality=0.5, heterogeneity=1.0, classes=2, spans=True)
    assert half.truth == pytest.approx(0.25 * (0.25 + 0.375) * 0.5 / 0.5)


def test_everybody_who_saw_a_text_has_a_row() -> None:
    drawn = simulate(items=200, annotators=5, per_item=3, quality=0.3, missing=0.1, spans=True)
    empty = drawn.frame.filter(pl.col("label").is_null())
    assert empty.height and empty.select("start", "end").null_count().row(0) == (empty.height, empty.height)
    assert drawn.frame.select("item", "annotator").n_unique() == 540
    assert (drawn.frame.drop_nulls()["end"] > drawn.frame.drop_nulls()["start"]).all()
