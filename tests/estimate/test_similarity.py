"""Agreement beyond equality: every metric by hand, laws over all of them, refusals with a remedy."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spagree
from oracle import exactly, parse, tally_of
from spagree.counts.tally import Cell, Tally
from spagree.errors import DataError, UsageError
from spagree.estimate import METRICS, SCHEMES, Metric, find, weigh
from spagree.estimate.plan import item_shape
from spagree.estimate.similarity import MOST_SIMILAR_CLASSES, as_set
from spagree.estimate.votes import votes

NUMBERS = "1123 112 3345 22 15 5544 1234 33"
LABELS = ["1", "2", "4"]
TOTALS = np.array([10.0, 4.0, 6.0])

BY_HAND: dict[str, dict[tuple[str, str], float]] = {
    "interval": {("1", "2"): 1 - 1 / 9, ("2", "4"): 1 - 4 / 9, ("1", "4"): 0},
    "quadratic": {("1", "2"): 1 - 1 / 9, ("2", "4"): 1 - 4 / 9, ("1", "4"): 0},
    "linear": {("1", "2"): 2 / 3, ("2", "4"): 1 / 3, ("1", "4"): 0},
    "ratio": {("1", "2"): 1 - (1 / 9) / (9 / 25), ("2", "4"): 1 - (1 / 9) / (9 / 25), ("1", "4"): 0},
    "ordinal": {("1", "2"): 1 - 49 / 144, ("2", "4"): 1 - 25 / 144, ("1", "4"): 0},
    "circular": {("1", "2"): 0, ("2", "4"): 0, ("1", "4"): 0},
}


@pytest.mark.parametrize("name", BY_HAND)
def test_metrics_by_hand(name: str) -> None:
    matrix = Metric(name).matrix(LABELS, TOTALS)
    assert matrix is not None
    for (one, other), expected in BY_HAND[name].items():
        assert matrix[LABELS.index(one), LABELS.index(other)] == pytest.approx(expected), (one, other)
    assert (matrix.diagonal() == 1).all() and (matrix == matrix.T).all()


def test_a_circle_closes() -> None:
    labels = [str(hour) for hour in range(12)]
    matrix = Metric("circular").matrix(labels, np.ones(12))
    assert matrix is not None
    assert matrix[0, 11] == pytest.approx(matrix[0, 1]) and matrix[0, 6] == pytest.approx(0)
    days = Metric("circular", order=("mon", "tue", "wed", "thu"))
    found = days.matrix(["mon", "thu", "tue"], np.ones(3))
    assert found is not None and found[0, 1] == pytest.approx(found[0, 2]) and found[1, 2] == pytest.approx(0)


def test_a_declared_order_of_words() -> None:
    order = ("bad", "ok", "good")
    for name in ("ordinal", "linear", "quadratic", "circular"):
        words = Metric(name, order).matrix(["good", "bad", "ok"], np.array([6.0, 10.0, 4.0]))
        numbers = Metric(name).matrix(["3", "1", "2"], np.array([6.0, 10.0, 4.0]))
        assert words == pytest.approx(numbers), name


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0


def masi(one: frozenset[str], other: frozenset[str]) -> float:
    if one == other:
        return 1.0
    contained = one <= other or other <= one
    return jaccard(one, other) * 2 / 3 if contained else jaccard(one, other) / 3


@given(st.lists(st.frozensets(st.sampled_from("abcdef"), max_size=4), min_size=1, max_size=8, unique=True))
def test_sets_are_compared_as_their_definitions_say_to_the_last_bit(sets: list[frozenset[str]]) -> None:
    labels = [json.dumps(sorted(each)) for each in sets]
    everything = len(frozenset().union(*sets)) or 1

    def same_answers(one: frozenset[str], other: frozenset[str]) -> float:
        return 1 - len(one ^ other) / everything

    for name, compare in (("jaccard", jaccard), ("masi", masi), ("options", same_answers)):
        found = Metric(name).matrix(labels, np.ones(len(labels)))
        assert found is not None
        assert found.tolist() == [[compare(one, other) for other in sets] for one in sets]


def test_one_set_in_two_spellings_agrees_fully() -> None:
    for name in ("jaccard", "masi", "options"):
        assert (Metric(name).matrix(["a|b", "b|a", '["a", "b"]'], np.ones(3)) == np.ones((3, 3))).all()


def test_sets() -> None:
    assert as_set("a| b ||") == {"a", "b"} and as_set("[broken") == {"[broken"} and as_set('["a|b"]') == {"a|b"}
    options = Metric("options").matrix(['["a"]', '["a","b"]', "c"], np.ones(3))
    assert options == pytest.approx(np.array([[1, 2 / 3, 1 / 3], [2 / 3, 1, 0], [1 / 3, 0, 1]]))
    assert Metric("options").matrix(["[]"], np.ones(1)) == np.ones((1, 1))


def test_options_equal_the_mean_of_yes_no_questions() -> None:
    """The share of options on which two sets agree is the mean of one yes/no SPA per option."""
    rows = [("i1", "r1", "a|b"), ("i1", "r2", "b"), ("i2", "r1", "c"), ("i2", "r2", "c"), ("i2", "r3", "a|c")]
    together = spagree.measure(rows, metric="options", weights="flat").spa.value
    apart = [
        spagree.measure([(i, r, str(option in as_set(label))) for i, r, label in rows], weights="flat").spa.value
        for option in "abc"
    ]
    assert together == pytest.approx(sum(value or 0 for value in apart) / 3)


def slow_agreement(item: list[str], similarity: Callable[[str, str], float]) -> float:
    pairs = list(permutations(item, 2))
    return sum(similarity(x, y) for x, y in pairs) / len(pairs)


@pytest.mark.parametrize("name", [name for name in METRICS if name not in ("jaccard", "masi", "options")])
def test_spa_is_the_weighted_mean_over_all_pairs(name: str) -> None:
    items = parse(NUMBERS)
    tally = tally_of(items)
    labels = sorted(tally.labels)
    totals = np.array([float(tally.pairable_labels[label]) for label in labels])
    matrix = Metric(name).matrix(labels, totals)
    table = np.eye(len(labels)) if matrix is None else matrix
    values = [slow_agreement(item, lambda x, y: float(table[labels.index(x), labels.index(y)])) for item in items]
    found = find(tally, metric=Metric(name))
    for scheme, weight in {"flat": lambda n: 1, "annotations": lambda n: n, "edge": lambda n: n * (n - 1) / 2}.items():
        weights = [weight(len(item)) for item in items]
        expected = sum(k * value for k, value in zip(weights, values, strict=True)) / sum(weights)
        assert found.schemes[scheme].value == pytest.approx(expected, abs=1e-12)
    assert found.metric == name
    assert found.missingness.by_n[0].n == 2


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_identity_as_a_metric_is_nominal_agreement(scheme: str) -> None:
    tally = tally_of(parse("aabc aab bb abcc ccc aab a"))
    same = Metric(lambda x, y: float(x == y))
    nominal, custom = find(tally, scheme), find(tally, scheme, metric=same)
    assert custom.metric == "custom"
    assert custom.spa.value == pytest.approx(nominal.spa.value, abs=1e-12)
    assert custom.spa.stderr == pytest.approx(nominal.spa.stderr, abs=1e-12)
    for name, found in nominal.chance.items():
        assert custom.chance[name].value == pytest.approx(found.value, abs=1e-12)
        assert custom.chance[name].stderr == pytest.approx(found.stderr, abs=1e-12)


@given(st.lists(st.lists(st.sampled_from("123"), min_size=2, max_size=6), min_size=2, max_size=6))
def test_the_shape_counts_pairs_and_triples_by_the_metric(items: list[list[str]]) -> None:
    """t3 and m2 by going through all annotations, against the sums over labels."""
    tally = tally_of(items)
    metric = Metric("linear")
    found = votes(tally, metric)
    matrix = np.ones((1, 1)) if found.similarity is None else found.similarity
    place = {label: number for number, label in enumerate(found.labels)}

    def s(x: str, y: str) -> float:
        return float(matrix[place[x], place[y]])

    theta = sum((len(i) - 1) * slow_agreement(i, s) for i in items) / sum(len(i) - 1 for i in items)
    spread = theta * (1 - theta)
    if spread < 1e-9:
        return
    threes = [
        (1 - 1 / (len(i) - 1), np.mean([s(x, y) * s(x, z) for x, y, z in permutations(i, 3)]))
        for i in items
        if len(i) > 2
    ]
    fours = [
        (1 - 1 / (len(i) - 2), np.mean([s(w, x) * s(y, z) for w, x, y, z in permutations(i, 4)]))
        for i in items
        if len(i) > 3
    ]
    twos = sum((len(i) - 1) * np.mean([s(x, y) ** 2 for x, y in permutations(i, 2)]) for i in items)
    pair = (twos / sum(len(i) - 1 for i in items) - theta**2) / spread
    a = (sum(w * (t - theta**2) for w, t in threes) / spread + 50 * (0.05 + 0.42 * theta) * pair) / (
        sum(w for w, _ in threes) + 50
    )
    b = (sum(w * (m - theta**2) for w, m in fours) / spread + 12.5 * theta**2 * pair) / (sum(w for w, _ in fours) + 50)
    a = min(max(a, 0), 1)
    shape = item_shape(tally, theta, found.pairable())
    assert shape.pair == pytest.approx(pair, abs=1e-9)
    assert (shape.a, shape.b) == pytest.approx((a, min(max(b, 0), a)), abs=1e-9)
    pairs = [(len(i) - 1, np.mean([s(x, y) ** 2 for x, y in permutations(i, 2)])) for i in items]
    variance = sum(w * square for w, square in pairs) / sum(w for w, _ in pairs) - theta**2
    assert shape.pair == pytest.approx(variance / spread, abs=1e-9)


def test_inverse_variances_of_a_metric_equal_brute_force() -> None:
    """ζ1 and ζ2 by enumerating all label sequences of an item with three annotations."""
    tally = tally_of(parse("112 123 331 12 33"))
    found = votes(tally, Metric("linear"))
    matrix = found.similarity
    assert matrix is not None
    p = np.array([tally.pairable_labels[label] for label in found.labels]) / tally.pairable_annotations
    values, chances = [], []
    for x in range(3):
        for y in range(3):
            for z in range(3):
                values.append((matrix[x, y] + matrix[x, z] + matrix[y, z]) / 3)
                chances.append(p[x] * p[y] * p[z])
    mean = np.dot(values, chances)
    variance = np.dot((np.array(values) - mean) ** 2, chances)
    assert float(weigh("inv_var_class", tally, found).by_n[3]) == pytest.approx(1 / variance)


def test_labels_that_are_all_missing_leave_every_figure_undefined_under_a_metric() -> None:
    table = {"item": ["q1", "q1"], "annotator": ["a", "b"], "label": pl.Series([None, None], dtype=pl.Int64)}
    agreement = spagree.measure(pl.DataFrame(table), metric="interval")
    assert agreement.spa.value is None and agreement.data.items == 0


def test_edge_is_used_if_nothing_varies() -> None:
    found = find(tally_of(parse("11 111 1111")), "inv_var_class", metric=Metric("interval"))
    assert found.spa.value == 1
    assert [float(k) for k in found.weights["inv_var"].by_n.values()] == [1, 3, 6]


def test_groups_are_smoothed_in_bounded_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    tally = tally_of(parse(NUMBERS))
    whole = find(tally, metric=Metric("ordinal"))
    monkeypatch.setattr("spagree.estimate.votes.CELLS_AT_ONCE", 7)
    stepwise = find(tally, metric=Metric("ordinal"))
    assert stepwise.missingness == whole.missingness and stepwise.chance.keys() == whole.chance.keys()
    for name, figure in whole.schemes.items():
        found = stepwise.schemes[name]  # a matrix product depends on the size of its blocks in the last bits
        assert (found.value, found.stderr) == pytest.approx((figure.value, figure.stderr), rel=1e-13)
        assert (found.low, found.high) == pytest.approx((figure.low, figure.high), rel=1e-12)


@pytest.mark.parametrize("at_once", [4_000_000, 30])
def test_many_different_numbers_are_looked_up_and_are_closer_to_the_exact_sums(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """A slider: far more labels than an item has annotations, so a table of items × labels is nearly empty."""
    draw = np.random.default_rng(3)
    rows = np.clip(draw.integers(0, 1000, (60, 1)) + draw.integers(-90, 90, (60, 6)), 0, 999) / 8
    tally = Tally.from_items([Counter(map(str, row)) for row in rows.tolist()])
    found = votes(tally, Metric("interval"))
    assert found is not None and found.similarity is not None
    monkeypatch.setattr("spagree.estimate.votes.CELLS_AT_ONCE", at_once)
    near = found.smoothed(found.count, found.similarity)
    monkeypatch.setattr("spagree.estimate.votes.GATHERING", 10**9)
    table = found.smoothed(found.count, found.similarity)
    exact = [
        sum(
            Fraction(found.similarity[label, other]) * int(times)
            for other, times in zip(found.label[found.group == group], found.count[found.group == group], strict=True)
        )
        for group, label in zip(found.group, found.label, strict=True)
    ]
    off, off_table = (
        [abs(Fraction(one) - other) for one, other in zip(each, exact, strict=True)] for each in (near, table)
    )
    assert max(off) < 2e-15 and sum(off) <= sum(off_table)


def test_looked_up_sums_do_not_depend_on_the_names_of_labels() -> None:
    draw = np.random.default_rng(4)
    rows = [draw.integers(0, 200, 4).tolist() for _ in range(80)]

    def alike(one: str, other: str) -> float:
        return 1 / (1 + abs(float(one) - float(other)))

    def mirrored(one: str, other: str) -> float:
        return alike(str(-float(one)), str(-float(other)))

    plain = find(tally_of_numbers(rows, 1), metric=Metric(alike))
    turned = find(tally_of_numbers(rows, -1), metric=Metric(mirrored))
    assert plain.spa == turned.spa and plain.missingness == turned.missingness


def tally_of_numbers(rows: list[list[int]], sign: int) -> Tally:
    return Tally.from_items([Counter(str(sign * each) for each in row) for row in rows])


UNKNOWN_ORDER = 'is not a number); give it from low to high with order=["low", "middle", "high"]'
ODD_FUNCTION = "metric: your function must return 1 for equal labels, and be symmetric"
REFUSED = [
    (
        lambda: Metric("ordnal"),
        UsageError,
        "unknown metric 'ordnal'; did you mean 'ordinal'? Known: nominal, ordinal, interval, ratio, circular, linear, "
        "quadratic, jaccard, masi, options",
    ),
    (lambda: Metric("ordinal", ("a", "b", "a")), UsageError, "order a, b, a: a label is listed twice; list each once"),
    (
        lambda: Metric("interval").matrix(["1", "two"], np.ones(2)),
        DataError,
        "metric interval: the label 'two' is not a number; use ordinal, linear or quadratic with the order of the "
        'labels (order=["low", "middle", "high"])',
    ),
    (
        lambda: Metric("interval").matrix(["1", "inf"], np.ones(2)),
        DataError,
        "metric interval: a label is not a finite number; name it with missing=",
    ),
    (
        lambda: Metric("ordinal").matrix(["1", "two"], np.ones(2)),
        DataError,
        f"metric ordinal: the order of the labels is not known ('two' {UNKNOWN_ORDER}",
    ),
    (
        lambda: Metric("linear").matrix(["nan", "1"], np.ones(2)),
        DataError,
        f"metric linear: the order of the labels is not known ('nan' {UNKNOWN_ORDER}",
    ),
    (
        lambda: Metric("ordinal", ("a", "b")).matrix(["a", "c"], np.ones(2)),
        DataError,
        "order: the label 'c' occurs but is not in it; add it, or name it with missing=",
    ),
    (
        lambda: Metric("ratio").matrix(["-1", "2"], np.ones(2)),
        DataError,
        "metric ratio: -1 is below 0; ratios need labels from 0 on",
    ),
    (
        lambda: Metric(lambda x, y: 2.0).matrix(["a"], np.ones(1)),
        UsageError,
        "metric: your function returned a value outside 0 to 1; 1 is full agreement, 0 none",
    ),
    (lambda: Metric(lambda x, y: 0.5).matrix(["a"], np.ones(1)), UsageError, ODD_FUNCTION),
    (lambda: Metric(lambda x, y: float(x <= y)).matrix(["a", "b"], np.ones(2)), UsageError, ODD_FUNCTION),
    (
        lambda: Metric("masi").matrix(
            [str(n) for n in range(MOST_SIMILAR_CLASSES + 1)], np.ones(MOST_SIMILAR_CLASSES + 1)
        ),
        DataError,
        "5,001 different labels are too many for the metric masi; group them, or use nominal",
    ),
]


@pytest.mark.parametrize(("call", "kind", "message"), REFUSED)
def test_refusals_name_the_label_and_the_remedy(
    call: Callable[[], object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=exactly(message)):
        call()


def test_a_metric_needs_the_patterns() -> None:
    tally = Tally({Cell(2, 2, 0): 3}, {"1": 6}, {"1": 6}, None)
    assert votes(tally) is None
    with pytest.raises(
        DataError,
        match=exactly(
            "metric interval: too many different combinations of labels to keep; group the labels, or use the "
            "nominal metric"
        ),
    ):
        find(tally, metric=Metric("interval"))


def test_nominal_needs_no_matrix_and_zero_over_zero_is_no_ratio() -> None:
    assert Metric().matrix(["a", "b"], np.ones(2)) is None and Metric().name == "nominal"
    matrix = Metric("ratio").matrix(["0", "0.0", "1"], np.ones(3))
    assert matrix is not None and matrix[0, 1] == 1 and matrix[0, 2] == 0


@pytest.mark.parametrize("metric", ["interval", "ratio", "ordinal", "linear", "quadratic", "circular"])
def test_parts_on_the_scale_of_the_whole(metric: str) -> None:
    labels, totals = ("1", "2", "3", "7"), np.array([4.0, 9, 3, 1])
    whole = Metric(metric).matrix(labels, totals)
    part = Metric(metric).over(dict(zip(labels, totals, strict=True))).matrix(("2", "3"), np.array([5.0, 2]))
    assert whole is not None and part is not None
    assert part.tolist() == whole[1:3, 1:3].tolist()


@pytest.mark.parametrize(("metric", "neighbours"), [("linear", 0.75), ("quadratic", 1 - 1 / 16)])
def test_a_declared_order_sets_the_scale_whether_its_ends_were_used_or_not(metric: str, neighbours: float) -> None:
    found = Metric(metric, ("1", "2", "3", "4", "5")).matrix(("2", "3"), np.ones(2))
    assert found is not None
    assert found.tolist() == [[1.0, neighbours], [neighbours, 1.0]]
