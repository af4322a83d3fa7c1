"""One function per chart of an agreement: breakdowns in, a chart as plain values out.

A page draws these itself; :class:`Charts` makes them for notebooks and files. A chart that cannot be drawn raises the
reason: there is no number, or a breakdown is absent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from spagree.errors import DataError, UsageError, count
from spagree.estimate import NOMINAL
from spagree.estimate.annotators import mean_agreement
from spagree.estimate.breakdown_values import Breakdowns, known
from spagree.estimate.breakdowns import MOST_PEOPLE
from spagree.estimate.uncertainty import FEW_ITEMS
from spagree.present.charts import heat, interval_lines, network, rows, spread
from spagree.present.charts.spec import Rows, Spec, to_altair

AGREEMENT = {"shown": "agreement", "interval": "interval"}


def schemes(breakdowns: Breakdowns) -> Spec:
    """SPA under every weighting scheme, with the chosen one marked."""
    spa = _value(breakdowns)
    tips = {"name": "scheme", **AGREEMENT}
    return interval_lines.across(rows.scheme_rows(breakdowns), "agreement", tips, reference=spa)


def by_n(breakdowns: Breakdowns) -> Spec:
    """Agreement of items by their number of annotations: flat if SPA's assumption holds."""
    spa = _value(breakdowns)
    by_n = breakdowns.findings.missingness.by_n
    if len(by_n) == 1:
        same = count(by_n[0].n, "annotation")
        raise DataError(f"every item that was used has {same}: there is nothing to compare")
    tips = {"name": "annotations", "items": "items", **AGREEMENT}
    title = "annotations of the item"
    return interval_lines.along(rows.by_n_rows(breakdowns), title, "agreement", tips, reference=spa)


def chance(breakdowns: Breakdowns) -> Spec:
    """Chance-corrected coefficients with observed and expected agreement."""
    drawn = rows.chance_rows(breakdowns)
    if not drawn:
        raise DataError(str(next(iter(breakdowns.findings.chance.values())).undefined))
    tips = {"name": "coefficient", "kind": "what", "shown": "value", "interval": "interval"}
    return interval_lines.corrected(drawn, tips)


def classes(breakdowns: Breakdowns) -> Spec:
    """Agreement of each class, least first."""
    nominal = breakdowns.findings.metric == NOMINAL
    title = "probability that a second annotator agrees" if nominal else "mean agreement of a second annotator"
    drawn = rows.line_rows(known(breakdowns.classes).rows(named=True), "class", "items", rows.class_keys(breakdowns))
    return _lines(breakdowns, drawn, "class", title)


def groups(breakdowns: Breakdowns) -> Spec:
    """Agreement of each group, and between groups of annotators."""
    return _lines(breakdowns, rows.group_rows(known(breakdowns.groups)), "group", "agreement")


def confusion(breakdowns: Breakdowns) -> Spec:
    """Which classes are confused, as a heat map."""
    _value(breakdowns)
    drawn = rows.confusion_rows(breakdowns)
    first, second = ("first", "second") if "first" in drawn[0] else ("down", "across")
    return heat.confusion(drawn, {first: "first says", second: "second says", "shown": "probability"})


def items(breakdowns: Breakdowns) -> Spec:
    """How the agreement of items is distributed."""
    _value(breakdowns)
    tips = {"range": "agreement", "many": "items", "share": "share"}
    return spread.histogram(rows.bin_rows(breakdowns), tips)


def annotators(breakdowns: Breakdowns) -> Spec:
    """Agreement of each annotator with the others, least first, and the mean of all."""
    people = known(breakdowns.annotators)
    drawn = rows.line_rows(people.rows(named=True), "annotator", "shared", rows.annotator_keys(breakdowns))
    return _lines(breakdowns, drawn, "annotator", "agreement with the others", reference=mean_agreement(people))


def pairs(breakdowns: Breakdowns) -> Spec:
    """Agreement of pairs of annotators who share enough items, as a triangular table."""
    _value(breakdowns)
    drawn = rows.pair_rows(breakdowns)
    if not drawn:
        raise DataError(f"no two annotators share {FEW_ITEMS} items or more, so pairs are not shown")
    return heat.triangle(drawn, {"down": "annotator", "across": "other", **AGREEMENT, "size": "shared"})


def overlap(breakdowns: Breakdowns) -> Spec:
    """Who annotated items together, as a graph; refused for more annotators than it can show."""
    _value(breakdowns)
    size = known(breakdowns.overlap).annotators
    if size > MOST_PEOPLE:
        raise UsageError(
            f"overlap: {size:,} annotators are more than the {MOST_PEOPLE} a graph can show; "
            "see agreement.overlap() for teams and bridges"
        )
    nodes, edges = rows.network_rows(breakdowns)
    tips = {"name": "annotator", "size": "made"}
    between = {"one": "annotator", "other": "other", "size": "shared"}
    return network.network(nodes, edges, tips, between)


def development(breakdowns: Breakdowns) -> Spec:
    """Agreement over time, of all items so far and of those finished last, with intervals and the pace."""
    _value(breakdowns)
    drawn, volume, along = rows.development_rows(breakdowns)
    tips = {"when": "time", "kind": "what", **AGREEMENT, "size": "rests on"}
    return spread.development(drawn, volume, along, tips)


def plan(breakdowns: Breakdowns) -> Spec:
    """How precise the number becomes with more items, annotated as cheaply as possible."""
    _value(breakdowns)
    tips = {"precision": "precision", "new": "new items", "made": "annotations in all"}
    return spread.plan(rows.plan_rows(breakdowns), tips)


def _lines(breakdowns: Breakdowns, drawn: Rows, name: str, title: str, reference: float | None = None) -> Spec:
    _value(breakdowns)
    tips = {"name": name, **AGREEMENT, "size": "rests on"}
    return interval_lines.across(drawn, title, tips, reference=reference)


def _value(breakdowns: Breakdowns) -> float:
    """SPA, or an error if it is undefined."""
    spa = breakdowns.findings.spa
    if spa.value is None:
        raise DataError(f"no chart: {spa.undefined}")
    return spa.value


@dataclass(frozen=True, slots=True)
class _Method:
    """A chart as a method of :class:`Charts`, which computes only the breakdowns the chart needs."""

    draw: Callable[[Breakdowns], Spec]
    needs: Sequence[str] = ()

    def __get__(self, charts: Charts, owner: type[Charts]) -> Callable[[], Any]:
        def drawn() -> Any:
            return to_altair(self.draw(charts._compute(self.needs)))

        drawn.__doc__ = self.draw.__doc__
        return drawn


class Charts:
    """Charts of one agreement; ``agreement.charts.schemes().save("schemes.svg")`` needs no browser and no network.

    >>> import spagree
    >>> spagree.measure("example:sparse").charts  # doctest: +ELLIPSIS
    <Charts: schemes(), by_n(), ... development(), plan()>
    >>> chart = spagree.measure("example:sparse").charts.schemes()
    >>> chart.to_dict()["layer"][1]["mark"]["type"]
    'rule'
    """

    def __init__(self, compute: Callable[[Sequence[str]], Breakdowns]) -> None:
        self._compute = compute

    def __repr__(self) -> str:
        names = (name for name, found in vars(Charts).items() if isinstance(found, _Method))
        return f"<Charts: {', '.join(f'{name}()' for name in names)}>"

    schemes = _Method(schemes)
    by_n = _Method(by_n)
    chance = _Method(chance)
    classes = _Method(classes, ["classes"])
    groups = _Method(groups, ["groups"])
    confusion = _Method(confusion, ["classes", "confusion"])
    items = _Method(items, ["distribution"])
    annotators = _Method(annotators, ["annotators"])
    pairs = _Method(pairs, ["annotators", "pairs"])
    overlap = _Method(overlap, ["annotators", "pairs", "overlap"])
    development = _Method(development, ["development"])
    plan = _Method(plan, ["plan"])
