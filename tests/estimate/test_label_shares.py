from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import spagree
from spagree.counts.coded import Coded
from spagree.estimate.annotators import LabelShares, label_shares


def shares(rows: list[tuple[int, int, int]], people: int) -> LabelShares:
    """Of (item, annotator, label), in any order and with any numbers for items."""
    item, annotator, label = np.array(sorted((item, label, who) for item, who, label in rows), dtype=np.int32).T[
        [0, 2, 1]
    ]
    dense = np.unique(item, return_inverse=True)[1].astype(np.int32)
    names = tuple(map(str, range(people)))
    return label_shares(Coded(dense, annotator, label, names, tuple(map(str, range(int(label.max()) + 1)))))


def test_shares_by_hand() -> None:
    rows = [(0, 0, 1), (1, 0, 1), (2, 0, 0), (0, 2, 0), (1, 2, 1), (0, -1, 1)]
    found = shares(rows, 4)
    assert found.commonest.tolist() == [1, -1, 0, -1]
    assert found.share[[0, 2]].tolist() == [2 / 3, 0.5] and np.isnan(found.share[[1, 3]]).all()
    assert found.one_label == [False] * 4


def test_the_probability_is_that_of_all_arrangements() -> None:
    """Two items with labels (a, a, b) and (a, b, b): shuffle each item, count how often person 0 says a twice."""
    labels = [(0, 0, 1), (0, 1, 1)]
    hits = sum(one == other == 0 for one, other in product(*labels))
    rows = [(item, person, label) for item, given in enumerate(labels) for person, label in enumerate(given)]
    assert hits / 9 == pytest.approx(2 / 9)
    many = [(item + 2 * turn, person, label) for turn in range(4) for item, person, label in rows]
    found = shares(many, 3)
    assert found.share[0] == 1.0 and (2 / 9) ** 4 * 3 < 0.05
    assert found.one_label[0] is True


def test_who_sees_easy_items_only_is_not_named() -> None:
    rows = [(item, person, 0) for item in range(50) for person in range(3)]
    rows += [(50 + item, person, item % 2) for item in range(50) for person in (3, 4, 5)]
    assert shares(rows, 6).one_label == [False] * 6


def test_nobody_is_named_on_a_single_shared_item() -> None:
    rows = [(0, 0, 0)] + [(0, person, 1) for person in range(1, 40)]
    assert not any(shares(rows, 40).one_label)


def test_people_alike_are_rarely_named() -> None:
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(60):
        hard = rng.beta(0.5, 0.5, 40)
        rows = [
            (item, int(person), int(rng.random() < hard[item]))
            for item in range(40)
            for person in rng.choice(20, 3, replace=False)
        ]
        wrong += any(shares(rows, 20).one_label)
    assert wrong / 60 <= 0.05


def test_somebody_who_always_says_yes_is_named() -> None:
    rng = np.random.default_rng(8)
    rows = [
        (item, f"p{person}", "yes" if person == 0 or rng.random() < 0.5 else "no")
        for item in range(80)
        for person in rng.choice(6, 3, replace=False)
    ]
    found = spagree.measure(rows).annotators()
    named = {row["annotator"]: row for row in found.rows(named=True)}
    assert named["p0"]["one_label"] and named["p0"]["commonest"] == "yes" and named["p0"]["commonest_share"] == 1.0
    assert not any(row["one_label"] for name, row in named.items() if name != "p0")


def test_a_label_that_was_not_fixed_beforehand_counts_for_all_that_could_have_been() -> None:
    """Five items split between two labels: giving one of them throughout has probability 2/32, not 1/32."""
    rows = [(item, person, person) for item in range(5) for person in range(2)]
    assert not any(shares(rows, 2).one_label)
    rows = [(item, person, person) for item in range(7) for person in range(2)]  # 2/128, twice
    assert shares(rows, 2).one_label == [True, True]


def test_everybody_who_could_be_named_counts_in_the_family() -> None:
    """Two people give one label each to eight split items: p = 2/256. Among twelve with such items that is no news."""
    pair = [(item, side, side) for item in range(8) for side in range(2)]
    assert shares(pair, 2).one_label == [True, True]
    others = [
        (100 * team + item, 2 * team + side, (item + side) % 2)
        for team in range(1, 6)
        for item in range(8)
        for side in range(2)
    ]
    assert not any(shares([*pair, *others], 12).one_label)


def test_people_alike_with_few_split_items_are_rarely_named() -> None:
    """Twenty people, seven items each in pairs: without the correction somebody is named in most of these."""
    rng = np.random.default_rng(11)
    wrong = 0
    for _ in range(200):
        rows = [
            (60 * (person // 2) + item, person, int(rng.random() < 0.5)) for person in range(20) for item in range(7)
        ]
        wrong += any(shares(rows, 20).one_label)
    assert wrong / 200 <= 0.05
