"""What changed since an earlier report, and what is no report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spagree
from command import Run
from spagree.present.document import earlier_figures
from spagree.present.sentences import what_changed

ROWS = [(item, who, "xy"[item * who % 3 % 2]) for item in range(200) for who in range(3)]


def test_a_page_and_its_json_hold_the_same_figures(tmp_path: Path) -> None:
    found = spagree.measure(ROWS)
    page = found.report(tmp_path / "page.html")
    (tmp_path / "figures.json").write_text(found.to_json())
    assert earlier_figures(page) == earlier_figures(tmp_path / "figures.json") == json.loads(found.to_json())


def test_more_than_chance_and_no_more_than_chance(tmp_path: Path) -> None:
    before = spagree.measure(ROWS).report(tmp_path / "before.html")
    same = [*ROWS, *((f"n{item}", who, "xy"[item * who % 3 % 2]) for item in range(50) for who in range(3))]
    agreed = [*ROWS, *((f"n{item}", who, "x") for item in range(500) for who in range(3))]
    pages = [
        spagree.measure(rows).report(tmp_path / f"{len(rows)}.html", since=before).read_text("utf-8")
        for rows in (same, agreed)
    ]
    assert "no more than chance would explain. 150 more annotations, 50 more items." in pages[0]
    assert ": more than chance would explain. 1,500 more annotations, 500 more items." in pages[1]


def test_other_weights_and_metrics_are_not_compared() -> None:
    plain = spagree.measure(ROWS).to_dict()
    other = spagree.measure(ROWS, weights="flat").to_dict()
    assert what_changed(plain, other) == "The earlier number cannot be compared: it was measured with other weights."
    numbers = [(item, who, str(item % 3)) for item, who, _ in ROWS]
    both = [spagree.measure(numbers, metric=metric).to_dict() for metric in ("nominal", "interval")]
    assert "another metric" in what_changed(*both)
    none = spagree.measure([("q1", "a", "x")]).to_dict()
    assert what_changed(none, plain).startswith("One of the two numbers has no interval")
    fewer = what_changed(plain, spagree.measure(ROWS[:300]).to_dict())
    assert "300 fewer annotations, 100 fewer items." in fewer
    assert what_changed(plain, plain).endswith("There are as many annotations, items and annotators as before.")
    assert "several questions" in what_changed({"questions": {}}, plain)


def test_a_file_that_is_no_report_is_refused_before_counting(tmp_path: Path, run: Run) -> None:
    wrong = tmp_path / "wrong.json"
    for content in ("nothing", "[1]", '{"a": 1}'):
        wrong.write_text(content)
        with pytest.raises(spagree.UsageError, match="holds no figures from spagree"):
            earlier_figures(wrong)
    with pytest.raises(spagree.FileError, match="cannot be read"):
        earlier_figures(tmp_path / "none.html")
    page = tmp_path / "page.html"
    assert run("score", "nowhere.csv", "--report", page, "--since", wrong)[0] == 2
    code, _, err = run("score", "example:sparse", "--since", wrong)
    assert code == 2 and "--since is shown in the report; add --report FILE" in err
    code, _, err = run("score", "nowhere.csv", "--report", page, "--target", "7")
    assert code == 2 and "agreement lies between 0 and 1" in err


def test_a_gate_is_the_target_of_the_page(tmp_path: Path, run: Run) -> None:
    page = tmp_path / "page.html"
    assert run("score", "example:sparse", "--require", "0.9", "--report", page)[0] == 1
    assert "Agreement is below the target of 0.9." in page.read_text("utf-8")
    assert run("score", "example:sparse", "--target", "0.5", "--report", page, "--force")[0] == 0
    assert "Agreement reaches the target of 0.5." in page.read_text("utf-8")


def test_all_questions_since_last_time(tmp_path: Path, run: Run) -> None:
    source, page = tmp_path / "batch.csv", tmp_path / "all.html"
    rows = [f"h{item},{who},Approved,{'ab'[item * who % 2]},{'cd'[item % 2]}" for item in range(20) for who in range(2)]
    source.write_text("HITId,WorkerId,AssignmentStatus,Answer.mood,Answer.topic\n" + "\n".join(rows) + "\n")
    assert run("score", source, "--all-questions", "--report", page)[0] == 0
    again = tmp_path / "again.html"
    assert run("score", source, "--all-questions", "--report", again, "--since", page)[0] == 0
    assert again.read_text("utf-8").count("Since last time.") == 2
