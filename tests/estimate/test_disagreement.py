"""Where all disagreement comes from: shares that add up to 1 - SPA, under every scheme, metric and engine."""

from __future__ import annotations

import sys
from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import sqrt

import polars
import polars as pl
import pytest
from hypothesis import given

import spagree
from breakdown_oracle import THREE_ITEMS, Rows, by_item, class_agreement, close, rows_of
from examples import examples
from oracle import exactly
from spagree.counts.tally import Tally
from spagree.errors import Absent, known
from spagree.estimate.anytime import change_of, check_target
from spagree.estimate.disagreement import ALONE, ONE_ITEM, Disagreement, consensus, option_agreement
from spagree.estimate.missingness import AgreementAt, in_ranges
from spagree.estimate.uncertainty import Estimate, wilson
from spagree.estimate.votes import votes, votes_of_items

ITEMS = {"q1": "aab", "q2": "ab", "q3": "abc", "q4": "aaaa", "q5": "bbcc", "q6": "cc", "q7": "a"}
ROWS = [(item, f"p{who}", label) for item, labels in ITEMS.items() for who, label in enumerate(labels)]
METRICS = {"nominal": {}, "ordinal": {"order": ["a", "b", "c"]}, "linear": {"order": ["a", "b", "c"]}}


def exact_share(item: str, weight: dict[int, Fraction]) -> Fraction:
    """k(n)·(1 − P) of an item over that of all, from the definition."""

    def added(labels: str) -> Fraction:
        pairs = list(combinations(labels, 2))
        apart = sum(one != other for one, other in pairs)
        return weight[len(labels)] * Fraction(apart, len(pairs))

    total = sum(added(labels) for labels in ITEMS.values() if len(labels) > 1)
    return added(ITEMS[item]) / total


@pytest.mark.parametrize("weights", ["flat", "annotations_m1", "edge"])
def test_shares_of_items_follow_the_definition(weights: str) -> None:
    k = {
        "flat": dict.fromkeys((2, 3, 4), Fraction(1)),
        "annotations_m1": {n: Fraction(n - 1) for n in (2, 3, 4)},
        "edge": {n: Fraction(n * (n - 1), 2) for n in (2, 3, 4)},
    }[weights]
    found = spagree.measure(ROWS, weights=weights).disputed(100)
    assert dict(found.select("item", "share").rows()) == {
        item: pytest.approx(float(exact_share(item, k))) for item in ("q1", "q2", "q3", "q5")
    }
    assert found["share"].to_list() == pytest.approx(sorted(found["share"], reverse=True))


@pytest.mark.parametrize("weights", spagree.SCHEMES)
@pytest.mark.parametrize("metric", METRICS)
def test_shares_add_up_and_unanimous_items_are_never_among_them(weights: str, metric: str) -> None:
    found = spagree.measure(ROWS, weights=weights, metric=metric, **METRICS[metric])
    items = found.disputed(100)
    classes = found.confusion()
    assert items["share"].sum() == pytest.approx(1) and classes["share"].sum() == pytest.approx(1)
    assert classes["expected"].sum() == pytest.approx(1)
    assert set(items["item"]) == {"q1", "q2", "q3", "q5"} and items["agreement"].max() < 1


def test_a_metric_ranks_by_how_far_labels_lie_apart() -> None:
    rows = [
        (f"q{place}", who, label) for place, pair in enumerate(("12", "15", "55")) for who, label in enumerate(pair)
    ]
    found = spagree.measure(rows, metric="interval").disputed()
    assert found["item"].to_list() == ["q1", "q0"]
    assert found["share"].to_list() == pytest.approx([16 / 17, 1 / 17])


def test_ties_are_broken_by_the_commonest_confusion_not_by_name() -> None:
    labels = ["xz", "xy", "xy", "xy", "yz"]
    rows = [(f"q{place}", who, label) for place, pair in enumerate(labels) for who, label in enumerate(pair)]
    assert spagree.measure(rows).disputed(3)["item"].to_list() == ["q1", "q2", "q3"]


def test_every_engine_finds_the_same_items_with_their_text() -> None:
    frame = polars.DataFrame(ROWS, schema=["item", "annotator", "label"], orient="row")
    frame = frame.with_columns(polars.format("Text {}", "item").alias("text"))
    sources = (frame, frame.lazy(), frame.to_pandas(), frame.to_arrow())
    found = [spagree.measure(source, text="text").disputed(3).rows() for source in sources]
    assert all(each == found[0] for each in found) and len(found[0]) == 3
    assert spagree.measure(frame, text="text").disputed(1)["text"].to_list() == ["Text q3"]


def test_a_few_disputed_items_are_the_first_of_all() -> None:
    drawn = spagree.simulate(items=400, annotators=9, per_item=(2, 5), quality=(0.4, 1.0), seed=4)
    found = spagree.measure(drawn.frame)
    everything, few = found.disputed(10_000), found.disputed(7)
    assert few["share"].to_list() == everything["share"].head(7).to_list()
    assert everything["share"].sum() == pytest.approx(1)
    with pytest.raises(spagree.UsageError, match=exactly("disputed(0): how many items to list, 1 or more")):
        found.disputed(0)


def test_answers_to_the_disputed_items() -> None:
    said = known(spagree.measure(ROWS).breakdowns(["answers"]).answers)
    given = said.filter(polars.col("item") == "q1").select("annotator", "label", "count").sort("annotator").rows()
    assert given == [("p0", "a", 1), ("p1", "a", 1), ("p2", "b", 1)]
    counts = polars.DataFrame({"item": ["q1", "q2"], "a": [2, 1], "b": [1, 3]})
    table = known(spagree.measure(counts, format="counts").breakdowns(["answers"]).answers)
    assert sorted(table.select("item", "label", "count").rows()) == [
        ("q1", "a", 2), ("q1", "b", 1), ("q2", "a", 1), ("q2", "b", 3)
    ]  # fmt: skip
    assert table["annotator"].is_null().all() and table["time"].is_null().all()


def test_full_agreement_and_tallies_have_nothing_to_rank() -> None:
    same = spagree.measure([(item, who, "x") for item in range(5) for who in "ab"])
    assert same.disputed().is_empty() and same.confusion().is_empty()
    with pytest.raises(
        spagree.UsageError, match=exactly("a tally holds no single items; measure the annotations themselves")
    ):
        spagree.measure(spagree.tally("example:sparse")).disputed()


def test_very_many_classes_leave_ties_as_they_are() -> None:
    rows = [(item, who, f"c{item}-{who}") for item in range(600) for who in range(2)]
    found = spagree.measure(rows).disputed(5)
    assert found.height == 5 and found["share"].to_list() == pytest.approx([1 / 600] * 5)


def test_a_pair_is_named_only_beyond_chance() -> None:
    pairs = {"xy": 30, "xz": 2, "yz": 2, "xx": 20, "yy": 20, "zz": 20}
    tally = Tally.from_items(
        [{one: 2} if one == other else {one: 1, other: 1} for (one, other), size in pairs.items() for _ in range(size)]
    )
    found = votes(tally)
    assert found is not None
    classes = Disagreement(found, {2: Fraction(1)}).classes().rows(named=True)
    assert (classes[0]["class"], classes[0]["other"], classes[0]["more"]) == ("x", "y", True)
    assert [row["more"] for row in classes[1:]] == [False, False]
    assert classes[0]["share"] == pytest.approx(30 / 34)


@pytest.mark.parametrize("seed", range(6))
def test_of_two_classes_no_pair_exceeds_what_chance_explains(seed: int) -> None:
    """All disagreement is between them, and by chance too: no last bit may decide."""
    frame = spagree.simulate(items=70, annotators=7, per_item=(2, 6), classes=2, seed=seed).frame
    assert spagree.measure(frame).confusion().select("share", "expected", "more").rows() == [(1.0, 1.0, False)]


# Options ---------------------------------------------------------------------------------------


def test_agreement_on_an_option_is_spa_of_chosen_or_not() -> None:
    sets = {"q1": [["a"], ["a", "b"], ["b"]], "q2": [["a", "c"], ["a"]], "q3": [[], ["c"]]}
    rows = [(item, who, spagree_list(options)) for item, given in sets.items() for who, options in enumerate(given)]
    found = spagree.measure(rows, metric="jaccard")
    options = known(found.breakdowns(["options"]).options)
    assert sorted(options["option"]) == ["a", "b", "c"]
    for option, agreement in options.select("option", "agreement").rows():
        chosen = [(item, who, option in given) for item, all_ in sets.items() for who, given in enumerate(all_)]
        assert agreement == pytest.approx(spagree.measure(chosen).spa.value)
    expected, value, kappa = options.select("expected", "agreement", "kappa").row(0)
    assert kappa == pytest.approx((value - expected) / (1 - expected))
    plain = spagree.measure([("q", "a", "x"), ("q", "b", "y")]).breakdowns(["options"]).options
    assert isinstance(plain, Absent)


def spagree_list(options: list[str]) -> str:
    return "[" + ", ".join(f'"{option}"' for option in options) + "]"


def test_an_option_that_all_choose_has_no_kappa() -> None:
    found = votes(Tally.from_items([{'["a"]': 2}, {'["a"]': 3}]))
    assert found is not None
    row = option_agreement(found, {2: Fraction(1), 3: Fraction(1)}).rows(named=True)[0]
    assert (row["agreement"], row["kappa"], row["few"]) == (1.0, None, True)


def test_chance_agreement_on_an_option_by_hand() -> None:
    """Of six annotations one chose b and four chose a."""
    found = votes(Tally.from_items([{'["a"]': 1, '["a", "b"]': 1}, {'["a"]': 2}, {"[]": 2}]))
    assert found is not None
    b, a = option_agreement(found, {2: Fraction(1)}).rows(named=True)
    assert (b["expected"], b["kappa"]) == pytest.approx((26 / 36, (24 - 26) / (36 - 26)))
    assert (a["expected"], a["kappa"]) == pytest.approx((20 / 36, 1))


def test_options_on_few_items_come_last() -> None:
    chosen = [{'["a"]': 2}] * 20 + [{'["a"]': 1, '["b"]': 1}] * 10 + [{'["b"]': 2}] * 20
    found = votes(Tally.from_items([*chosen, {'["c"]': 1, '["a"]': 1}]))
    assert found is not None
    rows = option_agreement(found, {2: Fraction(1)})
    assert rows["option"].to_list()[-1] == "c" and rows["few"].to_list() == [False, False, True]
    assert rows["kappa"][-1] < rows["kappa"][0]


# Ranges of numbers -----------------------------------------------------------------------------


def at(n: int, items: int, value: float, stderr: float | None = 0.1) -> AgreementAt:
    reason = None if stderr is not None else "one item"
    ends = (None, None) if stderr is None else (max(0.0, value - 0.2), min(1.0, value + 0.2))
    return AgreementAt(n, items, Estimate(value, stderr, *ends, 0.95, "flat", undefined=reason), items)


def test_few_numbers_stay_apart_and_many_become_ranges() -> None:
    few = [at(n, 10, 0.5) for n in (2, 3, 7)]
    assert [row.name for row in in_ranges(few)] == ["2", "3", "7"]
    many = in_ranges([at(n, n, n / 20) for n in range(2, 13)])
    assert [row.name for row in many] == ["2", "3", "4–7", "8–12"]
    assert many[2].items == 4 + 5 + 6 + 7
    assert many[2].agreement.value == pytest.approx(sum(n * n / 20 for n in range(4, 8)) / 22)
    assert many[2].agreement.low is not None and many[2].agreement.low < many[2].agreement.value


def test_single_items_borrow_how_items_differ_from_the_others() -> None:
    rows = [at(n, 10, 0.5) for n in range(2, 10)] + [at(12, 1, 0.4, None), at(17, 1, 0.4, None), at(19, 1, 0.4, None)]
    found = {row.name: row.agreement for row in in_ranges(rows)}
    assert found["8–12"].stderr == pytest.approx((10 * 10 * 0.01 * 2 + 10 * 0.01) ** 0.5 / 21)
    assert found["17–19"].stderr is None and found["17–19"].undefined == "one item"


# Since last time -------------------------------------------------------------------------------


def test_a_change_needs_two_errors() -> None:
    one, other = {"value": 0.5, "stderr": 0.03}, {"value": 0.53, "stderr": 0.04, "level": 0.95}
    found = change_of(one, other)
    assert found is not None and found.value == pytest.approx(0.03) and not found.is_clear
    assert found.high - found.low == pytest.approx(2 * 1.959964 * 0.05, rel=1e-5)
    assert change_of({"value": None}, other) is None and change_of({"value": 0.5, "stderr": None}, other) is None
    lower = change_of({"value": 0.9, "stderr": 0.01}, other)
    assert lower is not None and lower.is_clear and lower.high < 0


@pytest.mark.parametrize("target", [-0.1, 1.1, float("nan"), "0.7"])
def test_a_target_is_an_agreement(target: object) -> None:
    with pytest.raises(
        spagree.UsageError, match=exactly(f"target {target!r}: agreement lies between 0 and 1; for example 0.7 for 70%")
    ):
        check_target(target)  # type: ignore[arg-type]


@pytest.mark.parametrize("metric", METRICS)
def test_items_are_the_same_where_the_data_lives_and_in_codes(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = polars.DataFrame(ROWS, schema=["item", "annotator", "label"], orient="row")
    frame = frame.with_columns(text=polars.format("about {}", "item"), time=polars.int_range(polars.len()))
    options = {"metric": metric, "text": "text", "time": "time", **METRICS[metric]}
    here = spagree.measure(frame, **options)
    in_codes = here.disputed(5), known(here.breakdowns(["answers"]).answers)
    monkeypatch.setattr("spagree.estimate.breakdowns.MOST_FROM_A_CLUSTER", 0)
    there = spagree.measure(frame, **options)
    where_it_lives = there.disputed(5), known(there.breakdowns(["answers"]).answers)
    assert in_codes[0].equals(where_it_lives[0]) and "text" in in_codes[0].columns
    assert in_codes[1].sort("item", "annotator").equals(where_it_lives[1].sort("item", "annotator"))


def test_votes_of_many_combinations_of_labels_come_from_the_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = spagree.measure(ROWS)
    monkeypatch.setattr(sys.modules["spagree.counts.count"], "MOST_PATTERNS", 0)
    found = spagree.measure(ROWS)
    assert found.evidence.tally.patterns is None
    assert found.classes().equals(expected.classes()) and found.disputed(5).equals(expected.disputed(5))
    assert found.confusion().equals(expected.confusion())


def test_votes_of_every_item_have_the_shares_of_the_patterns() -> None:
    """In any order of rows, with numbers as labels: the groups are the items in their order."""
    counts = polars.DataFrame(
        {"item": ["q9", "q1", "q9", "q5", "q1"], "label": [10, 2, 9, 2, 9], "count": [1, 3, 2, 2, 1]}
    )
    found = votes_of_items(counts)
    assert found.labels == ("10", "2", "9") and found.items.tolist() == [1.0, 1.0, 1.0]
    entries = list(zip(found.group.tolist(), found.label.tolist(), found.count.tolist(), strict=True))
    assert entries == [(0, 1, 3.0), (0, 2, 1.0), (1, 1, 2.0), (2, 0, 1.0), (2, 2, 2.0)]
    assert found.n.tolist() == [4.0, 2.0, 3.0]
    empty = votes_of_items(counts.clear())
    assert empty.labels == () and len(empty.items) == 0


def test_classes_that_are_never_confused_make_an_empty_table_of_the_same_kind() -> None:
    rows = [("q1", "ann", "a"), ("q1", "bob", "a"), ("q2", "ann", "b"), ("q2", "bob", "b")]
    none, some = (spagree.measure(each).confusion() for each in (rows, ROWS))
    assert len(none) == 0 < len(some) and none.schema == some.schema


def test_classes_that_agree_in_full_are_not_confused() -> None:
    rows = [
        (item, who, label) for item, pair in enumerate((("a|b", "b|a"), ("a|b", "c"))) for who, label in enumerate(pair)
    ]
    confused = spagree.measure(rows, metric="jaccard").confusion()
    assert confused.select("class", "other").rows() == [("a|b", "c")]


CLASS_ROWS = [*THREE_ITEMS, ("q4", "cyd", "other")]


@given(rows_of())
@examples(30)
def test_every_class_against_brute_force(rows: Rows) -> None:
    found = spagree.measure(rows).classes()
    assert sorted(found["class"]) == sorted({said for _, _, said in rows})
    for row in found.rows(named=True):
        label = row["class"]
        given = [item for item, _, said in rows if said == label]
        assert (row["annotations"], row["items"]) == (len(given), len(set(given)))
        assert row["share"] == pytest.approx(len(given) / len(rows))
        assert row["agreement"] == close(class_agreement(rows, label))


@given(rows_of(4, 4, "vwxyz"))
@examples(30)
def test_confusion_against_brute_force(rows: Rows) -> None:
    """Every pair of different labels on one item, weighted as the item is: its share of all of these."""
    found = spagree.measure(rows).confusion()
    lost: dict[frozenset[str], Fraction] = {}
    items: dict[frozenset[str], set[str]] = {}
    for item, each in by_item(rows).items():
        for (_, one), (_, other) in combinations(each, 2):
            if one != other:
                pair = frozenset((one, other))
                lost[pair] = lost.get(pair, Fraction(0)) + Fraction(1, len(each))  # k(n) = n - 1, over n(n - 1) pairs
                items.setdefault(pair, set()).add(item)
    rows_found = {frozenset((row["class"], row["other"])): row for row in found.rows(named=True)}
    assert rows_found.keys() == lost.keys()
    for pair, row in rows_found.items():
        assert row["share"] == pytest.approx(float(lost[pair] / sum(lost.values())), abs=1e-11)
        assert row["items"] == len(items[pair])
    assert found["share"].is_sorted(descending=True)


def test_the_standard_error_is_that_of_a_ratio() -> None:
    """x = n_c and y = n_c(n_c − 1)/(n − 1) per item: se = √(m/(m−1) Σ(y − Rx)²)/Σx, and Wilson on top."""
    row = spagree.measure(CLASS_ROWS).classes().filter(pl.col("class") == "no").row(0, named=True)
    x, y = [1, 2, 1], [0.0, 2.0, 0.0]
    ratio = sum(y) / sum(x)
    stderr = sqrt(3 / 2 * sum((b - ratio * a) ** 2 for a, b in zip(x, y, strict=True))) / sum(x)
    assert row["agreement"] == ratio and row["stderr"] == pytest.approx(stderr, abs=1e-15)
    limits = wilson(ratio, stderr, sum(x) ** 2 / sum(a * a for a in x), 0.95)
    assert (row["low"], row["high"]) == pytest.approx(limits, abs=1e-14)


def test_classes_that_cannot_be_judged_come_last_with_a_reason() -> None:
    found = spagree.measure(CLASS_ROWS).classes()
    other = found.row(-1, named=True)
    assert (other["class"], other["agreement"], other["undefined"]) == ("other", None, ALONE)
    once = spagree.measure([("q1", "a", "x"), ("q1", "b", "y"), ("q2", "a", "y"), ("q2", "b", "y")]).classes()
    row = once.filter(pl.col("class") == "x").row(0, named=True)
    assert (row["agreement"], row["stderr"], row["low"], row["undefined"]) == (0.0, None, None, ONE_ITEM)


def test_well_founded_classes_come_first_least_agreement_first() -> None:
    many = [(f"q{i}", who, "x" if i % 2 else "y") for i in range(40) for who in "ab"]
    mixed = [
        *many,
        ("r", "a", "z"),
        ("r", "b", "x"),
        ("s", "a", "y"),
        ("s", "b", "x"),
        ("t", "a", "x"),
        ("t", "b", "z"),
    ]
    found = spagree.measure(mixed).classes()
    assert found["class"].to_list() == ["x", "y", "z"] and found["few"].to_list() == [False, False, True]
    assert found["agreement"].to_list() == pytest.approx([40 / 43, 40 / 41, 0])


def test_one_class_and_no_annotation() -> None:
    row = (
        spagree.measure([("q1", "a", "x"), ("q1", "b", "x"), ("q2", "a", "x"), ("q2", "b", "x")])
        .classes()
        .row(0, named=True)
    )
    assert (row["agreement"], row["share"], row["stderr"], row["high"]) == (1.0, 1.0, 0.0, 1.0) and row["low"] < 1
    empty = spagree.measure(
        pl.DataFrame({"item": [None], "label": ["x"]}, schema={"item": pl.String, "label": pl.String})
    )
    assert empty.classes().height == 0 and empty.confusion().height == 0
    assert empty.classes().schema["class"] == pl.String


def test_a_metric_counts_near_labels_as_partial_agreement() -> None:
    rows = [("q1", "a", "1"), ("q1", "b", "2"), ("q2", "a", "1"), ("q2", "b", "3"), ("q3", "a", "3"), ("q3", "b", "3")]
    found = spagree.measure(rows, metric="linear").classes()
    values = dict(found.select("class", "agreement").rows())
    assert values == {"1": pytest.approx(0.25), "2": pytest.approx(0.5), "3": pytest.approx(2 / 3)}


ITEM_ROWS = [
    ("few", "a", "x"),
    ("few", "b", "y"),
    *(("many", who, who) for who in "abcd"),
    ("fine", "a", "x"),
    ("fine", "b", "x"),
    ("half", "a", "x"),
    ("half", "b", "x"),
    ("half", "c", "y"),
    ("single", "a", "x"),
]
FRAME = polars.DataFrame(ITEM_ROWS, schema=["item", "annotator", "label"], orient="row")
WORST = [
    ("many", 4, 0.0, "a ×1, b ×1, c ×1, d ×1"),
    ("few", 2, 0.0, "x ×1, y ×1"),
    ("half", 3, 1 / 3, "x ×2, y ×1"),
    ("fine", 2, 1.0, "x ×2"),
]


def worst(source: object, most: int = 20) -> list[tuple[object, ...]]:
    found = spagree.measure(source).hardest(most)
    return found.select("item", "annotations", "agreement", "votes").rows()


def test_least_agreement_first_and_of_equals_more_annotations_first() -> None:
    assert worst(ITEM_ROWS) == WORST
    found = spagree.measure(ITEM_ROWS)
    assert [found.hardest(most).height for most in (1, 3, 1)] == [1, 3, 1]
    assert worst(ITEM_ROWS, 2) == WORST[:2]


def test_the_distribution_counts_every_pairable_item() -> None:
    found = spagree.measure(ITEM_ROWS).distribution()
    assert found.rows() == [(2, 0.0, 1), (2, 1.0, 1), (3, 1 / 3, 1), (4, 0.0, 1)]


def test_the_distribution_follows_the_metric() -> None:
    rows = [(1, "a", "1"), (1, "b", "2"), (2, "a", "1"), (2, "b", "3"), (3, "a", "2"), (3, "b", "1")]
    found = spagree.measure(rows, metric="interval")
    assert found.distribution().rows() == [(2, 0.0, 1), (2, 0.75, 2)]
    assert spagree.measure(rows).distribution().rows() == [(2, 0.0, 3)]


@pytest.mark.parametrize("busiest", [2, 5, 25, 100])
def test_pairs_of_the_busiest_equal_the_same_pairs_of_everybody(busiest: int) -> None:
    found = spagree.measure("example:sparse")
    made = Counter({row["annotator"]: row["annotations"] for row in found.annotators().rows(named=True)})
    chosen = sorted(made, key=lambda name: (-made[name], name))[:busiest]
    both = polars.col("annotator").is_in(chosen) & polars.col("other").is_in(chosen)
    assert found.pairs(busiest=busiest).equals(found.pairs().filter(both))


def votes_frame(*items: dict[str, int]) -> polars.DataFrame:
    rows = [(number, label, count) for number, item in enumerate(items) for label, count in item.items()]
    return polars.DataFrame(rows, schema=["item", "label", "count"], orient="row")


def test_majorities_and_ties() -> None:
    found = consensus(votes_frame({"b": 2, "a": 1}, {"a": 1, "b": 1, "c": 1}, {"c": 1}, {"a": 2, "b": 2, "c": 1}))
    assert found.rows() == [
        (0, "b", None, 3, 2 / 3),
        (1, None, "a | b | c", 3, 1 / 3),
        (2, "c", None, 1, 1.0),
        (3, None, "a | b", 5, 0.4),
    ]


def test_item_counts_have_a_consensus_and_tallies_do_not() -> None:
    rows = [(1, "ann", "yes"), (1, "bob", "yes"), (2, "ann", "no"), (2, "bob", "yes")]
    by_item = spagree.measure(spagree.count_items(rows)).consensus()
    assert by_item["label"].to_list() == ["yes", None] and by_item["tied"].to_list() == [None, "no | yes"]
    with pytest.raises(
        spagree.UsageError, match=exactly("a tally holds no single items; measure the annotations themselves")
    ):
        spagree.measure(spagree.tally(rows)).consensus()


def test_disagreement_needs_weights_for_the_numbers_that_occur_only() -> None:
    rows = [(item, who, "ab"[item * who % 2]) for item in range(12) for who in range(3)]
    own, flat = (spagree.measure(rows, weights=weights) for weights in ({3: 0.7}, "flat"))
    assert own.confusion().rows() == flat.confusion().rows() and own.disputed().rows() == flat.disputed().rows()
