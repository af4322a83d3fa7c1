"""The examples hold the published numbers, and the simulated ones can be made again."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import spagree
from spagree.errors import UsageError
from spagree.read.examples import EXAMPLES, FOLDER, example, locate
from spagree.studies.simulation import Simulation, simulate

LARGEST = 60_000


def made_by_its_note(name: str) -> Simulation:
    """Run the call that stands in the note."""
    call = re.match(r"simulate\((.*?)\)\. ", EXAMPLES[name].note)
    assert call is not None
    arguments: dict[str, Any] = eval(f"dict({call[1]})")
    return simulate(**arguments)


def test_every_file_belongs_to_an_example() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*(f"{name}.csv" for name in EXAMPLES), "examples.toml"}


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_each_is_a_small_table_of_texts_and_says_where_it_comes_from(name: str) -> None:
    path, layout = locate(name)
    assert layout in {"long", "wide", "counts", "spans"}
    assert 0 < path.stat().st_size <= LARGEST
    assert b"\r" not in path.read_bytes()
    assert EXAMPLES[name].citation and EXAMPLES[name].note.endswith(".")
    table = example(name)
    assert set(table.dtypes) == {pl.String} and table.columns[0] == "item"


def test_a_misspelt_name() -> None:
    with pytest.raises(UsageError, match="unknown example 'fleis1971'; did you mean 'fleiss1971'"):
        locate("fleis1971")
    with pytest.raises(UsageError, match="unknown example"):
        example("../secret")


@pytest.mark.parametrize(
    ("name", "coefficient", "value", "last_digit"),
    [
        ("fleiss1971", "fleiss_kappa", 0.4302445, 1e-7),
        ("krippendorff2011", "krippendorff_alpha", 0.743, 1e-3),
        ("landis-koch1977", "conger_kappa", 0.208, 1e-3),  # of two annotators: Cohen's
        ("cohen1968", "conger_kappa", 0.492, 1e-3),
        ("gwet2014", "conger_kappa", 0.79641, 1e-5),
        ("gwet2014", "gwet_ac1", 0.84933, 1e-5),
    ],
)
def test_published_coefficients(name: str, coefficient: str, value: float, last_digit: float) -> None:
    found = spagree.measure(f"example:{name}").chance[coefficient]
    assert found.value == pytest.approx(value, abs=last_digit / 2)


@pytest.mark.parametrize(
    ("name", "agreement"),
    [("fleiss1971", "5/9"), ("landis-koch1977", "64/149"), ("cohen1968", "7/10"), ("gwet2014", "89/100")],
)
def test_published_agreement(name: str, agreement: str) -> None:
    assert spagree.measure(f"example:{name}").schemes["flat"].value == float(Fraction(agreement))


def test_the_counts_of_fleiss_and_krippendorff() -> None:
    fleiss, krippendorff = (spagree.measure(f"example:{name}").data for name in ("fleiss1971", "krippendorff2011"))
    each = fleiss.annotations_per_item
    assert (fleiss.items, each.min, each.max) == (30, 6, 6)
    assert fleiss.labels == {
        "Depression": 26, "Personality disorder": 26, "Schizophrenia": 30, "Neurosis": 55, "Other": 43,
    }  # fmt: skip
    assert (krippendorff.items, krippendorff.annotations, krippendorff.pairable_annotations) == (12, 41, 40)
    assert example("krippendorff2011").null_count().row(0) == (0, 3, 1, 2, 1)


@pytest.mark.parametrize(
    ("name", "people", "labels", "published"),
    [
        ("landis-koch1977", "New Orleans, Winnipeg", "certain, probable, possible, doubtful",
         [[38, 5, 0, 1], [33, 11, 3, 0], [10, 14, 5, 6], [3, 7, 3, 10]]),
        ("cohen1968", "judge B, judge A", "personality disorder, neurosis, psychosis",
         [[88, 10, 2], [14, 40, 6], [18, 10, 12]]),
        ("gwet2014", "abstractor 1, abstractor 2", "ectopic, abnormal intrauterine, normal intrauterine",
         [[13, 0, 0], [0, 20, 7], [0, 4, 56]]),
    ],
)  # fmt: skip
def test_published_tables(name: str, people: str, labels: str, published: list[list[int]]) -> None:
    table = example(name)
    if EXAMPLES[name].format == "long":
        table = table.pivot("annotator", index="item", values="label")
    seen, classes = Counter(table.select(people.split(", ")).rows()), labels.split(", ")
    assert [[seen[one, other] for other in classes] for one in classes] == published


@pytest.mark.parametrize("name", ["sparse", "adaptive"])
def test_the_note_makes_the_file_byte_for_byte(name: str, tmp_path: Path) -> None:
    again = made_by_its_note(name).save(tmp_path / "again.csv")
    assert again.read_bytes() == locate(name)[0].read_bytes()


def test_sparse_is_what_it_says_and_near_its_truth_under_every_scheme() -> None:
    found, truth = spagree.measure("example:sparse"), made_by_its_note("sparse").truth
    assert example("sparse").columns == ["item", "annotator", "label", "time"]
    assert (found.data.items, found.data.annotators) == (300, 25)
    assert [row.n for row in found.missingness.by_n] == [2, 3, 4, 5]
    assert f"{truth:.3f}" == "0.580"
    assert all(each.value == pytest.approx(truth, abs=0.03) for each in found.schemes.values())


def test_adaptive_makes_the_schemes_diverge_and_the_first_two_in_time_give_the_truth() -> None:
    found, truth = spagree.measure("example:adaptive"), made_by_its_note("adaptive").truth
    assert found.data.items == 800 and f"{truth:.3f}" == "0.650"
    assert [f"{found.schemes[scheme].value:.3f}" for scheme in ("flat", "edge")] == ["0.812", "0.518"]
    first_two = spagree.measure("example:adaptive", first=2, weights="flat").spa.value
    assert f"{first_two:.3f}" == "0.654" and first_two == pytest.approx(truth, abs=0.02)


def test_the_story_of_spans_is_in_the_data() -> None:
    table = example("spans")
    letters = table.group_by("item").agg(pl.col("text").unique(), pl.col("start").count())
    assert all(len(text) == 1 for text in letters["text"]) and letters.filter(start=0)["item"].to_list() == ["letter03"]
    found = spagree.measure_spans("example:spans")
    assert (f"{float(found.exact):.3f}", f"{float(found.characters):.3f}") == ("0.537", "0.680")
    marks = dict(found.annotators().select("annotator", "marks").rows())
    assert marks["dan"] == 0 and min(marks[name] for name in ("ann", "ben", "cyd", "eve")) >= 14
    by_cyd = table.filter(annotator="cyd")["label"].drop_nulls()
    assert set(by_cyd) == {"person", "place"} and "organisation" in found.data.labels
    worst = max((name for name in found.outcomes if name != "same"), key=lambda name: found.outcomes[name].value or 0)
    assert worst == "other_boundaries"
    quoted = [
        text[int(start) : int(end)] for start, end, text in table.drop_nulls().select("start", "end", "text").rows()
    ]
    assert {"Madame Lefèvre", "Émile", "Musée d'Orsay"} <= set(quoted) and all(each == each.strip() for each in quoted)
