"""Where agreement is lost: by item, class, annotator, pair of annotators and over time.

An :class:`Evidence` holds the counts and computes each breakdown once, on demand; :class:`Breakdowns` holds the
results as values, which is all that pages, charts and tables see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree.codes import MOST_SUMMED, Codes, Floats, Ints
from spagree.counts.engines import to_polars
from spagree.counts.fetch import FEW, MOST_TO_FETCH, NO_ANNOTATORS, answers, coded, fetched_few, places
from spagree.counts.items import Held
from spagree.counts.labels import MOST_ANNOTATIONS
from spagree.counts.people import MOST_KINDS, count_meetings, people_in_codes
from spagree.counts.tally import NO_VALUE, Tally, group_name
from spagree.errors import Absent, UsageError, or_none, outcome
from spagree.estimate.actions import Grounds, steps
from spagree.estimate.annotators import annotators, annotators_in_tally
from spagree.estimate.chance import NO_ANNOTATIONS, NO_PATTERNS
from spagree.estimate.comparison import find_groups
from spagree.estimate.disagreement import Disagreement, are_sets, classes, option_agreement
from spagree.estimate.findings import Findings, find
from spagree.estimate.others import MOST_ONE_BY_ONE, InTally, Others
from spagree.estimate.pairs import (
    MOST_COUNTED,
    Concentration,
    Overlap,
    concentration,
    is_cheap,
    overlap,
    overlap_warnings,
    pairs,
)
from spagree.estimate.similarity import NOMINAL, SET_METRICS, Metric
from spagree.estimate.uncertainty import ANNOTATORS, AUTO, ITEMS, Bootstrap, Estimate
from spagree.estimate.votes import (
    ALONE,
    LabelCounts,
    cluster_numbers,
    item_groups,
    renumbered,
    scale_of,
    votes,
    votes_in_codes,
    votes_of_items,
)
from spagree.estimate.weights import ByN, weigh, weigh_at
from spagree.messages import Message, Warning, opt
from spagree.options import CustomWeights
from spagree.read.annotations import ANNOTATOR, CLUSTER, GROUP, ITEM, TIME, FewRows, nw
from spagree.read.frames import is_spark

if TYPE_CHECKING:
    import polars
    from numpy.typing import NDArray

    from spagree.estimate.actions import Step
    from spagree.estimate.comparison import Groups
    from spagree.estimate.disagreement import Levels

MOST_FROM_A_CLUSTER = 50_000_000
NO_ITEMS = "a tally holds no single items; measure the annotations themselves"
FEWEST_IN_TEAMS = 3  # annotators: this many or fewer cannot form two teams
MOST_PEOPLE = 40  # annotators whose pairs a page compares
MOST_DISPUTED = 60  # items on a page, by their share of all disagreement
NOT_CHECKED = (
    f"above {MOST_TO_FETCH:,} annotations ({FEW:,} with {opt.interval_for('items')}), teams that share no item are not "
    f"looked for, nor above {MOST_ANNOTATIONS:,} labels that only one annotator uses; a report ({opt.report} FILE) and "
    "agreement.overlap() show them"
)
NO_KINDS_OF_METRIC = "a tally does not say how annotators agree under a metric; measure the annotations themselves"
NO_CLUSTERS = (
    "a tally does not say in which clusters each annotator's items are, so their errors are unknown; measure the "
    "annotations themselves"
)
NO_GROUPS = f"no column of groups was named; name one with {opt.by}"
NO_TIMES_IN_TALLY = "a tally does not say when annotations were made; measure the annotations themselves"
NO_KINDS = (
    f"what annotations each annotator made is not counted with {opt.interval_for('items')} (leave it out), nor where "
    f"there are more than {MOST_KINDS:,} kinds of them (measure a sample of the items)"
)
TABLES = ("items", "classes", "confusion", "distribution", "annotators", "pairs", "development", "plan")


NOT_COMPUTED = Absent(UsageError("this breakdown was not computed"))


@dataclass(frozen=True, slots=True)
class Breakdowns:
    """The findings and where agreement is lost: each breakdown is a value, or absent with a reason."""

    findings: Findings
    classes: polars.DataFrame | Absent = NOT_COMPUTED
    confusion: polars.DataFrame | Absent = NOT_COMPUTED
    """Pairs of classes by their share of all disagreement."""
    levels: Levels | Absent = NOT_COMPUTED
    """On how many items all agree, a majority does, or none."""
    annotators: polars.DataFrame | Absent = NOT_COMPUTED
    pairs: polars.DataFrame | Absent = NOT_COMPUTED
    """Pairs among the busiest annotators."""
    overlap: Overlap | Absent = NOT_COMPUTED
    development: polars.DataFrame | Absent = NOT_COMPUTED
    concentration: Concentration | Absent = NOT_COMPUTED
    """Who made most of the annotations, and how few people made half."""
    disputed: polars.DataFrame | Absent = NOT_COMPUTED
    """The items that contribute most to all disagreement."""
    answers: polars.DataFrame | Absent = NOT_COMPUTED
    """Who gave these items which label."""
    options: polars.DataFrame | Absent = NOT_COMPUTED
    """Agreement on each option, if labels are sets of options."""
    groups: Groups | Absent = NOT_COMPUTED
    """Agreement of each group, if a group column was named."""
    steps: tuple[Step, ...] | Absent = NOT_COMPUTED
    """What to do next, the most telling finding first."""


BREAKDOWNS = tuple(each.name for each in fields(Breakdowns) if each.name != "findings")


@dataclass(frozen=True)
class Evidence:
    """A tally, what is behind it if available, and the settings; computes each breakdown once."""

    tally: Tally
    held: Held | None
    weights: str | CustomWeights
    level: float
    metric: Metric
    interval_for: str = AUTO
    source: Any = field(default=None, repr=False, compare=False)  # as its user named it: an address may hold a password
    _frames: dict[Any, polars.DataFrame] = field(default_factory=dict, init=False, repr=False, compare=False)
    _steps: dict[Any, tuple[Findings, tuple[Step, ...]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """What follows from findings, with these: as long as they are held, no others get their id."""

    @property
    def annotations(self) -> nw.LazyFrame[Any] | None:
        """Who gave which item which label."""
        return None if self.held is None else self.held.annotations

    @cached_property
    def columns(self) -> list[str]:
        """The columns of the annotations; none if only counts are known."""
        return [] if self.held is None else self.held.columns

    @property
    def items(self) -> Held:
        """The items, which a tally does not keep."""
        if self.held is None:
            raise UsageError(NO_ITEMS)
        return self.held

    @cached_property
    def is_cluster(self) -> bool:
        """Whether the annotations are on an engine that takes seconds to answer."""
        if not self.columns or isinstance(self.items.rows, FewRows):
            return False
        return is_spark(self.items.frame) or self.items.frame.implementation.is_dask()

    @property
    def looks_at_each(self) -> bool:
        """Whether annotations are known, and few enough to look at each of them for a score."""
        most = {ITEMS: FEW, ANNOTATORS: MOST_FROM_A_CLUSTER}.get(self.interval_for, MOST_TO_FETCH)
        return bool(self.columns) and self.tally.annotations <= most

    @cached_property
    def codes(self) -> Codes:
        """The annotations as integers."""
        if not self.columns:
            raise UsageError(NO_ANNOTATIONS)
        if ANNOTATOR not in self.columns:
            raise UsageError(NO_ANNOTATORS)
        held = self.items
        if held.codes is not None:
            return held.codes
        fetched = fetched_few(held.rows) if isinstance(held.rows, FewRows) else None
        if fetched is not None:
            return fetched[0]
        if self.tally.annotations > MOST_FROM_A_CLUSTER and self.is_cluster:
            raise UsageError(
                f"breakdowns by annotator fetch all {self.tally.annotations:,} annotations to this machine, more than "
                f"the {MOST_FROM_A_CLUSTER:,} fetched from a cluster; measure a sample of the items instead"
            )
        return self.table

    @cached_property
    def table(self) -> Codes:
        """The annotations as integers, with names and times: fetched once for everything that needs each of them."""
        if not self.columns:
            raise UsageError(NO_ANNOTATIONS)
        codes = self.items.codes
        return codes if codes is not None and codes.item_names is not None else coded(self.items.frame)

    @cached_property
    def item_clusters(self) -> Ints | None:
        """The cluster of each item, by its code in the table; one without a cluster has its own. None if not named."""
        if CLUSTER not in self.columns:
            return None
        clusters = to_polars(self.items.frame.select(ITEM, CLUSTER).unique(subset=[ITEM]))
        place = places(clusters[ITEM], self.table.names).to_numpy().astype(np.int64)
        names = [*map(group_name, clusters[CLUSTER])]
        named, numbers = cluster_numbers(names, NO_VALUE), np.empty(len(place), dtype=np.int64)
        numbers[place] = np.where(named < 0, -1 - place, named)
        return numbers

    @cached_property
    def group_of_each(self) -> NDArray[np.object_]:
        """The group of each annotation, in the order of the table."""
        grouped, table = self.tally.grouped, self.table
        if self.held is None or grouped is None:
            raise UsageError(NO_ANNOTATIONS)
        if grouped.of_annotators and grouped.annotators is not None:
            group = {who: name for name, people in grouped.annotators.items() for who in people}
            of_each = np.array([*(group[who] for who in table.annotators), NO_VALUE], dtype=object)
            return of_each[table.annotator]  # the last one is for unknown annotators
        groups = to_polars(self.items.frame.select(ITEM, GROUP).unique(subset=[ITEM]))
        of_item = np.empty(len(table.names), dtype=object)
        of_item[places(groups[ITEM], table.names).to_numpy()] = [*map(group_name, groups[GROUP])]
        return of_item[table.item]

    @cached_property
    def uses_codes(self) -> bool:
        """Whether items are read from the coded annotations rather than from the engine."""
        return ANNOTATOR in self.columns and self.tally.annotations <= MOST_FROM_A_CLUSTER and not self.is_cluster

    def breakdowns(self, findings: Findings, names: Sequence[str] = BREAKDOWNS) -> Breakdowns:
        """These breakdowns as values."""
        builders = self._builders(findings)
        return Breakdowns(findings, **{name: outcome(builders[name]) for name in names})

    def summary(self, findings: Findings) -> Breakdowns:
        """What the headline, the checks and the steps need: the overlap, if it is cheap."""
        found = self.breakdowns(findings, ["concentration", "steps"])
        return replace(found, overlap=outcome(lambda: self.quick_overlap))

    def tables(self, findings: Findings) -> dict[str, polars.DataFrame]:
        """Every table in full: all items, all pairs; tables that do not exist are left out."""
        more = {"items": self.all_items, "pairs": self.pairs, "distribution": self.distribution, "plan": self.plan}
        builders = self._builders(findings) | more
        results = {name: outcome(builders[name]) for name in TABLES}
        return {name: frame for name, frame in results.items() if not isinstance(frame, Absent)}

    def _builders(self, findings: Findings) -> dict[str, Callable[[], Any]]:
        def known_groups() -> Groups:
            if self.groups is None:
                raise UsageError(NO_GROUPS)
            return self.groups

        return {
            "classes": self.classes,
            "confusion": self.confusion,
            "levels": lambda: self.disagreement.levels,
            "annotators": lambda: self.annotators(findings.spa.value),
            "pairs": lambda: self.pairs(busiest=MOST_PEOPLE),
            "overlap": lambda: self.overlap,
            "development": self.development,
            "concentration": self.concentration,
            "disputed": lambda: self.disputed(MOST_DISPUTED),
            "answers": self.answers,
            "options": self.options,
            "groups": known_groups,
            "steps": lambda: self.steps(findings),
        }

    def _once(self, key: Any, make: Callable[[], polars.DataFrame]) -> polars.DataFrame:
        """A frame computed on first request; callers may modify their copy."""
        if key not in self._frames:
            self._frames[key] = make()
        return self._frames[key].clone()

    def item_table(self) -> Any:
        """A polars DataFrame of all items; for a lazy source, a lazy frame of its engine with agreement only."""
        is_lazy = isinstance(nw.from_native(self.source, pass_through=True), nw.LazyFrame)
        return self.items.agreement().to_native() if is_lazy else self.items.table()

    def all_items(self) -> polars.DataFrame:
        """Agreement of each item."""
        return to_polars(nw.from_native(self.item_table()).lazy())

    def hardest(self, most: int) -> polars.DataFrame:
        """The items with the least agreement."""
        return self._once(("hardest", most), lambda: self.items.worst(most))

    @cached_property
    def disagreement(self) -> Disagreement:
        """Disagreement broken down by item and by pair of classes."""
        return Disagreement(self.votes, self.by_n())

    def disputed(self, most: int) -> polars.DataFrame:
        """The items that contribute most to all disagreement."""
        items, codes = self.items, self.table if self.uses_codes else None
        return self._once(("disputed", most), lambda: self.disagreement.disputed(items, codes, most))

    def answers(self) -> polars.DataFrame:
        """Who gave which label to the items that contribute most to all disagreement."""
        items = self.disputed(MOST_DISPUTED)["item"]
        return answers(self.table, items) if self.uses_codes else self.items.answers(items)

    def options(self) -> polars.DataFrame:
        """Agreement on each option, if labels are sets of options."""
        if self.metric.rule not in SET_METRICS and not are_sets(self.votes.labels):
            raise UsageError("the labels are not sets of options")
        return self._once("options", lambda: option_agreement(self.votes, self.by_n()))

    def steps(self, findings: Findings, target: float | None = None) -> tuple[Step, ...]:
        """What to do next, the most telling finding first; about people only if their annotations are at hand."""
        key = id(findings), target
        if key not in self._steps:
            self._steps[key] = findings, steps(findings, self._grounds, target)
        return self._steps[key][1]

    @cached_property
    def _grounds(self) -> Grounds:
        def weigh(sizes: list[int]) -> ByN:
            return weigh_at(sizes, self.weights, self.tally, self.similar).by_n

        at_hand = self.looks_at_each and not self.is_cluster
        is_timed = at_hand and TIME in self.columns
        codes = or_none(lambda: self.table if is_timed or self.tally.clusters else self.codes) if at_hand else None
        seconds = None
        if codes is not None and codes.time is not None:  # since 1970 for dates, numbers as they are, NaN where unknown
            import polars

            time = codes.time
            since_1970 = time.cast(polars.Datetime("us")).dt.epoch("us") / 1e6 if time.dtype.is_temporal() else time
            seconds = since_1970.cast(polars.Float64).fill_null(np.nan).to_numpy()
        return Grounds(
            or_none(lambda: self.votes),
            weigh,
            codes,
            or_none(lambda: self.item_clusters) if codes else None,
            or_none(lambda: self.similarity),
            or_none(lambda: self.quick_overlap),
            or_none(lambda: self.groups),
            seconds,
            has_items=self.held is not None,
        )

    def of_groups(self) -> dict[str, Breakdowns]:
        """Each group with what to do next in it, as if it had been measured alone."""
        if self.groups is None:
            return {}
        at_hand = self._grounds.codes is not None
        found = {}
        for name, tally in self.tally.groups().items():
            alone, findings = replace(self, tally=tally, held=None), self.groups.findings[name]
            grounds, many = alone._grounds, alone.concentration
            if at_hand:
                part, item = self.table.only(self.group_of_each == name)
                cluster = None if self._grounds.cluster is None else self._grounds.cluster[item]
                grounds = replace(grounds, codes=part, cluster=cluster, similarity=self.similarity, has_items=True)
                grounds = replace(grounds, overlap=overlap(part) if is_cheap(part) else None)
            told = Breakdowns(findings, concentration=outcome(many), steps=steps(findings, grounds))
            found[name] = told if grounds.overlap is None else replace(told, overlap=grounds.overlap)
        return found

    def classes(self) -> polars.DataFrame:
        """Agreement of each class."""
        return self._once("classes", lambda: classes(self.votes, self.level))

    @cached_property
    def groups(self) -> Groups | None:
        """Each group of items or annotators, if a group column was named."""
        if self.tally.grouped is None or self.tally.grouped.by is None:
            return None
        told = self.others
        people: Any = told
        if isinstance(told, InTally):
            people = Message(NO_KINDS) if self.columns else NO_ANNOTATIONS
        elif isinstance(told, Others):
            people = told.why_not if told.unknown else (self.table, self.group_of_each)
        return find_groups(self.tally, self.weights, self.level, self.metric, people, self.interval_for)

    def confusion(self) -> polars.DataFrame:
        """Pairs of classes by their share of all disagreement."""
        return self._once("confusion", self.disagreement.classes)

    def annotators(self, spa: float | None) -> polars.DataFrame:
        """Agreement of each annotator with the others, and SPA without them."""

        def make() -> polars.DataFrame:
            if not self.columns or self.tally.annotations > MOST_FROM_A_CLUSTER:
                if not isinstance(self.others, InTally):
                    raise UsageError(self.others if isinstance(self.others, str) else NO_ANNOTATIONS)
                if self.tally.clusters is not None:
                    raise UsageError(NO_CLUSTERS)
                return annotators_in_tally(self.others, self.by_n(), spa, self.level)
            cluster = self.item_clusters
            codes = self.codes if cluster is None else self.table
            each = replace(votes_in_codes(codes), similarity=self.similarity, cluster=cluster)
            return annotators(codes, each, self.by_n(), spa, self.level)

        return self._once("annotators", make)

    def pairs(self, least: int = 1, busiest: int | None = None, worst: int | None = None) -> polars.DataFrame:
        """Agreement and kappa of pairs of annotators who share at least ``least`` items, among the busiest."""

        def make() -> polars.DataFrame:
            codes = self.codes if busiest is None else self.codes.of_busiest(busiest)
            return pairs(codes, self.similar, self.level, least, worst)

        return self._once(("pairs", least, busiest, worst), make)

    def distribution(self) -> polars.DataFrame:
        """Pairable items by their number of annotations and their agreement."""
        import polars

        groups = item_groups(self.tally, self.similar)
        columns = {"annotations": groups.n, "agreement": groups.agreement, "items": groups.items.astype(np.int64)}
        grouped = polars.DataFrame(columns).group_by("annotations", "agreement").agg(polars.col("items").sum())
        return grouped.sort("annotations", "agreement")

    @cached_property
    def overlap(self) -> Overlap:
        """Who annotated items together."""
        return overlap(self.codes)

    @cached_property
    def quick_overlap(self) -> Overlap:
        """The overlap if it is cheap to compute; thin bridges only if few pairs met."""
        if self.columns and not self.looks_at_each:
            raise UsageError(NOT_CHECKED)
        return self.overlap if is_cheap(self.codes) else overlap(self.codes, bridges=False)

    def development(self, steps: int = 40) -> polars.DataFrame:
        """SPA as it was at the end of each step in time."""
        from spagree.estimate.development import NO_TIMES, development

        if not self.columns:
            raise UsageError(NO_TIMES_IN_TALLY)
        if TIME not in self.columns:
            raise UsageError(NO_TIMES)
        return self._once(("development", steps), lambda: development(self.table, steps, self._measured, self.metric))

    def plan(self, most: int | None = None, **wanted: Any) -> polars.DataFrame:
        """What a narrower interval takes, for these annotators."""
        from spagree.estimate.plan import plan_for

        def make() -> polars.DataFrame:
            now = self._measured(self.tally)
            return plan_for(self.tally, self.weights, lambda: self.similar, now, most=most, **wanted)

        return self._once(("plan", most, *wanted.items()), make)

    def _measured(self, tally: Tally) -> Estimate:
        from spagree.estimate.development import measured

        return measured(tally, self.weights, self.level, self.metric.over(scale_of(self.tally)))

    def warnings(self) -> tuple[Warning, ...]:
        """Warnings about the overlap, if it is cheap to compute."""
        people = len(self.tally.annotators or ())
        if people <= FEWEST_IN_TEAMS or not self.looks_at_each:
            return ()
        return tuple(overlap_warnings(self.quick_overlap))

    @cached_property
    def others(self) -> Others | str:
        """What the annotators say about other annotators, or why they say nothing.

        Single annotations say most; of very many, as of a tally, only the kinds of annotations of each are known.
        """
        if self.columns and self.tally.annotators is None:
            return Message(NO_ANNOTATORS)
        codes, met = None, None
        if not self.looks_at_each:
            people = self.tally.people
            if people is None:
                return Message(NO_KINDS) if self.columns else NO_ANNOTATIONS
            if self.similar is not None:
                return NO_KINDS_OF_METRIC
            pairs = sum(items * n * (n - 1) // 2 for n, items in self.tally.items_by_n.items())
            if self.columns and len(people) <= MOST_COUNTED and pairs <= MOST_SUMMED:
                met = count_meetings(self.items.frame)
        else:
            fetched = outcome(lambda: self.codes if self.tally.clusters is None else self.table)
            if isinstance(fetched, Absent):
                return fetched.reason
            cluster = None if self.item_clusters is None else renumbered(np.maximum(self.item_clusters, ALONE))
            are_plain = cluster is None and self.similar is None and self.tally.grouped is None
            are_many = self.tally.annotations > MOST_ONE_BY_ONE and self.interval_for != ANNOTATORS
            people = people_in_codes(fetched) if are_plain and are_many else None
            if people is None:
                return Others.of(fetched, self.patterns, self.similarity, cluster)
            codes = fetched
        return InTally.of_tally(self.tally, people, self.patterns, met, codes)

    def find(self, bootstrap: Bootstrap | None) -> Findings:
        """Everything that is estimated from the tally, and for other annotators where they are known."""
        settings = self.weights, self.level, bootstrap, self.metric
        return find(self.tally, *settings, self.others, self.interval_for, self.patterns)

    def concentration(self) -> Concentration:
        """Who made most of the annotations, and how few people made half."""
        people = concentration(self.tally)
        if people is None:
            raise UsageError(NO_ANNOTATORS)
        return people

    @cached_property
    def patterns(self) -> LabelCounts | None:
        """The votes of all items, alike ones together; None if the tally does not keep them."""
        return votes(self.tally, self.metric)

    @cached_property
    def votes(self) -> LabelCounts:
        """The votes of all items: from the tally, or item by item if it keeps no patterns."""
        if self.patterns is not None:
            return self.patterns
        if self.uses_codes:
            return votes_in_codes(self.table)
        if self.held is None:
            raise UsageError(f"{NO_PATTERNS}; measure the annotations themselves")
        return votes_of_items(to_polars(self.items.counts))

    @property
    def similar(self) -> LabelCounts | None:
        """The votes, if the metric gives partial credit; None if only equal labels agree."""
        return None if self.metric.rule == NOMINAL else self.votes

    @cached_property
    def similarity(self) -> Floats | None:
        """How much two labels agree under the metric; None if only equal labels agree."""
        return None if self.similar is None else self.similar.similarity

    def by_n(self, scheme: str | CustomWeights | None = None) -> ByN:
        """Weights for the numbers of annotations that occur, or would occur without one annotator."""
        found = weigh(self.weights if scheme is None else scheme, self.tally, self.similar)
        if found.unknown is not None:
            raise UsageError(found.unknown)
        return found.every
