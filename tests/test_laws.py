"""Laws that hold for every scheme in the registry, whatever the data."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from oracle import SIMPLE, agreement, counted, long_frame, parse, rounded, spa, tally_of
from spagree.counts.tally import Cell, Tally
from spagree.estimate import SCHEMES, Findings, find

every_scheme = pytest.mark.parametrize("scheme", SCHEMES)

ITEM = st.lists(st.sampled_from("abcd"), min_size=1, max_size=7)
ITEMS = st.lists(ITEM, min_size=1, max_size=12).filter(lambda items: any(len(labels) > 1 for labels in items))


# The oracle: each scheme's weights once more, from the definitions ----------------------------------------


def pairable_labels(items: list[list[str]]) -> Counter[str]:
    return Counter(label for labels in items if len(labels) > 1 for label in labels)


def variance(n: int, p: list[Fraction]) -> Fraction:
    """Var of the share of agreeing pairs: covariances of all pairs of pairs, by what they share."""
    agree = sum(share**2 for share in p)
    three = sum(share**3 for share in p)
    pairs = list(combinations(range(n), 2))
    by_shared = {0: Fraction(0), 1: three - agree**2, 2: agree - agree**2}
    shared = Counter(len({*one} & {*other}) for one in pairs for other in pairs)
    return sum(by_shared[k] * size for k, size in shared.items()) / len(pairs) ** 2


def inverse_variance(items: list[list[str]], p: list[Fraction]) -> Any:
    if len(p) < 2:
        return SIMPLE["edge"]
    by_n = {n: 1 / variance(n, p) for n in {len(labels) for labels in items} if n > 1}
    return lambda labels: by_n[len(labels)]


def uniform_weights(items: list[list[str]]) -> Any:
    classes = len(pairable_labels(items))
    return inverse_variance(items, [Fraction(1, classes)] * classes)


def class_weights(items: list[list[str]]) -> Any:
    seen = pairable_labels(items)
    return inverse_variance(items, [Fraction(count, seen.total()) for count in seen.values()])


ORACLE = {
    **{scheme: lambda _, weight=weight: weight for scheme, weight in SIMPLE.items()},
    "inv_var": uniform_weights,
    "inv_var_class": class_weights,
}
EXACT = {*SIMPLE, "inv_var"}


def test_every_scheme_has_an_oracle() -> None:
    assert set(ORACLE) == set(SCHEMES)


@every_scheme
@given(items=ITEMS)
@examples(13)
def test_spa_is_that_of_the_pair_oracle(scheme: str, items: list[list[str]]) -> None:
    wanted = spa(items, ORACLE[scheme](items))
    found = find(tally_of(items)).schemes[scheme].value
    if scheme in EXACT:
        assert found == rounded(wanted)
    else:
        assert found == pytest.approx(float(wanted), rel=1e-13, abs=1e-15)


# One data set of 3,000 items in many disguises -------------------------------------------------------------


def many_items() -> list[list[str]]:
    source = random.Random(5)
    items = []
    for _ in range(3_000):
        n, main = source.choice([1, 2, 2, 3, 4, 5, 9]), source.choice("abc")
        items.append([main if source.random() < 0.7 else source.choice("abcd") for _ in range(n)])
    return items


MANY = many_items()
FRAME = long_frame(MANY)


@cache
def findings() -> Findings:
    return find(counted(FRAME).tally)


def without_labels(found: Findings) -> Findings:
    return replace(found, data=replace(found.data, labels={}))


def test_the_large_data_set_has_what_the_laws_are_about() -> None:
    assert findings().data.items == 3_000
    assert 400 < findings().data.unpairable_items < 500
    assert len({found.value for found in findings().schemes.values()}) == len(SCHEMES) - 1


@pytest.mark.parametrize("seed", range(5))
def test_row_order_changes_no_bit(seed: int) -> None:
    shuffled = FRAME.sample(fraction=1.0, shuffle=True, seed=seed)
    assert not shuffled.equals(FRAME)
    found = find(counted(shuffled).tally)
    assert found == findings() and list(found.data.labels) == list(findings().data.labels)


@pytest.mark.parametrize(
    "names",
    [
        {"a": "", "b": "NA", "c": "null", "d": "None"},
        {"a": "b", "b": "a", "c": "d", "d": "c"},
        {"a": "1", "b": "01x", "c": "é", "d": "nan"},
        {"a": "d", "b": "c", "c": "b", "d": "a"},
    ],
)
def test_relabelling_classes_changes_nothing_but_their_names(names: dict[str, str]) -> None:
    found = find(counted(FRAME.with_columns(pl.col("label").replace_strict(names))).tally)
    assert without_labels(found) == without_labels(findings())
    assert found.data.labels == {names[label]: size for label, size in findings().data.labels.items()}


def test_renaming_items_and_annotators_changes_nothing() -> None:
    renamed = FRAME.with_columns(
        item=pl.col("item").str.slice(1).cast(pl.Int64) * -7,
        annotator=pl.lit("worker ") + pl.col("annotator").str.reverse(),
    )
    assert find(counted(renamed).tally) == findings()


@pytest.mark.parametrize("parts", [2, 7])
def test_tallies_of_parts_of_the_items_sum_to_the_whole(parts: int) -> None:
    part = pl.col("item").str.slice(1).cast(pl.Int64) % parts
    merged = sum(counted(FRAME.filter(part == k)).tally for k in range(parts))
    assert merged == counted(FRAME).tally
    assert find(merged) == findings()


@pytest.mark.parametrize("times", [2, 5])
@every_scheme
def test_the_same_data_again_under_new_ids_leaves_spa_unchanged(scheme: str, times: int) -> None:
    copies = pl.concat([FRAME.with_columns(pl.col("item") + f" copy {k}") for k in range(times)])
    found = find(counted(copies).tally).schemes[scheme]
    assert found.value == findings().schemes[scheme].value
    assert found.stderr < findings().schemes[scheme].stderr


def test_items_without_a_pair_change_nothing_but_the_counts() -> None:
    labels = ["d"] * 100 + [f"new {k}" for k in range(100)]
    lonely = pl.DataFrame({"item": [f"lonely {k}" for k in range(200)], "annotator": "z", "label": labels})
    found, wanted = find(counted(pl.concat([FRAME, lonely])).tally), findings()
    same = (found.schemes, found.weights, found.missingness, found.data.pairable_annotations)
    assert same == (wanted.schemes, wanted.weights, wanted.missingness, wanted.data.pairable_annotations)
    assert (found.data.items, found.data.classes) == (wanted.data.items + 200, wanted.data.classes + 100)


# Small data: bounds and special cases -------------------------------------------------------------------


@given(items=ITEMS, level=st.sampled_from([0.5, 0.95, 0.999]))
@examples(30)
def test_all_figures_lie_in_their_bounds(items: list[list[str]], level: float) -> None:
    found = find(tally_of(items), level=level)
    for figure in [*found.schemes.values(), *(row.agreement for row in found.missingness.by_n)]:
        assert 0 <= figure.value <= 1
        assert (figure.undefined is None) == (figure.stderr is not None) == (figure.low is not None)
        if figure.low is not None:
            assert 0 <= figure.low <= figure.value <= figure.high <= 1
            assert figure.stderr >= 0
            assert figure.low < figure.high


@given(items=st.lists(st.lists(st.sampled_from("abc"), min_size=4, max_size=4), min_size=1, max_size=10))
@examples(15)
def test_with_equal_n_all_schemes_are_equal(items: list[list[str]]) -> None:
    schemes = find(tally_of(items)).schemes
    flat = schemes["flat"]
    assert flat.value == rounded(sum(map(agreement, items)) / len(items))
    for scheme in SCHEMES:
        assert replace(schemes[scheme], weights="flat") == flat


@every_scheme
@pytest.mark.parametrize("data", ["aa bb", "aa bbb cccc aaa bb", "aa aaa aaaa", "ab bc", "ab abc abcd ab"])
def test_perfect_or_no_agreement_is_exactly_1_or_0_with_an_interval_to_the_other_side(scheme: str, data: str) -> None:
    found, value = find(tally_of(parse(data))).schemes[scheme], float(data.startswith("aa"))
    assert (found.value, found.stderr) == (value, 0.0)
    assert 0 <= found.low < found.high == 1 if value else 0 == found.low < found.high <= 1


def test_the_order_of_cells_does_not_matter() -> None:
    tally = counted(FRAME).tally
    backwards = replace(tally, cells=dict(reversed(tally.cells.items())))
    assert find(backwards).schemes == findings().schemes


# Large ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n", [10**5, 10**6])
@every_scheme
def test_an_item_with_very_many_annotations_is_exact(scheme: str, n: int) -> None:
    items = [{"a": n - n // 3, "b": n // 3}, {"a": 2}, {"a": 1, "b": 1}, {"a": 2, "b": 1}]
    rows = [(f"q{i}", label, size) for i, item in enumerate(items) for label, size in item.items()]
    tally = counted(pl.DataFrame(rows, schema=["item", "label", "count"], orient="row")).tally
    cells = [Cell.of(item.values()) for item in items]
    assert tally.cells == dict.fromkeys(cells, 1)
    found = find(tally)
    by_n = found.weights[scheme].by_n
    above = sum(by_n[cell.n] * Fraction(cell.pairs, cell.n * (cell.n - 1)) for cell in cells)
    assert found.schemes[scheme].value == rounded(above / sum(by_n[cell.n] for cell in cells))
    assert 0 <= found.schemes[scheme].low <= found.schemes[scheme].value <= found.schemes[scheme].high <= 1


@pytest.mark.slow
def test_many_annotations_as_single_rows_are_exact() -> None:
    n = 300_000
    frame = pl.DataFrame({"item": ["q"] * n + ["r", "r"], "label": ["a"] * (n - 1) + ["b", "a", "b"]})
    assert counted(frame).tally.cells == {Cell.of([n - 1, 1]): 1, Cell(2, 0, 0): 1}


@pytest.mark.slow
def test_tens_of_thousands_of_classes() -> None:
    """A table of items by classes would take gigabytes."""
    labels = [f"class {k}" for k in range(40_000)]
    frame = pl.DataFrame({"item": [f"q{k % 10_000}" for k in range(40_000)] * 2, "label": labels * 2})
    tally = counted(frame).tally
    expected = Tally({Cell.of([2, 2, 2, 2]): 10_000}, dict.fromkeys(labels, 2), dict.fromkeys(labels, 2), None)
    assert replace(tally, patterns=None) == expected
    found = find(tally)
    assert all(figure.value == 1 / 7 for figure in found.schemes.values())
    assert found.warnings == ()  # every label was used twice: classes, not free text


@pytest.mark.slow
def test_a_thousand_million_items_are_exact() -> None:
    tally = Tally({Cell(2, 2, 0): 10**9, Cell(3, 2, 0): 1}, {"a": 2 * 10**9 + 2, "b": 1}, {"a": 2 * 10**9 + 2, "b": 1})
    found = find(tally).schemes["flat"].value
    assert found == rounded((10**9 + Fraction(1, 3)) / (10**9 + 1)) != 1.0
