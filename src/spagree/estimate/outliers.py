"""Who and what stands out from the rest by more than luck, when all of them are looked at at once.

Of twenty-five annotators alike, one lies outside its own 95% interval on most pages. So names are named only where
the whole list of them would be wrong on one page in twenty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars

ALPHA = 0.05  # how often the list may name anybody who is like the others


def mean_agreement(annotators: polars.DataFrame) -> float | None:
    """The agreement with the others of an annotation drawn at random: what annotators are compared with.

    SPA would not do: it weighs items in another way, so all annotators together can lie below it.

    >>> import polars
    >>> mean_agreement(polars.DataFrame({"shared": [30, 10, 0], "agreement": [0.5, 0.9, None]}))
    0.6
    """
    known = annotators.filter(annotators["agreement"].is_not_null())
    shared = known["shared"].to_numpy()
    return float(np.average(known["agreement"].to_numpy(), weights=shared)) if shared.sum() else None


def apart(annotators: polars.DataFrame, level: float) -> polars.DataFrame:
    """The annotators who agree less than the mean beyond luck, furthest first: Holm's test on their distance.

    The distance is in standard errors, which come from the interval: it has a width at no agreement, too.
    """
    known = annotators.filter(annotators["high"].is_not_null() & ~annotators["few"])
    value, high = known["agreement"].to_numpy(), known["high"].to_numpy()
    centre = mean_agreement(annotators)
    if centre is None or not known.height:
        return known
    width = NormalDist().inv_cdf(0.5 + level / 2)
    distance = np.divide((value - centre) * width, high - value, out=np.zeros_like(value), where=high > value)
    order = np.argsort(distance, kind="stable")
    luck = np.array([NormalDist().cdf(each) for each in distance[order].tolist()])
    passed = luck * np.arange(known.height, 0, -1) <= ALPHA
    named: polars.DataFrame = known[order[: int(passed.cumprod().sum())].tolist()]
    return named


@dataclass(frozen=True, slots=True)
class Taken:
    """Two classes taken for one another: how many items got both, how many their shares alone would bring."""

    one: str
    other: str
    items: int
    expected: float
    probability: float
    """Of ``other`` for a second annotation where the first is ``one``; the larger of the two ways round."""


def taken(confusion: polars.DataFrame, labels: Mapping[str, int]) -> Taken | None:
    """The two classes that stand on one item most beyond what their shares would bring; None where it may be luck.

    The two commonest classes meet most often by being common. Disagreements that know nothing of the classes fall on
    two of them in proportion to the product of their shares; only a pair well above that is worth a sentence.
    """
    from scipy.special import bdtrc

    both = confusion.filter(confusion["class"] < confusion["other"])
    sizes = np.array(list(labels.values()), dtype=np.float64)
    different = (sizes.sum() ** 2 - (sizes**2).sum()) / 2
    share = np.array([labels[one] * labels[other] / different for one, other in both.select("class", "other").rows()])
    items = both["items"].to_numpy()
    beyond = items - share * items.sum()
    luck = bdtrc(items - 1, items.sum(), share) * (len(sizes) * (len(sizes) - 1) / 2)
    best = int(np.argmax(np.where(luck <= ALPHA, beyond, -np.inf)))
    if luck[best] > ALPHA:
        return None
    names = both.select("class", "other").row(best)
    ways = confusion.filter(confusion["class"].is_in(names) & confusion["other"].is_in(names))
    one, other, probability = ways.sort("probability", descending=True).select("class", "other", "probability").row(0)
    return Taken(one, other, int(items[best]), float(items[best] - beyond[best]), probability)
