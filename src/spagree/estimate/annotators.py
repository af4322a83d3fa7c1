"""How each annotator agrees with the others, what SPA would be without them, and who always gives the same label.

Raw agreement with others penalises people who got hard items, and someone whose items all deserve one label gives only
one label. Both tests therefore compare annotators with the others on the same items (docs/mathematics.md §17).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from spagree.estimate.comparison import holm
from spagree.estimate.intervals import mean_error, wilson_each
from spagree.estimate.leave_one_out import Peers, leave_one_out
from spagree.estimate.uncertainty import FEW_ITEMS
from spagree.grouping import Floats, Ints, counted, ratio, run_starts, sums
from spagree.tally.coded import Coded

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
    sharing = annotators.filter(annotators["agreement"].is_not_null())
    shared = sharing["shared"].to_numpy()
    return float(np.average(sharing["agreement"].to_numpy(), weights=shared)) if shared.sum() else None


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
        >>> differences = AgainstOthers(nothing, nothing, nothing, nothing, np.array([0.02, 0.001, np.nan, 0.4]))
        >>> differences.stands_out.tolist()
        [True, True, False, False]
        """
        adjusted = holm([None if np.isnan(p) else float(p) for p in self.p])
        return np.array([p is not None and p <= ALPHA for p in adjusted], dtype=np.bool_)


def against_others(peers: Peers, level: float) -> AgainstOthers:
    """Compare each annotator with the others on the same items, for items with three or more annotations.

    >>> peers = Peers(2, np.array([0, 0, 1]), np.array([3, 4, 3]), np.array([0.0, 1, 1]), np.array([2.0, 4, 2]))
    >>> against_others(peers, 0.95).difference.tolist()
    [-0.5, 0.5]
    """
    from scipy.special import stdtr

    compared = peers.named.where(peers.named.n > 2)
    annotator, n, agree = compared.annotator, compared.n, compared.agree
    difference = compared.share - (compared.pairs - 2 * agree) / ((n - 1) * (n - 2))
    items = np.bincount(annotator, minlength=peers.size).astype(np.float64)
    mean = ratio(sums(annotator, difference, peers.size), items)
    error, units = _spread(compared, difference - mean[annotator], items)
    # The difference lies between −1 and 1: rescaled to a share, its interval has positive width at the ends, too.
    low, high = (2 * end - 1 for end in wilson_each((1 + mean) / 2, error / 2, units, level))
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.where(mean == 0, 0.0, mean / error)
        p = np.where(units >= FEW_ITEMS, stdtr(units - 1, distance), np.nan)
    return AgainstOthers(items, mean, low, high, p)


def _spread(peers: Peers, deviation: Floats, items: Floats) -> tuple[Floats, Floats]:
    """Standard error of each annotator's mean, and how many independent items, or equal clusters, it rests on.

    With clusters, deviations are summed within each before they are squared (docs/mathematics.md §8.1).
    """
    if peers.cluster is None:
        return mean_error(items, peers.per_annotator(deviation**2)), items
    both, place = np.unique(np.stack([peers.annotator, peers.cluster]), axis=1, return_inverse=True)
    place = place.ravel()
    who, size = both[0], np.bincount(place).astype(np.float64)
    summed = sums(place, deviation, len(size))
    clusters = np.bincount(who, minlength=peers.size).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        units = items**2 / sums(who, size**2, peers.size)
        error = np.sqrt(clusters / (clusters - 1) * sums(who, summed**2, peers.size)) / items
    return np.where(clusters > 1, error, np.nan), np.where(items > 0, units, 0.0)


NO_OVERLAP = "shares no item with anybody"
ONE_ITEM = "shares only one item, too few to show how items differ"
ONE_CLUSTER = "all items shared with others are in one cluster: how clusters differ cannot be seen"


@dataclass(frozen=True)
class LabelShares:
    """Per annotator: the label given most often (the first if tied), its share, and whether it is given blindly."""

    commonest: Ints
    share: Floats
    one_label: list[bool]


def label_shares(codes: Coded, cluster: Ints | None = None) -> LabelShares:
    """Unknown annotators (−1) still count among the others of an item; ``cluster`` is that of each item.

    >>> item, annotator = np.repeat(np.arange(9, dtype=np.int32), 3), np.tile(np.array([0, 1, 2], dtype=np.int32), 9)
    >>> label = np.where(annotator == 2, np.int32(1), item % 2)
    >>> order = np.lexsort((annotator, label, item))
    >>> shares = label_shares(Coded(item, annotator[order], label[order], ("ann", "bob", "cyd"), ("no", "yes")))
    >>> shares.commonest.tolist(), shares.share.round(2).tolist(), shares.one_label
    ([0, 0, 1], [0.56, 0.56, 1.0], [False, False, True])
    """
    annotators, width = len(codes.annotators), max(1, len(codes.labels))
    named = codes.annotator >= 0
    annotator = codes.annotator[named].astype(np.int64)
    keys, times = counted(annotator * width + codes.label[named])
    who, what, count = keys // width, keys % width, times.astype(np.float64)
    order = np.lexsort((what, -count, who))
    first = order[run_starts(who[order])]
    commonest, most = np.full(annotators, -1, dtype=np.int64), np.zeros(annotators)
    commonest[who[first]], most[who[first]] = what[first], count[first]
    annotations = np.bincount(annotator, minlength=annotators)
    share = ratio(most, annotations)
    return LabelShares(commonest, share, _blind(codes, share == 1.0, cluster))


def _blind(codes: Coded, candidate: NDArray[np.bool_], cluster: Ints | None) -> list[bool]:
    """Who gives one label more often than their items explain."""
    if not candidate.any():
        return [False] * len(candidate)
    item, _, count = codes.counts
    n = np.bincount(codes.item)
    firsts = run_starts(item)
    choices, rarest = np.diff(firsts, append=len(item)), np.minimum.reduceat(count, firsts) / n
    used = (codes.annotator >= 0) & (n[codes.item] > 1)
    who, where = codes.annotator[used], codes.item[used]

    def product(shares: Floats) -> Floats:
        if cluster is None:
            return np.exp(sums(who, np.log(shares), len(candidate)))
        # Items of a cluster are not independent: all of it is no likelier than its least likely item.
        both, place = np.unique(np.stack([who, cluster[where]]), axis=1, return_inverse=True)
        least = np.ones(both.shape[1])
        np.minimum.at(least, place.ravel(), shares)
        return np.exp(sums(both[0], np.log(least), len(candidate)))

    options = np.full(len(candidate), max(1, len(codes.labels)))
    np.minimum.at(options, who, choices[where])
    p = np.minimum(1.0, options * product(np.repeat(count, count)[used] / n[where]))
    shared = sums(who, np.ones(len(who)), len(candidate))
    # Annotators whose items cannot make p small are not in the family: the test could never reject for them.
    tested = (shared > 1) & (options * product(rarest[where]) <= ALPHA)
    candidate_p = np.where(candidate, p, 1.0)
    adjusted = holm([float(p) if ask else None for p, ask in zip(candidate_p, tested, strict=True)])
    return [p is not None and p <= ALPHA for p in adjusted]


def annotators(
    codes: Coded,
    peers: Peers,
    by_n: Mapping[int, Fraction],
    spa: float | None,
    level: float,
    *,
    cluster: Ints | None = None,
) -> polars.DataFrame:
    """One row per annotator, lowest agreement with the others first; those with few shared items come last.

    ``agreement`` is the probability that another annotator, drawn at random from a random one of the annotator's
    shared items, gave the same label; every item counts the same, however many others annotated it. ``against_others``
    is how much more the others agree with the annotator than with each other, over the items with three or more
    annotations; ``stands_out`` is None with fewer than ten such items. With ``cluster``, the cluster of each item,
    errors and tests are over clusters.
    """
    import polars

    named = peers.named
    shared = named.shared
    value = ratio(named.per_annotator(named.share), shared)
    stderr, units = _spread(named, named.share - value[named.annotator], shared)
    low, high = wilson_each(value, stderr, units, level)
    without = leave_one_out(peers, by_n) if by_n else np.full(peers.size, np.nan)
    annotations = np.bincount(codes.annotator[codes.annotator >= 0], minlength=peers.size)
    shares = label_shares(codes, cluster)
    against = against_others(peers, level)
    tested = zip(against.stands_out.tolist(), np.isnan(against.p).tolist(), strict=True)
    reasons = [
        NO_OVERLAP if m < 1 else ONE_ITEM if m < 2 else ONE_CLUSTER if unknown else None
        for m, unknown in zip(shared.tolist(), np.isnan(stderr).tolist(), strict=True)
    ]
    columns = {
        "annotator": codes.annotators,
        "annotations": annotations.astype(np.int64),
        "coverage": annotations / max(codes.items, 1),
        "shared": shared.astype(np.int64),
        "agreement": value,
        "stderr": stderr,
        "low": low,
        "high": high,
        "spa_without": without,
        "change": without - (np.nan if spa is None else spa),
        "commonest": [codes.labels[label] if label >= 0 else None for label in shares.commonest.tolist()],
        "commonest_share": shares.share,
        "one_label": shares.one_label,
        "against_others": against.difference,
        "against_others_low": against.low,
        "against_others_high": against.high,
        "stands_out": polars.Series(
            [None if unknown else stands_out for stands_out, unknown in tested], dtype=polars.Boolean
        ),
        "few": units < FEW_ITEMS,
        "undefined": polars.Series(reasons, dtype=polars.String),
    }
    frame = polars.DataFrame(columns, schema_overrides={"annotator": polars.String, "commonest": polars.String})
    return frame.fill_nan(None).sort("few", "agreement", "annotator", nulls_last=True)
