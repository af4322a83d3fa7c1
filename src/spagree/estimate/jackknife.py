"""The one jackknife: a figure again without each item, cluster, annotator or annotation (docs/mathematics.md §9).

A figure is Σ k(n)·A/(n(n − 1)) over Σ k(n); a kappa sets that against what would agree by chance. What is left without
a unit is summed for each number of annotations, in whole numbers, before it is weighted: nothing cancels, however
steep the weights. Without an annotation, an item goes from n to n − 1 annotations; with two, it is no longer pairable,
and its other annotation is lost as well.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Self

import numpy as np

from spagree.counts.coded import Coded
from spagree.estimate.intervals import deviations
from spagree.estimate.item_groups import relative_weights, total
from spagree.estimate.label_counts import LabelCounts, add_up
from spagree.grouping import Floats, Ints, counted, numbered, run_starts, sums

CELLS_AT_ONCE = 4_000_000
UNDERFLOW = -2000  # powers of two beyond which a weight is nothing beside the largest


@dataclass(frozen=True)
class Units:
    """Units that can be left out, and what each takes with it.

    Row by row, ``items`` alike items of a unit go from ``n`` annotations to ``n_left``, and from ``agreeing`` ordered
    pairs to ``agreeing_left``.
    """

    unit: Ints
    items: Floats
    n: Ints
    n_left: Ints
    agreeing: Floats
    agreeing_left: Floats
    times: Floats
    """How many units are alike."""
    take: Callable[[], LabelCounts]
    """Finds ``lost``, which SPA does not need."""

    @cached_property
    def lost(self) -> LabelCounts:
        """What each unit takes from the total of each label."""
        return self.take()

    @cached_property
    def order(self) -> Ints:
        """The rows, unit by unit."""
        return np.argsort(self.unit, kind="stable")

    @property
    def items_lost(self) -> Floats:
        """Items of which nothing is left without each unit."""
        return sums(self.unit, self.items * (self.n_left == 0), len(self.times))

    def variance(self, without: Floats) -> float | None:
        """The jackknife variance of a figure from its values without each unit; None if one of them is undefined."""
        if total(self.times) < 2 or not np.isfinite(without).all():
            return None
        return total(self.times * deviations(without, self.times)[1] ** 2)

    def loses(self, before: Floats, after: Floats) -> Floats:
        """Σ (before − after) over the items of each unit, counting only pairable ones on either side."""
        change = np.where(self.n > 1, before, 0.0) - np.where(self.n_left > 1, after, 0.0)
        return sums(self.unit, self.items * change, len(self.times))


@dataclass(frozen=True)
class Sizes:
    """Pairable items and their agreeing pairs for each number of annotations."""

    n: Ints
    items: Floats
    agreeing: Floats

    @classmethod
    def of(cls, votes: LabelCounts) -> Self:
        """From the votes of all items."""
        pairable = votes.n > 1
        n = counted(votes.n[pairable].astype(np.int64))[0]
        place, items = np.searchsorted(n, votes.n[pairable]), votes.items[pairable]
        return cls(n, add_up(place, items, len(n)), add_up(place, items * votes.agreeing_pairs[pairable], len(n)))

    def without(self, units: Units, by_n: Mapping[int, Fraction]) -> Floats:
        """Σ k(n)·A/(n(n − 1)) over Σ k(n) without each unit; NaN if no pairable item is left."""
        n = counted(np.concatenate([self.n, units.n_left[units.n_left > 1]]))[0]
        mantissa, exponent = mantissas(by_n, n)
        per_pair = mantissa / (n * (n - 1.0))
        values = [np.full(0 if len(n) else len(units.times), np.nan)]
        for items, agreeing in self._left(units, n) if len(n) else ():
            largest = np.where(items > 0, exponent, exponent.min()).max(axis=1, keepdims=True)
            scale = np.ldexp(1.0, np.clip(exponent - largest, UNDERFLOW, 0))  # above 0 only where no item is
            below = (items * (scale * mantissa)).sum(axis=1)  # row by row: the same bits for any size of block
            above = (agreeing * (scale * per_pair)).sum(axis=1)
            values.append(np.divide(above, below, out=np.full(len(below), np.nan), where=below > 0))
        return np.concatenate(values)

    def _left(self, units: Units, sizes: Ints) -> Iterator[tuple[Floats, Floats]]:
        """Items and agreeing pairs of each size left without each unit, a bounded number of units at a time."""
        size, width = len(units.times), len(sizes)
        whole = np.zeros((2, width))
        whole[:, np.searchsorted(sizes, self.n)] = self.items, self.agreeing
        step = max(1, CELLS_AT_ONCE // max(1, width))
        order = units.order
        starts = np.searchsorted(units.unit[order], np.arange(0, size, step))
        for first, rows in zip(range(0, size, step), np.split(order, starts[1:]), strict=True):
            shape = (min(step, size - first), width)
            items, agreeing = np.tile(whole[0], shape[0]), np.tile(whole[1], shape[0])
            for n, pairs, sign in ((units.n, units.agreeing, -1.0), (units.n_left, units.agreeing_left, 1.0)):
                kept = rows[n[rows] > 1]
                cell = (units.unit[kept] - first) * width + np.searchsorted(sizes, n[kept])
                items += sums(cell, sign * units.items[kept], len(items))
                agreeing += sums(cell, sign * units.items[kept] * pairs[kept], len(items))
            yield items.reshape(shape), np.maximum(agreeing, 0.0).reshape(shape)


def mantissas(by_n: Mapping[int, Fraction], n: Ints) -> tuple[Floats, Ints]:
    """k(n) as mantissas and powers of two, because 10^(20n) does not fit into a float.

    >>> [part.tolist() for part in mantissas({2: Fraction(3), 3: Fraction(2) ** 5000}, np.array([2, 3]))]
    [[1.5, 1.0], [1, 5000]]
    """
    weights = [by_n[size] for size in n.tolist()]
    powers = [weight.numerator.bit_length() - weight.denominator.bit_length() for weight in weights]
    scaled = [float(weight / Fraction(2) ** power) for weight, power in zip(weights, powers, strict=True)]
    return np.array(scaled, dtype=np.float64), np.array(powers, dtype=np.int64)


def entries(votes: LabelCounts, *, shares: bool) -> Floats:
    """What each label of an item adds to its total: pairable annotations, or its share of the item's annotations."""
    n = votes.n[votes.group]
    return votes.count / n if shares else np.where(n > 1, votes.count, 0.0)


def ordinal_variance(votes: LabelCounts, ranks: Ints, by_n: Mapping[int, Fraction]) -> float | None:
    """The variance of SPA over items or clusters under the ordinal metric, whose scale is made from the labels again.

    Without a unit, the middle of label c is at m_c = Σ_{k before c} T_k + T_c/2 of what is left, and disagreement is
    Σ M_ck (m_c − m_k)² over the squared length of the scale, with M_ck the weight of all pairs of labels c and k.
    """
    in_order = np.argsort(ranks)
    stays = votes.per_label(1.0 * (votes.n == 1)[votes.group])[in_order] > 0  # on items with one annotation
    votes = votes.pairable()
    units, labels = len(votes.unit_sizes), len(ranks)
    weight = relative_weights(by_n, votes.n.astype(np.int64))
    each = np.where(votes.alone, 1.0, votes.items)
    per_pair = weight / (votes.n * (votes.n - 1))
    table = np.zeros((len(votes.items), labels))
    table[votes.group, ranks[votes.label]] = votes.count
    pairs = (table * (votes.items * per_pair)[:, None]).T @ table
    given = votes.per_label(votes.count)[in_order]
    lost = np.zeros((units, labels))
    np.add.at(lost, votes.unit_of, table * each[:, None])
    left = given - lost
    middle = np.cumsum(left, axis=1) - left / 2
    occurs = (left > 0) | stays
    low, high = (end(np.where(occurs, middle, -sign * np.inf), axis=1) for end, sign in ((np.min, -1), (np.max, 1)))
    whole = 2 * (middle**2 @ pairs.sum(axis=1) - ((middle @ pairs) * middle).sum(axis=1))
    at = middle[votes.unit_of]
    own = 2 * per_pair * (votes.n * (table * at**2).sum(axis=1) - (table * at).sum(axis=1) ** 2)
    disagreeing = whole - sums(votes.unit_of, each * own, units)
    weighed = total(votes.items * weight) - sums(votes.unit_of, each * weight, units)
    with np.errstate(divide="ignore", invalid="ignore"):
        without = 1 - np.where(high > low, disagreeing / (high - low) ** 2, 0.0) / weighed
    if not np.isfinite(without).all():
        return None
    return total(votes.unit_sizes * deviations(without, votes.unit_sizes)[1] ** 2)


def items(votes: LabelCounts, *, shares: bool = False) -> Units:
    """Each item, or each cluster, as a unit; items with one annotation too if totals are of ``shares``."""
    votes = votes if shares else votes.pairable()
    alike = np.ones(len(votes.items)) if votes.cluster is None else np.where(votes.alone, 1.0, votes.items)
    unit = np.arange(len(votes.items)) if votes.cluster is None else votes.unit_of
    n, none = votes.n.astype(np.int64), np.zeros(len(votes.items))
    lost = partial(votes.by_unit, entries(votes, shares=shares))
    return Units(unit, alike, n, none.astype(np.int64), votes.agreeing_pairs, none, votes.unit_sizes, lost)


def annotations(votes: LabelCounts, *, shares: bool = False) -> Units:
    """Each annotation as a unit; those with the same label on alike items are alike, one unit for each entry."""
    every = np.arange(len(votes.group))
    rows = _Rows(votes, every, votes.group, every, np.ones(len(every)))
    return rows.units(votes.items[votes.group] * votes.count, every, shares=shares)


def annotators(codes: Coded, votes: LabelCounts, *, shares: bool = False) -> Units:
    """Each annotator as a unit, by code; ``votes`` are those of single items. Unknown annotators stay.

    >>> from spagree.estimate.label_counts import votes_in_codes
    >>> ints = lambda *values: np.array(values, dtype=np.int32)
    >>> codes = Coded(ints(0, 0, 0, 1, 1), ints(0, 1, 2, 0, 1), ints(0, 0, 1, 1, 1), ("a", "b", "c"), ("x", "y"))
    >>> votes = votes_in_codes(codes)
    >>> Sizes.of(votes).without(annotators(codes, votes), {2: Fraction(1), 3: Fraction(2)}).tolist()
    [0.0, 0.0, 1.0]
    """
    entry, named = entry_of_each(votes), codes.annotator >= 0
    entry, who = entry[named], codes.annotator[named].astype(np.int64)
    item = votes.group[entry]
    order = np.argsort(item * len(codes.annotators) + who, kind="stable")  # one's annotations of an item leave together
    entry, who, item = entry[order], who[order], item[order]
    first, visit = run_starts(item, who, entry), run_starts(item, who)
    given = np.diff(first, append=len(entry)).astype(np.float64)
    row = np.searchsorted(visit, first, side="right") - 1
    rows = _Rows(votes, row, item[first], entry[first], given)
    return rows.units(np.ones(len(codes.annotators)), who[visit], shares=shares)


def entry_of_each(votes: LabelCounts) -> Ints:
    """The entry of each coded annotation, in code order."""
    return np.repeat(np.arange(len(votes.count)), votes.count.astype(np.int64))


@dataclass(frozen=True)
class _Rows:
    """Annotations that leave an item together: each row takes ``given`` annotations from an entry of its group."""

    votes: LabelCounts
    row: Ints
    group: Ints
    entry: Ints
    given: Floats

    def units(self, times: Floats, unit: Ints, *, shares: bool) -> Units:
        """The units that these rows belong to."""
        votes, first = self.votes, run_starts(self.row)
        group, rows = self.group[first], len(first)
        n, taken = votes.n[group], sums(self.row, self.given, rows)
        mine = sums(self.row, self.given * (votes.agreeing[self.entry] + 1), rows)
        within = self._within(rows)
        agreeing = votes.agreeing_pairs[group]
        left = agreeing - 2 * (mine - taken) + (within - taken)
        lost = partial(self._lost, group, n, n - taken, unit, times, shares)
        sizes, sizes_left = n.astype(np.int64), (n - taken).astype(np.int64)
        return Units(unit, np.ones(rows), sizes, sizes_left, agreeing, left, times, lost)

    def _lost(self, group: Ints, n: Floats, rest: Floats, unit: Ints, times: Floats, shares: bool) -> LabelCounts:
        """What the labels of an item lose: of its own, and with two annotations the other that no longer has a pair."""
        votes = self.votes
        sizes = np.bincount(votes.group, minlength=len(votes.items))
        starts, ends = np.cumsum(sizes) - sizes, np.cumsum(sizes[group])
        each = np.repeat(np.arange(len(group)), sizes[group])
        entry = starts[group][each] + np.arange(len(each)) - np.repeat(ends - sizes[group], sizes[group])
        own = np.zeros(len(each))
        own[(ends - sizes[group])[self.row] + self.entry - starts[self.group]] = self.given
        before, after, count = n[each], rest[each], votes.count[entry]
        if shares:
            lost = count / before - np.divide(count - own, after, out=np.zeros(len(each)), where=after > 0)
        else:
            lost = np.where(before < 2, 0.0, np.where(after < 2, count, own))
        return _per_label(votes, unit[each], votes.label[entry], lost, times)

    def _within(self, rows: int) -> Floats:
        """Σ s over ordered pairs of the annotations in a row, each with itself."""
        votes = self.votes
        if len(self.row) == rows:
            return self.given**2
        leaving = LabelCounts(votes.labels, np.ones(rows), self.row, votes.label[self.entry], self.given)
        return replace(leaving, similarity=votes.similarity).squares


def _per_label(votes: LabelCounts, unit: Ints, label: Ints, lost: Floats, times: Floats) -> LabelCounts:
    """What is lost, summed for each unit and label."""
    width = max(1, len(votes.labels))
    keys = unit * width + label
    kept = lost != 0
    first, place = numbered(keys[kept])
    distinct = keys[kept][first]
    amounts = add_up(place, lost[kept], len(distinct))
    return LabelCounts(votes.labels, times, distinct // width, distinct % width, amounts, votes.similarity)
