"""What statistics says about the rounds, and an implementation that shares no line with the kernels.

Simulations with a fixed seed: they cannot fail by chance, and their margins are several standard errors wide.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest
from test_studies_kernels import SETS, in_order, make, simulated

import spagree
from spagree.studies import experiments
from spagree.studies.datasets import LabelSet, other_sets, paper_sets
from spagree.studies.rounds import Plan, annotation_curves, annotation_values, checkpoints

ROOT = Path(__file__).parents[2]
REAL = ROOT.parent / "shared" / "data"


def benchmark() -> ModuleType:
    """The plain implementations that the kernels are timed against."""
    spec = importlib.util.spec_from_file_location("plain", ROOT / "benchmarks" / "studies.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def class_counts(data: LabelSet, chosen: np.ndarray) -> np.ndarray:
    counts = np.zeros((data.items, data.classes))
    np.add.at(counts, (data.item[chosen], data.label[chosen]), 1)
    return counts


@pytest.mark.parametrize("name", SETS)
def test_vectorised_numpy_finds_the_same(name: str) -> None:
    """What the benchmark compares with does the same work."""
    data, plain = SETS[name], benchmark()
    order = np.random.default_rng(2).permutation(data.annotations)
    steps = checkpoints(data.annotations, 9)
    values, _ = in_order(data, order, steps)
    expected = [plain.numpy_schemes(class_counts(data, order[:step])) for step in steps]
    assert np.allclose(values, expected, rtol=1e-10, atol=1e-12, equal_nan=True)


def test_one_round_of_the_live_tally_ends_where_the_kernel_ends() -> None:
    data = SETS["constant"]
    found = benchmark().live_round(data, seed=1)
    assert len(found) == min(100, data.annotations)
    _, values, _ = annotation_values(data, 1, seed=0)
    assert found[-1] == pytest.approx(values[0, -1].tolist(), rel=1e-12)


BALANCED = simulated(items=40, annotators=6, classes=3, per_item=6, heterogeneity=0.5, skew=0.5, seed=8)


def test_weights_that_depend_on_n_are_unbiased_on_balanced_data_all_along_the_curve() -> None:
    _, values, _ = annotation_values(BALANCED, 4000, seed=1)
    kept = ~np.isnan(values).any(axis=(0, 2))
    values = values[:, kept]
    full = values[0, -1, experiments.FLAT]
    error = values.std(axis=0) / np.sqrt(len(values))
    gap = np.abs(values.mean(axis=0) - full)
    for scheme in ("flat", "annotations", "annotations_m1", "edge", "inv_var"):
        place = spagree.SCHEMES.index(scheme)
        assert (gap[:, place] <= 4.5 * error[:, place] + 1e-12).all()


def test_on_unbalanced_data_the_schemes_end_at_different_values() -> None:
    data = make(["aaaaaaaa", "ab", "bc", "ca"] * 5)
    found = annotation_curves(data, Plan(rounds=50))
    flat, edge = found.mean[-1, experiments.FLAT], found.mean[-1, spagree.SCHEMES.index("edge")]
    assert (flat, edge) == (pytest.approx(0.25), pytest.approx(28 / 31))
    error = experiments.squared_error(found)
    assert error[-1, experiments.FLAT] == 0 and error[-1, spagree.SCHEMES.index("edge")] == pytest.approx(
        (edge - flat) ** 2
    )


def test_items_with_two_annotations_have_the_variance_of_sampling_without_replacement() -> None:
    """Pairs only: given M complete items, SPA is the mean of M of I values, of variance (1 − M/I)·S²/M."""
    data = make(["aa"] * 30 + ["ab"] * 20)  # from a third of the annotations on every round has a pair
    steps, values, paired = annotation_values(data, 6000, seed=2)
    complete = paired / 2
    spread = np.var([1.0] * 30 + [0.0] * 20, ddof=1)
    for step in range(len(steps) * 2 // 5, len(steps) - 1, 6):
        theory = ((1 - complete[:, step] / 50) * spread / complete[:, step]).mean()
        found = values[:, step, experiments.FLAT].var(ddof=1)
        assert found == pytest.approx(theory, rel=0.1)


def test_all_schemes_are_one_when_no_item_has_more_than_two() -> None:
    _, values, _ = annotation_values(SETS["pairs only"], 20, seed=1)
    known = values[~np.isnan(values).any(axis=2)]
    assert (np.abs(known - known[:, :1]) < 1e-15).all()


real = pytest.mark.skipif(not REAL.is_dir(), reason="real data is not beside this checkout")


@real
def test_the_papers_sets_are_recognised_among_the_real_files() -> None:
    found = {data.name: data for data in paper_sets(REAL)}
    assert {name for name, data in found.items() if data.simulated} == {
        "fecg_label_simulated",
        "dar_main_type_simulated",
    }
    assert (found["mbic_label"].items, found["mbic_label"].annotations) == (1700, 17_775)
    assert (found["bsmtwe_anger_vs_fear"].items, found["bsmtwe_anger_vs_fear"].per_item.max()) == (4553, 6)
    others = {data.name for data in other_sets(REAL)}
    assert {"dar_sample", "fecg_sample", "convabuse"} <= others and not others & set(found)


@real
def test_a_short_run_on_mbic_shows_what_the_paper_found() -> None:
    """annotations_m1 beats flat by far and edge clearly."""
    data = next(data for data in paper_sets(REAL) if data.name == "mbic_label")
    curves = annotation_curves(data, Plan(rounds=400))
    assert curves.mean[-1, experiments.FLAT] == pytest.approx(0.618118, abs=5e-7)
    sums = experiments.sums_under_curve(curves.variance)
    assert sums["annotations_m1"] < sums["edge"] < 0


DOCS = ROOT / "docs" / "paper"


def cells(line: str) -> list[str]:
    return [cell.strip().strip("*") for cell in line.strip("|").split("|")]


def figures(line: str) -> list[float]:
    return [float(cell.replace("−", "-")) for cell in cells(line) if cell.replace("−", "-").lstrip("-")[:1].isdigit()]


def test_the_table_of_sums_on_the_page_is_the_one_that_was_written() -> None:
    page = (DOCS / "README.md").read_text("utf-8").splitlines()
    rows = pl.read_csv(DOCS / "weighting-table.csv").rows(named=True)
    shown = [line for line in page if "| spagree, " in line or "| paper, " in line]
    assert len(shown) == len(rows) == 24
    for line, row in zip(shown, rows, strict=True):
        assert cells(line)[:2] == [row["data"], row["sum of"]]
        values = [row[name] for name in experiments.COLUMNS if row[name] is not None]
        assert figures(line) == pytest.approx([round(value, 4) for value in values], abs=1.1e-4)


def test_the_published_figures_on_the_page_are_the_papers() -> None:
    rows = pl.read_csv(DOCS / "weighting-table.csv").filter(pl.col("sum of") == "paper, variance")
    assert [tuple(row[2:8]) for row in rows.rows()] == list(experiments.PUBLISHED.values())


@pytest.mark.parametrize("name", ["weight-curves", "samples", "annotations", "weighting", "weighting-mse"])
def test_the_figures_of_the_page_are_small_and_complete(name: str) -> None:
    drawn = (DOCS / "figures" / f"{name}.svg").read_text("utf-8")
    assert drawn.startswith("<svg") and drawn.rstrip().endswith("</svg>")
    assert len(drawn) < 200_000
    assert "3,000 rounds" in drawn or name == "weight-curves"
    assert str(ROOT.parent) not in drawn
