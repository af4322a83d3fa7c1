"""Which labels an annotator gives, and who gives one label only, compared with the others of the same items.

Somebody whose items all deserve one label gives one label, too. So the test looks at the items: where n_c of the n
annotations of an item carry label c, an annotator like the others gave c with probability n_c/n, and gave it to all
of their items with the product of these, q. The label was not fixed beforehand, so p is q times the number of labels
that could have been given throughout. Holm over all annotators whose items could have shown it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spagree.estimate.comparison import holm
from spagree.estimate.grouping import Ints, counted, sums
from spagree.estimate.item_groups import Floats
from spagree.tally.coded import Coded

ALPHA = 0.05


@dataclass(frozen=True)
class LabelShares:
    """Per annotator: the label given most often (of equals the first), its share, and whether it is given blindly."""

    commonest: Ints
    share: Floats
    one_label: list[bool]


def label_shares(codes: Coded) -> LabelShares:
    """An annotator of −1 is one of the others of an item.

    >>> item, annotator = np.repeat(np.arange(9, dtype=np.int32), 3), np.tile(np.array([0, 1, 2], dtype=np.int32), 9)
    >>> label = np.where(annotator == 2, np.int32(1), item % 2)
    >>> order = np.lexsort((annotator, label, item))
    >>> found = label_shares(Coded(item, annotator[order], label[order], ("ann", "bob", "cyd"), ("no", "yes")))
    >>> found.commonest.tolist(), found.share.round(2).tolist(), found.one_label
    ([0, 0, 1], [0.56, 0.56, 1.0], [False, False, True])
    """
    annotators, width = len(codes.annotators), max(1, len(codes.labels))
    known = codes.annotator >= 0
    annotator = codes.annotator[known].astype(np.int64)
    keys, times = counted(annotator * width + codes.label[known])
    who, what, count = keys // width, keys % width, times.astype(np.float64)
    order = np.lexsort((what, -count, who))
    first = order[np.flatnonzero(np.diff(who[order], prepend=-1))]
    commonest, most = np.full(annotators, -1, dtype=np.int64), np.zeros(annotators)
    commonest[who[first]], most[who[first]] = what[first], count[first]
    made = np.bincount(annotator, minlength=annotators)
    share = np.divide(most, made, out=np.full(annotators, np.nan), where=made > 0)
    return LabelShares(commonest, share, _blind(codes, share == 1.0))


def _blind(codes: Coded, candidate: NDArray[np.bool_]) -> list[bool]:
    """Who gives one label beyond what their items explain."""
    item, _, count = codes.counts
    n = np.bincount(codes.item)
    firsts = np.flatnonzero(np.diff(item, prepend=-1))
    choices, rarest = np.diff(firsts, append=len(item)), np.minimum.reduceat(count, firsts) / n
    used = (codes.annotator >= 0) & (n[codes.item] > 1)
    who, where = codes.annotator[used], codes.item[used]

    def product(shares: Floats) -> Floats:
        return np.exp(sums(who, np.log(shares), len(candidate)))

    options = np.full(len(candidate), max(1, len(codes.labels)))
    np.minimum.at(options, who, choices[where])
    p = np.minimum(1.0, options * product(np.repeat(count, count)[used] / n[where]))
    shared = sums(who, np.ones(len(who)), len(candidate))
    # Annotators whose items cannot make p small are no part of the family: nothing could ever be found.
    tested = (shared > 1) & (options * product(rarest[where]) <= ALPHA)
    known = np.where(candidate, p, 1.0)
    adjusted = holm([float(p) if ask else None for p, ask in zip(known, tested, strict=True)])
    return [p is not None and p <= ALPHA for p in adjusted]
