"""Exports made by the tools themselves, where they lie beside the checkout, with the values known for them."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

import spagree
from spagree.read import read_all

FOLDER = Path(__file__).parents[4] / "shared" / "formats"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="real exports are not beside this checkout")

KNOWN: list[tuple[str, dict[str, Any], float, tuple[int, int, int | None]]] = [
    # file, options, flat agreement, (annotations, items, annotators)
    ("wide/mace_rte.standardized.csv", {"format": "wide", "header": False}, 0.6287, (8000, 800, 164)),
    ("appen/full-report-relex-multiple-choice.csv", {}, 0.4181, (150, 10, 67)),
    ("appen/ct_platform_cf1.csv", {}, 2 / 9, (27, 9, 18)),
    ("mturk/ct_platform_amt1.csv", {}, 2 / 9, (27, 9, 18)),
    ("appen/ct_platform_cf2.csv", {}, 0.1984, (63, 7, 17)),
    ("mturk/ct_platform_amt2.csv", {}, 0.1984, (63, 7, 17)),
    ("appen/ct_platform_cf3.csv", {}, 0.28, (30, 5, 18)),
    ("mturk/ct_platform_amt3.csv", {}, 0.28, (30, 5, 18)),
    ("potato/annotation_output", {"question": "sentiment"}, 5 / 9, (8, 3, 3)),
    ("potato/annotation_output", {"question": "quality"}, 4 / 9, (8, 3, 3)),
    ("hf/parallel_lists.parquet", {}, 2 / 3, (5, 2, 4)),
    ("hf/list_of_struct.parquet", {"question": "label"}, 2 / 3, (5, 2, 4)),
    ("hf/sequence_of_dict.parquet", {"question": "label"}, 2 / 3, (5, 2, 4)),
    ("argilla/records_to_list_flat.json", {"question": "sentiment"}, 1, (3, 2, 2)),
    ("prodigy/pydata-ams-2023-part.jsonl", {}, 0.8510, (941, 110, 30)),
    ("mturk-direct/wedding-images.csv", {}, 0.9216, (51, 17, 11)),
    ("potato-1x/annotation_output", {"question": "Faithfulness"}, 0.3417, (360, 120, 3)),
]


@pytest.mark.parametrize(("name", "options", "flat", "sizes"), KNOWN, ids=[f"{row[0]} {row[1]}" for row in KNOWN])
def test_known_values(name: str, options: dict[str, Any], flat: float, sizes: tuple[int, int, int | None]) -> None:
    agreement = spagree.measure(FOLDER / name, weights="flat", duplicates="last", **options)
    assert agreement.spa.value == pytest.approx(flat, abs=5e-5)
    data = agreement.data
    assert (data.annotations, data.items, data.annotators) == sizes


STUDIO = ["sentiment.json", "sentiment_all_tasks.json", "sentiment_snapshot_full.json", "sentiment.min.json",
          "sentiment_all_tasks.min.json", "sentiment.csv", "sentiment_all_tasks.csv", "sentiment.tsv", "sentiment_all_tasks.tsv"]  # fmt: skip


@pytest.mark.parametrize("name", STUDIO)
def test_all_formats_of_label_studio_agree(name: str) -> None:
    """By hand from the nine annotations that count: 1: Pos Pos Neg, 2: Neg Neg, 3: Neu Neu, 9: Pos Neg; 4 has one left."""
    path = FOLDER / "label-studio" / "export" / name
    found = spagree.measure_all(path, duplicates="last", weights="flat")
    assert found["sentiment"].spa.value == pytest.approx((1 / 3 + 1 + 1 + 0) / 4)
    assert found["quality"].spa.value == pytest.approx((1 / 3 + 0) / 2)
    assert set(found) == {"sentiment", "topics", "quality", "cat", "score", "why"}


def test_label_studio_counts_what_it_leaves_out() -> None:
    path = FOLDER / "label-studio" / "export" / "sentiment_all_tasks.json"
    agreement = spagree.measure(path, question="sentiment", duplicates="last")
    assert agreement.data.left_out == {"cancelled": 1, "empty": 1, "draft": 1, "repeated": 1}
    dropped = spagree.measure(path, question="sentiment", duplicates="last", ground_truth="drop")
    assert dropped.data.left_out["ground_truth"] == 3


@pytest.mark.parametrize("kind", ["JSONL", "JSON", "CSV", "fastText"])
def test_all_formats_of_doccano_agree(kind: str) -> None:
    for mode, flat in (("single", 0.5), ("multi", 0)):
        agreement = spagree.measure(FOLDER / "doccano" / f"individual_{mode}_{kind}_all.zip", weights="flat")
        assert agreement.spa.value == flat and agreement.data.left_out == {"empty": 12}
        confirmed = spagree.measure(FOLDER / "doccano" / f"individual_{mode}_{kind}_confirmed.zip", weights="flat")
        assert confirmed.spa.value == 0 and confirmed.data.left_out == {"empty": 1}
    for which in ("all", "confirmed"):
        with pytest.raises(spagree.DataError, match="merged"):
            spagree.measure(FOLDER / "doccano" / f"collaborative_{kind}_{which}.zip")


def test_potato_histories_lead_to_the_states() -> None:
    histories = sorted((FOLDER / "potato" / "annotation_output").glob("*/annotation_history.jsonl"))
    for question in ("sentiment", "topics", "quality"):
        states = spagree.measure(FOLDER / "potato" / "annotation_output", question=question)
        assert spagree.measure(list(histories), question=question).data == states.data


def test_argilla_nested_counts_drafts_and_says_so() -> None:
    agreement = spagree.measure(FOLDER / "argilla" / "records_to_list.json", question="sentiment")
    assert agreement.data.annotations == 5
    assert "status_unknown" in [warning.code for warning in agreement.warnings]


def test_huggingface_names_its_classes() -> None:
    agreement = spagree.measure(FOLDER / "hf" / "parallel_lists.parquet")
    assert set(agreement.data.labels) == {"hatespeech", "normal", "offensive"}


def test_prodigy_without_annotators() -> None:
    agreement = spagree.measure(FOLDER / "prodigy" / "annotated_github-issues-DOCUMENTATION-textcat.jsonl")
    assert agreement.data.annotators is None and agreement.data.left_out == {"skipped": 44}


def test_labelbox_import_files_are_refused() -> None:
    with pytest.raises(spagree.DataError, match="importing"):
        spagree.measure(FOLDER / "labelbox" / "ndjson_classification_import.json")


def weighted(labels: Iterable[Sequence[str]]) -> float:
    """SPA with annotations_m1 weights, by hand: the share of agreeing pairs of each item, weighted by n - 1."""
    groups = [Counter(given) for given in labels if len(given) > 1]
    sizes = [group.total() for group in groups]
    pairs = [sum(k * (k - 1) for k in group.values()) / n for group, n in zip(groups, sizes, strict=True)]
    return sum(pairs) / sum(n - 1 for n in sizes)


def test_zooniverse_surveys_by_hand() -> None:
    """A user's first classification of a subject, the set of its choices; empty surveys are left out."""
    first: dict[tuple[str, str], str] = {}
    path = FOLDER / "zooniverse" / "kenya-sample.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            surveys = [each for each in json.loads(row["annotations"]) if each["task"] == "T3" and each["value"]]
            for survey in surveys:
                chosen = json.dumps(sorted({each["choice"] for each in survey["value"]}))
                first.setdefault((row["subject_ids"], row["user_name"]), chosen)
    items: defaultdict[str, list[str]] = defaultdict(list)
    for (subject, _), label in first.items():
        items[subject].append(label)
    agreement = spagree.measure(path, question="T3", duplicates="first")
    assert (agreement.data.items, agreement.data.annotations) == (len(items), len(first)) == (784, 969)
    assert agreement.spa.value == pytest.approx(weighted(items.values())) == pytest.approx(0.6980, abs=5e-5)
    assert set(read_all(FOLDER / "zooniverse" / "cls_export.csv")) == {"T0", "T1"}


@pytest.mark.parametrize(
    ("name", "regions"),
    [("ls_brush", 10), ("ls_ner", 10), ("ls_perregion", 30), ("ls_ranker", 10), ("ls_video", 10),
     ("test_export_yolo_data", 6), ("test_export_yolo_data_polygons", 1)],
)  # fmt: skip
def test_regions_of_label_studio_are_refused(name: str, regions: int) -> None:
    path = FOLDER / "label-studio-regions" / f"{name}.json"
    tasks = json.loads(path.read_text("utf-8"))
    assert sum(len(each["result"]) for task in tasks for each in task["annotations"]) == regions
    with pytest.raises(spagree.DataError, match=f"{regions} regions? marked and no classes chosen"):
        spagree.measure(path)
