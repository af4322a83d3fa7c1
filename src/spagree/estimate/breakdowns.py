"""Where agreement is lost: by item, class, annotator, pair of annotators and over time.

A :class:`Measurement` holds the counts and computes each breakdown once, on demand; :class:`Breakdowns` holds the
results as values, which is all that pages, charts and tables see. Each breakdown is imported on first use: a score
needs hardly any of them, and importing them all takes longer than computing it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree.counts.coded import NO_ANNOTATORS
from spagree.counts.engines import to_polars
from spagree.counts.labels import MOST_ANNOTATIONS
from spagree.counts.tally import Tally
from spagree.errors import UsageError
from spagree.estimate.breakdown_values import BREAKDOWNS, Absent, Action, Breakdowns, or_none, outcome
from spagree.estimate.chance import NO_PATTERNS
from spagree.estimate.concentration import Concentration, concentration
from spagree.estimate.evidence import NO_ANNOTATIONS, Evidence
from spagree.estimate.findings import Findings, find
from spagree.estimate.item_groups import ALONE, renumbered
from spagree.estimate.label_counts import LabelCounts, item_groups_of, scale_of, votes, votes_in_codes, votes_of_items
from spagree.estimate.others import Others
from spagree.estimate.overlap import CHEAP_ANNOTATIONS, Overlap, is_cheap, is_small, overlap, overlap_cautions
from spagree.estimate.pairs import pairs
from spagree.estimate.similarity import NOMINAL, SET_METRICS, Metric
from spagree.estimate.uncertainty import ANNOTATORS, AUTO, ITEMS, Bootstrap, Estimate, half_interval
from spagree.estimate.weights import ByN, weigh_at
from spagree.grouping import Floats
from spagree.late import nw
from spagree.messages import opt, spelled
from spagree.options import CustomWeights
from spagree.read.annotations import TIME
from spagree.understood import Caution

if TYPE_CHECKING:
    import polars

    from spagree.estimate.disagreement import Disagreement
    from spagree.estimate.groups import Groups

MOST_FOR_BOTH = 500_000  # annotations: above this, the second pass runs only on request
FEWEST_IN_TEAMS = 3  # annotators: this many or fewer cannot form two teams
MOST_PEOPLE = 40  # annotators whose pairs a page compares
MOST_DISPUTED = 60  # items on a page, by their share of all disagreement
NOT_CHECKED = (
    f"above {CHEAP_ANNOTATIONS:,} annotations, teams that share no item are not looked for, nor above "
    f"{MOST_ANNOTATIONS:,} labels that only one annotator uses; a report ({opt.report} FILE) and agreement.overlap() "
    "show them"
)
NO_GROUPS = f"no column of groups was named; name one with {opt.by}"
NO_TIMES_IN_TALLY = "a tally does not say when annotations were made; measure the annotations themselves"
ON_REQUEST = f"above {MOST_FOR_BOTH:,} annotations it is computed only when asked for: {opt.interval_for('annotators')}"
ACTIONS = "actions"  # rests on other breakdowns
LONGEST = ("development", "annotators", "overlap")  # of those that need no other
TABLES = ("items", "classes", "confusion", "distribution", "annotators", "pairs", "development", "plan")


@dataclass(frozen=True)
class Measurement(Evidence):
    """The counts and the settings; computes each breakdown once."""

    weights: str | CustomWeights
    level: float
    metric: Metric
    interval_for: str = AUTO
    _frames: dict[Any, polars.DataFrame] = field(default_factory=dict, repr=False, compare=False)

    def breakdowns(self, findings: Findings, names: Sequence[str] = BREAKDOWNS) -> Breakdowns:
        """These breakdowns as values."""
        builders = self._builders(findings)
        long = [name for name in LONGEST if name in names]
        results: dict[str, Any] = {}
        if long and self.columns and not is_small(self.tally.annotations):
            or_none(lambda: self.codes)  # once, before two threads ask for them
            others = [name for name in names if name not in (*long, ACTIONS)]
            results = _in_two_threads(builders, [*([name] for name in long), others])
        results |= {name: outcome(builders[name]) for name in names if name not in results}
        return Breakdowns(findings, **results)

    def summary(self, findings: Findings) -> Breakdowns:
        """What the headline and the checks need: the overlap, if it is cheap."""
        looked = outcome(lambda: self.quick_overlap)
        return replace(self.breakdowns(findings, ["concentration"]), overlap=looked)

    def tables(self, findings: Findings) -> dict[str, polars.DataFrame]:
        """Every table in full: all items, all pairs; tables that do not exist are left out."""
        builders = self._builders(findings) | {"items": self.all_items, "pairs": self.pairs}
        results = {name: outcome(builders[name]) for name in TABLES}
        return {name: frame for name, frame in results.items() if not isinstance(frame, Absent)}

    def _builders(self, findings: Findings) -> dict[str, Callable[[], Any]]:
        return {
            "classes": self.classes,
            "confusion": self.confusion,
            "distribution": self.distribution,
            "annotators": lambda: self.annotators(findings.spa.value),
            "pairs": lambda: self.pairs(busiest=MOST_PEOPLE),
            "overlap": lambda: self.overlap,
            "development": self.development,
            "plan": self.plan,
            "concentration": self.concentration,
            "disputed": lambda: self.disputed(MOST_DISPUTED),
            "answers": self.answers,
            "confused": self.confused,
            "options": self.options,
            "groups": self._known_groups,
            ACTIONS: lambda: self.actions(findings),
        }

    def _once(self, key: Any, make: Callable[[], polars.DataFrame]) -> polars.DataFrame:
        """A frame computed on first request; callers may modify their copy."""
        if key not in self._frames:
            self._frames[key] = make()
        return self._frames[key].clone()

    def all_items(self) -> polars.DataFrame:
        """Agreement of each item."""
        return to_polars(nw.from_native(self.item_table().frame()).lazy())

    def hardest(self, most: int) -> polars.DataFrame:
        """The items with the least agreement."""
        return self._once(("hardest", most), lambda: self.item_table().worst(most))

    @cached_property
    def disagreement(self) -> Disagreement:
        """Disagreement broken down by item and by pair of classes."""
        from spagree.estimate.disagreement import Disagreement

        return Disagreement(self.votes, self.by_n())

    def disputed(self, most: int) -> polars.DataFrame:
        """The items that contribute most to all disagreement."""
        items, codes = self.item_table(), self.table if self.uses_codes else None
        return self._once(("disputed", most), lambda: self.disagreement.disputed(items, codes, most))

    def answers(self) -> polars.DataFrame:
        """Who gave which label to the items that contribute most to all disagreement."""
        items = self.disputed(MOST_DISPUTED)["item"]
        return self.table.answers(items) if self.uses_codes else self.item_table().answers(items)

    def confused(self) -> polars.DataFrame:
        """Pairs of classes by their share of all disagreement."""
        return self._once("confused", self.disagreement.classes)

    def options(self) -> polars.DataFrame:
        """Agreement on each option, if labels are sets of options."""
        from spagree.estimate.classes import are_sets, option_agreement

        if self.metric.rule not in SET_METRICS and not are_sets(self.votes.labels):
            raise UsageError("the labels are not sets of options")
        return self._once("options", lambda: option_agreement(self.votes, self.by_n()))

    def actions(self, findings: Findings) -> tuple[Action, ...]:
        """What to do next, largest gain first."""
        from spagree.estimate.actions import Grounds, actions
        from spagree.estimate.plan import NEW_ITEMS, round_targets

        now = half_interval(findings.spa.intervals.get(ITEMS)) or 0.0
        half = min(round_targets(now), key=lambda aim: abs(aim - now / 2), default=None)
        plan = None if half is None else or_none(lambda: self.plan(half_width=half))
        rows = [] if plan is None else plan.rows(named=True)
        grounds = Grounds(
            or_none(lambda: self.annotators(findings.spa.value)),
            or_none(lambda: self.disputed(MOST_DISPUTED)),
            or_none(self.confused),
            or_none(lambda: self.overlap),
            next((row for row in rows if row["route"] == NEW_ITEMS and row["best"]), None),
        )
        return actions(findings, grounds)

    def classes(self) -> polars.DataFrame:
        """Agreement of each class."""
        from spagree.estimate.classes import classes

        def make() -> polars.DataFrame:
            by_cluster = votes(self.tally, self.metric, clusters=True) if self.tally.clusters else None
            return classes(by_cluster or self.votes, self.level)

        return self._once("classes", make)

    @cached_property
    def groups(self) -> Groups | None:
        """Each group of items or annotators, if a group column was named."""
        if self.tally.grouped is None or self.tally.grouped.by is None:
            return None
        from spagree.estimate.groups import find_groups

        told = self._told()
        people: Any = told if isinstance(told, str) else (self.table, self.group_of_each)
        if not isinstance(told, str) and told.codes.unknown:
            people = told.why_not
        return find_groups(self.tally, self.weights, self.level, self.metric, people, self.interval_for)

    def _known_groups(self) -> Groups:
        if self.groups is None:
            raise UsageError(NO_GROUPS)
        return self.groups

    def confusion(self) -> polars.DataFrame:
        """Pairs of classes given to one item."""
        from spagree.estimate.classes import confusion

        return self._once("confusion", lambda: confusion(self.votes))

    def annotators(self, spa: float | None) -> polars.DataFrame:
        """Agreement of each annotator with the others, and SPA without them."""
        from spagree.estimate.annotators import annotators

        def make() -> polars.DataFrame:
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

        groups = item_groups_of(self.tally, self.similar)
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
        if self.columns and not is_small(self.tally.annotations):
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
            return plan_for(self.tally, self.weights, lambda: self.similar, self._now, most=most, **wanted)

        return self._once(("plan", most, *wanted.items()), make)

    @cached_property
    def _now(self) -> Estimate:
        """SPA with its interval over items."""
        return self._measured(self.tally)

    def _measured(self, tally: Tally) -> Estimate:
        from spagree.estimate.development import measured

        return measured(tally, self.weights, self.level, self.metric.over(scale_of(self.tally)))

    def cautions(self) -> tuple[Caution, ...]:
        """Warnings about the overlap, if it is cheap to compute."""
        people = len(self.tally.annotators or ())
        if not self.columns or people <= FEWEST_IN_TEAMS or not is_small(self.tally.annotations):
            return ()
        return tuple(overlap_cautions(self.quick_overlap))

    @cached_property
    def others(self) -> Others | str:
        """What the annotators say about other annotators, or why they say nothing."""
        if not self.columns:
            return NO_ANNOTATIONS
        if self.tally.annotators is None:
            return spelled(NO_ANNOTATORS)
        codes = outcome(lambda: self.codes if self.tally.clusters is None else self.table)
        if isinstance(codes, Absent):
            return codes.reason
        votes_by_pattern = votes(self.tally, self.metric if self.similar else None)
        cluster = None if self.item_clusters is None else renumbered(np.maximum(self.item_clusters, ALONE))
        return Others.of(codes, votes_by_pattern, self.similarity, cluster)

    def find(self, bootstrap: Bootstrap | None, *, in_full: bool = False) -> Findings:
        """Everything that is estimated from the tally, and for other annotators where they are known."""
        told = self._told(in_full=in_full)
        return find(self.tally, self.weights, self.level, bootstrap, self.metric, told, self.interval_for)

    def _told(self, *, in_full: bool = False) -> Others | str:
        """What annotators say about others: above half a million annotations only on request, or ``in_full``."""
        if not in_full and self.interval_for != ANNOTATORS and self.tally.annotations > MOST_FOR_BOTH:
            return spelled(ON_REQUEST)
        return self.others

    def concentration(self) -> Concentration:
        """Who made most of the annotations, and how few people made half."""
        people = concentration(self.tally)
        if people is None:
            raise UsageError(NO_ANNOTATORS)
        return people

    @cached_property
    def votes(self) -> LabelCounts:
        """The votes of all items: from the tally, or item by item if it keeps no patterns."""
        from_tally = votes(self.tally, self.metric)
        if from_tally is not None:
            return from_tally
        if self.uses_codes:
            return votes_in_codes(self.table)
        if self.items is None:
            raise UsageError(f"{NO_PATTERNS}; measure the annotations themselves")
        return votes_of_items(to_polars(self.items.held.counts))

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
        occur = [n for n in self.tally.items_by_n if n > 1]
        needed = sorted({m for n in occur for m in (n, n - 1) if m > 1})
        return weigh_at(needed, self.weights if scheme is None else scheme, self.tally, self.similar).by_n


def _in_two_threads(builders: Mapping[str, Callable[[], Any]], jobs: Iterable[Sequence[str]]) -> dict[str, Any]:
    """Breakdowns by name, job by job: numpy leaves Python free most of the time."""
    from concurrent.futures import ThreadPoolExecutor
    from contextvars import copy_context

    def run(names: Sequence[str]) -> dict[str, Any]:
        return {name: outcome(builders[name]) for name in names}

    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(copy_context().run, run, names) for names in jobs]
        return {name: value for future in running for name, value in future.result().items()}
