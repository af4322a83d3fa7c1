"""Who stands out: against brute force, and no more often by chance than promised, whatever items people got."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

import spagree
from breakdown_oracle import Rows, rows_of
from command import Run
from examples import examples
from spagree.counts.coded import Coded
from spagree.estimate.annotators import FEW_OF_THREE, OTHERS_ALIKE, Visits, _without_two, mean_agreement
from spagree.estimate.label_counts import votes_in_codes
from spagree.estimate.uncertainty import wilson


def test_the_mean_is_that_of_annotations_not_of_items() -> None:
    """Items with many annotations have many annotators to compare, whatever scheme SPA weighs them by."""
    rows = [("q1", who, "xy"[who % 2]) for who in range(8)] + [(item, who, "x") for item in "abcd" for who in range(2)]
    found = spagree.measure(rows)
    mean = float((8 * Fraction(3, 7) + 8) / 16)
    assert mean_agreement(found.annotators()) == pytest.approx(mean, rel=1e-12)
    assert found.spa.value is not None and abs(found.spa.value - mean) > 0.05


def differences(rows: Rows, without: tuple[str, ...] = ()) -> dict[str, list[Fraction]]:
    """For each annotator and item with three annotations: the others with them, less the others among themselves.

    The agreement of two people with each other is left out, if they are named.
    """
    items: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for item, who, label in rows:
        items[item].append((who, label))
    found: dict[str, list[Fraction]] = defaultdict(list)
    for said in (each for each in items.values() if len(each) > 2):
        for who, label in said:
            others = [each for each in said if each[0] != who]
            pairs = [one[1] == other[1] for one, other in permutations(others, 2) if {one[0], other[0]} != set(without)]
            own = Fraction(sum(label == other for _, other in others), len(others))
            if pairs:
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


def p_below(each: list[Fraction]) -> float:
    """One-sided p of Student's t; 1 below ten items."""
    return float(stats.ttest_1samp([float(x) for x in each], 0, alternative="less").pvalue) if len(each) > 9 else 1.0


def by_holm(p: dict[str, float]) -> set[str]:
    ordered = sorted(p, key=lambda who: p[who])
    failing = (place for place, who in enumerate(ordered) if p[who] * (len(p) - place) > 0.05)
    return set(ordered[: next(failing, len(p))])


@pytest.mark.parametrize("seed", [2, 4])
def test_the_test_is_students_t_with_holm_also_if_any_two_others_do_not_count(seed: int) -> None:
    drawn = spagree.simulate(items=200, annotators=6, quality=(0.3, 1.0), per_item=4, seed=seed).frame
    rows = drawn.select("item", "annotator", "label").rows()
    plain = {who: p_below(each) for who, each in differences(rows).items()}
    steady = dict(plain)
    for two in combinations(plain, 2):
        left = differences(rows, two)
        steady |= {who: max(steady[who], p_below(left[who])) for who in plain if who not in two}
    named = by_holm(plain | {who: steady[who] for who in by_holm(plain)})
    found = spagree.measure(rows).annotators()
    assert set(found.filter("stands_out")["annotator"]) == named
    doubtful = found.filter(found["stands_out_undefined"] == OTHERS_ALIKE)
    assert set(doubtful["annotator"]) == by_holm(plain) - named and len(named | set(doubtful["annotator"])) > 0


@pytest.mark.parametrize("metric", ["nominal", "linear"])
@pytest.mark.parametrize("clusters", [False, True])
def test_leaving_out_what_two_others_agree_against_adding_up_all_pairs(metric: str, clusters: bool) -> None:
    random = np.random.default_rng(4)
    given = {item: dict.fromkeys(random.permutation(5)[: random.integers(2, 6)].tolist(), 0) for item in range(60)}
    given = {item: {who: int(random.integers(0, 4)) for who in sorted(people)} for item, people in given.items()}
    rows = sorted((item, label, who) for item, said in given.items() for who, label in said.items())
    item, label, who = (np.array(column, dtype=np.int32) for column in zip(*rows, strict=True))
    codes = Coded(item, who, label, tuple("abcde"), tuple("1234"))
    steps = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    similarity = (steps == 0).astype(float) if metric == "nominal" else 1 - steps / 3
    cluster = np.arange(60) // 3 if clusters else None
    given_metric = None if metric == "nominal" else similarity
    visits = Visits.of(codes, replace(votes_in_codes(codes), similarity=given_metric, cluster=cluster))

    def p_without(person: int, two: set[int]) -> float:
        units = defaultdict(list)
        for number, said in given.items():
            others = [each for each in said if each != person]
            pairs = [similarity[said[a], said[b]] for a, b in permutations(others, 2) if {a, b} != two]
            if person in said and pairs:
                own = np.mean([similarity[said[person], said[other]] for other in others])
                units[number // 3 if clusters else number].append(own - np.mean(pairs))
        sizes, sums = (np.array([size(each) for each in units.values()]) for size in (len, sum))
        mean, count = sums.sum() / sizes.sum(), len(sizes)
        error = np.sqrt(count / (count - 1) * ((sums - mean * sizes) ** 2).sum()) / sizes.sum()
        equal = sizes.sum() ** 2 / (sizes**2).sum()
        return float(stats.t.cdf(mean / error, equal - 1)) if equal >= 10 else 1.0

    def met(person: int, two: tuple[int, int]) -> int:
        return sum(len(said) > 2 and {person, *two} <= set(said) for said in given.values())

    items = [sum(len(said) > 2 and person in said for said in given.values()) for person in range(5)]
    for person in range(5):
        others = combinations(set(range(5)) - {person}, 2)
        expected = max(
            p_without(person, set(two)) for two in others if met(person, two) >= min(10, 0.1 * items[person])
        )
        assert _without_two(visits.where(visits.n > 2), person) == pytest.approx(expected, rel=1e-9)


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


def test_the_table_says_beside_whom_two_others_agree_unusually_often(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(item, who, "x" if who != "cyd" else "y") for item in range(12) for who in ("ann", "bob", "cyd")]
    says = "less with cyd than with each other, perhaps only because two of them agree unusually often."
    spagree.measure(rows).report(tmp_path / "page.html")
    assert says in (tmp_path / "page.html").read_text("utf-8")
    (tmp_path / "rows.csv").write_text("\n".join(["item,annotator,label", *(",".join(map(str, row)) for row in rows)]))
    code, out, _ = Run(capsys)("annotators", tmp_path / "rows.csv")
    assert code == 0 and says in " ".join(out.split())
