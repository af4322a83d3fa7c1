"""Every command that reads annotations says what was noticed, not only score."""

from __future__ import annotations

from pathlib import Path

import pytest

import spagree
from command import Run, written
from spagree.errors import UsageError


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Six items, on which people mean the same and one of them writes it differently."""
    rows = [f"{n},ann,yes\n{n},bob,Yes\n{n},cyd,{'no' if n else 'yes'}" for n in range(6)]
    return written(tmp_path / "votes.csv", *rows)


@pytest.mark.parametrize("command", ["items", "annotators", "classes", "pairs", "plan", "tally", "compare"])
def test_every_command_names_labels_that_differ_in_spelling(
    command: str, table: Path, tmp_path: Path, run: Run
) -> None:
    other = written(tmp_path / "other.csv", *(f"{n},{who},yes" for n in range(6) for who in ("ann", "bob")))
    more = {"tally": ["-o", tmp_path / "votes.json"], "compare": [other]}.get(command, [])
    code, _, err = run(command, table, *more)
    assert code == 0 and "warning: " in err and "'Yes' / 'yes'" in err
    code, _, err = run(command, table, *more, "--normalize", *(["--force"] if command == "tally" else []))
    assert code == 0 and "warning" not in err


def test_a_development_names_them_too(tmp_path: Path, run: Run) -> None:
    rows = [f"{n},{who},{label},{n}" for n in range(20) for who, label in (("ann", "yes"), ("bob", "Yes"))]
    code, _, err = run("development", written(tmp_path / "timed.csv", *rows, header="item,annotator,label,time"))
    assert code == 0 and "warning: labels that differ only in spelling" in err


def test_the_side_is_named_in_a_comparison(table: Path) -> None:
    found = spagree.compare(table, [("q1", "ann", "yes"), ("q1", "bob", "yes")], names=("one", "two"))
    assert [each.message.partition(":")[0] for each in found.warnings if each.code == "label_variants"] == ["one"]


def test_merged_tallies_that_spell_labels_differently_are_named(tmp_path: Path, run: Run) -> None:
    for name, label in (("a", "yes"), ("b", "Yes")):
        rows = [(f"{name}{n}", who, label) for n in range(6) for who in ("ann", "bob")]
        spagree.save(spagree.tally(rows), tmp_path / f"{name}.json")
    found = run.json("score", tmp_path / "a.json", tmp_path / "b.json")
    assert [each["code"] for each in found["warnings"]] == ["label_variants"]


@pytest.mark.parametrize("is_file", [True, False])
def test_a_model_that_spells_labels_differently_is_named(is_file: bool, tmp_path: Path) -> None:
    people = [(str(n), who, "no" if n % 3 else "yes") for n in range(12) for who in ("ann", "bob")]
    machine = [(str(n), "gpt", "No" if n % 3 else "Yes") for n in range(12)]
    path = written(tmp_path / "gpt.csv", *(f"{item},{label}" for item, _, label in machine), header="item,label")
    found = spagree.compare(people if is_file else people + machine, model={"gpt": path} if is_file else "gpt")
    assert [each.code for each in found.warnings].count("label_variants") == 1
    assert found.models["gpt"].with_humans.value == 0


@pytest.mark.parametrize(
    ("people", "machine", "options"),
    [
        (("yes", "no"), ("Yes ", "NO"), {"normalize": True}),
        (("a;b", "b"), ("b;a", "b"), {"separator": ";"}),
        (("a;b", "b"), ("b;a", "b"), {"separator": ";", "metric": "jaccard"}),
        (("a;b", "b"), ("b", "b"), {"separator": ";"}),
    ],
)
def test_a_models_file_is_cleaned_like_the_labels_of_people(
    people: tuple[str, str], machine: tuple[str, str], options: dict[str, object], tmp_path: Path
) -> None:
    """As if the model were an annotator in the source."""
    rows = [
        (f"i{n}", who, people[(n + (who == "cyd" and n % 5 == 0)) % 2]) for n in range(12) for who in ("bob", "cyd")
    ]
    path = written(tmp_path / "gpt.csv", *(f"i{n},{machine[n % 2]}" for n in range(12)), header="item,label")
    inside = spagree.compare(rows + [(f"i{n}", "gpt", machine[n % 2]) for n in range(12)], model="gpt", **options)
    apart = spagree.compare(rows, model={"gpt": path}, **options)
    assert apart.to_dict() == inside.to_dict()
    assert apart.to_dict()["models"]["gpt"]["with_humans"]["value"] > 0


def test_a_file_named_twice_is_refused_also_where_its_name_is_one_text(tmp_path: Path) -> None:
    name = str(written(tmp_path / "votes.csv", "1,a", "1,b", header="item,label"))
    with pytest.raises(UsageError, match="the same file, which would count twice"):
        spagree.measure([name, name])


def test_a_duckdb_database_is_called_by_its_name(tmp_path: Path, run: Run) -> None:
    import duckdb

    path = tmp_path / "votes.db"
    duckdb.connect(str(path)).close()
    code, _, err = run("score", path)
    assert code == 4 and "a DuckDB database" in err and "save the table as CSV or Parquet" in err


def test_the_files_of_a_folder_with_brackets_in_its_name_are_found(tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "round [1]"
    folder.mkdir()
    written(folder / "votes.csv", "1,ann,a", "1,bob,a")
    code, _, err = run("score", folder)
    assert code == 4 and f"{folder}/*.csv" in err
    assert run("score", f"{folder}/*.csv")[0] == 0
