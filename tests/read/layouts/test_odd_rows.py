"""Rows of broad tables that are not items, and columns that belong to others."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import spagree
from spagree.agreement import Agreement
from spagree.errors import DataError, SpagreeError

WIDE = [["1", "a", "a"], ["2", "a", "b"], ["3", "b", "b"], ["4", "b", "b"], ["5", "a", "b"], ["6", "a", "a"]]
COUNTS = [["1", 2, 1], ["2", 3, 0], ["3", 0, 3], ["4", 2, 1], ["5", 2, 2]]
SPA_OF_COUNTS = (2 * 1 / 3 + 2 * 1 + 2 * 1 + 2 * 1 / 3 + 3 * 1 / 3) / 11


def written(path: Path, *rows: list[object]) -> Path:
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
    return path


def codes(found: Agreement) -> dict[str, str]:
    return {each.code: each.message for each in found.warnings}


@pytest.mark.parametrize("name", ["Total", "Grand Total", "Agreement", "% agreement", "Cohen's kappa", "MEAN"])
def test_figures_below_a_wide_table_are_named(name: str, tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", ["id", "rater 1", "rater 2"], *WIDE, ["", "", ""], [name, "6", "6"])
    told = codes(spagree.measure(table, format="wide"))["summary_rows"]
    assert repr(name) in told or f'"{name}"' in told
    assert "delete them" in told


@pytest.mark.parametrize("name", ["total recall", "7", "alphabet", ""])
def test_items_are_not_taken_for_figures(name: str, tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", ["id", "rater 1", "rater 2"], *WIDE, [name, "a", "b"])
    assert "summary_rows" not in codes(spagree.measure(table, format="wide"))


def test_a_word_among_others_is_an_item(tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", ["id", "rater 1", "rater 2"], ["mean", "a", "b"], *WIDE)
    assert "summary_rows" not in codes(spagree.measure(table, format="wide"))


def test_figures_below_a_long_table_are_named_too(tmp_path: Path) -> None:
    many = [[str(n), "a", "ab"[n % 2]] for n in range(5_000)]
    table = written(tmp_path / "t.csv", ["id", "rater 1", "rater 2"], *many, ["Total", "a", "a"])
    assert "summary_rows" in codes(spagree.measure(table, format="wide"))


@pytest.mark.parametrize("name", ["Total", "Gesamt"])
def test_sums_below_counts_are_named_in_any_language(name: str, tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", ["id", "yes", "no"], *COUNTS, [name, 9, 7])
    assert repr(name) in codes(spagree.measure(table, format="counts"))["summary_rows"]
    without = spagree.measure(written(tmp_path / "u.csv", ["id", "yes", "no"], *COUNTS), format="counts")
    assert "summary_rows" not in codes(without)
    assert without.spa.value == pytest.approx(SPA_OF_COUNTS)


def test_margins_of_a_crosstab_are_named() -> None:
    counts = pd.DataFrame([row[1:] for row in COUNTS] + [[9, 7]], columns=["yes", "no"])
    assert "'row 6'" in codes(spagree.measure(counts, format="counts"))["summary_rows"]


def test_two_rows_of_headers_are_refused_and_one_is_read(tmp_path: Path) -> None:
    rows = [[item, one, "sure", two, "sure"] for item, one, two in WIDE]
    merged = written(tmp_path / "m.csv", ["", "Ann", "", "Bob", ""], ["item", "label", "note", "label", "note"], *rows)
    with pytest.raises(DataError, match=r"two header rows.*join them into one row, such as 'Ann label'"):
        spagree.measure(merged, format="wide")
    joined = written(tmp_path / "j.csv", ["item", "Ann label", "Ann note", "Bob label", "Bob note"], *rows)
    found = spagree.measure(joined, format="wide", label=["Ann label", "Bob label"])
    assert found.spa.value == pytest.approx(4 / 6)


def test_a_lost_name_is_no_second_header(tmp_path: Path) -> None:
    rows = [[item, one, two, "a"] for item, one, two in WIDE]
    found = spagree.measure(written(tmp_path / "t.csv", ["id", "Ann", "Bob", ""], *rows), format="wide")
    assert found.data.annotators == 2


@pytest.mark.parametrize("addition", [" conf", "_seconds", " (sure)", ".sure"])
def test_columns_named_after_the_annotators_are_no_annotators(addition: str, tmp_path: Path) -> None:
    header = ["id", "R1", f"R1{addition}", "R2", f"R2{addition}"]
    scale = {"a": 1, "b": 2}
    rows = [[item, scale[one], n % 3 + 1, scale[two], n % 2 + 1] for n, (item, one, two) in enumerate(WIDE)]
    found = spagree.measure(written(tmp_path / "t.csv", header, *rows), format="wide")
    assert found.spa.value == pytest.approx(4 / 6)
    assert f"R1{addition}" in codes(found)["columns_aside"] and "named after" in codes(found)["columns_aside"]


def test_names_that_only_begin_alike_are_annotators(tmp_path: Path) -> None:
    rows = [[item, one, two, one, two] for item, one, two in WIDE]
    table = written(tmp_path / "t.csv", ["id", "Ann", "Ann B", "Anna", "Bob"], *rows)
    assert spagree.measure(table, format="wide").data.annotators == 4


def test_dates_may_be_the_labels(tmp_path: Path) -> None:
    dates = {"a": "2001-05-06", "b": "1999-12-31"}
    rows = [[item, dates[one], dates[two]] for item, one, two in WIDE]
    found = spagree.measure(written(tmp_path / "t.csv", ["id", "rater 1", "rater 2"], *rows))
    assert found.spa.value == pytest.approx(4 / 6)


def refusal(path: Path, **options: object) -> str:
    with pytest.raises(SpagreeError) as refused:
        spagree.measure(path, **options)
    return str(refused.value)


def test_a_title_above_the_header_is_advised_away(tmp_path: Path) -> None:
    rows = [["item", "annotator", "label"], ["1", "ann", "a"], ["1", "bob", "a"]]
    told = refusal(written(tmp_path / "t.csv", ["Results", "", ""], ["", "", ""], *rows))
    assert "if 'item', 'annotator', 'label' are the names of the columns: delete the lines above them" in told
    assert spagree.measure(written(tmp_path / "u.csv", *rows)).spa.value == 1


def test_no_header_is_not_advised_again(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", ["Satz", "Kodierer", "Etikett"], *WIDE)
    assert "header=False" in refusal(path)
    assert "header=False" not in refusal(path, header=False)


def test_a_table_of_one_column_may_be_separated_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("item   annotator  label\n1      ann        a\n", encoding="utf-8")
    assert "separate them with commas or tabs" in refusal(path)


def test_an_address_may_be_the_item(tmp_path: Path) -> None:
    rows = [[f"https://x.org/{n // 2}", "ab"[n % 2], "yn"[n % 3 == 0]] for n in range(30)]
    path = written(tmp_path / "t.csv", ["page", "rater", "answer"], *rows)
    assert "item='page'" in refusal(path).replace('"', "'")


def test_percentages_are_no_counts(tmp_path: Path) -> None:
    quarters = [["1", 75, 25], ["2", 100, 0], ["3", 0, 100], ["4", 50, 50], ["5", 25, 75]]
    found = codes(spagree.measure(written(tmp_path / "t.csv", ["id", "yes", "no"], *quarters)))
    assert (
        "percentages of 4 annotations" in found["looks_like_shares"]
        and "multiply them by 4" in found["looks_like_shares"]
    )
    hundred = [["1", 71, 29], ["2", 100, 0], ["3", 3, 97], ["4", 50, 50], ["5", 26, 74]]
    assert "looks_like_shares" not in codes(spagree.measure(written(tmp_path / "u.csv", ["id", "yes", "no"], *hundred)))
    signed = [[item, f"{yes}%", f"{no}%"] for item, yes, no in quarters]
    assert "like shares: multiply them by the number of annotations" in refusal(
        written(tmp_path / "v.csv", ["id", "yes", "no"], *signed)
    )


@pytest.mark.parametrize(
    ("column", "gone", "kept"),
    [("deleted", "true", "false"), ("is_deleted", "1", "0"), ("status", "Draft", "submitted"), ("Skipped", "x", "")],
)
def test_withdrawn_annotations_are_named_with_the_way_to_leave_them_out(
    column: str, gone: str, kept: str, tmp_path: Path
) -> None:
    rows = [["1", "ann", "a", kept], ["1", "bob", "a", kept], ["1", "cyd", "b", gone]]
    table = written(tmp_path / "t.csv", ["item", "annotator", "label", column], *rows)
    told = codes(spagree.measure(table))["withdrawn"]
    assert "1 of the first 3" in told and f"{column}={kept}" in told
    found = spagree.measure(table, where=f"{column}={kept}")
    assert found.spa.value == 1 and "withdrawn" not in codes(found)


def test_a_status_that_withdraws_nothing_is_no_reason_to_warn(tmp_path: Path) -> None:
    rows = [["1", "ann", "a", "submitted"], ["1", "bob", "a", "approved"]]
    assert "withdrawn" not in codes(
        spagree.measure(written(tmp_path / "t.csv", ["item", "annotator", "label", "status"], *rows))
    )
