"""When an annotation was made: unix seconds or ISO 8601, as something that sorts correctly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw

from spagree.errors import SHOWN_PROBLEMS, DataError
from spagree.read.annotations import ROW, TIME
from spagree.read.tables import shown
from spagree.understood import Caution

# Seconds since 1970 (UTC): numbers are taken as they are, a date without zone is taken as UTC
# whatever the zone of the machine (which a cast to TIMESTAMPTZ would use).
NUMBER = f"try_cast({TIME} AS DOUBLE)"
HAS_ZONE = f"regexp_matches({TIME}, ':.*([zZ]|[+-][0-9:]+)$')"
WITH_ZONE, WITHOUT_ZONE = (f"epoch(try_cast({TIME} AS {kind}))" for kind in ("TIMESTAMPTZ", "TIMESTAMP"))
DATE = f"CASE WHEN {HAS_ZONE} THEN {WITH_ZONE} ELSE {WITHOUT_ZONE} END"
SECONDS = f"coalesce(CASE WHEN isfinite({NUMBER}) THEN {NUMBER} END, CASE WHEN isfinite({DATE}) THEN {DATE} END)"


DAY_FIRST, MONTH_FIRST = "day", "month"
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", ", %H:%M", ", %H:%M:%S")
DATES = {
    DAY_FIRST: ("%d/%m/%Y", "%d-%m-%Y", "%d.%m.%Y", "%d/%m/%y", "%d.%m.%y", "%d %b %Y", "%d %B %Y"),
    MONTH_FIRST: ("%m/%d/%Y", "%m-%d-%Y", "%m/%d/%y", "%b %d, %Y", "%B %d, %Y"),
}


def seconds_from_text(
    frame: nw.LazyFrame[Any], source: str, column: str, written: str | None = None
) -> tuple[nw.LazyFrame[Any], tuple[Caution, ...]]:
    """A time column of text as seconds; refuses what is neither a number nor a date.

    Written in the engine's own language (the frame is a duckdb table) because narwhals has no
    cast that turns failures into nulls, and a failure must be reported with its row.
    """
    relation = frame.to_native()
    seconds = SECONDS if written is None else f"epoch(try_strptime({TIME}, {_quoted(written)}))"
    cautions: tuple[Caution, ...] = ()
    total = _unreadable(relation, seconds)
    if total and written is None and (found := _found_format(relation, column)) is not None:
        first, seconds = found
        message = (
            f"times in column {shown(column)} were read with the {first} first; if that is wrong, use --time-format"
        )
        cautions, total = (Caution("time_format", message),), 0
    if total:
        raise _refusal(relation, seconds, source, column, written)
    read: nw.LazyFrame[Any] = nw.from_native(relation.project(f"* REPLACE ({seconds} AS {TIME})"))
    return read, cautions


def _unreadable(relation: Any, seconds: str) -> int:
    return int(relation.filter(f"{TIME} IS NOT NULL AND ({seconds}) IS NULL").aggregate("count(*)").fetchall()[0][0])


def _found_format(relation: Any, column: str) -> tuple[str, str] | None:
    """Day or month first, where only one of the two reads every time; refused where both do."""
    ways = {}
    for first, dates in DATES.items():
        formats = ", ".join(_quoted(date + clock) for date in dates for clock in CLOCKS)
        seconds = f"epoch(try_strptime({TIME}, [{formats}]))"
        if not _unreadable(relation, seconds):
            ways[first] = seconds
    if len(ways) > 1:
        raise DataError(
            f"the times of column {shown(column)} can be read with the day or with the month first; say which, e.g. "
            "--time-format '%d/%m/%Y %H:%M:%S' or '%m/%d/%Y %H:%M:%S'"
        )
    return next(iter(ways.items()), None)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _refusal(relation: Any, seconds: str, source: str, column: str, written: str | None) -> DataError:
    """The first times that cannot be read, with their rows, and how many there are."""
    unreadable = relation.filter(f"{TIME} IS NOT NULL AND ({seconds}) IS NULL")
    total = _unreadable(relation, seconds)
    numbered = f', "{ROW}"' if ROW in relation.columns else ""
    first = unreadable.project(f"{TIME}{numbered}").limit(SHOWN_PROBLEMS).fetchall()
    problems = [f"{source}: {_row(row)}column {shown(column)}: {shown(value)}" for value, *row in first]
    wanted = "neither a number (unix seconds) nor an ISO 8601 date"
    wanted = wanted if written is None else f"not in the format of --time-format {shown(written)}"
    remedy = "say how they are written with --time-format, correct them, or name another column with --time"
    return DataError(f"{total:,} values of the time column are {wanted}; {remedy}", problems, total)


def _row(number: Sequence[int]) -> str:
    return f"row {number[0]}: " if number else ""


def from_frame(frame: nw.LazyFrame[Any], column: str, is_guess: bool, written: str | None = None) -> nw.LazyFrame[Any]:
    """The time column of a data frame: numbers and dates as they are, text parsed as ISO 8601.

    Text is parsed only where the column was named: whether all of it can be parsed is not known
    before the frame is collected, and a guess must not make that fail.
    """
    kind = frame.collect_schema()[TIME]
    if kind.is_numeric() or kind.is_temporal():
        return frame
    if kind == nw.String and (written is not None or not is_guess):
        return _parsed(frame, column, written)
    raise DataError(
        f"--time {shown(column)}: the column holds {kind}, which does not sort as a time; "
        "convert it to a number or a datetime"
    )


def _parsed(frame: nw.LazyFrame[Any], column: str, written: str | None) -> nw.LazyFrame[Any]:
    """Text as datetimes. Tried before it is needed, so that what cannot be parsed is not a fault of the count."""
    try:
        parsed = frame.with_columns(nw.col(TIME).str.to_datetime(format=written))
        parsed.select(nw.col(TIME).max()).collect()
        return parsed
    except Exception as error:
        reason = str(error).splitlines()[0]
        wanted = "ISO 8601 dates" if written is None else f"in the format of --time-format {shown(written)}"
        raise DataError(
            f"--time {shown(column)}: not all of its texts are {wanted} ({reason}); "
            "convert the column to a number or a datetime"
        ) from error
