"""Evidence of a drop: exact ranks, the average of bets as it is defined, and simulated projects in random order and batches."""

from __future__ import annotations

import itertools
from collections import Counter
from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spagree.estimate.drops import (
    BETS,
    HORIZON,
    LONG,
    SHORT,
    _evidence,
    _is_memoryless,
    _ranks,
    drop_evidence,
    steepest_drop,
)

LIMIT = log(20)


def coins(share: float, length: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random(length) < share).astype(float)


def ever(values: np.ndarray, seed: int = 0) -> np.ndarray:
    """The evidence after every short block: in between nothing changes."""
    return drop_evidence(values, seed, range(SHORT, len(values) + 1, SHORT))


def in_batches(seed: int, items: int, length: int = LONG) -> np.ndarray:
    """Nobody changes, but a batch of items may be much harder than another."""
    generator = np.random.default_rng([seed, 77])
    chances = generator.beta(7, 2.5, items // length + 2).repeat(length)[generator.integers(length) :][:items]
    return (generator.random(items) < chances).astype(float)


@pytest.mark.parametrize("drawn", [0.001, 0.5, 0.999])
def test_over_all_orders_every_sequence_of_ranks_is_equally_frequent(drawn: float) -> None:
    """So each rank is uniform and independent of those before, whatever the distribution of blocks."""
    found = Counter(
        tuple(_ranks(np.array(order), np.full(5, drawn)).round(6)) for order in itertools.permutations([0.1, 0.2, 0.5, 0.7, 1.0])
    )  # fmt: skip
    assert len(found) == 120 and set(found.values()) == {1}
    for place in range(5):
        shares = Counter(ranks[place] for ranks in found)
        assert sorted(shares) == pytest.approx([(below + drawn) / (place + 1) for below in range(place + 1)], abs=1e-6)
        assert len(set(shares.values())) == 1


def test_ties_share_their_places() -> None:
    assert _ranks(np.array([0.5, 0.5, 0.5, 0.2]), np.array([0.3, 0.25, 0.5, 0.0])) == pytest.approx(
        [0.3, 0.5 / 2, 1.5 / 3, 0.0], abs=1e-8
    )


def plain(scores: list[float], length: int) -> float:
    """The average of all bets as docs/mathematics.md §18 writes it: for each start and each bet, and what is idle."""
    horizon, total = HORIZON / length, 0.0
    for start in range(len(scores)):
        weight = horizon / ((horizon + start) * (horizon + start + 1))
        for drop in BETS:
            bet = drop * sqrt(length / LONG)
            total += weight / len(BETS) * exp(sum(bet * z - bet**2 / 2 for z in scores[start:]))
    return log(total + horizon / (horizon + len(scores)))


@pytest.mark.parametrize("length", [SHORT, LONG])
def test_the_evidence_is_the_average_of_bets_that_begin_with_every_block(length: int) -> None:
    from scipy.stats import norm

    values = np.random.default_rng(4).choice([0.0, 1 / 3, 1.0], size=12 * length + 3)
    means = values[: 12 * length].reshape(12, length).mean(1)
    drawn = np.random.default_rng([9, 0x7135, length]).random(12)
    scores = norm.isf(_ranks(means, drawn)).tolist()
    expected = [plain(scores[:blocks], length) for blocks in range(13)]
    assert _evidence(values, length, 9) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_the_weights_of_all_starts_and_the_idle_stake_make_one() -> None:
    horizon = HORIZON / SHORT
    weights = [horizon / ((horizon + start) * (horizon + start + 1)) for start in range(500)]
    assert sum(weights) + horizon / (horizon + 500) == pytest.approx(1.0)


@given(st.lists(st.sampled_from([0.0, 1 / 3, 1.0]), max_size=180), st.lists(st.sampled_from([0.0, 1.0]), max_size=60))
@settings(max_examples=40, deadline=None)
def test_later_items_change_nothing_that_was_shown(past: list[float], future: list[float]) -> None:
    both = drop_evidence(np.array(past + future), at=[len(past)])
    assert both == pytest.approx(drop_evidence(np.array(past)))


def test_nothing_yet_is_no_evidence() -> None:
    assert drop_evidence(np.zeros(0)).tolist() == [-log(2)]
    assert drop_evidence(np.ones(SHORT - 1)).tolist() == [-log(2)]


def test_only_independent_short_blocks_count() -> None:
    """One drop is no memory, batches are; little data proves nothing."""
    generator = np.random.default_rng(5)
    free = generator.normal(size=300)
    fallen = np.concatenate([free, generator.normal(-1.5, 1, 100)])
    batches = free + generator.normal(size=60).repeat(5)
    assert _is_memoryless(free) and _is_memoryless(fallen) and not _is_memoryless(batches)
    assert not _is_memoryless(free[:4]) and not _is_memoryless(free[:12])


def test_half_of_the_stake_is_on_each_length() -> None:
    values = coins(0.8, 1000, 3)
    short, long = _evidence(values, SHORT, 0)[-1], _evidence(values, LONG, 0)[-1]
    assert _is_memoryless(values.reshape(-1, SHORT).mean(1))
    assert drop_evidence(values) == pytest.approx([np.logaddexp(short, long) - log(2)])
    batches = in_batches(1, 1000)
    assert not _is_memoryless(batches.reshape(-1, SHORT).mean(1))
    assert drop_evidence(batches) == pytest.approx([_evidence(batches, LONG, 0)[-1] - log(2)])


def test_no_drop_is_seldom_called_one_in_random_order() -> None:
    called = sum(ever(coins(0.8, 800, seed), seed).max() >= LIMIT for seed in range(160))
    assert called <= 10  # 5% at most, and about 1% as measured


@pytest.mark.parametrize("length", [20, 50])
def test_no_drop_is_seldom_called_one_in_batches(length: int) -> None:
    """Batches whose agreement has a standard deviation of 0.14: item by item, most of these would be called drops."""
    called = sum(ever(in_batches(seed, 1000, length), seed).max() >= LIMIT for seed in range(100))
    assert called <= 10


@pytest.mark.parametrize(("before", "after"), [(0.9, 0.7), (0.98, 0.85), (0.7, 0.45)])
def test_a_drop_is_found(before: float, after: float) -> None:
    delays = []
    for seed in range(20):
        values = np.concatenate([coins(before, 500, seed), coins(after, 700, seed + 1000)])
        over = np.flatnonzero(ever(values, seed) >= LIMIT)
        delays.append((over[0] + 1) * SHORT - 500 if len(over) else 700)
    assert np.median(delays) < 300


def test_a_rise_is_no_drop() -> None:
    assert ever(np.concatenate([coins(0.6, 300), coins(0.95, 300, 1)])).max() < LIMIT


def test_the_steepest_drop_is_where_the_mean_falls_most() -> None:
    assert steepest_drop(np.array([1.0, 1.0, 1.0, 0.0, 0.0])) == 3
    assert steepest_drop(np.array([0.0, 1.0, 0.0])) == 2
    assert steepest_drop(np.array([1.0])) == 0 and steepest_drop(np.zeros(0)) == 0
