"""The kappa limits that chance.py still uses; they go with it."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from spagree.estimate.intervals import AT_THE_END, wilson_each
from spagree.grouping import Floats

STEADY_ITEMS = 15  # up to this many informative items the implied variance counts in full


@dataclass(frozen=True, slots=True)
class Information:
    """What the items say about a kappa (docs/mathematics.md §13); first to fourth are power sums of g over items."""

    first: Floats
    second: Floats
    fourth: Floats
    relative: Floats
    """Mean of r(n), the variance of an item relative to that of a pair, weighted by g²."""
    items: Floats
    room: Floats
    """1 − P_e."""
    most: Floats
    """The most often two annotations of an item can differ."""
    rarest: Floats
    """How often the rarest label disagrees by chance: the maximum over labels."""


def kappa_limits(value: Floats, stderr: Floats, information: Information, level: float) -> tuple[Floats, Floats]:
    """Wilson's interval on the scale from the lowest possible value of a kappa to 1.

    With a rare class, the few items that carry it decide: they are worth (Σg²)²/Σg⁴ equally informative items. The
    upper limit allows for such items that happened not to be sampled.

    >>> sums = (15.0, 7.5, 1.875, 1.0, 30.0, 0.5, 1.0, 0.5)  # thirty items with g = 1/2
    >>> information = Information(*(np.array([each]) for each in sums))
    >>> low, high = kappa_limits(np.array([1.0]), np.array([0.0]), information, 0.95)
    >>> round(float(low[0]), 3), float(high[0])
    (0.756, 1.0)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        lowest = np.minimum(1 - information.most / information.room, value)
        scale = 1 - lowest
        place = (value - lowest) / scale
        place = np.where(place < AT_THE_END, 0.0, np.where(place > 1 - AT_THE_END, 1.0, place))
        size = information.second**2 / information.fourth
        # If items differ as much as possible, the variance is place·(1 − place)/size; for ratios slightly more.
        measured = np.minimum((stderr / scale) ** 2, 2 * place * (1 - place) / size)
        implied = place * (1 - place) * information.relative / size
        share = np.minimum(1.0, STEADY_ITEMS * information.second / information.first**2)
        error = np.sqrt(measured + share * np.maximum(0.0, implied - measured))
    low, high = wilson_each(place, error, size, level, size)
    return lowest + scale * low, np.maximum(lowest + scale * high, _with_unseen(value, information, level))


def unseen_share(items: Floats, level: float, seen: Floats | float = 0.0) -> Floats:
    """The share of further items of a kind that could have gone unseen, if ``seen`` of ``items`` are of that kind.

    If none were seen, −log(1 − level) may have been missed: three at 95%, the rule of three. Otherwise it is the upper
    score limit of a count, which starts from that value.

    >>> unseen_share(np.array([27.0, 27.0]), 0.95, np.array([0.0, 9.0])).round(3)
    array([0.1  , 0.204])
    """
    three = -log(1 - level)
    unseen = three / 2 + np.sqrt(three * (seen + three / 4))
    return np.asarray(unseen / (items + unseen))


def with_differing(
    observed: Floats, expected: Floats, likely: Floats, alike: Floats, share: Floats, *, divided: float = 0.0
) -> Floats:
    """A kappa after adding a ``share`` of items on which annotators are divided between two labels.

    ``likely`` is the sum of how often each of the two labels agrees by chance, ``alike`` is how much the two labels
    agree, and ``divided`` is the share of pairs of annotations with the same label on such an item: 0 with two
    annotations.

    >>> one = np.ones(1)
    >>> with_differing(0.9 * one, 0.9 * one, one, 0 * one, one / 6).round(3)  # somebody who gives one label throughout
    array([-0.125])
    """
    by_chance = (1 - share) * ((1 - share) * expected + share * likely) + share**2 * (1 + alike) / 2
    agree = (1 - share) * observed + share * (divided + (1 - divided) * alike)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((agree - by_chance) / (1 - by_chance))


def _with_unseen(value: Floats, information: Information, level: float) -> Floats:
    """The kappa after adding as many items as could have gone unseen, all agreeing on the rarest label."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = unseen_share(information.items, level)
        chance = information.room * (1 - share) + 2 * share * information.rarest
        return np.asarray(1 - (1 - value) * information.room / chance)
