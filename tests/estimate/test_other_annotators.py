"""Intervals for other annotators: every variance by leaving out one thing at a time, in exact rationals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given

import spagree
from breakdown_oracle import Rows, by_item, item_agreement, rows_of, shared, spa, without
from examples import examples
from oracle import exactly
from spagree.estimate.findings import find
from spagree.estimate.other_annotators import ONE_NEEDED, Others, Spread
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS, steadied, wilson
from spagree.estimate.votes import item_groups

ROWS = [
    (f"q{i}", who, said)
    for i, labels in enumerate(["xxx.", "xxy.", "yyyx", ".xyx", "xx.x", ".yxy", "x.x.", "yyxy"])
    for who, said in zip(("ann", "bob", "cyd", "dan"), labels, strict=True)
    if said != "."
]
Weight = Callable[[int], Fraction]
WEIGHTS: dict[str, Weight] = {"annotations_m1": lambda n: Fraction(n - 1), "edge": lambda n: Fraction(n * (n - 1), 2)}


def jackknife(values: Iterable[Fraction]) -> Fraction:
    found = list(values)
    mean = sum(found, Fraction()) / len(found)
    return Fraction(len(found) - 1, len(found)) * sum((each - mean) ** 2 for each in found)


def variances(rows: Rows, k: Weight) -> dict[str, Fraction] | None:
    """Each variance by hand; None where SPA does not exist without somebody."""
    pairable = {item: said for item, said in by_item(rows).items() if len(said) > 1}
    used = [row for row in rows if row[0] in pairable]
    people = sorted({who for _, who, _ in used})
    rests = [spa(without(used, who), k) for who in people]
    if any(rest is None for rest in rests):
        return None
    whole = spa(used, k) or Fraction()
    total = sum((k(len(said)) for said in pairable.values()), Fraction())
    spread = sum((k(len(said)) * (item_agreement(said) - whole)) ** 2 for said in pairable.values())
    singles = [spa([row for row in used if row != out], k) for out in used]
    met = [both for one, other in combinations(people, 2) if (both := shared(used, one, other))]
    apart = sum((len(both) * (share(both) - whole)) ** 2 for both in met)
    return {
        "items": Fraction(len(pairable), len(pairable) - 1) * spread / total**2,
        "annotators": jackknife(rest for rest in rests if rest is not None),
        "annotations": jackknife(single for single in singles if single is not None),
        "pairs": Fraction(len(met), max(1, len(met) - 1)) * apart / sum(map(len, met)) ** 2,
    }


def share(said: list[tuple[str, str]]) -> Fraction:
    return Fraction(sum(one == other for one, other in said), len(said))


def equal(sizes: Iterable[Fraction | int]) -> float:
    found = list(sizes)
    return float(Fraction(sum(found)) ** 2 / sum(Fraction(each) ** 2 for each in found))


def spread_of(rows: Rows, weights: str) -> Spread | None:
    """What the program finds."""
    evidence = spagree.measure(rows, weights=weights).evidence
    others, by_n = evidence.others, evidence.by_n()
    assert isinstance(others, Others)
    figure = find(evidence.tally, weights).spa
    items = float(figure.stderr or 0) ** 2
    without = others.figure(lambda _, units: others.sizes.without(units, by_n))
    return others.spread(without, items, 1.0, 1.0, others.between_pairs(float(figure)))


@pytest.mark.parametrize("weights", WEIGHTS)
@given(rows_of(7, 5, "xy").filter(lambda rows: sum(len(said) > 1 for said in by_item(rows).values()) > 1))
@examples(25)
def test_every_variance_is_exact(weights: str, rows: Rows) -> None:
    found, exact = spread_of(rows, weights), variances(rows, WEIGHTS[weights])
    if exact is None or found is None:
        assert found is None and exact is None
        return
    assert {name: getattr(found, name) for name in exact} == pytest.approx(
        {name: float(each) for name, each in exact.items()}, rel=1e-11, abs=1e-15
    )
    crossed = exact["items"] + exact["annotators"] - exact["annotations"]
    if found.teams == 0:
        assert found.variance == pytest.approx(
            float(max(exact["items"], crossed, exact["pairs"])), rel=1e-11, abs=1e-15
        )


def implied_beyond(rows: Rows) -> float:
    """What the variance over items gains where the agreement implies more than the items show."""
    tally = spagree.tally(rows)
    groups = item_groups(tally)
    figure = find(tally).spa
    return steadied(float(figure), figure.stderr or 0.0, groups, groups.n - 1.0) ** 2 - (figure.stderr or 0.0) ** 2


@given(rows_of(6, 4, "xy").filter(lambda rows: sum(len(said) > 1 for said in by_item(rows).values()) > 1))
@examples(25)
def test_the_interval_is_that_of_the_largest_variance(rows: Rows) -> None:
    found, exact = spagree.measure(rows).spa, variances(rows, WEIGHTS["annotations_m1"])
    items, others = found.intervals[ITEMS], found.intervals[ANNOTATORS]
    busy = {who: sum(each == who for _, each, _ in pairable(rows)) for who in {who for _, who, _ in pairable(rows)}}
    if len(busy) < 4 or exact is None or others.undefined:
        assert others.low is None and others.undefined and found.interval_for == ITEMS
        assert len(busy) < 4 or others.undefined == ONE_NEEDED or "teams" in others.undefined
        return
    variance = float(max(exact["items"], exact["items"] + exact["annotators"] - exact["annotations"], exact["pairs"]))
    assert others.stderr == found.stderr == pytest.approx(sqrt(variance), abs=1e-12)
    equal_items = equal(len(said) - 1 for said in by_item(rows).values() if len(said) > 1)
    freedom = min(equal_items, equal(busy.values())) - 1
    low, high = wilson(float(found), sqrt(variance + implied_beyond(rows)), equal_items, 0.95, freedom)
    expected = (min(low, items.low or 0), max(high, items.high or 1))
    assert (found.low, found.high) == (others.low, others.high) == pytest.approx(expected, abs=1e-9)


def pairable(rows: Rows) -> Rows:
    sizes = {item: len(said) for item, said in by_item(rows).items()}
    return [row for row in rows if sizes[row[0]] > 1]


def test_two_schools_of_thought_are_seen_in_who_meets_whom() -> None:
    """Nobody differs from the others, and yet agreement depends on who meets whom."""
    rows = [
        (i, who, "xy"[(i % 2) ^ (school and i % 5 < 2)]) for i in range(80) for who, school in SCHOOLS if met(i, who)
    ]
    found = spread_of([(f"q{item}", who, said) for item, who, said in rows], "annotations_m1")
    assert found is not None
    assert found.variance == found.pairs > 2 * max(found.items, found.annotators)


SCHOOLS = [("a", 0), ("b", 0), ("c", 1), ("d", 1)]


def met(item: int, who: str) -> bool:
    return who in list(combinations("abcd", 2))[item % 6]


# Teams that never met ------------------------------------------------------------------------


def of_teams(teams: int, items: int = 12) -> list[tuple[str, str, str]]:
    """Teams of three that share no item; every other team agrees fully."""
    return [
        (f"t{team}-{item}", f"t{team}-{who}", "x" if team % 2 or (item + who) % 3 else "y")
        for team in range(teams)
        for item in range(items)
        for who in range(3)
    ]


def test_people_of_teams_that_never_met_are_spoken_of_as_a_team() -> None:
    found = spagree.measure(of_teams(4))
    assert found.findings.teams == 4
    assert "Two random annotators of one team agree on a random item" in str(found)
    others = found.evidence.others
    assert isinstance(others, Others)
    within = [
        float(spa([row for row in of_teams(4) if row[0].startswith(f"t{team}")], WEIGHTS["edge"]) or 0)
        for team in range(4)
    ]
    mean = sum(within) / 4
    between = sum((each - mean) ** 2 for each in within) / 3 / 4  # of four teams of equal size
    assert found.spa.stderr == pytest.approx(sqrt(between))
    assert found.spa.stderr > 3 * (found.spa.intervals[ITEMS].stderr or 1)


@pytest.mark.parametrize(("teams", "word"), [(2, "two"), (3, "three")])
def test_fewer_than_four_teams_say_nothing_about_others(teams: int, word: str) -> None:
    others = spagree.measure(of_teams(teams)).spa.intervals[ANNOTATORS]
    assert others.undefined == f"{word} teams that share no item cannot show how teams differ; that takes four"


def test_a_few_strays_do_not_make_a_team_of_everybody_else() -> None:
    rows = [*of_teams(1, 60), *((f"t0-{item}", "dan", "x") for item in range(60)), ("z", "eve", "x"), ("z", "fay", "y")]
    found = spagree.measure(rows)
    assert found.findings.teams == 1 and found.spa.interval_for == ANNOTATORS


# What is shown -------------------------------------------------------------------------------


def test_it_is_never_narrower_than_for_items() -> None:
    rows = spagree.simulate(items=150, annotators=8, per_item=(2, 3), quality=(0.3, 1.0), seed=4).frame
    found = spagree.measure(rows.select("item", "annotator", "label"))
    for figure in (*found.schemes.values(), *found.chance.values()):
        items, others = figure.intervals[ITEMS], figure.intervals[ANNOTATORS]
        assert figure.interval_for == ANNOTATORS and (figure.low, figure.high) == (others.low, others.high)
        assert (others.stderr or 0) > (items.stderr or 1)
        assert (others.low or 1) < (items.low or 0) and (others.high or 0) > (items.high or 1)
    assert found.spa == found.schemes["annotations_m1"]


def calibration(random: np.random.Generator) -> Rows:
    """Ten people: 95 items with two of them, five that everybody labelled, nearly perfect agreement."""
    people = [random.choice(10, 2, replace=False).tolist() for _ in range(95)] + [list(range(10))] * 5
    return [
        (f"q{item}", f"p{who}", "x" if random.random() < 0.99 else "y")
        for item, those in enumerate(people)
        for who in those
    ]


def test_own_weights_and_the_level_are_respected() -> None:
    own = spagree.measure(ROWS, weights=lambda n: n - 1)
    named = spagree.measure(ROWS)
    assert own.spa.stderr == pytest.approx(named.spa.stderr)
    assert own.spa.weights == "custom" and own.spa.interval_for == ANNOTATORS
    half = spagree.measure(ROWS, level=0.5).spa
    assert (half.low or 0) > (named.spa.low or 1) and half.stderr == named.spa.stderr


def test_perfect_agreement_keeps_a_width_that_depends_on_the_number_of_annotators() -> None:
    def low(annotators: int) -> float:
        rows = [(f"q{i}", f"a{(i + j) % annotators}", "xy"[i % 2]) for i in range(60) for j in range(3)]
        found = spagree.measure(rows, interval_for="annotators").spa
        assert (found.value, found.stderr, found.high) == (1.0, 0.0, 1.0)
        return found.low or 0.0

    assert low(4) < low(6) < low(20) < 1
    assert low(4) == pytest.approx(wilson(1.0, 0.0, 60, 0.95, 3)[0])


def test_annotators_without_overlap_and_single_items_change_nothing() -> None:
    found, more = (spagree.measure(rows, interval_for="annotators").spa for rows in (ROWS, [*ROWS, ("z", "zoe", "x")]))
    assert found == more


@pytest.mark.parametrize("rows", [ROWS[:2], [("q1", "ann", "x")]])
def test_nothing_to_generalise_from_keeps_its_reason(rows: Rows) -> None:
    plain, wide = (spagree.measure(rows, interval_for=each).spa for each in ("items", "annotators"))
    assert (wide.value, wide.undefined) == (plain.value, plain.undefined)


def test_what_cannot_be_done_is_refused() -> None:
    with pytest.raises(
        spagree.UsageError,
        match=exactly(
            "unknown value of interval_for=\"anotators\"; did you mean 'annotators'? Known: auto, items, annotators"
        ),
    ):
        spagree.measure(ROWS, interval_for="anotators")
    with pytest.raises(
        spagree.UsageError,
        match=exactly('bootstrap= resamples items only; leave it out with interval_for="annotators"'),
    ):
        spagree.measure(ROWS, interval_for="annotators", bootstrap=200)


@pytest.mark.parametrize(
    ("source", "options", "reason"),
    [
        (
            spagree.count_items(ROWS),
            {},
            "a tally does not say who annotated which item; measure the annotations themselves",
        ),
        (
            np.array([[2, 0], [1, 1]]),
            {"format": "counts"},
            "the annotators are unknown; name their column with annotator=",
        ),
        ([*ROWS, ("q0", None, "x")], {}, "the annotator of 1 annotation is unknown"),
    ],
)
def test_an_interval_asked_for_that_does_not_exist_says_why(source: Any, options: dict[str, Any], reason: str) -> None:
    found = spagree.measure(source, interval_for="annotators", **options).spa
    assert (found.low, found.stderr, found.undefined, found.interval_for) == (None, None, reason, ANNOTATORS)
    assert found.value is not None and found.intervals[ITEMS].low is not None


def test_a_metric_is_respected() -> None:
    rows = [(item, who, {"x": "1", "y": "3"}[said]) for item, who, said in ROWS]
    nominal, linear = (
        spagree.measure(rows, metric=each, interval_for="annotators").spa for each in ("nominal", "linear")
    )
    assert linear.stderr == pytest.approx(nominal.stderr) and linear.low == pytest.approx(nominal.low)


def test_coverage_for_new_annotators_is_near_what_it_says() -> None:
    """A small version of docs/studies/other-annotators.md: ten annotators, quality from 0.5 to 1."""
    random = np.random.default_rng(1)
    truth = 0.75**2 + (1 - 0.75**2) / 3
    hits = {"items": 0, "annotators": 0}
    for _ in range(60):
        quality = random.uniform(0.5, 1, 10)
        rows = []
        for item in range(200):
            for who in random.permutation(10)[:2]:
                said = 0 if random.random() < quality[who] else random.integers(0, 3)
                rows.append((item, int(who), int(said)))
        frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
        for kind, found in spagree.measure(frame).spa.intervals.items():
            hits[kind] += (found.low or 0) <= truth <= (found.high or 1)
    assert hits["annotators"] / 60 >= 0.9 > hits["items"] / 60


# A scale that is made from the labels ----------------------------------------------------------


@pytest.mark.parametrize("weights", WEIGHTS)
@given(rows_of(6, 4, "1234").filter(lambda rows: sum(len(said) > 1 for said in by_item(rows).values()) > 2))
@examples(25)
def test_without_an_item_the_ordinal_scale_is_made_again(weights: str, rows: Rows) -> None:
    def value(some: Rows) -> float | None:
        return spagree.measure(some, metric="ordinal", weights=weights).spa.value

    items = dict.fromkeys(item for item, _, _ in pairable(rows))
    rests = [value([row for row in rows if row[0] != item]) for item in items]
    found = spagree.measure(rows, metric="ordinal", weights=weights).spa.intervals[ITEMS]
    left = np.array([0.0 if rest is None else rest for rest in rests])
    exact = (len(left) - 1) / len(left) * ((left - left.mean()) ** 2).sum()
    assert found.stderr == pytest.approx(sqrt(exact), abs=1e-9)


def test_without_a_cluster_the_ordinal_scale_is_made_again() -> None:
    random = np.random.default_rng(3)
    rows = [(f"q{i}", who, str(random.integers(1, 6)), f"d{i // 3}") for i in range(18) for who in "abc"[: 1 + i % 3]]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "doc"], orient="row")
    found = spagree.measure(frame, cluster="doc", metric="ordinal").spa.intervals[ITEMS]
    left = np.array(
        [
            float(spagree.measure(frame.filter(pl.col("doc") != doc).drop("doc"), metric="ordinal").spa)
            for doc in frame["doc"].unique()
        ]
    )
    assert found.stderr == pytest.approx(sqrt((len(left) - 1) / len(left) * ((left - left.mean()) ** 2).sum()))


def test_a_declared_scale_stays() -> None:
    rows = [(f"q{i}", who, str(1 + (i * 3 + place * (i % 2)) % 4)) for i in range(8) for place, who in enumerate("ab")]
    linear = spagree.measure(rows, metric="linear").spa
    groups_error = spagree.measure(rows, metric="linear", order=list("1234")).spa
    assert linear.stderr == groups_error.stderr
