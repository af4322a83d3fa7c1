"""Standard error, interval and bootstrap of SPA over items, and many intervals at once (docs/mathematics.md §8).

Every interval needs a quantile of Student's t, which is computed here because importing scipy takes longer than a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from math import inf, pi, sqrt
from statistics import NormalDist
from typing import TypeVar

import numpy as np

from spagree.codes import Floats, Ints
from spagree.errors import UsageError, opt, unknown_name
from spagree.estimate.votes import Clustered, ItemGroups, total

MOST_FREEDOM = 1e12  # the quantile is the normal one


@lru_cache(maxsize=1024)
def two_sided(level: float, freedom: float) -> float:
    """The t for which a probability of ``level`` lies between −t and t; infinite without degrees of freedom."""
    return float(two_sided_each(level, np.array([freedom]))[0]) if freedom > 0 else inf


def two_sided_each(level: float, freedom: Floats) -> Floats:
    """The t of each; NaN without degrees of freedom (G. W. Hill, Algorithm 396, Communications of the ACM 13, 1970).

    Hill is right to 4e-4 from two degrees of freedom on, and to 1e-5 from three on. His d = n·B(n/2, 1/2)/2 is a series
    in 1/n: taken at n + 4 and brought back to n, any level from 0.8 on is right to 4e-5 at any degrees of freedom.
    """
    n = np.minimum(np.where(np.asarray(freedom) > 0, freedom, np.nan), MOST_FREEDOM)
    outside, x = 1 - level, NormalDist().inv_cdf((1 - level) / 2)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        a, b, c, _ = _hills_series(n)
        d = _hills_series(n + 4)[3] * (n + 1) * (n + 3) / ((n + 2) * (n + 4))
        y = (d * outside) ** (2 / n)
        c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c + np.where(n < 5, 0.3 * (n - 4.5) * (x + 0.6), 0)
        z = (((((0.4 * x**2 + 6.3) * x**2 + 36) * x**2 + 94.5) / c - x**2 - 3) / b + 1) * x
        tail = (1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1
        tail = tail * (n + 1) / (n + 2) + 1 / y
        t = np.sqrt(n * np.where((n > 0.5) & (y > 0.05 + a), np.expm1(a * z**2), tail))
    t = np.where(n == 1, 1 / np.tan(outside * pi / 2), t)
    return np.asarray(np.where(n == 2, np.sqrt(2 / (outside * (2 - outside)) - 2), t))


def _hills_series(n: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """His a, b, c and d for n degrees of freedom."""
    a = 1 / (n - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    return a, b, c, ((94.5 / (b + c) - 3) / b + 1) * np.sqrt(a * pi / 2) * n


Number = TypeVar("Number", float, Floats)
FEW_SEEN = (0.75, 3.0)  # units that differ: from one of four, 3/4 in effective ones, to three
AT_THE_END = 1e-9  # anything closer to the lowest or highest possible value, or to no error, is rounding


def kappa_limits(
    value: Floats,
    stderr: Floats,
    room: Floats,
    most: Floats,
    informative: Floats,
    level: float,
    freedom: Floats,
    size: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Wilson's limits on the scale from the lowest possible kappa, 1 − most/room, to 1.

    ``room`` is 1 − P_e, ``most`` how often two annotations of an item can differ. ``informative`` is how many equally
    informative items of two annotations would say as much: with a rare label, the few that carry it decide. If hardly
    any of them agree, that is alike by chance and their spread says little. At place s of the scale the variance is
    raised towards s(1 − s)(2 − s)²/2m, which it is for two labels, one of them rare. ``size`` are the items, or the
    clusters, behind a kappa at an end of the scale.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        lowest = np.minimum(1 - most / room, value)
        scale = 1 - lowest
        place = (value - lowest) / scale
        place = np.where(place < AT_THE_END, 0.0, np.where(place > 1 - AT_THE_END, 1.0, place))
        spread, share = place * (1 - place), 2 / (2 - place) ** 2
        error = raised(stderr / scale, spread / (share * informative), spread * informative)
        at_an_end = np.minimum(1.0, share) * (informative if size is None else size)
        t = two_sided_each(level, freedom)
        low, high = score_limits(place, t * t / np.where(spread > 0, spread / error**2, at_an_end))
    return lowest + scale * low, lowest + scale * high


def fisher_limits(value: Floats, stderr: Floats, freedom: Floats, level: float) -> tuple[Floats, Floats]:
    """tanh(atanh κ ± t·se/(1 − κ²)): a kappa under a metric, whose lowest possible value is not known.

    NaN without degrees of freedom, and where all items say the same (no error, or a kappa of ±1).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        known = (stderr > AT_THE_END) & (np.abs(value) < 1 - AT_THE_END)
        reach = np.where(known, two_sided_each(level, freedom) * stderr / (1 - value**2), np.nan)
        centre = np.arctanh(np.where(known, value, np.nan))
    return np.tanh(centre - reach), np.tanh(centre + reach)


def below_chance(apart: Floats | float, annotations: Floats | float) -> Floats:
    """−q/(1 − q): the kappa of two who never give the rarer of two labels together, each giving it with share q.

    ``apart`` is how many of the ``annotations`` are outside the commonest label; q is an upper limit of their share, at
    most one half. It is a heuristic: nearly the one-sided 95% limit of a count (3, the rule of three, where there is
    none), though the interval is two-sided. Where no item has two annotations with a rarer label kappa may be as low:
    with so few of them, that two met would not have been seen.
    """
    share = np.minimum(0.5, (apart + 1.5 + np.sqrt(3 * (np.asarray(apart) + 0.75))) / annotations)
    return np.asarray(-share / (1 - share))


def score_limits(value: Floats, shrink: Floats) -> tuple[Floats, Floats]:
    """Wilson's limits: both p with (value − p)² = shrink·p(1 − p); shrink is t²/size, and NaN if there are none."""
    with np.errstate(invalid="ignore"):
        centre = (value + shrink / 2) / (1 + shrink)
        half = np.sqrt(shrink * (value * (1 - value) + shrink / 4)) / (1 + shrink)
    unknown, missing = np.isinf(shrink), np.isnan(shrink)
    low = np.where((value == 0) | unknown, 0.0, np.maximum(0.0, centre - half))
    high = np.where((value == 1) | unknown, 1.0, np.minimum(1.0, centre + half))
    return np.where(missing, np.nan, low), np.where(missing, np.nan, high)


def wilson_each(
    value: Floats, stderr: Floats, effective: Floats, level: float, freedom: Floats | None = None
) -> tuple[Floats, Floats]:
    """The limits of each figure, as from :func:`spagree.estimate.uncertainty.wilson`; NaN without a stderr.

    Where one to three units differ, or agree, Wilson's limit is too close to them, and that of a count is taken
    (Brown, Cai and DasGupta 2001).
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        t = two_sided_each(level, effective - 1 if freedom is None else freedom)
        known = (stderr > 0) & (value > 0) & (value < 1)
        size = np.where(np.isnan(stderr), np.nan, np.where(known, value * (1 - value) / stderr**2, effective))
        low, high = score_limits(value, t * t / size)
        agree, differ = (few_expected(part * size, level) / size for part in (value, 1 - value))
    return np.where(agree < low, agree, low), np.where(1 - differ > high, 1 - differ, high)


def few_expected(seen: Floats, level: float) -> Floats:
    """The one-sided lower limit of an expected count of which one to three were seen; NaN for any other number.

    It is half the quantile of χ² with 2·seen degrees of freedom, by Wilson and Hilferty's (1931) cube root.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        root = 1 - 1 / (9 * seen) + NormalDist().inv_cdf(1 - level) / (3 * np.sqrt(seen))
    fewest, most = FEW_SEEN
    return np.where((seen < fewest) | (seen > most), np.nan, seen * np.maximum(0.0, root) ** 3)


def deviations(left_out: Floats, count: Floats | None = None) -> tuple[float, Floats]:
    """The jackknife: the mean of the values with one unit left out, and √((m − 1)/m)·(x − mean) of each.

    The squared deviations sum to the variance; ``count`` says how many units share a value.
    """
    size = float(len(left_out)) if count is None else total(count)
    mean = float(left_out.mean()) if count is None else total(count * left_out) / size
    return mean, sqrt((size - 1) / size) * (left_out - mean)


def effective_number(sizes: Floats) -> float:
    """(Σx)²/Σx²: how many of equal size would be as informative."""
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def mean_error(size: Floats, squares: Floats) -> Floats:
    """Standard error of a mean of ``size`` values from Σ(x − mean)²; NaN for fewer than two."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(size > 1, np.sqrt(squares / (size - 1) / size), np.nan)


NOT_PAIRABLE = "no item has two annotations, so agreement cannot be measured"
ONE_ANNOTATOR = "only one annotator, so agreement cannot be measured"
ONE_ITEM = "only one item has two annotations, too few to show how items differ"
STEADY_ITEMS = 30  # up to this many equally weighted items, at agreement 1/2, the implied variance counts in full
LEAST_FREEDOM = 2.0  # degrees of freedom where one heavy item decides: the implied variance does not rest on it
WILSON = "wilson"  # the default interval method
FEW_ITEMS = 10  # items or clusters: a figure based on fewer is marked and never used to compare people
FEW_FOR_METRIC = f"fewer than {FEW_ITEMS} items, too few for an interval under a metric"
ALL_ALIKE = "leaving out any one item does not change it: how far it may be off cannot be seen"
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
    """A figure with its intervals, one of which it shows: that for other annotators where it exists, unless told."""
    others = intervals.get(ANNOTATORS)
    exists = others is not None and others.low is not None
    chosen = (ANNOTATORS if exists else ITEMS) if interval_for == AUTO else interval_for
    shown = {name: getattr(intervals[chosen], name) for name in ("stderr", "low", "high", "undefined")}
    return replace(figure, **shown, interval_for=chosen, intervals=intervals)


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


def standard_error(value: float, groups: ItemGroups, weights: Floats) -> float:
    """sqrt(G/(G−1) · Σ_g (Σ k(P − SPA))²) / Σ k, by linearisation; g is an item, or a cluster of them."""
    spread = total(groups.unit_sizes * groups.per_unit(weights * (groups.agreement - value)) ** 2)
    return sqrt(groups.units / (groups.units - 1) * spread) / total(groups.items * weights)


def steadied(value: float, stderr: float, groups: Clustered, weights: Floats) -> float:
    """The standard error behind the interval: with few items, not below what agreement ``value`` implies.

    If a handful of heavy items decide, they may be alike by chance; near perfect agreement they usually all agree.
    Their spread is then uninformative. The variance θ(1 − θ)·Σ k² r(n)/(Σk)² replaces it, and fades out as the number
    of items grows: more slowly the closer agreement is to perfect, because few items then show how they differ.
    """
    relative = usual_variance(groups.n, value)
    spread = value * (1 - value)
    implied = groups.pair * spread * total(groups.items * weights**2 * relative) / total(groups.items * weights) ** 2
    return float(raised(stderr, implied, spread * effective_items(groups, weights)))


def raised(error: Number, implied: Number, differing: Number) -> Floats:
    """An error raised towards an implied variance: in full if few units are ``differing``, m·p(1 − p) of them."""
    share = STEADY_ITEMS / np.maximum(STEADY_ITEMS, 4 * differing)
    return np.asarray(np.sqrt(error**2 + share * np.maximum(0.0, implied - error**2)))


def usual_variance(n: Floats | Ints, theta: float) -> Floats:
    """r(n), the variance of the agreement of an item over that of a single pair, at agreement θ; 0 below two.

    No item decides it: heavy items that all agree say nothing about how items differ. Near perfect agreement the
    items that differ are few and differ as wholes.

    >>> usual_variance(np.array([1, 2, 50]), 0.9).round(2)
    array([0.  , 1.  , 0.28])
    """
    a, b, many = max(0.4, 0.55 * theta**2), theta**2 / 3, np.maximum(2.0, n)
    relative = (1 + 2 * (many - 2) * a + (many - 2) * (many - 3) / 2 * b) / (many * (many - 1) / 2)
    return np.asarray(np.where(n < 2, 0.0, relative))


def effective_items(groups: Clustered, weights: Floats) -> float:
    """(Σk)²/Σk²: how many equally weighted items, or clusters, would be as informative."""
    return total(groups.items * weights) ** 2 / total(groups.unit_sizes * groups.per_unit(weights) ** 2)


def item_freedom(groups: Clustered, effective: float) -> float:
    """The degrees of freedom of a variance over so many effective items or clusters: one less than these."""
    return effective - 1 if groups.clusters else max(effective - 1, min(LEAST_FREEDOM, groups.units - 1))


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
    free = effective - 1 if freedom is None else freedom
    point, error, size, degrees = np.array([[value], [stderr], [effective], [free]], dtype=np.float64)
    low, high = wilson_each(point, error, size, level, degrees)
    return (float(low[0]), float(high[0])) if free > 0 else (0.0, 1.0)


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

    def refine(
        self, figure: Estimate, groups: ItemGroups, by_n: Mapping[int, Fraction], interval_for: str = AUTO
    ) -> Estimate:
        """Replace the interval and standard error by those of the replicates (percentiles)."""
        if figure.value is None or figure.undefined:
            return figure
        means = self.means(groups, groups.weights(by_n))
        tail = (1 - figure.level) / 2
        low, high = np.quantile(means, [tail, 1 - tail])
        what = "items" if groups.cluster is None else "clusters"
        method = f"bootstrap of {what}, {self.replicates} replicates, seed {self.seed}"
        drawn = Interval(float(np.std(means, ddof=1)), float(low), float(high))
        return leading(replace(figure, method=method), {**figure.intervals, ITEMS: drawn}, interval_for)

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
