"""How many annotations an interval of a given width takes, what a budget buys, and what a decision takes.

The agreement of an item with n annotations has variance Var(n), so I items have the standard error √(Var(n)/I): the
width of the interval is known before anything is annotated (docs/mathematics.md §10). Three routes lead to a narrower
one: a fresh data set, new items added to the existing ones, and more annotations of the same items. The interval is
the one for these annotators on new items; other annotators take more people, not more annotations.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from datetime import time as clock
from fractions import Fraction
from functools import cached_property, partial
from itertools import islice
from math import comb, exp, fsum, inf, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
import polars

from spagree.codes import Floats
from spagree.counts.tally import Tally
from spagree.errors import UsageError
from spagree.estimate.uncertainty import LEAST_FREEDOM, Estimate, half_interval, standard_error, steadied, wilson
from spagree.estimate.votes import ItemGroups, LabelCounts, item_groups, relative_weights
from spagree.estimate.weights import weigh_at
from spagree.options import CustomWeights
from spagree.read.timestamps import is_date, unix_seconds

FRESH, NEW_ITEMS, SAME_ITEMS = "fresh", "new_items", "same_items"
FINEST, WIDEST = 1e-6, 0.5
TARGETS = 4
USUAL_MOST, LARGEST_MOST = 10, 1_000
MOST_ITEMS = 10**9
ENDLESS = 10**9  # annotations of an item: only the variance between items remains
DAY = 86_400

# The shape of the variance is shrunk towards what is usual with the weight of fifty items, whatever their number of
# annotations: a calibration set of five items that everybody labelled is still five items.
PRIOR_ITEMS = 50.0
# Realised over promised half-widths if the shape is assumed, not estimated: nine of ten real data sets lie in between
# (docs/studies/planning.md).
PRIOR_LOW, PRIOR_HIGH = 0.80, 1.20

NO_SPREAD = "all items agree equally, so the data cannot say how many are needed to see how they differ"
FLOOR = "not reachable, because items differ and further annotations of the same items do not change that"
TOO_FEW = "not reachable with as few annotations per item; allow more of them, or annotate new items"
SAME_AS_REQUIRED = "agreement is just what is required: no number of annotations can be counted on to decide it"
NOT_DECIDABLE = "more than a billion items; agreement is too close to what is required"
TOO_SMALL = "the budget does not pay for the annotations of one item"

Row = dict[str, Any]
RANGE = ("half_width_low", "half_width_high")
COLUMNS = (
    "half_width", *RANGE, "route", "annotations_per_item", "items", "annotations", "more_annotations", "best",
    "assumed", "undefined"
)  # fmt: skip
Agreeing = tuple[int, int, float, float, float]
"""Items, n, and sums over ordered pairs and triples of an item's annotations: Σs, Σs², Σs·s of pairs sharing one."""


def plan_for(
    tally: Tally,
    weights: str | CustomWeights,
    similar: Callable[[], LabelCounts | None],
    spa: Estimate,
    *,
    most: int | None = None,
    **wanted: Any,
) -> polars.DataFrame:
    """A plan for one of ``half_width``, ``budget`` or ``require``; by default for the next round half-widths.

    ``spa`` has the interval over items; ``similar`` gives the votes under a metric with partial credit.
    """
    goal, allowed = _goal(wanted), allowed_per_item(tally, weights, most)
    reason = spa.undefined or (None if spa.stderr else NO_SPREAD)
    if reason and ("budget" in goal or "require" in goal):
        return table_of([{**goal, "undefined": reason}])
    targets = [goal["half_width"]] if "half_width" in goal else round_targets(half_interval(spa) or WIDEST)
    if reason:
        return table_of([row_of(target) | {"undefined": reason} for target in targets])
    return _answered(Project(tally, weights, spa, similar(), allowed), goal, targets)


def plan_expected(
    agreement: float, classes: int | None = None, *, level: float = 0.95, most: int | None = None, **wanted: Any
) -> polars.DataFrame:
    """A plan for a project that has not started: ``half_width``, ``budget`` or ``require`` at an expected agreement.

    >>> rows = plan_expected(0.7, half_width=0.03).filter("best")
    >>> rows.select("route", "annotations_per_item", "items", "more_annotations").rows()
    [('fresh', 4, 375, 1500)]
    """
    check_share("agreement", agreement)
    if classes is not None and (classes < 2 or agreement < 1 / classes):
        raise UsageError(
            f"agreement {agreement} with {classes} classes: labels picked blindly would agree more often; expect more"
        )
    goal = _goal(wanted) or {"half_width": 0.05}
    project = assumed(agreement, level, allowed_per_item(Tally(), "annotations_m1", most))
    return _answered(project, goal, [goal.get("half_width", WIDEST)])


def assumed(agreement: float, level: float, allowed: Sequence[int]) -> Project:
    """A project that has not started, with an assumed agreement."""
    spread = sqrt(agreement * (1 - agreement))
    spa = Estimate(agreement, spread, None, None, level, "annotations_m1")
    return Project(Tally(), "annotations_m1", spa, None, allowed)


def check_share(name: str, value: float) -> None:
    """Refuse anything but a probability."""
    if not (isinstance(value, int | float) and 0 < value < 1):
        raise UsageError(f"{name} {value!r}: a probability of agreement lies between 0 and 1, for example 0.7")


def _goal(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The one goal of the plan; refuses an invalid half-width, budget or agreement."""
    goal = {name: value for name, value in wanted.items() if value is not None}
    if len(goal) > 1:
        raise UsageError(f"{' and '.join(goal)}: ask for one of them at a time")
    half_width = goal.get("half_width", FINEST)
    if not (isinstance(half_width, int | float) and FINEST <= half_width < WIDEST):
        raise UsageError(f"half_width {half_width!r}: half the width of an interval, below 0.5; for example 0.02")
    budget = goal.get("budget", 1)
    if not (isinstance(budget, int) and budget > 0):
        raise UsageError(f"budget {budget!r}: how many more annotations can be made, a whole number from 1 on")
    if "require" in goal:
        check_share("require", goal["require"])
    return goal


def _answered(project: Project, goal: Mapping[str, Any], targets: Sequence[float]) -> polars.DataFrame:
    if "budget" in goal:
        return table_of(spend(project, goal["budget"]))
    if "require" in goal:
        return table_of(decide(project, goal["require"]))
    return table_of([row for target in targets for row in project.rows(target)])


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


@dataclass(frozen=True, slots=True)
class WeightSums:
    """Σk, Σk² and Σk²·Var over items: all that determines the width of their interval."""

    items: int = 0
    weight: float = 0.0
    squares: float = 0.0
    noise: float = 0.0

    def plus(self, items: int, k: float, variance: float) -> WeightSums:
        """The same with more items of weight k."""
        squares = items * k * k
        more = self.items + items, self.weight + items * k, self.squares + squares, self.noise + squares * variance
        return WeightSums(*more)

    def interval(self, spa: float, level: float) -> tuple[float, float]:
        """The interval of such items, built like SPA's."""
        effective = self.weight**2 / self.squares
        freedom = max(effective - 1, min(LEAST_FREEDOM, self.items - 1))
        return wilson(spa, sqrt(self.noise) / self.weight, effective, level, freedom)

    def half_width(self, spa: float, level: float) -> float:
        """Half the width of the interval."""
        low, high = self.interval(spa, level)
        return (high - low) / 2


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
    def shape(self) -> Shape:
        """The shape to plan with."""
        return item_shape(self.tally, float(self.spa), self.votes)

    def variance(self, n: int) -> float:
        """Var(n) of the agreement of an item with n annotations."""
        return float(self.spa) * (1 - float(self.spa)) * self.shape.variance(n)

    @cached_property
    def groups(self) -> tuple[ItemGroups, Floats]:
        """The pairable items, and the weight of an item of each group."""
        groups = item_groups(self.tally, self.votes)
        return groups, np.array([self.k[n] for n in groups.n.tolist()])

    @cached_property
    def current(self) -> WeightSums:
        """The sums of the current items, with the standard error behind the interval."""
        rough, spa, (groups, weights) = self.after(0), self.spa, self.groups
        measured = max(float(spa.stderr or 0), standard_error(float(spa), groups, weights))
        error = steadied(float(spa), measured, groups, weights)
        return replace(rough, noise=(error * rough.weight) ** 2)

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

    def range(self, after: WeightSums, n: int, items: int, share: float = 1.0) -> tuple[float, float]:
        """The range of half-widths a plan with ``items`` new items and n annotations each may end up with.

        It allows for agreement at either end of its interval, for a variance that is known only from the current items
        and will be estimated from the new ones (which make up ``share`` of the whole), and for a shape that is
        assumed. How well the current items determine their variance, as a squared relative error, is Σq²/(Σq)² − 1/I
        with q = (k (P − SPA))² of each.
        """
        value, current = float(self.spa), self.tally.pairable_items
        widths = [self.width(after)]
        for end in (self.spa.low, self.spa.high):
            if end is not None and 0 < end < 1:
                noise = after.noise * end * (1 - end) / (value * (1 - value))
                widths.append(replace(after, noise=noise).half_width(end, self.spa.level))
        error_now = 0.0
        if current:
            groups, weights = self.groups
            terms = (weights * (groups.agreement - value)) ** 2
            whole = float(groups.items @ terms)
            error_now = max(0.0, float(groups.items @ terms**2) / whole**2 - 1 / groups.size) if whole else 0.0
        again = error_now * current / items if items else 0.0
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
            now, annotations = self.current, self.tally.annotations
            yield from cheapest([self._items(NEW_ITEMS, now, annotations, target, n) for n in self.allowed])
            yield from cheapest([self._same(target)])

    def _items(self, route: str, start: WeightSums, annotations: int, target: float, n: int) -> Row:
        """How many items, annotated n times each, to add to those at the start."""
        k, variance = self.k[n], self.variance(n)
        enough = start.weight > 0 and self.width(self.current) <= target
        items = 0 if enough else smallest(lambda size: self.width(start.plus(size, k, variance)) <= target)
        row = row_of(target, route, n, items, annotations, items * n) | {"assumed": self.assumed(n)}
        if items:
            after = start.plus(items, k, variance)
            row |= dict(zip(RANGE, self.range(after, n, items, 1 - start.noise / after.noise), strict=True))
        return row

    def _same(self, target: float) -> Row:
        """All items brought to n annotations, with the smallest sufficient n."""
        annotations = self.tally.annotations
        if self.width(self.current) <= target:
            return row_of(target, SAME_ITEMS, None, 0, annotations, 0) | {"assumed": False}
        for n in self.allowed:
            after = self.after(n, self.scale)
            if self.width(after) <= target:
                items, more = self.lacking(n)
                row = row_of(target, SAME_ITEMS, n, items, annotations, more) | {"assumed": self.assumed(n)}
                return row | dict(zip(RANGE, self.range(after, n, 0), strict=True))
        least = WeightSums().plus(self.tally.items, 1.0, self.scale * self.variance(ENDLESS))
        reason = FLOOR if self.width(least) > target else TOO_FEW
        return row_of(target, SAME_ITEMS) | {"assumed": self.assumed(self.allowed[-1]), "undefined": reason}


def smallest(enough: Callable[[int], bool]) -> int:
    """The smallest whole number from 1 that is enough, given that all larger ones are."""
    high = 1
    while not enough(high):
        high *= 2
    not_enough = high // 2
    return not_enough + 1 + bisect_left(range(not_enough + 1, high), x=True, key=enough)


def spend(project: Project, budget: int) -> list[Row]:
    """The half-width that ``budget`` more annotations buy, for each route and number of annotations per item."""
    starts = {FRESH: WeightSums()} | ({NEW_ITEMS: project.current} if project.tally.pairable_items else {})
    bought: list[tuple[str, int, int, int, WeightSums]] = []
    for n in project.allowed:
        items = budget // n
        for route, start in starts.items():
            bought.append((route, n, items, items * n, start.plus(items, project.k[n], project.variance(n))))
    for n in project.allowed:
        items, cost = project.lacking(n)
        if 0 < cost <= budget:
            bought.append((SAME_ITEMS, n, items, cost, project.after(n, project.scale)))
    rows, best = [], dict[str, Row]()
    for route, n, items, more, after in bought:
        row: Row = {"route": route, "annotations_per_item": n, "items": items, "more_annotations": more}
        row |= {"assumed": project.assumed(n)} | dict.fromkeys(("half_width", *RANGE)) | {"undefined": TOO_SMALL}
        if more:
            share = 1 - (starts[route].noise if route == NEW_ITEMS else 0.0) / after.noise
            ends = project.range(after, n, 0 if route == SAME_ITEMS else items, share)
            row |= {"half_width": project.width(after), "undefined": None} | dict(zip(RANGE, ends, strict=True))
            if route not in best or row["half_width"] < best[route]["half_width"]:
                best[route] = row
        rows.append(row)
    rows = [row for row in rows if row["undefined"] is None or row["route"] not in best]
    return [{**row, "best": row is best.get(row["route"])} for row in rows]


def decide(project: Project, require: float) -> list[Row]:
    """How many more annotations until the interval lies on one side of ``require``, if agreement stays the same."""
    value, start = float(project.spa), project.current if project.tally.pairable_items else WeightSums()

    def is_decided(n: int, items: int) -> bool:
        after = start.plus(items, project.k[n], project.variance(n))
        low, high = after.interval(value, project.spa.level)
        return low >= require or high < require

    rows = []
    for n in project.allowed:
        row: Row = {"require": require, "route": NEW_ITEMS if start.weight else FRESH, "annotations_per_item": n}
        row |= {"will_pass": value > require, "assumed": project.assumed(n), "best": False}
        now, reason = start.weight > 0 and is_decided(n, 0), None
        if value == require or not (now or is_decided(n, MOST_ITEMS)):
            reason = SAME_AS_REQUIRED if value == require else NOT_DECIDABLE
        items = None if reason else 0 if now else smallest(partial(is_decided, n))
        more = None if items is None else items * n
        rows.append(row | {"items": items, "more_annotations": more, "undefined": reason})
    return cheapest(rows)


def row_of(
    target: float,
    route: str | None = None,
    n: int | None = None,
    items: int | None = None,
    annotations: int = 0,
    more: int | None = None,
) -> Row:
    """A row of a plan for a half-width, with every column; ``annotations`` are those that exist already."""
    row = dict.fromkeys(COLUMNS) | {"half_width": target, "route": route, "best": False}
    row |= {"annotations_per_item": n, "items": items, "more_annotations": more}
    return row | {"annotations": None if more is None else annotations + more}


def cheapest(rows: list[Row]) -> list[Row]:
    """Mark the row that needs the fewest annotations; ties go to the fewest per item."""
    defined = [row for row in rows if row["undefined"] is None]
    best = min(defined, key=lambda row: row["more_annotations"], default=None)
    return [{**row, "best": row is best} for row in rows]


def table_of(rows: list[Row]) -> polars.DataFrame:
    """Rows as a table, each column with its type even if all values are unknown."""
    kinds: dict[str, Any] = dict.fromkeys(("route", "undefined"), polars.String)
    kinds |= dict.fromkeys(("half_width", *RANGE, "require"), polars.Float64)
    kinds |= dict.fromkeys(("best", "assumed", "will_pass"), polars.Boolean)
    return polars.DataFrame(rows, schema={name: kinds.get(name, polars.Int64) for name in rows[0]})


@dataclass(frozen=True, slots=True)
class Shape:
    """How the agreement of an item varies, in units of θ(1 − θ), the variance of one pair of nominal labels."""

    a: float
    """Covariance of two pairs that share an annotation: (t3 − θ²)/(θ − θ²)."""
    b: float
    """Covariance of two pairs that share none, the variance between items: (m2 − θ²)/(θ − θ²)."""
    pair: float = 1.0
    """Variance of a pair; below 1 under a metric with partial agreement."""

    def variance(self, n: int) -> float:
        """Var(n)/(θ − θ²); no covariance exceeds the variance of a pair."""
        a, b = min(self.a, self.pair), min(self.b, self.pair)
        return (self.pair + 2 * (n - 2) * a + comb(n - 2, 2) * b) / comb(n, 2)


def item_shape(tally: Tally, theta: float, votes: LabelCounts | None = None) -> Shape:
    """The shape of items with agreement θ, 0 ≤ b ≤ a ≤ 1; ``votes`` holds the votes under a metric."""
    prior = Shape(0.05 + 0.42 * theta, 0.25 * theta**2)  # typical of real data (docs/studies/planning.md)
    items = _agreeing(tally, votes)
    pairable = [(size, n, pairs) for size, n, pairs, *_ in items if n > 1]
    agreeing: dict[int, int | Fraction] = {}  # few distinct n: fractions only at the end
    for size, n, pairs in pairable:
        agreeing[n] = agreeing.get(n, 0) + size * (pairs if isinstance(pairs, int) else Fraction(pairs))
    above = sum((Fraction(pairs) / n for n, pairs in agreeing.items()), Fraction())
    theta = float(above / sum(size * (n - 1) for size, n, _ in pairable)) if pairable else 0.0
    spread = theta * (1 - theta)
    if not spread:
        return prior
    # t3 of each item with n ≥ 3 and m2 of each with n ≥ 4, unbiased, weighted by 1 − 1/(n − 1) and 1 − 1/(n − 2)
    t3 = [(m * (n - 2) / (n - 1), triples / (n * (n - 1) * (n - 2))) for m, n, _, _, triples in items if n > 2]
    # (A² − 2B − 4T) / n(n−1)(n−2)(n−3): all ordered pairs of pairs, less the same pair and those that share one
    m2 = [
        (m * (n - 3) / (n - 2), (pairs * pairs - 2 * squares - 4 * triples) / (4 * comb(n, 2) * comb(n - 2, 2)))
        for m, n, pairs, squares, triples in items
        if n > 3
    ]
    pair = 1.0  # Var(s) of one pair over the spread, with the weights of annotations_m1: the prior is relative to it
    if votes:
        squared = fsum(m * squares / n for m, n, _, squares, _ in items if n > 1)
        pair = (squared / fsum(m * (n - 1) for m, n, *_ in items if n > 1) - theta * theta) / spread
    a = min(max(_shrunk(t3, theta, spread, prior.a * pair), 0.0), 1.0)
    b = _shrunk(m2, theta, spread, prior.b * pair)
    return Shape(a, min(max(b, 0.0), a), pair)


def _agreeing(tally: Tally, votes: LabelCounts | None) -> list[Agreeing]:
    """From the cells, or from the votes: ``first`` and ``second`` sum s and s² over an annotation's others."""
    if votes is None:
        return [(items, n, pairs, pairs, triples) for (n, pairs, triples), items in tally.cells.items()]
    votes = votes.pairable()
    matrix = votes.similarity
    first = votes.smoothed(votes.count, matrix) - 1
    second = votes.smoothed(votes.count, None if matrix is None else matrix**2) - 1
    pairs, squares = votes.per_group(votes.count * first), votes.per_group(votes.count * second)
    triples = votes.per_group(votes.count * (first**2 - second))
    columns = (votes.items.astype(int).tolist(), votes.n.astype(int).tolist(), pairs, squares, triples)
    return list(zip(*columns, strict=True))


def _shrunk(terms: list[tuple[float, float]], theta: float, spread: float, prior: float) -> float:
    """Pool (weight, probability) over the items and shrink the coordinate towards its prior."""
    weight = fsum(w for w, _ in terms)
    pooled = fsum(w * (probability - theta * theta) for w, probability in terms) / spread
    return (pooled + PRIOR_ITEMS * prior) / (weight + PRIOR_ITEMS)


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast annotations arrive, over the later half of the project."""

    per_day: float
    last: datetime

    def done(self, more: int) -> datetime | None:
        """When ``more`` further annotations will be in; None beyond the calendar.

        >>> Pace(100.0, datetime(2026, 1, 1, tzinfo=UTC)).done(250).isoformat()
        '2026-01-03T12:00:00+00:00'
        """
        end = self.last.timestamp() + more / self.per_day * DAY
        return datetime.fromtimestamp(end, UTC) if end < datetime.max.replace(tzinfo=UTC).timestamp() else None


def pace(rows: Sequence[Mapping[str, Any]]) -> Pace | None:
    """From a development's rows (``time``, ``annotations`` so far); None if times are not dates or are all equal."""
    moments = [(_seconds(row["time"]), row["annotations"]) for row in rows]
    dated = [(time, annotations) for time, annotations in moments if time is not None]
    if len(dated) < 2 or dated[-1][0] <= dated[0][0]:
        return None
    middle = dated[len(dated) // 2 - 1] if len(dated) > 3 else dated[0]
    seconds = dated[-1][0] - middle[0]
    rate = (dated[-1][1] - middle[1]) / seconds * DAY if seconds > 0 else inf
    return Pace(rate, datetime.fromtimestamp(dated[-1][0], UTC)) if 0 < rate < inf else None


def _seconds(time: Any) -> float | None:
    """Seconds since 1970, from a date or from a number of seconds or milliseconds that can only be a date."""
    if isinstance(time, date):
        return unix_seconds(time if isinstance(time, datetime) else datetime.combine(time, clock()))
    if isinstance(time, int | float) and not isinstance(time, bool):
        return next((seconds for seconds in (float(time), time / 1000) if is_date(seconds)), None)
    return None
