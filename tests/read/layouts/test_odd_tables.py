"""Tables as spreadsheets and forms write them: read right, or refused with a remedy that works."""

from __future__ import annotations

import re
import shlex
from fractions import Fraction
from pathlib import Path

import polars
import pytest
import xlsxwriter

import spagree
from command import Run
from spagree.errors import ColumnError, DataError

VOTES = {f"i{n}": ["yes", "no" if n % 3 else "yes", "no" if n % 4 else "yes"] for n in range(12)}
PEOPLE = ("ann", "bob", "J. Doe")
SPA = Fraction(sum(sum(a == b for a, b in ((x, y), (x, z), (y, z))) for x, y, z in VOTES.values()), 3 * len(VOTES))


def written(path: Path, rows: list[list[object]]) -> Path:
    polars.DataFrame([list(map(str, row)) for row in rows], orient="row").write_csv(path, include_header=False)
    return path


def remedy(message: str, start: str) -> list[str]:
    """The options that a message proposes, as a shell would split them."""
    found = re.search(rf"{re.escape(start)}[^;\n]*", message)
    assert found, message
    return shlex.split(found[0])


@pytest.mark.parametrize("address", ["anonymous", "someone"])
def test_respondents_of_microsoft_forms_are_told_apart_by_their_number(address: str, tmp_path: Path) -> None:
    header = ["ID", "Start time", "Completion time", "Email", "Name", *(f"Is {item} a cat?" for item in VOTES)]
    rows = [
        [n, f"1/{n}/24 9:00:00", f"1/{n}/24 9:10:00", address, "", *(labels[n - 1] for labels in VOTES.values())]
        for n in (1, 2, 3)
    ]
    found = spagree.measure(written(tmp_path / "form.csv", [header, *rows]))
    assert found.spa.value == pytest.approx(float(SPA)) and found.data.annotators == 3


@pytest.mark.parametrize("second", ["label.1", "label_2", "Label2"])
def test_repeated_label_columns_are_refused_with_the_way_to_compare_them(second: str, tmp_path: Path, run: Run) -> None:
    rows = [[item, "ann", one, "bob", two] for item, (one, two, _) in VOTES.items()]
    path = written(tmp_path / "pairs.csv", [["item", "rater", "label", "rater.1", second], *rows])
    code, _, err = run("score", path)
    assert code == 3 and "several columns of labels" in err
    wanted = Fraction(sum(one == two for one, two, _ in VOTES.values()), len(VOTES))
    options = remedy(err, "--format wide")
    code, out, _ = run("score", path, *options, "--json")
    assert code == 0 and f'"value": {float(wanted)}'[:20] in out


def test_a_label_column_beside_another_of_the_same_name_in_a_list_is_no_reason_to_refuse(tmp_path: Path) -> None:
    rows = [
        [item, who, label, label] for item, labels in VOTES.items() for who, label in zip(PEOPLE, labels, strict=True)
    ]
    found = spagree.measure(written(tmp_path / "list.csv", [["item", "rater", "label", "label_2"], *rows]))
    assert found.spa.value == pytest.approx(float(SPA))


def test_the_sheets_of_a_workbook_may_be_annotators(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "book.xlsx"
    with xlsxwriter.Workbook(path) as book:
        for place, who in enumerate(PEOPLE):
            sheet = book.add_worksheet(who)
            for n, row in enumerate([["item", "label"], *([item, labels[place]] for item, labels in VOTES.items())]):
                sheet.write_row(n, 0, row)
        book.add_worksheet("empty")
    _, out, _ = run("score", path)
    assert "if each sheet is one annotator: --format per-annotator" in " ".join(out.split())
    found = spagree.measure(path, format="per-annotator")
    assert found.spa.value == pytest.approx(float(SPA))
    assert sorted(found.annotators()["annotator"]) == sorted(PEOPLE)


def test_names_of_files_keep_dots_that_are_no_extension(tmp_path: Path) -> None:
    for place, who in enumerate(("anna.doe", "anna.roe")):
        rows = [["item", "label"], *([item, labels[place]] for item, labels in VOTES.items())]
        written(tmp_path / f"{who}.csv", rows)
    found = spagree.measure(tmp_path, format="per-annotator")
    assert sorted(found.annotators()["annotator"]) == ["anna.doe", "anna.roe"]


def pivot(empty: str) -> list[list[object]]:
    body = [
        [n, labels.count("no") or empty, labels.count("yes") or empty, 3] for n, labels in enumerate(VOTES.values())
    ]
    sums = [sum(labels.count(label) for labels in VOTES.values()) for label in ("no", "yes")]
    return [["Row Labels", "no", "yes", "Grand Total"], *body, ["Grand Total", *sums, sum(sums)]]


def test_every_step_of_the_advice_on_a_pivot_table_works(tmp_path: Path, run: Run) -> None:
    title = [["Count of label", "Column Labels", "", ""]]
    with pytest.raises(
        ColumnError, match=r"'Row Labels', 'no', 'yes', 'Grand Total' are the names .* delete the lines"
    ):
        spagree.measure(written(tmp_path / "titled.csv", title + pivot("")))
    path = written(tmp_path / "pivot.csv", pivot(""))
    code, _, err = run("score", path)
    options = remedy(err, "--format counts")
    assert code == 3 and options == ["--format", "counts", "--item", "Row Labels"]
    with pytest.raises(DataError, match=r"write 0 .*for empty cells show 0"):
        spagree.measure(path, format="counts", item="Row Labels")
    full = written(tmp_path / "full.csv", pivot("0"))
    told = {each.code: each.message for each in spagree.measure(full, format="counts", item="Row Labels").warnings}
    where = told["summary_rows"].partition('where="')[2].partition('"')[0]
    found = spagree.measure(full, format="counts", item="Row Labels", where=where)
    assert found.spa.value == pytest.approx(float(SPA)) and found.data.items == len(VOTES)
    assert "summary_rows" not in {each.code for each in found.warnings}
