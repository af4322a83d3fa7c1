from __future__ import annotations

from pathlib import Path

import pytest

from command import Run, written


@pytest.fixture
def rounds(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"round{number}.csv" for number in (1, 2)]
    for wrong, path in zip((4, 9), paths, strict=True):
        lines = [
            f"{item},{who},{('yes', 'no')[(item + (item % wrong == place)) % 2]}"
            for item in range(90)
            for place, who in enumerate(("ann", "bob", "bot"))
        ]
        written(path, *lines)
    return paths


def test_rounds(run: Run, rounds: list[Path]) -> None:
    code, out, _ = run("compare", *rounds)
    assert code == 0 and out.startswith("round2.csv agrees more than round1.csv: +")
    assert "90 items and 3 annotators in common" in out
    document = run.json("compare", *rounds, "--interval-for", "annotators", "--weights", "flat")
    assert document["shared_items"] == 90 and document["difference"]["interval_for"] == "annotators"
    assert document["difference"]["low"] is None and "takes four" in document["difference"]["undefined"]
    code, out, _ = run("compare", rounds[0], rounds[0])
    assert code == 0 and "are the same" in out.splitlines()[0]


def test_gate(run: Run, rounds: list[Path]) -> None:
    assert run("compare", *rounds, "--no-worse-than", 0.02)[0] == 0
    code, _, err = run("compare", *reversed(rounds), "--no-worse-than", 0.02)
    assert code == 1 and "gate not met: agreement in round1.csv may be lower by 0.02 or more" in err


def test_model(run: Run, rounds: list[Path]) -> None:
    found = run.json("compare", rounds[0], "--model", "bot", "--margin", 0.1)["models"]["bot"]
    assert found["margin"] == 0.1 and found["humans_count"] == 2
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


def test_consensus(run: Run, tmp_path: Path) -> None:
    path, labels = written(tmp_path / "votes.csv", "1,a,x", "1,b,x", "2,a,x", "2,b,y", "3,a,y"), tmp_path / "labels.csv"
    code, _, err = run("items", path, "--consensus", "-o", labels)
    assert code == 0 and "3 items, 1 without a majority" in err
    assert [line.split(",")[:5] for line in labels.read_text().splitlines()] == [
        ["item", "label", "tied", "annotations", "share"],
        ["1", "x", "", "2", "1.0"],
        ["2", "", "x | y", "2", "0.5"],
        ["3", "y", "", "1", "1.0"],
    ]
    assert run.json("items", path, "--consensus")[0]["tied"] == "x | y"
    assert "x | y" in run("items", path, "--consensus")[1]
    code, _, err = run("items", path, "--consensus", "-o", tmp_path / "labels.xls")
    assert code == 2 and ".csv" in err
    assert run("items", path, "--consensus", "-o", labels)[0] == 4


def test_who_always_says_one_thing(run: Run, tmp_path: Path) -> None:
    people = ("ann", "bob", "zed")
    rows = [f"{item},{who},{'x' if who == 'zed' or item % 2 else 'y'}" for item in range(20) for who in people]
    code, out, _ = run("annotators", written(tmp_path / "blind.csv", *rows))
    assert code == 0 and "Check the work of zed." in out


def test_what_cannot_be_compared_exits_like_score(tmp_path: Path, run: Run) -> None:
    """3 if no difference is known, whether or not there is a gate; one known difference is a result."""
    alone = written(tmp_path / "alone.csv", "1,ann,yes", "2,bob,no")
    for options in ((), ("--json",), ("--no-worse-than", "0.1")):
        code, out, err = run("compare", "example:sparse", alone, *options)
        assert code == 3 and out and "no item has two annotations" in err
    assert run("compare", "example:sparse", "example:adaptive", alone)[0] == 0


def test_a_gate_without_an_interval_says_so(tmp_path: Path, run: Run) -> None:
    one = written(tmp_path / "one.csv", "1,ann,yes", "1,bob,yes")
    code, _, err = run("compare", "example:sparse", one, "--no-worse-than", "0.1")
    assert code == 1 and "may be lower by 0.1 or more; there is no interval" in err


def test_p_values_of_groups_say_that_they_are_adjusted(tmp_path: Path, run: Run) -> None:
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for wrong, path in zip((3, 7), paths, strict=True):
        rows = [f"{n},{who},{'x' if n % wrong or who == 'ann' else 'y'},{'de' if n % 2 else 'en'}"
                for n in range(40) for who in ("ann", "bob")]  # fmt: skip
        written(path, *rows, header="item,annotator,label,language")
    out = run("compare", *paths, "--by", "language")[1]
    assert "p within groups: adjusted for all 2 differences (Holm)." in out
    assert "(Holm)" not in run("compare", *paths)[1]
