"""agreement.export(): one CSV per table and the JSON, safe to open in a spreadsheet."""

from __future__ import annotations

import codecs
import csv
import io
import json
from pathlib import Path

import duckdb
import pandas
import polars
import pytest

import spagree
from command import Run
from spagree.present.tables import neutralised

ALL = [
    "annotators",
    "chance",
    "classes",
    "confusion",
    "development",
    "distribution",
    "items",
    "pairs",
    "plan",
    "schemes",
]
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", '"=1', "'=1", "＝1", "＋1", "－1", "＠x", " \t @x"]
HARMLESS = ["yes", "a=b", "1-2", "x@y.org", "", "'quoted'", "5 + 5", "ＡＢ"]


def rows(path: Path) -> list[dict[str, object]]:
    return polars.read_csv(path, infer_schema_length=None).rows(named=True)


def test_every_table_is_written_and_holds_what_the_methods_say(tmp_path: Path) -> None:
    found = spagree.measure("example:sparse")
    paths = found.export(tmp_path / "new" / "tables")
    assert sorted(path.stem for path in paths if path.suffix == ".csv") == ALL
    folder = tmp_path / "new" / "tables"
    classes, items = polars.read_csv(folder / "classes.csv"), polars.read_csv(folder / "items.csv")
    assert classes.drop("undefined").equals(found.classes().drop("undefined"))
    assert items.columns == ["item", "annotations", "agreement", "entropy", "votes"]
    assert items.height == found.data.items
    assert json.loads((folder / "agreement.json").read_text("utf-8")) == found.to_dict()
    schemes = {row["scheme"]: row["value"] for row in rows(folder / "schemes.csv")}
    assert schemes == {name: each.value for name, each in found.schemes.items()}
    chance = {row["coefficient"]: (row["observed"], row["expected"]) for row in rows(folder / "chance.csv")}
    assert chance == {name: (each.observed, each.expected) for name, each in found.chance.items()}


def test_a_tally_exports_what_it_knows(tmp_path: Path) -> None:
    paths = spagree.measure(spagree.tally("example:sparse")).export(tmp_path)
    known = {path.stem for path in paths}
    assert {"schemes", "chance", "classes", "confusion", "distribution", "annotators", "agreement"} <= known
    assert not {"items", "pairs", "development"} & known


def test_undefined_figures_are_empty_and_say_why(tmp_path: Path) -> None:
    spagree.measure([("q1", "ann", "yes")]).export(tmp_path)
    for row in rows(tmp_path / "schemes.csv"):
        assert row["value"] is None and row["undefined"] == "only one annotator, so agreement cannot be measured"


def test_formulas_are_neutralised_and_nothing_else_changes() -> None:
    frame = neutralised(polars.DataFrame({"label": [*FORMULAS, *HARMLESS, None]}))
    assert frame["label"].to_list() == [*(f"'{formula}" for formula in FORMULAS), *HARMLESS, None]
    numbers = polars.DataFrame({"change": [-0.5, None], "n": [-1, 2]})
    assert neutralised(numbers).rows() == numbers.rows()


def test_labels_items_and_annotators_are_all_neutralised(tmp_path: Path) -> None:
    source = [(f"={item}", f"@{who}", f"-{(item + who) % 2}") for item in range(12) for who in range(3)]
    for path in spagree.measure(source).export(tmp_path):
        if path.suffix == ".csv":
            text = path.read_text("utf-8")
            assert not [cell for line in text.splitlines() for cell in line.split(",") if cell[:1] in ("=", "@")]
    assert "'=0" in (tmp_path / "items.csv").read_text("utf-8")
    assert "'@0" in (tmp_path / "pairs.csv").read_text("utf-8")


def test_a_label_cannot_leave_its_cell_at_any_separator(tmp_path: Path) -> None:
    """Where a comma is the decimal point, spreadsheets split lines at semicolons, others at tabs."""
    labels = ["a;=1+1", "b\t=1+1", "c,=1+1", 'd";=1+1']
    source = [(item, who, labels[(item * who) % 4]) for item in range(40) for who in range(3)]
    spagree.measure(source).export(tmp_path)
    text = (tmp_path / "classes.csv").read_bytes()
    assert text.startswith(codecs.BOM_UTF8)
    for separator in (";", "\t", ","):
        cells = [cell for row in csv.reader(io.StringIO(text.decode("utf-8-sig")), delimiter=separator) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "@"))]


def test_every_reader_gets_the_same_values_back(tmp_path: Path) -> None:
    labels = ["a;b", 'say "no"', "'", "Ångström", "two\nlines"]
    source = [(f"i{item}", who, labels[(item * who) % 5]) for item in range(40) for who in range(3)]
    found = spagree.measure(source)
    found.export(tmp_path)
    expected = found.classes().select("class", "agreement", "low", "few").rows()
    path = tmp_path / "classes.csv"
    names = ["class", "agreement", "low", "few"]
    assert polars.read_csv(path).select(names).rows() == expected
    assert duckdb.read_csv(str(path)).select("class", "agreement", "low", "few").fetchall() == expected
    loaded = pandas.read_csv(path, keep_default_na=False, float_precision="round_trip")[names]
    assert [tuple(row) for row in loaded.itertuples(index=False)] == expected
    with path.open(encoding="utf-8-sig", newline="") as stream:
        plain = [(row["class"], float(row["agreement"])) for row in csv.DictReader(stream)]
    assert plain == [row[:2] for row in expected]


@pytest.mark.parametrize("kind", ["lazy", "pandas", "duckdb"])
def test_items_of_any_frame_are_written(kind: str, tmp_path: Path) -> None:
    frame = polars.DataFrame({"item": [1, 1, 2, 2], "annotator": list("abab"), "label": list("xxxy")})
    source = {"lazy": frame.lazy(), "pandas": frame.to_pandas(), "duckdb": duckdb.sql("SELECT * FROM frame")}[kind]
    spagree.measure(source).export(tmp_path)
    found = {row["item"]: row["agreement"] for row in rows(tmp_path / "items.csv")}
    assert found == {1: 1.0, 2: 0.0}


def test_existing_files_are_kept_and_nothing_else_is_written(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("mine")
    found = spagree.measure("example:sparse")
    with pytest.raises(spagree.FileError, match="exists already"):
        found.export(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.csv"]
    found.export(tmp_path, force=True)
    assert (tmp_path / "pairs.csv").read_text("utf-8").startswith('\ufeff"annotator","other","shared"')


def test_a_folder_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(spagree.FileError, match="cannot be created"):
        spagree.measure("example:sparse").export(tmp_path / "file" / "folder")


def test_the_command_exports_and_counts_the_files(tmp_path: Path, run: Run) -> None:
    code, _, err = run("score", "example:sparse", "--export", tmp_path / "out", "--json")
    assert code == 0 and f"wrote {len(ALL) + 1} files to {tmp_path / 'out'}" in err
    assert run("score", "example:sparse", "--export", tmp_path / "out")[0] == 4
    assert run("score", "example:sparse", "--export", tmp_path / "out", "--force")[0] == 0
