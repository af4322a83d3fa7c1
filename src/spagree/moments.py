"""Moments as numbers: seconds since 1970, in UTC unless a zone is given."""

from __future__ import annotations

from datetime import UTC, datetime

FIRST, LAST = 631_152_000, 4_102_444_800  # 1990 and 2100


def unix_seconds(moment: datetime) -> float:
    """Seconds since 1970, whatever the zone of this machine.

    >>> unix_seconds(datetime(1970, 1, 1, 0, 1)), unix_seconds(datetime.fromisoformat("1970-01-01T02:00+02:00"))
    (60.0, 0.0)
    """
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def is_date(seconds: float) -> bool:
    """Whether a number is seconds since 1970 (in the years 1990 to 2100) and not a count.

    >>> is_date(1709301900), is_date(17)
    (True, False)
    """
    return FIRST <= seconds <= LAST
