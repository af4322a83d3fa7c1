"""The paper's data sets in their published layouts, written here by hand; tidy files; stand-ins."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest
import xlsxwriter

import spagree
from command import written
from spagree.studies import datasets
from spagree.studies.datasets import SOURCES, LabelSet, StandIn, draw, label_set, other_sets, paper_sets

OPINION = "Expresses writer’s opinion"


def kept(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return written(path, *lines[1:], header=lines[0])


def write_mbic(path: Path, sheet: str = "annotations") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        ("survey_record_id", "sentence_id", "label", "factual"),
        (11, 501, "Biased", OPINION),
        (12, 501, "Biased", "Entirely factual"),
        (13, 501, "Non-biased", OPINION),
        (11, 502, "Non-biased", "Entirely factual"),
        (12, 502, "Non-biased", "Entirely factual"),
        (14, 503, None, None),
    ]
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("annotators").write(0, 0, "survey_record_id")
        page = book.add_worksheet(sheet)
        for number, row in enumerate(rows):
            page.write_row(number, 0, row)
    return path


def write_bsmtwe(path: Path) -> Path:
    header = "trust_vs_disgust,surprise_vs_antecip,tweet_id,joy_vs_sadness,key,created_date,annotator_id,anger_vs_fear"
    rows = [
        "TRU,ANT,430330391403044864,JOY,1,2014-02-03,a1,dontknow",
        "DIS,ANT,430330391403044864,neutral,2,2014-02-03,a2,ANG",
        "TRU,SUR,430330391403044865,SAD,3,2014-02-03,a1,FEA",
    ]
    return kept(path, header, *rows)


def write_dar(path: Path) -> Path:
    several = [{"annotator": "b", "main_type": name} for name in ("question", "humor", "other")]
    first = [
        {"id": "t1", "annotations": [{"annotator": "a", "main_type": "question"}, *several]},
        {"id": "t2", "annotations": [{"annotator": "a", "main_type": "answer"}, {"annotator": "c"}]},
    ]
    threads = [
        {"url": "https://example.org/1", "posts": first},
        {"posts": [{"id": "t3"}, {"id": "t4", "annotations": [{"annotator": "c", "main_type": "answer"}]}]},
    ]
    return kept(path, *map(json.dumps, threads), "")


def write_fecg(path: Path, rows: int = 2) -> Path:
    faces = ",".join(f"http://example.org/{face}.jpg,0.1,0.5,0.2,0.6" for face in "abc")
    answers = ["4100000001,1,4100000002,1,17,3", "4100000001,2,18,2,19,2,20,1"]
    lines = [f"{faces},ONE_CLASS_TRIPLET,{answers[number % 2]}" for number in range(rows)]
    return kept(path, *lines)


def answers(frame: pl.DataFrame) -> list[tuple[str, str]]:
    return sorted(frame.select("item", "label").rows())


def test_mbic(tmp_path: Path) -> None:
    path = write_mbic(tmp_path / "mbic.xlsx")
    label, factual = datasets.mbic([path], "label"), datasets.mbic([path], "factual")
    assert answers(label) == [("501", "Biased")] * 2 + [("501", "Non-biased")] + [("502", "Non-biased")] * 2
    assert answers(factual).count(("501", OPINION)) == 2
    assert "\u2019" in OPINION


def test_mbic_needs_its_sheet_and_its_columns(tmp_path: Path) -> None:
    with pytest.raises(spagree.UsageError, match="annotations"):
        datasets.mbic([write_mbic(tmp_path / "other.xlsx", sheet="Sheet1")], "label")
    with pytest.raises(spagree.DataError, match="bias"):
        datasets.mbic([write_mbic(tmp_path / "mbic.xlsx")], "bias")


def test_bsmtwe_keeps_ids_of_18_digits(tmp_path: Path) -> None:
    path = write_bsmtwe(tmp_path / "tweets_annotations.csv")
    assert answers(datasets.bsmtwe([path], "trust_vs_disgust")) == [
        ("430330391403044864", "DIS"),
        ("430330391403044864", "TRU"),
        ("430330391403044865", "TRU"),
    ]
    assert datasets.bsmtwe([path], "anger_vs_fear")["label"].to_list() == ["dontknow", "ANG", "FEA"]
    with pytest.raises(spagree.DataError, match="love"):
        datasets.bsmtwe([path], "love")


def test_dar_takes_one_label_per_annotator_and_post(tmp_path: Path) -> None:
    path = write_dar(tmp_path / "coarse_discourse_dataset.json")
    found = datasets.dar([path], "main_type", seed=0)
    assert found["item"].to_list() == ["t1", "t1", "t2", "t4"]
    assert found.row(0) == ("t1", "question")
    drawn = {datasets.dar([path], "main_type", seed=seed)["label"][1] for seed in range(40)}
    assert drawn == {"question", "humor", "other"}
    assert found.equals(datasets.dar([path], "main_type", seed=0))


@pytest.mark.parametrize("line", ["{", "[]", '{"title": "no posts"}'])
def test_dar_says_where_it_is_not_dar(tmp_path: Path, line: str) -> None:
    path = tmp_path / "coarse_discourse.json"
    path.write_text('{"posts": []}\n' + line + "\n")
    with pytest.raises(spagree.DataError, match=r"coarse_discourse\.json:2: not a thread"):
        datasets.dar([path], "main_type")


def test_fecg_takes_the_row_as_the_item(tmp_path: Path) -> None:
    paths = [write_fecg(tmp_path / f"faceexp-comparison-data-{part}-public.csv") for part in ("test", "train")]
    found = datasets.fecg(paths)
    assert found["item"].n_unique() == 4
    first = found.filter(pl.col("item") == "faceexp-comparison-data-test-public.csv:1")
    assert first["label"].to_list() == ["1", "1", "3"]
    assert found.group_by("item").len()["len"].sort().to_list() == [3, 3, 4, 4]


def test_fecg_may_end_rows_with_empty_fields_but_says_where_fields_are_missing(tmp_path: Path) -> None:
    path = write_fecg(tmp_path / "faceexp-comparison-data-test-public.csv", rows=1)
    path.write_text(path.read_text().strip() + ",,\n")
    assert datasets.fecg([path])["label"].to_list() == ["1", "1", "3"]
    path.write_text(path.read_text() + "a,b,c\n")
    with pytest.raises(spagree.DataError, match=r"csv:2: 3 fields"):
        datasets.fecg([path])


@pytest.mark.parametrize("load", [datasets.mbic, datasets.bsmtwe, datasets.dar, datasets.fecg])
def test_a_missing_file_is_a_file_error(load: object, tmp_path: Path) -> None:
    with pytest.raises(spagree.FileError, match="no such file"):
        load([tmp_path / "nowhere"], "label")


def test_raw_files_are_found_in_the_folder_or_a_subfolder(tmp_path: Path) -> None:
    write_mbic(tmp_path / "mbic" / "annotations.xlsx")
    write_bsmtwe(tmp_path / "tweets_annotations.csv")
    write_dar(tmp_path / "dar" / "coarse_discourse_dataset.json")
    write_fecg(tmp_path / "fecg" / "faceexp-comparison-data-train-public.csv")
    found = {data.name: data for data in paper_sets(tmp_path)}
    assert [name for name, data in found.items() if data.simulated] == []
    assert found["mbic_factual"].annotations == 5 and found["bsmtwe_joy_vs_sadness"].classes == 3
    assert found["dar_main_type"].items == 3 and found["fecg_label"].annotations == 7
    assert other_sets(tmp_path) == []  # the raw file in the folder is not taken for a tidy one


def test_tidy_files_of_the_papers_sets_and_others(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "mbic_label.csv.gz", "wt") as file:
        file.write("item,annotator,label\n1,a,x\n1,b,y\n1,b,y\n2,a,x\n")
    written(tmp_path / "own.csv", "1,a,NA", "1,b,", "01,b,y")
    (tmp_path / "notes.txt").write_text("not data")
    found = {data.name: data for data in paper_sets(tmp_path)}
    assert found["mbic_label"].annotations == 4  # a repeat by one annotator is kept
    assert found["mbic_factual_simulated"].simulated
    (own,) = other_sets(tmp_path)
    assert (own.name, own.items, own.annotations, own.classes) == ("own", 2, 2, 2)


def test_the_order_of_rows_does_not_matter() -> None:
    frame = spagree.simulate(items=50, per_item=(1, 4), annotators=6, seed=1).frame.select("item", "label")
    first, second = label_set("x", "X", frame), label_set("x", "X", frame.sample(fraction=1.0, shuffle=True, seed=2))
    assert first.digest == second.digest
    assert label_set("y", "X", frame).digest != first.digest


def test_no_annotations_are_an_error() -> None:
    with pytest.raises(spagree.DataError, match="Empty: no annotations"):
        label_set("empty", "Empty", pl.DataFrame({"item": [], "label": []}))


SIZES = {  # items, fewest and most annotations, classes: as the paper says
    "mbic_label": (1700, 9, 12, 2), "mbic_factual": (1700, 9, 12, 3),
    "bsmtwe_trust_vs_disgust": (4553, 1, 6, 4), "bsmtwe_surprise_vs_antecip": (4553, 1, 6, 4),
    "bsmtwe_joy_vs_sadness": (4553, 1, 6, 4), "bsmtwe_anger_vs_fear": (4553, 1, 6, 4),
    "fecg_label": (51_042, 5, 12, 3), "dar_main_type": (115_000, 1, 3, 10),
}  # fmt: skip


@pytest.fixture(scope="module")
def standins() -> dict[str, LabelSet]:
    return {data.name: data for data in paper_sets(None)}


@pytest.mark.parametrize("name", SIZES)
def test_a_stand_in_has_the_size_of_the_real_one(name: str, standins: dict[str, LabelSet]) -> None:
    data = standins[f"{name}_simulated"]
    assert (data.items, data.per_item.min(), data.per_item.max(), data.classes) == SIZES[name]


def test_most_items_of_fecg_and_bsmtwe_have_the_usual_number(standins: dict[str, LabelSet]) -> None:
    assert (standins["fecg_label_simulated"].per_item == 6).sum() >= 50_992
    assert (standins["bsmtwe_anger_vs_fear_simulated"].per_item == 3).mean() == pytest.approx(0.96, abs=0.01)


def test_a_stand_in_follows_its_seed_and_is_never_taken_for_the_real_data() -> None:
    wanted = StandIn(classes=2, usual=3, items=20)
    assert draw(wanted, 1).equals(draw(wanted, 1)) and not draw(wanted, 1).equals(draw(wanted, 2))
    real, invented = (label_set("x", "X", draw(wanted, 1), simulated=simulated) for simulated in (False, True))
    assert (real.name, invented.name) == ("x", "x_simulated")
    assert real.digest != invented.digest  # so they never share a result


def test_the_sources_are_the_papers_table() -> None:
    from spagree.studies.experiments import PUBLISHED

    assert [f"{key}_{question}" for key, source in SOURCES.items() for question in source.questions] == list(PUBLISHED)
    assert list(PUBLISHED) == list(SIZES)


def test_published_files_go_before_tidy_ones(tmp_path: Path) -> None:
    write_bsmtwe(tmp_path / "bsmtwe" / "tweets_annotations.csv")
    written(tmp_path / "bsmtwe_trust_vs_disgust.csv", "1,a,x", "1,b,x")
    found = {data.name: data for data in paper_sets(tmp_path)}
    assert found["bsmtwe_trust_vs_disgust"].annotations == 3
    assert other_sets(tmp_path) == []
