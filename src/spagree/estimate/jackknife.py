"""The one jackknife: a figure again without each item, cluster, annotator or annotation (docs/mathematics.md §9).

A figure is Σ k(n)·A/(n(n − 1)) over Σ k(n); a kappa sets that against what would agree by chance. What is left without
a unit is summed for each number of annotations, in whole numbers, before it is weighted: nothing cancels, however
steep the weights. Without an annotation, an item goes from n to n − 1 annotations; with two, it is no longer pairable,
and its other annotation is lost as well.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Self

import numpy as np

from spagree.codes import Codes, Floats, Ints, numbered, run_starts, sums
from spagree.counts.tally import People
from spagree.estimate.uncertainty import deviations
from spagree.estimate.votes import LabelCounts, Leaving, add_up, relative_weights, total

ROWS_AT_ONCE = 500_000


@dataclass(frozen=True, kw_only=True)
class Units(Leaving):
    """Units of annotations, with the labels that leave."""

    take: Callable[[bool], LabelCounts]
    """Finds what is lost, which SPA does not need."""
    taken: Callable[[Floats], Floats] | None = None
    """Sums a value of each entry of the votes over the annotations that leave, row by row; None if these are alike."""

    _lost: dict[bool, LabelCounts] = field(default_factory=dict, repr=False, compare=False)

    def lost(self, *, shares: bool = False) -> LabelCounts:
        """What each unit takes from the total of each label: found once, because several coefficients use it."""
        if shares not in self._lost:
            self._lost[shares] = self.take(shares)
        return self._lost[shares]

    def loses(self, before: Floats, after: Floats) -> Floats:
        """Σ (before − after) over the items of each unit, counting only pairable ones on either side."""
        change = np.where(self.n > 1, before, 0.0) - np.where(self.n_left > 1, after, 0.0)
        return sums(self.unit, self.items * change, len(self.times))


def variance(without: Floats, times: Floats) -> float | None:
    """The jackknife variance of a figure without each unit; None without two of them, or if it is undefined for one."""
    without, times = without[times > 0], times[times > 0]
    if total(times) < 2 or not np.isfinite(without).all():
        return None
    return total(times * deviations(without, times)[1] ** 2)


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
    return variance(without, votes.unit_sizes)


def items(votes: LabelCounts, *, shares: bool = False) -> Units:
    """Each item, or each cluster, as a unit; items with one annotation too if totals are of ``shares``."""
    votes = votes if shares else votes.pairable()
    alike = np.ones(len(votes.items)) if votes.cluster is None else np.where(votes.alone, 1.0, votes.items)
    unit = np.arange(len(votes.items)) if votes.cluster is None else votes.unit_of
    n, none = votes.n.astype(np.int64), np.zeros(len(votes.items))
    return Units(
        unit,
        np.arange(len(n)),
        alike,
        n,
        none.astype(np.int64),
        votes.agreeing_pairs,
        none,
        votes.unit_sizes,
        taken=lambda values: votes.per_group(votes.count * values),
        take=lambda shares: votes.by_unit(entries(votes, shares=shares)),
    )


def annotations(votes: LabelCounts) -> Units:
    """Each annotation as a unit; those with the same label on alike items are alike, one unit for each entry."""
    every = np.arange(len(votes.group))
    rows = _Rows(votes, every, votes.group, every, np.ones(len(every)))
    return rows.units(votes.items[votes.group] * votes.count, every)


def annotators(codes: Codes, votes: LabelCounts) -> Units:
    """Each annotator as a unit, by code; ``votes`` are those of single items. Unknown annotators stay.

    >>> from spagree.estimate.votes import votes_in_codes
    >>> ints = lambda *values: np.array(values, dtype=np.int32)
    >>> codes = Codes(ints(0, 0, 0, 1, 1), ints(0, 1, 2, 0, 1), ints(0, 0, 1, 1, 1), ("a", "b", "c"), ("x", "y"))
    >>> votes = votes_in_codes(codes)
    >>> votes.sizes.without(annotators(codes, votes), {2: Fraction(1), 3: Fraction(2)}).tolist()
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
    busy = np.bincount(who[visit], votes.n[item[visit]] > 1, len(codes.annotators)) > 0
    return rows.units(busy.astype(np.float64), who[visit])


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

    def units(self, times: Floats, unit: Ints) -> Units:
        """The units that these rows belong to."""
        votes, first = self.votes, run_starts(self.row)
        group, rows = self.group[first], len(first)
        n, taken = votes.n[group], sums(self.row, self.given, rows)
        mine = sums(self.row, self.given * (votes.agreeing[self.entry] + 1), rows)
        within = self.given**2  # Σ s over ordered pairs of the annotations in a row, each with itself
        if len(self.row) != rows:
            leaving = LabelCounts(votes.labels, np.ones(rows), self.row, votes.label[self.entry], self.given)
            within = replace(leaving, similarity=votes.similarity).squares
        agreeing = votes.agreeing_pairs[group]
        left = agreeing - 2 * (mine - taken) + (within - taken)
        return Units(
            unit,
            group,
            np.ones(rows),
            n.astype(np.int64),
            (n - taken).astype(np.int64),
            agreeing,
            left,
            times,
            taken=lambda values: sums(self.row, self.given * values[self.entry], rows),
            take=lambda shares: self._lost(group, n, n - taken, unit, times, shares=shares),
        )

    def _lost(self, group: Ints, n: Floats, rest: Floats, unit: Ints, times: Floats, *, shares: bool) -> LabelCounts:
        """What the labels of an item lose: of its own, and with two annotations the other that no longer has a pair.

        A bounded number of rows at a time.
        """
        votes, parts = self.votes, []
        sizes = np.bincount(votes.group, minlength=len(votes.items))
        starts = np.cumsum(sizes) - sizes
        for begin in range(0, max(1, len(group)), ROWS_AT_ONCE):
            rows = slice(begin, begin + ROWS_AT_ONCE)
            width = sizes[group[rows]]
            first, each = np.cumsum(width) - width, np.repeat(np.arange(len(width)), width)
            entry = (starts[group[rows]] - first)[each] + np.arange(len(each))
            taken = slice(*np.searchsorted(self.row, (begin, begin + ROWS_AT_ONCE)))
            own = np.zeros(len(each))
            place = first[self.row[taken] - begin] + self.entry[taken] - starts[self.group[taken]]
            own[place] = self.given[taken]
            before, after, count = n[rows][each], rest[rows][each], votes.count[entry]
            if shares:
                lost = count / before - np.divide(count - own, after, out=np.zeros(len(each)), where=after > 0)
            else:
                lost = np.where(before < 2, 0.0, np.where(after < 2, count, own))
            part = _per_label(votes, unit[rows][each], votes.label[entry], lost, times)
            parts.append((part.group, part.label, part.count))
        if len(parts) == 1:
            return part
        units, labels, amounts = (np.concatenate(column) for column in zip(*parts, strict=True))
        return _per_label(votes, units, labels, amounts, times)


@dataclass(frozen=True)
class Kinds:
    """The annotations of each annotator by kind, as a tally keeps them: row by row, ``times`` of one kind.

    A kind is what decides what SPA would be without the annotation: ``n`` annotations, ``pairs`` that agree in its item
    and ``own`` of its ``label`` there; where two differ, ``other`` is the label of the other one. Of very many kinds
    the labels are not known.
    """

    annotators: tuple[str, ...]
    who: Ints
    times: Floats
    kind: Ints
    n: Ints
    pairs: Ints
    own: Ints
    label: tuple[str | None, ...]
    other: tuple[str | None, ...]

    @classmethod
    def of(cls, people: People) -> Self:
        """From the cells of a tally."""
        annotators = tuple(sorted(people))
        cells = [(who, kind, times) for who, name in enumerate(annotators) for kind, times in people[name].items()]
        kinds = sorted({kind for _, kind, _ in cells})
        place = {kind: number for number, kind in enumerate(kinds)}
        numbers = np.array([kind[:3] for kind in kinds], dtype=np.int64).reshape(-1, 3)
        return cls(
            annotators,
            np.array([who for who, _, _ in cells], dtype=np.int64),
            np.array([times for *_, times in cells], dtype=np.float64),
            np.array([place[kind] for _, kind, _ in cells], dtype=np.int64),
            numbers[:, 0],
            numbers[:, 1],
            numbers[:, 2],
            tuple(kind[3] for kind in kinds),
            tuple(kind[4] for kind in kinds),
        )

    def sums(self, values: Floats) -> Floats:
        """Σ of a value of each kind over the annotations of each annotator."""
        return sums(self.who, self.times * values[self.kind], len(self.annotators))

    @property
    def have_labels(self) -> bool:
        """Whether the labels are known."""
        return None not in self.label

    @cached_property
    def shared(self) -> Floats:
        """How many items each annotator shares with others."""
        return self.sums((self.n > 1).astype(np.float64))

    def annotators_out(self, votes: LabelCounts) -> Units:
        """Each annotator as a unit; ``votes`` are those of the patterns; where shares count, with two labels only."""
        busy = (self.shared > 0).astype(np.float64)
        take = partial(self._lost, votes, busy) if self.have_labels else _not_known
        return self._units(self.who, self.kind, self.times, busy, take)

    def annotations_out(self) -> Units:
        """Each annotation as a unit, those of a kind together: for a tally that keeps no patterns."""
        every = np.arange(len(self.n))
        times = sums(self.kind, self.times, len(every)) * (self.n > 1)
        return self._units(every, every, np.ones(len(every)), times, _not_known)

    def teams_out(self, votes: LabelCounts, team: Ints) -> Units:
        """Each team of annotators who share no item with others, with all of its items; ``team`` is each one's."""
        unit, n, none = team[self.who], self.n[self.kind], np.zeros(len(self.who))
        busy = (sums(team, self.shared, int(team.max()) + 1) > 0).astype(np.float64)
        pairs = self.pairs[self.kind].astype(np.float64)

        def lost(_: bool) -> LabelCounts:
            return _per_label(votes, unit, _places(self.label, votes.labels)[self.kind], self.times * (n > 1), busy)

        # Each of n annotations of an item stands for a share of it
        nothing = none.astype(np.int64)
        take = lost if self.have_labels else _not_known
        return Units(unit, nothing, self.times / n, n, nothing, pairs, none, busy, take=take)

    def _units(
        self, unit: Ints, kind: Ints, items: Floats, times: Floats, take: Callable[[bool], LabelCounts]
    ) -> Units:
        n, pairs = self.n[kind], self.pairs[kind].astype(np.float64)
        left = pairs - 2 * (self.own[kind] - 1)
        return Units(unit, np.zeros_like(unit), items, n, n - 1, pairs, left, times, take=take)

    def _lost(self, votes: LabelCounts, times: Floats, shares: bool) -> LabelCounts:
        """What the labels of items lose: of its own, and with two annotations the other that no longer has a pair."""
        own, other = (_places(labels, votes.labels) for labels in (self.label, self.other))
        n, mine = self.n, self.own.astype(np.float64)
        if shares:
            rest, other = np.maximum(n - 1, 1), 1 - own
            lost = mine / n - (mine - 1) / rest, (n - mine) / n - (n - mine) / rest
        else:
            lost = np.where(n == 2, mine, 1.0) * (n > 1), 1.0 * ((n == 2) & (mine == 1))
        label = np.concatenate([own[self.kind], other[self.kind]])
        amount = np.concatenate([self.times * each[self.kind] for each in lost])
        return _per_label(votes, np.tile(self.who, 2), label, amount, times)


def _places(labels: Sequence[str | None], known: Sequence[str]) -> Ints:
    """The place of each label among those that are known; −1 for none."""
    place = {label: number for number, label in enumerate(known)}
    return np.array([-1 if label is None else place.get(label, -1) for label in labels], dtype=np.int64)


def _not_known(_: bool) -> LabelCounts:
    raise TypeError("without patterns, or labels of the kinds, a tally does not say what labels lose")


def _per_label(votes: LabelCounts, unit: Ints, label: Ints, lost: Floats, times: Floats) -> LabelCounts:
    """What is lost, summed for each unit and label."""
    width = max(1, len(votes.labels))
    keys = unit * width + label
    kept = lost != 0
    first, place = numbered(keys[kept])
    distinct = keys[kept][first]
    amounts = add_up(place, lost[kept], len(distinct))
    return LabelCounts(votes.labels, times, distinct // width, distinct % width, amounts, votes.similarity)
