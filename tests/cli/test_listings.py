"""spagree classes, annotators and pairs: text for people, JSON for programs, exit codes for both."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import spagree
from command import Run, written
from planted import copied


@pytest.fixture
def source(tmp_path: Path) -> Path:
    rows = "q1,ann,yes q1,bob,yes q1,cyd,no q2,ann,no q2,bob,no q3,ann,yes q3,bob,no q4,dan,odd"
    return written(tmp_path / "votes.csv", *rows.split())


def test_pairs_begin_with_two_who_copy(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    pl.DataFrame(copied(1), schema=["item", "annotator", "label"], orient="row").write_csv(path)
    agreement = spagree.measure(path)
    step = next(step for step in agreement.next_steps if step.code == "copies")
    assert run("pairs", path)[1].startswith(step.sentence)
    page = agreement.report(tmp_path / "page.html").read_text("utf-8")
    assert " and ".join(step.names) + " give the same label on " in page and "Nobody stands out" not in page


def test_classes_as_json(run: Run, source: Path) -> None:
    found = run.json("classes", source, "--worst", 1)
    measured = spagree.measure(source)
    assert list(found) == ["classes", "confusion"] and len(found["classes"]) == 1
    first = measured.classes().row(0, named=True)
    assert found["classes"][0] == {name: value for name, value in first.items() if name != "undefined"}
    assert found["confusion"] == [measured.confusion().row(0, named=True)]
    odd = run.json("classes", source)["classes"][-1]
    assert (odd["class"], odd["agreement"]) == ("odd", None)
    assert odd["undefined"] == "no item with this class has a second annotation"


def test_annotators_as_text_and_json(run: Run, source: Path) -> None:
    code, out, _ = run("annotators", source, "--worst", 2, "--weights", "edge")
    lines = [line.split() for line in out.splitlines()]
    assert code == 0 and out.splitlines()[0] == "Nobody stands out."
    assert "SPA without" in out and "cyd" in lines[2]
    found = run.json("annotators", source, "--weights", "2=1,3=3")["annotators"]
    assert [row["annotator"] for row in found] == ["cyd", "ann", "bob", "dan"]
    edge = spagree.measure(source, weights="edge").annotators()
    assert [row["spa_without"] for row in found] == edge["spa_without"].to_list()
    assert found[-1]["undefined"] == "shares no item with anybody"


def test_pairs_as_text_and_json(run: Run, source: Path) -> None:
    code, out, _ = run("pairs", source)
    columns = ["agreement", "interval", "kappa", "kappa", "interval", "pi", "shared", "annotator", "other"]
    assert code == 0 and out.splitlines()[1].split() == columns
    assert out.splitlines()[0] == "ann and cyd agree least: 0 on 1 shared item." and len(out.splitlines()) == 6
    found = run.json("pairs", source, "--least", 2, "--level", 0.5)["pairs"]
    expected = spagree.measure(source, level=0.5).pairs(2).row(0, named=True)
    assert found == [{name: value for name, value in expected.items() if name != "undefined"}]
    assert run("pairs", source, "--least", 0)[0] == 2


def test_a_metric_with_its_order(run: Run, source: Path) -> None:
    order = ("--metric", "linear", "--order", "no,odd,yes")
    found = run.json("annotators", source, *order)["annotators"]
    expected = spagree.measure(source, metric="linear", order=["no", "odd", "yes"]).annotators()
    assert [row["agreement"] for row in found] == expected["agreement"].to_list()
    assert run("classes", source, *order)[0] == 0
    assert run("pairs", source, "--metric", "linear")[0] == 3


@pytest.mark.parametrize("command", ["annotators", "pairs"])
def test_who_annotated_must_be_known(run: Run, tmp_path: Path, command: str) -> None:
    code, out, err = run(command, written(tmp_path / "anonymous.csv", "q,x", "q,y", header="item,label"))
    assert (code, out) == (2, "") and "--annotator" in err


def test_a_saved_tally_knows_classes_and_annotators_but_not_pairs(run: Run, source: Path, tmp_path: Path) -> None:
    saved = tmp_path / "tally.json"
    assert run("tally", source, "-o", saved)[0] == 0
    assert run.json("classes", saved) == run.json("classes", source)
    of_tally, of_data = (run.json("annotators", each)["annotators"] for each in (saved, source))
    assert [row["spa_without"] for row in of_tally] == [row["spa_without"] for row in of_data] != []
    code, _, err = run("pairs", saved)
    assert code == 2 and "a tally does not say who annotated" in err


def test_the_score_can_speak_for_these_annotators_first(run: Run) -> None:
    code, out, _ = run("score", "example:sparse", "--interval-for", "items")
    assert code == 0 and "95%: 0.536 to 0.615 for these, 0.527" in " ".join(out.split())
    assert run.json("score", "example:sparse", "--interval-for", "items")["spa"]["interval_for"] == "items"
    assert run("score", "example:sparse", "--interval-for", "people")[0] == 2


@pytest.mark.parametrize(("command", "intervals"), [("classes", 1), ("annotators", 2), ("pairs", 1)])
def test_figures_of_spans_are_listed_with_their_intervals(run: Run, command: str, intervals: int) -> None:
    heads = run(command, "example:spans")[1].splitlines()[1].split()
    assert heads.count("interval") == intervals


def test_a_table_without_rows_says_why(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "alone.csv", "q1,ann,yes", "q2,bob,no")
    assert run("items", path)[1] == "No item has two annotations, so there is nothing to compare.\n"
    assert run("pairs", path)[1] == "No two annotators share an item.\n"
    assert run("pairs", path, "--least", 5)[1] == "No two annotators share 5 items.\n"
    out = run("classes", path)[1]
    assert out.startswith("Nobody disagrees about any class.\n") and "rests on fewer" not in out
