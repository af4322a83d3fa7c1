"""Pairs of annotators against brute force, scikit-learn and statsmodels.

The values of the peers come from this script (scikit-learn 1.9.1, statsmodels 0.15.0):

    import numpy as np
    from sklearn.metrics import cohen_kappa_score
    from statsmodels.stats.inter_rater import cohens_kappa
    one, other = list("aabbbcccca"), list("aabbcccacb")
    table = np.array([[sum(x == c and y == k for x, y in zip(one, other)) for k in "abc"] for c in "abc"])
    cohen_kappa_score(one, other)                           # 0.5454545454545454
    cohens_kappa(table).std_kappa                           # 0.2184835268198166
    numbers = [[ord(x) for x in each] for each in (one, other)]
    cohen_kappa_score(*numbers, weights="linear")           # 0.5555555555555556
    cohen_kappa_score(*numbers, weights="quadratic")        # 0.5652173913043479
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations
from math import exp, log, sqrt
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import spagree
from breakdown_oracle import Rows, close, cohen, rows_of, scott, shared
from examples import examples
from oracle import exactly
from spagree.estimate import meetings as counting
from spagree.estimate import pairs as module
from spagree.estimate.uncertainty import wilson
from spagree.read import read
from spagree.tally.coded import coded_in_python

Shares = tuple[dict[str, float], dict[str, float]]

COHEN, COHEN_STD = 0.5454545454545454, 0.2184835268198166
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


def test_the_peers_agree() -> None:
    row = spagree.measure(TEN).pairs().row(0, named=True)
    assert (row["annotator"], row["other"], row["shared"], row["agreement"]) == ("ann", "bob", 10, 0.7)
    assert row["cohen_kappa"] == pytest.approx(COHEN, abs=1e-12)
    # statsmodels divides by m, we by m − 1.
    assert row["cohen_kappa_stderr"] == pytest.approx(COHEN_STD * sqrt(10 / 9), abs=1e-12)


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
    kappa = 2 * wilson(1.0, 0.0, 10, 0.95, 10)[0] - 1
    assert (row["cohen_kappa_low"], row["cohen_kappa_high"]) == (pytest.approx(kappa), 1.0)


def slow_limits(said: list[tuple[str, str]], value: float, stderr: float, shares: Shares) -> tuple[float, float]:
    """docs/mathematics.md §13 for the labels of two annotators; ``shares`` are those by chance of one and other."""
    one, other = shares
    informing = [1 - (other[x] + one[y]) / 2 for x, y in said]
    second, fourth = (sum(g**power for g in informing) for power in (2, 4))
    size, alike = second**2 / fourth, sum(informing) ** 2 / second
    expected = sum(one[c] * other[c] for c in one)
    first = [Counter(x for x, _ in said), Counter(y for _, y in said)]
    commonest = max(first[0][c] + first[1][c] for c in one) / len(said)
    lowest = min(1 - min(1, 2 - commonest) / (1 - expected), value)
    scale = 1 - lowest
    place = (value - lowest) / scale
    measured = min((stderr / scale) ** 2, 2 * place * (1 - place) / size)
    error = sqrt(measured + min(1, 15 / alike) * max(0, place * (1 - place) / size - measured))
    low, high = wilson(place, error, size, 0.9, size)
    return lowest + scale * low, lowest + scale * high


def test_the_intervals_of_both_kappas_by_the_formula() -> None:
    row = spagree.measure(TEN, level=0.9).pairs().row(0, named=True)
    said = list(zip(ONE, OTHER, strict=True))
    one, other = ({c: text.count(c) / 10 for c in "abc"} for text in (ONE, OTHER))
    both = {c: (one[c] + other[c]) / 2 for c in "abc"}
    for name, shares in (("cohen_kappa", (one, other)), ("scott_pi", (both, both))):
        wanted = slow_limits(said, row[name], row[f"{name}_stderr"], shares)
        assert (row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx(wanted)


@pytest.mark.parametrize("size", [7, 10, 13, 30, 49, 90])
def test_an_annotator_who_always_says_the_same_has_a_steady_interval(size: int) -> None:
    """Kappa is 0 whatever the other says; its interval must not hang on the last bit of a float."""
    rows = [(f"q{i}", "ann", "x") for i in range(size)]
    rows += [(f"q{i}", "bob", "y" if i % 7 == 0 else "x") for i in range(size)]
    row = spagree.measure(rows).pairs().row(0, named=True)
    rare = -(-size // 7)
    assert row["cohen_kappa"] == pytest.approx(0, abs=1e-14)
    # Where bob says y, his label never agrees by chance and ann's with all of his x; where he says x, always.
    g_rare = 1 - (0 + (size - rare) / size) / 2
    g_common = 1 - (1 + (size - rare) / size) / 2
    fourth = rare * g_rare**4 + (size - rare) * g_common**4
    equal = (rare * g_rare**2 + (size - rare) * g_common**2) ** 2 / fourth
    # A few more items on which one says x and the other y could have gone unseen, besides those there are.
    three = -log(0.05)
    added = three / 2 + sqrt(three * (rare + three / 4))
    ann, bob = (added / 2) / (size + added), (rare + added / 2) / (size + added)  # shares of y
    by_chance = ann * bob + (1 - ann) * (1 - bob)
    lowest = ((size - rare) / (size + added) - by_chance) / (1 - by_chance)
    assert row["cohen_kappa_low"] == pytest.approx(lowest, abs=1e-9) and lowest < 0
    more = -log(0.05) / (size - log(0.05))  # items on which both say y that could have gone unseen
    room = (1 - more) * rare / size + 2 * more * (1 - rare / size / 2)
    expected = max(wilson(0.0, 0.0, equal, 0.95, equal)[1], 1 - rare / size / room)
    assert row["cohen_kappa_high"] == pytest.approx(expected, abs=1e-9)


@given(rows_of(8, 5))
@examples(10)
def test_blocks_of_annotators_and_of_pairs_change_nothing(rows: Rows) -> None:
    whole = spagree.measure(rows).pairs()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "MEETINGS_AT_ONCE", 5)
        patch.setattr(counting, "CELLS_AT_ONCE", 6)
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
    rows = [(f"q{n}", who, "122" if (n, who) == (7, "bob") else "120") for n in range(8) for who in ("ann", "bob")]
    both = spagree.measure(rows, metric="interval").pairs().row(0, named=True)
    cyd = [(f"q{n}", "cyd", "121" if n == 6 else "120") for n in range(8)]
    pairs = spagree.measure([*rows, *cyd], metric="interval").pairs().rows(named=True)
    among = next(row for row in pairs if {row["annotator"], row["other"]} == {"ann", "bob"})
    for name in ("cohen_kappa_low", "scott_pi_low", "cohen_kappa_high", "low"):
        assert among[name] == pytest.approx(both[name], rel=1e-9)


@pytest.mark.parametrize("metric", ["nominal", "interval"])
def test_the_worst_of_a_survey(metric: str) -> None:
    """Many annotators on the same items: ties in agreement go by name, whichever block they are counted in."""
    draw = random.Random(5)
    rows = [(f"q{i}", f"a{j}", str(draw.choice([1, 1, 2, 4]))) for i in range(12) for j in range(120)]
    measured = spagree.measure(rows, metric=metric)
    whole = measured.pairs()
    assert whole.height == 120 * 119 // 2
    for worst in (1, 20, 500):
        assert measured.pairs(worst=worst).equals(whole.head(worst))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "MEETINGS_AT_ONCE", 20_000)
        assert spagree.measure(rows, metric=metric).pairs(worst=20).equals(whole.head(20))


@given(rows_of(8, 5))
@examples(30)
def test_counts_of_a_pair_are_exact(rows: Rows) -> None:
    codes = coded_in_python(read(rows).frame)
    found = [each for block in counting.agreeing(codes) for each in zip(*block, strict=True)]
    for left, right, both, alike in found:
        said = shared(rows, codes.annotators[left], codes.annotators[right])
        assert (both, alike) == (len(said), sum(one == other for one, other in said))
    people = range(len(codes.annotators))
    met = {pair for pair in combinations(people, 2) if shared(rows, *(codes.annotators[each] for each in pair))}
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


def test_pairs_with_few_items_are_marked_and_come_last() -> None:
    rows = [*TEN, ("q0", "cyd", "c")]
    found = spagree.measure(rows).pairs()
    assert found.select("annotator", "other", "few").rows() == [
        ("ann", "bob", False),
        ("ann", "cyd", True),
        ("bob", "cyd", True),
    ]


def test_nobody_met() -> None:
    found = spagree.measure([("q1", "ann", "x"), ("q2", "bob", "x"), ("q3", None, "y")]).pairs()
    assert found.height == 0 and found.schema["cohen_kappa"] == pl.Float64 and found.schema["annotator"] == pl.String


def test_too_many_meetings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_MEETINGS", 9)
    with pytest.raises(
        spagree.DataError,
        match=exactly(
            "annotators met 10 times: too many to compare in pairs (at most 9); take the first annotations of "
            "each item (first=)"
        ),
    ):
        spagree.measure(TEN).pairs()
    monkeypatch.setattr(counting, "MOST_MEETINGS", 10)
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


def test_the_upper_limits_allow_for_items_that_went_unseen() -> None:
    """At the level where three items could be missing, the limits are the values with three more of the rare label."""
    level = 1 - exp(-3)
    rows = [(item, who, "b" if item % 20 == place else "a") for place, who in enumerate("xy") for item in range(100)]
    more = rows + [(100 + item, who, "b") for item in range(3) for who in "xy"]
    now, then = (spagree.measure(each, level=level).pairs().row(0, named=True) for each in (rows, more))
    for name in ("cohen_kappa", "scott_pi"):
        assert now[f"{name}_high"] == pytest.approx(then[name], abs=1e-12)


@pytest.mark.parametrize("rare", [1, 5, 10])
@pytest.mark.parametrize("metric", ["nominal", "interval"])
def test_the_lower_limits_allow_for_items_on_which_the_two_differ(metric: str, rare: int) -> None:
    """Where y never says 3, the limits are the values with a few more items, half of them 1 and 3, half 3 and 1."""
    said = [("1", "1")] * 30 + [("3", "1")] * rare
    rows = [(item, who, label) for item, both in enumerate(said) for who, label in zip("xy", both, strict=True)]
    row = spagree.measure(rows, metric=metric, level=1 - exp(-3)).pairs().row(0, named=True)
    added = 1.5 + sqrt(3 * (rare + 0.75))
    whole = 30 + rare + added
    x, y = (rare + added / 2) / whole, added / 2 / whole  # shares of 3; under both metrics 1 and 3 do not agree at all
    for name, one, other in (("cohen_kappa", x, y), ("scott_pi", (x + y) / 2, (x + y) / 2)):
        expected = one * other + (1 - one) * (1 - other)
        assert row[f"{name}_low"] == pytest.approx((30 / whole - expected) / (1 - expected), abs=1e-9)


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
