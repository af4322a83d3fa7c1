"""spagree assign: items and people from files, balance on one screen, work topped up and finished."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from command import Run, written


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    items = [f"q{i},T {i},{'de' if i % 3 else 'en'}" for i in range(30)]
    written(Path("items.csv"), *items, header="id,text,language")
    written(Path("people.csv"), "ann,de;en,", "bob,en;de,25", "cyd,de,", header="annotator,language,limit")
    return Run(capsys)


def rows(path: str) -> list[tuple[str, str]]:
    return pl.read_csv(path, infer_schema=False).rows()


def test_a_number_of_people_or_names_on_the_command_line(run: Run) -> None:
    code, out, err = run("assign", "items.csv", "--annotators", 5, "--per-item", 3, "-o", "a.csv")
    assert code == 0 and "30 items to 5 annotators, 3 per item: 90 annotations (seed 0)" in out and "wrote a.csv" in err
    assert len(set(rows("a.csv"))) == 90 and "18 items each" in out
    found = run.json("assign", "items.csv", "--annotators", "ann, bob", "--per-item", 2, "-o", "b.csv")
    assert found["most_work"] == 30


def test_people_with_skills_and_limits(run: Run) -> None:
    code, _, _ = run(
        "assign", "items.csv", "--annotators", "people.csv", "--per-item", 2, "--can", "language", "-o", "a.csv",
        "--label-studio", "ls", "--potato", "po",
    )  # fmt: skip
    assert code == 0 and not [item for item, name in rows("a.csv") if name == "cyd" and int(item[1:]) % 3 == 0]
    assert sum(name == "bob" for _, name in rows("a.csv")) <= 25
    assert {path.name for path in Path("ls").iterdir()} == {"ann.json", "bob.json", "cyd.json"}
    assert json.loads(Path("po/ann.jsonl").read_text().splitlines()[0])["text"].startswith("T ")


def test_top_up_and_finish(run: Run) -> None:
    run("assign", "items.csv", "--annotators", "ann,bob,cyd", "--per-item", 2, "-o", "a.csv")
    planned = rows("a.csv")
    done = [row for row in planned if row[1] != "cyd"][:25]
    written(Path("labels.csv"), *(f"{i},{a},x" for i, a in done))
    code, _, _ = run(
        "assign", "items.csv", "--annotators", "ann,bob,dan", "--per-item", 2, "--top-up", "labels.csv",
        "--finish", "a.csv", "-o", "b.csv",
    )  # fmt: skip
    rest = rows("b.csv")
    assert code == 0 and not set(rest) & set(done) and "cyd" not in {name for _, name in rest}
    assert len(rest) + len(done) == 60
    assert {pair for pair in planned if pair[1] != "cyd"} <= set(rest) | set(done)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--annotators", "people.csv", "--per-item", 2, "--can", "dialect"], 2, "has no such column"),
        (["--annotators", "ann,bob", "--per-item", 2, "--can", "language"], 2, "give --annotators a file"),
        (["--annotators", "ann,bob", "--per-item", 3], 2, "more than 2 annotators"),
        (["--annotators", "ann,bob", "--per-item", 2, "--limit", 3], 3, "not enough room"),
        (["--annotators", "ann,bob", "--per-item", 2, "--finish", "none.csv"], 4, "no such file"),
        (["--annotators", "ann,bob", "--per-item", 2, "--finish", "items.csv"], 3, "columns item and annotator"),
        (["--annotators", "ann,bob", "--per-item", 2, "--top-up", "counts.csv"], 3, "has no annotators"),
        (["--annotators", "wrong.csv", "--per-item", 1], 3, "limit 'many' of 'ann'"),
        (["--annotators", "twice.csv", "--per-item", 1], 3, "annotator 'ann' is listed twice"),
        (["--annotators", "ann", "--per-item", 1, "--item", "language"], 3, "item 'de' is listed twice"),
    ],
)
def test_impossible_assignments_are_refused(arguments: list[object], code: int, message: str, run: Run) -> None:
    written(Path("wrong.csv"), "ann,many", header="annotator,limit")
    written(Path("twice.csv"), "ann", "ann", header="annotator")
    written(Path("counts.csv"), "q1,x", "q1,y", header="item,label")
    found, _, err = run("assign", "items.csv", *arguments, "-o", "a.csv")
    assert (found, message in err) == (code, True), err
    assert not Path("a.csv").exists()


def test_an_item_file_whose_ids_cannot_be_guessed(run: Run) -> None:
    Path("odd.csv").write_text("alpha,beta\n1,2\n")
    code, _, err = run("assign", "odd.csv", "--annotators", 2, "--per-item", 1, "-o", "a.csv")
    assert code == 3 and "--item COLUMN" in err
    Path("empty.csv").write_text("item\n")
    assert run("assign", "empty.csv", "--annotators", 2, "--per-item", 1, "-o", "a.csv")[0] == 3


@pytest.fixture
def annotated(run: Run) -> Run:
    """Everything but the work of cyd came back, for two questions."""
    run("assign", "items.csv", "--annotators", "ann,bob,cyd", "--per-item", 2, "-o", "a.csv")
    done = [f"{item},{name},x,{item[-1]}" for item, name in rows("a.csv") if name != "cyd"]
    written(Path("labels.csv"), *done, header="item,annotator,label,other")
    return run


def test_score_checks_what_came_back_if_it_is_asked_to(annotated: Run) -> None:
    code, out, _ = annotated("score", "labels.csv", "--assignment", "a.csv")
    assert code == 0 and "Returned   40 of 60 assigned annotations (67%)" in out
    assert "Did less   1 annotator: cyd 0 of 20" in out and "By people  uneven (p < 0.001)" in out
    found = annotated.json("score", "labels.csv", "--assignment", "a.csv")
    assert found["assignment"]["annotators"] == [{"annotator": "cyd", "assigned": 20, "done": 0}]
    assert len(found["assignment"]["short_items"]) == 20 and found["spa"]["value"] == 1
    assert "Returned" not in annotated("score", "labels.csv")[1]
    assert "assignment" not in annotated.json("score", "labels.csv")


def test_an_assignment_of_other_items_is_refused(annotated: Run) -> None:
    Path("other.csv").write_text("item,annotator\nt1,ann\n")
    code, _, err = annotated("score", "labels.csv", "--assignment", "other.csv")
    assert code == 3 and "name the column with the assigned ids: --item" in err and "write both alike" in err
    code, _, err = annotated("score", "labels.csv", "--assignment", "none.csv")
    assert code == 4 and "no such file" in err


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_every_kind_of_assignment_file_is_read_again(annotated: Run, ending: str) -> None:
    path = f"kind{ending}"
    annotated("assign", "items.csv", "--annotators", "ann,bob,cyd", "--per-item", 2, "-o", path)
    assert "40 of 60 assigned" in annotated("score", "labels.csv", "--assignment", path)[1]


def test_every_question_is_checked(annotated: Run) -> None:
    lines = [f"{item},{name},Approved,good,food" for item, name in rows("a.csv") if name != "cyd"]
    written(Path("batch.csv"), *lines, header="HITId,WorkerId,AssignmentStatus,Answer.mood,Answer.topic")
    found = annotated.json("score", "batch.csv", "--all-questions", "--assignment", "a.csv")["questions"]
    assert [found[name]["assignment"]["done"] for name in ("mood", "topic")] == [40, 40]
    assert annotated("score", "batch.csv", "--all-questions", "--assignment", "a.csv")[1].count("40 of 60") == 2


def test_what_is_missing_is_named_at_once_and_the_rows_are_printed_without_a_file(run: Run, tmp_path: Path) -> None:
    items = written(tmp_path / "items.csv", "q1", "q2", header="item")
    code, out, err = run("assign", items)
    assert (code, out) == (2, "") and "missing: --annotators, --per-item; for example: spagree assign" in err
    assert "missing: ITEMS, --annotators, --per-item" in run("assign")[2]
    code, out, err = run("assign", items, "--annotators", "ann,bob", "--per-item", 2)
    assert code == 0 and out.splitlines()[0] == "item,annotator" and len(out.splitlines()) == 5
    assert "Assigned   2 items to 2 annotators" in err
    assert run("assign", items, "--annotators", 2, "--per-item", 2, "--json")[0] == 2
