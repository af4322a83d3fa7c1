"""Which classes annotators agree on, and which they confuse.

Both concern two different annotations of one item: the first drawn at random from all annotations of class c on
pairable items, the second at random from the other annotations of the same item. The probability that the second
carries class k is Σ n_c (n_k − 1[c = k]) / (n − 1) over Σ n_c, summed over the pairable items: a ratio of two totals,
so an item counts for a class as often as the class was given to it.

If labels are sets of options, :func:`option_agreement` says how much annotators agree on each option.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import polars

from spagree.estimate.disagreement import Disagreement
from spagree.estimate.intervals import wilson_each
from spagree.estimate.label_counts import LabelCounts
from spagree.estimate.similarity import as_set
from spagree.estimate.uncertainty import FEW_ITEMS
from spagree.grouping import Floats, Ints, counted, pairs_within, run_of_each, sums


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
    >>> from spagree.counts.tally import Tally
    >>> counts = votes(Tally.from_items([{'["a"]': 1, '["a", "b"]': 1}, {'["a"]': 2}, {"[]": 2}]))
    >>> option_agreement(counts, {2: Fraction(1)}).select("option", "annotations", "agreement").rows()
    [('b', 1, 0.6666666666666666), ('a', 4, 1.0)]
    """
    sets = [as_set(label) for label in votes.labels]
    options = sorted(frozenset[str]().union(*sets))
    pairable = votes.pairable()
    weight = pairable.items * Disagreement(votes, by_n).weight(pairable.n)
    rows = []
    for option in options:
        chosen = np.array([option in options for options in sets])[pairable.label]
        yes = pairable.per_group(np.where(chosen, pairable.count, 0.0))
        no = pairable.n - yes
        agree = (yes * (yes - 1) + no * (no - 1)) / (pairable.n * (pairable.n - 1))
        value = float((weight * agree).sum() / weight.sum()) if len(weight) else None
        chosen_times = float((pairable.items * yes).sum())
        part = chosen_times / float((pairable.items * pairable.n).sum() or 1.0)
        expected = part**2 + (1 - part) ** 2
        items = int(pairable.items[yes > 0].sum())
        kappa = None if value is None or expected == 1 else (value - expected) / (1 - expected)
        rows.append((option, int(chosen_times), part, items, value, expected, kappa, items < FEW_ITEMS))
    names = ("option", "annotations", "share", "items", "agreement", "expected", "kappa", "few")
    kinds: dict[str, Any] = dict.fromkeys(names, polars.Float64) | {"option": polars.String, "few": polars.Boolean}
    kinds |= dict.fromkeys(("annotations", "items"), polars.Int64)
    frame = polars.DataFrame(rows, schema={name: kinds[name] for name in names}, orient="row")
    return frame.sort("few", "kappa", "option", nulls_last=True)


ALONE = "no item with this class has a second annotation"
ONE_CLUSTER = "all items with this class are in one cluster: how clusters differ cannot be seen"
ONE_ITEM = "only one item with this class has two annotations, too few to show how items differ"


def classes(votes: LabelCounts, level: float) -> polars.DataFrame:
    """One row per class, lowest agreement first; classes seen on few items come last.

    >>> from spagree.estimate.label_counts import votes
    >>> from spagree.counts.tally import Tally
    >>> data = votes(Tally.from_items([{"a": 2}, {"a": 1, "b": 1}, {"b": 2, "a": 1}]))
    >>> classes(data, 0.95).select("class", "annotations", "items", "agreement").rows()
    [('b', 3, 2, 0.3333333333333333), ('a', 4, 3, 0.5)]
    """
    annotations = votes.per_label(votes.count)
    value, stderr, effective, units = _agreement(votes.pairable())
    low, high = wilson_each(value, stderr, effective, level)
    few = ONE_ITEM if votes.cluster is None else ONE_CLUSTER
    reasons = [ALONE if m < 1 else few if m < 2 else None for m in units.tolist()]
    columns = {
        "class": votes.labels,
        "annotations": annotations.astype(np.int64),
        "share": annotations / annotations.sum() if len(annotations) else annotations,
        "items": votes.per_label(np.ones(len(votes.count))).astype(np.int64),
        "agreement": value,
        "stderr": stderr,
        "low": low,
        "high": high,
        "few": units < FEW_ITEMS,
        "undefined": polars.Series(reasons, dtype=polars.String),
    }
    frame = polars.DataFrame(columns, schema_overrides={"class": polars.String})
    return frame.fill_nan(None).sort("few", "agreement", "class", nulls_last=True)


def _agreement(votes: LabelCounts) -> tuple[Floats, Floats, Floats, Floats]:
    """Per class: the ratio, its linearised standard error, its effective number of items, and its items.

    With clusters, clusters take the place of items.
    """
    count = votes.count
    others = votes.smoothed(count, votes.similarity) - 1
    agreeing = count * others / (votes.n[votes.group] - 1)
    once, given_sum = votes.by_unit(count), votes.per_label(count)
    units = once.per_label(np.ones(len(once.count)))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = votes.per_label(agreeing) / given_sum
        apart = votes.by_unit(agreeing - value[votes.label] * count)
        spread = apart.per_label(apart.count**2)
        stderr = np.where(units > 1, np.sqrt(units / (units - 1) * spread) / given_sum, np.nan)
        effective = given_sum**2 / once.per_label(once.count**2)
    return value, stderr, effective, units


def confusion(votes: LabelCounts) -> polars.DataFrame:
    """One row per ordered pair of different classes on one item, most common first.

    ``probability`` is that of ``other`` as the second annotation, given ``class`` as the first.

    >>> from spagree.estimate.label_counts import votes
    >>> from spagree.counts.tally import Tally
    >>> data = votes(Tally.from_items([{"a": 2}, {"a": 1, "b": 1}, {"b": 2, "a": 1}]))
    >>> confusion(data).rows()
    [('a', 'b', 3, 2, 0.5), ('b', 'a', 3, 2, 0.6666666666666666)]
    """
    pairable = votes.pairable()
    key, pairs, items, weight = _together(pairable)
    one, other = key // len(votes.labels), key % len(votes.labels)
    names = np.array(votes.labels, dtype=object)
    annotations = pairable.per_label(pairable.count)
    columns = {
        "class": names[one].tolist(),
        "other": names[other].tolist(),
        "pairs": pairs.astype(np.int64),
        "items": items.astype(np.int64),
        "probability": weight / annotations[one],
    }
    frame = polars.DataFrame(columns, schema_overrides={"class": polars.String, "other": polars.String})
    return frame.sort("pairs", "class", "other", descending=[True, False, False])


def _together(votes: LabelCounts) -> tuple[Ints, Floats, Floats, Floats]:
    """Ordered pairs of classes as keys, with the pairs of annotations, the items and Σ n_c n_k/(n − 1)."""
    sizes = counted(votes.group)[1]
    first, second = pairs_within(sizes)
    group = votes.group[first]
    pairs = votes.items[group] * votes.count[first] * votes.count[second]
    forth = votes.label[first] * len(votes.labels) + votes.label[second]
    back = votes.label[second] * len(votes.labels) + votes.label[first]
    keys = np.concatenate([forth, back])
    order = np.argsort(keys, kind="stable")
    run = run_of_each(keys[order])
    distinct = counted(keys)[0]
    doubled = (
        np.concatenate([values, values])[order] for values in (pairs, votes.items[group], pairs / (votes.n[group] - 1))
    )
    summed = [sums(run, values, len(distinct)) for values in doubled]
    return distinct, summed[0], summed[1], summed[2]
