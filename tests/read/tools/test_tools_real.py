"""Exports made by the tools themselves, where they lie beside the checkout, with the values known for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import spagree

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
    assert "status_unknown" in [caution.code for caution in agreement.warnings]


def test_huggingface_names_its_classes() -> None:
    agreement = spagree.measure(FOLDER / "hf" / "parallel_lists.parquet")
    assert set(agreement.data.labels) == {"hatespeech", "normal", "offensive"}


def test_prodigy_without_annotators() -> None:
    agreement = spagree.measure(FOLDER / "prodigy" / "annotated_github-issues-DOCUMENTATION-textcat.jsonl")
    assert agreement.data.annotators is None and agreement.data.left_out == {"skipped": 44}


def test_labelbox_import_files_are_refused() -> None:
    with pytest.raises(spagree.DataError, match="importing"):
        spagree.measure(FOLDER / "labelbox" / "ndjson_classification_import.json")


CUT = ["label-studio/export/sentiment.json", "label-studio/export/sentiment.min.json", "argilla/records_to_list_flat.json",
       "prodigy/pydata-ams-2023-part.jsonl", "appen/full-report-relex-multiple-choice.csv", "mturk/ct_platform_amt1.csv",
       "label-studio/export/sentiment.csv"]  # fmt: skip


@pytest.mark.parametrize("name", CUT)
def test_a_truncated_real_export_is_refused_with_the_place(name: str, tmp_path: Path) -> None:
    text = (FOLDER / name).read_bytes()
    path = tmp_path / Path(name).name
    path.write_bytes(text[: len(text) * 2 // 3 - 7])
    with pytest.raises(spagree.DataError, match=rf"{path.name}:\d+"):
        spagree.measure(path, duplicates="last")
