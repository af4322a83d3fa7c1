"""The interval for other annotators: what a figure is for people who did not take part (docs/mathematics.md §9).

Leaving out one item at a time shows how items differ, and leaving out one annotator at a time how annotators differ.
Both contain the noise of single annotations, which is subtracted once: V = V_items + V_annotators − V_annotations
(Cameron, Gelbach and Miller 2011; Owen 2007). It does not see who meets whom: pairs of annotators show that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, sqrt

import numpy as np

from spagree.counts.coded import Coded
from spagree.errors import count
from spagree.estimate import jackknife
from spagree.estimate.intervals import deviations, effective_number
from spagree.estimate.item_groups import ItemGroups, total
from spagree.estimate.jackknife import Sizes, Units
from spagree.estimate.label_counts import LabelCounts, votes_in_codes
from spagree.estimate.meetings import PairSums, pair_sums
from spagree.estimate.overlap import team_of_each
from spagree.estimate.uncertainty import ITEMS, Estimate, Interval, effective_items, steadied, wilson
from spagree.estimate.weights import ByN
from spagree.grouping import Floats, Ints, numbered

FEWEST = 4  # annotators or teams: three cannot show how they differ
FEW = ("no annotators", "one annotator", "two annotators", "three annotators")
NEARLY_ALL = 0.9  # of the annotations of shared items: a team with so many of them is the whole
ONE_NEEDED = "without one of the annotators the figure is undefined: how annotators differ cannot be seen"

Values = Callable[[LabelCounts, Units], Floats]
"""A figure without each unit; NaN where it is undefined."""


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
    equal_annotators: float
    """How many equally busy annotators would be as informative."""

    @property
    def variance(self) -> float:
        """For other annotators on other items: never below that over items, pairs or teams."""
        return max(self.items, self.items + self.annotators - self.annotations, self.pairs, self.teams)

    @property
    def freedom(self) -> float:
        """The degrees of freedom: those of items or annotators, whichever are fewer."""
        return min(self.equal_items, self.equal_annotators) - 1


@dataclass(frozen=True)
class Others:
    """Annotations by known annotators, and what they say about other annotators."""

    codes: Coded
    votes: LabelCounts
    """Of single items, by code, under the metric in use."""
    patterns: LabelCounts
    """The same votes with alike items together."""
    cluster: Ints | None = None
    """The cluster of each item, by code, −1 for none; None if items are independent."""
    _made: dict[tuple[str, bool], Units] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls, codes: Coded, patterns: LabelCounts | None, similarity: Floats | None, cluster: Ints | None = None
    ) -> Others:
        """From coded annotations; ``patterns`` is None if the tally does not keep them."""
        votes = replace(votes_in_codes(codes), similarity=similarity)
        return cls(codes, votes, votes if patterns is None else patterns, cluster)

    @cached_property
    def shared(self) -> Floats:
        """Items each known annotator shares with others."""
        counted = (self.votes.n > 1)[self.codes.item] & (self.codes.annotator >= 0)
        return np.bincount(self.codes.annotator[counted], minlength=len(self.codes.annotators)).astype(np.float64)

    @cached_property
    def teams(self) -> Ints | None:
        """The team of each item whose annotators met, numbered from 0, −1 for other items.

        None if all are one team, or may be: an unknown annotator may have met both sides.
        """
        if self.codes.unknown:
            return None
        team, pairable = team_of_each(self.codes), self.votes.n > 1
        numbers = np.full(len(team), -1)
        numbers[pairable] = numbered(team[pairable])[1]
        sizes = np.bincount(numbers[self.codes.item] + 1)[1:]
        return numbers if len(sizes) > 1 and sizes.max() < NEARLY_ALL * sizes.sum() else None

    @property
    def equal_teams(self) -> float:
        """How many equally busy teams would be as informative; infinite if all are one team."""
        if self.teams is None:
            return inf
        return effective_number(np.bincount(self.teams[self.codes.item] + 1)[1:].astype(np.float64))

    @property
    def team_count(self) -> int:
        """How many teams share no item with each other."""
        return 1 if self.teams is None else int(self.teams.max()) + 1

    @cached_property
    def meetings(self) -> PairSums | None:
        """Sums over the pairs of annotators; None if there are too many to look at."""
        return pair_sums(self.codes, self.votes.similarity)

    @cached_property
    def why_not(self) -> str | None:
        """Why these annotators say nothing about others; None if they do."""
        people = int((self.shared > 0).sum())
        if self.codes.unknown:
            return f"the annotator of {count(self.codes.unknown, 'annotation')} is unknown"
        if people < FEWEST:
            return f"{FEW[people]} cannot show how annotators differ; that takes four"
        if 1 < self.team_count < FEWEST:
            teams = FEW[self.team_count].replace("annotators", "teams")
            return f"{teams} that share no item cannot show how teams differ; that takes four"
        return None

    @cached_property
    def pairable(self) -> LabelCounts:
        """The patterns of items with two annotations or more."""
        return self.patterns.pairable()

    @cached_property
    def sizes(self) -> Sizes:
        """Items and agreeing pairs for each number of annotations."""
        return Sizes.of(self.patterns)

    def spread(
        self,
        values: Values,
        items: float,
        equal_items: float,
        observed: float,
        *,
        room: float = 1.0,
        shares: bool = False,
    ) -> Spread | None:
        """The spread of a figure for other annotators, given its variance over items; None if somebody is needed.

        ``values`` gives the figure without each unit; ``observed`` is P_o and ``room`` 1 − P_e.
        """
        between = 0.0
        if self.teams is not None:
            votes = replace(self.votes, cluster=self.teams)
            teams = self._units("teams", shares, lambda: jackknife.items(votes, shares=shares))
            between = teams.variance(values(votes, teams)) or 0.0
            equal_items = min(equal_items, self.equal_teams)
        without = values(self.votes, self.people(shares=shares))[self.shared > 0]
        if not np.isfinite(without).all():
            return None
        alike = self.patterns if shares else self.pairable
        single = self._units("single", shares, lambda: jackknife.annotations(alike, shares=shares))
        noise = single.variance(values(alike, single)) or 0.0
        differing = total(deviations(without)[1] ** 2)
        met = self.meetings.variance(observed) / room**2 if self.meetings else 0.0
        return Spread(items, differing, noise, met, between, equal_items, effective_number(self.shared))

    def people(self, *, shares: bool = False) -> Units:
        """Each annotator as a unit, by code."""
        return self._units("people", shares, lambda: jackknife.annotators(self.codes, self.votes, shares=shares))

    def _units(self, kind: str, shares: bool, make: Callable[[], Units]) -> Units:
        """Units serve every scheme and coefficient: made once."""
        if (kind, shares) not in self._made:
            self._made[kind, shares] = make()
        return self._made[kind, shares]


def for_others(others: Others, figure: Estimate, by_n: ByN, groups: ItemGroups) -> Interval:
    """SPA's interval for other annotators on new items; ``by_n`` also has the weights without one annotation.

    Like the interval over items it uses the steadied error, and it is never the narrower of the two.
    """
    items, weights = figure.intervals.get(ITEMS), groups.weights(by_n)
    if figure.value is None or items is None or items.stderr is None:
        return Interval(None, None, None, figure.undefined)
    equal = effective_items(groups, weights)
    spread = others.spread(lambda _, units: others.sizes.without(units, by_n), items.stderr**2, equal, figure.value)
    if spread is None:
        return Interval(None, None, None, ONE_NEEDED)
    added = steadied(figure.value, items.stderr, groups, weights) ** 2 - items.stderr**2
    low, high = wilson(figure.value, sqrt(spread.variance + added), spread.equal_items, figure.level, spread.freedom)
    return Interval(sqrt(spread.variance), low, high).at_least(items)
