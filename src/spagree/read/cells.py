"""What cells become, on every engine: missing values, text, one type, counts, times; one row per cell.

narwhals says it once for all engines; the SQL and the Spark functions here are what it lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from spagree.errors import SHOWN_PROBLEMS, DataError, Warning, count, opt
from spagree.read.annotations import ANNOTATOR, COUNT, ITEM, LABEL, ROW, TIME, nw
from spagree.read.frames import collected, is_spark
from spagree.read.table import EXACT, Table, cell, shown, sql_literal, sql_name, wrong_cell


def with_missing(frame: nw.LazyFrame[Any], missing: Sequence[str], *, normalize: bool = False) -> nw.LazyFrame[Any]:
    """Null where a label, id or time is NaN, or a label is a text that means missing; refuses lists and records.

    With ``normalize``, labels in another case or with blanks around them mean missing, too.
    """
    schema = frame.collect_schema()
    for role in (ITEM, ANNOTATOR, LABEL):
        if role in schema and (schema[role].is_nested() or schema[role] == nw.Object):
            raise DataError(
                f"the column of the {role} holds {schema[role]}, several values per cell; if these are all labels of "
                f"an item: {opt.format('lists')}; otherwise make each cell one text or number first"
            )
    changed = [
        nw.when(~nw.col(role).is_nan()).then(nw.col(role) + 0.0).alias(role)  # −0.0 + 0.0 is 0.0 on every engine
        for role in (ITEM, LABEL, ANNOTATOR, TIME)
        if role in schema and schema[role].is_float()
    ]
    cleaned = frame.with_columns(*changed) if changed else frame
    if not missing:
        return cleaned
    label = as_text(LABEL, schema[LABEL])
    is_missing = label.is_in([str(text) for text in missing])
    if normalize:
        plain = [str(text).strip().lower() for text in missing]
        is_missing = is_missing | label.str.strip_chars().str.to_lowercase().is_in(plain)
    return cleaned.with_columns(nw.when(~is_missing).then(nw.col(LABEL)).alias(LABEL))


def in_one_type(frame: nw.LazyFrame[Any], positions: Sequence[int]) -> tuple[nw.LazyFrame[Any], tuple[Warning, ...]]:
    """Columns to be stacked, in one type: numbers if all are numbers, otherwise text."""
    schema = frame.collect_schema()
    kinds = {schema[cell(p)] for p in positions}
    if len(kinds) == 1:
        return frame, ()
    if all(kind.is_numeric() for kind in kinds):
        wanted: Any = nw.Float64 if any(kind.is_float() for kind in kinds) else nw.Int64
        return frame.with_columns(nw.col(cell(p)).cast(wanted) for p in positions), ()
    names = ", ".join(sorted(map(str, kinds)))
    warning = Warning("mixed_types", f"the columns hold several types ({names}); their text was used as the label")
    return frame.with_columns(as_text(cell(p), schema[cell(p)]).alias(cell(p)) for p in positions), (warning,)


def as_text(name: str, kind: Any) -> nw.Expr:
    """A column as text; whole numbers without decimals, because pandas stores integers with gaps as floats."""
    column = nw.col(name)
    if not kind.is_float():
        return column.cast(nw.String)
    is_whole = (column == column.round(0)) & (column.abs() < EXACT)
    whole = nw.when(is_whole).then(column).otherwise(nw.lit(0.0)).cast(nw.Int64).cast(nw.String)
    return nw.when(is_whole).then(whole).otherwise(nw.when(~column.is_null()).then(column.cast(nw.String)))


def refuse_text_counts(frame: nw.LazyFrame[Any], table: Table, positions: Sequence[int]) -> None:
    """Refuse columns of a data frame whose type cannot hold counts."""
    schema = frame.collect_schema()
    wrong = [p for p in positions if not schema[cell(p)].is_numeric()]
    if wrong:
        names = [f"column {shown(table.columns[p])} holds {schema[cell(p)]}" for p in wrong]
        raise DataError(f"{table.name}: counts must be whole numbers; name the class columns with {opt.label}", names)


def whole_counts(frame: nw.LazyFrame[Any], table: Table) -> nw.LazyFrame[Any]:
    """Counts as integers; refuses a cell that is negative, fractional, empty or text, and says where it is."""
    schema, row = frame.collect_schema(), [ROW] if table.is_ordered else []
    if table.is_text:  # in SQL: only there does a failed cast give null instead of an error
        value = f"try_cast({COUNT} AS DOUBLE)"
        is_whole = f"{value} >= 0 AND {value} = floor({value}) AND {value} <= {EXACT}"
        faulty = frame.to_native().filter(f"NOT coalesce(isfinite({value}) AND {is_whole}, false)").order(ROW)
        wrong = list(faulty.project(f"{LABEL}, {COUNT}, {ROW}").limit(SHOWN_PROBLEMS + 1).fetchall())
    else:
        number = nw.col(COUNT)
        fault = number.is_null() | (number < 0) | (number > EXACT)
        fault = fault if schema[COUNT].is_integer() else fault | (number % 1 != 0)
        fault = fault | number.is_nan() if schema[COUNT].is_float() else fault
        wrong = collected(frame.filter(fault).select(LABEL, COUNT, *row).head(SHOWN_PROBLEMS + 1))
    if wrong:
        problems = [wrong_cell(table.name, label, value, row) for label, value, *row in wrong[:SHOWN_PROBLEMS]]
        at_least = "at least " if len(wrong) > SHOWN_PROBLEMS else ""
        cells = count(len(problems), "cell is not a count", "cells are not counts")
        raise DataError(
            f"{table.name}: {at_least}{cells} (whole numbers from 0); correct the table, and write 0 if nobody chose "
            "the class (PivotTable Options in Excel: for empty cells show 0)",
            problems,
        )
    if table.is_text:
        whole = f"* REPLACE (CAST(CAST({COUNT} AS DOUBLE) AS BIGINT) AS {COUNT})"
        converted: nw.LazyFrame[Any] = nw.from_native(frame.to_native().project(whole))
        return converted
    return frame.with_columns(nw.col(COUNT).cast(nw.Int64))


def unpivoted(
    frame: nw.LazyFrame[Any], kept: Sequence[str], names: Mapping[str, str], variable: str, value: str
) -> nw.LazyFrame[Any]:
    """One row per cell of the columns in ``names`` (key → the name to show), beside the ``kept`` columns.

    Names get a prefix while they are column names, so that none can collide.
    """
    if frame.implementation is nw.Implementation.DUCKDB:
        # The same in SQL: on duckdb, narwhals' unpivot drops nulls and knows only the default connection.
        texts = ", ".join(map(sql_literal, names.values()))
        cells = f"unnest([{texts}]) AS {variable}, unnest([{', '.join(names)}]) AS {value}"
        return cast(
            "nw.LazyFrame[Any]", nw.from_native(frame.to_native().project(", ".join([*map(sql_name, kept), cells])))
        )
    if is_spark(frame):
        # The same in Spark, where a name with a dot or a backtick cannot be the name of a column on the way.
        from pyspark.sql import functions as sql

        pairs = [sql.struct(sql.lit(name).alias(variable), sql.col(key).alias(value)) for key, name in names.items()]
        exploded = frame.to_native().select(*kept, sql.inline(sql.array(*pairs)))
        return cast("nw.LazyFrame[Any]", nw.from_native(exploded))
    marked = [nw.col(key).alias("=" + name) for key, name in names.items()]
    tall = frame.select(*kept, *marked).unpivot(
        ["=" + name for name in names.values()], index=list(kept), variable_name=variable, value_name=value
    )
    return tall.with_columns(nw.col(variable).cast(nw.String).str.slice(1))


# Seconds since 1970 (UTC): numbers stay as they are, and a date without a zone is in UTC, whatever the
# machine's zone (which a cast to TIMESTAMPTZ would use).
NUMBER = f"try_cast({TIME} AS DOUBLE)"
HAS_ZONE = f"regexp_matches({TIME}, ':.*([zZ]|[+-][0-9:]+)$')"
WITH_ZONE, WITHOUT_ZONE = (f"epoch(try_cast({TIME} AS {kind}))" for kind in ("TIMESTAMPTZ", "TIMESTAMP"))
DATE = f"CASE WHEN {HAS_ZONE} THEN {WITH_ZONE} ELSE {WITHOUT_ZONE} END"
SECONDS = f"coalesce(CASE WHEN isfinite({NUMBER}) THEN {NUMBER} END, CASE WHEN isfinite({DATE}) THEN {DATE} END)"
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", ", %H:%M", ", %H:%M:%S")
DATES = {
    "day": ("%d/%m/%Y", "%d-%m-%Y", "%d.%m.%Y", "%d/%m/%y", "%d.%m.%y", "%d %b %Y", "%d %B %Y"),
    "month": ("%m/%d/%Y", "%m-%d-%Y", "%m/%d/%y", "%b %d, %Y", "%B %d, %Y"),
}


def seconds_from_text(
    frame: nw.LazyFrame[Any], source: str, column: str, written: str | None = None
) -> tuple[nw.LazyFrame[Any], tuple[Warning, ...]]:
    """A time column of text as seconds; refuses what is neither a number nor a date.

    In SQL (the frame is a duckdb table) because narwhals has no cast that turns failures into nulls, and a failure
    must be reported with its row.
    """
    relation = frame.to_native()
    seconds = SECONDS if written is None else _seconds(written)
    warnings: tuple[Warning, ...] = ()
    wrong = _unreadable(relation, seconds)
    total = len(wrong)
    if total and written is None and (order := _order_of_dates(relation, column)) is not None:
        first, seconds = order
        message = (
            f"times in column {shown(column)} were read with the {first} first; if that is wrong, use {opt.time_format}"
        )
        warnings = (Warning("time_format", message),)
    elif total:
        numbered = f', "{ROW}"' if ROW in relation.columns else ""
        examples = wrong.project(f"{TIME}{numbered}").limit(SHOWN_PROBLEMS).fetchall()
        wanted = "neither a number (unix seconds) nor an ISO 8601 date"
        wanted = wanted if written is None else f"not in the format of {opt.time_format(written)}"
        remedy = f"give the format with {opt.time_format}, correct the cells, or name another column with {opt.time}"
        problems = [wrong_cell(source, column, value, row) for value, *row in examples]
        raise DataError(f"{count(total, 'time is', 'times are')} {wanted}; {remedy}", problems, total)
    read: nw.LazyFrame[Any] = nw.from_native(relation.project(f"* REPLACE ({seconds} AS {TIME})"))
    return read, warnings


def _unreadable(relation: Any, seconds: str) -> Any:
    return relation.filter(f"{TIME} IS NOT NULL AND ({seconds}) IS NULL")


def _seconds(*formats: str) -> str:
    """The SQL for seconds from texts in the first of these formats that fits."""
    return f"epoch(try_strptime({TIME}, [{', '.join(map(sql_literal, formats))}]))"


def _order_of_dates(relation: Any, column: str) -> tuple[str, str] | None:
    """Day first or month first, if only one of them fits every time, and its seconds; refused if both do."""
    formats = {first: [date + clock for date in dates for clock in CLOCKS] for first, dates in DATES.items()}
    fitting = {
        first: seconds
        for first, alternatives in formats.items()
        if not len(_unreadable(relation, seconds := _seconds(*alternatives)))
    }
    if len(fitting) > 1:
        usable = [
            next((one for one in alternatives if not len(_unreadable(relation, _seconds(one)))), None)
            for alternatives in formats.values()
        ]
        which = f"say which: {' or '.join(map(opt.time_format, usable))}"
        remedy = which if all(usable) else "write all in one way"
        raise DataError(
            f"the times of column {shown(column)} can be read with the day or with the month first; {remedy}"
        )
    return next(iter(fitting.items()), None)


def times(frame: nw.LazyFrame[Any], column: str, is_guess: bool, written: str | None = None) -> nw.LazyFrame[Any]:
    """The time column of a data frame: numbers and dates as they are, text parsed as ISO 8601.

    Text is parsed only if the user named the column, because a guess must not fail, and at once, so that a failure is
    not reported as a failure to count.
    """
    kind = frame.collect_schema()[TIME]
    if kind.is_numeric() or kind.is_temporal():
        return frame
    if kind != nw.String or (written is None and is_guess):
        raise DataError(
            f"{opt.time(column)}: the column holds {kind}, which does not sort as a time; "
            "convert it to a number or a datetime"
        )
    try:
        parsed = frame.with_columns(nw.col(TIME).str.to_datetime(format=written))
        parsed.select(nw.col(TIME).max()).collect()
    except Exception as error:
        reason = str(error).splitlines()[0]
        wanted = "ISO 8601 dates" if written is None else f"in the format of {opt.time_format(written)}"
        raise DataError(
            f"{opt.time(column)}: not all of its texts are {wanted} ({reason}); "
            "convert the column to a number or a datetime"
        ) from error
    return parsed
