"""Standard error, interval and bootstrap of SPA over items (docs/mathematics.md §8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import comb, isfinite, sqrt
from typing import TypeVar

import numpy as np

from spagree.errors import UsageError, unknown_name
from spagree.estimate.intervals import score_limits, two_sided
from spagree.estimate.item_groups import ONE_CLUSTER, Clustered, ItemGroups, exact_mean, total
from spagree.grouping import Floats, numbered
from spagree.messages import opt

NOT_PAIRABLE = "no item has two annotations, so agreement cannot be measured"
ONE_ANNOTATOR = "only one annotator, so agreement cannot be measured"
ONE_ITEM = "only one item has two annotations, too few to show how items differ"
STEADY_ITEMS = 30  # up to this many equally weighted items, the implied variance counts in full
WILSON = "wilson"  # the default interval method
FEW_ITEMS = 10  # items or clusters: a figure based on fewer is marked and never used to compare people
REPLICATE_CHUNK = 4_000_000
ITEMS, ANNOTATORS = POPULATIONS = ("items", "annotators")  # whom an interval is for
AUTO = "auto"  # for other annotators where that interval exists, otherwise for items
INTERVALS_FOR = (AUTO, *POPULATIONS)
COVERS = {ITEMS: "these annotators on new items", ANNOTATORS: "other annotators like these, on new items"}


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval with its standard error, or the reason there is none."""

    stderr: float | None
    low: float | None
    high: float | None
    undefined: str | None = None

    def at_least(self, other: Interval) -> Interval:
        """Widened to hold another interval."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return self
        return replace(self, low=min(self.low, other.low), high=max(self.high, other.high))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its uncertainty, or the reason there is none.

    ``undefined`` is set exactly when something is None: the value itself, or only its interval. ``intervals`` has one
    interval for these annotators on new items ("items") and one for other annotators as well ("annotators");
    ``stderr``, ``low`` and ``high`` are those of ``interval_for``.

    >>> import spagree
    >>> spagree.measure([("q1", "ann", "yes"), ("q1", "bob", "yes")]).spa.undefined
    'only one item has two annotations, too few to show how items differ'
    """

    value: float | None
    stderr: float | None
    low: float | None
    high: float | None
    level: float
    weights: str
    method: str = WILSON
    undefined: str | None = None
    interval_for: str = ITEMS
    intervals: Mapping[str, Interval] = field(default_factory=dict)

    def __float__(self) -> float:
        """The value, for arithmetic; raises if it is undefined."""
        if self.value is None:
            raise TypeError(f"undefined: {self.undefined}")
        return self.value


E = TypeVar("E", bound=Estimate)


def check_interval_for(interval_for: str) -> None:
    """Refuse a misspelt name before any work is done."""
    if interval_for not in INTERVALS_FOR:
        raise unknown_name(opt.interval_for, str(interval_for), INTERVALS_FOR)


def leading(figure: E, intervals: Mapping[str, Interval], interval_for: str = AUTO) -> E:
    """A figure with its intervals, one of which it shows: that for other annotators where it exists, unless told.

    >>> plain = Estimate(0.5, None, None, None, 0.95, "flat")
    >>> both = {"items": Interval(0.1, 0.3, 0.7), "annotators": Interval(None, None, None, "too few people")}
    >>> leading(plain, both).interval_for, leading(plain, both, "annotators").undefined
    ('items', 'too few people')
    """
    others = intervals.get(ANNOTATORS)
    exists = others is not None and others.low is not None
    chosen = (ANNOTATORS if exists else ITEMS) if interval_for == AUTO else interval_for
    shown = intervals[chosen]
    return replace(
        figure,
        stderr=shown.stderr,
        low=shown.low,
        high=shown.high,
        undefined=shown.undefined,
        interval_for=chosen,
        intervals=intervals,
    )


def half_interval(interval: Estimate | Interval | None) -> float | None:
    """Half the width of the interval; None without one."""
    if interval is None or interval.low is None or interval.high is None:
        return None
    return (interval.high - interval.low) / 2


def undefined(reason: str, level: float, weights: str) -> Estimate:
    """A figure that does not exist, with the reason."""
    return Estimate(None, None, None, None, level, weights, undefined=reason)


def check_level(level: float) -> None:
    """Refuse an invalid confidence level."""
    if not (isinstance(level, int | float) and 0 < level < 1):
        raise UsageError(f"level {level!r}: a confidence level lies between 0 and 1, for example 0.95")


def estimate(
    value: float, groups: ItemGroups, weights: Floats, *, level: float, scheme: str, variance: float | None = None
) -> Estimate:
    """Attach standard error and Wilson interval to a weighted mean agreement; by default the linearised variance."""
    if groups.units < 2:
        reason = ONE_ITEM if groups.size < 2 else ONE_CLUSTER
        return Estimate(value, None, None, None, level, scheme, undefined=reason)
    stderr = standard_error(value, groups, weights) if variance is None else sqrt(variance)
    low, high = wilson(value, steadied(value, stderr, groups, weights), effective_items(groups, weights), level)
    return Estimate(value, stderr, low, high, level, scheme, intervals={ITEMS: Interval(stderr, low, high)})


def spa_estimate(
    groups: ItemGroups, by_n: Mapping[int, Fraction], *, level: float, scheme: str, variance: float | None = None
) -> Estimate:
    """SPA under the weights ``by_n``, exact, with its standard error and interval."""
    value, weights = exact_mean(groups, by_n), groups.weights(by_n)
    return estimate(value, groups, weights, level=level, scheme=scheme, variance=variance)


def standard_error(value: float, groups: ItemGroups, weights: Floats) -> float:
    """sqrt(G/(G−1) · Σ_g (Σ k(P − SPA))²) / Σ k, by linearisation; g is an item, or a cluster of them."""
    spread = total(groups.unit_sizes * groups.per_unit(weights * (groups.agreement - value)) ** 2)
    return sqrt(groups.units / (groups.units - 1) * spread) / total(groups.items * weights)


def steadied(value: float, stderr: float, groups: Clustered, weights: Floats) -> float:
    """The standard error behind the interval: with few items, not below what agreement ``value`` implies.

    If a handful of heavy items decide, they may be alike by chance; near perfect agreement they usually all agree.
    Their spread is then uninformative. The variance θ(1 − θ)·Σ k² r(n)/(Σk)² replaces it, and fades out as the number
    of items grows.
    """
    first, place = numbered(groups.n.astype(np.int64))
    relative = np.array([usual_variance(int(n), value) for n in groups.n[first]])[place]
    pair = groups.pair * value * (1 - value)
    implied = pair * total(groups.items * weights**2 * relative) / total(groups.items * weights) ** 2
    share = min(1.0, STEADY_ITEMS / effective_items(groups, weights))
    return sqrt(stderr**2 + share * max(0.0, implied - stderr**2))


def usual_variance(n: int, theta: float) -> float:
    """r(n), the variance of the agreement of an item over that of a single pair, at agreement θ; 0 below two.

    No item decides it: heavy items that all agree say nothing about how items differ. Near perfect agreement the
    items that differ are few and differ as wholes.

    >>> usual_variance(2, 0.9), round(usual_variance(50, 0.9), 2), round(usual_variance(50, 0.5), 2)
    (1.0, 0.41, 0.15)
    """
    if n < 2:
        return 0.0
    a, b = max(0.4, 0.55 * theta**2), theta**2 / 2
    return (1 + 2 * (n - 2) * a + comb(n - 2, 2) * b) / comb(n, 2)


def effective_items(groups: Clustered, weights: Floats) -> float:
    """(Σk)²/Σk²: how many equally weighted items, or clusters, would be as informative."""
    return total(groups.items * weights) ** 2 / total(groups.unit_sizes * groups.per_unit(weights) ** 2)


def wilson(
    value: float, stderr: float, effective: float, level: float, freedom: float | None = None
) -> tuple[float, float]:
    """Wilson's score interval on the effective sample size, with Student's t.

    Unlike value ± t·stderr it stays inside [0, 1] and has positive width at perfect agreement. The degrees of
    ``freedom`` of the standard error are the effective size − 1 by default; with none, the interval is [0, 1].

    >>> low, high = wilson(1.0, 0.0, 30, 0.95)
    >>> round(low, 3), high
    (0.878, 1.0)
    """
    t = two_sided(level, effective - 1 if freedom is None else freedom)
    size = value * (1 - value) / stderr**2 if stderr and 0 < value < 1 else effective
    shrink = t * t / size
    if not isfinite(shrink):
        return 0.0, 1.0
    low, high = score_limits(value, shrink)
    return 0.0 if value == 0 else max(0.0, float(low)), 1.0 if value == 1 else min(1.0, float(high))


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Resample items ``replicates`` times; the recorded seed makes it reproducible."""

    replicates: int
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.replicates, int) or self.replicates < 100:
            raise UsageError(f"bootstrap {self.replicates!r}: use at least 100 replicates, better 10,000")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise UsageError(f"seed {self.seed!r}: a seed is a whole number from 0 on")

    def refine(self, figure: Estimate, groups: ItemGroups, weights: Floats) -> Estimate:
        """Replace the interval and standard error by those of the replicates (percentiles)."""
        if figure.value is None or figure.undefined:
            return figure
        means = self.means(groups, weights)
        tail = (1 - figure.level) / 2
        low, high = np.quantile(means, [tail, 1 - tail])
        what = "items" if groups.cluster is None else "clusters"
        method = f"bootstrap of {what}, {self.replicates} replicates, seed {self.seed}"
        drawn = Interval(float(np.std(means, ddof=1)), float(low), float(high))
        return leading(replace(figure, method=method), {**figure.intervals, ITEMS: drawn}, figure.interval_for)

    def means(self, groups: ItemGroups, weights: Floats) -> Floats:
        """SPA of each replicate: items or clusters drawn with replacement, as a multinomial over identical ones."""
        random = np.random.default_rng(self.seed)
        share = groups.unit_sizes / groups.unit_sizes.sum()
        above, below = groups.per_unit(weights * groups.agreement), groups.per_unit(weights)
        chunk = max(1, REPLICATE_CHUNK // len(share))
        means = []
        for start in range(0, self.replicates, chunk):
            size = min(chunk, self.replicates - start)
            drawn = random.multinomial(groups.units, share, size=size)
            means.append(drawn @ above / (drawn @ below))
        return np.concatenate(means)
