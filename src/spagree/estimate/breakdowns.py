"""Where agreement is lost: by item, class, annotator, pair of annotators and over time.

An :class:`Evidence` holds the counts and what is behind them; :class:`Breakdowns` holds what is found in them as
values, which is all that pages, charts and tables see.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from spagree.codes import MOST_SUMMED, Codes, Floats, Ints
from spagree.counts.engines import to_polars
from spagree.counts.fetch import FEW, MOST_TO_FETCH, NO_ANNOTATORS, coded, fetched_few, places
from spagree.counts.items import Held
from spagree.counts.labels import MOST_ANNOTATIONS
from spagree.counts.people import MOST_KINDS, count_meetings, people_in_codes
from spagree.counts.tally import NO_VALUE, Tally, group_name
from spagree.errors import Absent, Message, UsageError, opt, or_none, outcome
from spagree.estimate.actions import Grounds, steps
from spagree.estimate.chance import NO_ANNOTATIONS, NO_PATTERNS
from spagree.estimate.comparison import find_groups
from spagree.estimate.disagreement import Disagreement
from spagree.estimate.findings import Findings, find
from spagree.estimate.other_annotators import MOST_ONE_BY_ONE, Others
from spagree.estimate.pairs import (
    MOST_COUNTED,
    Concentration,
    Overlap,
    concentration,
    is_cheap,
    overlap,
    overlap_warnings,
)
from spagree.estimate.similarity import NOMINAL, Metric
from spagree.estimate.uncertainty import ANNOTATORS, AUTO, ITEMS, Bootstrap
from spagree.estimate.votes import (
    ALONE,
    LabelCounts,
    cluster_numbers,
    renumbered,
    votes,
    votes_in_codes,
    votes_of_items,
)
from spagree.estimate.weights import ByN, weigh, weigh_at
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
NO_KINDS = (
    f"what annotations each annotator made is not counted with {opt.interval_for('items')} (leave it out), nor where "
    f"there are more than {MOST_KINDS:,} kinds of them (measure a sample of the items)"
)
Made = TypeVar("Made")
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
    _made: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, key: Any, make: Callable[[], Made]) -> Made:
        """What is made from this evidence on first request; callers may modify their copy of a table."""
        if key not in self._made:
            self._made[key] = make()
        return copy(self._made[key])  # type: ignore[no-any-return]

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

    @cached_property
    def disagreement(self) -> Disagreement:
        """Disagreement broken down by item and by pair of classes."""
        return Disagreement(self.votes, weigh(self.weights, self.tally, self.similar).by_n)

    @cached_property
    def grounds(self) -> Grounds:
        """What steps are found in; about people only if their annotations are at hand."""

        def weights_at(sizes: list[int]) -> ByN:
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
            or_none(lambda: self.disagreement),
            weights_at,
            codes,
            None if codes is None else self.of_items(codes, or_none(lambda: self.item_clusters)),
            or_none(partial(self.overlap, quick=True)),
            or_none(lambda: self.groups),
            seconds,
            has_items=self.held is not None,
        )

    def of_items(self, codes: Codes, cluster: Ints | None) -> LabelCounts | None:
        """The votes of single items; None without any."""
        if not len(codes.item):
            return None
        return replace(votes_in_codes(codes), similarity=or_none(lambda: self.similarity), cluster=cluster)

    def of_groups(self) -> dict[str, Breakdowns]:
        """Each group with what to do next in it, as if it had been measured alone."""
        if self.groups is None:
            return {}
        at_hand = self.grounds.codes is not None
        found = {}
        for name, tally in self.tally.groups().items():
            alone, findings = replace(self, tally=tally, held=None), self.groups.findings[name]
            grounds = alone.grounds
            if at_hand:
                part, item = self.table.only(self.group_of_each == name)
                of_items = self.of_items(part, None if self.item_clusters is None else self.item_clusters[item])
                met = overlap(part) if is_cheap(part) else None
                grounds = replace(grounds, codes=part, of_items=of_items, has_items=True, overlap=met)
            people = outcome(partial(concentration, tally))
            links = NOT_COMPUTED if grounds.overlap is None else grounds.overlap
            found[name] = Breakdowns(findings, overlap=links, concentration=people, steps=steps(findings, grounds))
        return found

    @cached_property
    def groups(self) -> Groups | None:
        """Each group of items or annotators, if a group column was named."""
        if self.tally.grouped is None or self.tally.grouped.by is None:
            return None
        told = self.others
        people: Any = told
        if isinstance(told, Others) and told.kinds:
            people = Message(NO_KINDS) if self.columns else NO_ANNOTATIONS
        elif isinstance(told, Others):
            people = told.why_not if told.unknown else (self.table, self.group_of_each)
        return find_groups(self.tally, self.weights, self.level, self.metric, people, self.interval_for)

    def overlap(self, *, quick: bool = False) -> Overlap:
        """Who annotated items together; ``quick`` if it is cheap to compute, thin bridges only if few pairs met."""
        if quick and self.columns and not self.looks_at_each:
            raise UsageError(NOT_CHECKED)
        bridges = not quick or is_cheap(self.codes)
        return self.once(("overlap", bridges), lambda: overlap(self.codes, bridges=bridges))

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
        return Others.of_tally(self.tally, people, self.patterns, met, codes)

    def find(self, bootstrap: Bootstrap | None) -> Findings:
        """Everything that is estimated from the tally, and for other annotators where they are known.

        It warns about the overlap, if that is cheap to compute.
        """
        settings = self.weights, self.level, bootstrap, self.metric
        found = find(self.tally, *settings, self.others, self.interval_for, self.patterns)
        if len(self.tally.annotators or ()) <= FEWEST_IN_TEAMS or not self.looks_at_each:
            return found
        return replace(found, warnings=(*found.warnings, *overlap_warnings(self.overlap(quick=True))))

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
