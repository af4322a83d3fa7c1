from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from spagree.estimate.comparison import Difference, Figure, Limits, difference, holm
from spagree.estimate.influence import AnnotationCodes, Sums, pairable
from spagree.estimate.models import (
    NO_ITEMS,
    ONE_CLASS,
    ONE_ITEM,
    AlternativeTest,
    _gap,
    _ModelAndPeople,
    alternative_test,
    among_people,
    model_verdict,
)
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS

LABELS = ["a", "b", "c"]


def weight(n: np.ndarray) -> np.ndarray:
    return n - 1.0


def people(seed: int, items: int = 8, size: int = 5, most: int = 4) -> list[tuple[int, int, int]]:
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        right = int(rng.integers(3))
        chosen = rng.choice(size, rng.integers(2, most + 1), replace=False).tolist()
        rows += [(item, person, right if rng.random() < 0.7 else int(rng.integers(3))) for person in chosen]
    return rows


def coded(rows: list[tuple[int, int, int]]) -> AnnotationCodes:
    return AnnotationCodes(*(np.array(column) for column in zip(*rows, strict=True)))


def by_hand(rows: list[tuple[int, int, int]], run: dict[int, int]) -> tuple[float, float]:
    """Agreement with the model, and beyond chance: literal loops."""
    of = defaultdict(list)
    for item, _, label in rows:
        of[item].append(label)
    k = {item: len(labels) - 1 for item, labels in of.items()}
    observed = sum(k[i] * of[i].count(run[i]) / len(of[i]) for i in of) / sum(k.values())
    cross = [run[one] == label for one in of for other in of if one != other for label in of[other]]
    expected = sum(cross) / len(cross)
    return observed, (observed - expected) / (1 - expected)


@pytest.mark.parametrize("seed", range(3))
def test_sums_equal_counting_again(seed: int) -> None:
    rows = people(seed, most=5)
    rng = np.random.default_rng(seed)
    run = {item: int(rng.integers(3)) for item in range(8)}
    found = pairable(coded(rows), weight)
    jackknifed = _ModelAndPeople(found, (np.array([run[item] for item in range(8)]),), 3).jackknife
    for statistic, which in ((Sums.observed, 0), (Sums.beyond_chance, 1)):
        assert statistic(jackknifed.whole) == pytest.approx(by_hand(rows, run)[which])
        for item, value in enumerate(statistic(jackknifed.whole.minus(jackknifed.items))):
            assert value == pytest.approx(by_hand([row for row in rows if row[0] != item], run)[which])
    big = [row for row in rows if sum(other[0] == row[0] for other in rows) > 2]
    for place, (item, person) in enumerate(zip(found.coded.item, found.coded.annotator, strict=True)):
        if (item, person) in {row[:2] for row in big}:
            left = [row for row in rows if row[:2] != (item, person)]
            value = Sums.observed(jackknifed.whole.minus(jackknifed.annotations))[place]
            assert value == pytest.approx(by_hand(left, run)[0])


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
    found = among_people("bot", coded(rows), [{0: 0, 1: 1, 2: 1, 3: 0}], weight, LABELS)
    with_humans = (2 * 2 / 3 + 1 * 1 + 1 * 0) / 4
    humans = (2 * 1 / 3 + 1 * 1 + 1 * 0) / 4
    assert found.with_humans.value == pytest.approx(with_humans)
    assert found.humans.value == pytest.approx(humans)
    assert found.difference.value == pytest.approx(with_humans - humans)
    assert (found.name, found.items, found.humans_count) == ("bot", 3, 3)
    assert dict(found.labels) == {"a": 1, "b": 2}
    assert dict(found.left_out) == {"no_model_label": 1, "fewer_than_two_people": 1}


def test_a_model_that_says_what_a_person_says_is_that_person() -> None:
    """With everybody on every item, Δ of person j as the model is what they agree more than the rest do."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, (40, 4))
    rows = [(item, person, int(labels[item, person])) for item in range(40) for person in range(3)]
    found = among_people("ann", coded(rows), [dict(enumerate(labels[:, 3].tolist()))], weight, ["a", "b"])
    agree = np.mean([labels[:, 3] == labels[:, other] for other in range(3)])
    rest = np.mean([labels[:, one] == labels[:, other] for one, other in ((0, 1), (0, 2), (1, 2))])
    assert found.difference.value == pytest.approx(agree - rest)
    assert found.difference.interval_for == ANNOTATORS


def test_runs_are_averaged_and_agree_with_themselves() -> None:
    rows = people(1)
    first, second = dict.fromkeys(range(8), 0), {item: item % 3 for item in range(8)}
    one, other, both = (
        among_people("bot", coded(rows), runs, weight, LABELS) for runs in ([first], [second], [first, second])
    )
    assert both.with_humans.value == pytest.approx((one.with_humans.value + other.with_humans.value) / 2)
    assert one.self_agreement is None
    assert both.self_agreement.value == pytest.approx(3 / 8)
    assert both.runs == 2
    apart = among_people("bot", coded(rows), [{0: 1}, {1: 1}], weight, LABELS)
    assert apart.self_agreement == Figure(None, undefined="no item was labelled by two runs of the model")


def test_similar_labels_count_in_part() -> None:
    like = np.array([[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]])
    rows = [(0, 0, 0), (0, 1, 1), (1, 0, 2), (1, 1, 2)]
    found = among_people("bot", coded(rows), [{0: 0, 1: 1}], weight, LABELS, similarity=like)
    assert found.with_humans.value == pytest.approx((0.75 + 0.5) / 2)
    assert found.humans.value == pytest.approx((0.5 + 1) / 2)


def test_rank_counts_people_who_agree_more_on_their_own_items() -> None:
    rows = [(item, person, 0 if person < 2 else 1) for item in range(6) for person in range(3)]
    found = among_people("bot", coded(rows), [dict.fromkeys(range(6), 0)], weight, LABELS)
    assert (found.rank.rank, found.rank.tied, found.rank.of) == (1, 2, 3)
    worst = among_people("bot", coded(rows), [dict.fromkeys(range(6), 2)], weight, LABELS)
    assert (worst.rank.rank, worst.rank.tied) == (3, 1)


def test_nothing_to_compare_has_a_reason() -> None:
    rows = [(0, 0, 0), (0, 1, 0), (1, 0, 1)]
    none = among_people("bot", coded(rows), [{1: 1}], weight, LABELS)
    assert none.difference.value is None and none.difference.undefined == NO_ITEMS and none.verdict == "cannot_tell"
    one = among_people("bot", coded(rows), [{0: 0}], weight, LABELS)
    assert one.difference.value == 0.0 and one.difference.low is None and one.difference.undefined == ONE_ITEM
    same = [(item, person, 0) for item in range(5) for person in range(3)]
    alike = among_people("bot", coded(same), [dict.fromkeys(range(5), 0)], weight, LABELS)
    assert alike.kappa_humans == Figure(None, undefined=ONE_CLASS)
    assert alike.verdict == "cannot_tell" and alike.difference.value == 0 and alike.difference.low < 0


def test_limits_beyond_chance_reach_below_zero_and_never_below_the_lowest_kappa() -> None:
    """Two classes, equally common: a model that is right half the time is at chance, one that is always wrong at -1."""
    rows = [(item, person, item % 2) for item in range(40) for person in range(3)]
    guessing = among_people("bot", coded(rows), [{item: item // 2 % 2 for item in range(40)}], weight, LABELS)
    limits = guessing.kappa_with_humans.limits[ITEMS]
    assert limits.low < guessing.kappa_with_humans.value < limits.high and -0.5 < limits.low < -0.2
    contrary = {item: (item + (item > 1)) % 2 for item in range(40)}
    wrong = among_people("bot", coded(rows), [contrary], weight, LABELS).kappa_with_humans
    assert -1.06 < wrong.limits[ITEMS].low < wrong.value < wrong.limits[ITEMS].high < 0


def test_unknown_people_leave_the_interval_for_items() -> None:
    rows = coded(people(2))
    unknown = AnnotationCodes(rows.item, np.full_like(rows.annotator, -1), rows.label)
    found = among_people("bot", unknown, [{item: item % 3 for item in range(8)}], weight, LABELS)
    assert found.difference.interval_for == ITEMS and found.difference.low is not None
    assert (found.humans_count, found.rank, found.alternative) == (None, None, None)


def gap(low: float, high: float) -> Difference:
    return Difference((low + high) / 2, 0.95, limits={ITEMS: Limits(0.1, low, high)})


@pytest.mark.parametrize(
    ("agreement", "kappa", "beyond", "verdict"),
    [
        ((-0.04, 0.02), (-0.1, 0.1), 0.2, "as_good"),
        ((-0.06, 0.02), (-0.1, 0.1), 0.2, "cannot_tell"),
        ((-0.05, 0.02), (-0.1, 0.1), 0.2, "cannot_tell"),
        ((-0.04, 0.02), (-0.3, -0.06), 0.2, "worse"),
        ((-0.09, -0.06), (-0.1, 0.1), 0.2, "worse"),
        ((-0.04, 0.02), (-0.1, 0.1), -0.01, "cannot_tell"),
        ((-0.04, 0.02), (-0.1, 0.1), 0.0, "cannot_tell"),
        ((-0.09, -0.05), (-0.1, 0.1), 0.2, "cannot_tell"),
        ((-0.04, 0.02), (-0.3, -0.05), 0.2, "as_good"),
    ],
)
def test_verdicts(agreement: tuple[float, float], kappa: tuple[float, float], beyond: float, verdict: str) -> None:
    own = Figure(0.3, {ITEMS: Limits(0.1, beyond, 0.5)})
    assert model_verdict(gap(*agreement), gap(*kappa), own, 0.05) == verdict


def test_alternative_test_as_its_paper_defines_it() -> None:
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 2, 120)
    rows, model = [], {}
    for item, right in enumerate(truth.tolist()):
        model[item] = right if rng.random() < 0.85 else 1 - right
        chosen = rng.choice(6 if item < 100 else 9, 3, replace=False).tolist()
        rows += [(item, person, right if rng.random() < 0.8 else 1 - right) for person in chosen]
    found = pairable(coded(rows), weight)
    match = np.array([model[item] == label for item, label in zip(found.coded.item, found.coded.label, strict=True)])
    test = alternative_test(found, match.astype(float), epsilon=0.15)
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
    assert test.annotations + test.annotations_left_out == len(rows)
    assert test.passes == (test.omega >= 0.5) and test.epsilon == 0.15


def test_alternative_test_without_variation_and_without_data() -> None:
    rows = [(item, person, item % 2) for item in range(40) for person in range(2)]
    found = pairable(coded(rows), weight)
    assert alternative_test(found, np.ones(80)).omega == 1.0
    assert alternative_test(found, np.zeros(80)).omega == 0.0
    few = alternative_test(pairable(coded(rows[:20]), weight), np.ones(20))
    assert few == AlternativeTest(None, None, 0.1, 0, 2, 0, 20) and few.passes is None
    assert alternative_test(found, np.ones(80)) == AlternativeTest(1.0, 1.0, 0.1, 2, 0, 80, 0)
    half = AlternativeTest(0.5, 0.5, 0.1, 2, 0, 80, 0)
    assert half.passes and not replace(half, omega=0.49).passes


def test_a_model_that_agrees_with_one_of_two_who_always_differ_is_ahead_of_both() -> None:
    """Each person agrees with nobody; the model agrees with each of them on every other item."""
    rows = [(item, person, person) for item in range(40) for person in range(2)]
    found = pairable(coded(rows), weight)
    match = np.array([float(item % 2 == person) for item, person, _ in rows])
    assert alternative_test(found, match, epsilon=0.0) == AlternativeTest(1.0, 1.0, 0.0, 2, 0, 80, 0)


def test_alternative_test_takes_people_with_thirty_items() -> None:
    rows = [(item, person, item % 2) for item in range(60) for person in ((0, 1) if item < 30 else (0, 2))]
    thirty = alternative_test(pairable(coded(rows), weight), np.ones(len(rows)))
    assert (thirty.annotators, thirty.annotators_left_out) == (3, 0)
    fewer = alternative_test(pairable(coded(rows[:-2]), weight), np.ones(len(rows) - 2))
    assert (fewer.annotators, fewer.annotators_left_out, fewer.annotations_left_out) == (2, 1, 29)


def test_the_interval_allows_for_items_that_speak_against_the_model() -> None:
    """Newcombe's limits, widened by one item where the model alone differs and one where a person does."""
    rows = [(item, person, item % 2) for item in range(40) for person in (0, 1, 2)]
    run = {item: item % 2 for item in range(40)}
    found = among_people("bot", coded(rows), [run], weight, LABELS)
    error = (1 + 1 / 4) ** 0.5 / 40
    assert found.difference.value == 0 and found.difference.limits[ITEMS].stderr == pytest.approx(error)
    newcombe = difference(found.humans, found.with_humans, 0.95).limits[ITEMS]
    reach = np.hypot(newcombe.low, stats.t.ppf(0.975, 39) * error)
    assert found.difference.limits[ITEMS].low == pytest.approx(-reach)
    expected = 0.5 - 0.5 / 39  # the model's label of one item, people's of another
    beyond = found.kappa_difference.limits[ITEMS]
    assert beyond.stderr == pytest.approx(error / (1 - expected))
    assert beyond.high == pytest.approx(-beyond.low)


def test_two_items_or_two_people_leave_everything_open() -> None:
    """Hardly any degrees of freedom: the limits end where a difference must."""
    rows = [(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1), (1, 2, 1), (1, 3, 0), (1, 4, 1)]
    found = among_people("bot", coded(rows), [{0: 0, 1: 1}], weight, LABELS)
    gap = found.difference
    assert gap.low is not None and gap.high is not None and -1 <= gap.low <= gap.high <= 1
    assert found.verdict == "cannot_tell"


def test_no_common_item_leaves_nothing_to_compare() -> None:
    found = among_people("bot", coded([(0, 0, 0), (0, 1, 0)]), [{7: 1}], weight, LABELS)
    assert found.difference.value is None and found.difference.undefined == NO_ITEMS
    assert found.verdict == "cannot_tell" and found.items == 0


def test_every_figure_of_a_model_by_hand() -> None:
    """Classes, rank, counts and both differences: each from its definition."""
    rows, run = people(4, items=12), {item: item % 3 for item in range(12)}
    found = among_people("bot", coded(rows), [run], weight, LABELS, margin=0.2, level=0.9)
    assert (found.name, found.margin, found.items, found.humans_count, found.runs) == ("bot", 0.2, 12, 5, 1)
    assert dict(found.left_out) == {} and found.self_agreement is None
    assert dict(found.labels) == {"a": 4, "b": 4, "c": 4}
    assert found.difference.level == found.kappa_difference.level == 0.9
    assert found.with_humans.value == pytest.approx(by_hand(rows, run)[0])
    assert found.kappa_with_humans.value == pytest.approx(by_hand(rows, run)[1])
    assert found.kappa_difference.value == pytest.approx(found.kappa_with_humans.value - found.kappa_humans.value)
    assert found.verdict == model_verdict(found.difference, found.kappa_difference, found.kappa_with_humans, 0.2)
    assert [each.label for each in found.classes] == LABELS
    for each in found.classes:
        chosen = [row for row in rows if LABELS[row[2]] == each.label]
        others = [[other for i, j, other in rows if i == item and j != who] for item, who, _ in chosen]
        second = [rest.count(row[2]) / len(rest) for row, rest in zip(chosen, others, strict=True)]
        assert each.with_humans.value == pytest.approx(np.mean([run[item] == label for item, _, label in chosen]))
        assert each.humans.value == pytest.approx(np.mean(second))
        assert each.difference.value == pytest.approx(each.with_humans.value - each.humans.value)
        assert each.difference.level == 0.9
    assert [each.p_holm for each in found.classes] == holm([each.difference.p for each in found.classes])


def test_the_gap_is_for_new_people_only_where_both_sides_know_them() -> None:
    found = among_people("bot", coded(people(5)), [dict.fromkeys(range(8), 0)], weight, LABELS)
    assert set(found.humans.limits) == set(found.with_humans.limits) == {ITEMS, ANNOTATORS}
    unknown = replace(found.with_humans, limits={ITEMS: found.with_humans.limits[ITEMS]})
    for theirs, mine in ((found.humans, unknown), (unknown, found.humans)):
        assert _gap(theirs, mine, 0.95, 1.0).interval_for == ITEMS
    assert _gap(found.humans, found.with_humans, 0.95, 1.0) == found.difference
