"""Parts of one source: before and after a moment."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import narwhals as nw

from spagree.agreement import Agreement
from spagree.errors import DataError, UsageError
from spagree.measuring import measure
from spagree.read.annotations import ANNOTATOR, CLUSTER, COUNT, GROUP, ITEM, LABEL, TIME, is_missing
from spagree.tally.engines import column_names, rows, to_polars
from spagree.tally.grouped import NO_VALUE
from spagree.tally.items import ItemCounts
from spagree.tally.tally import text


def estimating(options: Mapping[str, Any]) -> dict[str, Any]:
    """The estimation options, for annotations that are already read and cleaned."""
    return {name: options[name] for name in ("weights", "level", "metric", "order") if name in options}


def measured_part(frame: nw.LazyFrame[Any], options: Mapping[str, Any]) -> Agreement:
    """Measure annotations that are already read and cleaned, on their engine."""
    names = column_names(frame)
    if COUNT in names and CLUSTER in names:
        raise UsageError("--cluster: parts of a table of counts are compared item by item; leave it out")
    if COUNT in names:
        counts = to_polars(frame.select(ITEM, LABEL, COUNT))
        return measure(ItemCounts(counts, None, {}), **estimating(options))
    annotator, cluster, by = (name if name in names else None for name in (ANNOTATOR, CLUSTER, GROUP))
    return measure(
        frame.to_native(), item=ITEM, annotator=annotator, label=LABEL, cluster=cluster, by=by, **estimating(options)
    )


def group_part(agreement: Agreement, group: str, options: Mapping[str, Any]) -> Agreement:
    """The agreement of one group, from the annotations if available, otherwise from the tally."""
    frame = agreement.measurement.annotations
    if frame is None:
        return measure(agreement.measurement.tally.groups()[group], **estimating(options))
    values = [value for (value,) in rows(frame.select(GROUP).unique(subset=[GROUP]))]
    chosen = next(value for value in values if (NO_VALUE if is_missing(value) else text(value)) == group)
    own = nw.col(GROUP).is_null() if is_missing(chosen) else nw.col(GROUP) == nw.lit(chosen)
    return measured_part(frame.filter(own).drop(GROUP), options)


def halves(agreement: Agreement, before: Any, options: Mapping[str, Any]) -> dict[str, Agreement]:
    """The annotations made before a moment, and those made from then on."""
    frame = agreement.measurement.annotations
    if frame is None or TIME not in column_names(frame):
        raise UsageError("before needs the time of each annotation; name its column with --time")
    unknown = int(rows(frame.filter(nw.col(TIME).is_null()).select(nw.len()))[0][0])
    if unknown:
        raise DataError(f"before: {unknown:,} annotations have no time; fill it in, or leave them out")
    moment = _moment(before, frame.collect_schema()[TIME])
    parts = {f"before {before}": nw.col(TIME) < moment, f"from {before}": nw.col(TIME) >= moment}
    return {name: _some(frame, chosen, name, options) for name, chosen in parts.items()}


def _some(frame: nw.LazyFrame[Any], chosen: nw.Expr, name: str, options: Mapping[str, Any]) -> Agreement:
    part = frame.filter(chosen).drop(TIME)
    if not int(rows(part.select(nw.len()))[0][0]):
        raise DataError(f"no annotation was made {name}; check the date and the column of the time")
    return measured_part(part, options)


def _moment(before: Any, kind: Any) -> Any:
    """A date or a number in the units of the time column: seconds since 1970 if it holds numbers."""
    try:
        number = float(before)
    except (TypeError, ValueError):
        moment = _date(before)
        if kind.is_numeric():
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        return moment.date() if kind == nw.Date else moment
    if not kind.is_numeric():
        raise UsageError(f"before {before}: the times are dates; write one as 2024-05-01 or 2024-05-01T14:00") from None
    return number


def _date(before: Any) -> datetime:
    try:
        return datetime.fromisoformat(str(before))
    except ValueError:
        raise UsageError(f"before {before!r} is neither a date nor a number; write it as 2024-05-01") from None
