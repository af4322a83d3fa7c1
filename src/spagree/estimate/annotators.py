"""How each annotator agrees with the others, what SPA would be without them, and who always gives the same label.

Raw agreement with others penalises people who got hard items, and someone whose items all deserve one label gives only
one label. Both tests therefore compare annotators with the others on the same items (docs/mathematics.md §17).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spagree.codes import Codes, Floats, Ints, numbered, pairs_within, ratio, run_of_each, run_starts, sums
from spagree.counts.tally import Tally
from spagree.estimate import jackknife
from spagree.estimate.jackknife import Kinds, entry_of_each
from spagree.estimate.uncertainty import AT_THE_END, FEW_ITEMS, mean_error, wilson_each
from spagree.estimate.votes import LabelCounts
from spagree.estimate.weights import ByN

if TYPE_CHECKING:
    import polars
    from numpy.typing import NDArray

ALPHA = 0.05  # how often the list may name someone who is like the others
THREE = 3  # annotations: of two, nobody can say who differs
OFTEN = 0.1  # of the items: two who met on fewer hardly move a mean
CROWD = 20  # annotations of an item: among more, two who always agree hardly count
NO_OVERLAP = "shares no item with anybody"
ONE_ITEM = "shares only one item, too few to show how items differ"
ONE_CLUSTER = "all items shared with others are in one cluster: how clusters differ cannot be seen"
FEW_OF_THREE = f"fewer than {FEW_ITEMS} items with three or more annotations"
OTHERS_ALIKE = "two of the others agree unusually often"
WHO_MET_WHOM = "two of the others may agree unusually often: a tally does not say who met whom"


def mean_agreement(annotators: polars.DataFrame) -> float | None:
    """The mean agreement of an annotation with the others of its item: the benchmark for annotators.

    SPA would not do: it weights items differently, so all annotators together can lie below it.
    """
    sharing = annotators.filter(annotators["agreement"].is_not_null())
    shared = sharing["shared"].to_numpy()
    return float(np.average(sharing["agreement"].to_numpy(), weights=shared)) if shared.sum() else None


@dataclass(frozen=True)
class PairableAnnotations:
    """Annotations of pairable items by known annotators, item by item, each beside the others of its item.

    ``agree`` sums the agreement with the other n − 1 annotations (n_c − 1 for nominal labels), ``pairs`` is the item's
    A, and ``unit`` is what varies independently: the item, or its cluster. A tally knows neither the items nor the
    labels of annotations, but how many ``times`` there are alike ones.
    """

    people: int
    annotator: Ints
    item: Ints
    unit: Ints
    label: Ints
    n: Floats
    agree: Floats
    pairs: Floats
    times: Floats
    similarity: Floats | None = None
    knows_items: bool = True

    @classmethod
    def of(cls, codes: Codes, votes: LabelCounts) -> PairableAnnotations:
        """From coded annotations and the votes of single items, under a metric and by cluster if there is one."""
        used = (codes.annotator >= 0) & (votes.n > 1)[codes.item]
        item, entry = codes.item[used].astype(np.int64), entry_of_each(votes)[used]
        who, label = codes.annotator[used].astype(np.int64), votes.label[entry]
        figures = votes.n[item], votes.agreeing[entry], votes.agreeing_pairs[item], np.ones(len(item))
        return cls(len(codes.annotators), who, item, votes.unit_of[item], label, *figures, votes.similarity)

    @classmethod
    def of_kinds(cls, kinds: Kinds) -> PairableAnnotations:
        """From the kinds of annotations of each annotator that a tally keeps."""
        used = kinds.n[kinds.kind] > 1
        kind, who = kinds.kind[used], kinds.who[used]
        unknown, each = np.full(len(who), -1), np.arange(len(who))
        n, agree, pairs = (np.asarray(1.0 * figure[kind]) for figure in (kinds.n, kinds.own - 1, kinds.pairs))
        times = kinds.times[used]
        return cls(len(kinds.annotators), who, unknown, each, unknown, n, agree, pairs, times, knows_items=False)

    def where(self, chosen: NDArray[np.bool_] | Ints) -> PairableAnnotations:
        """Some of the annotations."""
        columns = ("annotator", "item", "unit", "label", "n", "agree", "pairs", "times")
        return replace(self, **{name: getattr(self, name)[chosen] for name in columns})

    @cached_property
    def by_item(self) -> tuple[Ints, Ints, Ints]:
        """The item of each row, numbered from 0, and where the rows of an item start and how many they are."""
        starts = run_starts(self.item)
        return run_of_each(self.item), starts, np.diff(starts, append=len(self.item))

    @property
    def against_rest(self) -> Floats:
        """How much more the others of its item agree with each annotation than with each other, from three on."""
        n, agree = self.n, self.agree
        return np.asarray(agree / (n - 1) - (self.pairs - 2 * agree) / ((n - 1) * (n - 2)))

    def means(self, values: Floats) -> Means:
        """The mean of each annotator's values, one per annotation; summed within units before they are squared."""
        items = sums(self.annotator, self.times, self.people)
        mean = ratio(sums(self.annotator, self.times * values, self.people), items)
        first, place = numbered(self.annotator, self.unit)
        who, alike, size = self.annotator[first], self.times[first], np.bincount(place).astype(np.float64)
        deviation = sums(place, values - mean[self.annotator], len(first))
        units, squares, sizes = (
            sums(who, alike * each, self.people) for each in (np.ones(len(who)), deviation**2, size**2)
        )
        return Means.of(items, mean, squares, units, sizes)


class Means(NamedTuple):
    """Means over items, their standard errors, and how many equal units, items or clusters, they rest on."""

    items: Floats
    mean: Floats
    stderr: Floats
    units: Floats

    @classmethod
    def of(cls, items: Floats, mean: Floats, squares: Floats, units: Floats, sizes: Floats) -> Means:
        """From the sums over units: their number, squared deviations and squared numbers of items."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(items, mean, mean_error(units, squares) * units / items, ratio(items**2, sizes, 0.0))

    @property
    def distance(self) -> Floats:
        """Each mean in standard errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(np.abs(self.mean) < AT_THE_END, 0.0, self.mean / self.stderr)

    @property
    def p(self) -> Floats:
        """One-sided p: how often a mean of 0 would come out this low. NaN for fewer than ten equal units."""
        from scipy.special import stdtr

        return np.where(self.units >= FEW_ITEMS, stdtr(self.units - 1, self.distance), np.nan)

    @property
    def p_for_holm(self) -> Floats:
        """The same for Holm's test of all of these; 1 for all if it could reject none.

        Then t is less extreme than the normal quantile, and scipy takes longer to import than all the rest.
        """
        tested = self.units >= FEW_ITEMS
        limit = NormalDist().inv_cdf(ALPHA / max(int(tested.sum()), 1))
        return self.p if (self.distance[tested] <= limit).any() else np.where(tested, 1.0, np.nan)


@dataclass(frozen=True)
class AgainstOthers:
    """Each annotator's mean difference from the others on the same items; NaN without such items."""

    difference: Floats
    low: Floats
    high: Floats
    stands_out: list[bool | None]
    """With whom the others agree less than with each other; None where that cannot be told."""
    why_not: list[str | None]
    """Why it cannot be told."""


def against_others(visits: PairableAnnotations, level: float) -> AgainstOthers:
    """Compare each annotator with the others on the same items, for items with three or more annotations.

    Two who copy from each other make everybody beside them stand out. Annotators are therefore named only if they also
    stand out when the agreement of any two others with each other is left out: Holm's test takes the largest p of all
    these. It names someone who is like the others in at most one data set in twenty. A tally does not say who met whom,
    so nobody in it is named.
    """
    compared = visits.where(visits.n >= THREE)
    found = compared.means(compared.against_rest)
    # The difference lies between −1 and 1: rescaled to a share, its interval has positive width at the ends, too.
    low, high = (2 * end - 1 for end in wilson_each((1 + found.mean) / 2, found.stderr / 2, found.units, level))
    few, p = found.units < FEW_ITEMS, found.p_for_holm
    stands_out: list[bool | None] = [None if each else False for each in few.tolist()]
    why_not = [FEW_OF_THREE if each else None for each in few.tolist()]
    apart, named, alike = rejected(p), list[int](), OTHERS_ALIKE if visits.knows_items else WHO_MET_WHOM
    if visits.knows_items:
        p[apart] = [max(p[person], _without_two(compared, person)) for person in apart]
        named = rejected(p)
    for person in apart:
        stands_out[person] = True if person in named else None
        why_not[person] = None if person in named else alike
    return AgainstOthers(found.mean, low, high, stands_out, why_not)


def rejected(p: Floats) -> list[int]:
    """Whose p is small by Holm's test; those without one are not tested."""
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    is_large = p[order] * np.arange(len(order), 0, -1) > ALPHA
    return sorted(order[np.cumsum(is_large) == 0].tolist())


def _without_two(compared: PairableAnnotations, person: int) -> float:
    """The largest p of a person's difference where the agreement of some two of the others with each other is left out.

    These are two who met on ten or on a tenth of the person's items: on fewer they hardly move a mean, nor among very
    many annotations of an item. Of three annotations nothing is left to compare with. 1 if too few items are left, 0 if
    no two met that often.
    """
    rows, (number, starts, sizes) = np.flatnonzero(compared.annotator == person), compared.by_item
    mine, around = compared.where(rows), sizes[number[rows]]
    value, unit = mine.against_rest, np.unique(mine.unit, return_inverse=True)[1].ravel()
    # Any two others of each of these items, and how the person compares with the rest without these two
    place, start = np.repeat(np.arange(len(rows)), around), starts[number[rows]] - np.cumsum(around) + around
    row = np.repeat(start, around) + np.arange(len(place))
    beside = (compared.annotator[row] != person) & (compared.n[row] <= CROWD)
    others, place = compared.where(row[beside]), place[beside]
    one, two = pairs_within(np.bincount(place, minlength=len(rows)))
    own, both = place[one], np.sort(np.stack([others.annotator[one], others.annotator[two]]), axis=0)
    pair = numbered(*both)[1]
    met = np.bincount(pair)
    n, agree, remaining = mine.n[own], mine.agree[own], (mine.n[own] - 1) * (mine.n[own] - 2) - 2
    first, second = others.label[one], others.label[two]
    alike = 1.0 * (first == second) if others.similarity is None else others.similarity[first, second]
    agreeing = mine.pairs[own] - 2 * agree - 2 * alike
    after = np.where(remaining > 0, agree / (n - 1) - agreeing / np.maximum(remaining, 1), 0.0)
    # Sums over all units, changed by the units in which the two met
    first, cell = numbered(pair, unit[own])
    pair, where = pair[first], unit[own][first]
    size, total = np.bincount(unit).astype(np.float64), sums(unit, value, int(unit.max()) + 1)
    size_left = size[where] - sums(cell, (remaining == 0).astype(np.float64), len(first))
    total_left = total[where] + sums(cell, after - value[own], len(first))

    def over_units(whole: Floats, left: Floats) -> Floats:
        return np.asarray(whole.sum() + sums(pair, left - whole[where], len(met)))

    items, squared_sizes = over_units(size, size_left), over_units(size**2, size_left**2)
    units = over_units(np.ones(len(size)), (size_left > 0).astype(np.float64))
    mean = ratio(over_units(total, total_left), items)
    products = over_units(total * size, total_left * size_left)
    squares = over_units(total**2, total_left**2) - 2 * mean * products + mean**2 * squared_sizes
    p = Means.of(items, mean, np.maximum(squares, 0.0), units, squared_sizes).p
    return float(np.nan_to_num(p, nan=1.0)[met >= min(FEW_ITEMS, OFTEN * len(rows))].max(initial=0.0))


@dataclass(frozen=True)
class LabelShares:
    """Per annotator: the label given most often (the first if tied), its share, and whether it is given blindly."""

    commonest: Ints
    share: Floats
    one_label: Sequence[bool | None]
    """None where labels are unknown."""


def label_shares(codes: Codes, cluster: Ints | None = None) -> LabelShares:
    """Unknown annotators (−1) still count among the others of an item; ``cluster`` is that of each item."""
    annotators, named = len(codes.annotators), codes.annotator >= 0
    who, what = codes.annotator[named].astype(np.int64), codes.label[named].astype(np.int64)
    commonest, share = _commonest(who, what, np.ones(len(who)), annotators)
    if not (share == 1.0).any():
        return LabelShares(commonest, share, [False] * annotators)
    # Who gives one label more often than their items explain
    item, _, same = codes.counts
    n = np.bincount(codes.item)
    firsts = run_starts(item)
    choices, rarest = np.diff(firsts, append=len(item)), np.minimum.reduceat(same, firsts) / n
    used = (codes.annotator >= 0) & (n[codes.item] > 1)
    person, where = codes.annotator[used], codes.item[used]

    def product(shares: Floats) -> Floats:
        if cluster is None:
            return np.exp(sums(person, np.log(shares), annotators))
        # Items of a cluster are not independent: all of it is no likelier than its least likely item.
        both, place = np.unique(np.stack([person, cluster[where]]), axis=1, return_inverse=True)
        least = np.ones(both.shape[1])
        np.minimum.at(least, place.ravel(), shares)
        return np.exp(sums(both[0], np.log(least), annotators))

    options = np.full(annotators, max(1, len(codes.labels)))
    np.minimum.at(options, person, choices[where])
    p = np.minimum(1.0, options * product(np.repeat(same, same)[used] / n[where]))
    shared = sums(person, np.ones(len(person)), annotators)
    # Annotators whose items cannot make p small are not in the family: the test could never reject for them.
    tested = (shared > 1) & (options * product(rarest[where]) <= ALPHA)
    return LabelShares(commonest, share, _blindly(p, tested, share))


def _commonest(who: Ints, label: Ints, times: Floats, people: int) -> tuple[Ints, Floats]:
    """The label that each gave most often, the first if tied, and its share of theirs; −1 for who gave none."""
    first, place = numbered(who, label)
    count, person = sums(place, times, len(first)), who[first]
    order = np.lexsort((label[first], -count, person))
    best = order[run_starts(person[order])]
    commonest, most = np.full(people, -1, dtype=np.int64), np.zeros(people)
    commonest[person[best]], most[person[best]] = label[first[best]], count[best]
    return commonest, ratio(most, sums(who, times, people))


def _blindly(p: Floats, tested: NDArray[np.bool_], share: Floats) -> list[bool]:
    """Who gave one label only, and by Holm's test among those it could name more often than their items explain."""
    named = rejected(np.where(tested, np.where(share == 1.0, p, 1.0), np.nan))
    return [place in named for place in range(len(p))]


def annotators(codes: Codes, votes: LabelCounts, by_n: ByN, spa: float | None, level: float) -> polars.DataFrame:
    """One row per annotator, lowest agreement with the others first; those with few shared items come last.

    ``votes`` are those of single items, under the metric in use and by cluster if there are clusters: errors and tests
    are then over clusters. ``agreement`` is the probability that another annotator, drawn at random from a random one
    of the annotator's shared items, gave the same label; every item counts the same, however many others annotated it.
    """
    return _table(
        codes.annotators,
        np.bincount(codes.annotator[codes.annotator >= 0], minlength=len(codes.annotators)).astype(np.int64),
        codes.items,
        PairableAnnotations.of(codes, votes),
        votes.sizes.without(jackknife.annotators(codes, votes), by_n),
        labels=codes.labels,
        shares=label_shares(codes, votes.cluster),
        spa=spa,
        level=level,
    )


def annotators_in_tally(
    tally: Tally, kinds: Kinds, without: Floats, spa: float | None, level: float
) -> polars.DataFrame:
    """The same from the kinds of annotations of each annotator, and SPA ``without`` each.

    Whom the others of an item agree with is not known: who seems to stand out is not named, because two of the others
    may copy from each other; and who always gives one label is named only if that holds whatever the others could give.
    """
    n, size, labels = kinds.n, len(kinds.annotators), tuple(sorted(tally.labels))
    shares = LabelShares(np.full(size, -1), np.full(size, np.nan), [None] * size)
    if kinds.have_labels:
        place = {label: number for number, label in enumerate(labels)}
        label = np.array([place[each or ""] for each in kinds.label], dtype=np.int64)
        commonest, share = _commonest(kinds.who, label[kinds.kind], kinds.times, size)
        p = len(labels) * np.exp(kinds.sums(np.where(n > 1, np.log(kinds.own / n), 0.0)))
        tested = (kinds.shared > 1) & (len(labels) * np.exp(kinds.sums(np.where(n > 1, -np.log(n), 0.0))) <= ALPHA)
        shares = LabelShares(commonest, share, _blindly(p, tested, share))
    return _table(
        kinds.annotators,
        kinds.sums(np.ones(len(n))).astype(np.int64),
        tally.items,
        PairableAnnotations.of_kinds(kinds),
        without,
        labels=labels,
        shares=shares,
        spa=spa,
        level=level,
    )


def _table(
    names: tuple[str, ...],
    annotations: Ints,
    items: int,
    visits: PairableAnnotations,
    without: Floats,
    *,
    labels: tuple[str, ...],
    shares: LabelShares,
    spa: float | None,
    level: float,
) -> polars.DataFrame:
    import polars

    found, against = visits.means(visits.agree / (visits.n - 1)), against_others(visits, level)
    low, high = wilson_each(found.mean, found.stderr, found.units, level)
    reasons = [
        NO_OVERLAP if m < 1 else ONE_ITEM if m < 2 else ONE_CLUSTER if unknown else None
        for m, unknown in zip(found.items.tolist(), np.isnan(found.stderr).tolist(), strict=True)
    ]
    columns = {
        "annotator": names,
        "annotations": annotations,
        "coverage": annotations / max(items, 1),
        "shared": found.items.astype(np.int64),
        "agreement": found.mean,
        "stderr": found.stderr,
        "low": low,
        "high": high,
        "spa_without": without,
        "change": without - (np.nan if spa is None else spa),
        "commonest": [labels[label] if label >= 0 else None for label in shares.commonest.tolist()],
        "commonest_share": shares.share,
        "one_label": polars.Series(shares.one_label, dtype=polars.Boolean),
        "against_others": against.difference,
        "against_others_low": against.low,
        "against_others_high": against.high,
        "stands_out": polars.Series(against.stands_out, dtype=polars.Boolean),
        "stands_out_undefined": polars.Series(against.why_not, dtype=polars.String),
        "few": found.units < FEW_ITEMS,
        "undefined": polars.Series(reasons, dtype=polars.String),
    }
    frame = polars.DataFrame(columns, schema_overrides={"annotator": polars.String, "commonest": polars.String})
    return frame.fill_nan(None).sort("few", "agreement", "annotator", nulls_last=True)
