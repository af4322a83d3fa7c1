"""The certified set: exact answers, and spagree gives each of them correctly rounded."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from make_certified import DATA, PATH, document, labels_of
from oracle import rounded, tally_of
from spagree.estimate import find

CERTIFIED: list[dict[str, Any]] = json.loads(PATH.read_text("utf-8"))
EXACT = ["flat", "annotations", "annotations_m1", "edge", "inv_var"]
by_name = pytest.mark.parametrize("entry", CERTIFIED, ids=[entry["name"] for entry in CERTIFIED])


def test_running_the_script_again_gives_the_same_file() -> None:
    assert document() == PATH.read_text("utf-8")


def test_the_set_is_large_enough_and_complete() -> None:
    assert len(CERTIFIED) == len(DATA) >= 12
    assert all(list(entry["spa"]) == EXACT for entry in CERTIFIED)
    assert all(entry["spa"]["inv_var"] == entry["spa"]["edge"] for entry in CERTIFIED)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        (
            "twelve items by four annotators",
            {"flat": "7/11", "annotations": "58/93", "annotations_m1": "37/60", "edge": "19/31"},
        ),
        ("the item of Figure 1 of the paper", dict.fromkeys(EXACT, "14/55")),
        ("one class", dict.fromkeys(EXACT, "1/1")),
        ("no two alike", dict.fromkeys(EXACT, "0/1")),
        ("one pairable item among single annotations", dict.fromkeys(EXACT, "1/3")),
        # P̄ = 0.378 in Fleiss' kappa, worked through in many text books
        ("Fleiss' table: 10 items by 14 annotators", dict.fromkeys(EXACT, "172/455")),
        # `annotations` is 1 − D_o of nominal alpha: 1 − (1/5)/(1 − 344/1560) = 0.743, as published
        ("Krippendorff's data of 2011", {"annotations": "4/5"}),
    ],
)
def test_published_and_hand_made_answers_are_among_them(name: str, known: dict[str, str]) -> None:
    (entry,) = [entry for entry in CERTIFIED if entry["name"] == name]
    assert {scheme: entry["spa"][scheme] for scheme in known} == known


@by_name
def test_spa_is_the_exact_answer_correctly_rounded(entry: dict[str, Any]) -> None:
    schemes = find(tally_of(labels_of(entry["data"]))).schemes
    for scheme, answer in entry["spa"].items():
        assert schemes[scheme].value == rounded(Fraction(answer)), scheme
