"""Chance correction: formulas against brute force, the jackknife against really leaving items out, edge cases."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from math import comb, sqrt
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spagree
from breakdown_oracle import Row, Rows, by_item, cohen, item_agreement, rows_of, shared, without
from examples import examples
from oracle import BARS, parse, tally_of
from spagree.counts.tally import Cell, Tally
from spagree.estimate import COEFFICIENTS, find, weigh
from spagree.estimate import chance as module
from spagree.estimate.chance import CONGER, NO_PATTERNS, NOT_PAIRABLE, ONE_CLASS, ONE_ITEM, Corrected
from spagree.estimate.other_annotators import ONE_NEEDED
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS, score_limits, two_sided
from spagree.estimate.votes import votes

Items = list[list[str]]
SMALL = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=5), min_size=2, max_size=7)


def chance(tally: Tally, scheme: str = "annotations_m1") -> dict[str, Corrected]:
    return module.chance(tally, votes(tally), weigh(scheme, tally), 0.95)


def corrected(items: Items, scheme: str = "annotations_m1") -> dict[str, Corrected]:
    return chance(tally_of(items), scheme)


def pairable(items: Items) -> Items:
    return [item for item in items if len(item) > 1]


def agreement_within(item: list[str]) -> Fraction:
    pairs = [(x, y) for i, x in enumerate(item) for j, y in enumerate(item) if i != j]
    return Fraction(sum(x == y for x, y in pairs), len(pairs))


def weighted(items: Items, weight: Callable[[int], int]) -> Fraction:
    kept = pairable(items)
    return sum((weight(len(i)) * agreement_within(i) for i in kept), Fraction()) / sum(weight(len(i)) for i in kept)


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
        return float(chance(tally, "flat")["fleiss_kappa"])

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
        observed = weight(len(item)) * (float(agreement_within(item)) - found.observed) / whole
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
    first, second = (sum(g**power for g in informing) for power in (1, 2))
    freedom = max(first**2 / second - 1, min(2, len(informing) - 1))
    like_pairs = zip(informing, relative_variances(pairable(items), found.observed), strict=True)
    size = second**2 / sum(g**4 * r for g, r in like_pairs)
    kappa = (found.observed - found.expected) / (1 - found.expected)
    lowest = min(1 - min(1.0, float(2 * (1 - max(pi.values())))) / (1 - found.expected), kappa)
    scale = 1 - lowest
    place = min(max((kappa - lowest) / scale, 0.0), 1.0)
    place = round(place) if min(place, 1 - place) < 1e-9 else place
    variance, implied = (found.stderr / scale) ** 2, place * (1 - place) * (2 - place) ** 2 / (2 * size)
    variance += 30 / max(30, 4 * place * (1 - place) * size) * max(0, implied - variance)
    at_an_end = size if place else size / 2
    like = place * (1 - place) / variance if 0 < place < 1 else at_an_end
    ends = score_limits(np.array([place]), np.array([two_sided(0.95, freedom) ** 2 / like]))
    low, high = (lowest + scale * float(end[0]) for end in ends)
    most = counts.most_common(1)[0][0]
    if all(count < 2 for item in pairable(items) for label, count in Counter(item).items() if label != most):
        often = max(found.expected, float(sum(share**2 for share in pi.values())))
        low = min(low, max(lowest_below_chance(pairable(items)), -often / (1 - often)))
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)


def relative_variances(items: Items, theta: float) -> list[float]:
    """r(n) of docs/mathematics.md §8 for each item."""
    a, b = max(0.4, 0.55 * theta**2), theta**2 / 3
    return [(1 + 2 * (len(i) - 2) * a + comb(len(i) - 2, 2) * b) / comb(len(i), 2) for i in items]


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


def test_common_labels_that_meet_by_chance_leave_no_kappa_far_below_0() -> None:
    """Labels that could meet and did not more often than by chance: kappa is known, though it is below 0."""
    items = [["a", "a"], ["b", "b"], ["a", "b"], ["a", "b"]] * 25 + [["a", "b"]]
    assert corrected(items)["krippendorff_alpha"].value < 0
    assert corrected(items)["krippendorff_alpha"].low > -0.22


@pytest.mark.parametrize("n", [2, 3, 10])
def test_common_labels_do_not_move_the_lower_limit(n: int) -> None:
    """Where both labels are common the interval is no wider than without such items, whatever the number of people."""
    rng = Random(n)
    items = [[rng.choice("ab") if rng.random() < 0.5 else "ab"[item % 2] for _ in range(n)] for item in range(200)]
    tally = tally_of(items)
    found = chance(tally, "flat")["fleiss_kappa"]
    assert found.value is not None and found.stderr is not None and found.low is not None
    assert found.low == pytest.approx(found.value - 1.96 * found.stderr, abs=0.01)


def test_no_agreement_at_all_bounds_every_coefficient_alike() -> None:
    """40 items of three different labels out of a hundred: what is known of one coefficient is known of all."""
    items = [[str((3 * i + j) % 100) for j in range(3)] for i in range(40)]
    for name in SLOW:
        found = corrected(items)[name]
        assert found.high == pytest.approx(0.095, abs=0.013)
        even = sum(float(share) ** 2 for share in shares(items).values())
        often = found.expected if name in ("gwet_ac1", "brennan_prediger") else max(found.expected, even)
        assert found.low == pytest.approx(-often / (1 - often))  # nobody can agree less


def test_people_who_always_differ_may_do_so_by_design() -> None:
    """Two labels, equally common, never given together: kappa is -1, which agreement by chance without repeats hides."""
    for name in ("spa_kappa", "krippendorff_alpha", "fleiss_kappa"):
        assert corrected([["a", "b"]] * 40)[name].low == pytest.approx(-1.0)


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
    found = chance(Tally.from_items(items), "flat")
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


def conger(rows: Rows) -> Fraction | None:
    """Flat agreement, and by chance the mean over all pairs of annotators of what their own labels would agree."""
    said = [item for item in by_item(rows).values() if len(item) > 1]
    given: defaultdict[str, list[str]] = defaultdict(list)
    for _, who, label in rows:
        given[who].append(label)
    people = list(given)
    if not said or len(people) < 2:
        return None
    pairs = [(given[one], given[other]) for one in people for other in people if one != other]
    expected = sum((alike(*pair) for pair in pairs), Fraction()) / len(pairs)
    observed = sum(map(item_agreement, said), Fraction()) / len(said)
    return None if expected == 1 else (observed - expected) / (1 - expected)


def alike(one: list[str], other: list[str]) -> Fraction:
    return Fraction(sum(a == b for a in one for b in other), len(one) * len(other))


def jackknife(rests: Iterable[Fraction | None]) -> float | None:
    found = list(rests)
    if any(rest is None for rest in found):
        return None
    values = [rest for rest in found if rest is not None]
    mean = sum(values, Fraction()) / len(values)
    return float(Fraction(len(values) - 1, len(values)) * sum((each - mean) ** 2 for each in values))


def apart(rows: Rows, part: Callable[[Row], Any]) -> float | None:
    """The jackknife variance over parts of the rows."""
    return jackknife(conger([row for row in rows if part(row) != each]) for each in dict.fromkeys(map(part, rows)))


def measured(rows: Rows, **options: Any) -> Any:
    return spagree.measure(rows, **options).chance[CONGER]


@given(rows_of(6, 5, "xy").filter(lambda rows: sum(len(said) > 1 for said in by_item(rows).values()) > 1))
@examples(60)
def test_value_and_errors_equal_really_leaving_things_out(rows: Rows) -> None:
    found, value = measured(rows), conger(rows)
    if value is None:
        assert found.value is None and found.undefined in (ONE_CLASS, ONE_ITEM)
        return
    assert found.value == pytest.approx(float(value), abs=1e-12)
    items = apart(rows, lambda row: row[0])
    if items is None:
        assert found.low is None and "without one of the items" in str(found.undefined)
        return
    assert found.intervals[ITEMS].stderr == pytest.approx(sqrt(items), abs=1e-9)
    others = found.intervals[ANNOTATORS]
    if others.undefined:
        assert others.undefined != ONE_NEEDED or apart(rows, lambda row: row[1]) is None
        return
    people, single = apart(rows, lambda row: row[1]), apart(rows, lambda row: row)
    pairs = of_pairs(rows)
    assert people is not None
    variance = max(items, items + people - (single or 0.0), pairs)
    assert others.stderr == pytest.approx(sqrt(variance), abs=1e-9) or others.stderr > sqrt(variance)  # teams
    assert others.low <= found.intervals[ITEMS].low <= found.value <= found.intervals[ITEMS].high <= others.high


def of_pairs(rows: Rows) -> float:
    """How much agreement differs between pairs, over (1 − P_e)²."""
    people = sorted({who for _, who, _ in rows})
    both = [shared(rows, one, other) for place, one in enumerate(people) for other in people[place + 1 :]]
    both = [said for said in both if said]
    found = measured(rows)
    weights = [len(said) for said in both]
    gaps = [sum(one == other for one, other in said) / len(said) - found.observed for said in both]
    spread = sum((weight * gap) ** 2 for weight, gap in zip(weights, gaps, strict=True))
    return len(both) / max(1, len(both) - 1) * spread / sum(weights) ** 2 / (1 - found.expected) ** 2


def test_of_two_annotators_it_is_cohens_kappa() -> None:
    rows = [
        (f"q{i}", who, said)
        for i, both in enumerate(["xx", "xy", "yy", "zz", "xz", "yy", "zy", "xx"])
        for who, said in zip("ab", both, strict=True)
    ]
    exact = cohen(shared(rows, "a", "b"))
    assert exact is not None
    assert measured(rows).value == pytest.approx(float(exact), abs=1e-14)


def test_clusters_are_left_out_as_a_whole() -> None:
    rows = [
        (f"q{i}", who, "xyz"[(i * 5 + place * (i % 3)) % 3], f"d{i // 4}")
        for i in range(24)
        for place, who in enumerate("abcde")
        if (i + place) % 4
    ]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "doc"], orient="row")
    document = {item: doc for item, _, _, doc in rows}
    exact = apart([row[:3] for row in rows], lambda row: document[row[0]])
    found = spagree.measure(frame, cluster="doc").chance[CONGER]
    assert exact is not None
    assert found.intervals[ITEMS].stderr == pytest.approx(sqrt(exact), abs=1e-12)


def test_whoever_labels_unlike_the_others_lowers_agreement_by_chance() -> None:
    """Where people use labels differently, chance is lower than Fleiss', which mixes the labels of everybody."""
    rows = [
        (f"q{i}", who, "x" if (i * 7 + place * 3) % 10 < often else "y")
        for i in range(40)
        for place, (who, often) in enumerate({"a": 9, "b": 5, "c": 1, "d": 5}.items())
    ]
    found = spagree.measure(rows).chance
    assert found[CONGER].expected < found["fleiss_kappa"].expected - 0.01
    assert found[CONGER].value > found["fleiss_kappa"].value


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (spagree.tally([("q1", "a", "x"), ("q1", "b", "x"), ("q2", "a", "y")]), "a tally does not say who annotated"),
        (
            [("q1", None, "x"), ("q1", "b", "x"), ("q2", "a", "y"), ("q2", "b", "y")],
            "the annotator of 1 annotation is unknown",
        ),
    ],
)
def test_it_needs_to_know_who_annotated(source: Any, reason: str) -> None:
    found = spagree.measure(source).chance[CONGER]
    assert found.value is None and reason in str(found.undefined)


def test_many_annotations_at_once_are_looked_at_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = measured("example:sparse")
    monkeypatch.setattr("spagree.estimate.chance.CELLS_AT_ONCE", 50)
    blocks = measured("example:sparse")
    for name in (ITEMS, ANNOTATORS):
        assert blocks.intervals[name].stderr == pytest.approx(whole.intervals[name].stderr, rel=1e-12)


def test_without_somebody_the_rest_is_measured() -> None:
    rows = [(f"q{i}", who, "xy"[(i + (who == "d") * i) % 2]) for i in range(20) for who in "abcd"]
    assert measured(without(rows, "d")).value == 1
    assert measured(rows).value < 0.8


def test_a_kappa_whose_items_all_say_the_same_says_why_it_has_no_interval() -> None:
    rows = [(f"q{item}", who, label) for item in range(12) for who, label in (("ann", "1"), ("bob", "2"))]
    document = json.loads(spagree.measure(rows, metric="linear").to_json())
    unknown = document["chance"]["krippendorff_alpha"]
    assert unknown["low"] is None and "does not change it" in unknown["undefined"]
