"""Intervals for new annotators: the three variances by leaving out one thing at a time, in exact rationals."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import sqrt

import numpy as np
import polars as pl
import pytest
from hypothesis import given

import spagree
from breakdown_oracle import Rows, by_item, item_agreement, rows_of, spa, without
from examples import examples
from oracle import exactly
from spagree.estimate.findings import find
from spagree.estimate.item_groups import item_groups
from spagree.estimate.leave_one_out import TOO_FEW
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS, steadied, wilson

ROWS = [
    (f"q{i}", who, said)
    for i, labels in enumerate(["xxx", "xxy", "yyy", "xyx", "xx.", ".yx", "x.x", "yyx"])
    for who, said in zip(("ann", "bob", "cyd"), labels, strict=True)
    if said != "."
]


def weight(n: int) -> Fraction:
    return Fraction(n - 1)


def jackknife(values: Iterable[Fraction]) -> Fraction:
    found = list(values)
    mean = sum(found, Fraction()) / len(found)
    return Fraction(len(found) - 1, len(found)) * sum((each - mean) ** 2 for each in found)


def by_hand(rows: Rows) -> tuple[float, float, float] | None:
    """Standard error, equal items and equal annotators; None where SPA does not exist without somebody."""
    pairable = {item: said for item, said in by_item(rows).items() if len(said) > 1}
    used = [row for row in rows if row[0] in pairable]
    people = sorted({who for _, who, _ in used})
    rests = [spa(without(used, who), weight) for who in people]
    if any(rest is None for rest in rests):
        return None
    singles = [spa([row for row in used if row != out], weight) for out in used]
    whole = spa(used, weight) or Fraction()
    weights = {item: weight(len(said)) for item, said in pairable.items()}
    total = sum(weights.values(), Fraction())
    spread = sum((weights[item] * (item_agreement(said) - whole)) ** 2 for item, said in pairable.items())
    items = Fraction(len(pairable), len(pairable) - 1) * spread / total**2
    variance = items + jackknife(rest for rest in rests if rest is not None)
    variance -= jackknife(single for single in singles if single is not None)
    shared = [sum(who == each for _, each, _ in used) for who in people]
    equal_items = float(total**2 / sum(each**2 for each in weights.values()))
    return sqrt(max(items, variance)), equal_items, sum(shared) ** 2 / sum(each**2 for each in shared)


def implied_beyond(rows: Rows) -> float:
    """What the variance over items gains where the agreement implies more than the items show."""
    tally = spagree.tally(rows)
    groups = item_groups(tally)
    weights = groups.n.astype(float) - 1
    figure = find(tally).spa
    return steadied(float(figure), figure.stderr or 0.0, groups, weights) ** 2 - (figure.stderr or 0.0) ** 2


@given(rows_of(7, 4, "xy").filter(lambda rows: sum(len(said) > 1 for said in by_item(rows).values()) > 1))
@examples(15)
def test_the_standard_error_against_leaving_things_out_one_by_one(rows: Rows) -> None:
    found = spagree.measure(rows, interval_for="annotators").spa
    by_leaving_out = by_hand(rows)
    items = spagree.measure(rows).spa
    assert found.value == items.value
    if by_leaving_out is None:
        assert (found.stderr, found.low, found.high, found.undefined) == (None, None, None, TOO_FEW)
        return
    stderr, equal_items, equal_annotators = by_leaving_out
    assert found.stderr == pytest.approx(stderr, abs=1e-12)
    freedom = min(equal_items, equal_annotators) - 1
    error = sqrt(stderr**2 + implied_beyond(rows))
    low, high = wilson(float(found), error, equal_items, 0.95, freedom)
    expected = (min(low, items.low or 0), max(high, items.high or 1))
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)


def test_it_is_never_narrower_than_for_items_and_says_what_it_covers() -> None:
    rows = spagree.simulate(items=150, annotators=8, per_item=(2, 3), quality=(0.3, 1.0), seed=4).frame
    source = rows.select("item", "annotator", "label")
    plain, wide = (spagree.measure(source, interval_for=each) for each in ("items", "annotators"))
    for name, narrow in plain.schemes.items():
        found = wide.schemes[name]
        assert found.value == narrow.value and (found.stderr or 0) > (narrow.stderr or 1)
        assert (found.low or 1) < (narrow.low or 0) and (found.high or 0) > (narrow.high or 1)
        assert (found.interval_for, found.covers) == (ANNOTATORS, "new annotators and new items")
        assert (narrow.interval_for, narrow.covers) == (ITEMS, "these annotators, new items")
    assert wide.spa == wide.schemes["annotations_m1"]
    assert wide.chance == plain.chance and wide.chance["spa_kappa"].interval_for == ITEMS


def calibration(random: np.random.Generator) -> Rows:
    """Ten people: 95 items with two of them, five that everybody labelled, nearly perfect agreement."""
    people = [random.choice(10, 2, replace=False).tolist() for _ in range(95)] + [list(range(10))] * 5
    return [
        (f"q{item}", f"p{who}", "x" if random.random() < 0.99 else "y")
        for item, those in enumerate(people)
        for who in those
    ]


def test_it_is_never_narrower_in_a_calibration_design_either() -> None:
    random = np.random.default_rng(3)
    for _ in range(10):
        found = spagree.measure(calibration(random)).intervals()
        items, annotators = found["items"], found["annotators"]
        assert (annotators.low or 1) <= (items.low or 0) and (annotators.high or 0) >= (items.high or 1)


def test_the_output_says_so() -> None:
    found = spagree.measure(ROWS, interval_for="annotators")
    assert found.to_dict()["spa"]["interval_for"] == "annotators"
    assert found.to_dict()["spa"]["covers"] == "new annotators and new items"
    shown = " ".join(str(found).split())
    assert "95% interval for other annotators 0.057 to 0.977" in shown
    both = "These annotators: 0.289 to 0.863 on new items. Other annotators like them: 0.057 to 0.977."
    assert both in shown
    assert "These intervals cover these annotators, new items." in shown
    assert "interval for other annotators" in found._repr_html_()
    plain = spagree.measure(ROWS)
    assert plain.to_dict()["spa"]["covers"] == "these annotators, new items"
    assert "interval for other annotators" not in str(plain)
    assert both in " ".join(str(plain).split())


def test_own_weights_and_the_level_are_respected() -> None:
    own = spagree.measure(ROWS, interval_for="annotators", weights=lambda n: n - 1)
    named = spagree.measure(ROWS, interval_for="annotators")
    assert own.spa.stderr == pytest.approx(named.spa.stderr)
    assert own.spa.weights == "custom" and own.spa.interval_for == ANNOTATORS
    half = spagree.measure(ROWS, interval_for="annotators", level=0.5).spa
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
    assert wide.interval_for == ANNOTATORS


def test_two_annotators_cannot_speak_for_others() -> None:
    found = spagree.measure([row for row in ROWS if row[1] != "cyd"], interval_for="annotators")
    assert found.spa.undefined == TOO_FEW and found.spa.value is not None
    assert TOO_FEW in " ".join(str(found).split())


def test_what_cannot_be_done_is_refused() -> None:
    with pytest.raises(
        spagree.UsageError,
        match=exactly(
            "unknown value of interval_for=\"anotators\"; did you mean 'annotators'? Known: items, annotators"
        ),
    ):
        spagree.measure(ROWS, interval_for="anotators")
    with pytest.raises(
        spagree.UsageError,
        match=exactly('bootstrap= resamples items only; leave it out with interval_for="annotators"'),
    ):
        spagree.measure(ROWS, interval_for="annotators", bootstrap=200)
    with pytest.raises(
        spagree.UsageError, match=exactly("a tally does not say who annotated; measure the annotations themselves")
    ):
        spagree.measure(spagree.tally(ROWS), interval_for="annotators")
    with pytest.raises(
        spagree.UsageError, match=exactly("the annotators are unknown; name their column with annotator=")
    ):
        spagree.measure(np.array([[2, 0], [1, 1]]), format="counts", interval_for="annotators")
    with pytest.raises(
        spagree.UsageError,
        match=exactly(
            'interval_for="annotators": the annotator of 1 annotation is unknown; leave such annotations out, or '
            'use interval_for="items"'
        ),
    ):
        spagree.measure([*ROWS, ("q0", None, "x")], interval_for="annotators")


def test_a_metric_is_respected() -> None:
    rows = [(item, who, {"x": "1", "y": "3"}[said]) for item, who, said in ROWS]
    nominal, linear = (
        spagree.measure(rows, metric=each, interval_for="annotators").spa for each in ("nominal", "linear")
    )
    assert linear.stderr == pytest.approx(nominal.stderr) and linear.low == pytest.approx(nominal.low)


def test_row_order_does_not_matter() -> None:
    frame = pl.DataFrame(ROWS, schema=["item", "annotator", "label"], orient="row")
    shuffled = frame.sample(fraction=1, shuffle=True, seed=3)
    one, other = (spagree.measure(each, interval_for="annotators").schemes for each in (frame, shuffled))
    assert one == other


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
        for kind, found in spagree.measure(frame).intervals().items():
            hits[kind] += (found.low or 0) <= truth <= (found.high or 1)
    assert hits["annotators"] / 60 >= 0.9 > hits["items"] / 60
