"""The shape to plan with against a slow reference that looks at all pairs and triples of annotations."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from oracle import BARS, Labels, parse, spa, tally_of
from spagree.counts.tally import Tally
from spagree.estimate.plan import Shape, item_shape, usual_shape


def triples_agree(labels: Labels) -> Fraction:
    seen = [one == two == three for one, two, three in combinations(labels, 3)]
    return Fraction(sum(seen), len(seen))


def disjoint_pairs_agree(labels: Labels) -> Fraction:
    seen = [labels[i] == labels[j] and labels[k] == labels[m] for i, j, k, m in permutations(range(len(labels)), 4)]
    return Fraction(sum(seen), len(seen))


def usual(theta: Fraction) -> tuple[Fraction, Fraction]:
    return Fraction("0.05") + Fraction("0.42") * theta, Fraction("0.25") * theta**2


def slow_shape(items: list[list[str]], *, clamp: bool = True) -> tuple[Fraction, Fraction]:
    """docs/mathematics.md §7, word for word."""
    theta = spa(items, lambda labels: len(labels) - 1)
    usual_a, usual_b = usual(theta)
    spread = theta - theta**2
    if not spread:
        return usual_a, usual_b

    def pooled(smallest: int, probability, prior: Fraction) -> Fraction:
        long = [labels for labels in items if len(labels) >= smallest]
        weights = [1 - Fraction(1, len(labels) - smallest + 2) for labels in long]
        coordinates = [(probability(labels) - theta**2) / spread for labels in long]
        shrunk = sum((w * x for w, x in zip(weights, coordinates, strict=True)), 50 * prior)
        return shrunk / (sum(weights) + 50)

    a = pooled(3, triples_agree, usual_a)
    b = pooled(4, disjoint_pairs_agree, usual_b)
    if not clamp:
        return a, b
    a = min(max(a, Fraction(0)), Fraction(1))
    return a, min(max(b, Fraction(0)), a)


def estimated(items: list[list[str]]) -> tuple[float, float]:
    found = item_shape(tally_of(items), float(spa(items, lambda labels: len(labels) - 1)))
    assert found.pair == 1
    return found.a, found.b


def check(items: list[list[str]]) -> None:
    assert estimated(items) == pytest.approx(tuple(map(float, slow_shape(items))), abs=1e-12)


ITEM = st.lists(st.sampled_from("abc"), min_size=1, max_size=6)


@given(st.lists(ITEM, min_size=1, max_size=12).filter(lambda items: any(len(labels) > 1 for labels in items)))
@examples(30)
def test_shape_equals_enumeration_of_all_disjoint_pairs_and_triples(items: list[list[str]]) -> None:
    check(items)


@pytest.mark.parametrize("data", [BARS, "aaaa bbbb ab cccc abc aabb", "aab aab abb", "aaaab aabbb ab aaa abc"])
def test_shape_of_hand_made_data(data: str) -> None:
    check(parse(data))


def test_shape_of_one_small_data_set_in_figures() -> None:
    # theta = (1·1 + 2·1/3 + 3·1/6)/6 = 13/36, t3 = 0 and 0, m2 = 0, pooled with weights 1/2, 2/3 and 1/2
    items = parse("aa aab aabc")
    theta = Fraction(13, 36)
    nothing_agrees = (0 - theta**2) / (theta * (1 - theta))
    usual_a, usual_b = usual(theta)
    a = (Fraction(7, 6) * nothing_agrees + 50 * usual_a) / (50 + Fraction(7, 6))
    b = (Fraction(1, 2) * nothing_agrees + 50 * usual_b) / (50 + Fraction(1, 2))
    assert estimated(items) == (pytest.approx(float(a), abs=1e-15), pytest.approx(float(b), abs=1e-15))


@pytest.mark.parametrize(("data", "theta"), [("aa ab", 0.5), ("ab abc abcd", 0.0), ("aa aaa aaaa", 1.0)])
def test_without_evidence_the_shape_is_the_usual_one(data: str, theta: float) -> None:
    assert estimated(parse(data)) == pytest.approx((0.05 + 0.42 * theta, 0.25 * theta**2))


def test_a_project_that_has_not_started_has_the_usual_shape_of_the_assumed_agreement() -> None:
    assert item_shape(Tally(), 0.8) == usual_shape(0.8) == Shape(0.05 + 0.42 * 0.8, 0.25 * 0.8**2)


def repeated(data: str, times: int) -> list[list[str]]:
    return parse(data) * times


@pytest.mark.parametrize(
    ("data", "shape"),
    [
        ("aaaa bbbb abcd", None),  # items that agree fully or not at all: both coordinates near 1
        ("aabb", (0.0, 0.0)),  # triples never agree: below 0 without the clamp
        ("aaaaaa abcdef", None),
    ],
)
def test_shape_is_clamped_to_a_possible_one(data: str, shape: tuple[float, float] | None) -> None:
    items = repeated(data, 300)
    a, b = estimated(items)
    assert 0 <= b <= a <= 1
    if shape:
        assert slow_shape(items, clamp=False)[0] < 0
        assert (a, b) == shape


def test_b_is_at_most_a() -> None:
    # many items of four without triples, whose disjoint pairs agree: b alone would exceed a
    items = repeated("aabb ccdd aabb abcd", 200)
    raw_a, raw_b = slow_shape(items[:40], clamp=False)
    assert raw_b > 0 and raw_b > raw_a
    assert estimated(items) == (0.0, 0.0)


def test_a_above_one_is_clamped() -> None:
    # theta comes mostly from the many pairs that disagree; the few larger items agree fully
    items = repeated("ab", 3000) + repeated("aaaa", 300)
    assert estimated(items) == (1.0, 1.0)


def test_alike_items_lead_towards_edges_and_unlike_ones_towards_flat() -> None:
    same = estimated(repeated("aaab aabb abbb abab aaaa bbbb aabb aabb", 100))
    different = estimated(repeated("aaaa abcd bbbb cccc", 100))
    assert same[0] < 0.25
    assert same[1] < 0.1
    # each coordinate is 1 in the data: 400 items worth 2/3 and 1/2 each against the fifty of what is usual
    a, b = map(float, usual(Fraction(3, 4)))
    assert different == (pytest.approx((800 / 3 + 50 * a) / (800 / 3 + 50)), pytest.approx((200 + 50 * b) / 250))
