"""Tally → Findings: every figure once, frozen, in full precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from spagree.estimate.adaptive import Shape, cautious_shape
from spagree.estimate.cautions import cautions, has_one_annotator, near_chance
from spagree.estimate.chance import Corrected, chance
from spagree.estimate.item_groups import ItemGroups, exact_mean
from spagree.estimate.label_counts import item_groups_of, similar_votes
from spagree.estimate.missingness import Missingness, missingness
from spagree.estimate.similarity import NOMINAL, Metric
from spagree.estimate.uncertainty import (
    NOT_PAIRABLE,
    ONE_ANNOTATOR,
    Bootstrap,
    Estimate,
    check_level,
    estimate,
    undefined,
)
from spagree.estimate.weights import DEFAULT, REGISTRY, Weights, check_scheme, weigh
from spagree.options import CustomWeights
from spagree.tally.tally import Tally
from spagree.understood import Caution


@dataclass(frozen=True, slots=True)
class PerItem:
    """Annotations per item: minimum, median and maximum."""

    min: int
    median: float
    max: int


@dataclass(frozen=True, slots=True)
class Data:
    """The counts; ``annotators`` is None if the source does not name annotators."""

    items: int
    annotations: int
    annotators: int | None
    classes: int
    pairable_items: int
    unpairable_items: int
    pairable_annotations: int
    annotations_per_item: PerItem | None
    labels: Mapping[str, int]
    left_out: Mapping[str, int]
    clusters: int | None = None
    """Clusters of dependent items; None if no cluster column was named."""
    cluster: str | None = None
    """The column of the clusters."""


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that was estimated from one tally."""

    data: Data
    spa: Estimate
    schemes: Mapping[str, Estimate]
    weights: Mapping[str, Weights]
    missingness: Missingness
    chance: Mapping[str, Corrected]
    warnings: tuple[Caution, ...]
    metric: str = NOMINAL
    order: tuple[str, ...] = ()
    """The labels from low to high, if an order was given."""


def find(
    tally: Tally,
    weights: str | CustomWeights = DEFAULT,
    level: float = 0.95,
    bootstrap: Bootstrap | None = None,
    metric: Metric | None = None,
) -> Findings:
    """Estimate everything from a tally.

    >>> found = find(Tally.from_items([{"yes": 2}, {"yes": 1, "no": 1}, {"no": 3}]))
    >>> found.spa.value, found.schemes["flat"].value == 2 / 3
    (0.75, True)
    """
    check_scheme(weights)
    check_level(level)
    similar = similar_votes(tally, metric)
    found = item_groups_of(tally, similar if tally.clusters is None else similar_votes(tally, metric, clusters=True))
    weighed = {scheme: weigh(scheme, tally, similar) for scheme in REGISTRY}
    chosen = weighed[weights] if isinstance(weights, str) else weigh(weights, tally)
    shape = cautious_shape(tally, similar.pairable() if similar else None)

    def figure(weights: Weights) -> Estimate:
        if not found.exact:
            return undefined(ONE_ANNOTATOR if has_one_annotator(tally) else NOT_PAIRABLE, level, weights.scheme)
        return _estimate(found, weights, shape, level, bootstrap)

    schemes = {scheme: figure(weighed[scheme]) for scheme in REGISTRY}
    spa = schemes[weights] if isinstance(weights, str) else figure(chosen)
    test = missingness(found, level, shape)
    corrected = chance(tally, chosen.by_n, level, chosen.scheme, metric)
    near = near_chance(tally, corrected["spa_kappa"])
    warnings = (*near, *cautions(tally, schemes, test, chosen, metric.name if metric else NOMINAL))
    all_weights = {**weighed, chosen.scheme: chosen}
    name = metric.name if metric else NOMINAL
    order = metric.order if metric else ()
    return Findings(_describe(tally), spa, schemes, all_weights, test, corrected, warnings, name, order)


def _estimate(found: ItemGroups, weights: Weights, shape: Shape, level: float, bootstrap: Bootstrap | None) -> Estimate:
    value = exact_mean(found, weights.by_n)
    per_group = found.weights(weights.by_n)
    figure = estimate(value, found, per_group, shape, level=level, scheme=weights.scheme)
    return bootstrap.refine(figure, found, per_group) if bootstrap else figure


def _describe(tally: Tally) -> Data:
    return Data(
        items=tally.items,
        annotations=tally.annotations,
        annotators=None if tally.annotators is None else len(tally.annotators),
        classes=len(tally.labels),
        pairable_items=tally.pairable_items,
        unpairable_items=tally.items - tally.pairable_items,
        pairable_annotations=tally.pairable_annotations,
        annotations_per_item=_per_item(tally.items_by_n),
        labels=dict(sorted(tally.labels.items(), key=lambda pair: (-pair[1], pair[0]))),
        left_out=tally.left_out,
        clusters=tally.clusters,
        cluster=tally.grouped.cluster if tally.grouped is not None else None,
    )


def _per_item(items_by_n: Mapping[int, int]) -> PerItem | None:
    """Minimum, median and maximum without expanding to one number per item."""
    if not items_by_n:
        return None
    last = sum(items_by_n.values()) - 1
    middle = [_at(items_by_n, place) for place in (last // 2, last - last // 2)]
    return PerItem(min(items_by_n), median(middle), max(items_by_n))


def _at(items_by_n: Mapping[int, int], place: int) -> int:
    """The n of the item at an index (from 0) when items are sorted by n."""
    seen = 0
    for n in sorted(items_by_n):
        seen += items_by_n[n]
        if seen > place:
            return n
    raise IndexError(place)
