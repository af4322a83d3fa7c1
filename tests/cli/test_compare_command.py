from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import Run


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys)


@pytest.fixture
def rounds(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"round{number}.csv" for number in (1, 2)]
    for wrong, path in zip((4, 9), paths, strict=True):
        lines = [
            f"{item},{who},{'no' if item % wrong == place else 'yes'}"
            for item in range(90)
            for place, who in enumerate(("ann", "bob", "bot"))
        ]
        path.write_text("\n".join(["item,annotator,label", *lines, ""]))
    return paths


def test_rounds(run: Run, rounds: list[Path]) -> None:
    code, out, _ = run("compare", *rounds)
    assert code == 0 and out.startswith("round2.csv agrees more than round1.csv: +")
    assert "90 shared items" in out
    code, out, _ = run("compare", *rounds, "--json", "--interval-for", "annotators", "--weights", "flat")
    document = json.loads(out)
    assert document["shared_items"] == 90 and document["difference"]["interval_for"] == "annotators"


def test_gate(run: Run, rounds: list[Path]) -> None:
    assert run("compare", *rounds, "--no-worse-than", 0.02)[0] == 0
    code, _, err = run("compare", *reversed(rounds), "--no-worse-than", 0.02)
    assert code == 1 and "gate not met: round1.csv may agree less by 0.02 or more" in err


def test_model(run: Run, rounds: list[Path]) -> None:
    code, out, _ = run("compare", rounds[0], "--model", "bot", "--margin", 0.1, "--json")
    found = json.loads(out)["models"]["bot"]
    assert code == 0 and found["margin"] == 0.1 and found["humans_count"] == 2
    assert {"with_humans", "humans", "difference", "verdict", "items"} <= found.keys()
    code, _, err = run("compare", rounds[0], "--margin", 0.1)
    assert code == 2 and "--model" in err
    code, _, err = run("compare", rounds[0], "--model", "bot", "--no-worse-than", 0.1)
    assert code == 2 and "--margin" in err


def test_chart(run: Run, rounds: list[Path], tmp_path: Path) -> None:
    picture = tmp_path / "rounds.svg"
    code, _, err = run("compare", *rounds, "--chart", picture)
    assert code == 0 and "<svg" in picture.read_text() and f"wrote {picture}" in err
    assert run("compare", *rounds, "--chart", picture)[0] == 4
    assert run("compare", *rounds, "--chart", picture, "--force")[0] == 0
    code, _, err = run("compare", *rounds, "--chart", tmp_path / "rounds.bmp")
    assert code == 2 and ".svg" in err
