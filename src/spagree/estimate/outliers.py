"""Who agrees less than the other annotators of the same items, corrected for testing everyone at once.

Raw agreement with others penalises people who got hard items. Items with three or more annotations allow a fair
comparison: how often the others agree with this annotator, minus how often they agree with each other. Whatever the
item's difficulty, the difference averages 0 for someone like them. With two annotations there is no such comparison: a
hard item and a careless annotator look the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spagree.estimate.comparison import holm
from spagree.estimate.grouping import sums
from spagree.estimate.intervals import mean_error, wilson_each
from spagree.estimate.item_groups import Floats
from spagree.estimate.leave_one_out import Peers
from spagree.estimate.uncertainty import FEW_ITEMS

if TYPE_CHECKING:
    import polars
    from numpy.typing import NDArray

ALPHA = 0.05  # how often the list may name someone who is like the others


def mean_agreement(annotators: polars.DataFrame) -> float | None:
    """The mean agreement of an annotation with the others of its item: the benchmark for annotators.

    SPA would not do: it weights items differently, so all annotators together can lie below it.

    >>> import polars
    >>> mean_agreement(polars.DataFrame({"shared": [30, 10, 0], "agreement": [0.5, 0.9, None]}))
    0.6
    """
    known = annotators.filter(annotators["agreement"].is_not_null())
    shared = known["shared"].to_numpy()
    return float(np.average(known["agreement"].to_numpy(), weights=shared)) if shared.sum() else None


@dataclass(frozen=True)
class AgainstOthers:
    """Each annotator's mean difference from the others on the same items; NaN without such items."""

    items: Floats
    difference: Floats
    low: Floats
    high: Floats
    p: Floats
    """One-sided p: how often someone like the others would agree this much less. NaN for fewer than ten items."""

    @property
    def stands_out(self) -> NDArray[np.bool_]:
        """Who agrees less than the others by Holm's test: a false name appears in at most one data set in twenty.

        >>> nothing = np.zeros(4)
        >>> found = AgainstOthers(nothing, nothing, nothing, nothing, np.array([0.02, 0.001, np.nan, 0.4]))
        >>> found.stands_out.tolist()
        [True, True, False, False]
        """
        adjusted = holm([None if np.isnan(p) else float(p) for p in self.p])
        return np.array([p is not None and p <= ALPHA for p in adjusted], dtype=np.bool_)


def against_others(found: Peers, level: float) -> AgainstOthers:
    """Compare each annotator with the others on the same items, for items with three or more annotations.

    >>> peers = Peers(2, np.array([0, 0, 1]), np.array([3, 4, 3]), np.array([0.0, 1, 1]), np.array([2.0, 4, 2]))
    >>> against_others(peers, 0.95).difference.tolist()
    [-0.5, 0.5]
    """
    from scipy.special import stdtr

    compared = found.known.where(found.known.n > 2)
    annotator, n, agree = compared.annotator, compared.n, compared.agree
    difference = compared.share - (compared.pairs - 2 * agree) / ((n - 1) * (n - 2))
    items = np.bincount(annotator, minlength=found.size).astype(np.float64)
    mean = np.divide(sums(annotator, difference, found.size), items, out=np.full(found.size, np.nan), where=items > 0)
    error = mean_error(items, sums(annotator, (difference - mean[annotator]) ** 2, found.size))
    # The difference lies between −1 and 1: rescaled to a share, its interval has positive width at the ends, too.
    low, high = (2 * end - 1 for end in wilson_each((1 + mean) / 2, error / 2, items, level))
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.where(mean == 0, 0.0, mean / error)
        p = np.where(items >= FEW_ITEMS, stdtr(items - 1, distance), np.nan)
    return AgainstOthers(items, mean, low, high, p)
