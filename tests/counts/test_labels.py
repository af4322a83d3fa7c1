"""How labels and ids are written: canonical spellings on every engine, sets, and what is compared of many items."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import spagree
from oracle import exactly
from spagree.counts import engines
from spagree.counts.engines import to_polars
from spagree.counts.labels import (
    canonical,
    guess_separator,
    options_of,
    set_label,
    spelling_variants,
    split_labels,
    warn_ids,
    warn_own_labels,
    warn_sets,
)
from spagree.counts.tally import Tally
from spagree.errors import DataError, UsageError, Warning
from spagree.read.annotations import MOST_COMPARED

ROWS = {
    "item": ["Doc1", "doc1 ", "02", "2.0", "7"],
    "annotator": ["Ann", "bob", "ann", "Bob ", "ann"],
    "label": ["Yes", "yes", "1", "1.0", "no"],
}


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table, lambda rows: pl.DataFrame(rows).lazy()])
def test_normalize_respells_labels_annotators_and_items_on_every_engine(make: Any) -> None:
    apart = spagree.measure(make(ROWS))
    assert (apart.data.items, apart.data.annotators, apart.spa.value) == (5, 4, None)
    found = spagree.measure(make(ROWS), normalize=True)
    assert (found.data.items, found.data.annotators, found.spa.value) == (3, 2, 1.0)
    assert found.data.labels == {"1": 2, "yes": 2, "no": 1}
    assert not {warning.code for warning in found.warnings} & {"label_variants", "annotator_variants", "item_variants"}


def test_normalize_respells_classes_of_counts() -> None:
    frame = pl.DataFrame({"item": ["a", "b"], "Yes": [2, 0], "yes ": [1, 1], "no": [0, 2]})
    found = spagree.measure(frame, format="counts", normalize=True)
    assert found.data.labels == {"yes": 4, "no": 2}
    plain = pl.DataFrame({"item": ["a", "b"], "yes": [3, 1], "no": [0, 2]})
    assert found.spa.value == spagree.measure(plain, format="counts").spa.value


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("007", "7"),
        ("-0.50", "-0.5"),
        ("+0", "0"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-", "-"),
        ("1e5", "1e5"),
        ("1,5", "1,5"),
    ],
)
def test_numbers_have_one_spelling(written: str, spelled: str) -> None:
    assert canonical(written) == spelled == canonical(spelled)


def test_long_ids_are_never_variants_of_one_another() -> None:
    assert spelling_variants(["9007199254740993", "9007199254740992", "18446744073709551617"]) == []


def test_too_many_items_to_respell_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["spagree.counts.labels"], "MOST_RESPELLED", 4)
    with pytest.raises(
        UsageError, match=exactly("more than 4 items to respell; clean them first, without normalize=True")
    ):
        spagree.measure(pl.DataFrame(ROWS), normalize=True)


@pytest.mark.parametrize("kind", ["polars", "duckdb", "pandas", "pyarrow"])
def test_of_many_items_spellings_are_sampled_together(kind: str, tmp_path: Path) -> None:
    names = [f"{'Doc' if n % 2 else 'doc'} {n // 2}" for n in range(400)]
    frame = pl.DataFrame({"item": names, "label": ["x"] * 400})
    if kind == "duckdb":
        import duckdb

        source: Any = nw.from_native(duckdb.from_arrow(frame.to_arrow()))
    else:
        source = nw.from_native(
            getattr(frame, {"pandas": "to_pandas", "pyarrow": "to_arrow"}.get(kind, "clone"))()
        ).lazy()
    found = engines.sampled_items(source, 400, 40)
    assert 0 < len(found) < 200
    assert all(len(group) == 2 for group in spelling_variants(found)) and len(spelling_variants(found)) * 2 == len(
        found
    )


def test_a_series_of_cases_replaces_texts_where_an_engine_has_nothing_better() -> None:
    frame = nw.from_native(pd.DataFrame({"label": ["a", "b", "c"]})).lazy()
    changes = {"a": "A", **{f"x{n}": "y" for n in range(30)}}
    assert engines.replaced(frame, "label", changes).collect()["label"].to_list() == ["A", "b", "c"]
    assert engines.replaced(frame, "label", {}) is frame


def test_ids_that_differ_in_spelling_are_named_with_what_they_are() -> None:
    tally = spagree.tally([("q1", "Ann", "x"), ("q1", "bob", "x"), ("q2", "ann", "x")])
    person, item = warn_ids(tally, lambda: ["Q1", "q1 ", "q2"])
    remedy = "If they mean the same, use normalize=True, or clean them first."
    assert person == Warning(
        "annotator_variants",
        f"annotators that differ only in spelling are counted as different annotators: 'Ann' / 'ann'. {remedy}",
    )
    assert item == Warning(
        "item_variants",
        f"items that differ only in spelling are counted as different items: 'Q1' / 'q1 '. {remedy}",
    )
    crowd = Tally.from_patterns({(("x", 1),): 2}, {"Ann": 1, "ann": 1} | {f"p{n}": 1 for n in range(MOST_COMPARED)})
    assert [warning.code for warning in warn_ids(crowd, lambda: ["q1", "q2"])] == []
    even = spagree.tally([("q1", "ann", "x"), ("q1", "bob", "x")])
    assert warn_ids(even, lambda: pytest.fail("nothing to look up")) == ()


@pytest.mark.parametrize("invisible", ["\u00ad", "\u200b", "\u200e", "\u200f", "\u2060", "\ufeff", "\ufe0e", "\ufe0f"])
def test_invisible_characters_do_not_make_another_label(invisible: str) -> None:
    assert canonical(f"yes{invisible}") == canonical("yes") == "yes"
    assert spelling_variants(["yes", f"yes{invisible}", "no"]) == [sorted(["yes", f"yes{invisible}"])]


def test_emoji_that_are_joined_stay_others() -> None:
    assert canonical("\U0001f468\u200d\U0001f4bb") != canonical("\U0001f468\U0001f4bb")


@pytest.mark.parametrize(
    "labels",
    [
        ["4", "4 - agree", "2", "2 - disagree"],
        ["agree", "agree (4)", "neutral"],
        ["true", "FALSE", "1", "0"],
        ["yes", "no", "Y", "N"],
        ["1-2", "02-Jan", "3-4"],
        ["1-2", "2024-01-02 00:00:00", "3-4"],
        ["0,5", "0.5", "1"],
        ["very good", "very_good", "bad"],
        ["yes.", "yes", "'no'"],
        ["café", "cafe"],
    ],
)
def test_labels_of_one_meaning_are_named(labels: list[str]) -> None:
    rows = [(f"i{n}", who, labels[(n + place) % len(labels)]) for n in range(9) for place, who in enumerate("ab")]
    assert "label_synonyms" in {warning.code for warning in spagree.measure(rows).warnings}


@pytest.mark.parametrize(
    "labels", [["1", "2", "3"], ["yes", "no"], ["yes", "no", "n/a"], ["4 - agree", "2 - disagree"], ["02-Jan", "04-Mar"],
               ["0,5", "1,5"], ["1,2", "1", "2"], ["T", "F", "N"], ["yes", "no", "maybe", "1"], ["1. a", "1. b"], ["A", "A-", "A+"], ["C", "C++", "C#"]],
)  # fmt: skip
def test_labels_of_different_meanings_are_not(labels: list[str]) -> None:
    rows = [(f"i{n}", who, labels[(n + place) % len(labels)]) for n in range(9) for place, who in enumerate("ab")]
    assert "label_synonyms" not in {warning.code for warning in spagree.measure(rows).warnings}


@pytest.mark.parametrize(
    ("long", "short", "is_named"),
    [
        ("img/{}.jpg", "{}.jpg", True),
        ("{}.jpg", "{}", True),
        ("'{}", "{}", True),
        ("{}.5", "{}", False),
        ("a/{}.txt", "b/{}.txt", False),
    ],
)
def test_items_without_a_folder_or_extension_are_named(long: str, short: str, is_named: bool) -> None:
    people = ("ann", "bob", "cy")
    rows = [((long if who == "ann" else short).format(f"i{n}"), who, "x") for n in range(6) for who in people]
    assert ("item_variants" in {warning.code for warning in spagree.measure(rows).warnings}) == is_named


def own(used: dict[str, tuple[int, str]], **others: int) -> str | None:
    """What is said about annotators with so many annotations and these labels, one letter each."""
    people = {name: size for name, (size, _) in used.items()}
    tally = Tally.from_patterns({(("x", 1),): sum(people.values())}, people | others)
    found = warn_own_labels(tally, lambda: [(name, label) for name, (_, labels) in used.items() for label in labels])
    assert all(each.code == "own_labels" for each in found) and len(found) < 2
    return found[0].message if found else None


def test_annotators_whose_labels_nobody_else_uses_are_named() -> None:
    told = "annotators whose labels nobody else uses, and who can agree with nobody:"
    rename = "If they mean the same classes, rename them first"
    alone = {"ann": (10, "ba"), "bob": (10, "cd"), "cyd": (10, "cde")}
    assert own(alone) == f"{told} 'ann' ('a', 'b'). {rename}"
    assert own({**alone, "ann": (9, "ab")}) is None, "too few annotations to tell"
    assert own({**alone, "ann": (10, "a")}) is None, "one label only"
    assert own({**alone, "ann": (10, "abfgh")}) == f"{told} 'ann' ('a', 'b', 'f', 'g'). {rename}"
    assert own({**alone, "ann": (10, "abfghi")}) is None, "free text"
    assert own({**alone, "ann": (10, "abc")}) is None, "one label in common"
    assert own({"ann": (10, "ab")}) is None, "nobody else"
    many = {name: (10, f"{name}{name.upper()}") for name in "abcde"}
    three = "'a' ('A', 'a'); 'b' ('B', 'b'); 'c' ('C', 'c')"
    assert own(many) == f"{told} {three} and 2 more. {rename}"
    del many["d"], many["e"]
    assert own(many) == f"{told} {three}. {rename}"
    crowd = {f"p{number}": 0 for number in range(MOST_COMPARED - 2)}
    assert own({"ann": (10, "ab"), "bob": (10, "cd")}, **crowd) is not None
    assert own({"ann": (10, "ab"), "bob": (10, "cd")}, **crowd, one_more=0) is None


def test_unknown_annotators_and_very_many_annotations_are_not_searched() -> None:
    tally = Tally.from_patterns({(("x", 1),): 20}, {"ann": 10, "bob": 10})
    used = [("ann", "a"), ("ann", "b"), ("bob", "c"), ("bob", "d"), (None, "a")]
    assert len(warn_own_labels(tally, lambda: used)) == 1
    for size, searched in ((200_000, 1), (200_001, 0)):
        large = Tally.from_patterns({(("x", 1),): size}, {"ann": 10, "bob": 10})
        assert len(warn_own_labels(large, lambda: used)) == searched


@pytest.mark.parametrize(
    ("label", "options"),
    [
        ('["a", "b"]', ["a", "b"]),
        ("[1, 2]", ["1", "2"]),
        ("['it\\'s', \"b\"]", ["it\\'s", "b"]),
        ("[a, b c]", ["a", "b c"]),
        ("[1 2 30]", ["1", "2", "30"]),
        ("['a' 'b']", ["a", "b"]),
        ("{'a', 'b'}", ["a", "b"]),
        ("{a,b}", ["a", "b"]),
        ('{"a b",c}', ["a b", "c"]),
        ("[a b]", ["[a b]"]),  # words in brackets are no list
        ("[NAME]", ["[NAME]"]),
        ("(a, b)", ["(a, b)"]),
        ("{'a': 1}", ["{'a': 1}"]),
        ("['a', b]", ["['a', b]"]),
        ("[a, b", ["[a, b"]),
        ("[broken; list", ["[broken", "list"]),
        ("a ;; b;", ["a", "b"]),
        ("", []),
    ],
)
def test_options_of_a_label(label: str, options: list[str]) -> None:
    assert options_of(label, ";") == options


@pytest.mark.parametrize(
    ("labels", "separator"),
    [
        (["a", "a;b", "b"], ";"),
        (["a;b", "b;a", "a"], ";"),
        (["a, b", "b", "a"], ","),
        (["a|b", "a|c", "b|c"], "|"),
        (["a+b", "b+a"], "+"),
        (["red+blue", "red", "blue"], "+"),
        (['["a", "b"]', '["b"]', '["a"]'], "|"),
        (["2024/01/02", "2024/01/03"], None),
        (["either; or", "neither; nor"], None),
        (["yes, always", "no, never"], None),
        ([1, 2, 3], None),
        (["x" * 50 + ";y", "x" * 50, "y"], None),
        (["1,5", "2,5", "1", "2"], None),  # decimal commas
        (["1/2", "1/3", "1"], None),
        (["x" * 41 + ";" + "y" * 41, "x" * 41], None),
        (["a;b", "c;d"], None),
        (["a b", "b a"], " "),
        (["not sure", "sure"], None),
        (["a", "b"], None),
    ],
)
def test_the_separator_that_gives_known_options(labels: list[Any], separator: str | None) -> None:
    assert guess_separator(labels) == separator


def split(labels: list[str], separator: str | None) -> tuple[list[str], list[tuple[str, str]]]:
    frame: nw.LazyFrame[Any] = nw.from_native(pl.LazyFrame({"label": labels}))
    found, said = split_labels(frame, dict.fromkeys(labels, 1), separator)
    return to_polars(found)["label"].to_list(), [(each.code, each.message) for each in said]


def test_guessed_splits_are_named() -> None:
    message = "labels were split at ';' into sets of options; if that is wrong, name another with separator="
    assert split(["b;a", "a", "b"], None) == (["a|b", "a", "b"], [("separator", message)])
    assert split(["b|a", "a", "b"], None) == (["a|b", "a", "b"], [])
    assert split(["b;a", "a", "b"], ";") == (["a|b", "a", "b"], [])
    assert split(["b\na", "a"], r"\n") == (["a|b", "a"], [])
    assert split(["x", "y"], None) == (["x", "y"], [])


def test_separators_that_separate_nothing_are_refused() -> None:
    with pytest.raises(
        UsageError, match=exactly('separator= is empty; say what separates the options, for example separator=";"')
    ):
        split(["a;b"], "")
    with pytest.raises(
        DataError, match=exactly('separator="/": no label holds two options; leave it out, or name another')
    ):
        split(["a;b", "a;a"], "/")


@pytest.mark.parametrize(
    ("options", "label"),
    [(["b", "a"], "a|b"), (["b", "a", "b"], "a|b"), (["a|b"], '["a|b"]'), (["[x"], '["[x"]'), ([], "[]"), (["é"], "é")],
)
def test_a_set_has_one_spelling(options: list[str], label: str) -> None:
    assert set_label(options) == label


@pytest.mark.parametrize(
    ("labels", "advice"),
    [
        (
            ["a;b", "b;a", "a"],
            ' (1 of them is another in a different order). {credit}, separator=";"; to ignore their order: separator=";"',
        ),
        (
            ["a,b", "b,a", "a,c", "c,a", "a"],
            ' (2 of them are others in a different order). {credit}, separator=","; to ignore their order: separator=","',
        ),
        (["a;b", "a", "b"], '. {credit}, separator=";"; to ignore their order: separator=";"'),
        (
            ['["a", "b"]', '["a"]', '["b"]'],
            '. {credit}; in the export of a tool, multi="options" asks yes or no about each option',
        ),
        (["{a,b}", "{a}", "{b}"], ". {credit}"),
    ],
)
def test_sets_compared_whole_are_pointed_out(labels: list[str], advice: str) -> None:
    told = advice.format(credit='To give credit for shared options: metric="jaccard"')
    message = f"labels look like sets of options (such as {labels[0]!r}), and are compared whole{told}"
    assert warn_sets(dict.fromkeys(labels, 1)) == (Warning("label_sets", message),)
    assert warn_sets({"a": 1, "b": 2}) == ()
