"""Sides against each other: the standard error of a difference is that of leaving out one item, everywhere at once."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from spagree.estimate.comparison import Figure, Limits, Side, compare_sides, holm, verdict
from spagree.estimate.findings import find
from spagree.estimate.influence import AnnotationCodes, pairable
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS
from spagree.tally.tally import Tally

Rows = list[tuple[int, int, int]]


def one_less(n: np.ndarray) -> np.ndarray:
    return n - 1.0


def rows(seed: int, first: int, last: int, people: int = 7) -> Rows:
    rng = np.random.default_rng(seed)
    found: Rows = []
    for item in range(first, last):
        chosen = rng.choice(people, int(rng.integers(2, 5)), replace=False).tolist()
        right = item % 3
        found += [(item, person, right if rng.random() < 0.6 else int(rng.integers(3))) for person in chosen]
    return found


def tally(annotations: Rows) -> Tally:
    counts: dict[int, dict[str, int]] = {}
    for item, _, label in annotations:
        votes = counts.setdefault(item, {})
        votes[str(label)] = votes.get(str(label), 0) + 1
    return Tally.from_items(list(counts.values()))


def side(name: str, annotations: Rows, classes: dict[str, Figure] | None = None) -> Side:
    findings = find(tally(annotations))
    found = pairable(AnnotationCodes(*(np.array(column) for column in zip(*annotations, strict=True))), one_less)
    return Side(name, findings.spa, findings.chance["spa_kappa"], classes or {}, found, ["0", "1", "2"])


def spa(annotations: Rows) -> float:
    """By its definition: agreeing pairs of each item, weighted by one less than its annotations."""
    items: dict[int, list[int]] = {}
    for item, _, label in annotations:
        items.setdefault(item, []).append(label)
    weights = [len(labels) - 1 for labels in items.values()]
    shares = [np.mean([a == b for a, b in combinations(labels, 2)]) for labels in items.values()]
    return float(np.average(shares, weights=weights))


def without(annotations: Rows, item: int) -> Rows:
    return [row for row in annotations if row[0] != item]


@pytest.mark.parametrize("start", [0, 20, 40], ids=["all shared", "half shared", "none shared"])
def test_stderr_is_that_of_leaving_out_one_item_on_both_sides(start: int) -> None:
    a, b = rows(1, 0, 40), rows(2, start, start + 40)
    (pair,) = compare_sides([side("a", a), side("b", b)], 0.95)
    whole = spa(b) - spa(a)
    moved = [spa(without(b, item)) - spa(without(a, item)) - whole for item in sorted({row[0] for row in (*a, *b)})]
    assert pair.difference.value == pytest.approx(whole)
    assert pair.difference.stderr == pytest.approx(np.sqrt(np.sum(np.square(moved))), rel=0.1)
    assert pair.shared_items == 40 - start and pair.shared_annotators == 7


def test_kappa_moves_with_the_items_it_shares() -> None:
    a, b = rows(3, 0, 50), rows(4, 0, 50)
    (paired,) = compare_sides([side("a", a), side("b", b)], 0.95)
    moved = [(item + 100, person, label) for item, person, label in b]
    (alone,) = compare_sides([side("a", a), side("b", moved)], 0.95)
    assert paired.kappa_difference.value == alone.kappa_difference.value
    assert paired.kappa_difference.stderr != alone.kappa_difference.stderr
    spread = np.hypot(find(tally(a)).chance["spa_kappa"].stderr, find(tally(b)).chance["spa_kappa"].stderr)
    assert alone.kappa_difference.stderr == pytest.approx(spread)


def test_people_who_annotate_both_sides_are_taken_into_account() -> None:
    careless = [(item, person, label if person else (label + item) % 3) for item, person, label in rows(5, 0, 60)]
    later = [(item + 60, person, label if person else (label + item) % 3) for item, person, label in rows(6, 0, 60)]
    others = [(item, person + 20, label) for item, person, label in later]
    same, different = (compare_sides([side("a", careless), side("b", each)], 0.95)[0] for each in (later, others))
    assert same.shared_annotators == 7 and different.shared_annotators == 0
    assert same.difference.limits["annotators"].stderr < different.difference.limits["annotators"].stderr
    assert same.difference.limits[ITEMS].stderr == pytest.approx(different.difference.limits[ITEMS].stderr)


def test_classes_are_compared_where_both_have_them() -> None:
    a, b = rows(7, 0, 40), rows(8, 0, 40)
    known = {"0": Figure(0.5, {ITEMS: Limits(0.05, 0.4, 0.6)}), "1": Figure(0.6, {ITEMS: Limits(0.05, 0.5, 0.7)})}
    other = {"0": Figure(0.7, {ITEMS: Limits(0.05, 0.6, 0.8)}), "2": Figure(0.6, {ITEMS: Limits(0.05, 0.5, 0.7)})}
    (pair,) = compare_sides([side("a", a, known), side("b", b, other)], 0.95)
    assert {each.label: each.difference.value is None for each in pair.classes} == {"0": False, "1": True, "2": True}
    assert pair.classes[0].label == "0" and pair.classes[0].difference.value == pytest.approx(0.2)
    assert pair.classes[0].p_holm == pair.classes[0].difference.p
    assert pair.classes[0].difference.stderr != pytest.approx(0.05 * 2**0.5)
    missing = side("a", a, known).class_figure("9")
    assert missing == Figure(None, undefined="a has no annotation of this class")


def test_tallies_share_an_unknown_number_of_items() -> None:
    findings = find(tally(rows(9, 0, 30)))
    summary = Side("a", findings.spa, findings.chance["spa_kappa"], {}, None)
    (pair,) = compare_sides([summary, side("b", rows(9, 0, 30))], 0.95)
    assert pair.shared_items is None and pair.shared_annotators is None and pair.difference.value == 0
    assert pair.difference.stderr == pytest.approx(findings.spa.stderr * 2**0.5)
    unknown = [(item, -1, label) for item, _, label in rows(9, 0, 30)]
    (anonymous,) = compare_sides([side("a", unknown), side("b", unknown)], 0.95)
    assert anonymous.shared_items == 30 and anonymous.shared_annotators is None


def test_three_sides_are_compared_pairwise_and_their_p_values_hold_together() -> None:
    careless = [(item, person, label if person > 2 else item * person % 3) for item, person, label in rows(11, 0, 60)]
    sides = [side("a", careless), side("b", rows(10, 0, 60)), side("c", rows(12, 0, 60))]
    pairs = compare_sides(sides, 0.9)
    assert [(pair.a.name, pair.b.name) for pair in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [pair.p_holm for pair in pairs] == holm([pair.difference.p for pair in pairs])
    assert [pair.verdict for pair in pairs] == [verdict(pair.difference, pair.p_holm) for pair in pairs]
    assert pairs[0].p_holm > pairs[0].difference.p
    assert all(pair.difference.level == pair.kappa_difference.level == 0.9 for pair in pairs)
    (others,) = compare_sides(sides[:2], 0.9, ANNOTATORS)
    assert others.difference.interval_for == others.kappa_difference.interval_for == ANNOTATORS
    assert others.difference.limits == pairs[0].difference.limits
    assert others.difference.low == others.difference.limits[ANNOTATORS].low
