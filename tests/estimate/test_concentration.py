"""On whom a figure depends: who made most of the annotations, and how few people made half of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import spagree
from spagree.counts.tally import Tally
from spagree.estimate.concentration import concentration
from spagree.present.verdicts import verdicts


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ([1, 5, 3, 1], (4, "p1", 0.5, 1, 0.5)),
        ([4, 3, 2, 1], (4, "p0", 0.4, 2, 0.7)),
        ([1] * 7, (7, "p0", 1 / 7, 4, 4 / 7)),
        ([9], (1, "p0", 1.0, 1, 1.0)),
    ],
)
def test_the_busiest_and_the_fewest_who_made_half(
    made: list[int], expected: tuple[int, str, float, int, float]
) -> None:
    people = {f"p{number}": count for number, count in enumerate(made)}
    found = concentration(replace(Tally.from_items([{"x": 2}]), annotators=people))
    assert found is not None
    assert (found.annotators, found.busiest, found.share, found.half, found.share_of_half) == expected


def test_unknown_annotators_have_no_concentration() -> None:
    assert concentration(Tally.from_items([{"x": 2}])) is None
    assert concentration(replace(Tally.from_items([{"x": 2}]), annotators={})) is None


@pytest.mark.parametrize(
    ("made", "says"),
    [
        ([20, 10, 10, 10], "2 of 4 people made 60% of the annotations."),  # less than twice an equal share
        ([20, 8, 7, 8, 7], "p0 made 40% of the annotations."),
        ([20, 15] + [8] * 7, "4 of 9 people made 57% of the annotations."),
        ([20, 20, 20], "It rests on 30 items."),
    ],
)
def test_who_made_much_is_said_beside_the_precision(made: list[int], says: str) -> None:
    people = [f"p{who}" for who, count in enumerate(made) for _ in range(count)]
    people += people[: len(people) % 2]
    half = len(people) // 2
    rows = [(f"q{i}", who, "xyx"[i % 3]) for i in range(half) for who in (people[i], people[half + i])]
    agreement = spagree.measure(rows, duplicates="first")
    found = verdicts(agreement.measurement.summary(agreement.findings))
    assert next(each for each in found if each.title == "Precision").words.endswith(says)
