"""Moments as numbers: seconds since 1970, in UTC unless a zone is given."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars


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


# Amazon writes in the zone of its headquarters; the others are common in e-mail headers.
HOURS = {"UTC": 0, "GMT": 0, "PST": -8, "PDT": -7, "MST": -7, "MDT": -6, "CST": -6, "CDT": -5, "EST": -5, "EDT": -4}
MONTHS = {
    name: number
    for number, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1
    )
}
CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d):([0-5]\d)")
# What Label Studio and Amazon write, without the moments that Python and polars read differently, such as second 60.
ISO = r"^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:[0-5]\d(\.\d{1,6})?Z$"
ISO_FORMAT = "%Y-%m-%dT%H:%M:%S%.fZ"
AMAZON = r"^[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:[0-5]\d [A-Z]{3} [1-9]\d{3}$"
AMAZON_FORMAT = "%b %d %H:%M:%S %Y"
AMERICAN = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4}) (\d{1,2}):(\d\d):(\d\d)")


def seconds(texts: polars.Series, clock: Callable[[str], float | None]) -> polars.Series:
    """The times of a column; those in the usual form of the tool are read all at once."""
    import polars

    column, read = polars.col(texts.name), polars.lit(None)
    if clock is usual:
        read = polars.when(column.str.contains(ISO)).then(column).str.to_datetime(ISO_FORMAT, strict=False)
    if clock is mturk:
        day = polars.when(column.str.contains(AMAZON)).then(column.str.slice(4, 15) + column.str.slice(23))
        zone = column.str.slice(20, 3).replace_strict(HOURS, default=None, return_dtype=polars.Int64)
        read = day.str.to_datetime(AMAZON_FORMAT, strict=False) - polars.duration(hours=zone)
    moments = texts.to_frame().select(read.cast(polars.Datetime("us")).dt.epoch("us").alias(texts.name)).to_series()
    times = moments / polars.repeat(1e6, len(moments), eager=True)  # by a number, polars multiplies with its inverse
    others = {text: clock(text) for text in texts.filter(times.is_null()).drop_nulls().unique()}
    return times.fill_null(texts.replace_strict(others, default=None, return_dtype=polars.Float64)) if others else times


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
    match = CLOCK.fullmatch(clock)
    if month not in MONTHS or zone not in HOURS or not (year.isdecimal() and day.isdecimal()) or not match:
        return None
    moment = _seconds(int(year), MONTHS[month], int(day), *map(int, match.groups()))
    return None if moment is None else moment - 3600 * HOURS[zone]


def american(text: str) -> float | None:
    """Appen's times: month first, no zone.

    >>> american("1/2/1970 00:00:10")
    86410.0
    """
    match = AMERICAN.fullmatch(text.strip())
    if not match:
        return usual(text)
    month, day, year, hour, minute, second = map(int, match.groups())
    return _seconds(year, month, day, hour, minute, second)


def _seconds(*parts: int) -> float | None:
    """Computed by hand: the standard parser is slow and depends on the locale."""
    year, month, day, hour, minute, second = parts
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
    except ValueError:
        return None
