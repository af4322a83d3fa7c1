"""Pairs of annotators against brute force and scikit-learn.

The values of the peer come from this script (scikit-learn 1.9.1):

    import numpy as np
    from sklearn.metrics import cohen_kappa_score
    one, other = list("aabbbcccca"), list("aabbcccacb")
    cohen_kappa_score(one, other)                           # 0.5454545454545454
    numbers = [[ord(x) for x in each] for each in (one, other)]
    cohen_kappa_score(*numbers, weights="linear")           # 0.5555555555555556
    cohen_kappa_score(*numbers, weights="quadratic")        # 0.5652173913043479
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from math import sqrt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy import stats

import spagree
from breakdown_oracle import Rows, close, cohen, rows_of, scott, shared
from examples import examples
from oracle import exactly
from spagree.counts.fetch import coded
from spagree.estimate import pairs as module
from spagree.estimate.uncertainty import FEW_FOR_METRIC, score_limits, two_sided, wilson
from spagree.read import read

Said = list[tuple[str, str]]
Similarity = Callable[[str, str], Fraction]
Shares = tuple[dict[str, float], dict[str, float]]

COHEN = 0.5454545454545454
LINEAR, QUADRATIC = 0.5555555555555556, 0.5652173913043479
ONE, OTHER = "aabbbcccca", "aabbcccacb"
TEN = [(f"q{i}", who, said) for who, all_ in (("ann", ONE), ("bob", OTHER)) for i, said in enumerate(all_)]


@given(rows_of(8, 5))
@examples(30)
def test_every_pair_against_brute_force(rows: Rows) -> None:
    found = spagree.measure(rows).pairs()
    people = sorted({who for _, who, _ in rows})
    met = {(one, other) for one, other in combinations(people, 2) if shared(rows, one, other)}
    assert {(row["annotator"], row["other"]) for row in found.rows(named=True)} == met
    for row in found.rows(named=True):
        said = shared(rows, row["annotator"], row["other"])
        assert row["shared"] == len(said) and row["few"] == (len(said) < 10)
        assert row["agreement"] == pytest.approx(sum(one == other for one, other in said) / len(said))
        assert row["cohen_kappa"] == close(cohen(said), 1e-13) and row["scott_pi"] == close(scott(said), 1e-13)
        assert (row["cohen_kappa"] is None) == (len({label for pair in said for label in pair}) == 1)
        reason = module.ONE_CLASS if row["cohen_kappa"] is None else module.ONE_ITEM if len(said) == 1 else None
        assert row["undefined"] == reason


def test_the_peer_agrees() -> None:
    row = spagree.measure(TEN).pairs().row(0, named=True)
    assert (row["annotator"], row["other"], row["shared"], row["agreement"]) == ("ann", "bob", 10, 0.7)
    assert row["cohen_kappa"] == pytest.approx(COHEN, abs=1e-12)


def weighted(said: Said, similarity: Similarity, *, pooled: bool) -> Fraction | None:
    """Cohen's kappa, or Scott's pi, under a metric, looking at every pair of labels."""
    one, other = ([each[side] for each in said] for side in (0, 1))
    if pooled:
        one = other = one + other
    observed = sum((similarity(x, y) for x, y in said), Fraction()) / len(said)
    expected = sum((similarity(x, y) for x in one for y in other), Fraction()) / (len(one) * len(other))
    return None if expected == 1 else (observed - expected) / (1 - expected)


def equal(one: str, other: str) -> Fraction:
    return Fraction(one == other)


def stepwise(one: str, other: str) -> Fraction:
    """The linear metric for labels 1 to 4."""
    return 1 - Fraction(abs(int(one) - int(other)), 3)


@given(
    st.lists(st.tuples(*[st.sampled_from("1234")] * 2), min_size=10, max_size=14),
    st.sampled_from(["nominal", "linear"]),
)
@examples(40)
def test_the_error_is_the_jackknife_over_shared_items(said: Said, metric: str) -> None:
    rows = [(f"q{i:02}", who, label) for i, labels in enumerate(said) for who, label in zip("xy", labels, strict=True)]
    ends = [("r1", "u", "1"), ("r1", "v", "4")]  # the scale is that of all labels
    found = spagree.measure([*rows, *ends], metric=metric).pairs()
    row = found.filter(pl.col("annotator") == "x").row(0, named=True)
    for name, pooled in (("cohen_kappa", False), ("scott_pi", True)):
        alike = equal if metric == "nominal" else stepwise
        assert row[name] == close(weighted(said, alike, pooled=pooled), 1e-12)
        left = [weighted(said[:i] + said[i + 1 :], alike, pooled=pooled) for i in range(len(said))]
        if row[name] is not None and None not in left:
            mean = sum(left) / len(left)
            variance = Fraction(len(said) - 1, len(said)) * sum((each - mean) ** 2 for each in left)
            assert row[f"{name}_stderr"] == pytest.approx(sqrt(variance), abs=1e-9)


def test_where_one_label_is_left_without_an_item_the_error_is_that_of_the_linearised_ratio() -> None:
    rows = [(f"q{i}", who, label if i == 0 else "x") for i in range(12) for who, label in (("ann", "y"), ("bob", "z"))]
    row = spagree.measure(rows).pairs().row(0, named=True)
    kappa = (11 / 12 - (11 / 12) ** 2) / (1 - (11 / 12) ** 2)
    influence = [0.0] + [1 - (1 - kappa) * 2 * 11 / 12] * 11  # agreement less (1 − κ) times how likely it is by chance
    mean = sum(influence) / 12
    variance = sum((each - mean) ** 2 for each in influence) / 11 / 12
    assert row["cohen_kappa"] == pytest.approx(kappa)
    assert row["cohen_kappa_stderr"] == pytest.approx(sqrt(variance) / (1 - (11 / 12) ** 2))


def test_weighted_kappa_is_that_of_scikit_learn() -> None:
    numbers = [(item, who, str(ord(said))) for item, who, said in TEN]
    for metric, value in (("linear", LINEAR), ("quadratic", QUADRATIC)):
        row = spagree.measure(numbers, metric=metric).pairs().row(0, named=True)
        assert row["cohen_kappa"] == pytest.approx(value, abs=1e-12)


def test_intervals_have_a_width_at_perfect_agreement() -> None:
    rows = [(f"q{i}", who, "xy"[i % 2]) for i in range(10) for who in "ab"]
    row = spagree.measure(rows).pairs().row(0, named=True)
    assert (row["agreement"], row["cohen_kappa"], row["scott_pi"]) == (1.0, 1.0, 1.0)
    low = wilson(1.0, 0.0, 10, 0.95)[0]
    assert (row["low"], row["high"]) == (pytest.approx(low), 1.0)
    # Ten equally informative items, on the scale from −1 to 1.
    kappa = 2 * low - 1
    assert (row["cohen_kappa_low"], row["cohen_kappa_high"]) == (pytest.approx(kappa), 1.0)


def information(said: Said, shares: Shares) -> tuple[float, float]:
    """m and the degrees of freedom of docs/mathematics.md §13; ``shares`` are those by chance of one and other."""
    one, other = shares
    informing = [1 - (other[x] + one[y]) / 2 for x, y in said]
    first, second, fourth = (sum(g**power for g in informing) for power in (1, 2, 4))
    return second**2 / fourth, max(first**2 / second - 1, 2)


def test_the_intervals_of_both_kappas_by_the_formula() -> None:
    row = spagree.measure(TEN, level=0.9).pairs().row(0, named=True)
    said = list(zip(ONE, OTHER, strict=True))
    one, other = ({c: text.count(c) / 10 for c in "abc"} for text in (ONE, OTHER))
    both = {c: (one[c] + other[c]) / 2 for c in "abc"}
    for name, shares in (("cohen_kappa", (one, other)), ("scott_pi", (both, both))):
        (size, freedom), expected = information(said, shares), sum(shares[0][c] * shares[1][c] for c in "abc")
        lowest = 1 - min(1, 2 * (1 - max(both.values()))) / (1 - expected)
        place, scale = (row[name] - lowest) / (1 - lowest), 1 - lowest
        error = max(row[f"{name}_stderr"] / scale, sqrt(place * (1 - place) / 2 / size) * (2 - place))
        shrink = two_sided(0.9, freedom) ** 2 * error**2 / (place * (1 - place))
        low, high = (float(end[0]) for end in score_limits(np.array([place]), np.array([shrink])))
        assert (row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx((lowest + scale * low, lowest + scale * high))


@pytest.mark.parametrize("size", [7, 10, 13, 30, 49, 90])
def test_an_annotator_who_always_says_the_same_has_a_steady_interval(size: int) -> None:
    """Kappa is 0 whatever the other says; its interval must not hang on the last bit of a float."""
    rows = [(f"q{i}", "ann", "x") for i in range(size)]
    rows += [(f"q{i}", "bob", "y" if i % 7 == 0 else "x") for i in range(size)]
    row = spagree.measure(rows).pairs().row(0, named=True)
    rare = -(-size // 7)
    assert row["cohen_kappa"] == pytest.approx(0, abs=1e-14)
    share = min(0.5, (rare + 1.5 + sqrt(3 * (rare + 0.75))) / (2 * size))  # of the rarer label: an upper limit
    assert row["cohen_kappa_low"] == pytest.approx(-share / (1 - share), abs=1e-9)
    ann, bob = {"x": 1.0, "y": 0.0}, {"x": 1 - rare / size, "y": rare / size}
    said = [("x", "y" if i % 7 == 0 else "x") for i in range(size)]
    equally, freedom = information(said, (ann, bob))
    shrink = two_sided(0.95, freedom) ** 2 / (equally / 2)
    assert row["cohen_kappa_high"] == pytest.approx(shrink / (1 + shrink), abs=1e-9)


SCALE = [(f"q{i:02}", who, str(label)) for i in range(12) for who, label in (("ann", i % 5), ("bob", (i + i // 8) % 5))]


def test_weighted_kappa_has_fishers_interval_from_ten_items_on() -> None:
    row = spagree.measure(SCALE, metric="linear").pairs().row(0, named=True)
    said = [(int(a), int(b)) for a, b in zip([x[2] for x in SCALE[::2]], [x[2] for x in SCALE[1::2]], strict=True)]
    similarity = np.array([[1 - abs(a - b) / 4 for a in range(5)] for b in range(5)])
    one, other = (np.bincount([each[side] for each in said], minlength=5) / 12 for side in (0, 1))
    likely = [((similarity @ other)[a] + (similarity @ one)[b]) / 2 for a, b in said]
    second, fourth = (sum((1 - each) ** power for each in likely) for power in (2, 4))
    value, stderr = row["cohen_kappa"], row["cohen_kappa_stderr"]
    reach = stats.t.ppf(0.975, second**2 / fourth - 1) * stderr / (1 - value**2)
    assert row["cohen_kappa_low"] == pytest.approx(np.tanh(np.arctanh(value) - reach))
    assert row["cohen_kappa_high"] == pytest.approx(np.tanh(np.arctanh(value) + reach))
    assert row["undefined"] is None
    few = spagree.measure(SCALE[:18], metric="linear").pairs().row(0, named=True)
    assert few["cohen_kappa"] is not None and few["cohen_kappa_stderr"] is not None and few["low"] is not None
    assert few["cohen_kappa_low"] is None and few["scott_pi_high"] is None and few["undefined"] == FEW_FOR_METRIC


def test_if_no_item_can_move_kappa_there_is_no_interval_but_a_reason() -> None:
    rows = [(f"q{i:02}", who, label) for i in range(12) for who, label in (("ann", "1"), ("bob", str(1 + i % 2)))]
    row = spagree.measure([*rows, ("r", "ann", "3")], metric="linear").pairs().row(0, named=True)
    assert row["cohen_kappa_low"] is None and row["undefined"] == module.ALL_ALIKE


def test_agreement_under_a_metric_varies_at_least_as_much_as_in_the_whole_file() -> None:
    """Six items that all agree by 3/4 do not show how items differ; those of the others do."""
    alike = [(f"q{i}", who, label) for i in range(6) for who, label in (("ann", "1"), ("bob", "2"))]
    others = [(f"r{i:02}", who, str(label)) for i in range(30) for who, label in (("cyd", 1), ("dan", 1 + i % 5))]
    found = spagree.measure([*alike, *others], metric="linear").pairs()
    row = found.filter(pl.col("annotator") == "ann").row(0, named=True)
    given = [0.75] * 6 + [1 - (i % 5) / 4 for i in range(30)]
    theta = sum(given) / 36
    spread = (sum(each**2 for each in given) / 36 - theta**2) / (theta * (1 - theta))
    spread = (36 * spread + 2) / 38
    stderr = sqrt(spread * 0.75 * 0.25 / 6)
    assert row["agreement"] == 0.75 and row["stderr"] == 0
    assert (row["low"], row["high"]) == pytest.approx(wilson(0.75, stderr, 6, 0.95))


def test_few_pairs_leave_room_for_large_differences_that_none_of_them_shows() -> None:
    """Of twelve pairs four differ by one grade of four: c is (12·seen + 2)/14, for two people and for SPA alike."""
    rows = [(f"q{i}", who, str(2 + (who == "bob" and i % 3 == 0))) for i in range(12) for who in ("ann", "bob")]
    found = spagree.measure(rows, metric="quadratic", order=list("1234"))
    theta, pair = 1 - 4 / 12 / 9, found.pairs().row(0, named=True)
    seen = ((8 + 4 * (8 / 9) ** 2) / 12 - theta**2) / (theta * (1 - theta))
    error = sqrt((12 * seen + 2) / 14 * theta * (1 - theta) / 12)
    assert (pair["low"], pair["high"]) == pytest.approx(wilson(theta, error, 12, 0.95))
    both = found.spa.intervals["items"]
    assert (both.low, both.high) == pytest.approx((pair["low"], pair["high"]))


@given(rows_of(8, 5))
@examples(10)
def test_blocks_of_annotators_and_of_pairs_change_nothing(rows: Rows) -> None:
    whole = spagree.measure(rows).pairs()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MEETINGS_AT_ONCE", 5)
        patch.setattr(module, "CELLS_AT_ONCE", 6)
        assert spagree.measure(rows).pairs().equals(whole)
        assert spagree.measure(rows).pairs(worst=3).equals(whole.head(3))


@given(rows_of(8, 5), st.integers(1, 12), st.integers(1, 3), st.sampled_from(["nominal", "interval"]))
@examples(30)
def test_the_worst_pairs_are_the_first_rows_of_all(rows: Rows, worst: int, least: int, metric: str) -> None:
    """To the last bit; under a metric up to the order in which a matrix product adds up."""
    numbers = [(item, who, str(ord(label[0]))) for item, who, label in rows]
    measured = spagree.measure(numbers, metric=metric)
    first, whole = measured.pairs(least, worst=worst), measured.pairs(least).head(worst)
    assert_frame_equal(first, whole, check_exact=metric == "nominal", rel_tol=1e-9, abs_tol=1e-12)


def test_labels_of_others_do_not_move_the_limits_of_a_pair() -> None:
    """ann and bob never gave 121, which is near to their labels; cyd, who gave it, is counted in the same block."""
    rows = [
        (f"q{n}", who, "122" if n == 9 or (n, who) in ((7, "bob"), (3, "ann")) else "120")
        for n in range(12)
        for who in ("ann", "bob")
    ]
    both = spagree.measure(rows, metric="interval").pairs().row(0, named=True)
    cyd = [(f"q{n}", "cyd", "121" if n == 6 else "120") for n in range(12)]
    pairs = spagree.measure([*rows, *cyd], metric="interval").pairs().rows(named=True)
    among = next(row for row in pairs if {row["annotator"], row["other"]} == {"ann", "bob"})
    for name in ("cohen_kappa_low", "scott_pi_low", "cohen_kappa_high", "low"):
        assert among[name] == pytest.approx(both[name], rel=1e-9)


@given(rows_of(8, 5))
@examples(30)
def test_counts_of_a_pair_are_exact_one_by_one_and_in_blocks_of_any_size(rows: Rows) -> None:
    codes = coded(read(rows).frame)
    people = range(len(codes.annotators))
    met = {pair for pair in combinations(people, 2) if shared(rows, *(codes.annotators[each] for each in pair))}
    equal = np.eye(len(codes.labels))
    for few, at_once, similarity in (
        (1_000, 1, None),
        (0, 1_000, None),
        (0, 1, None),
        (0, 1, equal),
        (1_000, 1, equal),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "FEW_MEETINGS", few)
            patch.setattr(module, "MEETINGS_AT_ONCE", at_once)
            blocks = module.pair_counts(codes, similarity)
            found = [each for block in blocks for each in zip(*block, strict=True)]
        for left, right, both, alike in found:
            said = shared(rows, codes.annotators[left], codes.annotators[right])
            assert (both, alike) == (len(said), sum(one == other for one, other in said))
        assert {(left, right) for left, right, *_ in found} == met and len(found) == len(met)


def test_only_pairs_that_share_enough() -> None:
    rows = [*TEN, ("q0", "cyd", "a"), ("q1", "cyd", "b")]
    measured = spagree.measure(rows)
    assert [measured.pairs(least).height for least in (1, 2, 3, 11)] == [3, 3, 1, 0]
    assert measured.pairs(3).rows() == measured.pairs().rows()[:1]
    for wrong in (0, 1.5, "2"):
        with pytest.raises(spagree.UsageError, match=exactly(f"least {wrong!r}: a whole number from 1 on")):
            measured.pairs(wrong)  # type: ignore[arg-type]
        with pytest.raises(spagree.UsageError, match=exactly(f"worst {wrong!r}: a whole number from 1 on")):
            measured.pairs(worst=wrong)  # type: ignore[arg-type]


def test_nobody_met() -> None:
    found = spagree.measure([("q1", "ann", "x"), ("q2", "bob", "x"), ("q3", None, "y")]).pairs()
    assert found.height == 0 and found.schema["cohen_kappa"] == pl.Float64 and found.schema["annotator"] == pl.String


def test_too_many_meetings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_MEETINGS", 9)
    with pytest.raises(
        spagree.DataError,
        match=exactly(
            "annotators met 10 times: too many to compare in pairs (at most 9); take the first annotations of "
            "each item (first=)"
        ),
    ):
        spagree.measure(TEN).pairs()
    monkeypatch.setattr(module, "MOST_MEETINGS", 10)
    assert spagree.measure(TEN).pairs().height == 1


def test_too_many_pairs_for_a_table_are_refused_with_three_remedies(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [*TEN, ("q0", "cyd", "a"), ("q1", "cyd", "b")]
    monkeypatch.setattr(module, "MOST_PAIRS", 2)
    measured = spagree.measure(rows)
    with pytest.raises(
        spagree.DataError,
        match=exactly(
            "more than 2 pairs of annotators share items: too many for one table; ask for the worst only "
            "(worst=20), for pairs who share more items (least=5) or for the busiest annotators (busiest=1000)"
        ),
    ):
        measured.pairs()
    assert measured.pairs(worst=2).height == 2
    assert measured.pairs(least=5).height == measured.pairs(busiest=2).height == 1


def test_row_order_does_not_matter_and_renaming_turns_a_pair_around() -> None:
    frame = spagree.simulate(items=60, annotators=7, per_item=3, seed=2).frame.select("item", "annotator", "label")
    whole = spagree.measure(frame).pairs()
    assert spagree.measure(frame.sample(fraction=1, shuffle=True, seed=4)).pairs().equals(whole)
    turned = spagree.measure([(item, {"ann": "zoe"}.get(who, who), said) for item, who, said in TEN]).pairs()
    plain = spagree.measure(TEN).pairs()
    assert turned.select("annotator", "other").rows() == [("bob", "zoe")]
    assert turned.drop("annotator", "other").row(0) == pytest.approx(plain.drop("annotator", "other").row(0))


FOLDER = Path(__file__).parents[3] / "shared" / "data"


@pytest.mark.skipif(not FOLDER.is_dir(), reason="real data is not beside this checkout")
@pytest.mark.parametrize("name", ["rte", "convabuse", "varierr_nli", "anesthesia"])
def test_real_data_adds_up(name: str) -> None:
    """All meetings of all pairs are all pairs of annotations: edge-weighted SPA."""
    measured = spagree.measure(FOLDER / f"{name}.csv.gz", duplicates="first")
    found = measured.pairs()
    edges = (found["agreement"] * found["shared"]).sum() / found["shared"].sum()
    assert edges == pytest.approx(measured.schemes["edge"].value, abs=1e-12)
    people = measured.annotators()
    assert people["annotations"].sum() == measured.data.annotations
    assert people.height == measured.data.annotators
    weighted = measured.classes().drop_nulls("agreement")
    pairable = measured.findings.data.pairable_annotations
    total = (people["agreement"] * people["shared"]).sum() / pairable
    assert total == pytest.approx(measured.schemes["annotations"].value, abs=1e-12)
    assert weighted.height == measured.data.classes


def test_pairs_that_agree_least_come_first_after_those_with_few_items() -> None:
    def together(one: str, other: str, items: int, agreeing: int) -> list[tuple[str, str, str]]:
        both = [(f"{one}{other}{item}", one, other, "x" if item < agreeing else "y") for item in range(items)]
        return [row for item, a, b, label in both for row in ((item, a, "x"), (item, b, label))]

    rows = (
        together("a", "b", 40, 36) + together("c", "d", 40, 10) + together("e", "f", 40, 20) + together("g", "h", 2, 0)
    )
    found = spagree.measure(rows).pairs()
    assert found.select("annotator", "other", "few").rows() == [
        ("c", "d", False),
        ("e", "f", False),
        ("a", "b", False),
        ("g", "h", True),
    ]
