"""When an annotation was made: unix seconds or ISO 8601, as something that sorts correctly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw

from spagree.errors import SHOWN_PROBLEMS, DataError
from spagree.read.annotations import ROW, TIME
from spagree.read.tables import shown

# Seconds since 1970 (UTC): numbers are taken as they are, a date without zone is taken as UTC
# whatever the zone of the machine (which a cast to TIMESTAMPTZ would use).
NUMBER = f"try_cast({TIME} AS DOUBLE)"
HAS_ZONE = f"regexp_matches({TIME}, ':.*([zZ]|[+-][0-9:]+)$')"
WITH_ZONE, WITHOUT_ZONE = (f"epoch(try_cast({TIME} AS {kind}))" for kind in ("TIMESTAMPTZ", "TIMESTAMP"))
DATE = f"CASE WHEN {HAS_ZONE} THEN {WITH_ZONE} ELSE {WITHOUT_ZONE} END"
SECONDS = f"coalesce(CASE WHEN isfinite({NUMBER}) THEN {NUMBER} END, CASE WHEN isfinite({DATE}) THEN {DATE} END)"


def seconds_from_text(frame: nw.LazyFrame[Any], source: str, column: str) -> nw.LazyFrame[Any]:
    """A time column of text as seconds; refuses what is neither a number nor a date.

    Written in the engine's own language (the frame is a duckdb table) because narwhals has no
    cast that turns failures into nulls, and a failure must be reported with its row.
    """
    relation = frame.to_native()
    unreadable = relation.filter(f"{TIME} IS NOT NULL AND {SECONDS} IS NULL")
    total = unreadable.aggregate("count(*)").fetchall()[0][0]
    if total:
        numbered = f', "{ROW}"' if ROW in relation.columns else ""
        first = unreadable.project(f"{TIME}{numbered}").limit(SHOWN_PROBLEMS).fetchall()
        problems = [f"{source}: {_row(row)}column {shown(column)}: {shown(value)}" for value, *row in first]
        raise DataError(
            f"{total:,} values of the time column are neither a number (unix seconds) nor an ISO 8601 date; "
            "correct them, or name another column with --time",
            problems,
            total,
        )
    seconds: nw.LazyFrame[Any] = nw.from_native(relation.project(f"* REPLACE ({SECONDS} AS {TIME})"))
    return seconds


def _row(number: Sequence[int]) -> str:
    return f"row {number[0]}: " if number else ""


def from_frame(frame: nw.LazyFrame[Any], column: str, is_guess: bool) -> nw.LazyFrame[Any]:
    """The time column of a data frame: numbers and dates as they are, text parsed as ISO 8601.

    Text is parsed only where the column was named: whether all of it can be parsed is not known
    before the frame is collected, and a guess must not make that fail.
    """
    kind = frame.collect_schema()[TIME]
    if kind.is_numeric() or kind.is_temporal():
        return frame
    if kind == nw.String and not is_guess:
        return _parsed(frame, column)
    raise DataError(
        f"--time {shown(column)}: the column holds {kind}, which does not sort as a time; "
        "convert it to a number or a datetime"
    )


def _parsed(frame: nw.LazyFrame[Any], column: str) -> nw.LazyFrame[Any]:
    """Text as datetimes. Tried before it is needed, so that what cannot be parsed is not a fault of the count."""
    try:
        parsed = frame.with_columns(nw.col(TIME).str.to_datetime())
        parsed.select(nw.col(TIME).max()).collect()
        return parsed
    except Exception as error:
        reason = str(error).splitlines()[0]
        raise DataError(
            f"--time {shown(column)}: not all of its texts are ISO 8601 dates ({reason}); "
            "convert the column to a number or a datetime"
        ) from error
