"""The simulated data is what it says, and its truth is the truth."""

from __future__ import annotations

import gzip
import importlib
import itertools
import os
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from spagree.errors import FileError, UsageError
from spagree.simulation import Simulation, simulate

module: Any = importlib.import_module("spagree.simulation")
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
    design = module._checked(simulation.parameters)
    rng = np.random.default_rng(simulation.parameters["seed"])
    return np.asarray(module._item_distributions(design, design.items, rng))


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

    def test_unequal_pair_by_hand(self) -> None:
        """Two annotators, one who always looks and one who never does: agreement is chance."""
        assert simulate(annotators=2, per_item=2, quality=(0.0, 1.0), classes=4).truth == 0.25

    def test_heterogeneity_is_the_kappa_of_careful_annotators(self) -> None:
        simulation = simulate(items=200_000, classes=4, skew=0.8, heterogeneity=0.35, quality=1.0)
        chance = float(np.square(module._class_frequencies(4, 0.8)).sum())
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
        for seed in range(300):
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
        for seed in range(300):
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
        runs = [simulate(items=100, annotators=15, per_item=6, adaptive=True, seed=s) for s in range(200)]
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

    def test_class_names(self) -> None:
        assert module._class_names(26)[-1] == "Z"
        many = module._class_names(400)
        assert many[0] == "c001"
        assert len(set(many)) == 400

    def test_many_annotators_have_names_of_one_width(self) -> None:
        assert {len(name) for name in simulate(items=2, annotators=1000).quality} == {5}

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
    def test_the_same_seed_gives_the_same_data(self) -> None:
        one, other = simulate(seed=5, missing=0.1), simulate(seed=5, missing=0.1)
        assert one.frame.equals(other.frame)
        assert one.truth == other.truth

    def test_another_seed_gives_other_data(self) -> None:
        one, other = simulate(seed=5), simulate(seed=6)
        assert not one.frame.equals(other.frame)
        assert one.truth != other.truth

    def test_the_parameters_make_it_again(self) -> None:
        one = simulate(items=40, per_item=(2, 3), quality=(0.2, 0.4), seed=9)
        assert simulate(**one.parameters).frame.equals(one.frame)


class TestBadParameters:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"items": 0}, "items: found 0; give a whole number, 1 or more"),
            ({"items": 2.5}, "items: found 2.5; give a whole number, 1 or more"),
            ({"items": "many"}, "items: found 'many'; give a whole number, 1 or more"),
            ({"annotators": 1}, "annotators: found 1; give a whole number, 2 or more"),
            ({"classes": 0}, "classes: found 0; give a whole number, 1 or more"),
            ({"seed": -1}, "seed: found -1; give a whole number, 0 or more"),
            ({"skew": -0.1}, "skew: found -0.1; give a number from 0 to 10"),
            ({"skew": float("inf")}, "skew: found inf; give a number from 0 to 10"),
            ({"heterogeneity": 1.1}, "heterogeneity: found 1.1; give a number from 0 to 1"),
            ({"heterogeneity": None}, "heterogeneity: found None; give a number from 0 to 1"),
            ({"quality": float("nan")}, "quality: found nan; give a number from 0 to 1"),
            ({"quality": (0.5, 2)}, "quality: found 2; give a number from 0 to 1"),
            ({"quality": (0.9, 0.5)}, "quality: found (0.9, 0.5); give one number, or two as (low, high)"),
            ({"quality": ()}, "quality: found (); give one number, or two as (low, high)"),
            ({"missing": 1.5}, "missing: found 1.5; give a number from 0 to 1"),
            ({"per_item": 0}, "per_item: found 0; give a whole number, 1 or more"),
            ({"per_item": (1, 2, 3)}, "per_item: found (1, 2, 3); give one number, or two as (low, high)"),
            ({"per_item": (5, 2)}, "per_item: found (5, 2); give one number, or two as (low, high)"),
            ({"per_item": ("a", 2)}, "per_item: found 'a'; give a whole number, 1 or more"),
            (
                {"per_item": 21},
                "per_item: found 21 with 20 annotators; give at most 20, or raise annotators",
            ),
        ],
    )
    def test_are_refused_by_name(self, given: dict[str, Any], message: str) -> None:
        with pytest.raises(UsageError) as caught:
            simulate(**given)
        assert str(caught.value) == message

    @pytest.mark.parametrize("asked", [1, 2, (1, 4), (2, 2)])
    def test_adaptive_needs_someone_to_ask(self, asked: Any) -> None:
        with pytest.raises(UsageError, match=r"per_item: found .* with adaptive overlap; give 3 or more"):
            simulate(per_item=asked, adaptive=True)


class TestSave:
    def test_csv(self, tmp_path: Path) -> None:
        simulation = simulate(items=20)
        path = simulation.save(tmp_path / "data.csv")
        assert pl.read_csv(path).equals(simulation.frame)
        assert path.read_bytes().startswith(b"item,annotator,label,time\nitem01,")

    def test_gzip_has_the_same_bytes_every_time(self, tmp_path: Path) -> None:
        simulation = simulate(items=20)
        one, other = simulation.save(tmp_path / "1.csv.gz"), simulation.save(tmp_path / "2.CSV.GZ")
        assert one.read_bytes() == other.read_bytes()
        assert gzip.decompress(one.read_bytes()).decode() == simulation.frame.write_csv()

    def test_parquet(self, tmp_path: Path) -> None:
        simulation = simulate(items=20)
        assert pl.read_parquet(simulation.save(str(tmp_path / "data.parquet"))).equals(simulation.frame)

    @pytest.mark.parametrize("name", ["data.xlsx", "data", "data.gz", "data.csv.zip"])
    def test_other_endings_are_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(UsageError, match=r"give one of \.csv, \.csv\.gz, \.parquet"):
            simulate(items=2).save(tmp_path / name)
        assert not list(tmp_path.iterdir())

    def test_an_existing_file_stays(self, tmp_path: Path) -> None:
        path = tmp_path / "data.csv"
        path.write_text("precious")
        with pytest.raises(FileError, match="exists already"):
            simulate(items=2).save(path)
        assert path.read_text() == "precious"

    def test_force_replaces_it(self, tmp_path: Path) -> None:
        path = tmp_path / "data.csv"
        path.write_text("old")
        simulate(items=2).save(path, force=True)
        assert pl.read_csv(path).height == 6
        assert [one.name for one in tmp_path.iterdir()] == ["data.csv"]

    def test_no_such_folder(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match="cannot be written"):
            simulate(items=2).save(tmp_path / "nowhere" / "data.csv")

    def test_a_folder_is_not_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "data.csv").mkdir()
        with pytest.raises(FileError, match="cannot be written"):
            simulate(items=2).save(tmp_path / "data.csv", force=True)
        assert [one.name for one in tmp_path.iterdir()] == ["data.csv"]

    def test_an_interrupt_leaves_the_old_file_and_nothing_else(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(frame: pl.DataFrame, beside: Path) -> None:
            beside.write_text("item,annot")
            raise KeyboardInterrupt

        path = tmp_path / "data.csv"
        path.write_text("old")
        monkeypatch.setattr(pl.DataFrame, "write_csv", interrupted)
        with pytest.raises(KeyboardInterrupt):
            simulate(items=2).save(path, force=True)
        assert path.read_text() == "old"
        assert [one.name for one in tmp_path.iterdir()] == ["data.csv"]

    @pytest.mark.skipif(sys.platform == "win32", reason="limits on the size of files are a POSIX matter")
    @pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
    def test_a_full_disk_leaves_the_old_file_and_nothing_else(self, tmp_path: Path, ending: str) -> None:
        path = tmp_path / f"data.{ending}"
        path.write_text("old")
        script = (
            "import resource, sys\n"
            "from spagree.errors import FileError\n"
            "from spagree.simulation import simulate\n"
            "simulation = simulate(items=20_000)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
            "try:\n"
            "    simulation.save(sys.argv[1], force=True)\n"
            "except FileError as problem:\n"
            "    print(problem)\n"
        )
        command = [sys.executable, "-c", script, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "cannot be written" in done.stdout, done.stderr
        assert path.read_text() == "old"
        assert [one.name for one in tmp_path.iterdir()] == [path.name]

    @pytest.mark.skipif(os.name != "posix", reason="permission bits are a POSIX matter")
    def test_others_may_read_it_as_the_umask_says(self, tmp_path: Path) -> None:
        before = os.umask(0o022)
        try:
            path = simulate(items=2).save(tmp_path / "data.csv")
        finally:
            os.umask(before)
        assert stat.S_IMODE(path.stat().st_mode) == 0o644


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
