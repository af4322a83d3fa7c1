"""For labels that are sets of options: how much annotators agree on whether to choose each option."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree.estimate.disagreement import Disagreement
from spagree.estimate.label_counts import LabelCounts
from spagree.estimate.similarity import as_set
from spagree.estimate.uncertainty import FEW_ITEMS

if TYPE_CHECKING:
    import polars


def are_sets(labels: tuple[str, ...]) -> bool:
    """Whether labels are lists of options, as annotation tools write them.

    >>> are_sets(('["a", "b"]', "[]")), are_sets(("a|b", "c")), are_sets(("a", "b"))
    (True, False, False)
    """
    return bool(labels) and all(label.startswith("[") and label.endswith("]") for label in labels)


def option_agreement(votes: LabelCounts, by_n: Mapping[int, Fraction]) -> polars.DataFrame:
    """``option, annotations, share, items, agreement, expected, kappa, few``: least agreement beyond chance first.

    ``agreement`` is SPA of the yes/no question whether the option was chosen, under the weights in use; ``items`` are
    those on which someone chose it. Chance means choosing it blindly with the same frequency.

    >>> from spagree.estimate.label_counts import votes
    >>> from spagree.tally.tally import Tally
    >>> found = votes(Tally.from_items([{'["a"]': 1, '["a", "b"]': 1}, {'["a"]': 2}, {"[]": 2}]))
    >>> option_agreement(found, {2: Fraction(1)}).select("option", "annotations", "agreement").rows()
    [('b', 1, 0.6666666666666666), ('a', 4, 1.0)]
    """
    import polars

    sets = [as_set(label) for label in votes.labels]
    options = sorted(frozenset[str]().union(*sets))
    found = votes.pairable()
    weight = found.items * Disagreement(votes, by_n).weight(found.n)
    rows = []
    for option in options:
        chosen = np.array([option in each for each in sets])[found.label]
        yes = found.per_group(np.where(chosen, found.count, 0.0))
        no = found.n - yes
        agree = (yes * (yes - 1) + no * (no - 1)) / (found.n * (found.n - 1))
        value = float((weight * agree).sum() / weight.sum()) if len(weight) else None
        given = float((found.items * yes).sum())
        part = given / float((found.items * found.n).sum() or 1.0)
        expected = part**2 + (1 - part) ** 2
        items = int(found.items[yes > 0].sum())
        kappa = None if value is None or expected == 1 else (value - expected) / (1 - expected)
        rows.append((option, int(given), part, items, value, expected, kappa, items < FEW_ITEMS))
    names = ("option", "annotations", "share", "items", "agreement", "expected", "kappa", "few")
    kinds: dict[str, Any] = dict.fromkeys(names, polars.Float64) | {"option": polars.String, "few": polars.Boolean}
    kinds |= dict.fromkeys(("annotations", "items"), polars.Int64)
    frame = polars.DataFrame(rows, schema={name: kinds[name] for name in names}, orient="row")
    return frame.sort("few", "kappa", "option", nulls_last=True)
