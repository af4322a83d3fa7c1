"""The times tools write, as unix seconds in UTC; None for anything else."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from functools import lru_cache

from spagree.moments import unix_seconds

# Amazon writes in the zone of its headquarters; the others are common in e-mail headers.
HOURS = {"UTC": 0, "GMT": 0, "PST": -8, "PDT": -7, "MST": -7, "MDT": -6, "CST": -6, "CDT": -5, "EST": -5, "EDT": -4}
MONTHS = {
    name: number
    for number, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1
    )
}
CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d):([0-5]\d)")
AMERICAN = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4}) (\d{1,2}):(\d\d):(\d\d)")


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
    if text[10:11] == text[19:20] == " ":  # as Amazon writes them; few distinct days, each cached
        midnight, seconds = _midnight(f"{text[:11]}|{text[19:]}"), _of_day(text[11:19])
        if midnight is not None and seconds is not None:
            return midnight + seconds
    parts = text.split()
    if len(parts) != 6:  # noqa: PLR2004
        return usual(text)
    midnight, seconds = _midnight(" ".join([*parts[:3], "|", *parts[4:]])), _of_day(parts[3])
    return None if midnight is None or seconds is None else midnight + seconds


@lru_cache(maxsize=100_000)
def _midnight(text: str) -> float | None:
    """The start of a day, written as Amazon does with | for the time."""
    parts = text.split()
    if len(parts) != 6 or parts[3] != "|":  # noqa: PLR2004
        return None
    _, month, day, _, zone, year = parts
    if month not in MONTHS or zone not in HOURS or not (year.isdecimal() and day.isdecimal()):
        return None
    seconds = _seconds(int(year), MONTHS[month], int(day), 0, 0, 0)
    return None if seconds is None else seconds - 3600 * HOURS[zone]


@lru_cache(maxsize=100_000)
def _of_day(text: str) -> int | None:
    found = CLOCK.fullmatch(text)
    return 3600 * int(found[1]) + 60 * int(found[2]) + int(found[3]) if found else None


def american(text: str) -> float | None:
    """Appen's times: month first, no zone.

    >>> american("1/2/1970 00:00:10")
    86410.0
    """
    found = AMERICAN.fullmatch(text.strip())
    if not found:
        return usual(text)
    month, day, year, hour, minute, second = map(int, found.groups())
    return _seconds(year, month, day, hour, minute, second)


def _seconds(*parts: int) -> float | None:
    """Computed by hand: the standard parser is slow and depends on the locale."""
    year, month, day, hour, minute, second = parts
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
    except ValueError:
        return None
