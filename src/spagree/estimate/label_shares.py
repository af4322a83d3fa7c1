"""Which labels an annotator gives, and who gives one label only, compared with the others of the same items.

Somebody whose items all deserve one label gives one label, too. So the test looks at the items: where n_c of the n
annotations of an item carry label c, an annotator like the others gave c with probability n_c/n, and gave it to all
of their items with the product of these, q. The label was not fixed beforehand, so p is q times the number of labels
that could have been given throughout. Holm over all annotators whose items could have shown it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spagree.estimate.comparison import holm
from spagree.estimate.grouping import Ints, sums
from spagree.estimate.item_groups import Floats

ALPHA = 0.05


@dataclass(frozen=True)
class LabelShares:
    """Per annotator: the label given most often (of equals the first), its share, and whether it is given blindly."""

    commonest: Ints
    share: Floats
    one_label: list[bool]


def label_shares(item: Ints, annotator: Ints, label: Ints, annotators: int) -> LabelShares:
    """From parallel codes of annotations; an annotator of −1 is one of the others of an item.

    >>> item = np.repeat(np.arange(9), 3)
    >>> annotator = np.tile([0, 1, 2], 9)
    >>> label = np.where(annotator == 2, 1, item % 2)
    >>> found = label_shares(item, annotator, label, 3)
    >>> found.commonest.tolist(), found.share.round(2).tolist(), found.one_label
    ([0, 0, 1], [0.56, 0.56, 1.0], [False, False, True])
    """
    known = annotator >= 0
    width = int(label.max(initial=0)) + 1
    table = np.unique(annotator[known] * width + label[known], return_counts=True)
    who, what, count = table[0] // width, table[0] % width, table[1].astype(np.float64)
    order = np.lexsort((what, -count, who))
    first = order[np.flatnonzero(np.diff(who[order], prepend=-1))]
    commonest, most = np.full(annotators, -1, dtype=np.int64), np.zeros(annotators)
    commonest[who[first]], most[who[first]] = what[first], count[first]
    made = sums(annotator[known], np.ones(int(known.sum())), annotators)
    share = np.divide(most, made, out=np.full(annotators, np.nan), where=made > 0)
    return LabelShares(commonest, share, _blind(item, annotator, label, share == 1.0))


def _blind(
    item: Ints, annotator: Ints, label: Ints, candidate: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> list[bool]:
    """Who gives one label beyond what their items explain."""
    width = int(label.max(initial=0)) + 1
    keys, entry, count = np.unique(item * width + label, return_inverse=True, return_counts=True)
    _, place, n = np.unique(item, return_inverse=True, return_counts=True)
    firsts = np.flatnonzero(np.diff(keys // width, prepend=-1))
    choices, rarest = np.diff(firsts, append=len(keys)), np.minimum.reduceat(count, firsts) / n
    used = (annotator >= 0) & (n[place] > 1)
    who, where = annotator[used], place[used]

    def product(shares: Floats) -> Floats:
        return np.exp(sums(who, np.log(shares), len(candidate)))

    options = np.full(len(candidate), width)
    np.minimum.at(options, who, choices[where])
    p = np.minimum(1.0, options * product(count[entry[used]] / n[where]))
    shared = sums(who, np.ones(len(who)), len(candidate))
    # Annotators whose items cannot make p small are no part of the family: nothing could ever be found.
    tested = (shared > 1) & (options * product(rarest[where]) <= ALPHA)
    known = np.where(candidate, p, 1.0)
    adjusted = holm([float(p) if ask else None for p, ask in zip(known, tested, strict=True)])
    return [p is not None and p <= ALPHA for p in adjusted]
