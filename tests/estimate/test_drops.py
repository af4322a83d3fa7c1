"""Evidence of a drop: exact ranks, the average of bets as it is defined, and simulated projects in random order and batches."""

from __future__ import annotations

import itertools
from collections import Counter
from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, norm

from examples import examples
from spagree.estimate.drops import (
    BETS,
    BLOCK,
    HORIZON,
    STRETCHES,
    DropEvidence,
    _evidence,
    _inflation,
    _scores,
    drop_evidence,
    steepest_drop,
)

LIMIT = log(20)


def coins(share: float, length: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random(length) < share).astype(float)


def ever(values: np.ndarray, seed: int = 0) -> DropEvidence:
    """The evidence after every block: in between nothing changes."""
    return drop_evidence(values, seed, range(BLOCK, len(values) + 1, BLOCK))


def in_batches(seed: int, items: int, length: int) -> np.ndarray:
    """Nobody changes, but a batch of items may be much harder than another."""
    generator = np.random.default_rng([seed, 77])
    chances = generator.beta(7, 2.5, items // length + 2).repeat(length)[generator.integers(length) :][:items]
    return (generator.random(items) < chances).astype(float)


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
        for bet in BETS:
            total += weight / len(BETS) * exp(sum(bet * z - bet**2 / 2 for z in scores[start:]))
    return log(total + HORIZON / (HORIZON + len(scores)))


def test_the_evidence_is_the_average_of_bets_that_begin_with_every_block() -> None:
    scores = np.random.default_rng(4).normal(size=12)
    expected = [plain(scores[:blocks].tolist()) for blocks in range(13)]
    assert _evidence(scores) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_scores_of_blocks_break_ties_from_a_separate_stream() -> None:
    values = np.random.default_rng(4).choice([0.0, 1 / 3, 1.0], size=12 * BLOCK + 3)
    means = values[: 12 * BLOCK].reshape(12, BLOCK).mean(1)
    scores = _scores(means, np.random.default_rng([9, 0x7135]).random(12))
    assert drop_evidence(values, 9).random_order == pytest.approx([_evidence(scores)[-1]])


def test_the_weights_of_all_starts_and_the_idle_stake_make_one() -> None:
    weights = [HORIZON / ((HORIZON + start) * (HORIZON + start + 1)) for start in range(500)]
    assert sum(weights) + HORIZON / (HORIZON + 500) == pytest.approx(1.0)


@given(st.lists(st.sampled_from([0.0, 1 / 3, 1.0]), max_size=180), st.lists(st.sampled_from([0.0, 1.0]), max_size=60))
@examples(20)
def test_later_items_change_nothing_that_was_shown(past: list[float], future: list[float]) -> None:
    both, alone = drop_evidence(np.array(past + future), at=[len(past)]), drop_evidence(np.array(past))
    assert both.random_order == pytest.approx(alone.random_order) and both.batches == pytest.approx(alone.batches)


def test_nothing_yet_is_no_evidence() -> None:
    for values in (np.zeros(0), np.ones(BLOCK - 1)):
        found = drop_evidence(values)
        assert found.random_order.tolist() == found.batches.tolist() == [0.0]


def inflation(means: np.ndarray) -> float:
    """V as docs/mathematics.md §18 writes it: autocorrelations, a line fitted to them, a chi-squared quantile."""
    turn = steepest_drop(means)
    rest = np.concatenate([means[:turn] - means[:turn].mean(), means[turn:] - means[turn:].mean()])
    found = []
    for length in STRETCHES:
        line = np.array([1 - lag / length for lag in range(1, length)])
        r = np.array([(rest[lag:] * rest[:-lag]).sum() for lag in range(1, length)]) / (rest**2).sum()
        slope = (line * r).sum() / (line * line).sum()
        freedom = len(means) / length - 1
        found.append(max(1.0, 1 + 2 * line.sum() * slope) / low_share(freedom))
    return max(found)


def low_share(freedom: float) -> float:
    """Wilson and Hilferty's 10% quantile of chi-squared, over its degrees of freedom."""
    part = 2 / (9 * freedom)
    return float((1 - part + norm.ppf(0.1) * part**0.5) ** 3)


def test_the_quantile_is_close_to_the_exact_one() -> None:
    for freedom in (3.0, 4.0, 9.0, 40.0):
        assert low_share(freedom) == pytest.approx(chi2.ppf(0.1, freedom) / freedom, rel=0.05)


@pytest.mark.parametrize("blocks", [80, 100, 150, 400])
def test_the_inflation_is_that_of_stretches_around_the_steepest_drop(blocks: int) -> None:
    generator = np.random.default_rng(blocks)
    means = generator.normal(size=blocks) + generator.normal(size=blocks // 7 + 1).repeat(7)[:blocks]
    means[blocks // 2 :] -= 2
    assert _inflation(means) == pytest.approx(inflation(means), rel=1e-4)


def test_batches_inflate_and_one_drop_does_not() -> None:
    generator = np.random.default_rng(5)
    free = generator.normal(size=300)
    fallen = np.concatenate([free[:200], free[200:] - 1.5])
    batches = free + generator.normal(size=30).repeat(10)
    assert 1 <= _inflation(free) < 3 and _inflation(fallen) < 3 and _inflation(batches) > 4


def test_no_evidence_about_batches_before_two_long_stretches() -> None:
    enough = 2 * max(STRETCHES)
    means = np.random.default_rng(6).random(enough)
    assert _inflation(means[:-1]) == inf and _inflation(means) < inf
    fallen = np.repeat([1.0, 0.0], [200, enough * BLOCK - BLOCK])
    found = drop_evidence(fallen)
    assert found.random_order[0] > LIMIT and found.batches[0] <= 0


def test_blocks_that_are_all_alike_are_no_trouble() -> None:
    found = drop_evidence(np.ones(1000))
    assert np.isfinite(found.random_order).all() and found.batches[0] < LIMIT


def test_evidence_for_batches_never_exceeds_that_in_random_order() -> None:
    """So it keeps the error rate that is exact there."""
    for seed in range(10):
        found = ever(in_batches(seed, 1000, 50), seed)
        assert (found.batches <= found.random_order).all()


def test_no_drop_is_seldom_called_one_in_random_order() -> None:
    called = sum(ever(coins(0.8, 800, seed), seed).random_order.max() >= LIMIT for seed in range(80))
    assert called <= 5  # 5% at most, and about 1% as measured


@pytest.mark.parametrize("length", [20, 50, 100, 200])
def test_no_drop_is_seldom_called_one_in_batches(length: int) -> None:
    """Batches whose agreement has a standard deviation of 0.14: in many of these the latest items do agree less."""
    called = sum(ever(in_batches(seed, 1500, length), seed).batches.max() >= LIMIT for seed in range(30))
    assert called <= 2


def test_one_hard_batch_is_no_drop() -> None:
    """After twelve easy batches nothing tells a hard one from a change until the next begins."""
    called = {"random_order": 0, "batches": 0}
    for seed in range(30):
        found = ever(
            np.concatenate([coins(0.85, 2400, seed), coins(0.5, 200, seed + 500), coins(0.85, 600, seed + 900)]), seed
        )
        for name in called:
            called[name] += int(getattr(found, name).max() >= LIMIT)
    assert called["random_order"] == 30 and called["batches"] <= 1


def test_evidence_for_batches_has_to_last() -> None:
    values = np.concatenate([coins(0.85, 2400), coins(0.5, 600, 1)])
    found = ever(values)
    first = int(np.flatnonzero(found.batches >= LIMIT)[0]) + 1
    alone = [_evidence_in_batches(values[: (first - ago) * BLOCK]) for ago in (0, 10, 20)]
    assert min(alone) == pytest.approx(found.batches[first - 1]) and min(alone) >= LIMIT
    assert min(_evidence_in_batches(values[: (first - 1 - ago) * BLOCK]) for ago in (0, 10, 20)) < LIMIT


def _evidence_in_batches(values: np.ndarray) -> float:
    """The evidence with scores divided by √V, at one moment."""
    means = values.reshape(-1, BLOCK).mean(1)
    scores = _scores(means, np.random.default_rng([0, 0x7135]).random(len(means)))
    return float(_evidence(scores / np.sqrt(_inflation(means)))[-1])


@pytest.mark.parametrize(("before", "after"), [(0.9, 0.7), (0.98, 0.85), (0.7, 0.45)])
def test_a_drop_is_detected(before: float, after: float) -> None:
    delays: dict[str, list[int]] = {"random_order": [], "batches": []}
    for seed in range(20):
        found = ever(np.concatenate([coins(before, 1000, seed), coins(after, 900, seed + 1000)]), seed)
        for name, own in delays.items():
            over = np.flatnonzero(getattr(found, name) >= LIMIT)
            own.append((over[0] + 1) * BLOCK - 1000 if len(over) else 900)
    assert np.median(delays["random_order"]) < 250 and np.median(delays["batches"]) < 600


def test_a_rise_is_no_drop() -> None:
    assert ever(np.concatenate([coins(0.6, 300), coins(0.95, 300, 1)])).random_order.max() < LIMIT


def test_the_steepest_drop_is_where_the_mean_falls_most() -> None:
    assert steepest_drop(np.array([1.0, 1.0, 1.0, 0.0, 0.0])) == 3
    assert steepest_drop(np.array([0.0, 1.0, 0.0])) == 2
    assert steepest_drop(np.array([1.0])) == 0 and steepest_drop(np.zeros(0)) == 0
