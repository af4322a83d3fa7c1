"""`spagree paper …`: every experiment in a small run, its tables and figures, what is said when something is missing."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

import spagree
from command import Run
from spagree.cli.app import cli
from spagree.studies import datasets, experiments
from spagree.studies.datasets import StandIn
from spagree.studies.experiments import EXPERIMENTS, PUBLISHED
from spagree.studies.rounds import Plan

NAMES = ("weight-curves", "class-curves", "samples", "annotations", "weighting", "unbiasedness")
SIGNATURES = {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven of the paper's sets, tiny, and one other; DAR is not there."""
    place = tmp_path_factory.mktemp("data")
    for number, name in enumerate([*list(PUBLISHED)[:-1], "pets"]):
        spagree.simulate(items=25, annotators=8, per_item=(2, 5), seed=number).save(place / f"{name}.csv")
    return place


@pytest.fixture(autouse=True, scope="module")
def small_stand_in() -> Any:
    """The stand-in of DAR, which has 115,000 items, made small."""
    patch = pytest.MonkeyPatch()
    small = replace(datasets.SOURCES["dar"], questions={"main_type": StandIn(10, (1, 3), 60)})
    patch.setitem(datasets.SOURCES, "dar", small)
    yield
    patch.undo()


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures take most of the time, and some tests are about tables alone."""
    monkeypatch.setattr("spagree.studies.experiments.save", lambda *_, **__: [])


def paper(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["paper", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture(scope="module")
def out(folder: Path, tmp_path_factory: pytest.TempPathFactory, small_stand_in: None) -> Path:
    place = tmp_path_factory.mktemp("out")
    done = paper("all", "--data", folder, "--rounds", 12, "--out", place)
    assert done.exit_code == 0
    assert [line.split(":")[0] for line in done.output.splitlines()] == list(NAMES)
    return place


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_writes_its_table_and_its_figures(name: str, out: Path) -> None:
    assert pl.read_csv(out / f"{name}.csv").height > 0
    for ending, signature in SIGNATURES.items():
        content = (out / f"{name}{ending}").read_bytes()
        assert signature in content[:300] and len(content) > 3000


@pytest.mark.parametrize("name", ["samples", "annotations", "weighting"])
def test_figures_and_tables_tell_simulated_from_real_data(name: str, out: Path) -> None:
    drawn = (out / f"{name}.svg").read_text("utf-8")
    assert "DAR, main_type (simulated stand-in)" in drawn and "MBIC, label<" in drawn
    assert drawn.count("mark-line") >= 16 and "NaN" not in drawn
    found = pl.read_csv(out / f"{name}.csv").select("data", "simulated").unique()
    assert all(simulated == data.endswith("_simulated") for data, simulated in found.rows())
    assert ("dar_main_type_simulated", True) in found.rows() and ("fecg_label", False) in found.rows()


def test_the_caption_contains_the_proof(out: Path) -> None:
    drawn = (out / "weight-curves.svg").read_text("utf-8")
    assert "ζ1 = 1/C² − (1/C)² = 0" in drawn and "12 rounds" not in drawn


def test_weighting_has_all_schemes_bias_and_squared_error(out: Path) -> None:
    rows = pl.read_csv(out / "weighting.csv")
    assert set(rows["scheme"]) == set(spagree.SCHEMES)
    assert set(rows["data"]) == {*list(PUBLISHED)[:-1], "dar_main_type_simulated", "pets"}
    gap = rows["mse"] - rows["variance"] - rows["bias"] ** 2
    assert gap.abs().max() < 1e-15
    assert rows.filter(pl.col("scheme") == "flat")["variance_minus_flat"].abs().max() == 0
    edge, inv_var = (rows.filter(pl.col("scheme") == name)["mean"] for name in ("edge", "inv_var"))
    assert edge.equals(inv_var.rename("mean"))


def test_the_table_quotes_the_paper_above_ours(out: Path) -> None:
    shown = (out / "weighting-table.md").read_text("utf-8")
    assert "| MBIC, label | paper, variance | −0.4681 | 0.0000 | −0.8458 | **−1.0929** | −0.4681 | *−0.8676* |" in shown
    rows = pl.read_csv(out / "weighting-table.csv")
    assert rows["sum of"].to_list() == ["paper, variance", "spagree, variance", "spagree, mse"] * 8
    quoted = rows.filter(pl.col("sum of") == "paper, variance")["data"].to_list()
    assert quoted[-1] == "DAR, main_type"  # what the paper measured was not simulated, whatever we had
    assert rows["data"][-1] == "DAR, main_type (simulated stand-in)"
    ours = [line for line in shown.splitlines() if "spagree, variance" in line]
    assert all(re.search(r" \*\*[−\d]", line) for line in ours)


def test_a_second_run_makes_the_same_files_without_running_again(
    folder: Path, out: Path, monkeypatch: pytest.MonkeyPatch, undrawn: None
) -> None:
    from spagree.studies import rounds

    before = {path: path.read_bytes() for path in out.glob("*.csv")}
    monkeypatch.setattr(rounds, "load_kernels", lambda: None)  # rounds would fail if they were run
    done = paper("all", "--data", folder, "--rounds", 12, "--out", out)
    assert done.exit_code == 0
    assert {path: path.read_bytes() for path in out.glob("*.csv")} == before


def test_force_runs_everything_once_more(folder: Path, tmp_path: Path, undrawn: None) -> None:
    for flags in ([], ["--force"]):
        done = paper("run", "annotations", "weighting", "--data", folder, "--rounds", 3, "--out", tmp_path, *flags)
        assert done.exit_code == 0
    assert len(list((tmp_path / experiments.KEPT).glob("*.npz"))) == 8 + 8 + 1  # both kinds, and pets for weighting


def test_other_seeds_and_rounds_are_other_results(folder: Path, tmp_path: Path, undrawn: None) -> None:
    tables = []
    for seed in (0, 0, 1):
        paper("run", "annotations", "--data", folder, "--rounds", 4, "--seed", seed, "--out", tmp_path)
        tables.append((tmp_path / "annotations.csv").read_text())
    assert tables[0] == tables[1] != tables[2]


def test_without_data_everything_is_simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undrawn: None) -> None:
    for key, source in datasets.SOURCES.items():
        small = replace(source, questions=dict.fromkeys(source.questions, StandIn(3, (2, 4), 30)))
        monkeypatch.setitem(datasets.SOURCES, key, small)
    assert paper("run", "weighting", "--rounds", 4, "--out", tmp_path).exit_code == 0
    assert pl.read_csv(tmp_path / "weighting.csv")["simulated"].all()


def test_list_in_words_and_as_json() -> None:
    shown = paper("list").output
    assert [line.split()[0] for line in shown.splitlines()] == list(NAMES) == list(EXPERIMENTS)
    assert json.loads(paper("list", "--json").output) == {name: about for name, (about, _) in EXPERIMENTS.items()}


def test_written_files_as_json(tmp_path: Path) -> None:
    found = json.loads(paper("run", "weight-curves", "--out", tmp_path, "--json").output)
    assert sorted(found["weight-curves"]) == sorted(str(tmp_path / f"weight-curves{e}") for e in (".csv", *SIGNATURES))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["run", "wieghting"], 2, "did you mean 'weighting'?"),
        (["run", "weighting", "--data", "nowhere"], 4, "no such folder"),
        (["run", "weight-curves", "--out", "taken"], 4, "choose another --out"),
        (["all", "--rounds", 1], 2, "--rounds"),
    ],
)
def test_what_cannot_be_run_is_refused(
    arguments: list[object], code: int, message: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("")
    found, _, err = run("paper", *arguments)
    assert (found, message in err) == (code, True), err


@pytest.mark.parametrize(("library", "extra"), [("numba", "studies"), ("altair", "charts"), ("vl_convert", "charts")])
def test_a_missing_library_names_its_extra(
    library: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, "spagree.studies.kernels", raising=False)
    monkeypatch.delattr("spagree.studies.kernels", raising=False)
    with pytest.raises(spagree.MissingExtraError, match=rf"spagree\[{extra}\]"):
        paper("run", "weight-curves", "--out", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_bars_are_drawn_on_a_terminal_only(capsys: pytest.CaptureFixture[str]) -> None:
    with experiments.progress_bars() as bar:
        bar("annotations: X", 3)(3)
    assert "annotations" not in capsys.readouterr().err


def test_samples_has_the_closed_form_beside_the_simulation(out: Path) -> None:
    rows = pl.read_csv(out / "samples.csv")
    assert rows.columns == ["data", "simulated", "n", "samples", "annotations", "mean", "variance", "theory"]
    assert (rows["annotations"] == rows["n"] * rows["samples"]).all()
    assert (rows["theory"] >= 0).all() and rows["variance"].min() >= 0
    full = rows.filter(pl.col("data") == "mbic_label", pl.col("n") == 2).sort("samples")
    assert full["samples"].max() == 25


def test_annotations_has_sparse_and_constant_designs(out: Path) -> None:
    rows = pl.read_csv(out / "annotations.csv")
    assert set(rows["design"]) == {"sparse", "constant"}
    assert rows.filter(pl.col("design") == "sparse")["n"].null_count() == rows.filter(pl.col("n").is_null()).height > 0
    assert set(rows.filter(pl.col("data") == "mbic_label")["n"].drop_nulls()) == {2, 3, 4, 5}
    last = rows.filter(pl.col("design") == "sparse").group_by("data").agg(pl.col("variance").last())
    assert last["variance"].to_list() == [0.0] * 8


def test_tables_keep_full_precision_and_columns_that_begin_empty(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 1 / 3, 2.0**-1040, 1e308]
    path = experiments.Study(tmp_path).table("exact", [{"value": None}] * 200 + [{"value": value} for value in values])
    assert pl.read_csv(path, infer_schema_length=None)["value"].drop_nulls().to_list() == values


def test_an_interrupted_run_resumes_where_it_stopped(folder: Path, tmp_path: Path, undrawn: None) -> None:
    """Stopped at the third data set; the second run makes only what is missing."""
    seen: list[str] = []

    def stop_at_third(description: str, _total: int) -> Any:
        seen.append(description)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return lambda _: None

    def weigh(bar: Any) -> None:
        plan = Plan(rounds=3, folder=tmp_path / "kept", bar=bar)
        EXPERIMENTS["weighting"][1](experiments.Study(tmp_path, folder, plan))

    with pytest.raises(KeyboardInterrupt):
        weigh(stop_at_third)
    assert len(list((tmp_path / "kept").iterdir())) == 2
    again: list[str] = []
    weigh(lambda description, _: again.append(description) or (lambda _: None))
    assert len(again) == 9 - 2 and not set(seen[:2]) & set(again)


def test_figures_and_tables_name_no_place_of_this_machine(out: Path, folder: Path) -> None:
    for path in (*out.glob("*.csv"), *out.glob("*.md"), *out.glob("*.svg")):
        assert str(folder) not in path.read_text("utf-8") and str(out) not in path.read_text("utf-8")
