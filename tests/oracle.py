"""Slow and obvious: brute force over pairs, and small data sets in the shapes the tests need."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import narwhals as nw
import polars as pl

from spagree.counts.count import Counted, count
from spagree.counts.policies import Policies
from spagree.counts.tally import Tally
from spagree.errors import Warning
from spagree.estimate import Findings
from spagree.estimate.chance import CONGER
from spagree.estimate.uncertainty import ITEMS, E, leading
from spagree.read.annotations import Annotations, Understood

Labels = Sequence[Hashable]

BARS = "aaaa aab. bb.. .bcb ccc. a.bc ..bb aa.a c..a bbcc .c.c ...a"


def parse(text: str) -> list[list[str]]:
    """``aab. .bb`` → one list of labels per item; a dot is a missing annotation."""
    return [[label for label in item if label != "."] for item in text.split()]


def agreement(labels: Labels) -> Fraction:
    """The share of agreeing pairs, by looking at every pair."""
    pairs = [one == other for one, other in combinations(labels, 2)]
    return Fraction(sum(pairs), len(pairs))


SIMPLE: dict[str, Callable[[Labels], int]] = {
    "flat": lambda _: 1,
    "annotations": len,
    "annotations_m1": lambda labels: len(labels) - 1,
    "edge": lambda labels: sum(1 for _ in combinations(labels, 2)),
}


def spa(items: Iterable[Labels], weight: Callable[[Labels], Any]) -> Fraction:
    """Σ k P / Σ k over the items with a pair, in exact rationals."""
    pairable = [labels for labels in items if len(labels) > 1]
    total = sum((Fraction(weight(labels)) for labels in pairable), Fraction())
    return sum((weight(labels) * agreement(labels) for labels in pairable), Fraction()) / total


def rounded(exact: Fraction) -> float:
    """The nearest float: Python divides integers correctly rounded."""
    return exact.numerator / exact.denominator


def tally_of(items: Iterable[Labels]) -> Tally:
    return Tally.from_items(Counter(labels) for labels in items)


def long_frame(items: Iterable[Labels]) -> pl.DataFrame:
    """One row per annotation: item q0, q1, …; annotators a0, a1, … within each item."""
    rows = [(f"q{i}", f"a{j}", label) for i, labels in enumerate(items) for j, label in enumerate(labels)]
    return pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")


def annotations(frame: Any, *warnings: Warning) -> Annotations:
    return Annotations(nw.from_native(frame).lazy(), Understood("votes.csv", "long"), warnings)


def counted(frame: Any, policies: Policies | None = None) -> Counted:
    return count(annotations(frame), policies)


def ends(message: str) -> str:
    """A pattern for what ends with these words; they hold no pattern themselves."""
    return rf"{re.escape(message)}\Z"


def exactly(message: str) -> str:
    """A pattern for exactly these words."""
    return rf"\A{ends(message)}"


def over_items(found: Findings) -> Findings:
    """What a tally gives, which does not say who annotated: intervals for these annotators, no Conger's kappa."""

    def only(figure: E) -> E:
        return leading(figure, {ITEMS: figure.intervals[ITEMS]}, ITEMS) if figure.intervals else figure

    schemes, chance = ({name: only(each) for name, each in all_.items()} for all_ in (found.schemes, found.chance))
    del chance[CONGER]
    return replace(found, spa=only(found.spa), schemes=schemes, chance=chance, teams=1)


def no_zeros(tally: Tally) -> bool:
    parts = (tally.cells, tally.labels, tally.pairable_labels, tally.annotators or {}, tally.left_out)
    return all(size > 0 for part in parts for size in part.values())


def relative_variance(n: int, theta: float) -> float:
    """r(n) of docs/mathematics.md §8: the covariances of all pairs of pairs of an item with n annotations."""
    pairs = list(combinations(range(n), 2))
    shared = {0: theta**2 / 3, 1: max(0.4, 0.55 * theta**2), 2: 1.0}
    return sum(shared[len({*one} & {*other})] for one in pairs for other in pairs) / len(pairs) ** 2
