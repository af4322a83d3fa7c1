"""The studies behind docs/studies still run: one setting of each, two rounds. The long runs are in the Makefile."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture(autouse=True)
def studies(monkeypatch: pytest.MonkeyPatch) -> None:
    if not FOLDER.is_dir():
        pytest.skip("the benchmarks are not beside these tests")
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])


def module(name: str) -> Any:
    return importlib.import_module(name)


def test_interval_coverage() -> None:
    row = module("interval_coverage").cover("varied", 0.9, 100, "2–5", rounds=2)
    assert {"annotations_m1", "false alarms"} <= set(row) and 0 <= row["annotations_m1"] <= 1


def test_chance_correction() -> None:
    row = module("kappa_study").study("skewed", 0.5, 20, rounds=2)
    assert 0 <= row["spa_kappa coverage"] <= 1


def test_rare_classes_and_calibration_sets() -> None:
    study = module("rare_and_uneven")
    row = study.rare_classes("annotators err", 0.1, 0.5, 40, "2–5", rounds=2)
    assert {0.0, 0.5, 1.0} >= {row[name] for name in study.KAPPAS}
    assert study.calibration("10% of 20", 0.9, rounds=2)["spa width"] > 0


def test_kappas_on_other_data() -> None:
    study = module("kappa_validation")
    for kind in study.KINDS:
        rows = list(study.coefficients((kind, (0.5, 0.5), 0.4, 40, "2–7"), 2))
        assert [row["sets"] for row in rows] == [2, 2, 2]
    pair = study.cohen(0.4, (0.05, 0.01), 40, 2)
    assert 0.6 < pair["kappa"] < 0.9 and pair["sets"] == 2
    assert "cohen_kappa" in study.report([*rows, pair], 2)


def test_the_audit() -> None:
    """One setting of every part; the kappa and agreement of the generators are what they are called."""
    study = module("audit")
    random = study.np.random.default_rng(1)
    for kind in study.KINDS.values():
        p = kind(0.05, 0.5, 200_000, random)
        assert p.mean() == pytest.approx(0.05, abs=0.005)
        assert p.var() / (0.05 * 0.95) == pytest.approx(0.5, abs=0.03)
    rows = []
    for part, draws in study.PARTS.items():
        rows += [row for _, row in zip(range(3 if part == "kappas" else 1), draws(2), strict=False)]
    assert [row["part"] for row in rows] == [*study.KAPPAS, "cohen_kappa", "spa", "clusters"]
    usual = {"part": "cohen_kappa", "data": "0.3 and 0.3", "kappa": 0.6, "items": 40, "each": "2", "covers": 1.0}
    assert "lowest coverage" in study.report([*rows, usual | {"times plain": 1.0, "sets": 2}])


def test_the_audit_of_people_and_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agreement of the generator is what it says it is; a setting of every part makes a page."""
    study = module("audit_people")
    many = study.Project("many", people=300, items=3000, each=(5,), alike=10.0, spammers=0.2)
    found = study.spa_of(study.tally_of(many.draw(study.np.random.default_rng(1))))
    assert float(found) == pytest.approx(many.truth, abs=0.02)
    for name in ("ALIKE", "ODD", "TEAMS", "SPAMMED", "PILOTS"):
        monkeypatch.setattr(study, name, getattr(study, name)[-2:])
    rows = [row for part in study.PARTS.values() for row in part(4)]
    assert [row["part"] for row in rows] == ["naming"] * 4 + ["teams"] * 2 + ["spammers"] * 2 + ["plans"] * 2
    assert "always gives one label, one class in ten" in study.report(rows, 4)


def test_the_audit_of_designs() -> None:
    """A row of every part makes a page."""
    study = module("audit_designs")
    parts = (study.assumption, study.adjudicated, study.near_duplicates, study.scales)
    rows = [row for part in parts for _, row in zip(range(2), part(2), strict=False)]
    assert [row["part"] for row in rows] == [
        each for name in ("assumption", "adjudicated", "near-duplicates", "scales") for each in [name] * 2
    ]
    assert "a third where two differ" in study.report(rows, 2)


def test_the_page_of_people_and_plans_follows_its_table() -> None:
    study = module("audit_people")
    rows = study.stored()
    page = (study.FOLDER / "audit-people.md").read_text("utf-8")
    assert page == study.report(rows, int(rows[0]["sets"]))
    nobody = [row["wrongly"] for row in rows if row["part"] == "naming"]
    assert max(nobody) <= 0.05 + 2 * (0.05 * 0.95 / rows[0]["sets"]) ** 0.5


def test_the_page_of_the_audit_follows_its_table() -> None:
    study = module("audit")
    assert (study.FOLDER / "audit.md").read_text("utf-8") == study.report(study.stored())


def test_the_page_of_comparisons_follows_its_tables() -> None:
    study = module("comparison_coverage")
    page = (study.FOLDER / "comparisons.md").read_text("utf-8")
    assert study.differences_text() in page and study.few_text() in page
    verdicts = study.table("verdicts")
    for row in verdicts:
        row["second round"] = f"{float(row['gap']):+.3f}".replace("-", "−") if float(row["gap"]) else "the same"
    for figure in ("agrees_less", "gate_passes"):
        assert study.grid(verdicts, "second round", "items", figure) in page
    wrong = [float(row["agrees_less"]) + float(row["agrees_more"]) for row in verdicts if not float(row["gap"])]
    assert f"a difference is reported in {study.span(wrong)}" in page
    assert max(wrong) <= 0.05 + 2 * (0.05 * 0.95 / 2500) ** 0.5


def test_naming() -> None:
    study = module("naming")
    rows = [study.study(study.NOBODY[0], 0, 2), study.study(study.SOMEBODY[-3], 1, 2)]
    assert rows[1]["found by one_label"] == 1.0
    assert "always the same label" in study.report(rows, 2)


def test_annotator_coverage() -> None:
    study = module("annotator_coverage")
    row = study.cover(study.Setting(10, "2–3", "beta(6, 2)", "Zipf"), 2)
    assert row["width_annotators"] > row["width_items"] > 0 and row["undefined"] == 0


def test_default_weights_and_teams(tmp_path: Path) -> None:
    rows = ["item,annotator,label"]
    rows += [f"q{item},p{(item + who) % 8},{'xy'[(item * who) % 3 == 0]}" for item in range(80) for who in range(6)]
    (tmp_path / "set.csv").write_text("\n".join(rows))
    weights, teams = module("default_weights"), module("teams")
    weights.SIZES = (50,)
    found = list(weights.study(tmp_path, 2))
    assert [row["design"] for row in found] == ["thinning", "calibration"] and "Random thinning" in weights.report(
        found, 2
    )
    team = list(teams.study(tmp_path, 2))
    assert [row["team"] for row in team] == [3, 4, 5] and "Small teams" in teams.report(team, 2)


def test_watching() -> None:
    study, page = module("watching"), module("watching_page")
    quiet = study.quiet(0, 1)
    assert quiet["paused"] == 1.0 and 0 < quiet["fixed_half"] < quiet["half"] < 0.1
    ran = lambda _, simulated, times: [simulated(seed) for seed in range(times)]  # noqa: E731
    study.AFTER, study.LENGTHS = 200, (1000,)
    drops = study._drops(ran, study.EARLY, 0.3, 2)
    assert drops["drop 500 oracle delay"] <= drops["drop 500 life delay"] <= drops["drop 500 ours delay"]
    assert {drops[f"drop 500 {law} delay"] for law in study.TOLD} <= {200.0, 1e9} and 0.08 < drops[
        "batches differ"
    ] < 0.11
    assert [study.long_run(law, 1).keys() == {"1000"} for law in study.LAWS] == [True] * 3
    assert page._ratio({"x ours delay": 30.0, "x oracle delay": 20.0}, "x", "ours", "oracle") == "1.5"
    rates = page._rate(0.5, 100), page._rate(0.0, 100), page._rate(0.0, 6000)
    assert rates == ("50.0% ± 5.0%", "none (< 3.0%)", "none (< 0.05%)")


def test_clusters() -> None:
    study = module("cluster_coverage")
    row = study.study(study.Setting(20, 5, 1.0, uneven=True), 2)
    assert {row["plain covers"], row["clusters covers"], row["clusters alarms"]} <= {0.0, 0.5, 1.0}
    assert row["clusters width"] > row["plain width"] > 0
