"""Differences of two sides, against what is left when a unit is taken out of both at once."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
import polars
import pytest

import spagree
from spagree.comparing import sides_of
from spagree.estimate.chance import Corrected
from spagree.estimate.comparison import ALPHA, Pair, Side, difference, holm, newcombe, p_of
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS, POPULATIONS, Estimate, Interval, leading, undefined

Row = tuple[str, str, str]


def rows(seed: int, first: int, last: int, people: int = 6, prefix: str = "p") -> list[Row]:
    rng = np.random.default_rng(seed)
    found: list[Row] = []
    for item in range(first, last):
        for person in rng.choice(people, int(rng.integers(1, 5)), replace=False).tolist():
            label = item % 3 if rng.random() < 0.6 else int(rng.integers(3))
            found.append((f"q{item}", f"{prefix}{person}", str(label)))
    return found


def spa(annotations: list[Row], weight: dict[int, Fraction]) -> Fraction:
    """By its definition, exactly."""
    items: dict[str, list[str]] = {}
    for item, _, label in annotations:
        items.setdefault(item, []).append(label)
    above = below = Fraction(0)
    for labels in items.values():
        if len(labels) > 1:
            pairs = list(combinations(labels, 2))
            above += weight[len(labels)] * Fraction(sum(a == b for a, b in pairs), len(pairs))
            below += weight[len(labels)]
    return above / below


def moved(annotations: list[Row], weight: dict[int, Fraction], units: list[object], of: object) -> dict[object, float]:
    """The jackknife deviation of each unit, in fractions until the last step; ``of`` gives the unit of an annotation."""
    left = [spa([row for row in annotations if of(row) != unit], weight) for unit in units]
    mean = sum(left) / len(left)
    return {
        unit: sqrt((len(units) - 1) / len(units)) * float(value - mean)
        for unit, value in zip(units, left, strict=False)
    }


KINDS = {"items": lambda row: row[0], "people": lambda row: row[1], "annotations": lambda row: row[:2]}
WEIGHTS = [
    {n: Fraction(n - 1) for n in range(2, 5)},
    {n: Fraction(10) ** (6 * n) for n in range(2, 5)},
    {n: Fraction(10) ** (20 * n) for n in range(2, 5)},
]


def units_of(annotations: list[Row], kind: str) -> list[object]:
    several = {item for item, _, _ in annotations if sum(row[0] == item for row in annotations) > 1}
    # an annotation without a pair moves nothing; people and items without one are no evidence
    chosen = annotations if kind == "annotations" else [row for row in annotations if row[0] in several]
    return sorted({KINDS[kind](row) for row in chosen})


@pytest.mark.parametrize("weight", WEIGHTS, ids=["n − 1", "10^(6n)", "10^(20n)"])
@pytest.mark.parametrize("kind", KINDS)
def test_two_sides_move_together_exactly_as_leaving_out_a_unit_moves_them(
    weight: dict[int, Fraction], kind: str
) -> None:
    a, b = rows(1, 0, 30), rows(2, 10, 40)
    sides = sides_of({name: spagree.measure(each, weights=weight) for name, each in (("a", a), ("b", b))})
    mine, theirs = (moved(each, weight, units_of(each, kind), KINDS[kind]) for each in (a, b))
    wanted = sum(mine[unit] * theirs[unit] for unit in mine.keys() & theirs.keys())
    assert sides[0].covariance(sides[1], "spa", kind) == pytest.approx(wanted, rel=1e-9, abs=1e-18)
    assert sides[0].covariance(sides[0], "spa", kind) == pytest.approx(
        sum(value**2 for value in mine.values()), rel=1e-9
    )


@pytest.mark.parametrize("weight", WEIGHTS, ids=["n − 1", "10^(6n)", "10^(20n)"])
def test_groups_of_people_move_together_exactly_too(weight: dict[int, Fraction]) -> None:
    annotations = rows(3, 0, 40)
    table = polars.DataFrame(annotations, schema=["item", "annotator", "label"], orient="row")
    team = polars.when(polars.col("annotator") < "p3").then(polars.lit("a")).otherwise(polars.lit("b"))
    groups = spagree.measure(table.with_columns(team=team), by="team", weights=weight).groups
    parts = [[row for row in annotations if (row[1] < "p3") is first] for first in (True, False)]
    (pair,) = groups.differences
    assert pair.difference.value == pytest.approx(float(spa(parts[1], weight) - spa(parts[0], weight)))
    mine, theirs = (moved(part, weight, units_of(part, "items"), KINDS["items"]) for part in parts)
    wanted = sum(mine[unit] * theirs[unit] for unit in mine.keys() & theirs.keys())
    assert pair.a.covariance(pair.b, "spa", "items") == pytest.approx(wanted, rel=1e-9, abs=1e-15)
    for side, part in ((pair.a, parts[0]), (pair.b, parts[1])):
        for kind, of in KINDS.items():
            alone = sum(value**2 for value in moved(part, weight, units_of(part, kind), of).values())
            assert side.covariance(side, "spa", kind) == pytest.approx(alone, rel=1e-9)
    assert pair.shared_annotators == 0 and pair.shared_items == len(mine.keys() & theirs.keys())


def test_alpha_moves_with_the_items_they_share() -> None:
    a, b = rows(4, 0, 40), rows(5, 0, 40)
    sides = sides_of({name: spagree.measure(each) for name, each in (("a", a), ("b", b))})

    def left(annotations: list[Row], item: str) -> spagree.Agreement:
        return spagree.measure([row for row in annotations if row[0] != item])

    shared = sorted(set(units_of(a, "items")) & set(units_of(b, "items")))
    deviations = []
    for each in (a, b):
        units = units_of(each, "items")
        found = {unit: left(each, unit).chance["krippendorff_alpha"].value for unit in units}
        mean, factor = np.mean([*found.values()]), sqrt((len(units) - 1) / len(units))
        deviations.append([factor * (found[unit] - mean) for unit in shared])
    assert sides[0].covariance(sides[1], ALPHA, "items") == pytest.approx(np.dot(*deviations))


def test_people_on_both_sides_cancel_and_others_do_not() -> None:
    """One of six people is careless, in both rounds; a second six have one of their own."""
    rng = np.random.default_rng(6)

    def round_of(start: int, prefix: str) -> list[Row]:
        return [
            (f"q{item}", f"{prefix}{who}", str(item % 2 if who and rng.random() < 0.9 else rng.integers(2)))
            for item in range(start, start + 200)
            for who in rng.choice(6, 3, replace=False).tolist()
        ]

    first, again, others = round_of(0, "p"), round_of(200, "p"), round_of(400, "x")
    same, different = spagree.compare(first, again).pairs[0], spagree.compare(first, others).pairs[0]
    assert (same.shared_annotators, different.shared_annotators) == (6, 0)
    assert (same.shared_items, different.shared_items) == (0, 0)
    error = {name: pair.difference.intervals[ANNOTATORS].stderr for name, pair in (("s", same), ("d", different))}
    assert error["s"] < 0.7 * error["d"]
    for pair in (same, different):
        items, people = (pair.difference.intervals[name] for name in (ITEMS, ANNOTATORS))
        assert people.low <= items.low and items.high <= people.high
    assert different.difference.intervals[ITEMS].stderr == pytest.approx(
        np.hypot(different.a.headline.intervals[ITEMS].stderr, different.b.headline.intervals[ITEMS].stderr)
    )


# Limits and verdicts -------------------------------------------------------------------------


def figure(value: float, low: float, high: float) -> Estimate:
    plain = Estimate(value, None, None, None, 0.95, "flat")
    return leading(plain, {ITEMS: Interval((high - low) / 4, low, high)})


def kappa(value: float | None, expected: float | None) -> Corrected:
    ends = (None,) * 3 if value is None else (0.04, value - 0.08, value + 0.08)
    reason = "one label" if value is None else None
    plain = Corrected(value, *ends, 0.95, "flat", undefined=reason, observed=0.7, expected=expected)
    return plain if value is None else leading(plain, {ITEMS: Interval(*ends)})


def pair(gap: tuple[float, float, float], p: float | None, alphas: tuple[Corrected, Corrected]) -> Pair:
    sides = [Side(name, {"spa": figure(0.6, 0.5, 0.7), ALPHA: alpha}) for name, alpha in zip("ab", alphas, strict=True)]
    return Pair(*sides, {"spa": figure(*gap), ALPHA: difference(*sides, ALPHA)}, None, None, p_holm=p)


def test_the_interval_is_newcombes() -> None:
    a, b = Interval(0.055, 0.5, 0.72), Interval(0.0625, 0.55, 0.8)
    found = newcombe(0.6, a, 0.7, b, 0.0)
    assert (found.low, found.high) == pytest.approx((0.1 - sqrt(0.15**2 + 0.12**2), 0.1 + sqrt(0.1**2 + 0.1**2)))
    assert found.stderr == pytest.approx(sqrt(0.055**2 + 0.0625**2))
    back = newcombe(0.7, b, 0.6, a, 0.3)
    forth = newcombe(0.6, a, 0.7, b, 0.3)
    assert (forth.low, forth.high, forth.stderr) == pytest.approx((-back.high, -back.low, back.stderr))
    assert forth.stderr < found.stderr


def test_p_is_below_one_minus_level_exactly_where_zero_is_left_out() -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        value, down, up = rng.normal(0, 0.1), *rng.uniform(0.01, 0.2, 2)
        found = replace(figure(value, value - down, value + up), level=0.9)
        assert (p_of(found) < 0.1) == (found.low > 0 or found.high < 0)
    assert p_of(figure(0.0, 0.0, 0.0)) == 1.0 and p_of(figure(0.1, 0.1, 0.1)) == 0.0
    assert p_of(undefined("no pairs", 0.95, "flat")) is None


def test_undefined_sides_say_why() -> None:
    nothing, half = undefined("no pairs", 0.95, "flat"), figure(0.5, 0.4, 0.6)
    one = Estimate(1.0, None, None, None, 0.95, "flat", undefined="one item")
    for a, b in ((nothing, half), (half, nothing)):
        found = difference(Side("a", {"spa": a}), Side("b", {"spa": b}), "spa")
        assert found.value is None and found.undefined == "no pairs" and p_of(found) is None
    found = difference(Side("a", {"spa": one}), Side("b", {"spa": half}), "spa")
    assert found.value == -0.5 and found.low is None and found.undefined == "one item"


def test_holm_by_hand() -> None:
    assert holm([]) == []
    assert holm([0.04]) == [0.04]
    assert holm([0.2, 0.001, 0.03, None]) == pytest.approx([0.2, 0.003, 0.06, None])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("gap", "p", "alphas", "verdict"),
    [
        ((0.1, 0.05, 0.15), 0.01, ((0.4, 0.5), (0.6, 0.5)), "agrees_more"),
        ((-0.1, -0.15, -0.05), 0.01, ((0.6, 0.5), (0.4, 0.5)), "agrees_less"),
        ((0.1, 0.05, 0.15), 0.06, ((0.4, 0.5), (0.6, 0.5)), "cannot_tell"),
        ((0.1, 0.05, 0.15), None, ((0.4, 0.5), (0.6, 0.5)), "cannot_tell"),
        ((0.1, 0.05, 0.15), 0.01, ((0.4, 0.5), (0.39, 0.5)), "label_mix"),  # alpha points the other way
        ((0.1, 0.05, 0.15), 0.01, ((0.5, 0.5), (0.52, 0.68)), "label_mix"),  # 0.09 of it are the labels
        ((-0.1, -0.15, -0.05), 0.01, ((0.52, 0.68), (0.5, 0.5)), "label_mix"),
        ((0.1, 0.05, 0.15), 0.01, ((0.5, 0.5), (0.7, 0.4)), "agrees_more"),  # although labels are more even
        ((0.1, 0.05, 0.15), 0.01, ((0.5, 0.5), (None, 1.0)), "label_mix"),  # only one label is left
    ],
)
def test_verdicts(
    gap: tuple[float, float, float], p: float | None, alphas: tuple[tuple[float, float], ...], verdict: str
) -> None:
    assert pair(gap, p, tuple(kappa(*each) for each in alphas)).verdict == verdict


def test_the_part_of_the_labels_and_that_of_alpha_add_up() -> None:
    one, other = kappa(0.4, 0.5), kappa(0.55, 0.62)
    found = pair((0.1, 0.05, 0.15), 0.01, (one, other))
    observed = [alpha.expected + (1 - alpha.expected) * alpha.value for alpha in (one, other)]
    of_alpha = (1 - (one.expected + other.expected) / 2) * (other.value - one.value)
    assert found.due_to_labels + of_alpha == pytest.approx(observed[1] - observed[0])


def test_tallies_share_an_unknown_number_of_items() -> None:
    tally = spagree.tally(rows(9, 0, 30))
    found = spagree.compare(tally, rows(9, 0, 30)).pairs[0]
    assert found.shared_items is None and found.shared_annotators == 6 and found.difference.value == 0
    both = found.difference.intervals
    assert both["items"].stderr == pytest.approx(found.a.headline.intervals["items"].stderr * 2**0.5)
    assert both["items"].stderr <= found.difference.stderr < found.a.headline.stderr * 2**0.5
    assert Side("a", found.a.figures, tally=tally).is_same(Side("b", found.a.figures)) is False


def test_tallies_of_different_items_are_compared_as_their_annotations_are() -> None:
    """What the same people do in both cancels; on items that both may hold it could be chance on the item."""
    one, other = rows(1, 0, 60), rows(2, 60, 120)
    whole = spagree.compare(one, other).pairs[0]
    found = spagree.compare(spagree.tally(one), spagree.tally(other)).pairs[0]
    assert found.difference.interval_for == "annotators" and found.shared_annotators == whole.shared_annotators == 6
    for mine, theirs in ((found.difference, whole.difference), (found.kappa_difference, whole.kappa_difference)):
        for population in POPULATIONS:
            assert mine.intervals[population] == approx_interval(theirs.intervals[population])
    again = rows(3, 0, 60)
    known, unknown = spagree.compare(one, again), spagree.compare(spagree.tally(one), spagree.tally(again))
    wide, narrow = (each.difference.intervals["annotators"] for each in (unknown, known))
    assert wide.low <= narrow.low and narrow.high <= wide.high


def approx_interval(interval: Interval) -> Any:
    return Interval(*(pytest.approx(each, rel=1e-9) for each in (interval.stderr, interval.low, interval.high)))


def test_three_sides_are_compared_pairwise_and_their_p_values_hold_together() -> None:
    sources = [rows(seed, 0, 60) for seed in (10, 11, 12)]
    found = spagree.compare(*sources, names=("a", "b", "c"), level=0.9)
    assert [(each.a.name, each.b.name) for each in found.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [each.p_holm for each in found.pairs] == holm([p_of(each.difference) for each in found.pairs])
    assert all(each.difference.level == each.kappa_difference.level == 0.9 for each in found.pairs)
    items = spagree.compare(*sources[:2], level=0.9, interval_for=ITEMS).pairs[0].difference
    assert items.interval_for == ITEMS and items.intervals == found.pairs[0].difference.intervals
    assert items.low == items.intervals[ITEMS].low
