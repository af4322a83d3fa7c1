"""agreement.charts: one method per chart, each an Altair chart for notebooks, files and the report."""

from __future__ import annotations

from typing import Any

from spagree.errors import DataError, UsageError
from spagree.estimate import NOMINAL
from spagree.present.charts import heat, intervals, network, rows, spread
from spagree.present.charts.theme import theme
from spagree.present.evidence import MOST_PEOPLE, Evidence, Measured
from spagree.present.wording import count, without_midnight

AGREEMENT = {"shown": "agreement", "interval": "interval"}


class Charts:
    """Charts of one agreement; ``agreement.charts.schemes().save("schemes.svg")`` needs no browser and no network.

    >>> import spagree
    >>> chart = spagree.measure("example:sparse").charts.schemes()
    >>> chart.to_dict()["layer"][1]["mark"]["type"]
    'rule'
    """

    def __init__(self, measured: Measured | Evidence) -> None:
        self._evidence = measured if isinstance(measured, Evidence) else Evidence(measured)

    def schemes(self) -> Any:
        """SPA under every weighting scheme, the chosen one marked."""
        spa = self._value()
        tips = {"name": "scheme", **AGREEMENT}
        return _finished(intervals.across(rows.scheme_rows(self._evidence), "agreement", tips, reference=spa))

    def by_n(self) -> Any:
        """Agreement of items by their number of annotations: flat where SPA's assumption holds."""
        spa = self._value()
        by_n = self._evidence.findings.missingness.by_n
        if len(by_n) == 1:
            same = count(by_n[0].n, "annotation")
            raise DataError(f"every item that was used has {same}: there is nothing to compare")
        tips = {"name": "annotations", "items": "items", **AGREEMENT}
        title = "annotations of the item"
        return _finished(intervals.along(rows.by_n_rows(self._evidence), title, "agreement", tips, reference=spa))

    def chance(self) -> Any:
        """Chance-corrected coefficients with observed and expected agreement."""
        found = rows.chance_rows(self._evidence)
        if not found:
            raise DataError(str(next(iter(self._evidence.findings.chance.values())).undefined))
        tips = {"name": "coefficient", "kind": "what", "shown": "value", "interval": "interval"}
        return _finished(intervals.corrected(found, tips))

    def classes(self) -> Any:
        """Agreement of each class, least first."""
        found = self._evidence.classes.rows(named=True)
        nominal = self._evidence.findings.metric == NOMINAL
        title = "probability that a second annotator agrees" if nominal else "mean agreement of a second annotator"
        return self._lines(rows.line_rows(found, "class", "items"), "class", title)

    def confusion(self) -> Any:
        """Which classes are taken for one another, as a heat map."""
        self._value()
        titles = ("first annotator says", "second annotator says")
        tips = {"down": "first says", "across": "second says", "shown": "probability"}
        return _finished(heat.heat(rows.confusion_rows(self._evidence), titles, "probability", tips))

    def items(self) -> Any:
        """How the agreement of items is distributed."""
        self._value()
        tips = {"range": "agreement", "many": "items", "share": "share"}
        return _finished(spread.histogram(rows.bin_rows(self._evidence), tips))

    def annotators(self) -> Any:
        """Agreement of each annotator with the others, least first, beside the mean of all."""
        found = rows.line_rows(self._evidence.annotators.rows(named=True), "annotator", "shared")
        return self._lines(found, "annotator", "agreement with the others", reference=self._evidence.usual)

    def pairs(self) -> Any:
        """Agreement of every two of the busiest annotators, as a heat map; hollow where they share few items."""
        self._value()
        tips = {"down": "annotator", "across": "other", **AGREEMENT, "size": "shared"}
        titles = ("annotator", "other")
        return _finished(heat.heat(rows.pair_rows(self._evidence), titles, "agreement", tips, lowest=None))

    def overlap(self) -> Any:
        """Who annotated items together, as a graph; refused for more annotators than can be told apart."""
        self._value()
        size = self._evidence.overlap.annotators
        if size > MOST_PEOPLE:
            raise UsageError(
                f"overlap: {size:,} annotators are more than the {MOST_PEOPLE} a graph can show; "
                "see agreement.overlap() for teams and bridges"
            )
        nodes, edges = rows.network_rows(self._evidence)
        tips = {"name": "annotator", "size": "made"}
        between = {"one": "annotator", "other": "other", "size": "shared"}
        return _finished(network.network(nodes, edges, tips, between))

    def development(self) -> Any:
        """Agreement over time: all items so far, and those finished lately, each with its interval."""
        self._value()
        found, temporal = rows.development_rows(self._evidence)
        times = without_midnight([row["when"] for row in found])
        found = [{**row, "when": when} for row, when in zip(found, times, strict=True)]
        tips = {"when": "time", "kind": "what", **AGREEMENT, "size": "rests on"}
        return _finished(spread.development(found, tips, temporal=temporal))

    def plan(self) -> Any:
        """How precise the number becomes with more items, annotated in the cheapest way."""
        self._value()
        tips = {"precision": "precision", "new": "new items", "made": "annotations in all"}
        return _finished(spread.plan(rows.plan_rows(self._evidence), tips))

    def _lines(self, found: list[rows.Row], name: str, title: str, reference: float | None = None) -> Any:
        self._value()
        tips = {"name": name, **AGREEMENT, "size": "rests on"}
        return _finished(intervals.across(found, title, tips, reference=reference))

    def _value(self) -> float:
        """SPA, without which there is nothing to draw."""
        spa = self._evidence.findings.spa
        if spa.value is None:
            raise DataError(f"no chart: {spa.undefined}")
        return spa.value


def _finished(chart: Any) -> Any:
    return chart.configure(**theme())
