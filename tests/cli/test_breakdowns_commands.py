"""spagree classes, annotators and pairs: text for people, JSON for programs, exit codes for both."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spagree
from command import Run

ROWS = (
    "item,annotator,label\nq1,ann,yes\nq1,bob,yes\nq1,cyd,no\nq2,ann,no\nq2,bob,no\nq3,ann,yes\nq3,bob,no\nq4,dan,odd\n"
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_text(ROWS)
    return path


def test_classes_as_text(run: Run, source: Path) -> None:
    code, out, err = run("classes", source)
    lines = [line.split() for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert lines[0] == ["agreement", "interval", "annotations", "share", "items", "class"]
    assert lines[1][0] == "0.333*" and lines[1][-1] == "yes"
    assert lines[3] == ["–", "–", "1", "0.125", "1", "odd"]
    assert "* rests on fewer than 10 items" in out
    assert "Confused classes" in out and "0.667" in out


def test_classes_as_json(run: Run, source: Path) -> None:
    found = json.loads(run("classes", source, "--json", "--worst", 1)[1])
    measured = spagree.measure(source)
    assert list(found) == ["classes", "confusion"] and len(found["classes"]) == 1
    first = measured.classes().row(0, named=True)
    assert found["classes"][0] == {name: value for name, value in first.items() if name != "undefined"}
    assert found["confusion"] == [measured.confusion().row(0, named=True)]


def test_undefined_figures_say_why_in_json(run: Run, source: Path) -> None:
    found = json.loads(run("classes", source, "--json")[1])["classes"][-1]
    assert (found["class"], found["agreement"]) == ("odd", None)
    assert found["undefined"] == "no item with this class has a second annotation"


def test_annotators_as_text_and_json(run: Run, source: Path) -> None:
    code, out, _ = run("annotators", source, "--worst", 2, "--weights", "edge")
    lines = [line.split() for line in out.splitlines()]
    assert code == 0 and len(lines) == 4
    assert "SPA without" in out and "cyd" in lines[1]
    found = json.loads(run("annotators", source, "--json", "--weights", "2=1,3=3")[1])["annotators"]
    assert [row["annotator"] for row in found] == ["cyd", "ann", "bob", "dan"]
    edge = spagree.measure(source, weights="edge").annotators()
    assert [row["spa_without"] for row in found] == edge["spa_without"].to_list()
    assert found[-1]["undefined"] == "shares no item with anybody"


def test_changes_carry_their_sign(run: Run, source: Path) -> None:
    out = run("annotators", source)[1]
    assert "+0." in out and "−0." in out


def test_pairs_as_text_and_json(run: Run, source: Path) -> None:
    code, out, _ = run("pairs", source)
    columns = ["agreement", "interval", "kappa", "kappa", "interval", "pi", "shared", "annotator", "other"]
    assert code == 0 and out.splitlines()[0].split() == columns
    assert len(out.splitlines()) == 5
    found = json.loads(run("pairs", source, "--json", "--least", 2, "--level", 0.5)[1])["pairs"]
    expected = spagree.measure(source, level=0.5).pairs(2).row(0, named=True)
    assert found == [{name: value for name, value in expected.items() if name != "undefined"}]
    assert run("pairs", source, "--least", 0)[0] == 2


def test_a_metric_with_its_order(run: Run, source: Path) -> None:
    order = ("--metric", "linear", "--order", "no,odd,yes")
    found = json.loads(run("annotators", source, "--json", *order)[1])["annotators"]
    expected = spagree.measure(source, metric="linear", order=["no", "odd", "yes"]).annotators()
    assert [row["agreement"] for row in found] == expected["agreement"].to_list()
    assert run("classes", source, *order)[0] == 0
    assert run("pairs", source, "--metric", "linear")[0] == 3


@pytest.mark.parametrize("command", ["annotators", "pairs"])
def test_who_annotated_must_be_known(run: Run, tmp_path: Path, command: str) -> None:
    path = tmp_path / "anonymous.csv"
    path.write_text("item,label\nq,x\nq,y\n")
    code, out, err = run(command, path)
    assert (code, out) == (2, "") and "--annotator" in err


def test_a_saved_tally_knows_classes_but_not_people(run: Run, source: Path, tmp_path: Path) -> None:
    saved = tmp_path / "tally.json"
    assert run("tally", source, "-o", saved)[0] == 0
    assert json.loads(run("classes", saved, "--json")[1]) == json.loads(run("classes", source, "--json")[1])
    code, _, err = run("annotators", saved)
    assert code == 2 and "a tally does not say who annotated" in err


@pytest.mark.parametrize("command", ["classes", "annotators", "pairs", "items"])
def test_names_cannot_steer_the_terminal(run: Run, tmp_path: Path, command: str) -> None:
    path = tmp_path / "hostile.csv"
    path.write_text("item,annotator,label\nq\x1b[31m,a\x1b[31m,[bold]x\x1b[31m\nq\x1b[31m,b\u202e,y\n")
    code, out, _ = run(command, path)
    assert code == 0 and "\x1b" not in out and "\u202e" not in out
    assert "\\x1b[31m" in out


def test_the_score_can_speak_for_these_annotators_first(run: Run) -> None:
    code, out, _ = run("score", "example:sparse", "--interval-for", "items")
    assert code == 0 and "95% interval 0.536 to 0.615 for these annotators, 0.527" in " ".join(out.split())
    found = json.loads(run("score", "example:sparse", "--interval-for", "items", "--json")[1])["spa"]
    assert found["interval_for"] == "items"
    assert run("score", "example:sparse", "--interval-for", "people")[0] == 2


def test_a_table_without_rows_says_why(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "alone.csv"
    path.write_text("item,annotator,label\nq1,ann,yes\nq2,bob,no\n")
    assert run("items", path)[1] == "No item has two annotations, so there is nothing to compare.\n"
    assert run("pairs", path)[1] == "No two annotators share an item.\n"
    assert run("pairs", path, "--least", 5)[1] == "No two annotators share 5 items.\n"
    out = run("classes", path)[1]
    assert out.endswith("\nNo classes were confused.\n") and "rests on fewer" not in out
