"""Labels that are sets: how lists are recognised, what is split, and what is said about it."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import polars as pl
import pytest

from oracle import exactly
from spagree.counts.engines import to_polars
from spagree.counts.labels import caution_sets, guess_separator, options_of, set_label, split_labels
from spagree.errors import DataError, UsageError
from spagree.understood import Caution


@pytest.mark.parametrize(
    ("label", "options"),
    [
        ('["a", "b"]', ["a", "b"]),
        ("[1, 2]", ["1", "2"]),
        ("['it\\'s', \"b\"]", ["it\\'s", "b"]),
        ("[a, b c]", ["a", "b c"]),
        ("[1 2 30]", ["1", "2", "30"]),
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
    assert caution_sets(dict.fromkeys(labels, 1)) == (Caution("label_sets", message),)
    assert caution_sets({"a": 1, "b": 2}) == ()
