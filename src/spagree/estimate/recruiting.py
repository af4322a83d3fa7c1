"""How many people an interval for new annotators takes (docs/mathematics.md §10).

I items with n annotations each, shared equally among J people, have the variance Var(n)/I + σ²/J, where σ² is how much
people differ: the leave-one-person-out variance beyond the noise of single annotations, times the effective number of
people. More items alone cannot go below σ²/J, so some half-widths need more people.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

from spagree.estimate.new_annotators import TwoWay
from spagree.estimate.planning import Present, Row, smallest
from spagree.estimate.uncertainty import wilson

MORE_PEOPLE = "more_people"
CROWDS = (1.25, 1.5, 2, 3, 5)  # multiples of the fewest people that suffice with unlimited items
MOST_PEOPLE, MANY_ITEMS = 100_000, 10**9
CHEAP = 1.25  # recommend the fewest people whose annotations are within 25% of the minimum
NOT_REACHED = "not reachable with 100,000 people; allow a wider interval"
NOT_DECIDED = "not even 100,000 people would decide it: agreement is too close to what is required"
TOO_SMALL = "the budget does not pay for two annotations of two items"

Limits = tuple[float, float]
Enough = Callable[[Limits], bool]


@dataclass(frozen=True)
class Crowd:
    """A pilot, and how much its people differ."""

    present: Present
    spread: TwoWay

    @property
    def people(self) -> int:
        """The number of current annotators."""
        return len(self.present.tally.annotators or ())

    @property
    def variance(self) -> float:
        """σ²: how much people differ; 0 if they differ no more than single annotations do."""
        return max(0.0, self.spread.annotators - self.spread.annotations) * self.spread.equal_annotators

    def limits(self, people: int, n: int, items: int, variance: float | None = None) -> Limits:
        """The expected interval of a design."""
        spa, own = self.present.spa, self.variance if variance is None else variance
        stderr = sqrt(self.present.variance(n) / items + own / people)
        return wilson(float(spa), stderr, items, spa.level, min(items, people) - 1)

    def bounds(self) -> Limits:
        """The confidence limits of σ² (χ²), wide for few people."""
        from scipy.special import chdtri

        freedom, tail = max(1.0, self.spread.equal_annotators - 1), (1 - self.present.spa.level) / 2
        return self.variance * freedom / chdtri(freedom, tail), self.variance * freedom / chdtri(freedom, 1 - tail)

    @property
    def reached(self) -> float:
        """Half the width of the interval there is."""
        spa = self.present.spa
        return _half(wilson(float(spa), self.spread.stderr, self.spread.equal_items, spa.level, self.spread.freedom))

    def rows(self, wanted: Mapping[str, Any]) -> list[Row]:
        """A few numbers of people, each with its cheapest design, for a half-width, a budget or a requirement."""
        head, least = {**wanted, "route": MORE_PEOPLE}, self.present.allowed[0]
        if "budget" in wanted:
            some = sorted({max(least, ceil(self.people * factor)) for factor in (1, *CROWDS)})
            return _marked([self._bought(head, people, wanted["budget"]) for people in some], "half_width", 1.0)
        enough = self._enough(wanted)
        fewest = self._fewest(enough)
        if fewest is None:
            reason = NOT_DECIDED if "require" in wanted else NOT_REACHED
            return [dict.fromkeys(_COLUMNS) | head | {"best": False, "undefined": reason}]
        crowds = {max(least, ceil(fewest * factor)) for factor in CROWDS}
        crowds |= {self.people} if self.people > max(fewest, least) else set()
        return _marked([self._made(head, people, enough) for people in sorted(crowds)], "annotations", CHEAP)

    def _enough(self, wanted: Mapping[str, Any]) -> Enough:
        if "require" in wanted:
            return lambda ends: ends[0] >= wanted["require"] or ends[1] < wanted["require"]
        return lambda ends: (ends[1] - ends[0]) / 2 <= wanted["half_width"]

    def _fewest(self, enough: Enough) -> int | None:
        """The fewest people for whom some number of items is enough."""
        n = self.present.allowed[0]

        def can(people: int) -> bool:
            return people > 1 and enough(self.limits(people, n, MANY_ITEMS))

        return smallest(can) if can(MOST_PEOPLE) else None

    def _made(self, head: Row, people: int, enough: Enough) -> Row:
        """The design with the fewest annotations for this many people; near the minimum it needs very many items."""
        designs = [(n, self._items(people, n, enough)) for n in self.present.allowed if n <= people]
        n, items = min(designs, key=lambda design: design[0] * design[1])
        return head | self._design(people, n, items)

    def _items(self, people: int, n: int, enough: Enough) -> int:
        return smallest(lambda items: items > 1 and enough(self.limits(people, n, items)))

    def _bought(self, head: Row, people: int, budget: int) -> Row:
        """The narrowest interval that this budget and number of people can reach."""
        whole = self.present.tally.annotations + budget
        designs = [(n, whole // n) for n in self.present.allowed if n <= people and whole // n > 1]
        if not designs:
            return head | dict.fromkeys(_COLUMNS) | {"annotators": people, "best": False, "undefined": TOO_SMALL}
        n, items = min(designs, key=lambda design: _half(self.limits(people, *design)))
        return head | self._design(people, n, items)

    def _design(self, people: int, n: int, items: int) -> Row:
        there = self.present.tally.annotations
        low, high = (_half(self.limits(people, n, items, variance)) for variance in self.bounds())
        return {
            "half_width": _half(self.limits(people, n, items)),
            "half_width_low": low,
            "half_width_high": high,
            "annotators": people,
            "more_annotators": max(0, people - self.people),
            "annotations_per_item": n,
            "items": items,
            "annotations": n * items,
            "more_annotations": max(0, n * items - there),
            "per_annotator": ceil(n * items / people),
            "best": False,
            "assumed": self.present.assumed(n),
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
    known = [row for row in rows if row["undefined"] is None]
    least = min((row[figure] for row in known), default=0)
    best = next((row for row in known if row[figure] <= within * least), None)
    return [{**row, "best": row is best} for row in rows]
