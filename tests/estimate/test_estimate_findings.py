"""Findings: what was counted, and every warning where it belongs and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from oracle import BARS, parse, tally_of
from spagree.counts.count import Counted, ItemCounts
from spagree.counts.policies import Clean, Policies
from spagree.counts.tally import Cell, Tally
from spagree.errors import Message, Warning
from spagree.estimate import (
    SCHEMES,
    AgreementAt,
    Bootstrap,
    Data,
    Estimate,
    Findings,
    Missingness,
    PerItem,
    Weights,
    find,
)
from spagree.estimate.findings import REMEDY, _assumption, near_chance
from spagree.estimate.uncertainty import Interval, leading
from spagree.estimate.votes import ItemGroups

GOOD = parse("aaa aab aaa abb bbb bba aaa bbb aba abb aaa bbb")


def warnings(found: Findings) -> dict[str, str]:
    assert len({warning.code for warning in found.warnings}) == len(found.warnings)
    return {warning.code: warning.message for warning in found.warnings}


def codes(items: list[list[str]], weights: str = "annotations_m1") -> list[str]:
    return list(warnings(find(tally_of(items), weights)))


# What was counted -------------------------------------------------------------------------------------


def test_data_describes_the_tally() -> None:
    tally = Tally(
        {Cell(3, 2, 0): 2, Cell(2, 2, 0): 1, Cell(1, 0, 0): 2},
        {"a": 6, "b": 3, "c": 1},
        {"a": 6, "b": 2},
        {"ann": 6, "bob": 4},
        {"missing_label": 3},
    )
    assert find(tally).data == Data(
        items=5,
        annotations=10,
        annotators=2,
        classes=3,
        pairable_items=3,
        unpairable_items=2,
        pairable_annotations=8,
        annotations_per_item=PerItem(1, 2, 3),
        labels={"a": 6, "b": 3, "c": 1},
        left_out={"missing_label": 3},
    )


def test_annotators_are_none_when_unknown_and_counted_when_known() -> None:
    assert find(tally_of(GOOD)).data.annotators is None
    assert find(Tally({}, {}, {}, {})).data.annotators == 0


def test_an_empty_tally_has_no_annotations_per_item() -> None:
    data = find(Tally()).data
    assert (data.items, data.annotations, data.classes, data.annotations_per_item) == (0, 0, 0, None)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12))
@examples(30)
def test_annotations_per_item_equal_those_of_the_expanded_list(sizes: list[int]) -> None:
    found = find(tally_of([["a"] * n for n in sizes])).data.annotations_per_item
    assert found == PerItem(min(sizes), median(sizes), max(sizes))


def test_labels_are_listed_by_size_then_by_name() -> None:
    assert list(find(tally_of(parse("zb zba zz"))).data.labels.items()) == [("z", 4), ("b", 2), ("a", 1)]
    assert list(find(tally_of(parse("ba"))).data.labels) == ["a", "b"]


def test_spa_is_the_chosen_scheme() -> None:
    for scheme in SCHEMES:
        found = find(tally_of(parse(BARS)), scheme)
        assert found.spa == found.schemes[scheme]
        assert found.spa.weights == scheme
        assert list(found.schemes) == list(found.weights) == list(SCHEMES)
        assert all(found.weights[name].scheme == name for name in SCHEMES)
    assert find(tally_of(parse(BARS))).spa.weights == "annotations_m1"
    assert find(tally_of(parse(BARS))).spa.level == 0.95


# Warnings ----------------------------------------------------------------------------------------------


def test_good_data_gives_no_caution() -> None:
    for scheme in SCHEMES:
        assert codes(GOOD, scheme) == []


EASY_THEN_HARD = parse("aa bb aa bb aa bb aa bb aa bb") * 3 + parse("aabb abab abba aabb abba") * 4
HARD_THEN_EASY = parse("ab ab ab ba ab ba ab ab ba ba") * 3 + parse("aaaa bbbb aaaa bbbb aaab") * 4


@pytest.mark.parametrize(("items", "direction"), [(EASY_THEN_HARD, "less"), (HARD_THEN_EASY, "more")])
def test_a_broken_assumption_is_reported_with_its_direction(items: list[list[str]], direction: str) -> None:
    found = find(tally_of(items))
    assert found.missingness.broken
    assert warnings(found)["missingness"] == (
        f"annotators agree {direction} on items with more annotations, by more than chance explains: SPA's assumption "
        f"that the number of annotations is independent of agreement does not hold here. {Message(REMEDY)}"
    )
    assert found.warnings[0].code == "missingness"


def test_schemes_that_diverge_are_named_and_others_are_not() -> None:
    found = find(tally_of(EASY_THEN_HARD))
    apart = "the weighting schemes differ by more than their intervals allow (edge lowest, flat highest), so the "
    assert warnings(found)["schemes_diverge"] == (
        f"{apart}figure depends on the choice of weights. It is a symptom of the same cause."
    )
    assert found.schemes["edge"].high < found.schemes["flat"].value
    assert found.schemes["flat"].low > found.schemes["edge"].value
    assert "(flat lowest, edge highest)" in warnings(find(tally_of(HARD_THEN_EASY)))["schemes_diverge"]
    assert [warning.code for warning in found.warnings][:2] == ["missingness", "schemes_diverge"]
    within = find(tally_of(parse("aa bb aa bb ab aa aab aabb abab aab abb aaa")))
    assert within.schemes["flat"].value - within.schemes["edge"].value > 0.05
    assert "schemes_diverge" not in warnings(within)


def test_one_item_items_annotated_once_and_few_items_are_questioned() -> None:
    assert codes(parse("aab")) == codes(parse("a")) == ["one_item"]
    assert warnings(find(tally_of(parse("a"))))["one_item"] == (
        "all annotations belong to one item; is the item column right?"
    )
    assert "one_item" not in codes(parse("aab b"))
    found = warnings(find(tally_of(parse("a b c"))))
    assert found == {"all_items_once": "every annotation has a different item; is the item column right?"}
    assert "all_items_once" not in codes(parse("a b cc"))
    found = warnings(find(tally_of(GOOD[:9])))
    assert found == {"few_items": "only 9 items have two annotations, so the figure is rough"}
    assert codes(GOOD[:10]) == [] and "few_items" in codes(parse("ab a"))


def test_a_few_items_that_outweigh_the_rest_are_named() -> None:
    """Three items with fifty annotations among sixty: (3·49 + 57)²/(3·49² + 57) = 5.7 of equal weight."""
    often = [["a"] * 40 + ["b"] * 10] * 3
    rest = [["a", "a"], ["a", "b"], ["b", "b"]] * 19
    found = warnings(find(tally_of(often + rest)))
    assert found["few_items_decide"] == (
        "3 of 60 items, with 50 annotations or more, carry 72% of the weight, so the interval is as wide as for 6 "
        'equally weighted items; weight all items equally (weights="flat"), or annotate more items as often'
    )
    assert "few_items_decide" not in warnings(find(tally_of(often + rest), "flat"))
    assert "few_items_decide" not in codes(often * 4 + rest)  # twelve of them are enough
    assert "few_items_decide" not in codes(parse("aaaaa ab ab aa bb aab abb ab aa bb bb"))


def test_coverage_below_half_is_a_warning() -> None:
    half = GOOD + [["a"]] * len(GOOD)
    assert codes(half) == []
    found = warnings(find(tally_of([*half, ["b"]])))
    assert found == {
        "low_coverage": "fewer than half of the items have two annotations; if they were chosen at random that is "
        "fine, otherwise the figure describes only those"
    }
    assert codes(parse("ab a b")) == ["few_items", "low_coverage"]
    assert "low_coverage" not in codes(parse("a b c"))


def test_one_class_is_a_warning() -> None:
    found = warnings(find(tally_of(parse("aa aaa aa aa aa aaaa aa aa aa aa b"))))
    told = "all items with two or more annotations carry the same label, so agreement can only be 1. If an empty cell means "
    assert found == {"one_class": told + "another label, such as no, write that label into it"}


@pytest.mark.parametrize("scheme", ["inv_var", "inv_var_class"])
def test_fallback_weights_are_a_warning_only_if_the_scheme_is_chosen(scheme: str) -> None:
    tally = tally_of([["a"] * 2] * 12)
    found = warnings(find(tally, scheme))
    assert list(found) == ["weights_fallback", "one_class"]
    assert found["weights_fallback"] == (
        f"{scheme}: all annotations carry one label, so the variance is 0 and its inverse undefined; "
        "edge, its limit, is used"
    )
    assert "weights_fallback" not in warnings(find(tally))
    assert "weights_fallback" not in warnings(find(tally, lambda n: n))


def test_more_labels_than_half_the_annotations_are_questioned() -> None:
    items = [[f"text {n}", f"text {n}"] for n in range(12)]
    assert codes(items) == []
    assert warnings(find(tally_of([*items, ["one", "other"]]))) == {
        "many_classes": "14 different labels in 26 annotations: is the label column right, or are these free text, "
        "which has no classes to agree on?"
    }
    numbers = [[f"{n}.5", f"{n}.5"] for n in range(12)]
    assert warnings(find(tally_of([*numbers, ["1", "2"]]))) == {
        "many_classes": "14 different labels in 26 annotations: is the label column right, or are these measurements "
        '(metric="interval")?'
    }
    assert codes([["1", "2"], ["3", "4"], ["5", "6"], ["7", "8"], ["9", "9"]] * 2) == ["number_labels"], "nine, not ten"


def test_labels_that_are_numbers_are_questioned_from_three_on() -> None:
    assert codes(parse("11 12 11 22 22") * 2) == []
    assert warnings(find(tally_of(parse("11 12 11 22 33") * 2))) == {
        "number_labels": "the labels are numbers, and are compared as names: 1 and 2 differ as much as 1 and 5. If they "
        'are points on a scale, use metric="ordinal" (or interval)'
    }
    assert codes(parse("11 12 11 22 3x") * 2) == []


def figure(value: float | None, low: float | None, high: float | None) -> Estimate:
    items = Interval(None if low is None else 0.1, low, high)
    return leading(Estimate(value, None, None, None, 0.95, "flat"), {"items": items})


WIDE_HIGH, WIDE_LOW = figure(0.6, 0.3, 0.9), figure(0.4, 0.1, 0.7)
NARROW_HIGH, NARROW_LOW = figure(0.6, 0.55, 0.65), figure(0.4, 0.35, 0.45)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (NARROW_LOW, NARROW_HIGH, True),
        (NARROW_LOW, WIDE_HIGH, False),
        (WIDE_LOW, NARROW_HIGH, False),
        (WIDE_LOW, WIDE_HIGH, False),
        (figure(0.4, 0.3, 0.6), NARROW_HIGH, False),
        (NARROW_LOW, figure(0.6, 0.4, 0.7), False),
        (figure(0.0, 0.0, 0.3), NARROW_HIGH, True),
        (figure(0.4, None, None), NARROW_HIGH, False),
    ],
)
def test_schemes_diverge_when_each_lies_outside_the_interval_of_the_other(
    low: Estimate, high: Estimate, said: bool
) -> None:
    schemes = {"middle": figure(0.5, 0.4, 0.6), "low": low, "high": high}
    found = (*_assumption(schemes, Missingness(None, None, ())),)
    told = (
        "the weighting schemes differ by more than their intervals allow (low lowest, high highest), so the figure "
        f"depends on the choice of weights. {REMEDY}"
    )
    assert found == ((Warning("schemes_diverge", told),) if said else ())


SLOTTED = [AgreementAt, Bootstrap, Clean, Counted, Data, Estimate, Findings, Missingness, PerItem, Policies, Weights]


@pytest.mark.parametrize("record", [*SLOTTED, ItemCounts, ItemGroups, Tally])
def test_records_are_frozen_and_most_hold_nothing_else(record: type) -> None:
    assert record.__dataclass_params__.frozen
    assert record not in SLOTTED or "__slots__" in vars(record)


def test_agreement_near_chance_is_a_warning() -> None:
    """Half of the pairs agree where two labels are equally common; enough items to tell, or too few."""
    even = parse("aa bb ab ab")
    assert warnings(find(tally_of(even * 25))) == {
        "near_chance": "agreement is 0.500, and labels picked blindly, each as often as it was used here, would reach "
        "0.497: people hardly agree beyond chance; report a coefficient alongside SPA"
    }
    assert "near_chance" not in warnings(find(tally_of(even * 2)))
    assert "near_chance" not in warnings(find(tally_of(parse("aa bb aa ab") * 25)))
    assert "near_chance" not in warnings(find(tally_of(parse("aa aa") * 25)))


@pytest.mark.parametrize(
    ("items", "value", "low", "said"),
    [
        (10, 0.05, 0.0, True),
        (9, 0.05, 0.0, False),
        (10, 0.1, 0.0, False),
        (10, 0.099, 0.0, True),
        (10, 0.05, 0.01, False),
    ],
)
def test_agreement_near_chance_at_its_limits(items: int, value: float, low: float, said: bool) -> None:
    kappa = replace(find(tally_of(GOOD)).chance["spa_kappa"], value=value, low=low, observed=0.5125, expected=0.5)
    found = near_chance(tally_of(parse("ab") * items), kappa)
    assert [warning.code for warning in found] == (["near_chance"] if said else [])
    for unknown in ("value", "low", "observed", "expected"):
        assert near_chance(tally_of(parse("ab") * items), replace(kappa, **{unknown: None})) == ()


def known(annotators: dict[str, int], **left_out: int) -> dict[str, str]:
    """Warnings on good data by these annotators."""
    return warnings(find(replace(tally_of(GOOD), annotators=annotators, left_out=left_out)))


def test_rows_left_out_are_said_if_they_are_as_many_as_the_rest() -> None:
    filled = "are the columns right? In merged spreadsheet cells only the first has a value: fill them down"
    assert known({}, missing_label=30, missing_item=6) == {
        "many_left_out": f"36 rows lack a label or an item, and only 36 have both: {filled}"
    }
    assert known({}, missing_label=30, missing_item=5, repeated=50) == {}
    one = warnings(find(replace(tally_of([["a"]]), left_out={"missing_item": 1})))
    assert one["many_left_out"] == f"1 row lacks a label or an item, and only 1 have both: {filled}"
    assert "many_left_out" not in warnings(find(Tally()))


def test_one_annotator_has_nobody_to_agree_with() -> None:
    assert known({"ann": 36}) == {"one_annotator": "only one annotator ('ann'): nobody to agree with"}
    assert known({"ann": 35}) == {}, "and one annotation by somebody unknown"
    assert known({"ann": 35, "bob": 1}) == {}


def test_names_that_are_decisions_are_questioned() -> None:
    told = "by the name a decision rather than an annotator, but counted as one; to leave it out:"
    assert known({"ann": 12, "Gold-Standard": 12, "MAJORITY vote": 12}) == {
        "not_a_person": f"'Gold-Standard', 'MAJORITY vote': {told} "
        'exclude_annotator=["Gold-Standard", "MAJORITY vote"]'
    }
    assert known({"gold": 18, "final": 18}) == {}, "nobody is left to agree"
    assert known({"ann": 12, "gold1": 12, "golden": 12}) == {}
