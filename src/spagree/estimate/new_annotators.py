"""What an interval covers: these annotators on new items, or new annotators as well (docs/mathematics.md §16).

New annotators need three variances. Leaving out one item at a time shows how items differ, and leaving out one
annotator at a time shows how annotators differ. Both contain the noise of single annotations, so it is subtracted
once: V = V_items + V_annotators − V_annotations. All three come from one pass over the annotations.
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
    """Variances of SPA over items, annotators and single annotations, and their effective numbers."""

    items: float
    annotators: float
    annotations: float
    equal_items: float
    """Effective number of items: equally weighted ones that would be as informative."""
    equal_annotators: float
    """Effective number of annotators: equally busy ones that would be as informative."""

    @property
    def stderr(self) -> float:
        """Never below the standard error for new items alone."""
        return sqrt(max(self.items, self.items + self.annotators - self.annotations))

    @property
    def freedom(self) -> float:
        """The degrees of freedom of the standard error: those of items or annotators, whichever are fewer."""
        return min(self.equal_items, self.equal_annotators) - 1


def to_new_annotators(
    found: Peers, by_n: Mapping[int, Fraction], figure: Estimate, shape: Shape, clusters: float = inf
) -> Estimate:
    """The same figure with the interval for new annotators and new items, or ``clusters`` equally large clusters of
    items.

    Like the interval over items, it uses the stabilised error, so it is never the narrower of the two.
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
    """The three variances, given the one over items; None if SPA is undefined without some annotator."""
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
    """SPA without each kind of annotation: its item's weight drops from k(n) to k(n − 1)."""
    weight = np.append(weights, 0.0)  # the last entry is for a single annotation
    k = weight[whole.place(kinds.n)]
    less = weight[np.where(kinds.n > 2, whole.place(kinds.n - 1), -1)]
    agreement = kinds.pairs / (kinds.n * (kinds.n - 1))
    left = (kinds.pairs - 2 * kinds.agree) / np.maximum((kinds.n - 1) * (kinds.n - 2), 1)
    above = np.sum(weights * whole.pairs / (whole.n * (whole.n - 1)))
    below = np.sum(weights * whole.items)
    return np.asarray((above - k * agreement + less * left) / (below - k + less))
