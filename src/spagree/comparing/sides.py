"""Agreements → their comparison, within each group too, and one source before and after a date."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import polars

from spagree.agreement import Agreement
from spagree.codes import Ints
from spagree.counts.count import ItemCounts
from spagree.counts.engines import column_names, row_count, rows, to_polars
from spagree.counts.fetch import places
from spagree.counts.items import spelled
from spagree.counts.marks import CodedMarks
from spagree.counts.tally import group_name
from spagree.errors import DataError, UsageError, count
from spagree.estimate import Bootstrap
from spagree.estimate.comparison import ALPHA, SPA, Compared, Known, Pair, Side, compare_sides, holm, p_of
from spagree.estimate.marks import KnownMarks, mark_figures
from spagree.estimate.others import InTally, Others
from spagree.estimate.similarity import Metric
from spagree.estimate.uncertainty import AUTO, Estimate
from spagree.estimate.votes import LabelCounts, scale_of, votes_of_items
from spagree.estimate.weights import weigh
from spagree.measuring import measure
from spagree.messages import Message, Warning, opt
from spagree.present.charts.studies import comparison_chart
from spagree.present.document import comparison_document, to_json
from spagree.present.sentences import pair_sentence
from spagree.present.terminal import comparison_summary, rendered
from spagree.present.words import escape_controls
from spagree.read.annotations import ANNOTATOR, CLUSTER, COUNT, GROUP, ITEM, LABEL, TIME, is_missing
from spagree.read.timestamps import unix_seconds
from spagree.spans import SpanAgreement

if TYPE_CHECKING:
    from rich.console import Group

MOST_AT_HOME = 50_000_000  # annotations; above this only tallies are compared
ESTIMATING = ("weights", "level", "metric", "order", "interval_for")


class Presented(ABC):
    """What every comparison provides: figures, a terminal summary, sentences and a chart."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values, in full precision."""

    @abstractmethod
    def summary(self) -> Group:
        """What a terminal shows."""

    @abstractmethod
    def sentences(self) -> list[str]:
        """The result of each comparison in a sentence."""

    def to_json(self, indent: int | None = 2) -> str:
        """All figures as JSON, in the documented format."""
        return to_json(self.to_dict(), indent)

    def __str__(self) -> str:
        return rendered(self.summary())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {' '.join(self.sentences())}>"

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(escape_controls(words))}</p>" for words in self.sentences())


@dataclass(frozen=True, repr=False)
class Comparison(Presented, Compared):
    """Two or more data sets compared; made by :func:`compare`.

    >>> import spagree
    >>> before = [(1, "ann", "yes"), (1, "bob", "no"), (2, "ann", "no"), (2, "bob", "no")]
    >>> after = [(1, "ann", "yes"), (1, "bob", "yes"), (2, "ann", "no"), (2, "bob", "no")]
    >>> comparison = spagree.compare(before, after, names=("before", "after"))
    >>> comparison.difference.value, comparison.shared_items, comparison.verdict
    (0.5, 2, 'cannot_tell')
    """

    groups: Mapping[str, Comparison] = field(default_factory=dict)
    """With ``by``, the same comparison within each group that all sources have; Holm's correction covers all groups."""
    agreements: Mapping[str, Agreement | SpanAgreement] = field(default_factory=dict)

    @property
    def warnings(self) -> tuple[Warning, ...]:
        """What was noticed while reading and counting, with the name of the data set."""
        return tuple(
            replace(warning, message=Message(f"{name}: {warning.message.marked.removeprefix(f'{name}: ')}"))
            for name, agreement in self.agreements.items()
            for warning in (agreement.noticed if isinstance(agreement, Agreement) else agreement.warnings)
        )

    @property
    def difference(self) -> Estimate:
        """SPA of the second, or agreement on whole spans, minus that of the first."""
        return self.pairs[0].difference

    @property
    def kappa_difference(self) -> Estimate | None:
        """Krippendorff's alpha of the second minus that of the first; None for marks."""
        return self.pairs[0].kappa_difference

    @property
    def shared_items(self) -> int | None:
        """Pairable items that the first two have in common; None if only tallies are known."""
        return self.pairs[0].shared_items

    @property
    def verdict(self) -> str:
        """Whether the second agrees more: agrees_more, agrees_less, label_mix, the_same or cannot_tell."""
        return self.pairs[0].verdict

    @property
    def undefined(self) -> str | None:
        """Why nothing can be compared; None if any difference is known."""
        return None if any(pair.difference.value is not None for pair in self.pairs) else self.difference.undefined

    def against_first(self) -> tuple[Pair, ...]:
        """Every other data set minus the first."""
        return tuple(pair for pair in self.pairs if pair.a is self.sides[0])

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values, in full precision."""
        return comparison_document(self)

    def summary(self) -> Group:
        """What a terminal shows."""
        return comparison_summary(self)

    def sentences(self) -> list[str]:
        """One conclusion per pair of data sets."""
        return [pair_sentence(pair) for pair in self.pairs]

    def chart(self) -> Any:
        """Every data set with its interval; below, the differences with theirs."""
        return comparison_chart(self)


def with_groups(
    agreements: Mapping[str, Agreement] | Mapping[str, SpanAgreement], options: Mapping[str, Any]
) -> Comparison:
    """The comparison and, with ``by``, the same within each group all sources have; Holm covers all groups."""
    interval_for = options.get("interval_for", AUTO)
    labels = on_one_scale({name: each for name, each in agreements.items() if isinstance(each, Agreement)})
    marks = {name: each for name, each in agreements.items() if isinstance(each, SpanAgreement)}

    def compared(labels: Mapping[str, Agreement], marks: Mapping[str, SpanAgreement]) -> Comparison:
        sides = [*sides_of(labels), *mark_sides(marks)]
        return Comparison(tuple(sides), compare_sides(sides, interval_for), agreements={**labels, **marks})

    whole = compared(labels, marks)
    if options.get("by") is None:
        return whole
    groups_of = {name: [*each.evidence.tally.groups()] for name, each in labels.items()}
    groups_of |= {name: each.marks.group_names() for name, each in marks.items()}
    names_with: dict[str, list[str]] = {}
    for name, having in groups_of.items():
        for group in having:
            names_with.setdefault(group, []).append(name)
    shared = [group for group, names in names_with.items() if len(names) == len(agreements)]
    if not shared:
        raise DataError(f"{opt.by(options['by'])}: the sources have no group in common; compare them without it")
    parts = {}
    for group in shared:
        of_labels = {
            name: rescaled(group_part(each, group, options), each.evidence.metric) for name, each in labels.items()
        }
        parts[group] = compared(
            of_labels, {name: each.only(each.marks.of_group(group)) for name, each in marks.items()}
        )
    adjusted = iter(holm([p_of(pair.difference) for comparison in parts.values() for pair in comparison.pairs]))
    groups = {
        group: replace(comparison, pairs=tuple(replace(pair, p_holm=next(adjusted)) for pair in comparison.pairs))
        for group, comparison in parts.items()
    }
    not_compared = {group: names for group, names in names_with.items() if group not in shared}
    return replace(whole, groups=groups, not_compared=not_compared)


def mark_sides(agreements: Mapping[str, SpanAgreement]) -> list[Side]:
    """Every agreement on marks with its name: items, people and labels by numbers shared by all."""
    found = {name: each.counted for name, each in agreements.items() if isinstance(each.counted, CodedMarks)}
    numbers = {
        column: _numbered([polars.Series(getattr(marks, column), dtype=polars.String) for marks in found.values()])
        for column in ("items", "annotators", "labels", "clusters", "keys")
    }
    sides = []
    for name, agreement in agreements.items():
        known = None
        if name in found:
            own = (each[[*found].index(name)] for each in numbers.values())
            known = KnownMarks(found[name], agreement.options["weights"], *own)
        sides.append(Side(name, mark_figures(agreement.findings), known=known))
    return sides


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
    frame = agreement.evidence.annotations
    if frame is None:
        return measure(agreement.evidence.tally.groups()[group], **estimating(options))
    values = [value for (value,) in rows(frame.select(GROUP).unique(subset=[GROUP]))]
    chosen = next(value for value in values if group_name(value) == group)
    is_member = nw.col(GROUP).is_null() if is_missing(chosen) else nw.col(GROUP) == nw.lit(chosen)
    return measured_part(frame.filter(is_member).drop(GROUP), options)


def on_one_scale(agreements: Mapping[str, Agreement]) -> dict[str, Agreement]:
    """The same agreements under a metric whose scale is that of all their labels together.

    A distance counts relative to the largest: a round in which nobody used the ends of the scale would otherwise seem
    to agree less than one in which somebody did.
    """
    metrics = [agreement.evidence.metric for agreement in agreements.values()]
    labels: dict[str, float] = {}
    for agreement in agreements.values():
        for label, size in scale_of(agreement.evidence.tally).items():
            labels[label] = labels.get(label, 0.0) + size
    return {name: rescaled(agreement, metrics[0].over(labels)) for name, agreement in agreements.items()}


def rescaled(agreement: Agreement, metric: Metric) -> Agreement:
    """The agreement under another metric."""
    if metric == agreement.evidence.metric:
        return agreement
    evidence = replace(agreement.evidence, metric=metric)
    drawn = {name: agreement.options[name] for name in ("bootstrap", "seed") if name in agreement.options}
    bootstrap = Bootstrap(drawn["bootstrap"], drawn.get("seed", 0)) if drawn.get("bootstrap") else None
    findings = evidence.find(bootstrap)
    return replace(agreement, findings=replace(findings, warnings=agreement.warnings), evidence=evidence)


def halves(
    agreement: Agreement | SpanAgreement, before: Any, options: Mapping[str, Any]
) -> dict[str, Agreement] | dict[str, SpanAgreement]:
    """The annotations made before a moment, or visits that ended before it, and those from then on."""
    frame = agreement.marks.when() if isinstance(agreement, SpanAgreement) else agreement.evidence.annotations
    if frame is None or TIME not in column_names(frame):
        raise UsageError(f"before needs the time of each annotation; name its column with {opt.time}")
    unknown = row_count(frame.filter(nw.col(TIME).is_null()))
    if unknown:
        raise DataError(
            f"before: {count(unknown, 'annotation has', 'annotations have')} no time; fill it in, or leave them out"
        )
    moment = _moment(before, frame.collect_schema()[TIME])
    parts: dict[str, Any] = {}
    for name, chosen in ((f"before {before}", nw.col(TIME) < moment), (f"from {before}", nw.col(TIME) >= moment)):
        part = frame.filter(chosen).drop(TIME)
        if not row_count(part):
            raise DataError(f"no annotation was made {name}; check the date and the column of the time")
        if isinstance(agreement, SpanAgreement):
            parts[name] = agreement.only(to_polars(part)["visit"].to_numpy().astype(np.int64))
        else:
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
        own, known, counted = found[place], None, agreement.evidence
        if own is not None:
            votes = own.votes if own.clusters is None else replace(own.votes, cluster=clusters[place])
            by_n = weigh(counted.weights, counted.tally, counted.similar).every
            row = None if own.names is None else items[place]
            known = Known(votes, row, by_n, own.others, items[place], people[place])
        sides.append(Side(name, {SPA: agreement.spa, ALPHA: agreement.chance[ALPHA]}, counted.tally, known))
    return sides


@dataclass(frozen=True)
class _Items:
    """The items of an agreement in rows, with their names, clusters and annotators; a tally has no names of items."""

    votes: LabelCounts
    names: polars.Series | None
    clusters: polars.Series | None
    others: Others | None
    people: polars.Series | None

    @classmethod
    def of(cls, agreement: Agreement) -> _Items | None:
        """From single annotations, or from a tally; None if that does not know its annotators."""
        evidence = agreement.evidence
        if evidence.held is None or evidence.tally.annotations > MOST_AT_HOME:
            told = evidence.others
            if not isinstance(told, InTally):
                return None
            return cls(told.votes, None, None, told, polars.Series(told.kinds.annotators, dtype=polars.String))
        held, others, people = evidence.held, None, None
        if ANNOTATOR in evidence.columns:
            table, names = evidence.table, evidence.table.names
            others = Others.of(table, None, evidence.similarity)
            counts, people = others.votes, polars.Series(table.annotators, dtype=polars.String)
            others = None if table.unknown else others
        else:
            frame = to_polars(held.counts)
            names = frame[ITEM].unique().sort()
            counts = votes_of_items(frame, similarity=evidence.similarity)
        clusters = None
        if CLUSTER in column_names(held.frame):
            of_items = to_polars(held.frame.select(ITEM, CLUSTER).unique(subset=[ITEM]))
            clusters = names.alias(ITEM).to_frame().join(of_items, on=ITEM, how="left", maintain_order="left")[CLUSTER]
        return cls(counts, names, clusters, others, people)


def _numbered(columns: Sequence[polars.Series | None]) -> list[Ints]:
    """Equal texts get equal numbers, in all columns; −1 if missing. 7 and 7.0 are the same item in every source."""
    none = polars.Series([], dtype=polars.String)
    texts = [none if each is None else spelled(each) for each in columns]
    every = polars.concat([each.alias("name") for each in [none, *texts]]).drop_nulls().unique().sort()
    return [places(each, every).cast(polars.Int64).fill_null(-1).to_numpy() for each in texts]
