"""The compiled loops against spagree itself, against enumeration, and against the number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spagree
from examples import examples
from spagree.studies import kernels
from spagree.studies.datasets import LabelSet, label_set
from spagree.studies.rounds import (
    Plan,
    annotation_values,
    checkpoints,
    laid_out,
    registered,
    round_seeds,
    sample_curves,
)


def make(items: list[str]) -> LabelSet:
    """One string of labels per item."""
    rows = [(f"i{number:04}", label) for number, labels in enumerate(items) for label in labels]
    return label_set("made", "Made", pl.DataFrame(rows, schema=["item", "label"], orient="row"))


def simulated(**design: object) -> LabelSet:
    return label_set("drawn", "Drawn", spagree.simulate(**design).frame.select("item", "label"))


def in_order(data: LabelSet, order: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    out, paired = np.full((len(steps), len(spagree.SCHEMES)), np.nan), np.zeros(len(steps), np.int64)
    kernels.annotate(order, *laid_out(data), steps, registered(data.per_item.max()), out, paired)
    return out, paired


def by_spagree(data: LabelSet, chosen: np.ndarray) -> list[float]:
    """What the public API says about a subset of the annotations."""
    rows = pl.DataFrame({"item": data.item[chosen], "label": data.label[chosen].astype(str)})
    found = spagree.measure(rows).schemes
    return [np.nan if found[name].value is None else found[name].value for name in spagree.SCHEMES]


SETS = {
    "varied": simulated(items=60, annotators=9, classes=4, per_item=(1, 9), heterogeneity=0.5, skew=0.7, seed=3),
    "alike": simulated(items=40, annotators=12, classes=2, per_item=(2, 12), heterogeneity=0.0, seed=4),
    "constant": simulated(items=30, annotators=5, classes=3, per_item=5, heterogeneity=0.9, seed=5),
    "many classes": simulated(items=50, annotators=6, classes=40, per_item=(1, 6), seed=6),
    "one class": make(["aaaa", "aa", "a", "aaa"]),
    "no agreement": make(["abcd", "ab", "a", "cdb"]),
    "pairs only": make(["aa", "ab", "bb", "ba", "a"]),
}


@pytest.mark.parametrize("name", SETS)
def test_every_scheme_at_every_checkpoint_is_what_spagree_estimates(name: str) -> None:
    data = SETS[name]
    order = np.random.default_rng(1).permutation(data.annotations)
    steps = checkpoints(data.annotations, 12)
    values, paired = in_order(data, order, steps)
    for step, row, number in zip(steps, values, paired, strict=True):
        expected = by_spagree(data, order[:step])
        assert row == pytest.approx(expected, rel=1e-12, abs=1e-14, nan_ok=True)
        counts = Counter(data.item[order[:step]].tolist())
        assert number == sum(n for n in counts.values() if n > 1)


ITEM = st.text("abc", min_size=1, max_size=6)


@given(st.lists(ITEM, min_size=1, max_size=9), st.randoms(use_true_random=False))
@examples(30)
def test_any_small_data_in_any_order(items: list[str], random: object) -> None:
    data = make(items)
    order = list(range(data.annotations))
    random.shuffle(order)
    values, _ = in_order(data, np.array(order), np.array([data.annotations]))
    assert values[0] == pytest.approx(by_spagree(data, np.array(order)), rel=1e-11, abs=1e-13, nan_ok=True)


def test_nothing_is_recorded_before_the_first_pair() -> None:
    values, paired = in_order(make(["ab", "cd"]), np.array([0, 2, 1, 3]), np.array([1, 2, 3, 4]))
    assert np.isnan(values[:2]).all() and (values[2:] == 0).all()
    assert paired.tolist() == [0, 0, 2, 4]


def test_all_rounds_end_at_the_same_bits() -> None:
    values = annotation_values(SETS["varied"], Plan(50, 1))[1]
    assert (values[:, -1] == values[0, -1]).all()


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    import numba

    most, found = numba.get_num_threads(), []
    try:
        for threads in (1, most):
            numba.set_num_threads(threads)
            found.append(annotation_values(SETS["varied"], Plan(90, 7)))
    finally:
        numba.set_num_threads(most)
    assert all(np.array_equal(*each, equal_nan=True) for each in zip(*found, strict=True))


def test_a_seed_decides_and_rounds_differ_and_more_rounds_begin_with_the_same() -> None:
    first, many, other = (annotation_values(SETS["varied"], Plan(*plan))[1] for plan in ((4, 1), (70, 1), (4, 2)))
    assert np.array_equal(first, many[:4], equal_nan=True)
    assert not np.array_equal(first, other, equal_nan=True)
    assert not np.array_equal(first[0], first[1], equal_nan=True)


def test_shuffling_is_fair() -> None:
    """24 orders of four, 24,000 draws: each about 1,000 times (five standard deviations are 155)."""
    seen: Counter[tuple[int, ...]] = Counter()
    for seed in round_seeds(24_000, 11):
        order = np.arange(4)
        kernels._shuffle(order, seed)
        seen[tuple(order.tolist())] += 1
    assert len(seen) == 24
    assert all(845 < number < 1155 for number in seen.values())


def test_every_subset_of_an_items_annotations_is_equally_likely() -> None:
    """2 of the labels aabc: of the six pairs one agrees."""
    labels = np.array([0, 0, 1, 2])
    draws = [kernels._agreeing(labels.copy(), 2, np.zeros(3, np.int64), seed) for seed in round_seeds(12_000, 5)]
    assert set(draws) == {0, 2}
    assert draws.count(2) == pytest.approx(2000, abs=5 * np.sqrt(12_000 * 5 / 36))


PLAIN = """
import warnings; warnings.simplefilter("ignore", RuntimeWarning)  # numpy's whole numbers wrap, with a word
import sys; sys.path[:0] = sys.argv[2:]
import numpy as np
from test_studies_kernels import SETS
from spagree.studies.rounds import Plan, annotation_values, sample_curves
for name in ("varied", "one class", "no agreement"):
    _, values, paired = annotation_values(SETS[name], Plan(3, 2))
    np.savez(f"{sys.argv[1]}/{name}.npz", values=values, paired=paired, mean=sample_curves(SETS[name], Plan(3)).mean)
"""


def test_the_same_loops_in_plain_python_give_the_same_values(tmp_path: Path) -> None:
    """Without the compiler; this is also how the lines of the kernels are covered."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    here = Path(__file__).parent
    command = [sys.executable, "-c", PLAIN, str(tmp_path), str(here), str(here.parent)]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    for name in ("varied", "one class", "no agreement"):
        plain = np.load(tmp_path / f"{name}.npz")
        _, values, paired = annotation_values(SETS[name], Plan(3, 2))
        assert np.allclose(plain["values"], values, rtol=1e-13, atol=0, equal_nan=True)
        assert np.array_equal(plain["paired"], paired)
        assert np.allclose(plain["mean"], sample_curves(SETS[name], Plan(3)).mean, rtol=1e-13)


def test_seeds_of_rounds_are_all_different_and_numbers_below_a_bound_reach_every_value() -> None:
    for bound in (1, 2, 7):
        assert {kernels._below(seed, bound) for seed in round_seeds(400, bound)} == set(range(bound))
    seeds = round_seeds(3000, 0, 1)
    assert seeds.dtype == np.uint64 and len(set(seeds.tolist())) == 3000
    assert not set(seeds.tolist()) & set(round_seeds(3000, 0, 2).tolist())
