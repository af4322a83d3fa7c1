"""The one jackknife equals leaving each unit out by hand, in exact fractions, however steep the weights."""

from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spagree.codes import Codes
from spagree.estimate import jackknife
from spagree.estimate.votes import LabelCounts, votes_in_codes

Rows = list[tuple[int, int, int]]
PEOPLE, LABELS = "abcde", "xyz"

WEIGHTS: dict[str, Callable[[int], Fraction]] = {
    "flat": lambda n: Fraction(1),
    "annotations_m1": lambda n: Fraction(n - 1),
    "10^(6n)": lambda n: Fraction(10) ** (6 * n),
    "10^(20n)": lambda n: Fraction(10) ** (20 * n),
    "10^(-20n)": lambda n: Fraction(1, 10 ** (20 * n)),
}


@st.composite
def annotations(draw: st.DrawFn) -> Rows:
    rows = []
    for item in range(draw(st.integers(1, 7))):
        people = draw(st.lists(st.sampled_from(range(len(PEOPLE))), min_size=1, unique=True))
        rows += [(item, person, draw(st.integers(0, len(LABELS) - 1))) for person in people]
    return sorted(rows, key=lambda row: (row[0], row[2], row[1]))  # as a tally's codes are sorted


def coded(rows: Rows) -> Codes:
    item, annotator, label = (np.array(column, dtype=np.int32) for column in zip(*rows, strict=True))
    return Codes(item, annotator, label, tuple(PEOPLE), tuple(LABELS))


def spa(rows: Rows, k: Callable[[int], Fraction]) -> Fraction | None:
    above = below = Fraction()
    given = defaultdict(list)
    for item, _, label in rows:
        given[item].append(label)
    for labels in given.values():
        if (n := len(labels)) > 1:
            agreeing = sum(a == b for a, b in permutations(labels, 2))
            above += k(n) * Fraction(agreeing, n * (n - 1))
            below += k(n)
    return above / below if below else None


def check(values: np.ndarray, exact: list[Fraction | None]) -> None:
    assert [None if np.isnan(value) else value for value in values.tolist()] == [
        None if value is None else pytest.approx(float(value), rel=4e-15, abs=1e-300) for value in exact
    ]


@pytest.mark.parametrize("weights", WEIGHTS)
@given(rows=annotations())
def test_spa_without_each_unit_is_exact(weights: str, rows: Rows) -> None:
    k, codes = WEIGHTS[weights], coded(rows)
    by_n = {n: k(n) for n in range(2, len(PEOPLE) + 1)}
    votes = votes_in_codes(codes)
    sizes = votes.sizes
    people = sizes.without(jackknife.annotators(codes, votes), by_n)
    check(people, [spa([row for row in rows if row[1] != person], k) for person in range(len(PEOPLE))])
    pairable = [item for item in sorted({row[0] for row in rows}) if sum(row[0] == item for row in rows) > 1]
    check(
        sizes.without(jackknife.items(votes), by_n),
        [spa([row for row in rows if row[0] != item], k) for item in pairable],
    )
    alike = jackknife.annotations(votes)  # equal labels of an item are one unit
    each = sorted({(item, label) for item, _, label in rows})
    left = [spa(_without_one(rows, *unit), k) for unit in each]
    check(sizes.without(alike, by_n), left)
    times = Counter((item, label) for item, _, label in rows)
    assert alike.times.tolist() == [times[unit] for unit in each]


def _without_one(rows: Rows, item: int, label: int) -> Rows:
    place = next(place for place, row in enumerate(rows) if (row[0], row[2]) == (item, label))
    return rows[:place] + rows[place + 1 :]


@given(rows=annotations())
def test_a_cluster_is_left_out_as_a_whole(rows: Rows) -> None:
    k, codes = WEIGHTS["10^(20n)"], coded(rows)
    single = votes_in_codes(codes)
    cluster = np.arange(len(single.items)) % 2
    votes = LabelCounts(single.labels, single.items, single.group, single.label, single.count, cluster=cluster)
    units = jackknife.items(votes)
    by_n = {n: k(n) for n in range(2, len(PEOPLE) + 1)}
    number = {item: int(cluster[place]) for place, item in enumerate(sorted({row[0] for row in rows}))}
    clusters = sorted({number[item] for item in number if sum(row[0] == item for row in rows) > 1})
    values = votes.sizes.without(units, by_n)
    check(values, [spa([row for row in rows if number[row[0]] != each], k) for each in clusters])


@given(rows=annotations())
def test_what_each_label_loses(rows: Rows) -> None:
    """Class shares count pairable annotations: with an item of two, both go."""

    def totals(left: Rows) -> list[int]:
        size = Counter(row[0] for row in left)
        counts = Counter(row[2] for row in left if size[row[0]] > 1)
        return [counts[label] for label in range(len(LABELS))]

    codes = coded(rows)
    votes = votes_in_codes(codes)
    lost = jackknife.annotators(codes, votes).lost()
    table = np.zeros((len(PEOPLE), len(LABELS)))
    table[lost.group, lost.label] = lost.count
    left = [totals([row for row in rows if row[1] != person]) for person in range(len(PEOPLE))]
    assert (np.array(totals(rows)) - table == left).all()
