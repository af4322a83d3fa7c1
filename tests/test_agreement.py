"""measure(), tally() and the object users hold."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import spagree
from oracle import over_items
from spagree.options import Estimating, Options, Reading, ReadingOptions

TRIPLES = [("q1", "ann", "yes"), ("q1", "bob", "yes"), ("q2", "ann", "yes"), ("q2", "bob", "no"), ("q3", "ann", "no")]
COLUMNS = {name: [row[place] for row in TRIPLES] for place, name in enumerate(["item", "annotator", "label"])}
LAZY_ROWS = [("q2", 2, 0.0), ("q1", 2, 1.0), ("q3", 1, None)]
SAID = [(1.0, "no ×1, yes ×1"), (0.0, "yes ×2"), (None, "no ×1")]
ROWS = [(*row, *said) for row, said in zip(LAZY_ROWS, SAID, strict=True)]


def test_an_agreement_on_counts_goes_from_one_process_to_another() -> None:
    agreement = spagree.measure(spagree.tally(TRIPLES))
    assert pickle.loads(pickle.dumps(agreement)).to_dict() == agreement.to_dict()


def test_the_contract_of_the_object() -> None:
    agreement = spagree.measure(TRIPLES)
    spa = agreement.spa
    assert (spa.value, spa.level, spa.weights, spa.method, spa.undefined) == (
        0.5, 0.95, "annotations_m1", "wilson", None,
    )  # fmt: skip
    assert agreement.schemes["edge"].value == 0.5 and float(agreement.spa) == 0.5
    assert agreement.missingness.undefined and agreement.data.annotators == 2
    assert [warning.code for warning in agreement.warnings] == ["few_items"]
    assert agreement.to_dict()["spa"]["value"] == 0.5
    assert "SPA 0.500" in str(agreement) and "SPA 0.500" in agreement._repr_html_()


def test_an_undefined_figure_refuses_to_become_a_number() -> None:
    with pytest.raises(TypeError, match="no item has two annotations"):
        float(spagree.measure([("q1", "ann", "yes"), ("q2", "bob", "yes")]).spa)
    with pytest.raises(TypeError, match="only one annotator"):
        float(spagree.measure([("q1", "ann", "yes"), ("q2", "ann", "yes")]).spa)


FRAMES: dict[str, Callable[[], Any]] = {
    "polars": lambda: pl.DataFrame(COLUMNS),
    "polars lazy": lambda: pl.LazyFrame(COLUMNS),
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pyarrow": lambda: pa.table(COLUMNS),
}


@pytest.mark.parametrize("name", FRAMES)
def test_items_are_polars_in_memory_and_lazy_where_the_source_is(name: str) -> None:
    found = spagree.measure(FRAMES[name]()).items()
    if name == "polars lazy":
        assert type(found) is pl.LazyFrame and found.collect().fill_nan(None).rows() == LAZY_ROWS
    else:
        assert type(found) is pl.DataFrame and found.fill_nan(None).rows() == ROWS


def test_items_of_a_duckdb_relation_stay_a_relation() -> None:
    connection = duckdb.connect()
    connection.register("labels", pa.table(COLUMNS))
    found = spagree.measure(connection.table("labels")).items()
    assert isinstance(found, duckdb.DuckDBPyRelation)
    assert found.fetchall() == LAZY_ROWS


def test_items_of_files_and_triples_are_polars(tmp_path: Path) -> None:
    pl.DataFrame(COLUMNS).write_csv(tmp_path / "a.csv")
    for source in (TRIPLES, tmp_path / "a.csv", str(tmp_path / "a.csv")):
        assert spagree.measure(source).items().rows() == ROWS


def test_a_tally_has_no_items() -> None:
    with pytest.raises(spagree.UsageError, match="measure the annotations themselves"):
        spagree.measure(spagree.tally(TRIPLES)).items()


def test_every_road_leads_to_the_same_findings(tmp_path: Path) -> None:
    expected = over_items(spagree.measure(TRIPLES).findings)
    counted = spagree.tally(TRIPLES)
    spagree.save(counted, tmp_path / "saved.json")
    kept = spagree.count_items(TRIPLES)
    spagree.save(kept, tmp_path / "kept.parquet")
    for source in (counted, kept, tmp_path / "saved.json", str(tmp_path / "kept.parquet"), pd.DataFrame(COLUMNS)):
        assert over_items(spagree.measure(source).findings) == expected
    assert spagree.tally(tmp_path / "saved.json") == counted == spagree.tally(kept)
    live = spagree.LiveTally()
    for annotation in TRIPLES:
        live.add(*annotation)
    for source in (kept, tmp_path / "kept.parquet", live):
        assert spagree.count_items(source).tally() == kept.tally()
    with pytest.raises(spagree.UsageError, match="a tally holds no single items"):
        spagree.count_items(tmp_path / "saved.json")


def test_options_reach_the_policies() -> None:
    noisy = [("q1", "ann", "Yes", 1), ("q1", "bob", "yes", 2), ("q1", "bob", "no", 4), ("q1", "cyd", "no", 3)]
    assert spagree.tally(noisy, duplicates="first", normalize=True, first=2).labels == {"yes": 2}
    assert spagree.count_items(noisy, duplicates="last", first=2).tally().labels == {"Yes": 1, "no": 1}
    assert spagree.measure(noisy, duplicates="last", missing=["no"]).data.left_out == {"missing_label": 2}


def test_reading_options_are_refused_for_a_tally() -> None:
    counted = spagree.tally(TRIPLES)
    for options in ({"first": 2}, {"missing": ["no"]}, {"item": "x"}, {"duplicates": "last"}, {"format": "wide"}):
        with pytest.raises(spagree.UsageError, match=f"{next(iter(options))}= has no effect on a tally"):
            spagree.measure(counted, **options)
        with pytest.raises(spagree.UsageError, match="when counting the annotations"):
            spagree.tally(counted, **options)


@pytest.mark.parametrize(("types", "records"), [(ReadingOptions, [Reading]), (Options, [Reading, Estimating])])
def test_the_types_of_keyword_arguments_are_those_of_the_records(types: type, records: list[type]) -> None:
    declared = {each.name: each.type for record in records for each in fields(record)}
    assert {name: hint.__forward_arg__ for name, hint in types.__annotations__.items()} == declared


@pytest.mark.parametrize("name", Options.__annotations__)
def test_the_docstring_explains_every_option(name: str) -> None:
    assert f"\n    {name}: " in inspect.cleandoc(str(spagree.measure.__doc__))


def test_options_are_remembered_without_secrets() -> None:
    options = {"pseudonymise": "our secret", "level": 0.9, "duplicates": "first", "missing": []}
    found = spagree.measure(TRIPLES, **options).options
    assert found == {"duplicates": "first", "pseudonymise": True, "level": 0.9}


def test_parts_and_live_tallies_are_measured_directly(tmp_path: Path) -> None:
    live = spagree.LiveTally()
    for row in TRIPLES:
        live.add(*row)
    expected = over_items(spagree.measure(TRIPLES).findings)
    assert over_items(spagree.measure(live).findings) == expected
    parts = [TRIPLES[:2], TRIPLES[2:]]
    for number, part in enumerate(parts):
        spagree.save(spagree.tally(part), tmp_path / f"{number}.json")
    merged = spagree.measure([tmp_path / "0.json", str(tmp_path / "1.json")])
    assert over_items(merged.findings) == expected


def test_wrong_options_are_refused_before_the_data_is_read(tmp_path: Path) -> None:
    for options in ({"weights": "egde"}, {"bootstrap": 3}, {"bootstrap": 200, "seed": -1}):
        with pytest.raises(spagree.UsageError):
            spagree.measure(tmp_path / "nowhere.csv", **options)


@pytest.mark.parametrize("kind", ["file", "triples", "polars", "pandas"])
def test_every_table_is_of_one_kind(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    pl.DataFrame(COLUMNS).write_csv(path)
    triples = list(zip(COLUMNS["item"], COLUMNS["annotator"], COLUMNS["label"], strict=True))
    sources: dict[str, Any] = {
        "file": path,
        "triples": triples,
        "polars": pl.DataFrame(COLUMNS),
        "pandas": pd.DataFrame(COLUMNS),
    }
    found = spagree.measure(sources[kind])
    tables = [found.annotators(), found.pairs(), found.classes(), found.confusion(), found.hardest(2)]
    tables += [found.consensus(), found.distribution(), found.items()]
    assert {type(table) for table in tables} == {pl.DataFrame}


def test_a_misspelt_figure_is_refused_with_the_nearest_one() -> None:
    agreement = spagree.measure("example:sparse")
    with pytest.raises(KeyError, match=r"^unknown figure 'alpha'; did you mean 'krippendorff_alpha'"):
        agreement.chance["alpha"]
    with pytest.raises(KeyError, match="did you mean 'edge'"):
        agreement.schemes["edges"]
    assert agreement.chance.get("alpha") is None and dict(agreement.chance) == agreement.findings.chance


def test_the_terminal_says_once_that_no_item_has_two_annotations() -> None:
    shown = str(spagree.measure([("q1", "ann", "yes"), ("q2", "bob", "no")]))
    assert " ".join(shown.split()).lower().count("no item has two annotations") == 1
