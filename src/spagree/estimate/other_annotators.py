"""The interval for other annotators: what a figure is for people who did not take part (docs/mathematics.md §9).

Leaving out one item at a time shows how items differ, and leaving out one annotator at a time how annotators differ.
Both contain the noise of single annotations, which is subtracted once: V = V_items + V_annotators − V_annotations
(Cameron, Gelbach and Miller 2011; Owen 2007). It does not see who meets whom: pairs of annotators show that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, sqrt
from typing import Literal

import numpy as np

from spagree.codes import Codes, Floats, Ints, connected, counted, numbered, run_starts, sums
from spagree.counts.tally import People, Tally
from spagree.errors import count
from spagree.estimate import jackknife
from spagree.estimate.jackknife import Kinds, Units
from spagree.estimate.pairs import PairSums, pair_sums
from spagree.estimate.uncertainty import (
    ANNOTATORS,
    AUTO,
    ITEMS,
    ONE_ITEM,
    Estimate,
    Interval,
    effective_items,
    effective_number,
    item_freedom,
    leading,
    standard_error,
    steadied,
    wilson,
)
from spagree.estimate.votes import ALONE, ONE_CLUSTER, ItemGroups, LabelCounts, Sizes, renumbered, total, votes_in_codes
from spagree.estimate.weights import ByN

MOST_ONE_BY_ONE = 500_000  # annotations to leave out one by one; of more, those of a kind together
FEWEST = 4  # annotators or teams: three cannot show how they differ
FEW = ("no annotators", "one annotator", "two annotators", "three annotators")
NEARLY_ALL = 0.9  # of the annotations of shared items: a team with so many of them is the whole
ONE_NEEDED = "without one of the annotators the figure is undefined: how annotators differ cannot be seen"

Kind = Literal["items", "teams", "people", "annotations"]
Values = Callable[[LabelCounts, Units], Floats]
"""A figure without each unit; NaN where it is undefined."""
Without = Callable[[Kind], tuple[Floats, Floats]]
"""The same for each unit of a kind, and how many units are alike."""
Met = Sequence[tuple[str, str, int, int]]
Made = Callable[[float, float, float], Interval]
"""An interval from a variance, so many equally informative items, and degrees of freedom."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Variances of a figure over items, annotators, single annotations, pairs of annotators, teams that never met."""

    items: float
    annotators: float
    annotations: float
    pairs: float
    teams: float
    """0 if all are one team; otherwise items and people are nested in teams."""
    equal_items: float
    """How many equally weighted items, or teams, would be as informative."""
    freedom: float
    """The degrees of freedom: those of items, annotators or teams, whichever are fewest."""

    @property
    def variance(self) -> float:
        """For other annotators on other items: never below that over items, pairs or teams."""
        return max(self.items, self.items + self.annotators - self.annotations, self.pairs, self.teams)


@dataclass(frozen=True)
class Others:
    """Annotations by known annotators, and what they say about other annotators.

    Single annotations are known by their ``codes``. Of very many, as of a tally, only the ``kinds`` of annotations are
    known, and who met whom from the codes if there are any, or from ``met``.
    """

    codes: Codes
    votes: LabelCounts
    """Of single items, by code, under the metric in use; with kinds, alike items together."""
    patterns: LabelCounts
    """The same votes with alike items together."""
    cluster: Ints | None = None
    """The cluster of each item, by code, −1 for none; None if items are independent."""
    kinds: Kinds | None = None
    tally: Tally | None = None
    """The one that the kinds are from."""
    met: Met | None = None
    """Pairs of annotators with their shared items and on how many they agree."""
    _made: dict[tuple[Kind, bool], tuple[LabelCounts, Units]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls, codes: Codes, patterns: LabelCounts | None, similarity: Floats | None, cluster: Ints | None = None
    ) -> Others:
        """From coded annotations; ``patterns`` is None if the tally does not keep them."""
        votes = replace(votes_in_codes(codes), similarity=similarity)
        return cls(codes, votes, votes if patterns is None else patterns, cluster)

    @classmethod
    def of_tally(
        cls,
        tally: Tally,
        people: People,
        patterns: LabelCounts | None,
        met: Met | None = None,
        codes: Codes | None = None,
    ) -> Others:
        """From the cells of a tally; ``patterns`` is None if it does not keep them."""
        none, nobody = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
        votes = LabelCounts((), np.zeros(0), none, none, np.zeros(0)) if patterns is None else patterns
        codes = Codes(nobody, nobody, nobody, (), ()) if codes is None else codes
        return cls(codes, votes, votes, kinds=Kinds.of(people), tally=tally, met=met)

    @property
    def unknown(self) -> int:
        """Annotations by unknown annotators."""
        if self.kinds is None or self.tally is None:
            return self.codes.unknown
        return self.tally.annotations - int(total(self.kinds.times))

    @cached_property
    def shared(self) -> Floats:
        """Items each known annotator shares with others."""
        if self.kinds is not None:
            return self.kinds.shared
        counted = (self.votes.n > 1)[self.codes.item] & (self.codes.annotator >= 0)
        return np.bincount(self.codes.annotator[counted], minlength=len(self.codes.annotators)).astype(np.float64)

    @property
    def connected(self) -> Ints | None:
        """A number per annotator, the same for those who share items; None if it is not known who met."""
        if self.kinds is None:
            return self.codes.connected
        place = {who: number for number, who in enumerate(self.kinds.annotators)}
        if self.met is not None:
            ends = np.array([place[who] for pair in self.met for who in pair[:2]], dtype=np.int64)
            return connected(np.repeat(np.arange(len(self.met)), 2), ends, len(place))
        if not len(self.codes.item):
            return None
        known = np.array([place.get(who, -1) for who in self.codes.annotators], dtype=np.int64)
        return connected(self.codes.item, known[self.codes.annotator], len(place))

    @cached_property
    def teams(self) -> Ints | None:
        """The team of each annotator, numbered from 0.

        None if all are one team, or may be: it is not known who met, or an unknown annotator may have met both sides.
        """
        group = None if self.unknown else self.connected
        if group is None:
            return None
        numbers = numbered(group)[1]
        sizes = sums(numbers, self.shared, int(numbers.max(initial=-1)) + 1)
        is_whole = (sizes > 0).sum() < 2 or sizes.max() >= NEARLY_ALL * sizes.sum()
        return None if is_whole else numbers

    @property
    def item_teams(self) -> Ints | None:
        """The same for each item, by code, numbered without gaps; −1 for items whose annotators met nobody there."""
        if self.teams is None:
            return None
        first = self.codes.annotator[run_starts(self.codes.item)]
        return renumbered(np.where(self.votes.n > 1, self.teams[first], ALONE))

    @property
    def equal_teams(self) -> float:
        """How many equally busy teams would be as informative; infinite if all are one team."""
        return inf if self.teams is None else effective_number(sums(self.teams, self.shared, int(self.teams.max()) + 1))

    @property
    def team_count(self) -> int:
        """How many teams share no item with each other."""
        return 1 if self.teams is None else len(counted(self.teams[self.shared > 0])[0])

    @cached_property
    def meetings(self) -> PairSums | None:
        """Sums over the pairs of annotators; None if there are too many, or it is not known who met."""
        if self.met is not None:
            shared, alike = (np.array([pair[place] for pair in self.met], dtype=np.float64) for place in (2, 3))
            return PairSums.of(shared, alike)
        if self.kinds is not None and not len(self.codes.item):
            return None
        return pair_sums(self.codes, self.votes.similarity)

    @cached_property
    def why_not(self) -> str | None:
        """Why these annotators say nothing about others; None if they do."""
        people = int((self.shared > 0).sum())
        if self.unknown:
            return f"the annotator of {count(self.unknown, 'annotation')} is unknown"
        if people < FEWEST:
            return f"{FEW[people]} cannot show how annotators differ; that takes four"
        if 1 < self.team_count < FEWEST:
            teams = FEW[self.team_count].replace("annotators", "teams")
            return f"{teams} that share no item cannot show how teams differ; that takes four"
        return None

    @cached_property
    def sizes(self) -> Sizes:
        """Items and agreeing pairs for each number of annotations."""
        if self.tally is None or self.tally.patterns is not None:
            return self.patterns.sizes
        cells = np.array([[cell.n, cell.pairs, items] for cell, items in self.tally.cells.items()], dtype=np.float64)
        n, pairs, items = cells.reshape(-1, 3).T
        return Sizes.of(n, items, pairs)

    def left_out(self, kind: Kind, *, shares: bool = False) -> tuple[LabelCounts, Units]:
        """The votes, with each unit of a kind to leave out: made once, because all schemes and coefficients use them.

        Annotations with the same label on alike items are alike. ``shares`` is as for :func:`jackknife.items`.
        """
        has_single = bool((self.patterns.n < 2).any())  # otherwise shares change nothing
        key = kind, shares and has_single and kind != "people"
        if key not in self._made:
            self._made[key] = self._units_of(kind, shares)
        return self._made[key]

    def _units_of(self, kind: Kind, shares: bool) -> tuple[LabelCounts, Units]:
        kinds = self.kinds
        if kinds is not None and kind == "people":
            return self.patterns, kinds.annotators_out(self.patterns)
        if kinds is not None and kind == "teams" and self.teams is not None:
            return self.patterns, kinds.teams_out(self.patterns, self.teams)
        if kinds is not None and kind == "annotations" and self.tally and self.tally.patterns is None:
            return self.patterns, kinds.annotations_out()
        if kind == "people":
            return self.votes, jackknife.annotators(self.codes, self.votes)
        if kind == "annotations":
            votes = self.patterns if shares else self.patterns.pairable()
            return votes, jackknife.annotations(votes)
        votes = replace(self.votes, cluster=self.cluster if kind == "items" else self.item_teams)
        return votes, jackknife.items(votes, shares=shares)

    def spread(
        self, without: Without, items: float, equal_items: float, freedom: float, met: float = 0.0
    ) -> Spread | None:
        """The spread of a figure for other annotators, given its variances over items and over pairs of annotators.

        The first has so many degrees of ``freedom``. None if somebody is needed: without them the figure is undefined.
        """
        teams = 0.0 if self.teams is None else jackknife.variance(*without("teams")) or 0.0
        people = jackknife.variance(*without("people"))
        if people is None:
            return None
        noise = jackknife.variance(*without("annotations")) or 0.0
        freedom = min(freedom, self.equal_teams - 1, effective_number(self.shared) - 1)
        return Spread(items, people, noise, met, teams, min(equal_items, self.equal_teams), freedom)

    def intervals(
        self, without: Without, items: float, equal_items: float, freedom: float, made: Made, met: float = 0.0
    ) -> dict[str, Interval]:
        """Of a figure whose variance over items is known: for these annotators, and for others or why not."""
        alone = made(items, equal_items, freedom)
        wider = Interval(None, None, None, self.why_not or ONE_NEEDED)
        spread = None if self.why_not else self.spread(without, items, equal_items, freedom, met)
        if spread is not None:
            wider = made(spread.variance, spread.equal_items, spread.freedom).at_least(alone)
        return {ITEMS: alone, ANNOTATORS: wider}

    def figure(self, values: Values, *, shares: bool = False) -> Without:
        """A figure that is computed from votes and units, without each unit of a kind."""

        def without(kind: Kind) -> tuple[Floats, Floats]:
            votes, units = self.left_out(kind, shares=shares)
            return values(votes, units), units.times

        return without

    def between_pairs(self, observed: float) -> float:
        """The variance of agreement over who meets whom; 0 if there are too many pairs to look at."""
        return self.meetings.variance(observed) if self.meetings else 0.0


def spa_estimate(
    groups: ItemGroups,
    by_n: ByN,
    *,
    level: float,
    scheme: str,
    others: Others | str | None = None,
    interval_for: str = AUTO,
    variance: float | None = None,
) -> Estimate:
    """SPA under the weights ``by_n``, exact, with its intervals, both on the steadied error.

    ``variance`` is that over items, by default the linearised one. ``others`` says what its annotators tell about
    others, or why nothing; for them ``by_n`` also has the weights without one annotation.
    """
    plain = Estimate(groups.sizes.value(by_n), None, None, None, level, scheme)
    if groups.units < 2:
        return replace(plain, undefined=ONE_ITEM if groups.size < 2 else ONE_CLUSTER)
    value, weights = float(plain), groups.weights(by_n)
    over_items = standard_error(value, groups, weights) ** 2 if variance is None else variance
    added = steadied(value, sqrt(over_items), groups, weights) ** 2 - over_items

    def made(variance: float, equal_items: float, freedom: float) -> Interval:
        ends = wilson(value, sqrt(max(0.0, variance + added)), equal_items, level, freedom)
        return Interval(sqrt(variance), *ends)

    equal = effective_items(groups, weights)
    freedom = item_freedom(groups, equal)
    if others is None or isinstance(others, str):
        reason = {} if others is None else {ANNOTATORS: Interval(None, None, None, others)}
        return leading(plain, {ITEMS: made(over_items, equal, freedom), **reason}, interval_for)
    without = others.figure(lambda _, units: others.sizes.without(units, by_n))
    met = others.between_pairs(value)
    return leading(plain, others.intervals(without, over_items, equal, freedom, made, met), interval_for)
