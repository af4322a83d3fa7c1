"""Who and what stands out: compared with the right mean, and no more often by luck than promised."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import polars
import pytest

import spagree
from spagree.estimate.outliers import ALPHA, apart, mean_agreement, taken


def annotators(values: list[float], shared: int = 100, half: float = 0.1) -> polars.DataFrame:
    return polars.DataFrame(
        {
            "annotator": [f"p{place:02}" for place in range(len(values))],
            "shared": [shared] * len(values),
            "agreement": values,
            "high": [value + half for value in values],
            "few": [shared < 10] * len(values),
        }
    )


def test_the_mean_is_that_of_annotations_not_of_items() -> None:
    """Items with many annotations have many annotators to compare, whatever scheme SPA weighs them by."""
    rows = [("q1", who, "xy"[who % 2]) for who in range(8)] + [(item, who, "x") for item in "abcd" for who in range(2)]
    found = spagree.measure(rows)
    mean = float((8 * Fraction(3, 7) + 8) / 16)
    assert mean_agreement(found.annotators()) == pytest.approx(mean, rel=1e-12)
    assert found.spa.value is not None and abs(found.spa.value - mean) > 0.05


def test_annotators_who_all_lie_below_spa_are_alike() -> None:
    found = annotators([0.5] * 20)
    assert mean_agreement(found) == 0.5 and apart(found, 0.95).is_empty()


def test_the_furthest_comes_first() -> None:
    """The one who agrees least may rest on little; what counts is the distance in standard errors."""
    frame = annotators([0.9] * 20 + [0.5, 0.55])
    sure = frame.with_columns(high=polars.when(polars.col("agreement") == 0.55).then(0.56).otherwise("high"))
    assert apart(sure, 0.95)["annotator"].to_list() == ["p21", "p20"]


@pytest.mark.parametrize(("people", "named"), [(2, 1), (40, 0)])
def test_the_more_are_looked_at_the_further_one_must_stand(people: int, named: int) -> None:
    """A distance of 2.2 standard errors is luck among forty, not beside one."""
    rest = [0.5] * (people - 1)
    least = 0.5
    for _ in range(50):  # the mean moves with the value
        centre = (sum(rest) + least) / people
        least = centre - 2.2 * 0.1 / 1.959964
    assert apart(annotators([*rest, least]), 0.95).height == named


def test_few_items_and_nobody_met_name_nobody() -> None:
    assert apart(annotators([0.1, 0.9, 0.9], shared=9), 0.95).is_empty()
    lonely = spagree.measure([("q1", "ann", "x"), ("q2", "bob", "y")]).annotators()
    assert mean_agreement(lonely) is None and apart(lonely, 0.95).is_empty()


def test_full_agreement_has_nobody_apart() -> None:
    assert apart(annotators([1.0, 1.0], half=0.0), 0.95).is_empty()


def together(items: dict[tuple[str, str], int]) -> polars.DataFrame:
    rows = [(*names, size, size, 0.1 + place / 100) for place, (names, size) in enumerate(items.items())]
    rows += [(other, one, pairs, size, share / 2) for one, other, pairs, size, share in rows]
    return polars.DataFrame(rows, schema=["class", "other", "pairs", "items", "probability"], orient="row")


def test_a_pair_is_judged_by_the_exact_binomial() -> None:
    """Three classes as common: each pair gets a third of the items, times three pairs looked at."""
    labels = {"a": 100, "b": 100, "c": 100}
    least = next(
        size
        for size in range(10, 31)
        if 3 * sum(Fraction(comb(30, k) * 2 ** (30 - k), 3**30) for k in range(size, 31)) <= ALPHA
    )
    rest = 30 - least
    enough = together({("a", "b"): least, ("a", "c"): rest // 2, ("b", "c"): rest - rest // 2})
    found = taken(enough, labels)
    assert found is not None
    assert (found.one, found.other, found.items, found.probability) == ("a", "b", least, 0.1)
    assert found.expected == pytest.approx(10, rel=1e-12)
    too_few = together({("a", "b"): least - 1, ("a", "c"): rest // 2 + 1, ("b", "c"): rest - rest // 2})
    assert taken(too_few, labels) is None


def test_two_classes_can_only_be_taken_for_one_another() -> None:
    assert taken(together({("a", "b"): 50}), {"a": 500, "b": 100}) is None


def test_disagreement_that_knows_nothing_of_the_classes_names_none() -> None:
    named = 0
    for seed in range(40):
        drawn = np.random.default_rng(seed).choice(list("aaaabbbccd"), (400, 2)).tolist()
        rows = [(item, who, label) for item, labels in enumerate(drawn) for who, label in enumerate(labels)]
        found = spagree.measure(rows)
        named += taken(found.confusion(), found.data.labels) is not None
    assert named <= 4
