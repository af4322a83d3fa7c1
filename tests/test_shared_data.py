"""Real annotation data, where it lies beside the checkout: the flat agreement of every file."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import spagree

FOLDER = Path(__file__).parent.parent.parent / "shared" / "data"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="real data is not beside this checkout")


def described() -> list[tuple[str, int, int, int, float]]:
    """Rows of the table in the folder's README: name, items, annotations, classes, flat agreement."""
    if not FOLDER.is_dir():
        return []
    rows = []
    for line in (FOLDER / "README.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 8 and re.fullmatch(r"\w+", cells[0]) and cells[1].isdigit():
            rows.append((cells[0], int(cells[1]), int(cells[2]), int(cells[4]), float(cells[6])))
    return rows


@pytest.mark.parametrize("row", described(), ids=lambda row: row[0])
def test_flat_agreement_is_reproduced(row: tuple[str, int, int, int, float]) -> None:
    name, items, annotations, classes, flat = row
    agreement = spagree.measure(without_annotators(name), weights="flat")
    data = agreement.data
    assert (data.items, data.annotations, data.classes) == (items, annotations, classes)
    assert agreement.spa.value == pytest.approx(flat, abs=5.1e-7)


def without_annotators(name: str) -> pl.DataFrame:
    """The README counts every row, repeats by one annotator too."""
    return pl.read_csv(FOLDER / f"{name}.csv.gz", infer_schema=False, columns=["item", "label"])


def test_there_is_a_row_for_nearly_every_file() -> None:
    files = {path.name.removesuffix(".csv.gz") for path in FOLDER.glob("*.csv.gz")}
    assert files - {row[0] for row in described()} == {"dar_sample", "fecg_sample"}
    assert len(files) > 15


@pytest.mark.parametrize(("name", "flat"), [("dar_sample", 2 / 3), ("fecg_sample", 0.643333)])
def test_the_tiny_samples(name: str, flat: float) -> None:
    assert spagree.measure(without_annotators(name), weights="flat").spa.value == pytest.approx(flat, abs=5e-7)


def test_files_with_annotators_are_read_directly_and_repeats_need_a_decision() -> None:
    assert spagree.measure(FOLDER / "rte.csv.gz", weights="flat").spa.value == pytest.approx(0.628694, abs=5e-7)
    with pytest.raises(spagree.DuplicateError, match="duplicates="):
        spagree.measure(FOLDER / "varierr_nli.csv.gz")
    assert spagree.measure(FOLDER / "varierr_nli.csv.gz", duplicates="first").data.left_out == {"repeated": 75}


def test_agreement_that_depends_on_n_is_reported() -> None:
    agreement = spagree.measure(FOLDER / "music_genre.csv.gz")
    assert agreement.schemes["edge"].value == pytest.approx(0.389714, abs=5e-7)
    assert {"missingness", "schemes_diverge"} <= {warning.code for warning in agreement.warnings}


@pytest.mark.parametrize("name", ["convabuse", "web", "popquorn_offensiveness", "politeness_wiki"])
def test_ordinal_labels_agree_more_than_nominal_ones(name: str) -> None:
    frame = pl.read_csv(FOLDER / f"{name}.csv.gz", infer_schema=False)
    nominal, ordinal = (spagree.measure(frame, duplicates="first", metric=metric) for metric in ("nominal", "ordinal"))
    assert ordinal.spa.value > nominal.spa.value
    assert ordinal.chance["krippendorff_alpha"].value > nominal.chance["krippendorff_alpha"].value > 0


def test_repeats_as_one_set_of_labels() -> None:
    """VariErr: annotators gave some items several labels; a set per annotator and item keeps them all."""
    rows = pl.read_csv(FOLDER / "varierr_nli.csv.gz", infer_schema=False)
    sets = rows.group_by("item", "annotator").agg(pl.col("label").unique().sort().str.join("|"))
    found = {
        metric: spagree.measure(sets, metric=metric).spa.value for metric in ("nominal", "masi", "jaccard", "options")
    }
    assert found["nominal"] < found["masi"] < found["jaccard"] < found["options"]
    assert spagree.measure(sets).data.left_out == {}


@pytest.mark.parametrize(("question", "wider"), [("label", 1.41), ("factual", 1.33)])
def test_mbic_was_annotated_in_groups_of_twenty_sentences(question: str, wider: float) -> None:
    """Items that the same people annotated are one group: the error between groups is larger than between items."""
    rows = pl.read_csv(FOLDER / f"mbic_{question}.csv.gz", infer_schema=False)
    group = {item: item for item in rows["item"].unique()}
    for _, items in rows.group_by("annotator").agg("item").rows():
        merged = {group[item] for item in items}
        group = {item: min(merged) if each in merged else each for item, each in group.items()}
    batches = rows.with_columns(pl.col("item").replace_strict(group).alias("batch"))
    found = spagree.measure(batches, cluster="batch", interval_for="items").spa
    plain = spagree.measure(rows, interval_for="items").spa
    assert found.value == plain.value
    assert (found.stderr or 0) / (plain.stderr or 1) == pytest.approx(wider, abs=0.01)
