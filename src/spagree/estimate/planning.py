"""How many annotations an interval of a given width takes (docs/mathematics.md §10).

The agreement of an item with n annotations has variance Var(n), so I items have the standard error √(Var(n)/I): the
width of the interval is known before anything is annotated. Three routes lead to a narrower one: a fresh data set, new
items added to the existing ones, and more annotations of the same items.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import exp, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree.errors import UsageError
from spagree.estimate.item_groups import ItemGroups, relative_weights
from spagree.estimate.label_counts import LabelCounts, item_groups_of
from spagree.estimate.shape import PRIOR_ITEMS, Shape, item_shape
from spagree.estimate.uncertainty import Estimate, standard_error, steadied, wilson
from spagree.estimate.weights import weigh_at
from spagree.grouping import Floats
from spagree.options import CustomWeights
from spagree.tally.tally import Tally

if TYPE_CHECKING:
    import polars

FRESH, NEW_ITEMS, SAME_ITEMS = "fresh", "new_items", "same_items"
FINEST, WIDEST = 1e-6, 0.5
TARGETS = 4
USUAL_MOST, LARGEST_MOST = 10, 1_000
ENDLESS = 10**9  # annotations of an item: only the variance between items remains

# Realised over promised half-widths if the shape is assumed, not estimated: nine of ten real data sets lie in between
# (docs/studies/planning.md).
PRIOR_LOW, PRIOR_HIGH = 0.80, 1.20

NO_SPREAD = "all items agree equally, so the data cannot say how many are needed to see how they differ"
FLOOR = "not reachable, because items differ and further annotations of the same items do not change that"
TOO_FEW = "not reachable with as few annotations per item; allow more of them, or annotate new items"

Row = dict[str, Any]
RANGE = ("half_width_low", "half_width_high")


@dataclass(frozen=True, slots=True)
class WeightSums:
    """Σk, Σk² and Σk²·Var over items: all that determines the width of their interval."""

    weight: float = 0.0
    squares: float = 0.0
    noise: float = 0.0

    def plus(self, items: int, k: float, variance: float) -> WeightSums:
        """The same with more items of weight k."""
        return WeightSums(self.weight + items * k, self.squares + items * k * k, self.noise + items * k * k * variance)

    def interval(self, spa: float, level: float) -> tuple[float, float]:
        """The interval of such items, built like SPA's."""
        return wilson(spa, sqrt(self.noise) / self.weight, self.weight**2 / self.squares, level)

    def half_width(self, spa: float, level: float) -> float:
        """Half the width of the interval."""
        low, high = self.interval(spa, level)
        return (high - low) / 2


def allowed_per_item(tally: Tally, weights: str | CustomWeights, most: int | None) -> list[int]:
    """Annotations per item to consider: no more than there are annotators, unless requested."""
    if most is not None and not (isinstance(most, int) and 2 <= most <= LARGEST_MOST):
        raise UsageError(f"most {most!r}: annotations per item, a whole number from 2 to {LARGEST_MOST:,}")
    people = len(tally.annotators or ())
    end = most or (min(people, USUAL_MOST) if people > 1 else USUAL_MOST)
    allowed = [n for n in range(2, end + 1) if not isinstance(weights, Mapping) or n in weights]
    if not allowed:
        raise UsageError(f"custom weights: none given for 2 to {end} annotations of an item; give some to plan with")
    return allowed


def round_targets(reached: float) -> list[float]:
    """The next round half-widths below the current one.

    >>> round_targets(0.027), round_targets(0.5)
    ([0.02, 0.01, 0.005, 0.003], [0.05, 0.03, 0.02, 0.01])
    """
    rounds = (digit / 10**place for place in range(2, 7) for digit in (5, 3, 2, 1))
    return list(islice((target for target in rounds if target < reached), TARGETS))


@dataclass(frozen=True)
class Project:
    """The data so far, as far as a plan needs them; none for a project that has not started."""

    tally: Tally
    weights: str | CustomWeights
    spa: Estimate
    votes: LabelCounts | None
    allowed: Sequence[int]

    @cached_property
    def k(self) -> dict[int, float]:
        """Weights relative to the largest, for all numbers of annotations that occur or may be planned."""
        counts = sorted({*self.allowed, *(n for n in self.tally.items_by_n if n > 1)})
        by_n = weigh_at(counts, self.weights, self.tally, self.votes).by_n
        return dict(zip(counts, relative_weights(by_n, np.array(counts)).tolist(), strict=True))

    @cached_property
    def foreseen(self) -> Shape:
        """The shape to plan with."""
        return item_shape(self.tally, float(self.spa), self.votes)

    def variance(self, n: int) -> float:
        """Var(n) of the agreement of an item with n annotations."""
        return float(self.spa) * (1 - float(self.spa)) * self.foreseen.variance(n)

    @cached_property
    def groups(self) -> tuple[ItemGroups, Floats]:
        """The pairable items, and the weight of an item of each group."""
        groups = item_groups_of(self.tally, self.votes)
        return groups, np.array([self.k[n] for n in groups.n.tolist()])

    @cached_property
    def current(self) -> WeightSums:
        """The sums of the current items, with the standard error behind the interval."""
        rough, spa, (groups, weights) = self.after(0), self.spa, self.groups
        measured = max(float(spa.stderr or 0), standard_error(float(spa), groups, weights))
        error = steadied(float(spa), measured, groups, weights)
        return WeightSums(rough.weight, rough.squares, (error * rough.weight) ** 2)

    def after(self, n: int, scale: float = 1.0) -> WeightSums:
        """The predicted sums once all items have at least n annotations."""
        sums = WeightSums()
        for now, items in self.tally.items_by_n.items():
            then = max(now, n)
            if then > 1:
                sums = sums.plus(items, self.k[then], scale * self.variance(then))
        return sums

    @cached_property
    def scale(self) -> float:
        """The measured variance of the current items over the predicted one."""
        return self.current.noise / self.after(0).noise if self.tally.pairable_items else 1.0

    def lacking(self, n: int) -> tuple[int, int]:
        """How many items have fewer than n annotations, and how many annotations they lack."""
        short = {now: items for now, items in self.tally.items_by_n.items() if now < n}
        return sum(short.values()), sum(items * (n - now) for now, items in short.items())

    def width(self, sums: WeightSums) -> float:
        """Half the width of the interval."""
        return sums.half_width(float(self.spa), self.spa.level)

    @cached_property
    def reached(self) -> float:
        """Half the width of the current interval."""
        return self.width(self.current)

    @cached_property
    def spread_error(self) -> float:
        """How well the current items determine their variance, as a squared relative error: Σq²/(Σq)² − 1/I.

        q = (k (P − SPA))² are the terms of the variance, one per item.
        """
        groups, weights = self.groups
        terms = (weights * (groups.agreement - float(self.spa))) ** 2
        whole = float(groups.items @ terms)
        return max(0.0, float(groups.items @ terms**2) / whole**2 - 1 / groups.size) if whole else 0.0

    def range(self, after: WeightSums, n: int, items: int, share: float = 1.0) -> tuple[float, float]:
        """The range of half-widths a plan with ``items`` new items and n annotations each may end up with.

        It allows for agreement at either end of its interval, for a variance that is known only from the current items
        and will be estimated from the new ones (which make up ``share`` of the whole), and for a shape that is
        assumed.
        """
        value = float(self.spa)
        widths = [self.width(after)]
        for end in (self.spa.low, self.spa.high):
            if end is not None and 0 < end < 1:
                noise = after.noise * end * (1 - end) / (value * (1 - value))
                widths.append(replace(after, noise=noise).half_width(end, self.spa.level))
        error_now = self.spread_error if self.tally.pairable_items else 0.0
        again = error_now * self.tally.pairable_items / items if items else 0.0
        error = exp(NormalDist().inv_cdf((1 + self.spa.level) / 2) * share * sqrt(error_now + again) / 2)
        low, high = (PRIOR_LOW, PRIOR_HIGH) if self.assumed(n) else (1.0, 1.0)
        return low * min(*widths, widths[0] / error), min(WIDEST, high * max(*widths, widths[0] * error))

    def assumed(self, n: int) -> bool:
        """Whether Var(n) depends more on the usual shape than on these data."""

        def evidence(size: int) -> float:  # about ``size`` annotations of an item, in items
            return sum(items * (1 - 1 / (m - size + 2)) for m, items in self.tally.items_by_n.items() if m >= size)

        return any(n >= size and evidence(size) < PRIOR_ITEMS for size in (3, 4))

    def rows(self, target: float) -> Iterator[Row]:
        """All routes to one half-width, with the best row of each marked."""
        yield from cheapest([self._items(FRESH, WeightSums(), 0, target, n) for n in self.allowed])
        if self.tally.pairable_items:
            annotations = self.tally.annotations
            yield from cheapest([self._items(NEW_ITEMS, self.current, annotations, target, n) for n in self.allowed])
            yield from cheapest([self._same(target)])

    def _items(self, route: str, start: WeightSums, annotations: int, target: float, n: int) -> Row:
        """How many items, annotated n times each, to add to those at the start."""
        k, variance = self.k[n], self.variance(n)
        enough = start.weight > 0 and self.reached <= target
        items = 0 if enough else smallest(lambda size: self.width(start.plus(size, k, variance)) <= target)
        row = row_of(target, route, **_size(n, items, annotations, items * n), assumed=self.assumed(n))
        if items:
            after = start.plus(items, k, variance)
            row |= dict(zip(RANGE, self.range(after, n, items, 1 - start.noise / after.noise), strict=True))
        return row

    def _same(self, target: float) -> Row:
        """All items brought to n annotations, with the smallest sufficient n."""
        annotations = self.tally.annotations
        if self.reached <= target:
            return row_of(target, SAME_ITEMS, **_size(None, 0, annotations, 0), assumed=False)
        for n in self.allowed:
            after = self.after(n, self.scale)
            if self.width(after) <= target:
                items, more = self.lacking(n)
                row = row_of(target, SAME_ITEMS, **_size(n, items, annotations, more), assumed=self.assumed(n))
                return row | dict(zip(RANGE, self.range(after, n, 0), strict=True))
        least = WeightSums().plus(self.tally.items, 1.0, self.scale * self.variance(ENDLESS))
        reason = FLOOR if self.width(least) > target else TOO_FEW
        return row_of(target, SAME_ITEMS, assumed=self.assumed(self.allowed[-1]), undefined=reason)


def smallest(enough: Callable[[int], bool]) -> int:
    """The smallest whole number from 1 that is enough, given that all larger ones are.

    >>> smallest(lambda size: size * size >= 50)
    8
    """
    high = 1
    while not enough(high):
        high *= 2
    not_enough = high // 2
    return not_enough + 1 + bisect_left(range(not_enough + 1, high), x=True, key=enough)


COLUMNS = (
    "half_width", *RANGE, "route", "annotations_per_item", "items", "annotations", "more_annotations", "best",
    "assumed", "undefined"
)  # fmt: skip


def row_of(target: float, route: str | None = None, **about: Any) -> Row:
    """A row of a plan for a half-width, with every column."""
    return dict.fromkeys(COLUMNS) | {"half_width": target, "route": route, "best": False} | about


def _size(n: int | None, items: int, annotations: int, more: int) -> Row:
    return {"annotations_per_item": n, "items": items, "annotations": annotations + more, "more_annotations": more}


def cheapest(rows: list[Row]) -> list[Row]:
    """Mark the row that needs the fewest annotations; ties go to the fewest per item."""
    defined = [row for row in rows if row["undefined"] is None]
    best = min(defined, key=lambda row: row["more_annotations"], default=None)
    return [{**row, "best": row is best} for row in rows]


def table_of(rows: list[Row]) -> polars.DataFrame:
    """Rows as a table, each column with its type even if all values are unknown."""
    import polars

    kinds: dict[str, Any] = dict.fromkeys(("route", "undefined"), polars.String)
    kinds |= dict.fromkeys(("half_width", *RANGE, "require"), polars.Float64)
    kinds |= dict.fromkeys(("best", "assumed", "will_pass"), polars.Boolean)
    return polars.DataFrame(rows, schema={name: kinds.get(name, polars.Int64) for name in rows[0]})
