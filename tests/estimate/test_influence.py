"""Every sum and deviation against literal loops over the annotations that are left."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from oracle import exactly
from spagree.estimate.influence import AnnotationCodes, Deviations, Influence, Sums, influence, jackknife, pairable

LIKE = np.array([[1, 0.5, 0], [0.5, 1, 0.25], [0, 0.25, 1]])


def annotations(seed: int, items: int = 9, people: int = 5) -> list[tuple[int, int, int]]:
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        chosen = rng.choice(people, rng.integers(1, people), replace=False).tolist()
        rows += [(item * 3, person * 2, int(rng.integers(3))) for person in chosen]
    order = rng.permutation(len(rows))
    return [rows[place] for place in order]


def coded(rows: list[tuple[int, int, int]]) -> AnnotationCodes:
    item, annotator, label = (np.array(column) for column in zip(*rows, strict=True))
    return AnnotationCodes(item, annotator, label)


def weight(n: np.ndarray) -> np.ndarray:
    return n * (n - 1) / (1.0 + n)


def alike(one: int, other: int, similarity: np.ndarray | None) -> float:
    return float(one == other) if similarity is None else float(similarity[one, other])


def by_hand(rows: list[tuple[int, int, int]], used: set[int], similarity: np.ndarray | None) -> tuple[float, float]:
    """SPA over pairable items; E over pairs of annotations of different items among those of ``used`` items."""
    of = defaultdict(list)
    for item, _, label in rows:
        of[item].append(label)
    above = below = 0.0
    for labels in of.values():
        n = len(labels)
        if n > 1:
            pairs = [alike(a, b, similarity) for i, a in enumerate(labels) for j, b in enumerate(labels) if i != j]
            above += weight(np.array(n)) * sum(pairs) / len(pairs)
            below += weight(np.array(n))
    cross = [
        alike(a, b, similarity)
        for one in used & of.keys()
        for other in used & of.keys()
        if one != other
        for a in of[one]
        for b in of[other]
    ]
    expected = sum(cross) / len(cross)
    return above / below, (above / below - expected) / (1 - expected)


@pytest.mark.parametrize("similarity", [None, LIKE], ids=["nominal", "similar"])
@pytest.mark.parametrize("seed", range(4))
def test_leaving_out_each_unit_equals_counting_again(seed: int, similarity: np.ndarray | None) -> None:
    rows = annotations(seed)
    found = pairable(coded(rows), weight, similarity)
    jackknifed = jackknife(found)
    used = set(found.item.tolist())
    kept = [row for row in rows if row[0] in used]
    for statistic, which in ((Sums.observed, 0), (Sums.beyond_chance, 1)):
        assert statistic(jackknifed.whole) == pytest.approx(by_hand(kept, used, similarity)[which])
        items = statistic(jackknifed.whole.minus(jackknifed.items))
        for value, item in zip(items, found.item.tolist(), strict=True):
            left = [row for row in kept if row[0] != item]
            assert value == pytest.approx(by_hand(left, used - {item}, similarity)[which])
        people = statistic(jackknifed.whole.minus(jackknifed.annotators))
        for value, person in zip(people, found.people.tolist(), strict=True):
            left = [row for row in kept if row[1] != person]
            assert value == pytest.approx(by_hand(left, used, similarity)[which])
        single = statistic(jackknifed.whole.minus(jackknifed.annotations))
        for value, item, person in zip(single, found.coded.item, found.coded.annotator, strict=True):
            left = [row for row in kept if row[:2] != (item, person)]
            assert value == pytest.approx(by_hand(left, used, similarity)[which])


@pytest.mark.parametrize("similarity", [None, LIKE], ids=["nominal", "similar"])
@pytest.mark.parametrize("seed", range(3))
def test_leaving_out_each_cluster_equals_counting_again(seed: int, similarity: np.ndarray | None) -> None:
    rows = annotations(seed, items=12)
    codes = coded(rows)
    found = pairable(replace(codes, cluster=codes.item // 3 % 4 * 5), weight, similarity)
    jackknifed, used = jackknife(found), set(found.item.tolist())
    kept = [row for row in rows if row[0] in used]
    for statistic, which in ((Sums.observed, 0), (Sums.beyond_chance, 1)):
        clusters = statistic(jackknifed.whole.minus(jackknifed.items))
        assert found.units[0].tolist() == sorted({item // 3 % 4 * 5 for item in used})
        for value, cluster in zip(clusters, found.units[0].tolist(), strict=True):
            rest = {item for item in used if item // 3 % 4 * 5 != cluster}
            left = [row for row in kept if row[0] in rest]
            assert value == pytest.approx(by_hand(left, rest, similarity)[which])


def test_variances_equal_those_of_the_jackknife() -> None:
    found = pairable(coded(annotations(1)), weight)
    jackknifed = jackknife(found)
    moved = influence(found, jackknifed, Sums.observed)
    values = Sums.observed(jackknifed.whole.minus(jackknifed.items))
    m = len(values)
    by_items = (m - 1) / m * np.sum((values - values.mean()) ** 2)
    assert moved.covariance(moved) == pytest.approx(by_items)
    assert moved.stderr() == pytest.approx(by_items**0.5)
    both = moved.covariance(moved, new_annotators=True)
    assert both == pytest.approx(
        by_items + moved.annotators.covariance(moved.annotators) - moved.annotations.covariance(moved.annotations)
    )
    assert moved.stderr(new_annotators=True) == pytest.approx(max(by_items, both) ** 0.5)
    assert moved.freedom() == pytest.approx(moved.equal_items - 1)
    assert moved.freedom(new_annotators=True) == min(moved.equal_items, moved.equal_annotators) - 1


def test_without_annotators_only_items_are_known() -> None:
    rows = coded(annotations(2))
    found = pairable(AnnotationCodes(rows.item, np.full_like(rows.annotator, -1), rows.label), weight)
    moved = influence(found, jackknife(found), Sums.observed)
    assert not moved.knows_annotators and not found.coded.has_annotators
    with pytest.raises(ValueError, match=exactly("the annotators are unknown")):
        moved.covariance(moved, new_annotators=True)


def test_covariance_is_over_shared_units_only() -> None:
    one = Deviations(np.array([1, 4, 7]), np.array([0.5, 1.0, -2.0]))
    other = Deviations(np.array([4, 5, 7]), np.array([3.0, 9.0, 0.5]))
    assert one.covariance(other) == 3.0 - 1.0
    assert Influence(one).covariance(Influence(other)) == 2.0


def test_no_annotations_at_all() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert not len(pairable(AnnotationCodes(none, none, none), weight).item)
