"""Saved tallies: they come back equal, and what is damaged is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import spagree
from command import Run
from oracle import BARS, counted, ends, exactly, long_frame, parse, tally_of
from spagree.counts.count import ItemCounts, item_counts
from spagree.counts.saved import (
    FORMAT,
    KIND,
    PARQUET_KEY,
    faults,
    is_saved_tally,
    load,
    merge,
    possible,
    save,
    tally_from_dict,
    tally_to_dict,
)
from spagree.counts.tally import Cell, Grouped, Tally
from spagree.errors import DataError, FileError, UsageError

FULL = Tally(
    {Cell(3, 2, 0): 2, Cell(2, 2, 0): 1, Cell(1, 0, 0): 2},
    {"yes": 7, 'né\n"': 3},
    {"yes": 6, 'né\n"': 2},
    {"ann": 6, "": 4},
    {"missing_label": 1},
)
EMPTY = Tally()
UNKNOWN = tally_of(parse(BARS))
HUGE = Tally.from_items([{"a": 2_000_000}])


def counts() -> ItemCounts:
    return item_counts(counted(long_frame(parse(BARS))))


# Round trips ---------------------------------------------------------------------------------------------


SAVED: dict[str, Callable[[], Tally | ItemCounts]] = {
    "full.json": lambda: FULL,
    "empty.json": Tally,
    "annotators unknown.json": lambda: UNKNOWN,
    "huge.json": lambda: HUGE,
    "counts.parquet": lambda: ItemCounts(counts().frame, {"ann": 3, "bøb": 2}, {"repeated": 4}),
    "no annotators.parquet": lambda: ItemCounts(counts().frame, {}, {}),
    "unknown.parquet": lambda: ItemCounts(counts().frame, None, {"repeated": 4}),
    "no counts.parquet": lambda: ItemCounts(counts().frame.clear(), {}, {}),
}


@pytest.mark.parametrize("name", SAVED)
def test_saved_counts_come_back_equal(name: str, tmp_path: Path) -> None:
    saved, path = SAVED[name](), tmp_path / name
    save(saved, path)
    assert is_saved_tally(path) and is_saved_tally(str(path))
    found = load(str(path))
    assert found == saved and type(found) is type(saved)
    if isinstance(found, Tally):
        assert all(isinstance(cell, Cell) for cell in found.cells)


def test_the_document_is_plain_sorted_and_numbered() -> None:
    assert tally_to_dict(FULL) == {
        "kind": "spagree tally",
        "format": 3,
        "cells": [[1, 0, 0, 2], [2, 2, 0, 1], [3, 2, 0, 2]],
        "labels": {"yes": 7, 'né\n"': 3},
        "pairable_labels": {"yes": 6, 'né\n"': 2},
        "annotators": {"ann": 6, "": 4},
        "left_out": {"missing_label": 1},
        "patterns": None,
        "counted": None,
        "people": None,
    }
    assert tally_to_dict(Tally.from_items([{"b": 1, "a": 2}, {"a": 1}]))["patterns"] == [
        [["a", 1], 1],
        [["a", 2], ["b", 1], 1],
    ]
    assert tally_to_dict(UNKNOWN)["annotators"] is None
    assert (KIND, FORMAT) == ("spagree tally", 3)


def test_the_file_is_readable_text_with_the_kind_first(tmp_path: Path) -> None:
    save(FULL, tmp_path / "part.json")
    text = (tmp_path / "part.json").read_text("utf-8")
    assert text.startswith('{"kind": "spagree tally", "format": 3, ')
    assert "n\\u00e9" in text


def test_parquet_counts_can_be_read_by_others(tmp_path: Path) -> None:
    save(counts(), tmp_path / "part.parquet")
    assert pl.read_parquet(tmp_path / "part.parquet").equals(counts().frame)
    about = json.loads(pl.read_parquet_metadata(tmp_path / "part.parquet")[PARQUET_KEY])
    assert (about.pop("format"), about.pop("left_out")) == (3, {})
    assert about.pop("annotators") == dict(counts().annotators)
    assert about.pop("counted") is None
    assert sorted(about) == ["checksum", "table"]


# Names and existing files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "name", "message"),
    [
        (FULL, "part.parquet", "a tally is saved as .json; name the file part.json"),
        (FULL, "part", "a tally is saved as .json; name the file part.json"),
        (FULL, "part.JSON", "a tally is saved as .json; name the file part.json"),
        (None, "part.json", "item counts is saved as .parquet; name the file part.parquet"),
    ],
)
def test_a_wrong_suffix_is_refused_with_the_right_name(
    what: Tally | None, name: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        save(what or counts(), tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}: {message}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("what", "name"), [(FULL, "part.json"), (None, "part.parquet")])
def test_an_existing_file_is_replaced_only_by_force(what: Tally | None, name: str, tmp_path: Path) -> None:
    target = tmp_path / name
    target.write_text("old")
    with pytest.raises(FileError, match=ends(f"{name}: exists already; use force=True to replace it")):
        save(what or counts(), target)
    assert target.read_text() == "old"
    save(what or counts(), target, force=True)
    assert load(target) == (what or counts())


# Damaged tallies -------------------------------------------------------------------------------------------


def damaged(**changes: Any) -> dict[str, Any]:
    return {**tally_to_dict(FULL), **changes}


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in tally_to_dict(FULL).items() if name != key}


@pytest.mark.parametrize("document", [[], "text", 3, None, {}, {"kind": "other"}, without("kind")])
def test_other_json_is_not_a_saved_tally(document: Any) -> None:
    with pytest.raises(DataError) as caught:
        tally_from_dict(document, "part.json")
    assert (
        str(caught.value)
        == "part.json: not a saved tally (\"kind\" is not 'spagree tally'); make one with spagree tally"
    )


@pytest.mark.parametrize("number", [4, "1", None])
def test_another_format_number_is_refused(number: Any) -> None:
    with pytest.raises(DataError) as caught:
        tally_from_dict(damaged(format=number))
    assert str(caught.value) == f"tally: format {number!r}, but this version reads 3; upgrade spagree"


@pytest.mark.parametrize(
    "document",
    [
        *[without(key) for key in ("cells", "labels", "pairable_labels", "annotators", "left_out")],
        damaged(cells=[[2, 2, 0]]),
        damaged(cells=[[2, 2, 0, 1, 9]]),
        damaged(cells=[[]]),
        damaged(cells=[7]),
        damaged(cells=None),
        damaged(cells="2201"),
        damaged(cells=[[2, 2, 0, 1.5]]),
        damaged(cells=[[2, 2, 0, "1"]]),
        damaged(cells=[[2, 2, 0, True]]),
        damaged(cells=[[2, -2, 0, 1]]),
        damaged(labels=["yes"]),
        damaged(labels={"yes": -1}),
        damaged(pairable_labels=None),
        damaged(annotators=[1]),
        damaged(annotators={"ann": None}),
        damaged(left_out={"repeated": 0.5}),
        damaged(cells=[*tally_to_dict(FULL)["cells"], [2, 2, 0, 1]]),
        damaged(annotators={"ann": 11}),
    ],
)
def test_a_damaged_tally_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"^part\.json: damaged tally: .+; count the data again$"):
        tally_from_dict(document, "part.json")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"not json", b"\xff\xfe\x00", b'{"kind": "\xff"}', b"[" * 100_000, b'{"kind": ' + b"1" * 5_000 + b"}"],
    ids=["empty", "cut off", "text", "binary", "not UTF-8", "too deep", "too many digits"],
)
def test_files_that_are_no_json_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "part.json").write_bytes(content)
    with pytest.raises(DataError, match=r"part\.json: not a saved tally: "):
        load(tmp_path / "part.json")


def test_truncations_of_a_saved_tally_are_refused(tmp_path: Path) -> None:
    save(FULL, tmp_path / "part.json")
    whole = (tmp_path / "part.json").read_bytes()
    for length in range(0, len(whole), 9):
        (tmp_path / "part.json").write_bytes(whole[:length])
        with pytest.raises(DataError):
            load(tmp_path / "part.json")


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_a_missing_file_or_a_folder_is_a_file_error(kind: str, tmp_path: Path) -> None:
    missing = f"none.{kind}: cannot be read: No such file or directory"
    with pytest.raises(FileError, match=exactly(f"{tmp_path}/{missing}")):
        load(tmp_path / f"none.{kind}")
    (tmp_path / f"folder.{kind}").mkdir()
    with pytest.raises(FileError, match=r"[Ii]s a directory"):
        load(tmp_path / f"folder.{kind}")


# Damaged item counts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", [lambda whole: whole[:-20], lambda whole: b"", lambda whole: b"PAR1 text" * 5])
def test_damaged_parquet_files_are_refused(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    target = tmp_path / "part.parquet"
    save(counts(), target)
    target.write_bytes(damage(target.read_bytes()))
    with pytest.raises(FileError) as caught:
        load(target)
    assert str(caught.value).startswith(f"{target}: not a Parquet file, or a truncated one: ")
    assert not is_saved_tally(target)
    with pytest.raises((FileError, DataError), match=r"part\.parquet: (truncated|named \.parquet|the file is empty)"):
        spagree.measure(target)


def test_metadata_that_claims_to_be_longer_than_its_file_is_not_ours(tmp_path: Path) -> None:
    target = tmp_path / "part.parquet"
    target.write_bytes(b"PAR1" + b"spagree item counts"[:5] + b"\xff\xff\xff\x7fPAR1")
    assert not is_saved_tally(target)


def test_a_damaged_page_of_item_counts_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "part.parquet"
    save(counts(), target)
    whole = bytearray(target.read_bytes())
    whole[4:24] = b"\xff" * 20
    target.write_bytes(bytes(whole))
    with pytest.raises(FileError, match=r"part\.parquet: damaged: .+; count the data again$"):
        load(target)


def test_another_parquet_file_is_not_item_counts(tmp_path: Path) -> None:
    counts().frame.write_parquet(tmp_path / "table.parquet")
    with pytest.raises(DataError) as caught:
        load(tmp_path / "table.parquet")
    assert str(caught.value) == (
        f"{tmp_path / 'table.parquet'}: not saved item counts; to score a table use measure or spagree score"
    )


def write_parquet(path: Path, about: str, frame: pl.DataFrame | None = None) -> Path:
    (counts().frame if frame is None else frame).write_parquet(path, metadata={PARQUET_KEY: about})
    return path


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ("not json", "not a saved tally"),
        ('{"format": 4}', "format 4, but this version reads 3; upgrade spagree"),
        ('{"format": null}', "format None, but this version reads 3; upgrade spagree"),
        ("[1]", "damaged item counts; count the data again"),
        ('{"format": 2}', "damaged item counts: KeyError"),
        ('{"format": 2, "annotators": null}', "damaged item counts: KeyError"),
        ('{"format": 2, "annotators": {"a": -1}, "left_out": {}}', "damaged item counts: ValueError"),
        ('{"format": 2, "annotators": null, "left_out": 3}', "damaged item counts: AttributeError"),
    ],
)
def test_item_counts_with_damaged_facts_are_refused(about: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load(write_parquet(tmp_path / "part.parquet", about))
    assert str(caught.value).startswith(f"{tmp_path / 'part.parquet'}: {message}")


# Parts ---------------------------------------------------------------------------------------------------


def test_parts_of_one_kind_add_up() -> None:
    parts = [tally_of(parse(data)) for data in ("aab", "ab a", "cc")]
    assert merge(parts) == tally_of(parse("aab ab a cc"))
    assert merge(parts[:1]) is parts[0]
    assert merge([FULL, FULL]) == FULL + FULL
    frame = long_frame(parse(BARS))
    assert merge([item_counts(counted(frame[start::3])) for start in range(3)]) == counts()
    for mixed in ([FULL, counts()], [counts(), FULL]):
        why = "some parts keep items and some do not; count them all the same way"
        with pytest.raises(UsageError, match=exactly(why)):
            merge(mixed)


# What is recognised ----------------------------------------------------------------------------------------


def test_other_files_are_not_saved_tallies(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text('[{"item": "spagree tally"}]')
    (tmp_path / "tally.csv").write_text(json.dumps(tally_to_dict(FULL)))
    (tmp_path / "late.json").write_text(" " * 300 + json.dumps(tally_to_dict(FULL)))
    counts().frame.write_parquet(tmp_path / "table.parquet")
    for folder in ("folder.json", "folder.parquet"):
        (tmp_path / folder).mkdir()
    names = {"none.json", "none.parquet", *(path.name for path in tmp_path.iterdir())}
    assert not any(is_saved_tally(tmp_path / name) for name in names)


def test_patterns_survive_saving_and_are_checked(tmp_path: Path) -> None:
    whole = Tally.from_items([{"a": 2, "b": 1}, {"a": 1}])
    save(whole, tmp_path / "whole.json")
    again = load(tmp_path / "whole.json")
    assert isinstance(again, Tally) and again.patterns == whole.patterns
    twice = 2 * tally_to_dict(whole)["patterns"]
    for patterns, fault in (([[["a", 1], 2]], "cells and patterns differ"), (twice, "a row occurs twice")):
        with pytest.raises(DataError, match=exactly(f"tally: damaged tally: {fault}; count the data again")):
            tally_from_dict({**tally_to_dict(whole), "patterns": patterns})


# What a changed file must not pass for ---------------------------------------------------------------------


def resaved(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    document = json.loads(path.read_text("utf-8"))
    change(document)
    path.write_text(json.dumps(document), "utf-8")
    return path


def test_counts_that_were_changed_consistently_are_refused(tmp_path: Path) -> None:
    save(FULL, tmp_path / "part.json")
    save(counts(), tmp_path / "part.parquet")
    about = pl.read_parquet_metadata(tmp_path / "part.parquet")[PARQUET_KEY]
    frame = counts().frame.with_columns(pl.col("item") + "x")
    for path in (
        resaved(tmp_path / "part.json", lambda document: document.update(left_out={})),
        write_parquet(tmp_path / "other.parquet", about, frame),
    ):
        why = "its checksum does not fit: it was changed after it was saved; count the data again"
        with pytest.raises(DataError, match=ends(f"/{path.name}: {why}")):
            load(path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda frame: frame.with_columns(pl.col("count") - 1), "a count below 1"),
        (lambda frame: frame.with_columns(count=pl.lit(None, pl.Int64)), "an item, label or count is missing"),
        (lambda frame: pl.concat([frame, frame.head(1)]), "an item has the same label in two rows"),
        (lambda frame: frame.head(1), "the annotators made more annotations than there are"),
        (
            lambda frame: frame.rename({"label": "class"}),
            "ValueError(\"columns {'item': String, 'class': String, 'count': Int64}\")",
        ),
    ],
    ids=["zero", "null", "doubled", "too many", "other columns"],
)
def test_item_counts_that_no_annotations_have_are_refused(
    damage: Callable[[pl.DataFrame], pl.DataFrame], message: str, tmp_path: Path
) -> None:
    about = json.dumps({"format": 2, "annotators": {"ann": 5}, "left_out": {}, "counted": None})
    path = write_parquet(tmp_path / "part.parquet", about, damage(counts().frame))
    with pytest.raises(DataError) as refused:
        load(path)
    assert str(refused.value) == f"{path}: damaged item counts: {message}; count the data again"


def test_doubled_keys_are_refused(tmp_path: Path) -> None:
    (tmp_path / "part.json").write_text('{"kind": "spagree tally", "kind": "spagree tally"}')
    with pytest.raises(DataError, match=ends("/part.json: not a saved tally: a key occurs twice")):
        load(tmp_path / "part.json")


# Parts -----------------------------------------------------------------------------------------------------


def test_one_part_under_two_names_is_refused(tmp_path: Path, run: Run) -> None:
    save(FULL, tmp_path / "part.json")
    (tmp_path / "link.json").symlink_to(tmp_path / "part.json")
    for twin in ("part.json", "link.json"):
        names = [str(tmp_path / "part.json"), str(tmp_path / twin)]
        with pytest.raises(UsageError, match="are the same file"):
            spagree.measure(names)
        assert run("merge", *names, "-o", tmp_path / "all.json")[0] == 2


def test_parts_with_the_same_counts_of_the_same_items_are_refused(tmp_path: Path) -> None:
    for name, annotator in (("one", "ann"), ("copy", "ann"), ("other", "bob")):
        save(spagree.count_items([("q1", annotator, "yes"), ("q2", annotator, "no")]), tmp_path / f"{name}.parquet")
    with pytest.raises(
        DataError,
        match=ends(
            "hold the same counts of the same items, which would count twice; name one of them. If other people gave "
            "the very same labels, count the parts with annotator= to tell them apart"
        ),
    ):
        spagree.measure([str(tmp_path / "one.parquet"), str(tmp_path / "copy.parquet")])
    assert spagree.measure([str(tmp_path / "one.parquet"), str(tmp_path / "other.parquet")]).spa.value == 1


def test_parts_that_were_counted_in_different_ways_do_not_add_up(tmp_path: Path) -> None:
    rows = [("q1", "ann", "yes", 1), ("q1", "bob", "Yes", 2), ("q1", "cyd", "no", 3)]
    save(spagree.tally(rows), tmp_path / "plain.json")
    for options in ({"first": 2}, {"normalize": True}, {"missing": ["no"]}):
        part = spagree.tally(rows, **options)
        save(part, tmp_path / "other.json", force=True)
        assert load(tmp_path / "other.json").counted == options
        with pytest.raises(
            UsageError,
            match=exactly(f"parts were counted in different ways ({{}} and {options}); count both the same way"),
        ):
            spagree.measure([str(tmp_path / "plain.json"), str(tmp_path / "other.json")])
    kept = spagree.count_items(rows, first=2)
    save(kept, tmp_path / "kept.parquet")
    assert load(tmp_path / "kept.parquet").counted == {"first": 2}
    assert kept.tally().counted == {"first": 2}


def test_the_question_of_an_export_is_part_of_how_it_was_counted(tmp_path: Path) -> None:
    path = tmp_path / "batch.csv"
    path.write_text("HITId,WorkerId,AssignmentStatus,Answer.mood,Answer.topic\nh1,ann,Approved,good,food\n")
    mood, topic = (spagree.tally(path, question=name) for name in ("mood", "topic"))
    assert mood.counted == {"question": "mood"}
    with pytest.raises(
        UsageError,
        match=exactly(
            "parts were counted in different ways ({'question': 'mood'} and {'question': 'topic'}); count both "
            "the same way"
        ),
    ):
        mood + topic


WHOLE = Tally.from_items([{"a": 2, "b": 1}, {"b": 2}, {"a": 1}])
VOTES = {("d1", (("", "a", 2), ("", "b", 1))): 1, ("d1", (("", "b", 2),)): 1, ("d2", (("", "a", 1),)): 1}
GROUPED = replace(WHOLE, grouped=Grouped("doc", None, VOTES, {"": {"ann": 4, "bob": 2}}))


def refused(tally: Tally, fault: str) -> None:
    assert next(faults(tally)) == fault


def test_genuine_tallies_are_let_through() -> None:
    for tally in (Tally(), WHOLE, GROUPED, replace(WHOLE, annotators={"ann": 6}), replace(WHOLE, patterns=None)):
        assert not [*faults(tally)]


def test_impossible_cells_and_counts() -> None:
    refused(replace(WHOLE, cells={**WHOLE.cells, Cell(2, 1, 0): 1}), "a cell that no item can have")
    refused(replace(WHOLE, cells={**WHOLE.cells, Cell(2, 0, 0): 0}), "a cell that no item can have")
    refused(replace(WHOLE, labels={"a": 3, "b": 4}), "6 annotations in the cells, 7 in the labels")
    pairable = "5 annotations in the cells, 6 in the labels of pairable items"
    refused(replace(WHOLE, pairable_labels={"a": 3, "b": 3}), pairable)
    fault = "a label is on more pairable items than on items"
    refused(replace(WHOLE, pairable_labels={"a": 1, "b": 4}), fault)
    refused(replace(WHOLE, pairable_labels={"a": 2, "b": 2, "c": 1}), fault)
    refused(replace(WHOLE, annotators={"ann": 4, "bob": 3}), "the annotators made more annotations than there are")


def test_impossible_patterns() -> None:
    fault = "a pattern that no item can have"
    refused(replace(WHOLE, patterns={(("b", 1), ("a", 2)): 1, (("b", 2),): 1, (("a", 1),): 1}), fault)
    refused(replace(WHOLE, patterns={(("a", 2), ("b", 1), ("c", 0)): 1, (("b", 2),): 1, (("a", 1),): 1}), fault)
    refused(replace(WHOLE, patterns={(("a", 2), ("b", 1)): 1, (("b", 2),): 1}), "cells and patterns differ")
    other = {(("a", 1), ("b", 2)): 1, (("b", 2),): 1, (("a", 1),): 1}
    refused(replace(WHOLE, patterns=other), "labels and patterns differ")
    single = {(("a", 2), ("b", 1)): 1, (("a", 2),): 1, (("b", 1),): 1}
    refused(replace(WHOLE, patterns=single), "labels and patterns differ")


def test_impossible_clusters_and_groups() -> None:
    def changed(**parts: object) -> Tally:
        return replace(GROUPED, grouped=replace(GROUPED.grouped, **parts))

    assert not [*faults(changed(cluster=None, by="team"))]
    refused(changed(cluster=None), "clusters or groups of no column")
    fault = "clusters or groups of items that cannot be"
    for impossible in (
        {("d1", (("", "a", 2),)): 0},
        {("d1", ()): 1},
        {("d1", (("", "b", 1), ("", "a", 2))): 1},
    ):
        refused(changed(items={**VOTES, **impossible}), fault)
    fault = "clusters or groups and patterns differ"
    refused(changed(items={**VOTES, ("d2", (("", "a", 1),)): 2}), fault)
    refused(replace(GROUPED, patterns=None), fault)
    fault = "the annotators of the groups made more annotations than there are"
    refused(changed(annotators={"x": {"ann": 4}, "y": {"ann": 3}}), fault)
    assert not [*faults(changed(annotators={"x": {"ann": 4}, "y": {"ann": 2}}))]
    assert not [*faults(changed(annotators=None))]


@pytest.mark.parametrize("n", [1, 2, 5])
def test_every_cell_that_labels_make_is_possible(n: int) -> None:
    given = combinations_with_replacement(range(n), n)
    assert all(possible(Cell.of([labels.count(label) for label in set(labels)])) for labels in given)


@pytest.mark.parametrize(
    ("cell", "can_be"),
    [
        (Cell(13, 156, 156 * 11 - 156 * 11 % 6), True),
        (Cell(13, 158, 0), False),  # more pairs than there are
        (Cell(13, 2, 22 - 22 % 6), True),
        (Cell(13, 2, 24), False),  # more triples than its pairs allow
        (Cell(13, 3, 0), False),  # every pair counts in both orders
        (Cell(13, 2, 3), False),  # every triple in six
        (Cell(0, 0, 0), False),
        (Cell(-1, 0, 0), False),
    ],
)
def test_cells_are_checked_by_what_all_sums_share(cell: Cell, can_be: bool) -> None:
    assert possible(cell) is can_be
