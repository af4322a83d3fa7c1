"""Who stands out: against brute force, and no more often by chance than promised, whatever items people got."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import permutations
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

import spagree
from breakdown_oracle import Rows, rows_of
from examples import examples
from spagree.estimate.annotators import AgainstOthers, mean_agreement
from spagree.estimate.uncertainty import wilson


def test_the_mean_is_that_of_annotations_not_of_items() -> None:
    """Items with many annotations have many annotators to compare, whatever scheme SPA weighs them by."""
    rows = [("q1", who, "xy"[who % 2]) for who in range(8)] + [(item, who, "x") for item in "abcd" for who in range(2)]
    found = spagree.measure(rows)
    mean = float((8 * Fraction(3, 7) + 8) / 16)
    assert mean_agreement(found.annotators()) == pytest.approx(mean, rel=1e-12)
    assert found.spa.value is not None and abs(found.spa.value - mean) > 0.05


def differences(rows: Rows) -> dict[str, list[Fraction]]:
    """For each annotator and item with three annotations: the others with them, less the others among themselves."""
    items: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for item, who, label in rows:
        items[item].append((who, label))
    found: dict[str, list[Fraction]] = defaultdict(list)
    for said in (each for each in items.values() if len(each) > 2):
        for who, label in said:
            others = [other for name, other in said if name != who]
            pairs = [one == other for one, other in permutations(others, 2)]
            own = Fraction(sum(label == other for other in others), len(others))
            found[who].append(own - Fraction(sum(pairs), len(pairs)))
    return found


@given(rows_of(12, 5))
@examples(30)
def test_the_difference_against_looking_at_all_pairs_of_others(rows: Rows) -> None:
    wanted = differences(rows)
    for row in spagree.measure(rows).annotators().rows(named=True):
        each = wanted.get(row["annotator"], [])
        if not each:
            assert row["against_others"] is None and row["stands_out"] is None
            continue
        mean, size = float(sum(each) / len(each)), len(each)
        assert row["against_others"] == pytest.approx(mean, abs=1e-12)
        assert (row["stands_out"] is None) == (size < 10)
        if size == 1:
            assert row["against_others_low"] is None and row["against_others_high"] is None
            continue
        error = sqrt(sum((float(x) - mean) ** 2 for x in each) / (size - 1) / size)
        if error > 1e-9:
            low, high = wilson((1 + mean) / 2, error / 2, size, 0.95)
            shown = row["against_others_low"], row["against_others_high"]
            assert shown == pytest.approx((2 * low - 1, 2 * high - 1), abs=1e-9)


def test_the_test_is_one_sided_by_students_t_and_holm() -> None:
    drawn = spagree.simulate(items=120, annotators=6, quality=(0.3, 1.0), per_item=4, seed=3).frame
    rows = drawn.select("item", "annotator", "label").rows()
    tests = {
        who: stats.ttest_1samp([float(x) for x in each], 0, alternative="less").pvalue
        for who, each in differences(rows).items()
    }
    named, ordered = set(), sorted(tests, key=lambda who: tests[who])
    for place, who in enumerate(ordered):
        if tests[who] * (len(ordered) - place) > 0.05:
            break
        named.add(who)
    found = spagree.measure(rows).annotators()
    assert set(found.filter("stands_out")["annotator"]) == named and 0 < len(named) < 6


def test_holm_stops_at_the_first_that_fails() -> None:
    nothing = np.zeros(3)
    found = AgainstOthers(nothing, nothing, nothing, nothing, np.array([0.01, 0.03, 0.04]))
    assert found.stands_out.tolist() == [True, False, False]


def test_somebody_who_always_differs_from_a_unanimous_rest_stands_out() -> None:
    rows = [(item, who, "x" if who else "y") for item in range(12) for who in range(3)]
    found = {row["annotator"]: row for row in spagree.measure(rows).annotators().rows(named=True)}
    assert found["0"]["against_others"] == -1 and found["0"]["stands_out"] is True
    assert found["0"]["against_others_low"] == -1 and found["0"]["against_others_high"] > -1
    assert found["1"]["against_others"] == 0.5 and found["1"]["stands_out"] is False


def project(random: np.random.Generator, careless: float = 0.0) -> Rows:
    """Ten people, twenty batches of fifteen items that differ in difficulty; a batch has three of them."""
    rows: Rows = []
    for batch in range(20):
        hard, people = random.normal(0, 1), random.choice(10, 3, replace=False)
        clear = 1 / (1 + np.exp(-1.2 - hard - random.normal(0, 0.5, 15)))
        right = random.random((15, 3)) < clear[:, None] * (1 - careless * (people == 0))
        labels = np.where(right, "x", random.choice(["y", "z"], (15, 3))).tolist()
        rows += [
            (f"{batch}-{item}", f"p{who}", label)
            for item, given in enumerate(labels)
            for who, label in zip(people, given, strict=True)
        ]
    return rows


def test_nobody_is_named_for_hard_batches() -> None:
    """Of 60 projects without a careless person, naming anybody in more than 8 has a probability below 0.01."""
    random = np.random.default_rng(7)
    named = sum(bool(spagree.measure(project(random)).annotators()["stands_out"].any()) for _ in range(60))
    assert named <= 8


def test_a_careless_person_is_named() -> None:
    random = np.random.default_rng(8)
    found = 0
    for _ in range(10):
        people = spagree.measure(project(random, careless=0.7)).annotators()
        found += "p0" in people.filter("stands_out")["annotator"].to_list()
    assert found >= 7
