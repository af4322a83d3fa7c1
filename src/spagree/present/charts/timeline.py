"""A time axis for charts: idle stretches are cut out, and every label says its year."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import Any

from spagree.errors import count
from spagree.moments import is_date

DAY = 86_400.0
LONG, SHORT = 150 * DAY, 3 * DAY  # spans labelled by months, and by hours
IDLE_SHARE, IDLE_TIMES = 0.15, 6  # share of the whole span, and multiple of a usual step, from which a gap is idle
CUT = 0.04  # share of the rest: the width of a gap
LABELS = 5


@dataclass(frozen=True)
class Timeline:
    """Moments in rising order, as seconds since 1970 or as plain numbers.

    >>> day = 1_700_000_000.0
    >>> line = Timeline([day, day + 60, day + 120, day + 180, day + 240, day + 1e6, day + 1e6 + 60])
    >>> [row["words"] for row in line.idle], line.part(day + 60), line.part(day + 1e6)
    (['12 days without annotations'], 0, 1)
    >>> line.place(day + 240) < line.place(day + 1e6) < day + 400
    True
    """

    moments: Sequence[float]

    @cached_property
    def is_dated(self) -> bool:
        """Whether the moments can only be dates."""
        return all(map(is_date, self.moments))

    @cached_property
    def gaps(self) -> list[tuple[float, float]]:
        """Idle stretches: from, to."""
        steps = [after - before for before, after in pairwise(self.moments)]
        if not self.is_dated or not steps:
            return []
        least = max(IDLE_SHARE * sum(steps), IDLE_TIMES * median(steps), DAY)
        return [(before, after) for before, after in pairwise(self.moments) if after - before > least]

    @cached_property
    def cut(self) -> float:
        """The width of a gap."""
        active = self.moments[-1] - self.moments[0] - sum(after - before for before, after in self.gaps)
        return CUT * active

    def part(self, moment: float) -> int:
        """How many idle stretches lie before a moment."""
        return bisect_right([after for _, after in self.gaps], moment)

    def place(self, moment: float) -> float:
        """A moment's place on the axis: the moment minus everything cut out before it."""
        return moment - sum(after - before - self.cut for before, after in self.gaps[: self.part(moment)])

    @property
    def ends(self) -> list[float]:
        """Where the axis begins and ends."""
        return [self.place(self.moments[0]), self.place(self.moments[-1])]

    @property
    def idle(self) -> list[dict[str, Any]]:
        """What was cut out, with its place and description."""
        return [
            {"place": self.place(before) + self.cut / 2, "words": f"{_length(after - before)} without annotations"}
            for before, after in self.gaps
        ]

    @property
    def title(self) -> str | None:
        """Dates need none."""
        return None if self.is_dated else "time"

    @property
    def axis(self) -> dict[str, Any]:
        """Labels at some moments, with the year; plain numbers get the usual labels."""
        if not self.is_dated:
            return {}
        places: dict[str, float] = {}
        low, high = self.ends
        for label in range(LABELS):
            wanted = low + (high - low) * label / (LABELS - 1)
            moment = min(self.moments, key=lambda each: abs(self.place(each) - wanted))
            places.setdefault(self._label(moment), self.place(moment))
        chosen = "".join(f"datum.value == {place!r} ? '{words}' : " for words, place in places.items())
        flat = {"labelAngle": 0, "labelFlush": True, "labelOverlap": "greedy", "grid": False}
        return {"values": list(places.values()), "labelExpr": f"{chosen}''", **flat}

    def _label(self, moment: float) -> str:
        span = self.moments[-1] - self.moments[0]
        written = datetime.fromtimestamp(moment, UTC)
        day = f"{written.day} {written:%b %Y}"
        return f"{written:%b %Y}" if span > LONG else day if span > SHORT else f"{day}, {written:%H:%M}"


def _length(seconds: float) -> str:
    """A length of time in words.

    >>> _length(86_400 * 3), _length(86_400 * 100), _length(86_400 * 800)
    ('3 days', '3 months', '26 months')
    """
    days = round(seconds / DAY)
    return count(days, "day") if days < 60 else count(round(days / 30.44), "month")  # noqa: PLR2004 (two months)
