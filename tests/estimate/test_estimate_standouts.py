"""Who stands out: against brute force, and no more often by chance than promised, whatever items people got."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

import spagree
from breakdown_oracle import Rows, rows_of, without
from examples import examples
from spagree.estimate.annotators import FEW_OF_THREE, OTHERS_ALIKE, Visits, _without_one_other, mean_agreement
from spagree.estimate.label_counts import votes_in_codes
from spagree.estimate.uncertainty import wilson
from spagree.tally.coded import Coded


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
            assert row["stands_out_undefined"] == FEW_OF_THREE
            continue
        mean, size = float(sum(each) / len(each)), len(each)
        assert row["against_others"] == pytest.approx(mean, abs=1e-12)
        assert (row["stands_out_undefined"] == FEW_OF_THREE) == (size < 10)
        assert (row["stands_out"] is None) == (row["stands_out_undefined"] is not None)
        if size == 1:
            assert row["against_others_low"] is None and row["against_others_high"] is None
            continue
        error = sqrt(sum((float(x) - mean) ** 2 for x in each) / (size - 1) / size)
        if error > 1e-9:
            low, high = wilson((1 + mean) / 2, error / 2, size, 0.95)
            shown = row["against_others_low"], row["against_others_high"]
            assert shown == pytest.approx((2 * low - 1, 2 * high - 1), abs=1e-9)


def p_below(rows: Rows, who: str) -> float:
    """One-sided p of Student's t; 1 below ten items."""
    each = [float(x) for x in differences(rows)[who]]
    return float(stats.ttest_1samp(each, 0, alternative="less").pvalue) if len(each) > 9 else 1.0


def by_holm(p: dict[str, float]) -> set[str]:
    ordered = sorted(p, key=lambda who: p[who])
    failing = (place for place, who in enumerate(ordered) if p[who] * (len(p) - place) > 0.05)
    return set(ordered[: next(failing, len(p))])


def test_who_stands_out_does_so_without_any_one_of_the_others_by_students_t_and_holm() -> None:
    drawn = spagree.simulate(items=200, annotators=6, quality=(0.3, 1.0), per_item=4, seed=2).frame
    rows = drawn.select("item", "annotator", "label").rows()
    people = sorted({who for _, who, _ in rows})
    plain = {who: p_below(rows, who) for who in people}
    steady = {
        who: max([plain[who], *(p_below(without(rows, other), who) for other in people if other != who)])
        for who in people
    }
    assert plain != steady and by_holm(steady) == by_holm(plain | {who: steady[who] for who in by_holm(plain)})
    found = spagree.measure(rows).annotators()
    assert set(found.filter("stands_out")["annotator"]) == by_holm(steady) and 0 < len(by_holm(steady)) < 6
    doubtful = found.filter(found["stands_out_undefined"] == OTHERS_ALIKE)
    assert set(doubtful["annotator"]) == by_holm(plain) - by_holm(steady)


@pytest.mark.parametrize("metric", ["nominal", "linear"])
@pytest.mark.parametrize("clusters", [False, True])
def test_leaving_out_each_of_the_others_is_measuring_without_them(metric: str, clusters: bool) -> None:
    random = np.random.default_rng(4)
    n = random.integers(2, 6, 70)
    item = np.repeat(np.arange(70, dtype=np.int32), n)
    who = np.concatenate([random.permutation(6)[:size] for size in n]).astype(np.int32)
    label = random.integers(0, 4, len(item)).astype(np.int32)
    order = np.lexsort((who, label, item))
    item, who, label = item[order], who[order], label[order]
    similarity = None if metric == "nominal" else 1 - np.abs(np.subtract.outer(np.arange(4), np.arange(4))) / 3

    def compared(kept: np.ndarray) -> Visits:
        present, renumbered = np.unique(item[kept], return_inverse=True)
        codes = Coded(renumbered.astype(np.int32), who[kept], label[kept], tuple("abcdef"), tuple("1234"))
        cluster = np.unique(present // 3, return_inverse=True)[1] if clusters else None
        visits = Visits.of(codes, replace(votes_in_codes(codes), similarity=similarity, cluster=cluster))
        return visits.where(visits.n > 2)

    for person in range(6):
        p = [1.0]
        for other in set(range(6)) - {person}:
            rest = compared(who != other)
            p.append(rest.means(rest.against_rest).p[person])
        assert _without_one_other(compared(who >= 0), person) == pytest.approx(max(p[1:]), rel=1e-9)


def test_somebody_who_always_differs_from_a_unanimous_rest_stands_out() -> None:
    rows = [(item, who, "x" if who else "y") for item in range(12) for who in range(4)]
    found = {row["annotator"]: row for row in spagree.measure(rows).annotators().rows(named=True)}
    assert found["0"]["against_others"] == -1 and found["0"]["stands_out"] is True
    assert found["0"]["against_others_low"] == -1 and found["0"]["against_others_high"] > -1
    assert found["1"]["against_others"] == pytest.approx(1 / 3) and found["1"]["stands_out"] is False


def test_of_three_people_two_who_copy_and_one_who_differs_look_the_same() -> None:
    rows = [(item, who, "x" if who else "y") for item in range(12) for who in range(3)]
    found = {row["annotator"]: row for row in spagree.measure(rows).annotators().rows(named=True)}
    assert found["0"]["against_others"] == -1
    assert found["0"]["stands_out"] is None and found["0"]["stands_out_undefined"] == OTHERS_ALIKE
    assert found["1"]["stands_out"] is False and found["1"]["stands_out_undefined"] is None


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


@pytest.mark.parametrize(("people", "items"), [(4, 100), (5, 400)])
def test_nobody_is_named_beside_two_who_copy_from_each_other(people: int, items: int) -> None:
    """Of 40 projects, naming an innocent in more than 6 has a probability below 0.01."""
    random = np.random.default_rng(people)
    named = doubted = 0
    for _ in range(40):
        truth = random.integers(0, 3, items)
        seen = random.random((items, people)) < 0.8
        labels = np.where(seen, truth[:, None], random.integers(0, 3, (items, people)))
        labels[:, 1] = labels[:, 0]
        rows = [(f"q{item}", f"p{who}", str(label)) for (item, who), label in np.ndenumerate(labels)]
        found = spagree.measure(rows).annotators()
        named += bool(found["stands_out"].any())
        doubted += OTHERS_ALIKE in found["stands_out_undefined"].to_list()
    assert named <= 6 and doubted >= 30
