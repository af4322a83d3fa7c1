"""How many people an interval that also covers new annotators takes (docs/mathematics.md §10).

I items with n annotations each, shared equally among J people, have the variance Var(n)/I + σ²/J, where σ² is how much
people differ: the leave-one-person-out variance beyond the noise of single annotations, times the effective number of
people. More items alone cannot go below σ²/J, so some half-widths need more people. What a pilot holds stays with its
items and its people: new ones start from nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

from spagree.estimate.leave_one_out import TwoWay
from spagree.estimate.planning import Project, Row, smallest
from spagree.estimate.uncertainty import wilson

MORE_PEOPLE = "more_people"
CROWDS = (1.25, 1.5, 2, 3, 5)  # multiples of the fewest people that suffice with unlimited items
MOST_PEOPLE, MOST_ITEMS = 100_000, 10**9
CHEAP = 1.25  # recommend the fewest people whose annotations are within 25% of the minimum
NOT_REACHED = "not reachable with 100,000 people; allow a wider interval"
NOT_DECIDED = "not even 100,000 people would decide it: agreement is too close to what is required"
NOT_NARROWER = "the budget makes the interval no narrower: it pays for too few items, or too little work by new people"

Limits = tuple[float, float]
Enough = Callable[[Limits], bool]


@dataclass(frozen=True)
class Crowd:
    """A project, and how much its people differ."""

    project: Project
    spread: TwoWay

    @property
    def people(self) -> int:
        """The number of current annotators."""
        return len(self.project.tally.annotators or ())

    @property
    def variance(self) -> float:
        """σ²: how much people differ; 0 if they differ no more than single annotations do."""
        return max(0.0, self.spread.annotators - self.spread.annotations) * self.spread.equal_annotators

    def limits(self, people: int, n: int, items: int, variance: float | None = None) -> Limits:
        """The expected interval of a design: all of [0, 1] for one person or one item, which show no variation."""
        spa, between = self.project.spa, self.variance if variance is None else variance
        stderr = sqrt(self.project.variance(n) / items + between / people)
        return wilson(float(spa), stderr, items, spa.level, min(items, people) - 1)

    def bounds(self) -> Limits:
        """The confidence limits of σ² (χ²), wide for few people."""
        from scipy.special import chdtri

        freedom, tail = max(1.0, self.spread.equal_annotators - 1), (1 - self.project.spa.level) / 2
        return self.variance * freedom / chdtri(freedom, tail), self.variance * freedom / chdtri(freedom, 1 - tail)

    @property
    def now(self) -> Limits:
        """The current interval."""
        spa = self.project.spa
        return wilson(float(spa), self.spread.stderr, self.spread.equal_items, spa.level, self.spread.freedom)

    @property
    def reached(self) -> float:
        """Half the width of the current interval."""
        return _half(self.now)

    def rows(self, wanted: Mapping[str, Any]) -> list[Row]:
        """A few numbers of people, each with its cheapest design, for a half-width, a budget or a requirement."""
        head, least = {**wanted, "route": MORE_PEOPLE}, self.project.allowed[0]
        if "budget" in wanted:
            crowds = {max(least, ceil(self.people * factor)) for factor in (1, *CROWDS)}
            rows = [self._narrowest(head, people, wanted["budget"]) for people in sorted(crowds)]
            return _marked(rows, "half_width", 1.0)

        def enough(ends: Limits) -> bool:
            if "require" in wanted:
                return bool(ends[0] >= wanted["require"] or ends[1] < wanted["require"])
            return bool(_half(ends) <= wanted["half_width"])

        if enough(self.now):
            return [head | self._as_it_is()]
        fewest = self._fewest(enough)
        if fewest is None:
            reason = NOT_DECIDED if "require" in wanted else NOT_REACHED
            return [dict.fromkeys(_COLUMNS) | head | {"best": False, "undefined": reason}]
        crowds = {max(least, ceil(fewest * factor)) for factor in CROWDS}
        crowds |= {self.people} if self.people > max(fewest, least) else set()
        return _marked([self._cheapest(head, people, enough) for people in sorted(crowds)], "annotations", CHEAP)

    def _fewest(self, enough: Enough) -> int | None:
        """The fewest people for whom some number of items is enough."""
        n = self.project.allowed[0]

        def can(people: int) -> bool:
            return enough(self.limits(people, n, MOST_ITEMS))

        return smallest(can) if can(MOST_PEOPLE) else None

    def _cheapest(self, head: Row, people: int, enough: Enough) -> Row:
        """The design with the fewest annotations for this many people; near the minimum it needs very many items."""

        def items_for(n: int) -> int:
            return smallest(lambda items: enough(self.limits(people, n, items)))

        designs = [(n, items_for(n)) for n in self.project.allowed if n <= people]
        n, items = min(designs, key=lambda design: design[0] * design[1])
        return head | self._design(people, n, items)

    def _narrowest(self, head: Row, people: int, budget: int) -> Row:
        """The narrowest interval that this budget and number of people can reach."""
        sizes = {n: self._affordable(n, budget) for n in self.project.allowed if n <= people}
        rows = [self._design(people, n, items) for n, items in sizes.items() if items > 1]
        affordable = [row for row in rows if 0 < row["more_annotations"] <= budget and row["half_width"] < self.reached]
        if not affordable:
            return head | dict.fromkeys(_COLUMNS) | {"annotators": people, "best": False, "undefined": NOT_NARROWER}
        return head | min(affordable, key=lambda row: row["half_width"])

    def _affordable(self, n: int, budget: int) -> int:
        """How many items the budget brings to n annotations: those that lack the fewest first, then new ones."""
        items = 0
        for now, size in sorted(self.project.tally.items_by_n.items(), reverse=True):
            short = max(0, n - now)
            finished = size if not short else min(size, budget // short)
            items, budget = items + finished, budget - finished * short
        return items + budget // n

    def _cost(self, n: int, items: int) -> int:
        """How many annotations it takes to bring this many items to n each."""
        cost = 0
        for now, size in sorted(self.project.tally.items_by_n.items(), reverse=True):
            finished = min(size, items)
            cost, items = cost + finished * max(0, n - now), items - finished
        return cost + items * n

    def _as_it_is(self) -> Row:
        """The row for data that already suffice."""
        there, half = self.project.tally.annotations, self.reached
        about: Row = {"half_width": half, "half_width_low": half, "half_width_high": half, "annotators": self.people}
        about |= {"more_annotators": 0, "items": self.project.tally.pairable_items, "annotations": there}
        about |= {"more_annotations": 0, "best": True, "assumed": False, "undefined": None}
        return dict.fromkeys(_COLUMNS) | about

    def _design(self, people: int, n: int, items: int) -> Row:
        new, per_annotator = max(0, people - self.people), ceil(n * items / people)
        low, high = (_half(self.limits(people, n, items, variance)) for variance in self.bounds())
        return {
            "half_width": _half(self.limits(people, n, items)),
            "half_width_low": low,
            "half_width_high": high,
            "annotators": people,
            "more_annotators": new,
            "annotations_per_item": n,
            "items": items,
            "annotations": n * items,
            "more_annotations": max(self._cost(n, items), new * per_annotator),
            "per_annotator": per_annotator,
            "best": False,
            "assumed": self.project.assumed(n),
            "undefined": None,
        }


_COLUMNS = (
    "half_width", "half_width_low", "half_width_high", "annotators", "more_annotators", "annotations_per_item",
    "items", "annotations", "more_annotations", "per_annotator", "best", "assumed"
)  # fmt: skip


def _half(ends: Limits) -> float:
    return (ends[1] - ends[0]) / 2


def _marked(rows: Sequence[Row], figure: str, within: float) -> list[Row]:
    """Mark the row with the fewest people whose figure is the smallest or close to it."""
    defined = [row for row in rows if row["undefined"] is None]
    least = min((row[figure] for row in defined), default=0)
    best = next((row for row in defined if row[figure] <= within * least), None)
    return [{**row, "best": row is best} for row in rows]
