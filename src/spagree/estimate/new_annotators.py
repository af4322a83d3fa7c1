"""What an interval covers: these annotators on new items, or new annotators as well (docs/mathematics.md §16).

For new annotators three variances are needed. Leaving out one item at a time shows how items differ, leaving out
one annotator at a time how annotators differ. Both contain the noise of single annotations, so it is subtracted once:
V = V_items + V_annotators − V_annotations. All three come from one pass over the annotations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, sqrt

import numpy as np

from spagree.errors import UsageError, unknown_name
from spagree.estimate.adaptive import Shape
from spagree.estimate.intervals import deviations
from spagree.estimate.item_groups import Floats, total
from spagree.estimate.leave_one_out import Kinds, Peers, Sizes, leave_one_out
from spagree.estimate.uncertainty import ANNOTATORS, POPULATIONS, Estimate, effective_items, steadied, wilson

TOO_FEW = "without one of the annotators no item has two annotations: how annotators differ cannot be seen"


def check_interval_for(given: str) -> None:
    """Refuse a misspelt name before any work is done."""
    if given not in POPULATIONS:
        raise unknown_name("value of --interval-for", str(given), POPULATIONS)


@dataclass(frozen=True, slots=True)
class TwoWay:
    """Variances of SPA over items, annotators and single annotations, and how many of each they rest on."""

    items: float
    annotators: float
    annotations: float
    equal_items: float
    """Equally weighted items that would tell as much."""
    equal_annotators: float
    """Equally busy annotators that would tell as much."""

    @property
    def stderr(self) -> float:
        """Never less than what new items alone would give."""
        return sqrt(max(self.items, self.items + self.annotators - self.annotations))

    @property
    def freedom(self) -> float:
        """The standard error is known no better than the scarcer of the two allows."""
        return min(self.equal_items, self.equal_annotators) - 1


def to_new_annotators(
    found: Peers, by_n: Mapping[int, Fraction], figure: Estimate, shape: Shape, clusters: float = inf
) -> Estimate:
    """The same figure with the interval for new annotators and new items, or as many equal ``clusters`` of items.

    Like the interval over items, it is made of the steadied error: it is never the narrower of the two.
    """
    if figure.value is None or figure.stderr is None:
        return replace(figure, interval_for=ANNOTATORS)
    spread = two_way(found, by_n, figure.stderr**2)
    if spread is None:
        return replace(figure, stderr=None, low=None, high=None, undefined=TOO_FEW, interval_for=ANNOTATORS)
    spread = replace(spread, equal_items=min(spread.equal_items, clusters))
    whole = found.by_size
    items = steadied(figure.value, figure.stderr, whole, whole.weights(by_n), shape)
    error = sqrt(spread.stderr**2 + items**2 - figure.stderr**2)
    low, high = wilson(figure.value, error, spread.equal_items, figure.level, spread.freedom)
    if figure.low is not None and figure.high is not None:
        low, high = min(low, figure.low), max(high, figure.high)
    return replace(figure, stderr=spread.stderr, low=low, high=high, interval_for=ANNOTATORS)


def two_way(found: Peers, by_n: Mapping[int, Fraction], items: float) -> TwoWay | None:
    """The three variances, given that over the items; None where SPA does not exist without some annotator."""
    unknown = int((found.annotator < 0).sum())
    if unknown:
        raise UsageError(
            f"--interval-for annotators: {unknown:,} annotations do not say who made them; leave them out, "
            f"or use --interval-for items"
        )
    busy = found.shared > 0
    without = leave_one_out(found, by_n).spa[busy]
    if np.isnan(without).any():
        return None
    whole, kinds = found.by_size, found.kinds
    k = whole.weights(by_n)
    _, people = deviations(without)
    _, single = deviations(_without_annotation(kinds, whole, k), kinds.count)
    equal_annotators = float(np.sum(found.shared) ** 2 / np.sum(found.shared**2))
    noise = total(kinds.count * single**2)
    return TwoWay(items, total(people**2), noise, effective_items(whole, k), equal_annotators)


def _without_annotation(kinds: Kinds, whole: Sizes, weights: Floats) -> Floats:
    """SPA without each kind of annotation: its item goes from weight k to what one annotation less weighs."""
    weight = np.append(weights, 0.0)  # the last for a single annotation
    k = weight[whole.place(kinds.n)]
    less = weight[np.where(kinds.n > 2, whole.place(kinds.n - 1), -1)]
    agreement = kinds.pairs / (kinds.n * (kinds.n - 1))
    left = (kinds.pairs - 2 * kinds.agree) / np.maximum((kinds.n - 1) * (kinds.n - 2), 1)
    above = np.sum(weights * whole.pairs / (whole.n * (whole.n - 1)))
    below = np.sum(weights * whole.items)
    return np.asarray((above - k * agreement + less * left) / (below - k + less))
