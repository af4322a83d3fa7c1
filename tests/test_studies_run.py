"""The studies behind docs/studies still run: one setting of each, two rounds. `python -m benchmarks` has the long runs."""

from __future__ import annotations

import importlib
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"


Small = Callable[..., Any]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Small:
    """``small("clusters_study", CLUSTERS=(12,))``: a study with fewer settings."""
    if not FOLDER.is_dir():
        pytest.skip("the benchmarks are not beside these tests")
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])

    def study(name: str, **settings: Any) -> Any:
        for setting, value in settings.items():
            monkeypatch.setattr(module(name), setting, value)
        return module(name)

    return study


def module(name: str) -> Any:
    return importlib.import_module(name)


def test_every_study_and_benchmark_has_its_module_and_every_study_its_page() -> None:
    """The names that `python -m benchmarks` offers."""
    names = runpy.run_path(str(FOLDER / "__main__.py"), run_name="names")
    for each in (*names["STUDIES"].values(), *names["BENCHMARKS"].values()):
        assert (FOLDER / f"{each}.py").is_file(), each
    for each in names["STUDIES"]:
        assert (FOLDER.parent / "docs" / "studies" / f"{each}.md").is_file(), each
        assert f"({each}.md)" in (FOLDER.parent / "docs" / "studies" / "README.md").read_text("utf-8"), each


@pytest.mark.parametrize("kind", ["knowing", "confusing", "schools", "differing", "rating", "in_clusters"])
def test_the_truth_of_a_world_is_that_of_its_data(kind: str) -> None:
    """Agreement and class shares of many items are what the world says they are."""
    worlds = module("generators")
    make = {"knowing": (1.0,), "confusing": (0.8,), "schools": (0.3,), "differing": (0.5,), "rating": (1.2, 0.5)}
    world = getattr(worlds, kind)(*make.get(kind, (1.0, 0.5)))
    votes = world.votes(np.full(20_000, 3), np.random.default_rng(1))
    agreement, by_chance = world.truth()
    assert (votes * (votes - 1)).sum() / 120_000 == pytest.approx(agreement, abs=0.01)
    assert ((votes.sum(axis=0) / 60_000) ** 2).sum() == pytest.approx(by_chance, abs=0.01)


def test_a_world_is_found_for_an_agreement_or_a_kappa() -> None:
    worlds = module("generators")
    world = worlds.with_agreement(worlds.knowing, 0.9, -8, 15)
    assert world.truth()[0] == pytest.approx(0.9, abs=0.01)
    agreement, by_chance = worlds.with_kappa(lambda right: worlds.confusing(right, worlds.RARE), 0.5, 0, 1).truth()
    assert (agreement - by_chance) / (1 - by_chance) == pytest.approx(0.5, abs=0.02)
    with pytest.raises(ValueError, match="cannot be reached"):
        worlds.with_agreement(worlds.knowing, 0.1, -8, 15)


def test_a_roster_gives_an_item_to_different_people_and_a_team_to_one_team() -> None:
    worlds, random = module("generators"), np.random.default_rng(1)
    n = random.integers(2, 4, 400)
    for options in ({}, {"zipf": True}, {"team": 4}):
        item, who = worlds.roster(n, 20, random, **options)
        assert (np.bincount(item) == n).all()
        assert len({*zip(item.tolist(), who.tolist(), strict=True)}) == len(item)
        if options == {"team": 4}:
            assert all(len({*(who[item == each] // 4).tolist()}) == 1 for each in range(400))


def test_intervals(small: Small) -> None:
    study = small("intervals_study", WORLDS={"items alike": module("generators").alike}, ITEMS=(20,))
    rows = study.study(2)
    assert {row["design"] for row in rows} == set(study.UNEQUAL) and all(row["sets"] == 2 for row in rows)
    assert "Zipf to 200" in study.page(rows, module("held").again(rows, study.cover, 1), 2)


def test_other_annotators(small: Small) -> None:
    settings = [each for each in module("others_study").SETTINGS if each[1] in (6, 20)]
    study = small("others_study", SETTINGS=settings[::12])
    rows = study.study(1)
    assert all(row["annotators width"] > row["items width"] > 0 for row in rows)
    assert "two schools of thought" in study.page(rows, rows[-3:], 1)


def test_kappas(small: Small) -> None:
    last = {name: getattr(module("kappas_study"), name)[-1:] for name in ("POSITIVE", "GUESSES", "NEVER")}
    study = small("kappas_study", ITEMS=(100,), RATED=(8, 40), **last)
    rows = study.study(2)
    linear = [row for row in rows if row.get("metric") == "linear" and row["coefficient"] != "SPA"]
    assert [row["without"] for row in linear] == [2, 0] * 3
    assert study.cover(study.GUESSES[-1], 1, 1)["covers"] in (0.0, 1.0)
    assert "brennan_prediger" in study.page(rows, rows[:2], 2)


def test_models(small: Small) -> None:
    """A model is as far below people as it is said to be."""
    study = small("models_study", SIZES=[(30, 6)], DECISIVE=(30, 6))
    random, world = study.np.random.default_rng(1), study.WORLDS["confusion differs"]
    found = study.annotated(world, study.np.full(6000, 3), 300, (0.0, -0.05), random)
    assert [each.difference.value for each in found] == pytest.approx([0.0, -0.05], abs=0.015)
    page = study.main(2)
    assert "two schools of thought | 30 | 6" in page and "worse by the margin" in page


def test_clusters(small: Small) -> None:
    study = small("clusters_study", CLUSTERS=(12,))
    rows = study.study(2)
    assert rows[-1]["width clusters"] > rows[-1]["width items"] > 0
    assert "× " in study.page(rows, 2)


def test_comparisons(small: Small) -> None:
    """A row of every part makes a page; the figures of the page in the documentation keep what it promises."""
    study = module("compare_study")
    written = (FOLDER.parent / "docs" / "studies" / "compare.md").read_text("utf-8")
    parts = re.split(r"^## ", written, flags=re.MULTILINE)[1:]
    wrong = {}
    for part in parts:
        rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| ")][1:]
        wrong[part.splitlines()[0]] = [float(more) + float(less) for *_, more, less, _ in rows]
    assert list(wrong) == list(study.PARTS)
    assert max(wrong[study.OTHER_PEOPLE] + wrong[study.GROUPED] + wrong[study.LABELS_DIFFER]) <= 0.07
    assert max(wrong[study.SAME_PEOPLE]) <= 0.05 + 2 * (0.05 * 0.95 / 300) ** 0.5
    small("compare_study", PARTS={part: designs[:1] for part, designs in study.PARTS.items()})
    page = study.main(3)
    assert all(designs[0].name in page for designs in study.PARTS.values())


def test_naming(small: Small) -> None:
    study = module("naming_study")
    always = next(setting for setting in study.SOMEBODY if setting.one_label)
    assert next(study.study([always], 2))["right one_label"] == 1.0
    small(
        "naming_study", **{name: getattr(study, name)[:1] for name in ("NOBODY", "COPYING", "SOMEBODY", "THREE_COPY")}
    )
    assert study.NOBODY[0].name in study.main(2)


def test_default_weights(tmp_path: Path, small: Small) -> None:
    rows = ["item,annotator,label"]
    rows += [f"q{item},p{(item + who) % 8},{'xy'[(item * who) % 3 == 0]}" for item in range(80) for who in range(6)]
    (tmp_path / "set.csv").write_text("\n".join(rows))
    weights = small("default_weights", SIZES=(50,))
    found = list(weights.study(tmp_path, 2))
    assert [row["design"] for row in found] == ["thinning", "calibration"]
    assert "Random thinning" in weights.report(found, 2)


def test_the_assumption(small: Small) -> None:
    worlds = {name: module("assumption_study").clear_or_open(clear) for name, clear in (("open", 0.5), ("clear", 1.0))}
    study = small("assumption_study", ITEMS=(100,), WORLDS=worlds)
    rows = list(study.study(3))
    power = {(row["world"], row["design"]): row["alarms"] for row in rows if row["part"] == "decided"}
    assert power["open", "a third where two differ"] == 1 and power["clear", "a third where two differ"] == 0
    assert "false alarms in 30 data sets" in study.page(rows, 3)


def test_how_many_annotations_the_labels_decide() -> None:
    study = module("assumption_study")
    labels = np.array([[0, 0, 1, 2, 3], [0, 1, 0, 2, 3], [0, 1, 2, 1, 3], [0, 1, 2, 3, 4]])
    random = np.random.default_rng(1)
    assert study.until_two_agree(labels, random).tolist() == [2, 3, 4, 5]
    assert study.third_where_two_differ(labels, random).tolist() == [2, 3, 3, 3]
    assert study.five_where_two_differ(labels, random).tolist() == [2, 5, 5, 5]


def test_watching(small: Small) -> None:
    study = small("watching_study", ORDERS={"random order": 0}, FALLS=(500,), TEAMS={"few": (300, 6)})
    parts = {name: list(getattr(study, name)(2)) for name in ("quiet", "falls", "careless")}
    assert [row["order"] for row in parts["quiet"]] == ["random order", "people join"]
    assert parts["careless"][0]["found"] == 1.0 and parts["careless"][0]["others"] == 0.0
    assert "j(j + 1)/0.05" in study.page(parts, 2)


def test_marks(small: Small) -> None:
    study = module("marks_study")
    worlds = {"clear passages": study.WORLDS["clear passages"], "people alike": study.World()}
    small("marks_study", WORLDS=worlds, DESIGNS={"20 texts": (20, 8, 2, 4)}, LARGE=200)
    rows = study.study(2)
    assert {row["figure"] for row in rows} >= {"exact", "characters", "nothing"}
    clear, alike = (next(row["truth"] for row in rows if row["data"] == data) for data in study.WORLDS)
    compared = study.rounds(2)
    assert [row["people"] for row in compared[:2]] == ["the same people", "other people"]
    assert clear > alike > 0 and "said to differ" in study.page([*rows, *rows], compared, 2)
