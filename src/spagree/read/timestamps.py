"""Times as unix seconds, in UTC unless a zone is given; texts as tools write them."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

# Amazon writes in the zone of its headquarters; the others are common in e-mail headers.
HOURS = {"UTC": 0, "GMT": 0, "PST": -8, "PDT": -7, "MST": -7, "MDT": -6, "CST": -6, "CDT": -5, "EST": -5, "EDT": -4}
# Names and numbers are taken apart by hand: the standard parser depends on the locale.
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d")
AMERICAN = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4}) ([01]?\d|2[0-3]):(\d\d:\d\d)")
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


def usual(text: str) -> float | None:
    """Unix seconds or ISO 8601; UTC unless a zone is given.

    >>> usual("1694858483"), usual("1970-01-01T00:01:00Z"), usual("1970-01-01 00:01:00.5"), usual("soon")
    (1694858483.0, 60.0, 60.5, None)
    """
    if text[4:5] != "-":
        try:
            seconds = float(text)
            return seconds if math.isfinite(seconds) else None
        except ValueError:
            pass
    try:
        moment = datetime.fromisoformat(text.removesuffix(" UTC"))
    except ValueError:
        return None
    return unix_seconds(moment)


def mturk(text: str) -> float | None:
    """Amazon's times, whose zone is an abbreviation.

    >>> mturk("Thu Jan 01 00:00:10 PST 1970"), mturk("Thu Jan 01 00:00:10 XYZ 1970")
    (28810.0, None)
    """
    parts = text.split()
    if len(parts) != 6:  # noqa: PLR2004
        return usual(text)
    _, month, day, clock, zone, year = parts
    if month not in MONTHS or zone not in HOURS or not CLOCK.fullmatch(clock):
        return None
    seconds = usual(f"{year}-{MONTHS.index(month) + 1:02}-{day:0>2} {clock}")
    return None if seconds is None else seconds - 3600 * HOURS[zone]


def american(text: str) -> float | None:
    """Appen's times: month first, no zone.

    >>> american("1/2/1970 00:00:10")
    86410.0
    """
    match = AMERICAN.fullmatch(text.strip())
    if not match:
        return usual(text)
    month, day, year, hour, rest = match.groups()
    return usual(f"{year}-{month:0>2}-{day:0>2} {hour:0>2}:{rest}")
