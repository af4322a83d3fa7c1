"""Checks are values: each state by a data set that must have it, and the same in JSON and on the page."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import spagree
from spagree.errors import Absent, UsageError
from spagree.estimate import Findings, find
from spagree.estimate.breakdowns import Breakdowns
from spagree.estimate.checks import (
    Check,
    assumption,
    beyond_chance,
    checks,
    coverage,
    left_out,
    overlap,
    precision,
)
from spagree.estimate.checks import weights as of_weights
from spagree.estimate.pairs import Bridge, Overlap, Team
from spagree.estimate.uncertainty import Interval, leading

Items = list[dict[str, int]]


def by_code(agreement: spagree.Agreement) -> dict[str, Check]:
    return {check.code: check for check in checks(agreement.summed_up())}


def measured(items: Items) -> spagree.Agreement:
    return spagree.measure(spagree.Tally.from_items(items))


def test_a_good_data_set_is_fine() -> None:
    found = by_code(spagree.measure("example:sparse"))
    of_items = ["precision", "coverage", "assumption", "weights", "beyond_chance"]
    codes = [*of_items, "overlap", "annotators", "labels", "left_out"]
    assert {code: check.state for code, check in found.items()} == dict.fromkeys(codes, "fine")


@pytest.mark.parametrize(("items", "state"), [(4, "problem"), (60, "problem"), (200, "look"), (2_000, "fine")])
def test_precision(items: int, state: str) -> None:
    found = by_code(measured([{"a": 2} if i % 2 else {"a": 1, "b": 1} for i in range(items)]))["precision"]
    assert found.state == state and found.figures["items"] == items


def test_no_interval_and_no_items() -> None:
    one = by_code(measured([{"a": 2}]))
    assert (one["precision"].state, one["precision"].figures["half_width"]) == ("problem", None)
    assert one["beyond_chance"].state == "cannot_tell"
    none = by_code(spagree.measure([("q1", "ann", "x"), ("q2", "ann", "x")]))
    assert none["coverage"] == Check("coverage", "problem", {"share": 0.0})
    assert none["weights"].state == none["assumption"].state == "cannot_tell"


@pytest.mark.parametrize(
    ("items", "code", "state"),
    [
        ([{"a": 2}] * 4 + [{"a": 1}] * 6, "coverage", "look"),  # most items have one annotation
        ([{"a": 2}, {"b": 2}, {"a": 1, "b": 1}], "assumption", "fine"),  # equal numbers cannot break it
        ([{"a": 2}, {"a": 1, "b": 1}, {"a": 2, "b": 1}], "assumption", "cannot_tell"),  # three items say nothing
        ([{"a": 2}] * 80 + [{"a": 1, "b": 1}] * 20 + [{"a": 2, "b": 2}] * 100, "assumption", "problem"),
        ([{"a": 2}] * 300 + [{"a": 10, "b": 10}] * 100, "weights", "problem"),
        ([{"yes": 2}, {"yes": 1, "no": 1}, {"no": 2}], "weights", "fine"),  # equal numbers, however few items
    ],
)
def test_states_by_the_items_alone(items: Items, code: str, state: str) -> None:
    found = by_code(measured(items))[code]
    assert found.state == state
    if code == "coverage":
        assert found.figures == {"share": 0.4}
    elif code == "assumption":
        assert (found.figures["p"] is None) == (state == "fine")
    elif state == "fine":
        assert found.figures["lowest"] == found.figures["highest"]


def test_the_smallest_difference_is_detected_with_a_power_of_80_percent() -> None:
    """A difference of that size between items with two and with four annotations, drawn by hand."""
    random = np.random.default_rng(7)

    def drawn(agree: float, n: int, items: int) -> Items:
        """Items on which all agree, or split as evenly as can be."""
        return [{"a": n} if random.random() < agree else {"a": n // 2, "b": n - n // 2} for _ in range(items)]

    def project(fall: float) -> spagree.Agreement:
        # A split item of two agrees 0, of four 1/3: the same share of full agreement makes both groups comparable.
        return measured(drawn(0.6, 2, 150) + drawn(1 - (0.4 + fall) * 1.5, 4, 150))

    seen = by_code(project(0.0))["assumption"].figures["smallest_seen"]
    assert seen is not None and 0.05 < seen < 0.3
    noticed = np.mean([(project(seen).missingness.p or 1) < 0.05 for _ in range(150)])
    assert 0.65 < noticed < 0.95


def test_the_smallest_difference_is_between_two_halves_of_the_items() -> None:
    """As many items with two, three, four and five annotations: two of these numbers in each half."""
    items: Items = []
    for n, split in ((2, 2), (3, 5), (4, 8), (5, 3)):
        items += [{"a": n}] * (20 - split) + [{"a": n - 1, "b": 1}] * split
    found = measured(items)
    errors = [row.agreement.stderr or 0.0 for row in found.missingness.by_n]
    halves = [sum((error / 2) ** 2 for error in half) for half in (errors[:2], errors[2:])]
    seen = by_code(found)["assumption"].figures["smallest_seen"]
    assert seen == pytest.approx((1.96 + 0.84) * sum(halves) ** 0.5)


def test_most_items_with_the_fewest_annotations_still_make_two_sides() -> None:
    items = [{"a": 2}, {"a": 1, "b": 1}] * 50 + [{"a": 3}, {"a": 2, "b": 1}] * 3
    assert by_code(measured(items))["assumption"].figures["smallest_seen"] is not None
    other = [{"a": 2}, {"a": 1, "b": 1}] * 3 + [{"a": 3}, {"a": 2, "b": 1}] * 50
    assert by_code(measured(other))["assumption"].figures["smallest_seen"] is not None


@pytest.mark.parametrize(("share", "state"), [(0.5, "problem"), (1.0, "fine")])
def test_beyond_chance(share: float, state: str) -> None:
    random = np.random.default_rng(3)
    items = []
    for _ in range(400):
        first = random.integers(2)
        second = first if random.random() < 2 * share - 1 else random.integers(2)
        items.append(dict(Counter(f"c{c}" for c in (first, second))))
    kappa = by_code(measured(items))["beyond_chance"]
    assert kappa.state == state and abs((kappa.figures["kappa"] or 0) - (2 * share - 1)) < 0.15


ALIKE = [{"a": 2}] * 30 + [{"a": 1, "b": 1}] * 20 + [{"a": 3, "b": 1}] * 15 + [{"a": 4}] * 15 + [{"b": 2}] * 20
FEW = [{"yes": 2}, {"yes": 1, "no": 2}, {"no": 3}, {"yes": 4}]


def test_a_handful_of_items_is_not_fine() -> None:
    """Four items: no check that needs many items calls them fine, and each says what it would have seen."""
    found = by_code(measured(FEW))
    unsure = ("assumption", "weights", "beyond_chance")
    assert [found[name].state for name in unsure] == ["cannot_tell"] * 3
    assert found["precision"].state == "problem"
    assert found["assumption"].figures["smallest_seen"] is None, "no two numbers of annotations can be compared"
    assert all((found[name].figures["smallest_seen"] or 0) > 0.6 for name in ("weights", "beyond_chance"))


def test_schemes_that_differ_by_less_than_would_be_seen_are_not_apart() -> None:
    found = by_code(measured([{"a": 2}] * 300 + [{"a": 10, "b": 10}] * 100))["weights"].figures
    assert (found["highest"] or 0) - (found["lowest"] or 0) > (found["smallest_seen"] or 1)
    found = by_code(measured(ALIKE))["weights"].figures
    assert (found["highest"] or 1) - (found["lowest"] or 0) < (found["smallest_seen"] or 0)


def test_the_smallest_kappa_is_detected_with_a_power_of_80_percent() -> None:
    """Items with a kappa of exactly the size that the check of such a data set says it would see."""
    random, size = np.random.default_rng(4), 300
    kappa = 2.8 / np.sqrt(size)
    found = 0
    for _ in range(200):
        first = random.integers(2, size=size)
        second = np.where(random.random(size) < kappa, first, random.integers(2, size=size))
        items = [dict(Counter(f"c{c}" for c in pair)) for pair in zip(first.tolist(), second.tolist(), strict=True)]
        check = by_code(measured(items))["beyond_chance"]
        assert check.figures["smallest_seen"] == pytest.approx(kappa, rel=0.15)
        found += abs(check.figures["kappa"] or 0) > 1.96 * (check.figures["smallest_seen"] or 0) / 2.8
    assert 0.7 < found / 200 < 0.9


def test_what_was_left_out() -> None:
    rows: list[tuple[Any, ...]] = [("q1", "ann", "x"), ("q1", "bob", "x"), ("q2", "ann", None), ("q3", "bob", "y")]
    found = left_out(spagree.measure(rows).findings)
    assert found == Check("left_out", "look", {"share": 0.25, "annotations": 1, "single": 1})
    nothing = left_out(spagree.measure([("q1", "ann", None)]).findings)
    assert nothing.figures["share"] == 1.0
    assert left_out(measured([])).figures["share"] == 0.0


def test_overlap_is_judged_if_it_was_computed() -> None:
    def team(names: str, start: int) -> list[tuple[int, str, str]]:
        return [(start + i, name, "xy"[i % 2]) for i in range(10) for name in names]

    apart = spagree.measure(team("ab", 0) + team("cd", 100))
    assert by_code(apart)["overlap"].state == "problem"
    thin = spagree.measure(team("abc", 0) + team("def", 100) + [(200, "a", "x"), (200, "d", "x")])
    assert by_code(thin)["overlap"].state == "look"
    unknown = by_code(measured([{"a": 2}] * 3))["overlap"]
    assert unknown.state == "cannot_tell" and "a tally does not say who annotated" in str(unknown.reason)
    assert by_code(spagree.measure(team("abcd", 0)))["overlap"].state == "fine"


# Both intervals ------------------------------------------------------------------------------


def test_both_intervals_are_there_where_everybody_is_named_and_the_one_for_others_leads() -> None:
    for weights in ("annotations_m1", "edge", {n: float(n) for n in range(2, 6)}):
        each = {
            whom: spagree.measure("example:sparse", weights=weights, interval_for=whom).to_dict()
            for whom in ("auto", "items", "annotators")
        }
        both = each["auto"]["spa"]["intervals"]
        assert both["annotators"]["high"] - both["annotators"]["low"] > both["items"]["high"] - both["items"]["low"]
        leads = {"auto": "annotators", "items": "items", "annotators": "annotators"}
        for whom, found in each.items():
            for figure in (found["spa"], *found["chance"].values()):
                shown = {name: figure[name] for name in ("low", "high", "stderr")}
                assert (figure["interval_for"], shown) == (leads[whom], figure["intervals"][leads[whom]])
            assert found["spa"]["intervals"] == both


@pytest.mark.parametrize(("people", "word"), [("ab", "two"), ("abc", "three")])
def test_fewer_than_four_annotators_say_nothing_about_others(people: str, word: str) -> None:
    rows = [(i, name, "xy"[(i + (name == "b")) % 2] if i % 3 else "x") for i in range(12) for name in people]
    found = spagree.measure(rows).to_dict()
    why = f"{word} annotators cannot show how annotators differ; that takes four"
    for figure in (found["spa"], *found["chance"].values()):
        assert figure["intervals"]["annotators"] == {"low": None, "high": None, "stderr": None, "undefined": why}
        assert (figure["interval_for"], figure["low"]) == ("items", figure["intervals"]["items"]["low"])
    forced = spagree.measure(rows, interval_for="annotators").spa
    assert (forced.value, forced.low, forced.undefined) == (found["spa"]["value"], None, why)
    four = spagree.measure([*rows, *((i, who, "x") for i in range(12) for who in "cde"[len(people) - 2 :])]).spa
    assert four.interval_for == "annotators" and four.low is not None


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("counts", "annotations"),
        ("unknown", "the annotator of 1 annotation is unknown"),
        ("kept", "a tally does not say who annotated"),
        ("bootstrap", "a bootstrap resamples items only"),
        ("weights", "custom weights"),
    ],
)
def test_the_interval_for_others_says_why_it_cannot_be(source: str, why: str) -> None:
    rows: list[tuple[Any, ...]] = [(i, name, "xy"[i % 2]) for i in range(12) for name in "abcd"]
    made = {
        "counts": lambda: measured([{"x": 2}, {"x": 1, "y": 1}]),
        "unknown": lambda: spagree.measure([*rows, (0, None, "x")]),
        "kept": lambda: spagree.measure(spagree.count_items(rows)),
        "bootstrap": lambda: spagree.measure(rows, bootstrap=200),
        "weights": lambda: spagree.measure(rows, weights={4: 1.0}),
    }
    found = made[source]()
    both = found.to_dict()["spa"]["intervals"]
    assert found.spa.interval_for == "items"
    assert both["items"] == {"low": found.spa.low, "high": found.spa.high, "stderr": found.spa.stderr}
    assert (both["annotators"]["low"], both["annotators"]["high"], both["annotators"]["stderr"]) == (None, None, None)
    assert why in both["annotators"]["undefined"]


def test_without_agreement_there_are_no_intervals() -> None:
    assert spagree.measure([(i, "a", "x") for i in range(3)]).to_dict()["spa"]["intervals"] == {}


def test_few_and_many_annotations_give_the_same_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    few = spagree.measure("example:sparse").to_dict()["spa"]["intervals"]
    monkeypatch.setattr("spagree.estimate.breakdowns.FEW", 0)
    assert spagree.measure("example:sparse").to_dict()["spa"]["intervals"] == few
    for module in ("estimate.breakdowns", "measuring", "counts.fetch"):
        monkeypatch.setattr(f"spagree.{module}.MOST_TO_FETCH", 10)
    many = spagree.measure("example:sparse").to_dict()["spa"]["intervals"]
    assert many["items"] == few["items"] and many["annotators"] == pytest.approx(few["annotators"])


# Exactly at the limits ------------------------------------------------------------------------


def found(items: Items) -> Findings:
    return find(spagree.Tally.from_items(items))


@pytest.mark.parametrize(("half", "state"), [(0.05, "fine"), (0.0501, "look"), (0.2, "look"), (0.2001, "problem")])
def test_precision_at_its_limits(half: float, state: str) -> None:
    findings = found(FEW)
    items, others = Interval(None, 0.0, half), Interval(None, 0.0, 2 * half)
    spa = leading(findings.spa, {"items": items, "annotators": others})
    at = precision(Breakdowns(replace(findings, spa=spa)))
    widths = {"half_width": half, "half_width_items": half / 2, "half_width_annotators": half}
    unknown = dict.fromkeys(("annotators", "busiest_share", "half", "half_share"))
    assert at == Check("precision", state, {**widths, "items": 4, **unknown})


@pytest.mark.parametrize(("items", "state"), [(9, "cannot_tell"), (10, "fine")])
def test_ten_items_can_tell_about_assumption_and_of_weights(items: int, state: str) -> None:
    findings = found(ALIKE)
    some = replace(findings, data=replace(findings.data, pairable_items=items))
    assert assumption(some) == Check("assumption", state, assumption(findings).figures)
    assert of_weights(some) == Check("weights", state, of_weights(findings).figures)


@pytest.mark.parametrize(("p", "state"), [(0.0499, "look"), (0.05, "fine")])
def test_the_assumption_is_doubtful_below_five_percent(p: float, state: str) -> None:
    findings = found(ALIKE)
    test = replace(findings.missingness, p=p)
    assert assumption(replace(findings, missingness=test)).state == state


def test_the_figures_of_the_weights_are_those_of_the_outermost_schemes() -> None:
    findings = found(ALIKE)
    lowest = min(findings.schemes.values(), key=float)
    highest = max(findings.schemes.values(), key=float)
    seen = max((lowest.high or 0) - float(lowest), float(highest) - (highest.low or 0))
    figures = {"lowest": lowest.value, "highest": highest.value, "smallest_seen": seen}
    assert of_weights(findings) == Check("weights", "fine", figures)
    unknown = {name: leading(each, {"items": Interval(None, None, None)}) for name, each in findings.schemes.items()}
    assert of_weights(replace(findings, schemes=unknown)).figures == {**figures, "smallest_seen": None}
    nothing = dict.fromkeys(("lowest", "highest", "smallest_seen"))
    assert of_weights(found([{"a": 1}])) == Check("weights", "cannot_tell", nothing)


@pytest.mark.parametrize(
    ("low", "high", "state"),
    [
        (0.0, 0.4, "problem"),
        (0.0, 0.41, "cannot_tell"),
        (0.01, 0.41, "fine"),
        (None, 0.41, "cannot_tell"),
        (0.01, None, "cannot_tell"),
    ],
)
def test_beyond_chance_at_its_limits(low: float | None, high: float | None, state: str) -> None:
    findings = found(ALIKE)
    kappa = replace(findings.chance["krippendorff_alpha"], value=0.2, low=low, high=high, stderr=0.1, expected=0.5)
    figures = {"kappa": 0.2, "low": low, "high": high, "expected": 0.5, "smallest_seen": pytest.approx(0.28)}
    at = beyond_chance(replace(findings, chance={**findings.chance, "krippendorff_alpha": kappa}))
    assert at == Check("beyond_chance", state, figures)


def test_a_tenth_left_out_is_fine_and_half_the_items_are_coverage_enough() -> None:
    findings = found([{"a": 2}] * 4 + [{"a": 1}])
    tenth = replace(findings, data=replace(findings.data, left_out={"missing_label": 1}))
    assert left_out(tenth) == Check("left_out", "fine", {"share": 0.1, "annotations": 1, "single": 1})
    more = replace(findings, data=replace(findings.data, left_out={"missing_label": 1, "repeated": 1}))
    assert left_out(more) == Check("left_out", "look", {"share": 2 / 11, "annotations": 2, "single": 1})
    assert coverage(found([{"a": 2}, {"a": 1}])) == Check("coverage", "fine", {"share": 0.5})
    assert coverage(found([])) == Check("coverage", "problem", {"share": None})


TWO, THREE = Team(("a", "b"), 8), Team(("c", "d", "e"), 9)


@pytest.mark.parametrize(
    ("graph", "state", "fewest"),
    [
        (Overlap(2, (TWO,), (), (), 0), "fine", None),
        (Overlap(2, (), (), ("a", "b"), 2), "cannot_tell", None),
        (Overlap(5, (THREE, TWO), (), (), 0), "problem", None),
        (Overlap(5, (THREE, TWO), (), (), 0, unknown=1), "look", None),
        (Overlap(2, (TWO,), (), (), 0, unknown=1), "look", None),
        (Overlap(5, (TWO,), (Bridge(THREE, 4), Bridge(TWO, 3)), (), 0), "look", 3),
        (Overlap(3, (TWO,), (), ("f",), 1, alone_annotations=1), "fine", None),
        (Overlap(3, (TWO,), (), ("f",), 1, alone_annotations=2), "look", None),
    ],
)
def test_every_way_to_be_connected(graph: Overlap, state: str, fewest: int | None) -> None:
    hundred = found([{"a": 2}] * 50)
    assert overlap(Breakdowns(hundred, overlap=graph)) == Check(
        "overlap",
        state,
        {
            "teams": len(graph.teams),
            "fewest_shared": fewest,
            "alone": len(graph.alone),
            "alone_share": graph.alone_annotations / 100,
            "unknown": graph.unknown,
        },
    )
    assert overlap(Breakdowns(hundred, overlap=Absent(UsageError("no names")))) == Check(
        "overlap", "cannot_tell", {}, "no names"
    )
