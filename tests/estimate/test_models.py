from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from scipy import stats

from spagree.codes import Codes, in_order
from spagree.counts.tally import Tally
from spagree.estimate import find
from spagree.estimate.comparison import holm
from spagree.estimate.models import (
    NO_ITEMS,
    NO_RUNS,
    ONE_SHARED,
    AlternativeTest,
    Both,
    ModelFindings,
    alternative_test,
    among_people,
)
from spagree.estimate.other_annotators import Others
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS, Estimate, Interval

LABELS = ["a", "b", "c"]
BY_N = {n: Fraction(n - 1) for n in range(2, 12)}
LIKE = np.array([[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]])
Rows = list[tuple[int, int, int]]


def people(seed: int, items: int = 8, size: int = 5, most: int = 4) -> Rows:
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        right = int(rng.integers(3))
        chosen = rng.choice(size, rng.integers(2, most + 1), replace=False).tolist()
        rows += [(item, person, right if rng.random() < 0.7 else int(rng.integers(3))) for person in chosen]
    return rows


def coded(rows: Rows, labels: list[str] = LABELS) -> Codes:
    item, person, label = (np.array(column, dtype=np.int32) for column in zip(*rows, strict=True))
    return in_order(item, label, person, labels, [f"p{number}" for number in range(max(person) + 1)])


def compared(rows: Rows, *runs: dict[int, int], labels: list[str] = LABELS, **options: object) -> ModelFindings:
    items = 1 + max([row[0] for row in rows] + [item for run in runs for item in run])
    answers = np.array([[run.get(item, -1) for item in range(items)] for run in runs])
    return among_people("bot", coded(rows, labels), answers, options.pop("by_n", BY_N), **options)


def by_hand(rows: Rows, run: dict[int, int], by_n: dict[int, Fraction]) -> tuple[Fraction, Fraction]:
    """Agreement with the model and Δ in exact fractions: literal loops."""
    of = defaultdict(list)
    for item, _, label in rows:
        of[item].append(label)
    pairable = {item: labels for item, labels in of.items() if len(labels) > 1}
    k = {item: by_n[len(labels)] for item, labels in pairable.items()}
    mine = sum(k[i] * Fraction(labels.count(run[i]), len(labels)) for i, labels in pairable.items()) / sum(k.values())
    theirs = sum(
        k[i] * Fraction(sum(labels.count(label) - 1 for label in labels), len(labels) * (len(labels) - 1))
        for i, labels in pairable.items()
    )
    return mine, mine - theirs / sum(k.values())


def variance(values: list[Fraction]) -> Fraction:
    mean = sum(values) / len(values)
    return Fraction(len(values) - 1, len(values)) * sum((value - mean) ** 2 for value in values)


@pytest.mark.parametrize("steep", [0, 1, 6, 20])
@pytest.mark.parametrize("seed", range(2))
def test_the_variance_is_what_leaving_out_gives_however_steep_the_weights(seed: int, steep: int) -> None:
    """With weights of 10^(20n), the whole minus what a unit takes with it would leave nothing but rounding."""
    rows = people(seed, items=14, most=5)
    run = {item: int(label) for item, label in enumerate(np.random.default_rng(seed).integers(0, 3, 14))}
    by_n = {n: Fraction(10) ** (steep * n) if steep else Fraction(n - 1) for n in range(2, 6)}
    found = compared(rows, run, by_n=by_n)
    assert (found.with_humans.value, found.difference.value) == pytest.approx([*map(float, by_hand(rows, run, by_n))])
    left = {
        "items": [[row for row in rows if row[0] != item] for item in range(14)],
        "people": [[row for row in rows if row[1] != person] for person in range(5)],
        "single": [rows[:place] + rows[place + 1 :] for place in range(len(rows))],
    }
    moved = {unit: [by_hand(each, run, by_n) for each in ways] for unit, ways in left.items()}
    spread = [
        {unit: variance([values[figure] for values in ways]) for unit, ways in moved.items()} for figure in (0, 1)
    ]
    both = Both(Others.of(coded(rows), None, None), np.array([[run[item] for item in range(14)]]), by_n)
    for figure, values in enumerate((both.agreement, both.gap)):
        items, crowd, single = (spread[figure][unit] for unit in ("items", "people", "single"))
        ends = both.intervals(values, lambda variance, *_: Interval(sqrt(variance), 0.0, 1.0))
        assert ends[ITEMS].stderr == pytest.approx(sqrt(items), rel=1e-9)
        assert ends[ANNOTATORS].stderr == pytest.approx(sqrt(max(items, items + crowd - single)), rel=1e-9)


def test_teams_that_never_met_take_the_place_of_items() -> None:
    """What makes the people of a team alike is not seen person by person; five teams leave four degrees of freedom."""
    rng = np.random.default_rng(2)
    rows = [
        (item, 3 * (item // 4) + person, int(rng.random() < item // 4 / 4)) for item in range(20) for person in range(3)
    ]
    run = dict.fromkeys(range(20), 0)
    both = Both(Others.of(coded(rows), None, None), np.zeros((1, 20), dtype=np.int64), BY_N)
    made: list[tuple[float, ...]] = []

    def seen(variance: float, *size_and_freedom: float) -> Interval:
        made.append(size_and_freedom)
        return Interval(sqrt(variance), None, None)

    found = both.intervals(both.gap, seen)[ANNOTATORS]
    teams = variance([by_hand([row for row in rows if row[0] // 4 != team], run, BY_N)[1] for team in range(5)])
    assert found.stderr == pytest.approx(sqrt(teams))
    assert made[-1] == pytest.approx((5, 4)), "five equal teams, four degrees of freedom"


def test_delta_by_hand() -> None:
    rows = [
        (0, 0, 0),
        (0, 1, 0),
        (0, 2, 1),
        (1, 0, 1),
        (1, 2, 1),
        (2, 1, 0),
        (2, 2, 2),
        (3, 0, 0),
        (4, 0, 1),
        (4, 1, 1),
    ]
    found = compared(rows, {0: 0, 1: 1, 2: 1, 3: 0, 5: 2})
    assert found.with_humans.value == pytest.approx((2 * 2 / 3 + 1 * 1 + 1 * 0) / 4)
    assert found.humans.value == pytest.approx((2 * 1 / 3 + 1 * 1 + 1 * 0) / 4)
    assert found.difference.value == pytest.approx(1 / 6)
    assert (found.name, found.items, found.humans_count, found.runs) == ("bot", 3, 3, 1)
    assert dict(found.labels) == {"a": 1, "b": 2} and found.self_agreement is None
    assert dict(found.left_out) == {"no_model_label": 1, "fewer_than_two_people": 1, "no_people": 1}


def test_a_model_that_says_what_a_person_says_is_that_person() -> None:
    """With everybody on every item, Δ of person j as the model is what they agree more than the rest do."""
    labels = np.random.default_rng(3).integers(0, 2, (40, 5))
    rows = [(item, person, int(labels[item, person])) for item in range(40) for person in range(4)]
    found = compared(rows, dict(enumerate(labels[:, 4].tolist())))
    agree = np.mean([labels[:, 4] == labels[:, other] for other in range(4)])
    rest = np.mean([labels[:, one] == labels[:, other] for one in range(4) for other in range(one)])
    assert found.difference.value == pytest.approx(agree - rest)
    assert found.difference.interval_for == ANNOTATORS


def test_runs_are_averaged_and_agree_with_themselves() -> None:
    rows = people(1)
    first, second = dict.fromkeys(range(8), 0), {item: item % 3 for item in range(8)}
    one, other, both = (compared(rows, *runs) for runs in ([first], [second], [first, second]))
    assert both.with_humans.value == pytest.approx((one.with_humans.value + other.with_humans.value) / 2)
    assert both.self_agreement.value == pytest.approx(3 / 8) and both.runs == 2
    assert compared(rows, {0: 1}, {1: 1}).self_agreement.undefined == NO_RUNS


def test_similar_labels_count_in_part() -> None:
    rows = [(0, 0, 0), (0, 1, 1), (1, 0, 2), (1, 1, 2)]
    found = compared(rows, {0: 0, 1: 1}, {0: 0, 1: 0}, similarity=LIKE)
    assert found.with_humans.value == pytest.approx((0.75 + 0.25) / 2)
    assert found.humans.value == pytest.approx((0.5 + 1) / 2)
    assert found.self_agreement.value == pytest.approx(0.75)


def test_nothing_to_compare_has_a_reason() -> None:
    rows = [(0, 0, 0), (0, 1, 0), (1, 0, 1)]
    for none in (compared(rows, {1: 1}), compared(rows, {7: 1})):
        assert none.difference.value is None and none.difference.undefined == NO_ITEMS
        assert none.verdict == "cannot_tell" and none.items == 0
    one = compared(rows, {0: 0})
    assert one.difference.value == 0.0 and one.difference.low is None and one.difference.undefined == ONE_SHARED
    assert one.verdict == "cannot_tell"


def test_people_who_cannot_show_how_people_differ_leave_the_interval_for_items() -> None:
    three = compared(people(2, size=3, most=3), dict.fromkeys(range(8), 0))
    assert (
        three.difference.interval_for == ITEMS
        and "three annotators" in three.difference.intervals[ANNOTATORS].undefined
    )
    codes = coded(people(2))
    unknown = replace(codes, annotator=np.full_like(codes.annotator, -1))
    found = among_people("bot", unknown, np.arange(8)[None] % 3, BY_N)
    assert found.difference.interval_for == ITEMS and found.difference.low is not None
    assert (found.humans_count, found.alternative) == (None, None)
    forced = among_people("bot", unknown, np.arange(8)[None] % 3, BY_N, interval_for=ANNOTATORS)
    assert forced.difference.low is None and "unknown" in forced.difference.undefined
    assert forced.verdict == "cannot_tell"


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.01, 0.02, "better"),
        (0.0, 0.02, "as_good"),
        (-0.04, 0.02, "as_good"),
        (-0.04, -0.01, "as_good"),
        (-0.05, 0.02, "cannot_tell"),
        (-0.06, 0.0, "cannot_tell"),
        (-0.05, -0.01, "slightly_worse"),
        (-0.09, -0.05, "slightly_worse"),
        (-0.09, -0.06, "worse"),
        (None, None, "cannot_tell"),
    ],
)
def test_verdicts(low: float | None, high: float | None, verdict: str) -> None:
    gap = Estimate(0.0, 0.1, low, high, 0.95, "flat")
    found = compared(people(0), dict.fromkeys(range(8), 0), margin=0.05)
    assert replace(found, difference=gap).verdict == verdict


def test_alternative_test_as_its_paper_defines_it() -> None:
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 2, 120)
    rows, model = [], {}
    for item, right in enumerate(truth.tolist()):
        model[item] = right if rng.random() < 0.85 else 1 - right
        chosen = rng.choice(6 if item < 100 else 9, 3, replace=False).tolist()
        rows += [(item, person, right if rng.random() < 0.8 else 1 - right) for person in chosen]
    test = alternative_test(both(rows, model), epsilon=0.15)
    p, rho = [], []
    for person in range(9):
        wins, loses = [], []
        for item, who, label in rows:
            if who == person:
                others = [other for i, j, other in rows if i == item and j != person]
                mine, theirs = others.count(model[item]), others.count(label)
                wins.append(mine >= theirs)
                loses.append(theirs >= mine)
        if len(wins) >= 30:
            p.append(stats.ttest_1samp(np.array(loses, float) - wins, 0.15, alternative="less").pvalue)
            rho.append(np.mean(wins))
    rejected = stats.false_discovery_control(p, method="by") <= 0.05
    assert test.omega == pytest.approx(np.mean(rejected)) and test.rho == pytest.approx(np.mean(rho))
    assert (test.annotators, test.annotators_left_out) == (len(p), 9 - len(p))
    assert test.annotations + test.annotations_left_out == len(rows) and test.epsilon == 0.15


def both(rows: Rows, run: dict[int, int]) -> Both:
    answers = np.array([[run[item] for item in range(max(row[0] for row in rows) + 1)]])
    return Both(Others.of(coded(rows), None, None), answers, BY_N)


def test_alternative_test_without_variation_and_without_thirty_items() -> None:
    rows = [(item, person, item % 2) for item in range(40) for person in range(2)]
    right, wrong = {item: item % 2 for item in range(40)}, dict.fromkeys(range(40), 2)
    assert alternative_test(both(rows, right)) == AlternativeTest(1.0, 1.0, 0.1, 2, 0, 80, 0)
    assert alternative_test(both(rows, wrong)).omega == 0.0
    assert alternative_test(both(rows[:58], right)) == AlternativeTest(None, None, 0.1, 0, 2, 0, 58)
    rows = [(item, person, item % 2) for item in range(60) for person in ((0, 1) if item < 30 else (0, 2))]
    thirty, fewer = (alternative_test(both(each, dict.fromkeys(range(60), 0))) for each in (rows, rows[:-2]))
    assert (thirty.annotators, thirty.annotators_left_out) == (3, 0)
    assert (fewer.annotators, fewer.annotators_left_out, fewer.annotations_left_out) == (2, 1, 29)


def test_the_interval_allows_for_items_that_speak_against_the_model() -> None:
    """Nobody ever differs: the interval is as wide as one item where the model alone differs and one where a person does."""
    rows = [(item, person, item % 2) for item in range(40) for person in (0, 1, 2)]
    gap = compared(rows, {item: item % 2 for item in range(40)}).difference
    error = (1 + 1 / 4) ** 0.5 / 40
    assert gap.value == 0 and gap.stderr == pytest.approx(error)
    assert -gap.low == gap.high == pytest.approx(stats.t.ppf(0.975, 39) * error)


def test_two_items_leave_everything_open() -> None:
    """Hardly any degrees of freedom: the limits end where a difference must."""
    rows = [(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1), (1, 2, 1), (1, 3, 0), (1, 4, 1)]
    found = compared(rows, {0: 0, 1: 1})
    assert (found.difference.low, found.difference.high, found.verdict) == (-1, 1, "cannot_tell")


@pytest.mark.parametrize("similarity", [None, LIKE])
def test_classes_by_hand(similarity: np.ndarray | None) -> None:
    rows, run = people(4, items=12), {item: item % 3 for item in range(12)}
    like = np.eye(3) if similarity is None else similarity
    found = compared(rows, run, similarity=similarity, level=0.9)
    assert [each.label for each in found.classes] == LABELS
    p = []
    for code, each in enumerate(found.classes):
        chosen = [row for row in rows if row[2] == code]
        others = [[like[code, other] for i, j, other in rows if i == item and j != who] for item, who, _ in chosen]
        second, mine = (
            np.array([np.mean(rest) for rest in others]),
            np.array([like[code, run[row[0]]] for row in chosen]),
        )
        assert each.with_humans.value == pytest.approx(mine.mean())
        assert each.humans.value == pytest.approx(second.mean())
        gap, items = each.difference, np.array([row[0] for row in chosen])
        assert gap.value == pytest.approx((mine - second).mean()) and gap.level == 0.9
        sums = np.array([(mine - second - gap.value)[items == item].sum() for item in np.unique(items)])
        equal = len(chosen) ** 2 / (np.bincount(items) ** 2).sum()
        spread = len(sums) / (len(sums) - 1) * (sums**2).sum() / len(chosen) ** 2 + 1.25 / equal**2
        assert gap.stderr == pytest.approx(spread**0.5)
        assert gap.high == pytest.approx(min(1, gap.value + stats.t.ppf(0.95, equal - 1) * spread**0.5))
        p.append(2 * stats.t.sf(abs(gap.value) / spread**0.5, equal - 1))
    assert [each.p_holm for each in found.classes] == pytest.approx(holm(p))
    alone = compared([(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1)], {0: 0, 1: 0}).classes[0].difference
    assert alone.value == 0 and alone.low is None and "only one item" in alone.undefined


def test_of_few_people_each_figure_keeps_its_own_interval_over_items() -> None:
    rows = people(3, items=40, size=3, most=3)
    found = compared(rows, dict.fromkeys(range(40), 0))
    alone = find(Tally.from_items([Counter(row[2] for row in rows if row[0] == item) for item in range(40)])).spa
    for figure in (found.with_humans, found.humans, found.difference):
        assert figure.interval_for == ITEMS and figure.intervals[ANNOTATORS].undefined
        assert figure.low is not None and figure.high is not None and figure.low < figure.value < figure.high
    assert (found.humans.low, found.humans.high) == pytest.approx((alone.low, alone.high), rel=1e-12)
