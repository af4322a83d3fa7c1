"""One function per chart of an agreement: breakdowns in, an Altair chart for notebooks, files and the report out.

A chart raises why it cannot be drawn: there is no number, or a breakdown it draws is absent.
"""

from __future__ import annotations

from typing import Any

from spagree.errors import DataError, UsageError
from spagree.estimate import NOMINAL
from spagree.estimate.breakdowns import MOST_PEOPLE, Breakdowns, known
from spagree.estimate.outliers import mean_agreement
from spagree.present.charts import heat, intervals, network, rows, spread
from spagree.present.charts.theme import theme
from spagree.present.wording import count, without_midnight

AGREEMENT = {"shown": "agreement", "interval": "interval"}


def schemes(found: Breakdowns) -> Any:
    """SPA under every weighting scheme, the chosen one marked."""
    spa = _value(found)
    tips = {"name": "scheme", **AGREEMENT}
    return _finished(intervals.across(rows.scheme_rows(found), "agreement", tips, reference=spa))


def by_n(found: Breakdowns) -> Any:
    """Agreement of items by their number of annotations: flat where SPA's assumption holds."""
    spa = _value(found)
    by_n = found.findings.missingness.by_n
    if len(by_n) == 1:
        same = count(by_n[0].n, "annotation")
        raise DataError(f"every item that was used has {same}: there is nothing to compare")
    tips = {"name": "annotations", "items": "items", **AGREEMENT}
    title = "annotations of the item"
    return _finished(intervals.along(rows.by_n_rows(found), title, "agreement", tips, reference=spa))


def chance(found: Breakdowns) -> Any:
    """Chance-corrected coefficients with observed and expected agreement."""
    drawn = rows.chance_rows(found)
    if not drawn:
        raise DataError(str(next(iter(found.findings.chance.values())).undefined))
    tips = {"name": "coefficient", "kind": "what", "shown": "value", "interval": "interval"}
    return _finished(intervals.corrected(drawn, tips))


def classes(found: Breakdowns) -> Any:
    """Agreement of each class, least first."""
    nominal = found.findings.metric == NOMINAL
    title = "probability that a second annotator agrees" if nominal else "mean agreement of a second annotator"
    drawn = rows.line_rows(known(found.classes).rows(named=True), "class", "items")
    return _lines(found, drawn, "class", title)


def confusion(found: Breakdowns) -> Any:
    """Which classes are confused, as a heat map."""
    _value(found)
    titles = ("first annotator says", "second annotator says")
    tips = {"down": "first says", "across": "second says", "shown": "probability"}
    return _finished(heat.heat(rows.confusion_rows(found), titles, "probability", tips))


def items(found: Breakdowns) -> Any:
    """How the agreement of items is distributed."""
    _value(found)
    tips = {"range": "agreement", "many": "items", "share": "share"}
    return _finished(spread.histogram(rows.bin_rows(found), tips))


def annotators(found: Breakdowns) -> Any:
    """Agreement of each annotator with the others, least first, beside the mean of all."""
    people = known(found.annotators)
    drawn = rows.line_rows(people.rows(named=True), "annotator", "shared")
    return _lines(found, drawn, "annotator", "agreement with the others", reference=mean_agreement(people))


def pairs(found: Breakdowns) -> Any:
    """Agreement of every two of the busiest annotators, as a heat map; hollow where they share few items."""
    _value(found)
    tips = {"down": "annotator", "across": "other", **AGREEMENT, "size": "shared"}
    titles = ("annotator", "other")
    return _finished(heat.heat(rows.pair_rows(found), titles, "agreement", tips, lowest=None))


def overlap(found: Breakdowns) -> Any:
    """Who annotated items together, as a graph; refused for more annotators than can be told apart."""
    _value(found)
    size = known(found.overlap).annotators
    if size > MOST_PEOPLE:
        raise UsageError(
            f"overlap: {size:,} annotators are more than the {MOST_PEOPLE} a graph can show; "
            "see agreement.overlap() for teams and bridges"
        )
    nodes, edges = rows.network_rows(found)
    tips = {"name": "annotator", "size": "made"}
    between = {"one": "annotator", "other": "other", "size": "shared"}
    return _finished(network.network(nodes, edges, tips, between))


def development(found: Breakdowns) -> Any:
    """Agreement over time: all items so far, and those finished most recently, each with its interval."""
    _value(found)
    drawn, temporal = rows.development_rows(found)
    times = without_midnight([row["when"] for row in drawn])
    drawn = [{**row, "when": when} for row, when in zip(drawn, times, strict=True)]
    tips = {"when": "time", "kind": "what", **AGREEMENT, "size": "rests on"}
    return _finished(spread.development(drawn, tips, temporal=temporal))


def plan(found: Breakdowns) -> Any:
    """How precise the number becomes with more items, annotated in the cheapest way."""
    _value(found)
    tips = {"precision": "precision", "new": "new items", "made": "annotations in all"}
    return _finished(spread.plan(rows.plan_rows(found), tips))


def _lines(found: Breakdowns, drawn: list[rows.Row], name: str, title: str, reference: float | None = None) -> Any:
    _value(found)
    tips = {"name": name, **AGREEMENT, "size": "rests on"}
    return _finished(intervals.across(drawn, title, tips, reference=reference))


def _value(found: Breakdowns) -> float:
    """SPA, without which there is nothing to draw."""
    spa = found.findings.spa
    if spa.value is None:
        raise DataError(f"no chart: {spa.undefined}")
    return spa.value


def _finished(chart: Any) -> Any:
    return chart.configure(**theme())
