"""A figure compared with an earlier one: did it change by more than chance?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, sqrt
from statistics import NormalDist
from typing import Any

from spagree.errors import UsageError


@dataclass(frozen=True, slots=True)
class Change:
    """The difference of two figures, later minus earlier, with its interval.

    The two are treated as independent. If the later data include the earlier ones, the difference varies less, so the
    interval is too wide rather than too narrow.
    """

    before: float
    after: float
    low: float
    high: float

    @property
    def value(self) -> float:
        """How much it rose."""
        return self.after - self.before

    @property
    def is_clear(self) -> bool:
        """Whether it is more than chance would explain."""
        return self.low > 0 or self.high < 0


def change_of(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> Change | None:
    """The change between two estimates in their JSON form; None if either has no standard error.

    >>> change = change_of({"value": 0.5, "stderr": 0.03}, {"value": 0.6, "stderr": 0.04, "level": 0.95})
    >>> round(change.value, 3), round(change.low, 3), round(change.high, 3), change.is_clear
    (0.1, 0.002, 0.198, True)
    """
    before, error, after, other = (figures.get(name) for figures in (earlier, later) for name in ("value", "stderr"))
    if before is None or error is None or after is None or other is None:
        return None
    half = NormalDist().inv_cdf(0.5 + float(later.get("level", 0.95)) / 2) * sqrt(error**2 + other**2)
    return Change(before, after, after - before - half, after - before + half)


def check_target(target: float | None) -> float | None:
    """The target agreement; refused if it is not a possible agreement.

    >>> check_target(0.7), check_target(None)
    (0.7, None)
    """
    if target is not None and not (isinstance(target, int | float) and isfinite(target) and 0 <= target <= 1):
        raise UsageError(f"target {target!r}: agreement lies between 0 and 1; for example 0.7 for 70%")
    return target
