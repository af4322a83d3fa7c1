"""compare(): measure several data sets, or people and a model, and say which agree more.

A model is an annotator in the source, or has a source of its own: read as the people's is where that fits, spelled as
theirs is, one table per run.
"""

from __future__ import annotations

import difflib
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatchcase
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import narwhals as nw
import numpy as np
import polars

from spagree.agreement import Agreement
from spagree.codes import UNKNOWN, Int32s, Ints, in_order
from spagree.counts.count import ItemCounts
from spagree.counts.engines import column_names, row_count, rows, to_polars
from spagree.counts.fetch import places
from spagree.counts.items import spelled
from spagree.counts.labels import BAR, canonical, options_of, warn_variants
from spagree.counts.mark_tally import MarkTally
from spagree.counts.marks import CodedMarks
from spagree.counts.policies import Clean, respelled
from spagree.counts.tally import group_name
from spagree.errors import (
    ColumnError,
    DataError,
    FileError,
    Message,
    SpagreeError,
    UsageError,
    Warning,
    count,
    listed,
    opt,
)
from spagree.estimate import Bootstrap
from spagree.estimate.comparison import ALPHA, SPA, Compared, Known, Pair, Side, compare_sides, holm, p_of
from spagree.estimate.findings import is_named_like_a_model
from spagree.estimate.marks import KnownMarks, mark_figures, model_among_marks
from spagree.estimate.models import MARGIN, ModelFindings, among_people
from spagree.estimate.other_annotators import Others
from spagree.estimate.similarity import NOMINAL, Metric
from spagree.estimate.uncertainty import AUTO, Estimate
from spagree.estimate.votes import LabelCounts, scale_of, votes_of_items
from spagree.estimate.weights import weigh
from spagree.measuring import measure, policies
from spagree.options import TOOLS, Reading, declared, is_of_spans, split
from spagree.present.charts.studies import comparison_chart, models_chart
from spagree.present.document import comparison_document, models_document, to_json
from spagree.present.sentences import model_sentence, pair_sentence
from spagree.present.terminal import comparison_summary, models_summary, rendered
from spagree.present.words import escape_controls
from spagree.read import read
from spagree.read.annotations import ANNOTATOR, CLUSTER, COUNT, GROUP, ITEM, LABEL, TIME, is_missing
from spagree.read.timestamps import unix_seconds
from spagree.spans import SpanAgreement, measure_spans

if TYPE_CHECKING:
    from rich.console import Group

MOST_AT_HOME = 50_000_000  # annotations; above this only tallies are compared
ESTIMATING = ("weights", "level", "metric", "order", "interval_for")
MOST_SHOWN = 20  # annotators in a message
SHOWN_LABELS = 3
WIDE = "wide"
Columns = tuple[polars.Series | None, polars.Series | None, polars.Series | None]


@overload
def compare(
    *sources: Any, names: Sequence[str] | None = None, before: Any = None, model: None = None, **options: Any
) -> Comparison: ...


@overload
def compare(
    *sources: Any, model: str | Sequence[str] | Mapping[str, Any], margin: float = MARGIN, **options: Any
) -> ModelComparison: ...


def compare(
    *sources: Any,
    names: Sequence[str] | None = None,
    before: Any = None,
    model: str | Sequence[str] | Mapping[str, Any] | None = None,
    margin: float = MARGIN,
    **options: Any,
) -> Comparison | ModelComparison:
    """Compare the agreement of two or more sources, or of a model with people.

    ``options`` are those of :func:`measure` and apply to every source. ``before`` splits one source in two by time.
    ``model`` names annotators of the one source that are models (``*`` matches the runs of one), or maps
    the name of a model to a source with its labels, ``item, label``. With ``format="spans"``, or ``seen``, what people
    mark is compared, with the options of :func:`measure_spans`; ``seen`` is then a list with one for each source.

    >>> import spagree
    >>> rows = [(1, "ann", "yes"), (1, "bob", "yes"), (1, "gpt", "yes"), (2, "ann", "no"), (2, "bob", "yes")]
    >>> rows += [(2, "gpt", "no"), (3, "bob", "no"), (3, "ann", "no"), (3, "gpt", "no")]
    >>> gpt = spagree.compare(rows, model="gpt").models["gpt"]
    >>> round(gpt.difference.value, 3), gpt.items, gpt.verdict
    (0.167, 3, 'cannot_tell')
    """
    of_spans = is_of_spans(options)
    if model is not None:
        if len(sources) != 1 or before is not None or names is not None:
            raise UsageError(f"{opt.model}: give one source, and neither {opt.names} nor {opt.before}")
        if not 0 <= margin < 1:
            raise UsageError(f"margin {margin}: how much less agreement still counts as good, for example 0.05")
        if of_spans:
            return compare_marks(measure_spans(sources[0], **options), model, margin)
        return compare_models(sources[0], model, margin, options)
    of_spans = of_spans or any(isinstance(source, MarkTally) for source in sources)
    if before is not None:
        if len(sources) != 1:
            raise UsageError(f"{opt.before}: give the one source to be split by time")
        whole = (measure_spans if of_spans else measure)(sources[0], **options)
        return with_groups(halves(whole, before, options), options)
    if len(sources) in (0, 1):
        raise UsageError(f"give two sources or more, one source with {opt.before}, or one source with {opt.model}")
    named = names_of(sources) if names is None else list(names)
    if len(named) != len(sources) or len(set(named)) != len(named):
        raise UsageError(f"names {named!r}: give each of the {len(sources)} sources a different name")
    if not of_spans:
        return with_groups({name: measure(each, **options) for name, each in zip(named, sources, strict=True)}, options)
    seen = options.pop("seen", None) or [None] * len(sources)
    if not isinstance(seen, list | tuple) or len(seen) != len(sources):
        raise UsageError(f"{opt.seen} says who saw what in one source; give it for each of the {len(sources)} sources")
    marks = zip(named, sources, seen, strict=True)
    return with_groups({name: measure_spans(source, saw, **options) for name, source, saw in marks}, options)


def names_of(sources: Sequence[Any]) -> list[str]:
    """Names for sources: the shortest distinct file names; A, B, C for others.

    >>> names_of(["a/round.csv", "b/round.csv", [("q1", "ann", "yes")]])
    ['a/round.csv', 'b/round.csv', 'C']
    """
    paths = [os.fspath(source) if isinstance(source, str | os.PathLike) else None for source in sources]
    short = [None if path is None else Path(path).name for path in paths]
    chosen = [name if short.count(name) == 1 else path for name, path in zip(short, paths, strict=True)]
    letters = [name or chr(ord("A") + place) for place, name in enumerate(chosen)]
    twice = len(set(letters)) < len(letters)
    return [f"{place + 1}: {name}" for place, name in enumerate(letters)] if twice else letters


# Several data sets ---------------------------------------------------------------------------------


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
    labels = {name: each for name, each in agreements.items() if isinstance(each, Agreement)}
    if labels:
        # A distance counts relative to the largest: a round in which nobody used the ends of the scale would otherwise
        # seem to agree less than one in which somebody did
        scale = Counter[str]()
        for each in labels.values():
            scale.update(scale_of(each.evidence.tally))
        metric = next(iter(labels.values())).evidence.metric.over(scale)
        labels = {name: rescaled(each, metric) for name, each in labels.items()}
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
        of_labels = {name: group_part(each, group, options) for name, each in labels.items()}
        of_marks = {name: each.only(each.marks.of_group(group)) for name, each in marks.items()}
        parts[group] = compared(of_labels, of_marks)
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
    """The agreement of one group on the scale of the whole, from the annotations if at hand, or from the tally."""
    frame, metric = agreement.evidence.annotations, agreement.evidence.metric
    if frame is None:
        return rescaled(measure(agreement.evidence.tally.groups()[group], **estimating(options)), metric)
    values = [value for (value,) in rows(frame.select(GROUP).unique(subset=[GROUP]))]
    chosen = next(value for value in values if group_name(value) == group)
    is_member = nw.col(GROUP).is_null() if is_missing(chosen) else nw.col(GROUP) == nw.lit(chosen)
    return rescaled(measured_part(frame.filter(is_member).drop(GROUP), options), metric)


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
    found = [_named(agreement) for agreement in agreements.values()]
    columns = [(None, None, None) if own is None else own[2] for own in found]
    items, people, clusters = (_numbered([each[place] for each in columns]) for place in range(3))
    sides = []
    for place, (name, agreement) in enumerate(agreements.items()):
        own, known, counted = found[place], None, agreement.evidence
        if own is not None:
            votes, others, (names, _, cluster) = own
            votes = votes if cluster is None else replace(votes, cluster=clusters[place])
            by_n = weigh(counted.weights, counted.tally, counted.similar).every
            known = Known(votes, None if names is None else items[place], by_n, others, items[place], people[place])
        sides.append(Side(name, {SPA: agreement.spa, ALPHA: agreement.chance[ALPHA]}, counted.tally, known))
    return sides


def _named(agreement: Agreement) -> tuple[LabelCounts, Others | None, Columns] | None:
    """The votes of items in rows, the annotators, and the names of items, annotators and clusters.

    A tally has no names of items; None if it does not know its annotators.
    """
    evidence, names = agreement.evidence, None
    held, others, people, clusters = evidence.held, None, None, None
    if held is None or evidence.tally.annotations > MOST_AT_HOME:
        told = evidence.others
        if isinstance(told, str) or told.kinds is None:
            return None
        return told.votes, told, (None, polars.Series(told.kinds.annotators, dtype=polars.String), None)
    if ANNOTATOR in evidence.columns:
        table, names = evidence.table, evidence.table.names
        others, people = (
            Others.of(table, None, evidence.similarity),
            polars.Series(table.annotators, dtype=polars.String),
        )
        votes, others = others.votes, None if table.unknown else others
    else:
        frame = to_polars(held.counts)
        names = frame[ITEM].unique().sort()
        votes = votes_of_items(frame, similarity=evidence.similarity)
    if CLUSTER in column_names(held.frame):
        of_items = to_polars(held.frame.select(ITEM, CLUSTER).unique(subset=[ITEM]))
        clusters = names.alias(ITEM).to_frame().join(of_items, on=ITEM, how="left", maintain_order="left")[CLUSTER]
    return votes, others, (names, people, clusters)


def _numbered(columns: Sequence[polars.Series | None]) -> list[Ints]:
    """Equal texts get equal numbers, in all columns; −1 if missing. 7 and 7.0 are the same item in every source."""
    none = polars.Series([], dtype=polars.String)
    texts = [none if each is None else spelled(each) for each in columns]
    every = polars.concat([each.alias("name") for each in [none, *texts]]).drop_nulls().unique().sort()
    return [places(each, every).cast(polars.Int64).fill_null(-1).to_numpy() for each in texts]


# Models among people -------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class ModelComparison(Presented):
    """One or more models among people; made by :func:`compare` with ``model``.

    >>> import spagree
    >>> labels = [(item, who, "yes" if item % 2 else "no") for item in range(20) for who in ("ann", "bob", "gpt")]
    >>> gpt = spagree.compare(labels, model="gpt", margin=0.05).models["gpt"]
    >>> gpt.items, gpt.humans_count
    (20, 2)
    """

    models: Mapping[str, ModelFindings]
    warnings: tuple[Warning, ...] = ()
    """What was noticed while reading and counting, and labels that models and people write differently."""

    @property
    def undefined(self) -> str | None:
        """Why no model can be compared; None if any difference is known."""
        gaps = [model.difference for model in self.models.values()]
        return None if any(gap.value is not None for gap in gaps) else gaps[0].undefined

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values, in full precision."""
        return models_document(self.models)

    def summary(self) -> Group:
        """What a terminal shows."""
        return models_summary(self.models)

    def sentences(self) -> list[str]:
        """One conclusion per model."""
        return [model_sentence(model) for model in self.models.values()]

    def chart(self) -> Any:
        """People with each other and with each model; below, the differences with the margin."""
        return models_chart(self.models)


def compare_models(
    source: Any, model: str | Sequence[str] | Mapping[str, Any], margin: float, options: Mapping[str, Any]
) -> ModelComparison:
    """Separate models from people, and compare each model with the people."""
    for name in (option for option in ("cluster", "by") if options.get(option) is not None):
        raise UsageError(
            f"{opt[name]} is for comparing two sources or more; leave it out, or choose rows with {opt.where}"
        )
    measured = measure(source, **options)
    held = measured.evidence.held
    if held is None or measured.evidence.tally.annotations > MOST_AT_HOME:
        raise UsageError("model: a tally does not say who gave which label; compare the annotations themselves")
    whole = as_text(held.frame)
    names = [model] if isinstance(model, str) else model
    # Models by name, with the source of their labels; None for annotators in the data
    sources = dict(names) if isinstance(names, Mapping) else dict.fromkeys(names)
    annotators = whole[ANNOTATOR].drop_nulls().unique().sort().to_list()
    compared = {each for name in sources if sources[name] is None for each in _matching(name, annotators)}
    others = [name for name in annotators if name not in compared and is_named_like_a_model(name)]
    is_machine = polars.col(ANNOTATOR).is_in([*compared, *others])
    people = whole.filter(polars.col(ANNOTATOR).is_null() | ~is_machine)
    if people.is_empty():
        raise DataError(
            f"{opt.model(', '.join(sources))}: everybody in the source is a model; add the labels of people"
        )
    runs = {name: _runs(name, own_file, whole, people, options) for name, own_file in sources.items()}
    unknown = people[ANNOTATOR].null_count() == people.height
    annotator = None if unknown else ANNOTATOR
    named = people.select(ITEM, LABEL) if unknown else people.select(ITEM, ANNOTATOR, LABEL)
    humans = measure(named, item=ITEM, annotator=annotator, label=LABEL, **estimating(options))
    whom = options.get("interval_for", AUTO)
    findings = {name: _findings(name, people, runs[name], humans, margin, whom) for name in runs}
    labels = {label for tables in ([people], *runs.values()) for table in tables for label in table[LABEL]}
    noticed = [warning for warning in measured.noticed if warning.code != "label_variants"]
    noticed += [warning for warning in humans.warnings if warning.code == "not_a_person"]
    found = _warnings(findings, runs, people, others, is_nominal=humans.evidence.metric.rule == NOMINAL)
    return ModelComparison(findings, (*noticed, *warn_variants(labels), *found))


def compare_marks(
    found: SpanAgreement, model: str | Sequence[str] | Mapping[str, Any], margin: float
) -> ModelComparison:
    """Compare models with people by what they mark: whole spans, and character by character."""
    annotators = found.marks.annotators
    named = {name: _matching(name, annotators) for name in ([model] if isinstance(model, str) else model)}
    for name in (name for name, matching in named.items() if not matching):
        raise UsageError(f"model {name!r} is not among the annotators of the marks: {listed(annotators, MOST_SHOWN)}")
    models = [each for matching in named.values() for each in matching]
    others = [name for name in annotators if name not in models and is_named_like_a_model(name)]
    warnings = [each for each in found.warnings if each.code not in ("not_random", "not_a_person")]  # of models too
    findings = {}
    for name in models:
        levels = (("whole marks", False),) if found.marks.keys else (("whole spans", False), ("characters", True))
        for title, characters in levels:
            among = model_among_marks(
                name, found.marks, {*models, *others}, characters=characters, margin=margin, **found.options
            )
            findings[f"{name}, {title}"] = replace(among, name=f"{name}, {title}")
    return ModelComparison(findings, (*warnings, *_left_out(others)))


def _left_out(others: Sequence[str]) -> Iterator[Warning]:
    if others:
        yield Warning(
            "other_models_left_out",
            f"{_listed([*map(repr, others)])}: named like a model, so left out of the people; to compare one with "
            f"people: {opt.model(others[0])}. If it is a person, give them another name",
        )


def _matching(name: str, annotators: Sequence[str]) -> list[str]:
    """The annotators with this name; with *, the runs of one model."""
    return [name] if name in annotators else [annotator for annotator in annotators if fnmatchcase(annotator, name)]


def _runs(
    name: str, source: Any, whole: polars.DataFrame, people: polars.DataFrame, options: Mapping[str, Any]
) -> list[polars.DataFrame]:
    """The labels of a model, one table per run: of annotators in the source, or in a source of its own.

    There its annotators are runs, or else the rows that label an item again.
    """
    if source is None:
        annotators = whole[ANNOTATOR].drop_nulls().unique().sort().to_list()
        matching = _matching(name, annotators)
        if matching:
            return [whole.filter(polars.col(ANNOTATOR) == annotator) for annotator in matching]
        if not annotators and not Path(name).exists():
            raise UsageError(
                f"model {name!r}: the annotators of the source are unknown; name their column with {opt.annotator}"
            )
        if not Path(name).exists():
            near = difflib.get_close_matches(name, annotators, n=1)
            hint = f"did you mean {near[0]!r}? Annotators" if near else "annotators"
            raise UsageError(f"model {name!r} is neither an annotator nor a file; {hint}: {_listed(annotators)}")
    rows = as_text(_read(name, name if source is None else source, split(options)[0]))
    rows = _respelled(rows.drop_nulls([ITEM, LABEL]), people, options)
    if rows.is_empty():
        raise DataError(f"model {name}: no row has an item and a label; check its columns")
    if rows[ANNOTATOR].null_count():
        occurrence = polars.col(LABEL).cum_count().over(ITEM).cast(polars.String)
        rows = rows.with_columns(occurrence.alias(ANNOTATOR))
    return [part for _, part in sorted(rows.partition_by(ANNOTATOR, as_dict=True).items())]


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:MOST_SHOWN], *([f"… {len(names) - MOST_SHOWN:,} more"] if names[MOST_SHOWN:] else [])])


def _read(name: str, source: Any, reading: Mapping[str, Any]) -> nw.LazyFrame[Any]:
    """A model's labels, read with the options for the people's data if they fit, otherwise as a table of their own."""
    refused: list[SpagreeError] = []
    for options in _ways(reading):
        try:
            frame = read(source, **options).frame
        except FileError:
            raise
        except SpagreeError as error:
            refused.append(error)
            continue
        names = column_names(frame)
        if COUNT in names:
            raise DataError(f"model {name}: a table of counts does not say which label it gave; write item, label")
        return frame
    alone = refused[2]
    if isinstance(alone, ColumnError):
        first = str(alone).splitlines()[0]
        raise ColumnError(f"model {first}; call its columns item and label, or as they are called in the people's file")
    raise alone


def _ways(reading: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The options to read a model's source with: its export like theirs, their columns, none of them, their layout."""
    always = {name: reading[name] for name in ("missing",) if reading.get(name)}
    columns = {name: reading[name] for name in (ITEM, LABEL) if reading.get(name) is not None}
    of_tools = {name for name, option in declared(Reading).items() if option.group == TOOLS} | {"question"}
    yield always | columns | {name: value for name, value in reading.items() if name in of_tools}
    yield always | columns
    yield always
    if reading.get("format") == WIDE:
        yield always | {"format": WIDE} | {name: value for name, value in columns.items() if name == ITEM}


def _respelled(rows: polars.DataFrame, people: polars.DataFrame, options: Mapping[str, Any]) -> polars.DataFrame:
    """Labels and names as the policies spell those of the people."""
    reading, estimating = split(options)
    how = policies(Reading(**reading), estimating.get("metric"))
    human_options = {option for label in people[LABEL].unique() for option in (label, *options_of(label, BAR))}
    labels = dict(rows[LABEL].value_counts().iter_rows())
    clean, _ = respelled(Clean(nw.from_native(rows.lazy()), {}), labels, how, human_options)
    return to_polars(clean.frame)


def _findings(
    name: str,
    people: polars.DataFrame,
    runs: Sequence[polars.DataFrame],
    humans: Agreement,
    margin: float,
    interval_for: str,
) -> ModelFindings:
    """People and the runs of a model in codes they share, compared."""
    distinct = {
        column: polars.concat([table[column] for table in (people, *runs)]).drop_nulls().unique().sort()
        for column in (ITEM, ANNOTATOR, LABEL)
    }

    def codes_of(table: polars.DataFrame, column: str) -> Int32s:
        return places(table[column], distinct[column]).cast(polars.Int32).fill_null(UNKNOWN).to_numpy()

    item, annotator, label = (codes_of(people, column) for column in (ITEM, ANNOTATOR, LABEL))
    labels, names, given = distinct[LABEL].to_list(), distinct[ANNOTATOR].to_list(), humans.data.labels
    codes = in_order(item, label, annotator, labels, names)
    answers = np.full((len(runs), len(distinct[ITEM])), UNKNOWN, dtype=np.int64)
    for row, run in zip(answers, runs, strict=True):
        if run[ITEM].is_duplicated().any():
            raise DataError(f"model {name}: one run labels an item twice; give each run a different name")
        row[codes_of(run, ITEM)] = codes_of(run, LABEL)
    return among_people(
        name,
        codes,
        answers,
        humans.evidence.by_n(),
        similarity=humans.evidence.metric.matrix(labels, np.array([float(given.get(label, 0)) for label in labels])),
        margin=margin,
        level=humans.spa.level,
        weights=humans.spa.weights,
        interval_for=interval_for,
    )


def _warnings(
    findings: Mapping[str, ModelFindings],
    runs: Mapping[str, Sequence[polars.DataFrame]],
    people: polars.DataFrame,
    others: Sequence[str],
    *,
    is_nominal: bool,
) -> Iterator[Warning]:
    """Models that were not counted as people, labels that can agree with nobody, and models that give one label only.

    Variants of people's spelling have a warning of their own; other metrics than equality give credit to other labels.
    """
    yield from _left_out(others)
    human_labels = {canonical(label) for label in people[LABEL].unique()}
    for name, tables in runs.items():
        given = (label for table in tables for label in table[LABEL])
        own = Counter(label for label in given if is_nominal and canonical(label) not in human_labels)
        if own:
            often = own.most_common(SHOWN_LABELS)
            shown = ", ".join(f"{label!r} ×{times:,}" for label, times in often)
            more = f" and {count(len(own) - SHOWN_LABELS, 'more label')}" if len(own) > SHOWN_LABELS else ""
            yield Warning(
                "labels_of_model_only",
                f"{name} gave labels that no person gave, which count as disagreement: {shown}{more}. If they mean "
                f"that it did not answer, leave them out with {opt.missing(often[0][0])}",
            )
        if len(findings[name].labels) == 1:
            yield Warning(
                "model_of_one_label",
                f"{name} gave one label only, {next(iter(findings[name].labels))!r}: it tells no item from another, "
                "however often people agree with it; see how it does on the other classes",
            )


def as_text(frame: nw.LazyFrame[Any]) -> polars.DataFrame:
    """(item, annotator, label) as text, one row per annotation; the annotator is null if unknown."""
    names = column_names(frame)
    rows = to_polars(frame.select([name for name in (ITEM, ANNOTATOR, LABEL, COUNT) if name in names]))
    who = spelled(rows[ANNOTATOR]) if ANNOTATOR in names else polars.lit(None, polars.String)
    texts = rows.select(spelled(rows[ITEM]), who.alias(ANNOTATOR), rows[LABEL].cast(polars.String))
    if COUNT not in names:
        return texts
    return texts.select(polars.all().repeat_by(rows[COUNT].cast(polars.Int64))).explode(texts.columns)
