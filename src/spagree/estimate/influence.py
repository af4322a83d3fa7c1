"""How much each item, annotator and annotation moves a figure: the basis of comparisons.

See docs/mathematics.md §9.

A figure is a ratio of sums over annotations, O = above/below, or that ratio beyond chance, (O − E)/(1 − E) with
E = same/all. Leaving out a unit reduces each sum; the deviations of the values without one unit are the jackknife. Two
figures based on the same units have a covariance: the sum of the products of their deviations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from spagree.estimate.intervals import deviations, effective_number
from spagree.estimate.label_counts import LabelCounts
from spagree.grouping import Floats, Ints, sums

CERTAIN = 1 - 1e-12  # expected agreement above this is 1 up to rounding


@dataclass(frozen=True)
class AnnotationCodes:
    """Annotations as parallel integers, in any order; ``annotator`` is −1 if unknown.

    Codes may be shared with other data sets: the same code is the same item, annotator or label.
    """

    item: Ints
    annotator: Ints
    label: Ints
    cluster: Ints | None = None
    """The cluster of each annotation's item; items without one have their own code."""

    @property
    def has_annotators(self) -> bool:
        """Whether it is known who made every annotation."""
        return bool(len(self.annotator)) and bool((self.annotator >= 0).all())

    def only(self, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> AnnotationCodes:
        """Some of the annotations."""
        cluster = None if self.cluster is None else self.cluster[chosen]
        return AnnotationCodes(self.item[chosen], self.annotator[chosen], self.label[chosen], cluster)


@dataclass(frozen=True)
class Sums:
    """The sums behind a figure, for the whole or, as the part lost, for each unit."""

    above: Floats
    below: Floats
    same: Floats
    all: Floats

    def minus(self, lost: Sums) -> Sums:
        """What is left."""
        return Sums(self.above - lost.above, self.below - lost.below, self.same - lost.same, self.all - lost.all)

    def each(self, change: Callable[[Floats], Floats]) -> Sums:
        """The same change of each sum."""
        return Sums(*map(change, (self.above, self.below, self.same, self.all)))

    def observed(self) -> Floats:
        """O, or NaN if nothing is left."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.below > 1e-12, self.above / self.below, np.nan)

    def beyond_chance(self) -> Floats:
        """(O − E)/(1 − E), or NaN if undefined."""
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = self.same / self.all
            return np.where(expected < CERTAIN, (self.observed() - expected) / (1 - expected), np.nan)


@dataclass(frozen=True)
class Deviations:
    """Deviations of a figure by unit, in order of the unit's code; ``defined`` if every unit can be left out."""

    unit: Ints
    deviation: Floats

    @property
    def defined(self) -> bool:
        """Whether there are two or more units and the figure exists without any one of them."""
        return len(self.unit) > 1 and bool(np.isfinite(self.deviation).all())

    def covariance(self, other: Deviations) -> float:
        """Σ of the products over the shared units."""
        _, mine, theirs = np.intersect1d(self.unit, other.unit, assume_unique=True, return_indices=True)
        return float(self.deviation[mine] @ other.deviation[theirs])


@dataclass(frozen=True)
class Influence:
    """How a figure moves with its items and, if known, with annotators and single annotations."""

    items: Deviations
    annotators: Deviations | None = None
    annotations: Deviations | None = None
    equal_items: float = 0.0
    """Effective number of items: equally weighted ones that would be as informative."""
    equal_annotators: float = 0.0
    """Effective number of annotators: equally busy ones that would be as informative."""

    @property
    def knows_annotators(self) -> bool:
        """Whether the data show how annotators differ."""
        return self.annotators is not None and self.annotators.defined

    @property
    def annotators_differ(self) -> bool:
        """Whether new annotators make the figure less certain than new items alone."""
        return self.covariance(self, new_annotators=True) > self.covariance(self)

    def covariance(self, other: Influence, new_annotators: bool = False) -> float:
        """Over items; for new annotators over items and annotators, less the part both contain."""
        over_items = self.items.covariance(other.items)
        if not new_annotators:
            return over_items
        if self.annotators is None or other.annotators is None or self.annotations is None or other.annotations is None:
            raise ValueError("the annotators are unknown")
        people, single = self.annotators.covariance(other.annotators), self.annotations.covariance(other.annotations)
        return over_items + people - single

    def stderr(self, new_annotators: bool = False) -> float:
        """Never less for new annotators than for new items alone."""
        alone = self.covariance(self)
        return sqrt(max(alone, self.covariance(self, new_annotators=True)) if new_annotators else alone)

    def freedom(self, new_annotators: bool = False) -> float:
        """The degrees of freedom of the standard error: those of items or annotators, whichever are fewer."""
        return (min(self.equal_items, self.equal_annotators) if new_annotators else self.equal_items) - 1


Statistic = Callable[[Sums], Floats]
Weight = Callable[[Ints], Floats]
"""k by number of annotations, two or more."""


@dataclass(frozen=True)
class Pairable:
    """Annotations of pairable items, each with the others of its item.

    ``agree`` sums the agreement with the other n − 1 annotations; ``pairs`` sums that of all ordered pairs of the
    item. ``k`` and ``less`` are the weights of an item with n and with n − 1 annotations.
    """

    coded: AnnotationCodes
    place: Ints
    """The index of each annotation's item in ``item``."""
    item: Ints
    n: Floats
    agree: Floats
    pairs: Floats
    k: Floats
    less: Floats
    similarity: Floats | None

    @cached_property
    def size(self) -> Floats:
        """Annotations of each item."""
        return self.per_item(np.ones(len(self.place)))

    @cached_property
    def units(self) -> tuple[Ints, Ints]:
        """The independent units, items or clusters, and the index of each annotation's unit among them."""
        if self.coded.cluster is None:
            return self.item, self.place
        unit, place = np.unique(self.coded.cluster, return_inverse=True)
        return unit, place

    def per_unit(self, values: Floats) -> Floats:
        """Sum over the annotations of each item or cluster."""
        unit, place = self.units
        return sums(place, values, len(unit))

    @cached_property
    def people(self) -> Ints:
        """The distinct annotators."""
        return np.unique(self.coded.annotator)

    @cached_property
    def annotator_index(self) -> Ints:
        """The index of each annotation's annotator among them."""
        return np.searchsorted(self.people, self.coded.annotator)

    def per_item(self, values: Floats) -> Floats:
        """Sum over the annotations of each item."""
        return sums(self.place, values, len(self.item))

    def per_annotator(self, values: Floats) -> Floats:
        """Sum over the annotations of each annotator."""
        return sums(self.annotator_index, values, len(self.people))

    @cached_property
    def totals(self) -> Floats:
        """N_c: annotations per label."""
        size = 0 if self.similarity is None else len(self.similarity)
        return np.bincount(self.coded.label, minlength=size).astype(np.float64)

    def across(self, totals: Floats) -> Floats:
        """Σ_k s(c, k) t_k per label."""
        return totals if self.similarity is None else np.asarray(self.similarity @ totals)

    @property
    def equal_items(self) -> float:
        """(Σk)²/Σk² over items, or over clusters."""
        return float(np.sum(self.k / self.n) ** 2 / np.sum(self.per_unit(self.k / self.n) ** 2))

    @property
    def equal_annotators(self) -> float:
        """(Σm)²/Σm² with m the annotations of each annotator."""
        return effective_number(self.per_annotator(np.ones(len(self.n))))


def pairable(coded: AnnotationCodes, weight: Weight, similarity: Floats | None = None) -> Pairable:
    """Compare every annotation with the others of its item; ``weight`` is k by number of annotations.

    >>> ints = lambda *values: np.array(values)
    >>> items = pairable(AnnotationCodes(ints(0, 0, 0, 1), ints(0, 1, 2, 0), ints(0, 0, 1, 1)), lambda n: n - 1.0)
    >>> items.n.tolist(), items.agree.tolist(), items.pairs.tolist(), items.k.tolist(), items.less.tolist()
    ([3.0, 3.0, 3.0], [1.0, 1.0, 0.0], [2.0, 2.0, 2.0], [2.0, 2.0, 2.0], [1.0, 1.0, 1.0])
    """
    _, place, size = np.unique(coded.item, return_inverse=True, return_counts=True)
    kept = coded.only(size[place] > 1)
    item, place, size = np.unique(kept.item, return_inverse=True, return_counts=True)
    labels = max(1, int(kept.label.max(initial=-1)) + 1 if similarity is None else len(similarity))
    keys, entry, count = np.unique(place * labels + kept.label, return_inverse=True, return_counts=True)
    names, votes = tuple(map(str, range(labels))), count.astype(np.float64)
    agree = LabelCounts(names, np.ones(len(item)), keys // labels, keys % labels, votes, similarity).agreeing[entry]
    pairs = sums(place, agree, len(item))[place]
    n = size[place]
    less = np.where(n > 2, weight(np.maximum(n - 1, 2)), 0.0)
    return Pairable(kept, place, item, n.astype(np.float64), agree, pairs, weight(n), less, similarity)


@dataclass(frozen=True)
class Jackknife:
    """The sums behind a figure, and what they lose without each item (or cluster), annotation and annotator."""

    whole: Sums
    items: Sums
    annotations: Sums
    annotators: Sums | None


def jackknife(pairable: Pairable) -> Jackknife:
    """The sums behind SPA and its kappa."""
    single = _without_annotation(pairable)
    people = _without_annotator(pairable, single) if pairable.coded.has_annotators else None
    return Jackknife(_whole(pairable), _without_unit(pairable), single, people)


def influence(pairable: Pairable, jackknifed: Jackknife, statistic: Statistic) -> Influence:
    """The influence of every item, annotator and annotation: of ``Sums.observed`` or ``Sums.beyond_chance``."""
    whole = jackknifed.whole
    items = Deviations(pairable.units[0], deviations(statistic(whole.minus(jackknifed.items)))[1])
    if jackknifed.annotators is None:
        return Influence(items, equal_items=pairable.equal_items)
    people = Deviations(pairable.people, deviations(statistic(whole.minus(jackknifed.annotators)))[1])
    unit = pairable.coded.item * 2**31 + pairable.coded.annotator  # a code that does not depend on the rest of the data
    order = np.argsort(unit)
    annotations = Deviations(unit[order], deviations(statistic(whole.minus(jackknifed.annotations))[order])[1])
    return Influence(items, people, annotations, pairable.equal_items, pairable.equal_annotators)


def _whole(pairable: Pairable) -> Sums:
    """O: Σ k P over Σ k. E: the share of agreeing pairs across different items (docs/mathematics.md §13)."""
    each = pairable.k / pairable.n
    above = np.sum(each * pairable.pairs / (pairable.n * (pairable.n - 1)))
    same = pairable.totals @ pairable.across(pairable.totals) - np.sum(pairable.agree + 1)
    return Sums(*map(np.asarray, (above, np.sum(each), same, len(pairable.n) ** 2 - np.sum(pairable.n))))


def _without_item(pairable: Pairable) -> Sums:
    """What leaving out each item removes: cross pairs of its annotations with those of all other items, twice."""
    each = pairable.k / pairable.n
    above = pairable.per_item(each * pairable.pairs / (pairable.n * (pairable.n - 1)))
    same = 2 * pairable.per_item(pairable.across(pairable.totals)[pairable.coded.label] - pairable.agree - 1)
    return Sums(above, pairable.per_item(each), same, 2 * pairable.size * (len(pairable.n) - pairable.size))


def _without_unit(pairable: Pairable) -> Sums:
    """The same for each cluster, if there are clusters: pairs within it were subtracted twice."""
    single = _without_item(pairable)
    unit, place = pairable.units
    if pairable.coded.cluster is None:
        return single
    of_item = np.zeros(len(pairable.item), dtype=np.int64)
    of_item[pairable.place] = place
    lost = single.each(lambda values: sums(of_item, values, len(unit)))
    size = sums(of_item, pairable.size, len(unit))
    within = sums(of_item, pairable.per_item(pairable.agree + 1), len(unit))
    together = _own_pairs(pairable, place, len(unit)) + size
    squares = sums(of_item, pairable.size**2, len(unit))
    return Sums(lost.above, lost.below, lost.same - (together - within), lost.all - (size**2 - squares))


def _without_annotation(pairable: Pairable) -> Sums:
    """What leaving out each annotation removes: its item goes from n to n − 1 annotations."""
    n, k, less, agree = pairable.n, pairable.k, pairable.less, pairable.agree
    before = pairable.pairs / (n * (n - 1))
    after = (pairable.pairs - 2 * agree) / np.maximum((n - 1) * (n - 2), 1)
    same = 2 * (pairable.across(pairable.totals)[pairable.coded.label] - agree - 1)
    return Sums(k * before - less * after, k - less, same, 2 * (len(n) - n))


def _without_annotator(pairable: Pairable, single: Sums) -> Sums:
    """The same for all annotations of an annotator; pairs among them were subtracted twice."""
    lost = single.each(pairable.per_annotator)
    counts = pairable.per_annotator(np.ones(len(pairable.n)))
    among = _own_pairs(pairable, pairable.annotator_index, len(pairable.people))
    return Sums(lost.above, lost.below, lost.same - among, lost.all - counts * (counts - 1))


def _own_pairs(pairable: Pairable, index: Ints, size: int) -> Floats:
    """Agreement of the ordered pairs of different annotations by one annotator, or in one cluster."""
    label = pairable.coded.label
    if pairable.similarity is not None:
        table = np.zeros((size, len(pairable.similarity)))
        np.add.at(table, (index, label), 1.0)
        return np.asarray(np.einsum("jc,cd,jd->j", table, pairable.similarity, table) - table.sum(axis=1))
    width = int(label.max()) + 1
    keys, count = np.unique(index * width + label, return_counts=True)
    return sums(keys // width, count * (count - 1.0), size)
