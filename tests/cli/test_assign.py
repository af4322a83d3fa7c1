"""spagree assign: items and people from files, balance on one screen, work topped up and finished."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from command import Run


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text(
        "id,text,language\n" + "".join(f"q{i},T {i},{'de' if i % 3 else 'en'}\n" for i in range(30))
    )
    Path("people.csv").write_text("annotator,language,limit\nann,de;en,\nbob,en;de,25\ncyd,de,\n")
    return Run(capsys)


def rows(path: str) -> list[tuple[str, str]]:
    return pl.read_csv(path, infer_schema=False).rows()


def test_a_number_of_people(run: Run) -> None:
    code, out, err = run("assign", "items.csv", "--annotators", 5, "--per-item", 3, "-o", "a.csv")
    assert code == 0 and "30 items to 5 annotators, 3 per item: 90 annotations (seed 0)" in out and "wrote a.csv" in err
    assert len(set(rows("a.csv"))) == 90 and "18 items each" in out


def test_names_on_the_command_line_and_json(run: Run) -> None:
    code, out, _ = run("assign", "items.csv", "--annotators", "ann, bob", "--per-item", 2, "-o", "a.csv", "--json")
    assert code == 0 and json.loads(out)["most_work"] == 30


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
    Path("labels.csv").write_text("item,annotator,label\n" + "".join(f"{i},{a},x\n" for i, a in done))
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
        (["--annotators", "ann,bob", "--per-item", 3], 2, "only 2 annotators"),
        (["--annotators", "ann,bob", "--per-item", 2, "--limit", 3], 3, "not enough room"),
        (["--annotators", "ann,bob", "--per-item", 2, "--finish", "none.csv"], 4, "no such file"),
        (["--annotators", "ann,bob", "--per-item", 2, "--finish", "items.csv"], 3, "needs the columns item"),
        (["--annotators", "ann,bob", "--per-item", 2, "--top-up", "counts.csv"], 3, "does not say who annotated"),
        (["--annotators", "wrong.csv", "--per-item", 1], 3, "limit 'many' of 'ann'"),
        (["--annotators", "twice.csv", "--per-item", 1], 3, "annotator 'ann' is listed twice"),
        (["--annotators", "ann", "--per-item", 1, "--item", "language"], 3, "item 'de' is listed twice"),
    ],
)
def test_what_cannot_be_is_said(arguments: list[object], code: int, message: str, run: Run) -> None:
    Path("wrong.csv").write_text("annotator,limit\nann,many\n")
    Path("twice.csv").write_text("annotator\nann\nann\n")
    Path("counts.csv").write_text("item,label\nq1,x\nq1,y\n")
    found, _, err = run("assign", "items.csv", *arguments, "-o", "a.csv")
    assert (found, message in err) == (code, True), err
    assert not Path("a.csv").exists()


def test_an_item_file_whose_ids_cannot_be_guessed(run: Run) -> None:
    Path("odd.csv").write_text("alpha,beta\n1,2\n")
    code, _, err = run("assign", "odd.csv", "--annotators", 2, "--per-item", 1, "-o", "a.csv")
    assert code == 3 and "--item COLUMN" in err
    Path("empty.csv").write_text("item\n")
    assert run("assign", "empty.csv", "--annotators", 2, "--per-item", 1, "-o", "a.csv")[0] == 3
