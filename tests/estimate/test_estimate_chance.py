"""Chance correction: formulas against brute force, the jackknife against really leaving items out, edge cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import BARS, parse, tally_of
from spagree.counts.tally import Cell, Tally
from spagree.estimate import COEFFICIENTS, find, weigh
from spagree.estimate import chance as module
from spagree.estimate.chance import NO_PATTERNS, NOT_PAIRABLE, ONE_CLASS, ONE_ITEM, Corrected
from spagree.estimate.uncertainty import wilson
from spagree.estimate.weights import ByN

Items = list[list[str]]
SMALL = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=5), min_size=2, max_size=7)


def chance(tally: Tally, by_n: ByN, level: float, scheme: str) -> dict[str, Corrected]:
    return module.chance(tally, by_n, level, scheme)


def corrected(items: Items, scheme: str = "annotations_m1") -> dict[str, Corrected]:
    tally = tally_of(items)
    return chance(tally, weigh(scheme, tally).by_n, 0.95, scheme)


def pairable(items: Items) -> Items:
    return [item for item in items if len(item) > 1]


def item_agreement(item: list[str]) -> Fraction:
    pairs = [(x, y) for i, x in enumerate(item) for j, y in enumerate(item) if i != j]
    return Fraction(sum(x == y for x, y in pairs), len(pairs))


def weighted(items: Items, weight: Callable[[int], int]) -> Fraction:
    kept = pairable(items)
    return sum((weight(len(i)) * item_agreement(i) for i in kept), Fraction()) / sum(weight(len(i)) for i in kept)


def kappa(observed: Fraction, expected: Fraction) -> Fraction | None:
    return None if expected == 1 else (observed - expected) / (1 - expected)


def slow_spa_kappa(items: Items, _: int) -> Fraction | None:
    """Expected agreement from every pair of annotations of different items."""
    kept = pairable(items)
    pairs = [(x, y) for i, one in enumerate(kept) for j, other in enumerate(kept) if i != j for x in one for y in other]
    if not pairs:
        return None
    return kappa(weighted(items, lambda n: n - 1), Fraction(sum(x == y for x, y in pairs), len(pairs)))


def slow_alpha(items: Items, _: int) -> Fraction | None:
    values = [label for item in pairable(items) for label in item]
    pairs = [(x, y) for i, x in enumerate(values) for j, y in enumerate(values) if i != j]
    return kappa(weighted(items, lambda n: n), Fraction(sum(x == y for x, y in pairs), len(pairs)))


def shares(items: Items) -> dict[str, Fraction]:
    found: Counter[str] = Counter()
    for item in items:
        for label in item:
            found[label] += Fraction(1, len(item))  # type: ignore[assignment]
    return {label: Fraction(share) / len(items) for label, share in found.items()}


def slow_fleiss(items: Items, _: int) -> Fraction | None:
    return kappa(weighted(items, lambda _: 1), sum((p * p for p in shares(items).values()), Fraction()))


def slow_gwet(items: Items, classes: int) -> Fraction | None:
    if classes < 2:
        return None
    expected = sum((p * (1 - p) for p in shares(items).values()), Fraction()) / (classes - 1)
    return kappa(weighted(items, lambda _: 1), expected)


def slow_brennan_prediger(items: Items, classes: int) -> Fraction | None:
    return kappa(weighted(items, lambda _: 1), Fraction(1, classes))


SLOW: dict[str, Callable[[Items, int], Fraction | None]] = {
    "spa_kappa": slow_spa_kappa,
    "krippendorff_alpha": slow_alpha,
    "fleiss_kappa": slow_fleiss,
    "gwet_ac1": slow_gwet,
    "brennan_prediger": slow_brennan_prediger,
}


def test_every_coefficient_has_an_oracle() -> None:
    assert set(SLOW) == set(COEFFICIENTS)


@pytest.mark.parametrize("name", SLOW)
@given(items=SMALL)
def test_values_and_errors_equal_really_leaving_items_out(name: str, items: Items) -> None:
    if not pairable(items):
        return
    found = corrected(items)[name]
    classes = len({label for item in items for label in item})
    used = items if name in ("fleiss_kappa", "gwet_ac1") else pairable(items)
    value = SLOW[name](used, classes)
    if value is None:
        assert found.value is None and found.undefined in (ONE_CLASS, ONE_ITEM)
        return
    if len(pairable(items)) < 2:
        assert found.value == pytest.approx(float(value), abs=1e-12) and found.undefined == ONE_ITEM
        return
    without = [SLOW[name](used[:i] + used[i + 1 :], classes) for i in range(len(used))]
    if any(each is None for each in without):
        assert found.value == pytest.approx(float(value), abs=1e-12) and found.undefined is None
        assert found.stderr is not None and found.stderr >= 0
        assert found.low is not None and found.high is not None and found.low <= found.value + 1e-12
        return
    left_out = [float(each or 0) for each in without]
    size, mean = len(used), sum(left_out) / len(used)
    assert found.value == pytest.approx(float(value), abs=1e-9)
    stderr = sqrt((size - 1) / size * sum((each - mean) ** 2 for each in left_out))
    assert found.stderr == pytest.approx(stderr, abs=1e-9)
    assert found.low is not None and found.high is not None
    assert found.low <= found.value + 1e-12 and found.value <= found.high + 1e-12


def test_the_certified_values() -> None:
    found = corrected(parse(BARS))
    assert found["krippendorff_alpha"].value == pytest.approx(29 / 64, abs=1e-15)
    assert found["brennan_prediger"].value == pytest.approx(5 / 11, abs=1e-15)
    assert found["gwet_ac1"].value == pytest.approx(0.455648, abs=5e-7)
    alpha = found["krippendorff_alpha"]
    assert alpha.observed == pytest.approx(58 / 93) and alpha.expected == pytest.approx(0.3118279569892473)
    assert (alpha.weights, found["spa_kappa"].weights, found["gwet_ac1"].weights) == (
        "annotations",
        "annotations_m1",
        "flat",
    )


FRAGILE = ["aa aa aa ab", "aaa aa aab aaaa", "aa aa bb", "aaa aaa aaa abb aa"]


@pytest.mark.parametrize("data", FRAGILE)
def test_where_one_item_carries_a_class_the_error_is_linearised(data: str) -> None:
    """Against the derivative of Fleiss' kappa by the number of copies of each item, taken numerically."""
    items, copies, step = parse(data), 100_000, 1_000

    def value(numbers: list[int]) -> float:
        patterns: Counter[tuple[tuple[str, int], ...]] = Counter()
        for labels, number in zip(items, numbers, strict=True):
            patterns[tuple(sorted(Counter(labels).items()))] += number
        tally = Tally.from_patterns(patterns)
        return float(chance(tally, weigh("flat", tally).by_n, 0.95, "flat")["fleiss_kappa"])

    size, influences = len(items), []
    for place in range(size):
        more, less = ([copies + change * (at == place) for at in range(size)] for change in (step, -step))
        influences.append((value(more) - value(less)) / (2 * step) * copies)
    wanted = sqrt(size / (size - 1) * sum(each**2 for each in influences))
    assert corrected(items)["fleiss_kappa"].stderr == pytest.approx(wanted, rel=0.001)


@pytest.mark.parametrize("data", FRAGILE)
@pytest.mark.parametrize(("name", "weight"), [("spa_kappa", lambda n: n - 1), ("krippendorff_alpha", lambda n: n)])
def test_the_linearised_error_of_pooled_shares(name: str, weight: Callable[[int], int], data: str) -> None:
    """κ = (O − E)/(1 − E): dκ = (dO − (1 − O)/(1 − E)·dE)/(1 − E), with dE = 2 Σ_c (π_c − Σπ²)·n_c/N."""
    items = parse(data)
    found, labels = corrected(items)[name], [label for item in items for label in item]
    pi = {c: labels.count(c) / len(labels) for c in labels}
    squares, whole = sum(p * p for p in pi.values()), sum(weight(len(item)) for item in items)
    variance = 0.0
    for item in items:
        observed = weight(len(item)) * (float(item_agreement(item)) - found.observed) / whole
        by_chance = 2 * sum(pi[label] - squares for label in item) / len(labels)
        influence = (observed - (1 - found.observed) / (1 - found.expected) * by_chance) / (1 - found.expected)
        variance += influence**2
    assert found.stderr == pytest.approx(sqrt(len(items) / (len(items) - 1) * variance), abs=1e-12)


ITEM_SETS = [
    BARS,
    "aaa aab aaaa aa aa aab aaa aabb aaaaa aaab",
    "ab abc bc ca ab",
    "aa bb cc aa bb",
    "aab abb aaab b a",
]


@pytest.mark.parametrize("name", ["spa_kappa", "krippendorff_alpha", "fleiss_kappa"])
@pytest.mark.parametrize("data", ITEM_SETS)
def test_the_interval_by_the_formula(name: str, data: str) -> None:
    """docs/mathematics.md §13, item by item."""
    items = parse(data)
    found, used = corrected(items)[name], items if name == "fleiss_kappa" else pairable(items)
    weight = {"spa_kappa": lambda n: n - 1, "krippendorff_alpha": lambda n: n, "fleiss_kappa": lambda _: 1}[name]
    counts = Counter(label for item in used for label in item)
    pi = shares(used) if name == "fleiss_kappa" else {c: Fraction(m, counts.total()) for c, m in counts.items()}
    informing = [weight(len(i)) * float(sum(1 - pi[c] for c in i) / len(i)) for i in pairable(items)]
    second, fourth = (sum(g**power for g in informing) for power in (2, 4))
    size = second**2 / fourth
    kappa = (found.observed - found.expected) / (1 - found.expected)
    lowest = min(1 - min(1.0, float(2 * (1 - max(pi.values())))) / (1 - found.expected), kappa)
    scale = 1 - lowest
    place = min(max((kappa - lowest) / scale, 0.0), 1.0)
    place = round(place) if min(place, 1 - place) < 1e-9 else place
    low, high = (lowest + scale * end for end in wilson(place, found.stderr / scale, size, 0.95, size))
    if kappa <= 0:
        low = min(low, max(lowest_below_chance(pairable(items)), -found.expected / (1 - found.expected)))
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)


def lowest_below_chance(items: Items) -> float:
    counts = Counter(label for item in items for label in item)
    apart = counts.total() - max(counts.values())
    share = min(0.5, (apart + 1.5 + sqrt(3 * (apart + 0.75))) / counts.total())
    return -share / (1 - share)


@pytest.mark.parametrize("differ", [1, 4])
def test_a_rare_label_that_nobody_shares_leaves_any_kappa_below_chance_possible(differ: int) -> None:
    """Two people who never call b together: kappa is as low as these labels allow, but more of b would lower it."""
    items = [["a", "a"]] * (40 - differ) + [["a", "b"]] * differ
    for name in ("spa_kappa", "krippendorff_alpha", "fleiss_kappa"):
        assert corrected(items)[name].low == pytest.approx(lowest_below_chance(items), abs=1e-12)
        shared = corrected([*items, ["b", "b"]])[name]
        assert shared.value > 0 and shared.low > corrected(items)[name].low


@pytest.mark.parametrize("n", [2, 3, 10])
def test_common_labels_do_not_move_the_lower_limit(n: int) -> None:
    """Where both labels are common the interval is no wider than without such items, whatever the number of people."""
    rng = Random(n)
    items = [[rng.choice("ab") if rng.random() < 0.5 else "ab"[item % 2] for _ in range(n)] for item in range(200)]
    tally = tally_of(items)
    found = chance(tally, weigh("flat", tally).by_n, 0.95, "flat")["fleiss_kappa"]
    assert found.value is not None and found.stderr is not None and found.low is not None
    assert found.low == pytest.approx(found.value - 1.96 * found.stderr, abs=0.01)


def test_no_agreement_at_all_bounds_every_coefficient_alike() -> None:
    """40 items of three different labels out of a hundred: what is known of one coefficient is known of all."""
    items = [[str((3 * i + j) % 100) for j in range(3)] for i in range(40)]
    for name in SLOW:
        found = corrected(items)[name]
        assert found.high == pytest.approx(0.085, abs=0.006)
        assert found.low == pytest.approx(-found.expected / (1 - found.expected))  # nobody can agree less


def test_spa_kappa_follows_the_chosen_weights() -> None:
    items = parse(BARS)
    flat, edge = corrected(items, "flat")["spa_kappa"], corrected(items, "edge")["spa_kappa"]
    assert flat.observed == pytest.approx(7 / 11) and edge.observed == pytest.approx(19 / 31)
    assert flat.weights == "flat" and flat.expected == edge.expected


def test_perfect_agreement_has_an_interval_with_a_width() -> None:
    for name in SLOW:
        found = corrected(parse("aa bb aa bb cc aa bb cc"))[name]
        assert found.value == 1 and found.stderr == pytest.approx(0, abs=1e-12)
        assert found.high == pytest.approx(1) and found.low is not None and found.low < 0.8


UNDEFINED = [
    ("aa aa a", dict.fromkeys(SLOW, ONE_CLASS)),
    ("a b c", dict.fromkeys(SLOW, NOT_PAIRABLE)),
    ("ab", {"spa_kappa": ONE_ITEM, "krippendorff_alpha": ONE_ITEM, "brennan_prediger": ONE_ITEM}),
    ("aa bb", dict.fromkeys(SLOW)),
    ("aa aa b", {"spa_kappa": ONE_CLASS, "krippendorff_alpha": ONE_CLASS}),
]


@pytest.mark.parametrize(("data", "reasons"), UNDEFINED)
def test_degenerate_cases_are_explained(data: str, reasons: dict[str, str]) -> None:
    found = corrected(parse(data))
    assert {name: found[name].undefined for name in reasons} == reasons
    for each in found.values():
        assert each.value is None or (np.isfinite(each.value) and each.value <= 1)


def test_a_tally_without_patterns_says_so() -> None:
    tally = Tally({Cell(2, 2, 0): 3}, {"a": 6}, {"a": 6}, None)
    assert {each.undefined for each in find(tally).chance.values()} == {NO_PATTERNS}


def test_single_annotations_inform_only_fleiss_and_gwet() -> None:
    without, with_ = corrected(parse("ab aab bb abb ab")), corrected(parse("ab aab bb abb ab a a a"))
    for name in SLOW:
        assert (without[name] == with_[name]) == (name not in ("fleiss_kappa", "gwet_ac1")), name


@cache
def _kappas_of_three(sizes: tuple[int, ...]) -> tuple[float | None, float | None]:
    """SPA-kappa and Fleiss' kappa of so many items on which 0, 1, 2 and 3 of three chose the first of two classes."""
    items = [{"a": c, "b": 3 - c} for c, size in enumerate(sizes) for _ in range(size)]
    found = chance(Tally.from_items(items), {3: Fraction(1)}, 0.95, "flat")
    return found["spa_kappa"].value, found["fleiss_kappa"].value


def test_spa_kappa_is_nearly_unbiased_in_small_samples() -> None:
    """docs/mathematics.md §13: with 20 items, less than half of the bias of the naive coefficient is left."""
    random = np.random.default_rng(5)
    truth_po, shares_ = 0.7 * 0.7 + 0.3 * 0.3, np.array([0.5, 0.5])
    values, naive = [], []
    for _ in range(1500):
        first = random.random(20) < 0.5
        p = np.where(first, 0.7, 0.3)
        counts = random.binomial(3, p)
        sizes = tuple(np.bincount(counts, minlength=4).tolist())
        spa_kappa, fleiss_kappa = _kappas_of_three(min(sizes, sizes[::-1]))  # which class is which makes no difference
        if spa_kappa is not None and fleiss_kappa is not None:
            values.append(spa_kappa)
            naive.append(fleiss_kappa)
    truth = (truth_po - float(shares_ @ shares_)) / (1 - float(shares_ @ shares_))
    assert np.mean(naive) - truth < -0.012
    assert abs(np.mean(values) - truth) < 0.5 * abs(np.mean(naive) - truth)
