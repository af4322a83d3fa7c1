"""Conger's kappa and its three variances by leaving out one thing at a time, in exact rationals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from math import sqrt
from typing import Any

import polars as pl
import pytest
from hypothesis import given

import spagree
from breakdown_oracle import Row, Rows, by_item, cohen, item_agreement, rows_of, shared, without
from examples import examples
from spagree.estimate.chance import CONGER, ONE_CLASS, ONE_ITEM
from spagree.estimate.others import ONE_NEEDED
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS


def conger(rows: Rows) -> Fraction | None:
    """Flat agreement, and by chance the mean over all pairs of annotators of what their own labels would agree."""
    said = [item for item in by_item(rows).values() if len(item) > 1]
    given: defaultdict[str, list[str]] = defaultdict(list)
    for _, who, label in rows:
        given[who].append(label)
    people = list(given)
    if not said or len(people) < 2:
        return None
    pairs = [(given[one], given[other]) for one in people for other in people if one != other]
    expected = sum((alike(*pair) for pair in pairs), Fraction()) / len(pairs)
    observed = sum(map(item_agreement, said), Fraction()) / len(said)
    return None if expected == 1 else (observed - expected) / (1 - expected)


def alike(one: list[str], other: list[str]) -> Fraction:
    return Fraction(sum(a == b for a in one for b in other), len(one) * len(other))


def jackknife(rests: Iterable[Fraction | None]) -> float | None:
    found = list(rests)
    if any(rest is None for rest in found):
        return None
    values = [rest for rest in found if rest is not None]
    mean = sum(values, Fraction()) / len(values)
    return float(Fraction(len(values) - 1, len(values)) * sum((each - mean) ** 2 for each in values))


def apart(rows: Rows, part: Callable[[Row], Any]) -> float | None:
    """The jackknife variance over parts of the rows."""
    return jackknife(conger([row for row in rows if part(row) != each]) for each in dict.fromkeys(map(part, rows)))


def measured(rows: Rows, **options: Any) -> Any:
    return spagree.measure(rows, **options).chance[CONGER]


@given(rows_of(6, 5, "xy").filter(lambda rows: sum(len(said) > 1 for said in by_item(rows).values()) > 1))
@examples(60)
def test_value_and_errors_equal_really_leaving_things_out(rows: Rows) -> None:
    found, value = measured(rows), conger(rows)
    if value is None:
        assert found.value is None and found.undefined in (ONE_CLASS, ONE_ITEM)
        return
    assert found.value == pytest.approx(float(value), abs=1e-12)
    items = apart(rows, lambda row: row[0])
    if items is None:
        assert found.low is None and "without one of the items" in str(found.undefined)
        return
    assert found.intervals[ITEMS].stderr == pytest.approx(sqrt(items), abs=1e-9)
    others = found.intervals[ANNOTATORS]
    if others.undefined:
        assert others.undefined != ONE_NEEDED or apart(rows, lambda row: row[1]) is None
        return
    people, single = apart(rows, lambda row: row[1]), apart(rows, lambda row: row)
    pairs = of_pairs(rows)
    assert people is not None
    variance = max(items, items + people - (single or 0.0), pairs)
    assert others.stderr == pytest.approx(sqrt(variance), abs=1e-9) or others.stderr > sqrt(variance)  # teams
    assert others.low <= found.intervals[ITEMS].low <= found.value <= found.intervals[ITEMS].high <= others.high


def of_pairs(rows: Rows) -> float:
    """How much agreement differs between pairs, over (1 − P_e)²."""
    people = sorted({who for _, who, _ in rows})
    both = [shared(rows, one, other) for place, one in enumerate(people) for other in people[place + 1 :]]
    both = [said for said in both if said]
    found = measured(rows)
    weights = [len(said) for said in both]
    gaps = [sum(one == other for one, other in said) / len(said) - found.observed for said in both]
    spread = sum((weight * gap) ** 2 for weight, gap in zip(weights, gaps, strict=True))
    return len(both) / max(1, len(both) - 1) * spread / sum(weights) ** 2 / (1 - found.expected) ** 2


def test_of_two_annotators_it_is_cohens_kappa() -> None:
    rows = [
        (f"q{i}", who, said)
        for i, both in enumerate(["xx", "xy", "yy", "zz", "xz", "yy", "zy", "xx"])
        for who, said in zip("ab", both, strict=True)
    ]
    exact = cohen(shared(rows, "a", "b"))
    assert exact is not None
    assert measured(rows).value == pytest.approx(float(exact), abs=1e-14)


def test_clusters_are_left_out_as_a_whole() -> None:
    rows = [
        (f"q{i}", who, "xyz"[(i * 5 + place * (i % 3)) % 3], f"d{i // 4}")
        for i in range(24)
        for place, who in enumerate("abcde")
        if (i + place) % 4
    ]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "doc"], orient="row")
    document = {item: doc for item, _, _, doc in rows}
    exact = apart([row[:3] for row in rows], lambda row: document[row[0]])
    found = spagree.measure(frame, cluster="doc").chance[CONGER]
    assert exact is not None
    assert found.intervals[ITEMS].stderr == pytest.approx(sqrt(exact), abs=1e-12)


def test_whoever_labels_unlike_the_others_lowers_agreement_by_chance() -> None:
    """Where people use labels differently, chance is lower than Fleiss', which mixes the labels of everybody."""
    rows = [
        (f"q{i}", who, "x" if (i * 7 + place * 3) % 10 < often else "y")
        for i in range(40)
        for place, (who, often) in enumerate({"a": 9, "b": 5, "c": 1, "d": 5}.items())
    ]
    found = spagree.measure(rows).chance
    assert found[CONGER].expected < found["fleiss_kappa"].expected - 0.01
    assert found[CONGER].value > found["fleiss_kappa"].value


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (spagree.tally([("q1", "a", "x"), ("q1", "b", "x"), ("q2", "a", "y")]), "a tally does not say who annotated"),
        (
            [("q1", None, "x"), ("q1", "b", "x"), ("q2", "a", "y"), ("q2", "b", "y")],
            "the annotator of 1 annotation is unknown",
        ),
    ],
)
def test_it_needs_to_know_who_annotated(source: Any, reason: str) -> None:
    found = spagree.measure(source).chance[CONGER]
    assert found.value is None and reason in str(found.undefined)


def test_many_annotations_at_once_are_looked_at_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = measured("example:sparse")
    monkeypatch.setattr("spagree.estimate.chance.CELLS_AT_ONCE", 50)
    blocks = measured("example:sparse")
    for name in (ITEMS, ANNOTATORS):
        assert blocks.intervals[name].stderr == pytest.approx(whole.intervals[name].stderr, rel=1e-12)


def test_without_somebody_the_rest_is_measured() -> None:
    rows = [(f"q{i}", who, "xy"[(i + (who == "d") * i) % 2]) for i in range(20) for who in "abcd"]
    assert measured(without(rows, "d")).value == 1
    assert measured(rows).value < 0.8
