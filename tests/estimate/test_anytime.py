"""What holds at all times: bounds, a fall, annotators apart. Oracles: ville, exact enumeration, simulation."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from examples import examples
from spagree.estimate.anytime import (
    BETS,
    BLOCK,
    FALLS,
    HORIZON,
    STAKES,
    STAYS,
    _evidence_of_a_fall,
    _scores,
    closed_items,
    fall_evidence,
    fall_of,
    safe_sequence,
    steepest_fall,
    watch_annotators,
)


def coins(share: float, length: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random(length) < share).astype(float)


def test_every_bet_loses_in_expectation_whatever_the_distribution() -> None:
    """exp(λx) lies below its chord, so that no distribution on [0, 1] with mean p earns more than that on {0, 1}."""
    for bet, mean, middle in itertools.product(BETS, np.linspace(0.01, 0.99, 15), (1 / 3, 0.5, 1.0)):
        share = min(mean / middle, 1.0)
        spent = 1 + share * middle * np.expm1(bet)
        assert share * np.exp(bet * middle) + 1 - share <= spent * (1 + 1e-12)


@pytest.mark.parametrize("expected", [(0.7,) * 13, (0.9,) * 6 + (0.2,) * 7, (0.5, 0.99) * 6 + (0.5,)])
def test_no_path_escapes_the_bounds_too_often_exactly(expected: tuple[float, ...]) -> None:
    """Over all paths of 13 items, of equal and of unequal difficulty: the probability of ever being wrong, at a level of 50%."""
    chances, n = np.array(expected), len(expected)
    paths = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    weight = np.where(paths == 1, chances, 1 - chances).prod(1)
    truth = chances.cumsum() / np.arange(1, n + 1)
    bounds = {
        (items, total): safe_sequence(np.r_[np.ones(total), np.zeros(items - total)], 0.5, [items])
        for items in range(1, n + 1)
        for total in range(items + 1)
    }
    wrong = np.zeros(2**n, bool)
    for items in range(1, n + 1):
        low, high = (
            np.array([getattr(bounds[items, k], side)[0] for k in range(items + 1)]) for side in ("low", "high")
        )
        total = paths[:, :items].sum(1)
        wrong |= (low[total] > truth[items - 1]) | (high[total] < truth[items - 1])
    assert weight.sum() == pytest.approx(1.0)
    assert 0 < weight[wrong].sum() <= 0.5


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_bound_is_where_the_average_of_the_bets_reaches_the_limit(level: float) -> None:
    from scipy.optimize import brentq

    values = np.random.default_rng(2).choice([0.0, 1 / 3, 1.0], p=[0.1, 0.3, 0.6], size=500)

    def capital(mean: float) -> float:
        return float(
            np.sum(STAKES / STAKES.sum() * np.exp(BETS * values.sum() - 500 * np.log(1 + mean * (np.exp(BETS) - 1))))
        )

    exact = brentq(lambda mean: capital(mean) - 2 / (1 - level), 0.2, values.mean(), xtol=1e-13)
    found = safe_sequence(values, level, [500])
    assert exact - 1e-7 < found.low[0] <= exact + 1e-12 and found.items.tolist() == [500]
    assert safe_sequence(values, level).low[-1] == found.low[0]


@pytest.mark.parametrize(
    ("share", "items", "most"), [(0.8, 100, 1.7), (0.8, 1000, 1.65), (0.6, 3000, 1.7), (0.9, 1000, 1.65)]
)
def test_bounds_are_hardly_wider_than_they_must_be(share: float, items: int, most: float) -> None:
    """Against the fixed interval, where agreement is exactly so high; 1.39 is the least for a single moment."""
    values = np.r_[np.ones(round(share * items)), np.zeros(items - round(share * items))]
    found = safe_sequence(values, at=[items])
    fixed = 1.96 * np.sqrt(share * (1 - share) / items)
    assert 1.39 < float(found.high[0] - found.low[0]) / 2 / fixed < most


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0])
def test_bounds_are_near_those_of_ville(share: float) -> None:
    """Theirs bet on one λ that they learn; both are right, so that they overlap and are about as wide."""
    ville = pytest.importorskip(
        "ville", reason="the oracle of confidence sequences is not installed: pip install ville"
    )
    values, theirs = coins(share, 3000), ville.EmpiricalBernsteinCS(alpha=0.05, intersect=False)
    theirs.update(values)
    (low, high), ours = theirs.interval(), safe_sequence(values)
    assert max(low, ours.low[-1]) < min(high, ours.high[-1])
    assert 0.4 < (ours.high[-1] - ours.low[-1]) / (high - low) < 1.2


def test_bounds_hold_in_batches_and_drifts() -> None:
    """Items in batches of unequal difficulty, then a fall: the bounds are about the mean of the items so far."""
    generator = np.random.default_rng(8)
    wrong = 0
    for _ in range(60):
        expected = np.repeat(generator.uniform(0.2, 1.0, 20), 40)
        expected[500:] *= 0.5
        found = safe_sequence((generator.random(800) < expected).astype(float))
        truth = expected.cumsum() / np.arange(1, 801)
        wrong += bool(((found.low > truth) | (found.high < truth)).any())
    assert wrong <= 7  # 3 expected at most; more than 7 would be seen once in a hundred runs


def test_bounds_hold_at_all_times_where_the_fixed_interval_does_not() -> None:
    generator = np.random.default_rng(7)
    wrong = fixed = 0
    for _ in range(60):
        values = generator.choice([0.0, 1 / 3, 1.0], p=[0.1, 0.3, 0.6], size=400)
        found, truth = safe_sequence(values), 0.7
        wrong += bool(((found.low > truth) | (found.high < truth)).any())
        t = np.arange(1, 401)
        spread = np.sqrt(((values**2).cumsum() / t - found.mean**2) / t)
        fixed += bool((np.abs(found.mean - truth) > 1.96 * spread)[30:].any())
    assert wrong <= 7  # 3 expected at most; more than 7 would be seen once in a hundred runs
    assert fixed >= 10


@given(st.lists(st.sampled_from([0.0, 1 / 3, 1.0]), min_size=1, max_size=60))
def test_bounds_hold_the_mean_and_turn_with_the_values(values: list[float]) -> None:
    found, turned = safe_sequence(np.array(values)), safe_sequence(1 - np.array(values))
    assert (found.low <= found.mean).all() and (found.mean <= found.high).all()
    assert found.low == pytest.approx(1 - turned.high) and found.high == pytest.approx(1 - turned.low)


def test_nothing_yet_has_no_bounds() -> None:
    assert len(safe_sequence(np.zeros(0)).low) == 0


@given(st.lists(st.sampled_from([0.0, 1 / 3, 1.0]), max_size=60), st.lists(st.sampled_from([0.0, 1.0]), max_size=30))
@examples(20)
def test_later_items_change_nothing_that_was_shown(past: list[float], future: list[float]) -> None:
    before, after = safe_sequence(np.array(past)), safe_sequence(np.array(past + future))
    assert after.low[: len(past)].tolist() == before.low.tolist()
    assert after.high[: len(past)].tolist() == before.high.tolist()


def arrive(*annotations: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    item, annotator, label = np.array(annotations, dtype=np.int64).reshape(-1, 3).T
    return item, annotator, label


def test_items_enter_by_their_first_annotations_in_the_order_of_closing() -> None:
    closed = closed_items(*arrive((1, 0, 0), (2, 0, 1), (2, 1, 1), (1, 1, 1), (2, 2, 0), (3, 0, 0)), k=2)
    assert closed.item.tolist() == [2, 1]
    assert closed.label.tolist() == [[1, 1], [0, 1]]
    assert closed.closed_by.tolist() == [2, 3]
    assert closed.agreement().tolist() == [1.0, 0.0]


def test_nothing_is_closed_where_nothing_is_there() -> None:
    closed = closed_items(*arrive(), k=3)
    assert len(closed.item) == 0 and len(closed.agreement()) == 0
    found = watch_annotators(closed, 0)
    assert len(found.evidence) == 0 and not found.named.any()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), st.integers(0, 2)), max_size=40), st.integers(2, 4))
def test_closed_items_equal_those_of_a_plain_loop(annotations: list[tuple[int, int, int]], k: int) -> None:
    first: dict[int, list[int]] = {}
    expected = []
    for item, _, label in annotations:
        if len(first.setdefault(item, [])) < k:
            first[item].append(label)
            if len(first[item]) == k:
                expected.append((item, tuple(first[item])))
    closed = closed_items(*arrive(*annotations), k=k)
    assert [(int(item), tuple(row)) for item, row in zip(closed.item, closed.label.tolist(), strict=True)] == expected
    pairs = [Fraction(sum(a == b for a, b in itertools.permutations(row, 2)), k * (k - 1)) for _, row in expected]
    assert closed.agreement() == pytest.approx([float(each) for each in pairs])


@pytest.mark.parametrize("n", [3, 4, 5])
def test_the_difference_from_the_others_has_mean_zero_whatever_the_item(n: int) -> None:
    """Exactly: over all orders of any labels on an item, each place gets 0 in the mean."""
    for labels in itertools.combinations_with_replacement(range(3), n):
        orders = list(itertools.permutations(labels))
        annotations = [(i, place, label) for i, order in enumerate(orders) for place, label in enumerate(order)]
        closed = closed_items(*arrive(*annotations), k=n)
        assert closed.apart().mean(0) == pytest.approx(np.zeros(n), abs=1e-12)


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_nobody_agrees_more_than_half_more_than_the_others_do(n: int) -> None:
    """So that no bet loses more than three quarters of the capital."""
    highest = max(
        closed_items(*arrive(*((0, who, label) for who, label in enumerate(labels))), k=n).apart().max()
        for labels in itertools.product(range(n), repeat=n)
        if list(labels) == sorted(labels)
    )
    assert 0 < highest <= 0.5


def plain_evidence(closed: object, who: int) -> float:
    """The e-process of one annotator as docs/mathematics.md §18 writes it, item by item."""
    seen: list[float] = []
    log_e = 0.0
    for people, row in zip(closed.annotator, closed.apart(), strict=True):  # type: ignore[attr-defined]
        for person, d in zip(people, row, strict=True):
            if person == who:
                bet = min(max((8 - np.sum(seen)) / (8 + np.sum(np.square(seen))), 0.0), 1.5)
                log_e += np.log(1 - bet * d)
                seen.append(float(d))
    return log_e


def project(seed: int, items: int, people: int, careless: int | None = None) -> tuple[np.ndarray, ...]:
    """Three people per item; each is right with a chance that depends on the item alone."""
    generator = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        easy = generator.choice([0.6, 0.9])
        for who in generator.choice(people, 3, replace=False):
            right = generator.random() < easy and who != careless
            rows.append((item, int(who), 0 if right else int(generator.integers(0, 3))))
    return arrive(*rows)


def test_the_evidence_is_the_product_of_bets() -> None:
    closed = closed_items(*project(3, 60, 5, careless=2), k=3)
    found = watch_annotators(closed, 6)
    assert found.evidence == pytest.approx([plain_evidence(closed, who) for who in range(6)])
    assert found.items.sum() == 180 and found.items[5] == 0 and found.difference[5] == 0


def test_somebody_careless_is_named_and_nobody_else() -> None:
    found = watch_annotators(closed_items(*project(1, 600, 10, careless=4), k=3), 10)
    assert np.flatnonzero(found.named).tolist() == [4]
    assert found.difference[4] < -0.2


def growing(seed: int, items: int = 400, people: int = 40, at_once: int = 10) -> tuple[np.ndarray, ...]:
    """All alike, three on an item; as new people join, the first ones stop."""
    generator = np.random.default_rng([seed, 5])
    first = np.arange(items) * (people - at_once) // items
    who = first[:, None] + np.argsort(generator.random((items, at_once)), axis=1)[:, :3]
    easy = generator.choice([0.6, 0.9], size=(items, 1))
    label = np.where(generator.random((items, 3)) < easy, 0, generator.integers(1, 3, (items, 3)))
    return np.arange(items).repeat(3), who.ravel(), label.ravel()


def test_hardly_anybody_is_named_however_many_people_join() -> None:
    """At any of many looks; a limit of 1/α for everybody would name somebody in far more than 5% of the projects."""
    named = at_one_limit = 0
    for seed in range(200):
        item, who, label = growing(seed)
        looks = [watch_annotators(closed_items(item[:n], who[:n], label[:n], 3), 40) for n in range(90, 1201, 30)]
        named += any(found.named.any() for found in looks)
        at_one_limit += any((found.evidence >= log(20)).any() for found in looks)
    assert named <= 10 < at_one_limit


def test_the_limit_grows_with_the_order_of_arrival() -> None:
    """The same person, alone in being careless: named if there from the start, later if others came before."""
    item, who, label = project(1, 600, 10, careless=4)

    def first_named(codes: np.ndarray, careless: int) -> int:
        for items in range(10, 601, 10):
            found = watch_annotators(closed_items(item[: 3 * items], codes[: 3 * items], label[: 3 * items], 3), 10)
            if found.named[careless]:
                return items
        return 10**9

    order = list(dict.fromkeys(who.tolist()))
    found = watch_annotators(closed_items(item, who, label, 3), 10)
    limit = log((order.index(4) + 1) * (order.index(4) + 2) / 0.05)
    assert found.named[4] and found.evidence[4] >= limit
    assert first_named(who, 4) < 600
    names = np.array([7, 3, 9, 1, 0, 2, 5, 8, 6, 4])  # codes say nothing about who came first
    assert first_named(names[who], int(names[4])) == first_named(who, 4)


# A fall ----------------------------------------------------------------------------------------

LIMIT = log(20)


def ranks(means: list[float], drawn: np.ndarray) -> np.ndarray:
    return norm.sf(_scores(np.array(means), drawn))


@pytest.mark.parametrize("drawn", [0.001, 0.5, 0.999])
def test_over_all_orders_every_sequence_of_ranks_is_equally_frequent(drawn: float) -> None:
    """So each rank is uniform and independent of those before, whatever the distribution of blocks."""
    found = Counter(
        tuple(ranks(list(order), np.full(5, drawn)).round(6)) for order in itertools.permutations([0.1, 0.2, 0.5, 0.7, 1.0])
    )  # fmt: skip
    assert len(found) == 120 and set(found.values()) == {1}
    for place in range(5):
        shares = Counter(each[place] for each in found)
        assert sorted(shares) == pytest.approx([(below + drawn) / (place + 1) for below in range(place + 1)], abs=1e-6)
        assert len(set(shares.values())) == 1


def test_ties_share_their_places() -> None:
    assert ranks([0.5, 0.5, 0.5, 0.2], np.array([0.3, 0.25, 0.5, 0.0])) == pytest.approx(
        [0.3, 0.5 / 2, 1.5 / 3, 0.0], abs=1e-8
    )


def plain(scores: list[float]) -> float:
    """The average of all bets as docs/mathematics.md §18 writes it: for each start and each bet, and what is idle."""
    total = 0.0
    for start in range(len(scores)):
        weight = HORIZON / ((HORIZON + start) * (HORIZON + start + 1))
        for bet in FALLS:
            total += weight / len(FALLS) * exp(sum(bet * z - bet**2 / 2 for z in scores[start:]))
    return log(total + HORIZON / (HORIZON + len(scores)))


def test_the_evidence_is_the_average_of_bets_that_begin_with_every_block() -> None:
    scores = np.random.default_rng(4).normal(size=12)
    expected = [plain(scores[:blocks].tolist()) for blocks in range(13)]
    assert _evidence_of_a_fall(scores) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(st.lists(st.sampled_from([0.0, 1 / 3, 1.0]), max_size=180), st.lists(st.sampled_from([0.0, 1.0]), max_size=60))
@examples(20)
def test_later_items_change_no_evidence_of_a_fall(past: list[float], future: list[float]) -> None:
    both, alone = fall_evidence(np.array(past + future)), fall_evidence(np.array(past))
    assert both[: len(alone)] == pytest.approx(alone)


def test_nothing_yet_is_no_evidence() -> None:
    assert fall_evidence(np.zeros(0)).tolist() == fall_evidence(np.ones(BLOCK - 1)).tolist() == [0.0]
    assert fall_of(np.zeros(0)) is None


def test_no_fall_is_seldom_called_one_in_random_order() -> None:
    called = sum(fall_evidence(coins(0.8, 800, seed), seed).max() >= LIMIT for seed in range(80))
    assert called <= 5  # 5% at most, and about 1% as measured


@pytest.mark.parametrize(("before", "after"), [(0.9, 0.7), (0.98, 0.85), (0.7, 0.45)])
def test_a_fall_is_seen(before: float, after: float) -> None:
    delays = []
    for seed in range(20):
        found = fall_evidence(np.concatenate([coins(before, 1000, seed), coins(after, 900, seed + 1000)]), seed)
        over = np.flatnonzero(found >= LIMIT)
        delays.append(over[0] * BLOCK - 1000 if len(over) else 900)
    assert np.median(delays) < 250


def test_a_rise_is_no_fall() -> None:
    assert fall_evidence(np.concatenate([coins(0.6, 300), coins(0.95, 300, 1)])).max() < LIMIT


def test_evidence_of_a_fall_stays_for_some_items() -> None:
    values = np.concatenate([coins(0.9, 1200), coins(0.5, 300, 1), coins(1.0, 1500, 2)])
    running = fall_evidence(values)
    last = int(np.flatnonzero(running >= LIMIT)[-1])
    seen = [fall_of(values[: blocks * BLOCK]) for blocks in (last, last + STAYS, last + STAYS + 1)]
    assert [found is not None and found.is_clear for found in seen] == [True, True, False]


def test_the_steepest_fall_is_where_the_mean_falls_most() -> None:
    assert steepest_fall(np.array([1.0, 1.0, 1.0, 0.0, 0.0])) == 3
    assert steepest_fall(np.array([0.0, 1.0, 0.0])) == 2
    assert steepest_fall(np.array([1.0])) == 0 and steepest_fall(np.zeros(0)) == 0
