"""Agreement, the object that measure() returns."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree.counts.engines import column_names, to_polars, write_table
from spagree.counts.fetch import answers
from spagree.errors import Absent, Figures, SpagreeError, UsageError, Warning, count, opt, outcome
from spagree.estimate import Corrected, Data, Estimate, Findings, Missingness
from spagree.estimate.actions import steps
from spagree.estimate.annotators import annotators, annotators_in_tally
from spagree.estimate.anytime import check_target
from spagree.estimate.breakdowns import (
    BREAKDOWNS,
    MOST_DISPUTED,
    MOST_FROM_A_CLUSTER,
    MOST_PEOPLE,
    Breakdowns,
    Evidence,
)
from spagree.estimate.chance import NO_ANNOTATIONS
from spagree.estimate.disagreement import are_sets, classes, consensus, option_agreement
from spagree.estimate.pairs import Overlap, concentration, pairs
from spagree.estimate.similarity import SET_METRICS
from spagree.estimate.votes import item_groups, scale_of, votes_in_codes
from spagree.present.document import document, earlier_figures, groups_document, to_json
from spagree.present.next_steps import NextStep, Source
from spagree.present.sentences import what_changed
from spagree.present.tables import write_tables
from spagree.present.verdicts import Told, Verdict, tell
from spagree.present.words import figure, interval
from spagree.read.annotations import ANNOTATOR, TIME, Understood, nw
from spagree.write import refuse_existing

if TYPE_CHECKING:
    import polars

    from spagree.assignment.design import Assignment
    from spagree.assignment.returned import Returned
    from spagree.counts.tally import Tally
    from spagree.estimate.comparison import Groups
    from spagree.present.charts.agreement import Charts


TABLES = ("items", "classes", "confusion", "distribution", "annotators", "pairs", "development", "plan")
NO_GROUPS = f"no column of groups was named; name one with {opt.by}"
NO_CLUSTERS = (
    "a tally does not say in which clusters each annotator's items are, so their errors are unknown; measure the "
    "annotations themselves"
)
NO_TIMES_IN_TALLY = "a tally does not say when annotations were made; measure the annotations themselves"


def _as_it_is(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True, repr=False)
class Agreement:
    """How much annotators agree, with everything needed to trust the number.

    Made by :func:`measure`; shows itself as a summary in a terminal and a table in a notebook.
    """

    findings: Findings
    evidence: Evidence = field(repr=False, compare=False)
    """What was measured; breakdowns are computed from it on demand."""
    understood: Understood | None = None
    options: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The options given to :func:`measure`, without the values of secret ones."""
    noticed: tuple[Warning, ...] = ()
    """The warnings that concern reading and counting, not the figures."""
    told: Callable[[Any], Any] = field(default=_as_it_is, repr=False, compare=False)
    """Spells the messages of what is shown: as Python has them, or for the command line."""

    @property
    def spa(self) -> Estimate:
        """Sparse Probability of Agreement under the chosen weights."""
        return self.findings.spa

    @property
    def schemes(self) -> Mapping[str, Estimate]:
        """SPA under every weighting scheme."""
        return Figures(self.findings.schemes)

    @property
    def missingness(self) -> Missingness:
        """The test of SPA's assumption."""
        return self.findings.missingness

    @property
    def chance(self) -> Mapping[str, Corrected]:
        """Agreement beyond chance: ``spa_kappa``, ``krippendorff_alpha``, ``fleiss_kappa`` and others."""
        return Figures(self.findings.chance)

    @property
    def data(self) -> Data:
        """What was counted."""
        return self.findings.data

    @property
    def groups(self) -> Groups | None:
        """Each group of items or annotators with its findings, and how groups differ; None without ``by``.

        >>> import polars, spagree
        >>> table = polars.DataFrame(
        ...     {
        ...         "item": [1, 1, 2, 2, 3, 3],
        ...         "annotator": ["ann", "bob"] * 3,
        ...         "label": ["yes", "yes", "no", "no", "yes", "no"],
        ...         "language": ["en", "en", "en", "en", "de", "de"],
        ...     }
        ... )
        >>> groups = spagree.measure(table, by="language").groups
        >>> groups.of, {name: findings.spa.value for name, findings in groups.findings.items()}
        ('items', {'de': 0.0, 'en': 1.0})
        """
        return self.evidence.groups

    @property
    def warnings(self) -> tuple[Warning, ...]:
        """Warnings: what a careful colleague would point out."""
        return self.findings.warnings

    def items(self) -> Any:
        """Agreement of each item, least first: ``item, annotations, agreement, entropy, votes``.

        A polars DataFrame, like every other table. For a lazy source (polars LazyFrame, duckdb relation, dask,
        PySpark), whose items may not fit on this machine, it is a lazy frame of that engine without entropy and votes.
        Items with a single annotation have no agreement and come last. Entropy is in bits.

        >>> import spagree
        >>> agreement = spagree.measure([("q1", "ann", "yes"), ("q1", "bob", "no"), ("q2", "ann", "no")])
        >>> agreement.items().rows()
        [('q1', 2, 0.0, 1.0, 'no ×1, yes ×1'), ('q2', 1, None, None, 'no ×1')]
        """
        held = self.evidence.items
        is_lazy = isinstance(nw.from_native(self.evidence.source, pass_through=True), nw.LazyFrame)
        return held.agreement().to_native() if is_lazy else held.table()

    def write_items(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write ``item, annotations, agreement`` of every item to a .csv or .parquet file, where the data lives.

        >>> import polars, spagree
        >>> agreement = spagree.measure([("q1", "ann", "yes"), ("q1", "bob", "no"), ("q2", "ann", "no")])
        >>> agreement.write_items("items.parquet")
        >>> polars.read_parquet("items.parquet").rows()
        [('q1', 2, 0.0), ('q2', 1, None)]
        """
        write_table(self.evidence.items.agreement(), path, force=force)

    def hardest(self, most: int = 20) -> polars.DataFrame:
        """The items with the least agreement, on any source: ``item, annotations, agreement, entropy, votes``.

        The data's engine finds them. Among equals, items with more annotations come first.
        If a text column was named, also ``text`` and ``texts``, the number of different texts of an item.

        >>> import spagree
        >>> spagree.measure("example:sparse").hardest(1).select("annotations", "agreement").rows()
        [(3, 0.0)]
        """
        if most < 1:
            raise UsageError(f"hardest({most}): how many items to list, 1 or more")
        return self.evidence.once(("hardest", most), lambda: self.evidence.items.worst(most))

    def disputed(self, most: int = 20) -> polars.DataFrame:
        """The items that contribute most to disagreement: ``item, annotations, agreement, share, entropy, votes``.

        ``share`` is their share of all disagreement under the chosen weights and metric, ``agreement`` is under the
        metric; unanimous items are never listed. Among equals, the commonest confusion comes first.

        >>> import spagree
        >>> spagree.measure("example:sparse").disputed(1).select("item", "annotations", "share").rows()
        [('item073', 5, 0.010362694300518135)]
        """
        if most < 1:
            raise UsageError(f"disputed({most}): how many items to list, 1 or more")
        evidence = self.evidence
        codes = evidence.table if evidence.uses_codes else None
        return evidence.once(("disputed", most), lambda: evidence.disagreement.disputed(evidence.items, codes, most))

    def consensus(self) -> polars.DataFrame:
        """Each item's majority: ``label`` (null for ties), ``tied``, ``annotations`` and the label's ``share``."""
        return consensus(to_polars(self.evidence.items.counts))

    def distribution(self) -> polars.DataFrame:
        """How many items have each agreement: ``annotations, agreement, items``.

        >>> import spagree
        >>> agreement = spagree.measure([(1, "ann", "yes"), (1, "bob", "no"), (2, "ann", "no"), (2, "bob", "no")])
        >>> agreement.distribution().rows()
        [(2, 0.0, 1), (2, 1.0, 1)]
        """
        import polars

        groups = item_groups(self.evidence.tally, self.evidence.similar)
        columns = {"annotations": groups.n, "agreement": groups.agreement, "items": groups.items.astype(np.int64)}
        grouped = polars.DataFrame(columns).group_by("annotations", "agreement").agg(polars.col("items").sum())
        return grouped.sort("annotations", "agreement")

    def classes(self) -> polars.DataFrame:
        """Agreement of each class, least first: the probability that a second annotator chose it if a first did.

        >>> import spagree
        >>> agreement = spagree.measure([(1, "ann", "yes"), (1, "bob", "no"), (2, "ann", "no"), (2, "bob", "no")])
        >>> agreement.classes().select("class", "annotations", "agreement").rows()
        [('yes', 1, 0.0), ('no', 3, 0.6666666666666666)]
        """
        return self.evidence.once("classes", lambda: classes(self.evidence.votes, self.evidence.level))

    def confusion(self) -> polars.DataFrame:
        """Pairs of classes by their share of all disagreement, with the share to expect by chance, and the items."""
        return self.evidence.once("confusion", self.evidence.disagreement.classes)

    def annotators(self) -> polars.DataFrame:
        """Agreement of each annotator with the others on shared items, least first, and SPA without them.

        >>> import spagree
        >>> agreement = spagree.measure("example:krippendorff2011")
        >>> agreement.annotators().select("annotator", "shared").rows()[0]
        ('C', 10)
        """
        evidence = self.evidence

        def make() -> polars.DataFrame:
            if not evidence.columns or evidence.tally.annotations > MOST_FROM_A_CLUSTER:
                others = evidence.others
                if isinstance(others, str) or others.kinds is None:
                    raise UsageError(others if isinstance(others, str) else NO_ANNOTATIONS)
                if evidence.tally.clusters is not None:
                    raise UsageError(NO_CLUSTERS)
                without = others.sizes.without(others.left_out("people")[1], evidence.by_n())
                return annotators_in_tally(evidence.tally, others.kinds, without, self.spa.value, evidence.level)
            cluster = evidence.item_clusters
            codes = evidence.codes if cluster is None else evidence.table
            each = replace(votes_in_codes(codes), similarity=evidence.similarity, cluster=cluster)
            return annotators(codes, each, evidence.by_n(), self.spa.value, evidence.level)

        return evidence.once("annotators", make)

    def pairs(self, least: int = 1, busiest: int | None = None, worst: int | None = None) -> polars.DataFrame:
        """Agreement, Cohen's kappa and Scott's pi of pairs of annotators who share ``least`` items, least first.

        ``busiest`` limits it to the annotators with the most annotations, ``worst`` to the pairs that agree least:
        five thousand people who answered one survey form 12.5 million pairs.
        """

        def make() -> polars.DataFrame:
            codes = self.evidence.codes if busiest is None else self.evidence.codes.of_busiest(busiest)
            return pairs(codes, self.evidence.similar, self.evidence.level, least, worst)

        return self.evidence.once(("pairs", least, busiest, worst), make)

    def overlap(self) -> Overlap:
        """Who annotated items together: teams without shared items, thin bridges, annotators who share no item.

        >>> import spagree
        >>> agreement = spagree.measure([(1, "ann", "yes"), (1, "bob", "no"), (2, "cyd", "no"), (2, "dan", "no")])
        >>> [team.annotators for team in agreement.overlap().teams]
        [('ann', 'bob'), ('cyd', 'dan')]
        """
        return self.evidence.overlap()

    def development(self, steps: int = 40) -> polars.DataFrame:
        """Agreement over time: one row per step, each with about as many annotations.

        ``spa`` uses all annotations up to ``time``; ``recent`` uses items whose last annotation is in the latest
        eighth of the steps. Intervals are over items.

        >>> import spagree
        >>> rows = [(1, "ann", "yes", 60), (2, "ann", "no", 65), (1, "bob", "yes", 70), (2, "bob", "yes", 80)]
        >>> spagree.measure(rows).development(steps=2).select("time", "annotations", "items", "spa").rows()
        [(65, 2, 0, None), (80, 4, 2, 0.5)]
        """
        from spagree.estimate.development import NO_TIMES, development

        evidence = self.evidence
        if not evidence.columns:
            raise UsageError(NO_TIMES_IN_TALLY)
        if TIME not in evidence.columns:
            raise UsageError(NO_TIMES)
        make = partial(development, evidence.table, steps, self._measured, evidence.metric)
        return evidence.once(("development", steps), make)

    def _measured(self, tally: Tally) -> Estimate:
        """SPA of a part on the scale of the whole, for these annotators."""
        from spagree.estimate.development import measured

        evidence = self.evidence
        return measured(tally, evidence.weights, evidence.level, evidence.metric.over(scale_of(evidence.tally)))

    def plan(
        self,
        half_width: float | None = None,
        most: int | None = None,
        *,
        budget: int | None = None,
        require: float | None = None,
    ) -> polars.DataFrame:
        """The annotations needed for an interval of value ± ``half_width``, with up to ``most`` annotations per item.

        One row per half-width, ``route`` (a ``fresh`` data set, ``new_items`` besides the existing ones, the
        ``same_items``) and number of annotations per item; ``best`` marks the fewest annotations of each route. Without
        a half-width, the next smaller round ones. With ``budget``, the half-width that this many more annotations
        give; with ``require``, how many annotations until the interval lies above or below it, if agreement stays as
        it is. ``half_width_low`` and ``half_width_high`` say how far off the plan may be. The interval is the one for
        these annotators: that for other annotators takes more people.

        >>> import spagree
        >>> rows = spagree.measure("example:sparse").plan(half_width=0.02).filter("best")
        >>> rows.select("route", "annotations_per_item", "more_annotations").rows()
        [('fresh', 4, 3568), ('new_items', 4, 2660)]
        """
        from spagree.estimate.plan import plan_for

        evidence, wanted = self.evidence, {"half_width": half_width, "budget": budget, "require": require}

        def make() -> polars.DataFrame:
            now = self._measured(evidence.tally)
            return plan_for(evidence.tally, evidence.weights, lambda: evidence.similar, now, most=most, **wanted)

        return evidence.once(("plan", most, *wanted.values()), make)

    def returned(self, assignment: Assignment | str | os.PathLike[str]) -> Returned:
        """Compare the annotations with an assignment (or its file): who did less, and does that look random?

        >>> import spagree
        >>> design = spagree.assign(["q1", "q2"], ["ann", "bob", "cyd"], per_item=3)
        >>> came = spagree.measure([("q1", "ann", "yes"), ("q1", "bob", "no"), ("q2", "ann", "no")]).returned(design)
        >>> came.done, came.assigned, came.short_items
        (3, 6, (('q2', 3, 1), ('q1', 3, 2)))
        """
        from spagree.assignment.files import read_assignment
        from spagree.assignment.returned import annotated_pairs, check_returned

        frame = self.evidence.annotations
        if frame is None or ANNOTATOR not in column_names(frame):
            raise UsageError(f"{opt.assignment}: the annotators are unknown; name their column with {opt.annotator}")
        if isinstance(assignment, str | os.PathLike):
            return check_returned(read_assignment(assignment), annotated_pairs(frame))
        return check_returned(assignment.frame().rows(), annotated_pairs(frame))

    def breakdowns(self, names: Sequence[str] = BREAKDOWNS) -> Breakdowns:
        """Breakdowns as values, each present or absent with the reason: those named, or all that a page shows.

        >>> import spagree
        >>> spagree.measure(spagree.tally("example:sparse")).breakdowns(["overlap"]).overlap.reason
        'a tally does not say who annotated which item; measure the annotations themselves'
        """
        return self._found(names)

    def summed_up(self, target: float | None = None) -> Breakdowns:
        """The findings with the breakdowns that a summary needs; ``target`` is the agreement that should be reached."""
        found = self._found(("concentration", "steps"), target)
        return replace(found, overlap=self.told(outcome(partial(self.evidence.overlap, quick=True))))

    def _found(self, names: Sequence[str], target: float | None = None) -> Breakdowns:
        """These breakdowns; steps towards a target ask for more precision if the interval contains it."""
        evidence, findings = self.evidence, self.findings
        make: dict[str, Callable[[], Any]] = {
            "levels": lambda: evidence.disagreement.levels,
            "pairs": lambda: self.pairs(busiest=MOST_PEOPLE),
            "concentration": lambda: concentration(evidence.tally),
            "disputed": lambda: self.disputed(MOST_DISPUTED),
            "answers": self._answers,
            "options": self._options,
            "groups": lambda: self.groups or Absent(UsageError(NO_GROUPS)),
            "steps": lambda: evidence.once(("steps", target), lambda: steps(findings, evidence.grounds, target)),
        }
        found = {name: outcome(make.get(name) or getattr(self, name)) for name in names}
        told: Breakdowns = self.told(Breakdowns(findings, **found))
        return told

    def _answers(self) -> polars.DataFrame:
        """Who gave which label to the items that contribute most to all disagreement."""
        items, evidence = self.disputed(MOST_DISPUTED)["item"], self.evidence
        return answers(evidence.table, items) if evidence.uses_codes else evidence.items.answers(items)

    def _options(self) -> polars.DataFrame:
        """Agreement on each option, if labels are sets of options."""
        evidence = self.evidence
        if evidence.metric.rule not in SET_METRICS and not are_sets(evidence.votes.labels):
            raise UsageError("the labels are not sets of options")
        return evidence.once("options", lambda: option_agreement(evidence.votes, evidence.by_n()))

    @property
    def source(self) -> Source:
        """What was measured, as its user may name it again."""
        return Source(self.evidence.source, self.options, TIME in self.evidence.columns)

    @property
    def verdict(self) -> Verdict:
        """Whether the number can be quoted: ``state`` (fine, look, problem) and ``sentence``, from all checks.

        >>> import spagree
        >>> spagree.measure("example:sparse").verdict
        Verdict(state='fine', sentence='Fine to quote: two fifths of the way from guessing to full agreement.')
        """
        return tell(self.summed_up()).verdict

    @property
    def next_steps(self) -> tuple[NextStep, ...]:
        """What to do next, at most three findings, each with its evidence and a command that goes on from there.

        >>> import spagree
        >>> [(step.code, step.command) for step in spagree.measure("example:sparse").next_steps]
        [('items', 'spagree items example:sparse')]
        """
        return tell(self.summed_up(), self.source).steps

    @property
    def charts(self) -> Charts:
        """Every chart of the report, to show in a notebook or save as SVG, PNG or PDF."""
        from spagree.present.charts.agreement import Charts

        return Charts(self.breakdowns)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        target: float | None = None,
        since: str | os.PathLike[str] | None = None,
        force: bool = False,
    ) -> Path:
        """Write one HTML page with everything: offline, printable, readable without knowing kappa.

        ``target`` is the agreement you want, drawn beside the number; ``since`` is an earlier report or its JSON,
        to say what changed.

        >>> import spagree, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = spagree.measure("example:sparse").report(Path(folder) / "report.html", target=0.7)
        ...     page.read_text("utf-8").splitlines()[0]
        '<!doctype html>'
        """
        from spagree.present.report.page import page, write_report

        refuse_existing(path, force=force)
        told, figures, changed = self._to_tell(target, None if since is None else earlier_figures(since))
        html = page(told, figures, changed)
        return write_report(html, Path(path), force=force)

    def _to_tell(self, target: float | None, earlier: Mapping[str, Any] | None) -> tuple[Told, dict[str, Any], str]:
        """What a page says, its figures as plain values, and what changed since earlier ones."""
        found, understood = self._found(BREAKDOWNS, check_target(target)), self.told(self.understood)
        figures = self._document(without_folders=True)
        changed = "" if earlier is None else what_changed(earlier, figures)
        return tell(found, self.source.without_folders(), understood, target), figures, changed

    def export(self, folder: str | os.PathLike[str], *, force: bool = False) -> list[Path]:
        """Write every table as CSV and all figures as JSON into a folder, for spreadsheets and programs.

        >>> import spagree, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = spagree.measure("example:sparse").export(folder)
        ...     sorted(file.name for file in files)[:2]
        ['agreement.json', 'annotators.csv']
        """
        whole = {name: outcome(getattr(self, name)) for name in TABLES}
        if not isinstance(whole["items"], Absent):
            whole["items"] = to_polars(nw.from_native(whole["items"]).lazy())
        tables = {name: frame for name, frame in whole.items() if not isinstance(frame, Absent)}
        return write_tables(self.findings, tables, self.to_json(), Path(folder), force=force)

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values, in full precision."""
        return self._document()

    def _document(self, *, without_folders: bool = False) -> dict[str, Any]:
        found = self.summed_up()
        source = self.source.without_folders() if without_folders else self.source
        whole: dict[str, Any] = self.told(document(tell(found, source)))  # also what is made only here
        if self.groups is None:
            return whole
        parts, column = self.told(self.evidence.of_groups()), self.groups.column
        told = {name: tell(part, source.within(column, name)) for name, part in parts.items()}
        made = groups_document(self.told(self.groups), lambda name: document(told[name]))
        more: dict[str, Any] = self.told(made)
        return whole | more

    def to_json(self, indent: int | None = 2) -> str:
        """All figures as JSON, in the documented format.

        >>> import json, spagree
        >>> agreement = spagree.measure([("q1", "ann", "yes"), ("q1", "bob", "yes")])
        >>> json.loads(agreement.to_json())["spa"]["value"]
        1.0
        """
        return to_json(self.to_dict(), indent)

    def __repr__(self) -> str:
        data, spa = self.findings.data, self.findings.spa
        used = f"{data.pairable_items:,} of {count(data.items, 'item')}, {count(data.annotations, 'annotation')}"
        return f"<Agreement: SPA {figure(spa.value)} ({interval(spa)}), {used}>"

    def __str__(self) -> str:
        from spagree.present.terminal import groups_summary, rendered, summary

        whole = rendered(summary(tell(self.summed_up(), self.source, self.told(self.understood))))
        if self.groups is None:
            return whole
        return f"{whole}\n\n{rendered(groups_summary(self.told(self.groups)))}"

    def _repr_html_(self) -> str:
        from spagree.present.notebook import to_html

        return to_html(tell(self.summed_up(), self.source))


def report_questions(
    outcomes: Mapping[str, Agreement | SpagreeError],
    path: str | os.PathLike[str],
    *,
    target: float | None = None,
    since: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> Path:
    """Write one page for several questions; one without figures says why and does not stop the others."""
    from spagree.present.report.page import questions_page, write_report
    from spagree.present.report.sections import source_name

    refuse_existing(path, force=force)
    before = {} if since is None else earlier_figures(since).get("questions", {})
    questions: dict[str, tuple[Told, str] | str] = {}
    figures = {}
    for name, result in outcomes.items():
        if isinstance(result, SpagreeError):
            questions[name] = result.message.typed()
        else:
            told, figures[name], changed = result._to_tell(target, before.get(name))
            questions[name] = told, changed
    first = next((each.understood for each in outcomes.values() if not isinstance(each, SpagreeError)), None)
    html = questions_page(source_name(first), questions, {"questions": figures})
    return write_report(html, Path(path), force=force)
