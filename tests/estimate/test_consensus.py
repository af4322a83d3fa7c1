"""Majorities by hand; the probability against Dirichlet draws, and its calibration on simulated items."""

from __future__ import annotations

import numpy as np
import polars
import pytest

import spagree
from oracle import exactly
from spagree.estimate.consensus import LEAST_ALPHA, MOST_ALPHA, Prior, concentration, consensus


def votes(*items: dict[str, int]) -> polars.DataFrame:
    rows = [(number, label, count) for number, item in enumerate(items) for label, count in item.items()]
    return polars.DataFrame(rows, schema=["item", "label", "count"], orient="row")


def test_majorities_and_ties() -> None:
    found = consensus(votes({"b": 2, "a": 1}, {"a": 1, "b": 1, "c": 1}, {"c": 1}, {"a": 2, "b": 2, "c": 1}), 0.5, 3)
    assert found.drop("kept").rows() == [
        (0, "b", None, 3, 2 / 3),
        (1, None, "a | b | c", 3, 1 / 3),
        (2, "c", None, 1, 1.0),
        (3, None, "a | b", 5, 0.4),
    ]
    assert [value is None for value in found["kept"]] == [False, True, False, True]


def test_labels_may_hold_any_text() -> None:
    odd = consensus(votes({"1:2": 2, "1": 1}, {"": 3}, {"x\n×2": 1}), 0.7, 3)
    assert odd["label"].to_list() == ["1:2", "", "x\n×2"]
    assert odd["kept"].is_between(0, 1).all()


@pytest.mark.parametrize("seed", range(4))
def test_probability_equals_that_of_many_draws(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = list("abcd")
    alpha = rng.uniform(0.05, 2, 4)
    counts = rng.integers(0, 4, 4)
    counts[0] = counts.max() + 1
    prior = Prior(dict(zip(names, alpha.tolist(), strict=True)))
    drawn = rng.dirichlet(alpha + counts, 200_000)
    seen = {name: int(count) for name, count in zip(names, counts, strict=True) if count}
    assert prior.kept(seen, "a") == pytest.approx(np.mean(drawn.argmax(axis=1) == 0), abs=0.005)


def test_two_labels_are_a_beta_distribution() -> None:
    from scipy.stats import beta

    prior = Prior({"a": 0.4, "b": 0.9})
    assert prior.kept({"a": 3, "b": 1}, "a") == pytest.approx(beta.sf(0.5, 3.4, 1.9), abs=1e-4)
    assert prior.kept({"a": 1}, "a") == pytest.approx(beta.sf(0.5, 1.4, 0.9), abs=1e-4)


def test_concentration_inverts_the_agreement_of_a_dirichlet() -> None:
    shares = np.array([0.6, 0.3, 0.1])
    for alpha in (0.2, 1.0, 7.0):
        agreement = (alpha * shares @ shares + 1) / (alpha + 1)
        assert concentration(agreement, shares, 1e12) == pytest.approx(alpha)
    assert concentration(0.1, shares, 1e12) == MOST_ALPHA
    assert concentration(0.5, np.array([0.5, 0.5]), 3) == MOST_ALPHA  # exactly as much as by chance
    assert concentration(1.0, shares, 1e12) == LEAST_ALPHA
    assert concentration(1.0, shares, 10) > concentration(1.0, shares, 100)


def test_more_votes_and_clearer_majorities_are_kept_more_often() -> None:
    prior = Prior({"a": 0.5, "b": 0.5})
    few, more = prior.kept({"a": 2, "b": 1}, "a"), prior.kept({"a": 20, "b": 10}, "a")
    assert 0.5 < few < more < prior.kept({"a": 20, "b": 1}, "a") <= 1


@pytest.mark.parametrize("kind", ["dirichlet", "one right answer"])
def test_calibrated_on_items_whose_shares_are_known(kind: str) -> None:
    rng = np.random.default_rng(11)
    items = 3000
    shares = rng.dirichlet([0.9, 0.4, 0.2], items)
    if kind == "one right answer":
        right = rng.choice(3, items, p=[0.6, 0.3, 0.1])
        care = rng.beta(5, 2, items)
        shares = np.full((items, 3), 1 / 3) * (1 - care[:, None])
        shares[np.arange(items), right] += care
    rows = [
        (item, f"p{person}", "abc"[rng.choice(3, p=shares[item])])
        for item in range(items)
        for person in range(int(rng.integers(3, 6)))
    ]
    found = spagree.measure(rows).consensus().sort("item")
    decided = found.filter(polars.col("label").is_not_null())
    stays = np.array(["abc"[shares[item].argmax()] for item in decided["item"]]) == decided["label"].to_numpy()
    chances = decided["kept"].to_numpy()
    if kind == "one right answer":  # clearer items than a Dirichlet has: more majorities stay than promised
        assert chances.mean() - 0.02 < np.mean(stays) < chances.mean() + 0.1
        return
    assert np.mean(stays) == pytest.approx(chances.mean(), abs=0.03)
    for low, high in ((0.4, 0.7), (0.7, 0.9), (0.9, 1.01)):
        chosen = (chances >= low) & (chances < high)
        if chosen.sum() > 200:
            assert np.mean(stays[chosen]) == pytest.approx(chances[chosen].mean(), abs=0.06)


def test_unknown_agreement_leaves_the_probability_null() -> None:
    found = spagree.measure([(1, "ann", "yes"), (2, "bob", "no")]).consensus()
    assert found["label"].to_list() == ["yes", "no"] and found["kept"].to_list() == [None, None]


def test_item_counts_have_a_consensus_and_tallies_do_not() -> None:
    rows = [(1, "ann", "yes"), (1, "bob", "yes"), (2, "ann", "no"), (2, "bob", "yes")]
    by_item = spagree.measure(spagree.count_items(rows)).consensus()
    assert by_item["label"].to_list() == ["yes", None] and by_item["tied"].to_list() == [None, "no | yes"]
    with pytest.raises(
        spagree.UsageError, match=exactly("a tally holds no single items; measure the annotations themselves")
    ):
        spagree.measure(spagree.tally(rows)).consensus()
