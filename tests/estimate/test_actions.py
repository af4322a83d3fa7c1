"""What to do next: each action with its figures, in order, and exactly from where on it is worth doing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from oracle import parse, tally_of
from spagree.estimate import Findings, find
from spagree.estimate.actions import Grounds, actions
from spagree.estimate.breakdown_values import Action
from spagree.estimate.overlap import Overlap, Team
from spagree.estimate.uncertainty import Estimate, Interval, leading

HALF = {"more_annotations": 90, "items": 30, "annotations_per_item": 3, "half_width": 0.03, "route": "new_items"}
PRECISION = Action(
    "precision",
    figures={
        "annotations": 90,
        "items": 30,
        "annotations_per_item": 3,
        "half_width": 0.0625,
        "half_width_then": 0.03,
    },
)


def findings(half: float = 0.0625, kappa: float | None = 0.5, value: float = 0.75) -> Findings:
    found = find(tally_of(parse("aaa aab aaa abb bbb bba aaa bbb aba abb aaa bbb")))
    alpha = replace(found.chance["krippendorff_alpha"], high=kappa)
    return replace(found, spa=between(value - half, value + half, value), chance={"krippendorff_alpha": alpha})


def between(low: float | None, high: float | None, value: float = 0.75, **others: Interval) -> Estimate:
    """SPA with these limits for items."""
    return leading(Estimate(value, None, None, None, 0.95, "flat"), {"items": Interval(None, low, high), **others})


def people(*rows: tuple[str, bool, float | None, float | None]) -> pl.DataFrame:
    columns = {"annotator": pl.String, "stands_out": pl.Boolean, "change": pl.Float64, "against_others": pl.Float64}
    return pl.DataFrame(rows, schema=columns, orient="row").with_columns(spa_without=0.75 + pl.col("change"))


def items(*shares: float) -> pl.DataFrame:
    return pl.DataFrame({"item": [f"q{place}" for place in range(len(shares))], "share": shares})


def classes(*rows: tuple[str, str, float, bool]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["class", "other", "share", "more"], orient="row")


def kinds(found: Findings, **grounds: Any) -> list[str]:
    return [action.kind for action in actions(found, Grounds(**grounds))]


def test_without_pairs_only_a_second_annotation_helps() -> None:
    assert actions(find(tally_of(parse("a b"))), Grounds(half=HALF)) == (Action("second_annotation"),)


def test_what_makes_the_number_wrong_comes_first() -> None:
    found = findings()
    broken = replace(found, missingness=replace(found.missingness, z=-9.0, p=1e-9))
    assert broken.missingness.broken
    team = Team(("a", "b"), 3)
    for size, expected in ((1, []), (2, [Action("shared_items", figures={"teams": 2})])):
        overlap = Overlap(4, (team,) * size, (), (), 0)
        assert list(actions(broken, Grounds(overlap=overlap))) == [Action("early_annotations"), *expected]
        assert list(actions(found, Grounds(overlap=overlap))) == expected


def test_a_rough_number_is_made_precise_before_anything_else() -> None:
    grounds = {"half": HALF, "items": items(0.2, 0.2, 0.2)}
    assert kinds(findings(0.125), **grounds) == ["precision", "items"]
    assert kinds(findings(0.0625), **grounds) == ["items", "precision"]
    exact = between(0.0, 0.2)  # exactly rough
    assert kinds(replace(findings(), spa=exact), **grounds) == ["items", "precision"]
    nothing = between(None, None)
    assert kinds(replace(findings(), spa=nothing), **grounds) == ["items"]
    assert actions(findings(), Grounds(half=HALF)) == (PRECISION,)
    sharp = between(0.0, 0.04)
    assert kinds(replace(findings(), spa=sharp), half=HALF) == []
    assert kinds(findings()) == []


def test_more_annotators_are_needed_where_they_differ_more_than_items() -> None:
    def asked(half: float) -> list[str]:
        spa = between(0.7, 0.8, annotators=Interval(None, 0.75 - half, 0.75 + half))
        return kinds(replace(findings(), spa=spa), half=HALF)

    assert asked(0.0708) == ["more_people"] and asked(0.0707) == ["precision"]  # 0.05·√2
    assert asked(0.3) == ["more_people"]
    few = between(0.74, 0.76, annotators=Interval(None, 0.731, 0.769))
    assert kinds(replace(findings(), spa=few), half=HALF) == []  # nobody needs it narrower


@pytest.mark.parametrize(("high", "first"), [(0.4, "guideline"), (0.41, "items"), (None, "items")])
def test_agreement_near_chance_needs_a_guideline_not_precision(high: float | None, first: str) -> None:
    found = kinds(findings(kappa=high), half=HALF, items=items(0.2, 0.2, 0.2))
    assert found == [first, "items"] if high == 0.4 else [first, "precision"]
    assert kinds(findings(0.125, high), half=HALF, items=items(0.2, 0.2, 0.2))[0] == "precision"


def test_people_who_stand_out_are_named_by_what_they_cost() -> None:
    table = people(
        ("ann", True, 0.01, 0.5), ("bob", True, 0.03, 0.4), ("cyd", False, 0.2, 0.9), ("dot", True, -0.1, 0.8),
        ("eve", True, 0.02, 0.6), ("fay", True, 0.005, 0.7), ("gus", True, None, 0.7), ("hal", True, 0.0, 0.7),
    )  # fmt: skip
    figures = {"annotators": 4, "spa": 0.75, "spa_without": pytest.approx(0.78), "against_others": 0.4}
    assert actions(findings(), Grounds(annotators=table)) == (
        Action("annotators", ("bob", "eve", "ann"), figures, 0.03),
    )
    assert kinds(findings(), annotators=table.filter(~pl.col("stands_out"))) == []
    assert kinds(findings(value=1.0), annotators=table, items=items(0.5)) == []


@pytest.mark.parametrize(
    ("shares", "size"),
    [
        ([0.5, 0.25, 0.125, 0.125], 3),
        ([0.0625, 0.0375, 0.02, 0.02, 0.02], 3),
        ([0.04, 0.03, 0.02, 0.03, 0.01], 4),
        ([0.01] * 12, 10),
        ([0.5, 0.5], 2),
        ([1.0], 1),
    ],
)
def test_items_until_a_tenth_of_all_disagreement(shares: list[float], size: int) -> None:
    (found,) = actions(findings(), Grounds(items=items(*shares)))
    share = sum(shares[:size])
    figures = {"items": size, "share": pytest.approx(share), "of_all": size / 12}
    names = tuple(f"q{place}" for place in range(min(3, len(shares))))
    assert found == Action("items", names, figures, pytest.approx(share / 4))
    assert kinds(findings(), items=items()) == []


def test_two_classes_are_named_if_they_hold_a_tenth_of_all_disagreement() -> None:
    rest = ("c", "d", 0.01, True)
    (found,) = actions(findings(), Grounds(classes=classes(("x", "y", 0.5, False), ("a", "b", 0.1, True), rest)))
    figures = {"share": 0.1, "spa": 0.75, "spa_merged": pytest.approx(0.775)}
    assert found == Action("classes", ("a", "b"), figures, pytest.approx(0.025))
    assert kinds(findings(), classes=classes(("a", "b", 0.09, True), rest)) == []
    assert kinds(findings(), classes=classes(("a", "b", 0.5, False), ("c", "d", 0.3, False))) == []
    assert kinds(findings(), classes=classes(("a", "b", 1.0, True))) == []


def test_three_people_of_whom_two_meet_at_a_time_need_a_third() -> None:
    table = people(("ann", False, 0.0, None), ("bob", False, 0.0, None), ("cyd", False, 0.0, None))
    assert kinds(findings(), annotators=table, half=HALF) == ["precision", "third_annotation"]
    assert kinds(findings(kappa=0.1), annotators=table) == ["guideline", "third_annotation"]
    assert kinds(findings(), annotators=table.head(2)) == []
    assert kinds(findings(), annotators=pl.concat([table, people(("dot", False, 0.0, 0.5))])) == []


def test_gains_are_ranked() -> None:
    grounds = Grounds(
        annotators=people(("ann", True, 0.05, 0.5)),
        items=items(0.1, 0.1, 0.1),
        classes=classes(("a", "b", 0.4, True), ("c", "d", 0.1, True)),
    )
    found = actions(findings(), grounds)
    assert [(action.kind, round(action.gain, 6)) for action in found] == [
        ("classes", 0.1),
        ("items", 0.075),
        ("annotators", 0.05),
    ]
