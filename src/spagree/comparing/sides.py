"""Agreements → their comparison, within each group too, and one source before and after a date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from spagree.agreement import Agreement
from spagree.comparing.results import Comparison
from spagree.counts.coded import places
from spagree.counts.count import group_name
from spagree.counts.engines import column_names, row_count, rows, to_polars
from spagree.counts.items import ItemCounts, spelled
from spagree.errors import DataError, UsageError, count
from spagree.estimate import Bootstrap
from spagree.estimate.breakdowns import MOST_FOR_BOTH
from spagree.estimate.comparison import Known, Side, compare_sides, holm, p_of, weights_of
from spagree.estimate.label_counts import LabelCounts, scale_of, votes_of_items
from spagree.estimate.others import Others
from spagree.estimate.similarity import Metric
from spagree.estimate.uncertainty import AUTO
from spagree.grouping import Ints
from spagree.late import nw
from spagree.measuring import measure
from spagree.messages import opt
from spagree.read.annotations import ANNOTATOR, CLUSTER, COUNT, GROUP, ITEM, LABEL, TIME, is_missing
from spagree.timestamps import unix_seconds

if TYPE_CHECKING:
    import polars

MOST_AT_HOME = 50_000_000  # annotations; above this only tallies are compared
ESTIMATING = ("weights", "level", "metric", "order", "interval_for")


def with_groups(agreements: Mapping[str, Agreement], options: Mapping[str, Any]) -> Comparison:
    """The comparison and, with ``by``, the same within each group all sources have; Holm covers all groups."""
    agreements, interval_for = on_one_scale(agreements), options.get("interval_for", AUTO)
    whole = compared(agreements, interval_for)
    if options.get("by") is None:
        return whole
    names_with: dict[str, list[str]] = {}
    for name, agreement in agreements.items():
        for group in agreement.measurement.tally.groups():
            names_with.setdefault(group, []).append(name)
    shared = [group for group, names in names_with.items() if len(names) == len(agreements)]
    if not shared:
        raise DataError(f"{opt.by(options['by'])}: the sources have no group in common; compare them without it")

    def part(agreement: Agreement, group: str) -> Agreement:
        return rescaled(group_part(agreement, group, options), agreement.measurement.metric)

    parts = {
        group: compared({name: part(agreement, group) for name, agreement in agreements.items()}, interval_for)
        for group in shared
    }
    adjusted = iter(holm([p_of(pair.difference) for comparison in parts.values() for pair in comparison.pairs]))
    groups = {
        group: replace(comparison, pairs=tuple(replace(pair, p_holm=next(adjusted)) for pair in comparison.pairs))
        for group, comparison in parts.items()
    }
    not_compared = {group: names for group, names in names_with.items() if group not in shared}
    return replace(whole, groups=groups, not_compared=not_compared)


def compared(agreements: Mapping[str, Agreement], interval_for: str) -> Comparison:
    """Compare agreements that are already measured."""
    sides = sides_of(agreements)
    pairs = compare_sides(sides, interval_for)
    return Comparison(tuple(sides), pairs, agreements=dict(agreements))


def estimating(options: Mapping[str, Any]) -> dict[str, Any]:
    """The estimation options, for annotations that are already read and cleaned."""
    return {name: options[name] for name in ESTIMATING if name in options}


def measured_part(frame: nw.LazyFrame[Any], options: Mapping[str, Any]) -> Agreement:
    """Measure annotations that are already read and cleaned, on their engine."""
    names = column_names(frame)
    if COUNT in names and CLUSTER in names:
        raise UsageError(f"{opt.cluster}: parts of a table of counts are compared item by item; leave it out")
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
    chosen = next(value for value in values if group_name(value) == group)
    is_member = nw.col(GROUP).is_null() if is_missing(chosen) else nw.col(GROUP) == nw.lit(chosen)
    return measured_part(frame.filter(is_member).drop(GROUP), options)


def on_one_scale(agreements: Mapping[str, Agreement]) -> dict[str, Agreement]:
    """The same agreements under a metric whose scale is that of all their labels together.

    A distance counts relative to the largest: a round in which nobody used the ends of the scale would otherwise seem
    to agree less than one in which somebody did.
    """
    metric = next(iter(agreements.values())).measurement.metric
    labels: dict[str, float] = {}
    for agreement in agreements.values():
        for label, size in scale_of(agreement.measurement.tally).items():
            labels[label] = labels.get(label, 0.0) + size
    return {name: rescaled(agreement, metric.over(labels)) for name, agreement in agreements.items()}


def rescaled(agreement: Agreement, metric: Metric) -> Agreement:
    """The agreement under another metric; with what its people say about others, also where a score leaves it out."""
    size = agreement.measurement.tally.annotations
    in_full = MOST_FOR_BOTH < size <= MOST_AT_HOME
    if metric == agreement.measurement.metric and not in_full:
        return agreement
    measurement = replace(agreement.measurement, metric=metric, _frames={})
    drawn = {name: agreement.options[name] for name in ("bootstrap", "seed") if name in agreement.options}
    bootstrap = Bootstrap(drawn["bootstrap"], drawn.get("seed", 0)) if drawn.get("bootstrap") else None
    findings = measurement.find(bootstrap, in_full=in_full)
    return replace(agreement, findings=replace(findings, warnings=agreement.warnings), measurement=measurement)


def halves(agreement: Agreement, before: Any, options: Mapping[str, Any]) -> dict[str, Agreement]:
    """The annotations made before a moment, and those made from then on."""
    frame = agreement.measurement.annotations
    if frame is None or TIME not in column_names(frame):
        raise UsageError(f"before needs the time of each annotation; name its column with {opt.time}")
    unknown = row_count(frame.filter(nw.col(TIME).is_null()))
    if unknown:
        raise DataError(
            f"before: {count(unknown, 'annotation has', 'annotations have')} no time; fill it in, or leave them out"
        )
    moment = _moment(before, frame.collect_schema()[TIME])
    parts = {}
    for name, chosen in ((f"before {before}", nw.col(TIME) < moment), (f"from {before}", nw.col(TIME) >= moment)):
        part = frame.filter(chosen).drop(TIME)
        if not row_count(part):
            raise DataError(f"no annotation was made {name}; check the date and the column of the time")
        parts[name] = measured_part(part, options)
    return parts


def _moment(before: Any, kind: Any) -> Any:
    """A date or a number in the units of the time column: seconds since 1970 if it holds numbers."""
    try:
        number = float(before)
    except (TypeError, ValueError):
        try:
            moment = datetime.fromisoformat(str(before))
        except ValueError:
            raise UsageError(f"before {before!r} is neither a date nor a number; write it as 2024-05-01") from None
        if kind.is_numeric():
            return unix_seconds(moment)
        return moment.date() if kind == nw.Date else moment
    if not kind.is_numeric():
        raise UsageError(f"before {before}: the times are dates; write one as 2024-05-01 or 2024-05-01T14:00")
    return number


def sides_of(agreements: Mapping[str, Agreement]) -> list[Side]:
    """Every agreement with its name, ready to compare: items and people by numbers shared by all."""
    found = [_Items.of(agreement) for agreement in agreements.values()]
    items, people, clusters = (
        _numbered([None if own is None else getattr(own, column) for own in found])
        for column in ("names", "people", "clusters")
    )
    sides = []
    for place, (name, agreement) in enumerate(agreements.items()):
        own, known, counted = found[place], None, agreement.measurement
        if own is not None:
            votes = own.votes if own.clusters is None else replace(own.votes, cluster=clusters[place])
            by_n = weights_of(counted.tally, counted.weights, counted.similar)
            known = Known(votes, items[place], by_n, own.others, items[place], people[place])
        sides.append(Side(name, agreement.spa, agreement.chance["krippendorff_alpha"], counted.tally, known))
    return sides


@dataclass(frozen=True)
class _Items:
    """The items of an agreement in rows, with their names, clusters and annotators."""

    votes: LabelCounts
    names: polars.Series
    clusters: polars.Series | None
    others: Others | None
    people: polars.Series | None

    @classmethod
    def of(cls, agreement: Agreement) -> _Items | None:
        """None if only a tally is known, or there are too many annotations to fetch."""
        import polars

        measurement = agreement.measurement
        if measurement.items is None or measurement.tally.annotations > MOST_AT_HOME:
            return None
        held, others, people = measurement.items.held, None, None
        if ANNOTATOR in measurement.columns:
            table, names = measurement.table, measurement.table.names
            others = Others.of(table, None, measurement.similarity)
            counts, people = others.votes, polars.Series(table.annotators, dtype=polars.String)
            others = None if table.unknown else others
        else:
            frame = to_polars(held.counts)
            names = frame[ITEM].unique().sort()
            counts = votes_of_items(frame, similarity=measurement.similarity)
        clusters = None
        if CLUSTER in column_names(held.frame):
            of_items = to_polars(held.frame.select(ITEM, CLUSTER).unique(subset=[ITEM]))
            clusters = names.alias(ITEM).to_frame().join(of_items, on=ITEM, how="left", maintain_order="left")[CLUSTER]
        return cls(counts, names, clusters, others, people)


def _numbered(columns: Sequence[polars.Series | None]) -> list[Ints]:
    """Equal texts get equal numbers, in all columns; −1 if missing. 7 and 7.0 are the same item in every source."""
    import polars

    texts = [polars.Series([], dtype=polars.String) if each is None else spelled(each) for each in columns]
    every = polars.concat([each.alias("name") for each in texts]).drop_nulls().unique().sort()
    return [places(each, every).cast(polars.Int64).fill_null(-1).to_numpy() for each in texts]
