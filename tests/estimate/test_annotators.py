"""Annotators: agreement with the others and SPA without them, against brute force over all pairs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb, sqrt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from scipy import stats

import spagree
from breakdown_oracle import THREE_ITEMS, Rows, annotator_agreement, by_item, close, rows_of, spa, without
from command import Run
from examples import examples
from oracle import exactly
from spagree.codes import Codes
from spagree.estimate import votes as of_votes
from spagree.estimate.annotators import (
    ALPHA,
    FEW_OF_THREE,
    NO_OVERLAP,
    ONE_ITEM,
    OTHERS_ALIKE,
    LabelShares,
    PairableAnnotations,
    _without_two,
    label_shares,
    mean_agreement,
)
from spagree.estimate.uncertainty import wilson
from spagree.estimate.votes import votes_in_codes

WEIGHTS: dict[str, Callable[[int], Fraction]] = {
    "flat": lambda n: Fraction(1),
    "annotations": Fraction,
    "annotations_m1": lambda n: Fraction(n - 1),
    "edge": lambda n: Fraction(comb(n, 2)),
    "inv_var": lambda n: Fraction(comb(n, 2)),
}
ROWS = [*THREE_ITEMS, ("q4", "dan", "other")]


@given(rows_of())
@examples(30)
def test_every_annotator_against_brute_force(rows: Rows) -> None:
    found = spagree.measure(rows).annotators()
    assert sorted(found["annotator"]) == sorted({who for _, who, _ in rows})
    items = by_item(rows)
    for row in found.rows(named=True):
        who = row["annotator"]
        own = [item for item, each, _ in rows if each == who]
        assert row["annotations"] == len(own) and row["coverage"] == len(own) / len(items)
        assert row["shared"] == sum(len(items[item]) > 1 for item in own)
        assert row["agreement"] == close(annotator_agreement(rows, who))
        assert row["few"] == (row["shared"] < 10)


@pytest.mark.parametrize("scheme", WEIGHTS)
@given(rows_of())
@examples(15)
def test_spa_without_each_annotator_is_spa_of_the_rest(scheme: str, rows: Rows) -> None:
    measured = spagree.measure(rows, weights=scheme)
    whole = spa(rows, WEIGHTS[scheme])
    for row in measured.annotators().rows(named=True):
        rest = spa(without(rows, row["annotator"]), WEIGHTS[scheme])
        assert row["spa_without"] == close(rest)
        assert row["change"] == (None if rest is None or whole is None else close(rest - whole))


@given(rows_of(12, 6))
@examples(10)
def test_blocks_of_annotators_change_nothing(rows: Rows) -> None:
    whole = spagree.measure(rows).annotators()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of_votes, "CELLS_AT_ONCE", 7)
        assert spagree.measure(rows).annotators().equals(whole)


@pytest.mark.parametrize("power", [6, 20, -20])
@pytest.mark.parametrize("items", [[2, 3], [2, 3, 5, 8], [2, 2, 1999, 2000]])
def test_spa_without_each_annotator_is_exact_however_steep_the_weights(power: int, items: list[int]) -> None:
    def weight(n: int) -> Fraction:
        return Fraction(10) ** (power * n)

    rows = [(f"q{i}", f"a{j}", "xyz"[(j * j + i * j) % 3]) for i, n in enumerate(items) for j in range(n)]
    measured = spagree.measure(rows, weights=weight)
    found = {row["annotator"]: row["spa_without"] for row in measured.annotators().rows(named=True)}
    for who in ("a0", "a1", "a2", f"a{max(items) - 1}"):
        assert found[who] == pytest.approx(float(by_counts(without(rows, who), weight)), rel=4e-15)


def by_counts(rows: Rows, weight: Callable[[int], Fraction]) -> Fraction:
    """SPA in exact fractions, from the labels of each item."""
    above = below = Fraction()
    for said in by_item(rows).values():
        if (n := len(said)) > 1:
            counts = Counter(label for _, label in said).values()
            above += weight(n) * Fraction(sum(count * (count - 1) for count in counts), n * (n - 1))
            below += weight(n)
    return above / below


def test_custom_weights_apply_to_the_remaining_annotations() -> None:
    rows = [*ROWS, ("q2", "cyd", "yes")]
    measured = spagree.measure(rows, weights=lambda n: n * n)
    found = {row["annotator"]: row["spa_without"] for row in measured.annotators().rows(named=True)}
    for who in ("ann", "bob", "cyd", "dan"):
        assert found[who] == close(spa(without(rows, who), lambda n: Fraction(n * n)))
    with pytest.raises(
        spagree.UsageError,
        match=exactly("custom weights: none given for items with 2 annotations; give one for each n"),
    ):
        spagree.measure(ROWS[:3], weights={3: 1}).annotators()


def test_weights_that_are_estimated_stay_as_they_are() -> None:
    rows = (
        spagree.simulate(items=60, annotators=6, per_item=(2, 5), seed=3)
        .frame.select("item", "annotator", "label")
        .rows()
    )
    measured = spagree.measure(rows, weights="inv_var_class")
    by_n = measured.findings.weights["inv_var_class"].by_n
    found = {row["annotator"]: row["spa_without"] for row in measured.annotators().rows(named=True)}
    for who, value in found.items():
        rest = without(rows, who)
        assert {len(said) for said in by_item(rest).values()} - {1} <= set(by_n)
        assert value == pytest.approx(float(spa(rest, lambda n: by_n[n]) or 0), abs=1e-13)


def test_the_interval_is_wilsons_over_the_shared_items() -> None:
    row = spagree.measure(ROWS).annotators().filter(pl.col("annotator") == "ann").row(0, named=True)
    shares = [0.5, 1.0, 0.0]
    stderr = sqrt(sum((each - 0.5) ** 2 for each in shares) / 2 / 3)
    assert (row["agreement"], row["stderr"]) == (0.5, pytest.approx(stderr))
    assert (row["low"], row["high"]) == pytest.approx(wilson(0.5, stderr, 3, 0.95))


def test_annotators_who_cannot_be_judged_come_last_with_a_reason() -> None:
    found = spagree.measure(ROWS).annotators()
    assert found["annotator"].to_list() == ["cyd", "ann", "bob", "dan"]
    reasons = dict(found.select("annotator", "undefined").rows())
    assert reasons == {"ann": None, "bob": None, "cyd": ONE_ITEM, "dan": NO_OVERLAP}


def test_few_shared_items_come_after_many() -> None:
    many = [(f"q{i}", who, "x") for i in range(12) for who in ("ann", "bob")]
    found = spagree.measure([*many, ("r", "ann", "x"), ("r", "cyd", "y")]).annotators()
    assert found.select("annotator", "few").rows() == [("ann", False), ("bob", False), ("cyd", True)]


def test_an_unknown_annotator_counts_among_the_others_but_has_no_row() -> None:
    rows = [("q1", "ann", "x"), ("q1", None, "x"), ("q1", None, "y"), ("q2", "ann", "x"), ("q2", "bob", "x")]
    found = spagree.measure(rows, weights="flat").annotators()
    assert found.select("annotator", "shared", "agreement").rows() == [("ann", 2, 0.75), ("bob", 1, 1.0)]
    assert dict(found.select("annotator", "spa_without").rows()) == {"ann": 0.0, "bob": pytest.approx(1 / 3)}


def test_one_annotator_and_none_at_all() -> None:
    alone = spagree.measure([("q1", "ann", "x"), ("q2", "ann", "y")]).annotators().row(0, named=True)
    assert (alone["annotations"], alone["shared"], alone["agreement"], alone["spa_without"]) == (2, 0, None, None)
    nothing = spagree.measure([(None, "ann", "x"), ("q1", "bob", None)])
    assert nothing.annotators().height == 0 and nothing.pairs().height == 0


def test_who_annotated_must_be_known() -> None:
    with pytest.raises(
        spagree.UsageError, match=exactly("the annotators are unknown; name their column with annotator=")
    ):
        spagree.measure(pl.DataFrame({"item": ["q", "q"], "label": ["x", "y"]})).annotators()
    with pytest.raises(
        spagree.UsageError,
        match=exactly("a tally does not say who annotated which item; measure the annotations themselves"),
    ):
        spagree.measure(spagree.count_items(ROWS)).annotators()


def test_row_order_and_names_do_not_matter() -> None:
    frame = spagree.simulate(items=80, annotators=9, per_item=(1, 5), seed=5).frame.select("item", "annotator", "label")
    whole = spagree.measure(frame).annotators()
    assert spagree.measure(frame.sample(fraction=1, shuffle=True, seed=1)).annotators().equals(whole)
    renamed = frame.with_columns(
        pl.format("i{}", "item").alias("item"), pl.format("z{}", "annotator").alias("annotator")
    )
    found = spagree.measure(renamed).annotators().with_columns(pl.col("annotator").str.slice(1))
    assert found.equals(whole)


def test_a_metric_counts_near_labels_as_partial_agreement() -> None:
    rows = [("q1", "a", "1"), ("q1", "b", "2"), ("q1", "c", "3"), ("q2", "a", "1"), ("q2", "b", "3"), ("q2", "c", "3")]
    measured = spagree.measure(rows, metric="linear", weights="flat")
    found = {row["annotator"]: row for row in measured.annotators().rows(named=True)}
    assert [found[who]["agreement"] for who in "abc"] == pytest.approx([0.125, 0.5, 0.375])
    assert [found[who]["spa_without"] for who in "abc"] == pytest.approx([0.75, 0.0, 0.25])


def test_the_mean_is_that_of_annotations_not_of_items() -> None:
    """Items with many annotations have many annotators to compare, whatever scheme SPA weighs them by."""
    rows = [("q1", who, "xy"[who % 2]) for who in range(8)] + [(item, who, "x") for item in "abcd" for who in range(2)]
    found = spagree.measure(rows)
    mean = float((8 * Fraction(3, 7) + 8) / 16)
    assert mean_agreement(found.annotators()) == pytest.approx(mean, rel=1e-12)
    assert found.spa.value is not None and abs(found.spa.value - mean) > 0.05


def differences(rows: Rows, without: tuple[str, ...] = ()) -> dict[str, list[Fraction]]:
    """For each annotator and item with three annotations: the others with them, less the others among themselves.

    The agreement of two people with each other is left out, if they are named.
    """
    items: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for item, who, label in rows:
        items[item].append((who, label))
    found: dict[str, list[Fraction]] = defaultdict(list)
    for said in (each for each in items.values() if len(each) > 2):
        for who, label in said:
            others = [each for each in said if each[0] != who]
            pairs = [one[1] == other[1] for one, other in permutations(others, 2) if {one[0], other[0]} != set(without)]
            own = Fraction(sum(label == other for _, other in others), len(others))
            if pairs:
                found[who].append(own - Fraction(sum(pairs), len(pairs)))
    return found


@given(rows_of(12, 5))
@examples(30)
def test_the_difference_against_looking_at_all_pairs_of_others(rows: Rows) -> None:
    wanted = differences(rows)
    for row in spagree.measure(rows).annotators().rows(named=True):
        each = wanted.get(row["annotator"], [])
        if not each:
            assert row["against_others"] is None and row["stands_out"] is None
            assert row["stands_out_undefined"] == FEW_OF_THREE
            continue
        mean, size = float(sum(each) / len(each)), len(each)
        assert row["against_others"] == pytest.approx(mean, abs=1e-12)
        assert (row["stands_out_undefined"] == FEW_OF_THREE) == (size < 10)
        assert (row["stands_out"] is None) == (row["stands_out_undefined"] is not None)
        if size == 1:
            assert row["against_others_low"] is None and row["against_others_high"] is None
            continue
        error = sqrt(sum((float(x) - mean) ** 2 for x in each) / (size - 1) / size)
        if error > 1e-9:
            low, high = wilson((1 + mean) / 2, error / 2, size, 0.95)
            shown = row["against_others_low"], row["against_others_high"]
            assert shown == pytest.approx((2 * low - 1, 2 * high - 1), abs=1e-9)


def p_below(each: list[Fraction]) -> float:
    """One-sided p of Student's t; 1 below ten items."""
    return float(stats.ttest_1samp([float(x) for x in each], 0, alternative="less").pvalue) if len(each) > 9 else 1.0


def by_holm(p: dict[str, float]) -> set[str]:
    ordered = sorted(p, key=lambda who: p[who])
    failing = (place for place, who in enumerate(ordered) if p[who] * (len(p) - place) > 0.05)
    return set(ordered[: next(failing, len(p))])


@pytest.mark.parametrize("seed", [2, 4])
def test_the_test_is_students_t_with_holm_also_if_any_two_others_do_not_count(seed: int) -> None:
    drawn = spagree.simulate(items=200, annotators=6, quality=(0.3, 1.0), per_item=4, seed=seed).frame
    rows = drawn.select("item", "annotator", "label").rows()
    plain = {who: p_below(each) for who, each in differences(rows).items()}
    steady = dict(plain)
    for two in combinations(plain, 2):
        left = differences(rows, two)
        steady |= {who: max(steady[who], p_below(left[who])) for who in plain if who not in two}
    named = by_holm(plain | {who: steady[who] for who in by_holm(plain)})
    found = spagree.measure(rows).annotators()
    assert set(found.filter("stands_out")["annotator"]) == named
    doubtful = found.filter(found["stands_out_undefined"] == OTHERS_ALIKE)
    assert set(doubtful["annotator"]) == by_holm(plain) - named and len(named | set(doubtful["annotator"])) > 0


@pytest.mark.parametrize("metric", ["nominal", "linear"])
@pytest.mark.parametrize("clusters", [False, True])
def test_leaving_out_what_two_others_agree_against_adding_up_all_pairs(metric: str, clusters: bool) -> None:
    random = np.random.default_rng(4)
    given = {item: dict.fromkeys(random.permutation(5)[: random.integers(2, 6)].tolist(), 0) for item in range(60)}
    given = {item: {who: int(random.integers(0, 4)) for who in sorted(people)} for item, people in given.items()}
    for item, said in given.items():  # the first differs from the others, who mostly agree
        said.update({who: item % 4 for who in said if who and random.random() < 0.7})
    rows = sorted((item, label, who) for item, said in given.items() for who, label in said.items())
    item, label, who = (np.array(column, dtype=np.int32) for column in zip(*rows, strict=True))
    codes = Codes(item, who, label, tuple("abcde"), tuple("1234"))
    steps = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    similarity = (steps == 0).astype(float) if metric == "nominal" else 1 - steps / 3
    cluster = np.arange(60) // 3 if clusters else None
    given_metric = None if metric == "nominal" else similarity
    visits = PairableAnnotations.of(codes, replace(votes_in_codes(codes), similarity=given_metric, cluster=cluster))

    def p_without(person: int, two: set[int]) -> float:
        units = defaultdict(list)
        for number, said in given.items():
            others = [each for each in said if each != person]
            pairs = [similarity[said[a], said[b]] for a, b in permutations(others, 2) if {a, b} != two]
            if person in said and pairs:
                own = np.mean([similarity[said[person], said[other]] for other in others])
                units[number // 3 if clusters else number].append(own - np.mean(pairs))
        sizes, sums = (np.array([size(each) for each in units.values()]) for size in (len, sum))
        mean, count = sums.sum() / sizes.sum(), len(sizes)
        error = np.sqrt(count / (count - 1) * ((sums - mean * sizes) ** 2).sum()) / sizes.sum()
        equal = sizes.sum() ** 2 / (sizes**2).sum()
        return float(stats.t.cdf(mean / error, equal - 1)) if equal >= 10 else 1.0

    def met(person: int, two: tuple[int, int]) -> int:
        return sum(len(said) > 2 and {person, *two} <= set(said) for said in given.values())

    items = [sum(len(said) > 2 and person in said for said in given.values()) for person in range(5)]
    for person in range(5):
        others = combinations(set(range(5)) - {person}, 2)
        expected = max(
            p_without(person, set(two)) for two in others if met(person, two) >= min(10, 0.1 * items[person])
        )
        found = _without_two(visits.where(visits.n > 2), person)
        is_cut_short = person > 0 and found == 1.0 and expected > ALPHA  # nobody could be named, whatever the p
        assert found == pytest.approx(expected, rel=1e-9) or is_cut_short


def test_somebody_who_always_differs_from_a_unanimous_rest_stands_out() -> None:
    rows = [(item, who, "x" if who else "y") for item in range(12) for who in range(4)]
    found = {row["annotator"]: row for row in spagree.measure(rows).annotators().rows(named=True)}
    assert found["0"]["against_others"] == -1 and found["0"]["stands_out"] is True
    assert found["0"]["against_others_low"] == -1 and found["0"]["against_others_high"] > -1
    assert found["1"]["against_others"] == pytest.approx(1 / 3) and found["1"]["stands_out"] is False


def test_of_three_people_two_who_copy_and_one_who_differs_look_the_same() -> None:
    rows = [(item, who, "x" if who else "y") for item in range(12) for who in range(3)]
    found = {row["annotator"]: row for row in spagree.measure(rows).annotators().rows(named=True)}
    assert found["0"]["against_others"] == -1
    assert found["0"]["stands_out"] is None and found["0"]["stands_out_undefined"] == OTHERS_ALIKE
    assert found["1"]["stands_out"] is False and found["1"]["stands_out_undefined"] is None


def project(random: np.random.Generator, careless: float = 0.0) -> Rows:
    """Ten people, twenty batches of fifteen items that differ in difficulty; a batch has three of them."""
    rows: Rows = []
    for batch in range(20):
        hard, people = random.normal(0, 1), random.choice(10, 3, replace=False)
        clear = 1 / (1 + np.exp(-1.2 - hard - random.normal(0, 0.5, 15)))
        right = random.random((15, 3)) < clear[:, None] * (1 - careless * (people == 0))
        labels = np.where(right, "x", random.choice(["y", "z"], (15, 3))).tolist()
        rows += [
            (f"{batch}-{item}", f"p{who}", label)
            for item, given in enumerate(labels)
            for who, label in zip(people, given, strict=True)
        ]
    return rows


def test_nobody_is_named_for_hard_batches() -> None:
    """Of 60 projects without a careless person, naming anybody in more than 8 has a probability below 0.01."""
    random = np.random.default_rng(7)
    named = sum(bool(spagree.measure(project(random)).annotators()["stands_out"].any()) for _ in range(60))
    assert named <= 8


def test_a_careless_person_is_named() -> None:
    random = np.random.default_rng(8)
    found = 0
    for _ in range(10):
        people = spagree.measure(project(random, careless=0.7)).annotators()
        found += "p0" in people.filter("stands_out")["annotator"].to_list()
    assert found >= 7


@pytest.mark.parametrize(("people", "items"), [(4, 100), (5, 400)])
def test_nobody_is_named_beside_two_who_copy_from_each_other(people: int, items: int) -> None:
    """Of 40 projects, naming an innocent in more than 6 has a probability below 0.01."""
    random = np.random.default_rng(people)
    named = doubted = 0
    for _ in range(40):
        truth = random.integers(0, 3, items)
        seen = random.random((items, people)) < 0.8
        labels = np.where(seen, truth[:, None], random.integers(0, 3, (items, people)))
        labels[:, 1] = labels[:, 0]
        rows = [(f"q{item}", f"p{who}", str(label)) for (item, who), label in np.ndenumerate(labels)]
        found = spagree.measure(rows).annotators()
        named += bool(found["stands_out"].any())
        doubted += OTHERS_ALIKE in found["stands_out_undefined"].to_list()
    assert named <= 6 and doubted >= 30


def test_the_table_says_beside_whom_two_others_agree_unusually_often(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(item, who, "x" if who != "cyd" else "y") for item in range(12) for who in ("ann", "bob", "cyd")]
    says = "less with cyd than with each other, perhaps only because two of them agree unusually often."
    spagree.measure(rows).report(tmp_path / "page.html")
    assert says in (tmp_path / "page.html").read_text("utf-8")
    (tmp_path / "rows.csv").write_text("\n".join(["item,annotator,label", *(",".join(map(str, row)) for row in rows)]))
    code, out, _ = Run(capsys)("annotators", tmp_path / "rows.csv")
    assert code == 0 and says in " ".join(out.split())


def shares(rows: list[tuple[int, int, int]], people: int) -> LabelShares:
    """Of (item, annotator, label), in any order and with any numbers for items."""
    item, annotator, label = np.array(sorted((item, label, who) for item, who, label in rows), dtype=np.int32).T[
        [0, 2, 1]
    ]
    dense = np.unique(item, return_inverse=True)[1].astype(np.int32)
    names = tuple(map(str, range(people)))
    return label_shares(Codes(dense, annotator, label, names, tuple(map(str, range(int(label.max()) + 1)))))


def test_shares_by_hand() -> None:
    rows = [(0, 0, 1), (1, 0, 1), (2, 0, 0), (0, 2, 0), (1, 2, 1), (0, -1, 1)]
    found = shares(rows, 4)
    assert found.commonest.tolist() == [1, -1, 0, -1]
    assert found.share[[0, 2]].tolist() == [2 / 3, 0.5] and np.isnan(found.share[[1, 3]]).all()
    assert found.one_label == [False] * 4


def test_the_probability_is_that_of_all_arrangements() -> None:
    """Two items with labels (a, a, b) and (a, b, b): shuffle each item, count how often person 0 says a twice."""
    labels = [(0, 0, 1), (0, 1, 1)]
    hits = sum(one == other == 0 for one, other in product(*labels))
    rows = [(item, person, label) for item, given in enumerate(labels) for person, label in enumerate(given)]
    assert hits / 9 == pytest.approx(2 / 9)
    many = [(item + 2 * turn, person, label) for turn in range(4) for item, person, label in rows]
    found = shares(many, 3)
    assert found.share[0] == 1.0 and (2 / 9) ** 4 * 3 < 0.05
    assert found.one_label[0] is True


def test_who_sees_easy_items_only_is_not_named() -> None:
    rows = [(item, person, 0) for item in range(50) for person in range(3)]
    rows += [(50 + item, person, item % 2) for item in range(50) for person in (3, 4, 5)]
    assert shares(rows, 6).one_label == [False] * 6


def test_nobody_is_named_on_a_single_shared_item() -> None:
    rows = [(0, 0, 0)] + [(0, person, 1) for person in range(1, 40)]
    assert not any(shares(rows, 40).one_label)


def test_somebody_who_always_says_yes_is_named() -> None:
    rng = np.random.default_rng(8)
    rows = [
        (item, f"p{person}", "yes" if person == 0 or rng.random() < 0.5 else "no")
        for item in range(80)
        for person in rng.choice(6, 3, replace=False)
    ]
    found = spagree.measure(rows).annotators()
    named = {row["annotator"]: row for row in found.rows(named=True)}
    assert named["p0"]["one_label"] and named["p0"]["commonest"] == "yes" and named["p0"]["commonest_share"] == 1.0
    assert not any(row["one_label"] for name, row in named.items() if name != "p0")


def test_a_label_that_was_not_fixed_beforehand_counts_for_all_that_could_have_been() -> None:
    """Five items split between two labels: giving one of them throughout has probability 2/32, not 1/32."""
    rows = [(item, person, person) for item in range(5) for person in range(2)]
    assert not any(shares(rows, 2).one_label)
    rows = [(item, person, person) for item in range(7) for person in range(2)]  # 2/128, twice
    assert shares(rows, 2).one_label == [True, True]


def test_everybody_who_could_be_named_counts_in_the_family() -> None:
    """Two people give one label each to eight split items: p = 2/256. Among twelve with such items that is no news."""
    pair = [(item, side, side) for item in range(8) for side in range(2)]
    assert shares(pair, 2).one_label == [True, True]
    others = [
        (100 * team + item, 2 * team + side, (item + side) % 2)
        for team in range(1, 6)
        for item in range(8)
        for side in range(2)
    ]
    assert not any(shares([*pair, *others], 12).one_label)


def test_people_alike_with_few_split_items_are_rarely_named() -> None:
    """Twenty people, seven items each in pairs: without the correction somebody is named in most of these."""
    rng = np.random.default_rng(11)
    wrong = 0
    for _ in range(200):
        rows = [
            (60 * (person // 2) + item, person, int(rng.random() < 0.5)) for person in range(20) for item in range(7)
        ]
        wrong += any(shares(rows, 20).one_label)
    assert wrong / 200 <= 0.05
