"""Standard error, interval and bootstrap against formulas written down a second time."""

from __future__ import annotations

from fractions import Fraction
from math import atanh, inf, nan, sqrt, tanh
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit
from scipy.stats import binom, chi2

from examples import examples
from oracle import BARS, agreement, parse, relative_variance, tally_of
from spagree.counts.tally import Tally
from spagree.errors import UsageError
from spagree.estimate import SCHEMES, Bootstrap, Estimate, find, uncertainty, weigh
from spagree.estimate.uncertainty import (
    below_chance,
    check_level,
    effective_items,
    few_expected,
    fisher_limits,
    kappa_limits,
    score_limits,
    standard_error,
    steadied,
    two_sided,
    two_sided_each,
    undefined,
    wilson,
    wilson_each,
)
from spagree.estimate.votes import item_groups, total

ITEMS = parse(BARS)
PAIRABLE = [labels for labels in ITEMS if len(labels) > 1]


def slow_implied(scheme: str, items: list[list[str]], value: float) -> float:
    """The variance that agreement ``value`` implies, from the covariances of all pairs of pairs of an item."""
    by_n = weigh(scheme, tally_of(items)).by_n
    sizes = [len(labels) for labels in items if len(labels) > 1]
    variance = sum(float(by_n[n]) ** 2 * value * (1 - value) * relative_variance(n, value) for n in sizes)
    return variance / float(sum(by_n[len(labels)] for labels in items if len(labels) > 1)) ** 2


def slow_parts(scheme: str, items: list[list[str]]) -> tuple[Fraction, float, float]:
    """SPA, its standard error and the effective number of items, item by item."""
    by_n = weigh(scheme, tally_of(items)).by_n
    found = [(by_n[len(labels)], agreement(labels)) for labels in items if len(labels) > 1]
    whole = sum(k for k, _ in found)
    value = sum(k * p for k, p in found) / whole
    spread = sum(k**2 * (p - value) ** 2 for k, p in found)
    size = len(found)
    variance = Fraction(size, size - 1) * spread / whole**2
    return value, sqrt(variance), float(whole**2 / sum(k**2 for k, _ in found))


# Standard error ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("data", [BARS, "aa ab aab", "aaa abbb cc cd ccccccd a"])
def test_stderr_and_interval_equal_the_formula_over_single_items(scheme: str, data: str) -> None:
    items = parse(data)
    value, stderr, effective = slow_parts(scheme, items)
    found = find(tally_of(items)).schemes[scheme]
    assert found.value == pytest.approx(float(value), rel=1e-14)
    assert found.stderr == pytest.approx(stderr, rel=1e-12)
    steady = sqrt(max(stderr**2, slow_implied(scheme, items, float(value))))  # fewer than 30 items: in full
    freedom = max(effective - 1, min(2, sum(len(labels) > 1 for labels in items) - 1))
    limits = wilson(float(value), steady, effective, 0.95, freedom)
    assert (found.low, found.high) == pytest.approx(limits, rel=1e-12)
    assert (found.level, found.weights, found.method, found.undefined) == (0.95, scheme, "wilson", None)


def test_a_few_heavy_items_that_agree_do_not_make_the_interval_short() -> None:
    """Five items with fifty annotations each agree fully; of 95 pairs two do not."""
    items = [["a"] * 50] * 5 + [["a", "a"]] * 93 + [["a", "b"]] * 2
    found = find(tally_of(items)).spa
    value, stderr, effective = slow_parts("annotations_m1", items)
    low, high = wilson(float(value), stderr, effective, 0.95)
    assert found.stderr == pytest.approx(stderr) and effective < 10
    assert found.high - found.low > 4 * (high - low)


def test_many_items_speak_for_themselves() -> None:
    """The implied variance fades out: 30,000 items leave a thousandth of it, or more near perfect agreement."""
    tally = Tally.from_items([{"a": 4}, {"a": 2, "b": 2}, {"a": 3, "b": 1}] * 10_000)
    found, groups = find(tally).spa, item_groups(tally)
    error = steadied(found.value, found.stderr, groups, np.ones(len(groups.n)))
    implied = found.value * (1 - found.value) * relative_variance(4, found.value) / 30_000
    assert implied > found.stderr**2
    share = 0.001 / (4 * found.value * (1 - found.value))
    assert error**2 == pytest.approx(found.stderr**2 + share * (implied - found.stderr**2), rel=1e-12)


@pytest.mark.parametrize(("heavy", "wider"), [(3, 1.6), (12, 1.0)])
def test_three_heavy_items_that_happen_to_be_alike_do_not_make_the_interval_short(heavy: int, wider: float) -> None:
    """Their spread is 0; that of pairs says that items differ. Twelve of them do show how much items differ."""
    often = [["a"] * 35 + ["b"] * 15] * heavy if heavy == 3 else [["a"] * 50, ["a"] * 25 + ["b"] * 25] * (heavy // 2)
    items = often + [["a", "a"], ["a", "b"], ["b", "b"]] * 19
    found = find(tally_of(items)).spa
    value, stderr, effective = slow_parts("annotations_m1", items)
    low, high = wilson(float(value), stderr, effective, 0.95)
    assert found.high - found.low >= wider * (high - low)
    assert found.high - found.low < 1.15 * wider * (high - low) or heavy == 3


def test_stderr_and_effective_items_do_not_depend_on_the_scale_of_the_weights() -> None:
    found = item_groups(tally_of(ITEMS))
    weights = found.weights(weigh("edge", tally_of(ITEMS)).by_n)
    for scale in (3.0, 1e-3):
        assert standard_error(0.6, found, scale * weights) == pytest.approx(standard_error(0.6, found, weights))
        assert effective_items(found, scale * weights) == pytest.approx(effective_items(found, weights))


# ItemGroups ------------------------------------------------------------------------------------------------


def test_means_are_exact_for_many_different_n() -> None:
    items = [["a"] * (n - 1) + ["b"] for n in range(2, 60)]
    found = item_groups(tally_of(items))
    wanted = sum(Fraction(n - 2, n) for n in range(2, 60)) / 58
    assert found.sizes.value(dict.fromkeys(range(2, 60), Fraction(1))) == float(wanted)


def test_sums_are_correctly_rounded_in_every_order() -> None:
    values = np.array([1e16, 1.0, -1e16, 1e-3] * 3)
    assert total(values) == total(values[::-1]) == 3.003


# Wilson -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # Wilson (1927) intervals as published in text books (8 of 10, 1 of 10, 81 of 263)
    [(8, 10, 0.4902, 0.9433), (1, 10, 0.0179, 0.4042), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_with_a_normal_quantile_gives_the_published_intervals(
    successes: int, trials: int, low: float, high: float
) -> None:
    shrink = np.array([two_sided(0.95, 1e12) ** 2 / trials])
    ends = score_limits(np.array([successes / trials]), shrink)
    assert [float(end[0]) for end in ends] == pytest.approx([low, high], abs=5e-5)


@given(st.floats(0.001, 0.999), st.floats(0.001, 0.4), st.floats(2, 1e5), st.sampled_from([0.5, 0.8, 0.95, 0.999]))
@examples(50)
def test_wilson_bounds_solve_the_score_equation(value: float, stderr: float, effective: float, level: float) -> None:
    """Where one to three units differ, or agree, the limit beyond them is further away."""
    low, high = wilson(value, stderr, effective, level)
    t, size = two_sided(level, effective - 1), value * (1 - value) / stderr**2
    assert 0 <= low <= value <= high <= 1
    for bound, units in ((low, value * size), (high, (1 - value) * size)):
        score, wanted = (value - bound) ** 2 * size, t**2 * bound * (1 - bound)
        if not 0.749 < units < 3.001:
            assert score == pytest.approx(wanted, rel=1e-6, abs=1e-9)
        else:
            assert score >= wanted - 1e-9


@pytest.mark.parametrize("items", [6, 10, 20, 50, 300])
def test_the_interval_of_equal_pairs_holds_any_agreement(items: int) -> None:
    """Exactly, from the binomial distribution; Wilson's alone covers 0.85 where an item differs in one of ten data sets."""
    truth, agree = np.linspace(0.5, 0.9995, 800), np.arange(items + 1)
    value = agree / items
    low, high = wilson_each(value, np.sqrt(value * (1 - value) / (items - 1)), np.full(items + 1, float(items)), 0.95)
    held = (low[:, None] <= truth) & (truth <= high[:, None])
    assert ((binom.pmf(agree[:, None], items, truth) * held).sum(axis=0) > 0.925).all()


@pytest.mark.parametrize("seen", [0.8, 1, 1.7, 2, 3])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_limit_of_a_count_is_nearly_the_exact_one(seen: float, level: float) -> None:
    limit = float(few_expected(np.array([float(seen)]), level)[0])
    assert limit == pytest.approx(chi2.ppf(1 - level, 2 * seen) / 2, abs=0.04)


def test_wilson_without_spread_uses_the_effective_size() -> None:
    low, high = wilson(0.25, 0.0, 40, 0.95)
    assert (low, high) == pytest.approx(wilson(0.25, sqrt(0.25 * 0.75 / 40), 40, 0.95), rel=1e-12)
    assert low < 0.25 < high


@pytest.mark.parametrize("effective", [1.0, 1 - 1e-16])
def test_wilson_on_one_effective_item_says_nothing(effective: float) -> None:
    assert wilson(0.5, 0.1, effective, 0.95) == (0.0, 1.0)


@pytest.mark.parametrize("level", [0, 1, 1.0, 95, -0.5, nan, inf, "0.95", None, True, [0.95]])
def test_invalid_levels_are_refused(level: Any) -> None:
    message = f"level {level!r}: a confidence level lies between 0 and 1, for example 0.95"
    for refuse in (lambda: check_level(level), lambda: find(tally_of(ITEMS), level=level)):
        with pytest.raises(UsageError) as caught:
            refuse()
        assert str(caught.value) == message


# Undefined ------------------------------------------------------------------------------------------------


def test_one_pairable_item_has_a_value_and_no_interval() -> None:
    found = find(tally_of(parse("aab a b"))).spa
    assert found == Estimate(
        1 / 3,
        None,
        None,
        None,
        0.95,
        "annotations_m1",
        "wilson",
        "only one item has two annotations, too few to show how items differ",
    )


@pytest.mark.parametrize("tally", [Tally(), tally_of(parse("a b c"))])
def test_without_pairs_every_scheme_is_undefined_and_says_why(tally: Tally) -> None:
    found = find(tally, level=0.9)
    reason = "no item has two annotations, so agreement cannot be measured"
    for scheme in SCHEMES:
        assert found.schemes[scheme] == undefined(reason, 0.9, scheme)
        assert found.schemes[scheme] == Estimate(None, None, None, None, 0.9, scheme, undefined=reason)


def test_an_undefined_figure_refuses_to_become_a_number() -> None:
    assert float(find(tally_of(ITEMS)).spa) == 37 / 60
    with pytest.raises(TypeError) as caught:
        float(undefined("no data", 0.95, "flat"))
    assert str(caught.value) == "undefined: no data"


# Bootstrap ------------------------------------------------------------------------------------------------


LARGE = parse("aaa aab abb abc bb ab aaaa aabb bbbc") * 20


@pytest.mark.parametrize("scheme", SCHEMES)
def test_bootstrap_agrees_with_the_standard_error(scheme: str) -> None:
    plain = find(tally_of(LARGE)).schemes[scheme]
    found = find(tally_of(LARGE), bootstrap=Bootstrap(4_000)).schemes[scheme]
    assert found.value == plain.value
    assert found.stderr == pytest.approx(plain.stderr, rel=0.08)
    assert found.low == pytest.approx(plain.value - 1.96 * plain.stderr, abs=0.25 * plain.stderr)
    assert found.high == pytest.approx(plain.value + 1.96 * plain.stderr, abs=0.25 * plain.stderr)
    assert (found.level, found.weights, found.undefined) == (0.95, scheme, None)


def test_bootstrap_interval_holds_the_percentiles_of_the_replicates() -> None:
    tally = tally_of(ITEMS)
    found = item_groups(tally)
    weights = found.weights(weigh("edge", tally).by_n)
    means = Bootstrap(500, seed=3).means(found, weights)
    spa = find(tally, "edge", level=0.8, bootstrap=Bootstrap(500, seed=3)).spa
    assert len(means) == 500
    ordered = np.sort(means)
    assert ordered[49] <= spa.low <= ordered[50]
    assert ordered[449] <= spa.high <= ordered[450]
    assert spa.stderr == pytest.approx(sqrt(sum((means - means.mean()) ** 2) / 499), rel=1e-12)


def test_a_replicate_is_the_spa_of_items_drawn_with_replacement() -> None:
    tally = tally_of(parse("aa ab aaab"))
    found = item_groups(tally)
    weights = found.weights(weigh("edge", tally).by_n)
    drawn = np.random.default_rng(11).multinomial(3, [1 / 3] * 3, size=200)
    k, p = np.array([1, 1, 6]), np.array([0, 1, 1 / 2])
    wanted = [(row * k * p).sum() / (row * k).sum() for row in drawn]
    assert Bootstrap(200, seed=11).means(found, weights) == pytest.approx(np.array(wanted), rel=1e-14)


def test_bootstrap_is_repeatable_by_its_seed_which_is_recorded() -> None:
    one, same, other = (find(tally_of(ITEMS), bootstrap=Bootstrap(300, seed)) for seed in (7, 7, 8))
    assert one == same
    assert one.spa.stderr != other.spa.stderr
    assert one.spa.method == "bootstrap of items, 300 replicates, seed 7"
    assert find(tally_of(ITEMS), bootstrap=Bootstrap(300)).spa.method.endswith("seed 0")


@pytest.mark.parametrize("chunk", [1, 70, 250, 299 * 8])
def test_bootstrap_does_not_depend_on_its_chunks(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = item_groups(tally_of(ITEMS))
    weights = found.weights(weigh("annotations", tally_of(ITEMS)).by_n)
    whole = Bootstrap(299).means(found, weights)
    monkeypatch.setattr(uncertainty, "REPLICATE_CHUNK", chunk)
    parts = Bootstrap(299).means(found, weights)
    assert len(parts) == 299
    assert parts == pytest.approx(whole, rel=1e-14)


@pytest.mark.parametrize(("data", "value"), [("aa aaa aaaa bb", 1.0), ("ab abc abcd", 0.0), ("aaab aaab aabbb", None)])
def test_bootstrap_of_degenerate_data_is_exact(data: str, value: float | None) -> None:
    found = find(tally_of(parse(data)), bootstrap=Bootstrap(200)).spa
    if value is None:
        assert found.low <= found.value <= found.high
    else:
        assert (found.value, found.stderr, found.low, found.high) == (value, 0.0, value, value)


@pytest.mark.parametrize("replicates", [0, 99, -5, 100.0, "200", None, True])
def test_too_few_replicates_are_refused(replicates: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Bootstrap(replicates)
    assert str(caught.value) == f"bootstrap {replicates!r}: use at least 100 replicates, better 10,000"


@pytest.mark.parametrize("seed", [-1, 1.5, "0", None])
def test_invalid_seeds_are_refused(seed: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Bootstrap(100, seed)
    assert str(caught.value) == f"seed {seed!r}: a seed is a whole number from 0 on"


def test_one_figure_and_many_have_the_same_wilson_interval() -> None:
    """To the last bits, at the ends of the scale, and without degrees of freedom."""
    grid = [
        (value, stderr, effective, freedom)
        for value in (0.0, 0.02, 0.5, 0.97, 1.0)
        for stderr in (0.0, 0.003, 0.2)
        for effective in (1.5, 12.0, 4000.0)
        for freedom in (None, 1.0, 30.0)
    ]
    for value, stderr, effective, freedom in grid:
        free = None if freedom is None else np.array([freedom])
        each = wilson_each(np.array([value]), np.array([stderr]), np.array([effective]), 0.9, free)
        assert [float(end[0]) for end in each] == pytest.approx(
            wilson(value, stderr, effective, 0.9, freedom), rel=1e-14
        )
    assert np.isnan(wilson_each(np.array([0.5]), np.array([0.1]), np.array([1.0]), 0.9)).all()
    assert wilson(0.5, 0.1, 1.0, 0.9) == (0.0, 1.0)


def scipys(level: float, freedom: float) -> float:
    """From the tail, which keeps its digits at extreme levels."""
    return -float(stdtrit(freedom, (1 - level) / 2))


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99, 0.999, 1 - 1e-6])
def test_it_is_scipys_quantile_at_any_degrees_of_freedom(level: float) -> None:
    freedom = np.concatenate([np.arange(1, 300), np.geomspace(0.05, 1e13, 2000)])
    expected = [scipys(level, one) for one in freedom]
    np.testing.assert_allclose(two_sided_each(level, freedom), expected, rtol=4e-5)


@pytest.mark.parametrize("level", [0.5, 0.95, 1 - 2**-53])
def test_hardly_any_freedom_leaves_every_number_possible(level: float) -> None:
    rising = two_sided_each(level, np.array([1e-300, 1e-9, 1e-3, 0.01, 0.1, 1]))
    assert (np.diff(rising[np.isfinite(rising)]) < 0).all()
    assert not np.isnan(rising).any()
    assert (rising[:2] == inf).all() == (level >= 0.5)


def test_a_quantile_has_the_same_bits_alone_and_beside_others() -> None:
    freedom = np.random.default_rng(3).uniform(0.3, 260, 2_000)
    together = two_sided_each(0.95, freedom)
    assert together.tolist() == [two_sided_each(0.95, freedom[i : i + 1])[0] for i in range(len(freedom))]
    assert together[::7].tolist() == two_sided_each(0.95, freedom[::7]).tolist()


ROOM, MOST, SIZE = 0.5, 0.8, 30.0
LOWEST = 1 - MOST / ROOM  # of a kappa, if annotators differ on 0.8 of the items and by chance on half


def limits(value: float, stderr: float, size: float = SIZE) -> tuple[float, float]:
    figures = (np.array([each]) for each in (value, stderr, ROOM, MOST, size))
    low, high = kappa_limits(*figures, 0.95, np.array([SIZE - 1]))
    return float(low[0]), float(high[0])


@pytest.mark.parametrize(("value", "stderr"), [(0.4, 0.3), (-0.2, 0.05), (0.99, 0.01), (1.0, 0.0), (0.4, 0.0)])
def test_it_is_wilsons_interval_on_the_scale_from_the_lowest_kappa_to_one(value: float, stderr: float) -> None:
    """Where the items show a smaller error it is that of F1 on a rare label, by the delta method."""
    scale = 1 - LOWEST
    place = (value - LOWEST) / scale
    both = place / (2 - place)  # of the items with the rare label, how many have it twice
    slope = 2 / (1 + both) ** 2  # p = 2·both/(1 + both)
    error = max(stderr / scale, slope * sqrt(both * (1 - both) / SIZE))
    size = place * (1 - place) / error**2 if error else SIZE
    shrink = np.array([two_sided(0.95, SIZE - 1) ** 2 / size])
    ends = [LOWEST + scale * float(end[0]) for end in score_limits(np.array([place]), shrink)]
    assert limits(value, stderr) == pytest.approx(ends, abs=1e-12)


@pytest.mark.parametrize("off", [1e-12, 5e-10])
def test_rounding_counts_as_the_end_and_as_no_error(off: float) -> None:
    assert limits(LOWEST + off, 0.2) == pytest.approx(limits(LOWEST, 0.0), abs=2e-9)
    assert limits(1 - off, 0.2) == pytest.approx(limits(1.0, 0.0), abs=2e-9)
    assert limits(0.4, off) == limits(0.4, 0.0)


def test_fishers_z() -> None:
    low, high = fisher_limits(np.array([0.8, -0.3]), np.array([0.05, 0.2]), np.array([29.0, 1e9]), 0.95)
    for k, (value, reach) in enumerate([(0.8, 2.04523 * 0.05), (-0.3, 1.95996 * 0.2)]):
        wanted = [tanh(atanh(value) + sign * reach / (1 - value**2)) for sign in (-1, 1)]
        assert [low[k], high[k]] == pytest.approx(wanted, abs=1e-4)


def test_fishers_z_has_no_limits_where_items_say_the_same() -> None:
    value, stderr = np.array([1.0, 0.2, -1.0, 0.5]), np.array([0.1, 0.0, 0.1, 0.1])
    freedom = np.array([9.0, 9.0, 9.0, 0.0])
    assert np.isnan(fisher_limits(value, stderr, freedom, 0.95)).all()


@pytest.mark.parametrize("apart", [0, 1, 2, 5, 20, 100])
def test_the_limit_of_rare_labels_is_nearly_the_exact_one_sided_one(apart: int) -> None:
    """χ² at 95%, with 2(d + 1) degrees of freedom: never below it, and at most 2% above."""
    share = float(-below_chance(apart, 10_000) / (1 - below_chance(apart, 10_000)))
    exact = chi2.ppf(0.95, 2 * (apart + 1)) / 2 / 10_000
    assert exact <= share <= 1.02 * exact


def test_how_far_below_chance_a_kappa_may_be() -> None:
    assert below_chance(0.0, 60.0) == pytest.approx(-0.05 / 0.95)  # 3/60
    share = (2 + 1.5 + sqrt(3 * 2.75)) / 50
    assert below_chance(np.array([2.0, 40.0]), np.array([50.0, 60.0])) == pytest.approx([-share / (1 - share), -1.0])


def test_one_rare_label_on_a_light_item_is_no_evidence_of_agreement() -> None:
    """A single disagreement of two, and everything else alike: 0 must remain possible."""
    found = find(Tally.from_items([{"a": 3}, {"a": 2}, {"a": 5}, {"a": 1, "b": 1}, {"a": 2}, {"a": 3}])).chance
    kappa, alpha = found["spa_kappa"], found["krippendorff_alpha"]
    assert kappa.low is not None and alpha.low is not None and kappa.value is not None
    assert kappa.low == alpha.low < 0 < kappa.value
