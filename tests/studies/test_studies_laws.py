"""What statistics says about the rounds, and an implementation that shares no line with the kernels.

Simulations with a fixed seed: they cannot fail by chance, and their margins are several standard errors wide.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from test_studies_kernels import make, simulated

import spagree
from spagree.studies import experiments
from spagree.studies.datasets import other_sets, paper_sets
from spagree.studies.rounds import Plan, annotation_curves, annotation_values

ROOT = Path(__file__).parents[2]
REAL = ROOT.parent / "shared" / "data"


BALANCED = simulated(items=40, annotators=6, classes=3, per_item=6, heterogeneity=0.5, skew=0.5, seed=8)


def test_weights_that_depend_on_n_are_unbiased_on_balanced_data_all_along_the_curve() -> None:
    _, values, _ = annotation_values(BALANCED, Plan(4000, 1))
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
    steps, values, paired = annotation_values(data, Plan(6000, 2))
    complete = paired / 2
    spread = np.var([1.0] * 30 + [0.0] * 20, ddof=1)
    for step in range(len(steps) * 2 // 5, len(steps) - 1, 6):
        theory = ((1 - complete[:, step] / 50) * spread / complete[:, step]).mean()
        found = values[:, step, experiments.FLAT].var(ddof=1)
        assert found == pytest.approx(theory, rel=0.1)


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
